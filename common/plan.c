/* plan.c: buffers with lifetimes -> offsets in slabs.
 *
 * Placement is greedy: take the buffers in some order, put each into a gap between the placed ones that are live with
 * it.  No order wins always, so several are tried, each with the first and with the tightest gap, until the peak meets
 * the bound; then a search moves the buffer that makes the peak forward in the best order.  Effort is counted in pairs
 * looked at, never in time, so the result is the same everywhere. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "alone.h"
#include "ingot/plan.h"

#define NONE UINT32_MAX
#define EFFORT_DEFAULT UINT64_C(60000000)
#define LARGEST (UINT64_C(1) << 63)

struct work {
	struct ingot_plan *plan;
	uint32_t count; /* buffers */
	uint32_t *order, *best_order, *scratch, *chain, *head, *tail;
	bool sweeping; /* placing by first step: what has ended leaves the chain */
	uint64_t *offset, *best_offset, *breadth;
	uint8_t *hint;                  /* whether in_place_of holds for the buffer */
	uint8_t *hinted;                /* whether another buffer names this one */
	uint32_t lanes;                 /* 0: one lane, lifetimes are intervals */
	uint32_t *clock;                /* [step][lane]: how many steps of the lane have ended when the step starts */
	uint32_t *place_in_lane;        /* [step] */
	uint32_t *first_use, *last_use; /* [buffer][lane]: step, or NONE */
	uint64_t effort;                /* what is left */
	uint64_t peak, best_peak;       /* sums over the slabs */
	uint64_t *ends;                 /* [slab], of the placement at hand */
};

static void *scratch_alloc(struct ingot_plan *plan, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	bytes = bytes ? bytes : 1;
	return plan->allocate ? plan->allocate(plan->user, bytes) : malloc(bytes);
}

static void scratch_free(struct ingot_plan *plan, void *memory)
{
	if (!plan->allocate)
		free(memory);
	else if (plan->release && memory)
		plan->release(plan->user, memory);
}

static uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }
static uint64_t align_of(const struct ingot_plan_buffer *b) { return b->align ? b->align : 1; }

/* ---- who is live with whom ---- */

static bool step_before(const struct work *work, uint32_t s, uint32_t t)
{
	uint32_t lane = work->plan->steps[s].lane;
	return work->clock[(size_t)t * work->lanes + lane] > work->place_in_lane[s];
}

static bool buffer_before(const struct work *work, uint32_t a, uint32_t b)
{
	const uint32_t *last = work->last_use + (size_t)a * work->lanes,
	               *first = work->first_use + (size_t)b * work->lanes;
	for (uint32_t i = 0; i < work->lanes; i++)
		for (uint32_t j = 0; j < work->lanes && last[i] != NONE; j++)
			if (first[j] != NONE && !step_before(work, last[i], first[j]))
				return false;
	return true;
}

static bool conflict(const struct work *work, uint32_t a, uint32_t b)
{
	const struct ingot_plan_buffer *x = work->plan->buffers + a, *y = work->plan->buffers + b;
	if (x->slab != y->slab || !x->bytes || !y->bytes)
		return false;
	if (x->first <= y->last && y->first <= x->last)
		return true;
	return work->lanes && !buffer_before(work, a, b) && !buffer_before(work, b, a);
}

static bool partners(const struct work *work, uint32_t a, uint32_t b)
{
	const struct ingot_plan_buffer *buffers = work->plan->buffers;
	return (work->hint[a] && buffers[a].in_place_of == (int32_t)b)
	        || (work->hint[b] && buffers[b].in_place_of == (int32_t)a);
}

/* ---- reading the input ---- */

static bool buffer_valid(const struct ingot_plan *plan, uint32_t index)
{
	const struct ingot_plan_buffer *b = plan->buffers + index;
	if ((b->align & (b->align - 1)) || b->align >= LARGEST || b->first > b->last || b->slab >= plan->slab_count)
		return false;
	if (plan->steps && b->last >= plan->step_count)
		return false;
	for (uint32_t i = 0; b->uses && i < b->use_count; i++)
		if (b->uses[i] < b->first || b->uses[i] > b->last)
			return false;
	if (b->in_place_of == -1)
		return true;
	if (b->in_place_of < 0 || (uint32_t)b->in_place_of >= plan->buffer_count || (uint32_t)b->in_place_of == index)
		return false;
	return plan->buffers[b->in_place_of].slab == b->slab;
}

static void clocks_fill(struct work *work)
{
	const struct ingot_plan *plan = work->plan;
	uint32_t *newest = work->scratch; /* [lane]: the lane's last step so far */
	for (uint32_t i = 0; i < work->lanes; i++)
		newest[i] = NONE;
	for (uint32_t t = 0; t < plan->step_count; t++) {
		const struct ingot_plan_step *step = plan->steps + t;
		uint32_t *clock = work->clock + (size_t)t * work->lanes;
		memset(clock, 0, work->lanes * sizeof *clock);
		for (uint32_t k = 0; k <= step->after_count; k++) {
			uint32_t s = k < step->after_count ? step->after[k] : newest[step->lane];
			if (s == NONE)
				continue;
			const uint32_t *known = work->clock + (size_t)s * work->lanes;
			for (uint32_t i = 0; i < work->lanes; i++)
				clock[i] = known[i] > clock[i] ? known[i] : clock[i];
			uint32_t lane = plan->steps[s].lane, ended = work->place_in_lane[s] + 1;
			clock[lane] = ended > clock[lane] ? ended : clock[lane];
		}
		work->place_in_lane[t] = newest[step->lane] == NONE ? 0 : work->place_in_lane[newest[step->lane]] + 1;
		newest[step->lane] = t;
	}
}

static void uses_fill(struct work *work)
{
	const struct ingot_plan *plan = work->plan;
	for (uint32_t b = 0; b < work->count; b++) {
		const struct ingot_plan_buffer *buffer = plan->buffers + b;
		uint32_t *first = work->first_use + (size_t)b * work->lanes,
		         *last = work->last_use + (size_t)b * work->lanes;
		for (uint32_t i = 0; i < work->lanes; i++)
			first[i] = last[i] = NONE;
		uint32_t uses = buffer->uses ? buffer->use_count : buffer->last - buffer->first + 1;
		for (uint32_t i = 0; i < uses; i++) {
			uint32_t step = buffer->uses ? buffer->uses[i] : buffer->first + i,
			         lane = plan->steps[step].lane;
			if (first[lane] == NONE || step < first[lane])
				first[lane] = step;
			if (last[lane] == NONE || step > last[lane])
				last[lane] = step;
		}
	}
}

/* A hint holds where the old buffer is read for the last time in the very step that first writes the new one. */
static bool hint_holds(const struct work *work, uint32_t index)
{
	const struct ingot_plan_buffer *b = work->plan->buffers + index;
	if (b->in_place_of < 0 || !b->bytes || work->plan->buffers[b->in_place_of].last != b->first)
		return false;
	const uint32_t *last = work->lanes ? work->last_use + (size_t)b->in_place_of * work->lanes : NULL;
	for (uint32_t i = 0; i < work->lanes; i++)
		if (last[i] != NONE && last[i] != b->first && !step_before(work, last[i], b->first))
			return false;
	const uint32_t *first = work->lanes ? work->first_use + (size_t)index * work->lanes : NULL;
	for (uint32_t i = 0; i < work->lanes; i++)
		if (first[i] != NONE && first[i] != b->first && !step_before(work, b->first, first[i]))
			return false;
	return work->plan->buffers[b->in_place_of].bytes > 0;
}

static enum ingot_plan_status steps_valid(const struct ingot_plan *plan)
{
	if (!plan->steps)
		return INGOT_PLAN_OK;
	for (uint32_t t = 0; t < plan->step_count; t++) {
		if (plan->steps[t].lane >= plan->lane_count)
			return INGOT_PLAN_INVALID;
		for (uint32_t k = 0; k < plan->steps[t].after_count; k++)
			if (plan->steps[t].after[k] >= t)
				return INGOT_PLAN_INVALID;
	}
	return INGOT_PLAN_OK;
}

static void work_release(struct work *work)
{
	void *const all[] = { work->order, work->best_order, work->scratch, work->chain, work->head, work->tail,
		work->offset, work->best_offset, work->breadth, work->hint, work->hinted, work->clock,
		work->place_in_lane, work->first_use, work->last_use, work->ends };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		scratch_free(work->plan, all[i]);
}

static enum ingot_plan_status work_init(struct work *work, struct ingot_plan *plan)
{
	memset(work, 0, sizeof *work);
	if (!plan)
		return INGOT_PLAN_INVALID;
	work->plan = plan;
	work->count = plan->buffer_count;
	plan->bad = NONE;
	if ((plan->buffer_count && !plan->buffers) || (plan->slab_count && !plan->slabs) || steps_valid(plan))
		return INGOT_PLAN_INVALID;
	for (uint32_t i = 0; i < work->count; i++)
		if (!buffer_valid(plan, i)) {
			plan->bad = i;
			return INGOT_PLAN_INVALID;
		}
	work->effort = plan->effort ? plan->effort : EFFORT_DEFAULT;
	work->lanes = plan->steps && plan->lane_count > 1 ? plan->lane_count : 0;
	size_t n = work->count, room = n > work->lanes ? n : work->lanes, cells, uses;
	if (__builtin_mul_overflow((size_t)plan->step_count, work->lanes, &cells)
	        || __builtin_mul_overflow(n, work->lanes, &uses))
		return INGOT_PLAN_MEMORY;
	work->order = scratch_alloc(plan, n, sizeof *work->order);
	work->best_order = scratch_alloc(plan, n, sizeof *work->best_order);
	work->scratch = scratch_alloc(plan, room, sizeof *work->scratch);
	work->chain = scratch_alloc(plan, n, sizeof *work->chain);
	work->head = scratch_alloc(plan, plan->slab_count, sizeof *work->head);
	work->tail = scratch_alloc(plan, plan->slab_count, sizeof *work->tail);
	work->offset = scratch_alloc(plan, n, sizeof *work->offset);
	work->best_offset = scratch_alloc(plan, n, sizeof *work->best_offset);
	work->breadth = scratch_alloc(plan, n, sizeof *work->breadth);
	work->hint = scratch_alloc(plan, n, 1);
	work->hinted = scratch_alloc(plan, n, 1);
	work->ends = scratch_alloc(plan, plan->slab_count, sizeof *work->ends);
	bool lacking = !work->order || !work->best_order || !work->scratch || !work->chain || !work->head || !work->tail
	        || !work->offset || !work->best_offset || !work->breadth || !work->hint || !work->hinted || !work->ends;
	if (work->lanes) {
		work->clock = scratch_alloc(plan, cells, sizeof *work->clock);
		work->place_in_lane = scratch_alloc(plan, plan->step_count, sizeof *work->place_in_lane);
		work->first_use = scratch_alloc(plan, uses, sizeof *work->first_use);
		work->last_use = scratch_alloc(plan, uses, sizeof *work->last_use);
		lacking = lacking || !work->clock || !work->place_in_lane || !work->first_use || !work->last_use;
	}
	if (lacking) {
		work_release(work);
		return INGOT_PLAN_MEMORY;
	}
	if (work->lanes) {
		clocks_fill(work);
		uses_fill(work);
	}
	memset(work->hinted, 0, n);
	memset(work->breadth, 0, n * sizeof *work->breadth); /* those without bytes keep it */
	for (uint32_t i = 0; i < n; i++) {
		work->hint[i] = hint_holds(work, i);
		if (work->hint[i])
			work->hinted[plan->buffers[i].in_place_of] = 1;
	}
	return INGOT_PLAN_OK;
}

/* ---- sorting: a stable merge, as ties must fall the same way everywhere ---- */

typedef int compare_buffers(const struct work *, uint32_t a, uint32_t b);

static void order_sort(struct work *work, uint32_t *at, uint32_t count, compare_buffers *compare)
{
	for (uint64_t width = 1; width < count; width *= 2) {
		for (uint64_t from = 0; from < count; from += 2 * width) {
			uint64_t middle = from + width < count ? from + width : count;
			uint64_t to = from + 2 * width < count ? from + 2 * width : count, i = from, j = middle;
			for (uint64_t k = from; k < to; k++)
				work->scratch[k] =
				        j >= to || (i < middle && compare(work, at[i], at[j]) <= 0) ? at[i++] : at[j++];
		}
		memcpy(at, work->scratch, count * sizeof *at);
	}
}

#define DOWN(a, b) ((a) < (b) ? 1 : (a) > (b) ? -1 : 0)

static const struct ingot_plan_buffer *buffer_at(const struct work *work, uint32_t i)
{
	return work->plan->buffers + i;
}
static uint64_t length(const struct work *work, uint32_t i)
{
	return (uint64_t)buffer_at(work, i)->last - buffer_at(work, i)->first + 1;
}
static int by_first(const struct work *work, uint32_t a, uint32_t b)
{
	return -DOWN(buffer_at(work, a)->first, buffer_at(work, b)->first);
}
static int by_last(const struct work *work, uint32_t a, uint32_t b)
{
	return -DOWN(buffer_at(work, a)->last, buffer_at(work, b)->last);
}
static int by_size(const struct work *work, uint32_t a, uint32_t b)
{
	int order = DOWN(buffer_at(work, a)->bytes, buffer_at(work, b)->bytes);
	return order ? order : DOWN(length(work, a), length(work, b));
}
static int by_life(const struct work *work, uint32_t a, uint32_t b)
{
	int order = DOWN(length(work, a), length(work, b));
	return order ? order : by_size(work, a, b);
}
static int by_area(const struct work *work, uint32_t a, uint32_t b)
{
	double x = (double)buffer_at(work, a)->bytes * (double)length(work, a);
	double y = (double)buffer_at(work, b)->bytes * (double)length(work, b);
	return DOWN(x, y);
}
static int by_breadth(const struct work *work, uint32_t a, uint32_t b)
{
	int order = DOWN(work->breadth[a], work->breadth[b]);
	return order ? order : by_size(work, a, b);
}
static int by_start(const struct work *work, uint32_t a, uint32_t b)
{
	int order = by_first(work, a, b);
	return order ? order : by_size(work, a, b);
}
static int by_end(const struct work *work, uint32_t a, uint32_t b)
{
	int order = -by_last(work, a, b);
	return order ? order : by_size(work, a, b);
}

/* ---- the bound ---- */

/* Offsets are multiples of the smallest alignment, so every buffer but the topmost takes its size rounded up to it.
 * The sum can only rise where a buffer begins, so those steps are looked at.  At the first step of a buffer that may
 * take its partner's place, the smaller of the two needs no room. */
static bool bounds_find(struct work *work)
{
	struct ingot_plan *plan = work->plan;
	uint32_t *begin = work->order, *end = work->best_order;
	for (uint32_t slab = 0; slab < plan->slab_count; slab++) {
		uint32_t count = 0, ended = 0;
		uint64_t unit = LARGEST, live = 0, bound = 0, most_slack = 0, total = 0;
		plan->slabs[slab] = (struct ingot_plan_slab){ .align = 1 };
		for (uint32_t i = 0; i < work->count; i++) {
			const struct ingot_plan_buffer *b = buffer_at(work, i);
			if (b->slab != slab || !b->bytes)
				continue;
			begin[count] = end[count] = i;
			count++;
			unit = align_of(b) < unit ? align_of(b) : unit;
			if (align_of(b) > plan->slabs[slab].align)
				plan->slabs[slab].align = align_of(b);
			/* The worst placement is one behind the other, so offsets cannot overflow where this sum does
			 * not. */
			if (b->bytes >= LARGEST || __builtin_add_overflow(total, b->bytes + align_of(b), &total)
			        || total >= LARGEST) {
				plan->bad = i;
				return false;
			}
		}
		for (uint32_t i = 0; i < count; i++) {
			uint64_t bytes = buffer_at(work, begin[i])->bytes, slack = align_up(bytes, unit) - bytes;
			most_slack = slack > most_slack ? slack : most_slack;
		}
		order_sort(work, begin, count, by_first);
		order_sort(work, end, count, by_last);
		for (uint32_t i = 0; i < count;) {
			uint32_t step = buffer_at(work, begin[i])->first, from = i;
			uint64_t shared = 0, slack = most_slack;
			for (; i < count && buffer_at(work, begin[i])->first == step; i++) {
				live += align_up(buffer_at(work, begin[i])->bytes, unit);
				if (work->hint[begin[i]]) {
					uint64_t old = buffer_at(work, (uint32_t)buffer_at(work, begin[i])->in_place_of)
					                       ->bytes;
					uint64_t own = buffer_at(work, begin[i])->bytes;
					shared += align_up(own < old ? own : old, unit);
				}
			}
			for (; ended < count && buffer_at(work, end[ended])->last < step; ended++)
				live -= align_up(buffer_at(work, end[ended])->bytes, unit);
			uint64_t need = live > shared ? live - shared : 0;
			if (need > bound && most_slack && count <= work->effort) {
				work->effort -= count; /* the slack of the buffers that are live here */
				slack = 0;
				for (uint32_t k = 0; k < i; k++) {
					const struct ingot_plan_buffer *b = buffer_at(work, begin[k]);
					if (b->last >= step && align_up(b->bytes, unit) - b->bytes > slack)
						slack = align_up(b->bytes, unit) - b->bytes;
				}
			}
			need = need > slack ? need - slack : 0;
			bound = need > bound ? need : bound;
			for (uint32_t k = from; k < i; k++)
				work->breadth[begin[k]] = live;
		}
		/* Each buffer's breadth: the largest live sum of its life, as seen where others begin. */
		for (uint32_t i = 0; i < count && count <= 20000; i++)
			for (uint32_t k = i + 1;
			        k < count && buffer_at(work, begin[k])->first <= buffer_at(work, begin[i])->last; k++) {
				if (!work->effort)
					break;
				work->effort--;
				if (work->breadth[begin[k]] > work->breadth[begin[i]])
					work->breadth[begin[i]] = work->breadth[begin[k]];
			}
		plan->slabs[slab].bound = bound;
	}
	return true;
}

/* ---- placing ---- */

/* A pair costs effort, and where that ends buffers are put on top of all others: a plan too large to be searched is
 * still placed, in little time. */

/* The offset for buffer `b` beside those placed so far (a chain by ascending offset). */
static uint64_t gap_find(struct work *work, uint32_t b, bool tightest)
{
	const struct ingot_plan_buffer *buffer = buffer_at(work, b);
	uint64_t align = align_of(buffer), end = 0, found = LARGEST, found_room = LARGEST;
	for (uint32_t *link = &work->head[buffer->slab], p; (p = *link) != NONE;) {
		work->effort -= work->effort > 0;
		if (work->sweeping && buffer_at(work, p)->last < buffer->first) {
			*link = work->chain[p];
			continue;
		}
		link = &work->chain[p];
		if (!conflict(work, b, p))
			continue;
		uint64_t start = align_up(end, align), other = work->offset[p];
		if (other >= start && other - start >= buffer->bytes && other - start < found_room) {
			found = start;
			found_room = other - start;
			if (!tightest)
				return found;
		}
		if (other + buffer_at(work, p)->bytes > end)
			end = other + buffer_at(work, p)->bytes;
	}
	return found != LARGEST ? found : align_up(end, align);
}

/* Whether `b` may lie exactly where its partner `p` lies. */
static bool place_fits(struct work *work, uint32_t b, uint32_t partner)
{
	const struct ingot_plan_buffer *buffer = buffer_at(work, b);
	uint64_t start = work->offset[partner], end = start + buffer->bytes;
	if (start % align_of(buffer))
		return false;
	for (uint32_t p = work->head[buffer->slab]; p != NONE && work->offset[p] < end; p = work->chain[p]) {
		work->effort -= work->effort > 0;
		if (p == partner || work->offset[p] + buffer_at(work, p)->bytes <= start || !conflict(work, b, p))
			continue;
		if (!(partners(work, b, p) && work->offset[p] == start))
			return false;
	}
	return true;
}

static void buffer_place(struct work *work, uint32_t b, bool tightest)
{
	const struct ingot_plan_buffer *buffer = buffer_at(work, b);
	if (!work->effort && !work->sweeping) {
		work->offset[b] = align_up(work->ends[buffer->slab], align_of(buffer));
		work->ends[buffer->slab] = work->offset[b] + buffer->bytes;
		work->chain[b] = NONE;
		if (work->tail[buffer->slab] == NONE)
			work->head[buffer->slab] = b;
		else
			work->chain[work->tail[buffer->slab]] = b;
		work->tail[buffer->slab] = b;
		return;
	}
	uint64_t offset = gap_find(work, b, tightest);
	if (work->hint[b] || work->hinted[b])
		for (uint32_t p = work->head[buffer->slab]; p != NONE; p = work->chain[p])
			if (partners(work, b, p) && work->offset[p] <= offset && place_fits(work, b, p)) {
				offset = work->offset[p];
				break;
			}
	work->offset[b] = offset;
	uint32_t *link = &work->head[buffer->slab];
	while (*link != NONE && work->offset[*link] < offset)
		link = &work->chain[*link];
	work->chain[b] = *link;
	*link = b;
	if (work->chain[b] == NONE)
		work->tail[buffer->slab] = b;
	if (offset + buffer->bytes > work->ends[buffer->slab])
		work->ends[buffer->slab] = offset + buffer->bytes;
}

static void order_place(struct work *work, const uint32_t *order, bool tightest)
{
	for (uint32_t i = 0; i < work->plan->slab_count; i++) {
		work->head[i] = work->tail[i] = NONE;
		work->ends[i] = 0;
	}
	for (uint32_t i = 0; i < work->count; i++) {
		work->offset[order[i]] = 0;
		if (buffer_at(work, order[i])->bytes)
			buffer_place(work, order[i], tightest);
	}
	work->peak = 0;
	for (uint32_t i = 0; i < work->plan->slab_count; i++)
		work->peak += work->ends[i];
}

static bool best_keep(struct work *work, const char *name)
{
	if (work->peak >= work->best_peak)
		return false;
	work->best_peak = work->peak;
	work->plan->order = name;
	memcpy(work->best_offset, work->offset, work->count * sizeof *work->offset);
	memcpy(work->best_order, work->order, work->count * sizeof *work->order);
	for (uint32_t i = 0; i < work->plan->slab_count; i++)
		work->plan->slabs[i].peak = work->ends[i];
	return true;
}

static const struct {
	const char *name;
	compare_buffers *compare;
} orders[] = {
	{ "start", by_start },
	{ "size", by_size },
	{ "breadth", by_breadth },
	{ "life", by_life },
	{ "area", by_area },
	{ "end", by_end },
};

/* Moves the buffer that makes the peak to an earlier turn; keeps what is no worse. */
static void order_search(struct work *work, uint64_t bound)
{
	uint64_t random = 0x9e3779b97f4a7c15u, cost = (uint64_t)work->count * work->count / 2 + 1;
	uint64_t current = work->best_peak;
	memcpy(work->order, work->best_order, work->count * sizeof *work->order);
	memcpy(work->offset, work->best_offset, work->count * sizeof *work->offset);
	for (uint32_t turn = 0; turn < 4000 && current > bound && work->effort > cost; turn++) {
		uint32_t top = NONE, at = 0;
		for (uint32_t i = 0; i < work->count; i++) {
			uint32_t b = work->order[i];
			if (buffer_at(work, b)->bytes
			        && (top == NONE
			                || work->offset[b] + buffer_at(work, b)->bytes
			                        > work->offset[top] + buffer_at(work, top)->bytes)) {
				top = b;
				at = i;
			}
		}
		if (top == NONE || work->count < 2)
			return;
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		/* Where the peak's own turn is the first, any other buffer is moved. */
		uint32_t from = at && turn % 4 ? at : (uint32_t)(random >> 32) % work->count;
		uint32_t to = from ? (uint32_t)(random % from) : (uint32_t)(random % work->count);
		uint32_t moved = work->order[from];
		if (to <= from)
			memmove(work->order + to + 1, work->order + to, (from - to) * sizeof moved);
		else
			memmove(work->order + from, work->order + from + 1, (to - from) * sizeof moved);
		work->order[to] = moved;
		order_place(work, work->order, turn % 2);
		if (work->peak <= current) {
			current = work->peak;
			best_keep(work, "search");
			continue;
		}
		if (to <= from) /* as it was */
			memmove(work->order + to, work->order + to + 1, (from - to) * sizeof moved);
		else
			memmove(work->order + from + 1, work->order + from, (to - from) * sizeof moved);
		work->order[from] = moved;
		memcpy(work->offset, work->best_offset, work->count * sizeof *work->offset);
	}
}

enum ingot_plan_status ingot_plan_place(struct ingot_plan *plan)
{
	struct work work;
	enum ingot_plan_status status = work_init(&work, plan);
	if (status)
		return status;
	plan->order = "none";
	if (!bounds_find(&work)) {
		work_release(&work);
		return INGOT_PLAN_OVERFLOW;
	}
	uint64_t bound = 0, cost = (uint64_t)work.count * work.count / 4;
	for (uint32_t i = 0; i < plan->slab_count; i++)
		bound += plan->slabs[i].bound;
	work.best_peak = UINT64_MAX;
	for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
		for (int tightest = 0; tightest < 2 && work.best_peak > bound; tightest++) {
			/* Without lanes the first order costs only pairs that are live together, so it comes before all
			 * others. */
			work.sweeping = k == 0 && !work.lanes;
			if (work.best_peak != UINT64_MAX && !work.sweeping && work.effort < cost)
				break;
			for (uint32_t i = 0; i < work.count; i++)
				work.order[i] = i;
			order_sort(&work, work.order, work.count, orders[k].compare);
			order_place(&work, work.order, tightest);
			best_keep(&work, orders[k].name);
		}
	work.sweeping = false;
	if (work.best_peak > bound)
		order_search(&work, bound);
	for (uint32_t i = 0; i < work.count; i++)
		plan->buffers[i].offset = work.best_offset[i];
	work_release(&work);
	return INGOT_PLAN_OK;
}

enum ingot_plan_status ingot_plan_check(struct ingot_plan *plan)
{
	struct work work;
	enum ingot_plan_status status = work_init(&work, plan);
	if (status)
		return status;
	for (uint32_t a = 0; a < work.count && !status; a++) {
		const struct ingot_plan_buffer *x = plan->buffers + a;
		uint64_t end;
		plan->bad = a;
		if (x->offset % align_of(x) || __builtin_add_overflow(x->offset, x->bytes, &end)
		        || end > plan->slabs[x->slab].peak)
			status = INGOT_PLAN_INVALID;
		for (uint32_t b = 0; b < a && !status; b++) {
			const struct ingot_plan_buffer *y = plan->buffers + b;
			bool apart = x->offset + x->bytes <= y->offset || y->offset + y->bytes <= x->offset;
			if (!apart && conflict(&work, a, b) && !(partners(&work, a, b) && x->offset == y->offset))
				status = INGOT_PLAN_INVALID;
		}
	}
	work_release(&work);
	return status;
}

enum ingot_plan_status ingot_plan_segments(struct ingot_plan_item *items, uint32_t item_count, uint64_t cap,
        uint64_t *used, uint32_t *segment_count, uint32_t *bad)
{
	uint32_t segment = 0;
	uint64_t limit = cap && cap < LARGEST ? cap : LARGEST;
	if (!segment_count || !bad || (item_count && (!items || !used)))
		return INGOT_PLAN_INVALID;
	*segment_count = 0;
	for (uint32_t i = 0; i < item_count; i++) {
		uint64_t align = items[i].align ? items[i].align : 1, start;
		*bad = i;
		if ((align & (align - 1)) || align >= LARGEST)
			return INGOT_PLAN_INVALID;
		if (items[i].bytes > limit)
			return INGOT_PLAN_OVERFLOW;
		if (!i)
			used[0] = 0;
		start = align_up(used[segment], align);
		if (start > limit || items[i].bytes > limit - start) {
			if (!cap)
				return INGOT_PLAN_OVERFLOW;
			used[++segment] = 0;
			start = 0;
		}
		items[i].segment = segment;
		items[i].offset = start;
		used[segment] = start + items[i].bytes;
		*segment_count = segment + 1;
	}
	*bad = NONE;
	return INGOT_PLAN_OK;
}
