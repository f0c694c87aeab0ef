/* cuda_ring.c: copies between the host and a GPU.
 *
 * The driver stops the thread that asks it for a copy of pageable memory: from the GPU until it is done, to the GPU
 * until what was issued before is.  So such copies go by way of a ring of pinned memory, one for each queue: what goes
 * up is put there first, what comes down lands there, and is taken out when the device says that the command has ended.
 * What is pinned, too much for the ring, or finds no room there now, is left to the driver, behind what still has to
 * land in the same memory of the host's; but for what is pinned in part, or by two calls, which the driver does not copy
 * at all. */
#include "common/alone.h"
#if INGOT_THREADS
#include <stdio.h>
#include <string.h>
#include "cuda_inside.h"

enum { RING_BYTES = 1 << 20, RING_MOST = RING_BYTES / 4, RING_ALIGN = 64 };

/* Room that is used until the command has ended; NULL: there is none. */
static void *take(struct cuda_queue *queue, size_t bytes)
{
	struct cuda_ring *ring = &queue->ring;
	uint64_t from = ring->head, whole = (bytes + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;
	if (bytes > RING_MOST || ring->absent)
		return NULL;
	if (!ring->at && queue->device->cuda->call.cuMemHostAlloc(&ring->at, RING_BYTES, CUDA_PORTABLE)) {
		ring->at = NULL;
		ring->absent = true;
		return NULL;
	}
	if (from % RING_BYTES + whole > RING_BYTES) /* in one piece */
		from += RING_BYTES - from % RING_BYTES;
	if (from + whole - atomic_load_explicit(&ring->done, memory_order_acquire) > RING_BYTES)
		return NULL;
	ring->head = from + whole;
	return (char *)ring->at + from % RING_BYTES;
}

/* Which pinned range of the host's that is in; 0: none, as what is not pinned the driver does not know. */
static enum ingot_status range_at(const struct cuda_queue *queue, const char *host, uint64_t *range, char *text)
{
	const struct functions *call = &queue->device->cuda->call;
	unsigned kind = 0;
	*range = 0;
	int code = call->cuPointerGetAttribute ? call->cuPointerGetAttribute(&kind, CUDA_MEMORY_KIND, (uintptr_t)host)
	                                       : CUDA_INVALID_VALUE;
	if (code == CUDA_INVALID_VALUE || (!code && kind != CUDA_MEMORY_HOST))
		return INGOT_OK;
	if (!code
	        && (code = call->cuPointerGetAttribute(range, CUDA_MEMORY_RANGE, (uintptr_t)host))
	                == CUDA_INVALID_VALUE) {
		*range = 1; /* a driver that numbers no ranges of this kind */
		code = 0;
	}
	return cuda_answer(queue->device, code, "cuPointerGetAttribute", text);
}

/* Room in the ring for `header` bytes and a copy from or to that memory; NULL: the driver copies it. */
static enum ingot_status room_for(
        struct cuda_queue *queue, const char *host, size_t bytes, size_t header, void **room, char *text)
{
	uint64_t first, last;
	enum ingot_status status = range_at(queue, host, &first, text);
	status = status ? status : range_at(queue, host + bytes - 1, &last, text);
	if (status)
		return status;
	*room = first && first == last ? NULL : take(queue, header + bytes);
	if (*room || first == last)
		return INGOT_OK;
	snprintf(text, INGOT_BACKEND_TEXT,
	        "a part of the host's memory is pinned, and there is no room to copy all of it");
	return INGOT_MEMORY;
}

static bool lands_in(const struct issued *one, const char *host, size_t bytes)
{
	for (const struct landing *landing = one->landings; landing; landing = landing->next)
		if ((const char *)landing->to < host + bytes && host < (const char *)landing->to + landing->bytes)
			return true;
	return false;
}

/* The device has ordered the copies, but what came down by another command may still have to land there. */
static void wait_for_landings(struct cuda *cuda, const void *host, size_t bytes)
{
	if (!atomic_load_explicit(&cuda->landing, memory_order_acquire))
		return;
	pthread_mutex_lock(&cuda->lock);
	for (const struct issued *one = cuda->first; one;)
		if (lands_in(one, host, bytes)) {
			pthread_cond_wait(&cuda->change, &cuda->lock);
			one = cuda->first;
		} else
			one = one->next;
	pthread_mutex_unlock(&cuda->lock);
}

enum ingot_status cuda_copy_in(void *raw, void *to, size_t to_offset, const void *host, size_t bytes, char *text)
{
	struct cuda_queue *queue = raw;
	wait_for_landings(queue->device->cuda, host, bytes);
	void *room;
	enum ingot_status status = room_for(queue, host, bytes, 0, &room, text);
	if (status)
		return status;
	return CALL(queue->device, text, cuMemcpyHtoDAsync_v2, ((struct cuda_slab *)to)->at + to_offset,
	        room ? memcpy(room, host, bytes) : host, bytes, queue->stream);
}

enum ingot_status cuda_copy_out(void *raw, void *host, void *from, size_t from_offset, size_t bytes, char *text)
{
	struct cuda_queue *queue = raw;
	struct landing *landing;
	void *room;
	enum ingot_status status = room_for(queue, host, bytes, sizeof *landing, &room, text);
	if (status)
		return status;
	if (!(landing = room))
		wait_for_landings(queue->device->cuda, host, bytes);
	status = CALL(queue->device, text, cuMemcpyDtoHAsync_v2, landing ? landing + 1 : host,
	        ((struct cuda_slab *)from)->at + from_offset, bytes, queue->stream);
	if (status || !landing)
		return status;
	*landing = (struct landing){ queue->ring.landings, host, bytes };
	queue->ring.landings = landing;
	return INGOT_OK;
}

void cuda_land(const struct landing *landing)
{
	for (; landing; landing = landing->next)
		memcpy(landing->to, landing + 1, landing->bytes);
}
#endif
