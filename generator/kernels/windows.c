/* windows.c: reductions over windows of many taps -> the same over data with their pads, and maxima axis by axis.
 *
 * A window that reaches into pads asks at each tap whether it is there.  Where taps are loops that question stays
 * innermost, and no lane can run along the image.  So what many taps read is stored with its pads: the terms are the
 * same, and so is every bit.
 *
 * So is what convolutions with few results a place read that col2im.c leaves: they are products whose columns are
 * places.  Of a depthwise sum along channels rows of taps in the pads are skipped, where what they add is known to be +0.
 * A caller's picture that a product reads by pairs, in rows that leave lanes idle, or by steps of three and more, for
 * many results, is stored as patches side by side.
 *
 * A maximum over several axes is one along the last axis, then one along the axis before.  The first of equals in
 * row-major order is the first of its row, in the first row that has it, and a NaN never wins, so every bit stays.
 * Many taps become two steps, 13 of them 4 of 4 at a distance of 3; windows of one tensor share the last axis: 13 taps
 * are two of 9 at a distance of 4, and 9 are two of 5.
 *
 * Where callers have planes with rows that fill few lanes, what a depthwise sum of many taps reads is transposed by
 * blocks of channels, so that lanes run along those of a block, and its results are transposed back:
 *
 *     y[c, h] = sum(k < 31) x[c, h + k - 15] * w[c, k]
 *     x_blocks[b, h, c] = x[16*b + c, h],  y_blocks[b, h, c] = sum(k < 31) x_blocks[b, h + k - 15, c] * w[16*b + c, k],
 *     y[b, c, h] = y_blocks[b, h, c] */
#include "kernels/kernels.h"
#include <stdlib.h>

enum {
	TAPS_STRAIGHT = 16, /* of a window that unroll.c makes a straight line */
	TAPS_MOST = 12,     /* of one step along an axis */
	WIDER_MOST = 6,     /* times the larger of data and result: with its pads */
	TAPS_BARE = 6,      /* of a step that asks at each tap whether it is there */
	PASS_COST = 3,      /* of a store and a load, in taps */
	BLOCK_VECS = 4,     /* of the channels of a block, at most */
	SKIPPED_LEAST = 6,  /* a part of all taps that lie in pads of an axis, so that each asks where it begins */
	CHANNELS_FEW = 8,   /* of a product's tap: of more, tiles leave out those in the pads (taps.c) */
};
/* Half cycles: of a tap along rows, whose vectors lie across lines of the cache, where results of several rows share what
 * they load, and where they do not; for each step more from one result to the next; of a tap along channels; of a lane
 * of a vector that is transposed. */
static const double ROW_TAP = 1.65, ROW_TAP_ALONE = 2.4, ROW_STEP = 2.2, BLOCK_TAP = 1.25, TRANSPOSED = 0.5;
static const double PATCH_FILLED = 0.9; /* of the lanes of rows, at most, so that patches pay */
/* For each term, so that results in planes are more than patches; shorter vectors than a line write to planes that lie
 * pages apart what L1 does not keep till the line is full: 18 and 33 us. */
enum { PATCH_COLUMNS = 3, WHOLE_LINE = 16, PAGE = 4096 };

/* Along an axis of the data: place stride * variable + dilation * tap - before. */
struct along {
	int variable, tap; /* tap: -1: no window runs along it */
	int group;         /* the term that runs along the channels of a group, all of which are there; or -1 */
	int64_t stride, dilation, before, taps, results, extent;
};
enum way { AS_IT_IS, WITH_PADS, BY_BLOCKS, AXIS_BY_AXIS, IN_PATCHES };
struct window {
	enum way way; /* how it will be computed */
	int channels; /* by blocks: along which axis */
	struct definition *d;
	const struct expr *padded, *load; /* load, or a select around it */
	struct along along[MAX_RANK];     /* of the data */
	bool sums;                        /* products of channels, too, all of them */
	bool alone; /* the axes of data and result are each other's, and no other variable is in an index */
};
struct windows {
	struct program *program;
	struct arena *arena;
	VECTOR(struct window) all;
	int lanes;
};

/* ---- which are windows ---- */
static int64_t taps_of(const struct window *w)
{
	int64_t taps = 1;
	FOR (v, w->load->rank)
		taps *= w->along[v].tap < 0 ? 1 : w->along[v].taps;
	return taps;
}

/* Places from the first tap of the first window to the last tap of the last one. */
static int64_t reach_of(const struct along *a)
{
	return a->stride * (a->results - 1) + a->dilation * (a->taps - 1) + 1;
}

static bool reads_pads(const struct along *a)
{
	return a->tap >= 0 && (a->before > 0 || reach_of(a) - a->before > a->extent);
}

static bool is_sum_of_variables(const struct index *at)
{
	FOR (i, at->count)
		if (at->terms[i].atom->kind != ATOM_VAR)
			return false;
	return true;
}

static bool match_axis(const struct definition *d, const struct index *at, struct along *a, bool *sums)
{
	int64_t low, high;
	int var;
	a->variable = a->tap = a->group = -1;
	FOR (r, d->reduced)
		if (index_uses(at, d->rank + r))
			a->tap = d->rank + r;
	index_range(at, &low, &high);
	bool all = d->sum.products && a->tap >= 0 && a->extent > 1 && index_is_var(at, &var)
	        && d->reduced_extents[var - d->rank] == a->extent;
	if (all || (a->tap >= 0 && low >= 0 && high < a->extent && !is_sum_of_variables(at))) {
		a->group = a->tap;
		a->tap = -1;
	}
	*sums |= all;
	if (a->tap < 0)
		return true;
	a->dilation = index_factor(at, a->tap);
	a->taps = d->reduced_extents[a->tap - d->rank];
	a->before = -at->constant;
	a->results = a->stride = 1;
	FOR (i, at->count) {
		const struct index_term *term = &at->terms[i];
		if (term->atom->kind != ATOM_VAR || term->factor < 1
		        || (term->atom->var >= d->rank && term->atom->var != a->tap)
		        || (term->atom->var < d->rank && a->variable >= 0))
			return false;
		if (term->atom->var < d->rank) {
			a->variable = term->atom->var;
			a->stride = term->factor;
			a->results = d->extents[a->variable];
		}
	}
	return a->before >= 0 && !(d->sum.products && a->variable < 0 && a->taps > 1);
}

/* Does a tap move it together with another variable? */
static bool slides(const struct window *w, const struct expr *load)
{
	for (int v = 0; load->kind == EXPR_LOAD && v < load->rank; v++)
		for (int r = 0; load->at[v]->count > 1 && r < w->d->reduced; r++)
			if (index_uses(load->at[v], w->d->rank + r))
				return true;
	return false;
}

/* The one load that slides, with the select around it. */
static enum visit find_padded(void *user, const struct expr *expr)
{
	struct window *w = user;
	const struct expr *load = expr->kind == EXPR_SELECT && expr->arg[1]->kind == EXPR_NUMBER ? expr->arg[0] : expr;
	if (!slides(w, load))
		return VISIT_PARTS;
	if (w->padded && w->padded != expr) {
		w->padded = NULL;
		return VISIT_END;
	}
	w->padded = expr;
	w->load = load;
	return VISIT_PAST;
}

/* Each range is an axis' pads, and each axis that reaches into pads has its range: another select around it may keep
 * it out of them, as that of a zero point that comes at run time does. */
static bool pads_are_ranges(const struct window *w)
{
	FOR (v, w->load->rank) {
		bool asked = !reads_pads(&w->along[v]);
		for (int i = 0; w->padded != w->load && i < w->padded->range_count; i++)
			asked |= index_equal(w->padded->ranges[i].at, w->load->at[v]);
		if (!asked)
			return false;
	}
	for (int i = 0; w->padded != w->load && i < w->padded->range_count; i++) {
		const struct range *range = &w->padded->ranges[i];
		bool own = false;
		FOR (v, w->load->rank)
			own |= w->along[v].tap >= 0 && range->from == 0 && range->to == w->along[v].extent
			        && index_equal(range->at, w->load->at[v]);
		if (!own)
			return false;
	}
	return true;
}

/* Columns of a product of matrices: what some variable moves in the weights alone. */
static int64_t columns_of(const struct window *w)
{
	int64_t columns = 1;
	FOR (v, w->d->rank)
		if (w->d->sum.products && expr_uses(w->d->body, v) && !expr_uses(w->padded, v))
			columns *= w->d->extents[v];
	return columns;
}
static bool has_columns(const struct window *w) { return columns_of(w) > 1; }

/* Too few to fill vectors: those run along the rows of the image, which is read as it lies, with its pads. */
static bool has_few_columns(const struct windows *ws, const struct window *w)
{
	const struct along *row = &w->along[w->load->rank - 1];
	return !has_columns(w)
	        || (w->sums && columns_of(w) <= ws->lanes * 3 / 4 && row->tap >= 0 && row->stride <= 2
	                && row->results >= ws->lanes);
}

static bool match(struct definition *d, struct window *w)
{
	*w = (struct window){ .d = d, .alone = true };
	if (d->source != SOURCE_COMPUTED || (d->reduce != REDUCE_SUM && d->reduce != REDUCE_MAX) || d->check
	        || definition_stands_alone(d) || definition_terms(d) <= 1 || definition_elements(d) == 0)
		return false;
	if (expr_visit(d->body, find_padded, w) || !w->padded || w->load->of->source == SOURCE_CONSTANT
	        || definition_elements(w->load->of) == 0)
		return false;
	uint64_t taps = 0, channels = 0;
	w->alone = w->load->rank == d->rank;
	FOR (v, w->load->rank) {
		struct along *a = &w->along[v];
		a->extent = w->load->of->extents[v];
		if (!match_axis(d, w->load->at[v], a, &w->sums) || (a->tap >= 0 && taps & var_bit(a->tap)))
			return false;
		if (a->tap >= 0)
			taps |= var_bit(a->tap);
		if (a->group >= 0)
			channels |= var_bit(a->group);
		if (!w->alone)
			continue;
		bool fixed = d->extents[v] == 1 && (a->tap >= 0 ? a->variable < 0 : a->extent == 1);
		w->alone = fixed
		        || (a->tap >= 0 ? a->variable == v : d->extents[v] == a->extent && index_is(w->load->at[v], v));
	}
	FOR (r, d->reduced)
		if (d->reduced_extents[r] > 1 && !((taps | channels) & var_bit(d->rank + r)))
			return false;
	return taps && pads_are_ranges(w);
}

static bool has_pads(const struct window *w)
{
	bool pads = false;
	FOR (v, w->load->rank)
		pads |= reads_pads(&w->along[v]);
	return pads;
}

struct definition *define_kept(struct program *program, const char *name, int rank, const int64_t *extents,
        const struct expr *body, const struct definition *reader)
{
	struct definition *kept = define_map(program, name, rank, extents, body);
	scheduled(kept)->kept = true;
	kept->branch = reader->branch;
	return kept;
}

/* ---- data with their pads ---- */
static const struct index *var_of(struct windows *ws, int v, int64_t extent) { return index_var(ws->arena, v, extent); }

/* Rows that lie side by side and of which taps read every stride'th place: 1 where they do not. */
enum { PHASES_MOST = 4 };
static int64_t phases_of(const struct windows *ws, const struct window *w)
{
	const struct definition *x = w->load->of;
	const struct along *row = &w->along[x->rank - 1];
	bool given = x->source == SOURCE_INPUT || x->port.is_output;
	return given && ws->lanes > 1 && x->rank < MAX_RANK && row->tap >= 0 && row->variable >= 0 && row->dilation == 1
	                && row->stride > 1 && row->stride <= PHASES_MOST && row->taps > row->stride
	                && w->padded != w->load
	        ? row->stride
	        : 1;
}

/* Place `at` of a row is place at / phases of phase at % phases. */
static void put_phase(struct windows *ws, const struct index **at, int last, int64_t phases)
{
	const struct index *place = at[last];
	if (phases == 1)
		return;
	at[last] = index_mod(ws->arena, place, phases);
	at[last + 1] = index_div(ws->arena, place, phases);
}

/* Where nobody looks behind `end` elements, so many of them with their pads. */
static struct definition *with_more(struct windows *ws, struct definition *end, int64_t pads)
{
	const struct expr *more = expr_integer(ws->arena, DTYPE_I64, pads);
	more = expr_scalar(ws->arena, SCALAR_add, expr_load(ws->arena, end, NULL), more, NULL);
	return define_map(ws->program, arena_printf(ws->arena, "%s_pads", end->name), 0, NULL, more);
}

/* x, `before[v]` places from its first one along the axes that have a `reach` there, its rows in so many phases, each
 * of which lies side by side; NULL: it would be too large. */
static struct definition *with_pads(
        struct windows *ws, const struct window *w, const int64_t *before, const int64_t *reach, int64_t phases)
{
	struct definition *x = w->load->of, *ends[MAX_RANK] = { NULL };
	const struct index *at[MAX_RANK];
	struct range ranges[MAX_RANK];
	int64_t extents[MAX_RANK], elements = definition_elements(x), most = definition_elements(w->d), all = 1;
	int count = 0, rank = x->rank + (phases > 1);
	most = WIDER_MOST * (elements > most ? elements : most);
	FOR (v, x->rank) {
		extents[v] = reach[v] ? reach[v] : x->extents[v];
		if (__builtin_mul_overflow(all, extents[v], &all) || all > most)
			return NULL;
		at[v] = var_of(ws, v, extents[v]);
		int64_t more = extents[v] - x->extents[v];
		if (rank == x->rank && x->count.ends[v])
			ends[v] = with_more(ws, x->count.ends[v], reach[v] && before[v] > more ? before[v] : more);
		if (v + 1 < rank && v + 1 == x->rank) {
			extents[v + 1] = ceil_div(extents[v], phases);
			extents[v] = phases;
			at[v] = index_add(ws->arena, var_of(ws, v, phases),
			        index_scale(ws->arena, var_of(ws, v + 1, extents[v + 1]), phases));
		}
		at[v] = index_plus(ws->arena, at[v], reach[v] ? -before[v] : 0);
		if (reach[v] || (v + 1 == x->rank && phases > 1))
			ranges[count++] = (struct range){ at[v], 0, x->extents[v] };
	}
	const struct expr *load = expr_load(ws->arena, x, at);
	struct definition *pads = define_kept(ws->program, arena_printf(ws->arena, "%s_pads", x->name), rank, extents,
	        w->padded == w->load ? load : expr_select(ws->arena, ranges, count, load, w->padded->arg[1]), w->d);
	memcpy(pads->count.ends, ends, sizeof ends);
	return pads;
}

/* ---- lanes along channels ---- */
/* The channels of a block: a divisor of them all whose vectors are the fullest; 0: there is none. */
static int64_t block_of(int64_t channels, int lanes)
{
	int64_t best = 0;
	for (int64_t block = lanes; block <= BLOCK_VECS * lanes; block++)
		if (channels % block == 0 && (!best || filled(block, lanes) > filled(best, lanes)))
			best = block;
	return best;
}

/* Is it read by another definition, too? */
static void see_read(void *user, const struct expr *load)
{
	const struct definition **of = user;
	*of = load->of == *of ? NULL : *of;
}
static bool is_read(const struct program *program, const struct definition *d)
{
	for (size_t i = (size_t)d->number + 1; i < program->all.count && d; i++)
		definition_loads(program->all.at[i], see_read, &d);
	return !d;
}

static double row_tap(const struct window *w, int row)
{
	bool shares = false;
	FOR (v, row)
		shares |= w->along[v].tap >= 0 && w->along[v].taps > 1 && w->along[v].dilation == 1;
	return (shares || w->along[row].stride > 1 ? ROW_TAP : ROW_TAP_ALONE)
	        + ROW_STEP * (double)(w->along[row].stride - 1);
}

/* Of what a block of channels reads, with its pads. */
static int64_t block_bytes(const struct windows *ws, const struct window *w, int channels)
{
	int64_t bytes = (int64_t)dtype_bytes(w->d->type, (size_t)block_of(w->d->extents[channels], ws->lanes));
	for (int v = channels + 1; v < w->d->rank; v++)
		bytes *= reads_pads(&w->along[v]) ? reach_of(&w->along[v]) : w->along[v].extent;
	return bytes;
}

/* The axis of channels, each with a window of its own, where what callers give and get lies in planes and rows of the
 * result would leave lanes idle for longer than it takes to turn both; -1: there is none. */
static int channels_of(const struct windows *ws, const struct window *w)
{
	const struct definition *x = w->load->of, *d = w->d;
	int found = -1, last = d->rank - 1;
	if (ws->lanes < 2 || !w->alone || !d->sum.products || !expr_is_constant(d->body->arg[1]) || d->type != DTYPE_F32
	        || x->type != DTYPE_F32 || !d->port.is_output || x->source != SOURCE_INPUT || w->along[last].tap < 0
	        || d->rank + 1 + d->reduced > MAX_RANK || d->port.shown)
		return -1;
	for (int v = 0; v <= last; v++) {
		if (d->count.of[v])
			return -1;
		if (w->along[v].tap < 0 && block_of(d->extents[v], ws->lanes)
		        && (found < 0 || d->extents[v] > d->extents[found]))
			found = v;
	}
	if (found < 0 || is_read(ws->program, d))
		return -1;
	double taps = (double)taps_of(w), rows = taps / filled(d->extents[last], ws->lanes) * row_tap(w, last),
	       blocks = taps / filled(block_of(d->extents[found], ws->lanes), ws->lanes) * BLOCK_TAP,
	       moved = 1 + (double)definition_elements(x) / (double)definition_elements(d);
	return rows > blocks + moved * TRANSPOSED * ws->lanes && block_bytes(ws, w, found) <= BLOCK_BYTES ? found : -1;
}

/* Axis `channels` of these extents in blocks; the channels of one are axis `inside`: how it lies then, and where an
 * element of it is without blocks. */
static void in_blocks(struct windows *ws, const struct definition *of, int channels, int inside, int64_t *extents,
        const struct index **at)
{
	int64_t block = block_of(of->extents[channels], ws->lanes);
	for (int v = 0, to = 0; v <= of->rank; v++)
		extents[v] = v == inside ? block : of->extents[to++];
	extents[channels] /= block;
	for (int v = 0, to = 0; v <= of->rank; v++)
		if (v != inside)
			at[to++] = var_of(ws, v, extents[v]);
	at[channels] =
	        index_add(ws->arena, index_scale(ws->arena, at[channels], block), var_of(ws, inside, extents[inside]));
}

/* What is read is transposed by blocks of channels before it gets its pads, the sum runs along those of a block, and d
 * transposes its results back: for callers its blocks are the channels again. */
static void transpose(struct windows *ws, struct window *w, int channels)
{
	struct definition *x = w->load->of, *d = w->d;
	size_t from = ws->program->all.count;
	int rank = d->rank;
	int64_t extents[MAX_RANK];
	const struct index *at[MAX_RANK];
	in_blocks(ws, x, channels, rank, extents, at);
	struct definition *blocks = define_kept(ws->program, arena_printf(ws->arena, "%s_blocks", x->name), rank + 1,
	        extents, expr_load(ws->arena, x, at), d);
	in_blocks(ws, d, channels, rank, extents, at);
	const struct expr *own = expr_load(ws->arena, d, at);
	w->d = define_kept(ws->program, arena_printf(ws->arena, "%s_blocks", d->name), rank + 1, extents, own, d);
	take_space(ws->arena, w->d, d, w->d, own);
	w->d->node = d->node;
	scheduled(w->d)->generic = true;
	match(w->d, w);
	memcpy(at, w->load->at, (size_t)rank * sizeof *at);
	at[channels] = var_of(ws, channels, extents[channels]);
	at[rank] = var_of(ws, rank, extents[rank]);
	const struct expr *old = w->padded, *load = expr_load(ws->arena, blocks, at);
	if (old != w->load)
		load = expr_select(ws->arena, old->ranges, old->range_count, load, old->arg[1]);
	w->d->body = expr_replace(ws->arena, w->d->body, old, load);
	match(w->d, w);

	struct shown *shown = arena_new(ws->arena, struct shown);
	*shown = definition_shown(d);
	d->port.shown = shown;
	in_blocks(ws, d, channels, channels + 1, extents, at);
	FOR (v, rank)
		at[v] = var_of(ws, v + (v > channels), extents[v + (v > channels)]);
	at[rank] = var_of(ws, channels + 1, extents[channels + 1]);
	memcpy(d->extents, extents, sizeof d->extents);
	d->rank = rank + 1;
	become_map(d, expr_load(ws->arena, w->d, at));
	scheduled(blocks)->kept =
	        !has_pads(w) || x->extents[rank - 1] < ws->lanes; /* no square fills with rows so short */
	scheduled(blocks)->blocked = scheduled(w->d)->blocked = scheduled(d)->blocked = true;
	program_move(ws->program, from, d);
}

/* What all of the group read along an axis: places -low … reach - low. */
static void reach_of_group(struct window *const *group, size_t count, int axis, int64_t *low, int64_t *reach)
{
	int64_t high = *low = 0;
	FOR (i, count) {
		const struct along *a = &group[i]->along[axis];
		*low = a->before > *low ? a->before : *low;
		high = reach_of(a) - a->before > high ? reach_of(a) - a->before : high;
	}
	*reach = *low + high;
}

/* Windows of one tensor and one value around it share its pads. */
static bool share_pads(const struct window *a, const struct window *b)
{
	return a->load->of == b->load->of && expr_equal(a->padded->arg[1], b->padded->arg[1])
	        && branch_equal(a->d->branch, b->d->branch);
}

/* The axis along which a sum skips the taps in its pads, all terms of each of which stand together, lanes running along
 * channels: rows of windows that lanes run along share what they load, so that a tap goes by for all of them.  -1: there
 * is none, or what each adds is not known to be a zero. */
static int skipped_axis(const struct windows *ws, const struct window *w)
{
	const struct definition *d = w->d;
	const struct expr *weight = d->sum.products ? d->body->arg[1] : NULL;
	int r = 0, rank = w->load->rank, axis = rank;
	while (r < d->reduced && d->reduced_extents[r] == 1)
		r++;
	FOR (v, rank)
		axis = w->along[v].tap == d->rank + r ? v : axis;
	if (axis >= rank - 1 || w->along[rank - 1].tap >= 0 || d->body->arg[0] != w->padded || w->padded == w->load
	        || d->order != ORDER_SERIAL || weight->kind != EXPR_LOAD || !expr_is_constant(weight)
	        || d->type != DTYPE_F32 || w->padded->arg[1]->kind != EXPR_NUMBER || w->padded->arg[1]->number != 0)
		return -1;
	const struct along *a = &w->along[axis];
	int64_t out = 0, extents[MAX_VARS];
	FOR (i, a->results)
		for (int64_t k = 0, at; k < a->taps; k++) {
			at = i * a->stride + k * a->dilation - a->before;
			out += at < 0 || at >= a->extent;
		}
	FOR (v, d->rank + d->reduced)
		extents[v] = definition_extent(d, v);
	return a->dilation == 1 && SKIPPED_LEAST * out >= a->results * a->taps
	                && zero_is_known(weight->of,
	                        index_flatten(ws->arena, weight->rank, weight->at, weight->of->extents), extents,
	                        d->rank + r + 1, d->rank + d->reduced)
	        ? axis
	        : -1;
}

/* The same terms, of data with their pads: with those of inner axes alone where all would be too large. */
static void keep_pads(struct windows *ws, struct window *const *group, size_t members)
{
	int64_t before[MAX_RANK], reach[MAX_RANK];
	const struct definition *x = group[0]->load->of;
	int skipped = members == 1 && !has_columns(group[0]) ? skipped_axis(ws, group[0]) : -1;
	size_t from = ws->program->all.count;
	FOR (v, x->rank) {
		bool pads = false;
		FOR (i, members)
			pads |= v != skipped && reads_pads(&group[i]->along[v]);
		before[v] = reach[v] = 0;
		if (pads)
			reach_of_group(group, members, v, &before[v], &reach[v]);
		if (pads && members > 1 && reach[v] < before[v] + x->extents[v]) /* some read all of it */
			reach[v] = before[v] + x->extents[v];
	}
	struct definition *p;
	int inner = 0;
	while (!(p = with_pads(ws, group[0], before, reach, 1)))
		before[inner] = reach[inner] = 0, inner++;
	scheduled(p)->blocked = scheduled(group[0]->d)->blocked;
	FOR (i, members) {
		const struct window *w = group[i];
		const struct index *at[MAX_RANK];
		FOR (v, x->rank)
			at[v] = index_plus(ws->arena, w->load->at[v], before[v]);
		const struct expr *load = expr_load(ws->arena, p, at);
		struct range there[MAX_RANK];
		int count = 0;
		FOR (v, x->rank)
			if (v == skipped || (v < inner && reads_pads(&w->along[v])))
				there[count++] = (struct range){ at[v], 0, x->extents[v] };
		if (count)
			load = expr_select(ws->arena, there, count, load, w->padded->arg[1]);
		scheduled(w->d)->skips |= skipped >= 0;
		w->d->body = expr_replace(ws->arena, w->d->body, w->padded, load);
		scheduled(w->d)->generic |= w->d->sum.products && !w->sums && !has_columns(w);
	}
	program_move(ws->program, from, group[0]->d);
}

/* ---- patches ---- */
/* Does a caller's picture get to a product by pairs along rows of which the last vector is not full, each element about
 * once?  Patches side by side are columns of all rows.  Or by steps that no vector loads, for so many results that these
 * would take longer to turn than the patches? */
static bool reads_patches(const struct windows *ws, const struct window *w)
{
	const struct definition *d = w->d;
	const struct along *row = &w->along[w->load->rank - 1];
	int64_t strides = 1, rank = 0;
	FOR (v, w->load->rank)
		strides *= w->along[v].tap >= 0 ? w->along[v].stride : 1;
	FOR (v, d->rank + d->reduced)
		rank += expr_uses(w->padded, v);
	const int64_t columns = columns_of(w), places = definition_elements(d) / columns;
	bool pairs = w->sums && row->stride == 2 && filled(row->results, ws->lanes) <= PATCH_FILLED
	        && taps_of(w) <= strides && columns >= ws->lanes;
	bool many = row->stride > 2 && columns >= PATCH_COLUMNS * (int64_t)definition_terms(d)
	        && (ws->lanes >= WHOLE_LINE || places % (PAGE / 4));
	return ws->lanes > 1 && d->port.is_output && w->load->of->source == SOURCE_INPUT && row->tap >= 0
	        && row->variable == d->rank - 1 && row->results > ws->lanes && rank <= MAX_RANK && (pairs || many);
}

/* They are stored term by term, places side by side. */
static void store_patches(struct windows *ws, const struct window *w)
{
	struct definition *d = w->d;
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	size_t from = ws->program->all.count;
	int rank = 0;
	FOR (part, 3) /* batch, terms, places */
		FOR (v, d->rank + d->reduced) {
			int kind = v >= d->rank ? 1 : 0;
			for (int a = 0; a < w->load->rank && !kind; a++)
				kind = w->along[a].tap >= 0 && w->along[a].variable == v ? 2 : 0;
			if (kind != part || !expr_uses(w->padded, v))
				continue;
			extents[rank] = definition_extent(d, v);
			with[v] = var_of(ws, rank, extents[rank]);
			at[rank++] = var_of(ws, v, definition_extent(d, v));
		}
	struct definition *p = define_kept(ws->program, arena_printf(ws->arena, "%s_patches", w->load->of->name), rank,
	        extents, expr_substitute(ws->arena, w->padded, with), d);
	if (w->along[w->load->rank - 1].stride > 2)
		scheduled(p)->lane = rank;
	d->body = expr_replace(ws->arena, d->body, w->padded, expr_load(ws->arena, p, at));
	program_move(ws->program, from, d);
}

/* ---- axis by axis ---- */
/* What stands at places of the data from -low[v] on. */
struct stood {
	struct definition *of;
	int64_t low[MAX_RANK];
	bool passed[MAX_RANK];  /* axes that are done */
	int64_t from[MAX_RANK]; /* where the window's own results begin in it */
	int64_t taps;           /* along the last axis, of the windows that it has the maxima of */
	int64_t phases;         /* in which its rows lie */
};

/* A pass along `axis`: result i is the maximum of `taps`, `step` apart, from place stride * i - before on.  Along
 * `next`, which may be -1, it has `rows` results from place -above on, neutral where there are no data. */
struct pass {
	int axis, next;
	bool bare; /* taps may lie outside of what it reads: those are neutral */
	int64_t results, stride, before, taps, step, rows, above;
};

static const struct expr *pass_body(
        struct windows *ws, const struct window *w, const struct stood *from, const struct pass *p, int64_t *extents)
{
	const struct index *at[MAX_RANK];
	int rank = w->load->rank;
	FOR (v, rank) {
		extents[v] = v == p->axis ? p->results
		        : v == p->next    ? p->rows
		        : from->passed[v] ? w->d->extents[v]
		                          : from->of->extents[v];
		at[v] = index_plus(ws->arena, var_of(ws, v, extents[v]), from->from[v]);
	}
	at[p->axis] = index_add(ws->arena, index_scale(ws->arena, at[p->axis], p->stride),
	        index_plus(ws->arena, index_scale(ws->arena, var_of(ws, rank, p->taps), p->step),
	                from->low[p->axis] - p->before));
	int asks = p->bare ? p->axis : p->next; /* the axis along which there may be no data */
	if (asks < 0 || w->padded == w->load) {
		put_phase(ws, at, rank - 1, from->phases);
		return expr_load(ws->arena, from->of, at);
	}
	struct range there = { index_plus(ws->arena, at[asks], p->bare ? 0 : -p->above), 0, w->along[asks].extent };
	at[asks] = index_plus(ws->arena, there.at, from->low[asks]);
	put_phase(ws, at, rank - 1, from->phases);
	return expr_select(ws->arena, &there, 1, expr_load(ws->arena, from->of, at), w->padded->arg[1]);
}

static struct stood run_pass(struct windows *ws, const struct window *w, const struct stood *from, const struct pass *p)
{
	struct stood to = *from;
	memset(to.from, 0, sizeof to.from);
	int64_t extents[MAX_RANK];
	const struct expr *body = pass_body(ws, w, from, p, extents);
	to.of = define_reduction(ws->program, arena_printf(ws->arena, "%s_axis%d", w->d->name, p->axis), w->load->rank,
	        extents, REDUCE_MAX, 1, &p->taps, NULL, body);
	chain_terms(to.of);
	keep_origin(to.of, w->d);
	to.low[p->axis] = p->before;
	to.phases = 1;
	if (p->next >= 0)
		to.low[p->next] = p->above;
	return to;
}

/* `taps` of which each stands for `of` neighbours: how many, how far apart, make a window of so many; 0: none. */
static int64_t steps_of(int64_t window, int64_t of, int64_t *apart)
{
	int64_t rest = window - of, steps = ceil_div(rest, of);
	while (rest > 0 && rest % steps)
		steps++;
	*apart = rest > 0 ? rest / steps : 0;
	return rest < 0 ? 0 : steps + 1;
}

/* Of many taps: how many the first of two steps takes; 0: one step. */
static int64_t first_step(int64_t taps)
{
	int64_t least = taps, best = 0, apart;
	for (int64_t first = 2; taps > TAPS_MOST && first <= taps / 2 && first < least; first++)
		if (first + steps_of(taps, first, &apart) + PASS_COST < least) {
			least = first + steps_of(taps, first, &apart) + PASS_COST;
			best = first;
		}
	return best;
}

/* The window's maxima along one axis; `d`: into that definition, the last pass. */
static struct stood along_axis(struct windows *ws, const struct window *w, struct stood from, struct pass p, bool last)
{
	int64_t apart = 1, first = p.stride == 1 ? first_step(p.taps) : 0, dilation = p.step;
	if (first) {
		struct pass half = p;
		half.taps = first;
		half.results = p.results + dilation * (p.taps - first);
		from = run_pass(ws, w, &from, &half);
		p.taps = steps_of(p.taps, first, &apart);
	}
	p.step = apart * dilation;
	if (!last)
		return run_pass(ws, w, &from, &p);
	struct definition *d = w->d;
	int64_t extents[MAX_RANK];
	d->body = pass_body(ws, w, &from, &p, extents);
	d->reduced = 1;
	d->reduced_extents[0] = p.taps;
	chain_terms(d);
	return from;
}

/* Its axes, the last one first; their count. */
static int axes_of(const struct window *w, int *axes)
{
	int count = 0;
	for (int v = w->load->rank; v-- > 0;)
		if (w->along[v].tap >= 0 && w->along[v].taps > 1)
			axes[count++] = v;
	return count;
}

static bool separates(const struct windows *ws, const struct window *w)
{
	const struct definition *d = w->d;
	int axes[MAX_RANK], count = axes_of(w, axes);
	if (d->reduce != REDUCE_MAX || d->order != ORDER_SERIAL || d->start || !w->alone || d->body != w->padded
	        || (w->padded != w->load
	                && !expr_equal(w->padded->arg[1], reduce_start(ws->arena, REDUCE_MAX, w->padded->type)))
	        || !count)
		return false;
	double cost = PASS_COST * (count + 1), rows = 1;
	for (int i = count; i-- > 0; rows *= (double)w->along[axes[i]].stride)
		cost += rows * (double)w->along[axes[i]].taps;
	return count == 1 ? w->along[axes[0]].taps > TAPS_MOST && w->along[axes[0]].stride == 1
	                  : cost < (double)taps_of(w);
}

/* Windows that can share their passes along the last axis: of one tensor, of stride 1, in one branch. */
static bool are_shared(const struct window *a, const struct window *b)
{
	int axes[2][MAX_RANK], count = axes_of(a, axes[0]);
	if (a->load->of != b->load->of || axes_of(b, axes[1]) != count || count < 2 || a->d->type != b->d->type
	        || !branch_equal(a->d->branch, b->d->branch))
		return false;
	FOR (i, count)
		if (axes[0][i] != axes[1][i])
			return false;
	const struct along *last[] = { &a->along[axes[0][0]], &b->along[axes[0][0]] };
	return last[0]->stride == 1 && last[1]->stride == 1 && last[0]->dilation == last[1]->dilation;
}

static int by_taps(const void *a, const void *b)
{
	const struct window *const *x = a, *const *y = b;
	int axes[MAX_RANK] = { 0 };
	axes_of(*x, axes);
	int64_t left = (*x)->along[axes[0]].taps, right = (*y)->along[axes[0]].taps;
	return left != right ? (left > right) - (left < right) : (*x)->d->number - (*y)->d->number;
}

/* The axes behind the last one, each window for itself; d is what the last pass computes. */
static void pass_rest(
        struct windows *ws, const struct window *w, struct stood from, const int *axes, int count, bool bare)
{
	for (int i = 1; i < count; i++) {
		const struct along *a = &w->along[axes[i]];
		struct pass p = { axes[i], -1, bare, a->results, a->stride, a->before, a->taps, a->dilation, 0, 0 };
		const struct along *next = i + 1 < count ? &w->along[axes[i + 1]] : NULL;
		if (next && !bare) {
			p.next = axes[i + 1];
			p.rows = reach_of(next);
			p.above = next->before;
		}
		from = along_axis(ws, w, from, p, !next);
		from.passed[axes[i]] = true;
	}
}

/* The maxima of the window's taps at all places that any of its group wants: the next one's are made of these. */
static struct stood along_shared(
        struct windows *ws, const struct window *w, struct stood from, struct pass p, int64_t reach)
{
	int64_t apart = 1, taps = p.taps, steps = steps_of(taps, from.taps, &apart);
	if (steps == 1)
		return from;
	p.results = reach - p.step * (taps - 1);
	p.before = from.low[p.axis];
	if (from.taps > 1) {
		p.taps = steps;
		p.step *= apart;
		from = run_pass(ws, w, &from, &p);
	} else
		from = along_axis(ws, w, from, p, false);
	from.taps = taps;
	return from;
}

static void separate(struct windows *ws, struct window **group, size_t members)
{
	qsort(group, members, sizeof *group, by_taps);
	int axes[MAX_RANK] = { 0 }, count = axes_of(group[0], axes);
	int64_t before[MAX_RANK] = { 0 }, reach[MAX_RANK] = { 0 }, rows = 0, above = 0;
	size_t fresh = ws->program->all.count;
	struct definition *first = group[0]->d;
	reach_of_group(group, members, axes[0], &before[axes[0]], &reach[axes[0]]);
	if (count > 1)
		reach_of_group(group, members, axes[1], &above, &rows);
	struct stood stood = { .of = group[0]->load->of, .taps = 1, .phases = 1 };
	bool bare = members == 1;
	FOR (i, count)
		bare &= group[0]->along[axes[i]].taps <= TAPS_BARE;
	bool pads = before[axes[0]] || reach[axes[0]] > stood.of->extents[axes[0]];
	if (pads && !bare) {
		stood.phases = phases_of(ws, group[0]);
		if (!(stood.of = with_pads(ws, group[0], before, reach, stood.phases)))
			return;
	}
	stood.low[axes[0]] = bare ? 0 : before[axes[0]];
	FOR (i, members) {
		struct window *w = group[i];
		const struct along *a = &w->along[axes[0]];
		struct pass p = { axes[0], count > 1 && !bare ? axes[1] : -1, bare, a->results, a->stride, a->before,
			a->taps, a->dilation, rows, above };
		if (w->d->number < first->number)
			first = w->d;
		struct stood own;
		if (members == 1)
			own = along_axis(ws, w, stood, p, count == 1);
		else {
			own = stood = along_shared(ws, w, stood, p, reach[axes[0]]);
			own.from[axes[0]] = stood.low[axes[0]] - a->before;
		}
		own.passed[axes[0]] = true;
		pass_rest(ws, w, own, axes, count, bare);
	}
	program_move(ws->program, fresh, first);
}

/* ---- floats of bytes ---- */

/* Is it a map of bytes? */
static void see_bytes(void *user, const struct expr *load)
{
	*(bool *)user |= load->of->source != SOURCE_CONSTANT && dtypes[load->of->type].bits == 8;
}
static bool is_of_bytes(const struct definition *d)
{
	bool bytes = false;
	if (d->source == SOURCE_COMPUTED && d->reduce == REDUCE_NONE)
		expr_loads(d->body, see_bytes, &bytes);
	return bytes;
}

/* Small planes of few channels, whose tiles would copy what they read with its pads, each its own part again: all of it
 * once costs less, and rows that lie side by side with their pads can be a product's columns.  Where the stack is short
 * no tile copies pads: what makes floats of bytes makes those, too. */
static bool pads_pay(const struct windows *ws, const struct target *target, const struct window *w)
{
	int64_t bytes = 4, channels = 1;
	if (!w->d->sum.products || w->d->type != DTYPE_F32 || has_few_columns(ws, w) || !has_pads(w))
		return false;
	if (target->short_stack)
		return !w->sums && is_of_bytes(w->load->of);
	FOR (v, w->load->rank) {
		const struct along *a = &w->along[v];
		bytes *= reads_pads(a) ? reach_of(a) : a->extent;
		channels *= a->group < 0 ? 1 : definition_extent(w->d, a->group);
	}
	return has_caches(target) && !target->calls && w->d->body->arg[0] == w->padded && w->padded != w->load
	        && channels <= CHANNELS_FEW && bytes <= near_bytes(target, NEAR_packed_a);
}

/* ---- all of them ---- */
static bool share_nothing(const struct window *a, const struct window *b) { return a == b; }

static enum way way_of(const struct windows *ws, struct window *w)
{
	if (separates(ws, w))
		return AXIS_BY_AXIS;
	if ((w->channels = channels_of(ws, w)) >= 0)
		return BY_BLOCKS;
	return has_pads(w) && definition_terms(w->d) > TAPS_STRAIGHT ? WITH_PADS : AS_IT_IS;
}

void separate_windows(struct program *program, const struct target *target)
{
	static bool (*const share[])(const struct window *, const struct window *) = { [WITH_PADS] = share_pads,
		[BY_BLOCKS] = share_nothing,
		[AXIS_BY_AXIS] = are_shared,
		[IN_PATCHES] = share_nothing };
	struct windows ws = { program, program->arena, { 0 }, target->lanes };
	if (target->lanes_are_threads || target->options.log || (target->options.small && !target->short_stack))
		return;
	size_t count = program->all.count;
	FOR (i, count) {
		struct window w;
		if (!match(program->all.at[i], &w))
			continue;
		w.way = target->options.small      ? AS_IT_IS
		        : reads_patches(&ws, &w)   ? IN_PATCHES
		        : has_few_columns(&ws, &w) ? way_of(&ws, &w)
		                                   : AS_IT_IS;
		if (!w.way && pads_pay(&ws, target, &w))
			w.way = WITH_PADS;
		if (w.way)
			push(ws.arena, &ws.all, w);
	}
	FOR_ALL (i, ws.all) {
		struct window *w = &ws.all.at[i], **group = arena_new_array(ws.arena, struct window *, ws.all.count);
		enum way way = w->way;
		size_t members = 0;
		for (size_t k = i; k < ws.all.count && way; k++)
			if (k == i || (way == ws.all.at[k].way && share[way](w, &ws.all.at[k]))) {
				group[members++] = &ws.all.at[k];
				ws.all.at[k].way = AS_IT_IS; /* it is seen to */
			}
		if (way == BY_BLOCKS)
			transpose(&ws, w, w->channels);
		if (way == WITH_PADS || (way == BY_BLOCKS && has_pads(w)))
			keep_pads(&ws, group, members);
		if (way == AXIS_BY_AXIS)
			separate(&ws, group, members);
		if (way == IN_PATCHES)
			store_patches(&ws, w);
	}
}
