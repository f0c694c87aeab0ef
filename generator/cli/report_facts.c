/* report_facts.c: a model that is lowered -> which nodes became which kernels, where each tensor lies and how long, and
 * what the weights take. */
#include "cli/report.h"
#include <stdlib.h>

struct facts {
	const struct model *model;
	struct arena *arena;
	const struct definition **by_name; /* of the lowered program */
	size_t count;
	int *seen; /* by number, of the model's own program: the kernel that was looked at last, and one */
	json_t *kernels;
};

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct definition *const *)a)->name, (*(const struct definition *const *)b)->name);
}

static const struct definition *lowered_of(const struct facts *facts, const char *name)
{
	const struct definition key = { .name = name }, *asked = &key;
	const struct definition **found = bsearch(&asked, facts->by_name, facts->count, sizeof asked, by_name);
	return found ? *found : NULL;
}

static const char *clean(const struct facts *facts, const char *text)
{
	return text_clean(facts->arena, text ? text : "");
}

/* ---- nodes and kernels ---- */
static json_t *node_json(const struct facts *facts, const struct definition *d)
{
	return json_pack("{s:s,s:s,s:s}", "tensor", clean(facts, d->name), "op",
	        d->node ? clean(facts, d->node->type) : "", "node", d->node ? clean(facts, d->node->name) : "");
}

struct walk {
	struct facts *facts;
	const struct kernel *kernel;
	json_t *list;
};

static bool is_stored(const struct facts *facts, const struct definition *d)
{
	const struct definition *l = lowered_of(facts, d->name);
	return l && scheduled(l)->mode != MODE_VIRTUAL;
}

/* What the definition reads that nobody stores is computed here, too: before it. */
static void walk_load(void *user, const struct expr *load)
{
	struct walk *walk = user;
	const struct definition *d = load->of;
	int *seen = walk->facts->seen + d->number;
	if (d->source != SOURCE_COMPUTED || *seen == walk->kernel->number + 1 || is_stored(walk->facts, d))
		return;
	*seen = walk->kernel->number + 1;
	definition_loads(d, walk_load, walk);
	json_array_append_new(walk->list, node_json(walk->facts, d));
}

static json_t *nodes_json(struct facts *facts, const struct kernel *kernel)
{
	const struct program *program = facts->model->program;
	struct walk walk = { facts, kernel, json_array() };
	FOR_EACH (const struct definition *member, kernel->members) {
		FOR_ALL (i, program->all)
			if (!strcmp(program->all.at[i]->name, member->name))
				definition_loads(program->all.at[i], walk_load, &walk);
		json_array_append_new(walk.list, node_json(facts, member));
	}
	return walk.list;
}

static json_t *params_json(const struct facts *facts, const struct kernel *kernel, bool written)
{
	json_t *list = json_array();
	FOR_ALL (p, kernel->params)
		if (kernel->params.at[p].written == written)
			json_array_append_new(list, json_string(clean(facts, kernel->params.at[p].of->name)));
	return list;
}

/* Of a loop, or of what runs block by block. */
static json_t *inside_json(const struct kernel *kernel)
{
	const struct lowered *inside = kernel_inside(kernel);
	json_t *list = json_array();
	for (size_t k = 0; inside && k < inside->kernels.count; k++)
		json_array_append_new(list, json_string(inside->kernels.at[k]->name));
	return list;
}

static json_t *kernel_json(struct facts *facts, const struct kernel *kernel)
{
	const struct work work = kernel_work(facts->model->lowered, kernel);
	json_t *nodes = json_array();
	FOR_ALL (m, kernel->members)
		json_array_append_new(nodes, json_string(clean(facts, kernel->members.at[m]->name)));
	const struct node *node = kernel->root->node;
	return json_pack("{s:s,s:o,s:s,s:o,s:s,s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:o,s:o,s:o}", "name", kernel->name, "nodes",
	        nodes, "op", node ? clean(facts, node->type) : "", "computes", nodes_json(facts, kernel), "shape",
	        shapes[kernel->shape].name, "template",
	        kernel_template(facts->arena, facts->model->lowered->target, kernel), "tile", kernel->tile, "lanes",
	        kernel_lanes_text(facts->arena, kernel), "flops", kernel->flops, "multiply_adds", work.multiply_adds,
	        "operations", work.operations, "bytes", work.bytes, "reads", params_json(facts, kernel, false),
	        "writes", params_json(facts, kernel, true), "inside", inside_json(kernel));
}

/* Each node that the graph has, and the kernels that compute it: none where it folded, or is another's memory. */
static json_t *graph_json(const struct facts *facts)
{
	const struct graph *graph = facts->model->graph;
	json_t *list = json_array(), *of = json_object();
	FOR (k, json_array_size(facts->kernels)) {
		const json_t *kernel = json_array_get(facts->kernels, k),
		             *computes = json_object_get(kernel, "computes");
		FOR (i, json_array_size(computes)) {
			const char *tensor = json_string_value(json_object_get(json_array_get(computes, i), "tensor"));
			if (!json_object_get(of, tensor))
				json_object_set_new(of, tensor, json_array());
			json_array_append(json_object_get(of, tensor), json_object_get(kernel, "name"));
		}
	}
	FOR_EACH (const struct node *node, graph->nodes) {
		json_t *outs = json_array(), *kernels = json_array();
		FOR (o, node->outs)
			if (node->out[o]) {
				const char *tensor = clean(facts, node->out[o]->name);
				json_array_append_new(outs, json_string(tensor));
				json_array_extend(kernels, json_object_get(of, tensor));
			}
		json_array_append_new(list,
		        json_pack("{s:s,s:s,s:o,s:o}", "op", clean(facts, node->type), "name", clean(facts, node->name),
		                "tensors", outs, "kernels", kernels));
	}
	json_decref(of);
	return list;
}

/* ---- tensors ---- */
static const char *mode_of(const struct definition *d)
{
	static const char *const words[] = { [MODE_VIRTUAL] = "virtual",
		[MODE_LOCAL] = "local",
		[MODE_DEVICE] = "workspace",
		[MODE_HOSTED] = "caller's",
		[MODE_CONSTANT] = "weights" };
	return words[scheduled(d)->mode];
}

static json_t *dims_json(const struct definition *d)
{
	const struct shown shown = definition_shown(d);
	json_t *dims = json_array();
	FOR (v, shown.rank)
		json_array_append_new(dims, json_integer((json_int_t)shown.extents[v]));
	return dims;
}

static json_t *tensor_json(const struct facts *facts, const struct definition *d)
{
	const struct scheduled *s = scheduled(d);
	bool placed = s->mode == MODE_DEVICE || s->mode == MODE_CONSTANT;
	json_t *one = json_pack("{s:s,s:s,s:o,s:s,s:I,s:i,s:i}", "name", clean(facts, d->name), "type",
	        dtypes[definition_shown(d).type].text, "dims", dims_json(d), "mode", mode_of(d), "bytes",
	        (json_int_t)s->bytes, "first", s->first, "last", s->last);
	if (placed)
		json_object_set_new(one, "offset", json_integer((json_int_t)s->offset));
	if (s->view_of)
		json_object_set_new(one, "slice_of", json_string(clean(facts, s->view_of->name)));
	return one;
}

static json_t *tensors_json(const struct facts *facts)
{
	const struct program *program = facts->model->lowered->program;
	json_t *list = json_array();
	FOR_ALL (i, program->all)
		if (scheduled(program->all.at[i])->mode != MODE_VIRTUAL
		        && (program->all.at[i]->source != SOURCE_CONSTANT
		                || scheduled(program->all.at[i])->offset >= 0))
			json_array_append_new(list, tensor_json(facts, program->all.at[i]));
	return list;
}

static json_t *ends_json(const struct facts *facts, bool inputs)
{
	const struct program *program = facts->model->lowered->program;
	json_t *list = json_array();
	FOR (i, (inputs ? program->inputs.count : program->outputs.count)) {
		const struct definition *d = inputs ? program->inputs.at[i] : program->outputs.at[i];
		json_t *one = tensor_json(facts, d);
		json_object_set_new(one, "name",
		        json_string(
		                clean(facts, (inputs ? facts->model->input_names : facts->model->output_names)[i])));
		json_array_append_new(list, one);
	}
	return list;
}

/* ---- who reads what of whom ---- */
struct edge {
	const struct definition *of;
	int from, last, lane; /* rows: -1 is above the first kernel */
	json_t *to;
};

static int writer_of(const struct definition *d)
{
	while (!scheduled(d)->kernel && scheduled(d)->view_of)
		d = scheduled(d)->view_of;
	return scheduled(d)->kernel ? scheduled(d)->kernel->number : -1;
}

/* In a lane of its own, as far left as no other edge stands over the same rows; lane 0 is from a row to the next. */
static json_t *edges_json(const struct facts *facts)
{
	const struct lowered *lowered = facts->model->lowered;
	VECTOR(struct edge) edges = { 0 };
	VECTOR(int) ends = { 0 }; /* by lane: the last row that it is taken to */
	json_t *list = json_array();
	FOR_ALL (k, lowered->kernels)
		FOR_EACH_AT (const struct param *param, lowered->kernels.at[k]->params) {
			size_t e = 0;
			if (param->written || param->of->source == SOURCE_CONSTANT)
				continue;
			while (e < edges.count && edges.at[e].of != param->of)
				e++;
			if (e == edges.count)
				push(facts->arena, &edges,
				        (struct edge){ param->of, writer_of(param->of), 0, 0, json_array() });
			edges.at[e].last = (int)k;
			json_array_append_new(edges.at[e].to, json_integer((json_int_t)k));
		}
	push(facts->arena, &ends, 0);
	for (int row = -1; row < (int)lowered->kernels.count; row++)
		FOR_EACH_AT (struct edge *edge, edges) {
			if (edge->from != row)
				continue;
			size_t lane = edge->last > row + 1 ? 1 : 0;
			while (lane && lane < ends.count && ends.at[lane] > row)
				lane++;
			if (lane == ends.count)
				push(facts->arena, &ends, 0);
			if (lane)
				ends.at[lane] = edge->last;
			json_array_append_new(list,
			        json_pack("{s:s,s:i,s:o,s:i}", "tensor", clean(facts, edge->of->name), "from", row,
			                "to", edge->to, "lane", (int)lane));
		}
	return list;
}

/* ---- weights ---- */
static json_t *weights_json(const struct facts *facts)
{
	const struct lowered *lowered = facts->model->lowered;
	json_t *list = json_array();
	FOR_ALL (i, lowered->constants) {
		const struct definition *d = lowered->constants.at[i].of;
		json_t *readers = json_array();
		FOR_ALL (k, lowered->kernels)
			FOR_ALL (p, lowered->kernels.at[k]->params)
				if (lowered->kernels.at[k]->params.at[p].of == d)
					json_array_append_new(readers, json_string(lowered->kernels.at[k]->name));
		json_array_append_new(list,
		        json_pack("{s:s,s:s,s:o,s:I,s:I,s:o}", "name", clean(facts, d->name), "type",
		                dtypes[d->type].text, "dims", dims_json(d), "offset", (json_int_t)scheduled(d)->offset,
		                "bytes", (json_int_t)scheduled(d)->bytes, "kernels", readers));
	}
	return list;
}

static json_t *slabs_json(const struct lowered *lowered)
{
	json_t *list = json_array();
	FOR_ALL (i, lowered->workspace_pools)
		json_array_append_new(list,
		        json_pack("{s:s,s:I,s:I}", "name",
		                lowered_has_memories(lowered) ? lowered->workspace_pools.at[i].name : "", "at",
		                (json_int_t)lowered->workspace_pools.at[i].at, "bytes",
		                (json_int_t)lowered->workspace_pools.at[i].bytes));
	return list;
}

/* Bytes of the workspace that are in use while each kernel runs. */
static json_t *live_json(const struct facts *facts)
{
	const struct lowered *lowered = facts->model->lowered;
	json_t *list = json_array();
	FOR_ALL (k, lowered->kernels) {
		int64_t bytes = 0;
		FOR_ALL (i, lowered->program->all) {
			const struct scheduled *s = scheduled(lowered->program->all.at[i]);
			if (s->mode == MODE_DEVICE && !s->lies_in && !s->view_of && s->first <= (int)k
			        && (int)k <= s->last)
				bytes += s->bytes;
		}
		json_array_append_new(list, json_integer((json_int_t)bytes));
	}
	return list;
}

void report_facts(json_t *all, const struct model *model)
{
	const struct lowered *lowered = model->lowered;
	struct facts facts = { .model = model, .arena = model->build->arena, .count = lowered->program->all.count };
	facts.by_name = arena_new_array(facts.arena, const struct definition *, facts.count + 1);
	facts.seen = arena_new_array(facts.arena, int, model->program->all.count + 1);
	facts.kernels = json_array();
	if (facts.count)
		memcpy(facts.by_name, lowered->program->all.at, facts.count * sizeof *facts.by_name);
	qsort(facts.by_name, facts.count, sizeof *facts.by_name, by_name);
	FOR_ALL (k, lowered->kernels)
		json_array_append_new(facts.kernels, kernel_json(&facts, lowered->kernels.at[k]));
	json_object_set_new(all, "inputs", ends_json(&facts, true));
	json_object_set_new(all, "outputs", ends_json(&facts, false));
	json_object_set_new(all, "graph", graph_json(&facts));
	json_object_set_new(all, "kernels", facts.kernels);
	json_object_set_new(all, "edges", edges_json(&facts));
	json_object_set_new(all, "tensors", tensors_json(&facts));
	json_object_set_new(all, "slabs", slabs_json(lowered));
	json_object_set_new(all, "live", live_json(&facts));
	json_object_set_new(all, "weights", weights_json(&facts));
	json_object_set_new(all, "workspace_bytes", json_integer((json_int_t)lowered->workspace_bytes));
	json_object_set_new(all, "largest_live_set", json_integer((json_int_t)lowered->workspace_bound));
	json_object_set_new(all, "weights_bytes", json_integer((json_int_t)lowered->weights_bytes));
}
