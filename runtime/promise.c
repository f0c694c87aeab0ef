/* promise.c: events that a program signals: circles they would close, cancelling what waits for them, and closing streams
 * where nobody signals them. */
#include "inside.h"

struct ingot_command *promise_new(struct ingot_runtime *runtime)
{
	struct ingot_command *promise = command_new(runtime, sizeof *promise, sizeof *promise);
	if (promise) {
		promise->name = "a promised event";
		promise->promised = true;
	}
	return promise;
}

void promise_keep_or_break(struct ingot_command *promise, struct failure *failure)
{
	if (command_done(promise)) {
		failure_drop(promise->runtime, failure);
		return;
	}
	promise->failure = failure;
	promise->signaller = NULL;
	command_end(promise);
	changed(promise->runtime);
}

/* An event that only a program can signal: no queue is to do it. */
static bool unkept(const struct ingot_command *command)
{
	return command->promised && !command->signaller && !command_done(command);
}

/* Looks at all that `from` comes after, through edges, its queue, and what keeps promises, until `look` says true; not
 * again at what was looked at in the same visit. */
static bool walk_back(
        struct ingot_command *from, uint64_t visit, bool (*look)(struct ingot_command *before, void *), void *argument)
{
	struct ingot_command *todo = from;
	from->visited = visit;
	from->to_visit = NULL;
	while (todo) {
		struct ingot_command *command = todo;
		struct ingot_command *others[2] = { command->previous, command->signaller };
		todo = command->to_visit;
		for (uint32_t i = 0; i < command->edge_count + 2; i++) {
			struct ingot_command *before =
			        i < command->edge_count ? command->edges[i].from : others[i - command->edge_count];
			if (!before || before->visited == visit || command_done(before))
				continue;
			if (look(before, argument))
				return true;
			before->visited = visit;
			before->to_visit = todo;
			todo = before;
		}
	}
	return false;
}

static bool is_it(struct ingot_command *before, void *promise) { return before == promise; }

bool comes_after(struct ingot_command *from, struct ingot_command *promise)
{
	return walk_back(from, ++from->runtime->visit, is_it, promise);
}

static void edge_cut(struct ingot_command *command, struct edge *edge)
{
	struct edge **link = &edge->from->successors;
	while (*link != edge)
		link = &(*link)->next;
	*link = edge->next;
	command_drop(edge->from);
	edge->from = NULL;
	command->pending--;
}

/* It waits for no promise any more; but for commands, as later ones rely on that order. */
void command_cancel(struct ingot_command *command)
{
	command->cancelled = true;
	for (uint32_t i = 0; i < command->edge_count; i++) {
		struct ingot_command *from = command->edges[i].from;
		if (from && from->promised && !command_done(from))
			edge_cut(command, command->edges + i);
	}
	stream_wake(command->stream);
}

/* ---- closing: what waits for an event that nobody signals ---- */

static bool is_unkept(struct ingot_command *before, void *unused)
{
	(void)unused;
	return unkept(before);
}

/* All behind it in the queue wait, too. */
static struct ingot_command *blocked_first(struct stream *stream)
{
	uint64_t visit = ++stream->object.runtime->visit;
	struct ingot_command *command = stream->head;
	while (command && !walk_back(command, visit, is_unkept, NULL))
		command = command->next;
	return command;
}

/* What comes behind it relies on its order, so until the commands that it waits for are done it stays an edge. */
static void forgo(struct ingot_command *command)
{
	struct stream *stream = command->stream;
	command->cancelled = command->skipped = true;
	for (uint32_t i = 0; i < command->edge_count; i++) {
		struct edge *edge = command->edges + i;
		if (!edge->from || command_done(edge->from))
			continue;
		if (edge->from->promised)
			edge_cut(command, edge);
		else if (edge->on_device) {
			edge->on_device = false;
			command->pending++;
		}
	}
	failure_drop(command->runtime, command->failure);
	command->failure =
	        failure_new(command->runtime, INGOT_CANCELLED, "%s: %s was cancelled", stream->name, command->name);
	command_leave(command);
	command_reach(command, COMMAND_FORGONE);
	if (!command->pending)
		command_end(command);
	object_drop(&stream->object);
}

void stream_forgo(struct stream *stream, bool (*own)(const struct ingot_command *, const void *), const void *argument)
{
	struct ingot_runtime *runtime = stream->object.runtime;
	struct ingot_command *list = NULL, *command = INGOT_THREADS ? blocked_first(stream) : NULL, *next;
	for (; command; command = next) {
		next = command->next;
		if (own && !own(command, argument))
			continue;
		command_keep(command);
		command->to_destroy = list;
		list = command;
		forgo(command);
	}
	if (!list)
		return;
	stream_wake(stream);
	changed(runtime);
	leave(runtime);
	for (command = list; command; command = command->to_destroy)
		command_destroy(command);
	enter(runtime);
	for (; list; list = next) {
		next = list->to_destroy;
		command_drop(list);
	}
}

static bool is_the(const struct ingot_command *command, const void *other) { return command == other; }

bool command_forgo(struct ingot_command *command)
{
	if (!command->stream)
		return command_over(command);
	struct stream *stream = command->stream;
	object_keep(&stream->object);
	command_keep(command);
	stream_forgo(stream, is_the, command);
	bool over = command_over(command);
	command_drop(command);
	object_drop(&stream->object);
	return over;
}

void stream_finish_unblocked(struct stream *stream)
{
	struct ingot_command *blocked = INGOT_THREADS ? blocked_first(stream) : NULL,
	                     *last = blocked ? blocked->previous : stream->tail;
	if (!last)
		return;
	object_keep(&stream->object);
	command_wait(last);
	object_drop(&stream->object);
}
