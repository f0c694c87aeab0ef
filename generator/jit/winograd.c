/* winograd.c: a Winograd convolution -> its group of tiles as calls: transform, products by the contraction's tiles,
 * transform back with bias and relu; any other epilogue is calls over each row of a tile's outputs. */
#include "jit/jit.h"
#include <assert.h>
#include <inttypes.h>

enum { IMAGE, CHANNEL, ROW, COLUMN }; /* the root's variables */

struct winding {
	struct blocks *b;
	const struct contraction *c;
	const struct target *target;
	struct value globals;
	int64_t tiles, group;            /* of an image; of a group, at most */
	int64_t vecs, panel_vecs, width; /* of all channels; of a panel; its channels */
};

static void add_size(struct value list, int64_t size)
{
	FOR (i, value_count(list))
		if (value_at(list, i).integer == size)
			return;
	value_list_add(list, value_int(size));
}

/* The menu's tiles: groups differ by one tile, blocks of a group by one row, panels by one vector. */
static void use_tiles(struct winding *w)
{
	const struct contraction *c = w->c;
	struct arena *arena = w->b->arena;
	struct value rows = value_list(arena), wide = value_list(arena);
	FOR (last, 2) {
		int64_t count = last ? w->group : w->tiles / c->group, blocks = ceil_div(count, c->tile.rows);
		if (count) {
			add_size(rows, count / blocks);
			add_size(rows, ceil_div(count, blocks));
		}
	}
	add_size(wide, w->vecs / c->panels);
	add_size(wide, w->panel_vecs);
	const char *entry = w->panel_vecs <= JIT_POINT_VECS && w->width <= JIT_POINT_LANES && !c->winograd.w
	                && !c->winograd.prefetch
	        ? "m_point"
	        : "m_tile";
	FOR (r, value_count(rows))
		FOR (v, value_count(wide)) {
			int64_t high = value_at(rows, r).integer, across = value_at(wide, v).integer;
			if (!jit_tile_fits(w->target, (int)high, (int)across))
				blocks_cannot(w->b, "the menu has no tile of that size");
			blocks_uses(w->b, arena_printf(arena, "%s_%" PRId64 "x%" PRId64, entry, high, across), "tile");
		}
	blocks_uses(w->b, "m_products", "products");
	value_set(w->globals, "entry", entry, "rows", rows, "wide", wide);
}

/* The transforms, and scratch for what they make: n * n planes of each. */
static void use_transforms(struct winding *w)
{
	const struct contraction *c = w->c;
	struct blocks *b = w->b;
	int m = c->rewrite->m, n = m + 2, lanes = w->target->lanes;
	int64_t depth = ceil_div(c->rewrite->w->extents[1], lanes) * lanes;
	int64_t values = w->group * depth + 16, products = w->group * w->width + 16;
	blocks_uses(b, arena_printf(b->arena, "m_forward_%d", m), "forward");
	blocks_uses(b, arena_printf(b->arena, "m_back_%d", m), "back");
	value_set(w->globals, "values_at", blocks_scratch(b, values * n * n, NULL));
	value_set(w->globals, "products_at", blocks_scratch(b, products * n * n, NULL));
	int64_t run = winograd_run(w->target, c);
	value_set(w->globals, "packed_a_at", blocks_scratch(b, depth * n * (run ? run * m + 2 + lanes : n), NULL));
	if (c->winograd.w) {
		int64_t kept = c->winograd.kept ? w->vecs : w->panel_vecs;
		value_set(w->globals, "filters_at", blocks_scratch(b, n * n * c->k_block * lanes * kept, NULL));
		blocks_uses(b, arena_printf(b->arena, "m_filters_%d", m), "filters");
	}
	value_set(w->globals, "n", n, "depth", depth, "values", values, "products", products);
}

/* The bias of a panel. */
static void add_start(struct winding *w)
{
	struct blocks *b = w->b;
	struct value calls = value_list(b->arena);
	struct dims across = { -1, CHANNEL, "1", "channels", 1, w->width };
	struct operand start = { .at = "0" };
	if (w->c->arranged.start) {
		b->list = calls;
		start = blocks_vector(b, w->c->arranged.start, &across);
	}
	value_set(w->globals, "start", start.at, "start_calls", calls);
}

/* Outputs go straight to their place, or row by row of the tile through an epilogue. */
static void add_result(struct winding *w)
{
	const struct contraction *c = w->c;
	struct blocks *b = w->b;
	struct value calls = value_list(b->arena);
	int m = c->rewrite->m;
	struct tile_ending ending;
	struct operand add = { 0 };
	bool plain = tile_ending(c->arranged.value, c->root, &ending),
	     root_alone = plain && !ending.add && !ending.relu;
	int64_t side = ceil_div(c->root->extents[3], m), most = JIT_BLOCK / (m * w->width),
	        run = most < side ? most : side;
	run = run > 1 ? run : 1; /* tiles side by side, whose rows an epilogue takes at once */
	struct dims ends = { COLUMN, CHANNEL, "wide", "channels", run * m, w->width };
	if (plain && ending.add) {
		add = blocks_value(b, ending.add, &ends, false);
		plain = add.lane == 1;
	}
	int64_t step = c->root->extents[1] > 1 ? index_factor(c->out_at, CHANNEL) : 1;
	bool direct = step == 1 && plain, adds = direct && ending.add;
	value_set(w->globals, "add", adds ? add.at : "", "add_row",
	        adds ? index_factor(schedule_address(b->arena, ending.add->of, ending.add->at), ROW) : 0, "add_pixel",
	        adds ? add.row : 0);
	if (direct) {
		value_set(w->globals, "out", printer_address(&b->printer, c->result, c->out_at), "out_row",
		        index_factor(c->out_at, ROW), "out_pixel", index_factor(c->out_at, COLUMN));
	} else {
		const char *rows = blocks_scratch(b, m * run * m * w->width, NULL);
		b->sums = (struct operand){ arena_printf(b->arena, "%s + i * %" PRId64, rows, run * m * w->width),
			w->width, 1, false, false };
		b->list = calls;
		struct operand to = { printer_address(&b->printer, c->result, c->out_at),
			index_factor(c->out_at, COLUMN), step, false, false };
		blocks_into(b, root_alone ? expr_load_first(b->arena, c->root) : c->arranged.value, &ends, to);
		value_set(w->globals, "out", rows, "out_row", run * m * w->width, "out_pixel", w->width);
	}
	value_set(w->globals, "run", run, "direct", direct, "act", direct && ending.relu, "result", calls);
}

bool jit_winograd(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	static const char *const names[MAX_VARS] = { "image", "c", "row", "column" };
	const struct contraction *c = b->kernel->detail;
	const int64_t *extents = c->root->extents;
	int m = c->rewrite->m, lanes = emit->target->lanes;
	assert(c->root->type == DTYPE_F32 && c->result->type == DTYPE_F32); /* jit_target */
	struct winding w = { .b = b, .c = c, .target = emit->target, .globals = winograd_values(emit, b->kernel) };
	w.tiles = ceil_div(extents[2], m) * ceil_div(extents[3], m);
	w.group = ceil_div(w.tiles, c->group);
	w.vecs = ceil_div(extents[1], lanes);
	w.panel_vecs = ceil_div(w.vecs, c->panels);
	w.width = w.panel_vecs * lanes;
	blocks_begin(b, emit, names, c->root);
	b->list = value_list(b->arena);
	value_set(w.globals, "tiles", w.tiles, "side", ceil_div(extents[3], m), "vecs", w.vecs, "panel_vecs",
	        w.panel_vecs);
	use_tiles(&w);
	use_transforms(&w);
	add_start(&w);
	add_result(&w);
	out->value = w.globals;
	out->scratch = b->scratch_most;
	return !b->cannot;
}
