/* loops.c: a generic kernel's statements -> calls over blocks.
 * Of each nest of maps one variable lies along the lanes and one along the rows of a block; the others stay loops of
 * the glue.  A map with loops inside keeps its rounds along the lanes, and as rows of the blocks of those loops.  Sums
 * in 64 lanes are one call for the rows of a block; what a chain adds is listed first and then taken in one call. */
#include "jit/jit.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { FINDING_LANES_MOST = 128, RUN_LEAST = 2, STRIDES_MOST = 4, SQUARES_LANES = 128 };

struct where {
	bool known;
	int64_t offset;
	int var[2];
	int64_t stride[2];
}; /* of a register or array, in scratch */

struct walking {
	struct blocks *b;
	struct loops *loops;
	struct where *cells; /* by number */
	const char **names;  /* of variables */
};

static void emit_block(struct walking *, const struct block *, const struct dims *);
static void emit_store(struct walking *, const struct stmt *, const struct dims *);

/* ---- cells ---- */
static bool place_load(void *user, const struct expr *load, const struct dims *d, struct operand *out)
{
	struct walking *w = user;
	struct cell *cell = cell_of_load(load);
	if (cell->kind == CELL_BUFFER)
		return false;
	const struct where *at = &w->cells[cell->of.number];
	if (!at->known) {
		blocks_cannot(w->b, "a value is used before it is made");
		return true;
	}
	const char *base = blocks_at(w->b, load->type, at->offset);
	*out = (struct operand){ 0 };
	FOR (i, 2) {
		out->row += at->var[i] >= 0 && at->var[i] == d->row ? at->stride[i] : 0;
		out->lane += at->var[i] >= 0 && at->var[i] == d->lane ? at->stride[i] : 0;
	}
	if (w->b->lane && out->lane)
		base = arena_printf(w->b->arena, "%s + %" PRId64 " * %s", base, out->lane, w->b->lane);
	if (cell->kind == CELL_ARRAY) {
		const struct index *index = load->at[0];
		int64_t c;
		if (blocks_bends(index, d)) {
			*out = (struct operand){ base, out->row, out->lane, false, true };
			return true;
		}
		out->row += d->row >= 0 ? index_factor(index, d->row) : 0;
		out->lane += d->lane >= 0 ? index_factor(index, d->lane) : 0;
		if (!index_is_constant(index, &c) || c)
			base = arena_printf(w->b->arena, "%s + (%s)", base, printer_index(&w->b->printer, index));
		blocks_lets(w->b);
	}
	out->at = base;
	return true;
}

static struct operand operand_of(struct walking *w, struct cell *cell, const struct dims *d)
{
	struct operand o = { .at = "scratch" };
	if (!blocks_leaf(w->b, cell_load(w->loops, cell, NULL), d, &o))
		blocks_cannot(w->b, "the menu has no lanes of what it keeps");
	return o;
}

/* A register of as many values as the block has; an array of as many rows. */
static void begin_cell(struct walking *w, const struct cell *cell, const struct dims *d)
{
	struct where *at = &w->cells[cell->of.number];
	int64_t offset, lanes = cell->kind == CELL_ARRAY ? cell->size : 1;
	if (cell->kind == CELL_ARRAY && d->row >= 0)
		blocks_cannot(w->b, "an array inside a block");
	if (!lanes_of(cell->of.type)) {
		blocks_cannot(w->b, "the menu has no lanes of what it keeps");
		return;
	}
	blocks_lanes(w->b, cell->of.type, lanes * d->rows_most * d->n_most, &offset);
	*at = (struct where){ true, offset, { d->lane, d->row }, { lanes, d->n_most } };
}

/* ---- which variables may lie along a block ---- */
static bool is_inner(const struct stmt *stmt)
{
	return stmt->kind == STMT_FOR && (stmt->role == ROLE_MAP || stmt->role == ROLE_LANES);
}

static enum visit see_inner(void *user, struct stmt *stmt)
{
	(void)user;
	return is_inner(stmt) ? VISIT_END : VISIT_PARTS;
}
static bool is_leaf_body(const struct block *block) { return !block_visit(block, see_inner, NULL); }

static enum visit condition_uses(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	return stmt->range_count || (stmt->kind == STMT_INDEX && index_uses(stmt->at, var))
	                || (stmt->value && expr_selects_on(stmt->value, var))
	        ? VISIT_END
	        : VISIT_PARTS;
}

static bool may_lie(const struct block *body, int var, int64_t extent)
{
	return extent > 1 && !block_bends(body, var) && !block_visit(body, condition_uses, &var);
}

/* Also where lanes find the places of what they load. */
static enum visit bends_beside_loads(void *user, const struct expr *expr)
{
	int var = *(const int *)user;
	bool loads = expr->kind == EXPR_LOAD
	        && (cell_of_load(expr)->kind != CELL_BUFFER || lanes_lie(expr->type) || expr_looked_up(expr, var));
	for (int i = 0; expr->kind == EXPR_LOAD && !loads && i < expr_index_count(expr); i++)
		if (index_bends(expr_index_at(expr, i), var))
			return VISIT_END;
	return VISIT_PARTS;
}
static enum visit stmt_bends(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	return (stmt->at && index_bends(stmt->at, var))
	                || (stmt->value && expr_visit(stmt->value, bends_beside_loads, user))
	        ? VISIT_END
	        : VISIT_PARTS;
}
static enum visit uncut(void *user, const struct expr *expr)
{
	return expr->kind == EXPR_SELECT && !blocks_cuts(expr->ranges, expr->range_count, *(const int *)user)
	                && !blocks_masks(expr)
	        ? VISIT_END
	        : VISIT_PARTS;
}
/* Also what cuts a block along its lanes. */
static enum visit condition_bends(void *user, struct stmt *stmt)
{
	int var = *(const int *)user;
	bool cuts = blocks_cuts(stmt->ranges, stmt->range_count, var);
	FOR (r, stmt->range_count)
		if (index_uses(stmt->ranges[r].at, var) && (!cuts || stmt->other.count))
			return VISIT_END;
	return (stmt->kind == STMT_INDEX && index_uses(stmt->at, var))
	                || (stmt->value && expr_visit(stmt->value, uncut, user))
	        ? VISIT_END
	        : VISIT_PARTS;
}
static bool may_gather(const struct block *body, int var, int64_t extent)
{
	return extent > 1 && !block_visit(body, stmt_bends, &var) && !block_visit(body, condition_bends, &var);
}

/* May each row find its place, the same for all lanes? */
struct finding {
	struct arena *arena;
	int row, lane;
};
static enum visit load_finds(void *user, const struct expr *expr)
{
	const struct finding *f = user;
	for (int i = 0; expr->kind == EXPR_LOAD && i < expr_index_count(expr); i++) {
		const struct index *at = expr_index_at(expr, i);
		if (index_bends(at, f->row) && (cell_of_load(expr)->kind != CELL_BUFFER || !lanes_lie(expr->type)))
			return VISIT_END;
		FOR (t, at->count) {
			const struct index *one = index_of_atom(f->arena, *at->terms[t].atom, 1);
			if (index_bends(one, f->row) && index_uses(one, f->lane))
				return VISIT_END;
		}
	}
	return VISIT_PARTS;
}
static enum visit row_bends(void *user, struct stmt *stmt)
{
	const struct finding *f = user;
	return (stmt->at && index_bends(stmt->at, f->row)) || (stmt->value && expr_visit(stmt->value, load_finds, user))
	        ? VISIT_END
	        : VISIT_PARTS;
}
static bool may_find(struct arena *arena, const struct block *body, int row, int64_t extent, int lane)
{
	struct finding f = { arena, row, lane };
	return extent > 1 && !block_bends(body, lane) && !block_visit(body, row_bends, &f)
	        && !block_visit(body, condition_uses, &row);
}

struct judging {
	struct arena *arena;
	int var;
	double cost;
	double rounds;
};
/* paired: every second, third or fourth of its elements is taken by permutations (m_gather). */
static void judge_address(struct judging *j, const struct cell *cell, const struct index *at, bool stored, bool paired)
{
	bool bends = cell->kind != CELL_REGISTER && at && index_bends(at, j->var), once = true;
	for (int i = 0; bends && i < at->count; i++) {
		const struct index *one = index_of_atom(j->arena, *at->terms[i].atom, 1);
		once &= !index_bends(one, j->var) || one->vars == var_bit(j->var);
	}
	int64_t factor = cell->kind == CELL_REGISTER || !at ? 1 : index_factor(at, j->var);
	j->cost += j->rounds
	        * (bends                                                          ? (stored        ? 40
	                                                                                    : once ? 6
	                                                                                           : 8)
	                        : factor == 1                                     ? 1
	                        : factor == 0                                     ? 0.7
	                        : factor >= 2 && factor <= STRIDES_MOST && paired ? 2
	                                                                          : 10);
}
static void judge_load(void *user, const struct expr *load)
{
	judge_address(user, cell_of_load(load), load->of->rank ? load->at[0] : NULL, false, load->type == DTYPE_F32);
}
static void judge_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct judging *j = user;
	j->rounds = rounds;
	judge_address(j, stmt->cell, stmt->at, true, false);
	if (stmt->value)
		expr_loads(stmt->value, judge_load, j);
}

/* Less is better: what a value costs, with a short row's overhead. */
static double judge(struct arena *arena, const struct block *body, int var, int64_t extent)
{
	struct judging j = { .arena = arena, .var = var };
	block_leaves(body, judge_leaf, &j);
	return j.cost * (1 + 8.0 / (double)extent);
}

/* Do lanes that lie apart have neighbours along the row?  Then blocks of both turn in registers. */
struct turning {
	int lane, row;
	bool turns;
};
static void see_turn(struct turning *t, const struct cell *cell, const struct index *at)
{
	t->turns |= cell->kind == CELL_BUFFER && at && llabs(index_factor(at, t->lane)) > STRIDES_MOST
	        && index_factor(at, t->row) == 1;
}
static void turning_load(void *user, const struct expr *load)
{
	see_turn(user, cell_of_load(load), load->of->rank ? load->at[0] : NULL);
}
static void turning_leaf(void *user, struct stmt *stmt, double rounds)
{
	(void)rounds;
	see_turn(user, stmt->cell, stmt->at);
	if (stmt->value)
		expr_loads(stmt->value, turning_load, user);
}
static bool turns(const struct block *body, int lane, const struct stmt *row, int lanes)
{
	struct turning t = { lane, row->var, false };
	if (row->extent >= lanes)
		block_leaves(body, turning_leaf, &t);
	return t.turns;
}

/* ---- how far blocks reach ---- */
/* How far the loops inside reach: the lanes of the blocks in them. */
static enum visit see_length(void *user, struct stmt *stmt)
{
	int64_t *most = user, length = is_inner(stmt) ? stmt->extent : stmt->kind == STMT_ARRAY ? stmt->cell->size : 1;
	*most = length > *most ? length : *most;
	return VISIT_PARTS;
}
static int64_t longest(const struct block *block)
{
	int64_t most = 1;
	block_visit(block, see_length, &most);
	return most;
}

static int64_t at_least_one(int64_t n, int64_t most) { return n < 1 ? 1 : n > most ? most : n; }

/* ---- nests of maps ---- */
/* The loop along the rows of a block whose lanes are another's: the longest, of those that turn with it where any do.
 * -1: there is none. */
static int row_beside(struct walking *w, const struct nest *nest, int lane, bool *squares)
{
	int row = -1, lanes = w->b->printer.target->lanes;
	*squares = false;
	FOR (k, nest->count) {
		const struct stmt *loop = nest->loop[k];
		if (k == lane || !may_lie(nest->body, loop->var, loop->extent))
			continue;
		bool turned = turns(nest->body, nest->loop[lane]->var, loop, lanes);
		if (row < 0 || turned > *squares || (turned == *squares && loop->extent >= nest->loop[row]->extent)) {
			row = k;
			*squares = turned;
		}
	}
	/* Short rows that each find their place. */
	for (int k = nest->count - 1; k >= 0 && row < 0 && nest->loop[lane]->extent <= FINDING_LANES_MOST; k--)
		if (k != lane
		        && may_find(w->b->arena, nest->body, nest->loop[k]->var, nest->loop[k]->extent,
		                nest->loop[lane]->var))
			row = k;
	return row;
}

/* Does a round of a chain store outside of maps?  A call for each is worth it from so many lanes on. */
enum { SERIAL_LANES_LEAST = 16 };
static enum visit stores_one(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_STORE ? VISIT_END : is_inner(stmt) ? VISIT_PAST : VISIT_PARTS;
}
static enum visit stores_each(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_FOR && stmt->role == ROLE_SERIAL && block_visit(&stmt->body, stores_one, NULL)
	        ? VISIT_END
	        : VISIT_PARTS;
}

/* Is a round's work enough for blocks of its own, which no sum of several rounds would share? */
enum { ROUND_LEAST = 256 };
struct weighed {
	double all, least;
};
static void see_work(void *user, struct stmt *stmt, double rounds)
{
	struct weighed *seen = user;
	(void)stmt;
	seen->all += rounds;
	seen->least = rounds < seen->least ? rounds : seen->least;
}
static enum visit see_sums(void *user, struct stmt *stmt)
{
	(void)user;
	return (stmt->kind == STMT_FOR && stmt->role != ROLE_MAP) || stmt->kind == STMT_ARRAY ? VISIT_END : VISIT_PARTS;
}
static bool is_enough(const struct block *body)
{
	struct weighed seen = { 0, ROUND_LEAST };
	block_leaves(body, see_work, &seen);
	return seen.all >= ROUND_LEAST && seen.least >= JIT_FEW && !block_visit(body, see_sums, NULL);
}

static void emit_nest(struct walking *w, struct stmt *first, const struct dims *d)
{
	struct nest nest = nest_of(first);
	struct blocks *b = w->b;
	bool leaf = is_leaf_body(nest.body), rows_given = d->lane >= 0;
	int lane = -1, row = -1;
	bool squares = false;
	double least = 0;
	if (d->row >= 0) {
		blocks_cannot(b, "a map inside a block");
		return;
	}
	/* Loops that are not leaves, inside a map whose rounds lie along the lanes already: all stay loops. */
	if (leaf)
		FOR_ALL (k, nest)
			if (may_gather(nest.body, nest.loop[k]->var, nest.loop[k]->extent)) {
				double cost = judge(b->arena, nest.body, nest.loop[k]->var, nest.loop[k]->extent);
				if (lane < 0 || cost <= least)
					lane = k, least = cost;
			}
	for (size_t i = 0; i < nest.body->count && leaf && lane < 0; i++)
		if (stmt_finds(nest.body->at[i])) {
			blocks_cannot(b, "each element has a place of its own");
			return;
		}
	if (leaf && lane >= 0 && !rows_given) {
		row = row_beside(w, &nest, lane, &squares);
	} else if (!leaf && !rows_given && !is_enough(nest.body)
	        && (nest.loop[nest.count - 1]->extent >= SERIAL_LANES_LEAST
	                || !block_visit(nest.body, stores_each, NULL))
	        && may_lie(nest.body, nest.loop[nest.count - 1]->var, nest.loop[nest.count - 1]->extent))
		row = nest.count - 1;
	struct value outer[NEST_MOST + 2];
	int opened = 0;
	FOR_ALL (k, nest)
		if (k != lane && k != row)
			blocks_loop(w->b, nest.loop[k]->var, nest.loop[k]->extent, 1, &outer[opened++]);
	struct dims inner = *d;
	if (leaf && lane >= 0) {
		int64_t extent = nest.loop[lane]->extent,
		        chunk = rows_given ? extent : at_least_one(squares ? SQUARES_LANES : JIT_LANES_MOST, extent);
		inner = rows_given ? (struct dims){ d->lane, nest.loop[lane]->var, d->n, NULL, d->n_most, chunk }
		                   : (struct dims){ -1, nest.loop[lane]->var, "1", NULL, 1, chunk };
		if (row >= 0) {
			int64_t rows = at_least_one(JIT_BLOCK / chunk, nest.loop[row]->extent);
			inner.row = nest.loop[row]->var;
			inner.rows_most = rows;
			blocks_loop(w->b, nest.loop[row]->var, nest.loop[row]->extent, rows, &outer[opened++]);
			inner.rows = blocks_count(w->b, nest.loop[row]->var, nest.loop[row]->extent, rows);
		}
		blocks_loop(w->b, nest.loop[lane]->var, extent, chunk, &outer[opened++]);
		inner.n = blocks_count(w->b, nest.loop[lane]->var, extent, chunk);
		b->whole &= ~var_bit(inner.lane);
		b->whole |= chunk == extent && !(b->end && inner.lane == b->ended) ? var_bit(inner.lane) : 0;
	} else if (row >= 0) {
		/* Whole vectors of sums, however long each is: that is what there is to gain. */
		int64_t extent = nest.loop[row]->extent, terms = longest(nest.body),
		        lanes = terms <= 8 * JIT_BLOCK ? w->b->printer.target->lanes : 1;
		int64_t chunk = at_least_one(
		        JIT_BLOCK / terms > lanes ? (JIT_BLOCK / terms + lanes) / (2 * lanes) * 2 * lanes : lanes,
		        extent);
		inner = (struct dims){ -1, nest.loop[row]->var, "1", NULL, 1, chunk };
		blocks_loop(w->b, nest.loop[row]->var, extent, chunk, &outer[opened++]);
		inner.n = blocks_count(w->b, nest.loop[row]->var, extent, chunk);
	}
	int64_t before = b->scratch, rounds = 1;
	FOR_ALL (k, nest)
		rounds *= nest.loop[k]->extent;
	b->few |= leaf && inner.rows_most * inner.n_most < JIT_FEW && rounds >= JIT_FEW * JIT_FEW;
	emit_block(w, nest.body, &inner);
	b->scratch = before;
	while (opened > 0)
		blocks_close(b, outer[--opened]);
}

/* ---- what a reduction adds in a step ---- */
struct step {
	const char *name;
	const struct expr *term[2];
	int terms;
};

static bool is_cell(const struct expr *e, const struct cell *cell)
{
	return e->kind == EXPR_LOAD && e->of == &cell->of;
}

static bool step_of(const struct stmt *stmt, const struct cell *sum, struct step *step)
{
	const struct expr *e = stmt->value;
	if (stmt->kind != STMT_SET || stmt->cell != sum || e->kind != EXPR_SCALAR || !lanes_of(e->type)
	        || e->type == DTYPE_U64 || (!lanes_lie(e->type) && !scalar_stays(e->opcode)))
		return false;
	*step = (struct step){ scalars[e->opcode].name, { e->arg[0], NULL }, 1 };
	switch (e->opcode) {
	case SCALAR_fma:
		step->term[1] = e->arg[1];
		step->terms = 2;
		return e->type == DTYPE_F32 && is_cell(e->arg[2], sum);
	case SCALAR_add:
	case SCALAR_mul: step->term[0] = e->arg[1]; return is_cell(e->arg[0], sum);
	case SCALAR_max:
	case SCALAR_min: return is_cell(e->arg[1], sum);
	case SCALAR_and: return lanes_of(e->type)->floats == 1 && is_cell(e->arg[1], sum);
	default: return false;
	}
}

/* ---- sums in 64 lanes ---- */
/* Is one sum of one term all that the loop makes? */
static bool only_step(const struct stmt *loop, struct step *step)
{
	return loop->body.count == 1 && step_of(loop->body.at[0], loop->sums[0], step) && step->terms == 1;
}

/* Terms that lie along the lanes of neighbouring sums, and are not affine themselves: they find their rows, or come one by
 * one. */
static bool emit_across(struct walking *w, const struct stmt *loop, const struct dims *d)
{
	struct blocks *b = w->b;
	struct step step;
	struct value outer;
	int64_t before = b->scratch;
	if (d->lane < 0 || !only_step(loop, &step) || step.term[0]->type != DTYPE_F32
	        || may_lie(&loop->body, loop->var, loop->extent) || !may_lie(&loop->body, d->lane, d->n_most))
		return false;
	bool together = may_find(b->arena, &loop->body, loop->var, loop->extent, d->lane);
	struct operand terms = { blocks_scratch(b, loop->extent * d->n_most, NULL), d->n_most, 1, false, false },
	               one = terms;
	struct dims inner = { together ? loop->var : d->row, d->lane, "1", d->n, 1, d->n_most };
	blocks_loop(w->b, loop->var, loop->extent, together ? loop->extent : 1, &outer);
	if (together) {
		inner.rows = arena_printf(b->arena, "%" PRId64, inner.rows_most = loop->extent);
	} else {
		one.at = arena_printf(b->arena, "%s + %" PRId64 " * %s", terms.at, d->n_most, w->names[loop->var]);
		one.row = 0;
	}
	blocks_into(b, step.term[0], &inner, one);
	blocks_close(b, outer);
	blocks_call(b, arena_printf(b->arena, "m_across_%s", step.name), "across",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64 ", %s", operand_of(w, loop->sums[0], d).at,
	                terms.at, d->n_most, loop->extent, d->n));
	b->scratch = before;
	return true;
}

/* Integers that lie side by side along the sums: their rows are the terms. */
static bool emit_beside(struct walking *w, const struct stmt *loop, const struct dims *d)
{
	struct blocks *b = w->b;
	struct step step;
	if (d->lane < 0 || !only_step(loop, &step) || dtypes[step.term[0]->type].class == CLASS_FLOAT
	        || b->printer.target->lanes == 1 || step.name == scalars[SCALAR_mul].name
	        || step.name == scalars[SCALAR_and].name || !may_lie(&loop->body, loop->var, loop->extent)
	        || !may_lie(&loop->body, d->lane, d->n_most)
	        || judge(b->arena, &loop->body, loop->var, loop->extent)
	                <= judge(b->arena, &loop->body, d->lane, d->n_most))
		return false;
	struct dims inner = { loop->var, d->lane, arena_printf(b->arena, "%" PRId64, loop->extent), d->n, loop->extent,
		d->n_most };
	struct value outer;
	int64_t before = b->scratch;
	blocks_loop(b, loop->var, loop->extent, loop->extent, &outer);
	struct operand terms = blocks_vector(b, step.term[0], &inner);
	blocks_call(b, arena_printf(b->arena, "m_across_%s_%s", lanes_of(step.term[0]->type)->name, step.name),
	        "across",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s", operand_of(w, loop->sums[0], d).at, terms.at,
	                terms.row, inner.rows, d->n));
	blocks_close(b, outer);
	b->scratch = before;
	return true;
}

/* Many integers, whose order does not matter: block by block, each joined with those before. */
static bool emit_parts(struct walking *w, const struct stmt *loop, const struct dims *d)
{
	struct blocks *b = w->b;
	struct step step;
	if (loop->extent <= 2 * JIT_LANES_MOST || !only_step(loop, &step)
	        || dtypes[loop->sums[0]->of.type].class == CLASS_FLOAT
	        || !may_gather(&loop->body, loop->var, loop->extent))
		return false;
	enum dtype type = loop->sums[0]->of.type;
	const char *sum = operand_of(w, loop->sums[0], d).at, *lanes = lanes_of(type)->name, *part;
	int64_t before = b->scratch;
	struct value outer;
	part = blocks_lanes(b, type, d->n_most, NULL);
	blocks_call(b, arena_printf(b->arena, "m_sums_%s_%s", lanes, step.name), "sums1",
	        arena_printf(b->arena, "%s, %s, 0, %s, 0", sum, sum, d->n)); /* of no terms: where they start */
	blocks_loop(b, loop->var, loop->extent, JIT_LANES_MOST, &outer);
	struct dims inner = { d->lane, loop->var, d->n, blocks_count(b, loop->var, loop->extent, JIT_LANES_MOST),
		d->n_most, JIT_LANES_MOST };
	struct operand terms = blocks_vector(b, step.term[0], &inner);
	blocks_call(b, arena_printf(b->arena, "m_sums_%s_%s", lanes, step.name), "sums1",
	        arena_printf(b->arena, "%s, %s, %s, %s", part, blocks_pointer(b, terms), inner.rows, inner.n));
	blocks_call(b, arena_printf(b->arena, "m_%s_%s_vv", lanes, step.name), "map2",
	        arena_printf(b->arena, "%s, 0, %s, 0, %s, 0, 1, %s", sum, sum, part, d->n));
	blocks_close(b, outer);
	b->scratch = before;
	return true;
}

static void emit_lanes(struct walking *w, const struct stmt *loop, const struct dims *d)
{
	struct blocks *b = w->b;
	if (d->row >= 0) {
		blocks_cannot(b, "a sum inside a block");
		return;
	}
	FOR (s, loop->sum_count)
		begin_cell(w, loop->sums[s], d);
	if (emit_across(w, loop, d) || emit_beside(w, loop, d) || emit_parts(w, loop, d))
		return;
	int64_t before = b->scratch;
	struct dims inner = { d->lane, loop->var, d->n, arena_printf(b->arena, "%" PRId64, loop->extent), d->n_most,
		loop->extent };
	b->whole |= var_bit(loop->var);
	if (!may_gather(&loop->body, loop->var, loop->extent))
		blocks_cannot(b, "a sum whose terms find no lanes");
	/* The variable stands at 0 while all its rounds are in the block. */
	struct value outer;
	blocks_loop(w->b, loop->var, loop->extent, loop->extent, &outer);
	for (size_t i = 0; i < loop->body.count && !b->cannot; i++) {
		const struct stmt *stmt = loop->body.at[i];
		struct step step = { 0 };
		bool found = false;
		for (int s = 0; s < loop->sum_count && !found; s++)
			found = step_of(stmt, loop->sums[s], &step);
		if (!found) {
			struct block one = { .at = (struct stmt **)&loop->body.at[i], .count = 1 };
			emit_block(w, &one, &inner);
			continue;
		}
		const char *arguments = operand_of(w, stmt->cell, d).at;
		struct operand apart;
		if (step.terms == 1 && d->lane >= 0 && stmt->value->type == DTYPE_F32 && step.term[0]->kind == EXPR_LOAD
		        && blocks_leaf(b, step.term[0], &inner, &apart) && apart.row == 1 && apart.lane != 1) {
			blocks_call(b, arena_printf(b->arena, "m_across_%s", step.name), "across",
			        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s", arguments, apart.at, apart.lane,
			                inner.n, inner.rows));
			continue;
		}
		int64_t temporaries = b->scratch;
		FOR (t, step.terms) {
			struct operand o = blocks_vector(b, step.term[t], &inner);
			arguments = arena_printf(b->arena, "%s, %s, %" PRId64, arguments, o.at, o.row);
		}
		const char *lanes = stmt->value->type == DTYPE_F32
		        ? ""
		        : arena_printf(b->arena, "%s_", lanes_of(stmt->value->type)->name);
		blocks_call(b, arena_printf(b->arena, "m_sums_%s%s", lanes, step.name),
		        step.terms == 2 ? "sums2" : "sums1",
		        arena_printf(b->arena, "%s, %s, %s", arguments, inner.rows, inner.n));
		b->scratch = temporaries;
	}
	blocks_close(b, outer);
	b->scratch = before;
}

/* ---- registers that are stored as they run along a row ---- */
static enum visit loads_register(void *user, const struct expr *expr)
{
	(void)user;
	return expr->kind == EXPR_LOAD && cell_of_load(expr)->kind == CELL_REGISTER ? VISIT_END : VISIT_PARTS;
}

static enum visit is_of_cell(void *user, const struct expr *expr)
{
	return expr->kind == EXPR_LOAD && cell_of_load(expr) == user ? VISIT_END : VISIT_PARTS;
}
static bool loads_cell(const struct expr *expr, struct cell *cell) { return expr_visit(expr, is_of_cell, cell); }

/* Are they sums and products, of what is no register, and what stores them? */
static bool runs(struct walking *w, const struct block *body)
{
	size_t sets = 0;
	FOR (i, body->count) {
		const struct stmt *stmt = body->at[i];
		struct step step;
		if (stmt->kind == STMT_STORE)
			continue;
		if (stmt->kind != STMT_SET || stmt->declare || !step_of(stmt, stmt->cell, &step) || step.terms != 1
		        || (stmt->value->opcode != SCALAR_add && stmt->value->opcode != SCALAR_mul)
		        || !w->cells[stmt->cell->of.number].known || expr_visit(step.term[0], loads_register, NULL))
			return false;
		FOR (k, i) /* a store of what it was before has another form */
			if (body->at[k]->cell == stmt->cell
			        || (body->at[k]->kind == STMT_STORE && loads_cell(body->at[k]->value, stmt->cell)))
				return false;
		sets++;
	}
	return sets && sets < body->count;
}

static bool emit_running(struct walking *w, const struct stmt *loop, const struct dims *d)
{
	struct blocks *b = w->b;
	const struct block *body = &loop->body;
	if (d->lane >= 0 || d->row >= 0 || loop->first || loop->count || loop->step != 1 || !runs(w, body))
		return false;
	struct where *kept = arena_new_array(b->arena, struct where, body->count);
	int64_t chunk = at_least_one(JIT_LANES_MOST, loop->extent), scratch = b->scratch, offset;
	struct value outer;
	blocks_loop(b, loop->var, loop->extent, chunk, &outer);
	struct dims inner = { -1, loop->var, "1", blocks_count(b, loop->var, loop->extent, chunk), 1, chunk };
	FOR (i, body->count) {
		const struct stmt *stmt = body->at[i];
		if (stmt->kind == STMT_STORE) {
			emit_store(w, stmt, &inner);
			continue;
		}
		struct step step;
		step_of(stmt, stmt->cell, &step);
		struct where *at = &w->cells[stmt->cell->of.number];
		enum dtype type = stmt->cell->of.type;
		const char *sum = operand_of(w, stmt->cell, d).at, *all = blocks_lanes(b, type, chunk, &offset);
		struct operand term = blocks_vector(b, step.term[0], &inner);
		blocks_call(b, arena_printf(b->arena, "m_running_%s_%s", lanes_of(type)->name, step.name), "running",
		        arena_printf(b->arena, "%s, %s, %s, %s", sum, all, term.at, inner.n));
		kept[i] = *at;
		*at = (struct where){ true, offset, { loop->var, -1 }, { 1, 0 } };
	}
	FOR (i, body->count)
		if (body->at[i]->kind == STMT_SET)
			w->cells[body->at[i]->cell->of.number] = kept[i];
	blocks_close(b, outer);
	b->scratch = scratch;
	return true;
}

/* ---- chains: terms listed, then taken in one call ---- */
struct chained {
	const char *name;
	int lane[2];
	bool lets; /* its addresses need values of their own, said before it */
};

/* The step as a term where it lies: "add_v", "fma_vs" …; false: it is no such step. */
static bool term_of(struct walking *w, const struct stmt *stmt, const struct cell *sum, const struct dims *d,
        struct chained *kind, struct operand *o)
{
	struct step step;
	if (!step_of(stmt, sum, &step) || stmt->value->type != DTYPE_F32 || !strcmp(step.name, "mul"))
		return false;
	FOR (t, step.terms) {
		if (step.term[t]->kind == EXPR_NUMBER && step.term[t]->number == 0 && !signbit(step.term[t]->number)
		        && d->n_most <= JIT_LANES_MOST) {
			o[t] = (struct operand){ .at = arena_printf(w->b->arena, "scratch - %d", JIT_LANES_MOST),
				.row = d->rows_most * d->n_most <= JIT_LANES_MOST ? d->n_most : 0,
				.lane = 1 };
			kind->lane[t] = 1;
			continue;
		}
		if (step.term[t]->kind != EXPR_LOAD || is_cell(step.term[t], sum)
		        || !blocks_leaf(w->b, step.term[t], d, &o[t]))
			return false;
		/* Lanes apart whose rows are neighbours turn in registers first. */
		if ((o[t].lane & ~1)
		        && (step.terms == 2 || w->b->printer.target->lanes == 1
		                || (o[t].row == 1 && d->rows_most >= 4)))
			return false;
		kind->lane[t] = (int)o[t].lane;
	}
	if (d->lane < 0)
		kind->lane[0] = 1;
	if (!kind->lane[0] && !(step.terms == 2 && kind->lane[1]))
		return false;
	const char *ways[2];
	FOR (t, 2)
		ways[t] = t == step.terms    ? ""
		        : kind->lane[t] == 2 ? "2"
		        : kind->lane[t] & ~1 ? "k"
		        : kind->lane[t]      ? "v"
		                             : "s";
	kind->name = arena_printf(w->b->arena, "m_chain_%s_%s%s", step.name, ways[0], ways[1]);
	return true;
}

/* How far the load lies behind the other; false: that is not known. */
static bool lies_behind(struct arena *arena, const struct expr *load, const struct expr *other, int64_t *by)
{
	return load->kind == EXPR_LOAD && other->kind == EXPR_LOAD && load->of == other->of
	        && cell_of_load(load)->kind == CELL_BUFFER
	        && index_is_constant(index_add(arena, schedule_address(arena, load->of, load->at),
	                                     index_scale(arena, schedule_address(arena, other->of, other->at), -1)),
	                by);
}

/* How many statements from there on are steps of its register, of one kind. */
static size_t run_of(
        struct walking *w, const struct block *block, size_t from, const struct dims *d, struct chained *kind)
{
	struct chained next;
	struct operand o[2];
	size_t count = 0;
	if (block->at[from]->kind != STMT_SET || block->at[from]->declare)
		return 0;
	struct cell *sum = block->at[from]->cell;
	const struct where *at = &w->cells[sum->of.number];
	if (at->known && (at->var[0] != d->lane || at->var[1] != d->row))
		return 0;
	struct value before = w->b->list;
	w->b->list = value_list(w->b->arena);
	for (; from + count < block->count && count < JIT_TERMS_MOST
	        && term_of(w, block->at[from + count], sum, d, &next, o);
	        count++) {
		if (count && strcmp(next.name, kind->name))
			break;
		*kind = next;
	}
	kind->lets = value_count(w->b->list);
	w->b->list = before;
	return count;
}

/* The terms of a run; those that stand some floats behind the one before are said so, which is less to compute. */
static void add_run(struct walking *w, const struct block *block, size_t from, size_t count, const struct dims *d)
{
	struct step before = { 0 }, step;
	struct chained kind;
	struct operand o[2];
	for (size_t i = 0; i < count; i++, before = step) {
		step_of(block->at[from + i], block->at[from]->cell, &step);
		term_of(w, block->at[from + i], block->at[from]->cell, d, &kind, o);
		struct value term = blocks_entry(w->b, "term");
		FOR (t, step.terms) {
			int64_t by;
			const char *name = t ? "b" : "a";
			if (i && lies_behind(w->b->arena, step.term[t], before.term[t], &by))
				o[t].at = arena_printf(w->b->arena, "at_term[-1].%s + %" PRId64, name, by);
			value_set_string(term, name, o[t].at);
			value_set_int(term, t ? "b_row" : "a_row", o[t].row);
		}
		if (kind.lane[0] & ~1)
			value_set_int(term, "b_row", kind.lane[0]);
	}
	w->b->terms = true;
}

static void take_terms(struct walking *w, struct cell *sum, const char *name, const struct dims *d)
{
	struct operand to = operand_of(w, sum, d);
	blocks_call(w->b, name, "fused",
	        arena_printf(
	                w->b->arena, "%s, %" PRId64 ", terms, at_term - terms, %s, %s", to.at, to.row, d->rows, d->n));
}

/* Steps of one register, one after the other; how many were taken. */
static size_t emit_run(struct walking *w, const struct block *block, size_t from, const struct dims *d)
{
	struct chained kind;
	size_t count = run_of(w, block, from, d, &kind);
	if (count < RUN_LEAST)
		return 0;
	blocks_entry(w->b, "terms");
	add_run(w, block, from, count, d);
	take_terms(w, block->at[from]->cell, kind.name, d);
	return count;
}

/* Loops around such steps and nothing else. */
static bool emit_fused(struct walking *w, const struct stmt *stmt, const struct dims *d)
{
	const struct stmt *loop[NEST_MOST];
	int count = 0, inner = 0;
	struct chained kind;
	do {
		if (stmt->role != ROLE_SERIAL || stmt->first || count == NEST_MOST)
			return false;
		loop[count++] = stmt;
		stmt = stmt->body.at[0];
	} while (stmt->kind == STMT_FOR && loop[count - 1]->body.count == 1);
	const struct block *body = &loop[count - 1]->body;
	int64_t rounds = (int64_t)body->count;
	struct value outer[NEST_MOST];
	/* Such values stand in the loops, and so would the terms. */
	if (run_of(w, body, 0, d, &kind) != body->count || kind.lets)
		return false;
	for (inner = count; inner > 0 && rounds * loop[inner - 1]->extent <= JIT_TERMS_MOST; inner--)
		rounds *= loop[inner - 1]->extent;
	if (inner == count)
		return false;
	FOR (k, count) {
		if (k == inner)
			blocks_entry(w->b, "terms");
		blocks_loop(w->b, loop[k]->var, loop[k]->extent, 1, &outer[k]);
	}
	add_run(w, body, 0, body->count, d);
	for (int k = count - 1; k >= inner; k--)
		blocks_close(w->b, outer[k]);
	take_terms(w, body->at[0]->cell, kind.name, d);
	for (int k = inner - 1; k >= 0; k--)
		blocks_close(w->b, outer[k]);
	return true;
}

/* ---- statements ---- */
/* A register that is another one by a second name, which nobody sets any more. */
static bool is_alias(struct walking *w, const struct block *block, size_t i)
{
	const struct stmt *stmt = block->at[i];
	if (!stmt->declare || stmt->value->kind != EXPR_LOAD || cell_of_load(stmt->value)->kind != CELL_REGISTER)
		return false;
	const struct cell *from = cell_of_load(stmt->value);
	const struct where *place = &w->cells[from->of.number];
	for (size_t k = i + 1; k < block->count; k++)
		if (block->at[k]->kind != STMT_STORE && (block->at[k]->kind != STMT_SET || block->at[k]->cell == from))
			return false;
	if (place->known)
		w->cells[stmt->cell->of.number] = *place;
	return place->known;
}

static void emit_set(struct walking *w, const struct stmt *stmt, const struct dims *d)
{
	struct where *at = &w->cells[stmt->cell->of.number];
	if (stmt->declare)
		begin_cell(w, stmt->cell, d);
	else if (at->known && (at->var[0] != d->lane || at->var[1] != d->row))
		blocks_cannot(w->b, "a register of another block is set");
	int64_t before = w->b->scratch;
	struct operand to = operand_of(w, stmt->cell, d);
	to.lane = 1; /* also where there is just one */
	blocks_into(w->b, stmt->value, d, to);
	w->b->scratch = before;
}

static void emit_store(struct walking *w, const struct stmt *stmt, const struct dims *d)
{
	int64_t before = w->b->scratch;
	blocks_store(w->b, stmt->value, d, cell_load(w->loops, stmt->cell, stmt->at));
	w->b->scratch = before;
}

/* As many stores as lie between neighbouring lanes, side by side: the values first, then all of them by one call.  How
 * many were taken. */
enum { ZIPPED_MOST = 8 };
static size_t emit_zipped(struct walking *w, const struct block *block, size_t from, const struct dims *d)
{
	const struct stmt *first = block->at[from];
	int64_t count = first->kind == STMT_STORE && d->lane >= 0 && d->row < 0 ? index_factor(first->at, d->lane) : 0,
	        by;
	if (count < 2 || count > ZIPPED_MOST || from + (size_t)count > block->count || index_bends(first->at, d->lane)
	        || first->cell->kind != CELL_BUFFER || !lanes_lie(first->cell->of.type))
		return 0;
	FOR (k, count) {
		const struct stmt *stmt = block->at[from + (size_t)k];
		if (stmt->kind != STMT_STORE || stmt->cell != first->cell || loads_cell(stmt->value, stmt->cell)
		        || !index_is_constant(
		                index_add(w->b->arena, stmt->at, index_scale(w->b->arena, first->at, -1)), &by)
		        || by != k)
			return 0;
	}
	int64_t before = w->b->scratch;
	enum dtype type = first->cell->of.type;
	int64_t offset;
	const char *rows = blocks_lanes(w->b, type, count * d->n_most, &offset);
	FOR (k, count)
		blocks_into(w->b, block->at[from + (size_t)k]->value, d,
		        (struct operand){
		                .at = arena_printf(w->b->arena, "%s + %" PRId64, rows, k * d->n_most), .lane = 1 });
	struct operand to = blocks_buffer(w->b, cell_load(w->loops, first->cell, first->at), d);
	blocks_call(w->b, blocks_mover(w->b, "scatter", type), "scatter",
	        arena_printf(w->b->arena, "%s, 1, %" PRId64 ", %s, %" PRId64 ", %" PRId64 ", %s", to.at, count, rows,
	                d->n_most, count, d->n));
	w->b->scratch = before;
	return (size_t)count;
}

static void emit_if(struct walking *w, const struct stmt *stmt, const struct dims *d)
{
	struct cut cut;
	if (!stmt->other.count && blocks_cut(w->b, stmt->ranges, stmt->range_count, d, &cut)) {
		struct dims inside = blocks_cut_open(w->b, &cut, 1);
		emit_block(w, &stmt->body, &inside);
		blocks_cut_close(w->b, &cut);
		blocks_cut_end(w->b, &cut);
		return;
	}
	const char *condition = blocks_condition(w->b, stmt->ranges, stmt->range_count, d);
	struct value outer, list;
	struct value branch = blocks_open(w->b, "if", "body", &outer);
	value_set_string(branch, "condition", condition);
	emit_block(w, &stmt->body, d);
	w->b->list = list = value_list(w->b->arena);
	emit_block(w, &stmt->other, d);
	value_dict_set(branch, "other", list);
	blocks_close(w->b, outer);
}

static void emit_for(struct walking *w, struct stmt *stmt, const struct dims *d)
{
	struct value outer;
	if (jit_scatter(w->b, w->loops, stmt, d))
		return;
	if (stmt->role == ROLE_MAP || stmt->role == ROLE_BLOCKS) {
		emit_nest(w, stmt, d);
		return;
	}
	if (stmt->role == ROLE_LANES) {
		emit_lanes(w, stmt, d);
		return;
	}
	if (emit_running(w, stmt, d) || emit_fused(w, stmt, d))
		return;
	if (d->n_most < SERIAL_LANES_LEAST && block_visit(&stmt->body, stores_one, NULL)) {
		blocks_cannot(w->b, "a chain stores each of its terms");
		return;
	}
	struct value loop = blocks_loop(w->b, stmt->var, stmt->extent, stmt->step, &outer);
	if (stmt->first) {
		value_set_string(loop, "first", printer_index(&w->b->printer, stmt->first));
		value_set_string(loop, "extent", printer_index(&w->b->printer, stmt->count));
	}
	emit_block(w, &stmt->body, d);
	blocks_close(w->b, outer);
}

static void emit_block(struct walking *w, const struct block *block, const struct dims *d)
{
	struct blocks *b = w->b;
	for (size_t i = 0; i < block->count && !b->cannot; i++) {
		struct stmt *stmt = block->at[i];
		struct value outer;
		const char *at;
		size_t run = emit_run(w, block, i, d);
		run = run ? run : emit_zipped(w, block, i, d);
		if (run) {
			i += run - 1;
			continue;
		}
		switch (stmt->kind) {
		case STMT_FOR: emit_for(w, stmt, d); break;
		case STMT_IF: emit_if(w, stmt, d); break;
		case STMT_SCOPE:
			blocks_open(b, "scope", "body", &outer);
			emit_block(w, &stmt->body, d);
			blocks_close(b, outer);
			break;
		case STMT_INDEX:
			at = printer_index(&b->printer, stmt->at);
			blocks_lets(b);
			blocks_let(b, "long", w->names[stmt->var], at);
			break;
		case STMT_ARRAY: begin_cell(w, stmt->cell, d); break;
		case STMT_SET:
			if (!is_alias(w, block, i))
				emit_set(w, stmt, d);
			break;
		case STMT_STORE: emit_store(w, stmt, d); break;
		case STMT_JOIN: blocks_cannot(b, "a join of lanes"); break;
		}
	}
}

static const char *name_of_buffer(void *user, const struct definition *of)
{
	(void)user;
	return of->name;
}

bool jit_loops(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	struct loops *loops = loops_of(b->kernel, b->arena);
	jit_part(loops);
	loops_name(loops);
	struct walking w = { .b = b,
		.loops = loops,
		.cells = arena_new_array(b->arena, struct where, loops->cells.count + 1),
		.names = arena_new_array(b->arena, const char *, loops->vars.count + 1) };
	FOR_ALL (i, loops->vars)
		w.names[i] = loops->vars.at[i].name;
	blocks_begin(b, emit, w.names, NULL);
	b->printer.buffer = name_of_buffer;
	b->place = place_load;
	b->user = &w;
	b->cuts = 1;
	b->list = value_list(b->arena);
	b->first = value_list(b->arena);
	b->keeps = true;
	b->ended = loops->body.at[0]->var;
	b->end = loops->count || b->kernel->ends ? "to" : NULL;
	value_dict_set(out->value, "ends", loops_ends(emit, loops));
	emit_block(&w, &loops->body, &dims_one);
	value_dict_set(out->value, "first", b->first);
	value_dict_set(out->value, "body", b->list);
	value_set_string(out->value, "kept", b->kept ? arena_printf(b->arena, "%" PRId64, b->scratch_most) : "");
	out->scratch = b->scratch_most + b->kept;
	return !b->cannot;
}
