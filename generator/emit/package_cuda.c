/* package_cuda.c: kernels -> one .cu text, and the table of its launches: in NAME.h for hosts in C, in the manifest
 * for any other. */
#include "emit/package.h"
#include "base/embedded.h"
#include <inttypes.h>

enum { WARP = 32 };

/* A block is one warp, or the warps of a large product: a tile of a contraction, else a block of the kernel's function. */
static int64_t blocks_of(struct writing *w, const struct kernel *kernel)
{
	int64_t blocks = kernel_tiles(kernel);
	if (blocks > INT32_MAX)
		fail(w->emit->build, EXIT_LIMIT, kernel->root->name, "%" PRId64 " blocks; a grid has at most %d", blocks, INT32_MAX);
	return blocks;
}

static int warps_of(const struct kernel *kernel)
{
	const struct contraction *c = kernel->shape == SHAPE_CONTRACTION ? kernel->detail : NULL;
	return c && c->warps ? c->warps : 1;
}

/* The launches as template values, and as JSON into the manifest's kernels. */
static struct value launches(struct writing *w, json_t *manifest)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena);
	json_t *rows = json_object_get(manifest, "kernels");
	for (size_t k = 0; k < w->lowered->kernels.count; k++) {
		const struct kernel *kernel = w->lowered->kernels.at[k];
		struct value launch = value_dict(arena), arguments = value_list(arena);
		json_t *row = json_array_get(rows, k);
		int64_t blocks = blocks_of(w, kernel);
		for (size_t i = 0; i < kernel->params.count; i++) {
			const struct param *param = &kernel->params.at[i];
			struct place place = package_place(w, param->of);
			struct value argument = value_dict(arena);
			value_dict_set(argument, "place", value_string(place.word));
			value_dict_set(argument, "at", value_int(place.at));
			value_dict_set(argument, "type", value_printf(arena, "%s%s *", param->written ? "" : "const ", dtypes[param->of->type].c));
			value_list_add(arguments, argument);
		}
		value_dict_set(launch, "number", value_int(kernel->number));
		value_dict_set(launch, "symbol", value_string(emit_symbol(w->emit, kernel)));
		value_dict_set(launch, "blocks", value_int(blocks));
		value_dict_set(launch, "warps", value_int(warps_of(kernel)));
		value_dict_set(launch, "arguments", arguments);
		value_list_add(list, launch);
		json_object_set_new(row, "blocks", json_integer(blocks));
		json_object_set_new(row, "threads", json_integer(WARP * warps_of(kernel)));
	}
	return list;
}

static void add_unit(struct writing *w)
{
	struct text kernels, prelude;
	const char *file = arena_printf(w->emit->arena, "%s.cu", w->package->name);
	text_init(&kernels, w->emit->build);
	text_init(&prelude, w->emit->build);
	for (size_t k = 0; k < w->lowered->kernels.count; k++) {
		emit_kernel(w->emit, w->lowered->kernels.at[k], &kernels);
		text_addc(&kernels, '\n');
	}
	emit_prelude(w->emit, kernels.at, kernels.count, &prelude);
	value_dict_set(w->globals, "prelude", value_string_of(prelude.at, prelude.count));
	value_dict_set(w->globals, "kernels", value_string_of(kernels.at, kernels.count));
	package_render(w, "cuda/unit.jinja", file);
	package_source(w, file);
	text_release(&kernels);
	text_release(&prelude);
}

static void add_emulator(struct writing *w)
{
	static const char *const files[] = { "emulator.h", "emulator.cpp" };
	package_render(w, "cuda/emulated.jinja", arena_printf(w->emit->arena, "%s_emulated.cpp", w->package->name));
	for (size_t i = 0; i < COUNT(files); i++) {
		const struct embedded_file *file = embedded_find(arena_printf(w->emit->arena, "emulator/%s", files[i]));
		file_set_add(w->files, files[i], file->at, file->bytes);
	}
}

void package_cuda(struct writing *w)
{
	add_unit(w);
	package_add_blob(w);
	json_t *manifest = package_manifest(w);
	struct value list = launches(w, manifest);
	json_object_set_new(manifest, "flags", json_string("-fmad=false"));
	package_add_manifest(w, manifest);
	value_dict_set(w->globals, "launches", list);
	package_render(w, "cuda/header.jinja", arena_printf(w->emit->arena, "%s.h", w->package->name));
	if (w->package->shared)
		add_emulator(w);
}
