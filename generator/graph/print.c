/* print.c: graph -> ONNX's textual syntax, as onnx.parser and frontends/onnx_text.c read it.  Two things go beyond what
 * onnx.parser knows, where there is no other way to say them: an operator or domain that is no identifier stands in
 * quotes, and Op@17 is a node whose version is not the one that the model imports (left by an inlined function). */
#include "graph/graph.h"
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct printer {
	const struct graph *main;
	int64_t elements;
	struct text *out;
};

static const char *const type_words[] = { "seq", "map", "optional", "sparse_tensor", "opaque" };

/* ---- names ---- */
static bool is_type_word(const char *name)
{
	FOR (type, DTYPE_COUNT)
		if (!strcmp(dtypes[type].text, name))
			return true;
	FOR (i, COUNT(type_words))
		if (!strcmp(type_words[i], name))
			return true;
	return false;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_identifier(const char *name, size_t count)
{
	bool right = count && is_letter(*name);
	for (size_t i = 1; right && i < count; i++)
		right = is_letter(name[i]) || is_digit(name[i]);
	return right;
}

static void print_quoted(struct text *out, const char *at, size_t count)
{
	text_addc(out, '"');
	FOR (i, count) {
		if (at[i] == '"' || at[i] == '\\')
			text_addc(out, '\\');
		text_addc(out, at[i]);
	}
	text_addc(out, '"');
}

/* A name that is a type would be read as one. */
static bool is_plain(const char *name) { return is_identifier(name, strlen(name)) && !is_type_word(name); }

static void print_name(struct text *out, const char *name)
{
	if (is_plain(name))
		text_adds(out, name);
	else
		print_quoted(out, name, strlen(name));
}

const char *name_text(struct build *build, const char *name)
{
	if (is_plain(name))
		return name;
	char *quoted = arena_alloc(build->arena, 2 * strlen(name) + 3), *to = quoted;
	*to++ = '"';
	for (; *name; *to++ = *name++)
		if (*name == '"' || *name == '\\')
			*to++ = '\\';
	*to = '"';
	return quoted;
}

/* A graph in an attribute cannot be in quotes: there a string would be read.  Its name means nothing. */
static void print_graph_name(struct text *out, const char *name)
{
	bool word = is_type_word(name) || !strcasecmp(name, "nan") || !strcasecmp(name, "inf")
	        || !strcasecmp(name, "infinity");
	if (word || !is_letter(*name))
		text_addc(out, '_');
	for (; *name; name++)
		text_addc(out, is_letter(*name) || is_digit(*name) ? *name : '_');
}

static void print_part(struct text *out, const char *at, size_t count)
{
	if (is_identifier(at, count))
		text_add(out, at, count);
	else
		print_quoted(out, at, count);
}

/* ---- types and numbers ---- */
const char *type_of_tensor(struct build *build, const struct tensor *tensor)
{
	const char *text = dtypes[tensor->type].text;
	if (tensor->form == FORM_MAP)
		return arena_printf(
		        build->arena, "map(%s, %s)", dtypes[tensor->keys->type].text, dtypes[tensor->type].text);
	if (tensor->form) {
		struct tensor inner = *tensor;
		inner.form &= ~(tensor->form & FORM_OPTIONAL ? FORM_OPTIONAL : FORM_SEQUENCE);
		return arena_printf(build->arena, tensor->form & FORM_OPTIONAL ? "optional(%s)" : "seq(%s)",
		        type_of_tensor(build, &inner));
	}
	if (tensor->rank <= 0)
		return tensor->rank == 0 ? text : arena_printf(build->arena, "%s[]", text);
	FOR (i, tensor->rank) {
		const struct dim *dim = &tensor->dims[i];
		const char *before = i ? "," : "[";
		if (dim->extent >= 0) {
			text = arena_printf(build->arena, "%s%s%lld", text, before, (long long)dim->extent);
		} else {
			text = arena_printf(build->arena, "%s%s%s", text, before,
			        dim->symbol ? name_text(build, dim->symbol) : "?");
		}
	}
	return arena_printf(build->arena, "%s]", text);
}

/* The fewest digits, from 6 (15) on, that read back as the same number; always with a mark of a float.  NaN keeps its
 * sign only. */
static void print_float(struct text *out, double value, bool is_double)
{
	char number[40];
	int digits = is_double ? 15 : 6, most = is_double ? 17 : 9;
	if (isnan(value) || isinf(value)) {
		text_printf(out, "%s%s", signbit(value) ? "-" : "", isnan(value) ? "nan" : "inf");
		return;
	}
	do
		snprintf(number, sizeof number, "%.*g", digits, value);
	while (digits++ < most && (is_double ? strtod(number, NULL) != value : strtof(number, NULL) != (float)value));
	bool marked = false;
	for (char *c = number; *c; c++) {
		if (!is_digit(*c) && !strchr("+-e", *c))
			*c = '.'; /* whatever the locale writes there */
		marked |= *c == '.' || *c == 'e';
	}
	text_printf(out, marked ? "%s" : "%s.0", number);
}

static unsigned bits_at(const struct tensor *tensor, size_t i)
{
	unsigned bits = (unsigned)dtypes[tensor->type].bits, value = 0;
	const unsigned char *data = tensor_data(tensor);
	size_t at = i * bits, last = (at + bits - 1) / 8;
	for (size_t byte = at / 8; byte <= last; byte++)
		value |= (unsigned)data[byte] << 8 * (byte - at / 8);
	return value >> at % 8 & ((1u << bits) - 1);
}

/* Floats of 16 bits and less are printed as their bits, as onnx.printer does. */
static void print_element(struct text *out, const struct tensor *tensor, size_t i)
{
	struct tensor plain = *tensor;
	switch (tensor->type) {
	case DTYPE_C64:
	case DTYPE_C128:
		plain.type = tensor->type == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
		print_float(out, tensor_float(&plain, 2 * i), plain.type == DTYPE_F64);
		text_adds(out, ", ");
		print_float(out, tensor_float(&plain, 2 * i + 1), plain.type == DTYPE_F64);
		break;
	case DTYPE_F32:
	case DTYPE_F64: print_float(out, tensor_float(tensor, i), tensor->type == DTYPE_F64); break;
	case DTYPE_STRING: print_quoted(out, tensor->strings[i], strlen(tensor->strings[i])); break;
	case DTYPE_U64: text_printf(out, "%llu", (unsigned long long)tensor_int(tensor, i)); break;
	default:
		if (dtypes[tensor->type].class == CLASS_FLOAT || dtypes[tensor->type].class == CLASS_OTHER)
			text_printf(out, "%u", bits_at(tensor, i));
		else
			text_printf(out, "%lld", (long long)tensor_int(tensor, i));
	}
}

static void print_data(const struct printer *p, const struct tensor *tensor)
{
	int64_t count = tensor_elements(p->main->build, tensor),
	        shown = p->elements >= 0 && count > p->elements ? p->elements : count;
	text_adds(p->out, "{");
	FOR (i, shown) {
		text_adds(p->out, i ? ", " : "");
		print_element(p->out, tensor, (size_t)i);
	}
	text_adds(p->out, shown == count ? "}" : shown ? ", …}" : "…}");
}

/* ---- attributes ---- */
static void print_graph(const struct printer *, const struct graph *, int indent);

static void print_constant(const struct printer *p, const struct tensor *tensor)
{
	text_printf(p->out, "%s ", type_of_tensor(p->main->build, tensor));
	print_data(p, tensor);
}

/* A list shows what it is by its first element; an empty one, and what is no plain value, needs its kind said. */
static const char *const kind_words[] = {
	[ATTRIBUTE_FLOATS] = "floats",
	[ATTRIBUTE_INTS] = "ints",
	[ATTRIBUTE_STRINGS] = "strings",
	[ATTRIBUTE_TENSORS] = "tensors",
	[ATTRIBUTE_GRAPHS] = "graphs",
	[ATTRIBUTE_TYPE] = "type_proto",
	[ATTRIBUTE_TYPES] = "type_protos",
};

static void print_item(const struct printer *p, const struct attribute *a, size_t i, int indent)
{
	struct text *out = p->out;
	switch (a->kind) {
	case ATTRIBUTE_FLOAT: print_float(out, a->f, false); break;
	case ATTRIBUTE_INT: text_printf(out, "%lld", (long long)a->i); break;
	case ATTRIBUTE_STRING: print_quoted(out, a->s.at, a->s.count); break;
	case ATTRIBUTE_TYPE: text_add(out, a->s.at, a->s.count); break;
	case ATTRIBUTE_TENSOR: print_constant(p, a->t); break;
	case ATTRIBUTE_GRAPH: print_graph(p, a->g, indent + 1); break;
	case ATTRIBUTE_FLOATS: print_float(out, a->floats[i], false); break;
	case ATTRIBUTE_INTS: text_printf(out, "%lld", (long long)a->ints[i]); break;
	case ATTRIBUTE_STRINGS: print_quoted(out, a->strings[i].at, a->strings[i].count); break;
	case ATTRIBUTE_TYPES: text_add(out, a->strings[i].at, a->strings[i].count); break;
	case ATTRIBUTE_TENSORS: print_constant(p, a->tensors[i]); break;
	default: assert(a->kind == ATTRIBUTE_GRAPHS); print_graph(p, a->graphs[i], indent + 1);
	}
}

static void print_attribute(const struct printer *p, const struct attribute *a, int indent)
{
	const char *word = (size_t)a->kind < COUNT(kind_words) ? kind_words[a->kind] : NULL;
	bool is_list = word && a->kind != ATTRIBUTE_TYPE;
	print_name(p->out, a->name);
	if (word && (a->kind >= ATTRIBUTE_TENSORS || !a->count))
		text_printf(p->out, ": %s", word);
	text_adds(p->out, is_list ? " = [" : " = ");
	FOR (i, (is_list ? a->count : 1)) {
		text_adds(p->out, i ? ", " : "");
		print_item(p, a, i, indent);
	}
	text_adds(p->out, is_list ? "]" : "");
}

static void print_attributes(const struct printer *p, const struct node *node, int indent)
{
	FOR (i, node->attribute_count) {
		text_adds(p->out, i ? ", " : " <");
		print_attribute(p, &node->attributes[i], indent);
	}
	text_adds(p->out, node->attribute_count ? ">" : "");
}

/* ---- nodes and graphs ---- */
static void print_indent(const struct printer *p, int indent)
{
	while (indent-- > 0)
		text_addc(p->out, '\t');
}

static void print_operator(const struct printer *p, const struct node *node)
{
	int64_t imported = 0;
	for (const char *at = node->domain; *node->domain; at++) {
		size_t n = strcspn(at, ".");
		print_part(p->out, at, n);
		text_addc(p->out, '.');
		if (!*(at += n))
			break;
	}
	print_part(p->out, node->type, strlen(node->type));
	if (*node->overload) {
		text_addc(p->out, ':');
		print_part(p->out, node->overload, strlen(node->overload));
	}
	FOR_ALL (i, p->main->opsets)
		if (p->main->opsets.at[i].domain == node->domain)
			imported = p->main->opsets.at[i].version;
	if (imported != node->since)
		text_printf(p->out, "@%d", node->since);
}

static void print_operands(const struct printer *p, struct tensor *const *tensors, int count)
{
	FOR (i, count) {
		text_adds(p->out, i ? ", " : "");
		print_name(p->out, tensors[i] ? tensors[i]->name : "");
	}
}

static void print_node(const struct printer *p, const struct node *node, int indent)
{
	bool nested = false;
	FOR (i, node->attribute_count)
		nested |= node->attributes[i].kind == ATTRIBUTE_GRAPH || node->attributes[i].kind == ATTRIBUTE_GRAPHS;
	print_indent(p, indent);
	if (*node->name) {
		text_adds(p->out, "[");
		print_name(p->out, node->name);
		text_adds(p->out, "] ");
	}
	print_operands(p, node->out, node->outs);
	text_adds(p->out, " = ");
	print_operator(p, node);
	if (!nested)
		print_attributes(p, node, indent);
	text_adds(p->out, " (");
	print_operands(p, node->in, node->ins);
	text_adds(p->out, ")");
	if (nested)
		print_attributes(p, node, indent);
	text_adds(p->out, "\n");
}

static void print_value(const struct printer *p, const struct tensor *tensor)
{
	if (tensor->type != DTYPE_NONE)
		text_printf(p->out, "%s ", type_of_tensor(p->main->build, tensor));
	print_name(p->out, tensor->name);
}

static void print_values(const struct printer *p, struct tensor *const *tensors, size_t count)
{
	text_adds(p->out, "(");
	FOR (i, count) {
		text_adds(p->out, i ? ", " : "");
		print_value(p, tensors[i]);
	}
	text_adds(p->out, ")");
}

static bool is_declared(const struct tensor *tensor)
{
	return tensor->data || (tensor->type != DTYPE_NONE && !tensor->is_input && !tensor->is_output);
}

static void print_graph(const struct printer *p, const struct graph *graph, int indent)
{
	const char *between = "<";
	if (graph->outer)
		print_graph_name(p->out, graph->name);
	else
		print_name(p->out, *graph->name ? graph->name : "graph");
	text_adds(p->out, " ");
	print_values(p, graph->inputs.at, graph->inputs.count);
	text_adds(p->out, " => ");
	print_values(p, graph->outputs.at, graph->outputs.count);
	text_adds(p->out, "\n");
	for (int constants = 1; constants >= 0; constants--)
		FOR_EACH (const struct tensor *tensor, graph->tensors) {
			if (!is_declared(tensor) || (tensor->data != NULL) != constants)
				continue;
			if (*between == '<')
				print_indent(p, indent);
			text_adds(p->out, between);
			text_adds(p->out, "\n");
			between = ",";
			print_indent(p, indent + 1);
			print_value(p, tensor);
			if (tensor->data) {
				text_adds(p->out, " = ");
				print_data(p, tensor);
			}
		}
	if (*between == ',') {
		text_adds(p->out, "\n");
		print_indent(p, indent);
		text_adds(p->out, ">\n");
	}
	print_indent(p, indent);
	text_addc(p->out, '{');
	text_addc(p->out, '\n');
	FOR_ALL (i, graph->nodes)
		print_node(p, graph->nodes.at[i], indent + 1);
	print_indent(p, indent);
	text_adds(p->out, "}");
}

void graph_print(const struct graph *graph, int64_t elements, struct text *out)
{
	struct printer p = { graph, elements, out };
	while (p.main->outer)
		p.main = p.main->outer;
	if (graph == p.main) {
		text_printf(out, "<\n\tir_version: %lld,\n\topset_import: [", (long long)graph->ir_version);
		FOR_ALL (i, graph->opsets) {
			text_adds(out, i ? ", " : "");
			print_quoted(out, graph->opsets.at[i].domain, strlen(graph->opsets.at[i].domain));
			text_printf(out, " : %lld", (long long)graph->opsets.at[i].version);
		}
		text_adds(out, "]\n>\n");
	}
	print_graph(&p, graph, 0);
	text_adds(out, "\n");
}
