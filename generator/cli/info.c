/* info.c: ingot info: what a model is, and whether ingot can build it, before anything is built. */
#include "cli/cli.h"
#include "frontends/frontends.h"
#include "ops/ops.h"
#include <inttypes.h>
#include <stdlib.h>

struct op_count {
	const char *domain, *name;
	int version;
	size_t count;
	bool known;
};
struct info {
	struct cli *cli;
	struct model *model;
	VECTOR(struct op_count) ops;
	int64_t parameters, parameter_bytes;
	double multiply_adds; /* below 0: dims are not bound */
	const char *refused;  /* why ingot cannot build it, beyond ops that it does not know; NULL: it can, or dims are
	                         not bound */
	bool unknown;         /* there are ops that ingot does not know */
};

/* ---- looking ---- */
static void count_node(struct info *info, const struct node *node)
{
	if (!node->is_given)
		return;
	const struct op *op = op_known(node);
	size_t k = 0;
	while (k < info->ops.count
	        && (info->ops.at[k].name != node->type || info->ops.at[k].domain != node->domain
	                || info->ops.at[k].version != node->since))
		k++;
	if (k == info->ops.count)
		push(info->cli->build->arena, &info->ops,
		        (struct op_count){ node->domain, node->type, node->since, 0, op && node->since >= op->since });
	info->ops.at[k].count++;
	info->unknown |= !info->ops.at[k].known;
}

/* A graph, and those inside its nodes. */
static void walk(struct info *info, const struct graph *graph, void (*visit)(struct info *, const struct graph *))
{
	visit(info, graph);
	for (size_t i = 0; i < graph->nodes.count; i++)
		FOR (k, graph->nodes.at[i]->attribute_count) {
			const struct attribute *a = &graph->nodes.at[i]->attributes[k];
			if (a->kind == ATTRIBUTE_GRAPH)
				walk(info, a->g, visit);
			for (size_t g = 0; a->kind == ATTRIBUTE_GRAPHS && g < a->count; g++)
				walk(info, a->graphs[g], visit);
		}
}

static void count_nodes(struct info *info, const struct graph *graph)
{
	FOR_ALL (i, graph->nodes)
		count_node(info, graph->nodes.at[i]);
}

/* What was learnt: constants of every type but those of shapes and indices, int64 and bool. */
static void count_parameters(struct info *info, const struct graph *graph)
{
	FOR_EACH (const struct tensor *tensor, graph->tensors) {
		if (!tensor->data || tensor->type == DTYPE_I64 || tensor->type == DTYPE_BOOL
		        || tensor->type == DTYPE_STRING)
			continue;
		info->parameters += tensor_elements(info->cli->build, tensor);
		info->parameter_bytes += (int64_t)tensor->bytes;
	}
}

static bool is_bound(const struct graph *graph)
{
	FOR_ALL (i, graph->inputs) {
		if (graph->inputs.at[i]->form || graph->inputs.at[i]->rank < 0)
			return false;
		FOR (d, graph->inputs.at[i]->rank)
			if (graph->inputs.at[i]->dims[d].extent < 0)
				return false;
	}
	return true;
}

/* The stages up to definitions: whether they refuse the model, and what there is to multiply. */
static void try_stages(struct info *info, struct graph *graph)
{
	struct build *build = info->cli->build;
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		if (is_bound(graph)) {
			model_prepare(info->model);
			const struct program *program = define_graph(graph);
			info->multiply_adds = 0;
			FOR_EACH (const struct definition *d, program->all) {
				if (d->source == SOURCE_COMPUTED && d->reduce == REDUCE_SUM && d->sum.products)
					info->multiply_adds +=
					        (double)definition_elements(d) * (double)definition_terms(d);
			}
		} else
			pass_infer(graph); /* symbols stay: types and what is plainly wrong */
	}
	build->out = out;
	if (build->code && build->code != EXIT_UNSUPPORTED
	        && build->code != EXIT_USAGE) /* an option may help, which the message says */
		longjmp(*out, 1);
	info->refused = build->code ? arena_copy(build->arena, build->message, strlen(build->message)) : NULL;
	build->code = EXIT_RIGHT;
	*build->message = 0;
}

/* ---- telling ---- */
static const char *info_unknown(const struct info *info, const struct op_count *count)
{
	struct build *build = info->cli->build;
	const struct op *op = op_find(count->domain, count->name);
	return op ? arena_printf(build->arena, ": since opset %d, the model imports %d", op->since, count->version)
	          : arena_printf(build->arena, ": not supported%s", op_meant(build, count->domain, count->name));
}

static int by_count(const void *a, const void *b)
{
	const struct op_count *x = a, *y = b;
	return x->known != y->known    ? x->known - y->known
	        : x->count != y->count ? (x->count < y->count) - (x->count > y->count)
	                               : strcmp(x->name, y->name);
}

static json_t *dims_json(const struct tensor *tensor)
{
	json_t *dims = json_array();
	FOR (d, tensor->rank) {
		const struct dim *dim = &tensor->dims[d];
		const char *symbol = dim->symbol ? text_clean(tensor->graph->build->arena, dim->symbol) : NULL;
		json_array_append_new(dims,
		        dim->extent >= 0 ? json_integer(dim->extent)
		                : symbol ? json_string(symbol)
		                         : json_null());
	}
	return tensor->rank < 0 ? (json_decref(dims), json_null()) : dims;
}

static json_t *tensors_json(struct tensor *const *tensors, size_t count)
{
	json_t *list = json_array();
	FOR (i, count) {
		const struct tensor told = tensor_told(tensors[i]);
		json_array_append_new(list,
		        json_pack("{s:s,s:s,s:o}", "name", text_clean(told.graph->build->arena, told.name), "type",
		                dtypes[told.type].text, "dims", dims_json(&told)));
	}
	return list;
}

static const char *domain_of(const char *domain) { return *domain ? domain : "ai.onnx"; }

static json_t *ops_json(const struct info *info)
{
	struct arena *arena = info->cli->build->arena;
	json_t *list = json_array();
	FOR_ALL (i, info->ops) {
		const struct op_count *op = &info->ops.at[i];
		json_array_append_new(list,
		        json_pack("{s:s,s:s,s:i,s:I,s:b}", "name", text_clean(arena, op->name), "domain",
		                text_clean(arena, domain_of(op->domain)), "version", op->version, "count",
		                (json_int_t)op->count, "supported", op->known));
	}
	return list;
}

static json_t *info_json(const struct info *info, const struct graph *graph)
{
	json_t *opsets = json_object();
	FOR_ALL (i, graph->opsets)
		json_object_set_new(opsets, text_clean(info->cli->build->arena, domain_of(graph->opsets.at[i].domain)),
		        json_integer(graph->opsets.at[i].version));
	json_t *all = json_pack("{s:s,s:s,s:I,s:o,s:o,s:o,s:I,s:I,s:o,s:b}", "model",
	        text_clean(info->cli->build->arena, graph->file), "producer", graph->producer, "ir_version",
	        (json_int_t)graph->ir_version, "opsets", opsets, "inputs",
	        tensors_json(graph->inputs.at, graph->inputs.count), "outputs",
	        tensors_json(graph->outputs.at, graph->outputs.count), "parameters", (json_int_t)info->parameters,
	        "parameter_bytes", (json_int_t)info->parameter_bytes, "ops", ops_json(info), "supported",
	        !info->unknown && !info->refused);
	json_t *external = json_array();
	FOR_ALL (i, graph->external)
		json_array_append_new(
		        external, json_string(text_clean(info->cli->build->arena, graph->external.at[i])));
	json_object_set_new(all, "external_data", external);
	json_object_set_new(
	        all, "multiply_adds", info->multiply_adds < 0 ? json_null() : json_real(info->multiply_adds));
	if (info->refused)
		json_object_set_new(all, "refused", json_string(info->refused));
	return all;
}

/* "1,234,567" */
static const char *grouped(struct arena *arena, double number)
{
	const char *digits = arena_printf(arena, "%.0f", number);
	size_t count = strlen(digits), n = 0;
	char *made = arena_alloc(arena, count * 2 + 1);
	FOR (i, count) {
		if (i && (count - i) % 3 == 0)
			made[n++] = ',';
		made[n++] = digits[i];
	}
	return made;
}

static void print_tensors(struct build *build, const char *word, struct tensor *const *tensors, size_t count)
{
	FOR (i, count) {
		const struct tensor told = tensor_told(tensors[i]);
		printf("%-14s %s %s", i ? "" : word, text_clean(build->arena, name_text(build, told.name)),
		        text_clean(build->arena, type_of_tensor(build, &told)));
		if (tensors[i]->is_utf8 && tensors[i]->type != DTYPE_NONE)
			printf(", as %s", text_clean(build->arena, type_of_tensor(build, tensors[i])));
		printf("%s\n", told.is_maps ? ", of maps" : "");
	}
}

static void print_text(const struct info *info, struct graph *graph)
{
	struct build *build = info->cli->build;
	printf("%-14s %s: IR version %" PRId64, "model", text_clean(build->arena, graph->file), graph->ir_version);
	FOR_ALL (i, graph->opsets)
		printf(", %s %" PRId64, domain_of(graph->opsets.at[i].domain), graph->opsets.at[i].version);
	printf("%s%s\n", *graph->producer ? ", by " : "", graph->producer);
	FOR_ALL (i, graph->external)
		printf("%-14s %s\n", i ? "" : "external data", text_clean(build->arena, graph->external.at[i]));
	print_tensors(build, "inputs", graph->inputs.at, graph->inputs.count);
	print_tensors(build, "outputs", graph->outputs.at, graph->outputs.count);
	const char *unbound = unbound_dims(graph);
	if (*unbound)
		printf("%-14s%s\n", "to bind", unbound);
	printf("%-14s %s (%s bytes)\n", "parameters", grouped(build->arena, (double)info->parameters),
	        grouped(build->arena, (double)info->parameter_bytes));
	if (info->multiply_adds >= 0)
		printf("%-14s %s\n", "multiply-adds", grouped(build->arena, info->multiply_adds));
	FOR_ALL (i, info->ops) {
		const struct op_count *op = &info->ops.at[i];
		const char *name = arena_printf(build->arena, "%s%s%s", op->domain, *op->domain ? "." : "", op->name);
		printf("%-14s %zu %s%s\n", i ? "" : "ops", op->count, text_clean(build->arena, name),
		        op->known ? "" : info_unknown(info, op));
	}
	if (info->refused && !info->unknown)
		printf("%-14s %s\n", "not supported", info->refused);
}

/* Whether it can be built, in words. */
static const char *verdict(const struct info *info, struct graph *graph)
{
	struct arena *arena = info->cli->build->arena;
	size_t missing = 0;
	const char *unbound = unbound_dims(graph);
	FOR_ALL (i, info->ops)
		missing += !info->ops.at[i].known;
	if (missing)
		return arena_printf(
		        arena, "cannot be built: %zu operator%s not supported", missing, missing > 1 ? "s are" : " is");
	if (info->refused && *unbound)
		return arena_printf(
		        arena, "not known before dims are bound, which may decide what is above:%s", unbound);
	if (info->refused)
		return "cannot be built so: what is not supported is above";
	return *unbound ? arena_printf(arena, "can be built once dims are bound:%s", unbound) : "can be built";
}

static void run(struct cli *cli)
{
	struct info info = { .cli = cli, .multiply_adds = -1 };
	info.model = model_read(cli->build, &cli->options);
	struct graph *graph = info.model->graph;
	walk(&info, graph, count_nodes);
	if (info.ops.count)
		qsort(info.ops.at, info.ops.count, sizeof *info.ops.at, by_count);
	pass_constants(graph);
	walk(&info, graph, count_parameters);
	if (!info.unknown)
		try_stages(&info, graph);
	if (cli->flags.json)
		cli_print_json(info_json(&info, graph), stdout);
	else
		print_text(&info, graph);
	if (!cli->flags.json)
		printf("%-14s %s\n", "verdict", verdict(&info, graph));
	cli->build->code = info.unknown || info.refused ? EXIT_UNSUPPORTED : EXIT_RIGHT;
}

const struct command command_info = { "info", "MODEL", "tell what a model is, and whether it can be built",
	"Inputs, outputs, opsets, files beside the model's own, parameters (constants, without int64 and bool), "
	"multiply-adds of its sums of products where every dim is bound\n"
	"(--dim), and its ops: exit 4 where one is not supported.",
	IN_INFO, 1, 1, run };
