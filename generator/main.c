/* main.c: the program.  A command is a row; each is a file in cli/. */
#include "cli/cli.h"
#include <errno.h>

const struct command *const commands[] = { &command_build, &command_run, &command_check, &command_bench, &command_show,
	&command_report, &command_info, &command_size, &command_ops, &command_targets, &command_doctor, &command_render,
	&command_help, NULL };

static int run(int argc, char **argv)
{
	struct build build;
	const struct command *volatile command = NULL;
	if (argc < 2) {
		help_program(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help_program(stdout);
		return EXIT_RIGHT;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("ingot %s\n", INGOT_VERSION);
		return EXIT_RIGHT;
	}
	build_init(&build);
	if (BUILD_TRY(&build))
		command = command_find(&build, argv[1]);
	else
		fprintf(stderr, "ingot: %s\n", build.message);
	build_release(&build);
	return command ? cli_main(command, argc - 1, argv + 1) : EXIT_USAGE;
}

/* Whatever a command did: what it printed has to arrive. */
static int flushed(int code)
{
	bool whole = !ferror(stdout);
	if (!whole) { /* why is asked again: nobody kept it */
		clearerr(stdout);
		putchar('\n');
	}
	errno = 0;
	if (fclose(stdout) || !whole) {
		fprintf(stderr, "ingot: standard output cannot be written: %s\n", strerror(errno ? errno : EIO));
		return code ? code : EXIT_ENVIRONMENT;
	}
	return code;
}

int main(int argc, char **argv) { return flushed(run(argc, argv)); }
