/* pool.h: slabs of device memory.  A buffer is (pool, offset): two integers, the same in every run, and no pointer.
 *
 * A device numbers its pools from 1 in the order they are made; pool 0 is the merge buffer of a stream.  Memory of a
 * pool that queued work still touches goes when that work has ended; the pool's id is dead at once.
 *
 *     uint32_t pool;
 *     if ((status = ingot_pool_open(device, 4096, 64, INGOT_SLAB_PRIVATE, &pool)))  return status;
 *     ingot_pool_fill(stream, pool, 0, 4096, 0, NULL);
 */
#ifndef INGOT_POOL_H
#define INGOT_POOL_H

#include "ingot/runtime.h"
#include "ingot/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ingot_location {
	uint32_t pool;
	uint64_t offset, bytes;
};

const char *ingot_slab_mode_name(enum ingot_slab_mode);           /* "private", "shared", "pinned" */
bool ingot_slab_mode_parse(const char *, enum ingot_slab_mode *); /* false: none of them, and nothing is written */

/* A pool of 0 bytes is legal (and has an address of its own).  align: a power of two; 0: the device's. */
enum ingot_status ingot_pool_open(
        struct ingot_device, uint64_t bytes, uint32_t align, enum ingot_slab_mode, uint32_t *pool);
/* The same for an id the caller chose; a pool that has it goes when the new one is there, and stays where it cannot be
 * had. */
enum ingot_status ingot_pool_replace(
        struct ingot_device, uint32_t pool, uint64_t bytes, uint32_t align, enum ingot_slab_mode);
/* The caller's memory as a pool (a static array, a mapped file), aligned to 16 bytes (else INGOT_INVALID); never freed
 * by us, and not counted as used.  Only on devices with host memory (else INGOT_UNSUPPORTED).  It must stay until the
 * pool is closed and its work has ended. */
enum ingot_status ingot_pool_adopt(struct ingot_device, void *memory, uint64_t bytes, uint32_t *pool);
/* An unknown id is no error.  A pool that a context opened, or that holds constants: INGOT_BUSY, here and in replace;
 * there, and in ensure where it has to replace, also one in which a node is bound. */
enum ingot_status ingot_pool_close(struct ingot_device, uint32_t pool);
enum ingot_status ingot_pool_bytes(struct ingot_device, uint32_t pool, uint64_t *bytes);

/* Reuses the pool if it has room for `bytes` and lies as aligned as asked, else replaces it; *pool 0: opens one. */
enum ingot_status ingot_pool_ensure(struct ingot_device, uint64_t bytes, uint32_t align, uint32_t *pool);

/* Ordered on the stream.  Ranges are checked when submitted (INGOT_RANGE; INGOT_MISSING for a dead pool: the message
 * has device, pool and offset).  Host memory must stay, and stay unchanged, until the event.  done: or NULL. */
enum ingot_status ingot_pool_fill(
        struct ingot_stream, uint32_t pool, uint64_t offset, uint64_t bytes, int byte, struct ingot_event *done);
enum ingot_status ingot_pool_write(struct ingot_stream, uint32_t pool, uint64_t offset, const void *host,
        uint64_t bytes, struct ingot_event *done);
enum ingot_status ingot_pool_read(
        struct ingot_stream, uint32_t pool, uint64_t offset, void *host, uint64_t bytes, struct ingot_event *done);

/* ---- typed buffers, for programs that bring kernels instead of a module ---- */

struct ingot_buffer {
	uint32_t pool, dtype;
	uint64_t bytes;
};

/* A pool of so many elements, and its closing: *buffer is zeros then, and closing zeros is fine. */
enum ingot_status ingot_buffer_open(struct ingot_device, enum ingot_dtype, uint64_t count, struct ingot_buffer *);
enum ingot_status ingot_buffer_close(struct ingot_device, struct ingot_buffer *);
/* `host_room` is the size of the whole host array: both ranges are checked.  Waits until the copy is done, so a task
 * gets INGOT_WOULD_BLOCK, and nothing is queued. */
enum ingot_status ingot_buffer_write(struct ingot_stream, const struct ingot_buffer *, const void *host,
        uint64_t host_room, uint64_t host_offset, uint64_t bytes);
enum ingot_status ingot_buffer_read(struct ingot_stream, const struct ingot_buffer *, uint64_t offset, void *host,
        uint64_t host_room, uint64_t host_offset, uint64_t bytes);
size_t ingot_buffer_text(const struct ingot_buffer *, char *text, size_t room); /* "f32[16] pool 3" */

#define INGOT_MOST_GROUPS (UINT64_C(1) << 32) /* of a launch, over all three dimensions */

/* Groups of up to three dimensions, none of them 0; threads NULL: the device chooses.  More threads than the device's
 * `group_threads`, along an axis than its `group_size`, or more groups than INGOT_MOST_GROUPS, is INGOT_RANGE; a count
 * or a type that the kernel does not take is INGOT_MISMATCH. Asynchronous. */
enum ingot_status ingot_kernel_launch(struct ingot_stream, const struct ingot_module_kernel *, const uint32_t groups[3],
        const uint32_t *threads, const struct ingot_buffer *arguments, uint32_t count, struct ingot_event *done);

#ifdef __cplusplus
}
#endif
#endif
