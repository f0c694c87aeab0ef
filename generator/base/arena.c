/* arena.c: memory that goes all at once.  Blocks grow by half of what is there, so a build of n bytes asks malloc
 * about log n times; a large request gets a block of its own. */
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

struct arena_block {
	struct arena_block *before;
	size_t used, room;
	_Alignas(64) unsigned char at[];
};

static _Atomic long fail_after; /* for tests only */
void arena_fail_after(long n) { fail_after = n; }
bool allocation_fails(void) { return fail_after && --fail_after == 0; }

void arena_init(struct arena *arena, struct build *build)
{
	memset(arena, 0, sizeof *arena);
	arena->build = build;
	arena->outer = arena == build->arena ? NULL : build->arena;
}

void arena_release(struct arena *arena)
{
	for (struct arena_block *block = arena->blocks, *before; block; block = before) {
		before = block->before;
		free(block);
	}
	arena->blocks = NULL;
	arena->used = 0;
	arena->interned = NULL;
}

static void out_of_memory(struct arena *arena, size_t bytes)
{
	fail(arena->build, EXIT_LIMIT, NULL, "out of memory: %zu bytes more than %zu in use", bytes, arena->used);
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	size_t align = bytes >= 64 ? 64 : 16;
	struct arena_block *block = arena->blocks;
	size_t from = block ? (block->used + align - 1) & ~(align - 1) : 0;
	if (allocation_fails())
		out_of_memory(arena, bytes);
	stop_if_asked(arena->build);
	if (!block || bytes > block->room || from > block->room - bytes) {
		size_t room = arena->used / 2 < 1 << 14 ? 1 << 14
		        : arena->used / 2 > 1 << 24     ? 1 << 24
		                                        : arena->used / 2;
		if (bytes > SIZE_MAX / 2
		        || (arena->limit && (bytes > arena->limit || arena->used > arena->limit - bytes)))
			out_of_memory(arena, bytes);
		room = room < bytes ? bytes : room;
		size_t whole = (sizeof *block + room + 63) & ~(size_t)63;
		block = aligned_alloc(64, whole);
		if (!block)
			out_of_memory(arena, bytes);
		block->before = arena->blocks;
		block->room = room;
		arena->used += room;
		arena->blocks = block;
		from = 0;
	}
	block->used = from + bytes;
	return memset(block->at + from, 0, bytes);
}

/* A block of its own, behind the one that small requests fill. */
void *arena_apart(struct arena *arena, size_t bytes)
{
	struct arena_block *block = NULL;
	if (!allocation_fails() && bytes <= SIZE_MAX / 2
	        && !(arena->limit && (bytes > arena->limit || arena->used > arena->limit - bytes)))
		block = aligned_alloc(64, (sizeof *block + bytes + 63) & ~(size_t)63);
	if (!block)
		out_of_memory(arena, bytes);
	struct arena_block **at = arena->blocks ? &arena->blocks->before : &arena->blocks;
	*block = (struct arena_block){ *at, bytes, bytes };
	*at = block;
	arena->used += bytes;
	return block->at;
}

void arena_drop(struct arena *arena, const void *apart)
{
	struct arena_block **at = &arena->blocks;
	while ((*at)->at != apart)
		at = &(*at)->before;
	struct arena_block *block = *at;
	*at = block->before;
	arena->used -= block->room;
	free(block);
}

void arena_trim(struct arena *arena, void *last, size_t bytes)
{
	arena->blocks->used = (size_t)((unsigned char *)last - arena->blocks->at) + bytes;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;
	if (!size_mul(count, size, &bytes))
		out_of_memory(arena, SIZE_MAX);
	return arena_alloc(arena, bytes);
}

void *arena_grow(struct arena *arena, void *old, size_t *room, size_t size)
{
	size_t count = *room, bytes = 0;
	if (!size_mul(count, 2, room) || !size_mul(*room = *room ? *room : 8, size, &bytes))
		out_of_memory(arena, SIZE_MAX);
	void *grown = arena_alloc(arena, bytes);
	if (count)
		memcpy(grown, old, count * size);
	return grown;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);
	if (length)
		memcpy(copy, text, length);
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	char *text = arena_alloc(arena, (size_t)n + 1);
	va_start(arguments, format);
	vsnprintf(text, (size_t)n + 1, format, arguments);
	va_end(arguments);
	return text;
}
