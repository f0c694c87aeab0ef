/* rows_memory.c: row G4 on the JIT: a module in memory, by the public interfaces of libingot and of the runtime in one
 * program. */
#include "ingot/ingot.h"
#include "rows.h"

static void g4(struct trial *t)
{
	struct ingot_model *model;
	const struct ingot_module *module = NULL;
	struct ingot_library library;
	struct ingot_routine routines[2];
	struct ingot_context bases[2], linked[2];
	float x[32], y[2][32];
	for (int i = 0; i < 32; i++)
		x[i] = (float)(i % 9) / 4 - 1;
	CHECK(ingot_open(&model, TESTS "/graphs/virtual.onnxtxt") == INGOT_MODEL_OK);
	CHECK(ingot_model_module(model, &module) == INGOT_MODEL_USAGE && !module && *ingot_model_message(model));
	CHECK(ingot_compile(model, INGOT_INTERPRETER) == INGOT_MODEL_OK);
	CHECK(ingot_model_module(model, &module) == INGOT_MODEL_OK && module);
	OK(ingot_library_load(t->runtime, module, NULL, &library));
	for (int c = 0; c < 2; c++) {
		OK(ingot_context_new(t->stream, &bases[c]));
		link_routine(bases[c], library, "virtual_", &routines[c], &linked[c]);
		for (int i = 0; i < 32; i++)
			x[i] += (float)c;
		write_f32(linked[c], node_of(library, "x"), x, 32);
		OK(ingot_routine_run(routines[c], NULL));
		read_f32(linked[c], node_of(library, "y"), y[c], 32);
		CHECK(ingot_set_input(model, 0, x) == INGOT_MODEL_OK && ingot_run(model) == INGOT_MODEL_OK);
		CHECK(!memcmp(y[c], ingot_result(model, 0), sizeof *y));
	}
	CHECK(memcmp(y[0], y[1], sizeof *y));
	for (int c = 0; c < 2; c++)
		OK(ingot_routine_close(routines[c]));
	OK(ingot_library_close(library));
	ingot_close(model);
}

const struct row rows_memory[] = {
	{ "G4", "ingot_model_module", "module_in_memory", g4, "jit" },
	{ 0 },
};
