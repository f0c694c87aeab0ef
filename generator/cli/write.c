/* write.c: where a command's text goes: a file, or standard output. */
#include "cli/cli.h"
#include <errno.h>
#include <sys/stat.h>

static void write_all(struct build *build, FILE *file, const char *name, const struct text *text)
{
	bool good = file && fwrite(text->count ? text->at : "", 1, text->count, file) == text->count && !fflush(file);
	int reason = errno;
	if (file)
		good &= !fclose(file);
	if (!good)
		fail(build, file ? EXIT_ENVIRONMENT : EXIT_USAGE, name, "cannot be written: %s", strerror(reason));
}

static void write_whole(struct build *build, const char *path, const struct text *text)
{
	const char *slash = strrchr(path, '/');
	struct file_set *files = file_set_new(build,
	        !slash                  ? "."
	                : slash == path ? "/"
	                                : arena_copy(build->arena, path, (size_t)(slash - path)));
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		file_set_add(files, slash ? slash + 1 : path, text->count ? text->at : "", text->count);
		file_set_commit(files);
	}
	build->out = out;
	file_set_drop(files);
	if (build->code)
		longjmp(*out, 1);
}

void cli_write(struct build *build, const char *path, const struct text *text)
{
	struct stat status;
	if (!path || !strcmp(path, "-"))
		fwrite(text->count ? text->at : "", 1, text->count, stdout); /* main says what could not be written */
	else if (!stat(path, &status) && !S_ISREG(status.st_mode)) /* devices and pipes are written as they are */
		write_all(build, fopen(path, "wb"), path, text);
	else
		write_whole(build, path, text);
}
