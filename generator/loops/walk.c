/* walk.c: statements made, copied with substitutions, and looked through. */
#include "loops/loops.h"
#include <assert.h>
#include <math.h>

struct stmt *stmt_new(struct loops *loops, enum stmt_kind kind)
{
	struct stmt *stmt = arena_new(loops->arena, struct stmt);
	stmt->kind = kind;
	stmt->lane = -1;
	stmt->step = 1;
	return stmt;
}

struct stmt *for_new(struct loops *loops, int var, int64_t extent, enum role role)
{
	struct stmt *stmt = stmt_new(loops, STMT_FOR);
	stmt->var = var;
	stmt->extent = extent;
	stmt->role = role;
	return stmt;
}

struct nest nest_of(struct stmt *stmt)
{
	struct nest nest = { .count = 0 };
	for (;; stmt = stmt->body.at[0]) {
		nest.loop[nest.count++] = stmt;
		nest.body = &stmt->body;
		if (nest.count == NEST_MOST || stmt->body.count != 1 || stmt->body.at[0]->kind != STMT_FOR
		        || stmt->body.at[0]->role != ROLE_MAP)
			return nest;
	}
}

int index_new(struct loops *loops, const char *like, int64_t extent, const struct index *at, struct block *out)
{
	struct stmt *is = stmt_new(loops, STMT_INDEX);
	is->var = var_new(loops, like, extent);
	is->at = at;
	block_add(loops, out, is);
	return is->var;
}

bool stmt_finds(const struct stmt *stmt) { return stmt->kind == STMT_INDEX && stmt->at->values; }

int var_new(struct loops *loops, const char *like, int64_t extent)
{
	struct variable var = { like, extent };
	push(loops->arena, &loops->vars, var);
	return (int)loops->vars.count - 1;
}

struct cell *cell_new(struct loops *loops, enum cell_kind kind, const char *like, enum dtype type, int64_t size)
{
	struct cell *cell = arena_new(loops->arena, struct cell);
	cell->kind = kind;
	cell->size = size;
	cell->of.name = like;
	cell->of.type = type;
	cell->of.rank = kind != CELL_REGISTER;
	cell->of.extents[0] = size;
	cell->scheduled.mode = MODE_LOCAL;
	cell->scheduled.stride[0] = 1;
	cell->of.number = (int)loops->cells.count;
	push(loops->arena, &loops->cells, cell);
	push(loops->arena, &loops->owners, (struct definition *)NULL);
	return cell;
}

const struct expr *cell_load(struct loops *loops, struct cell *cell, const struct index *at)
{
	return expr_load(loops->arena, &cell->of, &at);
}

void block_add(struct loops *loops, struct block *block, struct stmt *stmt) { push(loops->arena, block, stmt); }
struct block block_take(struct block *block)
{
	struct block taken = *block;
	*block = (struct block){ 0 };
	return taken;
}
void block_add_all(struct loops *loops, struct block *block, const struct block *more)
{
	FOR (i, more->count)
		block_add(loops, block, more->at[i]);
}

/* ---- copies ---- */

void copying_init(struct copying *c, struct loops *loops, bool fresh)
{
	memset(c, 0, sizeof *c);
	c->loops = loops;
	c->vars = (int)loops->vars.count;
	c->with = arena_new_array(loops->arena, const struct index *, loops->vars.count + 1);
	c->fresh = fresh;
}

void copying_put(struct copying *c, int var, const struct index *index)
{
	assert(var < c->vars);
	c->with[var] = index;
}

static struct cell *copy_cell(const struct copying *c, struct cell *cell)
{
	FOR_ALL (i, c->old_cells)
		if (c->old_cells.at[i] == cell)
			return c->new_cells.at[i];
	return cell;
}

static struct cell *begin_cell(struct copying *c, struct cell *cell)
{
	if (!c->fresh)
		return copy_cell(c, cell);
	struct cell *made = cell_new(c->loops, cell->kind, cell->of.name, cell->of.type, cell->size);
	made->vector = cell->vector;
	made->bytes = cell->bytes;
	push(c->loops->arena, &c->old_cells, cell);
	push(c->loops->arena, &c->new_cells, made);
	return made;
}

static const struct expr *renamed(struct rewriter *r, const struct expr *expr)
{
	return expr->kind == EXPR_LOAD ? rewrite_load(r, expr, &copy_cell(r->user, cell_of_load(expr))->of) : NULL;
}

static struct rewriter rewriter_of(struct copying *c)
{
	return (struct rewriter){
		.arena = c->loops->arena, .with = c->with, .expr = c->old_cells.count ? renamed : NULL, .user = c
	};
}

const struct expr *copy_expr(struct copying *c, const struct expr *expr)
{
	struct rewriter r = rewriter_of(c);
	return rewrite_expr(&r, expr);
}

static const struct index *copy_index(struct copying *c, const struct index *index)
{
	struct rewriter r = rewriter_of(c);
	return rewrite_index(&r, index);
}

struct stmt *copy_stmt(struct copying *c, const struct stmt *stmt)
{
	struct arena *arena = c->loops->arena;
	struct stmt *copy = arena_new(arena, struct stmt);
	*copy = *stmt;
	if (stmt->ranges) {
		struct range *ranges = arena_new_array(arena, struct range, (size_t)stmt->range_count);
		FOR (i, stmt->range_count)
			ranges[i] = (struct range){ copy_index(c, stmt->ranges[i].at), stmt->ranges[i].from,
				stmt->ranges[i].to };
		copy->ranges = ranges;
	}
	if (stmt->first)
		copy->first = copy_index(c, stmt->first);
	if (stmt->count)
		copy->count = copy_index(c, stmt->count);
	if (stmt->at)
		copy->at = copy_index(c, stmt->at);
	if (stmt->some)
		copy->some = copy_index(c, stmt->some);
	if (stmt->square)
		copy->square = copy_index(c, stmt->square);
	if (stmt->value)
		copy->value = copy_expr(c, stmt->value);
	if (stmt->lane >= 0 && c->with[stmt->lane]) /* the lanes follow their variable */
		FOR (i, c->with[stmt->lane]->count)
			if (c->with[stmt->lane]->terms[i].atom->kind == ATOM_VAR)
				copy->lane = c->with[stmt->lane]->terms[i].atom->var;
	if (stmt->kind == STMT_ARRAY || stmt->kind == STMT_JOIN || (stmt->kind == STMT_SET && stmt->declare))
		copy->cell = begin_cell(c, stmt->cell);
	else if (stmt->cell)
		copy->cell = copy_cell(c, stmt->cell);
	if (stmt->from)
		copy->from = copy_cell(c, stmt->from);
	FOR (i, stmt->sum_count)
		copy->sums[i] = begin_cell(c, stmt->sums[i]);
	memset(&copy->body, 0, sizeof copy->body);
	memset(&copy->other, 0, sizeof copy->other);
	copy_block(c, &stmt->body, &copy->body);
	copy_block(c, &stmt->other, &copy->other);
	return copy;
}

/* Of an IF whose variables the copying narrows: the block that runs; NULL: either may. */
static const struct block *decided(struct copying *c, const struct stmt *stmt)
{
	bool all = true;
	FOR (r, stmt->range_count) {
		int64_t low, high;
		index_range(copy_index(c, stmt->ranges[r].at), &low, &high);
		if (high < stmt->ranges[r].from || low >= stmt->ranges[r].to)
			return &stmt->other;
		all &= low >= stmt->ranges[r].from && high < stmt->ranges[r].to;
	}
	return all ? &stmt->body : NULL;
}

void copy_block(struct copying *c, const struct block *block, struct block *out)
{
	FOR (i, block->count) {
		const struct block *runs = block->at[i]->kind == STMT_IF ? decided(c, block->at[i]) : NULL;
		if (runs)
			copy_block(c, runs, out);
		else
			block_add(c->loops, out, copy_stmt(c, block->at[i]));
	}
}

/* ---- looking ---- */
struct walking {
	visit_stmt *visit;
	void (*leaf)(void *user, struct stmt *, double rounds);
	void *user;
};

static bool walk(const struct walking *w, const struct block *block, double rounds)
{
	FOR (i, block->count) {
		struct stmt *stmt = block->at[i];
		enum visit says = w->visit ? w->visit(w->user, stmt) : VISIT_PARTS;
		if (w->leaf && (stmt->kind == STMT_SET || stmt->kind == STMT_STORE || stmt->kind == STMT_JOIN))
			w->leaf(w->user, stmt, rounds);
		double inner = stmt->kind == STMT_FOR ? rounds * (double)(stmt->extent / stmt->step) : rounds;
		if (says == VISIT_END
		        || (says == VISIT_PARTS && (walk(w, &stmt->body, inner) || walk(w, &stmt->other, inner))))
			return true;
	}
	return false;
}

bool block_visit(const struct block *block, visit_stmt *visit, void *user)
{
	return walk(&(struct walking){ .visit = visit, .user = user }, block, 1);
}

void block_leaves(const struct block *block, void (*visit)(void *, struct stmt *, double), void *user)
{
	walk(&(struct walking){ .leaf = visit, .user = user }, block, 1);
}

void block_each(struct block *block, void (*visit)(void *, struct block *), void *user)
{
	FOR (i, block->count) {
		block_each(&block->at[i]->body, visit, user);
		block_each(&block->at[i]->other, visit, user);
	}
	visit(user, block);
}

struct dropping {
	bool (*goes)(const void *user, const struct stmt *);
	const void *user;
};
static void drop(void *user, struct block *block)
{
	const struct dropping *d = user;
	size_t kept = 0;
	FOR (i, block->count)
		if (!d->goes(d->user, block->at[i]))
			block->at[kept++] = block->at[i];
	block->count = kept;
}

void block_drop(struct block *block, bool (*goes)(const void *, const struct stmt *), const void *user)
{
	block_each(block, drop, &(struct dropping){ goes, user });
}

struct looking {
	visit_index *visit;
	void *user;
};
static enum visit see_indices(void *user, const struct expr *expr)
{
	const struct looking *l = user;
	FOR (i, expr_index_count(expr))
		l->visit(l->user, expr_index_at(expr, i), expr->kind == EXPR_LOAD);
	return VISIT_PARTS;
}

static void see_index(struct looking *l, const struct index *index, bool address)
{
	l->visit(l->user, index, address);
	index_visit(index, see_indices, l);
}

static enum visit see_stmt(void *user, struct stmt *stmt)
{
	FOR (i, stmt->range_count)
		see_index(user, stmt->ranges[i].at, false);
	if (stmt->first)
		see_index(user, stmt->first, false);
	if (stmt->count)
		see_index(user, stmt->count, false);
	if (stmt->at)
		see_index(user, stmt->at, true);
	expr_visit_inside(stmt->value, see_indices, user);
	return VISIT_PARTS;
}

void block_indices(const struct block *block, visit_index *visit, void *user)
{
	block_visit(block, see_stmt, &(struct looking){ visit, user });
}

struct bending {
	int var;
	bool bends;
};
static void see_bend(void *user, const struct index *index, bool address)
{
	struct bending *bending = user; /* what a byte's place is loaded from is seen besides */
	bending->bends |= index_bends(index, bending->var) && !(address && index_looked_up(index));
}

bool block_bends(const struct block *block, int var)
{
	struct bending bending = { var, false };
	block_indices(block, see_bend, &bending);
	return bending.bends;
}

/* ---- reductions (docs/architecture.md) ---- */

/* One of the two bfloat16, or float16, whose bits a float has. */
static const struct expr *half_of(struct arena *arena, const struct expr *pair, enum factors factors, bool low)
{
	const struct expr *bits = expr_cast_as(arena, DTYPE_I32, CAST_BITS, pair);
	if (factors == FACTORS_F16) {
		bits = low ? bits : expr_scalar(arena, SCALAR_shr, bits, expr_integer(arena, DTYPE_I32, 16), NULL);
		return expr_cast(
		        arena, DTYPE_F32, expr_cast_as(arena, DTYPE_F16, CAST_BITS, expr_cast(arena, DTYPE_U16, bits)));
	}
	bits = low ? expr_scalar(arena, SCALAR_shl, bits, expr_integer(arena, DTYPE_I32, 16), NULL)
	           : expr_scalar(arena, SCALAR_and, bits, expr_integer(arena, DTYPE_I32, -(1 << 16)), NULL);
	return expr_cast_as(arena, DTYPE_F32, CAST_BITS, bits);
}

const struct expr *reduce_step(
        struct loops *loops, const struct definition *d, const struct expr *sum, const struct expr *term)
{
	struct arena *arena = loops->arena;
	if (d->check && d->reduce == REDUCE_MIN
	        && term->type == DTYPE_BOOL) /* 0 or 1 each: compilers compare to find the least */
		return expr_scalar(arena, SCALAR_and, term, sum, NULL);
	if (d->reduce == REDUCE_MAX || d->reduce == REDUCE_MIN)
		return expr_scalar(arena, d->reduce == REDUCE_MAX ? SCALAR_max : SCALAR_min, term, sum, NULL);
	if (d->reduce == REDUCE_PROD)
		return expr_scalar(arena, SCALAR_mul, sum, term, NULL);
	if (d->reduce == REDUCE_LAST)
		return term;
	bool products =
	        d->sum.products && term->kind == EXPR_SCALAR && term->opcode == SCALAR_mul && term->type == DTYPE_F32;
	for (int low = 0; products && d->sum.pairs; low++) {
		const struct expr *of[2];
		FOR (i, 2)
			of[i] = half_of(arena, term->arg[i], d->sum.factors, low != loops->target->lanes_are_threads);
		sum = expr_scalar(arena, SCALAR_fma, of[0], of[1], sum);
		if (low)
			return sum;
	}
	if (products)
		return expr_scalar(arena, SCALAR_fma, term->arg[0], term->arg[1], sum);
	return expr_scalar(arena, SCALAR_add, sum, term, NULL);
}

const struct expr *reduce_join(
        struct loops *loops, enum reduce reduce, const struct expr *lower, const struct expr *upper)
{
	enum scalar opcode = reduce == REDUCE_MAX ? SCALAR_max
	        : reduce == REDUCE_MIN            ? SCALAR_min
	        : reduce == REDUCE_PROD           ? SCALAR_mul
	                                          : SCALAR_add;
	bool upper_first = reduce == REDUCE_MAX || reduce == REDUCE_MIN;
	return expr_scalar(loops->arena, opcode, upper_first ? upper : lower, upper_first ? lower : upper, NULL);
}

static bool is_masked_load(const struct expr *expr, int lane)
{
	int64_t from, to;
	return expr_is_between(expr, lane, &from, &to) && expr->arg[0]->of->rank
	        && index_factor(expr->arg[0]->at[0], lane) == 1 && !index_bends(expr->arg[0]->at[0], lane);
}

struct lying {
	int lane;
	bool typed;
};
static enum visit lies_apart(void *user, const struct expr *expr)
{
	const struct lying *l = user;
	if (is_masked_load(expr, l->lane))
		return VISIT_PAST;
	if (l->typed)
		return expr_node_has_lanes(expr, l->lane) ? VISIT_PARTS : VISIT_END;
	if (expr->type == DTYPE_F32 && expr->kind == EXPR_SCALAR)
		return VISIT_PARTS;
	return expr_can_vector(expr, l->lane) ? VISIT_PAST : VISIT_END;
}

bool loops_can_vector(const struct expr *expr, int lane, bool typed)
{
	return !expr_visit(expr, lies_apart, &(struct lying){ lane, typed });
}

int loops_width(const struct loops *loops, const struct stmt *stmt)
{
	return loops->target->lanes * (stmt->bytes ? LANE_BYTES : 1);
}

bool loops_transposes(const struct loops *loops, const struct stmt *store, int lane, const struct stmt *loop)
{
	if (store->kind != STMT_STORE || store->value->kind != EXPR_LOAD || !store->value->of->rank
	        || loops->target->lanes_are_threads || lane == loop->var || loop->extent < loops->target->lanes)
		return false;
	const struct cell *from = cell_of_load(store->value), *to = store->cell;
	const struct index *at = store->value->at[0];
	int bits = dtypes[to->of.type].bits;
	return !to->vector && !from->vector && from != to && bits >= 8 && index_factor(store->at, lane) == 1
	        && index_factor(at, loop->var) == 1 && index_factor(at, lane) > 1
	        && index_factor(store->at, loop->var) > 1 && !index_bends(at, loop->var)
	        && !index_bends(store->at, loop->var) && !index_bends(at, lane) && !index_bends(store->at, lane);
}
