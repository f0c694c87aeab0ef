/* layers.c: ingot check --math bf16, f16, tf32: how far each layer comes to lie from the strict one, by the interpreter. */
#include "cli/data.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct layer {
	const char *name;
	double error; /* the largest difference, of the largest value; NaN: a value that is none in the strict one, or is
	                 none there alone */
};

/* A sum of products, or what runs round after round. */
static bool is_layer(const struct definition *d)
{
	return d->type == DTYPE_F32 && (d->products || (d->reduce == REDUCE_REPEAT && definition_elements(d)));
}

/* The layers' values, in the order in which they are. */
static const float **computed(struct program *program, const struct layer *layers, size_t count, const void **inputs)
{
	size_t outputs = program->outputs.count;
	for (size_t l = 0; l < count; l++)
		for (size_t i = 0; i < program->all.count; i++)
			if (!strcmp(program->all.at[i]->name, layers[l].name))
				push(program->arena, &program->outputs, program->all.at[i]);
	assert(program->outputs.count == outputs + count);
	void **made = arena_new_array(program->arena, void *, program->outputs.count + 1);
	for (size_t i = 0; i < program->outputs.count; i++) {
		const struct definition *d = program->outputs.at[i];
		made[i] = arena_alloc(program->arena, dtype_bytes(d->type, (size_t)definition_elements(d)) + 64);
	}
	interpret(program, MATH_STRICT, inputs, made);
	program->outputs.count = outputs;
	return (const float **)(made + outputs);
}

static double error_of(const float *got, const float *right, int64_t count)
{
	double worst = 0, most = 0;
	for (int64_t i = 0; i < count; i++) {
		if (got[i] == right[i] || (isnan(got[i]) && isnan(right[i])))
			continue;
		double apart = fabs((double)got[i] - (double)right[i]);
		worst = apart > worst || !isfinite(apart) ? apart : worst;
		if (!isfinite(worst))
			return NAN;
	}
	for (int64_t i = 0; i < count; i++)
		most = isfinite(right[i]) && fabs((double)right[i]) > most ? fabs((double)right[i]) : most;
	return worst == 0 ? 0 : worst / most;
}

/* The worst first. */
static int by_error(const void *a, const void *b)
{
	double x = ((const struct layer *)a)->error, y = ((const struct layer *)b)->error;
	return isnan(x) || isnan(y) ? isnan(y) - isnan(x) : (x < y) - (x > y);
}

json_t *layers_compare(struct build *build, struct program *rounded, struct program *strict, const void **inputs)
{
	VECTOR(struct layer) layers = { 0 };
	for (size_t i = 0; i < strict->all.count; i++)
		if (is_layer(strict->all.at[i]))
			push(build->arena, &layers, (struct layer){ strict->all.at[i]->name, 0 });
	size_t outputs = strict->outputs.count;
	const float **right = computed(strict, layers.at, layers.count, inputs),
	            **got = computed(rounded, layers.at, layers.count, inputs);
	for (size_t l = 0; l < layers.count; l++) {
		int64_t count = definition_elements(strict->outputs.at[outputs + l]);
		layers.at[l].error = error_of(got[l], right[l], count);
	}
	if (layers.count)
		qsort(layers.at, layers.count, sizeof *layers.at, by_error);
	json_t *list = json_array();
	for (size_t l = 0; l < layers.count; l++) {
		double error = layers.at[l].error;
		json_array_append_new(list,
		        json_pack("{s:s,s:o}", "layer", layers.at[l].name, "error",
		                isnan(error) ? json_null() : json_real(error)));
	}
	return list;
}
