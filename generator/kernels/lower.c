/* lower.c: program -> kernels, stage after stage.  Where a layout leaves a sum of products with an address that is not
 * affine, that sum gets no epilogue or, where it has none, is barred from its shape, and the stages run again. */
#include "kernels/kernels.h"

bool arrange(struct lowered *lowered)
{
	bool all = true;
	FOR_EACH (struct kernel *kernel, lowered->kernels) {
		if (!shapes[kernel->shape].arrange || shapes[kernel->shape].arrange(lowered->arena, kernel->detail))
			continue;
		const struct rewrite *rewrite = scheduled(kernel->root)->rewrite; /* runs in parts then */
		const struct contraction *c = kernel->shape == SHAPE_CONTRACTION ? kernel->detail : NULL;
		*(c && c->epilogue ? &scheduled(kernel->root)->bare
		                   : &scheduled(rewrite ? rewrite->result : kernel->root)->generic) = true;
		all = false;
	}
	return all;
}

/* An output that is an input, a constant or another output as well is a copy: somebody has to write it. */
static void copy_outputs(struct program *program)
{
	FOR_ALL (i, program->outputs) {
		struct definition *d = program->outputs.at[i];
		bool again = d->source != SOURCE_COMPUTED;
		FOR (k, i)
			again |= program->outputs.at[k] == d;
		if (!again)
			continue;
		program->outputs.at[i] =
		        define_map(program, d->name, d->rank, d->extents, expr_load_own(program->arena, d));
		program->outputs.at[i]->port.is_output = true;
		program->outputs.at[i]->port.shown = d->port.shown;
	}
}

static void check_step(const struct lowered *lowered, void (*check)(const struct lowered *))
{
	if (lowered->program->build->check)
		check(lowered);
}

static struct lowered *lower_as(const struct program *of, const struct target *target, enum optimise optimise,
        const struct placing_options *options, finish_kernel *finish, const bool *copied)
{
	struct lowered *lowered = arena_new(of->arena, struct lowered);
	struct program *program = lowered->program = program_copy(of, sizeof(struct scheduled));
	lowered->arena = program->arena;
	lowered->target = target;
	lowered->exact = target_exact(lowered->arena, target);
	lowered->optimise = optimise;
	lowered->finish = finish;
	if (options) {
		lowered->choices = options->choices;
		lowered->choice_count = options->choice_count;
		lowered->pool_cap = options->pool_cap;
		lowered->io_in_workspace = options->io_in_workspace;
		lowered->keeps_apart = options->keeps_apart;
		lowered->refused = options->refused;
		if (options->memories)
			lowered->memories = *options->memories;
	}
	read_in_place(program, target, copied);
	if (!lowered->choice_count) /* each tensor that somebody names stays one */
		read_dense(program, target);
	copy_outputs(program);
	few_terms_become_maps(program, target);
	split_groups(program, target);
	choose_products(program, target);
	split_terms(program, target);
	separate_windows(program, target); /* of floats that bytes became, too */
	transpose_regions(program, target);
	rows_of_planes(program, target);
	if (weights_stay_narrow(target))
		keep_narrow(program);
	else if (target->lanes > 1 && !target->options.log)
		keep_large(program, target);
	if (program->build->check)
		program_check(program);
	find_branches(lowered);
	store_counts(lowered);
	place(lowered);
	check_step(lowered, scheduled_check);
	find_counts(lowered);
	do {
		fuse(lowered);
		check_step(lowered, fused_check);
		layout(lowered);
		check_step(lowered, scheduled_check);
	} while (!arrange(lowered) || !keep_lanes(lowered));
	view(lowered);
	make_fused(lowered);
	lie_in_place(lowered);
	make_strips(lowered);
	choose(lowered);
	plan(lowered);
	share_code(lowered);
	lowered_check(lowered);
	return lowered;
}

struct lowered *lower(const struct program *of, const struct target *target, enum optimise optimise,
        const struct placing_options *options, finish_kernel *finish)
{
	bool *copied = arena_new_array(of->arena, bool, of->inputs.count + 1);
	struct lowered *lowered;
	do
		lowered = lower_as(of, target, optimise, options, finish, copied);
	while (reads_behind(lowered, copied));
	return lowered;
}
