/* ending.c: what a tile of the JIT's menu makes of its sums itself: other than that is calls behind it. */
#include "kernels/kernels.h"

static bool is_load_of(const struct expr *e, const struct definition *of)
{
	return e->kind == EXPR_LOAD && e->of == of;
}

bool tile_ending(const struct expr *value, const struct definition *root, struct tile_ending *out)
{
	*out = (struct tile_ending){ 0 };
	if (value && value->kind == EXPR_SCALAR && value->opcode == SCALAR_relu) {
		out->relu = true;
		value = value->arg[0];
	}
	if (!value || is_load_of(value, root))
		return true;
	if (value->kind != EXPR_SCALAR || value->opcode != SCALAR_add)
		return false;
	FOR (i, 2)
		if (is_load_of(value->arg[i], root) && value->arg[1 - i]->kind == EXPR_LOAD
		        && value->arg[1 - i]->type == DTYPE_F32) {
			out->add = value->arg[1 - i];
			return true;
		}
	return false;
}

bool tile_ends_itself(const struct contraction *c, struct tile_ending *ending)
{
	return c->root->type == c->result->type && tile_ending(c->arranged.value, c->root, ending)
	        && ((product_is_fma(c->product) && !c->arranged.wide) || (!ending->relu && !ending->add));
}

/* Between k blocks sums wait where the result will be: of the menu's tiles, where one ends by itself. */
bool tile_waits(struct arena *arena, const struct target *target, const struct contraction *c)
{
	struct tile_ending ending;
	if (!target->calls)
		return true;
	if (c->arranged.wide || c->b_mode == B_GATHERED || c->staging.transposed || c->terms > TILE_TERMS
	        || index_factor(c->out_at, c->column) != 1 || !tile_ends_itself(c, &ending))
		return false;
	const struct index *addend = ending.add ? schedule_address(arena, ending.add->of, ending.add->at) : c->out_at;
	return !index_bends(addend, c->column) && index_factor(addend, c->column) == 1;
}
