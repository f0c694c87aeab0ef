/* tflite_state.c: what outlives a run, and the bodies of operators that have such: variables, LSTM, SVDF. */
#include "frontends/tflite_bodies.h"

static struct tfl_variable *variable(struct tfl_op *op, const char *name)
{
	struct tfl_variable *v = *op->tfl->variables;
	while (v && v->name != name)
		v = v->next;
	if (!v) {
		v = arena_new(op->tfl->build->arena, struct tfl_variable);
		*v = (struct tfl_variable){ .name = name, .next = *op->tfl->variables };
		*op->tfl->variables = v;
	}
	return v;
}

/* What it holds; `like` has its type and shape. */
static struct tensor *read_now(struct tfl_op *op, struct tfl_variable *v, const struct tfl_tensor *like)
{
	struct graph *graph = op->tfl->graph;
	if (v->now)
		return v->now;
	struct tensor input = { .name = v->name, .type = like->type, .rank = like->rank };
	if (!like->known || like->type == DTYPE_NONE)
		tfl_cannot(op, "has a variable of unknown type or shape");
	if (!*input.name || graph_tensor(graph, input.name))
		input.name = name_is(
		        op->tfl->build->names, arena_printf(op->tfl->build->arena, "state_%zu", graph->inputs.count));
	for (int d = 0; d < like->rank; d++)
		input.dims[d].extent = like->extents[d];
	reader_input(op->tfl->reader, graph, &input);
	v->input = graph->inputs.at[graph->inputs.count - 1];
	v->now = v->initial ? tfl_two(op, "Add", v->input, v->initial) : v->input;
	return v->now;
}

struct tensor *tfl_state(struct tfl_op *op, struct tfl_tensor *t)
{
	tfl_invalid(op, !table_byte(&t->table, 5, 0), "its state is no variable tensor");
	if (!t->variable)
		t->variable = variable(op, t->name);
	return read_now(op, t->variable, t);
}

void tfl_state_next(struct tfl_op *op, struct tfl_tensor *t, struct tensor *next)
{
	(void)op;
	t->variable->now = next;
}

size_t tfl_states(const struct tfl *tfl)
{
	size_t count = 0;
	for (const struct tfl_variable *v = *tfl->variables; v; v = v->next)
		count += v->input != NULL;
	return count;
}

void tfl_give_states(struct tfl_op *op, struct tensor **outputs)
{
	size_t k = tfl_states(op->tfl);
	for (struct tfl_variable *v = *op->tfl->variables; v; v = v->next)
		if (v->input) {
			struct tensor *next = v->now;
			if (v->initial)
				next = tfl_two(op, "Sub", next, v->initial);
			const char *name = arena_printf(op->tfl->build->arena, "%s_next", v->input->name);
			outputs[--k] = tfl_named(op, next, name);
			outputs[k]->is_output = true;
		}
}

/* ---- variables ---- */
void tfl_var_handle(struct tfl_op *op)
{
	struct bytes name = table_text(&op->options, 1);
	struct tfl_tensor *handle = tfl_out(op, 0);
	tfl_invalid(op, handle->type != DTYPE_NONE, "makes no resource");
	handle->variable = variable(op, reader_name(op->tfl->reader, name.at, name.count));
	handle->made = true;
}

static struct tfl_variable *variable_in(struct tfl_op *op)
{
	struct tfl_variable *v = tfl_in(op, 0)->variable;
	tfl_invalid(op, !v, "its resource is no variable");
	return v;
}

void tfl_read_variable(struct tfl_op *op)
{
	if (op->tfl->is_initial)
		tfl_cannot(op, "reads a variable where variables are made");
	tfl_give_stored(op, 0, read_now(op, variable_in(op), tfl_out(op, 0)));
}

static bool is_zero(const struct tensor *constant)
{
	const char *at = constant->data;
	for (size_t i = 0; i < constant->bytes; i++)
		if (at[i])
			return false;
	return true;
}

void tfl_assign_variable(struct tfl_op *op)
{
	struct tfl_variable *v = variable_in(op);
	struct tfl_tensor *t = tfl_in(op, 1);
	struct tensor *value = tfl_value(op, t);
	if (op->tfl->is_initial) {
		if (!value->data || v->now)
			tfl_cannot(op, "a variable does not begin as a constant");
		v->initial = is_zero(value) ? NULL : value;
		return;
	}
	read_now(op, v, t); /* it is an output, and so an input, though nobody reads it */
	v->now = value;
}

void tfl_call_once(struct tfl_op *op)
{
	int64_t index = table_int(&op->options, 0, 0);
	tfl_invalid(op, index < 1, "calls a subgraph that is not there");
	tfl_subgraph(op, (size_t)index);
}

/* ---- recurrent operators ---- */
enum {
	X,
	W_INPUT,
	W_FORGET,
	W_CELL,
	W_OUTPUT,
	R_INPUT,
	R_FORGET,
	R_CELL,
	R_OUTPUT,
	PEEPHOLE,
	BIAS_INPUT = 12,
	BIAS_FORGET,
	BIAS_CELL,
	BIAS_OUTPUT,
	PROJECTION,
	STATE = 18,
	CELL,
	NORMALISED
};

/* Four matrices or biases, one below the other, in ONNX's order: input, output, forget, cell. */
static struct tensor *gates(struct tfl_op *op, size_t input, size_t forget, size_t cell, size_t output)
{
	size_t which[] = { input, output, forget, cell };
	struct tensor *in[4];
	for (int k = 0; k < 4; k++)
		in[k] = tfl_real(op, tfl_in(op, which[k]));
	int64_t first = 0;
	struct tensor *all = tfl_set_int(tfl_node(op, "Concat", 4, in), "axis", 0);
	return tfl_two(op, "Unsqueeze", all, tfl_list(op, 1, &first));
}

void tfl_lstm(struct tfl_op *op)
{
	static const int64_t swapped[] = { 1, 0, 2 };
	struct tfl_tensor *h = tfl_in(op, STATE), *c = tfl_in(op, CELL), *bias = tfl_in(op, BIAS_CELL);
	bool time_major = table_byte(&op->options, 3, 0);
	int64_t activation = table_byte(&op->options, 0, 0), first = 0, one = 1;
	float clip = table_float(&op->options, 1, 0);
	for (size_t i = PEEPHOLE; i < BIAS_INPUT; i++)
		if (tfl_has(op, i))
			tfl_cannot(op, "has peepholes");
	if (tfl_has(op, PROJECTION) || tfl_has(op, NORMALISED + 1) || !tfl_has(op, W_INPUT) || clip > 0
	        || activation != 4)
		tfl_cannot(op,
		        "has a projection, normalised layers, coupled gates, a clip or another activation than tanh");
	if (tfl_in(op, X)->type != DTYPE_F32 || tfl_quantised(tfl_in(op, W_CELL)) || bias->rank != 1)
		tfl_cannot(op, "has data or weights of another type than float32");
	struct tensor *x = tfl_real(op, tfl_in(op, X));
	if (!time_major)
		x = tfl_order(op, x, 3, swapped);
	int64_t zeros[] = { 1, 4 * bias->extents[0] };
	tfl_invalid(op, bias->extents[0] < 1 || bias->extents[0] > INT32_MAX, "its bias is empty");
	float *none = arena_new_array(op->tfl->build->arena, float, (size_t)zeros[1]);
	struct tensor *b[] = { gates(op, BIAS_INPUT, BIAS_FORGET, BIAS_CELL, BIAS_OUTPUT),
		graph_constant_borrowed(op->tfl->graph, op->name, DTYPE_F32, 2, zeros, none) };
	struct tensor *start[] = { tfl_two(op, "Unsqueeze", tfl_state(op, h), tfl_list(op, 1, &first)),
		tfl_two(op, "Unsqueeze", tfl_state(op, c), tfl_list(op, 1, &first)) };
	struct tensor *in[] = { x, gates(op, W_INPUT, W_FORGET, W_CELL, W_OUTPUT),
		gates(op, R_INPUT, R_FORGET, R_CELL, R_OUTPUT), tfl_set_int(tfl_node(op, "Concat", 2, b), "axis", 1),
		NULL, start[0], start[1] };
	struct tensor *y = tfl_nodes(op, "LSTM", 7, in, 3);
	tfl_set_int(y, "hidden_size", bias->extents[0]);
	struct tensor **out = y->producer->out;
	tfl_state_next(op, h, tfl_two(op, "Squeeze", out[1], tfl_list(op, 1, &first)));
	tfl_state_next(op, c, tfl_two(op, "Squeeze", out[2], tfl_list(op, 1, &first)));
	y = tfl_two(op, "Squeeze", y, tfl_list(op, 1, &one));
	tfl_give(op, 0, time_major ? y : tfl_order(op, y, 3, swapped));
}

/* The state holds, for each filter, its last products with the features: [batch, filters * memory].  The oldest goes,
 * and the sum over time, weighed, then over the filters of a unit, is the result. */
void tfl_svdf(struct tfl_op *op)
{
	struct tfl_tensor *x = tfl_in(op, 0), *feature = tfl_in(op, 1), *time = tfl_in(op, 2), *state = tfl_in(op, 4);
	int64_t rank = table_int(&op->options, 0, 0), last = -1, two = 2, begin = 1, end = INT32_MAX;
	if (x->type != DTYPE_F32 || tfl_quantised(feature))
		tfl_cannot(op, "has data or weights of another type than float32");
	tfl_invalid(op,
	        feature->rank != 2 || time->rank != 2 || x->rank != 2 || rank < 1 || feature->extents[0] % rank
	                || state->rank != 2,
	        "its weights are no matrices of whole units");
	int64_t filters = feature->extents[0], memory = time->extents[1];
	struct tensor *product = tfl_set_int(tfl_two(op, "Gemm", tfl_real(op, x), tfl_real(op, feature)), "transB", 1);
	struct tensor *old = tfl_reshape_to(op, tfl_state(op, state), 3, (int64_t[]){ -1, filters, memory });
	struct tensor *cut[] = { old, tfl_list(op, 1, &begin), tfl_list(op, 1, &end), tfl_list(op, 1, &two) };
	struct tensor *both[] = { tfl_node(op, "Slice", 4, cut),
		tfl_two(op, "Unsqueeze", product, tfl_list(op, 1, &last)) };
	struct tensor *now = tfl_set_int(tfl_node(op, "Concat", 2, both), "axis", 2);
	tfl_state_next(op, state, tfl_reshape_to(op, now, 2, (int64_t[]){ -1, state->extents[1] }));
	struct tensor *y = tfl_two(op, "Mul", now, tfl_real(op, time));
	y = tfl_set_int(tfl_two(op, "ReduceSum", y, tfl_list(op, 1, &two)), "keepdims", 0);
	y = tfl_reshape_to(op, y, 3, (int64_t[]){ -1, filters / rank, rank });
	y = tfl_set_int(tfl_two(op, "ReduceSum", y, tfl_list(op, 1, &two)), "keepdims", 0);
	if (tfl_has(op, 3))
		y = tfl_two(op, "Add", y, tfl_real(op, tfl_in(op, 3)));
	tfl_give(op, 0, tfl_activate(op, y, table_byte(&op->options, 1, 0)));
}
