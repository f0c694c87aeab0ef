/* batch.c: several graphs in one build: what an earlier graph left virtual a later one that shares it computes where it
 * reads it. */
#include "pipeline.h"
#include "backends/cpu/facts.h"
#include "emit/emit.h"
#include <strings.h>

enum {
	COST_MOST = 8,   /* of a value that is computed again, in vector instructions: a store and a load cost 2, and a
	                  * buffer that lives on its place */
	DEPTH_MOST = 16, /* definitions on the way to it */
};

/* ---- virtual tensors ---- */
struct taking {
	const struct model *from;
	int depth, cost;
	bool can;
};

/* The graph's name of an output; NULL where it is none, or only lent. */
static const char *lasting_name(const struct model *from, const struct definition *d)
{
	const struct program *program = from->program;
	FOR_ALL (i, program->outputs) {
		if (program->outputs.at[i] != d)
			continue;
		FOR_ALL (k, from->lent)
			if (!strcmp(from->lent.at[k], program->output_names.at[i]))
				return NULL;
		return program->output_names.at[i];
	}
	return NULL;
}

static bool is_leaf(const struct model *from, const struct definition *d)
{
	return d->source != SOURCE_COMPUTED || lasting_name(from, d);
}

static void weigh(struct taking *, const struct definition *);
static void weigh_load(void *user, const struct expr *load)
{
	struct taking *t = user;
	if (t->can && !is_leaf(t->from, load->of))
		weigh(t, load->of);
}

/* Whether the value can be computed from what outlives a run, and what that costs. */
static void weigh(struct taking *t, const struct definition *d)
{
	t->cost += expr_cost(d->body);
	t->can = t->can && d->reduce == REDUCE_NONE && !program_rewrite(t->from->program, d) && ++t->depth <= DEPTH_MOST
	        && t->cost <= COST_MOST;
	if (t->can)
		expr_loads(d->body, weigh_load, t);
}

static struct definition *known_input(struct program *program, const char *name)
{
	FOR_ALL (i, program->inputs)
		if (!strcmp(program->inputs.at[i]->name, name))
			return program->inputs.at[i];
	return NULL;
}

struct finding {
	struct arena *arena;
	VECTOR(const struct definition *) found;
};
static void find_load(void *user, const struct expr *load)
{
	struct finding *f = user;
	FOR_ALL (i, f->found)
		if (f->found.at[i] == load->of)
			return;
	push(f->arena, &f->found, load->of);
}

struct becoming {
	const struct definition *old;
	struct definition *made;
};
static struct definition *becomes(const void *user, struct definition *of)
{
	const struct becoming *b = user;
	return of == b->old ? b->made : of;
}

/* The definition of another program, in this one: what it reads is taken along, up to what outlives a run. */
static struct definition *take(struct program *to, const struct model *from, const struct definition *d)
{
	struct definition *made;
	for (size_t i = 0; d->source == SOURCE_CONSTANT && i < to->all.count; i++)
		if (to->all.at[i]->source == SOURCE_CONSTANT && to->all.at[i]->data == d->data
		        && to->all.at[i]->type == d->type && to->all.at[i]->rank == d->rank
		        && !memcmp(to->all.at[i]->extents, d->extents, (size_t)d->rank * sizeof *d->extents))
			return to->all.at[i];
	if (d->source == SOURCE_CONSTANT)
		return program_constant(to, (struct definition *)(uintptr_t)d);
	if (is_leaf(from, d)) {
		const char *name = d->source == SOURCE_INPUT ? d->name : lasting_name(from, d);
		made = known_input(to, name);
		return made ? made : define_input(to, name, d->type, d->rank, d->extents);
	}
	struct finding reads = { .arena = to->arena };
	const struct expr *body = d->body;
	expr_loads(body, find_load, &reads);
	FOR_ALL (i, reads.found) {
		const struct becoming becoming = { reads.found.at[i], take(to, from, reads.found.at[i]) };
		body = expr_redirect(to->arena, body, becomes, &becoming);
	}
	return define_map(to, d->name, d->rank, d->extents, body);
}

/* What was appended moves up behind the inputs and constants: it stands before its readers then. */
static void rotate(struct program *program, size_t old)
{
	struct definition **order = arena_new_array(program->arena, struct definition *, program->all.count + 1);
	size_t count = 0;
	FOR (i, old)
		if (program->all.at[i]->source != SOURCE_COMPUTED)
			order[count++] = program->all.at[i];
	for (size_t i = old; i < program->all.count; i++)
		order[count++] = program->all.at[i];
	FOR (i, old)
		if (program->all.at[i]->source == SOURCE_COMPUTED)
			order[count++] = program->all.at[i];
	memcpy(program->all.at, order, program->all.count * sizeof *order);
	program_number(program);
}

static void forget_input(struct model *model, struct definition *input)
{
	struct program *program = model->program;
	struct graph *graph = model->graph;
	size_t i = 0;
	while (program->inputs.at[i] != input)
		i++;
	memmove(program->inputs.at + i, program->inputs.at + i + 1,
	        (--program->inputs.count - i) * sizeof *program->inputs.at);
	memmove(graph->inputs.at + i, graph->inputs.at + i + 1, (--graph->inputs.count - i) * sizeof *graph->inputs.at);
	i = 0;
	while (program->all.at[i] != input)
		i++;
	memmove(program->all.at + i, program->all.at + i + 1, (--program->all.count - i) * sizeof *program->all.at);
	for (; i < program->all.count; i++)
		program->all.at[i]->number = (int)i;
}

/* Inputs that came along are the graph's as well. */
static void add_inputs(struct model *model, const struct model *from, size_t known)
{
	for (size_t i = known; i < model->program->inputs.count; i++) {
		struct tensor *tensor = graph_tensor(from->graph, model->program->inputs.at[i]->name);
		push(model->build->arena, &model->graph->inputs, tensor);
	}
}

struct redirecting {
	struct arena *arena;
	const struct becoming *becoming;
};
static const struct expr *redirect(void *user, const struct expr *expr)
{
	const struct redirecting *r = user;
	return expr_redirect(r->arena, expr, becomes, r->becoming);
}

static void inline_borrow(struct model *model, struct borrow *borrow)
{
	struct program *program = model->program;
	const struct program *from = borrow->from->program;
	struct definition *input = from ? known_input(program, borrow->name) : NULL; /* else it comes later */
	const struct definition *root = NULL;
	for (size_t i = 0; input && i < from->outputs.count; i++)
		if (!strcmp(from->output_names.at[i], borrow->name))
			root = from->outputs.at[i];
	struct taking taking = { .from = borrow->from, .can = root && input };
	if (!taking.can || root->type != input->type || root->rank != input->rank
	        || memcmp(root->extents, input->extents, (size_t)root->rank * sizeof *root->extents))
		return;
	weigh(&taking, root);
	if (!taking.can)
		return;
	size_t old = program->all.count, inputs = program->inputs.count;
	struct definition *made = take(program, borrow->from, root);
	add_inputs(model, borrow->from, inputs);
	rotate(program, old);
	const struct becoming becoming = { input, made };
	struct redirecting redirecting = { program->arena, &becoming };
	FOR_EACH (struct definition *reader, program->all) {
		if (reader->source != SOURCE_COMPUTED || reader == made)
			continue;
		definition_map(reader, redirect, &redirecting);
	}
	forget_input(model, input);
	made->name = input->name; /* its own again: the input had taken it */
	borrow->inlined = true;
}

void batch_inline(struct model *model)
{
	for (size_t i = 0; i < model->borrows.count && !model->options->apart; i++)
		inline_borrow(model, &model->borrows.at[i]);
}

static bool is_borrowed(struct model *const *models, int count, const struct model *from, const char *name)
{
	FOR (m, count)
		FOR_EACH_AT (const struct borrow *borrow, models[m]->borrows) {
			if (borrow->from == from && borrow->name == name && !borrow->inlined)
				return true;
		}
	return false;
}

static void forget_output(struct model *model, size_t i)
{
	struct program *program = model->program;
	size_t after = program->outputs.count - i - 1;
	program->outputs.at[i]->port.is_output = false;
	memmove(program->outputs.at + i, program->outputs.at + i + 1, after * sizeof *program->outputs.at);
	memmove(program->output_names.at + i, program->output_names.at + i + 1,
	        after * sizeof *program->output_names.at);
	memmove(model->output_names + i, model->output_names + i + 1, after * sizeof *model->output_names);
	memmove(model->graph->outputs.at + i, model->graph->outputs.at + i + 1,
	        (model->graph->outputs.count - i - 1) * sizeof *model->graph->outputs.at);
	program->outputs.count--;
	program->output_names.count--;
	model->graph->outputs.count--;
}

void batch_settle(struct model *const *models, int count)
{
	FOR (m, count) {
		struct model *model = models[m];
		FOR_ALL (k, model->lent)
			for (size_t i = 0; i < model->program->outputs.count; i++)
				if (!strcmp(model->output_names[i], model->lent.at[k])
				        && !is_borrowed(models, count, model, model->lent.at[k]))
					forget_output(model, i--);
		program_remove_dead(model->program);
		program_check(model->program);
	}
}

/* ---- all of it ---- */
/* A graph is called as its argument says, NAME=FILE, else as its file; those of one name get numbers.  Others of the
 * `count` may be called already. */
static void call_graph(struct build *build, struct options *options, int count, int m, const char *said)
{
	const char *stem = said ? said : model_stem(build->arena, options[m].model), *name = stem;
	for (int n = 2, k = 0; k < count; k++) {
		if (k == m || !options[k].routine || strcasecmp(options[k].routine, name))
			continue;
		if (said)
			fail(build, EXIT_USAGE, NULL, "%s=%s: another graph is called %s", said, options[m].model,
			        options[k].routine);
		name = arena_printf(build->arena, "%s_%d", stem, n++);
		k = -1;
	}
	options[m].routine = name;
}

/* One model is the library; several are its graphs, each with the library's name before its own. */
static void name_models(struct build *build, struct options *options, const char *const *said, int count)
{
	if (count == 1 && said[0] && options->name)
		fail(build, EXIT_USAGE, NULL, "%s=%s: the library of one model has one name, and --name says %s",
		        said[0], options->model, options->name);
	if (count == 1) {
		if (said[0])
			emit_name_check(build, options->name = said[0]);
		return;
	}
	if (!options->name)
		fail(build, EXIT_USAGE, NULL, "several models need --name: that of the library");
	const char *library = options->name, **names = arena_new_array(build->arena, const char *, (size_t)count);
	FOR (pass, 2) /* what is said comes first */
		FOR (m, count)
			if (pass == !said[m])
				call_graph(build, options, count, m, said[m]);
	FOR (m, count)
		names[m] = options[m].routine;
	FOR (m, count)
		options[m].name = emit_part_name(build->arena, library, names[m], names, count);
}

/* With one graph, reading it has said so already. */
static void check_names(
        struct build *build, const struct options *options, struct model *const *models, int before, int count)
{
	FOR_ALL (i, options->modes) {
		struct choices choices = choices_for(build, options->modes.at[i].name);
		bool known = false;
		for (int m = before; m < count; m++) {
			FOR_ALL (k, models[m]->choices)
				known |= models[m]->choices.at[k].name == options->modes.at[i].name;
			model_computed(models[m], &choices);
		}
		if (!known)
			fail(build, EXIT_USAGE, NULL, "--mode %s: no graph computes a tensor of that name%s",
			        options->modes.at[i].name, choices_text(&choices));
	}
	FOR_ALL (i, options->dims) {
		struct choices choices = choices_for(build, options->dims.at[i].name);
		bool known = false;
		FOR (m, count) {
			known |= graph_has_dim(models[m]->graph, options->dims.at[i].name);
			graph_dims(models[m]->graph, &choices);
		}
		if (!known)
			fail(build, EXIT_USAGE, NULL, "--dim %s: no graph has an input with a dim of that name%s",
			        options->dims.at[i].name, choices_text(&choices));
	}
}

static void check_renames(struct build *build, const struct options *options, struct model *const *models, int count)
{
	FOR_EACH_AT (const struct renaming *renaming, options->renames) {
		struct choices choices = choices_for(build, renaming->old);
		for (int m = 0; !renaming->used && m < count; m++)
			FOR_ALL (k, models[m]->graph->tensors)
				choices_add(&choices, models[m]->graph->tensors.at[k]->name);
		if (!renaming->used)
			fail(build, EXIT_USAGE, NULL, "--rename %s=%s: no graph has a tensor of that name%s",
			        renaming->old, renaming->made, choices_text(&choices));
	}
}

static void dump(struct model *model, const char *stage)
{
	struct text text;
	text_init(&text, model->build);
	model_print(model, stage, &text);
	push(model->build->arena, &model->dumps,
	        (struct dump){ stage, arena_copy(model->build->arena, text.count ? text.at : "", text.count) });
	text_release(&text);
}

struct part *batch_lower(struct build *build, const struct options *common, const char *const *files, int count)
{
	int before = (int)common->after.count, all = before + count;
	struct options *options = arena_new_array(build->arena, struct options, (size_t)all);
	struct model **models = arena_new_array(build->arena, struct model *, (size_t)all);
	struct part *parts = arena_new_array(build->arena, struct part, (size_t)count);
	const char **said = arena_new_array(build->arena, const char *, (size_t)all);
	FOR (m, all) {
		options[m] = *common;
		options[m].model =
		        model_argument(build->arena, m < before ? common->after.at[m] : files[m - before], &said[m]);
		options[m].some = all > 1 || common->cuts.count;
		if (m < before) {
			options[m].modes.count = 0; /* those are of what is made now */
			call_graph(build, options, before, m, said[m]);
		}
	}
	name_models(build, options + before, said + before, count);
	FOR (m, all)
		models[m] = model_read(build, &options[m]);
	check_renames(build, common, models, all);
	check_names(build, common, models, before, all);
	if (all > 1)
		batch_share(models, before, all);
	else if (common->shares.count)
		fail(build, EXIT_USAGE, NULL, "--share %s: is for several models in one library", *common->shares.at);
	FOR (m, all)
		model_prepare(models[m]);
	if (common->cuts.count)
		model_cut(models[0]);
	FOR (m, all)
		model_define(models[m]);
	batch_settle(models, all);
	models += before;
	FOR (m, count) {
		if (common->dump) {
			dump(models[m], "graph");
			dump(models[m], "definitions");
		}
		model_lower(models[m]);
		if (common->dump) {
			dump(models[m], "kernels");
			dump(models[m], "loops");
			dump(models[m], "plan");
		}
		parts[m] = model_part(models[m]);
	}
	return parts;
}

/* Where CPUs give other bits each, the library's text has all of theirs. */
static void tell_numbers(struct arena *arena, struct part *parts, int count)
{
	const char *all = parts->numbers;
	for (int p = 1; p < count; p++) {
		bool told = false;
		FOR (before, p)
			told |= !strcmp(parts[before].numbers, parts[p].numbers);
		all = told ? all : arena_printf(arena, "%s | %s", all, parts[p].numbers);
	}
	FOR (p, count)
		parts[p].numbers = all;
}

/* What tells a CPU from the others of the library: its row, or, where that is there twice, what it has besides, too. */
static const char *part_of_row(struct arena *arena, const struct target *const *targets, int count, int t)
{
	const char *level = facts_level_of(targets[t]);
	bool twice = false;
	FOR (i, count)
		twice |= i != t && !strcmp(targets[i]->name, targets[t]->name);
	return twice && level ? arena_printf(arena, "%s_%s", targets[t]->name, level) : targets[t]->name;
}

struct part *cpus_lower(struct build *build, const struct options *common, const char *file,
        const struct target *const *targets, int count)
{
	struct options *options = arena_new_array(build->arena, struct options, (size_t)count);
	struct part *parts = arena_new_array(build->arena, struct part, (size_t)count);
	struct model *model = NULL;
	const char *said;
	file = model_argument(build->arena, file, &said);
	if (common->shares.count)
		fail(build, EXIT_USAGE, NULL, "--share %s: is for several models in one library", *common->shares.at);
	FOR (t, count) {
		options[t] = *common;
		options[t].model = file;
		name_models(build, &options[t], &said, 1);
		options[t].target =
		        common->optimise == OPTIMISE_SIZE ? target_small(build->arena, targets[t]) : targets[t];
		if (!model) {
			model = model_read(build, &options[t]);
			check_renames(build, common, &model, 1);
			model_prepare(model);
			model_define(model);
		}
		model->options = &options[t];
		model_lower(model);
		parts[t] = model_part(model);
		parts[t].target = options[t].target;
		parts[t].routine = model->name;
		parts[t].name = arena_printf(build->arena, "%s_%s", model->name,
		        emit_name(build->arena, part_of_row(build->arena, targets, count, t)));
	}
	tell_numbers(build->arena, parts, count);
	return parts;
}
