/* same.c: kernels that differ in nothing but where their tensors lie share their code: blocks of a residual network,
 * steps of an unrolled recurrence.  Compared is what code is made of: the members over their own variables, strides,
 * extents, the tile.  Each kernel's expressions are said over the parts that tensors play in it, so that equal ones are
 * one pointer. */
#include "kernels/kernels.h"

struct pair {
	const struct kernel *a, *b;
};

static int param_of(const struct kernel *kernel, const struct definition *d)
{
	FOR_ALL (i, kernel->params)
		if (kernel->params.at[i].of == d)
			return (int)i;
	return -1;
}

static bool same_extents(const struct definition *x, const struct definition *y)
{
	if (x->type != y->type || x->rank != y->rank)
		return false;
	FOR (d, x->rank)
		if (x->extents[d] != y->extents[d] || scheduled(x)->stride[d] != scheduled(y)->stride[d])
			return false;
	return true;
}

/* What a tensor is to a kernel: a parameter or a member of it, or a constant that is packed into one. */
struct part {
	const struct definition *of; /* the first that plays it */
	int param, member;
	struct definition *as; /* what stands for it */
};
struct parts {
	struct arena *arena;
	const struct kernel *kernel; /* that is looked at */
	VECTOR(struct part) all;
};

static struct definition *part_of(const void *user, struct definition *of)
{
	struct parts *parts = (struct parts *)(uintptr_t)user;
	int param = param_of(parts->kernel, of), member = kernel_member(parts->kernel, of);
	FOR_EACH_AT (const struct part *part, parts->all) {
		if (part->param == param && part->member == member && same_extents(part->of, of)
		        && part->of->source == of->source && definition_climbs(part->of) == definition_climbs(of)
		        && (is_local(part->of)) == (is_local(of)))
			return part->as;
	}
	struct part part = { of, param, member, arena_new(parts->arena, struct definition) };
	part.as->type = of->type;
	part.as->rank = of->rank;
	part.as->name = arena_printf(parts->arena, "part %zu", parts->all.count); /* indices order loads by it */
	push(parts->arena, &parts->all, part);
	return part.as;
}

/* A kernel, and what its members are and say, over parts. */
struct said {
	const struct kernel *kernel;
	VECTOR(const void *) all;
};

static void say(struct parts *parts, const struct expr *expr, struct said *said)
{
	push(parts->arena, &said->all, expr ? expr_redirect(parts->arena, expr, part_of, parts) : NULL);
}

static struct said said_by(struct parts *parts, const struct kernel *kernel)
{
	struct said said = { .kernel = kernel };
	parts->kernel = kernel;
	FOR_EACH (struct definition *d, kernel->members) {
		push(parts->arena, &said.all, part_of(parts, d));
		FOR (v, d->rank)
			say(parts, d->place[v], &said);
		say(parts, d->lies, &said);
		say(parts, d->row, &said);
		FOR (i, CHOICES)
			say(parts, d->choice[i], &said);
		say(parts, d->start, &said);
		say(parts, d->body, &said);
	}
	return said;
}

static bool same_count(const struct pair *p, const struct definition *x, const struct definition *y)
{
	return !x == !y && (!x || param_of(p->a, x) == param_of(p->b, y));
}

static bool same_member(const struct pair *p, const struct definition *x, const struct definition *y)
{
	if (x->reduce != y->reduce || x->sum.products != y->sum.products || x->order != y->order
	        || x->reduced != y->reduced || !scheduled(x)->rewrite != !scheduled(y)->rewrite)
		return false;
	FOR (d, x->reduced)
		if (x->reduced_extents[d] != y->reduced_extents[d])
			return false;
	const struct rewrite *of_x = scheduled(x)->rewrite, *of_y = scheduled(y)->rewrite;
	if (of_x && (of_x->m != of_y->m || of_x->pad_top != of_y->pad_top || of_x->pad_left != of_y->pad_left))
		return false;
	FOR (v, MAX_RANK)
		if (!same_count(p, x->count.of[v], y->count.of[v])
		        || !same_count(p, x->count.reduced[v], y->count.reduced[v]))
			return false;
	return x->running == y->running;
}

bool contraction_same(const struct kernel *a, const struct kernel *b)
{
	const struct contraction *x = a->detail, *y = b->detail;
	return x->roles.swapped == y->roles.swapped && x->b_mode == y->b_mode && x->tile.rows == y->tile.rows
	        && x->tile.vecs == y->tile.vecs && x->row_blocks == y->row_blocks && x->panels == y->panels
	        && x->group == y->group && x->memory.next_lines == y->memory.next_lines
	        && x->memory.ahead == y->memory.ahead && x->k_block == y->k_block
	        && x->staging.a_blocks == y->staging.a_blocks && x->staging.copied == y->staging.copied
	        && x->staging.a_rows == y->staging.a_rows && x->taps == y->taps && x->codes.bits == y->codes.bits
	        && x->codes.exponent == y->codes.exponent && x->codes.zeros == y->codes.zeros
	        && x->codes.zero == y->codes.zero && x->codes.apart == y->codes.apart
	        && x->split_panels == y->split_panels && x->winograd.prefetch == y->winograd.prefetch
	        && !x->pool.d == !y->pool.d && x->pool.by_panel == y->pool.by_panel;
}

static bool same_code(const struct said *of_a, const struct said *of_b)
{
	const struct kernel *a = of_a->kernel, *b = of_b->kernel;
	struct pair p = { a, b };
	if (of_a->all.count != of_b->all.count
	        || memcmp(of_a->all.at, of_b->all.at, of_a->all.count * sizeof *of_a->all.at) || a->shape != b->shape
	        || a->outer != b->outer || a->blocks != b->blocks || a->flops != b->flops
	        || a->members.count != b->members.count || a->params.count != b->params.count
	        || kernel_member(a, a->root) != kernel_member(b, b->root) || strcmp(a->tile, b->tile))
		return false;
	FOR_ALL (i, a->params)
		if (a->params.at[i].written != b->params.at[i].written
		        || strcmp(a->params.at[i].name, b->params.at[i].name)
		        || !same_extents(a->params.at[i].of, b->params.at[i].of))
			return false;
	FOR_ALL (m, a->members)
		if (!same_member(&p, a->members.at[m], b->members.at[m]))
			return false;
	return !shapes[a->shape].same || shapes[a->shape].same(a, b);
}

void share_code(struct lowered *lowered)
{
	struct parts parts = { .arena = lowered->arena };
	VECTOR(struct said) code = { 0 };
	FOR_EACH (struct kernel *kernel, lowered->kernels) {
		struct said said = said_by(&parts, kernel);
		/* The last ones first: steps repeat what was just made.  A log names the tensors, so there each has
		 * code of its own. */
		for (size_t i = lowered->target->options.log ? 0 : code.count; i-- > 0 && !kernel->same;)
			if (same_code(&code.at[i], &said))
				kernel->same = lowered->code.at[i];
		if (kernel->same)
			kernel->same->times++;
		else {
			push(lowered->arena, &lowered->code, kernel);
			push(lowered->arena, &code, said);
		}
		kernel->times += !kernel->same;
	}
}
