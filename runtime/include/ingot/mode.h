/* mode.h: memory modes, sharing, precision and their rules, as pure functions.  Runtime and generator compile the same
 * mode.c.
 *
 * A mode is a set of places a tensor may still live in; deciding is intersecting.  An empty intersection is a conflict.
 *
 *     virtual          computed where it is read
 *     local            scratch of one routine
 *     on_device        persists on the device, not seen by the host
 *     hosted_*         also has a host array: constant; changed on devices (host copy changes by downloads only);
 * volatile (device copy changes by uploads only)
 */
#ifndef INGOT_MODE_H
#define INGOT_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ingot/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ingot_mode {
	INGOT_MODE_NONE = 0, /* no place left: the result of a conflict */
	INGOT_VIRTUAL = 1,
	INGOT_LOCAL = 2,
	INGOT_ON_DEVICE = 4,
	INGOT_HOSTED_CONSTANT = 8,
	INGOT_HOSTED_CHANGED = 16,
	INGOT_HOSTED_VOLATILE = 32,
	INGOT_MODE_OPEN = 63,
	INGOT_DEVICE_ONLY = INGOT_LOCAL | INGOT_ON_DEVICE,
	INGOT_HOSTED_NONCONSTANT = INGOT_HOSTED_CHANGED | INGOT_HOSTED_VOLATILE,
	INGOT_HOSTED = INGOT_HOSTED_CONSTANT | INGOT_HOSTED_NONCONSTANT,
	INGOT_MATERIALIZED = INGOT_ON_DEVICE | INGOT_HOSTED,
	INGOT_NEVER_VIRTUAL = INGOT_LOCAL | INGOT_MATERIALIZED,
	INGOT_EFFECTIVELY_CONSTANT = INGOT_VIRTUAL | INGOT_HOSTED_CONSTANT,
};

enum ingot_sharing { INGOT_SHARING_OPEN, INGOT_PER_STREAM, INGOT_SHARED };

/* Who decided.  A default that settles an earlier decision is both: earlier * 1000 + later. */
/* clang-format off */
#define INGOT_PROVENANCES(P) \
	P(NOBODY, 0, "nobody") \
	P(VISITS, 1, "visited more often than inlining allows") \
	P(LOCAL_SIZE, 2, "the size threshold of locals") \
	P(DEFAULT_LOCAL, 3, "default to the most local") \
	P(USER, 10, "the program") \
	P(MODULE, 11, "a module's descriptor") \
	P(LINK_READ_ONLY, 35, "only read by a routine") \
	P(READ_FIRST, 36, "read before it is written") \
	P(INPUT, 37, "an input of a routine") \
	P(SCALAR_CONSTANT, 40, "a scalar constant") \
	P(MOVED, 41, "moves elements and computes nothing") \
	P(FEW_VISITS, 42, "computing it again costs less than a store and a load") \
	P(REDUCTION, 43, "a reduction") \
	P(FACTOR, 44, "a factor of a sum of products") \
	P(REWRITTEN, 45, "part of a rewritten convolution") \
	P(CROWD, 46, "its reader would read too many tensors") \
	P(WRAPPED, 49, "wraps an array") \
	P(SET_VALUES, 51, "values set by the host") \
	P(TRANSFER, 52, "a transfer") \
	P(OUTPUT, 53, "an output of a routine") \
	P(SHARED_CANDIDATE, 54, "read only in unrelated contexts") \
	P(SHARED_WRITER, 55, "written by a stream") \
	P(OTHER_ROUTINE, 56, "read by another routine") \
	P(QUERY, 60, "a query")
/* clang-format on */
enum ingot_provenance {
#define P(name, code, text) INGOT_BY_##name = code,
	INGOT_PROVENANCES(P)
#undef P
};
const char *ingot_provenance_text(enum ingot_provenance); /* NULL: no such code */

struct ingot_mode_state {
	uint32_t mode; /* a set of enum ingot_mode */
	uint32_t sharing;
	uint32_t provenance;
};

#define INGOT_LOCAL_BYTES 16384 /* larger ones are not put on a stack */

/* Each answers whether it could be done; on a conflict the state is as it was, and `why` (room of 200 bytes, or NULL)
 * says what met what, with both provenances. */
bool ingot_mode_update(struct ingot_mode_state *, uint32_t mode, enum ingot_provenance, char *why);
bool ingot_sharing_update(struct ingot_mode_state *, enum ingot_sharing, enum ingot_provenance, char *why);
void ingot_mode_settle(struct ingot_mode_state *, uint64_t bytes, enum ingot_provenance); /* to the most local */
bool ingot_mode_is_open(const struct ingot_mode_state *); /* more than one place is left */

/* What is decided already, whatever is decided later; nothing is settled by asking.  Virtual: no memory at all. */
bool ingot_mode_known_virtual(const struct ingot_mode_state *);
bool ingot_mode_known_not_virtual(const struct ingot_mode_state *);
bool ingot_mode_known_hosted(const struct ingot_mode_state *);
bool ingot_mode_known_constant(const struct ingot_mode_state *);
bool ingot_mode_known_volatile(const struct ingot_mode_state *);
bool ingot_mode_known_not_materialized(const struct ingot_mode_state *);
bool ingot_mode_known_shared(const struct ingot_mode_state *);
bool ingot_mode_known_not_cross_stream(const struct ingot_mode_state *);
bool ingot_mode_potentially_cross_stream(const struct ingot_mode_state *);

/* ---- precision ---- */

enum ingot_precision { INGOT_PRECISION_DEFAULT, INGOT_PRECISION_INFERRED, INGOT_PRECISION_SPECIFIED };

struct ingot_precision_state {
	uint32_t level, dtype;
	bool frozen;
};

/* Specified beats inferred beats default; two inferred promote; two specified must agree. */
bool ingot_precision_update(struct ingot_precision_state *, enum ingot_precision, enum ingot_dtype, char *why);
enum ingot_dtype ingot_dtype_promote(enum ingot_dtype, enum ingot_dtype);

/* ---- element types ---- */

uint32_t ingot_dtype_bits(enum ingot_dtype); /* 0: no numbers of fixed size (string), or unknown */
bool ingot_dtype_bytes(enum ingot_dtype, uint64_t count, uint64_t *bytes); /* false: overflow or unknown */
const char *ingot_dtype_name(enum ingot_dtype);                            /* "f32"; "?" if unknown */
bool ingot_dtype_parse(const char *, enum ingot_dtype *); /* false: the name of none, and nothing is written */
double ingot_dtype_get(enum ingot_dtype, const void *data, uint64_t index); /* 0 for types without numbers */
void ingot_dtype_set(
        enum ingot_dtype, void *data, uint64_t index, double value); /* rounds to nearest even, saturates ints */

/* ---- text of all types; what is printed parses back ---- */

size_t ingot_mode_text(uint32_t mode, enum ingot_sharing, char *text, size_t room); /* "hosted_changed shared" */
bool ingot_mode_parse(const char *, uint32_t *mode, enum ingot_sharing *);          /* false: not such a text */
/* "?", and false, where it is none. */
const char *ingot_sharing_name(enum ingot_sharing);
const char *ingot_precision_name(enum ingot_precision);
bool ingot_precision_parse(const char *, enum ingot_precision *);

#ifdef __cplusplus
}
#endif
#endif
