/* same.c: kernels that differ in nothing but where their tensors lie share their code: blocks of a residual network,
 * steps of an unrolled recurrence.  Compared is what code is made of: the members over their own variables, strides,
 * extents, the tile. */
#include "kernels/kernels.h"

struct pair {
	const struct kernel *a, *b;
};
static bool same_expr(const struct pair *, const struct expr *, const struct expr *);

static int param_of(const struct kernel *kernel, const struct definition *d)
{
	for (size_t i = 0; i < kernel->params.count; i++)
		if (kernel->params.at[i].of == d)
			return (int)i;
	return -1;
}

static int member_of(const struct kernel *kernel, const struct definition *d)
{
	for (size_t i = 0; i < kernel->members.count; i++)
		if (kernel->members.at[i] == d)
			return (int)i;
	return -1;
}

static bool same_extents(const struct definition *x, const struct definition *y)
{
	if (x->type != y->type || x->rank != y->rank)
		return false;
	for (int d = 0; d < x->rank; d++)
		if (x->extents[d] != y->extents[d] || scheduled(x)->stride[d] != scheduled(y)->stride[d])
			return false;
	return true;
}

/* Two tensors that play the same part: the same parameter or member, or constants that are packed into one. */
static bool same_part(const struct pair *p, const struct definition *x, const struct definition *y)
{
	if (!same_extents(x, y) || x->source != y->source || definition_climbs(x) != definition_climbs(y)
	        || (scheduled(x)->mode == MODE_LOCAL) != (scheduled(y)->mode == MODE_LOCAL))
		return false;
	return param_of(p->a, x) == param_of(p->b, y) && member_of(p->a, x) == member_of(p->b, y);
}

static bool same_index(const struct pair *p, const struct index *x, const struct index *y)
{
	if (x->constant != y->constant || x->count != y->count)
		return false;
	for (int i = 0; i < x->count; i++) {
		const struct atom *a = x->terms[i].atom, *b = y->terms[i].atom;
		if (x->terms[i].factor != y->terms[i].factor || a->kind != b->kind || a->low != b->low
		        || a->high != b->high)
			return false;
		if (a->kind == ATOM_VAR                 ? a->var != b->var
		                : a->kind == ATOM_VALUE ? !same_expr(p, a->value, b->value)
		                                        : a->by != b->by || !same_index(p, a->of, b->of))
			return false;
	}
	return true;
}

static bool same_expr(const struct pair *p, const struct expr *x, const struct expr *y)
{
	if (!x || !y)
		return x == y;
	if (x->kind != y->kind || x->type != y->type || x->row != y->row || x->cast != y->cast
	        || x->integer != y->integer || x->range_count != y->range_count
	        || memcmp(&x->number, &y->number, sizeof x->number))
		return false;
	if (x->kind == EXPR_LOAD) {
		if (!same_part(p, x->of, y->of))
			return false;
		for (int d = 0; d < x->of->rank; d++)
			if (!same_index(p, x->at[d], y->at[d]))
				return false;
	}
	if (x->kind == EXPR_INDEX && !same_index(p, x->index, y->index))
		return false;
	for (int i = 0; i < x->range_count; i++)
		if (x->ranges[i].from != y->ranges[i].from || x->ranges[i].to != y->ranges[i].to
		        || !same_index(p, x->ranges[i].at, y->ranges[i].at))
			return false;
	for (int i = 0; i < 3; i++)
		if (!same_expr(p, x->arg[i], y->arg[i]))
			return false;
	return true;
}

static bool same_count(const struct pair *p, const struct definition *x, const struct definition *y)
{
	return !x == !y && (!x || param_of(p->a, x) == param_of(p->b, y));
}

static bool same_member(const struct pair *p, const struct definition *x, const struct definition *y)
{
	if (!same_part(p, x, y) || x->reduce != y->reduce || x->products != y->products || x->order != y->order
	        || x->reduced != y->reduced || !scheduled(x)->rewrite != !scheduled(y)->rewrite)
		return false;
	for (int d = 0; d < x->reduced; d++)
		if (x->reduced_extents[d] != y->reduced_extents[d])
			return false;
	const struct rewrite *of_x = scheduled(x)->rewrite, *of_y = scheduled(y)->rewrite;
	if (of_x && (of_x->m != of_y->m || of_x->pad_top != of_y->pad_top || of_x->pad_left != of_y->pad_left))
		return false;
	for (int v = 0; v < x->rank; v++)
		if (!same_expr(p, x->place[v], y->place[v]))
			return false;
	for (int v = 0; v < MAX_RANK; v++)
		if (!same_count(p, x->counts[v], y->counts[v])
		        || !same_count(p, x->reduced_counts[v], y->reduced_counts[v]))
			return false;
	return x->running == y->running && same_expr(p, x->lies, y->lies) && same_expr(p, x->row, y->row)
	        && same_expr(p, x->start, y->start) && same_expr(p, x->body, y->body);
}

bool contraction_same(const struct kernel *a, const struct kernel *b)
{
	const struct contraction *x = a->detail, *y = b->detail;
	return x->swapped == y->swapped && x->b_mode == y->b_mode && x->tile_rows == y->tile_rows
	        && x->tile_vecs == y->tile_vecs && x->row_blocks == y->row_blocks && x->panels == y->panels
	        && x->group == y->group && x->next_lines == y->next_lines && x->k_block == y->k_block
	        && x->packed_a_blocks == y->packed_a_blocks && x->copied == y->copied
	        && x->split_panels == y->split_panels && x->prefetch == y->prefetch && !x->pool.d == !y->pool.d
	        && x->pool.by_panel == y->pool.by_panel;
}

static bool same_code(const struct kernel *a, const struct kernel *b)
{
	struct pair p = { a, b };
	if (a->shape != b->shape || a->outer != b->outer || a->blocks != b->blocks || a->flops != b->flops
	        || a->members.count != b->members.count || a->params.count != b->params.count
	        || member_of(a, a->root) != member_of(b, b->root) || strcmp(a->tile, b->tile))
		return false;
	for (size_t i = 0; i < a->params.count; i++)
		if (a->params.at[i].written != b->params.at[i].written
		        || strcmp(a->params.at[i].name, b->params.at[i].name)
		        || !same_extents(a->params.at[i].of, b->params.at[i].of))
			return false;
	for (size_t m = 0; m < a->members.count; m++)
		if (!same_member(&p, a->members.at[m], b->members.at[m]))
			return false;
	return !shapes[a->shape].same || shapes[a->shape].same(a, b);
}

void share_code(struct lowered *lowered)
{
	for (size_t k = 0; k < lowered->kernels.count; k++) {
		struct kernel *kernel = lowered->kernels.at[k];
		/* The last ones first: steps repeat what was just made.  A log names the tensors, so there each has
		 * code of its own. */
		for (size_t i = lowered->target->log ? 0 : lowered->code.count; i-- > 0 && !kernel->same;)
			if (same_code(lowered->code.at[i], kernel))
				kernel->same = lowered->code.at[i];
		if (kernel->same)
			kernel->same->times++;
		else
			push(lowered->arena, &lowered->code, kernel);
		kernel->times += !kernel->same;
	}
}
