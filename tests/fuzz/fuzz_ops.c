/* fuzz_ops.c: graphs in text through inference, folding, simplification and definition; small ones are interpreted and
 * become kernels too, every checker on. Every input ends in a program that keeps its promises or in a message; nothing
 * else. */
#include <stdlib.h>
#include "definitions/definitions.h"
#include "frontends/frontends.h"
#include "kernels/kernels.h"
#include "loops/loops.h"
#include "ops/ops.h"
#include "passes/passes.h"

static const double work_most = 1e6; /* elements and terms of what is interpreted */

static bool is_small(const struct program *program)
{
	double work = 0;
	for (size_t i = 0; i < program->all.count; i++) {
		const struct definition *definition = program->all.at[i];
		work += (double)definition_elements(definition)
		        * (double)(definition->body ? definition_terms(definition) : 1);
	}
	return work <= work_most;
}

static void run(struct build *build, const struct program *program)
{
	const void **inputs = arena_new_array(build->arena, const void *, program->inputs.count + 1);
	void **outputs = arena_new_array(build->arena, void *, program->outputs.count + 1);
	for (size_t i = 0; i < program->inputs.count + program->outputs.count; i++) {
		bool in = i < program->inputs.count;
		const struct definition *definition =
		        in ? program->inputs.at[i] : program->outputs.at[i - program->inputs.count];
		size_t bytes = dtype_bytes(definition->type, (size_t)definition_elements(definition));
		uint8_t *data = arena_alloc(build->arena, bytes + 1);
		for (size_t k = 0; in && k < bytes; k++)
			data[k] = (uint8_t)(k * 37 + 11);
		if (in)
			inputs[i] = data;
		else
			outputs[i - program->inputs.count] = data;
	}
	interpret(program, MATH_STRICT, inputs, outputs);
	interpret(program, MATH_DOUBLE, inputs, outputs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build build;
	uint8_t *text = malloc(size + 1);
	memcpy(text, data, size);
	build_init(&build);
	build.arena->limit = 256 << 20;
	if (size && *data == '<' && BUILD_TRY(&build)) {
		struct graph *graph = graph_read_memory(&build, "fuzz", text, size, &(struct read_options){ 0 });
		graph_check(graph);
		pass_constants(graph);
		pass_infer(graph);
		pass_simplify(graph);
		graph_check(graph);
		struct program *program = define_graph(graph);
		program_check(program);
		if (is_small(program)) {
			run(&build, program);
			/* by the input's length one CPU and one way */
			const struct target *target = target_find(size % 3 ? "x86-64-v3" : "generic");
			build.check = true;
			choose_algorithms(program, size % 2 ? ALGORITHMS_FAST : ALGORITHMS_DIRECT);
			program_remove_dead(program);
			lower(program, size % 2 ? target : target_small(build.arena, target),
			        size % 2 ? OPTIMISE_SPEED : OPTIMISE_SIZE, NULL, loops_finish);
		}
	}
	build_release(&build);
	free(text);
	return 0;
}
