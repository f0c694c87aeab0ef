/* block.c: what a product needs besides (contraction.c) where a block of warps makes it: a's rows and b's panel come
 * into shared memory in chunks of the terms, by quads of floats where addresses allow, else float by float. */
#include "emit/contraction.h"
#include <inttypes.h>

enum { QUAD = 4, COPY_BYTES = 16, CODES_UNROLL = 64 };

static bool a_by_rows(const struct contraction *c)
{
	int row = contraction_row(c);
	return block_a_together(c) == 1 && row >= 0 && index_factor(c->a_at, row) == 1;
}

/* Rows that follow each other without a gap take no bank twice as they are copied, but where a warp's copies go along
 * the rows: with a quad between they share a bank by fours, and quads stay aligned. */
int block_a_step(const struct contraction *c)
{
	return c->block.depth + (a_by_rows(c) && !product_is_matrix(c->product) ? QUAD : 0);
}
static bool b_transposed(const struct contraction *c)
{
	return c->b_mode != B_PACKED && index_factor(c->b_at, c->column) != 1;
}
/* A fragment's rows, four to a warp of b's and eight of sums: each begins eight banks on. */
int block_sums_apart(const struct contraction *c) { return product_is_matrix(c->product) ? 8 : 0; }

/* Turned: neighbours along the terms, and the columns that a warp copies besides, lie in other banks. */
static int b_step(const struct contraction *c, int lanes)
{
	if (product_is_of_groups(c->product))
		return c->tile.vecs * lanes;
	if (product_is_matrix(c->product))
		return c->tile.vecs * lanes + block_sums_apart(c);
	return c->tile.vecs * lanes + (!b_transposed(c) ? 0 : c->block.depth < lanes ? lanes / c->block.depth : 1);
}
int block_b_step(const struct printing *p) { return b_step(p->c, p->emit->target->lanes); }

/* As floats: a chunk's a, and its b behind it, which may be of 16 bits. */
static int64_t stage_floats(const struct contraction *c, int lanes)
{
	return (int64_t)c->block.warps * c->tile.rows * block_a_step(c)
	        + (c->codes.bits
	                        ? codes_chunk(c) * b_step(c, lanes)
	                        : (int64_t)c->block.depth * b_step(c, lanes) * (int64_t)dtype_bytes(c->b->type, 1) / 4);
}

int64_t block_dynamic(const struct target *target, const struct contraction *c)
{
	int64_t bytes = 4 * c->block.stages * stage_floats(c, target->lanes);
	bytes += c->block.boxed ? 2 * (int64_t)sizeof(int64_t) * c->block.stages : 0;         /* an mbarrier each way */
	return bytes > target->scratch_bytes || product_is_of_groups(c->product) ? bytes : 0; /* aligned to 1024 */
}

int block_boxes(const struct target *target, const struct contraction *c, struct launch_box *boxes)
{
	struct tensor_box box[2];
	if (!c->block.boxed || !find_boxes(target, c, &box[0], &box[1]))
		return 0;
	boxes[0] = (struct launch_box){ c->a->of, box[0], { c->block.depth, c->block.warps * c->tile.rows } };
	boxes[1] = (struct launch_box){ c->panel.packed ? c->panel.packed : c->b->of, box[1],
		{ c->block.depth, c->tile.vecs * target->lanes } };
	return 2;
}

/* [{term, row}]: of a's box, and of b's, where a tile begins. */
static struct value boxes_value(struct printing *p, struct printer *printer)
{
	const struct contraction *c = p->c;
	struct launch_box boxes[BOXES_MOST];
	struct value list = value_list(p->arena);
	int count = block_boxes(p->emit->target, c, boxes);
	FOR (i, count) {
		const struct index *at[2];
		box_begins(p->arena, c, &boxes[i].lies, i > 0, at);
		value_list_add(list,
		        value_dict_of(
		                p->arena, "term", printer_index(printer, at[0]), "row", printer_index(printer, at[1])));
	}
	return count ? list : value_none();
}

/* [{name, by, extent}] of a run of variables, the outermost first: each is the whole / by % extent. */
static struct value axes_of(struct printing *p, int first, int count)
{
	struct value list = value_list(p->arena);
	int64_t by = 1;
	for (int v = first + count - 1; v >= first; v--)
		by *= p->c->extents[v];
	for (int v = first; v < first + count; v++) {
		by /= p->c->extents[v];
		value_list_add(
		        list, value_dict_of(p->arena, "name", p->names[v], "by", by, "extent", p->c->extents[v]));
	}
	return list;
}

static struct value a_value(struct printing *p, struct printer *printer)
{
	const struct contraction *c = p->c;
	struct value a = value_dict(p->arena);
	struct text there;
	text_init(&there, p->emit->build);
	FOR (i, c->pad_count) {
		const struct range *pad = &c->arranged.pads[i];
		const char *at = printer_index(printer, pad->at);
		text_printf(&there, " && %s >= %" PRId64 " && %s < %" PRId64, at, pad->from, at, pad->to);
	}
	value_set(a, "there", value_copy(p->arena, there.count ? there.at : "", there.count), "floats",
	        block_a_together(c), "near", value_bool(p->kernel->joined && scheduled(c->a->of)->mode == MODE_DEVICE),
	        "by_rows", a_by_rows(c), "step", block_a_step(c), "swizzled", product_is_matrix(c->product), "from",
	        printer_address(printer, c->a->of, c->a_at));
	text_release(&there);
	return a;
}

/* {chunk: rows of words of a chunk, rows: in all, alike: terms that share a scale, block: rows of those, head: of
 * scales and zero points, each: terms of a word} */
static struct value codes_value(struct printing *p)
{
	const struct contraction *c = p->c;
	if (!c->codes.bits)
		return value_none();
	int64_t words = codes_words(c), blocks = c->terms > 1 ? c->extents[c->column + 1] : 1;
	return value_dict_of(p->arena, "chunk", codes_chunk(c), "rows", words, "alike", codes_alike(c), "block",
	        words / blocks, "head", 1 + c->codes.zeros, "each", 32 / c->codes.bits);
}

static struct value b_value(struct printing *p, struct printer *printer)
{
	const struct contraction *c = p->c;
	const struct index *with[MAX_VARS] = { 0 };
	struct value b = value_dict(p->arena);
	bool groups = product_is_of_groups(c->product);
	int along = groups ? c->column + c->terms : c->column;
	bool packed = c->b_mode == B_PACKED, quads = packed || block_b_together(c, along) == QUAD;
	p->names[SPARE_VEC] = "q";
	with[c->column] = index_add(
	        p->arena, index_var(p->arena, c->column, INT32_MAX), index_var(p->arena, SPARE_VEC, INT32_MAX));
	value_set(b, "columns", c->extents[c->column], "packed", packed, "element",
	        c->arranged.wide ? contraction_element_of_b(c) : "float", "each",
	        packed && !c->codes.bits ? COPY_BYTES / (int64_t)dtype_bytes(c->b->type, 1)
	                : quads          ? QUAD
	                                 : 1,
	        "codes", codes_value(p), "by_columns", groups, "by_terms",
	        value_bool(b_transposed(c) && index_factor(c->b_at, c->column + c->terms) == 1), "step",
	        block_b_step(p), "from",
	        packed ? value_none()
	               : value_string(printer_address(printer, c->b->of, index_substitute(p->arena, c->b_at, with))));
	p->names[SPARE_VEC] = "v";
	return b;
}

/* Registers for the sums of so many warps are all that there are. */
enum { WARPS_BESIDE = 4 };
static bool block_is_alone(const struct contraction *c)
{
	return product_is_matrix(c->product) && c->block.warps > WARPS_BESIDE;
}

struct value block_value(struct printing *p, struct printer *printer)
{
	const struct contraction *c = p->c;
	struct value block = value_dict(p->arena), passed = value_list(p->arena);
	int64_t rows = 1, terms = 1, most = 0, far = 1;
	int lanes = p->emit->target->lanes, tall = c->block.warps * c->tile.rows;
	for (int v = c->batches; v < c->column; v++)
		rows *= c->extents[v];
	FOR (t, c->terms)
		terms *= c->extents[c->column + 1 + t];
	FOR_ALL (i, p->kernel->params) {
		const struct definition *d = p->kernel->params.at[i].of;
		value_list_add(passed, value_string(p->kernel->params.at[i].name));
		int64_t elements = scheduled(d)->bytes / (int64_t)dtype_bytes(d->type, 1);
		most = elements > most ? elements : most;
	}
	FOR (v, c->batches)
		value_list_add(passed, value_string(p->names[v]));
	int64_t stage = stage_floats(c, lanes), floats = c->block.stages * stage;
	value_set(block, "warps", c->block.warps, "resident", block_is_alone(c) ? 1 : 2, "depth", c->block.depth,
	        "rows", rows, "terms", terms, "chunks", ceil_div(terms, c->block.depth), "whole",
	        value_bool(rows % tall == 0), "tall", tall, "wide", c->tile.vecs * lanes);
	/* Addresses behind the last row or term are reckoned too, though nothing is read there, and what is subtracted
	 * from them comes last. */
	most = terms > most ? terms : most;
	most -= c->a_at->constant < 0 ? c->a_at->constant : 0;
	if (c->b_mode == B_PACKED)
		far = c->tile.vecs * lanes;
	else
		most -= c->b_at->constant < 0 ? c->b_at->constant : 0;
	for (int v = 0; v <= c->column + c->terms; v++) {
		far = index_factor(c->a_at, v) > far ? index_factor(c->a_at, v) : far;
		far = c->b_mode != B_PACKED && index_factor(c->b_at, v) > far ? index_factor(c->b_at, v) : far;
	}
	value_set(block, "index", most + (tall + c->block.depth) * far < INT32_MAX ? "int" : "long", "passed", passed,
	        "axes", axes_of(p, c->batches, c->rows), "term_axes", axes_of(p, c->column + 1, c->terms), "stages",
	        c->block.stages, "ahead", c->block.stages - (product_is_of_groups(c->product) ? 2 : 1), "unroll",
	        product_is_of_groups(c->product)           ? 1
	                : product_is_matrix(c->product)    ? c->block.depth / c->product->together
	                : c->tile.rows * c->tile.vecs > 32 ? 1
	                : c->tile.rows * c->tile.vecs > 8  ? 2
	                : codes_in_tile(c)                 ? CODES_UNROLL * c->codes.bits / 32
	                : c->tile.rows * c->tile.vecs < 3  ? c->block.depth / BLOCK_UNROLL
	                                                   : 8,
	        "stage", stage, "shared", floats, "dynamic", value_bool(block_dynamic(p->emit->target, c)), "boxes",
	        boxes_value(p, printer), "sums_apart", block_sums_apart(c), "heavy_rows",
	        product_is_matrix(c->product) ? c->product->m : floats / c->block.warps / (c->tile.vecs * lanes), "a",
	        a_value(p, printer), "b", b_value(p, printer));
	return block;
}
