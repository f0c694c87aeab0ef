/* winograd.c: a Winograd convolution -> its group of tiles as calls: transform, products by the contraction's tiles,
 * transform back with bias and relu; any other epilogue is calls over each row of a tile's outputs. */
#include "jit/jit.h"
#include <inttypes.h>

enum { IMAGE, CHANNEL, ROW, COLUMN }; /* the root's variables */

struct winding {
	const struct kernel *kernel;
	const struct contraction *c;
	struct operand sums;
};

static const char *buffer_name(void *user, const struct definition *of)
{
	const struct winding *w = user;
	return emit_buffer((void *)(uintptr_t)w->kernel, of);
}

static bool address_of_root(void *user, const struct expr *load, const struct dims *d, struct operand *out)
{
	const struct winding *w = user;
	(void)d;
	if (load->of != w->c->root)
		return false;
	*out = w->sums;
	return true;
}

static void set(struct value dict, const char *key, const char *text) { value_dict_set(dict, key, value_string(text)); }
static void set_int(struct value dict, const char *key, int64_t i) { value_dict_set(dict, key, value_int(i)); }

static void add_size(struct value list, int64_t size)
{
	for (size_t i = 0; i < value_count(list); i++)
		if (value_at(list, i).integer == size)
			return;
	value_list_add(list, value_int(size));
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool jit_winograd(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	const struct contraction *c = b->kernel->detail;
	const struct definition *y = c->root;
	struct arena *arena = b->arena;
	struct winding w = { .kernel = b->kernel, .c = c };
	static const char *const names[MAX_VARS] = { "image", "c", "row", "column" };
	int m = c->rewrite->m, lanes = emit->target->lanes, n = m + 2;
	int64_t ci = c->rewrite->w->extents[1], co = y->extents[1];
	int64_t tiles = ceil_div(y->extents[2], m) * ceil_div(y->extents[3], m), group = ceil_div(tiles, c->group);
	int64_t vecs = ceil_div(co, lanes), panel_vecs = ceil_div(vecs, c->panels), depth = ceil_div(ci, lanes) * lanes;
	int64_t values = group * depth + 16, products = group * panel_vecs * lanes + 16, width = panel_vecs * lanes;
	struct value globals = winograd_values(emit, b->kernel), rows = value_list(arena), wide = value_list(arena),
	             calls = value_list(arena), start_calls = value_list(arena);
	b->printer = (struct printer){
		.arena = arena, .target = emit->target, .lane = -1, .names = names, .buffer = buffer_name, .user = &w
	};
	b->place = address_of_root;
	b->user = &w;
	b->list = value_list(arena);

	for (int last = 0; last < 2; last++) { /* groups differ by one tile, blocks of a group by one row */
		int64_t count = last ? group : tiles / c->group, blocks = ceil_div(count, c->tile_rows);
		if (count) {
			add_size(rows, count / blocks);
			add_size(rows, ceil_div(count, blocks));
		}
	}
	add_size(wide, vecs / c->panels);
	add_size(wide, panel_vecs);
	const char *entry = panel_vecs <= JIT_POINT_VECS && width <= JIT_POINT_LANES && !c->w && !c->prefetch
	        ? "m_point"
	        : "m_tile";
	set(globals, "entry", entry);
	for (size_t r = 0; r < value_count(rows); r++)
		for (size_t v = 0; v < value_count(wide); v++) {
			if (!jit_tile_fits(
			            emit->target, (int)value_at(rows, r).integer, (int)value_at(wide, v).integer))
				blocks_cannot(b, "the menu has no tile of that size");
			blocks_uses(b,
			        arena_printf(arena, "%s_%" PRId64 "x%" PRId64, entry, value_at(rows, r).integer,
			                value_at(wide, v).integer),
			        "tile");
		}
	blocks_uses(b, "m_products", "products");
	blocks_uses(b, arena_printf(arena, "m_forward_%d", m), "forward");
	blocks_uses(b, arena_printf(arena, "m_back_%d", m), "back");

	set(globals, "values_at", blocks_scratch(b, values * n * n, NULL));
	set(globals, "products_at", blocks_scratch(b, products * n * n, NULL));
	set(globals, "packed_a_at", blocks_scratch(b, depth * n * n, NULL));

	if (c->w) {
		set(globals, "filters_at",
		        blocks_scratch(b, n * n * c->k_block * lanes * (c->kept ? vecs : panel_vecs), NULL));
		blocks_uses(b, arena_printf(arena, "m_filters_%d", m), "filters");
	}

	/* the bias of a panel */
	struct dims across = { -1, CHANNEL, "1", "channels", 1, width };
	struct operand start = { .at = "0" };
	if (c->start) {
		b->list = start_calls;
		start = blocks_value(b, c->start, &across, true);
		if (start.lane != 1) {
			const char *all = blocks_scratch(b, width, NULL);
			blocks_call(
			        b, "m_copy_s", "map1", arena_printf(arena, "%s, 0, %s, 0, 1, channels", all, start.at));
			start.at = all;
		}
	}
	set(globals, "start", start.at);
	value_dict_set(globals, "start_calls", start_calls);

	/* outputs: straight to their place, or row by row of the tile through an epilogue */
	const struct expr *value = c->value;
	struct ending ending;
	struct operand add = { 0 };
	bool plain = blocks_ending(value, c->root, &ending), root_alone = plain && !ending.add && !ending.relu;
	struct dims ends = { COLUMN, CHANNEL, "wide", "channels", m, width };
	if (plain && ending.add) {
		add = blocks_value(b, ending.add, &ends, false);
		plain = add.lane == 1;
	}
	int64_t step = co > 1 ? index_factor(c->out_at, CHANNEL) : 1;
	bool direct = step == 1 && plain;
	set(globals, "add", direct && ending.add ? add.at : "");
	set_int(globals, "add_row",
	        direct && ending.add ? index_factor(schedule_address(arena, ending.add->of, ending.add->at), ROW) : 0);
	set_int(globals, "add_pixel", direct && ending.add ? add.row : 0);
	if (direct) {
		set(globals, "out", printer_address(&b->printer, c->result, c->out_at));
		set_int(globals, "out_row", index_factor(c->out_at, ROW));
		set_int(globals, "out_pixel", index_factor(c->out_at, COLUMN));
	} else {
		const char *square = blocks_scratch(b, (int64_t)m * m * width, NULL);
		const struct expr *whole = expr_load_first(arena, c->root);
		w.sums = (struct operand){ arena_printf(arena, "%s + i * %" PRId64, square, m * width), width, 1,
			false };
		b->list = calls;
		struct operand to = { printer_address(&b->printer, c->result, c->out_at),
			index_factor(c->out_at, COLUMN), step, false };
		blocks_into(b, root_alone ? whole : value, &ends, to);
		set(globals, "out", square);
		set_int(globals, "out_row", m * width);
		set_int(globals, "out_pixel", width);
	}
	value_dict_set(globals, "direct", value_bool(direct));
	value_dict_set(globals, "act", value_int(direct && ending.relu));
	value_dict_set(globals, "result", calls);
	value_dict_set(globals, "rows", rows);
	value_dict_set(globals, "wide", wide);
	set_int(globals, "n", n);
	set_int(globals, "tiles", tiles);
	set_int(globals, "side", ceil_div(y->extents[3], m));
	set_int(globals, "vecs", vecs);
	set_int(globals, "panel_vecs", panel_vecs);
	set_int(globals, "depth", depth);
	set_int(globals, "values", values);
	set_int(globals, "products", products);
	out->value = globals;
	out->scratch = b->scratch_most;
	return !b->cannot;
}
