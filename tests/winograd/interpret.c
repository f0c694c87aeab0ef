/* interpret.c: the bits of a convolution, rewritten by Winograd, from the interpreter:
 *
 *     winograd_interpret M BATCH HEIGHT WIDTH CI CO TOP LEFT BOTTOM RIGHT SPECIAL
 *
 * Data, epilogue and hash are those of winograd_test.c; prints "bits HASH". */
#include "definitions/definitions.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double uniform(void)
{
	static uint64_t s = 1;
	return (double)((s = s * 6364136223846793005u + 1442695040888963407u) >> 11) * 0x1p-53;
}

static float *floats(struct arena *arena, int64_t count) { return arena_array(arena, (size_t)count, sizeof(float)); }

static struct definition *define_conv(struct program *p, struct definition *x, struct definition *w,
        struct definition *bias, const int64_t *out, const int64_t *pads)
{
	struct arena *arena = p->arena;
	int64_t reduced[] = { 3, 3, x->extents[1] };
	const struct index *n = index_var(arena, 0, out[0]), *o = index_var(arena, 1, out[1]),
	                   *c = index_var(arena, 6, reduced[2]);
	const struct index *kh = index_var(arena, 4, 3), *kw = index_var(arena, 5, 3);
	const struct index *i = index_plus(arena, index_add(arena, index_var(arena, 2, out[2]), kh), -pads[0]);
	const struct index *j = index_plus(arena, index_add(arena, index_var(arena, 3, out[3]), kw), -pads[1]);
	const struct index *x_at[] = { n, c, i, j }, *w_at[] = { o, c, kh, kw };
	struct range *ranges = arena_new_array(arena, struct range, 2);
	ranges[0] = (struct range){ i, 0, x->extents[2] };
	ranges[1] = (struct range){ j, 0, x->extents[3] };
	const struct expr *data =
	        expr_select(arena, ranges, 2, expr_load(arena, x, x_at), expr_number(arena, DTYPE_F32, 0));
	return define_reduction(p, "conv", 4, out, REDUCE_SUM, 3, reduced, expr_load(arena, bias, &o),
	        expr_scalar(arena, SCALAR_mul, data, expr_load(arena, w, w_at), NULL));
}

static int run(struct build *build, char **arguments)
{
	int64_t v[11];
	for (int i = 0; i < 11; i++)
		v[i] = atoll(arguments[i]);
	int64_t batch = v[1], height = v[2], width = v[3], ci = v[4], co = v[5],
	        out[] = { batch, co, height + v[6] + v[8] - 2, width + v[7] + v[9] - 2 };
	int64_t x_extents[] = { batch, ci, height, width }, w_extents[] = { co, ci, 3, 3 }, pixels = out[2] * out[3],
	        elements = batch * co * pixels;
	struct arena *arena = build->arena;
	float *w = floats(arena, co * ci * 9), *x = floats(arena, batch * ci * height * width),
	      *bias = floats(arena, co), *skip = floats(arena, elements);
	float *y = floats(arena, elements), *judge = floats(arena, elements);
	double scale = sqrt(24. / (double)(9 * ci));
	for (int64_t i = 0; i < co * ci * 9; i++)
		w[i] = (float)((uniform() - 0.5) * scale);
	for (int64_t i = 0; i < batch * ci * height * width; i++) /* NHWC there, NCHW here */
		x[(i / (ci * height * width) * ci + i % ci) * height * width + i / ci % (height * width)] =
		        (float)fmax(2 * uniform() - 1, 0);
	for (int64_t i = 0; i < co; i++)
		bias[i] = (float)(uniform() - 0.5);
	for (int64_t i = 0; i < elements; i++)
		skip[(i / (co * pixels) * co + i % co) * pixels + i / co % pixels] = (float)(uniform() - 0.5);

	for (int64_t i = 0; v[10] && i < batch * ci * height * width; i += 37) {
		static const uint32_t bits[] = { 0x7fc00000u, 0x80000000u, 0x7f800000u, 0x00000001u, 0xff800000u,
			0x80012345u, 0x7f7fffffu };
		memcpy(x + (i / (ci * height * width) * ci + i % ci) * height * width + i / ci % (height * width),
		        bits + i % 7, 4);
	}
	for (int64_t i = 0; v[10] && i < co; i += 2)
		bias[i] = -0.f;
	struct program *p = program_new(build, "test");
	struct definition *in = define_input(p, "x", DTYPE_F32, 4, x_extents),
	                  *residual = define_input(p, "skip", DTYPE_F32, 4, out);
	struct definition *filters = define_constant(p, "w", DTYPE_F32, 4, w_extents, w),
	                  *biases = define_constant(p, "bias", DTYPE_F32, 1, &co, bias);
	struct definition *conv = define_conv(p, in, filters, biases, out, v + 6);
	const struct index *at[4];
	for (int d = 0; d < 4; d++)
		at[d] = index_var(arena, d, out[d]);
	struct definition *result = define_map(p, "y", 4, out,
	        expr_scalar(arena, SCALAR_relu,
	                expr_scalar(
	                        arena, SCALAR_add, expr_load(arena, conv, at), expr_load(arena, residual, at), NULL),
	                NULL, NULL));
	result->port.is_output = true;
	push(arena, &p->outputs, result);
	push(arena, &p->output_names, "y");
	program_check(p);
	const void *inputs[] = { x, skip };
	void *outputs[] = { judge };
	interpret(p, MATH_DOUBLE, inputs, outputs);
	if (!rewrite_winograd(p, conv, (int)v[0])) {
		puts("not rewritten");
		return 1;
	}
	program_check(p);
	outputs[0] = y;
	interpret(p, MATH_STRICT, inputs, outputs);
	uint32_t hash = 2166136261u, bits;
	double worst = 0;
	for (int64_t i = 0; i < elements; i++) {
		int64_t from = (i / (co * pixels) * co + i % co) * pixels + i / co % pixels;
		memcpy(&bits, y + from, 4);
		hash = (hash ^ (y[from] == y[from] ? bits : 0x7fc00000u)) * 16777619u;
		worst = fmax(worst, fabs((double)y[from] - (double)judge[from]));
	}
	outputs[0] = y; /* in double the original is computed, also after the rewrite */
	interpret(p, MATH_DOUBLE, inputs, outputs);
	printf("bits %08x worst %.1e\n", (unsigned)hash, worst);
	return v[10] || (worst < 1e-4 && !memcmp(y, judge, (size_t)elements * 4)) ? 0 : 1;
}

int main(int count, char **arguments)
{
	struct build build;
	volatile int result = 1;
	if (count != 12)
		return 2;
	build_init(&build);
	if (BUILD_TRY(&build))
		result = run(&build, arguments + 1);
	else
		printf("%s\n", build.message);
	build_release(&build);
	return result;
}
