/* menu.c: tables/scalars.h and a target's registers -> the C source of its menu, printed from
 * templates/c/jit_menu.jinja. */
#include "jit/jit.h"
#include "backends/cpu/facts.h"
#include "base/embedded.h"
#include "pipeline.h"
#include <stdlib.h>

bool jit_tile_fits(const struct target *target, int rows, int vecs)
{
	int needed = rows == 1 ? vecs + 2 : rows * vecs + vecs + 1;
	bool wide = rows == 1 && vecs <= VECS_ROW && !(vecs & (vecs - 1));
	return needed <= target->registers && !(rows > 8 && vecs > 2) && (vecs <= JIT_VECS_MOST || wide);
}

static struct value tiles_value(struct arena *arena, const struct target *target)
{
	struct value tiles = value_list(arena);
	for (int rows = 1; rows <= JIT_ROWS_MOST; rows++)
		for (int vecs = 1; vecs <= VECS_ROW; vecs++)
			if (jit_tile_fits(target, rows, vecs)) {
				struct value tile = value_dict_of(arena, "rows", rows, "vecs", vecs, "wide",
				        value_bool(vecs > JIT_VECS_MOST)); /* reads b where it lies alone */
				value_list_add(tiles, tile);
			}
	return tiles;
}

enum { LOW = 4 };
bool jit_multiplies(const struct target *target, const struct product *product)
{
	return product->sum != DTYPE_F32 && target_multiplies(target, product->name);
}

/* The tiles of a product: as high as registers hold, where an instruction adds several terms and so waits for its sum. */
static struct value sizes_value(struct arena *arena, const struct target *target, const struct product *product)
{
	struct value sizes = value_list(arena);
	for (int vecs = target->registers / 8 * 32 / dtypes[product->sum].bits; vecs; vecs--) {
		int rows = (target->registers - 1) / vecs - 1;
		rows = product->k == 1 ? LOW : rows < JIT_ROWS_MOST ? rows : JIT_ROWS_MOST;
		value_list_add(sizes, value_dict_of(arena, "vecs", vecs, "rows", rows));
	}
	return sizes;
}

/* Of the CPU and of each level that it may have besides, whose feature the compiler is told with the function. */
static struct value products_value(struct arena *arena, const struct target *target)
{
	struct value products = value_list(arena);
	const struct product *product;
	for (size_t i = 0; (product = product_row(i)); i++) {
		struct target leveled = *target;
		const char *level = "";
		for (int l = 0; !jit_multiplies(&leveled, product) && facts_level(l); l++)
			if (facts_add_level(&leveled, facts_level(l)))
				level = leveled.needs;
		if (!jit_multiplies(&leveled, product))
			continue;
		struct value one = product_words(arena, product);
		value_set(one, "name", product->name, "feature", *level ? strrchr(level, ' ') + 1 : "", "sizes",
		        sizes_value(arena, target, product));
		value_list_add(products, one);
	}
	return products;
}

static struct value rows_value(struct arena *arena)
{
	struct value rows = value_list(arena);
	FOR (i, SCALAR_COUNT)
		if (scalars[i].floats) {
			value_list_add(rows,
			        value_dict_of(arena, "name", scalars[i].name, "arity", scalars[i].arity, "text",
			                scalars[i].text));
		}
	return rows;
}

/* ---- rows of other types than float ---- */

/* The row in the words of a prefix; words: an operator as one, which vectors lack, or which may overflow. */
static const char *typed_text(struct arena *arena, const struct scalar_entry *row, const char *prefix, bool words)
{
	const char *text = words && strchr("+-*", row->text[2]) && row->arity == 2
	        ? arena_printf(arena, "k_%s(a, b)", row->name)
	        : row->text;
	const char *out = "";
	for (const char *k; (k = strstr(text, "k_")); text = k + 2)
		out = arena_printf(arena, "%s%.*s%s", out, (int)(k - text), text, prefix);
	return arena_printf(arena, "%s%s", out, text);
}

static struct value typed_value(struct arena *arena, const struct target *target)
{
	static const struct {
		enum dtype type;
		const char *lanes, *plain;
	} kinds[] = { { DTYPE_I32, "i32_", "i_" }, { DTYPE_I64, "i64_", "i_" }, { DTYPE_U64, "u64_", "u_" },
		{ DTYPE_F64, "f64_", "d_" }, { DTYPE_U8, "u8_", "i_" }, { DTYPE_I8, "i8_", "i_" } };
	struct value rows = value_list(arena);
	FOR (k, COUNT(kinds))
		FOR (i, SCALAR_COUNT) {
			bool bytes = dtypes[kinds[k].type].bits == 8;
			const char *name = bytes ? kinds[k].type == DTYPE_I8 ? "i8" : "u8"
			                         : lanes_of(kinds[k].type)->name,
			           *row_name = bytes ? jit_bytes_row(kinds[k].type, (enum scalar)i)
			        : jit_typed_row(kinds[k].type, (enum scalar)i)
			        ? jit_row_lanes(kinds[k].type, (enum scalar)i)
			        : NULL;
			if (!row_name || strcmp(row_name, name))
				continue;
			bool lanes = target->lanes > 1;
			value_list_add(rows,
			        value_dict_of(arena, "kind", name, "name", scalars[i].name, "arity", scalars[i].arity,
			                "text",
			                typed_text(arena, &scalars[i], lanes ? kinds[k].lanes : kinds[k].plain,
			                        lanes || kinds[k].type != DTYPE_F64)));
		}
	return rows;
}

/* Every way but that of scalars alone, which the glue turns into lanes first. */
static struct value ways_value(struct arena *arena)
{
	static const char *const ways[4][8] = { { 0 }, { "v" }, { "vv", "vs", "sv" },
		{ "vvv", "vvs", "vsv", "vss", "svv", "svs", "ssv" } };
	struct value all = value_list(arena);
	FOR (arity, 4) {
		struct value list = value_list(arena);
		for (int i = 0; i < 8 && ways[arity][i]; i++)
			value_list_add(list, value_string(ways[arity][i]));
		value_list_add(all, list);
	}
	return all;
}

static const char *menu_identifier(struct arena *arena, const char *cpu)
{
	return arena_printf(arena, "jit_menu_%s", emit_name(arena, cpu));
}

/* ---- entries that ingot generates itself: the graphs of templates/onnx/menu ---- */
struct casting {
	struct emit *emit;
	struct text *out;
	VECTOR(const char *) keys;
};

static void add_cast(struct casting *c, const struct kernel *kernel)
{
	struct arena *arena = c->emit->arena;
	struct loops *loops =
	        kernel->shape == SHAPE_LOOPS ? loops_symbolic(c->emit->build, arena, c->emit->target, kernel) : NULL;
	if (!loops)
		return;
	FOR_ALL (i, c->keys)
		if (!strcmp(c->keys.at[i], loops->symbols->key))
			return;
	push(arena, &c->keys, loops->symbols->key);
	const char *name = jit_cast_name(arena, loops->symbols->key);
	struct value values = value_dict(arena), buffers = value_list(arena);
	for (size_t i = 0; i <= kernel->params.count; i++)
		value_list_add(buffers, value_int((int64_t)i));
	value_set(values, "name", name, "buffers", buffers);
	loops_emit_symbolic(
	        c->emit, loops, arena_printf(arena, "cast%s", name), emit_kernel_comment(c->emit, kernel), c->out);
	template_render(c->emit->templates, "c/jit_entry.jinja", values, c->out);
}

/* A line "# NAME=1,2 OTHER=3,4" of the file: the graph for each choice of these sizes. */
static void add_sizes(
        struct casting *c, const struct embedded_file *file, const char *line, const char *end, struct options *options)
{
	struct arena *arena = c->emit->arena;
	while (line < end && *line == ' ')
		line++;
	const char *equals = memchr(line, '=', (size_t)(end - line));
	if (!equals) {
		struct model *model = model_read_memory(c->emit->build, options, file->at, file->bytes);
		model_prepare(model);
		model_define(model);
		model_lower(model);
		FOR_ALL (k, model->lowered->kernels)
			add_cast(c, model->lowered->kernels.at[k]);
		return;
	}
	const char *at = equals + 1, *rest = at;
	while (rest < end && *rest != ' ')
		rest++;
	while (at < rest) {
		const char *comma = memchr(at, ',', (size_t)(rest - at)), *stop = comma ? comma : rest;
		push(arena, &options->dims,
		        binding_parse(c->emit->build,
		                arena_printf(arena, "%.*s=%.*s", (int)(equals - line), line, (int)(stop - at), at)));
		add_sizes(c, file, rest, end, options);
		options->dims.count--;
		at = stop + 1;
	}
}

static void add_casts(struct casting *c)
{
	static const char folder[] = "onnx/menu/";
	FOR (f, embedded_count) {
		const struct embedded_file *file = &embedded_files[f];
		if (strncmp(file->name, folder, strlen(folder)))
			continue;
		for (const char *line = (const char *)file->at, *end; *line == '#'; line = end + 1) {
			struct options options = { .model = file->name, .target = c->emit->target, .threads = 1 };
			end = strchr(line, '\n');
			add_sizes(c, file, line + 1, end, &options);
		}
	}
}

/* ---- the table ---- */
struct row {
	const char *name, *function;
};
static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* The functions that the printed text defines: what stands between "MENU " and its type, and the parenthesis.  What
 * ingot generated stands there by its key too: where a key is found, it is the very code. */
static struct value entries_value(struct arena *arena, const char *text, const struct casting *c)
{
	VECTOR(struct row) rows = { 0 };
	struct value entries = value_list(arena);
	for (const char *p = text; (p = strstr(p, "\nMENU "));) {
		const char *end = strchr(p, '('), *start = end;
		while (start[-1] != ' ')
			start--;
		const char *name = arena_copy(arena, start, (size_t)(end - start));
		push(arena, &rows, (struct row){ name, name });
		p = end;
	}
	FOR_ALL (i, c->keys)
		push(arena, &rows, (struct row){ c->keys.at[i], jit_cast_name(arena, c->keys.at[i]) });
	qsort(rows.at, rows.count, sizeof *rows.at, by_name);
	FOR_ALL (i, rows)
		value_list_add(entries, value_dict_of(arena, "name", rows.at[i].name, "function", rows.at[i].function));
	return entries;
}

void jit_menu_print(struct build *build, const struct target *target, struct text *out)
{
	struct template_folders places = { 0 };
	struct arena *arena = build->arena;
	struct emit emit = { .build = build, .arena = arena, .target = target, .name = "menu" };
	struct value globals = value_dict(arena);
	struct text body;
	struct casting casting = { .emit = &emit, .out = &body };
	emit.templates = environment_new(build, arena, &template_settings_kernels, load_embedded, &places);
	value_set(globals, "target", emit_target_value(&emit), "tiles", tiles_value(arena, target));
	struct value point = value_dict_of(arena, "vecs", JIT_POINT_VECS, "lanes", JIT_POINT_LANES);
	value_set(globals, "point", point, "rows", rows_value(arena), "other_products", products_value(arena, target),
	        "ways", ways_value(arena), "typed", typed_value(arena, target));
	text_init(&body, build);
	template_render(emit.templates, "c/jit_menu.jinja", globals, &body);
	add_casts(&casting);
	value_set(globals, "identifier", menu_identifier(arena, target->name));
	value_set(globals, "entries", entries_value(arena, body.at, &casting));
	text_printf(out, "#define MENU static\n");
	emit_prelude(&emit, body.at, body.count, out);
	text_add(out, body.at, body.count);
	template_render(emit.templates, "c/jit_table.jinja", globals, out);
	text_release(&body);
}

void jit_menu_list_print(struct build *build, const char *const *cpus, int count, struct text *out)
{
	struct template_folders places = { 0 };
	struct arena *arena = build->arena;
	struct value globals = value_dict(arena), menus = value_list(arena);
	FOR (i, count)
		value_list_add(
		        menus, value_dict_of(arena, "cpu", cpus[i], "identifier", menu_identifier(arena, cpus[i])));
	value_set(globals, "menus", menus);
	template_render(environment_new(build, arena, &template_settings_kernels, load_embedded, &places),
	        "c/jit_list.jinja", globals, out);
}
