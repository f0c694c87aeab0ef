/* main.c: a seed -> stories, word by word, from a language model that ingot compiled into a library.
 *
 * usage: writer [WORDS [SEED [HEAT]]]      (150, 1 and 0.5; a heat of 0.1 takes the likeliest word, 2 nearly any)
 *
 * Build it so:
 *     ingot build examples/writer/writer.onnxtxt --state time=time_next --state keys0=next_keys0 --state values0=next_values0 \
 *                 --state keys1=next_keys1 --state values1=next_values1 -o out/writer
 *     cc -O2 -Iout/writer examples/writer/main.c out/writer/libwriter.a -lm -o out/writer/writer
 * Keys and values of the words so far are the library's state: a call computes one word's. */
#define _POSIX_C_SOURCE 200809L
#include "writer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* As make.py has them. */
enum { FULL_STOP, END };
static const char *const words[WRITER_CHANCES_ELEMENTS] = { ".", "/", "the", "a", "old", "red", "small", "wise", "shy",
	"fox", "owl", "cat", "bear", "crow", "mole", "hare", "saw", "found", "took", "lost", "nut", "fish", "hat",
	"key", "leaf", "ring", "in", "woods", "by", "river", "on", "hill", "then", "went", "home", "hid", "there", "no",
	"one", "else", "was", "not", "next", "day", "all", "others", "ran", "after" };
static unsigned char workspace[WRITER_WORKSPACE_BYTES] __attribute__((aligned(WRITER_WORKSPACE_ALIGN)));
static unsigned char state[WRITER_STATE_BYTES] __attribute__((aligned(WRITER_STATE_ALIGN)));
static uint64_t drawn;

/* In [0, 1): splitmix64. */
static float draw(void)
{
	uint64_t z = drawn += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return (float)((z ^ (z >> 31)) >> 40) / 16777216.0f;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 150;
	float heat = argc > 3 ? strtof(argv[3], NULL) : 0.5f, chances[WRITER_CHANCES_ELEMENTS];
	long long word = END; /* of the story before */
	const char *between = "";
	double spent = 0;
	drawn = argc > 2 ? (uint64_t)atoi(argv[2]) : 1;
	if (argc > 4 || count < 1 || !(heat > 0)) {
		fprintf(stderr, "usage: %s [WORDS [SEED [HEAT]]]\n", argv[0]);
		return 2;
	}
	struct writer_inputs in = { .word = &word, .heat = &heat };
	struct writer_outputs out = { .chances = chances };
	struct writer_context context = { .workspace = workspace, .state = state };
	writer_reset(&context);
	for (int n = 0; n < count; n++) {
		double start = now();
		int status = writer_run(&in, &out, &context);
		if (status) {
			fprintf(stderr, "writer_run returned %d\n", status);
			return 1;
		}
		spent += now() - start;
		float left = draw();
		for (word = 0; word < WRITER_CHANCES_ELEMENTS - 1 && left >= chances[word]; word++)
			left -= chances[word];
		printf("%s%s", word == FULL_STOP ? "" : between, word == END ? "\n" : words[word]);
		between = word == END ? "" : word == FULL_STOP ? "\n" : " ";
		fflush(stdout);
	}
	printf("\n%.1f us a word; state %lu bytes, workspace %lu bytes, weights %lu bytes.\n", spent / count,
	        (unsigned long)WRITER_STATE_BYTES, (unsigned long)WRITER_WORKSPACE_BYTES,
	        (unsigned long)WRITER_WEIGHTS_BYTES);
	return 0;
}
