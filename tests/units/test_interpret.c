/* test_interpret.c: the interpreter against plain loops: the orders of reductions bit for bit, indices, selects, casts,
 * and what fails. */
#include "unit.h"
#include <math.h>
#include "definitions/definitions.h"

enum { SUMS = 64 };

static float random_float(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (float)(int32_t)(*seed >> 32) * 0x1p-31f;
}

struct fixture {
	struct build build;
	struct arena *arena;
	struct program *program;
	uint64_t seed;
};

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	build_init(&f->build);
	f->arena = f->build.arena;
	f->program = program_new(&f->build, "test");
	f->seed = 7;
}

static float *random_array(struct fixture *f, int64_t n)
{
	float *data = arena_new_array(f->arena, float, (size_t)n + 1);
	for (int64_t i = 0; i < n; i++)
		data[i] = random_float(&f->seed);
	return data;
}

static void output(struct fixture *f, struct definition *definition)
{
	push(f->arena, &f->program->outputs, definition);
	push(f->arena, &f->program->output_names, definition->name);
	definition->port.is_output = true;
}

static const struct index *var(struct fixture *f, int v, int64_t extent) { return index_var(f->arena, v, extent); }

static const struct expr *load(struct fixture *f, struct definition *of, const struct index *i, const struct index *j)
{
	return expr_load(f->arena, of, (const struct index *[]){ i, j });
}

/* Joins 64 partial results in place by halves; the first is the whole. */
static float join(float *s, bool largest)
{
	for (int half = SUMS / 2; half; half /= 2)
		for (int i = 0; i < half; i++)
			s[i] = !largest ? s[i] + s[i + half] : s[i + half] > s[i] ? s[i + half] : s[i];
	return s[0];
}

static float sum_as_designed(const float *x, int n)
{
	float s[SUMS] = { 0 }, sum = 0;
	if (n < SUMS) {
		for (int i = 0; i < n; i++)
			sum += x[i];
		return sum;
	}
	for (int i = 0; i < n; i++)
		s[i % SUMS] += x[i];
	return join(s, false);
}

static float largest_as_designed(const float *x, int n)
{
	float s[SUMS], largest = -INFINITY;
	if (n < SUMS) {
		for (int i = 0; i < n; i++)
			largest = x[i] > largest ? x[i] : largest;
		return largest;
	}
	for (int i = 0; i < SUMS; i++)
		s[i] = -INFINITY;
	for (int i = 0; i < n; i++)
		s[i % SUMS] = x[i] > s[i % SUMS] ? x[i] : s[i % SUMS];
	return join(s, true);
}

static void sums_and_maxima_of_rows(void **state)
{
	static const int lengths[] = { 0, 1, 2, 63, 64, 65, 127, 128, 129, 1000 };
	(void)state;
	for (size_t l = 0; l < COUNT(lengths); l++) {
		struct fixture f;
		int64_t rows = 5, n = lengths[l], shape[2] = { rows, n };
		begin(&f);
		float *x = random_array(&f, rows * n), sum[5], largest[5];
		struct definition *in = define_input(f.program, "x", DTYPE_F32, 2, shape);
		const struct expr *term =
		        n ? load(&f, in, var(&f, 0, rows), var(&f, 1, n)) : expr_number(f.arena, DTYPE_F32, 0);
		struct definition *s = define_reduction(f.program, "s", 1, &rows, REDUCE_SUM, 1, &n, NULL, term);
		struct definition *m = define_reduction(f.program, "m", 1, &rows, REDUCE_MAX, 1, &n, NULL, term);
		assert_int_equal(s->order, n < SUMS ? ORDER_SERIAL : ORDER_LANES);
		output(&f, s), output(&f, m);
		if (n > 10)
			x[3] = NAN, x[n + 1] = INFINITY, x[2 * n + 2] = -0.f;
		program_check(f.program);
		interpret(f.program, MATH_STRICT, (const void *[]){ x }, (void *[]){ sum, largest });
		for (int r = 0; r < rows; r++) {
			float want = sum_as_designed(x + r * n, (int)n);
			assert_true(sum[r] == want || (isnan(sum[r]) && isnan(want)));
			assert_true(largest[r] == largest_as_designed(x + r * n, (int)n));
		}
		build_release(&f.build);
	}
}

/* y[i,j] = sum(k from start) a[i,k] * b[k,j]: a chain of fma, but in 64 sums with at most 24 outputs beside the batch
 * and 64 terms. */
static void products(int64_t m, int64_t k, int64_t n, bool batch)
{
	struct fixture f;
	int64_t shapes[3][2] = { { m, k }, { k, n }, { m, n } };
	begin(&f);
	float *a = random_array(&f, m * k), *b = random_array(&f, k * n), *c = random_array(&f, n),
	      *y = random_array(&f, m * n);
	struct definition *da = define_input(f.program, "a", DTYPE_F32, 2, shapes[0]);
	struct definition *db = define_constant(f.program, "b", DTYPE_F32, 2, shapes[1], b);
	struct definition *dc = define_constant(f.program, "c", DTYPE_F32, 1, &n, c);
	const struct index *i = var(&f, 0, m), *j = var(&f, 1, n), *t = var(&f, 2, k);
	struct definition *dy =
	        define_reduction(f.program, "y", 2, shapes[2], REDUCE_SUM, 1, &k, expr_load(f.arena, dc, &j),
	                expr_scalar(f.arena, SCALAR_mul, load(&f, da, i, t), load(&f, db, t, j), NULL));
	if (batch)
		mark_batch(dy, 1);
	bool lanes = (batch ? 1 : m) * n <= FEW_OUTPUTS && k >= SUMS;
	assert_int_equal(dy->order, lanes ? ORDER_LANES : ORDER_SERIAL);
	output(&f, dy);
	program_check(f.program);
	interpret(f.program, MATH_STRICT, (const void *[]){ a }, (void *[]){ y });
	for (int64_t p = 0; p < m; p++)
		for (int64_t q = 0; q < n; q++) {
			float s[SUMS] = { 0 };
			s[0] = lanes ? 0 : c[q];
			for (int64_t r = 0; r < k; r++)
				s[lanes ? r % SUMS : 0] = fmaf(a[p * k + r], b[r * n + q], s[lanes ? r % SUMS : 0]);
			float want = lanes ? join(s, false) + c[q] : s[0];
			assert_true(y[p * n + q] == want);
		}
	build_release(&f.build);
}

static void contractions(void **state)
{
	(void)state;
	for (int batch = 0; batch < 2; batch++) {
		products(1, 63, 1, batch);
		products(1, 64, 24, batch);
		products(1, 200, 25, batch);
		products(3, 100, 7, batch);
		products(17, 65, 31, batch);
		products(1, 130, 10, batch);
		products(300, 3, 5, batch);
	}
}

/* The squares of a row: both factors depend on all that varies, so 64 sums, by fma. */
static void squares(void **state)
{
	struct fixture f;
	int64_t shape[2] = { 40, 100 };
	float y[40];
	(void)state;
	begin(&f);
	float *x = random_array(&f, 4000);
	struct definition *in = define_input(f.program, "x", DTYPE_F32, 2, shape);
	const struct expr *term = load(&f, in, var(&f, 0, 40), var(&f, 1, 100));
	struct definition *s = define_reduction(f.program, "s", 1, shape, REDUCE_SUM, 1, shape + 1, NULL,
	        expr_scalar(f.arena, SCALAR_mul, term, term, NULL));
	assert_int_equal(s->order, ORDER_LANES);
	output(&f, s);
	interpret(f.program, MATH_STRICT, (const void *[]){ x }, (void *[]){ y });
	for (int r = 0; r < 40; r++) {
		float sums[SUMS] = { 0 };
		for (int i = 0; i < 100; i++)
			sums[i % SUMS] = fmaf(x[r * 100 + i], x[r * 100 + i], sums[i % SUMS]);
		assert_true(y[r] == join(sums, false));
	}
	build_release(&f.build);
}

/* Pads, strides and a division in the index; the pads are terms. */
static void window_with_pads(void **state)
{
	struct fixture f;
	int64_t shape[1] = { 1000 }, out = 501, taps = 5;
	float *y;
	(void)state;
	begin(&f);
	float *x = random_array(&f, 1000), *w = random_array(&f, 5);
	y = random_array(&f, out);
	struct definition *dx = define_input(f.program, "x", DTYPE_F32, 1, shape),
	                  *dw = define_constant(f.program, "w", DTYPE_F32, 1, &taps, w);
	const struct index *k = var(&f, 1, taps),
	                   *at = index_plus(
	                           f.arena, index_add(f.arena, index_scale(f.arena, var(&f, 0, out), 2), k), -3);
	const struct expr *padded = expr_select(f.arena, &(struct range){ at, 0, 1000 }, 1, expr_load(f.arena, dx, &at),
	        expr_number(f.arena, DTYPE_F32, 0));
	struct definition *dy = define_reduction(f.program, "y", 1, &out, REDUCE_SUM, 1, &taps, NULL,
	        expr_scalar(f.arena, SCALAR_mul, padded, expr_load(f.arena, dw, &k), NULL));
	output(&f, dy);
	program_check(f.program);
	interpret(f.program, MATH_STRICT, (const void *[]){ x }, (void *[]){ y });
	for (int i = 0; i < out; i++) {
		float sum = 0;
		for (int t = 0; t < taps; t++) {
			int place = 2 * i + t - 3;
			sum = fmaf(place >= 0 && place < 1000 ? x[place] : 0, w[t], sum);
		}
		assert_true(y[i] == sum);
	}
	build_release(&f.build);
}

/* y[i] = x[at(k[i])] * i / 3 over integers, with an index that is data. */
static void values_as_indices(void **state)
{
	struct fixture f;
	int64_t n = 300, m = 10, y[300], k[300], x[10];
	(void)state;
	begin(&f);
	for (int i = 0; i < n; i++)
		k[i] = i % 13 - 1; /* -1, 10 and 11 lie outside and are cut */
	for (int i = 0; i < m; i++)
		x[i] = i * i - 20;
	struct definition *dx = define_input(f.program, "x", DTYPE_I64, 1, &m),
	                  *dk = define_input(f.program, "k", DTYPE_I64, 1, &n);
	const struct index *i = var(&f, 0, n), *at = index_value(f.arena, expr_load(f.arena, dk, &i), 0, m - 1);
	const struct expr *product =
	        expr_scalar(f.arena, SCALAR_mul, expr_load(f.arena, dx, &at), expr_index(f.arena, i), NULL);
	output(&f,
	        define_map(f.program, "y", 1, &n,
	                expr_scalar(f.arena, SCALAR_div, product, expr_integer(f.arena, DTYPE_I64, 3), NULL)));
	program_check(f.program);
	interpret(f.program, MATH_STRICT, (const void *[]){ x, k }, (void *[]){ y });
	for (int e = 0; e < n; e++) {
		int64_t place = k[e] < 0 ? 0 : k[e] >= m ? m - 1 : k[e];
		assert_int_equal(y[e], x[place] * e / 3);
	}
	build_release(&f.build);
}

/* Memory of a value goes after its last reader, outputs may be inputs or constants, and double rounds once at the end.
 */
static void chain_in_double(void **state)
{
	struct fixture f;
	int64_t n = 1000;
	(void)state;
	begin(&f);
	float *x = random_array(&f, n), *y = random_array(&f, n), *same = random_array(&f, n);
	struct definition *in = define_input(f.program, "x", DTYPE_F32, 1, &n), *d = in;
	const struct index *i = var(&f, 0, n);
	for (int step = 0; step < 50; step++)
		d = define_map(f.program, "d", 1, &n,
		        expr_scalar(f.arena, SCALAR_mul, expr_load(f.arena, d, &i),
		                expr_number(f.arena, DTYPE_F32, 1.0000001), NULL));
	output(&f, d), output(&f, in);
	program_check(f.program);
	interpret(f.program, MATH_DOUBLE, (const void *[]){ x }, (void *[]){ y, same });
	for (int e = 0; e < n; e++) {
		double want = x[e];
		for (int step = 0; step < 50; step++)
			want *= 1.0000001;
		assert_true(y[e] == (float)want);
		assert_true(same[e] == x[e]);
	}
	build_release(&f.build);
}

static void every_failed_allocation_is_survived(void **state)
{
	(void)state;
	volatile bool done = false;
	for (volatile long n = 1; !done && n < 2000; n++) {
		struct fixture f;
		int64_t shape[2] = { 4, 70 };
		float y[4];
		begin(&f);
		arena_fail_after(n);
		if (BUILD_TRY(&f.build)) {
			float *x = random_array(&f, 280);
			struct definition *in = define_input(f.program, "x", DTYPE_F32, 2, shape);
			output(&f,
			        define_reduction(f.program, "s", 1, shape, REDUCE_SUM, 1, shape + 1, NULL,
			                load(&f, in, var(&f, 0, 4), var(&f, 1, 70))));
			interpret(f.program, MATH_STRICT, (const void *[]){ x }, (void *[]){ y });
			done = true;
		} else {
			assert_int_equal(f.build.code, EXIT_LIMIT);
		}
		arena_fail_after(0);
		build_release(&f.build);
		assert_true(n < 1999);
	}
}

static void folds_what_is_constant(void **state)
{
	struct fixture f;
	int64_t n = 4;
	float a[4] = { 1, 2, 3, 4 }, y[4];
	(void)state;
	begin(&f);
	struct definition *x = define_input(f.program, "x", DTYPE_F32, 1, &n),
	                  *c = define_constant(f.program, "c", DTYPE_F32, 1, &n, a);
	const struct index *i = var(&f, 0, n);
	struct definition *root = define_map(
	        f.program, "root", 1, &n, expr_scalar(f.arena, SCALAR_sqrt, expr_load(f.arena, c, &i), NULL, NULL));
	struct definition *two = define_map(f.program, "two", 1, &n, expr_number(f.arena, DTYPE_F32, 2));
	const struct expr *sum =
	        expr_scalar(f.arena, SCALAR_add, expr_load(f.arena, root, &i), expr_load(f.arena, two, &i), NULL);
	struct definition *out = define_map(
	        f.program, "y", 1, &n, expr_scalar(f.arena, SCALAR_mul, sum, expr_load(f.arena, x, &i), NULL));
	output(&f, out);
	program_fold(f.program);
	program_remove_dead(f.program);
	program_check(f.program);
	assert_int_equal(root->source, SOURCE_CONSTANT);
	assert_true(((const float *)root->data)[3] == 2);
	assert_int_equal(two->source, SOURCE_COMPUTED); /* reads nothing: costs no memory as it is */
	assert_int_equal(f.program->all.count, 4);
	for (int math = MATH_STRICT; math <= MATH_DOUBLE; math++) {
		interpret(f.program, (enum math)math, (const void *[]){ a }, (void *[]){ y });
		assert_true(y[3] == 16 && y[0] == 3);
	}
	build_release(&f.build);
}

static void prints_as_read(void **state)
{
	struct fixture f;
	struct text text;
	int64_t shape[2] = { 2, 100 };
	(void)state;
	begin(&f);
	text_init(&text, &f.build);
	struct definition *x = define_input(f.program, "x", DTYPE_F32, 2, shape);
	const struct index *i = var(&f, 0, 2), *k = var(&f, 1, 100),
	                   *back = index_plus(f.arena, index_scale(f.arena, k, -1), 99);
	const struct expr *sum = expr_scalar(f.arena, SCALAR_add, load(&f, x, i, k), load(&f, x, i, back), NULL);
	struct range first = { k, 0, 7 };
	const struct expr *term = expr_scalar(f.arena, SCALAR_mul, sum,
	        expr_select(f.arena, &first, 1, load(&f, x, i, k), expr_number(f.arena, DTYPE_F32, 0.5)), NULL);
	output(&f,
	        define_reduction(f.program, "y", 1, shape, REDUCE_SUM, 1, shape + 1,
	                load(&f, x, i, index_constant(f.arena, 0)), term));
	program_check(f.program);
	program_print(f.program, &text);
	assert_string_equal(text.at,
	        "program test\n"
	        "x float[2,100]    input\n"
	        "y float[2] = sum(k0 < 100 by 64 from x[i0, 0]) (x[i0, k0] + x[i0, -k0 + 99]) * "
	        "select(0 <= k0 < 7, x[i0, k0], 0.5)\n"
	        "output y = y\n");
	text_release(&text);
	build_release(&f.build);
}

/* A histogram of each row, by values: terms in order, nothing outside; then its running sum from the end. */
static void terms_that_have_places(void **state)
{
	enum { ROWS = 3, TERMS = 700, BINS = 5 };
	struct fixture f;
	struct text text;
	int64_t shape[2] = { ROWS, TERMS }, bins[2] = { ROWS, BINS }, n = TERMS, m = BINS;
	static int32_t at[ROWS * TERMS];
	float got[2][ROWS * BINS], want[ROWS][BINS];
	(void)state;
	begin(&f);
	text_init(&text, &f.build);
	float *w = random_array(&f, ROWS * TERMS);
	for (int i = 0; i < ROWS * TERMS; i++)
		at[i] = i * 7 % 11 - 3;
	struct definition *places = define_input(f.program, "at", DTYPE_I32, 2, shape),
	                  *weights = define_input(f.program, "w", DTYPE_F32, 2, shape);
	const struct index *i = var(&f, 0, ROWS), *k = var(&f, 2, TERMS);
	const struct expr *to[2] = { NULL, expr_cast(f.arena, DTYPE_I64, load(&f, places, i, k)) };
	struct definition *h = define_scatter(f.program, "h", 2, bins, REDUCE_SUM, false, to, 1, &n,
	        expr_number(f.arena, DTYPE_F32, 0.5), load(&f, weights, i, k));
	const struct index *term = var(&f, 2, BINS),
	                   *back = index_plus(f.arena, index_scale(f.arena, term, -1), BINS - 1);
	to[1] = expr_index(f.arena, back);
	struct definition *r =
	        define_scatter(f.program, "r", 2, bins, REDUCE_SUM, true, to, 1, &m, NULL, load(&f, h, i, back));
	assert_int_equal(h->order, ORDER_SERIAL);
	assert_true(definition_work(h) == ROWS * TERMS + ROWS * BINS);
	output(&f, h), output(&f, r);
	program_check(f.program);
	program_print(f.program, &text);
	assert_non_null(
	        strstr(text.at, "h float[3,5] = sum(k0 < 700 to [i0, int64(at[i0, k0])] from 0.5) w[i0, k0]\n"));
	assert_non_null(strstr(text.at, "r float[3,5] = running sum(k0 < 5 to [i0, -k0 + 4]) h[i0, -k0 + 4]\n"));
	interpret(f.program, MATH_STRICT, (const void *[]){ at, w }, (void *[]){ got[0], got[1] });
	for (int row = 0; row < ROWS; row++) {
		for (int b = 0; b < BINS; b++)
			want[row][b] = 0.5f;
		for (int t = 0; t < TERMS; t++)
			if (at[row * TERMS + t] >= 0 && at[row * TERMS + t] < BINS)
				want[row][at[row * TERMS + t]] += w[row * TERMS + t];
		assert_memory_equal(got[0] + row * BINS, want[row], sizeof want[row]);
		float sum = 0;
		for (int b = BINS - 1; b >= 0; b--)
			assert_true(got[1][row * BINS + b] == (sum += want[row][b]));
	}
	text_release(&text);
	build_release(&f.build);
}

static const struct expr *below(struct fixture *f, const struct expr *value, int64_t number)
{
	return expr_cast(f->arena, DTYPE_BOOL,
	        expr_scalar(f->arena, SCALAR_less, value, expr_integer(f->arena, DTYPE_I64, number), NULL));
}

/* Stands behind what it reads, is needed though nobody reads it, and tells what it saw. */
static void a_check_ends_a_run(void **state)
{
	static const struct check operand = { EXIT_INVALID, "below 5 is right" }, bound = { EXIT_LIMIT, "9 at most" };
	static const int64_t right[] = { 1, 4, 2 }, wrong[] = { 1, 7, 2 };
	(void)state;
	for (volatile int limit = 0; limit < 2; limit++) {
		struct fixture f;
		float x[2] = { 1, 2 }, got[2] = { 0 };
		begin(&f);
		struct definition *o = define_input(f.program, "o", DTYPE_I64, 1, (int64_t[]){ 3 });
		struct definition *in = define_input(f.program, "x", DTYPE_F32, 1, (int64_t[]){ 2 });
		struct definition *y =
		        define_map(f.program, "y", 1, (int64_t[]){ 2 }, load(&f, in, var(&f, 0, 2), NULL));
		struct definition *check = define_check(f.program, "holds", limit ? &bound : &operand, 1,
		        (int64_t[]){ 3 }, below(&f, load(&f, o, var(&f, 0, 3), NULL), 5));
		output(&f, y);
		program_remove_dead(f.program);
		program_fold(f.program);
		program_settle_checks(f.program);
		program_hoist_checks(f.program);
		program_check(f.program);
		assert_true(f.program->checks.count == 1 && check->number == 1 && y->number == 3);
		if (BUILD_TRY(&f.build))
			interpret(f.program, MATH_STRICT, (const void *[]){ right, x }, (void *[]){ got });
		assert_true(f.build.code == 0 && got[1] == 2);
		if (BUILD_TRY(&f.build))
			interpret(f.program, MATH_STRICT, (const void *[]){ wrong, x }, (void *[]){ got });
		assert_int_equal(f.build.code, limit ? EXIT_LIMIT : EXIT_INVALID);
		assert_non_null(strstr(
		        f.build.message, limit ? "9 at most (o is [1, 7, 2])" : "below 5 is right (o is [1, 7, 2])"));
		build_release(&f.build);
	}
}

static void checks_of_constants_are_settled(void **state)
{
	static const struct check operand = { EXIT_INVALID, "below 5 is right" };
	static const int64_t numbers[] = { 1, 7 };
	(void)state;
	for (volatile int at = 0; at < 2; at++) {
		struct fixture f;
		begin(&f);
		struct definition *c = define_constant(f.program, "c", DTYPE_I64, 1, (int64_t[]){ 2 }, numbers);
		const struct expr *sum = expr_scalar(f.arena, SCALAR_add,
		        load(&f, c, index_constant(f.arena, at), NULL), expr_integer(f.arena, DTYPE_I64, 3), NULL);
		const struct expr *folded = expr_fold(f.program, sum);
		assert_true(folded->kind == EXPR_NUMBER && folded->integer == numbers[at] + 3);
		define_check(f.program, "holds", &operand, 0, NULL, below(&f, sum, 5));
		program_fold(f.program);
		if (BUILD_TRY(&f.build))
			program_settle_checks(f.program);
		assert_true(at ? f.build.code == EXIT_INVALID : f.build.code == 0 && !f.program->checks.count);
		build_release(&f.build);
	}
}

/* Of two branches by c, each with a check of its own, one is asked; what both read is. */
static void a_check_of_a_branch_asks_there(void **state)
{
	static const struct check operand = { EXIT_INVALID, "below 5 is right" };
	struct fixture f;
	struct node nodes[3] = { 0 };
	int64_t o[3] = { 1, 1, 1 }, got;
	uint8_t c;
	(void)state;
	begin(&f);
	struct definition *condition = define_input(f.program, "c", DTYPE_BOOL, 0, NULL),
	                  *in = define_input(f.program, "o", DTYPE_I64, 1, (int64_t[]){ 3 }), *part[3];
	for (int i = 2; i >= 0; i--) {
		const struct expr *number = load(&f, in, index_constant(f.arena, i), NULL);
		nodes[i].where = "node";
		define_check(f.program, "holds", &operand, 0, NULL, below(&f, number, 5))->node = &nodes[i];
		part[i] = define_map(f.program, "part", 0, NULL,
		        i < 2 ? expr_scalar(f.arena, SCALAR_add, number, load(&f, part[2], NULL, NULL), NULL) : number);
		part[i]->node = &nodes[i];
	}
	const struct range chosen = {
		index_value(f.arena, expr_cast(f.arena, DTYPE_I64, load(&f, condition, NULL, NULL)), 0, UINT8_MAX), 1,
		UINT8_MAX + 1
	};
	output(&f,
	        define_map(f.program, "y", 0, NULL,
	                expr_select(
	                        f.arena, &chosen, 1, load(&f, part[0], NULL, NULL), load(&f, part[1], NULL, NULL))));
	program_guard_checks(f.program);
	program_hoist_checks(f.program);
	program_check(f.program);
	for (volatile int wrong = 0; wrong < 3; wrong++)
		for (c = 0; c < 2; c++) {
			f.build.code = EXIT_RIGHT;
			o[0] = o[1] = o[2] = 1;
			o[wrong] = 9;
			if (BUILD_TRY(&f.build))
				interpret(f.program, MATH_STRICT, (const void *[]){ &c, o }, (void *[]){ &got });
			assert_int_equal(f.build.code, wrong == 2 || wrong == !c ? EXIT_INVALID : 0);
		}
	build_release(&f.build);
}

static void assert_bounds(const struct expr *expr, int64_t low, int64_t high)
{
	int64_t got[2];
	expr_bounds(expr, &got[0], &got[1]);
	assert_true(got[0] == low && got[1] == high);
}

static void bounds_of_integers(void **state)
{
	static const int64_t numbers[] = { 3, -2, 8 };
	struct fixture f;
	(void)state;
	begin(&f);
	struct definition *o = define_input(f.program, "o", DTYPE_I64, 1, (int64_t[]){ 3 }),
	                  *n = define_input(f.program, "n", DTYPE_I8, 1, (int64_t[]){ 3 });
	struct definition *c = define_constant(f.program, "c", DTYPE_I64, 1, (int64_t[]){ 3 }, numbers);
	struct definition *order =
	        define_order(f.program, "sorted", 1, (int64_t[]){ 2 }, true, 3, load(&f, o, var(&f, 1, 3), NULL), NULL);
	const struct expr *any = load(&f, o, var(&f, 0, 3), NULL), *of_c = load(&f, c, var(&f, 0, 3), NULL),
	                  *five = expr_integer(f.arena, DTYPE_I64, 5);
	struct definition *first = define_reduction(f.program, "first", 0, NULL, REDUCE_MIN, 1, (int64_t[]){ 3 }, NULL,
	        expr_scalar(f.arena, SCALAR_where, below(&f, any, 5), five, five)->arg[0]);
	assert_bounds(any, INT64_MIN, INT64_MAX);
	assert_bounds(load(&f, n, var(&f, 0, 3), NULL), -128, 127);
	assert_bounds(expr_cast(f.arena, DTYPE_I64, load(&f, n, var(&f, 0, 3), NULL)), -128, 127);
	assert_bounds(of_c, -2, 8);
	assert_bounds(expr_scalar(f.arena, SCALAR_add, of_c, five, NULL), 3, 13);
	assert_bounds(expr_scalar(f.arena, SCALAR_add, any, five, NULL), INT64_MIN, INT64_MAX); /* it may wrap around */
	assert_bounds(
	        expr_scalar(f.arena, SCALAR_min, expr_scalar(f.arena, SCALAR_max, any, of_c, NULL), five, NULL), -2, 5);
	assert_bounds(expr_scalar(f.arena, SCALAR_where, any, of_c, expr_integer(f.arena, DTYPE_I64, 20)), -2, 20);
	assert_bounds(load(&f, order, var(&f, 0, 2), NULL), 0, 2);
	assert_bounds(load(&f, first, NULL, NULL), 0, 1);
	assert_bounds(expr_index(f.arena, index_plus(f.arena, index_scale(f.arena, var(&f, 0, 3), -2), 1)), -3, 1);
	build_release(&f.build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_maxima_of_rows),
		cmocka_unit_test(contractions),
		cmocka_unit_test(squares),
		cmocka_unit_test(window_with_pads),
		cmocka_unit_test(values_as_indices),
		cmocka_unit_test(chain_in_double),
		cmocka_unit_test(folds_what_is_constant),
		cmocka_unit_test(every_failed_allocation_is_survived),
		cmocka_unit_test(prints_as_read),
		cmocka_unit_test(terms_that_have_places),
		cmocka_unit_test(a_check_ends_a_run),
		cmocka_unit_test(checks_of_constants_are_settled),
		cmocka_unit_test(bounds_of_integers),
		cmocka_unit_test(a_check_of_a_branch_asks_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
