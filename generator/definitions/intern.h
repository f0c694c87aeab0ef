/* intern.h: equal atoms, indices and expressions of an arena, and of those around it, are one pointer.  For index.c and
 * expr.c, which make them: each fills in what it is, and this gives it its hash and what is known of it (`facts`). */
#ifndef DEFINITIONS_INTERN_H
#define DEFINITIONS_INTERN_H
#include "definitions/definitions.h"

/* The atom that equals this one: a copy where it is the first. */
const struct atom *intern_atom(struct arena *, struct atom);
/* `made` was the last allocation in the arena, with room for its terms or more. */
const struct index *intern_index(struct arena *, struct index *made);
/* Its indices and ranges are copied, too. */
const struct expr *intern_expr(struct arena *, const struct expr *);

#endif
