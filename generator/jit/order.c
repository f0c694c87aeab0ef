/* order.c: the positions that sort rows -> calls.  A row's keys, which of them are there and the parts that choose are
 * blocks along the row; the menu orders them; what was taken lies in rows that each position is held against, all at
 * once. */
#include "jit/jit.h"
#include <inttypes.h>

struct ordering {
	struct blocks *b;
	const struct kernel *kernel;
	const struct row_order *order;
	const struct definition *d;
	const char *names[MAX_VARS];
	const struct index *with[MAX_VARS]; /* of the definition's variables, but the last output variable */
	const char *part[ORDER_PARTS], *before[ORDER_PARTS];
	/* What parts read of lanes that lie apart stands in rows of its own, once. */
	VECTOR(const struct expr *) apart;
	VECTOR(const char *) lies;
};

/* A part of the position that is looked at, or of those before. */
static bool place_part(void *user, const struct expr *load, const struct dims *d, struct operand *out)
{
	const struct ordering *o = user;
	FOR_ALL (i, o->lies)
		if (load == o->apart.at[i] && d->lane == ORDER_KEY) {
			*out = (struct operand){ .at = arena_printf(o->b->arena, "%s + k", o->lies.at[i]), .lane = 1 };
			return true;
		}
	FOR (i, o->order->part_count) {
		const struct order_part *part = &o->order->parts[i];
		bool now = load->of == part->now;
		if (!now && load->of != part->before)
			continue;
		*out = (struct operand){ .at = now ? arena_printf(o->b->arena, "%s + k", o->part[i]) : o->before[i],
			.lane = !now && d->lane == ORDER_BEFORE };
		return true;
	}
	return false;
}

static const struct expr *at_row(const struct ordering *o, const struct expr *expr)
{
	return expr_substitute(o->b->arena, expr, o->with);
}

/* The expression at each position of a row: an array of lanes. */
static const char *add_row(struct ordering *o, const struct expr *expr)
{
	struct blocks *b = o->b;
	struct arena *arena = b->arena;
	int64_t n = o->order->n, chunk = n < JIT_LANES_MOST ? n : JIT_LANES_MOST;
	struct value outer, list = b->list;
	if (!lanes_of(expr->type)) {
		blocks_cannot(b, "the menu has no lanes of what it orders");
		return "";
	}
	const char *at = blocks_lanes(b, expr->type, n, NULL);
	/* Its scratch is nobody else's: what a row needs must not lie over what was made ahead of all rows. */
	b->list = expr_uses(expr, ORDER_ROW) ? list : b->first; /* the same for all rows: ahead of them */
	struct value loop = blocks_open(b, "for", "body", &outer);
	value_set(loop, "name", "k", "extent", n, "step", chunk);
	blocks_let(b, "long", "k_n",
	        arena_printf(arena, "%" PRId64 " - k < %" PRId64 " ? %" PRId64 " - k : %" PRId64, n, chunk, n, chunk));
	struct dims d = { -1, ORDER_KEY, "1", "k_n", 1, chunk };
	blocks_into(b, expr, &d, (struct operand){ arena_printf(arena, "%s + k", at), 0, 1, false, false });
	b->list = list;
	return at;
}

static void see_apart(void *user, const struct expr *load)
{
	struct ordering *o = user;
	FOR_EACH (const struct expr *other, o->apart)
		if (other == load)
			return;
	if (lanes_of(load->type) && load->of->source != SOURCE_CONSTANT
	        && index_factor(schedule_address(o->b->arena, load->of, load->at), ORDER_KEY) > 1)
		push(o->b->arena, &o->apart, load);
}
static void add_apart(struct ordering *o)
{
	FOR (i, o->order->part_count)
		expr_loads_outside(at_row(o, o->order->parts[i].value), see_apart, o);
	FOR_EACH (const struct expr *load, o->apart) {
		const char *row = add_row(o, load);
		push(o->b->arena, &o->lies, row);
	}
}

/* Comparisons of floats, and what they are together, as the floats 1 and 0; NULL: it is something else. */
static const struct expr *truth_of(struct arena *arena, const struct expr *e)
{
	if (e->kind == EXPR_CAST)
		return e->arg[0]->type == DTYPE_F32 && expr_says_truth(e->arg[0]) ? e->arg[0] : NULL;
	if (e->kind != EXPR_SCALAR || (e->opcode != SCALAR_and && e->opcode != SCALAR_or))
		return NULL;
	const struct expr *a = truth_of(arena, e->arg[0]), *b = truth_of(arena, e->arg[1]);
	return a && b ? expr_scalar(arena, e->opcode == SCALAR_and ? SCALAR_mul : SCALAR_max, a, b, NULL) : NULL;
}

/* What bars position k: its parts held against those before. */
static struct value add_choice(struct ordering *o)
{
	struct blocks *b = o->b;
	struct arena *arena = b->arena;
	const struct row_order *order = o->order;
	struct value rows = value_list(arena), list = b->list, calls = value_list(arena);
	add_apart(o);
	FOR (i, order->part_count) {
		const struct order_part *part = &order->parts[i];
		o->part[i] = add_row(o, at_row(o, part->value));
		if (!part->before || b->cannot)
			continue;
		o->before[i] = blocks_lanes(b, part->now->type, order->kept, NULL);
		value_list_add(rows, value_dict_of(arena, "from", o->part[i], "to", o->before[i]));
	}
	struct operand most = { blocks_lanes(b, DTYPE_I64, 1, NULL), 0, 1, false, false };
	blocks_into(b, expr_cast(arena, DTYPE_I64, at_row(o, o->d->choice[CHOICE_MOST])), &dims_one, most);
	b->list = calls;
	struct dims d = { -1, ORDER_BEFORE, "1", "taken", 1, order->kept };
	const struct expr *truth = truth_of(arena, order->bars), *bars = truth ? truth : order->bars;
	const char *barred = blocks_lanes(b, bars->type, order->kept, NULL),
	           *any = blocks_lanes(b, bars->type, 1, NULL);
	blocks_into(b, bars, &d, (struct operand){ barred, 0, 1, false, false });
	blocks_call(b, truth ? "m_sums_max" : "m_sums_i32_max", "sums1",
	        arena_printf(arena, "%s, %s, 0, 1, taken", any, barred));
	b->list = list;
	return value_dict_of(arena, "most", most.at, "any", any, "rows", rows, "bars", calls);
}

bool jit_order(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	const struct kernel *kernel = b->kernel;
	const struct row_order *order = kernel->detail;
	const struct definition *d = kernel->root;
	struct arena *arena = b->arena;
	bool chooses = definition_chooses(d), asks = chooses && d->choice[CHOICE_THERE]->kind != EXPR_NUMBER;
	struct ordering o = { b, kernel, order, d,
		{ [ORDER_BLOCK] = "b", [ORDER_BEFORE] = "j", [ORDER_KEY] = "k", [ORDER_ROW] = "row", [ORDER_AT] = "t" },
		.with = { 0 } };
	blocks_begin(b, emit, o.names, NULL);
	b->place = place_part;
	b->user = &o;
	b->cuts = 1;
	b->first = value_list(arena);
	struct value keys = b->list = value_list(arena);
	const struct index *to = order_address(arena, order, d, o.with);
	const struct lanes *lanes = lanes_of(d->body->type);
	if (!lanes || d->body->type == DTYPE_U64) {
		blocks_cannot(b, "the menu has no order of such keys");
		return false;
	}
	const char *key = add_row(&o, at_row(&o, d->body)),
	           *there = asks ? add_row(&o, at_row(&o, d->choice[CHOICE_THERE])) : "0";
	value_set(out->value, "choice", chooses ? add_choice(&o) : value_none(), "first", b->first, "calls", keys,
	        "key", key, "there", there);
	value_set(out->value, "positions", blocks_lanes(b, DTYPE_I32, order->n, NULL));
	const char *entry = arena_printf(arena, "m_order_%s", lanes->name);
	blocks_uses(b, entry, "order");
	value_set(out->value, "room", blocks_scratch(b, 2 * (1 + lanes->floats) * order->n, NULL), "to",
	        printer_element(&b->printer, d, to), "entry", entry, "down", d->reduce == REDUCE_DOWN, "n", order->n,
	        "kept", order->kept, "best", order->best < order->n ? order->best : order->n, "rows",
	        order_ends(emit, kernel, true, out->value));
	out->scratch = b->scratch_most;
	return !b->cannot;
}
