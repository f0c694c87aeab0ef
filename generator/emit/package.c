/* package.c: what all packages have: names, the places of arguments, the weights, the manifest. */
#include "emit/package.h"
#include "ingot/names.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define VERSION "0.1.0"

/* ---- names ---- */
const char *emit_identifier(struct arena *arena, const char *name)
{
	size_t length = strlen(name);
	char *made = arena_alloc(arena, length + 4), *p = made;
	if (!length || isdigit((unsigned char)*name))
		*p++ = 'x';
	for (const char *q = name; *q; q++)
		*p++ = isalnum((unsigned char)*q) ? *q : '_';
	if (ingot_name_is_keyword(made))
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
const char *package_quiet(struct arena *arena, const char *name)
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
	value_dict_set(value, "name", value_string(package_quiet(arena, name)));
	value_dict_set(value, "field", value_string(field));
	value_dict_set(value, "c", value_string(dtypes[d->type].c));
	value_dict_set(value, "dims", value_copy(arena, dims.at, dims.count));
	text_release(&dims);
	return value;
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

/* ---- weights ---- */
static void *blob_item(struct writing *w, const struct constant_item *item, size_t room)
{
	unsigned char *made = calloc(1, room ? room : 1);
	if (!made)
		fail(w->emit->build, EXIT_LIMIT, NULL, "out of memory: %zu bytes of weights", room);
	item->fill(item, made);
	return made;
}

static bool same_bytes(struct writing *w, const struct blob_item *a, const struct constant_item *b)
{
	void *one = blob_item(w, a->item, (size_t)a->bytes), *other = blob_item(w, b, (size_t)a->bytes);
	bool same = !memcmp(one, other, (size_t)a->bytes);
	free(one);
	free(other);
	return same;
}

/* Graphs of one package share the constants that have the same bytes. */
static void share_items(struct writing *w)
{
	enum { ALIGN = 64 };
	for (int p = 0; p < w->package->part_count; p++) {
		const struct lowered *lowered = w->package->parts[p].lowered;
		for (size_t i = 0; i < lowered->constants.count; i++) {
			struct constant_item *item = &lowered->constants.at[i];
			struct placed *placed = item->of->placed;
			struct blob_item made = { item, placed->offset, placed->bytes, 0, p };
			size_t k = 0;
			if (w->package->part_count > 1) {
				void *bytes = blob_item(w, item, (size_t)placed->bytes);
				made.hash = hash_bytes(bytes, (size_t)placed->bytes, 0);
				free(bytes);
				while (k < w->items.count && !(w->items.at[k].hash == made.hash && w->items.at[k].bytes == made.bytes
					&& same_bytes(w, &w->items.at[k], item)))
					k++;
				if (k < w->items.count) {
					placed->offset = w->items.at[k].offset;
					continue;
				}
				placed->offset = made.offset = w->weights_bytes;
				w->weights_bytes += (placed->bytes + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
			}
			push(w->emit->arena, &w->items, made);
		}
	}
	if (w->package->part_count == 1)
		w->weights_bytes = w->package->parts->lowered->weights_bytes;
	if (w->package->weights_bytes)
		*w->package->weights_bytes = w->weights_bytes;
}

/* Item by item: the blob of a large model is never whole in memory.  Between items there are zeros up to the next one's place. */
void package_add_blob(struct writing *w)
{
	bool right = true;
	if (!w->weights_bytes)                                /* a file that is only named would be missed in the end */
		return;
	const char *path = file_set_path(w->files, arena_printf(w->emit->arena, "%s_weights.bin", w->package->name));
	FILE *file = fopen(path, "wb");
	for (size_t i = 0; file && right && i < w->items.count; i++) {
		size_t end = (size_t)(i + 1 < w->items.count ? w->items.at[i + 1].offset : w->weights_bytes), room = end - (size_t)w->items.at[i].offset;
		void *item = blob_item(w, w->items.at[i].item, room);
		right = fwrite(item, 1, room, file) == room;
		if (w->package->managed)
			w->weights_hash = hash_bytes(item, room, w->weights_hash);
		free(item);
	}
	if (!file || fclose(file) || !right)
		fail(w->emit->build, EXIT_ENVIRONMENT, path, "%zu bytes of weights cannot be written", (size_t)w->weights_bytes);
}

/* ---- places ---- */
struct place package_place(const struct writing *w, const struct definition *d)
{
	const struct program *program = w->lowered->program;
	if (d->placed->mode == MODE_CONSTANT)
		return (struct place){ PLACE_WEIGHTS, "weights", d->placed->offset };
	if (d->placed->mode == MODE_DEVICE)
		return (struct place){ PLACE_WORKSPACE, "workspace", d->placed->offset };
	for (size_t i = 0; i < program->inputs.count; i++)
		if (program->inputs.at[i] == d)
			return (struct place){ PLACE_INPUT, "input", (int64_t)i };
	for (size_t i = 0; i < program->outputs.count; i++)
		if (program->outputs.at[i] == d)
			return (struct place){ PLACE_OUTPUT, "output", (int64_t)i };
	fail(w->emit->build, EXIT_LIMIT, d->name, "has no place");       /* lowered_check has seen to it */
}

/* ---- the manifest ---- */
static json_t *tensors_json(const struct writing *w, bool inputs)
{
	const struct program *program = w->lowered->program;
	json_t *list = json_array();
	for (size_t i = 0; i < (inputs ? program->inputs.count : program->outputs.count); i++) {
		const struct definition *d = inputs ? program->inputs.at[i] : program->outputs.at[i];
		json_t *dims = json_array();
		for (int v = 0; v < d->rank; v++)
			json_array_append_new(dims, json_integer(d->extents[v]));
		json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:o,s:I}", "name", inputs ? w->of->input_names[i] : w->of->output_names[i],
			"field", inputs ? w->input_fields[i] : w->output_fields[i], "type", dtypes[d->type].text, "dims", dims,
			"bytes", (json_int_t)d->placed->bytes));
	}
	return list;
}

/* What belongs to the current part. */
static void manifest_part(const struct writing *w, json_t *manifest)
{
	const struct lowered *lowered = w->lowered;
	json_t *kernels = json_array();
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		const struct kernel *kernel = lowered->kernels.at[k];
		json_t *nodes = json_array();
		for (size_t m = 0; m < kernel->members.count; m++)
			json_array_append_new(nodes, json_string(kernel->members.at[m]->name));
		json_t *arguments = json_array();
		for (size_t i = 0; i < kernel->params.count; i++) {
			struct place place = package_place(w, kernel->params.at[i].of);
			json_array_append_new(arguments, json_pack("{s:s,s:I}", "place", place.word, "at", (json_int_t)place.at));
		}
		json_array_append_new(kernels, json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:f,s:f}", "name", kernel->name, "symbol", emit_symbol(w->emit, kernel),
			"template", kernel->template_name ? kernel->template_name : "", "tile", kernel->tile ? kernel->tile : "", "nodes", nodes, "arguments", arguments,
			"flops", kernel->flops, "bytes", kernel->bytes));
	}
	json_object_set_new(manifest, "inputs", tensors_json(w, true));
	json_object_set_new(manifest, "outputs", tensors_json(w, false));
	json_object_set_new(manifest, "workspace_bytes", json_integer(lowered->workspace_bytes));
	json_object_set_new(manifest, "workspace_align", json_integer(lowered->workspace_align));
	if (w->stack_bytes[w->part] > 0)
		json_object_set_new(manifest, "stack_bytes", json_integer(w->stack_bytes[w->part]));
	json_object_set_new(manifest, "kernels", kernels);
}

json_t *package_manifest(struct writing *w)
{
	const struct package *package = w->package;
	struct arena *arena = w->emit->arena;
	json_t *sources = json_array(), *symbols = json_object(), *graphs = json_array(), *manifest;
	for (size_t i = 0; i < w->sources.count; i++)
		json_array_append_new(sources, json_string(w->sources.at[i]));
	if (package->part_count == 1)
		json_object_set_new(symbols, "run", json_string(arena_printf(arena, "%s_run", package->name)));
	if (w->weights_bytes)
		json_object_set_new(symbols, "weights", json_string(arena_printf(arena, "%s_weights", package->name)));
	if (package->managed)
		json_object_set_new(symbols, "module", json_string(arena_printf(arena, "%s_module", package->name)));
	manifest = json_pack("{s:s,s:s,s:s,s:o,s:o,s:s}", "prefix", package->name, "header", arena_printf(arena, "%s.h", package->name), "library",
		package->cc ? arena_printf(arena, "lib%s.a", package->name) : "", "sources", sources, "symbols", symbols, "options", package->options);
	for (int p = 0; package->part_count > 1 && p < package->part_count; p++) {
		package_part(w, p);
		json_t *graph = json_pack("{s:s,s:s,s:s}", "prefix", w->of->name, "header", arena_printf(arena, "%s.h", w->of->name), "run",
			arena_printf(arena, "%s_run", w->of->name));
		manifest_part(w, graph);
		json_array_append_new(graphs, graph);
	}
	if (package->part_count > 1)
		json_object_set(manifest, "graphs", graphs);
	else
		manifest_part(w, manifest);
	json_decref(graphs);
	json_object_set_new(manifest, "weights_bytes", json_integer(w->weights_bytes));
	json_t *libm = json_array();
	for (size_t i = 0; i < w->libm.count; i++)
		json_array_append_new(libm, json_string(w->libm.at[i]));
	json_object_set_new(manifest, "libm", libm);
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

/* ---- parts ---- */
static struct value tensors_value(const struct writing *w, bool inputs)
{
	struct arena *arena = w->emit->arena;
	const struct program *program = w->lowered->program;
	struct value list = value_list(arena);
	for (size_t i = 0; i < (inputs ? program->inputs.count : program->outputs.count); i++)
		value_list_add(list, inputs ? tensor_value(arena, program->inputs.at[i], w->of->input_names[i], w->input_fields[i])
			: tensor_value(arena, program->outputs.at[i], w->of->output_names[i], w->output_fields[i]));
	return list;
}

const char *package_upper(struct arena *arena, const char *name)
{
	char *upper = arena_copy(arena, name, strlen(name));
	for (char *p = upper; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return upper;
}

void package_part(struct writing *w, int number)
{
	const struct package *package = w->package;
	const struct part *part = package->parts + number;
	const struct lowered *lowered = part->lowered;
	struct arena *arena = w->emit->arena;
	struct value flags = value_list(arena);
	w->part = number;
	w->of = part;
	w->lowered = lowered;
	w->emit->name = part->name;
	w->input_fields = fields_of(arena, part->input_names, lowered->program->inputs.count);
	w->output_fields = fields_of(arena, part->output_names, lowered->program->outputs.count);
	w->globals = value_dict(arena);
	value_dict_set(w->globals, "library", value_string(package->name));
	value_dict_set(w->globals, "name", value_string(part->name));
	value_dict_set(w->globals, "NAME", value_string(package_upper(arena, part->name)));
	value_dict_set(w->globals, "model", value_string(package_quiet(arena, part->model)));
	value_dict_set(w->globals, "version", value_string(VERSION));
	value_dict_set(w->globals, "options", value_string(package->options));
	value_dict_set(w->globals, "log", value_bool(w->emit->target->log));
	value_dict_set(w->globals, "large", value_bool(package->large));
	value_dict_set(w->globals, "managed", value_bool(package->managed));
	value_dict_set(w->globals, "inputs", tensors_value(w, true));
	value_dict_set(w->globals, "outputs", tensors_value(w, false));
	value_dict_set(w->globals, "threads", value_int(package->threads));
	value_dict_set(w->globals, "workspace_bytes", value_int(lowered->workspace_bytes));
	value_dict_set(w->globals, "workspace_align", value_int(lowered->workspace_align));
	value_dict_set(w->globals, "weights_bytes", value_int(w->weights_bytes));
	value_dict_set(w->globals, "stack_bytes", w->stack_bytes[number] ? value_int(w->stack_bytes[number]) : value_none());
	value_dict_set(w->globals, "stack_by", value_string(package->cc ? package->cc : ""));
	value_list_add(flags, value_string(w->emit->target->cc_flags));
	value_dict_set(w->globals, "flags", flags);
}

void package_begin(struct writing *w)
{
	w->stack_bytes = new_array(w->emit->arena, int64_t, (size_t)w->package->part_count);
	share_items(w);
	package_part(w, 0);
}

void package_write(struct emit *emit, const struct package *package, const char *directory)
{
	static const struct { const char *family; void (*add)(struct writing *); } writers[] = { { "c", package_c }, { "cuda", package_cuda } };
	struct writing w = { .emit = emit, .package = package, .directory = directory };
	package_begin(&w);
	jmp_buf *out = emit->build->out, mine;
	emit->build->out = &mine;
	if (setjmp(mine) == 0) {
		w.files = file_set_new(emit->build, directory);
		for (size_t i = 0; i < COUNT(writers); i++)
			if (!strcmp(writers[i].family, emit->target->family))
				writers[i].add(&w);
		for (int p = 0; p < package->part_count; p++)
			for (size_t i = 0; i < package->parts[p].dump_count; i++) {
				const struct dump *dump = package->parts[p].dumps + i;
				file_set_add(w.files, arena_printf(emit->arena, "%s.%s.txt", package->parts[p].name, dump->stage), dump->text, strlen(dump->text));
			}
		file_set_commit(w.files);
	}
	emit->build->out = out;
	if (w.files)
		file_set_drop(w.files);
	if (emit->build->code)
		longjmp(*out, 1);
}
