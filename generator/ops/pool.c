/* pool.c: windows reduced: MaxPool, AveragePool, LpPool. */
#include "ops/words.h"
#include <math.h>

static void infer_window(struct node *node)
{
	struct window window;
	struct dim dims[MAX_RANK];
	const struct tensor *x = node->in[0];
	if (x->rank >= 0) {
		window_of(node, x, NULL, &window);
		memcpy(dims, x->dims, 2 * sizeof *dims);
		FOR (d, window.count)
			dims[2 + d] = dim_of(window.out[d]);
	}
	infer_output(node, 0, x->type, x->rank, dims);
	infer_output(node, 1, DTYPE_I64, x->rank, dims); /* of MaxPool */
}

/* The window's reduction of x over its taps, the value `outside` in the pads. */
static struct definition *reduce_window(
        struct definer *definer, const struct window *window, const char *name, enum reduce reduce, double outside)
{
	struct definition *x = IN(0);
	SHAPE(0, rank, extents, at);
	expr_ref pad = dtype_is_float(x->type)
	        ? LIKE(x, outside)
	        : WHOLE(x->type, dtypes[x->type].class == CLASS_INT ? INT64_MIN >> (64 - dtypes[x->type].bits) : 0);
	return REDUCE(name, rank, extents, reduce, window->count, window->kernel, NULL,
	        window_load(definer, window, x, at, 2, rank, pad));
}

/* ---- MaxPool ----
 * Indices: where the maximum was found, in the flattened data; the first of equals.  storage_order = 1 counts the
 * spatial dimensions column by column. */
void infer_max_pool(struct node *node) { infer_window(node); }

/* The position that a load of x stands for. */
static index_ref flat_position(struct definer *definer, const struct definition *x, const index_ref *at)
{
	if (!attribute_int(NODE, "storage_order"))
		return FLATTEN(x->rank, at, x->extents);
	index_ref flat = CONSTANT(0);
	int64_t step = 1;
	for (int d = 2; d < x->rank; step *= x->extents[d++])
		flat = SUM(flat, SCALE(at[d], step));
	index_ref channel = SUM(SCALE(at[0], x->extents[1]), at[1]);
	return SUM(flat, SCALE(channel, step));
}

static void define_indices(struct definer *definer, const struct window *window, struct definition *largest)
{
	struct definition *x = IN(0);
	index_ref own[MAX_RANK];
	SHAPE(1, rank, extents, at);
	memcpy(own, at, sizeof own);
	/* a load whose pads are the largest integer: its place is what is wanted, so only the select around it is kept
	 */
	expr_ref none = I(INT64_MAX), load = LOAD(x, at);
	expr_ref padded = window_load(definer, window, x, at, 2, rank, LIKE(x, 0));
	load = padded->kind == EXPR_SELECT ? padded->arg[0] : padded;
	expr_ref found = CAST(DTYPE_I64, EQUAL(load, LOAD(largest, own)));
	expr_ref place = WHERE(found, POSITION(flat_position(definer, x, at)), none);
	if (padded->kind == EXPR_SELECT)
		place = SELECT(padded->ranges, padded->range_count, place, none);
	GIVE(1, REDUCE(NODE->out[1]->name, rank, extents, REDUCE_MIN, window->count, window->kernel, NULL, place));
}

void define_max_pool(struct definer *definer)
{
	struct window window;
	window_of(NODE, NODE->in[0], NULL, &window);
	const char *name = node_has_out(NODE, 0) ? NODE->out[0]->name : NAMED("max");
	struct definition *largest = reduce_window(definer, &window, name, REDUCE_MAX, -INFINITY);
	chain_terms(largest);
	GIVE(0, largest);
	if (node_has_out(NODE, 1))
		define_indices(definer, &window, largest);
}

/* ---- AveragePool ----
 * The divisor is the number of taps inside the data, or inside data and pads where count_include_pad says so.  A tap
 * beyond the pads, where ceil_mode lets a window hang over, never counts.  It is a product of one count for each
 * dimension. */
void infer_average_pool(struct node *node) { infer_window(node); }

static int64_t next_div(int64_t a, int64_t b) { return a / b + (a % b > 0); } /* b > 0; rounds up, below 0 too */

/* How many k in [0, kernel) have from <= i*stride + k*dilation - before < to. */
static int64_t taps_inside(const struct window *window, int d, int64_t i, bool with_pads)
{
	int64_t first = i * window->stride[d] - window->before[d], step = window->dilation[d];
	int64_t from = with_pads ? -window->before[d] : 0, to = window->in[d] + (with_pads ? window->after[d] : 0);
	int64_t low = next_div(from - first, step), high = next_div(to - first, step);
	low = low < 0 ? 0 : low;
	high = high > window->kernel[d] ? window->kernel[d] : high;
	return high > low ? high - low : 0;
}

/* The same of a dimension that is counted, for each position. */
static expr_ref taps_counted(
        struct definer *definer, const struct window *window, int d, bool with_pads, enum dtype type)
{
	expr_ref none = I(0), at = POSITION(VAR(2 + d, window->out[d])), ends[2];
	expr_ref first = I_SUB(I_MUL(at, I(window->stride[d])), I(window->before[d]));
	ends[0] = I(with_pads ? -window->before[d] : 0);
	ends[1] = I_ADD(DIM(&NODE->in[0]->dims[2 + d]), I(with_pads ? window->after[d] : 0));
	FOR (i, 2) {
		expr_ref far = I_ADD(I_MAX(I_SUB(ends[i], first), none), I(window->dilation[d] - 1));
		ends[i] = I_MIN(I_DIV(far, I(window->dilation[d])), I(window->kernel[d]));
	}
	return CAST(type, I_SUB(ends[1], ends[0]));
}

enum { POSITIONS_MOST = 1 << 26 }; /* of a dimension whose counts differ */

/* One dimension's counts: whole (the same everywhere) or a constant over the positions. */
static expr_ref counts(
        struct definer *definer, const struct window *window, int d, bool with_pads, enum dtype type, int64_t *whole)
{
	struct arena *arena = definer->arena;
	int64_t n = window->out[d], reach = (window->kernel[d] - 1) * window->dilation[d] + 1;
	bool same = true;
	*whole = window->kernel[d];
	bool hangs = NODE->in[0]->dims[2 + d].count && attribute_int(NODE, "ceil_mode");
	if (!hangs && (with_pads || (window->before[d] == 0 && window->after[d] == 0))
	        && (n - 1) * window->stride[d] + reach <= window->in[d] + window->before[d] + window->after[d])
		return NULL; /* no window hangs over: nothing to count */
	if (NODE->in[0]->dims[2 + d].count) {
		*whole = 1;
		return taps_counted(definer, window, d, with_pads, type);
	}
	if (n > POSITIONS_MOST)
		node_limit(NODE, " of %" PRId64 " windows with pads, at most %d are supported", n, POSITIONS_MOST);
	float *count = arena_new_array(arena, float, n + 1);
	double *wide = arena_new_array(arena, double, n + 1);
	FOR (i, n) {
		wide[i] = count[i] = (float)taps_inside(window, d, i, with_pads);
		same &= count[i] == count[0];
	}
	if (same) {
		*whole = n ? (int64_t)count[0] : 1;
		return NULL;
	}
	*whole = 1;
	struct definition *constant = define_constant(
	        definer->program, NAMED(FORMAT("taps%d", d)), type, 1, &n, type == DTYPE_F64 ? (void *)wide : count);
	index_ref at = VAR(2 + d, n);
	return LOAD(constant, &at);
}

void define_average_pool(struct definer *definer)
{
	struct window window;
	bool with_pads = attribute_int(NODE, "count_include_pad") != 0;
	window_of(NODE, NODE->in[0], NULL, &window);
	SHAPE(0, rank, extents, at);
	struct definition *sum = reduce_window(definer, &window, NAMED("sum"), REDUCE_SUM, 0);
	expr_ref divisor = NULL, total = LOAD(sum, at);
	double whole = 1;
	FOR (d, window.count) {
		int64_t same;
		expr_ref varying = counts(definer, &window, d, with_pads, sum->type, &same);
		whole *= (double)same;
		if (varying)
			divisor = divisor ? MUL(divisor, varying) : varying;
	}
	if (!divisor) {
		OUT(0, MUL(total, LIKE(sum, 1 / whole)));
		return;
	}
	if (whole != 1)
		divisor = MUL(divisor, LIKE(sum, whole));
	OUT(0, DIV(total, divisor));
}

/* ---- LpPool: (sum of |x|^p)^(1/p) ---- */
double lp_norm(const struct node *node)
{
	double p = node->since < 2 ? (double)attribute_float(node, "p") : (double)attribute_int(node, "p");
	INVALID_IF(!(p > 0), "p is %g, more than 0 is right", p);
	return p;
}

expr_ref lp_raised(struct definer *definer, expr_ref x, double p)
{
	if (p == 2)
		return MUL(x, x);
	x = ABS(x);
	return p == 1 ? x : expr2(definer, SCALAR_pow, x, LIKE(x, p));
}

expr_ref lp_root(struct definer *definer, expr_ref x, double p)
{
	return p == 1 ? x : p == 2 ? expr1(definer, SCALAR_sqrt, x) : expr2(definer, SCALAR_pow, x, LIKE(x, 1 / p));
}

void infer_lp_pool(struct node *node)
{
	infer_window(node);
	lp_norm(node);
}

void define_lp_pool(struct definer *definer)
{
	struct definition *x = IN(0);
	struct window window;
	double p = lp_norm(NODE);
	SHAPE(0, rank, extents, at);
	window_of(NODE, NODE->in[0], NULL, &window);
	expr_ref term = lp_raised(definer, window_load(definer, &window, x, at, 2, rank, LIKE(x, 0)), p);
	struct definition *sum = REDUCTION("sum", rank, extents, REDUCE_SUM, window.count, window.kernel, NULL, term);
	definer_shape(definer, 0, extents, at);
	OUT(0, lp_root(definer, LOAD(sum, at), p));
}
