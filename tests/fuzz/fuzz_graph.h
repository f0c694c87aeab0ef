/* fuzz_graph.h: the promise of the readers.  Whatever the bytes, reading ends with a graph or with a message of one
 * line and one of three codes.  A graph prints as text that reads back, and prints as the same text again; the passes
 * that need no ops leave it well-formed. */
#ifndef FUZZ_FUZZ_GRAPH_H
#define FUZZ_FUZZ_GRAPH_H
#include <stdio.h>
#include <stdlib.h>
#include "frontends/frontends.h"
#include "passes/passes.h"

enum { FUZZ_MEMORY = 128 << 20, FUZZ_TEXT = 1 << 22 };

static void promise(bool kept, const char *what)
{
	if (!kept) {
		fprintf(stderr, "broken promise: %s\n", what);
		abort();
	}
}

static struct build *fuzz_build(void)
{
	struct build *build = malloc(sizeof *build);
	build_init(build);
	build->arena->limit = FUZZ_MEMORY;
	return build;
}

/* Reads, and prints into `out`; false where it was refused. */
static bool read_and_print(const void *data, size_t size, struct text *out, bool passes)
{
	struct build *build = fuzz_build();
	text_init(out, build);
	out->limit = FUZZ_TEXT;
	if (BUILD_TRY(build)) {
		struct graph *graph = graph_read_memory(build, "fuzz", data, size, NULL);
		graph_print(graph, -1, out);
		if (passes) {
			pass_constants(graph);
			graph_check(graph);
		}
	}
	bool right = build->code == EXIT_RIGHT;
	promise(right || build->code == EXIT_INVALID || build->code == EXIT_UNSUPPORTED || build->code == EXIT_LIMIT,
	        "a known code");
	promise(right == !*build->message && !strchr(build->message, '\n'), "one line says why");
	if (!right && !passes && build->code != EXIT_LIMIT)
		fprintf(stderr, "%s\n", build->message);
	if (!right)
		text_release(out);
	bool limit = build->code == EXIT_LIMIT;
	out->build = NULL;
	build_release(build);
	free(build);
	promise(right || passes || limit, "what was printed reads back");
	return right;
}

static int fuzz_graph(const uint8_t *data, size_t size)
{
	struct text first, second;
	if (read_and_print(data, size, &first, true)) {
		if (read_and_print(first.at, first.count, &second, false)) {
			promise(first.count == second.count && !memcmp(first.at, second.at, first.count),
			        "what reads back prints the same");
			text_release(&second);
		}
		text_release(&first);
	}
	return 0;
}
#endif
