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

void hazard_prune(struct ingot_runtime *runtime, struct hazard *hazard)
{
	uint32_t kept = 0;
	if (hazard->writer && command_done(hazard->writer)) {
		struct ingot_command *writer = hazard->writer;
		struct failure *old = hazard->taint;
		bool skipped = writer->skipped && !hazard->strict && hazard->place != NO_PLACE;
		hazard->taint = failure_keep(skipped ? writer->befores[hazard->place].taint : writer->failure);
		if (skipped)
			hazard->valued = writer->befores[hazard->place].valued;
		failure_drop(runtime, old);
		writer_drop(runtime, hazard);
	}
	for (uint32_t i = 0; i < hazard->reader_count; i++) {
		if (!command_done(hazard->readers[i])) {
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

bool hazard_valued(struct ingot_runtime *runtime, struct hazard *hazard)
{
	if (hazard->writer && command_done(hazard->writer))
		hazard_prune(runtime, hazard);
	return hazard->valued;
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
	failure_drop(runtime, hazard->taint);
	*hazard = (struct hazard){ 0 };
}
