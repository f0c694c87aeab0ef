/* control_grows.c: Loop that hands on a tensor to which each round appends by Concat -> one that stacks what is
 * appended, and the stack, joined to what was there before the first round.  So no shape changes from round to round. */
#include "ops/control.h"

static size_t uses_in(const struct graph *graph, const struct tensor *tensor)
{
	size_t uses = 0;
	FOR_ALL (k, graph->outputs)
		uses += graph->outputs.at[k] == tensor;
	FOR_EACH (const struct node *node, graph->nodes) {
		FOR (k, node->ins)
			uses += node->in[k] == tensor;
		FOR (k, node->attribute_count) {
			const struct attribute *a = &node->attributes[k];
			if (a->g)
				uses += uses_in(a->g, tensor);
			FOR_WHILE (n, a->kind == ATTRIBUTE_GRAPHS, a->count)
				uses += uses_in(a->graphs[n], tensor);
		}
	}
	return uses;
}

static const struct op *op_in(const struct graph *body, const struct tensor *made)
{
	const struct node *node = made->graph == body ? made->producer : NULL;
	return node ? op_find(node->domain, node->type) : NULL;
}

/* What stands between the tensor that is given and who appends to it: nothing, or a cast to the type that it has. */
static bool is_given(const struct graph *body, const struct tensor *in, const struct tensor *given, enum dtype type)
{
	const struct op *op = op_in(body, in);
	const struct attribute *to = op && op->infer == infer_cast ? node_attribute(in->producer, "to") : NULL;
	if (to && to->kind == ATTRIBUTE_INT && to->i == (int64_t)type && uses_in(body, in) == 1)
		in = in->producer->in[0];
	return in == given && uses_in(body, given) == 1;
}

/* The Concat that makes what is handed on as number i: of what was given, which nothing else reads, and what a round
 * makes; NULL: there is none. */
static struct node *appends(const struct graph *body, size_t i, enum dtype type)
{
	const struct tensor *given = body->inputs.at[2 + i], *handed = body->outputs.at[1 + i];
	const struct op *op = op_in(body, handed);
	struct node *node = handed->producer;
	return op && op->infer == infer_concat && node->ins >= 2 && is_given(body, node->in[0], given, type)
	                && uses_in(body, handed) == 1
	        ? node
	        : NULL;
}

/* Elements [from, to) of a shape. */
static struct tensor *part_of_shape(struct holder *h, struct tensor *shape, int64_t from, int64_t to)
{
	return holder_add(h, "", "Slice", TENSORS(shape, holder_number(h, 1, from), holder_number(h, 1, to)));
}

static bool is_nothing(const struct tensor *start, int64_t axis)
{
	return dim_is_known(start->dims[axis]) && !start->dims[axis].extent;
}

/* The rounds' parts, stacked along a new first axis, one behind the other along `axis`, behind `start`. */
static void join(struct holder *h, struct tensor *start, struct tensor *stack, int64_t axis, struct tensor *out)
{
	int64_t *order = arena_new_array(h->arena, int64_t, start->rank + 1);
	for (int64_t d = 0; d <= start->rank; d++)
		order[d] = d < axis ? d + 1 : d == axis ? 0 : d;
	const struct attribute perm = {
		.name = "perm", .kind = ATTRIBUTE_INTS, .ints = order, .count = (size_t)start->rank + 1
	};
	if (axis)
		stack = bodies_add(h->bodies, h->graph, h->node, "", "Transpose", 1, &stack, 1, &perm, NULL);
	struct tensor *shape = holder_add(h, "", "Shape", 1, &stack), *parts[3];
	int count = 0;
	if (axis)
		parts[count++] = part_of_shape(h, shape, 0, axis);
	parts[count++] = holder_number(h, 1, -1);
	if (axis + 1 < start->rank)
		parts[count++] = part_of_shape(h, shape, axis + 2, start->rank + 1);
	struct tensor *joined = holder_add_with(h, "", "Concat", count, parts, "axis", 0, NULL);
	joined = holder_add(h, "", "Reshape", TENSORS(stack, joined));
	if (is_nothing(start, axis))
		holder_add_with(h, "", "Identity", 1, &joined, NULL, 0, out);
	else
		holder_add_with(h, "", "Concat", TENSORS(start, joined), "axis", axis, out);
}

static void take_out(struct tensor **at, size_t *count, size_t i)
{
	for (--*count; i < *count; i++)
		at[i] = at[i + 1];
}

/* The Concat is of what the round makes alone, behind what was there where that is nothing (so the other dims are
 * asked), and what it made goes from those handed on to those stacked. */
static void stack_instead(struct holder *h, struct graph *body, struct node *concat, size_t i, struct tensor *none)
{
	struct tensor *part = graph_tensor_fresh(body, concat->out[0]->name), *given = body->inputs.at[2 + i];
	FOR_WHILE (k, concat->in[0] != given, body->nodes.count)
		if (body->nodes.at[k] == concat->in[0]->producer) { /* the cast, which nothing reads any more */
			memmove(body->nodes.at + k, body->nodes.at + k + 1,
			        (--body->nodes.count - k) * sizeof *body->nodes.at);
			break;
		}
	if (none) {
		concat->in[0] = none;
	} else {
		concat->in++;
		concat->ins--;
	}
	concat->out[0]->is_output = false;
	concat->out[0] = part;
	part->producer = concat;
	part->is_output = true;
	given->is_input = false;
	take_out(body->inputs.at, &body->inputs.count, 2 + i);
	take_out(body->outputs.at, &body->outputs.count, 1 + i);
	push(h->arena, &body->outputs, part);
}

bool control_stack_growing(struct bodies *bodies, struct node *node)
{
	struct holder h = holder_of(bodies, node);
	struct graph *body = control_graph(node, "body");
	const struct tensor *trips = node_in(node, 0);
	size_t i = 0, carried = (size_t)node->ins - 2;
	struct node *concat = NULL;
	if (!trips || trips->data) /* else rounds are played one by one, and shapes may grow */
		return false;
	while (i < carried && !(concat = appends(body, i, node->in[2 + i]->type)))
		i++;
	struct tensor *start = concat ? node->in[2 + i] : NULL;
	if (!start || start->form || start->rank < 1 || start->rank >= MAX_RANK || !node_has_out(node, (int)i))
		return false;
	int64_t axis = node_int(concat, "axis", 0);
	axis += axis < 0 ? start->rank : 0;
	if (axis < 0 || axis >= start->rank)
		return false;
	struct node *loop = arena_new(h.arena, struct node);
	struct tensor *grown = node->out[i];
	size_t ins = (size_t)node->ins, outs = (size_t)node->outs, from = h.graph->nodes.count;
	*loop = *node;
	loop->in = arena_new_array(h.arena, struct tensor *, ins);
	loop->out = arena_new_array(h.arena, struct tensor *, body->outputs.count);
	memcpy(loop->in, node->in, ins * sizeof *loop->in);
	memcpy(loop->out, node->out, outs * sizeof *loop->out);
	take_out(loop->in, &ins, 2 + i);
	take_out(loop->out, &outs, i);
	stack_instead(&h, body, concat, i, is_nothing(start, axis) ? start : NULL);
	outs = body->outputs.count - 1; /* those that nobody reads are NULL */
	struct tensor *stack = loop->out[outs - 1] = graph_tensor_fresh(h.graph, grown->name);
	loop->ins = (int)ins;
	loop->outs = (int)outs;
	FOR (k, outs)
		if (loop->out[k])
			loop->out[k]->producer = loop;
	push(h.arena, &h.graph->nodes, loop);
	bodies->walk(bodies, h.graph, from);
	join(&h, start, stack, axis, grown);
	return true;
}
