/* recorded.c: schedules -> words that are equal where the device is to do the same. */
#include "common/alone.h"
#if INGOT_THREADS
#include <stdlib.h>
#include <string.h>
#include "recorded.h"

static bool room_for(struct words *words, size_t count)
{
	if (count <= words->room)
		return true;
	uint64_t *at = malloc(2 * count * sizeof *at);
	if (!at)
		return false;
	free(words->at);
	words->at = at;
	words->room = 2 * count;
	return true;
}

static size_t addresses(const struct ingot_issue *step)
{
	return step->kind == INGOT_STEP_KERNEL   ? step->kernel->argument_count
	        : step->kind == INGOT_STEP_COPY  ? 4
	        : step->kind == INGOT_STEP_CLEAR ? 2
	                                         : 0;
}

bool records_read(struct records *records, const struct ingot_issue *steps, uint32_t count)
{
	enum { SHAPE = 5 };
	size_t all = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (steps[i].kind == INGOT_STEP_HOST || steps[i].kind > INGOT_STEP_WAIT || steps[i].moves)
			return false;
		all += addresses(steps + i);
	}
	struct words *now = &records->now;
	if (!room_for(now, all + SHAPE * (size_t)count))
		return false;
	uint64_t *shape = now->at, *at = now->at + SHAPE * (size_t)count;
	for (uint32_t i = 0; i < count; i++) {
		const struct ingot_issue *step = steps + i;
		*shape++ = (uint64_t)step->kind << 32 | step->groups[0];
		*shape++ = (uint64_t)step->groups[1] << 32 | step->groups[2];
		*shape++ = (uint64_t)step->threads[0] << 32 | step->threads[1];
		*shape++ = (uint64_t)step->threads[2];
		*shape++ = step->kind == INGOT_STEP_KERNEL ? (uint64_t)(uintptr_t)step->kernel : step->bytes;
		if (step->kind == INGOT_STEP_KERNEL)
			for (uint32_t k = 0; k < step->kernel->argument_count; k++)
				*at++ = (uint64_t)(uintptr_t)step->arguments[k];
		else if (addresses(step)) {
			*at++ = (uint64_t)(uintptr_t)step->to;
			*at++ = step->to_offset;
			if (step->kind == INGOT_STEP_COPY) {
				*at++ = (uint64_t)(uintptr_t)step->from;
				*at++ = step->from_offset;
			}
		}
	}
	now->shape = SHAPE * (size_t)count;
	now->count = now->shape + all;
	return true;
}

static bool same(const struct words *a, const struct words *b, bool shape)
{
	return a->shape == b->shape && a->count == b->count
	        && !memcmp(a->at, b->at, (shape ? a->shape : a->count) * sizeof *a->at);
}

struct recorded *records_numbered(struct records *records, uint64_t number)
{
	for (int i = 0; number && i < RECORDED_MOST; i++)
		if (records->at[i].turn && records->at[i].number == number) {
			records->at[i].turn = ++records->turn;
			return &records->at[i];
		}
	return NULL;
}

struct recorded *records_find(struct records *records)
{
	for (int i = 0; i < RECORDED_MOST; i++)
		if (records->at[i].turn && same(&records->at[i].words, &records->now, false)) {
			records->at[i].turn = ++records->turn;
			return &records->at[i];
		}
	return NULL;
}

struct recorded *records_oldest(struct records *records, bool *same_shape)
{
	struct recorded *oldest = records->at;
	for (int i = 1; i < RECORDED_MOST; i++)
		if (records->at[i].turn < oldest->turn)
			oldest = &records->at[i];
	*same_shape = oldest->turn && same(&oldest->words, &records->now, true);
	return oldest;
}

bool records_keep(struct records *records, struct recorded *one)
{
	if (!room_for(&one->words, records->now.count))
		return false;
	one->words.shape = records->now.shape;
	one->words.count = records->now.count;
	memcpy(one->words.at, records->now.at, records->now.count * sizeof *one->words.at);
	one->turn = ++records->turn;
	return true;
}

void records_release(struct records *records)
{
	for (int i = 0; i < RECORDED_MOST; i++)
		free(records->at[i].words.at);
	free(records->now.at);
}
#endif
