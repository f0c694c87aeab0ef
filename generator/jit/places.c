/* places.c: indices -> integers along the lanes, and loads from where lanes find their places. */
#include "jit/jit.h"
#include <inttypes.h>

/* What became an integer of 64 bits from one that lanes of 32 bits have. */
static const struct expr *narrow(const struct expr *e)
{
	bool widens = e->kind == EXPR_CAST && !e->cast && e->type == DTYPE_I64;
	return widens && dtypes[e->arg[0]->type].class != CLASS_FLOAT
	                && lanes_of(e->arg[0]->type) == lanes_of(DTYPE_I32)
	        ? e->arg[0]
	        : e;
}

/* An index as integers of 32 bits: what is affine, and then each atom that bends. */
static void index_into(struct blocks *b, const struct index *index, const struct dims *d, struct operand to)
{
	int64_t low, high;
	bool more = false;
	const struct index *straight = index_constant(b->arena, index->constant);
	FOR (i, index->count) {
		const struct index *one = index_of_atom(b->arena, *index->terms[i].atom, index->terms[i].factor);
		straight = blocks_bends(one, d) ? straight : index_add(b->arena, straight, one);
	}
	index_range(index, &low, &high);
	if (low < INT32_MIN || high > INT32_MAX)
		blocks_cannot(b, "an index needs more than 32 bits");
	blocks_no_cells(b, straight, d);
	const char *first = printer_index(&b->printer, straight);
	blocks_lets(b);
	for (int i = 0; i < index->count || !more; i++) {
		const struct atom *atom = i < index->count ? index->terms[i].atom : NULL;
		const char *entry = "m_index", *part = "";
		if (atom && !blocks_bends(index_of_atom(b->arena, *atom, 1), d))
			continue;
		if (atom) {
			bool value = atom->kind == ATOM_VALUE,
			     wide = value && lanes_of(narrow(atom->value)->type) != lanes_of(DTYPE_I32);
			enum dtype type = wide ? DTYPE_I64 : DTYPE_I32;
			struct operand of = !value ? blocks_index(b, atom->of, d)
			        : wide             ? blocks_value(b, expr_cast(b->arena, type, atom->value), d, true)
			                           : blocks_value(b, narrow(atom->value), d, true);
			of = blocks_spread(b, type, of, d);
			entry = !value ? "m_parts" : wide ? "m_places_i64" : "m_places_i32";
			part = arena_printf(b->arena, "%s, %" PRId64 ", %" PRId64 ", %" PRId64 ", ",
			        blocks_pointer(b, of), value ? atom->low : atom->by,
			        value ? atom->high : atom->kind == ATOM_MOD, index->terms[i].factor);
		}
		blocks_call(b, entry, atom ? "places" : "index",
		        arena_printf(b->arena, "%s, %s%s, %" PRId64 ", %" PRId64 ", %d, %s, %s", blocks_pointer(b, to),
		                part, first, d->row >= 0 ? index_factor(straight, d->row) : 0,
		                d->lane >= 0 ? index_factor(straight, d->lane) : 0, more, d->rows, d->n));
		more = true;
	}
}

/* A constant that is all the index is, each inside its range. */
static bool is_constant(struct blocks *b, const struct index *index, const struct dims *d, struct operand *out)
{
	int64_t from_end;
	if (index->count != 1 || index->constant || index->terms[0].factor != 1 || !index->terms[0].atom->by)
		return false;
	const struct expr *load = atom_gathered(index->terms[0].atom, &from_end);
	return load && load->type == DTYPE_I32 && !from_end && blocks_leaf(b, load, d, out) && out->lane == 1;
}

struct operand blocks_index(struct blocks *b, const struct index *index, const struct dims *d)
{
	struct dims once = { -1, d->lane, "1", d->n, 1, d->n_most };
	const struct dims *use = d->row >= 0 && !index_uses(index, d->row) ? &once : d;
	struct operand to;
	if (is_constant(b, index, use, &to))
		return to;
	to = blocks_temporary(b, DTYPE_I32, use);
	index_into(b, index, use, to);
	return to;
}

static enum visit may_change(void *user, const struct expr *expr)
{
	const struct blocks *b = user;
	for (size_t i = 0; expr->kind == EXPR_LOAD && i < b->kernel->params.count; i++)
		if (b->kernel->params.at[i].of == expr->of && !b->kernel->params.at[i].written)
			return VISIT_PARTS;
	return expr->kind == EXPR_LOAD ? VISIT_END : VISIT_PARTS;
}

/* Places that are the same in all blocks are made once, ahead of all else. */
static struct operand places(struct blocks *b, const struct index *index, const struct dims *d)
{
	uint64_t lane = var_bit(d->lane);
	if (d->lane < 0 || d->lane >= VARS_LAST || !(b->whole & lane) || index->vars != lane
	        || index_visit(index, may_change, b))
		return blocks_index(b, index, d);
	FOR_ALL (i, b->places)
		if (index_equal(b->places.at[i].index, index) && b->places.at[i].n == d->n_most)
			return b->places.at[i].at;
	struct dims alone = { -1, d->lane, "1", arena_printf(b->arena, "%" PRId64, d->n_most), 1, d->n_most };
	struct operand to = { arena_printf(b->arena, "((int *)(kept + %" PRId64 "))", b->kept), 0, 1, false, false };
	struct value list = b->list, outer;
	struct values *values = b->values;
	int64_t scratch = b->scratch;
	b->kept += (d->n_most + 15) / 16 * 16;
	b->list = value_list(b->arena); /* behind the constants that it reads */
	b->values = NULL;
	struct value scope = blocks_open(b, "scope", "body", &outer);
	blocks_let(b, "long", b->printer.names[d->lane], "0");
	index_into(b, index, &alone, to);
	value_list_add(b->first, scope);
	b->list = list;
	b->values = values;
	b->scratch = scratch;
	push(b->arena, &b->places, (struct places){ index, d->n_most, to });
	return to;
}

struct operand blocks_kept(struct blocks *b, enum dtype type, const char *constant, int64_t n)
{
	FOR_ALL (i, b->spread)
		if (!strcmp(b->spread.at[i].constant, constant) && b->spread.at[i].n == n)
			return b->spread.at[i].at;
	struct operand to = { arena_printf(b->arena, "((%s *)(kept + %" PRId64 "))", lanes_of(type)->c, b->kept), 0, 1,
		false, false };
	struct value list = b->list;
	b->list = b->first;
	blocks_copy(b, type, to, (struct operand){ .at = constant },
	        &(struct dims){ -1, 0, "1", arena_printf(b->arena, "%" PRId64, n), 1, n });
	b->list = list;
	b->kept += (lanes_of(type)->floats * n + 15) / 16 * 16;
	push(b->arena, &b->spread, (struct spread){ constant, n, to });
	return to;
}

/* Does what bends stay the same along the lanes?  Then rows find their places. */
static bool bends_by_rows(struct blocks *b, const struct index *address, const struct dims *d)
{
	bool alone = d->row >= 0 && d->lane >= 0;
	FOR (i, address->count) {
		const struct index *one = index_of_atom(b->arena, *address->terms[i].atom, 1);
		alone &= !blocks_bends(one, d) || !index_uses(one, d->lane);
	}
	return alone;
}

bool blocks_find(
        struct blocks *b, const struct expr *load, const struct dims *d, const struct operand *to, struct operand *out)
{
	const struct index *address, *found = index_constant(b->arena, 0), *base;
	struct operand from = { 0 };
	if (load->kind != EXPR_LOAD || !lanes_of(load->type))
		return false;
	bool scratch = blocks_in_scratch(b, load, d, &from);
	if (scratch ? !from.bends : !lanes_lie(load->type))
		return false;
	address = scratch ? load->at[0] : schedule_address(b->arena, load->of, load->at);
	if (!blocks_bends(address, d))
		return false;
	if (definition_elements(load->of) > INT32_MAX)
		blocks_cannot(b, "lanes find places in more elements than 32 bits count");
	bool by_rows = !scratch && bends_by_rows(b, address, d);
	base = index_constant(b->arena, address->constant);
	FOR (i, address->count) {
		const struct index *one = index_of_atom(b->arena, *address->terms[i].atom, address->terms[i].factor);
		bool finds = blocks_bends(one, d) || (!by_rows && d->lane >= 0 && index_uses(one, d->lane));
		*(finds ? &found : &base) = index_add(b->arena, finds ? found : base, one);
	}
	blocks_no_cells(b, base, d);
	from.at = scratch ? arena_printf(b->arena, "%s + (%s)", from.at, printer_index(&b->printer, base))
	                  : printer_address(&b->printer, load->of, base);
	blocks_lets(b);
	from.row += d->row >= 0 ? index_factor(base, d->row) : 0;
	if (by_rows) {
		struct dims rows = { -1, d->row, "1", d->rows, 1, d->rows_most };
		struct operand each = blocks_index(b, found, &rows);
		*out = to ? *to : blocks_temporary(b, load->type, d);
		blocks_call(b, blocks_mover(b, "row_gather", load->type), "row_gather",
		        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s, %s", blocks_pointer(b, *out),
		                blocks_pointer(b, from), index_factor(base, d->lane), each.at, d->rows, d->n));
		return true;
	}
	struct operand at = places(b, found, d);
	*out = to ? *to : blocks_temporary(b, load->type, d);
	blocks_call(b, blocks_mover(b, "lane_gather", load->type), "lane_gather",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s, %s", blocks_pointer(b, *out),
	                blocks_pointer(b, from), from.lane, blocks_pointer(b, at), d->rows, d->n));
	return true;
}
