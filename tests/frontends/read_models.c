/* read_models.c: reads each model named, prints "PATH: CODE nodes N tensors N bytes N" or "PATH: CODE MESSAGE" a line.
 * Ends with 0 where every one was read. */
#include <stdio.h>
#include "frontends/frontends.h"

static void count(const struct graph *graph, size_t *nodes, size_t *tensors, size_t *bytes)
{
	*nodes += graph->nodes.count;
	*tensors += graph->tensors.count;
	for (size_t i = 0; i < graph->tensors.count; i++)
		*bytes += graph->tensors.at[i]->bytes;
	for (size_t i = 0; i < graph->nodes.count; i++)
		for (int k = 0; k < graph->nodes.at[i]->attribute_count; k++)
			if (graph->nodes.at[i]->attributes[k].g)
				count(graph->nodes.at[i]->attributes[k].g, nodes, tensors, bytes);
}

int main(int argc, char **argv)
{
	int bad = 0;
	for (int i = 1; i < argc; i++) {
		struct build build;
		build_init(&build);
		if (BUILD_TRY(&build)) {
			size_t nodes = 0, tensors = 0, bytes = 0;
			count(graph_read(&build, argv[i], NULL), &nodes, &tensors, &bytes);
			printf("%s: 0 nodes %zu tensors %zu bytes %zu\n", argv[i], nodes, tensors, bytes);
		} else {
			printf("%s: %d %s\n", argv[i], (int)build.code, build.message);
			bad = 1;
		}
		build_release(&build);
	}
	return bad;
}
