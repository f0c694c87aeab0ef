/* dump.c: runtimes, devices, contexts, libraries and routines as JSON; the trace as Chrome's. */
#include "common/alone.h"
#if INGOT_THREADS
#include <inttypes.h>
#include "inside.h"

size_t ingot_runtime_json(struct ingot_runtime *runtime, char *text, size_t room)
{
	struct sink sink = { text, room, 0 };
	if (!runtime_lives(runtime))
		return 0;
	enter(runtime);
	sink_printf(&sink, "{\"backends\":[");
	for (const struct backend *backend = runtime->backends; backend; backend = backend->next) {
		sink_printf(&sink, "%s{\"name\":", backend == runtime->backends ? "" : ",");
		sink_string(&sink, backend->table->name);
		sink_printf(&sink, ",\"devices\":%d,\"used\":[", backend->devices);
		for (int i = 0; i < backend->devices; i++)
			sink_printf(&sink, "%s%" PRIu64, i ? "," : "", backend->used[i]);
		sink_printf(&sink, "]}");
	}
	sink_printf(&sink,
	        "],\"open\":{\"devices\":%u,\"streams\":%u,\"events\":%u,\"contexts\":%u,\"nodes\":%u,"
	        "\"libraries\":%u,\"routines\":%u}",
	        runtime->open[KIND_DEVICE], runtime->open[KIND_STREAM], runtime->open[KIND_EVENT],
	        runtime->open[KIND_CONTEXT], runtime->open[KIND_NODE], runtime->open[KIND_LIBRARY],
	        runtime->open[KIND_ROUTINE]);
	sink_printf(&sink, ",\"hazards\":%" PRIu64 ",\"blocks\":%" PRIu64 "}", runtime->hazards,
	        atomic_load(&runtime->live));
	leave(runtime);
	return sink_end(&sink);
}

static void properties_print(struct sink *sink, const struct ingot_properties *p)
{
	sink_printf(sink, "{\"backend\":");
	sink_string(sink, p->backend);
	sink_printf(sink,
	        ",\"ordinal\":%d,\"id\":%u,\"host_memory\":%s,\"slab_align\":%u,\"compute_units\":%u,\"copy_"
	        "engines\":%u,"
	        "\"shared_bytes\":%" PRIu64 ",\"group_threads\":%u,\"group_size\":[%u,%u,%u],\"memory_bytes\":%" PRIu64
	        "}",
	        p->ordinal, p->id, p->host_memory ? "true" : "false", p->slab_align, p->compute_units, p->copy_engines,
	        p->shared_bytes, p->group_threads, p->group_size[0], p->group_size[1], p->group_size[2],
	        p->memory_bytes);
}

size_t ingot_properties_json(struct ingot_device handle, char *text, size_t room)
{
	struct device *device = ENTER(device, handle);
	struct sink sink = { text, room, 0 };
	if (!device)
		return 0;
	properties_print(&sink, &device->properties);
	leave(handle.runtime);
	return sink_end(&sink);
}

static void streams_print(struct sink *sink, const struct device *device)
{
	bool first = true;
	for (uint32_t i = 0; i < device->stream_count; i++) {
		const struct stream *stream = device->streams[i];
		if (!stream)
			continue;
		const struct content *content = stream->merge.held.content;
		sink_printf(sink,
		        "%s{\"number\":%u,\"queued\":%u,\"contexts\":%u,\"merge_bytes\":%" PRIu64 ",\"failure\":",
		        first ? "" : ",", stream->number, stream->count, stream->contexts,
		        content && content->storage ? content->storage->bytes : 0);
		if (stream->failure)
			sink_string(sink, stream->failure->text);
		else
			sink_printf(sink, "null");
		sink_printf(sink, "}");
		first = false;
	}
}

static uint64_t unfinished_events(const struct device *device)
{
	uint64_t unfinished = 0;
	for (uint32_t i = 0; i < device->stream_count; i++)
		for (const struct ingot_command *command = device->streams[i] ? device->streams[i]->head : NULL;
		        command; command = command->next)
			unfinished += command->events;
	return unfinished;
}

size_t ingot_device_json(struct ingot_device handle, char *text, size_t room)
{
	struct device *device = ENTER(device, handle);
	struct sink sink = { text, room, 0 };
	if (!device)
		return 0;
	sink_printf(&sink, "{\"properties\":");
	properties_print(&sink, &device->properties);
	sink_printf(&sink,
	        ",\"used\":%" PRIu64 ",\"events\":{\"total\":%" PRIu64 ",\"unreleased\":%" PRIu64
	        ",\"unfinished\":%" PRIu64 "},\"streams\":[",
	        device->backend->used[device->properties.ordinal], device->events_made, device->events,
	        unfinished_events(device));
	streams_print(&sink, device);
	sink_printf(&sink, "],\"pools\":[");
	for (uint32_t i = 0; i < device->pool_count; i++)
		sink_printf(&sink, "%s{\"pool\":%u,\"bytes\":%" PRIu64 ",\"adopted\":%s}", i ? "," : "",
		        device->pools[i].id, device->pools[i].slab->bytes,
		        device->pools[i].slab->adopted ? "true" : "false");
	sink_printf(&sink, "],\"candidates\":%u,\"shared\":%u,\"constants\":%u,\"locations\":%u}",
	        device->candidates.count, device->shared.count, device->constant_count, device->location_count);
	leave(handle.runtime);
	return sink_end(&sink);
}

size_t ingot_context_json(struct ingot_context handle, char *text, size_t room)
{
	struct context *context = ENTER(context, handle);
	struct sink sink = { text, room, 0 };
	char name[80];
	if (!context)
		return 0;
	sink_printf(&sink, "{\"stream\":");
	sink_string(&sink, context->stream->name);
	sink_printf(&sink, ",\"finalized\":%s,\"children\":%u,\"nodes\":[", context->finalized ? "true" : "false",
	        context->children);
	bool first = true;
	for (const struct context *one = context; one; one = one->parent)
		for (uint32_t i = 0; i < one->entries.count; i++) {
			const struct entry *entry = one->entries.at + i;
			node_debug_name(entry->node, name, sizeof name);
			sink_printf(&sink, "%s{\"node\":", first ? "" : ",");
			sink_string(&sink, name);
			sink_printf(&sink, ",\"pool\":%u,\"offset\":%" PRIu64 ",\"inherited\":%s}",
			        entry->location->pool, entry->location->offset + entry->offset,
			        one == context ? "false" : "true");
			first = false;
		}
	sink_printf(&sink, "]}");
	leave(handle.runtime);
	return sink_end(&sink);
}

static void names_print(struct sink *sink, const struct ingot_module *module, const uint32_t *at, uint32_t count)
{
	sink_printf(sink, "[");
	for (uint32_t i = 0; i < count; i++) {
		sink_printf(sink, i ? "," : "");
		sink_string(sink, module->nodes[at[i]].name);
	}
	sink_printf(sink, "]");
}

static void routine_print(
        struct sink *sink, const struct ingot_module *module, const struct ingot_module_routine *routine)
{
	sink_printf(sink, "{\"name\":");
	sink_string(sink, routine->name);
	sink_printf(sink, ",\"inputs\":");
	names_print(sink, module, routine->inputs, routine->input_count);
	sink_printf(sink, ",\"outputs\":");
	names_print(sink, module, routine->outputs, routine->output_count);
	sink_printf(sink, ",\"merge_input\":");
	if (routine->merge_input < 0)
		sink_printf(sink, "null");
	else
		sink_string(sink, module->nodes[routine->merge_input].name);
	sink_printf(sink, ",\"symbols\":[");
	for (uint32_t i = 0; i < routine->symbol_count; i++) {
		const struct ingot_module_symbol *symbol = module->symbols + routine->symbols[i];
		sink_printf(sink, "%s{\"name\":", i ? "," : "");
		sink_string(sink, symbol->name);
		sink_printf(sink, ",\"least\":%" PRId64 ",\"most\":%" PRId64 "}", symbol->least, symbol->most);
	}
	sink_printf(sink, "],\"workspace_bytes\":%" PRIu64 ",\"steps\":%u,\"lanes\":%u}", routine->workspace_bytes,
	        routine->step_count, routine->lane_count);
}

size_t ingot_library_json(struct ingot_library handle, char *text, size_t room)
{
	struct library *library = ENTER(library, handle);
	struct sink sink = { text, room, 0 };
	if (!library)
		return 0;
	const struct ingot_module *module = library->module;
	sink_printf(&sink, "{\"name\":");
	sink_string(&sink, module->name);
	sink_printf(&sink, ",\"constants\":%" PRIu64 ",\"nodes\":[", module->constants.bytes);
	for (uint32_t i = 0; i < module->node_count; i++) {
		sink_printf(&sink, "%s{\"name\":", i ? "," : "");
		sink_string(&sink, module->nodes[i].name);
		sink_printf(&sink, ",\"type\":\"%s\",\"bytes\":%" PRIu64 "}",
		        ingot_dtype_name((enum ingot_dtype)module->nodes[i].dtype), module->nodes[i].bytes);
	}
	sink_printf(&sink, "],\"routines\":[");
	for (uint32_t i = 0; i < module->routine_count; i++) {
		sink_printf(&sink, i ? "," : "");
		routine_print(&sink, module, module->routines + i);
	}
	sink_printf(&sink, "]}");
	leave(handle.runtime);
	return sink_end(&sink);
}

/* The routines whose outputs this one reads, overwrites, or whose inputs it overwrites. */
static void ledger_print(struct sink *sink, struct ingot_runtime *runtime, const struct routine *routine)
{
	static const char *const kinds[] = { "reads_after", "overwrites", "overwrites_after_read" };
	bool first = true;
	for (EACH(routine, other, runtime)) {
		if (other == routine || !other->library)
			continue;
		for (size_t kind = 0; kind < COUNT(kinds); kind++) {
			const struct ingot_module_routine *a = routine->descriptor, *b = other->descriptor;
			uint32_t own_count = kind == 0 ? a->input_count : a->output_count,
			         other_count = kind == 2 ? b->input_count : b->output_count;
			const uint32_t *own = kind == 0 ? a->inputs : a->outputs,
			               *theirs = kind == 2 ? b->inputs : b->outputs;
			bool meets = false;
			for (uint32_t x = 0; x < own_count; x++)
				for (uint32_t y = 0; y < other_count && !meets; y++) {
					struct entry one, two;
					meets = context_find(routine->context, routine->library->nodes[own[x]], &one)
					        && context_find(other->context, other->library->nodes[theirs[y]], &two)
					        && one.location == two.location;
				}
			if (!meets)
				continue;
			sink_printf(sink, "%s{\"%s\":", first ? "" : ",", kinds[kind]);
			sink_string(sink, b->name);
			sink_printf(sink, "}");
			first = false;
		}
	}
}

size_t ingot_routine_json(struct ingot_routine handle, char *text, size_t room)
{
	struct routine *routine = ENTER(routine, handle);
	struct sink sink = { text, room, 0 };
	char name[80];
	if (!routine)
		return 0;
	if (routine->library) {
		sink_printf(&sink, "{\"routine\":");
		routine_print(&sink, routine->library->module, routine->descriptor);
		sink_printf(&sink, ",\"values\":[");
		for (uint32_t i = 0; i < routine->descriptor->symbol_count; i++)
			sink_printf(&sink, routine->symbol_set[i] ? "%s%" PRId64 : "%snull", i ? "," : "",
			        routine->symbols[i]);
		sink_printf(&sink, "],\"depends\":[");
		ledger_print(&sink, handle.runtime, routine);
		sink_printf(&sink, "]}");
	} else {
		node_debug_name(routine->node, name, sizeof name);
		sink_printf(&sink, "{\"transfer\":");
		sink_string(&sink, name);
		sink_printf(&sink, ",\"merge\":\"%s\"}", ingot_merge_name(routine->merge));
	}
	leave(handle.runtime);
	return sink_end(&sink);
}

/* ---- trace ---- */

/* The old one is freed without the lock, as that takes long. */
static void trace_replace(struct ingot_runtime *runtime, struct trace_entry *trace, uint32_t capacity)
{
	enter(runtime);
	struct trace_entry *old = runtime->trace;
	runtime->trace = trace;
	runtime->trace_room = capacity;
	runtime->trace_count = 0;
	leave(runtime);
	memory_free(runtime, old);
}

enum ingot_status ingot_trace_begin(struct ingot_runtime *runtime, uint32_t capacity)
{
	NEED(runtime && capacity);
	NEED_LIVING(runtime);
	struct trace_entry *trace = memory_new(runtime, capacity, sizeof *trace);
	if (!trace)
		return say(INGOT_MEMORY, "no memory for a trace of %u commands", capacity);
	trace_replace(runtime, trace, capacity);
	return INGOT_OK;
}

void ingot_trace_end(struct ingot_runtime *runtime)
{
	if (!runtime_lives(runtime))
		return;
	trace_replace(runtime, NULL, 0);
}

/* Some of those from *next on, which it moves, up to those that were there when it was asked first: the lock is not
 * held for all of them.  What was overwritten meanwhile is passed over. */
static uint32_t trace_take(
        struct ingot_runtime *runtime, struct trace_entry *some, uint32_t room, uint64_t *next, uint64_t *last)
{
	uint32_t count = 0;
	enter(runtime);
	uint64_t all = runtime->trace ? runtime->trace_count : 0,
	         oldest = all > runtime->trace_room ? all - runtime->trace_room : 0;
	*last = all < *last ? all : *last;
	*next = oldest > *next ? oldest : *next;
	for (; count < room && *next < *last; ++*next)
		some[count++] = runtime->trace[*next % runtime->trace_room];
	leave(runtime);
	return count;
}

/* Chrome counts in microseconds; a process is a device here, and a thread a stream. */
static void entry_print(struct sink *sink, const struct trace_entry *entry, const char *between)
{
	sink_printf(sink, "%s{\"name\":", between);
	sink_string(sink, entry->name);
	sink_printf(sink,
	        ",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64
	        ".%03u,\"pid\":%u,\"tid\":%u,\"args\":{\"failed\":%s}}",
	        entry->began / 1000, (unsigned)(entry->began % 1000), (entry->ended - entry->began) / 1000,
	        (unsigned)((entry->ended - entry->began) % 1000), entry->device, entry->stream,
	        entry->failed ? "true" : "false");
}

size_t ingot_trace_json(struct ingot_runtime *runtime, char *text, size_t room)
{
	struct sink sink = { text, room, 0 };
	if (!runtime_lives(runtime))
		return 0;
	struct trace_entry some[32];
	uint64_t next = 0, last = UINT64_MAX;
	const char *between = "";
	sink_printf(&sink, "{\"traceEvents\":[");
	for (uint32_t count; (count = trace_take(runtime, some, COUNT(some), &next, &last));)
		for (uint32_t i = 0; i < count; i++, between = ",")
			entry_print(&sink, some + i, between);
	sink_printf(&sink, "]}");
	return sink_end(&sink);
}
#endif
