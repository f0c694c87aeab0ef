/* control.c: nodes that hold graphs (If, Loop, Scan) -> the nodes of those graphs: what their files share.  A constant
 * condition leaves one branch; else both are there, joined by a select on the condition, which says as well how many
 * elements there are where the branches differ in that; of one whose nodes are wrong for these shapes a check is left.
 * A loop becomes its rounds, one after the other, as long as their number has a bound when the graph is compiled; each
 * is inferred before the next begins, so conditions may fold and shapes may change from round to round.  Where the
 * condition or the number of rounds comes at run time, the rounds behind the end hand on what they were given.  What no
 * round changes is made by the first one alone. */
#include "ops/control.h"

enum { STACKED_TOGETHER = 64 };

/* ---- nodes of our own between those of the graphs ---- */
struct tensor *holder_add_with(struct holder *h, const char *domain, const char *type, int ins,
        struct tensor *const *in, const char *attribute, int64_t value, struct tensor *out)
{
	const struct attribute number = { .name = attribute, .kind = ATTRIBUTE_INT, .i = value };
	return bodies_add(h->bodies, h->graph, h->node, domain, type, ins, in, attribute != NULL, &number, out);
}

struct tensor *holder_add(struct holder *h, const char *domain, const char *type, int ins, struct tensor *const *in)
{
	return holder_add_with(h, domain, type, ins, in, NULL, 0, NULL);
}

struct tensor *holder_number(struct holder *h, int rank, int64_t value)
{
	return graph_constant(h->graph, "round", DTYPE_I64, rank, (int64_t[1]){ 1 }, &value);
}

struct tensor *holder_truth(struct holder *h, bool value)
{
	return graph_constant(h->graph, "condition", DTYPE_BOOL, 0, NULL, &(uint8_t){ value });
}

/* Tensors side by side along a new axis, in groups first, so that nothing reads more of them than a function should
 * have parameters. */
struct tensor *holder_stack(struct holder *h, int64_t count, struct tensor *const *parts, int64_t axis)
{
	struct tensor **now = arena_new_array(h->arena, struct tensor *, count);
	FOR (i, count)
		now[i] = holder_add(h, "", "Unsqueeze", TENSORS(parts[i], holder_number(h, 1, axis)));
	while (count > 1) {
		int64_t groups = 0;
		for (int64_t i = 0; i < count; i += STACKED_TOGETHER) {
			int64_t left = count - i, most = left < STACKED_TOGETHER ? left : STACKED_TOGETHER;
			now[groups++] = holder_add_with(h, "", "Concat", (int)most, now + i, "axis", axis, NULL);
		}
		count = groups;
	}
	return now[0];
}

void holder_out(struct holder *h, int k, struct tensor *tensor)
{
	if (node_has_out(h->node, k))
		holder_add_with(h, "", "Identity", 1, &tensor, NULL, 0, h->node->out[k]);
}

/* ---- the graphs ---- */
struct graph *control_graph(const struct node *node, const char *name)
{
	const struct attribute *attribute = node_attribute(node, name);
	INVALID_IF(!attribute || !attribute->g, " lacks the attribute \"%s\"", name);
	return attribute->g;
}

void control_want_graph(
        const struct node *node, const char *name, const struct graph *graph, size_t ins, size_t outs, bool more)
{
	FAIL_IF(graph->inputs.count != ins, EXIT_INVALID, "%s has %zu input%s, %zu %s right", name, graph->inputs.count,
	        graph->inputs.count == 1 ? "" : "s", ins, ins == 1 ? "is" : "are");
	FAIL_IF(more ? graph->outputs.count < outs : graph->outputs.count != outs, EXIT_INVALID,
	        "%s has %zu output%s, %s%zu %s right", name, graph->outputs.count, graph->outputs.count == 1 ? "" : "s",
	        more ? "at least " : "", outs, outs == 1 ? "is" : "are");
}

const char *holder_described(const struct holder *h, const struct tensor *tensor)
{
	return type_of_tensor(h->graph->build, tensor);
}

bool types_differ(const struct tensor *a, const struct tensor *b)
{
	return a->form != b->form || (a->type != DTYPE_NONE && b->type != DTYPE_NONE && a->type != b->type);
}

bool ranks_differ(const struct tensor *a, const struct tensor *b)
{
	return a->rank >= 0 && b->rank >= 0 && a->rank != b->rank;
}

bool extents_differ(const struct tensor *a, const struct tensor *b)
{
	FOR_WHILE (d, a->rank == b->rank, a->rank)
		if (dims_differ(a->dims[d], b->dims[d]))
			return true;
	return false;
}

void holder_want_fit(const struct holder *h, size_t i, const struct tensor *given)
{
	const struct tensor *declared = h->expansion.body->inputs.at[i];
	if (given && (types_differ(declared, given) || (!given->form && ranks_differ(declared, given))))
		node_fail(h->node, EXIT_INVALID, "input %s of the body is %s, but %s comes", declared->name,
		        holder_described(h, declared), holder_described(h, given));
}

struct tensor **holder_expand(struct holder *h, int ins, struct tensor **in, struct tensor *condition, bool yes)
{
	const struct guard *outer = h->graph->guard;
	struct guard *guard = arena_new(h->arena, struct guard);
	*guard = (struct guard){ condition, yes, outer };
	if (condition)
		h->graph->guard = guard;
	const struct graph *body = h->expansion.body;
	struct tensor **out = arena_new_array(h->arena, struct tensor *, body->outputs.count + 1);
	FOR_ALL (k, body->outputs)
		out[k] = graph_tensor_fresh(h->graph, body->outputs.at[k]->name);
	size_t from = h->graph->nodes.count;
	graph_expand(&h->expansion, ins, in, (int)body->outputs.count, out);
	h->bodies->walk(h->bodies, h->graph, from);
	h->graph->guard = outer;
	return out;
}

struct holder holder_of(struct bodies *bodies, struct node *node)
{
	return (struct holder){ .bodies = bodies,
		.node = node,
		.graph = node->graph,
		.arena = node_arena(node),
		.expansion = { .owner = node, .copied = &bodies->copied } };
}

/* ---- what all rounds share: what depends on nothing that a round is given ---- */
bool node_is_random(const struct node *node)
{
	const struct op *op = op_find(node->domain, node->type);
	return op
	        && (op->define == define_random || op->define == define_random_like || op->define == define_bernoulli);
}

static bool graph_is_steady(const struct graph *, const struct graph *body);

/* `body`: the graph of the rounds; nodes of it that are marked are made once. */
static bool is_steady(const struct node *node, const struct graph *body)
{
	if (node_is_random(node))
		return false;
	FOR (i, node->ins) {
		const struct tensor *in = node->in[i];
		if (in && in->graph == body && !in->data && !(in->producer && in->producer->mark))
			return false;
	}
	FOR (i, node->attribute_count) {
		const struct attribute *a = &node->attributes[i];
		if (a->g && !graph_is_steady(a->g, body))
			return false;
		FOR_WHILE (k, a->kind == ATTRIBUTE_GRAPHS, a->count)
			if (!graph_is_steady(a->graphs[k], body))
				return false;
	}
	return true;
}

static bool graph_is_steady(const struct graph *graph, const struct graph *body)
{
	FOR_ALL (i, graph->nodes)
		if (!is_steady(graph->nodes.at[i], body))
			return false;
	FOR_EACH (const struct tensor *out, graph->outputs) {
		if (out->graph == body && !out->data && !(out->producer && out->producer->mark))
			return false;
	}
	return true;
}

void holder_find_steady(struct holder *h)
{
	const struct graph *body = h->expansion.body;
	bool *once = arena_new_array(h->arena, bool, body->nodes.count + 1);
	FOR_ALL (i, body->nodes)
		body->nodes.at[i]->mark = once[i] = is_steady(body->nodes.at[i], body);
	h->expansion.once = once;
}

/* ---- of two branches, and of two rounds ---- */
bool shapes_differ(const struct tensor *a, const struct tensor *b)
{
	if (ranks_differ(a, b) || extents_differ(a, b) || !a->list != !b->list)
		return true;
	if (a->list && (a->list->nothing != b->list->nothing || a->list->count != b->list->count))
		return true;
	FOR_WHILE (i, a->list, a->list->count)
		if (shapes_differ(a->list->at[i], b->list->at[i]))
			return true;
	return false;
}

struct tensor *holder_select(struct holder *h, struct tensor *condition, struct tensor *yes, struct tensor *no)
{
	if (yes == no)
		return yes;
	if (!yes->form)
		return holder_add(h, "ingot", "Select", TENSORS(condition, yes, no));
	struct tensor *made = graph_tensor_fresh(h->graph, yes->name);
	struct list *list = arena_new(h->arena, struct list);
	*list = *yes->list;
	list->at = arena_new_array(h->arena, struct tensor *, list->count + 1);
	FOR (i, list->count)
		list->at[i] = holder_select(h, condition, yes->list->at[i], no->list->at[i]);
	made->form = yes->form;
	made->type = yes->type;
	made->list = list;
	return made;
}

void control_want_truth(const struct node *node, int i)
{
	const struct tensor *in = node_in(node, i);
	INVALID_IF(in && in->type != DTYPE_NONE && in->type != DTYPE_BOOL, "the condition is %s, bool is right",
	        dtypes[in->type].text);
	infer_scalar(node, i);
}

struct tensor *holder_stack_none(struct holder *h, const struct tensor *like, int64_t axis)
{
	int64_t extents[MAX_RANK];
	if (!tensor_is_known(like) || like->rank >= MAX_RANK)
		node_unsupported(h->node, " of no round, with outputs whose shape depends on data");
	for (int d = 0; d <= like->rank; d++)
		extents[d] = d < axis ? like->dims[d].extent : d == axis ? 0 : like->dims[d - 1].extent;
	return graph_constant(h->graph, like->name, like->type, like->rank + 1, extents, "");
}

struct tensor **holder_expand_none(struct holder *h, int ins, struct tensor **in)
{
	const struct bodies_mark before = bodies_mark(h->bodies, h->graph);
	struct tensor **out = holder_expand(h, ins, in, NULL, true);
	bodies_take_back(h->bodies, h->graph, &before);
	return out;
}

struct holder holder_inside(const struct holder *h, const struct repeating *r)
{
	struct holder inside = *h;
	inside.graph = r->body;
	inside.expansion =
	        (struct expansion){ .owner = r->inside, .body = h->expansion.body, .copied = h->expansion.copied };
	return inside;
}

void define_graphs(struct definer *definer)
{
	if (op_of(definer->node)->place == expand_loop)
		control_refuse_loop(definer->node);
	define_text(definer);
}
