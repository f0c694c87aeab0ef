/* module.c: the parts of a package -> the values of its module descriptor (runtime/include/ingot/abi.h): nodes by name,
 * tensors, kernels, routines; and the runtime's sources beside it. */
#include "emit/package.h"
#include "base/embedded.h"
#include "ingot/abi.h"
#include "ingot/mode.h"
#include <ctype.h>
#include <inttypes.h>

struct module_node {
	const char *name;
	const struct definition *of;
	uint32_t flags;
	int64_t bytes, offset;
	int writer, reader;     /* the first part that does; -1: none */
	bool merged, on_device; /* read from the merge buffer; the user wants no host array */
};

struct describing {
	struct writing *w;
	struct arena *arena;
	VECTOR(struct module_node) nodes;
	struct value tensors, kernels, routines, symbols;
	int kernel_count; /* of all parts so far */
};

/* ---- C text ---- */
static struct value literal(struct arena *arena, const char *text) { return value_string(emit_literal(arena, text)); }

static struct value dtype_word(struct arena *arena, enum dtype type)
{
	char *word = arena_printf(arena, "INGOT_%s", ingot_dtype_name((enum ingot_dtype)type));
	for (char *p = word; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return value_string(word);
}

/* With the dims that callers know, where those are of the same elements: bytes that pack others are bytes. */
static struct definition as_callers_know(const struct definition *of)
{
	struct definition as = *of;
	const struct shown shown = definition_shown(of);
	if (shown.type == of->type) {
		as.rank = shown.rank;
		memcpy(as.extents, shown.extents, sizeof as.extents);
	}
	return as;
}

static struct value place_value(struct arena *arena, const char *source, int64_t index, int64_t offset)
{
	return value_dict_of(arena, "source", source, "index", index, "offset", offset);
}

/* ---- nodes: what outlives a run, once for all parts that name it ---- */
static struct module_node *node_find(struct describing *d, const char *name)
{
	FOR_ALL (i, d->nodes)
		if (!strcmp(d->nodes.at[i].name, name))
			return &d->nodes.at[i];
	return NULL;
}

static void node_same(
        struct describing *d, const struct module_node *node, const struct definition *other, const char *file)
{
	const struct definition *of = node->of;
	if (!definition_same_shape(of, other))
		fail(d->w->emit->build, EXIT_INVALID, node->name,
		        "is %s of %d dims elsewhere; in %s it has another type or shape: --rename makes it another "
		        "tensor",
		        dtypes[of->type].text, of->rank, file);
}

static void add_node(struct describing *d, const struct definition *of, const char *name, bool written)
{
	struct module_node *known = node_find(d, name);
	if (known)
		node_same(d, known, of, d->w->of->model);
	else {
		push(d->arena, &d->nodes,
		        (struct module_node){
		                .name = name, .of = of, .bytes = scheduled(of)->bytes, .writer = -1, .reader = -1 });
		known = &d->nodes.at[d->nodes.count - 1];
	}
	for (size_t i = 0; written && i < d->w->lowered->choice_count; i++)
		known->on_device |= d->w->lowered->choices[i].outputs
		        && d->w->lowered->choices[i].mode == INGOT_ON_DEVICE
		        && !strcmp(d->w->lowered->choices[i].name, name);
	int *who = written ? &known->writer : &known->reader;
	if (*who < 0)
		*who = d->w->part;
	else if (written)
		fail(d->w->emit->build, EXIT_INVALID, name,
		        "is written by %s and by %s: --rename makes it another tensor",
		        d->w->package->parts[*who].model, d->w->of->model);
}

static struct module_node *node_needed(struct describing *d, const char *option, const char *name)
{
	struct module_node *node = node_find(d, name);
	struct choices choices = choices_for(d->w->emit->build, name);
	for (size_t i = 0; !node && i < d->nodes.count; i++)
		choices_add(&choices, d->nodes.at[i].name);
	if (!node)
		fail(d->w->emit->build, EXIT_USAGE, NULL, "--%s %s: no graph has an input or output of that name%s",
		        option, name, choices_text(&choices));
	return node;
}

static void add_states(struct describing *d)
{
	FOR (i, d->w->package->state_count) {
		const struct state_pair *pair = d->w->package->states + i;
		struct module_node *input = node_needed(d, "state", pair->input),
		                   *output = node_needed(d, "state", pair->output);
		if (input->reader < 0 || input->writer >= 0 || output->writer < 0)
			fail(d->w->emit->build, EXIT_USAGE, NULL, "--state %s=%s: should be an input and an output",
			        pair->input, pair->output);
		node_same(d, input, output->of, d->w->package->parts[output->writer].model);
		input->flags |= INGOT_NODE_STATE;
		input->writer = output->writer;
	}
}

static void add_merges(struct describing *d)
{
	const struct package *package = d->w->package;
	FOR (i, package->merge_count) {
		struct module_node *node = node_needed(d, "merge", package->merges[i]);
		if (node->reader < 0 || node->flags & INGOT_NODE_STATE)
			fail(d->w->emit->build, EXIT_USAGE, NULL, "--merge %s: should be an input, and no state",
			        node->name);
		node->merged = true;
	}
}

static void add_nodes(struct describing *d)
{
	struct writing *w = d->w;
	FOR (p, w->package->part_count) {
		package_part(w, p);
		FOR_ALL (i, w->lowered->program->inputs)
			add_node(d, w->lowered->program->inputs.at[i], w->of->input_names[i], false);
		FOR_ALL (i, w->lowered->program->outputs)
			add_node(d, w->lowered->program->outputs.at[i], w->of->output_names[i], true);
	}
	add_states(d);
	add_merges(d);
	/* What one graph writes and another reads stays on the device; the host gives and takes the rest. */
	FOR_EACH_AT (struct module_node *node, d->nodes) {
		if (node->writer >= 0 && !(node->flags & INGOT_NODE_STATE)
		        && !w->emit->target->options.log) /* a log shows the old value: zero */
			node->flags |= INGOT_NODE_CLEARED;
		if ((node->writer < 0 || node->reader < 0) && !(node->flags & INGOT_NODE_STATE) && !node->on_device
		        && !w->package->no_hosted)
			node->flags |= INGOT_NODE_HOSTED;
	}
	FOR_EACH_AT (const struct blob_item *item, w->items) {
		const char *name = item->item->of->name;
		if (node_find(d, name))
			name = arena_printf(d->arena, "%s.%s", w->package->parts[item->part].name, name);
		for (int n = 2; node_find(d, name); n++)
			name = arena_printf(d->arena, "%s_%d", name, n);
		push(d->arena, &d->nodes,
		        (struct module_node){ .name = name,
		                .of = item->item->of,
		                .flags = INGOT_NODE_CONSTANT,
		                .bytes = item->bytes,
		                .offset = item->offset,
		                .writer = -1,
		                .reader = -1 });
	}
}

static struct value nodes_value(struct describing *d)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} words[] = {
		{ INGOT_NODE_CONSTANT, "INGOT_NODE_CONSTANT" },
		{ INGOT_NODE_STATE, "INGOT_NODE_STATE" },
		{ INGOT_NODE_CLEARED, "INGOT_NODE_CLEARED" },
		{ INGOT_NODE_HOSTED, "INGOT_NODE_HOSTED" },
	};
	struct value list = value_list(d->arena);
	FOR_EACH_AT (const struct module_node *node, d->nodes) {
		struct value value = value_dict(d->arena);
		const char *flags = "";
		FOR (k, COUNT(words))
			if (node->flags & words[k].bit)
				flags = arena_printf(d->arena, "%s%s%s", flags, *flags ? " | " : "", words[k].word);
		value_set(value, "name", literal(d->arena, node->name), "dtype", dtype_word(d->arena, node->of->type),
		        "flags", *flags ? flags : "0");
		const struct definition as = as_callers_know(node->of);
		value_set(value, "dims", value_numbers(d->arena, as.extents, as.rank), "bytes", node->bytes, "offset",
		        node->offset);
		value_list_add(list, value);
	}
	return list;
}

static int64_t node_number(struct describing *d, const char *name) { return node_find(d, name) - d->nodes.at; }

/* ---- a part: its routine, its kernels, its tensors ---- */
/* An argument of the current part's kernels. */
static struct value argument_at(struct describing *d, struct place place)
{
	const struct writing *w = d->w;
	if (place.kind == PLACE_INPUT && node_find(d, w->of->input_names[place.at])->merged)
		return place_value(d->arena, "INGOT_FROM_MERGE", node_number(d, w->of->input_names[place.at]), 0);
	switch (place.kind) {
	case PLACE_WEIGHTS: return place_value(d->arena, "INGOT_FROM_CONSTANTS", 0, place.at);
	case PLACE_WORKSPACE:
		return place_value(d->arena, "INGOT_FROM_WORKSPACE", place.pool - w->lowered->workspace_pools.at,
		        place.at - place.pool->at);
	case PLACE_INPUT:
		return place_value(d->arena, "INGOT_FROM_NODE", node_number(d, w->of->input_names[place.at]), 0);
	default: return place_value(d->arena, "INGOT_FROM_NODE", node_number(d, w->of->output_names[place.at]), 0);
	}
}

static struct value argument_of(struct describing *d, const struct definition *of)
{
	return argument_at(d, package_argument(d->w, of));
}

static const struct module_node *node_of(struct describing *d, const struct definition *of)
{
	struct place place = package_argument(d->w, of);
	return node_find(
	        d, place.kind == PLACE_INPUT ? d->w->of->input_names[place.at] : d->w->of->output_names[place.at]);
}

static uint32_t node_mode(const struct module_node *node)
{
	if (!(node->flags & INGOT_NODE_HOSTED))
		return INGOT_ON_DEVICE;
	return node->writer >= 0 ? INGOT_HOSTED_CHANGED : INGOT_HOSTED_VOLATILE;
}

static void add_tensor(struct describing *d, const struct definition *of)
{
	static const uint32_t modes[] = { [MODE_VIRTUAL] = INGOT_VIRTUAL,
		[MODE_LOCAL] = INGOT_LOCAL,
		[MODE_DEVICE] = INGOT_LOCAL,
		[MODE_CONSTANT] = INGOT_HOSTED_CONSTANT };
	const struct scheduled *p = scheduled(of);
	const struct module_node *node = p->mode == MODE_HOSTED ? node_of(d, of) : NULL;
	struct value value = value_dict(d->arena);
	bool memory = p->mode == MODE_DEVICE || p->mode == MODE_HOSTED || p->mode == MODE_CONSTANT;
	value_set(value, "name", literal(d->arena, of->name), "routine", d->w->part, "mode",
	        node ? node_mode(node) : modes[p->mode]);
	/* Scratch is the default of what is not virtual; the size says whether it may lie on a stack. */
	value_set(value, "provenance",
	        node && node->flags & INGOT_NODE_STATE ? INGOT_BY_READ_FIRST
	                : p->mode == MODE_LOCAL        ? p->provenance * 1000 + INGOT_BY_DEFAULT_LOCAL
	                : p->mode == MODE_DEVICE       ? p->provenance * 1000
	                        + (p->bytes > INGOT_LOCAL_BYTES ? INGOT_BY_LOCAL_SIZE : INGOT_BY_DEFAULT_LOCAL)
	                                         : p->provenance,
	        "dtype", dtype_word(d->arena, of->type));
	struct scheduled as = { .of = as_callers_know(of) };
	layout_row_major(&as.of);
	value_set(value, "extents", value_numbers(d->arena, as.of.extents, as.of.rank), "strides",
	        memory ? value_numbers(d->arena, of->port.shown ? as.stride : p->stride, as.of.rank) : value_none(),
	        "at", memory ? argument_of(d, of) : place_value(d->arena, "INGOT_FROM_KERNEL", 0, 0), "bytes",
	        p->mode == MODE_VIRTUAL ? 0 : p->bytes, "kernel", p->kernel ? p->kernel->number : -1);
	value_list_add(d->tensors, value);
}

/* A constant that no kernel reads has no place. */
static bool is_there(const struct definition *of)
{
	return !(scheduled(of)->mode == MODE_CONSTANT && scheduled(of)->offset < 0)
	        && !(scheduled(of)->mode == MODE_DEVICE && scheduled(of)->first < 0);
}

/* The nodes of the inputs, but for what comes from the merge buffer; or of the outputs. */
static struct value node_list(struct describing *d, const char *const *names, size_t count)
{
	struct value list = value_list(d->arena);
	FOR (i, count)
		if (!node_find(d, names[i])->merged)
			value_list_add(list, value_int(node_number(d, names[i])));
	return list;
}

/* The number of the node that the current part reads from the merge buffer; -1: none. */
static int64_t merge_input(struct describing *d)
{
	const char *first = NULL;
	FOR_ALL (i, d->w->lowered->program->inputs) {
		const char *name = d->w->of->input_names[i];
		if (!node_find(d, name)->merged)
			continue;
		if (first)
			fail(d->w->emit->build, EXIT_INVALID, d->w->of->model,
			        "reads %s and %s from the merge buffer, which holds one tensor at a time", first, name);
		first = name;
	}
	return first ? node_number(d, first) : -1;
}

/* What the current part writes back: the outputs get the states' nodes besides, and {to, from, bytes} of each is
 * listed. */
static struct value states_of(struct describing *d, struct value outputs)
{
	struct value list = value_list(d->arena);
	FOR (i, d->w->package->state_count) {
		const struct state_pair *pair = d->w->package->states + i;
		const struct module_node *node = node_find(d, pair->output);
		if (node->writer != d->w->part)
			continue;
		struct value state = value_dict_of(d->arena, "to", node_number(d, pair->input), "from",
		        node_number(d, pair->output), "bytes", node->bytes);
		value_list_add(list, state);
		value_list_add(outputs, value_dict_get(state, "to"));
	}
	return list;
}

struct step {
	const char *kind;
	int64_t kernel, count, groups, threads, warps, bytes;
};
/* Its arguments are listed next. */
static void add_step(struct describing *d, struct value steps, struct value arguments, struct step one)
{
	value_list_add(steps,
	        value_dict_of(d->arena, "kind", one.kind, "kernel", one.kernel, "first", value_count(arguments),
	                "count", one.count, "groups", one.groups, "threads", one.threads, "warps", one.warps, "bytes",
	                one.bytes));
}

static void add_kernel(struct describing *d, const struct kernel *kernel, struct value steps, struct value arguments)
{
	struct value value = value_dict(d->arena), params = value_list(d->arena);
	int64_t parts = d->w->scratch ? 1 : kernel->parts;
	add_step(d, steps, arguments,
	        (struct step){
	                "KERNEL", d->kernel_count++, (int64_t)kernel->params.count + d->w->scratch, parts, 1, 1, 0 });
	FOR_EACH_AT (const struct param *param, kernel->params) {
		value_list_add(params,
		        value_dict_of(d->arena, "c",
		                value_printf(
		                        d->arena, "%s%s *", param->written ? "" : "const ", dtypes[param->of->type].c),
		                "name", param->name, "dtype", dtype_word(d->arena, param->of->type)));
		value_list_add(arguments, argument_of(d, param->of));
	}
	value_set(value, "symbol", emit_symbol(d->w->emit, kernel), "own", value_bool(!kernel->same));
	/* Its own name, also where it runs another kernel's code. */
	value_set(value, "name", literal(d->arena, arena_printf(d->arena, "%s_%s", d->w->of->name, kernel->name)),
	        "params", params, "part", d->w->part, "extra", value_int(d->w->scratch), "shared", 0);
	if (d->w->scratch)
		value_list_add(arguments,
		        place_value(d->arena, "INGOT_FROM_WORKSPACE", 0,
		                (d->w->lowered->workspace_pools.at[0].bytes + 63) & ~(int64_t)63));
	value_set(value, "scalar", value_bool(false), "blocks", kernel->blocks, "parts", parts, "check", value_none());
	int check = kernel_check(d->w->lowered, kernel);
	if (check >= 0) {
		struct value one = value_dict(d->arena);
		FOR_ALL (p, kernel->params)
			if (kernel->params.at[p].of == kernel->root)
				value_set(one, "name", kernel->params.at[p].name);
		value_set(one, "code", package_first_check(d->w->package, d->w->part) + check);
		value_set(value, "check", one);
	}
	value_list_add(d->kernels, value);
}

/* Of a GPU: the launches as steps, loops around those of their bodies; checks when all have run. */
static void add_launches(struct describing *d, struct value routine, struct value steps, struct value arguments)
{
	const struct program *program = d->w->lowered->program;
	struct launch_list launches = package_launches(d->w);
	struct value moved = value_list(d->arena);
	int depth = 0;
	FOR_ALL (k, launches.rows) {
		const struct launch *row = &launches.rows.at[k];
		struct value value = value_dict(d->arena), params = value_list(d->arena);
		if (row->loop)
			add_step(d, steps, arguments,
			        (struct step){ row->loop > 0 ? "LOOP" : "ROUND", row->other, row->count, 0, 0, 0,
			                row->rounds });
		else
			add_step(d, steps, arguments,
			        (struct step){ "KERNEL", d->kernel_count++, row->count, row->blocks,
			                d->w->emit->target->lanes, row->warps, 0 });
		FOR (i, row->count) {
			struct value one =
			        value_dict_of(d->arena, "dtype", dtype_word(d->arena, row->arguments[i].type));
			value_list_add(params, one);
			value_list_add(arguments, argument_at(d, row->arguments[i].place));
			value_list_add(moved, value_int(launch_move(&launches, &row->arguments[i])));
		}
		depth += row->loop > 0 ? 1 : row->loop < 0 ? -1 : 0;
		if (row->loop)
			continue;
		/* Its own name, also where it runs another kernel's code; inside of loops there are such of one name.
		 */
		const char *name =
		        arena_printf(d->arena, "%s_%s", d->w->of->name, row->kernel ? row->kernel->name : "copy");
		value_set(value, "name",
		        literal(d->arena, row->kernel && !depth ? name : arena_printf(d->arena, "%s_%zu", name, k)),
		        "symbol", row->symbol, "params", params, "extra", 0, "shared", row->shared);
		value_list_add(d->kernels, value);
	}
	FOR_ALL (i, program->checks) {
		add_step(d, steps, arguments,
		        (struct step){
		                "CHECK", package_first_check(d->w->package, d->w->part) + (int64_t)i, 1, 0, 0, 0, 0 });
		value_list_add(arguments, argument_of(d, program->checks.at[i]));
	}
	value_set(routine, "moved", launches.depth ? moved : value_list(d->arena), "moves",
	        launch_moves(d->w, &launches));
}

static void add_routine(struct describing *d)
{
	struct writing *w = d->w;
	const struct program *program = w->lowered->program;
	struct value routine = value_dict_of(d->arena, "moved", value_list(d->arena)), arguments = value_list(d->arena),
	             steps = value_list(d->arena);
	if (w->emit->target->lanes_are_threads)
		add_launches(d, routine, steps, arguments);
	else if (!w->package->steps) {
		FOR_ALL (i, program->inputs)
			value_list_add(arguments, argument_of(d, program->inputs.at[i]));
		FOR_ALL (i, program->outputs)
			value_list_add(arguments, argument_of(d, program->outputs.at[i]));
		value_list_add(arguments, place_value(d->arena, "INGOT_FROM_WORKSPACE", 0, 0));
		if (w->weights_bytes)
			value_list_add(arguments, place_value(d->arena, "INGOT_FROM_CONSTANTS", 0, 0));
	} else
		FOR_ALL (k, w->lowered->kernels)
			add_kernel(d, w->lowered->kernels.at[k], steps, arguments);
	struct value outputs = node_list(d, w->of->output_names, program->outputs.count),
	             states = states_of(d, outputs);
	FOR (i, value_count(states)) {
		struct value state = value_at(states, i);
		value_set(state, "first", value_count(arguments));
		value_list_add(
		        arguments, place_value(d->arena, "INGOT_FROM_NODE", value_dict_get(state, "to").integer, 0));
		value_list_add(
		        arguments, place_value(d->arena, "INGOT_FROM_NODE", value_dict_get(state, "from").integer, 0));
	}
	value_set(routine, "states", states, "merge", merge_input(d), "name", literal(d->arena, w->of->routine),
	        "prefix", w->of->name, "checks", package_checks(w), "inputs",
	        node_list(d, w->of->input_names, program->inputs.count), "outputs", outputs, "ins",
	        value_dict_get(w->globals, "inputs"), "outs", value_dict_get(w->globals, "outputs"), "arguments",
	        arguments, "steps", steps);
	struct value moved = value_dict_get(routine, "moved"); /* what stands behind does not */
	while (value_count(moved) && value_count(moved) < value_count(arguments))
		value_list_add(moved, value_int(0));
	struct value more = value_list(d->arena);
	for (size_t i = 1; i < w->lowered->workspace_pools.count; i++)
		value_list_add(more, value_int(w->lowered->workspace_pools.at[i].bytes));
	if (value_count(more) && !w->package->steps)
		fail(w->emit->build, EXIT_LIMIT, w->of->model,
		        "its workspace has %" PRId64 " bytes, and one call needs it in one pool: "
		        "--schedule steps, or --large-models",
		        w->lowered->workspace_bytes);
	value_set(routine, "more_workspaces", more, "workspace_bytes", w->lowered->workspace_pools.at[0].bytes,
	        "workspace_align", w->lowered->workspace_align);
	value_list_add(d->routines, routine);
}

void package_describe(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	struct describing d = { .w = w,
		.arena = arena,
		.tensors = value_list(arena),
		.kernels = value_list(arena),
		.routines = value_list(arena) };
	add_nodes(&d);
	FOR (p, w->package->part_count) {
		package_part(w, p);
		FOR_ALL (i, w->lowered->program->all)
			if (is_there(w->lowered->program->all.at[i]))
				add_tensor(&d, w->lowered->program->all.at[i]);
		add_routine(&d);
	}
	value_set(w->globals, "jit", value_bool(false), "library_literal", literal(arena, w->package->name), "nodes",
	        nodes_value(&d), "tensors", d.tensors, "kernels", d.kernels, "routines", d.routines, "steps",
	        w->package->steps, "hash", arena_printf(arena, "0x%016" PRIx64, w->blob_hash));
}

void package_module(struct writing *w)
{
	const char *file = arena_printf(w->emit->arena, "%s_module.c", w->package->name);
	package_describe(w);
	package_render(w, "package/module.jinja", file);
	package_source(w, file);
	FOR (i, embedded_runtime_count) {
		const struct embedded_file *one = &embedded_runtime_files[i];
		const char *name = arena_printf(w->emit->arena, "runtime/%s", one->name);
		file_set_add(w->files, name, one->at, one->bytes);
		push(w->emit->arena, &w->runtime, name);
	}
}
