/* choose_winograd.c: a rewritten convolution as one kernel: what it reads and writes by address, its register tile, its
 * groups of tiles, and the filters as the kernel reads them. */
#include "kernels/kernels.h"
#include "kernels/winograd.h"

struct contraction *winograd_match(struct lowered *lowered, struct definition *root)
{
	struct arena *arena = lowered->arena;
	const struct program *program = lowered->program;
	struct contraction *c = arena_new(arena, struct contraction);
	if (scheduled(root)->rewrite->result != root)
		return NULL;
	c->root = c->result = root;
	c->rewrite = scheduled(root)->rewrite;
	c->store_at = arena_new_array(arena, const struct index *, 4);
	index_vars(arena, c->store_at, 4, root->extents);
	FOR_EACH (struct definition *d, program->all) {
		if (d == c->rewrite->parts[WINOGRAD_FILTERS] && lowered->target->lanes_are_threads)
			continue; /* blocks share filters that come at run time: a kernel makes them once for all */
		if (scheduled(d)->rewrite == c->rewrite && d != root && d->source == SOURCE_COMPUTED)
			push(arena, &c->winograd.parts, d);
	}
	return c;
}

/* The rows of a tile, 0 … m + 1, are the loads of the forward transform: the first and the last by address. */
struct rows {
	struct arena *arena;
	const struct index *first;
	int64_t least, most;
	struct definition *of;
	bool same;
};
static void see_row(void *user, const struct expr *load)
{
	struct rows *r = user;
	const struct index *address = schedule_address(r->arena, load->of, load->at);
	r->same &= !r->of || load->of == r->of;
	if (!r->of || address->constant < r->least)
		r->first = address, r->least = address->constant;
	r->most = !r->of || address->constant > r->most ? address->constant : r->most;
	r->of = load->of;
}

struct affine {
	struct arena *arena;
	const struct contraction *c;
	bool all;
};
static void check_affine(void *user, const struct expr *load)
{
	struct affine *a = user;
	if (load->of == a->c->root || scheduled(load->of)->rewrite == a->c->rewrite)
		return;
	const struct index *address = schedule_address(a->arena, load->of, load->at);
	a->all &= index_is_affine(address);
}

/* Of a choice among n points (one_of, definitions/winograd.c): the tap that point 0, 1 or the last one brings. */
static const struct expr *tap_of(const struct expr *points, int n, int tap)
{
	FOR (i, (tap == 2 ? n - 1 : tap))
		points = points->arg[1];
	return tap == 2 ? points : tap == 1 ? points->arg[0]->arg[1] : points->arg[0];
}

/* Filters that come at run time, of which u is made inside the kernel: one tensor, its taps apart by steps. */
static bool arrange_filters(struct arena *arena, struct contraction *c, const struct definition *u)
{
	const struct index *first = NULL;
	FOR (t, 9) {
		const struct expr *load =
		        tap_of(tap_of(u->body->arg[0], c->rewrite->m + 2, t % 3), c->rewrite->m + 2, t / 3);
		if (load->kind != EXPR_LOAD)
			return false; /* no tensor is behind it */
		const struct index *address = schedule_address(arena, load->of, load->at);
		if (!index_is_affine(address))
			return false;
		if (!first)
			first = address, c->winograd.w = load->of;
		int64_t apart = address->constant - first->constant;
		if (t == 1)
			c->winograd.w_column = apart;
		if (t == 3)
			c->winograd.w_row = apart;
		if (load->of != c->winograd.w || apart != t / 3 * c->winograd.w_row + t % 3 * c->winograd.w_column)
			return false;
	}
	c->winograd.w_base = first->constant;
	c->winograd.w_out = u->extents[2] > 1 ? index_factor(first, 2) : 0;
	c->winograd.w_channel = u->extents[3] > 1 ? index_factor(first, 3) : 0;
	return true;
}

bool winograd_arrange(struct arena *arena, struct contraction *c)
{
	/* n, channel, tile row, point, column are the variables of the forward transform. */
	const struct definition *t = c->winograd.parts.at[0];
	struct rows rows = { .arena = arena, .same = true };
	struct affine affine = { arena, c, true };
	expr_loads(t->body, see_row, &rows);
	if (!rows.same || !index_is_affine(rows.first))
		return false;
	c->winograd.x = rows.of;
	c->winograd.x_image = index_factor(rows.first, 0);
	c->winograd.x_channel = t->extents[1] > 1 ? index_factor(rows.first, 1) : 1;
	c->winograd.x_pixel = index_factor(rows.first, 4);
	/* A row that lies outside the image in every tile has no load. */
	int64_t from = c->rewrite->m + 2, to = -1;
	FOR (r, c->rewrite->m + 2)
		FOR (tile, t->extents[2]) {
			int64_t row = tile * c->rewrite->m + r - c->rewrite->pad_top;
			if (row >= 0 && row < c->rewrite->x->extents[2])
				from = r < from ? r : from, to = r;
		}
	c->winograd.x_row = to > from ? (rows.most - rows.least) / (to - from) : 0;
	c->winograd.x_base = rows.least - (from - c->rewrite->pad_top) * c->winograd.x_row
	        + c->rewrite->pad_left * c->winograd.x_pixel;
	c->out_at = schedule_address(arena, c->result, c->store_at);
	affine.all &= index_is_affine(c->out_at);
	c->arranged.start = c->root->original->start;
	c->arranged.value = c->epilogue;
	const struct definition *u = c->rewrite->parts[WINOGRAD_FILTERS];
	if (u->source == SOURCE_COMPUTED && is_local(u) && !arrange_filters(arena, c, u))
		return false;
	if (c->arranged.start)
		expr_loads(c->arranged.start, check_affine, &affine);
	if (c->arranged.value)
		expr_loads(c->arranged.value, check_affine, &affine);
	return affine.all;
}

enum { FAR_VALUES = 1 << 20 }; /* bytes of a group's values, where they may come from beyond L2 */
enum { VECS_FAR = 2 }; /* where a panel leaves L1, L2 gives it while the next comes there: more rows read each vector */

static size_t fill_filters(const struct constant_item *item, int64_t piece, void *out)
{
	const struct kernel *kernel = item->detail;
	const struct contraction *c = kernel->detail;
	const struct definition *w = c->rewrite->w;
	if (piece)
		return 0;
	if (out)
		winograd_weights(c->rewrite->m, w->extents[1], w->extents[0], definition_data(w), c->winograd.lanes,
		        c->panels, out);
	return (size_t)scheduled(item->of)->bytes;
}

/* A block of warps for some tiles by one vector of columns: each warp has three points, or two, of all its tiles.  As
 * many tiles as leave no processor idle: filters are read once for all of them. */
static void choose_block(const struct target *target, struct contraction *c, int64_t tiles, int64_t vecs)
{
	enum { TILES_MOST = 16, TILES_LEAST = 4, DEPTH = 16 };
	c->block.warps = c->rewrite->m == 4 ? 12 : 8;
	c->block.depth = DEPTH;
	c->panels = vecs;
	c->tile.vecs = 1;
	for (c->tile.rows = TILES_MOST; c->tile.rows > TILES_LEAST; c->tile.rows /= 2)
		if (c->root->extents[0] * ceil_div(tiles, c->tile.rows) * vecs >= target->gpu->processors)
			break;
	if (c->tile.rows == TILES_LEAST)
		c->block.depth = 2 * DEPTH;
	c->group = ceil_div(tiles, c->tile.rows);
}

/* Filters at run time: all are transformed once in each call where they fit half of L2; else, for each group anew, so
 * many channels of a panel at a time as fit a quarter, in front of the products with them. */
static void choose_filter_blocks(const struct target *target, struct contraction *c, int64_t ci, int64_t points)
{
	int64_t width = c->tile.vecs * target->lanes,
	        most = near_bytes(target, NEAR_filters_block) / (int64_t)sizeof(float) / (points * width)
	        / target->lanes * target->lanes;
	most = most < target->lanes ? target->lanes : most;
	c->k_block = c->winograd.kept || most > ci ? ci : ceil_div(ci, ceil_div(ci, most));
}

/* The products' tile: as a matrix of `group` rows.  Values and products of a group stay within half of L2; where
 * constant weights do not, they come anew for each group, so within three quarters; what is transformed anew for each
 * group is dearer: then values may come from beyond L2. */
static void choose_group(const struct target *target, struct contraction *c, int64_t tiles, int64_t vecs, bool far)
{
	int64_t ci = c->rewrite->w->extents[1], co = c->rewrite->w->extents[0],
	        points = (c->rewrite->m + 2) * (c->rewrite->m + 2);
	int64_t room = near_bytes(target, far && !c->winograd.w ? NEAR_tiles_far : NEAR_tiles);
	bool streams =
	        far && !c->winograd.w && ci * VECS_MOST * target->lanes * (int64_t)sizeof(float) > target->l1_bytes;
	tile_choose(target, target->registers, tiles < 24 ? tiles : 24, co,
	        &(struct steps){ .terms = ci, .floats = true, .registers = 1 }, streams ? VECS_FAR : VECS_MOST,
	        &c->tile.rows, &c->tile.vecs);
	while (streams && tile_fits(target->registers, tiles, vecs, c->tile.rows + 1, c->tile.vecs))
		c->tile.rows++;
	c->panels = ceil_div(vecs, c->tile.vecs);
	c->tile.vecs = (int)ceil_div(vecs, c->panels);
	c->winograd.kept = c->winograd.w
	        && points * vecs * target->lanes * ci * (int64_t)sizeof(float) <= near_bytes(target, NEAR_filters);
	if (c->winograd.w && !c->winograd.kept && !target->options.small && room < FAR_VALUES)
		room = 3 * room < FAR_VALUES ? 3 * room : FAR_VALUES;
	double a_tile = 4. * (double)points * (double)(ceil_div(ci, target->lanes) + c->tile.vecs) * target->lanes;
	int64_t group = (int64_t)((double)room / a_tile);
	group = group < c->tile.rows ? c->tile.rows : group > 64 ? 64 : group;
	c->group = ceil_div(tiles, group); /* groups in one image; where weights stay near, enough for some threads */
	if ((c->winograd.w ? c->winograd.kept : !far) && c->group < 4)
		c->group = tiles < 2 * c->tile.rows ? 1 : tiles < 4 * c->tile.rows ? 2 : 4;
	c->winograd.prefetch = far && !c->winograd.w;
	if (c->winograd.w)
		choose_filter_blocks(target, c, ci, points);
}

/* What an earlier kernel packed from the same weights in the same way: a layer that stands several times. */
static struct definition *filters_alike(const struct lowered *lowered, const struct contraction *c)
{
	FOR_EACH_AT (const struct constant_item *item, lowered->constants) {
		const struct contraction *other =
		        item->fill == fill_filters ? ((const struct kernel *)item->detail)->detail : NULL;
		if (other && other->rewrite->w == c->rewrite->w && other->rewrite->m == c->rewrite->m
		        && other->winograd.lanes == c->winograd.lanes && other->panels == c->panels)
			return item->of;
	}
	return NULL;
}

void winograd_choose(struct lowered *lowered, struct kernel *kernel)
{
	struct contraction *c = kernel->detail;
	const struct target *target = lowered->target;
	int64_t m = c->rewrite->m, ci = c->rewrite->w->extents[1], co = c->rewrite->w->extents[0],
	        floats = winograd_weights_floats((int)m, ci, co, target->lanes);
	int64_t vecs = ceil_div(co, target->lanes),
	        tiles = ceil_div(c->root->extents[2], m) * ceil_div(c->root->extents[3], m);
	c->winograd.lanes = target->lanes;
	memset(c->counts, 0, sizeof c->counts);
	for (int v = 0; v < c->root->rank && ends_by_lanes(target); v++)
		c->counts[v] = v == 1 ? NULL : contraction_count(c, v); /* of channels all */
	if (target->gpu)
		choose_block(target, c, tiles, vecs);
	else
		choose_group(target, c, tiles, vecs, floats * 4 > near_bytes(target, NEAR_all));
	kernel->warps = c->block.warps;
	kernel->blocks = c->root->extents[0] * c->group * (c->block.warps ? c->panels : 1);
	kernel->blocks_of =
	        arena_printf(lowered->arena, "groups of up to %lld tiles", (long long)ceil_div(tiles, c->group));
	kernel->tile = arena_printf(
	        lowered->arena, "F(%d), %d x %d", c->rewrite->m, c->tile.rows, c->tile.vecs * target->lanes);
	kernel->lanes = (struct kernel_lanes){ target->lanes, DTYPE_F32, false };
	const struct definition *u = c->rewrite->parts[WINOGRAD_FILTERS];
	if (u->source == SOURCE_COMPUTED)
		return;
	if (!(c->panel.packed = filters_alike(lowered, c)))
		c->panel.packed = lowered_constant(lowered, arena_printf(lowered->arena, "%s.filters", c->root->name),
		        DTYPE_F32, floats, fill_filters, kernel);
}

struct definition *winograd_filters(const struct contraction *c)
{
	return c->panel.packed ? c->panel.packed : c->winograd.w ? c->winograd.w : c->rewrite->parts[WINOGRAD_FILTERS];
}

const char *winograd_label(const struct kernel *kernel)
{
	(void)kernel;
	return "winograd";
}

void winograd_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	kernel_add_param(lowered->arena, kernel, c->winograd.x, false);
	kernel_add_read(lowered, kernel, winograd_filters(c));
	kernel_add_reads(lowered, kernel, c->arranged.start);
	kernel_add_reads(lowered, kernel, c->arranged.value);
	contraction_add_counts(lowered, kernel);
	kernel_add_param(lowered->arena, kernel, c->result, true);
}
