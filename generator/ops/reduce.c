/* reduce.c: whole axes reduced: ReduceSum, ReduceMax, ReduceMean, ReduceL2 … */
#include "ops/ops.h"
#include <inttypes.h>
#include <math.h>

enum { AXES_ARE_INPUT = 18, AXES_OF_SUM_ARE_INPUT = 13 };
static bool axes_are_input(const struct node *node)
{
	return node->since >= (!strcmp(node->type, "ReduceSum") ? AXES_OF_SUM_ARE_INPUT : AXES_ARE_INPUT);
}

static bool is_mean(const struct op *op) { return !strcmp(op->name, "ReduceMean"); }

/* Which axes; false where they are not known yet.  No axes: all, or none where noop_with_empty_axes says so. */
static bool axes_of(const struct node *node, bool *reduced)
{
	int rank = node->in[0]->rank;
	int64_t count = 0;
	const int64_t *axes;
	if (!axes_are_input(node)) {
		size_t given;
		axes = node_ints(node, "axes", &given);
		count = (int64_t)given;
	} else {
		axes = node_in_ints(node, 1, &count);
		if (node_in(node, 1) && !axes)
			return false;
	}
	bool all = !count && !(axes_are_input(node) && attribute_int(node, "noop_with_empty_axes"));
	for (int d = 0; d < rank; d++)
		reduced[d] = all;
	for (int64_t i = 0; i < count; i++)
		reduced[node_axis(node, axes[i], rank)] = true;
	return true;
}

/* What each op makes of the elements it reduces: a map before, the reduction, a map behind; NONE: the value itself. */
enum { NONE = -1, TAKES_BOOL = 20 };
static const struct reduction {
	const char *name;
	enum reduce reduce;
	int before, behind;
} reductions[] = {
	{ "ReduceSum", REDUCE_SUM, NONE, NONE },           { "ReduceMean", REDUCE_SUM, NONE, NONE },
	{ "ReduceMax", REDUCE_MAX, NONE, NONE },           { "ReduceMin", REDUCE_MIN, NONE, NONE },
	{ "ReduceProd", REDUCE_PROD, NONE, NONE },         { "ReduceL1", REDUCE_SUM, SCALAR_abs, NONE },
	{ "ReduceL2", REDUCE_SUM, SCALAR_mul, SCALAR_sqrt }, { "ReduceSumSquare", REDUCE_SUM, SCALAR_mul, NONE },
	{ "ReduceLogSum", REDUCE_SUM, NONE, SCALAR_log },  { "ReduceLogSumExp", REDUCE_SUM, SCALAR_exp, SCALAR_log },
};

static const struct reduction *reduction_of(const struct op *op)
{
	for (size_t i = 0; i < COUNT(reductions); i++)
		if (!strcmp(reductions[i].name, op->name))
			return &reductions[i];
	return NULL;
}

void infer_reduce(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	bool reduced[MAX_RANK], keep = attribute_int(node, "keepdims") != 0;
	const struct reduction *reduction = reduction_of(op);
	int rank = 0;
	infer_counts(node, 1, axes_are_input(node) ? 2 : 1, 1);
	enum dtype type = infer_number_type(node, 0);
	bool extreme = reduction->reduce == REDUCE_MAX || reduction->reduce == REDUCE_MIN;
	if (type == DTYPE_BOOL && !(extreme && node->since >= TAKES_BOOL))
		node_fail(node, EXIT_INVALID, "%s: input 0 is bool, a number is right", node->type);
	if (type != DTYPE_NONE && dtypes[type].class != CLASS_FLOAT && (reduction->behind != NONE || reduction->before == SCALAR_exp || is_mean(op)))
		node_fail(node, EXIT_UNSUPPORTED, "%s of %s is not supported", node->type, dtypes[type].text);
	if (node->in[0]->rank < 0 || !axes_of(node, reduced)) {
		infer_output_unknown(node, 0, type);
		return;
	}
	for (int d = 0; d < node->in[0]->rank; d++)
		if (!reduced[d])
			dims[rank++] = node->in[0]->dims[d];
		else if (keep)
			dims[rank++] = dim_of(1);
	infer_output(node, 0, type, rank, dims);
}

/* Where the elements of a reduction come from: x at `x_at`, over the output's indices `at` and `count` reduced variables. */
struct reducing {
	struct definition *x;
	int rank, count;
	int64_t extents[MAX_RANK], terms[MAX_RANK];
	const struct index *at[MAX_RANK], *x_at[MAX_RANK];
};

/* What integers without any element have as their largest or least: the other end of their type.  NULL: as definer_reduction has it. */
static const struct expr *of_nothing(struct definer *definer, const struct reducing *r, enum reduce reduce)
{
	enum dtype type = r->x->type;
	bool nothing = false;
	for (int i = 0; i < r->count; i++)
		nothing |= r->terms[i] == 0;
	int bits = dtypes[type].bits;
	bool is_signed = dtypes[type].class == CLASS_INT;
	if (!nothing || dtypes[type].class == CLASS_FLOAT || (reduce != REDUCE_MAX && reduce != REDUCE_MIN))
		return NULL;
	if (type == DTYPE_BOOL)
		return expr_integer(definer->arena, type, reduce == REDUCE_MIN);
	int64_t most = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
	return expr_integer(definer->arena, type, reduce == REDUCE_MIN ? most : is_signed ? -most - 1 : 0);
}

static struct definition *reduce(struct definer *definer, const struct reducing *r, const char *name, enum reduce reduce, const struct expr *term)
{
	return definer_reduction(definer, name, r->rank, r->extents, reduce, r->count, r->terms, of_nothing(definer, r, reduce), term);
}

/* The largest of each row, or 0 where that is infinite: what is taken off before exp. */
static const struct expr *taken_off(struct definer *definer, const struct reducing *r)
{
	const struct expr *load = expr_load(definer->arena, r->x, r->x_at);
	struct definition *largest = r->count ? reduce(definer, r, definer_name(definer, "max"), REDUCE_MAX, load) : NULL;
	const struct expr *m = largest ? expr_load(definer->arena, largest, r->at) : load;
	return expr3(definer, SCALAR_where, expr2(definer, SCALAR_less, expr1(definer, SCALAR_abs, m), expr_number(definer->arena, m->type, INFINITY)),
		m, expr_number(definer->arena, m->type, 0));
}

void define_reduce(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	const struct reduction *reduction = reduction_of(op);
	struct reducing r = { .x = definer_in(definer, 0) };
	bool reduced[MAX_RANK], keep = attribute_int(definer->node, "keepdims") != 0, exponentials = reduction->before == SCALAR_exp;
	double count = 1;
	int out = 0;
	r.rank = definer_shape(definer, 0, r.extents, r.at);
	if (!axes_of(definer->node, reduced))
		node_fail(definer->node, EXIT_UNSUPPORTED, "%s: axes that are not constant are not supported", definer->node->type);
	for (int d = 0; d < r.x->rank; d++) {
		if (!reduced[d]) {
			r.x_at[d] = r.at[out++];
			continue;
		}
		r.x_at[d] = index_var(arena, r.rank + r.count, r.x->extents[d]);
		count *= (double)r.x->extents[d];
		r.terms[r.count++] = r.x->extents[d];
		out += keep;
	}
	bool alone = reduction->behind == NONE && !is_mean(op);
	const struct expr *x = expr_load(arena, r.x, r.x_at), *off = exponentials ? taken_off(definer, &r) : NULL, *y;
	x = off ? expr1(definer, SCALAR_exp, expr2(definer, SCALAR_sub, x, off)) : reduction->before == SCALAR_mul ? expr2(definer, SCALAR_mul, x, x)
		: reduction->before != NONE ? expr1(definer, (enum scalar)reduction->before, x) : x;
	if (!r.count && alone && reduction->before == NONE) {
		definer_out(definer, 0, r.x);
		return;
	}
	if (r.count && alone) {
		definer_out(definer, 0, reduce(definer, &r, definer->node->out[0]->name, reduction->reduce, x));
		return;
	}
	y = r.count ? expr_load(arena, reduce(definer, &r, definer_name(definer, "sum"), reduction->reduce, x), r.at) : x;
	y = reduction->behind != NONE ? expr1(definer, (enum scalar)reduction->behind, y)
		: is_mean(op) ? expr2(definer, SCALAR_mul, y, expr_number(arena, y->type, 1 / count)) : y;
	definer_out_map(definer, 0, off ? expr2(definer, SCALAR_add, y, off) : y);
}

/* ---- ArgMax, ArgMin: the first place of the extreme, or the last; of NaN alone, an end ---- */
void infer_arg_extreme(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	int rank = 0;
	(void)op;
	infer_counts(node, 1, 1, 1);
	enum dtype type = infer_number_type(node, 0);
	if (type == DTYPE_BOOL)
		node_fail(node, EXIT_INVALID, "%s: input 0 is bool, a number is right", node->type);
	const struct tensor *x = node->in[0];
	if (x->rank < 0) {
		infer_output_unknown(node, 0, DTYPE_I64);
		return;
	}
	int64_t axis = node_axis(node, attribute_int(node, "axis"), x->rank);
	if (x->dims[axis].extent == 0)
		node_fail(node, EXIT_INVALID, "%s: dimension %d has no element", node->type, (int)axis);
	for (int d = 0; d < x->rank; d++)
		if (d != axis)
			dims[rank++] = x->dims[d];
		else if (attribute_int(node, "keepdims"))
			dims[rank++] = dim_of(1);
	infer_output(node, 0, DTYPE_I64, rank, dims);
}

void define_arg_extreme(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	struct reducing r = { .x = definer_in(definer, 0), .count = 1 };
	enum reduce extreme = !strcmp(op->name, "ArgMax") ? REDUCE_MAX : REDUCE_MIN;
	bool last = attribute_int(definer->node, "select_last_index") != 0, keep = attribute_int(definer->node, "keepdims") != 0;
	int64_t axis = node_axis(definer->node, attribute_int(definer->node, "axis"), r.x->rank), n = r.x->extents[axis];
	int out = 0;
	r.rank = definer_shape(definer, 0, r.extents, r.at);
	r.terms[0] = n;
	for (int d = 0; d < r.x->rank; d++) {
		r.x_at[d] = d == axis ? index_var(arena, r.rank, n) : r.at[out];
		out += d != axis || keep;
	}
	const struct expr *x = expr_load(arena, r.x, r.x_at), *place = expr_index(arena, index_var(arena, r.rank, n));
	struct definition *most = reduce(definer, &r, definer_name(definer, "extreme"), extreme, x);
	const struct expr *here = expr_cast(arena, DTYPE_I64, expr2(definer, SCALAR_equal, x, expr_load(arena, most, r.at)));
	const struct expr *term = expr3(definer, SCALAR_where, here, place, expr_integer(arena, DTYPE_I64, last ? 0 : n - 1));
	definer_out(definer, 0, definer_reduction(definer, definer->node->out[0]->name, r.rank, r.extents, last ? REDUCE_MAX : REDUCE_MIN, 1, r.terms,
		NULL, term));
}
