/* build.c: kernel -> scalar loops that say its definitions in their own order.
 * Around everything stands the loop over blocks.  A kernel of several members has its common outer loops there; one
 * definition alone gives as many of its outermost loops (by address) as leave a block worth starting. */
#include "loops/loops.h"
#include <assert.h>

enum { BLOCK_WORK = 2048 }; /* elements or terms below which a block is not worth a thread */
static int64_t block_work(const struct loops *loops)
{
	return loops->target->block_work ? loops->target->block_work : BLOCK_WORK;
}

struct building {
	struct loops *loops;
	const struct kernel *kernel;
	const struct index **outer_at; /* of a kernel with common loops: variable -> index */
	int outer;
	int shared; /* of terms with places: this variable's loops have `share` rounds, from `share_from` on; share 0:
	               none */
	int64_t share;
	const struct index *share_from;
};

static const char *const output_names[] = { "i", "j", "k", "l", "m" };
static const char *const term_names[] = { "r", "s", "t", "u" };

/* ---- cells ---- */

static int64_t local_size(const struct definition *d, int outer)
{
	int64_t size = 1;
	for (int v = outer; v < d->rank; v++)
		size *= d->extents[v];
	return size;
}

/* The definition whose memory d's elements lie in. */
static const struct definition *memory_of(const struct definition *d)
{
	return scheduled(d)->lies_in ? scheduled(d)->lies_in : d;
}

static struct cell *cell_for(struct building *b, const struct definition *d)
{
	struct loops *loops = b->loops;
	d = memory_of(d);
	for (size_t i = 0; i < loops->owners.count; i++)
		if (loops->owners.at[i] == d)
			return loops->cells.at[i];
	fail(loops->build, EXIT_INVALID, b->kernel->name, "reads %s, which is no parameter of it", d->name);
}

static void add_cells(struct building *b)
{
	const struct kernel *kernel = b->kernel;
	struct loops *loops = b->loops;
	for (size_t i = 0; i < kernel->params.count; i++) {
		const struct param *param = &kernel->params.at[i];
		struct cell *cell =
		        cell_new(loops, CELL_BUFFER, param->name, param->of->type, definition_elements(param->of));
		cell->written = param->written;
		cell->of.climbs = definition_climbs(param->of);
		loops->owners.at[cell->of.number] = param->of;
	}
	for (size_t i = 0; i < kernel->members.count; i++) {
		struct definition *d = kernel->members.at[i];
		if (scheduled(d)->mode != MODE_LOCAL || scheduled(d)->lies_in)
			continue;
		int64_t size = local_size(d, b->outer);
		struct cell *cell = cell_new(
		        loops, size == 1 ? CELL_REGISTER : CELL_ARRAY, size == 1 ? "one" : "row", d->type, size);
		loops->owners.at[cell->of.number] = d;
	}
}

/* ---- loads of definitions become loads of cells ---- */

static const struct index *address_of(struct building *b, const struct definition *d, const struct index *const *at)
{
	struct arena *arena = b->loops->arena;
	d = memory_of(d);
	if (scheduled(d)->mode != MODE_LOCAL)
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

static void store(struct building *b, struct definition *d, const struct index *const *at, const struct expr *value,
        struct block *out)
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

static struct stmt *for_new(struct loops *loops, int var, int64_t extent, enum role role)
{
	struct stmt *stmt = stmt_new(loops, STMT_FOR);
	stmt->var = var;
	stmt->extent = extent;
	stmt->role = role;
	return stmt;
}

static const struct expr *whole(struct building *b, const struct expr *expr, const struct index *const *with)
{
	struct rewriter flattening = { .arena = b->loops->arena, .expr = flattened, .user = b };
	return rewrite_expr(&flattening, expr_substitute(b->loops->arena, expr, with));
}

static void chain(struct building *b, struct definition *d, const struct index **with, const struct index *const *at,
        struct block *out)
{
	struct loops *loops = b->loops;
	struct cell *sum = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
	struct stmt *begin = stmt_new(loops, STMT_SET);
	begin->cell = sum;
	begin->declare = true;
	begin->value = d->start ? whole(b, d->start, with) : reduce_start(loops, d->reduce, d->type);
	block_add(loops, out, begin);
	struct block *inner = out;
	for (int r = 0; r < d->reduced; r++) {
		int64_t extent = d->reduced_extents[r];
		if (extent == 1) {
			with[d->rank + r] = index_constant(loops->arena, 0);
			continue;
		}
		int var = var_new(loops, term_names[r % 4], extent);
		with[d->rank + r] = index_var(loops->arena, var, extent);
		struct stmt *loop = for_new(loops, var, extent, ROLE_SERIAL);
		block_add(loops, inner, loop);
		inner = &loop->body;
	}
	struct stmt *step = stmt_new(loops, STMT_SET);
	step->cell = sum;
	step->value = reduce_step(loops, d, cell_load(loops, sum, NULL), whole(b, d->body, with));
	block_add(loops, inner, step);
	store(b, d, at, cell_load(loops, sum, NULL), out);
}

static void lanes(struct building *b, struct definition *d, const struct index **with, const struct index *const *at,
        struct block *out)
{
	struct loops *loops = b->loops;
	int64_t terms = definition_terms(d);
	struct cell *sum = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
	int var = var_new(loops, "t", terms);
	index_unflatten(
	        loops->arena, index_var(loops->arena, var, terms), d->reduced, d->reduced_extents, with + d->rank);
	struct stmt *loop = for_new(loops, var, terms, ROLE_LANES), *step = stmt_new(loops, STMT_SET);
	loop->sums[0] = sum;
	loop->reduce[0] = d->reduce;
	loop->sum_count = 1;
	step->cell = sum;
	step->value = reduce_step(loops, d, cell_load(loops, sum, NULL), whole(b, d->body, with));
	block_add(loops, &loop->body, step);
	block_add(loops, out, loop);
	const struct expr *value = cell_load(loops, sum, NULL);
	if (d->start)
		value = expr_scalar(loops->arena, SCALAR_add, value, whole(b, d->start, with), NULL);
	store(b, d, at, value, out);
}

static int64_t stride_of(const struct definition *d, int v)
{
	int64_t step = 1;
	d = memory_of(d);
	if (scheduled(d)->mode != MODE_LOCAL)
		return scheduled(d)->stride[v];
	for (int i = d->rank - 1; i > v; i--)
		step *= d->extents[i];
	return step;
}

/* Variables [from, to) of extent above 1, the largest stride first. */
static int by_stride(const struct definition *d, int from, int to, int *order)
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
	for (int i = 0; i < index->count; i++) {
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
	for (int i = 0; i < expr_index_count(expr); i++)
		see_repeat(user, expr_index_at(expr, i));
	return VISIT_PARTS;
}

/* What begins again after whole vectors has a loop of those, in one of how often: they lie side by side.  Else 0. */
static int64_t period_of(const struct building *b, const struct definition *d, int v)
{
	const struct target *target = b->loops->target;
	struct repeating r = { .var = v };
	if (d->reduce != REDUCE_NONE || d->lies || target->lanes == 1 || target->lanes_are_threads)
		return 0;
	expr_visit(d->body, see_repeats, &r);
	return r.repeats && !r.otherwise && d->extents[v] % r.period == 0 && r.period >= target->lanes ? r.period : 0;
}

/* A map over variable v of d; what comes next stands in the block returned. */
static struct block *add_map(
        struct building *b, const struct definition *d, int v, const struct index **with, struct block *out)
{
	bool shared = b->share && v == b->shared;
	int64_t period = shared ? 0 : period_of(b, d, v);
	if (period) {
		int64_t times = d->extents[v] / period;
		int outer = var_new(b->loops, output_names[v % 5], times),
		    inner = var_new(b->loops, output_names[v % 5], period);
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
	int var = var_new(b->loops, output_names[v % 5], extent);
	with[v] = index_var(b->loops->arena, var, extent);
	if (shared)
		with[v] = index_add(b->loops->arena, b->share_from, with[v]);
	struct stmt *loop = for_new(b->loops, var, extent, ROLE_MAP);
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
	place = whole(b, place, with);
	const struct index *at = place->kind == EXPR_INDEX ? place->index
	        : place->kind == EXPR_NUMBER               ? index_constant(loops->arena, place->integer)
	                                                   : NULL;
	if (at && index_is_affine(at)) {
		index_range(at, &low, &high);
		if (low < 0 || high >= extent)
			ranges[(*count)++] = (struct range){ at, 0, extent };
		return at;
	}
	/* One more, so that 0 and extent + 1 are what lies outside. */
	at = index_value(loops->arena,
	        expr_scalar(loops->arena, SCALAR_add, place, expr_integer(loops->arena, DTYPE_I64, 1), NULL), 0,
	        extent + 1);
	at = index_var(loops->arena, index_new(loops, "p", extent + 2, at, out), extent + 2);
	ranges[(*count)++] = (struct range){ at, 1, extent + 1 };
	return index_plus(loops->arena, at, -1);
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
	for (int i = 0; i < index->count; i++) {
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
	for (int v = 0; v < d->rank; v++) {
		if (!d->place[v])
			continue;
		places[v] = whole(b, d->place[v], with);
		if (places[v]->kind != EXPR_INDEX)
			return false;
		parts += places[v]->index->count > 0;
		part_of(&n, places[v]->index);
	}
	if (!n.atom || !n.alone || parts < 2)
		return false;
	/* From 0 on, by whole rounds of all places, so that quotients and remainders stay what they are. */
	int64_t all = definition_elements(d), low = n.atom->low < 0 ? (-n.atom->low + all - 1) / all * all : 0,
	        extent = n.atom->high + low + 1, below, above;
	const struct index *number = index_plus(arena, index_of_atom(arena, *n.atom, 1), low);
	n.with = index_plus(arena, index_var(arena, index_new(b->loops, "p", extent, number, out), extent), -low);
	for (int v = 0; v < d->rank; v++) {
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

/* The loops over terms; what is done for each stands in the block returned. */
static struct block *add_terms(
        struct building *b, const struct definition *d, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	for (int r = 0; r < d->reduced; r++) {
		int64_t extent = d->reduced_extents[r];
		with[d->rank + r] = index_constant(loops->arena, 0);
		if (extent == 1)
			continue;
		int var = var_new(loops, term_names[r % 4], extent);
		with[d->rank + r] = index_var(loops->arena, var, extent);
		struct stmt *loop = for_new(loops, var, extent, ROLE_SERIAL);
		block_add(loops, out, loop);
		out = &loop->body;
	}
	return out;
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

/* Does some term go to each element?  Then none needs to begin. */
static bool scatter_covers(const struct definition *d)
{
	for (int v = 0; v < d->rank; v++) {
		int64_t low, high;
		if (!d->place[v] || d->extents[v] == 1)
			continue;
		if (d->reduced != 1 || d->reduced_extents[0] != d->extents[v] || d->place[v]->kind != EXPR_INDEX
		        || !index_is_affine(d->place[v]->index))
			return false;
		int64_t factor = index_factor(d->place[v]->index, d->rank);
		index_range(d->place[v]->index, &low, &high);
		if ((factor != 1 && factor != -1) || low || high != d->extents[v] - 1)
			return false;
	}
	return true;
}

static bool places_use(const struct definition *d, int v)
{
	for (int p = 0; p < d->rank; p++)
		if (d->place[p] && expr_uses(d->place[p], v))
			return true;
	return false;
}

/* Elements begin, then each term goes to its own.  Variables that lie closer than any with a place run inside the
 * terms, side by side; the others are given, or get a loop around. */
static void scatter(struct building *b, struct definition *d, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	int order[MAX_RANK], count = by_stride(d, 0, d->rank, order), inner = count;
	while (!d->running && inner > 0 && !d->place[order[inner - 1]])
		inner--;
	for (int n = 0; n < inner; n++)
		if (!with[order[n]] && !d->place[order[n]])
			out = add_map(b, d, order[n], with, out);
	const struct index *at[MAX_RANK], *own[MAX_VARS];
	struct range ranges[MAX_RANK];
	int range_count = 0;
	const struct expr *first = d->start ? d->start : reduce_start(loops, d->reduce, d->type);
	if (!d->running || !scatter_covers(d)) {
		struct block *begins = out;
		memcpy(own, with, sizeof own);
		for (int n = 0; n < count; n++)
			if (!own[order[n]])
				begins = add_map(b, d, order[n], own, begins);
		for (int v = 0; v < d->rank; v++)
			at[v] = own[v] ? own[v] : index_constant(loops->arena, 0);
		store(b, d, at, whole(b, first, own), begins);
	}
	if (!definition_terms(d))
		return;
	struct cell *sum = NULL;
	if (d->running) {
		struct stmt *begin = stmt_new(loops, STMT_SET);
		begin->cell = sum = cell_new(loops, CELL_REGISTER, "sum", d->type, 1);
		begin->declare = true;
		begin->value = whole(b, first, with);
		block_add(loops, out, begin);
	}
	out = add_terms(b, d, with, out);
	if (d->running) {
		struct stmt *step = stmt_new(loops, STMT_SET);
		step->cell = sum;
		step->value = reduce_step(loops, d, cell_load(loops, sum, NULL), whole(b, d->body, with));
		block_add(loops, out, step);
	}
	bool each = false; /* of the inner elements has a place of its own */
	for (int n = inner; n < count; n++)
		each |= places_use(d, order[n]);
	for (int n = inner; n < count && each; n++)
		out = add_map(b, d, order[n], with, out);
	bool one = places_of_number(b, d, with, at, out, ranges, &range_count);
	for (int v = 0; v < d->rank && !one; v++)
		if (d->place[v])
			at[v] = place_of(b, d->place[v], d->extents[v], with, out, ranges, &range_count);
	out = add_if(b, ranges, range_count, out);
	for (int n = inner; n < count && !each; n++)
		out = add_map(b, d, order[n], with, out);
	for (int v = 0; v < d->rank; v++)
		if (!d->place[v])
			at[v] = with[v];
	const struct expr *value = sum ? cell_load(loops, sum, NULL) : NULL;
	if (!value)
		value = reduce_step(
		        loops, d, cell_load(loops, cell_for(b, d), address_of(b, d, at)), whole(b, d->body, with));
	store(b, d, at, value, out);
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
	const struct index *row = index_value(arena, whole(b, d->row, with), 0, d->extents[last]);
	out = add_if(b, &range, count, out);
	row = index_var(arena, index_new(b->loops, "n", d->extents[last] + 1, row, out), d->extents[last] + 1);
	if (!with[last])
		out = add_map(b, d, last, with, out);
	range = (struct range){ index_add(arena, with[last], index_scale(arena, row, -1)), -d->extents[last], 0 };
	struct stmt *stmt = stmt_new(b->loops, STMT_STORE);
	stmt->cell = cell_for(b, d);
	stmt->at = index_add(arena, begin, with[last]);
	stmt->value = whole(b, d->body, with);
	block_add(b->loops, add_if(b, &range, 1, out), stmt);
}

/* Adds the loops of one definition whose variables with[v] != NULL are given. */
static void define(struct building *b, struct definition *d, const struct index **with, struct block *out)
{
	struct loops *loops = b->loops;
	int order[MAX_RANK], count = by_stride(d, 0, d->rank, order);
	if (definition_elements(d) == 0)
		return;
	for (int v = 0; v < d->rank; v++)
		if (d->extents[v] == 1 && !with[v])
			with[v] = index_constant(loops->arena, 0); /* others are given, or get a loop */
	if (definition_scatters(d)) {
		scatter(b, d, with, out);
		return;
	}
	for (int n = 0; n < count; n++) {
		if (!with[order[n]] && !(d->lies && order[n] == d->rank - 1))
			out = add_map(b, d, order[n], with, out);
	}
	if (d->lies) {
		store_row(b, d, with, out);
		return;
	}
	const struct index *at[MAX_RANK];
	for (int v = 0; v < d->rank; v++)
		at[v] = with[v];
	if (d->reduce != REDUCE_NONE && definition_terms(d) == 0)
		store(b, d, at, d->start ? whole(b, d->start, with) : reduce_start(loops, d->reduce, d->type), out);
	else if (d->reduce == REDUCE_NONE)
		store(b, d, at, whole(b, d->body, with), out);
	else if (d->order == ORDER_LANES)
		lanes(b, d, with, at, out);
	else
		chain(b, d, with, at, out);
}

/* ---- blocks ---- */

static struct loops *loops_new(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	struct loops *loops = arena_new(arena, struct loops);
	loops->build = build;
	loops->arena = arena;
	loops->target = target;
	loops->kernel = kernel;
	loops->blocks = 1;
	loops->blocks_of = "all";
	return loops;
}

static struct stmt *block_loop(struct loops *loops, int64_t extent)
{
	int var = var_new(loops, "b", extent);
	struct stmt *loop = for_new(loops, var, extent, ROLE_BLOCKS);
	loops->blocks = extent;
	block_add(loops, &loops->body, loop);
	return loop;
}

static const char *names_of(struct loops *loops, const struct definition *d, const int *order, int count)
{
	const char *names = NULL;
	for (int n = 0; n < count; n++)
		names = arena_printf(
		        loops->arena, "%s%s%s", names ? names : "", names ? " " : "", output_names[order[n] % 5]);
	(void)d;
	return names ? names : "all";
}

/* The counted variable becomes the outermost of the `taken`, or one more of them, as far as `inside` allows. */
static int take_counted(const struct kernel *kernel, int *order, int count, int taken, int inside)
{
	int v = kernel_counted(kernel), at = 0;
	while (at < count && order[at] != v)
		at++;
	if (at >= count - (at >= taken ? inside : 0))
		return taken;
	memmove(order + 1, order, (size_t)at * sizeof *order);
	order[0] = v;
	return taken + (at >= taken);
}

/* The outermost loop of the blocks ends at its count: `by` blocks for each `per` rounds of it. */
static void end_blocks(struct loops *loops, const struct definition *d, int v, int64_t by, int64_t per)
{
	if (kernel_counted(loops->kernel) != v)
		return;
	loops->count = d->counts[v];
	loops->most = d->extents[v];
	loops->ends_by = by;
	loops->ends_per = per;
}

/* Variable v of the output, as a variable of its own where it is computed from the block's number. */
static const struct index *named_index(
        struct loops *loops, int v, const struct index *at, int64_t extent, struct block *out)
{
	int64_t value;
	if (index_is_constant(at, &value) || index_is_var(at, &(int){ 0 }))
		return at;
	return index_var(loops->arena, index_new(loops, output_names[v % 5], extent, at, out), extent);
}

/* The loops order[0 … count-1] over blocks of `together` rounds of the last of them, which run side by side.  `named`:
 * each variable is computed by an INDEX, else it is a quotient inside the addresses, which add up again where the
 * buffers are dense. */
static struct block *outer_loops(struct building *b, const struct definition *d, const int *order, int count,
        int64_t together, bool named, const struct index **with)
{
	struct loops *loops = b->loops;
	int64_t extents[MAX_RANK] = { 0 }, blocks = 1;
	const struct index *at[MAX_RANK];
	for (int n = 0; n < count; n++) {
		extents[n] = d->extents[order[n]];
		blocks *= extents[n];
	}
	if (count)
		extents[count - 1] /= together;
	struct stmt *loop = block_loop(loops, blocks / together);
	if (count)
		end_blocks(
		        loops, d, order[0], count == 1 ? 1 : blocks / together / extents[0], count == 1 ? together : 1);
	loops->blocks_of = names_of(loops, d, order, count);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks / together), count, extents, at);
	for (int n = 0; n < count; n++) {
		if (named)
			at[n] = named_index(loops, order[n], at[n], extents[n], &loop->body);
	}
	if (together > 1) {
		struct stmt *rows = for_new(loops, var_new(loops, "r", together), together, ROLE_MAP);
		rows->together = true;
		loops->beside = (int)together;
		loops->beside_var = rows->var;
		block_add(loops, &loop->body, rows);
		at[count - 1] = index_add(loops->arena, index_scale(loops->arena, at[count - 1], together),
		        index_var(loops->arena, rows->var, together));
		loops->blocks_of = arena_printf(loops->arena, "%lld of %s", (long long)together, loops->blocks_of);
		loop = rows;
	}
	for (int n = 0; n < count; n++)
		with[order[n]] = at[n];
	return &loop->body;
}

/* The loops order[0 … taken-1] over blocks, and `share` rounds of order[taken] for each. */
static struct block *shared_out(struct building *b, const struct definition *d, const int *order, int taken,
        int64_t share, const struct index **with)
{
	struct loops *loops = b->loops;
	int64_t extents[MAX_RANK], blocks = 1;
	const struct index *at[MAX_RANK];
	for (int n = 0; n <= taken; n++)
		blocks *= extents[n] = n < taken ? d->extents[order[n]] : d->extents[order[n]] / share;
	struct stmt *loop = block_loop(loops, blocks);
	loops->blocks_of = names_of(loops, d, order, taken + 1);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks), taken + 1, extents, at);
	for (int n = 0; n < taken; n++)
		with[order[n]] = at[n];
	b->shared = order[taken];
	b->share = share;
	b->share_from = index_scale(loops->arena, at[taken], share);
	return &loop->body;
}

/* How many of the loops, outermost first, a block is one round of.  `inside` of them stay: lanes, and neighbours for
 * tiles. */
static int outer_count(
        const struct loops *loops, const struct definition *d, double work, const int *order, int count, int inside)
{
	int taken = 0;
	while (taken < count - inside && work / (double)d->extents[order[taken]] >= (double)block_work(loops))
		work /= (double)d->extents[order[taken++]];
	return taken;
}

/* Where lanes are threads blocks are warps, and few of them leave the machine idle: then neighbours do not stay
 * together. */
static int inside_of(
        const struct loops *loops, const struct definition *d, double work, const int *order, int count, int inside)
{
	int64_t blocks = 1;
	for (int n = outer_count(loops, d, work, order, count, inside) - 1; n >= 0; n--)
		blocks *= d->extents[order[n]];
	return inside > 1 && loops->target->lanes_are_threads && blocks < loops->target->tiles_least ? 1 : inside;
}

static double work_of(const struct definition *d)
{
	return (double)definition_elements(d) * (double)definition_terms(d);
}

/* How many rows run side by side: short ones wait for their own sums, one after the other. */
enum { ROW_MOST = 1024, PAIR_MOST = 2048, FUSED_TOGETHER = 8 };
static int64_t rows_together(const struct building *b, int64_t rows)
{
	const struct target *target = b->loops->target;
	int64_t most = 1, largest = 1;
	for (size_t i = 0; i < b->kernel->members.count; i++) {
		const struct definition *d = b->kernel->members.at[i];
		int64_t size = local_size(d, b->outer);
		largest = size > largest ? size : largest;
		if (d->reduce == REDUCE_NONE)
			continue;
		if (size > 1)
			return 1;
		int64_t registers = SUMS / target->lanes,
		        fit = d->order == ORDER_SERIAL ? FUSED_TOGETHER : target->registers / 2 / registers;
		most = most == 1 || fit < most ? fit : most;
	}
	if (largest > PAIR_MOST || target->lanes == 1)
		return 1;
	if (largest > ROW_MOST && most > 2) /* two hide each other's sums; more would not stay in L1 */
		most = 2;
	while (most > 1 && rows % most)
		most--;
	return most < 1 ? 1 : most;
}

/* Windows that overlap share part of what neighbouring rows load: some rows side by side load it once.  A
 * straight line of them must fit, and enough blocks must be left to share out. */
enum { WINDOW_TERMS = 16, BLOCKS_LEAST = 4 };
struct sliding {
	struct arena *arena;
	const struct definition *d;
	int row;
	bool shares;
};
static void see_sliding(void *user, const struct expr *load)
{
	struct sliding *s = user;
	const struct index *address = schedule_address(s->arena, load->of, load->at);
	int64_t factor = index_factor(address, s->row);
	for (int r = 0; r < s->d->reduced && factor; r++) {
		int64_t tap = index_factor(address, s->d->rank + r),
		        step = tap > 0 && factor % tap == 0 ? factor / tap : 0;
		s->shares |= step && s->d->reduced_extents[r] > 2 && s->d->reduced_extents[r] > step;
	}
}

static bool slides_along(const struct building *b, const struct definition *d, int row)
{
	struct sliding s = { b->loops->arena, d, row, false };
	expr_loads(d->body, see_sliding, &s);
	return s.shares;
}

static int64_t windows_together(const struct building *b, const struct definition *last, const int *order, int taken)
{
	static const int many[] = { 4, 5, 3, 2 }, few[] = { 2, 3, 0, 0 }; /* rows for 32 registers; for 16 */
	const struct target *target = b->loops->target;
	const int *best = target->registers >= 32 ? many : few;
	const struct definition *first = b->kernel->members.at[0];
	if (!taken || target->lanes == 1 || target->lanes_are_threads || first->reduce == REDUCE_NONE
	        || first->order != ORDER_SERIAL || definition_terms(first) > WINDOW_TERMS)
		return 1;
	for (size_t i = 1; i < b->kernel->members.count; i++)
		if (b->kernel->members.at[i]->reduce != REDUCE_NONE)
			return 1;
	int64_t rows = slides_along(b, first, order[taken - 1]) ? last->extents[order[taken - 1]] : 0;
	for (size_t i = 0; rows && i < COUNT(many) && best[i]; i++)
		if (rows % best[i] == 0 && rows / best[i] >= BLOCKS_LEAST)
			return best[i];
	return 1;
}

/* One loop more where its rows are windows to run side by side, and lanes lie along such windows too: planes of
 * channels, each by rows. */
static int windows_taken(
        const struct building *b, const struct definition *last, const int *order, int taken, int count)
{
	return taken == count - 2 && slides_along(b, b->kernel->members.at[0], order[count - 1])
	                && windows_together(b, last, order, taken) == 1
	                && windows_together(b, last, order, taken + 1) > 1
	        ? taken + 1
	        : taken;
}

/* Rounds of the one loop that is left where lanes are threads: warps for parts of it, as long as the machine is not
 * full; 0: all of them. */
static int64_t lanes_share(const struct building *b, const struct definition *d, const int *order, int count, int taken)
{
	const struct target *target = b->loops->target;
	int64_t blocks = 1, share = target->lanes;
	if (!target->lanes_are_threads || taken != count - 1 || kernel_counted(b->kernel) >= 0
	        || d->extents[order[taken]] % share)
		return 0;
	for (int n = 0; n < taken; n++)
		blocks *= d->extents[order[n]];
	while (share < d->extents[order[taken]]
	        && (d->extents[order[taken]] % share
	                || blocks * d->extents[order[taken]] / share > target->tiles_least))
		share += target->lanes;
	return share < d->extents[order[taken]] ? share : 0;
}

/* Several definitions under common loops.  Where none has loops of its own, lanes and tiles lie along the common ones.
 */
static struct loops *build_members(struct building *b, bool named)
{
	const struct kernel *kernel = b->kernel;
	struct loops *loops = b->loops;
	const struct definition *last = kernel->members.at[kernel->members.count - 1];
	int order[MAX_RANK], count = 0, inside = 1;
	double work = 0;
	bool own = false;
	add_cells(b);
	for (size_t i = 0; i < kernel->members.count; i++) {
		const struct definition *d = kernel->members.at[i];
		work += work_of(d);
		own |= local_size(d, kernel->outer) > 1;
		if (d->reduce != REDUCE_NONE)
			inside = d->order == ORDER_SERIAL ? 2 : inside;
	}
	count = by_stride(last, 0, kernel->outer, order);
	inside = inside_of(loops, last, work, order, count, inside);
	int taken = own ? count
	                : windows_taken(b, last, order, outer_count(loops, last, work, order, count, inside), count);
	taken = take_counted(kernel, order, count, taken, inside);
	const struct index *with[MAX_VARS] = { 0 };
	int64_t share = own ? 0 : lanes_share(b, last, order, count, taken);
	int64_t together = own && count ? rows_together(b, last->extents[order[count - 1]])
	        : own                   ? 1
	                                : windows_together(b, last, order, taken);
	struct block *out = share ? shared_out(b, last, order, taken, share, with)
	                          : outer_loops(b, last, order, taken, together, named, with);
	for (int n = taken; n < count; n++)
		out = add_map(b, last, order[n], with, out);
	for (size_t i = 0; i < kernel->members.count; i++) {
		struct definition *d = kernel->members.at[i];
		const struct index *at[MAX_VARS] = { 0 };
		memcpy(at, with, (size_t)kernel->outer * sizeof *at);
		for (size_t c = 0; c < loops->owners.count; c++)
			if (loops->owners.at[c] == d && loops->cells.at[c]->kind == CELL_ARRAY) {
				struct stmt *array = stmt_new(loops, STMT_ARRAY);
				array->cell = loops->cells.at[c];
				block_add(loops, out, array);
			}
		define(b, d, at, out);
	}
	return loops;
}

/* A transposition: neighbours of the output lie apart in what is loaded, and neighbours there lie apart in the output,
 * along variable `across`.  A block is then some rounds of `across`, which vectorise.c puts innermost: each line of
 * memory is used whole. */
struct crossing {
	const struct definition *d;
	struct arena *arena;
	int unit, across;
};
static void see_crossing(void *user, const struct expr *load)
{
	struct crossing *c = user;
	const struct index *address = schedule_address(c->arena, load->of, load->at);
	int64_t factor = index_factor(address, c->unit);
	for (int v = 0; v < c->d->rank && (factor > 1 || factor < -1); v++)
		if (v != c->unit && c->d->extents[v] > 1 && index_factor(address, v) == 1)
			c->across = v;
}

static int crossed(struct building *b, const struct definition *d, const int *order, int count)
{
	struct crossing c = { d, b->loops->arena, count ? order[count - 1] : -1, -1 };
	if (d->reduce == REDUCE_NONE && d->type == DTYPE_F32 && count > 1 && !expr_has(d->body, 1u << EXPR_SELECT))
		expr_loads(d->body, see_crossing, &c);
	return c.across;
}

/* The largest divisor of the extent that is no more than a block's share of it: a line of what is loaded, so that each
 * of a square's rows is stored from its start to its end. */
enum { LINE_FLOATS = 16, SHARE_MOST = 64 };
static int64_t share_of(const struct target *target, int64_t extent)
{
	int64_t share = target->lanes > 1 && !target->lanes_are_threads && extent % LINE_FLOATS == 0 ? LINE_FLOATS
	        : SHARE_MOST < extent                                                                ? SHARE_MOST
	                                                                                             : extent;
	while (extent % share)
		share--;
	return share < 16 ? extent : share;
}

/* Loops order[0 … count-1]: all but the last and `across` are outer, and so are shares of `across`. */
static struct loops *build_crossed(struct building *b, int across, const int *order, int count, bool named)
{
	struct definition *d = b->kernel->members.at[0];
	struct loops *loops = b->loops;
	int64_t extents[MAX_RANK], share = share_of(loops->target, d->extents[across]), blocks = 1;
	const struct index *at[MAX_RANK], *with[MAX_VARS] = { 0 };
	int outer = 0;
	for (int n = 0; n < count - 1; n++) {
		extents[outer] = order[n] == across ? d->extents[across] / share : d->extents[order[n]];
		blocks *= extents[outer++];
	}
	struct stmt *loop = block_loop(loops, blocks);
	loops->blocks_of = names_of(loops, d, order, outer);
	index_unflatten(loops->arena, index_var(loops->arena, loop->var, blocks), outer, extents, at);
	for (int n = 0; n < outer; n++)
		with[order[n]] = named ? named_index(loops, order[n], at[n], extents[n], &loop->body) : at[n];
	int var = var_new(loops, output_names[across % 5], share);
	struct stmt *inner = for_new(loops, var, share, ROLE_MAP);
	block_add(loops, &loop->body, inner);
	with[across] = index_add(
	        loops->arena, index_scale(loops->arena, with[across], share), index_var(loops->arena, var, share));
	define(b, d, with, &inner->body);
	return loops;
}

/* Rounds of one variable that a block has, where its loop is shared out: a divisor, best of whole vectors. */
enum { VECS_TOGETHER = 4 };
static int64_t places_share(const struct loops *loops, const struct definition *d, int64_t extent, double work)
{
	const struct target *target = loops->target;
	int64_t unit = 1,
	        half = target->registers / 2; /* rows of sums so long lie side by side: they come as they lie */
	if (d->running && target->lanes > 1 && !target->lanes_are_threads && extent % (target->lanes * half) == 0)
		unit = target->lanes * half;
	for (int64_t lanes = target->lanes; unit == 1 && lanes > 1;
	        lanes /= 2) /* rows are apart: some vectors of each together */
		unit = extent % (lanes * VECS_TOGETHER) == 0 ? lanes * VECS_TOGETHER : 1;
	int64_t share = unit;
	while (share < extent && (extent % share || work / (double)extent * (double)share < (double)block_work(loops)))
		share += unit;
	return share;
}

static int64_t divisor_below(int64_t n, int64_t most)
{
	while (n % most)
		most--;
	return most;
}

/* Rows that run along what lies side by side, in what they load and what they store: with as many as lanes, each lane
 * is a row (vectorise.c). */
struct rowing {
	struct building *b;
	const struct definition *d;
	int loads;
	bool along;
};
static void see_rowing(void *user, const struct expr *load)
{
	struct rowing *r = user;
	const struct index *at = schedule_address(r->b->loops->arena, load->of, load->at);
	if (index_is_constant(at, &(int64_t){ 0 }))
		return;
	r->loads++;
	r->along &= load->type == DTYPE_F32 && index_factor(at, r->d->rank) == 1;
}

static bool rows_are_lanes(struct building *b, const struct definition *d, int64_t rows)
{
	const struct target *target = b->loops->target;
	struct rowing r = { b, d, 0, true };
	if (target->lanes < 4 || target->small || d->type != DTYPE_F32 || rows % target->lanes || d->reduced != 1
	        || d->reduced_extents[0] < target->lanes || !scatter_covers(d))
		return false;
	for (int v = 0; v < d->rank; v++)
		r.along &= !d->place[v] || d->extents[v] == 1
		        || (index_factor(d->place[v]->index, d->rank) == 1 && stride_of(d, v) == 1);
	expr_loads(d->body, see_rowing, &r);
	return r.loads == 1 && r.along;
}

/* Terms with places: blocks are rounds of the variables that have none, the outermost first; of one that runs inside
 * the terms, or along lanes, shares. Rows that each run along themselves do so side by side: each waits for its own
 * sum. */
static struct loops *build_places(struct building *b, bool named)
{
	struct definition *d = b->kernel->members.at[0];
	struct loops *loops = b->loops;
	const struct index *with[MAX_VARS] = { 0 };
	int order[MAX_RANK], own[MAX_RANK], count = by_stride(d, 0, d->rank, order), free = 0, inner = 0;
	add_cells(b);
	for (int n = 0; n < count; n++) {
		inner = d->place[order[n]] ? 0 : inner + 1;
		if (!d->place[order[n]])
			own[free++] = order[n];
	}
	double work = definition_work(d);
	bool rows = d->running && free && !inner && !loops->target->lanes_are_threads;
	int inside = d->running ? free && !rows : inner, taken = outer_count(loops, d, work, own, free, inside);
	for (int n = 0; n < taken; n++)
		work /= (double)d->extents[own[n]];
	int64_t last = rows ? d->extents[own[free - 1]] : 1, together = 1;
	if (rows && taken >= free - 1)
		together = rows_are_lanes(b, d, last) ? loops->target->lanes
		        : loops->target->small        ? 1
		                                      : divisor_below(last, FUSED_TOGETHER);
	if (rows && taken == free - 1 && work / (double)last * (double)together >= (double)block_work(loops))
		taken++;
	int64_t share = inside && taken == free - inside ? places_share(loops, d, d->extents[own[taken]], work) : 0;
	if (!share || share == d->extents[own[taken]]) {
		define(b, d, with, outer_loops(b, d, own, taken, taken == free ? together : 1, named, with));
		return loops;
	}
	define(b, d, with, shared_out(b, d, own, taken, share, with));
	return loops;
}

static struct loops *build_alone(struct building *b, bool named)
{
	struct definition *d = b->kernel->members.at[0];
	const struct index *with[MAX_VARS] = { 0 };
	int order[MAX_RANK], count = by_stride(d, 0, d->rank, order);
	if (definition_scatters(d))
		return build_places(b, named);
	add_cells(b);
	int across = crossed(b, d, order, count);
	if (across >= 0)
		return build_crossed(b, across, order, count, named);
	int inside = d->reduce == REDUCE_NONE ? 1 : d->order == ORDER_SERIAL ? 2 : count > 1;
	inside = inside_of(b->loops, d, work_of(d), order, count, inside);
	int taken = windows_taken(b, d, order, outer_count(b->loops, d, work_of(d), order, count, inside), count);
	taken = take_counted(b->kernel, order, count, taken, inside);
	int64_t share = lanes_share(b, d, order, count, taken);
	define(b, d, with,
	        share ? shared_out(b, d, order, taken, share, with)
	              : outer_loops(b, d, order, taken, windows_together(b, d, order, taken), named, with));
	return b->loops;
}

/* A map whose loops are all one, by address: blocks of `chunk` elements, the last one shorter where it must be. */
static int64_t chunk_of(int64_t elements, int64_t most)
{
	for (int64_t chunk = most; chunk >= most / 8; chunk -= 64)
		if (elements % chunk == 0)
			return chunk;
	return most / 2;
}

static struct loops *build_flat(struct building *b)
{
	struct definition *d = b->kernel->members.at[0];
	struct loops *loops = b->loops;
	int order[MAX_RANK], count = by_stride(d, 0, d->rank, order);
	int64_t elements = definition_elements(d), extents[MAX_RANK];
	add_cells(b);
	for (int n = 0; n < count; n++)
		extents[n] = d->extents[order[n]];
	int64_t most = 4 * block_work(loops); /* of a map that is one loop */
	int64_t chunk = elements > most ? chunk_of(elements, most) : elements, blocks = (elements + chunk - 1) / chunk,
	        whole_blocks = elements / chunk;
	struct stmt *loop = block_loop(loops, blocks);
	if (count)
		end_blocks(loops, d, order[0], elements / extents[0], chunk);
	loops->blocks_of = arena_printf(loops->arena, "%lld elements", (long long)chunk);
	struct block *out = &loop->body;
	struct stmt *which = NULL;
	if (whole_blocks < blocks) {
		struct range *range = arena_new(loops->arena, struct range);
		*range = (struct range){ index_var(loops->arena, loop->var, blocks), 0, whole_blocks };
		which = stmt_new(loops, STMT_IF);
		which->ranges = range;
		which->range_count = 1;
		block_add(loops, out, which);
	}
	for (int last = 0; last <= (which != NULL); last++) {
		int64_t extent = last ? elements % chunk : chunk;
		int var = var_new(loops, "i", extent);
		struct stmt *inner = for_new(loops, var, extent, ROLE_MAP);
		const struct index *at[MAX_RANK], *with[MAX_VARS] = { 0 };
		const struct index *first = last
		        ? index_constant(loops->arena, whole_blocks * chunk)
		        : index_scale(loops->arena, index_var(loops->arena, loop->var, blocks), chunk);
		const struct index *flat = index_add(loops->arena, first, index_var(loops->arena, var, extent));
		index_unflatten(loops->arena, flat, count, extents, at);
		for (int n = 0; n < count; n++)
			with[order[n]] = at[n];
		block_add(loops, which ? last ? &which->other : &which->body : out, inner);
		define(b, d, with, &inner->body);
	}
	return loops;
}

/* Blocks of elements, whatever they are, end at a count of the outermost loop alone. */
static bool counts_outermost(const struct kernel *kernel)
{
	int order[MAX_RANK], v = kernel_counted(kernel);
	return v < 0 || (by_stride(kernel->members.at[0], 0, kernel->members.at[0]->rank, order) && order[0] == v);
}

static bool bends_anywhere(const struct loops *loops)
{
	for (size_t v = 0; v < loops->vars.count; v++)
		if (block_bends(&loops->body, (int)v))
			return true;
	return false;
}

struct loops *loops_build(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	struct building b = { .kernel = kernel, .outer = kernel->members.count == 1 ? 0 : kernel->outer };
	const struct definition *d = kernel->members.at[0];
	bool any = false;
	for (size_t i = 0; i < kernel->members.count; i++)
		any |= definition_elements(kernel->members.at[i]) > 0;
	if (!any) { /* nothing to compute: an empty block */
		b.loops = loops_new(build, arena, target, kernel);
		add_cells(&b);
		block_loop(b.loops, 1);
		return b.loops;
	}
	b.loops = loops_new(build, arena, target, kernel);
	int order[MAX_RANK], count = by_stride(d, 0, d->rank, order);
	if (kernel->members.count == 1 && d->reduce == REDUCE_NONE && !d->lies && !expr_has(d->body, 1u << EXPR_SELECT)
	        && counts_outermost(kernel) && crossed(&b, d, order, count) < 0) {
		build_flat(&b);
		if (!bends_anywhere(b.loops))
			return b.loops;
	}
	for (int named = 0; named < 2; named++) {
		b.loops = loops_new(build, arena, target, kernel);
		if (kernel->members.count == 1)
			build_alone(&b, named);
		else
			build_members(&b, named);
		int block_var = b.loops->body.at[0]->var;
		if (!block_bends(&b.loops->body, block_var))
			break;
	}
	return b.loops;
}
