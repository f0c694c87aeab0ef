/* npy.h: NumPy's .npy files.
 *
 * Read: versions 1 to 3, either byte order, C or Fortran order (transposed), up to 16 dimensions, every numeric type of
 * dtypes.h that NumPy names.  Types NumPy does not know (bfloat16, float8) arrive as raw items, |V1 or |V2: `type` is
 * then DTYPE_NONE and `item` their bytes, and the caller, who knows what it expects, checks it. Written: version 1,
 * little-endian, C order; types without a NumPy name as |V1 and |V2; those below 8 bits are refused. EXIT_USAGE: the
 * file is missing; EXIT_INVALID: it is broken; EXIT_UNSUPPORTED: objects, records.
 * Strings (<U, |S) are UTF-8 here; written are <U, of strings as an array of one more dimension, their bytes. */
#ifndef BASE_NPY_H
#define BASE_NPY_H
#include "base/base.h"
#include "tables/tables.h"

enum { NPY_RANK = 16 };
struct npy {
	enum dtype type;
	size_t item; /* bytes of one element */
	int rank;
	int64_t extents[NPY_RANK];
	size_t width;     /* of strings: bytes of each in `data`, UTF-8 with zeros behind what is shorter … */
	bool points;      /* … whose file has characters of four bytes */
	const void *data; /* aligned to 16 bytes or more; in the build's arena */
	size_t bytes;
};
size_t string_length(const void *bytes, size_t width); /* without the zeros at its end */
struct npy npy_read(struct build *, const char *path);
struct npy npy_parse(struct build *, const char *where, const void *bytes, size_t count);
void npy_print(struct text *, enum dtype, int rank, const int64_t *extents, const void *data); /* the file's bytes */
void npy_write(struct build *, const char *path, enum dtype, int rank, const int64_t *extents, const void *data);
#endif
