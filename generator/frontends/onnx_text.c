/* onnx_text.c: ONNX's textual syntax -> graph.  The syntax is that of onnx.parser, with what graph/print.c adds.
 *
 *     model    = "<" key ":" value, ... ">" graph function*
 *     graph    = name "(" value ["=" data], ... ")" "=>" "(" value, ... ")" ["<" value ["=" data], ... ">"] "{" node*
 * "}" value    = [type] name node     = ["[" label "]"] name, ... "=" [domain "."] op [":" overload] ["@" version]
 * [attributes] "(" name, ... ")" [attributes] attributes = "<" name [":" kind] "=" (item | "[" item, ... "]"), ... ">"
 *     item     = int | float | string | type | type data | graph | "@" name
 *     data     = "{" element, ... "}" | "[" key ":" value, ... "]"           the latter: external
 *     function = "<" key ":" value, ... ">" name ["<" name | attribute, ... ">"] "(" ... ")" "=>" "(" ... ")" ["<" ...
 * ">"] "{" node* "}"
 *
 * Names are identifiers or in quotes; # begins a comment. */
#include "frontends/reader.h"
#include "frontends/text_scan.h"
#include <stdlib.h>

static struct graph *parse_graph(struct scan *, const char *name, struct graph *outer);

/* ---- types ---- */
static const struct {
	const char *word, *what;
} type_words[] = {
	{ "seq", "a sequence" },
	{ "map", "a map" },
	{ "optional", "optional" },
	{ "sparse_tensor", "a sparse tensor" },
	{ "opaque", "opaque" },
};

static int dtype_word(struct bytes word)
{
	FOR (type, DTYPE_COUNT)
		if (word.count == strlen(dtypes[type].text) && !memcmp(word.at, dtypes[type].text, word.count))
			return type;
	return -1;
}

static int type_word(struct bytes word)
{
	FOR (i, COUNT(type_words))
		if (word.count == strlen(type_words[i].word) && !memcmp(word.at, type_words[i].word, word.count))
			return (int)i;
	return -1;
}

static bool at_type(struct scan *s)
{
	struct bytes word = scan_peek_word(s);
	return dtype_word(word) >= 0 || type_word(word) >= 0;
}

/* Of a word where a type should be: the one that is near. */
static NORETURN void refuse_type(struct scan *s, struct bytes word)
{
	struct nearest nearest = { .name = (const char *)word.at, .length = word.count };
	FOR (type, DTYPE_COUNT)
		nearest_try(&nearest, dtypes[type].text, strlen(dtypes[type].text));
	s->at = word.at;
	scan_fail(s,
	        nearest.best ? arena_printf(s->reader->build->arena, "a type, perhaps %s, belongs here", nearest.best)
	                     : "a type belongs here");
}

static int64_t parse_extent(struct scan *s)
{
	const void *at = s->at;
	int64_t extent = scan_int(s);
	if (extent < -1) {
		s->at = at;
		scan_fail(s, "an extent from 0 on belongs here");
	}
	return extent;
}

static void parse_dims(struct scan *s, struct tensor *tensor)
{
	const char *where = s->reader->file;
	tensor->rank = 0;
	if (!scan_take(s, '['))
		return;
	tensor->rank = -1;
	if (scan_take(s, ']'))
		return;
	tensor->rank = 0;
	do {
		const char *symbol;
		if (scan_take(s, '?'))
			reader_dim(s->reader, where, tensor, -1, NULL);
		else if ((symbol = scan_name(s)))
			reader_dim(s->reader, where, tensor, -1, *symbol ? symbol : NULL);
		else
			reader_dim(s->reader, where, tensor, parse_extent(s), NULL);
	} while (scan_take(s, ','));
	scan_want(s, ']');
}

/* A type; `tensor` gets that of a tensor, of a sequence of tensors, or of an optional of either: its form is not 0
 * then; of a sequence of maps to tensors, that of what they map to.  Returns NULL for a tensor, else the text of the
 * type, as print.c would print it. */
static const char *parse_type(struct scan *s, struct tensor *tensor, int depth)
{
	struct build *build = s->reader->build;
	struct bytes word = scan_word(s);
	int type = dtype_word(word), kind = type_word(word);
	struct tensor inner = { .rank = -1 }, *keys = arena_new(build->arena, struct tensor);
	const char *text, *key = "";
	if (depth > MAX_DEPTH)
		fail(build, EXIT_LIMIT, s->reader->file, "types nest deeper than %d", MAX_DEPTH);
	if (type >= 0) {
		tensor->type = (enum dtype)type;
		parse_dims(s, tensor);
		return NULL;
	}
	if (kind < 0)
		refuse_type(s, word);
	scan_want(s, '(');
	if (!strcmp(type_words[kind].word, "opaque")) {
		const char *name = scan_name(s), *domain = NULL;
		if (name && scan_take(s, ',')) {
			domain = name;
			name = scan_name(s);
		}
		scan_want(s, ')');
		return opaque_text(build, domain ? domain : "", name ? name : "");
	}
	if (!strcmp(type_words[kind].word, "map")) {
		if ((type = dtype_word(scan_word(s))) < 0)
			scan_fail(s, "an element type belongs here");
		key = arena_printf(build->arena, "%s, ", dtypes[type].text);
		scan_want(s, ',');
	}
	text = parse_type(s, &inner, depth + 1);
	int form = !strcmp(type_words[kind].word, "seq")     ? FORM_SEQUENCE
	        : !strcmp(type_words[kind].word, "optional") ? FORM_OPTIONAL
	                                                     : 0;
	if (!text && *key) {
		keys->type = (enum dtype)type;
		*tensor = (struct tensor){ .form = FORM_MAP, .keys = keys, .type = inner.type, .rank = -1 };
	} else if (form == FORM_SEQUENCE && inner.form == FORM_MAP) {
		*tensor = (struct tensor){ .type = inner.type, .rank = -1, .is_maps = true };
	}
	if (form && (text ? form == FORM_OPTIONAL && inner.form == FORM_SEQUENCE : true)) {
		*tensor = inner;
		tensor->form |= form;
	}
	if (!text)
		text = type_of_tensor(build, &inner);
	scan_want(s, ')');
	return arena_printf(build->arena, "%s(%s%s)", type_words[kind].word, key, text);
}

/* ---- the data of constants ---- */
static void parse_external(struct scan *s, const char *where, struct tensor *tensor)
{
	struct external external = { 0 };
	do {
		struct bytes key = scan_string(s), value;
		scan_want(s, ':');
		value = scan_string(s);
		external_entry(s->reader, where, &external, key, value);
	} while (scan_take(s, ','));
	scan_want(s, ']');
	external_data(s->reader, where, tensor, &external);
}

static void parse_element(struct scan *s, const char *where, enum dtype type, void *data, size_t i)
{
	int bits = dtypes[type].bits;
	union {
		float f;
		double d;
		int64_t i;
		uint64_t u;
	} value = { 0 };
	switch (type) {
	case DTYPE_F32:
	case DTYPE_C64:
		value.f = scan_float(s);
		memcpy((char *)data + 4 * i, &value.f, 4);
		return;
	case DTYPE_F64:
	case DTYPE_C128:
		value.d = scan_double(s);
		memcpy((char *)data + 8 * i, &value.d, 8);
		return;
	case DTYPE_U64:
		value.u = scan_unsigned(s);
		memcpy((char *)data + 8 * i, &value.u, 8);
		return;
	default:
		value.i = scan_int(s);
		if (bits < 64 && (value.i >= (int64_t)1 << bits || value.i < -((int64_t)1 << (bits - 1))))
			fail(s->reader->build, EXIT_INVALID, where, "element %zu does not fit %s: %lld", i,
			        dtypes[type].text, (long long)value.i);
		if (bits < 8)
			put_bits(data, i, (unsigned)bits, (unsigned)value.u & ((1u << bits) - 1));
		else
			memcpy((char *)data + (size_t)(bits / 8) * i, &value.u, (size_t)bits / 8);
	}
}

/* Elements cannot be more than the commas that follow, so a shape of the file's own making allocates no more than that.
 */
static size_t commas_ahead(const struct scan *s)
{
	size_t n = 1;
	for (const char *at = s->at; at < s->end && *at != '}'; at++)
		n += *at == ',';
	return n;
}

static void parse_data(struct scan *s, struct tensor *tensor, const char *what)
{
	struct build *build = s->reader->build;
	const char *where = reader_where(s->reader, what, tensor->name);
	if (!tensor_is_known(tensor))
		fail(build, EXIT_INVALID, where, "a constant needs an element type and a shape of numbers");
	size_t count = (size_t)tensor_elements(build, tensor), n = 0;
	bool is_complex = tensor->type == DTYPE_C64 || tensor->type == DTYPE_C128,
	     is_string = tensor->type == DTYPE_STRING;
	count *= is_complex ? 2 : 1;
	tensor->is_initializer = true;
	if (scan_take(s, '[')) {
		if (is_string)
			fail(build, EXIT_INVALID, where, "strings cannot be external");
		parse_external(s, where, tensor);
		return;
	}
	scan_want(s, '{');
	/* Strings may hold braces: they are counted as they come. */
	VECTOR(const char *) strings = { 0 };
	size_t bytes = dtype_bytes(tensor->type, is_complex ? count / 2 : count);
	if (!is_string && count > commas_ahead(s))
		fail(build, EXIT_INVALID, where, "holds fewer than its %zu elements", count);
	char *data = arena_alloc(build->arena, is_string ? 0 : bytes);
	if (!scan_take(s, '}')) {
		do {
			if (is_string) {
				struct bytes string = scan_string(s);
				if (string.count && memchr(string.at, 0, string.count))
					fail(build, EXIT_UNSUPPORTED, where, "string %zu holds a NUL byte", n);
				push(build->arena, &strings, arena_copy(build->arena, string.at, string.count));
			} else if (n < count) {
				parse_element(s, where, tensor->type, data, n);
			}
			n++;
		} while (n <= count && scan_take(s, ','));
		if (n <= count)
			scan_want(s, '}');
	}
	if (n != count)
		fail(build, EXIT_INVALID, where, "holds %s than its %zu elements", n < count ? "fewer" : "more", count);
	if (is_string)
		tensor->data = tensor->strings =
		        strings.at ? strings.at : arena_new_array(build->arena, const char *, 0);
	else
		reader_data(s->reader, where, tensor, data, bytes);
}

/* ---- attributes ---- */
static const struct {
	const char *word;
	enum attribute_kind kind, item;
} kind_words[] = {
	{ "float", ATTRIBUTE_FLOAT, 0 },
	{ "int", ATTRIBUTE_INT, 0 },
	{ "string", ATTRIBUTE_STRING, 0 },
	{ "tensor", ATTRIBUTE_TENSOR, 0 },
	{ "graph", ATTRIBUTE_GRAPH, 0 },
	{ "type_proto", ATTRIBUTE_TYPE, 0 },
	{ "floats", ATTRIBUTE_FLOATS, ATTRIBUTE_FLOAT },
	{ "ints", ATTRIBUTE_INTS, ATTRIBUTE_INT },
	{ "strings", ATTRIBUTE_STRINGS, ATTRIBUTE_STRING },
	{ "tensors", ATTRIBUTE_TENSORS, ATTRIBUTE_TENSOR },
	{ "graphs", ATTRIBUTE_GRAPHS, ATTRIBUTE_GRAPH },
	{ "type_protos", ATTRIBUTE_TYPES, ATTRIBUTE_TYPE },
};

static struct attribute parse_item(struct scan *s, struct graph *graph)
{
	struct build *build = s->reader->build;
	struct attribute a = { .s.at = "" };
	struct tensor tensor = { .name = name_is(build->names, ""), .rank = -1 };
	char next = scan_peek(s);
	if (scan_take(s, '@')) {
		if (!(a.ref = scan_name(s)))
			scan_fail(s, "the name of an attribute belongs here");
	} else if (at_type(s)) {
		const char *text = parse_type(s, &tensor, 0);
		next = scan_peek(s);
		if (!text && (next == '{' || next == '=' || next == '"' || scan_peek_word(s).count)) {
			const char *name = scan_name(s);
			tensor.name = name ? name : tensor.name;
			scan_take(s, '=');
			parse_data(s, &tensor, "attribute tensor");
			a.kind = ATTRIBUTE_TENSOR;
			a.t = arena_new(build->arena, struct tensor);
			*a.t = tensor;
		} else {
			a.kind = ATTRIBUTE_TYPE;
			text = text ? text : type_of_tensor(build, &tensor);
			a.s = (struct bytes){ text, strlen(text) };
		}
	} else if (next == '"') {
		a.kind = ATTRIBUTE_STRING;
		a.s = scan_string(s);
	} else if (scan_peek_word(s).count && !scan_at_float_word(s)) {
		a.kind = ATTRIBUTE_GRAPH;
		a.g = parse_graph(s, scan_name(s), graph);
	} else {
		struct number number = scan_number(s);
		a.kind = number.is_float ? ATTRIBUTE_FLOAT : ATTRIBUTE_INT;
		if (number.is_float)
			a.f = strtof(number.text, NULL);
		else
			a.i = number_int(s, &number);
	}
	return a;
}

/* An integer stands for a float where a float is asked for. */
static void as_kind(struct scan *s, struct attribute *a, enum attribute_kind kind)
{
	if (kind == ATTRIBUTE_FLOAT && a->kind == ATTRIBUTE_INT && !a->ref) {
		a->kind = ATTRIBUTE_FLOAT;
		a->f = (float)a->i;
	}
	if (a->ref && !a->kind)
		a->kind = kind;
	if (kind && a->kind != kind)
		scan_refuse(s, "the value of an attribute is not of the kind that was said before");
}

static void parse_list(struct scan *s, struct graph *graph, struct attribute *list, enum attribute_kind item_kind)
{
	struct arena *arena = s->reader->build->arena;
	VECTOR(struct attribute) items = { 0 };
	if (!scan_take(s, ']')) {
		do {
			struct attribute item = parse_item(s, graph);
			if (item.ref)
				scan_refuse(s, "a list cannot hold a reference");
			/* [1, 2.5] is a list of floats. */
			if (!item_kind && items.count && item.kind == ATTRIBUTE_FLOAT
			        && items.at[0].kind == ATTRIBUTE_INT)
				FOR_ALL (i, items)
					as_kind(s, &items.at[i], ATTRIBUTE_FLOAT);
			as_kind(s, &item, item_kind ? item_kind : items.count ? items.at[0].kind : item.kind);
			push(arena, &items, item);
		} while (scan_take(s, ','));
		scan_want(s, ']');
	} else if (!item_kind) {
		scan_refuse(s, "an empty list must say of what, as in name: ints = []");
	}
	enum attribute_kind kind = items.count ? items.at[0].kind : item_kind;
	FOR (i, COUNT(kind_words))
		if (kind_words[i].item == kind)
			list->kind = kind_words[i].kind;
	size_t n = list->count = items.count;
	float *floats = arena_new_array(arena, float, n);
	int64_t *ints = arena_new_array(arena, int64_t, n);
	struct bytes *strings = arena_new_array(arena, struct bytes, n);
	struct tensor **tensors = arena_new_array(arena, struct tensor *, n);
	struct graph **graphs = arena_new_array(arena, struct graph *, n);
	FOR (i, n) {
		floats[i] = items.at[i].f;
		ints[i] = items.at[i].i;
		strings[i] = items.at[i].s;
		tensors[i] = items.at[i].t;
		graphs[i] = items.at[i].g;
	}
	list->floats = list->kind == ATTRIBUTE_FLOATS ? floats : NULL;
	list->ints = list->kind == ATTRIBUTE_INTS ? ints : NULL;
	list->strings = list->kind == ATTRIBUTE_STRINGS || list->kind == ATTRIBUTE_TYPES ? strings : NULL;
	list->tensors = list->kind == ATTRIBUTE_TENSORS ? tensors : NULL;
	list->graphs = list->kind == ATTRIBUTE_GRAPHS ? graphs : NULL;
}

/* What follows the name of an attribute. */
static struct attribute parse_attribute(struct scan *s, struct graph *graph, const char *name)
{
	struct attribute a = { .s.at = "" };
	enum attribute_kind kind = 0, item = 0;
	if (scan_take(s, ':')) {
		struct bytes word = scan_word(s);
		FOR (i, COUNT(kind_words))
			if (word.count == strlen(kind_words[i].word)
			        && !memcmp(word.at, kind_words[i].word, word.count)) {
				kind = kind_words[i].kind;
				item = kind_words[i].item;
			}
		if (!kind)
			s->at = word.at, scan_fail(s, "a kind of attribute belongs here");
	}
	scan_want(s, '=');
	if (scan_take(s, '[')) {
		if (kind && !item)
			scan_refuse(s, "a list stands where a single value was said");
		parse_list(s, graph, &a, item);
	} else {
		a = parse_item(s, graph);
		as_kind(s, &a, kind);
	}
	a.name = name;
	return a;
}

static void parse_attributes(struct scan *s, struct node *node)
{
	VECTOR(struct attribute) all = { 0 };
	if (node->attribute_count || !scan_take(s, '<'))
		return;
	do {
		const char *name = scan_name(s);
		if (!name || !*name)
			scan_fail(s, "the name of an attribute belongs here");
		struct attribute a = parse_attribute(s, node->graph, name);
		push(s->reader->build->arena, &all, a);
		reader_attributes(s->reader, node->where, all.count);
	} while (scan_take(s, ','));
	scan_want(s, '>');
	node->attributes = all.at;
	node->attribute_count = (int)all.count;
}

/* ---- nodes ---- */
typedef VECTOR(const char *) name_list;

static name_list parse_names(struct scan *s)
{
	name_list names = { 0 };
	const char *name = scan_name(s);
	/* An empty name may be left out before a comma: Op(,x). */
	while (name || scan_peek(s) == ',') {
		push(s->reader->build->arena, &names, name ? name : name_is(s->reader->build->names, ""));
		if (!scan_take(s, ','))
			break;
		name = scan_name(s);
	}
	return names;
}

static void parse_node(struct scan *s, struct graph *graph)
{
	struct build *build = s->reader->build;
	const char *label = "", *domain = "", *overload = "", *type, *name;
	int64_t since = 0;
	if (scan_take(s, '[')) {
		label = (name = scan_name(s)) ? name : "";
		scan_want(s, ']');
	}
	name_list outs = parse_names(s);
	scan_want(s, '=');
	type = scan_name(s);
	while (type && scan_take(s, '.')) {
		domain = *domain ? arena_printf(build->arena, "%s.%s", domain, type) : type;
		type = scan_name(s);
	}
	if (!type || !*type)
		scan_fail(s, "the name of an operator belongs here");
	if (scan_take(s, ':') && !(overload = scan_name(s)))
		scan_fail(s, "the name of an overload belongs here");
	if (scan_take(s, '@') && ((since = scan_int(s)) < 1 || since > INT32_MAX))
		scan_refuse(s, "a version is a number above 0");
	struct node *node = graph_node_new(graph, domain, type, label, 0, (int)outs.count);
	node->overload = name_is(build->names, overload);
	node->since = since ? (int)since : node->since;
	node->is_given = !since; /* a version of its own is our syntax, of nodes that we made */
	FOR_ALL (k, outs)
		if (*outs.at[k])
			node_output(node, (int)k, outs.at[k]);
	parse_attributes(s, node);
	scan_want(s, '(');
	name_list ins = parse_names(s);
	scan_want(s, ')');
	node->ins = (int)ins.count;
	node->in = arena_new_array(build->arena, struct tensor *, ins.count);
	FOR_ALL (i, ins)
		if (*ins.at[i])
			graph_use(graph, &node->in[i], ins.at[i], node->where);
	parse_attributes(s, node);
}

/* ---- graphs ---- */
typedef VECTOR(struct tensor) value_list;

/* A declared value; where only tensors can be, other types are refused by name. */
static struct tensor parse_value(struct scan *s, const char *kind)
{
	struct tensor value = { .rank = -1 };
	const char *text = at_type(s) ? parse_type(s, &value, 0) : NULL;
	struct bytes word = scan_peek_word(s);
	if (!(value.name = scan_name(s)))
		scan_fail(s, "a name belongs here");
	if (!text && (scan_peek(s) == '[' || scan_peek_word(s).count))
		refuse_type(s, word);
	bool is_input = kind && !strcmp(kind, "input"), maps = value.is_maps && !is_input;
	if (value.form == FORM_MAP && !is_input)
		value.form = 0;
	if (text && !value.form && !maps)
		value = (struct tensor){ .name = value.name, .rank = -1 };
	if (text && kind && !value.form && !maps)
		fail(s->reader->build, EXIT_UNSUPPORTED, reader_where(s->reader, kind, value.name),
		        "is of type %.60s; only tensors, sequences of them and optionals of both go in and out", text);
	return value;
}

/* Values in brackets: `values` gets those without data, in a list of inputs all; constants go to the graph. */
static void parse_values(
        struct scan *s, char close, const char *kind, struct graph *graph, bool inputs, value_list *values)
{
	if (scan_take(s, close))
		return;
	do {
		struct tensor value = parse_value(s, kind);
		if (inputs)
			reader_input(s->reader, graph, &value);
		if (graph && scan_take(s, '=')) {
			if (scan_peek(s) == '>') {
				s->at--;
				scan_fail(s, close == ')' ? "a ) belongs here" : "a > belongs here");
			}
			parse_data(s, &value, "initialiser");
			reader_constant(s->reader, graph, &value);
		} else if (!inputs) {
			push(s->reader->build->arena, values, value);
		}
	} while (scan_take(s, ','));
	scan_want(s, close);
}

static void parse_arrow(struct scan *s)
{
	scan_want(s, '=');
	scan_want(s, '>');
}

static void parse_body(struct scan *s, struct graph *graph, const value_list *outputs, const value_list *hints)
{
	scan_want(s, '{');
	while (!scan_take(s, '}'))
		parse_node(s, graph);
	reader_outputs(graph, outputs->count);
	FOR (k, outputs->count)
		reader_output(s->reader, graph, k, &outputs->at[k]);
	FOR (i, hints->count)
		reader_hint(graph, &hints->at[i]);
	graph_close(graph);
}

static struct graph *parse_graph(struct scan *s, const char *name, struct graph *outer)
{
	struct reader *reader = s->reader;
	value_list outputs = { 0 }, hints = { 0 };
	if (!name)
		scan_fail(s, "the name of a graph belongs here");
	struct graph *graph = outer ? graph_new(reader->build, name, reader->file, outer) : reader_graph(reader, name);
	if (scan_take(s, '('))
		parse_values(s, ')', "input", graph, true, NULL);
	parse_arrow(s);
	scan_want(s, '(');
	parse_values(s, ')', "output", NULL, false, &outputs);
	if (scan_take(s, '<'))
		parse_values(s, '>', NULL, graph, false, &hints);
	parse_body(s, graph, &outputs, &hints);
	return graph;
}

/* ---- models and functions ---- */
static void parse_opsets(struct scan *s)
{
	scan_want(s, '[');
	if (scan_take(s, ']'))
		return;
	do {
		struct bytes domain = scan_string(s);
		scan_want(s, ':');
		reader_opset(s->reader, reader_name(s->reader, domain.at, domain.count), scan_int(s));
	} while (scan_take(s, ','));
	scan_want(s, ']');
}

static void skip_pairs(struct scan *s)
{
	scan_want(s, '[');
	if (scan_take(s, ']'))
		return;
	do {
		scan_string(s);
		scan_want(s, ':');
		scan_string(s);
	} while (scan_take(s, ','));
	scan_want(s, ']');
}

static bool is(struct bytes word, const char *text)
{
	return word.count == strlen(text) && !memcmp(word.at, text, word.count);
}

struct header {
	int64_t ir_version;
	const char *domain, *overload;
	struct bytes producer, version;
};

/* Docs and metadata are read over. */
static struct header parse_header(struct scan *s)
{
	struct header header = { .domain = "", .overload = "" };
	scan_want(s, '<');
	do {
		struct bytes key = scan_word(s);
		scan_want(s, ':');
		if (is(key, "ir_version")) {
			header.ir_version = scan_int(s);
		} else if (is(key, "opset_import")) {
			parse_opsets(s);
		} else if (is(key, "domain") || is(key, "overload")) {
			struct bytes value = scan_string(s);
			*(is(key, "domain") ? &header.domain : &header.overload) =
			        reader_name(s->reader, value.at, value.count);
		} else if (is(key, "metadata_props")) {
			skip_pairs(s);
		} else if (is(key, "model_version")) {
			scan_int(s);
		} else if (is(key, "producer_name")) {
			header.producer = scan_string(s);
		} else if (is(key, "producer_version")) {
			header.version = scan_string(s);
		} else if (is(key, "doc_string")) {
			scan_string(s);
		} else {
			s->at = key.at;
			scan_fail(s, "a key of the header belongs here");
		}
	} while (scan_take(s, ','));
	scan_want(s, '>');
	return header;
}

static void parse_parameters(struct scan *s, struct function *function)
{
	struct arena *arena = s->reader->build->arena;
	if (!scan_take(s, '<'))
		return;
	do {
		const char *name = scan_name(s);
		if (!name || !*name)
			scan_fail(s, "the name of an attribute belongs here");
		if (scan_peek(s) == ':' || scan_peek(s) == '=') {
			struct attribute a = parse_attribute(s, function->body, name);
			push(arena, &function->defaults, a);
		} else {
			push(arena, &function->parameters, name);
		}
		reader_attributes(s->reader, s->reader->file, function->defaults.count);
	} while (scan_take(s, ','));
	scan_want(s, '>');
}

/* From the name on; the reader's opsets are in force inside. */
static struct function *parse_function(struct scan *s, const struct header *header)
{
	struct reader *reader = s->reader;
	value_list outputs = { 0 }, hints = { 0 };
	const char *name = scan_name(s);
	if (!name)
		scan_fail(s, "the name of a function belongs here");
	struct function *function = function_new(reader, header->domain, name, header->overload);
	parse_parameters(s, function);
	scan_want(s, '(');
	parse_values(s, ')', "input", function->body, true, NULL);
	parse_arrow(s);
	scan_want(s, '(');
	parse_values(s, ')', "output", NULL, false, &outputs);
	if (scan_take(s, '<'))
		parse_values(s, '>', NULL, NULL, false, &hints);
	parse_body(s, function->body, &outputs, &hints);
	return function;
}

static struct function *parse_model_function(struct scan *s)
{
	struct reader *reader = s->reader;
	__typeof__(reader->opsets) outer = reader->opsets; /* the function's own are in force inside */
	memset(&reader->opsets, 0, sizeof reader->opsets);
	struct header header = parse_header(s);
	if (!reader->opsets.count)
		memcpy(&reader->opsets, &outer, sizeof outer);
	struct function *function = parse_function(s, &header);
	reader->opsets = outer;
	return function;
}

struct function *read_text_function(struct reader *reader, const char *text, size_t count)
{
	struct scan s = { reader, text, text, text + count };
	struct function *function = parse_function(&s, &(struct header){ .domain = "", .overload = "" });
	if (scan_peek(&s) || s.at < s.end)
		scan_fail(&s, "the end of the text belongs here");
	return function;
}

struct graph *read_head(struct build *build, const char *file, const char *text, size_t count)
{
	struct reader reader = reader_new(build, file, NULL, NULL);
	struct scan s = { &reader, text, text, text + count };
	value_list outputs = { 0 };
	const char *name = scan_name(&s);
	if (!name)
		scan_fail(&s, "the name of an operator belongs here");
	struct graph *graph = reader_graph(&reader, name);
	scan_want(&s, '(');
	parse_values(&s, ')', "input", graph, true, NULL);
	parse_arrow(&s);
	scan_want(&s, '(');
	parse_values(&s, ')', "output", NULL, false, &outputs);
	if (scan_peek(&s) || s.at < s.end)
		scan_fail(&s, "the end of the text belongs here");
	FOR_ALL (k, outputs) {
		struct tensor *tensor = graph_tensor_new(graph, outputs.at[k].name);
		tensor->type = outputs.at[k].type;
		tensor->rank = outputs.at[k].rank;
		memcpy(tensor->dims, outputs.at[k].dims, sizeof tensor->dims);
		push(build->arena, &graph->outputs, tensor);
	}
	return graph;
}

struct graph *read_text(struct reader *reader, const void *file, size_t count)
{
	const char *text = file;
	struct scan s = { reader, text, text, text + count };
	struct header header = parse_header(&s);
	reader_ir(reader, header.ir_version);
	reader_producer(reader, header.producer, header.version);
	reader_opsets_done(reader);
	struct graph *graph = parse_graph(&s, scan_name(&s), NULL);
	while (scan_peek(&s) || s.at < s.end) {
		struct function *function = parse_model_function(&s);
		push(reader->build->arena, &reader->functions, function);
	}
	return graph;
}
