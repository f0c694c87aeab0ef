/* need.h: how the programs of the managed profile end where a call of the runtime does not succeed; they have one
 * runtime. */
#ifndef TESTS_CUDA_NEED_H
#define TESTS_CUDA_NEED_H
#include "ingot/context.h"
#include <stdio.h>
#include <stdlib.h>

#define TEXT(a) #a
#define QUOTED(a) TEXT(a)
#define NEED(call) need(call, #call)

static struct ingot_runtime *runtime;

static void need(enum ingot_status status, const char *what)
{
	if (!status)
		return;
	printf("%s: %s: %s\n", what, ingot_status_name(status), ingot_message());
	ingot_runtime_close(runtime); /* closes what is open */
	exit(1);
}
#endif
