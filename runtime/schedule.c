/* schedule.c: a static schedule (kernels, copies, clears, host steps, waits; loops, checks) -> one command, which the
 * backend takes whole, or whose steps it gets one by one, in their order: no step waits for a later one. */
#include "inside.h"

struct scheduling {
	struct routine *routine;
	const struct request *whole;
	const struct gathering *gathering;
	void *module; /* as the device loaded it */
};

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

static enum ingot_status issue(const struct whole *whole, const struct ingot_issue *step, char *text)
{
	const struct ingot_backend *table = whole->table;
	const struct ingot_schedule *schedule = &whole->schedule;
	bool moves = step->bytes && (step->to != step->from || step->to_offset != step->from_offset);
	switch (step->kind) {
	case INGOT_STEP_KERNEL:
		return table->launch(whole->queue, whole->module, step->kernel, step->groups, step->threads,
		        step->arguments, schedule->code, text);
	case INGOT_STEP_HOST: return table->call(whole->queue, step->host, schedule->call, schedule->code, text);
	case INGOT_STEP_COPY:
		return moves ? table->copy(whole->queue, step->to, step->to_offset, step->from, step->from_offset,
		               step->bytes, text)
		             : INGOT_OK;
	case INGOT_STEP_CLEAR:
		return step->bytes ? table->fill(whole->queue, step->to, step->to_offset, 0, step->bytes, text)
		                   : INGOT_OK;
	default: return INGOT_OK; /* WAIT: they are in order */
	}
}

static enum ingot_status whole_run(struct ingot_command *command, char *text)
{
	struct whole *whole = command->payload;
	const struct ingot_schedule *schedule = &whole->schedule;
	enum ingot_status status = INGOT_OK;
	if (OPTIONAL(whole->table, schedule))
		return whole->table->schedule(whole->queue, whole->module, schedule, text);
	for (uint32_t i = 0; i < schedule->count && !status && !*schedule->code; i++) {
		const struct ingot_issue *step = schedule->steps + i;
		uint64_t began = command->began ? clock_nanoseconds() : 0;
		status = issue(whole, step, text);
		if (!began || step->kind != INGOT_STEP_KERNEL)
			continue;
		enter(command->runtime);
		trace_add(command, step->kernel->name, began);
		leave(command->runtime);
	}
	return status;
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
	call_fill(routine, *out, &whole->call, whole + 1);
	return INGOT_OK;
}

enum ingot_status schedule_run(struct routine *routine, const struct request *whole, struct ingot_command **out)
{
	const struct ingot_module_routine *descriptor = routine->descriptor;
	const struct stream *stream = whole->stream;
	struct scheduling scheduling = { .routine = routine, .whole = whole, .gathering = &routine->gathering };
	enum ingot_status status = library_loaded(routine->library, stream->device, &scheduling.module);
	for (uint32_t i = 0; i < descriptor->step_count && !status; i++)
		if (!OPTIONAL(stream->device->backend->table, schedule) && descriptor->steps[i].kind > INGOT_STEP_WAIT)
			status = say(INGOT_UNSUPPORTED,
			        "%s: %s has loops or checks, which backend %s takes in no schedule", stream->name,
			        descriptor->name, stream->device->backend->table->name);
	return status ? status : whole_submit(&scheduling, out);
}
