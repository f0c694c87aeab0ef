/* choose.c: the name of each kernel, its tile from facts of the target, its parameters, its constants as the blob will
 * hold them. */
#include "kernels/kernels.h"
#include "ingot/mode.h"
#include <stdlib.h>

void kernel_add_param(struct arena *arena, struct kernel *kernel, struct definition *of, bool written)
{
	FOR_ALL (i, kernel->params)
		if (kernel->params.at[i].of == of) {
			kernel->params.at[i].written |= written;
			return;
		}
	/* Short names in the order of appearance: a, b … read; y, y1 … written.  The comment above the kernel says what
	 * they are. */
	int same = 0;
	FOR_ALL (i, kernel->params)
		same += kernel->params.at[i].written == written;
	const char *name = written              ? (same ? arena_printf(arena, "y%d", same) : "y")
	        : of->source == SOURCE_CONSTANT ? arena_printf(arena, "w%d", same)
	                                        : arena_printf(arena, "x%d", same);
	push(arena, &kernel->params, (struct param){ of, name, written });
}

void *constant_piece(struct build *build, const struct constant_item *item, int64_t piece, size_t *bytes)
{
	if (!(*bytes = item->fill(item, piece, NULL)))
		return NULL;
	void *made = calloc(1, *bytes);
	if (!made)
		fail(build, EXIT_LIMIT, NULL, "out of memory: %zu bytes of weights", *bytes);
	item->fill(item, piece, made);
	return made;
}

void constant_fill(const struct constant_item *item, void *out)
{
	size_t bytes;
	for (int64_t piece = 0; (bytes = item->fill(item, piece, out)); piece++)
		out = (char *)out + bytes;
}

static bool in_order(const struct definition *d)
{
	int64_t stride = 1;
	for (int v = d->rank - 1; v >= 0; stride *= d->extents[v--])
		if (d->extents[v] != 1 && scheduled(d)->stride[v] != stride)
			return false;
	return true;
}

/* The elements, in the order of the layout; where that is their own, as they are. */
static size_t fill_copy(const struct constant_item *item, int64_t piece, void *out)
{
	enum { PIECE = 1 << 20 };
	const struct definition *d = item->of;
	int64_t at[MAX_RANK] = { 0 }, to = 0, elements = definition_elements(d);
	if (d->type != DTYPE_F32 || in_order(d)) {
		size_t all = dtype_bytes(d->type, (size_t)elements), from = (size_t)piece * PIECE,
		       bytes = from > all    ? 0
		        : all - from < PIECE ? all - from
		                             : PIECE;
		if (out && bytes)
			memcpy(out, (const char *)definition_data(d) + from, bytes);
		return bytes;
	}
	if (piece || !out)
		return piece ? 0 : (size_t)scheduled(d)->bytes;
	FOR (i, elements) {
		((float *)out)[to] = ((const float *)definition_data(d))[i];
		for (int v = d->rank - 1; v >= 0; v--) {
			to += scheduled(d)->stride[v];
			if (++at[v] < d->extents[v])
				break;
			to -= scheduled(d)->stride[v] * d->extents[v];
			at[v] = 0;
		}
	}
	return (size_t)scheduled(d)->bytes;
}

/* A constant that kernels read as it is: into the blob once. */
static void keep_constant(struct lowered *lowered, struct definition *of)
{
	FOR_ALL (i, lowered->constants)
		if (lowered->constants.at[i].of == of)
			return;
	push(lowered->arena, &lowered->constants, (struct constant_item){ .of = of, .fill = fill_copy });
}

struct definition *lowered_constant(struct lowered *lowered, const char *name, enum dtype type, int64_t words,
        size_t (*fill)(const struct constant_item *, int64_t piece, void *out), const void *detail)
{
	struct definition *of = define_constant(lowered->program, name, type, 1, &words, NULL);
	scheduled(of)->mode = MODE_CONSTANT;
	scheduled(of)->stride[0] = 1;
	scheduled(of)->first = scheduled(of)->last = -1;
	scheduled(of)->bytes = (int64_t)dtype_bytes(type, (size_t)words);
	push(lowered->arena, &lowered->constants, (struct constant_item){ .of = of, .fill = fill, .detail = detail });
	return of;
}

struct definition *lowered_scratch(struct lowered *lowered, struct kernel *kernel, const char *name, enum dtype type,
        int rank, const int64_t *extents)
{
	struct definition *of =
	        define_map(lowered->program, arena_printf(lowered->arena, "%s_%s", kernel->root->name, name), rank,
	                extents, expr_number(lowered->arena, type, 0));
	scheduled(of)->mode = MODE_DEVICE;
	scheduled(of)->provenance = INGOT_BY_FACTOR;
	scheduled(of)->kernel = kernel;
	scheduled(of)->first = scheduled(of)->last = -1;
	layout_row_major(of);
	return of;
}

void kernel_add_read(struct lowered *lowered, struct kernel *kernel, struct definition *of)
{
	if (is_local(of) || (scheduled(of)->lies_in && scheduled(scheduled(of)->lies_in)->kernel == kernel))
		return;
	if (of->source == SOURCE_CONSTANT)
		keep_constant(lowered, of);
	kernel_add_param(lowered->arena, kernel, of, false);
}

struct listing {
	struct lowered *lowered;
	struct kernel *kernel;
};
static void list_load(void *user, const struct expr *load)
{
	const struct listing *l = user;
	kernel_add_read(l->lowered, l->kernel, load->of);
}

void kernel_add_reads(struct lowered *lowered, struct kernel *kernel, const struct expr *expr)
{
	struct listing l = { lowered, kernel };
	if (expr)
		expr_loads(expr, list_load, &l);
}

/* Counts at which loops inside the blocks end; of terms those by whole lanes. */
static void add_ends(struct lowered *lowered, struct kernel *kernel, const struct definition *d)
{
	struct definition *terms = d->count.reduced[0];
	FOR (v, d->rank)
		if (d->count.of[v])
			kernel_add_read(lowered, kernel, d->count.of[v]);
	if (terms && scheduled(terms)->whole)
		kernel_add_read(lowered, kernel, terms);
}

void generic_parameters(struct lowered *lowered, struct kernel *kernel)
{
	FOR_EACH (struct definition *one, kernel->members) {
		struct listing l = { lowered, kernel };
		definition_loads(one, list_load, &l);
		if (ends_by_lanes(lowered->target))
			add_ends(lowered, kernel, one);
	}
	int counted = kernel_counted(kernel);
	if (counted >= 0)
		kernel_add_read(lowered, kernel, kernel->members.at[0]->count.of[counted]);
	FOR_EACH (struct definition *member, kernel->members) {
		if (!is_local(member))
			kernel_add_param(lowered->arena, kernel, member, true);
	}
}

static void count_cost(const struct lowered *lowered, struct kernel *kernel)
{
	FOR_EACH (const struct definition *d, kernel->members) {
		const struct rewrite *rewrite = scheduled(d)->rewrite;
		if (rewrite && rewrite->result != d)
			continue;
		d = rewrite ? d->original : d; /* counted as the sum that it stands for */
		const struct product *product = product_of(lowered->target, d);
		kernel->flops += definition_work(d) * (product ? product->k : 1)
		        * (d->reduce == REDUCE_SUM                 ? 2
		                        : d->reduce != REDUCE_NONE ? 1
		                                                   : expr_cost(d->body));
	}
	FOR_ALL (p, kernel->params)
		kernel->bytes += (double)scheduled(kernel->params.at[p].of)->bytes;
}

const char *generic_label(const struct kernel *kernel)
{
	return kernel->members.count > 1                ? "rows"
	        : kernel->root->running                 ? "running"
	        : definition_scatters(kernel->root)     ? "places"
	        : kernel->root->reduce == REDUCE_MAX    ? "maximum"
	        : kernel->root->reduce == REDUCE_SUM    ? "sum"
	        : kernel->root->body->kind == EXPR_LOAD ? "copy"
	                                                : "map";
}

const struct lowered *kernel_inside(const struct kernel *kernel)
{
	return shapes[kernel->shape].inside ? shapes[kernel->shape].inside(kernel->same ? kernel->same : kernel) : NULL;
}

static struct kernel_lanes lanes_inside(const struct lowered *inside)
{
	struct kernel_lanes widest = { .count = 1 };
	FOR_EACH (struct kernel *one, inside->kernels) {
		if (one->lanes.count > widest.count)
			widest = one->lanes;
	}
	return widest;
}

const char *kernel_lanes_text(struct arena *arena, const struct kernel *kernel)
{
	struct kernel_lanes lanes = kernel->lanes;
	if (!lanes.count)
		return "calls";
	if (kernel->elements)
		return arena_printf(arena, "%d of %s a thread", kernel->elements, dtype_numpy(lanes.type));
	return lanes.count > 1 ? arena_printf(arena, "%d lanes of %s%s", lanes.count, dtype_numpy(lanes.type),
	               lanes.scalars ? " and scalars" : "")
	                       : "scalar";
}

void kernel_tile_text(const struct kernel *kernel, struct text *out)
{
	if (*kernel->tile)
		text_printf(out, "tile %s, ", kernel->tile);
	text_adds(out, kernel_lanes_text(out->build->arena, kernel));
}

int64_t kernel_tiles(const struct kernel *kernel)
{
	return shapes[kernel->shape].tiles ? shapes[kernel->shape].tiles(kernel) : kernel->blocks;
}

void choose(struct lowered *lowered)
{
	FOR_EACH (const struct definition *d, lowered->program->all) {
		if (d->source == SOURCE_CONSTANT && scheduled(d)->readers.count)
			lowered->constants_bytes += (int64_t)dtype_bytes(d->type, (size_t)definition_elements(d));
	}
	FOR_ALL (k, lowered->kernels) {
		struct kernel *kernel = lowered->kernels.at[k];
		const struct shape_row *shape = &shapes[kernel->shape];
		kernel->parts = kernel->lanes.count = 1;
		kernel->tile = "";
		kernel->name = arena_printf(lowered->arena, "k%d_%s", kernel->number, shape->label(kernel));
		if (shape->choose)
			shape->choose(lowered, kernel);
		shape->parameters(lowered, kernel);
		if (shape->statements)
			lowered->finish(lowered, kernel);
		if (kernel_inside(kernel))
			kernel->lanes = lanes_inside(kernel_inside(kernel));
		count_cost(lowered, kernel);
	}
}
