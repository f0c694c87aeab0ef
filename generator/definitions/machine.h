/* machine.h: expressions of one definition over chunks of lanes; shared by what evaluates definitions.
 *
 *     struct machine *machine = machine_new(arena, memories, definition);
 *     struct step *body = machine_step(machine, definition->body);
 *     for (int64_t from = 0; from < elements; from += CHUNK) {
 *             machine_begin(machine, from, elements);
 *             ... step_run(machine, body), of machine->n lanes
 *     } */
#ifndef DEFINITIONS_MACHINE_H
#define DEFINITIONS_MACHINE_H
#include "definitions/evaluate.h"

struct step;
struct value {
	const void *at;
	int step;
};
static inline const void *value_lane(struct value value, int i, enum system system)
{
	return (const char *)value.at + (size_t)(i * value.step) * system_bytes(system);
}

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
/* Over the definition's output variables. */
struct machine *machine_new(struct arena *, const struct memories *, const struct definition *);
struct step *machine_step(struct machine *, const struct expr *); /* one for each expression */
struct value step_run(struct machine *, struct step *);
void machine_begin_chunk(struct machine *, int64_t left);             /* of so many elements, CHUNK at most */
void machine_begin(struct machine *, int64_t from, int64_t elements); /* … those that follow one */

/* evaluate.c: the numbers that reductions begin with; one more term, or the upper of two partial results, into acc */
void reduce_begin(enum reduce, enum system, enum dtype, void *acc, int n);
void reduce_add(enum reduce, enum system, enum dtype, void *acc, struct value, int n);

/* What begins as a map, and has terms with places; a map whose rows lie elsewhere; positions in the order of keys; leaves
 * of trees. */
typedef void evaluate(struct arena *scratch, const struct memories *, const struct definition *, struct memory into);
evaluate evaluate_scatter, evaluate_lying, evaluate_order, evaluate_walk;
#endif
