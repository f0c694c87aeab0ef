/* tile.c: the register tile of a contraction, its panels and row groups, from facts of the target.
 *
 * A tile of r rows by v vectors keeps r*v sums in registers.  One step over k takes
 *     max(r*v / fma pipes,  (v + r) / loads a cycle,  v / vectors a cycle from L2,  latency of one fma)
 * cycles, and a little for each load and for each line that no step before it touched: too small a tile waits for its
 * own sums, too wide a one for loads.
 * Rows and panels are balanced, so the cost of a candidate is summed over the blocks that there really are. */
#include "kernels/kernels.h"
#include <inttypes.h>
#include <limits.h>

/* Bytes that L2 gives in a cycle to a kernel that also computes: a panel beyond L1 comes at that rate; fewer where
 * dwords take more instructions, or on a GPU. */
enum { L2_BYTES_A_CYCLE = 28, L2_BYTES_FEWER = 24 };

static bool leaves_l1(const struct target *target, int64_t vecs, const struct steps *steps)
{
	return steps->terms * vecs * steps->registers * target->lanes * 4 > near_bytes(target, NEAR_panel_l1);
}

struct reckoned tile_step(const struct target *target, int64_t rows, int64_t vecs, const struct steps *steps)
{
	double vector_bytes = target->lanes * 4, loads = target->units.load / vector_bytes;
	const int64_t of_b = vecs * steps->registers;
	double load = (double)(of_b + rows) / (loads > 1e-9 ? loads : 1),
	       stream = (double)of_b * vector_bytes
	        / (steps->floats && has_caches(target) ? L2_BYTES_A_CYCLE : L2_BYTES_FEWER);
	struct reckoned step = { (double)(rows * of_b) / target->units.pipes, "multiply-adds" };
	if (load > step.cycles)
		step = (struct reckoned){ load, "loads" };
	if (leaves_l1(target, vecs, steps) && stream > step.cycles)
		step = (struct reckoned){ stream, "bytes from L2" };
	return step.cycles > target->units.latency
	        ? step
	        : (struct reckoned){ target->units.latency, "sums that wait for themselves" };
}

/* What a step takes beside: cycles for a load, a line of b that left L1, a line that the step before it did not touch.
 * Measured with floats. */
static const double A_LOAD = 0.015, A_LINE_FROM_L2 = 0.06, A_LINE = 0.6;
static double beside(const struct target *target, int64_t rows, int64_t vecs, const struct steps *steps)
{
	if (!has_caches(target) || !steps->floats)
		return 0;
	double lines = (steps->a_far ? 1 + (double)(rows - 1) * steps->a_lines : 0) + steps->b_lines;
	return A_LOAD * (double)(rows + vecs)
	        + (leaves_l1(target, vecs, steps) ? A_LINE_FROM_L2 * (double)(vecs * target->lanes) / 16 : 0)
	        + A_LINE * lines;
}

static double tile_cycles(const struct target *target, int64_t rows, int64_t vecs, const struct steps *steps)
{
	return (tile_step(target, rows, vecs, steps).cycles + beside(target, rows, vecs, steps)) * (double)steps->terms
	        + 10 + 1.5 * (double)(rows * vecs);
}

double tile_cost(
        const struct target *target, int64_t rows, int64_t vecs, int64_t r, int64_t v, const struct steps *steps)
{
	int64_t blocks = ceil_div(rows, r), panels = ceil_div(vecs, v);
	int64_t row_high = ceil_div(rows, blocks), row_low = rows / blocks, vec_high = ceil_div(vecs, panels),
	        vec_low = vecs / panels;
	int64_t many_rows = rows - row_low * blocks, many_vecs = vecs - vec_low * panels;
	struct steps packed = *steps;
	double cost = 0;
	if (steps->pack > 0 && blocks >= steps->pack_from) {
		cost += steps->pack * (double)(steps->terms * vecs);
		packed.b_lines = 0;
	}
	cost += (double)(many_rows * many_vecs) * tile_cycles(target, row_high, vec_high, &packed);
	cost += (double)(many_rows * (panels - many_vecs)) * tile_cycles(target, row_high, vec_low, &packed);
	cost += (double)((blocks - many_rows) * many_vecs) * tile_cycles(target, row_low, vec_high, &packed);
	cost += (double)((blocks - many_rows) * (panels - many_vecs)) * tile_cycles(target, row_low, vec_low, &packed);
	return cost;
}

bool tile_fits(int registers, int64_t rows, int64_t vecs, int r, int v)
{
	int needed = r == 1 ? v + 2 : r * v + v + 1;
	bool wide = rows == 1 && v <= VECS_ROW && !(v & (v - 1)) && vecs % v == 0;
	return needed <= registers && !(r > 8 && v > 2) && (v <= VECS_MOST || wide) && r <= rows && v <= vecs;
}

/* Lines of the tiles' code: one tile for each height and width that balanced blocks and panels have. */
static double text_of(int64_t rows, int64_t vecs, int64_t r, int64_t v)
{
	int64_t blocks = ceil_div(rows, r), panels = ceil_div(vecs, v), lines = 0;
	for (int h = 0; h <= (rows % blocks != 0); h++)
		for (int w = 0; w <= (vecs % panels != 0); w++)
			lines += 10 + 3 * (ceil_div(rows, blocks) - h) * (ceil_div(vecs, panels) - w);
	return (double)lines;
}

/* Instructions of one step over k: of all tiles together, loads and the loop's own beside the sums.  Words come four
 * steps a turn, and those of two steps are taken apart. */
static double instructions_of(int64_t rows, int64_t vecs, int64_t r, int64_t v, bool floats)
{
	int64_t blocks = ceil_div(rows, r), panels = ceil_div(vecs, v);
	return (double)(rows * vecs + rows * panels) + (floats ? 1 : 1.5) * (double)(vecs * blocks)
	        + (floats ? 4 : 1) * (double)(blocks * panels);
}

/* For small code: the least text among the tiles of as many panels that take a quarter more instructions at most, of
 * dwords an eighth: with more panels, padding would be copied more often. */
static void tile_small(int registers, int64_t rows, int64_t vecs, bool floats, int *tile_rows, int *tile_vecs)
{
	double most = (floats ? 1.25 : 1.125) * instructions_of(rows, vecs, *tile_rows, *tile_vecs, floats),
	       least = text_of(rows, vecs, *tile_rows, *tile_vecs);
	int64_t panels = ceil_div(vecs, *tile_vecs);
	for (int v = VECS_MOST; v >= 1; v--)
		for (int r = 14; r >= 1; r--)
			if (tile_fits(registers, rows, vecs, r, v) && ceil_div(vecs, v) == panels
			        && instructions_of(rows, vecs, r, v, floats) <= most
			        && text_of(rows, vecs, r, v) < least) {
				least = text_of(rows, vecs, r, v);
				*tile_rows = r;
				*tile_vecs = v;
			}
}

double tile_choose(const struct target *target, int registers, int64_t rows, int64_t columns, const struct steps *steps,
        int most_vecs, int *tile_rows, int *tile_vecs)
{
	int64_t vecs = ceil_div(columns, target->lanes);
	double least = -1;
	/* Large tiles first: they win ties.  6 x 4 vectors fits 32 registers, 6 x 2 fits 16.  One row of 4 vectors
	 * waits for its sums, but streams b from L2 as fast as more would. */
	for (int v = most_vecs; v >= 1; v--)
		for (int r = 14; r >= 1; r--) {
			if (!tile_fits(registers, rows, vecs, r, v))
				continue;
			double cost = tile_cost(target, rows, vecs, r, v, steps);
			/* 6 rows read a without packing it at any stride; more overflow the ways of L1 at powers of two
			 */
			cost *= r > 8 ? 1.02 : 1;
			if (least < 0 || cost < least * 0.995) {
				least = cost;
				*tile_rows = r;
				*tile_vecs = v;
			}
		}
	if (target->options.small)
		tile_small(registers, rows, vecs, steps->floats, tile_rows, tile_vecs);
	return least;
}

/* Packed a has rows that a stack holds.  Where scratch is short, a third each is for packed a, for b packed on the fly
 * and for the sums of heavy epilogues. */
static void fit_scratch(
        const struct target *target, const struct contraction *c, double terms, int *tile_rows, int *tile_vecs)
{
	double third = target->scratch_bytes ? (double)target->scratch_bytes / 3 / 4 : STACK_FLOATS;
	struct stage stage;
	for (; c->pad_count && *tile_rows > 1; --*tile_rows) {
		stage_padded(c, *tile_rows, &stage);
		if ((double)stage.floats <= third)
			break;
	}
	while (target->scratch_bytes && c->b->of->source != SOURCE_CONSTANT && *tile_vecs > 1
	        && terms * *tile_vecs * target->lanes > third)
		--*tile_vecs;
}

/* Where a device waits for tiles: narrower ones first, since b streams through any. */
static void spread(
        const struct target *target, int64_t rows, int64_t columns, double others, int *tile_rows, int *tile_vecs)
{
	int64_t vecs = ceil_div(columns, target->lanes);
	while ((double)(ceil_div(rows, *tile_rows) * ceil_div(vecs, *tile_vecs))
	        * others<target->share.tiles && * tile_rows * * tile_vecs> 1)
		if (*tile_vecs > 1)
			*tile_vecs = (*tile_vecs + 1) / 2;
		else
			*tile_rows = (*tile_rows + 1) / 2;
}

static int64_t pooled_rows(const struct contraction *c)
{
	FOR (v, c->pool.d->rank)
		if (c->pool.of[v] == c->pool.row)
			return c->pool.d->extents[v];
	return 1;
}

/* Where the stack is short, scratch holds the rows of one panel, not of all columns. */
static void pool_by_panel(struct lowered *lowered, struct contraction *c, int64_t columns)
{
	struct definition *x = c->result;
	if (!c->pool.d || !lowered->target->options.small || !lowered->target->short_stack || lowered->target->lanes > 1
	        || c->panels == 1)
		return;
	c->pool.by_panel = true;
	FOR (k, x->rank)
		if (scheduled(x)->stride[k] > 1)
			scheduled(x)->stride[k] = scheduled(x)->stride[k] / columns * c->tile.vecs;
	contraction_arrange(lowered->arena, c);
}

/* Where the part of a for a group of rows, or a panel of b, leaves L2, the terms are taken in k blocks: all row blocks
 * of a group go over part of a panel before the next part.  The sums wait where the result will be, so each keeps its
 * order; a k block has to be long enough to hide that. Measured: groups of 8 blocks are as good as larger ones; k
 * blocks of 512 terms and groups of 16 where there have to be any. */
enum { K_BLOCK_STEPS = 256, BLOCKS_ENOUGH = 8, K_BLOCK_GROUP = 16 };
/* What is packed at run time is packed again for each group. */
enum near near_of_panel(const struct contraction *c) { return c->b_mode == B_GATHERED ? NEAR_gathered : NEAR_panel; }
enum near near_of_group(const struct contraction *c)
{
	return c->b_mode == B_GATHERED ? NEAR_group_packed : NEAR_group;
}
static int64_t group_of(const struct target *target, const struct contraction *c, double a_bytes)
{
	return (int64_t)((double)near_bytes(target, near_of_group(c)) / (a_bytes > 1 ? a_bytes : 1));
}

static int64_t k_block_of(struct arena *arena, const struct target *target, const struct contraction *c, int64_t terms,
        int64_t blocks, double a_bytes)
{
	int64_t extent = c->terms ? c->extents[c->column + 1] : 1, inner = terms / extent, shortest = 0;
	double panel = (double)terms * c->tile.vecs * target->lanes * product_bytes(c->product);
	if (c->b_mode == B_DIRECT || product_is_matrix(c->product) || c->pool.d
	        || (c->terms && c->counts[c->column + 1]) || !has_caches(target) || blocks < 4
	        || c->result->type != c->root->type
	        || (index_factor(c->out_at, c->column) != 1 && !c->staging.transposed) || !tile_waits(arena, target, c))
		return 0;
	if (panel <= (double)near_bytes(target, near_of_panel(c))
	        && group_of(target, c, a_bytes) >= (blocks < BLOCKS_ENOUGH ? blocks : BLOCKS_ENOUGH))
		return 0;
	for (int64_t k_block = extent - 1; k_block * inner >= K_BLOCK_STEPS; k_block--)
		if (extent % k_block == 0) {
			double part = (double)k_block / (double)extent;
			if (panel * part <= (double)near_bytes(target, NEAR_panel_k_block)
			        && group_of(target, c, a_bytes * part)
			                >= (blocks < K_BLOCK_GROUP ? blocks : K_BLOCK_GROUP))
				return k_block;
			shortest = k_block;
		}
	return shortest;
}

/* The most vectors of sums that the kernel's tile may have. */
static int sums_most(const struct lowered *lowered, const struct kernel *kernel)
{
	int most = INT_MAX;
	for (size_t i = 0; lowered->refused && i < lowered->refused->count; i++)
		if (!strcmp(lowered->refused->at[i].root, kernel->root->name) && lowered->refused->at[i].sums <= most)
			most = lowered->refused->at[i].sums - 1;
	return most;
}

bool tile_refuse(const struct lowered *lowered, const struct kernel *kernel, refused_tiles *refused)
{
	const struct contraction *c = kernel->shape == SHAPE_CONTRACTION ? kernel->detail : NULL;
	if (!c || c->tile.rows * c->tile.vecs < 2)
		return false;
	FOR_EACH (struct kernel *one, lowered->kernels) {
		if (one == kernel || one->same == kernel)
			push(lowered->program->build->arena, refused,
			        (struct refused_tile){ one->root->name, c->tile.rows * c->tile.vecs });
	}
	return true;
}

/* Blocks over which the rows lie side by side in the result: from the innermost loop on, as far as it is dense.  False:
 * they do not, or what is around is not. */
static bool find_span(struct contraction *c)
{
	int row = contraction_row(c);
	if (row < 0 || c->pool.d || !index_is_affine(c->out_at) || index_factor(c->out_at, row) != 1
	        || index_factor(c->out_at, c->column) == 1)
		return false;
	int64_t next = c->extents[row];
	c->staging.span = c->row_blocks;
	c->staging.around = 0;
	for (int v = row - 1; v >= c->batches; v--) {
		int64_t factor = index_factor(c->out_at, v);
		if (c->extents[v] == 1)
			continue;
		if (factor != next && c->staging.around)
			return false;
		if (factor != next)
			c->staging.around = factor;
		if (!c->staging.around)
			c->staging.span *= c->extents[v];
		next = factor * c->extents[v];
	}
	return true;
}

/* b that comes at run time is packed where its columns are apart, or where rows of it that are far apart (each in a
 * page of its own, many in the same place of the cache), or of an image and not aligned, are read by many blocks; or by
 * two, of a panel that leaves L2. */
enum { BLOCKS_PACKED = 6 };
static bool lies_far_apart(const struct target *target, const struct contraction *c)
{
	int64_t step = c->terms ? index_factor(c->b_at, c->column + c->terms) : 0;
	return c->terms && (step * product_bytes(c->product) >= FAR || (c->roles.exchanged && step % target->lanes));
}

static bool gathers(const struct target *target, const struct contraction *c, int64_t terms, int64_t blocks)
{
	if (c->block.warps
	        || (target->scratch_bytes && terms * c->tile.vecs * target->lanes > target->scratch_bytes / 12))
		return false; /* too long for scratch: lanes read b where it is */
	if (index_factor(c->b_at, c->column) != 1)
		return true;
	int64_t panel = terms * c->tile.vecs * target->lanes * product_bytes(c->product);
	return has_caches(target) && blocks >= (panel > near_bytes(target, NEAR_twice) ? 2 : BLOCKS_PACKED)
	        && lies_far_apart(target, c);
}

/* Rows of b that come at run time, some of them at a time, over all panels before the next ones, read where they lie: a
 * panel of them all is a page for each row, more than are found at once, and packing it a second reading.  The sums
 * wait near meanwhile.  Measured: 32 to 64 rows; one block of rows streams b as fast in panels
 * while a CPU's second table of pages has them all (2,048 of 4 KB). */
enum { SWEPT_LEAST = 16, SWEPT_MOST = 48, PAGES_FOUND = 8 << 20 };
static int64_t k_block_rows(
        struct arena *arena, const struct target *target, const struct contraction *c, const struct tiles_nest *n)
{
	int64_t step = c->terms == 1 && index_is_affine(c->b_at) ? index_factor(c->b_at, c->column + 1) * 4 : 0,
	        rows = SWEPT_MOST;
	if (c->b->of->source == SOURCE_CONSTANT || !has_caches(target) || c->block.warps || c->pool.d || c->pad_count
	        || c->roles.widened || step < n->columns * 4 || n->columns * 4 < FAR || c->panels == 1
	        || index_factor(c->b_at, c->column) != 1 || index_factor(c->out_at, c->column) != 1
	        || c->root->type != DTYPE_F32 || c->result->type != DTYPE_F32 || !tile_waits(arena, target, c)
	        || n->terms * step <= (c->row_blocks * n->outer > 1 ? near_bytes(target, NEAR_all) : PAGES_FOUND)
	        || n->rows * n->outer * n->columns * 4 > near_bytes(target, NEAR_waiting))
		return 0;
	for (int v = 0; v <= c->column + 1; v++)
		if (c->counts[v])
			return 0;
	while (rows >= SWEPT_LEAST && (n->terms % rows || rows == n->terms))
		rows--;
	return rows < SWEPT_LEAST ? 0 : rows;
}

/* Single floats that are stored so far apart take a line each, and often the same place in the cache: the rows of a
 * group are transposed together, as many as stay in a part of L2, so that a column is written for some lines before the
 * next one is. */
static void choose_transposed_store(const struct lowered *lowered, struct contraction *c)
{
	const struct target *target = lowered->target;
	int64_t lanes = target->lanes, width = c->tile.vecs * lanes, bits = dtypes[c->result->type].bits,
	        most = near_bytes(
	                       target, c->b_mode == B_GATHERED ? NEAR_transposed_store_packed : NEAR_transposed_store)
	        * 8 / bits;
	int64_t blocks = most / (width * c->tile.rows),
	        least = ceil_div(lanes, c->tile.rows > 1 ? c->tile.rows - 1 : 1);
	if (lanes < 4 || !has_caches(target) || c->split_panels || (c->result->type != DTYPE_F32 && bits > 16)
	        || c->extents[c->column] < lanes || !find_span(c) || c->staging.span < least || blocks < least)
		return;
	c->staging.transposed = (blocks < c->staging.span ? blocks : c->staging.span) * c->tile.rows;
}

/* Of the counts those that end a loop of the nest: over batches, rows, panels and the outermost terms. */
enum { TERMS_COUNTED = 8 }; /* so many are worth it */
static void keep_counts(struct contraction *c)
{
	int row = contraction_row(c);
	if (row >= 0 && ((c->split_panels && !c->block.warps) || (c->block.warps && c->rows > 1)))
		c->counts[row] = NULL;
	if (c->panels == 1)
		c->counts[c->column] = NULL;
	FOR (t, c->terms)
		if (t || c->k_block || c->block.warps || c->extents[c->column + 1] < TERMS_COUNTED)
			c->counts[c->column + 1 + t] = NULL;
	for (int r = 0; r + 1 < c->rows && c->block.warps; r++) /* a block has rows of all of them */
		c->counts[c->batches + r] = NULL;
	for (int r = 1; r < c->rows && c->staging.transposed; r++) /* rows of a group lie side by side */
		c->counts[c->batches + r] = NULL;
	if (c->pool.d)
		memset(c->counts, 0, sizeof c->counts);
}

/* Weights that come from beyond L2, or so few row blocks that threads cannot have as many each, and more weights than a:
 * threads share panels, so that each reads its own part of the weights and all of a.  Where all row blocks are one group
 * the order is the same. */
enum { PANELS_SHARED = 8 };
static bool panels_are_shared(const struct target *target, const struct contraction *c, int64_t b_bytes, int64_t blocks)
{
	return c->b_mode == B_PACKED && c->group >= blocks && c->panels >= PANELS_SHARED && c->batches == 0
	        && !c->staging.a_blocks && !c->staging.transposed && !c->pool.d && !c->block.warps && has_caches(target)
	        && !(contraction_row(c) >= 0 && c->counts[contraction_row(c)])
	        && (b_bytes > near_bytes(target, NEAR_all) || (blocks < PANELS_SHARED && blocks % 4))
	        && (double)b_bytes > c->memory.a_block * (double)blocks;
}

/* A panel's part of a result that leaves L2 comes and goes piece by piece, a row apart: where b stays near, groups of
 * as many blocks as leave their results there write whole rows. */
static int64_t group_of_results(
        const struct target *target, struct contraction *c, int64_t b_bytes, int64_t row_bytes, int64_t blocks)
{
	int64_t most = near_bytes(target, NEAR_results) / (row_bytes * c->tile.rows);
	if (c->panels == 1 || c->b_mode != B_PACKED || c->k_block || c->staging.transposed || c->pool.d
	        || !has_caches(target) || index_factor(c->out_at, c->column) != 1
	        || b_bytes > near_bytes(target, NEAR_again)
	        || 2 * blocks * c->tile.rows * row_bytes <= near_bytes(target, NEAR_all))
		return c->group;
	most = most < BLOCKS_ENOUGH ? BLOCKS_ENOUGH : most;
	c->memory.whole_rows = most < c->group;
	return c->memory.whole_rows ? ceil_div(blocks, ceil_div(blocks, most)) : c->group;
}

struct tiles_nest contraction_nest(const struct contraction *c)
{
	struct tiles_nest n = { c->rows ? c->extents[c->batches + c->rows - 1] : 1, c->extents[c->column],
		contraction_depth(c), extents_product(c->batches, c->extents), 1 };
	for (int r = 0; r + 1 < c->rows; r++)
		n.outer *= c->pool.d && r + 2 == c->rows ? pooled_rows(c) : c->extents[c->batches + r];
	return n;
}

/* What is packed at run time stays near whole, where two vectors are enough for that.  One row of b where it lies: the
 * longer its pieces, the less each jump to the next row costs, as long as there are panels for threads; 101 to 128 GB/s
 * with 768 rows of 3 KB, 77 to 115 of 12 KB. */
enum { PANELS_LEAST = 6 };
static int most_vecs(const struct target *target, const struct contraction *c, const struct tiles_nest *n)
{
	int most = VECS_MOST;
	if (!has_caches(target) || c->b->of->source == SOURCE_CONSTANT)
		return most;
	if (index_factor(c->b_at, c->column) == 1) {
		while (n->rows * n->outer == 1 && 2 * most <= VECS_ROW
		        && ceil_div(n->columns, 2 * most * target->lanes) >= PANELS_LEAST)
			most *= 2;
		return most;
	}
	while (most >= 2
	        && n->terms * most * target->lanes * product_bytes(c->product) > near_bytes(target, NEAR_gathered))
		most--;
	return most < 2 ? VECS_MOST : most;
}

/* What comes at run time is packed as b: cycles a vector, twice that where its columns are apart.  Measured. */
enum { PACKED_CYCLES = 4, PAGE = 4096 };
bool lines_crowd(const struct target *target, int64_t bytes, int64_t count)
{
	int64_t sets = bytes % PAGE ? PAGE / (bytes & -bytes) : 1;
	return bytes >= FAR && count > sets * (target->l1_bytes / PAGE);
}

struct steps contraction_terms(const struct target *target, const struct contraction *c)
{
	struct steps steps = { .terms = contraction_nest(c).terms,
		.floats = dtypes[c->root->type].class == CLASS_FLOAT,
		.registers = product_registers(c->product) };
	int row = contraction_row(c), inner = c->column + c->terms, bytes = product_bytes(c->product);
	if (!has_caches(target) || !c->terms)
		return steps;
	steps.a_far = index_factor(c->a_at, inner) * bytes >= FAR;
	steps.a_lines = row < 0 ? 0 : (double)imaxabs(index_factor(c->a_at, row)) * bytes / 64;
	steps.a_lines = steps.a_lines > 1 ? 1 : steps.a_lines;
	if (c->b->of->source != SOURCE_CONSTANT) {
		bool apart = index_factor(c->b_at, c->column) != 1;
		int64_t step = index_factor(c->b_at, inner) * bytes;
		steps.b_lines = apart || step < FAR ? 0 : lines_crowd(target, step, steps.terms) ? 3 : 1;
		steps.pack = (apart                                      ? 2 * PACKED_CYCLES
		                             : lies_far_apart(target, c) ? PACKED_CYCLES
		                                                         : 0)
		        * steps.registers;
		steps.pack_from = apart ? 1 : BLOCKS_PACKED;
	}
	return steps;
}

/* With a where it is, each term of a row of pixels is a line of its own, and each result has to be transposed: half a
 * cycle a result, and a tenth where planes are far apart.  Measured. */
static double nest_cycles(const struct target *target, const struct contraction *c)
{
	int rows, vecs;
	struct tiles_nest n = contraction_nest(c);
	struct steps steps = contraction_terms(target, c);
	double nests = (double)(n.batches * n.outer),
	       cycles = nests
	        * tile_choose(
	                target, target->registers, n.rows, n.columns, &steps, most_vecs(target, c, &n), &rows, &vecs);
	return c->roles.exchanged ? cycles
	                          : cycles * (steps.a_far ? 1.1 : 1) + 0.5 * nests * (double)(n.rows * n.columns);
}

/* Of a constant that is not packed all of it is kept, the weights of all phases for one of them: so much less time is
 * worth that. */
static const double WORTH_ALL = 0.6,
                    WORTH_SHORT = 0.85; /* a vector or two of taps or few terms take up to 1.2 times what is reckoned */
enum { TERMS_SHORT = 64 };
static bool reads_part(const struct contraction *c)
{
	int64_t read = 1;
	for (int v = 0; v <= c->column + c->terms; v++)
		read *= index_uses(c->a_at, v) ? c->extents[v] : 1;
	return c->a->of->source == SOURCE_CONSTANT && definition_elements(c->a->of) > read;
}

/* Where rows lie side by side in a and in the result (n c h w), lanes run along them where that takes less. */
static void choose_lanes(const struct lowered *lowered, struct contraction *c)
{
	const struct target *target = lowered->target;
	if (target->lanes < 4 || !has_caches(target))
		return;
	double before = nest_cycles(target, c);
	if (!contraction_exchange(lowered->target, lowered->arena, c))
		return;
	int64_t vecs = ceil_div(c->extents[c->column], target->lanes); /* of b, for so many of a */
	bool is_short = vecs <= 2 && (c->terms > 1 || contraction_nest(c).terms < TERMS_SHORT);
	double worth = reads_part(c) ? WORTH_ALL : is_short ? WORTH_SHORT : 1.01;
	if ((vecs == 1 && index_factor(c->b_at, c->column) != 1) || nest_cycles(target, c) > worth * before)
		contraction_exchange(lowered->target, lowered->arena, c);
}

/* Few rows are few sums beside the loop's own instructions; and what is fetched ahead comes by lines, of which a step
 * is a part: fetching a line in each step, most of them again and again, took a tenth of the time. */
enum { STEPS = 4, FEW_ROWS = 2, QUADS_MOST = 4 };
/* Of whole quads: as many as divide the term, and one where code is to be small.  A term whose end is none is unrolled. */
static int quad_steps(const struct target *target, int64_t inner)
{
	int quads = target->options.small ? 1 : QUADS_MOST;
	if (inner % TOGETHER_QUAD)
		return (int)inner;
	while (inner / TOGETHER_QUAD % quads)
		quads--;
	return quads * TOGETHER_QUAD;
}
int contraction_steps(const struct contraction *c, const struct target *target, int rows)
{
	int64_t inner = c->terms ? contraction_extent(c, c->terms - 1) : 1;
	if (codes_in_tile(c))
		return 32 / c->codes.bits;
	if (product_is_matrix(c->product))
		return product_is_of_groups(c->product) ? 1 : c->block.warps ? c->product->together : matrix_step(c);
	if (c->roles.ends_short || (target->options.small && c->root->type == DTYPE_F32))
		return 1;
	if (target->lanes == 1 && c->root->type != DTYPE_F32)
		rows = FEW_ROWS; /* what a loop takes is much beside multiply-adds of dwords */
	if (c->panel.quads)
		return quad_steps(target, inner);
	if (c->panel.bytes && inner % STEPS)
		return 2; /* that share a dword */
	return inner <= STEPS                                                      ? (int)inner
	        : (rows <= FEW_ROWS || c->memory.next_lines) && inner % STEPS == 0 ? STEPS
	                                                                           : 1;
}

/* What people read of it, and its template. */
static void say_tile(const struct lowered *lowered, struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	const struct target *target = lowered->target;
	kernel->blocks_of = c->split_panels
	        ? arena_printf(lowered->arena, "panels of up to %d columns", c->tile.vecs * target->lanes)
	        : arena_printf(lowered->arena, "blocks of up to %d rows",
	                c->tile.rows * (c->block.warps ? c->block.warps : 1));
	if (c->pool.d)
		kernel->blocks_of = "rows of the maximum";
	kernel->tile = c->block.warps
	        ? arena_printf(lowered->arena, "%d x %d x %d", c->block.warps * c->tile.rows,
	                c->tile.vecs * target->lanes, c->block.depth)
	        : arena_printf(lowered->arena, "%d x %d", c->tile.rows, c->tile.vecs * target->lanes);
	kernel->lanes = (struct kernel_lanes){ target->lanes, c->product->sum, false };
}

/* Its like for each of the other GPUs. */
static void choose_variants(struct lowered *lowered, struct kernel *kernel, int64_t rows, int sums)
{
	const struct target *target = lowered->target;
	struct target other = *target;
	if (!kernel->warps || !target->other_count)
		return;
	kernel->variants = arena_new_array(lowered->arena, struct kernel *, (size_t)target->other_count);
	FOR (i, target->other_count) {
		struct kernel *variant = arena_new(lowered->arena, struct kernel);
		struct contraction *c = arena_new(lowered->arena, struct contraction);
		*variant = *kernel;
		*c = *(const struct contraction *)kernel->detail;
		other.gpu = target->others[i];
		kernel->variants[i] = kernel;
		if (!block_resize(&other, c, sums))
			continue;
		c->row_blocks = ceil_div(rows, (int64_t)c->tile.rows * c->block.warps);
		variant->detail = c;
		variant->variants = NULL;
		variant->warps = c->block.warps;
		variant->blocks = c->row_blocks;
		say_tile(lowered, variant);
		kernel->variants[i] = variant;
	}
}

/* A call of the JIT's menu takes rows of several tiles: as many values as its other calls do. */
enum { CALL_VALUES = 2048 };
static int rows_of_call(const struct target *target, const struct contraction *c)
{
	int most = CALL_VALUES / (c->tile.vecs * target->lanes);
	return target->calls && !product_is_fma(c->product) && most > c->tile.rows ? most : c->tile.rows;
}

/* So many rows widen codes once, in front of them: measured, a tile that does takes a quarter longer (Zen 4) or nothing
 * (Zen 5) beside what 40 rows take; floats of 8 bits, twice the work, take 1.75 times float32's time of 32 rows in the
 * tile and 1.13 times in front of them. */
enum { CODES_APART = 48, FLOATS_APART = 12 };
void contraction_choose(struct lowered *lowered, struct kernel *kernel)
{
	struct contraction *c = kernel->detail;
	const struct target *target = lowered->target;
	matrix_choose(target, c);
	if (!product_is_matrix(c->product))
		choose_lanes(lowered, c);
	struct tiles_nest n = contraction_nest(c);
	c->codes.apart = c->codes.bits && !target->lanes_are_threads
	        && n.rows * n.outer >= (c->codes.exponent ? FLOATS_APART : CODES_APART)
	        && n.terms * VECS_MOST * target->lanes <= STACK_FLOATS;
	int64_t columns = n.columns, terms = n.terms, batches = n.batches, outer = n.outer, rows = n.rows,
	        bytes = product_bytes(c->product);
	int registers =
	        (target->dword_registers && c->root->type != DTYPE_F32 ? target->dword_registers : target->registers)
	                / product_registers(c->product)
	        - c->product->temporaries
	        - (codes_in_tile(c) ? target->registers / 4 : 0); /* scales, zero points, codes */
	int sums = sums_most(lowered, kernel);
	registers = registers - 2 > sums ? sums + 2 : registers; /* beside the sums a tile takes two at least */
	struct steps steps = contraction_terms(target, c);
	tile_choose(target, registers, rows, columns, &steps, most_vecs(target, c, &n), &c->tile.rows, &c->tile.vecs);
	if (c->product->together == TOGETHER_QUAD && target->exact.lanes
	        && columns >= TOGETHER_QUAD) { /* eight sums in registers; four columns are stored at once */
		c->tile.rows = rows > 1 ? 2 : 1;
		c->tile.vecs = TOGETHER_QUAD;
	}
	matrix_tile(target, c, rows, columns);
	spread(target, rows, columns, (double)batches * (double)outer, &c->tile.rows, &c->tile.vecs);
	fit_scratch(target, c, (double)terms, &c->tile.rows, &c->tile.vecs);
	c->tile.rows = rows_of_call(target, c);
	int64_t vecs = ceil_div(columns, target->lanes);
	if (block_choose(target, c, sums)) {
		rows *= outer;
		outer = 1;
	}
	kernel->warps = c->block.warps + c->block.boxed;
	c->row_blocks = ceil_div(rows, c->tile.rows * (c->block.warps ? c->block.warps : 1));
	c->panels = ceil_div(vecs, c->tile.vecs);
	c->tile.rows = c->block.warps ? c->tile.rows : (int)ceil_div(rows, c->row_blocks);
	c->tile.vecs = (int)ceil_div(vecs, c->panels);
	pool_by_panel(lowered, c, columns);
	/* Rows run in groups whose part of a stays in L2 while all panels pass; with one panel nothing comes back. */
	double a_bytes = (double)scheduled(c->a->of)->bytes / (double)batches / (double)(outer * c->row_blocks),
	       tile_bytes = (double)c->tile.rows * (double)terms * bytes;
	a_bytes = tile_bytes < a_bytes ? tile_bytes : a_bytes; /* strides skip part of a */
	int64_t blocks = outer * c->row_blocks;
	c->memory.a_block = a_bytes;
	int64_t k_blocked = k_block_rows(lowered->arena, target, c, &n);
	c->split_panels = (blocks < 2 || (c->roles.exchanged && c->panels > 1) || k_blocked) && !c->pool.d
	        && !c->block.warps; /* exchanged: each panel of b is packed once */
	c->b_mode = c->codes.apart                                ? B_GATHERED
	        : c->b->of->source == SOURCE_CONSTANT             ? B_PACKED
	        : !k_blocked && gathers(target, c, terms, blocks) ? B_GATHERED
	                                                          : B_DIRECT;
	choose_transposed_store(lowered, c);
	c->k_block = k_blocked ? k_blocked : k_block_of(lowered->arena, target, c, terms, blocks, a_bytes);
	if (c->b_mode == B_GATHERED && !(target->calls && index_factor(c->b_at, c->column) != 1)
	        && terms * c->tile.vecs * target->lanes * bytes
	                > STACK_FLOATS * 4) { /* no stack holds that, but a caller's: lanes read b where it is */
		c->b_mode = B_DIRECT;
		c->k_block = 0;
	}
	double a_part = c->k_block ? a_bytes * (double)c->k_block / (double)c->extents[c->column + 1] : a_bytes;
	int64_t groups = group_of(target, c, a_part);
	c->group = c->panels == 1 || groups >= blocks ? blocks
	        : groups < 1                          ? 1
	                                              : ceil_div(blocks, ceil_div(blocks, groups));
	c->group = group_of_results(target, c, columns * terms * bytes, columns * bytes, blocks);
	if (c->staging.transposed && c->group > c->staging.transposed / c->tile.rows)
		c->group = c->staging.transposed / c->tile.rows;
	packed_a_choose(target, c);
	c->split_panels |= panels_are_shared(target, c, batches * columns * terms * bytes, blocks);
	kernel->blocks = c->split_panels ? c->panels : c->pool.d ? outer : blocks;
	taps_choose(target, c);
	say_tile(lowered, kernel);
	keep_counts(c);
	if (c->b->of->source == SOURCE_CONSTANT)
		packed_b_choose(lowered, c, rows * outer, batches * terms);
	choose_variants(lowered, kernel, rows, sums);
}

const char *contraction_label(const struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	return c->pad_count || kernel->root->reduced > 1 + (c->codes.bits != 0) ? "convolution" : "contraction";
}

/* What b is widened by: scales, zero points. */
struct widening {
	struct lowered *lowered;
	struct kernel *kernel;
	const struct definition *b;
};
static void add_widening(void *user, const struct expr *load)
{
	const struct widening *w = user;
	if (load->of != w->b)
		kernel_add_read(w->lowered, w->kernel, load->of);
}

void contraction_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	kernel_add_reads(lowered, kernel, c->a);
	struct widening widening = { lowered, kernel, c->b->of };
	if (c->roles.widened && !c->codes.bits)
		expr_loads(c->roles.widened, add_widening, &widening);
	if (c->panel.packed)
		kernel_add_param(lowered->arena, kernel, c->panel.packed, false);
	else
		kernel_add_reads(lowered, kernel, c->b);
	kernel_add_reads(lowered, kernel, c->arranged.start);
	kernel_add_reads(lowered, kernel, c->arranged.value);
	contraction_add_counts(lowered, kernel);
	kernel_add_param(lowered->arena, kernel, contraction_output(c), true);
	if (c->beside.d) {
		kernel_add_reads(lowered, kernel, c->beside.stored);
		kernel_add_param(lowered->arena, kernel, c->beside.d, true);
	}
}

bool tiles_forced(const struct lowered *lowered)
{
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		const struct lowered *inside = kernel_inside(kernel);
		if (inside ? tiles_forced(inside)
		           : kernel->shape == SHAPE_CONTRACTION
		                        && ((const struct contraction *)kernel->detail)->tile.forced)
			return true;
	}
	return false;
}

int64_t contraction_tiles(const struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	int around = c->batches
	        + (c->rows && !c->block.warps ? c->rows - 1 : 0); /* batches, and rows around the innermost */
	return c->row_blocks * c->panels * extents_product(around, c->extents);
}
