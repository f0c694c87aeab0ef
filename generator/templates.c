/* templates.c: the folder of --templates: what lies there, and whether anything reads it. */
#include "pipeline.h"
#include "base/embedded.h"
#include "ops/ops.h"
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FOLDERS_DEEP = 8, FILES_MOST = 4096 };

struct own_files {
	struct build *build;
	const char *directory;
	VECTOR(const char *) names; /* "c/loops.jinja" */
	bool more;                  /* than are looked at */
};

static bool ends(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);
	return n > m && !strcmp(name + n - m, ending);
}

/* What people keep beside templates. */
static bool is_note(const char *name)
{
	return *name == '.' || !strncmp(name, "README", 6) || !strncmp(name, "LICENSE", 7) || ends(name, ".md")
	        || ends(name, ".txt") || ends(name, "~");
}

static void list_folder(struct own_files *files, const char *below, int depth)
{
	struct build *build = files->build;
	DIR *folder = opendir(arena_printf(build->arena, "%s/%s", files->directory, below));
	for (struct dirent *entry; folder && !files->more && (entry = readdir(folder));) {
		struct stat status;
		const char *name = arena_printf(build->arena, "%s%s%s", below, *below ? "/" : "", entry->d_name);
		if (is_note(entry->d_name)
		        || stat(arena_printf(build->arena, "%s/%s", files->directory, name), &status))
			continue;
		files->more = depth > FOLDERS_DEEP || files->names.count == FILES_MOST;
		if (S_ISDIR(status.st_mode) && !files->more)
			list_folder(files, name, depth + 1);
		else if (S_ISREG(status.st_mode))
			push(build->arena, &files->names, name);
	}
	if (folder)
		closedir(folder);
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* directory: NULL where there is none. */
static struct own_files list_files(struct build *build, const char *directory)
{
	struct own_files files = { .build = build, .directory = directory };
	if (directory)
		list_folder(&files, "", 0);
	if (files.more)
		fail(build, EXIT_USAGE, directory,
		        "holds more than %d files, or folders more than %d deep: a folder of templates holds fewer",
		        FILES_MOST, FOLDERS_DEEP);
	if (files.names.count)
		qsort(files.names.at, files.names.count, sizeof *files.names.at, by_name);
	return files;
}

/* Templates of which the JIT's menu was made when ingot was. */
static bool is_of_menu(const char *name)
{
	return !strncmp(name, "c/jit_menu", 10) || !strcmp(name, "c/jit_entry.jinja")
	        || !strcmp(name, "c/jit_table.jinja") || !strncmp(name, "onnx/menu/", 10);
}

/* "my.Foo" of onnx/my.Foo.jinja, onnx/my.Foo.shape, c/my.Foo.jinja and cuda/my.Foo.jinja; NULL: it is no such name. */
static const char *operator_of(struct arena *arena, const char *name)
{
	const char *slash = strchr(name, '/'), *dot = strrchr(name, '.');
	bool onnx = !strncmp(name, "onnx/", 5), kernel = !strncmp(name, "c/", 2) || !strncmp(name, "cuda/", 5);
	if (!slash || strchr(slash + 1, '/') || !(ends(name, ".jinja") || (onnx && ends(name, ".shape")))
	        || !(onnx || kernel))
		return NULL;
	return arena_copy(arena, slash + 1, (size_t)(dot - slash - 1));
}

static bool is_there(const struct own_files *files, const char *name)
{
	FOR_ALL (i, files->names)
		if (!strcmp(files->names.at[i], name))
			return true;
	return false;
}

/* Some other file of the folder names it: includes or imports it, or has a node of it. */
static bool is_mentioned(const struct own_files *files, const char *name, const char *word)
{
	size_t length = strlen(word);
	FOR_ALL (i, files->names) {
		if (!strcmp(files->names.at[i], name))
			continue;
		struct mapped file = file_map(
		        files->build, arena_printf(files->build->arena, "%s/%s", files->directory, files->names.at[i]));
		bool found = file.bytes && memmem(file.at, file.bytes, word, length);
		file_unmap(file);
		if (found)
			return true;
	}
	return false;
}

static bool has_node(const struct graph *graph, const char *op)
{
	FOR_EACH (const struct node *node, graph->nodes) {
		if (!strcmp(own_name(node), op))
			return true;
		FOR (a, node->attribute_count)
			if (node->attributes[a].g && has_node(node->attributes[a].g, op))
				return true;
	}
	return false;
}

/* Of an operator in no table: a text says all; a kernel and its types and shapes belong together. */
static bool reads_operator(const struct own_files *files, const char *name, const char *op, const struct graph *graph)
{
	struct arena *arena = files->build->arena;
	const char *dot = strrchr(op, '.');
	bool text = is_there(files, arena_printf(arena, "onnx/%s.jinja", op)),
	     shape = is_there(files, arena_printf(arena, "onnx/%s.shape", op)),
	     kernel = is_there(files, arena_printf(arena, "c/%s.jinja", op))
	        || is_there(files, arena_printf(arena, "cuda/%s.jinja", op));
	if (dot ? op_find(arena_copy(arena, op, (size_t)(dot - op)), dot + 1) != NULL : op_find("", op) != NULL)
		return false;
	if (!dot && graph && !has_node(graph, op)) /* of ONNX's own domain: a name written wrongly, more likely */
		return false;
	return !strncmp(name, "onnx/", 5) ? (ends(name, ".jinja") || kernel) : text || shape;
}

static const char *nearest_file(struct build *build, const char *name)
{
	struct nearest nearest = { .name = name, .length = strlen(name) };
	const char *op = operator_of(build->arena, name), *last = strrchr(name, '/'), *dot = strrchr(name, '.');
	last = last ? last + 1 : name;
	if (dot > last && op_find("", arena_copy(build->arena, last, (size_t)(dot - last))))
		return arena_printf(
		        build->arena, "; %.*s is an operator that no function body says", (int)(dot - last), last);
	if (op && strchr(op, '.') && strncmp(name, "onnx/", 5))
		return arena_printf(
		        build->arena, "; a kernel's types and shapes stand beside it, in onnx/%s.shape", op);
	if (op && strchr(op, '.'))
		return arena_printf(
		        build->arena, "; the kernel would stand beside it, in c/%s.jinja or cuda/%s.jinja", op, op);
	FOR (i, embedded_count)
		if (!is_of_menu(embedded_files[i].name))
			nearest_try(&nearest, embedded_files[i].name, strlen(embedded_files[i].name));
	return nearest.best ? arena_printf(build->arena, "; did you mean %.*s?", (int)nearest.best_length, nearest.best)
	                    : "";
}

void templates_check(struct build *build, const char *directory, const struct graph *graph)
{
	const struct own_files files = list_files(build, directory);
	FOR_EACH (const char *name, files.names) {
		const char *op = operator_of(build->arena, name);
		bool built_in = embedded_find(name) && !is_of_menu(name);
		if (!built_in && !(op && reads_operator(&files, name, op, graph)) && !is_mentioned(&files, name, name)
		        && !(op && is_mentioned(&files, name, op) && !op_find("", op)))
			fail(build, EXIT_USAGE, arena_printf(build->arena, "%s/%s", directory, name),
			        "nothing reads a template of that name%s", nearest_file(build, name));
	}
}

/* By bit, the shapes whose kernels a built-in template of that name prints; all, of what kernels are made of. */
static uint32_t shapes_of(struct arena *arena, const char *name)
{
	if (!embedded_find(name) || !strncmp(name, "c/jit_", 6))
		return 0;
	FOR (s, SHAPE_COUNT)
		if (!strcmp(name, arena_printf(arena, "c/%s.jinja", shapes[s].name)))
			return 1u << s;
	return strncmp(name, "c/", 2) && strncmp(name, "common/", 7) ? 0 : (1u << SHAPE_COUNT) - 1;
}

uint32_t templates_shapes(struct build *build, const char *directory)
{
	uint32_t written = 0;
	const struct own_files files = list_files(build, directory);
	FOR_ALL (i, files.names)
		written |= shapes_of(build->arena, files.names.at[i]);
	return written;
}

const struct own_operator *templates_operators(struct build *build, const char *directory, size_t *count)
{
	VECTOR(struct own_operator) made = { 0 };
	const struct own_files files = list_files(build, directory);
	FOR_ALL (i, files.names) {
		const char *op = operator_of(build->arena, files.names.at[i]);
		size_t k = 0;
		if (!op || embedded_find(files.names.at[i]) || !reads_operator(&files, files.names.at[i], op, NULL))
			continue;
		while (k < made.count && strcmp(made.at[k].name, op))
			k++;
		if (k == made.count)
			push(build->arena, &made, ((struct own_operator){ op, files.names.at[i] }));
		else
			made.at[k].files = arena_printf(build->arena, "%s, %s", made.at[k].files, files.names.at[i]);
	}
	*count = made.count;
	return made.at;
}
