/* onnx_write.c: graph -> the bytes of an ONNX file.
 *
 * A message stands in a text of its own until its length is known; field numbers are those of onnx.proto. */
#include "frontends/frontends.h"

struct writer {
	struct build *build;
	const struct graph *main;
	VECTOR(struct opset) opsets; /* the model's, and those of nodes that passes made */
};

/* ---- the wire ---- */
static void add_varint(struct text *out, uint64_t value)
{
	for (; value > 127; value >>= 7)
		text_addc(out, (char)(value | 128));
	text_addc(out, (char)value);
}

static void add_int(struct text *out, unsigned field, int64_t value)
{
	add_varint(out, field << 3);
	add_varint(out, (uint64_t)value);
}

static void add_bytes(struct text *out, unsigned field, const void *at, size_t count)
{
	add_varint(out, field << 3 | 2);
	add_varint(out, count);
	text_add(out, at, count);
}

static void add_text(struct text *out, unsigned field, const char *text) { add_bytes(out, field, text, strlen(text)); }

static void add_float(struct text *out, unsigned field, float value)
{
	add_varint(out, field << 3 | 5);
	text_add(out, (const char *)&value, sizeof value);
}

/* Of a message that `fill` writes. */
static void add_message(const struct writer *w, struct text *out, unsigned field,
        void (*fill)(const struct writer *, const void *of, struct text *), const void *of)
{
	struct text inner;
	jmp_buf *way = w->build->out, mine;
	text_init(&inner, w->build);
	struct text *const asked = &inner;
	w->build->out = &mine;
	if (setjmp(mine) == 0) {
		fill(w, of, asked);
		add_bytes(out, field, asked->count ? asked->at : "", asked->count);
	}
	w->build->out = way;
	text_release(asked);
	if (w->build->code)
		longjmp(*way, 1);
}

/* ---- types ---- */
static void fill_dim(const struct writer *w, const void *of, struct text *out)
{
	const struct dim *dim = of;
	(void)w;
	if (dim->extent >= 0)
		add_int(out, 1, dim->extent);
	else if (dim->symbol)
		add_text(out, 2, dim->symbol);
}

static void fill_shape(const struct writer *w, const void *of, struct text *out)
{
	const struct tensor *tensor = of;
	FOR (d, tensor->rank)
		add_message(w, out, 1, fill_dim, &tensor->dims[d]);
}

static void fill_tensor_type(const struct writer *w, const void *of, struct text *out)
{
	const struct tensor *tensor = of;
	add_int(out, 1, (int)tensor->type);
	if (tensor->rank >= 0)
		add_message(w, out, 2, fill_shape, tensor);
}

static void fill_type(const struct writer *w, const void *of, struct text *out);

static void fill_list_type(const struct writer *w, const void *of, struct text *out)
{
	struct tensor inner = *(const struct tensor *)of;
	inner.form &= ~(inner.form & FORM_OPTIONAL ? FORM_OPTIONAL : FORM_SEQUENCE);
	add_message(w, out, 1, fill_type, &inner);
}

static void fill_type(const struct writer *w, const void *of, struct text *out)
{
	const struct tensor *tensor = of;
	if (tensor->form)
		add_message(w, out, tensor->form & FORM_OPTIONAL ? 9 : 4, fill_list_type, tensor);
	else
		add_message(w, out, 1, fill_tensor_type, tensor);
}

static void fill_value(const struct writer *w, const void *of, struct text *out)
{
	const struct tensor *tensor = of;
	add_text(out, 1, tensor->name);
	if (tensor->type != DTYPE_NONE)
		add_message(w, out, 2, fill_type, tensor);
}

/* ---- constants ---- */
static void fill_constant(const struct writer *w, const void *of, struct text *out)
{
	const struct tensor *tensor = of;
	size_t count = (size_t)tensor_elements(w->build, tensor);
	FOR (d, tensor->rank)
		add_int(out, 1, tensor->dims[d].extent);
	add_int(out, 2, (int)tensor->type);
	for (size_t i = 0; tensor->type == DTYPE_STRING && i < count; i++)
		add_text(out, 6, tensor->strings[i]);
	if (tensor->name)
		add_text(out, 8, tensor->name);
	if (tensor->type != DTYPE_STRING)
		add_bytes(out, 9, tensor_data(tensor), dtype_bytes(tensor->type, count));
}

/* ---- nodes ---- */
static void fill_graph(const struct writer *w, const void *of, struct text *out);

static void fill_attribute(const struct writer *w, const void *of, struct text *out)
{
	const struct attribute *a = of;
	add_text(out, 1, a->name);
	add_int(out, 20, (int)a->kind);
	switch (a->kind) {
	case ATTRIBUTE_FLOAT: add_float(out, 2, a->f); break;
	case ATTRIBUTE_INT: add_int(out, 3, a->i); break;
	case ATTRIBUTE_STRING: add_bytes(out, 4, a->s.at, a->s.count); break;
	case ATTRIBUTE_TENSOR: add_message(w, out, 5, fill_constant, a->t); break;
	case ATTRIBUTE_GRAPH: add_message(w, out, 6, fill_graph, a->g); break;
	default: break;
	}
	FOR (i, a->count)
		switch (a->kind) {
		case ATTRIBUTE_FLOATS: add_float(out, 7, a->floats[i]); break;
		case ATTRIBUTE_INTS: add_int(out, 8, a->ints[i]); break;
		case ATTRIBUTE_STRINGS: add_bytes(out, 9, a->strings[i].at, a->strings[i].count); break;
		case ATTRIBUTE_TENSORS: add_message(w, out, 10, fill_constant, a->tensors[i]); break;
		case ATTRIBUTE_GRAPHS: add_message(w, out, 11, fill_graph, a->graphs[i]); break;
		default:
			fail(w->build, EXIT_UNSUPPORTED, w->main->file,
			        "attribute %s is a type: --stage graph has it as text alone", a->name);
		}
}

static void fill_node(const struct writer *w, const void *of, struct text *out)
{
	const struct node *node = of;
	FOR_ALL (i, w->opsets)
		if (w->opsets.at[i].domain == node->domain && w->opsets.at[i].version != node->since)
			fail(w->build, EXIT_UNSUPPORTED, node->where,
			        "is of version %d, and an ONNX file has one of a domain, here %lld: --stage graph has "
			        "both as "
			        "text",
			        node->since, (long long)w->opsets.at[i].version);
	FOR (i, node->ins)
		add_text(out, 1, node->in[i] ? node->in[i]->name : "");
	FOR (i, node->outs)
		add_text(out, 2, node->out[i] ? node->out[i]->name : "");
	add_text(out, 3, node->name);
	add_text(out, 4, node->type);
	FOR (i, node->attribute_count)
		add_message(w, out, 5, fill_attribute, &node->attributes[i]);
	add_text(out, 7, node->domain);
}

static void fill_graph(const struct writer *w, const void *of, struct text *out)
{
	const struct graph *graph = of;
	FOR_ALL (i, graph->nodes)
		add_message(w, out, 1, fill_node, graph->nodes.at[i]);
	add_text(out, 2, *graph->name ? graph->name : graph->outer ? "_" : "graph");
	FOR_ALL (i, graph->tensors)
		if (graph->tensors.at[i]->data)
			add_message(w, out, 5, fill_constant, graph->tensors.at[i]);
	FOR_ALL (i, graph->inputs)
		add_message(w, out, 11, fill_value, graph->inputs.at[i]);
	FOR_ALL (i, graph->outputs)
		add_message(w, out, 12, fill_value, graph->outputs.at[i]);
	FOR_EACH (const struct tensor *tensor, graph->tensors) {
		if (!tensor->data && !tensor->is_input && !tensor->is_output && tensor->type != DTYPE_NONE)
			add_message(w, out, 13, fill_value, tensor);
	}
}

static void fill_opset(const struct writer *w, const void *of, struct text *out)
{
	const struct opset *opset = of;
	(void)w;
	add_text(out, 1, opset->domain);
	add_int(out, 2, opset->version);
}

/* Domains of nodes that no import names: of those that passes made. */
static void add_domains(struct writer *w, const struct graph *graph)
{
	FOR_EACH (const struct node *node, graph->nodes) {
		size_t k = 0;
		while (k < w->opsets.count && w->opsets.at[k].domain != node->domain)
			k++;
		if (k == w->opsets.count)
			push(w->build->arena, &w->opsets, (struct opset){ node->domain, node->since });
		FOR (a, node->attribute_count)
			if (node->attributes[a].g)
				add_domains(w, node->attributes[a].g);
	}
}

void graph_write_onnx(const struct graph *graph, struct text *out)
{
	enum { IR_LEAST = 4, BYTES_MOST = 0x7fffffff };
	struct writer w = { .build = graph->build, .main = graph };
	FOR_ALL (i, graph->opsets)
		push(w.build->arena, &w.opsets, graph->opsets.at[i]);
	add_domains(&w, graph);
	add_int(out, 1, graph->ir_version > IR_LEAST ? graph->ir_version : IR_LEAST);
	add_text(out, 2, "ingot");
	add_text(out, 3, INGOT_VERSION);
	add_message(&w, out, 7, fill_graph, graph);
	FOR_ALL (i, w.opsets)
		add_message(&w, out, 8, fill_opset, &w.opsets.at[i]);
	if (out->count > BYTES_MOST)
		fail(w.build, EXIT_LIMIT, graph->file, "has %zu bytes as an ONNX file, which ends at 2 GiB",
		        out->count);
}
