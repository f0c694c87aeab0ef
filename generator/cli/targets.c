/* targets.c: ingot targets: the processors that --cpu names. */
#include "cli/cli.h"
#include <jansson.h>
#include <stdio.h>

static const char *word(const char *text) { return text ? text : ""; }

static void run(struct cli *cli)
{
	const struct target *native = target_native(), *target;
	if (cli->engines) {
		for (int i = 0; engine_at(i); i++)
			printf("%s\n", engine_at(i)->name);
		return;
	}
	json_t *list = json_array();
	for (int i = 0; (target = target_at(i)); i++) {
		bool here = !strcmp(native->name, target->name);
		if (!cli->json)
			printf("%-10s  %2d floats a vector, %2d registers%s\n", target->name, target->lanes, target->registers, here ? "  (native)" : "");
		json_array_append_new(list, json_pack("{s:s,s:i,s:i,s:b,s:s,s:s,s:s}", "name", target->name, "lanes", target->lanes, "registers",
			target->registers, "native", here, "vector4", word(target->vector4), "shared", word(target->shared), "barrier", word(target->barrier)));
	}
	json_t *cuda = json_pack("{s:s,s:i,s:i,s:b,s:s,s:s,s:s}", "name", target_cuda.name, "lanes", target_cuda.lanes, "registers", target_cuda.registers,
		"native", false, "vector4", word(target_cuda.vector4), "shared", word(target_cuda.shared), "barrier", word(target_cuda.barrier));
	json_array_append_new(list, cuda);
	if (cli->json) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(list);
}

const struct command command_targets = { "targets", "", "list the processors that can be built for",
	NULL,
	IN_TARGETS, 0, 0, run };
