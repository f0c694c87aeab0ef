/* evaluate_scatter.c: definitions whose terms have places -> their elements; and maps whose rows lie elsewhere. */
#include "definitions/machine.h"

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
	s->value = machine_step(machine, expr_substitute(machine->arena, d->body, with));
	if (d->running && d->start)
		s->start = machine_step(machine, expr_substitute(machine->arena, d->start, with));
	FOR (v, d->rank)
		if (d->place[v])
			s->place[v] = machine_step(machine, expr_substitute(machine->arena, d->place[v], with));
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
	struct value value = step_run(machine, s->value),
	             start = s->start ? step_run(machine, s->start) : (struct value){ NULL, 0 }, place[MAX_RANK];
	FOR (v, d->rank)
		if (d->place[v])
			place[v] = step_run(machine, s->place[v]);
	FOR (i, machine->n) {
		int64_t element = element_of(s, machine, place, i);
		if (d->running && (from + i) % terms == 0) {
			reduce_begin(d->reduce, system, d->type, result, 1);
			if (s->start)
				memcpy(result, value_lane(start, i, system), bytes);
		}
		if (!d->running && element < 0)
			continue;
		if (!d->running)
			values_load(system, result, into.at, into.stored, element, 1);
		reduce_add(d->reduce, system, d->type, result, (struct value){ value_lane(value, i, system), 0 }, 1);
		if (element >= 0)
			values_store(system, result, into.at, into.stored, element, 1);
	}
}

/* Every element as it begins, then the terms in order. */
void evaluate_scatter(
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
		reduce_begin(definition->reduce, system, definition->type, result, 1);
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
		machine_begin(machine, from, terms);
		scatter_chunk(&s, machine, from, result, into);
	}
}

/* A map whose rows lie elsewhere: each element is the one term that goes there. */
void evaluate_lying(
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
