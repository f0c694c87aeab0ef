/* numbers.c: program -> the text that says what its bits depend on besides the model: NAME_NUMBERS of a library. */
#include "definitions/definitions.h"

/* Of the law: orders, algorithms, scalar functions.  One more whenever an element of any model gets other bits. */
enum { NUMBERS = 3 };

/* Does a double go through a function that the C library rounds as it likes? */
static bool calls_libm(const struct expr *expr)
{
	if (!expr)
		return false;
	if (expr->kind == EXPR_SCALAR && expr->type == DTYPE_F64 && strcmp(scalars[expr->row].error, "0")
	        && strcmp(scalars[expr->row].error, "0.5"))
		return true;
	return calls_libm(expr->arg[0]) || calls_libm(expr->arg[1]) || calls_libm(expr->arg[2]);
}

static bool program_calls_libm(const struct program *program)
{
	bool libm = false;
	for (size_t i = 0; i < program->all.count; i++) {
		const struct definition *d = program->all.at[i];
		libm |= calls_libm(d->body) || calls_libm(d->start)
		        || (d->repeat && program_calls_libm(d->repeat->body)); /* places are integers */
	}
	return libm;
}

const char *program_numbers(const struct program *program, enum algorithms algorithms)
{
	bool libm = program_calls_libm(program);
	return arena_printf(program->arena, "numbers=%d math=strict algorithms=%s%s", NUMBERS,
	        algorithms == ALGORITHMS_FAST ? "fast" : "direct", libm ? " libm" : "");
}
