/* plan.h: buffers with lifetimes -> offsets in slabs.  A pure function of its input: no memory is touched but the
 * arrays given and scratch, no thread, no clock, so the same buffers get the same offsets everywhere.  The generator
 * and the runtime compile this same file.
 *
 *     struct ingot_plan_buffer buffers[] = {
 *             { .bytes = 4096, .align = 64, .first = 0, .last = 1, .in_place_of = -1 },
 *             { .bytes = 4096, .align = 64, .first = 1, .last = 2, .in_place_of = 0 },    // may overwrite buffer 0
 *     };
 *     struct ingot_plan_slab slab;
 *     struct ingot_plan plan = { .buffers = buffers, .buffer_count = 2, .slabs = &slab, .slab_count = 1 };
 *     if (ingot_plan_place(&plan) == INGOT_PLAN_OK)  ... buffers[i].offset, slab.peak, slab.bound
 */
#ifndef INGOT_PLAN_H
#define INGOT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ingot_plan_status {
	INGOT_PLAN_OK,
	INGOT_PLAN_MEMORY,   /* scratch could not be allocated */
	INGOT_PLAN_INVALID,  /* `bad`: the buffer whose alignment, lifetime, slab, hint or use is no good */
	INGOT_PLAN_OVERFLOW, /* `bad`: the buffer at which offsets pass 2^63, or that is larger than the cap */
};

/* Steps are numbered in the order of submission.  With more than one lane (stream), two steps are ordered only within a
 * lane or through `after`, the earlier steps this one waits for. */
struct ingot_plan_step {
	uint32_t lane;
	const uint32_t *after;
	uint32_t after_count;
};

struct ingot_plan_buffer {
	uint64_t bytes;       /* 0 is legal: it gets an offset and takes no room */
	uint64_t align;       /* a power of two; 0 means 1 */
	uint32_t first, last; /* the first and the last step that touch it, both included */
	uint32_t slab;        /* buffers of unequal slabs never share memory */
	int32_t in_place_of;  /* a buffer of the same slab, last read in step `first` of this one, whose place this
	                       * one may take (exactly: same offset); -1: none */
	const uint32_t *uses; /* with lanes: every step that touches it; NULL: all steps first..last */
	uint32_t use_count;
	uint64_t offset; /* written */
};

struct ingot_plan_slab {
	uint64_t peak;  /* bytes the slab needs */
	uint64_t bound; /* the largest live set: no placement needs less.  With lanes it is the largest set that
	                 * is live at one step, which a schedule may have to exceed */
	uint64_t align; /* the largest alignment asked for */
};

struct ingot_plan {
	struct ingot_plan_buffer *buffers;
	uint32_t buffer_count;
	struct ingot_plan_slab *slabs;
	uint32_t slab_count;
	const struct ingot_plan_step *steps; /* NULL: one lane */
	uint32_t step_count, lane_count;
	uint64_t effort; /* pairs of buffers to look at before the search ends; 0: the default */
	void *(*allocate)(void *user, size_t bytes); /* scratch; NULL: malloc and free */
	void (*release)(void *user, void *);         /* NULL with allocate given: an arena keeps it */
	void *user;
	uint32_t bad;      /* written with an error */
	const char *order; /* written: the order that won, for reports */
};

/* Writes offsets, peaks and bounds; INGOT_PLAN_INVALID, INGOT_PLAN_OVERFLOW with `bad`.  The arrays are the
 * caller's. */
enum ingot_plan_status ingot_plan_place(struct ingot_plan *);

/* Checks a placed plan: offsets aligned, ends within the peak, no two buffers that may be live at once overlap (but a
 * buffer in the exact place of its `in_place_of`).  INGOT_PLAN_INVALID with `bad` where that does not hold.  Looks at
 * every pair. */
enum ingot_plan_status ingot_plan_check(struct ingot_plan *);

/* ---- segments: items that all live for ever, one behind the other ---- */
/* Item i goes to offset[i] of segment[i]: bump, align up, and begin a new segment where `cap` bytes would be passed.
 * `used[s]` are the bytes of segment s; there are at most `item_count`, and *segment_count says how many.  An item
 * larger than the cap is INGOT_PLAN_OVERFLOW and *bad names it.  cap 0: one segment, no cap. */
struct ingot_plan_item {
	uint64_t bytes, align;
	uint32_t segment; /* written */
	uint64_t offset;  /* written */
};
enum ingot_plan_status ingot_plan_segments(struct ingot_plan_item *, uint32_t item_count, uint64_t cap, uint64_t *used,
        uint32_t *segment_count, uint32_t *bad);

#define INGOT_PLAN_CAP_32 (UINT64_C(1) << 32) /* the cap where offsets are 32 bits wide */

#ifdef __cplusplus
}
#endif
#endif
