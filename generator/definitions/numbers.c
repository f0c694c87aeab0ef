/* numbers.c: program -> the text that says what its bits depend on besides the model: NAME_NUMBERS of a library. */
#include "definitions/definitions.h"

/* Of the law: orders, algorithms, scalar functions.  One more whenever an element of any model gets other bits. */
enum { NUMBERS = 5 };

/* Does a double go through a function that the C library rounds as it likes? */
static enum visit calls_libm(void *user, const struct expr *expr)
{
	(void)user;
	return expr->kind == EXPR_SCALAR && expr->type == DTYPE_F64 && strcmp(scalars[expr->row].error, "0")
	                && strcmp(scalars[expr->row].error, "0.5")
	        ? VISIT_END
	        : VISIT_PARTS;
}

static bool program_calls_libm(const struct program *program)
{
	bool libm = false;
	for (size_t i = 0; i < program->all.count; i++) {
		const struct definition *d = program->all.at[i];
		libm |= expr_visit(d->body, calls_libm, NULL) || expr_visit(d->start, calls_libm, NULL)
		        || (d->repeat && program_calls_libm(d->repeat->body)); /* places are integers */
		for (int i = 0; i < CHOICES; i++)
			libm |= expr_visit(d->choice[i], calls_libm, NULL);
	}
	return libm;
}

const char *program_numbers(const struct program *program, const struct numerics *numerics)
{
	bool libm = program_calls_libm(program);
	return arena_printf(program->arena, "numbers=%d math=%s algorithms=%s%s%s%s", NUMBERS,
	        factors_words[numerics->factors], numerics->algorithms == ALGORITHMS_FAST ? "fast" : "direct",
	        numerics->quantised == QUANTISED_LITERAL ? " quantised=literal" : "",
	        numerics->denormals == DENORMALS_ZERO ? " denormals=zero" : "", libm ? " libm" : "");
}
