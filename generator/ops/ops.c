/* ops.c: the table of ops as data; finding a node's op; its attributes, checked and read by their rows. */
#include "ops/ops.h"
#include <assert.h>

enum { SCALAR_NONE = -1 };

#define ALL 1, VERSION_LAST
#define FROM(version) version, VERSION_LAST
#define TO(version) 1, version
#define SPAN(from, to) from, to
#define A(kind, name, versions) { ATTRIBUTE_##kind, name, versions, false, 0, NULL },
#define INT(name, versions, number) { ATTRIBUTE_INT, name, versions, true, number, NULL },
#define FLOAT(name, versions, number) { ATTRIBUTE_FLOAT, name, versions, true, number, NULL },
#define STRING(name, versions, string) { ATTRIBUTE_STRING, name, versions, true, 0, string },
#define OLD_BROADCAST INT("broadcast", TO(6), 0) A(INT, "axis", TO(6))
#define OLD_INPLACE A(INTS, "consumed_inputs", TO(5))
#define PLAIN
const struct op ops[] = {
#define O(domain, name, since, family, scalar, ...) \
	{ domain, name, since, SCALAR_##scalar, (const struct attribute_row[]){ __VA_ARGS__{ 0 } }, infer_##family, \
		define_##family, NULL, NULL, false, false, 0, 0, 0 },
#define OL(domain, name, since, inferring, defining, ...) \
	{ domain, name, since, SCALAR_NONE, (const struct attribute_row[]){ __VA_ARGS__{ 0 } }, infer_##inferring, \
		define_##defining, NULL, NULL, true, false, 0, 0, 0 },
#define TEXT(domain, name, since, lists, wide, least, most, outs, ...) \
	{ domain, name, since, SCALAR_NONE, (const struct attribute_row[]){ __VA_ARGS__{ 0 } }, NULL, define_text, \
		body_expand, sizeof domain > 1 ? "onnx/" domain "." name ".jinja" : "onnx/" name ".jinja", lists, \
		wide, least, most, outs },
#define T(domain, name, since, ...) TEXT(domain, name, since, false, false, __VA_ARGS__)
#define TW(domain, name, since, ...) TEXT(domain, name, since, false, true, __VA_ARGS__)
#define TL(domain, name, since, ...) TEXT(domain, name, since, true, false, __VA_ARGS__)
#define G(domain, name, since, family, ...) \
	{ domain, name, since, SCALAR_NONE, (const struct attribute_row[]){ __VA_ARGS__{ 0 } }, NULL, define_graphs, \
		expand_##family, NULL, true, false, 0, 0, 0 },
#include "tables/ops.h"
#undef O
#undef OL
#undef T
#undef TW
#undef TL
#undef TEXT
#undef G
};
const int op_count = COUNT(ops);

const struct op *op_find(const char *domain, const char *name)
{
	FOR (i, op_count)
		if (!strcmp(ops[i].name, name) && !strcmp(ops[i].domain, domain))
			return &ops[i];
	return NULL;
}

const struct op *op_known(const struct node *node)
{
	const struct op *op = op_find(node->domain, node->type);
	return op ? op : own_op(node);
}

const char *op_meant(struct build *build, const char *domain, const char *name)
{
	struct nearest nearest = { .name = name, .length = strlen(name) };
	FOR (i, op_count)
		if ((!domain || !strcmp(ops[i].domain, domain)) && strcmp(ops[i].domain, "ingot"))
			nearest_try(&nearest, ops[i].name, strlen(ops[i].name));
	return nearest.best ? arena_printf(build->arena, "; did you mean %.*s?", (int)nearest.best_length, nearest.best)
	                    : "";
}

static const struct kind {
	const char *name, *words;
} kinds[] = {
	[ATTRIBUTE_FLOAT] = { "float", "a float" },
	[ATTRIBUTE_INT] = { "int", "an integer" },
	[ATTRIBUTE_STRING] = { "string", "a string" },
	[ATTRIBUTE_TENSOR] = { "tensor", "a tensor" },
	[ATTRIBUTE_GRAPH] = { "graph", "a graph" },
	[ATTRIBUTE_FLOATS] = { "floats", "a list of floats" },
	[ATTRIBUTE_INTS] = { "ints", "a list of integers" },
	[ATTRIBUTE_STRINGS] = { "strings", "a list of strings" },
	[ATTRIBUTE_TENSORS] = { "tensors", "a list of tensors" },
	[ATTRIBUTE_GRAPHS] = { "graphs", "a list of graphs" },
	[ATTRIBUTE_SPARSE_TENSOR] = { "sparse_tensor", "a sparse tensor" },
	[ATTRIBUTE_SPARSE_TENSORS] = { "sparse_tensors", "a list of sparse tensors" },
	[ATTRIBUTE_TYPE] = { "type", "a type" },
	[ATTRIBUTE_TYPES] = { "types", "a list of types" },
};

const char *attribute_kind_name(enum attribute_kind kind) { return kinds[kind].name; }

static const struct attribute_row *row_at(const struct op *op, const char *name, int version)
{
	for (const struct attribute_row *row = op->attributes; row->name; row++)
		if (!strcmp(row->name, name) && row->from <= version && version <= row->to)
			return row;
	return NULL;
}

static const char *attribute_meant(const struct node *node, const struct op *op, const char *name)
{
	struct nearest nearest = { .name = name, .length = strlen(name) };
	for (const struct attribute_row *row = op->attributes; row->name; row++)
		if (row->from <= node->since && node->since <= row->to)
			nearest_try(&nearest, row->name, strlen(row->name));
	return nearest.best ? arena_printf(node_arena(node), "; did you mean %s?", nearest.best) : "";
}

const struct op *op_of(const struct node *node)
{
	const struct op *op = op_known(node);
	FAIL_IF(!op, EXIT_UNSUPPORTED, "op %s is not supported%s%s", own_name(node),
	        op_meant(node->graph->build, node->domain, node->type), own_way(node));
	FAIL_IF(node->since < op->since, EXIT_INVALID, "%s came with opset %d, the model imports %d", op->name,
	        op->since, node->since);
	FOR_WHILE (i, op->attributes, node->attribute_count) {
		const struct attribute_row *row = row_at(op, node->attributes[i].name, node->since);
		FAIL_IF(!row, EXIT_INVALID, "%s of opset %d has no attribute \"%s\"%s", op->name, node->since,
		        node->attributes[i].name, attribute_meant(node, op, node->attributes[i].name));
		FAIL_IF(row->kind != node->attributes[i].kind, EXIT_INVALID, "attribute %s is %s, %s is right",
		        row->name, kinds[node->attributes[i].kind].words, kinds[row->kind].words);
	}
	return op;
}

/* Of its version, else of another. */
static const struct attribute_row *row_of(const struct node *node, const char *name)
{
	const struct op *op = op_find(node->domain, node->type);
	const struct attribute_row *row = row_at(op, name, node->since);
	for (const struct attribute_row *other = op->attributes; !row && other->name; other++)
		if (!strcmp(other->name, name) && other->has_default)
			row = other;
	assert(row);
	return row;
}

static const struct attribute_row *default_of(const struct node *node, const char *name)
{
	const struct attribute_row *row = row_of(node, name);
	assert(row->has_default);
	return row;
}

bool op_keeps_shape(const struct op *op)
{
	return op->infer == infer_unary || op->infer == infer_cast || op->infer == infer_cast_like
	        || op->infer == infer_identity;
}

bool op_sizes(const struct op *op)
{
	return op->infer == infer_reshape || op->infer == infer_expand || op->infer == infer_constant_of_shape
	        || op->infer == infer_range || op->infer == infer_slice || op->infer == infer_fit
	        || op->infer == infer_rounds || op->infer == infer_tile || op->infer == infer_pad
	        || op->infer == infer_resize || op->infer == infer_agree;
}

bool op_broadcasts(const struct op *op) { return op->infer == infer_binary; }

bool op_chooses(const struct op *op)
{
	return op->infer == infer_compress || op->infer == infer_non_zero || op->infer == infer_unique
	        || op->infer == infer_select;
}

int64_t attribute_int(const struct node *node, const char *name)
{
	return node_int(node, name, (int64_t)default_of(node, name)->number);
}

float attribute_float(const struct node *node, const char *name)
{
	return node_float(node, name, (float)default_of(node, name)->number);
}

const char *attribute_string(const struct node *node, const char *name)
{
	return node_string(node, name, default_of(node, name)->string);
}

int attribute_axis(const struct node *node, int rank)
{
	return (int)node_axis(node, node_int(node, "axis", (int64_t)row_of(node, "axis")->number), rank);
}

int attribute_choice(const struct node *node, const char *name, const char *given, const char *words)
{
	struct arena *arena = node_arena(node);
	const char *text = "";
	int which = 0;
	for (const char *at = words; *at; which++) {
		int length = (int)strcspn(at, " ");
		if (!strncmp(at, given, (size_t)length) && !given[length])
			return which;
		text = arena_printf(arena, "%s%s%.*s", text, !which ? "" : at[length] ? ", " : " or ", length, at);
		at += length + (at[length] == ' ');
	}
	node_invalid(node, "%s is \"%s\", %s is right", name, given, text);
}

int attribute_word(const struct node *node, const char *name, const char *words)
{
	return attribute_choice(node, name, attribute_string(node, name), words);
}
