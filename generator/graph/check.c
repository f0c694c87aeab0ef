/* check.c: is the graph well-formed?  What a file can get wrong is EXIT_INVALID; what only we can get wrong (a producer
 * that does not produce) is an assert.  Nodes are put into topological order, those that stand right keep their order.
 */
#include "graph/graph.h"
#undef NDEBUG /* a checker checks, however it is built */
#include <assert.h>
#include <stdlib.h>

typedef VECTOR(struct tensor *) tensors;

static void check_graph(struct graph *);

/* ---- attributes ---- */
static void check_attribute(const struct node *node, const struct attribute *a)
{
	struct build *build = node->graph->build;
	if (a->ref)
		fail(build, EXIT_INVALID, node->where, "attribute %.60s refers to %.60s, outside of a function",
		        a->name, a->ref);
	assert(a->kind >= ATTRIBUTE_FLOAT && a->kind <= ATTRIBUTE_TYPES);
	assert(a->kind != ATTRIBUTE_TENSOR || a->t);
	assert((a->kind == ATTRIBUTE_GRAPH) == (a->g != NULL));
	if (a->g) {
		assert(a->g->outer == node->graph);
		check_graph(a->g);
	}
	for (size_t i = 0; a->kind == ATTRIBUTE_GRAPHS && i < a->count; i++) {
		assert(a->graphs[i]->outer == node->graph);
		check_graph(a->graphs[i]);
	}
}

static int by_pointer(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (const char *const *)a, y = (uintptr_t) * (const char *const *)b;
	return (x > y) - (x < y);
}

/* Equal names are equal pointers; sorted, so that a node of a million attributes takes no trillion comparisons. */
static void check_names(const struct node *node)
{
	const char *few[16], **names = few; /* nearly all nodes have fewer */
	size_t n = (size_t)node->attribute_count;
	if (n > COUNT(few))
		names = arena_new_array(node->graph->build->arena, const char *, n);
	FOR (i, n)
		names[i] = node->attributes[i].name;
	qsort(names, n, sizeof *names, by_pointer);
	for (size_t i = 1; i < n; i++)
		if (names[i] == names[i - 1])
			fail(node->graph->build, EXIT_INVALID, node->where, "attribute %.60s is there twice", names[i]);
}

static bool is_visible(const struct tensor *tensor, const struct graph *graph)
{
	while (graph && graph != tensor->graph)
		graph = graph->outer;
	return graph != NULL;
}

static bool is_made(const struct tensor *tensor)
{
	return tensor->producer || tensor->is_input || tensor->data || tensor->list;
}

static void check_node(const struct graph *graph, const struct node *node)
{
	struct build *build = graph->build;
	int made = 0;
	assert(node->graph == graph);
	FOR (i, node->ins)
		assert(!node->in[i] || (is_visible(node->in[i], graph) && is_made(node->in[i])));
	FOR (k, node->outs) {
		assert(!node->out[k] || (node->out[k]->producer == node && node->out[k]->graph == graph));
		made += node->out[k] != NULL;
	}
	if (!made)
		fail(build, EXIT_INVALID, node->where, "makes no output");
	if (node->since < 1)
		fail(build, EXIT_INVALID, node->where, "its domain \"%.60s\" is not in opset_import", node->domain);
	check_names(node);
	FOR (i, node->attribute_count)
		check_attribute(node, &node->attributes[i]);
}

/* ---- order ---- */
/* What a node needs of `graph`: its operands, and what its subgraphs take from outside. */
static void needs(const struct node *node, const struct graph *graph, tensors *into);

static void graph_needs(const struct graph *inner, const struct graph *graph, tensors *into)
{
	FOR_ALL (i, inner->nodes)
		needs(inner->nodes.at[i], graph, into);
	FOR_ALL (i, inner->outputs)
		if (inner->outputs.at[i]->graph == graph)
			push(graph->build->arena, into, inner->outputs.at[i]);
}

static void needs(const struct node *node, const struct graph *graph, tensors *into)
{
	FOR (i, node->ins)
		if (node->in[i] && node->in[i]->graph == graph)
			push(graph->build->arena, into, node->in[i]);
	FOR (i, node->attribute_count) {
		const struct attribute *a = &node->attributes[i];
		if (a->g)
			graph_needs(a->g, graph, into);
		for (size_t k = 0; a->kind == ATTRIBUTE_GRAPHS && k < a->count; k++)
			graph_needs(a->graphs[k], graph, into);
	}
}

enum { UNSEEN, OPEN, PLACED };

/* Depth first from each node in the order of the file, with a stack of our own: chains are as long as files are. */
static void sort(struct graph *graph)
{
	struct arena *arena = graph->build->arena;
	struct frame {
		struct node *node;
		size_t next, end;
	};
	VECTOR(struct frame) stack = { 0 };
	tensors waiting = { 0 };
	VECTOR(struct node *) order = { 0 };
	FOR_ALL (i, graph->nodes)
		graph->nodes.at[i]->mark = UNSEEN;
	FOR_EACH (struct node *node, graph->nodes) {
		while (node || stack.count) {
			if (node && node->mark == UNSEEN) {
				size_t from = waiting.count;
				node->mark = OPEN;
				needs(node, graph, &waiting);
				push(arena, &stack, (struct frame){ node, from, waiting.count });
			} else if (node && node->mark == OPEN) {
				fail(graph->build, EXIT_INVALID, node->where,
				        "needs what it makes itself, directly or by others");
			}
			node = NULL;
			if (!stack.count)
				break;
			struct frame *top = &stack.at[stack.count - 1];
			while (top->next < top->end && !node) {
				node = waiting.at[top->next++]->producer;
				if (node && node->mark == PLACED)
					node = NULL;
			}
			if (node)
				continue;
			top->node->mark = PLACED;
			push(arena, &order, top->node);
			stack.count--;
			/* The operands of the node below end where those of this one began. */
			waiting.count = stack.count ? stack.at[stack.count - 1].end : 0;
		}
	}
	assert(order.count == graph->nodes.count);
	if (order.count)
		memcpy(graph->nodes.at, order.at, order.count * sizeof *order.at);
}

static bool is_sorted(struct graph *graph)
{
	tensors of_node = { 0 };
	FOR_ALL (i, graph->nodes)
		graph->nodes.at[i]->mark = UNSEEN;
	FOR_ALL (i, graph->nodes) {
		of_node.count = 0;
		needs(graph->nodes.at[i], graph, &of_node);
		FOR_ALL (k, of_node)
			if (of_node.at[k]->producer && of_node.at[k]->producer->mark == UNSEEN)
				return false;
		graph->nodes.at[i]->mark = PLACED;
	}
	return true;
}

static void check_graph(struct graph *graph)
{
	assert(!graph->uses.count);
	FOR_EACH (struct tensor *tensor, graph->tensors) {
		assert(tensor->graph == graph && graph_tensor(graph, tensor->name) == tensor);
		assert(!tensor->producer || (!tensor->is_input && !tensor->data && tensor->producer->graph == graph));
		assert(!tensor->data || (!tensor->form && tensor_is_known(tensor)));
	}
	FOR_ALL (i, graph->inputs)
		assert(graph->inputs.at[i]->is_input && graph->inputs.at[i]->graph == graph);
	FOR_EACH (struct tensor *output, graph->outputs) {
		assert(is_visible(output, graph) && (output->graph != graph || output->is_output));
		assert(is_made(output));
	}
	FOR_ALL (i, graph->nodes)
		check_node(graph, graph->nodes.at[i]);
	if (!is_sorted(graph))
		sort(graph);
}

void graph_check(struct graph *graph)
{
	if (!graph->outputs.count)
		fail(graph->build, EXIT_INVALID, graph->file, "the graph has no output");
	check_graph(graph);
}
