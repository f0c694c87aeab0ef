/* unroll.c: rounds side by side.  Small windows become straight lines, so that split.c can decide their selects and
 * tiles share what they load; loops_choose_tiles says how many neighbouring rounds of a map run together, each with
 * registers of its own, and loops_tile writes them so: the last step, since it multiplies the statements. */
#include "loops/loops.h"

/* SUM: of a thread alone, which asks for all of it at once. */
enum { WINDOW_MOST = 16, SUM_MOST = 64, TILE_MOST = 8, LINES_MOST = 352 };

/* ---- windows ---- */
static bool is_straight(const struct block *block)
{
	FOR (i, block->count)
		if (block->at[i]->kind != STMT_SET)
			return false;
	return true;
}

static void unroll_block(void *user, struct block *block)
{
	struct loops *loops = user;
	struct block old = block_take(block);
	FOR_EACH (struct stmt *stmt, old) {
		if (stmt->kind != STMT_FOR || stmt->role != ROLE_SERIAL || stmt->first || !is_straight(&stmt->body)
		        || stmt->extent * (int64_t)stmt->body.count > (loops->elements ? SUM_MOST : WINDOW_MOST)) {
			block_add(loops, block, stmt);
			continue;
		}
		FOR (round, stmt->extent) {
			struct copying copying;
			copying_init(&copying, loops, true);
			copying_put(&copying, stmt->var, index_constant(loops->arena, round));
			copy_block(&copying, &stmt->body, block);
		}
	}
}

void loops_unroll(struct loops *loops) { block_each(&loops->body, unroll_block, loops); }

/* ---- tiles ---- */
static bool uses_var(const struct stmt *stmt, int var)
{
	FOR (i, stmt->range_count)
		if (index_uses(stmt->ranges[i].at, var))
			return true;
	return false;
}

static bool is_straight_line(const struct stmt *stmt) { return stmt->kind == STMT_SET || stmt->kind == STMT_STORE; }

/* The first load of the statement, from `of` where that is given, whose address depends on the variable. */
struct finding {
	int var;
	const struct index *at;
	const struct definition *of;
};
static void find_load(void *user, const struct expr *load)
{
	struct finding *f = user;
	if (!f->at && load->of->rank && (f->of ? f->of == load->of : true) && index_uses(load->at[0], f->var)) {
		f->at = load->at[0];
		f->of = load->of;
	}
}

/* How many statements of a straight line a round should lag behind the one before it, so that it loads what that one
 * has just loaded; 0 where they share nothing. */
static size_t lag_of(
        struct loops *loops, const struct block *in, size_t from, size_t to, int var, const struct copying *copies)
{
	struct finding first = { .var = var };
	size_t at = from;
	for (; at < to && !first.at; at++)
		expr_loads(in->at[at]->value, find_load, &first);
	if (!first.at)
		return 0;
	const struct index *wanted = index_substitute(loops->arena, first.at, copies[1].with);
	for (size_t i = at; i < to; i++) {
		struct finding later = { .var = var, .of = first.of };
		expr_loads(in->at[i]->value, find_load, &later);
		if (later.at && index_equal(wanted, index_substitute(loops->arena, later.at, copies[0].with)))
			return i - at + 1;
	}
	return 0;
}

/* Windows that overlap: how many rounds of a chain later a round of `loop` loads what the next one of `loop` loads; 0
 * where they share nothing.  Vectors along the loop share parts of what they load, which is no load less. */
struct overlapping {
	const struct stmt *loop, *chain;
	int64_t lag;
	bool overlaps;
};
static void see_overlap(void *user, const struct expr *load)
{
	struct overlapping *o = user;
	if (!load->of->rank)
		return;
	int64_t next = index_factor(load->at[0], o->loop->var), later = index_factor(load->at[0], o->chain->var);
	if (index_bends(load->at[0], o->loop->var) || index_bends(load->at[0], o->chain->var))
		o->overlaps = false;
	if (!next)
		return;
	int64_t lag = later > 0 && next > 0 && next % later == 0 ? next / later : 0;
	o->overlaps &= lag && (!o->lag || o->lag == lag);
	o->lag = lag;
}
static void see_overlapping(void *user, struct stmt *stmt, double rounds)
{
	(void)rounds;
	struct overlapping *o = user;
	if (stmt->kind == STMT_SET)
		expr_loads(stmt->value, see_overlap, o);
	else
		o->overlaps = false;
}

static int64_t lag_of_rounds(const struct loops *loops, const struct stmt *loop, const struct stmt *chain)
{
	struct overlapping o = { loop, chain, 0, true };
	if (!has_vectors(loops->target) || chain->kind != STMT_FOR || chain->role != ROLE_SERIAL || chain->first
	        || loop->step != 1 || chain->step != 1)
		return 0;
	block_leaves(&chain->body, see_overlapping, &o);
	return o.overlaps ? o.lag : 0;
}

static void jam(struct loops *, const struct block *in, const struct stmt *loop, struct copying *copies, int count,
        struct block *out);

/* One round of a chain for copies [from, to), each `lag` rounds behind the one before; `at`: that of the first copy. */
static void add_late(struct loops *loops, const struct stmt *chain, const struct stmt *loop, struct copying *copies,
        int from, int to, int64_t lag, const struct index *at, struct block *out)
{
	for (int t = from; t < to; t++)
		copying_put(&copies[t], chain->var, index_plus(loops->arena, at, -lag * t));
	jam(loops, &chain->body, loop, copies + from, to - from, out);
	for (int t = from; t < to; t++)
		copying_put(&copies[t], chain->var, NULL);
}

/* A chain for all copies at once, each `lag` rounds behind the one before: so what one loads serves them all.  The
 * rounds before all of them are on their way, and behind the first one's end, are straight lines. */
static void slide(struct loops *loops, const struct stmt *chain, const struct stmt *loop, struct copying *copies,
        int count, int64_t lag, struct block *out)
{
	int64_t ahead = lag * (count - 1);
	for (int64_t time = 0, rounds; time < chain->extent + ahead; time += rounds) {
		int from = time < chain->extent ? 0 : (int)((time - chain->extent) / lag) + 1,
		    to = time >= ahead ? count : (int)(time / lag) + 1;
		rounds = time == ahead && ahead < chain->extent ? chain->extent - ahead : 1;
		if (rounds == 1) {
			add_late(loops, chain, loop, copies, from, to, lag, index_constant(loops->arena, time), out);
			continue;
		}
		struct stmt *all = for_new(loops, chain->var, rounds, chain->role);
		const struct index *at = index_plus(loops->arena, index_var(loops->arena, chain->var, rounds), ahead);
		add_late(loops, chain, loop, copies, from, to, lag, at, &all->body);
		block_add(loops, out, all);
	}
}

/* Each statement for all copies before the next; loops inside run once for all. */
static void jam(struct loops *loops, const struct block *in, const struct stmt *loop, struct copying *copies, int count,
        struct block *out)
{
	for (size_t i = 0; i < in->count; i++) {
		const struct stmt *stmt = in->at[i];
		size_t end = i, lag;
		while (end < in->count && is_straight_line(in->at[end]))
			end++;
		if (loop->together && count > 1 && end - i > 1
		        && (lag = lag_of(loops, in, i, end, loop->var, copies))) {
			size_t line = end - i;
			FOR (time, line + lag * (size_t)(count - 1))
				FOR (t, count)
					if (time >= lag * (size_t)t && time - lag * (size_t)t < line)
						block_add(loops, out,
						        copy_stmt(&copies[t], in->at[i + time - lag * (size_t)t]));
			i = end - 1;
			continue;
		}
		bool alone = stmt->kind == STMT_SET || stmt->kind == STMT_STORE || stmt->kind == STMT_JOIN
		        || stmt->kind == STMT_ARRAY;
		if (alone || (stmt->kind == STMT_IF && uses_var(stmt, loop->var))
		        || (stmt->kind == STMT_FOR && stmt->role == ROLE_LANES)) {
			FOR (t, count)
				block_add(loops, out, copy_stmt(&copies[t], stmt));
			continue;
		}
		int64_t late = count > 1 ? lag_of_rounds(loops, loop, stmt) : 0;
		if (late && late < stmt->extent
		        && (late * (count - 1) < stmt->extent
		                || stmt->extent * count * (int64_t)stmt->body.count <= LINES_MOST)) {
			slide(loops, stmt, loop, copies, count, late, out);
			continue;
		}
		struct stmt *one = stmt_new(loops, stmt->kind);
		*one = *stmt;
		memset(&one->body, 0, sizeof one->body);
		memset(&one->other, 0, sizeof one->other);
		jam(loops, &stmt->body, loop, copies, count, &one->body);
		jam(loops, &stmt->other, loop, copies, count, &one->other);
		block_add(loops, out, one);
	}
}

/* `count` neighbouring rounds of a map, the first at variable `var` (or the constant `first` where var < 0). */
static void add_rounds(
        struct loops *loops, const struct stmt *loop, int count, const struct index *first, struct block *out)
{
	struct copying *copies = arena_new_array(loops->arena, struct copying, (size_t)count);
	FOR (t, count) {
		copying_init(&copies[t], loops, true);
		copying_put(&copies[t], loop->var, index_plus(loops->arena, first, t * loop->step));
	}
	jam(loops, &loop->body, loop, copies, count, out);
}

/* What one round holds: registers that are added to, and loads with their addresses. */
enum { LOADS_MOST = 64 };
struct weighing {
	const struct cell *sums[LOADS_MOST];
	int sum_count;
	const struct expr *loads[LOADS_MOST];
	int load_count;
	double cost;
	bool steps;
};

static void weigh_load(void *user, const struct expr *load)
{
	struct weighing *w = user;
	if (!load->of->rank)
		return;
	FOR (i, w->load_count)
		if (expr_equal(w->loads[i], load))
			return;
	if (w->load_count < LOADS_MOST)
		w->loads[w->load_count++] = load;
}

static void weigh_leaf(void *user, struct stmt *stmt, double rounds)
{
	struct weighing *w = user;
	(void)rounds;
	if (stmt->kind == STMT_JOIN)
		return;
	if (stmt->kind == STMT_SET && !stmt->declare) {
		bool known = false;
		FOR (i, w->sum_count)
			known |= w->sums[i] == stmt->cell;
		if (!known && w->sum_count < LOADS_MOST)
			w->sums[w->sum_count++] = stmt->cell;
		w->steps = true;
	}
	w->cost += 1 + expr_cost(stmt->value);
	expr_loads(stmt->value, weigh_load, w);
}

/* Distinct loads of four neighbouring rounds of `loop`, in one. */
static double loads_of_four(struct loops *loops, const struct stmt *loop, const struct block *body)
{
	struct weighing w = { .steps = false };
	FOR (t, 4) {
		struct copying copying;
		struct block copy = { 0 };
		copying_init(&copying, loops, false);
		copying_put(&copying, loop->var,
		        index_plus(loops->arena, index_var(loops->arena, loop->var, loop->extent + 4 * loop->step),
		                t * loop->step));
		copy_block(&copying, body, &copy);
		block_leaves(&copy, weigh_leaf, &w);
	}
	return w.load_count;
}

/* Which of two loops, one in the other, has more to share among neighbours? */
static bool inner_shares_more(struct loops *loops, const struct stmt *loop, const struct stmt *inner)
{
	if (loop->extent / loop->step < 2)
		return true;
	if (inner->extent / inner->step < 2)
		return false;
	return loads_of_four(loops, inner, &inner->body) < loads_of_four(loops, loop, &inner->body);
}

static enum visit see_map(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_FOR && stmt->role == ROLE_MAP ? VISIT_END : VISIT_PARTS;
}
static bool has_map(const struct block *block) { return block_visit(block, see_map, NULL); }

/* `count` rounds from `from` on as a straight line.  A vector's variable stays one, so that addresses still grow along
 * it. */
static void add_straight(struct loops *loops, const struct stmt *loop, int64_t from, int count, struct block *out)
{
	struct stmt *scope = stmt_new(loops, STMT_SCOPE);
	const struct index *first = index_constant(loops->arena, from * loop->step);
	if (loop->step > 1) {
		int64_t extent = loops->vars.at[loop->var].extent;
		first = index_var(loops->arena,
		        index_new(loops, loops->vars.at[loop->var].name, extent, first, &scope->body), extent);
	}
	add_rounds(loops, loop, count, first, &scope->body);
	block_add(loops, out, scope);
}

static void replace_by_tiles(struct loops *loops, const struct stmt *loop, struct block *out)
{
	int64_t tile = loop->tile, rounds = loop->extent / loop->step, rest = rounds % tile, main = rounds - rest;
	if (main > tile) {
		struct stmt *tiled = for_new(loops, loop->var, main * loop->step, loop->role);
		tiled->step = loop->step * tile;
		tiled->count = rest ? NULL : loop->count;
		add_rounds(loops, loop, (int)tile, index_var(loops->arena, loop->var, loops->vars.at[loop->var].extent),
		        &tiled->body);
		block_add(loops, out, tiled);
	} else if (main)
		add_straight(loops, loop, 0, (int)tile, out);
	if (rest)
		add_straight(loops, loop, main, (int)rest, out);
}

/* Balanced: as few tiles as `most` allows, the last one shorter by the least. */
static int64_t balanced(int64_t rounds, int64_t most)
{
	int64_t tiles = ceil_div(rounds, most);
	return tiles ? ceil_div(rounds, tiles) : 1;
}

static void choose_block(struct loops *, struct block *);

/* A transposition, by squares of a vector's lanes, each transposed in registers; the last one may overlap. */
static bool add_squares(struct loops *loops, const struct stmt *loop, struct block *out)
{
	const struct stmt *store = loop->body.count == 1 ? loop->body.at[0] : NULL;
	int lanes = loops->target->lanes;
	if (!store || store->kind != STMT_STORE || store->lane < 0 || store->left || lanes == 1 || loop->step != 1
	        || !loops_transposes(loops, store, store->lane, loop))
		return false;
	struct stmt *whole = for_new(loops, loop->var, loop->extent / lanes * lanes, loop->role),
	            *square = stmt_new(loops, STMT_STORE);
	whole->step = lanes;
	*square = *store;
	square->square = index_step(loops->arena, store->at, loop->var);
	block_add(loops, &whole->body, square);
	block_add(loops, out, whole);
	if (loop->extent % lanes) {
		struct copying last;
		copying_init(&last, loops, false);
		copying_put(&last, loop->var, index_constant(loops->arena, loop->extent - lanes));
		block_add(loops, out, copy_stmt(&last, square));
	}
	loops->tile = arena_printf(loops->arena, "%d x %d", lanes, lanes);
	return true;
}

/* A place that data say stands where its round stands. */
static enum visit see_finding(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt_finds(stmt) ? VISIT_END : VISIT_PARTS;
}
static bool finds(const struct block *block) { return block_visit(block, see_finding, NULL); }

/* Rounds that end apart stay apart. */
static enum visit see_end(void *user, struct stmt *stmt)
{
	return stmt->count && index_uses(stmt->count, *(const int *)user) ? VISIT_END : VISIT_PARTS;
}
static bool ends_move(const struct block *block, int var) { return block_visit(block, see_end, &var); }

/* How many rows of windows that overlap share what they load, so that some vectors of each have room, too; 0 where
 * they do not overlap.  Before and behind the rounds that all share, each has its own: a line for each pair of rows.
 * Where no round is shared by all, all are straight lines: worth it as far as sums would wait for themselves. */
enum { VECTORS_BESIDE = 3, SUMS_BESIDE = 8 };
struct finding_windows {
	const struct loops *loops;
	const struct stmt *loop, *chain;
	int64_t lag;
};
static enum visit find_windows(void *user, struct stmt *stmt)
{
	struct finding_windows *f = user;
	f->chain = stmt;
	f->lag = lag_of_rounds(f->loops, f->loop, stmt);
	return f->lag ? VISIT_END : VISIT_PARTS;
}

static int64_t rows_of_windows(const struct loops *loops, const struct stmt *loop, const struct stmt *inner)
{
	struct finding_windows f = { .loops = loops, .loop = loop };
	int64_t vectors = inner ? inner->extent / inner->step : 1;
	if (loops->beside > 1 || !block_visit(inner ? &inner->body : &loop->body, find_windows, &f))
		return 0;
	int64_t rows = loops->target->registers * 3 / 4 / (vectors < VECTORS_BESIDE ? vectors : VECTORS_BESIDE),
	        count = (int64_t)f.chain->body.count;
	for (; rows > 1; rows--) {
		int64_t ahead = f.lag * (rows - 1);
		bool shared = ahead < f.chain->extent;
		if ((shared ? ahead + 1 : f.chain->extent) * rows * count <= LINES_MOST
		        && (shared || (rows - 1) * vectors < SUMS_BESIDE))
			break;
	}
	return rows;
}

/* Are the tiles those of loops inside, and not of this one's rounds?  `inner`: the map that its body is, or begins with. */
static bool tiles_are_inside(struct loops *loops, const struct stmt *loop, const struct stmt *inner, struct weighing *w)
{
	if (finds(&loop->body) || ends_move(&loop->body, loop->var))
		return true;
	if (inner && has_map(&inner->body))
		return true;
	block_leaves(inner ? &inner->body : &loop->body, weigh_leaf, w);
	return inner ? !w->steps || inner_shares_more(loops, loop, inner) : has_map(&loop->body);
}

/* A map without sums: rounds are independent anyway; a few together save the counting. */
static void choose_map_tile(struct loops *loops, struct stmt *loop, double cost, struct block *out)
{
	const int lanes = loops->target->lanes;
	if (add_squares(loops, loop, out))
		return;
	int64_t rounds = loop->extent / loop->step, most = lanes == 1 ? 1 : cost <= 8 ? 4 : cost <= 16 ? 2 : 1;
	if (most > 1 && rounds > 1)
		loop->tile = rounds < most ? rounds : most;
	block_add(loops, out, loop);
}

/* Do neighbours lie in one line of a cache, which a vector alone would load half of? */
enum { LINE_BYTES = 64 };
static bool shares_lines(const struct stmt *loop, const struct weighing *w)
{
	bool near = false;
	FOR (i, w->load_count) {
		int64_t step = index_factor(w->loads[i]->at[0], loop->var) * loop->step;
		if (step < 0 || (int64_t)dtype_bytes(w->loads[i]->type, (size_t)step) >= LINE_BYTES)
			return false;
		near |= step > 0;
	}
	return near;
}

/* What comes from L3 or memory comes fastest in few streams: of sums whose neighbours begin a page apart two run side
 * by side. */
enum { PAGE_BYTES = 4096 };
static bool is_far(const struct stmt *loop, const struct weighing *w)
{
	FOR (i, w->load_count) {
		int64_t step = index_factor(w->loads[i]->at[0], loop->var) * loop->step;
		if ((int64_t)dtype_bytes(w->loads[i]->type, (size_t)(step < 0 ? -step : step)) < PAGE_BYTES)
			return false;
	}
	return w->load_count > 0;
}

static bool leaves_l2(const struct loops *loops)
{
	double bytes = 0;
	FOR_EACH (const struct cell *cell, loops->cells) {
		if (cell->kind == CELL_BUFFER && !cell->written)
			bytes += (double)dtype_bytes(cell->of.type, (size_t)definition_elements(&cell->of));
	}
	return bytes > (double)loops->target->l2_bytes;
}

static void choose_tile(struct loops *loops, struct stmt *loop, struct block *out)
{
	const struct target *target = loops->target;
	struct stmt *inner =
	        loop->body.count >= 1 && loop->body.at[0]->kind == STMT_FOR && loop->body.at[0]->role == ROLE_MAP
	        ? loop->body.at[0]
	        : NULL;
	struct weighing w = { .steps = false };
	if (tiles_are_inside(loops, loop, inner, &w)) {
		choose_block(loops, &loop->body);
		block_add(loops, out, loop);
		return;
	}
	if (!w.steps) {
		choose_map_tile(loops, loop, w.cost, out);
		return;
	}
	int sums = w.sum_count ? w.sum_count : 1;
	int64_t most = target->registers * 3 / 4 / sums;
	if (most < 2 && 2 * sums <= target->registers && shares_lines(loop, &w))
		most = 2;
	if (loops->beside > 1)
		most = target->registers * 5 / 8 / sums / loops->beside; /* what they load takes registers too */
	int64_t enough =
	        loops->kernel->root->running ? target->registers / 2 : TILE_MOST; /* running: as many as a block has */
	most = most > enough ? enough : most < 1 ? 1 : most;
	int64_t rounds = loop->extent / loop->step, rows = rows_of_windows(loops, loop, inner);
	if (rows)
		most = most < rows ? most : rows;
	else if (leaves_l2(loops) && is_far(loop, &w))
		most = most < 2 ? most : 2;
	if (most > 1 && rounds > 1) {
		loop->tile = balanced(rounds, most);
		loops->tile =
		        arena_printf(loops->arena, "%lld %s", (long long)loop->tile, loops->vars.at[loop->var].name);
	}
	if (!rows || !loop->tile) {
		block_add(loops, out, loop);
		return;
	}
	struct block tiles = { 0 }; /* at once: what is left of their vectors' registers is asked next */
	replace_by_tiles(loops, loop, &tiles);
	FOR_ALL (i, tiles)
		choose_block(loops, &tiles.at[i]->body);
	block_add_all(loops, out, &tiles);
}

static void choose_block(struct loops *loops, struct block *block)
{
	struct block old = block_take(block);
	FOR_EACH (struct stmt *stmt, old) {
		if (stmt->kind == STMT_FOR && stmt->role == ROLE_MAP && !(stmt->together && stmt->step == 1)) {
			choose_tile(loops, stmt, block);
			continue;
		}
		if (stmt->together)
			stmt->tile = stmt->extent;
		choose_block(loops, &stmt->body);
		choose_block(loops, &stmt->other);
		block_add(loops, block, stmt);
	}
}

void loops_choose_tiles(struct loops *loops)
{
	if (!loops->target->options.small) /* neighbours side by side save loads, and double the code */
		choose_block(loops, &loops->body);
}

static void tile_block(void *user, struct block *block)
{
	struct loops *loops = user;
	struct block old = block_take(block);
	FOR_ALL (i, old)
		if (old.at[i]->tile)
			replace_by_tiles(loops, old.at[i], block);
		else
			block_add(loops, block, old.at[i]);
}

void loops_tile(struct loops *loops) { block_each(&loops->body, tile_block, loops); }
