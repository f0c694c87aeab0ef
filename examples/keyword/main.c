/* main.c: hears sound.wav, 20 ms at a time, and says five times a second which word the network takes it for: its number, its score, and a
 * hash of all that the network saw and said, so that a board can be compared with any other machine.
 *
 * What print and print_number do is the machine's: board.c's of `--package make`, or stdio's with -DHOSTED. */
#include "keyword.h"
#include <stdint.h>
#if defined(HOSTED)
#include <stdio.h>
static void print(const char *text) { fputs(text, stdout); }
static void print_number(uint32_t number) { printf("%u", (unsigned)number); }
#else
void print(const char *text);
void print_number(uint32_t number);
#endif

enum { HOP = KEYWORD_FRONT_SAMPLES_ELEMENTS, HOPS = 16000 / HOP, HOPS_A_WORD = 10 };

extern const int16_t sound[]; /* samples of sound.wav, behind its head */
__asm__("\t.section .rodata\n\t.balign 4\n\t.globl sound\n"
        "sound:\t.incbin \"sound.wav\", 44\n\t.text\n");

static unsigned char workspace[KEYWORD_WORKSPACE_BYTES] __attribute__((aligned(KEYWORD_WORKSPACE_ALIGN)));
static unsigned char state[KEYWORD_FRONT_STATE_BYTES] __attribute__((aligned(KEYWORD_FRONT_STATE_ALIGN)));
static signed char seen[KEYWORD_WORDS_INPUT_ELEMENTS], scores[KEYWORD_WORDS_OUTPUT_ELEMENTS];

static uint32_t hash(uint32_t h, const signed char *bytes, int count)
{
	for (int i = 0; i < count; i++)
		h = (h ^ (unsigned char)bytes[i]) * 16777619u;
	return h;
}

int main(void)
{
	const struct keyword_front_context hearing = { .workspace = workspace, .state = state };
	const struct keyword_words_context saying = { .workspace = workspace };
	int status = keyword_front_reset(&hearing);
	for (int hop = 0; hop < HOPS && !status; hop++) {
		const struct keyword_front_inputs heard = { .samples = sound + HOP * hop };
		const struct keyword_front_outputs features = { .input = seen };
		const struct keyword_words_inputs in = { .input = seen };
		const struct keyword_words_outputs out = { .output = scores };
		status = keyword_front_run(&heard, &features, &hearing);
		if (status || (hop + 1) % HOPS_A_WORD)
			continue;
		status = keyword_words_run(&in, &out, &saying);
		int best = 0;
		for (int i = 0; i < KEYWORD_WORDS_OUTPUT_ELEMENTS; i++)
			best = scores[i] > scores[best] ? i : best;
		print("word "), print_number((uint32_t)best), print(" score "),
		        print_number((uint32_t)(scores[best] + 128));
		print(" hash "),
		        print_number(hash(hash(2166136261u, seen, (int)sizeof seen), scores, (int)sizeof scores)),
		        print("\n");
	}
	return status;
}
