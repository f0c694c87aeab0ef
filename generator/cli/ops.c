/* ops.c: ingot ops: the coverage, from the table of ops. */
#include "cli/cli.h"
#include "ops/ops.h"
#include <jansson.h>
#include <stdio.h>

static const struct command self = { "ops", "", "list the operators that are there", cli_ops };

static void body(struct build *build, int argc, char **argv)
{
	struct cli cli;
	cli_parse(&cli, build, &self, TAKES_JSON, NULL, argc, argv, 0, 0);
	json_t *list = json_array();
	for (int i = 0; i < op_count; i++) {
		const char *domain = *ops[i].domain ? ops[i].domain : "ai.onnx";
		if (!cli.json)
			printf("%-24s %s since version %d\n", ops[i].name, domain, ops[i].since);
		json_array_append_new(list, json_pack("{s:s,s:s,s:i}", "name", ops[i].name, "domain", domain, "since", ops[i].since));
	}
	if (cli.json) {
		json_dumpf(list, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(list);
}

int cli_ops(int argc, char **argv) { return cli_main(&self, argc, argv, body); }
