/* parts.c: network -> the generated library with a parallel-for that runs the tasks one after the other and times each:
 * how long so many threads take, were each on an idle core.  Other work on the machine makes a turn longer, not the
 * least of each task. */
#include "engine.h"

#include <stdio.h>
#include <time.h>

enum { FORKS_MOST = 4096, TASKS_MOST = 32, THREADS_MOST = 8, FORK_NS = 400, CLOCK_NS = 25 };

static struct {
	double least[FORKS_MOST][TASKS_MOST]; /* ns; 0: not timed yet */
	int tasks[FORKS_MOST], forks;
	double inside, apart; /* of this call's tasks; the least of a call less them */
	bool (*run)(struct engine *);
} parts;

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void parts_run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	int fork = parts.forks++;
	double begun = now_ns();
	(void)pool;
	for (int i = 0; i < count; i++) {
		task(argument, i);
		double ended = now_ns(), taken = ended - begun;
		if (fork < FORKS_MOST && i < TASKS_MOST) {
			double *least = &parts.least[fork][i];
			*least = *least > 0 && *least < taken ? *least : taken;
			parts.tasks[fork] = i + 1;
		}
		parts.inside += taken;
		begun = ended;
	}
}

static bool run(struct engine *engine)
{
	double begun = now_ns();
	parts.forks = 0;
	parts.inside = 0;
	bool good = parts.run(engine);
	double apart = now_ns() - begun - parts.inside;
	parts.apart = parts.apart > 0 && parts.apart < apart ? parts.apart : apart;
	return good;
}

/* Each thread takes the next task when it is through with its last. */
static bool finish(struct engine *engine)
{
	double path = parts.apart;
	for (int f = 0; f < parts.forks && f < FORKS_MOST; f++) {
		double has[THREADS_MOST] = { 0 }, most = 0;
		for (int i = 0; i < parts.tasks[f]; i++) {
			int next = 0;
			for (int t = 1; t < engine->threads && t < THREADS_MOST; t++)
				next = has[t] < has[next] ? t : next;
			has[next] += parts.least[f][i] - CLOCK_NS;
			most = has[next] > most ? has[next] : most;
		}
		path += most + FORK_NS - CLOCK_NS;
	}
	printf("path\t%s\t%.0f\t%d\n", engine->name, path, parts.forks);
	return true;
}

bool parts_open(struct engine *engine)
{
	static struct ingot_parallel one_by_one;
	if (!library_open(engine))
		return false;
	one_by_one = (struct ingot_parallel){ parts_run, NULL, engine->threads };
	parts.run = engine->run;
	engine->run = run;
	engine->finish = finish;
	engine->pooled = false;
	engine->parallel = &one_by_one;
	return true;
}
