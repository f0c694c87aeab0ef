/* tflite.c: a TensorFlow Lite file -> graph.  Field numbers are those of schema.fbs.  Each operator becomes ONNX nodes
 * by its row (tflite_ops.c): channels move to where ONNX has them and back by Transpose, which layouts make vanish;
 * what is quantised is dequantised before and quantised behind. */
#include "frontends/tflite.h"
#include <assert.h>
#include <ctype.h>
#include <math.h>

enum { TFL_VERSION = 3, TFL_OPSET = 24, TFL_IR = 10, LISTED = 20 };

static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_I32, DTYPE_U8, DTYPE_I64, DTYPE_STRING, DTYPE_BOOL,
	DTYPE_I16, DTYPE_C64, DTYPE_I8, DTYPE_F64, DTYPE_C128, DTYPE_U64, DTYPE_NONE /* resource */,
	DTYPE_NONE /* variant */, DTYPE_U32, DTYPE_U16, DTYPE_I4, DTYPE_BF16, DTYPE_I2, DTYPE_U4, DTYPE_F8E4M3FN,
	DTYPE_F8E5M2 };

/* ---- tensors ---- */
bool tfl_quantised(const struct tfl_tensor *t)
{
	return t->scales.count && (dtypes[t->said.type].class == CLASS_INT || t->said.type == DTYPE_U8);
}

static int64_t zero_of(const struct tfl_tensor *t, size_t i)
{
	return t->zeros.count ? vector_int(&t->zeros, t->zeros.count == 1 ? 0 : i) : 0;
}

static void check_quantisation(struct tfl_tensor *t, const struct table *q)
{
	t->scales = table_vector(q, 2, 4);
	t->zeros = table_vector(q, 3, 8);
	int64_t axis = table_int(q, 6, 4, 0);
	if (!tfl_quantised(t))
		return;
	bool several = t->scales.count > 1;
	table_must(q,
	        !several || (axis >= 0 && axis < t->said.rank && t->said.dims[axis].extent == (int64_t)t->scales.count),
	        "its scales are not as many as its tensor's dimension has elements");
	table_must(q, t->zeros.count <= 1 || t->zeros.count == t->scales.count,
	        "its zero points are not as many as its scales");
	t->axis = several ? (int)axis : -1;
	int bits = dtypes[t->said.type].bits > 16 ? 0 : dtypes[t->said.type].bits;
	int64_t low = t->said.type == DTYPE_U8 || !bits ? 0 : -(INT64_C(1) << (bits - 1));
	FOR_ALL (i, t->scales) {
		float scale = vector_float(&t->scales, i);
		table_must(q, isfinite(scale) && scale >= 0, "a scale is no finite number of at least 0");
		table_must(q, !(((uint64_t)zero_of(t, i) - (uint64_t)low) >> bits),
		        "a zero point is no number of its tensor's type");
	}
}

static void read_tensor(struct tfl *tfl, struct tfl_tensor *t)
{
	struct vector shape = table_vector(&t->table, 0, 4), signature = table_vector(&t->table, 7, 4);
	size_t type = (size_t)table_int(&t->table, 1, 1, 0), buffer = (size_t)table_int(&t->table, 2, 4, 0);
	struct bytes name = table_text(&t->table, 3);
	bool open = tfl->reader->options && tfl->reader->options->open && signature.count == shape.count;
	table_must(&t->table, type < COUNT(types), "its element type is not known");
	table_must(&t->table, !buffer || buffer < tfl->buffers.count, "its buffer is not there");
	if (shape.count > MAX_RANK)
		fail(tfl->build, EXIT_LIMIT, table_where(&t->table), "more than %d dimensions", MAX_RANK);
	t->said.name = reader_name(tfl->reader, name.at, name.count);
	t->said.type = types[type];
	t->said.rank = (int)shape.count;
	FOR_ALL (d, shape) {
		int64_t extent = vector_int(&shape, d);
		table_must(&t->table, extent >= -1, "a dimension is negative");
		t->said.dims[d].extent = open && vector_int(&signature, d) == -1 ? -1 : extent;
	}
	struct table quantisation = table_table(&t->table, 4, "QuantizationParameters");
	check_quantisation(t, &quantisation);
}

static struct tensor *named(struct tfl *tfl, const char *name)
{
	return *name && !graph_tensor(tfl->graph, name) ? graph_tensor_new(tfl->graph, name)
	                                                : graph_tensor_fresh(tfl->graph, *name ? name : "tensor");
}

/* The bytes of its buffer: in the buffer, or behind all tables where the file is large. */
static struct bytes buffer_of(struct tfl *tfl, const struct tfl_tensor *t)
{
	size_t index = (size_t)table_int(&t->table, 2, 4, 0);
	if (!index)
		return (struct bytes){ "", 0 };
	struct table buffer = vector_table(&tfl->buffers, index, "Buffer");
	uint64_t offset = (uint64_t)table_int(&buffer, 1, 8, 0), size = (uint64_t)table_int(&buffer, 2, 8, 0);
	if (offset <= 1)
		return table_text(&buffer, 0);
	table_must(&buffer, offset <= tfl->flat.bytes && size <= tfl->flat.bytes - offset,
	        "its bytes lie outside of the file");
	return (struct bytes){ (const char *)tfl->flat.at + offset, (size_t)size };
}

static bool is_constant(struct tfl *tfl, const struct tfl_tensor *t)
{
	return buffer_of(tfl, t).count || !tensor_elements(tfl->build, &t->said);
}

static struct tensor *constant_of(struct tfl *tfl, struct tfl_tensor *t)
{
	struct bytes bytes = buffer_of(tfl, t);
	struct tensor value = t->said;
	const char *where = table_where(&t->table);
	struct table sparsity = table_table(&t->table, 6, "SparsityParameters");
	if (t->said.type == DTYPE_STRING || t->said.type == DTYPE_NONE)
		fail(tfl->build, EXIT_UNSUPPORTED, where, "a constant of strings, resources or variants");
	table_must(&t->table, tensor_is_known(&value), "is a constant of unknown shape");
	if (sparsity.name)
		bytes = tfl_dense(&sparsity, &value, bytes);
	reader_data(tfl->reader, where, &value, bytes.at, bytes.count);
	struct tensor *made = named(tfl, value.name);
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
	FOR (i, tfl->count) {
		tfl->tensors[i].table = vector_table(&tensors, i, "Tensor");
		read_tensor(tfl, &tfl->tensors[i]);
	}
}

/* ---- what an operator reads ---- */
static struct tfl_tensor *tensor_at(struct tfl_op *op, const struct vector *list, size_t i, bool optional)
{
	int64_t index = i < list->count ? vector_int(list, i) : -1;
	table_must(&op->table, index >= -1 && index < (int64_t)op->tfl->count, "names a tensor that is not there");
	table_must(&op->table, optional || index >= 0, "lacks a tensor that it needs");
	return index < 0 ? NULL : &op->tfl->tensors[index];
}

bool tfl_has(struct tfl_op *op, size_t i) { return tensor_at(op, &op->in, i, true); }
struct tfl_tensor *tfl_in(struct tfl_op *op, size_t i) { return tensor_at(op, &op->in, i, false); }
struct tfl_tensor *tfl_out(struct tfl_op *op, size_t k) { return tensor_at(op, &op->out, k, false); }

void tfl_cannot(struct tfl_op *op, const char *what) { fail(op->tfl->build, EXIT_UNSUPPORTED, op->where, "%s", what); }

struct tensor *tfl_value(struct tfl_op *op, struct tfl_tensor *t)
{
	if (!t->value) {
		table_must(&op->table, is_constant(op->tfl, t), "reads what nothing before it makes");
		t->value = constant_of(op->tfl, t);
	}
	return t->value;
}

/* The scale or the zero point of a quantised tensor. */
static struct tensor *parameter(struct tfl *tfl, const struct tfl_tensor *t, bool scale)
{
	int64_t count = (int64_t)t->scales.count;
	enum dtype type = scale ? DTYPE_F32 : t->said.type;
	unsigned bits = (unsigned)dtypes[type].bits;
	unsigned char *data = arena_array(tfl->build->arena, (size_t)count, 4);
	FOR_ALL (i, t->scales)
		if (scale)
			memcpy(data + 4 * i, &(float){ vector_float(&t->scales, i) }, 4);
		else
			put_bits(data, i, bits, (unsigned)zero_of(t, i) & ((1u << bits) - 1));
	return graph_constant_borrowed(tfl->graph, scale ? "scale" : "zero", type, t->axis >= 0, &count, data);
}

static struct tensor *cast(struct tfl_op *op, struct tensor *x, enum dtype to)
{
	struct tensor *y = tfl_two(op, "Cast", x, NULL);
	tfl_attribute(y, "to", ATTRIBUTE_INT)->i = to;
	return y;
}

/* Floats of what is stored; the scales run along `axis`. */
struct tensor *tfl_dequantise(struct tfl_op *op, const struct tfl_tensor *t, struct tensor *value, int axis)
{
	enum dtype type = t->said.type;
	struct tensor *scale = parameter(op->tfl, t, true);
	if (type == DTYPE_I64)
		return tfl_two(op, "Mul", cast(op, value, DTYPE_F32), scale);
	struct tensor *in[] = { value, scale, type == DTYPE_I32 ? NULL : parameter(op->tfl, t, false) };
	struct tensor *real = tfl_node(op, "", "DequantizeLinear", in[2] ? 3 : 2, in, 1);
	if (t->axis >= 0)
		tfl_attribute(real, "axis", ATTRIBUTE_INT)->i = axis;
	return real;
}

struct tensor *tfl_real(struct tfl_op *op, struct tfl_tensor *t)
{
	if (!t->real)
		t->real = tfl_quantised(t) ? tfl_dequantise(op, t, tfl_value(op, t), t->axis) : tfl_value(op, t);
	return t->real;
}

struct tensor *tfl_int64(struct tfl_op *op, size_t i)
{
	static const int64_t one = 1, all = -1;
	struct tensor *list = cast(op, tfl_value(op, tfl_in(op, i)), DTYPE_I64);
	if (tfl_in(op, i)->said.rank)
		return list;
	return tfl_two(op, "Reshape", list, graph_constant(op->tfl->graph, op->name, DTYPE_I64, 1, &one, &all));
}

bool tfl_same(const struct tfl_tensor *a, const struct tfl_tensor *b)
{
	if (a->said.type != b->said.type || !tfl_quantised(a) || !tfl_quantised(b))
		return a->said.type == b->said.type && tfl_quantised(a) == tfl_quantised(b);
	return a->scales.count == 1 && b->scales.count == 1 && zero_of(a, 0) == zero_of(b, 0)
	        && vector_float(&a->scales, 0) == vector_float(&b->scales, 0);
}

/* ---- what an operator makes ---- */
struct tensor *tfl_node(
        struct tfl_op *op, const char *domain, const char *type, int ins, struct tensor *const *in, int outs)
{
	struct node *node = graph_node_new(op->tfl->graph, domain, type, "", ins, outs);
	node->where = op->where;
	node->is_given = true;
	memcpy(node->in, in, (size_t)ins * sizeof *in);
	FOR (k, outs)
		(node->out[k] = graph_tensor_fresh(op->tfl->graph, op->name))->producer = node;
	return node->out[0];
}

struct tensor *tfl_two(struct tfl_op *op, const char *type, struct tensor *a, struct tensor *b)
{
	return tfl_node(op, "", type, b ? 2 : 1, (struct tensor *[]){ a, b }, 1);
}

struct attribute *tfl_attribute(struct tensor *made, const char *name, enum attribute_kind kind)
{
	enum { MOST = 10 };
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

struct tensor *tfl_order(struct tfl_op *op, struct tensor *x, const int64_t *order)
{
	struct tensor *made = tfl_two(op, "Transpose", x, NULL);
	struct attribute *a = tfl_attribute(made, "perm", ATTRIBUTE_INTS);
	a->count = 4;
	a->ints = order;
	return made;
}

/* A tensor made for this alone gets the name of the file's; what somebody else has is handed on. */
struct tensor *tfl_named(struct tfl_op *op, struct tensor *made, const char *name)
{
	if (!made->producer || made->mark)
		made = tfl_two(op, "Identity", made, NULL);
	struct node *node = made->producer;
	int k = 0;
	while (node->out[k] != made)
		k++;
	made->producer = NULL;
	node->out[k] = named(op->tfl, name);
	node->out[k]->producer = node;
	node->out[k]->mark = 1;
	return node->out[k];
}

void tfl_give(struct tfl_op *op, size_t k, struct tensor *stored, bool first)
{
	static const int64_t order[] = { 0, 2, 3, 1 };
	struct tfl_tensor *t = tfl_out(op, k);
	table_must(&op->table, !t->value, "makes a tensor that is there already");
	t->value = tfl_named(op, first ? tfl_order(op, stored, order) : stored, t->said.name);
	t->first = first ? stored : NULL;
}

struct tensor *tfl_quantise(struct tfl_op *op, const struct tfl_tensor *t, struct tensor *real)
{
	if (!tfl_quantised(t))
		return real;
	if (dtypes[t->said.type].bits > 16 || t->axis >= 0)
		tfl_cannot(op, "makes what is quantised along an axis, or to more than 16 bits");
	struct tensor *in[] = { real, parameter(op->tfl, t, true), parameter(op->tfl, t, false) };
	return tfl_node(op, "", "QuantizeLinear", 3, in, 1);
}

struct tensor *tfl_first(struct tfl_op *op, struct tfl_tensor *t, bool real)
{
	static const int64_t order[] = { 0, 3, 1, 2 };
	table_must(&op->table, t->said.rank == 4, "its data has not 4 dimensions");
	if (real && t->axis >= 0 && tfl_quantised(t))
		tfl_cannot(op, "reads data that is quantised along an axis");
	if (!t->first)
		t->first = tfl_order(op, tfl_value(op, t), order);
	if (!t->first_real)
		t->first_real = tfl_quantised(t) ? tfl_dequantise(op, t, t->first, -1) : t->first;
	return real ? t->first_real : t->first;
}

/* ---- operators ---- */
struct tfl_code {
	const struct tfl_row *row; /* NULL: ingot has none */
	const char *said;          /* for messages */
	size_t refused;
};

static struct tfl_code *read_codes(struct tfl *tfl, const struct table *model, size_t *count)
{
	struct arena *arena = tfl->build->arena;
	struct vector list = table_vector(model, 1, 4);
	struct tfl_code *codes = arena_new_array(arena, struct tfl_code, list.count + 1);
	FOR_ALL (i, list) {
		struct table table = vector_table(&list, i, "OperatorCode");
		int64_t old = table_int(&table, 0, 1, 0), code = table_int(&table, 3, 4, 0);
		int64_t version = table_int(&table, 2, 4, 1), number = code > old ? code : old;
		struct bytes bytes = table_text(&table, 1);
		const char *custom = reader_name(tfl->reader, bytes.at, bytes.count);
		table_must(&table, number >= 0, "is an operator of a negative number");
		const struct tfl_row *row = tfl_row_of(number, custom);
		codes[i].row = row && row->type && version <= row->newest ? row : NULL;
		codes[i].said = *custom ? custom : row ? row->name : arena_printf(arena, "operator %d", (int)number);
		if (row && row->type && !codes[i].row)
			codes[i].said = arena_printf(arena, "%.60s of version %d (known up to %d)", codes[i].said,
			        (int)version, row->newest);
	}
	*count = list.count;
	return codes;
}

/* All that ingot lacks, in one message. */
static void check_codes(struct tfl *tfl, const struct tfl_code *codes, size_t count)
{
	const char *list = "";
	size_t kinds = 0;
	for (const struct tfl_code *c = codes; c < codes + count; c++)
		if (c->refused && kinds++ < LISTED)
			list = arena_printf(
			        tfl->build->arena, "%s%s%zu %.100s", list, kinds > 1 ? ", " : "", c->refused, c->said);
	if (kinds)
		fail(tfl->build, EXIT_UNSUPPORTED, tfl->reader->file, "%s not supported: %s%s",
		        kinds > 1 ? "these operators are" : "this operator is", list,
		        kinds > LISTED ? ", and others" : "");
}

static void read_operator(struct tfl *tfl, const struct tfl_row *row, struct table table, size_t i)
{
	struct arena *arena = tfl->build->arena;
	struct tfl_op op = { .tfl = tfl, .row = row, .table = table };
	char *name = arena_printf(arena, "%s_%zu", row->name, i);
	op.table.name = arena_printf(arena, "operator %zu (%s)", i, row->name);
	op.where = table_where(&op.table);
	op.name = name;
	for (; *name; name++)
		*name = (char)tolower((unsigned char)*name);
	op.in = table_vector(&table, 1, 4);
	op.out = table_vector(&table, 2, 4);
	op.options = table_table(&table, 4, "options");
	int kind = (uint8_t)table_int(&table, 3, 1, 0);
	if (op.options.name && row->options && kind != row->options)
		fail(arena->build, EXIT_INVALID, op.where, "has options of another operator (kind %d, %d is right)",
		        kind, row->options);
	FOR_ALL (k, op.out)
		table_must(&op.table, !is_constant(tfl, tfl_out(&op, k)), "makes a tensor that is there already");
	tfl_make(&op);
}

static void read_operators(struct tfl *tfl, const struct table *model, const struct table *subgraph)
{
	size_t code_count;
	struct tfl_code *codes = read_codes(tfl, model, &code_count);
	struct vector operators = table_vector(subgraph, 3, 4);
	FOR (pass, 2) {
		FOR_ALL (i, operators) {
			struct table table = vector_table(&operators, i, "Operator");
			size_t index = (size_t)table_int(&table, 0, 4, 0);
			table_must(&table, index < code_count, "has an operator code that is not there");
			if (pass)
				read_operator(tfl, codes[index].row, table, i);
			else
				codes[index].refused += !codes[index].row;
		}
		check_codes(tfl, codes, code_count);
	}
}

void tfl_subgraph(struct tfl_op *op, size_t index)
{
	struct tfl inner = *op->tfl;
	struct table model = flat_root(&inner.flat, "Model");
	struct vector subgraphs = table_vector(&model, 2, 4);
	table_must(&op->table, index < subgraphs.count, "calls a subgraph that is not there");
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
	struct table signature = { 0 };
	for (size_t i = signatures.count; i--;) {
		struct table one = vector_table(&signatures, i, "SignatureDef");
		signature = table_int(&one, 4, 4, 0) ? signature : one;
	}
	FOR (field, 2) {
		struct vector maps = table_vector(&signature, field, 4);
		FOR_ALL (k, maps) {
			struct table map = vector_table(&maps, k, "TensorMap");
			struct bytes name = table_text(&map, 0);
			size_t index = (size_t)table_int(&map, 1, 4, 0);
			table_must(&map, index < tfl->count, "names a tensor that is not there");
			if (name.count)
				tfl->tensors[index].said.name = reader_name(tfl->reader, name.at, name.count);
		}
	}
}

/* `ends`: an operator, as it were, that reads the inputs and makes the outputs. */
static struct tfl_tensor *end_of(const struct tfl_op *ends, struct tfl_tensor *t)
{
	if (t->said.type == DTYPE_NONE || t->said.type == DTYPE_STRING)
		fail(ends->tfl->build, EXIT_UNSUPPORTED, table_where(&t->table),
		        "an input or output of strings, resources or variants");
	return t;
}

static void read_inputs(struct tfl *tfl, struct tfl_op *ends)
{
	FOR_ALL (i, ends->in) {
		struct tfl_tensor *t = end_of(ends, tfl_in(ends, i));
		table_must(&t->table, !t->value && !is_constant(tfl, t), "is an input twice, or one with a value");
		struct tensor input = t->said;
		if (!*input.name || graph_tensor(tfl->graph, input.name))
			input.name = name_is(tfl->build->names, arena_printf(tfl->build->arena, "input_%zu", i));
		FOR (d, input.rank)
			if (input.dims[d].extent < 0)
				input.dims[d].symbol = name_is(
				        tfl->build->names, arena_printf(tfl->build->arena, "%s_%d", input.name, d));
		reader_input(tfl->reader, tfl->graph, &input);
		t->value = tfl->graph->inputs.at[i];
	}
}

static void read_outputs(struct tfl *tfl, struct tfl_op *ends)
{
	reader_outputs(tfl->graph, ends->out.count + *tfl->states);
	FOR_ALL (k, ends->out) {
		struct tfl_tensor *t = end_of(ends, tfl_out(ends, k));
		struct tensor *value = tfl_value(ends, t), hint = t->said;
		if (!value->producer || value->is_output)
			value = tfl_named(ends, value, t->said.name);
		value->is_output = true;
		tfl->graph->outputs.at[k] = value;
		hint.name = value->name;
		reader_hint(tfl->graph, &hint);
	}
	tfl_give_states(ends, tfl->graph->outputs.at + ends->out.count);
}

bool is_tflite(const void *at, size_t count) { return count >= 8 && !memcmp((const char *)at + 4, "TFL3", 4); }

struct graph *read_tflite(struct reader *reader, const void *at, size_t bytes)
{
	struct tfl_variable *variables = NULL;
	size_t states = 0;
	struct tfl tfl = { .reader = reader, .build = reader->build, .variables = &variables, .states = &states };
	tfl.flat = (struct flat){ reader->build, reader->file, at, bytes };
	struct table model = flat_root(&tfl.flat, "Model");
	int64_t version = table_int(&model, 0, 4, 0);
	if (version != TFL_VERSION)
		fail(reader->build, EXIT_UNSUPPORTED, reader->file,
		        "is of version %lld of the TensorFlow Lite schema; %d is known", (long long)version,
		        TFL_VERSION);
	reader_ir(reader, TFL_IR);
	reader_producer(reader, table_text(&model, 3), (struct bytes){ "", 0 });
	reader_opset(reader, "", TFL_OPSET);
	reader_opset(reader, "tflite", 1);
	struct vector subgraphs = table_vector(&model, 2, 4);
	table_must(&model, subgraphs.count > 0, "holds no subgraph");
	struct table subgraph = vector_table(&subgraphs, 0, "SubGraph");
	struct bytes name = table_text(&subgraph, 4);
	tfl.graph = reader_graph(reader, reader_name(reader, name.at, name.count));
	tfl.buffers = table_vector(&model, 4, 4);
	read_tensors(&tfl, &subgraph);
	read_signature(&tfl, &model);
	struct tfl_op ends = { .tfl = &tfl, .name = "output", .where = table_where(&subgraph), .table = subgraph };
	ends.in = table_vector(&subgraph, 1, 4);
	ends.out = table_vector(&subgraph, 2, 4);
	read_inputs(&tfl, &ends);
	read_operators(&tfl, &model, &subgraph);
	read_outputs(&tfl, &ends);
	return tfl.graph;
}
