/* define.c: one definition -> scalar loops that say it in its own order, inside those of its block. */
#include "loops/building.h"

const char *const output_names[OUTPUT_NAMES] = { "i", "j", "k", "l", "m" };
static const char *const term_names[] = { "r", "s", "t", "u" };

const struct index *building_named(struct loops *loops, int v, const struct index *at, struct block *out)
{
	int64_t low, high;
	index_range(at, &low, &high);
	if (low == high || index_is_var(at, &(int){ 0 }))
		return at;
	return index_var(loops->arena, index_new(loops, output_names[v % OUTPUT_NAMES], high + 1, at, out), high + 1);
}

/* ---- cells ---- */

/* The definition whose memory d's elements lie in, for this kernel. */
static const struct definition *memory_of(const struct building *b, const struct definition *d)
{
	FOR_ALL (i, b->kernel->params)
		if (b->kernel->params.at[i].of == d)
			return d;
	return scheduled(d)->lies_in ? scheduled(d)->lies_in : d;
}

static struct cell *cell_for(struct building *b, const struct definition *d)
{
	struct loops *loops = b->loops;
	d = memory_of(b, d);
	FOR_ALL (i, loops->owners)
		if (loops->owners.at[i] == d)
			return loops->cells.at[i];
	fail(loops->build, EXIT_INVALID, b->kernel->name, "reads %s, which is no parameter of it", d->name);
}

void building_cells(struct building *b)
{
	const struct kernel *kernel = b->kernel;
	struct loops *loops = b->loops;
	FOR_EACH_AT (const struct param *param, kernel->params) {
		struct cell *cell =
		        cell_new(loops, CELL_BUFFER, param->name, param->of->type, definition_elements(param->of));
		cell->written = param->written;
		cell->of.climbs = definition_climbs(param->of);
		loops->owners.at[cell->of.number] = param->of;
		cell->of.sum.exact = param->of->sum.exact;
	}
	FOR_EACH (struct definition *d, kernel->members) {
		if (!is_local(d) || scheduled(d)->lies_in)
			continue;
		int64_t size = definition_row(d, b->outer);
		struct cell *cell = cell_new(
		        loops, size == 1 ? CELL_REGISTER : CELL_ARRAY, size == 1 ? "one" : "row", d->type, size);
		loops->owners.at[cell->of.number] = d;
	}
}

/* ---- loads of definitions become loads of cells ---- */

static const struct index *address_of(struct building *b, const struct definition *d, const struct index *const *at)
{
	struct arena *arena = b->loops->arena;
	d = memory_of(b, d);
	if (!is_local(d))
		return schedule_address(arena, d, at);
	const struct index *address = index_constant(arena, 0);
	int64_t step = 1;
	for (int v = d->rank - 1; v >= b->outer; step *= d->extents[v], v--)
		address = index_add(arena, address, index_scale(arena, at[v], step));
	return address;
}

static const struct expr *flattened(struct rewriter *r, const struct expr *expr)
{
	struct building *b = r->user;
	if (expr->kind != EXPR_LOAD)
		return NULL;
	struct cell *cell = cell_for(b, expr->of);
	const struct index *const *at = rewrite_load(r, expr, expr->of)->at;
	return cell_load(b->loops, cell, cell->kind == CELL_REGISTER ? NULL : address_of(b, expr->of, at));
}

/* ---- one definition ---- */

static void store(struct building *b, const struct definition *d, const struct index *const *at,
        const struct expr *value, struct block *out)
{
	struct loops *loops = b->loops;
	struct cell *cell = cell_for(b, d);
	struct stmt *stmt = stmt_new(loops, cell->kind == CELL_REGISTER ? STMT_SET : STMT_STORE);
	stmt->cell = cell;
	stmt->value = value;
	if (cell->kind == CELL_REGISTER)
		stmt->declare = true;
	else
		stmt->at = address_of(b, d, at);
	block_add(loops, out, stmt);
}

const struct expr *building_whole(struct building *b, const struct expr *expr, const struct index *const *with)
{
	struct rewriter flattening = { .arena = b->loops->arena, .expr = flattened, .user = b };
	return rewrite_expr(&flattening, expr_substitute(b->loops->arena, expr, with));
}

/* ---- terms that data say ---- */
/* Terms that a select leaves out, where those are neutral: the loop over reduced variable r runs from from[r] to
 * to[r], where data or pads say so (NULL: that end is its own), over `term`, which asks for the rest. */
struct narrowed {
	const struct expr *term;
	const struct index *from[MAX_RANK], *to[MAX_RANK];
	bool any;
};

static bool takes_ends(struct arena *arena, const struct definition *d, const struct range *range, struct narrowed *n)
{
	int r = 0;
	while (r < d->reduced && !index_factor(range->at, d->rank + r))
		r++;
	if (r == d->reduced || index_factor(range->at, d->rank + r) != 1 || !(range->at->values || scheduled(d)->skips))
		return false;
	int64_t extent = d->reduced_extents[r], low, high;
	const struct index *less = index_scale(arena, range->at, -1);
	less = index_add(arena, less, index_var(arena, d->rank + r, extent));
	FOR (other, d->reduced)
		if (index_uses(less, d->rank + other))
			return false;
	const struct index *ends[2] = { index_plus(arena, less, range->from), index_plus(arena, less, range->to) },
	                   **known[2] = { &n->from[r], &n->to[r] };
	bool says[2];
	FOR (end, 2) {
		index_range(ends[end], &low, &high);
		says[end] = end ? low < extent : high > 0;
		if (says[end] && *known[end])
			return false;
		if (low < 0 || high > extent)
			ends[end] = index_value(arena, expr_index(arena, ends[end]), 0, extent);
	}
	FOR (end, 2)
		*known[end] = says[end] ? ends[end] : *known[end];
	return true;
}

static struct narrowed narrow(const struct building *b, const struct definition *d)
{
	struct arena *arena = b->loops->arena;
	struct narrowed n = { .term = d->body };
	const struct expr *asks = scheduled(d)->skips ? d->body->arg[0] : d->body;
	if ((d->reduce != REDUCE_MAX && d->reduce != REDUCE_MIN && !scheduled(d)->skips) || d->order != ORDER_SERIAL
	        || asks->kind != EXPR_SELECT
	        || !expr_equal(asks->arg[1], reduce_start(b->loops->arena, d->reduce, d->type)))
		return n;
	struct range *left = arena_new_array(arena, struct range, (size_t)asks->range_count);
	int count = 0;
	FOR (i, asks->range_count)
		if (!takes_ends(arena, d, &asks->ranges[i], &n))
			left[count++] = asks->ranges[i];
	n.any = count < asks->range_count;
	if (n.any)
		n.term =
		        expr_replace(arena, d->body, asks, expr_select(arena, left, count, asks->arg[0], asks->arg[1]));
	return n;
}

static bool ends_use(const struct narrowed *n, const struct definition *d, int v)
{
	FOR (r, d->reduced)
		if ((n->from[r] && index_uses(n->from[r], v)) || (n->to[r] && index_uses(n->to[r], v)))
			return true;
	return false;
}

/* Once all variables that say them are given, the ends are found: as variables. */
static void find_ends(struct building *b, const struct definition *d, struct narrowed *n, const struct index **with,
        struct block *out)
{
	struct loops *loops = b->loops;
	struct rewriter flattening = { .arena = loops->arena, .expr = flattened, .user = b };
	FOR (r, d->reduced)
		FOR (end, 2) {
			const struct index **at = end ? &n->to[r] : &n->from[r];
			int64_t most = d->reduced_extents[r] + 1;
			if (!*at)
				continue;
			*at = rewrite_index(&flattening, index_substitute(loops->arena, *at, with));
			*at = index_var(loops->arena, index_new(loops, end ? "end" : "first", most, *at, out), most);
		}
}

bool terms_are_narrowed(const struct building *b, const struct definition *d) { return narrow(b, d).any; }

int loop_order(const struct building *b, const struct definition *d, int *order)
{
	int inner[MAX_RANK], count = order_by_stride(d, 0, d->rank, order), outer = 0, kept = 0;
	struct narrowed n = narrow(b, d);
	FOR (i, count)
		if (!n.any || ends_use(&n, d, order[i]))
			order[outer++] = order[i];
		else
			inner[kept++] = order[i];
	memcpy(order + outer, inner, (size_t)kept * sizeof *order);
	return count;
}

/* ---- ends at a count, by whole lanes ---- */
const struct index *building_there(struct building *b, struct definition *count, const struct index *from,
        int64_t extent, const struct index **with)
{
	struct arena *arena = b->loops->arena;
	const struct expr *many = expr_cast(arena, DTYPE_I64, building_whole(b, expr_load(arena, count, NULL), with));
	if (index_is_constant(from, &(int64_t){ 0 }) && !from->constant)
		return index_value(arena, many, 0, extent);
	const struct index *end = index_value(arena, many, 0, INT32_MAX);
	end = index_add(arena, end, index_scale(arena, from, -1));
	return index_value(arena, expr_index(arena, end), 0, extent);
}

/* Where terms, or elements, end by whole lanes; NULL: all are there. */
static const struct index *end_of(struct building *b, struct definition *count, const struct index *from,
        int64_t extent, const struct index **with)
{
	return !count || !scheduled(count)->whole || !ends_by_lanes(b->loops->target)
	        ? NULL
	        : building_there(b, count, index_substitute(b->loops->arena, from, with), extent, with);
}

static const struct index *end_of_terms(struct building *b, const struct definition *d, const struct index **with)
{
	const struct index *from = definition_runs_from(b->loops->arena, d);
	return from ? end_of(b, d->count.reduced[0], from, d->reduced_extents[0], with) : NULL;
}

/* The loops over terms; what is done for each stands in the block returned. */
static struct block *add_terms(struct building *b, const struct definition *d, const struct narrowed *n,
        const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	const struct index *end = n->any ? NULL : end_of_terms(b, d, with);
	FOR (r, d->reduced) {
		int64_t extent = d->reduced_extents[r];
		with[d->rank + r] = index_constant(loops->arena, 0);
		if (extent == 1 && !end)
			continue;
		int var = var_new(loops, term_names[r % 4], extent);
		with[d->rank + r] = index_var(loops->arena, var, extent);
		struct stmt *loop = for_new(loops, var, extent, ROLE_SERIAL);
		loop->first = n->from[r] ? n->from[r] : n->to[r] || end ? index_constant(loops->arena, 0) : NULL;
		loop->count = n->to[r] ? n->to[r] : n->from[r] ? index_constant(loops->arena, extent) : end;
		block_add(loops, out, loop);
		out = &loop->body;
	}
	return out;
}

/* What the terms before `first`, or those from `end` on, add where a sum skips them: +0, or if there are none, -0. */
static const struct expr *add_skipped(
        struct arena *arena, const struct expr *sum, const struct index *at, int64_t from, int64_t to)
{
	const struct range some = { at, from, to };
	return expr_scalar(arena, SCALAR_add, sum,
	        expr_select(arena, &some, 1, expr_number(arena, sum->type, 0), expr_number(arena, sum->type, -0.0)),
	        NULL);
}

/* One term more in `sum`. */
static void add_step(struct building *b, const struct definition *d, struct cell *sum, const struct expr *term,
        const struct index **with, struct block *out)
{
	struct stmt *step = stmt_new(b->loops, STMT_SET);
	step->cell = sum;
	step->value = reduce_step(b->loops, d, cell_load(b->loops, sum, NULL), building_whole(b, term, with));
	block_add(b->loops, out, step);
}

static void chain(struct building *b, struct definition *d, const struct narrowed *n, const struct index **with,
        const struct index *const *at, struct block *out)
{
	struct loops *loops = b->loops;
	struct cell *sum = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
	struct stmt *begin = stmt_new(loops, STMT_SET);
	begin->cell = sum;
	begin->declare = true;
	begin->value = d->start ? building_whole(b, d->start, with) : reduce_start(loops->arena, d->reduce, d->type);
	block_add(loops, out, begin);
	add_step(b, d, sum, n->term, with, add_terms(b, d, n, with, out));
	const struct expr *all = cell_load(loops, sum, NULL);
	for (int r = 0; r < d->reduced && scheduled(d)->skips; r++) {
		int64_t extent = d->reduced_extents[r];
		if (n->from[r])
			begin->value = add_skipped(loops->arena, begin->value, n->from[r], 1, extent + 1);
		if (n->to[r])
			all = add_skipped(loops->arena, all, n->to[r], 0, extent);
	}
	store(b, d, at, all, out);
}

void building_sum(struct building *b, const struct definition *d, const struct index **with, const struct expr *sum,
        struct block *out)
{
	if (d->start)
		sum = expr_scalar(b->loops->arena, SCALAR_add, sum, building_whole(b, d->start, with), NULL);
	store(b, d, with, sum, out);
}

static void lanes(struct building *b, struct definition *d, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	int64_t terms = definition_terms(d);
	struct cell *sum = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
	int var = var_new(loops, "t", terms);
	const struct index *end = end_of_terms(b, d, with);
	index_unflatten(
	        loops->arena, index_var(loops->arena, var, terms), d->reduced, d->reduced_extents, with + d->rank);
	struct stmt *loop = for_new(loops, var, terms, ROLE_LANES);
	loop->sums[0] = sum;
	loop->reduce[0] = d->reduce;
	loop->sum_count = 1;
	loop->count = end;
	add_step(b, d, sum, d->body, with, &loop->body);
	block_add(loops, out, loop);
	building_sum(b, d, with, cell_load(loops, sum, NULL), out);
}

int64_t stride_of(const struct definition *d, int v)
{
	int64_t step = 1;
	d = scheduled(d)->lies_in ? scheduled(d)->lies_in : d; /* who has its place has its strides */
	if (!is_local(d))
		return scheduled(d)->stride[v];
	for (int i = d->rank - 1; i > v; i--)
		step *= d->extents[i];
	return step;
}

/* Variables [from, to) of extent above 1, the largest stride first. */
int order_by_stride(const struct definition *d, int from, int to, int *order)
{
	int count = 0;
	for (int v = from; v < to; v++) {
		if (d->extents[v] == 1)
			continue;
		int at = count++;
		for (; at > 0 && stride_of(d, order[at - 1]) < stride_of(d, v); at--)
			order[at] = order[at - 1];
		order[at] = v;
	}
	return count;
}

/* After how many elements along a variable all that a map reads begins again. */
struct repeating {
	int var;
	int64_t period;
	bool repeats, otherwise;
};
static void see_repeat(struct repeating *r, const struct index *index)
{
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		int var;
		bool part = (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD) && index_is_var(atom->of, &var)
		        && var == r->var;
		if (part && (!r->period || r->period == atom->by)) {
			r->period = atom->by;
			r->repeats |= atom->kind == ATOM_MOD;
		} else
			r->otherwise |= atom->kind == ATOM_VAR ? atom->var == r->var
			        : atom->kind == ATOM_VALUE     ? expr_uses(atom->value, r->var)
			                                       : index_uses(atom->of, r->var);
	}
}
static enum visit see_repeats(void *user, const struct expr *expr)
{
	FOR (i, expr_index_count(expr))
		see_repeat(user, expr_index_at(expr, i));
	return VISIT_PARTS;
}

/* What begins again after vectors, or after some lanes of one, has a loop of those, in one of how often: they lie side
 * by side.  Else 0. */
enum { PERIOD_LEAST = 5 };
static int64_t period_of(const struct building *b, const struct definition *d, int v)
{
	const struct target *target = b->loops->target;
	struct repeating r = { .var = v };
	if (d->reduce != REDUCE_NONE || d->lies || !has_vectors(target))
		return 0;
	expr_visit(d->body, see_repeats, &r);
	int least = target->lanes < PERIOD_LEAST ? target->lanes : PERIOD_LEAST;
	return r.repeats && !r.otherwise && d->extents[v] % r.period == 0 && r.period >= least ? r.period : 0;
}

/* A map over variable v of d; what comes next stands in the block returned. */
struct block *building_map(
        struct building *b, const struct definition *d, int v, const struct index **with, struct block *out)
{
	bool shared = b->share && v == b->shared;
	int64_t period = shared ? 0 : period_of(b, d, v);
	if (period) {
		int64_t times = d->extents[v] / period;
		int outer = var_new(b->loops, output_names[v % OUTPUT_NAMES], times),
		    inner = var_new(b->loops, output_names[v % OUTPUT_NAMES], period);
		struct stmt *again = for_new(b->loops, outer, times, ROLE_MAP),
		            *row = for_new(b->loops, inner, period, ROLE_MAP);
		with[v] = index_add(b->loops->arena,
		        index_scale(b->loops->arena, index_var(b->loops->arena, outer, times), period),
		        index_var(b->loops->arena, inner, period));
		block_add(b->loops, out, again);
		block_add(b->loops, &again->body, row);
		return &row->body;
	}
	int64_t extent = shared ? b->share : d->extents[v];
	int var = var_new(b->loops, output_names[v % OUTPUT_NAMES], extent);
	with[v] = index_var(b->loops->arena, var, extent);
	if (shared)
		with[v] = index_add(b->loops->arena, b->share_from, with[v]);
	struct stmt *loop = for_new(b->loops, var, extent, ROLE_MAP);
	if (!shared && d->row && d->count.of[v] && ends_by_lanes(b->loops->target))
		loop->count = building_there(b, d->count.of[v], index_constant(b->loops->arena, 0), extent, with);
	else if (!shared && !definition_stands_alone(d))
		loop->count = end_of(b, d->count.of[v], index_constant(b->loops->arena, 0), extent, with);
	block_add(b->loops, out, loop);
	return &loop->body;
}

/* ---- terms that have places ---- */
/* Where a term goes along a variable of that extent, as an index; what it takes to say so, and the range that it must
 * lie in, go to `out` and `ranges`. */
static const struct index *place_of(struct building *b, const struct expr *place, int64_t extent,
        const struct index **with, struct block *out, struct range *ranges, int *count)
{
	struct loops *loops = b->loops;
	int64_t low, high;
	place = building_whole(b, place, with);
	const struct index *at = place->kind == EXPR_INDEX ? place->index
	        : place->kind == EXPR_NUMBER               ? index_constant(loops->arena, place->integer)
	                                                   : NULL;
	if (at && index_is_affine(at)) {
		index_range(at, &low, &high);
		if (low < 0 || high >= extent)
			ranges[(*count)++] = (struct range){ at, 0, extent };
		return at;
	}
	/* The extent is what lies outside, on either side. */
	place = expr_scalar(loops->arena, SCALAR_min, expr_cast(loops->arena, DTYPE_U64, place),
	        expr_integer(loops->arena, DTYPE_U64, extent), NULL);
	at = index_value(loops->arena, expr_cast(loops->arena, DTYPE_I64, place), 0, extent);
	at = index_var(loops->arena, index_new(loops, "p", extent + 1, at, out), extent + 1);
	ranges[(*count)++] = (struct range){ at, 0, extent };
	return at;
}

/* A number that data say, of which each place of a term is a part: where it stands in `index`, `with` stands. */
struct number {
	struct arena *arena;
	const struct atom *atom; /* the first that was seen */
	const struct index *with;
	bool alone; /* no other, and no variable */
};
static const struct index *part_of(struct number *n, const struct index *index)
{
	const struct index *part = index_constant(n->arena, index->constant);
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		const struct index *term = n->with;
		if (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD) {
			term = part_of(n, atom->of);
			term = (atom->kind == ATOM_DIV ? index_div : index_mod)(n->arena, term, atom->by);
		} else {
			n->alone &= atom->kind == ATOM_VALUE && (!n->atom || expr_equal(atom->value, n->atom->value));
			n->atom = n->atom ? n->atom : atom;
		}
		part = index_add(n->arena, part, index_scale(n->arena, term, index->terms[i].factor));
	}
	return part;
}

/* Places that are parts of one number: it is looked up once, and where they add up to it, so does the address.  False:
 * they are not. */
static bool places_of_number(struct building *b, const struct definition *d, const struct index **with,
        const struct index **at, struct block *out, struct range *ranges, int *count)
{
	struct arena *arena = b->loops->arena;
	struct number n = { .arena = arena, .with = index_constant(arena, 0), .alone = true };
	const struct expr *places[MAX_RANK] = { NULL };
	int parts = 0;
	FOR (v, d->rank) {
		if (!d->place[v])
			continue;
		places[v] = building_whole(b, d->place[v], with);
		if (places[v]->kind != EXPR_INDEX)
			return false;
		parts += places[v]->index->count > 0;
		part_of(&n, places[v]->index);
	}
	if (!n.atom || !n.alone || parts < 2)
		return false;
	/* From 0 on, by whole rounds of all places, so that quotients and remainders stay what they are. */
	int64_t all = definition_elements(d), low = n.atom->low < 0 ? ceil_div(-n.atom->low, all) * all : 0,
	        extent = n.atom->high + low + 1, below, above;
	const struct index *number = index_plus(arena, index_of_atom(arena, *n.atom, 1), low);
	n.with = index_plus(arena, index_var(arena, index_new(b->loops, "p", extent, number, out), extent), -low);
	FOR (v, d->rank) {
		if (!places[v])
			continue;
		at[v] = part_of(&n, places[v]->index);
		index_range(at[v], &below, &above);
		if (below >= 0 && above < d->extents[v])
			continue;
		struct range range = { at[v], 0, d->extents[v] };
		for (const struct index *of; range.at->count == 1 && range.at->terms[0].factor == 1
		        && range.at->terms[0].atom->kind == ATOM_DIV;
		        range.at = of) {
			int64_t by = range.at->terms[0].atom->by, constant = range.at->constant;
			of = range.at->terms[0].atom->of;
			range.from = (range.from - constant) * by;
			range.to = (range.to - constant) * by;
		}
		ranges[(*count)++] = range;
	}
	return true;
}

/* Inside the ranges. */
static struct block *add_if(struct building *b, const struct range *ranges, int count, struct block *out)
{
	if (!count)
		return out;
	struct stmt *is = stmt_new(b->loops, STMT_IF);
	struct range *kept = arena_new_array(b->loops->arena, struct range, (size_t)count);
	memcpy(kept, ranges, (size_t)count * sizeof *ranges);
	is->ranges = kept;
	is->range_count = count;
	block_add(b->loops, out, is);
	return &is->body;
}

/* Does some term go to each element?  Then none needs to begin.  Or to each but those at one end of the variable that
 * has places: it is then fixed there in rest, if that is given. */
bool scatter_covers(struct arena *arena, const struct definition *d, const struct index **rest)
{
	FOR (v, d->rank) {
		int64_t low, high;
		if (!d->place[v] || d->extents[v] == 1)
			continue;
		if (d->reduced != 1 || d->place[v]->kind != EXPR_INDEX || !index_is_affine(d->place[v]->index))
			return false;
		int64_t factor = index_factor(d->place[v]->index, d->rank), last = d->extents[v] - 1;
		index_range(d->place[v]->index, &low, &high);
		if ((factor != 1 && factor != -1) || high - low != d->reduced_extents[0] - 1)
			return false;
		if (rest && low + last - high == 1)
			rest[v] = index_constant(arena, low ? 0 : last);
		else if (low || high != last)
			return false;
	}
	return true;
}

static bool places_use(const struct definition *d, int v)
{
	FOR (p, d->rank)
		if (d->place[p] && expr_uses(d->place[p], v))
			return true;
	return false;
}

/* Elements begin, then each term goes to its own.  Variables that lie closer than any with a place run inside the
 * terms, side by side; the others are given, or get a loop around. */
static void scatter(struct building *b, struct definition *d, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	int order[MAX_RANK], count = order_by_stride(d, 0, d->rank, order), inner = count;
	while (!d->running && inner > 0 && !d->place[order[inner - 1]])
		inner--;
	FOR (n, inner)
		if (!with[order[n]] && !d->place[order[n]])
			out = building_map(b, d, order[n], with, out);
	const struct index *at[MAX_RANK], *own[MAX_VARS];
	struct range ranges[2 * MAX_RANK + 1];
	int range_count = 0;
	const struct expr *first = d->start ? d->start : reduce_start(loops->arena, d->reduce, d->type);
	memcpy(own, with, sizeof own);
	if (!d->in_place && (!d->running || !scatter_covers(loops->arena, d, own) || memcmp(own, with, sizeof own))) {
		struct block *begins = out;
		FOR (n, count)
			if (!own[order[n]])
				begins = building_map(b, d, order[n], own, begins);
		FOR (v, d->rank)
			at[v] = own[v] ? own[v] : index_constant(loops->arena, 0);
		store(b, d, at, building_whole(b, first, own), begins);
	}
	if (!definition_terms(d))
		return;
	struct cell *sum = NULL;
	if (d->running) {
		struct stmt *begin = stmt_new(loops, STMT_SET);
		begin->cell = sum = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
		begin->declare = true;
		begin->value = building_whole(b, first, with);
		block_add(loops, out, begin);
	}
	out = add_terms(b, d, &(struct narrowed){ 0 }, with, out);
	if (sum)
		add_step(b, d, sum, d->body, with, out);
	bool each = false; /* of the inner elements has a place of its own */
	for (int n = inner; n < count; n++)
		each |= places_use(d, order[n]);
	for (int n = inner; n < count && each; n++)
		out = with[order[n]] ? out : building_map(b, d, order[n], with, out);
	bool one = places_of_number(b, d, with, at, out, ranges, &range_count);
	for (int v = 0; v < d->rank && !one; v++)
		if (d->place[v])
			at[v] = place_of(b, d->place[v], d->extents[v], with, out, ranges, &range_count);
	FOR (v, d->rank)
		if (d->place[v] && with[v] && d->extents[v] > 1)
			ranges[range_count++] =
			        (struct range){ index_add(loops->arena, at[v], index_scale(loops->arena, with[v], -1)),
				        0, 1 };
	if (b->share && d->place[b->shared])
		ranges[range_count++] = (struct range){ index_add(loops->arena, at[b->shared],
			                                        index_scale(loops->arena, b->share_from, -1)),
			0, b->share };
	out = add_if(b, ranges, range_count, out);
	for (int n = inner; n < count && !each; n++)
		out = with[order[n]] ? out : building_map(b, d, order[n], with, out);
	FOR (v, d->rank)
		if (!d->place[v])
			at[v] = with[v];
	const struct expr *value = sum ? cell_load(loops, sum, NULL) : NULL;
	if (!value)
		value = reduce_step(loops, d, cell_load(loops, cell_for(b, d), address_of(b, d, at)),
		        building_whole(b, d->body, with));
	store(b, d, at, value, out);
}

/* The elements [first, end) of a row one by one, or as many at once as the compiler likes: those that are there lie
 * in a caller's memory, and nothing behind them may be touched. */
static struct block *along_row(struct building *b, const struct definition *d, const struct index *first,
        const struct index *end, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	const int last = d->rank - 1;
	int64_t extent = d->extents[last];
	struct stmt *loop =
	        for_new(loops, var_new(loops, output_names[last % OUTPUT_NAMES], extent), extent, ROLE_SERIAL);
	loop->first = first;
	loop->count = end;
	with[last] = index_var(loops->arena, loop->var, extent);
	block_add(loops, out, loop);
	return &loop->body;
}

/* How many elements of the row are there. */
static const struct index *length_of(
        struct building *b, const struct definition *d, const struct expr *length, struct block *out)
{
	int64_t extent = d->extents[d->rank - 1];
	const struct index *row = index_value(b->loops->arena, length, 0, extent);
	return index_var(b->loops->arena, index_new(b->loops, "n", extent + 1, row, out), extent + 1);
}

/* A row is copied as far as it is there, with 0 behind where anybody looks at that. */
static void copy_row(struct building *b, struct definition *d, const struct index **with, struct block *out)
{
	struct arena *arena = b->loops->arena;
	const struct index *n = length_of(b, d, building_whole(b, d->row, with), out);
	int64_t elements = definition_elements(d);
	bool filled = false;
	with[d->rank - 1] = index_constant(arena, 0);
	const struct expr *load = building_whole(b, d->body->arg[0], with);
	const struct index *begin = index_var(arena, index_new(b->loops, "p", elements, load->at[0], out), elements);
	FOR (v, d->rank)
		filled |= !d->count.of[v] && expr_selects_on(d->body, v);
	for (int part = 0; part <= filled; part++) {
		struct block *row = along_row(b, d, part ? n : index_constant(arena, 0),
		        part ? index_constant(arena, d->extents[d->rank - 1]) : n, with, out);
		store(b, d, with,
		        part ? d->body->arg[1]
		             : cell_load(b->loops, cell_of_load(load), index_add(arena, begin, with[d->rank - 1])),
		        row);
	}
}

/* A row goes where it lies, as far as it is there. */
static void store_row(struct building *b, struct definition *d, const struct index **with, struct block *out)
{
	struct arena *arena = b->loops->arena;
	const int last = d->rank - 1;
	struct range range;
	int count = 0;
	const struct index *begin =
	        place_of(b, d->lies, definition_elements(d) - d->extents[last] + 1, with, out, &range, &count);
	const struct expr *length = building_whole(b, d->row, with);
	out = add_if(b, &range, count, out);
	if (length->kind == EXPR_NUMBER && length->integer == d->extents[last])
		count = 0; /* rows are whole */
	else {
		const struct index *row = length_of(b, d, length, out);
		range = (struct range){ index_scale(arena, row, -1), -d->extents[last], 0 };
		count = with[last] || !ends_by_lanes(b->loops->target);
		if (!count)
			out = along_row(b, d, index_constant(arena, 0), row, with, out);
	}
	if (!with[last])
		out = building_map(b, d, last, with, out);
	range.at = index_add(arena, range.at, with[last]);
	struct stmt *stmt = stmt_new(b->loops, STMT_STORE);
	stmt->cell = cell_for(b, d);
	stmt->at = index_add(arena, begin, with[last]);
	stmt->value = building_whole(b, d->body, with);
	block_add(b->loops, add_if(b, &range, count, out), stmt);
}

/* Adds the loops of one definition whose variables with[v] != NULL are given. */
void building_define(struct building *b, struct definition *d, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	int order[MAX_RANK], count = loop_order(b, d, order);
	struct narrowed narrowed = narrow(b, d);
	bool found = !narrowed.any;
	if (definition_elements(d) == 0)
		return;
	FOR (v, d->rank)
		if (d->extents[v] == 1 && !with[v])
			with[v] = index_constant(loops->arena, 0); /* others are given, or get a loop */
	if (definition_scatters(d)) {
		scatter(b, d, with, out);
		return;
	}
	bool by_row = d->row && (d->lies || (ends_by_lanes(loops->target) && !with[d->rank - 1]));
	for (int n = 0; n <= count; n++) {
		if (!found && (n == count || !ends_use(&narrowed, d, order[n]))) {
			find_ends(b, d, &narrowed, with, out);
			found = true;
		}
		if (n < count && !with[order[n]] && !(by_row && order[n] == d->rank - 1))
			out = building_map(b, d, order[n], with, out);
	}
	if (d->lies) {
		store_row(b, d, with, out);
		return;
	}
	if (by_row) {
		copy_row(b, d, with, out);
		return;
	}
	const struct index *at[MAX_RANK];
	FOR (v, d->rank)
		at[v] = with[v];
	if (d->reduce != REDUCE_NONE && definition_terms(d) == 0)
		store(b, d, at,
		        d->start ? building_whole(b, d->start, with) : reduce_start(loops->arena, d->reduce, d->type),
		        out);
	else if (d->reduce == REDUCE_NONE)
		store(b, d, at, building_whole(b, d->body, with), out);
	else if (d->order == ORDER_LANES)
		lanes(b, d, with, out);
	else
		chain(b, d, &narrowed, with, at, out);
}
