/* views.c: what a kernel reads of a tensor at one constant index becomes a tensor of its own at an offset: the pointer
 * says which slice it is, the code no longer does.  So the steps of an unrolled recurrence have one code (same.c).
 *
 * Dwords of four bytes, or of two codes of 16 bits, that lie side by side are the tensor of those. */
#include "kernels/kernels.h"

struct viewing {
	struct lowered *lowered;
	VECTOR(struct definition *) bases; /* of this kernel: seen so far, with the least offset of any load */
	VECTOR(int64_t) offsets;
	VECTOR(struct definition *) views; /* NULL: it stays as it is */
};

bool is_viewed(const struct lowered *lowered, const struct definition *d)
{
	FOR_EACH (struct definition *view, lowered->views) {
		if (scheduled(view)->view_of == d)
			return true;
	}
	return false;
}

/* Elements before the first that the load may reach, over the dims whose index is constant. */
static int64_t offset_of(const struct expr *load)
{
	int64_t offset = 0, at;
	FOR (d, load->of->rank)
		if (index_is_constant(load->at[d], &at))
			offset += at * scheduled(load->of)->stride[d];
	return offset;
}

static void see_load(void *user, const struct expr *load)
{
	struct viewing *v = user;
	if (load->of->source != SOURCE_COMPUTED || scheduled(load->of)->mode != MODE_DEVICE)
		return;
	FOR_ALL (i, v->bases)
		if (v->bases.at[i] == load->of) {
			if (offset_of(load) != v->offsets.at[i])
				v->offsets.at[i] = 0; /* more than one slice: where they lie to each other is code */
			return;
		}
	push(v->lowered->arena, &v->bases, load->of);
	push(v->lowered->arena, &v->offsets, offset_of(load));
}

static struct definition *view_of(struct lowered *lowered, struct definition *base, int64_t offset)
{
	FOR_EACH (struct definition *one, lowered->views) {
		if (scheduled(one)->view_of == base && scheduled(one)->view_offset == offset)
			return one;
	}
	struct scheduled *copy = arena_new(lowered->arena, struct scheduled);
	struct definition *view = &copy->of;
	*copy = *scheduled(base);
	scheduled(view)->view_of = base;
	scheduled(view)->view_offset = offset;
	scheduled(view)->bytes -= (int64_t)dtype_bytes(base->type, (size_t)offset);
	view->name = arena_printf(lowered->arena, "%s + %lld", base->name, (long long)offset);
	push(lowered->arena, &lowered->views, view);
	return view;
}

/* A load of a viewed tensor, from its view: constant indices become 0. */
static const struct expr *from_view(void *user, const struct expr *load)
{
	struct viewing *v = user;
	struct arena *arena = v->lowered->arena;
	FOR_ALL (i, v->bases)
		if (v->views.at[i] && v->bases.at[i] == load->of) {
			const struct index *at[MAX_RANK];
			int64_t constant;
			FOR (d, load->of->rank)
				at[d] = index_is_constant(load->at[d], &constant) ? index_constant(arena, 0)
				                                                  : load->at[d];
			return expr_load(arena, v->views.at[i], at);
		}
	return load;
}

static const struct expr *through(void *user, const struct expr *expr)
{
	struct viewing *v = user;
	return expr_map_loads(v->lowered->arena, expr, from_view, v);
}

static void view_kernel(struct lowered *lowered, struct kernel *kernel)
{
	struct viewing v = { .lowered = lowered };
	struct contraction *c = kernel->detail; /* before there are chains */
	bool any = false;
	FOR_EACH (struct definition *one, kernel->members) {
		definition_loads(one, see_load, &v);
	}
	FOR_ALL (i, v.bases) {
		/* the factors of a contraction are found already; what it writes is not a slice */
		bool stays = !v.offsets.at[i] || (c && (c->a->of == v.bases.at[i] || c->b->of == v.bases.at[i]));
		FOR_EACH (struct definition *member, kernel->members) {
			stays |= member == v.bases.at[i];
		}
		push(lowered->arena, &v.views, stays ? NULL : view_of(lowered, v.bases.at[i], v.offsets.at[i]));
		any |= !stays;
	}
	if (!any)
		return;
	FOR_EACH (struct definition *d, kernel->members) {
		const struct expr *body = d->body;
		definition_map(d, through, &v);
		d->body = c && d == c->root ? body : d->body;
	}
	if (c) {
		c->epilogue = c->epilogue ? through(&v, c->epilogue) : NULL;
		c->beside.value = c->beside.d ? through(&v, c->beside.value) : NULL;
		contraction_arrange(lowered->arena, c);
	}
}

/* ---- dwords ---- */
enum { DWORD = 4 };
struct four_bytes {
	const struct expr *load[DWORD];
	int count;
};
static void see_byte(void *user, const struct expr *load)
{
	struct four_bytes *b = user;
	if (b->count < DWORD)
		b->load[b->count] = load;
	b->count++;
}

/* Where the dwords begin, over their own variables, in elements of the tensor that has them side by side as the layouts
 * are; NULL: they do not lie so. */
static const struct index *lie_side_by_side(struct arena *arena, const struct definition *dwords, struct four_bytes *b)
{
	const struct expr *part[DWORD];
	const struct index *first = NULL;
	expr_loads(dwords->body, see_byte, b);
	if (b->count != DWORD && b->count != DWORD / 2)
		return NULL;
	FOR (i, b->count) {
		const struct expr *load = b->load[i];
		if (load->of != b->load[0]->of || dtypes[load->type].bits * b->count != 8 * DWORD)
			return NULL;
		part[i] = expr_cast(arena, DTYPE_I32, load);
		const struct index *at = schedule_address(arena, load->of, load->at);
		first = first ? first : at;
		if (!index_equal(at, index_plus(arena, first, i)))
			return NULL;
	}
	bool whole = index_is_affine(first) && first->constant % b->count == 0;
	FOR (t, first->count)
		whole &= first->terms[t].factor % b->count == 0;
	const struct expr *body = dwords->body;
	if (body->kind == EXPR_CAST && body->cast & CAST_BITS)
		body = body->arg[0];
	return whole && expr_equal(body, dword_of_parts(arena, part, b->count)) ? first : NULL;
}

/* True: nothing needs to make them. */
static bool view_dwords(struct lowered *lowered, struct definition *d)
{
	struct scheduled *s = scheduled(d), before = *s;
	struct four_bytes bytes = { .count = 0 };
	if ((!s->dwords && !s->pairs) || s->mode != MODE_DEVICE || s->kernel->members.count != 1)
		return false;
	const struct index *first = lie_side_by_side(lowered->arena, d, &bytes);
	struct definition *of = first ? bytes.load[0]->of : NULL;
	if (!of || scheduled(of)->mode != MODE_DEVICE || scheduled(of)->lies_in || scheduled(of)->view_of)
		return false;
	FOR (v, d->rank)
		s->stride[v] = index_factor(first, v) / bytes.count;
	bool fits = true;
	FOR_EACH (struct definition *one, s->readers) {
		struct contraction *c = scheduled(one)->contraction;
		fits &= !c || contraction_arrange(lowered->arena, c);
	}
	if (!fits) {
		memcpy(s->stride, before.stride, sizeof s->stride);
		FOR_EACH (struct definition *reader, s->readers) {
			if (scheduled(reader)->contraction)
				contraction_arrange(lowered->arena, scheduled(reader)->contraction);
		}
		return false;
	}
	s->view_of = of;
	s->view_offset = first->constant / bytes.count;
	s->bytes = scheduled(of)->bytes - first->constant * DWORD / bytes.count;
	s->kernel = scheduled(of)->kernel;
	push(lowered->arena, &lowered->views, d);
	return true;
}

void view(struct lowered *lowered)
{
	size_t kept = 0;
	FOR_EACH (struct kernel *each, lowered->kernels) {
		if (!view_dwords(lowered, each->root))
			(lowered->kernels.at[kept] = each)->number = (int)kept, kept++;
	}
	lowered->kernels.count = kept;
	FOR_EACH (struct kernel *one, lowered->kernels) {
		if (shapes[one->shape].viewed)
			view_kernel(lowered, one);
	}
}
