/* values.c: graph -> graph.  An integer input of which somebody says the value (--value, or data) is that constant
 * wherever it is read.  It stays an input: a run that brings another value ends with a status. */
#include "passes/passes.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static bool is_integer(enum dtype type)
{
	return dtypes[type].bits >= 8
	        && (dtypes[type].class == CLASS_INT || dtypes[type].class == CLASS_UINT
	                || dtypes[type].class == CLASS_BOOL);
}

bool tensor_can_be_held(const struct tensor *tensor)
{
	return tensor->is_input && !tensor->form && is_integer(tensor->type);
}

struct saying saying_parse(struct build *build, const char *option)
{
	const char *equals = strrchr(option, '='), *at = equals ? equals + 1 : "";
	VECTOR(int64_t) values = { 0 };
	do {
		char *end;
		errno = 0;
		int64_t value = equals && equals > option && ((*at >= '0' && *at <= '9') || *at == '-')
		        ? strtoll(at, &end, 10)
		        : (errno = EINVAL);
		if (errno || end == at || (*end && *end != ',') || values.count == VALUES_MOST)
			fail(build, EXIT_USAGE, NULL,
			        "--value %.60s: must be NAME=NUMBER, or NAME=2,3,5 with all elements of an input, at "
			        "most %d",
			        option, VALUES_MOST);
		push(build->arena, &values, value);
		at = *end ? end + 1 : end;
	} while (*at || at[-1] == ',');
	return (struct saying){ name_of(build->names, option, (size_t)(equals - option)), values.count, values.at };
}

/* One element in the type's own bytes; false where the type has no such number. */
static bool put(enum dtype type, void *to, int64_t value)
{
	int bits = dtypes[type].bits;
	int64_t low = dtypes[type].class == CLASS_INT ? (int64_t)((uint64_t)-1 << (bits - 1)) : 0;
	int64_t high = type == DTYPE_BOOL ? 1
	        : bits == 64              ? INT64_MAX
	                                  : (int64_t)(((uint64_t)1 << (bits - (dtypes[type].class == CLASS_INT))) - 1);
	memcpy(to, &value, (size_t)bits / 8); /* little endian, as what is compiled here is */
	return value >= low && value <= high;
}

void pass_hold(struct graph *graph, struct tensor *input, size_t count, const int64_t *values)
{
	struct arena *arena = graph->build->arena;
	int64_t extents[MAX_RANK];
	size_t bytes = (size_t)dtypes[input->type].bits / 8;
	char *data = arena_alloc(arena, count * bytes + 1);
	if (input->rank == 1)
		pass_bind_input(graph, input, 1, &(int64_t){ (int64_t)count });
	int64_t elements = input->rank < 0 ? -1 : tensor_elements(graph->build, input);
	if (elements != (int64_t)count)
		fail(graph->build, EXIT_USAGE, graph->file, "--value %.60s: %zu elements for %.100s", input->name,
		        count, type_of_tensor(graph->build, input));
	FOR (i, count)
		if (!put(input->type, data + i * bytes, values[i]))
			fail(graph->build, EXIT_USAGE, graph->file, "--value %.60s: %" PRId64 " is no %s", input->name,
			        values[i], dtypes[input->type].text);
	FOR (d, input->rank)
		extents[d] = input->dims[d].extent;
	struct tensor *value = graph_constant(graph, input->name, input->type, input->rank, extents, data);
	struct tensor **instead = graph_number(graph);
	instead[input->mark] = value;
	graph_substitute(graph, instead);
	push(arena, &graph->fixed, (struct fixed){ input, value });
}

void pass_values(struct graph *graph, const struct saying *sayings, size_t count, bool some)
{
	struct build *build = graph->build;
	FOR (i, count) {
		struct choices choices = choices_for(build, sayings[i].name);
		struct tensor *input = NULL;
		FOR_ALL (k, graph->fixed)
			if (graph->fixed.at[k].input->name == sayings[i].name)
				fail(build, EXIT_USAGE, NULL, "--value %s is given twice", sayings[i].name);
		FOR_ALL (k, graph->inputs)
			if (tensor_can_be_held(graph->inputs.at[k])) {
				choices_add(&choices, graph->inputs.at[k]->name);
				input = graph->inputs.at[k]->name == sayings[i].name ? graph->inputs.at[k] : input;
			}
		if (input)
			pass_hold(graph, input, sayings[i].count, sayings[i].values);
		else if (!some)
			fail(build, EXIT_USAGE, graph->file, "--value %.100s: no input of that name holds integers%s",
			        sayings[i].name, choices_text(&choices));
	}
}
