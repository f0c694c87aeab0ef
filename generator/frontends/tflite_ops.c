/* tflite_ops.c: an operator of the file -> the node that its row of tables/tflite.h says. */
#include "frontends/tflite.h"
#include <stdlib.h>

/* How inputs come and outputs go: tables/tflite.h. */
enum { TEXT = 1, OWN = 2, STORED = 4, MOVES = 8, FIRST = 16, SAME_ORDER = 32, DATA2 = 64, LAST_SECOND = 128 };
enum { LAST_FIRST = 256, INDEX1 = 512, STATES = 1024, LIST0 = 2048, LIST1 = 4096, LIST2 = 8192, LIST3 = 16384 };

enum { OPERATORS = 210 }; /* of the schema; custom ones stand behind them */
static const struct tfl_row rows[] = {
#define O(number, name) [number] = { #name, 0, 0, NULL, 0, NULL },
#define P(number, name, options, newest, type, how, attributes) \
	[number] = { #name, options, newest, #type, how, attributes },
#define C(name, type, how, attributes) { #name, 0, 1, #type, how, attributes },
#include "tables/tflite.h"
};

const struct tfl_row *tfl_row_of(int64_t code, const char *custom)
{
	for (size_t i = OPERATORS; *custom && i < COUNT(rows); i++)
		if (!strcmp(rows[i].name, custom))
			return &rows[i];
	return code < OPERATORS ? &rows[code] : NULL;
}

/* ---- attributes ---- */
static int64_t *ints(struct tfl_op *op, struct attribute *a, size_t count)
{
	int64_t *list = arena_new_array(op->tfl->build->arena, int64_t, count + 1);
	a->kind = ATTRIBUTE_INTS;
	a->count = count;
	a->ints = list;
	return list;
}

static void read_vector(struct tfl_op *op, struct attribute *a, int field)
{
	struct vector list = table_vector(&op->options, field, 4);
	int64_t *to = ints(op, a, list.count);
	FOR_ALL (i, list)
		to[i] = vector_int(&list, i);
}

static int64_t custom_option(struct tfl_op *op, int i)
{
	struct vector bytes = table_vector(&op->table, 5, 1);
	bytes.width = 4;
	table_must(&op->table, bytes.count / 4 > (size_t)i, "its options are not as many bytes as it has");
	return vector_int(&bytes, (size_t)i);
}

static void read_quantised(struct tfl_op *op, struct attribute *a)
{
	int64_t *to = ints(op, a, op->in.count + op->out.count);
	for (size_t i = 0, n = op->in.count; i < a->count; i++) {
		struct tfl_tensor *t = i >= n ? tfl_out(op, i - n) : tfl_has(op, i) ? tfl_in(op, i) : NULL;
		to[i] = t && tfl_quantised(t) ? 1 + (t->axis >= 0) : 0;
	}
}

static void read_attribute(struct tfl_op *op, struct attribute *a, char kind, const char *text)
{
	char *end;
	int field = (int)strtol(text, &end, 10);
	int64_t otherwise = *end == ',' ? atoi(end + 1) : 0;
	struct tfl_tensor *y = tfl_out(op, 0);
	switch (kind) {
	case 'b': a->i = table_int(&op->options, field, 1, otherwise); return;
	case '?': a->i = table_int(&op->options, field, 1, 0) != 0; return;
	case 'i': a->i = table_int(&op->options, field, 4, otherwise); return;
	case 'c': a->i = custom_option(op, field); return;
	case 'n': a->i = field; return;
	case 't': a->i = y->said.type; return;
	case 'z': a->i = y->zeros.count ? vector_int(&y->zeros, 0) : 0; return;
	case 'v': read_vector(op, a, field); return;
	case 'q': read_quantised(op, a); return;
	case 'd':
		for (int64_t *to = ints(op, a, (size_t)y->said.rank), d = 0; d < y->said.rank; d++)
			to[d] = y->said.dims[d].extent;
		return;
	case 's':
		text = strcspn(text, " ") ? text : op->name;
		a->kind = ATTRIBUTE_STRING;
		a->s = (struct bytes){ text, strcspn(text, " ") };
		return;
	default: a->kind = ATTRIBUTE_FLOAT; a->f = table_float(&op->options, field, 0);
	}
}

static void read_attributes(struct tfl_op *op, struct tensor *made)
{
	for (const char *at = op->row->attributes, *is; *at; at += strcspn(at, " "), at += *at == ' ') {
		is = strchr(at, '=');
		const char *name = arena_copy(op->tfl->build->arena, at, (size_t)(is - at));
		read_attribute(op, tfl_attribute(made, name, ATTRIBUTE_INT), is[1], is + 2);
	}
}

/* ---- inputs and outputs ---- */
static bool is_list(const struct tfl_op *op, size_t i) { return i < 4 && op->row->how & LIST0 << i; }

/* All data are quantised alike, so that what is stored may move as it is. */
static bool are_alike(struct tfl_op *op)
{
	const char *activation = strstr(op->row->attributes, "activation=b");
	bool alike = !activation || !table_int(&op->options, atoi(activation + 12), 1, 0);
	FOR_ALL (i, op->in)
		if (tfl_has(op, i) && !is_list(op, i) && !(i == 1 && op->row->how & INDEX1))
			alike &= tfl_same(tfl_in(op, i), tfl_out(op, 0));
	for (size_t k = 1; k < op->out.count; k++)
		alike &= tfl_same(tfl_out(op, k), tfl_out(op, 0));
	return alike;
}

/* Where all inputs have been made with channels first, the output is, too. */
static bool all_first(struct tfl_op *op)
{
	const struct tensor *said = &tfl_in(op, 0)->said;
	bool all = tfl_out(op, 0)->said.rank == 4;
	FOR_ALL (i, op->in)
		all &= tfl_in(op, i)->first && !memcmp(tfl_in(op, i)->said.dims, said->dims, sizeof said->dims);
	return all;
}

/* Weights in ONNX's order; what is stored moves, so that it stays integers. */
static struct tensor *weights(struct tfl_op *op, struct tfl_tensor *t)
{
	static const int64_t orders[][4] = { { 0, 3, 1, 2 }, { 3, 0, 1, 2 } };
	const int64_t *order = orders[op->row->how & LAST_FIRST ? 1 : 0];
	int axis = 0;
	table_must(&op->table, t->said.rank == 4, "its weights have not 4 dimensions");
	if (!tfl_quantised(t))
		return tfl_order(op, tfl_real(op, t), order);
	while (t->axis >= 0 && order[axis] != t->axis)
		axis++;
	return tfl_dequantise(op, t, tfl_order(op, tfl_value(op, t), order), axis);
}

static struct tensor *input(struct tfl_op *op, size_t i, bool stored, bool first)
{
	int how = op->row->how;
	if (!tfl_has(op, i))
		return NULL;
	struct tfl_tensor *t = tfl_in(op, i);
	if (how & STATES && table_int(&t->table, 5, 1, 0))
		return tfl_state(op, t);
	if (is_list(op, i))
		return tfl_int64(op, i);
	if (first && (how & SAME_ORDER || i == (how & DATA2 ? 2 : 0)))
		return tfl_first(op, t, !stored);
	if (i == 1 && how & (LAST_SECOND | LAST_FIRST))
		return weights(op, t);
	return stored ? tfl_value(op, t) : tfl_real(op, t);
}

void tfl_make(struct tfl_op *op)
{
	int how = op->row->how;
	if (how & OWN) {
		tfl_own(op);
		return;
	}
	table_must(&op->table, op->in.count <= INT16_MAX && op->out.count && op->out.count <= INT16_MAX,
	        "its inputs or outputs are none, or too many");
	bool stored = how & STORED || (how & MOVES && are_alike(op));
	bool first = how & FIRST || (how & SAME_ORDER && all_first(op));
	struct tensor **in = arena_new_array(op->tfl->build->arena, struct tensor *, op->in.count + 1);
	size_t states = 0;
	FOR_ALL (i, op->in) {
		in[i] = input(op, i, stored, first);
		states += how & STATES && in[i] && tfl_in(op, i)->variable;
	}
	struct tensor *made = tfl_node(
	        op, how & TEXT ? "tflite" : "", op->row->type, (int)op->in.count, in, (int)(op->out.count + states));
	struct tensor **out = made->producer->out;
	read_attributes(op, made);
	for (size_t i = 0, k = op->out.count; states && i < op->in.count; i++)
		if (in[i] && tfl_in(op, i)->variable)
			tfl_hold(tfl_in(op, i)->variable, out[k++]);
	FOR_ALL (k, op->out)
		tfl_give(op, k, stored ? out[k] : tfl_quantise(op, tfl_out(op, k), out[k]), first);
}
