/* small.c: two module descriptors as the generator's managed profile would print them. */
#include "gpu.h"
#include "rows.h"

#define N SMALL_COUNT
#define BYTES (N * sizeof(float))

_Alignas(64) const float small_weights[N] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

enum { X, W, S, Y, Z, GRAD, SUM, ROW };
static const struct ingot_module_dim dims[] = { { N, -1 } }, view_dims[] = { { 4, -1 } };
static const float ones[N] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

#define NODE(node_name, ...) \
	{ \
		.name = node_name, .dtype = INGOT_F32, .rank = 1, .dims = dims, .bytes = BYTES, .view_of = -1, \
		__VA_ARGS__ \
	}
/* clang-format off */
static const struct ingot_module_node nodes[] = {
	[X] = NODE("x", .flags = INGOT_NODE_HOSTED),
	[W] = NODE("w", .flags = INGOT_NODE_CONSTANT),
	[S] = NODE("s", .flags = INGOT_NODE_STATE),
	[Y] = NODE("y", .flags = INGOT_NODE_HOSTED | INGOT_NODE_CLEARED),
	[Z] = NODE("z", .flags = INGOT_NODE_HOSTED),
	[GRAD] = NODE("grad", .flags = INGOT_NODE_HOSTED, .initial = ones),
	[SUM] = NODE("sum", .flags = INGOT_NODE_STATE),
	[ROW] = { .name = "y_row", .dtype = INGOT_F32, .rank = 1, .dims = view_dims, .bytes = 16, .view_of = Y,
	  .offset = 16 },
};
/* clang-format on */
static const struct ingot_module_symbol symbols[] = { { "n", 1, N }, { "fixed", 3, 3 } };

#define FROM(...) \
	(const uint32_t[]) { __VA_ARGS__ }

/* y[i] = w[i] * x[i] + s[i], s[i] += 1, for i < n; what is past n is 0. */
static int dense(const struct ingot_call *call)
{
	const float *x = ingot_argument(call, 0), *w = ingot_argument(call, 1);
	float *s = ingot_argument(call, 2), *y = ingot_argument(call, 3), *scratch = ingot_argument(call, 4);
	if ((uintptr_t)scratch % 128)
		return 77;
	call->extents[0] = call->symbols[0];
	if (call->symbols[1] != 3)
		return 78;
	if (gpu_has(call)) {
		int code = gpu_launch(call, "row_clear", N, FROM(3), 1);
		code = code ? code : gpu_launch(call, "row_dense", (uint32_t)call->symbols[0], FROM(0, 1, 2, 3, 4), 5);
		return code ? code : gpu_launch(call, "row_increase", N, FROM(2), 1);
	}
	for (int64_t i = 0; i < N; i++)
		scratch[i] = w[i] * x[i];
	for (int64_t i = 0; i < N; i++) {
		y[i] = i < call->symbols[0] ? scratch[i] + s[i] : 0;
		s[i] += 1;
	}
	return 0;
}

static int twice(const struct ingot_call *call)
{
	const float *y = ingot_argument(call, 0);
	float *z = ingot_argument(call, 1);
	if (gpu_has(call))
		return gpu_launch(call, "row_double", N, FROM(0, 1), 2);
	for (int i = 0; i < N; i++)
		z[i] = 2 * y[i];
	return 0;
}

static int merge(const struct ingot_call *call)
{
	const float *grad = ingot_argument(call, 0);
	float *sum = ingot_argument(call, 1);
	if (gpu_has(call))
		return gpu_launch(call, "row_add", N, FROM(0, 1), 2);
	for (int i = 0; i < N; i++)
		sum[i] += grad[i];
	return 0;
}

static int fails(const struct ingot_call *call)
{
	(void)call;
	return 42;
}
static int read_unseen(const struct ingot_call *call)
{
	(void)call;
	return 0;
}

static int write_row(const struct ingot_call *call)
{
	float *row = ingot_argument(call, 0);
	if (gpu_has(call))
		return gpu_launch(call, "row_hundred", 4, FROM(0), 1);
	for (int i = 0; i < 4; i++)
		row[i] = 100 + (float)i;
	return 0;
}

static const char *message(int code) { return code == 42 ? "the answer is no" : NULL; }

static const uint32_t dense_in[] = { X, S }, dense_out[] = { Y, S }, dense_symbols[] = { 0, 1 }, twice_in[] = { Y },
                      twice_out[] = { Z };
static const uint32_t merge_in[] = { SUM }, merge_out[] = { SUM }, steps_in[] = { X }, steps_out[] = { Y, Z },
                      row_out[] = { ROW };
static const struct ingot_module_argument dense_arguments[] = { { INGOT_FROM_NODE, X, 0 },
	{ INGOT_FROM_CONSTANTS, 0, 0 }, { INGOT_FROM_NODE, S, 0 }, { INGOT_FROM_NODE, Y, 0 },
	{ INGOT_FROM_WORKSPACE, 0, 0 } };
static const struct ingot_module_argument twice_arguments[] = { { INGOT_FROM_NODE, Y, 0 }, { INGOT_FROM_NODE, Z, 0 } };
static const struct ingot_module_argument merge_arguments[] = { { INGOT_FROM_MERGE, GRAD, 0 },
	{ INGOT_FROM_NODE, SUM, 0 } };
static const struct ingot_module_argument row_arguments[] = { { INGOT_FROM_NODE, ROW, 0 } };

/* ---- kernels of a grid: one group an element ---- */

static int kernel_multiply(const struct ingot_group *group, void *const *arguments)
{
	const float *a = arguments[0], *b = arguments[1];
	((float *)arguments[2])[group->index[0]] = a[group->index[0]] * b[group->index[0]];
	return 0;
}

static int kernel_double(const struct ingot_group *group, void *const *arguments)
{
	((float *)arguments[1])[group->index[0]] = 2 * ((const float *)arguments[0])[group->index[0]];
	return 0;
}

/* Writes where each group stands and what shape it has: 8 integers a group. */
static int kernel_where(const struct ingot_group *group, void *const *arguments)
{
	uint32_t at = group->index[0] + group->groups[0] * (group->index[1] + group->groups[1] * group->index[2]);
	int32_t *out = (int32_t *)arguments[0] + 8 * at;
	for (int i = 0; i < 3; i++) {
		out[i] = (int32_t)group->index[i];
		out[3 + i] = (int32_t)group->threads[i];
	}
	out[6] = 1;
	return 0;
}

static int kernel_many(const struct ingot_group *group, void *const *arguments)
{
	(void)group;
	for (int i = 0; i < 300; i++)
		*(float *)arguments[i] = (float)i;
	return 0;
}

static int kernel_fails(const struct ingot_group *group, void *const *arguments)
{
	(void)arguments;
	return group->index[0] == 1 ? 9 : 0;
}

static const uint32_t three_floats[] = { INGOT_F32, INGOT_F32, INGOT_F32 }, one_int[] = { INGOT_I32 };
/* clang-format off */
static const struct ingot_module_kernel kernels[] = {
	{ .name = "multiply", .argument_count = 3, .dtypes = three_floats, .run = kernel_multiply,
	  .device_name = "row_multiply" },
	{ .name = "double", .argument_count = 2, .dtypes = three_floats, .run = kernel_double,
	  .device_name = "row_double" },
	{ .name = "where", .argument_count = 1, .dtypes = one_int, .run = kernel_where, .device_name = "row_where" },
	{ .name = "many", .argument_count = 300, .run = kernel_many, .device_name = "row_many" },
	{ .name = "broken", .argument_count = 0, .run = kernel_fails },
	{ .name = "trap", .argument_count = 0, .run = kernel_fails, .device_name = "row_trap" },
};
/* clang-format on */

static int host_check(const struct ingot_call *call)
{
	const float *x = ingot_argument(call, 0), *z = ingot_argument(call, 3);
	float there[2][N];
	if (gpu_has(call) && (gpu_read(call, 0, there[0], BYTES) || gpu_read(call, 3, there[1], BYTES)))
		return GPU_FAILED;
	if (gpu_has(call))
		x = there[0], z = there[1];
	for (int i = 0; i < N; i++)
		if (z[i] != 2 * small_weights[i] * x[i])
			return 5;
	return 0;
}
static int (*const hosts[])(const struct ingot_call *) = { host_check };

/* x, w, y, z, scratch: lane 1 clears scratch, lane 0 multiplies, lane 2 doubles y after that, lane 1 copies x to
 * scratch, and lane 0 checks in the end. */
static const struct ingot_module_argument steps_arguments[] = { { INGOT_FROM_NODE, X, 0 }, { INGOT_FROM_NODE, W, 0 },
	{ INGOT_FROM_NODE, Y, 0 }, { INGOT_FROM_NODE, Z, 0 }, { INGOT_FROM_WORKSPACE, 0, 0 }, { INGOT_FROM_NODE, X, 0 },
	{ INGOT_FROM_NODE, Y, 0 }, { INGOT_FROM_NODE, Z, 0 } };
static const uint32_t after_1[] = { 1 }, after_2_3[] = { 2, 3 };
/* clang-format off */
static const struct ingot_module_step steps[] = {
	{ .kind = INGOT_STEP_CLEAR, .lane = 1, .first_argument = 4, .argument_count = 1, .bytes = BYTES },
	{ .kind = INGOT_STEP_KERNEL, .kernel = 0, .first_argument = 0, .argument_count = 3, .groups = { N, 1, 1 } },
	{ .kind = INGOT_STEP_KERNEL, .lane = 2, .kernel = 1, .first_argument = 6, .argument_count = 2,
	  .groups = { N, 1, 1 }, .after = after_1, .after_count = 1 },
	{ .kind = INGOT_STEP_COPY, .lane = 1, .first_argument = 4, .argument_count = 2, .bytes = BYTES },
	{ .kind = INGOT_STEP_WAIT, .lane = 0, .after = after_2_3, .after_count = 2 },
	{ .kind = INGOT_STEP_HOST, .lane = 0, .kernel = 0 },
};

static const struct ingot_module_routine routines[] = {
	{ .name = "dense", .inputs = dense_in, .input_count = 2, .outputs = dense_out, .output_count = 2,
	  .symbols = dense_symbols, .symbol_count = 2, .arguments = dense_arguments, .argument_count = 5,
	  .merge_input = -1, .extent_count = 1, .workspace_bytes = BYTES, .workspace_align = 128, .run = dense },
	{ .name = "twice", .inputs = twice_in, .input_count = 1, .outputs = twice_out, .output_count = 1,
	  .arguments = twice_arguments, .argument_count = 2, .merge_input = -1, .run = twice },
	{ .name = "merge", .inputs = merge_in, .input_count = 1, .outputs = merge_out, .output_count = 1,
	  .arguments = merge_arguments, .argument_count = 2, .merge_input = GRAD, .run = merge },
	{ .name = "steps", .inputs = steps_in, .input_count = 1, .outputs = steps_out, .output_count = 2,
	  .arguments = steps_arguments, .argument_count = 8, .merge_input = -1, .workspace_bytes = BYTES,
	  .workspace_align = 64, .steps = steps, .step_count = 6, .lane_count = 3 },
	{ .name = "fails", .merge_input = -1, .outputs = twice_out, .output_count = 1, .run = fails },
	{ .name = "row", .merge_input = -1, .outputs = row_out, .output_count = 1, .arguments = row_arguments,
	  .argument_count = 1, .run = write_row },
};

const struct ingot_module small_module = {
	.abi = INGOT_ABI, .name = "small", .nodes = nodes, .node_count = 8, .symbols = symbols, .symbol_count = 2,
	.constants = { .data = small_weights, .bytes = BYTES, .align = 64, .hash = 0x5a11 }, .kernels = kernels,
	.kernel_count = 6, .hosts = hosts, .host_count = 1, .routines = routines, .routine_count = 6,
	.message = message, .images = row_images, .image_count = ROW_IMAGES };
/* clang-format on */

/* Shares w, x, y and z by name; one routine reads what nobody gives, one writes a constant, one node is for all
 * streams. */
enum { P_X, P_Y, P_UNSEEN, P_W, P_SHARED, P_TABLE };
static const struct ingot_module_node pair_nodes[] = {
	[P_X] = NODE("x", .flags = INGOT_NODE_HOSTED),
	[P_Y] = NODE("y", .flags = INGOT_NODE_HOSTED),
	[P_UNSEEN] = NODE("unseen"),
	[P_W] = NODE("w", .flags = INGOT_NODE_CONSTANT),
	[P_SHARED] = NODE("shared", .flags = INGOT_NODE_SHARED),
	[P_TABLE] = NODE("table", .initial = ones),
};
static const uint32_t pair_unseen[] = { P_UNSEEN }, pair_w[] = { P_W }, pair_x[] = { P_X }, pair_y[] = { P_Y },
                      pair_shared[] = { P_SHARED };
static const uint32_t pair_table[] = { P_TABLE };
static const struct ingot_module_argument pair_unseen_arguments[] = { { INGOT_FROM_NODE, P_UNSEEN, 0 } },
                                          pair_w_arguments[] = { { INGOT_FROM_NODE, P_W, 0 } },
                                          pair_copy_arguments[] = { { INGOT_FROM_NODE, P_X, 0 },
	                                          { INGOT_FROM_NODE, P_Y, 0 } },
                                          pair_set_arguments[] = { { INGOT_FROM_NODE, P_SHARED, 0 } },
                                          pair_get_arguments[] = { { INGOT_FROM_NODE, P_SHARED, 0 },
	                                          { INGOT_FROM_NODE, P_Y, 0 } },
                                          pair_table_arguments[] = { { INGOT_FROM_NODE, P_TABLE, 0 },
	                                          { INGOT_FROM_NODE, P_Y, 0 } };

static int copy(const struct ingot_call *call)
{
	if (gpu_has(call))
		return gpu_launch(call, "row_copy", N, FROM(0, 1), 2);
	for (int i = 0; i < N; i++)
		((float *)ingot_argument(call, 1))[i] = ((const float *)ingot_argument(call, 0))[i];
	return 0;
}

static int set(const struct ingot_call *call)
{
	if (gpu_has(call))
		return gpu_launch(call, "row_increase", N, FROM(0), 1);
	for (int i = 0; i < N; i++)
		((float *)ingot_argument(call, 0))[i] += 1;
	return 0;
}

/* clang-format off */
static const struct ingot_module_routine pair_routines[] = {
	{ .name = "unseen", .inputs = pair_unseen, .input_count = 1, .arguments = pair_unseen_arguments,
	  .argument_count = 1, .merge_input = -1, .run = read_unseen },
	{ .name = "constant", .outputs = pair_w, .output_count = 1, .arguments = pair_w_arguments, .argument_count = 1,
	  .merge_input = -1, .run = read_unseen },
	{ .name = "copy", .inputs = pair_x, .input_count = 1, .outputs = pair_y, .output_count = 1,
	  .arguments = pair_copy_arguments, .argument_count = 2, .merge_input = -1, .run = copy },
	{ .name = "set", .inputs = pair_shared, .input_count = 1, .outputs = pair_shared, .output_count = 1,
	  .arguments = pair_set_arguments, .argument_count = 1, .merge_input = -1, .run = set },
	{ .name = "get", .inputs = pair_shared, .input_count = 1, .outputs = pair_y, .output_count = 1,
	  .arguments = pair_get_arguments, .argument_count = 2, .merge_input = -1, .run = copy },
	{ .name = "look", .inputs = pair_table, .input_count = 1, .outputs = pair_y, .output_count = 1,
	  .arguments = pair_table_arguments, .argument_count = 2, .merge_input = -1, .run = copy },
	{ .name = "fill", .outputs = pair_table, .output_count = 1, .arguments = pair_table_arguments,
	  .argument_count = 1, .merge_input = -1, .run = set },
};

const struct ingot_module small_pair_module = {
	.abi = INGOT_ABI, .name = "pair", .nodes = pair_nodes, .node_count = 6,
	.constants = { .data = small_weights, .bytes = BYTES, .align = 64, .hash = 0x5a11 }, .routines = pair_routines,
	.routine_count = 7, .images = row_images, .image_count = ROW_IMAGES };
/* clang-format on */
