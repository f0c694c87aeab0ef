/* k0_rows: y_max y_exp y_sum y_scale y.  c/loops.jinja, tile 8 lanes; blocks: 2 of i
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
			float row[20] ALIGNED(32);
			float row1[20] ALIGNED(32);
			{
				const long j = 0;
				vec_store(row + j, k_exp_below(vec_load(x0 + j) - vec_set(one)));
				vec_store(row1 + j, k_exp_below(vec_load(x0 + j + 20) - vec_set(one1)));
				vec_store(row + j + 8, k_exp_below(vec_load(x0 + j + 8) - vec_set(one)));
				vec_store(row1 + j + 8, k_exp_below(vec_load(x0 + j + 28) - vec_set(one1)));
			}
			{
				const long j = 16;
				vec_store_n(row + j, k_exp_below(vec_load_n(x0 + j, 4, 0.f) - vec_set(one)), 4);
				vec_store_n(row1 + j, k_exp_below(vec_load_n(x0 + j + 20, 4, 0.f) - vec_set(one1)), 4);
			}
			float sum2 = 0.f;
			float sum3 = 0.f;
			for (long r = 0; r < 20; r++) {
				sum2 = sum2 + row[r];
				sum3 = sum3 + row1[r];
			}
			const float one2 = sum2;
			const float one3 = sum3;
			const float one4 = s_div(1.f, one2);
			const float one5 = s_div(1.f, one3);
			{
				const long j = 0;
				vec_store(y + j, vec_load(row + j) * vec_set(one4));
				vec_store(y + j + 20, vec_load(row1 + j) * vec_set(one5));
				vec_store(y + j + 8, vec_load(row + j + 8) * vec_set(one4));
				vec_store(y + j + 28, vec_load(row1 + j + 8) * vec_set(one5));
			}
			{
				const long j = 16;
				vec_store_n(y + j, vec_load_n(row + j, 4, 0.f) * vec_set(one4), 4);
				vec_store_n(y + j + 20, vec_load_n(row1 + j, 4, 0.f) * vec_set(one5), 4);
			}
		}
	}
}

