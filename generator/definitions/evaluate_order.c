/* evaluate_order.c: the positions that sort rows, and the leaves that rows of features come to in trees. */
#include "definitions/machine.h"
#include <math.h>
#include <stdlib.h>

struct sorted {
	int64_t key, at;
};

/* Equal keys stay in the order of their positions, so there is one result, however it is found. */
static int by_key(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->at > y->at) - (x->at < y->at);
}

/* A number as an integer of the same order: 0 and -0 are one, a NaN is above all. */
static int64_t key_of(enum system system, enum dtype type, const void *value)
{
	int64_t bits;
	if (system == SYSTEM_INTEGER)
		return *(const int64_t *)value ^ (type == DTYPE_U64 ? INT64_MIN : 0);
	double number = system == SYSTEM_FLOAT ? *(const float *)value : *(const double *)value;
	if (isnan(number))
		return INT64_MAX;
	number = number == 0 ? 0 : number;
	memcpy(&bits, &number, sizeof bits);
	return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* What an order takes: `there` over the map of the keys, `bars` over one whose last two variables are positions. */
struct choosing {
	const struct definition *of;
	struct definition pairs;
	struct machine *machine; /* of pairs */
	struct step *there, *bars, *most;
	bool *is_there; /* by position, of this row */
};

static void compile_choice(struct choosing *c, struct machine *keys)
{
	const struct definition *d = c->of;
	struct arena *arena = keys->arena;
	const struct index *with[MAX_VARS] = { 0 };
	int64_t n = d->reduced_extents[0];
	c->is_there = arena_new_array(arena, bool, (size_t)n);
	c->pairs = (struct definition){ .name = d->name, .rank = d->rank + 1 };
	memcpy(c->pairs.extents, d->extents, sizeof c->pairs.extents);
	c->pairs.extents[d->rank - 1] = c->pairs.extents[d->rank] = n;
	c->machine = machine_new(arena, keys->memories, &c->pairs);
	with[d->rank] = index_var(arena, d->rank - 1, n);
	with[d->rank + 1] = index_var(arena, d->rank, n);
	c->there = machine_step(keys, expr_substitute(arena, d->choice[CHOICE_THERE], with));
	c->bars = machine_step(c->machine, expr_substitute(arena, d->choice[CHOICE_BARS], with));
	c->most = machine_step(c->machine, expr_substitute(arena, d->choice[CHOICE_MOST], with));
}

static bool holds(struct value value, int i) { return ((const int64_t *)value.at)[i * value.step] != 0; }

/* Do any of these positions, taken before, bar that one? */
static bool is_barred(struct choosing *c, int64_t position, const int64_t *taken, int64_t count)
{
	struct machine *machine = c->machine;
	int last = c->of->rank;
	for (int64_t from = 0; from < count; from += CHUNK) {
		machine_begin_chunk(machine, count - from);
		FOR (i, machine->n) {
			FOR (v, last - 1)
				machine->lane[v][i] = machine->lane[v][0];
			machine->lane[last - 1][i] = position;
			machine->lane[last][i] = taken[from + i];
		}
		struct value bars = step_run(machine, c->bars);
		FOR (i, machine->n)
			if (holds(bars, i))
				return true;
	}
	return false;
}

/* The positions that are taken of a sorted row, then -1. */
static void choose(struct choosing *c, int64_t row, const struct sorted *sorted, int64_t *taken)
{
	struct machine *machine = c->machine;
	int64_t n = c->of->reduced_extents[0], kept = c->of->extents[c->of->rank - 1], count = 0;
	for (int v = c->of->rank - 2; v >= 0; row /= c->of->extents[v--])
		machine->lane[v][0] = row % c->of->extents[v];
	machine_begin_chunk(machine, 1);
	int64_t most = *(const int64_t *)step_run(machine, c->most).at;
	for (int64_t i = 0; i < n && count < kept && count < most; i++)
		if (c->is_there[sorted[i].at] && !is_barred(c, sorted[i].at, taken, count))
			taken[count++] = sorted[i].at;
	while (count < kept)
		taken[count++] = -1;
}

/* Keys are elements of a map whose last variable is the position. */
void evaluate_order(
        struct arena *scratch, const struct memories *memories, const struct definition *definition, struct memory into)
{
	struct definition keys = { .name = definition->name, .rank = definition->rank };
	const struct index *with[MAX_VARS] = { 0 };
	int64_t n = definition->reduced_extents[0], kept = definition->extents[definition->rank - 1];
	enum dtype type = definition->body->type;
	enum system system = system_of(type, memories->math);
	struct sorted *row = arena_new_array(scratch, struct sorted, (size_t)n);
	memcpy(keys.extents, definition->extents, sizeof keys.extents);
	keys.extents[keys.rank - 1] = n;
	with[keys.rank] = index_var(scratch, keys.rank - 1, n);
	struct machine *machine = machine_new(scratch, memories, &keys);
	struct step *key = machine_step(machine, expr_substitute(scratch, definition->body, with));
	struct choosing choosing = { .of = definition };
	int64_t *positions = arena_new_array(scratch, int64_t, (size_t)kept + 1);
	if (definition_chooses(definition))
		compile_choice(&choosing, machine);
	int64_t elements = definition_elements(definition) ? definition_elements(&keys) : 0;
	for (int64_t from = 0; from < elements; from += CHUNK) {
		machine_begin(machine, from, elements);
		struct value value = step_run(machine, key), there = { NULL, 0 };
		if (choosing.there)
			there = step_run(machine, choosing.there);
		FOR (i, machine->n) {
			int64_t at = (from + i) % n, number = key_of(system, type, value_lane(value, i, system));
			row[at] = (struct sorted){ definition->reduce == REDUCE_DOWN ? ~number : number, at };
			if (choosing.there)
				choosing.is_there[at] = holds(there, i);
			if (at + 1 < n)
				continue;
			qsort(row, (size_t)n, sizeof *row, by_key);
			FOR (t, kept)
				positions[t] = row[t].at;
			if (choosing.there)
				choose(&choosing, (from + i) / n, row, positions);
			for (int64_t t = 0; t < kept; t += CHUNK)
				values_store(SYSTEM_INTEGER, positions + t, into.at, into.stored,
				        (from + i) / n * kept + t, kept - t < CHUNK ? (int)(kept - t) : CHUNK);
		}
	}
}

static double number_of_bits(uint64_t bits, bool narrow)
{
	uint32_t low = (uint32_t)bits;
	float single;
	double number;
	memcpy(&single, &low, sizeof single);
	memcpy(&number, &bits, sizeof number);
	return narrow ? (double)single : number;
}

/* The leaf that a row of features comes to from this node on. */
static int64_t leaf_of(const struct tree_walk *walk, struct memory nodes, const double *row, uint64_t at)
{
	const uint32_t *narrow = nodes.stored == DTYPE_U32 ? nodes.at : NULL;
	const uint64_t *wide = nodes.at, mask = ((uint64_t)1 << (walk->shift - walk->missing)) - 1;
	for (;;) {
		uint64_t bits = narrow ? narrow[2 * at] : wide[2 * at],
		         word = narrow ? narrow[2 * at + 1] : wide[2 * at + 1];
		double threshold = number_of_bits(bits, narrow != NULL), x = row[word & mask];
		bool stays = x <= threshold || (walk->missing && isnan(x) && word >> (walk->shift - 1) & 1);
		uint64_t next = (word >> walk->shift) + !stays;
		if (next == at)
			return (int64_t)(narrow ? bits & ((1u << WALK_LEAF_BITS) - 1) : bits & UINT32_MAX);
		at = next;
	}
}

/* Features are elements of a map. */
void evaluate_walk(
        struct arena *scratch, const struct memories *memories, const struct definition *definition, struct memory into)
{
	int64_t n = definition->reduced_extents[0], trees = definition->extents[1];
	struct definition features = { .name = definition->name, .rank = 2, .extents = { definition->extents[0], n } };
	const struct index *with[MAX_VARS] = { [2] = index_var(scratch, 1, n) };
	enum system system = system_of(definition->body->type, memories->math);
	struct memory nodes = memory_of(memories, definition->trees.nodes->of),
	              roots = memory_of(memories, definition->trees.roots->of);
	double *row = arena_new_array(scratch, double, (size_t)n);
	struct machine *machine = machine_new(scratch, memories, &features);
	struct step *feature = machine_step(machine, expr_substitute(scratch, definition->body, with));
	int64_t elements = definition_elements(&features);
	for (int64_t from = 0; from < elements; from += CHUNK) {
		machine_begin(machine, from, elements);
		struct value value = step_run(machine, feature);
		FOR (i, machine->n) {
			int64_t at = (from + i) % n;
			row[at] = system == SYSTEM_DOUBLE ? ((const double *)value.at)[i * value.step]
			                                  : (double)((const float *)value.at)[i * value.step];
			for (int64_t t = 0; at + 1 == n && t < trees; t++)
				((int32_t *)into.at)[(from + i) / n * trees + t] =
				        (int32_t)leaf_of(definition->trees.walk, nodes, row,
				                (uint64_t)((const int32_t *)roots.at)[3 * t]);
		}
	}
}
