/* fuse.c: gathers what is stored into kernels.
 *
 * A sum of products keeps the map behind it in registers (its epilogue) where that map reads each element once and
 * nothing else reads the sum.  Generic definitions join the kernel before them where they read it at the same outer
 * indices and the rest fits into L1: softmax and layer norm become one kernel over rows; for that a reduction takes the
 * order of its one reader. */
#include "kernels/kernels.h"
#include "ingot/mode.h"

enum {
	/* Of one local row, or of a whole array where there are no outer loops: anywhere, on a short stack, and there of
	 * dwords (products.c), which are made of an image. */
	ROW_BYTES = INGOT_LOCAL_BYTES,
	SHORT_ROW_BYTES = 12 << 10,
	WORDS_ROW_BYTES = 1 << 10,
	SMALL_WORDS_ROW_BYTES = 1 << 8 /* there may be two, in a stack of 400 bytes */
};

/* ---- epilogues ---- */
struct uses {
	const struct definition *of;
	const struct expr *load;
	bool differ;
};
static void see_use(void *user, const struct expr *load)
{
	struct uses *uses = user;
	if (load->of != uses->of)
		return;
	uses->differ |= uses->load && !expr_equal(uses->load, load);
	uses->load = load;
}
const struct expr *expr_only_load(const struct expr *expr, const struct definition *of)
{
	struct uses uses = { .of = of };
	expr_loads(expr, see_use, &uses);
	return uses.differ ? NULL : uses.load;
}

/* Do these variables of the map, over the root's, make the map read the root at its own variables? */
static bool reads_at_own(struct arena *arena, const struct definition *root, const struct expr *load,
        const struct index *const *vars, const struct index *const *with)
{
	const struct expr *seen = expr_substitute(arena, load, with);
	FOR (d, root->rank)
		if (!index_equal(seen->at[d], vars[d]))
			return false;
	return true;
}

/* The map's variables over the root's such that the map reads the root at its own variables.  False where no
 * permutation does. */
static bool relate_by_permutation(struct arena *arena, const struct definition *map, const struct definition *root,
        const struct expr *load, const struct index **with)
{
	const struct index *vars[MAX_RANK];
	if (definition_elements(map) != definition_elements(root))
		return false;
	index_vars(arena, vars, root->rank, root->extents);
	memset(with, 0, MAX_VARS * sizeof *with);
	for (int d = 0, v; d < root->rank; d++)
		if (index_is_var(load->at[d], &v) && map->extents[v] == root->extents[d])
			with[v] = vars[d];
	FOR (v, map->rank)
		if (!with[v])
			with[v] = index_constant(arena, 0);
	return reads_at_own(arena, root, load, vars, with);
}

/* The same where each variable of the root is a part, by division and remainder, of one of the map's: heads in groups.
 * The innermost stays the innermost, and is long enough for lanes. */
enum { RUN_LEAST = 16 };
static bool relate_by_parts(struct arena *arena, const struct definition *map, const struct definition *root,
        const struct expr *load, const struct index **with)
{
	const struct index *vars[MAX_RANK];
	int last = root->rank - 1;
	if (last < 0 || root->extents[last] < RUN_LEAST)
		return false;
	index_vars(arena, vars, root->rank, root->extents);
	FOR (v, map->rank)
		with[v] = index_constant(arena, 0);
	for (int d = 0, v; d < root->rank; d++) {
		const struct index *at = load->at[d];
		int64_t by = 1;
		while (at->count == 1 && !index_is_var(at, &v) && at->terms[0].factor == 1 && !at->constant
		        && (at->terms[0].atom->kind == ATOM_DIV || at->terms[0].atom->kind == ATOM_MOD)) {
			by *= at->terms[0].atom->kind == ATOM_DIV ? at->terms[0].atom->by : 1;
			at = at->terms[0].atom->of;
		}
		if (root->extents[d] > 1 && (!index_is_var(at, &v) || v >= map->rank))
			return false;
		if (d == last && (by > 1 || v != map->rank - 1))
			return false;
		if (root->extents[d] > 1)
			with[v] = index_add(arena, with[v], index_scale(arena, vars[d], by));
	}
	return reads_at_own(arena, root, load, vars, with);
}

/* Of few columns with rows between them, or pairs (the phases of a transposed convolution with one result or two): lanes
 * run along places, and what moves them is a map of its own. */
enum { PAIR = 2 };
static bool moves_few_columns(const struct target *target, const struct contraction *c)
{
	int64_t columns = 1, last = 0, most = 0;
	bool rows = false, apart = false;
	FOR (v, c->root->rank) {
		int64_t extent = c->root->extents[v];
		bool column = extent > 1 && expr_uses(c->b, v) && !expr_uses(c->a, v);
		columns *= column ? extent : 1;
		last = column ? extent : last;
		apart |= column && rows;
		rows |= columns > 1 && !column && extent > 1;
		most = !column && extent > most ? extent : most;
	}
	return has_vectors(target) && !target->options.small && (apart || last == PAIR) && 2 * columns <= target->lanes
	        && most >= target->lanes;
}

/* The same by permutation, as a reshape, or by parts. */
static bool relate(struct arena *arena, const struct definition *map, const struct definition *root,
        const struct expr *load, const struct index **with)
{
	const struct index *vars[MAX_RANK];
	if (relate_by_permutation(arena, map, root, load, with))
		return true;
	if (definition_elements(map) != definition_elements(root))
		return false;
	index_vars(arena, vars, root->rank, root->extents);
	memset(with, 0, MAX_VARS * sizeof *with);
	index_unflatten(arena, index_flatten(arena, root->rank, vars, root->extents), map->rank, map->extents, with);
	return reads_at_own(arena, root, load, vars, with) || relate_by_parts(arena, map, root, load, with);
}

/* The last sum of products before `before` that this map alone reads. */
struct seeking {
	const struct definition *map;
	int before;
	struct definition *root;
};
static void see_root(void *user, const struct expr *load)
{
	struct seeking *s = user;
	struct definition *root = load->of;
	const struct contraction *c = scheduled(root)->contraction;
	if (root->number < s->before && (!s->root || root->number > s->root->number) && c && c->root == root
	        && !c->epilogue && !scheduled(root)->bare && !root->port.is_output
	        && branch_equal(root->branch, s->map->branch) && scheduled(root)->readers.count == 1
	        && scheduled(root)->readers.at[0] == s->map)
		s->root = root;
}

static struct definition *root_before(const struct definition *map, int before)
{
	struct seeking seeking = { .map = map, .before = before };
	expr_loads(map->body, see_root, &seeking);
	return seeking.root;
}

/* Is what `from` reads computed further, on the way to `d`? */
enum { FOLLOWED_MOST = 8 };
struct following {
	const struct definition *of;
	int depth;
	bool found;
};
static void see_followed(void *user, const struct expr *load)
{
	struct following *f = user;
	if (load->of == f->of)
		f->found = true;
	if (f->found || load->of->source != SOURCE_COMPUTED || f->depth == FOLLOWED_MOST)
		return;
	f->depth++;
	expr_loads(load->of->body, see_followed, f);
	f->depth--;
}
static void see_operand(void *user, const struct expr *load)
{
	struct following *f = user, operand = { .of = load->of };
	if (load->of->source == SOURCE_CONSTANT || f->found)
		return;
	expr_loads(f->of->body, see_followed, &operand);
	f->found = operand.depth == 0 && operand.found && scheduled(load->of)->readers.count > 1;
}

/* The last two sums that a map adds: where the first goes further from what the second reads (a block of layers beside a
 * single one) the map is its epilogue, and the second need not wait for it. */
static struct definition *root_of_longer(const struct definition *map)
{
	struct definition *second = root_before(map, map->number),
	                  *first = second ? root_before(map, second->number) : NULL;
	struct following f = { .of = first };
	if (!first)
		return NULL;
	expr_loads(second->body, see_operand, &f);
	return f.found ? first : NULL;
}

static bool fuse_epilogue(struct lowered *lowered, struct definition *map, struct definition *root)
{
	struct contraction *c = scheduled(root)->contraction;
	const struct index *with[MAX_VARS];
	const struct expr *load = expr_only_load(map->body, root);
	if (!load || !relate(lowered->arena, map, root, load, with)
	        || (map->rank < root->rank && moves_few_columns(lowered->target, c)))
		return false;
	const struct expr *epilogue = expr_substitute(lowered->arena, map->body, with);
	if (!contraction_in_lanes(lowered->target, c, epilogue))
		return false;
	c->result = map;
	c->epilogue = epilogue;
	c->store_at = arena_new_array(lowered->arena, const struct index *, (size_t)map->rank + 1);
	memcpy(c->store_at, with, (size_t)map->rank * sizeof *with);
	scheduled(root)->mode = MODE_LOCAL;
	scheduled(map)->contraction = c;
	return true;
}

/* Is it a map of the elements of `of`, each at its own place? */
static bool reads_each(const struct definition *map, const struct definition *of)
{
	if (map->reduce != REDUCE_NONE || map->lies || map->rank != of->rank
	        || memcmp(map->extents, of->extents, sizeof *of->extents * (size_t)of->rank))
		return false;
	const struct expr *load = expr_only_load(map->body, of);
	for (int v = 0; load && v < of->rank; v++)
		if (of->extents[v] > 1 && !index_is(load->at[v], v))
			return false;
	return load;
}

/* Where lanes are threads the kernel of a result stores what a map makes of it alone, too: codes of a sum that a residual
 * reads as it is. */
struct standing {
	struct contraction *beside;
	bool apart;
};
static void see_beside(void *user, const struct expr *load)
{
	struct standing *s = user;
	struct contraction *c = scheduled(load->of)->contraction;
	bool result = c && c->result == load->of;
	s->apart |= result ? s->beside && c != s->beside : load->of->source != SOURCE_CONSTANT;
	s->beside = result ? c : s->beside;
}

static void fuse_beside(struct lowered *lowered, struct definition *map)
{
	struct standing s = { NULL, false };
	struct arena *arena = lowered->arena;
	expr_loads(map->body, see_beside, &s);
	struct contraction *c = s.beside;
	if (!c || s.apart || c->beside.d || c->rewrite || scheduled(c->root)->bare || !reads_each(map, c->result)
	        || memcmp(map->count.of, c->result->count.of, sizeof map->count.of)
	        || !branch_equal(map->branch, c->result->branch))
		return;
	const struct expr *body = c->result == c->root ? map->body : expr_inline(arena, map->body, c->result),
	                  *value = expr_substitute(arena, body, c->store_at);
	if (!contraction_in_lanes(lowered->target, c, value))
		return;
	c->beside.d = map;
	c->beside.value = value;
	scheduled(map)->contraction = c;
}

static void fuse_epilogues(struct lowered *lowered)
{
	struct program *program = lowered->program;
	FOR_EACH (struct definition *map, program->all) {
		if (scheduled(map)->mode == MODE_VIRTUAL || map->source != SOURCE_COMPUTED || map->reduce != REDUCE_NONE
		        || map->lies)
			continue;
		struct definition *root = lowered->target->thread ? root_of_longer(map) : NULL;
		if (root && fuse_epilogue(lowered, map, root))
			continue;
		/* The last one first, so that what it adds is there. */
		for (root = root_before(map, map->number); root && !fuse_epilogue(lowered, map, root);)
			root = root_before(map, root->number);
		if (!root && lowered->target->thread && !map->check && !scheduled(map)->steers)
			fuse_beside(lowered, map);
	}
}

/* ---- a generic reduction takes the index space of its reader ---- */
static void replace_reader(struct definition *of, struct definition *old, struct definition *new)
{
	FOR_ALL (i, scheduled(of)->readers)
		if (scheduled(of)->readers.at[i] == old)
			scheduled(of)->readers.at[i] = new;
}
struct replacing {
	struct definition *old, *new;
};
static void see_replace(void *user, const struct expr *load)
{
	struct replacing *r = user;
	replace_reader(load->of, r->old, r->new);
}

void take_space(struct arena *arena, struct definition *d, const struct definition *from,
        const struct definition *reader, const struct expr *load)
{
	const struct index *with[MAX_VARS] = { 0 };
	memcpy(with, load->at, (size_t)from->rank * sizeof *with);
	FOR (v, from->reduced)
		with[from->rank + v] = index_var(arena, reader->rank + v, from->reduced_extents[v]);
	d->reduce = from->reduce;
	d->sum.products = from->sum.products;
	d->sum.factors = from->sum.factors;
	d->sum.pairs = from->sum.pairs;
	d->order = from->order;
	d->chain = from->chain;
	d->batch = 0;
	for (int v = 0, var; v < from->rank; v++)
		if (from->batch >> v & 1 && index_is_var(load->at[v], &var))
			d->batch |= 1u << var;
	d->reduced = from->reduced;
	memcpy(d->reduced_extents, from->reduced_extents, sizeof d->reduced_extents);
	d->rank = reader->rank;
	memmove(d->extents, reader->extents, sizeof d->extents); /* `reader` may be `d` */
	memmove(d->count.of, reader->count.of, sizeof d->count.of);
	memmove(d->count.ends, reader->count.ends, sizeof d->count.ends);
	memcpy(d->count.reduced, from->count.reduced, sizeof d->count.reduced);
	d->start = from->start ? expr_substitute(arena, from->start, with) : NULL;
	d->body = expr_substitute(arena, from->body, with);
}

/* Where one map alone reads a generic reduction, permuted, the reduction runs in the order of that map: a map that only
 * moves becomes the reduction itself, any other can then join its kernel.  So a transposition behind a pooling costs
 * nothing. */
static void follow_reader(struct lowered *lowered, struct definition *d)
{
	struct arena *arena = lowered->arena;
	struct definition *reader = scheduled(d)->readers.count == 1 ? scheduled(d)->readers.at[0] : NULL;
	const struct index *with[MAX_VARS];
	if (d->reduce == REDUCE_NONE || definition_stands_alone(d) || d->port.is_output || scheduled(d)->blocked
	        || (reader && !branch_equal(d->branch, reader->branch)) || scheduled(d)->rewrite || d->original
	        || !reader || reader->reduce != REDUCE_NONE || reader->lies || scheduled(reader)->rewrite
	        || reader->original)
		return;
	const struct expr *load = expr_only_load(reader->body, d);
	if (!load || reader->rank + d->reduced > MAX_VARS || !relate_by_permutation(arena, reader, d, load, with))
		return;
	bool at_own = reader->rank == d->rank;
	for (int v = 0; at_own && v < d->rank; v++)
		at_own = d->extents[v] == 1 || index_is(load->at[v], v);
	bool moves = reader->body->kind == EXPR_LOAD && reader->body->of == d; /* not one whose place d says */
	if (at_own && !moves)
		return;
	struct definition *now = reader;
	if (!moves) { /* d in another order: a new definition in its place */
		struct scheduled *copy = arena_new(arena, struct scheduled);
		struct definition *transposed_store = &copy->of;
		*copy = *scheduled(d);
		take_space(arena, transposed_store, d, reader, load);
		d->sum.products = false;
		d->reduce = REDUCE_NONE; /* d itself only moves it, and is inlined as such */
		d->body = expr_substitute(arena, expr_load_own(arena, transposed_store), with);
		reader->body = expr_inline(arena, reader->body, d);
		lowered->program->all.at[d->number] = transposed_store;
		now = transposed_store;
	} else
		take_space(arena, reader, d, reader, load);
	struct replacing r = { d, now };
	definition_loads(now, see_replace, &r);
	scheduled(now)->generic = true;
	scheduled(d)->mode = MODE_VIRTUAL;
	scheduled(d)->readers.count = 0;
	layout_row_major(now);
}

/* ---- generic kernels ---- */
struct joining {
	const struct kernel *kernel;
	const struct definition *d;
	int outer;
	bool reads, window;
};

int kernel_member(const struct kernel *kernel, const struct definition *d)
{
	FOR_ALL (i, kernel->members)
		if (kernel->members.at[i] == d)
			return (int)i;
	return -1;
}

static bool is_member(const struct kernel *kernel, const struct definition *d) { return kernel_member(kernel, d) >= 0; }

/* Taps move it together with the result, and neighbours of the result share some: blocks of terms do not. */
static bool is_window(const struct definition *d, const struct index *at)
{
	int64_t step = INT64_MAX, reach = 0;
	FOR (i, at->count) {
		const struct atom *atom = at->terms[i].atom;
		int64_t factor = at->terms[i].factor < 0 ? -at->terms[i].factor : at->terms[i].factor;
		if (atom->kind == ATOM_VAR && atom->var >= d->rank)
			reach += factor * (d->reduced_extents[atom->var - d->rank] - 1);
		else if (factor < step)
			step = factor;
	}
	return reach > 0 && step < INT64_MAX && (d->order == ORDER_SERIAL || reach >= step);
}

static void see_join(void *user, const struct expr *load)
{
	struct joining *j = user;
	int d = 0;
	int64_t zero;
	if (!is_member(j->kernel, load->of))
		return;
	j->reads = true;
	FOR (i, load->of->rank)
		j->window |= is_window(j->d, load->at[i]);
	while (d < j->outer && d < load->of->rank
	        && (index_is(load->at[d], d) || (load->of->extents[d] == 1 && index_is_constant(load->at[d], &zero))))
		d++;
	j->outer = d < j->outer ? d : j->outer;
}

static int64_t inner_bytes(const struct definition *d, int outer)
{
	return (int64_t)dtype_bytes(d->type, (size_t)definition_row(d, outer));
}

/* What one kernel may cost an element, in vector instructions: beyond this a store and a load between two kernels are
 * nothing, and the compiler's time grows with each of its functions. */
enum { KERNEL_COST_MOST = 1024 };
static bool costs_too_much(const struct kernel *kernel, const struct definition *d)
{
	int cost = expr_cost(d->body);
	for (size_t i = 0; i < kernel->members.count && cost <= KERNEL_COST_MOST; i++)
		cost += expr_cost(kernel->members.at[i]->body);
	return cost > KERNEL_COST_MOST;
}

/* Does `result` read `of` element by element, and nobody later? */
static bool takes_place(const struct definition *result, const struct definition *of)
{
	if (is_local(result) || result->type != of->type)
		return false;
	FOR_EACH (struct definition *reader, scheduled(of)->readers) {
		if (reader->number > result->number)
			return false;
	}
	return reads_each(result, of);
}

static int64_t row_most(const struct target *target, enum dtype type)
{
	if (!target->short_stack || type != DTYPE_I32)
		return target->short_stack ? SHORT_ROW_BYTES : ROW_BYTES;
	return target->options.small ? SMALL_WORDS_ROW_BYTES : WORDS_ROW_BYTES;
}

/* Rows wider than that share a kernel where they need no scratch: stored, or in the place of `d`, which joins and reads
 * them element by element; and where there are rows enough to be shared by threads. */
enum { WIDE_BYTES = 16 * ROW_BYTES, WIDE_ROWS = 4 };
static bool wide_rows_lie(
        const struct target *target, const struct kernel *kernel, const struct definition *d, int outer)
{
	if (target->scratch_bytes || target->scratch_is_near || extents_product(outer, d->extents) < WIDE_ROWS
	        || inner_bytes(d, outer) > WIDE_BYTES)
		return false;
	int taken = 0;
	FOR_EACH (const struct definition *member, kernel->members) {
		bool inside = scheduled(member)->mode == MODE_DEVICE;
		for (size_t r = 0; inside && r < scheduled(member)->readers.count; r++)
			inside = scheduled(member)->readers.at[r] == d
			        || is_member(kernel, scheduled(member)->readers.at[r]);
		if (inner_bytes(member, outer) > (inside ? row_most(target, d->type) : WIDE_BYTES)
		        && (!takes_place(d, member) || taken++))
			return false;
	}
	return true;
}

/* Sums of many terms that are rows of their own: with few rounds of the outer loops, blocks that nobody would share. */
enum { SHARED_TERMS = 1 << 16, SHARED_ROUNDS = 4, WARP_TERMS = 1 << 12 };
static bool is_worth_sharing(const struct target *target, const struct definition *d, int outer)
{
	int64_t rounds = extents_product(outer, d->extents), terms = definition_terms(d) * definition_elements(d);
	return d->reduce == REDUCE_SUM && d->order == ORDER_LANES && definition_elements(d) > rounds
	        && !target->options.small && rounds < (target->lanes_are_threads ? target->share.tiles : SHARED_ROUNDS)
	        && terms >= (target->lanes_are_threads ? WARP_TERMS : SHARED_TERMS);
}

/* Where all that a kernel has is one row its scratch on the stack is as many bytes as in the workspace: a short stack is
 * left alone. */
enum { APART_BYTES = 64 };
/* Does `d` look up bytes that the kernel makes?  Together they would be one loop without lanes. */
struct looking_up {
	const struct kernel *kernel;
	int bytes;
};
static void count_bytes(void *user, const struct expr *load)
{
	struct looking_up *l = user;
	l->bytes += dtypes[load->type].bits == 8 && is_member(l->kernel, load->of);
}
static bool looks_up(const struct kernel *kernel, const struct definition *d)
{
	struct looking_up all = { kernel, 0 }, outside = { kernel, 0 };
	expr_loads(d->body, count_bytes, &all);
	expr_loads_outside(d->body, count_bytes, &outside);
	return all.bytes > outside.bytes;
}

/* Planes that lie as callers have them, from what the kernel reads to what is made of `d`: lanes run along rows of
 * those, whatever loop is around, and what maxima read of one plane, pads and all, stays near. */
enum { PLANES_DEEP = 4 };
struct planes {
	const struct kernel *kernel;
	int outer;
	bool lie;
};
static void see_plane(void *user, const struct expr *load)
{
	struct planes *p = user;
	if (is_member(p->kernel, load->of) || load->of->source == SOURCE_CONSTANT)
		return;
	p->lie &= scheduled(load->of)->mode == MODE_HOSTED && load->of->rank;
	for (int v = 0; v < p->outer && p->lie; v++)
		p->lie &= !index_uses(load->at[load->of->rank - 1], v);
}
static bool ends_hosted(const struct definition *d, int deep)
{
	if (scheduled(d)->mode == MODE_HOSTED)
		return true;
	bool all = scheduled(d)->readers.count > 0 && deep;
	for (size_t i = 0; i < scheduled(d)->readers.count && all; i++)
		all = ends_hosted(scheduled(d)->readers.at[i], deep - 1);
	return all;
}
static bool in_planes(const struct target *target, const struct kernel *kernel, const struct definition *d, int outer)
{
	struct planes p = { kernel, outer,
		d->reduce == REDUCE_MAX && scheduled(kernel->members.at[0])->kept && !target->calls && outer < d->rank
		        && ends_hosted(d, PLANES_DEEP) };
	for (size_t i = 0; i < kernel->members.count && p.lie; i++)
		definition_loads(kernel->members.at[i], see_plane, &p);
	definition_loads(d, see_plane, &p);
	return p.lie;
}

/* Where a thread makes elements of its own it makes again what few sums of few terms they read: that takes less than a
 * launch. */
static bool is_made_again(
        const struct target *target, const struct kernel *kernel, const struct definition *d, int outer)
{
	bool again = has_own_threads(target) && d->reduce == REDUCE_NONE && !definition_stands_alone(d);
	for (size_t i = 0; i < kernel->members.count && again; i++) {
		const struct definition *member = kernel->members.at[i];
		again &= !member->port.is_output && definition_terms(member) <= AGAIN_TERMS
		        && (member->reduce == REDUCE_NONE || member->order == ORDER_SERIAL)
		        && !definition_stands_alone(member) && definition_elements(member) <= AGAIN_ELEMENTS
		        && inner_bytes(member, outer) == (int64_t)dtype_bytes(member->type, 1);
		FOR_EACH (struct definition *reader, scheduled(member)->readers) {
			again &= reader == d || is_member(kernel, reader);
		}
	}
	return again;
}

/* Maps over rows that read each other would be a warp's for each row: with few rows most threads had nothing to do.  So
 * would few terms of each element of still fewer rows. */
static bool are_lonely_rows(
        const struct target *target, const struct kernel *kernel, const struct definition *d, int outer)
{
	int64_t rounds = extents_product(outer, d->extents);
	bool row = inner_bytes(d, outer) > (int64_t)dtype_bytes(d->type, 1), maps = d->reduce == REDUCE_NONE;
	FOR_EACH (const struct definition *member, kernel->members) {
		row |= inner_bytes(member, outer) > (int64_t)dtype_bytes(member->type, 1);
		maps &= member->reduce == REDUCE_NONE
		        || (4 * rounds < target->share.tiles && member->order == ORDER_SERIAL
		                && definition_terms(member) <= AGAIN_TERMS);
	}
	return has_own_threads(target) && row && maps && rounds < target->share.tiles;
}

/* Does it reduce what lies apart, so that its neighbours' terms are its terms' neighbours? */
static void see_columns(void *user, const struct expr *load)
{
	const struct definition *d = *(const struct definition **)user;
	int var;
	if (d && load->rank && load->of->extents[load->rank - 1] > 1
	        && (!index_is_var(load->at[load->rank - 1], &var) || var >= d->rank))
		*(const struct definition **)user = NULL;
}
bool sums_columns(const struct definition *d)
{
	const struct definition *of = d->rank && !d->sum.products && d->reduce != REDUCE_NONE ? d : NULL;
	expr_loads(d->body, see_columns, &of);
	return of;
}

/* A sum behind another one, both of many terms and columns, is another kernel: in each a block of warps shares the
 * terms of a few columns. */
static bool are_columns_apart(const struct target *target, const struct kernel *kernel, const struct definition *d)
{
	const struct definition *first = kernel->members.at[0];
	return has_own_threads(target) && d->reduce == REDUCE_SUM && d->order == ORDER_LANES && sums_columns(d)
	        && definition_elements(d) >= (int64_t)target->lanes * target->gpu->processors
	        && first->order == ORDER_LANES && sums_columns(first);
}

/* How many outer loops `d` would share with the kernel; -1: it does not belong there. */
static int shared_outer(const struct target *target, const struct kernel *kernel, const struct definition *d)
{
	struct joining j = { .kernel = kernel, .d = d, .outer = kernel->outer };
	if (d->rank < j.outer)
		j.outer = d->rank;
	definition_loads(d, see_join, &j);
	/* What a window reads is whole images of channels, not a row: together the channels would be the loop around,
	 * and no lanes. */
	bool vectors = has_vectors(target);
	bool blocked = scheduled(d)->blocked;
	if (j.window && has_own_threads(target))
		return -1; /* a thread makes each: a row of them would be one warp's */
	if (vectors
	        && ((j.window && !target->options.small && !blocked && !in_planes(target, kernel, d, j.outer))
	                || looks_up(kernel, d)))
		return -1;
	if (scheduled(kernel->members.at[0])->blocked != blocked || (blocked && target->calls))
		return -1;
	if (!j.reads || costs_too_much(kernel, d) || !branch_equal(kernel->members.at[0]->branch, d->branch))
		return -1;
	FOR_EACH (struct definition *each, kernel->members) {
		FOR (v, j.outer)
			if (each->extents[v] != d->extents[v])
				j.outer = v;
	}
	for (;; j.outer--) { /* outer loops of extent 1 at the inner end help nobody */
		if (j.outer == 0 || d->extents[j.outer - 1] > 1)
			break;
	}
	bool shares = is_worth_sharing(target, d, j.outer);
	FOR_EACH (struct definition *one, kernel->members) {
		shares |= is_worth_sharing(target, one, j.outer);
	}
	if (shares)
		return -1;
	if (is_made_again(target, kernel, d, j.outer))
		return j.outer;
	if (are_lonely_rows(target, kernel, d, j.outer) || are_columns_apart(target, kernel, d))
		return -1;
	int64_t largest = inner_bytes(d, j.outer), all = 0; /* all: of the rows that may lie in scratch together */
	if (scheduled(d)->row_apart && largest > (int64_t)dtype_bytes(d->type, 1))
		return -1;
	FOR_EACH (const struct definition *member, kernel->members) {
		int64_t inner = inner_bytes(member, j.outer);
		if (scheduled(member)->row_apart && inner > (int64_t)dtype_bytes(member->type, 1))
			return -1;
		largest = inner > largest ? inner : largest;
		all += inner;
	}
	if (target->options.small && target->short_stack && all > APART_BYTES
	        && extents_product(j.outer, d->extents) <= 1)
		return -1;
	if (largest > (blocked ? BLOCK_BYTES : row_most(target, d->type)))
		return wide_rows_lie(target, kernel, d, j.outer) ? j.outer : -1;
	return !target->scratch_bytes || all <= target->scratch_bytes ? j.outer : -1;
}

/* Does anything between the kernel's members and d, outside the kernel, read one of them?  Then d cannot come along. */
static bool read_between(const struct kernel *kernel, const struct definition *d)
{
	FOR_EACH (struct definition *one, kernel->members) {
		const struct scheduled *member = scheduled(one);
		FOR_EACH (const struct definition *reader, member->readers) {
			if (reader->number < d->number && !is_member(kernel, reader))
				return true;
		}
	}
	return false;
}

/* Is a place, or a condition, in the expression a value that the kernel computes? */
static enum visit see_member(void *user, const struct expr *expr)
{
	return expr->kind == EXPR_LOAD && is_member(user, expr->of) ? VISIT_END : VISIT_PARTS;
}

static enum visit see_place(void *user, const struct expr *expr)
{
	FOR (i, expr_index_count(expr))
		if (index_visit(expr_index_at(expr, i), see_member, user))
			return VISIT_END;
	return VISIT_PARTS;
}

static struct kernel *kernel_new(struct lowered *lowered, struct definition *root, enum shape shape)
{
	struct kernel *kernel = arena_new(lowered->arena, struct kernel);
	kernel->shape = shape;
	kernel->root = root;
	kernel->blocks = 1;
	push(lowered->arena, &lowered->kernels, kernel);
	return kernel;
}

void kernel_join(struct arena *arena, struct kernel *kernel, struct definition *d)
{
	if (!d || scheduled(d)->kernel == kernel)
		return;
	push(arena, &kernel->members, d);
	scheduled(d)->kernel = kernel;
}

static void make_kernels(struct lowered *lowered)
{
	struct program *program = lowered->program;
	struct kernel *open = NULL; /* the last generic kernel: others may join it */
	FOR_EACH (struct definition *d, program->all) {
		struct kernel *kernel;
		if (d->source != SOURCE_COMPUTED || scheduled(d)->mode == MODE_VIRTUAL || scheduled(d)->kernel)
			continue;
		struct contraction *c = scheduled(d)->contraction;
		if (c && contraction_output(c) != d)
			continue; /* its kernel stands where its epilogue stands */
		if (c) {
			kernel = kernel_new(lowered, c->root, c->rewrite ? SHAPE_WINOGRAD : SHAPE_CONTRACTION);
			kernel->detail = c;
			FOR_ALL (p, c->winograd.parts)
				kernel_join(lowered->arena, kernel, c->winograd.parts.at[p]);
			kernel_join(lowered->arena, kernel, c->root);
			kernel_join(lowered->arena, kernel, c->result);
			kernel_join(lowered->arena, kernel, c->pool.d);
			kernel_join(lowered->arena, kernel, c->beside.d);
			continue;
		}
		if (d->check
		        || (scheduled(d)->steers
		                && !definition_stands_alone(d))) { /* a kernel of its own, so that what others share
			                                              stays as it is without it */
			kernel = kernel_new(lowered, d, SHAPE_LOOPS);
			kernel->outer = d->rank;
			kernel_join(lowered->arena, kernel, d);
			continue;
		}
		if (definition_repeats(d) && definition_repeats(d) != d) { /* all results of a loop are one kernel's */
			kernel_join(lowered->arena, scheduled(definition_repeats(d))->kernel, d);
			continue;
		}
		/* What is told of has memory of its own, and so has what terms find their places in: it is whole when
		 * the last of them is there.  Calls of the menu find no place by what lies in scratch. */
		bool alone = lowered->target->options.log || definition_stands_alone(d)
		        || (scheduled(d)->dwords && !lowered->target->short_stack)
		        || (open && definition_stands_alone(open->root));
		alone |= open && lowered->target->calls && expr_visit(d->body, see_place, open);
		int outer = open && !alone ? shared_outer(lowered->target, open, d) : -1;
		if (outer >= 0 && !read_between(open, d)) {
			open->outer = outer;
			/* it runs where its last member stands */
			size_t at = 0;
			while (lowered->kernels.at[at] != open)
				at++;
			memmove(lowered->kernels.at + at, lowered->kernels.at + at + 1,
			        (lowered->kernels.count - at - 1) * sizeof *lowered->kernels.at);
			lowered->kernels.at[lowered->kernels.count - 1] = open;
		} else {
			open = kernel_new(lowered, d,
			        definition_is_order(d)               ? SHAPE_ORDER
			                : d->trees.walk              ? SHAPE_WALK
			                : d->reduce != REDUCE_REPEAT ? SHAPE_LOOPS
			                : own_runs(lowered, d)       ? SHAPE_OWN
			                                             : SHAPE_REPEAT);
			open->outer = d->rank;
		}
		kernel_join(lowered->arena, open, d);
	}
	FOR_ALL (i, lowered->kernels)
		lowered->kernels.at[i]->number = (int)i;
}

/* A local row that the kernel's result takes the place of lies there from the start: the result's lines come into the
 * cache while the row is computed, and the stack has no row. */
static void lie_in_result(const struct lowered *lowered, struct kernel *kernel)
{
	if (lowered->target->scratch_is_near)
		return;
	FOR_ALL (m, kernel->members) {
		struct definition *result = kernel->members.at[m];
		for (size_t k = m; k-- > 0;) /* the last row before it that may */
			if (is_local(kernel->members.at[k])
			        && inner_bytes(kernel->members.at[k], kernel->outer)
			                > (int64_t)dtype_bytes(result->type, 1)
			        && takes_place(result, kernel->members.at[k])) {
				scheduled(kernel->members.at[k])->lies_in = result;
				break;
			}
	}
}

/* What only its own kernel reads stays in scratch; the root of a generic kernel is its first reduction. */
static void settle(struct lowered *lowered)
{
	FOR_EACH (struct kernel *kernel, lowered->kernels) {
		bool reduction = kernel->root->reduce != REDUCE_NONE;
		FOR_EACH (struct definition *d, kernel->members) {
			bool inside = scheduled(d)->mode == MODE_DEVICE && scheduled(d)->readers.count > 0;
			for (size_t r = 0; inside && r < scheduled(d)->readers.count; r++)
				inside = is_member(kernel, scheduled(d)->readers.at[r]);
			if (inside)
				scheduled(d)->mode = MODE_LOCAL;
			if (!reduction && d->reduce != REDUCE_NONE) {
				kernel->root = d;
				reduction = true;
			}
		}
		/* One member alone has no common loops to speak of. */
		if (kernel->members.count == 1)
			kernel->outer = 0;
		if (!kernel->detail)
			lie_in_result(lowered, kernel);
	}
}

void fuse(struct lowered *lowered)
{
	struct program *program = lowered->program;
	FOR_EACH (struct definition *d, program->all) {
		scheduled(d)->kernel = NULL;
		scheduled(d)->contraction = NULL;
		scheduled(d)->lies_in = NULL;
		if (is_local(d))
			scheduled(d)->mode = MODE_DEVICE;
	}
	lowered->kernels.count = 0;
	FOR_EACH (struct definition *d, program->all) {
		if (d->source != SOURCE_COMPUTED || scheduled(d)->mode == MODE_VIRTUAL || scheduled(d)->generic
		        || scheduled(d)->contraction)
			continue;
		bool whole = scheduled(d)->rewrite && !lowered->target->options.log
		        && !scheduled(scheduled(d)->rewrite->result)->generic;
		scheduled(d)->contraction = whole ? winograd_match(lowered, d) : contraction_match(lowered, d);
		for (size_t p = 0; scheduled(d)->contraction && p < scheduled(d)->contraction->winograd.parts.count;
		        p++) {
			struct scheduled *part = scheduled(scheduled(d)->contraction->winograd.parts.at[p]);
			part->contraction = scheduled(d)->contraction;
			part->mode = MODE_LOCAL;
		}
	}
	/* Last to first: the one that only moves may be read by another one of that kind. */
	for (size_t i = program->all.count; i-- > 0;) {
		struct definition *d = program->all.at[i];
		if (d->source == SOURCE_COMPUTED && scheduled(d)->mode != MODE_VIRTUAL && !scheduled(d)->contraction)
			follow_reader(lowered, d);
	}
	fuse_epilogues(lowered);
	if (!lowered->target->kernels_apart)
		fuse_pools(lowered);
	make_kernels(lowered);
	settle(lowered);
}
