/* onednn_absent.c: stands in for onednn.c where oneDNN's header and library are not there. */
#include "engine.h"

bool onednn_open(struct engine *engine)
{
	(void)engine;
	return engine_fail("oneDNN is not there: install libdnnl-dev");
}
