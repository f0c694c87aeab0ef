/* render.c: `ingot render TEMPLATE DATA.json`: a Jinja template and JSON -> text. */
#include "cli/json_value.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
	"usage: ingot render TEMPLATE DATA.json [-o FILE] [--path DIR]... [--undefined strict|lenient]\n"
	"         [--trim-blocks] [--lstrip-blocks] [--keep-trailing-newline] [--newline BYTES]\n"
	"         [--line-statement-prefix S] [--line-comment-prefix S] [--block-start S] [--block-end S]\n"
	"         [--variable-start S] [--variable-end S] [--comment-start S] [--comment-end S]\n"
	"\n"
	"Renders a Jinja template with the members of a JSON object ('-': standard input).  TEMPLATE is a file, else\n"
	"a name below one of the --path directories.  Includes and imports are looked for there, then beside\n"
	"TEMPLATE.  The text goes to standard output (also for `-o -`).  --undefined strict: an undefined value is an\n"
	"error; lenient: it prints as nothing and is false.  BYTES, the newline, is written \\n, \\r\\n or \\r.\n"
	"Exit codes: 0; 2 usage, missing files; 3 the template or the data is invalid, rendering fails.\n";

struct paths {
	VECTOR(const char *) at;
	const char *file;                 /* the template itself, where it was named as a file: its path is its name */
	struct arena *arena;
};

/* The path of a template inside a directory; names neither climb out of it nor are absolute. */
static const char *inside(struct arena *arena, const char *directory, const char *name)
{
	for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
		if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
			return NULL;
	return *name == '/' || !*name ? NULL : arena_printf(arena, "%s/%s", directory, name);
}

static bool load(void *user, struct build *build, const char *name, struct mapped *source)
{
	struct paths *paths = user;
	struct stat status;
	if (paths->file && !strcmp(name, paths->file)) {
		*source = file_map(build, name);
		return true;
	}
	for (size_t i = 0; i < paths->at.count; i++) {
		const char *path = inside(paths->arena, paths->at.at[i], name);
		if (path && !stat(path, &status) && S_ISREG(status.st_mode)) {
			*source = file_map(build, path);
			return true;
		}
	}
	return false;
}

static struct value read_data(struct build *build, const char *path)
{
	json_error_t error;
	struct stat status;
	FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;               /* a pipe is welcome too */
	if (!file || fstat(fileno(file), &status))
		fail(build, EXIT_USAGE, path, "%s", strerror(errno));
	if (S_ISDIR(status.st_mode)) {
		fclose(file);
		fail(build, EXIT_USAGE, path, "is a directory");
	}
	json_t *json = json_loadf(file, JSON_ALLOW_NUL, &error);
	if (file != stdin)
		fclose(file);
	if (!json)
		fail(build, EXIT_INVALID, path, "line %d, column %d: %s", error.line, error.column, error.text);
	if (!json_is_object(json)) {
		json_decref(json);
		fail(build, EXIT_INVALID, path, "the data is a JSON object: names and their values");
	}
	struct value data = data_of(build, json);
	json_decref(json);
	return data;
}

static const char *newline_of(const char *bytes)
{
	static const char *const forms[][2] = {
		{ "\\n", "\n" }, { "\\r\\n", "\r\n" }, { "\\r", "\r" },
		{ "\n", "\n" }, { "\r\n", "\r\n" }, { "\r", "\r" },
	};
	for (size_t i = 0; i < COUNT(forms); i++)
		if (!strcmp(bytes, forms[i][0]))
			return forms[i][1];
	return NULL;
}

struct request {
	struct template_settings settings;
	struct paths paths;
	const char *template, *data, *output;
	struct file_set *files;           /* the output on its way */
};

/* Which member an option with a string sets. */
static const struct { const char *name; size_t offset; } strings[] = {
	{ "line-statement-prefix", offsetof(struct template_settings, line_statement) },
	{ "line-comment-prefix", offsetof(struct template_settings, line_comment) },
	{ "block-start", offsetof(struct template_settings, block_start) },
	{ "block-end", offsetof(struct template_settings, block_end) },
	{ "variable-start", offsetof(struct template_settings, variable_start) },
	{ "variable-end", offsetof(struct template_settings, variable_end) },
	{ "comment-start", offsetof(struct template_settings, comment_start) },
	{ "comment-end", offsetof(struct template_settings, comment_end) },
};

/* NULL, or what is wrong with the arguments; "" for a plain usage. */
static const char *read_arguments(struct build *build, struct request *request, int argc, char **argv)
{
	enum { PATH = 256, UNDEFINED, TRIM, LSTRIP, KEEP, NEWLINE, STRINGS };
	struct option options[8 + COUNT(strings) + 1] = {
		{ "path", required_argument, NULL, PATH }, { "undefined", required_argument, NULL, UNDEFINED },
		{ "trim-blocks", no_argument, NULL, TRIM }, { "lstrip-blocks", no_argument, NULL, LSTRIP },
		{ "keep-trailing-newline", no_argument, NULL, KEEP }, { "newline", required_argument, NULL, NEWLINE },
		{ "output", required_argument, NULL, 'o' }, { "help", no_argument, NULL, 'h' },
	};
	for (size_t i = 0; i < COUNT(strings); i++)
		options[8 + i] = (struct option){ strings[i].name, required_argument, NULL, STRINGS + (int)i };
	optind = 0;
	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, ":o:h", options, NULL)) != -1;)
		switch (option) {
		case PATH:
			push(build->arena, &request->paths.at, optarg);
			break;
		case UNDEFINED:
			if (strcmp(optarg, "strict") && strcmp(optarg, "lenient"))
				return "--undefined is strict or lenient";
			request->settings.lenient = *optarg == 'l';
			break;
		case TRIM:
			request->settings.trim_blocks = true;
			break;
		case LSTRIP:
			request->settings.lstrip_blocks = true;
			break;
		case KEEP:
			request->settings.keep_trailing_newline = true;
			break;
		case NEWLINE:
			if (!(request->settings.newline = newline_of(optarg)))
				return "--newline is \\n, \\r\\n or \\r";
			break;
		case 'o':
			request->output = optarg;
			break;
		case 'h':
			return "";
		case ':':
			return arena_printf(build->arena, "%s needs a value", argv[optind - 1]);
		case '?':
			return arena_printf(build->arena, "unknown option %s", argv[optind - 1]);
		default:
			if (!*optarg)
				return arena_printf(build->arena, "--%s needs bytes", strings[option - STRINGS].name);
			memcpy((char *)&request->settings + strings[option - STRINGS].offset, &optarg, sizeof optarg);
		}
	if (request->output && !*request->output)
		return "-o needs the name of a file";
	if (argc - optind != 2)
		return argc - optind < 2 ? "a template and a JSON file are expected"
					 : "one template and one JSON file are expected";
	request->template = argv[optind];
	request->data = argv[optind + 1];
	return NULL;
}

/* A file is named by its path, and what it includes may stand beside it; else it is below a --path. */
static void locate(struct build *build, struct request *request)
{
	struct stat status;
	struct mapped found;
	if (!stat(request->template, &status) && S_ISREG(status.st_mode)) {
		const char *slash = strrchr(request->template, '/');
		request->paths.file = request->template;
		push(build->arena, &request->paths.at, !slash ? "." : slash == request->template ? "/"
			: arena_copy(build->arena, request->template, (size_t)(slash - request->template)));
	} else if (load(&request->paths, build, request->template, &found))
		file_unmap(found);
	else
		fail(build, EXIT_USAGE, request->template,
			request->paths.at.count ? "there is no such file, nor one below a --path"
						: "there is no such file");
}

static void write_all(struct build *build, FILE *file, const char *name, const struct text *text)
{
	bool good = file && fwrite(text->count ? text->at : "", 1, text->count, file) == text->count && !fflush(file);
	int reason = errno;
	if (file && file != stdout)
		good &= !fclose(file);
	if (!good)
		fail(build, file ? EXIT_ENVIRONMENT : EXIT_USAGE, name, "cannot be written: %s", strerror(reason));
}

/* A file appears whole or not at all; devices and pipes are written as they are. */
static void write_output(struct build *build, const char *path, const struct text *text, struct file_set **files)
{
	struct stat status;
	if (!path || !strcmp(path, "-")) {
		write_all(build, stdout, "standard output", text);
		return;
	}
	if (!stat(path, &status) && !S_ISREG(status.st_mode)) {
		write_all(build, fopen(path, "wb"), path, text);
		return;
	}
	const char *slash = strrchr(path, '/');
	const char *directory = !slash ? "."
		: slash == path        ? "/"
				       : arena_copy(build->arena, path, (size_t)(slash - path));
	*files = file_set_new(build, directory);
	file_set_add(*files, slash ? slash + 1 : path, text->count ? text->at : "", text->count);
	file_set_commit(*files);
}

int cli_render(int argc, char **argv)
{
	struct build build;
	struct text text;
	struct request request = { 0 };
	build_init(&build);
	text_init(&text, &build);
	request.paths.arena = build.arena;
	if (BUILD_TRY(&build)) {
		const char *wrong = read_arguments(&build, &request, argc, argv);
		if (wrong && !*wrong)
			fputs(usage, stdout);
		else if (wrong)
			fail(&build, EXIT_USAGE, "ingot render", "%s", wrong);
		else {
			locate(&build, &request);
			struct value data = read_data(&build, request.data);
			struct environment *environment =
				environment_new(&build, build.arena, &request.settings, load, &request.paths);
			template_render(environment, request.template, data, &text);
			write_output(&build, request.output, &text, &request.files);
		}
	}
	if (build.code)
		fprintf(stderr, "ingot: %s\n%s", build.message, build.detail);
	file_set_drop(request.files);
	text_release(&text);
	enum exit_code code =
		build.code == EXIT_LIMIT ? EXIT_INVALID : build.code; /* a limit passed is a failed rendering */
	build_release(&build);
	return code;
}
