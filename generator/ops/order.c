/* order.c: TopK: the first positions of the order of each row, and what stands there. */
#include "ops/words.h"
#include <math.h>

static int order_axis(const struct node *node) { return attribute_axis(node, node->in[0]->rank); }

void infer_top_k(struct node *node)
{
	struct dim dims[MAX_RANK];
	int64_t count, many, k = -1;
	bool old = node->since < 10;
	struct tensor *const *said = NULL;
	const struct tensor *x = node->in[0];
	INVALID_IF(!x->rank, "data has 0 dimensions, at least 1 is right");
	if (old) {
		const struct attribute *given = node_attribute(node, "k");
		INVALID_IF(!given, "attribute k is missing");
		k = given->i;
	} else {
		infer_scalar(node, 1);
		const int64_t *given = node_in_ints(node, 1, &count);
		k = given ? *given : -1;
		said = given ? NULL : node_in_sizes(node, 1, &many);
		INVALID_IF(given && k < 0, "k is %" PRId64 ", 0 or more is right", k);
	}
	if (x->rank < 0) {
		infer_type(node, 0, x->type);
		infer_type(node, 1, DTYPE_I64);
		return;
	}
	int axis = order_axis(node);
	int64_t n = x->dims[axis].extent;
	FOR_WHILE (o, k < 0, node->outs) /* one that comes at run time: as the outputs are declared */
		if (node_has_out(node, o) && node->out[o]->rank == x->rank && !node->out[o]->dims[axis].count)
			k = node->out[o]->dims[axis].extent;
	INVALID_IF(n >= 0 && k > n, "k is %" PRId64 " of %" PRId64, k, n);
	COPY(dims, x->dims, x->rank);
	dims[axis] = k >= 0 ? dim_of(k) : said && n >= 0 ? size_dim(said[0]) : dim_unknown;
	if (dims[axis].extent > n && n >= 0)
		dims[axis].extent = n;
	infer_output(node, 0, x->type, x->rank, dims);
	infer_output(node, 1, DTYPE_I64, x->rank, dims);
}

/* What comes last: of equal ones what stands first comes first. */
static expr_ref last_of_all(struct arena *arena, enum dtype type, bool largest)
{
	bool is_signed = dtypes[type].class == CLASS_INT;
	int64_t most = (int64_t)(UINT64_MAX >> (64 - dtypes[type].bits + is_signed));
	if (dtype_is_float(type))
		return expr_number(arena, type, largest ? -INFINITY : NAN);
	return expr_integer(arena, type, !largest ? most : is_signed ? -most - 1 : 0);
}

/* As many as are wanted are there. */
static void require_many(struct definer *definer, const struct dim *have, const struct dim *want)
{
	expr_ref k = DIM(want), many = I_ADD(DIM(have), I(1));
	if (!want->count && (!have->count || size_span(have->count).least >= want->extent))
		return;
	REQUIRE(I_AND(I_LESS(I(-1), k), I_LESS(k, many)), "a k of 0 to what there is of dimension %d of %s is right",
	        order_axis(NODE), NODE->in[0]->name);
}

/* ---- few of short rows that do not lie in one piece ----
 * An element's place in the order is how many come before it, which neighbouring rows count side by side. */
enum { SHORT_ROW = 32, NEIGHBOURS = 16 };

static bool is_short(const struct definition *x, int axis, int64_t k)
{
	int64_t beside = 1;
	FOR_FROM (d, axis + 1, x->rank)
		beside *= x->extents[d];
	return k > 1 && x->extents[axis] <= SHORT_ROW && beside >= NEIGHBOURS && definition_elements(x)
	        && (dtypes[x->type].bits <= 16 || x->type == DTYPE_F32);
}

static expr_ref short_integer(struct definer *definer, expr_ref e) { return CAST(DTYPE_I32, e); }

/* The bits of a number, or an integer itself. */
static expr_ref bits_of(struct definer *definer, expr_ref x)
{
	return dtype_is_float(x->type) ? CAST_AS(DTYPE_I32, CAST_BITS, CAST(DTYPE_F32, x)) : short_integer(definer, x);
}

/* int32s in x's order: a NaN is above every number, 0 and -0 are equal.  They end a step before the least and the largest
 * int32. */
static expr_ref key_of(struct definer *definer, expr_ref x)
{
	if (!dtype_is_float(x->type))
		return bits_of(definer, x);
	x = ADD(CAST(DTYPE_F32, x), NUMBER(DTYPE_F32, 0));
	expr_ref bits = bits_of(definer, x), most = WHOLE(DTYPE_I32, INT32_MAX),
	         below = LESS(bits, WHOLE(DTYPE_I32, 0)), number = short_integer(definer, EQUAL(x, x));
	bits = WHERE(below, expr2(definer, SCALAR_xor, bits, most), bits);
	return WHERE(number, bits, WHOLE(DTYPE_I32, INT32_MAX - 1));
}

/* Of two equal ones the one behind is a step further. */
static struct definition *places_of(struct definer *definer, struct definition *x, int axis, bool largest)
{
	index_ref at[MAX_RANK], own, other;
	int64_t n = x->extents[axis];
	VARS(at, x->rank, x->extents);
	struct definition *key = PART("key", x->rank, x->extents, key_of(definer, LOAD(x, at)));
	expr_ref mine = LOAD(key, at), theirs, step;
	own = at[axis];
	at[axis] = other = VAR(x->rank, n);
	theirs = LOAD(key, at);
	own = PLUS(SUM(own, SCALE(other, -1)), n - 1);
	step = short_integer(definer, POSITION(QUOTIENT(own, n)));
	mine = expr2(definer, largest ? SCALAR_sub : SCALAR_add, mine, step);
	return REDUCTION("place", x->rank, x->extents, REDUCE_SUM, 1, &n, NULL,
	        expr2(definer, largest ? SCALAR_greater : SCALAR_less, theirs, mine));
}

/* Of the element in each place its position, or what it is: the one that is there is the largest beside `none`. */
static expr_ref in_place(struct definer *definer, struct definition *x, struct definition *place, int axis,
        const int64_t *extents, bool position)
{
	index_ref at[MAX_RANK], own;
	int64_t n = x->extents[axis];
	VARS(at, x->rank, extents);
	own = at[axis];
	at[axis] = VAR(x->rank, n);
	expr_ref what = position ? short_integer(definer, POSITION(at[axis])) : bits_of(definer, LOAD(x, at)),
	         here = EQUAL(LOAD(place, at), short_integer(definer, POSITION(own))),
	         none = WHOLE(DTYPE_I32, INT32_MIN);
	struct definition *found = REDUCTION(
	        position ? "position" : "value", x->rank, extents, REDUCE_MAX, 1, &n, NULL, WHERE(here, what, none));
	at[axis] = own;
	what = LOAD(found, at);
	if (!position && dtype_is_float(x->type))
		what = CAST_AS(DTYPE_F32, CAST_BITS, what);
	return CAST(position ? DTYPE_I64 : x->type, what);
}

void define_top_k(struct definer *definer)
{
	struct arena *arena = definer->arena;
	struct definition *x = IN(0);
	const struct node *node = NODE;
	index_ref key_at[MAX_RANK], order_at[MAX_RANK];
	int64_t rows[MAX_RANK];
	SHAPE(node_has_out(node, 0) ? 0 : 1, rank, extents, at);
	int axis = order_axis(node), row = 0;
	int64_t n = x->extents[axis];
	bool largest = node->since < 11 || attribute_int(node, "largest");
	INVALID_IF(extents[axis] > n, "%" PRId64 " of %" PRId64 " are declared", extents[axis], n);
	const struct dim *have = &node->in[0]->dims[axis],
	                 *want = &node->out[node_has_out(node, 0) ? 0 : 1]->dims[axis];
	require_many(definer, have, want);
	if (node_in(node, 1) && !node->in[1]->data && !want->count)
		REQUIRE(I_IS(ELEMENT(1, 0), extents[axis]), "k is %" PRId64 ", as declared, is right", extents[axis]);
	LIMIT_IF(n > INT32_MAX, "rows of %" PRId64 ", %d at most", n, INT32_MAX);
	FOR (d, rank)
		if (d != axis) {
			order_at[row] = at[d];
			key_at[d] = VAR(row, extents[d]);
			rows[row++] = extents[d];
		}
	order_at[row] = at[axis];
	rows[row] = extents[axis];
	key_at[axis] = VAR(rank, n);
	bool own = axis == rank - 1 && node_has_out(node, 1);
	struct definition *there = definer_there(definer, x, have->count, axis, last_of_all(arena, x->type, largest));
	if (is_short(x, axis, extents[axis])) {
		struct definition *place = places_of(definer, there, axis, largest);
		OUT(1, in_place(definer, x, place, axis, extents, true));
		OUT(0, in_place(definer, x, place, axis, extents, false));
		return;
	}
	struct definition *order = definer_order(definer, own ? node->out[1]->name : NAMED("order"), rank, rows,
	        largest, n, definition_elements(x) ? LOAD(there, key_at) : NULL, NULL);
	expr_ref position = LOAD(order, order_at);
	if (own)
		GIVE(1, order);
	else
		OUT(1, position);
	at[axis] = VALUE(position, 0, n > 0 ? n - 1 : 0);
	OUT(0, definition_elements(x) ? LOAD(x, at) : LIKE(x, 0));
}
