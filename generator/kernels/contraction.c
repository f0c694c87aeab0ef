/* contraction.c: finds sums of products by looking at their indices, and arranges the indices of one into batches,
 * rows, one column and terms, merging neighbours that every address allows. */
#include "kernels/kernels.h"

/* load, or select(ranges) load : 0 */
static const struct expr *load_of(const struct expr *factor, const struct range **pads, int *count)
{
	*pads = NULL;
	*count = 0;
	if (factor->kind == EXPR_SELECT && factor->arg[0]->kind == EXPR_LOAD && factor->arg[1]->kind == EXPR_NUMBER
	        && factor->arg[1]->number == 0) {
		*pads = factor->ranges;
		*count = factor->range_count;
		return factor->arg[0];
	}
	return factor->kind == EXPR_LOAD ? factor : NULL;
}

/* A factor that widens elements of a constant, with others that no term moves: the load of those elements; else NULL.
 */
struct widening {
	const struct definition *root;
	const struct expr *of;
	bool others;
};
static void look_at_load(void *user, const struct expr *load)
{
	struct widening *w = user;
	bool moves = false;
	for (int v = w->root->rank; v < w->root->rank + w->root->reduced; v++)
		moves |= expr_uses(load, v);
	w->others |= load->of->source != SOURCE_CONSTANT || (moves && w->of);
	w->of = moves ? load : w->of;
}

const struct expr *contraction_widened(const struct definition *root, const struct expr *factor)
{
	struct widening w = { .root = root };
	const struct expr *codes = codes_widened(root, factor);
	if (codes)
		return codes;
	if (factor->kind == EXPR_LOAD || expr_has(factor, 1u << EXPR_SELECT | 1u << EXPR_INDEX))
		return NULL;
	expr_loads(factor, look_at_load, &w);
	return w.others ? NULL : w.of;
}

/* A pad is s*row + d*term + c in [from, to), one row and one term, neither running down: stage_padded counts on that.
 * Batches, which b has, too, are loops around and may move it. */
static bool pads_are_plain(const struct contraction *c, const struct definition *root)
{
	FOR (i, c->pad_count) {
		const struct index *at = c->pads[i].at;
		int rows = 0, terms = 0;
		if (!index_is_affine(at))
			return false;
		bool down = false;
		FOR (t, at->count) {
			down |= at->terms[t].factor < 0;
			if (at->terms[t].atom->var < root->rank)
				rows += !expr_uses(c->b, at->terms[t].atom->var);
			else
				terms++;
		}
		if (rows > 1 || terms > 1 || down)
			return false;
	}
	return true;
}

/* Does it take one side here and the other one there?  Lanes beside each other would have to take both. */
static bool selects_along(const struct expr *expr, int vars)
{
	FOR (v, vars)
		if (expr_selects_on(expr, v))
			return true;
	return false;
}

struct contraction *contraction_match(const struct lowered *lowered, struct definition *root)
{
	struct arena *arena = lowered->arena;
	const struct expr *factor[2];
	const struct range *pads[2];
	int counts[2], columns[2] = { 0, 0 };
	const struct product *product = product_of(lowered->target, root);
	if (!product || (root->start && selects_along(root->start, root->rank)))
		return NULL;
	const struct expr *widened[2] = { NULL, NULL };
	bool ends_short = false;
	FOR (i, 2) {
		widened[i] = contraction_widened(root, root->body->arg[i]) ? root->body->arg[i] : NULL;
		factor[i] = factor_there(root, root->body->arg[i]);
		ends_short |= factor[i] != NULL;
		counts[i] = 0;
		if (!factor[i])
			factor[i] = load_of(root->body->arg[i], &pads[i], &counts[i]);
		if (widened[i])
			factor[i] = contraction_widened(root, root->body->arg[i]);
		else if (!factor[i] || factor[i]->type != root->type || (counts[i] && root->type != DTYPE_F32))
			return NULL;
	}
	FOR (v, root->rank + root->reduced) {
		bool in[2] = { expr_uses(factor[0], v), expr_uses(factor[1], v) };
		if (v < root->rank)
			FOR (i, 2)
				columns[i] += in[i] && !in[1 - i];
		else if (root->reduced_extents[v - root->rank] > 1 && !(in[0] && in[1]))
			return NULL;
	}
	bool can[2];
	FOR (i, 2)
		can[i] = columns[i] && !counts[i];
	if (!can[0] && !can[1])
		return NULL;
	bool constant[2] = { factor[0]->of->source == SOURCE_CONSTANT, factor[1]->of->source == SOURCE_CONSTANT };
	int b = can[1] && (!can[0] || constant[1] || !constant[0]) ? 1 : 0;
	if (widened[1 - b])
		return NULL;
	struct contraction *c = arena_new(arena, struct contraction);
	const struct product *matrix = !widened[b] ? product_of_matrix(lowered->target, product, root) : NULL;
	bool fits = matrix && (constant[b] || product_is_of_warps(matrix));
	c->product = fits ? matrix : product; /* until matrix_choose has looked at what the layouts are */
	c->root = c->result = root;
	c->a = factor[1 - b];
	c->b = factor[b];
	c->roles.widened = widened[b];
	if (lowered->target->lanes > 1)
		codes_choose(c);
	c->pads = pads[1 - b];
	c->pad_count = counts[1 - b];
	c->roles.swapped = b == 0;
	c->roles.ends_short = ends_short;
	if (!pads_are_plain(c, root))
		return NULL;
	c->store_at = arena_new_array(arena, const struct index *, (size_t)root->rank + 1);
	index_vars(arena, c->store_at, root->rank, root->extents);
	return c;
}

/* A thread computes in C. */
static enum visit bends(void *user, const struct expr *expr)
{
	for (int i = 0; expr->kind == EXPR_LOAD && i < expr->rank; i++)
		if (index_bends(expr->at[i], *(const int *)user))
			return VISIT_END;
	return VISIT_PARTS;
}

static enum visit is_apart(void *user, const struct expr *expr)
{
	int lane = *(const int *)user;
	/* What narrows floats stays a map of its own: fused kernels have steps for it. */
	return expr_node_has_lanes(expr, lane) && !dtype_is_narrow(expr->type) ? bends(user, expr) : VISIT_END;
}

/* More than what is quantised: numbers of columns alone, and their sums. */
static enum visit is_more(void *user, const struct expr *e)
{
	const struct contraction *c = user;
	bool is_float = e->type == DTYPE_F32;
	for (int v = 0; e->kind == EXPR_LOAD && e->of != c->root && v < c->root->rank; v++)
		if (expr_uses(c->a, v) && expr_uses(e, v))
			return VISIT_END;
	if ((!is_float && e->type != DTYPE_I32 && e->type != DTYPE_I8 && e->type != DTYPE_U8) || e->cast & CAST_BITS
	        || e->kind == EXPR_SELECT)
		return VISIT_END;
	return is_float || e->kind != EXPR_SCALAR || e->opcode == SCALAR_add || e->opcode == SCALAR_sub ? VISIT_PARTS
	                                                                                                : VISIT_END;
}

/* Integers of at least a vector of columns, and what is quantised of them. */
static bool is_quantised(const struct target *target, const struct contraction *c, const struct expr *epilogue)
{
	int64_t columns = 1;
	FOR (v, c->root->rank)
		columns *= expr_uses(c->a, v) ? 1 : c->root->extents[v];
	return c->root->type == DTYPE_I32 && columns >= target->lanes
	        && !expr_visit(epilogue, is_more, (void *)(uintptr_t)c);
}

bool contraction_in_lanes(const struct target *target, const struct contraction *c, const struct expr *epilogue)
{
	bool typed = c->a && (!target->simple_epilogues || is_quantised(target, c, epilogue));
	if (expr_selects_by_value(epilogue) || (!typed && !expr_can_vector(epilogue, -1)))
		return false;
	for (int v = 0; v < c->root->rank; v++)
		if ((!c->a || !expr_uses(c->a, v))
		        && (typed ? expr_visit(epilogue, target->lanes_are_threads ? bends : is_apart, &v)
		                  : !expr_can_vector(epilogue, v)))
			return false;
	return true;
}

const struct index *schedule_address(struct arena *arena, const struct definition *of, const struct index *const *at)
{
	const struct index *address = index_constant(arena, 0);
	FOR (d, of->rank)
		address = index_add(arena, address, index_scale(arena, at[d], scheduled(of)->stride[d]));
	return address;
}

/* ---- arranging ---- */
enum role { ROLE_BATCH, ROLE_ROW, ROLE_COLUMN, ROLE_TERM };
struct axis {
	enum role role;
	int64_t extent;
	int size, parts[MAX_VARS];
}; /* the root's variables in it, outermost first */

struct arrangement {
	struct arena *arena;
	struct contraction *c;
	struct axis axes[MAX_VARS];
	int count;
	bool loose[MAX_VARS];               /* the root's variables that are columns, but loops around */
	const struct index *with[MAX_VARS]; /* the root's variables over the axes */
	bool affine;
};

static const struct index *address_of(struct arrangement *r, const struct definition *of, const struct index *const *at)
{
	const struct index *moved[MAX_RANK];
	FOR (d, of->rank)
		moved[d] = index_substitute(r->arena, at[d], r->with);
	const struct index *address = schedule_address(r->arena, of, moved);
	r->affine &= index_is_affine(address);
	return address;
}

static void check_load(void *user, const struct expr *load)
{
	struct arrangement *r = user;
	if (load->of != r->c->root)
		address_of(r, load->of, load->at);
}

/* Sets `with` and the addresses from the axes; true where all are affine.  A constant b may lie in any way that is known
 * before: it is packed. */
static bool arranged(struct arrangement *r)
{
	struct contraction *c = r->c;
	FOR (v, MAX_VARS)
		r->with[v] = index_constant(r->arena, 0);
	FOR (x, r->count) {
		const struct index *whole = index_var(r->arena, x, r->axes[x].extent);
		int64_t step = 1;
		for (int p = r->axes[x].size - 1; p >= 0; p--) {
			int64_t extent = definition_extent(c->root, r->axes[x].parts[p]);
			const struct index *part = index_div(r->arena, whole, step);
			r->with[r->axes[x].parts[p]] = p ? index_mod(r->arena, part, extent) : part;
			step *= extent;
		}
	}
	r->affine = true;
	c->a_at = address_of(r, c->a->of, c->a->at);
	c->out_at = address_of(r, c->result, c->store_at);
	c->beside.at = c->beside.d ? address_of(r, c->beside.d, c->store_at) : NULL;
	if (c->root->start)
		expr_loads(c->root->start, check_load, r);
	if (c->epilogue)
		expr_loads(c->epilogue, check_load, r);
	bool others = r->affine;
	c->b_at = address_of(r, c->b->of, c->b->at);
	return c->b->of->source == SOURCE_CONSTANT && !c->b_at->values ? others : r->affine;
}

static bool padded(const struct contraction *c, const struct axis *axis)
{
	FOR (i, c->pad_count)
		FOR (p, axis->size)
			if (index_uses(c->pads[i].at, axis->parts[p]))
				return true;
	return false;
}

static void list_axes(struct arrangement *r)
{
	const struct contraction *c = r->c;
	r->count = 0;
	for (enum role role = ROLE_BATCH; role <= ROLE_TERM; role++)
		FOR (v, c->root->rank + c->root->reduced) {
			bool in_a = expr_uses(c->a, v), in_b = expr_uses(c->b, v);
			FOR (i, c->pad_count)
				in_a |= index_uses(c->pads[i].at, v);
			enum role is = v >= c->root->rank       ? ROLE_TERM
			        : (in_a && in_b) || r->loose[v] ? ROLE_BATCH
			        : in_b                          ? ROLE_COLUMN
			                                        : ROLE_ROW;
			if (definition_extent(c->root, v) == 1 || is != role)
				continue;
			r->axes[r->count++] = (struct axis){
				.role = role, .extent = definition_extent(c->root, v), .size = 1, .parts = { v }
			};
		}
}

/* The count at which a variable of the root ends: of its terms, or of what its result is over. */
struct definition *contraction_count(const struct contraction *c, int v)
{
	if (v >= c->root->rank) {
		struct definition *count = c->root->count.reduced[v - c->root->rank];
		return c->roles.ends_short ? scheduled(count)->whole : count;
	}
	FOR (d, c->result->rank)
		if (c->result == c->root ? d == v
		                         : index_is(c->store_at[d], v) && c->result->extents[d] == c->root->extents[v])
			return c->result->count.of[d];
	return NULL;
}

bool contraction_is_counted(const struct contraction *c)
{
	bool counted = false;
	FOR (v, MAX_VARS)
		counted |= c->counts[v] != NULL;
	return counted;
}

void contraction_add_counts(struct lowered *lowered, struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	FOR (v, MAX_VARS)
		if (c->counts[v])
			kernel_add_read(lowered, kernel, c->counts[v]);
}

static bool is_counted(const struct contraction *c, const struct axis *axis)
{
	FOR (p, axis->size)
		if (contraction_count(c, axis->parts[p]))
			return true;
	return false;
}

/* Joins axes x and x+1, or leaves them where an address would not stay affine. */
static void try_merge(struct arrangement *r, int x)
{
	const struct arrangement before = *r;
	struct axis *outer = &r->axes[x], *inner = &r->axes[x + 1];
	if (r->c->pool.d && outer->role == ROLE_ROW)
		return; /* the windows run along rows as they are */
	bool merges = outer->role == ROLE_ROW || outer->role == ROLE_COLUMN
	        || (outer->role == ROLE_TERM && r->c->root->type != DTYPE_F32); /* a run of dwords */
	if (outer->role != inner->role || !merges || padded(r->c, outer) || padded(r->c, inner)
	        || is_counted(r->c, inner)) /* a count ends the outermost */
		return;
	memcpy(outer->parts + outer->size, inner->parts, sizeof *inner->parts * (size_t)inner->size);
	outer->size += inner->size;
	outer->extent *= inner->extent;
	memmove(inner, inner + 1, sizeof *inner * (size_t)(r->count - x - 2));
	r->count--;
	if (!arranged(r))
		*r = before;
}

/* Columns that would not merge: the last is the column, others become loops around, as batches are.  False: there are
 * none. */
static bool loosens(struct arrangement *r)
{
	bool loosens = false;
	for (int x = 0; x + 1 < r->count; x++)
		for (int p = 0;
		        p < r->axes[x].size && r->axes[x].role == ROLE_COLUMN && r->axes[x + 1].role == ROLE_COLUMN;
		        p++)
			loosens = r->loose[r->axes[x].parts[p]] = true;
	return loosens;
}

/* Whether a stack holds the packed a of one row at least. */
static bool packed_a_fits(const struct contraction *c)
{
	struct stage stage = { .floats = 0 };
	if (c->pad_count && c->column >= 0)
		stage_padded(c, 1, &stage);
	return stage.floats <= STACK_FLOATS;
}

bool contraction_arrange(struct arena *arena, struct contraction *c)
{
	struct arrangement *r = &(struct arrangement){ .arena = arena, .c = c };
	do {
		list_axes(r);
		if (!arranged(r))
			return false;
		for (int x = r->count - 2; x >= 0; x--)
			try_merge(r, x);
		arranged(r);
	} while (loosens(r));
	c->batches = c->rows = c->terms = 0;
	c->column = -1;
	memset(c->counts, 0, sizeof c->counts);
	FOR (x, r->count) {
		c->extents[x] = r->axes[x].extent;
		c->counts[x] = contraction_count(c, r->axes[x].parts[0]);
		c->arranged.each[x] = c->extents[x] / definition_extent(c->root, r->axes[x].parts[0]);
		switch (r->axes[x].role) {
		case ROLE_BATCH: c->batches++; break;
		case ROLE_ROW: c->rows++; break;
		case ROLE_COLUMN: c->column = x; break;
		case ROLE_TERM: c->terms++; break;
		}
	}
	FOR (v, MAX_VARS)
		c->arranged.of_root[v] = r->with[v];
	if (c->pool.d) {
		const struct index *with[MAX_VARS] = { 0 };
		int row = c->batches + c->rows - 2;
		with[row] = index_var(arena, POOL_VAR, c->pool.size[0] > 1 ? c->pool.size[0] : 2);
		c->out_at = index_substitute(arena, c->out_at, with);
		c->extents[row + 1] =
		        (c->pool.d->extents[c->pool.d->rank - 1] - 1) * c->pool.stride[1] + c->pool.size[1];
	}
	c->arranged.start = c->root->start ? expr_substitute(arena, c->root->start, r->with) : NULL;
	c->arranged.value = c->epilogue ? expr_substitute(arena, c->epilogue, r->with) : NULL;
	c->beside.stored = c->beside.d ? expr_substitute(arena, c->beside.value, r->with) : NULL;
	c->arranged.wide = c->roles.widened ? expr_substitute(arena, c->roles.widened, r->with) : NULL;
	struct range *pads = arena_new_array(arena, struct range, (size_t)c->pad_count + 1);
	FOR (i, c->pad_count)
		pads[i] = (struct range){ index_substitute(arena, c->pads[i].at, r->with), c->pads[i].from,
			c->pads[i].to };
	c->arranged.pads = pads;
	return c->column >= 0 && packed_a_fits(c);
}

/* The other roles for the same sum. */
static bool exchange(struct arena *arena, struct contraction *c)
{
	const struct expr *a = c->a;
	c->a = c->b;
	c->b = a;
	c->roles.swapped = !c->roles.swapped;
	c->roles.exchanged = !c->roles.exchanged;
	return contraction_arrange(arena, c);
}

/* Do a and the result lie side by side along the rows, and the result's columns apart?  Lanes along rows store whole
 * vectors then.  Of a every second will do. */
static bool lies_across(const struct contraction *c)
{
	int row = contraction_row(c);
	return row >= 0 && index_is_affine(c->out_at)
	        && (index_factor(c->a_at, row) == 1 || index_factor(c->a_at, row) == 2)
	        && index_factor(c->out_at, row) == 1 && index_factor(c->out_at, c->column) != 1;
}

bool contraction_counts_outer(const struct contraction *c)
{
	const int row = contraction_row(c);
	bool outer = true;
	for (int v = row < 0 ? 0 : row; v < MAX_VARS; v++)
		outer &= !c->counts[v];
	return outer;
}

/* Is it a term's? A count of rows or columns is left to those that the other roles have. */
static bool counts_terms(const struct contraction *c)
{
	bool counts = false;
	for (int v = c->column + 1; v < MAX_VARS; v++)
		counts |= c->counts[v] != NULL;
	return counts;
}

bool contraction_exchange(const struct target *target, struct arena *arena, struct contraction *c)
{
	if (c->roles.exchanged)
		return exchange(arena, c);
	if (counts_terms(c) || c->pad_count || c->pool.d || c->roles.widened || c->root->type != DTYPE_F32
	        || !lies_across(c))
		return false;
	if (exchange(arena, c) && !counts_terms(c) && index_is_affine(c->b_at) && index_factor(c->b_at, c->column) <= 2
	        && index_factor(c->out_at, c->column) == 1
	        && (!c->epilogue || contraction_in_lanes(target, c, c->epilogue)))
		return true;
	exchange(arena, c);
	return false;
}
