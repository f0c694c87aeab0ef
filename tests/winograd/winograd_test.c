/* winograd_test.c: a kernel printed from c/winograd.jinja, put after this file's declarations by winograd.py.
 * Compares with the direct convolution in double, and its error with that of the direct fp32 chain; prints a hash of
 * the bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/winograd.h"

static double uniform(void) /* [0, 1) */
{
	static uint64_t s = 1;
	return (double)((s = s * 6364136223846793005u + 1442695040888963407u) >> 11) * 0x1p-53;
}

int main(int count, char **arguments)
{
	const long in_size = (long)BATCH * HEIGHT * WIDTH * CI, out_size = (long)BATCH * OUT_HEIGHT * OUT_WIDTH * CO;
	float *x = malloc((size_t)in_size * 4), *w = malloc((size_t)CO * CI * 9 * 4), *bias = malloc((size_t)CO * 4);
	float *skip = malloc((size_t)out_size * 4), *y = malloc((size_t)(out_size + 64) * 4),
	      *z = malloc((size_t)(out_size + 64) * 4);
	float *u = malloc((size_t)winograd_weights_floats(M, CI, CO, LANES) * 4);
	double errors = 0, chain_errors = 0, worst = 0, scale = sqrt(24. / (9 * CI));
	uint32_t hash = 2166136261u;
	const long blocks = BATCH * GROUPS;
	int bad = 0;
	(void)count, (void)arguments;
	for (long i = 0; i < (long)CO * CI * 9; i++)
		w[i] = (float)((uniform() - 0.5) * scale);
	for (long i = 0; i < in_size; i++) /* half of it zero: what a relu leaves */
		x[i] = (float)fmax(2 * uniform() - 1, 0);
	for (long i = 0; i < CO; i++)
		bias[i] = (float)(uniform() - 0.5);
	for (long i = 0; i < out_size; i++)
		skip[i] = (float)(uniform() - 0.5);
	for (long i = 0; SPECIAL && i < in_size; i += 37) {
		static const uint32_t bits[] = { 0x7fc00000u, 0x80000000u, 0x7f800000u, 0x00000001u, 0xff800000u,
			0x80012345u, 0x7f7fffffu };
		memcpy(x + i, bits + i % 7, 4);
	}
	for (long i = 0; SPECIAL && i < CO; i += 2)
		bias[i] = -0.f;
	winograd_weights(M, CI, CO, w, LANES, PANELS, u);
	float *given = x;
	if (PLANES) { /* NCHW */
		given = malloc((size_t)in_size * 4);
		for (long i = 0; i < in_size; i++)
			given[(i / (CI * HEIGHT * WIDTH) * CI + i % CI) * HEIGHT * WIDTH + i / CI % (HEIGHT * WIDTH)] =
			        x[i];
	}
	memset(y, 255, (size_t)(out_size + 64) * 4);
	memset(z, 255, (size_t)(out_size + 64) * 4);
	KERNEL(given, u, bias, skip, y, 0, blocks);
	for (long b = blocks; b-- > 0;) /* blocks are independent, in any order */
		KERNEL(given, u, bias, skip, z, b, b + 1);
	if (memcmp(y, z, (size_t)(out_size + 64) * 4)) {
		puts("blocks on their own give other bits");
		bad = 1;
	}
	for (long i = out_size; i < out_size + 64; i++) {
		uint32_t bits;
		memcpy(&bits, y + i, 4);
		bad |= bits != 0xffffffffu;
	}
	for (long i = 0; i < out_size; i++) {
		const long co = i % CO, ox = i / CO % OUT_WIDTH, oy = i / CO / OUT_WIDTH % OUT_HEIGHT,
		           n = i / CO / OUT_WIDTH / OUT_HEIGHT;
		double want = (double)bias[co], e;
		float chain = bias[co];
		uint32_t bits;
		for (long k = 0; k < 9 * CI; k++) {
			const long iy = oy + k / CI / 3 - PAD_TOP, ix = ox + k / CI % 3 - PAD_LEFT, ci = k % CI;
			const float a = iy < 0 || ix < 0 || iy >= HEIGHT || ix >= WIDTH
			        ? 0
			        : x[((n * HEIGHT + iy) * WIDTH + ix) * CI + ci];
			const float b = w[(co * CI + ci) * 9 + k / CI];
			want += (double)a * (double)b;
			chain = fmaf(a, b, chain);
		}
		want = fmax(want + (double)skip[i], 0);
		e = fabs((double)y[i] - want);
		worst = fmax(worst, e), errors += e * e;
		e = fmax((double)(chain + skip[i]), 0) - want;
		chain_errors += e * e;
		memcpy(&bits, y + i, 4);
		hash = (hash ^ (y[i] == y[i] ? bits : 0x7fc00000u)) * 16777619u;
		bad |= !SPECIAL && !(y[i] == y[i]);
	}
	errors = sqrt(errors / (double)out_size), chain_errors = sqrt(chain_errors / (double)out_size);
	printf("bits %08x worst %.1e rms %.2e = %.2f of the direct chain's\n", (unsigned)hash, worst, errors,
	        errors / chain_errors);
	bad |= !SPECIAL && !(worst < 1e-4);
	/* What the choice of the algorithm relies on.  With few channels the direct chain rounds so seldom that F(4x4)
	 * is past twice its error. */
	if (out_size > 500 && !SPECIAL)
		bad |= !(errors < chain_errors * (M == 2 ? 1 : CI >= 32 && OUT_HEIGHT >= 8 ? 2 : 3.2));
	return bad;
}
