/* hash.c: xxhash behind one function. */
#include "base/base.h"
#include <xxhash.h>

struct hash {
	XXH64_state_t *state;
};

struct hash *hash_begin(struct build *build)
{
	struct hash *hash = arena_new(build->arena, struct hash);
	hash->state = XXH64_createState();
	if (!hash->state)
		fail(build, EXIT_LIMIT, NULL, "out of memory");
	XXH64_reset(hash->state, 0);
	return hash;
}

void hash_add(struct hash *hash, const void *bytes, size_t count) { XXH64_update(hash->state, bytes, count); }

uint64_t hash_end(struct hash *hash)
{
	uint64_t value = XXH64_digest(hash->state);
	XXH64_freeState(hash->state);
	return value;
}

uint64_t hash_bytes(const void *bytes, size_t count, uint64_t seed) { return XXH64(count ? bytes : "", count, seed); }
