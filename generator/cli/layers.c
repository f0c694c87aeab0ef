/* layers.c: ingot check --math bf16, f16, tf32, or --store-weights, and ingot report: how far each layer comes to lie from the strict one,
 * by the interpreter. */
#include "cli/data.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct layer {
	const char *name;
	enum dtype type;
	int64_t count;
	double error; /* the largest difference, of the largest value; NaN: a value that is none in the strict one, or is
	                 none there alone */
};

/* A sum of products, what runs round after round, what comes out, and what is quantised. */
static bool is_layer(const struct definition *d)
{
	if (d->source != SOURCE_COMPUTED || !definition_elements(d))
		return false;
	return d->type == DTYPE_F32 ? d->sum.products || d->port.is_output || d->reduce == REDUCE_REPEAT
	                            : d->type == DTYPE_I8 || d->type == DTYPE_U8;
}

/* The layers' values, in the order in which they are. */
static const void **computed(struct program *program, const struct layer *layers, size_t count, const void **inputs)
{
	size_t outputs = program->outputs.count;
	FOR (l, count)
		FOR_ALL (i, program->all)
			if (!strcmp(program->all.at[i]->name, layers[l].name))
				push(program->arena, &program->outputs, program->all.at[i]);
	assert(program->outputs.count == outputs + count);
	void **made = arena_new_array(program->arena, void *, program->outputs.count + 1);
	FOR_ALL (i, program->outputs) {
		const struct definition *d = program->outputs.at[i];
		made[i] = arena_alloc(program->arena, dtype_bytes(d->type, (size_t)definition_elements(d)) + 64);
	}
	interpret(program, MATH_STRICT, inputs, made);
	program->outputs.count = outputs;
	return (const void **)(made + outputs);
}

static double number_at(enum dtype type, const void *data, int64_t i)
{
	return type == DTYPE_F32   ? (double)((const float *)data)[i]
	        : type == DTYPE_I8 ? ((const signed char *)data)[i]
	                           : ((const unsigned char *)data)[i];
}

static double error_of(enum dtype type, const void *got, const void *right, int64_t count)
{
	double worst = 0, most = 0;
	FOR (i, count) {
		double x = number_at(type, got, i), y = number_at(type, right, i);
		if (x == y || (isnan(x) && isnan(y)))
			continue;
		double apart = fabs(x - y);
		worst = apart > worst || !isfinite(apart) ? apart : worst;
		if (!isfinite(worst))
			return NAN;
	}
	FOR (i, count) {
		double y = fabs(number_at(type, right, i));
		most = isfinite(y) && y > most ? y : most;
	}
	return worst == 0 ? 0 : worst / most;
}

/* The worst first. */
static int by_error(const void *a, const void *b)
{
	double x = ((const struct layer *)a)->error, y = ((const struct layer *)b)->error;
	return isnan(x) || isnan(y) ? isnan(y) - isnan(x) : (x < y) - (x > y);
}

/* What is of one type in both programs can be compared. */
static bool has_twin(const struct program *program, const struct definition *d)
{
	FOR_ALL (i, program->all)
		if (program->all.at[i]->source == SOURCE_COMPUTED && !strcmp(program->all.at[i]->name, d->name))
			return program->all.at[i]->type == d->type
			        && definition_elements(program->all.at[i]) == definition_elements(d);
	return false;
}

json_t *layers_compare(struct build *build, struct program *rounded, struct program *strict, const void **inputs)
{
	VECTOR(struct layer) layers = { 0 };
	FOR_ALL (i, strict->all)
		if (is_layer(strict->all.at[i]) && has_twin(rounded, strict->all.at[i]))
			push(build->arena, &layers,
			        (struct layer){ strict->all.at[i]->name, strict->all.at[i]->type,
			                definition_elements(strict->all.at[i]), 0 });
	const void **right = computed(strict, layers.at, layers.count, inputs),
	           **got = computed(rounded, layers.at, layers.count, inputs);
	FOR_ALL (l, layers) {
		layers.at[l].error = error_of(layers.at[l].type, got[l], right[l], layers.at[l].count);
	}
	if (layers.count)
		qsort(layers.at, layers.count, sizeof *layers.at, by_error);
	json_t *list = json_array();
	FOR_ALL (l, layers) {
		double error = layers.at[l].error;
		json_array_append_new(list,
		        json_pack("{s:s,s:o}", "layer", layers.at[l].name, "error",
		                isnan(error) ? json_null() : json_real(error)));
	}
	return list;
}
