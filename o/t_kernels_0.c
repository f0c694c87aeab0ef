/* t_kernels_0.c: kernels of grid_sample.onnxtxt, cast by ingot 0.1.0 (--cpu armv8-a --threads 1 --optimise speed --algorithms fast). */
#ifndef __clang__
#define NOINLINE __attribute__((noinline, noclone))
#else
#define NOINLINE __attribute__((noinline))
#endif
#if !(defined(__aarch64__))
#error "these kernels are for armv8-a: compile them with -march=armv8-a"
#endif
#include <float.h>
#if DBL_MANT_DIG != 53
#error "these kernels need a double of 64 bits, and this compiler's has others"
#endif
#include <arm_neon.h>
#include <stdint.h>
#define LANES 4
#define VEC_SCALES 0                                           /* 1: scaling by a power of two is one step */
typedef float32x4_t vec;
typedef uint32x4_t mask;
typedef uint32x4_t ivec;
#define WORD static inline __attribute__((always_inline))
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#if defined(__cplusplus) && !defined(restrict)
#define restrict __restrict
#endif
WORD vec vec_set(float x) { return vdupq_n_f32(x); }
WORD float vec_lane0(vec v) { return vgetq_lane_f32(v, 0); }
WORD void ivec_store(int *p, ivec v) { vst1q_s32(p, vreinterpretq_s32_u32(v)); }
WORD ivec vec_bits(vec a) { return vreinterpretq_u32_f32(a); }
WORD vec vec_from_bits(ivec a) { return vreinterpretq_f32_u32(a); }
WORD vec vec_load_n(const float *p, long n, float fill)
{
	float s[4];
	for (long i = 0; i < 4; i++)
		s[i] = i < n ? p[i] : fill;
	return vld1q_f32(s);
}
WORD void vec_store_n(float *p, vec v, long n)
{
	float s[4];
	vst1q_f32(s, v);
	for (long i = 0; i < 4 && i < n; i++)
		p[i] = s[i];
}
WORD vec vec_odd(const float *p) { return vuzp2q_f32(vld1q_f32(p), vld1q_f32(p + 4)); }         /* p[1], p[3], … */
WORD vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
WORD vec vec_max(vec a, vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
WORD vec vec_min(vec a, vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
WORD mask vec_less(vec a, vec b) { return vcltq_f32(a, b); }
WORD mask vec_equal(vec a, vec b) { return vceqq_f32(a, b); }
WORD vec vec_select(mask m, vec a, vec b) { return vbslq_f32(m, a, b); }
WORD vec vec_or(vec a, vec b) { return vec_from_bits(vec_bits(a) | vec_bits(b)); }
WORD vec vec_abs(vec a) { return vec_from_bits(vec_bits(a) & 0x7fffffffu); }
WORD vec vec_sign(vec a) { return vec_from_bits(vec_bits(a) & 0x80000000u); }
WORD vec k_zero(vec a) { (void)a; return vec_set(0.f); }
WORD vec k_one(vec a) { (void)a; return vec_set(1.f); }
WORD vec k_abs(vec a) { return vec_abs(a); }
WORD vec k_max(vec a, vec b) { return vec_max(a, b); }
WORD vec k_min(vec a, vec b) { return vec_min(a, b); }
WORD mask k_less(vec a, vec b) { return vec_less(a, b); }
WORD vec k_select(mask m, vec a, vec b) { return vec_select(m, a, b); }
/* To the nearest integer, ties to even.  From 2^23 on every float is one. */
WORD vec k_round(vec a)
{
	vec t = vec_abs(a), magic = vec_set(8388608.f);
	return vec_or(vec_select(vec_less(t, magic), (t + magic) - magic, t), vec_sign(a));
}
WORD vec k_floor(vec a)
{
	vec r = k_round(a);
	return vec_or(vec_select(vec_less(a, r), r - vec_set(1.f), r), vec_sign(a));
}
WORD float s_round(float a) { return vec_lane0(k_round(vec_set(a))); }
WORD float s_floor(float a) { return vec_lane0(k_floor(vec_set(a))); }
WORD float s_zero(float a) { return vec_lane0(k_zero(vec_set(a))); }
WORD float s_fma(float a, float b, float c) { return vec_lane0(vec_fma(vec_set(a), vec_set(b), vec_set(c))); }
WORD float s_max(float a, float b) { return a > b ? a : b; }
WORD int s_equal(float a, float b) { return a == b; }
WORD float s_select(int m, float a, float b) { return m ? a : b; }
WORD long long i_max(long long a, long long b) { return a > b ? a : b; }
WORD long long i_min(long long a, long long b) { return a < b ? a : b; }
WORD long long i_clamp(long long a, long long low, long long high) { return a < low ? low : a > high ? high : a; }
WORD long long i_of_float(double a, double low, double high, long long least, long long most)
{
	return a != a ? 0 : a <= low ? least : a >= high ? most : (long long)a;
}
WORD ivec ivec_cut(vec v) { return (ivec)vcvtq_s32_f32(v); }
/* Cut, kept to the bounds, which floats have; NaN becomes 0. */
WORD ivec ivec_of_vec(vec v, float least, float most)
{
	v = vec_select(vec_equal(v, v), v, vec_set(0.f));
	return ivec_cut(vec_min(vec_max(v, vec_set(least)), vec_set(most)));
}

#ifdef __cplusplus
extern "C" {
#endif
void t_k0_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k1_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k2_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k3_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k4_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k5_rows(const float *x0, const float *x1, const float *x2, const float *x3, const int *x4, const float *x5, const float *x6, float *y, long from, long to);
void t_k6_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k7_rows(const float *x0, const float *w1, const float *x2, const int *x3, float *y, long from, long to);
/* k0_map: a_weights_2.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= a_steps_2 float[2]
 * y => a_weights_2 float[1,2,1,4]
 */
void t_k0_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			{
				const long j = 0;
				const vec v0 = ((vec_set(x0[2 * l + 1]) + vec_set(1.f)) * vec_set(2.f) - vec_set(1.f)) * vec_set(0.5f);
				vec_store_n(y + 2 * l + j, vec_set(1.f) - k_abs(v0 - (k_floor(v0) + vec_load_n(w1 + j, 2, 0.f))), 2);
			}
		}
	}
}

/* k1_map: a_outside_2.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= a_steps_2 float[2]
 * y => a_outside_2 float[1,2,1,4]
 */
void t_k1_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			{
				const long j = 0;
				const vec v0 = k_floor(((vec_set(x0[2 * l + 1]) + vec_set(1.f)) * vec_set(2.f) - vec_set(1.f)) * vec_set(0.5f)) + vec_load_n(w1 + j, 2, 0.f);
				vec_store_n(y + 2 * l + j, k_select(k_less(v0, vec_set(0.f)), k_one(v0), k_zero(v0)) + k_select(k_less(vec_set(1.f), v0), k_one(vec_set(1.f)), k_zero(vec_set(1.f))), 2);
			}
		}
	}
}

/* k2_map: a_places_2.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= a_steps_2 float[2]
 * y => a_places_2 int32[1,2,1,4]
 */
void t_k2_map(const float *restrict x0, const float *restrict w1, int *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long j = 0; j < 2; j++) {
			for (long l = 0; l < 4; l += 4) {
				ivec_store(y + 4 * j + l, ivec_of_vec(k_floor(((vec_odd(x0 + 2 * l) + vec_set(1.f)) * vec_set(2.f) - vec_set(1.f)) * vec_set(0.5f)) + vec_set(w1[j]), 0.f, 1.f));
			}
		}
	}
}

/* k3_map: a_weights_3.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= a_steps_3 float[2]
 * y => a_weights_3 float[1,2,1,4]
 */
void t_k3_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			{
				const long j = 0;
				const vec v0 = ((vec_set(x0[2 * l]) + vec_set(1.f)) * vec_set(3.f) - vec_set(1.f)) * vec_set(0.5f);
				vec_store_n(y + 2 * l + j, vec_set(1.f) - k_abs(v0 - (k_min(k_max(k_floor(v0), vec_set(0.f)), vec_set(1.f)) + vec_load_n(w1 + j, 2, 0.f))), 2);
			}
		}
	}
}

/* k4_map: a_outside_3.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= a_steps_3 float[2]
 * y => a_outside_3 float[1,2,1,4]
 */
void t_k4_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			{
				const long j = 0;
				const vec v0 = k_floor(((vec_set(x0[2 * l]) + vec_set(1.f)) * vec_set(3.f) - vec_set(1.f)) * vec_set(0.5f));
				const vec v1 = k_min(k_max(v0, vec_set(0.f)), vec_set(1.f)) + vec_load_n(w1 + j, 2, 0.f);
				const vec v2 = v0 + vec_set(1.f);
				vec_store_n(y + 2 * l + j, k_select(k_less(v1, v0), k_one(v1), k_zero(v1)) + k_select(k_less(v2, v1), k_one(v2), k_zero(v2)), 2);
			}
		}
	}
}

/* k5_rows: a_places_3 a.  c/loops.jinja, tile 4 l; blocks: all
 * x0 <= g float[1,1,4,2]
 * x1 <= a_outside_2 float[1,2,1,4]
 * x2 <= a_outside_3 float[1,2,1,4]
 * x3 <= x float[1,1,2,3]
 * x4 <= a_places_2 int32[1,2,1,4]
 * x5 <= a_weights_2 float[1,2,1,4]
 * x6 <= a_weights_3 float[1,2,1,4]
 * y => a float[1,1,1,4]
 */
void t_k5_rows(const float *restrict x0, const float *restrict x1, const float *restrict x2, const float *restrict x3, const int *restrict x4, const float *restrict x5, const float *restrict x6, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		{
			const int one = (int)((int)i_min(i_max(i_of_float(s_floor(((x0[0] + 1.f) * 3.f - 1.f) * 0.5f), -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 1ll));
			const int one1 = (int)((int)i_min(i_max(i_of_float(s_floor(((x0[2] + 1.f) * 3.f - 1.f) * 0.5f), -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 1ll));
			const int one2 = (int)((int)i_min(i_max(i_of_float(s_floor(((x0[4] + 1.f) * 3.f - 1.f) * 0.5f), -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 1ll));
			const int one3 = (int)((int)i_min(i_max(i_of_float(s_floor(((x0[6] + 1.f) * 3.f - 1.f) * 0.5f), -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 1ll));
			float sum = 0.f;
			float sum1 = 0.f;
			float sum2 = 0.f;
			float sum3 = 0.f;
			const float v0 = x1[0];
			const float v1 = x2[0];
			const float v2 = x5[0];
			const float v3 = x6[0];
			sum = s_fma(s_select(s_equal(s_max(v0, v1), s_zero(s_max(v0, v1))), x3[(long)i_clamp((long long)one, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[0], 0ll, 1ll)], 0.f), v2 * v3, sum);
			const float v4 = x1[2];
			const float v5 = x2[2];
			const float v6 = x5[2];
			const float v7 = x6[2];
			sum1 = s_fma(s_select(s_equal(s_max(v4, v5), s_zero(s_max(v4, v5))), x3[(long)i_clamp((long long)one1, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[1], 0ll, 1ll)], 0.f), v6 * v7, sum1);
			const float v8 = x1[4];
			const float v9 = x2[4];
			const float v10 = x5[4];
			const float v11 = x6[4];
			sum2 = s_fma(s_select(s_equal(s_max(v8, v9), s_zero(s_max(v8, v9))), x3[(long)i_clamp((long long)one2, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[2], 0ll, 1ll)], 0.f), v10 * v11, sum2);
			const float v12 = x1[6];
			const float v13 = x2[6];
			const float v14 = x5[6];
			const float v15 = x6[6];
			sum3 = s_fma(s_select(s_equal(s_max(v12, v13), s_zero(s_max(v12, v13))), x3[(long)i_clamp((long long)one3, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[3], 0ll, 1ll)], 0.f), v14 * v15, sum3);
			const float v16 = x2[1];
			const float v17 = x6[1];
			sum = s_fma(s_select(s_equal(s_max(v0, v16), s_zero(s_max(v0, v16))), x3[(long)i_clamp((long long)one, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[0], 0ll, 1ll) + 1], 0.f), v2 * v17, sum);
			const float v18 = x2[3];
			const float v19 = x6[3];
			sum1 = s_fma(s_select(s_equal(s_max(v4, v18), s_zero(s_max(v4, v18))), x3[(long)i_clamp((long long)one1, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[1], 0ll, 1ll) + 1], 0.f), v6 * v19, sum1);
			const float v20 = x2[5];
			const float v21 = x6[5];
			sum2 = s_fma(s_select(s_equal(s_max(v8, v20), s_zero(s_max(v8, v20))), x3[(long)i_clamp((long long)one2, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[2], 0ll, 1ll) + 1], 0.f), v10 * v21, sum2);
			const float v22 = x2[7];
			const float v23 = x6[7];
			sum3 = s_fma(s_select(s_equal(s_max(v12, v22), s_zero(s_max(v12, v22))), x3[(long)i_clamp((long long)one3, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[3], 0ll, 1ll) + 1], 0.f), v14 * v23, sum3);
			const float v24 = x1[1];
			const float v25 = x5[1];
			sum = s_fma(s_select(s_equal(s_max(v24, v1), s_zero(s_max(v24, v1))), x3[(long)i_clamp((long long)one, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[4], 0ll, 1ll)], 0.f), v25 * v3, sum);
			const float v26 = x1[3];
			const float v27 = x5[3];
			sum1 = s_fma(s_select(s_equal(s_max(v26, v5), s_zero(s_max(v26, v5))), x3[(long)i_clamp((long long)one1, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[5], 0ll, 1ll)], 0.f), v27 * v7, sum1);
			const float v28 = x1[5];
			const float v29 = x5[5];
			sum2 = s_fma(s_select(s_equal(s_max(v28, v9), s_zero(s_max(v28, v9))), x3[(long)i_clamp((long long)one2, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[6], 0ll, 1ll)], 0.f), v29 * v11, sum2);
			const float v30 = x1[7];
			const float v31 = x5[7];
			sum3 = s_fma(s_select(s_equal(s_max(v30, v13), s_zero(s_max(v30, v13))), x3[(long)i_clamp((long long)one3, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[7], 0ll, 1ll)], 0.f), v31 * v15, sum3);
			sum = s_fma(s_select(s_equal(s_max(v24, v16), s_zero(s_max(v24, v16))), x3[(long)i_clamp((long long)one, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[4], 0ll, 1ll) + 1], 0.f), v25 * v17, sum);
			sum1 = s_fma(s_select(s_equal(s_max(v26, v18), s_zero(s_max(v26, v18))), x3[(long)i_clamp((long long)one1, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[5], 0ll, 1ll) + 1], 0.f), v27 * v19, sum1);
			sum2 = s_fma(s_select(s_equal(s_max(v28, v20), s_zero(s_max(v28, v20))), x3[(long)i_clamp((long long)one2, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[6], 0ll, 1ll) + 1], 0.f), v29 * v21, sum2);
			sum3 = s_fma(s_select(s_equal(s_max(v30, v22), s_zero(s_max(v30, v22))), x3[(long)i_clamp((long long)one3, 0ll, 1ll) + 3 * (long)i_clamp((long long)x4[7], 0ll, 1ll) + 1], 0.f), v31 * v23, sum3);
			y[0] = sum;
			y[1] = sum1;
			y[2] = sum2;
			y[3] = sum3;
		}
	}
}

/* k6_map: b_places_2.  c/loops.jinja, tile 4 lanes; blocks: 4 elements
 * x0 <= g float[1,1,4,2]
 * w1 <= b_steps_2 float[1]
 * y => b_places_2 int32[1,1,1,4]
 */
void t_k6_map(const float *restrict x0, const float *restrict w1, int *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long i = 0; i < 4; i += 4) {
			ivec_store(y + i, ivec_of_vec(k_round((vec_odd(x0 + 2 * i) + vec_set(1.f)) * vec_set(0.5f) * vec_set(1.f)) + vec_set(w1[0]), 0.f, 1.f));
		}
	}
}

/* k7_rows: b_places_3 b.  c/loops.jinja, tile 4 l; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= b_steps_3 float[1]
 * x2 <= x float[1,1,2,3]
 * x3 <= b_places_2 int32[1,1,1,4]
 * y => b float[1,1,1,4]
 */
void t_k7_rows(const float *restrict x0, const float *restrict w1, const float *restrict x2, const int *restrict x3, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		{
			const float v0 = w1[0];
			const int one = (int)((int)i_min(i_max(i_of_float(s_round((x0[0] + 1.f) * 0.5f * 2.f) + v0, -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 2ll));
			const int one1 = (int)((int)i_min(i_max(i_of_float(s_round((x0[2] + 1.f) * 0.5f * 2.f) + v0, -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 2ll));
			const int one2 = (int)((int)i_min(i_max(i_of_float(s_round((x0[4] + 1.f) * 0.5f * 2.f) + v0, -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 2ll));
			const int one3 = (int)((int)i_min(i_max(i_of_float(s_round((x0[6] + 1.f) * 0.5f * 2.f) + v0, -0x1p+63, 0x1p+63, (-9223372036854775807ll - 1), 9223372036854775807ll), 0ll), 2ll));
			float sum = 0.f;
			float sum1 = 0.f;
			float sum2 = 0.f;
			float sum3 = 0.f;
			const float v1 = 1.f * 1.f;
			sum = s_fma(x2[(long)i_clamp((long long)one, 0ll, 2ll) + 3 * (long)i_clamp((long long)x3[0], 0ll, 1ll)], v1, sum);
			sum1 = s_fma(x2[(long)i_clamp((long long)one1, 0ll, 2ll) + 3 * (long)i_clamp((long long)x3[1], 0ll, 1ll)], v1, sum1);
			sum2 = s_fma(x2[(long)i_clamp((long long)one2, 0ll, 2ll) + 3 * (long)i_clamp((long long)x3[2], 0ll, 1ll)], v1, sum2);
			sum3 = s_fma(x2[(long)i_clamp((long long)one3, 0ll, 2ll) + 3 * (long)i_clamp((long long)x3[3], 0ll, 1ll)], v1, sum3);
			y[0] = sum;
			y[1] = sum1;
			y[2] = sum2;
			y[3] = sum3;
		}
	}
}


#ifdef __cplusplus
}
#endif
