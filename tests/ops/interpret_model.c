/* interpret_model.c: a model and its inputs -> its outputs, by the interpreter.
 *
 *     interpret_model [--double] [--simplify] [--time] [--show graph|definitions] MODEL [INPUT.npy|INPUT.pb …] [--out
 * PREFIX] interpret_model --ops          lists ONNX's ops that ingot knows
 *
 * Writes PREFIX0.npy, PREFIX1.npy …; dimensions of the inputs that are not known are taken from the data.  Ends with
 * the exit code of the build and its message on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/npy.h"
#include "definitions/definitions.h"
#include "frontends/frontends.h"
#include "ops/ops.h"
#include "passes/passes.h"

enum { INPUTS_MOST = 64 };
struct options {
	const char *model, *show, *out;
	const char *inputs[INPUTS_MOST];
	int count;
	bool in_double, simplify, timed;
};

static struct options parse(int argc, char **argv)
{
	struct options options = { 0 };
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--double"))
			options.in_double = true;
		else if (!strcmp(argv[i], "--simplify"))
			options.simplify = true;
		else if (!strcmp(argv[i], "--time"))
			options.timed = true;
		else if (!strcmp(argv[i], "--show") && i + 1 < argc)
			options.show = argv[++i];
		else if (!strcmp(argv[i], "--out") && i + 1 < argc)
			options.out = argv[++i];
		else if (!options.model)
			options.model = argv[i];
		else if (options.count < INPUTS_MOST)
			options.inputs[options.count++] = argv[i];
	}
	return options;
}

/* Input i as a tensor with data. */
static struct npy read_input(struct build *build, const char *path)
{
	size_t length = strlen(path);
	if (length > 4 && !strcmp(path + length - 4, ".npy"))
		return npy_read(build, path);
	const struct tensor *tensor = value_read_proto(build, path, 0);
	struct npy npy = { .type = tensor->type, .rank = tensor->rank, .bytes = tensor->bytes };
	npy.data = arena_copy(build->arena, tensor->data, tensor->bytes); /* aligned, as a file's bytes need not be */
	for (int d = 0; d < tensor->rank; d++)
		npy.extents[d] = tensor->dims[d].extent;
	return npy;
}

static void bind(struct graph *graph, struct tensor *tensor, const struct npy *npy)
{
	if (tensor->type != npy->type || (tensor->rank >= 0 && tensor->rank != npy->rank))
		fail(graph->build, EXIT_USAGE, tensor->name, "the data has another type or rank");
	tensor->rank = npy->rank;
	for (int d = 0; d < npy->rank; d++) {
		if (tensor->dims[d].extent >= 0 && tensor->dims[d].extent != npy->extents[d])
			fail(graph->build, EXIT_USAGE, tensor->name, "dimension %d differs in the data", d);
		tensor->dims[d].extent = npy->extents[d];
	}
}

static void print(const struct text *text) { fwrite(text->at, 1, text->count, stdout); }

static void work(struct build *build, const struct options *options)
{
	struct graph *graph = graph_read(build, options->model, &(struct read_options){ 0 });
	const void *inputs[INPUTS_MOST] = { NULL };
	struct text text;
	text_init(&text, build);
	graph_check(graph);
	if ((size_t)options->count > graph->inputs.count)
		fail(build, EXIT_USAGE, options->model, "%d inputs are given, it has %zu", options->count,
		        graph->inputs.count);
	for (int i = 0; i < options->count; i++) {
		struct npy npy = read_input(build, options->inputs[i]);
		bind(graph, graph->inputs.at[i], &npy);
		inputs[i] = npy.data;
	}
	pass_constants(graph);
	pass_infer(graph);
	if (options->simplify)
		pass_simplify(graph);
	if (options->show && !strcmp(options->show, "graph")) {
		graph_print(graph, 16, &text);
		print(&text);
	}
	graph_check(graph);
	struct program *program = define_graph(graph);
	program_check(program);
	if (options->show && !strcmp(options->show, "definitions")) {
		program_print(program, &text);
		print(&text);
	}
	text_release(&text);
	if (!options->out)
		return;
	if ((size_t)options->count != program->inputs.count)
		fail(build, EXIT_USAGE, options->model, "%d inputs are given, it has %zu", options->count,
		        program->inputs.count);
	void **outputs = arena_new_array(build->arena, void *, program->outputs.count);
	for (size_t i = 0; i < program->outputs.count; i++) {
		const struct definition *definition = program->outputs.at[i];
		outputs[i] = arena_alloc(
		        build->arena, dtype_bytes(definition->type, (size_t)definition_elements(definition)) + 1);
	}
	clock_t start = clock();
	interpret(program, options->in_double ? MATH_DOUBLE : MATH_STRICT, inputs, outputs);
	if (options->timed)
		fprintf(stderr, "interpreted in %.3f s\n", (double)(clock() - start) / CLOCKS_PER_SEC);
	for (size_t i = 0; i < program->outputs.count; i++) {
		const struct definition made = definition_actual(program, i, outputs);
		npy_write(build, arena_printf(build->arena, "%s%zu.npy", options->out, i), made.type, made.rank,
		        made.extents, outputs[i]);
	}
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct build build;
	if (argc == 2 && !strcmp(argv[1], "--ops")) {
		for (int i = 0; i < op_count; i++)
			if (!*ops[i].domain)
				puts(ops[i].name);
		return 0;
	}
	if (!options.model) {
		fprintf(stderr,
		        "usage: interpret_model [--double] [--simplify] [--show graph|definitions] MODEL "
		        "[INPUT …] [--out PREFIX]\n");
		return EXIT_USAGE;
	}
	build_init(&build);
	if (BUILD_TRY(&build))
		work(&build, &options);
	if (build.code)
		fprintf(stderr, "%s\n", build.message);
	int code = build.code;
	build_release(&build);
	return code;
}
