/* misuse.h: ways to misuse the runtime, a table row each.  A way is a function of a scene: a runtime with a device, a
 * stream, a context, a library and two routines, a node of the caller's, a pool, a buffer, an event; it gives the
 * status that the call answered, which the row names. */
#ifndef TESTS_RUNTIME_MISUSE_H
#define TESTS_RUNTIME_MISUSE_H

#include <pthread.h>
#include <unistd.h>
#include "../rows/rows.h"

struct scene {
	const char *device_name;
	bool in_place, lazy, host_memory;
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_stream stream, other;
	struct ingot_context context, linked; /* linked: of `dense` */
	struct ingot_library library;
	struct ingot_routine dense, twice;
	struct ingot_node node, x, w, y,
	        s;                  /* node: 16 floats, placed and with a host array; the others the library's */
	uint32_t pool;              /* 64 bytes */
	struct ingot_buffer buffer; /* 16 floats */
	struct ingot_event event;   /* of work that is done */
	const struct ingot_module_kernel *kernel; /* double: two buffers of floats */
	float *host;                              /* 16 floats */
	void *scratch;                            /* of a way */
};

struct way {
	const char *group, *name;
	enum ingot_status host, device; /* what it answers where device memory is the host's, and where not */
	enum ingot_status (*run)(struct scene *);
	const char *only; /* device; NULL: all */
};
extern const struct way ways_null[], ways_stale[], ways_twice[], ways_inside[], ways_beside[], ways_large[],
        ways_readonly[], ways_unaligned[], ways_state[], ways_lock[], ways_busy[];

/* A row whose way is one expression; the rest of a table refers to it by its name. */
#define WAY(group, name, expression) \
	static enum ingot_status group##_##name(struct scene *t) \
	{ \
		(void)t; \
		return (expression); \
	}
#define THAT(condition) ((condition) ? INGOT_OK : INGOT_FAILED)
#define DO_OK(call) \
	do { \
		enum ingot_status way_status = (call); \
		if (way_status) \
			return way_status; \
	} while (0)
/* Ends the way where something that is no misuse fails. */
#define MUST(call) must((call), #call)
void must(enum ingot_status, const char *what);

/* options: or NULL; its backends: instead of the device's own, of that name. */
void scene_open(struct scene *, const struct ingot_runtime_options *);
const struct ingot_backend *backend_named(const char *);
/* Runs `work` in a task on the scene's stream and gives what it answered. */
enum ingot_status in_task(struct scene *, enum ingot_status (*work)(struct scene *));
#endif
