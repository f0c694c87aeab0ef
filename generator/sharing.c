/* sharing.c: the graphs of one library: which of their tensors are one, and what each is called there.
 *
 * An output of one graph and an input of another that have one name are one tensor, and so is whatever --share names.
 * All others of one name are called GRAPH.NAME, each after its graph. */
#include "pipeline.h"
#include "emit/emit.h"
#include "ingot/mode.h"
#include <ctype.h>

const char *model_argument(struct arena *arena, const char *argument, const char **name)
{
	size_t length = 0;
	while (isalnum((unsigned char)argument[length]) || argument[length] == '_')
		length++;
	bool named = length && !isdigit((unsigned char)*argument) && argument[length] == '=' && argument[length + 1];
	*name = named ? arena_copy(arena, argument, length) : NULL;
	return named ? argument + length + 1 : argument;
}

/* ---- --rename ---- */
static const char *graph_name(const struct model *model)
{
	return model->options->routine ? model->options->routine : model->name;
}

static void call(struct model *model, struct tensor *tensor, const char *name)
{
	const char *was = tensor->name;
	tensor->name = name_is(model->build->names, name);
	FOR_ALL (i, model->choices)
		if (model->choices.at[i].name == was)
			model->choices.at[i].name = tensor->name;
	graph_reindex(model->graph);
}

/* OLD=NEW is of every graph that has OLD, GRAPH.OLD=NEW of that one. */
static struct tensor *renamed_tensor(const struct model *model, const char *old)
{
	const char *graph = graph_name(model);
	struct tensor *tensor = graph_tensor(model->graph, old);
	if (!tensor && !strncmp(old, graph, strlen(graph)) && old[strlen(graph)] == '.')
		tensor = graph_tensor(model->graph, old + strlen(graph) + 1);
	return tensor;
}

void model_rename(struct model *model)
{
	FOR_EACH_AT (struct renaming *renaming, model->options->renames) {
		struct tensor *tensor = renamed_tensor(model, renaming->old);
		if (!tensor)
			continue;
		if (graph_tensor(model->graph, renaming->made))
			fail(model->build, EXIT_USAGE, model->graph->file, "--rename %s=%s: the graph has a %s already",
			        renaming->old, renaming->made, renaming->made);
		call(model, tensor, renaming->made);
		renaming->used = true;
	}
}

/* ---- what is one ---- */
static struct tensor *declared(const struct model *model, const char *name, bool input)
{
	struct tensor *tensor = graph_tensor(model->graph, name);
	return tensor && (input ? tensor->is_input : tensor->is_output) ? tensor : NULL;
}

static bool is_asked(const struct options *options, const char *name)
{
	FOR_ALL (i, options->shares)
		if (!strcmp(options->shares.at[i], name))
			return true;
	return false;
}

static bool is_one(struct model *const *models, int count, const char *name)
{
	int from = -1, to = -1;
	bool flows = false;
	for (int m = 0; m < count && !flows; m++) {
		from = declared(models[m], name, false) ? m : from;
		to = declared(models[m], name, true) ? m : to;
		flows = from >= 0 && to >= 0 && from != to;
	}
	return flows || is_asked(models[0]->options, name);
}

/* --share names an input, and a tensor of another graph. */
static void check_shares(struct model *const *models, int count)
{
	const struct options *options = models[0]->options;
	FOR_EACH (const char *name, options->shares) {
		struct choices choices = choices_for(models[0]->build, name);
		int have = 0, read = 0;
		FOR (m, count) {
			have += graph_tensor(models[m]->graph, name) != NULL;
			read += declared(models[m], name, true) != NULL;
			FOR_ALL (k, models[m]->graph->inputs)
				choices_add(&choices, models[m]->graph->inputs.at[k]->name);
		}
		if (!read || have < 2)
			fail(models[0]->build, EXIT_USAGE, NULL,
			        "--share %s: should be an input of one graph and a tensor of another%s", name,
			        read ? "" : choices_text(&choices));
	}
}

/* What is not one has its graph's name before its own, but in a library that was made before. */
static void call_apart(struct model *const *models, int before, int count)
{
	struct clash {
		struct model *model;
		struct tensor *tensor;
	};
	VECTOR(struct clash) clashes = { 0 };
	struct arena *arena = models[0]->build->arena;
	FOR (m, count)
		FOR (i, models[m]->graph->inputs.count + models[m]->graph->outputs.count) {
			const struct graph *graph = models[m]->graph;
			bool input = i < graph->inputs.count, clash = false;
			struct tensor *tensor =
			        input ? graph->inputs.at[i] : graph->outputs.at[i - graph->inputs.count];
			FOR (other, (m < before ? before : count))
				clash |= other != m
				        && (declared(models[other], tensor->name, true)
				                || declared(models[other], tensor->name, false));
			if (clash && !(tensor->is_input && !input) && !is_one(models, count, tensor->name))
				push(arena, &clashes, (struct clash){ models[m], tensor });
		}
	FOR_ALL (i, clashes) {
		struct model *model = clashes.at[i].model;
		const char *was = clashes.at[i].tensor->name,
		           *made = arena_printf(arena, "%s.%s", graph_name(model), was);
		while (graph_tensor(model->graph, made))
			made = arena_printf(arena, "%s_", made);
		call(model, clashes.at[i].tensor, made);
		push(arena, &model->apart, (struct apart){ clashes.at[i].tensor->name, was });
	}
}

/* ---- what an input becomes ---- */
static void embed(struct model *model, size_t input, const struct tensor *constant, const char *where)
{
	struct tensor *tensor = model->graph->inputs.at[input];
	bool same = tensor->type == constant->type && (tensor->rank < 0 || tensor->rank == constant->rank);
	for (int d = 0; same && d < tensor->rank; d++)
		same = tensor->dims[d].extent < 0 || tensor->dims[d].extent == constant->dims[d].extent;
	if (!same)
		fail(model->build, EXIT_INVALID, model->graph->file,
		        "input %s is a constant of another type or shape in %s", tensor->name, where);
	tensor->rank = constant->rank;
	memcpy(tensor->dims, constant->dims, sizeof tensor->dims);
	tensor->data = constant->data;
	tensor->late = constant->late;
	tensor->bytes = constant->bytes;
	tensor->strings = constant->strings;
	tensor->is_input = false;
	tensor->is_initializer = true;
	memmove(model->graph->inputs.at + input, model->graph->inputs.at + input + 1,
	        (--model->graph->inputs.count - input) * sizeof *model->graph->inputs.at);
}

static bool is_lent(const struct model *from, const char *name)
{
	FOR_ALL (i, from->lent)
		if (from->lent.at[i] == name)
			return true;
	return false;
}

static void lend(struct model *from, struct tensor *tensor, struct model *to)
{
	push(to->build->arena, &to->borrows, (struct borrow){ tensor->name, from, false });
	if (tensor->is_output)
		return;
	tensor->is_output = true;
	push(from->build->arena, &from->graph->outputs, tensor);
	push(from->build->arena, &from->lent, tensor->name);
	push(from->build->arena, &from->choices,
	        (struct mode_choice){
	                .name = tensor->name, .mode = INGOT_MATERIALIZED, .outputs = true, .lent = true });
}

static void note(struct model *to, const char *name, const struct model *from, enum shared_as how)
{
	push(to->build->arena, &to->shared, (struct shared_tensor){ name, graph_name(from), how });
}

/* Of the graph that computes it, or has it as a constant: those before come first.  True where the input is none any
 * more. */
static bool share_input(struct model *const *models, int before, int count, int to, size_t input)
{
	const char *name = models[to]->graph->inputs.at[input]->name;
	const bool asked = is_asked(models[to]->options, name);
	FOR (from, (to < before ? before : count)) {
		struct tensor *tensor = from == to ? NULL : graph_tensor(models[from]->graph, name);
		if (tensor && asked && tensor->is_initializer && !tensor->is_input) {
			embed(models[to], input, tensor, models[from]->graph->file);
			note(models[to], name, models[from], SHARED_CONSTANT);
			return true;
		}
		if (!tensor || !tensor->producer || !(asked || tensor->is_output))
			continue;
		bool lent = !tensor->is_output || is_lent(models[from], name);
		if (lent)
			lend(models[from], tensor, models[to]);
		note(models[to], name, models[from], lent ? SHARED_LENT : SHARED_RESULT);
		return false;
	}
	FOR (from, to)
		if (declared(models[from], name, true)) {
			note(models[to], name, models[from], SHARED_INPUT);
			break;
		}
	return false;
}

void batch_share(struct model *const *models, int before, int count)
{
	check_shares(models, count);
	call_apart(models, before, count);
	FOR (to, count)
		for (size_t i = 0; i < models[to]->graph->inputs.count;)
			i += !share_input(models, before, count, to, i);
}
