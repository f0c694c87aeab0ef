/* lists.c: graph -> graph.  A sequence or an optional that goes in or out gives way to the tensors that it holds: how
 * many, somebody says for inputs (--elements, or data), and inference has found for outputs.  The model's own inputs
 * and outputs stay in whole_inputs and whole_outputs, for who speaks of them.  Inputs that are maps give way to keys and
 * values, inputs that are strings to their bytes. */
#include "passes/passes.h"
#include <errno.h>
#include <stdlib.h>

typedef VECTOR(struct tensor *) tensors;

/* ---- what --elements says ---- */
NORETURN static void wrong(struct build *build, const char *option)
{
	fail(build, EXIT_USAGE, NULL,
	        "--elements %s: must be NAME=COUNT of at most %d, NAME=[2,3],[4] with a shape for each element, or "
	        "NAME=none",
	        option, LIST_MOST);
}

static int64_t number_at(struct build *build, const char *option, const char **at)
{
	char *end;
	errno = 0;
	long long number = **at >= '0' && **at <= '9' ? strtoll(*at, &end, 10) : (errno = EINVAL);
	if (errno)
		wrong(build, option);
	*at = end;
	return number;
}

/* "[2,3]": rank and extents. */
static struct tensor shape_at(struct build *build, const char *option, const char **at)
{
	struct tensor shape = { 0 };
	if (*(*at)++ != '[')
		wrong(build, option);
	while (**at != ']') {
		if (shape.rank == MAX_RANK)
			fail(build, EXIT_USAGE, NULL, "--elements %s: more than %d dimensions", option, MAX_RANK);
		shape.dims[shape.rank++].extent = number_at(build, option, at);
		if (**at == ',')
			++*at;
		else if (**at != ']')
			wrong(build, option);
	}
	++*at;
	return shape;
}

struct holding holding_parse(struct build *build, const char *option)
{
	const char *equals = strrchr(option, '='), *at = equals ? equals + 1 : "";
	VECTOR(struct tensor) shapes = { 0 };
	if (!equals || equals == option)
		wrong(build, option);
	struct holding holding = { .name = name_of(build->names, option, (size_t)(equals - option)),
		.nothing = !strcmp(at, "none") };
	if (holding.nothing)
		return holding;
	if (*at == '[') {
		do {
			struct tensor shape = shape_at(build, option, &at);
			push(build->arena, &shapes, shape);
		} while (*at == ',' && at++);
		holding.shapes = shapes.at;
		holding.count = (int64_t)shapes.count;
	} else {
		holding.count = number_at(build, option, &at);
	}
	if (*at || holding.count > LIST_MOST)
		wrong(build, option);
	return holding;
}

/* ---- one of the model's own gives way to its elements ---- */
/* A free name, `like` itself or with the number of the element behind it. */
static struct tensor *tensor_named(struct graph *graph, const char *like, size_t number, bool numbered)
{
	struct arena *arena = graph->build->arena;
	const char *name = numbered ? arena_printf(arena, "%s_%zu", like, number) : like;
	while (graph_tensor(graph, name))
		name = arena_printf(arena, "%s_", name);
	return graph_tensor_new(graph, name);
}

/* The name becomes free for what the tensor gives way to. */
static const char *give_up_name(struct graph *graph, struct tensor *tensor)
{
	const char *name = tensor->name;
	struct tensor *other = graph_tensor_fresh(graph, name);
	tensor->name = other->name;
	graph->tensors.count--; /* of `other`: its name alone was wanted */
	graph_reindex(graph);
	return name;
}

struct tensor *pass_renewed(struct graph *graph, struct tensor *tensor)
{
	return graph_tensor_new(graph, give_up_name(graph, tensor));
}

static struct list *list_made(struct graph *graph, size_t count, bool nothing)
{
	struct list *list = arena_new(graph->build->arena, struct list);
	list->count = count;
	list->nothing = nothing;
	list->at = arena_new_array(graph->build->arena, struct tensor *, count + 1);
	return list;
}

/* The input gives way to what the list has. */
static void take_place(struct graph *graph, struct tensor *input, const struct list *list)
{
	struct arena *arena = graph->build->arena;
	tensors inputs = { 0 };
	FOR_ALL (i, graph->inputs)
		if (graph->inputs.at[i] != input)
			push(arena, &inputs, graph->inputs.at[i]);
		else
			FOR (k, list->count)
				push(arena, &inputs, list->at[k]);
	memcpy(&graph->inputs, &inputs, sizeof inputs);
	FOR (k, list->count)
		list->at[k]->is_input = true;
	input->list = list;
	input->is_input = false;
}

void pass_maps(struct graph *graph)
{
	struct arena *arena = graph->build->arena;
	FOR_EACH (struct tensor *map, graph->inputs) {
		if (map->form != FORM_MAP)
			continue;
		struct list *list = list_made(graph, 2, false);
		const char *count = name_is(graph->build->names, arena_printf(arena, "%s_count", map->name));
		FOR (k, 2) {
			list->at[k] = tensor_named(
			        graph, arena_printf(arena, "%s_%s", map->name, k ? "values" : "keys"), 0, false);
			list->at[k]->type = k ? map->type : map->keys->type;
			list->at[k]->rank = 1;
			list->at[k]->dims[0] = (struct dim){ -1, count, NULL };
		}
		take_place(graph, map, list);
	}
}

void pass_strings(struct graph *graph)
{
	struct arena *arena = graph->build->arena;
	__typeof__(graph->nodes) nodes = { 0 };
	FOR_ALL (i, graph->inputs) {
		struct tensor *old = graph->inputs.at[i];
		if (old->form || old->type != DTYPE_STRING)
			continue;
		struct tensor *bytes = pass_renewed(graph, old);
		struct node *node = graph_node_new(graph, "ingot", "Text", "", 1, 1);
		if (old->rank == MAX_RANK)
			fail(graph->build, EXIT_LIMIT, graph->file,
			        "input %.60s is strings of %d dimensions, at most %d are right", bytes->name, old->rank,
			        MAX_RANK - 1);
		graph->nodes.count--;
		push(arena, &nodes, node);
		*bytes = (struct tensor){ .name = bytes->name,
			.graph = graph,
			.type = DTYPE_U8,
			.rank = old->rank < 0 ? -1 : old->rank + 1,
			.is_input = true,
			.is_utf8 = true };
		memcpy(bytes->dims, old->dims, sizeof old->dims);
		if (old->rank >= 0)
			bytes->dims[old->rank] = (struct dim){ -1,
				name_is(graph->build->names, arena_printf(arena, "%s_bytes", bytes->name)), NULL };
		node->since = 1;
		node->is_given = false;
		node->in[0] = bytes;
		node->out[0] = old;
		old->producer = node;
		old->is_input = false;
		graph->inputs.at[i] = bytes;
	}
	for (size_t i = 0; nodes.count && i < graph->nodes.count; i++)
		push(arena, &nodes, graph->nodes.at[i]);
	if (nodes.count)
		memcpy(&graph->nodes, &nodes, sizeof nodes);
}

void pass_whole_input(struct graph *graph, struct tensor *input, size_t count, bool nothing)
{
	struct arena *arena = graph->build->arena;
	bool sequence = input->form & FORM_SEQUENCE;
	if (nothing && !(input->form & FORM_OPTIONAL))
		fail(graph->build, EXIT_USAGE, graph->file, "input %.60s is %.60s and no optional: it cannot be none",
		        input->name, type_of_tensor(graph->build, input));
	if (!nothing && !sequence && count != 1)
		fail(graph->build, EXIT_USAGE, graph->file, "input %.60s is %.60s: it holds 1 or none, not %zu",
		        input->name, type_of_tensor(graph->build, input), count);
	if (count > LIST_MOST)
		fail(graph->build, EXIT_LIMIT, graph->file, "input %.60s has %zu elements, ingot takes at most %d",
		        input->name, count, LIST_MOST);
	for (size_t i = 0, none = !graph->whole_inputs.count; none && i < graph->inputs.count; i++)
		push(arena, &graph->whole_inputs, (struct whole){ graph->inputs.at[i]->name, graph->inputs.at[i] });
	struct list *list = list_made(graph, nothing ? 0 : count, nothing);
	const char *name = sequence || nothing ? input->name : give_up_name(graph, input);
	FOR (i, list->count) {
		struct tensor *element = list->at[i] = tensor_named(graph, name, i, sequence);
		element->type = input->type;
		element->rank = input->rank;
		memcpy(element->dims, input->dims, sizeof input->dims);
		FOR (d, element->rank)
			if (element->dims[d].extent < 0)
				element->dims[d].symbol = NULL; /* each element has its own extent there */
	}
	take_place(graph, input, list);
}

static struct tensor *integer_named(struct tensor *const *at, size_t count, const char *name)
{
	FOR (i, count)
		if (at[i]->name == name)
			return at[i];
	return NULL;
}

void pass_say_output(struct graph *graph, struct tensor *output, size_t count, const struct tensor *shapes)
{
	struct list *list = list_made(graph, count, false);
	FOR (i, count) {
		struct tensor *shape = list->at[i] = arena_new(graph->build->arena, struct tensor);
		*shape = shapes[i];
		shape->name = output->name;
		shape->type = output->type;
		shape->graph = graph;
		tensor_elements(graph->build, shape); /* fails where no memory could hold it */
	}
	output->said = list;
}

void pass_holdings(struct graph *graph, const struct holding *holdings, int count, bool some)
{
	struct build *build = graph->build;
	FOR (i, count) {
		const struct holding *holding = &holdings[i];
		struct choices choices = choices_for(build, holding->name);
		FOR (k, i)
			if (holdings[k].name == holding->name)
				fail(build, EXIT_USAGE, NULL, "--elements %s is given twice", holding->name);
		struct tensor *input = integer_named(graph->inputs.at, graph->inputs.count, holding->name);
		struct tensor *output = integer_named(graph->outputs.at, graph->outputs.count, holding->name);
		if (!input && output && output->form == FORM_SEQUENCE && holding->shapes) {
			pass_say_output(graph, output, (size_t)holding->count, holding->shapes);
			continue;
		}
		if (!input && some)
			continue;
		FOR_ALL (k, graph->inputs)
			if (graph->inputs.at[k]->form)
				choices_add(&choices, graph->inputs.at[k]->name);
		if (!input && output && output->form)
			fail(build, EXIT_USAGE, graph->file,
			        "--elements %.100s: of an output, a sequence, shapes can be said, as in --elements "
			        "%.60s=[2,3],[4]",
			        holding->name, holding->name);
		if (!input || !input->form)
			fail(build, EXIT_USAGE, graph->file,
			        "--elements %.100s: no input of that name is a sequence or an optional%s",
			        holding->name, choices_text(&choices));
		pass_whole_input(graph, input, (size_t)holding->count, holding->nothing);
		for (size_t k = 0; holding->shapes && k < input->list->count; k++) {
			int64_t extents[MAX_RANK];
			FOR (d, holding->shapes[k].rank)
				extents[d] = holding->shapes[k].dims[d].extent;
			pass_bind_input(graph, input->list->at[k], holding->shapes[k].rank, extents);
		}
	}
}

/* ---- outputs ---- */
/* An output of its own for the element, which others may read, or which goes out twice. */
static struct tensor *hand_out(
        struct graph *graph, const struct tensor *whole, struct tensor *element, struct tensor *out)
{
	struct node *node = graph_node_new(graph, "", "Identity", "", 1, 1);
	node->since = node->since ? node->since : 1;
	node->in[0] = element;
	node->out[0] = out;
	out->producer = node;
	out->type = element->type;
	out->rank = element->rank;
	memcpy(out->dims, element->dims, sizeof element->dims);
	out->is_output = true;
	bool fits = whole->rank < 0 || whole->rank == out->rank;
	for (int d = 0; fits && d < whole->rank; d++)
		fits = whole->dims[d].extent < 0 || out->dims[d].extent < 0
		        || whole->dims[d].extent == out->dims[d].extent;
	if (!fits)
		fail(graph->build, EXIT_INVALID, graph->file,
		        "output %.60s is declared as %.100s, but an element is %.100s", whole->name,
		        type_of_tensor(graph->build, whole), type_of_tensor(graph->build, out));
	return out;
}

void pass_whole_outputs(struct graph *graph)
{
	struct arena *arena = graph->build->arena;
	tensors outputs = { 0 };
	bool any = false;
	FOR_ALL (i, graph->outputs)
		any |= graph->outputs.at[i]->list != NULL;
	if (!any)
		return;
	FOR_ALL (i, graph->outputs)
		push(arena, &graph->whole_outputs, (struct whole){ graph->outputs.at[i]->name, graph->outputs.at[i] });
	FOR_EACH (struct tensor *whole, graph->outputs) {
		if (!whole->list) {
			push(arena, &outputs, whole);
			continue;
		}
		bool sequence = whole->form & FORM_SEQUENCE;
		struct list *list = list_made(graph, whole->list->count, whole->list->nothing);
		const char *name = sequence || !list->count ? whole->name : give_up_name(graph, whole);
		FOR (k, list->count) {
			list->at[k] =
			        hand_out(graph, whole, whole->list->at[k], tensor_named(graph, name, k, sequence));
			push(arena, &outputs, list->at[k]);
		}
		whole->is_output = false;
		whole->list = list;
	}
	memcpy(&graph->outputs, &outputs, sizeof outputs);
	if (!outputs.count)
		fail(graph->build, EXIT_UNSUPPORTED, graph->file,
		        "all that it makes are sequences and optionals that are empty: nothing is left to run");
}
