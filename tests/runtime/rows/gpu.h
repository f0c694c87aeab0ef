/* gpu.h: the rows' modules on a GPU.  Kernels of kernels.cu are their steps'; what is a routine's own function on the
 * host launches some of them there. */
#ifndef TESTS_RUNTIME_GPU_H
#define TESTS_RUNTIME_GPU_H

#include <stdbool.h>
#include "ingot/abi.h"
#include "images.h" /* ROW_IMAGES: how many there are; 0 where no NVRTC made some.  ROW_KERNELS: the stand-in's */

/* By tests/runtime/rows_images.py. */
extern const struct ingot_module_image row_images[];

/* Set by who opens the device.  A call of its has a stream, and addresses that only kernels can use; one of another
 * backend beside it has none. */
extern bool on_gpu;
static inline bool gpu_has(const struct ingot_call *call) { return on_gpu && call->stream; }

/* From a routine's own function: launches a kernel on so many blocks with arguments `first` to `first` + `count` of the
 * call, or copies from an argument, in the routine's stream, and waits.  0, or a code of GPU_FAILED. */
enum { GPU_FAILED = 90 };
int gpu_launch(
        const struct ingot_call *, const char *kernel, uint32_t blocks, const uint32_t *arguments, uint32_t count);
int gpu_read(const struct ingot_call *, uint32_t argument, void *host, size_t bytes);

/* Somebody's capture, of a stream of the caller's own on the first GPU, in the mode that forbids unsafe calls to all
 * threads.  Codes of the driver; the end gives back what the begin took. */
struct gpu_capture {
	void *context, *stream;
};
int gpu_capture_begin(struct gpu_capture *);
int gpu_capture_end(struct gpu_capture *);
#endif
