/* supported.c: graph -> graph, as it was: every op that ingot does not know is told at once, with how often and where
 * it stands. */
#include "passes/passes.h"
#include "ops/ops.h"

enum { NODES_SHOWN = 3, OPS_SHOWN = 8 };
struct unknown {
	const struct node *first;
	size_t count;
	const char *where;
};
typedef VECTOR(struct unknown) unknown_list;

/* "conv1", or "#3" where it has no name. */
static const char *label(const struct node *node, size_t number)
{
	struct arena *arena = node->graph->build->arena;
	return *node->name ? arena_printf(arena, "%.60s", node->name) : arena_printf(arena, "#%zu", number);
}

static const char *op_name(const struct node *node)
{
	return arena_printf(
	        node->graph->build->arena, "%.80s%s%.80s", node->domain, *node->domain ? "." : "", node->type);
}

static void add(unknown_list *list, const struct node *node, size_t number)
{
	struct arena *arena = node->graph->build->arena;
	size_t k = 0;
	while (k < list->count && (list->at[k].first->type != node->type || list->at[k].first->domain != node->domain))
		k++;
	if (k == list->count)
		push(arena, list, (struct unknown){ .first = node, .where = label(node, number) });
	else if (list->at[k].count < NODES_SHOWN)
		list->at[k].where = arena_printf(arena, "%s, %s", list->at[k].where, label(node, number));
	else if (list->at[k].count == NODES_SHOWN)
		list->at[k].where = arena_printf(arena, "%s, …", list->at[k].where);
	list->at[k].count++;
}

void pass_supported(struct graph *graph)
{
	struct build *build = graph->build;
	unknown_list list = { 0 };
	const char *text = "", *way = "";
	FOR_ALL (i, graph->nodes)
		if (!op_known(graph->nodes.at[i]))
			add(&list, graph->nodes.at[i], i);
	if (list.count == 1 && list.at[0].count == 1)
		op_of(list.at[0].first); /* fails, and names the node */
	for (size_t k = 0; k < list.count && k < OPS_SHOWN; k++)
		text = arena_printf(build->arena, "%s%s%s (%zu node%s: %s%s)", text, k ? ", " : "",
		        op_name(list.at[k].first), list.at[k].count, list.at[k].count == 1 ? "" : "s", list.at[k].where,
		        op_meant(build, list.at[k].first->domain, list.at[k].first->type));
	if (list.count > OPS_SHOWN)
		text = arena_printf(build->arena, "%s and %zu more", text, list.count - OPS_SHOWN);
	FOR_ALL (k, list)
		if (!*way)
			way = own_way(list.at[k].first);
	if (list.count)
		fail(build, EXIT_UNSUPPORTED, graph->file, "%zu op%s not supported: %s%s", list.count,
		        list.count == 1 ? " is" : "s are", text, way);
}
