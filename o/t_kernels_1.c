/* t_kernels_1.c: kernels of grid_sample.onnxtxt, cast by ingot 0.1.0 (--cpu armv8-a --threads 1 --optimise speed --algorithms fast). */
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
WORD ivec ivec_load(const int *p) { return vreinterpretq_u32_s32(vld1q_s32(p)); }
WORD void ivec_store(int *p, ivec v) { vst1q_s32(p, vreinterpretq_s32_u32(v)); }
WORD ivec ivec_clamp(ivec v, int low, int high)
{
	return vreinterpretq_u32_s32(vminq_s32(vmaxq_s32(vreinterpretq_s32_u32(v), vdupq_n_s32(low)), vdupq_n_s32(high)));
}
WORD ivec ivec_gather(const int *p, long stride)
{
	int s[LANES];
	for (long i = 0; i < LANES; i++)
		s[i] = p[i * stride];
	return ivec_load(s);
}
WORD void ivec_scatter(int *p, long stride, ivec v)
{
	int s[LANES];
	ivec_store(s, v);
	for (long i = 0; i < LANES; i++)
		p[i * stride] = s[i];
}
WORD ivec vec_bits(vec a) { return vreinterpretq_u32_f32(a); }
WORD vec vec_from_bits(ivec a) { return vreinterpretq_f32_u32(a); }
WORD vec vec_load(const float *p) { return vld1q_f32(p); }
WORD void vec_store(float *p, vec v) { vst1q_f32(p, v); }
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
WORD vec vec_even(const float *p) { return vuzp1q_f32(vld1q_f32(p), vld1q_f32(p + 4)); }        /* p[0], p[2], … */
WORD vec vec_odd(const float *p) { return vuzp2q_f32(vld1q_f32(p), vld1q_f32(p + 4)); }         /* p[1], p[3], … */
WORD vec vec_lane_gather(const float *p, ivec at)
{
	int where[4];
	float s[4];
	ivec_store(where, at);
	for (long i = 0; i < 4; i++)
		s[i] = p[where[i]];
	return vld1q_f32(s);
}
WORD vec vec_gather(const float *p, long stride)
{
	float s[4];
	for (long i = 0; i < 4; i++)
		s[i] = p[i * stride];
	return vld1q_f32(s);
}
WORD vec vec_fma(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
WORD mask vec_less(vec a, vec b) { return vcltq_f32(a, b); }
WORD mask vec_equal(vec a, vec b) { return vceqq_f32(a, b); }
WORD vec vec_select(mask m, vec a, vec b) { return vbslq_f32(m, a, b); }
WORD mask mask_or(mask a, mask b) { return vorrq_u32(a, b); }
WORD vec vec_or(vec a, vec b) { return vec_from_bits(vec_bits(a) | vec_bits(b)); }
WORD vec vec_abs(vec a) { return vec_from_bits(vec_bits(a) & 0x7fffffffu); }
WORD vec vec_sign(vec a) { return vec_from_bits(vec_bits(a) & 0x80000000u); }
WORD vec k_fma(vec a, vec b, vec c) { return vec_fma(a, b, c); }
WORD vec k_abs(vec a) { return vec_abs(a); }
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
WORD long long i_mod(long long a, long long b)
{
	if (b == 0 || b == -1)
		return 0;
	return a % b && (a % b < 0) != (b < 0) ? a % b + b : a % b;
}
WORD long long i_of_float(double a, double low, double high, long long least, long long most)
{
	return a != a ? 0 : a <= low ? least : a >= high ? most : (long long)a;
}
typedef long long lhalf __attribute__((vector_size(4 * LANES)));
typedef unsigned long long ulhalf __attribute__((vector_size(4 * LANES)));
typedef struct { lhalf low, high; } lvec;
WORD mask mask_of_halves(lhalf low, lhalf high)                 /* of 64 bits each, all or none of them set */
{
	return vcombine_u32(vmovn_u64((uint64x2_t)low), vmovn_u64((uint64x2_t)high));
}
WORD lvec lvec_of_mask_bits(mask m)                             /* the same the other way */
{
	lvec w;
	w.low = (lhalf)vmovl_s32((int32x2_t)vget_low_u32(m));
	w.high = (lhalf)vmovl_s32((int32x2_t)vget_high_u32(m));
	return w;
}
WORD ivec ivec_of_lvec(lvec v) { return vcombine_u32(vmovn_u64((uint64x2_t)v.low), vmovn_u64((uint64x2_t)v.high)); }
WORD lvec lvec_load(const long long *p)
{
	lvec v;
	__builtin_memcpy(&v.low, p, sizeof v.low);
	__builtin_memcpy(&v.high, p + LANES / 2, sizeof v.high);
	return v;
}
WORD void lvec_store(long long *p, lvec v)
{
	__builtin_memcpy(p, &v.low, sizeof v.low);
	__builtin_memcpy(p + LANES / 2, &v.high, sizeof v.high);
}
WORD lvec lvec_set(long long x)
{
	lvec v;
	for (int i = 0; i < LANES / 2; i++)
		v.low[i] = x;
	v.high = v.low;
	return v;
}
WORD mask i64_less(lvec a, lvec b) { return mask_of_halves((lhalf)((lhalf)a.low < (lhalf)b.low), (lhalf)((lhalf)a.high < (lhalf)b.high)); }
WORD lvec i64_select(mask m, lvec a, lvec b)
{
	const lvec w = lvec_of_mask_bits(m);
	a.low = (w.low & a.low) | (~w.low & b.low);
	a.high = (w.high & a.high) | (~w.high & b.high);
	return a;
}
WORD lvec i64_max(lvec a, lvec b) { return i64_select(i64_less(b, a), a, b); }
WORD lvec i64_min(lvec a, lvec b) { return i64_select(i64_less(a, b), a, b); }
WORD lvec i64_sub(lvec a, lvec b)
{
	a.low = (lhalf)((ulhalf)a.low - (ulhalf)b.low);
	a.high = (lhalf)((ulhalf)a.high - (ulhalf)b.high);
	return a;
}
WORD lvec i64_mod(lvec a, lvec b)
{
	long long x[LANES], y[LANES];
	lvec_store(x, a);
	lvec_store(y, b);
	for (int i = 0; i < LANES; i++)
		x[i] = (long long)i_mod(x[i], y[i]);
	return lvec_load(x);
}
WORD lvec lvec_of_vec(vec v)
{
	float x[LANES];
	long long y[LANES];
	vec_store(x, v);
	for (int i = 0; i < LANES; i++)
		y[i] = i_of_float((double)x[i], -9223372036854775808., 9223372036854775807., -9223372036854775807ll - 1, 9223372036854775807ll);
	return lvec_load(y);
}

#ifdef __cplusplus
extern "C" {
#endif
void t_k8_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k9_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k10_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k11_rows(const float *x0, const float *w1, const float *x2, const int *x3, const float *x4, const float *x5, float *y, long from, long to);
void t_k12_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k13_map(const float *x0, const float *w1, int *y, long from, long to);
void t_k14_map(const float *x0, const float *w1, float *y, long from, long to);
void t_k15_rows(const float *x0, const float *w1, const float *x2, const int *x3, const float *x4, const float *x5, float *y, long from, long to);
/* k8_map: c_weights_2.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= c_steps_2 float[4]
 * y => c_weights_2 float[1,4,1,4]
 */
void t_k8_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			for (long j = 0; j < 4; j += 4) {
				const vec v0 = ((vec_set(x0[2 * l + 1]) + vec_set(1.f)) * vec_set(2.f) - vec_set(1.f)) * vec_set(0.5f);
				const vec v1 = k_abs(v0 - (k_floor(v0) + vec_load(w1 + j)));
				vec_store(y + 4 * l + j, vec_select(mask_or(vec_less(v1, vec_set(1.f)), vec_equal(v1, vec_set(1.f))), (vec_set(1.25f) * v1 + vec_set(-2.25f)) * v1 * v1 + vec_set(1.f), ((vec_set(-0.75f) * v1 + vec_set(3.75f)) * v1 + vec_set(-6.f)) * v1 + vec_set(3.f)));
			}
		}
	}
}

/* k9_map: c_places_2.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= c_steps_2 float[4]
 * y => c_places_2 int32[1,4,1,4]
 */
void t_k9_map(const float *restrict x0, const float *restrict w1, int *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long j = 0; j < 4; j += 4) {
			for (long l = 0; l < 4; l++) {
				const lvec v0 = i64_mod(lvec_of_vec(k_floor(((vec_set(x0[2 * l + 1]) + vec_set(1.f)) * vec_set(2.f) - vec_set(1.f)) * vec_set(0.5f)) + vec_load(w1 + j)), lvec_set(4ll));
				ivec_scatter(y + 4 * j + l, 4, ivec_of_lvec(i64_min(i64_max(i64_min(v0, i64_sub(lvec_set(3ll), v0)), lvec_set(0ll)), lvec_set(1ll))));
			}
		}
	}
}

/* k10_map: c_weights_3.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= c_steps_3 float[4]
 * y => c_weights_3 float[1,4,1,4]
 */
void t_k10_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			for (long j = 0; j < 4; j += 4) {
				const vec v0 = ((vec_set(x0[2 * l]) + vec_set(1.f)) * vec_set(3.f) - vec_set(1.f)) * vec_set(0.5f);
				const vec v1 = k_abs(v0 - (k_floor(v0) + vec_load(w1 + j)));
				vec_store(y + 4 * l + j, vec_select(mask_or(vec_less(v1, vec_set(1.f)), vec_equal(v1, vec_set(1.f))), (vec_set(1.25f) * v1 + vec_set(-2.25f)) * v1 * v1 + vec_set(1.f), ((vec_set(-0.75f) * v1 + vec_set(3.75f)) * v1 + vec_set(-6.f)) * v1 + vec_set(3.f)));
			}
		}
	}
}

/* k11_rows: c_places_3 c.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= c_steps_3 float[4]
 * x2 <= x float[1,1,2,3]
 * x3 <= c_places_2 int32[1,4,1,4]
 * x4 <= c_weights_2 float[1,4,1,4]
 * x5 <= c_weights_3 float[1,4,1,4]
 * y => c float[1,1,1,4]
 */
void t_k11_rows(const float *restrict x0, const float *restrict w1, const float *restrict x2, const int *restrict x3, const float *restrict x4, const float *restrict x5, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		int row[16];
		for (long j = 0; j < 4; j += 4) {
			for (long l = 0; l < 4; l++) {
				const lvec v0 = i64_mod(lvec_of_vec(k_floor(((vec_set(x0[2 * l]) + vec_set(1.f)) * vec_set(3.f) - vec_set(1.f)) * vec_set(0.5f)) + vec_load(w1 + j)), lvec_set(6ll));
				ivec_scatter(row + 4 * j + l, 4, ivec_of_lvec(i64_min(i64_max(i64_min(v0, i64_sub(lvec_set(5ll), v0)), lvec_set(0ll)), lvec_set(2ll))));
			}
		}
		for (long l = 0; l < 4; l += 4) {
			vec sum = vec_set(0.f);
			const vec v1 = vec_gather(x4 + 4 * l, 4);
			const vec v2 = vec_gather(x5 + 4 * l, 4);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l), 0, 2) + ivec_clamp(ivec_load(x3 + l), 0, 1) * (uint32_t)3), v1 * v2, sum);
			const vec v3 = vec_gather(x5 + 4 * l + 1, 4);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 4), 0, 2) + ivec_clamp(ivec_load(x3 + l), 0, 1) * (uint32_t)3), v1 * v3, sum);
			const vec v4 = vec_gather(x5 + 4 * l + 2, 4);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 8), 0, 2) + ivec_clamp(ivec_load(x3 + l), 0, 1) * (uint32_t)3), v1 * v4, sum);
			const vec v5 = vec_gather(x5 + 4 * l + 3, 4);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 12), 0, 2) + ivec_clamp(ivec_load(x3 + l), 0, 1) * (uint32_t)3), v1 * v5, sum);
			const vec v6 = vec_gather(x4 + 4 * l + 1, 4);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l), 0, 2) + ivec_clamp(ivec_load(x3 + l + 4), 0, 1) * (uint32_t)3), v6 * v2, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 4), 0, 2) + ivec_clamp(ivec_load(x3 + l + 4), 0, 1) * (uint32_t)3), v6 * v3, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 8), 0, 2) + ivec_clamp(ivec_load(x3 + l + 4), 0, 1) * (uint32_t)3), v6 * v4, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 12), 0, 2) + ivec_clamp(ivec_load(x3 + l + 4), 0, 1) * (uint32_t)3), v6 * v5, sum);
			const vec v7 = vec_gather(x4 + 4 * l + 2, 4);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l), 0, 2) + ivec_clamp(ivec_load(x3 + l + 8), 0, 1) * (uint32_t)3), v7 * v2, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 4), 0, 2) + ivec_clamp(ivec_load(x3 + l + 8), 0, 1) * (uint32_t)3), v7 * v3, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 8), 0, 2) + ivec_clamp(ivec_load(x3 + l + 8), 0, 1) * (uint32_t)3), v7 * v4, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 12), 0, 2) + ivec_clamp(ivec_load(x3 + l + 8), 0, 1) * (uint32_t)3), v7 * v5, sum);
			const vec v8 = vec_gather(x4 + 4 * l + 3, 4);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l), 0, 2) + ivec_clamp(ivec_load(x3 + l + 12), 0, 1) * (uint32_t)3), v8 * v2, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 4), 0, 2) + ivec_clamp(ivec_load(x3 + l + 12), 0, 1) * (uint32_t)3), v8 * v3, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 8), 0, 2) + ivec_clamp(ivec_load(x3 + l + 12), 0, 1) * (uint32_t)3), v8 * v4, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 12), 0, 2) + ivec_clamp(ivec_load(x3 + l + 12), 0, 1) * (uint32_t)3), v8 * v5, sum);
			vec_store(y + l, sum);
		}
	}
}

/* k12_map: d_weights_2.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= d_steps_2 float[2]
 * y => d_weights_2 float[1,2,1,4]
 */
void t_k12_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			{
				const long j = 0;
				const vec v0 = (vec_set(x0[2 * l + 1]) + vec_set(1.f)) * vec_set(0.5f) * vec_set(1.f);
				vec_store_n(y + 2 * l + j, vec_set(1.f) - k_abs(v0 - (k_floor(v0) + vec_load_n(w1 + j, 2, 0.f))), 2);
			}
		}
	}
}

/* k13_map: d_places_2.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= d_steps_2 float[2]
 * y => d_places_2 int32[1,2,1,4]
 */
void t_k13_map(const float *restrict x0, const float *restrict w1, int *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l += 4) {
			for (long j = 0; j < 2; j++) {
				const lvec v0 = i64_mod(lvec_of_vec(k_floor((vec_odd(x0 + 2 * l) + vec_set(1.f)) * vec_set(0.5f) * vec_set(1.f)) + vec_set(w1[j])), lvec_set(2ll));
				ivec_scatter(y + 2 * l + j, 2, ivec_of_lvec(i64_min(i64_max(i64_min(v0, i64_sub(lvec_set(2ll), v0)), lvec_set(0ll)), lvec_set(1ll))));
			}
		}
	}
}

/* k14_map: d_weights_3.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= d_steps_3 float[2]
 * y => d_weights_3 float[1,2,1,4]
 */
void t_k14_map(const float *restrict x0, const float *restrict w1, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long l = 0; l < 4; l++) {
			{
				const long j = 0;
				const vec v0 = (vec_set(x0[2 * l]) + vec_set(1.f)) * vec_set(0.5f) * vec_set(2.f);
				vec_store_n(y + 2 * l + j, vec_set(1.f) - k_abs(v0 - (k_floor(v0) + vec_load_n(w1 + j, 2, 0.f))), 2);
			}
		}
	}
}

/* k15_rows: d_places_3 d.  c/loops.jinja, tile 4 lanes; blocks: all
 * x0 <= g float[1,1,4,2]
 * w1 <= d_steps_3 float[2]
 * x2 <= x float[1,1,2,3]
 * x3 <= d_places_2 int32[1,2,1,4]
 * x4 <= d_weights_2 float[1,2,1,4]
 * x5 <= d_weights_3 float[1,2,1,4]
 * y => d float[1,1,1,4]
 */
void t_k15_rows(const float *restrict x0, const float *restrict w1, const float *restrict x2, const int *restrict x3, const float *restrict x4, const float *restrict x5, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		int row[8];
		for (long j = 0; j < 2; j++) {
			for (long l = 0; l < 4; l += 4) {
				const lvec v0 = i64_mod(lvec_of_vec(k_floor((vec_even(x0 + 2 * l) + vec_set(1.f)) * vec_set(0.5f) * vec_set(2.f)) + vec_set(w1[j])), lvec_set(4ll));
				ivec_store(row + 4 * j + l, ivec_of_lvec(i64_min(i64_max(i64_min(v0, i64_sub(lvec_set(4ll), v0)), lvec_set(0ll)), lvec_set(2ll))));
			}
		}
		for (long l = 0; l < 4; l += 4) {
			vec sum = vec_set(0.f);
			const vec v1 = vec_even(x4 + 2 * l);
			const vec v2 = vec_even(x5 + 2 * l);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l), 0, 2) + ivec_clamp(ivec_gather(x3 + 2 * l, 2), 0, 1) * (uint32_t)3), v1 * v2, sum);
			const vec v3 = vec_odd(x5 + 2 * l);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 4), 0, 2) + ivec_clamp(ivec_gather(x3 + 2 * l, 2), 0, 1) * (uint32_t)3), v1 * v3, sum);
			const vec v4 = vec_odd(x4 + 2 * l);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l), 0, 2) + ivec_clamp(ivec_gather(x3 + 2 * l + 1, 2), 0, 1) * (uint32_t)3), v4 * v2, sum);
			sum = k_fma(vec_lane_gather(x2, ivec_clamp(ivec_load(row + l + 4), 0, 2) + ivec_clamp(ivec_gather(x3 + 2 * l + 1, 2), 0, 1) * (uint32_t)3), v4 * v3, sum);
			vec_store(y + l, sum);
		}
	}
}


#ifdef __cplusplus
}
#endif
