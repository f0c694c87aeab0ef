/* quantise.c: QuantizeLinear: x / scale + zero point, to an integer; DequantizeLinear: (x - zero point) * scale.  One scale for all, for each
 * place on an axis, or for blocks of it. */
#include "ops/ops.h"
#include <inttypes.h>

static bool is_quantised(enum dtype type)
{
	static const bool yes[DTYPE_COUNT] = {
	        [DTYPE_I8] = true,  [DTYPE_U8] = true, [DTYPE_I16] = true, [DTYPE_U16] = true,
	        [DTYPE_I32] = true, [DTYPE_I4] = true, [DTYPE_U4] = true};
	return yes[type];
}

/* The output has x's shape; scale and zero point fit it. */
static void infer_scaled(struct node *node, enum dtype type)
{
	const struct tensor *x = node->in[0], *scale = node->in[1], *zero = node_in(node, 2);
	if (zero && zero->rank >= 0 && scale->rank >= 0 && zero->rank != scale->rank
		&& !(tensor_is_scalar_like(zero) && tensor_is_scalar_like(scale)))
		node_fail(node, EXIT_INVALID, "%s: the zero point has %d dimensions, the scale has %d",
		          node->type, zero->rank, scale->rank);
	if (x->rank < 0 || scale->rank < 0) {
		infer_output_unknown(node, 0, type);
		return;
	}
	int64_t block = attribute_int(node, "block_size"), axis = 0;
	if (block < 0)
		node_fail(node, EXIT_INVALID, "%s: block_size is %" PRId64, node->type, block);
	if (!tensor_is_scalar_like(scale) || scale->rank > 1) {
		if (node->since < 13)
			node_fail(node, EXIT_INVALID, "%s of opset %d takes a scalar scale", node->type, node->since);
		axis = node_axis(node, attribute_int(node, "axis"), x->rank);
	}
	for (int i = 1; i < 3; i++) {
		const struct tensor *each = node_in(node, i);
		if (!each || each->rank < 0 || (tensor_is_scalar_like(each) && each->rank <= 1))
			continue;
		if (each->rank != (block ? x->rank : 1))
			node_fail(node, EXIT_INVALID, "%s: input %d has %d dimensions, %d are right", node->type, i,
			          each->rank, block ? x->rank : 1);
		for (int d = 0; d < each->rank; d++) {
			struct dim want = block ? x->dims[d] : x->dims[axis];
			if (block && d == axis && dim_is_known(want))
				want.extent = want.extent / block + (want.extent % block != 0);
			if (dim_is_known(want) && dim_is_known(each->dims[d]) && each->dims[d].extent != want.extent)
				node_fail(node, EXIT_INVALID,
				          "%s: input %d has %" PRId64 ", %" PRId64 " is right", node->type, i,
				          each->dims[d].extent, want.extent);
		}
	}
	infer_output(node, 0, type, x->rank, x->dims);
}

void infer_dequantise(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 2, 3, 1);
	const struct tensor *x = node->in[0], *scale = node->in[1];
	if (x->type != DTYPE_NONE && !is_quantised(x->type))
		node_fail(node, EXIT_UNSUPPORTED, "DequantizeLinear of %s is not supported", dtypes[x->type].text);
	if (scale->type != DTYPE_NONE && scale->type != DTYPE_F32)
		node_fail(node, EXIT_UNSUPPORTED, "DequantizeLinear with a scale of %s is not supported",
		          dtypes[scale->type].text);
	int64_t output_type = attribute_int(node, "output_dtype");
	if (output_type && output_type != DTYPE_F32)
		node_fail(node, EXIT_UNSUPPORTED, "DequantizeLinear to another type than float is not supported");
	infer_same_type(node, 2, x->type);
	infer_scaled(node, DTYPE_F32);
}

/* The scale or zero point of the element at `at`. */
static const struct expr *of_element(struct definer *definer, struct definition *each, int rank,
                                     const struct index *const *at)
{
	struct arena *arena = definer->arena;
	const struct index *own[MAX_RANK];
	int64_t block = attribute_int(definer->node, "block_size");
	if (definition_elements(each) == 1 && each->rank <= 1) {
		own[0] = index_constant(arena, 0);
		return expr_load(arena, each, own);
	}
	int axis = (int)node_axis(definer->node, attribute_int(definer->node, "axis"), rank);
	if (!block)
		return expr_load(arena, each, &at[axis]);
	memcpy(own, at, (size_t)rank * sizeof *own);
	own[axis] = index_div(arena, at[axis], block);
	return expr_load(arena, each, own);
}

void define_dequantise(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	struct definition *x = definer_in(definer, 0), *scale = definer_in(definer, 1), *zero = definer_in(definer, 2);
	const struct index *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, at);
	const struct expr *value = expr_load(arena, x, at);
	(void)op;
	if (zero && x->type != DTYPE_I32) /* int32 has a zero point of 0 by definition */
		value = expr2(definer, SCALAR_sub, expr_cast(arena, DTYPE_I32, value),
			expr_cast(arena, DTYPE_I32, of_element(definer, zero, rank, at)));
	definer_out_map(
	        definer, 0,
	        expr2(definer, SCALAR_mul, expr_cast(arena, DTYPE_F32, value), of_element(definer, scale, rank, at)));
}

/* ---- QuantizeLinear ---- */
void infer_quantise(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 2, 3, 1);
	const struct tensor *zero = node_in(node, 2);
	int64_t asked = attribute_int(node, "output_dtype"), precision = attribute_int(node, "precision");
	for (int i = 0; i < 2; i++)
		if (node->in[i]->type != DTYPE_NONE && node->in[i]->type != DTYPE_F32)
			node_fail(node, EXIT_UNSUPPORTED, "%s of %s is not supported", node->type, dtypes[node->in[i]->type].text);
	if (precision && precision != DTYPE_F32)
		node_fail(node, EXIT_UNSUPPORTED, "%s: a precision other than float is not supported", node->type);
	if (asked < 0 || asked >= DTYPE_COUNT || (asked && !dtypes[asked].text))
		node_fail(node, EXIT_INVALID, "%s: output_dtype is %" PRId64 ", no element type", node->type, asked);
	enum dtype type = zero ? zero->type : asked ? (enum dtype)asked : DTYPE_U8;
	if (zero && asked && zero->type != DTYPE_NONE && zero->type != (enum dtype)asked)
		node_fail(node, EXIT_INVALID, "%s: the zero point is %s, output_dtype says %s", node->type, dtypes[zero->type].text, dtypes[asked].text);
	if (type != DTYPE_NONE && type != DTYPE_I8 && type != DTYPE_U8 && type != DTYPE_I16 && type != DTYPE_U16)
		node_fail(node, EXIT_UNSUPPORTED, "%s to %s is not supported", node->type, dtypes[type].text);
	infer_scaled(node, type);
}

void define_quantise(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	struct definition *x = definer_in(definer, 0), *scale = definer_in(definer, 1), *zero = definer_in(definer, 2);
	const struct index *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	(void)op;
	int rank = definer_shape(definer, 0, extents, at);
	const struct expr *value = expr2(definer, SCALAR_div, expr_load(arena, x, at), of_element(definer, scale, rank, at));
	value = expr1(definer, SCALAR_round, value);
	if (zero)                                       /* exact wherever the sum is inside the type's range; the cast cuts to that */
		value = expr2(definer, SCALAR_add, value, expr_cast(arena, DTYPE_F32, of_element(definer, zero, rank, at)));
	definer_out_map(definer, 0, expr_cast(arena, definer->node->out[0]->type, value));
}
