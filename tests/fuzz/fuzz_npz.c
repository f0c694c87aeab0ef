/* fuzz_npz.c: any bytes as .npz, and as .npy where they begin so: arrays, or one line and exit code 2, 3, 4 or 6, in 64
 * MiB. */
#include <stdlib.h>
#include "base/npz.h"

static void touch(const struct npy *npy)
{
	volatile unsigned char sum = 0;
	for (size_t i = 0; i < npy->bytes; i++)
		sum = (unsigned char)(sum + ((const unsigned char *)npy->data)[i]);
}

static void read_one(const uint8_t *data, size_t size, const char *name)
{
	struct build build;
	build_init(&build);
	build.arena->limit = 64 << 20;
	if (BUILD_TRY(&build)) {
		struct npy npy =
		        name ? npz_parse(&build, "fuzz", data, size, name) : npy_parse(&build, "fuzz", data, size);
		touch(&npy);
	}
	if (build.code != EXIT_RIGHT
	        && ((build.code != EXIT_USAGE && build.code != EXIT_INVALID && build.code != EXIT_UNSUPPORTED
	                    && build.code != EXIT_LIMIT)
	                || !*build.message))
		abort();
	build_release(&build);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && *data == 0x93) {
		read_one(data, size, NULL);
		return 0;
	}
	struct build build;
	build_init(&build);
	build.arena->limit = 64 << 20;
	struct npz_names names = { 0 };
	if (BUILD_TRY(&build))
		names = npz_names_in(&build, "fuzz", data, size);
	for (size_t i = 0; i < names.count && i < 4; i++)
		read_one(data, size, names.at[i]);
	build_release(&build);
	return 0;
}
