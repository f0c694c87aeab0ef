/* pool.c: a maximum over windows that do not overlap joins the convolution before it: some rows of the convolution
 * stand in scratch, and only their maxima are stored. */
#include "kernels/kernels.h"

enum { SCRATCH_FLOATS = 4096 }; /* of the rows that one row of maxima reads */

struct definition *contraction_output(const struct contraction *c) { return c->pool.d ? c->pool.d : c->result; }

/* at is stride * v + r, r the only reduced variable, windows apart from each other. */
static bool is_window(const struct definition *d, const struct index *at, int64_t *size, int64_t *stride, int *var)
{
	int reduced = -1;
	*var = -1;
	if (!index_is_affine(at) || at->constant || at->count > 2)
		return false;
	FOR (i, at->count) {
		int v = at->terms[i].atom->var;
		if (v >= d->rank && at->terms[i].factor == 1 && reduced < 0)
			reduced = v;
		else if (v < d->rank && *var < 0)
			*var = v, *stride = at->terms[i].factor;
		else
			return false;
	}
	if (reduced < 0 || *var < 0)
		return false;
	*size = d->reduced_extents[reduced - d->rank];
	return *size > 1 && *size <= *stride && *size <= 4;
}

/* Fills `pool`; false where d is no such maximum. */
static bool match(const struct contraction *c, struct definition *d, struct pool *pool)
{
	const struct definition *x = c->result;
	const struct expr *load = d->body;
	int windows = 0, last_row = -1;
	*pool = (struct pool){ .d = d };
	FOR (v, d->rank)
		pool->of[v] = -1;
	FOR (v, c->root->rank)
		if (c->root->extents[v] > 1 && !expr_uses(c->b, v))
			last_row = v;
	FOR (k, x->rank) {
		int root_var, var;
		if (x->extents[k] == 1)
			continue;
		if (!index_is_var(c->store_at[k], &root_var) || c->root->extents[root_var] != x->extents[k])
			return false;
		if (index_is_var(load->at[k], &var) && var < d->rank && d->extents[var] == x->extents[k]) {
			pool->of[var] = root_var;
			continue;
		}
		if (windows == 2 || expr_uses(c->b, root_var)
		        || !is_window(d, load->at[k], &pool->size[windows], &pool->stride[windows], &var))
			return false;
		*(windows ? &pool->across : &pool->row) = root_var;
		pool->of[var] = root_var;
		windows++;
	}
	/* The rows in front of the windows are loops; no batch, no maximum along columns. */
	if (windows != 2 || pool->across != last_row || pool->of[d->rank - 1] != pool->across)
		return false;
	FOR (v, c->root->rank)
		if (c->root->extents[v] > 1 && expr_uses(c->b, v) && expr_uses(c->a, v))
			return false;
	return true;
}

/* Scratch holds the window's rows, columns side by side. */
static bool lay(const struct contraction *c, struct pool *pool)
{
	struct definition *x = c->result;
	int64_t columns = 1, width = 1;
	int column = -1;
	FOR (k, x->rank) {
		int v = -1;
		scheduled(x)->stride[k] = 0;
		if (x->extents[k] == 1 || !index_is_var(c->store_at[k], &v))
			continue;
		if (v == pool->across)
			width = x->extents[k];
		if (expr_uses(c->b, v)) {
			if (column >= 0)
				return false;
			column = k;
			columns = x->extents[k];
		}
	}
	FOR (k, x->rank) {
		int v = -1;
		if (x->extents[k] > 1 && index_is_var(c->store_at[k], &v))
			scheduled(x)->stride[k] = k == column ? 1
			        : v == pool->across           ? columns
			        : v == pool->row              ? columns * width
			                                      : 0;
	}
	return column >= 0 && pool->size[0] * width * columns <= SCRATCH_FLOATS;
}

void fuse_pools(struct lowered *lowered)
{
	const struct program *program = lowered->program;
	FOR_EACH (struct definition *d, program->all) {
		struct definition *x;
		struct pool pool;
		if (d->source != SOURCE_COMPUTED || scheduled(d)->mode == MODE_VIRTUAL || d->reduce != REDUCE_MAX
		        || d->order != ORDER_SERIAL || d->start || definition_scatters(d) || d->type != DTYPE_F32
		        || d->body->kind != EXPR_LOAD || definition_is_counted(d)) /* a tile has all of its maxima */
			continue;
		x = d->body->of;
		struct contraction *c = scheduled(x)->contraction;
		if (!c || c->result != x || c->rewrite || c->pool.d || scheduled(x)->mode != MODE_DEVICE
		        || !branch_equal(x->branch, d->branch) || scheduled(x)->readers.count != 1
		        || c->b->of->source != SOURCE_CONSTANT || !match(c, d, &pool))
			continue;
		int64_t kept[MAX_RANK];
		memcpy(kept, scheduled(x)->stride, sizeof kept);
		if (!lay(c, &pool)) {
			memcpy(scheduled(x)->stride, kept, sizeof kept);
			continue;
		}
		c->pool = pool;
		scheduled(x)->mode = MODE_LOCAL;
		scheduled(d)->contraction = c;
	}
}
