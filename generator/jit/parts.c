/* parts.c: a map whose addresses and conditions are quotients and remainders of its variable by one number: a loop of as
 * many rounds side by side, which asks for neither (what is interleaved, a depth made space). */
#include "jit/jit.h"

enum { PARTS_MOST = 8 };
struct parting {
	int var;
	int64_t by;   /* 0: nothing asked yet */
	bool remains; /* by a remainder: what is only repeated has one address for all of them */
};

static void see_index(struct parting *p, const struct index *at)
{
	for (int i = 0; at && i < at->count; i++) {
		const struct atom *atom = at->terms[i].atom;
		if ((atom->kind != ATOM_DIV && atom->kind != ATOM_MOD) || !index_uses(atom->of, p->var))
			continue;
		see_index(p, atom->of);
		p->remains |= atom->kind == ATOM_MOD;
		if (!p->by && index_factor(atom->of, p->var))
			p->by = atom->by / gcd(atom->by, index_factor(atom->of, p->var));
	}
}

static enum visit see_expr(void *user, const struct expr *expr)
{
	FOR (i, expr_index_count(expr))
		see_index(user, expr_index_at(expr, i));
	return VISIT_PARTS;
}

static enum visit see_stmt(void *user, struct stmt *stmt)
{
	see_index(user, stmt->at);
	FOR (i, stmt->range_count)
		see_index(user, stmt->ranges[i].at);
	if (stmt->value)
		expr_visit(stmt->value, see_expr, user);
	return VISIT_PARTS;
}

static enum visit is_no_store(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_STORE ? VISIT_PAST : VISIT_END;
}

/* A map of stores alone, whose rounds then come by so many. */
static struct stmt *parted(struct loops *loops, const struct stmt *loop)
{
	struct parting p = { .var = loop->var };
	if (loop->kind != STMT_FOR || loop->role != ROLE_MAP || loop->step != 1 || loop->first || loop->count
	        || block_visit(&loop->body, is_no_store, NULL))
		return NULL;
	block_visit(&loop->body, see_stmt, &p);
	if (!p.remains || p.by < 2 || p.by > PARTS_MOST || loop->extent % p.by || loop->extent == p.by)
		return NULL;
	struct stmt *one = for_new(loops, var_new(loops, loops->vars.at[loop->var].name, loop->extent / p.by),
	        loop->extent / p.by, ROLE_MAP);
	const struct index *at = index_scale(loops->arena, index_var(loops->arena, one->var, one->extent), p.by);
	FOR (k, p.by) {
		struct copying copying;
		copying_init(&copying, loops, true);
		copying_put(&copying, loop->var, index_plus(loops->arena, at, k));
		copy_block(&copying, &loop->body, &one->body);
	}
	return block_bends(&one->body, one->var) ? NULL : one;
}

static void part_block(void *user, struct block *block)
{
	FOR (i, block->count) {
		struct stmt *one = parted(user, block->at[i]);
		block->at[i] = one ? one : block->at[i];
	}
}

void jit_part(struct loops *loops) { block_each(&loops->body, part_block, loops); }
