/* overlap.c: copies of the next batch while the present one is computed: two streams, two buffers, events.  That both
 * run at once is not left to luck: the copy of batch 1 and the work on batch 0 wait for each other to have begun. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "linear.h"

#define BATCHES 32
#define BYTES 65536

static _Atomic int computing, copying;

static int meet(_Atomic int *mine, _Atomic int *theirs)
{
	atomic_store(mine, 1);
	while (!atomic_load(theirs))
		usleep(50);
	return 0;
}
static int copy_meets(void *argument)
{
	(void)argument;
	return meet(&copying, &computing);
}
static int work_meets(void *argument)
{
	(void)argument;
	return meet(&computing, &copying);
}

static uint64_t sums[BATCHES];
struct job {
	uint32_t batch;
	unsigned char *at;
};
static int sum(void *argument)
{
	struct job *job = argument;
	for (int i = 0; i < BYTES; i++)
		sums[job->batch] += job->at[i];
	return 0;
}

int main(void)
{
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_stream copies, compute;
	struct ingot_event copied, used[2] = { { 0 }, { 0 } };
	uint32_t pools[2];
	static unsigned char memory[2][BYTES], batches[BATCHES][BYTES];
	static struct job jobs[BATCHES];
	int wrong = 0;

	NEED(ingot_runtime_open(&runtime, NULL));
	NEED(ingot_backend_init(runtime, "multicore", NULL));
	NEED(ingot_device_default(runtime, &device));
	NEED(ingot_stream_open(device, &copies));
	NEED(ingot_stream_open(device, &compute));
	for (int k = 0; k < 2; k++)
		NEED(ingot_pool_adopt(device, memory[k], BYTES, pools + k)); /* a static array is a pool */
	for (uint32_t b = 0; b < BATCHES; b++) {
		memset(batches[b], (int)b + 1, BYTES);
		jobs[b] = (struct job){ b, memory[b % 2] };
		if (used[b % 2].runtime) { /* the buffer is free when the work two batches ago is done */
			NEED(ingot_stream_wait(copies, used[b % 2]));
			NEED(ingot_event_close(used[b % 2]));
		}
		if (b == 1)
			NEED(ingot_task_submit(
			        copies, &(struct ingot_task){ .name = "meet", .run = copy_meets }, NULL));
		NEED(ingot_pool_write(copies, pools[b % 2], 0, batches[b], BYTES, &copied));
		NEED(ingot_stream_wait(compute, copied));
		NEED(ingot_event_close(copied));
		if (b == 0)
			NEED(ingot_task_submit(
			        compute, &(struct ingot_task){ .name = "meet", .run = work_meets }, NULL));
		NEED(ingot_task_submit(compute, &(struct ingot_task){ .name = "sum", .run = sum, .argument = jobs + b },
		        used + b % 2));
	}
	NEED(ingot_stream_await(copies));
	NEED(ingot_stream_await(compute));
	for (uint64_t b = 0; b < BATCHES; b++)
		wrong += sums[b] != (b + 1) * BYTES;
	printf("%d batches through two buffers, a copy beside the work on the batch before: %d wrong\n", BATCHES,
	        wrong);
	for (int k = 0; k < 2; k++)
		NEED(ingot_event_close(used[k]));
	NEED(ingot_stream_close(copies));
	NEED(ingot_stream_close(compute));
	NEED(ingot_runtime_close(runtime));
	return wrong != 0;
}
