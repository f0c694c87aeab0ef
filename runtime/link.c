/* link.c: a library's routine + a context -> a routine on a child context: what is lacking is placed, shared or
 * refused. */
#include "inside.h"

static bool has(const uint32_t *at, uint32_t count, uint32_t index)
{
	for (uint32_t i = 0; i < count; i++)
		if (at[i] == index)
			return true;
	return false;
}

/* ---- constants: one copy for each device ---- */

/* One that lies there already: in the same memory, or what was copied and has the same hash. */
static struct location *constants_known(struct device *device, const struct library *library, uint32_t align)
{
	const struct ingot_module_constants *wanted = &library->module->constants;
	for (uint32_t i = 0; i < device->constant_count; i++) {
		const struct constants *one = device->constants + i;
		const struct slab *slab = one->location->slab;
		if (slab->bytes == wanted->bytes && slab_aligned(slab, align)
		        && (slab->adopted ? slab->base == library->constants : one->hash && one->hash == wanted->hash))
			return one->location;
	}
	return NULL;
}

static enum ingot_status constants_place(struct device *device, const struct library *library, struct location **out)
{
	const struct ingot_module_constants *wanted = &library->module->constants;
	uint32_t align = wanted->align ? wanted->align : device->properties.slab_align;
	bool in_place = device->properties.host_memory && !((uintptr_t)library->constants & (align - 1));
	enum ingot_status status = INGOT_OK;
	if ((*out = constants_known(device, library, align))) {
		location_keep(*out);
		return INGOT_OK;
	}
	if (!memory_grow(device->object.runtime, &device->constants, device->constant_count, &device->constant_room,
	            sizeof *device->constants))
		return say(INGOT_MEMORY, "no memory for %llu bytes of constants", (unsigned long long)wanted->bytes);
	struct location *location = in_place /* flash, or a mapped file: no copy */
	        ? location_adopt(device, NULL, (void *)(uintptr_t)library->constants, wanted->bytes, &status)
	        : location_alone(device, NULL, wanted->bytes, align, &status);
	if (!location)
		return status;
	location->slab->constant = true;
	location->hazard.held.holds = in_place ? HOLDS_VALUE : HOLDS_NOTHING;
	device->constants[device->constant_count++] = (struct constants){ wanted->hash, location };
	*out = location;
	return INGOT_OK;
}

/* Uploaded again where the command that was to do it was skipped. */
enum ingot_status constants_need(struct context *context, struct library *library, struct location **out)
{
	struct device *device = context->stream->device;
	struct loaded *on = library_on(library, device, true);
	struct location *location = on ? on->constants : NULL;
	enum ingot_status status = on ? INGOT_OK : INGOT_MEMORY;
	if (!status && !location && !(status = constants_place(device, library, &location)))
		library_on(library, device, true)->constants = location; /* the lock was given up for the memory */
	if (status)
		return status;
	*out = location;
	return hazard_valued(device->object.runtime, &location->hazard)
	        ? INGOT_OK
	        : submit_move(context->stream, "constants",
	                (struct move){ .to = location->slab,
	                        .from_host = library->constants,
	                        .bytes = library->module->constants.bytes },
	                &(struct access){ &location->hazard, .write = true, .gives = GIVES_VALUE }, 1, &library->object,
	                NULL);
}

/* ---- sharing between streams ---- */

static enum ingot_status device_place(
        struct context *context, struct entries *entries, struct node *node, bool cleared, struct location **out)
{
	struct device *device = context->stream->device;
	enum ingot_status status;
	struct location *location = location_alone(device, node, node_bytes(node), node->align, &status);
	if (!location)
		return status;
	node_host_settle(node);
	if (!(status = location_begin(context, node, location, cleared)))
		status = entries_add(device->object.runtime, entries, node, location, 0);
	*out = status ? NULL : location;
	location_drop(location);
	return status;
}

void sharing_note(struct device *device, struct node *node, struct sharing *note)
{
	const struct entry *candidate = entries_find(&device->candidates, node),
	                   *shared = entries_find(&device->shared, node);
	*note = (struct sharing){ node, node->mode, candidate ? candidate->location : NULL,
		shared ? shared->location : NULL };
	object_keep(&node->object);
	if (note->candidate)
		location_keep(note->candidate);
	if (note->shared)
		location_keep(note->shared);
}

/* There is room for an entry that was there before. */
static void entry_restore(struct entries *entries, struct node *node, struct location *location)
{
	const struct entry *entry = entries_find(entries, node);
	if (entry && entry->location != location)
		entries_remove(entries, node);
	if (location && !entries_find(entries, node))
		entries_add(node->object.runtime, entries, node, location, 0);
}

void sharing_end(struct device *device, struct sharing *note, bool undo)
{
	if (!note->node)
		return;
	if (undo) {
		entry_restore(&device->candidates, note->node, note->candidate);
		entry_restore(&device->shared, note->node, note->shared);
		note->node->mode = note->mode;
	}
	location_drop(note->candidate);
	location_drop(note->shared);
	object_drop(&note->node->object);
}

void sharing_forget(struct node *node)
{
	for (struct location *place = node->places, *next; place; place = next) {
		struct device *device = place->device;
		next = place->next_place;
		if (next)
			location_keep(next);
		entries_remove(&device->candidates, node);
		entries_remove(&device->shared, node);
		location_drop(next);
	}
}

/* A place for all that lost its first value before it had it gets it now. */
static enum ingot_status place_begin_again(struct context *context, struct node *node, struct location *location)
{
	return node_has_value(node) && location_held(location)->holds == HOLDS_NOTHING
	        ? location_begin(context, node, location, true)
	        : INGOT_OK;
}

/* Where the node lies for this context, if that is decided by the device; NULL: the context places it itself. */
static enum ingot_status sharing_decide(
        struct context *context, struct node *node, bool writes, bool cleared, struct location **out)
{
	struct device *device = context->stream->device;
	struct ingot_runtime *runtime = device->object.runtime;
	struct entry *shared = entries_find(&device->shared, node),
	             *candidate = entries_find(&device->candidates, node);
	enum ingot_status status;
	char why[200];
	*out = NULL;
	if (ingot_mode_known_shared(&node->mode)) {
		if (shared)
			*out = shared->location;
		else if ((status = device_place(context, &device->shared, node, cleared, out)))
			return status;
		/* Its owner is the first stream that writes it, which a routine does when it is run. */
		return writes ? location_refuses(*out, context->stream, node) : place_begin_again(context, node, *out);
	}
	/* Whoever wrote it has it for himself, be it a routine or the host. */
	if (writes || (candidate && location_rewritten(candidate->location))) {
		if (!ingot_sharing_update(&node->mode, INGOT_PER_STREAM, INGOT_BY_SHARED_WRITER, why))
			return node_conflict(node, why);
		entries_remove(&device->candidates, node);
		return INGOT_OK;
	}
	/* Only what has a value from the start is the same for all that read it; an input that the host gives is
	 * not. */
	if (node->mode.sharing == INGOT_PER_STREAM || ingot_mode_known_volatile(&node->mode) || !node_has_value(node))
		return INGOT_OK;
	if (!candidate)
		return device_place(context, &device->candidates, node, cleared, out);
	*out = candidate->location;
	ingot_sharing_update(
	        &node->mode, INGOT_SHARED, INGOT_BY_SHARED_CANDIDATE, why); /* open, and it has a place: so it may */
	status = entries_add(runtime, &device->shared, node, *out, 0);
	if (!status)
		entries_remove(&device->candidates, node);
	return status ? status : place_begin_again(context, node, *out);
}

enum ingot_status location_given(struct context *context, struct node *node, struct location **out, uint64_t *offset)
{
	*out = NULL;
	*offset = 0;
	if (node_constants(node)) {
		*offset = node->from->offset;
		return constants_need(context, node->source, out);
	}
	if (ingot_mode_known_shared(&node->mode) || (ingot_mode_known_constant(&node->mode) && node_has_value(node)))
		return sharing_decide(context, node, false, false, out);
	return INGOT_OK;
}

/* ---- linking ---- */

struct linking {
	struct context *context; /* the child */
	struct library *library;
	const struct ingot_module_routine *routine;
	struct node **nodes; /* to be placed */
	uint8_t *first;
	struct sharing *notes; /* what was decided for all contexts, to be undone where the link is refused */
	uint32_t count, note_count;
};

static enum ingot_status node_need(struct linking *linking, uint32_t index)
{
	struct context *context = linking->context;
	struct ingot_runtime *runtime = context->object.runtime;
	const struct ingot_module *module = linking->library->module;
	uint64_t offset;
	struct node *base = node_base(linking->library->nodes[index], &offset);
	struct location *location = NULL;
	struct entry room;
	enum ingot_status status = INGOT_OK;
	while (module->nodes[index].view_of >= 0 && linking->library->nodes[index] != base)
		index = (uint32_t)module->nodes[index].view_of;
	const struct ingot_module_node *from = module->nodes + index;
	bool reads = has(linking->routine->inputs, linking->routine->input_count, index);
	bool writes = has(linking->routine->outputs, linking->routine->output_count, index);
	if (context_find(context, base, &room)) {
		if (writes && location_owned(room.location, context->stream))
			return node_conflict(base, "another stream writes it");
		return room.location->slab->constant && writes
		        ? node_conflict(base, "it is constant, and the routine writes it")
		        : INGOT_OK;
	}
	for (uint32_t i = 0; i < linking->count; i++)
		if (linking->nodes[i] == base)
			return INGOT_OK;
	if (writes && ingot_mode_known_constant(&base->mode))
		return node_conflict(base, "it is constant, and the routine writes it");
	/* As location_given would, but for the room that placing takes: a small machine has many constants. */
	if (from->flags & INGOT_NODE_CONSTANT) {
		if (!(status = constants_need(context, linking->library, &location)))
			status = entries_add(runtime, &context->entries, base, location, from->offset);
		return status;
	}
	if (reads && !node_has_value(base) && !(from->flags & (INGOT_NODE_HOSTED | INGOT_NODE_STATE))
	        && base->mode.sharing != INGOT_SHARED)
		return say(INGOT_MISSING, "%s reads %s, which is not in the context and has no value of its own",
		        linking->routine->name, from->name);
	sharing_note(context->stream->device, base, linking->notes + linking->note_count++);
	if ((status = sharing_decide(context, base, writes, from->flags & INGOT_NODE_CLEARED, &location)))
		return status;
	if (location)
		return entries_add(runtime, &context->entries, base, location, 0);
	linking->first[linking->count] = from->flags & INGOT_NODE_CLEARED ? FIRST_CLEARED : FIRST_ZEROS;
	linking->nodes[linking->count++] = base;
	return INGOT_OK;
}

static enum ingot_status nodes_need(struct linking *linking)
{
	const struct ingot_module_routine *routine = linking->routine;
	enum ingot_status status = INGOT_OK;
	for (uint32_t i = 0; i < routine->input_count && !status; i++)
		status = node_need(linking, routine->inputs[i]);
	for (uint32_t i = 0; i < routine->output_count && !status; i++)
		status = node_need(linking, routine->outputs[i]);
	bool constants = false;
	for (uint32_t i = 0; i < routine->argument_count && !status; i++) {
		constants = constants || routine->arguments[i].source == INGOT_FROM_CONSTANTS;
		if (routine->arguments[i].source == INGOT_FROM_NODE)
			status = node_need(linking, routine->arguments[i].index);
	}
	/* Who takes the constants as a whole has each of them. */
	for (uint32_t i = 0; constants && i < linking->library->module->node_count && !status; i++)
		if (linking->library->module->nodes[i].flags & INGOT_NODE_CONSTANT)
			status = node_need(linking, i);
	return status;
}

static enum ingot_status merge_check(
        struct context *parent, struct library *library, const struct ingot_module_routine *routine)
{
	char held[80], read[80];
	if (routine->merge_input < 0 || !parent->merge_node
	        || parent->merge_node == library->nodes[routine->merge_input])
		return INGOT_OK;
	node_debug_name(parent->merge_node, held, sizeof held);
	node_debug_name(library->nodes[routine->merge_input], read, sizeof read);
	return say(INGOT_MISMATCH, "%s reads %s from the merge buffer of %s, for which the context has %s",
	        routine->name, read, parent->stream->name, held);
}

/* A workspace besides the first: of this routine alone, and of all its arguments that name it. */
static struct location *more_workspace(
        struct routine *made, struct context *context, uint32_t argument, enum ingot_status *status)
{
	const struct ingot_module_routine *routine = made->descriptor;
	uint32_t index = routine->arguments[argument].index;
	*status = INGOT_OK;
	for (uint32_t i = 0; i < argument; i++)
		if (routine->arguments[i].source == INGOT_FROM_WORKSPACE && routine->arguments[i].index == index)
			return made->arguments[i].location;
	struct location *location = location_alone(
	        context->stream->device, NULL, routine->more_workspaces[index - 1], routine->workspace_align, status);
	if (location)
		location->refs--; /* the argument's reference is the only one */
	return location;
}

static enum ingot_status arguments_bind(struct routine *made, struct context *context)
{
	const struct ingot_module_routine *routine = made->descriptor;
	enum ingot_status status = INGOT_OK;
	struct location *location;
	struct entry room;
	for (uint32_t i = 0; i < routine->argument_count && !status; i++) {
		struct argument *argument = made->arguments + i;
		switch (routine->arguments[i].source) {
		case INGOT_FROM_NODE:
			context_find(context, made->library->nodes[routine->arguments[i].index], &room);
			*argument = (struct argument){ room.location, room.offset };
			break;
		case INGOT_FROM_WORKSPACE:
			argument->location = routine->arguments[i].index
			        ? more_workspace(made, context, i, &status)
			        : context_workspace(
			                context, routine->workspace_bytes, routine->workspace_align, &status);
			argument->offset = routine->arguments[i].offset;
			break;
		case INGOT_FROM_CONSTANTS:
			status = constants_need(context, made->library, &location);
			argument->location = status ? NULL : location;
			argument->offset = routine->arguments[i].offset;
			break;
		default: break;
		}
		if (argument->location)
			location_keep(argument->location);
	}
	return status;
}

/* Room for all that a run may touch. */
static bool gathering_room(struct routine *made)
{
	const struct ingot_module_routine *routine = made->descriptor;
	size_t most = (size_t)routine->argument_count + routine->input_count + routine->output_count + 1;
	size_t at_slots = most * sizeof(struct access), at_slabs = at_slots + most * sizeof(struct ingot_slot);
	size_t at_pools = at_slabs + most * sizeof(struct slab *);
	char *at = memory_new(made->object.runtime, at_pools + most * sizeof(void *), 1);
	if (at)
		made->gathering = (struct gathering){ .accesses = (struct access *)at,
			.slots = (struct ingot_slot *)(at + at_slots),
			.slabs = (struct slab **)(at + at_slabs),
			.pools = (void **)(at + at_pools) };
	return at;
}

static enum ingot_status routine_new(struct context *context, struct library *library,
        const struct ingot_module_routine *routine, struct routine **out)
{
	struct ingot_runtime *runtime = context->object.runtime;
	struct routine *made = memory_new(runtime, 1, sizeof *made);
	if (!made)
		return say(INGOT_MEMORY, "no memory for routine %s", routine->name);
	enum ingot_status status = handle_new(runtime, &made->object, KIND_ROUTINE);
	if (status) {
		memory_free(runtime, made);
		return status;
	}
	made->library = library;
	made->descriptor = routine;
	made->context = context;
	object_keep(&library->object);
	object_keep(&context->object);
	library->routines++;
	made->arguments = memory_new(runtime, routine->argument_count, sizeof *made->arguments);
	made->symbols = memory_new(runtime, routine->symbol_count, sizeof *made->symbols);
	made->symbol_set = memory_new(runtime, routine->symbol_count, sizeof *made->symbol_set);
	status = made->arguments && made->symbols && made->symbol_set && gathering_room(made)
	        ? arguments_bind(made, context)
	        : say(INGOT_MEMORY, "no memory for routine %s", routine->name);
	if (status) {
		handle_close(&made->object);
		return status;
	}
	for (uint32_t i = 0; i < routine->symbol_count; i++) {
		const struct ingot_module_symbol *symbol = library->module->symbols + routine->symbols[i];
		made->symbols[i] = symbol->least;
		made->symbol_set[i] = symbol->least == symbol->most;
	}
	*out = made;
	return INGOT_OK;
}

static enum ingot_status link_locked(struct context *parent, struct library *library,
        const struct ingot_module_routine *routine, struct routine **out)
{
	struct ingot_runtime *runtime = parent->object.runtime;
	struct linking linking = { .library = library, .routine = routine };
	void *loaded;
	const struct loaded *on = library_on(library, parent->stream->device, false);
	bool fresh = !on || !on->constants;
	size_t most = (size_t)routine->input_count + routine->output_count + routine->argument_count;
	enum ingot_status status = merge_check(parent, library, routine);
	if (!status)
		status = library_loaded(library, parent->stream->device, &loaded);
	if (!status)
		status = context_new(parent->stream, parent, &linking.context);
	if (status)
		return status;
	linking.nodes = memory_new(runtime, most, sizeof *linking.nodes);
	linking.first = memory_new(runtime, most, sizeof *linking.first);
	linking.notes = memory_new(runtime, most, sizeof *linking.notes);
	status = linking.nodes && linking.first && linking.notes
	        ? nodes_need(&linking)
	        : say(INGOT_MEMORY, "no memory to link %s", routine->name);
	if (!status)
		status = context_place_nodes(linking.context, linking.nodes, linking.first, linking.count);
	if (!status)
		status = routine_new(linking.context, library, routine, out);
	/* A routine that writes what it did not read first, and state, have a value from the start; an input of the
	 * host has not. */
	for (uint32_t i = 0; !status && i < linking.count; i++) {
		struct entry *entry = entries_find(&linking.context->entries, linking.nodes[i]);
		for (uint32_t k = 0; entry && k < library->module->node_count; k++)
			if (library->nodes[k] == entry->node && library->module->nodes[k].flags & INGOT_NODE_STATE)
				location_held(entry->location)->holds = HOLDS_VALUE;
	}
	if (status)
		handle_close(&linking.context->object);
	while (linking.note_count)
		sharing_end(parent->stream->device, linking.notes + --linking.note_count, status != INGOT_OK);
	if (status && fresh)
		library_leave(library, parent->stream->device);
	memory_free(runtime, linking.nodes);
	memory_free(runtime, linking.first);
	memory_free(runtime, linking.notes);
	return status;
}

static const struct ingot_module_routine *routine_named(const struct library *library, const char *name)
{
	for (uint32_t i = 0; i < library->module->routine_count; i++)
		if (!strcmp(library->module->routines[i].name, name))
			return library->module->routines + i;
	say(INGOT_MISSING, "module %s has no routine %s", library->module->name, name);
	return NULL;
}

enum ingot_status ingot_link(
        struct ingot_context handle, struct ingot_library library_handle, const char *name, struct ingot_routine *out)
{
	NEED(name && out);
	NEED_OPEN(context, handle);
	struct submission submission;
	struct routine *routine = NULL;
	object_keep(&context->object);
	enum ingot_status status = submission_begin(&submission, context->stream, NULL);
	struct library *library = status ? NULL : FIND(library, handle.runtime, library_handle);
	const struct ingot_module_routine *descriptor = library ? routine_named(library, name) : NULL;
	if (!status && !library)
		status = INGOT_STALE;
	else if (!status && !descriptor)
		status = INGOT_MISSING;
	if (library)
		object_keep(&library->object);
	placing_begin(context->stream->device);
	if (!status && !(status = context_lives(context)) && !(status = stream_refuses(context->stream)))
		status = link_locked(context, library, descriptor, &routine);
	if (!status)
		*out = HANDLE(ingot_routine, routine);
	placing_end(context->stream->device);
	if (library)
		object_drop(&library->object);
	object_drop(&context->object);
	return submission_end(&submission, status, NULL);
}

enum ingot_status ingot_link_all(struct ingot_context context, struct ingot_library library,
        bool (*keep)(const char *name, void *), void *user, struct ingot_routine *routines, struct ingot_context *last)
{
	NEED(last);
	struct library *found = ENTER(library, library);
	enum ingot_status status = INGOT_OK;
	if (!found)
		return INGOT_STALE;
	const struct ingot_module *module = found->module;
	if (module->routine_count && !routines)
		status = say(INGOT_INVALID, "ingot_link_all: no place for the routines");
	leave(library.runtime);
	if (status)
		return status;
	*last = context;
	uint32_t i;
	for (i = 0; i < module->routine_count && !status; i++) {
		const char *name = module->routines[i].name;
		routines[i] = (struct ingot_routine){ 0 };
		if (keep && !keep(name, user))
			continue;
		if (!(status = ingot_link(*last, library, name, routines + i)))
			status = ingot_routine_context(routines[i], last);
	}
	if (!status)
		return INGOT_OK;
	char kept[TEXT_ROOM];
	snprintf(kept, sizeof kept, "%s", ingot_message());
	while (i-- > 0)
		if (routines[i].runtime) {
			ingot_routine_close(routines[i]);
			routines[i] = (struct ingot_routine){ 0 };
		}
	*last = (struct ingot_context){ 0 };
	return say(status, "%s", kept);
}
