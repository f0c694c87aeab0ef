/* host.h: what the devices that are host memory and host threads share. */
#ifndef RUNTIME_HOST_H
#define RUNTIME_HOST_H

#include <stdbool.h>
#include "ingot/backend.h"
#include "ingot/threads.h"

/* The first member of their queue and device structs. */
struct host_device {
	const struct ingot_parallel *parallel;
};
struct host_queue {
	struct host_device *device;
};

enum ingot_status host_slab_alloc(
        void *device, size_t bytes, size_t align, enum ingot_slab_mode, void **slab, char *text);
void host_slab_free(void *device, void *slab);
void *host_slab_base(void *slab);
bool host_supports(void *device, enum ingot_dtype);
void host_properties(void *device, struct ingot_properties *);
enum ingot_status host_copy(
        void *queue, void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes, char *text);
enum ingot_status host_copy_in(void *queue, void *to, size_t to_offset, const void *host, size_t bytes, char *text);
enum ingot_status host_copy_out(void *queue, void *host, void *from, size_t from_offset, size_t bytes, char *text);
enum ingot_status host_fill(void *queue, void *to, size_t to_offset, int byte, size_t bytes, char *text);
enum ingot_status host_call(
        void *queue, int (*run)(const struct ingot_call *), struct ingot_call *, int *code, char *text);
enum ingot_status host_launch(void *queue, void *module, const struct ingot_module_kernel *, const uint32_t groups[3],
        const uint32_t threads[3], void *const *arguments, int *code, char *text);

/* The rows that are the same for all of them. */
#define HOST_ROWS \
	.properties = host_properties, .supports = host_supports, .slab_alloc = host_slab_alloc, \
	.slab_free = host_slab_free, .slab_base = host_slab_base, .copy = host_copy, .copy_in = host_copy_in, \
	.copy_out = host_copy_out, .fill = host_fill, .call = host_call, .launch = host_launch

#endif
