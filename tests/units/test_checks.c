/* test_checks.c: the checkers catch what they are there for: an array's elements in statements, given the loops and
 * selects around; and every test runs with them. */
#include "unit.h"
#include "loops/loops.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct target target = { .lanes = 4 };

static struct loops *loops_empty(struct build *build)
{
	struct loops *loops = arena_new(build->arena, struct loops);
	loops->build = build;
	loops->arena = build->arena;
	loops->target = &target;
	return loops;
}

static struct stmt *add(struct loops *loops, struct block *block, enum stmt_kind kind)
{
	struct stmt *stmt = stmt_new(loops, kind);
	block_add(loops, block, stmt);
	return stmt;
}

static struct cell *add_array(struct loops *loops, int64_t size)
{
	struct stmt *stmt = add(loops, &loops->body, STMT_ARRAY);
	return stmt->cell = cell_new(loops, CELL_ARRAY, "row", DTYPE_F32, size);
}

static struct stmt *add_loop(struct loops *loops, int64_t extent, int64_t step)
{
	struct stmt *stmt = add(loops, &loops->body, STMT_FOR);
	stmt->var = var_new(loops, "i", extent);
	stmt->extent = extent;
	stmt->step = step;
	stmt->role = ROLE_MAP;
	return stmt;
}

static void add_store(struct loops *loops, struct block *block, struct cell *cell, const struct index *at,
        const struct expr *value, int lane, int left)
{
	struct stmt *stmt = add(loops, block, STMT_STORE);
	stmt->cell = cell;
	stmt->at = at;
	stmt->value = value;
	stmt->lane = lane;
	stmt->left = left;
}

/* A vector of `left` lanes (0: all) stored along a loop of `extent` in steps of four. */
static void steps(struct build *build, int64_t size, int64_t extent, int left)
{
	struct loops *loops = loops_empty(build);
	struct cell *row = add_array(loops, size);
	struct stmt *loop = add_loop(loops, extent, 4);
	add_store(loops, &loop->body, row, index_var(loops->arena, loop->var, extent),
	        expr_number(loops->arena, DTYPE_F32, 1), loop->var, left);
	loops_check(loops);
}

/* other[i] = i >= from ? row[(i - shift) / by] : 0, i < 8 */
static void selects(struct build *build, int64_t size, int64_t from, int64_t shift, int64_t by)
{
	struct loops *loops = loops_empty(build);
	struct cell *row = add_array(loops, size), *other = add_array(loops, 8);
	struct stmt *loop = add_loop(loops, 8, 1);
	const struct index *i = index_var(loops->arena, loop->var, 8);
	struct range range = { i, from, 8 };
	add_store(loops, &loop->body, other, i,
	        expr_select(loops->arena, &range, 1,
	                cell_load(loops, row, index_div(loops->arena, index_plus(loops->arena, i, -shift), by)),
	                expr_number(loops->arena, DTYPE_F32, 0)),
	        -1, 0);
	loops_check(loops);
}

static bool passes(int test)
{
	int status;
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		struct build build;
		build_init(&build);
		fclose(stderr);
		switch (test) {
		case 0: steps(&build, 8, 8, 0); break;
		case 1: steps(&build, 7, 8, 0); break;
		case 2: steps(&build, 7, 8, 3); break;
		case 3: steps(&build, 6, 8, 3); break;
		case 4: selects(&build, 4, 4, 4, 1); break;
		case 5: selects(&build, 4, 3, 4, 1); break;
		case 6: selects(&build, 3, 4, 4, 1); break;
		case 7: selects(&build, 2, 4, 4, 2); break;
		case 8: selects(&build, 2, 3, 4, 2); break;
		}
		_exit(0);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
	return status == 0;
}

static void test_steps(void **state)
{
	(void)state;
	assert_true(passes(0));
	assert_false(passes(1));
	assert_true(passes(2));
	assert_false(passes(3));
}

static void test_selects(void **state)
{
	(void)state;
	assert_true(passes(4));
	assert_false(passes(5));
	assert_false(passes(6));
	assert_true(passes(7));
	assert_false(passes(8));
}

static void test_environment(void **state)
{
	struct build build;
	(void)state;
	setenv("INGOT_CHECK", "1", 1);
	build_init(&build);
	assert_true(build.check);
	build_release(&build);
	unsetenv("INGOT_CHECK");
	build_init(&build);
	assert_false(build.check);
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_steps), cmocka_unit_test(test_selects),
		cmocka_unit_test(test_environment) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
