/* numbers.c: program -> the text that says what its bits depend on besides the model: NAME_NUMBERS of a library. */
#include "definitions/definitions.h"

/* Of the law: orders, algorithms, scalar functions.  One more whenever an element of any model gets other bits. */
enum { NUMBERS = 12 };

/* Does a double go through a function that the C library rounds as it likes? */
static enum visit calls_libm(void *user, const struct expr *expr)
{
	(void)user;
	return expr->kind == EXPR_SCALAR && expr->type == DTYPE_F64 && strcmp(scalars[expr->opcode].error, "0")
	                && strcmp(scalars[expr->opcode].error, "0.5")
	        ? VISIT_END
	        : VISIT_PARTS;
}

static bool program_calls_libm(const struct program *program)
{
	bool libm = false;
	FOR_ALL (i, program->all) {
		const struct definition *d = program->all.at[i];
		libm |= d->loop.repeat && program_calls_libm(d->loop.repeat->body);
		FOR_PARTS(part, d)
		libm |= expr_visit(*part, calls_libm, NULL);
	}
	return libm;
}

/* ---- the options ---- */
const char *const algorithms_words[] = { [ALGORITHMS_FAST] = "fast", [ALGORITHMS_DIRECT] = "direct", NULL };
const char *const quantised_words[] = { [QUANTISED_INTEGERS] = "integers", [QUANTISED_LITERAL] = "literal", NULL };
const char *const denormals_words[] = { [DENORMALS_KEPT] = "keep", [DENORMALS_ZERO] = "zero", NULL };
const char *const factors_words[] = {
	[FACTORS_FLOAT32] = "strict", [FACTORS_BF16] = "bf16", [FACTORS_F16] = "f16", [FACTORS_TF32] = "tf32", NULL
};
const char *const stored_words[] = { [STORED_FLOAT32] = "float32", [STORED_BF16] = "bf16", NULL };
const char *const weights_words[] = {
	[WEIGHTS_KEPT] = "keep", [WEIGHTS_F16] = "f16", [WEIGHTS_BF16] = "bf16", [WEIGHTS_INT8] = "int8", NULL
};

static const struct option {
	const char *name;
	const char *const *words;
	size_t offset; /* in struct numerics */
	bool told;     /* also where it is the default */
} options[] = {
	{ "math", factors_words, offsetof(struct numerics, factors), true },
	{ "algorithms", algorithms_words, offsetof(struct numerics, algorithms), true },
	{ "quantised", quantised_words, offsetof(struct numerics, quantised), false },
	{ "denormals", denormals_words, offsetof(struct numerics, denormals), false },
	{ "store", stored_words, offsetof(struct numerics, stored), false },
	{ "store-weights", weights_words, offsetof(struct numerics, weights), false },
};
_Static_assert(sizeof(enum factors) == sizeof(int) && sizeof(enum algorithms) == sizeof(int), "values are ints");

bool numerics_set(struct numerics *numerics, const char *name, const char *word)
{
	FOR (i, COUNT(options))
		for (int w = 0; !strcmp(options[i].name, name) && options[i].words[w]; w++)
			if (!strcmp(options[i].words[w], word)) {
				memcpy((char *)numerics + options[i].offset, &w, sizeof w);
				numerics->algorithms_given |= options[i].words == algorithms_words;
				return true;
			}
	return false;
}

const char *const *numerics_words(const char *name)
{
	FOR (i, COUNT(options))
		if (!strcmp(options[i].name, name))
			return options[i].words;
	return NULL;
}

void numerics_settle(struct numerics *numerics)
{
	if (numerics->factors != FACTORS_FLOAT32 && !numerics->algorithms_given)
		numerics->algorithms = ALGORITHMS_DIRECT;
}

bool numerics_round(const struct numerics *numerics)
{
	return numerics->factors != FACTORS_FLOAT32 || numerics->weights != WEIGHTS_KEPT;
}

struct numerics numerics_strict(struct numerics numerics)
{
	numerics.factors = FACTORS_FLOAT32;
	numerics.stored = STORED_FLOAT32;
	numerics.weights = WEIGHTS_KEPT;
	return numerics;
}

const char *numerics_at(const struct numerics *numerics, int i, const char **word, bool *is_default)
{
	int value;
	if (i >= (int)COUNT(options))
		return NULL;
	memcpy(&value, (const char *)numerics + options[i].offset, sizeof value);
	*word = options[i].words[value];
	*is_default = !value;
	return options[i].name;
}

const char *program_numbers(const struct program *program, const struct numerics *numerics)
{
	const char *text = arena_printf(program->arena, "numbers=%d", NUMBERS), *name, *word;
	bool is_default;
	for (int i = 0; (name = numerics_at(numerics, i, &word, &is_default)); i++)
		if (!is_default || options[i].told)
			text = arena_printf(program->arena, "%s %s=%s", text, name, word);
	return program_calls_libm(program) ? arena_printf(program->arena, "%s libm", text) : text;
}
