/* context.h: contexts, modules, routines, transfers: running libraries on nodes.
 *
 *     ingot_library_load(runtime, &mnist_module, NULL, &library);
 *     ingot_library_node(library, "image", &image);
 *     ingot_library_node(library, "digit", &digit);
 *     ingot_context_new(stream, &context);
 *     ingot_link(context, library, "mnist", &routine);
 *     ingot_routine_context(routine, &linked);
 *     ingot_write(linked, image, pixels, sizeof pixels, NULL);
 *     ingot_routine_run(routine, NULL);
 *     ingot_read(linked, digit, scores, sizeof scores, &done);
 *     ingot_event_sync(done);
 *     ingot_event_close(done);                      // what is opened, or handed out as `done`, is closed, in any order
 *     ingot_routine_close(routine);                 // and the context it was given
 *     ingot_context_close(context);
 *     ingot_library_close(library);
 *
 * A context maps nodes to locations on one device, for one stream.  It sees what its parent sees; what it places itself
 * its parent does not see.  Contexts of which one is an ancestor of the other agree on a node's buffer; unrelated ones
 * have their own, but for constants and shared nodes, which a device has once.
 *
 * Work is ordered by what it touches: each location knows its last writer and its readers, on all streams and on the
 * host.  Reads wait for the last write; a write waits for the last write and for all readers.  No wait is written by
 * hand.
 *
 * Constants of a library are never written, by no call (INGOT_CONFLICT): they may lie in read-only memory, and a device
 * has them once, from the first link to the end of the last library and context that have them; where their upload was
 * skipped, the next link or run uploads them again.  A shared node has one writer, the first stream that writes it,
 * also when that is closed; one that the program itself says is shared any stream may write, each write behind the one
 * before.  Closing a context, routine or library waits for what its stream was given by then; in a task nothing waits,
 * and what is queued keeps what it uses.
 *
 * What a call says of nodes (who owns them, which value is the newest, what is in a merge buffer, what is shared)
 * counts from when its work was accepted: what was refused changes nothing, and what was skipped, as it was cancelled
 * or as something before it failed, takes it back. */
#ifndef INGOT_CONTEXT_H
#define INGOT_CONTEXT_H

#include "ingot/node.h"
#include "ingot/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- contexts ---- */

/* One that sees nothing yet; it keeps its stream from being closed. */
enum ingot_status ingot_context_new(struct ingot_stream, struct ingot_context *);
/* stream: of the parent's device; zeros: the parent's own. */
enum ingot_status ingot_context_child(struct ingot_context parent, struct ingot_stream, struct ingot_context *);
/* The same, but its merge node is this one (zeros: none), not the parent's: for a merge buffer that the program fills by
 * ingot_device_to_device, as a transfer routine's context has it from the transfer. */
enum ingot_status ingot_context_child_merging(
        struct ingot_context parent, struct ingot_stream, struct ingot_node, struct ingot_context *);
/* Waits for its stream, but cancels its own work that waits for an event that nobody signalled; then frees what it
 * owns; with automatic transfers the host gets the newest values that nobody else has.  Again: nothing happens.  With
 * live children: INGOT_BUSY, and nothing happens either.  Its handle still answers queries. */
enum ingot_status ingot_context_finalize(struct ingot_context);
enum ingot_status ingot_context_close(struct ingot_context); /* finalizes, then ends the handle */
bool ingot_context_finalized(struct ingot_context);
enum ingot_status ingot_context_parent(struct ingot_context, struct ingot_context *); /* INGOT_MISSING: has none */
enum ingot_status ingot_context_stream(struct ingot_context, struct ingot_stream *);
/* Places nodes the context does not see yet, zeroed (or with their host array's value, if they have one).  Constants
 * and shared nodes lie where the device has them already.  INGOT_CONFLICT: a node whose mode gives it no memory.
 * Nothing is placed where one cannot be. */
enum ingot_status ingot_context_place(struct ingot_context, const struct ingot_node *, uint32_t count);
/* Places the node in the caller's memory: on devices with host memory, no copy.  The memory stays the caller's, until
 * the context is closed; it is aligned as the node asks, else to its elements (INGOT_INVALID). */
enum ingot_status ingot_context_adopt(struct ingot_context, struct ingot_node, void *memory, uint64_t bytes);
/* Places the node in a pool, with the value that lies there.  The range is the node's bytes, and aligned as the node
 * asks; it is the node's in another context (then both have one value, and work is ordered over both), or free of nodes
 * and in a pool that the program opened, which may be closed before the context.  Calls on the pool itself are ordered
 * with the node's work only within a stream.  INGOT_MISSING: no such pool; INGOT_RANGE, INGOT_MISMATCH, INGOT_INVALID:
 * the range; INGOT_CONFLICT: constants, or another node. */
enum ingot_status ingot_context_bind(struct ingot_context, struct ingot_node, struct ingot_location);
enum ingot_status ingot_context_location(
        struct ingot_context, struct ingot_node, struct ingot_location *); /* INGOT_MISSING */
/* The address, on devices with host memory. */
enum ingot_status ingot_context_address(struct ingot_context, struct ingot_node, void **);
/* The node that the merge buffer is to hold when routines linked here run, which ingot_link compares: a transfer
 * routine's context has it, so has ingot_context_child_merging's, and so have their children; INGOT_MISSING: none. */
enum ingot_status ingot_context_merge_node(struct ingot_context, struct ingot_node *);
size_t ingot_context_json(struct ingot_context, char *text, size_t room); /* nodes and locations */

/* ---- transfers.  Host memory must stay, and stay unchanged, until the event.  present: or NULL; done: or NULL ---- */

/* From and to the node's own host array.  *present is false, and nothing happens, where the context has no such
 * node. */
enum ingot_status ingot_from_host(struct ingot_context, struct ingot_node, bool *present, struct ingot_event *done);
enum ingot_status ingot_to_host(struct ingot_context, struct ingot_node, bool *present, struct ingot_event *done);
/* From and to the caller's array of exactly the node's bytes.  Of a part: the rest of the place stays as it is, but
 * with automatic transfers it gets the newest value first, as what was written in part is the newest then. */
enum ingot_status ingot_write(
        struct ingot_context, struct ingot_node, const void *, uint64_t bytes, struct ingot_event *done);
enum ingot_status ingot_read(struct ingot_context, struct ingot_node, void *, uint64_t bytes, struct ingot_event *done);
/* A child context that has the node besides, with this value; the context itself is unchanged.  INGOT_PRESENT where it
 * has it already; from a device, INGOT_MISSING where the source has it not.  The caller's array must stay until the
 * stream was awaited. */
enum ingot_status ingot_init_from_host(
        struct ingot_context, struct ingot_node, const void *, uint64_t bytes, struct ingot_context *child);
enum ingot_status ingot_init_from_device(
        struct ingot_context, struct ingot_node, struct ingot_context source, struct ingot_context *child);

enum ingot_merge {
	INGOT_MERGE_NONE,      /* into the target's own buffer of the node */
	INGOT_MERGE_COPY,      /* into the merge buffer of the target's stream */
	INGOT_MERGE_STREAMING, /* the merge buffer becomes the source's buffer itself, for the next consumer; across
	                          devices: COPY.  Who overwrites the source before its consumer was submitted has it
	                          copied first, so that it reads what it would have read from a COPY; behind the
	                          consumer an overwritten source leaves the merge buffer empty */
};

const char *ingot_merge_name(enum ingot_merge);           /* "none", "copy", "streaming" */
bool ingot_merge_parse(const char *, enum ingot_merge *); /* false: none of them, and nothing is written */

/* Ordered after the source's last write and, for the target, like any write.  *moved is false where there is nothing to
 * do: the node is missing on a side, or both sides have the same buffer.  Between two backends it goes through the
 * host. */
enum ingot_status ingot_device_to_device(struct ingot_node, struct ingot_context target, enum ingot_merge,
        struct ingot_context source, bool *moved, struct ingot_event *done);
/* The same as a routine; its context carries the merge node, which ingot_link compares.  INGOT_MISSING: nothing to
 * move. */
enum ingot_status ingot_transfer_routine(struct ingot_node, struct ingot_context target, enum ingot_merge,
        struct ingot_context source, struct ingot_routine *);

struct ingot_merge_state {
	bool filled;            /* something was scheduled into it */
	struct ingot_node node; /* the latest */
	bool streaming;         /* it is the source's buffer */
	bool updating;          /* the latest copy into it is not done; while streaming, the consumer that reads it */
	uint64_t owned_bytes;   /* its own storage, which grows and never shrinks */
};
/* A picture of now, of a stream's merge buffer.  update: or NULL; an event of that copy or consumer, for the caller to
 * close; zeros where `updating` is false, as while no consumer was submitted. */
enum ingot_status ingot_merge_buffer(struct ingot_stream, struct ingot_merge_state *, struct ingot_event *update);

/* ---- hazards, as questions.  Done events are dropped from the lists by asking ---- */

enum ingot_status ingot_updating(struct ingot_context, struct ingot_node, bool *); /* its last write is not done */
/* Devices that have the node with a value no older than its host array's; at most `room`. */
enum ingot_status ingot_node_devices(struct ingot_node, struct ingot_device *, uint32_t room, uint32_t *count);
enum ingot_status ingot_owner_stream(struct ingot_device, struct ingot_node,
        struct ingot_stream *); /* INGOT_MISSING: nobody; stale where it was closed */
enum ingot_status ingot_sharing_candidate(struct ingot_device, struct ingot_node, bool *);
/* Streams with undone work on the node; at most `room` are written, *count is how many. */
enum ingot_status ingot_writer_streams(
        struct ingot_context, struct ingot_node, struct ingot_stream *, uint32_t room, uint32_t *count);
enum ingot_status ingot_reader_streams(
        struct ingot_context, struct ingot_node, struct ingot_stream *, uint32_t room, uint32_t *count);
/* Events of that work, for the caller to close: of its writers, the last one first, and of the readers since that, in
 * each stream the last. */
enum ingot_status ingot_writer_events(
        struct ingot_context, struct ingot_node, struct ingot_event *, uint32_t room, uint32_t *count);
enum ingot_status ingot_reader_events(
        struct ingot_context, struct ingot_node, struct ingot_event *, uint32_t room, uint32_t *count);
enum ingot_status ingot_host_reading_streams(
        struct ingot_node, struct ingot_stream *, uint32_t room, uint32_t *count); /* uploads */
enum ingot_status ingot_host_writing_streams(
        struct ingot_node, struct ingot_stream *, uint32_t room, uint32_t *count); /* downloads */
/* Entries of the hazard tables of a device (nodes, pools, merge buffers), done ones included: for tests of their
 * bounds. */
enum ingot_status ingot_hazard_entries(struct ingot_device, uint64_t *count);

/* ---- libraries: loaded modules ---- */

struct ingot_library_options {
	struct ingot_library with; /* share its nodes, by name; zeros: none */
	const void *constants;     /* a mapped file, where the descriptor has no data; kept, not copied */
	uint64_t constants_bytes;  /* must be the descriptor's */
};

/* Checks the descriptor (INGOT_INVALID says what is wrong) and makes its nodes.  The descriptor and the constants must
 * stay until the library is closed, and the contexts that have nodes of it. */
enum ingot_status ingot_library_load(struct ingot_runtime *, const struct ingot_module *,
        const struct ingot_library_options *, struct ingot_library *);
enum ingot_status ingot_library_close(struct ingot_library); /* INGOT_BUSY while routines of it are open */
enum ingot_status ingot_library_node(struct ingot_library, const char *name, struct ingot_node *);
enum ingot_status ingot_library_kernel(struct ingot_library, const char *name, const struct ingot_module_kernel **);
size_t ingot_library_json(struct ingot_library, char *text, size_t room);

/* ---- routines ---- */

/* Places what the routine needs and the context has not (nothing, the second time), and gives a routine on a child
 * context. Errors: INGOT_MISSING where the module has no such routine, or a node that it reads is neither in the
 * context nor initialised nor its input by declaration; INGOT_MISMATCH where the context's merge node is not the one it
 * reads; INGOT_CONFLICT where another stream owns a shared node it writes. */
enum ingot_status ingot_link(struct ingot_context, struct ingot_library, const char *routine, struct ingot_routine *);
/* All routines of the module, in its order, less those that `keep` refuses (their handles are zeros); each is linked
 * downstream of the one before, and *last is the context behind all.  Nothing stays when one fails. */
enum ingot_status ingot_link_all(struct ingot_context, struct ingot_library, bool (*keep)(const char *name, void *),
        void *user, struct ingot_routine *routines, struct ingot_context *last);
enum ingot_status ingot_routine_close(struct ingot_routine); /* and its context; INGOT_BUSY with live children */
enum ingot_status ingot_routine_context(struct ingot_routine, struct ingot_context *);
enum ingot_status ingot_routine_set(struct ingot_routine, const char *symbol, int64_t value); /* kept until set again */
enum ingot_status ingot_routine_symbol(struct ingot_routine, const char *symbol, int64_t *value);
/* A file for the debug log of generated code that has one; copied.  NULL: none.  Runs that were submitted keep
 * theirs. */
enum ingot_status ingot_routine_log(struct ingot_routine, const char *path);
/* Asynchronous.  INGOT_RANGE for a symbol that was not set and has no single value; INGOT_MISMATCH where the merge
 * buffer holds another node; INGOT_UNREADY where an input was never written (the message names it and, if one of the
 * open routines would write it, that one). */
enum ingot_status ingot_routine_run(struct ingot_routine, struct ingot_event *done);
enum ingot_status ingot_routine_can_run(struct ingot_routine, bool *);
/* Of the latest run, after its event: the actual extents it reported. */
enum ingot_status ingot_routine_extents(struct ingot_routine, int64_t *, uint32_t count);
enum ingot_status ingot_routine_event(struct ingot_routine, struct ingot_event *); /* of the latest run */
/* Name, inputs, outputs, merge input, symbols, and the routines it depends on. */
size_t ingot_routine_json(struct ingot_routine, char *text, size_t room);

#ifdef __cplusplus
}
#endif
#endif
