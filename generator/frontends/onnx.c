/* onnx.c: ModelProto -> graph.  Field numbers are those of onnx.proto.  A message is walked more than once where order
 * does not help (the header may follow the graph): skipping a field costs no more than reading its length. */
#include "frontends/onnx_wire.h"
#include "frontends/reader.h"
#include <assert.h>

static const char *text_of(struct reader *reader, const struct wire_field *f)
{
	struct wire w = wire_bytes(f);
	return reader_name(reader, (const char *)w.at, wire_left(w));
}

/* ---- types ---- */
static const char *const type_words[] = {
	[4] = "a sequence",
	[5] = "a map",
	[7] = "opaque",
	[8] = "a sparse tensor",
	[9] = "optional",
};

/* A dimension of -1 is what some exporters write for one not known; others below 0 are refused where `strict`. */
static void read_shape(struct reader *reader, struct wire w, const char *where, struct tensor *tensor, bool strict)
{
	tensor->rank = 0;
	for (struct wire_field f; wire_next(&w, &f);) {
		if (f.number != 1)
			continue;
		struct wire dim = wire_bytes(&f);
		int64_t extent = -1;
		const char *symbol = NULL;
		for (struct wire_field d; wire_next(&dim, &d);)
			if (d.number == 1) {
				extent = wire_int(&d);
				if (extent < -1 && strict)
					fail(reader->build, EXIT_INVALID, where, "dimension %d is %lld", tensor->rank,
					        (long long)extent);
				extent = extent < 0 ? -1 : extent;
			} else if (d.number == 2 && wire_left(wire_bytes(&d))) {
				symbol = text_of(reader, &d);
			}
		reader_dim(reader, where, tensor, extent, extent < 0 ? symbol : NULL);
	}
}

static enum dtype read_dtype(struct reader *reader, const struct wire_field *f, const char *where)
{
	int64_t type = wire_int(f);
	if (type < 0 || type >= DTYPE_COUNT)
		fail(reader->build, EXIT_UNSUPPORTED, where, "its element type has the number %lld, which is not known",
		        (long long)type);
	return (enum dtype)type;
}

static void read_tensor_type(
        struct reader *reader, struct wire w, const char *where, struct tensor *tensor, bool strict)
{
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 1)
			tensor->type = read_dtype(reader, &f, where);
		else if (f.number == 2)
			read_shape(reader, wire_bytes(&f), where, tensor, strict);
}

/* A map from integers or strings to tensors; one in a sequence: the sequence is a tensor, with a row for each map.
 * Returns as read_type does. */
static const char *read_map(struct reader *reader, struct wire w, const char *where, struct tensor *tensor)
{
	struct tensor value = { .rank = -1 }, *keys = arena_new(reader->build->arena, struct tensor);
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 1) {
			keys->type = read_dtype(reader, &f, where);
		} else if (f.number == 2) {
			struct wire inner = wire_bytes(&f);
			for (struct wire_field i; wire_next(&inner, &i);)
				if (i.number == 1)
					read_tensor_type(reader, wire_bytes(&i), where, &value, false);
		}
	if (value.type == DTYPE_NONE)
		return "a map";
	bool alone = !tensor->form;
	*tensor = (struct tensor){ .name = tensor->name,
		.form = alone ? FORM_MAP : 0,
		.keys = alone ? keys : NULL,
		.type = value.type,
		.rank = -1,
		.is_maps = !alone };
	return NULL;
}

/* Form, type and shape of a tensor, a sequence of tensors or an optional of either; returns NULL, or the word for any
 * other type. */
static const char *read_type(
        struct reader *reader, struct wire w, const char *where, struct tensor *tensor, bool strict)
{
	const char *word = NULL;
	for (struct wire_field f; wire_next(&w, &f);) {
		if (f.number == 1) {
			read_tensor_type(reader, wire_bytes(&f), where, tensor, strict);
		} else if ((f.number == 4 && !(tensor->form & FORM_SEQUENCE)) || (f.number == 9 && !tensor->form)) {
			struct wire inner = wire_bytes(&f);
			tensor->form |= f.number == 4 ? FORM_SEQUENCE : FORM_OPTIONAL;
			for (struct wire_field i; wire_next(&inner, &i);)
				if (i.number == 1 && !word)
					word = read_type(reader, wire_bytes(&i), where, tensor, strict);
		} else if (f.number == 5 && !(tensor->form & FORM_OPTIONAL) && !word) {
			word = read_map(reader, wire_bytes(&f), where, tensor);
		} else if (f.number < COUNT(type_words) && type_words[f.number]) {
			word = type_words[f.number];
		}
	}
	return word;
}

/* What holds a type must say which. */
static const char *inner_type(struct reader *, struct wire, uint32_t field, const char *where, int depth);

/* A type as text, for attributes that hold one: float[N,2], seq(...), optional(...), map(int64, ...). */
static const char *type_text(struct reader *reader, struct wire w, const char *where, int depth)
{
	struct arena *arena = reader->build->arena;
	const char *text = NULL, *parts[2] = { "", "" };
	enum dtype key = DTYPE_NONE;
	if (depth > MAX_DEPTH)
		fail(reader->build, EXIT_LIMIT, where, "types nest deeper than %d", MAX_DEPTH);
	for (struct wire_field f; wire_next(&w, &f);) {
		struct tensor tensor = { .rank = -1 };
		if (f.number == 1 || f.number == 8) { /* both begin with element type and shape */
			read_tensor_type(reader, wire_bytes(&f), where, &tensor, false);
			text = type_of_tensor(reader->build, &tensor);
			text = f.number == 1 ? text : arena_printf(arena, "sparse_tensor(%s)", text);
		} else if (f.number == 4 || f.number == 9) {
			text = inner_type(reader, wire_bytes(&f), 1, where, depth + 1);
			text = arena_printf(arena, f.number == 4 ? "seq(%s)" : "optional(%s)", text);
		} else if (f.number == 5) {
			struct wire map = wire_bytes(&f);
			for (struct wire_field t; wire_next(&map, &t);)
				if (t.number == 1)
					key = read_dtype(reader, &t, where);
			text = arena_printf(arena, "map(%s, %s)", dtypes[key].text,
			        inner_type(reader, f.bytes, 2, where, depth + 1));
		} else if (f.number == 7) {
			struct wire opaque = wire_bytes(&f);
			for (struct wire_field t; wire_next(&opaque, &t);)
				if (t.number == 1 || t.number == 2)
					parts[t.number - 1] = text_of(reader, &t);
			text = opaque_text(reader->build, parts[0], parts[1]);
		}
	}
	if (!text)
		fail(reader->build, EXIT_INVALID, where, "an attribute holds a type that says nothing");
	return text;
}

static const char *inner_type(struct reader *reader, struct wire w, uint32_t field, const char *where, int depth)
{
	struct wire type = { .file = w.file };
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == field)
			type = wire_bytes(&f);
	return type_text(reader, type, where, depth);
}

/* ---- attributes ---- */
static const struct {
	uint32_t field;
	enum attribute_kind kind;
} attribute_fields[] = {
	{ 2, ATTRIBUTE_FLOAT },
	{ 3, ATTRIBUTE_INT },
	{ 4, ATTRIBUTE_STRING },
	{ 5, ATTRIBUTE_TENSOR },
	{ 6, ATTRIBUTE_GRAPH },
	{ 7, ATTRIBUTE_FLOATS },
	{ 8, ATTRIBUTE_INTS },
	{ 9, ATTRIBUTE_STRINGS },
	{ 10, ATTRIBUTE_TENSORS },
	{ 11, ATTRIBUTE_GRAPHS },
	{ 14, ATTRIBUTE_TYPE },
	{ 15, ATTRIBUTE_TYPES },
	{ 22, ATTRIBUTE_SPARSE_TENSOR },
	{ 23, ATTRIBUTE_SPARSE_TENSORS },
};

static void read_graph(struct reader *, struct wire, struct graph *);

static struct graph *read_subgraph(struct reader *reader, struct wire w, struct node *node)
{
	struct graph *graph = graph_new(reader->build, "", reader->file, node->graph);
	read_graph(reader, w, graph);
	return graph;
}

static struct tensor *keep(struct reader *reader, struct tensor value)
{
	struct tensor *tensor = arena_new(reader->build->arena, struct tensor);
	*tensor = value;
	return tensor;
}

static struct bytes bytes_of(const struct wire_field *f)
{
	struct wire w = wire_bytes(f);
	return (struct bytes){ (const char *)w.at, wire_left(w) };
}

static struct bytes type_bytes(struct reader *reader, struct wire w, const char *where)
{
	const char *text = type_text(reader, w, where, 0);
	return (struct bytes){ text, strlen(text) };
}

static void read_lists(struct reader *reader, struct wire w, struct node *node, struct attribute *a, uint32_t field)
{
	struct arena *arena = reader->build->arena;
	size_t n = 0;
	uint64_t value;
	if (a->kind == ATTRIBUTE_FLOATS || a->kind == ATTRIBUTE_INTS) {
		bool is_float = a->kind == ATTRIBUTE_FLOATS;
		a->count = wire_count(w, field, is_float ? WIRE_32 : WIRE_VARINT);
		float *floats = arena_new_array(arena, float, is_float ? a->count : 0);
		int64_t *ints = arena_new_array(arena, int64_t, is_float ? 0 : a->count);
		struct wire_numbers numbers = wire_numbers(w, field, is_float ? WIRE_32 : WIRE_VARINT);
		for (; wire_number(&numbers, &value); n++)
			if (is_float)
				memcpy(&floats[n], &value, 4);
			else
				ints[n] = (int64_t)value;
		a->floats = is_float ? floats : NULL;
		a->ints = is_float ? NULL : ints;
		return;
	}
	a->count = wire_repeats(w, field);
	struct bytes *strings = arena_new_array(arena, struct bytes, a->count);
	a->strings = strings;
	a->tensors = arena_new_array(arena, struct tensor *, a->kind == ATTRIBUTE_TENSORS ? a->count : 0);
	a->graphs = arena_new_array(arena, struct graph *, a->kind == ATTRIBUTE_GRAPHS ? a->count : 0);
	for (struct wire_field f; wire_next(&w, &f);) {
		if (f.number != field)
			continue;
		if (a->kind == ATTRIBUTE_STRINGS)
			strings[n++] = bytes_of(&f);
		else if (a->kind == ATTRIBUTE_TYPES)
			strings[n++] = type_bytes(reader, wire_bytes(&f), node->where);
		else if (a->kind == ATTRIBUTE_TENSORS)
			a->tensors[n++] = keep(reader, proto_tensor(reader, wire_bytes(&f), node->where));
		else
			a->graphs[n++] = read_subgraph(reader, wire_bytes(&f), node);
	}
}

static void read_value(struct reader *reader, const struct wire_field *f, struct node *node, struct attribute *a)
{
	switch (a->kind) {
	case ATTRIBUTE_FLOAT: a->f = wire_float(f); break;
	case ATTRIBUTE_INT: a->i = wire_int(f); break;
	case ATTRIBUTE_STRING: a->s = bytes_of(f); break;
	case ATTRIBUTE_TYPE: a->s = type_bytes(reader, wire_bytes(f), node->where); break;
	case ATTRIBUTE_TENSOR: a->t = keep(reader, proto_tensor(reader, wire_bytes(f), node->where)); break;
	case ATTRIBUTE_SPARSE_TENSOR: a->t = keep(reader, proto_sparse(reader, wire_bytes(f), node->where)); break;
	default:
		assert(a->kind == ATTRIBUTE_GRAPH);
		if (a->g)
			fail(reader->build, EXIT_INVALID, node->where, "attribute %.60s holds two graphs", a->name);
		a->g = read_subgraph(reader, wire_bytes(f), node);
	}
}

/* Which field holds the value: by `type`, which IR 1 did not have yet, and which must agree with what is there. */
static uint32_t value_field(struct reader *reader, struct wire w, const char *where, struct attribute *a)
{
	int64_t type = 0;
	uint32_t seen = 0;
	for (struct wire_field f; wire_next(&w, &f);) {
		if (f.number == 20)
			type = wire_int(&f);
		else if (f.number == 1)
			a->name = text_of(reader, &f);
		else if (f.number == 21 && wire_left(wire_bytes(&f)))
			a->ref = text_of(reader, &f);
		FOR (i, COUNT(attribute_fields))
			if (attribute_fields[i].field == f.number && f.number != seen) {
				if (seen)
					fail(reader->build, EXIT_INVALID, where, "attribute %.60s has two values",
					        a->name ? a->name : "");
				seen = f.number;
			}
	}
	if (!a->name || !*a->name)
		fail(reader->build, EXIT_INVALID, where, "an attribute has no name");
	FOR (i, COUNT(attribute_fields))
		if (type ? (int64_t)attribute_fields[i].kind == type : attribute_fields[i].field == seen) {
			a->kind = attribute_fields[i].kind;
			if (seen && attribute_fields[i].field != seen)
				fail(reader->build, EXIT_INVALID, where,
				        "attribute %.60s says that it is of another type than its value", a->name);
			return attribute_fields[i].field;
		}
	if (!a->ref)
		fail(reader->build, EXIT_INVALID, where, "attribute %.60s has %s", a->name,
		        type ? "an unknown type" : "no value");
	return 0;
}

static void read_attribute(struct reader *reader, struct wire w, struct node *node, struct attribute *a)
{
	static const bool is_list[] = {
		[ATTRIBUTE_FLOATS] = true,
		[ATTRIBUTE_INTS] = true,
		[ATTRIBUTE_STRINGS] = true,
		[ATTRIBUTE_TENSORS] = true,
		[ATTRIBUTE_GRAPHS] = true,
		[ATTRIBUTE_TYPES] = true,
	};
	a->s.at = "";
	uint32_t field = value_field(reader, w, node->where, a);
	if (a->ref)
		return;
	if (a->kind == ATTRIBUTE_SPARSE_TENSORS)
		fail(reader->build, EXIT_UNSUPPORTED, node->where, "attribute %.60s is a list of sparse tensors",
		        a->name);
	if (a->kind < (int)COUNT(is_list) && is_list[a->kind]) {
		read_lists(reader, w, node, a, field);
		return;
	}
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == field)
			read_value(reader, &f, node, a);
	if (((a->kind == ATTRIBUTE_TENSOR || a->kind == ATTRIBUTE_SPARSE_TENSOR) && !a->t)
	        || (a->kind == ATTRIBUTE_GRAPH && !a->g))
		fail(reader->build, EXIT_INVALID, node->where, "attribute %.60s has no value", a->name);
	/* A sparse tensor is dense from here on, also for Constant, the one node of ONNX that has such an attribute. */
	if (a->kind == ATTRIBUTE_SPARSE_TENSOR) {
		a->kind = ATTRIBUTE_TENSOR;
		if (!strcmp(a->name, "sparse_value"))
			a->name = name_is(reader->build->names, "value");
	}
}

/* ---- nodes ---- */
static void read_node(struct reader *reader, struct wire w, struct graph *graph)
{
	struct build *build = reader->build;
	const char *name = "", *type = "", *domain = "", *overload = "";
	size_t ins = wire_repeats(w, 1), outs = wire_repeats(w, 2), attributes = wire_repeats(w, 5);
	int in = 0, out = 0;
	struct wire walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 3)
			name = text_of(reader, &f);
		else if (f.number == 4)
			type = text_of(reader, &f);
		else if (f.number == 7)
			domain = text_of(reader, &f);
		else if (f.number == 8)
			overload = text_of(reader, &f);
	struct node *node = graph_node_new(graph, domain, type, name, (int)ins, (int)outs);
	if (!*type)
		fail(build, EXIT_INVALID, node->where, "has no operator");
	node->is_given = true;
	node->overload = name_is(build->names, overload);
	reader_attributes(reader, node->where, attributes);
	node->attributes = arena_new_array(build->arena, struct attribute, attributes);
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 1) {
			const char *tensor = text_of(reader, &f);
			if (*tensor)
				graph_use(graph, &node->in[in], tensor, node->where);
			in++;
		} else if (f.number == 2) {
			const char *tensor = text_of(reader, &f);
			if (*tensor)
				node_output(node, out, tensor);
			out++;
		} else if (f.number == 5) {
			struct attribute *a = &node->attributes[node->attribute_count];
			read_attribute(reader, wire_bytes(&f), node, a);
			node->attribute_count++;
		}
}

/* ---- graphs ---- */
static const char *value_name(struct reader *reader, struct wire w, struct wire *type)
{
	const char *name = "";
	*type = (struct wire){ .file = w.file };
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 1)
			name = text_of(reader, &f);
		else if (f.number == 2)
			*type = wire_bytes(&f);
	return name;
}

/* Name and type of an input, an output or a value; type and rank unknown where they are not there. */
static struct tensor read_declared(struct reader *reader, struct wire w, const char *kind, bool strict)
{
	struct tensor declared = { .rank = -1 };
	struct wire type;
	declared.name = value_name(reader, w, &type);
	const char *where = kind ? reader_where(reader, kind, declared.name) : reader->file;
	const char *word = read_type(reader, type, where, &declared, strict);
	if (declared.form == FORM_MAP && !(kind && !strcmp(kind, "input"))) {
		declared.form = 0;
		word = type_words[5];
	}
	if (word && kind)
		fail(reader->build, EXIT_UNSUPPORTED, where,
		        "is %s%s; only tensors, sequences of them and optionals of both go in and out",
		        declared.form & FORM_SEQUENCE ? "a sequence, and in it "
		                : declared.form       ? "optional, and in it "
		                                      : "",
		        word);
	if (word)
		declared = (struct tensor){ .name = declared.name, .rank = -1 };
	if (declared.is_maps && kind && !strcmp(kind, "input"))
		fail(reader->build, EXIT_UNSUPPORTED, where, "is a sequence of maps; such ones are outputs alone");
	return declared;
}

static void constant(struct reader *reader, struct graph *graph, struct tensor value)
{
	reader_constant(reader, graph, &value);
}

static void read_graph(struct reader *reader, struct wire w, struct graph *graph)
{
	struct wire walk = w;
	struct tensor declared;
	size_t k = 0;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 2) {
			graph->name = text_of(reader, &f);
		} else if (f.number == 11) {
			declared = read_declared(reader, wire_bytes(&f), "input", true);
			reader_input(reader, graph, &declared);
		}
	walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 5)
			constant(reader, graph, proto_tensor(reader, wire_bytes(&f), NULL));
		else if (f.number == 15)
			constant(reader, graph, proto_sparse(reader, wire_bytes(&f), NULL));
	walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 1)
			read_node(reader, wire_bytes(&f), graph);
	reader_outputs(graph, wire_repeats(w, 12));
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 12) {
			declared = read_declared(reader, wire_bytes(&f), "output", false);
			reader_output(reader, graph, k++, &declared);
		} else if (f.number == 13) {
			declared = read_declared(reader, wire_bytes(&f), NULL, false);
			reader_hint(graph, &declared);
		}
	graph_close(graph);
}

/* ---- the model ---- */
static void read_opset(struct reader *reader, struct wire w)
{
	const char *domain = "";
	int64_t version = 0;
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 1)
			domain = text_of(reader, &f);
		else if (f.number == 2)
			version = wire_int(&f);
	reader_opset(reader, domain, version);
}

static struct function *read_function(struct reader *reader, struct wire w)
{
	const char *domain = "", *name = "", *overload = "";
	__typeof__(reader->opsets) outer = reader->opsets; /* the function's own are in force inside */
	memset(&reader->opsets, 0, sizeof reader->opsets);
	size_t k = 0;
	struct wire walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 1)
			name = text_of(reader, &f);
		else if (f.number == 10)
			domain = text_of(reader, &f);
		else if (f.number == 13)
			overload = text_of(reader, &f);
		else if (f.number == 9)
			read_opset(reader, wire_bytes(&f));
	struct function *function = function_new(reader, domain, name, overload);
	if (!reader->opsets.count)
		memcpy(&function->body->opsets, &outer, sizeof outer);
	reader->opsets = outer;
	/* Defaults are attributes of no node; messages about them name the function. */
	struct graph *body = function->body;
	struct node place = { .where = reader_where(reader, "function", name), .graph = body };
	walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 4) {
			struct tensor input = { .name = text_of(reader, &f), .rank = -1 };
			reader_input(reader, body, &input);
		} else if (f.number == 6) {
			push(reader->build->arena, &function->parameters, text_of(reader, &f));
		}
	reader_attributes(reader, place.where, wire_repeats(w, 11));
	walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 7) {
			read_node(reader, wire_bytes(&f), body);
		} else if (f.number == 11) {
			struct attribute a = { 0 };
			read_attribute(reader, wire_bytes(&f), &place, &a);
			push(reader->build->arena, &function->defaults, a);
		}
	reader_outputs(body, wire_repeats(w, 5));
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 5) {
			struct tensor output = { .name = text_of(reader, &f), .rank = -1 };
			reader_output(reader, body, k++, &output);
		}
	graph_close(body);
	return function;
}

struct graph *read_model(struct reader *reader, const void *at, size_t bytes)
{
	struct build *build = reader->build;
	struct wire_file file = { build, reader->file, at };
	struct wire w = wire_of(&file, at, bytes), walk = w, graph_wire = { 0 };
	int64_t ir_version = 0;
	struct bytes producer[2] = { { 0 } }; /* name, version */
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 1) {
			ir_version = wire_int(&f);
		} else if (f.number == 2 || f.number == 3) {
			producer[f.number - 2] = bytes_of(&f);
		} else if (f.number == 8) {
			read_opset(reader, wire_bytes(&f));
		} else if (f.number == 7) {
			if (graph_wire.at)
				fail(build, EXIT_INVALID, reader->file, "holds two graphs: two models in one file?");
			graph_wire = wire_bytes(&f);
		}
	reader_ir(reader, ir_version);
	reader_producer(reader, producer[0], producer[1]);
	if (!graph_wire.at)
		fail(build, EXIT_INVALID, reader->file, "holds no graph");
	reader_opsets_done(reader);
	struct graph *graph = reader_graph(reader, "");
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 25) {
			struct function *function = read_function(reader, wire_bytes(&f));
			push(build->arena, &reader->functions, function);
		}
	read_graph(reader, graph_wire, graph);
	return graph;
}

/* ---- values: test data ---- */
/* elem_type of SequenceProto and OptionalProto; field 3 holds the tensors of both, field 5 the sequence of an optional.
 */
enum { ELEMENT_NONE, ELEMENT_TENSOR, ELEMENT_SEQUENCE = 3 };

static struct tensor *read_list(struct reader *reader, struct wire w, int form)
{
	struct tensor *value = arena_new(reader->build->arena, struct tensor);
	struct list *list = arena_new(reader->build->arena, struct list);
	int64_t element = ELEMENT_NONE;
	bool optional = form & FORM_OPTIONAL;
	struct wire walk = w, inner = { .file = w.file };
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 1)
			value->name = text_of(reader, &f);
		else if (f.number == 2)
			element = wire_int(&f);
		else if (f.number == 5)
			inner = wire_bytes(&f);
	value->form = form;
	value->list = list;
	if (optional && element == ELEMENT_NONE) {
		list->nothing = true;
		return value;
	}
	bool sequence = optional && (form & FORM_SEQUENCE);
	if (element != (sequence ? ELEMENT_SEQUENCE : ELEMENT_TENSOR) && (element || wire_repeats(w, 3)))
		fail(reader->build, EXIT_INVALID, reader->file, "holds elements of the kind %lld, not %s",
		        (long long)element, sequence ? "a sequence" : "tensors");
	if (sequence) {
		struct tensor *of = read_list(reader, inner, FORM_SEQUENCE);
		of->form = form;
		return of;
	}
	list->at = arena_new_array(reader->build->arena, struct tensor *, wire_repeats(w, 3) + 1);
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 3)
			list->at[list->count++] = keep(reader, proto_tensor(reader, wire_bytes(&f), NULL));
	if (optional && list->count != 1)
		fail(reader->build, EXIT_INVALID, reader->file, "is an optional that holds %zu tensors, 1 is right",
		        list->count);
	if (list->count > LIST_MOST)
		fail(reader->build, EXIT_LIMIT, reader->file, "holds %zu elements, ingot takes at most %d", list->count,
		        LIST_MOST);
	return value;
}

struct tensor *value_read_memory(struct build *build, const char *path, const void *at, size_t count, int form)
{
	struct reader reader = reader_new(build, arena_copy(build->arena, path, strlen(path)), NULL, NULL);
	struct wire_file file = { build, reader.file, at };
	struct wire w = wire_of(&file, at, count);
	return form ? read_list(&reader, w, form) : keep(&reader, proto_tensor(&reader, w, NULL));
}

struct tensor *value_read_proto(struct build *build, const char *path, int form)
{
	struct mapped mapped = file_map(build, path);
	return value_read_memory(build, path, mapped.at, mapped.bytes, form);
}
