/* block.c: expressions -> calls of the menu over blocks.
 * A load is an operand where it lies; each scalar function becomes one call, in place where its operand is nobody
 * else's. What does not change along the lanes is computed once a row, what does not change along the rows once. */
#include "jit/jit.h"
#include <inttypes.h>

const struct dims dims_one = { -1, -1, "1", "1", 1, 1 };

void blocks_cannot(struct blocks *b, const char *why)
{
	if (!b->cannot)
		b->cannot = why;
}

/* ---- statements ---- */
struct value blocks_entry(struct blocks *b, const char *kind)
{
	struct value dict = value_dict_of(b->arena, "kind", kind);
	value_list_add(b->list, dict);
	return dict;
}

struct value blocks_open(struct blocks *b, const char *kind, const char *body, struct value *outer)
{
	struct value dict = blocks_entry(b, kind), list = value_list(b->arena);
	value_set(dict, body, list);
	*outer = b->list;
	b->list = list;
	return dict;
}

void blocks_close(struct blocks *b, struct value outer) { b->list = outer; }

void blocks_let(struct blocks *b, const char *type, const char *name, const char *value)
{
	struct value let = blocks_entry(b, "let");
	value_set(let, "type", type, "name", name, "value", value);
}

void blocks_lets(struct blocks *b)
{
	FOR_ALL (i, b->printer.lets)
		blocks_let(b, b->printer.lets.at[i].type, b->printer.lets.at[i].name, b->printer.lets.at[i].value);
	b->printer.lets.count = 0;
}

static const char *end_of(struct blocks *b, int var, int64_t extent)
{
	return b->end && var == b->ended ? b->end : arena_printf(b->arena, "%" PRId64, extent);
}

struct value blocks_loop(struct blocks *b, int var, int64_t extent, int64_t step, struct value *outer)
{
	struct value loop = blocks_open(b, "for", "body", outer);
	value_set(loop, "name", b->printer.names[var], "extent", end_of(b, var, extent), "step", step);
	return loop;
}

const char *blocks_count(struct blocks *b, int var, int64_t extent, int64_t chunk)
{
	const char *at = b->printer.names[var], *name = arena_printf(b->arena, "%s_n", at),
	           *end = end_of(b, var, extent);
	if (extent % chunk == 0 && (chunk == 1 || !b->end || var != b->ended))
		return arena_printf(b->arena, "%" PRId64, chunk);
	blocks_let(b, "long", name,
	        arena_printf(b->arena, "%s - %s < %" PRId64 " ? %s - %s : %" PRId64, end, at, chunk, end, at, chunk));
	return name;
}

const char *blocks_at(struct blocks *b, enum dtype type, int64_t offset)
{
	const char *at = offset ? arena_printf(b->arena, "scratch + %" PRId64, offset) : "scratch";
	return type == DTYPE_F32 ? at : arena_printf(b->arena, "((%s *)(%s))", lanes_of(type)->c, at);
}

const char *blocks_scratch(struct blocks *b, int64_t floats, int64_t *offset)
{
	int64_t at = b->scratch;
	floats = (floats + 15) / 16 * 16 + 16; /* neighbours lie 64 bytes off the powers of two */
	if (floats > JIT_SCRATCH_MOST - at) {
		blocks_cannot(b, "its scratch is too large");
		floats = 0;
	}
	b->scratch += floats;
	b->scratch_most = b->scratch > b->scratch_most ? b->scratch : b->scratch_most;
	if (offset)
		*offset = at;
	return blocks_at(b, DTYPE_F32, at);
}

const char *blocks_lanes(struct blocks *b, enum dtype type, int64_t values, int64_t *offset)
{
	int64_t at;
	blocks_scratch(b, values * lanes_of(type)->floats, &at);
	if (offset)
		*offset = at;
	return blocks_at(b, type, at);
}

const char *blocks_constant(struct blocks *b, const struct expr *e)
{
	const char *c = lanes_of(e->type)->c, *text = number_text(b->arena, e->type, e->number, e->integer), *one;
	for (size_t i = 0;; i++) {
		one = arena_printf(b->arena, "%s c%zu = %s", c, i, text);
		if (i == b->constants.count)
			push(b->arena, &b->constants, one);
		if (!strcmp(b->constants.at[i], one))
			return arena_printf(b->arena, "&c%zu", i);
	}
}

void blocks_uses(struct blocks *b, const char *name, const char *signature)
{
	FOR_ALL (i, b->used)
		if (!strcmp(b->used.at[i].name, name))
			return;
	push(b->arena, &b->used, (struct used){ name, signature });
}

void blocks_call(struct blocks *b, const char *name, const char *signature, const char *arguments)
{
	struct value call = blocks_entry(b, "call");
	value_set(call, "name", name, "arguments", arguments);
	blocks_uses(b, name, signature);
}

/* ---- what an expression is made of, by number ---- */
struct known {
	int uses;
	bool made;
	struct operand operand;
};
struct values {
	struct numbering parts;
	struct known *known;
};
enum { EXPRESSIONS_MOST = 4000 };

static void begin_values(struct blocks *b, const struct expr *e)
{
	struct values *values = b->values = arena_new(b->arena, struct values);
	values->parts.arena = b->arena;
	number_expr(&values->parts, e);
	values->known = arena_new_array(b->arena, struct known, values->parts.all.count);
	FOR_ALL (i, values->parts.all)
		values->known[i].uses = values->parts.all.at[i].uses;
	if (values->parts.all.count > EXPRESSIONS_MOST)
		blocks_cannot(b, "an expression is too large");
}

static struct known *known_of(struct blocks *b, const struct expr *e)
{
	int number = number_find(&b->values->parts, e);
	return number < 0 ? NULL : &b->values->known[number];
}

void blocks_begin(struct blocks *b, const struct emit *emit, const char *const *names, const struct definition *root)
{
	b->printer = (struct printer){ .arena = b->arena,
		.target = emit->target,
		.lane = -1,
		.names = names,
		.buffer = emit_buffer,
		.user = (void *)(uintptr_t)b->kernel };
	b->root = root;
}

bool blocks_in_scratch(struct blocks *b, const struct expr *load, const struct dims *d, struct operand *o)
{
	if (load->of == b->root)
		*o = b->sums;
	return load->of == b->root || (b->place && b->place(b->user, load, d, o));
}

struct naming {
	struct blocks *b;
	const struct dims *d;
};
static enum visit no_cell(void *user, const struct expr *expr)
{
	const struct naming *naming = user;
	struct operand o;
	if (expr->kind == EXPR_LOAD && blocks_in_scratch(naming->b, expr, naming->d, &o))
		blocks_cannot(naming->b, "an address or a condition is a value of the kernel's own");
	return VISIT_PARTS;
}

void blocks_no_cells(struct blocks *b, const struct index *index, const struct dims *d)
{
	index_visit(index, no_cell, &(struct naming){ b, d });
}

/* ---- leaves ---- */
bool blocks_bends(const struct index *index, const struct dims *d)
{
	return (d->row >= 0 && index_bends(index, d->row)) || (d->lane >= 0 && index_bends(index, d->lane));
}

struct operand blocks_buffer(struct blocks *b, const struct expr *load, const struct dims *d)
{
	struct operand o = { .at = "scratch" };
	const struct index *address = schedule_address(b->arena, load->of, load->at);
	if (blocks_bends(address, d))
		blocks_cannot(b, "an address is not affine");
	blocks_no_cells(b, address, d);
	o.at = printer_address(&b->printer, load->of, address);
	o.row = d->row >= 0 ? index_factor(address, d->row) : 0;
	o.lane = d->lane >= 0 ? index_factor(address, d->lane) : 0;
	blocks_lets(b);
	return o;
}

/* A load where it lies; false: it has to be made lanes. */
static bool load_operand(struct blocks *b, const struct expr *load, const struct dims *d, struct operand *o)
{
	if (blocks_in_scratch(b, load, d, o)) {
		if (o->bends)
			return false;
		if (b->row)
			*o = (struct operand){ arena_printf(b->arena, "%s + %" PRId64 " * %s", o->at, o->row, b->row),
				0, o->lane, false, false };
		return true;
	}
	if (!lanes_lie(load->type) || blocks_bends(schedule_address(b->arena, load->of, load->at), d))
		return false;
	*o = blocks_buffer(b, load, d);
	return true;
}

/* Four bytes of a buffer as the integer that they are. */
static bool bytes_operand(struct blocks *b, const struct expr *e, const struct dims *d, struct operand *out)
{
	struct four_bytes bytes;
	if (!printer_bytes(&b->printer, e, &bytes) || !bytes.beside || blocks_bends(bytes.at, d)
	        || blocks_in_scratch(b, bytes.load, d, out))
		return false;
	*out = (struct operand){ .row = d->row >= 0 ? index_factor(bytes.at, d->row) : 0,
		.lane = d->lane >= 0 ? index_factor(bytes.at, d->lane) : 0 };
	if (out->row % BYTES || out->lane % BYTES)
		return false;
	blocks_no_cells(b, bytes.at, d);
	out->row /= BYTES;
	out->lane /= BYTES;
	out->at = arena_printf(
	        b->arena, "((const int *)(const void *)(%s))", printer_address(&b->printer, bytes.load->of, bytes.at));
	blocks_lets(b);
	return true;
}

bool blocks_leaf(struct blocks *b, const struct expr *e, const struct dims *d, struct operand *out)
{
	if (!lanes_of(e->type))
		return false;
	if (e->kind == EXPR_NUMBER)
		*out = (struct operand){ .at = blocks_constant(b, e) };
	else
		return e->kind == EXPR_LOAD ? load_operand(b, e, d, out) : bytes_operand(b, e, d, out);
	return true;
}

/* ---- one call ---- */
const char *blocks_pointer(struct blocks *b, struct operand o)
{
	return arena_printf(b->arena, "%s, %" PRId64, o.at, o.row);
}

struct operand blocks_temporary(struct blocks *b, enum dtype type, const struct dims *d)
{
	struct operand o = { .row = d->row >= 0 ? d->n_most : 0, .lane = 1, .temporary = true };
	o.at = blocks_lanes(b, type, d->rows_most * d->n_most, NULL);
	return o;
}

/* What moves values of 32 bits, or of 64. */
const char *blocks_mover(struct blocks *b, const char *name, enum dtype type)
{
	return arena_printf(b->arena, "m_%s%s", name, lanes_of(type)->floats == 2 ? "8" : "");
}

/* By an entry for lanes that lie apart there ("gather") or here ("scatter"), or nowhere. */
static void pass(struct blocks *b, const char *name, const char *signature, struct operand to, struct operand from,
        const struct dims *d)
{
	const char *into = blocks_pointer(b, to), *of = blocks_pointer(b, from);
	if (*signature == 's')
		into = arena_printf(b->arena, "%s, %" PRId64, into, to.lane);
	if (*signature == 'g')
		of = arena_printf(b->arena, "%s, %" PRId64, of, from.lane);
	blocks_call(b, name, signature, arena_printf(b->arena, "%s, %s, %s, %s", into, of, d->rows, d->n));
}

void blocks_move(struct blocks *b, int bytes, struct operand to, struct operand from, const struct dims *d)
{
	const char *size = bytes == 4 ? "" : arena_printf(b->arena, "%d", bytes);
	bool apart = from.lane != 0 && from.lane != 1;
	if (to.lane == 1 && !apart)
		pass(b, arena_printf(b->arena, "m_copy%s_%c", size, from.lane ? 'v' : 's'), "map1", to, from, d);
	else if (to.lane == 1)
		pass(b, arena_printf(b->arena, "m_gather%s", size), "gather", to, from, d);
	else
		pass(b, arena_printf(b->arena, "m_scatter%s", size), "scatter", to, from, d);
}

/* Lanes that lie apart come together. */
static struct operand together(struct blocks *b, enum dtype type, struct operand o, const struct dims *d)
{
	if (o.lane == 0 || o.lane == 1)
		return o;
	struct operand to = blocks_temporary(b, type, d);
	blocks_copy(b, type, to, o, d);
	return to;
}

void blocks_copy(struct blocks *b, enum dtype type, struct operand to, struct operand from, const struct dims *d)
{
	if (to.lane != 1 && from.lane != 1) {
		struct operand dense = blocks_temporary(b, type, d);
		blocks_copy(b, type, dense, from, d);
		from = dense;
	}
	blocks_move(b, 4 * lanes_of(type)->floats, to, from, d);
}

/* One for all lanes as lanes that are alike. */
struct operand blocks_spread(struct blocks *b, enum dtype type, struct operand o, const struct dims *d)
{
	if (o.lane)
		return o;
	struct dims use = o.row ? *d : (struct dims){ -1, d->lane, "1", d->n, 1, d->n_most }; /* rows alike are one */
	if (*o.at == '&' && b->keeps && use.n_most <= JIT_LANES_MOST)
		return blocks_kept(b, type, o.at, use.n_most);
	struct operand all = blocks_temporary(b, type, &use);
	blocks_copy(b, type, all, o, &use);
	return all;
}

/* What remains of a block where nothing changes along the lanes: its rows lie along the lanes. */
static struct dims rows_alone(const struct dims *d)
{
	return (struct dims){ -1, d->row, "1", d->rows, 1, d->rows_most };
}

static struct operand transposed_store(struct operand o) { return (struct operand){ o.at, 0, o.row, false, false }; }

static bool is_float_as_half(const struct expr *e)
{
	return e->kind == EXPR_CAST && e->type == DTYPE_F16 && !e->cast && e->arg[0]->type == DTYPE_F32;
}

/* A rounding to float16: a cast of a cast. */
static bool rounds(const struct expr *e)
{
	return e->kind == EXPR_CAST && e->type == DTYPE_F32 && !e->cast && is_float_as_half(e->arg[0]);
}

/* A call of the menu that makes a block of blocks: a row of scalars.h, a rounding, a cast. */
struct function {
	const char *entry; /* before the letters of its operands' ways */
	const struct expr *arg[3];
	int arity;
	bool typed;      /* operands are lanes all */
	enum dtype wrap; /* the result wraps to this type; DTYPE_COUNT: it need not */
};

/* What a comparison of floats says, as a float that was a truth value: what it said. */
static const struct expr *truth_of(const struct expr *e)
{
	const struct expr *truth = e->kind == EXPR_CAST && e->type == DTYPE_F32 && !e->cast ? e->arg[0] : NULL,
	                  *says = truth && truth->kind == EXPR_CAST && truth->type == DTYPE_BOOL ? truth->arg[0] : NULL;
	return says && says->type == DTYPE_F32 && expr_says_truth(says) ? says : NULL;
}

/* An index as integers of 32 bits, which it fits. */
static bool is_index(const struct expr *e)
{
	return e->kind == EXPR_CAST && e->type == DTYPE_I32 && !e->cast && e->arg[0]->kind == EXPR_INDEX;
}

static bool function_of(struct blocks *b, const struct expr *e, struct function *f)
{
	struct conversion conversion;
	bool is_float = e->type == DTYPE_F32;
	if (truth_of(e) || is_index(e)) /* it needs no call, or has its own */
		return false;
	if (e->kind == EXPR_CAST && !e->cast && e->arg[0]->kind == EXPR_INDEX)
		e = expr_cast(b->arena, e->type, expr_cast(b->arena, DTYPE_I32, e->arg[0]));
	*f = (struct function){ .arg = { e->arg[0], e->arg[1], e->arg[2] }, .arity = 1, .wrap = DTYPE_COUNT };
	if (rounds(e)) {
		f->entry = "m_half_";
		f->arg[0] = e->arg[0]->arg[0];
		return true;
	}
	if (e->kind == EXPR_CAST && jit_conversion(b->arena, e, &conversion)) {
		f->wrap = conversion.wrap;
		f->typed = e->arg[0]->type != DTYPE_F32;
		f->entry = conversion.entry;
		return f->entry || f->wrap != DTYPE_COUNT;
	}
	if (e->kind != EXPR_SCALAR || !lanes_of(e->type) || (!is_float && !jit_typed_row(e->type, e->opcode)))
		return false;
	f->entry = arena_printf(b->arena, is_float ? "m_%s%s_" : "m_%s_%s_",
	        is_float ? "" : jit_row_lanes(e->type, e->opcode), scalars[e->opcode].name);
	f->arity = scalars[e->opcode].arity;
	FOR (i, f->arity)
		f->typed |= f->arg[i]->type != DTYPE_F32;
	/* What a comparison of floats says needs no cast. */
	if (e->opcode == SCALAR_where && !is_float && lanes_of(e->type)->floats == 1) {
		const struct expr *says = e->arg[0];
		while (says->kind == EXPR_CAST && !says->cast)
			says = says->arg[0];
		if (says->type == DTYPE_F32 && expr_says_truth(says)) { /* bits are chosen as floats are */
			f->arg[0] = says;
			f->entry = "m_where_";
			f->typed = false;
		}
	}
	f->wrap = !lanes_lie(e->type) && !scalar_stays(e->opcode) ? e->type : DTYPE_COUNT;
	return true;
}

/* The letters of the operands' ways; of other types than float all are lanes. */
static const char *way_of(struct blocks *b, const struct function *f, struct operand *arg, const struct dims *d)
{
	const char *way = "";
	FOR (i, f->arity) {
		if (f->typed && d->lane >= 0)
			arg[i] = blocks_spread(b, f->arg[i]->type, arg[i], d);
		way = arena_printf(b->arena, "%s%c", way, arg[i].lane || f->typed ? 'v' : 's');
	}
	return way;
}

static struct operand function_value(struct blocks *b, const struct expr *e, const struct function *f,
        const struct dims *d, const struct operand *to)
{
	struct operand arg[3];
	bool lanes = false, rows = false, any = false, mine[3] = { false };
	FOR (i, f->arity) {
		arg[i] = blocks_value(b, f->arg[i], d, true);
		lanes |= arg[i].lane != 0;
		rows |= arg[i].row != 0;
		const struct known *known = known_of(b, f->arg[i]);
		mine[i] = arg[i].temporary && (!known || known->uses == 1)
		        && lanes_of(f->arg[i]->type) == lanes_of(e->type);
	}
	struct dims use = *d;
	struct operand result;
	if (!lanes && d->lane >= 0) { /* once a row, or once */
		use = rows ? rows_alone(d) : dims_one;
		FOR (i, f->arity)
			arg[i] = together(b, f->arg[i]->type, transposed_store(arg[i]), &use);
		result = blocks_temporary(b, e->type, &use);
		to = NULL;
	} else if (!rows && d->row >= 0) { /* rows alike are one */
		use = (struct dims){ -1, d->lane, "1", d->n, 1, d->n_most };
		result = blocks_temporary(b, e->type, &use);
	} else if (to)
		result = *to;
	else {
		result.at = NULL;
		for (int i = 0; i < f->arity && !result.at; i++)
			if (mine[i] && arg[i].lane == 1 && (arg[i].row == d->n_most || d->row < 0))
				result = arg[i];
		if (!result.at)
			result = blocks_temporary(b, e->type, d);
	}
	FOR (i, f->arity)
		any |= arg[i].lane == 1;
	if (!any)
		arg[0].lane = 1; /* just one value */
	if (f->entry) {
		const char *way = way_of(b, f, arg, &use), *arguments = blocks_pointer(b, result);
		FOR (i, f->arity)
			arguments = arena_printf(b->arena, "%s, %s", arguments, blocks_pointer(b, arg[i]));
		blocks_call(b, arena_printf(b->arena, "%s%s", f->entry, way),
		        f->arity == 1           ? "map1"
		                : f->arity == 2 ? "map2"
		                                : "map3",
		        arena_printf(b->arena, "%s, %s, %s", arguments, use.rows, use.n));
	} else if (strcmp(result.at, arg[0].at))
		blocks_copy(b, e->type, result, arg[0], &use);
	if (f->wrap != DTYPE_COUNT)
		blocks_call(b, arena_printf(b->arena, "m_wrap%s_v", lane_type_of(f->wrap).memory), "map1",
		        arena_printf(b->arena, "%s, %s, %s, %s", blocks_pointer(b, result), blocks_pointer(b, result),
		                use.rows, use.n));
	if (!lanes && d->lane >= 0)
		result = (struct operand){ result.at, rows ? 1 : 0, 0, true, false };
	return result;
}

/* Elements of a buffer of a narrow type as lanes: float16 as floats, others as integers of 32 bits. */
static bool wide_value(struct blocks *b, const struct expr *e, const struct dims *d, struct operand *out)
{
	struct operand from;
	bool half = e->kind == EXPR_CAST && e->type == DTYPE_F32 && !e->cast && e->arg[0]->type == DTYPE_F16;
	const struct expr *load = half ? e->arg[0] : e;
	if (load->kind != EXPR_LOAD || (!half && (!lanes_of(e->type) || lanes_lie(e->type)))
	        || blocks_in_scratch(b, load, d, &from))
		return false;
	if (!blocks_looked_up(b, load, d, &from))
		from = blocks_buffer(b, load, d);
	bool lanes = from.lane || d->lane < 0, rows = from.row != 0;
	struct dims use = lanes ? *d : rows ? rows_alone(d) : dims_one;
	if (!lanes)
		from = transposed_store(from);
	struct operand to = blocks_temporary(b, e->type, &use);
	pass(b, half ? "m_load_half" : arena_printf(b->arena, "m_load%s", lane_type_of(e->type).memory), "gather", to,
	        from, &use);
	*out = lanes ? to : (struct operand){ to.at, rows ? 1 : 0, 0, true, false };
	return true;
}

/* A cast that leaves the lanes as they are. */
static bool is_plain_cast(struct blocks *b, const struct expr *e)
{
	struct conversion conversion;
	return e->kind == EXPR_CAST && jit_conversion(b->arena, e, &conversion) && !conversion.entry
	        && conversion.wrap == DTYPE_COUNT;
}

static bool is_of_numbers(const struct expr *e)
{
	bool all = e->kind == EXPR_NUMBER
	        || ((e->kind == EXPR_SCALAR || e->kind == EXPR_CAST) && dtypes[e->type].class == CLASS_INT);
	for (int i = 0; all && e->kind != EXPR_NUMBER && i < 3 && e->arg[i]; i++)
		all = is_of_numbers(e->arg[i]);
	return all;
}

/* An integer of numbers alone as the number that it is. */
static const struct expr *folded(struct blocks *b, const struct expr *e)
{
	return e->kind != EXPR_NUMBER && is_of_numbers(e) ? expr_fold(b->program, e) : e;
}

static struct operand value_of(struct blocks *b, const struct expr *e, const struct dims *d, bool dense)
{
	struct operand o = { .at = "scratch" };
	struct function f;
	struct known *known = known_of(b, e);
	if (known && known->made)
		return known->operand;
	e = folded(b, e);
	if (truth_of(e))
		o = value_of(b, truth_of(e), d, dense);
	else if (blocks_leaf(b, e, d, &o))
		o = dense ? together(b, e->type, o, d) : o;
	else if (blocks_quantised(b, e, d, NULL, false, &o) || blocks_words(b, e, d, NULL, &o))
		;
	else if (function_of(b, e, &f))
		o = function_value(b, e, &f, d, NULL);
	else if (wide_value(b, e, d, &o) || blocks_find(b, e, d, NULL, &o))
		;
	else if (is_plain_cast(b, e)) {
		o = value_of(b, e->arg[0], d, dense);
		o.temporary = false; /* it is another's */
	} else if (e->kind == EXPR_INDEX)
		o = value_of(b, expr_cast(b->arena, DTYPE_I64, expr_cast(b->arena, DTYPE_I32, e)), d, dense);
	else if (is_index(e) && d->row >= 0 && d->lane >= 0 && !index_uses(e->arg[0]->index, d->lane)) {
		struct dims rows = rows_alone(d);
		o = (struct operand){ blocks_index(b, e->arg[0]->index, &rows).at, 1, 0, true, false };
	} else if (is_index(e))
		o = blocks_index(b, e->arg[0]->index, d);
	else if (e->kind == EXPR_SELECT && lanes_of(e->type)) {
		o = blocks_temporary(b, e->type, d);
		blocks_select(b, e, d, o);
	} else
		blocks_cannot(b, "the menu has not what it computes");
	known = known_of(b, e);
	if (known && known->uses > 1 && (o.temporary || dense)) {
		known->made = true;
		known->operand = o;
	}
	return o;
}

struct operand blocks_value(struct blocks *b, const struct expr *e, const struct dims *d, bool dense)
{
	bool alone = !b->values;
	if (alone)
		begin_values(b, e);
	struct operand o = b->cannot ? (struct operand){ .at = "scratch" } : value_of(b, e, d, dense);
	if (alone)
		b->values = NULL;
	return o;
}

void blocks_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	bool alone = !b->values;
	if (alone)
		begin_values(b, e);
	if (!b->cannot) {
		struct operand from;
		struct function f;
		e = folded(b, e);
		if (blocks_leaf(b, e, d, &from))
			;
		else if (to.lane == 1
		        && (blocks_quantised(b, e, d, &to, false, &from) || blocks_words(b, e, d, &to, &from)
		                || blocks_find(b, e, d, &to, &from)))
			;
		else if (to.lane == 1 && function_of(b, e, &f))
			from = function_value(b, e, &f, d, &to);
		else if (e->kind == EXPR_SELECT && lanes_of(e->type)) {
			blocks_select(b, e, d, to);
			from = to;
		} else
			from = value_of(b, e, d, false);
		if (strcmp(from.at, to.at) || from.row != to.row || from.lane != to.lane)
			blocks_copy(b, e->type, to, from, d);
	}
	if (alone)
		b->values = NULL;
}

struct operand blocks_vector(struct blocks *b, const struct expr *e, const struct dims *d)
{
	struct operand o = blocks_value(b, e, d, true);
	return d->lane >= 0 ? blocks_spread(b, e->type, o, d) : o;
}

void blocks_put(struct blocks *b, const struct expr *e, const struct dims *d, enum dtype type, struct operand to)
{
	struct operand from;
	bool half = type == DTYPE_F16;
	if ((to.lane == 1 && blocks_quantised(b, e, d, &to, true, &from)) || blocks_store_bytes(b, e, d, to))
		return;
	if (half ? !is_float_as_half(e) : !lanes_of(type)) {
		blocks_cannot(b, "the menu has no lanes of what it stores");
		return;
	}
	e = half ? e->arg[0] : e;
	pass(b, half ? "m_store_half" : arena_printf(b->arena, "m_store%s", lane_type_of(type).memory), "scatter", to,
	        blocks_vector(b, e, d), d);
}

void blocks_store(struct blocks *b, const struct expr *e, const struct dims *d, const struct expr *place)
{
	struct operand to = { .at = "scratch" };
	bool scratch = blocks_in_scratch(b, place, d, &to);
	if (!scratch)
		to = blocks_buffer(b, place, d);
	if (d->lane < 0)
		to.lane = 1;
	else if (!to.lane || (d->row >= 0 && !to.row && !scratch))
		blocks_cannot(b, "neighbours store to one place");
	if (to.bends)
		blocks_cannot(b, "an address is not affine");
	if (scratch || lanes_lie(place->type))
		blocks_into(b, e, d, to);
	else
		blocks_put(b, e, d, place->type, to);
}

/* ---- endings ---- */
