/* sync.c: the device that does everything at once, on the caller's thread: the oracle for the others. */
#include <stdlib.h>
#include "host.h"
#include "inside.h"

static struct host_device alone; /* no parallel-for; never written */

static enum ingot_status sync_open(const struct ingot_backend_options *options, void **state, char *text)
{
	(void)options, (void)text;
	*state = NULL;
	return INGOT_OK;
}

static void sync_close(void *state) { (void)state; }
static int sync_devices(void *state)
{
	(void)state;
	return 1;
}
static void sync_device_close(void *device) { (void)device; }
static void sync_wake(void *queue) { (void)queue; } /* whoever submitted runs it */

static enum ingot_status sync_device_open(void *state, int ordinal, void **device, char *text)
{
	(void)state, (void)ordinal, (void)text;
	*device = &alone;
	return INGOT_OK;
}

static enum ingot_status sync_queue_open(void *device, struct ingot_queue *ours, void **queue, char *text)
{
	struct host_queue *made = malloc(sizeof *made);
	(void)ours, (void)text;
	if (!made)
		return INGOT_MEMORY;
	made->device = device;
	*queue = made;
	return INGOT_OK;
}

static void sync_queue_close(void *queue) { free(queue); }

const struct ingot_backend ingot_backend_sync = {
	.version = INGOT_BACKEND_VERSION,
	.name = "sync",
	.waits_inline = true,
	.open = sync_open,
	.close = sync_close,
	.devices = sync_devices,
	.device_open = sync_device_open,
	.device_close = sync_device_close,
	.queue_open = sync_queue_open,
	.queue_close = sync_queue_close,
	.wake = sync_wake,
	HOST_ROWS,
};
