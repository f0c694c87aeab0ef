/* inplace.c: what a product's epilogue reads element by element, and nobody later, lies where its result will (a
 * residual), where memory is short.  Of the two one tensor is in the workspace, and one pointer comes to the kernel. */
#include "kernels/kernels.h"
#include "ingot/mode.h"

struct seeking {
	const struct definition *result;
	struct definition *of; /* the tensor found; NULL: none yet */
};

/* Does the result read it at its own element? */
static bool reads_own(const struct definition *result, const struct expr *load)
{
	const struct definition *of = load->of;
	if (of->type != result->type || of->rank != result->rank)
		return false;
	FOR (v, of->rank)
		if (of->extents[v] != result->extents[v] || scheduled(of)->stride[v] != scheduled(result)->stride[v]
		        || (of->extents[v] > 1 && !index_is(load->at[v], v)))
			return false;
	return true;
}

static bool has_own_place(const struct definition *d)
{
	return d->source == SOURCE_COMPUTED && scheduled(d)->mode == MODE_DEVICE && !scheduled(d)->lies_in
	        && !scheduled(d)->view_of && scheduled(d)->provenance != INGOT_BY_USER && !d->branch && !d->check
	        && !scheduled(d)->steers;
}

static void see_load(void *user, const struct expr *load)
{
	struct seeking *s = user;
	if (!s->of && reads_own(s->result, load))
		s->of = load->of;
}

struct reading {
	const struct definition *of, *result;
	bool apart; /* at another element */
};
static void see_apart(void *user, const struct expr *load)
{
	struct reading *r = user;
	r->apart |= load->of == r->of && !(r->result && reads_own(r->result, load));
}

/* Does anyone read it when the kernel has begun to write, but for the element that is written? */
static bool is_read_on(const struct kernel *kernel, const struct definition *of, const struct definition *result)
{
	FOR_EACH (const struct definition *reader, scheduled(of)->readers) {
		struct reading r = { of, reader == result ? result : NULL, false };
		if (scheduled(reader)->kernel && scheduled(reader)->kernel->number < kernel->number)
			continue;
		definition_loads(reader, see_apart, &r);
		if (!scheduled(reader)->kernel || scheduled(reader)->kernel != kernel || r.apart)
			return true;
	}
	return false;
}

void lie_in_place(struct lowered *lowered)
{
	if (!lowered->target->short_stack || lowered->target->options.log || lowered->keeps_apart)
		return;
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		const struct contraction *c = kernel->shape == SHAPE_CONTRACTION ? kernel->detail : NULL;
		/* Sums that wait for terms to come lie where a result of their width will. */
		if (!c || !c->epilogue || c->pool.d || dtypes[c->result->type].bits >= dtypes[c->root->type].bits
		        || !has_own_place(c->result))
			continue;
		struct seeking s = { .result = c->result };
		definition_loads(c->result, see_load, &s);
		if (s.of && has_own_place(s.of) && !is_viewed(lowered, s.of) && !is_read_on(kernel, s.of, c->result))
			scheduled(s.of)->lies_in = c->result;
	}
}
