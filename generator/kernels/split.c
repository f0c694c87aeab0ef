/* split.c: a sum of products whose blocks would leave most of a GPU idle -> sums of parts of its terms, and a sum of
 * those, where a reckoning says that this takes less.
 *
 *     y = sum(k0 < 3, k1 < 512) a[.., k0, k1] * b[.., k0, k1]
 *     y.parts[.., i, j] = sum(k0 < 256) a[.., i, 256*j + k0] * b[.., i, 256*j + k0]
 *     y = y.parts[.., 0, 0] + y.parts[.., 0, 1] + y.parts[.., 1, 0] + …
 *
 * So does a maximum, or a result of integers, of very many terms, of which there are too few for a GPU: 64 of each part
 * go along the lanes that its order has (docs/architecture.md), so that of equal zeros the same one is kept.
 *
 *     y = max(t < 1000000) x[t]
 *     y.parts[p, l] = max(k < 64) x[4096*p + 64*k + l],   y = max(t < 15680) y.parts[t / 64, t % 64]
 *
 * Of what fragments multiply alone: sums of bytes are exact in any order, and those of rounded floats have an order of
 * their own.  A thread for each element adds the parts, and computes what would be the epilogue. */
#include "kernels/kernels.h"

enum { PARTS_MOST = 32, TERMS_LEAST = 32, LAUNCH_NS = 1000 };

/* Reduced axes before `axis`, and that one in `of_axis` parts. */
struct cut {
	int axis;
	int64_t of_axis, parts;
};

/* The kind of each output variable, and how many elements there are of it. */
struct nest {
	double batches;
	int64_t rows, columns, terms;
};
static struct nest nest_of(const struct definition *sum)
{
	struct nest n = { 1, 1, 1, definition_terms(sum) };
	int b = product_b(sum);
	const struct expr *const *factor = (const struct expr *const *)sum->body->arg;
	FOR (v, sum->rank)
		if (!expr_uses(factor[b], v))
			n.rows *= sum->extents[v];
		else if (!expr_uses(factor[1 - b], v))
			n.columns *= sum->extents[v];
		else
			n.batches *= (double)sum->extents[v];
	return n;
}

static double cycles_of(const struct target *target, const struct product *product, const struct nest *n, int64_t parts)
{
	double cycles = block_least(
	        target, product, n->rows, n->columns, n->batches * (double)parts, (double)(n->terms / parts));
	double bytes = parts > 1 ? 8. * (double)parts * n->batches * (double)(n->rows * n->columns) : 0;
	return cycles + (parts > 1 ? (LAUNCH_NS + bytes / target->gpu->l2_rate) * target->gpu->ghz : 0);
}

/* Can it be cut so?  Whole steps of what an instruction multiplies stay so. */
static bool can_cut(const struct product *product, const struct definition *sum, int r, int64_t each)
{
	int64_t extent = sum->reduced_extents[r], step = product->together;
	return extent % each == 0 && sum->rank + r + (each > 1) <= MAX_RANK
	        && (r < sum->reduced - 1 || extent % step || extent / each % step == 0);
}

static struct cut cut_of(const struct target *target, const struct product *product, const struct definition *sum)
{
	struct nest n = nest_of(sum);
	struct cut best = { 0, 1, 1 };
	double least = cycles_of(target, product, &n, 1);
	int64_t before = 1;
	for (int r = 0; r < sum->reduced; before *= sum->reduced_extents[r++])
		for (int64_t each = 1; each <= sum->reduced_extents[r]; each++) {
			struct cut cut = { r, each, before * each };
			if (cut.parts > PARTS_MOST || n.terms / cut.parts < TERMS_LEAST)
				break;
			double cycles =
			        can_cut(product, sum, r, each) ? cycles_of(target, product, &n, cut.parts) : least;
			if (cycles < least) {
				least = cycles;
				best = cut;
			}
		}
	return best;
}

/* The sum becomes a map: what it starts from, and its parts in their order. */
static void add_parts(struct arena *arena, struct definition *sum, struct definition *parts, int64_t count)
{
	const struct index *at[MAX_RANK];
	const struct expr *all = sum->start;
	FOR (p, count) {
		int64_t left = p;
		for (int v = parts->rank; v-- > sum->rank; left /= parts->extents[v])
			at[v] = index_constant(arena, left % parts->extents[v]);
		index_vars(arena, at, sum->rank, sum->extents);
		const struct expr *part = expr_load(arena, parts, at);
		all = all ? expr_scalar(arena, SCALAR_add, all, part, NULL) : part;
	}
	become_map(sum, all);
	sum->sum.pairs = false;
	sum->sum.factors = FACTORS_FLOAT32;
}

static void split(struct program *program, struct definition *sum, const struct cut *cut)
{
	struct arena *arena = program->arena;
	const struct index *with[MAX_VARS] = { 0 };
	int64_t extents[MAX_VARS], terms[MAX_RANK];
	int rank = sum->rank + cut->axis + (cut->of_axis > 1), count = 0;
	memcpy(extents, sum->extents, (size_t)sum->rank * sizeof *extents);
	FOR (r, sum->reduced) {
		int64_t extent = sum->reduced_extents[r], inner = extent / cut->of_axis;
		const struct index *part = index_var(arena, sum->rank + r, r < cut->axis ? extent : cut->of_axis);
		if (r < cut->axis || (r == cut->axis && cut->of_axis > 1))
			extents[sum->rank + r] = r < cut->axis ? extent : cut->of_axis;
		if (r < cut->axis) {
			with[sum->rank + r] = part;
			continue;
		}
		terms[count] = r > cut->axis ? extent : inner;
		with[sum->rank + r] = index_var(arena, rank + count, terms[count]);
		if (r == cut->axis && cut->of_axis > 1)
			with[sum->rank + r] = index_add(arena, index_scale(arena, part, inner), with[sum->rank + r]);
		count++;
	}
	size_t before = program->all.count;
	struct definition *parts = define_reduction(program, arena_printf(arena, "%s.parts", sum->name), rank, extents,
	        REDUCE_SUM, count, terms, NULL, expr_substitute(arena, sum->body, with));
	parts->sum.products = true;
	parts->sum.factors = sum->sum.factors;
	parts->sum.pairs = sum->sum.pairs;
	parts->order = ORDER_SERIAL;
	keep_origin(parts, sum);
	mark_batch(parts, sum->batch);
	scheduled(parts)->is_part = true;
	add_parts(arena, sum, parts, cut->parts);
	program_move(program, before, sum);
}

static bool is_counted(const struct definition *d)
{
	bool counted = definition_is_counted(d);
	FOR (v, MAX_RANK)
		counted |= d->count.ends[v] != NULL;
	return counted;
}

enum { LONG_TERMS = 1 << 17, CHECKED_TERMS = 1 << 14, PART_TERMS = 4096, LONG_PARTS_MOST = 1024 };
static bool is_long(const struct target *target, const struct definition *d)
{
	return d->source == SOURCE_COMPUTED && d->order == ORDER_LANES && d->rank + 2 <= MAX_RANK
	        && (d->reduce == REDUCE_MAX || d->reduce == REDUCE_MIN
	                || (d->reduce == REDUCE_SUM && dtypes[d->type].class != CLASS_FLOAT))
	        && !definition_scatters(d) && !d->lies && !is_counted(d)
	        && definition_terms(d) >= (d->check ? CHECKED_TERMS : LONG_TERMS)
	        && 4 * definition_elements(d) <= target->gpu->processors;
}

static void split_long(struct program *program, struct definition *d)
{
	struct arena *arena = program->arena;
	int64_t all = definition_terms(d), count = all / PART_TERMS, extents[MAX_RANK];
	count = count < LONG_PARTS_MOST ? count : LONG_PARTS_MOST;
	for (int64_t fewer = count; fewer > count / 2; fewer--)
		if (all % (fewer * LANE_TERMS) == 0) {
			count = fewer;
			break;
		}
	int64_t each = ceil_div(all, count * LANE_TERMS);
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	const struct index *term = index_add(arena, index_var(arena, d->rank + 1, LANE_TERMS),
	        index_add(arena, index_scale(arena, index_var(arena, d->rank, count), each * LANE_TERMS),
	                index_scale(arena, index_var(arena, d->rank + 2, each), LANE_TERMS)));
	index_unflatten(arena, term, d->reduced, d->reduced_extents, with + d->rank);
	const struct expr *body = expr_substitute(arena, d->body, with);
	if (each * count * LANE_TERMS > all)
		body = expr_select(
		        arena, &(struct range){ term, 0, all }, 1, body, reduce_start(arena, d->reduce, d->type));
	memcpy(extents, d->extents, sizeof extents);
	extents[d->rank] = count;
	extents[d->rank + 1] = LANE_TERMS;
	size_t before = program->all.count;
	struct definition *parts = define_reduction(program, arena_printf(arena, "%s.parts", d->name), d->rank + 2,
	        extents, d->reduce, 1, &each, NULL, body);
	keep_origin(parts, d);
	mark_batch(parts, d->batch);
	chain_terms(parts);
	d->reduced = 2;
	d->reduced_extents[0] = count;
	d->reduced_extents[1] = LANE_TERMS;
	index_vars(arena, at, d->rank + 2, extents);
	d->body = expr_load(arena, parts, at);
	program_move(program, before, d);
}

void split_terms(struct program *program, const struct target *target)
{
	for (size_t i = 0; target->gpu && i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		if (is_long(target, d)) {
			split_long(program, d);
			i = (size_t)d->number;
			continue;
		}
		const struct product *lane = product_of(target, d),
		                     *matrix = lane ? product_of_matrix(target, lane, d) : NULL;
		if (!matrix || is_counted(d) || program_rewrite(program, d) || product_b(d) < 0)
			continue;
		struct cut cut = cut_of(target, matrix, d);
		if (cut.parts == 1)
			continue;
		split(program, d, &cut);
		i = (size_t)d->number;
	}
}
