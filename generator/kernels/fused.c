/* fused.c: attention as one kernel: a product, what runs over its rows (softmax), and the product that reads them,
 * block by block of rows, so that scores never leave the cache.  So is what a product's rows are made of (batch norm
 * and relu, a layer norm, a transposition), where that product alone reads it.
 *
 * The steps are made from the definitions themselves: each is restricted to one block, the axes that all share becoming
 * pointers that move, and the small program that they make is lowered as any other.  No order of a sum changes, so no
 * bit does. */
#include "kernels/kernels.h"
#include "ingot/mode.h"

enum { ROWS_MOST = 128, ROWS_LEAST = 4, BLOCKS_ENOUGH = 8, BLOCKS_APART = 4, STEPS_MOST = 7 };
/* Where lanes are threads: the rows and warps of a block, which leave room for two of them beside each other; the part
 * of scratch for what lies between. */
enum { WARPS = 4, ROWS_OF_WARPS = 16, SCRATCH_SHARE = 3 };

const struct fused_tensor *fused_tensor(const struct fused *fused, const struct definition *inside)
{
	FOR_ALL (i, fused->tensors)
		if (fused->tensors.at[i].inside == inside)
			return &fused->tensors.at[i];
	return NULL;
}

int64_t fused_units(const struct fused *fused) { return fused->extents[fused->axes - 1] / fused->rows; }

int64_t fused_scratch(const struct fused *fused) { return (fused->body->workspace_bytes + 3) / 4; }

/* ---- one definition, restricted to a block ---- */
struct restricting {
	struct lowered *lowered;
	struct fused *fused;
	struct program *program;          /* the body's */
	VECTOR(struct definition *) from; /* members, and … */
	VECTOR(struct definition *) to;   /* … what has become of them */
	const struct definition *packed;  /* the constant that stays one, since the product has it packed; NULL: none */
	int var[MAX_RANK];                /* of the definition at hand: the variable that is each axis; -1: none is */
	const struct index *with[MAX_VARS];
	bool possible;
};

static bool uses_axis(const struct restricting *r, const struct index *at)
{
	FOR (x, r->fused->axes)
		if (r->var[x] >= 0 && index_uses(at, r->var[x]))
			return true;
	return false;
}

/* Outside loads, only affine indices know where the block is: a pointer can take that over.  What an index loads has
 * none. */
static enum visit stays_behind(void *user, const struct expr *expr)
{
	const struct restricting *r = user;
	FOR (i, expr_index_count(expr)) {
		const struct index *at = expr_index_at(expr, i);
		if (at->values || (uses_axis(r, at) && !(expr->kind == EXPR_LOAD && index_is_affine(at))))
			return VISIT_END;
	}
	return VISIT_PARTS;
}

static struct definition *member_to(const struct restricting *r, const struct definition *from)
{
	FOR_ALL (i, r->from)
		if (r->from.at[i] == from)
			return r->to.at[i];
	return NULL;
}

static struct definition *append(struct restricting *r, const struct definition *like, struct definition *made)
{
	*scheduled(made) = (struct scheduled){ .of = *like,
		.mode = scheduled(like)->mode,
		.bytes = scheduled(like)->bytes,
		.offset = -1,
		.first = -1,
		.last = -1,
		.lane = scheduled(like)->lane };
	memcpy(scheduled(made)->stride, scheduled(like)->stride, sizeof scheduled(made)->stride);
	made->number = (int)r->program->all.count;
	push(r->lowered->arena, &r->program->all, made);
	return made;
}

/* The tensor of the caller that the load reads, as it moves with the axes. */
static struct definition *outside(struct restricting *r, struct definition *of, const struct index *const *at)
{
	struct fused_tensor tensor = { .outside = of };
	bool moves = false, odd = false;
	FOR (x, r->fused->axes) {
		for (int d = 0; r->var[x] >= 0 && d < of->rank; d++)
			tensor.step[x] += index_factor(at[d], r->var[x]) * scheduled(of)->stride[d];
		moves |= tensor.step[x] != 0;
		odd |= tensor.step[x] % 4 != 0;
	}
	if (moves && dtype_bytes(of->type, 2) != 2 * dtype_bytes(of->type, 1))
		r->possible = false; /* elements below a byte: no pointer points to them */
	FOR_ALL (i, r->fused->tensors)
		if (r->fused->tensors.at[i].outside == of
		        && !memcmp(r->fused->tensors.at[i].step, tensor.step, sizeof tensor.step))
			return r->fused->tensors.at[i].inside;
	tensor.inside = append(r, of, &arena_new(r->lowered->arena, struct scheduled)->of);
	tensor.inside->source = SOURCE_INPUT;
	tensor.inside->body = tensor.inside->start = NULL;
	tensor.inside->reduce = REDUCE_NONE;
	tensor.inside->sum.products = false;
	tensor.inside->port.is_output = false;
	scheduled(tensor.inside)->mode = MODE_HOSTED;
	scheduled(tensor.inside)->odd = odd;
	push(r->lowered->arena, &r->program->inputs, tensor.inside);
	push(r->lowered->arena, &r->fused->tensors, tensor);
	if (of->count.masks)
		tensor.inside->count.masks = outside(r, of->count.masks, NULL);
	if (scheduled(of)->whole)
		scheduled(tensor.inside)->whole = outside(r, scheduled(of)->whole, NULL);
	return tensor.inside;
}

static const struct expr *of_block(void *user, const struct expr *load)
{
	struct restricting *r = user;
	struct definition *of = member_to(r, load->of);
	const struct index *at[MAX_RANK];
	if (!of && load->of == r->packed) {
		of = append(r, load->of, &arena_new(r->lowered->arena, struct scheduled)->of);
		push(r->lowered->arena, &r->from, load->of);
		push(r->lowered->arena, &r->to, of);
	}
	if (!of)
		of = outside(r, load->of, load->at);
	FOR (d, load->of->rank)
		at[d] = index_substitute(r->lowered->arena, load->at[d], r->with);
	return expr_load(r->lowered->arena, of, at);
}

static const struct expr *restrict_expr(struct restricting *r, const struct expr *expr)
{
	if (!expr || !(r->possible &= !expr_visit(expr, stays_behind, r)))
		return NULL;
	return expr_map_loads(r->lowered->arena, expr, of_block, r);
}

/* What is made lies where the caller wants it; r->var tells its axes. */
static void lies_outside(struct restricting *r, struct definition *made, struct definition *of, const int64_t *strides)
{
	struct fused_tensor out = { made, of, { 0 } };
	made->port.is_output = true;
	*scheduled(made) = (struct scheduled){
		.of = *made, .mode = MODE_HOSTED, .bytes = scheduled(of)->bytes, .offset = -1, .first = -1, .last = -1
	};
	memcpy(scheduled(made)->stride, strides, sizeof scheduled(made)->stride);
	FOR (x, r->fused->axes)
		out.step[x] = strides[r->var[x]];
	push(r->lowered->arena, &r->fused->tensors, out);
	push(r->lowered->arena, &r->program->outputs, made);
}

/* r->var tells its axes. */
static struct definition *restricted(struct restricting *r, struct definition *d)
{
	struct definition *made = &arena_new(r->lowered->arena, struct scheduled)->of;
	int last = r->fused->axes - 1;
	memset(r->with, 0, sizeof r->with);
	for (int x = 0; x <= last; x++)
		if (r->var[x] >= 0)
			r->with[r->var[x]] = x == last ? index_var(r->lowered->arena, r->var[x], r->fused->rows)
			                               : index_constant(r->lowered->arena, 0);
	const struct expr *body = restrict_expr(r, d->body), *start = restrict_expr(r, d->start);
	append(r, d, made);
	made->body = body;
	made->start = start;
	made->port.is_output = false;
	scheduled(made)->mode = MODE_DEVICE;
	FOR (v, MAX_RANK) {
		made->count.of[v] = d->count.of[v] ? outside(r, d->count.of[v], NULL) : NULL;
		made->count.reduced[v] = d->count.reduced[v] ? outside(r, d->count.reduced[v], NULL) : NULL;
	}
	for (int x = 0; x <= last; x++) {
		if (r->var[x] < 0)
			continue;
		made->extents[r->var[x]] = x == last ? r->fused->rows : 1;
		made->count.of[r->var[x]] = NULL; /* the blocks end there */
	}
	layout_row_major(made);
	push(r->lowered->arena, &r->from, d);
	push(r->lowered->arena, &r->to, made);
	return made;
}

/* ---- which kernels ---- */
static bool is_product(const struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	return kernel->shape == SHAPE_CONTRACTION && !c->pad_count && !c->pool.d && !c->beside.d && !c->roles.widened
	        && kernel->root->type == DTYPE_F32 && c->result->type == DTYPE_F32;
}

static bool of_two_tensors(const struct kernel *kernel)
{
	return is_product(kernel) && ((const struct contraction *)kernel->detail)->b->of->source != SOURCE_CONSTANT;
}

/* The kernel that alone reads what `kernel` writes; NULL: there are more, or none. */
static struct kernel *reader_of(const struct lowered *lowered, const struct kernel *kernel, const struct definition *of)
{
	struct kernel *reader = NULL;
	if (scheduled(of)->mode != MODE_DEVICE || of->type != DTYPE_F32)
		return NULL;
	FOR_EACH (struct definition *each, scheduled(of)->readers) {
		struct kernel *one = scheduled(each)->kernel;
		if (!one || one == kernel || (reader && one != reader))
			return NULL;
		reader = one;
	}
	return is_viewed(lowered, of) ? NULL : reader;
}

/* What the rows leave behind: one tensor, everything else is their own. */
static struct definition *result_of_rows(const struct kernel *rows)
{
	struct definition *result = NULL;
	FOR_EACH (struct definition *member, rows->members) {
		if (!is_local(member)) {
			if (result)
				return NULL;
			result = member;
		}
	}
	return result;
}

/* The steps are a product or none, rows, and a product; `scores` is what the first one leaves, `weights` what the rows
 * do.  Of an attention whose tensors have fewer bytes than a float, those that widen a factor stand before its product,
 * and the one that narrows the result at the end. */
struct links {
	struct kernel *step[STEPS_MOST];
	int steps, first, rows, last; /* numbers of steps; first -1: none */
	struct definition *scores, *weights;
	struct definition *wide[2][2], *narrow; /* of the first and the last product: factors a and b, made by steps;
	                                           the result of the last step.  NULL: not */
};
static struct kernel *rows_of_links(const struct links *l) { return l->step[l->rows]; }
static const struct contraction *last_of_links(const struct links *l) { return l->step[l->last]->detail; }

/* The axes by number: the outer variables of the rows.  False where scores are read in another order. */
struct reading {
	const struct definition *of;
	int outer;
	bool same;
};
static void see_order(void *user, const struct expr *load)
{
	struct reading *o = user;
	for (int v = 0; load->of == o->of && v < o->outer; v++)
		if (v >= load->of->rank || (load->of->extents[v] > 1 && !index_is(load->at[v], v)))
			o->same = false;
	for (int v = o->outer; load->of == o->of && v < load->of->rank; v++)
		FOR (u, o->outer)
			o->same &= !index_uses(load->at[v], u);
}

static bool find_attention(const struct lowered *lowered, struct kernel *first, struct links *l)
{
	if (!of_two_tensors(first))
		return false;
	*l = (struct links){ .step = { first }, .steps = 3, .rows = 1, .last = 2 };
	l->scores = ((struct contraction *)first->detail)->result;
	struct kernel *rows = l->step[1] = reader_of(lowered, first, l->scores);
	if (!rows || rows->shape != SHAPE_LOOPS || !rows->outer || !(l->weights = result_of_rows(rows)))
		return false;
	struct kernel *last = l->step[2] = reader_of(lowered, rows, l->weights);
	if (!last || !of_two_tensors(last) || !branch_equal(first->root->branch, rows->root->branch)
	        || !branch_equal(first->root->branch, last->root->branch))
		return false;
	const struct contraction *c = last->detail;
	struct reading order = { l->scores, rows->outer, true };
	FOR_EACH (struct definition *member, rows->members) {
		definition_loads(member, see_order, &order);
		order.same &= !definition_stands_alone(member);
	}
	return order.same && c->a->of == l->weights && scheduled(l->weights)->readers.count == 1;
}

/* A map between a tensor of fewer bytes and floats, which is all that its kernel makes. */
struct width {
	int least;
};
static void see_width(void *user, const struct expr *load)
{
	struct width *w = user;
	w->least = dtypes[load->of->type].bits < w->least ? dtypes[load->of->type].bits : w->least;
}
static bool is_map_alone(const struct kernel *kernel)
{
	const struct definition *d =
	        kernel && kernel->shape == SHAPE_LOOPS && kernel->members.count == 1 ? kernel->members.at[0] : NULL;
	return d && d->reduce == REDUCE_NONE && !d->running && !d->check && !scheduled(d)->steers
	        && !definition_stands_alone(d) && scheduled(d)->provenance != INGOT_BY_USER;
}
static bool widens(const struct lowered *lowered, struct definition *d, const struct kernel *product)
{
	struct width w = { 32 };
	if (d->source != SOURCE_COMPUTED || !is_map_alone(scheduled(d)->kernel)
	        || reader_of(lowered, scheduled(d)->kernel, d) != product
	        || !branch_equal(d->branch, product->root->branch))
		return false;
	definition_loads(d, see_width, &w);
	return w.least < 32;
}

/* The same attention with what widens its factors, of keys and values (b) where there is room for them, and narrows its
 * result (end); false: there is none. */
static bool find_widths(const struct lowered *lowered, const struct links *of, bool b, bool end, struct links *l)
{
	const struct kernel *product[2] = { of->step[of->first], of->step[of->last] };
	*l = *of;
	l->steps = 0;
	FOR (p, 2) {
		const struct contraction *c = product[p]->detail;
		for (int f = p; f < 1 + b; f++) { /* a of the last one are the weights */
			struct definition *d = (f ? c->b : c->a)->of;
			if (widens(lowered, d, product[p])) {
				l->wide[p][f] = d;
				l->step[l->steps++] = scheduled(d)->kernel;
			}
		}
		*(p ? &l->last : &l->first) = l->steps;
		l->step[l->steps++] = of->step[p ? of->last : of->first];
		if (!p) {
			l->rows = l->steps;
			l->step[l->steps++] = of->step[of->rows];
		}
	}
	struct definition *result = last_of_links(l)->result;
	struct kernel *narrow = end ? reader_of(lowered, product[1], result) : NULL;
	if (is_map_alone(narrow) && dtypes[narrow->root->type].bits < 32
	        && branch_equal(narrow->root->branch, product[1]->root->branch)) {
		l->narrow = narrow->members.at[0];
		l->step[l->steps++] = narrow;
	}
	return l->steps > of->steps;
}

static int outer_of(const struct kernel *rows)
{
	return rows->members.count == 1 ? rows->members.at[0]->rank : rows->outer;
}

/* Rows that a product alone reads.  What they leave besides is there when the product is. */
static bool find_rows(const struct lowered *lowered, struct kernel *rows, struct links *l)
{
	if (rows->shape != SHAPE_LOOPS || !outer_of(rows) || lowered->target->lanes_are_threads)
		return false;
	*l = (struct links){ .step = { rows }, .steps = 2, .first = -1, .last = 1 };
	for (size_t m = 0; m < rows->members.count && !l->step[1]; m++) {
		struct definition *d = rows->members.at[m];
		struct kernel *last = scheduled(d)->readers.count == 1 && scheduled(d)->provenance != INGOT_BY_USER
		        ? reader_of(lowered, rows, d)
		        : NULL;
		if (last && is_product(last) && ((const struct contraction *)last->detail)->a->of == d
		        && branch_equal(rows->root->branch, last->root->branch)) {
			l->weights = d;
			l->step[1] = last;
		}
	}
	for (size_t m = 0; l->step[1] && m < rows->members.count; m++) {
		const struct definition *d = rows->members.at[m];
		if (definition_stands_alone(d) || d->check || scheduled(d)->steers || d->type != DTYPE_F32)
			return false;
		for (size_t r = 0; d != l->weights && r < scheduled(d)->readers.count; r++) {
			const struct kernel *reader = scheduled(scheduled(d)->readers.at[r])->kernel;
			if (reader != rows && reader->number <= l->step[1]->number)
				return false;
		}
	}
	return l->step[1];
}

/* Does a member reduce over a window along an axis?  Rows of windows that overlap run side by side (loops/unroll.c),
 * which one row at a time would lose. */
struct windows {
	const struct definition *of;
	const int *rows;
	int axes;
	bool found;
};
static void see_window(void *user, const struct expr *load)
{
	struct windows *w = user;
	FOR (d, load->of->rank)
		FOR (x, w->axes)
			FOR (v, w->of->reduced)
				w->found |= w->of->reduced_extents[v] > 1 && index_uses(load->at[d], w->rows[x])
				        && index_uses(load->at[d], w->of->rank + v);
}
static bool has_windows(const struct kernel *kernel, const int *rows, int axes)
{
	struct windows w = { .rows = rows, .axes = axes };
	FOR_EACH (struct definition *member, kernel->members) {
		w.of = member;
		definition_loads(w.of, see_window, &w);
	}
	return w.found;
}

/* The axes by number, of the rows and of the product that reads them: where the product's own rows run as they do, and
 * are no lanes.  A constant that is packed does not move with them. */
static bool find_axes_of_rows(const struct links *l, struct fused *fused, int *rows, int *root)
{
	const struct contraction *c = last_of_links(l);
	FOR (v, outer_of(rows_of_links(l))) {
		int var, uses = 0;
		if (l->weights->extents[v] == 1 || !index_is_var(c->a->at[v], &var) || var >= c->root->rank)
			continue;
		FOR (d, l->weights->rank)
			uses += index_uses(c->a->at[d], var);
		if (uses > 1 || scheduled(l->weights)->lane == v + 1 || c->root->extents[var] != l->weights->extents[v]
		        || (c->b->of->source == SOURCE_CONSTANT && expr_uses(c->b, var)))
			return false;
		rows[fused->axes] = v;
		root[fused->axes] = var;
		fused->extents[fused->axes++] = l->weights->extents[v];
	}
	return fused->axes && !has_windows(rows_of_links(l), rows, fused->axes);
}

/* The root's variables that are the axes, by how its result is stored or its factor read; false where they do not stand
 * there plainly. */
static bool find_axes(const struct links *l, const struct index *const *at, const struct definition *root, int *axes)
{
	int count = 0;
	FOR (v, rows_of_links(l)->outer)
		if (l->weights->extents[v] > 1) {
			int var;
			if (!index_is_var(at[v], &var) || var >= root->rank
			        || root->extents[var] != l->weights->extents[v])
				return false;
			axes[count++] = var;
		}
	return true;
}

/* The same for what a sum's result is over: the map behind it. */
static bool find_stored(const struct contraction *c, int axes, const int *of_root, int *stored)
{
	FOR (x, axes) {
		stored[x] = -1;
		FOR (v, c->result->rank)
			if (c->result->extents[v] > 1 && index_is(c->store_at[v], of_root[x])
			        && c->result->extents[v] == c->root->extents[of_root[x]])
				stored[x] = v;
		if (stored[x] < 0)
			return false;
	}
	return true;
}

static void restrict_product(struct restricting *r, const struct contraction *c, const int *of_root)
{
	int stored[MAX_RANK];
	memcpy(r->var, of_root, sizeof r->var);
	r->possible &= find_stored(c, r->fused->axes, of_root, stored);
	if (!r->possible)
		return;
	restricted(r, c->root);
	memcpy(r->var, stored, sizeof r->var);
	if (c->result != c->root)
		restricted(r, c->result);
}

/* The last product's result, where it is its sums alone under other extents (heads of a group, side by side): the sums
 * lie there themselves.  Their strides, by the root's variables. */
static bool lies_as_root(const struct contraction *c, int64_t *stride)
{
	const struct expr *body = c->result->body;
	if (c->result == c->root || c->result->reduce != REDUCE_NONE || body->kind != EXPR_LOAD || body->of != c->root)
		return false;
	memset(stride, 0, MAX_RANK * sizeof *stride);
	FOR (d, c->result->rank) {
		if (!index_is_affine(c->store_at[d]))
			return false;
		FOR (v, c->root->rank)
			stride[v] += index_factor(c->store_at[d], v) * scheduled(c->result)->stride[d];
	}
	return true;
}

/* Does each load of the scores stand at its reader's own place along the row, or along a sum over all of it? */
struct placing {
	const struct definition *of, *reader;
	int outer;
	bool same, read;
};
static void see_place(void *user, const struct expr *load)
{
	struct placing *p = user;
	const struct definition *reader = p->reader;
	if (load->of != p->of)
		return;
	p->read = true;
	for (int v = p->outer, var; v < load->of->rank; v++)
		if (load->of->extents[v] > 1
		        && !(index_is_var(load->at[v], &var)
		                && (var < reader->rank
		                                ? var == v && reader->extents[v] == load->of->extents[v]
		                                : reader->reduced_extents[var - reader->rank] == load->of->extents[v])))
			p->same = false;
}

/* Weights can take the scores' place where nothing reads a score once that place is written, but for the element that
 * is written there: half the scratch, twice the rows.  Whatever is as wide as a row may lie where the weights do. */
static bool takes_scores(const struct links *l)
{
	const struct kernel *rows = rows_of_links(l);
	int wide = 0;
	if (!l->scores || l->scores->type != l->weights->type || l->scores->rank != l->weights->rank
	        || memcmp(
	                l->scores->extents, l->weights->extents, sizeof *l->scores->extents * (size_t)l->scores->rank))
		return false;
	for (int v = rows->outer; v < l->scores->rank; v++)
		wide += l->scores->extents[v] > 1;
	bool written = false;
	for (size_t m = 0; wide == 1 && m < rows->members.count; m++) {
		const struct definition *d = rows->members.at[m];
		struct placing p = { .of = l->scores, .reader = d, .outer = rows->outer, .same = true };
		definition_loads(d, see_place, &p);
		bool writes = d == l->weights;
		for (int v = rows->outer; v < d->rank; v++)
			writes |= d->extents[v] > 1;
		if (p.read && (written || !p.same || (writes && d->reduce != REDUCE_NONE)))
			return false;
		written |= writes;
	}
	return wide == 1;
}

/* Rows of one axis that stand inside those of another: neither moves keys and values (heads of a group), so a block
 * takes them all. */
enum { INNER_MOST = 16 };
static bool stands_inside(const struct contraction *c, const int *of_root, int x)
{
	return !expr_uses(c->b, of_root[x]) && !expr_uses(c->b, of_root[x - 1]);
}

/* Rows of a block: as many as scratch in L2 has room for, and fewer where there would be too few blocks; balanced.  0:
 * none.  `apart`: no two of them read the same keys and values (heads of one query), so that few are as good as many. */
static int64_t rows_of(const struct lowered *lowered, const struct links *l, const struct fused *fused, bool apart)
{
	const int64_t *extents = fused->extents;
	int axes = fused->axes;
	const struct target *target = lowered->target;
	int64_t rows = extents[axes - 1], others = extents_product(axes - 1, extents),
	        row_bytes = (takes_scores(l) ? 4 : 8) * definition_elements(l->weights) / rows,
	        most = (target->lanes_are_threads ? ROWS_OF_WARPS : ROWS_MOST) / fused->inner;
	row_bytes /= others;
	int64_t factors = 0; /* widened ones: all of b, and a row's part of a and of the result */
	for (int p = 0; p < 2 && l->first >= 0; p++) {
		factors += l->wide[p][1] ? 4 * definition_elements(l->wide[p][1]) / others : 0;
		row_bytes += l->wide[p][0] ? 4 * definition_elements(l->wide[p][0]) / others / rows : 0;
	}
	row_bytes += l->narrow ? 4 * definition_elements(l->narrow) / others / rows : 0;
	while (most * fused->inner > 32 && others * ceil_div(rows, most) < BLOCKS_ENOUGH)
		most /= 2;
	int64_t room = ((target->scratch_bytes ? target->scratch_bytes / SCRATCH_SHARE : near_bytes(target, NEAR_steps))
	                       - factors)
	        / row_bytes;
	most = room < most ? room : most;
	if (most < 1 || (most * fused->inner < ROWS_LEAST && most < rows))
		return 0;
	for (int64_t parts = BLOCKS_APART; apart && others == 1 && parts > 1 && most >= rows; parts /= 2)
		if (rows / parts >= ROWS_LEAST)
			most = ceil_div(rows, parts);
	int64_t blocks = ceil_div(rows, most);
	return ceil_div(rows, blocks);
}

/* What the steps are made for: the target, where warps share a block, whose scratch all of them write and read. */
static const struct target *target_inside(const struct lowered *lowered)
{
	if (!lowered->target->lanes_are_threads)
		return lowered->target;
	struct target *inside = arena_new(lowered->arena, struct target);
	*inside = *lowered->target;
	inside->share.warps = WARPS;
	inside->scratch_is_near = false;
	return inside;
}

/* Do the steps fit into one block of warps? */
static bool share_block(const struct lowered *lowered, struct fused *fused)
{
	if (!lowered->target->lanes_are_threads)
		return true;
	FOR_EACH (const struct kernel *step, fused->body->kernels) {
		if (step->arrays || (step->shape == SHAPE_CONTRACTION && !step->warps))
			return false;
		int64_t floats = step->warps ? block_stage_floats(step->detail, lowered->target->lanes) : 0;
		fused->shared = floats > fused->shared ? floats : fused->shared;
	}
	return 4 * (fused_scratch(fused) + fused->shared) <= lowered->target->scratch_bytes;
}

/* A block reads all of b, where the product alone takes larger groups; it saves a store and a load of the rows.  Those
 * are 2 * rows * terms, b is terms * columns: measured with b in L2, columns up to six times the
 * rows pay. */
static bool rows_pay(const struct target *target, const struct contraction *c, int64_t rows)
{
	return c->extents[c->column] <= 6 * rows && scheduled(c->b->of)->bytes <= near_bytes(target, NEAR_weights);
}

/* Where an axis ends: the product that comes last, and what the rows leave besides. */
static struct definition *count_of_axis(const struct links *l, int row, int root)
{
	const struct kernel *middle = rows_of_links(l);
	struct definition *count = contraction_count(last_of_links(l), root);
	FOR_EACH (const struct definition *d, middle->members) {
		if (d != l->weights && !is_local(d) && d->count.of[row] != count)
			return NULL;
	}
	return count;
}

static void lie_together(const struct definition *scores, struct definition *weights)
{
	bool same = true;
	FOR (v, scores->rank)
		same &= scores->extents[v] == 1 || scheduled(scores)->stride[v] == scheduled(weights)->stride[v];
	if (same && scheduled(scores)->bytes == scheduled(weights)->bytes)
		scheduled(scores)->lies_in = weights;
}

/* A step that widens a factor, which the product reads at `at` in its own variables.  Where it stands still along rows
 * it is made again for each block: it has to cost little beside the rows that read it. */
enum { WIDENING_SHARE = 4 };
static void restrict_factor(
        struct restricting *r, struct definition *d, const struct index *const *at, const int *of_root)
{
	bool again = false;
	FOR (x, r->fused->axes) {
		r->var[x] = -1;
		FOR (v, d->rank)
			if (index_is(at[v], of_root[x]) && r->var[x] < 0 && d->extents[v] == r->fused->extents[x])
				r->var[x] = v;
			else
				r->possible &= !index_uses(at[v], of_root[x]);
		again |= r->var[x] < 0 && (x + 1 < r->fused->axes || r->fused->rows < r->fused->extents[x]);
	}
	r->possible &= !again || WIDENING_SHARE * expr_cost(d->body) <= (double)r->fused->rows;
	if (r->possible)
		restricted(r, d);
}

static void restrict_factors(
        struct restricting *r, struct definition *const *wide, const struct contraction *c, const int *of_root)
{
	FOR (f, 2)
		if (wide[f] && r->possible)
			restrict_factor(r, wide[f], (f ? c->b : c->a)->at, of_root);
}

/* The map behind the last product, which has its result at its own place; r->var tells the result's axes. */
static void restrict_result(struct restricting *r, struct definition *narrow, const struct definition *result)
{
	const struct expr *load = expr_only_load(narrow->body, result);
	r->possible &= load != NULL;
	for (int x = 0; r->possible && x < r->fused->axes; x++) {
		int var;
		r->possible &= index_is_var(load->at[r->var[x]], &var) && var < narrow->rank
		        && narrow->extents[var] == r->fused->extents[x];
		for (int v = 0; r->possible && v < result->rank; v++)
			r->possible &= v == r->var[x] || !index_uses(load->at[v], var);
		r->var[x] = r->possible ? var : 0;
	}
	if (r->possible)
		restricted(r, narrow);
}

static struct fused *fused_of(struct lowered *lowered, const struct links *l)
{
	struct arena *arena = lowered->arena;
	struct fused *fused = arena_new(arena, struct fused);
	struct restricting r = { .lowered = lowered,
		.fused = fused,
		.program = program_new(lowered->program->build, lowered->program->name),
		.possible = true };
	r.program->definition_bytes = sizeof(struct scheduled);
	const struct contraction *first = l->first >= 0 ? l->step[l->first]->detail : NULL, *last = last_of_links(l);
	const struct kernel *middle = rows_of_links(l);
	int roots[2][MAX_RANK] = { { 0 } }, rows[MAX_RANK] = { 0 };
	for (int v = 0; first && v < middle->outer; v++)
		if (l->weights->extents[v] > 1) {
			rows[fused->axes] = v;
			fused->extents[fused->axes++] = l->weights->extents[v];
		}
	if (first ? !fused->axes || !find_axes(l, first->store_at, first->root, roots[0])
	                        || !find_axes(l, last->a->at, last->root, roots[1])
	          : !find_axes_of_rows(l, fused, rows, roots[1]))
		return NULL;
	fused->inner = 1;
	if (first && fused->axes > 1 && fused->extents[fused->axes - 1] <= INNER_MOST
	        && stands_inside(first, roots[0], fused->axes - 1) && stands_inside(last, roots[1], fused->axes - 1))
		fused->inner = fused->extents[--fused->axes];
	int moves = fused->axes - 1;
	bool apart = first && expr_uses(first->b, roots[0][moves]) && expr_uses(last->b, roots[1][moves]);
	if (!(fused->rows = rows_of(lowered, l, fused, apart))
	        || (!first && !rows_pay(lowered->target, last, fused->rows)))
		return NULL;
	for (int x = 0; first && x < fused->axes; x++)
		if (!expr_uses(first->a, roots[0][x])) /* an axis runs along columns */
			return NULL;
	FOR (x, fused->axes)
		fused->counts[x] = count_of_axis(l, rows[x], roots[1][x]);
	if (first) {
		restrict_factors(&r, (struct definition *const *)l->wide[0], first, roots[0]);
		restrict_product(&r, first, roots[0]);
	} else if (last->b->of->source == SOURCE_CONSTANT)
		r.packed = last->b->of;
	memcpy(r.var, rows, sizeof r.var);
	for (size_t m = 0; r.possible && m < middle->members.count; m++) {
		struct definition *member = middle->members.at[m], *made = restricted(&r, member);
		if (member != l->weights && !is_local(member))
			lies_outside(&r, made, member, scheduled(member)->stride);
	}
	int stored[MAX_RANK];
	int64_t strides[MAX_RANK];
	if (first)
		restrict_factors(&r, (struct definition *const *)l->wide[1], last, roots[1]);
	bool as_root = r.possible && !find_stored(last, fused->axes, roots[1], stored) && lies_as_root(last, strides);
	if (as_root) {
		memcpy(r.var, roots[1], sizeof r.var);
		restricted(&r, last->root);
	} else if (r.possible) {
		memcpy(strides, scheduled(last->result)->stride, sizeof strides);
		restrict_product(&r, last, roots[1]);
	}
	if (l->narrow && !as_root && r.possible) {
		restrict_result(&r, l->narrow, last->result);
		memcpy(strides, scheduled(l->narrow)->stride, sizeof strides);
	}
	if (!r.possible || (l->narrow && as_root))
		return NULL;

	lies_outside(&r, r.to.at[r.to.count - 1], l->narrow ? l->narrow : last->result, strides);

	struct lowered *body = fused->body = arena_new(arena, struct lowered);
	body->program = r.program;
	body->arena = arena;
	body->target = target_inside(lowered);
	body->optimise = lowered->optimise;
	body->finish = lowered->finish;
	find_readers(body);
	fuse(body);
	layout(body);
	if (takes_scores(l))
		lie_together(member_to(&r, l->scores), member_to(&r, l->weights));
	if (!arrange(body) || body->kernels.count != (size_t)l->steps)
		return NULL;
	FOR (s, l->steps)
		if (body->kernels.at[s]->shape != l->step[s]->shape)
			return NULL;
	choose(body);
	plan(body);
	return (first && body->constants.count) || !share_block(lowered, fused) ? NULL : fused;
}

/* The steps become one, where the last one stood. */
static void replace(struct lowered *lowered, const struct links *l, struct fused *fused)
{
	struct kernel *kernel = arena_new(lowered->arena, struct kernel);
	size_t kept = 0;
	kernel->shape = SHAPE_FUSED;
	kernel->root = last_of_links(l)->root;
	kernel->detail = fused;
	kernel->blocks = fused_units(fused) * extents_product(fused->axes - 1, fused->extents);
	FOR (s, l->steps)
		FOR_EACH (struct definition *member, l->step[s]->members) {
			kernel_join(lowered->arena, kernel, member);
		}
	scheduled(l->weights)->mode = MODE_LOCAL;
	if (l->scores)
		scheduled(l->scores)->mode = MODE_LOCAL;
	FOR (f, 4)
		if (l->wide[f / 2][f % 2])
			scheduled(l->wide[f / 2][f % 2])->mode = MODE_LOCAL;
	if (l->narrow)
		scheduled(last_of_links(l)->result)->mode = MODE_LOCAL;
	FOR_EACH (struct kernel *one, lowered->kernels) {
		bool step = false;
		for (int s = 0; s + 1 < l->steps; s++)
			step |= one == l->step[s];
		if (one == l->step[l->steps - 1])
			lowered->kernels.at[kept++] = kernel;
		else if (!step)
			lowered->kernels.at[kept++] = one;
	}
	lowered->kernels.count = kept;
	FOR (k, kept)
		lowered->kernels.at[k]->number = (int)k;
}

void make_fused(struct lowered *lowered)
{
	if (lowered->target->options.log || lowered->target->short_stack)
		return;
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		struct links links = { .steps = 0 }, wider;
		struct fused *made = NULL;
		if (!find_attention(lowered, lowered->kernels.at[k], &links))
			continue;
		for (int with = 3; with >= 0 && !made; with--)
			made = find_widths(lowered, &links, with & 2, with & 1, &wider) ? fused_of(lowered, &wider)
			                                                                : NULL;
		if (!made)
			continue;
		replace(lowered, &wider, made);
		k = (size_t)-1; /* numbers changed, before this one too */
	}
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		struct links links = { .steps = 0 };
		struct kernel *kernel = lowered->kernels.at[k];
		struct fused *made;
		if (!(find_attention(lowered, kernel, &links) || find_rows(lowered, kernel, &links))
		        || !(made = fused_of(lowered, &links)))
			continue;
		replace(lowered, &links, made);
		k--; /* another one stands here now */
	}
}

const char *fused_label(const struct kernel *kernel)
{
	const struct fused *fused = kernel->detail;
	return fused->body->kernels.count > 2 ? "attention" : contraction_label(fused->body->kernels.at[1]);
}

/* What the steps read and write outside, and the constants that they have packed, which become the caller's. */
void fused_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct fused *fused = kernel->detail;
	FOR (written, 2)
		FOR_EACH (struct kernel *one, fused->body->kernels) {
			FOR_EACH_AT (const struct param *param, one->params) {
				const struct fused_tensor *tensor = fused_tensor(fused, param->of);
				if (param->written != written
				        || (!tensor && scheduled(param->of)->mode != MODE_CONSTANT))
					continue;
				if (tensor && !written)
					kernel_add_read(lowered, kernel, tensor->outside);
				else
					kernel_add_param(
					        lowered->arena, kernel, tensor ? tensor->outside : param->of, written);
			}
		}
	FOR (x, fused->axes)
		if (fused->counts[x])
			kernel_add_read(lowered, kernel, fused->counts[x]);
	FOR_ALL (i, fused->body->constants)
		push(lowered->arena, &lowered->constants, fused->body->constants.at[i]);
}

const struct lowered *fused_inside(const struct kernel *kernel) { return ((const struct fused *)kernel->detail)->body; }

/* Whether a step's blocks are parts of the rows of a block, the first rows first. */
static bool runs_over_rows(const struct fused *fused, const struct kernel *step)
{
	const struct contraction *c = step->detail;
	int64_t rows = 1, all = fused->rows * fused->inner;
	if (step->shape == SHAPE_CONTRACTION) {
		return extents_product(c->rows, c->extents + c->batches) == all && c->batches == 0
		        && !c->roles.exchanged && !c->split_panels && !c->pool.d && !c->block.warps
		        && (c->rows == 1 || (c->rows == 2 && c->extents[0] == fused->rows));
	}
	const struct definition *d = step->members.at[0];
	bool ordered = true;
	for (int v = 0, last = -1; v < step->outer; v++) {
		if (rows < all) /* what is inside them is a block's */
			rows *= d->extents[v];
		if (d->extents[v] == 1)
			continue;
		ordered &= last < 0 || scheduled(d)->stride[last] > scheduled(d)->stride[v];
		last = v;
	}
	return step->shape == SHAPE_LOOPS && step->members.count > 1 && rows == all && ordered
	        && rows % step->blocks == 0;
}

void fused_choose(struct lowered *lowered, struct kernel *kernel)
{
	const struct fused *fused = kernel->detail;
	kernel->tile = arena_printf(lowered->arena, "%lld rows:", (long long)(fused->rows * fused->inner));
	FOR_ALL (s, fused->body->kernels) {
		struct kernel *step = fused->body->kernels.at[s];
		kernel->tile = arena_printf(lowered->arena, "%s%s %s", kernel->tile, s ? "," : "",
		        *step->tile ? step->tile : kernel_lanes_text(lowered->arena, step));
		step->name = arena_printf(lowered->arena, "%s_%d", kernel->name, (int)s);
		step->inner = true;
		step->ends = fused->counts[fused->axes - 1] && !lowered->target->lanes_are_threads
		        && runs_over_rows(fused, step);
		step->joined = lowered->target->lanes_are_threads;
	}
	kernel->blocks_of =
	        arena_printf(lowered->arena, "blocks of %lld rows", (long long)(fused->rows * fused->inner));
	kernel->warps = lowered->target->lanes_are_threads ? WARPS : 0;
}
