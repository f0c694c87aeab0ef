/* block.c: a product by blocks of warps, whose tiles share a's rows and b's panel in shared memory, or by warps alone: which, and how large, from a
 * reckoning in cycles.
 *
 * A block of w warps, each with r rows by v vectors of sums, takes for each term, of the cycles that its multiprocessor has for it,
 *     max(w * r*v / 4  for the sums (or / 2, where the GPU has half as many multiply-adds),  w * (v + r/4)  from shared memory,  w * (r*v + v + r/4) / 4  to issue both),
 * and for (w*r + v*32) / 32 copies, of some eight instructions each, of which four go a cycle.  Each sum waits for itself, and for a chunk of them a block
 * takes no less than the latency of L2, which the next chunks need to arrive: where blocks are few, small ones with more chunks on their way.  With few
 * rows it is the weights that take the time: one warp for 32 columns, and as much of them on its way as shared memory holds.  A warp alone takes
 *     max(r*v / 4,  r + v  lines of L1,  v * 128 / 24  bytes of b from L2, which warps beside each other do not share),
 * and waits for that latency every other term.  All of it from public figures of the GPU (struct gpu_facts); nothing here is measured. */
#include "kernels/kernels.h"

enum { LEAST_TERMS = 32, FEW_ROWS = 8, FMA_WAIT = 4, LATENCY = 500, WAIT = 120, FILL = 1500, SHARED_BYTES = 160 << 10,
	COPY_INSTRUCTIONS = 8, WARPS_RESIDENT = 16 };

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Warps that multiply in a cycle. */
static double rate_of(const struct target *target) { return (double)target->gpu->fmas / target->lanes; }

/* Whole bytes of L2 in a cycle, for each multiprocessor. */
static double l2_of(const struct gpu_facts *gpu) { return (double)(int)(gpu->l2_rate / gpu->ghz / gpu->processors + 0.5); }

/* The cycles of a block's sums, and what bounds them. */
static struct reckoned block_cycles(const struct target *target, int64_t rows, int64_t vecs, double batches, double terms, const struct contraction *c)
{
	const struct gpu_facts *gpu = target->gpu;
	double w = c->warps, r = c->tile_rows, v = c->tile_vecs, blocks = (double)(ceil_div(rows, c->warps * c->tile_rows) * ceil_div(vecs, c->tile_vecs)) * batches;
	double shared = 4 * c->stages * (w * r * (double)(c->depth + 4) + c->depth * v * target->lanes), resident = (gpu->shared_bytes < SHARED_BYTES ? gpu->shared_bytes : SHARED_BYTES) / shared;
	resident = resident * w > WARPS_RESIDENT ? WARPS_RESIDENT / w : resident;
	double each = (double)ceil_div((int64_t)blocks, gpu->processors), rounds = (double)ceil_div((int64_t)each, (int64_t)resident);
	double loads = w * (v + r / 4), copies = (w * r / target->lanes + v) * COPY_INSTRUCTIONS / 4, latency = (double)LATENCY / (c->stages - 1) / c->depth;
	struct reckoned terms_of[] = { { each * (w * r * v / rate_of(target) + loads / 4 + copies), "multiply-adds and what is issued beside" }, { each * (loads + copies), "shared memory" },
		{ each * (w * r + v * target->lanes) * 4 / l2_of(gpu), "bytes from L2" }, { rounds * latency, "latency of L2" }, { rounds * FMA_WAIT, "sums that wait for themselves" } };
	struct reckoned most = terms_of[0];
	for (size_t i = 1; i < COUNT(terms_of); i++)
		most = terms_of[i].cycles > most.cycles ? terms_of[i] : most;
	most.cycles = most.cycles * terms + rounds * FILL;
	return most;
}

static double warp_cycles(const struct target *target, int64_t rows, int64_t vecs, double others, double terms, const struct contraction *c)
{
	double r = c->tile_rows, v = c->tile_vecs, tiles = (double)(ceil_div(rows, c->tile_rows) * ceil_div(vecs, c->tile_vecs)) * others;
	double each = (double)ceil_div((int64_t)tiles, target->gpu->processors), sums = r * v / rate_of(target), step = r + v > sums ? r + v : sums;
	double stream = v * target->lanes * 4 / l2_of(target->gpu);
	step = stream > step ? stream : step;
	double busy = each * step, wait = (double)ceil_div((int64_t)each, 2 * WARPS_RESIDENT) * WAIT;
	return (busy > wait ? busy : wait) * terms + FILL;
}

int64_t block_stage_floats(const struct contraction *c, int lanes)
{
	return c->stages * ((int64_t)c->warps * c->tile_rows * (c->depth + 4) + (int64_t)c->depth * (c->tile_vecs * lanes + 2));
}

bool block_choose(const struct target *target, struct contraction *c, int sums)
{
	static const struct { int warps, rows, vecs, depth, stages; } sizes[] = { { 8, 16, 4, 16, 2 }, { 8, 8, 4, 16, 2 }, { 8, 16, 2, 16, 2 },
		{ 8, 8, 2, 16, 2 }, { 4, 8, 2, 16, 2 }, { 4, 8, 1, 32, 3 }, { 4, 4, 1, 32, 4 }, { 4, 2, 1, 64, 4 }, { 4, 0, 1, 64, 4 } };
	int64_t rows = 1, vecs = ceil_div(c->extents[c->column], target->lanes), inner = c->rows ? c->extents[c->column - 1] : 1;
	double terms = 1, batches = 1, least;
	c->warps = c->depth = c->stages = 0;
	for (int v = 0; v < c->column + c->terms + 1; v++)
		if (v < c->batches)
			batches *= (double)c->extents[v];
		else if (v < c->column)
			rows *= c->extents[v];
		else if (v > c->column)
			terms *= (double)c->extents[v];
	if (!target->gpu || c->pool.d || (terms < LEAST_TERMS && !target->block_warps) || rows > INT32_MAX / 2 || terms > INT32_MAX / 2)
		return false;
	for (int v = c->batches; v < c->column; v++)
		if (c->start && expr_uses(c->start, v))
			return false;
	if (target->block_warps) {
		c->warps = target->block_warps;
		c->depth = sizes[0].depth;
		c->stages = sizes[0].stages;
		c->tile_vecs = sizes[0].vecs < vecs ? sizes[0].vecs : (int)vecs;
		c->tile_rows = (int)ceil_div(rows < c->warps * sizes[1].rows ? rows : c->warps * sizes[1].rows, c->warps);
		return true;
	}
	struct contraction best = *c, as = *c;
	/* Reckoned, not measured: a quarter less has to be in it. */
	double apart = warp_cycles(target, inner, vecs, batches * (double)(rows / inner), terms, c);
	least = 0.75 * apart;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		if (!sizes[i].rows && rows > FEW_ROWS)
			continue;
		as.warps = sizes[i].warps;
		as.depth = sizes[i].depth;
		as.stages = sizes[i].stages;
		as.tile_rows = sizes[i].rows ? sizes[i].rows : (int)ceil_div(rows, as.warps);
		as.tile_vecs = sizes[i].vecs < vecs ? sizes[i].vecs : (int)vecs;
		as.reckoned = block_cycles(target, rows, vecs, batches, terms, &as);
		if (as.reckoned.cycles < least && as.tile_rows * as.tile_vecs <= sums) {
			least = as.reckoned.cycles;
			best = as;
		}
	}
	*c = best;
	c->apart = apart;
	return c->warps;
}
