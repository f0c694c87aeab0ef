/* intern.c: a table for each kind of thing that an arena holds one of; open addressing, at most half full.  Whoever is
 * equal in an outer arena is that one: so what a kernel makes for itself and what its program holds are one, and go
 * with the arena that they are in. */
#include "definitions/intern.h"

struct table {
	const void **at;
	uint32_t *hash; /* of each, since most of what is asked for is not there; 0: free */
	size_t room, count;
};
enum kind { ATOM, INDEX, EXPR, KINDS };
struct interned {
	struct table tables[KINDS];
};

static uint64_t mix(uint64_t hash, uint64_t more)
{
	hash = (hash ^ more) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}
static uint64_t mix_at(uint64_t hash, const void *at) { return mix(hash, (uint64_t)(uintptr_t)at); }
static uint32_t folded(uint64_t hash) { return (uint32_t)(hash ^ hash >> 32) | 1u << 31; }

static bool same_atom(const struct atom *a, const struct atom *b)
{
	return a->kind == b->kind && a->var == b->var && a->low == b->low && a->high == b->high && a->of == b->of
	        && a->by == b->by && a->symbol == b->symbol && a->value == b->value;
}

static bool same_index(const struct index *a, const struct index *b)
{
	return a->constant == b->constant && a->count == b->count
	        && !memcmp(a->terms, b->terms, (size_t)a->count * sizeof *a->terms);
}

static bool same_expr(const struct expr *a, const struct expr *b)
{
	return a->kind == b->kind && a->type == b->type && !memcmp(&a->number, &b->number, sizeof a->number)
	        && a->integer == b->integer && a->of == b->of && a->rank == b->rank && a->opcode == b->opcode
	        && a->arg[0] == b->arg[0] && a->arg[1] == b->arg[1] && a->arg[2] == b->arg[2] && a->cast == b->cast
	        && a->index == b->index && a->range_count == b->range_count
	        && (!a->rank || !memcmp(a->at, b->at, (size_t)a->rank * sizeof *a->at))
	        && (!a->range_count || !memcmp(a->ranges, b->ranges, (size_t)a->range_count * sizeof *a->ranges));
}

static bool same(enum kind kind, const void *a, const void *b)
{
	return kind == ATOM ? same_atom(a, b) : kind == INDEX ? same_index(a, b) : same_expr(a, b);
}

static const void *find(const struct arena *arena, enum kind kind, uint32_t hash, const void *made)
{
	for (; arena; arena = arena->outer) {
		const struct table *table = arena->interned ? &arena->interned->tables[kind] : NULL;
		size_t mask = table ? table->room - 1 : 0;
		for (size_t i = hash & mask; table && table->room && table->hash[i]; i = (i + 1) & mask)
			if (table->hash[i] == hash && same(kind, table->at[i], made))
				return table->at[i];
	}
	return NULL;
}

static void put(struct table *table, uint32_t hash, const void *what)
{
	size_t i = hash & (table->room - 1);
	while (table->hash[i])
		i = (i + 1) & (table->room - 1);
	table->hash[i] = hash;
	table->at[i] = what;
}

static void add(struct arena *arena, enum kind kind, uint32_t hash, const void *what)
{
	if (!arena->interned)
		arena->interned = arena_new(arena, struct interned);
	struct table *table = &arena->interned->tables[kind];
	if (table->count * 2 >= table->room) {
		struct table larger = { .room = table->room ? table->room * 2 : 64, .count = table->count };
		larger.at = arena_new_array(arena, const void *, larger.room);
		larger.hash = arena_new_array(arena, uint32_t, larger.room);
		FOR (i, table->room)
			if (table->hash[i])
				put(&larger, table->hash[i], table->at[i]);
		*table = larger;
	}
	put(table, hash, what);
	table->count++;
}

/* ---- what is known of each ---- */
static uint64_t vars_of_atom(const struct atom *atom)
{
	return atom->kind == ATOM_VAR      ? var_bit(atom->var)
	        : atom->kind == ATOM_VALUE ? atom->value->vars
	                                   : atom->of->vars;
}

const struct atom *intern_atom(struct arena *arena, struct atom made)
{
	uint64_t hash =
	        mix(mix(mix((uint64_t)made.kind, (uint64_t)made.var), (uint64_t)made.by), (uint64_t)made.symbol);
	hash = mix_at(mix_at(mix(mix(hash, (uint64_t)made.low), (uint64_t)made.high), made.of), made.value);
	made.hash = folded(hash);
	const struct atom *known = find(arena, ATOM, made.hash, &made);
	if (known)
		return known;
	struct atom *atom = arena_new(arena, struct atom);
	*atom = made;
	add(arena, ATOM, made.hash, atom);
	return atom;
}

const struct index *intern_index(struct arena *arena, struct index *made)
{
	uint64_t hash = mix(0, (uint64_t)made->constant);
	FOR (i, made->count) {
		const struct atom *atom = made->terms[i].atom;
		hash = mix_at(mix(hash, (uint64_t)made->terms[i].factor), atom);
		made->vars |= vars_of_atom(atom);
		made->values |= atom->kind == ATOM_VALUE || (atom->of && atom->of->values);
	}
	made->hash = folded(hash);
	const struct index *known = find(arena, INDEX, made->hash, made);
	arena_trim(arena, made, known ? 0 : sizeof *made + (size_t)made->count * sizeof *made->terms);
	if (known)
		return known;
	add(arena, INDEX, made->hash, made);
	return made;
}

static uint32_t hash_of_expr(const struct expr *e)
{
	uint64_t number,
	        hash = mix(0,
	                (uint64_t)e->kind | (uint64_t)e->type << 8 | (uint64_t)e->opcode << 16
	                        | (uint64_t)e->cast << 32);
	memcpy(&number, &e->number, sizeof number);
	hash = mix_at(mix_at(mix(hash, number ^ (uint64_t)e->integer << 1), e->of), e->index);
	for (int i = 0; i < 3 && e->arg[i]; i++)
		hash = mix_at(hash, e->arg[i]);
	FOR (d, e->rank)
		hash = mix_at(hash, e->at[d]);
	FOR (i, e->range_count)
		hash = mix_at(mix(mix(hash, (uint64_t)e->ranges[i].from), (uint64_t)e->ranges[i].to), e->ranges[i].at);
	return folded(hash);
}

static int cost_alone(const struct expr *e)
{
	if (e->kind == EXPR_SCALAR)
		return scalars[e->opcode].cost;
	return e->kind == EXPR_LOAD || e->kind == EXPR_SELECT
	        || (e->kind == EXPR_CAST && (dtype_is_narrow(e->type) || dtype_is_narrow(e->arg[0]->type)));
}

static void find_facts(struct expr *e)
{
	int64_t cost = cost_alone(e);
	e->kinds = 1u << e->kind;
	e->vars = e->index ? e->index->vars : 0;
	FOR (i, 3)
		if (e->arg[i]) {
			e->kinds |= e->arg[i]->kinds;
			e->vars |= e->arg[i]->vars;
			cost += e->arg[i]->cost;
		}
	FOR (d, e->rank)
		e->vars |= e->at[d]->vars;
	FOR (i, e->range_count)
		e->vars |= e->ranges[i].at->vars;
	e->cost = cost > EXPR_COST_MOST ? EXPR_COST_MOST : (int)cost;
}

const struct expr *intern_expr(struct arena *arena, const struct expr *made)
{
	uint32_t hash = hash_of_expr(made);
	const struct expr *known = find(arena, EXPR, hash, made);
	if (known)
		return known;
	struct expr *e = arena_new(arena, struct expr);
	*e = *made;
	e->hash = hash;
	find_facts(e);
	if (e->rank) {
		const struct index **at = arena_new_array(arena, const struct index *, (size_t)e->rank);
		memcpy(at, made->at, (size_t)e->rank * sizeof *at);
		e->at = at;
	}
	if (e->range_count) {
		struct range *ranges = arena_new_array(arena, struct range, (size_t)e->range_count);
		memcpy(ranges, made->ranges, (size_t)e->range_count * sizeof *ranges);
		e->ranges = ranges;
	}
	add(arena, EXPR, hash, e);
	return e;
}
