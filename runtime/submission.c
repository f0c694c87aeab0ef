/* submission.c: what every call that queues work does around it, in one order: checks, room, an event reserved; then
 * the event bound, the lock given up, and on inline devices the queue run. */
#include "inside.h"

static enum ingot_status begin(struct submission *submission, struct stream *stream, struct ingot_event *done,
        enum ingot_status (*check)(struct stream *))
{
	*submission = (struct submission){ .stream = stream, .done = done };
	object_keep(&stream->object);
	enum ingot_status status = check(stream);
	return status ? status : event_reserve(stream->device, stream->object.runtime, done, &submission->event);
}

void submission_with(struct submission *submission, struct stream *other)
{
	if (other == submission->stream || submission->other)
		return;
	submission->other = other;
	object_keep(&other->object);
}

static enum ingot_status mark_room(struct stream *stream) { return stream_refuses(stream); }

enum ingot_status submission_begin(struct submission *submission, struct stream *stream, struct ingot_event *done)
{
	return begin(submission, stream, done, stream_room);
}

enum ingot_status submission_begin_mark(struct submission *submission, struct stream *stream, struct ingot_event *done)
{
	return begin(submission, stream, done, mark_room);
}

enum ingot_status submission_end(struct submission *submission, enum ingot_status status, struct ingot_command *command)
{
	if (status)
		event_unreserve(submission->event);
	else
		event_bind(submission->event, command, submission->done);
	/* On inline devices what another backend does for it, a download, runs first. */
	if (submission->other) {
		struct ingot_runtime *runtime = submission->stream->object.runtime;
		leave_dropping(submission->other);
		enter(runtime);
	}
	/* What was queued before a failure runs too. */
	leave_dropping(submission->stream);
	return status;
}
