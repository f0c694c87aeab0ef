/* hash.c: xxhash behind one function. */
#include "base/base.h"
#include <xxhash.h>

uint64_t hash_bytes(const void *bytes, size_t count, uint64_t seed) { return XXH64(count ? bytes : "", count, seed); }
