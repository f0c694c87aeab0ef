/* large_test.cpp: some blocks of one kernel whose tensors are too large to be run whole, built with -fsanitize=signed-integer-overflow.  Input and output are
 * addresses alone: a page comes when it is touched, of the input filled by the number of each element.  What the blocks store is checked where the graph is a
 * convolution (CHANNELS > 0: x [1,CHANNELS,HEIGHT,WIDTH], filters of SIDE x SIDE, padded, in w.bin), and the last block has to store the last element.
 * Exit 0: right; 1: wrong. */
#include "emulator.h"
#include "g.cu"
#include "g_launches.h"
#include <initializer_list>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t PIECE = 1 << 16;
static const unsigned EMPTY = 0xffc0dead; /* a NaN that no kernel makes */
struct tensor {
	char *at;
	size_t elements;
};
static tensor x = { nullptr, IN }, y = { nullptr, OUT };
static char *pieces[1 << 16]; /* of y, that are there */
static size_t piece_count;
static unsigned block;

static float value(size_t i) { return (float)((int)((unsigned)(i ^ i >> 32) * 2654435761u >> 16) % 17 - 8) / 8; }

static void stop(const char *why)
{
	printf("block %u: %s\n", block, why);
	fflush(stdout);
	_exit(1);
}

/* A touch of x or y brings the piece there; one of anything else is a wrong address. */
static void touched(int signal, siginfo_t *info, void *)
{
	char *at = (char *)info->si_addr;
	if (signal != SIGSEGV)
		stop("two ints overflow");
	for (tensor *t : { &x, &y }) {
		size_t first = (size_t)(at - t->at) / PIECE * PIECE / sizeof(float);
		if (at < t->at || first >= t->elements)
			continue;
		char *piece = t->at + first * sizeof(float);
		size_t count =
		        t->elements - first < PIECE / sizeof(float) ? t->elements - first : PIECE / sizeof(float);
		if (mprotect(piece, PIECE, PROT_READ | PROT_WRITE))
			stop("no memory");
		for (size_t i = 0; i < count; i++)
			if (t == &x)
				((float *)piece)[i] = value(first + i);
			else
				((unsigned *)piece)[i] = EMPTY;
		if (t == &y) {
			if (piece_count == sizeof pieces / sizeof *pieces)
				stop("too much is stored");
			pieces[piece_count++] = piece;
		}
		return;
	}
	stop("an address outside of the tensors");
}

static char *addresses(size_t elements)
{
	void *at = mmap(nullptr, elements * sizeof(float) + PIECE, PROT_NONE,
	        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		stop("no addresses");
	return (char *)at;
}

static char *file(const char *name)
{
	FILE *f = fopen(name, "rb");
	fseek(f, 0, SEEK_END);
	long bytes = ftell(f);
	char *at = (char *)aligned_alloc(256, ((size_t)bytes + 256) & ~(size_t)255);
	rewind(f);
	if (fread(at, 1, (size_t)bytes, f) != (size_t)bytes)
		stop(name);
	fclose(f);
	return at;
}

static void check(size_t i, const float *w, float got)
{
#if CHANNELS
	const long image = (long)HEIGHT * WIDTH, o = (long)i / image, row = (long)i % image / WIDTH,
	           column = (long)i % WIDTH;
	double sum = 0;
	for (long c = 0; c < CHANNELS; c++)
		for (long a = 0; a < SIDE; a++)
			for (long b = 0; b < SIDE; b++) {
				long r = row + a - SIDE / 2, q = column + b - SIDE / 2;
				if (r >= 0 && r < HEIGHT && q >= 0 && q < WIDTH)
					sum += (double)w[((o * CHANNELS + c) * SIDE + a) * SIDE + b]
					        * value((size_t)(c * image + r * WIDTH + q));
			}
	if (!(fabs(sum - got) < 1e-5 * CHANNELS * SIDE * SIDE)) {
		printf("element %zu is %g, not %g\n", i, (double)got, sum);
		stop("wrong");
	}
#else
	(void)i, (void)w, (void)got;
#endif
}

static void launch(void **p) { KERNEL }

int main(int, char **names)
{
	static char stack[1 << 16];
	stack_t other = { stack, 0, sizeof stack };
	struct sigaction action = {};
	const g_launch *one = &g_launches[0];
	char *weights = file(names[1]), *filters = file(names[2]);
	void *pointers[G_ARGUMENTS_MOST];
	x.at = addresses(IN), y.at = addresses(OUT);
	action.sa_sigaction = touched, action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	if (sigaltstack(&other, nullptr) || sigaction(SIGSEGV, &action, nullptr) || sigaction(SIGILL, &action, nullptr))
		stop("no signals");
	for (int i = 0; i < one->count; i++)
		pointers[i] = one->arguments[i].place == G_WEIGHTS ? weights + one->arguments[i].at
		        : one->arguments[i].place == G_INPUT       ? x.at
		                                                   : y.at;
	for (unsigned b : { 0u, one->blocks / 2, one->blocks - 1 }) {
		block = b;
		emulator_set_blocks(b, 1);
		if (emulator_launch(g_kernels[one->kernel], launch, pointers, dim3(one->blocks),
		            dim3(G_THREADS, one->warps), one->shared))
			stop(emulator_message());
	}
	size_t stored = 0;
	for (size_t p = 0; p < piece_count; p++)
		for (size_t i = 0; i < PIECE / sizeof(float) && (size_t)(pieces[p] - y.at) / sizeof(float) + i < OUT;
		        i++)
			if (((unsigned *)pieces[p])[i] != EMPTY) {
				check((size_t)(pieces[p] - y.at) / sizeof(float) + i, (const float *)filters,
				        ((float *)pieces[p])[i]);
				stored++;
			}
	if (((unsigned *)y.at)[OUT - 1] == EMPTY || stored < 3)
		stop("the last element is not stored");
	printf("%zu right, of %u blocks\n", stored, one->blocks);
	return 0;
}
