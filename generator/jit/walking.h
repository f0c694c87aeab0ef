/* walking.h: a generic kernel's statements while they become calls: what loops.c, lanes.c, sums.c and chains.c share. */
#ifndef JIT_WALKING_H
#define JIT_WALKING_H
#include "jit/jit.h"

/* Of a register or array, in scratch. */
struct where {
	bool known;
	int64_t offset;
	int var[2];
	int64_t stride[2];
};
struct walking {
	struct blocks *b;
	struct loops *loops;
	struct where *cells; /* by number */
	const char **names;  /* of variables */
};

/* ---- loops.c ---- */
struct operand glue_operand(struct walking *, struct cell *, const struct dims *);
void glue_cell(struct walking *, const struct cell *, const struct dims *); /* begins */
void glue_store(struct walking *, const struct stmt *, const struct dims *);
void glue_block(struct walking *, const struct block *, const struct dims *);

/* ---- lanes.c ---- */
static inline int64_t at_least_one(int64_t n, int64_t most) { return n < 1 ? 1 : n > most ? most : n; }
bool lane_is_inner(const struct stmt *);
bool lane_leaf_body(const struct block *);
bool lane_may_lie(const struct block *, int var, int64_t extent);
bool lane_may_gather(const struct block *, int var, int64_t extent);
bool lane_may_find(struct arena *, const struct block *, int row, int64_t extent, int lane);
double call_cost(struct arena *, const struct block *, int var, int64_t extent);
bool lane_turns(const struct block *, int lane, const struct stmt *row, int lanes);
int64_t lane_longest(const struct block *);

/* ---- sums.c ---- */
/* What a reduction adds in a step. */
struct step {
	const char *name;
	const struct expr *term[2];
	int terms;
};
static inline bool is_cell(const struct expr *e, const struct cell *cell)
{
	return e->kind == EXPR_LOAD && e->of == &cell->of;
}
bool glue_step(const struct stmt *, const struct cell *sum, struct step *);
void glue_sums(struct walking *, const struct stmt *loop, const struct dims *);
bool glue_running(struct walking *, const struct stmt *loop, const struct dims *);
bool glue_loads_cell(const struct expr *, struct cell *);

/* ---- chains.c ---- */
size_t glue_run(struct walking *, const struct block *, size_t from, const struct dims *);
bool glue_fused(struct walking *, const struct stmt *, const struct dims *);

#endif
