/* package.c: a library's files: header, schedule, kernels, weights, manifest, build files; compiled into libNAME.a. */
#include "emit/package.h"
#include "backends/backends.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KERNELS_IN_A_FILE = 8, PORTABLE_BYTES = 1 << 20 };
#define VERSION "0.1.0"

/* ---- names ---- */
static bool is_keyword(const char *word)
{
	static const char *const words[] = { "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const",
		"continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
		"friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "not", "operator", "or", "private", "protected",
		"public", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw",
		"true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor" };
	for (size_t i = 0; i < COUNT(words); i++)
		if (!strcmp(words[i], word))
			return true;
	return false;
}

const char *emit_identifier(struct arena *arena, const char *name)
{
	size_t length = strlen(name);
	char *made = arena_alloc(arena, length + 4), *p = made;
	if (!length || isdigit((unsigned char)*name))
		*p++ = 'x';
	for (const char *q = name; *q; q++)
		*p++ = isalnum((unsigned char)*q) ? *q : '_';
	if (is_keyword(made))
		*p++ = '_';
	return made;
}

static const char **fields_of(struct arena *arena, const char *const *names, size_t count)
{
	const char **fields = new_array(arena, const char *, count);
	for (size_t i = 0; i < count; i++) {
		fields[i] = emit_identifier(arena, names[i]);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(fields[k], fields[i])) {
				fields[i] = arena_printf(arena, "%s_%zu", fields[i], i);
				k = (size_t)-1;
			}
	}
	return fields;
}

/* A name that may stand inside a comment. */
static const char *quiet(struct arena *arena, const char *name)
{
	char *made = arena_copy(arena, name, strlen(name));
	for (char *p = made; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127 || *p == '\\' || (*p == '*' && p[1] == '/') || (*p == '/' && (p[1] == '*' || p[1] == '/')))
			*p = '_';
	return made;
}

static struct value tensor_value(struct arena *arena, const struct definition *d, const char *name, const char *field)
{
	struct value value = value_dict(arena);
	struct text dims;
	text_init(&dims, arena->build);
	text_addc(&dims, '[');
	for (int v = 0; v < d->rank; v++)
		text_printf(&dims, "%s%" PRId64, v ? "," : "", d->extents[v]);
	text_addc(&dims, ']');
	value_dict_set(value, "name", value_string(quiet(arena, name)));
	value_dict_set(value, "field", value_string(field));
	value_dict_set(value, "c", value_string(dtypes[d->type].c));
	value_dict_set(value, "dims", value_copy(arena, dims.at, dims.count));
	text_release(&dims);
	return value;
}

/* ---- the schedule ---- */
static const char *argument_of(struct writing *w, const struct param *param)
{
	struct arena *arena = w->emit->arena;
	const struct definition *d = param->of;
	const struct program *program = w->lowered->program;
	const char *type = dtypes[d->type].c, *qualifier = param->written ? "" : "const ";
	if (d->placed->mode == MODE_CONSTANT)
		return arena_printf(arena, "(const %s *)(const void *)(call->weights + %" PRId64 ")", type, d->placed->offset);
	if (d->placed->mode == MODE_DEVICE)
		return arena_printf(arena, "(%s%s *)(void *)(call->workspace + %" PRId64 ")", qualifier, type, d->placed->offset);
	for (size_t i = 0; i < program->inputs.count; i++)
		if (program->inputs.at[i] == d)
			return arena_printf(arena, "call->in->%s", w->input_fields[i]);
	for (size_t i = 0; i < program->outputs.count; i++)
		if (program->outputs.at[i] == d)
			return arena_printf(arena, "call->out->%s", w->output_fields[i]);
	fail(w->emit->build, EXIT_LIMIT, d->name, "has no place");       /* lowered_check has seen to it */
}

static const char *joined(struct writing *w, const struct kernel *kernel, bool types)
{
	struct text text;
	text_init(&text, w->emit->build);
	for (size_t i = 0; i < kernel->params.count; i++) {
		const struct param *param = &kernel->params.at[i];
		text_adds(&text, i ? ", " : "");
		if (types)
			text_printf(&text, "%s%s *%s", param->written ? "" : "const ", dtypes[param->of->type].c, param->name);
		else
			text_adds(&text, argument_of(w, param));
	}
	const char *kept = arena_copy(w->emit->arena, text.count ? text.at : "", text.count);
	text_release(&text);
	return kept;
}

/* Sharing costs a fork and a join, about 0.3 us with a spinning pool: worth it from some microseconds of work on. */
static int parts_of(const struct package *package, const struct kernel *kernel)
{
	double work = kernel->flops + 4 * kernel->bytes;
	if (package->threads < 2 || kernel->blocks < 2 || work < 200e3)
		return 1;
	return kernel->blocks < package->threads ? (int)kernel->blocks : package->threads;
}

static struct value kernels_value(struct writing *w)
{
	struct value list = value_list(w->emit->arena);
	for (size_t k = 0; k < w->lowered->kernels.count; k++) {
		const struct kernel *kernel = w->lowered->kernels.at[k];
		struct value value = value_dict(w->emit->arena);
		value_dict_set(value, "number", value_int(kernel->number));
		value_dict_set(value, "symbol", value_string(emit_symbol(w->emit, kernel)));
		value_dict_set(value, "types", value_string(joined(w, kernel, true)));
		value_dict_set(value, "arguments", value_string(joined(w, kernel, false)));
		value_dict_set(value, "blocks", value_int(kernel->blocks));
		value_dict_set(value, "parts", value_int(parts_of(w->package, kernel)));
		value_list_add(list, value);
	}
	return list;
}

/* ---- files ---- */
void package_render(struct writing *w, const char *template, const char *file)
{
	struct text text;
	text_init(&text, w->emit->build);
	template_render(w->emit->templates, template, w->globals, &text);
	file_set_add(w->files, file, text.at, text.count);
	text_release(&text);
}

static void add_kernels(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const struct lowered *lowered = w->lowered;
	size_t count = lowered->code.count, files = (count + KERNELS_IN_A_FILE - 1) / KERNELS_IN_A_FILE;
	for (size_t f = 0; f < files; f++) {
		struct text kernels, prelude;
		struct value symbols = value_list(arena);
		text_init(&kernels, w->emit->build);
		text_init(&prelude, w->emit->build);
		for (size_t k = count * f / files; k < count * (f + 1) / files; k++) {
			struct value symbol = value_dict(arena);
			value_dict_set(symbol, "name", value_string(emit_symbol(w->emit, lowered->code.at[k])));
			value_dict_set(symbol, "types", value_string(joined(w, lowered->code.at[k], true)));
			value_list_add(symbols, symbol);
			emit_kernel(w->emit, lowered->code.at[k], &kernels);
			text_addc(&kernels, '\n');
		}
		emit_prelude(w->emit, kernels.at, kernels.count, &prelude);
		const char *part = files > 1 ? arena_printf(arena, "_%zu", f) : "";
		const char *file = arena_printf(arena, "%s_kernels%s.c", w->package->name, part);
		value_dict_set(w->globals, "part", value_string(part));
		value_dict_set(w->globals, "symbols", symbols);
		value_dict_set(w->globals, "prelude", value_string_of(prelude.at, prelude.count));
		value_dict_set(w->globals, "kernels", value_string_of(kernels.at, kernels.count));
		package_render(w, "package/kernels.jinja", file);
		push(arena, &w->sources, file);
		text_release(&kernels);
		text_release(&prelude);
	}
	value_dict_set(w->globals, "kernels", kernels_value(w));
}

/* For ingot bench: marks between kernels, and the limits. */
static void add_profile(struct writing *w)
{
	static const char words[] = "vec_set vec_fma vec_load vec_lane0";
	struct text prelude;
	const char *file = arena_printf(w->emit->arena, "%s_profile.c", w->package->name);
	text_init(&prelude, w->emit->build);
	emit_prelude(w->emit, words, sizeof words - 1, &prelude);
	value_dict_set(w->globals, "prelude", value_string_of(prelude.at, prelude.count));
	package_render(w, "package/profile.jinja", file);
	push(w->emit->arena, &w->sources, file);
	text_release(&prelude);
}

static unsigned char *blob_of(struct writing *w)
{
	const struct lowered *lowered = w->lowered;
	size_t bytes = (size_t)lowered->weights_bytes;
	unsigned char *blob = calloc(1, bytes);
	if (!blob)
		fail(w->emit->build, EXIT_LIMIT, NULL, "out of memory: %zu bytes of weights", bytes);
	for (size_t i = 0; i < lowered->constants.count; i++)
		lowered->constants.at[i].fill(&lowered->constants.at[i], blob + lowered->constants.at[i].of->placed->offset);
	return blob;
}

/* Item by item: the blob of a large model is never whole in memory.  Between items there are zeros up to the next one's place. */
void package_add_blob(struct writing *w)
{
	const struct lowered *lowered = w->lowered;
	size_t written = 0, room = 0;
	bool right = true;
	if (!lowered->weights_bytes)
		return;
	const char *path = file_set_path(w->files, arena_printf(w->emit->arena, "%s_weights.bin", w->package->name));
	for (size_t i = 0; i < lowered->constants.count; i++) {
		const struct placed *placed = lowered->constants.at[i].of->placed;
		size_t end = i + 1 < lowered->constants.count ? (size_t)lowered->constants.at[i + 1].of->placed->offset : (size_t)lowered->weights_bytes;
		room = end - (size_t)placed->offset > room ? end - (size_t)placed->offset : room;
	}
	unsigned char *item = malloc(room);
	FILE *file = item ? fopen(path, "wb") : NULL;
	for (size_t i = 0; file && right && i < lowered->constants.count; i++) {
		size_t end = i + 1 < lowered->constants.count ? (size_t)lowered->constants.at[i + 1].of->placed->offset : (size_t)lowered->weights_bytes;
		memset(item, 0, room);
		lowered->constants.at[i].fill(&lowered->constants.at[i], item);
		right = fwrite(item, 1, end - written, file) == end - written;
		written = end;
	}
	free(item);
	if (!file || fclose(file) || !right)
		fail(w->emit->build, EXIT_ENVIRONMENT, path, "%zu bytes of weights cannot be written", (size_t)lowered->weights_bytes);
}

static void add_weights(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	size_t bytes = (size_t)w->lowered->weights_bytes;
	if (!bytes)
		return;
	package_add_blob(w);
	if (bytes <= PORTABLE_BYTES) {
		unsigned char *blob = blob_of(w);
		struct text rows;
		text_init(&rows, w->emit->build);
		for (size_t i = 0; i < bytes; i++)
			text_printf(&rows, "%s%u,%s", i % 24 ? "" : "\t", blob[i], i % 24 == 23 && i + 1 < bytes ? "\n" : "");
		free(blob);
		value_dict_set(w->globals, "bytes", value_int((int64_t)bytes));
		value_dict_set(w->globals, "rows", value_string_of(rows.at, rows.count));
		package_render(w, "package/weights_c.jinja", arena_printf(arena, "%s_weights.c", w->package->name));
		text_release(&rows);
	}
	const char *file = arena_printf(arena, "%s_weights.S", w->package->name);
	package_render(w, "package/weights_s.jinja", file);
	push(arena, &w->sources, file);
}

static json_t *tensors_json(const struct writing *w, bool inputs)
{
	const struct program *program = w->lowered->program;
	json_t *list = json_array();
	for (size_t i = 0; i < (inputs ? program->inputs.count : program->outputs.count); i++) {
		const struct definition *d = inputs ? program->inputs.at[i] : program->outputs.at[i];
		json_t *dims = json_array();
		for (int v = 0; v < d->rank; v++)
			json_array_append_new(dims, json_integer(d->extents[v]));
		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:o,s:I}", "name", inputs ? w->package->input_names[i] : w->package->output_names[i],
			"field", inputs ? w->input_fields[i] : w->output_fields[i], "type", dtypes[d->type].text, "dims", dims,
			"bytes", (json_int_t)d->placed->bytes));
	}
	return list;
}

json_t *package_manifest(struct writing *w)
{
	const struct lowered *lowered = w->lowered;
	struct arena *arena = w->emit->arena;
	const char *name = w->package->name;
	json_t *kernels = json_array(), *sources = json_array(), *symbols = json_object();
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		const struct kernel *kernel = lowered->kernels.at[k];
		json_t *nodes = json_array();
		for (size_t m = 0; m < kernel->members.count; m++)
			json_array_append_new(nodes, json_string(kernel->members.at[m]->name));
		json_array_append_new(kernels, json_pack("{s:s,s:s,s:s,s:o,s:f,s:f}", "name", kernel->name, "template",
			kernel->template_name ? kernel->template_name : "", "tile", kernel->tile ? kernel->tile : "", "nodes", nodes,
			"flops", kernel->flops, "bytes", kernel->bytes));
	}
	for (size_t i = 0; i < w->sources.count; i++)
		json_array_append_new(sources, json_string(w->sources.at[i]));
	json_object_set_new(symbols, "run", json_string(arena_printf(arena, "%s_run", name)));
	if (lowered->weights_bytes)
		json_object_set_new(symbols, "weights", json_string(arena_printf(arena, "%s_weights", name)));
	json_t *manifest = json_pack("{s:s,s:s,s:s,s:o,s:o,s:s}", "prefix", name, "header", arena_printf(arena, "%s.h", name), "library",
		w->package->cc ? arena_printf(arena, "lib%s.a", name) : "", "sources", sources, "symbols", symbols, "options", w->package->options);
	json_object_set_new(manifest, "inputs", tensors_json(w, true));
	json_object_set_new(manifest, "outputs", tensors_json(w, false));
	json_object_set_new(manifest, "workspace_bytes", json_integer(lowered->workspace_bytes));
	json_object_set_new(manifest, "workspace_align", json_integer(lowered->workspace_align));
	json_object_set_new(manifest, "weights_bytes", json_integer(lowered->weights_bytes));
	if (w->stack_bytes > 0)
		json_object_set_new(manifest, "stack_bytes", json_integer(w->stack_bytes));
	json_object_set_new(manifest, "libm", json_array());
	json_object_set_new(manifest, "kernels", kernels);
	return manifest;
}

void package_add_manifest(struct writing *w, json_t *manifest)
{
	const char *name = w->package->name;
	char *text = json_dumps(manifest, JSON_INDENT(2));
	json_decref(manifest);
	if (!text)
		fail(w->emit->build, EXIT_INVALID, name, "a name in the model is not UTF-8");
	char *kept = arena_printf(w->emit->arena, "%s\n", text);
	free(text);
	file_set_add(w->files, arena_printf(w->emit->arena, "%s.json", name), kept, strlen(kept));
}

/* ---- compiling ---- */
/* Objects are made in a folder of their own from the sources by their final names, so .incbin and #include find them. */
static const char *scratch_folder(struct writing *w)
{
	char *folder = arena_printf(w->emit->arena, "%s/ingot-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(folder))
		fail(w->emit->build, EXIT_ENVIRONMENT, folder, "cannot be made");
	return folder;
}

struct frame { char name[160]; long bytes; };
static void read_frames(struct writing *w, const char *folder, const char *object, struct frame *frames, size_t room, size_t *count)
{
	char *path = arena_printf(w->emit->arena, "%s/%.*ssu", folder, (int)strlen(object) - 1, object), line[512];
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file)) {
		char *tab = strchr(line, '\t'), *name = tab;
		if (!tab || *count == room)
			continue;
		while (name > line && name[-1] != ':')
			name--;
		snprintf(frames[*count].name, sizeof frames->name, "%.*s", (int)(tab - name), name);
		frames[(*count)++].bytes = atol(tab + 1);
	}
	if (file)
		fclose(file);
}

/* run -> the deepest kernel -> its deepest tile; a return address each. */
static int64_t deepest(const struct writing *w, const struct frame *frames, size_t count)
{
	long run = 0, worst = 0;
	char run_name[160];
	snprintf(run_name, sizeof run_name, "%s_run", w->package->name);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(frames[i].name, run_name))
			run = frames[i].bytes;
	for (size_t k = 0; k < w->lowered->kernels.count; k++) {
		const char *symbol = emit_symbol(w->emit, w->lowered->kernels.at[k]);
		long own = 0, below = 0;
		size_t n = strlen(symbol);
		for (size_t i = 0; i < count; i++)
			if (!strcmp(frames[i].name, symbol))
				own = frames[i].bytes;
			else if (!strncmp(frames[i].name, symbol, n) && frames[i].name[n] == '_' && frames[i].bytes > below)
				below = frames[i].bytes;
		if (own + below > worst)
			worst = own + below;
	}
	return count ? run + worst + 3 * (int64_t)sizeof(void *) : 0;
}

static void compile(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	struct build *build = w->emit->build;
	const struct package *package = w->package;
	const char *folder = scratch_folder(w);
	/* The files under their final names. */
	const char *objects[256];
	int count = (int)w->sources.count;
	char *here = realpath(w->directory, NULL);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (count > 255)
		fail(build, EXIT_LIMIT, package->name, "more than 255 source files");
	if (setjmp(mine) == 0) {
		const char *names[300];
		int named = 0;
		for (int i = 0; i < count; i++)
			names[named++] = w->sources.at[i];
		names[named++] = arena_printf(arena, "%s.h", package->name);
		if (w->lowered->weights_bytes)
			names[named++] = arena_printf(arena, "%s_weights.bin", package->name);
		for (int i = 0; i < named; i++) {
			const char *temporary = file_set_path(w->files, names[i]);
			const char *link = arena_printf(arena, "%s/%s", folder, names[i]);
			const char *base = strrchr(temporary, '/');
			if (symlink(arena_printf(arena, "%s%s", here, base), link))
				fail(build, EXIT_ENVIRONMENT, link, "cannot be made");
			push(arena, &w->clean, link);
		}
		for (int i = 0; i < count; i++) {
			objects[i] = arena_printf(arena, "%.*s.o", (int)(strrchr(w->sources.at[i], '.') - w->sources.at[i]), w->sources.at[i]);
			push(arena, &w->clean, arena_printf(arena, "%s/%s", folder, objects[i]));
			push(arena, &w->clean, arena_printf(arena, "%s/%.*ssu", folder, (int)strlen(objects[i]) - 1, objects[i]));
		}
		struct cc_job job = { .cc = package->cc, .directory = folder, .sources = w->sources.at, .objects = objects, .count = count, .jobs = package->jobs,
			.flags = arena_printf(arena, "%s%s -fstack-usage", w->emit->target->cc_flags, w->emit->target->freestanding ? " -ffreestanding" : " -fPIC") };
		if (package->progress)
			package->progress(package->user, "compile", 0, count);
		cc_compile(build, &job);
		struct frame *frames = new_array(arena, struct frame, 4096);
		size_t frame_count = 0;
		for (int i = 0; i < count; i++)
			read_frames(w, folder, objects[i], frames, 4096, &frame_count);
		w->stack_bytes = deepest(w, frames, frame_count);
		const char *library = arena_printf(arena, "lib%s.a", package->name);
		const char *target = file_set_path(w->files, library);
		unlink(target);
		const char *ar[300] = { "ar", "rcsD", arena_printf(arena, "%s%s", here, strrchr(target, '/')) };
		for (int i = 0; i < count; i++)
			ar[3 + i] = objects[i];
		cc_run(build, folder, ar);
		if (package->shared) {
			const char *so = file_set_path(w->files, arena_printf(arena, "lib%s.so", package->name));
			const char *ld[300] = { package->cc, "-shared", "-o", arena_printf(arena, "%s%s", here, strrchr(so, '/')) };
			for (int i = 0; i < count; i++)
				ld[4 + i] = objects[i];
			cc_run(build, folder, ld);
		}
	}
	build->out = out;
	for (size_t i = 0; i < w->clean.count; i++)
		unlink(w->clean.at[i]);
	rmdir(folder);
	free(here);
	if (build->code)
		longjmp(*out, 1);
}

void package_begin(struct writing *w)
{
	const struct package *package = w->package;
	const struct lowered *lowered = w->lowered;
	const struct program *program = lowered->program;
	struct arena *arena = w->emit->arena;
	char *upper = arena_copy(arena, package->name, strlen(package->name));
	struct value inputs = value_list(arena), outputs = value_list(arena), flags = value_list(arena);
	for (char *p = upper; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	w->globals = value_dict(arena);
	w->input_fields = fields_of(arena, package->input_names, program->inputs.count);
	w->output_fields = fields_of(arena, package->output_names, program->outputs.count);
	for (size_t i = 0; i < program->inputs.count; i++)
		value_list_add(inputs, tensor_value(arena, program->inputs.at[i], package->input_names[i], w->input_fields[i]));
	for (size_t i = 0; i < program->outputs.count; i++)
		value_list_add(outputs, tensor_value(arena, program->outputs.at[i], package->output_names[i], w->output_fields[i]));
	value_dict_set(w->globals, "name", value_string(package->name));
	value_dict_set(w->globals, "NAME", value_string(upper));
	value_dict_set(w->globals, "model", value_string(quiet(arena, package->model)));
	value_dict_set(w->globals, "version", value_string(VERSION));
	value_dict_set(w->globals, "options", value_string(package->options));
	value_dict_set(w->globals, "inputs", inputs);
	value_dict_set(w->globals, "outputs", outputs);
	value_dict_set(w->globals, "threads", value_int(package->threads));
	value_dict_set(w->globals, "workspace_bytes", value_int(lowered->workspace_bytes));
	value_dict_set(w->globals, "workspace_align", value_int(lowered->workspace_align));
	value_dict_set(w->globals, "weights_bytes", value_int(lowered->weights_bytes));
	value_dict_set(w->globals, "stack_bytes", value_none());
	value_list_add(flags, value_string(w->emit->target->cc_flags));
	value_dict_set(w->globals, "flags", flags);
}

static void add_library(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const struct package *package = w->package;
	struct value sources = value_list(arena);
	push(arena, &w->sources, arena_printf(arena, "%s.c", package->name));
	add_kernels(w);
	package_render(w, "package/run.jinja", arena_printf(arena, "%s.c", package->name));
	package_render(w, "package/header.jinja", arena_printf(arena, "%s.h", package->name));
	if (package->profile)
		add_profile(w);
	add_weights(w);
	for (size_t i = 0; i < w->sources.count; i++)
		value_list_add(sources, value_string(w->sources.at[i]));
	value_dict_set(w->globals, "sources", sources);
	if (package->cc) {
		compile(w);
		if (w->stack_bytes > 0) {
			value_dict_set(w->globals, "stack_bytes", value_int(w->stack_bytes));
			value_dict_set(w->globals, "stack_by", value_string(package->cc));
			package_render(w, "package/header.jinja", arena_printf(arena, "%s.h", package->name));
		}
	}
	package_render(w, "package/cmake.jinja", "CMakeLists.txt");
	package_render(w, "package/pc.jinja", arena_printf(arena, "%s.pc", package->name));
	package_add_manifest(w, package_manifest(w));
}

void package_write(struct emit *emit, const struct package *package, const char *directory)
{
	static const struct { const char *family; void (*add)(struct writing *); } writers[] = { { "c", add_library }, { "cuda", package_cuda } };
	struct writing w = { .emit = emit, .package = package, .lowered = package->lowered, .directory = directory };
	package_begin(&w);
	jmp_buf *out = emit->build->out, mine;
	emit->build->out = &mine;
	if (setjmp(mine) == 0) {
		w.files = file_set_new(emit->build, directory);
		for (size_t i = 0; i < COUNT(writers); i++)
			if (!strcmp(writers[i].family, emit->target->family))
				writers[i].add(&w);
		file_set_commit(w.files);
	}
	emit->build->out = out;
	if (w.files)
		file_set_drop(w.files);
	if (emit->build->code)
		longjmp(*out, 1);
}
