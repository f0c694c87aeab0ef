/* reduce.c: whole axes reduced: ReduceSum, ReduceMax, ReduceMean, ReduceL2 …, and all behind the channels: GlobalMaxPool … */
#include "ops/words.h"
#include <math.h>

enum { AXES_ARE_INPUT = 18, AXES_OF_SUM_ARE_INPUT = 13 };
static bool axes_are_input(const struct node *node)
{
	return node->since >= (!strcmp(node->type, "ReduceSum") ? AXES_OF_SUM_ARE_INPUT : AXES_ARE_INPUT);
}

static bool is_global(const struct node *node) { return !strncmp(node->type, "Global", 6); }

/* Which axes; false where they are not known yet.  No axes: all, or none where noop_with_empty_axes says so. */
static bool axes_of(const struct node *node, bool *reduced)
{
	int rank = node->in[0]->rank;
	int64_t count = 0;
	const int64_t *axes;
	FOR (d, rank)
		reduced[d] = d > 1;
	if (is_global(node))
		return true;
	axes = node_numbers(node, axes_are_input(node), 1, "axes", &count);
	const struct tensor *late = axes_are_input(node) && !axes ? node_in(node, 1) : NULL;
	if (late && !(late->rank == 1 && late->dims[0].extent == 0))
		return false;
	bool all = !count && !(axes_are_input(node) && attribute_int(node, "noop_with_empty_axes"));
	FOR (d, rank)
		reduced[d] = all;
	FOR (i, count)
		reduced[node_axis(node, axes[i], rank)] = true;
	return true;
}

/* What each op makes of the elements it reduces: a map before, the reduction, a map behind; NONE: the value itself, div:
 * the mean, pow: of the power and root that `p` says. */
enum { NONE = -1 };
static const struct reduction {
	const char *name;
	enum reduce reduce;
	int before, behind;
} reductions[] = {
	{ "ReduceSum", REDUCE_SUM, NONE, NONE },
	{ "ReduceMean", REDUCE_SUM, NONE, SCALAR_div },
	{ "GlobalAveragePool", REDUCE_SUM, NONE, SCALAR_div },
	{ "GlobalMaxPool", REDUCE_MAX, NONE, NONE },
	{ "GlobalLpPool", REDUCE_SUM, SCALAR_pow, SCALAR_pow },
	{ "ReduceMax", REDUCE_MAX, NONE, NONE },
	{ "ReduceMin", REDUCE_MIN, NONE, NONE },
	{ "ReduceProd", REDUCE_PROD, NONE, NONE },
	{ "ReduceL1", REDUCE_SUM, SCALAR_abs, NONE },
	{ "ReduceL2", REDUCE_SUM, SCALAR_mul, SCALAR_sqrt },
	{ "ReduceSumSquare", REDUCE_SUM, SCALAR_mul, NONE },
	{ "ReduceLogSum", REDUCE_SUM, NONE, SCALAR_log },
	{ "ReduceLogSumExp", REDUCE_SUM, SCALAR_exp, SCALAR_log },
};

static const struct reduction *reduction_of(const struct node *node)
{
	FOR (i, COUNT(reductions))
		if (!strcmp(reductions[i].name, node->type))
			return &reductions[i];
	return NULL;
}

/* Axes at run time: how many they are says the rank, where no axis is named twice; the declared shape says the rest. */
static void infer_late(struct node *node, enum dtype type)
{
	const struct tensor *x = node->in[0], *axes = node->in[1];
	struct dim dims[MAX_RANK];
	bool known = axes->rank == 0
	        || (axes->rank == 1 && dim_is_known(axes->dims[0]) && axes->dims[0].extent <= x->rank),
	     keep = node_int(node, "keepdims", 1) != 0;
	int rank = keep ? x->rank : known ? x->rank - (axes->rank ? (int)axes->dims[0].extent : 1) : -1;
	INVALID_IF(axes->rank > 1, "input 1 has %d dimensions, 1 is right", axes->rank);
	INVALID_IF(axes->type != DTYPE_NONE && axes->type != DTYPE_I64 && axes->type != DTYPE_I32,
	        "input 1 is %s, int64 is right", dtypes[axes->type].text);
	if (rank < 0 || node->out[0]->rank >= 0)
		rank = node->out[0]->rank;
	if (rank < 0) {
		infer_type(node, 0, type);
		return;
	}
	FOR (d, rank)
		dims[d] = keep && d < x->rank && x->dims[d].extent == 1 ? dim_of(1) : dim_unknown;
	infer_output(node, 0, type, rank, dims);
}

void infer_reduce(struct node *node)
{
	struct dim dims[MAX_RANK];
	bool reduced[MAX_RANK], keep = node_int(node, "keepdims", 1) != 0;
	int rank = 0;
	enum dtype type = node->in[0]->type;
	if (!infer_ranks(node, 1, type))
		return;
	INVALID_IF(is_global(node) && node->in[0]->rank < 2, "data has %d dimensions, at least 2 are right",
	        node->in[0]->rank);
	if (!axes_of(node, reduced)) {
		infer_late(node, type);
		return;
	}
	FOR (d, node->in[0]->rank)
		if (!reduced[d])
			dims[rank++] = node->in[0]->dims[d];
		else if (keep)
			dims[rank++] = dim_of(1);
	infer_output(node, 0, type, rank, dims);
}

/* Where the elements of a reduction come from: x at `x_at`, over the output's indices `at` and `count` reduced
 * variables. */
struct reducing {
	struct definition *x;
	int rank, count;
	int64_t extents[MAX_RANK], terms[MAX_RANK];
	index_ref at[MAX_RANK], x_at[MAX_RANK];
};

/* What changes no result: what an empty reduction is. */
static expr_ref neutral(struct arena *arena, enum dtype type, enum reduce reduce)
{
	bool is_signed = dtypes[type].class == CLASS_INT, least = reduce == REDUCE_MAX;
	int64_t most = type == DTYPE_BOOL ? 1 : (int64_t)(UINT64_MAX >> (64 - dtypes[type].bits + is_signed));
	if (reduce != REDUCE_MAX && reduce != REDUCE_MIN)
		return expr_number(arena, type, reduce == REDUCE_PROD);
	if (dtype_is_float(type))
		return expr_number(arena, type, least ? -INFINITY : INFINITY);
	return expr_integer(arena, type, !least ? most : is_signed ? -most - 1 : 0);
}

/* What integers without any element have as their largest or least: the other end of their type.  NULL: as
 * definer_reduction has it. */
static expr_ref of_nothing(struct definer *definer, const struct reducing *r, enum reduce reduce)
{
	bool nothing = false;
	FOR (i, r->count)
		nothing |= r->terms[i] == 0;
	return !nothing || dtype_is_float(r->x->type) || (reduce != REDUCE_MAX && reduce != REDUCE_MIN)
	        ? NULL
	        : neutral(definer->arena, r->x->type, reduce);
}

static struct definition *reduce(
        struct definer *definer, const struct reducing *r, const char *name, enum reduce reduce, expr_ref term)
{
	return REDUCE(name, r->rank, r->extents, reduce, r->count, r->terms, of_nothing(definer, r, reduce), term);
}

/* The largest of each row, or 0 where that is infinite: what is taken off before exp. */
static expr_ref taken_off(struct definer *definer, const struct reducing *r)
{
	expr_ref load = LOAD(r->x, r->x_at);
	struct definition *largest = r->count ? reduce(definer, r, NAMED("max"), REDUCE_MAX, load) : NULL;
	expr_ref m = largest ? LOAD(largest, r->at) : load;
	return WHERE(LESS(ABS(m), LIKE(m, INFINITY)), m, LIKE(m, 0));
}

/* The output without these axes: a definition, or a body over its variables. */
struct result {
	struct definition *of;
	expr_ref body;
};

static struct result without(struct definer *definer, const bool *reduced, const char *name)
{
	struct arena *arena = definer->arena;
	const struct reduction *reduction = reduction_of(NODE);
	struct reducing r = { .x = IN(0) };
	bool keep = node_int(NODE, "keepdims", 1) != 0, exponentials = reduction->before == SCALAR_exp;
	const struct dim *dims = NODE->in[0]->dims;
	expr_ref actual = NULL; /* how many terms are there, where a count says so */
	double count = 1;
	int64_t bound = 1;
	int out = 0;
	r.rank = definer_shape(definer, 0, r.extents, r.at);
	FOR (d, r.x->rank) {
		if (!reduced[d]) {
			r.x_at[d] = r.at[out++];
			continue;
		}
		r.x_at[d] = VAR(r.rank + r.count, r.x->extents[d]);
		count *= (double)r.x->extents[d];
		if (dims[d].count)
			actual = actual ? I_MUL(actual, SIZE(dims[d].count)) : SIZE(dims[d].count);
		else
			bound *= r.x->extents[d];
		r.terms[r.count++] = r.x->extents[d];
		out += keep;
	}
	bool alone = reduction->behind == NONE, is_mean = reduction->behind == SCALAR_div,
	     whole = !dtype_is_float(r.x->type);
	double p = reduction->before == SCALAR_pow ? lp_norm(NODE) : 0;
	if (whole && !alone && !is_mean) /* a root or logarithm of integers: in double, cut towards 0 */
		r.x = definer_as(definer, r.x, DTYPE_F64);
	FOR (d, r.x->rank)
		r.x = definer_there(definer, r.x, reduced[d] ? dims[d].count : NULL, d,
		        neutral(arena, r.x->type, exponentials ? REDUCE_MAX : reduction->reduce));
	expr_ref x = LOAD(r.x, r.x_at), off = exponentials ? taken_off(definer, &r) : NULL, y;
	x = off                                   ? expr1(definer, SCALAR_exp, SUB(x, off))
	        : reduction->before == SCALAR_pow ? lp_raised(definer, x, p)
	        : reduction->before == SCALAR_mul ? MUL(x, x)
	        : reduction->before != NONE       ? expr1(definer, (enum scalar)reduction->before, x)
	                                          : x;
	if (!r.count && alone && reduction->before == NONE)
		return (struct result){ .of = r.x };
	if (r.count && alone)
		return (struct result){ .of = reduce(definer, &r, name, reduction->reduce, x) };
	y = r.count ? LOAD(reduce(definer, &r, NAMED("sum"), reduction->reduce, x), r.at) : x;
	if (is_mean)
		y = actual      ? DIV(y, CAST(y->type, I_MUL(I(bound), actual)))
		        : whole ? DIV(y, LIKE(y, count))
		                : MUL(y, LIKE(y, 1 / count));
	else
		y = p ? lp_root(definer, y, p) : alone ? y : expr1(definer, (enum scalar)reduction->behind, y);
	y = off ? ADD(y, off) : y;
	return (struct result){ .body = whole ? CAST(NODE->out[0]->type, y) : y };
}

/* ---- axes that come at run time: the sets of axes that lead from the data's extents to the declared ones ---- */
enum { SETS_MOST = 64, RESULTS_MOST = 8 };
struct sets {
	const struct definition *x;
	int rank, count, left; /* of the output; of the sets; how many axes more may go */
	bool keep;
	int64_t extents[MAX_RANK];
	uint32_t ones; /* axes of one element that stay: whether they are reduced says nothing, and no set has them */
	uint32_t now, at[SETS_MOST + 1]; /* bit d: axis d is reduced */
};

static void find_sets(struct sets *s, int d, int out)
{
	if (s->count > SETS_MOST)
		return;
	if (d == s->x->rank) {
		if (out == s->rank && (s->now || s->ones))
			s->at[s->count++] = s->now;
		return;
	}
	if (out < s->rank && s->x->extents[d] == s->extents[out])
		find_sets(s, d + 1, out + 1);
	if (!s->left || (s->keep && (s->x->extents[d] == 1 || out == s->rank || s->extents[out] != 1)))
		return;
	s->now |= 1u << d;
	s->left--;
	find_sets(s, d + 1, out + s->keep);
	s->left++;
	s->now &= ~(1u << d);
}

/* What is reduced of axes of one element is the same whether they are. */
static uint32_t what_counts(const struct sets *s, uint32_t set)
{
	FOR (d, s->x->rank)
		if (s->x->extents[d] == 1)
			set &= ~(1u << d);
	return set;
}

/* The axes name this set. */
static expr_ref is_set(struct definer *definer, const struct sets *s, uint32_t set)
{
	expr_ref all = I(1);
	int rank = s->x->rank;
	FOR (d, rank) {
		expr_ref named = I(0);
		FOR (i, ELEMENTS(1))
			FOR (from, 2)
				named = I_OR(named, I_IS(ELEMENT(1, i), d - from * rank));
		if (!(s->ones >> d & 1))
			all = I_AND(all, set >> d & 1 ? named : I_IS(named, 0));
	}
	return all;
}

static void reduce_at_run_time(struct definer *definer)
{
	struct sets s = { .x = IN(0), .keep = attribute_int(NODE, "keepdims") != 0 };
	index_ref at[MAX_RANK];
	expr_ref right = I(0), value = NULL;
	bool reduced[MAX_RANK];
	int results = 0;
	int64_t count = ELEMENTS(1), rank = s.x->rank;
	s.rank = definer_shape(definer, 0, s.extents, at);
	s.left = count < rank ? (int)count : (int)rank;
	FOR_WHILE (d, s.keep, rank)
		s.ones |= s.x->extents[d] == 1 ? 1u << d : 0;
	find_sets(&s, 0, 0);
	if (!s.count)
		node_invalid(NODE, "no %" PRId64 " axes lead from %s to %s, which is declared", count,
		        SHAPE_TEXT(s.x->rank, s.x->extents), SHAPE_TEXT(s.rank, s.extents));
	FOR_WHILE (i, s.count <= SETS_MOST, s.count) {
		bool known = false;
		expr_ref these = I(0), one;
		FOR (k, i)
			known |= what_counts(&s, s.at[k]) == what_counts(&s, s.at[i]);
		for (int k = i; k < s.count && !known; k++)
			if (what_counts(&s, s.at[k]) == what_counts(&s, s.at[i]))
				these = I_OR(these, is_set(definer, &s, s.at[k]));
		if (known)
			continue;
		right = I_OR(right, these);
		if (++results > RESULTS_MOST)
			break;
		FOR (d, rank)
			reduced[d] = (s.at[i] ? s.at[i] : s.ones) >> d & 1; /* some are: a sum of one -0 is 0 */
		struct result result = without(definer, reduced, NAMED("reduced"));
		one = result.of ? LOAD(result.of, at) : result.body;
		value = value ? WHERE(CAST(one->type, these), one, value) : one;
	}
	if (s.count > SETS_MOST || results > RESULTS_MOST)
		node_unsupported(NODE, "axes at run time could be more than %d sets that lead from %s to %s",
		        RESULTS_MOST, SHAPE_TEXT(s.x->rank, s.x->extents), SHAPE_TEXT(s.rank, s.extents));
	FOR (i, count) /* each is an axis, also one that is named twice */
		right = I_AND(right, I_BETWEEN(ELEMENT(1, i), -rank, rank - 1));
	REQUIRE(right, "the axes at run time do not make %s of the data, the declared shape",
	        SHAPE_TEXT(s.rank, s.extents));
	OUT(0, value);
}

void define_reduce(struct definer *definer)
{
	bool reduced[MAX_RANK];
	if (!axes_of(NODE, reduced)) {
		reduce_at_run_time(definer);
		return;
	}
	struct result result = without(definer, reduced, NODE->out[0]->name);
	if (result.of)
		GIVE(0, result.of);
	else
		OUT(0, result.body);
}

/* ---- ArgMax, ArgMin: the first place of the extreme, or the last; of NaN alone, an end ---- */
void infer_arg_extreme(struct node *node)
{
	struct dim dims[MAX_RANK];
	int rank = 0;
	const struct tensor *x = node->in[0];
	if (!infer_ranks(node, 1, DTYPE_I64))
		return;
	int64_t axis = attribute_axis(node, x->rank);
	INVALID_IF(x->dims[axis].extent == 0, "dimension %d has no element", (int)axis);
	FOR (d, x->rank)
		if (d != axis)
			dims[rank++] = x->dims[d];
		else if (attribute_int(node, "keepdims"))
			dims[rank++] = dim_of(1);
	infer_output(node, 0, DTYPE_I64, rank, dims);
}

bool reduced_axes(const struct node *node, bool *reduced)
{
	if (op_of(node)->infer == infer_reduce)
		return axes_of(node, reduced);
	FOR (d, node->in[0]->rank)
		reduced[d] = d == attribute_axis(node, node->in[0]->rank);
	return true;
}

void define_arg_extreme(struct definer *definer)
{
	struct arena *arena = definer->arena;
	struct reducing r = { .x = IN(0), .count = 1 };
	enum reduce extreme = !strcmp(NODE->type, "ArgMax") ? REDUCE_MAX : REDUCE_MIN;
	bool last = attribute_int(NODE, "select_last_index") != 0, keep = attribute_int(NODE, "keepdims") != 0;
	int64_t axis = attribute_axis(NODE, r.x->rank), n = r.x->extents[axis];
	const struct tensor *count = NODE->in[0]->dims[axis].count;
	int out = 0;
	r.rank = definer_shape(definer, 0, r.extents, r.at);
	r.terms[0] = n;
	r.x = definer_there(definer, r.x, count, (int)axis, neutral(arena, r.x->type, extreme));
	FOR (d, r.x->rank) {
		r.x_at[d] = d == axis ? VAR(r.rank, n) : r.at[out];
		out += d != axis || keep;
	}
	enum dtype type = n <= INT32_MAX ? DTYPE_I32 : DTYPE_I64; /* a vector has twice as many of these */
	expr_ref x = LOAD(r.x, r.x_at), place = CAST(type, POSITION(VAR(r.rank, n)));
	struct definition *most = reduce(definer, &r, NAMED("extreme"), extreme, x);
	expr_ref here = CAST(type, EQUAL(x, LOAD(most, r.at)));
	expr_ref otherwise = WHOLE(type, last ? 0 : n - 1);
	if (count) {
		expr_ref size = SIZE(count);
		definer_require_within(
		        definer, EXIT_INVALID, 0, NULL, size, 1, n, "dimension %d has no element", (int)axis);
		here = MUL(here, LOAD(definer_mask(definer, count, n, type), &r.x_at[axis]));
		otherwise = last ? otherwise : CAST(type, SUB(size, I(1)));
	}
	expr_ref term = WHERE(here, place, otherwise);
	struct definition *found =
	        REDUCTION("place", r.rank, r.extents, last ? REDUCE_MAX : REDUCE_MIN, 1, r.terms, NULL, term);
	OUT(0, CAST(DTYPE_I64, LOAD(found, r.at)));
}
