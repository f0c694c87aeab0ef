/* modes.c: decides which definitions are virtual, and inlines those where they are read.
 *
 * The law: virtual only where computing again costs less than a store and a load.  A definition that only moves (one
 * load) costs nothing, so reshapes, transposes and slices are index arithmetic of their readers.  Reductions are never
 * virtual.  What follows a sum of products at once is left to fuse.c, which keeps it in registers. */
#include "kernels/kernels.h"
#include "ingot/mode.h"

/* Readers are noted one after the other: who reads `of` already is the last of them, but for what inlining brings to a
 * reader that was noted before. */
static void add_reader(struct arena *arena, struct definition *of, struct definition *reader, bool again)
{
	struct scheduled *p = scheduled(of);
	if (p->readers.count && p->readers.at[p->readers.count - 1] == reader)
		return;
	for (size_t i = 0; again && i < p->readers.count; i++)
		if (p->readers.at[i] == reader)
			return;
	push(arena, &p->readers, reader);
}

enum { SITES_SEEN = 8 };
struct counting {
	struct arena *arena;
	struct definition *reader;
	const struct definition *of;
	double sites; /* places of equal loads are one: each is loaded, or computed, once */
	const struct expr *seen[SITES_SEEN];
	bool again;
};

static void note_reader(void *user, const struct expr *load)
{
	struct counting *c = user;
	if (!c->again || load->of->source == SOURCE_COMPUTED) /* modes are decided for those alone */
		add_reader(c->arena, load->of, c->reader, c->again);
}

static void count_site(void *user, const struct expr *load)
{
	struct counting *c = user;
	if (load->of != c->of)
		return;
	for (int i = 0; i < SITES_SEEN && i < c->sites; i++)
		if (c->seen[i] == load)
			return;
	if (c->sites < SITES_SEEN)
		c->seen[(int)c->sites] = load;
	c->sites++;
}

static void note_readers(struct arena *arena, struct definition *reader, bool again)
{
	struct counting c = { .arena = arena, .reader = reader, .again = again };
	if (reader->source != SOURCE_COMPUTED)
		return;
	definition_loads(reader, note_reader, &c);
}

static double sites(const struct expr *expr, const struct definition *of)
{
	struct counting c = { .of = of };
	if (expr)
		expr_loads(expr, count_site, &c);
	return c.sites;
}

/* How often each element is read, on average, by all readers. */
static double reads_of(const struct definition *of)
{
	double reads = 0;
	for (size_t i = 0; i < scheduled(of)->readers.count; i++) {
		const struct definition *reader = scheduled(of)->readers.at[i];
		double elements = (double)definition_elements(reader);
		double work = definition_work(reader);
		reads += sites(reader->body, of) * work + sites(reader->start, of) * elements;
		FOR (v, reader->rank)
			reads += sites(reader->place[v], of) * work;
		FOR (i, CHOICES)
			reads += sites(reader->choice[i], of) * work;
	}
	return reads / (double)definition_elements(of);
}

static enum visit see_bend(void *user, const struct expr *expr)
{
	(void)user;
	FOR (i, expr_index_count(expr))
		if (!index_is_affine(expr_index_at(expr, i)))
			return VISIT_END;
	return VISIT_PARTS;
}
static bool has_no_loads(const struct expr *expr)
{
	return !expr_has(expr, 1u << EXPR_LOAD) && !expr_visit(expr, see_bend, NULL);
}

/* Does a map follow a sum of products that nothing else reads?  Then it belongs to that kernel. */
struct looking {
	bool found;
};
static void look_for_sum(void *user, const struct expr *load)
{
	((struct looking *)user)->found |= load->of->reduce == REDUCE_SUM;
}
static void look_for_product(void *user, const struct expr *load)
{
	struct looking *l = user;
	l->found |= load->of->source == SOURCE_COMPUTED && (load->of->sum.products || scheduled(load->of)->rewrite);
}
static bool follows_product(const struct definition *d)
{
	struct looking l = { false };
	expr_loads(d->body, look_for_product, &l);
	return l.found;
}

/* Do bytes that are made of a sum of products meet a later such sum on the way through maps that each have one reader?
 * That one's kernel takes the maps, and what it reads of the earlier sum is narrow where the bytes are stored. */
enum { WAY_MOST = 16 };
struct meeting {
	const struct definition *from;
	int number, depth; /* the last sum's; of maps looked through */
};
static void see_sum(void *user, const struct expr *load)
{
	struct meeting *m = user;
	const struct definition *of = load->of;
	if (of == m->from || of->source != SOURCE_COMPUTED || m->depth == WAY_MOST)
		return;
	if (of->sum.products && of->number > m->number)
		m->number = of->number;
	if (of->reduce != REDUCE_NONE || scheduled(of)->readers.count > 1)
		return;
	m->depth++;
	expr_loads(of->body, see_sum, m);
	m->depth--;
}
static bool meets_later_sum(const struct definition *d)
{
	struct meeting own = { .number = -1 };
	expr_loads(d->body, see_sum, &own);
	for (int i = 0; i < WAY_MOST && scheduled(d)->readers.count == 1; i++) {
		const struct definition *reader = scheduled(d)->readers.at[0];
		struct meeting others = { .from = d, .number = -1 };
		if (reader->source != SOURCE_COMPUTED || reader->reduce != REDUCE_NONE)
			return false;
		expr_loads(reader->body, see_sum, &others);
		if (others.number > own.number)
			return true;
		d = reader;
	}
	return false;
}

/* Words are made of bytes that are there: what makes those has lanes of its own, and may be a product's epilogue.  Not
 * where memory is too short for both. */
static void see_part(void *user, const struct expr *load) { *(bool *)user |= scheduled(load->of)->is_part; }
static bool adds_parts(const struct definition *d)
{
	bool adds = false;
	expr_loads(d->body, see_part, &adds);
	return adds;
}
static bool feeds_dwords(const struct target *target, const struct definition *d)
{
	bool feeds = false;
	FOR_EACH (struct definition *reader, scheduled(d)->readers) {
		feeds |= scheduled(reader)->dwords || scheduled(reader)->pairs;
	}
	return feeds && !adds_parts(d) && !target->short_stack;
}

/* Do maps that each have one reader make bytes of it again, element by element (a residual)? */
static bool becomes_bytes(const struct definition *d)
{
	int64_t elements = definition_elements(d);
	for (int i = 0; i < WAY_MOST && scheduled(d)->readers.count == 1; i++) {
		d = scheduled(d)->readers.at[0];
		if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_NONE || definition_elements(d) != elements
		        || scheduled(d)->dwords)
			return false;
		if (dtypes[d->type].bits == 8)
			return true;
	}
	return false;
}

/* Bytes that are made of sums, and more of them than the code takes that makes them apart: where memory is as short as
 * flash they are stored, not what is made of them, but where that is as many bytes. */
enum { BYTES_LEAST = 1024 };
static bool stays_bytes(const struct target *target, const struct definition *d)
{
	return target->options.small && target->short_stack && dtypes[d->type].bits == 8
	        && definition_elements(d) >= BYTES_LEAST && !becomes_bytes(d);
}

/* Would a reader have more tensors than a function should have parameters?  A gather of many goes in groups. */
enum { TENSORS_MOST = 64 };
struct tensors {
	const struct definition *of[2 * TENSORS_MOST];
	int count;
};
static void count_tensor(void *user, const struct expr *load)
{
	struct tensors *t = user;
	FOR (i, t->count)
		if (t->of[i] == load->of)
			return;
	if (t->count < (int)COUNT(t->of))
		t->of[t->count++] = load->of;
}
static bool crowds(const struct definition *d)
{
	struct tensors own = { .count = 0 };
	definition_loads(d, count_tensor, &own);
	for (size_t i = 0; own.count > 1 && i < scheduled(d)->readers.count; i++) {
		struct tensors all = own;
		definition_loads(scheduled(d)->readers.at[i], count_tensor, &all);
		if (all.count - 1 > TENSORS_MOST) /* d itself goes */
			return true;
	}
	return false;
}

/* Loads inside indices, which no cost counts.  What is inlined into a value of an index is there as often as the value
 * is: a chain of lookups would double with each of them. */
enum { VALUES_MOST = 32 };
static void count_load(void *user, const struct expr *load)
{
	(void)load;
	++*(int *)user;
}
static int loads_inside(const struct expr *body)
{
	int all = 0, outside = 0;
	expr_loads(body, count_load, &all);
	expr_loads_outside(body, count_load, &outside);
	return all - outside;
}

/* Is it part of an index where it is read?  A product's epilogue has no vector of that, nor has any map: what makes
 * bytes in more than a few instructions is faster with lanes of its own. */
enum { LOOKED_UP_COST = 4 };
static bool is_looked_up(const struct definition *d)
{
	struct counting all = { .of = d }, outside = { .of = d };
	FOR_EACH (struct definition *reader, scheduled(d)->readers) {
		definition_loads(reader, count_site, &all);
		expr_loads_outside(reader->body, count_site, &outside);
	}
	return all.sites > outside.sites;
}

/* Bytes from a table: no vector looks there, so who computes with them reads them from memory, in lanes. */
static bool feeds_lanes_from_table(const struct target *target, const struct definition *d)
{
	bool computes = false;
	if (!has_vectors(target) || dtypes[d->type].bits != 8 || d->body->kind != EXPR_LOAD
	        || d->body->of->source != SOURCE_CONSTANT || !loads_inside(d->body))
		return false;
	FOR_EACH (struct definition *reader, scheduled(d)->readers) {
		computes |= reader->body->kind != EXPR_LOAD;
	}
	return computes;
}

/* What costs more than this is stored, where a store and a load are nothing beside it: the expression of a chain would
 * grow with the chain, and with it each step that looks through it and each function that the compiler gets. */
enum { COST_MOST = 512 };

/* A loop and a walk down trees read what is stored alone. */
bool feeds_loop(const struct definition *d)
{
	FOR_EACH (struct definition *reader, scheduled(d)->readers) {
		if (reader->reduce == REDUCE_REPEAT || reader->trees.walk)
			return true;
	}
	return false;
}

/* Would a select between sums on one of its variables become one on a quotient where it is read?  Each element would be
 * cut apart. */
struct bending {
	const struct definition *of;
	bool bends;
};
static void see_bending(void *user, const struct expr *load)
{
	struct bending *b = user;
	for (int v = 0; load->of == b->of && v < load->rank; v++)
		b->bends |= !index_is_affine(load->at[v]) && expr_selects_on(b->of->body, v);
}
static bool selects_bend(const struct definition *d)
{
	struct bending b = { d, false };
	struct looking l = { follows_product(d) };
	expr_loads(d->body, look_for_sum, &l);
	if (!l.found)
		return false;
	for (size_t i = 0; i < scheduled(d)->readers.count && expr_has(d->body, 1u << EXPR_SELECT); i++)
		definition_loads(scheduled(d)->readers.at[i], see_bending, &b);
	return b.bends;
}

/* A factor that is looked up by values has no place in a product's tile. */
static bool chosen_by_values(const struct expr *load)
{
	bool any = false;
	FOR (i, expr_index_count(load))
		any |= expr_index_at(load, i)->values;
	return any;
}
static bool feeds_product(const struct definition *d)
{
	FOR_EACH (struct definition *reader, scheduled(d)->readers) {
		if (reader->sum.products && sites(reader->body, d) > 0)
			return true;
	}
	return false;
}

/* 0 behind a count, for sums of products that end there: they read what is in front of it. */
static bool feeds_ends(const struct lowered *lowered, const struct definition *d)
{
	bool ends = scheduled(d)->readers.count > 0;
	for (size_t i = 0; i < scheduled(d)->readers.count && ends; i++) {
		const struct definition *sum = scheduled(d)->readers.at[i];
		ends = product_of(lowered->target, sum) && sites(sum->start, d) == 0;
		for (int f = 0; f < 2 && ends; f++)
			ends = sites(sum->body->arg[f], d) == 0
			        || factor_there(sum, expr_inline(lowered->arena, sum->body->arg[f], d));
	}
	return ends;
}

/* Would a chain of few terms compute it term by term, where its row, of which a reduction is known, has lanes? */
enum { CHAIN_COST = 8 };
static void see_reduction(void *user, const struct expr *load) { *(bool *)user |= load->of->reduce != REDUCE_NONE; }
static bool feeds_chain(const struct target *target, const struct definition *d)
{
	const struct definition *reader = scheduled(d)->readers.count == 1 ? scheduled(d)->readers.at[0] : NULL;
	bool follows = false;
	if (!reader || !has_vectors(target) || target->options.small || reader->reduced != 1 || reader->sum.products
	        || reader->order != ORDER_SERIAL || !d->rank || d->type != DTYPE_F32
	        || reader->reduced_extents[0] != d->extents[d->rank - 1] || 2 * d->extents[d->rank - 1] < target->lanes
	        || expr_cost(d->body) < CHAIN_COST)
		return false;
	expr_loads(d->body, see_reduction, &follows);
	return follows;
}

/* Do one sum of columns and maps read it, which threads make?  The terms are made once more then: a launch, a store and
 * two loads take longer.  (Of rows they lie in shared memory.) */
enum { TERM_COST = 64 };
static bool feeds_columns(const struct target *target, const struct definition *d)
{
	int sums = 0;
	if (!has_own_threads(target) || expr_cost(d->body) > TERM_COST)
		return false;
	FOR_EACH (const struct definition *reader, scheduled(d)->readers) {
		sums += reader->reduce == REDUCE_NONE                          ? 0
		        : reader->reduce == REDUCE_SUM && sums_columns(reader) ? 1
		                                                               : 2;
	}
	return sums == 1;
}

/* What the code says of a computed definition that is no output: a mode and why, as the runtime's mode lattice has
 * them. */
static struct ingot_mode_state verdict(const struct lowered *lowered, const struct definition *d)
{
	bool all_maps = true, into_product = false;
	const struct ingot_mode_state no = { INGOT_NEVER_VIRTUAL, 0, INGOT_BY_VISITS },
	                              yes = { INGOT_VIRTUAL, 0, INGOT_BY_FEW_VISITS };
	if (d->reduce != REDUCE_NONE)
		return (struct ingot_mode_state){ INGOT_NEVER_VIRTUAL, 0, INGOT_BY_REDUCTION };
	if (d->check || scheduled(d)->steers || d->row || feeds_loop(d)) /* the schedule reads it, or a loop */
		return (struct ingot_mode_state){ INGOT_NEVER_VIRTUAL, 0, INGOT_BY_VISITS };
	/* What a rewrite made is one kernel's own affair, but where it is told of. */
	if (scheduled(d)->rewrite && !lowered->target->options.log)
		return (struct ingot_mode_state){ INGOT_NEVER_VIRTUAL, 0, INGOT_BY_REWRITTEN };
	if (scheduled(d)->kept || selects_bend(d))
		return no;
	bool moves = d->body->kind == EXPR_LOAD,
	     number = moves && d->body->of->source == SOURCE_CONSTANT && definition_elements(d->body->of) == 1;
	if (number || has_no_loads(d->body))
		return (struct ingot_mode_state){ INGOT_VIRTUAL, 0, INGOT_BY_SCALAR_CONSTANT };
	if (loads_inside(d->body) > VALUES_MOST)
		return no;
	for (int v = 0; v < d->rank && !d->port.is_output;
	        v++) /* an output before it is dense: its own loops know where they end */
		if (d->count.of[v])
			return no;
	if (feeds_lanes_from_table(lowered->target, d))
		return no;
	bool by_lanes =
	        has_vectors(lowered->target) && dtypes[d->type].bits == 8 && expr_cost(d->body) > LOOKED_UP_COST;
	if ((follows_product(d) || by_lanes) && is_looked_up(d))
		return no;
	bool feeds = feeds_dwords(lowered->target, d);
	if (moves && feeds_product(d) && chosen_by_values(d->body) && reads_of(d) > 1)
		return (struct ingot_mode_state){ INGOT_NEVER_VIRTUAL, 0, INGOT_BY_FACTOR };
	if (moves && loads_inside(d->body) && crowds(d))
		return (struct ingot_mode_state){ INGOT_NEVER_VIRTUAL, 0, INGOT_BY_CROWD };
	if (moves && !(feeds && loads_inside(d->body)))
		return (struct ingot_mode_state){ INGOT_VIRTUAL, 0, INGOT_BY_MOVED };
	if (feeds_ends(lowered, d))
		return (struct ingot_mode_state){ INGOT_VIRTUAL, 0, INGOT_BY_MOVED };
	if (feeds)
		return no;
	FOR_EACH (const struct definition *reader, scheduled(d)->readers) {
		all_maps &= reader->reduce == REDUCE_NONE;
		if (scheduled(d)->widens && !(reader->sum.products && product_b(reader) >= 0))
			continue;
		into_product |= (reader->sum.products || scheduled(reader)->rewrite) && sites(reader->body, d) > 0;
		const struct product *product = product_of(lowered->target, reader);
		into_product |= (product || scheduled(reader)->rewrite) && sites(reader->start, d) > 0
		        && (reader->type != DTYPE_F32
		                || expr_has(
		                        d->body, 1u << EXPR_CAST | 1u << EXPR_SELECT)); /* a product loads its start's
		                                                                           words, lane beside lane */
	}
	if (into_product)
		return (struct ingot_mode_state){ INGOT_NEVER_VIRTUAL, 0, INGOT_BY_FACTOR };
	if (crowds(d))
		return (struct ingot_mode_state){ INGOT_NEVER_VIRTUAL, 0, INGOT_BY_CROWD };
	if (scheduled(d)->widens)
		return yes;
	double reads = reads_of(d), cost = expr_cost(d->body);
	if (cost > COST_MOST)
		return no;
	if (feeds_chain(lowered->target, d))
		return no;
	if (reads > 1 && expr_selects_by_value(d->body)) /* no vector has it in its lanes; what is stored has */
		return no;
	if (follows_product(d)) /* parts: borders beside them count as reads, and are none */
		return all_maps && reads <= (adds_parts(d) ? 2 : 1) && scheduled(d)->readers.count == 1
		                && !stays_bytes(lowered->target, d)
		                && !(dtypes[d->type].bits == 8 && meets_later_sum(d))
		        ? yes
		        : no;
	return reads <= 1 || (reads - 1) * cost <= 1 + reads || (reads <= 2 && feeds_columns(lowered->target, d)) ? yes
	                                                                                                          : no;
}

/* The user's word about it, if there is one; an output, and what has no other choice, contradict it. */
static struct mode_choice *choice_of(const struct lowered *lowered, const struct definition *d)
{
	FOR (i, lowered->choice_count)
		if (!strcmp(lowered->choices[i].name, d->name))
			return &lowered->choices[i];
	return NULL;
}

static void update(const struct lowered *lowered, const struct definition *d, struct ingot_mode_state *state,
        struct ingot_mode_state by)
{
	char why[200];
	if (!ingot_mode_update(state, by.mode, (enum ingot_provenance)by.provenance, why))
		fail(lowered->program->build, EXIT_INVALID, d->name, "%s", why);
}

/* Everything that is decided about a computed definition, in the order of strength. */
static struct ingot_mode_state decide(const struct lowered *lowered, const struct definition *d)
{
	struct mode_choice *choice = choice_of(lowered, d);
	struct ingot_mode_state state = { INGOT_MODE_OPEN, 0, INGOT_BY_NOBODY }, said = verdict(lowered, d);
	if (choice)
		choice->used = true;
	if (d->port.is_output)
		update(lowered, d, &state,
		        (struct ingot_mode_state){ INGOT_MATERIALIZED, 0,
		                !choice || !choice->outputs ? INGOT_BY_OUTPUT
		                        : choice->lent      ? INGOT_BY_OTHER_ROUTINE
		                                            : INGOT_BY_USER });
	if (choice && !choice->outputs)
		update(lowered, d, &state, (struct ingot_mode_state){ choice->mode, 0, INGOT_BY_USER });
	/* What the cost law says gives way to the user; what cannot be otherwise does not. */
	bool must = d->check || scheduled(d)->steers || d->row || feeds_loop(d) || said.provenance == INGOT_BY_REDUCTION
	        || said.provenance == INGOT_BY_REWRITTEN;
	if (must || (state.mode & said.mode && scheduled(d)->readers.count))
		update(lowered, d, &state, said);
	return state;
}

struct inlining {
	struct arena *arena;
	const struct definition *of;
};
static const struct expr *inline_load(void *user, const struct expr *expr)
{
	const struct inlining *i = user;
	return expr_inline(i->arena, expr, i->of);
}

static void inline_into_readers(struct arena *arena, struct definition *d)
{
	struct inlining inlining = { arena, d };
	FOR_EACH (struct definition *reader, scheduled(d)->readers) {
		definition_map(reader, inline_load, &inlining);
		note_readers(arena, reader, true);
	}
}

/* Another tensor, with or without axes of one element: decided first, so that what it names is judged by those who read
 * it, not by one that only moves. */
static bool is_relabelled(const struct definition *d)
{
	int next = 0, var;
	int64_t zero;
	if (d->source != SOURCE_COMPUTED || d->reduce != REDUCE_NONE || d->port.is_output || d->lies || !d->body
	        || d->body->kind != EXPR_LOAD || d->body->of->source != SOURCE_COMPUTED
	        || definition_elements(d) != definition_elements(d->body->of))
		return false;
	FOR (v, d->body->rank) {
		if (index_is_constant(d->body->at[v], &zero))
			continue;
		if (!index_is_var(d->body->at[v], &var) || var < next)
			return false;
		next = var + 1;
	}
	return true;
}

static void settle_mode(struct lowered *lowered, struct definition *d)
{
	if (d->source == SOURCE_INPUT) {
		scheduled(d)->mode = MODE_HOSTED;
		scheduled(d)->provenance = INGOT_BY_INPUT;
		return;
	}
	if (d->source == SOURCE_CONSTANT) {
		scheduled(d)->mode = MODE_CONSTANT;
		scheduled(d)->provenance = INGOT_BY_LINK_READ_ONLY;
		return;
	}
	struct ingot_mode_state state = decide(lowered, d);
	scheduled(d)->provenance = (int)state.provenance;
	scheduled(d)->mode = d->port.is_output     ? MODE_HOSTED
	        : ingot_mode_known_virtual(&state) ? MODE_VIRTUAL
	                                           : MODE_DEVICE;
	if (scheduled(d)->mode == MODE_VIRTUAL)
		inline_into_readers(lowered->arena, d);
}

/* Who reads it reads now what it names. */
static void forget_reader(struct definition *of, const struct definition *reader)
{
	struct scheduled *p = scheduled(of);
	size_t kept = 0;
	FOR_EACH (struct definition *one, p->readers) {
		if (one != reader)
			p->readers.at[kept++] = one;
	}
	p->readers.count = kept;
}

static void settle_modes(struct lowered *lowered)
{
	const struct program *program = lowered->program;
	bool *labels = arena_new_array(lowered->arena, bool, program->all.count + 1);
	FOR_ALL (i, program->all)
		labels[i] = is_relabelled(program->all.at[i]);
	FOR_ALL (i, program->all) {
		struct definition *d = program->all.at[i];
		if (!labels[i])
			continue;
		settle_mode(lowered, d);
		if (scheduled(d)->mode == MODE_VIRTUAL)
			forget_reader(d->body->of, d);
	}
	FOR_ALL (i, program->all)
		if (!labels[i])
			settle_mode(lowered, program->all.at[i]);
}

void layout_row_major(struct definition *d)
{
	int64_t step = 1;
	for (int i = d->rank - 1; i >= 0; step *= d->extents[i], i--)
		scheduled(d)->stride[i] = step;
	scheduled(d)->bytes = (int64_t)dtype_bytes(d->type, (size_t)definition_elements(d));
	scheduled(d)->offset = -1;
}

void find_readers(struct lowered *lowered)
{
	struct program *program = lowered->program;
	FOR_EACH (struct definition *one, program->all) {
		scheduled(one)->readers.count = 0;
	}
	FOR_EACH (struct definition *d, program->all) {
		if (scheduled(d)->mode != MODE_VIRTUAL)
			note_readers(lowered->arena, d, false);
	}
}

void place(struct lowered *lowered)
{
	struct program *program = lowered->program;
	FOR_EACH (struct definition *d, program->all) {
		scheduled(d)->first = scheduled(d)->last = -1;
		scheduled(d)->generic |= lowered->target->options.log;
		layout_row_major(d);
	}
	FOR_EACH (struct rewrite *rewrite, program->rewrites) {
		scheduled(rewrite->result)->rewrite = rewrite;
		FOR (p, COUNT(rewrite->parts))
			scheduled(rewrite->parts[p])->rewrite = rewrite;
	}
	FOR_EACH (struct definition *one, program->all) {
		note_readers(lowered->arena, one, false);
	}
	settle_modes(lowered);
	FOR (i, lowered->choice_count)
		if (!lowered->choices[i].used && !lowered->choices[i].lent)
			fail(program->build, EXIT_USAGE, NULL,
			        "--mode %s: no tensor of that name is computed once the graph is simplified",
			        lowered->choices[i].name);
	find_readers(lowered); /* inlining took some away */
}
