/* vectorising.h: what vectorise.c, which takes nests by lanes, has of its parts. */
#ifndef LOOPS_VECTORISING_H
#define LOOPS_VECTORISING_H
#include "loops/loops.h"

/* ---- lane_cost.c: of one element, in loads of a vector; < 0: it cannot be ---- */
double lane_cost(const struct loops *, const struct block *inside, int var, int64_t extent);
double lane_cost_of_terms(
        const struct loops *, const struct block *); /* of all sums in 64 lanes in it, along their terms */

/* ---- lane_sums.c: sums in 64 lanes become registers ---- */
enum { GROUP = 8 }; /* partial results at a time */
void sums_along_terms(struct loops *, const struct stmt *loop, struct block *out);
void sums_in_groups(struct loops *, const struct stmt *loop, int group, struct block *out);
void sums_expand(
        struct loops *, struct block *, int64_t extent); /* all in it, in groups, beside such in so many lanes */

/* ---- lane_squares.c: squares of lanes x lanes, transposed in registers ---- */
bool rows_make_squares(const struct loops *, struct stmt **loop, int count, int k, const struct block *body);
void rows_turn_terms(
        struct loops *, struct stmt *rows); /* chains whose terms lie side by side, of as many rows as lanes */
bool rows_turn(
        struct loops *, const struct stmt *rows, struct block *out); /* … each of which stores its sum as it grows */

/* ---- statements ---- */
static inline bool loops_are_typed(const struct loops *loops) { return !loops->target->lanes_are_threads; }
struct stmt *stmt_set(struct loops *, struct cell *, const struct expr *value, bool declare);
struct stmt *for_counted(struct loops *, const char *like, int64_t extent, int64_t step);
const struct index *for_index(struct loops *, const struct stmt *loop);
/* Where a loop of those rounds ends that stands for the first of this one; NULL: behind them all. */
const struct index *for_ends_before(struct loops *, const struct stmt *loop, int64_t rounds);
void block_mark(const struct block *, int var, int left, bool bytes); /* a copied body, as vectors along a variable */
#endif
