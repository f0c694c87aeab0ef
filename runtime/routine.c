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
	NEED_OPEN(routine, handle);
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
			context_finish(context, routine);
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
	ANSWER(routine, handle, out, HANDLE(ingot_context, routine->context));
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
	NEED_OPEN(routine, handle);
	uint32_t i;
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
	NEED_OPEN(routine, handle);
	uint32_t i;
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
	NEED_OPEN(routine, handle);
	char *copy = path ? memory_copy(handle.runtime, path) : NULL;
	enum ingot_status status = path && !copy ? say(INGOT_MEMORY, "no memory for a path") : INGOT_OK;
	if (!status) {
		memory_free(handle.runtime, routine->log);
		routine->log = copy;
	}
	leave(handle.runtime);
	return status;
}

/* ---- checks ---- */

/* An open routine that would write the node. */
static const struct routine *producer(const struct routine *reader, const struct node *node)
{
	struct ingot_runtime *runtime = reader->object.runtime;
	for (EACH(routine, one, runtime)) {
		if (one == reader || !one->library)
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

static bool host_newer(struct node *node, struct location *location)
{
	return host_version(node) > location_held(location)->version;
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
	struct stream *stream = routine->context->stream;
	char read[80], held[80] = "nothing";
	if (routine->descriptor->merge_input < 0)
		return INGOT_OK;
	struct node *node = routine->library->nodes[routine->descriptor->merge_input];
	const struct content *content = merge_now(stream);
	if (content && content->node == node)
		return INGOT_OK;
	node_debug_name(node, read, sizeof read);
	if (content)
		node_debug_name(content->node, held, sizeof held);
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
	NEED_OPEN(routine, handle);
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

static void access_add(struct gathering *gathering, struct access access)
{
	for (uint32_t i = 0; i < gathering->access_count; i++) {
		struct access *one = gathering->accesses + i;
		if (one->hazard != access.hazard)
			continue;
		one->read = one->read || access.read;
		one->write = one->write || access.write;
		one->content = one->content ? one->content : access.content;
		if (!one->gives || access.gives == GIVES_NEW)
			one->gives = access.gives;
		return;
	}
	gathering->accesses[gathering->access_count++] = access;
}

/* What the run touches, and how. */
static void gather(struct routine *routine)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	struct gathering *gathering = &routine->gathering;
	uint64_t offset;
	if (gathering->stays)
		return;
	gathering->access_count = gathering->slab_count = 0;
	gathering->stays = true;
	for (uint32_t i = 0; i < descriptor->argument_count; i++) {
		const struct argument *argument = routine->arguments + i;
		if (descriptor->arguments[i].source == INGOT_FROM_MERGE) {
			struct slab *slab;
			struct access access = merge_read(routine->context->stream, &slab);
			const struct content *content = access.content;
			gathering->stays = false;
			gathering->slots[i] = (struct ingot_slot){ slab_index(gathering, slab),
				content->streaming ? content->streaming->offset + content->offset : 0 };
			access_add(gathering, access);
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
		access_add(gathering,
		        (struct access){ .hazard = &argument->location->hazard,
		                .location = argument->location,
		                .node = argument->location->node,
		                .read = !output && !workspace,
		                .write = workspace });
	}
	for (uint32_t i = 0; i < descriptor->input_count + descriptor->output_count; i++) {
		bool write = i >= descriptor->input_count;
		uint32_t node = write ? descriptor->outputs[i - descriptor->input_count] : descriptor->inputs[i];
		access_add(gathering,
		        location_access(location_at(routine, node, &offset), routine->library->nodes[node], write));
	}
}

size_t call_bytes(const struct routine *routine)
{
	const struct gathering *gathering = &routine->gathering;
	size_t bytes = routine->descriptor->symbol_count * sizeof(int64_t);
	if (!gathering->stays)
		bytes += routine->descriptor->argument_count * sizeof(struct ingot_slot)
		        + gathering->slab_count * sizeof(void *);
	/* Its own copy of the path, so that another one may be told meanwhile. */
	return routine->log ? (bytes + strlen(routine->log) + 16) & ~(size_t)15 : bytes;
}

void call_fill(const struct routine *routine, const struct ingot_command *command, struct ingot_call *call, void *at)
{
	const struct gathering *gathering = &routine->gathering;
	size_t slots = routine->descriptor->argument_count * sizeof(struct ingot_slot),
	       pools = gathering->slab_count * sizeof(void *);
	size_t symbols = routine->descriptor->symbol_count * sizeof(int64_t);
	call->symbols = memcpy(at, routine->symbols, symbols);
	call->slots = gathering->stays ? gathering->slots : memcpy((char *)at + symbols, gathering->slots, slots);
	call->pools =
	        gathering->stays ? gathering->pools : memcpy((char *)at + symbols + slots, gathering->pools, pools);
	char *log = (char *)at + symbols + (gathering->stays ? 0 : slots + pools);
	call->log = routine->log ? memcpy(log, routine->log, strlen(routine->log) + 1) : NULL;
	call->cancelled = (const unsigned char *)&command->to_end;
}

static enum ingot_status outputs_check(struct routine *routine)
{
	uint64_t offset;
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < routine->descriptor->output_count && !status; i++)
		status = location_refuses(location_at(routine, routine->descriptor->outputs[i], &offset),
		        routine->context->stream, routine->library->nodes[routine->descriptor->outputs[i]]);
	return status;
}

/* What an output is a part of keeps the rest. */
static enum ingot_status rests_fetch(struct submission *submission, struct routine *routine)
{
	uint64_t offset;
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < routine->descriptor->output_count && !status; i++) {
		if (!routine->library->nodes[routine->descriptor->outputs[i]]->parent)
			continue;
		struct location *location = location_at(routine, routine->descriptor->outputs[i], &offset);
		status = rest_fetch(submission, routine->context, location->node, location);
	}
	return status;
}

/* With automatic transfers: what the host has newer goes up first; all of it, or nothing. */
static enum ingot_status inputs_upload(struct routine *routine, bool check)
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
		status = check ? location_refuses(location, routine->context->stream, base)
		               : context_upload(
		                       routine->context, base, &entry, base->host, node_bytes(base), UPLOAD_HOST, NULL);
	}
	return status;
}

/* No thread writes the host arrays that the run may upload. */
static void inputs_settle(struct routine *routine)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	for (uint32_t i = 0; INGOT_THREADS && i < descriptor->input_count + descriptor->output_count; i++) {
		struct node *base;
		node_host(routine->library->nodes[i < descriptor->input_count
		                          ? descriptor->inputs[i]
		                          : descriptor->outputs[i - descriptor->input_count]],
		        &base);
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
	if (INGOT_THREADS && !descriptor->run)
		return schedule_run(routine, &request, out);
	enum ingot_status status = submit(&request, out);
	if (status)
		return status;
	struct run *run = (*out)->payload;
	run->routine = routine;
	run->table = stream->device->backend->table;
	run->queue = stream->raw;
	call_fill(routine, *out, &run->call, run + 1);
	run->call.extents = (int64_t *)((char *)run + extents);
	return INGOT_OK;
}

/* Checks first: what is refused leaves nothing. */
static enum ingot_status routine_run_locked(
        struct submission *submission, struct routine *routine, struct ingot_command **out)
{
	struct ingot_runtime *runtime = routine->object.runtime;
	if (!routine->library)
		return routine->transfer(submission, routine, out);
	enum ingot_status status = ready(routine);
	bool automatic = runtime->options.automatic_transfers;
	struct location *constants;
	const struct loaded *on = library_on(routine->library, routine->context->stream->device, false);
	status = status ? status : outputs_check(routine);
	status = status || !automatic ? status : inputs_upload(routine, true);
	status = status || !automatic ? status : inputs_upload(routine, false);
	status = status ? status : rests_fetch(submission, routine);
	if (!status && on && on->constants)
		status = constants_need(routine->context, routine->library, &constants);
	if (status)
		return status;
	gather(routine);
	return code_run(routine, out);
}

enum ingot_status ingot_routine_run(struct ingot_routine handle, struct ingot_event *done)
{
	NEED_OPEN(routine, handle);
	struct submission submission;
	struct ingot_command *command = NULL;
	object_keep(&routine->object);
	enum ingot_status status = submission_begin(&submission, routine->context->stream, done);
	if (!status && handle.runtime->options.automatic_transfers && routine->library) {
		inputs_settle(routine);
		status = stream_refuses(routine->context->stream);
	}
	if (!status && !routine->object.generation)
		status = say(INGOT_STALE, "the routine was closed");
	if (!status)
		status = routine_run_locked(&submission, routine, &command);
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
	NEED_OPEN(routine, handle);
	enum ingot_status status = routine->last
	        ? event_new(routine->context->stream->device, handle.runtime, routine->last, out)
	        : say(INGOT_MISSING, "the routine was not run yet");
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_routine_extents(struct ingot_routine handle, int64_t *extents, uint32_t count)
{
	NEED(extents || !count);
	NEED_OPEN(routine, handle);
	enum ingot_status status = INGOT_OK;
	if (!routine->descriptor || !routine->descriptor->run || count != routine->descriptor->extent_count)
		status = say(INGOT_MISMATCH, "%u extents; the routine reports %u", count,
		        routine->descriptor ? routine->descriptor->extent_count : 0);
	else if (!routine->last || !command_over(routine->last))
		status = say(INGOT_UNREADY, "the routine's run is not done");
	else if (routine->last->failure)
		status = say_failure(routine->last->failure);
	else
		memcpy(extents, ((struct run *)routine->last->payload)->call.extents, count * sizeof *extents);
	leave(handle.runtime);
	return status;
}
