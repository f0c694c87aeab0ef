/* lookup.c: definitions -> definitions.  Bytes that are a function of one byte, and take more than a look at a table,
 * are read from a table of 256.
 *
 *     q = uint8(round(sigmoid(float(x - zx) * sx) / sy) + zy)      q = q.table[x]
 *
 * What lies between two bytes is seen through, bytes that are such functions too: an activation of several operators,
 * each of them dequantised and quantised, is one table.  It has the interpreter's values, which are every target's. */
#include "definitions/definitions.h"

/* Of expressions: what costs as much becomes a table, since that is some four instructions an element where no vector
 * looks it up; what costs more than the other is not looked through. */
enum { TABLE_COST = 24, COST_MOST = 1024, BYTES = 256 };

struct lookup {
	const struct expr *byte; /* all that varies … */
	bool one;                /* … if it is one */
	bool looks;              /* at a table, already */
};

static bool is_byte(const struct expr *e) { return e->type == DTYPE_U8 || e->type == DTYPE_I8; }

static void see_load(void *user, const struct expr *load)
{
	struct lookup *l = user;
	if (load->of->source == SOURCE_CONSTANT) { /* a number, or a table whose index is a load of its own */
		const struct index *at = load->vars ? load->at[load->of->rank - 1] : NULL;
		l->looks |= at != NULL;
		l->one &= !at || (load->of->rank == 1 && at->count == 1 && at->terms[0].atom->kind == ATOM_VALUE);
		return;
	}
	l->one &= is_byte(load) && (!l->byte || l->byte == load);
	l->byte = load;
}

static bool is_of_one_byte(const struct expr *e, struct lookup *l)
{
	*l = (struct lookup){ .one = !expr_has(e, 1u << EXPR_INDEX | 1u << EXPR_SELECT) };
	expr_loads(e, see_load, l);
	return l->one && l->byte;
}

static const struct expr *see_through(struct rewriter *r, const struct expr *e)
{
	struct lookup l;
	if (e->kind != EXPR_LOAD || e->of->source != SOURCE_COMPUTED || e->of->reduce != REDUCE_NONE || e->of->check
	        || definition_stands_alone(e->of) || expr_cost(e->of->body) > COST_MOST)
		return NULL;
	const struct expr *body = rewrite_expr(r, expr_substitute(r->arena, e->of->body, e->at));
	return expr_cost(body) <= COST_MOST && (!is_byte(e) || is_of_one_byte(body, &l)) ? body : NULL;
}

static const struct expr *put_number(struct rewriter *r, const struct expr *e)
{
	const struct lookup *l = r->user;
	return e != l->byte ? NULL
	                    : expr_cast(r->arena, e->type,
	                            expr_index(r->arena,
	                                    index_plus(r->arena, index_var(r->arena, 0, BYTES),
	                                            e->type == DTYPE_I8 ? INT8_MIN : 0)));
}

static void look_up(struct program *program, struct definition *d)
{
	struct arena *arena = program->arena;
	struct lookup l;
	struct rewriter through = { .arena = arena, .expr = see_through },
	                numbers = { .arena = arena, .expr = put_number, .user = &l };
	const struct expr *body = rewrite_expr(&through, d->body);
	if (!is_of_one_byte(body, &l) || (expr_cost(body) < TABLE_COST && !l.looks))
		return;
	int64_t low = l.byte->type == DTYPE_I8 ? INT8_MIN : 0;
	struct definition *table = define_map(program, arena_printf(arena, "%s.table", d->name), 1, &(int64_t){ BYTES },
	        rewrite_expr(&numbers, body));
	definition_fold(program, table);
	const struct index *at = index_plus(arena, index_value(arena, l.byte, low, low + BYTES - 1), -low);
	d->body = expr_load(arena, table, &at);
}

void fold_lookups(struct program *program)
{
	FOR_ALL (i, program->all) {
		struct definition *d = program->all.at[i];
		size_t before = program->all.count;
		if (definition_repeats(d) == d && d->loop.repeat)
			fold_lookups(d->loop.repeat->body);
		if (d->source == SOURCE_COMPUTED && d->reduce == REDUCE_NONE && !d->check && !definition_stands_alone(d)
		        && (d->type == DTYPE_U8 || d->type == DTYPE_I8))
			look_up(program, d);
		program_move(program, before, d);
		i = (size_t)d->number;
	}
}
