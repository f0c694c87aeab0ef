/* k0_map: x.dwords.  c/loops.jinja, 8 lanes of int32 and scalars; blocks: all
 * x0 <= x uint8[1,4,6,6]
 * w1 <= x_zero_one#14 uint8[]
 * y => x.dwords int32[1,2,8,8]
 */
void conv_int8_k0_map(const unsigned char *restrict x0, const unsigned char *restrict w1, int *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long j = 0; j < 2; j++) {
			{
				for (long l = 0; l < 8; l += 8) {
					const ivec v0 = ivec_set((uint32_t)w1[0]);
					const ivec v1 = i32_sub(v0, v0);
					ivec_store(y + 64 * j + l, i32_or(i32_and(v1, ivec_set(65535)), i32_shl(v1, ivec_set(16))));
				}
			}
			for (long k = 0; k < 6; k++) {
				{
					const long long v2 = w1[0];
					const long long v3 = (int)i_sub(v2, v2);
					y[64 * j + 8 * k + 8] = (int)i_or(i_and(v3, 65535), i_shl(v3, 16));
				}
				{
					const long l = 0;
					const ivec v4 = ivec_set((uint32_t)w1[0]);
					ivec_store_n(y + 64 * j + 8 * k + l + 9, i32_or(i32_and(i32_sub(ivec_load_u8_n(x0 + 72 * j + 6 * k + l, 6), v4), ivec_set(65535)), i32_shl(i32_sub(ivec_load_u8_n(x0 + 72 * j + 6 * k + l + 36, 6), v4), ivec_set(16))), 6);
				}
				{
					const long long v5 = w1[0];
					const long long v6 = (int)i_sub(v5, v5);
					y[64 * j + 8 * k + 15] = (int)i_or(i_and(v6, 65535), i_shl(v6, 16));
				}
			}
			{
				for (long l = 0; l < 8; l += 8) {
					const ivec v7 = ivec_set((uint32_t)w1[0]);
					const ivec v8 = i32_sub(v7, v7);
					ivec_store(y + 64 * j + l + 56, i32_or(i32_and(v8, ivec_set(65535)), i32_shl(v8, ivec_set(16))));
				}
			}
		}
	}
}

static NOINLINE void conv_int8_k1_convolution_6x8(const int *restrict a, const int *restrict w, const float *restrict w2, const float *restrict w3, const int *restrict w4, const float *restrict w5, const float *restrict w6, unsigned char *restrict transposed_store, long c)
{
	ivec s0_0 = ivec_set(0);
	ivec s1_0 = ivec_set(0);
	ivec s2_0 = ivec_set(0);
	ivec s3_0 = ivec_set(0);
	ivec s4_0 = ivec_set(0);
	ivec s5_0 = ivec_set(0);
	for (long k0 = 0; k0 < 3; k0++) {
		for (long k1 = 0; k1 < 3; k1++) {
			for (long k2 = 0; k2 < 2; k2 += 2) {
				const ivec b0_0 = ivec_load(w);
				const ivec a0_0 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * k2]);
				s0_0 = ivec_dot16(a0_0, b0_0, s0_0);
				const ivec a1_0 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * k2 + 1]);
				s1_0 = ivec_dot16(a1_0, b0_0, s1_0);
				const ivec a2_0 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * k2 + 2]);
				s2_0 = ivec_dot16(a2_0, b0_0, s2_0);
				const ivec a3_0 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * k2 + 3]);
				s3_0 = ivec_dot16(a3_0, b0_0, s3_0);
				const ivec a4_0 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * k2 + 4]);
				s4_0 = ivec_dot16(a4_0, b0_0, s4_0);
				const ivec a5_0 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * k2 + 5]);
				s5_0 = ivec_dot16(a5_0, b0_0, s5_0);
				const ivec b0_1 = ivec_load(w + 8);
				const ivec a0_1 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * (k2 + 1)]);
				s0_0 = ivec_dot16(a0_1, b0_1, s0_0);
				const ivec a1_1 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * (k2 + 1) + 1]);
				s1_0 = ivec_dot16(a1_1, b0_1, s1_0);
				const ivec a2_1 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * (k2 + 1) + 2]);
				s2_0 = ivec_dot16(a2_1, b0_1, s2_0);
				const ivec a3_1 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * (k2 + 1) + 3]);
				s3_0 = ivec_dot16(a3_1, b0_1, s3_0);
				const ivec a4_1 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * (k2 + 1) + 4]);
				s4_0 = ivec_dot16(a4_1, b0_1, s4_0);
				const ivec a5_1 = ivec_set((uint32_t)a[8 * k0 + k1 + 64 * (k2 + 1) + 5]);
				s5_0 = ivec_dot16(a5_1, b0_1, s5_0);
				w += 16;
			}
		}
	}
	int sums[48] ALIGNED(32);
	ivec_store(sums, s0_0);
	ivec_store(sums + 8, s1_0);
	ivec_store(sums + 16, s2_0);
	ivec_store(sums + 24, s3_0);
	ivec_store(sums + 32, s4_0);
	ivec_store(sums + 40, s5_0);
	for (long r = 0; r < 6; r++) {
		{
			const long v = 0;
			ivec_store_u8(transposed_store + 8 * r + 8 * v, ivec_of_vec(k_min(vec_set(w2[0]), k_max(vec_set(w3[0]), k_round(vec_from_int(i32_add(ivec_load(sums + 8 * r + 8 * v), ivec_load(w4 + c + 8 * v))) * vec_set(w5[0])) + vec_set(w6[0]))), 0.f, 255.f));
		}
	}
}

/* k1_convolution: sums#15 y.  c/contraction.jinja, tile 6 x 8, 8 lanes of int32; blocks: blocks of up to 6 rows
 * x0 <= x.dwords int32[1,2,8,8]
 * w1 <= w.dwords.packed int32[144]
 * w2 <= most#24 float[]
 * w3 <= least#23 float[]
 * w4 <= bias_rows#16 int32[8,1,1]
 * w5 <= factor#22 float[]
 * w6 <= zero_wide#28 float[]
 * y => y uint8[1,8,6,6]
 */
void conv_int8_k1_convolution(const int *restrict x0, const int *restrict w1, const float *restrict w2, const float *restrict w3, const int *restrict w4, const float *restrict w5, const float *restrict w6, unsigned char *restrict y, long from, long to)
{
	unsigned char transposed_store[288] ALIGNED(32);
	for (long first = from, last; first < to; first = last) {
		last = first + 6 < to ? first + 6 : to;
		const long begin = 6 * first;
	{
		const long c = 0;
		for (long block = first; block < last; block++) {
			const long i0 = block;
			const long i1 = 0;
			const int *a = x0 + 8 * i0 + i1;
			const int *w = w1 + 18 * c;
			conv_int8_k1_convolution_6x8(a, w, w2, w3, w4, w5, w6, transposed_store + 8 * (6 * block - begin), c);
		}
		{
			const long count = 6 * last - begin, there = 8 - c < 8 ? 8 - c : 8;
			if (count < LANES || there < LANES) {
				for (long q = 0; q < there; q++)
					for (long m = 0; m < count; m++)
						(y + 36 * c + begin)[36 * q + m] = transposed_store[8 * m + q];
			} else {
				for (long square = 0; square < there; square += LANES) {
					const long q = square + LANES <= there ? square : there - LANES;
					for (long row = 0; row < count; row += LANES) {
						const long m = row + LANES <= count ? row : count - LANES;
						ivec_transpose_i8(y + 36 * c + begin + 36 * q + m, 36, transposed_store + 8 * m + q, 8);
					}
				}
			}
		}
	}
	}
}

