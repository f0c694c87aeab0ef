/* print.c: kernels and the plan as text, for people. */
#include "kernels/kernels.h"
#include <inttypes.h>

static const char *const modes[] = { "virtual", "local", "workspace", "hosted", "weights" };

static void print_place(const struct definition *d, struct text *out)
{
	const struct scheduled *p = scheduled(d);
	text_adds(out, modes[p->mode]);
	if (p->offset >= 0)
		text_printf(out, " + %" PRId64, p->offset);
	text_printf(out, ", %" PRId64 " bytes", p->bytes);
	bool permuted = false;
	int64_t step = 1;
	for (int v = d->rank - 1; v >= 0; step *= d->extents[v], v--)
		permuted |= d->extents[v] > 1 && p->stride[v] != step;
	if (permuted) {
		text_adds(out, ", strides");
		FOR (v, d->rank)
			text_printf(out, " %" PRId64, d->extents[v] > 1 ? p->stride[v] : 0);
	}
}

static void print_inside(const struct lowered *inside, struct text *out)
{
	text_printf(out, "    scratch   %" PRId64 " bytes\n\n", inside->workspace_bytes);
	kernels_print(inside, out);
}

void kernels_print(const struct lowered *lowered, struct text *out)
{
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		text_printf(out, "%s  %s  nodes", kernel->name, shapes[kernel->shape].name);
		FOR_EACH (struct definition *member, kernel->members) {
			text_printf(out, " %s", member->name);
		}
		text_printf(out, "\n    blocks    %" PRId64 "%s%s\n", kernel->blocks, kernel->blocks_of ? ", " : "",
		        kernel->blocks_of ? kernel->blocks_of : "");
		for (const struct branch *branch = kernel_branch(kernel); branch; branch = branch->outer)
			text_printf(out, "    only      where %s is %s\n", branch->condition->name,
			        branch->yes ? "true" : "false");
		if (kernel->outer)
			text_printf(out, "    outer     %d\n", kernel->outer);
		FOR_EACH_AT (const struct param *param, kernel->params) {
			text_printf(out, "    %-6s    %s = %s  ", param->written ? "writes" : "reads", param->name,
			        param->of->name);
			print_place(param->of, out);
			text_addc(out, '\n');
		}
		const char *template = kernel_template(lowered->arena, lowered->target, kernel);
		if (*template) {
			text_printf(out, "    template  %s, ", template);
			kernel_tile_text(kernel, out);
			text_addc(out, '\n');
		}
		if (kernel->shape == SHAPE_CONTRACTION)
			contraction_why(lowered->target, kernel->detail, out);
		if (kernel->shape == SHAPE_WINOGRAD)
			winograd_why(lowered->target, kernel->detail, out);
		share_why(kernel, out);
		text_printf(out, "    cost      %.0f flops, %.0f bytes\n", kernel->flops, kernel->bytes);
		if (kernel_inside(kernel))
			print_inside(kernel_inside(kernel), out);
		else
			text_addc(out, '\n');
	}
}

void plan_print(const struct lowered *lowered, struct text *out)
{
	text_printf(out, "workspace %" PRId64 " bytes, largest live set %" PRId64 "; weights %" PRId64 " bytes\n",
	        lowered->workspace_bytes, lowered->workspace_bound, lowered->weights_bytes);
	for (size_t i = 0; lowered_has_memories(lowered) && i < lowered->workspace_pools.count; i++)
		text_printf(out, "    %10" PRId64 " + %-10" PRId64 " pool %s\n", lowered->workspace_pools.at[i].at,
		        lowered->workspace_pools.at[i].bytes, lowered->workspace_pools.at[i].name);
	FOR_EACH (const struct definition *d, lowered->program->all) {
		if (scheduled(d)->mode != MODE_CONSTANT && scheduled(d)->offset >= 0 && scheduled(d)->first >= 0)
			text_printf(out, "    %10" PRId64 " + %-10" PRId64 " kernels %d to %d  %s\n",
			        scheduled(d)->offset, scheduled(d)->bytes, scheduled(d)->first, scheduled(d)->last,
			        d->name);
	}
}
