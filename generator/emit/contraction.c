/* contraction.c: the values of templates/c/contraction.jinja: one kernel's loops, and what is around its tiles, as C
 * text. */
#include "emit/contraction.h"
#include "ingot/template.h"
#include <inttypes.h>

enum { HEAVY = 8 };

/* ---- padding: the part of a that a tile reads, copied with its zeros ---- */
static void plan_packed_a(struct printing *p)
{
	const struct contraction *c = p->c;
	int row = contraction_row(c);
	p->row_stride.direct = row >= 0 ? index_factor(c->a_at, row) : 0;
	FOR (t, c->terms)
		p->term_stride[t].direct = index_factor(c->a_at, c->column + 1 + t);
	p->packed = c->pad_count > 0 || c->staging.copied;
	if (!p->packed)
		return;
	/* strides inside the tile: the direct ones where packed a and the tensor agree, else parameters */
	stage_padded(c, packed_a_rows(c), &p->packed_a);
	p->row_stride.packed = p->packed_a.of_row;
	p->row_stride.direct = c->staging.copied ? p->packed_a.of_row : p->row_stride.direct;
	p->row_stride.name = p->packed_a.of_row != p->row_stride.direct ? "a_row" : NULL;
	FOR (t, c->terms) {
		struct stride *s = &p->term_stride[t];
		s->packed = p->packed_a.of_term[t];
		s->direct = c->staging.copied ? s->packed : s->direct;
		s->name = s->packed != s->direct ? arena_printf(p->arena, "a_%s", p->names[c->column + 1 + t]) : NULL;
	}
}

/* {base, from, to}: at a tile's first row and terms, of a k block where that is packed by itself. */
static struct value pad_value(struct printing *p, const struct range *pad)
{
	const struct index *zero[MAX_VARS];
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	contraction_at_k_block(p, packs_group_of_a(p->c), zero);
	return value_dict_of(p->arena, "base", printer_index(&printer, index_substitute(p->arena, pad->at, zero)),
	        "from", pad->from, "to", pad->to);
}

static struct value packed_a_value(struct printing *p)
{
	const struct contraction *c = p->c;
	const struct stage *stage = &p->packed_a;
	struct arena *arena = p->arena;
	struct value packed_a = value_dict(arena), strides = value_list(arena), dims = value_list(arena),
	             pads = value_list(arena), others = value_list(arena);
	if (!p->packed)
		return value_none();
	for (int t = -1; t < c->terms; t++) {
		const struct stride *s = t < 0 ? &p->row_stride : &p->term_stride[t];
		if (!s->name)
			continue;
		value_list_add(
		        strides, value_dict_of(arena, "name", s->name, "direct", s->direct, "packed", s->packed));
	}
	/* The innermost dim is copied as one run; where it has a pad, the part of it that is there, between zeros. */
	const struct stage_dim *last = stage->dims ? &stage->dim[stage->dims - 1] : NULL;
	bool run = last && !last->pad;
	FOR (i, stage->dims - run) {
		const struct stage_dim *d = &stage->dim[i];
		value_list_add(dims,
		        value_dict_of(arena, "name", value_printf(arena, "p%d", i), "extent", d->extent, "stride",
		                d->stride, "factor", d->factor, "pad", d->pad ? pad_value(p, d->pad) : value_none()));
	}
	FOR (i, c->pad_count) {
		const struct range *range = &c->arranged.pads[i];
		struct value pad = pad_value(p, range);
		int64_t reach = 0;
		bool along = false;
		FOR (t, c->terms)
			reach += index_factor(range->at, c->column + 1 + t) * (packed_a_extent(c, t) - 1);
		FOR (k, stage->dims)
			along |= stage->dim[k].pad == range;
		value_set(pad, "row", contraction_row(c) >= 0 ? index_factor(range->at, contraction_row(c)) : 0,
		        "reach", reach);
		value_list_add(pads, pad);
		if (!along)
			value_list_add(others, pad);
	}
	int lanes = p->emit->target->lanes;
	bool wide = lanes > 1 && !p->emit->target->lanes_are_threads && last
	        && (run ? last->stride == 1 : last->pad && last->factor == 1 && last->stride == 1);
	value_set(packed_a, "wide", wide);
	int64_t floats = stage->floats + (wide ? lanes - 1 : 0);
	floats = packs_group_of_a(c) ? ceil_div(floats, lanes) * lanes : floats;
	value_set(packed_a, "floats", floats, "blocks", packs_group_of_a(c) ? c->staging.a_blocks : 1, "always",
	        c->staging.copied, "base", contraction_base_of_a(p, packs_group_of_a(c)), "of_k_block",
	        packs_group_of_a(c) && c->k_block
	                ? arena_printf(arena, " + %" PRId64 " * %s", p->term_stride[0].packed, p->names[K_BLOCK_VAR])
	                : "",
	        "place",
	        packs_rows_of_a(c) ? value_printf(arena, " + %s%s",
	                stage->of_row == 1 ? "" : arena_printf(arena, "%" PRId64 " * ", stage->of_row),
	                p->names[contraction_row(c)])
	                           : value_printf(arena, " + %" PRId64 " * (block - first)", floats),
	        "row", packs_rows_of_a(c), "strides", strides, "dims", dims, "pads", pads, "others", others, "span",
	        value_bool(last && last->pad && last->factor == 1), "run", run ? last->extent : 1, "step",
	        run ? last->stride : 1);
	return packed_a;
}

/* ---- a maximum over windows of the rows that stand in scratch ---- */
struct pool_part {
	struct printing *p;
	int64_t left;
};

static struct value call_pool_load(struct template_call *call)
{
	const struct pool_part *part = call->user;
	const struct contraction *c = part->p->c;
	int64_t tap = contraction_tap(part->p, call_int(call, 0, 0));
	struct arena *arena = part->p->arena;
	const char *at = arena_printf(arena, "pooled%s + %" PRId64 " * l + %s",
	        tap ? arena_printf(arena, " + %" PRId64, tap) : "", c->pool.stride[1] * part->p->pooled.dim[1].lies,
	        c->pool.by_panel ? "e" : "c");
	return part->left ? value_printf(part->p->arena, "vec_load_n(%s, %" PRId64 ", 0.f)", at, part->left)
	                  : value_printf(part->p->arena, "vec_load(%s)", at);
}

int64_t contraction_tap(const struct printing *p, int64_t tap)
{
	return tap / p->c->pool.size[1] * p->pooled.dim[0].lies + tap % p->c->pool.size[1] * p->pooled.dim[1].lies;
}

const struct index *contraction_pooled(
        const struct printing *p, const char *across, const char *column, const char **names, int *lane)
{
	const struct contraction *c = p->c;
	const struct definition *d = c->pool.d;
	const struct index *at[MAX_RANK];
	*lane = -1;
	FOR (v, MAX_VARS)
		names[v] = "0";
	FOR (v, d->rank) {
		int root = c->pool.of[v], var = -1;
		at[v] = index_var(p->arena, v, d->extents[v]);
		if (root == c->pool.row || root == c->pool.across)
			names[v] = root == c->pool.row ? "q" : across;
		else if (root >= 0 && index_is_var(c->arranged.of_root[root], &var)) {
			names[v] = var == c->column ? column : p->names[var];
			*lane = var == c->column ? v : *lane;
		}
	}
	return schedule_address(p->arena, d, at);
}

static struct value call_pool_store(struct template_call *call)
{
	const struct pool_part *part = call->user;
	struct printing *p = part->p;
	const struct contraction *c = p->c;
	const char *value = call_string(call, 0, ""), *names[MAX_VARS], *column = p->names[c->column];
	struct printer printer = contraction_printer(p, NULL);
	int lane;
	const struct index *address = contraction_pooled(
	        p, "l", c->pool.by_panel ? arena_printf(p->arena, "(%s + e)", column) : column, names, &lane);
	printer.names = names;
	printer.lane = -1;
	int64_t step = lane >= 0 ? index_factor(address, lane) : 1;
	const char *to = printer_address(&printer, c->pool.d, address),
	           *left = part->left ? arena_printf(p->arena, ", %" PRId64, part->left) : "";
	return step == 1 ? value_printf(p->arena, "vec_store%s(%s, %s%s)", part->left ? "_n" : "", to, value, left)
	                 : value_printf(p->arena, "vec_scatter%s(%s, %" PRId64 ", %s%s)", part->left ? "_n" : "", to,
	                         step, value, left);
}

static struct value pool_value(struct printing *p)
{
	const struct contraction *c = p->c;
	if (!c->pool.d)
		return value_none();
	struct value parts = value_list(p->arena), taps = value_list(p->arena);
	int64_t columns = c->extents[c->column], lanes = p->emit->target->lanes, whole = columns / lanes * lanes;
	FOR (t, c->pool.size[0] * c->pool.size[1])
		value_list_add(taps, value_int(t));
	FOR (tail, 2) {
		struct pool_part *user = arena_new(p->arena, struct pool_part);
		*user = (struct pool_part){ p, tail ? columns - whole : 0 };
		if (tail ? columns == whole : !whole)
			continue;
		value_list_add(parts,
		        value_dict_of(p->arena, "columns",
		                !c->pool.by_panel             ? value_int(tail ? columns : whole)
		                        : columns % c->panels ? value_string("vecs")
		                                              : value_int(c->tile.vecs),
		                "first", tail ? whole : 0, "load",
		                value_function(p->arena, "load", "tap", call_pool_load, user), "store",
		                value_function(p->arena, "store", "value", call_pool_store, user)));
	}
	return value_dict_of(p->arena, "floats", p->pooled.floats, "by_panel", c->pool.by_panel, "lane",
	        c->pool.by_panel ? "e" : "c", "size", c->pool.size[0], "stride", c->pool.stride[0], "across",
	        c->pool.d->extents[c->pool.d->rank - 1], "row", p->names[c->batches + c->rows - 2], "scratch_row",
	        p->names[POOL_VAR], "out_row", "q", "out_column", "l", "taps", taps, "parts", parts);
}

/* A group's part of a panel, transposed where rows lie side by side in the result. */
static struct value transposed_store_value(struct printing *p)
{
	const struct contraction *c = p->c;
	if (!c->staging.transposed)
		return value_none();
	const struct index *with[MAX_VARS] = { 0 };
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	for (int v = c->batches; v < c->column; v++)
		with[v] = index_constant(p->arena, 0);
	const char *to = printer_address(&printer, c->result, index_substitute(p->arena, c->out_at, with));
	int64_t rows = c->staging.span / c->row_blocks * c->extents[contraction_row(c)];
	if (c->staging.around && c->staging.around != rows)
		to = arena_printf(p->arena, "%s + %" PRId64 " * (first / %" PRId64 ")", to, c->staging.around - rows,
		        c->staging.span);
	return value_dict_of(p->arena, "floats", c->staging.transposed * contraction_transposed_width(p), "width",
	        contraction_transposed_width(p), "span", c->staging.around ? c->staging.span : 0, "first",
	        contraction_transposed_row(p, "first"), "last", contraction_transposed_row(p, "last"), "row",
	        contraction_transposed_row(p, "block"), "columns", c->extents[c->column], "apart",
	        index_factor(c->out_at, c->column), "to", to, "c", dtypes[c->result->type].c, "word",
	        c->result->type == DTYPE_F32
	                ? "vec_transpose"
	                : arena_printf(p->arena, "ivec_transpose_i%d", dtypes[c->result->type].bits));
}

/* {lets}: where variables end, by p->ends.  Of terms one that is neutral comes besides, and what makes whole steps of
 * an unrolled loop. */
static struct value list_ends(struct printing *p)
{
	const struct contraction *c = p->c;
	struct value ends = value_none(), lets = value_none();
	bool any = false;
	for (int v = 0; v <= c->column + c->terms; v++) {
		if (!c->counts[v])
			continue;
		struct value let = value_dict(p->arena);
		const char *count = emit_count(p->emit, p->kernel, c->counts[v], c->extents[v] / c->arranged.each[v]);
		p->ends[v] = arena_printf(p->arena, "%s_end", p->names[v]);
		if (v > c->column && !c->roles.ends_short && !scheduled(c->counts[v])->whole)
			count = arena_printf(
			        p->arena, "((%s) + %d) / %d * %d", count, BLOCK_UNROLL, BLOCK_UNROLL, BLOCK_UNROLL);
		else if (v <= c->column && c->arranged.each[v] != 1)
			count = arena_printf(p->arena, "%" PRId64 " * (%s)", c->arranged.each[v], count);
		if (!any) {
			any = true;
			ends = value_dict(p->arena);
			value_set(ends, "lets", lets = value_list(p->arena));
		}
		value_set(let, "name", v > c->column ? arena_printf(p->arena, "%s_most", p->names[v]) : p->ends[v],
		        "value", count);
		value_list_add(lets, let);
		if (v > c->column) {
			let = value_dict(p->arena);
			value_set(let, "name", p->ends[v], "value",
			        value_printf(p->arena, "%s_most < %" PRId64 " ? %s_most : %" PRId64, p->names[v],
			                c->extents[v], p->names[v], c->extents[v]));
			value_list_add(lets, let);
		}
	}
	return ends;
}

/* So many of the parts into which `of` is cut have their first of it before `end`. */
static const char *parts_before(struct printing *p, const char *end, int64_t parts, int64_t of)
{
	return parts == of
	        ? end
	        : arena_printf(p->arena, "(%s * %" PRId64 " + %" PRId64 ") / %" PRId64, end, parts, of - 1, of);
}

/* The last block of rows that are counted at run time may have a few alone: how many tiles are for those, 1, 2, 4, …
 * rows high, all below `rows`. */
static int few_rows(const struct printing *p, int row, int64_t rows, int *heights)
{
	const struct contraction *c = p->c;
	int count = 0;
	if (row >= 0 && p->ends[row] && !c->block.warps && !c->pool.d && !c->staging.transposed)
		for (int few = 1; few < rows; few *= 2)
			heights[count++] = few;
	return count;
}

static void list_tiles(struct printing *p, int row, int64_t rows, int64_t vecs)
{
	const struct contraction *c = p->c;
	int lanes = p->emit->target->lanes, left = (int)(c->extents[c->column] % lanes), heights[16], widths[2],
	    few = few_rows(p, row, rows / c->row_blocks, heights), height_count = few, width_count = 0;
	heights[height_count++] = c->block.warps ? c->tile.rows : (int)ceil_div(rows, c->row_blocks);
	if (rows % c->row_blocks && !c->block.warps)
		heights[height_count++] = (int)(rows / c->row_blocks);
	widths[width_count++] = (int)ceil_div(vecs, c->panels);
	if (vecs % c->panels)
		widths[width_count++] = (int)(vecs / c->panels);
	int last_width = (int)(vecs - vecs * (c->panels - 1) / c->panels);
	p->tiles = arena_new_array(p->arena, struct tile, 3 * height_count);
	FOR (h, height_count) {
		if (left) /* the last panel: part of its last vector is not there */
			p->tiles[p->tile_count++] = (struct tile){ heights[h], last_width, left, true, h < few, NULL };
		FOR (w, width_count)
			if (!(left && c->panels == 1))
				p->tiles[p->tile_count++] =
				        (struct tile){ heights[h], widths[w], 0, false, h < few, NULL };
	}
	FOR (i, p->tile_count)
		p->tiles[i].name = arena_printf(p->arena, "%s_%dx%d%s", emit_symbol(p->emit, p->kernel),
		        p->tiles[i].rows, p->tiles[i].vecs * lanes, p->tiles[i].last ? "_last" : "");
}

/* What the values are counted in. */
struct counting {
	int lanes, row;            /* row: -1: there is none */
	int64_t rows, vecs, terms; /* of the row, of the columns, of a sum */
	bool heavy;                /* an epilogue of many operations is printed once, in a loop */
};

static struct counting count_of(const struct printing *p)
{
	const struct contraction *c = p->c;
	struct counting n = { .lanes = p->emit->target->lanes, .row = contraction_row(c), .terms = 1 };
	n.rows = n.row >= 0 ? c->extents[n.row] : 1;
	n.vecs = ceil_div(c->extents[c->column], n.lanes);
	FOR (t, c->terms)
		n.terms *= c->extents[c->column + 1 + t];
	n.heavy = (c->arranged.value && expr_cost(c->arranged.value) > HEAVY) || product_is_matrix(c->product);
	return n;
}

static void name_variables(struct printing *p)
{
	const struct contraction *c = p->c;
	FOR (v, MAX_VARS)
		p->names[v] = v == c->column ? "c"
		        : v < c->batches     ? arena_printf(p->arena, "n%d", v)
		        : v < c->column      ? arena_printf(p->arena, "i%d", v - c->batches)
		                             : arena_printf(p->arena, "k%d", v - c->column - 1);
	p->names[SPARE_ROW] = "r";
	p->names[SPARE_VEC] = "v";
	p->names[POOL_VAR] = "z";
	p->names[K_BLOCK_VAR] = "k_block";
}

/* When a tile is taken; the last choice needs no condition. */
static struct value choice_value(struct printing *p, int i, const struct counting *n, const char *arguments)
{
	const struct contraction *c = p->c;
	const struct tile *of = &p->tiles[i];
	struct value choice = value_dict(p->arena);
	struct text when;
	text_init(&when, p->emit->build);
	if (i < p->tile_count - 1) {
		if (of->few)
			text_printf(&when, "%s - %s <= %d", p->ends[n->row], p->names[n->row], of->rows);
		else if (n->row >= 0 && n->rows % c->row_blocks && !c->block.warps)
			text_printf(&when, "rows == %d", of->rows);
		if (of->last && c->panels > 1)
			text_printf(&when, "%spanel == %" PRId64, when.count ? " && " : "", c->panels - 1);
		else if (n->vecs % c->panels)
			text_printf(&when, "%svecs == %d", when.count ? " && " : "", of->vecs);
	}
	value_set(choice, "when", value_copy(p->arena, when.count ? when.at : "", when.count), "tile", of->name,
	        "arguments", arguments);
	text_release(&when);
	return choice;
}

/* The panel of a constant. */
static const char *base_of_packed(struct printing *p, struct printer *printer, const struct counting *n)
{
	const struct contraction *c = p->c;
	const int64_t terms = c->codes.bits ? codes_words(c) : n->terms / (c->panel.bytes ? 2 : 1);
	const struct index *at = index_scale(p->arena, index_var(p->arena, c->column, INT32_MAX), terms);
	int64_t packed = terms * n->vecs * n->lanes;
	for (int b = c->batches - 1; b >= 0; packed *= c->extents[b--])
		at = index_add(p->arena, at, index_scale(p->arena, index_var(p->arena, b, c->extents[b]), packed));
	return printer_address(printer, c->panel.packed, at);
}

static const char *base_of_b(struct printing *p, struct printer *printer, const struct counting *n)
{
	const struct contraction *c = p->c;
	struct arena *arena = p->arena;
	const struct index *zero[MAX_VARS];
	const char *base = "gathered";
	contraction_at_k_block(p, false, zero);
	if (c->b_mode == B_PACKED)
		base = base_of_packed(p, printer, n);
	else if (c->b_mode != B_GATHERED)
		base = printer_address(printer, c->b->of, index_substitute(arena, c->b_at, zero));
	if (!c->k_block || c->b_mode == B_DIRECT)
		return base;
	bool uneven = n->vecs % c->panels; /* a panel has its k blocks one behind the other */
	return arena_printf(arena, "%s + %" PRId64 " * %s%s", base,
	        (codes_in_tile(c) ? codes_words(c) : n->terms) / c->extents[c->column + 1] * n->lanes
	                * (uneven ? 1 : c->tile.vecs),
	        uneven ? "vecs * " : "", p->names[K_BLOCK_VAR]);
}

/* The blocks of a kernel, axis by axis from the innermost. */
struct blocks_of {
	struct value outer;
	int64_t step;      /* as many as there are */
	const char *there; /* the same, where it is counted; NULL: it is that number */
};

static void add_axes(struct printing *p, struct blocks_of *blocks)
{
	const struct contraction *c = p->c;
	struct arena *arena = p->arena;
	for (int r = c->rows - 2; r >= 0; r--) {
		struct value axis = value_dict(arena);
		bool maxima = c->pool.d && r == c->rows - 2;
		int64_t extent = maxima ? p->kernel->blocks : c->extents[c->batches + r];
		for (int b = 0; maxima && b < r; b++)
			extent /= c->extents[c->batches + b];
		value_set(axis, "name", maxima ? "q" : p->names[c->batches + r]);
		const char *end = p->ends[c->batches + r],
		           *by = blocks->there ? arena_printf(arena, " / (%s)", blocks->there)
		        : blocks->step == 1    ? ""
		                               : arena_printf(arena, " / %" PRId64, blocks->step);
		value_set(axis, "value",
		        !r            ? value_printf(arena, "block%s", by)
		                : end ? value_printf(arena, "block%s %% %s", by, end)
		                      : value_printf(arena, "block%s %% %" PRId64, by, extent));
		value_list_add(blocks->outer, axis);
		if (blocks->there || end)
			blocks->there = arena_printf(arena, "%s * %s",
			        blocks->there ? arena_printf(arena, "(%s)", blocks->there)
			                      : arena_printf(arena, "%" PRId64, blocks->step),
			        end ? end : arena_printf(arena, "%" PRId64, extent));
		blocks->step *= extent;
	}
}

static struct value row_value(struct printing *p, const struct counting *n, const char *blocks_there)
{
	int64_t blocks = p->c->row_blocks;
	struct value value = n->row >= 0 ? value_dict(p->arena) : value_none();
	if (n->row < 0)
		return value;
	value_set(value, "name", p->names[n->row], "extent", n->rows, "blocks", blocks, "there",
	        blocks_there ? value_printf(p->arena, "(%s)", blocks_there) : value_int(blocks), "uneven",
	        value_bool(n->rows % blocks != 0));
	return value;
}

static void check_scratch(const struct printing *p, const struct counting *n)
{
	const struct contraction *c = p->c;
	const struct target *target = p->emit->target;
	int64_t scratch = (p->packed ? p->packed_a.floats : 0)
	        + (c->b_mode == B_GATHERED ? n->terms * c->tile.vecs * n->lanes : 0);
	for (int i = 0; n->heavy && !c->block.warps && i < p->tile_count; i++)
		scratch += (int64_t)p->tiles[i].rows * p->tiles[i].vecs * n->lanes;
	if (target->scratch_bytes && scratch > target->scratch_bytes / 4)
		fail(p->emit->build, EXIT_LIMIT, c->root->name, "its tiles take %lld bytes of scratch; %s has %lld",
		        (long long)scratch * 4, target->name, (long long)target->scratch_bytes);
}

static struct value k_block_value(struct printing *p)
{
	const struct contraction *c = p->c;
	struct value k_block = c->k_block ? value_dict(p->arena) : value_none();
	if (c->k_block) {
		value_set(k_block, "name", p->names[K_BLOCK_VAR], "extent", c->extents[c->column + 1], "step",
		        c->k_block);
	}
	return k_block;
}

struct value product_words(struct arena *arena, const struct product *of)
{
	return value_dict_of(arena, "element", dtypes[of->sum].c, "vec", lane_type_of(of->sum).vector, "step", of->step,
	        "zero", number_text(arena, of->sum, 0, 0), "fill", lane_type_of(of->sum).fill);
}

/* The loops over blocks, rows and panels. */
static void add_loops(struct printing *p, const struct counting *n, struct value ends, struct value globals)
{
	const struct contraction *c = p->c;
	struct arena *arena = p->arena;
	struct blocks_of blocks = { value_list(arena), c->pool.d ? 1 : c->row_blocks,
		n->row >= 0 && p->ends[n->row] ? parts_before(p, p->ends[n->row], c->row_blocks, n->rows) : NULL };
	value_set(globals, "row", row_value(p, n, blocks.there));
	add_axes(p, &blocks);
	const char *panels_there = p->ends[c->column]
	        ? parts_before(p, arena_printf(arena, "((%s + %d) / %d)", p->ends[c->column], n->lanes - 1, n->lanes),
	                c->panels, n->vecs)
	        : NULL;
	value_set(globals, "panels_there", panels_there ? value_string(panels_there) : value_int(c->panels));
	const char *there = c->split_panels ? panels_there : blocks.there;
	if (there) {
		value_set(ends, "there", there, "blocks", p->kernel->blocks);
	}
	value_set(globals, "ends", ends, "outer", blocks.outer, "blocks", c->block.warps ? c->row_blocks : blocks.step,
	        "panel_blocks", blocks.step, "group", c->group, "one_group",
	        value_bool(c->panels > 1 && c->group >= p->kernel->blocks && !packs_group_of_a(c)
	                && !c->memory.next_lines),
	        "split_panels", c->split_panels, "panels", c->panels, "panels_uneven",
	        value_bool(n->vecs % c->panels != 0), "column", p->names[c->column], "batches",
	        contraction_extents(p, 0, c->batches));
}

struct value contraction_values(struct emit *emit, const struct kernel *kernel, struct printing *p)
{
	const struct contraction *c = kernel->detail;
	struct arena *arena = emit->arena;
	*p = (struct printing){ .emit = emit, .arena = arena, .kernel = kernel, .c = c };
	const struct counting n = count_of(p);
	name_variables(p);
	if (!c->block.warps)
		plan_packed_a(p);
	if (c->pool.d)
		stage_pooled(c, n.lanes, &p->pooled);
	struct value ends = list_ends(p);
	list_tiles(p, n.row, n.rows, n.vecs);

	const char *params, *arguments;
	tile_arguments(p, &params, &arguments);
	struct value globals = value_dict(arena), tiles = value_list(arena), choices = value_list(arena);
	FOR (i, p->tile_count) {
		value_list_add(tiles, tile_value(p, &p->tiles[i], params, n.terms, n.heavy));
		value_list_add(choices, choice_value(p, i, &n, arguments));
	}
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	value_set(globals, "a_base", contraction_base_of_a(p, false), "w_base", base_of_b(p, &printer, &n), "w_element",
	        contraction_element_of_b(c));
	add_loops(p, &n, ends, globals);
	check_scratch(p, &n);
	value_set(globals, "product", product_words(arena, c->product), "matrix_shape", matrix_shape(p), "k_block",
	        k_block_value(p), "k_blocked", contraction_k_blocked(c));
	int64_t of_k_block = c->k_block ? n.terms / c->extents[c->column + 1] * c->k_block : n.terms;
	value_set(globals, "terms", of_k_block, "next_floats",
	        16 * c->memory.next_lines * of_k_block / contraction_steps(c, emit->target, c->tile.rows), "kernel",
	        emit_kernel_value(emit, kernel), "tiles", tiles, "choices", choices, "target", emit_target_value(emit),
	        "lanes", n.lanes, "vectors", n.vecs, "pool", pool_value(p), "transposed_store",
	        transposed_store_value(p), "packed_a", packed_a_value(p), "gathered",
	        gathered_value(p, n.terms, c->panel.packed ? base_of_packed(p, &printer, &n) : NULL), "block",
	        c->block.warps ? block_value(p, &printer) : value_none());
	return globals;
}

void contraction_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	struct printing printing;
	emit_render(emit, kernel, contraction_values(emit, kernel, &printing), out);
}
