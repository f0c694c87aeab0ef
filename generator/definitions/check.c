/* check.c: what every program promises, asserted: definitions stand before their readers, indices lie inside what they
 * read (given the selects around them), types fit. */
#include "definitions/definitions.h"
#undef NDEBUG /* a checker checks, however it is built */
#include <assert.h>

/* What the selects around an expression say: low <= at <= high. */
struct fact {
	const struct index *at;
	int64_t low, high;
	const struct fact *before;
};

struct checking {
	struct arena *arena;
	const struct program *program;
	const struct definition *definition;
	int vars;
};

static void check_expr(const struct checking *, const struct expr *, const struct fact *);

static void check_index(const struct checking *c, const struct index *index, const struct fact *facts)
{
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		assert(index->terms[i].factor != 0 && atom->low <= atom->high);
		if (atom->kind == ATOM_VAR) {
			const struct definition *d = c->definition;
			assert(atom->var >= 0 && atom->var < c->vars);
			assert(atom->high < (atom->var < d->rank ? d->extents[atom->var]
			                       : atom->var > d->rank && definition_chooses(d)
			                       ? d->reduced_extents[0]
			                       : d->reduced_extents[atom->var - d->rank]));
		} else if (atom->kind == ATOM_VALUE) {
			assert(dtypes[atom->value->type].class != CLASS_FLOAT);
			check_expr(c, atom->value, facts);
		} else {
			assert(atom->by > 0);
			check_index(c, atom->of, facts);
		}
	}
}

/* The range of an index where the facts hold: it is what a fact is about, and the rest. */
static void known_range(
        const struct checking *c, const struct index *index, const struct fact *facts, int64_t *low, int64_t *high)
{
	index_range(index, low, high);
	for (; facts; facts = facts->before) {
		int64_t rest_low, rest_high;
		index_range(index_add(c->arena, index, index_scale(c->arena, facts->at, -1)), &rest_low, &rest_high);
		if (*low < facts->low + rest_low)
			*low = facts->low + rest_low;
		if (*high > facts->high + rest_high)
			*high = facts->high + rest_high;
	}
}

static void check_select(const struct checking *c, const struct expr *expr, const struct fact *facts)
{
	const struct fact *inside = facts;
	assert(expr->arg[0]->type == expr->type && expr->arg[1]->type == expr->type && expr->range_count > 0);
	FOR (i, expr->range_count) {
		struct fact *fact = arena_new(c->arena, struct fact);
		check_index(c, expr->ranges[i].at, facts);
		*fact = (struct fact){ expr->ranges[i].at, expr->ranges[i].from, expr->ranges[i].to - 1, inside };
		inside = fact;
	}
	check_expr(c, expr->arg[0], inside);
	if (expr->range_count == 1) { /* outside one range is below it or above it */
		const struct range *range = expr->ranges;
		int64_t low, high;
		known_range(c, range->at, facts, &low, &high);
		struct fact *fact = arena_new(c->arena, struct fact);
		*fact = (struct fact){ range->at, low >= range->from ? range->to : low,
			high < range->to ? range->from - 1 : high, facts };
		facts = fact;
	}
	check_expr(c, expr->arg[1], facts);
}

struct place {
	const struct checking *c;
	const struct fact *facts;
};

static enum visit check_alone(void *user, const struct expr *expr)
{
	const struct place *place = user;
	const struct checking *c = place->c;
	const struct fact *facts = place->facts;
	/* Floats below 32 bits are read, moved and made of floats: no more. */
	assert(!dtype_is_narrow(expr->type) || expr->kind == EXPR_LOAD || expr->kind == EXPR_CAST
	        || expr->kind == EXPR_SELECT);
	switch (expr->kind) {
	case EXPR_NUMBER: break;
	case EXPR_LOAD:
		assert(expr->of->number < c->definition->number && c->program->all.at[expr->of->number] == expr->of);
		assert(expr->type == expr->of->type);
		FOR (d, expr->of->rank) {
			int64_t low, high;
			check_index(c, expr->at[d], facts);
			known_range(c, expr->at[d], facts, &low, &high);
			assert(low > high || (low >= 0 && high < expr->of->extents[d]));
		}
		break;
	case EXPR_SCALAR:
		FOR (i, 3) {
			assert((i < scalars[expr->opcode].arity) == (expr->arg[i] != NULL));
			assert(!expr->arg[i] || expr->arg[i]->type == expr->type);
		}
		assert(dtypes[expr->type].class == CLASS_FLOAT ? scalars[expr->opcode].floats
		                                               : scalars[expr->opcode].ints);
		break;
	case EXPR_SELECT: check_select(c, expr, facts); return VISIT_PAST;
	case EXPR_INDEX:
		assert(expr->type == DTYPE_I64);
		check_index(c, expr->index, facts);
		break;
	case EXPR_CAST:
		if (expr->cast & CAST_BITS)
			assert(dtypes[expr->type].bits == dtypes[expr->arg[0]->type].bits);
		else if (dtype_is_narrow(expr->arg[0]->type))
			assert(expr->type == DTYPE_F32);
		break;
	}
	return VISIT_PARTS;
}

static void check_expr(const struct checking *c, const struct expr *expr, const struct fact *facts)
{
	expr_visit(expr, check_alone, &(struct place){ c, facts });
}

/* Terms go to elements: over reduced variables, and output variables that have no place. */
static void check_places(struct checking *c)
{
	const struct definition *d = c->definition;
	assert(d->order == ORDER_SERIAL && !d->sum.products && d->reduce != REDUCE_NONE
	        && (!d->running || d->reduce != REDUCE_LAST));
	FOR (v, d->rank) {
		if (!d->place[v])
			continue;
		assert(d->place[v]->type == DTYPE_I64 && !expr_uses(d->body, v)
		        && !(d->running && d->start && expr_uses(d->start, v)));
		FOR (p, d->rank)
			assert(!d->place[p] || !expr_uses(d->place[p], v));
		check_expr(c, d->place[v], NULL);
	}
}

/* An index of what bars a position is of that, or of the one taken before. */
static enum visit see_one_position(void *user, const struct expr *expr)
{
	const struct definition *d = user;
	FOR (i, expr_index_count(expr))
		assert(!index_uses(expr_index_at(expr, i), d->rank)
		        || !index_uses(expr_index_at(expr, i), d->rank + 1));
	return VISIT_PARTS;
}

static void check_order(struct checking *c, bool places)
{
	const struct definition *d = c->definition;
	assert(!places && !d->start && d->reduced == 1 && d->rank > 0
	        && d->extents[d->rank - 1] <= d->reduced_extents[0] && !expr_uses(d->body, d->rank - 1));
	FOR (i, CHOICES) {
		const struct expr *choice = d->choice[i];
		assert(!choice == !definition_chooses(d));
		if (!choice)
			continue;
		c->vars = d->rank + (i == CHOICE_BARS ? 2 : i == CHOICE_THERE ? 1 : 0);
		assert(choice->type == (i == CHOICE_MOST ? DTYPE_I64 : DTYPE_BOOL) && !expr_uses(choice, d->rank - 1));
		check_expr(c, choice, NULL);
		expr_visit_inside(choice, see_one_position, (void *)(uintptr_t)d);
	}
}

static void check_walk(struct checking *c)
{
	const struct definition *d = c->definition, *nodes = d->trees.nodes->of, *roots = d->trees.roots->of;
	bool wide = nodes->type == DTYPE_U64;
	assert(d->rank == 2 && d->reduced == 1 && (d->reduce == REDUCE_WALK) && !definition_scatters(d));
	assert(d->body->type == DTYPE_F32 || (wide && d->body->type == DTYPE_F64));
	assert((wide || nodes->type == DTYPE_U32) && nodes->rank == 2 && nodes->extents[1] == 2);
	assert(roots->type == DTYPE_I32 && roots->rank == 2 && roots->extents[0] == d->extents[1]
	        && roots->extents[1] == 3);
	assert(d->trees.walk->leaves > 0 && (wide || d->trees.walk->leaves <= 1 << WALK_LEAF_BITS));
	check_expr(c, d->trees.nodes, NULL);
	check_expr(c, d->trees.roots, NULL);
}

static void check_computed(struct checking *c)
{
	const struct definition *d = c->definition;
	bool places = definition_scatters(d);
	assert(d->body
	        && (d->trees.walk                        ? d->type == DTYPE_I32
	                        : definition_is_order(d) ? d->type == DTYPE_I64
	                                                 : d->body->type == d->type)
	        && !(d->reduce && d->reduce != REDUCE_REPEAT && d->reduce != REDUCE_LAST && dtype_is_narrow(d->type)));
	assert(d->reduce ? d->reduced >= 0 && d->reduced <= MAX_RANK : d->reduced == 0 && !d->start);
	assert(!d->reduce || d->order == definition_order(d));
	c->vars = d->rank;
	if (d->start) {
		assert(d->start->type == d->type);
		check_expr(c, d->start, NULL);
	}
	c->vars = d->rank + d->reduced;
	check_expr(c, d->body, NULL);
	assert(places || (d->reduce != REDUCE_LAST && !d->running));
	if (d->lies) {
		assert(!d->reduce && d->rank && d->lies->type == DTYPE_I64 && d->row->type == DTYPE_I64
		        && !expr_uses(d->lies, d->rank - 1));
		check_expr(c, d->lies, NULL);
		check_expr(c, d->row, NULL);
	}
	if (places)
		check_places(c);
	if (definition_is_order(d))
		check_order(c, places);
	if (d->trees.walk)
		check_walk(c);
}

static bool same_shape(const struct definition *a, const struct definition *b, bool sliced)
{
	return a->type == b->type && a->rank == b->rank + sliced
	        && !memcmp(a->extents + sliced, b->extents, (size_t)b->rank * sizeof *b->extents);
}

/* Operands and results fit the body's inputs and outputs. */
static void check_repeat(struct checking *c)
{
	const struct definition *d = c->definition;
	const struct repeat *r = d->loop.repeat;
	const struct program *body = r->body;
	assert(r->rounds > 0 && (size_t)d->loop.part < body->outputs.count
	        && same_shape(d, body->outputs.at[d->loop.part], r->out[d->loop.part].moves == REPEAT_SLICED));
	FOR (i, d->loop.operands)
		check_expr(c, d->loop.operand[i], NULL);
	if (definition_repeats(d) != d)
		return;
	program_check(body);
	assert(d->loop.operands == (int)body->inputs.count && !body->checks.count && r->going < d->loop.operands);
	FOR (i, d->loop.operands) {
		const struct repeat_port *in = &r->in[i];
		assert(d->loop.operand[i]->kind == EXPR_LOAD
		        && same_shape(d->loop.operand[i]->of, body->inputs.at[i], in->moves == REPEAT_SLICED));
		assert(in->moves != REPEAT_SLICED || d->loop.operand[i]->of->extents[0] == r->rounds);
		assert(in->moves != REPEAT_CARRIED
		        || (r->out[in->pair].pair == i && r->out[in->pair].moves == REPEAT_CARRIED
		                && same_shape(body->inputs.at[i], body->outputs.at[in->pair], false)));
	}
	assert(r->going < 0
	        || (r->in[r->going].moves == REPEAT_CARRIED && body->inputs.at[r->going]->type == DTYPE_BOOL
	                && definition_elements(body->inputs.at[r->going]) == 1));
}

void program_check(const struct program *program)
{
	struct arena arena;
	struct checking c = { .arena = &arena, .program = program };
	arena_init(&arena, program->build);
	FOR_ALL (i, program->all) {
		c.definition = program->all.at[i];
		assert(c.definition->number == (int)i && c.definition->rank >= 0 && c.definition->rank <= MAX_RANK);
		FOR (d, c.definition->rank)
			assert(c.definition->extents[d] >= 0);
		assert((c.definition->source == SOURCE_CONSTANT) == (c.definition->data != NULL));
		if (c.definition->source == SOURCE_COMPUTED)
			check_computed(&c);
		if (c.definition->reduce == REDUCE_REPEAT)
			check_repeat(&c);
	}
	FOR_ALL (i, program->checks) {
		const struct definition *d = program->checks.at[i];
		assert(program->all.at[d->number] == d && d->check && d->type == DTYPE_BOOL && !d->rank);
		assert(i == 0 || program->checks.at[i - 1]->number < d->number);
	}
	assert(program->outputs.count == program->output_names.count);
	FOR_ALL (i, program->outputs)
		assert(program->all.at[program->outputs.at[i]->number] == program->outputs.at[i]);
	arena_release(&arena);
}
