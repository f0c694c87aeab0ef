/* evaluate.c: one definition -> its elements, chunk by chunk over all terms of its reduction. */
#include "definitions/machine.h"
#include "definitions/rows.h"
#include <math.h>

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

void reduce_add(enum reduce reduce, enum system system, enum dtype type, void *acc, struct value value, int n)
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

void reduce_begin(enum reduce reduce, enum system system, enum dtype type, void *acc, int n)
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
		reduce_begin(definition->reduce, system, definition->type, acc + (size_t)s * bytes, n);
	if (body->start && !lanes) {
		struct value start = step_run(machine, body->start);
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
			struct value a = step_run(machine, body->factor[0]), b = step_run(machine, body->factor[1]);
			accumulate_product(system, sum, a, b, n);
		} else {
			reduce_add(
			        definition->reduce, system, definition->type, sum, step_run(machine, body->whole), n);
		}
	}
	for (int half = lanes ? SUMS / 2 : 0; half; half /= 2)
		FOR (s, half)
			reduce_add(definition->reduce, system, definition->type, acc + (size_t)s * bytes,
			        (struct value){ acc + (size_t)(s + half) * bytes, 1 }, n);
	if (body->start && lanes)
		reduce_add(definition->reduce, system, definition->type, acc, step_run(machine, body->start), n);
}

void definition_evaluate(
        struct arena *scratch, const struct memories *memories, const struct definition *definition, struct memory into)
{
	evaluate *apart = definition_scatters(definition) ? evaluate_scatter
	        : definition->lies                        ? evaluate_lying
	        : definition_is_order(definition)         ? evaluate_order
	        : definition->trees.walk                  ? evaluate_walk
	                                                  : NULL;
	if (apart) {
		apart(scratch, memories, definition, into);
		return;
	}
	struct machine *machine = machine_new(scratch, memories, definition);
	struct body body = { NULL, { NULL, NULL }, NULL };
	enum system system = system_of(definition->type, memories->math);
	int64_t elements = definition_elements(definition);
	bool products = definition->sum.products;
	for (int i = 0; products && i < 2; i++)
		body.factor[i] = machine_step(machine, definition->body->arg[i]);
	if (!products)
		body.whole = machine_step(machine, definition->body);
	if (definition->start)
		body.start = machine_step(machine, definition->start);
	char *acc = arena_alloc(scratch, CHUNK * sizeof(int64_t) * (definition->order == ORDER_LANES ? SUMS : 1));
	for (int64_t from = 0; from < elements; from += CHUNK) {
		machine_begin(machine, from, elements);
		if (definition->reduce) {
			reduce_chunk(machine, &body, acc);
			values_store(system, acc, into.at, into.stored, from, machine->n);
			continue;
		}
		struct value value = step_run(machine, body.whole);
		if (!value.step) {
			values_spread(system, value.at, acc, machine->n);
			value.at = acc;
		}
		values_store(system, value.at, into.at, into.stored, from, machine->n);
	}
}
