/* quantised.c: clamp(round(x * by) + zero), what is quantised -> one call of the menu, to bytes, to lanes, or to floats
 * less a zero point; bytes less a zero point as floats -> another. */
#include "emit/expression.h"
#include "jit/jit.h"
#include <inttypes.h>

struct rounded_bytes {
	const struct expr *of, *by; /* by: NULL: nothing */
	const char *bounds;         /* NULL: bytes as they are */
	bool divides, floats;
	enum dtype type;
	int64_t less;
};

static bool is_byte(enum dtype type) { return type == DTYPE_I8 || type == DTYPE_U8; }

/* x of float(x - number), of integers. */
static const struct expr *dequantised(const struct expr *e, int64_t *less)
{
	const struct expr *x = e->kind == EXPR_CAST && e->type == DTYPE_F32 && !e->cast ? e->arg[0] : NULL;
	if (!x || x->type != DTYPE_I32 || x->kind != EXPR_SCALAR || x->opcode != SCALAR_sub)
		return NULL;
	const struct expr *number = x->arg[1];
	if (number->kind == EXPR_CAST && is_byte(number->arg[0]->type))
		number = number->arg[0];
	if (number->kind != EXPR_NUMBER)
		return NULL;
	*less = number->integer;
	x = x->arg[0];
	return x->kind == EXPR_CAST && !x->cast ? x->arg[0] : x;
}

static bool find_quantised(struct blocks *b, const struct expr *e, const struct dims *d, struct rounded_bytes *q)
{
	struct operand o;
	*q = (struct rounded_bytes){ 0 };
	const struct expr *inner = dequantised(e, &q->less);
	q->floats = inner;
	e = inner ? inner : e;
	q->type = e->type;
	if (!is_byte(e->type))
		return false;
	q->of = e;
	if (inner && e->kind == EXPR_LOAD)
		return !blocks_in_scratch(b, e, d, &o) && !expr_looked_up(e, d->lane);
	q->bounds = e->kind == EXPR_CAST && e->arg[0]->type == DTYPE_F32 ? rounding_bounds(&b->printer, e, 0, &q->of)
	                                                                 : NULL;
	if (!q->bounds)
		return false;
	const struct expr *of = q->of;
	if (of->kind == EXPR_SCALAR && (of->opcode == SCALAR_mul || of->opcode == SCALAR_div)) {
		q->divides = of->opcode == SCALAR_div;
		q->by = of->arg[1];
		q->of = of->arg[0];
	}
	return true;
}

bool blocks_quantised(struct blocks *b, const struct expr *e, const struct dims *d, const struct operand *to,
        bool bytes, struct operand *out)
{
	struct rounded_bytes q;
	if (!find_quantised(b, e, d, &q))
		return false;
	if (!q.bounds && blocks_bends(schedule_address(b->arena, q.of->of, q.of->at), d))
		return false;
	const char *kind = q.floats ? "_f32" : bytes ? lane_type_of(q.type).memory : "_i32";
	if (!q.bounds) {
		struct operand from = blocks_buffer(b, q.of, d);
		*out = to ? *to : blocks_temporary(b, DTYPE_F32, d);
		blocks_call(b, arena_printf(b->arena, "m_floats%s", lane_type_of(q.type).memory), "floats",
		        arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64 ", %s, %s", blocks_pointer(b, *out),
		                blocks_pointer(b, from), from.lane, q.less, d->rows, d->n));
		return true;
	}
	const struct expr *x = q.of, *one = expr_number(b->arena, DTYPE_F32, 1);
	bool integers = !q.divides && x->kind == EXPR_CAST && !x->cast && x->arg[0]->type == DTYPE_I32;
	struct operand of = blocks_vector(b, integers ? x->arg[0] : x, d),
	               by = blocks_value(b, q.by ? q.by : one, d, true);
	*out = to ? *to : blocks_temporary(b, q.floats ? DTYPE_F32 : DTYPE_I32, d);
	blocks_call(b, arena_printf(b->arena, "m_quantise_%s%s", integers ? "i32" : "f32", kind), "quantise",
	        arena_printf(b->arena, "%s, %s, %s, %" PRId64 ", %d, %s, %s%s, %" PRId64, blocks_pointer(b, *out),
	                blocks_pointer(b, of), blocks_pointer(b, by), by.lane, q.divides, d->rows, d->n, q.bounds,
	                q.less));
	return true;
}
