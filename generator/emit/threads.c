/* threads.c: the runtime's pool of threads -> ingot_threads.h and ingot_threads.c, which stand by themselves. */
#include "emit/package.h"
#include "base/embedded.h"

static const char *file_text(struct arena *arena, const char *name)
{
	FOR (i, embedded_runtime_count)
		if (!strcmp(embedded_runtime_files[i].name, name))
			return arena_copy(
			        arena, (const char *)embedded_runtime_files[i].at, embedded_runtime_files[i].bytes);
	return NULL;
}

/* Without the runtime's headers. */
static const char *by_itself(struct arena *arena, const char *text)
{
	char *made = arena_copy(arena, text, strlen(text));
	for (char *line; (line = strstr(made, "#include \"")) != NULL;) {
		const char *next = strchr(line, '\n') + 1;
		memmove(line, next, strlen(next) + 1);
	}
	return made;
}

bool package_has_threads(const struct writing *w)
{
	const struct package *package = w->package;
	const struct target *target = w->emit->target;
	return package->threads > 1 && !package->managed && !target->freestanding && !strcmp(target->family, "c")
	        && embedded_runtime_count;
}

void package_add_threads(struct writing *w)
{
	static const char *const names[] = { "futex.h", "threads.c", "checked.c" };
	struct arena *arena = w->emit->arena;
	const char *header = file_text(arena, "include/ingot/threads.h"), *include;
	if (!package_has_threads(w))
		return;
	struct value halves = value_list(arena);
	/* what it says of itself first is said anew */
	header = strstr(header, "\n *\n") + strlen("\n *\n");
	include = strstr(header, "#include \"ingot/abi.h\"\n");
	value_list_add(halves, value_copy(arena, header, (size_t)(include - header)));
	value_list_add(halves, value_string(strchr(include, '\n') + 1));
	value_set(w->globals, "header", halves, "futex", by_itself(arena, file_text(arena, names[0])), "pool",
	        by_itself(arena, file_text(arena, names[1])), "checked", by_itself(arena, file_text(arena, names[2])));
	package_render(w, "package/threads_h.jinja", "ingot_threads.h");
	package_render(w, "package/threads.jinja", "ingot_threads.c");
	if (!w->package->shared)
		return;
	push(arena, &w->headers, "ingot_threads.h"); /* who loads a library at once finds the pool in it */
	push(arena, &w->sources, "ingot_threads.c");
	push(arena, &w->source_flags, "-pthread");
}
