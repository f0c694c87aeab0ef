/* read_models.c: reads models, to be driven by the scripts beside it.
 *
 *     read_models MODEL...           a line each: "PATH: 0 nodes N tensors N bytes N", or "PATH: CODE MESSAGE"
 *     read_models --json MODEL       everything that was read, as JSON; bytes of names and strings as \u00XX
 *     read_models --text MODEL       graph_print
 *     read_models --texts [MODEL FILE]...     the same of each, to FILE; no FILE where it is refused
 *     read_models --passes MODEL     the same after pass_constants
 *     read_models --pb FILE...       TensorProtos, a line of JSON each
 *     read_models --cut MODEL...     reads every beginning of each file, from memory: "PATH: N read, N refused"
 *
 * Ends with 0 where every one was read, else with the code of the last that was not. */
#include <stdio.h>
#include <stdlib.h>
#include "frontends/frontends.h"
#include "passes/passes.h"

static void count(const struct graph *graph, size_t *nodes, size_t *tensors, size_t *bytes)
{
	*nodes += graph->nodes.count;
	*tensors += graph->tensors.count;
	for (size_t i = 0; i < graph->tensors.count; i++)
		*bytes += graph->tensors.at[i]->bytes;
	for (size_t i = 0; i < graph->nodes.count; i++)
		for (int k = 0; k < graph->nodes.at[i]->attribute_count; k++)
			if (graph->nodes.at[i]->attributes[k].g)
				count(graph->nodes.at[i]->attributes[k].g, nodes, tensors, bytes);
}

/* ---- JSON ---- */
static void json_bytes(struct text *out, const char *at, size_t n)
{
	text_addc(out, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)at[i];
		if (c < 32 || c > 126 || c == '"' || c == '\\')
			text_printf(out, "\\u%04x", c);
		else
			text_addc(out, (char)c);
	}
	text_addc(out, '"');
}

static void json_name(struct text *out, const char *name)
{
	json_bytes(out, name ? name : "", name ? strlen(name) : 0);
}

/* A sum of the bytes, each weighted by its place: numpy computes the same in one line. */
static void json_data(struct text *out, const struct tensor *tensor)
{
	const unsigned char *at = tensor->data;
	uint64_t sum = 0;
	if (tensor->strings) {
		int64_t n = tensor_elements(out->build, tensor);
		text_adds(out, "[");
		for (int64_t i = 0; i < n; i++) {
			text_adds(out, i ? "," : "");
			json_name(out, tensor->strings[i]);
		}
		text_adds(out, "]");
		return;
	}
	for (size_t i = 0; i < tensor->bytes; i++)
		sum += (i % 65521 + 1) * at[i];
	text_printf(out, "[%zu,%llu]", tensor->bytes, (unsigned long long)sum);
}

static void json_tensor(struct text *out, const struct tensor *tensor)
{
	text_adds(out, "{\"name\":");
	json_name(out, tensor->name);
	if (tensor->form) {
		text_adds(out, ",\"list\":");
		json_name(out, type_of_tensor(tensor->graph->build, tensor));
		text_adds(out, "}");
		return;
	}
	text_printf(out, ",\"type\":%d,\"dims\":", (int)tensor->type);
	text_adds(out, tensor->rank < 0 ? "null" : "[");
	for (int i = 0; i < tensor->rank; i++) {
		text_adds(out, i ? "," : "");
		if (tensor->dims[i].extent >= 0)
			text_printf(out, "%lld", (long long)tensor->dims[i].extent);
		else
			json_name(out, tensor->dims[i].symbol);
	}
	text_adds(out, tensor->rank < 0 ? "" : "]");
	if (tensor->data) {
		text_adds(out, ",\"data\":");
		json_data(out, tensor);
	}
	text_adds(out, "}");
}

static void json_graph(struct text *, const struct graph *);

static uint32_t float_bits(float f)
{
	uint32_t bits;
	memcpy(&bits, &f, 4);
	return bits;
}

static void json_attribute(struct text *out, const struct attribute *a)
{
	json_name(out, a->name);
	text_printf(out, ":[%d", (int)a->kind);
	if (a->kind == ATTRIBUTE_FLOAT)
		text_printf(out, ",%u", float_bits(a->f));
	else if (a->kind == ATTRIBUTE_INT)
		text_printf(out, ",%lld", (long long)a->i);
	else if (a->kind == ATTRIBUTE_STRING || a->kind == ATTRIBUTE_TYPE)
		text_adds(out, ","), json_bytes(out, a->s.at, a->s.count);
	else if (a->kind == ATTRIBUTE_TENSOR)
		text_adds(out, ","), json_tensor(out, a->t);
	else if (a->kind == ATTRIBUTE_GRAPH)
		text_adds(out, ","), json_graph(out, a->g);
	for (size_t i = 0; i < a->count; i++) {
		text_adds(out, ",");
		if (a->kind == ATTRIBUTE_FLOATS)
			text_printf(out, "%u", float_bits(a->floats[i]));
		else if (a->kind == ATTRIBUTE_INTS)
			text_printf(out, "%lld", (long long)a->ints[i]);
		else if (a->kind == ATTRIBUTE_STRINGS || a->kind == ATTRIBUTE_TYPES)
			json_bytes(out, a->strings[i].at, a->strings[i].count);
		else if (a->kind == ATTRIBUTE_TENSORS)
			json_tensor(out, a->tensors[i]);
		else
			json_graph(out, a->graphs[i]);
	}
	text_adds(out, "]");
}

static void json_tensors(struct text *out, const char *key, struct tensor *const *at, size_t n)
{
	text_printf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		text_adds(out, i ? "," : "");
		json_tensor(out, at[i]);
	}
	text_adds(out, "],");
}

static void json_names(struct text *out, const char *key, struct tensor *const *at, int n)
{
	text_printf(out, "\"%s\":[", key);
	for (int i = 0; i < n; i++) {
		text_adds(out, i ? "," : "");
		json_name(out, at[i] ? at[i]->name : "");
	}
	text_adds(out, "],");
}

static void json_node(struct text *out, const struct node *node)
{
	text_adds(out, "{\"op\":");
	json_name(out, node->type);
	text_adds(out, ",\"domain\":");
	json_name(out, node->domain);
	text_adds(out, ",\"name\":");
	json_name(out, node->name);
	text_printf(out, ",\"since\":%d,", node->since);
	json_names(out, "in", node->in, node->ins);
	json_names(out, "out", node->out, node->outs);
	text_adds(out, "\"attributes\":{");
	for (int i = 0; i < node->attribute_count; i++) {
		text_adds(out, i ? "," : "");
		json_attribute(out, &node->attributes[i]);
	}
	text_adds(out, "}}");
}

static void json_graph(struct text *out, const struct graph *graph)
{
	bool more = false;
	text_adds(out, "{\"name\":");
	json_name(out, graph->name);
	text_adds(out, ",");
	json_tensors(out, "inputs", graph->inputs.at, graph->inputs.count);
	json_tensors(out, "outputs", graph->outputs.at, graph->outputs.count);
	text_adds(out, "\"constants\":[");
	for (size_t i = 0; i < graph->tensors.count; i++)
		if (graph->tensors.at[i]->data) {
			text_adds(out, more ? "," : "");
			json_tensor(out, graph->tensors.at[i]);
			more = true;
		}
	text_adds(out, "],\n\"nodes\":[");
	for (size_t i = 0; i < graph->nodes.count; i++) {
		text_adds(out, i ? ",\n" : "\n");
		json_node(out, graph->nodes.at[i]);
	}
	text_adds(out, "]}");
}

static void json_model(struct text *out, const struct graph *graph)
{
	text_printf(out, "{\"ir\":%lld,\"opsets\":{", (long long)graph->ir_version);
	for (size_t i = 0; i < graph->opsets.count; i++) {
		text_adds(out, i ? "," : "");
		json_name(out, graph->opsets.at[i].domain);
		text_printf(out, ":%lld", (long long)graph->opsets.at[i].version);
	}
	text_adds(out, "},\n\"graph\":");
	json_graph(out, graph);
	text_adds(out, "}\n");
}

/* ---- */
static int read_one(const char *path, const char *how)
{
	struct build build;
	struct text text;
	build_init(&build);
	text_init(&text, &build);
	if (BUILD_TRY(&build) && !strcmp(how, "--pb")) {
		json_tensor(&text, value_read_proto(&build, path, 0));
		text_adds(&text, "\n");
		fwrite(text.at, 1, text.count, stdout);
	} else if (build.code == EXIT_RIGHT) {
		struct graph *graph = graph_read(&build, path, NULL);
		if (!strcmp(how, "--passes")) {
			pass_constants(graph);
			graph_check(graph);
		}
		if (!strcmp(how, "--json"))
			json_model(&text, graph);
		else if (!strcmp(how, "--text") || !strcmp(how, "--passes"))
			graph_print(graph, -1, &text);
		else {
			size_t nodes = 0, tensors = 0, bytes = 0;
			count(graph, &nodes, &tensors, &bytes);
			text_printf(&text, "%s: 0 nodes %zu tensors %zu bytes %zu\n", path, nodes, tensors, bytes);
		}
		fwrite(text.at, 1, text.count, stdout);
	} else if (*how) {
		fprintf(stderr, "%s\n", build.message);
	} else {
		printf("%s: %d %s\n", path, (int)build.code, build.message);
	}
	int code = (int)build.code;
	text_release(&text);
	build_release(&build);
	return code;
}

static enum exit_code read_bytes(const char *at, size_t n)
{
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build))
		graph_read_memory(&build, "cut", at, n, NULL);
	enum exit_code code = build.code;
	build_release(&build);
	return code;
}

/* Cut anywhere a file must be read or refused, never more.  The copy ends where the beginning does, so that a sanitizer
 * sees a byte too many. */
static int cut_one(const char *path)
{
	struct build outer;
	build_init(&outer);
	struct mapped mapped = file_map(&outer, path);
	size_t codes[EXIT_LIMIT + 1] = { 0 };
	for (size_t n = 0; n <= mapped.bytes; n++) {
		char *copy = malloc(n ? n : 1);
		if (n)
			memcpy(copy, mapped.at, n);
		codes[read_bytes(copy, n)]++;
		free(copy);
	}
	file_unmap(mapped);
	build_release(&outer);
	printf("%s: %zu read, %zu refused\n", path, codes[0],
	        codes[EXIT_INVALID] + codes[EXIT_UNSUPPORTED] + codes[EXIT_LIMIT]);
	return codes[EXIT_DIFFERENT] + codes[EXIT_USAGE] + codes[EXIT_ENVIRONMENT] ? 1 : 0;
}

static int text_to(const char *path, const char *to)
{
	if (!freopen(to, "w", stdout))
		return EXIT_ENVIRONMENT;
	int code = read_one(path, "--text");
	if (code)
		remove(to);
	return code;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 && !strncmp(argv[1], "--", 2) ? argv[1] : "";
	int code = 0;
	for (int i = 2; !strcmp(how, "--texts") && i + 1 < argc; i += 2) {
		int one = text_to(argv[i], argv[i + 1]);
		code = one ? one : code;
	}
	if (!strcmp(how, "--texts"))
		return code;
	for (int i = *how ? 2 : 1; i < argc; i++) {
		int one = !strcmp(how, "--cut") ? cut_one(argv[i]) : read_one(argv[i], how);
		code = one ? one : code;
	}
	return code;
}
