/* null.c: what is left out. */
#include "misuse.h"

#define N(name, expression) WAY(null, name, expression)
N(runtime_open, ingot_runtime_open(NULL, NULL))
N(runtime_close, ingot_runtime_close(NULL))
N(runtime_live, THAT(ingot_runtime_live(NULL) == 0))
N(backend_init, ingot_backend_init(NULL, "sync", NULL))
N(backend_init_name, ingot_backend_init(t->runtime, NULL, NULL))
N(backend_ready, THAT(!ingot_backend_ready(NULL, "sync") && !ingot_backend_ready(t->runtime, NULL)))
N(backend_devices, ingot_backend_devices(t->runtime, t->device_name, NULL))
N(device_get, ingot_device_get(NULL, "sync", 0, &t->device))
N(device_get_name, ingot_device_get(t->runtime, NULL, 0, &t->device))
N(device_get_out, ingot_device_get(t->runtime, t->device_name, 0, NULL))
N(device_another, ingot_device_another(t->runtime, t->device_name, 0, NULL))
N(device_default, ingot_device_default(t->runtime, NULL))
N(device_properties, ingot_device_properties(t->device, NULL))
N(device_used, ingot_device_used(t->device, NULL))
N(device_suggested, ingot_device_suggested_streams(t->device, NULL))
N(device_name, THAT(ingot_device_name(t->device, NULL, 0) && ingot_device_name(t->device, NULL, 100)))
N(stream_open, ingot_stream_open(t->device, NULL))
N(stream_default, ingot_stream_default(t->device, NULL))
N(stream_idle, ingot_stream_idle(t->stream, NULL))
N(stream_device, ingot_stream_device(t->stream, NULL))
N(stream_name, THAT(ingot_stream_name(t->stream, NULL, 50)))
N(task, ingot_task_submit(t->stream, NULL, NULL))
N(task_waits, ingot_task_submit(t->stream, &(struct ingot_task){ .wait_count = 3 }, NULL))
N(task_empty, ingot_task_submit(t->stream, &(struct ingot_task){ 0 }, NULL))
N(event_record, ingot_event_record(t->stream, NULL))
N(event_open, ingot_event_open(t->runtime, NULL))
N(event_open_runtime, ingot_event_open(NULL, &t->event))
N(event_done, ingot_event_done(t->event, NULL))
N(pool_open, ingot_pool_open(t->device, 16, 0, INGOT_SLAB_PRIVATE, NULL))
N(pool_adopt, ingot_pool_adopt(t->device, NULL, 16, &t->pool))
N(pool_adopt_id, ingot_pool_adopt(t->device, t->host, 64, NULL))
N(pool_bytes, ingot_pool_bytes(t->device, t->pool, NULL))
N(pool_ensure, ingot_pool_ensure(t->device, 16, 0, NULL))
N(pool_write, ingot_pool_write(t->stream, t->pool, 0, NULL, 16, NULL))
N(pool_read, ingot_pool_read(t->stream, t->pool, 0, NULL, 16, NULL))
N(buffer_open, ingot_buffer_open(t->device, INGOT_F32, 16, NULL))
N(buffer_close, ingot_buffer_close(t->device, NULL))
N(buffer_write, ingot_buffer_write(t->stream, NULL, t->host, 64, 0, 64))
N(buffer_write_host, ingot_buffer_write(t->stream, &t->buffer, NULL, 64, 0, 64))
N(buffer_read, ingot_buffer_read(t->stream, &t->buffer, 0, NULL, 64, 0, 64))
N(buffer_text, THAT(ingot_buffer_text(NULL, NULL, 0) == 0 && ingot_buffer_text(&t->buffer, NULL, 9)))
N(launch, ingot_kernel_launch(t->stream, NULL, (uint32_t[]){ 1, 1, 1 }, NULL, &t->buffer, 1, NULL))
N(launch_groups, ingot_kernel_launch(t->stream, t->kernel, NULL, NULL, &t->buffer, 1, NULL))
N(launch_arguments, ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ 1, 1, 1 }, NULL, NULL, 2, NULL))
N(node_new, ingot_node_new(t->runtime, NULL, &t->node))
N(node_new_dims, ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 2 }, &t->node))
N(node_new_labels, ingot_node_new(t->runtime, &(struct ingot_node_options){ .label_count = 2 }, &t->node))
N(node_new_out, ingot_node_new(t->runtime, &(struct ingot_node_options){ 0 }, NULL))
N(node_wrap, ingot_node_wrap(t->runtime, &(struct ingot_node_options){ 0 }, NULL, 4, &t->node))
N(node_reshape, ingot_node_reshape(t->runtime, &(struct ingot_node_options){ 0 }, NULL, 1, &t->node))
N(node_slice, ingot_node_slice(t->node, 0, 1, NULL))
N(node_find, ingot_node_find(t->runtime, 0, NULL))
N(node_list,
        THAT(ingot_node_list(t->runtime, NULL, NULL, NULL, 4) == 0 && ingot_node_list(NULL, NULL, NULL, NULL, 0) == 0))
N(node_label,
        THAT(ingot_node_label(t->node, NULL, 30) && ingot_node_code_name(t->node, NULL, 30)
                && ingot_node_header(t->node, true, NULL, 30)))
N(node_headers, THAT(ingot_node_headers(NULL, NULL, NULL, INGOT_LOG_DEBUG, NULL, 0) == 0))
N(node_code_name, ingot_node_code_name_update(t->node, NULL))
N(node_note, ingot_node_note(t->node, NULL))
N(node_dtype, ingot_node_dtype(t->node, NULL))
N(node_count, ingot_node_count(t->node, NULL))
N(node_bytes, ingot_node_bytes(t->node, NULL))
N(node_host, ingot_node_host(t->node, NULL, NULL))
N(node_get, ingot_node_get(t->node, NULL, 1, (double[]){ 0 }))
N(node_get_value, ingot_node_get(t->node, (int64_t[]){ 0 }, 1, NULL))
N(node_set, ingot_node_set(t->node, NULL, 1, 1))
N(node_get_all, ingot_node_get_all(t->node, NULL, 16))
N(node_set_all, ingot_node_set_all(t->node, NULL, 16))
N(node_points, ingot_node_points_1d(t->node, 0, 0, NULL, 4, (uint64_t[]){ 0 }))
N(node_points_count, ingot_node_points_2d(t->node, 0, 0, 1, (double[1]){ 0 }, (double[1]){ 0 }, 1, NULL))
N(node_points_ys, ingot_node_points_2d(t->node, 0, 0, 1, (double[1]){ 0 }, NULL, 1, (uint64_t[]){ 0 }))
N(context_new, ingot_context_new(t->stream, NULL))
N(context_child, ingot_context_child(t->context, (struct ingot_stream){ 0 }, NULL))
N(context_child_merging, ingot_context_child_merging(t->context, (struct ingot_stream){ 0 }, t->node, NULL))
N(context_parent, ingot_context_parent(t->linked, NULL))
N(context_stream, ingot_context_stream(t->context, NULL))
N(context_place, ingot_context_place(t->context, NULL, 2))
N(context_adopt, ingot_context_adopt(t->context, t->node, NULL, 64))
N(context_location, ingot_context_location(t->context, t->node, NULL))
N(context_address, ingot_context_address(t->context, t->node, NULL))
N(context_merge_node, ingot_context_merge_node(t->context, NULL))
N(context_json, THAT(ingot_context_json(t->context, NULL, 100)))
N(write, ingot_write(t->context, t->node, NULL, 64, NULL))
N(read, ingot_read(t->context, t->node, NULL, 64, NULL))
N(init_from_host, ingot_init_from_host(t->context, t->y, NULL, 64, &t->linked))
N(init_from_host_out, ingot_init_from_host(t->context, t->y, t->host, 64, NULL))
N(init_from_device, ingot_init_from_device(t->context, t->y, t->linked, NULL))
N(transfer_routine, ingot_transfer_routine(t->node, t->linked, INGOT_MERGE_COPY, t->context, NULL))
N(merge_buffer, ingot_merge_buffer(t->stream, NULL, NULL))
N(updating, ingot_updating(t->context, t->node, NULL))
N(owner, ingot_owner_stream(t->device, t->node, NULL))
N(candidate, ingot_sharing_candidate(t->device, t->node, NULL))
N(writer_streams, ingot_writer_streams(t->context, t->node, NULL, 3, (uint32_t[]){ 0 }))
N(reader_streams, ingot_reader_streams(t->context, t->node, NULL, 0, NULL))
N(host_reading, ingot_host_reading_streams(t->node, NULL, 2, NULL))
N(hazard_entries, ingot_hazard_entries(t->device, NULL))
N(library_load, ingot_library_load(t->runtime, NULL, NULL, &t->library))
N(library_load_out, ingot_library_load(t->runtime, &small_module, NULL, NULL))
N(library_node, ingot_library_node(t->library, NULL, &t->node))
N(library_kernel, ingot_library_kernel(t->library, "double", NULL))
N(library_json, THAT(ingot_library_json(t->library, NULL, 7)))
N(link, ingot_link(t->context, t->library, NULL, &t->dense))
N(link_out, ingot_link(t->context, t->library, "dense", NULL))
N(link_all, ingot_link_all(t->context, t->library, NULL, NULL, NULL, &t->linked))
N(link_all_last, ingot_link_all(t->context, t->library, NULL, NULL, (struct ingot_routine[8]){ { 0 } }, NULL))
N(routine_context, ingot_routine_context(t->dense, NULL))
N(routine_set, ingot_routine_set(t->dense, NULL, 1))
N(routine_symbol, ingot_routine_symbol(t->dense, "n", NULL))
N(routine_log, ingot_routine_log(t->dense, NULL))
N(routine_can_run, ingot_routine_can_run(t->dense, NULL))
N(routine_extents, ingot_routine_extents(t->dense, NULL, 1))
N(routine_event, ingot_routine_event(t->dense, NULL))
N(routine_json, THAT(ingot_routine_json(t->dense, NULL, 7)))
N(trace, ingot_trace_begin(NULL, 10))
N(trace_json, THAT(ingot_trace_json(NULL, NULL, 0) == 0 && (ingot_trace_end(NULL), true)))
N(dumps,
        THAT(ingot_runtime_json(NULL, NULL, 0) == 0 && ingot_runtime_json(t->runtime, NULL, 9)
                && ingot_device_json(t->device, NULL, 9)))
N(device_streams, ingot_device_streams(t->device, NULL, 3, (uint32_t[]){ 0 }))
N(node_shape, ingot_node_shape(t->node, NULL))
N(node_devices, ingot_node_devices(t->node, NULL, 0, NULL))
N(node_prepare, ingot_node_prepare_read(t->node, &(struct ingot_host_sync){ 0 }))
N(context_bind, ingot_context_bind(t->context, t->y, (struct ingot_location){ 0 }))
N(reader_events, ingot_reader_events(t->context, t->node, NULL, 3, (uint32_t[]){ 0 }))
N(threads_open, ingot_threads_open(NULL, 2))
N(threads, THAT((ingot_threads_close(NULL), ingot_threads_spin(NULL, 1), ingot_threads_parallel(NULL) == NULL)))
N(threads_pin, ingot_threads_pin(NULL))
N(parses,
        THAT(!ingot_dtype_parse(NULL, NULL) && !ingot_mode_parse(NULL, NULL, NULL) && !ingot_precision_parse(NULL, NULL)
                && !ingot_name_style_parse(NULL, NULL) && !ingot_name_is_keyword(NULL)))
N(enum_mode, ingot_node_mode_update(t->node, (enum ingot_mode)4096, INGOT_BY_QUERY))
N(enum_sharing, ingot_node_sharing_update(t->node, (enum ingot_sharing)9, INGOT_BY_QUERY))
N(enum_precision, ingot_node_dtype_update(t->node, (enum ingot_precision)7, INGOT_F32, NULL))
N(enum_dtype, ingot_node_dtype_update(t->node, INGOT_PRECISION_SPECIFIED, (enum ingot_dtype)77, NULL))
N(enum_slab, ingot_pool_open(t->device, 16, 0, (enum ingot_slab_mode)17, &t->pool))
N(enum_merge, ingot_device_to_device(t->node, t->linked, (enum ingot_merge)5, t->context, NULL, NULL))
N(enum_parallelism,
        ingot_backend_init(
                t->runtime, "sync", &(struct ingot_backend_options){ .parallelism = (enum ingot_parallelism)8 }))
N(buffer_dtype, ingot_buffer_open(t->device, INGOT_STRING, 16, &t->buffer))
#undef N

#define I(name) \
	{ \
		"null", #name, INGOT_INVALID, INGOT_INVALID, null_##name, NULL \
	}
#define O(name) \
	{ \
		"null", #name, INGOT_OK, INGOT_OK, null_##name, NULL \
	}
const struct way ways_null[] = { I(runtime_open), O(runtime_close), O(runtime_live), I(backend_init),
	I(backend_init_name), O(backend_ready), I(backend_devices), I(device_get), I(device_get_name),
	I(device_get_out), I(device_another), I(device_default), I(device_properties), I(device_used),
	I(device_suggested), O(device_name), I(stream_open), I(stream_default), I(stream_idle), I(stream_device),
	O(stream_name), I(task), I(task_waits), O(task_empty), I(event_record), I(event_open), I(event_open_runtime),
	I(event_done), I(pool_open), I(pool_adopt), I(pool_adopt_id), I(pool_bytes), I(pool_ensure), I(pool_write),
	I(pool_read), I(buffer_open), I(buffer_close), I(buffer_write), I(buffer_write_host), I(buffer_read),
	O(buffer_text), I(launch), I(launch_groups), I(launch_arguments), I(node_new), I(node_new_dims),
	I(node_new_labels), I(node_new_out), I(node_wrap), I(node_reshape), I(node_slice), I(node_find), O(node_list),
	O(node_label), O(node_headers), I(node_code_name), I(node_note), I(node_dtype), I(node_count), I(node_bytes),
	I(node_host), I(node_get), I(node_get_value), I(node_set), I(node_get_all), I(node_set_all), I(node_points),
	I(node_points_count), I(node_points_ys), I(context_new), I(context_child), I(context_child_merging),
	I(context_parent), I(context_stream), I(context_place), I(context_adopt), I(context_location),
	I(context_address), I(context_merge_node), O(context_json), I(write), I(read), I(init_from_host),
	I(init_from_host_out), I(init_from_device), I(transfer_routine), I(merge_buffer), I(updating), I(owner),
	I(candidate), I(writer_streams), I(reader_streams), I(host_reading), I(hazard_entries), I(library_load),
	I(library_load_out), I(library_node), I(library_kernel), O(library_json), I(link), I(link_out), I(link_all),
	I(link_all_last), I(routine_context), I(routine_set), I(routine_symbol), O(routine_log), I(routine_can_run),
	I(routine_extents), I(routine_event), O(routine_json), I(trace), O(trace_json), O(dumps), I(threads_open),
	O(threads), I(threads_pin), O(parses), I(enum_mode), I(enum_sharing), I(enum_precision), I(enum_dtype),
	I(enum_slab), I(enum_merge), I(enum_parallelism), I(buffer_dtype), I(device_streams), I(node_shape),
	I(node_devices), I(node_prepare), I(reader_events),
	{ "null", "context_bind", INGOT_MISSING, INGOT_MISSING, null_context_bind, NULL }, { 0 } };
