/* merge.c: graph -> graph.  Nodes that compute the same of the same are one: exporters write a mask, a table of angles
 * or the quantisation of a tensor again for each layer that reads it.  Value numbering in topological order; bits do
 * not change. */
#include "passes/passes.h"
#include "ops/ops.h"

enum { CONSTANT_MOST = TENSOR_ALIGNED, SLOTS_LEAST = 64 };

/* What is looked up by its hash: nodes, and constants of the same elements. */
struct merging {
	struct tensor **instead; /* by its mark, what stands for a tensor now */
	struct slot {
		uint64_t hash;
		struct node *node;
		struct tensor *constant;
	} * slots;
	size_t mask;
};

static struct tensor *now(const struct merging *n, struct tensor *tensor)
{
	while (tensor && n->instead[tensor->mark] != tensor)
		tensor = n->instead[tensor->mark];
	return tensor;
}

/* ---- what may be one ---- */
static bool same_dims(const struct tensor *a, const struct tensor *b)
{
	if (a->type != b->type || a->rank != b->rank)
		return false;
	FOR (d, a->rank)
		if (a->dims[d].extent != b->dims[d].extent || a->dims[d].symbol != b->dims[d].symbol
		        || a->dims[d].count != b->dims[d].count)
			return false;
	return true;
}

/* Shapes, places and single numbers, which the code says.  Weights that are alike may be trained apart. */
static bool is_plain_constant(const struct tensor *tensor)
{
	bool whole = tensor->type == DTYPE_I64 || tensor->type == DTYPE_BOOL;
	return tensor->data && !tensor->producer && !tensor->strings && !tensor->is_input && !tensor->is_output
	        && !tensor->form && tensor->bytes <= CONSTANT_MOST
	        && (whole || tensor->bytes == dtype_bytes(tensor->type, 1));
}

/* Numbers that are drawn are a node's own, unless it has a seed. */
static bool draws(const struct node *node, const struct op *op)
{
	for (const struct attribute_row *row = op->attributes; row && row->name; row++)
		if (!strcmp(row->name, "seed"))
			return !node_attribute(node, "seed");
	return false;
}

static bool is_pure(const struct node *node)
{
	const struct op *op = op_find(node->domain, node->type);
	if (!op || node->own || *node->overload || draws(node, op))
		return false;
	FOR (i, node->attribute_count)
		if (node->attributes[i].g || node->attributes[i].kind > ATTRIBUTE_STRINGS)
			return false;
	FOR (i, node->outs)
		if (node->out[i] && (node->out[i]->form || node->out[i]->utf8 || node->out[i]->is_maps))
			return false;
	return true;
}

/* ---- nodes ---- */
static uint64_t hash_attribute(const struct attribute *a, uint64_t hash)
{
	struct {
		const char *name;
		int64_t i;
		uint32_t kind;
		float f;
	} said = { a->name, a->i, a->kind, a->f };
	hash = hash_bytes(&said, sizeof said, hash);
	hash = hash_bytes(a->s.at, a->s.count, hash);
	if (a->kind == ATTRIBUTE_INTS)
		hash = hash_bytes(a->ints, a->count * sizeof *a->ints, hash);
	if (a->kind == ATTRIBUTE_FLOATS)
		hash = hash_bytes(a->floats, a->count * sizeof *a->floats, hash);
	return hash;
}

static bool same_bytes(struct bytes a, struct bytes b) { return a.count == b.count && !memcmp(a.at, b.at, a.count); }

static bool same_attribute(const struct attribute *a, const struct attribute *b)
{
	if (a->name != b->name || a->kind != b->kind || a->count != b->count)
		return false;
	switch (a->kind) {
	case ATTRIBUTE_FLOAT: return !memcmp(&a->f, &b->f, sizeof a->f);
	case ATTRIBUTE_INT: return a->i == b->i;
	case ATTRIBUTE_STRING: return same_bytes(a->s, b->s);
	case ATTRIBUTE_INTS: return !a->count || !memcmp(a->ints, b->ints, a->count * sizeof *a->ints);
	case ATTRIBUTE_FLOATS: return !a->count || !memcmp(a->floats, b->floats, a->count * sizeof *a->floats);
	case ATTRIBUTE_STRINGS:
		FOR (i, a->count)
			if (!same_bytes(a->strings[i], b->strings[i]))
				return false;
		return true;
	default: return false;
	}
}

static uint64_t hash_node(const struct merging *n, const struct node *node)
{
	const void *is[] = { node->type, node->domain };
	uint64_t hash = hash_bytes(is, sizeof is, (uint64_t)node->since);
	FOR (i, node->ins) {
		const struct tensor *in = now(n, node->in[i]);
		hash = hash_bytes(&in, sizeof in, hash);
	}
	FOR (i, node->attribute_count)
		hash = hash_attribute(&node->attributes[i], hash);
	return hash;
}

/* `b` computes what `a`, before it, does, wherever it does. */
static bool same_node(const struct merging *n, const struct node *a, const struct node *b)
{
	if (a->type != b->type || a->domain != b->domain || a->since != b->since || a->ins != b->ins
	        || a->outs != b->outs || a->attribute_count != b->attribute_count || a->is_given != b->is_given
	        || (a->guard && a->guard != b->guard))
		return false;
	FOR (i, a->ins)
		if (now(n, a->in[i]) != now(n, b->in[i]))
			return false;
	FOR (i, a->attribute_count)
		if (!same_attribute(&a->attributes[i], &b->attributes[i]))
			return false;
	FOR (i, a->outs)
		if (!a->out[i] != !b->out[i]
		        || (b->out[i] && (b->out[i]->is_output || !same_dims(a->out[i], b->out[i]))))
			return false;
	return true;
}

/* ---- constants ---- */
static uint64_t hash_constant(const struct tensor *tensor)
{
	return hash_bytes(tensor->data, tensor->bytes, (uint64_t)tensor->type * MAX_RANK + (uint64_t)tensor->rank);
}

static bool same_constant(const struct tensor *a, const struct tensor *b)
{
	return same_dims(a, b) && a->widened == b->widened && a->bytes == b->bytes
	        && !memcmp(a->data, b->data, a->bytes);
}

/* ---- */
static void number_constant(struct merging *n, struct tensor *tensor)
{
	uint64_t hash = hash_constant(tensor);
	size_t at = hash & n->mask;
	for (; n->slots[at].node || n->slots[at].constant; at = (at + 1) & n->mask)
		if (n->slots[at].hash == hash && n->slots[at].constant
		        && same_constant(n->slots[at].constant, tensor)) {
			n->instead[tensor->mark] = n->slots[at].constant;
			return;
		}
	n->slots[at] = (struct slot){ hash, NULL, tensor };
}

static void number_node(struct merging *n, struct node *node)
{
	uint64_t hash = hash_node(n, node);
	size_t at = hash & n->mask;
	for (; n->slots[at].node || n->slots[at].constant; at = (at + 1) & n->mask)
		if (n->slots[at].hash == hash && n->slots[at].node && same_node(n, n->slots[at].node, node)) {
			FOR (i, node->outs)
				if (node->out[i])
					n->instead[node->out[i]->mark] = n->slots[at].node->out[i];
			return;
		}
	n->slots[at] = (struct slot){ hash, node, NULL };
}

void pass_merge(struct graph *graph)
{
	struct merging n = { .instead = graph_number(graph), .mask = SLOTS_LEAST };
	while (n.mask < 2 * (graph->tensors.count + graph->nodes.count))
		n.mask *= 2;
	n.slots = arena_new_array(graph->build->arena, struct slot, n.mask);
	n.mask--;
	FOR_ALL (i, graph->tensors)
		if (is_plain_constant(graph->tensors.at[i]))
			number_constant(&n, graph->tensors.at[i]);
	FOR_ALL (i, graph->nodes)
		if (is_pure(graph->nodes.at[i]))
			number_node(&n, graph->nodes.at[i]);
	graph_substitute(graph, n.instead);
	graph_sweep(graph);
}
