/* onnx_wire.h: protobuf's wire format over a range of bytes.  Copies nothing, allocates nothing, reads nothing outside
 * the range: a length is compared with what is left before it is used.  What is broken ends the build with EXIT_INVALID
 * and the byte where it stands.
 *
 *     struct wire w = wire_of(&file, data, size);
 *     for (struct wire_field f; wire_next(&w, &f);)
 *             if (f.number == 7)
 *                     read_graph(wire_bytes(&f));
 *
 * Unknown fields are skipped; groups (deprecated, used by no ONNX file) are refused. */
#ifndef FRONTENDS_ONNX_WIRE_H
#define FRONTENDS_ONNX_WIRE_H
#include "base/base.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "constants are borrowed from the file as they are: a little-endian host is needed"
#endif

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct wire_file {
	struct build *build;
	const char *name;
	const uint8_t *start;
};
struct wire {
	const uint8_t *at, *end;
	const struct wire_file *file;
};
struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;    /* of a varint, or the bits of a 64 or 32 bit field */
	struct wire bytes; /* of WIRE_BYTES */
	const struct wire_file *file;
};

struct wire wire_of(const struct wire_file *, const void *at, size_t bytes);
bool wire_next(struct wire *, struct wire_field *); /* false at the end */
uint64_t wire_varint(struct wire *);

/* The content of a field; EXIT_INVALID where its wire type is another. */
struct wire wire_bytes(const struct wire_field *);
int64_t wire_int(const struct wire_field *);
float wire_float(const struct wire_field *);
static inline size_t wire_left(struct wire w) { return (size_t)(w.end - w.at); }

/* The numbers of a repeated field, which stand packed, one by one, or both; `type` is that of one number. */
struct wire_numbers {
	struct wire message, packed;
	uint32_t number;
	enum wire_type type;
};
struct wire_numbers wire_numbers(struct wire message, uint32_t number, enum wire_type type);
bool wire_number(struct wire_numbers *, uint64_t *value);
size_t wire_count(struct wire message, uint32_t number, enum wire_type type);

/* The length of a repeated field that holds no numbers. */
size_t wire_repeats(struct wire message, uint32_t number);
#endif
