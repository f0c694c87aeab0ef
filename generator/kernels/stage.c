/* stage.c: a part of a tensor that stands nearer while a loop of its reader runs: the box of it that is needed there, inferred from the reader's
 * indices, and how the box lies. */
#include "kernels/kernels.h"

int contraction_row(const struct contraction *c) { return c->rows ? c->batches + c->rows - 1 : -1; }

int64_t contraction_extent(const struct contraction *c, int term) { return term == 0 && c->pass ? c->pass : c->extents[c->column + 1 + term]; }

static const struct range *pad_along(const struct contraction *c, int var)
{
	const struct range *pad = NULL;
	for (int i = 0; i < c->pad_count && var >= 0; i++)
		if (index_uses(c->arranged_pads[i].at, var))
			pad = &c->arranged_pads[i];
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

void stage_padded(const struct contraction *c, int64_t rows, struct stage *stage)
{
	int row = contraction_row(c);
	const struct range *row_pad = pad_along(c, row);
	bool shared = row < 0;
	*stage = (struct stage){ 0 };
	for (int t = 0; t < c->terms; t++) {
		int v = c->column + 1 + t;
		struct stage_dim dim = { .term = t, .extent = contraction_extent(c, t), .stride = index_factor(c->a_at, v), .pad = pad_along(c, v), .step = 1 };
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
	if (!shared) {                                        /* a 1-wide kernel, or rows without pads */
		int64_t step = row_pad ? index_factor(row_pad->at, row) : 1;
		stage->dim[stage->dims++] = (struct stage_dim){ .term = -1, .extent = (rows - 1) * step + 1, .stride = index_factor(c->a_at, row) / step,
			.pad = row_pad, .factor = row_pad != NULL, .rows = step };
	}
	sort(stage);
	lay(stage);
	for (int i = 0; i < stage->dims; i++) {
		const struct stage_dim *dim = &stage->dim[i];
		if (dim->term >= 0)
			stage->of_term[dim->term] = dim->lies * dim->step;
		if (dim->rows)
			stage->of_row = dim->lies * dim->rows;
	}
}

void stage_pooled(const struct contraction *c, int lanes, struct stage *stage)
{
	const int64_t extents[] = { c->pool.size[0], c->root->extents[c->pool.across], c->pool.by_panel ? c->tile_vecs * lanes : c->extents[c->column] };
	*stage = (struct stage){ .dims = COUNT(extents) };
	for (int i = 0; i < stage->dims; i++)
		stage->dim[i] = (struct stage_dim){ .term = -1, .extent = extents[i] };
	lay(stage);
}
