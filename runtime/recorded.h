/* recorded.h: the schedules that a device was given lately, as words, and what it made of each: eight of them. */
#ifndef RUNTIME_RECORDED_H
#define RUNTIME_RECORDED_H

#include "ingot/backend.h"

enum { RECORDED_MOST = 8 };

/* Words: first the shape (kinds, kernels, blocks, bytes), then the addresses. */
struct words {
	uint64_t *at;
	size_t shape, count, room;
};
struct recorded {
	uint64_t number; /* the schedule's, where it has one */
	void *made;      /* the owner's; NULL: it was only seen */
	struct words words;
	uint64_t turn; /* of its last use; 0: none */
};
struct records {
	struct recorded at[RECORDED_MOST];
	struct words now;
	uint64_t turn;
};

/* A schedule of kernels, copies and clears as words of `now`.  False: it has other steps, or there is no memory. */
bool records_read(struct records *, const struct ingot_issue *, uint32_t count);
/* The one that this number made last, and of the same words; NULL: none.  It is used now. */
struct recorded *records_numbered(struct records *, uint64_t number);
struct recorded *records_find(struct records *);
/* The one that was used least lately; whether it is of the shape of `now`. */
struct recorded *records_oldest(struct records *, bool *same_shape);
/* It is what `now` says; false: no memory, and nothing changed. */
bool records_keep(struct records *, struct recorded *);
void records_release(struct records *); /* the words; what was made is the owner's */
#endif
