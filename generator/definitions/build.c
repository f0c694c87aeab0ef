/* build.c: programs and their definitions: made, ordered, counted, and what nobody needs removed. */
#include "definitions/definitions.h"
#include <math.h>
#include <assert.h>

/* ---- unique names: a table of what is taken, by hash of the text; open addressing, at most half full ---- */
struct program_names {
	const char **at;
	size_t room, count;
};

struct program *program_new(struct build *build, const char *name)
{
	struct program *program = arena_new(build->arena, struct program);
	program->build = build;
	program->arena = build->arena;
	program->name = name;
	program->names = arena_new(build->arena, struct program_names);
	program->definition_bytes = sizeof(struct definition);
	return program;
}

static const char **name_slot(struct program_names *names, const char *name)
{
	size_t i = hash_bytes(name, strlen(name), 0) & (names->room - 1);
	while (names->at[i] && strcmp(names->at[i], name))
		i = (i + 1) & (names->room - 1);
	return &names->at[i];
}

static void names_add(struct program *program, const char *name)
{
	struct program_names *names = program->names;
	if (names->count * 2 >= names->room) {
		struct program_names larger = { .room = names->room ? names->room * 2 : 64 };
		larger.at = arena_new_array(program->arena, const char *, larger.room);
		FOR (i, names->room)
			if (names->at[i])
				*name_slot(&larger, names->at[i]) = names->at[i];
		larger.count = names->count;
		*names = larger;
	}
	*name_slot(names, name) = name;
	names->count++;
}

static const char *name_unique(struct program *program, const char *name)
{
	const char *unique = name;
	for (int n = 2; program->names->room && *name_slot(program->names, unique); n++)
		unique = arena_printf(program->arena, "%s_%d", name, n);
	names_add(program, unique);
	return unique;
}

static struct definition *append(struct program *program, enum source source, const char *name, enum dtype type,
        int rank, const int64_t *extents)
{
	struct definition *definition = arena_array(program->arena, 1, program->definition_bytes);
	definition->source = source;
	definition->name = name_unique(program, name);
	definition->type = type;
	definition->rank = rank;
	FOR (d, rank)
		definition->extents[d] = extents[d];
	definition->number = (int)program->all.count;
	push(program->arena, &program->all, definition);
	return definition;
}

struct definition *define_input(
        struct program *program, const char *name, enum dtype type, int rank, const int64_t *extents)
{
	struct definition *definition = append(program, SOURCE_INPUT, name, type, rank, extents);
	push(program->arena, &program->inputs, definition);
	return definition;
}

struct definition *define_constant(
        struct program *program, const char *name, enum dtype type, int rank, const int64_t *extents, const void *data)
{
	struct definition *definition = append(program, SOURCE_CONSTANT, name, type, rank, extents);
	definition->data = data;
	return definition;
}

struct definition *define_map(
        struct program *program, const char *name, int rank, const int64_t *extents, const struct expr *body)
{
	struct definition *definition = append(program, SOURCE_COMPUTED, name, body->type, rank, extents);
	definition->body = body;
	return definition;
}

struct definition *define_reduction(struct program *program, const char *name, int rank, const int64_t *extents,
        enum reduce reduce, int reduced, const int64_t *reduced_extents, const struct expr *start,
        const struct expr *body)
{
	struct definition *definition = append(program, SOURCE_COMPUTED, name, body->type, rank, extents);
	definition->reduce = reduce;
	definition->reduced = reduced;
	FOR (d, reduced)
		definition->reduced_extents[d] = reduced_extents[d];
	definition->start = start;
	definition->body = body;
	definition->sum.products = reduce == REDUCE_SUM && expr_is(body, SCALAR_mul);
	definition->batch = definition->sum.products ? 0 : (1u << rank) - 1;
	definition->order = definition_order(definition);
	return definition;
}

struct definition *define_scatter(struct program *program, const char *name, int rank, const int64_t *extents,
        enum reduce reduce, bool running, const struct expr *const *place, int reduced, const int64_t *reduced_extents,
        const struct expr *start, const struct expr *body)
{
	struct definition *definition =
	        define_reduction(program, name, rank, extents, reduce, reduced, reduced_extents, start, body);
	FOR (d, rank)
		definition->place[d] = place[d];
	definition->running = running;
	definition->sum.products = false;
	definition->batch = (1u << rank) - 1;
	definition->order = ORDER_SERIAL;
	return definition;
}

struct definition *define_order(struct program *program, const char *name, int rank, const int64_t *extents, bool down,
        int64_t terms, const struct expr *key, const struct expr *const *choice)
{
	struct definition *definition =
	        define_reduction(program, name, rank, extents, down ? REDUCE_DOWN : REDUCE_UP, 1, &terms, NULL, key);
	for (int i = 0; choice && i < CHOICES; i++)
		definition->choice[i] = choice[i];
	definition->type = DTYPE_I64;
	definition->sum.products = false;
	definition->batch = (1u << rank) - 1;
	definition->order = ORDER_SERIAL;
	return definition;
}

struct definition *define_walk(struct program *program, const char *name, int64_t rows, int64_t features,
        const struct expr *feature, const struct tree_walk *walk, struct definition *nodes, struct definition *roots)
{
	struct definition *definition = define_reduction(
	        program, name, 2, (int64_t[]){ rows, roots->extents[0] }, REDUCE_WALK, 1, &features, NULL, feature);
	definition->type = DTYPE_I32;
	definition->trees.walk = walk;
	definition->trees.nodes = expr_load_first(program->arena, nodes);
	definition->trees.roots = expr_load_first(program->arena, roots);
	definition->order = ORDER_SERIAL;
	return definition;
}

struct definition *define_repeated(struct program *program, const char *name, const struct repeat *repeat, int part,
        struct definition *const *operands, struct definition *base)
{
	const struct definition *of = repeat->body->outputs.at[part];
	bool sliced = repeat->out[part].moves == REPEAT_SLICED;
	int64_t extents[MAX_RANK] = { repeat->rounds };
	memcpy(extents + sliced, of->extents, (size_t)of->rank * sizeof *extents);
	struct definition *definition = append(program, SOURCE_COMPUTED, name, of->type, of->rank + sliced, extents);
	definition->reduce = REDUCE_REPEAT;
	definition->batch = (1u << definition->rank) - 1;
	definition->body = expr_number(program->arena, of->type, 0);
	definition->loop.repeat = repeat;
	definition->loop.part = part;
	definition->loop.operands = base ? 1 : (int)repeat->body->inputs.count;
	definition->loop.operand =
	        arena_new_array(program->arena, const struct expr *, (size_t)definition->loop.operands + 1);
	FOR (i, definition->loop.operands)
		definition->loop.operand[i] = expr_load_first(program->arena, base ? base : operands[i]);
	return definition;
}

struct definition *definition_repeats(const struct definition *definition)
{
	bool reads = definition->reduce == REDUCE_REPEAT && definition->loop.operands == 1
	        && definition->loop.operand[0]->of->loop.repeat == definition->loop.repeat;
	return definition->reduce != REDUCE_REPEAT ? NULL
	        : reads                            ? definition->loop.operand[0]->of
	                                           : (struct definition *)(uintptr_t)definition;
}

struct definition *define_check(struct program *program, const char *name, const struct check *check, int rank,
        const int64_t *extents, const struct expr *holds)
{
	struct definition *definition = rank
	        ? define_reduction(program, name, 0, NULL, REDUCE_MIN, rank, extents, NULL, holds)
	        : define_map(program, name, 0, NULL, holds);
	definition->check = check;
	push(program->arena, &program->checks, definition);
	return definition;
}

bool definition_is_order(const struct definition *definition)
{
	return definition->reduce == REDUCE_UP || definition->reduce == REDUCE_DOWN;
}

bool definition_chooses(const struct definition *definition) { return definition->choice[CHOICE_MOST] != NULL; }

bool definition_stands_alone(const struct definition *definition)
{
	return definition_scatters(definition) || definition->row || definition_is_order(definition)
	        || definition->reduce == REDUCE_REPEAT || definition->trees.walk;
}

bool definition_scatters(const struct definition *definition)
{
	FOR (d, definition->rank)
		if (definition->place[d])
			return true;
	return false;
}

const struct expr **definition_part(const struct definition *of, int i)
{
	struct definition *d = (struct definition *)(uintptr_t)of;
	const struct expr **alone[] = { &d->body, &d->start, &d->lies, &d->row, &d->trees.nodes, &d->trees.roots };
	enum { BEFORE_PLACES = 2 };
	if (i < BEFORE_PLACES)
		return alone[i];
	if (i < BEFORE_PLACES + d->rank)
		return &d->place[i - BEFORE_PLACES];
	if ((i -= d->rank) < (int)COUNT(alone))
		return alone[i];
	if ((i -= (int)COUNT(alone)) < CHOICES)
		return &d->choice[i];
	return (i -= CHOICES) < d->loop.operands ? &d->loop.operand[i] : NULL;
}

void definition_loads(const struct definition *definition, void (*visit)(void *, const struct expr *), void *user)
{
	FOR_PARTS(part, definition)
	expr_loads(*part, visit, user);
}

void definition_map(struct definition *definition, const struct expr *(*map)(void *, const struct expr *), void *user)
{
	if (definition->loop.operands) { /* those that others have stay */
		const struct expr **operand = arena_new_array(
		        definition->loop.repeat->body->arena, const struct expr *, (size_t)definition->loop.operands);
		memcpy(operand, definition->loop.operand, (size_t)definition->loop.operands * sizeof *operand);
		definition->loop.operand = operand;
	}
	FOR_PARTS(part, definition)
	*part = map(user, *part);
}

void mark_batch(struct definition *definition, uint32_t axes)
{
	definition->batch |= axes & ((1u << definition->rank) - 1);
	if (definition->reduce)
		definition->order = definition_order(definition);
}

void chain_terms(struct definition *definition)
{
	definition->chain = true;
	definition->order = definition_order(definition);
}

struct definition *define_sum_like(struct program *program, const char *name, const struct definition *of,
        const struct expr *start, const struct expr *body)
{
	struct definition *sum = define_reduction(
	        program, name, of->rank, of->extents, REDUCE_SUM, of->reduced, of->reduced_extents, start, body);
	mark_batch(sum, of->batch);
	memcpy(sum->count.reduced, of->count.reduced, sizeof sum->count.reduced);
	keep_origin(sum, of);
	return sum;
}

void keep_original(struct arena *arena, struct definition *d)
{
	if (d->original)
		return;
	struct definition *original = arena_new(arena, struct definition);
	*original = *d;
	d->original = original;
}

void become_map(struct definition *definition, const struct expr *body)
{
	definition->reduce = REDUCE_NONE;
	definition->sum.products = false;
	definition->order = ORDER_SERIAL;
	definition->batch = 0;
	definition->reduced = 0;
	memset(definition->count.reduced, 0, sizeof definition->count.reduced);
	definition->start = NULL;
	definition->body = body;
}

int64_t extents_product(int count, const int64_t *extents)
{
	int64_t n = 1;
	FOR (d, count)
		n *= extents[d];
	return n;
}

bool definition_same_shape(const struct definition *a, const struct definition *b)
{
	return a->type == b->type && a->rank == b->rank
	        && !memcmp(a->extents, b->extents, a->rank * sizeof *a->extents);
}

int64_t definition_extent(const struct definition *d, int var)
{
	return var < d->rank ? d->extents[var] : d->reduced_extents[var - d->rank];
}

int64_t definition_elements(const struct definition *definition)
{
	return extents_product(definition->rank, definition->extents);
}

int64_t definition_climbs(const struct definition *definition)
{
	int64_t row = definition->rank ? definition->extents[definition->rank - 1] : 0,
	        count = definition_elements(definition);
	const int32_t *at = definition->late ? NULL : definition->data;
	if (definition->climbs || definition->source != SOURCE_CONSTANT || definition->type != DTYPE_I32 || !at)
		return definition->climbs;
	for (int64_t i = 1; i < count; i++)
		if (i % row && at[i] != at[i - 1] && at[i] != (int64_t)at[i - 1] + 1)
			return 0;
	return row;
}

struct shown definition_shown(const struct definition *definition)
{
	if (definition->port.shown)
		return *definition->port.shown;
	struct shown shown = { .type = definition->type, .rank = definition->rank };
	memcpy(shown.extents, definition->extents, sizeof shown.extents);
	return shown;
}

int64_t shown_elements(const struct shown *shown) { return extents_product(shown->rank, shown->extents); }

struct definition definition_actual(const struct program *program, size_t i, void *const *outputs)
{
	struct definition made = *program->outputs.at[i];
	for (size_t k = 0; made.port.sizes && k < program->outputs.count; k++)
		if (!strcmp(program->output_names.at[k], made.port.sizes))
			memcpy(made.extents, outputs[k], sizeof *made.extents * (size_t)made.rank);
	return made;
}

int64_t definition_outputs(const struct definition *definition)
{
	int64_t n = 1;
	FOR (d, definition->rank)
		n *= definition->batch >> d & 1 ? 1 : definition->extents[d];
	return n;
}

int64_t definition_terms(const struct definition *definition)
{
	return definition->reduce ? extents_product(definition->reduced, definition->reduced_extents) : 1;
}

double definition_work(const struct definition *definition)
{
	double rounds = (double)definition_terms(definition);
	if (definition_is_order(definition)) {
		for (int d = 0; d + 1 < definition->rank; d++)
			rounds *= (double)definition->extents[d];
		return rounds;
	}
	if (definition->trees.walk)
		return (double)definition_elements(definition) * definition->trees.walk->depth;
	if (!definition_scatters(definition))
		return rounds * (double)definition_elements(definition);
	FOR (d, definition->rank)
		rounds *= definition->place[d] ? 1 : (double)definition->extents[d];
	return rounds + (double)definition_elements(definition);
}

/* Each factor depends on every output variable that varies: nothing is read twice, so there is nothing to block. */
static bool factors_depend_on_all(const struct definition *definition)
{
	FOR (d, definition->rank)
		if (!(definition->batch >> d & 1) && definition->extents[d] > 1
		        && !(expr_uses(definition->body->arg[0], d) && expr_uses(definition->body->arg[1], d)))
			return false;
	return true;
}

enum order definition_order(const struct definition *definition)
{
	if (definition_terms(definition) < LANE_TERMS || definition->chain || definition_stands_alone(definition)
	        || (definition->sum.products && dtypes[definition->type].class != CLASS_FLOAT))
		return ORDER_SERIAL; /* integers are exact in any */
	if (definition->sum.products && definition_outputs(definition) > FEW_OUTPUTS
	        && !factors_depend_on_all(definition))
		return ORDER_SERIAL;
	return ORDER_LANES;
}

/* ---- a program of its own ---- */
static bool holds(const struct program *program, const struct definition *definition)
{
	return (size_t)definition->number < program->all.count && program->all.at[definition->number] == definition;
}

/* What stands outside the program (what a rewrite or a fold needs no more) stays where it is. */
struct copying {
	const struct program *from, *to;
};
static struct definition *copy_of(const void *user, struct definition *of)
{
	const struct copying *c = user;
	return holds(c->from, of) ? c->to->all.at[of->number] : of;
}

static const struct expr *redirect(void *user, const struct expr *expr)
{
	const struct copying *c = user;
	return expr_redirect(c->to->arena, expr, copy_of, c);
}

static void redirect_definition(struct copying *c, struct definition *definition)
{
	definition_map(definition, redirect, c);
}

static const struct branch *redirect_branch(const struct copying *c, const struct branch *branch)
{
	if (!branch)
		return NULL;
	struct branch *made = arena_new(c->to->arena, struct branch);
	*made = (struct branch){ copy_of(c, branch->condition), branch->yes, redirect_branch(c, branch->outer) };
	return made;
}

bool branch_equal(const struct branch *a, const struct branch *b)
{
	return a == b
	        || (a && b && a->condition == b->condition && a->yes == b->yes && branch_equal(a->outer, b->outer));
}

struct program *program_copy(const struct program *from, size_t definition_bytes)
{
	struct program *program = arena_new(from->arena, struct program);
	struct copying c = { from, program };
	*program = (struct program){
		.build = from->build, .arena = from->arena, .name = from->name, .definition_bytes = definition_bytes
	};
	program->names = arena_new(from->arena, struct program_names);
	FOR_ALL (i, from->all) {
		struct definition *made = arena_array(program->arena, 1, definition_bytes);
		*made = *from->all.at[i];
		made->number = (int)i;
		push(program->arena, &program->all, made);
		names_add(program, made->name);
	}
	FOR_ALL (i, from->all) {
		struct definition *made = program->all.at[i];
		redirect_definition(&c, made);
		FOR (v, MAX_RANK) {
			made->count.of[v] = made->count.of[v] ? copy_of(&c, made->count.of[v]) : NULL;
			made->count.reduced[v] = made->count.reduced[v] ? copy_of(&c, made->count.reduced[v]) : NULL;
			made->count.ends[v] = made->count.ends[v] ? copy_of(&c, made->count.ends[v]) : NULL;
		}
		made->count.spreads = made->count.spreads ? copy_of(&c, made->count.spreads) : NULL;
		made->count.masks = made->count.masks ? copy_of(&c, made->count.masks) : NULL;
		made->branch = redirect_branch(&c, made->branch);
		if (made->original) {
			struct definition *original = arena_new(program->arena, struct definition);
			*original = *made->original;
			redirect_definition(&c, original);
			made->original = original;
		}
	}
	FOR_ALL (i, from->inputs)
		push(program->arena, &program->inputs, copy_of(&c, from->inputs.at[i]));
	FOR_ALL (i, from->outputs)
		push(program->arena, &program->outputs, copy_of(&c, from->outputs.at[i]));
	FOR_ALL (i, from->checks)
		push(program->arena, &program->checks, copy_of(&c, from->checks.at[i]));
	FOR_ALL (i, from->output_names)
		push(program->arena, &program->output_names, from->output_names.at[i]);
	FOR_ALL (i, from->rewrites) {
		struct rewrite *rewrite = arena_new(program->arena, struct rewrite);
		*rewrite = *from->rewrites.at[i];
		rewrite->result = copy_of(&c, rewrite->result);
		rewrite->x = copy_of(&c, rewrite->x);
		rewrite->w = copy_of(&c, rewrite->w);
		FOR (p, COUNT(rewrite->parts))
			rewrite->parts[p] = copy_of(&c, rewrite->parts[p]);
		push(program->arena, &program->rewrites, rewrite);
	}
	return program;
}

/* ---- what no output and no check needs ---- */
struct needed {
	bool *at;
};

static void need(void *user, const struct expr *load) { ((struct needed *)user)->at[load->of->number] = true; }

void program_number(struct program *program)
{
	FOR_ALL (i, program->all)
		program->all.at[i]->number = (int)i;
}

void program_remove_dead(struct program *program)
{
	struct needed needed = { arena_new_array(program->arena, bool, program->all.count + 1) };
	size_t kept = 0;
	program_number(program);
	FOR_ALL (i, program->outputs)
		needed.at[program->outputs.at[i]->number] = true;
	FOR_ALL (i, program->checks)
		needed.at[program->checks.at[i]->number] = true;
	for (size_t i = program->all.count; i-- > 0;) { /* readers stand after what they read */
		const struct definition *definition = program->all.at[i];
		if (definition->source == SOURCE_INPUT)
			needed.at[i] = true; /* part of the signature */
		if (!needed.at[i] || definition->source != SOURCE_COMPUTED)
			continue;
		definition_loads(definition, need, &needed);
		FOR (v, MAX_RANK) { /* where it ends */
			if (definition->count.of[v])
				needed.at[definition->count.of[v]->number] = true;
			if (definition->count.reduced[v])
				needed.at[definition->count.reduced[v]->number] = true;
			if (definition->count.ends[v])
				needed.at[definition->count.ends[v]->number] = true;
		}
		if (definition->count.masks)
			needed.at[definition->count.masks->number] = true;
	}
	FOR_ALL (i, program->all)
		if (needed.at[i]) {
			program->all.at[i]->number = (int)kept;
			program->all.at[kept++] = program->all.at[i];
		}
	program->all.count = kept;
	kept = 0;
	FOR_ALL (i, program->rewrites)
		if (holds(program, program->rewrites.at[i]->result))
			program->rewrites.at[kept++] = program->rewrites.at[i];
	program->rewrites.count = kept;
}

struct definition *program_constant(struct program *program, struct definition *of)
{
	FOR_EACH (struct definition *d, program->all) {
		if (d == of
		        || (d->source == SOURCE_CONSTANT && d->data == of->data && d->type == of->type
		                && d->rank == of->rank
		                && !memcmp(d->extents, of->extents, sizeof *of->extents * (size_t)of->rank)))
			return d;
	}
	struct definition *made = define_constant(program, of->name, of->type, of->rank, of->extents, of->data);
	made->late = of->late;
	return made;
}

void program_move(struct program *program, size_t from, const struct definition *before)
{
	size_t fresh = program->all.count - from, at = (size_t)before->number;
	assert(program->all.at[at] == before);
	if (!fresh)
		return;
	struct definition **moving = arena_new_array(program->arena, struct definition *, fresh);
	memcpy(moving, program->all.at + from, fresh * sizeof *moving);
	memmove(program->all.at + at + fresh, program->all.at + at, (from - at) * sizeof *moving);
	memcpy(program->all.at + at, moving, fresh * sizeof *moving);
	for (size_t i = at; i < program->all.count; i++)
		program->all.at[i]->number = (int)i;
}

/* ---- checks come early ---- */
static void last_read(void *user, const struct expr *load)
{
	int *last = user;
	*last = load->of->number > *last ? load->of->number : *last;
}

void program_hoist_checks(struct program *program)
{
	__typeof__(program->all) all = { 0 };
	__typeof__(program->checks) checks = { 0 };
	int *after = arena_new_array(program->arena, int, program->checks.count + 1);
	if (!program->checks.count)
		return;
	program_number(program);
	FOR_ALL (c, program->checks)
		definition_loads(program->checks.at[c], last_read, &after[c]);
	FOR_ALL (i, program->all) {
		if (!program->all.at[i]->check)
			push(program->arena, &all, program->all.at[i]);
		FOR_ALL (c, program->checks)
			if (after[c] == (int)i) {
				push(program->arena, &all, program->checks.at[c]);
				push(program->arena, &checks, program->checks.at[c]);
			}
	}
	program->all = all;
	program->checks = checks;
	program_number(program);
}

/* ---- what random numbers reach ---- */
struct spreading {
	bool *at, reached;
};

static void reach(void *user, const struct expr *load)
{
	struct spreading *s = user;
	s->reached |= s->at[load->of->number];
}

static enum visit makes_random(void *user, const struct expr *expr)
{
	(void)user;
	return expr_is(expr, SCALAR_random) ? VISIT_END : VISIT_PARTS;
}

bool *program_random(const struct program *program)
{
	struct spreading s = { arena_new_array(program->arena, bool, program->all.count + 1), false };
	for (size_t i = 0; i < program->all.count; i++) {
		const struct definition *definition = program->all.at[i];
		if (definition->source != SOURCE_COMPUTED)
			continue;
		s.reached = false;
		FOR_PARTS(part, definition)
		s.reached |= expr_visit(*part, makes_random, NULL);
		definition_loads(definition, reach, &s);
		s.at[definition->number] = s.reached;
	}
	return s.at;
}

const struct expr *reduce_start(struct arena *arena, enum reduce reduce, enum dtype type)
{
	bool is_float = dtypes[type].class == CLASS_FLOAT;
	int bits = dtypes[type].bits;
	bool is_signed = dtypes[type].class == CLASS_INT;
	int64_t largest = is_signed ? (int64_t)(UINT64_MAX >> (65 - bits))
	        : bits == 64        ? -1
	                            : (int64_t)(UINT64_MAX >> (64 - bits));
	switch (reduce) {
	case REDUCE_MAX:
		return is_float ? expr_number(arena, type, -INFINITY)
		                : expr_integer(arena, type, is_signed ? -largest - 1 : 0);
	case REDUCE_MIN: return is_float ? expr_number(arena, type, INFINITY) : expr_integer(arena, type, largest);
	case REDUCE_PROD: return is_float ? expr_number(arena, type, 1) : expr_integer(arena, type, 1);
	default: return is_float ? expr_number(arena, type, 0) : expr_integer(arena, type, 0);
	}
}
