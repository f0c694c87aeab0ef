/* library.c: module descriptors -> checked libraries with nodes. */
#include "inside.h"

static enum ingot_status bad(const struct ingot_module *module, const char *what, uint32_t index)
{
	return say(INGOT_INVALID, "module %s: %s (%u)", module->name ? module->name : "?", what, index);
}

/* Bytes of the largest extents; UINT64_MAX: too many. */
static uint64_t node_least(const struct ingot_module_node *node)
{
	uint64_t count = 1, bytes;
	for (uint32_t i = 0; i < node->rank; i++)
		if (__builtin_mul_overflow(count, (uint64_t)node->dims[i].extent, &count))
			return UINT64_MAX;
	return ingot_dtype_bytes((enum ingot_dtype)node->dtype, count, &bytes) ? bytes : UINT64_MAX;
}

static enum ingot_status node_check(const struct ingot_module *module, uint32_t index)
{
	const struct ingot_module_node *node = module->nodes + index;
	uint64_t end;
	if (!node->name || node->rank > INGOT_MAX_RANK || (node->rank && !node->dims))
		return bad(module, "a node without name or dims", index);
	if (!ingot_dtype_bits((enum ingot_dtype)node->dtype))
		return bad(module, "a node's type is none of numbers", index);
	if (node->align & (node->align - 1))
		return bad(module, "a node's alignment is no power of two", index);
	for (uint32_t i = 0; i < node->rank; i++)
		if (node->dims[i].extent < 0 || node->dims[i].symbol < -1
		        || node->dims[i].symbol >= (int64_t)module->symbol_count)
			return bad(module, "a node's dims", index);
	uint64_t least = node_least(node);
	if (node->bytes < least || least == UINT64_MAX)
		return bad(module, "a node's bytes, fewer than its dims need", index);
	for (uint32_t i = 0; i < index; i++)
		if (!strcmp(module->nodes[i].name, node->name))
			return bad(module, "two nodes of one name", index);
	if (node->view_of < -1 || node->view_of >= (int64_t)index) /* a view stands behind what it is part of */
		return bad(module, "a view of a node that does not stand before it", index);
	if (node->view_of >= 0
	        && (__builtin_add_overflow(node->offset, node->bytes, &end)
	                || end > module->nodes[node->view_of].bytes))
		return bad(module, "a view past the end of its node", index);
	if (node->flags & INGOT_NODE_CONSTANT
	        && (__builtin_add_overflow(node->offset, node->bytes, &end) || end > module->constants.bytes))
		return bad(module, "a node past the end of the constants", index);
	return INGOT_OK;
}

static bool indices_fit(const uint32_t *at, uint32_t count, uint32_t limit)
{
	for (uint32_t i = 0; i < count; i++)
		if (!at || at[i] >= limit)
			return false;
	return true;
}

static enum ingot_status steps_check(
        const struct ingot_module *module, const struct ingot_module_routine *routine, uint32_t index)
{
	if (!routine->steps || !routine->step_count || !routine->lane_count || routine->lane_count > 64)
		return bad(module, "a routine with neither code nor steps, or more than 64 lanes", index);
	uint32_t open[INGOT_LOOPS_DEEP], depth = 0;
	bool whole = false;
	for (uint32_t s = 0; s < routine->step_count; s++) {
		const struct ingot_module_step *step = routine->steps + s;
		static const uint32_t needs[] = {
			[INGOT_STEP_COPY] = 2, [INGOT_STEP_CLEAR] = 1, [INGOT_STEP_WAIT] = 0, [INGOT_STEP_CHECK] = 1
		};
		uint32_t end;
		if (step->kind > INGOT_STEP_ROUND || step->lane >= routine->lane_count)
			return bad(module, "a step's kind or lane", s);
		if (__builtin_add_overflow(step->first_argument, step->argument_count, &end)
		        || end > routine->argument_count)
			return bad(module, "a step's arguments", s);
		if (step->kind == INGOT_STEP_KERNEL
		        && (step->kernel >= module->kernel_count
		                || module->kernels[step->kernel].argument_count != step->argument_count))
			return bad(module, "a step's kernel, or the number of its arguments", s);
		if (step->kind == INGOT_STEP_HOST
		        && (step->kernel >= module->host_count || !module->hosts[step->kernel]))
			return bad(module, "a step's host function", s);
		if ((step->kind == INGOT_STEP_COPY || step->kind == INGOT_STEP_CLEAR || step->kind == INGOT_STEP_CHECK)
		        && step->argument_count != needs[step->kind])
			return bad(module, "the number of a step's arguments", s);
		if (step->kind == INGOT_STEP_LOOP && (depth == INGOT_LOOPS_DEEP || step->argument_count > 1))
			return bad(module, "a loop that is too deep, or its arguments", s);
		if (step->kind == INGOT_STEP_ROUND
		        && (!depth || open[depth - 1] != step->kernel || routine->steps[step->kernel].kernel != s
		                || step->argument_count != routine->steps[step->kernel].argument_count))
			return bad(module, "a round's loop", s);
		if (step->kind == INGOT_STEP_LOOP)
			open[depth++] = s;
		depth -= step->kind == INGOT_STEP_ROUND;
		whole = whole || step->kind > INGOT_STEP_WAIT;
		if (!indices_fit(step->after, step->after_count, s))
			return bad(module, "a step that waits for a later one", s);
	}
	if (depth || (whole && routine->lane_count != 1))
		return bad(module, depth ? "a loop without a round" : "loops or checks on several lanes", index);
	return INGOT_OK;
}

static enum ingot_status routine_check(const struct ingot_module *module, uint32_t index)
{
	const struct ingot_module_routine *routine = module->routines + index;
	if (!routine->name)
		return bad(module, "a routine without a name", index);
	for (uint32_t i = 0; i < index; i++)
		if (!strcmp(module->routines[i].name, routine->name))
			return bad(module, "two routines of one name", index);
	if (!indices_fit(routine->inputs, routine->input_count, module->node_count)
	        || !indices_fit(routine->outputs, routine->output_count, module->node_count))
		return bad(module, "the inputs or outputs of a routine", index);
	if (!indices_fit(routine->symbols, routine->symbol_count, module->symbol_count))
		return bad(module, "the symbols of a routine", index);
	if (routine->merge_input < -1 || routine->merge_input >= (int64_t)module->node_count)
		return bad(module, "the merge input of a routine", index);
	if ((routine->workspace_align & (routine->workspace_align - 1)) || routine->extent_count > 4096)
		return bad(module, "the workspace or the extents of a routine", index);
	if (routine->argument_count && !routine->arguments)
		return bad(module, "a routine without a table of its arguments", index);
	if (routine->more_workspace_count && !routine->more_workspaces)
		return bad(module, "the workspaces of a routine", index);
	if (routine->moved
	        && (!routine->moves || !indices_fit(routine->moved, routine->argument_count, routine->move_count)))
		return bad(module, "how a routine's arguments move", index);
	for (uint32_t i = 0; i < routine->argument_count; i++) {
		const struct ingot_module_argument *argument = routine->arguments + i;
		if (argument->source > INGOT_FROM_CONSTANTS
		        || (argument->source == INGOT_FROM_NODE && argument->index >= module->node_count))
			return bad(module, "an argument of a routine", index);
		if (argument->source == INGOT_FROM_WORKSPACE && argument->index > routine->more_workspace_count)
			return bad(module, "an argument in a workspace that is not there", i);
		if ((argument->source == INGOT_FROM_WORKSPACE
		            && argument->offset > (argument->index ? routine->more_workspaces[argument->index - 1]
		                                                   : routine->workspace_bytes))
		        || (argument->source == INGOT_FROM_CONSTANTS && argument->offset > module->constants.bytes))
			return bad(module, "an argument past the end of the workspace or the constants", i);
		if (argument->source == INGOT_FROM_MERGE
		        && (routine->merge_input < 0 || argument->index != (uint32_t)routine->merge_input))
			return bad(module, "a routine reads a merge buffer that is not its merge input", index);
	}
	/* The build for one thread runs code alone, as that is what is generated for it. */
	return routine->run ? INGOT_OK
	        : INGOT_THREADS
	        ? steps_check(module, routine, index)
	        : bad(module, "a routine without code; its steps are not for a build for one thread", index);
}

static enum ingot_status module_check(const struct ingot_module *module)
{
	enum ingot_status status = INGOT_OK;
	if (module->abi != INGOT_ABI)
		return say(INGOT_INVALID, "module %s has interface %u; this runtime has %u",
		        module->name ? module->name : "?", module->abi, INGOT_ABI);
	if (!module->name || (module->node_count && !module->nodes) || (module->symbol_count && !module->symbols)
	        || (module->routine_count && !module->routines) || (module->kernel_count && !module->kernels)
	        || (module->host_count && !module->hosts))
		return bad(module, "a table is missing", 0);
	if (module->constants.align & (module->constants.align - 1))
		return bad(module, "the alignment of the constants is no power of two", module->constants.align);
	for (uint32_t i = 0; i < module->symbol_count && !status; i++)
		if (!module->symbols[i].name || module->symbols[i].least > module->symbols[i].most)
			status = bad(module, "a symbol without name or range", i);
		else
			for (uint32_t k = 0; k < i && !status; k++)
				if (!strcmp(module->symbols[k].name, module->symbols[i].name))
					status = bad(module, "two symbols of one name", i);
	for (uint32_t i = 0; i < module->kernel_count && !status; i++)
		if (!module->kernels[i].name)
			status = bad(module, "a kernel without a name", i);
		else
			for (uint32_t k = 0; k < i && !status; k++)
				if (!strcmp(module->kernels[k].name, module->kernels[i].name))
					status = bad(module, "two kernels of one name", i);
	for (uint32_t i = 0; i < module->node_count && !status; i++)
		status = node_check(module, i);
	for (uint32_t i = 0; i < module->routine_count && !status; i++)
		status = routine_check(module, i);
	return status;
}

static struct node *shared_node(struct library *with, const char *name)
{
	for (uint32_t i = 0; with && i < with->module->node_count; i++)
		if (!strcmp(with->module->nodes[i].name, name))
			return with->nodes[i];
	return NULL;
}

/* The library goes, and others have its node: the value is that of one of them, or none. */
static void node_source_move(struct node *node)
{
	struct ingot_runtime *runtime = node->object.runtime;
	node->source = NULL;
	for (EACH(library, one, runtime))
		for (uint32_t k = 0; one->nodes && k < one->module->node_count; k++)
			if (one->nodes[k] == node) {
				node->source = one;
				node->from = one->module->nodes + k;
			}
}

static enum ingot_status node_bind(struct library *library, struct library *with, uint32_t index)
{
	struct ingot_runtime *runtime = library->object.runtime;
	const struct ingot_module_node *from = library->module->nodes + index;
	struct node *node = shared_node(with, from->name);
	int64_t dims[INGOT_MAX_RANK];
	enum ingot_status status;
	if (node) {
		if (node->precision.dtype != from->dtype || node->storage_bytes != from->bytes)
			return say(INGOT_MISMATCH, "node %s is %s of %llu bytes here and %s of %llu bytes there",
			        from->name, ingot_dtype_name((enum ingot_dtype)from->dtype),
			        (unsigned long long)from->bytes,
			        ingot_dtype_name((enum ingot_dtype)node->precision.dtype),
			        (unsigned long long)node->storage_bytes);
		object_keep(&node->object);
		node->libraries++;
		library->nodes[index] = node;
		return INGOT_OK;
	}
	for (uint32_t i = 0; i < from->rank; i++)
		dims[i] = from->dims[i].extent;
	struct ingot_node_options options = { .labels = &from->name,
		.label_count = 1,
		.dtype = from->dtype,
		.rank = from->rank,
		.dims = dims,
		.provenance = INGOT_BY_MODULE };
	if (from->flags & INGOT_NODE_CONSTANT)
		options.mode = INGOT_HOSTED_CONSTANT;
	else if (from->flags & INGOT_NODE_HOSTED)
		options.mode = INGOT_HOSTED;
	else
		options.mode = INGOT_MATERIALIZED;
	options.sharing = from->flags & INGOT_NODE_SHARED ? INGOT_SHARED : INGOT_SHARING_OPEN;
	if (!(node = node_make(runtime, &options, &status)))
		return status;
	object_keep(&node->object); /* the handle's, and the library's */
	node->libraries = 1;
	library->nodes[index] = node;
	node->storage_bytes = from->bytes;
	node->align = from->align;
	node->source = library;
	node->from = from;
	node->stamp = INITIAL_VERSION;
	if (from->view_of >= 0) {
		node->parent = library->nodes[from->view_of];
		node->view_offset = from->offset;
		object_keep(&node->parent->object);
	}
	return INGOT_OK;
}

void library_release(struct object *object)
{
	struct library *library = (struct library *)object;
	struct ingot_runtime *runtime = object->runtime;
	for (uint32_t i = 0; library->nodes && i < library->module->node_count; i++) {
		struct node *node = library->nodes[i];
		if (!node)
			continue;
		/* The handle of a node ends with the last library that has it; contexts and merge buffers may hold it
		 * on. */
		if (node->source == library)
			node_source_move(node);
		if (!--node->libraries)
			node_end(node);
		object_drop(&node->object);
	}
	for (uint32_t i = 0; i < library->loaded_count; i++) {
		struct device *device = library->loaded[i].device;
		location_drop(library->loaded[i].constants);
		if (library->loaded[i].raw && device->backend->table->module_unload)
			device->backend->table->module_unload(device->raw, library->loaded[i].raw);
		object_drop(&device->object);
	}
	memory_free(runtime, library->loaded);
	memory_free(runtime, library->nodes);
	memory_free(runtime, library);
}

struct loaded *library_on(struct library *library, struct device *device, bool made)
{
	for (uint32_t i = 0; i < library->loaded_count; i++)
		if (library->loaded[i].device == device)
			return library->loaded + i;
	if (!made)
		return NULL;
	if (!memory_grow(library->object.runtime, &library->loaded, library->loaded_count, &library->loaded_room,
	            sizeof *library->loaded)) {
		say(INGOT_MEMORY, "no memory to load module %s", library->module->name);
		return NULL;
	}
	object_keep(&device->object);
	library->loaded[library->loaded_count] = (struct loaded){ .device = device };
	return library->loaded + library->loaded_count++;
}

void library_leave(struct library *library, struct device *device)
{
	struct loaded *on = library_on(library, device, false);
	if (!on)
		return;
	location_drop(on->constants);
	on->constants = NULL;
	if (on->asked)
		return;
	*on = library->loaded[--library->loaded_count];
	object_drop(&device->object);
}

enum ingot_status library_loaded(struct library *library, struct device *device, void **loaded)
{
	const struct ingot_backend *table = device->backend->table;
	char text[INGOT_BACKEND_TEXT] = "";
	*loaded = NULL;
	if (!OPTIONAL(table, module_load))
		return INGOT_OK;
	struct loaded *on = library_on(library, device, true);
	if (!on)
		return INGOT_MEMORY;
	if (!on->asked) {
		struct ingot_runtime *runtime = library->object.runtime;
		void *raw = NULL;
		leave(runtime); /* it may compile */
		enum ingot_status status = table->module_load(device->raw, library->module, &raw, text);
		enter(runtime);
		if (status)
			return say(status, "module %s: %s", library->module->name, device_words(device, status, text));
		on = library_on(library, device, true);
		if (!on && table->module_unload)
			table->module_unload(device->raw, raw);
		if (!on)
			return INGOT_MEMORY;
		on->raw = raw;
	}
	on->asked = true;
	*loaded = on->raw;
	return INGOT_OK;
}

enum ingot_status kernel_module(struct device *device, const struct ingot_module_kernel *kernel, void **loaded)
{
	struct ingot_runtime *runtime = device->object.runtime;
	*loaded = NULL;
	if (!OPTIONAL(device->backend->table, module_load))
		return INGOT_OK;
	for (EACH(library, library, runtime)) {
		if (kernel < library->module->kernels
		        || kernel >= library->module->kernels + library->module->kernel_count)
			continue;
		const struct loaded *on = library_on(library, device, false);
		if (on && on->asked) {
			*loaded = on->raw;
			return INGOT_OK;
		}
		object_keep(&library->object);
		placing_begin(device);
		enum ingot_status status = library_loaded(library, device, loaded);
		placing_end(device);
		object_drop(&library->object);
		return status;
	}
	return INGOT_OK;
}

static enum ingot_status load_locked(struct ingot_runtime *runtime, const struct ingot_module *module,
        const struct ingot_library_options *options, struct library **out)
{
	struct library *with = NULL;
	if (options && options->with.runtime && !(with = FIND(library, runtime, options->with)))
		return INGOT_STALE;
	const void *constants = module->constants.data ? module->constants.data : options ? options->constants : NULL;
	if (module->constants.bytes && !constants)
		return say(INGOT_MISSING, "module %s needs its constants: %llu bytes", module->name,
		        (unsigned long long)module->constants.bytes);
	if (!module->constants.data && options && options->constants
	        && options->constants_bytes != module->constants.bytes)
		return say(INGOT_MISMATCH, "module %s has %llu bytes of constants; the file has %llu", module->name,
		        (unsigned long long)module->constants.bytes, (unsigned long long)options->constants_bytes);
	struct library *library = memory_new(runtime, 1, sizeof *library);
	if (!library)
		return say(INGOT_MEMORY, "no memory for module %s", module->name);
	enum ingot_status status = handle_new(runtime, &library->object, KIND_LIBRARY);
	if (status) {
		memory_free(runtime, library);
		return status;
	}
	library->module = module;
	library->constants = constants;
	library->nodes = memory_new(runtime, module->node_count, sizeof *library->nodes);
	if (!library->nodes)
		status = say(INGOT_MEMORY, "no memory for module %s", module->name);
	for (uint32_t i = 0; i < module->node_count && !status; i++)
		status = node_bind(library, with, i);
	if (status)
		handle_close(&library->object);
	else
		*out = library;
	return status;
}

enum ingot_status ingot_library_load(struct ingot_runtime *runtime, const struct ingot_module *module,
        const struct ingot_library_options *options, struct ingot_library *out)
{
	struct library *library = NULL;
	NEED(runtime && module && out);
	NEED_LIVING(runtime);
	enum ingot_status status = module_check(module);
	if (status)
		return status;
	enter(runtime);
	status = load_locked(runtime, module, options, &library);
	if (!status)
		*out = HANDLE(ingot_library, library);
	leave(runtime);
	return status;
}

/* They read its constants, which go now; who has routines of it is refused in any case. */
static void uploads_finish(struct library *library)
{
	for (uint32_t i = 0; INGOT_THREADS && !library->routines && i < library->loaded_count; i++) {
		struct location *location = library->loaded[i].constants;
		while (location && hazard_busy(library->object.runtime, &location->hazard, false)
		        && i < library->loaded_count && library->loaded[i].constants == location)
			if (command_forgo(location->hazard.writer))
				break;
			else
				command_wait(location->hazard.writer);
	}
}

enum ingot_status ingot_library_close(struct ingot_library handle)
{
	NEED_OPEN(library, handle);
	enum ingot_status status = INGOT_OK;
	object_keep(&library->object);
	if (!inside_task())
		uploads_finish(library);
	if (library->routines)
		status = say(INGOT_BUSY, "module %s has %u routines", library->module->name, library->routines);
	else
		handle_close(&library->object);
	object_drop(&library->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_library_node(struct ingot_library handle, const char *name, struct ingot_node *out)
{
	NEED(name && out);
	NEED_OPEN(library, handle);
	struct node *node = shared_node(library, name);
	if (node)
		*out = HANDLE(ingot_node, node);
	enum ingot_status status =
	        node ? INGOT_OK : say(INGOT_MISSING, "module %s has no node %s", library->module->name, name);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_library_kernel(
        struct ingot_library handle, const char *name, const struct ingot_module_kernel **out)
{
	NEED(name && out);
	NEED_OPEN(library, handle);
	const struct ingot_module *module = library->module;
	enum ingot_status status = INGOT_MISSING;
	for (uint32_t i = 0; i < module->kernel_count && status; i++)
		if (!strcmp(module->kernels[i].name, name)) {
			*out = module->kernels + i;
			status = INGOT_OK;
		}
	if (status)
		say(status, "module %s has no kernel %s", module->name, name);
	leave(handle.runtime);
	return status;
}
