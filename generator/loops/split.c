/* split.c: cuts loops where a select on their variable changes its mind.  In each part the select is decided, and
 * expr_select drops it: pads, concats and borders cost nothing inside.  The variables of blocks are cut by IF. */
#include "loops/loops.h"
#include <math.h>

enum {
	PARTS_MOST = 160,      /* of one loop */
	LEAVES_MOST = 3000,    /* statements that a cut may make */
	PIECES_MOST = 1 << 16, /* of one loop, in which its quotients stand still */
};

/* ---- where the selects on one variable change ---- */
struct cutting {
	struct loops *loops;
	int var;
	int64_t extent;
	int64_t at[PARTS_MOST + 1]; /* ascending, inside (0, extent) */
	int count;
	size_t leaves; /* statements that each part would have */
	bool too_many;
};

static void add_cut(struct cutting *c, int64_t at)
{
	int i = c->count;
	FOR (k, c->count)
		if (c->at[k] == at)
			return;
	if (c->count == PARTS_MOST) {
		c->too_many = true;
		return;
	}
	for (; i > 0 && c->at[i - 1] > at; i--)
		c->at[i] = c->at[i - 1];
	c->at[i] = at;
	c->count++;
}

/* A function of the variable alone. */
static bool only_of(const struct cutting *c, const struct index *index)
{
	if (index->values || index->vars != var_bit(c->var))
		return false;
	for (int v = VARS_LAST; v < (int)c->loops->vars.count; v++)
		if (v != c->var && index_uses(index, v))
			return false;
	return true;
}

static int64_t down(int64_t a, int64_t b) { return a / b - (a % b < 0); } /* b > 0 */
static int64_t up(int64_t a, int64_t b) { return -down(-a, b); }

/* from <= f*v + k < to */
static void cuts_between(struct cutting *c, const struct range *range, int64_t f, int64_t k, int64_t first, int64_t end)
{
	int64_t low = f > 0 ? up(range->from - k, f) : down(k - range->to, -f) + 1;
	int64_t high = f > 0 ? up(range->to - k, f) : down(k - range->from, -f) + 1;
	if (low > first && low < end)
		add_cut(c, low);
	if (high > first && high < end)
		add_cut(c, high);
}
static void cuts_of_line(struct cutting *c, const struct range *range, int64_t f, int64_t k)
{
	cuts_between(c, range, f, k, 0, c->extent);
}

/* An index of one variable alone from v on: its value there, and what it grows by up to `end`, where a quotient
 * changes. */
struct piece {
	int64_t value, slope, end;
};
static struct piece piece_from(const struct index *index, int64_t v, int64_t extent)
{
	struct piece all = { index->constant, 0, extent };
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		struct piece p = { v, 1, extent };
		if (atom->kind != ATOM_VAR)
			p = piece_from(atom->of, v, extent);
		if (atom->kind == ATOM_SYMBOL) {
			p.value *= atom->by;
			p.slope *= atom->by;
		} else if (atom->kind != ATOM_VAR) {
			int64_t quotient = down(p.value, atom->by), rest = p.value - quotient * atom->by,
			        rounds = p.slope > 0 ? up(atom->by - rest, p.slope)
			        : p.slope < 0        ? rest / -p.slope + 1
			                             : extent;
			p.end = rounds < p.end - v ? v + rounds : p.end;
			p.value = atom->kind == ATOM_DIV ? quotient : rest;
			p.slope = atom->kind == ATOM_DIV ? 0 : p.slope;
		}
		all.value += index->terms[i].factor * p.value;
		all.slope += index->terms[i].factor * p.slope;
		all.end = p.end < all.end ? p.end : all.end;
	}
	return all;
}
static void cuts_of_pieces(struct cutting *c, const struct range *range)
{
	bool was = false;
	int pieces = 0;
	struct piece p;
	for (int64_t v = 0; v < c->extent && !c->too_many; v = p.end) {
		p = piece_from(range->at, v, c->extent);
		int64_t last = p.value + p.slope * (p.end - 1 - v);
		if (v && (p.value >= range->from && p.value < range->to) != was)
			add_cut(c, v);
		if (p.slope)
			cuts_between(c, range, p.slope, p.value - p.slope * v, v, p.end);
		was = last >= range->from && last < range->to;
		c->too_many |= ++pieces > PIECES_MOST;
	}
}

/* A few rounds between the places of another variable: of each alone, that one is decided. */
enum { PHASES_MOST = 4 };
static bool runs_in_phases(const struct cutting *c, const struct index *at)
{
	if (c->extent > PHASES_MOST || at->count != 2 || !index_is_affine(at) || index_factor(at, c->var) != 1)
		return false;
	FOR (i, at->count)
		if (at->terms[i].atom->var != c->var)
			return at->terms[i].factor == c->extent;
	return false;
}

static void cuts_of_range(struct cutting *c, const struct range *range)
{
	int beside = c->loops->beside_var;
	int64_t rows = c->loops->beside;
	/* With rows side by side: where it changes for the first of them, and for the last; between, each row decides.
	 */
	if (rows > 1 && c->var != beside && range->at->count == 2 && index_is_affine(range->at)
	        && index_factor(range->at, c->var) && index_factor(range->at, beside)) {
		for (int64_t row = 0; row < rows; row += rows - 1)
			cuts_of_line(c, range, index_factor(range->at, c->var),
			        range->at->constant + row * index_factor(range->at, beside));
		return;
	}
	if (runs_in_phases(c, range->at))
		for (int64_t v = 1; v < c->extent; v++)
			add_cut(c, v);
	if (!only_of(c, range->at))
		return;
	if (index_is_affine(range->at)) {
		cuts_of_line(c, range, range->at->terms[0].factor, range->at->constant);
		return;
	}
	cuts_of_pieces(c, range);
}

static enum visit cuts_of_expr(void *user, const struct expr *expr)
{
	FOR (i, expr->range_count)
		cuts_of_range(user, &expr->ranges[i]);
	return VISIT_PARTS;
}

static enum visit cuts_of_stmt(void *user, struct stmt *stmt)
{
	struct cutting *c = user;
	FOR (r, stmt->range_count)
		cuts_of_range(c, &stmt->ranges[r]);
	expr_visit(stmt->value, cuts_of_expr, c);
	c->leaves++;
	return VISIT_PARTS;
}

static bool find_cuts(struct cutting *c, const struct block *block, size_t from)
{
	if (from < block->count)
		block_visit(&(struct block){ .at = block->at + from, .count = block->count - from }, cuts_of_stmt, c);
	return c->count && !c->too_many && c->leaves * (size_t)(c->count + 1) <= LEAVES_MOST;
}

/* ---- cutting ---- */
static void split_block(struct loops *, struct block *);

/* Part [low, high) of a loop: its rounds count from 0. */
static void add_part(struct loops *loops, const struct stmt *loop, int64_t low, int64_t high, struct block *out)
{
	struct stmt *part = stmt_new(loops, high - low == 1 ? STMT_SCOPE : STMT_FOR);
	struct copying copying;
	int var = loop->var;
	if (high - low > 1) {
		var = var_new(loops, loops->vars.at[loop->var].name, high - low);
		part->var = var;
		part->extent = high - low;
		part->role = loop->role;
		part->together = loop->together;
	}
	copying_init(&copying, loops, true);
	copying_put(&copying, loop->var, index_plus(loops->arena, index_var(loops->arena, var, high - low), low));
	copy_block(&copying, &loop->body, &part->body);
	split_block(loops, &part->body);
	block_add(loops, out, part);
}

/* What stands behind `from` becomes if var < cut 0 {…} else if var < cut 1 {…} … */
static void cut_by_if(struct loops *loops, struct block *block, size_t from, const struct cutting *c)
{
	struct block rest = { 0 }, *out = block;
	for (size_t i = from; i < block->count; i++)
		block_add(loops, &rest, block->at[i]);
	block->count = from;
	for (int p = 0; p <= c->count; p++) {
		int64_t low = p ? c->at[p - 1] : 0, high = p < c->count ? c->at[p] : c->extent;
		struct block *part = out;
		if (p < c->count) {
			struct stmt *which = stmt_new(loops, STMT_IF);
			struct range *range = arena_new(loops->arena, struct range);
			*range = (struct range){ index_var(loops->arena, c->var, c->extent), 0, high };
			which->ranges = range;
			which->range_count = 1;
			block_add(loops, out, which);
			part = &which->body;
			out = &which->other;
		}
		struct copying copying;
		if (high - low > 1 && low) {
			int var = index_new(loops, loops->vars.at[c->var].name, high - low,
			        index_plus(loops->arena, index_var(loops->arena, c->var, c->extent), -low), part);
			copying_init(&copying, loops, true);
			copying_put(&copying, c->var,
			        index_plus(loops->arena, index_var(loops->arena, var, high - low), low));
		} else {
			copying_init(&copying, loops, true);
			/* the same variable, known to stay below `high` */
			copying_put(&copying, c->var,
			        index_plus(loops->arena, index_var(loops->arena, c->var, high - low), low));
		}
		copy_block(&copying, &rest, part);
		split_block(loops, part);
	}
}

/* Short rows stay whole where all that changes along them are masked loads: cut, each border would be a vector of its
 * own.  With four lanes a masked load goes through memory. */
enum { WHOLE_VECTORS = 2, MASKED_LANES = 8 };
static enum visit is_cut(void *user, const struct expr *expr)
{
	if (loops_can_vector(expr, *(const int *)user, false))
		return VISIT_PAST;
	return expr->kind == EXPR_SCALAR ? VISIT_PARTS : VISIT_END;
}
static bool all_masked(const struct block *block, int var)
{
	FOR (i, block->count) {
		const struct stmt *stmt = block->at[i];
		if ((stmt->kind != STMT_SET && stmt->kind != STMT_STORE) || expr_visit(stmt->value, is_cut, &var)
		        || (stmt->kind == STMT_STORE
		                && (stmt->cell->kind != CELL_BUFFER || index_factor(stmt->at, var) != 1)))
			return false;
	}
	return block->count > 0;
}
static bool stays_integer(const struct loops *loops, const struct stmt *loop)
{
	int lanes = loops->target->lanes;
	return lanes >= MASKED_LANES && !loops->target->lanes_are_threads && loop->role == ROLE_MAP
	        && loop->extent <= WHOLE_VECTORS * lanes && all_masked(&loop->body, loop->var);
}

static void split_block(struct loops *loops, struct block *block)
{
	struct block old = block_take(block);
	FOR_ALL (i, old) {
		struct stmt *stmt = old.at[i];
		struct cutting c = { .loops = loops, .var = stmt->var, .extent = loops->vars.at[stmt->var].extent };
		if (stmt->kind == STMT_FOR && stmt->role == ROLE_MAP && !stmt->count && !stays_integer(loops, stmt)
		        && find_cuts(&c, &stmt->body, 0)) {
			for (int p = 0; p <= c.count; p++)
				add_part(loops, stmt, p ? c.at[p - 1] : 0, p < c.count ? c.at[p] : c.extent, block);
			continue;
		}
		block_add(loops, block, stmt);
		if (stmt->kind == STMT_FOR && stmt->role == ROLE_BLOCKS && find_cuts(&c, &stmt->body, 0))
			cut_by_if(loops, &stmt->body, 0, &c);
		else if (stmt->kind == STMT_INDEX && !stmt_finds(stmt) && find_cuts(&c, &old, i + 1)) {
			for (size_t k = i + 1; k < old.count; k++)
				block_add(loops, block, old.at[k]);
			cut_by_if(loops, block, block->count - (old.count - i - 1), &c);
			return;
		} else {
			split_block(loops, &stmt->body);
			split_block(loops, &stmt->other);
		}
	}
}

/* A term outside that cannot win: the maximum of a sum and -inf is the sum, whatever it is. */
static bool is_idle(const void *user, const struct stmt *stmt)
{
	(void)user;
	const struct expr *value = stmt->value;
	if (stmt->kind != STMT_SET || stmt->declare || value->kind != EXPR_SCALAR
	        || (value->opcode != SCALAR_max && value->opcode != SCALAR_min))
		return false;
	const struct expr *term = value->arg[0], *sum = value->arg[1];
	return term->kind == EXPR_NUMBER && dtypes[term->type].class == CLASS_FLOAT && isinf(term->number)
	        && (term->number < 0) == (value->opcode == SCALAR_max) && sum->kind == EXPR_LOAD
	        && sum->of == &stmt->cell->of;
}

void loops_split(struct loops *loops)
{
	split_block(loops, &loops->body);
	block_drop(&loops->body, is_idle, NULL);
}
