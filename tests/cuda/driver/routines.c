/* routines.c: a library of the managed profile, of one graph or several, on any backend: told by words what to do, it
 * prints what nodes hold.  MODULE, HEADER.
 *
 *     routines BACKEND WORDS…
 *         write NODE SEED          eight-bit noise of the seed, made numbers of its type
 *         run ROUTINE
 *         merge NODE SEED copy|streaming      as the value that another stream of the device has
 *         read NODE                prints its bytes
 *
 * All routines are linked in one chain of contexts, in the module's order.  exit 0: all went well; else the message. */
#include HEADER
#include "ingot/backend.h"
#include "need.h"
#include <string.h>

enum { ROUTINES_MOST = 16 };

static const struct ingot_module_node *row_of(const char *name)
{
	for (uint32_t i = 0; i < MODULE.node_count; i++)
		if (!strcmp(MODULE.nodes[i].name, name))
			return MODULE.nodes + i;
	exit(98);
}

/* Small numbers, of both signs where there are such. */
static void *noise(const struct ingot_module_node *row, unsigned seed)
{
	unsigned char *at = calloc(1, row->bytes + 1);
	uint64_t count = row->dtype == INGOT_F32 ? row->bytes / 4
	        : row->dtype == INGOT_I64        ? row->bytes / 8
	                                         : row->bytes;
	for (uint64_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		float number = (float)(seed >> 24) / 32 - 4;
		int64_t whole = seed >> 30;
		if (row->dtype == INGOT_F32)
			memcpy(at + 4 * i, &number, 4);
		else if (row->dtype == INGOT_I64)
			memcpy(at + 8 * i, &whole, 8);
		else
			at[i] = (unsigned char)whole;
	}
	return at;
}

static void show(const char *name, const unsigned char *at, uint64_t bytes)
{
	printf("%s ", name);
	for (uint64_t i = 0; i < bytes; i++)
		printf("%02x", at[i]);
	printf("\n");
}

int main(int count, char **words)
{
	static const struct ingot_backend *const backends[] = { &ingot_backend_cuda, NULL };
	struct ingot_device device;
	struct ingot_library library;
	struct ingot_node node;
	struct ingot_stream stream, beside;
	struct ingot_context base, last, other;
	struct ingot_routine routines[ROUTINES_MOST];
	bool moved, made = false;
	if (count < 2 || MODULE.routine_count > ROUTINES_MOST)
		return 99;
	NEED(ingot_runtime_open(&runtime, &(struct ingot_runtime_options){ .backends = backends }));
	NEED(ingot_backend_init(runtime, words[1], NULL));
	NEED(ingot_device_get(runtime, words[1], 0, &device));
	NEED(ingot_library_load(runtime, &MODULE, NULL, &library));
	NEED(ingot_stream_open(device, &stream));
	NEED(ingot_context_new(stream, &base));
	/* What no graph of the module writes, and no state is, the caller places. */
	for (uint32_t r = 0; r < MODULE.routine_count; r++)
		for (uint32_t i = 0; i < MODULE.routines[r].input_count; i++) {
			const struct ingot_module_node *row = MODULE.nodes + MODULE.routines[r].inputs[i];
			bool written = (row->flags & (INGOT_NODE_HOSTED | INGOT_NODE_STATE | INGOT_NODE_CONSTANT)) != 0;
			for (uint32_t o = 0; o < MODULE.routine_count; o++)
				for (uint32_t k = 0; k < MODULE.routines[o].output_count; k++)
					written |= MODULE.routines[o].outputs[k] == MODULE.routines[r].inputs[i];
			NEED(ingot_library_node(library, row->name, &node));
			if (!written)
				NEED(ingot_context_place(base, &node, 1));
		}
	NEED(ingot_link_all(base, library, NULL, NULL, routines, &last));
	for (int i = 2; i + 1 < count;) {
		const char *what = words[i++], *name = words[i++];
		if (!strcmp(what, "run")) {
			uint32_t r = 0;
			while (r < MODULE.routine_count && strcmp(MODULE.routines[r].name, name))
				r++;
			if (r == MODULE.routine_count)
				return 98;
			NEED(ingot_routine_run(routines[r], NULL));
			continue;
		}
		const struct ingot_module_node *row = row_of(name);
		NEED(ingot_library_node(library, name, &node));
		if (!strcmp(what, "read")) {
			unsigned char *got = calloc(1, row->bytes + 1);
			NEED(ingot_read(last, node, got, row->bytes, NULL));
			NEED(ingot_stream_await(stream));
			show(name, got, row->bytes);
			free(got);
			continue;
		}
		void *values = noise(row, (unsigned)atoi(words[i++]));
		if (!strcmp(what, "write"))
			NEED(ingot_write(last, node, values, row->bytes, NULL));
		else {
			if (!made) {
				NEED(ingot_stream_open(device, &beside));
				NEED(ingot_context_new(beside, &other));
				NEED(ingot_context_place(other, &node, 1));
			}
			made = true;
			NEED(ingot_write(other, node, values, row->bytes, NULL));
			NEED(ingot_device_to_device(node, last,
			        strcmp(words[i++], "copy") ? INGOT_MERGE_STREAMING : INGOT_MERGE_COPY, other, &moved,
			        NULL));
		}
		NEED(ingot_device_sync(device));
		free(values);
	}
	for (uint32_t r = MODULE.routine_count; r-- > 0;)
		NEED(ingot_routine_close(routines[r]));
	if (made)
		NEED(ingot_context_close(other));
	NEED(ingot_context_close(base));
	if (made)
		NEED(ingot_stream_close(beside));
	NEED(ingot_stream_close(stream));
	NEED(ingot_library_close(library));
	NEED(ingot_runtime_close(runtime)); /* nothing is left open */
	return 0;
}
