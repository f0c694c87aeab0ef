/* constants.c: numbers out of nothing: Constant, ConstantOfShape, Shape. */
#include "ops/ops.h"
#include <inttypes.h>

/* ---- Constant: the output becomes a constant tensor at inference ---- */
static void set_data(struct node *node, enum dtype type, int rank, int64_t extent, const void *data)
{
	struct dim dim = dim_of(extent);
	infer_output(node, 0, type, rank, &dim);
	node->out[0]->data = data;
	node->out[0]->bytes = dtype_bytes(type, rank ? (size_t)extent : 1);
}

void infer_constant_node(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 0, 0, 1);
	const struct attribute *value = NULL;
	for (int i = 0; i < node->attribute_count; i++) {
		if (value)
			node_fail(node, EXIT_INVALID, "Constant has %s and %s, one is right", value->name,
			          node->attributes[i].name);
		value = &node->attributes[i];
	}
	if (!value)
		node_fail(node, EXIT_INVALID, "Constant has no value");
	switch (value->kind) {
	case ATTRIBUTE_TENSOR:
		infer_output_like(node, 0, value->t);
		node->out[0]->data = value->t->data;
		node->out[0]->bytes = value->t->bytes;
		node->out[0]->strings = value->t->strings;
		break;
	case ATTRIBUTE_FLOAT:
		set_data(node, DTYPE_F32, 0, 1, &value->f);
		break;
	case ATTRIBUTE_INT:
		set_data(node, DTYPE_I64, 0, 1, &value->i);
		break;
	case ATTRIBUTE_FLOATS:
		set_data(node, DTYPE_F32, 1, (int64_t)value->count, value->count ? value->floats : &value->f);
		break;
	case ATTRIBUTE_INTS:
		set_data(node, DTYPE_I64, 1, (int64_t)value->count, value->count ? value->ints : &value->i);
		break;
	default:
		node_fail(node, EXIT_UNSUPPORTED, "Constant with %s is not supported", value->name);
	}
}

void define_constant_node(struct definer *definer, const struct op *op)
{
	(void)definer, (void)op; /* inference made a tensor of it; who reads it finds that */
}

/* ---- ConstantOfShape ---- */
static const struct tensor *fill_of(const struct node *node)
{
	const struct attribute *value = node_attribute(node, "value");
	if (!value)
		return NULL;
	if (value->kind != ATTRIBUTE_TENSOR || tensor_elements(node->graph->build, value->t) != 1)
		node_fail(node, EXIT_INVALID, "ConstantOfShape: value is no tensor of one element");
	return value->t;
}

void infer_constant_of_shape(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	int64_t count;
	(void)op;
	infer_counts(node, 1, 1, 1);
	const struct tensor *fill = fill_of(node);
	enum dtype type = fill ? fill->type : DTYPE_F32;
	const int64_t *shape = node_in_ints(node, 0, &count);
	if (!shape) {
		infer_output_unknown(node, 0, type);
		return;
	}
	if (count > MAX_RANK)
		node_fail(node, EXIT_LIMIT, "ConstantOfShape of %" PRId64 " dimensions, at most %d are supported",
		          count, MAX_RANK);
	for (int64_t d = 0; d < count; d++) {
		if (shape[d] < 0)
			node_fail(node, EXIT_INVALID, "ConstantOfShape: %" PRId64 " in dimension %" PRId64, shape[d],
			          d);
		dims[d] = dim_of(shape[d]);
	}
	infer_output(node, 0, type, (int)count, dims);
}

void define_constant_of_shape(struct definer *definer, const struct op *op)
{
	const struct tensor *fill = fill_of(definer->node);
	(void)op;
	if (!fill) {
		definer_out_map(definer, 0, expr_number(definer->arena, DTYPE_F32, 0));
		return;
	}
	int64_t zero[MAX_RANK] = { 0 };
	struct definition *one =
	        define_constant(definer->program, definer_name(definer, "value"), fill->type, 0, zero, fill->data);
	definer_out_map(definer, 0, expr_load(definer->arena, one, NULL));
}

/* ---- Shape: constant as soon as the dims are known ---- */
void infer_shape(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 1, 1, 1);
	const struct tensor *x = node->in[0];
	struct dim length = dim_unknown;
	if (x->rank < 0) {
		infer_output(node, 0, DTYPE_I64, 1, &length);
		return;
	}
	int64_t from = node_int(node, "start", 0), to = node_int(node, "end", x->rank);
	from += from < 0 ? x->rank : 0;
	to += to < 0 ? x->rank : 0;
	from = from < 0 ? 0 : from > x->rank ? x->rank : from;
	to = to < from ? from : to > x->rank ? x->rank : to;
	length = dim_of(to - from);
	infer_output(node, 0, DTYPE_I64, 1, &length);
	int64_t *extents = new_array(node->graph->build->arena, int64_t, (size_t)(to - from) + 1);
	for (int64_t d = from; d < to; d++) {
		if (!dim_is_known(x->dims[d]))
			return;
		extents[d - from] = x->dims[d].extent;
	}
	node->out[0]->data = extents;
	node->out[0]->bytes = (size_t)(to - from) * sizeof *extents;
}

void define_shape(struct definer *definer, const struct op *op)
{
	(void)op;
	if (!definer->node->out[0]->data)
		node_fail(definer->node, EXIT_USAGE, "Shape of %s, whose dimensions are not all bound: use --dim",
		          definer->node->in[0]->name);
}
