/* managed.c: one network of the managed profile on the board: contexts, slab pools and events of the runtime that was
 * built for one thread, out of one block of memory.  Exit code 0, or 42 where a bit, a status or what is left open is
 * wrong.  case.h says which network: MODULE, INPUT and OUTPUT (names of nodes), INPUT_BYTES, OUTPUT_WORDS; input_0[]
 * and expected[] come from the assembler.  Prints the stack, and how much of the block was touched.  With -DFLIP=1 it
 * must fail. */
#include "case.h"
#include "ingot/context.h"
#include "semihost.h"
#ifndef FLIP
#define FLIP 0
#endif
enum { PAINT = 0xA5 };

extern uint8_t stack_limit[];
extern const uint32_t expected[];
extern const struct ingot_module MODULE;
static uint8_t block[160 * 1024] __attribute__((aligned(16)));
static uint32_t out[OUTPUT_WORDS];

#define MUST(call) \
	do { \
		if (call) { \
			print(#call " fails: "), print(ingot_message()), print("\n"); \
			return 1; \
		} \
	} while (0)

static int run(void)
{
	struct ingot_runtime *runtime, *second;
	struct ingot_device device;
	struct ingot_stream stream, other;
	struct ingot_context context, linked, beside;
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_node in, result;
	struct ingot_event done, promise, mark;
	uint32_t pool, seven = 0;
	struct ingot_runtime_options options = { .block = block, .block_bytes = sizeof block, .queue_capacity = 16 };
	if (ingot_runtime_open(&second, NULL) != INGOT_INVALID) /* no block */
		return 2;
	MUST(ingot_runtime_open(&runtime, &options));
	if (ingot_runtime_open(&second, &options) != INGOT_INVALID) /* the block is taken */
		return 3;
	if (ingot_backend_init(runtime, "multicore", NULL) != INGOT_MISSING)
		return 4;
	MUST(ingot_backend_init(runtime, "auto", NULL));
	MUST(ingot_device_get(runtime, "sync", 0, &device));
	MUST(ingot_stream_default(device, &stream));
	MUST(ingot_stream_open(device, &other));
	MUST(ingot_library_load(runtime, &MODULE, NULL, &library));
	MUST(ingot_library_node(library, INPUT, &in));
	MUST(ingot_library_node(library, OUTPUT, &result));
	MUST(ingot_context_new(stream, &context));
	MUST(ingot_link(context, library, MODULE.routines[0].name, &routine));
	MUST(ingot_routine_context(routine, &linked));
	MUST(ingot_context_child(linked, other, &beside));
	MUST(ingot_write(linked, in, input_0, INPUT_BYTES, NULL));
	MUST(ingot_routine_run(routine, NULL));
	MUST(ingot_read(beside, result, out, sizeof out, &done));
	MUST(ingot_event_sync(done));
	MUST(ingot_pool_open(device, 64, 64, INGOT_SLAB_PRIVATE, &pool));
	MUST(ingot_pool_fill(stream, pool, 0, 64, 7, NULL));
	MUST(ingot_event_record(stream, &mark));
	MUST(ingot_stream_wait(other, mark));
	MUST(ingot_pool_read(other, pool, 60, &seven, 4, NULL));
	MUST(ingot_event_open(runtime, &promise));
	if (seven != 0x07070707 || ingot_event_sync(promise) != INGOT_WOULD_BLOCK
	        || ingot_stream_wait(stream, promise) != INGOT_WOULD_BLOCK
	        || ingot_pool_open(device, 1 << 20, 0, INGOT_SLAB_PRIVATE, &pool) != INGOT_MEMORY)
		return 5;
	MUST(ingot_event_close(promise));
	MUST(ingot_event_close(mark));
	MUST(ingot_event_close(done));
	MUST(ingot_context_close(beside));
	MUST(ingot_routine_close(routine));
	MUST(ingot_context_close(context));
	MUST(ingot_library_close(library));
	MUST(ingot_stream_close(other));
	MUST(ingot_runtime_close(runtime));           /* nothing is left open, and nothing lost */
	MUST(ingot_runtime_open(&runtime, &options)); /* so the block can be had again */
	MUST(ingot_runtime_close(runtime));
	return 0;
}

static uint32_t __attribute__((noinline)) stack_of_call(int *status)
{
	volatile uint8_t *sp, *p;
	__asm__ volatile("mov %0, sp" : "=r"(sp));
	for (p = stack_limit; p < sp; p++)
		*p = PAINT;
	*status = run();
	for (p = stack_limit; p < sp && *p == PAINT;)
		p++;
	return (uint32_t)(sp - p);
}

int main(void)
{
	int status = -1, wrong = 0;
	uint32_t touched = sizeof block;
	for (uint32_t i = 0; i < sizeof block; i++)
		block[i] = PAINT;
	uint32_t stack = stack_of_call(&status);
	while (touched && block[touched - 1] == PAINT)
		touched--;
	for (int i = 0; i < OUTPUT_WORDS; i++)
		wrong += out[i] != (expected[i] ^ (i == 0 ? FLIP : 0));
	print("status "), print_number((uint32_t)status);
	print(" wrong "), print_number((uint32_t)wrong);
	print(" stack "), print_number(stack);
	print(" block "), print_number(touched), print("\n");
	return status || wrong ? 42 : 0;
}
