/* tile.c: a tile of a contraction: what it is given, and how each of its starts, steps and results is printed. */
#include "emit/contraction.h"
#include "emit/expression.h"
#include "ingot/template.h"
#include <inttypes.h>

struct tile_user {
	struct printing *p;
	struct tile *tile;
};

const char *contraction_buffer(void *user, const struct definition *of)
{
	const struct printing *p = user;
	return p->c->pool.d && of == p->c->result ? "y" : emit_buffer((void *)(uintptr_t)p->kernel, of);
}

/* The words of one lane, and of a thread's, are of floats: what else an epilogue has is C's own. */
static bool is_scalar(const struct printing *p)
{
	const struct target *target = p->emit->target;
	if (p->c->beside.d)
		return true;
	return p->c->arranged.value && (target->lanes == 1 || target->lanes_are_threads)
	        && !(expr_can_vector(p->c->arranged.value, -1)
	                && (target->lanes == 1 || expr_can_vector(p->c->arranged.value, p->c->column)));
}

/* Of a thread the column is its own; behind the last one it makes the first once more, and stores nothing. */
static const char *column_of_thread(const struct printing *p, const char *left)
{
	const char *column = p->names[p->c->column];
	return !p->emit->target->lanes_are_threads ? column
	        : left ? arena_printf(p->arena, "(%s + (LANE < %s ? LANE : 0))", column, left)
	               : arena_printf(p->arena, "(%s + LANE)", column);
}

static struct held hold_root(void *user, const struct expr *load)
{
	const struct printing *p = user;
	if (p->c->arranged.wide && load->of == p->c->b->of)
		return (struct held){ .text = p->accumulator, .vector = false, .changes = true };
	if (load->of == p->c->root)
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
		.buffer = contraction_buffer,
		.held = hold_root,
		.user = p };
}

/* The terms at the start of a k block, or of the first one, where a row of a is copied whole that row's. */
void contraction_at_k_block(const struct printing *p, bool first, const struct index **with)
{
	const struct contraction *c = p->c;
	memset(with, 0, MAX_VARS * sizeof *with);
	FOR (t, c->terms)
		with[c->column + 1 + t] = t == 0 && c->k_block && !first ? index_var(p->arena, K_BLOCK_VAR, INT32_MAX)
		                                                         : index_constant(p->arena, 0);
	if (first && packs_rows_of_a(c))
		with[contraction_row(c)] = index_constant(p->arena, 0);
}

const char *contraction_base_of_a(struct printing *p, bool first)
{
	const struct index *zero[MAX_VARS];
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	contraction_at_k_block(p, first, zero);
	const struct index *at = index_substitute(p->arena, p->c->a_at, zero);
	if (!p->kernel->line)
		return printer_address(&printer, p->c->a->of, at);
	return arena_printf(p->arena, "%s + (%s - %" PRId64 " * line)", printer.buffer(printer.user, p->c->a->of),
	        printer_index(&printer, at), p->kernel->line);
}

/* Indices shifted to row r and vector v of a tile. */
static void shift(const struct printing *p, const struct index *row, const struct index *vec, const struct index **with)
{
	const struct contraction *c = p->c;
	memset(with, 0, MAX_VARS * sizeof *with);
	if (contraction_row(c) >= 0 && !c->block.warps) /* in a block each row has indices of its own */
		with[contraction_row(c)] = index_add(p->arena, index_var(p->arena, contraction_row(c), INT32_MAX), row);
	with[c->column] = index_add(p->arena, index_var(p->arena, c->column, INT32_MAX),
	        index_scale(p->arena, vec, p->emit->target->lanes));
}

static const char *left_of(struct printing *p, const struct tile *tile, int64_t v)
{
	return tile->left && v == tile->vecs - 1 ? arena_printf(p->arena, "%d", tile->left) : NULL;
}

/* Floats from row to row of what is transposed. */
int64_t contraction_transposed_width(const struct printing *p) { return p->c->tile.vecs * p->emit->target->lanes; }

static const char *transposed_at(
        const struct printing *p, struct printer *printer, const struct index *row, const struct index *vec)
{
	const struct index *at = index_add(p->arena, index_scale(p->arena, row, contraction_transposed_width(p)),
	        index_scale(p->arena, vec, p->emit->target->lanes));
	return arena_printf(p->arena, "transposed_store + %s", printer_index(printer, at));
}

static const char *result_at(
        struct printing *p, struct printer *printer, const struct index *row, const struct index *vec)
{
	const struct index *with[MAX_VARS];
	if (p->c->staging.transposed)
		return transposed_at(p, printer, row, vec);
	shift(p, row, vec, with);
	return printer_address(printer, p->c->result, index_substitute(p->arena, p->c->out_at, with));
}

/* {lets, store}: the element (row, vec) of a tile, whose sum stands in `accumulator`. */
static struct value result_of(
        struct printing *p, const struct index *row, const struct index *vec, const char *left, const char *accumulator)
{
	const struct contraction *c = p->c;
	const struct index *with[MAX_VARS];
	struct printer printer = contraction_printer(p, left);
	const char *value = accumulator, *names[COUNT(p->names)];
	const struct expr *moved[2] = { NULL, NULL };
	shift(p, row, vec, with);
	if (is_scalar(p)) {
		memcpy(names, p->names, sizeof names);
		names[c->column] = column_of_thread(p, left);
		printer.names = names;
	}
	p->accumulator = accumulator;
	printer.lane = is_scalar(p) ? -1 : printer.lane;
	int count = 0;
	if (c->arranged.value)
		moved[count++] = expr_substitute(p->arena, c->arranged.value, with);
	if (c->beside.d)
		moved[count++] = expr_substitute(p->arena, c->beside.stored, with);
	if (count)
		printer_share(&printer, moved, (size_t)count);
	if (c->arranged.value)
		value = printer_value(&printer, moved[0]);
	if (c->pool.by_panel) /* scratch begins with the panel's own first column */
		with[c->column] = index_scale(p->arena, vec, p->emit->target->lanes);
	const struct index *at = index_substitute(p->arena, c->out_at, with);
	int64_t step = c->pool.by_panel ? 1 : index_factor(at, c->column);
	if (is_scalar(p)) {
		const char *there = left && p->emit->target->lanes_are_threads
		        ? arena_printf(p->arena, "if (LANE < %s) ", left)
		        : "",
		           *store = arena_printf(
		                   p->arena, "%s%s = %s", there, printer_element(&printer, c->result, at), value);
		if (c->beside.d)
			store = arena_printf(p->arena, "%s; %s%s = %s", store, there,
			        printer_element(&printer, c->beside.d, index_substitute(p->arena, c->beside.at, with)),
			        printer_value(&printer, moved[count - 1]));
		return value_dict_of(p->arena, "lets", emit_lets(p->arena, &printer), "store", store);
	}
	const char *to = printer_address(&printer, c->result, at);
	if (c->staging.transposed) {
		to = transposed_at(p, &printer, row, vec);
		step = 1;
	}
	return value_dict_of(p->arena, "lets", emit_lets(p->arena, &printer), "store",
	        emit_vec_store(p->arena, c->result->type, to, step, value, left));
}

/* The store of columns v to v + 3 of row r; NULL: they are stored one by one. */
static const char *fours_of(struct printing *p, int64_t r, int64_t v)
{
	const struct contraction *c = p->c;
	const struct index *with[MAX_VARS];
	const struct expr *value[4];
	if (!c->panel.quads || !p->emit->target->exact.lanes || !c->arranged.value || c->pool.d || c->staging.transposed
	        || c->k_block)
		return NULL;
	for (int i = 4; i-- > 0;) {
		shift(p, index_constant(p->arena, r), index_constant(p->arena, v + i), with);
		value[i] = expr_substitute(p->arena, c->arranged.value, with);
	}
	return print_fours(p, value, index_substitute(p->arena, c->out_at, with),
	        arena_printf(p->arena, "four_of(s%d_%d, s%d_%d, s%d_%d, s%d_%d)", (int)r, (int)v, (int)r, (int)v + 1,
	                (int)r, (int)v + 2, (int)r, (int)v + 3));
}

/* So many vectors of columns are stored at once: of Helium four, and two that are rounded to bytes side by side. */
static int64_t stored_at_once(struct printing *p)
{
	const struct contraction *c = p->c;
	const struct target *target = p->emit->target;
	struct printer printer = contraction_printer(p, NULL);
	const struct expr *of;
	return fours_of(p, 0, 0) ? 4
	        : target->lanes > 1 && !target->lanes_are_threads && dtypes[c->result->type].bits == 8
	                && (index_factor(c->out_at, c->column) == 1 || c->staging.transposed)
	                && rounding_bounds(&printer, c->arranged.value, 0, &of)
	        ? 2
	        : 1;
}

static struct value two_of(
        struct printing *p, const struct index *row, const struct index *vec, const char *const *sums)
{
	const struct contraction *c = p->c;
	struct printer printer = contraction_printer(p, NULL);
	const struct index *with[MAX_VARS];
	const struct expr *of[2];
	const char *type = lane_type_of(c->result->type).memory, *bounds = "", *text[2];
	for (int i = 2; i-- > 0;) {
		shift(p, row, index_plus(p->arena, vec, i), with);
		bounds = rounding_bounds(&printer, expr_substitute(p->arena, c->arranged.value, with), 0, &of[i]);
	}
	printer_share(&printer, of, 2);
	FOR (i, 2) {
		p->accumulator = sums[i];
		text[i] = arena_printf(p->arena, "ivec_rounded%s(%s%s)", type, printer_value(&printer, of[i]), bounds);
	}
	const char *to = result_at(p, &printer, row, vec);
	return value_dict_of(p->arena, "lets", emit_lets(p->arena, &printer), "store",
	        value_printf(p->arena, "ivec_store_two%s(%s, %s, %s)", type, to, text[0], text[1]));
}

static struct value call_start(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	const struct index *with[MAX_VARS];
	int64_t r = call_int(call, 0, 0), v = call_int(call, 1, 0);
	if (!p->c->arranged.start)
		return value_printf(p->arena, "%s_set(%s)", lane_type_of(p->c->product->sum).vector,
		        number_text(p->arena, p->c->product->sum, 0, 0));
	struct printer printer = contraction_printer(p, left_of(p, user->tile, v));
	shift(p, index_constant(p->arena, r), index_constant(p->arena, v), with);
	return value_string(printer_value(&printer, expr_substitute(p->arena, p->c->arranged.start, with)));
}

static struct value call_result(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	int64_t r = call_int(call, 0, 0), v = call_int(call, 1, 0), each = stored_at_once(p);
	const struct index *row = index_constant(p->arena, r), *vec = index_constant(p->arena, v);
	const char *sums[2];
	FOR (i, 2)
		sums[i] = arena_printf(p->arena, "s%d_%d", (int)r, (int)v + i);
	if (each == 1 || v + each > user->tile->vecs - (user->tile->left != 0))
		return result_of(p, row, vec, left_of(p, user->tile, v), sums[0]);
	if (each == 2)
		return two_of(p, row, vec, sums);
	return value_dict_of(p->arena, "lets", value_list(p->arena), "store", fours_of(p, r, v));
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
	for (int64_t v = 0; v < user->tile->vecs && p->c->arranged.value && p->c->terms && p->emit->target->lanes >= 8
	        && !p->emit->target->hides_latency;
	        v++) {
		shift(p, index_constant(p->arena, call_int(call, 0, 0)), index_constant(p->arena, v), with);
		expr_loads(p->c->arranged.value, touch_load, &touching);
	}
	return touching.list;
}

static struct value call_heavy(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	int64_t v = call_int(call, 0, 0);
	int lanes = p->emit->target->lanes,
	    width = user->tile->vecs * lanes + (p->c->block.warps ? block_sums_apart(p->c) : 0);
	const struct index *row = index_var(p->arena, SPARE_ROW, INT32_MAX),
	                   *vec = index_var(p->arena, SPARE_VEC, INT32_MAX);
	const char *left = left_of(p, user->tile, v), *sums[2];
	FOR (i, 2) {
		const struct index *column = index_plus(p->arena, vec, i);
		struct printer printer = contraction_printer(p, left);
		sums[i] = arena_printf(p->arena, "%s_load(sums + %s)", lane_type_of(p->c->product->sum).vector,
		        printer_index(&printer,
		                index_add(p->arena, index_scale(p->arena, row, width),
		                        index_scale(p->arena, column, lanes))));
		if (product_is_matrix(p->c->product)
		        && p->c->arranged.start) { /* no register held it from the beginning */
			const struct index *with[MAX_VARS];
			shift(p, row, column, with);
			sums[i] = arena_printf(p->arena, "(%s + %s)",
			        printer_value(&printer, expr_substitute(p->arena, p->c->arranged.start, with)),
			        sums[i]);
		}
	}
	return stored_at_once(p) == 2 && v + 2 <= user->tile->vecs - (user->tile->left != 0)
	        ? two_of(p, row, vec, sums)
	        : result_of(p, row, vec, left, sums[0]);
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
	if (c->block.warps)
		return value_printf(p->arena,
		        product_is_matrix(c->product) ? "a + %s + %" PRId64 : "a[%s + %" PRId64 "]",
		        codes_in_groups(c) ? arena_printf(p->arena, "%" PRId64 " * group + k", codes_alike(c)) : "k",
		        r * block_a_step(c) + u);
	struct text text;
	text_init(&text, p->emit->build);
	if (p->row_stride.name && r)
		text_printf(&text, "%s%" PRId64 " * %s", text.count ? " + " : "", r, p->row_stride.name);
	else
		constant = r * p->row_stride.direct;
	FOR (t, c->terms) {
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
	struct value value = c->panel.quads || product_is_matrix(c->product)
	        ? value_printf(p->arena, "a + %s", text.at)
	        : value_printf(
	                p->arena, "%sa[%s]", dtypes[c->root->type].class == CLASS_FLOAT ? "" : "(uint32_t)", text.at);
	text_release(&text);
	return value;
}

const char *contraction_code(const struct printing *p, int64_t v, int64_t u)
{
	const struct codes *codes = &p->c->codes;
	const char *word = codes->exponent
	        ? arena_printf(p->arena, "float8_%d", codes->exponent)
	        : arena_printf(p->arena, "code%d%s", codes->bits, codes->zeros ? "_zeros" : ""),
	           *less = codes->exponent ? ""
	        : codes->zeros             ? arena_printf(p->arena, ", zero%" PRId64, v)
	                                   : arena_printf(p->arena, ", %" PRId64 ".f", codes->zero);
	return arena_printf(p->arena, "vec_of_%s(codes%" PRId64 ", %" PRId64 "%s) * scale%" PRId64, word, v,
	        u * codes->bits, less, v);
}

/* What a thread reads of a packed b: neighbours of 16 bits in pairs. */
static const char *element_of_lane(const struct printing *p, const struct tile *tile, int64_t v, int64_t u)
{
	const struct contraction *c = p->c;
	int64_t lanes = p->emit->target->lanes, step = c->block.warps ? block_b_step(p) : tile->vecs * lanes,
	        pair = c->panel.interleaved && c->arranged.wide ? 2 : 1;
	const char *at = arena_printf(p->arena, "[%sLANE%s + %" PRId64 "]",
	        c->panel.interleaved ? arena_printf(p->arena, "%" PRId64 " * ", c->tile.vecs / pair) : "",
	        c->block.warps ? arena_printf(p->arena, " + %" PRId64 " * k", step / pair) : "",
	        (u * step + (c->panel.interleaved ? v : v * lanes)) / pair);
	return pair == 1 ? arena_printf(p->arena, "w%s", at)
	                 : arena_printf(p->arena, "((const uint32_t *)w)%s %s", at, v % 2 ? ">> 16" : "& 0xffffu");
}

static struct value call_b(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	const struct contraction *c = p->c;
	int64_t v = call_int(call, 0, 0), u = call_int(call, 1, 0), lanes = p->emit->target->lanes,
	        at = (u * user->tile->vecs + v) * lanes;
	if (c->block.warps && product_is_matrix(c->product))
		return value_printf(p->arena, "w + %d * k + %" PRId64, block_b_step(p), v * c->product->n);
	if (codes_in_tile(c))
		return value_string(contraction_code(p, v, u));
	if (c->arranged.wide && p->emit->target->lanes_are_threads)
		return value_string(wide_text(p->arena, c->b->type, element_of_lane(p, user->tile, v, u)));
	if (c->panel.interleaved)
		return value_string(element_of_lane(p, user->tile, v, u));
	if (c->block.warps)
		return value_printf(p->arena, "vec_load(w + %d * k + %" PRId64 ")", block_b_step(p),
		        u * block_b_step(p) + v * lanes);
	if (product_is_matrix(c->product))
		return v ? value_printf(p->arena, "w + %" PRId64, v * c->product->n * matrix_together(c))
		         : value_string("w");
	if (c->arranged.wide && lanes > 1 && !c->codes.bits) /* of 16 bits */
		return value_printf(p->arena,
		        c->b->type == DTYPE_F16 ? "vec_load_half(w + %" PRId64 ")"
		                                : "vec_of_bfloat(ivec_load_u16(w + %" PRId64 "))",
		        at);
	if (c->arranged.wide && !c->codes.bits) {
		struct printer printer = contraction_printer(p, NULL);
		const struct index *with[MAX_VARS];
		printer.lane = -1;
		shift(p, index_constant(p->arena, 0), index_constant(p->arena, v), with);
		p->accumulator = arena_printf(p->arena, "w[%" PRId64 "]", at);
		return value_string(printer_value(&printer, expr_substitute(p->arena, c->arranged.wide, with)));
	}
	if (c->panel.bytes)
		at = (u / 2 * user->tile->vecs + v) * lanes;
	if (c->panel.quads) {
		int64_t left = contraction_extent(c, c->terms - 1) - u;
		return value_printf(p->arena, "w + %" PRId64, u * user->tile->vecs + (left < 4 ? left : 4) * v);
	}
	if (c->b_mode != B_DIRECT)
		return at ? value_printf(p->arena, "%s_load(w + %" PRId64 ")", lane_type_of(c->product->sum).vector, at)
		          : value_printf(p->arena, "%s_load(w)", lane_type_of(c->product->sum).vector);
	struct text text;
	text_init(&text, p->emit->build);
	text_adds(&text, "w");
	int64_t step = index_factor(c->b_at, c->column);
	if (v)
		text_printf(&text, " + %" PRId64, v * lanes * step);
	FOR (t, c->terms)
		text_printf(&text, " + %" PRId64 " * %s", index_factor(c->b_at, c->column + 1 + t), step_name(p, t, u));
	const char *left = left_of(p, user->tile, v);
	const char *by = step == 1 ? "load" : "gather",
	           *apart = step == 1 ? "" : arena_printf(p->arena, ", %" PRId64, step);
	struct value value = left
	        ? value_printf(p->arena, "%s_%s_n(%s%s, %s%s)", lane_type_of(c->product->sum).vector, by, text.at,
	                apart, left, lane_type_of(c->product->sum).fill)
	        : value_printf(p->arena, "%s_%s(%s%s)", lane_type_of(c->product->sum).vector, by, text.at, apart);
	text_release(&text);
	return value;
}

/* Where the sums (row, vec) of a tile wait between k blocks: where the result will be. */
static struct value call_waiting(struct template_call *call)
{
	struct tile_user *user = call->user;
	struct printing *p = user->p;
	int64_t r = call_int(call, 0, 0), v = call_int(call, 1, 0);
	const char *left = left_of(p, user->tile, v);
	struct printer printer = contraction_printer(p, left);
	const char *at = result_at(p, &printer, index_constant(p->arena, r), index_constant(p->arena, v));
	const struct product *product = p->c->product;
	return value_dict_of(p->arena, "load",
	        left ? value_printf(p->arena, "%s_load_n(%s, %s%s)", lane_type_of(product->sum).vector, at, left,
	                lane_type_of(product->sum).fill)
	             : value_printf(p->arena, "%s_load(%s)", lane_type_of(product->sum).vector, at),
	        "store",
	        emit_vec_store(p->arena, product->sum, at, 1, arena_printf(p->arena, "s%d_%d", (int)r, (int)v), left));
}

/* ---- taps that a tile leaves out ---- */
/* A pad's index at a row of the tile. */
static const struct index *pad_at(struct printing *p, const struct index *at, int64_t row)
{
	const struct index *with[MAX_VARS];
	shift(p, index_constant(p->arena, row), index_constant(p->arena, 0), with);
	if (p->c->k_block)
		with[p->c->column + 1] = index_add(p->arena, index_var(p->arena, p->c->column + 1, INT32_MAX),
		        index_var(p->arena, K_BLOCK_VAR, INT32_MAX));
	return index_substitute(p->arena, at, with);
}

static struct value add_part(struct arena *arena, struct value parts, int64_t first, int64_t end)
{
	struct value part = value_dict_of(arena, "first", first, "end", end);
	value_list_add(parts, part);
	return part;
}

/* Does some tap of some such tile have row - 1 before the place and row behind it? */
static bool crosses(
        const struct contraction *c, const struct tile *of, const struct range *pad, int64_t row, int64_t place)
{
	const int term = c->column + 1 + contraction_term_of(c, pad);
	int64_t each = index_factor(pad->at, contraction_row(c)), first, last;
	FOR (tile, pad_tiles(c, pad)) {
		pad_rows(c, pad, tile, &first, &last);
		FOR (k, c->extents[term]) {
			int64_t at = first + each * row + index_factor(pad->at, term) * k;
			if (last == first + each * (of->rows - 1) && at >= place && at - each < place)
				return true;
		}
	}
	return false;
}

/* Taps of which some rows alone lie behind where the pad ends, or before where it begins again. */
static void add_parts(
        struct printing *p, struct printer *printer, const struct tile *of, const struct range *pad, struct value parts)
{
	FOR (end, 2)
		for (int64_t row = 1, place = end ? pad->to : pad->from; row < of->rows; row++)
			if (crosses(p->c, of, pad, row, place))
				value_set(add_part(p->arena, parts, end ? 0 : row, end ? row : of->rows), "when",
				        arena_printf(p->arena, "%s < %" PRId64 " && %s >= %" PRId64,
				                printer_index(printer, pad_at(p, pad->at, row - 1)), place,
				                printer_index(printer, pad_at(p, pad->at, row)), place));
}

/* {terms: the loops around, parts [{when, first, end: the rows of which a tap may lie inside of the image}], w, next: floats
 * of its terms}: the first part has none. */
static struct value taps_value(struct printing *p, const struct tile *of, int unroll)
{
	const struct contraction *c = p->c;
	struct printer printer = contraction_printer(p, NULL);
	struct value taps = value_dict(p->arena), parts = value_list(p->arena), all = add_part(p->arena, parts, 0, 0);
	int64_t terms = 1;
	struct text when;
	if (!c->taps)
		return value_none();
	printer.lane = -1;
	text_init(&when, p->emit->build);
	FOR (i, c->pad_count) {
		const struct range *pad = &c->arranged.pads[i];
		if (contraction_term_of(c, pad) < 0)
			continue;
		text_printf(&when, "%s%s < %" PRId64 " || %s >= %" PRId64, when.count ? " || " : "",
		        printer_index(&printer, pad_at(p, pad->at, of->rows - 1)), pad->from,
		        printer_index(&printer, pad_at(p, pad->at, 0)), pad->to);
		if (contraction_row(c) >= 0 && index_uses(pad->at, contraction_row(c)))
			add_parts(p, &printer, of, pad, parts);
	}
	for (int t = c->taps; t < c->terms; t++)
		terms *= c->extents[c->column + 1 + t];
	value_set(all, "when", value_copy(p->arena, when.at, when.count));
	value_set(taps, "terms", c->taps, "parts", parts, "w", terms * of->vecs * p->emit->target->lanes, "next",
	        16 * c->memory.next_lines * terms / unroll);
	text_release(&when);
	return taps;
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
	if (load->of == n->p->c->root || (n->p->c->arranged.wide && load->of == n->p->c->b->of))
		return;
	FOR_ALL (i, n->p->kernel->params)
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
const char *contraction_transposed_row(const struct printing *p, const char *block)
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
const char *contraction_element_of_b(const struct contraction *c)
{
	return codes_in_tile(c)                      ? "int"
	        : c->arranged.wide && !c->codes.bits ? dtypes[c->b->of->type].c
	                                             : dtypes[c->product->sum].c;
}

static void thread_arguments(struct printing *p, struct text *a, struct text *b)
{
	const struct contraction *c = p->c;
	struct needs n = { .p = p };
	expr_visit(c->arranged.start, need_expr, &n);
	expr_visit(c->arranged.value, need_expr, &n);
	if (!c->codes.bits)
		expr_visit(c->arranged.wide, need_expr, &n);
	if (!c->staging.transposed)
		need_index(&n, c->out_at);
	for (int i = 0; c->taps && i < c->pad_count; i++)
		need_index(&n, c->arranged.pads[i].at);
	const char *element = dtypes[c->product->sum].c;
	text_printf(a, "const %s *restrict a, const %s *restrict w", element, contraction_element_of_b(c));
	if (c->memory.next_lines)
		text_printf(a, ", const %s *next", element);
	text_printf(b, "a, w%s", c->memory.next_lines ? ", next" : "");
	if (p->row_stride.name) {
		text_printf(a, ", long %s", p->row_stride.name);
		text_printf(b, ", %s", p->row_stride.name);
	}
	FOR (t, c->terms)
		if (p->term_stride[t].name) {
			text_printf(a, ", long %s", p->term_stride[t].name);
			text_printf(b, ", %s", p->term_stride[t].name);
		}
	FOR_ALL (i, p->kernel->params) {
		const struct param *param = &p->kernel->params.at[i];
		if (!n.param[i] && !param->written)
			continue;
		if (c->pool.d && param->written) {
			text_adds(a, ", float *restrict y");
			text_adds(b, ", pooled");
			continue;
		}
		if (c->staging.transposed && param->written) {
			text_printf(a, ", %s *restrict transposed_store", dtypes[c->result->type].c);
			text_printf(b, ", transposed_store + %" PRId64 " * (%s - begin)",
			        contraction_transposed_width(p), contraction_transposed_row(p, "block"));
			continue;
		}
		text_printf(a, ", %s%s *restrict %s", param->written ? "" : "const ", dtypes[param->of->type].c,
		        param->name);
		text_printf(b, ", %s", param->name);
	}
	if (c->pool.d) {
		text_printf(a, ", long %s", p->names[POOL_VAR]);
		text_printf(b, ", %s", p->names[POOL_VAR]);
	}
	for (int v = 0; v <= c->column; v++)
		if (n.var[v]) {
			text_printf(a, ", long %s", p->names[v]);
			text_printf(b, ", %s", p->names[v]);
		}
	if (c->k_block) {
		text_printf(a, ", long %s", p->names[K_BLOCK_VAR]);
		text_printf(b, ", %s", p->names[K_BLOCK_VAR]);
	}
	if (c->terms && p->ends[c->column + 1]) {
		text_printf(a, ", long %s", p->ends[c->column + 1]);
		text_printf(b, ", %s", p->ends[c->column + 1]);
	}
}

/* Of a tile in a block, which stages for itself: all that the kernel has, its batch, the block's first row and panel,
 * and the shared memory. */
static void block_arguments(struct printing *p, struct text *a, struct text *b)
{
	FOR_EACH_AT (const struct param *param, p->kernel->params) {
		text_printf(a, "%s%s *restrict %s, ", param->written ? "" : "const ", dtypes[param->of->type].c,
		        param->name);
		text_printf(b, "%s, ", param->name);
	}
	FOR (v, p->c->batches) {
		text_printf(a, "long %s, ", p->names[v]);
		text_printf(b, "%s, ", p->names[v]);
	}
	text_printf(a, "long m0, long %s, long vecs, float *shared", p->names[p->c->column]);
	text_printf(b, "m0, %s, vecs, shared", p->names[p->c->column]);
}

void tile_arguments(struct printing *p, const char **params, const char **arguments)
{
	struct text a, b;
	text_init(&a, p->emit->build);
	text_init(&b, p->emit->build);
	(p->c->block.warps ? block_arguments : thread_arguments)(p, &a, &b);
	*params = arena_copy(p->arena, a.at, a.count);
	*arguments = arena_copy(p->arena, b.at, b.count);
	text_release(&a);
	text_release(&b);
}

/* The terms of a tile in a block: chunks, and those of one. */
static void add_loop(struct printing *p, struct value list, const char *name, struct value extent)
{
	value_list_add(list, value_dict_of(p->arena, "name", name, "extent", extent));
}
/* Of a chunk's `each`, of which there are `all`. */
static struct value left_in_chunk(struct printing *p, int64_t all, int64_t each)
{
	return all % each ? value_printf(p->arena,
	               "(%" PRId64 " * chunk + %" PRId64 " < %" PRId64 " ? %" PRId64 " : %" PRId64 ")", each, each, all,
	               each, all % each)
	                  : value_int(each);
}
/* Codes end with the last term, where others go on to the chunk's end; groups of terms that share a scale are a loop. */
static struct value block_terms(struct printing *p, int64_t terms)
{
	const struct contraction *c = p->c;
	struct value list = value_list(p->arena);
	int64_t alike = codes_alike(c), depth = c->block.depth;
	add_loop(p, list, "chunk", value_int(ceil_div(terms, depth)));
	if (codes_in_groups(c)) {
		add_loop(p, list, "group", left_in_chunk(p, terms / alike, depth / alike));
		depth = terms = alike;
	}
	if (!product_is_of_groups(c->product)) /* a chunk's instructions stand side by side */
		add_loop(p, list, "k", codes_in_tile(c) ? left_in_chunk(p, terms, depth) : value_int(depth));
	return list;
}

struct value contraction_extents(struct printing *p, int first, int count)
{
	struct value list = value_list(p->arena);
	for (int v = first; v < first + count; v++)
		value_list_add(list,
		        value_dict_of(p->arena, "name", p->names[v], "bound", p->c->extents[v], "extent",
		                p->ends[v]
		                        ? value_string(p->ends[v])
		                        : value_int(v == p->c->column + 1 && p->c->terms ? contraction_extent(p->c, 0)
		                                                                         : p->c->extents[v])));
	return list;
}

struct value tile_value(struct printing *p, struct tile *of, const char *params, int64_t terms, bool heavy)
{
	const struct contraction *c = p->c;
	struct arena *arena = p->arena;
	struct value tile = value_dict(arena);
	int unroll = c->block.warps && !product_is_matrix(c->product) && !codes_in_tile(c)
	        ? BLOCK_UNROLL
	        : contraction_steps(c, p->emit->target, of->rows);
	int64_t width = c->block.warps ? block_b_step(p) : of->vecs * p->emit->target->lanes;
	struct tile_user *user = arena_new(arena, struct tile_user);
	*user = (struct tile_user){ arena_new(arena, struct printing), of };
	*user->p = *p;
	value_set(tile, "name", of->name, "params", params, "rows", of->rows, "vecs", of->vecs, "whole",
	        of->vecs - (of->left != 0), "each", stored_at_once(user->p), "heavy",
	        value_bool(heavy && stored_at_once(user->p) < 4), "terms",
	        c->block.warps ? block_terms(p, terms) : contraction_extents(p, c->column + 1, c->terms), "step",
	        c->codes.bits                                     ? width
	                : c->b_mode == B_DIRECT || c->block.warps ? 0
	                                                          : unroll * width / (c->panel.bytes ? 2 : 1),
	        "codes", codes_in_tile(c), "width", width, "ahead", c->memory.ahead / 4, "zeros", c->codes.zeros,
	        "bytes", c->panel.bytes, "ends_short", c->roles.ends_short, "quads", c->panel.quads, "matrix",
	        matrix_value(user->p, of), "row",
	        p->row_stride.name ? value_string(p->row_stride.name) : value_int(p->row_stride.direct), "unroll",
	        unroll, "next_lines", c->memory.next_lines, "taps", taps_value(p, of, unroll), "touch",
	        value_function(arena, "touch", "r", call_touch, user), "waiting",
	        value_function(arena, "waiting", "r v", call_waiting, user), "start",
	        value_function(arena, "start", "r v", call_start, user));
	value_set(tile, "a", value_function(arena, "a", "r u", call_a, user), "b",
	        value_function(arena, "b", "v u", call_b, user), "result",
	        value_function(arena, "result", "r v", call_result, user), "heavy_result",
	        value_function(arena, "heavy_result", "v", call_heavy, user));
	return tile;
}
