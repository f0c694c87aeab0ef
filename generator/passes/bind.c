/* bind.c: symbolic dims -> extents. */
#include "passes/passes.h"
#include <errno.h>
#include <stdlib.h>

struct binding binding_parse(struct build *build, const char *option)
{
	const char *equals = strrchr(option, '=');
	char *end;
	if (!equals || equals == option || equals[1] < '0' || equals[1] > '9')
		fail(build, EXIT_USAGE, NULL, "--dim %s: must be NAME=VALUE, as in --dim N=1", option);
	errno = 0;
	long long extent = strtoll(equals + 1, &end, 10);
	if (!errno && end[0] == '.' && end[1] == '.' && end[2] >= '0' && end[2] <= '9') {
		long long most = strtoll(end + 2, &end, 10);
		if (!*end && !errno && most >= extent && most > 0)
			return (struct binding){ name_of(build->names, option, (size_t)(equals - option)), most, extent,
				true };
		fail(build, EXIT_USAGE, NULL, "--dim %s: a range must be LEAST..MOST, as in --dim N=1..32", option);
	}
	if (*end || errno)
		fail(build, EXIT_USAGE, NULL, "--dim %s: the value must be one number of at most 64 bits", option);
	return (struct binding){ name_of(build->names, option, (size_t)(equals - option)), extent, extent, false };
}

const char *name_of_dim(struct build *build, const struct tensor *input, int axis)
{
	const char *symbol = input->dims[axis].symbol;
	return symbol ? symbol : name_is(build->names, arena_printf(build->arena, "%s:%d", input->name, axis));
}

/* INPUT:AXIS names a dim with a symbol, too, as long as no dim is called so: exporters write symbols that nobody types. */
static const char *symbol_at(struct graph *graph, const char *name)
{
	const char *colon = strrchr(name, ':'), *symbol = name;
	for (size_t i = 0; colon && i < graph->inputs.count; i++) {
		const struct tensor *input = graph->inputs.at[i];
		FOR (axis, input->rank) {
			const char *place = arena_printf(graph->build->arena, "%s:%d", input->name, axis);
			if (input->dims[axis].symbol && !strcmp(input->dims[axis].symbol, name))
				return name;
			if (input->dims[axis].symbol && !strcmp(place, name))
				symbol = input->dims[axis].symbol;
		}
	}
	return symbol;
}

static void set_symbol(struct graph *graph, const char *symbol, int64_t extent, struct tensor *count)
{
	FOR_ALL (i, graph->tensors)
		FOR (k, graph->tensors.at[i]->rank) {
			struct dim *dim = &graph->tensors.at[i]->dims[k];
			if (dim->extent < 0 && dim->symbol == symbol) {
				dim->extent = extent;
				dim->count = count;
			}
		}
	FOR_ALL (i, graph->nodes)
		FOR (k, graph->nodes.at[i]->attribute_count) {
			const struct attribute *a = &graph->nodes.at[i]->attributes[k];
			if (a->g)
				set_symbol(a->g, symbol, extent, count);
			for (size_t n = 0; a->kind == ATTRIBUTE_GRAPHS && n < a->count; n++)
				set_symbol(a->graphs[n], symbol, extent, count);
		}
}

static void bind_dim(struct graph *graph, struct tensor *input, int axis, int64_t extent, struct tensor *count)
{
	struct dim *dim = &input->dims[axis];
	if (dim->count && !count) { /* data of a call: how many there are is asked when it runs */
		if (extent > dim->extent)
			fail(graph->build, EXIT_USAGE, graph->file, "dim %d of input %.60s is %lld at most, not %lld",
			        axis, input->name, (long long)dim->extent, (long long)extent);
		return;
	}
	if (dim->extent >= 0 && dim->extent != extent)
		fail(graph->build, EXIT_USAGE, graph->file, "dim %d of input %.60s is %lld%s%.60s, not %lld", axis,
		        input->name, (long long)dim->extent, dim->symbol ? " by " : "", dim->symbol ? dim->symbol : "",
		        (long long)extent);
	if (dim->extent < 0 && dim->symbol)
		set_symbol(graph, dim->symbol, extent, count);
	dim->extent = extent;
	dim->count = count;
}

/* A symbol that outputs have, and no input: how many there are, data decide, and somebody says. */
static const char *symbol_of_output(struct graph *graph, const char *name)
{
	FOR_ALL (i, graph->outputs)
		FOR (axis, graph->outputs.at[i]->rank) {
			const struct dim *dim = &graph->outputs.at[i]->dims[axis];
			if (dim->symbol && !strcmp(dim->symbol, name))
				return dim->symbol;
		}
	return NULL;
}

/* Inputs, then outputs. */
static const struct tensor *of_caller(const struct graph *graph, size_t i)
{
	return i < graph->inputs.count ? graph->inputs.at[i] : graph->outputs.at[i - graph->inputs.count];
}

static bool symbol_comes_before(const struct graph *graph, const char *symbol, size_t tensor, int axis)
{
	for (size_t i = 0; i <= tensor; i++)
		FOR (d, (i < tensor ? of_caller(graph, i)->rank : axis))
			if (of_caller(graph, i)->dims[d].symbol == symbol)
				return true;
	return false;
}

void graph_dims(struct graph *graph, struct choices *choices)
{
	FOR (i, graph->inputs.count + graph->outputs.count)
		FOR (axis, of_caller(graph, i)->rank) {
			const struct tensor *tensor = of_caller(graph, i);
			const struct dim *dim = &tensor->dims[axis];
			bool is_output =
			        i >= graph->inputs.count; /* only a symbol names a dim of it that is not known */
			if (dim->symbol ? (is_output && dim->extent >= 0)
			                        || symbol_comes_before(graph, dim->symbol, i, axis)
			                : is_output || dim->extent >= 0)
				continue;
			choices_add(choices, is_output ? dim->symbol : name_of_dim(graph->build, tensor, axis));
		}
}

/* An integer without dims of that name, whose value may be said to be in a range. */
static struct tensor *number_of_caller(struct graph *graph, const char *name)
{
	FOR_ALL (i, graph->inputs)
		if (!strcmp(graph->inputs.at[i]->name, name) && graph->inputs.at[i]->type == DTYPE_I64
		        && graph->inputs.at[i]->rank == 0)
			return graph->inputs.at[i];
	return NULL;
}

/* Whether a node makes a tensor of that name, in a body, too. */
static bool is_made_in(struct graph *graph, const char *name)
{
	const struct tensor *tensor = graph_tensor(graph, name);
	bool made = tensor && tensor->producer;
	for (size_t i = 0; !made && i < graph->nodes.count; i++)
		FOR (k, graph->nodes.at[i]->attribute_count) {
			const struct attribute *a = &graph->nodes.at[i]->attributes[k];
			made |= a->g && is_made_in(a->g, name);
			for (size_t n = 0; a->kind == ATTRIBUTE_GRAPHS && n < a->count; n++)
				made |= is_made_in(a->graphs[n], name);
		}
	return made;
}

/* A dim of what a node makes, TENSOR:AXIS, which may be said to be in a range. */
static bool node_has_dim(struct graph *graph, const char *name)
{
	const char *colon = strrchr(name, ':');
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
	return digits && digits <= 2 && !colon[1 + digits]
	        && is_made_in(graph, arena_printf(graph->build->arena, "%.*s", (int)(colon - name), name));
}

bool graph_has_dim(struct graph *graph, const char *name)
{
	name = symbol_at(graph, name);
	FOR_ALL (i, graph->inputs)
		FOR (axis, graph->inputs.at[i]->rank)
			if (!strcmp(name_of_dim(graph->build, graph->inputs.at[i], axis), name))
				return true;
	return symbol_of_output(graph, name) || number_of_caller(graph, name) || node_has_dim(graph, name);
}

/* How many there are of a symbol: an input of its name. */
static struct tensor *size_input(struct graph *graph, const struct binding *binding)
{
	struct arena *arena = graph->build->arena;
	const char *name = binding->name;
	FOR_ALL (i, graph->sizes)
		if (graph->sizes.at[i].size->name == name)
			return graph->sizes.at[i].size;
	while (graph_tensor(graph, name))
		name = arena_printf(arena, "%s_", name);
	struct tensor *size = graph_tensor_new(graph, name);
	size->type = DTYPE_I64;
	size->rank = 0;
	size->is_input = true;
	push(arena, &graph->inputs, size);
	push(arena, &graph->sizes, (struct bounded){ size, binding->least, binding->extent });
	return size;
}

bool graph_is_size(const struct graph *graph, const struct tensor *tensor)
{
	FOR_ALL (i, graph->sizes)
		if (graph->sizes.at[i].size == tensor)
			return true;
	return false;
}

/* ---- a range of a symbol that outputs alone have ---- */
/* The output becomes what a node at the end makes of it, which asks how many there are: everybody else reads what the
 * model computes. */
static void fit_output(struct graph *graph, struct tensor *output)
{
	struct build *build = graph->build;
	struct node *producer = output->producer;
	struct tensor *inner = graph_tensor_fresh(graph, output->name), **instead = NULL;
	const char *name = inner->name;
	*inner = *output;
	inner->name = name;
	inner->is_output = false;
	FOR (k, producer->outs)
		if (producer->out[k] == output)
			producer->out[k] = inner;
	instead = graph_number(graph);
	instead[output->mark] = inner;
	graph_substitute(graph, instead);
	FOR_ALL (i, graph->outputs)
		if (graph->outputs.at[i] == inner)
			graph->outputs.at[i] = output;
	struct node *fit = graph_node_new(
	        graph, name_is(build->names, "ingot"), name_is(build->names, "Fit"), producer->name, 1, 1);
	struct bytes *symbols = arena_new_array(build->arena, struct bytes, MAX_RANK);
	FOR (d, output->rank)
		symbols[d] = (struct bytes){ output->dims[d].symbol,
			output->dims[d].symbol ? strlen(output->dims[d].symbol) : 0 };
	fit->since = 1;
	fit->where = producer->where;
	fit->in[0] = inner;
	fit->out[0] = output;
	output->producer = fit;
	fit->attributes = arena_new(build->arena, struct attribute);
	fit->attributes[fit->attribute_count++] = (struct attribute){ .name = name_is(build->names, "symbols"),
		.kind = ATTRIBUTE_STRINGS,
		.count = (size_t)output->rank,
		.strings = symbols };
}

static void fit_outputs(struct graph *graph, const char *symbol)
{
	FOR_EACH (struct tensor *output, graph->outputs) {
		bool has = false;
		FOR (d, output->rank)
			has |= output->dims[d].symbol == symbol;
		if (has && output->producer && strcmp(output->producer->type, "Fit"))
			fit_output(graph, output);
	}
}

void pass_bind(struct graph *graph, const struct binding *bindings, int count)
{
	struct build *build = graph->build;
	FOR (b, count) {
		struct binding binding = bindings[b];
		const char *name = binding.name = name_is(build->names, symbol_at(graph, bindings[b].name));
		bool found = false;
		struct tensor *size = NULL;
		FOR (k, b)
			if (name_is(build->names, symbol_at(graph, bindings[k].name)) == name
			        && bindings[k].extent != binding.extent)
				fail(build, EXIT_USAGE, NULL, "--dim %s is given twice, with %lld and %lld", name,
				        (long long)bindings[k].extent, (long long)binding.extent);
		FOR_ALL (i, graph->inputs)
			FOR (axis, graph->inputs.at[i]->rank)
				if (name_of_dim(build, graph->inputs.at[i], axis) == name) {
					if (binding.ranged && !size)
						size = size_input(graph, &binding);
					bind_dim(graph, graph->inputs.at[i], axis, binding.extent, size);
					found = true;
				}
		struct choices choices = choices_for(build, name);
		const char *symbol = found ? NULL : symbol_of_output(graph, name);
		struct tensor *number = found || symbol ? NULL : number_of_caller(graph, name);
		graph_dims(graph, &choices);
		bool made = !found && !symbol && !number && node_has_dim(graph, name);
		if ((symbol || made) && binding.ranged) {
			symbol = made ? name : symbol;
			if (!graph_asked(graph, symbol))
				push(build->arena, &graph->asked,
				        (struct asked){ symbol, binding.least, binding.extent, NULL, 0 });
			fit_outputs(graph, symbol);
		} else if (symbol)
			set_symbol(graph, symbol, binding.extent, NULL);
		else if (number && binding.ranged)
			push(build->arena, &graph->said, (struct bounded){ number, binding.least, binding.extent });
		else if (number)
			fail(build, EXIT_USAGE, graph->file,
			        "--dim %.100s: an input's value has a range, as in --dim %.100s=1..32; --value "
			        "%.100s=%lld says that it always comes so",
			        name, name, name, (long long)binding.extent);
		else if (made)
			fail(build, EXIT_USAGE, graph->file,
			        "--dim %.100s: what a node makes has a range, as in --dim %.100s=0..%lld", name, name,
			        (long long)binding.extent);
		else if (!found)
			fail(build, EXIT_USAGE, graph->file, "--dim %.100s: no input has a dim of that name%s", name,
			        choices_text(&choices));
	}
	FOR_ALL (i, graph->inputs)
		tensor_elements(build, graph->inputs.at[i]); /* fails where no memory could hold it */
}

void pass_bind_input(struct graph *graph, struct tensor *input, int rank, const int64_t *extents)
{
	if (rank > MAX_RANK || (input->rank >= 0 && input->rank != rank))
		fail(graph->build, EXIT_USAGE, graph->file, "input %.60s has %d dimensions, its data has %d",
		        input->name, input->rank, rank);
	for (int axis = input->rank < 0 ? 0 : rank; axis < rank; axis++)
		input->dims[axis] = (struct dim){ .extent = -1 };
	input->rank = rank;
	FOR (axis, rank)
		bind_dim(graph, input, axis, extents[axis], NULL);
}

/* "dim 0 of input x, dim 2 of input z": where a name stands. */
static const char *places_of(struct graph *graph, const char *name)
{
	struct arena *arena = graph->build->arena;
	const char *places = "";
	for (size_t i = 0; i < graph->inputs.count && strlen(places) < 100; i++)
		FOR (axis, graph->inputs.at[i]->rank)
			if (graph->inputs.at[i]->dims[axis].extent < 0
			        && name_of_dim(graph->build, graph->inputs.at[i], axis) == name)
				places = arena_printf(arena, "%s%sdim %d of input %.60s", places, *places ? ", " : "",
				        axis, graph->inputs.at[i]->name);
	return places;
}

typedef VECTOR(const char *) name_list;
static name_list unbound_names(struct graph *graph)
{
	name_list names = { 0 };
	FOR_ALL (i, graph->inputs)
		FOR (axis, graph->inputs.at[i]->rank) {
			const char *name = name_of_dim(graph->build, graph->inputs.at[i], axis);
			bool seen = graph->inputs.at[i]->dims[axis].extent >= 0;
			FOR_ALL (k, names)
				seen |= names.at[k] == name;
			if (!seen)
				push(graph->build->arena, &names, name);
		}
	return names;
}

const char *unbound_dims(struct graph *graph)
{
	name_list names = unbound_names(graph);
	const char *options = "";
	for (size_t i = 0; i < graph->inputs.count && strlen(options) < 500; i++)
		if (graph->inputs.at[i]->form)
			options = arena_printf(
			        graph->build->arena, "%s --elements %.60s=1", options, graph->inputs.at[i]->name);
	for (size_t k = 0; k < names.count && strlen(options) < 500; k++) {
		bool plain = strspn(names.at[k], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:./-")
		        == strlen(names.at[k]);
		options = arena_printf(
		        graph->build->arena, plain ? "%s --dim %.60s=1" : "%s --dim '%.60s=1'", options, names.at[k]);
	}
	return options;
}

void pass_bound(struct graph *graph)
{
	struct build *build = graph->build;
	name_list names = unbound_names(graph);
	const char *places = "";
	FOR_EACH (const struct tensor *input, graph->inputs) {
		if (input->form)
			fail(build, EXIT_USAGE, graph->file,
			        "input %.60s is %.60s: say %s, as in --elements %.60s=%s, or also of which shapes, as "
			        "in --elements %.60s=[2,3]%s",
			        input->name, type_of_tensor(build, input),
			        input->form & FORM_OPTIONAL ? "what it holds, or that it is none"
			                                    : "how many tensors it holds",
			        input->name, input->form & FORM_OPTIONAL ? "none" : "2", input->name,
			        input->form & FORM_SEQUENCE ? ",[4,3]" : "");
	}
	FOR_ALL (i, graph->inputs)
		if (graph->inputs.at[i]->rank < 0)
			fail(build, EXIT_USAGE, graph->file,
			        "the model does not say how many dimensions input %.100s has; only its data can",
			        graph->inputs.at[i]->name);
	for (size_t k = 0; k < names.count && strlen(places) < 500; k++)
		places = arena_printf(build->arena, "%s%s%s", places, k ? ", " : "", places_of(graph, names.at[k]));
	if (names.count)
		fail(build, EXIT_USAGE, graph->file, "%s %s not bound: give %s, as in%s", places,
		        strstr(places, ", ") ? "are" : "is", names.count == 1 ? "its extent" : "their extents",
		        unbound_dims(graph));
}
