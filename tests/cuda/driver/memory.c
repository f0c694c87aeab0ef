/* memory.c: memory of devices, pinned memory of the host, copies and fills. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "driver.h"

const struct allocation *allocation_of(uint64_t at, size_t bytes)
{
	for (int i = 0; i < ALLOCATIONS_MOST; i++)
		if (allocations[i].bytes && at >= allocations[i].at
		        && at + bytes <= allocations[i].at + allocations[i].bytes)
			return &allocations[i];
	return NULL;
}

static size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

void protect_at(uint64_t at, int how)
{
	const struct allocation *one = allocation_of(at, 1);
	if (one)
		mprotect((void *)(uintptr_t)(one->at / PAGE * PAGE), pages(one->bytes), how);
}

EXPORT int cuMemAlloc_v2(unsigned long long *at, size_t bytes)
{
	BEGIN(true);
	int i = 0;
	while (i < ALLOCATIONS_MOST && allocations[i].bytes)
		i++;
	if (!bytes)
		return end(INVALID_VALUE);
	if (i == ALLOCATIONS_MOST || arena_used + pages(bytes) + PAGE > ARENA
	        || memory_used + bytes > (size_t)number("STANDIN_MEMORY", 1L << 34))
		return end(OUT_OF_MEMORY);
	/* It ends where its last page does, as far as 256 bytes allow, so that what lies behind is nobody's. */
	unsigned char *first = arena + arena_used, *from = first + (pages(bytes) - bytes) / 256 * 256;
	mprotect(first, pages(bytes), PROT_READ | PROT_WRITE);
	memset(first, 0xa5, pages(bytes));
	mprotect(first, pages(bytes), PROT_NONE);
	allocations[i] =
	        (struct allocation){ (uint64_t)(uintptr_t)from, bytes, (int)(current[depth - 1] - devices), false };
	arena_used += pages(bytes) + PAGE;
	memory_used += bytes;
	*at = allocations[i].at;
	return end(OK);
}

EXPORT int cuMemFree_v2(unsigned long long at)
{
	BEGIN(true);
	for (int i = 0; i < ALLOCATIONS_MOST; i++)
		if (allocations[i].bytes && !allocations[i].reserved && allocations[i].at == at) {
			for (int s = 0; s < STREAMS_MOST; s++) /* the driver waits for what may use it */
				if (streams[s] && streams[s]->device == allocations[i].device)
					wait_for(streams[s]);
			void *first = (void *)(uintptr_t)(at / PAGE * PAGE);
			madvise(first, pages(allocations[i].bytes), MADV_DONTNEED);
			memory_used -= allocations[i].bytes;
			allocations[i].bytes = 0;
			return end(OK);
		}
	complain("cuMemFree_v2: %llx is no allocation", at);
	return end(INVALID_VALUE);
}

/* ---- reserved addresses: memory is mapped to them from the first on, without a gap ---- */
enum { GRANULE = 2 << 20 };
struct place {
	int type, device;
};
struct memory_kind {
	int type, handles;
	struct place place;
};
struct access {
	struct place place;
	int flags;
};

static bool is_kind(const struct memory_kind *kind)
{
	return kind->type == 1 && !kind->handles && kind->place.type == 1 && kind->place.device >= 0
	        && kind->place.device < number("STANDIN_DEVICES", 1);
}

static struct reservation *reservation_of(uint64_t at, size_t bytes)
{
	for (int i = 0; i < RESERVED_MOST; i++)
		if (reserved[i].bytes && at >= reserved[i].at && at + bytes <= reserved[i].at + reserved[i].bytes)
			return &reserved[i];
	return NULL;
}

static void backing_drop(struct backing *one)
{
	if (one->released && !one->at) {
		memory_used -= one->bytes;
		one->bytes = 0;
	}
}

EXPORT int cuMemGetAllocationGranularity(size_t *bytes, const struct memory_kind *kind, int option)
{
	BEGIN(false);
	*bytes = GRANULE;
	return end(option > 1 || !is_kind(kind) ? INVALID_VALUE : OK);
}

EXPORT int cuMemAddressReserve(
        unsigned long long *at, size_t bytes, size_t align, unsigned long long wanted, unsigned long long flags)
{
	BEGIN(false);
	int i = 0;
	while (i < RESERVED_MOST && reserved[i].bytes)
		i++;
	if (!bytes || bytes % GRANULE || align || wanted || flags)
		return end(INVALID_VALUE);
	if (i == RESERVED_MOST || arena_used + bytes + PAGE > ARENA)
		return end(OUT_OF_MEMORY);
	reserved[i] = (struct reservation){ .at = (uint64_t)(uintptr_t)(arena + arena_used), .bytes = bytes };
	arena_used += bytes + PAGE;
	*at = reserved[i].at;
	return end(OK);
}

EXPORT int cuMemAddressFree(unsigned long long at, size_t bytes)
{
	BEGIN(false);
	struct reservation *one = reservation_of(at, bytes);
	if (!one || one->at != at || one->bytes != bytes || one->mapped) {
		complain("cuMemAddressFree: %zu bytes at %llx %s", bytes, at,
		        one && one->mapped ? "are mapped" : "were not reserved");
		return end(INVALID_VALUE);
	}
	if (arena_used == at - (uint64_t)(uintptr_t)arena + bytes + PAGE) /* the last: addresses are not endless */
		arena_used -= bytes + PAGE;
	one->bytes = 0;
	return end(OK);
}

EXPORT int cuMemCreate(
        unsigned long long *handle, size_t bytes, const struct memory_kind *kind, unsigned long long flags)
{
	BEGIN(false);
	int i = 0;
	while (i < BACKINGS_MOST && backings[i].bytes)
		i++;
	if (!bytes || bytes % GRANULE || flags || !is_kind(kind))
		return end(INVALID_VALUE);
	if (i == BACKINGS_MOST || memory_used + bytes > (size_t)number("STANDIN_MEMORY", 1L << 34))
		return end(OUT_OF_MEMORY);
	backings[i] = (struct backing){ .bytes = bytes, .device = kind->place.device };
	memory_used += bytes;
	*handle = (unsigned long long)i + 1;
	return end(OK);
}

EXPORT int cuMemRelease(unsigned long long handle)
{
	BEGIN(false);
	struct backing *one = handle && handle <= BACKINGS_MOST ? &backings[handle - 1] : NULL;
	if (!one || !one->bytes || one->released) {
		complain("cuMemRelease: %llu is no memory", handle);
		return end(INVALID_VALUE);
	}
	one->released = true;
	backing_drop(one);
	return end(OK);
}

EXPORT int cuMemMap(
        unsigned long long at, size_t bytes, size_t offset, unsigned long long handle, unsigned long long flags)
{
	BEGIN(false);
	struct reservation *to = reservation_of(at, bytes);
	struct backing *one = handle && handle <= BACKINGS_MOST ? &backings[handle - 1] : NULL;
	if (!to || !one || one->released || one->at || one->bytes != bytes || offset || flags
	        || at != to->at + to->mapped) {
		complain("cuMemMap: memory %llu, %zu bytes at %llx, which is not next", handle, bytes, at);
		return end(INVALID_VALUE);
	}
	one->at = at;
	to->mapped += bytes;
	to->device = one->device;
	counts.maps++;
	return end(OK);
}

/* Without a gap; by its device the next bytes, by another one, which has to reach that, any. */
static bool may_open(const struct reservation *to, uint64_t at, const struct access *access)
{
	int device = access->place.device;
	if (access->place.type != 1 || access->flags != 3 || device < 0 || device >= number("STANDIN_DEVICES", 1))
		return false;
	return device == to->device ? at == to->at + to->open
	                            : may_reach(device, to->device) && at <= to->at + to->peers[device];
}

static struct allocation *opened(const struct reservation *of, int device)
{
	struct allocation *empty = NULL;
	for (int i = 0; i < ALLOCATIONS_MOST; i++)
		if (allocations[i].bytes && allocations[i].reserved && allocations[i].at == of->at)
			return &allocations[i];
		else if (!allocations[i].bytes)
			empty = &allocations[i];
	if (empty && device >= 0)
		*empty = (struct allocation){ of->at, 0, device, true };
	return empty;
}

EXPORT int cuMemSetAccess(unsigned long long at, size_t bytes, const struct access *access, size_t count)
{
	BEGIN(false);
	struct reservation *to = reservation_of(at, bytes);
	struct allocation *one = NULL;
	bool right = to && count && at + bytes <= to->at + to->mapped;
	for (size_t i = 0; right && i < count; i++)
		right = may_open(to, at, &access[i]);
	if (!right) {
		complain("cuMemSetAccess: %zu bytes at %llx are not mapped, or not for these devices", bytes, at);
		return end(INVALID_VALUE);
	}
	for (size_t i = 0; i < count; i++)
		if (access[i].place.device == to->device && !(one = opened(to, to->device)))
			return end(OUT_OF_MEMORY);
	for (size_t i = 0; i < count; i++)
		if (access[i].place.device != to->device && at + bytes > to->at + to->peers[access[i].place.device])
			to->peers[access[i].place.device] = at + bytes - to->at;
	if (!one)
		return end(OK);
	unsigned char *from = (unsigned char *)(uintptr_t)at;
	mprotect(from, bytes, PROT_READ | PROT_WRITE);
	memset(from, 0xa5, bytes);
	mprotect(from, bytes, PROT_NONE);
	one->bytes += bytes;
	to->open += bytes;
	return end(OK);
}

/* All that is behind an end of the mapped addresses.  It waits for nobody. */
EXPORT int cuMemUnmap(unsigned long long at, size_t bytes)
{
	BEGIN(false);
	struct reservation *of = reservation_of(at, bytes);
	if (!of || at + bytes != of->at + of->mapped) {
		complain("cuMemUnmap: %zu bytes at %llx are not what is mapped", bytes, at);
		return end(INVALID_VALUE);
	}
	if (is_queued(at, bytes))
		complain("cuMemUnmap: what is queued uses %llx", at);
	for (int i = 0; i < BACKINGS_MOST; i++)
		if (backings[i].bytes && backings[i].at >= at && backings[i].at < at + bytes) {
			backings[i].at = 0;
			backing_drop(&backings[i]);
		}
	of->mapped -= bytes;
	for (int i = 0; i < DEVICES_MOST; i++)
		if (of->peers[i] > of->mapped)
			of->peers[i] = of->mapped;
	if (of->open > of->mapped) {
		struct allocation *one = opened(of, -1);
		madvise((void *)(uintptr_t)(of->at + of->mapped), of->open - of->mapped, MADV_DONTNEED);
		one->bytes = of->open = of->mapped;
	}
	return end(OK);
}

/* ---- the host's ---- */
static unsigned long long pinned_number; /* of the last range */

static const struct pinned *pinned_at(const void *at, size_t bytes)
{
	for (int i = 0; i < PINNED_MOST; i++)
		if (pinned[i].bytes && (const char *)at >= pinned[i].at
		        && (const char *)at + bytes <= pinned[i].at + pinned[i].bytes)
			return &pinned[i];
	return NULL;
}

static bool is_pinned(const void *at, size_t bytes) { return pinned_at(at, bytes) != NULL; }

/* What is pinned in part the driver copies neither as pinned memory nor as any. */
static bool is_split(const char *name, const void *at, size_t bytes)
{
	for (int i = 0; i < PINNED_MOST; i++)
		if (pinned[i].bytes && (const char *)at < pinned[i].at + pinned[i].bytes
		        && pinned[i].at < (const char *)at + bytes && !is_pinned(at, bytes)) {
			complain("%s: of %zu bytes at %p a part is pinned", name, bytes, at);
			return true;
		}
	return false;
}

EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
	BEGIN(true);
	const char *at = memory;
	int empty = -1;
	for (int i = 0; i < PINNED_MOST; i++)
		if (!pinned[i].bytes)
			empty = i;
		else if (at < pinned[i].at + pinned[i].bytes && pinned[i].at < at + bytes)
			return end(ALREADY_PINNED);
	if (!bytes || flags > 1 || empty < 0)
		return end(empty < 0 ? OUT_OF_MEMORY : INVALID_VALUE);
	pinned[empty] = (struct pinned){ at, bytes, false, ++pinned_number };
	return end(OK);
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	BEGIN(true);
	int i = 0;
	while (i < PINNED_MOST && pinned[i].bytes)
		i++;
	if (!bytes || flags > 7)
		return end(INVALID_VALUE);
	if (i == PINNED_MOST || !(*memory = malloc(bytes)))
		return end(OUT_OF_MEMORY);
	memset(*memory, 0xa5, bytes);
	pinned[i] = (struct pinned){ *memory, bytes, true, ++pinned_number };
	return end(OK);
}

EXPORT int cuMemFreeHost(void *memory)
{
	BEGIN(true);
	for (int i = 0; i < PINNED_MOST; i++)
		if (pinned[i].ours && pinned[i].bytes && pinned[i].at == memory) {
			pinned[i].bytes = 0;
			free(memory);
			return end(OK);
		}
	complain("cuMemFreeHost: %p is no memory of cuMemHostAlloc", memory);
	return end(INVALID_VALUE);
}

/* Of memory of the host's alone; what is not pinned is unknown to the driver. */
EXPORT int cuPointerGetAttribute(void *to, int attribute, unsigned long long at)
{
	BEGIN(true);
	const struct pinned *of = pinned_at((const void *)(uintptr_t)at, 1);
	if (!of || (attribute != 2 && attribute != 7))
		return end(INVALID_VALUE);
	if (attribute == 2)
		*(unsigned *)to = 1;
	else
		*(unsigned long long *)to = of->number;
	return end(OK);
}

EXPORT int cuMemHostUnregister(void *memory)
{
	BEGIN(true);
	for (int i = 0; i < PINNED_MOST; i++)
		if (pinned[i].bytes && !pinned[i].ours && pinned[i].at == memory) {
			pinned[i].bytes = 0;
			return end(OK);
		}
	return end(NOT_PINNED);
}

static bool is_memory(const char *name, unsigned long long at, size_t bytes)
{
	if (!allocation_of(at, bytes))
		complain("%s: %zu bytes at %llx are no device memory", name, bytes, at);
	return allocation_of(at, bytes) != NULL;
}

static int copy_in(
        const char *name, unsigned long long at, const void *from, size_t bytes, struct stream *stream, bool late)
{
	if (!is_memory(name, at, bytes) || is_split(name, from, bytes))
		return INVALID_VALUE;
	if (uncaptured(name, stream))
		return CAPTURE_UNSUPPORTED;
	if (is_pinned(from, bytes))
		return enqueue(stream,
		        (struct operation){
		                .kind = COPY_IN, .host = (void *)(uintptr_t)from, .at = at, .bytes = bytes });
	struct operation one = {
		.kind = COPY_IN, .host = malloc(bytes + 1), .taken = true, .at = at, .bytes = bytes, .late = late
	};
	memcpy(one.host, from, bytes);
	return enqueue(stream, one);
}

/* In the NULL stream.  Of pageable memory it returns when that has been taken, which may be before it is there. */
EXPORT int cuMemcpyHtoD_v2(unsigned long long at, const void *from, size_t bytes)
{
	BEGIN(true);
	struct stream *stream = legacy_stream();
	wait_for(stream);
	wrong = copy_in(__func__, at, from, bytes, stream, true);
	if (!wrong && is_pinned(from, bytes))
		wait_for(stream);
	return end(wrong ? wrong : sick);
}

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long at, const void *from, size_t bytes, void *stream)
{
	BEGIN(true);
	return end(!is_stream(&stream) ? INVALID_HANDLE : copy_in(__func__, at, from, bytes, stream, false));
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, unsigned long long at, size_t bytes, void *stream)
{
	BEGIN(true);
	if (!is_stream(&stream))
		return end(INVALID_HANDLE);
	if (!is_memory(__func__, at, bytes) || is_split(__func__, to, bytes))
		return end(INVALID_VALUE);
	if (uncaptured(__func__, stream))
		return end(CAPTURE_UNSUPPORTED);
	wrong = enqueue(stream, (struct operation){ .kind = COPY_OUT, .host = to, .at = at, .bytes = bytes });
	if (wrong || is_pinned(to, bytes))
		return end(wrong);
	wait_for(stream);
	return end(sick);
}

/* Whether a device uses memory of another one itself. */
static bool reaches(int device, const struct allocation *of, uint64_t at, size_t bytes)
{
	const struct reservation *behind = of->reserved ? reservation_of(at, bytes) : NULL;
	if (behind && at < behind->at + behind->peers[device] && at + bytes > behind->at + behind->peers[device])
		complain("device %d uses a part of %zu bytes at %llx", device, bytes, (unsigned long long)at);
	return behind ? at + bytes <= behind->at + behind->peers[device] : devices[device].reaches >> of->device & 1;
}

/* Each end in memory of its device. */
static int copy(const char *name, unsigned long long to, const void *to_device, unsigned long long from,
        const void *from_device, size_t bytes, void *stream)
{
	const struct allocation *target = allocation_of(to, bytes), *source = allocation_of(from, bytes);
	if (!is_stream(&stream))
		return INVALID_HANDLE;
	if (!target || !source || &devices[target->device] != to_device || &devices[source->device] != from_device) {
		complain("%s: %zu bytes from %llx to %llx are no memory of these devices", name, bytes, from, to);
		return INVALID_VALUE;
	}
	counts.copies += to_device == from_device;
	counts.peer_copies += to_device != from_device;
	counts.direct_copies +=
	        to_device != from_device && reaches(((struct stream *)stream)->device, source, from, bytes);
	counts.last_copy_on = ((struct stream *)stream)->device;
	return enqueue(stream, (struct operation){ .kind = COPY, .at = to, .from = from, .bytes = bytes });
}

EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream)
{
	BEGIN(true);
	return end(copy(__func__, to, current[depth - 1], from, current[depth - 1], bytes, stream));
}

EXPORT int cuMemcpyPeerAsync(
        unsigned long long to, void *to_device, unsigned long long from, void *from_device, size_t bytes, void *stream)
{
	BEGIN(true);
	return end(copy(__func__, to, to_device, from, from_device, bytes, stream));
}

EXPORT int cuMemsetD8Async(unsigned long long at, unsigned char byte, size_t bytes, void *stream)
{
	BEGIN(true);
	if (!is_stream(&stream))
		return end(INVALID_HANDLE);
	if (!is_memory(__func__, at, bytes))
		return end(INVALID_VALUE);
	return end(enqueue(stream, (struct operation){ .kind = FILL, .at = at, .byte = byte, .bytes = bytes }));
}
