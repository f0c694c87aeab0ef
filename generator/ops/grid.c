/* grid.c: GridSample: data at places that another tensor says, from -1 to 1.  For each place and dimension a few taps;
 * their indices, their weights and whether they lie outside are maps over the grid, the output is a sum of taps. */
#include "ops/words.h"

enum mode { LINEAR, NEAREST, CUBIC };
enum padding { ZEROS, BORDER, REFLECTION };
enum { ANY_RANK = 20 };

static enum mode mode_of(const struct node *node)
{
	return (enum mode)attribute_word(
	        node, "mode", node->since < ANY_RANK ? "bilinear nearest bicubic" : "linear nearest cubic");
}

static enum padding padding_of(const struct node *node)
{
	return (enum padding)attribute_word(node, "padding_mode", "zeros border reflection");
}

void infer_grid_sample(struct node *node)
{
	struct dim dims[MAX_RANK];
	enum dtype type = infer_number_type(node, 0);
	enum mode mode = mode_of(node);
	UNSUPPORTED_IF(type == DTYPE_BOOL && mode != NEAREST, " of %s is not supported", dtypes[type].text);
	padding_of(node);
	const struct tensor *x = node->in[0], *grid = node->in[1];
	if (!infer_ranks(node, 2, type))
		return;
	INVALID_IF(x->rank != grid->rank || x->rank < 3 || (node->since < ANY_RANK && x->rank != 4),
	        "data has %d dimensions, the grid has %d, %s are right", x->rank, grid->rank,
	        node->since < ANY_RANK ? "4" : "as many and at least 3");
	INVALID_IF(mode == CUBIC && x->rank != 4, "cubic of %d dimensions, 4 are right", x->rank);
	LIMIT_IF(2 * (x->rank - 2) + 2 > MAX_RANK, "data has %d dimensions", x->rank);
	FOR (i, 2) {
		struct dim is = i ? grid->dims[grid->rank - 1] : grid->dims[0],
		           want = i ? dim_of(x->rank - 2) : x->dims[0];
		INVALID_IF(dims_differ(is, want), "dimension %d of the grid is %" PRId64 ", %" PRId64 " is right",
		        i ? grid->rank - 1 : 0, is.extent, want.extent);
	}
	FOR (d, x->rank) {
		INVALID_IF(d > 1 && x->dims[d].extent == 0, "dimension %d of the data has no element", d);
		dims[d] = d < 2 ? x->dims[d] : grid->dims[d - 1];
	}
	infer_output(node, 0, type, x->rank, dims);
}

/* Weight of a tap that lies `far` from the place, of Keys' cubic with a = -0.75 or linear. */
static expr_ref weight_of(struct definer *definer, enum mode mode, expr_ref far)
{
	enum dtype type = far->type;
	double a = -0.75;
	expr_ref x = ABS(far);
	if (mode == NEAREST)
		return NUMBER(type, 1);
	if (mode == LINEAR)
		return SUB(NUMBER(type, 1), x);
	expr_ref near = ADD(MUL(MUL(ADD(MUL(NUMBER(type, a + 2), x), NUMBER(type, -(a + 3))), x), x), NUMBER(type, 1));
	expr_ref off = ADD(MUL(ADD(MUL(ADD(MUL(NUMBER(type, a), x), NUMBER(type, -5 * a)), x), NUMBER(type, 8 * a)), x),
	        NUMBER(type, -4 * a));
	return WHERE(LESS_EQUAL(x, NUMBER(type, 1)), near, off);
}

/* An index as the padding has it: inside [0, n). */
static expr_ref padded(struct definer *definer, enum padding padding, bool corners, expr_ref n, expr_ref i)
{
	expr_ref last = I_SUB(n, I(1)), period = I_MUL(I(2), corners ? last : n);
	int64_t number;
	if (padding == REFLECTION && (!definer_number(definer, period, &number) || number > 0)) { /* x mod 0 is 0 */
		i = expr2(definer, SCALAR_mod, i, period);
		i = MIN(i, SUB(corners ? period : I_SUB(period, I(1)), i));
	}
	return MIN(MAX(i, I(0)), last);
}

/* How many elements there are of a dimension of the data, 1 where a call says none: a check then asks for one. */
static expr_ref size_of(struct definer *definer, int d)
{
	const struct dim *dim = &NODE->in[0]->dims[d];
	if (!dim->count)
		return I(dim->extent);
	REQUIRE(I_LESS(I(0), DIM(dim)), "dimension %d of the data has no element", d);
	return KEPT(FORMAT("size_%d", d), I_MAX(DIM(dim), I(1)));
}

static expr_ref as_number(struct definer *definer, enum dtype type, expr_ref whole)
{
	int64_t number;
	return definer_number(definer, whole, &number) ? NUMBER(type, (double)number) : CAST(type, whole);
}

/* How far each tap lies from the place, rounded down: 0 and 1, -1 to 2. */
static struct definition *steps_of(struct definer *definer, int d, enum mode mode, int64_t count)
{
	float *steps = arena_new_array(definer->arena, float, count);
	FOR (t, count)
		steps[t] = (float)(mode == CUBIC ? t - 1 : t);
	return define_constant(definer->program, NAMED(FORMAT("steps_%d", d)), DTYPE_F32, 1, &count, steps);
}

/* beside: there is one place, the first of two that always lie side by side in the data; which of the taps each is, is
 * the weights' to say. */
struct taps {
	struct definition *places, *weights, *outside;
	bool beside;
};

/* Along the last dimension with zeros around: a tap that is outside counts as 0, so the two may be any neighbours that
 * hold the others, and one load of a pair has both. Of floats that hold every place. */
static bool taps_lie_beside(
        const struct definition *x, const struct definition *grid, int d, enum mode mode, enum padding padding)
{
	return mode == LINEAR && padding == ZEROS && d == x->rank - 1
	        && (grid->type == DTYPE_F32 || grid->type == DTYPE_F64) && x->extents[d] >= 2
	        && x->extents[d] <= 1 << 24;
}

/* Of one dimension, over [batch, taps, places of the grid...]: those lie side by side. */
static struct taps taps_of(struct definer *definer, struct definition *x, struct definition *grid, int d, int64_t count)
{
	index_ref at[MAX_RANK], own[MAX_RANK];
	int64_t extents[MAX_RANK], n = x->extents[d];
	int rank = grid->rank;
	bool corners = attribute_int(NODE, "align_corners") != 0;
	enum mode mode = mode_of(NODE);
	enum padding padding = padding_of(NODE);
	FOR (k, rank) {
		extents[k] = k == 1 ? count : grid->extents[k > 1 ? k - 1 : k];
		at[k] = VAR(k, extents[k]);
		own[k > 1 ? k - 1 : k] = at[k];
	}
	own[rank - 1] = CONSTANT(x->rank - 1 - d); /* the last dimension comes first */
	expr_ref have = size_of(definer, d), last = as_number(definer, grid->type, I_SUB(have, I(1)));
	expr_ref g = LOAD(grid, own), one = LIKE(grid, 1), half = LIKE(grid, 0.5);
	expr_ref place = ADD(g, one);
	if (corners)
		place = MUL(MUL(place, half), last);
	else
		place = MUL(SUB(MUL(place, as_number(definer, grid->type, have)), one), half);
	expr_ref tap = expr1(definer, mode == NEAREST ? SCALAR_round : SCALAR_floor, place), first = tap, beyond;
	expr_ref step = CAST(grid->type, LOAD(steps_of(definer, d, mode, count), &at[1])), none = LIKE(grid, 0);
	struct taps taps = { .beside = taps_lie_beside(x, grid, d, mode, padding) };
	expr_ref i = CAST(DTYPE_I64, tap);
	if (taps.beside) {
		expr_ref most = I_MAX(I_SUB(have, I(2)), I(0));
		tap = ADD(MIN(MAX(first, none), as_number(definer, grid->type, most)), step);
		beyond = ADD(LESS(tap, first), LESS(ADD(first, one), tap));
		i = MIN(MAX(i, I(0)), most);
	} else {
		tap = ADD(tap, step);
		beyond = ADD(LESS(tap, none), LESS(last, tap));
		i = padded(definer, padding, corners, have, CAST(DTYPE_I64, tap));
	}
	const char *names[3];
	FOR (k, 3)
		names[k] = NAMED(FORMAT("%s_%d", k == 0 ? "places" : k == 1 ? "weights" : "outside", d));
	taps.weights = MAP(names[1], rank, extents, CAST(x->type, weight_of(definer, mode, SUB(place, tap))));
	taps.outside = padding == ZEROS ? MAP(names[2], rank, extents, CAST(x->type, beyond)) : NULL;
	extents[1] = taps.beside ? 1 : count;
	taps.places = MAP(names[0], rank, extents, CAST(n > INT32_MAX ? DTYPE_I64 : DTYPE_I32, i));
	return taps;
}

void define_grid_sample(struct definer *definer)
{
	struct definition *x = IN(0), *grid = IN(1);
	index_ref x_at[MAX_RANK], own[MAX_RANK];
	int64_t reduced[MAX_RANK];
	enum mode mode = mode_of(NODE);
	expr_ref weight = NULL, outside = NULL;
	SHAPE(0, rank, extents, at);
	enum dtype type = x->type;
	if (type == DTYPE_BOOL)
		x = definer_as(definer, x, DTYPE_U8);
	else if (!dtype_is_float(type) && mode != NEAREST) /* integers: in a float, rounded to even */
		x = definer_as(definer, x, dtypes[type].bits > 16 ? DTYPE_F64 : DTYPE_F32);
	if (definer_is_empty(definer, x))
		return;
	x_at[0] = own[0] = at[0];
	x_at[1] = at[1];
	FOR_FROM (d, 2, rank)
		own[d] = at[d];
	FOR_FROM (d, 2, rank) {
		reduced[d - 2] = mode == NEAREST ? 1 : mode == LINEAR ? 2 : 4;
		own[1] = VAR(rank + d - 2, reduced[d - 2]);
		struct taps taps = taps_of(definer, x, grid, d, reduced[d - 2]);
		index_ref tap = own[1];
		expr_ref w = LOAD(taps.weights, own), o = taps.outside ? LOAD(taps.outside, own) : NULL;
		own[1] = taps.beside ? CONSTANT(0) : tap;
		x_at[d] = VALUE(CAST(DTYPE_I64, LOAD(taps.places, own)), 0, x->extents[d] - 1 - taps.beside);
		x_at[d] = taps.beside ? SUM(x_at[d], tap) : x_at[d];
		weight = weight ? MUL(weight, w) : w;
		outside = !o ? NULL : outside ? MAX(outside, o) : o;
	}
	expr_ref value = LOAD(x, x_at);
	if (outside)
		value = WHERE(outside, LIKE(x, 0), value);
	const char *name = x->type == type ? NODE->out[0]->name : NAMED("sampled");
	struct definition *made = REDUCE(name, rank, extents, REDUCE_SUM, rank - 2, reduced, NULL, MUL(value, weight));
	if (made->type == type)
		GIVE(0, made);
	else
		OUT(0,
		        CAST(type,
		                dtype_is_float(made->type) ? expr1(definer, SCALAR_round, LOAD(made, at))
		                                           : LOAD(made, at)));
}
