/* place.c: decides which definitions are virtual, and inlines those where they are read.
 *
 * The law: virtual only where computing again costs less than a store and a load.  A definition that only moves (one
 * load) costs nothing, so reshapes, transposes and slices are index arithmetic of their readers.  Reductions are never
 * virtual.  What follows a sum of products at once is left to fuse.c, which keeps it in registers. */
#include "kernels/kernels.h"

static void add_reader(struct arena *arena, struct definition *of, struct definition *reader)
{
	for (size_t i = 0; i < of->placed->readers.count; i++)
		if (of->placed->readers.at[i] == reader)
			return;
	push(arena, &of->placed->readers, reader);
}

struct counting { struct arena *arena; struct definition *reader; const struct definition *of; double sites; };

static void note_reader(void *user, const struct expr *load)
{
	struct counting *c = user;
	add_reader(c->arena, load->of, c->reader);
}

static void count_site(void *user, const struct expr *load)
{
	struct counting *c = user;
	c->sites += load->of == c->of;
}

static void note_readers(struct arena *arena, struct definition *reader)
{
	struct counting c = { .arena = arena, .reader = reader };
	if (reader->source != SOURCE_COMPUTED)
		return;
	expr_loads(reader->body, note_reader, &c);
	if (reader->start)
		expr_loads(reader->start, note_reader, &c);
}

static double sites(const struct expr *expr, const struct definition *of)
{
	struct counting c = { .of = of };
	if (expr)
		expr_loads(expr, count_site, &c);
	return c.sites;
}

/* How often each element is read, on average, by all readers. */
static double reads_of(const struct definition *of)
{
	double reads = 0;
	for (size_t i = 0; i < of->placed->readers.count; i++) {
		const struct definition *reader = of->placed->readers.at[i];
		double elements = (double)definition_elements(reader);
		reads += sites(reader->body, of) * elements * (double)definition_terms(reader) + sites(reader->start, of) * elements;
	}
	return reads / (double)definition_elements(of);
}

static bool is_product(const struct definition *d)
{
	return d->reduce == REDUCE_SUM && d->body->kind == EXPR_SCALAR && d->body->row == SCALAR_mul;
}

static bool has_no_loads(const struct expr *expr)
{
	if (expr->kind == EXPR_LOAD)
		return false;
	for (int i = 0; i < 3; i++)
		if (expr->arg[i] && !has_no_loads(expr->arg[i]))
			return false;
	return expr->kind != EXPR_INDEX || index_is_affine(expr->index);
}

/* Does a map follow a sum of products that nothing else reads?  Then it belongs to that kernel. */
struct looking { bool found; };
static void look_for_product(void *user, const struct expr *load)
{
	struct looking *l = user;
	l->found |= load->of->source == SOURCE_COMPUTED && (is_product(load->of) || load->of->rewrite);
}
static bool follows_product(const struct definition *d)
{
	struct looking l = { false };
	expr_loads(d->body, look_for_product, &l);
	return l.found;
}

/* Would a reader have more tensors than a function should have parameters?  A gather of many goes in groups. */
enum { TENSORS_MOST = 64 };
struct tensors { const struct definition *of[2 * TENSORS_MOST]; int count; };
static void count_tensor(void *user, const struct expr *load)
{
	struct tensors *t = user;
	for (int i = 0; i < t->count; i++)
		if (t->of[i] == load->of)
			return;
	if (t->count < (int)COUNT(t->of))
		t->of[t->count++] = load->of;
}
static bool crowds(const struct definition *d)
{
	struct tensors own = { .count = 0 };
	expr_loads(d->body, count_tensor, &own);
	for (size_t i = 0; own.count > 1 && i < d->placed->readers.count; i++) {
		struct tensors all = own;
		expr_loads(d->placed->readers.at[i]->body, count_tensor, &all);
		if (all.count - 1 > TENSORS_MOST)             /* d itself goes */
			return true;
	}
	return false;
}

static bool should_be_virtual(const struct lowered *lowered, const struct definition *d)
{
	bool moves = d->body->kind == EXPR_LOAD, all_maps = true, into_product = false;
	if (d->reduce != REDUCE_NONE || d->is_output || d->placed->readers.count == 0 || (d->rewrite && !lowered->target->parts))
		return false;                                 /* what a rewrite made is one kernel's own affair, unless it runs in parts */
	if (moves || has_no_loads(d->body))
		return true;
	for (size_t i = 0; i < d->placed->readers.count; i++) {
		const struct definition *reader = d->placed->readers.at[i];
		all_maps &= reader->reduce == REDUCE_NONE;
		into_product |= (is_product(reader) || reader->rewrite) && sites(reader->body, d) > 0;
	}
	if (into_product)
		return false;
	if (crowds(d))
		return false;
	double reads = reads_of(d), cost = expr_cost(d->body);
	if (follows_product(d))
		return all_maps && reads <= 1 && d->placed->readers.count == 1;
	return reads <= 1 || (reads - 1) * cost <= 1 + reads;
}

static void inline_into_readers(struct arena *arena, struct definition *d)
{
	for (size_t i = 0; i < d->placed->readers.count; i++) {
		struct definition *reader = d->placed->readers.at[i];
		reader->body = expr_inline(arena, reader->body, d);
		if (reader->start)
			reader->start = expr_inline(arena, reader->start, d);
		note_readers(arena, reader);
	}
}

void place_row_major(struct definition *d)
{
	int64_t step = 1;
	for (int i = d->rank - 1; i >= 0; step *= d->extents[i], i--)
		d->placed->stride[i] = step;
	d->placed->bytes = (int64_t)dtype_bytes(d->type, (size_t)definition_elements(d));
	d->placed->offset = -1;
}

void place(struct lowered *lowered)
{
	struct program *program = lowered->program;
	for (size_t i = 0; i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		d->placed = new(lowered->arena, struct placed);
		d->placed->first = d->placed->last = -1;
		place_row_major(d);
	}
	for (size_t i = 0; i < program->all.count; i++)
		note_readers(lowered->arena, program->all.at[i]);
	for (size_t i = 0; i < program->all.count; i++) {
		struct definition *d = program->all.at[i];
		if (d->source == SOURCE_INPUT)
			d->placed->mode = MODE_HOSTED;
		else if (d->source == SOURCE_CONSTANT)
			d->placed->mode = MODE_CONSTANT;
		else if (should_be_virtual(lowered, d)) {
			d->placed->mode = MODE_VIRTUAL;
			inline_into_readers(lowered->arena, d);
		} else
			d->placed->mode = d->is_output ? MODE_HOSTED : MODE_DEVICE;
	}
	/* Readers anew: inlining took some away. */
	for (size_t i = 0; i < program->all.count; i++)
		program->all.at[i]->placed->readers.count = 0;
	for (size_t i = 0; i < program->all.count; i++)
		if (program->all.at[i]->placed->mode != MODE_VIRTUAL)
			note_readers(lowered->arena, program->all.at[i]);
}
