/* k0_map: x_pads.  c/loops.jinja, 8 lanes of float32; blocks: all
 * x0 <= x float[1,3,8,8]
 * y => x_pads float[1,3,10,10]
 */
void conv_pool_k0_map(const float *restrict x0, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		for (long j = 0; j < 3; j++) {
			{
				for (long l = 0; l < 8; l += 8) {
					vec_store(y + 100 * j + l, vec_set(0.f));
				}
				{
					const long l = 2;
					vec_store(y + 100 * j + l, vec_set(0.f));
				}
			}
			for (long k = 0; k < 8; k++) {
				for (long l = 0; l < 8; l += 8) {
					vec_store(y + 100 * j + l + 10 * k + 10, vec_load_between(x0 + 64 * j + l + 8 * k - 1, 1 - l, 9 - l));
				}
				{
					const long l = 2;
					vec_store(y + 100 * j + 10 * k + l + 10, vec_load_between(x0 + 64 * j + 8 * k + l - 1, 1 - l, 9 - l));
				}
			}
			{
				for (long l = 0; l < 8; l += 8) {
					vec_store(y + 100 * j + l + 90, vec_set(0.f));
				}
				{
					const long l = 2;
					vec_store(y + 100 * j + l + 90, vec_set(0.f));
				}
			}
		}
	}
}

static NOINLINE void conv_pool_k1_convolution_8x8(const float *restrict a, const float *restrict w, const float *restrict w2, float *restrict y, long z, long i1, long c)
{
	vec s0_0 = vec_load(w2 + c);
	vec s1_0 = vec_load(w2 + c);
	vec s2_0 = vec_load(w2 + c);
	vec s3_0 = vec_load(w2 + c);
	vec s4_0 = vec_load(w2 + c);
	vec s5_0 = vec_load(w2 + c);
	vec s6_0 = vec_load(w2 + c);
	vec s7_0 = vec_load(w2 + c);
	for (long k0 = 0; k0 < 3; k0++) {
		for (long k1 = 0; k1 < 3; k1++) {
			for (long k2 = 0; k2 < 3; k2 += 3) {
				const vec b0_0 = vec_load(w);
				const vec a0_0 = vec_set(a[10 * k0 + k1 + 100 * k2]);
				s0_0 = vec_fma(a0_0, b0_0, s0_0);
				const vec a1_0 = vec_set(a[10 * k0 + k1 + 100 * k2 + 1]);
				s1_0 = vec_fma(a1_0, b0_0, s1_0);
				const vec a2_0 = vec_set(a[10 * k0 + k1 + 100 * k2 + 2]);
				s2_0 = vec_fma(a2_0, b0_0, s2_0);
				const vec a3_0 = vec_set(a[10 * k0 + k1 + 100 * k2 + 3]);
				s3_0 = vec_fma(a3_0, b0_0, s3_0);
				const vec a4_0 = vec_set(a[10 * k0 + k1 + 100 * k2 + 4]);
				s4_0 = vec_fma(a4_0, b0_0, s4_0);
				const vec a5_0 = vec_set(a[10 * k0 + k1 + 100 * k2 + 5]);
				s5_0 = vec_fma(a5_0, b0_0, s5_0);
				const vec a6_0 = vec_set(a[10 * k0 + k1 + 100 * k2 + 6]);
				s6_0 = vec_fma(a6_0, b0_0, s6_0);
				const vec a7_0 = vec_set(a[10 * k0 + k1 + 100 * k2 + 7]);
				s7_0 = vec_fma(a7_0, b0_0, s7_0);
				const vec b0_1 = vec_load(w + 8);
				const vec a0_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1)]);
				s0_0 = vec_fma(a0_1, b0_1, s0_0);
				const vec a1_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1) + 1]);
				s1_0 = vec_fma(a1_1, b0_1, s1_0);
				const vec a2_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1) + 2]);
				s2_0 = vec_fma(a2_1, b0_1, s2_0);
				const vec a3_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1) + 3]);
				s3_0 = vec_fma(a3_1, b0_1, s3_0);
				const vec a4_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1) + 4]);
				s4_0 = vec_fma(a4_1, b0_1, s4_0);
				const vec a5_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1) + 5]);
				s5_0 = vec_fma(a5_1, b0_1, s5_0);
				const vec a6_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1) + 6]);
				s6_0 = vec_fma(a6_1, b0_1, s6_0);
				const vec a7_1 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 1) + 7]);
				s7_0 = vec_fma(a7_1, b0_1, s7_0);
				const vec b0_2 = vec_load(w + 16);
				const vec a0_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2)]);
				s0_0 = vec_fma(a0_2, b0_2, s0_0);
				const vec a1_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2) + 1]);
				s1_0 = vec_fma(a1_2, b0_2, s1_0);
				const vec a2_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2) + 2]);
				s2_0 = vec_fma(a2_2, b0_2, s2_0);
				const vec a3_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2) + 3]);
				s3_0 = vec_fma(a3_2, b0_2, s3_0);
				const vec a4_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2) + 4]);
				s4_0 = vec_fma(a4_2, b0_2, s4_0);
				const vec a5_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2) + 5]);
				s5_0 = vec_fma(a5_2, b0_2, s5_0);
				const vec a6_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2) + 6]);
				s6_0 = vec_fma(a6_2, b0_2, s6_0);
				const vec a7_2 = vec_set(a[10 * k0 + k1 + 100 * (k2 + 2) + 7]);
				s7_0 = vec_fma(a7_2, b0_2, s7_0);
				w += 24;
			}
		}
	}
	vec_store(y + 8 * i1 + c + 64 * z, k_relu(s0_0));
	vec_store(y + 8 * i1 + c + 64 * z + 8, k_relu(s1_0));
	vec_store(y + 8 * i1 + c + 64 * z + 16, k_relu(s2_0));
	vec_store(y + 8 * i1 + c + 64 * z + 24, k_relu(s3_0));
	vec_store(y + 8 * i1 + c + 64 * z + 32, k_relu(s4_0));
	vec_store(y + 8 * i1 + c + 64 * z + 40, k_relu(s5_0));
	vec_store(y + 8 * i1 + c + 64 * z + 48, k_relu(s6_0));
	vec_store(y + 8 * i1 + c + 64 * z + 56, k_relu(s7_0));
}

/* k1_convolution: sums positive y.  c/contraction.jinja, tile 8 x 8, 8 lanes of float32; blocks: rows of the maximum
 * x0 <= x_pads float[1,3,10,10]
 * w1 <= w.packed float[216]
 * w2 <= b float[8]
 * y => y float[1,8,4,4]
 */
void conv_pool_k1_convolution(const float *restrict x0, const float *restrict w1, const float *restrict w2, float *restrict y, long from, long to)
{
	float pooled[128] ALIGNED(32);
	for (long block = from; block < to; block++) {
		const long q = block;
		for (long z = 0; z < 2; z++)
		for (long panel = 0; panel < 1; panel++)
		for (long part = 0; part < 1; part++) {
			const long i0 = 2 * q + z;
			const long i1 = 0;
			const long c = 0;
			const float *a = x0 + 10 * i0 + i1;
			const float *w = w1 + 27 * c;
			conv_pool_k1_convolution_8x8(a, w, w2, pooled, z, i1, c);
		}
		for (long l = 0; l < 4; l++) {
			for (long c = 0; c < 8; c += LANES) {
				vec m = vec_set(-1.f / 0.f);
				m = vec_max(vec_load(pooled + 16 * l + c), m);
				m = vec_max(vec_load(pooled + 8 + 16 * l + c), m);
				m = vec_max(vec_load(pooled + 64 + 16 * l + c), m);
				m = vec_max(vec_load(pooled + 72 + 16 * l + c), m);
				vec_scatter(y + 16 * c + 4 * q + l, 16, m);
			}
		}
	}
}

