/* cc.c: runs the system's C compiler, several at once, without a shell. */
#include "backends/backends.h"
#include "kernels/kernels.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 128, MOST_JOBS = 64 };

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

const char *cc_find(struct build *build, const char *named)
{
	const char *const usual[] = { "cc", "gcc", "clang" };
	named = named ? named : getenv("CC");
	if (named && *named) {
		if (!on_path(named))
			fail(build, EXIT_ENVIRONMENT, NULL, "the C compiler \"%s\" is not there", named);
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
	return cc_find(build, target->cross);
}

struct child { pid_t pid; int out; };

static struct child start(struct build *build, const char *directory, const char *const *arguments)
{
	int out[2];
	if (pipe2(out, O_CLOEXEC))
		fail(build, EXIT_ENVIRONMENT, arguments[0], "%s", strerror(errno));
	pid_t pid = fork();
	if (pid < 0)
		fail(build, EXIT_ENVIRONMENT, arguments[0], "%s", strerror(errno));
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY);
		dup2(null, 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		if (directory && chdir(directory))
			_exit(127);
		execvp(arguments[0], (char *const *)(uintptr_t)arguments);
		_exit(127);
	}
	close(out[1]);
	return (struct child){ pid, out[0] };
}

/* Waits; false where it failed, and the first line with "error" in it (or the first line) is in `message`. */
static bool finish(struct child child, char *message, size_t room)
{
	char output[8192];
	size_t count = 0;
	ssize_t n;
	char sink[4096];
	while ((n = read(child.out, count < sizeof output - 1 ? output + count : sink, count < sizeof output - 1 ? sizeof output - 1 - count : sizeof sink)) > 0)
		if (count < sizeof output - 1)
			count += (size_t)n;
	output[count] = 0;
	close(child.out);
	int status;
	while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
		;
	char *line = strstr(output, "error");
	while (line && line > output && line[-1] != '\n')
		line--;
	line = line ? line : output;
	snprintf(message, room, "%.*s", (int)strcspn(line, "\n"), line);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void cc_run(struct build *build, const char *directory, const char *const *arguments)
{
	char message[512];
	if (!finish(start(build, directory, arguments), message, sizeof message))
		fail(build, EXIT_ENVIRONMENT, arguments[0], "failed: %s", *message ? message : "it cannot be started");
}

void cc_compile(struct build *build, const struct cc_job *job)
{
	struct child running[MOST_JOBS];
	int jobs = job->jobs < 1 ? 1 : job->jobs > MOST_JOBS ? MOST_JOBS : job->jobs, started = 0, done = 0;
	char *flags = arena_copy(build->arena, job->flags, strlen(job->flags)), *rest, *words[MOST_WORDS], message[512], first[512] = "";
	int count = 0;
	bool failed = false;
	for (char *word = strtok_r(flags, " ", &rest); word && count < MOST_WORDS - 8; word = strtok_r(NULL, " ", &rest))
		words[count++] = word;
	while (done < job->count) {
		while (started < job->count && started - done < jobs && !failed) {
			const char *arguments[MOST_WORDS] = { job->cc };
			int n = 1;
			for (int i = 0; i < count; i++)
				arguments[n++] = words[i];
			arguments[n++] = "-c";
			arguments[n++] = job->sources[started];
			arguments[n++] = "-o";
			arguments[n++] = job->objects[started];
			running[started % jobs] = start(build, job->directory, arguments);
			started++;
		}
		if (done == started)
			break;
		if (!finish(running[done % jobs], message, sizeof message) && !failed) {
			failed = true;
			snprintf(first, sizeof first, "%s", message);
		}
		done++;
		if (job->progress)
			job->progress(job->user, done, job->count);
	}
	if (failed)
		fail(build, EXIT_ENVIRONMENT, job->cc, "refused the generated code: %s", *first ? first : "it cannot be started");
}
