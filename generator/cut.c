/* cut.c: a prepared graph is cut at tensors: of its nodes those of one part stay, and what lies between two parts is an
 * output of one and an input of the other. */
#include "pipeline.h"

/* Of a tensor: another part computes it for this one, this one for others, a node of this part reads it, any does. */
enum { IN = 1, OUT = 2, READ = 4, USED = 8 };

typedef void see(void *user, const struct node *reader, struct tensor *);

static void see_tensor(const struct graph *main, const struct node *reader, struct tensor *tensor, see *see, void *user)
{
	if (!tensor || tensor->graph != main)
		return;
	see(user, reader, tensor);
	FOR (d, tensor->rank)
		if (tensor->dims[d].count)
			see(user, reader, tensor->dims[d].count);
}

/* What the node reads of the main graph, as `reader`: also inside of its subgraphs, and to know whether it is needed.
 */
static void node_reads(
        const struct graph *main, const struct node *node, const struct node *reader, see *see, void *user)
{
	FOR (k, node->ins)
		see_tensor(main, reader, node->in[k], see, user);
	for (const struct guard *guard = node->guard; guard; guard = guard->outer)
		see_tensor(main, reader, guard->condition, see, user);
	FOR (k, node->attribute_count) {
		const struct attribute *a = &node->attributes[k];
		size_t graphs = a->kind == ATTRIBUTE_GRAPHS ? a->count : a->g != NULL;
		FOR (n, graphs) {
			const struct graph *inner = a->kind == ATTRIBUTE_GRAPHS ? a->graphs[n] : a->g;
			FOR_ALL (i, inner->nodes)
				node_reads(main, inner->nodes.at[i], reader, see, user);
			FOR_ALL (i, inner->outputs)
				see_tensor(main, reader, inner->outputs.at[i], see, user);
		}
	}
}

static void need(void *user, const struct node *reader, struct tensor *tensor)
{
	(void)user, (void)reader;
	tensor->mark = 1;
}

/* What the tensor needs and no part before has is the part's (NULL: all that is left).  From the last node to the
 * first.  False: there is nothing. */
static bool claim(struct graph *graph, struct tensor *tensor, int part)
{
	bool any = false;
	FOR_ALL (i, graph->tensors)
		graph->tensors.at[i]->mark = tensor == NULL;
	if (tensor)
		tensor->mark = 1;
	for (size_t i = graph->nodes.count; i-- > 0;) {
		struct node *node = graph->nodes.at[i];
		bool needed = false;
		FOR (k, node->outs)
			needed |= node->out[k] && node->out[k]->mark;
		if (node->mark >= 0 || !needed)
			continue;
		node->mark = part;
		any = true;
		node_reads(graph, node, node, need, NULL);
	}
	return any;
}

static struct tensor *find(struct model *model, const char *name)
{
	struct tensor *tensor = graph_tensor(model->graph, name);
	const char *is = !tensor ? NULL : tensor->is_input ? "an input" : tensor->is_output ? "an output" : NULL;
	struct choices choices = choices_for(model->build, name);
	if (is)
		fail(model->build, EXIT_USAGE, model->options->model, "--cut %s: is %s: a cut lies between nodes", name,
		        is);
	if (tensor && tensor->producer)
		return tensor;
	FOR_ALL (i, model->graph->tensors)
		if (model->graph->tensors.at[i]->producer && !model->graph->tensors.at[i]->is_output)
			choices_add(&choices, model->graph->tensors.at[i]->name);
	fail(model->build, EXIT_USAGE, model->options->model,
	        "--cut %s: the graph, once simplified, computes no tensor of that name%s", name,
	        choices_text(&choices));
}

/* Each node's mark is its part. */
static void claim_all(struct model *model)
{
	struct graph *graph = model->graph;
	int count = (int)model->options->cuts.count;
	const char *name = NULL;
	FOR_ALL (i, graph->nodes)
		graph->nodes.at[i]->mark = -1;
	FOR (k, count) {
		name = model->options->cuts.at[k];
		if (!claim(graph, find(model, name), k))
			fail(model->build, EXIT_USAGE, model->options->model,
			        "--cut %s: part %d is empty: what comes before is computed for %s already", name, k,
			        model->options->cuts.at[k ? k - 1 : 0]);
	}
	if (!claim(graph, NULL, count))
		fail(model->build, EXIT_USAGE, model->options->model,
		        "--cut %s: part %d is empty: nothing comes behind", name, count);
}

static void see_border(void *user, const struct node *reader, struct tensor *tensor)
{
	int part = *(const int *)user, from = tensor->producer ? tensor->producer->mark : reader->mark;
	tensor->mark |= USED | (reader->mark == part ? READ : 0);
	if (from != reader->mark)
		tensor->mark |= (reader->mark == part ? IN : 0) | (from == part ? OUT : 0);
}

/* An extent that comes at run time is known to who has the input that says it. */
static void check_border(const struct model *model, const struct tensor *tensor)
{
	bool known =
	        !tensor->form && tensor->type != DTYPE_STRING && !tensor->utf8 && !tensor->sizes && !tensor->is_spanned;
	FOR (d, tensor->rank)
		known &= !tensor->dims[d].count || tensor->dims[d].count->is_input;
	if (!known)
		fail(model->build, EXIT_USAGE, model->options->model,
		        "--cut: %s lies between two parts, and is no tensor whose extents are known there",
		        tensor->name);
}

/* An output that no node makes is the last part's. */
static bool has_output(const struct model *model, const struct tensor *output)
{
	return (output->producer ? output->producer->mark : (int)model->options->cuts.count) == model->options->part;
}

static void borders_set(struct model *model)
{
	struct graph *graph = model->graph;
	struct arena *arena = model->build->arena;
	VECTOR(struct tensor *) outputs = { 0 };
	size_t kept = 0;
	FOR_ALL (i, graph->tensors)
		if (graph->tensors.at[i]->mark & OUT && !graph->tensors.at[i]->is_output)
			push(arena, &outputs, graph->tensors.at[i]);
	FOR_ALL (i, graph->outputs)
		if ((graph->outputs.at[i]->is_output = has_output(model, graph->outputs.at[i])))
			push(arena, &outputs, graph->outputs.at[i]);
	FOR_EACH (struct tensor *input, graph->inputs) {
		if ((input->is_input = input->mark & READ || input->is_output
		                    || (!model->options->part && !(input->mark & USED))))
			graph->inputs.at[kept++] = input;
	}
	graph->inputs.count = kept;
	graph->outputs.count = 0;
	FOR_ALL (i, outputs) {
		outputs.at[i]->is_output = true;
		push(arena, &graph->outputs, outputs.at[i]);
	}
	FOR_EACH (struct tensor *tensor, graph->tensors) {
		if (!(tensor->mark & IN))
			continue;
		tensor->is_input = true;
		tensor->is_output = false;
		push(arena, &graph->inputs, tensor);
	}
}

/* What is said of inputs and outputs that are another part's. */
static void said_drop(struct model *model)
{
	struct graph *graph = model->graph;
#define KEEP(list, condition) \
	do { \
		size_t kept = 0; \
		for (size_t i = 0; i < (list).count; i++) \
			if (condition) \
				(list).at[kept++] = (list).at[i]; \
		(list).count = kept; \
	} while (0)
	KEEP(graph->fixed, graph->fixed.at[i].input->is_input);
	KEEP(graph->sizes, graph->sizes.at[i].size->is_input);
	KEEP(graph->said, graph->said.at[i].size->is_input);
	KEEP(graph->asked, graph->asked.at[i].first->is_output);
	KEEP(graph->nodes, graph->nodes.at[i]->mark == model->options->part);
	KEEP(model->choices,
	        !graph_tensor(graph, model->choices.at[i].name)
	                || has_output(model, graph_tensor(graph, model->choices.at[i].name)));
#undef KEEP
}

void model_cut(struct model *model)
{
	struct graph *graph = model->graph;
	int part = model->options->part;
	if (graph->whole_inputs.count || graph->whole_outputs.count)
		fail(model->build, EXIT_USAGE, model->options->model, "--cut: an input or output is no tensor");
	claim_all(model);
	FOR_ALL (i, graph->tensors)
		graph->tensors.at[i]->mark = 0;
	FOR_ALL (i, graph->nodes)
		node_reads(graph, graph->nodes.at[i], graph->nodes.at[i], see_border, &part);
	FOR_ALL (i, graph->tensors)
		if (graph->tensors.at[i]->mark & (IN | OUT))
			check_border(model, graph->tensors.at[i]);
	borders_set(model);
	said_drop(model);
	FOR_ALL (i, graph->inputs)
		graph->inputs.at[i]->producer = NULL;
	graph_sweep(graph);
	graph_check(graph);
	model->name = arena_printf(model->build->arena, "%s_%d", model->name, part);
}
