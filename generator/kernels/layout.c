/* layout.c: the map from a tensor's indices to addresses, chosen for each stored definition in the order of kernels.
 *
 * A layout is a permutation of the dims.  Each candidate is weighed by what its writer and its readers would pay: an
 * address that is not affine in the reader's variables, a vector that is not contiguous.  Hosted tensors are row-major.
 */
#include "kernels/kernels.h"

struct weighing {
	struct arena *arena;
	const struct definition *of, *reader;
	double reads, cost;
	int term;    /* the reader's innermost term (contraction), or -1 */
	int column;  /* the reader's vector variable where it is known, or -1 */
	int across;  /* of a product with few columns, whose result lies along its rows: these, for vectors could run
	                there; or -1 */
	double idle; /* with `across`: cycles that an element costs in lanes without a column, as often as it is read */
	bool product;
	int row;      /* of a sum over a product's columns: the variable along its last axis; or -1 */
	int together; /* dwords that a step of the product takes: no other order has them side by side */
	bool pairs;   /* vectors of it are zipped where it is moved on */
};

/* The reader's variable along which its vectors run; -1 where it is not known yet. */
static int unit_variable(const struct definition *d)
{
	FOR (v, d->rank)
		if (scheduled(d)->stride[v] == 1 && d->extents[v] > 1)
			return v;
	return -1;
}

/* Do the dwords that a step takes together lie apart?  A window of one dword goes on along one of its own. */
static bool lies_apart(const struct weighing *w, const struct expr *load, const struct index *address)
{
	const struct definition *sum = w->reader;
	bool apart = false, beside = false;
	for (int v = sum->rank; w->together > 1 && scheduled(w->of)->dwords && v < sum->rank + sum->reduced; v++) {
		if (sum->reduced_extents[v - sum->rank] == 1 || !index_uses(address, v))
			continue;
		FOR (d, w->of->rank)
			if (index_is(load->at[d], v))
				return index_factor(address, v) > 1;
		*(index_factor(address, v) == 1 ? &beside : &apart) = true;
	}
	return apart && !beside;
}

static void weigh_load(void *user, const struct expr *load)
{
	struct weighing *w = user;
	if (load->of != w->of)
		return;
	const struct index *address = schedule_address(w->arena, w->of, load->at);
	if (!index_is_affine(address))
		w->cost += (w->pairs ? 0.5 : 4) * w->reads;
	if (lies_apart(w, load, address))
		w->cost += 4 * w->reads;
	if (w->across >= 0 && index_uses(address, w->across)) {
		w->cost += index_factor(address, w->across) == 1 ? 0 : w->idle * w->reads;
	} else if (w->product) {
		/* the columns of b want to be contiguous, of a the terms: a cache line then serves several steps */
		if (w->term >= 0 && index_factor(address, w->term) > 1
		        && (w->column < 0 || !index_uses(address, w->column)))
			w->cost += 0.02 * w->reads;
	}
	if (w->row >= 0 && index_uses(address, w->row) && index_factor(address, w->row) != 1)
		w->cost += 2 * w->reads;
	if (w->column >= 0 && index_uses(address, w->column) && index_factor(address, w->column) != 1)
		w->cost += (w->reader->lies ? 2 : 0.5) * w->reads; /* no vector turns what lies elsewhere */
}

double filled(int64_t columns, int lanes) { return (double)columns / (double)(ceil_div(columns, lanes) * lanes); }

int last_alone(const struct definition *sum, const struct expr *in, const struct expr *other)
{
	int last = sum->rank;
	while (last-- > 0 && (sum->extents[last] <= 1 || !expr_uses(in, last) || expr_uses(other, last)))
		;
	return last;
}

/* The rows of a product with columns for little more than half of their vectors, where its result has them side by side,
 * as n c h w has pixels (lies_across of contraction.c); else -1. */
static const double FEW_FILLED = 0.6;
static int rows_across(const struct target *target, const struct contraction *c, int column)
{
	const struct definition *root = c->root;
	int row = last_alone(root, c->a, c->b);
	bool few = column >= 0 && filled(root->extents[column], target->lanes) <= FEW_FILLED && row >= 0
	        && root->extents[row] >= target->lanes;
	return few && !c->pad_count && !c->pool.d && !c->roles.widened && c->b->of->source == SOURCE_CONSTANT
	                && c->result->rank == root->rank && unit_variable(c->result) == row
	        ? row
	        : -1;
}

/* Cycles of lanes without a column, of the columns of a product that become one with the last of them at these addresses:
 * the others are loops around. */
static double idle_lanes(
        const struct target *target, const struct contraction *c, const struct index *address, int column)
{
	const struct definition *root = c->root;
	int64_t columns = root->extents[column], apart = index_factor(address, column);
	for (int v = column - 1; v >= 0; v--)
		if (root->extents[v] > 1 && expr_uses(c->b, v) && !expr_uses(c->a, v)
		        && index_factor(address, v) == apart * columns)
			columns *= root->extents[v];
	return 0.5 * definition_work(root) / (double)columns * (1 - filled(columns, target->lanes));
}

/* Rows that stand near and are made of each element more than once, as when a picture grows. */
static bool reads_again(const struct target *target, const struct definition *reader, double elements)
{
	return is_local(reader) && reader->reduce == REDUCE_NONE && has_vectors(target)
	        && definition_work(reader) >= 2 * elements;
}

/* Of what a caller's tensor alone moves on, and which has pairs side by side (phases of a stride of 2): the variable along
 * which vectors of pairs run as that tensor lies; -1: it is no such. */
enum { PAIR = 2 };
static int pairs_along(const struct target *target, const struct definition *map)
{
	const struct definition *to = scheduled(map)->readers.count == 1 ? scheduled(map)->readers.at[0] : NULL;
	int unit, along = -1, pairs = 0;
	if (!has_vectors(target) || target->options.small || !to || scheduled(to)->mode != MODE_HOSTED
	        || to->reduce != REDUCE_NONE || to->body->kind != EXPR_LOAD || (unit = unit_variable(to)) < 0)
		return -1;
	FOR (v, map->rank)
		if (index_uses(to->body->at[v], unit) && map->extents[v] == PAIR)
			pairs++;
		else if (index_uses(to->body->at[v], unit))
			along = v;
	return pairs == 1 && along >= 0 && map->extents[along] >= target->lanes ? along : -1;
}

/* Vectors of a sum over taps that are columns of a product (col2im.c) run along the axis that taps move on last. */
static void see_taps(void *user, const struct expr *load)
{
	struct weighing *w = user;
	const struct definition *sum = w->reader;
	const struct index *columns = load->rank ? load->at[load->rank - 1] : NULL;
	for (int v = 0; load->of == w->of && v + 1 < load->rank; v++)
		for (int r = sum->rank; r < sum->rank + sum->reduced; r++)
			for (int i = 0; i < sum->rank && index_uses(load->at[v], r) && index_uses(columns, r); i++)
				w->row = index_factor(load->at[v], i) == 1 ? i : w->row;
}

static double weigh_uses(struct lowered *lowered, const struct definition *d)
{
	struct weighing w = { .arena = lowered->arena, .of = d };
	double elements = (double)definition_elements(d);
	struct contraction *c = scheduled(d)->contraction;
	if (c) {
		/* the column: the last output variable in b only; Winograd's is the channel */
		int column = c->rewrite ? 1 : last_alone(c->root, c->b, c->a);
		if (c->pool.d == d) {
			FOR (v, d->rank)
				w.cost += c->pool.of[v] == column && column >= 0 && scheduled(d)->stride[v] != 1
				        ? elements
				        : 0;
		} else {
			const struct index *address = schedule_address(lowered->arena, d, c->store_at);
			if (!index_is_affine(address))
				w.cost += 16 * elements;
			bool across = column >= 0 && !c->rewrite && rows_across(lowered->target, c, column) >= 0;
			if (column >= 0 && !across && index_factor(address, column) != 1)
				w.cost += elements;
			if (column >= 0 && !across && !c->rewrite)
				w.cost += idle_lanes(lowered->target, c, address, column);
		}
	}
	int along = c && c->result == d ? pairs_along(lowered->target, d) : -1;
	w.pairs = along >= 0 && scheduled(d)->stride[along] == 1;
	FOR_EACH (const struct definition *reader, scheduled(d)->readers) {
		const struct contraction *rc = scheduled(reader)->contraction;
		w.reader = reader;
		w.product = rc && rc->root == reader && !rc->rewrite;
		w.together = w.product && rc->product ? rc->product->together : 1;
		w.term = w.product && reader->reduced ? reader->rank + reader->reduced - 1 : -1;
		w.reads = definition_work(reader);
		w.reads = w.product ? elements : w.reads; /* packed or cached: each element counts once */
		w.column = -1;
		if (rc && rc->rewrite && rc->root != reader && rc->result != reader)
			w.column = 1, w.reads = elements; /* the forward transform: vectors of channels */
		else if (w.product)
			w.column = last_alone(reader, rc->b, rc->a);
		else if (lane_of_region(reader) >= 0)
			w.column = lane_of_region(reader);
		else if (scheduled(reader)->mode == MODE_HOSTED || reads_again(lowered->target, reader, elements))
			w.column = unit_variable(reader);
		else if (reader->reduce == REDUCE_NONE && !rc)
			w.column = pairs_along(lowered->target, reader);
		w.row = -1;
		if (c && !rc && reader->reduce == REDUCE_SUM && reader->order == ORDER_SERIAL
		        && lowered->target->lanes > 1)
			definition_loads(reader, see_taps, &w);
		w.across = w.product ? rows_across(lowered->target, rc, w.column) : -1;
		if (w.across >= 0) {
			int64_t columns = reader->extents[w.column];
			w.idle = 0.5 * definition_work(reader) / (double)columns / elements
			        * (1 - filled(columns, lowered->target->lanes));
		}
		definition_loads(reader, weigh_load, &w);
	}
	return w.cost;
}

/* A generic writer's vectors run where its inputs are contiguous: follow them, through what is local, as far as so many
 * loads: each local one may be read more than once by the next. */
enum { FOLLOWED_MOST = 1000 };
struct following {
	struct arena *arena;
	const struct definition *d;
	double cost, elements;
	int followed;
	bool along; /* the unit variable moves a load */
};
static double terms_beside(const struct definition *d) { return d->sum.products ? (double)definition_terms(d) : 1; }
static void follow_load(void *user, const struct expr *load)
{
	struct following *f = user;
	int unit = unit_variable(f->d);
	if (load->of->source == SOURCE_CONSTANT || definition_elements(load->of) <= 1 || unit < 0
	        || ++f->followed > FOLLOWED_MOST)
		return;
	if (is_local(load->of)) {
		const struct index *with[MAX_VARS];
		FOR (v, MAX_VARS)
			with[v] = v < load->of->rank ? load->at[v] : index_constant(f->arena, 0);
		double elements = f->elements;
		f->elements *= terms_beside(load->of);
		expr_loads(expr_substitute(f->arena, load->of->body, with), follow_load, f);
		f->elements = elements;
		return;
	}
	const struct index *address = schedule_address(f->arena, load->of, load->at);
	f->along |= index_uses(address, unit);
	if (index_uses(address, unit) && index_factor(address, unit) != 1)
		f->cost += f->elements;
}
static double follow(struct lowered *lowered, const struct definition *d)
{
	struct following f = { lowered->arena, d, 0, (double)definition_elements(d) * terms_beside(d), 0, false };
	int unit = unit_variable(d);
	if (scheduled(d)->kernel->detail
	        || (scheduled(d)->rewrite && scheduled(d)->rewrite->parts[WINOGRAD_FILTERS] == d))
		return 0; /* filters are read for each group of tiles: what reads them says how they lie */
	/* Of a rewrite that runs in parts each tile and point is another sum: vectors run along channels, the second
	 * variable of all parts. */
	if (scheduled(d)->rewrite && d->extents[1] >= lowered->target->lanes && unit_variable(d) != 1)
		f.cost += f.elements;
	if (!definition_is_order(d) && !d->trees.walk)
		expr_loads(d->body, follow_load, &f);
	/* Neighbours are of tensors of their own (phases), and no pairs that are zipped: each is stored alone. */
	const struct target *target = lowered->target;
	if (has_vectors(target) && unit >= 0 && !f.along && d->reduce == REDUCE_NONE && d->body->kind == EXPR_SELECT
	        && ranges_use(d->body->ranges, d->body->range_count, unit) && pairs_along(target, d) < 0)
		f.cost += f.elements;
	return f.cost;
}

static double weigh(struct lowered *lowered, const struct definition *d)
{
	return weigh_uses(lowered, d) + follow(lowered, d);
}

static void set_strides(struct definition *d, const int *order, int count)
{
	int64_t step = 1;
	FOR (v, d->rank)
		scheduled(d)->stride[v] = 0;
	for (int i = count - 1; i >= 0; i--) {
		scheduled(d)->stride[order[i]] = step;
		step *= d->extents[order[i]];
	}
}

static bool next_permutation(int *order, int n)
{
	int i = n - 2, j = n - 1;
	while (i >= 0 && order[i] > order[i + 1])
		i--;
	if (i < 0)
		return false;
	while (order[j] < order[i])
		j--;
	int t = order[i];
	order[i] = order[j];
	order[j] = t;
	for (int a = i + 1, b = n - 1; a < b; a++, b--)
		t = order[a], order[a] = order[b], order[b] = t;
	return true;
}

/* A loop makes it or reads it: row-major, so that elements of its first axis are slices and bodies need not know.  So is
 * what a walk down trees makes and reads. */
static bool is_integer(const struct definition *d)
{
	return d->reduce == REDUCE_REPEAT || d->trees.walk || feeds_loop(d);
}

static bool is_byte_as_float(const struct expr *e)
{
	if (e->kind == EXPR_LOAD && e->of->source == SOURCE_CONSTANT && e->of->original)
		e = e->of->original->body;
	if (!e || !expr_converts(e) || e->type != DTYPE_F32)
		return false;
	for (e = e->arg[0]; e->kind == EXPR_CAST; e = e->arg[0])
		;
	return e->kind == EXPR_LOAD && e->of->source == SOURCE_CONSTANT && dtypes[e->type].bits == 8;
}

/* A window of integers over each channel, without lanes: in planes, so that a channel's weights stay in registers, and
 * are widened once where they are bytes (narrow.c). */
static bool stays_in_planes(const struct target *target, const struct definition *d, const struct kernel *writer)
{
	return target->lanes == 1 && !target->exact.lanes && !writer->detail && d->reduce == REDUCE_SUM
	        && d->sum.products && is_byte_as_float(d->body->arg[1]);
}

/* The dims that matter, the outermost first; their count. */
static int dims_of(const struct definition *d, int *order)
{
	int count = 0;
	FOR (v, d->rank)
		if (d->extents[v] > 1)
			order[count++] = v;
	return count;
}

/* The least cost of all orders of up to five dims; row-major first: it wins ties. */
typedef double cost_of_layout(struct lowered *, const struct definition *);
static void take_least(struct lowered *lowered, struct definition *d, cost_of_layout *cost_of, int *order, int count)
{
	int best[MAX_RANK];
	double least = -1;
	FOR (tried, 120) {
		set_strides(d, order, count);
		double cost = cost_of(lowered, d);
		if (least < 0 || cost < least * (1 - 1e-9)) {
			least = cost;
			memcpy(best, order, sizeof best);
		}
		if (!next_permutation(order, count))
			break;
	}
	set_strides(d, best, count);
}

static void choose_layout(struct lowered *lowered, struct definition *d, const struct kernel *writer)
{
	int order[MAX_RANK], count = dims_of(d, order);
	if (scheduled(d)->mode != MODE_DEVICE || count < 2 || is_integer(d) || scheduled(d)->blocked
	        || stays_in_planes(lowered->target, d, writer))
		return;
	if (scheduled(d)->lane) {
		FOR (i, count)
			if (order[i] + 1 == scheduled(d)->lane) {
				memmove(order + i, order + i + 1, (size_t)(count - i - 1) * sizeof *order);
				order[count - 1] = scheduled(d)->lane - 1;
				break;
			}
		set_strides(d, order, count);
		return;
	}
	take_least(lowered, d, weigh, order, count);
}

/* ---- constants that generic kernels read: as their vectors run ---- */
struct lanes {
	const struct definition *of;
	struct arena *arena;
	int lane;
	double cost;
};
static void weigh_lanes(void *user, const struct expr *load)
{
	struct lanes *l = user;
	if (load->of != l->of)
		return;
	const struct index *address = schedule_address(l->arena, load->of, load->at);
	if (index_uses(address, l->lane) && index_factor(address, l->lane) != 1)
		l->cost += 1;
}

/* The variable of member `d` along which its kernel's vectors run; -1: not known.  How the last rows lie tells. */
static int lane_of(const struct definition *d)
{
	const struct kernel *kernel = scheduled(d)->kernel;
	if (!kernel || kernel->detail)
		return -1;
	const struct definition *last = kernel->members.at[kernel->members.count - 1];
	for (size_t m = kernel->members.count; m-- > 0 && definition_row(last, kernel->outer) == 1;)
		if (definition_row(kernel->members.at[m], kernel->outer) > 1)
			last = kernel->members.at[m];
	int unit = unit_variable(last);
	/* a sum in 64 lanes runs along its terms */
	for (int r = d->reduced - 1; r >= 0 && d->reduce != REDUCE_NONE && d->order == ORDER_LANES; r--)
		if (d->reduced_extents[r] > 1)
			return d->rank + r;
	return d == last || unit < kernel->outer ? unit : unit_variable(d);
}

static double cost_of_lanes(struct lowered *lowered, const struct definition *d)
{
	struct lanes l = { .of = d, .arena = lowered->arena };
	FOR_EACH (const struct definition *reader, scheduled(d)->readers) {
		if ((l.lane = lane_of(reader)) >= 0)
			definition_loads(reader, weigh_lanes, &l);
	}
	return l.cost;
}

static void lay_constant(struct lowered *lowered, struct definition *d)
{
	int order[MAX_RANK], count = dims_of(d, order);
	if (d->source != SOURCE_CONSTANT || d->type != DTYPE_F32 || is_integer(d))
		return;
	FOR_EACH (struct definition *one, scheduled(d)->readers) {
		const struct contraction *c = scheduled(one)->contraction;
		if (c && !c->rewrite && (c->b->of == d || c->a->of == d))
			return; /* packed, or read row by row */
	}
	if (count < 2)
		return;
	take_least(lowered, d, cost_of_lanes, order, count);
}

void layout(struct lowered *lowered)
{
	FOR_EACH (struct kernel *kernel, lowered->kernels) {
		FOR_EACH (struct definition *member, kernel->members) {
			choose_layout(lowered, member, kernel);
		}
	}
	FOR_EACH (struct definition *d, lowered->program->all) {
		lay_constant(lowered, d);
	}
}

/* ---- rows without lanes ---- */
struct alongside {
	struct arena *arena;
	const struct kernel *kernel;
	const struct definition *d;
	int lanes;
	double row, around;
};

/* How many elements lie side by side from the variable v on, in the loops of v's kind: an axis may go on in the next. */
static int64_t run_from(const struct alongside *a, const struct index *address, int v)
{
	const struct definition *d = a->d;
	int first = v < a->kernel->outer ? 0 : a->kernel->outer,
	    last = v < a->kernel->outer ? a->kernel->outer : d->rank + d->reduced;
	int64_t run = definition_extent(d, v);
	for (int u = first; u < last; u++)
		if (u != v && definition_extent(d, u) > 1 && index_uses(address, u)
		        && index_factor(address, u) == run) {
			run *= definition_extent(d, u);
			u = first - 1;
		}
	return run;
}

/* A vector takes what lies side by side: along the loops of a member's row, or along those around, which are no
 * vectors' then.  The taps of a window are too few to fill one. */
static void see_alongside(
        struct alongside *a, const struct definition *of, const struct index *address, double elements)
{
	FOR (v, a->d->rank + a->d->reduced)
		if (index_uses(address, v) && index_factor(address, v) == 1 && run_from(a, address, v) >= a->lanes)
			*(v < a->kernel->outer ? &a->around : &a->row) += elements * (double)dtype_bytes(of->type, 1);
}
static void see_alongside_load(void *user, const struct expr *load)
{
	struct alongside *a = user;
	if (!is_local(load->of) && load->of->source != SOURCE_CONSTANT) /* constants lie as vectors run */
		see_alongside(a, load->of, schedule_address(a->arena, load->of, load->at), definition_work(a->d));
}

/* Only now is it known how tensors lie.  Where most of what a kernel's rows hold lies along the loops around, its rows
 * are barred from it, and fused and laid out anew: a picture whose channels lie side by side, say, and its mean. False:
 * some were. */
bool keep_lanes(struct lowered *lowered)
{
	bool all = true;
	if (!has_vectors(lowered->target) || lowered->target->options.small)
		return true;
	FOR_EACH (struct kernel *kernel, lowered->kernels) {
		struct alongside a = { .arena = lowered->arena, .kernel = kernel, .lanes = lowered->target->lanes };
		if (kernel->shape != SHAPE_LOOPS || kernel->members.count < 2 || !kernel->outer)
			continue;
		FOR_EACH (struct definition *member, kernel->members) {
			a.d = member;
			definition_loads(a.d, see_alongside_load, &a);
			if (!is_local(a.d)) {
				const struct index *at[MAX_RANK];
				index_vars(a.arena, at, a.d->rank, a.d->extents);
				see_alongside(
				        &a, a.d, schedule_address(a.arena, a.d, at), (double)definition_elements(a.d));
			}
		}
		if (a.around <= a.row)
			continue;
		FOR_EACH (struct definition *d, kernel->members) {
			if (definition_row(d, kernel->outer) > 1 && !scheduled(d)->row_apart)
				scheduled(d)->row_apart = true, all = false;
		}
	}
	return all;
}
