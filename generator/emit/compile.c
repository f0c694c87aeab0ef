/* compile.c: a package's sources -> libNAME.a, and with the managed profile libingot_runtime.a.
 *
 * Objects are made in a folder of their own from the sources by their final names, so .incbin and #include find them.
 */
#include "emit/package.h"
#include "backends/backends.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCES_MOST = 4096 };

struct compiling {
	struct writing *w;
	const char *folder, *here;           /* the scratch folder; the package's, absolute */
	VECTOR(const char *) files, folders; /* to remove whatever happens */
	struct stack_frames frames;
	struct object_sizes objects; /* read where a bare machine's stack or a library's sizes are asked for */
	bool known;                  /* all of them */
};

/* ---- stack use ---- */
/* What the compiler made of a source: "o", or "su", what its functions take of the stack. */
static const char *scratch_file(const struct compiling *c, const char *source, const char *ending)
{
	int stem = (int)(strrchr(source, '.') - source);
	return arena_printf(c->w->emit->arena, "%s/%.*s.%s", c->folder, stem, source, ending);
}

/* A kernel and the deepest of its tiles, or of its steps. */
static int64_t depth_of(const struct compiling *c, const struct kernel *kernel)
{
	const char *symbol = emit_symbol(c->w->emit, kernel);
	const struct lowered *inside = kernel_inside(kernel);
	int64_t own = 0, below = 0;
	size_t n = strlen(symbol);
	if (c->w->emit->target->freestanding)
		return stack_depth(c->w->emit->target, &c->objects, &c->frames, symbol);
	FOR_EACH_AT (const struct stack_frame *frame, c->frames.of) {
		if (!strcmp(frame->name, symbol))
			own = frame->bytes;
		else if (!inside && !strncmp(frame->name, symbol, n) && frame->name[n] == '_' && frame->bytes > below)
			below = frame->bytes;
	}
	for (size_t s = 0; inside && s < inside->kernels.count; s++) {
		int64_t step = depth_of(c, inside->kernels.at[s]) + (int64_t)sizeof(void *);
		below = step > below ? step : below;
	}
	return own + below;
}

/* Of NAME_WHAT; 0: it has none.  On a bare machine with all that it calls. */
static int64_t frame_of(const struct compiling *c, const char *name, const char *what)
{
	const char *symbol = arena_printf(c->w->emit->arena, "%s_%s", name, what);
	if (c->w->emit->target->freestanding)
		return stack_depth(c->w->emit->target, &c->objects, &c->frames, symbol);
	FOR_ALL (i, c->frames.of)
		if (!strcmp(c->frames.of.at[i].name, symbol))
			return c->frames.of.at[i].bytes + (strcmp(what, "run") ? (int64_t)sizeof(void *) : 0);
	return 0;
}

/* run -> the deepest kernel -> its deepest tile, and memcpy or memset; a return address each, which is in the frame
 * where calls leave it in a register.  Of a bare machine the calls are known. */
static int64_t deepest(const struct compiling *c)
{
	static const char *const names[] = { "run", "schedule", "step" };
	const struct writing *w = c->w;
	bool bare = w->emit->target->freestanding;
	int64_t all = 0, worst = 0;
	FOR_ALL (k, w->lowered->kernels) {
		int64_t depth = depth_of(c, w->lowered->kernels.at[k]);
		worst = depth > worst ? depth : worst;
	}
	FOR (i, COUNT(names)) {
		int64_t frame = frame_of(c, w->of->name, names[i]);
		all = !bare ? all + frame : frame > all ? frame : all;
	}
	return !c->frames.of.count ? 0 : !bare ? all + worst + 3 * (int64_t)sizeof(void *) : all > worst ? all : worst;
}

/* ---- the scratch folder ---- */
static void add_folder(struct compiling *c, const char *name)
{
	const char *path = arena_printf(c->w->emit->arena, "%s/%s", c->folder, name);
	FOR_ALL (i, c->folders)
		if (!strcmp(c->folders.at[i], path))
			return;
	const char *slash = strrchr(name, '/');
	if (slash)
		add_folder(c, arena_copy(c->w->emit->arena, name, (size_t)(slash - name)));
	push(c->w->emit->arena, &c->folders, path); /* first: an allocation may end the build */
	if (mkdir(path, 0777))
		fail(c->w->emit->build, EXIT_ENVIRONMENT, path, "cannot be made: %s", strerror(errno));
}

/* The file of the package under its final name. */
static void add_link(struct compiling *c, const char *name)
{
	struct arena *arena = c->w->emit->arena;
	const char *temporary = file_set_path(c->w->files, name), *slash = strrchr(name, '/'),
	           *link = arena_printf(arena, "%s/%s", c->folder, name);
	if (slash)
		add_folder(c, arena_copy(arena, name, (size_t)(slash - name)));
	if (symlink(arena_printf(arena, "%s%s", c->here, temporary + strlen(c->w->directory)), link))
		fail(c->w->emit->build, EXIT_ENVIRONMENT, link, "cannot be made: %s", strerror(errno));
	push(arena, &c->files, link);
}

static void clean(struct compiling *c)
{
	FOR_ALL (i, c->files)
		unlink(c->files.at[i]);
	while (c->folders.count)
		rmdir(c->folders.at[--c->folders.count]);
	rmdir(c->folder);
}

/* ---- libraries ---- */
/* file's absolute temporary path */
static const char *output(struct compiling *c, const char *file)
{
	const char *path = file_set_path(c->w->files, file);
	unlink(path);
	return arena_printf(c->w->emit->arena, "%s%s", c->here, path + strlen(c->w->directory));
}

static void link_shared(struct compiling *c, const char *const *objects, size_t count, const char *file)
{
	struct writing *w = c->w;
	struct arena *arena = w->emit->arena;
	const char **command = arena_new_array(arena, const char *, count + 2 * CC_WORDS_MOST + 8);
	size_t n = (size_t)cc_words(w->emit->build, w->package->cc, command);
	if (w->package->cflags)
		n += (size_t)cc_words(w->emit->build, w->package->cflags, command + n);
	memcpy(command + n, (const char *[]){ "-shared", "-o", output(c, file) }, 3 * sizeof *command);
	n += 3;
	if (w->package->exported) {
		memcpy(command + n,
		        (const char *[]){ arena_printf(arena, "-Wl,-soname,%s", file),
		                arena_printf(arena, "-Wl,--version-script=%s.map", w->package->name), "-Wl,-z,defs" },
		        3 * sizeof *command);
		n += 3;
	}
	memcpy(command + n, objects, count * sizeof *command);
	n += count;
	if (w->package->exported && w->libm.count)
		command[n++] = "-lm";
	command[n] = NULL;
	cc_run(w->emit->build, c->folder, command);
}

/* Of the two files NULL is none. */
static void add_library(struct compiling *c, const char *const *sources, size_t count, const char *const *own,
        const char *flags, const char *library, const char *shared)
{
	struct writing *w = c->w;
	struct arena *arena = w->emit->arena;
	const char **objects = arena_new_array(arena, const char *, count + 1);
	if (count > SOURCES_MOST)
		fail(w->emit->build, EXIT_LIMIT, library ? library : shared, "more than %d source files", SOURCES_MOST);
	FOR (i, count) {
		objects[i] = arena_printf(arena, "%.*s.o", (int)(strrchr(sources[i], '.') - sources[i]), sources[i]);
		push(arena, &c->files, arena_printf(arena, "%s/%s", c->folder, objects[i]));
		push(arena, &c->files,
		        arena_printf(arena, "%s/%.*ssu", c->folder, (int)strlen(objects[i]) - 1, objects[i]));
	}
	for (size_t i = 0, n; i < count; i += n) { /* those that have the same flags of their own, at once */
		for (n = 1; i + n < count && (!own || !strcmp(own[i], own[i + n])); n++)
			;
		struct cc_job job = { .cc = w->package->cc,
			.directory = c->folder,
			.sources = sources + i,
			.objects = objects + i,
			.count = (int)n,
			.jobs = w->package->jobs,
			.flags = own ? arena_printf(arena, "%s %s", own[i], flags) : flags };
		cc_compile(w->emit->build, &job);
	}
	if (library) {
		const char **command = arena_new_array(arena, const char *, count + 4);
		memcpy(command, (const char *[]){ "ar", "rcsD", output(c, library) }, 3 * sizeof *command);
		memcpy(command + 3, objects, count * sizeof *command);
		cc_run(w->emit->build, c->folder, command);
	}
	if (shared)
		link_shared(c, objects, count, shared);
}

/* ---- sizes ---- */
static int64_t code_of(const struct object_sizes *objects, const char *symbol)
{
	int64_t bytes = 0;
	size_t n = strlen(symbol);
	FOR_EACH_AT (const struct object_function *one, objects->functions) {
		if (one->bytes > 0 && !strncmp(one->name, symbol, n) && (!one->name[n] || one->name[n] == '_'))
			bytes += one->bytes;
	}
	return bytes;
}

static bool is_defined(const struct object_sizes *objects, const char *name)
{
	FOR_ALL (i, objects->functions)
		if (objects->functions.at[i].bytes >= 0 && !strcmp(objects->functions.at[i].name, name))
			return true;
	return false;
}

/* What the library calls and has not: neither its kernels nor its weights. */
static void find_wanted(const struct writing *w, const struct object_sizes *objects, struct package_sizes *sizes)
{
	const char *weights = arena_printf(w->emit->arena, "%s_weights", w->package->name);
	FOR_EACH_AT (const struct object_function *one, objects->functions) {
		bool known =
		        one->bytes >= 0 || !*one->name || !strcmp(one->name, weights) || is_defined(objects, one->name);
		FOR_ALL (k, sizes->wanted)
			known |= !strcmp(sizes->wanted.at[k], one->name);
		if (!known)
			push(w->emit->arena, &sizes->wanted, one->name);
	}
}

static void read_sizes(struct compiling *c, struct package_sizes *sizes)
{
	struct writing *w = c->w;
	sizes->known = c->known;
	sizes->text = c->objects.text;
	sizes->data = c->objects.data;
	sizes->bss = c->objects.bss;
	sizes->stack = w->stack_bytes[0];
	sizes->kernels = arena_new_array(w->emit->arena, struct kernel_size, w->lowered->kernels.count);
	FOR_ALL (k, w->lowered->kernels) {
		const struct kernel *kernel = w->lowered->kernels.at[k];
		sizes->kernels[k] =
		        (struct kernel_size){ kernel->same ? 0 : code_of(&c->objects, emit_symbol(w->emit, kernel)),
			        depth_of(c, kernel) };
	}
	find_wanted(w, &c->objects, sizes);
}

static void stack_bytes(struct compiling *c)
{
	struct writing *w = c->w;
	bool sizes_asked = w->package->sizes || w->emit->no_libc;
	c->known = true;
	FOR_ALL (i, w->sources) {
		stack_read(w->emit->build, scratch_file(c, w->sources.at[i], "su"), (unsigned)i, &c->frames);
		if (sizes_asked || w->emit->target->freestanding)
			c->known &=
			        object_add_sizes(w->emit->build, scratch_file(c, w->sources.at[i], "o"), &c->objects);
	}
	FOR (p, w->package->part_count) {
		package_part(w, p);
		w->stack_bytes[p] = deepest(c);
	}
	for (int p = 0; w->package->cpus && p < w->package->part_count; p++) { /* the first says it for all */
		int64_t bytes = w->stack_bytes[p] + frame_of(c, w->package->name, "run") + (int64_t)sizeof(void *);
		w->stack_bytes[0] = bytes > w->stack_bytes[0] ? bytes : w->stack_bytes[0];
	}
	struct package_sizes made = { 0 }, *sizes = w->package->sizes ? w->package->sizes : &made;
	if (sizes_asked)
		read_sizes(c, sizes);
	for (size_t i = 0; w->emit->no_libc && i < sizes->wanted.count; i++)
		if (strncmp(sizes->wanted.at[i], "__", 2) != 0) /* the compiler's own arithmetic */
			fail(w->emit->build, EXIT_LIMIT, w->package->name, "--libc none: %s is called nevertheless",
			        sizes->wanted.at[i]);
}

/* On a bare machine it is small, each function apart so that what is not called goes, and no loop becomes a call of
 * libc. */
const char *package_runtime_flags(struct writing *w)
{
	const struct target *target = w->emit->target;
	return !target->freestanding ? "-std=gnu11 -D_GNU_SOURCE -O2"
	                             : arena_printf(w->emit->arena,
	                                     "%s -std=gnu11 -Os -ffreestanding -fno-tree-loop-distribute-patterns "
	                                     "-ffunction-sections -fdata-sections",
	                                     target->cc_flags);
}

static void compile(struct compiling *c)
{
	struct writing *w = c->w;
	struct arena *arena = w->emit->arena;
	const char *name = w->package->name, *position = w->emit->target->freestanding ? "-ffreestanding" : "-fPIC";
	VECTOR(const char *) units = { 0 };
	FOR_ALL (i, w->sources)
		add_link(c, w->sources.at[i]);
	FOR_ALL (i, w->headers)
		add_link(c, w->headers.at[i]);
	FOR_EACH (const char *file, w->runtime) {
		add_link(c, file);
		if (!strcmp(file + strlen(file) - 2, ".c"))
			push(arena, &units, file);
	}
	FOR_ALL (i, w->blobs)
		add_link(c, w->blobs.at[i]);
	if (w->package->exported)
		add_link(c, arena_printf(arena, "%s.map", name));
	add_library(c, w->sources.at, w->sources.count, w->source_flags.at,
	        arena_printf(arena, "%s -fstack-usage%s%s%s", position, w->package->managed ? " -Iruntime/include" : "",
	                w->package->cflags ? " " : "", w->package->cflags ? w->package->cflags : ""),
	        w->package->shared ? NULL : arena_printf(arena, "lib%s.a", name),
	        w->package->shared || w->package->exported ? arena_printf(arena, "lib%s.so", name) : NULL);
	stack_bytes(c);
	if (units.count && !w->package->shared) /* who loads a library at once has a runtime */
		add_library(c, units.at, units.count, NULL,
		        arena_printf(arena, "%s%s -Iruntime/include", package_runtime_flags(w),
		                w->emit->target->freestanding ? "" : " -fPIC"),
		        "libingot_runtime.a", NULL);
}

void package_compile(struct writing *w)
{
	struct build *build = w->emit->build;
	char *folder = folder_temporary(build, w->emit->arena);
	char *here = realpath(w->directory, NULL);
	struct compiling c = { .w = w, .folder = folder, .here = here };
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0)
		compile(&c);
	build->out = out;
	clean(&c);
	free(here);
	if (build->code)
		longjmp(*out, 1);
}
