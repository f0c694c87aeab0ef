/* bits.c: every word over plain and special inputs -> a hash of its bits.  words.py puts a prelude before it; bits.py
 * compares the hashes of all targets.  NaN equals NaN: its sign and payload are nobody's promise.  With an argument, for
 * what runs slowly: of each map the first FEW elements alone; a line that begins with "all" is of more. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { COUNT = 65539, FEW = 9001, ROW = 100 };
static float a[COUNT + 64], b[COUNT + 64], c[COUNT + 64], out[COUNT + 64];
static int bad;
static long count = COUNT; /* of the elements that maps take */

static uint32_t next(void)
{
	static uint32_t state = 1;
	state = state * 1664525u + 1013904223u;
	return state >> 8;
}

static void fill(float *p, long n, float size) /* exact: a 23-bit integer times a power of two */
{
	for (long i = 0; i < n; i++)
		p[i] = (float)((int)(next() >> 1) - (1 << 22)) * 0x1p-22f * size;
}

static void every_kind(float *p, long n, uint32_t step, uint32_t bits) /* 2^32 bit patterns in steps */
{
	for (long i = 0; i < n; i++, bits += step)
		memcpy(p + i, &bits, 4);
}

static void specials(float *p, long n, long every)
{
	static const uint32_t bits[] = { 0x7fc00000u, 0x7f800000u, 0xff800000u, 0x80000000u, 0x00000000u, 0x00000001u,
		0x80012345u, 0x7f7fffffu, 0x007fffffu, 0x3f800000u, 0xbf800000u, 0x3f000000u, 0x4b000001u, 0x4b800000u,
		0xc0400000u, 0x40000000u };
	for (long i = every / 2, j = 0; i < n; i += every, j++)
		memcpy(p + i, bits + j % 16, 4);
}

static void report(const char *name, const char *data, long n)
{
	uint32_t hash = 2166136261u, bits;
	for (long i = 0; i < n; i++) {
		if (i == FEW)
			printf("%s%s %08x\n", name, data, (unsigned)hash);
		memcpy(&bits, out + i, 4);
		hash = (hash ^ ((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits)) * 16777619u;
	}
	printf("%s%s%s %08x\n", n > FEW ? "all " : "", name, data, (unsigned)hash);
}

#define EACH(name, expression) \
	static void map_##name(const char *data) \
	{ \
		for (long i = 0; i < count; i += LANES) { \
			long left = count - i; \
			vec x = vec_load_n(a + i, left, 0.f), y = vec_load_n(b + i, left, 0.f), \
			    z = vec_load_n(c + i, left, 0.f); \
			(void)y, (void)z; \
			vec_store_n(out + i, expression, left); \
		} \
		report(#name, data, count); \
	}
#define SINGLE(name, expression) \
	static void map_##name(const char *data) \
	{ \
		for (long i = 0; i < count; i++) { \
			float x = a[i], y = b[i], z = c[i]; \
			(void)y, (void)z; \
			out[i] = expression; \
		} \
		report(#name, data, count); \
	}
/* clang-format off */
EACH(add, x + y) EACH(sub, x - y) EACH(mul, x * y)
EACH(k_div, k_div(x, y)) EACH(k_fma, k_fma(x, y, z)) EACH(k_neg, k_neg(x)) EACH(k_abs, k_abs(x)) EACH(k_max, k_max(x, y)) EACH(k_min, k_min(x, y))
EACH(k_sqrt, k_sqrt(x)) EACH(k_relu, k_relu(x)) EACH(k_round, k_round(x)) EACH(k_floor, k_floor(x)) EACH(k_ceil, k_ceil(x))
EACH(k_exp, k_exp(x)) EACH(k_exp_below, k_exp_below(vec_select(vec_less(vec_set(0.f), x), k_neg(x), x))) EACH(k_log, k_log(x))
EACH(k_sigmoid, k_sigmoid(x)) EACH(k_tanh, k_tanh(x)) EACH(k_erf, k_erf(x)) EACH(k_gelu, k_gelu(x)) EACH(k_sin, k_sin(x)) EACH(k_cos, k_cos(x))
EACH(k_pow, k_pow(x, y)) EACH(less, k_select(k_less(x, y), k_one(x), k_zero(x))) EACH(equal, k_select(k_equal(x, y), k_one(x), k_zero(x)))
EACH(k_expm1, k_expm1(x)) EACH(k_log1p, k_log1p(x)) EACH(k_tan, k_tan(x)) EACH(k_asin, k_asin(x)) EACH(k_acos, k_acos(x)) EACH(k_atan, k_atan(x)) EACH(k_sinh, k_sinh(x)) EACH(k_cosh, k_cosh(x)) EACH(k_asinh, k_asinh(x)) EACH(k_acosh, k_acosh(x)) EACH(k_atanh, k_atanh(x)) EACH(k_softplus, k_softplus(x)) EACH(k_mish, k_mish(x)) EACH(k_hard_swish, k_hard_swish(x))
EACH(k_swish, k_swish(x, y)) EACH(k_mod, k_mod(x, y)) EACH(k_fmod, k_fmod(x, y))
EACH(masks, vec_select(mask_and(vec_less(x, y), mask_not(vec_equal(y, z))), x, vec_select(mask_or(vec_less(y, z), vec_equal(x, y)), y, vec_zero())))
SINGLE(s_div, s_div(x, y)) SINGLE(s_fma, s_fma(x, y, z)) SINGLE(s_neg, s_neg(x)) SINGLE(s_abs, s_abs(x)) SINGLE(s_max, s_max(x, y)) SINGLE(s_min, s_min(x, y))
SINGLE(s_sqrt, s_sqrt(x)) SINGLE(s_relu, s_relu(x)) SINGLE(s_round, s_round(x)) SINGLE(s_floor, s_floor(x)) SINGLE(s_ceil, s_ceil(x))
SINGLE(s_exp, s_exp(x)) SINGLE(s_exp_below, s_exp_below(0.f < x ? -x : x)) SINGLE(s_log, s_log(x))
SINGLE(s_sigmoid, s_sigmoid(x)) SINGLE(s_tanh, s_tanh(x)) SINGLE(s_erf, s_erf(x)) SINGLE(s_gelu, s_gelu(x)) SINGLE(s_sin, s_sin(x)) SINGLE(s_cos, s_cos(x))
SINGLE(s_pow, s_pow(x, y)) SINGLE(s_less, s_select(s_less(x, y), s_one(x), s_zero(x))) SINGLE(s_equal, s_select(s_equal(x, y), s_one(x), s_zero(x)))
SINGLE(s_expm1, s_expm1(x)) SINGLE(s_log1p, s_log1p(x)) SINGLE(s_tan, s_tan(x)) SINGLE(s_asin, s_asin(x)) SINGLE(s_acos, s_acos(x)) SINGLE(s_atan, s_atan(x)) SINGLE(s_sinh, s_sinh(x)) SINGLE(s_cosh, s_cosh(x)) SINGLE(s_asinh, s_asinh(x)) SINGLE(s_acosh, s_acosh(x)) SINGLE(s_atanh, s_atanh(x)) SINGLE(s_softplus, s_softplus(x)) SINGLE(s_mish, s_mish(x)) SINGLE(s_hard_swish, s_hard_swish(x))
SINGLE(s_swish, s_swish(x, y)) SINGLE(s_mod, s_mod(x, y)) SINGLE(s_fmod, s_fmod(x, y)) SINGLE(s_mul, s_mul(x, y))
        /* clang-format on */

        static void (*const maps[])(const char *) = { map_add, map_sub, map_mul, map_k_div, map_k_fma, map_k_neg,
	        map_k_abs, map_k_max, map_k_min, map_k_sqrt, map_k_relu, map_k_round, map_k_floor, map_k_ceil,
	        map_k_exp, map_k_exp_below, map_k_log, map_k_sigmoid, map_k_tanh, map_k_erf, map_k_gelu, map_k_sin,
	        map_k_cos, map_k_pow, map_less, map_equal, map_masks, map_s_div, map_s_fma, map_s_neg, map_s_abs,
	        map_s_max, map_s_min, map_s_sqrt, map_s_relu, map_s_round, map_s_floor, map_s_ceil, map_s_exp,
	        map_s_exp_below, map_s_log, map_s_sigmoid, map_s_tanh, map_s_erf, map_s_gelu, map_s_sin, map_s_cos,
	        map_s_pow, map_s_less, map_s_equal, map_k_expm1, map_k_log1p, map_k_tan, map_k_asin, map_k_acos,
	        map_k_atan, map_k_sinh, map_k_cosh, map_k_asinh, map_k_acosh, map_k_atanh, map_k_softplus, map_k_mish,
	        map_k_hard_swish, map_k_swish, map_k_mod, map_k_fmod, map_s_expm1, map_s_log1p, map_s_tan, map_s_asin,
	        map_s_acos, map_s_atan, map_s_sinh, map_s_cosh, map_s_asinh, map_s_acosh, map_s_atanh, map_s_softplus,
	        map_s_mish, map_s_hard_swish, map_s_swish, map_s_mod, map_s_fmod, map_s_mul };

static void all(const char *data)
{
	for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++)
		maps[i](data);
}

/* 64 partial results in 64 / LANES registers, joined by halves: whole registers first, then inside one. */
#define JOIN(name, start, step, join, last) \
	static float reduce_##name(const float *p) \
	{ \
		vec s[64 / LANES]; \
		for (int i = 0; i < 64 / LANES; i++) \
			s[i] = start; \
		for (long i = 0; i < 640; i += LANES) { \
			vec acc = s[i % 64 / LANES], x = vec_load(p + i); \
			s[i % 64 / LANES] = step; \
		} \
		for (int half = 32 / LANES; half; half /= 2) \
			for (int i = 0; i < half; i++) { \
				vec lower = s[i], upper = s[i + half]; \
				s[i] = join; \
			} \
		return last(s[0]); \
	}
JOIN(sum, vec_zero(), acc + x, lower + upper, vec_sum)
JOIN(product, vec_set(1.f), acc *x, lower *upper, vec_product)
JOIN(largest, k_neg(vec_infinity()), vec_max(x, acc), vec_max(upper, lower), vec_largest)
JOIN(smallest, vec_infinity(), vec_min(x, acc), vec_min(upper, lower), vec_smallest)

static void joins(const char *data)
{
	static float (*const reduce[])(const float *) = { reduce_sum, reduce_product, reduce_largest, reduce_smallest };
	for (int i = 0; i < 4; i++) {
		long rows = COUNT / ROW - 7;
		for (long r = 0; r < rows; r++)
			out[r] = reduce[i](a + r * ROW);
		report("join", data, rows);
	}
}

/* What is far below, as a mask makes it, asks no CPU for numbers that are too small to be normal: those cost some a
 * hundred cycles each. */
#if LANES > 1 && defined(__SSE2__)
static void far_away(void)
{
	static const float far[] = { -105.f, -200.f, -65504.f, -1e9f, -1e30f, -3.4028235e38f };
	for (unsigned i = 0; i < sizeof far / sizeof *far; i++) {
		for (long j = 0; j < LANES; j++)
			b[j] = j % 2 ? far[i] : -1.f;
		_mm_setcsr(_mm_getcsr() & ~0x3fu);
		vec_store(out, k_exp(vec_load(b)));
		vec_store(out + LANES, k_exp_below(vec_load(b)));
		vec_store(out + 2 * LANES, k_sigmoid(vec_load(b)));
		vec_store(out + 3 * LANES, k_gelu(vec_load(b)));
		vec_store(out + 4 * LANES, k_gelu(k_neg(vec_load(b))));
		if (_mm_getcsr() & 0x12u) { /* an operand was denormal, a result underflowed */
			fprintf(stderr, "%g makes denormal numbers\n", (double)far[i]);
			bad = 1;
		}
	}
}
#else
static void far_away(void) {}
#endif

static void expect(const char *name, const float *got, const float *want, long n)
{
	if (memcmp(got, want, sizeof(float) * (size_t)n)) {
		printf("%s is wrong\n", name);
		bad = 1;
	}
}

/* Loads and stores of parts and strides, against plain loops; nothing beside them is touched. */
static void memory(void)
{
	static const long strides[] = { 1, 2, 3, 4, 7, -5, 1000, -1 };
	float got[64], want[64], wide[64 * 1000];
	fill(a, 64, 1.f);
	for (int s = 0; s < 8; s++)
		for (long n = 0; n <= 2 * LANES; n++) {
			long stride = strides[s], span = n < LANES ? n : LANES, base = stride < 0 ? 30000 : 0;
			float *p = wide + base;
			fill(wide, 64 * 1000, 1.f);
			for (long i = 0; i < LANES; i++)
				want[i] = i < span ? p[i * stride] : 5.f;
			vec_store(got, vec_gather_n(p, stride, n, 5.f));
			expect("vec_gather_n", got, want, LANES);
			for (long i = 0; i < LANES; i++)
				want[i] = p[i * stride];
			vec_store(got, vec_gather(p, stride));
			expect("vec_gather", got, want, LANES);
			for (long i = 0; i < LANES; i++)
				want[i] = i < span ? a[i] : p[i * stride];
			vec_scatter_n(p, stride, vec_load(a), n);
			vec_store(got, vec_gather(p, stride));
			expect("vec_scatter_n", got, want, LANES);
			vec_scatter(p, stride, vec_load(a));
			vec_store(got, vec_gather(p, stride));
			expect("vec_scatter", got, a, LANES);
			for (long i = 0; i < LANES; i++)
				want[i] = i < span ? a[i] : 7.f;
			vec_store(got, vec_load_n(a, n, 7.f));
			expect("vec_load_n", got, want, LANES);
			vec_store(got, vec_first(vec_load(a), vec_set(7.f), n));
			expect("vec_first", got, want, LANES);
			for (long to = n - 3; to <= 2 * LANES; to++) {
				for (long i = 0; i < LANES; i++)
					want[i] = i >= n - 3 && i < to ? a[i] : 0.f;
				vec_store(got, vec_load_between(a, n - 3, to));
				expect("vec_load_between", got, want, LANES);
			}
			for (long i = 0; i < 64; i++)
				got[i] = 9.f, want[i] = i < span ? a[i] : 9.f;
			vec_store_n(got, vec_load(a), n);
			expect("vec_store_n", got, want, 64);
		}
}

/* Lanes that lie each at a place of their own, and float16, against plain loops. */
#if LANES > 1
static void places(void)
{
	int at[64];
	float got[64], want[64];
	fill(a, COUNT, 1.f);
	for (long i = 0; i < 2 * LANES; i++)
		want[i] = i % 2 ? a[100 + i / 2] : a[i / 2];
	vec_zip(got, vec_load(a), vec_load(a + 100));
	expect("vec_zip", got, want, 2 * LANES);
	for (long n = 0; n <= LANES; n++) {
		for (long i = 0; i < 64; i++)
			got[i] = -1.f;
		vec_zip_n(got, vec_load(a), vec_load(a + 100), n);
		for (long i = 0; i < 2 * LANES; i++)
			want[i] = i >= 2 * n ? -1.f : i % 2 ? a[100 + i / 2] : a[i / 2];
		expect("vec_zip_n", got, want, 2 * LANES);
	}
	for (int round = 0; round < 200; round++)
		for (long n = 0; n <= LANES; n++) {
			for (long i = 0; i < LANES; i++) {
				at[i] = (int)(next() % 3000) - 1000;
				const int cut = at[i] < -500 ? -500 : at[i] > 1700 ? 1700 : at[i];
				want[i] = a[1000 + cut + (int)i * 3];
			}
			const ivec where = ivec_clamp(ivec_load(at), -500, 1700) + ivec_iota() * 3u;
			vec_store(got, vec_lane_gather(a + 1000, where));
			expect("vec_lane_gather", got, want, LANES);
			for (long i = n; i < LANES; i++)
				want[i] = 5.f;
			vec_store(got, vec_lane_gather_n(a + 1000, where, n, 5.f));
			expect("vec_lane_gather_n", got, want, LANES);
#if LANES >= 8
			float behind[64];
			for (long i = 0; i < LANES; i++) {
				const int cut = at[i] < -500 ? -500 : at[i] > 1700 ? 1700 : at[i];
				want[i] = a[1000 + cut + (int)i * 3], behind[i] = a[1001 + cut + (int)i * 3];
			}
			const vec2 two = vec_lane_gather_two(a + 1000, where);
			vec_store(got, two.low);
			expect("vec_lane_gather_two", got, want, LANES);
			vec_store(got, two.high);
			expect("vec_lane_gather_two", got, behind, LANES);
			for (long i = 0; i < LANES; i++) {
				at[i] = n ? (int)(next() % (uint64_t)n) : 0;
				want[i] = n ? (a + COUNT - n)[at[i]] : 0.f;
			}
			vec_store(got, vec_near(a + COUNT - n, ivec_load(at), n));
			expect("vec_near", got, want, LANES);
#endif
		}
}

/* Indices of 64 bits: cut to 32, counted from the end below 0. */
static void longs(void)
{
	long long at[3 * 64];
	int got[64], want[64];
	for (int round = 0; round < 200; round++)
		for (long n = 0; n <= LANES; n++)
			for (long stride = 1; stride <= 3; stride++) {
				for (long i = 0; i < 3 * LANES; i++)
					at[i] = next() % 5   ? (long long)(next() % 3000) - 1000
					        : next() % 2 ? (long long)next() << 20
					                     : -((long long)next() << 20);
				for (long i = 0; i < LANES; i++) {
					const long long v = at[i * stride];
					want[i] = v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : (int)v;
				}
				ivec_store(got, ivec_gather_long(at, stride));
				expect("ivec_gather_long", (const float *)(const void *)got,
				        (const float *)(const void *)want, LANES);
				if (stride == 1) {
					ivec_store(got, ivec_load_long(at));
					expect("ivec_load_long", (const float *)(const void *)got,
					        (const float *)(const void *)want, LANES);
				}
				for (long i = n; i < LANES; i++)
					want[i] = 0;
				ivec_store(
				        got, stride == 1 ? ivec_load_long_n(at, n) : ivec_gather_long_n(at, stride, n));
				expect("ivec_load_long_n", (const float *)(const void *)got,
				        (const float *)(const void *)want, LANES);
				for (long i = 0; i < LANES; i++)
					want[i] = want[i] < 0 ? (int)((unsigned)want[i] + 1000u) : want[i];
				ivec_store(got,
				        ivec_from_end(stride == 1 ? ivec_load_long_n(at, n)
				                                  : ivec_gather_long_n(at, stride, n),
				                1000));
				expect("ivec_from_end", (const float *)(const void *)got,
				        (const float *)(const void *)want, LANES);
			}
}

/* What lies narrow in memory at strides, against plain loops: before it and behind it nothing may be read. */
#define NARROW(gather, type) \
	static void check_##gather(unsigned char *first, unsigned char *end) \
	{ \
		int got[64], want[64]; \
		for (long stride = 1; stride <= 7; stride++) \
			for (int last = 0; last < 2; last++) { \
				const type *p = \
				        last ? (type *)(void *)end - (LANES - 1) * stride - 1 : (type *)(void *)first; \
				for (long i = 0; i < LANES; i++) \
					want[i] = p[i * stride]; \
				ivec_store(got, gather(p, stride)); \
				expect(#gather, (const float *)(const void *)got, (const float *)(const void *)want, \
				        LANES); \
			} \
	}
NARROW(ivec_gather_i8, signed char)
NARROW(ivec_gather_u8, unsigned char)
NARROW(ivec_gather_i16, short)
NARROW(ivec_gather_u16, unsigned short)

static void narrow(void)
{
	enum { PAGE = 65536 };
	unsigned char *at = (unsigned char *)mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at + PAGE, PAGE, PROT_READ | PROT_WRITE)) {
		printf("no memory\n");
		bad = 1;
		return;
	}
	for (long i = 0; i < PAGE; i++)
		at[PAGE + i] = (unsigned char)next();
	check_ivec_gather_i8(at + PAGE, at + 2 * PAGE);
	check_ivec_gather_u8(at + PAGE, at + 2 * PAGE);
	check_ivec_gather_i16(at + PAGE, at + 2 * PAGE);
	check_ivec_gather_u16(at + PAGE, at + 2 * PAGE);
	munmap(at, 3 * PAGE);
}

#if LANES > 1
/* Two vectors that are stored at once are those that are kept to the bounds and stored one by one. */
#define TWO(two, rounded, store, type, low, high) \
	static void check_##two(void) \
	{ \
		type got[2 * LANES], want[2 * LANES]; \
		float x[2 * LANES]; \
		for (int round = 0; round < 400; round++) { \
			const int zero = round % 7 * 40 - 120, least = low + round % 2 * 3, most = high - round % 3; \
			fill(x, 2 * LANES, round % 5 ? 300.f : 0x1p29f); \
			two(got, rounded(vec_load(x), zero, least, most), \
			        rounded(vec_load(x + LANES), zero, least, most)); \
			store(want, ivec_rounded(vec_load(x), zero, least, most)); \
			store(want + LANES, ivec_rounded(vec_load(x + LANES), zero, least, most)); \
			if (memcmp(got, want, sizeof got)) { \
				printf(#two " differs\n"); \
				bad = 1; \
			} \
		} \
	}
TWO(ivec_store_two_i8, ivec_rounded_i8, ivec_store_i8, signed char, -128, 127)
TWO(ivec_store_two_u8, ivec_rounded_u8, ivec_store_u8, unsigned char, 0, 255)
#endif

static void halves(void)
{
	unsigned short codes[64 + LANES], back[64 + LANES];
	float got[64], want[64];
	every_kind(b, COUNT, 65521u, 77u);
	specials(b, COUNT, 5);
	for (long i = 0; i + LANES <= 65536; i += LANES) {
		const long n = i / LANES % (LANES + 1);
		for (long k = 0; k < LANES; k++) {
			codes[k] = (unsigned short)(i + k);
			want[k] = n_wide(codes[k], 5, 10, 15, 0x7bffu, 0x7e00u, 0);
		}
		vec_store(got, vec_load_half(codes));
		for (long k = 0; k < LANES; k++)
			bad |= !((got[k] != got[k] && want[k] != want[k]) || !memcmp(got + k, want + k, 4));
		vec_store(got, vec_load_half_n(codes, n));
		for (long k = 0; k < LANES; k++)
			bad |= k < n ? !((got[k] != got[k] && want[k] != want[k]) || !memcmp(got + k, want + k, 4))
			             : got[k] < 0.f || got[k] > 0.f;
		vec_store_half(codes, vec_load(b + i));
		vec_store(got, vec_half(vec_load(b + i)));
		vec_store(want, vec_load_half(codes));
		bad |= memcmp(got, want, LANES * sizeof *got) != 0;
		memset(back, 1, sizeof back);
		vec_store_half_n(back, vec_load(b + i), n);
		for (long k = 0; k < LANES; k++) {
			const unsigned short right =
			        (unsigned short)n_narrow(b[i + k], 5, 10, 15, 0x7bffu, 0x7c00u, 0x7e00u, 0);
			bad |= codes[k] != right || back[k] != (k < n ? right : 0x101);
		}
	}
	if (bad)
		printf("float16: wrong\n");
}
#endif

/* Sums at the halves of what they are multiplied to, and beside them: with integers as with floats. */
static void requantised(void)
{
	union {
		uint32_t i;
		float f;
	} m;
	uint32_t x = 1;
	long n = 0;
	for (int i = 0; i < count; i++) {
		x = x * 1664525u + 1013904223u;
		m.i = (127u + 13u - (x >> 8) % 48u) << 23 | (i & 1 ? (x >> 9) & 0x7fffffu : (x >> 9) & 0x7f0000u)
		        | (i % 5 ? 0 : 0x80000000u);
		float near = ((float)((int)(x >> 20) % 300 - 150) + 0.5f) / m.f;
		int sum = near >= 2147483000.f || near <= -2147483000.f ? (int)(x >> 1) : (int)near,
		    zero = i % 256 - 128;
		for (int k = -2; k <= 2; k++) {
			float y = (float)(sum + k) * m.f; /* i_rounded wants less than 2^30 */
			y = y > 1024.f ? 1024.f : y < -1024.f ? -1024.f : y;
			n += i_requantised(sum + k, m.f, zero, -128, 127) != i_rounded(y, zero, -128, 127);
		}
	}
	bad |= n != 0;
	if (n)
		printf("requantised: %ld wrong\n", n);
}

int main(int argc, char **argv)
{
	(void)argv;
	count = argc > 1 ? FEW : COUNT;
	fill(a, COUNT, 16.f), fill(b, COUNT, 4.f), fill(c, COUNT, 1.f);
	all("");
	joins("");
	every_kind(a, COUNT, 65537u, 0), every_kind(b, COUNT, 40503u * 65537u, 12345u),
	        every_kind(c, COUNT, 2654435761u, 99u);
	specials(b, COUNT, 5);
	all("*");
	joins("*");
	specials(a, COUNT, 3);
	all("**");
	for (long i = 0; i < COUNT; i++) /* of -0 and 0 the order of the joins decides */
		a[i] = i % 3 ? -0.f : i % 7 ? 0.f : -1.f;
	joins("-0");
	for (long i = 0; i < COUNT; i++) { /* sums just beside a tie: rounding twice shows */
		float small = (float)(1 << i % 23) * 0x1p-23f, size = i & 32 ? 0x1p-126f : 1.f;
		a[i] = 1.f + small, b[i] = (1.f - small) * (i & 64 ? size : -size) * 0x1p-24f,
		c[i] = (1.f + (float)(i / 23) * 0x1p-23f) * size;
	}
	map_k_fma(" ties"), map_s_fma(" ties");
	far_away();
	requantised();
	memory();
#if LANES > 1
	places();
	longs();
	narrow();
	halves();
	check_ivec_store_two_i8();
	check_ivec_store_two_u8();
#endif
	int there[LANES], first[LANES] = { 7 };
	ivec_store(there, ivec_load(first));
	bad |= there[0] != 7;
	for (uint32_t code = 0; code < 65536; code++) /* exact, so it comes back; a NaN as the one code */
		bad |= n_narrow(n_wide(code, 5, 10, 15, 0x7bffu, 0x7e00u, 0), 5, 10, 15, 0x7bffu, 0x7c00u, 0x7e00u, 0)
		        != ((code & 0x7fffu) > 0x7c00u ? 0x7e00u : code);
	return bad;
}
