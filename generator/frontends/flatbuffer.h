/* flatbuffer.h: FlatBuffers, read in place.  A table begins with an int32, the way back to its vtable; a vtable with
 * its bytes and the table's, as uint16, then an uint16 for each field: where it lies in the table, 0 where it is not
 * there.  An offset, uint32, counts from where it stands; a vector is an uint32 of elements, then those.
 *
 * Whatever is handed out lies inside the file: else EXIT_INVALID, which names the byte and the table. */
#ifndef FRONTENDS_FLATBUFFER_H
#define FRONTENDS_FLATBUFFER_H
#include "graph/graph.h"

struct flat {
	struct build *build;
	const char *file; /* for messages */
	const uint8_t *at;
	size_t bytes;
};
/* One table.  A `name` of NULL: it is not there, and has no fields. */
struct table {
	const struct flat *flat;
	const char *name; /* of its kind, for messages; NULL: not there */
	size_t at, vtable;
	unsigned vtable_bytes, bytes;
};
struct vector {
	const struct flat *flat; /* NULL: it is not there, and has no elements */
	const char *name;        /* of its table */
	size_t at, count, width;
};

struct table flat_root(const struct flat *, const char *name);
/* "FILE: byte 120: Tensor", of a table, for messages. */
const char *table_where(const struct table *);
void table_must(const struct table *, bool right, const char *what);                 /* EXIT_INVALID else */
int64_t table_int(const struct table *, int field, size_t width, int64_t otherwise); /* of 1, 4 or 8 bytes, signed */
float table_float(const struct table *, int field, float otherwise);
struct table table_table(const struct table *, int field, const char *name);
struct vector table_vector(const struct table *, int field, size_t width);
struct bytes table_text(const struct table *, int field); /* "" where it is not there */
/* Element i, which must be there. */
struct table vector_table(const struct vector *, size_t i, const char *name);
int64_t vector_int(const struct vector *, size_t i); /* of the width that was asked for, signed */
float vector_float(const struct vector *, size_t i);
#endif
