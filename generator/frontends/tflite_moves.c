/* tflite_moves.c: the bodies of operators that move elements.  What is stored moves as it is, where input and output
 * are quantised alike; else what it means. */
#include "frontends/tflite_bodies.h"

static struct tensor *moved(struct tfl_op *op, size_t i)
{
	struct tfl_tensor *x = tfl_in(op, i);
	return tfl_same(x, tfl_out(op, 0)) ? tfl_value(op, x) : tfl_real(op, x);
}

/* Output k, made of input i by moves alone. */
static void give(struct tfl_op *op, size_t i, size_t k, struct tensor *y)
{
	if (tfl_same(tfl_in(op, i), tfl_out(op, k)))
		tfl_give_stored(op, k, y);
	else
		tfl_give(op, k, y);
}

static int64_t axis_in(struct tfl_op *op, int64_t axis, int rank)
{
	tfl_invalid(op, axis < -rank || axis >= rank, "its axis is not there");
	return axis < 0 ? axis + rank : axis;
}

static int64_t constant_axis(struct tfl_op *op, size_t i, int rank)
{
	size_t count;
	const int64_t *axis = tfl_ints(op, i, &count);
	if (!axis || count != 1)
		tfl_cannot(op, "its axis is no constant");
	return axis_in(op, *axis, rank);
}

void tfl_reshape(struct tfl_op *op)
{
	struct tfl_tensor *y = tfl_out(op, 0);
	struct tensor *shape;
	struct vector said = table_vector(&op->options, 0, 4);
	if (tfl_has(op, 1))
		shape = tfl_int64(op, 1);
	else {
		int64_t extents[MAX_RANK] = { 0 };
		int rank = said.count && said.count <= MAX_RANK ? (int)said.count : y->rank;
		for (int d = 0; d < rank; d++)
			extents[d] = said.count ? vector_int(&said, (size_t)d) : y->extents[d];
		shape = tfl_list(op, (size_t)rank, extents);
	}
	give(op, 0, 0, tfl_set_int(tfl_two(op, "Reshape", moved(op, 0), shape), "allowzero", 1));
}

void tfl_squeeze(struct tfl_op *op)
{
	struct vector dims = table_vector(&op->options, 0, 4);
	int64_t axes[MAX_RANK];
	tfl_invalid(op, dims.count > MAX_RANK, "it takes more dimensions out than there are");
	for (size_t i = 0; i < dims.count; i++)
		axes[i] = vector_int(&dims, i);
	struct tensor *in[] = { moved(op, 0), dims.count ? tfl_list(op, dims.count, axes) : NULL };
	give(op, 0, 0, tfl_node(op, "Squeeze", dims.count ? 2 : 1, in));
}

void tfl_moved_by(struct tfl_op *op) { give(op, 0, 0, tfl_two(op, op->row->word, moved(op, 0), tfl_int64(op, 1))); }

void tfl_pad(struct tfl_op *op)
{
	struct tfl_tensor *x = tfl_in(op, 0);
	bool reflects = *op->row->word, same = tfl_same(x, tfl_out(op, 0));
	struct tensor *data = moved(op, 0);
	/* [rank, 2] -> all that comes before, then all behind */
	struct tensor *pairs = tfl_reshape_to(op, tfl_int64(op, 1), 2, (int64_t[]){ -1, 2 });
	struct tensor *pads = tfl_reshape_to(op, tfl_order(op, pairs, 2, (int64_t[]){ 1, 0 }), 1, (int64_t[]){ -1 });
	struct tensor *in[] = { data, pads, NULL };
	if (tfl_has(op, 2))
		in[2] = same && tfl_same(tfl_in(op, 2), x) ? tfl_value(op, tfl_in(op, 2)) : tfl_real(op, tfl_in(op, 2));
	else if (same && tfl_quantised(x))
		in[2] = tfl_zero(op, x);
	if (reflects && table_byte(&op->options, 0, 0))
		tfl_cannot(op, "pads symmetrically");
	give(op, 0, 0, tfl_set_text(tfl_node(op, "Pad", in[2] ? 3 : 2, in), "mode", reflects ? "reflect" : "constant"));
}

void tfl_concat(struct tfl_op *op)
{
	struct tfl_tensor *y = tfl_out(op, 0);
	int64_t activation = table_byte(&op->options, 1, 0);
	bool same = !activation;
	for (size_t i = 0; i < op->in.count; i++)
		same &= tfl_same(tfl_in(op, i), y);
	struct tensor **in = arena_new_array(op->tfl->build->arena, struct tensor *, op->in.count + 1);
	for (size_t i = 0; i < op->in.count; i++)
		in[i] = same ? tfl_value(op, tfl_in(op, i)) : tfl_real(op, tfl_in(op, i));
	struct tensor *made = tfl_set_int(tfl_node(op, "Concat", (int)op->in.count, in), "axis",
	        axis_in(op, table_int(&op->options, 0, 0), y->rank));
	if (same)
		tfl_give_stored(op, 0, made);
	else
		tfl_give(op, 0, tfl_activate(op, made, activation));
}

/* Input i along an axis in parts of these sizes, or of equal ones: outputs that hold what is stored, or what it means. */
static struct node *split(struct tfl_op *op, size_t i, struct tensor *sizes, int64_t axis)
{
	bool same = true;
	tfl_invalid(op, !op->out.count || op->out.count > INT16_MAX, "its outputs are none, or too many");
	for (size_t k = 0; k < op->out.count; k++)
		same &= tfl_same(tfl_in(op, i), tfl_out(op, k));
	struct tensor *in[] = { same ? tfl_value(op, tfl_in(op, i)) : tfl_real(op, tfl_in(op, i)), sizes };
	struct tensor *first = tfl_nodes(op, "Split", sizes ? 2 : 1, in, (int)op->out.count);
	tfl_set_int(first, "axis", axis);
	if (!sizes)
		tfl_set_int(first, "num_outputs", (int64_t)op->out.count);
	first->producer->mark = same;
	return first->producer;
}

static void give_parts(struct tfl_op *op, size_t i, struct tensor *sizes, int64_t axis)
{
	struct node *node = split(op, i, sizes, axis);
	for (size_t k = 0; k < op->out.count; k++)
		if (node->mark)
			tfl_give_stored(op, k, node->out[k]);
		else
			tfl_give(op, k, node->out[k]);
}

void tfl_split(struct tfl_op *op) { give_parts(op, 1, NULL, constant_axis(op, 0, tfl_in(op, 1)->rank)); }
void tfl_split_v(struct tfl_op *op) { give_parts(op, 0, tfl_int64(op, 1), constant_axis(op, 2, tfl_in(op, 0)->rank)); }

void tfl_pack(struct tfl_op *op)
{
	struct tfl_tensor *y = tfl_out(op, 0);
	int64_t axis = axis_in(op, table_int(&op->options, 1, 0), y->rank);
	struct tensor **in = arena_new_array(op->tfl->build->arena, struct tensor *, op->in.count + 1);
	for (size_t i = 0; i < op->in.count; i++) {
		tfl_invalid(op, !tfl_same(tfl_in(op, i), y), "its inputs are not quantised as its output");
		in[i] = tfl_two(op, "Unsqueeze", tfl_value(op, tfl_in(op, i)), tfl_list(op, 1, &axis));
	}
	tfl_give_stored(op, 0, tfl_set_int(tfl_node(op, "Concat", (int)op->in.count, in), "axis", axis));
}

void tfl_unpack(struct tfl_op *op)
{
	int64_t axis = axis_in(op, table_int(&op->options, 1, 0), tfl_in(op, 0)->rank);
	struct node *node = split(op, 0, NULL, axis);
	for (size_t k = 0; k < op->out.count; k++) {
		struct tensor *y = tfl_two(op, "Squeeze", node->out[k], tfl_list(op, 1, &axis));
		if (node->mark)
			tfl_give_stored(op, k, y);
		else
			tfl_give(op, k, y);
	}
}

void tfl_transpose(struct tfl_op *op)
{
	size_t count;
	const int64_t *order = tfl_ints(op, 1, &count);
	if (!order || count > MAX_RANK)
		tfl_cannot(op, "its order is no constant");
	give(op, 0, 0, tfl_order(op, moved(op, 0), (int)count, order));
}

void tfl_slice(struct tfl_op *op)
{
	size_t count, sizes;
	const int64_t *begin = tfl_ints(op, 1, &count), *size = tfl_ints(op, 2, &sizes);
	int64_t end[MAX_RANK], axes[MAX_RANK];
	if (!begin || !size || count != sizes || count > MAX_RANK)
		tfl_cannot(op, "its begin and size are no constants of its rank");
	for (size_t d = 0; d < count; d++) {
		tfl_invalid(op, begin[d] < 0 || size[d] < -1, "its begin or size is negative");
		end[d] = size[d] < 0 ? INT32_MAX : begin[d] + size[d];
		axes[d] = (int64_t)d;
	}
	struct tensor *in[] = { moved(op, 0), tfl_list(op, count, begin), tfl_list(op, count, end),
		tfl_list(op, count, axes) };
	give(op, 0, 0, tfl_node(op, "Slice", 4, in));
}

/* Each dimension that is named is cut, and goes where one element alone is meant; an ellipsis stands for those that are
 * not named, a new axis for none. */
void tfl_strided_slice(struct tfl_op *op)
{
	enum { BEGIN, END, ELLIPSIS, NEW_AXIS, SHRINK, MASKS };
	size_t n, ends, steps, cuts = 0, gone = 0, made = 0;
	const int64_t *from = tfl_ints(op, 1, &n), *to = tfl_ints(op, 2, &ends), *by = tfl_ints(op, 3, &steps);
	int64_t begin[MAX_RANK], end[MAX_RANK], step[MAX_RANK], axes[MAX_RANK], taken[MAX_RANK], added[MAX_RANK];
	int64_t masks[MASKS], dim = 0, out = 0, unnamed = tfl_in(op, 0)->rank;
	for (int m = 0; m < MASKS; m++)
		masks[m] = table_int(&op->options, m, 0);
	if (!from || !to || !by || n != ends || n != steps || n > MAX_RANK)
		tfl_cannot(op, "its begin, end and strides are no constants of one length");
	for (size_t d = 0; d < n; d++)
		unnamed -= !((masks[ELLIPSIS] | masks[NEW_AXIS]) >> d & 1);
	for (size_t d = 0; d < n; d++) {
		if (masks[ELLIPSIS] >> d & 1) {
			dim += unnamed;
			out += unnamed;
			continue;
		}
		if (masks[NEW_AXIS] >> d & 1) {
			added[made++] = out++;
			continue;
		}
		tfl_invalid(op, !by[d], "a stride is 0");
		begin[cuts] = masks[BEGIN] >> d & 1 ? by[d] > 0 ? 0 : INT32_MAX : from[d];
		end[cuts] = masks[END] >> d & 1 ? by[d] > 0 ? INT32_MAX : INT32_MIN : to[d];
		if (table_byte(&op->options, 5, 0) && !(masks[END] >> d & 1))
			end[cuts] += begin[cuts];
		if (masks[SHRINK] >> d & 1) {
			end[cuts] = begin[cuts] == -1 ? INT32_MAX : begin[cuts] + 1;
			taken[gone++] = dim;
		} else
			out++;
		step[cuts] = by[d];
		axes[cuts++] = dim++;
	}
	tfl_invalid(op, unnamed < 0 || dim > tfl_in(op, 0)->rank, "it names more dimensions than there are");
	struct tensor *in[] = { moved(op, 0), tfl_list(op, cuts, begin), tfl_list(op, cuts, end),
		tfl_list(op, cuts, axes), tfl_list(op, cuts, step) };
	struct tensor *y = tfl_node(op, "Slice", 5, in);
	y = gone ? tfl_two(op, "Squeeze", y, tfl_list(op, gone, taken)) : y;
	give(op, 0, 0, made ? tfl_two(op, "Unsqueeze", y, tfl_list(op, made, added)) : y);
}

void tfl_gather(struct tfl_op *op)
{
	if (table_int(&op->options, 1, 0))
		tfl_cannot(op, "has batch dimensions");
	struct tensor *y = tfl_two(op, "Gather", moved(op, 0), tfl_value(op, tfl_in(op, 1)));
	give(op, 0, 0, tfl_set_int(y, "axis", axis_in(op, table_int(&op->options, 0, 0), tfl_in(op, 0)->rank)));
}

void tfl_gather_nd(struct tfl_op *op)
{
	struct tensor *at = tfl_set_int(tfl_one(op, "Cast", tfl_value(op, tfl_in(op, 1))), "to", DTYPE_I64);
	give(op, 0, 0, tfl_two(op, "GatherND", moved(op, 0), at));
}

void tfl_blocks(struct tfl_op *op)
{
	bool real = !tfl_same(tfl_in(op, 0), tfl_out(op, 0));
	struct tensor *y = tfl_one(op, op->row->word, tfl_first(op, tfl_in(op, 0), real));
	tfl_give_first(op, 0, tfl_set_int(y, "blocksize", table_int(&op->options, 0, 0)), real);
}

void tfl_cast_shape(struct tfl_op *op)
{
	struct tensor *shape = tfl_one(op, "Shape", tfl_value(op, tfl_in(op, 0)));
	tfl_give_stored(op, 0, tfl_set_int(tfl_one(op, "Cast", shape), "to", tfl_out(op, 0)->type));
}

void tfl_fill(struct tfl_op *op)
{
	tfl_give_stored(op, 0, tfl_two(op, "Expand", tfl_value(op, tfl_in(op, 1)), tfl_int64(op, 0)));
}
