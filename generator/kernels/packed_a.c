/* packed_a.c: whether what tiles read of a is copied in front of them, with its pads, for whom and how much at a time. */
#include "kernels/kernels.h"
#include <inttypes.h>

/* Each term a page further, so a line of its own for each few floats.  Copied they lie side by side, for so many panels
 * at least. */
enum { PATCHES_ENOUGH = 4, COPIES_PAY = 4, PATCHES_MOST = 1 << 20 };
static bool lies_far(const struct contraction *c)
{
	int row = contraction_row(c);
	if (row < 0 || !c->terms || c->root->type != DTYPE_F32 || !index_is_affine(c->a_at)
	        || index_factor(c->a_at, c->column + c->terms) * 4 < FAR || c->panels < COPIES_PAY || c->group < 2)
		return false;
	return c->pad_count
	        || (!c->k_block && c->terms == 1 && index_factor(c->a_at, row) > 1
	                && c->extents[row] % c->row_blocks == 0); /* side by side every second float */
}

/* With several panels a of a group's blocks is packed once, in front of all of them, for all k blocks: where
 * as many as are worth a pass over b fit a part of L2; of k blocks what one of them reads, for the whole group. */
static void pack_groups(const struct target *target, struct contraction *c)
{
	struct stage stage;
	bool far = lies_far(c), whole = c->k_block || (far && !c->pad_count);
	if ((!c->pad_count && !far) || c->pool.d || c->split_panels || c->panels == 1 || !has_caches(target)
	        || contraction_k_blocked(c))
		return;
	c->staging.a_blocks = 2; /* of all k blocks */
	stage_padded(c, c->tile.rows, &stage);
	c->staging.a_blocks = 0;
	double each = (double)(stage.floats + 2 * target->lanes) * 4,
	       part = c->k_block ? (double)c->k_block / (double)c->extents[c->column + 1] : 1;
	int64_t room = (int64_t)((double)near_bytes(target,
	                                 c->k_block      ? NEAR_packed_a_all
	                                         : whole ? NEAR_group
	                                                 : NEAR_packed_a)
	        / (each * part));
	if (whole && (room < c->group || each * (double)c->group > PATCHES_MOST))
		return;
	c->staging.copied = far && room >= c->group;
	if (c->b_mode == B_GATHERED && room < c->group) /* each group would pack b again */
		room = (double)near_bytes(target, NEAR_packed_a_all) / each < (double)c->group ? 0 : c->group;
	if (room < c->group && room < PATCHES_ENOUGH)
		return;
	c->staging.a_blocks = c->group = room < c->group ? room : c->group;
}

double tiles_inside(const struct contraction *c)
{
	double inside = 1;
	FOR (i, c->pad_count) {
		const struct range *pad = &c->arranged.pads[i];
		int64_t reach = 0, tiles = pad_tiles(c, pad), there = 0, first, last;
		FOR (t, c->terms)
			reach += index_factor(pad->at, c->column + 1 + t) * (c->extents[c->column + 1 + t] - 1);
		FOR (p, tiles) {
			pad_rows(c, pad, p, &first, &last);
			there += first >= pad->from && last + reach < pad->to;
		}
		inside *= (double)there / (double)tiles;
	}
	return inside;
}

/* Floats that tiles copy of a row of the image, as it is so far: those that reach into pads, or all of them. */
static double copied_by_tiles(const struct contraction *c)
{
	struct stage stage;
	struct contraction whole = *c;
	whole.k_block = 0;
	stage_padded(&whole, c->tile.rows, &stage);
	return (c->staging.copied ? 0 : 1 - tiles_inside(c))
	        * (double)(stage.floats * c->row_blocks * (packs_group_of_a(c) ? 1 : c->panels));
}

/* Where the lines of a's terms do, each is fetched again for each tap that reads it where it lies. */
static bool terms_crowd(const struct target *target, const struct contraction *c)
{
	int inner = c->column + c->terms;
	return c->terms && lines_crowd(target, imaxabs(index_factor(c->a_at, inner)) * 4, c->extents[inner]);
}

/* Tiles of a row of the image whose windows overlap by much copy most of it again and again, for each panel: the row is
 * copied once, where it is long enough for a pass over b. */
enum { ROW_LEAST = 16 };
static void pack_rows(const struct target *target, struct contraction *c)
{
	int row = contraction_row(c);
	struct stage stage;
	struct contraction as = *c;
	if (row < 0 || !c->pad_count || c->pool.d || c->split_panels || c->row_blocks < 2 || !has_caches(target)
	        || c->b_mode == B_DIRECT || contraction_k_blocked(c) || c->root->type != DTYPE_F32
	        || !index_is_affine(c->a_at) || (c->panels > 1 && c->extents[row] < ROW_LEAST)
	        || (c->staging.transposed && c->staging.transposed < c->row_blocks * c->tile.rows)
	        || contraction_is_counted(c))
		return;
	as.staging.a_blocks = as.group = c->row_blocks;
	as.staging.a_rows = as.staging.copied = true;
	stage_padded(&as, packed_a_rows(&as), &stage);
	if (!stage.of_row || stage.floats * 4 > near_bytes(target, NEAR_packed_a_all)
	        || (!terms_crowd(target, c) && 4 * (double)stage.floats > 3 * copied_by_tiles(c)))
		return;
	*c = as;
}

void packed_a_choose(const struct target *target, struct contraction *c)
{
	if (target->calls) /* the menu copies a for each tile */
		return;
	pack_groups(target, c);
	pack_rows(target, c);
}
