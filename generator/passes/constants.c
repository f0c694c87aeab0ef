/* constants.c: graph -> graph.  Constant nodes become constants, Identity nodes vanish where names allow, and with them
 * all that no output depends on.  Works inside subgraphs too.  Needs topological order and keeps it. */
#include "passes/passes.h"
#include "ops/ops.h"

/* ---- Constant ---- */
static void set_list(struct tensor *tensor, enum dtype type, int rank, size_t count, const void *data)
{
	tensor->type = type;
	tensor->rank = rank;
	tensor->dims[0] = (struct dim){ .extent = rank ? (int64_t)count : -1 };
	tensor->data = data;
	tensor->bytes = dtype_bytes(type, count);
}

static bool make_constant(struct node *node)
{
	struct tensor *tensor = node->out[0];
	op_of(node); /* refuses what the version has not */
	if (node->outs != 1 || node->ins || !tensor || node->attribute_count != 1)
		fail(node->graph->build, EXIT_INVALID, node->where, "must have one value, one output and no input");
	const struct attribute *a = &node->attributes[0];
	switch (a->kind) {
	case ATTRIBUTE_TENSOR:
		tensor->type = a->t->type;
		tensor->rank = a->t->rank;
		memcpy(tensor->dims, a->t->dims, sizeof tensor->dims);
		tensor->data = a->t->data;
		tensor->bytes = a->t->bytes;
		tensor->strings = a->t->strings;
		break;
	case ATTRIBUTE_FLOAT: set_list(tensor, DTYPE_F32, 0, 1, &a->f); break;
	case ATTRIBUTE_INT: set_list(tensor, DTYPE_I64, 0, 1, &a->i); break;
	case ATTRIBUTE_FLOATS: set_list(tensor, DTYPE_F32, 1, a->count, a->count ? (const void *)a->floats : ""); break;
	case ATTRIBUTE_INTS: set_list(tensor, DTYPE_I64, 1, a->count, a->count ? (const void *)a->ints : ""); break;
	case ATTRIBUTE_STRING:
		set_list(tensor, DTYPE_STRING, 0, 1, strings_copied(node, &a->s, 1));
		tensor->strings = tensor->data;
		break;
	case ATTRIBUTE_STRINGS:
		set_list(tensor, DTYPE_STRING, 1, a->count, strings_copied(node, a->strings, a->count));
		tensor->strings = tensor->data;
		break;
	default: return false; /* no Constant of ONNX: inference says what is wrong */
	}
	version_check_outputs(node);
	tensor->is_initializer = true;
	tensor->producer = NULL;
	return true;
}

/* ---- Identity ---- */
static struct tensor *now(struct tensor *const *instead, struct tensor *tensor)
{
	while (instead[tensor->mark] != tensor)
		tensor = instead[tensor->mark];
	return tensor;
}

static void learn_type(struct tensor *tensor, const struct tensor *from)
{
	tensor->form |= from->form;
	if (tensor->type == DTYPE_NONE)
		tensor->type = from->type;
	if (tensor->rank < 0) {
		tensor->rank = from->rank;
		memcpy(tensor->dims, from->dims, sizeof tensor->dims);
	}
}

/* y = Identity(x).  Who reads y reads x instead.  An output must keep its name, so there x's producer makes y itself,
 * if x is not seen from outside either; else the node stays, as a copy is what the model asks for. */
static bool remove_identity(struct node *node, struct tensor **instead)
{
	if (node->ins != 1 || node->outs != 1 || !node->in[0] || !node->out[0])
		return false;
	struct tensor *x = now(instead, node->in[0]), *y = node->out[0];
	/* Inside a subgraph an inner name may hide x: text could not say then which is meant. */
	if (!y->is_output && x->graph != y->graph && graph_tensor(y->graph, x->name) != x)
		return false;
	if (!y->is_output) {
		learn_type(x, y);
		instead[y->mark] = x;
		y->producer = NULL;
		return true;
	}
	if (!x->producer || x->graph != y->graph || x->is_output)
		return false;
	learn_type(y, x);
	FOR (k, x->producer->outs)
		if (x->producer->out[k] == x)
			x->producer->out[k] = y;
	y->producer = x->producer;
	x->producer = NULL;
	instead[x->mark] = y;
	return true;
}

/* ---- */
static bool is(const struct node *node, const char *type) { return !*node->domain && !strcmp(node->type, type); }

static void simplify(struct graph *graph, struct tensor **instead)
{
	size_t kept = 0;
	FOR_EACH (struct node *node, graph->nodes) {
		FOR (k, node->attribute_count) {
			struct attribute *a = &node->attributes[k];
			if (a->g)
				simplify(a->g, instead);
			for (size_t n = 0; a->kind == ATTRIBUTE_GRAPHS && n < a->count; n++)
				simplify(a->graphs[n], instead);
		}
		if ((is(node, "Constant") && make_constant(node))
		        || (is(node, "Identity") && remove_identity(node, instead)))
			continue;
		graph->nodes.at[kept++] = node;
	}
	graph->nodes.count = kept;
}

void pass_constants(struct graph *graph)
{
	struct tensor **instead = graph_number(graph);
	simplify(graph, instead);
	graph_substitute(graph, instead);
	graph_sweep(graph);
}
