/* evaluate.c: one definition -> its elements.  The expression becomes a graph of steps once; then each chunk of up to
 * CHUNK elements that follow each other in the output is computed together, one step after the other, over all terms of
 * the reduction.
 *
 * A value is one number for all lanes (step 0) or one for each.  A step that does not depend on the reduced variables
 * is computed once a chunk.  Where a select holds for some lanes only, both sides run with a mask: lanes that are not
 * theirs read what one of theirs does, which is then dropped. */
#include "definitions/evaluate.h"
#include "definitions/rows.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct value {
	const void *at;
	int step;
};

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
	const struct mask *around;
};

enum { TABLE = 256 };
struct machine {
	struct arena *arena;
	const struct memories *memories;
	const struct definition *definition;
	int n;                   /* lanes of this chunk */
	int64_t vars[MAX_VARS];  /* the reduced ones count */
	int64_t *lane[MAX_RANK]; /* output variables, lane by lane */
	uint64_t chunk, term, stamps;
	const struct mask *mask; /* NULL: none */
	struct step *table[TABLE];
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

static struct value run(struct machine *, struct step *);
static struct step *compile(struct machine *, const struct expr *);

/* Over the definition's output variables. */
static struct machine *machine_new(
        struct arena *arena, const struct memories *memories, const struct definition *definition)
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
			compile(machine, atom->value);
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

static struct step *compile(struct machine *machine, const struct expr *expr)
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
			step->arg[i] = compile(machine, expr->arg[i]);
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
			struct value value = run(machine, compile(machine, atom->value));
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
	bool same = true, next = true;
	*low = *high = at[0];
	for (int i = 1; i < n; i++) {
		*low = at[i] < *low ? at[i] : *low;
		*high = at[i] > *high ? at[i] : *high;
		same &= at[i] == at[0];
		next &= at[i] == at[0] + i;
	}
	*pattern = same ? PATTERN_SAME : next ? PATTERN_NEXT : PATTERN_ANY;
}

/* One index for this term: at[] + *plus, with bounds and pattern.  at may be `room`. */
struct place {
	const int64_t *at;
	int64_t plus, low, high;
	enum pattern pattern;
};

static struct place place_of(struct machine *machine, struct lanes *lanes, int64_t *room)
{
	if (lanes->stamp != machine->chunk || !holds_now(machine, lanes->mask)) {
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
static struct place place_masked(const struct machine *machine, struct place place, int first, int64_t *room)
{
	for (int i = machine->n - 1; i >= 0; i--)
		room[i] = place.at[i] + place.plus;
	FOR (i, machine->n)
		room[i] = machine->mask->there[i] ? room[i] : room[first];
	place = (struct place){ .at = room };
	find_pattern(room, machine->n, &place.low, &place.high, &place.pattern);
	return place;
}

static int first_there(const struct machine *machine)
{
	int i = 0;
	while (machine->mask && i < machine->n && !machine->mask->there[i])
		i++;
	return i;
}

static struct value run_load(struct machine *machine, struct step *step)
{
	int64_t room[CHUNK];
	int n = machine->n, first_lane = first_there(machine);
	if (first_lane == n) {
		memset(step->room, 0, sizeof(int64_t));
		return (struct value){ step->room, 0 };
	}
	struct place place = place_of(machine, step->index, room);
	if (machine->mask)
		place = place_masked(machine, place, first_lane, room);
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
		args[i] = run(machine, step->arg[i]);
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
	bool there[CHUNK];
	struct mask mask = { ++machine->stamps, there, machine->mask };
	FOR (i, machine->n)
		there[i] = chosen[i] == when && (!mask.around || mask.around->there[i]);
	machine->mask = &mask;
	struct value value = run(machine, side);
	machine->mask = mask.around;
	return value;
}

static struct value run_select(struct machine *machine, struct step *step)
{
	bool chosen[CHUNK], some = true, all = true;
	int64_t room[CHUNK];
	int n = machine->n;
	for (int r = 0; r < step->expr->range_count && some; r++) {
		int64_t from = step->expr->ranges[r].from, to = step->expr->ranges[r].to;
		struct place place = place_of(machine, step->ranges[r], room);
		if (place.low >= from && place.high < to)
			continue;
		if (place.low >= to || place.high < from) {
			some = false;
			break;
		}
		FOR (i, n) {
			int64_t at = place.at[i] + place.plus;
			chosen[i] = (all || chosen[i]) && from <= at && at < to;
		}
		all = false;
	}
	if (some && all)
		return run(machine, step->arg[0]);
	if (some) {
		some = false;
		FOR (i, n)
			some |= chosen[i];
	}
	if (!some)
		return run(machine, step->arg[1]);
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
	struct value value = run(machine, arg);
	values_cast(arg->system, arg->expr->type, value.at, step->system, step->expr->type, step->expr->cast,
	        step->room, value.step ? machine->n : 1);
	return (struct value){ step->room, value.step };
}

static struct value run(struct machine *machine, struct step *step)
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

/* ---- reductions ---- */
enum { SUMS = 64 };

#define EACH(C, expression) \
	do { \
		C *y = acc; \
		const C *v = value.at; \
		FOR (i, n) { \
			C old = y[i], fresh = v[i * value.step]; \
			y[i] = expression; \
		} \
	} while (0)

#define EACH_SYSTEM(expression, wrapping) \
	do { \
		if (system == SYSTEM_FLOAT) \
			EACH(float, expression); \
		else if (system == SYSTEM_DOUBLE) \
			EACH(double, expression); \
		else \
			EACH(int64_t, wrapping); \
	} while (0)

/* One more term, or the upper of two partial results, into acc. */
static void accumulate(enum reduce reduce, enum system system, enum dtype type, void *acc, struct value value, int n)
{
	uint64_t turn = type == DTYPE_U64 ? (uint64_t)1 << 63 : 0; /* unsigned numbers in the order of signed ones */
	switch (reduce) {
	case REDUCE_SUM: EACH_SYSTEM(old + fresh, (int64_t)((uint64_t)old + (uint64_t)fresh)); break;
	case REDUCE_PROD: EACH_SYSTEM(old * fresh, (int64_t)((uint64_t)old * (uint64_t)fresh)); break;
	case REDUCE_MAX:
		EACH_SYSTEM(fresh > old ? fresh : old,
		        (int64_t)((uint64_t)fresh ^ turn) > (int64_t)((uint64_t)old ^ turn) ? fresh : old);
		break;
	case REDUCE_MIN:
		EACH_SYSTEM(fresh < old ? fresh : old,
		        (int64_t)((uint64_t)fresh ^ turn) < (int64_t)((uint64_t)old ^ turn) ? fresh : old);
		break;
	case REDUCE_LAST: EACH_SYSTEM(((void)old, fresh), ((void)old, fresh)); break;
	case REDUCE_NONE:
	case REDUCE_UP:
	case REDUCE_DOWN:
	case REDUCE_REPEAT:
	case REDUCE_WALK: break;
	}
}

static void accumulate_product(enum system system, void *acc, struct value a, struct value b, int n)
{
	if (system == SYSTEM_FLOAT) {
		fma_float(n, a.at, a.step, b.at, b.step, acc);
	} else if (system == SYSTEM_DOUBLE) {
		fma_double(n, a.at, a.step, b.at, b.step, acc);
	} else {
		const uint64_t *x = a.at, *y = b.at;
		FOR (i, n)
			((uint64_t *)acc)[i] += x[i * a.step] * y[i * b.step];
	}
}

static void begin(enum reduce reduce, enum system system, enum dtype type, void *acc, int n)
{
	static const double first[] = { [REDUCE_SUM] = 0,
		[REDUCE_MAX] = -INFINITY,
		[REDUCE_MIN] = INFINITY,
		[REDUCE_PROD] = 1,
		[REDUCE_LAST] = 0 };
	float f = (float)first[reduce];
	int64_t k = reduce == REDUCE_PROD;
	if (system == SYSTEM_INTEGER && (reduce == REDUCE_MAX || reduce == REDUCE_MIN))
		values_cast(SYSTEM_DOUBLE, DTYPE_F64, &first[reduce], system, type, 0, &k, 1);
	if (type == DTYPE_BOOL)
		k = reduce == REDUCE_MIN || reduce == REDUCE_PROD; /* -inf is no false to a cast */
	values_spread(system,
	        system == SYSTEM_FLOAT            ? (void *)&f
	                : system == SYSTEM_DOUBLE ? (void *)&first[reduce]
	                                          : &k,
	        acc, n);
}

/* The next term's reduced variables, row-major; false after the last. */
static bool next_term(struct machine *machine)
{
	const struct definition *definition = machine->definition;
	for (int v = definition->reduced - 1; v >= 0; v--) {
		if (++machine->vars[definition->rank + v] < definition->reduced_extents[v])
			return true;
		machine->vars[definition->rank + v] = 0;
	}
	return false;
}

/* Steps of a definition: its body, or both factors where it sums products. */
struct body {
	struct step *whole, *factor[2], *start;
};

static void reduce_chunk(struct machine *machine, const struct body *body, char *acc)
{
	const struct definition *definition = machine->definition;
	enum system system = system_of(definition->type, machine->memories->math);
	bool lanes = definition->order == ORDER_LANES;
	size_t bytes = CHUNK * system_bytes(system);
	int n = machine->n;
	FOR (s, (lanes ? SUMS : 1))
		begin(definition->reduce, system, definition->type, acc + (size_t)s * bytes, n);
	if (body->start && !lanes) {
		struct value start = run(machine, body->start);
		values_spread(system, start.at, acc, n);
		if (start.step)
			memcpy(acc, start.at, (size_t)n * system_bytes(system));
	}
	memset(machine->vars, 0, sizeof machine->vars);
	int64_t term = 0, terms = definition_terms(definition);
	for (bool more = terms > 0; more; more = next_term(machine), term++) {
		char *sum = acc + (lanes ? (size_t)(term % SUMS) * bytes : 0);
		machine->term = ++machine->stamps;
		if (body->factor[0]) {
			struct value a = run(machine, body->factor[0]), b = run(machine, body->factor[1]);
			accumulate_product(system, sum, a, b, n);
		} else {
			accumulate(definition->reduce, system, definition->type, sum, run(machine, body->whole), n);
		}
	}
	for (int half = lanes ? SUMS / 2 : 0; half; half /= 2)
		FOR (s, half)
			accumulate(definition->reduce, system, definition->type, acc + (size_t)s * bytes,
			        (struct value){ acc + (size_t)(s + half) * bytes, 1 }, n);
	if (body->start && lanes)
		accumulate(definition->reduce, system, definition->type, acc, run(machine, body->start), n);
}

/* Of so many elements, CHUNK at most. */
static void begin_chunk(struct machine *machine, int64_t left)
{
	machine->n = left < CHUNK ? (int)left : CHUNK;
	machine->chunk = machine->term = ++machine->stamps;
}

/* ---- chunks ---- */
/* Those of so many elements that follow one, CHUNK at most. */
static void begin_lanes(struct machine *machine, int64_t from, int64_t elements)
{
	const struct definition *definition = machine->definition;
	int64_t at[MAX_RANK], rest = from;
	begin_chunk(machine, elements - from);
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

/* ---- terms that have places ---- */
/* Each term is an element of a map over the variables without a place, then the reduced ones, in this order: its value
 * and places, as steps. */
struct scatter {
	const struct definition *of;
	struct definition terms;
	struct step *value, *start, *place[MAX_RANK];
	int var[MAX_RANK]; /* of the map; -1: it has a place */
};

static void compile_terms(struct scatter *s, struct machine *machine)
{
	const struct definition *d = s->of;
	const struct index *with[MAX_VARS] = { 0 };
	s->terms = (struct definition){ .name = d->name, .type = d->type };
	FOR (v, d->rank + d->reduced) {
		bool has_place = v < d->rank && d->place[v];
		int64_t extent = definition_extent(d, v);
		with[v] = index_constant(machine->arena, 0);
		if (v < d->rank)
			s->var[v] = has_place ? -1 : s->terms.rank;
		if (has_place || (extent == 1 && v >= d->rank))
			continue;
		with[v] = index_var(machine->arena, s->terms.rank, extent);
		s->terms.extents[s->terms.rank++] = extent;
	}
	FOR (v, s->terms.rank)
		machine->lane[v] = arena_new_array(machine->arena, int64_t, CHUNK);
	s->value = compile(machine, expr_substitute(machine->arena, d->body, with));
	if (d->running && d->start)
		s->start = compile(machine, expr_substitute(machine->arena, d->start, with));
	FOR (v, d->rank)
		if (d->place[v])
			s->place[v] = compile(machine, expr_substitute(machine->arena, d->place[v], with));
}

/* The element that lane i goes to; -1: nowhere. */
static int64_t element_of(const struct scatter *s, const struct machine *machine, const struct value *place, int i)
{
	const struct definition *d = s->of;
	int64_t element = 0;
	FOR (v, d->rank) {
		int64_t at =
		        d->place[v] ? ((const int64_t *)place[v].at)[i * place[v].step] : machine->lane[s->var[v]][i];
		if (at < 0 || at >= d->extents[v])
			return -1;
		element = element * d->extents[v] + at;
	}
	return element;
}

static void scatter_chunk(struct scatter *s, struct machine *machine, int64_t from, int64_t *result, struct memory into)
{
	const struct definition *d = s->of;
	enum system system = system_of(d->type, machine->memories->math);
	size_t bytes = system_bytes(system);
	int64_t terms = definition_terms(d);
	struct value value = run(machine, s->value),
	             start = s->start ? run(machine, s->start) : (struct value){ NULL, 0 }, place[MAX_RANK];
	FOR (v, d->rank)
		if (d->place[v])
			place[v] = run(machine, s->place[v]);
	FOR (i, machine->n) {
		int64_t element = element_of(s, machine, place, i);
		if (d->running && (from + i) % terms == 0) {
			begin(d->reduce, system, d->type, result, 1);
			if (s->start)
				memcpy(result, (const char *)start.at + (size_t)(i * start.step) * bytes, bytes);
		}
		if (!d->running && element < 0)
			continue;
		if (!d->running)
			values_load(system, result, into.at, into.stored, element, 1);
		accumulate(d->reduce, system, d->type, result,
		        (struct value){ (const char *)value.at + (size_t)(i * value.step) * bytes, 0 }, 1);
		if (element >= 0)
			values_store(system, result, into.at, into.stored, element, 1);
	}
}

/* Every element as it begins, then the terms in order. */
static void evaluate_scatter(
        struct arena *scratch, const struct memories *memories, const struct definition *definition, struct memory into)
{
	struct machine *machine = arena_new(scratch, struct machine);
	struct scatter s = { .of = definition };
	struct definition first = *definition;
	int64_t result[1] = { 0 };
	double number;
	memset(first.place, 0, sizeof first.place);
	first.running = false;
	first.reduce = REDUCE_NONE;
	first.reduced = 0;
	first.body = definition->start;
	if (!first.body) {
		enum system system = system_of(definition->type, memories->math);
		begin(definition->reduce, system, definition->type, result, 1);
		float narrow;
		memcpy(&narrow, result, sizeof narrow);
		memcpy(&number, result, sizeof number);
		number = system == SYSTEM_FLOAT ? (double)narrow : number;
		first.body = system == SYSTEM_INTEGER ? expr_integer(scratch, definition->type, result[0])
		                                      : expr_number(scratch, definition->type, number);
	}
	first.start = NULL;
	definition_evaluate(scratch, memories, &first, into);
	*machine = (struct machine){ .arena = scratch, .memories = memories, .definition = &s.terms };
	compile_terms(&s, machine);
	int64_t terms = definition_elements(&s.terms);
	for (int64_t from = 0; from < terms && definition_elements(definition); from += CHUNK) {
		begin_lanes(machine, from, terms);
		scatter_chunk(&s, machine, from, result, into);
	}
}

/* ---- orders ---- */
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
	c->there = compile(keys, expr_substitute(arena, d->choice[CHOICE_THERE], with));
	c->bars = compile(c->machine, expr_substitute(arena, d->choice[CHOICE_BARS], with));
	c->most = compile(c->machine, expr_substitute(arena, d->choice[CHOICE_MOST], with));
}

static bool holds(struct value value, int i) { return ((const int64_t *)value.at)[i * value.step] != 0; }

/* Do any of these positions, taken before, bar that one? */
static bool is_barred(struct choosing *c, int64_t position, const int64_t *taken, int64_t count)
{
	struct machine *machine = c->machine;
	int last = c->of->rank;
	for (int64_t from = 0; from < count; from += CHUNK) {
		begin_chunk(machine, count - from);
		FOR (i, machine->n) {
			FOR (v, last - 1)
				machine->lane[v][i] = machine->lane[v][0];
			machine->lane[last - 1][i] = position;
			machine->lane[last][i] = taken[from + i];
		}
		struct value bars = run(machine, c->bars);
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
	begin_chunk(machine, 1);
	int64_t most = *(const int64_t *)run(machine, c->most).at;
	for (int64_t i = 0; i < n && count < kept && count < most; i++)
		if (c->is_there[sorted[i].at] && !is_barred(c, sorted[i].at, taken, count))
			taken[count++] = sorted[i].at;
	while (count < kept)
		taken[count++] = -1;
}

/* Keys are elements of a map whose last variable is the position. */
static void evaluate_order(
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
	struct step *key = compile(machine, expr_substitute(scratch, definition->body, with));
	struct choosing choosing = { .of = definition };
	int64_t *positions = arena_new_array(scratch, int64_t, (size_t)kept + 1);
	if (definition_chooses(definition))
		compile_choice(&choosing, machine);
	int64_t elements = definition_elements(definition) ? definition_elements(&keys) : 0;
	for (int64_t from = 0; from < elements; from += CHUNK) {
		begin_lanes(machine, from, elements);
		struct value value = run(machine, key), there = { NULL, 0 };
		if (choosing.there)
			there = run(machine, choosing.there);
		FOR (i, machine->n) {
			int64_t at = (from + i) % n,
			        number = key_of(system, type,
			                (const char *)value.at + (size_t)(i * value.step) * system_bytes(system));
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
static void evaluate_walk(
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
	struct step *feature = compile(machine, expr_substitute(scratch, definition->body, with));
	int64_t elements = definition_elements(&features);
	for (int64_t from = 0; from < elements; from += CHUNK) {
		begin_lanes(machine, from, elements);
		struct value value = run(machine, feature);
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

/* A map whose rows lie elsewhere: each element is the one term that goes there. */
static void evaluate_lying(
        struct arena *scratch, const struct memories *memories, const struct definition *definition, struct memory into)
{
	struct definition places = *definition;
	const struct index *with[MAX_VARS] = { 0 };
	FOR (v, definition->rank) {
		with[v] = index_var(scratch, 1 + v, definition->extents[v]);
		places.reduced_extents[v] = definition->extents[v];
	}
	places.rank = 1;
	places.extents[0] = definition_elements(definition);
	places.reduce = REDUCE_LAST;
	places.reduced = definition->rank;
	places.body = expr_substitute(scratch, definition->body, with);
	const struct expr *lies = expr_substitute(scratch, definition->lies, with),
	                  *none = expr_integer(scratch, DTYPE_I64, definition->extents[definition->rank - 1]);
	const struct index *last = with[definition->rank - 1],
	                   *row = index_value(
	                           scratch, expr_substitute(scratch, definition->row, with), 0, none->integer);
	const struct range ranges[] = { { index_add(scratch, last, index_scale(scratch, row, -1)), -none->integer, 0 },
		{ index_value(scratch, lies, -1, places.extents[0]), 0, places.extents[0] } };
	places.place[0] = expr_select(scratch, ranges, COUNT(ranges),
	        expr_scalar(scratch, SCALAR_add, lies, expr_index(scratch, last), NULL),
	        expr_integer(scratch, DTYPE_I64, -1));
	places.lies = places.row = NULL;
	evaluate_scatter(scratch, memories, &places, into);
}

void definition_evaluate(
        struct arena *scratch, const struct memories *memories, const struct definition *definition, struct memory into)
{
	if (definition_scatters(definition)) {
		evaluate_scatter(scratch, memories, definition, into);
		return;
	}
	if (definition->lies) {
		evaluate_lying(scratch, memories, definition, into);
		return;
	}
	if (definition_is_order(definition)) {
		evaluate_order(scratch, memories, definition, into);
		return;
	}
	if (definition->trees.walk) {
		evaluate_walk(scratch, memories, definition, into);
		return;
	}
	struct machine *machine = machine_new(scratch, memories, definition);
	struct body body = { NULL, { NULL, NULL }, NULL };
	enum system system = system_of(definition->type, memories->math);
	int64_t elements = definition_elements(definition);
	bool products = definition->sum.products;
	for (int i = 0; products && i < 2; i++)
		body.factor[i] = compile(machine, definition->body->arg[i]);
	if (!products)
		body.whole = compile(machine, definition->body);
	if (definition->start)
		body.start = compile(machine, definition->start);
	char *acc = arena_alloc(scratch, CHUNK * sizeof(int64_t) * (definition->order == ORDER_LANES ? SUMS : 1));
	for (int64_t from = 0; from < elements; from += CHUNK) {
		begin_lanes(machine, from, elements);
		if (definition->reduce) {
			reduce_chunk(machine, &body, acc);
			values_store(system, acc, into.at, into.stored, from, machine->n);
			continue;
		}
		struct value value = run(machine, body.whole);
		if (!value.step) {
			values_spread(system, value.at, acc, machine->n);
			value.at = acc;
		}
		values_store(system, value.at, into.at, into.stored, from, machine->n);
	}
}
