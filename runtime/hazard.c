/* hazard.c: who touched a place last.  Read after write, write after read and write after write all follow from the
 * last writer and the readers since; commands that are done leave the lists whenever these are looked at. */
#include "inside.h"

static void writer_drop(struct ingot_runtime *runtime, struct hazard *hazard)
{
	if (!hazard->writer)
		return;
	command_drop(hazard->writer);
	hazard->writer = NULL;
	runtime->hazards--;
}

void held_drop(struct ingot_runtime *runtime, struct held *held)
{
	taint_set(runtime, held, NULL);
	content_set(runtime, held, NULL);
}

void held_copy(struct held *to, const struct held *from)
{
	*to = *from;
	failure_keep(to->taint);
	if (to->content)
		to->content->refs++;
}

void held_set(struct ingot_runtime *runtime, struct held *held, const struct held *now)
{
	struct held old = *held;
	held_copy(held, now);
	held_drop(runtime, &old);
}

void taint_set(struct ingot_runtime *runtime, struct held *held, struct failure *failure)
{
	struct failure *old = held->taint;
	if (failure == old)
		return;
	held->taint = failure_keep(failure);
	failure_drop(runtime, old);
}

void content_set(struct ingot_runtime *runtime, struct held *held, struct content *content)
{
	struct content *old = held->content;
	if (content == old)
		return;
	held->content = content;
	if (content)
		content->refs++;
	content_drop(runtime, old);
}

void hazard_prune(struct ingot_runtime *runtime, struct hazard *hazard)
{
	uint32_t kept = 0;
	if (hazard->writer && command_over(hazard->writer)) {
		const struct ingot_command *writer = hazard->writer;
		bool skipped = writer->skipped && hazard->place != NO_PLACE;
		if (skipped)
			held_set(runtime, &hazard->held, writer->befores + hazard->place);
		if (!skipped || hazard->strict)
			taint_set(runtime, &hazard->held, writer->failure);
		if (command_done(writer)) /* else it keeps an order */
			writer_drop(runtime, hazard);
	}
	for (uint32_t i = 0; i < hazard->reader_count; i++) {
		if (!command_over(hazard->readers[i])) { /* what will not run reads nothing */
			hazard->readers[kept++] = hazard->readers[i];
			continue;
		}
		command_drop(hazard->readers[i]);
		runtime->hazards--;
	}
	hazard->reader_count = kept;
}

bool hazard_reserve(struct ingot_runtime *runtime, struct hazard *hazard)
{
	return memory_grow(
	        runtime, &hazard->readers, hazard->reader_count, &hazard->reader_room, sizeof *hazard->readers);
}

struct held *hazard_held(struct ingot_runtime *runtime, struct hazard *hazard)
{
	if (hazard->writer && command_over(hazard->writer))
		hazard_prune(runtime, hazard);
	return &hazard->held;
}

bool hazard_busy(struct ingot_runtime *runtime, struct hazard *hazard, bool readers_too)
{
	hazard_prune(runtime, hazard);
	return hazard->writer || (readers_too && hazard->reader_count);
}

void hazard_release(struct ingot_runtime *runtime, struct hazard *hazard)
{
	writer_drop(runtime, hazard);
	for (uint32_t i = 0; i < hazard->reader_count; i++) {
		command_drop(hazard->readers[i]);
		runtime->hazards--;
	}
	memory_free(runtime, hazard->readers);
	held_drop(runtime, &hazard->held);
	*hazard = (struct hazard){ 0 };
}
