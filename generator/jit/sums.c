/* sums.c: what a reduction adds: sums in 64 lanes as one call for the rows of a block, several side by side, and
 * registers that are stored as they run along a row. */
#include "jit/walking.h"
#include <inttypes.h>

/* ---- what a reduction adds in a step ---- */
bool glue_step(const struct stmt *stmt, const struct cell *sum, struct step *step)
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
	return loop->body.count == 1 && glue_step(loop->body.at[0], loop->sums[0], step) && step->terms == 1;
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
	        || lane_may_lie(&loop->body, loop->var, loop->extent) || !lane_may_lie(&loop->body, d->lane, d->n_most))
		return false;
	bool together = lane_may_find(b->arena, &loop->body, loop->var, loop->extent, d->lane);
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
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64 ", %s", glue_operand(w, loop->sums[0], d).at,
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
	        || step.name == scalars[SCALAR_and].name || !lane_may_lie(&loop->body, loop->var, loop->extent)
	        || !lane_may_lie(&loop->body, d->lane, d->n_most)
	        || call_cost(b->arena, &loop->body, loop->var, loop->extent)
	                <= call_cost(b->arena, &loop->body, d->lane, d->n_most))
		return false;
	struct dims inner = { loop->var, d->lane, arena_printf(b->arena, "%" PRId64, loop->extent), d->n, loop->extent,
		d->n_most };
	struct value outer;
	int64_t before = b->scratch;
	blocks_loop(b, loop->var, loop->extent, loop->extent, &outer);
	struct operand terms = blocks_vector(b, step.term[0], &inner);
	blocks_call(b, arena_printf(b->arena, "m_across_%s_%s", lanes_of(step.term[0]->type)->name, step.name),
	        "across",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s", glue_operand(w, loop->sums[0], d).at, terms.at,
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
	        || !lane_may_gather(&loop->body, loop->var, loop->extent))
		return false;
	enum dtype type = loop->sums[0]->of.type;
	const char *sum = glue_operand(w, loop->sums[0], d).at, *lanes = lanes_of(type)->name, *part;
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

void glue_sums(struct walking *w, const struct stmt *loop, const struct dims *d)
{
	struct blocks *b = w->b;
	if (d->row >= 0) {
		blocks_cannot(b, "a sum inside a block");
		return;
	}
	FOR (s, loop->sum_count)
		glue_cell(w, loop->sums[s], d);
	if (emit_across(w, loop, d) || emit_beside(w, loop, d) || emit_parts(w, loop, d))
		return;
	int64_t before = b->scratch;
	struct dims inner = { d->lane, loop->var, d->n, arena_printf(b->arena, "%" PRId64, loop->extent), d->n_most,
		loop->extent };
	b->whole |= var_bit(loop->var);
	if (!lane_may_gather(&loop->body, loop->var, loop->extent))
		blocks_cannot(b, "a sum whose terms find no lanes");
	/* The variable stands at 0 while all its rounds are in the block. */
	struct value outer;
	blocks_loop(w->b, loop->var, loop->extent, loop->extent, &outer);
	for (size_t i = 0; i < loop->body.count && !b->cannot; i++) {
		const struct stmt *stmt = loop->body.at[i];
		struct step step = { 0 };
		bool found = false;
		for (int s = 0; s < loop->sum_count && !found; s++)
			found = glue_step(stmt, loop->sums[s], &step);
		if (!found) {
			struct block one = { .at = (struct stmt **)&loop->body.at[i], .count = 1 };
			glue_block(w, &one, &inner);
			continue;
		}
		const char *arguments = glue_operand(w, stmt->cell, d).at;
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
bool glue_loads_cell(const struct expr *expr, struct cell *cell) { return expr_visit(expr, is_of_cell, cell); }

/* Are they sums and products, of what is no register, and what stores them? */
static bool runs(struct walking *w, const struct block *body)
{
	size_t sets = 0;
	FOR (i, body->count) {
		const struct stmt *stmt = body->at[i];
		struct step step;
		if (stmt->kind == STMT_STORE)
			continue;
		if (stmt->kind != STMT_SET || stmt->declare || !glue_step(stmt, stmt->cell, &step) || step.terms != 1
		        || (stmt->value->opcode != SCALAR_add && stmt->value->opcode != SCALAR_mul)
		        || !w->cells[stmt->cell->of.number].known || expr_visit(step.term[0], loads_register, NULL))
			return false;
		FOR (k, i) /* a store of what it was before has another form */
			if (body->at[k]->cell == stmt->cell
			        || (body->at[k]->kind == STMT_STORE && glue_loads_cell(body->at[k]->value, stmt->cell)))
				return false;
		sets++;
	}
	return sets && sets < body->count;
}

bool glue_running(struct walking *w, const struct stmt *loop, const struct dims *d)
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
			glue_store(w, stmt, &inner);
			continue;
		}
		struct step step;
		glue_step(stmt, stmt->cell, &step);
		struct where *at = &w->cells[stmt->cell->of.number];
		enum dtype type = stmt->cell->of.type;
		const char *sum = glue_operand(w, stmt->cell, d).at, *all = blocks_lanes(b, type, chunk, &offset);
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
