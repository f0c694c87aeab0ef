/* stage.c: a part of a tensor that stands nearer while a loop of its reader runs: the box of it that is needed there,
 * inferred from the reader's indices, and how the box lies. */
#include "kernels/kernels.h"

int contraction_row(const struct contraction *c) { return c->rows ? c->batches + c->rows - 1 : -1; }

int64_t contraction_extent(const struct contraction *c, int term)
{
	return term == 0 && c->k_block ? c->k_block : c->extents[c->column + 1 + term];
}

bool packs_group_of_a(const struct contraction *c) { return c->staging.a_blocks > 1; }

bool packs_rows_of_a(const struct contraction *c) { return packs_group_of_a(c) && c->staging.a_rows; }

int64_t packed_a_rows(const struct contraction *c)
{
	return packs_rows_of_a(c) ? c->extents[contraction_row(c)] : c->tile.rows;
}

/* The variable that moves a pad beside its term; -1: none. */
static int pad_var(const struct contraction *c, const struct range *pad)
{
	FOR (v, c->column)
		if (index_uses(pad->at, v))
			return v;
	return -1;
}

int64_t pad_tiles(const struct contraction *c, const struct range *pad)
{
	int v = pad_var(c, pad);
	return v < 0 ? 1 : v == contraction_row(c) ? c->row_blocks : c->extents[v];
}

void pad_rows(const struct contraction *c, const struct range *pad, int64_t tile, int64_t *first, int64_t *last)
{
	int v = pad_var(c, pad);
	int64_t extent = v < 0 ? 1 : c->extents[v], tiles = pad_tiles(c, pad),
	        factor = v < 0 ? 0 : index_factor(pad->at, v);
	*first = pad->at->constant + factor * (extent * tile / tiles);
	*last = pad->at->constant + factor * (extent * (tile + 1) / tiles - 1);
}

int64_t packed_a_extent(const struct contraction *c, int term)
{
	return packs_group_of_a(c) ? c->extents[c->column + 1 + term] : contraction_extent(c, term);
}

static const struct range *pad_along(const struct contraction *c, int var)
{
	const struct range *pad = NULL;
	for (int i = 0; i < c->pad_count && var >= 0; i++)
		if (index_uses(c->arranged.pads[i].at, var))
			pad = &c->arranged.pads[i];
	return pad;
}

/* Outermost: the largest stride; stable. */
static void sort(struct stage *stage)
{
	for (int i = 1; i < stage->dims; i++)
		for (int k = i; k > 0 && stage->dim[k].stride > stage->dim[k - 1].stride; k--) {
			struct stage_dim t = stage->dim[k];
			stage->dim[k] = stage->dim[k - 1];
			stage->dim[k - 1] = t;
		}
}

static void lay(struct stage *stage)
{
	stage->floats = 1;
	for (int i = stage->dims - 1; i >= 0; stage->floats *= stage->dim[i].extent, i--)
		stage->dim[i].lies = stage->floats;
}

/* k blocks: the terms of one lie side by side. */
static void settle(struct stage *stage, bool k_blocks)
{
	sort(stage);
	for (int i = stage->dims - 1; k_blocks && i > 0; i--)
		if (stage->dim[i].term == 0) {
			struct stage_dim dim = stage->dim[i];
			memmove(stage->dim + 1, stage->dim, (size_t)i * sizeof dim);
			stage->dim[0] = dim;
			break;
		}
	lay(stage);
	FOR (i, stage->dims) {
		const struct stage_dim *dim = &stage->dim[i];
		if (dim->term >= 0)
			stage->of_term[dim->term] = dim->lies * dim->step;
		if (dim->rows)
			stage->of_row = dim->lies * dim->rows;
	}
}

void stage_padded(const struct contraction *c, int64_t rows, struct stage *stage)
{
	int row = contraction_row(c);
	const struct range *row_pad = pad_along(c, row);
	bool shared = row < 0;
	*stage = (struct stage){ 0 };
	FOR (t, c->terms) {
		int v = c->column + 1 + t;
		struct stage_dim dim = { .term = t,
			.extent = packed_a_extent(c, t),
			.stride = index_factor(c->a_at, v),
			.pad = pad_along(c, v),
			.step = 1 };
		dim.factor = dim.pad ? index_factor(dim.pad->at, v) : 0;
		if (dim.pad && row >= 0 && index_uses(dim.pad->at, row)) {
			dim.step = dim.factor;
			dim.rows = index_factor(dim.pad->at, row);
			dim.extent = (rows - 1) * dim.rows + (dim.extent - 1) * dim.step + 1;
			dim.stride /= dim.step;
			dim.factor = 1;
			shared = true;
		}
		stage->dim[stage->dims++] = dim;
	}
	if (!shared) { /* a 1-wide kernel, or rows without pads */
		int64_t step = row_pad ? index_factor(row_pad->at, row) : 1;
		stage->dim[stage->dims++] = (struct stage_dim){ .term = -1,
			.extent = (rows - 1) * step + 1,
			.stride = index_factor(c->a_at, row) / step,
			.pad = row_pad,
			.factor = row_pad != NULL,
			.rows = step };
	}
	settle(stage, packs_group_of_a(c) && (c->k_block || c->staging.a_rows));
}

bool stage_whole(const struct contraction *c, struct stage *stage)
{
	int row = contraction_row(c);
	int64_t moves[MAX_VARS] = { 0 };
	stage_padded(c, row >= 0 ? c->extents[row] : 1, stage);
	FOR (v, c->column) {
		const struct range *pad = pad_along(c, v);
		int64_t apart = index_factor(c->a_at, v);
		if (v == row || c->extents[v] == 1 || (!apart && !pad))
			continue;
		struct stage_dim *dim = NULL;
		for (int i = 0; pad && i < stage->dims; i++)
			if (stage->dim[i].pad == pad)
				dim = &stage->dim[i];
		if (!pad) {
			dim = &stage->dim[stage->dims++];
			*dim = (struct stage_dim){ .term = -1, .outer = v + 1, .extent = 1, .stride = apart };
			moves[v] = 1;
		} else if (!dim || index_factor(pad->at, v) % dim->factor)
			return false;
		else
			moves[v] = index_factor(pad->at, v) / dim->factor;
		if (moves[v] <= 0 || apart != moves[v] * dim->stride)
			return false;
		dim->extent += (c->extents[v] - 1) * moves[v];
	}
	FOR (i, c->pad_count) { /* each pad is a dim's */
		int k = 0;
		while (k < stage->dims && stage->dim[k].pad != &c->arranged.pads[i])
			k++;
		if (k == stage->dims || !index_is_affine(c->arranged.pads[i].at))
			return false;
	}
	settle(stage, false);
	FOR (v, c->column)
		for (int i = 0; moves[v] && i < stage->dims; i++)
			if (stage->dim[i].outer == v + 1 || (pad_along(c, v) && stage->dim[i].pad == pad_along(c, v)))
				stage->of_outer[v] = stage->dim[i].lies * moves[v];
	return true;
}

void stage_pooled(const struct contraction *c, int lanes, struct stage *stage)
{
	const int64_t extents[] = { c->pool.size[0], c->root->extents[c->pool.across],
		c->pool.by_panel ? c->tile.vecs * lanes : c->extents[c->column] };
	*stage = (struct stage){ .dims = COUNT(extents) };
	FOR (i, stage->dims)
		stage->dim[i] = (struct stage_dim){ .term = -1, .extent = extents[i] };
	lay(stage);
}
