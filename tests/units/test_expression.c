/* Expressions as C text: levels of operators, addresses, vectors, names for what is shared. */
#include "emit/emit.h"
#include "unit.h"

static struct build build;
static struct scheduled x = { .of = { .name = "x", .type = DTYPE_F32, .rank = 3, .extents = { 16, 16, 32 } },
	.stride = { 512, 32, 1 } };
static const char *const names[] = { "i", "j", "c" };

static const char *buffer(void *user, const struct definition *of)
{
	(void)user;
	return of->name;
}
static struct printer printer_for(int lanes, int lane)
{
	static struct target targets[2] = { { .lanes = 1 }, { .lanes = 16 } };
	return (struct printer){
		.arena = build.arena, .target = &targets[lanes > 1], .lane = lane, .names = names, .buffer = buffer
	};
}
static const struct index *var(int v) { return index_var(build.arena, v, x.of.extents[v]); }
static const struct expr *load(int64_t plus)
{
	const struct index *at[] = { var(0), index_plus(build.arena, var(1), plus), var(2) };
	return expr_load(build.arena, &x.of, at);
}
static const struct expr *row(enum scalar s, const struct expr *a, const struct expr *b)
{
	return expr_scalar(build.arena, s, a, b, NULL);
}
static const struct expr *number(double n) { return expr_number(build.arena, DTYPE_F32, n); }

#define PRINTS(printer, expr, expected) assert_string_equal(printer_value(&printer, expr), expected)

static void test_levels(void **state)
{
	(void)state;
	struct printer p = printer_for(16, -1);
	const struct expr *a = number(2), *b = number(0.5), *c = number(0.1f);
	PRINTS(p, row(SCALAR_add, a, row(SCALAR_add, b, c)), "2.f + (0.5f + 0.100000001f)");
	PRINTS(p, row(SCALAR_add, row(SCALAR_sub, a, b), c), "2.f - 0.5f + 0.100000001f");
	PRINTS(p, row(SCALAR_mul, row(SCALAR_add, a, b), number(-1)), "(2.f + 0.5f) * -1.f");
	PRINTS(p, row(SCALAR_mul, a, row(SCALAR_mul, b, a)), "2.f * (0.5f * 2.f)");
	PRINTS(p, row(SCALAR_exp, row(SCALAR_sub, a, b), NULL), "s_exp(2.f - 0.5f)");
	PRINTS(p, number(-1.0 / 0.0), "(-1.f / 0.f)");
	p = printer_for(1, -1);
	PRINTS(p, row(SCALAR_max, a, number(-0.0)), "k_max(2.f, -0.f)");
	PRINTS(p, expr_integer(build.arena, DTYPE_I64, INT64_MIN), "(-9223372036854775807ll - 1)");
}

static void test_vectors(void **state)
{
	(void)state;
	struct printer p = printer_for(16, 2);
	PRINTS(p, row(SCALAR_relu, load(0), NULL), "k_relu(vec_load(x + 512 * i + 32 * j + c))");
	p.left = "5";
	PRINTS(p, load(-1), "vec_load_n(x + 512 * i + 32 * j + c - 32, 5, 0.f)");
	p = printer_for(16, 1);
	PRINTS(p, load(0), "vec_gather(x + 512 * i + 32 * j + c, 32)");
	p.names = (const char *const[]){ "i", "j", "c", "k" };
	p.lane = 3;
	PRINTS(p, load(0), "vec_set(x[512 * i + 32 * j + c])");
}

static void test_sharing(void **state)
{
	(void)state;
	struct printer p = printer_for(16, 2);
	const struct expr *once = row(SCALAR_sigmoid, load(0), NULL), *again = row(SCALAR_sigmoid, load(0), NULL);
	const struct expr *roots[] = { row(SCALAR_mul, load(0), once), row(SCALAR_add, again, number(1)) };
	printer_share(&p, roots, 2);
	PRINTS(p, roots[0], "v0 * v1");
	assert_int_equal(p.lets.count, 2);
	assert_string_equal(p.lets.at[1].value, "k_sigmoid(v0)");
	assert_string_equal(p.lets.at[1].type, "vec");
	p.lets.count = 0;
	PRINTS(p, roots[1], "v1 + vec_set(1.f)");
	assert_int_equal(p.lets.count, 0);
}

/* What a select has not chosen is not evaluated: no let stands for it. */
static void test_branches(void **state)
{
	(void)state;
	struct printer p = printer_for(16, 2);
	struct range inside = { index_plus(build.arena, var(1), -1), 0, 16 };
	const struct expr *guarded =
	        expr_select(build.arena, &inside, 1, row(SCALAR_mul, load(-1), load(-1)), number(0));
	PRINTS(p, guarded,
	        "j - 1 >= 0 ? (vec)(vec_load(x + 512 * i + 32 * j + c - 32) * vec_load(x + 512 * i + 32 * j + c - 32)) "
	        ": vec_set(0.f)");
	assert_int_equal(p.lets.count, 0);
	const struct expr *roots[] = { row(SCALAR_add, guarded, load(0)), row(SCALAR_add, guarded, number(1)) };
	printer_share(&p, roots, 2); /* the select as a whole may be named */
	PRINTS(p, roots[0], "v0 + vec_load(x + 512 * i + 32 * j + c)");
	assert_int_equal(p.lets.count, 1);
}

static void test_indices(void **state)
{
	(void)state;
	struct printer p = printer_for(16, -1);
	const struct index *i = var(0), *flat = index_add(build.arena, index_scale(build.arena, i, 10), var(1));
	assert_string_equal(printer_index(&p, index_div(build.arena, flat, 7)), "(10 * i + j) / 7");
	assert_string_equal(
	        printer_index(&p, index_mod(build.arena, index_plus(build.arena, i, -3), 5)), "(i + 2) % 5");
	assert_string_equal(printer_index(&p, index_plus(build.arena, index_scale(build.arena, i, -1), 15)), "-i + 15");
	assert_string_equal(
	        printer_index(&p, index_scale(build.arena, index_div(build.arena, var(1), 2), 3)), "3 * (j / 2)");
}

int main(void)
{
	build_init(&build);
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_levels), cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_sharing), cmocka_unit_test(test_branches), cmocka_unit_test(test_indices) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	build_release(&build);
	return failed;
}
