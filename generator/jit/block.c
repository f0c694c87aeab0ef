/* block.c: expressions -> calls of the menu over blocks.
 * A load is an operand where it lies; each scalar function becomes one call, in place where its operand is nobody
 * else's. What does not change along the lanes is computed once a row, what does not change along the rows once. */
#include "jit/jit.h"
#include <inttypes.h>
#include <stdlib.h>

const struct dims dims_one = { -1, -1, "1", "1", 1, 1 };

void blocks_cannot(struct blocks *b, const char *why)
{
	if (!b->cannot)
		b->cannot = why;
}

/* ---- statements ---- */
struct value blocks_entry(struct blocks *b, const char *kind)
{
	struct value dict = value_dict(b->arena);
	value_dict_set(dict, "kind", value_string(kind));
	value_list_add(b->list, dict);
	return dict;
}

struct value blocks_open(struct blocks *b, const char *kind, const char *body, struct value *outer)
{
	struct value dict = blocks_entry(b, kind), list = value_list(b->arena);
	value_dict_set(dict, body, list);
	*outer = b->list;
	b->list = list;
	return dict;
}

void blocks_close(struct blocks *b, struct value outer) { b->list = outer; }

void blocks_let(struct blocks *b, const char *type, const char *name, const char *value)
{
	struct value let = blocks_entry(b, "let");
	value_dict_set(let, "type", value_string(type));
	value_dict_set(let, "name", value_string(name));
	value_dict_set(let, "value", value_string(value));
}

void blocks_lets(struct blocks *b)
{
	for (size_t i = 0; i < b->printer.lets.count; i++)
		blocks_let(b, b->printer.lets.at[i].type, b->printer.lets.at[i].name, b->printer.lets.at[i].value);
	b->printer.lets.count = 0;
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

/* "&c3" */
static const char *constant(struct blocks *b, const struct expr *e)
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
	for (size_t i = 0; i < b->used.count; i++)
		if (!strcmp(b->used.at[i].name, name))
			return;
	push(b->arena, &b->used, (struct used){ name, signature });
}

void blocks_call(struct blocks *b, const char *name, const char *signature, const char *arguments)
{
	struct value call = blocks_entry(b, "call");
	value_dict_set(call, "name", value_string(name));
	value_dict_set(call, "arguments", value_string(arguments));
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
	for (size_t i = 0; i < values->parts.all.count; i++)
		values->known[i].uses = values->parts.all.at[i].uses;
	if (values->parts.all.count > EXPRESSIONS_MOST)
		blocks_cannot(b, "an expression is too large");
}

static struct known *known_of(struct blocks *b, const struct expr *e)
{
	int number = number_find(&b->values->parts, e);
	return number < 0 ? NULL : &b->values->known[number];
}

/* What the kernel keeps in scratch is no variable of the glue: an address or a condition cannot name it. */
struct naming {
	struct blocks *b;
	const struct dims *d;
};
static enum visit no_cell(void *user, const struct expr *expr)
{
	const struct naming *naming = user;
	struct operand o;
	if (expr->kind == EXPR_LOAD && naming->b->place && naming->b->place(naming->b->user, expr, naming->d, &o))
		blocks_cannot(naming->b, "an address or a condition is a value of the kernel's own");
	return VISIT_PARTS;
}

static void no_cells(struct blocks *b, const struct index *index, const struct dims *d)
{
	index_visit(index, no_cell, &(struct naming){ b, d });
}

/* ---- leaves ---- */
bool blocks_bends(const struct index *index, const struct dims *d)
{
	return (d->row >= 0 && index_bends(index, d->row)) || (d->lane >= 0 && index_bends(index, d->lane));
}

static struct operand buffer_operand(struct blocks *b, const struct expr *load, const struct dims *d)
{
	struct operand o = { .at = "scratch" };
	const struct index *address = schedule_address(b->arena, load->of, load->at);
	if (blocks_bends(address, d))
		blocks_cannot(b, "an address is not affine");
	no_cells(b, address, d);
	o.at = printer_address(&b->printer, load->of, address);
	o.row = d->row >= 0 ? index_factor(address, d->row) : 0;
	o.lane = d->lane >= 0 ? index_factor(address, d->lane) : 0;
	blocks_lets(b);
	return o;
}

static bool lies_in_scratch(struct blocks *b, const struct expr *load, const struct dims *d, struct operand *o)
{
	return b->place && b->place(b->user, load, d, o);
}

/* A load where it lies; false: it has to be made lanes. */
static bool load_operand(struct blocks *b, const struct expr *load, const struct dims *d, struct operand *o)
{
	if (lies_in_scratch(b, load, d, o)) {
		if (o->bends)
			return false;
		if (b->row)
			*o = (struct operand){ arena_printf(b->arena, "%s + %" PRId64 " * %s", o->at, o->row, b->row),
				0, o->lane, false, false };
		return true;
	}
	if (!lanes_lie(load->type) || blocks_bends(schedule_address(b->arena, load->of, load->at), d))
		return false;
	*o = buffer_operand(b, load, d);
	return true;
}

/* Four bytes of a buffer as the integer that they are. */
static bool bytes_operand(struct blocks *b, const struct expr *e, const struct dims *d, struct operand *out)
{
	enum { BYTES = 4 };
	struct bytes_beside bytes;
	if (!printer_bytes(&b->printer, e, &bytes) || blocks_bends(bytes.at, d)
	        || lies_in_scratch(b, bytes.load, d, out))
		return false;
	*out = (struct operand){ .row = d->row >= 0 ? index_factor(bytes.at, d->row) : 0,
		.lane = d->lane >= 0 ? index_factor(bytes.at, d->lane) : 0 };
	if (out->row % BYTES || out->lane % BYTES)
		return false;
	no_cells(b, bytes.at, d);
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
		*out = (struct operand){ .at = constant(b, e) };
	else
		return e->kind == EXPR_LOAD ? load_operand(b, e, d, out) : bytes_operand(b, e, d, out);
	return true;
}

/* ---- one call ---- */
static const char *pointer_and(struct blocks *b, struct operand o)
{
	return arena_printf(b->arena, "%s, %" PRId64, o.at, o.row);
}

static struct operand temporary(struct blocks *b, enum dtype type, const struct dims *d)
{
	struct operand o = { .row = d->row >= 0 ? d->n_most : 0, .lane = 1, .temporary = true };
	o.at = blocks_lanes(b, type, d->rows_most * d->n_most, NULL);
	return o;
}

/* What moves values of 32 bits, or of 64. */
static const char *mover(struct blocks *b, const char *name, enum dtype type, const char *way)
{
	return arena_printf(b->arena, "m_%s%s%s", name, lanes_of(type)->floats == 2 ? "8" : "", way);
}

static void gather(struct blocks *b, enum dtype type, struct operand to, struct operand from, const struct dims *d)
{
	blocks_call(b, mover(b, "gather", type, ""), "gather",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s", pointer_and(b, to), pointer_and(b, from),
	                from.lane, d->rows, d->n));
}

/* Lanes that lie apart come together. */
static struct operand together(struct blocks *b, enum dtype type, struct operand o, const struct dims *d)
{
	if (o.lane == 0 || o.lane == 1)
		return o;
	struct operand to = temporary(b, type, d);
	gather(b, type, to, o, d);
	return to;
}

static void copy(struct blocks *b, enum dtype type, struct operand to, struct operand from, const struct dims *d)
{
	if (to.lane == 1 && (from.lane == 0 || from.lane == 1)) {
		blocks_call(b, mover(b, "copy", type, from.lane ? "_v" : "_s"), "map1",
		        arena_printf(
		                b->arena, "%s, %s, %s, %s", pointer_and(b, to), pointer_and(b, from), d->rows, d->n));
		return;
	}
	if (to.lane == 1) {
		gather(b, type, to, from, d);
		return;
	}
	if (from.lane != 1) {
		struct operand dense = temporary(b, type, d);
		copy(b, type, dense, from, d);
		from = dense;
	}
	blocks_call(b, mover(b, "scatter", type, ""), "scatter",
	        arena_printf(b->arena, "%s, %" PRId64 ", %s, %s, %s", pointer_and(b, to), to.lane, pointer_and(b, from),
	                d->rows, d->n));
}

/* One for all lanes as lanes that are alike. */
struct operand blocks_spread(struct blocks *b, enum dtype type, struct operand o, const struct dims *d)
{
	if (o.lane)
		return o;
	struct dims use = o.row ? *d : (struct dims){ -1, d->lane, "1", d->n, 1, d->n_most }; /* rows alike are one */
	struct operand all = temporary(b, type, &use);
	copy(b, type, all, o, &use);
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
	enum dtype wrap; /* the result wraps to this type; DTYPE_COUNT: it need not */
};

/* What a comparison of floats says, as a float that was a truth value: what it said. */
static const struct expr *truth_of(const struct expr *e)
{
	const struct expr *truth = e->kind == EXPR_CAST && e->type == DTYPE_F32 && !e->cast ? e->arg[0] : NULL,
	                  *says = truth && truth->kind == EXPR_CAST && truth->type == DTYPE_BOOL ? truth->arg[0] : NULL;
	return says && says->type == DTYPE_F32 && expr_says_truth(says) ? says : NULL;
}

static bool function_of(struct blocks *b, const struct expr *e, const struct dims *d, struct function *f)
{
	struct conversion conversion;
	struct operand bytes;
	bool is_float = e->type == DTYPE_F32;
	if (bytes_operand(b, e, d, &bytes) || truth_of(e)) /* it needs no call */
		return false;
	*f = (struct function){ .arg = { e->arg[0], e->arg[1], e->arg[2] }, .arity = 1, .wrap = DTYPE_COUNT };
	if (rounds(e)) {
		f->entry = "m_half_";
		f->arg[0] = e->arg[0]->arg[0];
		return true;
	}
	if (e->kind == EXPR_CAST && jit_conversion(b->arena, e, &conversion)) {
		f->wrap = conversion.wrap;
		f->entry = conversion.entry;
		return f->entry || f->wrap != DTYPE_COUNT;
	}
	if (e->kind != EXPR_SCALAR || !lanes_of(e->type) || (!is_float && !jit_typed_row(e->type, e->opcode)))
		return false;
	f->entry = arena_printf(b->arena, is_float ? "m_%s%s_" : "m_%s_%s_",
	        is_float ? "" : jit_row_lanes(e->type, e->opcode), scalars[e->opcode].name);
	f->arity = scalars[e->opcode].arity;
	f->wrap = !lanes_lie(e->type) && !scalar_stays(e->opcode) ? e->type : DTYPE_COUNT;
	return true;
}

/* The letters of the operands' ways; of other types than float all are lanes. */
static const char *way_of(struct blocks *b, const struct function *f, struct operand *arg, const struct dims *d)
{
	const char *way = "";
	for (int i = 0; i < f->arity; i++) {
		if (f->arg[i]->type != DTYPE_F32 && d->lane >= 0)
			arg[i] = blocks_spread(b, f->arg[i]->type, arg[i], d);
		way = arena_printf(b->arena, "%s%c", way, arg[i].lane || f->arg[i]->type != DTYPE_F32 ? 'v' : 's');
	}
	return way;
}

static struct operand function_value(struct blocks *b, const struct expr *e, const struct function *f,
        const struct dims *d, const struct operand *to)
{
	struct operand arg[3];
	bool lanes = false, rows = false, any = false, mine[3] = { false };
	for (int i = 0; i < f->arity; i++) {
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
		for (int i = 0; i < f->arity; i++)
			arg[i] = together(b, f->arg[i]->type, transposed_store(arg[i]), &use);
		result = temporary(b, e->type, &use);
		to = NULL;
	} else if (to)
		result = *to;
	else {
		result.at = NULL;
		for (int i = 0; i < f->arity && !result.at; i++)
			if (mine[i] && arg[i].lane == 1 && (arg[i].row == d->n_most || d->row < 0))
				result = arg[i];
		if (!result.at)
			result = temporary(b, e->type, d);
	}
	for (int i = 0; i < f->arity; i++)
		any |= arg[i].lane == 1;
	if (!any)
		arg[0].lane = 1; /* just one value */
	if (f->entry) {
		const char *way = way_of(b, f, arg, &use), *arguments = pointer_and(b, result);
		for (int i = 0; i < f->arity; i++)
			arguments = arena_printf(b->arena, "%s, %s", arguments, pointer_and(b, arg[i]));
		blocks_call(b, arena_printf(b->arena, "%s%s", f->entry, way),
		        f->arity == 1           ? "map1"
		                : f->arity == 2 ? "map2"
		                                : "map3",
		        arena_printf(b->arena, "%s, %s, %s", arguments, use.rows, use.n));
	} else if (strcmp(result.at, arg[0].at))
		copy(b, e->type, result, arg[0], &use);
	if (f->wrap != DTYPE_COUNT)
		blocks_call(b, arena_printf(b->arena, "m_wrap%s", lane_type_of(f->wrap).memory), "wrap",
		        arena_printf(b->arena, "%s, %s, %s", pointer_and(b, result), use.rows, use.n));
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
	        || lies_in_scratch(b, load, d, &from))
		return false;
	from = buffer_operand(b, load, d);
	bool lanes = from.lane || d->lane < 0, rows = from.row != 0;
	struct dims use = lanes ? *d : rows ? rows_alone(d) : dims_one;
	if (!lanes)
		from = transposed_store(from);
	struct operand to = temporary(b, e->type, &use);
	blocks_call(b, half ? "m_wide" : arena_printf(b->arena, "m_load%s", lane_type_of(e->type).memory), "gather",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s", pointer_and(b, to), pointer_and(b, from),
	                from.lane, use.rows, use.n));
	*out = lanes ? to : (struct operand){ to.at, rows ? 1 : 0, 0, true, false };
	return true;
}

static struct operand index_lanes(struct blocks *, const struct index *, const struct dims *);

/* An index as integers of 64 bits: what is affine, and then each atom that bends. */
static void index_into(struct blocks *b, const struct index *index, const struct dims *d, struct operand to)
{
	struct operand of;
	const struct index *straight = index_constant(b->arena, index->constant);
	for (int i = 0; i < index->count; i++) {
		const struct index *one = index_of_atom(b->arena, *index->terms[i].atom, index->terms[i].factor);
		straight = blocks_bends(one, d) ? straight : index_add(b->arena, straight, one);
	}
	no_cells(b, straight, d);
	const char *first = printer_index(&b->printer, straight);
	blocks_lets(b);
	blocks_call(b, "m_index", "index",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64 ", %s, %s", pointer_and(b, to), first,
	                d->row >= 0 ? index_factor(straight, d->row) : 0,
	                d->lane >= 0 ? index_factor(straight, d->lane) : 0, d->rows, d->n));
	for (int i = 0; i < index->count; i++) {
		const struct atom *atom = index->terms[i].atom;
		int64_t factor = index->terms[i].factor;
		bool value = atom->kind == ATOM_VALUE;
		if (!blocks_bends(index_of_atom(b->arena, *atom, factor), d))
			continue;
		if (value)
			of = blocks_value(b, expr_cast(b->arena, DTYPE_I64, atom->value), d, true);
		else
			of = index_lanes(b, atom->of, d);
		of = blocks_spread(b, DTYPE_I64, of, d);
		blocks_call(b, value ? "m_add_places" : "m_add_parts", "places",
		        arena_printf(b->arena, "%s, %s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %s, %s",
		                pointer_and(b, to), pointer_and(b, of), value ? atom->low : atom->by,
		                value ? atom->high : atom->kind == ATOM_MOD, factor, d->rows, d->n));
	}
}

static struct operand index_lanes(struct blocks *b, const struct index *index, const struct dims *d)
{
	struct operand to = temporary(b, DTYPE_I64, d);
	index_into(b, index, d, to);
	return to;
}

static enum visit may_change(void *user, const struct expr *expr)
{
	const struct blocks *b = user;
	for (size_t i = 0; expr->kind == EXPR_LOAD && i < b->kernel->params.count; i++)
		if (b->kernel->params.at[i].of == expr->of && !b->kernel->params.at[i].written)
			return VISIT_PARTS;
	return expr->kind == EXPR_LOAD ? VISIT_END : VISIT_PARTS;
}

/* Places that are the same in all blocks are made once, ahead of all else. */
static struct operand places(struct blocks *b, const struct index *index, const struct dims *d)
{
	uint64_t lane = var_bit(d->lane);
	if (d->lane < 0 || d->lane >= VARS_LAST || !(b->whole & lane) || index->vars != lane
	        || index_visit(index, may_change, b))
		return index_lanes(b, index, d);
	for (size_t i = 0; i < b->places.count; i++)
		if (index_equal(b->places.at[i].index, index) && b->places.at[i].n == d->n_most)
			return b->places.at[i].at;
	struct dims alone = { -1, d->lane, "1", arena_printf(b->arena, "%" PRId64, d->n_most), 1, d->n_most };
	struct operand to = { arena_printf(b->arena, "((long long *)(kept + %" PRId64 "))", b->kept), 0, 1, false,
		false };
	struct value list = b->list, outer;
	struct values *values = b->values;
	int64_t scratch = b->scratch;
	b->list = b->first;
	b->values = NULL;
	blocks_open(b, "scope", "body", &outer);
	blocks_let(b, "long", b->printer.names[d->lane], "0");
	index_into(b, index, &alone, to);
	b->kept += (2 * d->n_most + 15) / 16 * 16;
	b->list = list;
	b->values = values;
	b->scratch = scratch;
	push(b->arena, &b->places, (struct places){ index, d->n_most, to });
	return to;
}

/* A load whose lanes find their places; false: it is something else. */
static bool lane_gather(struct blocks *b, const struct expr *load, const struct dims *d, struct operand *out)
{
	const struct index *address, *found = index_constant(b->arena, 0), *base;
	struct operand from = { 0 };
	if (load->kind != EXPR_LOAD || !lanes_of(load->type))
		return false;
	bool scratch = lies_in_scratch(b, load, d, &from);
	if (scratch ? !from.bends : !lanes_lie(load->type))
		return false;
	address = scratch ? load->at[0] : schedule_address(b->arena, load->of, load->at);
	if (!blocks_bends(address, d))
		return false;
	if (definition_elements(load->of) > INT32_MAX)
		blocks_cannot(b, "lanes find places in more elements than 32 bits count");
	base = index_constant(b->arena, address->constant);
	for (int i = 0; i < address->count; i++) {
		const struct index *one = index_of_atom(b->arena, *address->terms[i].atom, address->terms[i].factor);
		bool finds = blocks_bends(one, d) || (d->lane >= 0 && index_uses(one, d->lane));
		*(finds ? &found : &base) = index_add(b->arena, finds ? found : base, one);
	}
	no_cells(b, base, d);
	from.at = scratch ? arena_printf(b->arena, "%s + (%s)", from.at, printer_index(&b->printer, base))
	                  : printer_address(&b->printer, load->of, base);
	blocks_lets(b);
	from.row += d->row >= 0 ? index_factor(base, d->row) : 0;
	struct operand at = places(b, found, d);
	*out = temporary(b, load->type, d);
	blocks_call(b, mover(b, "lane_gather", load->type, ""), "lane_gather",
	        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s, %s", pointer_and(b, *out), pointer_and(b, from),
	                from.lane, pointer_and(b, at), d->rows, d->n));
	return true;
}

const char *blocks_condition(struct blocks *b, const struct range *ranges, int count, const struct dims *d)
{
	const char *text = NULL;
	for (int i = 0; i < count; i++) {
		if ((d->row >= 0 && index_uses(ranges[i].at, d->row))
		        || (d->lane >= 0 && index_uses(ranges[i].at, d->lane)))
			blocks_cannot(b, "a condition depends on the lane");
		no_cells(b, ranges[i].at, d);
		const char *one = printer_range(&b->printer, &ranges[i]);
		text = text ? arena_printf(b->arena, "%s && %s", text, one) : one;
	}
	blocks_lets(b);
	return text;
}

static void fill(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to);

static void select_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to);

/* A select that asks for the row, row by row: each is a block of its own, where the row's variable stands at it. */
static bool rows_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	bool asks = false;
	for (int i = 0; i < e->range_count && b->by_rows && d->row >= 0; i++)
		asks |= index_uses(e->ranges[i].at, d->row);
	if (!asks)
		return false;
	if (!to.temporary) { /* an address that the row's variable may stand in */
		struct operand rows = temporary(b, e->type, d);
		select_into(b, e, d, rows);
		copy(b, e->type, to, rows, d);
		return true;
	}
	const char *name = b->printer.names[d->row], *first = arena_printf(b->arena, "%s_first", name);
	struct dims one = { -1, d->lane, "1", d->n, 1, d->n_most };
	struct value outer[2];
	blocks_open(b, "scope", "body", &outer[0]);
	blocks_let(b, "long", first, name);
	b->row = arena_printf(b->arena, "%s_row", name);
	struct value loop = blocks_open(b, "for", "body", &outer[1]);
	value_dict_set(loop, "name", value_string(b->row));
	value_dict_set(loop, "extent", value_string(d->rows));
	value_dict_set(loop, "step", value_int(1));
	blocks_let(b, "long", name, arena_printf(b->arena, "%s + %s", first, b->row));
	to = (struct operand){ arena_printf(b->arena, "%s + %" PRId64 " * %s", to.at, to.row, b->row), 0, to.lane,
		false, false };
	select_into(b, e, &one, to);
	b->row = NULL;
	blocks_close(b, outer[1]);
	blocks_close(b, outer[0]);
	return true;
}

bool blocks_cuts(const struct expr *select, int var)
{
	for (int i = 0; i < select->range_count; i++) {
		const struct index *at = select->ranges[i].at;
		if (index_uses(at, var) && (index_bends(at, var) || llabs(index_factor(at, var)) != 1))
			return false;
	}
	return true;
}

/* The larger or lesser of two places: one that is known, and at - number, or number - at. */
static const char *bound(struct blocks *b, const char *known, char order, const char *at, int64_t number, bool back)
{
	const char *place = arena_printf(b->arena, "%" PRId64 " - (%s)", number, at);
	if (back)
		place = arena_printf(b->arena, "(%s) - %" PRId64, at, number);
	return arena_printf(b->arena, "%s %c %s ? %s : %s", known, order, place, known, place);
}

/* The first lane where all ranges hold, and the one behind the last: names of variables. */
static void cut_lanes(struct blocks *b, const struct expr *e, const struct dims *d, const char *from, const char *to)
{
	const char *low = "0", *high = d->n;
	struct range *others = arena_new_array(b->arena, struct range, e->range_count + 1);
	int count = 0;
	for (int i = 0; i < e->range_count; i++) {
		const struct range *range = &e->ranges[i];
		if (!index_uses(range->at, d->lane)) {
			others[count++] = *range;
			continue;
		}
		bool back = index_factor(range->at, d->lane) < 0;
		no_cells(b, range->at, d);
		const char *at = printer_index(&b->printer, range->at);
		blocks_lets(b);
		int64_t less = back ? range->to - 1 : range->from, more = back ? range->from - 1 : range->to;
		const char *names[] = { arena_printf(b->arena, "%s_%d", from, i),
			arena_printf(b->arena, "%s_%d", to, i) };
		blocks_let(b, "long", names[0], bound(b, low, '>', at, less, back));
		blocks_let(b, "long", names[1], bound(b, high, '<', at, more, back));
		low = names[0];
		high = names[1];
	}
	const char *condition = blocks_condition(b, others, count, d);
	blocks_let(b, "long", to,
	        arena_printf(b->arena, "%s%s%s > 0 ? %s : 0", condition ? condition : "", condition ? " && " : "", high,
	                high));
	blocks_let(b, "long", from, arena_printf(b->arena, "%s < %s ? %s : %s", low, to, low, to));
}

/* A select that asks for the lane: the lanes before those where it holds, those, and the ones behind, each a block of
 * its own, where the lane's variable stands at its first. */
static bool lanes_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	bool asks = false;
	for (int i = 0; i < e->range_count && b->cuts && d->lane >= 0; i++)
		asks |= index_uses(e->ranges[i].at, d->lane);
	if (!asks || !blocks_cuts(e, d->lane))
		return false;
	if (!to.temporary) {
		struct operand lanes = temporary(b, e->type, d);
		select_into(b, e, d, lanes);
		copy(b, e->type, to, lanes, d);
		return true;
	}
	const char *name = b->printer.names[d->lane], *own = arena_printf(b->arena, "%s_%d", name, b->cuts++),
	           *first = arena_printf(b->arena, "%s_first", own), *before = b->lane,
	           *ends[] = { "0", arena_printf(b->arena, "%s_from", own), arena_printf(b->arena, "%s_to", own),
		           d->n };
	uint64_t whole = b->whole;
	struct value outer, part;
	b->whole &= ~var_bit(d->lane);
	blocks_open(b, "scope", "body", &outer);
	cut_lanes(b, e, d, ends[1], ends[2]);
	blocks_let(b, "long", first, name);
	for (int i = 0; i < 3; i++) {
		const char *n = arena_printf(b->arena, "%s_n", own);
		struct dims one = { d->row, d->lane, d->rows, n, d->rows_most, d->n_most };
		struct value branch = blocks_open(b, "if", "body", &part);
		value_dict_set(
		        branch, "condition", value_string(arena_printf(b->arena, "%s < %s", ends[i], ends[i + 1])));
		value_dict_set(branch, "other", value_list(b->arena));
		blocks_let(b, "long", n, arena_printf(b->arena, "%s - %s", ends[i + 1], ends[i]));
		blocks_let(b, "long", name, arena_printf(b->arena, "%s + %s", first, ends[i]));
		b->lane = before ? arena_printf(b->arena, "(%s + %s)", before, ends[i]) : ends[i];
		fill(b, e->arg[i != 1], &one,
		        (struct operand){ arena_printf(b->arena, "%s + %s", to.at, ends[i]), to.row, 1, false, false });
		blocks_close(b, part);
	}
	blocks_close(b, outer);
	b->lane = before;
	b->whole = whole;
	return true;
}

static void select_into(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	struct value outer, list;
	if (rows_into(b, e, d, to) || lanes_into(b, e, d, to))
		return;
	const char *condition = blocks_condition(b, e->ranges, e->range_count, d);
	struct value branch = blocks_open(b, "if", "body", &outer);
	value_dict_set(branch, "condition", value_string(condition));
	fill(b, e->arg[0], d, to);
	b->list = list = value_list(b->arena);
	fill(b, e->arg[1], d, to);
	value_dict_set(branch, "other", list);
	blocks_close(b, outer);
}

/* Inside a branch nothing is known of what other statements made: shared parts are made again. */
static void fill(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	struct values *before = b->values;
	b->values = NULL;
	blocks_into(b, e, d, to);
	b->values = before;
}

/* A cast that leaves the lanes as they are. */
static bool is_plain_cast(struct blocks *b, const struct expr *e)
{
	struct conversion conversion;
	return e->kind == EXPR_CAST && jit_conversion(b->arena, e, &conversion) && !conversion.entry
	        && conversion.wrap == DTYPE_COUNT;
}

static struct operand value_of(struct blocks *b, const struct expr *e, const struct dims *d, bool dense)
{
	struct operand o = { .at = "scratch" };
	struct function f;
	struct known *known = known_of(b, e);
	if (known && known->made)
		return known->operand;
	if (truth_of(e))
		o = value_of(b, truth_of(e), d, dense);
	else if (blocks_leaf(b, e, d, &o))
		o = dense ? together(b, e->type, o, d) : o;
	else if (function_of(b, e, d, &f))
		o = function_value(b, e, &f, d, NULL);
	else if (wide_value(b, e, d, &o) || lane_gather(b, e, d, &o))
		;
	else if (is_plain_cast(b, e)) {
		o = value_of(b, e->arg[0], d, dense);
		o.temporary = false; /* it is another's */
	} else if (e->kind == EXPR_INDEX)
		o = index_lanes(b, e->index, d);
	else if (e->kind == EXPR_SELECT && lanes_of(e->type)) {
		o = temporary(b, e->type, d);
		select_into(b, e, d, o);
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
		if (to.lane == 1 && function_of(b, e, d, &f))
			from = function_value(b, e, &f, d, &to);
		else if (e->kind == EXPR_SELECT && lanes_of(e->type)) {
			select_into(b, e, d, to);
			from = to;
		} else
			from = value_of(b, e, d, false);
		if (strcmp(from.at, to.at) || from.row != to.row || from.lane != to.lane)
			copy(b, e->type, to, from, d);
	}
	if (alone)
		b->values = NULL;
}

/* ---- bytes as they lie ---- */
enum { BYTES_MOST = 8 }; /* parts of such an expression */
static bool has_bytes(struct blocks *b, const struct expr *e, const struct dims *d, int *parts)
{
	struct operand o;
	if (dtypes[e->type].bits != 8 || dtypes[e->type].class == CLASS_FLOAT || ++*parts > BYTES_MOST)
		return false;
	if (e->kind == EXPR_NUMBER)
		return true;
	if (e->kind == EXPR_LOAD)
		return !lies_in_scratch(b, e, d, &o) && !blocks_bends(schedule_address(b->arena, e->of, e->at), d);
	if (e->kind != EXPR_SCALAR || !jit_bytes_row(e->type, e->opcode))
		return false;
	for (int i = 0; i < scalars[e->opcode].arity; i++)
		if (!has_bytes(b, e->arg[i], d, parts))
			return false;
	return true;
}

static void move_bytes(struct blocks *b, struct operand to, struct operand from, const struct dims *d)
{
	if (to.lane == 1 && (from.lane == 0 || from.lane == 1))
		blocks_call(b, from.lane ? "m_copy1_v" : "m_copy1_s", "map1",
		        arena_printf(
		                b->arena, "%s, %s, %s, %s", pointer_and(b, to), pointer_and(b, from), d->rows, d->n));
	else if (to.lane == 1)
		blocks_call(b, "m_gather1", "gather",
		        arena_printf(b->arena, "%s, %s, %" PRId64 ", %s, %s", pointer_and(b, to), pointer_and(b, from),
		                from.lane, d->rows, d->n));
	else
		blocks_call(b, "m_scatter1", "scatter",
		        arena_printf(b->arena, "%s, %" PRId64 ", %s, %s, %s", pointer_and(b, to), to.lane,
		                pointer_and(b, from), d->rows, d->n));
}

static struct operand bytes_scratch(struct blocks *b, const struct dims *d)
{
	return (struct operand){ blocks_scratch(b, (d->rows_most * d->n_most + 3) / 4, NULL),
		d->row >= 0 ? d->n_most : 0, 1, true, false };
}

/* Lanes side by side: where they lie, or in scratch, or `to`. */
static struct operand bytes_value(
        struct blocks *b, const struct expr *e, const struct dims *d, const struct operand *to)
{
	struct operand from, made;
	if (e->kind == EXPR_SCALAR) {
		int arity = scalars[e->opcode].arity;
		const char *arguments = "";
		for (int i = 0; i < arity; i++)
			arguments = arena_printf(
			        b->arena, "%s, %s", arguments, pointer_and(b, bytes_value(b, e->arg[i], d, NULL)));
		made = to && to->lane == 1 ? *to : bytes_scratch(b, d);
		blocks_call(b,
		        arena_printf(b->arena, "m_%s_%s_%s", jit_bytes_row(e->type, e->opcode), scalars[e->opcode].name,
		                arity == 1 ? "v" : "vv"),
		        arity == 1 ? "map1" : "map2",
		        arena_printf(b->arena, "%s%s, %s, %s", pointer_and(b, made), arguments, d->rows, d->n));
		return made;
	}
	if (e->kind == EXPR_NUMBER)
		from = (struct operand){ .at = arena_printf(b->arena, "(const unsigned char *)%s", constant(b, e)) };
	else
		from = buffer_operand(b, e, d);
	if (from.lane == 1 || (to && from.lane == 0 && to->lane == 1))
		return from;
	made = bytes_scratch(b, d);
	move_bytes(b, made, from, d);
	return made;
}

/* A value of bytes, of what bytes have rows for, into a buffer of them. */
static bool bytes_store(struct blocks *b, const struct expr *e, const struct dims *d, struct operand to)
{
	struct operand from;
	int parts = 0;
	if (d->lane < 0 || to.bends || !has_bytes(b, e, d, &parts))
		return false;
	if (e->kind == EXPR_LOAD && to.lane == 1)
		from = buffer_operand(b, e, d);
	else
		from = bytes_value(b, e, d, &to);
	if (strcmp(from.at, to.at) || from.row != to.row)
		move_bytes(b, to, from, d);
	return true;
}

void blocks_store(struct blocks *b, const struct expr *e, const struct dims *d, const struct expr *place)
{
	struct operand to = { .at = "scratch" }, from;
	bool half = place->type == DTYPE_F16, scratch = lies_in_scratch(b, place, d, &to);
	if (half ? !is_float_as_half(e) : !lanes_of(place->type)) {
		blocks_cannot(b, "the menu has no lanes of what it stores");
		return;
	}
	if (!scratch)
		to = buffer_operand(b, place, d);
	if (d->lane < 0)
		to.lane = 1;
	else if (!to.lane || (d->row >= 0 && !to.row && !scratch))
		blocks_cannot(b, "neighbours store to one place");
	if (to.bends)
		blocks_cannot(b, "an address is not affine");
	if (scratch || lanes_lie(place->type)) {
		blocks_into(b, e, d, to);
		return;
	}
	if (!half && bytes_store(b, e, d, to))
		return;
	e = half ? e->arg[0] : e;
	from = blocks_value(b, e, d, true);
	if (d->lane >= 0)
		from = blocks_spread(b, e->type, from, d);
	blocks_call(b, half ? "m_narrow" : arena_printf(b->arena, "m_store%s", lane_type_of(place->type).memory),
	        "scatter",
	        arena_printf(b->arena, "%s, %" PRId64 ", %s, %s, %s", pointer_and(b, to), to.lane, pointer_and(b, from),
	                d->rows, d->n));
}

/* ---- endings ---- */
static bool is_load_of(const struct expr *e, const struct definition *of)
{
	return e->kind == EXPR_LOAD && e->of == of;
}

bool blocks_ending(const struct expr *value, const struct definition *root, struct ending *out)
{
	*out = (struct ending){ 0 };
	if (value && value->kind == EXPR_SCALAR && value->opcode == SCALAR_relu) {
		out->relu = true;
		value = value->arg[0];
	}
	if (!value || is_load_of(value, root))
		return true;
	if (value->kind != EXPR_SCALAR || value->opcode != SCALAR_add)
		return false;
	for (int i = 0; i < 2; i++)
		if (is_load_of(value->arg[i], root) && value->arg[1 - i]->kind == EXPR_LOAD
		        && value->arg[1 - i]->type == DTYPE_F32) {
			out->add = value->arg[1 - i];
			return true;
		}
	return false;
}
