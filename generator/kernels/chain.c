/* chain.c: attention as one kernel: a product, what runs over its rows (softmax), and the product that reads them, block by block of rows, so that
 * scores never leave the cache.
 *
 * The steps are made from the definitions themselves: each is restricted to one block, the axes that all share becoming pointers that move, and
 * the small program that they make is lowered as any other.  No order of a sum changes, so no bit does. */
#include "kernels/kernels.h"

enum { ROWS_MOST = 128, ROWS_LEAST = 4, BLOCKS_ENOUGH = 8, L2_SHARE = 8, STEPS = 3 };
/* Where lanes are threads: the rows and warps of a block, which leave room for two of them beside each other; the part of scratch for what lies between. */
enum { WARPS = 4, ROWS_OF_WARPS = 16, SCRATCH_SHARE = 3 };

const struct chain_tensor *chain_tensor(const struct chain *chain, const struct definition *inside)
{
	for (size_t i = 0; i < chain->tensors.count; i++)
		if (chain->tensors.at[i].inside == inside)
			return &chain->tensors.at[i];
	return NULL;
}

int64_t chain_units(const struct chain *chain)
{
	return chain->extents[chain->axes - 1] / chain->rows;
}

int64_t chain_scratch(const struct chain *chain) { return (chain->body->workspace_bytes + 3) / 4; }

/* ---- one definition, restricted to a block ---- */
struct restricting {
	struct lowered *lowered;
	struct chain *chain;
	struct program *program;              /* the body's */
	VECTOR(struct definition *) from;     /* members, and … */
	VECTOR(struct definition *) to;       /* … what has become of them */
	int var[MAX_RANK];                    /* of the definition at hand: the variable that is each axis */
	const struct index *with[MAX_VARS];
	bool possible;
};

static bool uses_axis(const struct restricting *r, const struct index *at)
{
	for (int x = 0; x < r->chain->axes; x++)
		if (index_uses(at, r->var[x]))
			return true;
	return false;
}

/* Outside loads, only affine indices know where the block is: a pointer can take that over.  What an index loads has none. */
static bool moves_with_pointers(const struct restricting *r, const struct expr *expr)
{
	for (int i = 0; i < expr->range_count; i++)
		if (uses_axis(r, expr->ranges[i].at) || index_has_values(expr->ranges[i].at))
			return false;
	if (expr->kind == EXPR_INDEX && (uses_axis(r, expr->index) || index_has_values(expr->index)))
		return false;
	for (int d = 0; expr->kind == EXPR_LOAD && d < expr->of->rank; d++)
		if ((uses_axis(r, expr->at[d]) && !index_is_affine(expr->at[d])) || index_has_values(expr->at[d]))
			return false;
	for (int i = 0; i < 3; i++)
		if (expr->arg[i] && !moves_with_pointers(r, expr->arg[i]))
			return false;
	return true;
}

static struct definition *member_to(const struct restricting *r, const struct definition *from)
{
	for (size_t i = 0; i < r->from.count; i++)
		if (r->from.at[i] == from)
			return r->to.at[i];
	return NULL;
}

static struct definition *append(struct restricting *r, const struct definition *like, struct definition *made)
{
	*placed(made) = (struct placed){ .of = *like, .mode = placed(like)->mode, .bytes = placed(like)->bytes, .offset = -1, .first = -1, .last = -1 };
	memcpy(placed(made)->stride, placed(like)->stride, sizeof placed(made)->stride);
	made->number = (int)r->program->all.count;
	push(r->lowered->arena, &r->program->all, made);
	return made;
}

/* The tensor of the caller that the load reads, as it moves with the axes. */
static struct definition *outside(struct restricting *r, struct definition *of, const struct index *const *at)
{
	struct chain_tensor tensor = { .outside = of };
	bool moves = false, odd = false;
	for (int x = 0; x < r->chain->axes; x++) {
		for (int d = 0; d < of->rank; d++)
			tensor.step[x] += index_factor(at[d], r->var[x]) * placed(of)->stride[d];
		moves |= tensor.step[x] != 0;
		odd |= tensor.step[x] % 4 != 0;
	}
	if (moves && dtype_bytes(of->type, 2) != 2 * dtype_bytes(of->type, 1))
		r->possible = false;                          /* elements below a byte: no pointer points to them */
	for (size_t i = 0; i < r->chain->tensors.count; i++)
		if (r->chain->tensors.at[i].outside == of && !memcmp(r->chain->tensors.at[i].step, tensor.step, sizeof tensor.step))
			return r->chain->tensors.at[i].inside;
	tensor.inside = append(r, of, &new(r->lowered->arena, struct placed)->of);
	tensor.inside->source = SOURCE_INPUT;
	tensor.inside->body = tensor.inside->start = NULL;
	tensor.inside->reduce = REDUCE_NONE;
	tensor.inside->products = false;
	tensor.inside->is_output = false;
	placed(tensor.inside)->mode = MODE_HOSTED;
	placed(tensor.inside)->odd = odd;
	push(r->lowered->arena, &r->program->inputs, tensor.inside);
	push(r->lowered->arena, &r->chain->tensors, tensor);
	return tensor.inside;
}

static const struct expr *of_block(void *user, const struct expr *load)
{
	struct restricting *r = user;
	struct definition *of = member_to(r, load->of);
	const struct index *at[MAX_RANK];
	if (!of)
		of = outside(r, load->of, load->at);
	for (int d = 0; d < load->of->rank; d++)
		at[d] = index_substitute(r->lowered->arena, load->at[d], r->with);
	return expr_load(r->lowered->arena, of, at);
}

static const struct expr *restrict_expr(struct restricting *r, const struct expr *expr)
{
	if (!expr || !(r->possible &= moves_with_pointers(r, expr)))
		return NULL;
	return expr_map_loads(r->lowered->arena, expr, of_block, r);
}

/* r->var tells its axes. */
static struct definition *restricted(struct restricting *r, struct definition *d)
{
	struct definition *made = &new(r->lowered->arena, struct placed)->of;
	int last = r->chain->axes - 1;
	memset(r->with, 0, sizeof r->with);
	for (int x = 0; x <= last; x++)
		r->with[r->var[x]] = x == last ? index_var(r->lowered->arena, r->var[x], r->chain->rows) : index_constant(r->lowered->arena, 0);
	const struct expr *body = restrict_expr(r, d->body), *start = restrict_expr(r, d->start);
	append(r, d, made);
	made->body = body;
	made->start = start;
	made->is_output = false;
	placed(made)->mode = MODE_DEVICE;
	for (int x = 0; x <= last; x++)
		made->extents[r->var[x]] = x == last ? r->chain->rows : 1;
	place_row_major(made);
	push(r->lowered->arena, &r->from, d);
	push(r->lowered->arena, &r->to, made);
	return made;
}

/* ---- which kernels ---- */
static bool is_product(const struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	return kernel->shape == SHAPE_CONTRACTION && !c->pad_count && !c->pool.d && c->b->of->source != SOURCE_CONSTANT;
}

/* The kernel that alone reads what `kernel` writes; NULL: there are more, or none. */
static struct kernel *reader_of(const struct lowered *lowered, const struct kernel *kernel, const struct definition *of)
{
	struct kernel *reader = NULL;
	if (placed(of)->mode != MODE_DEVICE || of->type != DTYPE_F32)
		return NULL;
	for (size_t i = 0; i < placed(of)->readers.count; i++) {
		struct kernel *one = placed(placed(of)->readers.at[i])->kernel;
		if (!one || one == kernel || (reader && one != reader))
			return NULL;
		reader = one;
	}
	for (size_t i = 0; i < lowered->views.count; i++)
		if (placed(lowered->views.at[i])->view_of == of)
			return NULL;
	return reader;
}

/* What the rows leave behind: one tensor, everything else is their own. */
static struct definition *result_of_rows(const struct kernel *rows)
{
	struct definition *result = NULL;
	for (size_t m = 0; m < rows->members.count; m++)
		if (placed(rows->members.at[m])->mode != MODE_LOCAL) {
			if (result)
				return NULL;
			result = rows->members.at[m];
		}
	return result;
}

struct links { struct kernel *step[STEPS]; struct definition *scores, *weights; };

/* The axes by number: the outer variables of the rows.  False where scores are read in another order. */
struct reading { const struct definition *of; int outer; bool same; };
static void see_order(void *user, const struct expr *load)
{
	struct reading *o = user;
	int var;
	for (int v = 0; load->of == o->of && v < o->outer; v++)
		if (v >= load->of->rank || (load->of->extents[v] > 1 && !(index_is_var(load->at[v], &var) && var == v)))
			o->same = false;
	for (int v = o->outer; load->of == o->of && v < load->of->rank; v++)
		for (int u = 0; u < o->outer; u++)
			o->same &= !index_uses(load->at[v], u);
}

static bool find_links(const struct lowered *lowered, struct kernel *first, struct links *l)
{
	if (!is_product(first))
		return false;
	l->step[0] = first;
	l->scores = ((struct contraction *)first->detail)->result;
	struct kernel *rows = l->step[1] = reader_of(lowered, first, l->scores);
	if (!rows || rows->shape != SHAPE_LOOPS || !rows->outer || !(l->weights = result_of_rows(rows)))
		return false;
	struct kernel *last = l->step[2] = reader_of(lowered, rows, l->weights);
	if (!last || !is_product(last) || !branch_equal(first->root->branch, rows->root->branch) || !branch_equal(first->root->branch, last->root->branch))
		return false;
	const struct contraction *c = last->detail;
	struct reading order = { l->scores, rows->outer, true };
	for (size_t m = 0; m < rows->members.count; m++) {
		definition_loads(rows->members.at[m], see_order, &order);
		order.same &= !definition_stands_alone(rows->members.at[m]);
	}
	return order.same && c->a->of == l->weights && placed(l->weights)->readers.count == 1;
}

/* The root's variables that are the axes, by how its result is stored or its factor read; false where they do not stand there plainly. */
static bool find_axes(const struct links *l, const struct index *const *at, const struct definition *root, int *axes)
{
	int count = 0;
	for (int v = 0; v < l->step[1]->outer; v++)
		if (l->weights->extents[v] > 1) {
			int var;
			if (!index_is_var(at[v], &var) || var >= root->rank || root->extents[var] != l->weights->extents[v])
				return false;
			axes[count++] = var;
		}
	return true;
}

/* The same for what a sum's result is over: the map behind it. */
static bool find_stored(const struct contraction *c, int axes, const int *of_root, int *stored)
{
	for (int x = 0; x < axes; x++) {
		stored[x] = -1;
		for (int v = 0, var; v < c->result->rank; v++)
			if (c->result->extents[v] > 1 && index_is_var(c->store_at[v], &var) && var == of_root[x] && c->result->extents[v] == c->root->extents[var])
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
	r->possible &= find_stored(c, r->chain->axes, of_root, stored);
	if (!r->possible)
		return;
	restricted(r, c->root);
	memcpy(r->var, stored, sizeof r->var);
	if (c->result != c->root)
		restricted(r, c->result);
}

/* The last product's result, where it is its sums alone under other extents (heads of a group, side by side): the sums lie there themselves.  Their
 * strides, by the root's variables. */
static bool lies_as_root(const struct contraction *c, int64_t *stride)
{
	const struct expr *body = c->result->body;
	if (c->result == c->root || c->result->reduce != REDUCE_NONE || body->kind != EXPR_LOAD || body->of != c->root)
		return false;
	memset(stride, 0, MAX_RANK * sizeof *stride);
	for (int d = 0; d < c->result->rank; d++) {
		if (!index_is_affine(c->store_at[d]))
			return false;
		for (int v = 0; v < c->root->rank; v++)
			stride[v] += index_factor(c->store_at[d], v) * placed(c->result)->stride[d];
	}
	return true;
}

/* Rows of a block: as many as scratch in L2 has room for, and fewer where there would be too few blocks; balanced.  0: none. */
static int64_t rows_of(const struct lowered *lowered, const struct links *l, const int64_t *extents, int axes)
{
	const struct target *target = lowered->target;
	int64_t rows = extents[axes - 1], others = 1, row_bytes = 8, most = target->lanes_are_threads ? ROWS_OF_WARPS : ROWS_MOST;
	for (int x = 0; x + 1 < axes; x++)
		others *= extents[x];
	for (int v = l->step[1]->outer; v < l->weights->rank; v++)
		row_bytes *= l->weights->extents[v];
	while (most > 32 && others * ((rows + most - 1) / most) < BLOCKS_ENOUGH)
		most /= 2;
	int64_t room = (target->scratch_bytes ? target->scratch_bytes / SCRATCH_SHARE : target->l2_bytes / L2_SHARE) / row_bytes;
	most = room < most ? room : most;
	if (most < ROWS_LEAST && most < rows)
		return 0;
	int64_t blocks = (rows + most - 1) / most;
	return (rows + blocks - 1) / blocks;
}

/* What the steps are made for: the target, where warps share a block, whose scratch all of them write and read. */
static const struct target *target_inside(const struct lowered *lowered)
{
	if (!lowered->target->lanes_are_threads)
		return lowered->target;
	struct target *inside = new(lowered->arena, struct target);
	*inside = *lowered->target;
	inside->block_warps = WARPS;
	inside->scratch_is_near = false;
	return inside;
}

/* Do the steps fit into one block of warps? */
static bool share_block(const struct lowered *lowered, struct chain *chain)
{
	if (!lowered->target->lanes_are_threads)
		return true;
	for (int s = 0; s < STEPS; s++) {
		const struct kernel *step = chain->body->kernels.at[s];
		if (step->arrays || (step->shape == SHAPE_CONTRACTION && !step->warps))
			return false;
		int64_t floats = step->warps ? block_stage_floats(step->detail, lowered->target->lanes) : 0;
		chain->shared = floats > chain->shared ? floats : chain->shared;
	}
	return 4 * (chain_scratch(chain) + chain->shared) <= lowered->target->scratch_bytes;
}

static struct chain *chain_of(struct lowered *lowered, const struct links *l)
{
	struct arena *arena = lowered->arena;
	struct chain *chain = new(arena, struct chain);
	struct restricting r = { .lowered = lowered, .chain = chain, .program = program_new(lowered->program->build, lowered->program->name), .possible = true };
	r.program->definition_bytes = sizeof(struct placed);
	const struct contraction *first = l->step[0]->detail, *last = l->step[2]->detail;
	int roots[2][MAX_RANK] = { { 0 } }, rows[MAX_RANK] = { 0 };
	for (int v = 0; v < l->step[1]->outer; v++)
		if (l->weights->extents[v] > 1) {
			rows[chain->axes] = v;
			chain->extents[chain->axes++] = l->weights->extents[v];
		}
	if (!chain->axes || !find_axes(l, first->store_at, first->root, roots[0]) || !find_axes(l, last->a->at, last->root, roots[1])
		|| !(chain->rows = rows_of(lowered, l, chain->extents, chain->axes)))
		return NULL;
	for (int x = 0; x < chain->axes; x++)
		if (!expr_uses(first->a, roots[0][x]))        /* an axis runs along columns */
			return NULL;
	restrict_product(&r, first, roots[0]);
	memcpy(r.var, rows, sizeof r.var);
	for (size_t m = 0; r.possible && m < l->step[1]->members.count; m++)
		restricted(&r, l->step[1]->members.at[m]);
	int stored[MAX_RANK];
	int64_t strides[MAX_RANK];
	bool as_root = r.possible && !find_stored(last, chain->axes, roots[1], stored) && lies_as_root(last, strides);
	if (as_root) {
		memcpy(r.var, roots[1], sizeof r.var);
		restricted(&r, last->root);
	} else if (r.possible) {
		memcpy(strides, placed(last->result)->stride, sizeof strides);
		restrict_product(&r, last, roots[1]);
	}
	if (!r.possible)
		return NULL;

	/* Its output lies where the caller wants it. */
	struct definition *made = r.to.at[r.to.count - 1];
	struct chain_tensor out = { made, last->result, { 0 } };
	made->is_output = true;
	*placed(made) = (struct placed){ .of = *made, .mode = MODE_HOSTED, .bytes = placed(last->result)->bytes, .offset = -1, .first = -1, .last = -1 };
	memcpy(placed(made)->stride, strides, sizeof strides);
	for (int x = 0; x < chain->axes; x++)
		out.step[x] = strides[r.var[x]];
	push(arena, &chain->tensors, out);
	push(arena, &r.program->outputs, made);

	struct lowered *body = chain->body = new(arena, struct lowered);
	body->program = r.program;
	body->arena = arena;
	body->target = target_inside(lowered);
	body->optimise = lowered->optimise;
	place_readers(body);
	fuse(body);
	layout(body);
	if (!arrange(body) || body->kernels.count != STEPS)
		return NULL;
	for (int s = 0; s < STEPS; s++)
		if (body->kernels.at[s]->shape != l->step[s]->shape)
			return NULL;
	choose(body);
	plan(body);
	return body->constants.count || !share_block(lowered, chain) ? NULL : chain;
}

/* The three become one, where the last one stood. */
static void replace(struct lowered *lowered, const struct links *l, struct chain *chain)
{
	struct kernel *kernel = new(lowered->arena, struct kernel);
	size_t kept = 0;
	kernel->shape = SHAPE_CHAIN;
	kernel->root = l->step[2]->root;
	kernel->detail = chain;
	kernel->blocks = chain_units(chain);
	for (int x = 0; x + 1 < chain->axes; x++)
		kernel->blocks *= chain->extents[x];
	for (int s = 0; s < STEPS; s++)
		for (size_t m = 0; m < l->step[s]->members.count; m++) {
			push(lowered->arena, &kernel->members, l->step[s]->members.at[m]);
			placed(l->step[s]->members.at[m])->kernel = kernel;
		}
	placed(l->scores)->mode = placed(l->weights)->mode = MODE_LOCAL;
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		struct kernel *one = lowered->kernels.at[k];
		if (one != l->step[0] && one != l->step[1])
			lowered->kernels.at[kept++] = one == l->step[2] ? kernel : one;
	}
	lowered->kernels.count = kept;
	for (size_t k = 0; k < kept; k++)
		lowered->kernels.at[k]->number = (int)k;
}

void make_chains(struct lowered *lowered)
{
	if (lowered->target->log || lowered->target->short_stack)
		return;
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		struct links links;
		struct chain *made;
		if (!find_links(lowered, lowered->kernels.at[k], &links) || !(made = chain_of(lowered, &links)))
			continue;
		replace(lowered, &links, made);
		k--;                                          /* another one stands here now */
	}
}

const char *chain_word(const struct kernel *kernel)
{
	(void)kernel;
	return "attention";
}

const struct lowered *chain_inside(const struct kernel *kernel) { return ((const struct chain *)kernel->detail)->body; }

void chain_choose(struct lowered *lowered, struct kernel *kernel)
{
	const struct chain *chain = kernel->detail;
	for (int s = 0; s < STEPS; s++) {
		struct kernel *step = chain->body->kernels.at[s];
		step->name = arena_printf(lowered->arena, "%s_%d", kernel->name, s);
		step->inner = true;
		step->joined = lowered->target->lanes_are_threads;
	}
	kernel->blocks_of = arena_printf(lowered->arena, "blocks of %lld rows", (long long)chain->rows);
	kernel->tile = arena_printf(lowered->arena, "%lld rows: %s, %s, %s", (long long)chain->rows, chain->body->kernels.at[0]->tile, chain->body->kernels.at[1]->tile,
		chain->body->kernels.at[2]->tile);
	kernel->template_name = arena_printf(lowered->arena, "%s/chain.jinja", lowered->target->family);
	kernel->warps = lowered->target->lanes_are_threads ? WARPS : 0;
}
