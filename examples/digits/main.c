/* main.c: a digit drawn in characters -> the ten scores of the network that ingot compiled into a library.
 *
 * usage: digits [FILE]      (without FILE: the drawing below; '#' is ink, '+' half of it, anything else is none)
 *
 * Build it so:
 *     ingot build examples/digits/digits.onnx --cpu native -o out/digits
 *     cc -O2 -Iout/digits examples/digits/main.c out/digits/libdigits.a -o out/digits/digits
 * The library takes no memory and no time to start: the network's own memory is the one static array below. */
#include "digits.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SIDE = 28, CLASSES = 10, CALLS = 2000 };
static const double seconds = 0.5; /* enough calls, where one takes long */

static const char drawing[] = "..........\n"
                              "..######..\n"
                              ".##....##.\n"
                              ".......##.\n"
                              "......##..\n"
                              "...####...\n"
                              "......##..\n"
                              ".......##.\n"
                              ".......##.\n"
                              ".##....##.\n"
                              "..######..\n"
                              "..........\n";

static _Alignas(DIGITS_WORKSPACE_ALIGN) unsigned char workspace[DIGITS_WORKSPACE_BYTES ? DIGITS_WORKSPACE_BYTES : 1];

static float ink(char c) { return c == '#' ? 1.0f : c == '+' ? 0.5f : 0.0f; }

/* Centres the drawing, doubled where it fits into half the side.  Lines that begin with ';' are comments.
 * Returns 0 where it has more lines or columns than the picture. */
static int paint(const char *text, float image[SIDE][SIDE])
{
	const char *rows[SIDE];
	int lengths[SIDE], height = 0, width = 0;
	for (const char *line = text; *line;) {
		int length = (int)strcspn(line, "\n");
		if (*line != ';') {
			if (height == SIDE || length > SIDE)
				return 0;
			rows[height] = line;
			lengths[height++] = length;
			width = length > width ? length : width;
		}
		line += length + (line[length] == '\n');
	}
	int scale = height <= SIDE / 2 && width <= SIDE / 2 ? 2 : 1;
	int top = (SIDE - scale * height) / 2, left = (SIDE - scale * width) / 2;
	memset(image, 0, sizeof(float) * SIDE * SIDE);
	for (int i = 0; i < scale * height; i++)
		for (int j = 0; j < scale * lengths[i / scale]; j++)
			image[top + i][left + j] = ink(rows[i / scale][j / scale]);
	return 1;
}

static double now(void)
{
	struct timespec t;
	timespec_get(&t, TIME_UTC);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char **argv)
{
	static float image[SIDE][SIDE], scores[CLASSES];
	static char text[1 << 16];
	if (argc > 2) {
		fprintf(stderr, "usage: %s [FILE]\n", argv[0]);
		return 2;
	}
	if (argc == 2) {
		FILE *file = fopen(argv[1], "r");
		if (!file) {
			perror(argv[1]);
			return 2;
		}
		text[fread(text, 1, sizeof text - 1, file)] = '\0';
		fclose(file);
	} else {
		memcpy(text, drawing, sizeof drawing);
	}
	if (!paint(text, image)) {
		fprintf(stderr, "a digit has at most %d lines of %d characters\n", SIDE, SIDE);
		return 2;
	}

	struct digits_inputs in = { .image = &image[0][0] };
	struct digits_outputs out = { .scores = scores };
	struct digits_context context = { .workspace = workspace };
	double best = 1e30, began = now();
	int calls = 0;
	while (calls < CALLS && now() - began < seconds * 1e6) {
		double start = now();
		int status = digits_run(&in, &out, &context);
		if (status == DIGITS_BAD_CPU) {
			fprintf(stderr,
			        "this CPU lacks instructions that the library is made for: see ingot build --cpu\n");
			return 1;
		}
		if (status) {
			fprintf(stderr, "digits_run returned %d\n", status);
			return 1;
		}
		double spent = now() - start;
		best = spent < best ? spent : best;
		calls++;
	}

	int guess = 0;
	for (int i = 1; i < CLASSES; i++)
		if (scores[i] > scores[guess])
			guess = i;
	for (int i = 0; i < SIDE; i += 2) { /* characters are twice as high as wide */
		printf("    ");
		for (int j = 0; j < SIDE; j++)
			putchar(" .+#"[(int)((image[i][j] + image[i + 1][j]) * 1.5f)]);
		putchar('\n');
	}
	for (int i = 0; i < CLASSES; i++)
		printf("%d  %6.4f  %.*s\n", i, scores[i], (int)(scores[i] * 40.0f + 0.5f),
		        "########################################");
	printf("It is a %d.  Latency: %.1f us (the best of %d calls); workspace: %lu bytes; weights: %lu bytes.\n",
	        guess, best, calls, (unsigned long)DIGITS_WORKSPACE_BYTES, (unsigned long)DIGITS_WEIGHTS_BYTES);
	return 0;
}
