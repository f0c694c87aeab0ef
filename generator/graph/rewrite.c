/* rewrite.c: what passes share: one tensor in place of another, and the removal of what nobody needs. */
#include "graph/graph.h"

/* ---- every tensor gets a number ---- */
typedef VECTOR(struct tensor *) tensors;

static void number(struct graph *graph, tensors *all)
{
	FOR_ALL (i, graph->tensors) {
		graph->tensors.at[i]->mark = (int)all->count;
		push(graph->build->arena, all, graph->tensors.at[i]);
	}
	FOR_ALL (i, graph->nodes)
		FOR (k, graph->nodes.at[i]->attribute_count) {
			struct attribute *a = &graph->nodes.at[i]->attributes[k];
			if (a->g)
				number(a->g, all);
			for (size_t n = 0; a->kind == ATTRIBUTE_GRAPHS && n < a->count; n++)
				number(a->graphs[n], all);
		}
}

struct tensor **graph_number(struct graph *graph)
{
	tensors all = { 0 };
	number(graph, &all);
	return all.at;
}

/* ---- one for another ---- */
static void replace(struct tensor **place, struct tensor **instead)
{
	if (!*place)
		return;
	struct tensor *tensor = *place, *end = tensor;
	while (instead[end->mark] != end)
		end = instead[end->mark];
	/* Long chains are walked once. */
	while (instead[tensor->mark] != end && tensor != end) {
		struct tensor *next = instead[tensor->mark];
		instead[tensor->mark] = end;
		tensor = next;
	}
	*place = end;
}

void graph_substitute(struct graph *graph, struct tensor **instead)
{
	FOR_ALL (i, graph->outputs)
		replace(&graph->outputs.at[i], instead);
	FOR_EACH (struct node *node, graph->nodes) {
		FOR (k, node->ins)
			replace(&node->in[k], instead);
		FOR (k, node->attribute_count) {
			struct attribute *a = &node->attributes[k];
			if (a->g)
				graph_substitute(a->g, instead);
			for (size_t n = 0; a->kind == ATTRIBUTE_GRAPHS && n < a->count; n++)
				graph_substitute(a->graphs[n], instead);
		}
	}
}

/* ---- what nobody needs ---- */
enum { DEAD, LIVE };

static void unmark(struct graph *graph)
{
	FOR_ALL (i, graph->tensors)
		graph->tensors.at[i]->mark = DEAD;
	FOR_ALL (i, graph->nodes) {
		graph->nodes.at[i]->mark = DEAD;
		FOR (k, graph->nodes.at[i]->attribute_count) {
			struct attribute *a = &graph->nodes.at[i]->attributes[k];
			if (a->g)
				unmark(a->g);
			for (size_t n = 0; a->kind == ATTRIBUTE_GRAPHS && n < a->count; n++)
				unmark(a->graphs[n]);
		}
	}
}

/* Who reads a tensor may ask how many there are of its dims; who reads a list, for what it holds. */
static void need(struct tensor *tensor)
{
	tensor->mark = LIVE;
	for (size_t i = 0; tensor->list && i < tensor->list->count; i++)
		tensor->list->at[i]->mark = LIVE;
	FOR (d, tensor->rank)
		if (tensor->dims[d].count)
			tensor->dims[d].count->mark = LIVE;
}

/* From the last node to the first: all who could need a node's outputs have been seen before the node. */
static void sweep(struct graph *graph)
{
	size_t kept = 0;
	FOR_ALL (i, graph->outputs)
		need(graph->outputs.at[i]);
	for (size_t i = graph->nodes.count; i-- > 0;) {
		struct node *node = graph->nodes.at[i];
		FOR (k, node->outs)
			if (node->out[k] && node->out[k]->mark == LIVE)
				node->mark = LIVE;
		for (int k = 0; node->mark == LIVE && k < node->ins; k++)
			if (node->in[k])
				need(node->in[k]);
		for (int k = 0; node->mark == LIVE && k < node->attribute_count; k++) {
			struct attribute *a = &node->attributes[k];
			if (a->g)
				sweep(a->g);
			for (size_t n = 0; a->kind == ATTRIBUTE_GRAPHS && n < a->count; n++)
				sweep(a->graphs[n]);
		}
	}
	FOR_ALL (i, graph->nodes)
		if (graph->nodes.at[i]->mark == LIVE)
			graph->nodes.at[kept++] = graph->nodes.at[i];
	graph->nodes.count = kept;
	kept = 0;
	FOR_EACH (struct tensor *tensor, graph->tensors) {
		/* Outputs nobody reads stay with a node that is needed for others. */
		if (tensor->mark == LIVE || tensor->is_input || (tensor->producer && tensor->producer->mark == LIVE))
			graph->tensors.at[kept++] = tensor;
	}
	graph->tensors.count = kept;
	graph_reindex(graph);
}

void graph_sweep(struct graph *graph)
{
	unmark(graph);
	sweep(graph);
}
