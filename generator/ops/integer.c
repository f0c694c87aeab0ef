/* integer.c: words for what operands at run time say: integers of 64 bits, yes being 1 and no 0.  Each is a number
 * where what it is made of is, so that constant operands fold on the way. */
#include "ops/words.h"
#include <stdarg.h>
#include <stdio.h>

expr_ref integer(struct definer *definer, int64_t number) { return WHOLE(DTYPE_I64, number); }

expr_ref integer_of(struct definer *definer, enum scalar opcode, expr_ref a, expr_ref b)
{
	expr_ref expr = expr2(definer, opcode, a, b);
	bool plain = a->kind == EXPR_NUMBER && a->integer == (opcode == SCALAR_and);
	if (plain
	        && (opcode == SCALAR_and || opcode == SCALAR_add
	                || opcode == SCALAR_or)) /* 1 and b, 0 + b, 0 or b: what begins a chain of them */
		return b;
	return a->kind == EXPR_NUMBER && b->kind == EXPR_NUMBER ? expr_fold(definer->program, expr) : expr;
}

expr_ref integer_where(struct definer *definer, expr_ref which, expr_ref yes, expr_ref no)
{
	return which->kind != EXPR_NUMBER ? WHERE(which, yes, no) : which->integer ? yes : no;
}

expr_ref integer_is(struct definer *definer, expr_ref a, int64_t number) { return I_EQUAL(a, I(number)); }

expr_ref integer_between(struct definer *definer, expr_ref a, int64_t low, int64_t high)
{
	uint64_t reach = (uint64_t)high - (uint64_t)low;
	if (a->kind != EXPR_NUMBER && low < high
	        && reach < INT64_MAX) { /* the distance from `low`, which wraps around, is one comparison */
		expr_ref far = CAST(DTYPE_U64, SUB(a, I(low)));
		return CAST(DTYPE_I64, LESS(far, WHOLE(DTYPE_U64, (int64_t)reach + 1)));
	}
	return I_AND(integer_of(definer, SCALAR_greater_equal, a, I(low)),
	        integer_of(definer, SCALAR_less_equal, a, I(high)));
}

expr_ref integer_cut(struct definer *definer, expr_ref a, int64_t low, int64_t high)
{
	return I_MIN(I_MAX(a, I(low)), I(high));
}

expr_ref integer_kept(struct definer *definer, const char *part, expr_ref a)
{
	return a->kind == EXPR_NUMBER || a->kind == EXPR_LOAD ? a : LOAD(PART(part, 0, NULL, a), NULL);
}

/* ---- operands of an element for each of some axes ---- */
static expr_ref is_axis(struct definer *definer, const struct axes *axes, int64_t i, int d)
{
	if (axes->input < 0)
		return I(i == d);
	expr_ref axis = ELEMENT(axes->input, i);
	return I_OR(I_IS(axis, d), I_IS(axis, d - axes->rank));
}

expr_ref axes_say(struct definer *definer, const struct axes *axes, int d, int input, int64_t first, int64_t otherwise)
{
	expr_ref value = I(otherwise);
	FOR (i, axes->count)
		value = I_WHERE(is_axis(definer, axes, i, d), ELEMENT(input, first + i), value);
	return KEPT(FORMAT("told_%d", d), value);
}

expr_ref axes_right(struct definer *definer, const struct axes *axes)
{
	expr_ref right = I(1), all = I(0);
	FOR_WHILE (d, axes->input >= 0, axes->rank) {
		expr_ref count = I(0);
		FOR (i, axes->count)
			count = I_ADD(count, is_axis(definer, axes, i, d));
		count = KEPT(FORMAT("times_%d", d), count);
		right = I_AND(right, I_LESS(count, I(2)));
		all = I_ADD(all, count);
	}
	return axes->input < 0 ? right : I_AND(right, I_IS(all, axes->count));
}

struct definition *definer_choose(
        struct definer *definer, int count, const expr_ref *is, struct definition *const *each, const char *format, ...)
{
	const struct definition *first = each[0];
	expr_ref which = I(count), body = NULL;
	index_ref at[MAX_RANK];
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	for (int i = count - 1; i >= 0; i--)
		which = I_WHERE(is[i], I(i), which);
	which = KEPT("which", which);
	REQUIRE(I_BETWEEN(which, 0, count - 1), "%s", text);
	VARS(at, first->rank, first->extents);
	index_ref chosen = INDEX(which, 0, count - 1);
	for (int i = count - 1; i >= 0; i--) {
		expr_ref one = LOAD(each[i], at);
		body = body ? SELECT(&(struct range){ chosen, i, i + 1 }, 1, one, body) : one;
	}
	return count == 1 ? each[0] : PART("chosen", first->rank, first->extents, body);
}

/* ---- ingot.Asked: how a text asks that an operand be what it has made its nodes for ---- */
void infer_asked(struct node *node)
{
	infer_counts(node, 3, 3, 1);
	FOR_FROM (i, 1, 3)
		INVALID_IF(node->in[i]->type != DTYPE_NONE && dtypes[node->in[i]->type].class != CLASS_INT,
		        "input %d is %s, int64 or int32 is right", i, dtypes[node->in[i]->type].text);
	infer_output_like(node, 0, node->in[0]);
}

void define_asked(struct definer *definer)
{
	const struct node *node = NODE;
	expr_ref right = I(1);
	const char *what = attribute_string(node, "what"), *numbers = "";
	FOR (i, ELEMENTS(2)) {
		int64_t number;
		INVALID_IF(!definer_number(definer, ELEMENT(2, i), &number) || i >= ELEMENTS(1),
		        "what is asked for is no constant, or longer than the operand");
		right = I_AND(right, I_IS(ELEMENT(1, i), number));
		numbers = FORMAT("%s%s%lld", numbers, i ? ", " : "", (long long)number);
	}
	REQUIRE(right, "%s [%s], as declared, is right", what, numbers);
	GIVE(0, STORED(0));
}

/* ---- ingot.Branch: input 0, of the one branch of an If that can be; a check asks that the condition, input 1,
 * chooses it ---- */
void infer_branch(struct node *node)
{
	infer_counts(node, 2, 2, 1);
	infer_made(node);
	infer_output_like(node, 0, node->in[0]);
}

void define_branch(struct definer *definer)
{
	expr_ref is_not = I_IS(CAST(DTYPE_I64, BROADCAST(IN(1), 0, NULL)), 0);
	REQUIRE(attribute_int(NODE, "yes") ? I_IS(is_not, 0) : is_not, "%s", attribute_string(NODE, "why"));
	GIVE(0, STORED(0));
}
