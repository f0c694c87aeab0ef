/* contraction.c: a contraction -> loops over blocks of rows and panels that call the menu's tiles.
 * Bias and relu are a tile of floats' own; any other start or epilogue is calls over the tile's block, whose sums then
 * pass through scratch. */
#include "emit/contraction.h"
#include "jit/jit.h"
#include <inttypes.h>

enum { PACKED_A_DIMS = 6 };

struct tiling {
	struct printing *p;
	struct blocks *b;
	struct value globals;
};

static const char *buffer_name(void *user, const struct definition *of)
{
	struct printing *p = user;
	return p->c->pool.d && of == p->c->result ? "pooled" : contraction_buffer(p, of);
}

static const char *stride_text(struct arena *arena, const struct stride *s)
{
	return s->name ? s->name : arena_printf(arena, "%" PRId64, s->direct);
}

/* Where a tile's sums start: where they lie, or calculated into scratch. */
static void add_start(struct tiling *t, const struct dims *d, struct value tile)
{
	const struct contraction *c = t->p->c;
	struct blocks *b = t->b;
	struct operand o;
	struct value list = value_list(b->arena), outer = b->list;
	if (!c->arranged.start) {
		value_set(tile, "start", "0", "start_calls", list, "start_row", 0, "start_lane", 0);
		return;
	}
	b->list = list;
	if (!blocks_leaf(b, c->arranged.start, d, &o) || (o.lane & ~1))
		o = blocks_value(b, c->arranged.start, d, true);
	b->list = outer;
	value_set(tile, "start", o.at, "start_calls", list, "start_row", o.row, "start_lane", o.lane);
}

/* The loops of terms, as few as there are: where one goes on where the next ends, in a and in b, both are one.  Returns
 * how many. */
struct term_loop {
	const char *name, *end, *a;
	int64_t extent, direct, w;
};
static int join_terms(struct tiling *t, struct term_loop *loops)
{
	const struct contraction *c = t->p->c;
	int count = 0;
	FOR (i, c->terms) {
		int v = c->column + 1 + i;
		const struct stride *s = &t->p->term_stride[i];
		struct term_loop one = { t->p->names[v], t->p->ends[v], stride_text(t->b->arena, s), c->extents[v],
			s->name ? -1 : s->direct, c->b_mode == B_DIRECT ? index_factor(c->b_at, v) : 0 };
		one.extent = contraction_extent(c, i);
		struct term_loop *before = count ? &loops[count - 1] : NULL;
		if (before && !before->end && !one.end && before->direct >= 0 && !c->codes.bits
		        && before->direct == one.extent * one.direct && before->w == one.extent * one.w) {
			one.extent *= before->extent;
			*before = one;
		} else
			loops[count++] = one;
	}
	return count;
}

/* Short loops one inside the other are a list: where each term stands in a. */
enum { LISTED_SHORT = 8, LISTED_MOST = 128 };
static struct value list_terms(const struct tiling *t, const struct term_loop *loops, int *count)
{
	const struct contraction *c = t->p->c;
	struct value list = value_list(t->b->arena);
	int64_t total = 1;
	FOR (i, *count) {
		if (loops[i].direct < 0 || loops[i].end)
			return list;
		total *= loops[i].extent;
	}
	if (*count < 2 || c->arranged.wide || loops[*count - 1].extent > LISTED_SHORT || total > LISTED_MOST
	        || c->b_mode == B_DIRECT || c->memory.next_lines || c->k_block || !product_is_fma(c->product))
		return list;
	FOR (n, total) {
		int64_t at = 0, rest = n;
		for (int i = *count - 1; i >= 0; rest /= loops[i--].extent)
			at += rest % loops[i].extent * loops[i].direct;
		value_list_add(list, value_int(at));
	}
	*count = 0;
	return list;
}

/* A tile of up to three loops of terms; what is more stays outside, and the sums go on from where they lie. */
static void add_terms(struct tiling *t, const struct term_loop *loops, int count)
{
	struct value globals = t->globals;
	const struct contraction *c = t->p->c;
	struct arena *arena = t->b->arena;
	struct value around = value_list(arena), terms = value_list(arena);
	int extra = count > TILE_TERMS ? count - TILE_TERMS : 0;
	const char *first = NULL, *a_at = NULL, *w_at = NULL;
	int64_t packed = 1;
	for (int i = extra; i < count; i++)
		packed *= loops[i].extent;
	for (int i = extra - 1; i >= 0; i--) {
		const char *name = loops[i].name;
		const char *a = arena_printf(arena, "%s * %s", loops[i].a, name);
		const char *w = c->b_mode == B_DIRECT ? arena_printf(arena, "%" PRId64 " * %s", loops[i].w, name)
		                                      : arena_printf(arena, "%" PRId64 " * %d * vecs * %s", packed,
		                                              t->b->printer.target->lanes, name);
		packed *= loops[i].extent;
		first = first ? arena_printf(arena, "%s && !%s", first, name) : arena_printf(arena, "!%s", name);
		a_at = a_at ? arena_printf(arena, "%s + %s", a_at, a) : a;
		w_at = w_at ? arena_printf(arena, "%s + %s", w_at, w) : w;
	}
	FOR (i, count)
		value_list_add(i < extra ? around : terms,
		        value_dict_of(arena, "extent",
		                loops[i].end ? value_string(loops[i].end) : value_int(loops[i].extent), "name",
		                loops[i].name, "a", loops[i].a, "w", loops[i].w));
	value_set(globals, "around", around, "terms", terms, "first", first ? first : "", "a_at", a_at ? a_at : "",
	        "w_at", w_at ? w_at : "");
}

/* ---- padding: all that the kernel reads of a, copied once with its zeros, where tiles would copy more ---- */
static bool pads_all(const struct tiling *t, struct stage *whole)
{
	const struct contraction *c = t->p->c;
	int row = contraction_row(c);
	int64_t tiles = c->row_blocks * c->panels;
	if (!t->p->packed || c->k_block || !stage_whole(c, whole) || whole->dims > PACKED_A_DIMS
	        || whole->floats * 4 > t->b->printer.target->l2_bytes / 4)
		return false;
	FOR (v, c->column)
		tiles *= v == row ? 1 : c->extents[v];
	return (1 - tiles_inside(c)) * (double)(tiles * t->p->packed_a.floats) > (double)whole->floats;
}

static void pad_all(struct tiling *t, const struct stage *whole)
{
	struct value globals = t->globals;
	struct printing *p = t->p;
	const struct contraction *c = p->c;
	struct arena *arena = t->b->arena;
	struct value padded = value_dict(arena), dims = value_list(arena);
	const struct stage_dim *last = &whole->dim[whole->dims - 1];
	bool run = !last->pad;
	const struct index *with[MAX_VARS] = { 0 };
	for (int v = 0; v <= c->column + c->terms; v++)
		with[v] = index_constant(arena, 0);
	value_set(padded, "from", printer_address(&t->b->printer, c->a->of, index_substitute(arena, c->a_at, with)));
	FOR (i, whole->dims - run) {
		const struct stage_dim *d = &whole->dim[i];
		struct value pad = value_none();
		if (d->pad)
			pad = value_dict_of(
			        arena, "base", d->pad->at->constant, "from", d->pad->from, "to", d->pad->to);
		value_list_add(dims,
		        value_dict_of(
		                arena, "extent", d->extent, "stride", d->stride, "factor", d->factor, "pad", pad));
	}
	value_set(padded, "dims", dims, "run", run ? last->extent : 1, "step", run ? last->stride : 1, "at",
	        blocks_scratch(t->b, whole->floats + t->b->printer.target->lanes - 1, NULL));
	blocks_uses(t->b, "m_pack_a", "packed_a");
	const char *at = "padded";
	int row = contraction_row(c);
	FOR (v, c->column)
		if (v == row ? whole->of_row : whole->of_outer[v])
			at = arena_printf(arena, "%s + %" PRId64 " * %s", at,
			        v == row ? whole->of_row : whole->of_outer[v], p->names[v]);
	p->row_stride = (struct stride){ .direct = whole->of_row };
	FOR (k, c->terms)
		p->term_stride[k] = (struct stride){ .direct = whole->of_term[k] };
	value_set(globals, "padded", padded, "packed_a", value_none(), "a_base", at);
}

/* ---- a maximum over windows: rows of the convolution stand in scratch, the maxima of their windows are stored ---- */
static void add_maxima(struct tiling *t)
{
	const struct printing *p = t->p;
	const struct contraction *c = p->c;
	struct blocks *b = t->b;
	struct arena *arena = b->arena;
	const struct definition *d = c->pool.d;
	const char *names[MAX_VARS];
	int lane, across = d->rank - 1; /* pool.c: the windows' own */
	struct value pool = value_dict_get(t->globals, "pool"), calls = value_list(arena), before = b->list;
	const struct index *address = contraction_pooled(p, "0", "0", names, &lane);
	struct printer printer = b->printer;
	printer.names = names;
	int64_t wide = d->extents[d->rank - 1], columns = c->extents[c->column],
	        step = lane >= 0 ? index_factor(address, lane) : 1;
	struct operand to = { printer_address(&printer, d, address), index_factor(address, across), 1, false, false },
	               sum = to;
	if (step != 1)
		sum = (struct operand){ blocks_scratch(b, wide * columns, NULL), columns, 1, false, false };
	blocks_uses(b, "m_maxima", "maxima");
	b->list = calls;
	if (step != 1)
		blocks_call(b, "m_scatter", "scatter",
		        arena_printf(arena, "%s, %" PRId64 ", %" PRId64 ", %s, %" PRId64 ", %" PRId64 ", %" PRId64,
		                to.at, to.row, step, sum.at, sum.row, wide, columns));
	b->list = before;
	value_set(pool, "calls", calls, "maxima",
	        value_printf(arena,
	                "%s, %" PRId64 ", pooled, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
	                ", %" PRId64 ", %" PRId64,
	                sum.at, sum.row, c->pool.stride[1] * p->pooled.dim[1].lies, p->pooled.dim[0].lies,
	                c->pool.size[0], p->pooled.dim[1].lies, c->pool.size[1], wide, columns),
	        "at", blocks_scratch(b, p->pooled.floats, NULL));
}

/* Where a tile's results go: to their tensor, or to scratch that is transposed behind the last block of a group. */
static struct operand add_into(struct tiling *t)
{
	const struct printing *p = t->p;
	const struct contraction *c = p->c;
	struct value transposed_store = value_dict_get(t->globals, "transposed_store");
	int row = contraction_row(c);
	if (transposed_store.kind != VALUE_DICT)
		return (struct operand){ printer_address(&t->b->printer, c->result, c->out_at),
			row >= 0 ? index_factor(c->out_at, row) : 0, index_factor(c->out_at, c->column), false, false };
	int64_t width = value_dict_get(transposed_store, "width").integer,
	        bits = dtypes[c->result->type].bits * value_dict_get(transposed_store, "floats").integer;
	bool transposed = dtypes[c->result->type].bits == 32;
	const char *name = arena_printf(t->b->arena, "m_scatter%d", dtypes[c->result->type].bits / 8);
	value_set(transposed_store, "at", blocks_scratch(t->b, (bits + 31) / 32, NULL), "scatter",
	        transposed ? "" : name);
	blocks_uses(t->b, transposed ? "m_transpose" : name, transposed ? "transpose" : "scatter");
	return (struct operand){ arena_printf(t->b->arena, "transposed_store + %" PRId64 " * (%s - begin)", width,
		                         value_dict_get(transposed_store, "row").bytes),
		width, 1, false, false };
}

/* What a tile stores: its results, with a residual and relu, or sums in scratch, which calls make the results of. */
static void add_result(struct tiling *t, const struct dims *d, int term_loops)
{
	struct blocks *b = t->b;
	const struct contraction *c = t->p->c;
	struct operand into = add_into(t), add = { .at = "0" };
	struct value tile = value_dict(b->arena), result = value_list(b->arena);
	struct tile_ending ending;
	bool plain = tile_ends_itself(c, &ending);
	b->list = value_list(b->arena);
	if (plain && ending.add) {
		add = blocks_value(b, ending.add, d, false);
		plain = add.lane == 1;
	}
	bool direct = into.lane == 1 && plain && term_loops <= TILE_TERMS;
	b->sums = direct ? into
	                 : (struct operand){ blocks_lanes(b, c->root->type, d->rows_most * d->n_most, NULL),
		                   d->row >= 0 ? d->n_most : 0, 1, false, false };
	blocks_lets(b);
	add_start(t, d, tile);
	value_set(tile, "out", b->sums.at, "out_row", b->sums.row, "act", direct && ending.relu, "add",
	        direct ? add.at : "0", "add_row", direct ? add.row : 0, "a_row",
	        stride_text(b->arena, &t->p->row_stride));
	if (!direct) {
		b->list = result;
		if (lanes_lie(c->result->type))
			blocks_into(
			        b, c->arranged.value ? c->arranged.value : expr_load_first(b->arena, c->root), d, into);
		else
			blocks_put(b, c->arranged.value, d, c->result->type, into);
	}
	value_set(t->globals, "tile", tile, "result", result);
}

static void add_entry(struct tiling *t, struct value entries, const char *name, struct value when, const char *left)
{
	value_list_add(entries, value_dict_of(t->b->arena, "when", when, "name", name, "left", left));
}

/* A tile that is told its size: of another product, or of fewer bits that it widens. */
static const char *sized_name(const struct tiling *t)
{
	const struct contraction *c = t->p->c;
	return !c->arranged.wide ? c->product->name
	        : !c->codes.bits ? dtypes[c->b->of->type].text
	        : c->codes.exponent
	        ? arena_printf(t->b->arena, "float8_%d", c->codes.exponent)
	        : arena_printf(t->b->arena, "codes%d%s", c->codes.bits, c->codes.zeros ? "_zeros" : "");
}

/* The menu's tiles that it calls: of other products than float's one, which is told its size. */
static void add_entries(struct tiling *t)
{
	const struct printing *p = t->p;
	struct blocks *b = t->b;
	struct value entries = value_list(b->arena), choices = value_dict_get(t->globals, "choices");
	const struct target *target = b->printer.target;
	value_set(t->globals, "entries", entries);
	if (!product_is_fma(p->c->product) || p->c->arranged.wide) {
		const char *name = arena_printf(b->arena, "m_tile_%s", sized_name(t));
		add_entry(t, entries, name, value_none(),
		        arena_printf(b->arena, "columns - %d * (vecs - 1)", target->lanes));
		value_set(value_at(entries, 0), "size", contraction_row(p->c) >= 0 ? ", rows, vecs" : ", 1, vecs");
		blocks_uses(b, name, "sized_tile");
		return;
	}
	FOR (i, p->tile_count) {
		const struct tile *one = &p->tiles[i];
		const char *name = arena_printf(
		        b->arena, "m_tile_%s%dx%d", p->c->b_mode == B_DIRECT ? "direct_" : "", one->rows, one->vecs);
		if (!jit_tile_fits(target, one->rows, one->vecs))
			blocks_cannot(b, "the menu has no tile of that size");
		add_entry(t, entries, name, value_dict_get(value_at(choices, (size_t)i), "when"),
		        arena_printf(b->arena, "%d", one->left ? one->left : target->lanes));
		blocks_uses(b, name, "tile");
	}
}

/* Packed a, rows of maxima and b's panel. */
static void add_scratch(struct tiling *t)
{
	struct blocks *b = t->b;
	int floats = lanes_of(t->p->c->root->type)->floats;
	struct value packed_a = value_dict_get(t->globals, "packed_a"),
	             gathered = value_dict_get(t->globals, "gathered");
	if (packed_a.kind == VALUE_DICT) {
		value_set(packed_a, "at", blocks_scratch(b, value_dict_get(packed_a, "floats").integer, NULL));
		if (value_count(value_dict_get(packed_a, "dims")) > PACKED_A_DIMS)
			blocks_cannot(b, "its padding has too many dims");
		blocks_uses(b, "m_pack_a", "packed_a");
	}
	if (t->p->c->pool.d)
		add_maxima(t);
	if (gathered.kind == VALUE_DICT) {
		value_set(gathered, "at", blocks_scratch(b, floats * value_dict_get(gathered, "floats").integer, NULL));
		blocks_uses(b, floats == 1 ? "m_gather" : "m_gather8", "gather");
	}
}

bool jit_contraction(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	struct printing p;
	struct tiling t = { .p = &p, .b = b };
	const struct contraction *c = b->kernel->detail;
	t.globals = contraction_values(emit, b->kernel, &p);
	value_set(t.globals, "wide", value_bool(lanes_of(c->root->type)->floats == 2));
	int row = contraction_row(c);
	struct dims d = { row, c->column, row >= 0 ? "rows" : "1", "columns", row >= 0 ? c->tile.rows : 1,
		(int64_t)c->tile.vecs * emit->target->lanes };
	blocks_begin(b, emit, p.names, c->root);
	b->printer.buffer = buffer_name;
	b->printer.user = &p;
	b->by_rows = true;

	struct stage whole;
	struct term_loop loops[MAX_VARS];
	value_set(t.globals, "padded", value_none(), "all_terms", value_dict_get(t.globals, "terms"));
	if (pads_all(&t, &whole))
		pad_all(&t, &whole);
	int term_loops = join_terms(&t, loops);
	value_set(t.globals, "list", list_terms(&t, loops, &term_loops));
	add_result(&t, &d, term_loops);
	add_entries(&t);
	add_terms(&t, loops, term_loops);
	value_set(t.globals, "zero", c->codes.zero, "columns_left", c->extents[c->column]);
	add_scratch(&t);
	out->value = t.globals;
	out->scratch = b->scratch_most;
	return !b->cannot;
}
