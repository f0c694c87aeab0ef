/* branches.c: launches that do not wait for each other are lanes of a GPU's graph.  A launch comes behind those before
 * it that touch bytes of its own, one of both writing; where that says less than the order of the list it goes to
 * another lane. */
#include "emit/package.h"

enum { BRANCHED_MOST = 4096 };

struct branching {
	const struct launch_list *list;
	struct arena *arena;
	struct branches *made;
	int *ends;                    /* of each lane, its last launch; -1: it has none */
	int (*before)[BRANCHES_MOST]; /* of each launch, and lane: the last one that has ended by then; -1: none */
};

static bool touch(const struct launch_argument *a, const struct launch_argument *b)
{
	bool ranges = a->place.kind == PLACE_WORKSPACE;
	return (a->written || b->written) && a->place.kind == b->place.kind && a->place.pool == b->place.pool
	        && (ranges ? a->place.at < b->place.at + b->bytes && b->place.at < a->place.at + a->bytes
	                   : a->place.at == b->place.at);
}

static bool comes_behind(const struct launch *later, const struct launch *earlier)
{
	FOR (i, later->count)
		FOR (k, earlier->count)
			if (touch(&later->arguments[i], &earlier->arguments[k]))
				return true;
	return false;
}

/* What has ended when those that launch k comes behind have. */
static void look_back(struct branching *b, int k, int *wanted)
{
	FOR (lane, BRANCHES_MOST)
		wanted[lane] = -1;
	for (int j = k - 1; j >= 0; j--) {
		const struct branched *one = &b->made->rows[j];
		if (wanted[one->lane] >= j || !comes_behind(&b->list->rows.at[k], &b->list->rows.at[j]))
			continue;
		FOR (lane, BRANCHES_MOST) {
			int ended = lane == one->lane ? j : b->before[j][lane];
			wanted[lane] = ended > wanted[lane] ? ended : wanted[lane];
		}
	}
}

/* The lane that it can go on with: one whose last launch it comes behind, the latest of them; else a new one; else that
 * which has waited the longest. */
static int lane_of(const struct branching *b, const int *wanted)
{
	int best = -1, fresh = -1, oldest = 0;
	FOR (lane, BRANCHES_MOST) {
		if (b->ends[lane] >= 0 && wanted[lane] == b->ends[lane] && (best < 0 || b->ends[lane] > b->ends[best]))
			best = lane;
		if (b->ends[lane] < 0 && fresh < 0)
			fresh = lane;
		oldest = b->ends[lane] < b->ends[oldest] ? lane : oldest;
	}
	return best >= 0 ? best : fresh >= 0 ? fresh : oldest;
}

/* Another one that it waits for waits for that. */
static bool is_implied(const struct branching *b, const int *wanted, int lane)
{
	FOR (other, BRANCHES_MOST)
		if (other != lane && wanted[other] >= 0 && b->before[wanted[other]][lane] >= wanted[lane])
			return true;
	return false;
}

static void add_launch(struct branching *b, int k)
{
	int wanted[BRANCHES_MOST];
	struct branched *row = &b->made->rows[k];
	look_back(b, k, wanted);
	int lane = row->lane = lane_of(b, wanted), end = b->ends[lane];
	FOR (other, BRANCHES_MOST) {
		int known = end < 0 ? -1 : other == lane ? end : b->before[end][other];
		if (other != lane && wanted[other] > known && !is_implied(b, wanted, other)) {
			row->after[row->count++] = wanted[other];
			b->made->rows[wanted[other]].awaited = true;
		}
		b->before[k][other] = wanted[other] > known ? wanted[other] : known;
	}
	if (lane && end < 0 && !row->count) /* a lane begins somewhere: with all of them */
		row->after[row->count++] = (int)b->list->rows.count;
	b->ends[lane] = k;
	b->made->lanes = lane >= b->made->lanes ? lane + 1 : b->made->lanes;
}

struct branches launch_branches(struct arena *arena, const struct launch_list *list)
{
	int count = (int)list->rows.count, ends[BRANCHES_MOST];
	struct branches made = { .lanes = 1, .rows = arena_new_array(arena, struct branched, (size_t)count + 1) };
	struct branching b = { list, arena, &made, ends,
		arena_alloc(arena, ((size_t)count + 1) * sizeof(int[BRANCHES_MOST])) };
	if (list->depth || !list->captured || count > BRANCHED_MOST)
		return made;
	FOR (lane, BRANCHES_MOST)
		ends[lane] = -1;
	FOR (k, count)
		add_launch(&b, k);
	for (int lane = 1; lane < made.lanes; lane++) /* the first one waits for the others at the end */
		made.rows[made.ends[lane] = ends[lane]].awaited = true;
	return made;
}
