static NOINLINE void matmul_bias_relu_k0_contraction_4x4(const float *restrict a, const float *restrict w, const float *restrict w2, float *restrict y, long i0, long c)
{
	vec s0_0 = vec_load(w2 + c);
	vec s0_1 = vec_load(w2 + c + 1);
	vec s0_2 = vec_load(w2 + c + 2);
	vec s0_3 = vec_load(w2 + c + 3);
	vec s1_0 = vec_load(w2 + c);
	vec s1_1 = vec_load(w2 + c + 1);
	vec s1_2 = vec_load(w2 + c + 2);
	vec s1_3 = vec_load(w2 + c + 3);
	vec s2_0 = vec_load(w2 + c);
	vec s2_1 = vec_load(w2 + c + 1);
	vec s2_2 = vec_load(w2 + c + 2);
	vec s2_3 = vec_load(w2 + c + 3);
	vec s3_0 = vec_load(w2 + c);
	vec s3_1 = vec_load(w2 + c + 1);
	vec s3_2 = vec_load(w2 + c + 2);
	vec s3_3 = vec_load(w2 + c + 3);
	for (long k0 = 0; k0 < 24; k0++) {
		const vec b0 = vec_load(w);
		const vec b1 = vec_load(w + 1);
		const vec b2 = vec_load(w + 2);
		const vec b3 = vec_load(w + 3);
		const vec a0 = vec_set(a[k0]);
		s0_0 = vec_fma(a0, b0, s0_0);
		s0_1 = vec_fma(a0, b1, s0_1);
		s0_2 = vec_fma(a0, b2, s0_2);
		s0_3 = vec_fma(a0, b3, s0_3);
		const vec a1 = vec_set(a[k0 + 24]);
		s1_0 = vec_fma(a1, b0, s1_0);
		s1_1 = vec_fma(a1, b1, s1_1);
		s1_2 = vec_fma(a1, b2, s1_2);
		s1_3 = vec_fma(a1, b3, s1_3);
		const vec a2 = vec_set(a[k0 + 48]);
		s2_0 = vec_fma(a2, b0, s2_0);
		s2_1 = vec_fma(a2, b1, s2_1);
		s2_2 = vec_fma(a2, b2, s2_2);
		s2_3 = vec_fma(a2, b3, s2_3);
		const vec a3 = vec_set(a[k0 + 72]);
		s3_0 = vec_fma(a3, b0, s3_0);
		s3_1 = vec_fma(a3, b1, s3_1);
		s3_2 = vec_fma(a3, b2, s3_2);
		s3_3 = vec_fma(a3, b3, s3_3);
		w += 4;
	}
	vec_store(y + 16 * i0 + c, k_relu(s0_0));
	vec_store(y + 16 * i0 + c + 1, k_relu(s0_1));
	vec_store(y + 16 * i0 + c + 2, k_relu(s0_2));
	vec_store(y + 16 * i0 + c + 3, k_relu(s0_3));
	vec_store(y + 16 * i0 + c + 16, k_relu(s1_0));
	vec_store(y + 16 * i0 + c + 17, k_relu(s1_1));
	vec_store(y + 16 * i0 + c + 18, k_relu(s1_2));
	vec_store(y + 16 * i0 + c + 19, k_relu(s1_3));
	vec_store(y + 16 * i0 + c + 32, k_relu(s2_0));
	vec_store(y + 16 * i0 + c + 33, k_relu(s2_1));
	vec_store(y + 16 * i0 + c + 34, k_relu(s2_2));
	vec_store(y + 16 * i0 + c + 35, k_relu(s2_3));
	vec_store(y + 16 * i0 + c + 48, k_relu(s3_0));
	vec_store(y + 16 * i0 + c + 49, k_relu(s3_1));
	vec_store(y + 16 * i0 + c + 50, k_relu(s3_2));
	vec_store(y + 16 * i0 + c + 51, k_relu(s3_3));
}

/* k0_contraction: sum y.  c/contraction.jinja, tile 4 x 4, scalar; blocks: panels of up to 4 columns
 * x0 <= x float[4,24]
 * w1 <= w.packed float[384]
 * w2 <= sum_bias#8 float[16]
 * y => y float[4,16]
 */
void matmul_bias_relu_k0_contraction(const float *restrict x0, const float *restrict w1, const float *restrict w2, float *restrict y, long from, long to)
{
	for (long panel = from; panel < to; panel++) {
		const long c = 4 * panel;
		{
			const long i0 = 0;
			const float *a = x0 + 24 * i0;
			const float *w = w1 + 24 * c;
			matmul_bias_relu_k0_contraction_4x4(a, w, w2, y, i0, c);
		}
	}
}

