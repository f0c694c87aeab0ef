/* routine.c: linked routines: symbols, checks before a run, the call itself. */
#include "inside.h"

void routine_release(struct object *object)
{
	struct routine *routine = (struct routine *)object;
	struct ingot_runtime *runtime = object->runtime;
	for (uint32_t i = 0; routine->arguments && routine->descriptor && i < routine->descriptor->argument_count; i++)
		location_drop(routine->arguments[i].location);
	memory_free(runtime, routine->arguments);
	memory_free(runtime, routine->gathering.accesses);
	memory_free(runtime, routine->steps);
	memory_free(runtime, routine->symbols);
	memory_free(runtime, routine->symbol_set);
	memory_free(runtime, routine->log);
	command_drop(routine->last);
	if (routine->node)
		object_drop(&routine->node->object);
	if (routine->source)
		object_drop(&routine->source->object);
	if (routine->library) {
		routine->library->routines--;
		object_drop(&routine->library->object);
	}
	if (routine->context)
		object_drop(&routine->context->object);
	memory_free(runtime, routine);
}

enum ingot_status ingot_routine_close(struct ingot_routine handle)
{
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	if (!routine)
		return INGOT_STALE;
	struct context *context = routine->context;
	enum ingot_status status = INGOT_OK;
	if (!context->finalized && context->children)
		status = say(INGOT_BUSY, "the routine's context has %u live children", context->children);
	else {
		object_keep(&routine->object);
		object_keep(&context->object);
		placing_wait(context->stream->device);
		context_keep_newest(context);
		if (!inside_task())
			stream_finish(context->stream);
		status = context_finalize_locked(context);
		if (!status) {
			handle_close(&routine->object);
			handle_close(&context->object);
		}
		object_drop(&routine->object);
		object_drop(&context->object);
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_routine_context(struct ingot_routine handle, struct ingot_context *out)
{
	NEED(out);
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	if (!routine)
		return INGOT_STALE;
	*out = HANDLE(ingot_context, routine->context);
	leave(handle.runtime);
	return INGOT_OK;
}

/* ---- symbols ---- */

static const struct ingot_module_symbol *symbol_of(const struct routine *routine, uint32_t i)
{
	return routine->library->module->symbols + routine->descriptor->symbols[i];
}

static enum ingot_status symbol_find(const struct routine *routine, const char *name, uint32_t *index)
{
	uint32_t count = routine->descriptor ? routine->descriptor->symbol_count : 0;
	for (*index = 0; *index < count; ++*index)
		if (!strcmp(symbol_of(routine, *index)->name, name))
			return INGOT_OK;
	return say(INGOT_MISSING, "%s has no symbol %s", routine->descriptor ? routine->descriptor->name : "a transfer",
	        name);
}

enum ingot_status ingot_routine_set(struct ingot_routine handle, const char *name, int64_t value)
{
	NEED(name);
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	uint32_t i;
	if (!routine)
		return INGOT_STALE;
	enum ingot_status status = symbol_find(routine, name, &i);
	if (!status) {
		const struct ingot_module_symbol *symbol = symbol_of(routine, i);
		if (value < symbol->least || value > symbol->most)
			status = say(INGOT_RANGE, "%s: %s = %lld; it is %lld to %lld", routine->descriptor->name, name,
			        (long long)value, (long long)symbol->least, (long long)symbol->most);
		else {
			routine->symbols[i] = value;
			routine->symbol_set[i] = true;
		}
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_routine_symbol(struct ingot_routine handle, const char *name, int64_t *value)
{
	NEED(name && value);
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	uint32_t i;
	if (!routine)
		return INGOT_STALE;
	enum ingot_status status = symbol_find(routine, name, &i);
	if (!status && !routine->symbol_set[i])
		status = say(INGOT_UNREADY, "%s: %s was not set", routine->descriptor->name, name);
	else if (!status)
		*value = routine->symbols[i];
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_routine_log(struct ingot_routine handle, const char *path)
{
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	if (!routine)
		return INGOT_STALE;
	char *copy = path ? memory_copy(handle.runtime, path) : NULL;
	enum ingot_status status = path && !copy ? say(INGOT_MEMORY, "no memory for a path") : INGOT_OK;
	object_keep(&routine->object);
	if (!status && routine->last && !command_done(routine->last)
	        && !(status = task_refuses("must not wait for a run")))
		command_wait(routine->last); /* a run that is under way reads the old one */
	memory_free(handle.runtime, status ? copy : routine->log);
	if (!status)
		routine->log = copy;
	object_drop(&routine->object);
	leave(handle.runtime);
	return status;
}

/* ---- checks ---- */

/* An open routine that would write the node. */
static const struct routine *producer(const struct routine *reader, const struct node *node)
{
	struct ingot_runtime *runtime = reader->object.runtime;
	for (uint32_t i = 0; i < runtime->handle_count; i++) {
		const struct routine *one = (const struct routine *)runtime->handles[i].object;
		if (!one || one->object.kind != KIND_ROUTINE || one == reader || !one->library)
			continue;
		for (uint32_t k = 0; k < one->descriptor->output_count; k++)
			if (one->library->nodes[one->descriptor->outputs[k]] == node)
				return one;
	}
	return NULL;
}

static struct location *location_at(const struct routine *routine, uint32_t node, uint64_t *offset)
{
	struct entry room;
	context_find(routine->context, routine->library->nodes[node],
	        &room); /* what it needs was placed when it was linked */
	*offset = room.offset;
	return room.location;
}

static bool host_newer(const struct node *node, const struct location *location)
{
	return node->host_version > location->version;
}

static enum ingot_status inputs_check(const struct routine *routine)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	char name[80];
	uint64_t offset;
	for (uint32_t i = 0; i < descriptor->input_count; i++) {
		struct node *node = routine->library->nodes[descriptor->inputs[i]];
		struct location *location = location_at(routine, descriptor->inputs[i], &offset);
		uint64_t view;
		struct node *base = node_base(node, &view);
		if (hazard_valued(routine->object.runtime, &location->hazard)
		        || (routine->object.runtime->options.automatic_transfers && host_newer(base, location)))
			continue;
		const struct routine *writer = producer(routine, node);
		node_debug_name(node, name, sizeof name);
		return say(INGOT_UNREADY, "%s reads %s, which nobody has written%s%s%s", descriptor->name, name,
		        writer ? "; " : "", writer ? writer->descriptor->name : "", writer ? " would" : "");
	}
	return INGOT_OK;
}

static enum ingot_status symbols_check(const struct routine *routine)
{
	for (uint32_t i = 0; i < routine->descriptor->symbol_count; i++)
		if (!routine->symbol_set[i])
			return say(INGOT_RANGE, "%s: %s was not set; it is %lld to %lld", routine->descriptor->name,
			        symbol_of(routine, i)->name, (long long)symbol_of(routine, i)->least,
			        (long long)symbol_of(routine, i)->most);
	return INGOT_OK;
}

static enum ingot_status merge_check(const struct routine *routine)
{
	const struct stream *stream = routine->context->stream;
	char read[80], held[80] = "nothing";
	if (routine->descriptor->merge_input < 0)
		return INGOT_OK;
	struct node *node = routine->library->nodes[routine->descriptor->merge_input];
	if (stream->merge.node == node)
		return INGOT_OK;
	node_debug_name(node, read, sizeof read);
	if (stream->merge.node)
		node_debug_name(stream->merge.node, held, sizeof held);
	return say(INGOT_MISMATCH, "%s: %s reads %s from the merge buffer, which holds %s", stream->name,
	        routine->descriptor->name, read, held);
}

static enum ingot_status ready(const struct routine *routine)
{
	if (!routine->library)
		return INGOT_OK;
	if (routine->context->finalized)
		return say(INGOT_STALE, "the context of %s is finalized", routine->descriptor->name);
	enum ingot_status status = symbols_check(routine);
	status = status ? status : merge_check(routine);
	return status ? status : inputs_check(routine);
}

enum ingot_status ingot_routine_can_run(struct ingot_routine handle, bool *can)
{
	NEED(can);
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	if (!routine)
		return INGOT_STALE;
	enum ingot_status status = ready(routine);
	*can = !status;
	leave(handle.runtime);
	return INGOT_OK;
}

/* ---- running ---- */

struct run {
	const struct routine *routine;
	const struct ingot_backend *table;
	void *queue;
	int code;
	struct ingot_call call;
	/* then what the call takes, extents */
};

static enum ingot_status run_call(struct ingot_command *command, char *text)
{
	struct run *run = command->payload;
	return run->table->call(run->queue, run->routine->descriptor->run, &run->call, &run->code, text);
}

static enum ingot_status run_ended(struct ingot_command *command, char *text)
{
	const struct run *run = command->payload;
	return code_ended(run->routine->library->module, run->code, text);
}

static uint32_t slab_index(struct gathering *gathering, struct slab *slab)
{
	for (uint32_t i = 0; i < gathering->slab_count; i++)
		if (gathering->slabs[i] == slab)
			return i;
	gathering->slabs[gathering->slab_count] = slab;
	gathering->pools[gathering->slab_count] = slab->base;
	return gathering->slab_count++;
}

static void access_add(struct gathering *gathering, struct hazard *hazard, bool read, bool write)
{
	for (uint32_t i = 0; i < gathering->access_count; i++)
		if (gathering->accesses[i].hazard == hazard) {
			gathering->accesses[i].read = gathering->accesses[i].read || read;
			gathering->accesses[i].write = gathering->accesses[i].write || write;
			return;
		}
	gathering->accesses[gathering->access_count++] = (struct access){ hazard, read, write };
}

/* What the run touches, and how. */
static void gather(struct routine *routine)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	struct merge *merge = &routine->context->stream->merge;
	struct gathering *gathering = &routine->gathering;
	uint64_t offset;
	if (gathering->stays)
		return;
	gathering->access_count = gathering->slab_count = 0;
	gathering->stays = true;
	for (uint32_t i = 0; i < descriptor->argument_count; i++) {
		const struct argument *argument = routine->arguments + i;
		if (descriptor->arguments[i].source == INGOT_FROM_MERGE) {
			gathering->stays = false;
			struct slab *slab = merge->streaming ? merge->streaming->slab : merge->owned;
			gathering->slots[i] = (struct ingot_slot){ slab_index(gathering, slab),
				merge->streaming ? merge->streaming->offset + merge->streaming_offset : 0 };
			access_add(
			        gathering, merge->streaming ? &merge->streaming->hazard : &merge->hazard, true, false);
			continue;
		}
		gathering->slots[i] = (struct ingot_slot){ slab_index(gathering, argument->location->slab),
			argument->location->offset + argument->offset };
		bool output = false;
		for (uint32_t k = 0; k < descriptor->output_count; k++)
			output = output
			        || (descriptor->arguments[i].source == INGOT_FROM_NODE
			                && descriptor->outputs[k] == descriptor->arguments[i].index);
		bool workspace = descriptor->arguments[i].source == INGOT_FROM_WORKSPACE;
		access_add(gathering, &argument->location->hazard, !output && !workspace, workspace);
	}
	for (uint32_t i = 0; i < descriptor->input_count; i++)
		access_add(gathering, &location_at(routine, descriptor->inputs[i], &offset)->hazard, true, false);
	for (uint32_t i = 0; i < descriptor->output_count; i++)
		access_add(gathering, &location_at(routine, descriptor->outputs[i], &offset)->hazard, false, true);
}

size_t call_bytes(const struct routine *routine)
{
	const struct gathering *gathering = &routine->gathering;
	size_t symbols = routine->descriptor->symbol_count * sizeof(int64_t);
	return gathering->stays ? symbols
	                        : symbols + routine->descriptor->argument_count * sizeof(struct ingot_slot)
	                + gathering->slab_count * sizeof(void *);
}

void call_fill(const struct routine *routine, struct ingot_call *call, void *at)
{
	const struct gathering *gathering = &routine->gathering;
	size_t slots = routine->descriptor->argument_count * sizeof(struct ingot_slot),
	       pools = gathering->slab_count * sizeof(void *);
	size_t symbols = routine->descriptor->symbol_count * sizeof(int64_t);
	call->symbols = memcpy(at, routine->symbols, symbols);
	call->slots = gathering->stays ? gathering->slots : memcpy((char *)at + symbols, gathering->slots, slots);
	call->pools =
	        gathering->stays ? gathering->pools : memcpy((char *)at + symbols + slots, gathering->pools, pools);
	call->log = routine->log;
}

static enum ingot_status outputs_claim(struct routine *routine)
{
	uint64_t offset;
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < routine->descriptor->output_count && !status; i++)
		status = location_claim(location_at(routine, routine->descriptor->outputs[i], &offset),
		        routine->context->stream, routine->library->nodes[routine->descriptor->outputs[i]]);
	return status;
}

static void outputs_written(struct routine *routine)
{
	uint64_t offset;
	for (uint32_t i = 0; i < routine->descriptor->output_count; i++) {
		struct location *location = location_at(routine, routine->descriptor->outputs[i], &offset);
		struct node *base = node_base(routine->library->nodes[routine->descriptor->outputs[i]], &offset);
		location->version = ++base->newest;
		location->hazard.valued = true;
	}
}

/* With automatic transfers: what the host has newer goes up first. */
static enum ingot_status inputs_upload(struct routine *routine)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	enum ingot_status status = INGOT_OK;
	uint64_t offset;
	for (uint32_t i = 0; i < descriptor->input_count && !status; i++) {
		struct node *base = node_base(routine->library->nodes[descriptor->inputs[i]], &offset);
		struct location *location = location_at(routine, descriptor->inputs[i], &offset);
		if (!host_newer(base, location))
			continue;
		struct entry entry = { base, location, 0 };
		status = location_claim(location, routine->context->stream, base);
		if (!status)
			status = context_upload(
			        routine->context, base, &entry, base->host, node_bytes(base), true, NULL);
	}
	return status;
}

/* No thread writes the host arrays that the run may upload. */
static void inputs_settle(struct routine *routine)
{
	for (uint32_t i = 0; i < routine->descriptor->input_count; i++) {
		struct node *base;
		node_host(routine->library->nodes[routine->descriptor->inputs[i]], &base);
		if (base->host_busy) {
			node_host_settle(base);
			i = UINT32_MAX; /* others may be by now */
		}
	}
}

static enum ingot_status code_run(struct routine *routine, struct ingot_command **out)
{
	const struct gathering *gathering = &routine->gathering;
	const struct ingot_module_routine *descriptor = routine->descriptor;
	struct stream *stream = routine->context->stream;
	size_t extents = sizeof(struct run) + call_bytes(routine);
	struct request request = { .stream = stream,
		.name = descriptor->name,
		.run = run_call,
		.ended = run_ended,
		.accesses = gathering->accesses,
		.access_count = gathering->access_count,
		.slabs = gathering->slabs,
		.slab_count = gathering->slab_count,
		.keeps = &routine->object,
		.payload_bytes = extents + descriptor->extent_count * sizeof(int64_t) };
	if (!descriptor->run)
		return schedule_run(routine, &request, out);
	enum ingot_status status = submit(&request, out);
	if (status)
		return status;
	struct run *run = (*out)->payload;
	run->routine = routine;
	run->table = stream->device->backend->table;
	run->queue = stream->raw;
	call_fill(routine, &run->call, run + 1);
	run->call.extents = (int64_t *)((char *)run + extents);
	return INGOT_OK;
}

static enum ingot_status routine_run_locked(struct routine *routine, struct ingot_command **out)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	struct ingot_runtime *runtime = routine->object.runtime;
	if (!routine->library) {
		bool moved;
		enum ingot_status status =
		        transfer_run(routine->node, routine->context, routine->merge, routine->source, &moved, out);
		return status;
	}
	enum ingot_status status = ready(routine);
	if (!status && runtime->options.automatic_transfers)
		status = inputs_upload(routine);
	if (!status)
		status = outputs_claim(routine);
	if (!status) {
		gather(routine);
		status = code_run(routine, out);
	}
	if (!status) {
		outputs_written(routine);
		if (descriptor->merge_input >= 0)
			routine->context->stream->merge.taken = true;
	}
	return status;
}

enum ingot_status ingot_routine_run(struct ingot_routine handle, struct ingot_event *done)
{
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	struct submission submission;
	struct ingot_command *command = NULL;
	if (!routine)
		return INGOT_STALE;
	object_keep(&routine->object);
	enum ingot_status status = submission_begin(&submission, routine->context->stream, done);
	if (!status && handle.runtime->options.automatic_transfers && routine->library) {
		inputs_settle(routine);
		status = stream_refuses(routine->context->stream);
	}
	if (!status && !routine->object.generation)
		status = say(INGOT_STALE, "the routine was closed");
	if (!status)
		status = routine_run_locked(routine, &command);
	if (!status) {
		command_drop(routine->last);
		if ((routine->last = command))
			command_keep(command);
	}
	object_drop(&routine->object);
	return submission_end(&submission, status, command);
}

enum ingot_status ingot_routine_event(struct ingot_routine handle, struct ingot_event *out)
{
	NEED(out);
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	if (!routine)
		return INGOT_STALE;
	enum ingot_status status = routine->last
	        ? event_new(routine->context->stream->device, handle.runtime, routine->last, out)
	        : say(INGOT_MISSING, "the routine was not run yet");
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_routine_extents(struct ingot_routine handle, int64_t *extents, uint32_t count)
{
	NEED(extents || !count);
	struct routine *routine = ENTER(routine, handle, KIND_ROUTINE);
	if (!routine)
		return INGOT_STALE;
	enum ingot_status status = INGOT_OK;
	if (!routine->descriptor || !routine->descriptor->run || count != routine->descriptor->extent_count)
		status = say(INGOT_MISMATCH, "%u extents; the routine reports %u", count,
		        routine->descriptor ? routine->descriptor->extent_count : 0);
	else if (!routine->last || !command_done(routine->last))
		status = say(INGOT_UNREADY, "the routine's run is not done");
	else if (routine->last->failure)
		status = say_failure(routine->last->failure);
	else
		memcpy(extents, ((struct run *)routine->last->payload)->call.extents, count * sizeof *extents);
	leave(handle.runtime);
	return status;
}
