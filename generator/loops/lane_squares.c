/* lane_squares.c: what lies along the rounds that are no lanes goes through squares of lanes x lanes, which are transposed in
 * registers: copies, and rows each with a sum of its own. */
#include "loops/vectorising.h"
bool rows_make_squares(const struct loops *loops, struct stmt **loop, int count, int k, const struct block *body)
{
	int lanes = loops->target->lanes;
	bool makes = false;
	for (int n = 0; n < count && body->count == 1 && loop[k]->extent >= lanes && !loops->target->options.small; n++)
		makes |= loops_transposes(loops, body->at[0], loop[k]->var, loop[n]);
	return makes;
}
/* The one load from a buffer of what a chain adds, of neighbours along the chain. */
struct running {
	struct arena *arena;
	const struct stmt *rows, *chain;
	const struct cell *sum;
	const struct expr *load;
	bool plain;
};
static bool lies_along(const struct running *r, const struct index *at)
{
	const struct index *apart = index_step(r->arena, at, r->rows->var);
	int64_t low, high;
	if (!apart || index_factor(at, r->chain->var) != 1 || index_bends(at, r->chain->var))
		return false;
	index_range(apart, &low, &high);
	return low > 1;
}
static void see_running(void *user, const struct expr *load)
{
	struct running *r = user;
	bool buffer = cell_of_load(load)->kind == CELL_BUFFER;
	if (cell_of_load(load) == r->sum || (buffer && index_is_constant(load->at[0], &(int64_t){ 0 })))
		return;
	r->plain &= buffer && (!r->load || r->load == load) && load->type == DTYPE_F32 && lies_along(r, load->at[0]);
	r->load = load;
}

static struct stmt *store_new(struct loops *loops, struct cell *cell, const struct index *at, const struct expr *value,
        int lane, const struct index *square)
{
	struct stmt *stmt = stmt_new(loops, STMT_STORE);
	stmt->cell = cell;
	stmt->at = at;
	stmt->value = value;
	stmt->lane = lane;
	stmt->square = square;
	return stmt;
}

static const struct index *at_term(struct loops *loops, const struct running *r, const struct index *at,
        const struct index *row, const struct index *term)
{
	struct copying copying;
	copying_init(&copying, loops, false);
	copying_put(&copying, r->rows->var, row);
	copying_put(&copying, r->chain->var, term);
	return index_substitute(loops->arena, at, copying.with);
}

/* A loop over the chain by squares: the next terms of the rows, first + lane `row`, transposed, and in it a loop over
 * them that adds; what is left of the chain is not in it. */
static struct stmt *add_by_squares(struct loops *loops, const struct running *r, const struct stmt *step,
        const struct index *first, int row, struct cell *square, struct stmt **term, struct block *out)
{
	struct arena *arena = loops->arena;
	int64_t lanes = loops->target->lanes;
	const struct index *lane = index_var(arena, row, lanes);
	struct stmt *array = stmt_new(loops, STMT_ARRAY),
	            *each = for_counted(loops, "t", r->chain->extent / lanes * lanes, lanes);
	array->cell = square;
	block_add(loops, out, array);
	*term = for_counted(loops, "u", lanes, 1);
	block_add(loops, &each->body,
	        store_new(loops, square, lane,
	                cell_load(loops, cell_of_load(r->load),
	                        at_term(loops, r, r->load->at[0], index_add(arena, first, lane),
	                                for_index(loops, each))),
	                row, index_constant(arena, lanes)));
	struct stmt *add = stmt_set(loops, step->cell,
	        expr_replace(loops->arena, step->value, r->load,
	                cell_load(loops, square,
	                        index_add(arena, index_scale(arena, for_index(loops, *term), lanes), lane))),
	        false);
	add->lane = row;
	block_add(loops, &(*term)->body, add);
	block_add(loops, &each->body, *term);
	block_add(loops, out, each);
	return each;
}

/* Lanes are rows, whose terms lie side by side: as far as they fill squares, these are transposed; the others are
 * gathered. */
static bool terms_in_squares(struct loops *loops, const struct stmt *rows, const struct stmt *chain, struct block *out)
{
	struct arena *arena = loops->arena;
	int64_t lanes = loops->target->lanes, rest = chain->extent % lanes;
	const struct stmt *step = chain->body.count == 1 ? chain->body.at[0] : NULL;
	if (!step || (kernel_counted(loops->kernel) >= 0 && !loops_end_exactly(loops)) || lanes < 4
	        || loops->target->lanes_are_threads || loops->target->options.small || chain->kind != STMT_FOR
	        || chain->role != ROLE_SERIAL || chain->step != 1 || chain->count || chain->extent < lanes
	        || step->kind != STMT_SET || step->cell->of.type != DTYPE_F32)
		return false;
	struct running r = { arena, rows, chain, step->cell, NULL, true };
	expr_loads(step->value, see_running, &r);
	if (!r.plain || !r.load)
		return false;
	int row = index_new(loops, "r", lanes, index_constant(arena, 0), out);
	struct stmt *term, *left = for_counted(loops, "t", rest, 1);
	add_by_squares(loops, &r, step, index_var(arena, rows->var, rows->extent), row,
	        cell_new(loops, CELL_ARRAY, "square", DTYPE_F32, lanes * lanes), &term, out);
	if (!rest)
		return true;
	struct copying copying;
	copying_init(&copying, loops, false);
	copying_put(&copying, chain->var, index_plus(arena, for_index(loops, left), chain->extent - rest));
	copy_block(&copying, &chain->body, &left->body);
	block_add(loops, out, left);
	return true;
}

void rows_turn_terms(struct loops *loops, struct stmt *rows)
{
	struct block old = rows->body;
	memset(&rows->body, 0, sizeof rows->body);
	FOR_ALL (i, old)
		if (terms_in_squares(loops, rows, old.at[i], &rows->body))
			rows->role = ROLE_SERIAL;
		else
			block_add(loops, &rows->body, old.at[i]);
}

/* As many rows as lanes, each with a sum of its own that is stored as it grows: lanes are the rows.  What is loaded and
 * what is stored lies along the chain, so both go through a square that is transposed. */
bool rows_turn(struct loops *loops, const struct stmt *rows, struct block *out)
{
	const struct stmt *begin = rows->body.count == 2 ? rows->body.at[0] : NULL,
	                  *chain = begin ? rows->body.at[1] : NULL;
	int64_t lanes = loops->target->lanes;
	if (!chain || rows->extent != lanes || begin->kind != STMT_SET || begin->cell->of.type != DTYPE_F32
	        || begin->value->kind != EXPR_NUMBER || chain->kind != STMT_FOR || chain->role != ROLE_SERIAL
	        || chain->step != 1 || chain->extent < lanes || chain->body.count != 2)
		return false;
	const struct stmt *step = chain->body.at[0], *store = chain->body.at[1];
	struct running r = { loops->arena, rows, chain, begin->cell, NULL, true };
	if (step->kind != STMT_SET || step->cell != begin->cell || store->kind != STMT_STORE
	        || store->cell->kind != CELL_BUFFER || store->cell->of.type != DTYPE_F32
	        || store->value->kind != EXPR_LOAD || cell_of_load(store->value) != begin->cell
	        || !lies_along(&r, store->at))
		return false;
	expr_loads(step->value, see_running, &r);
	if (!r.plain || !r.load || cell_of_load(r.load) == store->cell
	        || !loops_can_vector(expr_replace(loops->arena, step->value, r.load, begin->value), rows->var, false))
		return false;

	struct arena *arena = loops->arena;
	struct cell *square = cell_new(loops, CELL_ARRAY, "square", DTYPE_F32, lanes * lanes), *sum = begin->cell;
	int row = index_new(loops, "r", lanes, index_constant(arena, 0), out);
	const struct index *lane = index_var(arena, row, lanes);
	struct stmt *start = stmt_set(loops, sum, begin->value, true), *term;
	sum->vector = true;
	start->lane = row;
	block_add(loops, out, start);
	struct stmt *each = add_by_squares(loops, &r, step, index_constant(arena, 0), row, square, &term, out);
	block_add(loops, &term->body,
	        store_new(loops, square, index_add(arena, index_scale(arena, for_index(loops, term), lanes), lane),
	                cell_load(loops, sum, NULL), row, NULL));
	int along = index_new(loops, "v", lanes, index_constant(arena, 0), &each->body);
	const struct index *from = index_add(arena, index_scale(arena, index_var(arena, along, lanes), lanes), lane);
	block_add(loops, &each->body,
	        store_new(loops, store->cell,
	                at_term(loops, &r, store->at, lane,
	                        index_add(arena, for_index(loops, each), index_var(arena, along, lanes))),
	                cell_load(loops, square, from), along, index_step(arena, store->at, rows->var)));

	if (chain->extent % lanes) {
		struct stmt *left = for_counted(loops, "t", chain->extent % lanes, 1);
		int behind = index_new(loops, "t", chain->extent, index_constant(arena, each->extent), out);
		struct copying copying;
		copying_init(&copying, loops, false);
		copying_put(&copying, rows->var, index_var(arena, row, lanes));
		copying_put(&copying, chain->var,
		        index_add(arena, for_index(loops, left), index_var(arena, behind, chain->extent)));
		copy_block(&copying, &chain->body, &left->body);
		block_mark(&left->body, row, 0, false);
		block_add(loops, out, left);
	}
	loops->tile = arena_printf(arena, "%d x %d", (int)lanes, (int)lanes);
	return true;
}
