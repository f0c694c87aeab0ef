/* driver.c: a GPU through NVIDIA's driver, opened when it is asked for.  For ingot itself; the libraries that it makes
 * have code of their own. */
#include "backends/backends.h"
#include "common/cuda.h"
#include <dlfcn.h>
#include <stdio.h>

#define MEMBER(name, arguments) int(*name) arguments;
struct functions {
	CUDA_DRIVER(MEMBER) CUDA_DRIVER_EVENTS(MEMBER) CUDA_DRIVER_ENGINE(MEMBER) CUDA_DRIVER_MAPS(MEMBER)
};
#define ROW(name, arguments) { #name, #arguments },
const struct driver_function driver_functions[] = { CUDA_DRIVER(ROW) CUDA_DRIVER_LIBRARIES(ROW)
	        CUDA_DRIVER_MAPS(ROW){ 0 } };
static const char *const names[] = {
#define NAME(name, arguments) #name,
	CUDA_DRIVER(NAME) CUDA_DRIVER_EVENTS(NAME) CUDA_DRIVER_ENGINE(NAME) CUDA_DRIVER_MAPS(NAME)
};

struct cuda {
	struct build *build;
	struct functions call;
	int device, capability, version;
	void *primary, *stream;
	VECTOR(unsigned long long) memory;
	VECTOR(void *) events, modules, graphs;
	bool current;
};

static void check(struct cuda *cuda, int code, const char *name)
{
	const char *text = NULL;
	if (!code)
		return;
	cuda->call.cuGetErrorString(code, &text);
	fail(cuda->build, code == CUDA_OUT_OF_MEMORY ? EXIT_LIMIT : EXIT_ENVIRONMENT, NULL, "%s: %s (%d)", name,
	        text ? text : "the driver failed", code);
}
#define CALL(cuda, name, ...) check(cuda, (cuda)->call.name(__VA_ARGS__), #name)

static void open_driver(struct cuda *cuda)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* it stays: a driver is opened once for all */
	void **to = (void **)&cuda->call;
	if (!library)
		fail(cuda->build, EXIT_ENVIRONMENT, NULL,
		        "there is no libcuda.so.1, which NVIDIA's driver brings; cuda-emulated runs the same kernels "
		        "on the CPU");
	for (size_t i = 0; i < COUNT(names); i++)
		if (!(to[i] = dlsym(library, names[i])) && strcmp(names[i], "cuTensorMapEncodeTiled")) /* of CUDA 12 */
			fail(cuda->build, EXIT_ENVIRONMENT, NULL, "NVIDIA's driver lacks %s: it is too old", names[i]);
}

struct cuda *cuda_open(struct build *build, int ordinal)
{
	struct cuda *cuda = arena_new(build->arena, struct cuda);
	int count = 0, major = 0, minor = 0;
	cuda->build = build;
	open_driver(cuda);
	CALL(cuda, cuInit, 0);
	CALL(cuda, cuDriverGetVersion, &cuda->version);
	CALL(cuda, cuDeviceGetCount, &count);
	if (ordinal >= count)
		fail(build, EXIT_ENVIRONMENT, NULL, "there is no GPU %d: the driver has %d", ordinal, count);
	CALL(cuda, cuDeviceGet, &cuda->device, ordinal);
	CALL(cuda, cuDeviceGetAttribute, &major, CUDA_CAPABILITY_MAJOR, cuda->device);
	CALL(cuda, cuDeviceGetAttribute, &minor, CUDA_CAPABILITY_MINOR, cuda->device);
	cuda->capability = 10 * major + minor;
	CALL(cuda, cuDevicePrimaryCtxRetain, &cuda->primary, cuda->device);
	return cuda;
}

int cuda_capability(const struct cuda *cuda) { return cuda->capability; }

struct cuda_facts cuda_facts(struct cuda *cuda)
{
	enum { NAME_MOST = 256 };
	char *name = arena_alloc(cuda->build->arena, NAME_MOST);
	int processors = 0, l2 = 0;
	CALL(cuda, cuDeviceGetName, name, NAME_MOST, cuda->device);
	CALL(cuda, cuDeviceGetAttribute, &processors, CUDA_PROCESSORS, cuda->device);
	CALL(cuda, cuDeviceGetAttribute, &l2, CUDA_L2_BYTES, cuda->device);
	return (struct cuda_facts){ name, processors, l2 };
}

void cuda_enter(struct cuda *cuda)
{
	CALL(cuda, cuCtxPushCurrent_v2, cuda->primary);
	cuda->current = true;
	if (!cuda->stream)
		CALL(cuda, cuStreamCreate, &cuda->stream, CUDA_NON_BLOCKING);
}

void cuda_leave(struct cuda *cuda)
{
	void *left;
	if (cuda->current)
		cuda->call.cuCtxPopCurrent_v2(&left);
	cuda->current = false;
}

void *cuda_load(struct cuda *cuda, const char *image)
{
	void *module = NULL;
	CALL(cuda, cuModuleLoadDataEx, &module, image, 0, NULL, NULL);
	push(cuda->build->arena, &cuda->modules, module);
	return module;
}

void *cuda_kernel(struct cuda *cuda, void *module, const char *symbol, unsigned shared)
{
	void *kernel = NULL;
	check(cuda, cuda->call.cuModuleGetFunction(&kernel, module, symbol), symbol);
	if (shared)
		CALL(cuda, cuFuncSetAttribute, kernel, CUDA_DYNAMIC_BYTES, (int)shared);
	return kernel;
}

uint64_t cuda_memory(struct cuda *cuda, size_t bytes)
{
	unsigned long long at = 0;
	CALL(cuda, cuMemAlloc_v2, &at, bytes ? bytes : 1);
	push(cuda->build->arena, &cuda->memory, at);
	return at;
}

void cuda_upload(struct cuda *cuda, uint64_t to, const void *from, size_t bytes)
{
	if (bytes)
		CALL(cuda, cuMemcpyHtoDAsync_v2, to, from, bytes, cuda->stream);
}

void cuda_download(struct cuda *cuda, void *to, uint64_t from, size_t bytes)
{
	if (bytes)
		CALL(cuda, cuMemcpyDtoHAsync_v2, to, from, bytes, cuda->stream);
}

void cuda_map(struct cuda *cuda, void *to, uint64_t at, const int64_t *extent, int64_t pitch, const int *box)
{
	const unsigned long long extents[] = { (unsigned long long)extent[0], (unsigned long long)extent[1] },
	                         pitches[] = { (unsigned long long)pitch };
	const unsigned boxes[] = { (unsigned)box[0], (unsigned)box[1] }, steps[] = { 1, 1 };
	if (!cuda->call.cuTensorMapEncodeTiled)
		fail(cuda->build, EXIT_ENVIRONMENT, NULL,
		        "NVIDIA's driver lacks cuTensorMapEncodeTiled: it is too old");
	CALL(cuda, cuTensorMapEncodeTiled, to, CUDA_MAP_DWORDS, 2, (void *)(uintptr_t)at, extents, pitches, boxes,
	        steps, 0, CUDA_MAP_SWIZZLE, CUDA_MAP_LINES, 0);
}

void cuda_launch(struct cuda *cuda, void *kernel, const char *name, unsigned blocks, unsigned warps, unsigned shared,
        void **arguments)
{
	check(cuda,
	        cuda->call.cuLaunchKernel(kernel, blocks, 1, 1, 32, warps, 1, shared, cuda->stream, arguments, NULL),
	        name);
}

void cuda_sync(struct cuda *cuda) { CALL(cuda, cuStreamSynchronize, cuda->stream); }

void cuda_finish(struct cuda *cuda, const char *kernel)
{
	int code = cuda->call.cuStreamSynchronize(cuda->stream);
	if (code)
		check(cuda, code, arena_printf(cuda->build->arena, "kernel %s", kernel));
}

void cuda_capture(struct cuda *cuda) { CALL(cuda, cuStreamBeginCapture_v2, cuda->stream, CUDA_CAPTURE_THREAD); }

void *cuda_captured(struct cuda *cuda)
{
	void *captured = NULL, *graph = NULL;
	CALL(cuda, cuStreamEndCapture, cuda->stream, &captured);
	int code = cuda->call.cuGraphInstantiateWithFlags(&graph, captured, 0);
	cuda->call.cuGraphDestroy(captured);
	check(cuda, code, "cuGraphInstantiateWithFlags");
	push(cuda->build->arena, &cuda->graphs, graph);
	return graph;
}

void cuda_replay(struct cuda *cuda, void *graph) { CALL(cuda, cuGraphLaunch, graph, cuda->stream); }

void *cuda_event(struct cuda *cuda)
{
	void *event = NULL;
	CALL(cuda, cuEventCreate, &event, 0);
	push(cuda->build->arena, &cuda->events, event);
	return event;
}

void cuda_record(struct cuda *cuda, void *event) { CALL(cuda, cuEventRecord, event, cuda->stream); }

double cuda_elapsed(struct cuda *cuda, void *from, void *to)
{
	float milliseconds = 0;
	CALL(cuda, cuEventElapsedTime, &milliseconds, from, to);
	return 1000 * (double)milliseconds;
}

void cuda_close(struct cuda *cuda)
{
	void *left;
	if (!cuda || !cuda->primary)
		return;
	cuda_leave(cuda);
	if (!cuda->call.cuCtxPushCurrent_v2(cuda->primary)) {
		if (cuda->stream) {
			cuda->call.cuStreamSynchronize(cuda->stream);
			cuda->call.cuStreamDestroy_v2(cuda->stream);
		}
		for (size_t i = 0; i < cuda->events.count; i++)
			cuda->call.cuEventDestroy_v2(cuda->events.at[i]);
		for (size_t i = 0; i < cuda->graphs.count; i++)
			cuda->call.cuGraphExecDestroy(cuda->graphs.at[i]);
		for (size_t i = 0; i < cuda->memory.count; i++)
			cuda->call.cuMemFree_v2(cuda->memory.at[i]);
		for (size_t i = 0; i < cuda->modules.count; i++)
			cuda->call.cuModuleUnload(cuda->modules.at[i]);
		cuda->call.cuCtxPopCurrent_v2(&left);
	}
	cuda->call.cuDevicePrimaryCtxRelease_v2(cuda->device);
	cuda->primary = NULL;
}
