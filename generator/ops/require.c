/* require.c: operands that come at run time, as values, indices and checks. */
#include <stdarg.h>
#include <stdio.h>
#include "ops/words.h"

expr_ref definer_element(struct definer *definer, int i, int64_t at)
{
	struct definition *operand = IN(i);
	index_ref own[MAX_RANK];
	UNFLATTEN(CONSTANT(at), operand->rank, operand->extents, own);
	expr_ref element = expr_fold(definer->program, LOAD(operand, own));
	return dtype_is_float(element->type) ? element : expr_fold(definer->program, CAST(DTYPE_I64, element));
}

int64_t definer_elements(struct definer *definer, int i)
{
	const struct definition *operand = IN(i);
	return operand ? definition_elements(operand) : 0;
}

bool definer_number(struct definer *definer, expr_ref expr, int64_t *number)
{
	expr = expr_fold(definer->program, expr);
	*number = expr->integer;
	return expr->kind == EXPR_NUMBER;
}

index_ref definer_index(struct definer *definer, expr_ref value, int64_t low, int64_t high)
{
	int64_t number;
	if (low >= high)
		return CONSTANT(low);
	if (definer_number(definer, value, &number))
		return CONSTANT(number < low ? low : number > high ? high : number);
	value = CAST(DTYPE_I64, value);
	value = MIN(MAX(value, I(low)), I(high));
	return VALUE(value, low, high);
}

const char *definer_shape_text(struct definer *definer, int rank, const int64_t *extents)
{
	const char *text = "[";
	FOR (d, rank)
		text = FORMAT("%s%s%" PRId64, text, d ? ", " : "", extents[d]);
	return FORMAT("%s]", text);
}

static void require(struct definer *definer, enum exit_code code, int rank, const int64_t *extents, expr_ref holds,
        const char *format, va_list args)
{
	char text[400];
	int64_t number;
	FOR (d, rank)
		if (extents[d] == 0)
			return;
	/* Who asks; what a text asks is asked by the user's node, which every message names. */
	int who = strcmp(NODE->domain, "ingot") ? snprintf(text, sizeof text, "%s: ", NODE->type) : 0;
	vsnprintf(text + who, sizeof text - (size_t)who, format, args);
	holds = CAST(DTYPE_BOOL, holds);
	bool known = definer_number(definer, holds, &number);
	expr_ref skipped = known && number ? NULL : definer_skipped(definer);
	if (skipped && !(definer_number(definer, skipped, &number) && !number)) {
		known = false;
		holds = expr2(definer, SCALAR_or, holds, skipped);
	}
	if (known) {
		if (!number)
			node_fail(NODE, code, "%s", text);
		return;
	}
	struct check *check = arena_new(definer->arena, struct check);
	*check = (struct check){ code, arena_copy(definer->arena, text, strlen(text)) };
	define_check(definer->program, NAMED("holds"), check, rank, extents, holds)->node = NODE;
}

void definer_require(struct definer *definer, enum exit_code code, int rank, const int64_t *extents, expr_ref holds,
        const char *format, ...)
{
	va_list args;
	va_start(args, format);
	require(definer, code, rank, extents, holds, format, args);
	va_end(args);
}

void definer_require_within(struct definer *definer, enum exit_code code, int rank, const int64_t *extents,
        expr_ref value, int64_t low, int64_t high, const char *format, ...)
{
	int64_t least, most;
	va_list args;
	expr_bounds(value, &least, &most);
	if (least >= low && most <= high)
		return;
	va_start(args, format);
	require(definer, code, rank, extents, I_BETWEEN(CAST(DTYPE_I64, value), low, high), format, args);
	va_end(args);
}

void definer_require_inside(struct definer *definer, int i, int64_t column, int64_t extent)
{
	struct definition *indices = IN(i);
	index_ref own[MAX_RANK];
	int rank = indices->rank - (column >= 0);
	VARS(own, rank, indices->extents);
	if (column >= 0)
		own[rank] = CONSTANT(column);
	definer_require_within(definer, EXIT_INVALID, rank, indices->extents, LOAD(indices, own), -extent, extent - 1,
	        "an index at run time is not in [%" PRId64 ", %" PRId64 "]", -extent, extent - 1);
}
