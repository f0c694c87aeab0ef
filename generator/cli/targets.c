/* targets.c: ingot targets: the processors that --cpu names. */
#include "cli/cli.h"
#include <stdio.h>

static const char *word(const char *text) { return text ? text : ""; }

static json_t *engines(bool print)
{
	json_t *list = json_array();
	for (int i = 0; engine_at(i); i++) {
		if (print)
			printf("%s\n", engine_at(i)->name);
		json_array_append_new(list, json_string(engine_at(i)->name));
	}
	return list;
}

static json_t *facts(const struct target *target, bool native)
{
	return json_pack("{s:s,s:s,s:i,s:i,s:b,s:s,s:s,s:s}", "name", target->name, "facts",
	        target_text(native ? target_native() : target), "lanes", target->lanes, "registers", target->registers,
	        "native", native, "vector4", word(target->words.vector4), "shared", word(target->words.shared),
	        "barrier", word(target->words.barrier));
}

static json_t *gpus(void)
{
	json_t *list = json_array();
	const struct gpu_facts *g;
	for (int i = 0; (g = gpu_at(i)); i++)
		json_array_append_new(list,
		        json_pack("{s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:f,s:i,s:i,s:I}", "arch", g->arch,
		                "example", g->example, "processors", g->processors, "block_bytes", g->block_bytes,
		                "shared_bytes", g->shared_bytes, "warps", g->warps, "blocks", g->blocks, "registers",
		                g->registers, "fmas", g->fmas, "dot8s", g->dot8s, "group_dot8s", g->group_dot8s, "ghz",
		                g->ghz, "l2_rate", g->l2_rate, "memory_rate", g->memory_rate, "l2_bytes",
		                (json_int_t)g->l2_bytes));
	return list;
}

static json_t *processors(bool print)
{
	const struct target *native = target_native(), *target;
	json_t *list = json_array();
	for (int i = 0; (target = target_at(i)); i++) {
		bool here = !strcmp(native->name, target->name);
		if (print)
			printf("%-13s  %2d floats a vector, %2d registers%s%s%s\n", target->name, target->lanes,
			        target->registers, here ? "  (native: " : "", here ? target_text(native) : "",
			        here ? ")" : "");
		json_array_append_new(list, facts(target, here));
	}
	json_t *cuda = facts(&target_cuda, false);
	json_object_set_new(cuda, "gpus", gpus());
	json_array_append_new(list, cuda);
	return list;
}

static void run(struct cli *cli)
{
	json_t *list = cli->flags.engines ? engines(!cli->flags.json) : processors(!cli->flags.json);
	if (cli->flags.json)
		cli_print_json(list, stdout);
	else
		json_decref(list);
}

const struct command command_targets = { "targets", "", "list the processors that can be built for", NULL, IN_TARGETS,
	0, 0, run };
