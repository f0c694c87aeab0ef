/* serve_models.c: models and their inputs on stdin -> their outputs on stdout, one after the other in one process, by
 * libingot's own interface.
 *
 * A request is a line "ENGINE BYTES INPUTS B0 B1 ..." (0 interpreter, 1 C, 2 JIT), the model's bytes, and those of each
 * input. An answer is a line "STATUS COUNT": where STATUS is 0, COUNT outputs follow, each a line "NAME TYPE RANK D0 D1
 * ... BYTES" and its bytes; else a message of COUNT bytes.  Ends at the end of stdin. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "ingot/ingot.h"

enum { INPUTS_MOST = 64 };

static void *read_bytes(size_t count)
{
	void *at = malloc(count + 1);
	if (!at || fread(at, 1, count, stdin) != count)
		exit(1);
	return at;
}

static enum ingot_model_status work(struct ingot_model **model, enum ingot_engine engine, const void *bytes,
        size_t count, void *const *inputs, const size_t *sizes, size_t given)
{
	enum ingot_model_status status = ingot_open_memory(model, bytes, count, "drawn.onnx");
	if (!status)
		status = ingot_compile(*model, engine);
	if (!status && ingot_input_count(*model) != given) {
		fprintf(stderr, "serve_models: %zu inputs are given, the model has %zu\n", given,
		        ingot_input_count(*model));
		exit(1);
	}
	for (size_t i = 0; !status && i < given; i++) {
		if (ingot_input(*model, i)->bytes != sizes[i]) {
			fprintf(stderr, "serve_models: input %zu has %zu bytes, %zu are given\n", i,
			        ingot_input(*model, i)->bytes, sizes[i]);
			exit(1);
		}
		status = ingot_set_input(*model, i, inputs[i]);
	}
	return status ? status : ingot_run(*model);
}

static void answer(const struct ingot_model *model)
{
	printf("0 %zu\n", ingot_output_count(model));
	for (size_t i = 0; i < ingot_output_count(model); i++) {
		const struct ingot_tensor *output = ingot_output(model, i);
		printf("%s %d %d", output->name, output->type, output->rank);
		for (int d = 0; d < output->rank; d++)
			printf(" %" PRId64, output->dims[d]);
		printf(" %zu\n", output->bytes);
		if (output->bytes)
			fwrite(ingot_result(model, i), 1, output->bytes, stdout);
	}
}

int main(void)
{
	int engine;
	size_t count, given;
	while (scanf("%d %zu %zu", &engine, &count, &given) == 3 && given <= INPUTS_MOST) {
		size_t sizes[INPUTS_MOST];
		void *inputs[INPUTS_MOST];
		for (size_t i = 0; i < given; i++)
			if (scanf("%zu", &sizes[i]) != 1)
				return 1;
		if (getchar() != '\n')
			return 1;
		void *bytes = read_bytes(count);
		for (size_t i = 0; i < given; i++)
			inputs[i] = read_bytes(sizes[i]);
		struct ingot_model *model = NULL;
		enum ingot_model_status status =
		        work(&model, (enum ingot_engine)engine, bytes, count, inputs, sizes, given);
		if (status) {
			const char *message = ingot_model_message(model);
			size_t length = 0;
			while (message[length])
				length++;
			printf("%d %zu\n%s", (int)status, length, message);
		} else {
			answer(model);
		}
		fflush(stdout);
		ingot_close(model);
		for (size_t i = 0; i < given; i++)
			free(inputs[i]);
		free(bytes);
	}
	return 0;
}
