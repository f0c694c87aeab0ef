/* cuda.h: the functions of NVIDIA's driver that are called: name and arguments, as NVIDIA's header of this name has
 * them with plain types.  Handles are void *, device memory unsigned long long. */
#ifndef COMMON_CUDA_H
#define COMMON_CUDA_H
#include <stddef.h>

/* By all: the bare libraries, the engine, the runtime. */
#define CUDA_DRIVER(X) \
	X(cuInit, (unsigned)) \
	X(cuDriverGetVersion, (int *)) \
	X(cuDeviceGetCount, (int *)) \
	X(cuDeviceGet, (int *, int)) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuDevicePrimaryCtxRetain, (void **, int)) \
	X(cuDevicePrimaryCtxRelease_v2, (int)) \
	X(cuCtxPushCurrent_v2, (void *)) \
	X(cuCtxPopCurrent_v2, (void **)) \
	X(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **)) \
	X(cuModuleUnload, (void *)) \
	X(cuModuleGetFunction, (void **, void *, const char *)) \
	X(cuFuncSetAttribute, (void *, int, int)) \
	X(cuMemAlloc_v2, (unsigned long long *, size_t)) \
	X(cuMemFree_v2, (unsigned long long)) \
	X(cuMemcpyHtoDAsync_v2, (unsigned long long, const void *, size_t, void *)) \
	X(cuMemcpyDtoHAsync_v2, (void *, unsigned long long, size_t, void *)) \
	X(cuStreamCreate, (void **, unsigned)) \
	X(cuStreamDestroy_v2, (void *)) \
	X(cuStreamSynchronize, (void *)) \
	X(cuStreamBeginCapture_v2, (void *, int)) \
	X(cuStreamEndCapture, (void *, void **)) \
	X(cuThreadExchangeStreamCaptureMode, (int *)) \
	X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
	X(cuGraphDestroy, (void *)) \
	X(cuGraphLaunch, (void *, void *)) \
	X(cuGraphExecDestroy, (void *)) \
	X(cuGetErrorName, (int, const char **)) \
	X(cuGetErrorString, (int, const char **))

/* By the bare libraries besides (templates/cuda/host.jinja prints both tables). */
#define CUDA_DRIVER_LIBRARIES(X) \
	X(cuGraphUpload, (void *, void *)) \
	X(cuEventCreate, (void **, unsigned)) \
	X(cuEventDestroy_v2, (void *)) \
	X(cuEventRecord, (void *, void *)) \
	X(cuStreamWaitEvent, (void *, void *, unsigned)) \
	X(cuLaunchKernelEx, (const void *, void *, void **, void **))

/* By the bare libraries and the engine, where a kernel's arguments are tensor maps. */
#define CUDA_DRIVER_MAPS(X) \
	X(cuTensorMapEncodeTiled, \
	        (void *, int, unsigned, void *, const unsigned long long *, const unsigned long long *, \
	                const unsigned *, const unsigned *, int, int, int, int))

/* By the engine besides. */
#define CUDA_DRIVER_ENGINE(X) X(cuDeviceGetName, (char *, int, int))

/* By the engine and the runtime besides. */
#define CUDA_DRIVER_EVENTS(X) \
	X(cuLaunchKernel, \
	        (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, \
	                void **)) \
	X(cuEventCreate, (void **, unsigned)) \
	X(cuEventDestroy_v2, (void *)) \
	X(cuEventRecord, (void *, void *)) \
	X(cuEventElapsedTime, (float *, void *, void *))

/* By the runtime besides. */
#define CUDA_DRIVER_RUNTIME(X) \
	X(cuDeviceTotalMem_v2, (size_t *, int)) \
	X(cuMemcpyDtoDAsync_v2, (unsigned long long, unsigned long long, size_t, void *)) \
	X(cuMemcpyPeerAsync, (unsigned long long, void *, unsigned long long, void *, size_t, void *)) \
	X(cuMemsetD8Async, (unsigned long long, unsigned char, size_t, void *)) \
	X(cuMemHostRegister_v2, (void *, size_t, unsigned)) \
	X(cuMemHostUnregister, (void *)) \
	X(cuMemHostAlloc, (void **, size_t, unsigned)) \
	X(cuMemFreeHost, (void *)) \
	X(cuStreamWaitEvent, (void *, void *, unsigned)) \
	X(cuEventQuery, (void *))

/* By the runtime, where the driver has it. */
#define CUDA_DRIVER_UPDATES(X) \
	X(cuGraphExecUpdate_v2, (void *, void *, void *)) \
	X(cuPointerGetAttribute, (void *, int, unsigned long long)) \
	X(cuMemAddressReserve, (unsigned long long *, size_t, size_t, unsigned long long, unsigned long long)) \
	X(cuMemAddressFree, (unsigned long long, size_t)) \
	X(cuMemCreate, (unsigned long long *, size_t, const void *, unsigned long long)) \
	X(cuMemRelease, (unsigned long long)) \
	X(cuMemMap, (unsigned long long, size_t, size_t, unsigned long long, unsigned long long)) \
	X(cuMemUnmap, (unsigned long long, size_t)) \
	X(cuMemSetAccess, (unsigned long long, size_t, const void *, size_t)) \
	X(cuMemGetAllocationGranularity, (size_t *, const void *, int)) \
	X(cuDeviceCanAccessPeer, (int *, int, int)) \
	X(cuCtxEnablePeerAccess, (void *, unsigned))

/* What they answer, and what they are asked for. */
enum {
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_STUB = 34,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_IMAGE = 200,
	CUDA_NO_BINARY = 209,
	CUDA_INVALID_PTX = 218,
	CUDA_UNSUPPORTED_PTX = 222,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_READY = 600,
	CUDA_PEER_ALREADY = 704,
	CUDA_CAPTURE_FIRST = 900,
	CUDA_CAPTURE_LAST = 908,
	CUDA_BLOCK_THREADS = 1,
	CUDA_BLOCK_X = 2,
	CUDA_BLOCK_Y = 3,
	CUDA_BLOCK_Z = 4,
	CUDA_SHARED_BYTES = 8,
	CUDA_DYNAMIC_BYTES = 8,
	CUDA_PROCESSORS = 16,
	CUDA_L2_BYTES = 38,
	CUDA_COPY_ENGINES = 40,
	CUDA_CAPABILITY_MAJOR = 75,
	CUDA_CAPABILITY_MINOR = 76,
	CUDA_RESERVED_ADDRESSES = 102,
	CUDA_UNTIMED = 2,
	CUDA_MAP_DWORDS = 2,
	CUDA_MAP_SWIZZLE = 3, /* of 128 bytes */
	CUDA_MAP_LINES = 2,   /* L2 brings 128 bytes */
	CUDA_PORTABLE = 1,
	CUDA_INVALID_VALUE = 1,
	CUDA_MEMORY_KIND = 2,
	CUDA_MEMORY_RANGE = 7,
	CUDA_MEMORY_HOST = 1,
	CUDA_NON_BLOCKING = 1,
	CUDA_CAPTURE_THREAD = 1,
	CUDA_CAPTURE_RELAXED = 2,
};
#endif
