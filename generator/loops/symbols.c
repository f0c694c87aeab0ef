/* symbols.c: kernel -> statements of any size.  Right behind the build, each stride and offset of a buffer and each
 * number becomes a symbol; the passes decide by its value; then extents and lanes that are left become symbols too.
 * What the passes decided stands in the key. */
#include "loops/loops.h"
#include <inttypes.h>
#include <math.h>

enum { EXTENT_LEAST = 16 }; /* loops below that, which are no maps, are of a window's making */

/* A stride of a buffer along a variable, or its offset (var -1). */
struct stride {
	const struct definition *of;
	int var;
	int64_t value;
	int symbol;
};
struct making {
	struct loops *loops;
	struct symbols *symbols;
	VECTOR(struct stride) strides;
	struct cell *numbers;
	bool cannot;
};

static int symbol_new(struct making *m, int64_t value)
{
	push(m->loops->arena, &m->symbols->values, value);
	return (int)m->symbols->values.count - 1;
}

/* ---- addresses ---- */
static int symbol_of(struct making *m, const struct definition *of, int var, int64_t value)
{
	FOR_ALL (i, m->strides)
		if (m->strides.at[i].of == of && m->strides.at[i].var == var && m->strides.at[i].value == value)
			return m->strides.at[i].symbol;
	struct stride stride = { of, var, value, symbol_new(m, value) };
	push(m->loops->arena, &m->strides, stride);
	return stride.symbol;
}

static const struct index *address(struct making *m, const struct definition *of, const struct index *at)
{
	struct arena *arena = m->loops->arena;
	const struct index *sum = index_constant(arena, 0), *one = index_constant(arena, 1);
	m->cannot |= !index_is_affine(at);
	for (int i = 0; i < at->count && !m->cannot; i++) {
		int64_t factor = at->terms[i].factor;
		int var = at->terms[i].atom->var;
		const struct index *variable = index_var(arena, var, at->terms[i].atom->high + 1);
		sum = index_add(arena, sum,
		        factor == 1 ? variable : index_symbol(arena, symbol_of(m, of, var, factor), factor, variable));
	}
	return at->constant
	        ? index_add(arena, sum, index_symbol(arena, symbol_of(m, of, -1, at->constant), at->constant, one))
	        : sum;
}

/* ---- expressions ---- */
static const struct expr *number(struct making *m, const struct expr *expr)
{
	struct symbols *symbols = m->symbols;
	size_t i = 0;
	if (expr->number == 0 || expr->number == 1 || expr->number == -1 || !isfinite(expr->number))
		return expr;
	while (i < symbols->numbers.count && symbols->numbers.at[i] != expr->number)
		i++;
	if (i == symbols->numbers.count)
		push(m->loops->arena, &symbols->numbers, expr->number);
	return cell_load(m->loops, m->numbers, index_constant(m->loops->arena, (int64_t)i));
}

static const struct expr *symbolic(struct rewriter *r, const struct expr *expr)
{
	struct making *m = r->user;
	m->cannot |= expr->type != DTYPE_F32;
	switch (expr->kind) {
	case EXPR_NUMBER: return number(m, expr);
	case EXPR_LOAD: {
		struct cell *cell = cell_of_load(expr);
		return cell->kind == CELL_BUFFER ? cell_load(m->loops, cell, address(m, expr->of, expr->at[0])) : expr;
	}
	case EXPR_SCALAR: return NULL;
	case EXPR_SELECT: /* where it is cut is this layer's alone */
	case EXPR_INDEX:
	case EXPR_CAST: break;
	}
	m->cannot = true;
	return expr;
}

static const struct expr *value(struct making *m, const struct expr *expr)
{
	return rewrite_expr(&(struct rewriter){ .arena = m->loops->arena, .expr = symbolic, .user = m }, expr);
}

static enum visit symbolise(void *user, struct stmt *stmt)
{
	struct making *m = user;
	m->cannot |= stmt->cell && stmt->cell->of.type != DTYPE_F32;
	if (stmt->value)
		stmt->value = value(m, stmt->value);
	if (stmt->kind == STMT_STORE && stmt->cell->kind == CELL_BUFFER)
		stmt->at = address(m, &stmt->cell->of, stmt->at);
	return m->cannot ? VISIT_END : VISIT_PARTS;
}

/* ---- after the passes ---- */
static const struct index *symbol_alone(struct making *m, int64_t value)
{
	return index_symbol(m->loops->arena, symbol_new(m, value), value, index_constant(m->loops->arena, 1));
}

/* Text leaves out what bounds say, and bounds are not in the key: only where they come from constants alone. */
static bool is_plain(const struct range *range)
{
	const struct index *at = range->at;
	FOR (i, at->count)
		if (at->terms[i].atom->kind != ATOM_VAR || at->terms[i].factor < 0)
			return false;
	return at->constant >= range->from;
}

/* A running sum's terms, or those behind its last square: any number of them. */
static bool is_running(const struct making *m, const struct stmt *loop)
{
	return m->loops->kernel->root->running && loop->extent != m->loops->target->lanes;
}

static void count_loops(struct making *m, struct block *block)
{
	const struct index *some = NULL;
	int64_t left = 0, first;
	FOR (i, block->count) {
		struct stmt *stmt = block->at[i];
		if (stmt->kind == STMT_FOR
		        && (stmt->role == ROLE_BLOCKS || stmt->role == ROLE_MAP || is_running(m, stmt)
		                || (stmt->extent >= EXTENT_LEAST && !m->loops->kernel->root->running)))
			stmt->count = symbol_alone(m, stmt->extent);
		FOR (r, stmt->range_count)
			m->cannot |= !is_plain(&stmt->ranges[r]);
		m->cannot |= stmt->kind == STMT_INDEX && !index_is_affine(stmt->at);
		if (stmt->kind == STMT_INDEX && index_is_constant(stmt->at, &first) && first >= EXTENT_LEAST)
			stmt->at = symbol_alone(m, first);
		if (stmt->left) {
			if (!some || stmt->left != left)
				some = symbol_alone(m, left = stmt->left);
			stmt->some = some;
		}
		count_loops(m, &stmt->body);
		count_loops(m, &stmt->other);
	}
}

/* Names that say nothing of the layer, and the statements as one line. */
static void make_key(struct making *m)
{
	struct loops *loops = m->loops;
	struct text text;
	int buffers = 0;
	text_init(&text, loops->build);
	FOR_ALL (v, loops->vars)
		loops->vars.at[v].name = "i";
	FOR_ALL (c, loops->cells) {
		struct cell *cell = loops->cells.at[c];
		cell->of.name = cell->kind == CELL_BUFFER ? arena_printf(loops->arena, "p%d", buffers++) : "c";
		if (cell->kind == CELL_BUFFER)
			text_printf(&text, "%s%s ", cell->of.name, cell->written ? "=" : "");
	}
	text_addc(&text, '\n');
	loops_print(loops, &text);
	FOR_ALL (i, text)
		text.at[i] = text.at[i] == '\n' ? '|' : text.at[i];
	m->symbols->key = arena_copy(loops->arena, text.at, text.count);
	text_release(&text);
}

struct loops *loops_symbolic(
        struct build *build, struct arena *arena, const struct target *target, const struct kernel *kernel)
{
	FOR_ALL (i, kernel->params)
		if (kernel->params.at[i].of->type != DTYPE_F32)
			return NULL;
	struct loops *loops = loops_build(build, arena, target, kernel);
	struct making m = { .loops = loops, .symbols = arena_new(arena, struct symbols) };
	m.numbers = cell_new(loops, CELL_BUFFER, "numbers", DTYPE_F32, 1);
	block_visit(&loops->body, symbolise, &m);
	if (m.cannot)
		return NULL;
	loops_pass(loops, true);
	loops_tile(loops);
	count_loops(&m, &loops->body);
	if (m.cannot)
		return NULL;
	loops->symbols = m.symbols;
	make_key(&m);
	return loops;
}
