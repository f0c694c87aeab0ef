/* constants.c: numbers out of nothing: Constant, ConstantOfShape, Shape; OneHot, EyeLike, Range. */
#include "ops/words.h"
#include <math.h>

/* ---- Constant: the output becomes a constant tensor at inference ---- */
static void set_data(struct node *node, enum dtype type, int rank, int64_t extent, const void *data)
{
	struct dim dim = dim_of(extent);
	infer_output(node, 0, type, rank, &dim);
	node->out[0]->data = data;
	node->out[0]->bytes = dtype_bytes(type, rank ? (size_t)extent : 1);
}

void infer_constant_node(struct node *node)
{
	const struct attribute *value = NULL;
	FOR (i, node->attribute_count) {
		INVALID_IF(value, " has %s and %s, one is right", value->name, node->attributes[i].name);
		value = &node->attributes[i];
	}
	INVALID_IF(!value, " has no value");
	switch (value->kind) {
	case ATTRIBUTE_TENSOR:
		infer_output_like(node, 0, value->t);
		node->out[0]->data = value->t->data;
		node->out[0]->bytes = value->t->bytes;
		node->out[0]->strings = value->t->strings;
		break;
	case ATTRIBUTE_FLOAT: set_data(node, DTYPE_F32, 0, 1, &value->f); break;
	case ATTRIBUTE_INT: set_data(node, DTYPE_I64, 0, 1, &value->i); break;
	case ATTRIBUTE_FLOATS:
		set_data(node, DTYPE_F32, 1, (int64_t)value->count, value->count ? value->floats : &value->f);
		break;
	case ATTRIBUTE_INTS:
		set_data(node, DTYPE_I64, 1, (int64_t)value->count, value->count ? value->ints : &value->i);
		break;
	case ATTRIBUTE_STRING:
	case ATTRIBUTE_STRINGS: {
		bool one = value->kind == ATTRIBUTE_STRING;
		size_t count = one ? 1 : value->count;
		const char *const *strings = strings_copied(node, one ? &value->s : value->strings, count);
		set_data(node, DTYPE_STRING, !one, (int64_t)count, strings);
		node->out[0]->strings = strings;
		break;
	}
	default: node_unsupported(node, " with %s is not supported", value->name);
	}
}

void define_constant_node(struct definer *definer)
{
	(void)definer; /* inference made a tensor of it; who reads it finds that */
}

/* ---- ConstantOfShape ---- */
static const struct tensor *fill_of(const struct node *node)
{
	const struct attribute *value = node_attribute(node, "value");
	if (!value)
		return NULL;
	INVALID_IF(value->kind != ATTRIBUTE_TENSOR || node_elements(node, value->t) != 1,
	        "value is no tensor of one element");
	return value->t;
}

static struct tensor *size_of_shape(const struct node *node, int d)
{
	return size_made(node, "SizeElement", d, 1, &node->in[0]);
}

void infer_constant_of_shape(struct node *node)
{
	struct dim dims[MAX_RANK];
	int64_t count;
	const struct tensor *fill = fill_of(node);
	enum dtype type = fill ? fill->type : DTYPE_F32;
	const int64_t *shape = node_in_ints(node, 0, &count);
	struct tensor *const *sizes = shape ? NULL : node_in_sizes(node, 0, &count);
	if (sizes && count <= MAX_RANK) {
		FOR (d, count)
			dims[d] = size_dim(sizes[d]);
		infer_output(node, 0, type, (int)count, dims);
		return;
	}
	if (!shape) {
		int rank = node_in_length(node, 0);
		dims_unknown(dims);
		FOR (d, rank) {
			struct tensor *size = node_in_size(node, 0, d);
			dims[d] = size ? size_dim(size) : dim_unknown;
		}
		infer_asked_dims(node, rank, dims, size_of_shape);
		infer_output(node, 0, type, rank, dims);
		return;
	}
	LIMIT_IF(count > MAX_RANK, " of %" PRId64 " dimensions, at most %d are supported", count, MAX_RANK);
	FOR (d, count) {
		INVALID_IF(shape[d] < 0, "%" PRId64 " in dimension %" PRId64, shape[d], d);
		dims[d] = dim_of(shape[d]);
	}
	infer_output(node, 0, type, (int)count, dims);
}

void define_constant_of_shape(struct definer *definer)
{
	const struct tensor *fill = fill_of(NODE);
	expr_ref all = I(1);
	int64_t extents[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, NULL);
	bool late = node_in_is_late(NODE, 0);
	if (late && ELEMENTS(0) != rank)
		node_invalid(NODE, "the shape has %" PRId64 " numbers, the declared one has %d", ELEMENTS(0), rank);
	FOR_WHILE (d, late, rank)
		all = I_AND(all, I_EQUAL(ELEMENT(0, d), DIM(&NODE->out[0]->dims[d])));
	definer_require_dims(definer);
	REQUIRE(all, "the shape at run time is not %s, the declared one", SHAPE_TEXT(rank, extents));
	if (!fill) {
		OUT(0, NUMBER(DTYPE_F32, 0));
		return;
	}
	int64_t zero[MAX_RANK] = { 0 };
	struct definition *one = define_constant(definer->program, NAMED("value"), dtype_stored(fill->type), 0, zero,
	        dtype_stored(fill->type) == fill->type ? fill->data
	                                               : packed_constant(definer->arena, fill->type, fill->data, 1));
	OUT(0, LOAD(one, NULL));
}

/* ---- Shape: constant as soon as the dims are known ---- */
/* Dims that data decide: their counts become inputs.  False: there is none. */
static bool take_counts(struct node *node, int64_t from, int64_t to)
{
	const struct tensor *x = node->in[0];
	struct tensor **in = arena_new_array(node_arena(node), struct tensor *, MAX_RANK + 1);
	int ins = 0;
	in[ins++] = node->in[0];
	FOR_FROM (d, from, to)
		if (x->dims[d].count)
			in[ins++] = x->dims[d].count;
	if (ins == 1)
		return false;
	node->in = in;
	node->ins = ins;
	node->domain = name_is(node->graph->build->names, "ingot");
	node->since = 1;
	return true;
}

void infer_shape(struct node *node)
{
	infer_least(node, 1);
	const struct tensor *x = node->in[0];
	struct dim length = dim_unknown;
	if (x->rank < 0) {
		infer_output(node, 0, DTYPE_I64, 1, &length);
		return;
	}
	int64_t from = attribute_int(node, "start"), to = node_int(node, "end", x->rank);
	from += from < 0 ? x->rank : 0;
	to += to < 0 ? x->rank : 0;
	from = from < 0 ? 0 : from > x->rank ? x->rank : from;
	to = to < from ? from : to > x->rank ? x->rank : to;
	length = dim_of(to - from);
	infer_output(node, 0, DTYPE_I64, 1, &length);
	if (take_counts(node, from, to))
		return;
	int64_t *extents = arena_new_array(node_arena(node), int64_t, to - from + 1);
	FOR_FROM (d, from, to) {
		if (!dim_is_known(x->dims[d]))
			return;
		extents[d - from] = x->dims[d].extent;
	}
	node->out[0]->data = extents;
	node->out[0]->bytes = (size_t)(to - from) * sizeof *extents;
}

void define_shape(struct definer *definer)
{
	const struct tensor *x = NODE->in[0];
	if (NODE->ins > 1) {
		index_ref k = VAR(0, NODE->out[0]->dims[0].extent);
		expr_ref body = I(0);
		int64_t from = attribute_int(NODE, "start"),
		        to = from + (from < 0 ? x->rank : 0) + NODE->out[0]->dims[0].extent;
		for (int64_t d = from + (from < 0 ? x->rank : 0), i = 0, in = 1; d < to; d++, i++)
			body = SELECT(&(struct range){ k, i, i + 1 }, 1,
			        x->dims[d].count ? ELEMENT((int)in, 0) : I(x->dims[d].extent), body),
			in += x->dims[d].count != NULL;
		OUT(0, body);
		return;
	}
	if (!NODE->out[0]->data)
		node_fail(NODE, EXIT_USAGE, "%s of %s, whose dimensions are not all bound: use --dim", NODE->type,
		        NODE->in[0]->name);
}

/* ---- Size: the number of elements, likewise ---- */
void infer_size(struct node *node)
{
	infer_output(node, 0, DTYPE_I64, 0, NULL);
	int64_t elements = node->in[0]->rank < 0 ? -1 : node_elements(node, node->in[0]);
	if (elements < 0)
		return;
	if (tensor_counted(node->in[0])) {
		struct tensor *size = size_number(node, 1);
		FOR (d, node->in[0]->rank)
			size = size_product(node, size, size_of_dim(node, &node->in[0]->dims[d]));
		node_hands_on(node, size);
		return;
	}
	int64_t *data = arena_new(node_arena(node), int64_t);
	*data = elements;
	node->out[0]->data = data;
	node->out[0]->bytes = sizeof *data;
}

void define_size(struct definer *definer) { define_shape(definer); }

/* A constant number; false where it is not constant. */
static bool number_in(const struct node *node, int i, double *number, int64_t *whole)
{
	const struct tensor *tensor = node->in[i];
	INVALID_IF(
	        tensor->rank > 1 || (tensor->rank == 1 && dim_is_known(tensor->dims[0]) && tensor->dims[0].extent != 1),
	        "input %d has more than one element", i);
	if (!tensor->data)
		return false;
	if (tensor->type == DTYPE_F32 || tensor->type == DTYPE_F64) {
		*number = tensor_float(tensor, 0);
		*whole = *number > -0x1p62 && *number < 0x1p62 ? (int64_t)*number : 0;
		return true;
	}
	uint64_t bits = 0;
	int unused = 64 - dtypes[tensor->type].bits;
	memcpy(&bits, tensor->data, (size_t)dtypes[tensor->type].bits / 8);
	if (dtype_is_narrow(tensor->type)) {
		*number = (double)narrow_value(tensor->type, (unsigned)bits);
		*whole = isfinite(*number) && fabs(*number) < 0x1p62 ? (int64_t)*number : 0;
		return true;
	}
	bits <<= unused; /* little-endian, as all data of a graph */
	*whole = dtypes[tensor->type].class == CLASS_INT ? (int64_t)bits >> unused : (int64_t)(bits >> unused);
	*number = (double)*whole;
	return true;
}

/* ---- OneHot: the second of two values where the index is, the first elsewhere ---- */
void infer_one_hot(struct node *node)
{
	struct dim dims[MAX_RANK + 1];
	double number;
	int64_t depth = -1;
	enum dtype type = infer_number_type(node, 2);
	const struct tensor *indices = node->in[0], *values = node->in[2];
	INVALID_IF(values->rank >= 0
	                && (values->rank != 1 || (dim_is_known(values->dims[0]) && values->dims[0].extent != 2)),
	        "values has %d dimensions, one of 2 is right", values->rank);
	INVALID_IF(node->in[1]->type != DTYPE_NONE && number_in(node, 1, &number, &depth)
	                && (depth < 1 || depth > (int64_t)1 << 40),
	        "depth is %g, 1 to 2^40 is right", number);
	if (!infer_ranks(node, 1, type))
		return;
	LIMIT_IF(indices->rank == MAX_RANK, "indices of %d dimensions, at most %d are supported", indices->rank,
	        MAX_RANK - 1);
	int64_t axis = attribute_axis(node, indices->rank + 1);
	for (int d = 0; d <= indices->rank; d++)
		dims[d] = d == axis ? depth < 0 ? dim_unknown : dim_of(depth) : indices->dims[d - (d > axis)];
	infer_output(node, 0, type, indices->rank + 1, dims);
}

/* Where each index puts its one, as a float, outside where nowhere: so that the output compares floats, which lie in
 * lanes, and each index is looked at once.  The numbers to compare with are a table among the weights, so it stays
 * small. */
enum { STEPS_MOST = 1 << 12 };
static expr_ref hit_in_floats(
        struct definer *definer, struct definition *indices, int64_t depth, const index_ref *own, const index_ref *at)
{
	struct arena *arena = definer->arena;
	index_ref each[MAX_RANK];
	float *steps = arena_new_array(arena, float, depth);
	FOR (i, depth)
		steps[i] = (float)i;
	VARS(each, indices->rank, indices->extents);
	expr_ref index = CAST(DTYPE_I64, LOAD(indices, each));
	index = ADD(index, MUL(LESS(index, I(0)), I(depth)));
	index = MIN(MAX(index, I(-1)), I(depth));
	struct definition *places = PART("places", indices->rank, indices->extents, CAST(DTYPE_F32, index));
	struct definition *all = define_constant(definer->program, NAMED("steps"), DTYPE_F32, 1, &depth, steps);
	return EQUAL(LOAD(places, own), LOAD(all, at));
}

void define_one_hot(struct definer *definer)
{
	struct definition *indices = IN(0), *values = IN(2);
	index_ref own[MAX_RANK], which[2] = { CONSTANT(0), CONSTANT(1) };
	int64_t depth;
	double number;
	SHAPE(0, rank, extents, at);
	int axis = attribute_axis(NODE, rank);
	if (!number_in(NODE, 1, &number, &depth)) { /* what is declared */
		depth = extents[axis];
		REQUIRE(I_IS(CAST(DTYPE_I64, ELEMENT(1, 0)), depth), "a depth of %" PRId64 ", as declared, is right",
		        depth);
	}
	FOR (d, rank)
		if (d != axis)
			own[d - (d > axis)] = at[d];
	expr_ref index = CAST(DTYPE_I64, LOAD(indices, own)), here = POSITION(at[axis]);
	expr_ref below = ADD(index, I(depth)); /* what an index below 0 means */
	expr_ref hit = values->type == DTYPE_F32 && depth > 0 && depth <= STEPS_MOST
	        ? hit_in_floats(definer, indices, depth, own, &at[axis])
	        : MAX(EQUAL(index, here), EQUAL(below, here));
	OUT(0, WHERE(CAST(values->type, hit), LOAD(values, &which[1]), LOAD(values, &which[0])));
}

/* ---- EyeLike ---- */
void infer_eye_like(struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t asked = node_int(node, "dtype", x->type);
	INVALID_IF(asked < 0 || asked >= DTYPE_COUNT || !dtypes[asked].text, "dtype is %" PRId64 ", no element type",
	        asked);
	UNSUPPORTED_IF(asked != DTYPE_NONE && !dtype_is_supported((enum dtype)asked), " to %s is not supported",
	        dtypes[asked].text);
	INVALID_IF(x->rank >= 0 && x->rank != 2, "data has %d dimensions, 2 are right", x->rank);
	if (x->rank < 0)
		infer_type(node, 0, (enum dtype)asked);
	else
		infer_output(node, 0, (enum dtype)asked, 2, x->dims);
}

void define_eye_like(struct definer *definer)
{
	int64_t k = attribute_int(NODE, "k");
	SHAPE(0, rank, extents, at);
	enum dtype type = dtype_stored(NODE->out[0]->type);
	bool none = k <= -extents[0] || k >= extents[1];
	struct range diagonal = { SUM(at[1], SCALE(at[0], -1)), none ? 0 : k, none ? 0 : k + 1 };
	OUT(0, SELECT(&diagonal, 1, NUMBER(type, 1), NUMBER(type, 0)));
}

/* ---- Range: start, start + delta …, below the limit ---- */
static struct tensor *size_of_range(const struct node *node, int d)
{
	return size_made(node, "SizeRange", d, 3, node->in);
}

/* Of whole numbers known as sizes, by a constant; NULL: not known. */
static struct tensor *size_counted(const struct node *node)
{
	struct tensor *at[3];
	int64_t count, by;
	FOR (i, 3) {
		struct tensor *const *sizes = node_in_sizes(node, i, &count);
		if (!sizes || count != 1)
			return NULL;
		at[i] = sizes[0];
	}
	if (!at[2]->data || !(by = tensor_int(at[2], 0)) || by < -INT32_MAX || by > INT32_MAX)
		return NULL;
	struct tensor *span = size_not_below_zero(
	        node, by < 0 ? size_difference(node, at[0], at[1]) : size_difference(node, at[1], at[0]));
	by = by < 0 ? -by : by;
	return by == 1 ? span : size_quotient(node, size_plus(node, span, by - 1), size_number(node, by));
}

void infer_range(struct node *node)
{
	double number[3];
	int64_t whole[3], count;
	enum dtype type = node->in[0]->type;
	bool is_float = type != DTYPE_NONE && dtype_is_float(type), known = type != DTYPE_NONE;
	FOR (i, 3) {
		known = known && node->in[i]->type == type && number_in(node, i, &number[i], &whole[i]);
	}
	if (!known) {
		struct tensor *size = type == DTYPE_NONE ? NULL : size_counted(node);
		struct dim dim = size ? size_dim(size) : dim_unknown;
		infer_asked_dims(node, 1, &dim, size_of_range);
		infer_output(node, 0, type, 1, &dim);
		return;
	}
	INVALID_IF(is_float ? !(fabs(number[2]) > 0 && isfinite(number[2])) : !whole[2],
	        "delta is %g, a number other than 0 is right", number[2]);
	double steps = ceil((number[1] - number[0]) / number[2]);
	if (!is_float) { /* exactly, in 64 bits without a sign */
		uint64_t span = whole[2] > 0 ? (uint64_t)whole[1] - (uint64_t)whole[0]
		                             : (uint64_t)whole[0] - (uint64_t)whole[1];
		uint64_t step = whole[2] > 0 ? (uint64_t)whole[2] : -(uint64_t)whole[2];
		steps = (whole[2] > 0 ? whole[1] > whole[0] : whole[1] < whole[0]) ? (double)((span - 1) / step + 1)
		                                                                   : 0;
	}
	INVALID_IF(steps != steps, "from %g to %g by %g", number[0], number[1], number[2]);
	LIMIT_IF(!(steps < 0x1p40), "%g elements", steps);
	count = steps > 0 ? (int64_t)steps : 0;
	infer_output(node, 0, type, 1, (struct dim[]){ dim_of(count) });
}

/* How many numbers they make, an I64, or a double where they are floats; *right: delta is one that makes them. */
static expr_ref steps_of(struct definer *definer, expr_ref *right)
{
	expr_ref start = ELEMENT(0, 0), limit = ELEMENT(1, 0), delta = ELEMENT(2, 0);
	if (dtype_is_float(start->type)) {
		start = CAST(DTYPE_F64, start);
		limit = CAST(DTYPE_F64, limit);
		delta = CAST(DTYPE_F64, delta);
		*right = LESS(NUMBER(DTYPE_F64, 0), ABS(delta));
		return expr1(definer, SCALAR_ceil, DIV(SUB(limit, start), delta));
	}
	expr_ref up = I_LESS(I(0), delta), none = I(0), one = WHOLE(DTYPE_U64, 1);
	expr_ref low = I_WHERE(up, start, limit),
	         high = I_WHERE(up, limit, start); /* exactly, in 64 bits without a sign */
	expr_ref span = CAST(DTYPE_U64, I_SUB(high, low));
	expr_ref step = CAST(DTYPE_U64, I_WHERE(up, delta, I_SUB(none, delta)));
	expr_ref steps = ADD(DIV(SUB(span, one), step), one);
	*right = I_IS(I_IS(delta, 0), 0);
	return I_WHERE(I_LESS(low, high), CAST(DTYPE_I64, steps), none);
}

/* A start, limit or delta that comes at run time makes as many elements as are declared. */
static void declared_range(struct definer *definer, int64_t count)
{
	expr_ref right, steps = steps_of(definer, &right);
	if (steps->type == DTYPE_F64)
		right = MUL(expr2(definer, count ? SCALAR_equal : SCALAR_less_equal, steps,
		                    NUMBER(DTYPE_F64, (double)count)),
		        right);
	else
		right = I_AND(I_IS(steps, count), right);
	REQUIRE(right, "a start, limit and delta that make the declared %" PRId64 " elements are right", count);
}

void infer_size_range(struct node *node) { infer_as_size(node, 3, 3); }

/* Of floats -1 where they are too many for any bound, or not a number; delta 0 is such a one. */
void define_size_range(struct definer *definer)
{
	expr_ref right, steps = steps_of(definer, &right), none = I(-1);
	if (steps->type == DTYPE_F64) {
		expr_ref zero = NUMBER(DTYPE_F64, 0), most = NUMBER(DTYPE_F64, 0x1p40);
		expr_ref fits = MUL(right, LESS_EQUAL(steps, most));
		steps = CAST(DTYPE_I64, MIN(MAX(steps, zero), most));
		right = CAST(DTYPE_I64, fits);
	}
	OUT(0, I_WHERE(right, steps, none));
}

void define_range(struct definer *definer)
{
	struct definition *start = IN(0), *delta = IN(2);
	index_ref first = CONSTANT(0);
	int64_t whole;
	double number;
	SHAPE(0, rank, extents, at);
	FOR (i, 3)
		if (!number_in(NODE, i, &number, &whole)) {
			if (NODE->out[0]->dims[0].count)
				definer_require_dims(definer);
			else
				declared_range(definer, extents[0]);
			break;
		}
	expr_ref steps = CAST(start->type, POSITION(at[0]));
	OUT(0, ADD(LOAD(start, &first), MUL(steps, LOAD(delta, &first))));
}
