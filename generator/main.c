/* main.c: the program.  A command is a row; each is a file in cli/. */
#include "cli/cli.h"
#include <stdio.h>

static const struct command commands[] = {
	{ "build", "MODEL", "cast a model into a static library", cli_build },
	{ "run", "MODEL", "run a model at once on .npy files", cli_run },
	{ "check", "MODEL DATA_DIR", "run a model and compare with reference outputs", cli_check },
	{ "bench", "MODEL", "time each kernel beside the machine's limits", cli_bench },
	{ "show", "MODEL", "print a stage: graph, definitions, kernels, loops, plan, source", cli_show },
	{ "ops", "", "list the operators that are there", cli_ops },
	{ "targets", "", "list the processors that can be built for", cli_targets },
	{ "render", "TEMPLATE DATA.json", "render a Jinja template", cli_render },
};

static void print_help(FILE *to)
{
	fprintf(to, "ingot casts tensor graphs (ONNX files or ONNX text) into libraries in C.\n\nusage: ingot COMMAND [ARGUMENTS]\n\n");
	for (size_t i = 0; i < COUNT(commands); i++)
		fprintf(to, "  %-8s %-20s %s\n", commands[i].name, commands[i].arguments, commands[i].summary);
	fprintf(to, "\n`ingot COMMAND --help` tells more.  Exit codes: 0 right, 1 numbers differ, 2 usage, 3 model invalid,\n"
		"4 not supported, 5 the environment lacks something, 6 a limit exceeded.\n");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return EXIT_RIGHT;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("ingot 0.1.0\n");
		return EXIT_RIGHT;
	}
	for (size_t i = 0; i < COUNT(commands); i++)
		if (!strcmp(commands[i].name, argv[1]))
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "ingot: no command \"%s\"; `ingot --help` lists them\n", argv[1]);
	return EXIT_USAGE;
}
