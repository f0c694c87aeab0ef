/* machine.c: an expression -> its values.  The expression becomes a graph of steps once; then each chunk of up to
 * CHUNK elements that follow each other in the output is computed together, one step after the other, over all terms of
 * the reduction.
 *
 * A value is one number for all lanes (step 0) or one for each.  A step that does not depend on the reduced variables
 * is computed once a chunk.  Where a select holds for some lanes only, both sides run with a mask: lanes that are not
 * theirs read what one of theirs does, which is then dropped. */
#include "definitions/machine.h"
#include "definitions/rows.h"
#include <assert.h>

/* An index over the lanes: fixed (by output variables: computed once a chunk) + moving (by reduced variables alone: one
 * number a term) + mixed (the rest). */
enum pattern { PATTERN_SAME, PATTERN_NEXT, PATTERN_ANY };
struct lanes {
	const struct index *fixed, *moving, *mixed;
	int64_t *at; /* of fixed */
	int64_t low, high;
	enum pattern pattern;
	uint64_t stamp, mask;
};

struct step {
	const struct expr *expr;
	enum system system;
	bool varies; /* with the term */
	struct step *arg[3];
	struct lanes *index;   /* LOAD: the element's offset; INDEX */
	struct lanes **ranges; /* SELECT */
	struct memory memory;  /* LOAD */
	int64_t elements;
	void *room, *spread[3];
	struct value value;
	uint64_t stamp, mask; /* when and under which mask `value` was computed */
	struct step *next;    /* in the table by expression */
};

/* The lanes that a select leaves to one of its sides. */
struct mask {
	uint64_t stamp;
	const bool *there;
	int first; /* of them */
	const struct mask *around;
};

/* Does what was computed under that mask (0: under none) have all lanes that are asked for now? */
static bool holds_now(const struct machine *machine, uint64_t mask)
{
	const struct mask *m = machine->mask;
	while (m && m->stamp != mask)
		m = m->around;
	return !mask || m;
}

static uint64_t mask_stamp(const struct machine *machine) { return machine->mask ? machine->mask->stamp : 0; }

struct machine *machine_new(struct arena *arena, const struct memories *memories, const struct definition *definition)
{
	struct machine *machine = arena_new(arena, struct machine);
	*machine = (struct machine){ .arena = arena, .memories = memories, .definition = definition };
	FOR (v, definition->rank)
		machine->lane[v] = arena_new_array(arena, int64_t, CHUNK);
	return machine;
}

/* ---- making steps ---- */
static bool index_varies(const struct machine *machine, const struct index *index)
{
	FOR (v, machine->definition->reduced)
		if (index_uses(index, machine->definition->rank + v))
			return true;
	return false;
}

/* A function of reduced variables alone. */
static bool index_is_moving(const struct index *index, int rank)
{
	return !index->values && !(index->vars & (var_bit(rank) - 1));
}

static const struct index *split_terms(struct machine *machine, const struct index *index, int part)
{
	const struct index *split = index_constant(machine->arena, part == 0 ? index->constant : 0);
	FOR (i, index->count) {
		const struct index *alone =
		        index_of_atom(machine->arena, *index->terms[i].atom, index->terms[i].factor);
		int kind = !index_varies(machine, alone)                    ? 0
		        : index_is_moving(alone, machine->definition->rank) ? 1
		                                                            : 2;
		if (kind == part)
			split = index_add(machine->arena, split, alone);
	}
	return split;
}

static void compile_values(struct machine *machine, const struct index *index)
{
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		if (atom->kind == ATOM_VALUE)
			machine_step(machine, atom->value);
		else if (atom->kind != ATOM_VAR)
			compile_values(machine, atom->of);
	}
}

static struct lanes *lanes_new(struct machine *machine, const struct index *index)
{
	struct lanes *lanes = arena_new(machine->arena, struct lanes);
	compile_values(machine, index);
	lanes->fixed = split_terms(machine, index, 0);
	lanes->moving = split_terms(machine, index, 1);
	lanes->mixed = split_terms(machine, index, 2);
	lanes->at = arena_new_array(machine->arena, int64_t, CHUNK);
	return lanes;
}

static bool expr_varies(const struct machine *machine, const struct expr *expr)
{
	FOR (v, machine->definition->reduced)
		if (expr_uses(expr, machine->definition->rank + v))
			return true;
	return false;
}

struct step *machine_step(struct machine *machine, const struct expr *expr)
{
	struct step **slot = &machine->table[((uintptr_t)expr >> 4) % TABLE], *step;
	for (step = *slot; step; step = step->next)
		if (step->expr == expr)
			return step;
	step = arena_new(machine->arena, struct step);
	step->expr = expr;
	step->system = system_of(expr->type, machine->memories->math);
	step->varies = expr_varies(machine, expr);
	step->room = arena_alloc(machine->arena, CHUNK * sizeof(int64_t));
	if (expr->kind == EXPR_LOAD) {
		step->memory = memory_of(machine->memories, expr->of);
		step->elements = definition_elements(expr->of);
		step->index =
		        lanes_new(machine, index_flatten(machine->arena, expr->of->rank, expr->at, expr->of->extents));
	} else if (expr->kind == EXPR_INDEX) {
		step->index = lanes_new(machine, expr->index);
	} else if (expr->kind == EXPR_SELECT) {
		step->ranges = arena_new_array(machine->arena, struct lanes *, (size_t)expr->range_count);
		FOR (i, expr->range_count)
			step->ranges[i] = lanes_new(machine, expr->ranges[i].at);
	}
	FOR (i, 3)
		if (expr->arg[i]) {
			step->arg[i] = machine_step(machine, expr->arg[i]);
			step->spread[i] = arena_alloc(machine->arena, CHUNK * sizeof(int64_t));
		}
	step->next = *slot;
	return *slot = step;
}

/* ---- indices over the lanes ---- */
static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static void index_lanes(struct machine *machine, const struct index *index, int64_t *out)
{
	int n = machine->n, rank = machine->definition->rank;
	int64_t inner[CHUNK], sum = index->constant;
	FOR (i, n)
		out[i] = 0;
	FOR (t, index->count) {
		const struct atom *atom = index->terms[t].atom;
		int64_t factor = index->terms[t].factor;
		const int64_t *values = inner;
		if (atom->kind == ATOM_VAR && atom->var >= rank) {
			sum += factor * machine->vars[atom->var];
			continue;
		}
		if (atom->kind == ATOM_VAR) {
			values = machine->lane[atom->var];
		} else if (atom->kind == ATOM_VALUE) {
			struct value value = step_run(machine, machine_step(machine, atom->value));
			const int64_t *at = value.at;
			FOR (i, n) {
				int64_t x = at[i * value.step];
				inner[i] = x < atom->low ? atom->low : x > atom->high ? atom->high : x;
			}
		} else {
			index_lanes(machine, atom->of, inner);
			FOR (i, n) {
				int64_t quotient = floor_div(inner[i], atom->by);
				inner[i] = atom->kind == ATOM_DIV ? quotient : inner[i] - quotient * atom->by;
			}
		}
		FOR (i, n)
			out[i] += factor * values[i];
	}
	FOR (i, n)
		out[i] += sum;
}

static void find_pattern(const int64_t *at, int n, int64_t *low, int64_t *high, enum pattern *pattern)
{
	bool next = true;
	int64_t least = at[0], most = at[0];
	for (int i = 1; i < n; i++) {
		least = at[i] < least ? at[i] : least;
		most = at[i] > most ? at[i] : most;
		next &= at[i] == at[0] + i;
	}
	*low = least, *high = most;
	*pattern = least == most ? PATTERN_SAME : next ? PATTERN_NEXT : PATTERN_ANY;
}

/* One index for this term: at[] + *plus, with bounds and pattern.  at may be `room`. */
struct place {
	const int64_t *at;
	int64_t plus, low, high;
	enum pattern pattern;
};

static struct place place_of(struct machine *machine, struct lanes *lanes, int64_t *room)
{
	if (lanes->stamp != machine->chunk || (lanes->fixed->values && !holds_now(machine, lanes->mask))) {
		index_lanes(machine, lanes->fixed, lanes->at);
		find_pattern(lanes->at, machine->n, &lanes->low, &lanes->high, &lanes->pattern);
		lanes->stamp = machine->chunk;
		lanes->mask = mask_stamp(machine);
	}
	struct place place = { lanes->at, 0, lanes->low, lanes->high, lanes->pattern };
	if (lanes->moving->count)
		place.plus = index_evaluate(lanes->moving, machine->vars, NULL, NULL);
	if (lanes->mixed->count) {
		index_lanes(machine, lanes->mixed, room);
		FOR (i, machine->n)
			room[i] += lanes->at[i];
		find_pattern(room, machine->n, &place.low, &place.high, &place.pattern);
		place.at = room;
	}
	place.low += place.plus;
	place.high += place.plus;
	return place;
}

/* ---- steps ---- */
static bool holds_directly(enum system system, enum dtype stored)
{
	return (system == SYSTEM_FLOAT && stored == DTYPE_F32) || (system == SYSTEM_DOUBLE && stored == DTYPE_F64)
	        || (system == SYSTEM_INTEGER && stored == DTYPE_I64);
}

/* Lanes that a mask leaves out read what the first of the others does: what a caller gives ends where it does, which may
 * be before the tensor's bound. */
static struct place place_masked(const struct machine *machine, struct place place, int64_t *room)
{
	const bool *there = machine->mask->there;
	int64_t first = place.at[machine->mask->first], low = first, high = first;
	FOR (i, machine->n) {
		int64_t at = there[i] ? place.at[i] : first;
		low = at < low ? at : low;
		high = at > high ? at : high;
		room[i] = at;
	}
	return (struct place){ room, place.plus, low + place.plus, high + place.plus, PATTERN_ANY };
}

static struct value run_load(struct machine *machine, struct step *step)
{
	int64_t room[CHUNK];
	int n = machine->n;
	struct place place = place_of(machine, step->index, room);
	if (machine->mask && place.pattern != PATTERN_SAME)
		place = place_masked(machine, place, room);
	if (place.low < 0 || place.high >= step->elements)
		fail(machine->arena->build, EXIT_INVALID, machine->definition->name, "reads outside %s",
		        step->expr->of->name);
	bool direct = holds_directly(step->system, step->memory.stored);
	size_t size = system_bytes(step->system);
	int64_t first = place.at[0] + place.plus;
	if (direct && place.pattern != PATTERN_ANY)
		return (struct value){ (const char *)step->memory.at + (size_t)first * size,
			place.pattern == PATTERN_NEXT };
	if (place.pattern == PATTERN_ANY)
		values_gather(step->system, step->room, step->memory.at, step->memory.stored, place.at, place.plus, n);
	else
		values_load(step->system, step->room, step->memory.at, step->memory.stored, first,
		        place.pattern == PATTERN_SAME ? 1 : n);
	return (struct value){ step->room, place.pattern != PATTERN_SAME };
}

static struct value run_number(struct step *step)
{
	const struct expr *expr = step->expr;
	if (step->system == SYSTEM_FLOAT)
		*(float *)step->room = (float)expr->number;
	else if (step->system == SYSTEM_DOUBLE)
		*(double *)step->room = expr->number;
	else
		*(int64_t *)step->room = expr->integer;
	return (struct value){ step->room, 0 };
}

/* A value as one number for each lane. */
static const void *spread(struct machine *machine, struct step *step, int i, struct value value, int n)
{
	if (value.step || n == 1)
		return value.at;
	values_spread(step->arg[i]->system, value.at, step->spread[i], machine->n);
	return step->spread[i];
}

static struct value run_row(struct machine *machine, struct step *step)
{
	enum scalar opcode = step->expr->opcode;
	struct value args[3] = { { NULL, 0 } };
	const void *at[3] = { NULL };
	int step_of_any = 0, arity = scalars[opcode].arity;
	FOR (i, arity) {
		args[i] = step_run(machine, step->arg[i]);
		step_of_any |= args[i].step;
	}
	int n = step_of_any ? machine->n : 1;
	FOR (i, arity)
		at[i] = spread(machine, step, i, args[i], n);
	if (step->system == SYSTEM_FLOAT && rows_float[opcode])
		rows_float[opcode](n, at[0], at[1], at[2], step->room);
	else if (step->system == SYSTEM_DOUBLE && rows_double[opcode])
		rows_double[opcode](n, at[0], at[1], at[2], step->room);
	else if (step->system == SYSTEM_INTEGER && rows_integer[opcode])
		(step->expr->type == DTYPE_U64 ? rows_unsigned : rows_integer)[opcode](
		        n, at[0], at[1], at[2], step->room),
		        values_wrap(step->expr->type, step->room, n);
	else
		fail(machine->arena->build, EXIT_UNSUPPORTED, machine->definition->name, "%s of %s",
		        scalars[opcode].name, dtypes[step->expr->type].text);
	return (struct value){ step->room, step_of_any };
}

/* One side of a select, for the lanes that are its own. */
static struct value run_side(struct machine *machine, struct step *side, const bool *chosen, bool when)
{
	static const int64_t nothing;
	bool there[CHUNK];
	struct mask mask = { ++machine->stamps, there, 0, machine->mask };
	if (side->expr->kind == EXPR_NUMBER)
		return step_run(machine, side);
	FOR (i, machine->n)
		there[i] = (chosen[i] == when) & (!mask.around || mask.around->there[i]);
	const bool *first = memchr(there, true, (size_t)machine->n);
	if (!first)
		return (struct value){ &nothing, 0 };
	mask.first = (int)(first - there);
	machine->mask = &mask;
	struct value value = step_run(machine, side);
	machine->mask = mask.around;
	return value;
}

static struct value run_select(struct machine *machine, struct step *step)
{
	bool chosen[CHUNK];
	int64_t room[CHUNK];
	int n = machine->n;
	memset(chosen, true, (size_t)n);
	FOR (r, step->expr->range_count) {
		int64_t from = step->expr->ranges[r].from, to = step->expr->ranges[r].to;
		struct place place = place_of(machine, step->ranges[r], room);
		if (place.low >= from && place.high < to)
			continue;
		if (place.low >= to || place.high < from)
			return step_run(machine, step->arg[1]);
		FOR (i, n) {
			int64_t at = place.at[i] + place.plus;
			chosen[i] &= (from <= at) & (at < to);
		}
	}
	if (!memchr(chosen, false, (size_t)n))
		return step_run(machine, step->arg[0]);
	if (!memchr(chosen, true, (size_t)n))
		return step_run(machine, step->arg[1]);
	int64_t own[CHUNK];
	struct value yes = run_side(machine, step->arg[0], chosen, true);
	const size_t size = system_bytes(step->system);
	memcpy(own, yes.at, size * (size_t)(yes.step ? n : 1)); /* the other side may compute it anew, for its lanes */
	struct value no = run_side(machine, step->arg[1], chosen, false);
	if (step->system == SYSTEM_FLOAT) {
		const float *a = (const float *)(const void *)own, *b = no.at;
		FOR (i, n)
			((float *)step->room)[i] = chosen[i] ? a[i * yes.step] : b[i * no.step];
	} else {
		const int64_t *a = own, *b = no.at; /* doubles too: 8 bytes */
		FOR (i, n)
			((int64_t *)step->room)[i] = chosen[i] ? a[i * yes.step] : b[i * no.step];
	}
	return (struct value){ step->room, 1 };
}

static struct value run_index(struct machine *machine, struct step *step)
{
	int64_t room[CHUNK], *out = step->room;
	struct place place = place_of(machine, step->index, room);
	int n = place.pattern == PATTERN_SAME ? 1 : machine->n;
	FOR (i, n)
		out[i] = place.at[i] + place.plus;
	return (struct value){ out, place.pattern != PATTERN_SAME };
}

static struct value run_cast(struct machine *machine, struct step *step)
{
	struct step *arg = step->arg[0];
	struct value value = step_run(machine, arg);
	values_cast(arg->system, arg->expr->type, value.at, step->system, step->expr->type, step->expr->cast,
	        step->room, value.step ? machine->n : 1);
	return (struct value){ step->room, value.step };
}

struct value step_run(struct machine *machine, struct step *step)
{
	uint64_t now = step->varies ? machine->term : machine->chunk;
	if (step->stamp == now && holds_now(machine, step->mask))
		return step->value;
	switch (step->expr->kind) {
	case EXPR_NUMBER: step->value = run_number(step); break;
	case EXPR_LOAD: step->value = run_load(machine, step); break;
	case EXPR_SCALAR: step->value = run_row(machine, step); break;
	case EXPR_SELECT: step->value = run_select(machine, step); break;
	case EXPR_INDEX: step->value = run_index(machine, step); break;
	case EXPR_CAST: step->value = run_cast(machine, step); break;
	}
	step->stamp = now;
	step->mask = mask_stamp(machine);
	return step->value;
}

/* ---- chunks ---- */
void machine_begin_chunk(struct machine *machine, int64_t left)
{
	machine->n = left < CHUNK ? (int)left : CHUNK;
	machine->chunk = machine->term = ++machine->stamps;
}

void machine_begin(struct machine *machine, int64_t from, int64_t elements)
{
	const struct definition *definition = machine->definition;
	int64_t at[MAX_RANK], rest = from;
	machine_begin_chunk(machine, elements - from);
	for (int d = definition->rank - 1; d >= 0; d--) {
		at[d] = rest % definition->extents[d];
		rest /= definition->extents[d];
	}
	FOR (i, machine->n) {
		FOR (d, definition->rank)
			machine->lane[d][i] = at[d];
		for (int d = definition->rank - 1; d >= 0; d--) {
			if (++at[d] < definition->extents[d])
				break;
			at[d] = 0;
		}
	}
}
