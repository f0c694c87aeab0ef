/* launches.c: the schedule of a GPU: kernels in their order, each on its blocks, with its arguments.  A loop is two
 * rows around those of its body, which the host goes round; what is carried lies in two places of the workspace, and
 * arguments say how they move with the rounds. */
#include "emit/contraction.h"
#include "emit/package.h"
#include <inttypes.h>

enum { WARP = 32, COPY_EACH = 8, COPY_BLOCKS_MOST = 1024, CAPTURED_MOST = 1 << 16 };

/* A loop that is open: its kernel, its depth, the one around it. */
struct open {
	const struct kernel *kernel;
	int level;
	const struct open *outer;
};
struct listing {
	struct writing *w;
	struct launch_list *list;
	int number;
};

/* A block is one warp, or the warps of a large product: a tile of a contraction, else a block of the kernel's function;
 * of threads that work alone, as many as its warps have. */
int64_t launch_blocks(const struct writing *w, const struct kernel *kernel)
{
	int64_t tiles = kernel_tiles(kernel), together = kernel->elements ? WARP * launch_warps(kernel) : 1,
	        blocks = ceil_div(tiles, together);
	if (blocks > INT32_MAX)
		fail(w->emit->build, EXIT_LIMIT, kernel->root->name, "%" PRId64 " blocks; a grid has at most %d",
		        blocks, INT32_MAX);
	return blocks;
}

int launch_warps(const struct kernel *kernel) { return kernel->warps ? kernel->warps : 1; }

int64_t launch_shared(const struct writing *w, const struct kernel *kernel)
{
	return kernel->shape == SHAPE_CONTRACTION && kernel->warps ? block_dynamic(w->emit->target, kernel->detail) : 0;
}

/* ---- arguments ---- */
static struct launch_argument argument_of(
        struct listing *l, const struct open *open, const struct definition *of, bool written);

static struct launch_argument scratch_of(struct listing *l, const struct open *open, int64_t at)
{
	struct launch_argument a =
	        argument_of(l, open->outer, ((const struct rounds *)open->kernel->detail)->scratch, true);
	a.from += at;
	return a;
}

/* One of the two places of output k: where it is written in each round, or where the round before left it. */
static struct launch_argument carried(struct listing *l, const struct open *open, int k, bool next)
{
	const struct rounds *rounds = open->kernel->detail;
	int64_t first = next ? rounds->place[k] : rounds->other[k], second = next ? rounds->other[k] : rounds->place[k];
	struct launch_argument a = scratch_of(l, open, first);
	a.flip[open->level] += second - first;
	return a;
}

static struct launch_argument sliced(struct listing *l, const struct open *open, const struct definition *whole,
        const struct definition *part, bool back, bool written)
{
	struct launch_argument a = argument_of(l, open->outer, whole, written);
	int64_t bytes = scheduled(part)->bytes, rounds = ((const struct rounds *)open->kernel->detail)->repeat->rounds;
	a.from += back ? (rounds - 1) * bytes : 0;
	a.step[open->level] += back ? -bytes : bytes;
	return a;
}

/* Of memory that it lies in, all. */
static int64_t reach_of(const struct definition *of)
{
	int64_t bytes = scheduled(of)->bytes;
	for (; scheduled(of)->lies_in; of = scheduled(of)->lies_in)
		if (scheduled(scheduled(of)->lies_in)->bytes > bytes)
			bytes = scheduled(scheduled(of)->lies_in)->bytes;
	return bytes;
}

static struct launch_argument argument_of(
        struct listing *l, const struct open *open, const struct definition *of, bool written)
{
	const struct rounds *rounds = open ? open->kernel->detail : NULL;
	struct launch_argument a = { .type = of->type, .written = written };
	if (!open || scheduled(of)->mode == MODE_CONSTANT)
		a.place = package_argument(l->w, of);
	else if (scheduled(of)->mode == MODE_DEVICE)
		a = scratch_of(l, open, scheduled(of)->offset);
	else {
		const struct repeat *repeat = rounds->repeat;
		int in = repeat_input(rounds, of), out = repeat_output(rounds, of);
		if (in >= 0)
			a = repeat->in[in].moves == REPEAT_CARRIED ? carried(l, open, repeat->in[in].pair, false)
			        : repeat->in[in].moves == REPEAT_SLICED
			        ? sliced(l, open, rounds->operand[in]->of, of, repeat->in[in].back, false)
			        : argument_of(l, open->outer, rounds->operand[in]->of, false);
		else if (repeat->out[out].moves == REPEAT_CARRIED)
			a = carried(l, open, out, true);
		else
			a = rounds->results[out]
			        ? sliced(l, open, rounds->results[out], of, repeat->out[out].back, true)
			        : scratch_of(l, open, rounds->place[out]);
	}
	a.type = of->type;
	a.written = written;
	a.bytes = reach_of(of);
	return a;
}

/* ---- rows ---- */
static void add(struct listing *l, struct launch row)
{
	row.number = l->number;
	push(l->w->emit->arena, &l->list->rows, row);
}

static struct launch_argument *arguments_new(struct listing *l, int count)
{
	return arena_new_array(l->w->emit->arena, struct launch_argument, (size_t)count + 1);
}

static void add_copy(struct listing *l, struct launch_argument from, struct launch_argument to, int64_t bytes)
{
	struct launch_argument *arguments = arguments_new(l, 2);
	int64_t blocks = (bytes / (bytes % 4 ? 1 : 4) + WARP * COPY_EACH - 1) / (WARP * COPY_EACH);
	size_t i = 0;
	while (i < l->list->copies.count && l->list->copies.at[i] != bytes)
		i++;
	if (i == l->list->copies.count)
		push(l->w->emit->arena, &l->list->copies, bytes);
	from.type = to.type = bytes % 4 ? DTYPE_U8 : DTYPE_I32;
	from.written = false;
	to.written = true;
	arguments[0] = from;
	arguments[1] = to;
	add(l,
	        (struct launch){ .symbol = arena_printf(l->w->emit->arena, "%s_copy_%" PRId64, l->w->emit->name, bytes),
	                .blocks = blocks < COPY_BLOCKS_MOST ? blocks : COPY_BLOCKS_MOST,
	                .warps = 1,
	                .count = 2,
	                .arguments = arguments });
}

static void add_kernels(struct listing *, const struct lowered *, const struct open *);

static void add_loop(struct listing *l, const struct kernel *kernel, const struct open *outer)
{
	const struct rounds *rounds = kernel->detail;
	const struct repeat *repeat = rounds->repeat;
	struct open open = { kernel, outer ? outer->level + 1 : 0, outer };
	struct launch_argument *going = arguments_new(l, 1);
	int ends = repeat->going < 0 ? 0 : 1;
	if (open.level >= LOOPS_DEEP)
		fail(l->w->emit->build, EXIT_LIMIT, kernel->root->name,
		        "loops within loops, more than %d deep, are not supported on this target", LOOPS_DEEP);
	if (open.level >= l->list->depth)
		l->list->depth = open.level + 1;
	l->list->captured &= !ends;
	FOR_ALL (k, repeat->body->outputs)
		if (repeat->out[k].moves == REPEAT_CARRIED)
			add_copy(l, argument_of(l, outer, rounds->operand[repeat->out[k].pair]->of, false),
			        scratch_of(l, &open, rounds->other[k]),
			        scheduled(rounds->body->program->outputs.at[k])->bytes);
	if (ends)
		going[0] = carried(l, &open, repeat->in[repeat->going].pair, false);
	going[0].type = DTYPE_BOOL;
	size_t begin = l->list->rows.count;
	add(l, (struct launch){ .loop = open.level + 1, .rounds = repeat->rounds, .count = ends, .arguments = going });
	add_kernels(l, rounds->body, &open);
	l->list->rows.at[begin].other = (int)l->list->rows.count;
	add(l,
	        (struct launch){ .loop = -open.level - 1,
	                .rounds = repeat->rounds,
	                .count = ends,
	                .arguments = going,
	                .other = (int)begin });
	FOR_ALL (k, repeat->body->outputs)
		if (repeat->out[k].moves == REPEAT_CARRIED && rounds->results[k])
			add_copy(l, carried(l, &open, (int)k, false), argument_of(l, outer, rounds->results[k], true),
			        scheduled(rounds->results[k])->bytes);
}

/* Behind the pointers of a kernel, the tensor maps of what some of them point to. */
static int add_boxes(struct listing *l, const struct kernel *kernel, struct launch_argument *arguments)
{
	const struct emit *emit = l->w->emit;
	struct launch_box *boxes = arena_new_array(emit->arena, struct launch_box, BOXES_MOST);
	int pointers = (int)kernel->params.count,
	    count = kernel->shape == SHAPE_CONTRACTION ? block_boxes(emit->target, kernel->detail, boxes) : 0;
	FOR (i, count) {
		FOR (of, pointers)
			if (kernel->params.at[of].of == boxes[i].of)
				arguments[pointers + i] = arguments[of];
		arguments[pointers + i].box = &boxes[i];
		push(emit->arena, &l->list->boxes, &boxes[i]);
	}
	return count;
}

static void add_kernels(struct listing *l, const struct lowered *lowered, const struct open *open)
{
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		l->number = open ? l->number : kernel->number;
		if (kernel->shape == SHAPE_REPEAT) {
			add_loop(l, kernel, open);
			continue;
		}
		struct launch_argument *arguments = arguments_new(l, (int)kernel->params.count + BOXES_MOST);
		FOR_ALL (i, kernel->params)
			arguments[i] = argument_of(l, open, kernel->params.at[i].of, kernel->params.at[i].written);
		int boxes = add_boxes(l, kernel, arguments);
		add(l,
		        (struct launch){ .kernel = kernel,
		                .symbol = emit_symbol(l->w->emit, kernel),
		                .blocks = launch_blocks(l->w, kernel),
		                .warps = launch_warps(kernel),
		                .shared = launch_shared(l->w, kernel),
		                .count = (int)kernel->params.count + boxes,
		                .arguments = arguments });
	}
}

/* How often kernels are launched, at most. */
static double launched(const struct launch_list *list)
{
	double all = 0, times = 1;
	FOR_EACH_AT (const struct launch *row, list->rows) {
		times = row->loop > 0   ? times * (double)row->rounds
		        : row->loop < 0 ? times / (double)row->rounds
		                        : times;
		all += row->symbol ? times : 0;
	}
	return all;
}

int64_t launch_move(const struct launch_list *list, const struct launch_argument *a)
{
	size_t i = 0;
	while (i < list->moves.count
	        && (list->moves.at[i].from != a->from || memcmp(list->moves.at[i].step, a->step, sizeof a->step)
	                || memcmp(list->moves.at[i].flip, a->flip, sizeof a->flip)))
		i++;
	return (int64_t)i;
}

struct value launch_moves(struct writing *w, const struct launch_list *list)
{
	struct arena *arena = w->emit->arena;
	struct value moves = value_list(arena);
	FOR_ALL (i, list->moves)
		value_list_add(moves,
		        value_dict_of(arena, "from", list->moves.at[i].from, "step",
		                value_numbers(arena, list->moves.at[i].step, list->depth), "flip",
		                value_numbers(arena, list->moves.at[i].flip, list->depth)));
	return moves;
}

struct launch_list package_launches(struct writing *w)
{
	struct launch_list list = { .captured = true };
	struct listing l = { w, &list, 0 };
	add_kernels(&l, w->lowered, NULL);
	push(w->emit->arena, &list.moves, (struct launch_argument){ .from = 0 });
	FOR_ALL (k, list.rows)
		FOR_ALL (i, list.rows.at[k])
			if (launch_move(&list, &list.rows.at[k].arguments[i]) == (int64_t)list.moves.count)
				push(w->emit->arena, &list.moves, list.rows.at[k].arguments[i]);
	list.captured &= launched(&list) <= CAPTURED_MOST;
	return list;
}
