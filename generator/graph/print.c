/* print.c: graph -> text. */
#include "graph/graph.h"

void graph_print_type(const struct tensor *tensor, struct text *out)
{
	text_adds(out, dtypes[tensor->type].text);
	if (tensor->rank < 0)
		return;
	text_adds(out, "[");
	for (int i = 0; i < tensor->rank; i++) {
		text_adds(out, i ? "," : "");
		if (tensor->dims[i].extent >= 0)
			text_printf(out, "%lld", (long long)tensor->dims[i].extent);
		else
			text_adds(out, tensor->dims[i].symbol ? tensor->dims[i].symbol : "?");
	}
	text_adds(out, "]");
}
