/* cli.h: the commands of the program, a file each, and the options that they share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "pipeline.h"
#include "engine.h"

struct command { const char *name, *arguments, *summary; int (*run)(int argc, char **argv); };
int cli_build(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_show(int argc, char **argv);
int cli_ops(int argc, char **argv);
int cli_targets(int argc, char **argv);
int cli_render(int argc, char **argv);

/* ---- options.c ---- */
/* Which of the shared options a command takes. */
enum {
	TAKES_TARGET = 1, TAKES_CPU = 2, TAKES_DIM = 4, TAKES_THREADS = 8, TAKES_OPTIMISE = 16, TAKES_JSON = 32, TAKES_TEMPLATES = 64,
	TAKES_KEEP = 128, TAKES_OUTPUT = 256, TAKES_NAME = 512, TAKES_NO_COMPILE = 1024, TAKES_CC = 2048, TAKES_STAGE = 4096,
	TAKES_FILES = 8192, TAKES_MATH = 16384, TAKES_ENGINES = 32768, TAKES_PROFILE = 65536, TAKES_MODE = 131072,
	TAKES_MODEL_OPTIONS = TAKES_CPU | TAKES_DIM | TAKES_THREADS | TAKES_OPTIMISE | TAKES_TEMPLATES | TAKES_KEEP,
};
struct bound_file { const char *name, *path; };
struct cli {
	struct build *build;
	const char *command;
	struct options options;
	const char *target, *cpu, *output, *cc, *stage, *math, *profile, *schedule;
	bool json, no_compile, engines, no_hosted, log, large, optimise_given;
	VECTOR(const char *) merges;
	VECTOR(struct bound_file) states;         /* name: the input; path: the output */
	VECTOR(struct bound_file) inputs, outputs;
	const char *arguments[64];
	int argument_count;
};
/* Parses; prints --help and exits 0 where asked.  EXIT_USAGE on anything wrong. */
void cli_parse(struct cli *, struct build *, const struct command *, int takes, const char *more_help, int argc, char **argv, int least, int most);
/* For commands whose --target is c or cuda: the latter becomes the target of the options. */
bool cli_takes_cuda(struct cli *);
/* Runs `body` as a build: prints the message of a failure to standard error, as JSON to standard output with --json. */
int  cli_main(const struct command *, int argc, char **argv, void (*body)(struct build *, int argc, char **argv));
#endif
