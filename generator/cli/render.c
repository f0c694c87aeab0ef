/* render.c: `ingot render TEMPLATE DATA.json`: a Jinja template and JSON -> text. */
#include "cli/cli.h"
#include "cli/json_value.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct paths {
	VECTOR(const char *) at;
	const char *file; /* the template itself, where it was named as a file: its path is its name */
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
	FOR_ALL (i, paths->at) {
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
	FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin; /* a pipe is welcome too */
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

struct request {
	struct paths paths;
	const char *template, *data, *output;
};

/* A file is named by its path, and what it includes may stand beside it; else it is below a --path. */
static void locate(struct build *build, struct request *request)
{
	struct stat status;
	struct mapped found;
	if (!stat(request->template, &status) && S_ISREG(status.st_mode)) {
		const char *slash = strrchr(request->template, '/');
		request->paths.file = request->template;
		push(build->arena, &request->paths.at,
		        !slash ? "."
		                : slash == request->template
		                ? "/"
		                : arena_copy(build->arena, request->template, (size_t)(slash - request->template)));
	} else if (load(&request->paths, build, request->template, &found))
		file_unmap(found);
	else
		fail(build, EXIT_USAGE, request->template,
		        request->paths.at.count ? "there is no such file, nor one below a --path"
		                                : "there is no such file");
}

static void run(struct cli *cli)
{
	struct build *build = cli->build;
	struct text text;
	struct request request = { .template = cli->arguments[0], .data = cli->arguments[1], .output = cli->output };
	struct request *const asked = &request;
	jmp_buf *out = build->out, mine;
	request.paths.arena = build->arena;
	FOR_ALL (i, cli->paths)
		push(build->arena, &request.paths.at, cli->paths.at[i]);
	if (cli->output && !*cli->output)
		fail(build, EXIT_USAGE, NULL, "-o needs the name of a file");
	text_init(&text, build);
	build->out = &mine;
	if (setjmp(mine) == 0) {
		locate(build, asked);
		struct value data = read_data(build, asked->data);
		struct environment *environment =
		        environment_new(build, build->arena, &cli->render, load, &asked->paths);
		template_render(environment, asked->template, data, &text);
		cli_write(build, asked->output, &text);
	}
	build->out = out;
	text_release(&text);
	if (build->code == EXIT_LIMIT)
		build->code = EXIT_INVALID; /* a limit passed is a failed rendering */
	if (build->code)
		longjmp(*out, 1);
}

const struct command command_render = { "render", "TEMPLATE DATA.json", "render a Jinja template",
	"Renders a template with the members of a JSON object (-: standard input).  TEMPLATE is a file, else a name "
	"below one of the --path\n"
	"folders.  Includes and imports are looked for there, then beside TEMPLATE.  Exit codes: 2 usage, missing "
	"files; 3 the template or the\n"
	"data is invalid, rendering fails.",
	IN_RENDER, 2, 2, run };
