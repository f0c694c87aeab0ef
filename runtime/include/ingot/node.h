/* node.h: tensor nodes: what a program knows of a tensor, apart from where it lies on each device.
 *
 * A node has an id, labels, an element type, dims (margins included), a memory mode, and perhaps a host array.
 * Decisions about type and mode are collected while they are open, remember who made them (provenance), and are frozen
 * by the first question whose answer depends on them; what contradicts an earlier one is INGOT_CONFLICT, naming both
 * places.
 *
 * Host array and device copies carry versions: a device write makes the device copy the newest, a host write the
 * host's. Transfers copy versions along; one that would copy nothing new is skipped where the call says so.  With
 * `automatic_transfers` host reads fetch the newest copy (INGOT_UNREADY: it went with its context, and could not be
 * fetched then), and runs upload what they read and the host has newer than that context.  Host values may be read and
 * written by any thread: one at a time has a node's array, and transfers of it wait for him. */
#ifndef INGOT_NODE_H
#define INGOT_NODE_H

#include "ingot/mode.h"
#include "ingot/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ingot_node_options {
	const char *const *labels; /* joined by "_" for people; copied */
	uint32_t label_count;
	uint32_t dtype; /* specified; 0: open, the runtime's default in the end */
	uint32_t rank;
	const int64_t *dims;              /* margins included */
	const int64_t *left, *right;      /* margins of each axis; NULL: none */
	double margin;                    /* what margins hold */
	bool margin_open;                 /* margins have no value: operations reset them */
	uint32_t mode;                    /* enum ingot_mode; 0: open */
	uint32_t sharing;                 /* enum ingot_sharing */
	enum ingot_provenance provenance; /* of that mode */
};

/* Ids ascend and are not given again.  INGOT_RANGE: rank, dims or margins. */
enum ingot_status ingot_node_new(struct ingot_runtime *, const struct ingot_node_options *, struct ingot_node *);
/* Takes the caller's array as the node's host array (no copy; margins are part of it), type specified, mode hosted. */
enum ingot_status ingot_node_wrap(
        struct ingot_runtime *, const struct ingot_node_options *, void *data, uint64_t bytes, struct ingot_node *);
/* From a plain array of `count` elements: the array itself where there are no margins or it has them already (count is
 * the padded count), else a copy into the interior.  Another count is INGOT_MISMATCH. */
enum ingot_status ingot_node_reshape(
        struct ingot_runtime *, const struct ingot_node_options *, void *data, uint64_t count, struct ingot_node *);
/* A view of a parent's leading axis, from row `first`: no memory of its own.  Its host array is a part of the parent's,
 * and is as new as that: reading or writing a part reads the whole where that is newer on a device. */
enum ingot_status ingot_node_slice(struct ingot_node parent, int64_t first, int64_t rows, struct ingot_node *);
enum ingot_status ingot_node_close(struct ingot_node); /* contexts that hold it keep it alive; find no longer does */

/* ---- identity ---- */

uint32_t ingot_node_id(struct ingot_node);                    /* UINT32_MAX: stale */
bool ingot_node_equal(struct ingot_node, struct ingot_node);  /* copies of one handle, also when it is stale */
int ingot_node_compare(struct ingot_node, struct ingot_node); /* by id, for qsort */
uint32_t ingot_node_hash(struct ingot_node);                  /* of the id alone, so the same in each run; 0: stale */
/* A set is the caller's array by ascending id, each node once; a map, a second array beside it.  Whether it has the
 * node; *at (or NULL) is where it stands, or where it belongs. */
bool ingot_node_set_find(const struct ingot_node *set, uint32_t count, struct ingot_node, uint32_t *at);
/* A copy of the handle of a live node; INGOT_MISSING: there is none of that id. */
enum ingot_status ingot_node_find(struct ingot_runtime *, uint32_t id, struct ingot_node *);
/* Live nodes by ascending id, at most `room`; the count of all.  keep: or NULL. */
uint32_t ingot_node_list(struct ingot_runtime *, bool (*keep)(struct ingot_node, void *), void *user,
        struct ingot_node *nodes, uint32_t room);
size_t ingot_node_label(struct ingot_node, char *text, size_t room);                /* "w_grad", or "n7" */
size_t ingot_node_debug_name(struct ingot_node, char *text, size_t room);           /* "n7_w_grad" */
size_t ingot_node_dims_text(struct ingot_node, bool axes, char *text, size_t room); /* "2x(1+3+1)"; axes: "0:2x1:..." */
size_t ingot_node_header(struct ingot_node, bool debug, char *text, size_t room);   /* one line, all of it */
/* A line for each node that `keep` takes (NULL: all), by ascending id: its debug name, its header, or the debug
 * header. */
enum ingot_log_level { INGOT_LOG_NAMES, INGOT_LOG_HEADERS, INGOT_LOG_DEBUG };
size_t ingot_node_headers(struct ingot_runtime *, bool (*keep)(struct ingot_node, void *), void *user,
        enum ingot_log_level, char *text, size_t room);
size_t ingot_node_code_name(
        struct ingot_node, char *text, size_t room); /* identifier for code, in the runtime's style */
enum ingot_status ingot_node_code_name_update(struct ingot_node, const char *); /* names.h: which of two is kept */
enum ingot_status ingot_node_note(
        struct ingot_node, const char *text); /* free words of a backend; in the debug header */

size_t ingot_node_note_text(struct ingot_node, char *text, size_t room); /* the note, read back; "": none */

/* ---- type and size ---- */

/* Rank, dims (margins included) and margins as numbers; what is behind the rank is 0. */
struct ingot_node_shape {
	uint32_t rank;
	int64_t dims[INGOT_MAX_RANK], left[INGOT_MAX_RANK], right[INGOT_MAX_RANK];
	double margin; /* what margins hold, unless it is open */
	bool margin_open;
};
enum ingot_status ingot_node_shape(struct ingot_node, struct ingot_node_shape *);

/* Specified beats inferred beats default; two inferred promote.  INGOT_CONFLICT: two specified differ, or the type is
 * frozen.  only_if (or NULL): nothing happens where the type is another. */
enum ingot_status ingot_node_dtype_update(
        struct ingot_node, enum ingot_precision, enum ingot_dtype, const enum ingot_dtype *only_if);
enum ingot_status ingot_node_dtype(struct ingot_node, enum ingot_dtype *); /* freezes */
enum ingot_status ingot_node_count(struct ingot_node, uint64_t *count);    /* margins included */
enum ingot_status ingot_node_bytes(struct ingot_node, uint64_t *bytes);    /* freezes the type */

/* ---- mode ---- */

/* mode.h has the tables; INGOT_CONFLICT: not beside what was decided, by whom and where. */
enum ingot_status ingot_node_mode_update(struct ingot_node, enum ingot_mode, enum ingot_provenance);
enum ingot_status ingot_node_sharing_update(struct ingot_node, enum ingot_sharing, enum ingot_provenance);
struct ingot_mode_state ingot_node_mode(struct ingot_node); /* asks nothing, freezes nothing */
/* Answer, and settle what the answer depends on. */
enum ingot_status ingot_node_is_virtual(struct ingot_node, enum ingot_provenance, bool *);
enum ingot_status ingot_node_is_hosted(struct ingot_node, enum ingot_provenance, bool *);
enum ingot_status ingot_node_is_materialized(struct ingot_node, enum ingot_provenance, bool *);
enum ingot_status ingot_node_is_in_context(struct ingot_node, bool host_memory, enum ingot_provenance, bool *);
enum ingot_status ingot_node_mode_default(struct ingot_node, enum ingot_provenance);

/* ---- values on the host; indices are logical, margins are never seen ---- */

bool ingot_node_has_host(struct ingot_node); /* its own, or a part of its parent's */
enum ingot_status ingot_node_host(struct ingot_node, void **data, uint64_t *bytes); /* INGOT_MISSING: none */
enum ingot_status ingot_node_host_create(struct ingot_node); /* zeros, margins their value; present: fine */
/* read: wait for device work that writes the host array, and with automatic transfers fetch the newest value.  write:
 * wait for device work that reads it, and make it the newest. */
enum ingot_status ingot_node_read(struct ingot_node);
enum ingot_status ingot_node_write(struct ingot_node);
/* Host access in step with work that the runtime knows nothing of, say another library's on the node's host array.
 * Before the next read (write) of the host's values, by ingot_node_read or any call below, each `sync` given until then
 * is called once, in order, but where its `done` (or NULL) says that there is nothing to wait for; with automatic
 * transfers then the latest `transfer` (or NULL), which makes the host array the newest value.  Called without a lock,
 * by the thread that reads; not 0 is INGOT_FAILED for that read.  They may not access values of nodes
 * (INGOT_WOULD_BLOCK).  What is done is forgotten here. */
struct ingot_host_sync {
	bool (*done)(void *user);
	int (*sync)(void *user);
	int (*transfer)(void *user); /* of reads only */
	void *user;                  /* stays until it was called, or the node is closed */
};
enum ingot_status ingot_node_prepare_read(struct ingot_node, const struct ingot_host_sync *);
enum ingot_status ingot_node_prepare_write(struct ingot_node, const struct ingot_host_sync *);
enum ingot_status ingot_node_get(struct ingot_node, const int64_t *index, uint32_t rank, double *value);
enum ingot_status ingot_node_set(struct ingot_node, const int64_t *index, uint32_t rank, double value);
enum ingot_status ingot_node_get_all(struct ingot_node, double *values, uint64_t count);
enum ingot_status ingot_node_set_all(struct ingot_node, const double *values, uint64_t count); /* count must be exact */
enum ingot_status ingot_node_reset_margins(struct ingot_node, double value);
/* For plotting: along `axis` (-1: the last) take coordinate x (and y), all other indices row-major.  *count is how many
 * points there are; at most `room` are written. */
enum ingot_status ingot_node_points_1d(
        struct ingot_node, int axis, int64_t x, double *xs, uint64_t room, uint64_t *count);
enum ingot_status ingot_node_points_2d(
        struct ingot_node, int axis, int64_t x, int64_t y, double *xs, double *ys, uint64_t room, uint64_t *count);
/* How often the host array was copied to a device, and back: skipped transfers do not count. */
enum ingot_status ingot_node_transfers(struct ingot_node, uint64_t *uploads, uint64_t *downloads);

#ifdef __cplusplus
}
#endif
#endif
