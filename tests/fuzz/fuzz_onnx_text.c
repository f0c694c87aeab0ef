/* fuzz_onnx_text.c: the same for text: what does not begin as text does is made to. */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	text[0] = '<';
	if (size)
		memcpy(text + 1, data, size);
	bool begins = size && *data == '<';
	fuzz_graph((const uint8_t *)text + begins, size + 1 - begins);
	free(text);
	return 0;
}
