/* infer.c: graph -> graph.  One walk over the nodes in order: types and shapes of each node's outputs, then, where all
 * of its inputs are constant, their values at once, so that arithmetic on shapes is there when the next node asks for
 * it.  An op that is a text, or graphs of its own, gives way to their nodes, which are walked in turn.  Needs
 * topological order.  Keeps it.  Leaves no node whose outputs are all constant, but for those too large to keep.
 * Sequences and optionals become lists of tensors on the way, and the outputs of the graph tensors alone. */
#include "passes/passes.h"
#include "ops/ops.h"
#include <inttypes.h>

enum {
	FOLD_BYTES = 1 << 20,
	FOLD_GROWTH = 8,
	FOLD_ROUNDS_BYTES = 64 << 20,
	WAITS_LEAST = 1 << 19,
	FOLD_ALWAYS = 256
}; /* more than either: left for run time, where it may cost no memory */
static const double
        fold_terms = 1e9,
        fold_round = 200; /* about a second of the interpreter; what a definition costs it in each round of a loop */

static bool is_worth_folding(const struct node *node)
{
	struct build *build = node->graph->build;
	double in_bytes = 0, out_bytes = 0;
	if (node->own && !node->own->told)
		return false;
	FOR (i, node->ins) {
		if (!node->in[i])
			continue;
		if (!node->in[i]->data || dtypes[node->in[i]->type].class == CLASS_OTHER)
			return false;
		in_bytes += (double)node->in[i]->bytes;
	}
	FOR (i, node->outs) {
		if (!node->out[i])
			continue;
		if (!tensor_is_known(node->out[i]) || !dtype_is_supported(node->out[i]->type))
			return false;
		out_bytes += (double)tensor_elements(build, node->out[i]) * dtypes[node->out[i]->type].bits / 8;
	}
	return out_bytes <= FOLD_BYTES || out_bytes <= in_bytes * FOLD_GROWTH;
}

static double terms_of(const struct program *program)
{
	double terms = 0;
	FOR_EACH (const struct definition *definition, program->all) {
		if (definition->source == SOURCE_COMPUTED)
			terms += (double)definition_elements(definition) * (double)definition_terms(definition);
		if (definition->loop.repeat && definition_repeats(definition) == definition)
			terms += (double)definition->loop.repeat->rounds
			        * (fold_round * (double)definition->loop.repeat->body->all.count
			                + terms_of(definition->loop.repeat->body));
	}
	return terms;
}

/* What folds again and again, round after round, has an end in all, but for the arithmetic on counts and shapes that
 * says how many rounds there are. */
static bool counted(struct bodies *bodies, const struct node *node, double terms)
{
	size_t bytes = 0;
	FOR (i, node->outs)
		if (node->out[i])
			bytes += dtype_bytes(
			        node->out[i]->type, (size_t)tensor_elements(node->graph->build, node->out[i]));
	if (terms <= FOLD_ALWAYS && bytes <= FOLD_ALWAYS)
		return true;
	bodies->folded += terms;
	bodies->folded_bytes += bytes;
	return bodies->folded <= fold_terms && bodies->folded_bytes <= FOLD_ROUNDS_BYTES;
}

/* One map over constants that makes more bytes of them, or floats of integers; or moves what such a map made: who is
 * short of room, or adds integers, may have what they were. */
static bool is_widening(const struct node *node, const struct program *program)
{
	int computed = 0;
	size_t in_bytes = 0;
	bool converts = false, moves = false;
	FOR_EACH (const struct definition *d, program->all) {
		if (d->source == SOURCE_COMPUTED
		        && (d->reduce != REDUCE_NONE || (computed++ && d->body->kind != EXPR_LOAD)))
			return false;
		moves |= d->source == SOURCE_COMPUTED && d->body->kind == EXPR_LOAD && node->in[0]
		        && node->in[0]->widened;
		if (d->source != SOURCE_CONSTANT)
			continue;
		in_bytes += dtype_bytes(d->type, (size_t)definition_elements(d));
		converts |= dtypes[d->type].class == CLASS_INT || dtypes[d->type].class == CLASS_UINT;
	}
	return computed && computed <= 2 && node->outs == 1
	        && (moves || in_bytes < node->out[0]->bytes
	                || (converts && dtypes[node->out[0]->type].class == CLASS_FLOAT));
}

/* Large, of bytes or floats, by maps alone: its values may wait until somebody asks for them. */
static bool may_wait(const struct node *node, const struct program *program)
{
	const struct tensor *y = node->out[0];
	bool maps = node->outs == 1 && y && !program->checks.count && !tensor_counted(y)
	        && (y->type == DTYPE_F32 || dtypes[y->type].class == CLASS_INT || dtypes[y->type].class == CLASS_UINT)
	        && (y->type == DTYPE_F32 || dtypes[y->type].bits <= 8)
	        && dtype_bytes(y->type, (size_t)tensor_elements(node->graph->build, y)) >= WAITS_LEAST;
	for (size_t i = 0; maps && i < program->all.count; i++)
		maps = program->all.at[i]->source == SOURCE_CONSTANT || program->all.at[i]->reduce == REDUCE_NONE;
	return maps;
}

static void wait(const struct node *node, const struct program *program)
{
	struct tensor *y = node->out[0];
	y->bytes = dtype_bytes(y->type, (size_t)tensor_elements(node->graph->build, y));
	y->late = late_of(program);
	y->data = y->late;
	y->widened = is_widening(node, program) ? node : NULL;
}

static bool fold(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct arena *arena = node->graph->build->arena;
	if (!is_worth_folding(node))
		return false;
	const struct program *program = define_node(node, op);
	double terms = terms_of(program);
	if (terms > fold_terms)
		return false;
	if (bodies->rounds && !counted(bodies, node, terms))
		return false;
	if (!bodies->rounds && may_wait(node, program))
		return wait(node, program), true;
	void **results = arena_new_array(arena, void *, program->outputs.count + 1);
	for (int i = 0, n = 0; i < node->outs; i++) {
		struct tensor *tensor = node->out[i];
		if (!tensor)
			continue;
		tensor->bytes = dtype_bytes(tensor->type, (size_t)tensor_elements(node->graph->build, tensor));
		results[n++] = arena_alloc(arena, tensor->bytes + 1);
	}
	interpret(program, MATH_STRICT, NULL, results);
	for (int i = 0, n = 0; i < node->outs; i++)
		if (node->out[i])
			node->out[i]->data = results[n++];
	if (is_widening(node, program))
		node->out[0]->widened = node;
	return true;
}

static bool is_constant(const struct node *node)
{
	FOR (i, node->outs)
		if (node->out[i] && !node->out[i]->data)
			return false;
	return true;
}

/* Whether all that it makes are lists of tensors that are there: nothing is left to do when it runs. */
static bool is_of_lists(const struct node *node)
{
	FOR (i, node->outs)
		if (node->out[i] && !node->out[i]->list)
			return false;
	return true;
}

static bool is_determined(const struct node *node)
{
	FOR (i, node->outs)
		if (node->out[i] && !tensor_is_known(node->out[i]))
			return false;
	return true;
}

static void want_tensors(const struct node *node)
{
	FOR (i, node->ins)
		if (node->in[i] && node->in[i]->form)
			node_fail(node, EXIT_INVALID, "input %d, '%s', is %s, a tensor is right", i, node->in[i]->name,
			        type_of_tensor(node->graph->build, node->in[i]));
}

/* The op of the node; inference may have made another of it. */
static const struct op *infer_one(struct node *node)
{
	const struct op *op = NULL;
	for (const char *type = NULL, *domain = NULL; type != node->type || domain != node->domain;) {
		type = node->type;
		domain = node->domain;
		op = op_of(node);
		if (!op->lists)
			want_tensors(node);
		version_check_inputs(node);
		version_check_outputs(node);
		bool counted = counts_come(node, op);
		if (op->place)
			return op;
		op->infer(node);
		if (type != node->type || domain != node->domain)
			node->is_given = false;
		version_check_outputs(node);
		if (counted && type == node->type && domain == node->domain)
			counts_go(node, op);
		else if (!counted)
			counts_none(node, op);
		values_follow(node, op);
	}
	return op;
}

/* How many there are of a dim has folded, too: the elements that are there move together. */
static void settle(struct tensor *tensor)
{
	size_t size = dtypes[tensor->type].bits / 8, outer = 1;
	for (int d = 0; d < tensor->rank; outer *= (size_t)tensor->dims[d++].extent) {
		const struct dim dim = tensor->dims[d];
		if (!dim.count || !dim.count->data || size == 0)
			continue;
		int64_t count = tensor_int(dim.count, 0);
		size_t inner = size;
		for (int k = d + 1; k < tensor->rank; k++)
			inner *= (size_t)tensor->dims[k].extent;
		FOR (i, outer)
			memmove((char *)tensor->data + i * (size_t)count * inner,
			        (const char *)tensor->data + i * (size_t)dim.extent * inner, (size_t)count * inner);
		tensor->dims[d] = dim_of(count);
		tensor->bytes = outer * (size_t)count * inner;
	}
}

/* Whether it is there without the node: constant, or a list. */
static bool vanishes(struct bodies *bodies, struct node *node, const struct op *op)
{
	if (!is_of_lists(node) && !is_constant(node) && !fold(bodies, node, op))
		return false;
	FOR (i, node->outs)
		if (node->out[i]) {
			node->out[i]->producer = NULL;
			node->out[i]->is_initializer = node->out[i]->data;
			if (node->out[i]->data)
				settle(node->out[i]);
		}
	return true;
}

static void walk_all_of(struct bodies *, struct graph *);

/* A loop that is one node keeps its body, which a file may have written. */
static void infer_bodies(struct bodies *bodies, struct node *node)
{
	const struct op *op = op_of(node);
	for (int i = 0; !op->place && i < node->attribute_count; i++)
		if (node->attributes[i].g)
			walk_all_of(bodies, node->attributes[i].g);
}

static void infer(struct bodies *bodies, struct node *node)
{
	infer_bodies(bodies, node);
	strings_look(node);
	const struct op *op = op_of(node);
	if (!node_has_strings(node) || !op_takes_strings(op))
		op = infer_one(node);
	if (node_has_strings(node) && op_takes_strings(op)) { /* it may have become an Identity of some */
		if (!expand_strings(bodies, node, op))
			push(node->graph->build->arena, &node->graph->nodes, node);
		return;
	}
	if (op->place ? !op->place(bodies, node, op) : !vanishes(bodies, node, op))
		push(node->graph->build->arena, &node->graph->nodes, node);
	if (op->place)
		version_check_outputs(node);
}

/* Nodes that took the place of another, each in turn. */
static void walk_from(struct bodies *bodies, struct graph *graph, size_t from)
{
	size_t count = graph->nodes.count - from;
	struct node **nodes = arena_new_array(graph->build->arena, struct node *, count);
	if (count)
		memcpy(nodes, graph->nodes.at + from, count * sizeof *nodes);
	graph->nodes.count = from;
	FOR (i, count)
		infer(bodies, nodes[i]);
}

static void walk_all_of(struct bodies *bodies, struct graph *graph)
{
	__typeof__(graph->nodes) nodes = graph->nodes;
	memset(&graph->nodes, 0, sizeof graph->nodes);
	FOR_ALL (i, nodes)
		infer(bodies, nodes.at[i]);
}

static void walk_all(struct graph *graph)
{
	struct bodies bodies = { .walk = walk_from };
	walk_all_of(&bodies, graph);
}

/* The tensor is of that shape, where nothing else says its own.  False: it had one. */
static bool take_shape(struct tensor *x, const struct tensor *y)
{
	bool any = x->rank < 0;
	if (any)
		FOR (d, y->rank)
			x->dims[d] = dim_unknown;
	x->rank = y->rank;
	FOR (d, y->rank)
		if (!dim_is_known(x->dims[d])
		        && (dim_is_known(y->dims[d])
		                || (!x->dims[d].symbol && y->dims[d].symbol
		                        && graph_asked(x->graph, y->dims[d].symbol)))) {
			x->dims[d] = y->dims[d];
			any = true;
		}
	return any;
}

/* A shape that only what is made of a tensor has, one for one, is that of the tensor.  So is, of two that are
 * broadcast, that of one whose rank the result's is, or beside a scalar: a 1 there that becomes more is not thought of,
 * and what comes at run time is held to it.  False: there was none. */
static bool infer_backward(struct graph *graph)
{
	bool any = false;
	for (size_t i = graph->nodes.count; i-- > 0;) {
		const struct node *node = graph->nodes.at[i];
		const struct tensor *y = node->outs ? node->out[0] : NULL;
		const struct op *op = op_of(node);
		int from = op_keeps_shape(op) && node->ins ? 1 : op_broadcasts(op) ? node->ins : 0;
		for (int k = 0; y && y->rank >= 0 && k < from; k++) {
			struct tensor *x = node->in[k];
			const struct tensor *other = from == 2 ? node->in[1 - k] : NULL;
			if (x && x->producer && (x->rank == y->rank || (x->rank < 0 && (!other || other->rank == 0))))
				any |= take_shape(x, y);
		}
	}
	return any;
}

/* Whether extents are left that data decide: nobody declares them. */
static bool waits_for_bounds(const struct graph *graph)
{
	FOR_ALL (i, graph->nodes)
		if (op_chooses(op_of(graph->nodes.at[i])) && !is_determined(graph->nodes.at[i]))
			return true;
	return false;
}

/* An output of strings gives way to their bytes, one of maps is the tensor of what they map to. */
static void give_out(struct graph *graph)
{
	struct bodies bodies = { .walk = walk_from };
	FOR_ALL (i, graph->outputs) {
		struct tensor *old = graph->outputs.at[i];
		if (old->is_maps && !old->keys)
			fail(graph->build, EXIT_UNSUPPORTED, graph->file,
			        "output %.60s is a sequence of maps that no ZipMap makes", old->name);
		if (old->form || old->type != DTYPE_STRING || !(old->data || (old->utf8 && tensor_is_known(old->utf8))))
			continue;
		struct tensor *out = pass_renewed(graph, old);
		out->is_utf8 = out->is_output = true;
		old->is_output = false;
		graph->outputs.at[i] = out;
		strings_border(&bodies, graph, old, out);
	}
}

void pass_infer(struct graph *graph)
{
	walk_all(graph);
	if (infer_backward(graph))
		walk_all(graph);
	if (graph->asked.count || waits_for_bounds(graph)) {
		graph->bounded = true;
		walk_all(graph);
	}
	pass_whole_outputs(graph);
	give_out(graph);
}
