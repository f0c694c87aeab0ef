/* jit.c: network -> a model of libingot that libtcc compiled, through its C interface (ingot/ingot.h). */
#include "engine.h"
#include "generator/include/ingot/ingot.h"

#include <dlfcn.h>

static enum ingot_model_status (*run_model)(struct ingot_model *);

static bool run(struct engine *engine) { return !run_model(engine->session) || engine_fail("it did not run"); }

bool jit_open(struct engine *engine)
{
	void *library = network.ingot_library ? dlopen(network.ingot_library, RTLD_NOW | RTLD_LOCAL) : NULL;
	struct ingot_model *model;
	if (!library)
		return engine_fail("%s", network.ingot_library ? dlerror() : "no library of ingot is named");
#define INGOT(name) ((__typeof__(ingot_##name) *)dlsym(library, "ingot_" #name))
	run_model = INGOT(run);
	bool fine = !INGOT(open)(&model, engine->model) && !INGOT(compile)(model, INGOT_JIT);
	for (int i = 0; fine && i < network.input_count; i++)
		fine = !INGOT(set_input)(model, (size_t)i, network.inputs[i].data);
	for (int i = 0; fine && i < network.output_count; i++)
		fine = !INGOT(set_output)(model, (size_t)i, engine->data[i]);
	engine->session = model;
	engine->run = run;
	return fine || engine_fail("%s", INGOT(model_message)(model));
#undef INGOT
}
