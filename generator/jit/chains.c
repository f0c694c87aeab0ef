/* chains.c: what a chain adds, listed first and then taken in one call. */
#include "jit/walking.h"
#include <inttypes.h>
#include <math.h>

enum { RUN_LEAST = 2 };

struct chained {
	const char *name;
	int lane[2];
	bool lets; /* its addresses need values of their own, said before it */
};

/* A byte where it lies, of the largest or the smallest. */
static bool byte_of(struct walking *w, const struct stmt *stmt, const struct step *step, const struct dims *d,
        struct chained *kind, struct operand *o)
{
	const struct expr *load = step->term[0];
	enum scalar row = stmt->value->opcode;
	if ((load->type != DTYPE_U8 && load->type != DTYPE_I8) || (row != SCALAR_max && row != SCALAR_min)
	        || load->kind != EXPR_LOAD || cell_of_load(load)->kind != CELL_BUFFER
	        || blocks_bends(schedule_address(w->b->arena, load->of, load->at), d))
		return false;
	*o = blocks_buffer(w->b, load, d);
	if (o->lane != 1 && o->lane != 2)
		return false;
	kind->lane[0] = 1; /* apart says the name alone */
	kind->name = arena_printf(
	        w->b->arena, "m_chain%s_%s_%s", lane_type_of(load->type).memory, step->name, o->lane == 2 ? "2" : "v");
	o->at = arena_printf(w->b->arena, "(const float *)(%s)", o->at);
	return true;
}

/* The step as a term where it lies: "add_v", "fma_vs" …; false: it is no such step. */
static bool term_of(struct walking *w, const struct stmt *stmt, const struct cell *sum, const struct dims *d,
        struct chained *kind, struct operand *o)
{
	struct step step;
	if (!glue_step(stmt, sum, &step) || !strcmp(step.name, "mul"))
		return false;
	if (stmt->value->type != DTYPE_F32)
		return byte_of(w, stmt, &step, d, kind, o);
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
		glue_step(block->at[from + i], block->at[from]->cell, &step);
		term_of(w, block->at[from + i], block->at[from]->cell, d, &kind, o);
		struct value term = blocks_entry(w->b, "term");
		FOR (t, step.terms) {
			int64_t by;
			const char *name = t ? "b" : "a";
			if (i && step.term[t]->type == DTYPE_F32
			        && lies_behind(w->b->arena, step.term[t], before.term[t], &by))
				o[t].at = arena_printf(w->b->arena, "at_term[-1].%s + %" PRId64, name, by);
			value_set(term, name, o[t].at, t ? "b_row" : "a_row", o[t].row);
		}
		if (kind.lane[0] & ~1)
			value_set(term, "b_row", kind.lane[0]);
	}
	w->b->terms = true;
}

static void take_terms(struct walking *w, struct cell *sum, const char *name, const struct dims *d)
{
	struct operand to = glue_operand(w, sum, d);
	blocks_call(w->b, name, sum->of.type == DTYPE_F32 ? "fused" : "fused_bytes",
	        arena_printf(
	                w->b->arena, "%s, %" PRId64 ", terms, at_term - terms, %s, %s", to.at, to.row, d->rows, d->n));
}

/* Steps of one register, one after the other; how many were taken. */
size_t glue_run(struct walking *w, const struct block *block, size_t from, const struct dims *d)
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
bool glue_fused(struct walking *w, const struct stmt *stmt, const struct dims *d)
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
