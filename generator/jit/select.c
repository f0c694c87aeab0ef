/* select.c: conditions and selects -> branches of the glue.
 * What asks for the row goes row by row; what asks for the lane cuts a block in three. */
#include "jit/jit.h"
#include <inttypes.h>
#include <stdlib.h>

const char *blocks_condition(struct blocks *b, const struct range *ranges, int count, const struct dims *d)
{
	const char *text = NULL;
	FOR (i, count) {
		if ((d->row >= 0 && index_uses(ranges[i].at, d->row))
		        || (d->lane >= 0 && index_uses(ranges[i].at, d->lane)))
			blocks_cannot(b, "a condition depends on the lane");
		blocks_no_cells(b, ranges[i].at, d);
		const char *one = printer_range(&b->printer, &ranges[i]);
		text = text ? arena_printf(b->arena, "%s && %s", text, one) : one;
	}
	blocks_lets(b);
	return text;
}

static void fill(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to);

/* A select that asks for the row, row by row: each is a block of its own, where the row's variable stands at it. */
static bool rows_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	if (!b->by_rows || d->row < 0 || !ranges_use(e->ranges, e->range_count, d->row))
		return false;
	if (!to.temporary) { /* an address that the row's variable may stand in */
		struct operand rows = blocks_temporary(b, e->type, d);
		blocks_select(b, e, d, rows);
		blocks_copy(b, e->type, to, rows, d);
		return true;
	}
	const char *name = b->printer.names[d->row], *first = arena_printf(b->arena, "%s_first", name);
	struct dims one = { -1, d->lane, "1", d->n, 1, d->n_most };
	struct value outer[2];
	blocks_open(b, "scope", "body", &outer[0]);
	blocks_let(b, "long", first, name);
	b->row = arena_printf(b->arena, "%s_row", name);
	struct value loop = blocks_open(b, "for", "body", &outer[1]);
	value_set(loop, "name", b->row, "extent", d->rows, "step", 1);
	blocks_let(b, "long", name, arena_printf(b->arena, "%s + %s", first, b->row));
	to = (struct operand){ arena_printf(b->arena, "%s + %" PRId64 " * %s", to.at, to.row, b->row), 0, to.lane,
		false, false };
	blocks_select(b, e, &one, to);
	b->row = NULL;
	blocks_close(b, outer[1]);
	blocks_close(b, outer[0]);
	return true;
}

bool blocks_cuts(const struct range *ranges, int count, int var)
{
	FOR (i, count) {
		const struct index *at = ranges[i].at;
		if (index_uses(at, var) && (index_bends(at, var) || llabs(index_factor(at, var)) != 1))
			return false;
	}
	return true;
}

/* The larger or lesser of two places: one that is known, and at - number, or number - at. */
static const char *bound(struct blocks *b, const char *known, char order, const char *at, int64_t number, bool back)
{
	const char *place = arena_printf(b->arena, "%" PRId64 " - (%s)", number, at);
	if (back)
		place = arena_printf(b->arena, "(%s) - %" PRId64, at, number);
	return arena_printf(b->arena, "%s %c %s ? %s : %s", known, order, place, known, place);
}

/* The first lane where all ranges hold, and the one behind the last: names of variables. */
static void cut_lanes(struct blocks *b, const struct range *ranges, int range_count, const struct dims *d,
        const char *from, const char *to)
{
	const char *low = "0", *high = d->n;
	struct range *others = arena_new_array(b->arena, struct range, range_count + 1);
	int count = 0;
	FOR (i, range_count) {
		const struct range *range = &ranges[i];
		if (!index_uses(range->at, d->lane)) {
			others[count++] = *range;
			continue;
		}
		bool back = index_factor(range->at, d->lane) < 0;
		blocks_no_cells(b, range->at, d);
		const char *at = printer_index(&b->printer, range->at);
		blocks_lets(b);
		int64_t less = back ? range->to - 1 : range->from, more = back ? range->from - 1 : range->to;
		const char *names[] = { arena_printf(b->arena, "%s_%d", from, i),
			arena_printf(b->arena, "%s_%d", to, i) };
		blocks_let(b, "long", names[0], bound(b, low, '>', at, less, back));
		blocks_let(b, "long", names[1], bound(b, high, '<', at, more, back));
		low = names[0];
		high = names[1];
	}
	const char *condition = blocks_condition(b, others, count, d);
	blocks_let(b, "long", to,
	        arena_printf(b->arena, "%s%s%s > 0 ? %s : 0", condition ? condition : "", condition ? " && " : "", high,
	                high));
	blocks_let(b, "long", from, arena_printf(b->arena, "%s < %s ? %s : %s", low, to, low, to));
}

bool blocks_cut(struct blocks *b, const struct range *ranges, int count, const struct dims *d, struct cut *cut)
{
	if (!b->cuts || d->lane < 0 || !ranges_use(ranges, count, d->lane) || !blocks_cuts(ranges, count, d->lane))
		return false;
	const char *name = b->printer.names[d->lane], *own = arena_printf(b->arena, "%s_%d", name, b->cuts++);
	*cut = (struct cut){ .whole = d, .name = name, .own = own, .lane = b->lane, .rounds = b->whole };
	cut->end[0] = "0";
	cut->end[1] = arena_printf(b->arena, "%s_from", own);
	cut->end[2] = arena_printf(b->arena, "%s_to", own);
	cut->end[3] = d->n;
	b->whole &= ~var_bit(d->lane);
	blocks_open(b, "scope", "body", &cut->outer);
	cut_lanes(b, ranges, count, d, cut->end[1], cut->end[2]);
	blocks_let(b, "long", arena_printf(b->arena, "%s_first", own), name);
	return true;
}

struct dims blocks_cut_open(struct blocks *b, struct cut *cut, int part)
{
	const char *n = arena_printf(b->arena, "%s_n", cut->own), *from = cut->end[part], *to = cut->end[part + 1];
	struct value branch = blocks_open(b, "if", "body", &cut->part);
	value_set(branch, "condition", arena_printf(b->arena, "%s < %s", from, to), "other", value_list(b->arena));
	blocks_let(b, "long", n, arena_printf(b->arena, "%s - %s", to, from));
	blocks_let(b, "long", cut->name, arena_printf(b->arena, "%s_first + %s", cut->own, from));
	b->lane = cut->lane ? arena_printf(b->arena, "(%s + %s)", cut->lane, from) : from;
	struct dims inside = *cut->whole;
	inside.n = n;
	return inside;
}

void blocks_cut_close(struct blocks *b, struct cut *cut) { blocks_close(b, cut->part); }

void blocks_cut_end(struct blocks *b, struct cut *cut)
{
	blocks_close(b, cut->outer);
	b->lane = cut->lane;
	b->whole = cut->rounds;
}

static enum visit leaves_buffer(void *user, const struct expr *expr)
{
	(void)user;
	for (int i = 0; expr->kind == EXPR_LOAD && i < expr->rank; i++) {
		int64_t low, high;
		index_range(expr->at[i], &low, &high);
		if (low < 0 || high >= expr->of->extents[i] || cell_of_load(expr)->kind != CELL_BUFFER)
			return VISIT_END;
	}
	return VISIT_PARTS;
}

bool blocks_masks(const struct expr *select)
{
	const struct lanes *lanes = lanes_of(select->type);
	return lanes && lanes->floats == 1 && !expr_visit_inside(select, leaves_buffer, NULL);
}

/* A select that asks for lanes here and there: both values, and for each lane which. */
static bool masked_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	if (!b->cuts || d->lane < 0 || !ranges_use(e->ranges, e->range_count, d->lane) || !blocks_masks(e))
		return false;
	struct operand holds = blocks_temporary(b, DTYPE_F32, d), arg[2];
	FOR (i, e->range_count) {
		const struct range *range = &e->ranges[i];
		struct operand of = blocks_index(b, range->at, d);
		blocks_call(b, "m_inside", "inside",
		        arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64 ", %d, %s, %s", blocks_pointer(b, holds),
		                blocks_pointer(b, of), range->from, range->to, !i, d->rows, d->n));
	}
	struct values *before = b->values;
	FOR (i, 2) {
		b->values = NULL;
		arg[i] = blocks_vector(b, e->arg[i], d);
	}
	b->values = before;
	struct operand lanes = to.lane == 1 ? to : blocks_temporary(b, e->type, d);
	blocks_call(b, "m_where_vvv", "map3",
	        arena_printf(b->arena, "%s, %s, %s, %s, %s, %s", blocks_pointer(b, lanes), blocks_pointer(b, holds),
	                blocks_pointer(b, arg[0]), blocks_pointer(b, arg[1]), d->rows, d->n));
	if (to.lane != 1)
		blocks_copy(b, e->type, to, lanes, d);
	return true;
}

/* A select that asks for the lane: each part of the block has one of its values. */
static bool lanes_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	struct cut cut;
	if (!blocks_cut(b, e->ranges, e->range_count, d, &cut))
		return false;
	struct operand lanes = to.temporary ? to : blocks_temporary(b, e->type, d);
	FOR (i, 3) {
		struct dims part = blocks_cut_open(b, &cut, i);
		fill(b, e->arg[i != 1], &part,
		        (struct operand){
		                arena_printf(b->arena, "%s + %s", lanes.at, cut.end[i]), lanes.row, 1, false, false });
		blocks_cut_close(b, &cut);
	}
	blocks_cut_end(b, &cut);
	if (!to.temporary)
		blocks_copy(b, e->type, to, lanes, d);
	return true;
}

void blocks_select(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	struct value outer, list;
	if (rows_into(b, e, d, to) || lanes_into(b, e, d, to) || masked_into(b, e, d, to))
		return;
	const char *condition = blocks_condition(b, e->ranges, e->range_count, d);
	struct value branch = blocks_open(b, "if", "body", &outer);
	value_set(branch, "condition", condition);
	fill(b, e->arg[0], d, to);
	b->list = list = value_list(b->arena);
	fill(b, e->arg[1], d, to);
	value_set(branch, "other", list);
	blocks_close(b, outer);
}

/* Inside a branch nothing is known of what other statements made: shared parts are made again. */
static void fill(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	struct values *before = b->values;
	b->values = NULL;
	blocks_into(b, e, d, to);
	b->values = before;
}
