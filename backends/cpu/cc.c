/* cc.c: runs the system's C compiler, several at once, without a shell. */
#include "backends/backends.h"
#include "tables/target.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 2 * CC_WORDS_MOST + 8, MOST_JOBS = 64 };
#define NO_SPACE "No space left on device"

static bool on_path(const char *program)
{
	const char *path = getenv("PATH");
	char file[1024];
	if (strchr(program, '/'))
		return access(program, X_OK) == 0;
	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		if (n && n + strlen(program) + 2 < sizeof file) {
			snprintf(file, sizeof file, "%.*s/%s", (int)n, p, program);
			if (access(file, X_OK) == 0)
				return true;
		}
		p += n + (p[n] == ':');
	}
	return false;
}

int cc_words(struct build *build, const char *text, const char **words)
{
	int count = 0;
	if (strchr(text, '/') && on_path(text)) /* a program in a folder with blanks in its name */
		return words[0] = text, 1;
	char *rest, *copy = arena_copy(build->arena, text, strlen(text));
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (count == CC_WORDS_MOST)
			fail(build, EXIT_LIMIT, NULL, "a compiler and its flags have more than %d words",
			        CC_WORDS_MOST);
		words[count++] = word;
	}
	return count;
}

const char *cc_find(struct build *build, const char *named)
{
	const char *const usual[] = { "cc", "gcc", "clang" };
	named = named ? named : getenv("CC");
	if (named && named[strspn(named, " ")]) {
		const char *words[MOST_WORDS];
		cc_words(build, named, words);
		if (!on_path(words[0]))
			fail(build, EXIT_ENVIRONMENT, NULL, "the C compiler \"%s\" is not there", words[0]);
		return named;
	}
	for (size_t i = 0; i < COUNT(usual); i++)
		if (on_path(usual[i]))
			return usual[i];
	fail(build, EXIT_ENVIRONMENT, NULL, "no C compiler on the PATH (cc, gcc or clang; $CC names another)");
}

const char *cxx_find(struct build *build)
{
	const char *const usual[] = { "c++", "g++", "clang++" }, *named = getenv("CXX");
	if (named && *named) {
		if (!on_path(named))
			fail(build, EXIT_ENVIRONMENT, NULL, "the C++ compiler \"%s\" is not there", named);
		return named;
	}
	for (size_t i = 0; i < COUNT(usual); i++)
		if (on_path(usual[i]))
			return usual[i];
	fail(build, EXIT_ENVIRONMENT, NULL, "no C++ compiler on the PATH (c++, g++ or clang++; $CXX names another)");
}

const char *cc_for_target(struct build *build, const struct target *target, const char *named)
{
	if (named || !target->cross)
		return cc_find(build, named);
	if (!on_path(target->cross))
		fail(build, EXIT_ENVIRONMENT, NULL,
		        "the C compiler for %s, %s, is not there: Debian has it as the package %s; --cc names another, "
		        "--no-compile writes sources alone",
		        target->name, target->cross, target->cross_package);
	return target->cross;
}

struct child {
	pid_t pid;
	int out;
};

/* Programs speak English to us, so that what they say can be understood. */
static char **environment_of(struct build *build)
{
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **made = arena_new_array(build->arena, char *, count + 2);
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], "LC_ALL=", 7) && strncmp(environ[i], "LANGUAGE=", 9))
			made[kept++] = environ[i];
	made[kept] = arena_printf(build->arena, "LC_ALL=C");
	return made;
}

static struct child start(struct build *build, const char *directory, const char *const *arguments)
{
	int out[2];
	if (pipe2(out, O_CLOEXEC))
		fail(build, EXIT_ENVIRONMENT, arguments[0], "%s", strerror(errno));
	char **environment = environment_of(build);
	pid_t pid = fork();
	if (pid < 0)
		fail(build, EXIT_ENVIRONMENT, arguments[0], "%s", strerror(errno));
	if (pid == 0) {
		setpgid(0, 0); /* with all that it starts, so that all of it can be ended */
		int null = open("/dev/null", O_RDONLY);
		dup2(null, 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		if (directory && chdir(directory))
			_exit(127);
		execvpe(arguments[0], (char *const *)(uintptr_t)arguments, environment);
		_exit(127);
	}
	setpgid(pid, pid);
	close(out[1]);
	return (struct child){ pid, out[0] };
}

/* Waits; false where it failed, and the first line with "error" in it (or the first line) is in `message`. */
static bool finish(struct build *build, struct child child, char *message, size_t room)
{
	char output[8192];
	size_t count = 0;
	ssize_t n;
	char sink[4096];
	while (!is_stopping(build)) {
		n = read(child.out, count < sizeof output - 1 ? output + count : sink,
		        count < sizeof output - 1 ? sizeof output - 1 - count : sizeof sink);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		if (n > 0 && count < sizeof output - 1)
			count += (size_t)n;
	}
	if (is_stopping(build))
		kill(-child.pid, SIGTERM);
	output[count] = 0;
	close(child.out);
	int status;
	while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
		;
	char *line = strstr(output, NO_SPACE); /* what else is said then follows from it */
	line = line ? line : strstr(output, "error");
	while (line && line > output && line[-1] != '\n')
		line--;
	line = line ? line : output + strspn(output, "\n");
	snprintf(message, room, "%.*s", (int)strcspn(line, "\n"), line);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static NORETURN void refuse(struct build *build, const char *program, const char *what, const char *message)
{
	const char *below = getenv("TMPDIR");
	stop_if_asked(build);
	if (strstr(message, NO_SPACE))
		fail(build, EXIT_ENVIRONMENT, program, "no space left in %s%s or where it writes to: %s",
		        below ? "TMPDIR=" : "", below ? below : "/tmp", message);
	fail(build, EXIT_ENVIRONMENT, program, "%s: %s", what, *message ? message : "it cannot be started");
}

bool cc_ask(struct build *build, const char *const *arguments, char *line, size_t room)
{
	*line = 0;
	return on_path(arguments[0]) && finish(build, start(build, NULL, arguments), line, room);
}

void cc_run(struct build *build, const char *directory, const char *const *arguments)
{
	char message[512];
	if (!finish(build, start(build, directory, arguments), message, sizeof message))
		refuse(build, arguments[0], "failed", message);
}

/* The message, and the line that it is about. */
static const char *with_line(struct build *build, const char *directory, const char *message)
{
	const char *file =
	        arena_printf(build->arena, "%s/%.*s", directory ? directory : ".", (int)strcspn(message, ":"), message);
	if (access(file, R_OK) || !strchr(message, ':'))
		return message;
	struct mapped source = file_map(build, file);
	const char *made = arena_printf(
	        build->arena, "%s%s", message, generated_line(build, message, (const char *)source.at, source.bytes));
	file_unmap(source);
	return made;
}

void cc_compile(struct build *build, const struct cc_job *job)
{
	struct child running[MOST_JOBS];
	int jobs = job->jobs < 1 ? 1 : job->jobs > MOST_JOBS ? MOST_JOBS : job->jobs, started = 0, done = 0;
	const char *words[MOST_WORDS];
	char message[512], first[512] = "";
	int own = cc_words(build, job->cc, words), count = own + cc_words(build, job->flags, words + own);
	bool failed = false;
	while (done < job->count) {
		while (started < job->count && started - done < jobs && !failed) {
			const char *arguments[MOST_WORDS] = { 0 };
			int n = count;
			memcpy(arguments, words, (size_t)count * sizeof *words);
			arguments[n++] = "-c";
			arguments[n++] = job->sources[started];
			arguments[n++] = "-o";
			arguments[n++] = job->objects[started];
			running[started % jobs] = start(build, job->directory, arguments);
			started++;
		}
		if (done == started)
			break;
		if (build->told && !failed)
			failed = build->told(build,
			        &(const struct progress){
			                "compile", (size_t)done, (size_t)job->count, (size_t)(started - done) });
		if (!finish(build, running[done % jobs], message, sizeof message) && !failed) {
			failed = true;
			snprintf(first, sizeof first, "%s", message);
		}
		done++;
	}
	if (failed)
		refuse(build, job->cc, "refused the generated code", with_line(build, job->directory, first));
}
