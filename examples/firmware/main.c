/* main.c: the network of examples/digits on a Cortex-M4: scores of one picture, printed; exit code 0, or that of the network.
 *
 * It stands in place of the main that `--package make` writes; docs/firmware.md has the three commands that build it and
 * run it on QEMU's board. */
#include "digits.h"
#include <stdint.h>

void print(const char *text); /* board.c's */
void print_number(uint32_t number);

__asm__("\t.section .rodata.image, \"a\"\n\t.balign 4\n"
        "image:\t.incbin \"../../examples/digits/in_0.npy\", 128\n\t.text\n"); /* behind the head of a .npy file lie its floats */
extern const float image[DIGITS_IMAGE_ELEMENTS];

static unsigned char workspace[DIGITS_WORKSPACE_BYTES] __attribute__((aligned(DIGITS_WORKSPACE_ALIGN)));
static float scores[DIGITS_SCORES_ELEMENTS];

int main(void)
{
	struct digits_inputs in = { .image = image };
	struct digits_outputs out = { .scores = scores };
	struct digits_context context = { .workspace = workspace };
	int status = digits_run(&in, &out, &context);
	for (unsigned i = 0; i < DIGITS_SCORES_ELEMENTS; i++) {
		union {
			float score;
			unsigned bits;
		} one = { scores[i] };
		print_number(i), print(one.score < 0 ? ": -" : ": ");
		print_number((unsigned)((one.score < 0 ? -one.score : one.score) * 1000)), print(" thousandths, bits ");
		print_number(one.bits), print("\n");
	}
	return status;
}
