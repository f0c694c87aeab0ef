/* menu.c: tables/scalars.h and a target's registers -> the C source of its menu, printed from templates/c/jit_menu.jinja. */
#include "jit/jit.h"
#include "base/embedded.h"
#include <ctype.h>
#include <stdlib.h>

bool jit_tile_fits(const struct target *target, int rows, int vecs)
{
	int needed = rows == 1 ? vecs + 2 : rows * vecs + vecs + 1;
	return needed <= target->registers && !(rows > 8 && vecs > 2);
}

static struct value tiles_value(struct arena *arena, const struct target *target)
{
	struct value tiles = value_list(arena);
	for (int rows = 1; rows <= JIT_ROWS_MOST; rows++)
		for (int vecs = 1; vecs <= JIT_VECS_MOST; vecs++)
			if (jit_tile_fits(target, rows, vecs)) {
				struct value tile = value_dict(arena);
				value_dict_set(tile, "rows", value_int(rows));
				value_dict_set(tile, "vecs", value_int(vecs));
				value_list_add(tiles, tile);
			}
	return tiles;
}

static struct value rows_value(struct arena *arena)
{
	struct value rows = value_list(arena);
	for (int i = 0; i < SCALAR_COUNT; i++)
		if (scalars[i].floats) {
			struct value row = value_dict(arena);
			value_dict_set(row, "name", value_string(scalars[i].name));
			value_dict_set(row, "arity", value_int(scalars[i].arity));
			value_dict_set(row, "text", value_string(scalars[i].text));
			value_list_add(rows, row);
		}
	return rows;
}

/* Every way but that of scalars alone, which the glue turns into lanes first. */
static struct value ways_value(struct arena *arena)
{
	static const char *const ways[4][8] = { { 0 }, { "v" }, { "vv", "vs", "sv" }, { "vvv", "vvs", "vsv", "vss", "svv", "svs", "ssv" } };
	struct value all = value_list(arena);
	for (int arity = 0; arity < 4; arity++) {
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

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* The functions that the printed text defines: what stands between "MENU " and its type, and the parenthesis. */
static struct value entries_value(struct arena *arena, const char *text)
{
	VECTOR(const char *) names = { 0 };
	struct value entries = value_list(arena);
	for (const char *p = text; (p = strstr(p, "\nMENU ")); ) {
		const char *end = strchr(p, '('), *start = end;
		while (start[-1] != ' ')
			start--;
		push(arena, &names, arena_copy(arena, start, (size_t)(end - start)));
		p = end;
	}
	qsort(names.at, names.count, sizeof *names.at, by_name);
	for (size_t i = 0; i < names.count; i++) {
		struct value entry = value_dict(arena);
		value_dict_set(entry, "name", value_string(names.at[i]));
		value_dict_set(entry, "function", value_string(names.at[i]));
		value_list_add(entries, entry);
	}
	return entries;
}

void jit_menu_print(struct build *build, const struct target *target, struct text *out)
{
	struct template_places places = { 0 };
	struct arena *arena = build->arena;
	struct emit emit = { .build = build, .arena = arena, .target = target, .name = "menu" };
	struct value globals = value_dict(arena);
	struct text body;
	emit.templates = environment_new(build, arena, &template_settings_kernels, load_embedded, &places);
	value_dict_set(globals, "target", emit_target_value(&emit));
	value_dict_set(globals, "tiles", tiles_value(arena, target));
	value_dict_set(globals, "rows", rows_value(arena));
	value_dict_set(globals, "ways", ways_value(arena));
	text_init(&body, build);
	template_render(emit.templates, "c/jit_menu.jinja", globals, &body);
	value_dict_set(globals, "identifier", value_string(menu_identifier(arena, target->name)));
	value_dict_set(globals, "entries", entries_value(arena, body.at));
	emit_prelude(&emit, body.at, body.count, out);
	text_add(out, body.at, body.count);
	template_render(emit.templates, "c/jit_table.jinja", globals, out);
	text_release(&body);
}

void jit_menu_list_print(struct build *build, const char *const *cpus, int count, struct text *out)
{
	struct template_places places = { 0 };
	struct arena *arena = build->arena;
	struct value globals = value_dict(arena), menus = value_list(arena);
	for (int i = 0; i < count; i++) {
		struct value menu = value_dict(arena);
		value_dict_set(menu, "cpu", value_string(cpus[i]));
		value_dict_set(menu, "identifier", value_string(menu_identifier(arena, cpus[i])));
		value_list_add(menus, menu);
	}
	value_dict_set(globals, "menus", menus);
	template_render(environment_new(build, arena, &template_settings_kernels, load_embedded, &places), "c/jit_list.jinja", globals, out);
}
