/* loops.c: a generic kernel's statements -> calls over blocks.
 * Of each nest of maps one variable lies along the lanes and one along the rows of a block; the others stay loops of
 * the glue.  A map with loops inside keeps its rounds along the lanes, and as rows of the blocks of those loops.  Sums
 * in 64 lanes are one call for the rows of a block; what a chain adds is listed first and then taken in one call. */
#include "jit/walking.h"
#include <inttypes.h>

enum { FINDING_LANES_MOST = 128, SQUARES_LANES = 128 };

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

struct operand glue_operand(struct walking *w, struct cell *cell, const struct dims *d)
{
	struct operand o = { .at = "scratch" };
	if (!blocks_leaf(w->b, cell_load(w->loops, cell, NULL), d, &o))
		blocks_cannot(w->b, "the menu has no lanes of what it keeps");
	return o;
}

/* A register of as many values as the block has; an array of as many rows. */
void glue_cell(struct walking *w, const struct cell *cell, const struct dims *d)
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

/* ---- nests of maps ---- */
/* The loop along the rows of a block whose lanes are another's: the longest, of those that turn with it where any do.
 * -1: there is none. */
static int row_beside(struct walking *w, const struct nest *nest, int lane, bool *squares)
{
	int row = -1, lanes = w->b->printer.target->lanes;
	*squares = false;
	FOR (k, nest->count) {
		const struct stmt *loop = nest->loop[k];
		if (k == lane || !lane_may_lie(nest->body, loop->var, loop->extent))
			continue;
		bool turned = lane_turns(nest->body, nest->loop[lane]->var, loop, lanes);
		if (row < 0 || turned > *squares || (turned == *squares && loop->extent >= nest->loop[row]->extent)) {
			row = k;
			*squares = turned;
		}
	}
	/* Short rows that each find their place. */
	for (int k = nest->count - 1; k >= 0 && row < 0 && nest->loop[lane]->extent <= FINDING_LANES_MOST; k--)
		if (k != lane
		        && lane_may_find(w->b->arena, nest->body, nest->loop[k]->var, nest->loop[k]->extent,
		                nest->loop[lane]->var))
			row = k;
	return row;
}

/* Does a round of a chain store outside of maps?  A call for each is worth it from so many lanes on. */
enum { SERIAL_LANES_LEAST = 16 };
static enum visit stores_one(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_STORE ? VISIT_END : lane_is_inner(stmt) ? VISIT_PAST : VISIT_PARTS;
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
	bool leaf = lane_leaf_body(nest.body), rows_given = d->lane >= 0;
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
			if (lane_may_gather(nest.body, nest.loop[k]->var, nest.loop[k]->extent)) {
				double cost = call_cost(b->arena, nest.body, nest.loop[k]->var, nest.loop[k]->extent);
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
	        && lane_may_lie(nest.body, nest.loop[nest.count - 1]->var, nest.loop[nest.count - 1]->extent))
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
		int64_t extent = nest.loop[row]->extent, terms = lane_longest(nest.body),
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
	glue_block(w, nest.body, &inner);
	b->scratch = before;
	while (opened > 0)
		blocks_close(b, outer[--opened]);
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
		glue_cell(w, stmt->cell, d);
	else if (at->known && (at->var[0] != d->lane || at->var[1] != d->row))
		blocks_cannot(w->b, "a register of another block is set");
	int64_t before = w->b->scratch;
	struct operand to = glue_operand(w, stmt->cell, d);
	to.lane = 1; /* also where there is just one */
	blocks_into(w->b, stmt->value, d, to);
	w->b->scratch = before;
}

void glue_store(struct walking *w, const struct stmt *stmt, const struct dims *d)
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
		if (stmt->kind != STMT_STORE || stmt->cell != first->cell || glue_loads_cell(stmt->value, stmt->cell)
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
		glue_block(w, &stmt->body, &inside);
		blocks_cut_close(w->b, &cut);
		blocks_cut_end(w->b, &cut);
		return;
	}
	const char *condition = blocks_condition(w->b, stmt->ranges, stmt->range_count, d);
	struct value outer, list;
	struct value branch = blocks_open(w->b, "if", "body", &outer);
	value_set(branch, "condition", condition);
	glue_block(w, &stmt->body, d);
	w->b->list = list = value_list(w->b->arena);
	glue_block(w, &stmt->other, d);
	value_set(branch, "other", list);
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
		glue_sums(w, stmt, d);
		return;
	}
	if (glue_running(w, stmt, d) || glue_fused(w, stmt, d))
		return;
	if (d->n_most < SERIAL_LANES_LEAST && block_visit(&stmt->body, stores_one, NULL)) {
		blocks_cannot(w->b, "a chain stores each of its terms");
		return;
	}
	struct value loop = blocks_loop(w->b, stmt->var, stmt->extent, stmt->step, &outer);
	if (stmt->first) {
		value_set(loop, "first", printer_index(&w->b->printer, stmt->first), "extent",
		        printer_index(&w->b->printer, stmt->count));
	}
	glue_block(w, &stmt->body, d);
	blocks_close(w->b, outer);
}

void glue_block(struct walking *w, const struct block *block, const struct dims *d)
{
	struct blocks *b = w->b;
	for (size_t i = 0; i < block->count && !b->cannot; i++) {
		struct stmt *stmt = block->at[i];
		struct value outer;
		const char *at;
		size_t run = glue_run(w, block, i, d);
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
			glue_block(w, &stmt->body, d);
			blocks_close(b, outer);
			break;
		case STMT_INDEX:
			at = printer_index(&b->printer, stmt->at);
			blocks_lets(b);
			blocks_let(b, "long", w->names[stmt->var], at);
			break;
		case STMT_ARRAY: glue_cell(w, stmt->cell, d); break;
		case STMT_SET:
			if (!is_alias(w, block, i))
				emit_set(w, stmt, d);
			break;
		case STMT_STORE: glue_store(w, stmt, d); break;
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
	value_set(out->value, "ends", loops_ends(emit, loops));
	glue_block(&w, &loops->body, &dims_one);
	value_set(out->value, "first", b->first, "body", b->list, "kept",
	        b->kept ? arena_printf(b->arena, "%" PRId64, b->scratch_most) : "");
	out->scratch = b->scratch_most + b->kept;
	return !b->cannot;
}
