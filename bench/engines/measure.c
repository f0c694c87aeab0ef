/* measure.c: a command -> its seconds and its peak of resident memory, for bench/generate and bench/making.
 *
 * usage: measure COMMAND...
 *
 * Prints "EXIT SECONDS BYTES PROCESSOR" (EXIT is 128 + N after signal N; PROCESSOR: its seconds of processor time).  A program of its own, since a process begins with the
 * peak of the one it was forked from: this one is small, Python is not.  What the command prints is not shown. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: measure COMMAND...\n");
		return 2;
	}
	double start = now();
	pid_t child = fork();
	if (child < 0) {
		perror("fork");
		return 5;
	}
	if (child == 0) {
		int null = open("/dev/null", O_RDWR);
		for (int stream = 0; stream < 3; stream++)
			dup2(null, stream);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	int status;
	struct rusage usage;
	if (wait4(child, &status, 0, &usage) != child) {
		perror("wait4");
		return 5;
	}
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	double spent = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
	        + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	printf("%d %.6f %ld %.6f\n", code, now() - start, usage.ru_maxrss * 1024L, spent);
	return 0;
}
