/* k0_rows: y_max y_exp y_sum y_scale y.  c/loops.jinja, 8 lanes of float32 and scalars; blocks: 2 of i
 * x0 <= x float[2,20]
 * y => y float[2,20]
 */
void softmax_k0_rows(const float *restrict x0, float *restrict y, long from, long to)
{
	for (long b = from; b < to; b++) {
		{
			float sum = (-1.f / 0.f);
			float sum1 = (-1.f / 0.f);
			for (long r = 0; r < 20; r++) {
				sum = s_max(x0[r], sum);
				sum1 = s_max(x0[r + 20], sum1);
			}
			const float one = sum;
			const float one1 = sum1;
			{
				const long j = 0;
				vec_store(y + j, k_exp_below(vec_load(x0 + j) - vec_set(one)));
				vec_store(y + j + 20, k_exp_below(vec_load(x0 + j + 20) - vec_set(one1)));
				vec_store(y + j + 8, k_exp_below(vec_load(x0 + j + 8) - vec_set(one)));
				vec_store(y + j + 28, k_exp_below(vec_load(x0 + j + 28) - vec_set(one1)));
			}
			{
				const long j = 16;
				vec_store_n(y + j, k_exp_below(vec_load_n(x0 + j, 4, 0.f) - vec_set(one)), 4);
				vec_store_n(y + j + 20, k_exp_below(vec_load_n(x0 + j + 20, 4, 0.f) - vec_set(one1)), 4);
			}
			float sum2 = 0.f;
			float sum3 = 0.f;
			for (long r = 0; r < 20; r++) {
				sum2 = sum2 + y[r];
				sum3 = sum3 + y[r + 20];
			}
			const float one2 = sum2;
			const float one3 = sum3;
			const float one4 = s_div(1.f, one2);
			const float one5 = s_div(1.f, one3);
			{
				const long j = 0;
				vec_store(y + j, vec_load(y + j) * vec_set(one4));
				vec_store(y + j + 20, vec_load(y + j + 20) * vec_set(one5));
				vec_store(y + j + 8, vec_load(y + j + 8) * vec_set(one4));
				vec_store(y + j + 28, vec_load(y + j + 28) * vec_set(one5));
			}
			{
				const long j = 16;
				vec_store_n(y + j, vec_load_n(y + j, 4, 0.f) * vec_set(one4), 4);
				vec_store_n(y + j + 20, vec_load_n(y + j + 20, 4, 0.f) * vec_set(one5), 4);
			}
		}
	}
}

