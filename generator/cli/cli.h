/* cli.h: the commands of the program, a file each, and the options that they share.
 *
 * options.c   an option is a row of one table: name, argument, words, the commands that take it, what it sets, its help
 * parse.c     that table and a command line -> struct cli
 * help.c      that table -> --help, and JSON, of which man pages and completion are made (pages/) */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "pipeline.h"
#include "engine.h"
#include "ingot/template.h"
#include <stdio.h>
#include <jansson.h>

/* ---- commands ---- */
enum {
	IN_BUILD = 1,
	IN_RUN = 2,
	IN_CHECK = 4,
	IN_BENCH = 8,
	IN_SHOW = 16,
	IN_OPS = 32,
	IN_TARGETS = 64,
	IN_RENDER = 128,
	IN_HELP = 256,
	IN_INFO = 512,
	IN_DOCTOR = 1024,
	IN_SIZE = 2048,
	IN_REPORT = 4096,
	IN_MODEL = IN_BUILD | IN_RUN | IN_CHECK | IN_BENCH | IN_SHOW | IN_SIZE
	        | IN_REPORT, /* makes kernels of a model, for a CPU */
};
struct cli;
struct command {
	const char *name, *arguments, *summary;
	const char *more;          /* behind the options in --help; NULL: nothing */
	unsigned bit;              /* IN_… */
	int least, most;           /* arguments */
	void (*run)(struct cli *); /* inside a build; parsed */
};
extern const struct command command_build, command_run, command_check, command_bench, command_show, command_ops,
        command_targets, command_render, command_help, command_info, command_size, command_doctor, command_report;
extern const struct command *const commands[]; /* main.c; NULL after the last */
const struct command *command_find(
        struct build *, const char *name); /* EXIT_USAGE, with the right ones, where there is none */

/* ---- options ---- */
struct bound_file {
	const char *name, *path;
};
typedef VECTOR(struct bound_file) bound_files;
typedef VECTOR(const char *) word_list;
enum { BENCH_ROUNDS = 201 }; /* at most */
struct cli {
	struct build *build;
	const struct command *command;
	struct options options;
	const char *target, *cpu, *output, *cc, *cflags, *stage, *kernel, *math, *profile, *schedule, *weights;
	struct cuda_words {
		const char *nvrtc;
		word_list archs; /* ascending */
		struct block_tile tile;
		bool tile_each; /* … of each image its own */
	} cuda;
	/* of bench */
	struct timing_words {
		const char *compare;
		int rounds;      /* 0: BENCH_ROUNDS */
		bool calls_only; /* no kernel is timed apart */
	} timing;
	/* of firmware */
	struct image_words {
		const char *libc, *project;
		const struct board *board;
		int64_t flash, ram; /* limits; 0: none */
	} image;
	struct cli_flags {
		bool stepwise, json, no_compile, shared, engines, no_hosted, no_run, verbose, log, large,
		        optimise_given, help;
	} flags;
	VECTOR(const struct target *) cpus; /* of --cpu, where build has several best first; else none */
	word_list merges;
	bound_files sections;        /* of --section: name: what; path: the section */
	const char *weights_section; /* of them that of the weights; NULL: none */
	bound_files inputs, outputs; /* name NULL: an archive, .npz, that names its members itself */
	struct template_settings render;
	word_list paths;    /* of templates */
	word_list warnings; /* that were told */
	const char *arguments[64];
	int argument_count;
};

struct option_row {
	const char *name, *also; /* without --; another spelling, or NULL */
	char letter;             /* -o; 0: none */
	const char *argument;    /* what --help calls it; NULL: a flag */
	unsigned commands;       /* that take it: IN_… */
	void (*set)(struct cli *, const struct option_row *, const char *value);
	size_t offset;            /* of what it sets, in struct cli */
	const char *const *words; /* the values it can have, NULL after the last; NULL: any … */
	const char *(*word)(const struct command *, int); /* … or as this says, by number */
	const char *help;
};
extern const struct option_row option_rows[];
extern const int option_row_count;
const char *option_word(const struct option_row *, const struct command *, int); /* NULL after the last */
/* EXIT_USAGE, with what it could be, where the row does not know this word. */
void option_check_word(struct cli *, const struct option_row *, const char *value);
extern const char *const show_stages[];

/* ---- parse.c ---- */
/* Runs a command on its words (argv[0] is its name) as a build: prints the message of a failure to standard error, as
 * JSON to standard output with --json.  The exit code. */
int cli_main(const struct command *, int argc, char **argv);
/* For commands whose --target is c or cuda: the latter becomes the target of the options. */
bool cli_takes_cuda(struct cli *);
/* For commands whose --target is an engine: that one, on a CPU that can run what it makes; asked before any work. */
const struct engine_kind *cli_engine(struct cli *);
bool cli_as_double(struct cli *, const struct engine_kind *); /* --math double, which the interpreter alone has */
/* Warns where so many constants of products are denormal that --denormals zero would pay on some CPUs. */
void cli_weigh_denormals(struct model *);

/* What a command tells programs; takes it over. */
void cli_print_json(json_t *, FILE *);

/* size.c: what inputs, or outputs, take that do not lie in the workspace. */
int64_t cli_border_bytes(const struct lowered *, bool inputs);
json_t *cli_size_json(struct cli *); /* what size --json says of the first argument */

/* ---- progress.c ---- */
/* From now on the build's progress is shown, and signals end it; until the end, which ends the process where one came. */
void progress_begin(struct cli *);
void progress_end(void);
void progress_say(const char *line); /* to standard error, beside what is shown */

/* ---- bench.c ---- */
/* Times the model by the engine, which must be able to run here: what --json says.  Prints its table unless cli->json. */
json_t *bench_model(const struct cli *, struct model *, const struct engine_kind *);
/* Inputs drawn from a seed, and room for the outputs. */
void bench_buffers(struct build *, const struct program *, const void **inputs, void **outputs);

/* ---- compare.c: a build beside another one ---- */
/* What bench --json or report --json said, or a manifest.  EXIT_USAGE, EXIT_INVALID where the file is none of these. */
json_t *compare_read(struct build *, const char *path);
json_t *compare(const json_t *ours, const json_t *theirs); /* kernel by kernel: those of equal nodes */
void compare_print(struct build *, const json_t *ours, const json_t *theirs);

/* ---- write.c ---- */
/* A file appears whole or not at all, its folder is made; NULL and "-" are standard output. */
void cli_write(struct build *, const char *path, const struct text *);

/* ---- help.c ---- */
void help_program(FILE *);
void help_command(const struct command *, FILE *);
#endif
