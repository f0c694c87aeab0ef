/* repeat.c: a loop as one node, ingot.Repeat, that holds its body as a graph whose nodes are inferred already; and that node's definition.  control.c says what
 * goes from round to round; what the body reads of the graphs around it becomes inputs here.  Whatever stands in the way (a shape that changes from round to
 * round, a list, random numbers, an operator that wants a constant) is found before anything is left behind: the loop is unrolled then. */
#include "ops/ops.h"
#include "frontends/frontends.h"
#include <stdlib.h>

/* ---- what goes in and out ---- */
static struct tensor *tensor_like(struct graph *graph, const struct tensor *of, bool sliced)
{
	struct tensor *tensor = graph_tensor_fresh(graph, of->name);
	tensor->type = of->type;
	tensor->rank = of->rank - sliced;
	for (int d = 0; d < tensor->rank; d++)
		tensor->dims[d] = of->dims[d + sliced];
	return tensor;
}

NORETURN static void cannot(const struct repeating *r, const char *why) { node_fail(r->node, EXIT_UNSUPPORTED, "%s", why); }

/* A tensor that ingot can hold in memory as it is. */
static void want_plain(const struct repeating *r, const struct tensor *tensor)
{
	if (tensor->form || tensor->type == DTYPE_NONE || !tensor_is_known(tensor))
		cannot(r, "a type or shape depends on data");
	if (!dtype_is_supported(tensor->type) || dtype_stored(tensor->type) != tensor->type)
		cannot(r, "elements are smaller than a byte");
	if (tensor_elements(r->build, tensor) == 0)
		cannot(r, "a tensor has no elements");
}

struct tensor *repeat_in(struct repeating *r, struct tensor *operand, enum repeat_moves moves, bool back)
{
	want_plain(r, operand);
	struct tensor *input = tensor_like(r->body, operand, moves == REPEAT_SLICED);
	input->is_input = true;
	push(r->build->arena, &r->body->inputs, input);
	push(r->build->arena, &r->operands, operand);
	push(r->build->arena, &r->in, ((struct repeat_port){ moves, back, -1 }));
	return input;
}

bool repeat_reads(const struct repeating *r, const struct tensor *input)
{
	for (size_t i = 0; i < r->body->nodes.count; i++)
		for (int k = 0; k < r->body->nodes.at[i]->ins; k++)
			if (r->body->nodes.at[i]->in[k] == input)
				return true;
	return false;
}

void repeat_drop(struct repeating *r, struct tensor *input)
{
	size_t kept = 0;
	for (size_t i = 0; i < r->operands.count; i++) {
		if (r->body->inputs.at[i] == input)
			continue;
		r->body->inputs.at[kept] = r->body->inputs.at[i];
		r->operands.at[kept] = r->operands.at[i];
		r->in.at[kept++] = r->in.at[i];
	}
	r->body->inputs.count = r->operands.count = r->in.count = kept;
	input->is_input = false;
}

void repeat_out(struct repeating *r, struct tensor *output, struct tensor *carries, bool back)
{
	int pair = -1;
	want_plain(r, output);
	if (output->is_output || output->graph != r->body || (!output->producer && !output->data)) {     /* twice, or handed on: a copy */
		struct node *node = graph_node_new(r->body, "", "Identity", r->node->name, 1, 1);
		node->since = NEWEST_OPSET;
		node->in[0] = output;
		node->out[0] = tensor_like(r->body, output, false);
		node->out[0]->producer = node;
		output = node->out[0];
	}
	for (size_t i = 0; carries && i < r->body->inputs.count; i++)
		if (r->body->inputs.at[i] == carries)
			pair = (int)i;
	if (pair >= 0) {
		bool same = output->type == carries->type && output->rank == carries->rank;
		for (int d = 0; same && d < output->rank; d++)
			same = output->dims[d].extent == carries->dims[d].extent;
		if (!same)
			cannot(r, "a shape changes from round to round");
		r->in.at[pair].pair = (int)r->body->outputs.count;
	}
	output->is_output = true;
	push(r->build->arena, &r->body->outputs, output);
	push(r->build->arena, &r->out, ((struct repeat_port){ carries ? REPEAT_CARRIED : REPEAT_SLICED, back, pair }));
}

/* ---- what the body reads of the graphs around it ---- */
static void capture(struct repeating *r, struct tensor **place)
{
	struct tensor *tensor = *place;
	if (!tensor || tensor->graph == r->body || tensor->data)
		return;
	for (size_t i = 0; i < r->operands.count; i++)
		if (r->operands.at[i] == tensor && r->in.at[i].moves == REPEAT_STEADY) {
			*place = r->body->inputs.at[i];
			return;
		}
	*place = repeat_in(r, tensor, REPEAT_STEADY, false);
}

static void capture_all(struct repeating *r)
{
	for (size_t i = 0; i < r->body->nodes.count; i++) {
		struct node *node = r->body->nodes.at[i];
		for (int k = 0; k < node->ins; k++)
			capture(r, &node->in[k]);
		for (struct guard *guard = (struct guard *)(uintptr_t)node->guard; guard; guard = (struct guard *)(uintptr_t)guard->outer)
			capture(r, &guard->condition);        /* made with the body's nodes, for them alone */
	}
}

static void want_nodes(const struct repeating *r)
{
	for (size_t i = 0; i < r->body->nodes.count; i++) {
		const struct node *node = r->body->nodes.at[i];
		if (node_is_random(node))
			cannot(r, "random numbers are drawn anew in each round");
		for (int k = 0; k < node->outs; k++)
			if (node->out[k] && (node->out[k]->form || !tensor_is_known(node->out[k])))
				cannot(r, arena_printf(r->build->arena, "the shape of %.100s depends on data", node->out[k]->name));
	}
}

/* ---- the node ---- */
static int64_t *moves_of(struct arena *arena, const struct repeat_port *ports, size_t count, bool pairs)
{
	int64_t *at = new_array(arena, int64_t, count + 1);
	for (size_t i = 0; i < count; i++)
		at[i] = pairs ? ports[i].pair : ports[i].moves == REPEAT_SLICED && ports[i].back ? -1 : (int64_t)ports[i].moves;
	return at;
}

struct tensor **repeat_node(struct repeating *r, int64_t rounds, struct tensor *going)
{
	struct arena *arena = r->build->arena;
	size_t from = r->graph->nodes.count, ins, outs = r->out.count;
	capture_all(r);
	want_nodes(r);
	(void)define_graph(r->body);                          /* what it refuses, the loop is unrolled for */
	if (!repeat_pays(rounds, r->body->nodes.count))
		cannot(r, "it is small");
	ins = r->operands.count;
	struct node *node = graph_node_new(r->graph, "ingot", "Repeat", r->node->name, (int)ins, (int)outs);
	node->since = 1;
	node->where = r->node->where;
	if (ins)
		memcpy(node->in, r->operands.at, ins * sizeof *node->in);
	for (size_t k = 0; k < outs; k++) {
		node->out[k] = graph_tensor_fresh(r->graph, r->body->outputs.at[k]->name);
		node->out[k]->producer = node;
	}
	int64_t goes = -1;
	for (size_t i = 0; i < ins; i++)
		goes = going && r->body->inputs.at[i] == going ? (int64_t)i : goes;
	const struct attribute attributes[] = {
		{ .name = "body", .kind = ATTRIBUTE_GRAPH, .g = r->body }, { .name = "rounds", .kind = ATTRIBUTE_INT, .i = rounds },
		{ .name = "going", .kind = ATTRIBUTE_INT, .i = goes },
		{ .name = "inputs", .kind = ATTRIBUTE_INTS, .count = ins, .ints = moves_of(arena, r->in.at, ins, false) },
		{ .name = "outputs", .kind = ATTRIBUTE_INTS, .count = outs, .ints = moves_of(arena, r->out.at, outs, false) },
		{ .name = "pairs", .kind = ATTRIBUTE_INTS, .count = outs, .ints = moves_of(arena, r->out.at, outs, true) },
	};
	node->attributes = new_array(arena, struct attribute, COUNT(attributes));
	for (size_t i = 0; i < COUNT(attributes); i++) {
		node->attributes[i] = attributes[i];
		node->attributes[i].name = name_is(r->build->names, attributes[i].name);
	}
	node->attribute_count = COUNT(attributes);
	r->texts->walk(r->texts, r->graph, from);
	return node->out;
}

/* ---- with a way back ---- */
enum { NODES_UNROLLED = 256 };            /* rounds times nodes: more is a loop */

bool repeat_pays(int64_t rounds, size_t nodes)
{
	const char *above = getenv("INGOT_REPEAT");           /* for tests: the bound, 0 for every loop that can be one */
	double most = above ? atof(above) : NODES_UNROLLED;
	return (double)rounds * (double)nodes > most;
}

bool repeat_try(struct repeating *r, struct texts *texts, struct node *node, bool (*make)(struct repeating *, void *), void *user)
{
	struct build *build = node->graph->build;
	struct graph *graph = node->graph;
	const struct texts before = *texts;
	const struct guard *guard = graph->guard;
	size_t nodes = graph->nodes.count, tensors = graph->tensors.count;
	jmp_buf *out = build->out, mine;
	*r = (struct repeating){ .build = build, .texts = texts, .node = node, .graph = graph, .why = "" };
	build->out = &mine;
	if (setjmp(mine) == 0) {
		r->body = graph_new(build, node->name, graph->file, graph);
		r->inside = new(build->arena, struct node);
		*r->inside = *node;
		r->inside->graph = r->body;
		bool made = make(r, user);
		build->out = out;
		if (made)
			return true;
	} else {
		r->why = arena_copy(build->arena, build->message, strlen(build->message));
		build->code = EXIT_RIGHT;
		build->message[0] = build->detail[0] = 0;
		build->detailed = false;
	}
	build->out = out;
	*texts = before;
	graph->guard = guard;
	graph->nodes.count = nodes;
	graph->tensors.count = tensors;
	graph_reindex(graph);
	for (int k = 0; k < node->outs; k++)
		if (node->out[k])
			node->out[k]->producer = node;
	return false;
}

/* ---- its types, and its definition ---- */
static const struct graph *body_of(const struct node *node)
{
	const struct attribute *body = node_attribute(node, "body");
	size_t ins, outs, pairs;
	const int64_t *in = node_ints(node, "inputs", &ins), *out = node_ints(node, "outputs", &outs), *pair = node_ints(node, "pairs", &pairs);
	bool right = body && body->g && ins == (size_t)node->ins && outs == (size_t)node->outs && pairs == outs && body->g->inputs.count == ins
		&& body->g->outputs.count == outs && node_int(node, "rounds", 0) > 0 && node_int(node, "going", -1) < (int64_t)ins;
	for (size_t i = 0; right && i < ins; i++)
		right = node->in[i] && tensor_is_known(node->in[i]) && in[i] >= -1 && in[i] <= REPEAT_SLICED;
	for (size_t k = 0; right && k < outs; k++)
		right = out[k] == REPEAT_CARRIED ? pair[k] >= 0 && (size_t)pair[k] < ins && in[pair[k]] == REPEAT_CARRIED : out[k] == REPEAT_SLICED || out[k] == -1;
	if (!right)
		node_fail(node, EXIT_INVALID, "what goes in and out does not fit the body");
	return body->g;
}

void infer_repeat(struct node *node, const struct op *op)
{
	const struct graph *body = body_of(node);
	size_t count;
	const int64_t *out = node_ints(node, "outputs", &count);
	(void)op;
	for (int k = 0; k < node->outs; k++) {
		const struct tensor *of = body->outputs.at[k];
		struct dim dims[MAX_RANK] = { dim_of(node_int(node, "rounds", 1)) };
		bool sliced = out[k] != REPEAT_CARRIED;
		if (of->rank + sliced > MAX_RANK)
			node_fail(node, EXIT_LIMIT, "more than %d dimensions", MAX_RANK);
		memcpy(dims + sliced, of->dims, (size_t)of->rank * sizeof *dims);
		infer_output(node, k, of->type, of->rank + sliced, dims);
	}
}

/* Every check of the body becomes a pair that says whether it held in all rounds so far; which `truth` begins. */
static size_t carry_checks(struct definer *definer, struct program *body, const struct check **checks)
{
	size_t count = body->checks.count;
	for (size_t i = 0; i < count; i++) {
		struct definition *check = body->checks.at[i];
		struct definition *before = define_input(body, arena_printf(body->arena, "%s_before", check->name), DTYPE_BOOL, 0, NULL);
		struct definition *now = define_map(body, arena_printf(body->arena, "%s_all", check->name), 0, NULL,
			expr2(definer, SCALAR_and, expr_load(body->arena, before, NULL), expr_load(body->arena, check, NULL)));
		checks[i] = check->check;
		check->check = NULL;
		now->is_output = true;
		push(body->arena, &body->outputs, now);
		push(body->arena, &body->output_names, now->name);
	}
	body->checks.count = 0;
	return count;
}

void define_repeat(struct definer *definer, const struct op *op)
{
	const struct node *node = definer->node;
	struct arena *arena = definer->arena;
	const struct attribute *graph = node_attribute(node, "body");
	static const uint8_t yes = 1;
	size_t ins = (size_t)node->ins, outs = (size_t)node->outs, count;
	const int64_t *in = node_ints(node, "inputs", &count), *out = node_ints(node, "outputs", &count), *pair = node_ints(node, "pairs", &count);
	(void)op;
	struct repeat *repeat = new(arena, struct repeat);
	struct program *body = repeat->body = define_graph(graph->g);
	const struct check **checks = new_array(arena, const struct check *, body->checks.count + 1);
	size_t extra = carry_checks(definer, body, checks);
	struct repeat_port *ports_in = new_array(arena, struct repeat_port, ins + extra + 1), *ports_out = new_array(arena, struct repeat_port, outs + extra + 1);
	struct definition **operands = new_array(arena, struct definition *, ins + extra + 1), *base = NULL;
	repeat->rounds = node_int(node, "rounds", 1);
	repeat->going = (int)node_int(node, "going", -1);
	repeat->in = ports_in;
	repeat->out = ports_out;
	for (size_t i = 0; i < ins; i++) {
		operands[i] = definer_in_stored(definer, (int)i);
		ports_in[i] = (struct repeat_port){ in[i] < 0 ? REPEAT_SLICED : (enum repeat_moves)in[i], in[i] < 0, -1 };
	}
	for (size_t k = 0; k < outs; k++) {
		ports_out[k] = (struct repeat_port){ out[k] < 0 ? REPEAT_SLICED : (enum repeat_moves)out[k], out[k] < 0, (int)pair[k] };
		if (out[k] == REPEAT_CARRIED)
			ports_in[pair[k]].pair = (int)k;
	}
	struct definition *truth = extra ? define_constant(definer->program, definer_name(definer, "true"), DTYPE_BOOL, 0, NULL, &yes) : NULL;
	for (size_t i = 0; i < extra; i++) {
		operands[ins + i] = truth;
		ports_in[ins + i] = (struct repeat_port){ REPEAT_CARRIED, false, (int)(outs + i) };
		ports_out[outs + i] = (struct repeat_port){ REPEAT_CARRIED, false, (int)(ins + i) };
	}
	for (size_t k = 0; k < outs; k++) {
		struct definition *result = definer_repeat(definer, node->out[k] ? node->out[k]->name : "part", repeat, (int)k, operands, base);
		base = base ? base : result;
		definer_out(definer, (int)k, result);
	}
	for (size_t i = 0; i < extra; i++) {
		struct definition *result = definer_repeat(definer, definer_name(definer, "held"), repeat, (int)(outs + i), operands, base);
		definer_require(definer, checks[i]->code, 0, NULL, expr_load(arena, result, NULL), "%s", checks[i]->text);
	}
}
