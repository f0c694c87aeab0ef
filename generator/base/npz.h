/* npz.h: NumPy's .npz files: zip archives (libzip) whose members NAME.npy are arrays.
 *
 * Read: what numpy.savez and numpy.savez_compressed write, and any zip of .npy files.  An archive's compressed members
 * may together have NPZ_UNPACKED_MOST bytes once unpacked, so that no small file fills the memory; stored ones are
 * bounded by the file. Written: stored members in the order given, no dates: same arrays, same bytes. EXIT_USAGE: the
 * file or the member is missing, or the file cannot be made; EXIT_INVALID: the archive or the member is broken;
 * EXIT_UNSUPPORTED: encrypted, or packed by a method that libzip lacks; EXIT_LIMIT: more than may be unpacked. */
#ifndef BASE_NPZ_H
#define BASE_NPZ_H
#include "base/npy.h"

#define NPZ_UNPACKED_MOST ((uint64_t)1 << 30)

bool npz_is(const char *path); /* by its ending, .npz */
struct npz_names {
	const char **at;
	size_t count;
}; /* without their .npy; in the build's arena */
struct npz_names npz_names(struct build *, const char *path);
struct npz_names npz_names_in(struct build *, const char *where, const void *bytes, size_t count);
struct npy npz_read(struct build *, const char *path, const char *name);
struct npy npz_parse(struct build *, const char *where, const void *bytes, size_t count, const char *name);

struct npz_array {
	const char *name;
	enum dtype type;
	int rank;
	const int64_t *extents;
	const void *data;
};
void npz_write(struct build *, const char *path, const struct npz_array *, size_t count);
#endif
