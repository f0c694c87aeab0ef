/* quantise.c: QuantizeLinear: x / scale + zero point, to an integer or a float of at most 8 bits; DequantizeLinear:
 * (x - zero point) * scale.  One scale for all, for each place on an axis, or for blocks of it. */
#include "ops/words.h"

static bool is_quantised(enum dtype type)
{
	int bits = dtypes[type].bits;
	if (dtype_is_float(type))
		return bits <= 8 && type != DTYPE_F8E8M0;
	return (dtypes[type].class == CLASS_INT || dtypes[type].class == CLASS_UINT) && bits <= 16;
}

static bool is_real(enum dtype type) { return type == DTYPE_F32 || type == DTYPE_F16 || type == DTYPE_BF16; }

/* Input i of one of these types; NONE: not known yet. */
static enum dtype type_of_input(const struct node *node, int i, bool right, const char *words)
{
	enum dtype type = infer_any_type(node, i);
	INVALID_IF(type != DTYPE_NONE && !right, "input %d is %s; %s is right", i, dtypes[type].text, words);
	return type;
}

/* The type that an attribute names, NONE where it names none. */
static enum dtype type_named(
        const struct node *node, const char *attribute, bool (*right)(enum dtype), const char *words)
{
	int64_t asked = attribute_int(node, attribute);
	INVALID_IF(asked < 0 || asked >= DTYPE_COUNT, "%s is %" PRId64 ", no element type", attribute, asked);
	INVALID_IF(asked && !right((enum dtype)asked), "%s is %s; %s is right", attribute, dtypes[asked].text, words);
	return (enum dtype)asked;
}

static const char QUANTISED[] = "an integer of at most 16 bits, or a float of at most 8",
                  REAL[] = "float, float16 or bfloat16";

/* The output has x's shape; scale and zero point fit it. */
static void infer_scaled(struct node *node, enum dtype type)
{
	const struct tensor *x = node->in[0], *scale = node->in[1], *zero = node_in(node, 2);
	INVALID_IF(zero && zero->rank >= 0 && scale->rank >= 0 && zero->rank != scale->rank
	                && !(tensor_is_scalar_like(zero) && tensor_is_scalar_like(scale)),
	        "the zero point has %d dimensions, the scale has %d", zero->rank, scale->rank);
	if (!infer_ranks(node, 2, type))
		return;
	int64_t block = attribute_int(node, "block_size"), axis = 0;
	INVALID_IF(block < 0, "block_size is %" PRId64, block);
	if (!tensor_is_scalar_like(scale) || scale->rank > 1) {
		INVALID_IF(node->since < 13, " of opset %d takes a scalar scale", node->since);
		axis = attribute_axis(node, x->rank);
	}
	FOR_FROM (i, 1, 3) {
		const struct tensor *each = node_in(node, i);
		if (!each || each->rank < 0 || (tensor_is_scalar_like(each) && each->rank <= 1))
			continue;
		INVALID_IF(each->rank != (block ? x->rank : 1), "input %d has %d dimensions, %d are right", i,
		        each->rank, block ? x->rank : 1);
		FOR (d, each->rank) {
			struct dim want = block ? x->dims[d] : x->dims[axis];
			if (block && d == axis && dim_is_known(want))
				want.extent = want.extent / block + (want.extent % block != 0);
			INVALID_IF(dims_differ(want, each->dims[d]), "input %d has %" PRId64 ", %" PRId64 " is right",
			        i, each->dims[d].extent, want.extent);
		}
	}
	infer_output(node, 0, type, x->rank, x->dims);
}

void infer_dequantise(struct node *node)
{
	infer_counts(node, 2, 3, 1);
	enum dtype x = node->in[0]->type, scale = node->in[1]->type,
	           to = type_named(node, "output_dtype", is_real, REAL);
	type_of_input(node, 0, is_quantised(x) || x == DTYPE_I32, QUANTISED);
	type_of_input(node, 1, is_real(scale) || scale == DTYPE_F8E8M0, REAL);
	INVALID_IF(!to && scale == DTYPE_F8E8M0, "a scale of %s needs output_dtype", dtypes[scale].text);
	infer_same_type(node, 2, x);
	infer_scaled(node, to ? to : scale);
}

/* The scale or zero point of the element at `at`. */
static expr_ref of_element(struct definer *definer, struct definition *each, int rank, const index_ref *at)
{
	index_ref own[MAX_RANK];
	int64_t block = attribute_int(NODE, "block_size");
	if (definition_elements(each) == 1 && each->rank <= 1) {
		own[0] = CONSTANT(0);
		return LOAD(each, own);
	}
	int axis = attribute_axis(NODE, rank);
	if (!block)
		return LOAD(each, &at[axis]);
	COPY(own, at, rank);
	own[axis] = QUOTIENT(at[axis], block);
	return LOAD(each, own);
}

/* A zero point of 0 changes no number. */
static bool is_nothing(const struct definition *zero)
{
	size_t bytes = dtype_bytes(zero->type, (size_t)definition_elements(zero));
	const unsigned char *data = zero->source == SOURCE_CONSTANT ? definition_data(zero) : NULL;
	FOR_WHILE (i, data, bytes)
		if (data[i])
			return false;
	return data;
}

void define_dequantise(struct definer *definer)
{
	struct definition *x = STORED(0), *scale = IN(1), *zero = STORED(2);
	SHAPE(0, rank, extents, at);
	expr_ref value = LOAD(x, at);
	if (zero && x->type != DTYPE_I32 && !is_nothing(zero)) { /* int32 has a zero point of 0 by definition */
		enum dtype between = dtype_is_float(x->type) ? DTYPE_F32 : DTYPE_I32;
		value = SUB(CAST(between, value), CAST(between, of_element(definer, zero, rank, at)));
	}
	OUT(0, MUL(CAST(DTYPE_F32, value), of_element(definer, scale, rank, at)));
}

/* ---- QuantizeLinear: in the precision of the scale, or the one that is asked for ---- */
static enum dtype precision_of(const struct node *node)
{
	enum dtype asked = type_named(node, "precision", is_real, REAL), scale = node->in[1]->type;
	return asked ? asked : is_real(scale) ? scale : DTYPE_F32;
}

void infer_quantise(struct node *node)
{
	infer_counts(node, 2, 3, 1);
	const struct tensor *zero = node_in(node, 2);
	enum dtype x = node->in[0]->type, scale = node->in[1]->type,
	           asked = type_named(node, "output_dtype", is_quantised, QUANTISED);
	type_of_input(node, 0, is_real(x) || x == DTYPE_I32, REAL);
	type_of_input(node, 1, is_real(scale) || scale == DTYPE_F8E8M0 || scale == DTYPE_I32, REAL);
	precision_of(node);
	if (zero)
		type_of_input(node, 2, is_quantised(zero->type), QUANTISED);
	INVALID_IF(zero && asked && zero->type != DTYPE_NONE && zero->type != asked,
	        "the zero point is %s, output_dtype says %s", dtypes[zero->type].text, dtypes[asked].text);
	infer_scaled(node, zero ? zero->type : asked ? asked : DTYPE_U8);
}

static expr_ref cut_to(struct definer *definer, enum dtype type, expr_ref value)
{
	bool is_signed = dtypes[type].class == CLASS_INT;
	int64_t most = ((int64_t)1 << (dtypes[type].bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
	if (dtypes[type].bits >= 8)
		return CAST(type, value);
	value = MIN(CAST(DTYPE_I32, value), WHOLE(DTYPE_I32, most));
	return CAST(dtype_stored(type), MAX(value, WHOLE(DTYPE_I32, least)));
}

void define_quantise(struct definer *definer)
{
	struct definition *x = IN(0), *scale = IN(1), *zero = IN(2);
	SHAPE(0, rank, extents, at);
	enum dtype to = NODE->out[0]->type, precision = precision_of(NODE);
	bool whole = !dtype_is_float(to);
	expr_ref value = DIV(CAST(DTYPE_F32, LOAD(x, at)), CAST(DTYPE_F32, of_element(definer, scale, rank, at)));
	if (dtype_is_narrow(precision))
		value = CAST(DTYPE_F32, CAST(precision, value));
	if (whole)
		value = expr1(definer, SCALAR_round, value);
	if (zero) /* exact wherever the sum is inside the type's range; the cast cuts to that */
		value = ADD(value, CAST(DTYPE_F32, of_element(definer, zero, rank, at)));
	OUT(0,
	        whole ? cut_to(definer, to, value)
	              : expr_of_type(definer, to, attribute_int(NODE, "saturate") ? CAST_SATURATES : 0, value));
}
