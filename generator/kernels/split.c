/* split.c: a sum of products whose blocks would leave most of a GPU idle -> sums of parts of its terms, and a sum of
 * those, where a reckoning says that this takes less.
 *
 *     y = sum(k0 < 3, k1 < 512) a[.., k0, k1] * b[.., k0, k1]
 *     y.parts[.., i, j] = sum(k0 < 256) a[.., i, 256*j + k0] * b[.., i, 256*j + k0]
 *     y = y.parts[.., 0, 0] + y.parts[.., 0, 1] + y.parts[.., 1, 0] + …
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
	parts->branch = sum->branch;
	parts->node = sum->node;
	mark_batch(parts, sum->batch);
	scheduled(parts)->is_part = true;
	add_parts(arena, sum, parts, cut->parts);
	program_move(program, before, sum);
}

static bool is_counted(const struct definition *d)
{
	bool counted = false;
	FOR (v, MAX_RANK)
		counted |= d->count.of[v] || d->count.ends[v] || d->count.reduced[v];
	return counted;
}

void split_terms(struct program *program, const struct target *target)
{
	for (size_t i = 0; target->gpu && i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
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
