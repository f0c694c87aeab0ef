/* ingot.c: network -> the generated library, linked in.  The call is in network.c, as each header has its types. */
#include "engine.h"

static bool run(struct engine *engine)
{
	int status = network.ingot_call(engine->in, engine->data, engine->session, engine->parallel);
	return status == 0 || engine_fail("it returned %d", status);
}

bool library_open(struct engine *engine)
{
	if (!network.ingot_call)
		return engine_fail("no library of ingot is linked in");
	for (int i = 0; i < network.input_count; i++)
		engine->in[i] = network.inputs[i].data;
	engine->session = network.ingot_workspace();
	engine->run = run;
	engine->pooled = true;
	engine->parallel = engine->threads > 1 ? parallel : NULL;
	return engine->session || engine_fail("no workspace");
}
