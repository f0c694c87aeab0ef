/* test_pool.c: the benches' parallel-for takes each index once, also in short loops, and after its helpers slept. */
#include "../../bench/engines/engine.h"
#include "../units/unit.h"

#include <stdatomic.h>
#include <unistd.h>

enum { MOST = 1000 };

struct tally {
	atomic_int taken[MOST];
	int count;
};

static void take(void *argument, int index)
{
	struct tally *tally = argument;
	assert_in_range(index, 0, tally->count - 1);
	atomic_fetch_add(&tally->taken[index], 1);
}

static void loop(int count)
{
	static struct tally tally;
	tally.count = count;
	for (int i = 0; i < MOST; i++)
		atomic_store(&tally.taken[i], 0);
	pool_run(NULL, take, &tally, count);
	for (int i = 0; i < MOST; i++)
		assert_int_equal(atomic_load(&tally.taken[i]), i < count);
}

static void each_index_once(void **state)
{
	(void)state;
	for (int count = 0; count <= MOST; count += count < 10 ? 1 : 99)
		loop(count);
	for (int i = 0; i < 20000; i++)
		loop(1 + i % 4);
}

static void after_sleep(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		loop(3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_index_once), cmocka_unit_test(after_sleep) };
	pool_start(3);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
