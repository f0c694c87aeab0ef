/* checked.c: a parallel-for that asks another one, and sees whether that keeps its word: for debug builds.
 *
 * Each index of a job has a state.  What comes twice, or after run has returned, is told and not run: who called may
 * have gone on.  So the job's memory has to outlive it: it stays until so many later ones are over. */
#include "common/alone.h"
#if INGOT_THREADS
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "ingot/threads.h"
#include "said.h"

enum { JOBS_KEPT = 256, WORKERS_MOST = 0x10000 };
enum { INDEX_OPEN, INDEX_BEGUN, INDEX_DONE };

struct checked_job {
	struct ingot_checked *checked;
	void (*task)(void *argument, int index);
	void *argument;
	int count;
	atomic_int over;
	atomic_char state[]; /* of each index */
};

struct ingot_checked {
	struct ingot_parallel parallel;
	const struct ingot_parallel *yours;
	void (*wrong)(void *user, const char *what);
	void *user;
	atomic_uint jobs;
	struct checked_job *_Atomic kept[JOBS_KEPT];
};

static void checked_wrong(const struct ingot_checked *checked, const char *what, int index, int count)
{
	char line[160];
	snprintf(line, sizeof line, "the parallel-for %s: %d of %d", what, index, count);
	if (checked->wrong) {
		checked->wrong(checked->user, line);
		return;
	}
	fprintf(stderr, "%s\n", line);
	abort();
}

static void checked_task(void *argument, int index)
{
	struct checked_job *job = argument;
	char open = INDEX_OPEN;
	if (index < 0 || index >= job->count)
		checked_wrong(job->checked, "calls an index that there is not", index, job->count);
	else if (!atomic_compare_exchange_strong(&job->state[index], &open, INDEX_BEGUN))
		checked_wrong(job->checked, "calls an index twice", index, job->count);
	else if (!atomic_load(&job->over)) { /* else it was told when run returned */
		job->task(job->argument, index);
		atomic_store(&job->state[index], INDEX_DONE);
	}
}

static void checked_run(void *pool, void (*task)(void *argument, int index), void *argument, int count)
{
	struct ingot_checked *checked = pool;
	if (count <= 0)
		return;
	struct checked_job *job = calloc(1, sizeof *job + (size_t)count);
	if (!job) {
		checked->yours->run(checked->yours->pool, task, argument, count);
		return;
	}
	job->checked = checked;
	job->task = task;
	job->argument = argument;
	job->count = count;
	checked->yours->run(checked->yours->pool, checked_task, job, count);
	atomic_store(&job->over, 1);
	for (int i = 0; i < count; i++) {
		char state = atomic_load(&job->state[i]);
		if (state != INDEX_DONE) {
			checked_wrong(checked,
			        state == INDEX_OPEN ? "returned before it called an index"
			                            : "returned before an index was done",
			        i, count);
			break;
		}
	}
	free(atomic_exchange(&checked->kept[atomic_fetch_add(&checked->jobs, 1) % JOBS_KEPT], job));
}

int ingot_checked_open(struct ingot_checked **out, const struct ingot_parallel *yours,
        void (*wrong)(void *user, const char *what), void *user)
{
	NEED(out);
	*out = NULL;
	NEED(yours && yours->run);
	struct ingot_checked *checked = calloc(1, sizeof *checked);
	if (!checked)
		return say(INGOT_MEMORY, "no memory for a checking pool");
	checked->parallel = (struct ingot_parallel){ checked_run, checked, yours->workers % WORKERS_MOST };
	checked->yours = yours;
	checked->wrong = wrong;
	checked->user = user;
	return *out = checked, INGOT_OK;
}

void ingot_checked_close(struct ingot_checked *checked)
{
	for (int i = 0; checked && i < JOBS_KEPT; i++)
		free(atomic_load(&checked->kept[i]));
	free(checked);
}

const struct ingot_parallel *ingot_checked_parallel(const struct ingot_checked *checked)
{
	return checked ? &checked->parallel : NULL;
}
#endif
