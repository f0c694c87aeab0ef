/* package_cuda.c: kernels -> one .cu text, of all graphs, its images by NVRTC, and what runs them: the host's side in
 * C, through NVIDIA's driver. */
#include "emit/contraction.h"
#include "emit/package.h"
#include "backends/backends.h"
#include "base/embedded.h"
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

enum { WARP = 32, DEVICE_ALIGN = 256 };

/* Several launches may run one kernel. */
typedef VECTOR(const char *) symbol_list;
static int64_t symbol_number(symbol_list *symbols, struct arena *arena, const char *symbol)
{
	FOR (i, symbols->count)
		if (!strcmp(symbols->at[i], symbol))
			return (int64_t)i;
	push(arena, symbols, symbol);
	return (int64_t)symbols->count - 1;
}

/* `lanes`, `branches` and, of the lanes but the first, `ends`. */
static void add_branches(struct writing *w, const struct launch_list *launches)
{
	struct arena *arena = w->emit->arena;
	const struct branches made = launch_branches(arena, launches);
	struct value rows = value_list(arena), ends = value_list(arena);
	FOR_ALL (k, launches->rows) {
		struct value after = value_list(arena);
		FOR (i, made.rows[k].count)
			value_list_add(after, value_int(made.rows[k].after[i]));
		value_list_add(rows,
		        value_dict_of(
		                arena, "lane", made.rows[k].lane, "awaited", made.rows[k].awaited, "after", after));
	}
	for (int lane = 1; lane < made.lanes; lane++)
		value_list_add(ends, value_int(made.ends[lane]));
	value_set(w->globals, "lanes", made.lanes, "branches", rows, "ends", ends);
}

/* `maps` of the templates: [{at, extents, pitch, size}], bytes and dwords. */
static struct value map_rows(struct arena *arena, const struct launch_list *launches)
{
	struct value list = value_list(arena);
	FOR_EACH (const struct launch_box *box, launches->boxes) {
		struct value extents = value_list(arena), size = value_list(arena);
		FOR (i, 2) {
			value_list_add(extents, value_int(box->lies.extent[i]));
			value_list_add(size, value_int(box->size[i]));
		}
		value_list_add(list,
		        value_dict_of(arena, "at", 4 * box->lies.at, "extents", extents, "pitch", 4 * box->lies.pitch,
		                "size", size));
	}
	return list;
}

/* The launches as a GPU of the target's has them. */
static struct value launch_rows(struct writing *w, const struct launch_list *launches, symbol_list *symbols, int gpu)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena);
	int maps = 0;
	FOR_ALL (k, launches->rows) {
		const struct launch *row = &launches->rows.at[k];
		const struct kernel *kernel = row->kernel ? kernel_of_gpu(row->kernel, gpu) : NULL;
		struct value arguments = value_list(arena);
		FOR (i, row->count) {
			const struct launch_argument *a = &row->arguments[i];
			value_list_add(arguments,
			        value_dict_of(arena, "place", a->place.word, "at", a->place.at, "type",
			                value_printf(arena, "%s%s *", a->written ? "" : "const ", dtypes[a->type].c),
			                "moves", launch_move(launches, a), "map", a->box ? ++maps : 0));
		}
		value_list_add(list,
		        value_dict_of(arena, "number", k, "symbol",
		                row->symbol ? value_string(row->symbol) : value_none(), "kernel",
		                row->symbol ? symbol_number(symbols, arena, row->symbol) : -1, "blocks",
		                kernel ? launch_blocks(w, kernel) : row->blocks, "warps",
		                kernel ? launch_warps(kernel) : row->warps, "shared",
		                kernel ? launch_shared(w, kernel) : row->shared, "arguments", arguments, "loop",
		                row->loop, "other", row->other, "rounds", row->rounds));
	}
	return list;
}

/* `tables` of the templates: [{from, table, launches}] of each GPU whose tiles are its own, the newest first; where all
 * have the same it is empty. */
static struct value launch_tables(struct writing *w, const struct launch_list *launches, symbol_list *symbols)
{
	struct arena *arena = w->emit->arena;
	const struct target *target = w->emit->target;
	struct value tables = value_list(arena);
	for (int gpu = gpu_below(target, INT_MAX); target->other_count && gpu != GPU_NONE;
	        gpu = gpu_below(target, gpu_from(target, gpu))) {
		bool own = gpu < 0;
		value_list_add(tables,
		        value_dict_of(arena, "from", gpu_from(target, gpu), "table",
		                own ? "launches" : arena_printf(arena, "launches_%d", gpu_from(target, gpu)),
		                "launches", own ? value_none() : launch_rows(w, launches, symbols, gpu)));
	}
	return tables;
}

/* Of the current part: `launches`, `tables`, `symbols` and, of loops, `moves`, `depth` and `captured` of the
 * templates. */
static void add_launches(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	struct value names = value_list(arena), checks = value_dict_get(w->globals, "checks");
	struct launch_list launches = package_launches(w);
	symbol_list symbols = { 0 };
	value_set(w->globals, "launches", launch_rows(w, &launches, &symbols, -1));
	value_set(w->globals, "maps", map_rows(arena, &launches));
	value_set(w->globals, "tables", launch_tables(w, &launches, &symbols));
	FOR_ALL (k, launches.rows) {
		const struct launch *row = &launches.rows.at[k];
		int check = row->kernel ? kernel_check(w->lowered, row->kernel) : -1;
		if (check >= 0) /* launches are rows here */
			value_set(value_at(checks, (size_t)check), "kernel", k);
	}
	FOR_ALL (i, symbols)
		value_list_add(names, value_string(symbols.at[i]));
	value_set(w->globals, "symbols", names, "moves", launch_moves(w, &launches));
	value_set(w->globals, "depth", launches.depth, "captured", launches.captured);
	add_branches(w, &launches);
	package_render(w, "cuda/launches.jinja", arena_printf(arena, "%s_launches.h", w->of->name));
}

static void add_blocks(struct writing *w, json_t *manifest)
{
	json_t *rows = json_object_get(manifest, "kernels");
	FOR_ALL (k, w->lowered->kernels) {
		if (w->lowered->kernels.at[k]->shape == SHAPE_REPEAT)
			continue;
		json_object_set_new(
		        json_array_get(rows, k), "blocks", json_integer(launch_blocks(w, w->lowered->kernels.at[k])));
		json_object_set_new(json_array_get(rows, k), "threads",
		        json_integer(WARP * launch_warps(w->lowered->kernels.at[k])));
		json_object_set_new(json_array_get(rows, k), "shared_bytes",
		        json_integer(launch_shared(w, w->lowered->kernels.at[k])));
	}
}

static void add_code(struct writing *w, struct text *kernels)
{
	FOR_ALL (k, w->lowered->kernels) {
		progress(w->emit->build, "kernels", k, w->lowered->kernels.count, 0);
		emit_kernel(w->emit, w->lowered->kernels.at[k], kernels);
		text_addc(kernels, '\n');
	}
	const struct launch_list launches = package_launches(w);
	FOR_ALL (i, launches.copies) {
		struct value values =
		        value_dict_of(w->emit->arena, "name", w->emit->name, "bytes", launches.copies.at[i]);
		template_render(w->emit->templates, "cuda/copy.jinja", values, kernels);
	}
}

/* The models, for comments. */
static void add_title(struct writing *w)
{
	const struct package *package = w->package;
	const char *title = package->parts->model;
	for (int p = 1; p < package->part_count; p++)
		title = arena_printf(w->emit->arena, "%s, %s", title, package->parts[p].model);
	value_set(w->globals, "title", emit_quiet(w->emit->arena, title));
}

static const char *rendered(struct writing *w, const char *template)
{
	struct text text;
	text_init(&text, w->emit->build);
	template_render(w->emit->templates, template, w->globals, &text);
	const char *made = arena_copy(w->emit->arena, text.at, text.count);
	text_release(&text);
	return made;
}

/* Part 0 is the current one behind it. */
static const char *unit_text(struct writing *w)
{
	struct text kernels, prelude;
	text_init(&kernels, w->emit->build);
	text_init(&prelude, w->emit->build);
	FOR (p, w->package->part_count) {
		package_part(w, p);
		add_code(w, &kernels);
	}
	package_part(w, 0);
	add_title(w);
	emit_prelude(w->emit, kernels.at, kernels.count, &prelude);
	value_set(w->globals, "prelude", value_string_of(prelude.at, prelude.count), "kernels",
	        value_string_of(kernels.at, kernels.count));
	const char *text = rendered(w, "cuda/unit.jinja");
	text_release(&kernels);
	text_release(&prelude);
	return text;
}

static void add_emulator(struct writing *w)
{
	static const char *const files[] = { "emulator.h", "hopper.h", "emulator.cpp", "hopper.cpp", "races.cpp",
		"counters.cpp" };
	package_render(w, "cuda/emulated.jinja", arena_printf(w->emit->arena, "%s_emulated.cpp", w->package->name));
	FOR (i, COUNT(files)) {
		const struct embedded_file *file = embedded_find(arena_printf(w->emit->arena, "emulator/%s", files[i]));
		file_set_add(w->files, files[i], file->at, file->bytes);
	}
}

/* ---- images ---- */
/* NAME_sm_80.cubin, NAME_compute_80.ptx. */
static const char *image_file(struct writing *w, const struct image *image)
{
	return arena_printf(w->emit->arena, "%s_%s_%s", w->package->name, image->ptx ? "compute" : "sm",
	        arena_printf(w->emit->arena, "%s.%s", image->arch + 3, image->ptx ? "ptx" : "cubin"));
}

static const char *image_symbol(struct writing *w, const char *file)
{
	return arena_copy(w->emit->arena, file, (size_t)(strrchr(file, '.') - file));
}

/* `images` of the templates. */
static void name_images(struct writing *w, const struct image *images, int count)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena);
	FOR (i, count) {
		const char *number = images[i].arch + 3, *file = image_file(w, &images[i]);
		value_list_add(list,
		        value_dict_of(arena, "arch", images[i].arch, "number", number, "ptx", images[i].ptx,
		                "capability", atol(number), "exact", value_bool(number[strlen(number) - 1] == 'a'),
		                "symbol", image_symbol(w, file), "file", file));
		if (images[i].bytes) {
			file_set_add(w->files, file, images[i].bytes, images[i].count);
			push(arena, &w->blobs, file);
		}
	}
	w->images = list;
	value_set(w->globals, "images", list);
}

/* ---- what ptxas says ---- */
struct forced {
	const char *symbol;
	int stack, spills, registers, shared;
	bool serial;
};
typedef VECTOR(struct forced) compiled_list;

static struct forced *compiled_of(struct arena *arena, compiled_list *list, const char *symbol)
{
	FOR (i, list->count)
		if (!strcmp(list->at[i].symbol, symbol))
			return &list->at[i];
	push(arena, list, (struct forced){ .symbol = arena_copy(arena, symbol, strlen(symbol)) });
	return &list->at[list->count - 1];
}

/* "(C7511) … wgmma.mma_async instructions are serialized due to … in the function 'x'"; C7517 and C7519 only say what
 * was put in. */
static bool is_serial(const char *line)
{
	static const int codes[] = { 7504, 7508, 7510, 7511, 7512, 7520 };
	const char *at = strstr(line, "(C");
	bool known = false;
	for (size_t i = 0; at && i < COUNT(codes); i++)
		known |= atoi(at + 2) == codes[i];
	return known;
}

/* "Function properties for x", "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads", "Used 40 registers,
 * used 1 barriers, 1024 bytes smem". */
static void read_log(struct arena *arena, const char *log, compiled_list *list)
{
	const char *of = NULL;
	for (const char *next = log; *next; next += strcspn(next, "\n"), next += *next == '\n') {
		const char *line = arena_copy(arena, next, strcspn(next, "\n")), *at;
		char name[256];
		int stack, stores, loads, registers;
		if ((at = strstr(line, "Function properties for "))
		        && sscanf(at, "Function properties for %255s", name) == 1)
			of = compiled_of(arena, list, name)->symbol;
		else if (of
		        && sscanf(line + strcspn(line, "0123456789"),
		                   "%d bytes stack frame, %d bytes spill stores, %d bytes spill loads", &stack, &stores,
		                   &loads)
		                == 3) {
			compiled_of(arena, list, of)->stack = stack;
			compiled_of(arena, list, of)->spills = stores + loads;
		} else if (of && (at = strstr(line, "Used ")) && sscanf(at, "Used %d registers", &registers) == 1) {
			const char *bytes = strstr(at, " bytes smem");
			while (bytes && isdigit((unsigned char)bytes[-1]))
				bytes--;
			compiled_of(arena, list, of)->registers = registers;
			compiled_of(arena, list, of)->shared = bytes ? atoi(bytes) : 0;
		} else if (is_serial(line) && (at = strstr(line, "function '"))
		        && sscanf(at, "function '%255[^']", name) == 1)
			compiled_of(arena, list, name)->serial = true;
	}
}

static json_t *resources(struct arena *arena, const char *log)
{
	json_t *list = json_array();
	compiled_list forced = { 0 };
	read_log(arena, log, &forced);
	FOR_ALL (i, forced)
		json_array_append_new(list,
		        json_pack("{s:s,s:i,s:i,s:i,s:i}", "symbol", forced.at[i].symbol, "stack_bytes",
		                forced.at[i].stack, "spill_bytes", forced.at[i].spills, "registers",
		                forced.at[i].registers, "shared_bytes", forced.at[i].shared));
	return list;
}

/* Of a kernel that spills, or whose products wait for each other, another tile is wanted; what has none smaller stays,
 * and the manifest tells. */
static bool refuse(struct emit *emit, const struct lowered *lowered, const struct image *image, refused_tiles *refused)
{
	compiled_list forced = { 0 };
	bool any = false;
	read_log(emit->arena, image->ptx ? "" : image->log, &forced);
	FOR_ALL (i, forced)
		for (size_t k = 0; (forced.at[i].spills || forced.at[i].serial) && k < lowered->code.count; k++)
			if (!strcmp(emit_symbol(emit, lowered->code.at[k]), forced.at[i].symbol))
				any |= tile_refuse(lowered, lowered->code.at[k], refused);
	return any;
}

bool package_images(struct emit *emit, const struct package *package, const struct nvrtc *nvrtc, struct image *images,
        int count, refused_tiles *refused)
{
	struct writing w = { .emit = emit, .package = package };
	bool any = false;
	package_begin(&w);
	progress(emit->build, "images", 0, (size_t)count, 0);
	nvrtc_compile(emit->build, nvrtc, unit_text(&w), arena_printf(emit->arena, "%s.cu", package->name), images,
	        count, package->jobs);
	FOR (i, count)
		any |= refused && refuse(emit, w.lowered, &images[i], refused);
	return any;
}

static json_t *images_json(struct writing *w, const struct image *images, int count)
{
	json_t *list = json_array();
	FOR (i, count) {
		json_t *one = json_pack("{s:s,s:s,s:b}", "arch", images[i].arch, "file", image_file(w, &images[i]),
		        "ptx", images[i].ptx);
		if (images[i].bytes)
			json_object_set_new(one, "bytes", json_integer((json_int_t)images[i].count));
		if (images[i].bytes && !images[i].ptx)
			json_object_set_new(one, "kernels", resources(w->emit->arena, images[i].log));
		json_array_append_new(list, one);
	}
	return list;
}

/* ---- the host's side ---- */
/* Where run_host's arrays lie: [{at, bytes}]. */
static struct value host_arrays(struct writing *w, bool inputs, int64_t *end)
{
	struct arena *arena = w->emit->arena;
	const struct program *program = w->lowered->program;
	struct value list = value_list(arena);
	FOR (i, (inputs ? program->inputs.count : program->outputs.count)) {
		int64_t bytes = scheduled(inputs ? program->inputs.at[i] : program->outputs.at[i])->bytes;
		value_list_add(list, value_dict_of(arena, "at", *end, "bytes", bytes));
		*end += (bytes + DEVICE_ALIGN) / DEVICE_ALIGN
		        * DEVICE_ALIGN; /* not even an empty one lies on another */
	}
	return list;
}

static struct value driver_value(struct arena *arena, bool mapped)
{
	struct value list = value_list(arena);
	for (const struct driver_function *one = driver_functions; one[!mapped].name; one++) { /* the last is of maps */
		value_list_add(list, value_dict_of(arena, "name", one->name, "arguments", one->arguments));
	}
	return list;
}

/* Of the current part; kernels of it stand behind `first` others.  How much memory of the device it wants is added to
 * `memory` where that is less. */
static struct value graph_value(struct writing *w, int64_t first, int64_t *memory)
{
	struct arena *arena = w->emit->arena;
	bool alone = w->package->part_count == 1;
	const char *name = w->of->name, *header = arena_printf(arena, "%s.h", name);
	int64_t end = 0, at = ceil_div(w->lowered->workspace_bytes, DEVICE_ALIGN) * DEVICE_ALIGN;
	struct value graph = value_dict(arena);
	add_launches(w);
	value_set(w->globals, "number", w->part, "first", first, "alone", alone, "host_inputs",
	        host_arrays(w, true, &end));
	value_set(w->globals, "host_outputs", host_arrays(w, false, &end), "host_at", at);
	*memory = at + end + DEVICE_ALIGN > *memory ? at + end + DEVICE_ALIGN : *memory;
	value_set(graph, "name", name, "NAME", package_upper(arena, name), "first", first, "count",
	        value_count(value_dict_get(w->globals, "symbols")), "inputs", value_dict_get(w->globals, "inputs"),
	        "outputs", value_dict_get(w->globals, "outputs"), "header",
	        alone ? value_string(rendered(w, "cuda/header_graph.jinja")) : value_none());
	value_set(graph, "text", rendered(w, "cuda/host_graph.jinja"));
	if (!alone) {
		package_render(w, "cuda/header_graph.jinja", header);
		push(arena, &w->headers, header);
	}
	push(arena, &w->headers, arena_printf(arena, "%s_launches.h", name));
	return graph;
}

static void link_images(struct writing *w)
{
	const struct package *package = w->package;
	struct linked_file *files =
	        arena_new_array(w->emit->arena, struct linked_file, (size_t)package->image_count + 1);
	FOR (i, package->image_count) {
		const struct image *image = &package->images[i];
		const char *file = image_file(w, image);
		files[i] = (struct linked_file){ image_symbol(w, file), file, (const unsigned char *)image->bytes,
			image->count, image->ptx, false };
	}
	package_link(w, "images", rendered(w, "cuda/images.jinja"), files, (size_t)package->image_count);
}

static void add_host(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const char *name = w->package->name, *host = arena_printf(arena, "%s.c", name);
	struct value graphs = value_list(arena);
	int64_t kernels = 0, memory = 0;
	bool mapped = false;
	FOR (p, w->package->part_count) {
		package_part(w, p);
		struct value graph = graph_value(w, kernels, &memory);
		kernels += value_dict_get(graph, "count").integer;
		mapped |= value_count(value_dict_get(w->globals, "maps")) > 0;
		value_list_add(graphs, graph);
	}
	package_part(w, 0);
	add_title(w);
	value_set(w->globals, "graphs", graphs, "kernel_count", kernels, "each",
	        value_bool(w->emit->target->other_count > 0), "memory_bytes", memory, "driver",
	        driver_value(arena, mapped), "mapped", mapped);
	package_render(w, "cuda/header.jinja", arena_printf(arena, "%s.h", name));
	package_render(w, "cuda/host.jinja", host);
	push(arena, &w->headers, arena_printf(arena, "%s.h", name));
	package_source(w, host);
	link_images(w);
}

void package_cuda(struct writing *w)
{
	const struct package *package = w->package;
	const char *text = unit_text(w);
	file_set_add(w->files, arena_printf(w->emit->arena, "%s.cu", package->name), text, strlen(text));
	if (package->shared) { /* for ingot itself, on the CPU */
		add_launches(w);
		package_add_blob(w);
		add_emulator(w);
		return;
	}
	name_images(w, package->images, package->image_count);
	package_add_weights(w);
	add_host(w);
	if (package->managed)
		package_module(w);
	if (package->cc)
		package_compile(w);
	package_part(w, 0);
	package_add_build_files(w);
	json_t *manifest = package_manifest(w);
	json_array_append_new(json_object_get(manifest, "sources"),
	        json_string(arena_printf(w->emit->arena, "%s.cu", package->name)));
	FOR (p, package->part_count) {
		package_part(w, p);
		add_blocks(w,
		        package->part_count > 1 ? json_array_get(json_object_get(manifest, "graphs"), (size_t)p)
		                                : manifest);
	}
	json_object_set_new(manifest, "flags", json_string("-fmad=false"));
	json_object_set_new(manifest, "images", images_json(w, package->images, package->image_count));
	package_add_manifest(w, manifest);
}

struct launch_list package_cuda_launches(struct emit *emit, const struct package *package)
{
	struct writing w = { .emit = emit, .package = package };
	package_begin(&w);
	return package_launches(&w);
}
