static NOINLINE void matmul_bias_relu_k0_contraction_4x16(const float *restrict a, const float *restrict w, const float *restrict w2, float *restrict y, long i0, long c)
{
	vec s0_0 = vec_load(w2 + c);
	vec s0_1 = vec_load(w2 + c + 8);
	vec s1_0 = vec_load(w2 + c);
	vec s1_1 = vec_load(w2 + c + 8);
	vec s2_0 = vec_load(w2 + c);
	vec s2_1 = vec_load(w2 + c + 8);
	vec s3_0 = vec_load(w2 + c);
	vec s3_1 = vec_load(w2 + c + 8);
	for (long k0 = 0; k0 < 24; k0++) {
		const vec b0 = vec_load(w);
		const vec b1 = vec_load(w + 8);
		const vec a0 = vec_set(a[k0]);
		s0_0 = vec_fma(a0, b0, s0_0);
		s0_1 = vec_fma(a0, b1, s0_1);
		const vec a1 = vec_set(a[k0 + 24]);
		s1_0 = vec_fma(a1, b0, s1_0);
		s1_1 = vec_fma(a1, b1, s1_1);
		const vec a2 = vec_set(a[k0 + 48]);
		s2_0 = vec_fma(a2, b0, s2_0);
		s2_1 = vec_fma(a2, b1, s2_1);
		const vec a3 = vec_set(a[k0 + 72]);
		s3_0 = vec_fma(a3, b0, s3_0);
		s3_1 = vec_fma(a3, b1, s3_1);
		w += 16;
	}
	vec_store(y + 16 * i0 + c, k_relu(s0_0));
	vec_store(y + 16 * i0 + c + 8, k_relu(s0_1));
	vec_store(y + 16 * i0 + c + 16, k_relu(s1_0));
	vec_store(y + 16 * i0 + c + 24, k_relu(s1_1));
	vec_store(y + 16 * i0 + c + 32, k_relu(s2_0));
	vec_store(y + 16 * i0 + c + 40, k_relu(s2_1));
	vec_store(y + 16 * i0 + c + 48, k_relu(s3_0));
	vec_store(y + 16 * i0 + c + 56, k_relu(s3_1));
}

/* k0_contraction: sum y.  c/contraction.jinja, tile 4 x 16, 8 lanes of float32; blocks: panels of up to 16 columns
 * x0 <= x float[4,24]
 * w1 <= w.packed float[384]
 * w2 <= sum_bias#8 float[16]
 * y => y float[4,16]
 */
void matmul_bias_relu_k0_contraction(const float *restrict x0, const float *restrict w1, const float *restrict w2, float *restrict y, long from, long to)
{
	for (long panel = from; panel < to; panel++) {
		const long c = 0;
		{
			const long i0 = 0;
			const float *a = x0 + 24 * i0;
			const float *w = w1 + 24 * c;
			matmul_bias_relu_k0_contraction_4x16(a, w, w2, y, i0, c);
		}
	}
}

