/* narrow.c: definitions -> definitions.  What reads a constant that a map made of fewer bytes reads those instead, and
 * the map is part of it: quantised weights, and float16, stand in flash as the model has them.  The map is the one that
 * the constant was computed by, so no bit changes. */
#include "kernels/kernels.h"

/* The constant that the original has an element of for each of its own, and of fewer bytes; NULL: there is none, or it
 * costs more than a few instructions. */
struct sought {
	const struct definition *wide;
	struct definition *narrow;
	bool others;
};
static void look(void *user, const struct expr *load)
{
	struct sought *s = user;
	s->others |= load->of->source != SOURCE_CONSTANT;
	if (definition_elements(load->of) == definition_elements(s->wide)
	        && dtypes[load->of->type].bits < dtypes[s->wide->type].bits)
		s->narrow = load->of;
}

enum { COST_MOST = 8 };
static bool was_narrow(const struct definition *d)
{
	struct sought s = { .wide = d };
	if (d->source != SOURCE_CONSTANT || !d->original || d->is_output || d->original->reduce != REDUCE_NONE
	        || definition_elements(d) < 2)
		return false;
	definition_loads(d->original, look, &s);
	return s.narrow && !s.others && expr_cost(d->original->body) <= COST_MOST;
}

/* A constant of the original, which may stand outside the program, in front of all that may read it. */
struct keeping {
	struct program *program;
	const struct definition *wide;
};
static struct definition *inside(const void *user, struct definition *of)
{
	struct program *program = ((const struct keeping *)user)->program;
	size_t before = program->all.count;
	struct definition *constant = program_constant(program, of);
	program_move(program, before, program->all.at[0]);
	return constant;
}

static const struct expr *widen(void *user, const struct expr *load)
{
	const struct keeping *k = user;
	return load->of == k->wide ? expr_substitute(k->program->arena, k->wide->original->body, load->at) : load;
}
static const struct expr *widen_all(void *user, const struct expr *expr)
{
	return expr_map_loads(((const struct keeping *)user)->program->arena, expr, widen, user);
}

/* Of a sum of products only as far as it stays one that a kernel's shape has. */
static void widen_in(struct keeping *keeping, struct definition *reader)
{
	const struct definition before = *reader;
	definition_map(reader, widen_all, keeping);
	for (int i = 0; reader->products && i < 2; i++)
		if (reader->body->arg[i] != before.body->arg[i] && !contraction_widened(reader, reader->body->arg[i]))
			*reader = before;
}

void keep_narrow(struct program *program)
{
	VECTOR(struct definition *) wide = { 0 };
	for (size_t i = 0; i < program->all.count; i++)
		if (was_narrow(program->all.at[i]))
			push(program->arena, &wide, program->all.at[i]);
	for (size_t w = 0; w < wide.count; w++) {
		struct keeping keeping = { program, wide.at[w] };
		struct definition *d = wide.at[w];
		d->original->body = expr_redirect(program->arena, d->original->body, inside, &keeping);
		for (size_t i = 0; i < program->all.count; i++)
			if (program->all.at[i]->source == SOURCE_COMPUTED
			        && program->all.at[i]->reduce != REDUCE_REPEAT)
				widen_in(&keeping, program->all.at[i]);
	}
}
