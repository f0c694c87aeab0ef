/* quantise.c: DequantizeLinear: (x - zero point) * scale, one scale for all, for each place on an axis, or for blocks
 * of it. */
#include "ops/ops.h"
#include <inttypes.h>

static bool is_quantised(enum dtype type)
{
	static const bool yes[DTYPE_COUNT] = {
	        [DTYPE_I8] = true,  [DTYPE_U8] = true, [DTYPE_I16] = true, [DTYPE_U16] = true,
	        [DTYPE_I32] = true, [DTYPE_I4] = true, [DTYPE_U4] = true};
	return yes[type];
}

void infer_dequantise(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 2, 3, 1);
	const struct tensor *x = node->in[0], *scale = node->in[1], *zero = node_in(node, 2);
	if (x->type != DTYPE_NONE && !is_quantised(x->type))
		node_fail(node, EXIT_UNSUPPORTED, "DequantizeLinear of %s is not supported", dtypes[x->type].text);
	if (scale->type != DTYPE_NONE && scale->type != DTYPE_F32)
		node_fail(node, EXIT_UNSUPPORTED, "DequantizeLinear with a scale of %s is not supported",
		          dtypes[scale->type].text);
	int64_t output_type = node_int(node, "output_dtype", 0);
	if (output_type && output_type != DTYPE_F32)
		node_fail(node, EXIT_UNSUPPORTED, "DequantizeLinear to another type than float is not supported");
	infer_same_type(node, 2, x->type);
	if (zero && zero->rank >= 0 && scale->rank >= 0 && zero->rank != scale->rank
		&& !(tensor_is_scalar_like(zero) && tensor_is_scalar_like(scale)))
		node_fail(node, EXIT_INVALID, "DequantizeLinear: the zero point has %d dimensions, the scale has %d",
		          zero->rank, scale->rank);
	if (x->rank < 0 || scale->rank < 0) {
		infer_output_unknown(node, 0, DTYPE_F32);
		return;
	}
	int64_t block = node_int(node, "block_size", 0), axis = 0;
	if (block < 0)
		node_fail(node, EXIT_INVALID, "DequantizeLinear: block_size is %" PRId64, block);
	if (!tensor_is_scalar_like(scale) || scale->rank > 1) {
		if (node->since < 13)
			node_fail(node, EXIT_INVALID, "DequantizeLinear of opset %d takes a scalar scale", node->since);
		axis = node_axis(node, node_int(node, "axis", 1), x->rank);
	}
	for (int i = 1; i < 3; i++) {
		const struct tensor *each = node_in(node, i);
		if (!each || each->rank < 0 || (tensor_is_scalar_like(each) && each->rank <= 1))
			continue;
		if (each->rank != (block ? x->rank : 1))
			node_fail(node, EXIT_INVALID, "DequantizeLinear: input %d has %d dimensions, %d are right", i,
			          each->rank, block ? x->rank : 1);
		for (int d = 0; d < each->rank; d++) {
			struct dim want = block ? x->dims[d] : x->dims[axis];
			if (block && d == axis && dim_is_known(want))
				want.extent = want.extent / block + (want.extent % block != 0);
			if (dim_is_known(want) && dim_is_known(each->dims[d]) && each->dims[d].extent != want.extent)
				node_fail(node, EXIT_INVALID,
				          "DequantizeLinear: input %d has %" PRId64 ", %" PRId64 " is right", i,
				          each->dims[d].extent, want.extent);
		}
	}
	infer_output(node, 0, DTYPE_F32, x->rank, x->dims);
}

/* The scale or zero point of the element at `at`. */
static const struct expr *of_element(struct definer *definer, struct definition *each, int rank,
                                     const struct index *const *at)
{
	struct arena *arena = definer->arena;
	const struct index *own[MAX_RANK];
	int64_t block = node_int(definer->node, "block_size", 0);
	if (definition_elements(each) == 1 && each->rank <= 1) {
		own[0] = index_constant(arena, 0);
		return expr_load(arena, each, own);
	}
	int axis = (int)node_axis(definer->node, node_int(definer->node, "axis", 1), rank);
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
