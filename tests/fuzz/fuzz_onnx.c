/* fuzz_onnx.c: any bytes are read or refused, and what is read keeps its promise (fuzz_graph.h). */
#include "fuzz_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_graph(data, size); }
