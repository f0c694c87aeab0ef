/* emulator.cpp: a kernel, its pointers and a grid -> what a GPU would have stored.  A fiber for each thread of a
 * block, and the scheduler that runs one block after the other. */
#include "emulator.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
int emulator_current;

enum { STACK = 256 << 10, PAGE = 4096, MOST_THREADS = 1024, MOST_SHARED = 227 << 10 };
enum state { READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, AT_CONDITION, EXITED };

/* ---- switching stacks ---- */
#if defined(__x86_64__)
/* Saves what the System V ABI says a callee saves, swaps stack pointers, restores.  swapcontext takes ten times as
 * long: it makes a system call for the signal mask. */
extern "C" __attribute__((visibility("hidden"))) void emulator_switch(void **save, void *to);
__asm__(".text\n"
	".globl emulator_switch\n"
	".hidden emulator_switch\n"
	".type emulator_switch, @function\n"
	"emulator_switch:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size emulator_switch, . - emulator_switch\n");
struct context { void *sp; };
static void context_make(context *c, char *stack, void (*entry)(void))
{
	void **sp = (void **)(stack + STACK - 16);
	*--sp = nullptr;                                        /* entry never returns; this keeps its stack aligned */
	*--sp = (void *)entry;
	for (int i = 0; i < 6; i++)
		*--sp = nullptr;
	c->sp = sp;
}
static void context_switch(context *from, context *to) { emulator_switch(&from->sp, to->sp); }
#else
#include <ucontext.h>
struct context { ucontext_t u; };
static void context_make(context *c, char *stack, void (*entry)(void))
{
	getcontext(&c->u);
	c->u.uc_stack.ss_sp = stack;
	c->u.uc_stack.ss_size = STACK;
	makecontext(&c->u, entry, 0);
}
static void context_switch(context *from, context *to) { swapcontext(&from->u, &to->u); }
#endif

/* ---- a block of fibers ---- */
/* Asynchronous copies of a thread, oldest first; `groups` are committed. */
struct copy { void *to; const void *from; int bytes, there, group, line, size; };
struct copies { struct copy *at; int count, room, groups; };
struct condition { bool (*ready)(const void *); const void *of; const char *what; };
struct fiber { struct context context; enum state state; int line; unsigned mask; uint3 index; void *fake; struct copies copies; struct condition until; };
static struct {
	const char *name;
	void (*thunk)(void **);
	void **pointers;
	fiber *fibers;
	int count;
	struct context scheduler;
	char *stacks;
	unsigned char (*mailboxes)[32][32];
	void *shared;
	bool failed;                                            /* inside a thread: the launch ends at its next turn */
} run;
static char message[512];
static int order = -1;
static unsigned first_block, most_blocks = ~0u;
static unsigned random_state = 12345;

int emulator_lane(void) { return emulator_current & 31; }
unsigned char *emulator_mailbox(int lane) { return run.mailboxes[emulator_current >> 5][lane]; }
void *emulator_shared(void) { return run.shared; }
const char *emulator_message(void) { return message; }
void emulator_set_order(enum emulator_order to) { order = to; }
void emulator_set_blocks(unsigned first, unsigned count) { first_block = first, most_blocks = count; }

static int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int complain(const char *format, ...)
{
	va_list arguments;
	int n = snprintf(message, sizeof message, "%s: block %u,%u,%u: ", run.name, blockIdx.x, blockIdx.y, blockIdx.z);
	va_start(arguments, format);
	if (n > 0 && n < (int)sizeof message)
		vsnprintf(message + n, sizeof message - (size_t)n, format, arguments);
	va_end(arguments);
	return 1;
}

/* ---- asynchronous copies ---- */
bool emulator_is_late(bool forward)
{
	static const char *const named = getenv("INGOT_EMULATOR_COPIES");
	static const char first = named ? *named : 0;
	if (first == 'r' || (!first && order == EMULATOR_RANDOM)) {
		random_state = random_state * 1664525u + 1013904223u;
		return random_state >> 16 & 1;
	}
	return first == 'l' || (!first && order == (forward ? EMULATOR_FORWARD : EMULATOR_BACKWARD));
}

static void copy_now(const struct copy *c)
{
	if (!c->bytes)
		return;
	if (c->there)
		memcpy(c->to, c->from, (size_t)c->bytes);
	else
		memset(c->to, 0, (size_t)c->bytes);
}

void emulator_fail(const char *what, int line)
{
	if (!run.failed)
		complain("thread %d: line %d: %s", emulator_current, line, what);
	run.failed = true;
}

void emulator_copy(void *to, const void *from, int bytes, int there, int line)
{
	struct copies *copies = &run.fibers[emulator_current].copies;
	struct copy c = { to, from, bytes, there, copies->groups, line, bytes };
	if ((uintptr_t)to % (unsigned)bytes || (there && (uintptr_t)from % (unsigned)bytes)) {
		emulator_fail("an asynchronous copy is misaligned", line);
		return;
	}
	if (emulator_watch_copy)
		emulator_watch_copy(to, from, bytes, there, __builtin_return_address(0));
	if (!emulator_is_late(true)) {
		copy_now(&c);
		c.bytes = 0;                                    /* done; still to be waited for */
	}
	if (copies->count == copies->room) {
		copies->room = copies->room ? 2 * copies->room : 64;
		copies->at = (struct copy *)realloc(copies->at, (size_t)copies->room * sizeof *copies->at);
		if (!copies->at)
			abort();
	}
	copies->at[copies->count++] = c;
}

void emulator_copy_commit(void) { run.fibers[emulator_current].copies.groups++; }

void emulator_copy_wait(int groups)
{
	struct copies *copies = &run.fibers[emulator_current].copies;
	int done = 0;
	for (; done < copies->count && copies->at[done].group < copies->groups - groups; done++) {
		copy_now(&copies->at[done]);
		if (emulator_watch_landed)
			emulator_watch_landed(copies->at[done].to, copies->at[done].size);
	}
	copies->count -= done;
	memmove(copies->at, copies->at + done, (size_t)copies->count * sizeof *copies->at);
}

/* AddressSanitizer keeps the bounds of the stack that runs; it has to be told when that is another one. */
#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_start_switch_fiber(void **, const void *, size_t);
extern "C" void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);
static const void *main_stack;
static size_t main_bytes;
static void leave_fiber(bool for_good)
{
	__sanitizer_start_switch_fiber(for_good ? nullptr : &run.fibers[emulator_current].fake, main_stack, main_bytes);
}
static void enter_fiber(void *fake) { __sanitizer_finish_switch_fiber(fake, &main_stack, &main_bytes); }
#else
static void leave_fiber(bool) {}
static void enter_fiber(void *) {}
#endif

static void fiber_main(void)
{
	enter_fiber(nullptr);
	run.thunk(run.pointers);
	if (run.fibers[emulator_current].copies.count)
		emulator_fail("no one waited for this asynchronous copy", run.fibers[emulator_current].copies.at->line);
	if (emulator_async_exit)
		emulator_async_exit();
	run.fibers[emulator_current].state = EXITED;
	leave_fiber(true);
	context_switch(&run.fibers[emulator_current].context, &run.scheduler);
	abort();
}

static void fiber_run(int i)
{
	emulator_current = i;
	threadIdx = run.fibers[i].index;
#if defined(__SANITIZE_ADDRESS__)
	void *fake = nullptr;
	__sanitizer_start_switch_fiber(&fake, run.stacks + (size_t)i * STACK, STACK);
	context_switch(&run.scheduler, &run.fibers[i].context);
	__sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
	context_switch(&run.scheduler, &run.fibers[i].context);
#endif
}

static void wait_as(enum state state, unsigned mask, int line)
{
	fiber *me = &run.fibers[emulator_current];
	me->state = state, me->mask = mask, me->line = line;
	leave_fiber(false);
	context_switch(&me->context, &run.scheduler);
	enter_fiber(me->fake);
}
void emulator_block_barrier(int line) { wait_as(AT_BLOCK_BARRIER, 0, line); }
void emulator_warp_barrier(unsigned mask, int line) { wait_as(AT_WARP_BARRIER, mask, line); }

void emulator_wait_until(bool (*ready)(const void *), const void *of, const char *what, int line)
{
	run.fibers[emulator_current].until = { ready, of, what };
	if (!ready(of))
		wait_as(AT_CONDITION, 0, line);
}

/* Those go on whose conditions have come true. */
static void release_ready(void)
{
	for (int i = 0; i < run.count; i++)
		if (run.fibers[i].state == AT_CONDITION && run.fibers[i].until.ready(run.fibers[i].until.of))
			run.fibers[i].state = READY;
}

static int complain_of_deadlock(void)
{
	int first = 0;
	while (first + 1 < run.count && run.fibers[first].state != AT_CONDITION)
		first++;
	return run.fibers[first].state != AT_CONDITION ? complain("deadlock")
		: complain("deadlock: thread %d waits at line %d for %s", first, run.fibers[first].line, run.fibers[first].until.what);
}

static void order_threads(int *turns)
{
	for (int i = 0; i < run.count; i++)
		turns[i] = order == EMULATOR_BACKWARD ? run.count - 1 - i : i;
	for (int i = run.count - 1; i > 0 && order == EMULATOR_RANDOM; i--) {
		random_state = random_state * 1664525u + 1013904223u;
		int j = (int)((random_state >> 8) % (unsigned)(i + 1)), t = turns[i];
		turns[i] = turns[j], turns[j] = t;
	}
}

/* A warp goes on when all lanes of the mask wait at the same line with the same mask.  1: some went on; -1: a
 * failure. */
static int release_warp(int first)
{
	int lanes = run.count - first < 32 ? run.count - first : 32, moved = 0;
	unsigned there = lanes == 32 ? ~0u : (1u << lanes) - 1;
	for (int lane = 0; lane < lanes; lane++) {
		const fiber *f = &run.fibers[first + lane];
		unsigned waiting = 0;
		if (f->state != AT_WARP_BARRIER)
			continue;
		if (!(f->mask >> lane & 1)) {
			complain("thread %d waits at line %d with a mask that it is not in", first + lane, f->line);
			return -1;
		}
		for (int other = 0; other < lanes; other++) {
			const fiber *g = &run.fibers[first + other];
			if (!(f->mask >> other & 1))
				continue;
			bool elsewhere = g->state == AT_WARP_BARRIER && (g->line != f->line || g->mask != f->mask);
			if (g->state == EXITED || g->state == AT_BLOCK_BARRIER || elsewhere) {
				if (g->state == EXITED)
					complain("divergent warp: thread %d waits at line %d, thread %d has left", first + lane, f->line, first + other);
				else
					complain("divergent warp: thread %d waits at line %d, thread %d at line %d", first + lane, f->line,
						first + other, g->line);
				return -1;
			}
			if (g->state == AT_WARP_BARRIER)
				waiting |= 1u << other;
		}
		if (waiting != (f->mask & there))
			continue;
		for (int other = 0; other < lanes; other++)
			if (waiting >> other & 1)
				run.fibers[first + other].state = READY;
		if (emulator_watch_met)
			emulator_watch_met(first, lanes);
		moved = 1;
	}
	return moved;
}

static int release_block(bool *moved)
{
	int waiting = 0, exited = 0, first = -1;
	for (int i = 0; i < run.count; i++) {
		waiting += run.fibers[i].state == AT_BLOCK_BARRIER;
		exited += run.fibers[i].state == EXITED;
		if (first < 0 && run.fibers[i].state == AT_BLOCK_BARRIER)
			first = i;
	}
	if (!waiting || waiting + exited < run.count)
		return 0;
	if (exited)
		return complain("divergent __syncthreads: thread %d waits at line %d, %d threads have left", first,
			run.fibers[first].line, exited);
	for (int i = 0; i < run.count; i++)
		if (run.fibers[i].line != run.fibers[first].line)
			return complain("divergent __syncthreads: thread %d at line %d, thread %d at line %d", first,
				run.fibers[first].line, i, run.fibers[i].line);
	for (int i = 0; i < run.count; i++)
		run.fibers[i].state = READY;
	if (emulator_watch_met)
		emulator_watch_met(0, run.count);
	*moved = true;
	return 0;
}

static int run_block(int *turns)
{
	for (;;) {
		bool moved = false;
		int exited = 0;
		order_threads(turns);
		release_ready();
		for (int i = 0; i < run.count; i++)
			if (run.fibers[turns[i]].state == READY)
				fiber_run(turns[i]), moved = true;
		if (run.failed)
			return 1;
		for (int first = 0; first < run.count; first += 32) {
			int released = release_warp(first);
			if (released < 0)
				return 1;
			moved |= released > 0;
		}
		if (release_block(&moved))
			return 1;
		for (int i = 0; i < run.count; i++)
			exited += run.fibers[i].state == EXITED;
		if (exited == run.count) {
			if (emulator_watch_met)
				emulator_watch_met(0, run.count);
			if (emulator_async_end)
				emulator_async_end();
			return run.failed;
		}
		if (!moved && !(emulator_async_land && emulator_async_land()))
			return run.failed || complain_of_deadlock();
	}
}

/* ---- a grid ---- */
extern "C" char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));
__attribute__((no_sanitize("address"), noinline)) static void poison_shared(size_t dynamic)
{
#if defined(__SANITIZE_ADDRESS__)
	/* Also what lies between the arrays, where memset would be caught. */
	for (volatile char *p = __start_emulated_shared; p < __stop_emulated_shared; p++)
		*p = (char)0xff;
#else
	memset(__start_emulated_shared, 0xff, (size_t)(__stop_emulated_shared - __start_emulated_shared));
#endif
	if (dynamic)
		memset(run.shared, 0xff, dynamic);
}

static void choose_order(void)
{
	const char *named = getenv("INGOT_EMULATOR_ORDER");
	order = named && !strcmp(named, "backward") ? EMULATOR_BACKWARD
		: named && !strcmp(named, "random") ? EMULATOR_RANDOM : EMULATOR_FORWARD;
}

static int run_grid(dim3 grid, dim3 block, size_t shared_bytes, int *turns)
{
	for (unsigned z = 0; z < grid.z; z++)
		for (unsigned y = 0; y < grid.y; y++)
			for (unsigned x = first_block; x < grid.x && x - first_block < most_blocks; x++) {
				blockIdx = { x, y, z };
				poison_shared(shared_bytes);
				if (emulator_watch_block)
					emulator_watch_block();
				if (emulator_async_block)
					emulator_async_block(run.shared, shared_bytes);
				for (int i = 0; i < run.count; i++) {
					unsigned u = (unsigned)i;
					run.fibers[i].state = READY;
					run.fibers[i].copies.count = run.fibers[i].copies.groups = 0;
					run.fibers[i].index = { u % block.x, u / block.x % block.y, u / block.x / block.y };
#if defined(__SANITIZE_ADDRESS__)
					__asan_unpoison_memory_region(run.stacks + (size_t)i * STACK + PAGE, STACK - PAGE);
#endif
					context_make(&run.fibers[i].context, run.stacks + (size_t)i * STACK, fiber_main);
				}
				if (run_block(turns))
					return 1;
			}
	return 0;
}

/* Stacks are kept for the launches that follow: to map them, each with its guard, takes longer than a small kernel. */
static struct stacks {
	char *at;
	int count;
	bool used;
	~stacks() { if (at && !used) munmap(at, (size_t)count * STACK); }
} kept;

static char *stacks_for(int count)
{
	if (count <= kept.count)
		return kept.at;
	if (kept.at)
		munmap(kept.at, (size_t)kept.count * STACK);
	kept.count = 0;
	kept.at = (char *)mmap(nullptr, (size_t)count * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (kept.at == MAP_FAILED)
		return kept.at = nullptr;
	for (int i = 0; i < count; i++)                       /* the lowest page of each stack: a frame too large faults there */
		mprotect(kept.at + (size_t)i * STACK, PAGE, PROT_NONE);
	kept.count = count;
	return kept.at;
}

extern "C" int emulator_launch(const char *name, void (*thunk)(void **), void **pointers, struct dim3 grid,
	struct dim3 block, size_t shared_bytes)
{
	unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
	int failed = 1, *turns = nullptr;
	run.name = name, run.thunk = thunk, run.pointers = pointers;
	message[0] = 0, run.failed = false;
	if (order < 0)
		choose_order();
	if (!threads || threads > MOST_THREADS || !grid.x || !grid.y || !grid.z || grid.x > 0x7fffffffu || grid.y > 65535
		|| grid.z > 65535)
		return complain("a grid of %u x %u x %u blocks of %llu threads cannot be launched", grid.x, grid.y, grid.z, threads);
	if (shared_bytes > MOST_SHARED)
		return complain("%zu bytes of dynamic shared memory", shared_bytes);
	run.count = (int)threads, gridDim = grid, blockDim = block;
	size_t bytes = (size_t)run.count * STACK;
	run.fibers = (fiber *)calloc((size_t)run.count, sizeof *run.fibers);
	run.mailboxes = (unsigned char (*)[32][32])calloc((size_t)(run.count + 31) / 32, sizeof *run.mailboxes);
	run.shared = shared_bytes ? aligned_alloc(1024, (shared_bytes + 1023) & ~(size_t)1023) : nullptr;
	turns = (int *)malloc((size_t)run.count * sizeof *turns);
	kept.used = true;
	run.stacks = stacks_for(run.count);
	if (!run.fibers || !run.mailboxes || !turns || !run.stacks || (shared_bytes && !run.shared))
		complain("out of memory");
	else {
		struct emulator_watched watched = { run.stacks, run.mailboxes, run.shared, bytes, (size_t)(run.count + 31) / 32 * sizeof *run.mailboxes, shared_bytes };
		if (emulator_watch_begin)
			emulator_watch_begin(&watched);
		failed = run_grid(grid, block, shared_bytes, turns);
		if (emulator_watch_end)
			emulator_watch_end(name);
	}
	kept.used = false;
	for (int i = 0; run.fibers && i < run.count; i++)
		free(run.fibers[i].copies.at);
	free(run.fibers), free(run.mailboxes), free(run.shared), free(turns);
	return failed;
}
