/* evaluate.h: expressions over many elements at once; between interpret.c, which walks a program, and evaluate.c, which
 * runs one definition.  Values are floats, doubles or int64 ("systems"); what memory holds is told by `stored`. */
#ifndef DEFINITIONS_EVALUATE_H
#define DEFINITIONS_EVALUATE_H
#include "definitions/definitions.h"

enum system { SYSTEM_FLOAT, SYSTEM_DOUBLE, SYSTEM_INTEGER };
enum { CHUNK = 256 }; /* elements at once: some values of a chunk fit L1 together */

/* Where a definition's elements are while a program runs; F64 in place of F32 where all is computed in double. */
struct memory {
	void *at;
	enum dtype stored;
};
struct memories {
	const struct program *program;
	enum math math;
	struct memory *at;   /* by number; NULL: constants alone are read */
	struct arena *arena; /* of one definition */
};
/* Of what a load reads; a constant may stand outside the program (a rewrite needs it no more, the original does). */
struct memory memory_of(const struct memories *, const struct definition *);

enum system system_of(enum dtype, enum math);
static inline size_t system_bytes(enum system system) { return system == SYSTEM_FLOAT ? 4 : 8; }

/* values.c: n values of a system from and to elements of a type. */
void values_load(enum system, void *values, const void *elements, enum dtype stored, int64_t first, int n);
void values_gather(
        enum system, void *values, const void *elements, enum dtype stored, const int64_t *at, int64_t plus, int n);
void values_store(
        enum system, const void *values, void *elements, enum dtype stored, int64_t first, int n); /* integers wrap */
/* As C does, but defined everywhere: float to integer is cut to the type's range, NaN is 0; integers wrap; BOOL: not 0.
 */
void values_cast(enum system from, enum dtype from_type, const void *a, enum system to, enum dtype to_type, int cast,
        void *y, int n);
void values_wrap(enum dtype, int64_t *values, int n);
void values_spread(enum system, const void *value, void *y, int n);

/* Computes every element of a definition and stores it. */
void definition_evaluate(struct arena *scratch, const struct memories *, const struct definition *, struct memory into);
#endif
