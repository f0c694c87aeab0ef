/* ops.c: the table of ops as data; finding a node's op and checking its attributes. */
#include "ops/ops.h"
#include <stdio.h>
#include <stdlib.h>

enum { SCALAR_NONE = -1 };

const struct op ops[] = {
#define O(domain, name, since, family, scalar, attributes) \
	{ domain, name, since, SCALAR_##scalar, attributes, infer_##family, define_##family },
#include "tables/ops.h"
#undef O
};
const int op_count = COUNT(ops);

const struct op *op_find(const char *domain, const char *name)
{
	for (int i = 0; i < op_count; i++)
		if (!strcmp(ops[i].name, name) && !strcmp(ops[i].domain, domain))
			return &ops[i];
	return NULL;
}

/* Whether the list has the attribute at this version: "name", "name@from", "name@from-to", separated by blanks. */
static bool allowed(const char *list, const char *name, int version)
{
	size_t length = strlen(name);
	for (const char *at = list; *at; at += strspn(at, " ")) {
		size_t word = strcspn(at, "@ ");
		const char *end = at + strcspn(at, " ");
		if (word == length && !memcmp(at, name, length)) {
			int from = 1, to = 1 << 30;
			if (at[word] == '@')
				sscanf(at + word, "@%d-%d", &from, &to);
			return from <= version && version <= to;
		}
		at = end;
	}
	return false;
}

const struct op *op_of(const struct node *node)
{
	const struct op *op = op_find(node->domain, node->type);
	if (!op)
		node_fail(node, EXIT_UNSUPPORTED, "op %s%s%s is not supported", node->domain, *node->domain ? "." : "",
		          node->type);
	if (node->since < op->since)
		node_fail(node, EXIT_INVALID, "%s came with opset %d, the model imports %d", op->name, op->since,
		          node->since);
	for (int i = 0; i < node->attribute_count; i++)
		if (!allowed(op->attributes, node->attributes[i].name, node->since))
			node_fail(node, EXIT_INVALID, "%s of opset %d has no attribute \"%s\"", op->name, node->since,
				node->attributes[i].name);
	return op;
}
