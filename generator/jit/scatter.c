/* scatter.c: loops whose rounds each store to a place that they find -> blocks of places and of values, and one call
 * that stores them in the order of the rounds. */
#include "jit/jit.h"
#include <inttypes.h>

struct scatter {
	const struct stmt *loop[NEST_MOST]; /* the outermost first */
	int count;
	struct range ranges[MAX_RANK]; /* where a round stores at all */
	int range_count;
	const struct expr *place, *value; /* the element, as a load; what goes there, or the term of the step */
	const char *step;                 /* NULL: the value itself */
};

/* What the step from the element's value adds to it; NULL: there is no such step. */
static const struct expr *term_of(const struct expr *value, const struct stmt *store)
{
	if (value->kind != EXPR_SCALAR || !lanes_lie(value->type) || value->type == DTYPE_U64)
		return NULL;
	bool sum = value->opcode == SCALAR_add || value->opcode == SCALAR_mul,
	     extreme = value->opcode == SCALAR_max || value->opcode == SCALAR_min;
	const struct expr *old = value->arg[sum ? 0 : 1];
	return (sum || extreme) && old->kind == EXPR_LOAD && cell_of_load(old) == store->cell
	                && index_equal(old->at[0], store->at)
	        ? value->arg[sum ? 1 : 0]
	        : NULL;
}

static enum visit loads_cell(void *user, const struct expr *expr)
{
	return expr->kind == EXPR_LOAD && cell_of_load(expr) == user ? VISIT_END : VISIT_PARTS;
}

/* The loops around, then what says places, then a store, perhaps where ranges hold. */
static bool scatter_of(struct arena *arena, struct loops *loops, const struct stmt *stmt, struct scatter *s)
{
	const struct index **with = arena_new_array(arena, const struct index *, loops->vars.count + MAX_VARS);
	const struct block *body = NULL;
	size_t found = 0;
	for (; stmt->kind == STMT_FOR; stmt = body->at[0]) {
		bool plain = stmt->role == ROLE_MAP || stmt->role == ROLE_SERIAL;
		if (!plain || stmt->first || stmt->count || stmt->step != 1 || s->count == NEST_MOST
		        || !stmt->body.count)
			return false;
		s->loop[s->count++] = stmt;
		body = &stmt->body;
		if (body->count != 1)
			break;
	}
	for (; found < body->count && body->at[found]->kind == STMT_INDEX; found++)
		with[body->at[found]->var] = index_substitute(arena, body->at[found]->at, with);
	if (!found || found + 1 != body->count)
		return false;
	stmt = body->at[found];
	if (stmt->kind == STMT_IF) {
		if (stmt->other.count || stmt->body.count != 1 || stmt->range_count > MAX_RANK)
			return false;
		for (; s->range_count < stmt->range_count; s->range_count++) {
			s->ranges[s->range_count] = stmt->ranges[s->range_count];
			s->ranges[s->range_count].at = index_substitute(arena, stmt->ranges[s->range_count].at, with);
		}
		stmt = stmt->body.at[0];
	}
	if (stmt->kind != STMT_STORE || stmt->cell->kind != CELL_BUFFER)
		return false;
	s->value = term_of(stmt->value, stmt);
	s->step = s->value ? scalars[stmt->value->opcode].name : NULL;
	s->value = expr_substitute(arena, s->value ? s->value : stmt->value, with);
	s->place = cell_load(loops, stmt->cell, index_substitute(arena, stmt->at, with));
	return !expr_visit(s->value, loads_cell, stmt->cell) && lanes_of(s->value->type)
	        && stmt->cell->of.type != DTYPE_F16;
}

/* Whose address is the range's own but for a constant is barred by itself. */
static void bar(struct blocks *b, const struct range *range, const struct index *address, struct operand at,
        const struct dims *d)
{
	int64_t apart;
	struct operand of = at;
	if (!index_is_constant(index_add(b->arena, address, index_scale(b->arena, range->at, -1)), &apart)) {
		of = blocks_index(b, range->at, d);
		apart = 0;
	}
	blocks_call(b, "m_bar", "bar",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64 ", %s, %s", blocks_pointer(b, at),
	                blocks_pointer(b, of), range->from + apart, range->to + apart, d->rows, d->n));
}

static void put(struct blocks *b, const struct scatter *s, const struct dims *d)
{
	const struct index *address = schedule_address(b->arena, s->place->of, s->place->at);
	enum dtype type = s->value->type;
	struct operand value = blocks_vector(b, s->value, d), at = blocks_index(b, address, d);
	FOR (i, s->range_count)
		bar(b, &s->ranges[i], address, at, d);
	const char *name = s->step ? arena_printf(b->arena, "m_put_%s_%s", lanes_of(type)->name, s->step)
	                           : arena_printf(b->arena, "m_put_%d", dtypes[s->place->type].bits);
	blocks_call(b, name, "put",
	        arena_printf(b->arena, "%s, %s, %s, %s, %s",
	                printer_address(&b->printer, s->place->of, index_constant(b->arena, 0)), blocks_pointer(b, at),
	                blocks_pointer(b, value), d->rows, d->n));
}

bool jit_scatter(struct blocks *b, struct loops *loops, const struct stmt *stmt, const struct dims *d)
{
	struct scatter s = { .count = 0 };
	struct value outer[NEST_MOST];
	int64_t scratch = b->scratch;
	if (d->lane >= 0 || d->row >= 0 || !scatter_of(b->arena, loops, stmt, &s))
		return false;
	/* The innermost loop along the lanes; where it is short, rounds of the next one are rows. */
	const struct stmt *lane = s.loop[s.count - 1], *row = s.count > 1 ? s.loop[s.count - 2] : NULL;
	if (row && (2 * lane->extent > JIT_LANES_MOST || expr_selects_on(s.value, row->var)))
		row = NULL;
	int around = s.count - 1 - (row != NULL), opened = 0;
	for (; opened < around; opened++)
		blocks_loop(b, s.loop[opened]->var, s.loop[opened]->extent, 1, &outer[opened]);
	int64_t chunk = lane->extent < JIT_LANES_MOST ? lane->extent : JIT_LANES_MOST, rows = JIT_LANES_MOST / chunk;
	struct dims inner = { -1, lane->var, "1", NULL, 1, chunk };
	if (row) {
		inner.row = row->var;
		inner.rows_most = rows < row->extent ? rows : row->extent;
		blocks_loop(b, row->var, row->extent, inner.rows_most, &outer[opened++]);
		inner.rows = blocks_count(b, row->var, row->extent, inner.rows_most);
	}
	blocks_loop(b, lane->var, lane->extent, chunk, &outer[opened++]);
	inner.n = blocks_count(b, lane->var, lane->extent, chunk);
	put(b, &s, &inner);
	b->scratch = scratch;
	while (opened > 0)
		blocks_close(b, outer[--opened]);
	return true;
}
