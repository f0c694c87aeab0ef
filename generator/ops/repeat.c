/* repeat.c: a loop as one node, ingot.Repeat, that holds its body as a graph whose nodes are inferred already; and that
 * node's definition.  control.c says what goes from round to round; what the body reads of the graphs around it becomes
 * inputs here.  Whatever stands in the way (a shape that changes from round to round, a list, random numbers, an
 * operator that wants a constant) is found before anything is left behind: the loop is unrolled then. */
#include "ops/words.h"
#include "frontends/frontends.h"
#include <stdlib.h>

/* ---- what goes in and out ---- */
static struct tensor *tensor_like(struct graph *graph, const struct tensor *of, bool sliced)
{
	struct tensor *tensor = graph_tensor_fresh(graph, of->name);
	tensor->type = of->type;
	tensor->rank = of->rank - sliced;
	FOR (d, tensor->rank)
		tensor->dims[d] = of->dims[d + sliced];
	return tensor;
}

NORETURN static void cannot(const struct repeating *r, const char *why)
{
	node_fail(r->node, EXIT_UNSUPPORTED, "%s", why);
}

/* What keeps a tensor from lying in memory as it is; NULL: nothing. */
static const char *why_not_plain(const struct tensor *tensor)
{
	if (!tensor || tensor->form || tensor->type == DTYPE_NONE || !tensor_is_known(tensor))
		return "a type or shape depends on data";
	if (!dtype_is_supported(tensor->type) || dtype_stored(tensor->type) != tensor->type)
		return "elements are smaller than a byte";
	if (tensor_elements(tensor->graph->build, tensor) == 0)
		return "a tensor has no elements";
	return tensor_counted(tensor) ? "an extent is counted when it runs" : NULL;
}

static void want_plain(const struct repeating *r, const struct tensor *tensor)
{
	const char *why = why_not_plain(tensor);
	if (why)
		cannot(r, why);
}

/* Two of one type and shape; sliced: the second is an element of the first along the first of its axes, which are
 * `rounds`. */
static bool fits(const struct tensor *whole, const struct tensor *part, bool sliced, int64_t rounds)
{
	bool same = !why_not_plain(whole) && !why_not_plain(part) && whole->type == part->type
	        && whole->rank == part->rank + sliced && (!sliced || whole->dims[0].extent == rounds);
	FOR_WHILE (d, same, part->rank)
		same = whole->dims[d + sliced].extent == part->dims[d].extent;
	return same;
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
	FOR_ALL (i, r->body->nodes)
		FOR (k, r->body->nodes.at[i]->ins)
			if (r->body->nodes.at[i]->in[k] == input)
				return true;
	return false;
}

void repeat_drop(struct repeating *r, struct tensor *input)
{
	size_t kept = 0;
	FOR_ALL (i, r->operands) {
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
	if (output->is_output || output->graph != r->body
	        || (!output->producer && !output->data)) { /* twice, or handed on: a copy */
		struct node *node = graph_node_new(r->body, "", "Identity", r->node->name, 1, 1);
		node->since = NEWEST_OPSET;
		node->in[0] = output;
		node->out[0] = tensor_like(r->body, output, false);
		node->out[0]->producer = node;
		output = node->out[0];
	}
	FOR_WHILE (i, carries, r->body->inputs.count)
		if (r->body->inputs.at[i] == carries)
			pair = (int)i;
	if (pair >= 0) {
		if (!fits(output, carries, false, 0))
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
	FOR_ALL (i, r->operands)
		if (r->operands.at[i] == tensor && r->in.at[i].moves == REPEAT_STEADY) {
			*place = r->body->inputs.at[i];
			return;
		}
	*place = repeat_in(r, tensor, REPEAT_STEADY, false);
}

static void capture_all(struct repeating *r)
{
	FOR_EACH (struct node *node, r->body->nodes) {
		FOR (k, node->ins)
			capture(r, &node->in[k]);
		for (struct guard *guard = (struct guard *)(uintptr_t)node->guard; guard;
		        guard = (struct guard *)(uintptr_t)guard->outer)
			capture(r, &guard->condition); /* made with the body's nodes, for them alone */
	}
}

/* ---- what no round changes ---- */
static size_t input_number(const struct repeating *r, const struct tensor *tensor)
{
	size_t i = 0;
	while (i < r->body->inputs.count && r->body->inputs.at[i] != tensor)
		i++;
	return i;
}

static bool is_steady(const struct repeating *r, const struct node *node)
{
	if (node->guard || node_is_random(node) || !node->ins)
		return false;
	FOR (i, node->ins) {
		size_t n = node->in[i] && !node->in[i]->data ? input_number(r, node->in[i]) : 0;
		if (node->in[i] && !node->in[i]->data
		        && (n == r->body->inputs.count || r->in.at[n].moves != REPEAT_STEADY))
			return false;
	}
	FOR (k, node->outs)
		if (node->out[k]
		        && (node->out[k]->is_output || node->out[k]->form || !tensor_is_known(node->out[k])
		                || tensor_elements(r->build, node->out[k]) == 0))
			return false;
	FOR (i, node->attribute_count)
		if (node->attributes[i].g)
			return false;
	return true;
}

static void read_instead(const struct repeating *r, const struct tensor *old, struct tensor *now)
{
	FOR_EACH (struct node *node, r->body->nodes) {
		FOR (k, node->ins)
			node->in[k] = node->in[k] == old ? now : node->in[k];
		for (struct guard *guard = (struct guard *)(uintptr_t)node->guard; guard;
		        guard = (struct guard *)(uintptr_t)guard->outer)
			guard->condition = guard->condition == old ? now : guard->condition;
	}
}

static struct tensor *constant_out(struct repeating *r, const struct tensor *constant)
{
	struct tensor *made = tensor_like(r->graph, constant, false);
	made->data = constant->data;
	made->late = constant->late;
	made->bytes = constant->bytes;
	made->strings = constant->strings;
	made->is_initializer = true;
	return made;
}

/* The node goes before the loop; where the first round may not come, it is as a node of that. */
static void move_out(struct repeating *r, struct node *node, const struct guard *guard)
{
	node->graph = r->graph;
	node->guard = guard;
	push(r->build->arena, &r->graph->nodes, node);
	FOR (i, node->ins)
		if (node->in[i] && !node->in[i]->data)
			node->in[i] = r->operands.at[input_number(r, node->in[i])];
		else if (node->in[i] && node->in[i]->graph == r->body)
			node->in[i] = constant_out(r, node->in[i]);
	FOR (k, node->outs) {
		struct tensor *old = node->out[k];
		if (!old)
			continue;
		node->out[k] = tensor_like(r->graph, old, false);
		node->out[k]->producer = node;
		old->producer = NULL;
		read_instead(r, old, repeat_in(r, node->out[k], REPEAT_STEADY, false));
	}
}

static bool asks(const struct repeating *r, const struct tensor *input)
{
	FOR_ALL (i, r->body->nodes)
		for (const struct guard *guard = r->body->nodes.at[i]->guard; guard; guard = guard->outer)
			if (guard->condition == input)
				return true;
	return false;
}

static void move_steady(struct repeating *r, const struct tensor *going)
{
	struct guard *guard = NULL;
	struct tensor *starts = going ? r->operands.at[input_number(r, going)] : NULL;
	size_t kept = 0;
	if (starts && !starts->data) {
		guard = arena_new(r->build->arena, struct guard);
		*guard = (struct guard){ starts, true, r->graph->guard };
	}
	FOR_ALL (i, r->body->nodes)
		if (is_steady(r, r->body->nodes.at[i]))
			move_out(r, r->body->nodes.at[i], guard ? guard : r->graph->guard);
		else
			r->body->nodes.at[kept++] = r->body->nodes.at[i];
	r->body->nodes.count = kept;
	for (size_t i = r->body->inputs.count; i-- > 0;) /* they stand behind all that others are told of by number */
		if (r->in.at[i].moves == REPEAT_STEADY && !repeat_reads(r, r->body->inputs.at[i])
		        && !asks(r, r->body->inputs.at[i]))
			repeat_drop(r, r->body->inputs.at[i]);
}

static void want_nodes(const struct repeating *r)
{
	FOR_EACH (const struct node *node, r->body->nodes) {
		if (node_is_random(node))
			cannot(r, "random numbers are drawn anew in each round");
		FOR (k, node->outs)
			if (node->out[k]
			        && (node->out[k]->form || !tensor_is_known(node->out[k])
			                || tensor_counted(node->out[k])))
				cannot(r,
				        arena_printf(r->build->arena, "the shape of %.100s depends on data",
				                node->out[k]->name));
	}
}

/* ---- the node ---- */
static int64_t *moves_of(struct arena *arena, const struct repeat_port *ports, size_t count, bool pairs)
{
	int64_t *at = arena_new_array(arena, int64_t, count + 1);
	FOR (i, count)
		at[i] = pairs                                              ? ports[i].pair
		        : ports[i].moves == REPEAT_SLICED && ports[i].back ? -1
		                                                           : (int64_t)ports[i].moves;
	return at;
}

static struct tensor **make_node(
        struct repeating *r, int64_t rounds, const struct tensor *going, const struct own *own, struct tensor **out)
{
	struct arena *arena = r->build->arena;
	size_t ins = r->operands.count, outs = r->out.count, from = r->graph->nodes.count;
	struct node *node = graph_node_new(r->graph, "ingot", "Repeat", r->node->name, (int)ins, (int)outs);
	node->since = 1;
	node->where = r->node->where;
	node->own = own;
	if (ins)
		memcpy(node->in, r->operands.at, ins * sizeof *node->in);
	FOR (k, outs) {
		node->out[k] = out ? out[k] : graph_tensor_fresh(r->graph, r->body->outputs.at[k]->name);
		node->out[k]->producer = node;
	}
	int64_t goes = -1;
	FOR (i, ins)
		goes = going && r->body->inputs.at[i] == going ? (int64_t)i : goes;
	const struct attribute attributes[] = {
		{ .name = "body", .kind = ATTRIBUTE_GRAPH, .g = r->body },
		{ .name = "rounds", .kind = ATTRIBUTE_INT, .i = rounds },
		{ .name = "going", .kind = ATTRIBUTE_INT, .i = goes },
		{ .name = "inputs",
		        .kind = ATTRIBUTE_INTS,
		        .count = ins,
		        .ints = moves_of(arena, r->in.at, ins, false) },
		{ .name = "outputs",
		        .kind = ATTRIBUTE_INTS,
		        .count = outs,
		        .ints = moves_of(arena, r->out.at, outs, false) },
		{ .name = "pairs",
		        .kind = ATTRIBUTE_INTS,
		        .count = outs,
		        .ints = moves_of(arena, r->out.at, outs, true) },
	};
	node->attributes = arena_new_array(arena, struct attribute, COUNT(attributes));
	FOR (i, COUNT(attributes)) {
		node->attributes[i] = attributes[i];
		node->attributes[i].name = name_is(r->build->names, attributes[i].name);
	}
	node->attribute_count = COUNT(attributes);
	r->bodies->walk(r->bodies, r->graph, from);
	return node->out;
}

struct tensor **repeat_node(struct repeating *r, int64_t rounds, struct tensor *going)
{
	capture_all(r);
	want_nodes(r);
	move_steady(r, going);
	(void)define_graph(r->body); /* what it refuses, the loop is unrolled for */
	if (!repeat_pays(rounds, r->body->nodes.count))
		cannot(r, "it is small");
	return make_node(r, rounds, going, NULL, NULL);
}

void repeat_own(struct repeating *r, const struct own *own, struct tensor **out)
{
	FOR_ALL (k, r->out)
		r->out.at[k].moves = REPEAT_STEADY;
	capture_all(r);
	want_nodes(r);
	make_node(r, 1, NULL, own, out);
}

/* ---- with a way back ---- */
enum { NODES_UNROLLED = 256 }; /* rounds times nodes: more is a loop */

bool repeat_pays(int64_t rounds, size_t nodes)
{
	const char *above = getenv("INGOT_REPEAT"); /* for tests: the bound, 0 for every loop that can be one */
	double most = above ? atof(above) : NODES_UNROLLED;
	return (double)rounds * (double)nodes > most;
}

bool repeat_try(struct repeating *r, struct bodies *bodies, struct node *node, bool (*make)(struct repeating *, void *),
        void *user)
{
	struct build *build = node->graph->build;
	struct graph *graph = node->graph;
	const struct bodies_mark before = bodies_mark(bodies, graph);
	jmp_buf *out = build->out, mine;
	*r = (struct repeating){
		.build = build, .bodies = bodies, .node = node, .graph = graph, .why = "nothing bounds them below 2^31"
	};
	build->out = &mine;
	if (setjmp(mine) == 0) {
		r->body = graph_new(build, node->name, graph->file, graph);
		r->inside = arena_new(build->arena, struct node);
		*r->inside = *node;
		r->inside->graph = r->body;
		bool made = make(r, user);
		build->out = out;
		if (made)
			return true;
	} else
		r->why = bodies_forgive(build);
	build->out = out;
	bodies_take_back(bodies, graph, &before);
	FOR (k, node->outs)
		if (node->out[k])
			node->out[k]->producer = node;
	return false;
}

/* ---- its types, and its definition ---- */
/* It may come from a file: all that definitions rely on is asked. */
static const struct graph *body_of(const struct node *node)
{
	const struct attribute *body = node_attribute(node, "body");
	size_t ins, outs, pairs, carried = 0;
	const int64_t *in = node_ints(node, "inputs", &ins), *out = node_ints(node, "outputs", &outs),
	              *pair = node_ints(node, "pairs", &pairs);
	int64_t rounds = node_int(node, "rounds", 0), going = node_int(node, "going", -1);
	const struct graph *graph = body ? body->g : NULL;
	bool right = graph && ins == (size_t)node->ins && outs > 0 && outs == (size_t)node->outs && pairs == outs
	        && graph->inputs.count == ins && graph->outputs.count == outs && rounds > 0 && rounds <= INT32_MAX
	        && going < (int64_t)ins;
	FOR_WHILE (i, right, ins) {
		right = in[i] >= -1 && in[i] <= REPEAT_SLICED && node->in[i]
		        && fits(node->in[i], graph->inputs.at[i], in[i] < 0 || in[i] == REPEAT_SLICED, rounds);
		carried += in[i] == REPEAT_CARRIED;
	}
	FOR_WHILE (k, right, outs) {
		const struct tensor *of = graph->outputs.at[k];
		right = !why_not_plain(of) && of->rank < MAX_RANK
		        && (out[k] == REPEAT_CARRIED
		                        ? pair[k] >= 0 && (size_t)pair[k] < ins && in[pair[k]] == REPEAT_CARRIED
		                                && fits(of, graph->inputs.at[pair[k]], false, 0)
		                        : out[k] == REPEAT_SLICED || out[k] == -1
		                                || (out[k] == REPEAT_STEADY && rounds == 1));
		FOR_WHILE (other, right, k)
			right = out[k] != REPEAT_CARRIED || out[other] != REPEAT_CARRIED || pair[k] != pair[other];
		carried -= out[k] == REPEAT_CARRIED;
	}
	right = right && !carried
	        && (going < 0
	                || (in[going] == REPEAT_CARRIED && graph->inputs.at[going]->type == DTYPE_BOOL
	                        && tensor_is_scalar_like(graph->inputs.at[going])));
	FAIL_IF(!right, EXIT_INVALID, "what goes in and out does not fit the body");
	return graph;
}

void infer_repeat(struct node *node)
{
	const struct graph *body = body_of(node);
	size_t count;
	const int64_t *out = node_ints(node, "outputs", &count);
	FOR (k, node->outs) {
		const struct tensor *of = body->outputs.at[k];
		struct dim dims[MAX_RANK] = { dim_of(node_int(node, "rounds", 1)) };
		bool sliced = out[k] == REPEAT_SLICED || out[k] < 0;
		memcpy(dims + sliced, of->dims, (size_t)of->rank * sizeof *dims);
		infer_output(node, k, of->type, of->rank + sliced, dims);
	}
}

/* ---- definitions ---- */
typedef VECTOR(const struct check *) check_list;

void rounds_begin(struct looping *l, struct definer *outer, struct program *body)
{
	*l = (struct looping){ .outer = outer, .repeat = arena_new(outer->arena, struct repeat) };
	l->repeat->body = body;
	l->repeat->going = -1;
	l->inside =
	        (struct definer){ .build = outer->build, .arena = outer->arena, .program = body, .node = outer->node };
	l->inside.defined = definer_nothing(outer);
}

/* Ports alone, where the body has its inputs and outputs. */
static size_t rounds_port_in(struct looping *l, struct definition *operand, enum repeat_moves moves, bool back)
{
	push(l->outer->arena, &l->operands, operand);
	push(l->outer->arena, &l->in, ((struct repeat_port){ moves, back, -1 }));
	return l->in.count - 1;
}

static void rounds_port_out(struct looping *l, int carries, bool back)
{
	if (carries >= 0)
		l->in.at[carries].pair = (int)l->out.count;
	push(l->outer->arena, &l->out,
	        ((struct repeat_port){ carries >= 0 ? REPEAT_CARRIED : REPEAT_SLICED, back, carries }));
}

struct definition *rounds_result(struct looping *l, size_t k, const char *name)
{
	l->repeat->in = l->in.at;
	l->repeat->out = l->out.at;
	struct definition *result = definer_repeat(l->outer, name, l->repeat, (int)k, l->operands.at, l->base);
	l->base = l->base ? l->base : result;
	return result;
}

struct definition *rounds_in(struct looping *l, struct definition *operand, enum repeat_moves moves)
{
	int sliced = moves == REPEAT_SLICED;
	if (operand && operand->source == SOURCE_CONSTANT
	        && moves == REPEAT_STEADY) /* stays one: packed for who reads it */
		return program_constant(l->repeat->body, operand);
	if (!operand)
		return NULL;
	rounds_port_in(l, operand, moves, false);
	return define_input(
	        l->repeat->body, operand->name, operand->type, operand->rank - sliced, operand->extents + sliced);
}

void rounds_out(struct looping *l, struct definition *of, const struct definition *carries)
{
	struct program *body = l->repeat->body;
	index_ref at[MAX_RANK];
	int pair = -1;
	index_vars(l->outer->arena, at, of->rank, of->extents);
	if (of->port.is_output)
		of = define_map(body, of->name, of->rank, of->extents, expr_load(l->outer->arena, of, at));
	FOR_ALL (i, body->inputs)
		if (body->inputs.at[i] == carries)
			pair = (int)i;
	of->port.is_output = true;
	push(body->arena, &body->outputs, of);
	push(body->arena, &body->output_names, of->name);
	rounds_port_out(l, pair, false);
}

/* Every check of the body becomes a pair that says whether it held in all rounds so far. */
static void carry_checks(struct looping *l, check_list *checks, struct definition *truth)
{
	struct program *body = l->repeat->body;
	struct arena *arena = body->arena;
	FOR_EACH (struct definition *check, body->checks) {
		struct definition *before =
		        define_input(body, arena_printf(arena, "%s_before", check->name), DTYPE_BOOL, 0, NULL);
		struct definition *now = define_map(body, arena_printf(arena, "%s_all", check->name), 0, NULL,
		        expr2(l->outer, SCALAR_and, expr_load(arena, before, NULL), expr_load(arena, check, NULL)));
		push(arena, checks, check->check);
		check->check = NULL;
		rounds_port_in(l, truth, REPEAT_CARRIED, false);
		rounds_out(l, now, before);
	}
	body->checks.count = 0;
}

void define_repeat(struct definer *definer)
{
	static const uint8_t yes = 1;
	size_t ins = (size_t)NODE->ins, outs = (size_t)NODE->outs, count;
	const int64_t *in = node_ints(NODE, "inputs", &count), *out = node_ints(NODE, "outputs", &count),
	              *pair = node_ints(NODE, "pairs", &count);
	struct looping l;
	check_list checks = { 0 };
	rounds_begin(&l, definer, define_graph(node_attribute(NODE, "body")->g));
	l.repeat->rounds = node_int(NODE, "rounds", 1);
	l.repeat->going = (int)node_int(NODE, "going", -1);
	FOR (i, ins)
		rounds_port_in(&l, STORED((int)i), in[i] < 0 ? REPEAT_SLICED : (enum repeat_moves)in[i], in[i] < 0);
	FOR (k, outs) {
		rounds_port_out(&l, out[k] == REPEAT_CARRIED ? (int)pair[k] : -1, out[k] < 0);
		if (out[k] == REPEAT_STEADY)
			l.out.at[k].moves = REPEAT_STEADY;
	}
	l.repeat->own = NODE->own;
	if (NODE->own) /* its kernel asks nothing */
		l.repeat->body->checks.count = 0;
	if (l.repeat->body->checks.count)
		carry_checks(&l, &checks, define_constant(definer->program, NAMED("true"), DTYPE_BOOL, 0, NULL, &yes));
	FOR (k, outs)
		GIVE((int)k, rounds_result(&l, k, NODE->out[k] ? NODE->out[k]->name : "part"));
	FOR_ALL (i, checks) {
		struct definition *result = rounds_result(&l, outs + i, NAMED("held"));
		definer_require(definer, checks.at[i]->code, 0, NULL, LOAD(result, NULL), "%s", checks.at[i]->text);
	}
}
