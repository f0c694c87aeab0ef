/* expression.h: what the printer's files know together: expression.c, which numbers what is printed and puts it
 * together, casts.c for casts of scalars, lanes.c for what vectors have words of their own for. */
#ifndef EMIT_EXPRESSION_H
#define EMIT_EXPRESSION_H
#include "emit/emit.h"

enum { LEVEL_ANY, LEVEL_CHOICE, LEVEL_AND, LEVEL_ADD, LEVEL_MULTIPLY, LEVEL_CAST, LEVEL_PRIMARY };

/* What is known of a part of a line's expressions, besides what its numbering says. */
struct known {
	bool changes;     /* it, or something in it */
	bool sure;        /* somebody needs it, not only where a select has chosen it */
	const char *name; /* of its let; NULL: none yet */
};
struct sharing {
	struct numbering parts;
	VECTOR(struct known) all; /* by number */
};

struct printed {
	const char *text;
	int level;
	/* Scalars of integers below 64 bits.  OWN: C takes the text for the expression's type as it stands.  WIDE: a
	 * long long of the right value.  RAW: a long long of which the low bits alone are right. */
	enum { OWN, WIDE, RAW } form;
};
static inline struct printed printed_text(int level, const char *text) { return (struct printed){ text, level, OWN }; }
#define printed_as(arena, level, ...) printed_text(level, arena_printf(arena, __VA_ARGS__))

/* ---- expression.c ---- */
/* A part by its number; branch: of a select, where nothing may be evaluated that the select has not chosen. */
struct printed print_part(struct printer *, int number, bool branch);
/* The number of an expression that is printed whatever any select says. */
int number_of(struct printer *, const struct expr *);
struct held held_of(struct printer *, const struct expr *load);
const char *printed_wrap(struct printer *, struct printed, int least);             /* to be of that level */
struct printed printed_own(struct printer *, const struct expr *, struct printed); /* as C takes it for the type */

/* ---- fours.c ---- */
/* A dword of four bytes that are alike, where the target has such lanes; NULL: it is something else. */
const char *print_dword(struct printer *, const struct expr *dword);

/* ---- casts.c ---- */
struct printed print_cast(struct printer *, const struct expr *, struct printed);
/* What is quantised to 8 or 16 bits, bounds(round(x) + zero), in one word; NULL: it is something else. */
const char *print_rounded(struct printer *, const struct expr *cast, bool branch);
const char *print_rounded_less(struct printer *, const struct expr *, bool branch);
const char *print_bfloat(struct printer *, const struct expr *, bool branch);
const char *print_rounded_lanes(struct printer *, const struct expr *cast, bool branch);
/* Of such a cast, less a number, what stands behind x in that word, and x; NULL: it is none. */
const char *rounding_bounds(struct printer *, const struct expr *cast, int64_t less, const struct expr **of);
bool takes_raw(const struct expr *cast);
bool fits_in(enum dtype from, enum dtype to);                             /* has `to` every value of the other? */
const char *wide_text(struct arena *, enum dtype from, const char *code); /* the float of a code */

/* ---- lanes.c: NULL where there is no such word ---- */
struct lane_type printer_lane_type(const struct printer *, enum dtype);
const char *lanes_set(struct arena *, struct lane_type, const char *scalar); /* the same value in each lane */
const char *lanes_wrap(struct arena *, const struct expr *, const char *text);
const char *print_index_lanes(struct printer *, const struct index *);
const char *print_pairs(struct printer *, const struct expr *load, const struct index *address);
const char *print_looked_up(struct printer *, const struct expr *load, const char *at, enum dtype of_at);
const char *print_between(struct printer *, const struct expr *);
const char *print_one_of_two(struct printer *, int number);
const char *print_select_lanes(struct printer *, const struct expr *, const char *yes, const char *no);
const char *print_where_lanes(struct printer *, const struct numbered *, bool branch);
const char *print_cast_lanes(struct printer *, const struct numbered *, bool branch);
#endif
