/* host.c: slabs, copies and kernels in host memory. */
#include <stdlib.h>
#include "host.h"
#include "inside.h"
#if INGOT_THREADS
#include <unistd.h>
#endif

enum ingot_status host_slab_alloc(
        void *device, size_t bytes, size_t align, enum ingot_slab_mode mode, void **slab, char *text)
{
	(void)device, (void)mode;
#if INGOT_THREADS
	bool none = posix_memalign(slab, align < sizeof(void *) ? sizeof(void *) : align, bytes);
#else
	bool none = !(*slab = alone_memory(bytes, align));
#endif
	if (none) {
		snprintf(text, INGOT_BACKEND_TEXT, "the host has no %zu bytes aligned to %zu", bytes, align);
		return INGOT_MEMORY;
	}
	return INGOT_OK;
}

void host_slab_free(void *device, void *slab)
{
	(void)device;
	free(slab);
}

void *host_slab_base(void *slab) { return slab; }

/* Generated C has arithmetic for these; others can be stored and copied only. */
bool host_supports(void *device, enum ingot_dtype dtype)
{
	/* clang-format off */
	static const bool yes[] = {
		[INGOT_F32] = true, [INGOT_F64] = true, [INGOT_BOOL] = true,
		[INGOT_U8] = true, [INGOT_U16] = true, [INGOT_U32] = true, [INGOT_U64] = true,
		[INGOT_I8] = true, [INGOT_I16] = true, [INGOT_I32] = true, [INGOT_I64] = true,
	};
	/* clang-format on */
	(void)device;
	return (unsigned)dtype < COUNT(yes) && yes[dtype];
}

void host_properties(void *device, struct ingot_properties *properties)
{
#if INGOT_THREADS
	long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
#else
	long cores = 1, pages = (long)alone_left(), page = 1;
#endif
	(void)device;
	*properties = (struct ingot_properties){ .host_memory = true,
		.slab_align = INGOT_THREADS ? 64 : 16,
		.compute_units = cores > 0 ? (uint32_t)cores : 1,
		.group_threads = 1,
		.group_size = { 1, 1, 1 },
		.memory_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0 };
}

enum ingot_status host_copy(
        void *queue, void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes, char *text)
{
	(void)queue, (void)text;
	memmove((char *)to + to_offset, (const char *)from + from_offset, bytes);
	return INGOT_OK;
}

enum ingot_status host_copy_in(void *queue, void *to, size_t to_offset, const void *host, size_t bytes, char *text)
{
	(void)queue, (void)text;
	if ((char *)to + to_offset != host)
		memcpy((char *)to + to_offset, host, bytes);
	return INGOT_OK;
}

enum ingot_status host_copy_out(void *queue, void *host, void *from, size_t from_offset, size_t bytes, char *text)
{
	(void)queue, (void)text;
	if (host != (char *)from + from_offset)
		memcpy(host, (const char *)from + from_offset, bytes);
	return INGOT_OK;
}

enum ingot_status host_fill(void *queue, void *to, size_t to_offset, int byte, size_t bytes, char *text)
{
	(void)queue, (void)text;
	memset((char *)to + to_offset, byte, bytes);
	return INGOT_OK;
}

enum ingot_status host_call(
        void *queue, int (*run)(const struct ingot_call *), struct ingot_call *call, int *code, char *text)
{
	(void)text;
	call->parallel = ((struct host_queue *)queue)->device->parallel;
	*code = run(call);
	return INGOT_OK;
}

struct grid {
	const struct ingot_module_kernel *kernel;
	void *const *arguments;
	uint32_t groups[3], threads[3];
	uint64_t from;
	_Atomic int code;
};

static void group_run(void *argument, int index)
{
	struct grid *grid = argument;
	uint64_t at = grid->from + (uint64_t)index;
	struct ingot_group group = { .index = { (uint32_t)(at % grid->groups[0]),
		                             (uint32_t)(at / grid->groups[0] % grid->groups[1]),
		                             (uint32_t)(at / grid->groups[0] / grid->groups[1]) } };
	int none = 0;
	memcpy(group.groups, grid->groups, sizeof group.groups);
	memcpy(group.threads, grid->threads, sizeof group.threads);
	int code = grid->kernel->run(&group, grid->arguments);
	if (code)
		atomic_compare_exchange_strong(&grid->code, &none, code);
}

enum ingot_status host_launch(void *queue, void *module, const struct ingot_module_kernel *kernel,
        const uint32_t groups[3], const uint32_t threads[3], void *const *arguments, int *code, char *text)
{
	const struct ingot_parallel *parallel = ((struct host_queue *)queue)->device->parallel;
	struct grid grid = { .kernel = kernel, .arguments = arguments };
	uint64_t total = (uint64_t)groups[0] * groups[1] * groups[2]; /* at most INGOT_MOST_GROUPS: launch_shape */
	(void)module;
	if (!kernel->run) {
		snprintf(text, INGOT_BACKEND_TEXT, "kernel %s has no code for the host", kernel->name);
		return INGOT_UNSUPPORTED;
	}
	memcpy(grid.groups, groups, sizeof grid.groups);
	memcpy(grid.threads, threads, sizeof grid.threads);
	for (uint64_t block; grid.from < total && !atomic_load(&grid.code); grid.from += block) {
		block = total - grid.from < (1 << 20) ? total - grid.from : 1 << 20;
		if (parallel && block > 1)
			parallel->run(parallel->pool, group_run, &grid, (int)block);
		else
			for (uint64_t i = 0; i < block; i++)
				group_run(&grid, (int)i);
	}
	*code = atomic_load(&grid.code);
	return INGOT_OK;
}
