/* control_scan.c: Scan -> its rounds, one after the other, or one node that repeats its body. */
#include "ops/control.h"

static struct tensor *element(struct holder *h, struct tensor *of, int64_t axis, int64_t at)
{
	return holder_add_with(h, "", "Gather", TENSORS(of, holder_number(h, 0, at)), "axis", axis, NULL);
}

/* A tensor without that axis, of no elements: what a round would be given where there is none. */
static struct tensor *without(struct holder *h, const struct tensor *of, int64_t axis)
{
	struct tensor *tensor = graph_tensor_fresh(h->graph, of->name);
	tensor->type = of->type;
	tensor->rank = of->rank - 1;
	FOR (d, tensor->rank)
		tensor->dims[d] = of->dims[d < axis ? d : d + 1];
	return tensor;
}

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
		return arena_new_array(scan->h.arena, int64_t, count + 1);
	if (given != (size_t)count)
		node_fail(scan->h.node, EXIT_INVALID, "%s has %zu numbers, %d %s right", name, given, count,
		        count == 1 ? "is" : "are");
	return at;
}

static const int64_t *directions_of(const struct scan *scan, const char *name, int count)
{
	const int64_t *at = numbers_of(scan, name, count);
	FOR (i, count)
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
	FOR (d, rank)
		perm[d] = d == to ? from : at + (at >= from), at += d != to;
	const struct attribute order = { .name = "perm", .kind = ATTRIBUTE_INTS, .count = (size_t)rank, .ints = perm };
	return bodies_add(h->bodies, h->graph, h->node, "", "Transpose", 1, &tensor, 1, &order, NULL);
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
	struct holder *h = &scan->h, in = holder_inside(h, r);
	struct tensor **now = arena_new_array(h->arena, struct tensor *, scan->states + scan->ins + 1);
	if (scan->rounds < 2 || scan->rounds > REPEATED_MOST)
		return false;
	FOR (i, scan->states) {
		holder_want_fit(h, (size_t)i, s->state[i]);
		now[i] = repeat_in(r, s->state[i], REPEAT_CARRIED, false);
	}
	FOR (i, scan->ins) {
		now[scan->states + i] =
		        repeat_in(r, with_axis(h, s->from[i], scan->in_axis[i], 0), REPEAT_SLICED, scan->in_back[i]);
		holder_want_fit(h, (size_t)(scan->states + i), now[scan->states + i]);
	}
	struct tensor **out = holder_expand(&in, scan->states + scan->ins, now, NULL, true);
	FOR (i, scan->states + scan->outs)
		repeat_out(r, out[i], i < scan->states ? now[i] : NULL,
		        i >= scan->states && scan->out_back[i - scan->states]);
	struct tensor **results = repeat_node(r, scan->rounds, NULL);
	FOR (k, scan->outs)
		s->out[k] = with_axis(h, results[scan->states + k], 0,
		        node_axis(h->node, scan->out_axis[k], out[scan->states + k]->rank + 1));
	COPY(s->state, results, scan->states);
	return true;
}

/* `state` becomes what the last round hands on; the outputs, each round's parts side by side. */
static struct tensor **scanned(struct scan *scan, struct tensor **state, struct tensor *const *from)
{
	struct holder *h = &scan->h;
	struct tensor **out = arena_new_array(h->arena, struct tensor *, scan->outs + 1), **last = NULL;
	struct repeating repeating;
	if (repeat_try(&repeating, h->bodies, h->node, repeat_scan, &(struct scanning){ scan, state, out, from }))
		return out;
	if (scan->rounds > ROUNDS_MOST)
		node_limit(h->node, "%" PRId64 " rounds, at most %d are supported (one after the other, since %s)",
		        scan->rounds, ROUNDS_MOST, repeating.why);
	size_t parts = (size_t)(scan->rounds + 1);
	struct tensor ***part = arena_new_array(h->arena, struct tensor **, scan->outs + 1),
	              **now = arena_new_array(h->arena, struct tensor *, scan->states + scan->ins);
	FOR (k, scan->outs)
		part[k] = arena_new_array(h->arena, struct tensor *, parts);
	COPY(now, state, scan->states);
	FOR (t, (scan->rounds ? scan->rounds : 1)) {
		FOR (i, scan->ins) {
			now[scan->states + i] = scan->rounds
			        ? element(h, from[i], scan->in_axis[i], scan->in_back[i] ? scan->rounds - 1 - t : t)
			        : without(h, from[i], scan->in_axis[i]);
			holder_want_fit(h, (size_t)(scan->states + i), now[scan->states + i]);
		}
		FOR (i, scan->states)
			holder_want_fit(h, (size_t)i, now[i]);
		if (!scan->rounds) { /* for its shapes alone */
			last = holder_expand_none(h, scan->states + scan->ins, now);
			break;
		}
		last = holder_expand(h, scan->states + scan->ins, now, NULL, true);
		FOR (i, scan->states) {
			if (types_differ(now[i], last[i]) || ranks_differ(now[i], last[i])
			        || extents_differ(now[i], last[i]))
				node_fail(h->node, EXIT_INVALID, "the body is given %s as %s and hands on %s",
				        h->expansion.body->inputs.at[i]->name, holder_described(h, now[i]),
				        holder_described(h, last[i]));
			now[i] = last[i];
		}
		FOR (k, scan->outs)
			part[k][scan->out_back[k] ? scan->rounds - 1 - t : t] = last[scan->states + k];
	}
	FOR (k, scan->outs) {
		const struct tensor *one = last[scan->states + k];
		if (one->rank < 0)
			node_unsupported(h->node, "the shape of output %s of the body depends on data", one->name);
		int64_t axis = node_axis(h->node, scan->out_axis[k], one->rank + 1);
		out[k] = scan->rounds ? holder_stack(h, scan->rounds, part[k], axis) : holder_stack_none(h, one, axis);
	}
	COPY(state, now, scan->states);
	return out;
}

/* Version 8 has batches, axis 0 of all: each is a scan of its own. */
static void scan_batches(struct scan *scan, struct tensor *const *in)
{
	struct holder *h = &scan->h;
	int64_t batch = in[0]->dims[0].extent;
	int tensors = scan->states + scan->ins, results = scan->states + scan->outs;
	struct tensor ***parts = arena_new_array(h->arena, struct tensor **, results),
	              **now = arena_new_array(h->arena, struct tensor *, tensors);
	FOR (i, tensors)
		if (in[i]->dims[0].extent != batch)
			node_invalid(h->node, "%s has %" PRId64 " batches, %s has %" PRId64, in[0]->name, batch,
			        in[i]->name, in[i]->dims[0].extent);
	if (batch == 0 || batch * (scan->rounds ? scan->rounds : 1) > ROUNDS_MOST)
		node_limit(h->node,
		        "%" PRId64 " batches of %" PRId64 " rounds, more than 0 and at most %d in all are supported",
		        batch, scan->rounds, ROUNDS_MOST);
	FOR (k, results)
		parts[k] = arena_new_array(h->arena, struct tensor *, batch);
	FOR (b, batch) {
		FOR (i, tensors)
			now[i] = element(h, in[i], 0, b);
		struct tensor **outs = scanned(scan, now, now + scan->states);
		FOR (k, results)
			parts[k][b] = k < scan->states ? now[k] : outs[k - scan->states];
	}
	FOR (k, results)
		if (node_has_out(h->node, k))
			holder_out(h, k, holder_stack(h, batch, parts[k], 0));
}

static bool all_are(const struct tensor *tensor, int64_t value)
{
	int64_t count = tensor_elements(tensor->graph->build, tensor);
	FOR (i, count)
		if (infer_constant_at(tensor, i) != value)
			return false;
	return true;
}

bool expand_scan(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct scan scan = { .h = holder_of(bodies, node) };
	struct holder *h = &scan.h;
	struct graph *body = h->expansion.body = control_graph(node, "body");
	int batches = node->since < 9; /* version 8: axis 0 of all; input 0 says how long each is */
	(void)op;
	INVALID_IF(!node_attribute(node, "num_scan_inputs"), " lacks the attribute \"num_scan_inputs\"");
	int64_t ins = node_int(node, "num_scan_inputs", 0);
	infer_counts(node, 0, ANY, ANY);
	INVALID_IF(ins < 1 || ins > node->ins - batches, "num_scan_inputs is %" PRId64 " of %d inputs", ins,
	        node->ins - batches);
	scan.ins = (int)ins;
	scan.states = node->ins - batches - scan.ins;
	control_want_graph(node, "body", body, (size_t)(node->ins - batches), (size_t)scan.states, true);
	scan.outs = (int)body->outputs.count - scan.states;
	INVALID_IF(node->outs > scan.states + scan.outs, " has %d outputs, the body makes %d", node->outs,
	        scan.states + scan.outs);
	struct tensor **in = node->in + batches;
	FOR (i, scan.states + scan.ins) {
		INVALID_IF(!in[i], " lacks input %d", i + batches);
		INVALID_IF(in[i]->rank >= 0 && in[i]->rank < batches, "%s has no axis of batches", in[i]->name);
		if (!tensor_is_known(in[i]))
			return false;
	}
	const int64_t *axes = numbers_of(&scan, "scan_input_axes", scan.ins);
	scan.in_axis = arena_new_array(h->arena, int64_t, scan.ins);
	scan.in_back = directions_of(&scan, batches ? "directions" : "scan_input_directions", scan.ins);
	scan.out_axis = numbers_of(&scan, "scan_output_axes", scan.outs);
	scan.out_back = directions_of(&scan, "scan_output_directions", scan.outs);
	FOR (i, scan.ins) {
		const struct tensor *from = in[scan.states + i];
		scan.in_axis[i] = node_axis(node, axes[i] + (batches && axes[i] >= 0 ? batches : 0), from->rank);
		int64_t extent = from->dims[scan.in_axis[i]].extent;
		INVALID_IF(i && extent != scan.rounds, "%s has %" PRId64 " rounds, %s has %" PRId64,
		        in[scan.states]->name, scan.rounds, from->name, extent);
		scan.rounds = extent;
		scan.in_axis[i] -= batches;
	}
	holder_find_steady(h);
	bodies->rounds++;
	if (batches) {
		const struct tensor *lengths = node->in[0];
		UNSUPPORTED_IF(lengths && (!lengths->data || !all_are(lengths, scan.rounds)),
		        "sequences of other lengths than the tensor (sequence_lens) are not supported");
		scan_batches(&scan, in);
	} else {
		struct tensor **state = arena_new_array(h->arena, struct tensor *, scan.states + 1);
		COPY(state, in, scan.states);
		struct tensor **outs = scanned(&scan, state, in + scan.states);
		FOR (k, scan.states + scan.outs)
			if (node_has_out(node, k))
				holder_out(h, k, k < scan.states ? state[k] : outs[k - scan.states]);
	}
	bodies->rounds--;
	return true;
}
