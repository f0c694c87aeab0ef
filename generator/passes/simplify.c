/* simplify.c: graph -> graph.  Local rewrites that leave fewer nodes of the same meaning, rounding apart; the
 * computation of constants is in double.  A rule looks backwards, from a node to the producers of its inputs.
 * tensor->mark counts readers, an output of the graph being read from outside.  Nodes that lost their readers are swept
 * at the end. */
#include "passes/passes.h"
#include "passes/simplify.h"

static bool replace_input(struct node *node, int i, struct tensor *tensor)
{
	if (node->in[i])
		node->in[i]->mark--;
	tensor->mark++;
	node->in[i] = tensor;
	return true;
}

bool is_op(const struct node *node, const char *type) { return node && !*node->domain && !strcmp(node->type, type); }

struct node *only_reader(const struct tensor *tensor, const char *type)
{
	return tensor->mark == 1 && !tensor->is_output && is_op(tensor->producer, type) ? tensor->producer : NULL;
}

/* `node` makes what `after` made; `after` is left without outputs and goes. */
void take_output(struct node *node, struct node *after)
{
	node->out[0]->producer = NULL;
	node->out[0] = after->out[0];
	node->out[0]->producer = node;
	after->outs = 0;
	FOR (i, after->ins)
		if (after->in[i])
			after->in[i]->mark--;
}

void become(struct node *node, const char *domain, const char *type, int ins, struct tensor *const *in)
{
	struct build *build = node->graph->build;
	struct tensor **fresh = arena_new_array(build->arena, struct tensor *, (size_t)ins + 1);
	FOR (i, ins)
		if ((fresh[i] = in[i]))
			fresh[i]->mark++;
	FOR (i, node->ins)
		if (node->in[i])
			node->in[i]->mark--;
	node->in = fresh;
	node->ins = ins;
	node->domain = name_is(build->names, domain);
	node->type = name_is(build->names, type);
	node->attribute_count = 0;
	if (*domain)
		node->since = 1;
}

void set_input(struct node *node, int i, struct tensor *tensor)
{
	struct build *build = node->graph->build;
	if (i >= node->ins) {
		struct tensor **longer = arena_new_array(build->arena, struct tensor *, (size_t)i + 1);
		memcpy(longer, node->in, (size_t)node->ins * sizeof *longer);
		node->in = longer;
		node->ins = i + 1;
	}
	replace_input(node, i, tensor);
}

/* Each rule is tried on nodes of its type; true where it changed something and the node may be looked at again. */
static const struct {
	const char *type;
	bool (*apply)(struct node *);
} rules[] = {
	{ "BatchNormalization", fold_normalization },
	{ "Add", fold_bias },
	{ "Mul", find_gelu },
	{ "Transpose", join_transposes },
	{ "Reshape", join_reshapes },
	{ "Flatten", join_reshapes },
	{ "Squeeze", join_reshapes },
	{ "Unsqueeze", join_reshapes },
	{ "Dropout", drop_dropout },
};

/* Past nodes that became Identity: their readers come later in the walk. */
static void look_through_identities(struct node *node)
{
	FOR (i, node->ins)
		while (node->in[i] && is_op(node->in[i]->producer, "Identity") && node->in[i]->producer->in[0])
			replace_input(node, i, node->in[i]->producer->in[0]);
}

static void count_readers(struct graph *graph)
{
	FOR_ALL (i, graph->tensors)
		graph->tensors.at[i]->mark = graph->tensors.at[i]->is_output;
	FOR_ALL (i, graph->nodes)
		FOR (k, graph->nodes.at[i]->ins)
			if (graph->nodes.at[i]->in[k])
				graph->nodes.at[i]->in[k]->mark++;
}

static void import_own_domain(struct graph *graph)
{
	const char *ingot = name_is(graph->build->names, "ingot");
	bool used = false;
	FOR_ALL (i, graph->nodes)
		used |= graph->nodes.at[i]->domain == ingot;
	FOR_ALL (i, graph->opsets)
		used &= graph->opsets.at[i].domain != ingot;
	if (used)
		push(graph->build->arena, &graph->opsets, (struct opset){ ingot, 1 });
}

void pass_simplify(struct graph *graph)
{
	size_t kept = 0;
	count_readers(graph);
	FOR_EACH (struct node *node, graph->nodes) {
		look_through_identities(node);
		FOR (r, COUNT(rules))
			if (node->outs && is_op(node, rules[r].type))
				rules[r].apply(node);
	}
	FOR_ALL (i, graph->nodes)
		if (graph->nodes.at[i]->outs)
			graph->nodes.at[kept++] = graph->nodes.at[i];
	graph->nodes.count = kept;
	import_own_domain(graph);
	pass_constants(graph); /* sweeps what nobody reads any more */
}
