/* stack.c: how deep calls go, by what the compiler says of each function, and on a bare machine by the calls that its
 * objects have: there each function stands in a section of its own, and none is called by a pointer. */
#include "emit/package.h"
#include "backends/backends.h"
#include <stdio.h>
#include <stdlib.h>

void stack_read(struct build *build, const char *path, unsigned object, struct stack_frames *frames)
{
	char line[512];
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file)) {
		char *tab = strchr(line, '\t'), *name = tab;
		if (!tab)
			continue;
		while (name > line && name[-1] != ':')
			name--;
		struct stack_frame frame = { arena_copy(build->arena, name, (size_t)(tab - name)), atol(tab + 1), -1,
			object };
		push(build->arena, &frames->of, frame);
	}
	if (file)
		fclose(file);
}

/* What a routine of the compiler's own takes, or of libc, by the rows of the target. */
static int64_t routine_bytes(const struct target *target, const char *name)
{
	enum { LIBC = 8, UNKNOWN = 112 };
	for (const char *at = target->routines; at && !strncmp(name, "__", 2);) {
		size_t length = strcspn(at, " ");
		if (memmem(name, strlen(name), at, length))
			return atol(at + length);
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return !strncmp(name, "__", 2) ? UNKNOWN : !strncmp(name, "mem", 3) ? LIBC : 0;
}

/* -fstack-usage says "word.constprop" of word.constprop.0. */
static const char *without_number(const char *at)
{
	size_t digits = *at == '.' ? strspn(at + 1, "0123456789") : 0;
	return digits ? at + 1 + digits : at;
}

static bool is_same(const char *symbol, const char *function)
{
	for (;; symbol++, function++) {
		symbol = without_number(symbol);
		function = without_number(function);
		if (!*symbol || *symbol != *function)
			return *symbol == *function;
	}
}

/* Of several of that name those of the object come first, then the larger. */
static int64_t rank(const struct stack_frame *frame, unsigned object)
{
	return frame->bytes + (frame->object == object ? INT64_C(1) << 60 : 0);
}

static struct stack_frame *frame_at(const struct stack_frames *frames, const char *name, unsigned object)
{
	struct stack_frame *found = NULL;
	FOR_ALL (i, frames->of)
		if (is_same(name, frames->of.at[i].name)
		        && (!found || rank(&frames->of.at[i], object) > rank(found, object)))
			found = &frames->of.at[i];
	return found;
}

static int64_t depth(const struct target *target, const struct object_sizes *objects, const struct stack_frames *frames,
        struct stack_frame *frame)
{
	if (frame->deep >= 0)
		return frame->deep;
	frame->deep = frame->bytes; /* of one that calls itself: none does */
	int64_t below = 0;
	FOR_EACH_AT (const struct object_call *call, objects->calls) {
		if (call->object != frame->object || !is_same(call->from, frame->name))
			continue;
		struct stack_frame *to = frame_at(frames, call->to, call->object);
		int64_t one = to ? depth(target, objects, frames, to) : routine_bytes(target, call->to);
		below = one > below ? one : below;
	}
	return frame->deep = frame->bytes + below;
}

int64_t stack_depth(const struct target *target, const struct object_sizes *objects, const struct stack_frames *frames,
        const char *name)
{
	struct stack_frame *frame = frame_at(frames, name, 0);
	return frame ? depth(target, objects, frames, frame) : 0;
}
