/* contraction.c: the values of templates/c/contraction.jinja: one kernel's indices and expressions as C text. */
#include "emit/contraction.h"
#include "ingot/template.h"
#include <inttypes.h>

enum { HEAVY = 8, BLOCK_UNROLL = 4 };

struct tile_user {
	struct printing *p;
	struct tile *tile;
};

static const char *buffer_name(void *user, const struct definition *of)
{
	const struct printing *p = user;
	return p->c->pool.d && of == p->c->result ? "y" : emit_buffer((void *)(uintptr_t)p->kernel, of);
}

/* The words of one lane are of floats: what else an epilogue has is C's own. */
static bool is_scalar(const struct printing *p)
{
	return p->emit->target->lanes == 1 && p->c->value && !expr_can_vector(p->c->value, -1);
}

static struct held hold_root(void *user, const struct expr *load)
{
	const struct printing *p = user;
	if (p->c->wide && load->of == p->c->b->of)
		return (struct held){ .text = p->accumulator, .vector = false, .changes = true };
	if (load->of == p->c->root && p->c->result != p->c->root)
		return (struct held){ .text = is_scalar(p) && load->type == DTYPE_I32
			        ? arena_printf(p->arena, "((int)%s)", p->accumulator)
			        : p->accumulator,
			.vector = true,
			.changes = true };
	return (struct held){ 0 };
}

struct printer contraction_printer(struct printing *p, const char *left)
{
	return (struct printer){ .arena = p->arena,
		.target = p->emit->target,
		.lane = p->c->column,
		.left = left,
		.names = p->names,
		.buffer = buffer_name,
		.held = hold_root,
		.user = p };
}

/* The terms at the start of a k block, or of the first one. */
static void at_k_block(const struct printing *p, bool first, const struct index **with)
{
	const struct contraction *c = p->c;
	memset(with, 0, MAX_VARS * sizeof *with);
	for (int t = 0; t < c->terms; t++)
		with[c->column + 1 + t] = t == 0 && c->k_block && !first ? index_var(p->arena, K_BLOCK_VAR, INT32_MAX)
		                                                         : index_constant(p->arena, 0);
}

static const char *base_of_a(struct printing *p, bool first)
{
	const struct index *zero[MAX_VARS];
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	at_k_block(p, first, zero);
	return printer_address(&printer, p->c->a->of, index_substitute(p->arena, p->c->a_at, zero));
}

/* Indices shifted to row r and vector v of a tile. */
static void shift(const struct printing *p, const struct index *row, const struct index *vec, const struct index **with)
{
	const struct contraction *c = p->c;
	memset(with, 0, MAX_VARS * sizeof *with);
	if (contraction_row(c) >= 0 && !c->warps) /* in a block each row has indices of its own */
		with[contraction_row(c)] = index_add(p->arena, index_var(p->arena, contraction_row(c), INT32_MAX), row);
	with[c->column] = index_add(p->arena, index_var(p->arena, c->column, INT32_MAX),
	        index_scale(p->arena, vec, p->emit->target->lanes));
}

static const char *left_of(struct printing *p, const struct tile *tile, int64_t v)
{
	return tile->left && v == tile->vecs - 1 ? arena_printf(p->arena, "%d", tile->left) : NULL;
}

/* Floats from row to row of what is transposed. */
static int64_t transposed_width(const struct printing *p) { return p->c->tile_vecs * p->emit->target->lanes; }

static const char *transposed_at(
        const struct printing *p, struct printer *printer, const struct index *row, const struct index *vec)
{
	const struct index *at = index_add(p->arena, index_scale(p->arena, row, transposed_width(p)),
	        index_scale(p->arena, vec, p->emit->target->lanes));
	return arena_printf(p->arena, "transposed_store + %s", printer_index(printer, at));
}

/* {lets, store}: the element (row, vec) of a tile, whose sum stands in `accumulator`. */
static struct value result_of(
        struct printing *p, const struct index *row, const struct index *vec, const char *left, const char *accumulator)
{
	const struct contraction *c = p->c;
	const struct index *with[MAX_VARS];
	struct printer printer = contraction_printer(p, left);
	struct value result = value_dict(p->arena);
	const char *value = accumulator;
	shift(p, row, vec, with);
	if (c->value) {
		const struct expr *moved = expr_substitute(p->arena, c->value, with);
		p->accumulator = accumulator;
		printer.lane = is_scalar(p) ? -1 : printer.lane;
		printer_share(&printer, &moved, 1);
		value = printer_value(&printer, moved);
	}
	if (c->pool.by_panel) /* scratch begins with the panel's own first column */
		with[c->column] = index_scale(p->arena, vec, p->emit->target->lanes);
	const struct index *at = index_substitute(p->arena, c->out_at, with);
	int64_t step = c->pool.by_panel ? 1 : index_factor(at, c->column);
	if (is_scalar(p)) {
		value_dict_set(result, "lets", emit_lets(p->arena, &printer));
		value_dict_set(result, "store",
		        value_printf(p->arena, "%s = %s", printer_element(&printer, c->result, at), value));
		return result;
	}
	const char *to = printer_address(&printer, c->result, at);
	if (c->transposed_store) {
		to = transposed_at(p, &printer, row, vec);
		step = 1;
	}
	value_dict_set(result, "lets", emit_lets(p->arena, &printer));
	value_dict_set(result, "store", value_string(emit_vec_store(p->arena, c->result->type, to, step, value, left)));
	return result;
}

static struct value call_start(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	const struct index *with[MAX_VARS];
	int64_t r = call_int(call, 0, 0), v = call_int(call, 1, 0);
	if (!p->c->start)
		return value_printf(p->arena, "%s_set(%s)", p->c->product->vec, p->c->product->zero);
	struct printer printer = contraction_printer(p, left_of(p, user->tile, v));
	shift(p, index_constant(p->arena, r), index_constant(p->arena, v), with);
	return value_string(printer_value(&printer, expr_substitute(p->arena, p->c->start, with)));
}

static struct value call_result(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	int64_t r = call_int(call, 0, 0), v = call_int(call, 1, 0);
	return result_of(p, index_constant(p->arena, r), index_constant(p->arena, v), left_of(p, user->tile, v),
	        arena_printf(p->arena, "s%d_%d", (int)r, (int)v));
}

/* Addresses that the epilogue of row r will load: fetched while the sums are made; where latency is hidden, other
 * groups run meanwhile. */
struct touching {
	struct printing *p;
	struct printer *printer;
	struct value list;
	const struct index **with;
};
static void touch_load(void *user, const struct expr *load)
{
	struct touching *t = user;
	const struct contraction *c = t->p->c;
	if (load->of == c->root || load->of->source == SOURCE_CONSTANT || load->type != DTYPE_F32)
		return;
	const struct index *at =
	        index_substitute(t->p->arena, schedule_address(t->p->arena, load->of, load->at), t->with);
	if (index_factor(at, c->column) == 1)
		value_list_add(t->list, value_string(printer_address(t->printer, load->of, at)));
}
static struct value call_touch(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	const struct index *with[MAX_VARS];
	struct printer printer = contraction_printer(p, NULL);
	struct touching touching = { p, &printer, value_list(p->arena), with };
	for (int64_t v = 0; v < user->tile->vecs && p->c->value && p->c->terms && p->emit->target->lanes >= 8
	        && !p->emit->target->hides_latency;
	        v++) {
		shift(p, index_constant(p->arena, call_int(call, 0, 0)), index_constant(p->arena, v), with);
		expr_loads(p->c->value, touch_load, &touching);
	}
	return touching.list;
}

static struct value call_heavy(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	bool tail = call_int(call, 0, 0) != 0;
	int lanes = p->emit->target->lanes, width = user->tile->vecs * lanes;
	const struct index *row = index_var(p->arena, SPARE_ROW, INT32_MAX),
	                   *vec = index_var(p->arena, SPARE_VEC, INT32_MAX);
	struct printer printer = contraction_printer(p, NULL);
	const char *at = printer_index(
	        &printer, index_add(p->arena, index_scale(p->arena, row, width), index_scale(p->arena, vec, lanes)));
	return result_of(p, row, vec, tail ? left_of(p, user->tile, user->tile->vecs - 1) : NULL,
	        arena_printf(p->arena, "%s_load(sums + %s)", p->c->product->vec, at));
}

/* The innermost term is `u` steps on in an unrolled loop. */
static const char *step_name(struct printing *p, int term, int64_t u)
{
	const char *name = p->names[p->c->column + 1 + term];
	return u && term == p->c->terms - 1 ? arena_printf(p->arena, "(%s + %" PRId64 ")", name, u) : name;
}

/* a at row r of the tile: the terms, by their names or the strides that were passed. */
static struct value call_a(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	const struct contraction *c = p->c;
	int64_t r = call_int(call, 0, 0), u = call_int(call, 1, 0), constant = 0;
	if (c->warps)
		return value_printf(p->arena, "a[k + %" PRId64 "]", r * block_a_step(c) + u);
	struct text text;
	text_init(&text, p->emit->build);
	if (p->row_stride.name && r)
		text_printf(&text, "%s%" PRId64 " * %s", text.count ? " + " : "", r, p->row_stride.name);
	else
		constant = r * p->row_stride.direct;
	for (int t = 0; t < c->terms; t++) {
		const struct stride *s = &p->term_stride[t];
		const char *name = step_name(p, t, u);
		if (s->name)
			text_printf(&text, "%s%s * %s", text.count ? " + " : "", s->name, name);
		else if (s->direct == 1)
			text_printf(&text, "%s%s", text.count ? " + " : "", name);
		else if (s->direct)
			text_printf(&text, "%s%" PRId64 " * %s", text.count ? " + " : "", s->direct, name);
	}
	if (constant || !text.count)
		text_printf(&text, "%s%" PRId64, text.count ? " + " : "", constant);
	struct value value = value_printf(p->arena, "%sa[%s]", c->root->type == DTYPE_F32 ? "" : "(uint32_t)", text.at);
	text_release(&text);
	return value;
}

static struct value call_b(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	const struct contraction *c = p->c;
	int64_t v = call_int(call, 0, 0), u = call_int(call, 1, 0), lanes = p->emit->target->lanes,
	        at = (u * user->tile->vecs + v) * lanes;
	if (c->interleaved)
		return value_printf(p->arena, "w[%d * LANE + %d * k + %" PRId64 "]", c->tile_vecs, block_b_step(p),
		        u * block_b_step(p) + v);
	if (c->warps)
		return value_printf(p->arena, "vec_load(w + %d * k + %" PRId64 ")", block_b_step(p),
		        u * block_b_step(p) + v * lanes);
	if (c->wide) { /* scalar code alone */
		struct printer printer = contraction_printer(p, NULL);
		const struct index *with[MAX_VARS];
		printer.lane = -1;
		shift(p, index_constant(p->arena, 0), index_constant(p->arena, v), with);
		p->accumulator = arena_printf(p->arena, "w[%" PRId64 "]", at);
		return value_string(printer_value(&printer, expr_substitute(p->arena, c->wide, with)));
	}
	if (c->b_mode != B_DIRECT)
		return at ? value_printf(p->arena, "%s_load(w + %" PRId64 ")", c->product->vec, at)
		          : value_printf(p->arena, "%s_load(w)", c->product->vec);
	struct text text;
	text_init(&text, p->emit->build);
	text_adds(&text, "w");
	int64_t step = index_factor(c->b_at, c->column);
	if (v)
		text_printf(&text, " + %" PRId64, v * lanes * step);
	for (int t = 0; t < c->terms; t++)
		text_printf(&text, " + %" PRId64 " * %s", index_factor(c->b_at, c->column + 1 + t), step_name(p, t, u));
	const char *left = left_of(p, user->tile, v);
	const char *by = step == 1 ? "load" : "gather",
	           *apart = step == 1 ? "" : arena_printf(p->arena, ", %" PRId64, step);
	struct value value = left ? value_printf(p->arena, "%s_%s_n(%s%s, %s, %s)", c->product->vec, by, text.at, apart,
	                             left, c->product->zero)
	                          : value_printf(p->arena, "%s_%s(%s%s)", c->product->vec, by, text.at, apart);
	text_release(&text);
	return value;
}

/* Where the sums (row, vec) of a tile wait between k blocks: where the result will be. */
static struct value call_waiting(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	const struct index *with[MAX_VARS];
	int64_t r = call_int(call, 0, 0), v = call_int(call, 1, 0);
	const char *left = left_of(p, user->tile, v);
	struct printer printer = contraction_printer(p, left);
	struct value waiting = value_dict(p->arena);
	shift(p, index_constant(p->arena, r), index_constant(p->arena, v), with);
	const char *at = p->c->transposed_store
	        ? transposed_at(p, &printer, index_constant(p->arena, r), index_constant(p->arena, v))
	        : printer_address(&printer, p->c->result, index_substitute(p->arena, p->c->out_at, with));
	const struct product *product = p->c->product;
	value_dict_set(waiting, "load",
	        left ? value_printf(p->arena, "%s_load_n(%s, %s, %s)", product->vec, at, left, product->zero)
	             : value_printf(p->arena, "%s_load(%s)", product->vec, at));
	value_dict_set(waiting, "store",
	        value_string(emit_vec_store(
	                p->arena, product->sum, at, 1, arena_printf(p->arena, "s%d_%d", (int)r, (int)v), left)));
	return waiting;
}

/* ---- what a tile is given ---- */
struct needs {
	struct printing *p;
	bool param[64], var[MAX_VARS];
};
static void need_index(struct needs *n, const struct index *at)
{
	for (int v = 0; v <= n->p->c->column; v++)
		n->var[v] |= index_uses(at, v);
}
static void need_load(void *user, const struct expr *load)
{
	struct needs *n = user;
	if (load->of == n->p->c->root || (n->p->c->wide && load->of == n->p->c->b->of))
		return;
	for (size_t i = 0; i < n->p->kernel->params.count; i++)
		if (n->p->kernel->params.at[i].of == load->of)
			n->param[i] = true;
	need_index(n, schedule_address(n->p->arena, load->of, load->at));
}
/* Of a condition or a number: the values in it are loads, too. */
static void need_values(struct needs *n, const struct index *at)
{
	need_index(n, at);
	expr_loads(expr_index(n->p->arena, at), need_load, n);
}

/* The root's own value needs no index: it stands in a register. */
static enum visit need_expr(void *user, const struct expr *expr)
{
	struct needs *n = user;
	if (expr->kind == EXPR_LOAD && expr->of != n->p->c->root)
		expr_loads(expr, need_load, n);
	for (int i = 0; expr->kind != EXPR_LOAD && i < expr_index_count(expr); i++)
		need_values(n, expr_index_at(expr, i));
	return VISIT_PARTS;
}

/* The first row of a block, of all rows around counted through. */
static const char *transposed_row(const struct printing *p, const char *block)
{
	const struct contraction *c = p->c;
	int64_t rows = c->extents[contraction_row(c)], each = rows / c->row_blocks;
	if (rows % c->row_blocks == 0)
		return each == 1 ? block : arena_printf(p->arena, "%" PRId64 " * %s", each, block);
	return arena_printf(p->arena,
	        "(%" PRId64 " * (%s / %" PRId64 ") + %" PRId64 " * (%s %% %" PRId64 ") / %" PRId64 ")", rows, block,
	        c->row_blocks, rows, block, c->row_blocks, c->row_blocks);
}

/* C's type of what is packed. */
static const char *element_of_b(const struct contraction *c)
{
	return c->wide ? dtypes[c->b->of->type].c : c->product->element;
}

static void tile_arguments(struct printing *p, const char **params, const char **arguments)
{
	const struct contraction *c = p->c;
	struct needs n = { .p = p };
	struct text a, b;
	text_init(&a, p->emit->build);
	text_init(&b, p->emit->build);
	expr_visit(c->start, need_expr, &n);
	expr_visit(c->value, need_expr, &n);
	expr_visit(c->wide, need_expr, &n);
	if (!c->transposed_store)
		need_index(&n, c->out_at);
	const char *element = c->product->element;
	text_printf(&a, "const %s *restrict a, const %s *restrict w", element, element_of_b(c));
	if (c->next_lines)
		text_printf(&a, ", const %s *next", element);
	text_printf(&b, "a, w%s", c->next_lines ? ", next" : "");
	if (p->row_stride.name) {
		text_printf(&a, ", long %s", p->row_stride.name);
		text_printf(&b, ", %s", p->row_stride.name);
	}
	for (int t = 0; t < c->terms; t++)
		if (p->term_stride[t].name) {
			text_printf(&a, ", long %s", p->term_stride[t].name);
			text_printf(&b, ", %s", p->term_stride[t].name);
		}
	for (size_t i = 0; i < p->kernel->params.count; i++) {
		const struct param *param = &p->kernel->params.at[i];
		if (!n.param[i] && !param->written)
			continue;
		if (c->pool.d && param->written) {
			text_adds(&a, ", float *restrict y");
			text_adds(&b, ", pooled");
			continue;
		}
		if (c->transposed_store && param->written) {
			text_adds(&a, ", float *restrict transposed_store");
			text_printf(&b, ", transposed_store + %" PRId64 " * (%s - begin)", transposed_width(p),
			        transposed_row(p, "block"));
			continue;
		}
		text_printf(&a, ", %s%s *restrict %s", param->written ? "" : "const ", dtypes[param->of->type].c,
		        param->name);
		text_printf(&b, ", %s", param->name);
	}
	if (c->pool.d) {
		text_printf(&a, ", long %s", p->names[POOL_VAR]);
		text_printf(&b, ", %s", p->names[POOL_VAR]);
	}
	for (int v = 0; v <= c->column; v++)
		if (n.var[v]) {
			text_printf(&a, ", long %s", p->names[v]);
			text_printf(&b, ", %s", p->names[v]);
		}
	if (c->k_block) {
		text_printf(&a, ", long %s", p->names[K_BLOCK_VAR]);
		text_printf(&b, ", %s", p->names[K_BLOCK_VAR]);
	}
	if (c->terms && p->ends[c->column + 1]) {
		text_printf(&a, ", long %s", p->ends[c->column + 1]);
		text_printf(&b, ", %s", p->ends[c->column + 1]);
	}
	*params = arena_copy(p->arena, a.at, a.count);
	*arguments = arena_copy(p->arena, b.at, b.count);
	text_release(&a);
	text_release(&b);
}

/* Of a tile in a block, which stages for itself: all that the kernel has, its batch, the block's first row and panel,
 * and the shared memory. */
static void block_arguments(struct printing *p, const char **params, const char **arguments)
{
	struct text a, b;
	text_init(&a, p->emit->build);
	text_init(&b, p->emit->build);
	for (size_t i = 0; i < p->kernel->params.count; i++) {
		const struct param *param = &p->kernel->params.at[i];
		text_printf(&a, "%s%s *restrict %s, ", param->written ? "" : "const ", dtypes[param->of->type].c,
		        param->name);
		text_printf(&b, "%s, ", param->name);
	}
	for (int v = 0; v < p->c->batches; v++) {
		text_printf(&a, "long %s, ", p->names[v]);
		text_printf(&b, "%s, ", p->names[v]);
	}
	text_printf(&a, "long m0, long %s, long vecs, float *shared", p->names[p->c->column]);
	text_printf(&b, "m0, %s, vecs, shared", p->names[p->c->column]);
	*params = arena_copy(p->arena, a.at, a.count);
	*arguments = arena_copy(p->arena, b.at, b.count);
	text_release(&a);
	text_release(&b);
}

/* The terms of a tile in a block: chunks, and those of one. */
static struct value block_terms(struct printing *p, int64_t terms)
{
	struct value list = value_list(p->arena), chunk = value_dict(p->arena), k = value_dict(p->arena);
	value_dict_set(chunk, "name", value_string("chunk"));
	value_dict_set(chunk, "extent", value_int((terms + p->c->depth - 1) / p->c->depth));
	value_dict_set(k, "name", value_string("k"));
	value_dict_set(k, "extent", value_int(p->c->depth));
	value_list_add(list, chunk);
	value_list_add(list, k);
	return list;
}

struct value contraction_extents(struct printing *p, int first, int count)
{
	struct value list = value_list(p->arena);
	for (int v = first; v < first + count; v++) {
		struct value axis = value_dict(p->arena);
		value_dict_set(axis, "name", value_string(p->names[v]));
		value_dict_set(axis, "bound", value_int(p->c->extents[v]));
		value_dict_set(axis, "extent",
		        p->ends[v] ? value_string(p->ends[v])
		                   : value_int(v == p->c->column + 1 && p->c->terms ? contraction_extent(p->c, 0)
		                                                                    : p->c->extents[v]));
		value_list_add(list, axis);
	}
	return list;
}

/* ---- padding: the part of a that a tile reads, copied with its zeros ---- */
static void plan_packed_a(struct printing *p)
{
	const struct contraction *c = p->c;
	int row = contraction_row(c);
	p->row_stride.direct = row >= 0 ? index_factor(c->a_at, row) : 0;
	for (int t = 0; t < c->terms; t++)
		p->term_stride[t].direct = index_factor(c->a_at, c->column + 1 + t);
	p->packed = c->pad_count > 0 || c->copied;
	if (!p->packed)
		return;
	/* strides inside the tile: the direct ones where packed a and the tensor agree, else parameters */
	stage_padded(c, c->tile_rows, &p->packed_a);
	p->row_stride.packed = p->packed_a.of_row;
	p->row_stride.direct = c->copied ? p->packed_a.of_row : p->row_stride.direct;
	p->row_stride.name = p->packed_a.of_row != p->row_stride.direct ? "a_row" : NULL;
	for (int t = 0; t < c->terms; t++) {
		struct stride *s = &p->term_stride[t];
		s->packed = p->packed_a.of_term[t];
		s->direct = c->copied ? s->packed : s->direct;
		s->name = s->packed != s->direct ? arena_printf(p->arena, "a_%s", p->names[c->column + 1 + t]) : NULL;
	}
}

/* {base, from, to}: at a tile's first row and terms, of a k block where that is packed by itself. */
static struct value pad_value(struct printing *p, const struct range *pad)
{
	const struct index *zero[MAX_VARS];
	struct printer printer = contraction_printer(p, NULL);
	struct value value = value_dict(p->arena);
	printer.lane = -1;
	at_k_block(p, packs_group_of_a(p->c), zero);
	value_dict_set(value, "base", value_string(printer_index(&printer, index_substitute(p->arena, pad->at, zero))));
	value_dict_set(value, "from", value_int(pad->from));
	value_dict_set(value, "to", value_int(pad->to));
	return value;
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
		struct value stride = value_dict(arena);
		if (!s->name)
			continue;
		value_dict_set(stride, "name", value_string(s->name));
		value_dict_set(stride, "direct", value_int(s->direct));
		value_dict_set(stride, "packed", value_int(s->packed));
		value_list_add(strides, stride);
	}
	/* The innermost dim is copied as one run; where it has a pad, the part of it that is there, between zeros. */
	const struct stage_dim *last = stage->dims ? &stage->dim[stage->dims - 1] : NULL;
	bool run = last && !last->pad;
	for (int i = 0; i < stage->dims - run; i++) {
		const struct stage_dim *d = &stage->dim[i];
		struct value dim = value_dict(arena);
		value_dict_set(dim, "name", value_printf(arena, "p%d", i));
		value_dict_set(dim, "extent", value_int(d->extent));
		value_dict_set(dim, "stride", value_int(d->stride));
		value_dict_set(dim, "factor", value_int(d->factor));
		value_dict_set(dim, "pad", d->pad ? pad_value(p, d->pad) : value_none());
		value_list_add(dims, dim);
	}
	for (int i = 0; i < c->pad_count; i++) {
		const struct range *range = &c->arranged_pads[i];
		struct value pad = pad_value(p, range);
		int64_t reach = 0;
		bool along = false;
		for (int t = 0; t < c->terms; t++)
			reach += index_factor(range->at, c->column + 1 + t) * (packed_a_extent(c, t) - 1);
		for (int k = 0; k < stage->dims; k++)
			along |= stage->dim[k].pad == range;
		value_dict_set(pad, "row",
		        value_int(contraction_row(c) >= 0 ? index_factor(range->at, contraction_row(c)) : 0));
		value_dict_set(pad, "reach", value_int(reach));
		value_list_add(pads, pad);
		if (!along)
			value_list_add(others, pad);
	}
	int lanes = p->emit->target->lanes;
	bool wide = lanes > 1 && !p->emit->target->lanes_are_threads && last
	        && (run ? last->stride == 1 : last->pad && last->factor == 1 && last->stride == 1);
	value_dict_set(packed_a, "wide", value_bool(wide));
	int64_t floats = stage->floats + (wide ? lanes - 1 : 0);
	floats = packs_group_of_a(c) ? (floats + lanes - 1) / lanes * lanes : floats;
	value_dict_set(packed_a, "floats", value_int(floats));
	value_dict_set(packed_a, "blocks", value_int(packs_group_of_a(c) ? c->packed_a_blocks : 1));
	value_dict_set(packed_a, "always", value_bool(c->copied));
	value_dict_set(packed_a, "base", value_string(base_of_a(p, packs_group_of_a(c))));
	value_dict_set(packed_a, "of_k_block",
	        value_string(packs_group_of_a(c) && c->k_block ? arena_printf(
	                             arena, " + %" PRId64 " * %s", p->term_stride[0].packed, p->names[K_BLOCK_VAR])
	                                                       : ""));
	value_dict_set(packed_a, "place", value_printf(arena, " + %" PRId64 " * (block - first)", floats));
	value_dict_set(packed_a, "strides", strides);
	value_dict_set(packed_a, "dims", dims);
	value_dict_set(packed_a, "pads", pads);
	value_dict_set(packed_a, "others", others);
	value_dict_set(packed_a, "span", value_bool(last && last->pad && last->factor == 1));
	value_dict_set(packed_a, "run", value_int(run ? last->extent : 1));
	value_dict_set(packed_a, "step", value_int(run ? last->stride : 1));
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
	for (int v = 0; v < MAX_VARS; v++)
		names[v] = "0";
	for (int v = 0; v < d->rank; v++) {
		int root = c->pool.of[v], var = -1;
		at[v] = index_var(p->arena, v, d->extents[v]);
		if (root == c->pool.row || root == c->pool.across)
			names[v] = root == c->pool.row ? "q" : across;
		else if (root >= 0 && index_is_var(c->of_root[root], &var)) {
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
	struct value pool = value_dict(p->arena), parts = value_list(p->arena), taps = value_list(p->arena);
	int64_t columns = c->extents[c->column], lanes = p->emit->target->lanes, whole = columns / lanes * lanes;
	for (int64_t t = 0; t < c->pool.size[0] * c->pool.size[1]; t++)
		value_list_add(taps, value_int(t));
	for (int tail = 0; tail < 2; tail++) {
		struct pool_part *user = arena_new(p->arena, struct pool_part);
		struct value part = value_dict(p->arena);
		*user = (struct pool_part){ p, tail ? columns - whole : 0 };
		if (tail ? columns == whole : !whole)
			continue;
		value_dict_set(part, "columns",
		        !c->pool.by_panel             ? value_int(tail ? columns : whole)
		                : columns % c->panels ? value_string("vecs")
		                                      : value_int(c->tile_vecs));
		value_dict_set(part, "first", value_int(tail ? whole : 0));
		value_dict_set(part, "load", value_function(p->arena, "load", "tap", call_pool_load, user));
		value_dict_set(part, "store", value_function(p->arena, "store", "value", call_pool_store, user));
		value_list_add(parts, part);
	}
	value_dict_set(pool, "floats", value_int(p->pooled.floats));
	value_dict_set(pool, "by_panel", value_bool(c->pool.by_panel));
	value_dict_set(pool, "lane", value_string(c->pool.by_panel ? "e" : "c"));
	value_dict_set(pool, "size", value_int(c->pool.size[0]));
	value_dict_set(pool, "stride", value_int(c->pool.stride[0]));
	value_dict_set(pool, "across", value_int(c->pool.d->extents[c->pool.d->rank - 1]));
	value_dict_set(pool, "row", value_string(p->names[c->batches + c->rows - 2]));
	value_dict_set(pool, "scratch_row", value_string(p->names[POOL_VAR]));
	value_dict_set(pool, "out_row", value_string("q"));
	value_dict_set(pool, "out_column", value_string("l"));
	value_dict_set(pool, "taps", taps);
	value_dict_set(pool, "parts", parts);
	return pool;
}

/* A group's part of a panel, transposed where rows lie side by side in the result. */
static struct value transposed_store_value(struct printing *p)
{
	const struct contraction *c = p->c;
	if (!c->transposed_store)
		return value_none();
	struct value transposed_store = value_dict(p->arena);
	const struct index *with[MAX_VARS] = { 0 };
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	for (int v = c->batches; v < c->column; v++)
		with[v] = index_constant(p->arena, 0);
	const char *to = printer_address(&printer, c->result, index_substitute(p->arena, c->out_at, with));
	int64_t rows = c->span / c->row_blocks * c->extents[contraction_row(c)];
	if (c->around && c->around != rows)
		to = arena_printf(p->arena, "%s + %" PRId64 " * (first / %" PRId64 ")", to, c->around - rows, c->span);
	value_dict_set(transposed_store, "floats", value_int(c->transposed_store * transposed_width(p)));
	value_dict_set(transposed_store, "width", value_int(transposed_width(p)));
	value_dict_set(transposed_store, "span", value_int(c->around ? c->span : 0));
	value_dict_set(transposed_store, "first", value_string(transposed_row(p, "first")));
	value_dict_set(transposed_store, "last", value_string(transposed_row(p, "last")));
	value_dict_set(transposed_store, "row", value_string(transposed_row(p, "block")));
	value_dict_set(transposed_store, "columns", value_int(c->extents[c->column]));
	value_dict_set(transposed_store, "apart", value_int(index_factor(c->out_at, c->column)));
	value_dict_set(transposed_store, "to", value_string(to));
	return transposed_store;
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
		const char *count = emit_count(p->emit, p->kernel, c->counts[v], c->extents[v] / c->each[v]);
		p->ends[v] = arena_printf(p->arena, "%s_end", p->names[v]);
		if (v > c->column)
			count = arena_printf(
			        p->arena, "((%s) + %d) / %d * %d", count, BLOCK_UNROLL, BLOCK_UNROLL, BLOCK_UNROLL);
		else if (c->each[v] != 1)
			count = arena_printf(p->arena, "%" PRId64 " * (%s)", c->each[v], count);
		if (!any) {
			any = true;
			ends = value_dict(p->arena);
			value_dict_set(ends, "lets", lets = value_list(p->arena));
		}
		value_dict_set(let, "name",
		        value_string(v > c->column ? arena_printf(p->arena, "%s_most", p->names[v]) : p->ends[v]));
		value_dict_set(let, "value", value_string(count));
		value_list_add(lets, let);
		if (v > c->column) {
			let = value_dict(p->arena);
			value_dict_set(let, "name", value_string(p->ends[v]));
			value_dict_set(let, "value",
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

static void list_tiles(struct printing *p, int64_t rows, int64_t vecs)
{
	const struct contraction *c = p->c;
	int lanes = p->emit->target->lanes, left = (int)(c->extents[c->column] % lanes), heights[2], widths[2],
	    height_count = 0, width_count = 0;
	heights[height_count++] = c->warps ? c->tile_rows : (int)((rows + c->row_blocks - 1) / c->row_blocks);
	if (rows % c->row_blocks && !c->warps)
		heights[height_count++] = (int)(rows / c->row_blocks);
	widths[width_count++] = (int)((vecs + c->panels - 1) / c->panels);
	if (vecs % c->panels)
		widths[width_count++] = (int)(vecs / c->panels);
	int last_width = (int)(vecs - vecs * (c->panels - 1) / c->panels);
	p->tiles = arena_new_array(p->arena, struct tile, 6);
	for (int h = 0; h < height_count; h++) {
		if (left) /* the last panel: part of its last vector is not there */
			p->tiles[p->tile_count++] = (struct tile){ heights[h], last_width, left, true, NULL };
		for (int w = 0; w < width_count; w++)
			if (!(left && c->panels == 1))
				p->tiles[p->tile_count++] = (struct tile){ heights[h], widths[w], 0, false, NULL };
	}
	for (int i = 0; i < p->tile_count; i++)
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
	n.vecs = (c->extents[c->column] + n.lanes - 1) / n.lanes;
	for (int t = 0; t < c->terms; t++)
		n.terms *= c->extents[c->column + 1 + t];
	n.heavy = c->value && expr_cost(c->value) > HEAVY;
	return n;
}

static void name_variables(struct printing *p)
{
	const struct contraction *c = p->c;
	for (int v = 0; v < MAX_VARS; v++)
		p->names[v] = v == c->column ? "c"
		        : v < c->batches     ? arena_printf(p->arena, "n%d", v)
		        : v < c->column      ? arena_printf(p->arena, "i%d", v - c->batches)
		                             : arena_printf(p->arena, "k%d", v - c->column - 1);
	p->names[SPARE_ROW] = "r";
	p->names[SPARE_VEC] = "v";
	p->names[POOL_VAR] = "z";
	p->names[K_BLOCK_VAR] = "k_block";
}

static struct value tile_value(struct printing *p, struct tile *of, const struct counting *n, const char *params)
{
	const struct contraction *c = p->c;
	struct arena *arena = p->arena;
	struct value tile = value_dict(arena);
	int unroll = c->warps ? BLOCK_UNROLL : contraction_steps(c, p->emit->target, of->rows);
	struct tile_user *user = arena_new(arena, struct tile_user);
	*user = (struct tile_user){ arena_new(arena, struct printing), of };
	*user->p = *p;
	value_dict_set(tile, "name", value_string(of->name));
	value_dict_set(tile, "params", value_string(params));
	value_dict_set(tile, "rows", value_int(of->rows));
	value_dict_set(tile, "vecs", value_int(of->vecs));
	value_dict_set(tile, "whole", value_int(of->vecs - (of->left != 0)));
	value_dict_set(tile, "heavy", value_bool(n->heavy));
	value_dict_set(
	        tile, "terms", c->warps ? block_terms(p, n->terms) : contraction_extents(p, c->column + 1, c->terms));
	value_dict_set(tile, "step", value_int(c->b_mode == B_DIRECT || c->warps ? 0 : unroll * of->vecs * n->lanes));
	value_dict_set(tile, "unroll", value_int(unroll));
	value_dict_set(tile, "next_lines", value_int(c->next_lines));
	value_dict_set(tile, "touch", value_function(arena, "touch", "r", call_touch, user));
	value_dict_set(tile, "waiting", value_function(arena, "waiting", "r v", call_waiting, user));
	value_dict_set(tile, "start", value_function(arena, "start", "r v", call_start, user));
	value_dict_set(tile, "a", value_function(arena, "a", "r u", call_a, user));
	value_dict_set(tile, "b", value_function(arena, "b", "v u", call_b, user));
	value_dict_set(tile, "result", value_function(arena, "result", "r v", call_result, user));
	value_dict_set(tile, "heavy_result", value_function(arena, "heavy_result", "tail", call_heavy, user));
	return tile;
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
		if (n->row >= 0 && n->rows % c->row_blocks && !c->warps)
			text_printf(&when, "rows == %d", of->rows);
		if (of->last && c->panels > 1)
			text_printf(&when, "%spanel == %" PRId64, when.count ? " && " : "", c->panels - 1);
		else if (n->vecs % c->panels)
			text_printf(&when, "%svecs == %d", when.count ? " && " : "", of->vecs);
	}
	value_dict_set(choice, "when", value_copy(p->arena, when.count ? when.at : "", when.count));
	value_dict_set(choice, "tile", value_string(of->name));
	value_dict_set(choice, "arguments", value_string(arguments));
	text_release(&when);
	return choice;
}

static const char *base_of_b(struct printing *p, struct printer *printer, const struct counting *n)
{
	const struct contraction *c = p->c;
	struct arena *arena = p->arena;
	const struct index *zero[MAX_VARS];
	const char *base = "gathered";
	at_k_block(p, false, zero);
	if (c->b_mode == B_PACKED) {
		const struct index *at = index_scale(arena, index_var(arena, c->column, INT32_MAX), n->terms);
		int64_t packed = n->terms * n->vecs * n->lanes;
		for (int b = c->batches - 1; b >= 0; packed *= c->extents[b--])
			at = index_add(arena, at, index_scale(arena, index_var(arena, b, c->extents[b]), packed));
		base = printer_address(printer, c->packed, at);
	} else if (c->b_mode != B_GATHERED)
		base = printer_address(printer, c->b->of, index_substitute(arena, c->b_at, zero));
	if (!c->k_block || c->b_mode == B_DIRECT)
		return base;
	bool uneven = n->vecs % c->panels; /* a panel has its k blocks one behind the other */
	return arena_printf(arena, "%s + %" PRId64 " * %s%s", base,
	        n->terms / c->extents[c->column + 1] * n->lanes * (uneven ? 1 : c->tile_vecs), uneven ? "vecs * " : "",
	        p->names[K_BLOCK_VAR]);
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
		value_dict_set(axis, "name", value_string(maxima ? "q" : p->names[c->batches + r]));
		const char *end = p->ends[c->batches + r],
		           *by = blocks->there ? arena_printf(arena, " / (%s)", blocks->there)
		        : blocks->step == 1    ? ""
		                               : arena_printf(arena, " / %" PRId64, blocks->step);
		value_dict_set(axis, "value",
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
	value_dict_set(value, "name", value_string(p->names[n->row]));
	value_dict_set(value, "extent", value_int(n->rows));
	value_dict_set(value, "blocks", value_int(blocks));
	value_dict_set(value, "there", blocks_there ? value_printf(p->arena, "(%s)", blocks_there) : value_int(blocks));
	value_dict_set(value, "uneven", value_bool(n->rows % blocks != 0));
	return value;
}

static void check_scratch(const struct printing *p, const struct counting *n)
{
	const struct contraction *c = p->c;
	const struct target *target = p->emit->target;
	int64_t scratch = (p->packed ? p->packed_a.floats : 0)
	        + (c->b_mode == B_GATHERED ? n->terms * c->tile_vecs * n->lanes : 0);
	for (int i = 0; n->heavy && !c->warps && i < p->tile_count; i++)
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
		value_dict_set(k_block, "name", value_string(p->names[K_BLOCK_VAR]));
		value_dict_set(k_block, "extent", value_int(c->extents[c->column + 1]));
		value_dict_set(k_block, "step", value_int(c->k_block));
	}
	return k_block;
}

static struct value product_value(struct arena *arena, const struct product *of)
{
	struct value product = value_dict(arena);
	value_dict_set(product, "element", value_string(of->element));
	value_dict_set(product, "vec", value_string(of->vec));
	value_dict_set(product, "step", value_string(of->step));
	value_dict_set(product, "zero", value_string(of->zero));
	return product;
}

/* The loops over blocks, rows and panels. */
static void add_loops(struct printing *p, const struct counting *n, struct value ends, struct value globals)
{
	const struct contraction *c = p->c;
	struct arena *arena = p->arena;
	struct blocks_of blocks = { value_list(arena), c->pool.d ? 1 : c->row_blocks,
		n->row >= 0 && p->ends[n->row] ? parts_before(p, p->ends[n->row], c->row_blocks, n->rows) : NULL };
	value_dict_set(globals, "row", row_value(p, n, blocks.there));
	add_axes(p, &blocks);
	const char *panels_there = p->ends[c->column]
	        ? parts_before(p, arena_printf(arena, "((%s + %d) / %d)", p->ends[c->column], n->lanes - 1, n->lanes),
	                c->panels, n->vecs)
	        : NULL;
	value_dict_set(globals, "panels_there", panels_there ? value_string(panels_there) : value_int(c->panels));
	const char *there = c->split_panels ? panels_there : blocks.there;
	if (there) {
		value_dict_set(ends, "there", value_string(there));
		value_dict_set(ends, "blocks", value_int(p->kernel->blocks));
	}
	value_dict_set(globals, "ends", ends);
	value_dict_set(globals, "outer", blocks.outer);
	value_dict_set(globals, "blocks", value_int(c->warps ? c->row_blocks : blocks.step));
	value_dict_set(globals, "panel_blocks", value_int(blocks.step));
	value_dict_set(globals, "group", value_int(c->group));
	value_dict_set(globals, "split_panels", value_bool(c->split_panels));
	value_dict_set(globals, "panels", value_int(c->panels));
	value_dict_set(globals, "panels_uneven", value_bool(n->vecs % c->panels != 0));
	value_dict_set(globals, "column", value_string(p->names[c->column]));
	value_dict_set(globals, "batches", contraction_extents(p, 0, c->batches));
}

struct value contraction_values(struct emit *emit, const struct kernel *kernel, struct printing *p)
{
	const struct contraction *c = kernel->detail;
	struct arena *arena = emit->arena;
	*p = (struct printing){ .emit = emit, .arena = arena, .kernel = kernel, .c = c };
	const struct counting n = count_of(p);
	name_variables(p);
	if (!c->warps)
		plan_packed_a(p);
	if (c->pool.d)
		stage_pooled(c, n.lanes, &p->pooled);
	list_tiles(p, n.rows, n.vecs);
	struct value ends = list_ends(p);

	const char *params, *arguments;
	(c->warps ? block_arguments : tile_arguments)(p, &params, &arguments);
	struct value globals = value_dict(arena), tiles = value_list(arena), choices = value_list(arena);
	for (int i = 0; i < p->tile_count; i++) {
		value_list_add(tiles, tile_value(p, &p->tiles[i], &n, params));
		value_list_add(choices, choice_value(p, i, &n, arguments));
	}
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	value_dict_set(globals, "a_base", value_string(base_of_a(p, false)));
	value_dict_set(globals, "w_base", value_string(base_of_b(p, &printer, &n)));
	value_dict_set(globals, "w_element", value_string(element_of_b(c)));
	add_loops(p, &n, ends, globals);
	check_scratch(p, &n);
	value_dict_set(globals, "product", product_value(arena, c->product));
	value_dict_set(globals, "k_block", k_block_value(p));
	value_dict_set(globals, "k_blocked", value_bool(contraction_k_blocked(c)));
	int64_t of_k_block = c->k_block ? n.terms / c->extents[c->column + 1] * c->k_block : n.terms;
	value_dict_set(globals, "terms", value_int(of_k_block));
	value_dict_set(globals, "next_floats",
	        value_int(16 * c->next_lines * of_k_block / contraction_steps(c, emit->target, c->tile_rows)));
	value_dict_set(globals, "kernel", emit_kernel_value(emit, kernel));
	value_dict_set(globals, "tiles", tiles);
	value_dict_set(globals, "choices", choices);
	value_dict_set(globals, "target", emit_target_value(emit));
	value_dict_set(globals, "lanes", value_int(n.lanes));
	value_dict_set(globals, "vectors", value_int(n.vecs));
	value_dict_set(globals, "pool", pool_value(p));
	value_dict_set(globals, "transposed_store", transposed_store_value(p));
	value_dict_set(globals, "packed_a", packed_a_value(p));
	value_dict_set(globals, "gathered", gathered_value(p, n.terms));
	value_dict_set(globals, "block", c->warps ? block_value(p, &printer) : value_none());
	return globals;
}

const char *contraction_buffer(void *user, const struct definition *of) { return buffer_name(user, of); }

void contraction_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	struct printing printing;
	template_render(emit->templates, kernel->template_name, contraction_values(emit, kernel, &printing), out);
}
