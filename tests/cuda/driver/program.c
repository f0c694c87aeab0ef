/* program.c: a CUDA library as a user calls it.  NAME, and from the manifest INPUTS, OUTPUTS: X(field, bytes) of each.
  CHECKED where the model has checks.
 *
 *     program ORDINAL BEHAVIOUR in_0 … out_0 …         BEHAVIOUR: host (three calls of run_host, all of the same
 *                                                      bits), once (one), beside (host, while somebody
 *                                                      captures), device (run, in streams of its own), or open
 *
 * Prints "STATUS message"; exit 0 whatever the status is. */
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define OF(what) JOINED(NAME, what)
#include HEADER
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *read_file(const char *path, size_t bytes)
{
	void *at = calloc(1, bytes + 1);
	FILE *file = fopen(path, "rb");
	if (!file || fread(at, 1, bytes, file) != bytes)
		exit(99);
	fclose(file);
	return at;
}

static void write_file(const char *path, const void *at, size_t bytes)
{
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(at, 1, bytes, file) != bytes || fclose(file))
		exit(99);
}

static int finish(struct OF(_device) * device, int status)
{
	printf("%d %s\n", status, OF(_message)(device));
	OF(_close)(device);
	OF(_close)(device); /* twice is once */
	return 0;
}

/* Memory of the caller's, through the driver that the library opened, in a stream of the caller's, captured from one,
 * in the NULL stream behind a copy that is ordered with it alone, and in the library's own. */
enum way { STREAM, CAPTURED, NULL_STREAM, OWN_STREAM, WAYS };
static int with_device_memory(
        struct OF(_device) * device, const struct OF(_inputs) * in, const struct OF(_outputs) * out)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *stream, *graph, *executable;
	int (*retain)(void **, int), (*release)(int), (*push)(void *), (*pop)(void **),
	        (*allocate)(unsigned long long *, size_t), (*give)(unsigned long long),
	        (*put)(unsigned long long, const void *, size_t), (*wait)(void *),
	        (*up)(unsigned long long, const void *, size_t, void *),
	        (*down)(void *, unsigned long long, size_t, void *), (*create)(void **, unsigned), (*destroy)(void *),
	        (*begin)(void *, int), (*end)(void *, void **), (*instantiate)(void **, void *, unsigned long long),
	        (*drop)(void *), (*play)(void *, void *), (*stop)(void *);
	const struct {
		void *to;
		const char *name;
	} functions[] = { { &retain, "cuDevicePrimaryCtxRetain" }, { &release, "cuDevicePrimaryCtxRelease_v2" },
		{ &push, "cuCtxPushCurrent_v2" }, { &pop, "cuCtxPopCurrent_v2" }, { &allocate, "cuMemAlloc_v2" },
		{ &give, "cuMemFree_v2" }, { &up, "cuMemcpyHtoDAsync_v2" }, { &put, "cuMemcpyHtoD_v2" },
		{ &wait, "cuStreamSynchronize" }, { &down, "cuMemcpyDtoHAsync_v2" }, { &create, "cuStreamCreate" },
		{ &destroy, "cuStreamDestroy_v2" }, { &begin, "cuStreamBeginCapture_v2" },
		{ &end, "cuStreamEndCapture" }, { &instantiate, "cuGraphInstantiateWithFlags" },
		{ &drop, "cuGraphDestroy" }, { &play, "cuGraphLaunch" }, { &stop, "cuGraphExecDestroy" } };
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *symbol = dlsym(cuda, functions[i].name);
		memcpy(functions[i].to, &symbol, sizeof symbol);
	}
	retain(&context, device->ordinal);
	push(context);
	int status = 0;
	for (enum way way = STREAM; way < WAYS && !status; way++) {
		struct OF(_inputs) from;
		struct OF(_outputs) to;
		unsigned long long at[64], workspace;
		int count = 0;
		stream = NULL;
		if (way != NULL_STREAM)
			create(&stream, 1);
		allocate(&workspace, WORKSPACE + 256);
#define X(field, bytes) \
	allocate(&at[count], bytes + 16); \
	if (way == NULL_STREAM) \
		put(at[count], in->field, bytes); \
	else \
		up(at[count], in->field, bytes, stream); \
	memcpy(&from.field, &at[count++], 8);
		INPUTS
#undef X
#define X(field, bytes) \
	allocate(&at[count], bytes + 16); \
	memcpy(&to.field, &at[count++], 8);
		OUTPUTS
#undef X
		struct OF(_context) here = { .device = device,
			.stream = way == OWN_STREAM ? OWN : stream,
			.workspace = (void *)(uintptr_t)workspace };
		if (way == OWN_STREAM)
			wait(stream);
		if (way != CAPTURED)
			status = OF(_run)(&from, &to, &here);
		else {
			begin(stream, 0);
			status = OF(_run)(&from, &to, &here);
			end(stream, &graph);
			instantiate(&executable, graph, 0);
			drop(graph);
			play(executable, stream);
		}
		status = status ? status : OF(_sync)(&here);
#ifdef CHECKED
		status = status ? status : OF(_checked)(&here);
#endif
#define X(field, bytes) \
	{ \
		unsigned long long address; \
		memcpy(&address, &to.field, 8); \
		char *got = malloc(bytes + 1); \
		down(got, address, bytes, stream); \
		if (way == STREAM) \
			memcpy((void *)(uintptr_t)out->field, got, bytes); \
		else if (memcmp(out->field, got, bytes)) \
			status = 98; \
		free(got); \
	}
		OUTPUTS
#undef X
		here.workspace = (void *)(uintptr_t)(workspace + 4);
		if (OF(_run)(&from, &to, &here) != 2)
			status = 97;
		if (way == CAPTURED)
			stop(executable);
		give(workspace);
		while (count)
			give(at[--count]);
		if (stream)
			destroy(stream);
	}
	pop(&context);
	release(device->ordinal);
	return status;
}

/* Somebody's capture of a stream, in the mode that forbids unsafe calls to all threads. */
static int others_capture(void **stream, int ordinal, bool begins)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *graph;
	int (*start)(unsigned), (*retain)(void **, int), (*release)(int), (*push)(void *), (*create)(void **, unsigned),
	        (*begin)(void *, int), (*end)(void *, void **), (*drop)(void *), (*destroy)(void *), (*pop)(void **);
	const struct {
		void *to;
		const char *name;
	} functions[] = { { &start, "cuInit" }, { &retain, "cuDevicePrimaryCtxRetain" },
		{ &release, "cuDevicePrimaryCtxRelease_v2" }, { &push, "cuCtxPushCurrent_v2" },
		{ &create, "cuStreamCreate" }, { &begin, "cuStreamBeginCapture_v2" }, { &end, "cuStreamEndCapture" },
		{ &drop, "cuGraphDestroy" }, { &destroy, "cuStreamDestroy_v2" }, { &pop, "cuCtxPopCurrent_v2" } };
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *symbol = dlsym(cuda, functions[i].name);
		memcpy(functions[i].to, &symbol, sizeof symbol);
	}
	if (begins)
		return start(0) || retain(&context, ordinal) || push(context) || create(stream, 1) || begin(*stream, 0);
	return end(*stream, &graph) || drop(graph) || destroy(*stream) || pop(&context) || release(ordinal);
}

int main(int count, char **arguments)
{
	struct OF(_device) device;
	struct OF(_inputs) in;
	struct OF(_outputs) out, first = { 0 };
	struct OF(_context) context = { .device = &device };
	bool beside = count > 2 && !strcmp(arguments[2], "beside");
	void *stream;
	if (beside && others_capture(&stream, atoi(arguments[1]), true))
		return 94;
	int next = 3, status = OF(_open)(&device, atoi(arguments[1]), NULL);
	if (status || !strcmp(arguments[2], "open"))
		return finish(&device, status);
#define X(field, bytes) in.field = read_file(arguments[next++], bytes);
	INPUTS
#undef X
#define X(field, bytes) out.field = calloc(1, bytes + 1);
	OUTPUTS
#undef X
	if (OF(_run_host)(&in, NULL, &context) != 1 || OF(_run_host)(&in, &out, NULL) != 1
	        || OF(_open)(NULL, 0, NULL) != 1 || OF(_sync)(NULL) != 1)
		return finish(&device, 96);
	if (!strcmp(arguments[2], "device"))
		status = with_device_memory(&device, &in, &out);
	else
		for (int i = 0; i < (strcmp(arguments[2], "once") ? 3 : 1) && !status; i++) {
#define X(field, bytes) memset((void *)(uintptr_t)out.field, 0xee, bytes);
			OUTPUTS
#undef X
			status = OF(_run_host)(&in, &out, &context);
#define X(field, bytes) \
	first.field = first.field ? first.field : memcpy(malloc(bytes + 1), out.field, bytes); \
	status = status || !memcmp(first.field, out.field, bytes) ? status : 95;
			OUTPUTS
#undef X
		}
#define X(field, bytes) write_file(arguments[next++], out.field, bytes);
	OUTPUTS
#undef X
	finish(&device, status);
	return beside && others_capture(&stream, atoi(arguments[1]), false) ? 93 : 0;
}
