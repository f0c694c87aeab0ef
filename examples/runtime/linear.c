/* linear.c: the library of these examples, and the way they end. */
#include <stdio.h>
#include <stdlib.h>
#include "linear.h"

enum { W, X, T, Y, GRAD, TOTAL };
static const struct ingot_module_dim w_dims[] = { { FEATURES, -1 } }, x_dims[] = { { ROWS, 0 }, { FEATURES, -1 } },
                                     y_dims[] = { { ROWS, 0 } };
#define NODE(n, d, r, count, f) \
	{ \
		.name = n, .dtype = INGOT_F32, .rank = r, .dims = d, .bytes = (count)*4, .view_of = -1, .flags = f \
	}
static const struct ingot_module_node nodes[] = {
	[W] = NODE("w", w_dims, 1, FEATURES, INGOT_NODE_STATE | INGOT_NODE_HOSTED),
	[X] = NODE("x", x_dims, 2, ROWS *FEATURES, INGOT_NODE_HOSTED),
	[T] = NODE("t", y_dims, 1, ROWS, INGOT_NODE_HOSTED),
	[Y] = NODE("y", y_dims, 1, ROWS, INGOT_NODE_HOSTED),
	[GRAD] = NODE("grad", w_dims, 1, FEATURES, INGOT_NODE_HOSTED),
	[TOTAL] = NODE("total", w_dims, 1, FEATURES, INGOT_NODE_STATE),
};
static const struct ingot_module_symbol symbols[] = { { "rows", 1, ROWS } };

static float dot(const float *w, const float *x)
{
	float sum = 0;
	for (int k = 0; k < FEATURES; k++)
		sum += w[k] * x[k];
	return sum;
}

static int forward(const struct ingot_call *call)
{
	const float *w = ingot_argument(call, 0), *x = ingot_argument(call, 1);
	float *y = ingot_argument(call, 2);
	for (int64_t i = 0; i < call->symbols[0]; i++)
		y[i] = dot(w, x + i * FEATURES);
	return 0;
}

static int gradient(const struct ingot_call *call)
{
	const float *w = ingot_argument(call, 0), *x = ingot_argument(call, 1), *t = ingot_argument(call, 2);
	float *grad = ingot_argument(call, 3);
	for (int k = 0; k < FEATURES; k++)
		grad[k] = 0;
	for (int64_t i = 0; i < call->symbols[0]; i++) {
		float error = dot(w, x + i * FEATURES) - t[i];
		for (int k = 0; k < FEATURES; k++)
			grad[k] += error * x[i * FEATURES + k];
	}
	return 0;
}

static int merge(const struct ingot_call *call)
{
	const float *grad = ingot_argument(call, 0);
	float *total = ingot_argument(call, 1);
	for (int k = 0; k < FEATURES; k++)
		total[k] += grad[k];
	return 0;
}

static int step(const struct ingot_call *call)
{
	float *w = ingot_argument(call, 0), *total = ingot_argument(call, 1);
	for (int k = 0; k < FEATURES; k++) {
		w[k] -= total[k] / 256;
		total[k] = 0;
	}
	return 0;
}

static const uint32_t wx[] = { W, X }, y[] = { Y }, wxt[] = { W, X, T }, grad[] = { GRAD }, total[] = { TOTAL },
                      w_total[] = { W, TOTAL }, rows[] = { 0 };
static const struct ingot_module_argument forward_arguments[] = { { INGOT_FROM_NODE, W, 0 }, { INGOT_FROM_NODE, X, 0 },
	{ INGOT_FROM_NODE, Y, 0 } };
static const struct ingot_module_argument gradient_arguments[] = { { INGOT_FROM_NODE, W, 0 }, { INGOT_FROM_NODE, X, 0 },
	{ INGOT_FROM_NODE, T, 0 }, { INGOT_FROM_NODE, GRAD, 0 } };
static const struct ingot_module_argument merge_arguments[] = { { INGOT_FROM_MERGE, GRAD, 0 },
	{ INGOT_FROM_NODE, TOTAL, 0 } };
static const struct ingot_module_argument step_arguments[] = { { INGOT_FROM_NODE, W, 0 },
	{ INGOT_FROM_NODE, TOTAL, 0 } };
/* clang-format off */
static const struct ingot_module_routine routines[] = {
	{ .name = "forward", .inputs = wx, .input_count = 2, .outputs = y, .output_count = 1, .symbols = rows,
	  .symbol_count = 1, .arguments = forward_arguments, .argument_count = 3, .merge_input = -1, .run = forward },
	{ .name = "gradient", .inputs = wxt, .input_count = 3, .outputs = grad, .output_count = 1, .symbols = rows,
	  .symbol_count = 1, .arguments = gradient_arguments, .argument_count = 4, .merge_input = -1, .run = gradient },
	{ .name = "merge", .inputs = total, .input_count = 1, .outputs = total, .output_count = 1,
	  .arguments = merge_arguments, .argument_count = 2, .merge_input = GRAD, .run = merge },
	{ .name = "step", .inputs = w_total, .input_count = 2, .outputs = w_total, .output_count = 2,
	  .arguments = step_arguments, .argument_count = 2, .merge_input = -1, .run = step },
};

const struct ingot_module linear_module = {
	.abi = INGOT_ABI, .name = "linear", .nodes = nodes, .node_count = 6, .symbols = symbols, .symbol_count = 1,
	.routines = routines, .routine_count = 4 };
/* clang-format on */

void need(enum ingot_status status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, ingot_status_name(status), ingot_message());
	exit(1);
}
