/* tflite_state.c: what outlives a run: tensors that are variable, and the operators that variables have. */
#include "frontends/tflite.h"

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

/* Others may read it, too: tfl_named leaves it as it is. */
void tfl_hold(struct tfl_variable *v, struct tensor *now)
{
	v->now = now;
	now->mark = 1;
}

/* What it holds; `like` has its type and shape. */
static struct tensor *read_now(struct tfl_op *op, struct tfl_variable *v, const struct tfl_tensor *like)
{
	struct build *build = op->tfl->build;
	struct graph *graph = op->tfl->graph;
	if (v->now)
		return v->now;
	struct tensor input = like->said;
	input.name = v->name;
	if (!tensor_is_known(&input) || input.type == DTYPE_STRING)
		tfl_cannot(op, "has a variable of unknown type or shape");
	if (!*input.name || graph_tensor(graph, input.name))
		input.name = name_is(build->names, arena_printf(build->arena, "state_%zu", graph->inputs.count));
	reader_input(op->tfl->reader, graph, &input);
	v->input = graph->inputs.at[graph->inputs.count - 1];
	++*op->tfl->states;
	tfl_hold(v, v->initial ? tfl_two(op, "Add", v->input, v->initial) : v->input);
	return v->now;
}

struct tensor *tfl_state(struct tfl_op *op, struct tfl_tensor *t)
{
	if (!t->variable)
		t->variable = variable(op, t->said.name);
	return read_now(op, t->variable, t);
}

void tfl_give_states(struct tfl_op *op, struct tensor **outputs)
{
	size_t k = *op->tfl->states;
	for (struct tfl_variable *v = *op->tfl->variables; v; v = v->next)
		if (v->input) {
			struct tensor *next = v->initial ? tfl_two(op, "Sub", v->now, v->initial) : v->now;
			const char *name = arena_printf(op->tfl->build->arena, "%s_next", v->input->name);
			outputs[--k] = tfl_named(op, next, name);
			outputs[k]->is_output = true;
		}
}

/* ---- variables ---- */
static void var_handle(struct tfl_op *op)
{
	struct bytes name = table_text(&op->options, 1);
	table_must(&op->table, tfl_out(op, 0)->said.type == DTYPE_NONE, "makes no resource");
	tfl_out(op, 0)->variable = variable(op, reader_name(op->tfl->reader, name.at, name.count));
}

static struct tfl_variable *variable_in(struct tfl_op *op)
{
	struct tfl_variable *v = tfl_in(op, 0)->variable;
	table_must(&op->table, v, "its resource is no variable");
	return v;
}

static void read_variable(struct tfl_op *op)
{
	if (op->tfl->is_initial)
		tfl_cannot(op, "reads a variable where variables are made");
	tfl_give(op, 0, read_now(op, variable_in(op), tfl_out(op, 0)), false);
}

static bool is_zero(const struct tensor *constant)
{
	const char *at = constant->data;
	return !constant->bytes || (!*at && !memcmp(at, at + 1, constant->bytes - 1));
}

static void assign_variable(struct tfl_op *op)
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
	tfl_hold(v, value);
}

static void call_once(struct tfl_op *op)
{
	int64_t index = table_int(&op->options, 0, 4, 0);
	table_must(&op->table, index > 0, "calls a subgraph that is not there");
	tfl_subgraph(op, (size_t)index);
}

void tfl_own(struct tfl_op *op)
{
	enum { CALL_ONCE = 103, VAR_HANDLE = 111, READ_VARIABLE };
	int kind = op->row->options;
	(kind == CALL_ONCE                      ? call_once
	                : kind == VAR_HANDLE    ? var_handle
	                : kind == READ_VARIABLE ? read_variable
	                                        : assign_variable)(op);
}
