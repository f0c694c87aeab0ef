/* status.h: what a call of the runtime can answer.  The runtime never prints and never exits: a call that can fail
 * returns one of these, and leaves a sentence about it for the thread that called.
 *
 *     if ((status = ingot_device_get(runtime, "multicore", 0, &device)))
 *             report(ingot_status_name(status), ingot_message());
 */
#ifndef INGOT_STATUS_H
#define INGOT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

enum ingot_status {
	INGOT_OK,
	INGOT_MEMORY,  /* the host or the device has no room */
	INGOT_INVALID, /* an argument that no caller may pass: NULL, a broken descriptor, a bad enum */
	INGOT_STALE,   /* the handle's object was closed */
	INGOT_RANGE,   /* an index, offset, size, symbol or ordinal outside of what is there */
	INGOT_MISSING, /* a name, pool, node or backend that is not there */
	INGOT_PRESENT, /* something that must not be there yet is */
	INGOT_BUSY,    /* others still depend on it (live children of a context), or it is full and is not to block */
	INGOT_FAILED,  /* a task or routine failed; the message names it */
	INGOT_DEPENDENCY,  /* not run, as something it reads or waits for failed */
	INGOT_CANCELLED,   /* not run, as it (or what it waits for) was cancelled */
	INGOT_STOPPED,     /* the stream failed before and was not restarted; its error was reported once */
	INGOT_WOULD_BLOCK, /* the call would wait for ever: an inline device and an event nobody has signalled, or a
	                    * task that waits for work or for room in a queue */
	INGOT_CYCLE,       /* a wait that would wait for itself */
	INGOT_MISMATCH,    /* the merge buffer holds another node, a type or a count differs */
	INGOT_CONFLICT,    /* decisions about a node that cannot both hold, or a second owner of a shared node */
	INGOT_UNSUPPORTED, /* the device cannot do it */
	INGOT_UNREADY,     /* a backend that was not initialised; a routine whose inputs nobody has written */
	INGOT_DEVICE,      /* the backend reports an error of its own */
	INGOT_LEFT_OPEN,   /* ingot_runtime_close: handles were still open (and are closed now) */
	INGOT_LOST,        /* the device went away (reset, unplugged, an error it cannot recover from): for good */
	INGOT_TIMEOUT,     /* what was waited for was not done by the deadline */
	INGOT_STATUS_COUNT
};

const char *ingot_status_name(enum ingot_status); /* "INGOT_STALE"; "?" for no status */
const char *ingot_status_text(enum ingot_status); /* a few words */

/* The sentence of this thread's last failure; "" before the first.  Valid until this thread's next failing call. */
const char *ingot_message(void);

#ifdef __cplusplus
}
#endif
#endif
