/* gpu.c: launches from a routine's own function, by the driver that the backend has open.  A module is loaded and
 * unloaded with each: the function knows no device to keep it for. */
#include <dlfcn.h>
#include "gpu.h"

enum { ARGUMENTS_MOST = 64 };
bool on_gpu;

static void *symbol(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *found = driver ? dlsym(driver, name) : NULL;
	if (driver)
		dlclose(driver);
	return found;
}

/* The functions of the driver: their types as common/cuda.h has them. */
struct driver {
	int (*load)(void **, const void *, unsigned, int *, void **);
	int (*unload)(void *);
	int (*function)(void **, void *, const char *);
	int (*launch)(
	        void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	int (*copy)(void *, unsigned long long, size_t, void *);
	int (*wait)(void *);
};

static struct driver driver(void)
{
	struct driver d;
	*(void **)&d.load = symbol("cuModuleLoadDataEx");
	*(void **)&d.unload = symbol("cuModuleUnload");
	*(void **)&d.function = symbol("cuModuleGetFunction");
	*(void **)&d.launch = symbol("cuLaunchKernel");
	*(void **)&d.copy = symbol("cuMemcpyDtoHAsync_v2");
	*(void **)&d.wait = symbol("cuStreamSynchronize");
	return d;
}

int gpu_launch(
        const struct ingot_call *call, const char *kernel, uint32_t blocks, const uint32_t *arguments, uint32_t count)
{
	struct driver d = driver();
	void *module, *function, *at[ARGUMENTS_MOST], *values[ARGUMENTS_MOST];
	int code = -1;
	for (uint32_t i = 0; i < ROW_IMAGES && code; i++)
		code = d.load(&module, row_images[i].data, 0, NULL, NULL);
	if (code || count > ARGUMENTS_MOST)
		return GPU_FAILED;
	for (uint32_t i = 0; i < count; i++) {
		at[i] = ingot_argument(call, arguments[i]);
		values[i] = &at[i];
	}
	code = d.function(&function, module, kernel);
	if (!code)
		code = d.launch(function, blocks, 1, 1, 1, 1, 1, 0, call->stream, values, NULL);
	if (!code)
		code = d.wait(call->stream);
	int unloaded = d.unload(module);
	return code || unloaded ? GPU_FAILED : 0;
}

int gpu_read(const struct ingot_call *call, uint32_t argument, void *host, size_t bytes)
{
	struct driver d = driver();
	return d.copy(host, (unsigned long long)(uintptr_t)ingot_argument(call, argument), bytes, call->stream)
	                || d.wait(call->stream)
	        ? GPU_FAILED
	        : 0;
}

int gpu_capture_begin(struct gpu_capture *made)
{
	int (*retain)(void **, int), (*push)(void *), (*create)(void **, unsigned), (*begin)(void *, int);
	*(void **)&retain = symbol("cuDevicePrimaryCtxRetain");
	*(void **)&push = symbol("cuCtxPushCurrent_v2");
	*(void **)&create = symbol("cuStreamCreate");
	*(void **)&begin = symbol("cuStreamBeginCapture_v2");
	int code = retain(&made->context, 0);
	code = code ? code : push(made->context);
	code = code ? code : create(&made->stream, 1);
	return code ? code : begin(made->stream, 0);
}

int gpu_capture_end(struct gpu_capture *made)
{
	int (*end)(void *, void **), (*drop)(void *), (*destroy)(void *), (*pop)(void **), (*release)(int);
	void *graph = NULL;
	*(void **)&end = symbol("cuStreamEndCapture");
	*(void **)&drop = symbol("cuGraphDestroy");
	*(void **)&destroy = symbol("cuStreamDestroy_v2");
	*(void **)&pop = symbol("cuCtxPopCurrent_v2");
	*(void **)&release = symbol("cuDevicePrimaryCtxRelease_v2");
	int code = end(made->stream, &graph);
	if (code)
		end(made->stream, &graph); /* a planted failure leaves it captured */
	if (graph)
		drop(graph);
	destroy(made->stream);
	pop(&made->context);
	release(0);
	return code;
}
