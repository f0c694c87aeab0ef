/* prepare.c: what the caller has the host wait for before it reads or writes a node's values. */
#include "inside.h"

struct prepared {
	struct prepared *next;
	struct ingot_host_sync sync;
};

static THREAD_LOCAL bool inside; /* one of the caller's functions */

/* One thread at a time has the lists, so that a second reader waits for what the first one waits for. */
static enum ingot_status begin(struct node *base)
{
	if (inside)
		return say(INGOT_WOULD_BLOCK, "what n%u waits for must not access values", base->id);
	while (base->preparing)
		change_wait(base->object.runtime);
	base->preparing = true;
	return INGOT_OK;
}

static void end(struct node *base)
{
	base->preparing = false;
	changed(base->object.runtime);
}

/* Calls the caller's functions, without the lock: `done` of each, then `sync` where that said no and it is asked for.
 * What is over leaves the list; not 0: what one answered. */
static int walk(struct node *base, struct prepared **list, bool sync)
{
	struct ingot_runtime *runtime = base->object.runtime;
	struct prepared *over = NULL, *one;
	int code = 0;
	leave(runtime);
	inside = true;
	while ((one = *list)) {
		bool done = one->sync.done && one->sync.done(one->sync.user), due = sync && !code;
		if (due && !done)
			code = one->sync.sync(one->sync.user);
		if (!done && !due) { /* behind one that failed too: nobody has waited for it */
			list = &one->next;
			continue;
		}
		*list = one->next;
		one->next = over;
		over = one;
	}
	inside = false;
	enter(runtime);
	for (; (one = over); memory_free(runtime, one))
		over = one->next;
	return code;
}

static enum ingot_status prepare(struct ingot_node handle, const struct ingot_host_sync *sync, bool write)
{
	NEED_OPEN(node, handle);
	struct node *base;
	object_keep(&node->object);
	node_host(node, &base);
	struct prepared *made = memory_new(handle.runtime, 1, sizeof *made), **link = base->before + write;
	enum ingot_status status = made ? begin(base) : say(INGOT_MEMORY, "no memory for what n%u waits for", base->id);
	if (!status) {
		walk(base, link, false);
		while (*link)
			link = &(*link)->next;
		made->sync = *sync;
		*link = made;
		end(base);
	} else
		memory_free(handle.runtime, made);
	object_drop(&node->object);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_prepare_read(struct ingot_node node, const struct ingot_host_sync *sync)
{
	NEED(sync && sync->sync);
	return prepare(node, sync, false);
}

enum ingot_status ingot_node_prepare_write(struct ingot_node node, const struct ingot_host_sync *sync)
{
	NEED(sync && sync->sync);
	return prepare(node, sync, true);
}

enum ingot_status prepared_run(struct node *base, bool write)
{
	struct ingot_runtime *runtime = base->object.runtime;
	struct prepared **list = base->before + write;
	if (!*list && !base->preparing)
		return INGOT_OK;
	enum ingot_status status = task_refuses("must not wait for other work");
	if (status || (status = begin(base)))
		return status;
	struct ingot_host_sync latest = { 0 };
	for (const struct prepared *one = *list; one; one = one->next)
		latest = one->sync;
	int code = walk(base, list, true);
	if (!code && latest.transfer && !write && runtime->options.automatic_transfers) {
		host_wait(base, true); /* it writes the array, which uploads may still read */
		leave(runtime);
		inside = true;
		code = latest.transfer(latest.user);
		inside = false;
		enter(runtime);
		if (!code)
			host_written(base);
	}
	end(base);
	return code ? say(INGOT_FAILED, "what n%u waits for answered %d", base->id, code) : INGOT_OK;
}

void prepared_release(struct node *node)
{
	for (int write = 0; write < 2; write++)
		for (struct prepared *one; (one = node->before[write]); memory_free(node->object.runtime, one))
			node->before[write] = one->next;
}
