/* control.c: nodes that hold graphs (If, Loop, Scan) -> the nodes of those graphs.  A constant condition leaves one
 * branch; else both are there, joined by a select on the condition, which says as well how many elements there are
 * where the branches differ in that; of one whose nodes are wrong for these shapes a check is left.  A loop becomes its
 * rounds, one after the other, as long as their number has a bound when the graph is compiled; each is inferred before
 * the next begins, so conditions may fold and shapes may change from round to round.  Where the condition or the number
 * of rounds comes at run time, the rounds behind the end hand on what they were given.  What no round changes is made
 * by the first one alone. */
#include "ops/ops.h"
#include "frontends/frontends.h"
#include <inttypes.h>

enum { ROUNDS_MOST = 4096, STACKED_TOGETHER = 64 };

/* A node that holds graphs, while its nodes are being made. */
struct holder {
	struct bodies *bodies;
	struct node *node;
	struct graph *graph; /* that the node is of */
	struct arena *arena;
	struct expansion expansion;
};

/* ---- nodes of our own between those of the graphs ---- */
static struct tensor *fresh(struct holder *h, const char *like) { return graph_tensor_fresh(h->graph, like); }

/* out[0] of a node with one attribute or none (NULL), inferred; out NULL: a fresh tensor. */
static struct tensor *add_node(struct holder *h, const char *domain, const char *type, int ins,
        struct tensor *const *in, const char *attribute, int64_t value, struct tensor *out)
{
	size_t from = h->graph->nodes.count;
	struct node *node = graph_node_new(h->graph, domain, type, h->node->name, ins, 1);
	node->since = *domain ? 1 : NEWEST_OPSET;
	node->where = h->node->where;
	memcpy(node->in, in, (size_t)ins * sizeof *in);
	node->out[0] = out ? out : fresh(h, type);
	node->out[0]->producer = node;
	if (attribute) {
		node->attributes = arena_new(h->arena, struct attribute);
		node->attributes[node->attribute_count++] = (struct attribute){
			.name = name_is(h->graph->build->names, attribute), .kind = ATTRIBUTE_INT, .i = value
		};
	}
	h->bodies->walk(h->bodies, h->graph, from);
	return node->out[0];
}

static struct tensor *add(struct holder *h, const char *domain, const char *type, int ins, struct tensor *const *in)
{
	return add_node(h, domain, type, ins, in, NULL, 0, NULL);
}

static struct tensor *whole(struct holder *h, int rank, int64_t value)
{
	return graph_constant(h->graph, "round", DTYPE_I64, rank, (int64_t[1]){ 1 }, &value);
}

static struct tensor *truth(struct holder *h, bool value)
{
	return graph_constant(h->graph, "condition", DTYPE_BOOL, 0, NULL, &(uint8_t){ value });
}

static struct tensor *element(struct holder *h, struct tensor *of, int64_t axis, int64_t at)
{
	return add_node(h, "", "Gather", 2, (struct tensor *[]){ of, whole(h, 0, at) }, "axis", axis, NULL);
}

/* Tensors side by side along a new axis, in groups first, so that nothing reads more of them than a function should
 * have parameters. */
static struct tensor *stacked(struct holder *h, int64_t count, struct tensor *const *parts, int64_t axis)
{
	struct tensor **now = arena_new_array(h->arena, struct tensor *, (size_t)count);
	for (int64_t i = 0; i < count; i++)
		now[i] = add(h, "", "Unsqueeze", 2, (struct tensor *[]){ parts[i], whole(h, 1, axis) });
	while (count > 1) {
		int64_t groups = 0;
		for (int64_t i = 0; i < count; i += STACKED_TOGETHER) {
			int64_t left = count - i, most = left < STACKED_TOGETHER ? left : STACKED_TOGETHER;
			now[groups++] = add_node(h, "", "Concat", (int)most, now + i, "axis", axis, NULL);
		}
		count = groups;
	}
	return now[0];
}

/* A tensor without that axis, of no elements: what a round would be given where there is none. */
static struct tensor *without(struct holder *h, const struct tensor *of, int64_t axis)
{
	struct tensor *tensor = fresh(h, of->name);
	tensor->type = of->type;
	tensor->rank = of->rank - 1;
	for (int d = 0; d < tensor->rank; d++)
		tensor->dims[d] = of->dims[d < axis ? d : d + 1];
	return tensor;
}

static void hand_out(struct holder *h, int k, struct tensor *tensor)
{
	if (node_has_out(h->node, k))
		add_node(h, "", "Identity", 1, &tensor, NULL, 0, h->node->out[k]);
}

/* ---- the graphs ---- */
static struct graph *graph_of(const struct node *node, const char *name)
{
	const struct attribute *attribute = node_attribute(node, name);
	if (!attribute || !attribute->g)
		node_fail(node, EXIT_INVALID, "%s lacks the attribute \"%s\"", node->type, name);
	return attribute->g;
}

static void want_graph(
        const struct node *node, const char *name, const struct graph *graph, size_t ins, size_t outs, bool more)
{
	if (graph->inputs.count != ins)
		node_fail(node, EXIT_INVALID, "%s has %zu input%s, %zu %s right", name, graph->inputs.count,
		        graph->inputs.count == 1 ? "" : "s", ins, ins == 1 ? "is" : "are");
	if (more ? graph->outputs.count < outs : graph->outputs.count != outs)
		node_fail(node, EXIT_INVALID, "%s has %zu output%s, %s%zu %s right", name, graph->outputs.count,
		        graph->outputs.count == 1 ? "" : "s", more ? "at least " : "", outs, outs == 1 ? "is" : "are");
}

static const char *described(const struct holder *h, const struct tensor *tensor)
{
	return type_of_tensor(h->graph->build, tensor);
}

static bool types_differ(const struct tensor *a, const struct tensor *b)
{
	return a->form != b->form || (a->type != DTYPE_NONE && b->type != DTYPE_NONE && a->type != b->type);
}

bool ranks_differ(const struct tensor *a, const struct tensor *b)
{
	return a->rank >= 0 && b->rank >= 0 && a->rank != b->rank;
}

static bool extents_differ(const struct tensor *a, const struct tensor *b)
{
	for (int d = 0; a->rank == b->rank && d < a->rank; d++)
		if (dim_is_known(a->dims[d]) && dim_is_known(b->dims[d]) && a->dims[d].extent != b->dims[d].extent)
			return true;
	return false;
}

/* What comes as input i of a body has the type and rank that the body says. */
static void want_fit(const struct holder *h, size_t i, const struct tensor *given)
{
	const struct tensor *declared = h->expansion.body->inputs.at[i];
	if (given && (types_differ(declared, given) || (!given->form && ranks_differ(declared, given))))
		node_fail(h->node, EXIT_INVALID, "input %s of the body is %s, but %s comes", declared->name,
		        described(h, declared), described(h, given));
}

/* What is no optional, handed on to a round that is given one, is an optional with a value there. */
static struct tensor *as_given(struct holder *h, const struct tensor *declared, struct tensor *next)
{
	if (next->form == declared->form || next->form != (declared->form & ~FORM_OPTIONAL)
	        || (next->form && !next->list))
		return next;
	struct tensor *optional = graph_tensor_fresh(h->graph, next->name);
	struct list *list = arena_new(h->arena, struct list);
	*list = next->list ? *next->list
	                   : (struct list){ .count = 1, .at = arena_new_array(h->arena, struct tensor *, 1) };
	if (!next->list)
		list->at[0] = next;
	optional->form = declared->form;
	optional->type = next->type;
	optional->rank = next->rank;
	memcpy(optional->dims, next->dims, sizeof next->dims);
	optional->list = list;
	return optional;
}

/* The graph's nodes, inferred; its outputs, those that the node has not too.  condition: they are needed where it is
 * `yes`; NULL: always. */
static struct tensor **expand_graph(struct holder *h, int ins, struct tensor **in, struct tensor *condition, bool yes)
{
	const struct guard *outer = h->graph->guard;
	struct guard *guard = arena_new(h->arena, struct guard);
	*guard = (struct guard){ condition, yes, outer };
	if (condition)
		h->graph->guard = guard;
	const struct graph *body = h->expansion.body;
	struct tensor **out = arena_new_array(h->arena, struct tensor *, body->outputs.count + 1);
	for (size_t k = 0; k < body->outputs.count; k++)
		out[k] = fresh(h, body->outputs.at[k]->name);
	size_t from = h->graph->nodes.count;
	graph_expand(&h->expansion, ins, in, (int)body->outputs.count, out);
	h->bodies->walk(h->bodies, h->graph, from);
	h->graph->guard = outer;
	return out;
}

static struct holder holder_of(struct bodies *bodies, struct node *node)
{
	return (struct holder){ .bodies = bodies,
		.node = node,
		.graph = node->graph,
		.arena = node->graph->build->arena,
		.expansion = { .owner = node, .copied = &bodies->copied } };
}

/* ---- what all rounds share: what depends on nothing that a round is given ---- */
bool node_is_random(const struct node *node)
{
	const struct op *op = op_find(node->domain, node->type);
	return op
	        && (op->define == define_random || op->define == define_random_like || op->define == define_bernoulli);
}

static bool graph_is_steady(const struct graph *, const struct graph *body);

/* `body`: the graph of the rounds; nodes of it that are marked are made once. */
static bool is_steady(const struct node *node, const struct graph *body)
{
	if (node_is_random(node))
		return false;
	for (int i = 0; i < node->ins; i++) {
		const struct tensor *in = node->in[i];
		if (in && in->graph == body && !in->data && !(in->producer && in->producer->mark))
			return false;
	}
	for (int i = 0; i < node->attribute_count; i++) {
		const struct attribute *a = &node->attributes[i];
		if (a->g && !graph_is_steady(a->g, body))
			return false;
		for (size_t k = 0; a->kind == ATTRIBUTE_GRAPHS && k < a->count; k++)
			if (!graph_is_steady(a->graphs[k], body))
				return false;
	}
	return true;
}

static bool graph_is_steady(const struct graph *graph, const struct graph *body)
{
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (!is_steady(graph->nodes.at[i], body))
			return false;
	for (size_t i = 0; i < graph->outputs.count; i++) {
		const struct tensor *out = graph->outputs.at[i];
		if (out->graph == body && !out->data && !(out->producer && out->producer->mark))
			return false;
	}
	return true;
}

static void find_steady(struct holder *h)
{
	const struct graph *body = h->expansion.body;
	bool *once = arena_new_array(h->arena, bool, body->nodes.count + 1);
	for (size_t i = 0; i < body->nodes.count; i++)
		body->nodes.at[i]->mark = once[i] = is_steady(body->nodes.at[i], body);
	h->expansion.once = once;
}

/* ---- If ---- */
static bool shapes_differ(const struct tensor *a, const struct tensor *b)
{
	if (ranks_differ(a, b) || extents_differ(a, b) || !a->list != !b->list)
		return true;
	if (a->list && (a->list->nothing != b->list->nothing || a->list->count != b->list->count))
		return true;
	for (size_t i = 0; a->list && i < a->list->count; i++)
		if (shapes_differ(a->list->at[i], b->list->at[i]))
			return true;
	return false;
}

/* One of two of one rank, by a condition that comes at run time; of two lists, element by element. */
static struct tensor *select_one(struct holder *h, struct tensor *condition, struct tensor *yes, struct tensor *no)
{
	if (yes == no)
		return yes;
	if (!yes->form)
		return add(h, "ingot", "Select", 3, (struct tensor *[]){ condition, yes, no });
	struct tensor *made = fresh(h, yes->name);
	struct list *list = arena_new(h->arena, struct list);
	*list = *yes->list;
	list->at = arena_new_array(h->arena, struct tensor *, list->count + 1);
	for (size_t i = 0; i < list->count; i++)
		list->at[i] = select_one(h, condition, yes->list->at[i], no->list->at[i]);
	made->form = yes->form;
	made->type = yes->type;
	made->list = list;
	return made;
}

static void want_truth(const struct node *node, int i)
{
	const struct tensor *in = node_in(node, i);
	if (in && in->type != DTYPE_NONE && in->type != DTYPE_BOOL)
		node_fail(node, EXIT_INVALID, "%s: the condition is %s, bool is right", node->type,
		        dtypes[in->type].text);
	infer_scalar(node, i);
}

/* What a try of a branch may have left. */
struct before {
	struct bodies bodies;
	const struct guard *guard;
	size_t nodes, tensors;
};

static void take_branch_back(struct holder *h, const struct before *before)
{
	size_t copied = h->bodies->copied; /* tries within tries have an end */
	*h->bodies = before->bodies;
	h->bodies->copied = copied;
	h->graph->guard = before->guard;
	h->graph->nodes.count = before->nodes;
	h->graph->tensors.count = before->tensors;
	graph_reindex(h->graph);
}

/* The branch; NULL where its nodes are wrong, or (any) refused otherwise: nothing is left of them, and *why is their
 * message. */
static struct tensor **try_branch(struct holder *h, bool yes, bool any, const char **why)
{
	struct build *build = h->graph->build;
	const struct before before = { *h->bodies, h->graph->guard, h->graph->nodes.count, h->graph->tensors.count };
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		struct tensor **made = expand_graph(h, 0, NULL, h->node->in[0], yes);
		build->out = out;
		return made;
	}
	build->out = out;
	if (build->code != EXIT_INVALID && (!any || build->code != EXIT_UNSUPPORTED))
		longjmp(*out, 1);
	*why = build->code == EXIT_INVALID ? arena_copy(build->arena, build->message, strlen(build->message)) : NULL;
	build->code = EXIT_RIGHT;
	build->message[0] = build->detail[0] = 0;
	build->detailed = false;
	take_branch_back(h, &before);
	return NULL;
}

/* Tensors of the graphs around, which a branch reads, and their extents. */
struct shaped {
	struct tensor *tensor;
	struct dim dims[MAX_RANK];
};
typedef VECTOR(struct shaped) shaped_list;

static void hide_extents(struct holder *h, const struct graph *body, shaped_list *hidden)
{
	for (size_t i = 0; i < body->nodes.count; i++) {
		const struct node *node = body->nodes.at[i];
		for (int k = 0; k < node->ins; k++) {
			const struct graph *of = h->graph;
			while (of && node->in[k] && node->in[k]->graph != of)
				of = of->outer;
			if (!of || !node->in[k] || node->in[k]->data || node->in[k]->form)
				continue;
			struct shaped one = { .tensor = node->in[k] };
			memcpy(one.dims, node->in[k]->dims, sizeof one.dims);
			push(h->arena, hidden, one);
			for (int d = 0; d < node->in[k]->rank; d++)
				node->in[k]->dims[d] = dim_unknown;
		}
		for (int k = 0; k < node->attribute_count; k++) {
			if (node->attributes[k].g)
				hide_extents(h, node->attributes[k].g, hidden);
			for (size_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++)
				hide_extents(h, node->attributes[k].graphs[g], hidden);
		}
	}
}

/* Whether a branch that is wrong is so for these shapes alone: without them nothing is wrong with it. */
static bool is_of_shapes(struct holder *h, bool yes)
{
	const struct before before = { *h->bodies, h->graph->guard, h->graph->nodes.count, h->graph->tensors.count };
	shaped_list hidden = { 0 };
	const char *why = NULL;
	hide_extents(h, h->expansion.body, &hidden);
	bool made = try_branch(h, yes, true, &why) != NULL;
	for (size_t i = hidden.count; i-- > 0;)
		memcpy(hidden.at[i].tensor->dims, hidden.at[i].dims, sizeof hidden.at[i].dims);
	if (made)
		take_branch_back(h, &before);
	return !why;
}

/* Of the one branch that can be: what it makes, and a check that the condition chooses it. */
static void hand_out_one(struct holder *h, struct tensor *const *out, bool yes, const char *why)
{
	static const char *const names[] = { "else_branch", "then_branch" };
	struct names *words = h->graph->build->names;
	const char *file = h->graph->file;
	size_t own = strlen(file);
	why += !strncmp(why, file, own) && why[own] == ':' ? own + 2 : 0; /* what says it names the file */
	why = arena_printf(h->arena, "%s cannot be computed: %s", names[!yes], why);
	warn(h->graph->build, h->node->where, "%s; a call that chooses it ends with a status", why);
	for (int k = 0; k < h->node->outs; k++) {
		if (!h->node->out[k])
			continue;
		if (out[k]->form)
			node_fail(h->node, EXIT_UNSUPPORTED, "%s, and output %d is %s", why, k, described(h, out[k]));
		size_t from = h->graph->nodes.count;
		struct node *node = graph_node_new(h->graph, "ingot", "Branch", h->node->name, 2, 1);
		node->since = 1;
		node->where = h->node->where;
		node->in[0] = out[k];
		node->in[1] = h->node->in[0];
		node->out[0] = h->node->out[k];
		node->out[0]->producer = node;
		node->attributes = arena_new_array(h->arena, struct attribute, 2);
		node->attributes[node->attribute_count++] =
		        (struct attribute){ .name = name_is(words, "yes"), .kind = ATTRIBUTE_INT, .i = yes };
		node->attributes[node->attribute_count++] = (struct attribute){
			.name = name_is(words, "why"), .kind = ATTRIBUTE_STRING, .s = { why, strlen(why) }
		};
		h->bodies->walk(h->bodies, h->graph, from);
	}
}

bool expand_if(struct bodies *bodies, struct node *node, const struct op *op)
{
	const char *why[2] = { NULL, NULL };
	static const char *const names[] = { "else_branch", "then_branch" };
	struct holder h = holder_of(bodies, node);
	struct tensor **out[2];
	(void)op;
	infer_counts(node, 1, 1, ANY);
	want_truth(node, 0);
	for (int b = 0; b < 2; b++)
		want_graph(node, names[b], graph_of(node, names[b]), 0, (size_t)node->outs, false);
	const struct tensor *condition = node->in[0];
	for (int b = 0; b < 2; b++) {
		if (condition->data && b != (tensor_int(condition, 0) != 0))
			continue;
		h.expansion.body = graph_of(node, names[b]);
		out[b] = condition->data ? expand_graph(&h, 0, NULL, NULL, b) : try_branch(&h, b, false, &why[b]);
		if (condition->data)
			for (int k = 0; k < node->outs; k++)
				hand_out(&h, k, out[b][k]);
	}
	for (int b = 0; b < 2; b++) {
		h.expansion.body = graph_of(node, names[b]);
		if (why[b] && (why[!b] || !is_of_shapes(&h, b)))
			fail(node->graph->build, EXIT_INVALID, NULL, "%s", why[b]);
	}
	if (why[0] || why[1]) {
		hand_out_one(&h, out[!why[1]], !why[1], why[0] ? why[0] : why[1]);
		return true;
	}
	for (int k = 0; !condition->data && k < node->outs; k++) {
		const struct tensor *yes = out[1][k], *no = out[0][k];
		if (!node->out[k])
			continue;
		if (types_differ(yes, no))
			node_fail(node, EXIT_INVALID,
			        "output %d (%s) is %s in then_branch and %s in else_branch, one type is right", k,
			        node->out[k]->name, described(&h, yes), described(&h, no));
		if (yes->form ? shapes_differ(yes, no) || !yes->list : ranks_differ(yes, no))
			node_fail(node, EXIT_UNSUPPORTED,
			        "output %d (%s) is %s in then_branch and %s in else_branch; %s that the condition "
			        "decides is not supported "
			        "where that comes at run time",
			        k, node->out[k]->name, described(&h, yes), described(&h, no),
			        yes->form ? "a shape" : "a number of dimensions");
		hand_out(&h, k, select_one(&h, node->in[0], out[1][k], out[0][k]));
	}
	return true;
}

/* ---- Loop ---- */
/* An output that the node stacks, where no round says of what shape its parts are: a round that nobody asked for is
 * made and taken back. */
static struct tensor *stacked_none(struct holder *h, const struct tensor *like, int64_t axis)
{
	int64_t extents[MAX_RANK];
	if (!tensor_is_known(like) || like->rank >= MAX_RANK)
		node_fail(h->node, EXIT_UNSUPPORTED, "%s of no round, with outputs whose shape depends on data",
		        h->node->type);
	for (int d = 0; d <= like->rank; d++)
		extents[d] = d < axis ? like->dims[d].extent : d == axis ? 0 : like->dims[d - 1].extent;
	return graph_constant(h->graph, like->name, like->type, like->rank + 1, extents, "");
}

static void take_back(struct holder *h, size_t nodes, size_t tensors)
{
	h->graph->nodes.count = nodes;
	h->graph->tensors.count = tensors;
	graph_reindex(h->graph);
}

static struct tensor **expand_none(struct holder *h, int ins, struct tensor **in)
{
	size_t nodes = h->graph->nodes.count, tensors = h->graph->tensors.count;
	struct tensor **out = expand_graph(h, ins, in, NULL, true);
	take_back(h, nodes, tensors);
	return out;
}

struct loop {
	struct holder h;
	size_t carried, scans; /* tensors handed on, and stacked */
	struct tensor **now;   /* the body's inputs: the round, the condition, those handed on */
	struct tensor
	        *going; /* whether all conditions so far were true, of those that come at run time; NULL: they are */
	struct tensor *alive;   /* whether this round is one, where that comes at run time; NULL: it is */
	struct tensor ***parts; /* of each scan, as many as rounds */
	int64_t rounds, room;
	struct tensor *ran; /* how many rounds there were so far, where that comes at run time and is asked; NULL: as
	                       many as `rounds` */
	bool unbounded;     /* nothing says how many rounds there may be */
	const char *why;    /* it is not made as one node */
};

/* The one number that it is given, whatever dims it makes of it. */
static bool hands_on(const struct node *node)
{
	const struct op *op = op_of(node);
	return (op->infer == infer_identity || op->infer == infer_reshape || op->infer == infer_squeeze
	               || op->infer == infer_unsqueeze)
	        && tensor_is_scalar_like(node->in[0]);
}

/* The most rounds that M may say: its number, or the end of its range where it is an input that has one; INT64_MAX:
 * nothing bounds it. */
static int64_t trips_most(const struct tensor *trips)
{
	while (trips && !trips->data && trips->producer && hands_on(trips->producer))
		trips = trips->producer->in[0];
	if (trips && trips->data)
		return tensor_int(trips, 0);
	for (size_t i = 0; trips && i < trips->graph->said.count; i++)
		if (trips->graph->said.at[i].size == trips)
			return trips->graph->said.at[i].most;
	return INT64_MAX;
}

/* The most that a range, of its symbol or of M, lets output k stack; -1: none does. */
static int64_t asked_rounds(const struct node *node, size_t k)
{
	const struct tensor *out = node->out[k], *trips = node_in(node, 0);
	if (!out || (out->rank > 0 && dim_is_known(out->dims[0])))
		return -1;
	const struct asked *asked =
	        out->rank > 0 && out->dims[0].symbol ? graph_asked(out->graph, out->dims[0].symbol) : NULL;
	int64_t most = trips && !trips->data ? trips_most(trips) : INT64_MAX;
	return asked && asked->most < most ? asked->most : most < INT64_MAX ? most : -1;
}

/* The rounds that outputs are declared to have, or have at most; -1: none is. */
static int64_t rounds_declared(const struct loop *loop)
{
	const struct node *node = loop->h.node;
	for (size_t k = loop->carried; k < (size_t)node->outs; k++)
		if (node->out[k] && node->out[k]->rank > 0 && dim_is_known(node->out[k]->dims[0]))
			return node->out[k]->dims[0].extent;
		else if (asked_rounds(node, k) >= 0)
			return asked_rounds(node, k);
	return -1;
}

/* Those that come at run time have a bound: M, or the declared outputs.  -1: nothing bounds them. */
static int64_t bound_of(const struct loop *loop, const struct tensor *trips)
{
	int64_t bound = trips_most(trips), declared = rounds_declared(loop);
	if (declared >= 0 && declared < bound)
		bound = declared;
	return bound > ROUNDS_MOST || (loop->scans && declared < 0) ? -1 : bound;
}

static struct tensor *both(struct holder *h, struct tensor *a, struct tensor *b)
{
	return !a ? b : !b ? a : add(h, "", "And", 2, (struct tensor *[]){ a, b });
}

static bool comes(const struct tensor *tensor) { return tensor && !tensor->data; }

/* A round `at`, where M comes at run time; NULL: it does not. */
static struct tensor *is_below(struct loop *loop, struct tensor *trips, int64_t at)
{
	return comes(trips) ? add(&loop->h, "", "Less", 2, (struct tensor *[]){ whole(&loop->h, 0, at), trips }) : NULL;
}

static struct tensor *goes_on(const struct loop *loop) { return comes(loop->now[1]) ? loop->now[1] : NULL; }

static bool ends(const struct loop *loop, const struct tensor *trips, int64_t at)
{
	return (trips && trips->data && at >= tensor_int(trips, 0))
	        || (loop->now[1]->data && !tensor_int(loop->now[1], 0));
}

/* A bool of one element, of rank 0. */
static struct tensor *scalar_truth(struct holder *h, struct tensor *tensor)
{
	return tensor->rank == 0
	        ? tensor
	        : add(h, "", "Reshape", 2,
	                (struct tensor *[]){
	                        tensor, graph_constant(h->graph, "scalar", DTYPE_I64, 1, (int64_t[1]){ 0 }, "") });
}

static struct tensor *one_if(struct holder *h, struct tensor *holds)
{
	return add_node(h, "", "Cast", 1, &holds, "to", DTYPE_I64, NULL);
}

/* Whether there may be a round `at`; `alive` says it where that comes at run time. */
static bool begins(struct loop *loop, struct tensor *trips, int64_t at)
{
	struct holder *h = &loop->h;
	if (ends(loop, trips, at))
		return false;
	if (comes(trips) || comes(loop->now[1]) || loop->going) {
		int64_t bound = bound_of(loop, trips);
		loop->unbounded = bound < 0;
		if (at >= bound)
			return false;
		loop->going = both(h, loop->going, goes_on(loop));
		loop->alive = both(h, loop->going, is_below(loop, trips, at));
		for (size_t k = loop->carried; k < (size_t)h->node->outs; k++)
			if (asked_rounds(h->node, k) >= 0) {
				struct tensor *one =
				        loop->alive ? one_if(h, scalar_truth(h, loop->alive)) : whole(h, 0, 1);
				loop->ran =
				        loop->ran ? add(h, "", "Add", 2, (struct tensor *[]){ loop->ran, one }) : one;
				break;
			}
	}
	if (at >= ROUNDS_MOST)
		node_fail(h->node, EXIT_LIMIT, "Loop: more than %d rounds (one after the other, since %s)", ROUNDS_MOST,
		        loop->why);
	return true;
}

/* What is stacked where a range bounds the rounds: as many as ran, and one more where the loop would go on. */
static struct tensor *counted_stack(struct loop *loop, struct tensor *trips, struct tensor *stack)
{
	struct holder *h = &loop->h;
	struct tensor *ran = loop->ran ? loop->ran : whole(h, 0, loop->rounds);
	if (!ends(loop, trips, loop->rounds)) {
		struct tensor *more = both(h, both(h, loop->going, goes_on(loop)), is_below(loop, trips, loop->rounds));
		ran = add(h, "", "Add", 2,
		        (struct tensor *[]){ ran, more ? one_if(h, scalar_truth(h, more)) : whole(h, 0, 1) });
	}
	return add_node(h, "ingot", "Loop", 2, (struct tensor *[]){ stack, ran }, "counted", 1, NULL);
}

/* What is stacked, where as many rounds as there are parts come at run time: their last one is one, and none would
 * follow. */
static struct tensor *assured(struct loop *loop, struct tensor *trips, struct tensor *stack)
{
	struct holder *h = &loop->h;
	struct tensor *holds = loop->rounds ? loop->alive : NULL;
	if (comes(trips) && !loop->going && !comes(loop->now[1])
	        && !ends(loop, trips, loop->rounds)) /* M alone says it */
		holds = trips;
	else if (!ends(loop, trips, loop->rounds)) {
		struct tensor *more = both(h, goes_on(loop), is_below(loop, trips, loop->rounds));
		holds = both(h, holds, more ? add(h, "", "Not", 1, &more) : truth(h, false));
	}
	return holds
	        ? add_node(h, "ingot", "Loop", 2, (struct tensor *[]){ stack, holds }, "rounds", loop->rounds, NULL)
	        : stack;
}

static void add_parts(struct loop *loop, struct tensor *const *parts)
{
	if (loop->rounds == loop->room) {
		int64_t room = loop->room ? 2 * loop->room : 8;
		for (size_t k = 0; k < loop->scans; k++) {
			struct tensor **longer = arena_new_array(loop->h.arena, struct tensor *, (size_t)room);
			if (loop->room)
				memcpy(longer, loop->parts[k], (size_t)loop->room * sizeof *longer);
			loop->parts[k] = longer;
		}
		loop->room = room;
	}
	for (size_t k = 0; k < loop->scans; k++)
		loop->parts[k][loop->rounds] = parts[k];
	loop->rounds++;
}

/* The number of a round, of the rank that the body says. */
static struct tensor *number_of_round(struct loop *loop, int64_t at)
{
	return whole(&loop->h, loop->h.expansion.body->inputs.at[0]->rank == 1, at);
}

static void play(struct loop *loop, int64_t at)
{
	struct holder *h = &loop->h;
	size_t count = 2 + loop->carried;
	loop->now[0] = number_of_round(loop, at);
	for (size_t i = 2; i < count; i++) {
		loop->now[i] = as_given(h, h->expansion.body->inputs.at[i], loop->now[i]);
		want_fit(h, i, loop->now[i]);
	}
	struct tensor **out = expand_graph(h, (int)count, loop->now, loop->alive, true);
	if (types_differ(out[0], loop->now[1]) || (out[0]->rank >= 0 && !tensor_is_scalar_like(out[0])))
		node_fail(h->node, EXIT_INVALID, "the condition that the body hands on is %s, bool is right",
		        described(h, out[0]));
	for (size_t i = 0; i < loop->carried; i++) {
		struct tensor *before = loop->now[2 + i],
		              *next = loop->alive ? as_given(h, before, out[1 + i]) : out[1 + i];
		if (types_differ(before, as_given(h, before, next))
		        || (loop->alive && !next->form && ranks_differ(before, next)))
			node_fail(h->node, EXIT_INVALID, "the body is given %s as %s and hands on %s",
			        h->expansion.body->inputs.at[2 + i]->name, described(h, before), described(h, next));
		if (loop->alive && (shapes_differ(before, next) || (next->form && !next->list)))
			node_fail(h->node, EXIT_UNSUPPORTED,
			        "the body is given %s as %s and hands on %s; a shape that the number of rounds decides "
			        "is not supported where that "
			        "comes at run time",
			        h->expansion.body->inputs.at[2 + i]->name, described(h, before), described(h, next));
		loop->now[2 + i] = loop->alive ? select_one(h, loop->alive, next, before) : next;
	}
	loop->now[1] = out[0];
	add_parts(loop, out + 1 + loop->carried);
}

/* ---- Loop as one node ---- */
static const int64_t repeated_most = INT32_MAX,
                     endless_most = 1 << 20; /* the second where data alone end it: more are a status */

static struct holder inside_of(const struct holder *h, const struct repeating *r)
{
	struct holder inside = *h;
	inside.graph = r->body;
	inside.expansion =
	        (struct expansion){ .owner = r->inside, .body = h->expansion.body, .copied = h->expansion.copied };
	return inside;
}

/* Rounds as far as a constant, or what outputs are declared to stack, says; else as many as anybody waits for. */
static int64_t repeated_rounds(const struct loop *loop, const struct tensor *trips, bool open)
{
	int64_t bound = trips_most(trips), declared = open && loop->scans ? rounds_declared(loop) : -1;
	if (open && loop->scans && declared < 0)
		return -1;
	bound = declared >= 0 && declared < bound ? declared : bound;
	return bound <= repeated_most ? bound : open && !loop->scans ? endless_most : -1;
}

static bool repeat_loop(struct repeating *r, void *user)
{
	struct loop *loop = user;
	struct holder *h = &loop->h, in = inside_of(h, r);
	struct node *node = h->node;
	struct tensor *trips = node_in(node, 0), *first = loop->now[1],
	              **now = arena_new_array(h->arena, struct tensor *, 2 + loop->carried);
	bool counts = comes(trips);
	if ((first->data && !tensor_int(first, 0)) || (trips && trips->data && tensor_int(trips, 0) < 2))
		return false;
	for (size_t i = 0; i < loop->carried; i++)
		want_fit(h, 2 + i, loop->now[2 + i]);
	now[0] = repeat_in(r, number_of_round(loop, 0), REPEAT_CARRIED, false);
	now[1] = truth(&in, true);
	for (size_t i = 0; i < loop->carried; i++)
		now[2 + i] = repeat_in(r, loop->now[2 + i], REPEAT_CARRIED, false);
	struct tensor **out = expand_graph(&in, 2 + (int)loop->carried, now, NULL, true), *on = out[0],
	              *starts = comes(first) ? first : NULL;
	if (on->type != DTYPE_BOOL || !tensor_is_scalar_like(on) || (on->data && !tensor_int(on, 0)))
		return false;
	bool open = comes(on) || starts || counts,
	     numbered = counts || (open && loop->scans) || repeat_reads(r, now[0]);
	if (!numbered)
		repeat_drop(r, now[0]);
	/* Whether a round comes: the condition, and the count where that is given when it runs. */
	struct tensor *next = !numbered ? NULL
	                                : add(&in, "", "Add", 2, (struct tensor *[]){ now[0], whole(&in, 0, 1) }),
	              *going = NULL;
	struct tensor *goes = comes(on) ? scalar_truth(&in, on) : NULL;
	if (counts) {
		struct tensor *scalar = scalar_truth(h, trips);
		starts = both(h, starts ? scalar_truth(h, starts) : NULL,
		        add(h, "", "Less", 2, (struct tensor *[]){ whole(h, 0, 0), scalar }));
		goes = both(&in, goes, scalar_truth(&in, add(&in, "", "Less", 2, (struct tensor *[]){ next, scalar })));
	}
	int64_t rounds = repeated_rounds(loop, trips, open);
	if (rounds < 1)
		return false;
	if (open)
		going = repeat_in(r, starts ? scalar_truth(h, starts) : truth(h, true), REPEAT_CARRIED, false);
	if (numbered)
		repeat_out(r, next, now[0], false);
	for (size_t i = 0; i < loop->carried; i++)
		repeat_out(r, out[1 + i], now[2 + i], false);
	if (open)
		repeat_out(r, goes ? goes : truth(&in, true), going, false);
	for (size_t k = 0; k < loop->scans; k++)
		if (node_has_out(node, (int)(loop->carried + k)))
			repeat_out(r, out[1 + loop->carried + k], NULL, false);
	if (!r->out.count)
		return false;
	struct tensor **results = repeat_node(r, rounds, going), **last = results + numbered,
	              **stack = last + loop->carried + open;
	struct tensor *more = open ? last[loop->carried] : NULL, *count = NULL,
	              **carried = arena_new_array(h->arena, struct tensor *, loop->carried + 1);
	memcpy(carried, last, loop->carried * sizeof *carried);
	if (open && loop->scans) /* as many as are stacked, and none would follow */
		count = counts && !comes(first) && !comes(on)
		        ? trips
		        : add(h, "", "Add", 2,
		                (struct tensor *[]){
		                        results[0], add_node(h, "", "Cast", 1, &more, "to", DTYPE_I64, NULL) });
	if (open && loop->carried && !loop->scans && !(trips && trips->data && tensor_int(trips, 0) <= repeated_most))
		carried[0] = add_node(h, "ingot", "Loop", 2,
		        (struct tensor *[]){ carried[0], add(h, "", "Not", 1, &more) }, "most", rounds, NULL);
	for (size_t k = 0; k < loop->carried; k++)
		hand_out(h, (int)k, carried[k]);
	for (size_t k = 0; k < loop->scans; k++)
		if (node_has_out(node, (int)(loop->carried + k))) {
			struct tensor *one = *stack++;
			bool asked = asked_rounds(node, loop->carried + k) >= 0;
			struct tensor *ran = asked && count == trips
			        ? add(h, "", "Max", 2, (struct tensor *[]){ trips, whole(h, 0, 0) })
			        : count;
			hand_out(h, (int)(loop->carried + k),
			        count ? add_node(h, "ingot", "Loop", 2, (struct tensor *[]){ one, ran },
			                asked ? "counted" : "rounds", asked ? 1 : rounds, NULL)
			              : one);
		}
	return true;
}

NORETURN static void refuse_unbounded(const struct node *node)
{
	const struct tensor *trips = node_in(node, 0);
	for (int k = node->ins > 2 ? node->ins - 2 : 0; k < node->outs; k++)
		if (node->out[k] && node->out[k]->is_output && node->out[k]->rank > 0 && node->out[k]->dims[0].symbol)
			node_fail(node, EXIT_USAGE,
			        "Loop: nothing says how many rounds output %.60s stacks: use --dim %.60s=NUMBER",
			        node->out[k]->name, node->out[k]->dims[0].symbol);
	if (trips && trips->is_input)
		node_fail(node, EXIT_USAGE,
		        "Loop: nothing bounds the rounds that input %.60s says: use --dim %.60s=0..MOST or --value "
		        "%.60s=NUMBER",
		        trips->name, trips->name, trips->name);
	if (trips && trips->data && tensor_int(trips, 0) <= ROUNDS_MOST)
		node_fail(node, EXIT_UNSUPPORTED,
		        "Loop: how many rounds there are comes at run time, and no declared shape says how many an "
		        "output stacks");
	node_fail(node, EXIT_UNSUPPORTED,
	        "Loop: how many rounds there are comes at run time, and neither a constant M of at most %d nor the "
	        "declared shape of an "
	        "output bounds them",
	        ROUNDS_MOST);
}

bool expand_loop(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct loop loop = { .h = holder_of(bodies, node) };
	struct holder *h = &loop.h;
	struct graph *body = h->expansion.body = graph_of(node, "body");
	size_t nodes = h->graph->nodes.count, tensors = h->graph->tensors.count;
	(void)op;
	infer_counts(node, 0, ANY, ANY);
	struct tensor *trips = node_in(node, 0);
	if (trips && trips->type != DTYPE_NONE && trips->type != DTYPE_I64)
		node_fail(node, EXIT_INVALID, "Loop: M is %s, int64 is right", dtypes[trips->type].text);
	infer_scalar(node, 0);
	want_truth(node, 1);
	loop.carried = node->ins > 2 ? (size_t)node->ins - 2 : 0;
	want_graph(node, "body", body, 2 + loop.carried, 1 + loop.carried, true);
	loop.scans = body->outputs.count - 1 - loop.carried;
	if ((size_t)node->outs > loop.carried + loop.scans)
		node_fail(node, EXIT_INVALID, "Loop has %d outputs, the body makes %zu", node->outs,
		        loop.carried + loop.scans);
	loop.now = arena_new_array(h->arena, struct tensor *, 2 + loop.carried);
	memcpy(loop.now, node->in, (size_t)node->ins * sizeof *loop.now);
	for (int i = 2; i < node->ins; i++)
		if (!node->in[i])
			node_fail(node, EXIT_INVALID, "Loop lacks input %d", i);
	if (!loop.now[1])
		loop.now[1] = truth(h, true);
	loop.parts = arena_new_array(h->arena, struct tensor **, loop.scans + 1);
	struct repeating repeating;
	if (repeat_try(&repeating, bodies, node, repeat_loop, &loop))
		return true;
	loop.why = repeating.why;
	find_steady(h);
	bodies->rounds++;
	while (begins(&loop, trips, loop.rounds))
		play(&loop, loop.rounds);
	for (size_t k = 0; loop.unbounded && k < loop.carried; k++)
		if (node->in[2 + k]->form) /* a list that nobody comes to know */
			refuse_unbounded(node);
	if (loop.unbounded) {
		take_back(h, nodes, tensors);
		bodies->rounds--;
		return false;
	}
	struct tensor **none = NULL;
	if (loop.scans && !loop.rounds) {
		loop.now[0] = number_of_round(&loop, 0);
		none = expand_none(h, 2 + (int)loop.carried, loop.now);
	}
	for (size_t k = 0; k < loop.carried; k++)
		hand_out(h, (int)k, loop.now[2 + k]);
	for (size_t k = 0; k < loop.scans; k++)
		if (node_has_out(node, (int)(loop.carried + k)))
			hand_out(h, (int)(loop.carried + k),
			        (asked_rounds(node, loop.carried + k) >= 0 && loop.ran ? counted_stack : assured)(&loop,
			                trips,
			                none ? stacked_none(h, none[1 + loop.carried + k], 0)
			                     : stacked(h, loop.rounds, loop.parts[k], 0)));
	bodies->rounds--;
	return true;
}

/* ---- Scan ---- */
struct scan {
	struct holder h;
	int states, ins, outs; /* tensors handed on; taken apart; put together */
	int64_t rounds;
	int64_t *in_axis;
	const int64_t *in_back, *out_axis, *out_back;
};

/* An attribute of `count` numbers, 0 where it is not there. */
static const int64_t *numbers_of(const struct scan *scan, const char *name, int count)
{
	size_t given;
	const int64_t *at = node_ints(scan->h.node, name, &given);
	if (!at)
		return arena_new_array(scan->h.arena, int64_t, (size_t)count + 1);
	if (given != (size_t)count)
		node_fail(scan->h.node, EXIT_INVALID, "%s has %zu numbers, %d %s right", name, given, count,
		        count == 1 ? "is" : "are");
	return at;
}

static const int64_t *directions_of(const struct scan *scan, const char *name, int count)
{
	const int64_t *at = numbers_of(scan, name, count);
	for (int i = 0; i < count; i++)
		if (at[i] != 0 && at[i] != 1)
			node_fail(scan->h.node, EXIT_INVALID,
			        "%s has a %" PRId64 ", 0 (forward) and 1 (backward) are right", name, at[i]);
	return at;
}

/* The axis `from` goes to `to`. */
static struct tensor *with_axis(struct holder *h, struct tensor *tensor, int64_t from, int64_t to)
{
	int64_t *perm = arena_new_array(h->arena, int64_t, MAX_RANK);
	int rank = tensor->rank, at = 0;
	if (from == to)
		return tensor;
	for (int d = 0; d < rank; d++)
		perm[d] = d == to ? from : at + (at >= from), at += d != to;
	size_t nodes = h->graph->nodes.count;
	struct node *node = graph_node_new(h->graph, "", "Transpose", h->node->name, 1, 1);
	node->since = NEWEST_OPSET;
	node->where = h->node->where;
	node->in[0] = tensor;
	node->out[0] = fresh(h, tensor->name);
	node->out[0]->producer = node;
	node->attributes = arena_new(h->arena, struct attribute);
	node->attributes[node->attribute_count++] = (struct attribute){ .name = name_is(h->graph->build->names, "perm"),
		.kind = ATTRIBUTE_INTS,
		.count = (size_t)rank,
		.ints = perm };
	h->bodies->walk(h->bodies, h->graph, nodes);
	return node->out[0];
}

/* As one node. */
struct scanning {
	struct scan *scan;
	struct tensor **state, **out;
	struct tensor *const *from;
};
static bool repeat_scan(struct repeating *r, void *user)
{
	struct scanning *s = user;
	struct scan *scan = s->scan;
	struct holder *h = &scan->h, in = inside_of(h, r);
	struct tensor **now = arena_new_array(h->arena, struct tensor *, (size_t)(scan->states + scan->ins) + 1);
	if (scan->rounds < 2 || scan->rounds > repeated_most)
		return false;
	for (int i = 0; i < scan->states; i++) {
		want_fit(h, (size_t)i, s->state[i]);
		now[i] = repeat_in(r, s->state[i], REPEAT_CARRIED, false);
	}
	for (int i = 0; i < scan->ins; i++) {
		now[scan->states + i] =
		        repeat_in(r, with_axis(h, s->from[i], scan->in_axis[i], 0), REPEAT_SLICED, scan->in_back[i]);
		want_fit(h, (size_t)(scan->states + i), now[scan->states + i]);
	}
	struct tensor **out = expand_graph(&in, scan->states + scan->ins, now, NULL, true);
	for (int i = 0; i < scan->states + scan->outs; i++)
		repeat_out(r, out[i], i < scan->states ? now[i] : NULL,
		        i >= scan->states && scan->out_back[i - scan->states]);
	struct tensor **results = repeat_node(r, scan->rounds, NULL);
	for (int k = 0; k < scan->outs; k++)
		s->out[k] = with_axis(h, results[scan->states + k], 0,
		        node_axis(h->node, scan->out_axis[k], out[scan->states + k]->rank + 1));
	memcpy(s->state, results, (size_t)scan->states * sizeof *s->state);
	return true;
}

/* `state` becomes what the last round hands on; the outputs, each round's parts side by side. */
static struct tensor **scanned(struct scan *scan, struct tensor **state, struct tensor *const *from)
{
	struct holder *h = &scan->h;
	struct tensor **out = arena_new_array(h->arena, struct tensor *, (size_t)scan->outs + 1), **last = NULL;
	struct repeating repeating;
	if (repeat_try(&repeating, h->bodies, h->node, repeat_scan, &(struct scanning){ scan, state, out, from }))
		return out;
	if (scan->rounds > ROUNDS_MOST)
		node_fail(h->node, EXIT_LIMIT,
		        "Scan: %" PRId64 " rounds, at most %d are supported (one after the other, since %s)",
		        scan->rounds, ROUNDS_MOST, repeating.why);
	size_t parts = (size_t)(scan->rounds + 1);
	struct tensor ***part = arena_new_array(h->arena, struct tensor **, (size_t)scan->outs + 1),
	              **now = arena_new_array(h->arena, struct tensor *, (size_t)(scan->states + scan->ins));
	for (int k = 0; k < scan->outs; k++)
		part[k] = arena_new_array(h->arena, struct tensor *, parts);
	memcpy(now, state, (size_t)scan->states * sizeof *now);
	for (int64_t t = 0; t < (scan->rounds ? scan->rounds : 1); t++) {
		for (int i = 0; i < scan->ins; i++) {
			now[scan->states + i] = scan->rounds
			        ? element(h, from[i], scan->in_axis[i], scan->in_back[i] ? scan->rounds - 1 - t : t)
			        : without(h, from[i], scan->in_axis[i]);
			want_fit(h, (size_t)(scan->states + i), now[scan->states + i]);
		}
		for (int i = 0; i < scan->states; i++)
			want_fit(h, (size_t)i, now[i]);
		if (!scan->rounds) { /* for its shapes alone */
			last = expand_none(h, scan->states + scan->ins, now);
			break;
		}
		last = expand_graph(h, scan->states + scan->ins, now, NULL, true);
		for (int i = 0; i < scan->states; i++) {
			if (types_differ(now[i], last[i]) || ranks_differ(now[i], last[i])
			        || extents_differ(now[i], last[i]))
				node_fail(h->node, EXIT_INVALID, "the body is given %s as %s and hands on %s",
				        h->expansion.body->inputs.at[i]->name, described(h, now[i]),
				        described(h, last[i]));
			now[i] = last[i];
		}
		for (int k = 0; k < scan->outs; k++)
			part[k][scan->out_back[k] ? scan->rounds - 1 - t : t] = last[scan->states + k];
	}
	for (int k = 0; k < scan->outs; k++) {
		const struct tensor *one = last[scan->states + k];
		if (one->rank < 0)
			node_fail(h->node, EXIT_UNSUPPORTED, "Scan: the shape of output %s of the body depends on data",
			        one->name);
		int64_t axis = node_axis(h->node, scan->out_axis[k], one->rank + 1);
		out[k] = scan->rounds ? stacked(h, scan->rounds, part[k], axis) : stacked_none(h, one, axis);
	}
	memcpy(state, now, (size_t)scan->states * sizeof *now);
	return out;
}

/* Version 8 has batches, axis 0 of all: each is a scan of its own. */
static void scan_batches(struct scan *scan, struct tensor *const *in)
{
	struct holder *h = &scan->h;
	int64_t batch = in[0]->dims[0].extent;
	int tensors = scan->states + scan->ins, results = scan->states + scan->outs;
	struct tensor ***parts = arena_new_array(h->arena, struct tensor **, (size_t)results),
	              **now = arena_new_array(h->arena, struct tensor *, (size_t)tensors);
	for (int i = 0; i < tensors; i++)
		if (in[i]->dims[0].extent != batch)
			node_fail(h->node, EXIT_INVALID, "Scan: %s has %" PRId64 " batches, %s has %" PRId64,
			        in[0]->name, batch, in[i]->name, in[i]->dims[0].extent);
	if (batch == 0 || batch * (scan->rounds ? scan->rounds : 1) > ROUNDS_MOST)
		node_fail(h->node, EXIT_LIMIT,
		        "Scan: %" PRId64 " batches of %" PRId64
		        " rounds, more than 0 and at most %d in all are supported",
		        batch, scan->rounds, ROUNDS_MOST);
	for (int k = 0; k < results; k++)
		parts[k] = arena_new_array(h->arena, struct tensor *, (size_t)batch);
	for (int64_t b = 0; b < batch; b++) {
		for (int i = 0; i < tensors; i++)
			now[i] = element(h, in[i], 0, b);
		struct tensor **outs = scanned(scan, now, now + scan->states);
		for (int k = 0; k < results; k++)
			parts[k][b] = k < scan->states ? now[k] : outs[k - scan->states];
	}
	for (int k = 0; k < results; k++)
		if (node_has_out(h->node, k))
			hand_out(h, k, stacked(h, batch, parts[k], 0));
}

static bool all_are(const struct tensor *tensor, int64_t value)
{
	int64_t count = tensor_elements(tensor->graph->build, tensor);
	for (int64_t i = 0; i < count; i++)
		if (infer_constant_at(tensor, i) != value)
			return false;
	return true;
}

bool expand_scan(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct scan scan = { .h = holder_of(bodies, node) };
	struct holder *h = &scan.h;
	struct graph *body = h->expansion.body = graph_of(node, "body");
	int batches = node->since < 9; /* version 8: axis 0 of all; input 0 says how long each is */
	(void)op;
	if (!node_attribute(node, "num_scan_inputs"))
		node_fail(node, EXIT_INVALID, "Scan lacks the attribute \"num_scan_inputs\"");
	int64_t ins = node_int(node, "num_scan_inputs", 0);
	infer_counts(node, 0, ANY, ANY);
	if (ins < 1 || ins > node->ins - batches)
		node_fail(node, EXIT_INVALID, "Scan: num_scan_inputs is %" PRId64 " of %d inputs", ins,
		        node->ins - batches);
	scan.ins = (int)ins;
	scan.states = node->ins - batches - scan.ins;
	want_graph(node, "body", body, (size_t)(node->ins - batches), (size_t)scan.states, true);
	scan.outs = (int)body->outputs.count - scan.states;
	if (node->outs > scan.states + scan.outs)
		node_fail(node, EXIT_INVALID, "Scan has %d outputs, the body makes %d", node->outs,
		        scan.states + scan.outs);
	struct tensor **in = node->in + batches;
	for (int i = 0; i < scan.states + scan.ins; i++) {
		if (!in[i])
			node_fail(node, EXIT_INVALID, "Scan lacks input %d", i + batches);
		if (in[i]->rank >= 0 && in[i]->rank < batches)
			node_fail(node, EXIT_INVALID, "Scan: %s has no axis of batches", in[i]->name);
		if (!tensor_is_known(in[i]))
			return false;
	}
	const int64_t *axes = numbers_of(&scan, "scan_input_axes", scan.ins);
	scan.in_axis = arena_new_array(h->arena, int64_t, (size_t)scan.ins);
	scan.in_back = directions_of(&scan, batches ? "directions" : "scan_input_directions", scan.ins);
	scan.out_axis = numbers_of(&scan, "scan_output_axes", scan.outs);
	scan.out_back = directions_of(&scan, "scan_output_directions", scan.outs);
	for (int i = 0; i < scan.ins; i++) {
		const struct tensor *from = in[scan.states + i];
		scan.in_axis[i] = node_axis(node, axes[i] + (batches && axes[i] >= 0 ? batches : 0), from->rank);
		int64_t extent = from->dims[scan.in_axis[i]].extent;
		if (i && extent != scan.rounds)
			node_fail(node, EXIT_INVALID, "Scan: %s has %" PRId64 " rounds, %s has %" PRId64,
			        in[scan.states]->name, scan.rounds, from->name, extent);
		scan.rounds = extent;
		scan.in_axis[i] -= batches;
	}
	find_steady(h);
	bodies->rounds++;
	if (batches) {
		const struct tensor *lengths = node->in[0];
		if (lengths && (!lengths->data || !all_are(lengths, scan.rounds)))
			node_fail(node, EXIT_UNSUPPORTED,
			        "Scan: sequences of other lengths than the tensor (sequence_lens) are not supported");
		scan_batches(&scan, in);
	} else {
		struct tensor **state = arena_new_array(h->arena, struct tensor *, (size_t)scan.states + 1);
		memcpy(state, in, (size_t)scan.states * sizeof *state);
		struct tensor **outs = scanned(&scan, state, in + scan.states);
		for (int k = 0; k < scan.states + scan.outs; k++)
			if (node_has_out(node, k))
				hand_out(h, k, k < scan.states ? state[k] : outs[k - scan.states]);
	}
	bodies->rounds--;
	return true;
}

/* ---- what a loop stacked, where it had as many rounds as declared ---- */
void infer_rounds(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 2, 2, 1);
	infer_scalar(node, 1);
	if (!attribute_int(node, "counted") || node->in[0]->rank < 1) {
		infer_output_like(node, 0, node->in[0]);
		return;
	}
	struct dim dims[MAX_RANK];
	memcpy(dims, node->in[0]->dims, sizeof dims);
	dims[0].count = node->out[0]->rank > 0 && node->out[0]->dims[0].count
	        ? node->out[0]->dims[0].count
	        : size_made(node, "SizeElement", 0, 1, &node->in[1]);
	infer_output(node, 0, node->in[0]->type, node->in[0]->rank, dims);
}

void define_rounds(struct definer *definer, const struct op *op)
{
	int64_t rounds = node_int(definer->node, "rounds", 0), most = attribute_int(definer->node, "most");
	(void)op;
	if (attribute_int(definer->node, "counted")) { /* ingot.Fit asks */
		definer_out(definer, 0, definer_in(definer, 0));
		return;
	}
	const struct expr *holds = definer_load(definer, definer_in(definer, 1), 0, NULL);
	if (most) {
		definer_require(
		        definer, EXIT_LIMIT, 0, NULL, holds, "the loop goes on behind %" PRId64 " rounds", most);
		definer_out(definer, 0, definer_in(definer, 0));
		return;
	}
	holds = holds->type == DTYPE_BOOL ? holds : integer_is(definer, holds, rounds);
	definer_require(definer, EXIT_INVALID, 0, NULL, holds,
	        "the rounds at run time are not %" PRId64 ", as an output is declared to stack", rounds);
	definer_out(definer, 0, definer_in(definer, 0));
}

void define_graphs(struct definer *definer, const struct op *op)
{
	if (op->place == expand_loop)
		refuse_unbounded(definer->node);
	define_text(definer, op);
}
