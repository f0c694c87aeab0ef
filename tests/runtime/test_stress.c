/* test_stress.c: random tasks on 8 streams with random waits, failures and cancellations, against the sync device.
 *
 *     runtime_stress [COUNT]          tasks; none: a sample, or 10 million with INGOT_LONG=1
 *
 * Every task adds its number to the cells it owns the order of.  Without failures the result is a function of the
 * program alone, so it must be the oracle's; with failures and cancellations each task must have run or been reported,
 * once, and be destroyed, once.  The lists of the runtime stay bounded by what is in flight. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ingot/context.h"

#define STREAMS 8
#define CELLS 64
#define QUEUE 256 /* short, so that the submitter meets full queues and failures while it submits */
#define CHECK(condition) \
	((condition) ? (void)0 \
	             : (fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, ingot_message()), \
	                     exit(1)))

struct world {
	struct ingot_runtime *runtime;
	struct ingot_stream streams[STREAMS];
	uint64_t cells[CELLS];
	_Atomic uint64_t ran, destroyed;
};

struct work {
	struct world *world;
	uint32_t cell, number;
	bool fails;
};

static uint64_t seed;
static uint32_t random_below(uint32_t n)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return (uint32_t)(seed >> 32) % n;
}

static int work_run(void *argument)
{
	struct work *work = argument;
	uint64_t *cell = work->world->cells + work->cell;
	*cell = *cell * 6364136223846793005u + work->number; /* the order matters, and a race shows */
	atomic_fetch_add(&work->world->ran, 1);
	return work->fails;
}

static void work_destroy(void *argument)
{
	atomic_fetch_add(&((struct work *)argument)->world->destroyed, 1);
	free(argument);
}

static void world_open(struct world *world, const char *backend)
{
	struct ingot_device device;
	memset(world, 0, sizeof *world);
	CHECK(!ingot_runtime_open(&world->runtime, &(struct ingot_runtime_options){ .queue_capacity = QUEUE }));
	CHECK(!ingot_backend_init(world->runtime, backend, &(struct ingot_backend_options){ .intra_op_threads = 1 }));
	CHECK(!ingot_device_get(world->runtime, backend, 0, &device));
	for (int i = 0; i < STREAMS; i++)
		CHECK(!ingot_stream_open(device, world->streams + i));
}

/* Cell c belongs to stream c % 8.  A task may take a cell of another stream where it waits for that stream's last task
 * on it, and leaves an event there: `last[c]`. */
static void play(struct world *world, uint64_t count, int failures, uint64_t *accepted, uint64_t *refused)
{
	static struct ingot_event last[CELLS];
	bool have[CELLS] = { false };
	*accepted = *refused = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint32_t cell = random_below(CELLS), stream = random_below(STREAMS), waits = 0;
		uint32_t fate = random_below(2000), extra = random_below(CELLS), ask = random_below(16);
		struct ingot_event wait[2], done;
		struct work *work = malloc(sizeof *work);
		CHECK(work);
		*work = (struct work){ world, cell, (uint32_t)i, failures && fate == 0 };
		if (have[cell])
			wait[waits++] = last[cell];
		if (have[extra] && ask < 4)
			wait[waits++] = last[extra];
		struct ingot_task task = { .name = "work",
			.run = work_run,
			.argument = work,
			.destroy = work_destroy,
			.waits = wait,
			.wait_count = waits };
		enum ingot_status status = ingot_task_submit(world->streams[stream], &task, &done);
		if (!status) {
			++*accepted;
			if (have[cell])
				CHECK(!ingot_event_close(last[cell]));
			last[cell] = done;
			have[cell] = true;
			if (failures && fate == 1)
				ingot_event_cancel(done);
			if (failures && fate == 2)
				CHECK(!ingot_stream_cancel(world->streams[random_below(STREAMS)]));
		} else {
			CHECK(failures && status != INGOT_OK);
			++*refused;
		}
		/* What failed is over: streams go on, and the cells begin anew; so do they after a while where only
		 * cancellations pass from task to task. */
		if (status || (failures && i % 500 == 0)) {
			for (int s = 0; s < STREAMS; s++)
				CHECK(!ingot_stream_restart(world->streams[s]));
			for (int c = 0; c < CELLS; c++)
				if (have[c]) {
					CHECK(!ingot_event_close(last[c]));
					have[c] = false;
				}
		}
		if (i % 50000 == 0) {
			char text[4096];
			const char *blocks;
			ingot_runtime_json(world->runtime, text, sizeof text);
			CHECK((blocks = strstr(text, "\"blocks\":")) && atoll(blocks + 9) < STREAMS * QUEUE + 1000);
		}
	}
	for (int c = 0; c < CELLS; c++)
		if (have[c]) {
			if (!failures)
				CHECK(!ingot_event_sync(last[c]));
			else
				ingot_event_sync(last[c]);
			CHECK(!ingot_event_close(last[c]));
		}
	for (int s = 0; s < STREAMS; s++)
		ingot_stream_await(world->streams[s]);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, accepted, refused;
	static struct world oracle, threads;
	count = count ? count : getenv("INGOT_LONG") ? 10000000 : 60000;
	seed = 12345;
	world_open(&oracle, "sync");
	play(&oracle, count, 0, &accepted, &refused);
	seed = 12345;
	world_open(&threads, "multicore");
	play(&threads, count, 0, &accepted, &refused);
	CHECK(accepted == count && threads.ran == count && threads.destroyed == count && oracle.destroyed == count);
	CHECK(!memcmp(oracle.cells, threads.cells, sizeof oracle.cells));
	for (int s = 0; s < STREAMS; s++) {
		CHECK(!ingot_stream_close(oracle.streams[s]));
		CHECK(!ingot_stream_close(threads.streams[s]));
	}
	CHECK(!ingot_runtime_close(oracle.runtime));
	CHECK(!ingot_runtime_close(threads.runtime));
	printf("%llu tasks: the oracle's result\n", (unsigned long long)count);
	seed = 54321;
	world_open(&threads, "multicore");
	play(&threads, count, 1, &accepted, &refused);
	CHECK(threads.destroyed == count && threads.ran <= accepted);
	CHECK(accepted + refused == count && (count < 50000 || accepted > threads.ran));
	printf("%llu tasks with failures: %llu ran, %llu were skipped or cancelled, %llu refused; each destroyed "
	       "once\n",
	        (unsigned long long)count, (unsigned long long)threads.ran,
	        (unsigned long long)(accepted - threads.ran), (unsigned long long)refused);
	for (int s = 0; s < STREAMS; s++)
		CHECK(!ingot_stream_close(threads.streams[s]));
	CHECK(!ingot_runtime_close(threads.runtime));
	return 0;
}
