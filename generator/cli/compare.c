/* compare.c: what two builds of a model said of their kernels -> kernel beside kernel. */
#include "cli/cli.h"
#include <stdlib.h>

json_t *compare_read(struct build *build, const char *path)
{
	json_error_t error;
	struct mapped file = file_map(build, path);
	json_t *json = json_loadb(file.bytes ? (const char *)file.at : "", file.bytes, 0, &error);
	file_unmap(file);
	if (!json)
		fail(build, EXIT_INVALID, path, "line %d, column %d: %s", error.line, error.column, error.text);
	if (!json_is_array(json_object_get(json, "kernels"))) {
		json_decref(json);
		fail(build, EXIT_INVALID, path,
		        "has no list of kernels: bench --json, report --json and a library's manifest have one");
	}
	return json;
}

/* Those of equal nodes; else the same name.  NULL: there is none, or another kernel has it. */
static json_t *twin(const json_t *kernel, const json_t *others, const bool *taken, size_t *at)
{
	static const char *const keys[] = { "nodes", "name" };
	FOR (k, COUNT(keys)) {
		const json_t *key = json_object_get(kernel, keys[k]);
		for (size_t i = 0; key && i < json_array_size(others); i++)
			if (!taken[i] && json_equal(key, json_object_get(json_array_get(others, i), keys[k])))
				return *at = i, json_array_get(others, i);
	}
	return NULL;
}

static json_t *pair_of(const json_t *ours, const json_t *theirs)
{
	static const char *const keys[] = { "microseconds", "cycles", "flops", "bytes", "tile" };
	json_t *pair = json_pack("{s:O?,s:O?}", "kernel", ours ? json_object_get(ours, "name") : NULL, "other",
	        theirs ? json_object_get(theirs, "name") : NULL);
	FOR (k, COUNT(keys)) {
		json_t *a = json_object_get(ours, keys[k]), *b = json_object_get(theirs, keys[k]);
		if (a || b)
			json_object_set_new(pair, keys[k], json_pack("[O?,O?]", a, b));
	}
	return pair;
}

/* By both of them: [ours, theirs]. */
static json_t *sums(const json_t *ours, const json_t *theirs)
{
	static const char *const keys[] = { "call_microseconds", "workspace_bytes", "weights_bytes", "stack_bytes" };
	json_t *all = json_object();
	FOR (k, COUNT(keys)) {
		json_t *a = json_object_get(ours, keys[k]), *b = json_object_get(theirs, keys[k]);
		if (a && b)
			json_object_set_new(all, keys[k], json_pack("[O,O]", a, b));
	}
	json_object_set_new(all, "kernels",
	        json_pack("[I,I]", (json_int_t)json_array_size(json_object_get(ours, "kernels")),
	                (json_int_t)json_array_size(json_object_get(theirs, "kernels"))));
	return all;
}

json_t *compare(const json_t *ours, const json_t *theirs)
{
	const json_t *mine = json_object_get(ours, "kernels"), *others = json_object_get(theirs, "kernels");
	size_t count = json_array_size(others);
	bool *taken = count ? calloc(count, sizeof *taken) : NULL;
	json_t *pairs = json_array();
	for (size_t i = 0, at = 0; (taken || !count) && i < json_array_size(mine); i++) {
		json_t *other = twin(json_array_get(mine, i), others, taken, &at);
		if (other)
			taken[at] = true;
		json_array_append_new(pairs, pair_of(json_array_get(mine, i), other));
	}
	for (size_t i = 0; taken && i < count; i++)
		if (!taken[i])
			json_array_append_new(pairs, pair_of(NULL, json_array_get(others, i)));
	free(taken);
	return json_pack("{s:o,s:o}", "sums", sums(ours, theirs), "kernels", pairs);
}

static const char *name_of_pair(const json_t *pair)
{
	const char *name = json_string_value(json_object_get(pair, "kernel"));
	return name ? name : json_string_value(json_object_get(pair, "other"));
}

static void print_pair(struct build *build, const char *name, const json_t *both)
{
	double a = json_number_value(json_array_get(both, 0)), b = json_number_value(json_array_get(both, 1));
	bool ours = json_is_number(json_array_get(both, 0)), theirs = json_is_number(json_array_get(both, 1));
	printf("%-32s %12s %12s %8s\n", name, ours ? arena_printf(build->arena, "%.3f", a) : "-",
	        theirs ? arena_printf(build->arena, "%.3f", b) : "-",
	        ours && theirs && b > 0 ? arena_printf(build->arena, "%.3f", a / b) : "-");
}

void compare_print(struct build *build, const json_t *ours, const json_t *theirs)
{
	json_t *all = compare(ours, theirs);
	const json_t *pairs = json_object_get(all, "kernels"), *call = json_object_get(ours, "call_microseconds"),
	             *other = json_object_get(theirs, "call_microseconds");
	printf("%-32s %12s %12s %8s\n", "beside the other build", "us", "other us", "ratio");
	FOR (i, json_array_size(pairs))
		print_pair(build, name_of_pair(json_array_get(pairs, i)),
		        json_object_get(json_array_get(pairs, i), "microseconds"));
	json_t *calls = json_pack("[O?,O?]", call, other);
	print_pair(build, "one call", calls);
	json_decref(calls);
	json_decref(all);
}
