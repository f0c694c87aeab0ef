/* bodies.c: nodes that stand for another: added one by one, and taken back where they may not stay. */
#include "frontends/frontends.h"
#include "ops/ops.h"

struct tensor *bodies_add(struct bodies *bodies, struct graph *graph, const struct node *owner, const char *domain,
        const char *type, int ins, struct tensor *const *in, int attributes, const struct attribute *attribute,
        struct tensor *out)
{
	size_t from = graph->nodes.count;
	struct node *node = graph_node_new(graph, domain, type, owner->name, ins, 1);
	node->since = *domain ? 1 : NEWEST_OPSET;
	node->where = owner->where;
	COPY(node->in, in, ins);
	node->out[0] = out ? out : graph_tensor_fresh(graph, type);
	node->out[0]->producer = node;
	node->attributes = arena_new_array(graph->build->arena, struct attribute, attributes + 1);
	for (; node->attribute_count < attributes; node->attribute_count++) {
		node->attributes[node->attribute_count] = attribute[node->attribute_count];
		node->attributes[node->attribute_count].name =
		        name_is(graph->build->names, attribute[node->attribute_count].name);
	}
	bodies->walk(bodies, graph, from);
	return node->out[0];
}

struct bodies_mark bodies_mark(const struct bodies *bodies, const struct graph *graph)
{
	return (struct bodies_mark){ *bodies, graph->guard, graph->nodes.count, graph->tensors.count };
}

void bodies_take_back(struct bodies *bodies, struct graph *graph, const struct bodies_mark *mark)
{
	size_t copied = bodies->copied; /* tries within tries have an end */
	*bodies = mark->bodies;
	bodies->copied = copied;
	graph->guard = mark->guard;
	graph_cut(graph, mark->nodes, mark->tensors);
}

const char *bodies_forgive(struct build *build)
{
	const char *why = arena_copy(build->arena, build->message, strlen(build->message));
	build->code = EXIT_RIGHT;
	build->message[0] = build->detail[0] = 0;
	build->detailed = false;
	return why;
}
