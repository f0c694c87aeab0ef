/* cuda_slab.c: memory of a GPU.
 *
 * A slab of a granule and more (2 MiB) reserves addresses for several times its size, and has memory behind the first
 * of them: it grows where it is, and what was captured with its addresses stays right.  Where the driver has no
 * reserved addresses, or gives none, a slab is a block of the driver's, which never grows; so is a small one, which
 * would take a granule.
 *
 * A device that copies from another one's memory asks once whether it may use that itself.  A context then opens all
 * blocks of the other (cuCtxEnablePeerAccess), but nothing behind reserved addresses: that is opened slab by slab
 * (cuMemSetAccess), when it is copied from first, and as it grows. */
#include "common/alone.h"
#if INGOT_THREADS
#include <stdio.h>
#include <stdlib.h>
#include "cuda_inside.h"

enum { GROWTH = 8 }; /* as many times its size a slab may come to */

/* As the driver lays them out. */
struct place {
	int type, ordinal;
};
struct memory_kind {
	int type, handles;
	struct place place;
	void *security;
	unsigned char flags[8];
};
struct access {
	struct place place;
	int flags;
};
enum { PINNED = 1, ON_DEVICE = 1, READ_WRITE = 3 };

static struct memory_kind kind_of(const struct cuda_device *device)
{
	return (struct memory_kind){ .type = PINNED, .place = { ON_DEVICE, device->ordinal } };
}

enum ingot_status cuda_granule(struct cuda_device *device, char *text)
{
	const struct functions *call = &device->cuda->call;
	struct memory_kind kind = kind_of(device);
	size_t granule = 0;
	int there = 0;
	if (!call->cuMemAddressReserve || !call->cuMemAddressFree || !call->cuMemCreate || !call->cuMemRelease
	        || !call->cuMemMap || !call->cuMemUnmap || !call->cuMemSetAccess
	        || !call->cuMemGetAllocationGranularity)
		return INGOT_OK;
	enum ingot_status status =
	        CALL(device, text, cuDeviceGetAttribute, &there, CUDA_RESERVED_ADDRESSES, device->device);
	if (!status && there)
		status = CALL(device, text, cuMemGetAllocationGranularity, &granule, &kind, 0);
	device->granule = granule & (granule - 1) ? 0 : granule;
	return status;
}

static size_t whole(size_t bytes, size_t granule) { return (bytes + granule - 1) / granule * granule; }

static uint64_t bit_of(const struct cuda_device *device)
{
	return device->ordinal < CUDA_PEERS_MOST ? (uint64_t)1 << device->ordinal : 0;
}

/* It and those that use its memory: how many. */
static size_t users_of(const struct cuda_slab *slab, struct access *access)
{
	size_t count = 1;
	access[0] = (struct access){ { ON_DEVICE, slab->device->ordinal }, READ_WRITE };
	for (int i = 0; i < CUDA_PEERS_MOST; i++)
		if (slab->opened >> i & 1)
			access[count++] = (struct access){ { ON_DEVICE, i }, READ_WRITE };
	return count;
}

/* What the driver fails to take back is given once more; false: it keeps that, so its addresses are still in use. */
static bool unmapped(const struct functions *call, unsigned long long at, size_t bytes)
{
	return !call->cuMemUnmap(at, bytes) || !call->cuMemUnmap(at, bytes);
}

/* Memory behind the addresses up to `bytes`, whole granules: a code of the driver's, after which all is as it was. With
 * the lock of its device. */
static int map_up_to(struct cuda_slab *slab, size_t bytes)
{
	const struct functions *call = &slab->device->cuda->call;
	struct memory_kind kind = kind_of(slab->device);
	struct access access[1 + CUDA_PEERS_MOST];
	unsigned long long memory, at = slab->block + slab->mapped;
	size_t more = bytes - slab->mapped;
	int code = call->cuMemCreate(&memory, more, &kind, 0);
	if (code)
		return code;
	code = call->cuMemMap(at, more, 0, memory, 0);
	call->cuMemRelease(memory); /* what it is mapped to keeps it */
	if (code)
		return code;
	if ((code = call->cuMemSetAccess(at, more, access, users_of(slab, access))))
		unmapped(call, at, more);
	else
		slab->mapped = bytes;
	return code;
}

static bool reserve(struct cuda_slab *slab, size_t bytes)
{
	const struct cuda_device *device = slab->device;
	const struct functions *call = &device->cuda->call;
	size_t granule = device->granule, wanted = whole(bytes, granule),
	       most = whole((size_t)device->properties.memory_bytes, granule);
	size_t room = wanted > most / GROWTH ? most : GROWTH * wanted;
	if (wanted > most || call->cuMemAddressReserve(&slab->block, room, 0, 0, 0))
		return false;
	slab->reserved = room;
	if (!map_up_to(slab, wanted))
		return true;
	call->cuMemAddressFree(slab->block, room);
	slab->reserved = 0;
	return false;
}

enum ingot_status cuda_slab_alloc(
        void *raw, size_t bytes, size_t align, enum ingot_slab_mode mode, void **made, char *text)
{
	int before;
	struct cuda_device *device = raw;
	size_t more = align > CUDA_SLAB_ALIGN ? align : 0;
	enum ingot_status status = cuda_same_process(device->cuda, text);
	struct cuda_slab *slab = status ? NULL : calloc(1, sizeof *slab);
	(void)mode;
	if (!slab || bytes > SIZE_MAX - more) {
		free(slab);
		return status ? status : INGOT_MEMORY;
	}
	slab->device = device;
	if (!(status = in(device, &before, text))) {
		if (device->granule && bytes >= device->granule && align <= device->granule && reserve(slab, bytes))
			more = 0;
		else
			status = CALL(device, text, cuMemAlloc_v2, &slab->block, bytes + more);
		out(device, before);
	}
	slab->at = more ? (slab->block + align - 1) / align * align : slab->block;
	if (status)
		free(slab);
	else
		*made = slab;
	return status;
}

enum ingot_status cuda_slab_grow(void *raw, void *grown, size_t bytes, char *text)
{
	int mode;
	struct cuda_device *device = raw;
	struct cuda_slab *slab = grown;
	if (bytes > slab->reserved)
		return INGOT_UNSUPPORTED;
	if (bytes <= slab->mapped)
		return INGOT_OK;
	enum ingot_status status = in(device, &mode, text);
	if (status)
		return status;
	pthread_mutex_lock(&device->lock);
	int code = map_up_to(slab, whole(bytes, device->granule));
	pthread_mutex_unlock(&device->lock);
	status = cuda_answer(device, code, "cuMemMap", text);
	out(device, mode);
	return status;
}

/* Whether contexts of `by` use blocks of `of`; asked once for each two. */
static bool reaches(struct cuda_device *by, const struct cuda_device *of)
{
	struct cuda *cuda = by->cuda;
	int there = 0;
	pthread_mutex_lock(&cuda->lock);
	if (!(cuda->asked[by->ordinal] & bit_of(of))) {
		cuda->asked[by->ordinal] |= bit_of(of);
		if (!cuda->call.cuDeviceCanAccessPeer(&there, by->device, of->device) && there) {
			int code = cuda->call.cuCtxEnablePeerAccess(of->context, 0);
			if (!code || code == CUDA_PEER_ALREADY) /* the context is not this backend's alone */
				cuda->reached[by->ordinal] |= bit_of(of);
		}
	}
	bool reached = cuda->reached[by->ordinal] & bit_of(of);
	pthread_mutex_unlock(&cuda->lock);
	return reached;
}

/* What the driver refuses here costs time alone: copies go through the host. */
void cuda_slab_reach(struct cuda_device *by, struct cuda_slab *slab)
{
	struct cuda_device *of = slab->device;
	const struct functions *call = &by->cuda->call;
	struct access access = { { ON_DEVICE, by->ordinal }, READ_WRITE };
	if (!call->cuDeviceCanAccessPeer || !call->cuCtxEnablePeerAccess || !bit_of(by) || !bit_of(of)
	        || !reaches(by, of) || !slab->reserved)
		return;
	pthread_mutex_lock(&of->lock);
	if (!(slab->opened & bit_of(by)) && !call->cuMemSetAccess(slab->block, slab->mapped, &access, 1))
		slab->opened |= bit_of(by);
	pthread_mutex_unlock(&of->lock);
}

/* Its context goes: one of the same device that comes later is another. */
void cuda_peers_forget(struct cuda_device *device)
{
	struct cuda *cuda = device->cuda;
	pthread_mutex_lock(&cuda->lock);
	for (int i = 0; i < CUDA_PEERS_MOST; i++) {
		uint64_t others = i == device->ordinal ? 0 : ~bit_of(device);
		cuda->asked[i] &= others;
		cuda->reached[i] &= others;
	}
	pthread_mutex_unlock(&cuda->lock);
}

void cuda_slab_free(void *raw, void *freed)
{
	int mode;
	struct cuda_device *device = raw;
	struct cuda_slab *slab = freed;
	const struct functions *call = &device->cuda->call;
	char text[INGOT_BACKEND_TEXT];
	if (!in(device, &mode, text)) {
		if (slab->reserved) {
			if (unmapped(call, slab->block, slab->mapped))
				call->cuMemAddressFree(slab->block, slab->reserved);
		} else
			call->cuMemFree_v2(slab->block);
		out(device, mode);
	}
	free(slab);
}

void *cuda_slab_base(void *slab) { return (void *)(uintptr_t)((struct cuda_slab *)slab)->at; }
#endif
