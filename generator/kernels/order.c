/* order.c: the positions that sort each row: a kernel of their own.  Scratch is the function's where it is small, else
 * in the workspace: blocks of several rows then, so that it does not grow with the rows. */
#include "kernels/kernels.h"
#include "ingot/mode.h"

enum { FEW_MOST = 64, RUN = 8, SCRATCHES_MOST = 64, SCRATCHES_OF_THREADS = 1024 };

const char *order_word(const struct kernel *kernel)
{
	(void)kernel;
	return "order";
}

/* A few of many are kept as they come; of threads each would keep its own. */
void order_choose(struct lowered *lowered, struct kernel *kernel)
{
	const struct definition *d = kernel->root;
	struct row_order *order = arena_new(lowered->arena, struct row_order);
	const struct target *target = lowered->target;
	enum dtype type = order->type = dtypes[d->body->type].bits > 32 ? DTYPE_U64 : DTYPE_U32;
	order->n = d->reduced_extents[0];
	order->kept = d->extents[d->rank - 1];
	order->run = RUN;
	order->few = order->kept <= FEW_MOST && !target->lanes_are_threads;
	order->local = !target->lanes_are_threads && 2 * order->n * (dtypes[type].bits / 8 + 4) <= INGOT_LOCAL_BYTES;
	kernel->detail = order;
	order->rows = kernel->blocks = definition_elements(d) / order->kept;
	if (!order->few && !order->local) {
		int64_t most = target->lanes_are_threads ? SCRATCHES_OF_THREADS : SCRATCHES_MOST;
		kernel->blocks = order->rows < most ? order->rows : most;
		order->keys =
		        lowered_scratch(lowered, kernel, "keys", type, 3, (int64_t[3]){ kernel->blocks, 2, order->n });
		order->positions = lowered_scratch(
		        lowered, kernel, "positions", DTYPE_I32, 3, (int64_t[3]){ kernel->blocks, 2, order->n });
	}
	kernel->blocks_of = "rows";
	kernel->tile = order->few           ? arena_printf(lowered->arena, "%lld kept", (long long)order->kept)
	        : target->lanes_are_threads ? arena_printf(lowered->arena, "runs of %d", RUN)
	                                    : "bytes";
	kernel->template_name = arena_printf(lowered->arena, "%s/order.jinja", target->family);
}

void order_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct row_order *order = kernel->detail;
	generic_parameters(lowered, kernel);
	if (order->keys) {
		kernel_add_param(lowered->arena, kernel, order->keys, true);
		kernel_add_param(lowered->arena, kernel, order->positions, true);
	}
}
