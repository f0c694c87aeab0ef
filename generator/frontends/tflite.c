/* tflite.c: a TensorFlow Lite file -> graph.  Field numbers are those of schema.fbs.  Each operator becomes ONNX nodes
 * by its body (tflite_ops.c): channels move to where ONNX has them and back by Transpose, which layouts make vanish;
 * what is quantised is dequantised before and quantised behind. */
#include "frontends/tflite.h"
#include <assert.h>
#include <ctype.h>
#include <math.h>

enum { TFL_VERSION = 3, TFL_OPSET = 24, TFL_IR = 10 };

static const enum dtype types[] = {
	DTYPE_F32,
	DTYPE_F16,
	DTYPE_I32,
	DTYPE_U8,
	DTYPE_I64,
	DTYPE_STRING,
	DTYPE_BOOL,
	DTYPE_I16,
	DTYPE_C64,
	DTYPE_I8,
	DTYPE_F64,
	DTYPE_C128,
	DTYPE_U64,
	DTYPE_NONE /* resource */,
	DTYPE_NONE /* variant */,
	DTYPE_U32,
	DTYPE_U16,
	DTYPE_I4,
	DTYPE_BF16,
	DTYPE_I2,
	DTYPE_U4,
	DTYPE_F8E4M3FN,
	DTYPE_F8E5M2,
};

static void must(const struct table *table, bool right, const char *what)
{
	if (!right)
		fail(table->flat->build, EXIT_INVALID, table_where(table), "%s", what);
}

/* ---- tensors ---- */
static bool is_quantised(const struct tfl_tensor *t)
{
	return t->scales.count
	        && (t->type == DTYPE_I8 || t->type == DTYPE_U8 || t->type == DTYPE_I16 || t->type == DTYPE_I32
	                || t->type == DTYPE_I64 || t->type == DTYPE_I4);
}

static int64_t zero_of(const struct tfl_tensor *t, size_t i)
{
	return t->zeros.count ? vector_long(&t->zeros, t->zeros.count == 1 ? 0 : i) : 0;
}

static void check_quantisation(struct tfl_tensor *t, const struct table *q)
{
	t->scales = table_vector(q, 2, 4);
	t->zeros = table_vector(q, 3, 8);
	int64_t axis = table_int(q, 6, 0);
	if (!is_quantised(t))
		return;
	bool several = t->scales.count > 1;
	must(q, !several || (axis >= 0 && axis < t->rank && t->extents[axis] == (int64_t)t->scales.count),
	        "its scales are not as many as its tensor's dimension has elements");
	must(q, t->zeros.count <= 1 || t->zeros.count == t->scales.count,
	        "its zero points are not as many as its scales");
	t->axis = several ? (int)axis : -1;
	int bits = dtypes[t->type].bits;
	int64_t low = t->type == DTYPE_U8 || bits > 16 ? 0 : -(INT64_C(1) << (bits - 1));
	int64_t high = bits > 16 ? 0 : low + (INT64_C(1) << bits) - 1;
	for (size_t i = 0; i < t->scales.count; i++) {
		float scale = vector_float(&t->scales, i);
		int64_t zero = zero_of(t, i);
		must(q, isfinite(scale) && scale >= 0, "a scale is no finite number of at least 0");
		must(q, zero >= low && zero <= high, "a zero point is no number of its tensor's type");
	}
}

static void read_tensor(struct tfl *tfl, struct tfl_tensor *t)
{
	struct vector shape = table_vector(&t->table, 0, 4), signature = table_vector(&t->table, 7, 4);
	int64_t type = table_byte(&t->table, 1, 0);
	struct bytes name = table_text(&t->table, 3);
	t->name = reader_name(tfl->reader, name.at, name.count);
	must(&t->table, type >= 0 && type < (int64_t)COUNT(types), "its element type is not known");
	must(&t->table, (size_t)table_uint(&t->table, 2, 0) < tfl->buffers.count || !table_uint(&t->table, 2, 0),
	        "its buffer is not there");
	t->type = types[type];
	t->known = true;
	if (shape.count > MAX_RANK)
		fail(tfl->build, EXIT_LIMIT, table_where(&t->table), "more than %d dimensions", MAX_RANK);
	for (; (size_t)t->rank < shape.count; t->rank++) {
		t->extents[t->rank] = vector_int(&shape, (size_t)t->rank);
		must(&t->table, t->extents[t->rank] >= -1, "a dimension is negative");
		if (tfl->reader->options && tfl->reader->options->open && signature.count == shape.count
		        && vector_int(&signature, (size_t)t->rank) == -1)
			t->extents[t->rank] = -1;
		t->known &= t->extents[t->rank] >= 0;
	}
	struct table quantisation = table_table(&t->table, 4, "QuantizationParameters");
	check_quantisation(t, &quantisation);
}

static struct tensor declared(const struct tfl_tensor *t)
{
	struct tensor tensor = { .name = t->name, .type = t->type, .rank = t->rank };
	for (int i = 0; i < t->rank; i++)
		tensor.dims[i].extent = t->extents[i];
	return tensor;
}

static struct tensor *named(struct tfl *tfl, const char *name)
{
	return *name && !graph_tensor(tfl->graph, name) ? graph_tensor_new(tfl->graph, name)
	                                                : graph_tensor_fresh(tfl->graph, *name ? name : "tensor");
}

/* The bytes of its buffer: in the buffer, or behind all tables where the file is large. */
static struct bytes buffer_of(struct tfl *tfl, const struct tfl_tensor *t)
{
	size_t index = (size_t)table_uint(&t->table, 2, 0);
	if (!index)
		return (struct bytes){ "", 0 };
	struct table buffer = vector_table(&tfl->buffers, index, "Buffer");
	uint64_t offset = table_long(&buffer, 1), size = table_long(&buffer, 2);
	if (offset <= 1)
		return table_text(&buffer, 0);
	must(&buffer, offset <= tfl->flat.bytes && size <= tfl->flat.bytes - offset,
	        "its bytes lie outside of the file");
	return (struct bytes){ (const char *)tfl->flat.at + offset, (size_t)size };
}

static bool is_constant(struct tfl *tfl, const struct tfl_tensor *t)
{
	struct tensor shape = declared(t);
	return buffer_of(tfl, t).count || (t->known && !tensor_elements(tfl->build, &shape));
}

static struct tensor *constant_of(struct tfl *tfl, struct tfl_tensor *t)
{
	struct bytes bytes = buffer_of(tfl, t);
	struct tensor value = declared(t);
	const char *where = table_where(&t->table);
	struct table sparsity = table_table(&t->table, 6, "SparsityParameters");
	if (t->type == DTYPE_STRING || t->type == DTYPE_NONE)
		fail(tfl->build, EXIT_UNSUPPORTED, where, "a constant of strings, resources or variants");
	must(&t->table, t->known, "is a constant of unknown shape");
	if (sparsity.name)
		bytes = tfl_dense(&sparsity, t, bytes);
	reader_data(tfl->reader, where, &value, bytes.at, bytes.count);
	struct tensor *made = named(tfl, t->name);
	value.name = made->name;
	value.graph = made->graph;
	value.is_initializer = true;
	*made = value;
	return made;
}

static void read_tensors(struct tfl *tfl, const struct table *subgraph)
{
	struct vector tensors = table_vector(subgraph, 0, 4);
	tfl->count = tensors.count;
	tfl->tensors = arena_new_array(tfl->build->arena, struct tfl_tensor, tfl->count + 1);
	for (size_t i = 0; i < tfl->count; i++) {
		tfl->tensors[i].table = vector_table(&tensors, i, "Tensor");
		read_tensor(tfl, &tfl->tensors[i]);
	}
}

/* ---- what a body reads ---- */
static struct tfl_tensor *tensor_at(struct tfl_op *op, const struct vector *list, size_t i, bool optional)
{
	int64_t index = i < list->count ? vector_int(list, i) : -1;
	must(&op->table, index >= -1 && index < (int64_t)op->tfl->count, "names a tensor that is not there");
	must(&op->table, optional || index >= 0, "lacks a tensor that it needs");
	return index < 0 ? NULL : &op->tfl->tensors[index];
}

bool tfl_has(struct tfl_op *op, size_t i) { return tensor_at(op, &op->in, i, true); }
struct tfl_tensor *tfl_in(struct tfl_op *op, size_t i) { return tensor_at(op, &op->in, i, false); }
struct tfl_tensor *tfl_out(struct tfl_op *op, size_t k) { return tensor_at(op, &op->out, k, false); }

void tfl_cannot(struct tfl_op *op, const char *what) { fail(op->tfl->build, EXIT_UNSUPPORTED, op->where, "%s", what); }

void tfl_invalid(struct tfl_op *op, bool wrong, const char *what)
{
	if (wrong)
		fail(op->tfl->build, EXIT_INVALID, op->where, "%s", what);
}

struct tensor *tfl_value(struct tfl_op *op, struct tfl_tensor *t)
{
	if (!t->value) {
		must(&op->table, is_constant(op->tfl, t), "reads what nothing before it makes");
		t->value = constant_of(op->tfl, t);
	}
	return t->value;
}

/* The scale or the zero point of a quantised tensor. */
static struct tensor *parameter(struct tfl *tfl, const struct tfl_tensor *t, bool scale)
{
	int64_t count = (int64_t)t->scales.count;
	enum dtype type = scale ? DTYPE_F32 : t->type;
	unsigned char *data = arena_array(tfl->build->arena, (size_t)count, 4);
	for (size_t i = 0; i < t->scales.count; i++) {
		float s = vector_float(&t->scales, i);
		int64_t z = zero_of(t, i);
		if (scale)
			memcpy(data + 4 * i, &s, 4);
		else if (dtypes[type].bits == 4)
			put_bits(data, i, 4, (unsigned)z & 15);
		else
			memcpy(data + i * (size_t)dtypes[type].bits / 8, &z, (size_t)dtypes[type].bits / 8);
	}
	return graph_constant_borrowed(tfl->graph, scale ? "scale" : "zero", type, t->axis >= 0, &count, data);
}

/* Floats of what is stored; the scales run along `axis`. */
struct tensor *tfl_dequantise(struct tfl_op *op, const struct tfl_tensor *t, struct tensor *value, int axis)
{
	if (t->type == DTYPE_I64) {
		struct tensor *floats = tfl_set_int(tfl_one(op, "Cast", value), "to", DTYPE_F32);
		return tfl_two(op, "Mul", floats, parameter(op->tfl, t, true));
	}
	struct tensor *in[] = { value, parameter(op->tfl, t, true),
		t->type == DTYPE_I32 ? NULL : parameter(op->tfl, t, false) };
	struct tensor *real = tfl_node(op, "DequantizeLinear", in[2] ? 3 : 2, in);
	return t->axis >= 0 ? tfl_set_int(real, "axis", axis) : real;
}

struct tensor *tfl_real(struct tfl_op *op, struct tfl_tensor *t)
{
	if (!t->real)
		t->real = is_quantised(t) ? tfl_dequantise(op, t, tfl_value(op, t), t->axis) : tfl_value(op, t);
	return t->real;
}

struct tensor *tfl_zero(struct tfl_op *op, const struct tfl_tensor *t) { return parameter(op->tfl, t, false); }

bool tfl_quantised(const struct tfl_tensor *t) { return is_quantised(t); }

const int64_t *tfl_ints(struct tfl_op *op, size_t i, size_t *count)
{
	struct tfl_tensor *t = tfl_in(op, i);
	struct tensor *value = tfl_value(op, t);
	*count = 0;
	if (!value->data || (value->type != DTYPE_I32 && value->type != DTYPE_I64))
		return NULL;
	*count = (size_t)tensor_elements(op->tfl->build, value);
	int64_t *ints = arena_new_array(op->tfl->build->arena, int64_t, *count + 1);
	for (size_t k = 0; k < *count; k++)
		ints[k] = tensor_int(value, k);
	return ints;
}

struct tensor *tfl_int64(struct tfl_op *op, size_t i)
{
	size_t count;
	const int64_t *ints = tfl_ints(op, i, &count);
	struct tensor *list = ints ? tfl_list(op, count, ints)
	                           : tfl_set_int(tfl_one(op, "Cast", tfl_value(op, tfl_in(op, i))), "to", DTYPE_I64);
	int64_t all = -1;
	return ints || tfl_in(op, i)->rank ? list : tfl_reshape_to(op, list, 1, &all);
}

bool tfl_same(const struct tfl_tensor *a, const struct tfl_tensor *b)
{
	bool same = a->type == b->type && is_quantised(a) == is_quantised(b);
	if (!same || !is_quantised(a))
		return same;
	return a->scales.count == 1 && b->scales.count == 1 && zero_of(a, 0) == zero_of(b, 0)
	        && vector_float(&a->scales, 0) == vector_float(&b->scales, 0);
}

/* ---- what a body makes ---- */
struct tensor *tfl_nodes(struct tfl_op *op, const char *type, int ins, struct tensor *const *in, int outs)
{
	struct node *node = graph_node_new(op->tfl->graph, "", type, "", ins, outs);
	node->where = op->where;
	node->is_given = true;
	memcpy(node->in, in, (size_t)ins * sizeof *in);
	for (int k = 0; k < outs; k++) {
		node->out[k] = graph_tensor_fresh(op->tfl->graph, op->name);
		node->out[k]->producer = node;
	}
	return node->out[0];
}

struct tensor *tfl_node(struct tfl_op *op, const char *type, int ins, struct tensor *const *in)
{
	return tfl_nodes(op, type, ins, in, 1);
}

struct tensor *tfl_one(struct tfl_op *op, const char *type, struct tensor *x) { return tfl_node(op, type, 1, &x); }

struct tensor *tfl_two(struct tfl_op *op, const char *type, struct tensor *a, struct tensor *b)
{
	return tfl_node(op, type, 2, (struct tensor *[]){ a, b });
}

static struct attribute *attribute(struct tensor *made, const char *name, enum attribute_kind kind)
{
	enum { MOST = 8 };
	struct node *node = made->producer;
	struct build *build = node->graph->build;
	if (!node->attributes)
		node->attributes = arena_new_array(build->arena, struct attribute, MOST);
	assert(node->attribute_count < MOST);
	struct attribute *a = &node->attributes[node->attribute_count++];
	a->name = name_is(build->names, name);
	a->kind = kind;
	a->s.at = "";
	return a;
}

struct tensor *tfl_set_int(struct tensor *made, const char *name, int64_t i)
{
	attribute(made, name, ATTRIBUTE_INT)->i = i;
	return made;
}

struct tensor *tfl_set_float(struct tensor *made, const char *name, float f)
{
	attribute(made, name, ATTRIBUTE_FLOAT)->f = f;
	return made;
}

struct tensor *tfl_set_text(struct tensor *made, const char *name, const char *text)
{
	attribute(made, name, ATTRIBUTE_STRING)->s = (struct bytes){ text, strlen(text) };
	return made;
}

struct tensor *tfl_set_ints(struct tensor *made, const char *name, size_t count, const int64_t *ints)
{
	struct attribute *a = attribute(made, name, ATTRIBUTE_INTS);
	a->count = count;
	a->ints = (const int64_t *)arena_copy(made->graph->build->arena, (const char *)ints, count * sizeof *ints);
	return made;
}

struct tensor *tfl_order(struct tfl_op *op, struct tensor *x, int rank, const int64_t *order)
{
	return tfl_set_ints(tfl_one(op, "Transpose", x), "perm", (size_t)rank, order);
}

struct tensor *tfl_list(struct tfl_op *op, size_t count, const int64_t *ints)
{
	int64_t extent = (int64_t)count;
	return graph_constant(op->tfl->graph, op->name, DTYPE_I64, 1, &extent, ints);
}

struct tensor *tfl_reshape_to(struct tfl_op *op, struct tensor *x, int rank, const int64_t *extents)
{
	return tfl_two(op, "Reshape", x, tfl_list(op, (size_t)rank, extents));
}

struct tensor *tfl_number(struct tfl_op *op, float f)
{
	return graph_constant(op->tfl->graph, op->name, DTYPE_F32, 0, NULL, &f);
}

/* A tensor made for this alone gets the name of the file's; what somebody else has is handed on. */
static struct tensor *rename(struct tfl *tfl, struct tfl_op *op, struct tensor *made, const char *name)
{
	if (!made->producer || made->mark)
		made = tfl_one(op, "Identity", made);
	struct node *node = made->producer;
	int k = 0;
	while (node->out[k] != made)
		k++;
	made->producer = NULL;
	made->mark = -1; /* goes when all are read */
	node->out[k] = named(tfl, name);
	node->out[k]->producer = node;
	node->out[k]->mark = 1;
	return node->out[k];
}

struct tensor *tfl_named(struct tfl_op *op, struct tensor *made, const char *name)
{
	return rename(op->tfl, op, made, name);
}

void tfl_give_stored(struct tfl_op *op, size_t k, struct tensor *value)
{
	struct tfl_tensor *t = tfl_out(op, k);
	must(&op->table, !t->made, "makes a tensor that is there already");
	t->made = true;
	t->value = rename(op->tfl, op, value, t->name);
}

/* What means `real` as output t stores it. */
static struct tensor *quantise(struct tfl_op *op, const struct tfl_tensor *t, struct tensor *real)
{
	if (!is_quantised(t))
		return real;
	if (dtypes[t->type].bits > 16)
		tfl_cannot(op, "quantises to more than 16 bits");
	if (t->axis >= 0)
		tfl_cannot(op, "makes what is quantised along an axis");
	struct tensor *in[] = { real, parameter(op->tfl, t, true), parameter(op->tfl, t, false) };
	return tfl_node(op, "QuantizeLinear", 3, in);
}

void tfl_give(struct tfl_op *op, size_t k, struct tensor *real)
{
	tfl_give_stored(op, k, quantise(op, tfl_out(op, k), real));
}

struct tensor *tfl_first(struct tfl_op *op, struct tfl_tensor *t, bool real)
{
	static const int64_t order[] = { 0, 3, 1, 2 };
	tfl_invalid(op, t->rank != 4, "its data has not 4 dimensions");
	if (real && t->axis >= 0 && is_quantised(t))
		tfl_cannot(op, "reads data that is quantised along an axis");
	if (!t->first)
		t->first = tfl_order(op, tfl_value(op, t), 4, order);
	if (!t->first_real)
		t->first_real = is_quantised(t) ? tfl_dequantise(op, t, t->first, -1) : t->first;
	return real ? t->first_real : t->first;
}

void tfl_give_first(struct tfl_op *op, size_t k, struct tensor *y, bool real)
{
	static const int64_t order[] = { 0, 2, 3, 1 };
	struct tfl_tensor *t = tfl_out(op, k);
	struct tensor *stored = real ? quantise(op, t, y) : y;
	tfl_give_stored(op, k, tfl_order(op, stored, 4, order));
	t->first = stored;
}

struct tensor *tfl_activate(struct tfl_op *op, struct tensor *x, int64_t activation)
{
	static const float bounds[][2] = { [2] = { -1, 1 }, [3] = { 0, 6 } };
	if (activation == 1)
		return tfl_one(op, "Relu", x);
	if (activation == 2 || activation == 3)
		return tfl_node(op, "Clip", 3,
		        (struct tensor *[]){
		                x, tfl_number(op, bounds[activation][0]), tfl_number(op, bounds[activation][1]) });
	if (activation == 4)
		return tfl_one(op, "Tanh", x);
	if (activation == 5)
		return tfl_one(op, "Sign", x);
	tfl_invalid(op, activation != 0, "its fused activation is not known");
	return x;
}

/* ---- operators ---- */
struct tfl_code {
	int64_t code, version;
	const char *custom; /* "" */
	size_t refused;
};

static struct tfl_code *read_codes(struct tfl *tfl, const struct table *model, size_t *count)
{
	struct vector list = table_vector(model, 1, 4);
	struct tfl_code *codes = arena_new_array(tfl->build->arena, struct tfl_code, list.count + 1);
	for (size_t i = 0; i < list.count; i++) {
		struct table table = vector_table(&list, i, "OperatorCode");
		int64_t old = table_byte(&table, 0, 0), code = table_int(&table, 3, 0);
		struct bytes custom = table_text(&table, 1);
		codes[i].code = code > old ? code : old;
		codes[i].version = table_int(&table, 2, 1);
		codes[i].custom = reader_name(tfl->reader, custom.at, custom.count);
		must(&table, codes[i].code >= 0, "is an operator of a negative number");
	}
	*count = list.count;
	return codes;
}

static bool is_known(const struct tfl_code *code)
{
	const struct tfl_row *row = tfl_row_of(code->code, code->custom);
	return row && row->body && code->version <= row->newest;
}

/* All that ingot lacks, in one message. */
static void check_codes(struct tfl *tfl, struct tfl_code *codes, size_t count)
{
	struct text text;
	text_init(&text, tfl->build);
	text.limit = 4096;
	size_t kinds = 0;
	for (size_t i = 0; i < count; i++) {
		const struct tfl_code *c = &codes[i];
		const struct tfl_row *row = tfl_row_of(c->code, c->custom);
		if (!c->refused)
			continue;
		if (kinds++ < 20)
			text_printf(&text, "%s%zu %.60s", kinds > 1 ? ", " : "", c->refused,
			        *c->custom    ? c->custom
			                : row ? row->name
			                      : arena_printf(tfl->build->arena, "operator %lld", (long long)c->code));
		if (kinds <= 20 && row && row->body)
			text_printf(&text, " of version %lld (known up to %d)", (long long)c->version, row->newest);
	}
	const char *list = kinds ? arena_copy(tfl->build->arena, text.at, text.count) : "";
	text_release(&text);
	if (kinds)
		fail(tfl->build, EXIT_UNSUPPORTED, tfl->reader->file, "%s not supported: %s%s",
		        kinds > 1 ? "these operators are" : "this operator is", list, kinds > 20 ? ", and others" : "");
}

static const char *lower_name(struct tfl *tfl, const char *name, size_t i)
{
	char *made = arena_printf(tfl->build->arena, "%s_%zu", name, i);
	for (char *c = made; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return made;
}

static void read_operator(struct tfl *tfl, const struct tfl_code *code, struct table table, size_t i)
{
	const struct tfl_row *row = tfl_row_of(code->code, code->custom);
	struct tfl_op op = { .tfl = tfl, .row = row, .table = table };
	op.where = arena_printf(
	        tfl->build->arena, "%s: byte %zu: operator %zu (%s)", tfl->reader->file, table.at, i, row->name);
	op.name = lower_name(tfl, row->name, i);
	op.in = table_vector(&table, 1, 4);
	op.out = table_vector(&table, 2, 4);
	op.options = table_table(&table, 4, "options");
	if (op.options.name && row->options && (uint8_t)table_byte(&table, 3, 0) != row->options)
		fail(tfl->build, EXIT_INVALID, op.where, "has options of another operator (kind %d, %d is right)",
		        (uint8_t)table_byte(&table, 3, 0), row->options);
	for (size_t k = 0; k < op.in.count; k++) {
		struct tfl_tensor *t = tensor_at(&op, &op.in, k, true);
		must(&table, !t || t->made || is_constant(tfl, t) || table_byte(&t->table, 5, 0),
		        "reads what nothing before it makes");
	}
	for (size_t k = 0; k < op.out.count; k++) {
		struct tfl_tensor *t = tfl_out(&op, k);
		must(&table, !t->made && !is_constant(tfl, t), "makes a tensor that is there already");
	}
	row->body(&op);
	for (size_t k = 0; k < op.out.count; k++)
		if (!tfl_out(&op, k)->made)
			tfl_cannot(&op, arena_printf(tfl->build->arena, "has %zu outputs", op.out.count));
}

static void read_operators(struct tfl *tfl, const struct table *model, const struct table *subgraph)
{
	size_t code_count;
	struct tfl_code *codes = read_codes(tfl, model, &code_count);
	struct vector operators = table_vector(subgraph, 3, 4);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < operators.count; i++) {
			struct table table = vector_table(&operators, i, "Operator");
			int64_t index = table_uint(&table, 0, 0);
			must(&table, index < (int64_t)code_count, "has an operator code that is not there");
			if (pass)
				read_operator(tfl, &codes[index], table, i);
			else
				codes[index].refused += !is_known(&codes[index]);
		}
		check_codes(tfl, codes, code_count);
	}
}

void tfl_subgraph(struct tfl_op *op, size_t index)
{
	struct tfl inner = *op->tfl;
	struct table model = flat_root(&inner.flat, "Model");
	struct vector subgraphs = table_vector(&model, 2, 4);
	must(&op->table, index < subgraphs.count, "calls a subgraph that is not there");
	if (inner.is_initial)
		tfl_cannot(op, "stands in a subgraph that is called");
	inner.is_initial = true;
	struct table subgraph = vector_table(&subgraphs, index, "SubGraph");
	read_tensors(&inner, &subgraph);
	read_operators(&inner, &model, &subgraph);
}

/* ---- the model ---- */
/* What callers know inputs and outputs by: the names of the first signature of the subgraph. */
static void read_signature(struct tfl *tfl, const struct table *model)
{
	struct vector signatures = table_vector(model, 7, 4);
	for (size_t i = 0; i < signatures.count; i++) {
		struct table signature = vector_table(&signatures, i, "SignatureDef");
		if (table_uint(&signature, 4, 0))
			continue;
		for (int field = 0; field < 2; field++) {
			struct vector maps = table_vector(&signature, field, 4);
			for (size_t k = 0; k < maps.count; k++) {
				struct table map = vector_table(&maps, k, "TensorMap");
				struct bytes name = table_text(&map, 0);
				size_t index = (size_t)table_uint(&map, 1, 0);
				must(&map, index < tfl->count, "names a tensor that is not there");
				if (name.count)
					tfl->tensors[index].name = reader_name(tfl->reader, name.at, name.count);
			}
		}
		return;
	}
}

static struct tfl_tensor *end_at(struct tfl *tfl, const struct table *subgraph, const struct vector *list, size_t i)
{
	int64_t index = vector_int(list, i);
	must(subgraph, index >= 0 && index < (int64_t)tfl->count, "names an input or output that is not there");
	struct tfl_tensor *t = &tfl->tensors[index];
	if (t->type == DTYPE_NONE || t->type == DTYPE_STRING)
		fail(tfl->build, EXIT_UNSUPPORTED, table_where(&t->table),
		        "an input or output of strings, resources or variants");
	return t;
}

static void read_inputs(struct tfl *tfl, const struct table *subgraph)
{
	struct vector inputs = table_vector(subgraph, 1, 4);
	for (size_t i = 0; i < inputs.count; i++) {
		struct tfl_tensor *t = end_at(tfl, subgraph, &inputs, i);
		must(&t->table, !t->made && !is_constant(tfl, t), "is an input twice, or one with a value");
		struct tensor input = declared(t);
		if (!*input.name || graph_tensor(tfl->graph, input.name))
			input.name = name_is(tfl->build->names, arena_printf(tfl->build->arena, "input_%zu", i));
		for (int d = 0; d < t->rank; d++)
			if (t->extents[d] < 0)
				input.dims[d].symbol = name_is(
				        tfl->build->names, arena_printf(tfl->build->arena, "%s_%d", input.name, d));
		reader_input(tfl->reader, tfl->graph, &input);
		t->value = tfl->graph->inputs.at[i];
		t->made = true;
	}
}

static void read_outputs(struct tfl *tfl, const struct table *subgraph)
{
	struct vector outputs = table_vector(subgraph, 2, 4);
	struct tfl_op op = { .tfl = tfl, .name = "output", .where = table_where(subgraph), .table = *subgraph };
	reader_outputs(tfl->graph, outputs.count + tfl_states(tfl));
	for (size_t k = 0; k < outputs.count; k++) {
		struct tfl_tensor *t = end_at(tfl, subgraph, &outputs, k);
		struct tensor *value = tfl_value(&op, t);
		if (!value->producer || value->is_output)
			value = rename(tfl, &op, value, t->name);
		value->is_output = true;
		tfl->graph->outputs.at[k] = value;
		struct tensor hint = declared(t);
		hint.name = value->name;
		reader_hint(tfl->graph, &hint);
	}
	tfl_give_states(&op, tfl->graph->outputs.at + outputs.count);
}

/* What was renamed is in no list any more. */
static void drop_renamed(struct graph *graph)
{
	size_t n = 0;
	for (size_t i = 0; i < graph->tensors.count; i++)
		if (graph->tensors.at[i]->mark >= 0)
			graph->tensors.at[n++] = graph->tensors.at[i];
	graph->tensors.count = n;
	graph_reindex(graph);
}

bool is_tflite(const void *at, size_t count) { return count >= 8 && !memcmp((const char *)at + 4, "TFL3", 4); }

struct graph *read_tflite(struct reader *reader, const void *at, size_t bytes)
{
	struct tfl_variable *variables = NULL;
	struct tfl tfl = { .reader = reader, .build = reader->build, .variables = &variables };
	tfl.flat = (struct flat){ reader->build, reader->file, at, bytes };
	struct table model = flat_root(&tfl.flat, "Model");
	int64_t version = table_uint(&model, 0, 0);
	if (version != TFL_VERSION)
		fail(reader->build, EXIT_UNSUPPORTED, reader->file,
		        "is of version %lld of the TensorFlow Lite schema; %d is known", (long long)version,
		        TFL_VERSION);
	struct bytes producer = table_text(&model, 3);
	reader_ir(reader, TFL_IR);
	reader_producer(reader, producer, (struct bytes){ "", 0 });
	reader_opset(reader, "", TFL_OPSET);
	struct vector subgraphs = table_vector(&model, 2, 4);
	must(&model, subgraphs.count > 0, "holds no subgraph");
	struct table subgraph = vector_table(&subgraphs, 0, "SubGraph");
	struct bytes name = table_text(&subgraph, 4);
	tfl.graph = reader_graph(reader, reader_name(reader, name.at, name.count));
	tfl.buffers = table_vector(&model, 4, 4);
	read_tensors(&tfl, &subgraph);
	read_signature(&tfl, &model);
	read_inputs(&tfl, &subgraph);
	read_operators(&tfl, &model, &subgraph);
	read_outputs(&tfl, &subgraph);
	drop_renamed(tfl.graph);
	return tfl.graph;
}
