/* schedule.c: a static schedule (kernels, copies, clears, host steps, waits on lanes; loops, checks) -> commands on
 * streams, or one command where the backend takes a schedule whole.
 *
 * A gate on lane 0 waits for what the whole routine touches, and a join on lane 0 ends it; between them the steps of a
 * lane follow their stream, and `after` becomes edges.  So hazards are looked at twice a run, not once a step. */
#include "inside.h"

struct step {
	const struct routine *routine;
	const struct ingot_module_step *step;
	const struct ingot_backend *table;
	void *queue, *module;
	int code;
	struct ingot_call call; /* HOST */
	struct slab *to, *from;
	uint64_t to_offset, from_offset;
	uint32_t threads[3];
	/* then: addresses of the arguments (KERNEL), what the call takes (HOST) */
	void *arguments[];
};

static enum ingot_status step_run(struct ingot_command *command, char *text)
{
	struct step *step = command->payload;
	const struct ingot_module *module = step->routine->library->module;
	enum ingot_status status = INGOT_OK;
	switch (step->step->kind) {
	case INGOT_STEP_KERNEL:
		status = step->table->launch(step->queue, step->module, module->kernels + step->step->kernel,
		        step->step->groups, step->threads, step->arguments, &step->code, text);
		break;
	case INGOT_STEP_HOST:
		status = step->table->call(
		        step->queue, module->hosts[step->step->kernel], &step->call, &step->code, text);
		break;
	case INGOT_STEP_COPY:
		if (step->step->bytes && (step->to != step->from || step->to_offset != step->from_offset))
			status = step->table->copy(step->queue, step->to->raw, step->to_offset, step->from->raw,
			        step->from_offset, step->step->bytes, text);
		break;
	case INGOT_STEP_CLEAR:
		if (step->step->bytes)
			status = step->table->fill(
			        step->queue, step->to->raw, step->to_offset, 0, step->step->bytes, text);
		break;
	default: break; /* WAIT: its edges were all */
	}
	return status;
}

static enum ingot_status step_ended(struct ingot_command *command, char *text)
{
	const struct step *step = command->payload;
	return code_ended(step->routine->library->module, step->code, text);
}

struct scheduling {
	struct routine *routine;
	const struct request *whole;
	const struct gathering *gathering;
	struct ingot_command **commands; /* of each step */
	void *module;                    /* as the device loaded it */
	struct ingot_command *gate;
	struct ingot_command **after;
	struct ingot_command **last; /* of each lane */
};

static struct stream *lane_stream(struct device *device, struct stream *own, uint32_t lane, enum ingot_status *status)
{
	struct ingot_runtime *runtime = device->object.runtime;
	*status = INGOT_OK;
	/* In place, steps run as they are submitted, and that order obeys all waits. */
	if (!lane || device->backend->table->waits_inline)
		return own;
	if (!device->lanes && !(device->lanes = memory_new(runtime, 64, sizeof *device->lanes))) {
		*status = say(INGOT_MEMORY, "no memory for lanes");
		return NULL;
	}
	if (!device->lanes[lane])
		*status = stream_new(device, false, &device->lanes[lane]);
	return device->lanes[lane];
}

static bool range_fits(const struct scheduling *scheduling, uint32_t argument, uint64_t bytes)
{
	struct ingot_slot slot = scheduling->gathering->slots[argument];
	uint64_t room = scheduling->gathering->slabs[slot.pool]->bytes;
	return slot.offset <= room && bytes <= room - slot.offset;
}

/* What cannot be told from the descriptor alone. */
static enum ingot_status step_check(const struct scheduling *scheduling, uint32_t index, uint32_t threads[3])
{
	const struct ingot_module_routine *descriptor = scheduling->routine->descriptor;
	const struct ingot_module_step *step = descriptor->steps + index;
	if (step->kind == INGOT_STEP_KERNEL)
		return launch_shape(scheduling->whole->stream->device, step->groups, step->threads, threads);
	for (uint32_t i = 0; i < step->argument_count; i++)
		if (step->kind != INGOT_STEP_HOST
		        && !range_fits(
		                scheduling, step->first_argument + i, step->kind > INGOT_STEP_WAIT ? 1 : step->bytes))
			return say(INGOT_RANGE, "%s: step %u moves %llu bytes", descriptor->name, index,
			        (unsigned long long)step->bytes);
	return INGOT_OK;
}

/* ---- whole ---- */

/* What a backend is given of each step; runs share it. */
struct steps {
	uint64_t number; /* 0: they are of one run alone */
	uint32_t checks; /* how many there are */
	struct ingot_issue at[];
	/* then the arguments of all steps and how they move, indices */
};

struct whole {
	const struct routine *routine;
	const struct ingot_backend *table;
	void *queue, *module;
	const struct steps *steps;
	struct ingot_schedule schedule;
	struct ingot_call call;
	int code;
	/* then what the call takes, the steps where they do not stay, bytes of the checks */
};

static enum ingot_status whole_run(struct ingot_command *command, char *text)
{
	struct whole *whole = command->payload;
	return whole->table->schedule(whole->queue, whole->module, &whole->schedule, text);
}

static enum ingot_status whole_ended(struct ingot_command *command, char *text)
{
	const struct whole *whole = command->payload;
	const struct ingot_schedule *schedule = &whole->schedule;
	const struct ingot_module_step *steps = whole->routine->descriptor->steps;
	int code = whole->code;
	for (uint32_t i = 0, check = 0; !code && check < whole->steps->checks; i++)
		if (steps[i].kind == INGOT_STEP_CHECK && !schedule->checks[check++])
			code = (int)steps[i].kernel;
	return code_ended(whole->routine->library->module, code, text);
}

struct steps_room {
	size_t arguments, bytes;
	uint32_t checks;
};

/* INGOT_OK, and the room that the steps take. */
static enum ingot_status steps_check(const struct scheduling *scheduling, struct steps_room *room)
{
	const struct ingot_module_routine *descriptor = scheduling->routine->descriptor;
	size_t afters = 0;
	uint32_t shape[3];
	*room = (struct steps_room){ 0 };
	for (uint32_t i = 0; i < descriptor->step_count; i++) {
		enum ingot_status status = step_check(scheduling, i, shape);
		if (status)
			return status;
		room->arguments += descriptor->steps[i].argument_count;
		afters += descriptor->steps[i].after_count + 1;
		room->checks += descriptor->steps[i].kind == INGOT_STEP_CHECK;
	}
	room->bytes = sizeof(struct steps) + descriptor->step_count * sizeof(struct ingot_issue)
	        + room->arguments * sizeof(void *)
	        + (descriptor->moved ? room->arguments * sizeof(struct ingot_module_move *) : 0)
	        + afters * sizeof(uint32_t);
	return INGOT_OK;
}

/* A step comes behind those it names, and behind the one before it on its lane. */
static void steps_fill(const struct scheduling *scheduling, const struct steps_room *room, struct steps *steps)
{
	const struct ingot_module_routine *descriptor = scheduling->routine->descriptor;
	const struct ingot_module *module = scheduling->routine->library->module;
	uint32_t last[64];
	void **argument = (void **)(steps->at + descriptor->step_count);
	const struct ingot_module_move **move = (const struct ingot_module_move **)(argument + room->arguments);
	uint32_t *after = descriptor->moved ? (uint32_t *)(move + room->arguments) : (uint32_t *)move;
	memset(last, 0xff, sizeof last);
	for (uint32_t i = 0; i < descriptor->step_count; i++) {
		const struct ingot_module_step *step = descriptor->steps + i;
		struct ingot_issue *issue = steps->at + i;
		*issue = (struct ingot_issue){ .kind = (enum ingot_step_kind)step->kind,
			.arguments = argument,
			.bytes = (size_t)step->bytes,
			.after = after,
			.other = step->kernel,
			.moves = descriptor->moved ? move : NULL };
		if (step->kind == INGOT_STEP_KERNEL) {
			issue->kernel = module->kernels + step->kernel;
			step_check(scheduling, i, issue->threads);
			memcpy(issue->groups, step->groups, sizeof issue->groups);
		} else if (step->kind == INGOT_STEP_HOST)
			issue->host = module->hosts[step->kernel];
		else if (step->kind == INGOT_STEP_CHECK)
			issue->check = steps->checks++;
		for (uint32_t k = 0; k < step->argument_count; k++) {
			struct ingot_slot slot = scheduling->gathering->slots[step->first_argument + k];
			*argument++ = (char *)scheduling->gathering->pools[slot.pool] + slot.offset;
			if (descriptor->moved)
				*move++ = descriptor->moves + descriptor->moved[step->first_argument + k];
			if (k < 2) {
				*(k ? &issue->from : &issue->to) = scheduling->gathering->slabs[slot.pool]->raw;
				*(k ? &issue->from_offset : &issue->to_offset) = (size_t)slot.offset;
			}
		}
		if (last[step->lane] != UINT32_MAX)
			after[issue->after_count++] = last[step->lane];
		for (uint32_t k = 0; k < step->after_count; k++)
			after[issue->after_count++] = step->after[k];
		after += issue->after_count;
		last[step->lane] = i;
	}
}

/* The routine's, made by its first run. */
static enum ingot_status steps_keep(const struct scheduling *scheduling)
{
	struct routine *routine = scheduling->routine;
	struct ingot_runtime *runtime = routine->object.runtime;
	struct steps_room room;
	enum ingot_status status = routine->steps ? INGOT_OK : steps_check(scheduling, &room);
	if (routine->steps || status)
		return status;
	if (!(routine->steps = memory_new(runtime, room.bytes, 1)))
		return say(INGOT_MEMORY, "no memory to run %s", routine->descriptor->name);
	steps_fill(scheduling, &room, routine->steps);
	routine->steps->number = ++runtime->schedules;
	return INGOT_OK;
}

static enum ingot_status whole_submit(const struct scheduling *scheduling, struct ingot_command **out)
{
	struct routine *routine = scheduling->routine;
	struct stream *stream = scheduling->whole->stream;
	struct request request = *scheduling->whole;
	struct steps_room room = { 0 };
	bool stays = scheduling->gathering->stays;
	enum ingot_status status = stays ? steps_keep(scheduling) : steps_check(scheduling, &room);
	size_t at_steps = sizeof(struct whole) + call_bytes(routine), at_checks = at_steps + room.bytes;
	request.run = whole_run;
	request.ended = whole_ended;
	request.payload_bytes = at_checks + (stays && !status ? routine->steps->checks : room.checks);
	if (status || (status = submit(&request, out)))
		return status;
	char *at = (*out)->payload;
	struct whole *whole = (*out)->payload;
	struct steps *steps = stays ? routine->steps : (struct steps *)(at + at_steps);
	if (!stays)
		steps_fill(scheduling, &room, steps);
	whole->routine = routine;
	whole->table = stream->device->backend->table;
	whole->queue = stream->raw;
	whole->module = scheduling->module;
	whole->steps = steps;
	whole->schedule = (struct ingot_schedule){ .steps = steps->at,
		.count = routine->descriptor->step_count,
		.number = steps->number,
		.call = &whole->call,
		.code = &whole->code,
		.checks = (unsigned char *)at + at_checks };
	call_fill(routine, &whole->call, whole + 1);
	return INGOT_OK;
}

/* ---- step by step ---- */

static enum ingot_status step_submit(struct scheduling *scheduling, uint32_t index)
{
	const struct ingot_module_routine *descriptor = scheduling->routine->descriptor;
	const struct ingot_module_step *step = descriptor->steps + index;
	struct stream *own = scheduling->routine->context->stream;
	enum ingot_status status;
	struct stream *stream = lane_stream(own->device, own, step->lane, &status);
	uint32_t after = 0, threads[3] = { 1, 1, 1 };
	if (status)
		return status;
	/* A lane that failed in an earlier run starts afresh: its failure was the routine's, and told by lane 0. */
	if (stream != own && stream->failure && !stream->head) {
		failure_drop(stream->object.runtime, stream->failure);
		stream->failure = NULL;
		stream->passed_failure = false;
	}
	if ((status = step_check(scheduling, index, threads)))
		return status;
	scheduling->after[after++] = scheduling->gate;
	for (uint32_t i = 0; i < step->after_count; i++)
		scheduling->after[after++] = scheduling->commands[step->after[i]];
	size_t at_call = offsetof(struct step, arguments) + step->argument_count * sizeof(void *);
	struct request request = { .stream = stream,
		.run = step_run,
		.ended = step_ended,
		.after = scheduling->after,
		.after_count = after,
		.name = step->kind == INGOT_STEP_KERNEL
		        ? scheduling->routine->library->module->kernels[step->kernel].name
		        : descriptor->name,
		.slabs = scheduling->whole->slabs,
		.slab_count = scheduling->whole->slab_count,
		.keeps = &scheduling->routine->object,
		.payload_bytes = at_call + call_bytes(scheduling->routine) };
	struct ingot_command *command;
	if ((status = submit(&request, &command)))
		return status;
	struct step *made = command->payload;
	made->routine = scheduling->routine;
	made->step = step;
	made->table = own->device->backend->table;
	made->queue = stream->raw;
	made->module = scheduling->module;
	memcpy(made->threads, threads, sizeof threads);
	for (uint32_t i = 0; i < step->argument_count; i++) {
		struct ingot_slot slot = scheduling->gathering->slots[step->first_argument + i];
		made->arguments[i] = (char *)scheduling->gathering->pools[slot.pool] + slot.offset;
		if (i == 0) {
			made->to = scheduling->gathering->slabs[slot.pool];
			made->to_offset = slot.offset;
		} else if (i == 1) {
			made->from = scheduling->gathering->slabs[slot.pool];
			made->from_offset = slot.offset;
		}
	}
	call_fill(scheduling->routine, &made->call, (char *)command->payload + at_call);
	scheduling->commands[index] = command;
	scheduling->last[step->lane] = command;
	command_keep(command);
	return INGOT_OK;
}

enum ingot_status schedule_run(struct routine *routine, const struct request *whole, struct ingot_command **out)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	struct ingot_runtime *runtime = routine->object.runtime;
	struct scheduling scheduling = { .routine = routine, .whole = whole, .gathering = &routine->gathering };
	struct request edge = { .stream = whole->stream,
		.name = descriptor->name,
		.accesses = whole->accesses,
		.access_count = whole->access_count,
		.slabs = whole->slabs,
		.slab_count = whole->slab_count,
		.keeps = whole->keeps };
	enum ingot_status loaded = library_loaded(routine->library, whole->stream->device, &scheduling.module);
	if (loaded)
		return loaded;
	const struct ingot_backend *table = whole->stream->device->backend->table;
	if (OPTIONAL(table, schedule) && (!table->one_lane || descriptor->lane_count == 1))
		return whole_submit(&scheduling, out);
	for (uint32_t i = 0; i < descriptor->step_count; i++)
		if (descriptor->steps[i].kind > INGOT_STEP_WAIT)
			return say(INGOT_UNSUPPORTED,
			        "%s: %s has loops or checks, which backend %s takes in no schedule",
			        whole->stream->name, descriptor->name, table->name);
	scheduling.commands = memory_new(runtime, descriptor->step_count, sizeof *scheduling.commands);
	scheduling.after = memory_new(runtime, (size_t)descriptor->step_count + 1, sizeof *scheduling.after);
	scheduling.last = memory_new(runtime, descriptor->lane_count, sizeof *scheduling.last);
	enum ingot_status status = scheduling.commands && scheduling.after && scheduling.last
	        ? INGOT_OK
	        : say(INGOT_MEMORY, "no memory to run %s", descriptor->name);
	/* Lanes first: once the gate is submitted, what follows must be too. */
	for (uint32_t lane = 0; lane < descriptor->lane_count && !status; lane++)
		lane_stream(whole->stream->device, whole->stream, lane, &status);
	if (!status)
		status = submit(&edge, &scheduling.gate);
	if (!status) {
		command_keep(scheduling.gate);
		for (uint32_t i = 0; i < descriptor->step_count && !status; i++)
			status = step_submit(&scheduling, i);
		uint32_t lanes = 0;
		for (uint32_t lane = 0; lane < descriptor->lane_count; lane++)
			if (scheduling.last[lane])
				scheduling.after[lanes++] = scheduling.last[lane];
		edge.after = scheduling.after;
		edge.after_count = lanes;
		enum ingot_status joined = submit(&edge, out);
		status = status ? status : joined;
		/* What was submitted of a schedule that could not be submitted whole must not pass for its result. */
		if (status)
			for (uint32_t i = 0; i < descriptor->step_count; i++)
				if (scheduling.commands[i])
					scheduling.commands[i]->cancelled =
					        atomic_load(&scheduling.commands[i]->state) == COMMAND_QUEUED;
		command_drop(scheduling.gate);
	}
	for (uint32_t i = 0; scheduling.commands && i < descriptor->step_count; i++)
		command_drop(scheduling.commands[i]);
	memory_free(runtime, scheduling.commands);
	memory_free(runtime, scheduling.after);
	memory_free(runtime, scheduling.last);
	return status;
}
