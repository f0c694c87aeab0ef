/* build.c: tensors, nodes and names become a graph; attributes are looked up. */
#include "graph/graph.h"
#include <assert.h>
#include <stdio.h>

/* ---- names: an open hash table over the interned pointers ---- */
struct tensor_index {
	struct tensor **at;
	size_t count, room;
}; /* room: a power of two */

static size_t slot_of(const struct tensor_index *index, const char *name)
{
	size_t i = (size_t)(((uintptr_t)name >> 4) * 0x9e3779b97f4a7c15u >> 20) & (index->room - 1);
	while (index->at[i] && index->at[i]->name != name)
		i = (i + 1) & (index->room - 1);
	return i;
}

static void index_add(struct graph *graph, struct tensor *tensor)
{
	struct tensor_index *index = graph->index;
	if (2 * (index->count + 1) > index->room) {
		struct tensor_index old = *index;
		index->room = old.room ? 2 * old.room : 16;
		index->at = arena_new_array(graph->build->arena, struct tensor *, index->room);
		FOR (i, old.room)
			if (old.at[i])
				index->at[slot_of(index, old.at[i]->name)] = old.at[i];
	}
	index->at[slot_of(index, tensor->name)] = tensor;
	index->count++;
}

static struct tensor *index_find(const struct graph *graph, const char *name)
{
	return graph->index->room ? graph->index->at[slot_of(graph->index, name)] : NULL;
}

void graph_reindex(struct graph *graph)
{
	struct tensor_index *index = graph->index;
	if (index->room)
		memset(index->at, 0, index->room * sizeof *index->at);
	index->count = 0;
	FOR_ALL (i, graph->tensors)
		index_add(graph, graph->tensors.at[i]);
}

void graph_cut(struct graph *graph, size_t nodes, size_t tensors)
{
	graph->nodes.count = nodes;
	graph->tensors.count = tensors;
	graph_reindex(graph);
}

/* ---- graphs and tensors ---- */
struct graph *graph_new(struct build *build, const char *name, const char *file, struct graph *outer)
{
	struct graph *graph = arena_new(build->arena, struct graph);
	graph->build = build;
	graph->name = name_is(build->names, name);
	graph->file = file;
	graph->producer = "";
	graph->outer = outer;
	graph->index = arena_new(build->arena, struct tensor_index);
	if (outer) {
		graph->ir_version = outer->ir_version;
		graph->depth = outer->depth + 1;
	}
	if (graph->depth > MAX_DEPTH)
		fail(build, EXIT_LIMIT, file, "graphs nest deeper than %d", MAX_DEPTH);
	return graph;
}

struct tensor *graph_tensor(struct graph *graph, const char *name)
{
	struct tensor *found = NULL;
	for (name = name_is(graph->build->names, name); graph && !found; graph = graph->outer)
		found = index_find(graph, name);
	return found;
}

struct tensor *graph_tensor_new(struct graph *graph, const char *name)
{
	struct tensor *tensor = arena_new(graph->build->arena, struct tensor);
	tensor->name = name_is(graph->build->names, name);
	tensor->rank = -1;
	tensor->graph = graph;
	if (index_find(graph, tensor->name))
		fail(graph->build, EXIT_INVALID, graph->file, "two things are named %s", name);
	push(graph->build->arena, &graph->tensors, tensor);
	index_add(graph, tensor);
	return tensor;
}

/* A fresh name is taken in no graph around, so that it hides nothing.  It may hide in inner ones, hence the '#' which
 * names in files hardly have; the loop makes it right in any case as far as this graph and the outer ones go. */
struct tensor *graph_tensor_fresh(struct graph *graph, const char *like)
{
	char text[96];
	size_t start = graph->tensors.count;
	do
		snprintf(text, sizeof text, "%.60s#%zu", like, start++);
	while (graph_tensor(graph, text));
	return graph_tensor_new(graph, text);
}

struct tensor *graph_constant_borrowed(
        struct graph *graph, const char *like, enum dtype type, int rank, const int64_t *extents, const void *data)
{
	struct tensor *tensor = graph_tensor_fresh(graph, like);
	assert(rank >= 0 && rank <= MAX_RANK && type != DTYPE_STRING);
	tensor->type = type;
	tensor->rank = rank;
	FOR (i, rank)
		tensor->dims[i].extent = extents[i];
	tensor->bytes = dtype_bytes(type, (size_t)tensor_elements(graph->build, tensor));
	tensor->data = data;
	tensor->is_initializer = true;
	return tensor;
}

struct tensor *graph_constant(
        struct graph *graph, const char *like, enum dtype type, int rank, const int64_t *extents, const void *data)
{
	struct tensor *tensor = graph_constant_borrowed(graph, like, type, rank, extents, data);
	tensor->data = arena_copy(graph->build->arena, data, tensor->bytes);
	return tensor;
}

static const char *place_of(struct build *build, const struct tensor *tensor)
{
	const char *file = tensor->graph ? tensor->graph->file : "";
	return arena_printf(build->arena, "%s%stensor %.100s", file, *file ? ": " : "", tensor->name);
}

int64_t tensor_elements(struct build *build, const struct tensor *tensor)
{
	int64_t n = 1, bits;
	bool empty = false;
	if (tensor->rank < 0)
		return -1;
	FOR (i, tensor->rank)
		if (tensor->dims[i].extent < 0)
			return -1;
		else if (tensor->dims[i].extent == 0)
			empty = true;
	if (empty)
		return 0;
	FOR (i, tensor->rank)
		if (__builtin_mul_overflow(n, tensor->dims[i].extent, &n))
			fail(build, EXIT_LIMIT, place_of(build, tensor), "more elements than 64 bits count");
	if (__builtin_mul_overflow(n, 128, &bits)) /* the widest type: bits must not overflow */
		fail(build, EXIT_LIMIT, place_of(build, tensor), "%lld elements are more than can be addressed",
		        (long long)n);
	return n;
}

struct graph *graph_main(const struct graph *graph)
{
	while (graph->outer)
		graph = graph->outer;
	return (struct graph *)(uintptr_t)graph;
}

struct asked *graph_asked(const struct graph *graph, const char *symbol)
{
	graph = graph_main(graph);
	FOR_ALL (i, graph->asked)
		if (graph->asked.at[i].symbol == symbol)
			return &graph->asked.at[i];
	return NULL;
}

bool tensor_is_known(const struct tensor *tensor)
{
	bool known = tensor->form ? tensor->list != NULL : tensor->type != DTYPE_NONE && tensor->rank >= 0;
	for (size_t i = 0; tensor->list && i < tensor->list->count; i++)
		known &= tensor_is_known(tensor->list->at[i]);
	for (int i = 0; known && !tensor->form && i < tensor->rank; i++)
		known = tensor->dims[i].extent >= 0;
	return known;
}

struct tensor tensor_told(const struct tensor *tensor)
{
	struct tensor told = *tensor;
	told.type = tensor->is_utf8 ? DTYPE_STRING : tensor->type;
	told.rank -= tensor->is_utf8 && tensor->rank > 0;
	return told;
}

int64_t tensor_int(const struct tensor *tensor, size_t i)
{
	const struct dtype_row *row = &dtypes[tensor->type];
	const unsigned char *at = tensor_data(tensor);
	uint64_t value = 0;
	unsigned bits = (unsigned)row->bits;
	assert(at && (row->class == CLASS_INT || row->class == CLASS_UINT || row->class == CLASS_BOOL));
	if (bits < 8)
		value = (uint64_t)at[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
	else
		memcpy(&value, at + i * (bits / 8), bits / 8);
	if (row->class == CLASS_INT && bits < 64 && value >> (bits - 1))
		value -= (uint64_t)1 << bits;
	return (int64_t)value;
}

double tensor_float(const struct tensor *tensor, size_t i)
{
	const unsigned char *at = tensor_data(tensor);
	float f;
	double d;
	assert(at && (tensor->type == DTYPE_F32 || tensor->type == DTYPE_F64));
	if (tensor->type == DTYPE_F64)
		return memcpy(&d, at + 8 * i, 8), d;
	return memcpy(&f, at + 4 * i, 4), f;
}

/* ---- nodes ---- */
struct node *graph_node_new(
        struct graph *graph, const char *domain, const char *type, const char *name, int ins, int outs)
{
	struct build *build = graph->build;
	struct node *node = arena_new(build->arena, struct node);
	const struct graph *main = graph;
	node->domain = name_is(build->names, !strcmp(domain, "ai.onnx") ? "" : domain);
	node->type = name_is(build->names, type);
	node->name = name_is(build->names, name);
	node->overload = name_is(build->names, "");
	node->where = *name
	        ? arena_printf(build->arena, "%s: node %.100s (%.60s)", graph->file, name, type)
	        : arena_printf(build->arena, "%s: node #%zu (%.60s)", graph->file, graph->nodes.count, type);
	node->graph = graph;
	node->guard = graph->guard;
	node->in = arena_new_array(build->arena, struct tensor *, (size_t)ins);
	node->out = arena_new_array(build->arena, struct tensor *, (size_t)outs);
	node->ins = ins;
	node->outs = outs;
	while (main->outer)
		main = main->outer;
	node->since = !strcmp(node->domain, "com.microsoft"); /* which onnxruntime's own tools do not import */
	FOR_ALL (i, main->opsets)
		if (main->opsets.at[i].domain == node->domain)
			node->since = (int)main->opsets.at[i].version;
	push(build->arena, &graph->nodes, node);
	return node;
}

struct tensor *node_output(struct node *node, int k, const char *name)
{
	struct graph *graph = node->graph;
	struct tensor *old = index_find(graph, name_is(graph->build->names, name));
	if (old)
		fail(graph->build, EXIT_INVALID, node->where, "output %s is already %s", name,
		        old->is_input           ? "an input of the graph"
		                : old->producer ? "the output of another node"
		                                : "an initialiser");
	node->out[k] = graph_tensor_new(graph, name);
	node->out[k]->producer = node;
	return node->out[k];
}

/* ---- names that come before what they name ---- */
void graph_use(struct graph *graph, struct tensor **slot, const char *name, const char *where)
{
	name = name_is(graph->build->names, name);
	/* An outer tensor of that name is not taken yet: an inner one may still come, and inner ones go first. */
	if (!(*slot = index_find(graph, name)))
		push(graph->build->arena, &graph->uses, (struct use){ slot, name, where });
}

void graph_close(struct graph *graph)
{
	FOR_EACH_AT (struct use *use, graph->uses) {
		if ((*use->slot = index_find(graph, use->name)))
			continue;
		if (!graph->outer)
			fail(graph->build, EXIT_INVALID, use->where, "%s is used, but nothing makes it", use->name);
		graph_use(graph->outer, use->slot, use->name, use->where);
	}
	graph->uses.count = 0;
}

/* ---- attributes ---- */
const struct attribute *node_attribute(const struct node *node, const char *name)
{
	FOR (i, node->attribute_count)
		if (!strcmp(node->attributes[i].name, name))
			return &node->attributes[i];
	return NULL;
}

static const struct attribute *of_kind(
        const struct node *node, const char *name, enum attribute_kind kind, const char *word)
{
	const struct attribute *attribute = node_attribute(node, name);
	if (attribute && attribute->kind != kind)
		fail(node->graph->build, EXIT_INVALID, node->where, "attribute %s must be %s", name, word);
	return attribute;
}

int64_t node_int(const struct node *node, const char *name, int64_t otherwise)
{
	const struct attribute *attribute = of_kind(node, name, ATTRIBUTE_INT, "an integer");
	return attribute ? attribute->i : otherwise;
}

float node_float(const struct node *node, const char *name, float otherwise)
{
	const struct attribute *attribute = of_kind(node, name, ATTRIBUTE_FLOAT, "a float");
	return attribute ? attribute->f : otherwise;
}

const char *node_string(const struct node *node, const char *name, const char *otherwise)
{
	const struct attribute *attribute = of_kind(node, name, ATTRIBUTE_STRING, "a string");
	if (!attribute)
		return otherwise;
	if (attribute->s.count && memchr(attribute->s.at, 0, attribute->s.count))
		fail(node->graph->build, EXIT_INVALID, node->where, "attribute %s holds a NUL byte", name);
	return name_of(node->graph->build->names, attribute->s.at, attribute->s.count);
}

const int64_t *node_ints(const struct node *node, const char *name, size_t *count)
{
	const struct attribute *attribute = of_kind(node, name, ATTRIBUTE_INTS, "a list of integers");
	*count = attribute ? attribute->count : 0;
	return attribute ? attribute->ints : NULL;
}
