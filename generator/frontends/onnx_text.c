/* onnx_text.c: ONNX's textual syntax -> graph. */
#include "frontends/reader.h"

struct graph *read_text(struct reader *reader, const char *text, size_t count)
{
	(void)text, (void)count;
	fail(reader->build, EXIT_UNSUPPORTED, reader->file, "ONNX text is not read yet");
}
