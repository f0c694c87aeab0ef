/* work.c: a kernel -> the least that it has to do, whatever its code does: what `ingot bench` holds its time
 * against. */
#include "kernels/kernels.h"

/* How many elements of 32 bits one of these counts as: vectors hold more of the narrow ones.  A float below 32 bits is
 * computed as a float. */
static double width_of(const struct target *target, enum dtype type)
{
	double width = dtype_is_narrow(type) ? 1 : dtypes[type].bits / 32.;
	return width < 1 && (!has_vectors(target)) ? 1 : width;
}

/* Scalar functions of one element, each value once, in vector instructions; loads, selects and casts are not
 * counted. */
static double operations_of(const struct lowered *lowered, const struct expr *body)
{
	struct numbering values = { .arena = lowered->arena };
	double sum = 0;
	number_expr(&values, body);
	FOR_ALL (i, values.all) {
		const struct expr *expr = values.all.at[i].expr;
		if (expr->kind != EXPR_SCALAR)
			continue;
		double own = width_of(lowered->target, expr->type),
		       given = width_of(lowered->target, expr->arg[0]->type);
		sum += scalars[expr->opcode].cost * (own > given ? own : given);
	}
	return sum;
}

static void add_member(const struct lowered *lowered, const struct definition *d, struct work *work)
{
	const struct contraction *c = scheduled(d)->contraction;
	const struct product *product = c && c->product && c->root == d ? c->product : product_of(lowered->target, d);
	double rounds = definition_work(d);
	if (product || (d->reduce == REDUCE_SUM && d->sum.products)) {
		work->product = product ? product : work->product;
		work->multiply_adds += rounds;
		return;
	}
	if (lane_of_region(d) >= 0) /* data say how many terms there are */
		return;
	if (scheduled(d)->rewrite) /* Winograd's transforms: few beside its products, and written without what they share */
		return;
	double step = d->reduce == REDUCE_NONE ? 0 : width_of(lowered->target, d->type);
	work->operations += rounds * (step + operations_of(lowered, d->body));
}

/* Bytes that loads of one tensor ask for, by param; none: all of it is read. */
struct asking {
	const struct kernel *kernel;
	double rounds, *bytes;
};
static void ask(void *user, const struct expr *load)
{
	const struct asking *asking = user;
	FOR_ALL (p, asking->kernel->params)
		if (asking->kernel->params.at[p].of == load->of)
			asking->bytes[p] += asking->rounds * dtypes[load->of->type].bits / 8;
}

static struct asking loads_of(const struct lowered *lowered, const struct kernel *kernel)
{
	struct asking asking = { kernel, 0, arena_new_array(lowered->arena, double, kernel->params.count + 1) };
	FOR_EACH (const struct definition *d, kernel->members) {
		asking.rounds = definition_work(d);
		definition_loads(d, ask, &asking);
		asking.rounds = (double)definition_elements(d) - asking.rounds; /* sums start once for all terms */
		if (d->start)
			expr_loads(d->start, ask, &asking);
	}
	return asking;
}

const double *kernel_asks(const struct lowered *lowered, const struct kernel *kernel)
{
	struct asking asking = loads_of(lowered, kernel);
	FOR_ALL (p, kernel->params) {
		double all = (double)scheduled(kernel->params.at[p].of)->bytes, asked = asking.bytes[p];
		asking.bytes[p] = asked > 0 && asked < all && !kernel->params.at[p].written ? asked : all;
	}
	return asking.bytes;
}

/* What a product's tile loads of a serves all of its columns. */
const double *kernel_traffic(const struct lowered *lowered, const struct kernel *kernel)
{
	struct asking asking = loads_of(lowered, kernel);
	const struct contraction *product = kernel->shape == SHAPE_CONTRACTION ? kernel->detail : NULL;
	FOR_ALL (p, kernel->params) {
		const struct param *param = &kernel->params.at[p];
		double all = (double)scheduled(param->of)->bytes;
		if (product && product->a->of == param->of && product->tile.vecs)
			asking.bytes[p] /= product->tile.vecs * lowered->target->lanes;
		asking.bytes[p] = asking.bytes[p] < all ? all : asking.bytes[p];
	}
	return asking.bytes;
}

static double bytes_of(const struct lowered *lowered, const struct kernel *kernel)
{
	const double *asked = kernel_asks(lowered, kernel);
	double sum = 0;
	FOR_ALL (p, kernel->params)
		sum += asked[p];
	return sum;
}

struct work kernel_work(const struct lowered *lowered, const struct kernel *kernel)
{
	struct work work = { .bytes = bytes_of(lowered, kernel) };
	if (kernel->shape == SHAPE_REPEAT) {
		const struct lowered *body = kernel_inside(kernel);
		FOR_EACH (struct kernel *each, body->kernels) {
			struct work one = kernel_work(body, each);
			work.multiply_adds += (double)kernel->root->loop.repeat->rounds * one.multiply_adds;
			work.operations += (double)kernel->root->loop.repeat->rounds * one.operations;
			work.product = one.product ? one.product : work.product;
		}
		return work;
	}
	FOR_EACH (struct definition *member, kernel->members) {
		add_member(lowered, member, &work);
	}
	return work;
}
