/* digits.h: stands in for the header that ingot makes of examples/digits/digits.onnx, to test main.c by itself: score i
 * is the ink of rows 2 i + 4 and 2 i + 5, so that a test can tell where the drawing was put. */
#ifndef DIGITS_H
#define DIGITS_H
#define DIGITS_WORKSPACE_BYTES 4096
#define DIGITS_WORKSPACE_ALIGN 64
#define DIGITS_WEIGHTS_BYTES 1000

enum { DIGITS_OK = 0, DIGITS_BAD_CPU = 3 };
struct digits_inputs {
	const float *image;
};
struct digits_outputs {
	float *scores;
};
struct digits_context {
	void *workspace;
};

static int digits_run(
        const struct digits_inputs *in, const struct digits_outputs *out, const struct digits_context *context)
{
	if (!context->workspace)
		return 7;
	for (int i = 0; i < 10; i++) {
		out->scores[i] = 0;
		for (int j = 0; j < 56; j++)
			out->scores[i] += in->image[(2 * i + 4) * 28 + j] / 56;
	}
	return 0;
}
#endif
