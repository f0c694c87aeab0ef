/* matrix.c: a tile whose instruction makes m rows of n columns of results: its parts, and where they stand. */
#include "emit/contraction.h"
#include <inttypes.h>

static int rows_of_part(const struct product *product, int rows, int part)
{
	int left = rows - part * product->m;
	return left < product->m ? left : product->m;
}

/* {first, second, terms}: the rows of a's tiles, one at least; none where vectors hold them. */
static struct value shape_value(struct printing *p, int rows)
{
	const struct product *product = p->c->product;
	int second = rows_of_part(product, rows, 1);
	if (product->parts != MATRIX_TILES)
		return value_none();
	return value_dict_of(p->arena, "first", rows_of_part(product, rows, 0), "second", second < 1 ? 1 : second,
	        "terms", matrix_step(p->c));
}

struct value matrix_shape(struct printing *p) { return shape_value(p, p->c->tile.rows); }

struct value matrix_value(struct printing *p, const struct tile *of)
{
	const struct contraction *c = p->c;
	const struct product *product = c->product;
	struct value rows = value_list(p->arena);
	int parts = ceil_div(of->rows, product->m), columns = of->vecs * p->emit->target->lanes / product->n;
	if (!product_is_matrix(product))
		return value_none();
	FOR (r, parts)
		value_list_add(rows, value_int(rows_of_part(product, of->rows, r)));
	return value_dict_of(p->arena, "rows", rows, "columns", columns, "down",
	        product->parts == MATRIX_TILES ? 2 : parts, "across", product->parts == MATRIX_TILES ? 2 : columns,
	        "groups", product_is_of_groups(product), "m", product->m, "n", product->n, "terms",
	        c->block.warps ? product->together : matrix_step(c), "a_row",
	        p->row_stride.name ? value_string(p->row_stride.name)
	                           : value_int(c->block.warps ? block_a_step(c) : p->row_stride.direct),
	        "shape", of->rows != c->tile.rows ? shape_value(p, of->rows) : value_none());
}
