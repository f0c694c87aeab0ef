/* block.c: a product by blocks of warps, whose tiles share a's rows and b's panel in shared memory, or by warps alone:
 * which, and how large, from a
 * reckoning in cycles.
 *
 * A block of w warps, each with r rows by v vectors of sums, takes for each term, of the cycles that its multiprocessor
 * has for it,
 *     max(w * r*v / 4  for the sums (or / 2, where the GPU has half as many multiply-adds),  w * (v + r/2)  from shared
 *                      memory, where 16 bytes for all lanes are two requests,  w * (r*v + v + r/4) / 4  to issue both),
 * and for (w*r + v*32) / 32 copies, of some eight instructions each, of which four go a cycle.  A warp issues one
 * instruction a cycle, however few there are beside it.  Each sum waits for
 * itself, and for a chunk of them a block
 * takes no less than the latency of L2, which the next chunks need to arrive: where blocks are few, small ones with
 * more chunks on their way.  With few
 * rows it is the weights that take the time: one warp for 32 columns, and as much of them on its way as shared memory
 * holds.  A warp alone takes
 *     max(r*v / 4,  r + v  lines of L1,  v * 128 / 24  bytes of b from L2, which warps beside each other do not share),
 * and waits for that latency every other term.
 * Where an instruction multiplies fragments (products.c), a term is a dword of them; eight terms are
 *     max(m16n8 products, at the rate of struct gpu_facts,  w * (4 * r/16 + 8*v)  requests to shared memory,
 *         w * (r/16 * 4*v + r/16 + 8*v) / 4  to issue),
 * and a warp waits for its fragments, some 10 cycles for a term and 3 for each vector (by the loop's instructions).
 * A warpgroup's instruction reads both factors from shared memory itself, four warps one b:  w * (r + 8*v) / 32
 * requests, and nothing to issue that counts.
 * All of it from public figures of the GPU (struct gpu_facts); nothing
 * here is measured. */
#include "kernels/kernels.h"
#include <math.h>

enum {
	LEAST_TERMS = 32,
	FEW_ROWS = 8,
	FMA_WAIT = 4,
	LATENCY = 500,
	WAIT = 120,
	LOAD_WAIT = 10,
	VECTOR_WAIT = 3,
	FILL = 1500,
	SHARED_BYTES = 160 << 10,
	COPY_INSTRUCTIONS = 8,
	WARPS_RESIDENT = 16,
	DEEPER = 4
};

/* Warps that multiply in a cycle. */
static double rate_of(const struct target *target) { return (double)target->gpu->fmas / target->lanes; }

/* Bytes of an element of b in a chunk: some weights are widened behind shared memory, by a shift and a few words. */
static double b_bytes(const struct contraction *c)
{
	return c->codes.bits ? 4.0 * (double)codes_chunk(c) / c->block.depth : c->roles.widened ? 2 : 4;
}
enum { CODE_WORDS = 3, CODES_SUMS = 32 };

/* Whole bytes of L2 in a cycle, for each multiprocessor. */
static double l2_of(const struct gpu_facts *gpu)
{
	return (double)(int)(gpu->l2_rate / gpu->ghz / gpu->processors + 0.5);
}

/* What a warp takes for a term: cycles of its multiprocessor to multiply and to issue, and, alone there, of its own;
 * requests to shared memory; instructions to copy what 32 lanes hold of a term. */
struct issued {
	double cycles, alone, requests, copy;
};
static struct issued issued_of(const struct target *target, const struct contraction *c)
{
	double r = c->tile.rows, v = c->tile.vecs, loads = c->codes.bits ? v * c->codes.bits / 32 : v,
	       issue = loads + r / 4 + (c->codes.bits ? CODE_WORDS * v : 0);
	const struct product *p = c->product;
	if (!product_is_of_warps(p))
		return (struct issued){ r * v / rate_of(target) + issue / 4, r * v + issue, loads + r / 2,
			COPY_INSTRUCTIONS };
	if (product_is_of_groups(p))
		return (struct issued){ 4 * r * v * target->lanes / target->gpu->group_dot8s, 0,
			r / target->lanes + v / 4, c->block.boxed ? 0 : (double)COPY_INSTRUCTIONS / 4 };
	double parts = r / p->m, columns = v * target->lanes / p->n, terms = p->together,
	       sums = 4 * r * v * target->lanes / target->gpu->dot8s;
	loads = (parts + 2 * columns) / terms;
	issue = (parts * columns / terms + loads) / 4;
	return (struct issued){ sums > issue ? sums : issue, 4 * sums + loads + LOAD_WAIT + VECTOR_WAIT * v,
		(4 * parts + 2 * columns) / terms, (double)COPY_INSTRUCTIONS / 4 };
}

/* The cycles of a block's sums, and what bounds them. */
static struct reckoned block_cycles(const struct target *target, int64_t rows, int64_t vecs, double batches,
        double terms, const struct contraction *c)
{
	const struct gpu_facts *gpu = target->gpu;
	double w = c->block.warps, r = c->tile.rows, v = c->tile.vecs,
	       blocks =
	               (double)(ceil_div(rows, c->block.warps * c->tile.rows) * ceil_div(vecs, c->tile.vecs)) * batches;
	double shared = c->block.stages
	        * (4 * w * r * (double)(c->block.depth + 4) + b_bytes(c) * c->block.depth * v * target->lanes),
	       resident = (gpu->shared_bytes < SHARED_BYTES ? gpu->shared_bytes : SHARED_BYTES) / shared;
	resident = resident * w > WARPS_RESIDENT ? WARPS_RESIDENT / w : resident < 1 ? 1 : resident;
	double each = (double)ceil_div((int64_t)blocks, gpu->processors),
	       rounds = (double)ceil_div((int64_t)each, (int64_t)resident);
	struct issued one = issued_of(target, c);
	double requests = w * one.requests,
	       copies = (w * r / target->lanes + (c->codes.bits ? v * b_bytes(c) / 4 : v)) * one.copy / 4,
	       alone = one.alone + 4 * copies / w, latency = (double)LATENCY / (c->block.stages - 1) / c->block.depth;
	struct reckoned terms_of[] = { { each * (w * one.cycles + copies), "multiply-adds and what is issued beside" },
		{ each * (requests + copies), "shared memory" }, { rounds * alone, "what one warp issues" },
		{ each * (4 * w * r + b_bytes(c) * v * target->lanes) / l2_of(gpu), "bytes from L2" },
		{ rounds * latency, "latency of L2" }, { rounds * FMA_WAIT, "sums that wait for themselves" } };
	struct reckoned most = terms_of[0];
	for (size_t i = 1; i < COUNT(terms_of); i++)
		most = terms_of[i].cycles > most.cycles ? terms_of[i] : most;
	most.cycles = most.cycles * terms + rounds * FILL;
	return most;
}

static double warp_cycles(const struct target *target, int64_t rows, int64_t vecs, double others, double terms,
        const struct contraction *c)
{
	double r = c->tile.rows, v = c->tile.vecs, bytes = c->codes.bits ? c->codes.bits / 8.0 : 4,
	       tiles = (double)(ceil_div(rows, c->tile.rows) * ceil_div(vecs, c->tile.vecs)) * others;
	double each = (double)ceil_div((int64_t)tiles, target->gpu->processors),
	       sums = r * v / rate_of(target) + (c->codes.bits ? CODE_WORDS * v / 4 : 0),
	       step = r + v > sums ? r + v : sums;
	double stream = v * target->lanes * bytes / l2_of(target->gpu);
	step = stream > step ? stream : step;
	double busy = each * step, wait = (double)ceil_div((int64_t)each, 2 * WARPS_RESIDENT) * WAIT;
	return (busy > wait ? busy : wait) * terms + FILL;
}

int64_t block_stage_floats(const struct contraction *c, int lanes)
{
	return c->block.stages
	        * ((int64_t)c->block.warps * c->tile.rows * (c->block.depth + 4)
	                + (int64_t)(c->block.depth * (c->tile.vecs * lanes + 2) * b_bytes(c) / 4));
}

static const struct size {
	int warps, rows, vecs, depth, stages;
} sizes[] = { { 8, 16, 4, 16, 2 }, { 8, 8, 4, 16, 2 }, { 8, 8, 4, 32, 3 }, { 8, 16, 2, 16, 2 }, { 8, 8, 2, 16, 2 },
	{ 4, 8, 2, 16, 2 }, { 4, 8, 1, 32, 3 }, { 4, 4, 1, 32, 4 }, { 4, 2, 1, 64, 4 }, { 4, 0, 1, 64, 4 } };
static const struct size fragments[] = { { 8, 32, 4, 16, 4 }, { 4, 32, 4, 16, 4 }, { 4, 32, 2, 16, 4 },
	{ 4, 16, 4, 16, 4 }, { 4, 16, 2, 16, 4 }, { 4, 16, 1, 16, 4 }, { 2, 16, 1, 32, 4 } };
/* Of warpgroups: terms fill rows of 128 bytes, and a product is on its way behind the chunk that is copied. */
static const struct size groups[] = { { 8, 16, 8, 32, 4 }, { 8, 16, 4, 32, 4 }, { 4, 16, 4, 32, 4 },
	{ 4, 16, 2, 32, 4 } };
_Static_assert(COUNT(sizes) <= BLOCK_CHOICES_MOST && COUNT(fragments) <= BLOCK_CHOICES_MOST, "room for each");

/* The sizes that its product can have; NULL: no more. */
static const struct size *size_at(const struct contraction *c, size_t i)
{
	if (product_is_of_groups(c->product))
		return i < COUNT(groups) ? &groups[i] : NULL;
	if (c->product->parts == MATRIX_FRAGMENTS)
		return i < COUNT(fragments) ? &fragments[i] : NULL;
	return product_is_fma(c->product) && i < COUNT(sizes) ? &sizes[i] : NULL;
}

/* Rows of all loops, columns in vectors. */
struct extent {
	int64_t rows, vecs;
	double batches, terms;
};
static struct extent extent_of(const struct target *target, const struct contraction *c)
{
	struct extent p = { 1, ceil_div(c->extents[c->column], target->lanes), 1, 1 };
	FOR (v, c->column + c->terms + 1)
		if (v < c->batches)
			p.batches *= (double)c->extents[v];
		else if (v < c->column)
			p.rows *= c->extents[v];
		else if (v > c->column)
			p.terms *= (double)c->extents[v];
	return p;
}

/* The contraction by blocks of that size, and what it takes; false: the size is not for so many rows, or for GPUs with
 * more shared memory. */
static bool block_of(
        const struct target *target, const struct extent *p, const struct size *size, struct contraction *as)
{
	if (!size->rows && p->rows > FEW_ROWS)
		return false;
	as->block.warps = size->warps;
	as->block.depth = size->depth;
	if (size->rows <= 2) /* as many bytes of weights on their way */
		as->block.depth *= as->codes.bits ? DEEPER : 4 / b_bytes(as);
	as->block.stages = size->stages;
	as->tile.rows = size->rows ? size->rows : (int)ceil_div(p->rows, as->block.warps);
	as->tile.vecs = size->vecs < p->vecs ? size->vecs : (int)p->vecs;
	if (as->codes.bits && (!codes_chunk(as) || as->tile.rows * as->tile.vecs > CODES_SUMS))
		return false;
	if (4 * block_stage_floats(as, target->lanes) > target->gpu->block_bytes)
		return false;
	as->block.reckoned = block_cycles(target, p->rows, p->vecs, p->batches, p->terms, as);
	return true;
}

double block_least(const struct target *target, const struct product *product, int64_t rows, int64_t columns,
        double batches, double terms)
{
	struct extent p = { rows, ceil_div(columns, target->lanes), batches, terms };
	struct contraction as = { .product = product };
	const struct size *size;
	double least = INFINITY;
	for (size_t i = 0; (size = size_at(&as, i)); i++)
		if (block_of(target, &p, size, &as) && as.block.reckoned.cycles < least)
			least = as.block.reckoned.cycles;
	return least;
}

/* As it is printed, with balanced panels. */
static struct block_tile tile_of(const struct target *target, const struct extent *p, const struct contraction *as)
{
	int64_t panels = ceil_div(p->vecs, as->tile.vecs);
	return (struct block_tile){ as->block.warps * as->tile.rows, (int)ceil_div(p->vecs, panels) * target->lanes,
		as->block.depth };
}

static bool same_tile(struct block_tile a, struct block_tile b)
{
	return a.rows == b.rows && a.columns == b.columns && a.terms == b.terms;
}

int block_choices(const struct target *target, const struct contraction *c, struct block_choice *all)
{
	struct extent p = extent_of(target, c);
	struct contraction as = *c;
	const struct size *size;
	int count = 0;
	for (size_t i = 0; (size = size_at(c, i)); i++) {
		if (!block_of(target, &p, size, &as))
			continue;
		struct block_choice one = { tile_of(target, &p, &as), as.block.reckoned.cycles };
		int at = 0;
		while (at < count && !same_tile(all[at].tile, one.tile))
			at++;
		if (at == count)
			all[count++] = one;
	}
	return count;
}

/* By --tile; false: it cannot have that. */
static bool choose_forced(const struct target *target, const struct extent *p, int sums, struct contraction *c)
{
	struct contraction as = *c;
	const struct size *size;
	if (target->options.tile.rows < 0)
		return c->tile.forced = true;
	for (size_t i = 0; !c->tile.forced && (size = size_at(c, i)); i++)
		if (block_of(target, p, size, &as) && as.tile.rows * as.tile.vecs <= sums
		        && same_tile(tile_of(target, p, &as), target->options.tile)) {
			*c = as;
			c->tile.forced = true;
		}
	return c->tile.forced;
}

static bool choose_size(const struct target *target, struct contraction *c, int sums)
{
	struct extent p = extent_of(target, c);
	c->block.warps = c->block.depth = c->block.stages = 0;
	if (!target->gpu || c->pool.d || (p.terms * c->product->k < LEAST_TERMS && !target->share.warps)
	        || p.rows > INT32_MAX / 2 || p.terms > INT32_MAX / 2)
		return false;
	for (int v = c->batches; v < c->column; v++)
		if (c->arranged.start && expr_uses(c->arranged.start, v))
			return false;
	if (target->share.warps) {
		c->block.warps = target->share.warps;
		c->block.depth = sizes[0].depth;
		if (c->codes.bits && !codes_chunk(c)) {
			c->block.warps = 0;
			return false;
		}
		c->block.stages = sizes[0].stages;
		c->tile.vecs = sizes[0].vecs < p.vecs ? sizes[0].vecs : (int)p.vecs;
		c->tile.rows =
		        (int)ceil_div(p.rows < c->block.warps * sizes[1].rows ? p.rows : c->block.warps * sizes[1].rows,
		                c->block.warps);
		return true;
	}
	/* Reckoned, not measured: a quarter less has to be in it.  Who multiplies floats by fragments is part of their
	 * bits: not so few rows that lanes would be faster. */
	bool always = product_is_matrix(c->product) && c->root->type == DTYPE_F32;
	int64_t inner = c->rows ? c->extents[c->column - 1] : 1;
	double apart = warp_cycles(target, inner, p.vecs, p.batches * (double)(p.rows / inner), p.terms, c),
	       least = always   ? INFINITY
	        : c->codes.bits ? apart
	                        : 0.75 * apart;
	struct contraction best = *c, as = *c;
	const struct size *size;
	for (size_t i = 0; (size = size_at(c, i)); i++)
		if (block_of(target, &p, size, &as) && as.block.reckoned.cycles < least
		        && as.tile.rows * as.tile.vecs <= sums) {
			least = as.block.reckoned.cycles;
			best = as;
		}
	c->block.apart = apart;
	if (target->options.tile.rows && choose_forced(target, &p, sums, c))
		return c->block.warps;
	*c = best;
	c->block.apart = apart;
	return c->block.warps;
}

/* Panels stay as they are: weights are packed once. */
bool block_resize(const struct target *target, struct contraction *c, int sums)
{
	struct extent p = extent_of(target, c);
	struct contraction as = *c, best = *c;
	const struct size *size;
	bool found = false;
	for (size_t i = 0; (size = size_at(c, i)); i++)
		if (block_of(target, &p, size, &as) && as.tile.rows * as.tile.vecs <= sums
		        && tile_of(target, &p, &as).columns == c->tile.vecs * target->lanes
		        && (!found || as.block.reckoned.cycles < best.block.reckoned.cycles)) {
			best = as;
			found = true;
		}
	found &= best.block.warps != c->block.warps || best.tile.rows != c->tile.rows
	        || best.block.depth != c->block.depth || best.block.stages != c->block.stages;
	best.tile.vecs = c->tile.vecs;
	*c = found ? best : *c;
	return found;
}

/* How many neighbours of `along` are neighbours in memory, four by four or two by two: every other step is a multiple
 * of that. */
enum { QUAD = 4 };
static int together_at(const struct contraction *c, const struct definition *of, const struct index *at, int along)
{
	if (scheduled(of)->odd || along < 0 || index_factor(at, along) != 1)
		return 1;
	int64_t all = c->extents[along] | at->constant;
	for (int v = 0; v <= c->column + c->terms; v++)
		all |= v != along ? index_factor(at, v) : 0;
	return all % QUAD == 0 ? QUAD : all % 2 == 0 ? 2 : 1;
}

int block_b_together(const struct contraction *c, int along) { return together_at(c, c->b->of, c->b_at, along); }

int block_a_together(const struct contraction *c)
{
	int inner = c->column + c->terms;
	FOR (i, c->pad_count)
		if (index_uses(c->arranged.pads[i].at, inner))
			return 1;
	return together_at(c, c->a->of, c->a_at, inner);
}

/* By a warpgroup's instruction, where both factors come by quads along the terms, and it takes less than fragments. */
static bool choose_groups(const struct target *target, struct contraction *c, int sums)
{
	struct contraction warps = *c, as = *c;
	struct tensor_box a, b;
	int inner = c->column + c->terms;
	bool quads = c->terms && block_a_together(c) == QUAD
	        && (c->b->of->source == SOURCE_CONSTANT ? c->extents[inner] % QUAD == 0
	                                                : block_b_together(c, inner) == QUAD);
	c->product = warps.product = product_of_warp(c->product);
	as.block.boxed = find_boxes(target, c, &a, &b);
	if (target->share.warps || !quads || !choose_size(target, &as, sums)
	        || (choose_size(target, &warps, sums) && !as.tile.forced
	                && (warps.tile.forced || warps.block.reckoned.cycles < as.block.reckoned.cycles)))
		return false;
	*c = as;
	return true;
}

/* Fragments are a block's alone, and of no kernel that joins several. */
bool block_choose(const struct target *target, struct contraction *c, int sums)
{
	if (product_is_of_groups(c->product) && choose_groups(target, c, sums))
		return true;
	bool fragments = c->product->parts == MATRIX_FRAGMENTS;
	if (fragments && !target->share.warps && choose_size(target, c, sums))
		return true;
	if (fragments)
		c->product = product_of(target, c->root);
	return (!fragments || target->share.warps) && choose_size(target, c, sums);
}
