/* test_index.c: the normal form of indices.  Every rule is checked by evaluating both sides over all assignments. */
#include "unit.h"
#include "definitions/definitions.h"

static struct build build;
#define A build.arena
static const char *const names[MAX_VARS] = { "i", "j", "k", "l" };

static const char *text_of(const struct index *index)
{
	static char kept[256];
	struct text text;
	text_init(&text, &build);
	index_print(index, names, &text);
	snprintf(kept, sizeof kept, "%s", text.at);
	text_release(&text);
	return kept;
}

static void reshape_of_parts_is_one_variable(void **state)
{
	(void)state;
	const int64_t extents[] = { 1, 16, 4, 4 };
	const struct index *k = index_var(A, 0, 256), *at[4];
	index_unflatten(A, k, 4, extents, at);
	assert_string_equal(text_of(at[1]), "(i)/16");
	assert_string_equal(text_of(index_flatten(A, 4, at, extents)), "i");
	const int64_t other[] = { 8, 32 };
	const struct index *to[2];
	index_unflatten(A, index_flatten(A, 4, at, extents), 2, other, to);
	assert_string_equal(text_of(to[0]), "(i)/32");
}

static void merged_variables_come_apart(void **state)
{
	(void)state;
	const struct index *i = index_var(A, 0, 8), *j = index_var(A, 1, 16);
	const struct index *flat = index_add(A, index_scale(A, i, 16), j);
	assert_string_equal(text_of(index_div(A, flat, 16)), "i");
	assert_string_equal(text_of(index_mod(A, flat, 16)), "j");
	assert_string_equal(text_of(index_div(A, flat, 32)), "(i)/2");
	assert_string_equal(text_of(index_mod(A, flat, 32)), "j + 16*((i)%2)");
	assert_string_equal(text_of(index_plus(A, index_add(A, i, index_scale(A, j, -2)), -1)), "i - 2*j - 1");
}

/* A tile's vectors read what lies in one piece as such: columns are moved before they are taken apart. */
static void parts_of_a_moved_variable_join_again(void **state)
{
	(void)state;
	const int64_t shapes[][4] = { { 2, 2, 2, 3 }, { 3, 3, 1, 5 }, { 4, 2, 3, 2 }, { 1, 7, 2, 3 } };
	FOR (s, (int64_t)(sizeof shapes / sizeof *shapes))
		FOR (by, 24) {
			const int64_t all = shapes[s][0] * shapes[s][1] * shapes[s][2] * shapes[s][3];
			const struct index *with[MAX_VARS] = { 0 }, *at[4];
			for (int64_t there = 2; by + there <= all; there++) {
				const struct index *moved = index_plus(A, index_var(A, 0, there), by);
				index_unflatten(A, index_var(A, 0, all), 4, shapes[s], at);
				with[0] = moved;
				FOR (d, 4)
					at[d] = index_substitute(A, at[d], with);
				assert_true(index_equal(index_flatten(A, 4, at, shapes[s]), moved));
			}
		}
}

static void random_trees_keep_their_value(void **state)
{
	(void)state;
	const int64_t extents[] = { 3, 4, 5, 6 };
	uint64_t seed = 1;
	for (int round = 0; round < 3000; round++) {
		/* a random tree evaluated twice: by its normal form, and step by step at one assignment after another
		 */
		const struct index *index = index_constant(A, (int64_t)(seed >> 60));
		struct {
			int op;
			int64_t number;
		} steps[12];
		int count = 3 + (int)(seed >> 33) % 9;
		for (int s = 0; s < count; s++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			steps[s].op = (int)(seed >> 40) % 5;
			steps[s].number = 1 + (int64_t)(seed >> 50) % 7;
			int var = (int)(steps[s].number % 4);
			switch (steps[s].op) {
			case 0:
				index = index_add(
				        A, index, index_scale(A, index_var(A, var, extents[var]), steps[s].number - 3));
				break;
			case 1: index = index_scale(A, index, steps[s].number - 2); break;
			case 2: index = index_div(A, index, steps[s].number); break;
			case 3: index = index_mod(A, index, steps[s].number); break;
			case 4:
				index = index_add(A,
				        index_scale(A, index_div(A, index, steps[s].number), steps[s].number),
				        index_mod(A, index, steps[s].number));
				break;
			}
		}
		int64_t low, high, first = (int64_t)0;
		(void)first;
		index_range(index, &low, &high);
		for (int64_t all = 0; all < 360; all += 7) {
			int64_t v[4] = { all % 3, all / 3 % 4, all / 12 % 5, all / 60 },
			        got = index_evaluate(index, v, NULL, NULL), want;
			const struct index *with[MAX_VARS] = { 0 };
			for (int d = 0; d < 4; d++)
				with[d] = index_constant(A, v[d]);
			assert_true(low <= got && got <= high);
			assert_true(index_is_constant(index_substitute(A, index, with), &want));
			assert_int_equal(got, want);
		}
		if (round % 100 == 0) {
			build_release(&build);
			build_init(&build);
		}
	}
}

static void steps_agree_with_plain_arithmetic(void **state)
{
	(void)state;
	for (int64_t n = 1; n < 13; n++)
		for (int64_t f = -7; f < 8; f++)
			for (int64_t c = -9; c < 10; c++) {
				const struct index *x = index_plus(
				        A, index_add(A, index_scale(A, index_var(A, 0, 5), f), index_var(A, 1, 6)), c);
				const struct index *q = index_div(A, x, n), *r = index_mod(A, x, n);
				for (int64_t i = 0; i < 5; i++)
					for (int64_t j = 0; j < 6; j++) {
						int64_t v[] = { i, j }, value = f * i + j + c,
						        rest = ((value % n) + n) % n;
						assert_int_equal(index_evaluate(r, v, NULL, NULL), rest);
						assert_int_equal(index_evaluate(q, v, NULL, NULL), (value - rest) / n);
					}
				assert_true(index_equal(index_add(A, index_scale(A, q, n), r), x));
			}
}

/* A symbol stands in text as itself; bounds and values are those of its value. */
static void symbols_follow_their_variables(void **state)
{
	(void)state;
	const struct index *i = index_var(A, 0, 8),
	                   *row = index_symbol(A, 3, 100, index_plus(A, index_scale(A, i, 2), 5)),
	                   *with[MAX_VARS] = { 0 };
	int64_t low, high, v[MAX_VARS] = { 7 };
	assert_string_equal(text_of(row), "5*(s3) + 2*(s3*i)");
	index_range(row, &low, &high);
	assert_int_equal(low, 500);
	assert_int_equal(high, 1900);
	assert_int_equal(index_evaluate(row, v, NULL, NULL), 1900);
	assert_int_equal(index_factor(row, 0), 0);
	assert_true(index_uses(row, 0) && index_bends(row, 0) && !index_is_affine(row));
	with[0] = index_constant(A, 1);
	assert_string_equal(text_of(index_substitute(A, row, with)), "7*(s3)");
	with[0] = index_plus(A, i, -5);
	assert_string_equal(text_of(index_substitute(A, row, with)), "-5*(s3) + 2*(s3*i)");
	assert_true(index_equal(index_add(A, row, index_scale(A, row, -1)), index_constant(A, 0)));
	assert_false(index_equal(row, index_symbol(A, 4, 100, index_plus(A, index_scale(A, i, 2), 5))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reshape_of_parts_is_one_variable),
		cmocka_unit_test(merged_variables_come_apart),
		cmocka_unit_test(steps_agree_with_plain_arithmetic),
		cmocka_unit_test(parts_of_a_moved_variable_join_again),
		cmocka_unit_test(random_trees_keep_their_value),
		cmocka_unit_test(symbols_follow_their_variables),
	};
	build_init(&build);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	build_release(&build);
	return failed;
}
