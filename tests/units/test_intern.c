/* test_intern.c: equal indices and expressions are one pointer, within an arena and those around it, and know what is
 * in them. */
#include "unit.h"
#include "definitions/definitions.h"

static struct build build;
#define A build.arena
enum { DRAWN = 400, LAST_VAR = 80 };
static struct definition x = { .name = "x", .type = DTYPE_F32, .rank = 2, .extents = { 64, 64 } };
static struct definition places = { .name = "places", .type = DTYPE_I64, .rank = 1, .extents = { 64 } };

static uint64_t seed;
static int draw(int n) { return (int)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33) % n; }

static const struct index *draw_index(struct arena *arena, bool *uses)
{
	int var = draw(LAST_VAR);
	const struct index *index = index_var(arena, var, 64);
	uses[var] = true;
	switch (draw(4)) {
	case 0: return index_div(arena, index_plus(arena, index, draw(5)), 2 + draw(3));
	case 1: return index_add(arena, index_scale(arena, index, 2 + draw(3)), index_constant(arena, draw(9)));
	case 2: return index_value(arena, expr_load(arena, &places, &index), 0, 63);
	default: return index;
	}
}

/* With `uses`: the variables in it. */
static const struct expr *draw_expr(struct arena *arena, int depth, bool *uses)
{
	const struct index *at[2];
	struct range range;
	switch (depth ? draw(6) : draw(2)) {
	case 0: return expr_number(arena, DTYPE_F32, draw(3) - 1);
	case 1:
		at[0] = draw_index(arena, uses);
		at[1] = draw_index(arena, uses);
		return expr_load(arena, &x, at);
	case 2:
		range = (struct range){ draw_index(arena, uses), 1 + draw(2), 3 + draw(4) };
		const struct expr *yes = draw_expr(arena, depth - 1, uses), *no = draw_expr(arena, depth - 1, uses);
		return expr_select(arena, &range, 1, yes, no);
	case 3: return expr_cast(arena, DTYPE_F32, expr_cast(arena, DTYPE_F16, draw_expr(arena, depth - 1, uses)));
	default: {
		const struct expr *a = draw_expr(arena, depth - 1, uses), *b = draw_expr(arena, depth - 1, uses);
		return expr_scalar(arena, draw(2) ? SCALAR_add : SCALAR_mul, a, b, NULL);
	}
	}
}

static void what_is_made_again_is_the_same(void **state)
{
	(void)state;
	struct arena inner;
	arena_init(&inner, &build);
	for (int i = 0; i < DRAWN; i++) {
		bool uses[LAST_VAR] = { false };
		seed = (uint64_t)i;
		const struct expr *first = draw_expr(A, 4, uses);
		size_t in_use = 0;
		for (int again = 0; again < 2; again++) { /* the first may open a block for what it makes and drops */
			in_use = A->used;
			seed = (uint64_t)i;
			assert_ptr_equal(draw_expr(A, 4, uses), first);
		}
		seed = (uint64_t)i;
		assert_ptr_equal(draw_expr(&inner, 4, uses), first);
		assert_true(expr_equal(first, first));
		assert_int_equal(A->used, in_use);
	}
	arena_release(&inner);
}

static void what_differs_is_not(void **state)
{
	(void)state;
	const struct index *i = index_var(A, 0, 64), *at[2] = { i, i }, *below[2] = { index_var(A, 0, 32), i };
	assert_ptr_not_equal(expr_number(A, DTYPE_F32, 0), expr_number(A, DTYPE_F32, -0.0));
	assert_ptr_not_equal(expr_number(A, DTYPE_F32, 1), expr_number(A, DTYPE_F64, 1));
	assert_ptr_not_equal(expr_load(A, &x, at), expr_load(A, &x, below));    /* bounds are part of it … */
	assert_true(expr_equal(expr_load(A, &x, at), expr_load(A, &x, below))); /* … but not of what it is */
	assert_ptr_equal(index_add(A, i, index_scale(A, i, -1)), index_constant(A, 0));
	const struct range narrow = { i, 1, 3 }, wide = { i, 1, 4 };
	const struct expr *a = expr_load(A, &x, at), *zero = expr_number(A, DTYPE_F32, 0);
	assert_ptr_not_equal(expr_select(A, &narrow, 1, a, zero), expr_select(A, &wide, 1, a, zero));
}

/* An arena that is gone leaves nothing, also at the address of what was there. */
static void arenas_forget(void **state)
{
	(void)state;
	struct arena inner;
	arena_init(&inner, &build);
	for (int round = 0; round < 3; round++) {
		struct definition *own = arena_new(&inner, struct definition);
		*own = (struct definition){ .name = "own", .type = round % 2 ? DTYPE_F32 : DTYPE_F64 };
		const struct expr *load = expr_load(&inner, own, NULL);
		assert_int_equal(load->type, own->type);
		assert_ptr_equal(expr_load(&inner, own, NULL), load);
		arena_release(&inner);
	}
}

static void variables_are_known(void **state)
{
	(void)state;
	for (int i = 0; i < DRAWN; i++) {
		bool uses[LAST_VAR] = { false };
		seed = (uint64_t)i;
		const struct expr *sum = expr_scalar(
		        A, SCALAR_add, draw_expr(A, 0, uses), expr_cast(A, DTYPE_F32, draw_expr(A, 0, uses)), NULL);
		for (int v = 0; v < LAST_VAR; v++)
			assert_int_equal(expr_uses(sum, v), uses[v]);
		assert_false(expr_uses(sum, -1)); /* no lane */
	}
}

static void costs_add_up(void **state)
{
	(void)state;
	const struct index *at[2] = { index_var(A, 0, 64), index_var(A, 1, 64) };
	const struct expr *load = expr_load(A, &x, at), *sum = expr_scalar(A, SCALAR_add, load, load, NULL);
	assert_int_equal(expr_cost(sum), scalars[SCALAR_add].cost + 2);
	assert_true(expr_has(sum, 1u << EXPR_LOAD) && !expr_has(sum, 1u << EXPR_SELECT | 1u << EXPR_INDEX));
	for (int i = 0; i < 64; i++) /* as a tree 2^64 loads */
		sum = expr_scalar(A, SCALAR_add, sum, sum, NULL);
	assert_int_equal(expr_cost(sum), EXPR_COST_MOST);
}

static enum visit count(void *user, const struct expr *expr)
{
	(void)expr;
	++*(int *)user;
	return VISIT_PARTS;
}

/* What shares its parts at every level is walked level by level; as a tree it would never end. */
static void shared_parts_are_walked_once(void **state)
{
	(void)state;
	enum { LEVELS = 200 };
	const struct index *at[2] = { index_var(A, 0, 64), index_var(A, 1, 64) }, *with[LAST_VAR] = { at[1], at[0] };
	const struct expr *sum = expr_load(A, &x, at), *before = sum, *other = expr_load(A, &x, with),
	                  *other_before = other;
	for (int i = 0; i < LEVELS; i++) {
		const struct expr *next = expr_scalar(A, SCALAR_add, sum, i % 2 ? before : sum, NULL);
		const struct expr *other_next = expr_scalar(A, SCALAR_add, other, i % 2 ? other_before : other, NULL);
		before = sum, sum = next;
		other_before = other, other = other_next;
	}
	int visits = 0;
	assert_false(expr_visit(sum, count, &visits));
	assert_in_range(visits, LEVELS + 1, 8 * LEVELS);
	assert_ptr_equal(expr_substitute(A, sum, with), other);
	struct numbering parts = { .arena = A };
	assert_int_equal(number_expr(&parts, sum), LEVELS);
}

/* Each part once, after what it is made of. */
static void numbers_follow_their_arguments(void **state)
{
	(void)state;
	struct numbering parts = { .arena = A };
	for (int i = 0; i < DRAWN; i++) {
		bool uses[LAST_VAR] = { false };
		seed = (uint64_t)i;
		const struct expr *root = draw_expr(A, 5, uses);
		int number = number_expr(&parts, root);
		assert_int_equal(number_find(&parts, root), number);
		assert_ptr_equal(parts.all.at[number].expr, root);
	}
	int args = 0, users = 0;
	for (size_t i = 0; i < parts.all.count; i++) {
		const struct numbered *part = &parts.all.at[i];
		users += part->uses;
		for (int k = 0; k < 3; k++) {
			assert_true(part->arg[k] < (int)i && (part->arg[k] >= 0) == (part->expr->arg[k] != NULL));
			if (part->arg[k] >= 0)
				assert_ptr_equal(parts.all.at[part->arg[k]].expr, part->expr->arg[k]);
			args += part->arg[k] >= 0;
		}
		for (size_t k = 0; k < i && i < 50; k++)
			assert_ptr_not_equal(parts.all.at[k].expr, part->expr);
	}
	assert_int_equal(users, args + DRAWN);
}

static void what_a_line_repeats_has_a_name(void **state)
{
	(void)state;
	struct program *program = program_new(&build, "parts");
	const int64_t extents[] = { 64, 64 };
	struct definition *in = define_input(program, "data", DTYPE_F32, 2, extents);
	const struct index *i = index_var(A, 0, 64), *j = index_var(A, 1, 64);
	const struct expr *here = expr_load(A, in, (const struct index *[]){ i, j }),
	                  *there = expr_load(A, in,
	                          (const struct index *[]){ index_mod(A, index_plus(A, i, 1), 64),
	                                  index_mod(A, index_plus(A, j, 1), 64) });
	const struct expr *sum = expr_scalar(A, SCALAR_add, there, here, NULL),
	                  *bent = expr_scalar(A, SCALAR_relu, expr_scalar(A, SCALAR_mul, sum, there, NULL), NULL, NULL);
	define_map(program, "y", 2, extents,
	        expr_scalar(A, SCALAR_mul, bent, expr_scalar(A, SCALAR_sub, bent, here, NULL), NULL));
	struct text text;
	text_init(&text, &build);
	program_print(program, &text);
	assert_string_equal(text.at,
	        "program parts\n"
	        "data float[64,64]    input\n"
	        "y float[64,64] = v1 * (v1 - data[i0, i1])\n"
	        "    v0 = data[(i0 + 1)%64, (i1 + 1)%64]\n"
	        "    v1 = relu((v0 + data[i0, i1]) * v0)\n");
	text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_made_again_is_the_same),
		cmocka_unit_test(what_differs_is_not),
		cmocka_unit_test(arenas_forget),
		cmocka_unit_test(variables_are_known),
		cmocka_unit_test(costs_add_up),
		cmocka_unit_test(shared_parts_are_walked_once),
		cmocka_unit_test(numbers_follow_their_arguments),
		cmocka_unit_test(what_a_line_repeats_has_a_name),
	};
	build_init(&build);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	build_release(&build);
	return failed;
}
