/* fuzz_value.c: any bytes as ONNX's test data: the first says the form, the rest is a TensorProto, SequenceProto or
 * OptionalProto.  They are read or refused with one line and exit code 3, 4 or 6, in 64 MiB; what was read is of that
 * form, and every element is known and has its bytes. */
#include <stdio.h>
#include <stdlib.h>
#include "frontends/frontends.h"

static void want(bool right, const char *promise)
{
	if (right)
		return;
	fprintf(stderr, "broken promise: %s\n", promise);
	abort();
}

static void check_tensor(const struct tensor *tensor)
{
	want(!tensor->form && tensor_is_known(tensor) && tensor->data, "an element is a tensor with data");
	volatile unsigned char sum = 0;
	for (size_t i = 0; i < tensor->bytes; i++)
		sum = (unsigned char)(sum + ((const unsigned char *)tensor->data)[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct build build;
	int form = size ? data[0] & (FORM_SEQUENCE | FORM_OPTIONAL) : 0;
	build_init(&build);
	build.arena->limit = 64 << 20;
	if (size && BUILD_TRY(&build)) {
		const struct tensor *value = value_read_memory(&build, "fuzz", data + 1, size - 1, form);
		want(value->form == form, "a value is of the form that was asked for");
		if (!form)
			check_tensor(value);
		want(!form || !value->list->nothing || (!value->list->count && (form & FORM_OPTIONAL)),
		        "an optional alone holds nothing");
		want(form != FORM_OPTIONAL || value->list->nothing || value->list->count == 1,
		        "an optional tensor is one");
		for (size_t i = 0; form && i < value->list->count; i++)
			check_tensor(value->list->at[i]);
	}
	if (build.code != EXIT_RIGHT)
		want((build.code == EXIT_INVALID || build.code == EXIT_UNSUPPORTED || build.code == EXIT_LIMIT)
		                && *build.message,
		        "one line and exit code 3, 4 or 6");
	build_release(&build);
	return 0;
}
