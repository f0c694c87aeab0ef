/* few.c: a sum of so few products that storing it takes longer -> a map, which what reads it computes where it stands.
 * One product has no sum that a tile keeps in registers.  Of two or three a tile loads each factor once for many sums;
 * but where results lie in pairs, its lanes lie apart there, and each stores alone: a map stores pairs as they are. */
#include "kernels/kernels.h"

enum { PAIR = 2, PAIR_TERMS_MOST = 3 };
static int64_t terms_most(const struct definition *d)
{
	return d->rank && d->extents[d->rank - 1] == PAIR ? PAIR_TERMS_MOST : 1;
}

/* The terms of its one reduced variable in their order, by fma from 0 on: the bits of the sum. */
static const struct expr *terms_of(struct arena *arena, const struct definition *d)
{
	const struct expr *sum = expr_number(arena, d->type, 0);
	FOR (k, definition_terms(d)) {
		const struct index *with[MAX_VARS] = { 0 };
		int64_t left = k;
		for (int r = d->reduced - 1; r >= 0; left /= d->reduced_extents[r--])
			with[d->rank + r] = index_constant(arena, left % d->reduced_extents[r]);
		const struct expr *term = expr_substitute(arena, d->body, with);
		sum = expr_scalar(arena, SCALAR_fma, term->arg[0], term->arg[1], sum);
	}
	return sum;
}

void few_terms_become_maps(struct program *program, const struct target *target)
{
	if (!has_vectors(target) || target->calls || target->options.small)
		return;
	FOR_EACH (struct definition *d, program->all) {
		if (d->source == SOURCE_COMPUTED && d->sum.products && d->order == ORDER_SERIAL && d->type == DTYPE_F32
		        && !d->start && d->body->kind == EXPR_SCALAR && d->body->opcode == SCALAR_mul
		        && !expr_has(d->body, 1u << EXPR_SELECT) && !definition_scatters(d)
		        && definition_terms(d) <= terms_most(d))
			become_map(d, terms_of(program->arena, d));
	}
}
