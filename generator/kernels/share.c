/* share.c: which kernels the caller's threads share, from what it costs to ask them and to move what they read.
 *
 * Alone a kernel takes as long as it computes, or as what it reads takes to come.  Shared, its largest part takes that
 * long, behind a fork and a join; and what another core wrote lies in that core's L2: a thread waits for it line by
 * line.  So it depends on neighbours whether sharing pays, and kernels change sides one by one until none gains, once
 * from all alone and once from all shared. */
#include "kernels/kernels.h"
#include <inttypes.h>

/* A part that takes longer than PIECE cycles is cut further, into PIECES_MOST at most: so a core that is taken away for
 * a while does not hold all others. */
enum { PIECE = 100000, PIECES_MOST = 4, PARTS_MOST = 64, UNEVEN = 8, CYCLES_PER_NS = 3 };
/* Rates of a core that reads what lies in its L2, or in L3; lines; what a fork and a join take in journeys of a line;
 * and the part of a kernel's time alone that sharing has to win at least, as the other cores may have work of their
 * own. */
enum { L2_RATE = 48, L3_RATE = 12, SCALAR_RATE = 4, LINE = 64, JOURNEYS = 6, WINS = 8, ROUNDS_MOST = 8 };

struct edge {
	int writer, reader;
	double bytes;
}; /* what the caller gives or takes costs the same either way: nobody knows where it lies */
struct sharing {
	const struct lowered *lowered;
	int threads;
	VECTOR(struct edge) edges;
	const double **asked; /* of a kernel: bytes of each param */
	int *first, *next;    /* the edges of a kernel: 2 * edge, and 1 more where it writes; -1: no more */
	bool *shared;
};

static int parts_of(const struct sharing *s, const struct kernel *kernel)
{
	return kernel->blocks < s->threads ? (int)kernel->blocks : s->threads;
}

/* Parts are columns of a product: each reads its own weights and all else. */
static bool by_columns(const struct kernel *kernel)
{
	return kernel->shape == SHAPE_CONTRACTION && ((const struct contraction *)kernel->detail)->split_panels;
}

/* Whether most of it runs in vectors; else a cycle is an operation, and a load of a number. */
static bool in_lanes(const struct kernel *kernel) { return kernel->lanes.count != 1 && !kernel->lanes.scalars; }

static double rate_of(const struct target *target, const struct kernel *kernel, double bytes)
{
	int rate = bytes <= (double)target->l1_bytes ? target->units.load
	        : bytes <= (double)target->l2_bytes  ? L2_RATE
	                                             : L3_RATE,
	    most = in_lanes(kernel) ? target->units.load : SCALAR_RATE;
	return rate < most ? rate : most;
}

/* Cycles of the largest of so many parts. */
static double cycles_of(const struct sharing *s, const struct kernel *kernel, int parts)
{
	const struct target *target = s->lowered->target;
	bool product = kernel->shape == SHAPE_CONTRACTION || kernel->shape == SHAPE_WINOGRAD || kernel_inside(kernel);
	double share = (double)ceil_div(kernel->blocks, parts) / (double)kernel->blocks, constants = 0, others = 0;
	double compute = kernel->flops / (in_lanes(kernel) ? target->lanes * target->units.pipes : 1)
	        / (product ? 2 : 1) * share;
	FOR_ALL (p, kernel->params)
		*(kernel->params.at[p].of->source == SOURCE_CONSTANT ? &constants : &others) +=
		        s->asked[kernel->number][p];
	double own = by_columns(kernel) ? share : 1;
	double reading = constants * own / rate_of(target, kernel, (double)s->lowered->weights_bytes * own)
	        + others * share / rate_of(target, kernel, kernel->bytes);
	return compute > reading ? compute : reading;
}

/* Bytes that a thread waits for, at most, as others have them. */
static double moved(const struct sharing *s, const struct edge *e)
{
	const struct kernel *writer = s->lowered->kernels.at[e->writer], *reader = s->lowered->kernels.at[e->reader];
	double written = s->shared[e->writer] ? parts_of(s, writer) : 1,
	       read = s->shared[e->reader] ? parts_of(s, reader) : 1;
	if (read == 1 || by_columns(reader)) /* all of it */
		return written == 1 ? read == 1 ? 0 : e->bytes : e->bytes * (1 - 1 / written);
	if (written == 1)
		return e->bytes / read;
	return by_columns(writer) ? e->bytes / read * (1 - 1 / written)
	                          : 0; /* rows beside rows are the same ones, but for a few */
}

static double waiting(const struct sharing *s, int k, bool as_reader)
{
	double cycles = 0;
	for (int at = s->first[k]; at >= 0; at = s->next[at])
		if (!as_reader || at % 2 == 0)
			cycles += moved(s, s->edges.at + at / 2) / LINE * s->lowered->target->lines.cycles;
	return cycles;
}

static double asking(const struct sharing *s, const struct kernel *kernel)
{
	return (double)(JOURNEYS + parts_of(s, kernel) - 2)
	        * s->lowered->target->lines.latency; /* beyond two, threads ask one after the other */
}

static double cost_of(const struct sharing *s, int k)
{
	const struct kernel *kernel = s->lowered->kernels.at[k];
	double own = cycles_of(s, kernel, 1);
	if (s->shared[k])
		own = own / WINS + cycles_of(s, kernel, parts_of(s, kernel)) + asking(s, kernel);
	return own + waiting(s, k, false);
}

static void settle(struct sharing *s)
{
	bool changed = true;
	for (int round = 0; changed && round < ROUNDS_MOST; round++) {
		changed = false;
		FOR (k, (int)s->lowered->kernels.count) {
			double before = cost_of(s, k);
			if (parts_of(s, s->lowered->kernels.at[k]) < 2)
				continue;
			s->shared[k] = !s->shared[k];
			if (cost_of(s, k) < before)
				changed = true;
			else
				s->shared[k] = !s->shared[k];
		}
	}
}

/* Of all kernels; what moves counts once. */
static double total_of(const struct sharing *s)
{
	double cycles = 0;
	FOR (k, (int)s->lowered->kernels.count)
		cycles += cost_of(s, k) - waiting(s, k, false) + waiting(s, k, true);
	return cycles;
}

static void add_edges(struct sharing *s, int reader)
{
	const struct kernel *kernel = s->lowered->kernels.at[reader];
	FOR_ALL (p, kernel->params) {
		const struct param *param = kernel->params.at + p;
		const struct kernel *writer = param->written ? NULL : scheduled(param->of)->kernel;
		if (writer && writer != kernel && writer->number < (int)s->lowered->kernels.count
		        && s->lowered->kernels.at[writer->number] == writer)
			push(s->lowered->arena, &s->edges,
			        (struct edge){ writer->number, reader, s->asked[reader][p] });
	}
}

/* The blocks of the thread that has most, where each takes the next part when it is through with its last. */
static int64_t most_blocks(int64_t blocks, int threads, int parts)
{
	int64_t has[PARTS_MOST] = { 0 }, most = 0;
	FOR (part, parts) {
		int least = 0;
		for (int t = 1; t < threads; t++)
			least = has[t] < has[least] ? t : least;
		has[least] += blocks * (part + 1) / parts - blocks * part / parts;
		most = has[least] > most ? has[least] : most;
	}
	return most;
}

/* As many pieces as leave no thread with more than it has whole, or an eighth more. */
static void cut(struct kernel *kernel, struct shared *why, int parts)
{
	double pieces = why->part / PIECE;
	int most = kernel->blocks / parts < PIECES_MOST ? (int)(kernel->blocks / parts) : PIECES_MOST;
	why->pieces = pieces < 2 ? 1 : pieces < most ? (int)pieces : most;
	int64_t whole = parts <= PARTS_MOST ? most_blocks(kernel->blocks, parts, parts) : 0;
	while (whole && why->pieces > 1
	        && most_blocks(kernel->blocks, parts, parts * why->pieces) > whole + whole / UNEVEN)
		why->pieces--;
	kernel->parts = parts * why->pieces;
}

void share(struct lowered *lowered, int threads)
{
	struct sharing s = { .lowered = lowered, .threads = threads };
	int count = (int)lowered->kernels.count;
	if (threads < 2 || !count)
		return;
	s.asked = arena_new_array(lowered->arena, const double *, count);
	FOR (k, count) {
		s.asked[k] = kernel_asks(lowered, lowered->kernels.at[k]);
		add_edges(&s, k);
	}
	s.first = arena_new_array(lowered->arena, int, count);
	s.next = arena_new_array(lowered->arena, int, 2 * s.edges.count + 1);
	FOR (k, count)
		s.first[k] = -1;
	FOR (e, 2 * (int)s.edges.count) {
		int *first = s.first + (e % 2 ? s.edges.at[e / 2].writer : s.edges.at[e / 2].reader);
		s.next[e] = *first;
		*first = e;
	}
	bool *alone = arena_new_array(lowered->arena, bool, count),
	     *shared = arena_new_array(lowered->arena, bool, count);
	s.shared = alone;
	settle(&s);
	double least = total_of(&s);
	FOR (k, count)
		shared[k] = parts_of(&s, lowered->kernels.at[k]) > 1;
	s.shared = shared;
	settle(&s);
	if (total_of(&s) > least)
		s.shared = alone;
	FOR (k, count) {
		struct kernel *kernel = lowered->kernels.at[k];
		int parts = parts_of(&s, kernel);
		bool as = s.shared[k];
		kernel->parts = as ? parts : 1;
		if (parts < 2)
			continue;
		struct shared *why = arena_new(lowered->arena, struct shared);
		kernel->shared = why;
		s.shared[k] = false;
		*why = (struct shared){ .alone = cycles_of(&s, kernel, 1),
			.part = cycles_of(&s, kernel, parts),
			.asking = asking(&s, kernel),
			.waits_alone = waiting(&s, k, false) };
		s.shared[k] = true;
		why->waits = waiting(&s, k, false);
		s.shared[k] = as;
		if (as)
			cut(kernel, why, parts);
	}
}

int kernel_pieces(const struct kernel *kernel)
{
	return kernel->parts > 1 && kernel->shared ? kernel->shared->pieces : 1;
}

int64_t kernel_fork_most(const struct kernel *kernel)
{
	const struct shared *why = kernel->shared;
	double won = kernel->parts > 1 && why
	        ? why->alone - why->alone / WINS + why->waits_alone - why->part - why->waits
	        : 0;
	return won < CYCLES_PER_NS ? 1 : won > 1e9 ? 1000000000 : (int64_t)(won / CYCLES_PER_NS);
}

void share_why(const struct kernel *kernel, struct text *out)
{
	const struct shared *why = kernel->shared;
	if (why)
		text_printf(out,
		        "    threads   %s: alone %.0f cycles and %.0f for lines of other cores; shared %.0f, %.0f to "
		        "fork and join, %.0f for lines, and an eighth to win\n",
		        kernel->parts > 1 ? "share it" : "do not", why->alone, why->waits_alone, why->part, why->asking,
		        why->waits);
}
