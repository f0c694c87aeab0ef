/* order.c: the positions that sort each row: a kernel of their own.  Scratch is the function's where it is small, else
 * in the workspace: blocks of several rows then, so that it does not grow with the rows.
 * Where positions are chosen, what of `bars` is of one position alone is computed once for each: the parts of those
 * that were taken stand in rows, which the position that is looked at is held against. */
#include "kernels/kernels.h"
#include "ingot/mode.h"
#include <assert.h>

/* A few of many are kept in order; of more the best are selected, where all are this many times their room. */
enum {
	FEW_MOST = 64,
	FEW_LESS = 16,
	FEW_OF = 256,
	BESIDE_KEPT = 16, /* of short rows beside each other, a lane each */
	BESIDE_OF = 64,
	RUN = 8,
	SCRATCHES_MOST = 16,
	SCRATCHES_OF_THREADS = 1024,
	PARTS_LOCAL = 512
};
enum { ROOM_OF_BEST = 4, SELECTS_FROM = 2, BEST_LEAST = 64, LOOKED_AT = 2, TURNS_AWAY = 32, WARPS_MOST = 32 };

const char *order_label(const struct kernel *kernel)
{
	(void)kernel;
	return "order";
}

/* ---- parts ---- */
int64_t order_row(const struct target *target, const struct row_order *order)
{
	return ceil_div(order->kept, target->lanes) * target->lanes;
}

struct splitting {
	struct lowered *lowered;
	struct kernel *kernel;
	struct row_order *order;
};

/* It stands for a value, and has a name and no memory of its own. */
static struct definition *stands_for(struct arena *arena, const struct expr *value, const char *name, int number)
{
	struct scheduled *made = arena_new(arena, struct scheduled);
	made->of.name = arena_printf(arena, "%s%d", name, number);
	made->of.type = value->type;
	made->mode = MODE_LOCAL;
	return &made->of;
}

static struct order_part *part_of(struct splitting *s, const struct expr *value)
{
	struct row_order *order = s->order;
	FOR (i, order->part_count)
		if (expr_equal(order->parts[i].value, value))
			return &order->parts[i];
	assert(order->part_count < ORDER_PARTS);
	struct order_part *part = &order->parts[order->part_count];
	part->value = value;
	part->now = stands_for(s->lowered->arena, value, "now", order->part_count++);
	return part;
}

static const struct expr *split(struct rewriter *rewriter, const struct expr *expr)
{
	struct splitting *s = rewriter->user;
	struct arena *arena = rewriter->arena;
	int position = s->kernel->root->rank;
	bool before = expr_uses(expr, position + 1);
	const struct index *with[MAX_VARS] = { 0 };
	if (expr->kind == EXPR_NUMBER || (before && expr_uses(expr, position)))
		return NULL;
	with[position + 1] = index_var(arena, position, s->order->n);
	struct order_part *part = part_of(s, before ? expr_substitute(arena, expr, with) : expr);
	if (!before)
		return expr_load(arena, part->now, NULL);
	if (!part->before && s->order->parts_local) {
		part->before = stands_for(arena, expr, "before", (int)(part - s->order->parts));
		part->before->rank = 2;
		scheduled(part->before)->stride[1] = 1;
	} else if (!part->before)
		part->before = lowered_scratch(s->lowered, s->kernel, "before", expr->type, 2,
		        (int64_t[]){ s->kernel->blocks, order_row(s->lowered->target, s->order) });
	const struct index *at[] = { s->order->parts_local ? index_constant(arena, 0)
		                                           : index_var(arena, ORDER_BLOCK, s->kernel->blocks),
		index_var(arena, ORDER_BEFORE, s->order->kept) };
	return expr_load(arena, part->before, at);
}

/* ---- scratch ---- */
/* How many keys are there at one time. */
static void choose_room(const struct definition *d, struct row_order *order, bool threads)
{
	bool chooses = definition_chooses(d);
	int64_t best = chooses ? LOOKED_AT * order->kept : order->kept, most = order->n / (ROOM_OF_BEST * SELECTS_FROM);
	order->best = best < BEST_LEAST ? BEST_LEAST : best;
	order->room = !threads && order->best <= most ? ROOM_OF_BEST * order->best : order->n;
	order->few = !chooses && !threads
	        && order->kept <= (order->room < order->n && order->n < FEW_OF * order->kept ? FEW_LESS : FEW_MOST);
}

static enum visit lies_apart(void *user, const struct expr *expr)
{
	int var = *(const int *)user;
	FOR (i, expr_index_count(expr))
		if (index_bends(expr_index_at(expr, i), var))
			return VISIT_END;
	return expr_node_has_lanes(expr, var) ? VISIT_PARTS : VISIT_END;
}

static bool has_lanes(const struct expr *expr, int var) { return !expr_visit(expr, lies_apart, &var); }

static void choose_lanes_of(const struct definition *d, const struct target *target, struct kernel *kernel)
{
	struct row_order *order = kernel->detail;
	if (!has_vectors(target))
		return;
	if (order->beside) {
		kernel->lanes = (struct kernel_lanes){ target->lanes, d->body->type, true };
		return;
	}
	bool chooses = definition_chooses(d), asks = chooses && d->choice[CHOICE_THERE]->kind != EXPR_NUMBER,
	     turns = order->few ? order->n >= TURNS_AWAY * order->kept
	                        : order->room < order->n && order->n >= TURNS_AWAY * order->best;
	order->key_lanes = order->type == DTYPE_U32 && (asks || turns) && has_lanes(d->body, d->rank)
	        && (!asks || has_lanes(d->choice[CHOICE_THERE], d->rank));
	order->bars_lanes = chooses && has_lanes(order->bars, ORDER_BEFORE);
	if (order->key_lanes || order->bars_lanes)
		kernel->lanes =
		        (struct kernel_lanes){ target->lanes, order->key_lanes ? d->body->type : DTYPE_F32, true };
}

void order_choose(struct lowered *lowered, struct kernel *kernel)
{
	const struct definition *d = kernel->root;
	struct row_order *order = arena_new(lowered->arena, struct row_order);
	const struct target *target = lowered->target;
	bool threads = target->lanes_are_threads, chooses = definition_chooses(d);
	enum dtype type = order->type = dtypes[d->body->type].bits > 32 ? DTYPE_U64 : DTYPE_U32;
	order->n = d->reduced_extents[0];
	order->kept = d->extents[d->rank - 1];
	order->run = RUN;
	choose_room(d, order, threads);
	int64_t keys =
	        chooses ? order->n : order->room; /* what the best leave over is sorted, too, where it is asked for */
	order->local = !threads && 2 * keys * (dtypes[type].bits / 8 + 4) <= INGOT_LOCAL_BYTES;
	order->parts_local = order->kept <= PARTS_LOCAL;
	kernel->detail = order;
	order->rows = kernel->blocks = definition_elements(d) / order->kept;
	order->in_blocks = (!order->few && !order->local) || (chooses && !threads && !order->parts_local);
	order->beside = order->few && target->lanes > 1 && !threads && !target->calls && !target->options.small
	        && order->kept > 1 && order->kept <= BESIDE_KEPT && order->n <= BESIDE_OF
	        && order->rows >= target->lanes;
	if (order->beside)
		kernel->blocks = ceil_div(order->rows, target->lanes);
	if (order->in_blocks) {
		int64_t most = threads ? SCRATCHES_OF_THREADS : SCRATCHES_MOST;
		kernel->blocks = order->rows < most ? order->rows : most;
	}
	if (!order->few && !order->local) {
		order->keys =
		        lowered_scratch(lowered, kernel, "keys", type, 3, (int64_t[3]){ kernel->blocks, 2, keys });
		order->positions = lowered_scratch(
		        lowered, kernel, "positions", DTYPE_I32, 3, (int64_t[3]){ kernel->blocks, 2, keys });
	}
	if (chooses && !threads) {
		struct splitting s = { lowered, kernel, order };
		order->bars = rewrite_expr(&(struct rewriter){ .arena = lowered->arena, .expr = split, .user = &s },
		        d->choice[CHOICE_BARS]);
	}
	choose_lanes_of(d, target, kernel);
	for (kernel->warps = threads;
	        threads && kernel->warps < WARPS_MOST && kernel->warps * target->lanes * RUN < order->n;)
		kernel->warps *= 2;
	kernel->blocks_of = "rows";
	kernel->within = kernel_counted(kernel) < 0 ? NULL : d->count.of[kernel_counted(kernel)];
	kernel->tile = order->beside
	        ? arena_printf(lowered->arena, "%lld kept of rows beside each other", (long long)order->kept)
	        : order->few ? arena_printf(lowered->arena, "%lld kept", (long long)order->kept)
	        : threads    ? arena_printf(lowered->arena, "runs of %d", RUN)
	        : order->room < order->n
	        ? arena_printf(lowered->arena, "best %lld of %lld", (long long)order->best, (long long)order->room)
	        : "bytes";
}

void order_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct row_order *order = kernel->detail;
	generic_parameters(lowered, kernel);
	if (order->keys) {
		kernel_add_param(lowered->arena, kernel, order->keys, true);
		kernel_add_param(lowered->arena, kernel, order->positions, true);
	}
	for (int i = 0; !order->parts_local && i < order->part_count; i++)
		if (order->parts[i].before)
			kernel_add_param(lowered->arena, kernel, order->parts[i].before, true);
}
