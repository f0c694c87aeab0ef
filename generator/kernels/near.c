/* near.c: limits from facts of the target: near.h has a row for each. */
#include "kernels/kernels.h"

/* Some of it lies on the stack, so of a larger cache so much counts. */
enum { L2_COUNTED = 2 << 20 };

int64_t near_bytes(const struct target *target, enum near near)
{
	static const struct { size_t cache; int part; } rows[] = {
#define N(name, cache, part, what) { offsetof(struct target, cache), part },
#include "kernels/near.h"
#undef N
	};
	int64_t bytes = *(const int64_t *)(const void *)((const char *)target + rows[near].cache);
	if (!target->hides_latency && bytes > L2_COUNTED)
		bytes = L2_COUNTED;
	return bytes * rows[near].part / 32;
}

const char *near_what(enum near near)
{
	static const char *const what[] = {
#define N(name, cache, part, what) what,
#include "kernels/near.h"
#undef N
	};
	return what[near];
}
