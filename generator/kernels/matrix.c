/* matrix.c: products whose instruction makes m rows of n columns of results: whether what they multiply lies as the
 * instruction wants it, and their tiles.  What does not goes by the row of products.c that makes one a lane. */
#include "kernels/kernels.h"

/* Where sums and factors stand in tiles, a step may have fewer dwords than one holds: as many as divide the term, a
 * quarter of them at least.  0: there is no such step. */
enum { PART_LEAST = 4 };
int matrix_step(const struct contraction *c)
{
	int step = c->product->together, least = c->product->parts == MATRIX_TILES ? step / PART_LEAST : step;
	int64_t inner = c->extents[c->column + c->terms];
	while (step >= least && inner % step)
		step--;
	return step < least ? 0 : step;
}

/* Rows that fill a part of what the instruction makes.  Of floats the same row for any number of them: its order of
 * terms is part of the bits. */
static bool are_enough(const struct contraction *c, int64_t rows)
{
	int64_t least = ceil_div(c->product->m, PART_LEAST);
	return c->root->type == DTYPE_F32 || rows >= (least < 2 ? 2 : least);
}

void matrix_choose(const struct target *target, struct contraction *c)
{
	struct stage stage;
	int inner = c->column + c->terms;
	if (!product_is_matrix(c->product) || product_is_of_warps(c->product)) /* block.c chooses those */
		return;
	bool fits = c->terms && c->b->of->source == SOURCE_CONSTANT && !c->roles.widened && !c->counts[inner]
	        && index_is_affine(c->a_at) && index_factor(c->a_at, inner) == 1 && matrix_step(c)
	        && are_enough(c, contraction_nest(c).rows);
	if (fits && c->pad_count) {
		stage_padded(c, 1, &stage);
		fits = stage.of_term[c->terms - 1] == 1;
	}
	if (!fits)
		c->product = product_of(target, c->root);
}

void matrix_tile(const struct target *target, struct contraction *c, int64_t rows, int64_t columns)
{
	int m = c->product->m, vecs = 2 * c->product->n / target->lanes;
	if (!product_is_matrix(c->product) || product_is_of_warps(c->product))
		return;
	if (c->product->parts == MATRIX_TILES) {
		c->tile.rows = rows < 2 * m ? (int)rows : 2 * m;
		c->tile.vecs = columns > target->lanes ? vecs : 1;
		return;
	}
	/* Sums, a of all rows and a vector of b stand in registers; rows are whole parts. */
	c->tile.rows = (int)ceil_div(c->tile.rows, m) * m;
	while (c->tile.rows > m && c->tile.rows * c->tile.vecs + c->tile.rows / m + 1 > target->registers)
		c->tile.rows -= m;
}
