/* large.c: too large, past the end, and descriptors that do not fit together. */
#include "misuse.h"

#define MUCH (UINT64_C(1) << 62)
#define L(name, expression) WAY(large, name, expression)
L(pool_open, ingot_pool_open(t->device, UINT64_MAX, 0, INGOT_SLAB_PRIVATE, &t->pool))
L(pool_open_half, ingot_pool_open(t->device, MUCH, 0, INGOT_SLAB_PRIVATE, &t->pool))
L(pool_replace, ingot_pool_replace(t->device, 5000, MUCH, 0, INGOT_SLAB_PRIVATE))
L(pool_zero, ingot_pool_replace(t->device, 0, 16, 0, INGOT_SLAB_PRIVATE))
L(pool_adopt, ingot_pool_adopt(t->device, t->host, UINT64_MAX, &t->pool))
L(pool_fill, ingot_pool_fill(t->stream, t->pool, 0, 65, 0, NULL))
L(pool_fill_offset, ingot_pool_fill(t->stream, t->pool, UINT64_MAX, 2, 0, NULL))
L(pool_write, ingot_pool_write(t->stream, t->pool, 60, t->host, 8, NULL))
L(pool_read, ingot_pool_read(t->stream, t->pool, 1, t->host, UINT64_MAX, NULL))
L(pool_unknown, ingot_pool_read(t->stream, 4711, 0, t->host, 4, NULL))
L(pool_merge, ingot_pool_fill(t->stream, 0, 0, 0, 0, NULL))
L(buffer_open, ingot_buffer_open(t->device, INGOT_F64, UINT64_MAX / 4, &t->buffer))
L(buffer_write, ingot_buffer_write(t->stream, &t->buffer, t->host, 64, 60, 8))
L(buffer_write_wraps, ingot_buffer_write(t->stream, &t->buffer, t->host, 64, 8, UINT64_MAX - 4))
L(buffer_read, ingot_buffer_read(t->stream, &t->buffer, 32, t->host, 64, 0, 64))
L(buffer_forged,
        ingot_buffer_read(t->stream, &(struct ingot_buffer){ t->buffer.pool, INGOT_F32, MUCH }, 0, t->host, 64, 0, 65))
L(launch_none,
        ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ 1, 0, 1 }, NULL,
                (struct ingot_buffer[]){ t->buffer, t->buffer }, 2, NULL))
L(launch_groups,
        ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ UINT32_MAX, UINT32_MAX, 1 }, NULL,
                (struct ingot_buffer[]){ t->buffer, t->buffer }, 2, NULL))
L(launch_all_groups,
        ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ UINT32_MAX, UINT32_MAX, UINT32_MAX }, NULL,
                (struct ingot_buffer[]){ t->buffer, t->buffer }, 2, NULL))
L(launch_threads,
        ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ 1, 1, 1 }, (uint32_t[]){ 4096, 4096, 4096 },
                (struct ingot_buffer[]){ t->buffer, t->buffer }, 2, NULL))
L(launch_count,
        ingot_kernel_launch(
                t->stream, t->kernel, (uint32_t[]){ 1, 1, 1 }, NULL, (struct ingot_buffer[9]){ { 0 } }, 9, NULL))
L(launch_forged,
        ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ 1, 1, 1 }, NULL,
                (struct ingot_buffer[]){ { t->buffer.pool, INGOT_F32, MUCH }, t->buffer }, 2, NULL))
L(launch_type,
        ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ 1, 1, 1 }, NULL,
                (struct ingot_buffer[]){ { t->buffer.pool, INGOT_I32, 64 }, t->buffer }, 2, NULL))
L(launch_no_code, ({
	static const struct ingot_module_kernel empty = { .name = "empty" };
	struct ingot_event done;
	enum ingot_status status =
	        ingot_kernel_launch(t->stream, &empty, (uint32_t[]){ 1, 1, 1 }, NULL, NULL, 0, &done);
	status ? status : ingot_event_sync(done);
}))
L(device_ordinal, ingot_device_get(t->runtime, t->device_name, INT32_MAX, &t->device))
L(device_negative, ingot_device_get(t->runtime, t->device_name, -1, &t->device))
L(device_unknown, ingot_device_get(t->runtime, "abacus", 0, &t->device))
L(backend_unknown, ingot_backend_init(t->runtime, "abacus", NULL))
L(node_rank,
        ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 17, .dims = (int64_t[17]){ 0 } }, &t->node))
L(node_dims,
        ingot_node_new(t->runtime,
                &(struct ingot_node_options){ .rank = 3, .dims = (int64_t[]){ INT64_MAX, INT64_MAX, 3 } }, &t->node))
L(node_negative,
        ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = (int64_t[]){ -1 } }, &t->node))
L(node_margins,
        ingot_node_new(t->runtime,
                &(struct ingot_node_options){ .rank = 1,
                        .dims = (int64_t[]){ 4 },
                        .left = (int64_t[]){ INT64_MAX },
                        .right = (int64_t[]){ INT64_MAX } },
                &t->node))
L(node_host, ({
	struct ingot_node node;
	MUST(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .dtype = INGOT_F64, .rank = 1, .dims = (int64_t[]){ INT64_C(1) << 55 } },
	        &node));
	ingot_node_host_create(node);
}))
L(node_place, ({
	struct ingot_node node;
	MUST(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .dtype = INGOT_F64, .rank = 1, .dims = (int64_t[]){ INT64_C(1) << 55 } },
	        &node));
	ingot_context_place(t->context, &node, 1);
}))
L(node_wrap,
        ingot_node_wrap(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = (int64_t[]){ 17 } }, t->host, 64,
                &t->node))
L(node_reshape,
        ingot_node_reshape(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = (int64_t[]){ 17 } }, t->host,
                16, &t->node))
L(node_slice, ingot_node_slice(t->node, 8, 9, &t->x))
L(node_slice_wraps, ingot_node_slice(t->node, 1, INT64_MAX, &t->x))
L(node_slice_negative, ingot_node_slice(t->node, -1, 3, &t->x))
L(node_index, ingot_node_get(t->node, (int64_t[]){ 16 }, 1, (double[]){ 0 }))
L(node_index_rank, ingot_node_set(t->node, (int64_t[]){ 0, 0 }, 2, 1))
L(node_count, ingot_node_set_all(t->node, (double[17]){ 0 }, 17))
L(node_axis, ingot_node_points_1d(t->node, 7, 0, (double[1]){ 0 }, 1, (uint64_t[]){ 0 }))
L(node_find, ingot_node_find(t->runtime, UINT32_MAX, &t->node))
L(write, ingot_write(t->context, t->node, t->host, 68, NULL))
L(read, ingot_read(t->context, t->node, t->host, 0, NULL))
L(read_missing, ingot_read(t->context, t->y, t->host, 64, NULL))
L(read_unwritten, ({
	struct ingot_context fresh;
	MUST(ingot_context_new(t->stream, &fresh));
	MUST(ingot_context_place(fresh, &t->node, 1));
	ingot_device_to_device(t->node, t->context, INGOT_MERGE_NONE, fresh, NULL, NULL);
}))
L(adopt, ingot_context_adopt(t->linked, t->s, t->host, 1 << 20))
L(adopt_view, ({
	struct ingot_node part;
	MUST(ingot_node_slice(t->node, 0, 4, &part));
	ingot_context_adopt(t->linked, part, t->host, 16);
}))
L(place_virtual, ({
	struct ingot_node node;
	MUST(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .mode = INGOT_VIRTUAL, .provenance = INGOT_BY_QUERY }, &node));
	ingot_context_place(t->context, &node, 1);
}))
L(adopt_virtual, ({
	struct ingot_node node;
	MUST(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .dtype = INGOT_F32, .mode = INGOT_VIRTUAL, .provenance = INGOT_BY_QUERY },
	        &node));
	ingot_context_adopt(t->context, node, t->host, 4);
}))
L(symbol, ingot_routine_set(t->dense, "n", 17))
L(symbol_unknown, ingot_routine_set(t->dense, "m", 1))
L(extents, ingot_routine_extents(t->dense, (int64_t[9]){ 0 }, 9))
L(routine_unknown, ingot_link(t->context, t->library, "nothing", &t->dense))
L(trace, ingot_trace_begin(t->runtime, UINT32_MAX))
L(trace_none, ingot_trace_begin(t->runtime, 0))
L(threads, ingot_threads_open(&(struct ingot_threads *){ 0 }, 100000))
L(threads_negative, ingot_threads_open(&(struct ingot_threads *){ 0 }, -1))
L(run_unset, ({
	MUST(ingot_link(t->context, t->library, "dense", &t->twice));
	ingot_routine_run(t->twice, NULL);
}))
L(run_unwritten, ({
	struct ingot_context fresh;
	MUST(ingot_context_new(t->other, &fresh));
	MUST(ingot_link(fresh, t->library, "dense", &t->twice));
	MUST(ingot_routine_set(t->twice, "n", 1));
	ingot_routine_run(t->twice, NULL);
}))
L(run_merge_empty, ({
	MUST(ingot_link(t->context, t->library, "merge", &t->twice));
	ingot_routine_run(t->twice, NULL);
}))
L(options_dtype,
        ingot_runtime_open(&(struct ingot_runtime *){ 0 }, &(struct ingot_runtime_options){ .default_dtype = 99 }))
L(options_style, ingot_runtime_open(&(struct ingot_runtime *){ 0 }, &(struct ingot_runtime_options){ .name_style = 9 }))
#undef L

/* Many events that nobody closed: closing them takes as long as it takes to count them. */
static enum ingot_status large_events(struct scene *t)
{
	int count = getenv("MISUSE_SECONDS") ? 20000 : t->host_memory ? 300000 : 40000;
	for (int i = 0; i < count; i++) {
		struct ingot_event event;
		DO_OK(ingot_event_record(t->stream, &event));
	}
	enum ingot_status status = ingot_runtime_close(t->runtime);
	t->runtime = NULL;
	return status;
}

/* ---- descriptors: the small module with one thing wrong ---- */

struct copy {
	struct ingot_module module;
	struct ingot_module_node nodes[8];
	struct ingot_module_symbol symbols[2];
	struct ingot_module_kernel kernels[5];
	struct ingot_module_routine routines[6];
	struct ingot_module_argument arguments[8];
	struct ingot_module_step steps[6];
	struct ingot_module_dim dims[2];
};

static struct copy *copy_of(struct scene *t)
{
	struct copy *copy = t->scratch = calloc(1, sizeof *copy);
	copy->module = small_module;
	memcpy(copy->nodes, small_module.nodes, sizeof copy->nodes);
	memcpy(copy->symbols, small_module.symbols, sizeof copy->symbols);
	memcpy(copy->kernels, small_module.kernels, sizeof copy->kernels);
	memcpy(copy->routines, small_module.routines, sizeof copy->routines);
	memcpy(copy->arguments, small_module.routines[3].arguments, sizeof copy->arguments);
	memcpy(copy->steps, small_module.routines[3].steps, sizeof copy->steps);
	copy->module.nodes = copy->nodes;
	copy->module.symbols = copy->symbols;
	copy->module.kernels = copy->kernels;
	copy->module.routines = copy->routines;
	copy->routines[3].arguments = copy->arguments;
	copy->routines[3].steps = copy->steps;
	copy->dims[0] = copy->dims[1] = (struct ingot_module_dim){ 16, -1 };
	return copy;
}

#define D(name, ...) \
	static enum ingot_status descriptor_##name(struct scene *t) \
	{ \
		struct copy *c = copy_of(t); \
		__VA_ARGS__; \
		return ingot_library_load(t->runtime, &c->module, NULL, &t->library); \
	}
D(right, (void)0)
D(abi, c->module.abi = 99)
D(no_name, c->module.name = NULL)
D(no_nodes, c->module.nodes = NULL)
D(no_symbols, c->module.symbols = NULL)
D(no_kernels, c->module.kernels = NULL)
D(no_routines, c->module.routines = NULL)
D(no_hosts, c->module.hosts = NULL)
D(host_null, static int (*const none[1])(const struct ingot_call *); c->module.hosts = none)
D(constants_align, c->module.constants.align = 3)
D(constants_missing, c->module.constants.data = NULL)
D(node_no_name, c->nodes[1].name = NULL)
D(node_no_dims, c->nodes[1].dims = NULL)
D(node_rank, c->nodes[1].rank = 200)
D(node_dtype, c->nodes[1].dtype = 55)
D(node_align, c->nodes[1].align = 48)
D(node_negative, c->dims[0].extent = -4; c->nodes[0].dims = c->dims)
D(node_symbol, c->dims[0].symbol = 2; c->nodes[0].dims = c->dims)
D(node_bytes, c->nodes[0].bytes = 60)
D(node_no_bytes, c->nodes[3].bytes = 0)
D(node_dims_overflow, c->dims[0].extent = c->dims[1].extent = INT64_MAX; c->nodes[0].dims = c->dims;
        c->nodes[0].rank = 2)
D(node_twice, c->nodes[4].name = "x")
D(view_of_later, c->nodes[0].view_of = 3)
D(view_past_end, c->nodes[7].offset = 56)
D(view_no_bytes, c->nodes[7].bytes = 0)
D(view_wraps, c->nodes[7].offset = UINT64_MAX - 3)
D(constant_past_end, c->nodes[1].offset = 4)
D(symbol_no_name, c->symbols[0].name = NULL)
D(symbol_range, c->symbols[0].least = 20)
D(symbol_twice, c->symbols[1].name = "n")
D(kernel_no_name, c->kernels[0].name = NULL)
D(kernel_twice, c->kernels[1].name = "multiply")
D(routine_no_name, c->routines[0].name = NULL)
D(routine_twice, c->routines[1].name = "dense")
D(routine_no_arguments, c->routines[0].arguments = NULL)
D(routine_no_inputs, c->routines[0].inputs = NULL)
D(routine_no_outputs, c->routines[0].outputs = NULL)
D(routine_no_symbols, c->routines[0].symbols = NULL)
D(routine_input, static const uint32_t bad[] = { 0, 88 }; c->routines[0].inputs = bad)
D(routine_output, static const uint32_t bad[] = { 8, 0 }; c->routines[0].outputs = bad)
D(routine_symbol, static const uint32_t bad[] = { 0, 2 }; c->routines[0].symbols = bad)
D(routine_merge, c->routines[0].merge_input = 8)
D(routine_merge_argument, c->routines[2].merge_input = -1)
D(routine_nothing, c->routines[0].run = NULL)
D(routine_workspace_align, c->routines[0].workspace_align = 100)
D(routine_extents, c->routines[0].extent_count = UINT32_MAX)
D(routine_workspaces, c->routines[0].more_workspace_count = 3)
D(argument_source, c->arguments[0].source = 77)
D(argument_node, c->arguments[0].index = 8)
D(argument_workspace, c->arguments[4].offset = 4096)
D(argument_workspace_index, c->arguments[4].index = 1)
D(argument_constants, c->arguments[0].source = INGOT_FROM_CONSTANTS; c->arguments[0].offset = 4096)
D(step_kind, c->steps[0].kind = 9)
D(step_lane, c->steps[0].lane = 3)
D(step_lanes, c->routines[3].lane_count = 1000)
D(step_kernel, c->steps[1].kernel = 5)
D(step_arguments, c->steps[1].argument_count = 2)
D(step_first, c->steps[1].first_argument = UINT32_MAX)
D(step_host, c->steps[5].kernel = 1)
D(step_copy, c->steps[3].argument_count = 1)
D(step_after, static const uint32_t later[] = { 5 }; c->steps[2].after = later)
D(step_no_after, c->steps[2].after = NULL)

/* Statically allowed, refused when it runs. */
static enum ingot_status descriptor_run(struct scene *t, struct copy *c)
{
	struct ingot_library library;
	struct ingot_event done;
	MUST(ingot_library_load(
	        t->runtime, &c->module, &(struct ingot_library_options){ .with = t->library }, &library));
	MUST(ingot_link(t->linked, library, "steps", &t->twice));
	DO_OK(ingot_routine_run(t->twice, &done));
	return ingot_event_sync(done);
}
static enum ingot_status descriptor_step_bytes(struct scene *t)
{
	struct copy *c = copy_of(t);
	c->steps[3].bytes = 1 << 20;
	return descriptor_run(t, c);
}
static enum ingot_status descriptor_step_groups(struct scene *t)
{
	struct copy *c = copy_of(t);
	c->steps[1].groups[1] = 0;
	return descriptor_run(t, c);
}
static enum ingot_status descriptor_step_most_groups(struct scene *t)
{
	struct copy *c = copy_of(t);
	c->steps[1].groups[0] = c->steps[1].groups[1] = UINT32_MAX;
	return descriptor_run(t, c);
}

static enum ingot_status descriptor_constants_bytes(struct scene *t)
{
	struct copy *c = copy_of(t);
	c->module.constants.data = NULL;
	return ingot_library_load(t->runtime, &c->module,
	        &(struct ingot_library_options){ .constants = small_weights, .constants_bytes = 8 }, &t->library);
}
static enum ingot_status descriptor_node_differs(struct scene *t)
{
	struct copy *c = copy_of(t);
	c->nodes[0].dtype = INGOT_I32;
	return ingot_library_load(
	        t->runtime, &c->module, &(struct ingot_library_options){ .with = t->library }, &t->library);
}

#define R(group, name, status) \
	{ \
#group, #name, status, status, group##_##name, NULL \
	}
#define I(name) R(descriptor, name, INGOT_INVALID)
const struct way ways_large[] = { R(large, pool_open, INGOT_MEMORY), R(large, pool_open_half, INGOT_MEMORY),
	R(large, pool_replace, INGOT_MEMORY), R(large, pool_zero, INGOT_INVALID), R(large, pool_adopt, INGOT_INVALID),
	R(large, pool_fill, INGOT_RANGE), R(large, pool_fill_offset, INGOT_RANGE), R(large, pool_write, INGOT_RANGE),
	R(large, pool_read, INGOT_RANGE), R(large, pool_unknown, INGOT_MISSING), R(large, pool_merge, INGOT_MISSING),
	R(large, buffer_open, INGOT_RANGE), R(large, buffer_write, INGOT_RANGE),
	R(large, buffer_write_wraps, INGOT_RANGE), R(large, buffer_read, INGOT_RANGE),
	R(large, buffer_forged, INGOT_RANGE), R(large, launch_none, INGOT_RANGE), R(large, launch_groups, INGOT_RANGE),
	R(large, launch_all_groups, INGOT_RANGE), R(large, launch_threads, INGOT_RANGE),
	R(large, launch_count, INGOT_MISMATCH), R(large, launch_forged, INGOT_RANGE),
	R(large, launch_type, INGOT_MISMATCH), R(large, launch_no_code, INGOT_UNSUPPORTED),
	R(large, device_ordinal, INGOT_RANGE), R(large, device_negative, INGOT_RANGE),
	R(large, device_unknown, INGOT_UNREADY), R(large, backend_unknown, INGOT_MISSING),
	R(large, node_rank, INGOT_RANGE), R(large, node_dims, INGOT_RANGE), R(large, node_negative, INGOT_RANGE),
	R(large, node_margins, INGOT_RANGE), R(large, node_host, INGOT_MEMORY), R(large, node_place, INGOT_RANGE),
	R(large, node_wrap, INGOT_MISMATCH), R(large, node_reshape, INGOT_MISMATCH), R(large, node_slice, INGOT_RANGE),
	R(large, node_slice_wraps, INGOT_RANGE), R(large, node_slice_negative, INGOT_RANGE),
	R(large, node_index, INGOT_RANGE), R(large, node_index_rank, INGOT_RANGE), R(large, node_count, INGOT_MISMATCH),
	R(large, node_axis, INGOT_RANGE), R(large, node_find, INGOT_MISSING), R(large, write, INGOT_MISMATCH),
	R(large, read, INGOT_MISMATCH), R(large, read_missing, INGOT_MISSING), R(large, read_unwritten, INGOT_UNREADY),
	{ "large", "adopt", INGOT_PRESENT, INGOT_PRESENT, large_adopt, NULL }, R(large, adopt_view, INGOT_INVALID),
	R(large, place_virtual, INGOT_CONFLICT), R(large, adopt_virtual, INGOT_CONFLICT), R(large, symbol, INGOT_RANGE),
	R(large, symbol_unknown, INGOT_MISSING), R(large, extents, INGOT_MISMATCH),
	R(large, routine_unknown, INGOT_MISSING), R(large, trace, INGOT_MEMORY), R(large, trace_none, INGOT_INVALID),
	R(large, threads, INGOT_RANGE), R(large, threads_negative, INGOT_RANGE), R(large, run_unset, INGOT_RANGE),
	R(large, run_unwritten, INGOT_UNREADY), R(large, run_merge_empty, INGOT_MISMATCH),
	R(large, options_dtype, INGOT_INVALID), R(large, options_style, INGOT_INVALID),
	R(large, events, INGOT_LEFT_OPEN), R(descriptor, right, INGOT_OK), I(abi), I(no_name), I(no_nodes),
	I(no_symbols), I(no_kernels), I(no_routines), I(no_hosts), I(host_null), I(constants_align),
	R(descriptor, constants_missing, INGOT_MISSING), I(node_no_name), I(node_no_dims), I(node_rank), I(node_dtype),
	I(node_align), I(node_negative), I(node_symbol), I(node_bytes), I(node_no_bytes), I(node_dims_overflow),
	I(node_twice), I(view_of_later), I(view_past_end), I(view_no_bytes), I(view_wraps), I(constant_past_end),
	I(symbol_no_name), I(symbol_range), I(symbol_twice), I(kernel_no_name), I(kernel_twice), I(routine_no_name),
	I(routine_twice), I(routine_no_arguments), I(routine_no_inputs), I(routine_no_outputs), I(routine_no_symbols),
	I(routine_input), I(routine_output), I(routine_symbol), I(routine_merge), I(routine_merge_argument),
	I(routine_nothing), I(routine_workspace_align), I(routine_extents), I(routine_workspaces), I(argument_source),
	I(argument_node), I(argument_workspace), I(argument_workspace_index), I(argument_constants), I(step_kind),
	I(step_lane), I(step_lanes), I(step_kernel), I(step_arguments), I(step_first), I(step_host), I(step_copy),
	I(step_after), I(step_no_after), R(descriptor, step_bytes, INGOT_RANGE),
	R(descriptor, step_groups, INGOT_RANGE), R(descriptor, step_most_groups, INGOT_RANGE),
	R(descriptor, constants_bytes, INGOT_MISMATCH), R(descriptor, node_differs, INGOT_MISMATCH), { 0 } };
