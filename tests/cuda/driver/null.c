/* null.c: a libcuda.so.1 that does nothing, at once: what time goes by is its caller's own
 * (tests/runtime/cuda_overheads.c). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
/* CPU time so far of the thread that launched last, in ns.  Asked for from outside: a launch that asked itself would
 * cost more than what is measured. */
EXPORT double null_launched(void);
static pthread_t launched;
static char handle[64];

double null_launched(void)
{
	pthread_t thread;
	clockid_t clock;
	struct timespec t = { 0 };
	__atomic_load(&launched, &thread, __ATOMIC_ACQUIRE);
	if (!pthread_getcpuclockid(thread, &clock))
		clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int launch(void)
{
	pthread_t thread = pthread_self();
	__atomic_store(&launched, &thread, __ATOMIC_RELEASE);
	return 0;
}

static int give(void **out)
{
	*out = handle;
	return 0;
}

#define NOTHING(name, ...) \
	EXPORT int name(__VA_ARGS__); \
	int name(__VA_ARGS__)
NOTHING(cuInit, unsigned a) { return (int)(a & 0); }
NOTHING(cuDriverGetVersion, int *version)
{
	*version = 13000;
	return 0;
}
NOTHING(cuDeviceGetCount, int *count)
{
	*count = 1;
	return 0;
}
NOTHING(cuDeviceGet, int *device, int ordinal)
{
	*device = ordinal;
	return 0;
}
NOTHING(cuDeviceGetAttribute, int *value, int attribute, int device)
{
	static const int known[128] = {
		[1] = 1024, [2] = 1024, [3] = 1024, [4] = 64, [8] = 49152, [16] = 132, [40] = 3, [75] = 9
	};
	*value = known[attribute & 127];
	return device < 0;
}
NOTHING(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
	*bytes = (size_t)1 << 34;
	return device < 0;
}
NOTHING(cuDevicePrimaryCtxRetain, void **context, int device) { return give(context) + (device < 0); }
NOTHING(cuDevicePrimaryCtxRelease_v2, int device) { return device < 0; }
NOTHING(cuCtxPushCurrent_v2, void *context) { return !context; }
NOTHING(cuCtxPopCurrent_v2, void **context) { return give(context); }
NOTHING(cuModuleLoadDataEx, void **module, const void *image, unsigned n, int *names, void **values)
{
	return give(module) + (!image || n || names || values);
}
NOTHING(cuModuleUnload, void *module) { return !module; }
NOTHING(cuModuleGetFunction, void **function, void *module, const char *name)
{
	return give(function) + (!module || !name);
}
NOTHING(cuFuncSetAttribute, void *function, int attribute, int value)
{
	return !function || attribute != 8 || value < 0;
}
NOTHING(cuMemAlloc_v2, unsigned long long *at, size_t bytes)
{
	return !(*at = (unsigned long long)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256));
}
NOTHING(cuMemFree_v2, unsigned long long at)
{
	free((void *)(uintptr_t)at);
	return 0;
}
NOTHING(cuMemcpyHtoDAsync_v2, unsigned long long to, const void *from, size_t bytes, void *stream)
{
	return !to || !from || !bytes || !stream;
}
NOTHING(cuMemcpyDtoHAsync_v2, void *to, unsigned long long from, size_t bytes, void *stream)
{
	memset(to, 0, bytes);
	return !from || !stream;
}
NOTHING(cuMemcpyDtoDAsync_v2, unsigned long long to, unsigned long long from, size_t bytes, void *stream)
{
	return !to || !from || !bytes || !stream;
}
NOTHING(cuMemcpyPeerAsync, unsigned long long to, void *there, unsigned long long from, void *here, size_t bytes,
        void *stream)
{
	return !to || !there || !from || !here || !bytes || !stream;
}
NOTHING(cuMemsetD8Async, unsigned long long at, unsigned char byte, size_t bytes, void *stream)
{
	return !at || !bytes || !stream || (byte & 0);
}
NOTHING(cuMemHostRegister_v2, void *at, size_t bytes, unsigned flags) { return !at || !bytes || flags > 1; }
NOTHING(cuMemHostUnregister, void *at) { return !at; }
NOTHING(cuMemHostAlloc, void **at, size_t bytes, unsigned flags) { return !(*at = malloc(bytes)) || flags > 1; }
NOTHING(cuMemFreeHost, void *at)
{
	free(at);
	return 0;
}
NOTHING(cuPointerGetAttribute, void *to, int attribute, unsigned long long at) { return !to || !at || attribute; }
NOTHING(cuStreamCreate, void **stream, unsigned flags) { return give(stream) + (flags > 1); }
NOTHING(cuStreamDestroy_v2, void *stream) { return !stream; }
NOTHING(cuStreamSynchronize, void *stream) { return !stream; }
NOTHING(cuStreamWaitEvent, void *stream, void *event, unsigned flags) { return !stream || !event || flags; }
NOTHING(cuStreamBeginCapture_v2, void *stream, int mode) { return !stream || mode > 2; }
NOTHING(cuThreadExchangeStreamCaptureMode, int *mode) { return !mode; }
NOTHING(cuStreamEndCapture, void *stream, void **graph) { return give(graph) + !stream; }
NOTHING(cuGraphInstantiateWithFlags, void **executable, void *graph, unsigned long long flags)
{
	return give(executable) + (!graph || flags);
}
NOTHING(cuGraphDestroy, void *graph) { return !graph; }
NOTHING(cuGraphExecDestroy, void *graph) { return !graph; }
NOTHING(cuGraphLaunch, void *graph, void *stream) { return !graph || !stream || launch(); }
NOTHING(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
        unsigned shared, void *stream, void **values, void **extra)
{
	return !function || !(gx && gy && gz && bx && by && bz) || shared || !stream || !values || extra || launch();
}
NOTHING(cuGraphUpload, void *graph, void *stream) { return !graph || !stream; }
NOTHING(cuLaunchKernelEx, const void *config, void *function, void **values, void **extra)
{
	return !config || !function || !values || extra || launch();
}
NOTHING(cuEventCreate, void **event, unsigned flags) { return give(event) + (flags > 3); }
NOTHING(cuEventDestroy_v2, void *event) { return !event; }
NOTHING(cuEventRecord, void *event, void *stream) { return !event || !stream; }
NOTHING(cuEventQuery, void *event) { return !event; }
NOTHING(cuEventElapsedTime, float *time, void *from, void *to)
{
	*time = 0;
	return !from || !to;
}
NOTHING(cuGetErrorName, int code, const char **text)
{
	*text = "?";
	return code < 0;
}
NOTHING(cuGetErrorString, int code, const char **text)
{
	*text = "?";
	return code < 0;
}
