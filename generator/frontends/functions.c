/* functions.c: calls of model functions -> the nodes of their bodies; graphs that nodes hold -> the nodes of those.
 *
 * A body is copied into the graph of the call: its inputs become what the call passes, its outputs what the call makes,
 * every other tensor a fresh one.  Copied nodes are looked at in turn, so functions may call functions; a function
 * met while it is open calls itself. */
#include "frontends/reader.h"

enum { EXPANSION_LIMIT = 1 << 20 }; /* nodes, operands and attributes copied in all */

struct inliner {
	struct build *build;
	struct graph *main;
	struct function **index; /* chained by `next`; by the pointers of the names */
	size_t room, copied;
	int depth;
	const struct node *owner;    /* whose text or graph is being put in its place; NULL: calls of model functions */
	struct expansion *expansion; /* of a graph */
};

/* Where the tensors of a copied graph went; those of graphs that are not in the chain stay what they are. */
struct scope {
	const struct graph *from;
	struct tensor **to;
	const struct scope *outer;
};

static size_t slot_of(const struct inliner *inliner, const char *domain, const char *name, const char *overload)
{
	const char *key[3] = { domain, name, overload };
	return hash_bytes(key, sizeof key, 0) & (inliner->room - 1);
}

static struct function *find(const struct inliner *inliner, const char *domain, const char *name, const char *overload)
{
	if (!inliner->room)
		return NULL;
	struct function *function = inliner->index[slot_of(inliner, domain, name, overload)];
	while (function && (function->name != name || function->domain != domain || function->overload != overload))
		function = function->next;
	return function;
}

static void process(struct inliner *, struct node *);

static void inline_graph(struct inliner *inliner, struct graph *graph)
{
	__typeof__(graph->nodes) nodes = graph->nodes;
	memset(&graph->nodes, 0, sizeof graph->nodes);
	FOR_ALL (i, nodes)
		process(inliner, nodes.at[i]);
}

/* ---- copying ---- */
static struct tensor *mapped(const struct scope *scope, struct tensor *tensor)
{
	for (; tensor && scope; scope = scope->outer)
		if (tensor->graph == scope->from)
			return scope->to[tensor->mark];
	return tensor;
}

static struct scope scope_of(struct inliner *inliner, struct graph *from, const struct scope *outer)
{
	struct scope scope = { from, arena_new_array(inliner->build->arena, struct tensor *, from->tensors.count),
		outer };
	FOR_ALL (i, from->tensors)
		from->tensors.at[i]->mark = (int)i;
	inliner->copied += from->tensors.count;
	return scope;
}

static struct tensor *copy_tensor(struct graph *graph, const struct tensor *from, const char *name)
{
	struct tensor *tensor = name ? graph_tensor_new(graph, name) : graph_tensor_fresh(graph, from->name);
	struct tensor made = *from;
	made.name = tensor->name;
	made.graph = graph;
	made.producer = NULL;
	made.is_input = made.is_output = false;
	*tensor = made;
	return tensor;
}

static const struct attribute *passed(const struct function *function, const struct node *call, const char *name)
{
	const struct attribute *given = node_attribute(call, name);
	for (size_t i = 0; !given && i < function->defaults.count; i++)
		if (function->defaults.at[i].name == name)
			given = &function->defaults.at[i];
	return given;
}

static struct node *copy_node(struct inliner *, struct graph *, const struct node *, const struct scope *,
        const struct function *, const struct node *call);

static struct graph *copy_graph(struct inliner *inliner, struct graph *from, struct graph *outer,
        const struct scope *around, const struct function *function, const struct node *call)
{
	struct build *build = inliner->build;
	struct graph *graph = graph_new(build, from->name, from->file, outer);
	struct scope scope = scope_of(inliner, from, around);
	FOR_ALL (i, from->tensors) {
		const struct tensor *tensor = from->tensors.at[i];
		/* Names stay, unless they would now hide one of the graphs around. */
		scope.to[i] = copy_tensor(graph, tensor, graph_tensor(graph, tensor->name) ? NULL : tensor->name);
		scope.to[i]->is_input = tensor->is_input;
		scope.to[i]->is_output = tensor->is_output;
	}
	FOR_ALL (i, from->inputs)
		push(build->arena, &graph->inputs, mapped(&scope, from->inputs.at[i]));
	FOR_ALL (i, from->outputs)
		push(build->arena, &graph->outputs, mapped(&scope, from->outputs.at[i]));
	FOR_ALL (i, from->nodes)
		copy_node(inliner, graph, from->nodes.at[i], &scope, function, call);
	return graph;
}

static void copy_attribute(struct inliner *inliner, struct node *node, const struct attribute *from,
        const struct scope *scope, const struct function *function, const struct node *call)
{
	struct build *build = inliner->build;
	struct attribute a = *from;
	if (a.ref && call) {
		const struct attribute *given = passed(function, call, a.ref);
		if (!given)
			return; /* not passed: absent here too */
		if (a.kind && a.kind != given->kind)
			fail(build, EXIT_INVALID, call->where,
			        "attribute %.60s is of another type than function %.60s wants", a.ref, function->name);
		a = *given;
		a.name = from->name;
	}
	if (a.g)
		a.g = copy_graph(inliner, a.g, node->graph, scope, function, call);
	if (a.kind == ATTRIBUTE_GRAPHS) {
		struct graph **graphs = arena_new_array(build->arena, struct graph *, a.count);
		FOR_ALL (i, a)
			graphs[i] = copy_graph(inliner, a.graphs[i], node->graph, scope, function, call);
		a.graphs = graphs;
	}
	node->attributes[node->attribute_count++] = a;
}

/* The copy stands at the end of the graph's nodes.  `call` is NULL in a graph that is an attribute. */
static struct node *copy_node(struct inliner *inliner, struct graph *graph, const struct node *from,
        const struct scope *scope, const struct function *function, const struct node *call)
{
	struct build *build = inliner->build;
	const char *name = from->name, *outer = call ? call->name : inliner->owner->name,
	           *where = (call ? call : inliner->owner)->where;
	if (*name && *outer)
		name = arena_printf(build->arena, "%.200s/%.200s", outer, name);
	else if (*outer)
		name = outer;
	struct node *node = graph_node_new(graph, from->domain, from->type, name, from->ins, from->outs);
	node->overload = from->overload;
	node->since = from->since;
	node->is_given = from->is_given && (!inliner->owner || inliner->expansion);
	/* the node that the user wrote */
	if (inliner->owner && !inliner->expansion)
		node->where = inliner->owner->where;
	else if (inliner->expansion && !*name)
		node->where = from->where;
	inliner->copied += 1 + (size_t)from->ins + (size_t)from->outs + (size_t)from->attribute_count;
	if (inliner->copied > EXPANSION_LIMIT)
		fail(build, EXIT_LIMIT, where, "%s expand to more than %d nodes and operands",
		        inliner->expansion       ? "graphs of nodes"
		                : inliner->owner ? "operators that are texts"
		                                 : "model functions",
		        EXPANSION_LIMIT);
	FOR (i, from->ins)
		node->in[i] = mapped(scope, from->in[i]);
	FOR (i, from->outs)
		if ((node->out[i] = mapped(scope, from->out[i])))
			node->out[i]->producer = node;
	node->attributes = arena_new_array(build->arena, struct attribute, (size_t)from->attribute_count);
	FOR (i, from->attribute_count)
		copy_attribute(inliner, node, &from->attributes[i], scope, function, call);
	return node;
}

/* ---- calls ---- */
static void identity(struct graph *graph, struct tensor *in, struct tensor *out, const struct node *call)
{
	if (!in)
		fail(graph->build, EXIT_INVALID, call->where, "hands on an input that it was not given");
	struct node *node = graph_node_new(graph, "", "Identity", call->name, 1, 1);
	/* The function's imports may not name ai.onnx; Identity means the same in all versions. */
	node->since = node->since ? node->since : 1;
	node->in[0] = in;
	node->out[0] = out;
	out->producer = node;
}

static void merge_opsets(struct inliner *inliner, const struct graph *body)
{
	struct graph *main = inliner->main;
	FOR_ALL (i, body->opsets) {
		size_t k = 0;
		while (k < main->opsets.count && main->opsets.at[k].domain != body->opsets.at[i].domain)
			k++;
		if (k == main->opsets.count)
			push(main->build->arena, &main->opsets, body->opsets.at[i]);
	}
}

static void keep(struct inliner *inliner, struct graph *body, const struct scope *scope)
{
	struct expansion *expansion = inliner->expansion;
	expansion->kept = arena_new_array(inliner->build->arena, struct tensor *, body->tensors.count + 1);
	FOR_ALL (i, body->tensors)
		if (body->tensors.at[i]->data)
			expansion->kept[i] = scope->to[i];
	FOR_ALL (i, body->nodes)
		for (int k = 0; expansion->once[i] && k < body->nodes.at[i]->outs; k++)
			if (body->nodes.at[i]->out[k])
				expansion->kept[body->nodes.at[i]->out[k]->mark] =
				        scope->to[body->nodes.at[i]->out[k]->mark];
}

/* The nodes of a body, in the place of a call of it; what hands attributes on is the function's call, none where the
 * body is an attribute's graph. */
static void expand_body(struct inliner *inliner, struct graph *body, struct node *call, const struct function *function)
{
	struct graph *graph = call->graph;
	const struct node *passing = function ? call : NULL;
	if (++inliner->depth > MAX_DEPTH)
		fail(inliner->build, EXIT_LIMIT, call->where, "functions call each other deeper than %d", MAX_DEPTH);
	if ((size_t)call->ins > body->inputs.count || (size_t)call->outs > body->outputs.count)
		fail(inliner->build, EXIT_INVALID, call->where,
		        "%s %.60s has %zu inputs and %zu outputs, not %d and %d", function ? "function" : "graph",
		        function ? function->name : call->type, body->inputs.count, body->outputs.count, call->ins,
		        call->outs);
	struct scope scope = scope_of(inliner, body, NULL);
	FOR_ALL (i, body->inputs)
		scope.to[body->inputs.at[i]->mark] = i < (size_t)call->ins ? call->in[i] : NULL;
	const struct expansion *expansion = inliner->depth == 1 ? inliner->expansion : NULL;
	bool again = expansion && expansion->kept;
	for (size_t i = 0; again && i < body->tensors.count; i++)
		if (expansion->kept[i])
			scope.to[i] = expansion->kept[i];
	bool *direct = arena_new_array(inliner->build->arena, bool, body->outputs.count);
	for (size_t k = 0; k < body->outputs.count && k < (size_t)call->outs; k++) {
		struct tensor *output = body->outputs.at[k];
		if (call->out[k] && output->graph == body && output->producer && !scope.to[output->mark]) {
			scope.to[output->mark] = call->out[k];
			direct[k] = true;
		}
	}
	FOR_ALL (i, body->tensors)
		if (!scope.to[i] && !body->tensors.at[i]->is_input)
			scope.to[i] = copy_tensor(graph, body->tensors.at[i], NULL);
	FOR_ALL (i, body->nodes) {
		if (again && expansion->once[i])
			continue;
		struct node *node = copy_node(inliner, graph, body->nodes.at[i], &scope, function, passing);
		graph->nodes.count--; /* process puts it, or what it expands to, in its place */
		process(inliner, node);
	}
	/* An input handed on, or an output named twice, has no node of its own. */
	FOR (k, (size_t)call->outs)
		if (call->out[k] && !direct[k])
			identity(graph, mapped(&scope, body->outputs.at[k]), call->out[k], call);
	if (expansion && expansion->once && !again)
		keep(inliner, body, &scope);
	inliner->depth--;
}

static void expand(struct inliner *inliner, struct function *function, struct node *call)
{
	if (function->open)
		fail(inliner->build, EXIT_INVALID, call->where, "function %.60s calls itself", function->name);
	function->open = true;
	merge_opsets(inliner, function->body);
	expand_body(inliner, function->body, call, function);
	function->open = false;
}

/* In a text, `graph.NAME` is a call of the graph that the operator's attribute NAME holds. */
static struct graph *graph_called(const struct inliner *inliner, const struct node *node)
{
	if (!inliner->owner || strcmp(node->domain, "graph"))
		return NULL;
	const struct attribute *attribute = node_attribute(inliner->owner, node->type);
	if (!attribute || !attribute->g)
		fail(inliner->build, EXIT_INVALID, node->where, "has no attribute %.60s that holds a graph",
		        node->type);
	return attribute->g;
}

static void process(struct inliner *inliner, struct node *node)
{
	struct function *function = find(inliner, node->domain, node->type, node->overload);
	if (function) {
		expand(inliner, function, node);
		return;
	}
	struct graph *called = graph_called(inliner, node);
	if (called) {
		expand_body(inliner, called, node, NULL);
		return;
	}
	push(inliner->build->arena, &node->graph->nodes, node);
	FOR (i, node->attribute_count) {
		struct attribute *a = &node->attributes[i];
		if (a->g)
			inline_graph(inliner, a->g);
		for (size_t k = 0; a->kind == ATTRIBUTE_GRAPHS && k < a->count; k++)
			inline_graph(inliner, a->graphs[k]);
	}
}

void functions_inline(struct reader *reader, struct graph *graph)
{
	struct inliner inliner = { .build = reader->build, .main = graph, .room = 16 };
	if (!reader->functions.count)
		return;
	while (inliner.room < 2 * reader->functions.count)
		inliner.room *= 2;
	inliner.index = arena_new_array(reader->build->arena, struct function *, inliner.room);
	FOR_EACH (struct function *function, reader->functions) {
		struct function **slot;
		if (find(&inliner, function->domain, function->name, function->overload))
			fail(reader->build, EXIT_INVALID, reader_where(reader, "function", function->name),
			        "is there twice");
		slot = &inliner.index[slot_of(&inliner, function->domain, function->name, function->overload)];
		function->next = *slot;
		*slot = function;
	}
	inline_graph(&inliner, graph);
}

void function_expand(struct node *call, const char *file, const char *text, size_t count, size_t *copied)
{
	struct reader reader = reader_new(call->graph->build, file, NULL, NULL);
	reader_opset(&reader, "", NEWEST_OPSET);
	struct function *function = read_text_function(&reader, text, count);
	struct inliner inliner = { .build = reader.build, .main = call->graph, .copied = *copied, .owner = call };
	while (inliner.main->outer)
		inliner.main = inliner.main->outer;
	expand(&inliner, function, call);
	*copied = inliner.copied;
}

void graph_expand(struct expansion *expansion, int ins, struct tensor **in, int outs, struct tensor **out)
{
	struct node *owner = expansion->owner, call = *owner;
	struct inliner inliner = { .build = owner->graph->build,
		.main = owner->graph,
		.copied = *expansion->copied,
		.owner = owner,
		.expansion = expansion };
	call.ins = ins;
	call.in = in;
	call.outs = outs;
	call.out = out;
	expand_body(&inliner, expansion->body, &call, NULL);
	*expansion->copied = inliner.copied;
}
