/* near.c: limits from facts of the target: near.h has a row for each. */
#include "kernels/kernels.h"

int64_t near_bytes(const struct target *target, enum near near)
{
	static const struct {
		size_t cache;
		int part;
		int64_t most;
	} rows[] = {
#define N(name, cache, part, most, what) { offsetof(struct target, cache), part, most },
#include "kernels/near.h"
#undef N
	};
	int64_t bytes =
	        *(const int64_t *)(const void *)((const char *)target + rows[near].cache) / 32 * rows[near].part;
	return bytes > rows[near].most && !target->hides_latency ? rows[near].most : bytes;
}

const char *near_what(enum near near)
{
	static const char *const what[] = {
#define N(name, cache, part, most, what) what,
#include "kernels/near.h"
#undef N
	};
	return what[near];
}
