/* main.c: runs a model through libingot, just in time, on inputs that are all ones, and prints the first results.
 *
 * usage: jit MODEL [DIM=EXTENT]...
 *
 * Build it so, where ingot is installed:
 *     cc examples/jit/main.c $(pkg-config --cflags --libs ingot) -o jit
 *     ./jit examples/digits/digits.onnx */
#include <ingot/ingot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int stop(struct ingot_model *model, enum ingot_model_status status)
{
	fprintf(stderr, "%s\n", ingot_model_message(model));
	ingot_close(model);
	return (int)status;
}

int main(int argc, char **argv)
{
	struct ingot_model *model;
	enum ingot_model_status status;
	void *inputs[64] = { NULL };
	if (argc < 2) {
		fprintf(stderr, "usage: %s MODEL [DIM=EXTENT]...\n", argv[0]);
		return 2;
	}
	if ((status = ingot_open(&model, argv[1])))
		return stop(model, status);
	for (int i = 2; i < argc; i++) {
		char *equals = strrchr(argv[i], '=');
		if (equals)
			*equals = 0;
		if ((status = ingot_set_dim(model, argv[i], equals ? atoll(equals + 1) : -1)))
			return stop(model, status);
	}
	if ((status = ingot_compile(model, INGOT_JIT)))
		return stop(model, status);
	for (size_t i = 0; i < ingot_input_count(model) && i < 64; i++) {
		const struct ingot_tensor *input = ingot_input(model, i);
		inputs[i] = calloc(1, input->bytes + 1);
		if (!inputs[i])
			return 6;
		for (size_t k = 0; input->type == INGOT_TYPE_FLOAT && k < input->bytes / 4; k++)
			((float *)inputs[i])[k] = 1;
		if ((status = ingot_set_input(model, i, inputs[i])))
			return stop(model, status);
	}
	if ((status = ingot_run(model)))
		return stop(model, status);
	for (size_t i = 0; i < ingot_output_count(model); i++) {
		const struct ingot_tensor *output = ingot_output(model, i);
		const float *values = ingot_result(model, i);
		printf("%s:", output->name);
		for (size_t k = 0; output->type == INGOT_TYPE_FLOAT && k < output->bytes / 4 && k < 8; k++)
			printf(" %g", values[k]);
		printf("\n");
	}
	ingot_close(model);
	for (size_t i = 0; i < 64; i++)
		free(inputs[i]);
	return 0;
}
