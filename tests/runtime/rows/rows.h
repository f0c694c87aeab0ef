/* rows.h: one test of one row of the runtime's list, run on each device.  A test is a function of a trial: a fresh
 * runtime with its device, default stream and a root context.  A CHECK that does not hold ends the test. */
#ifndef TESTS_RUNTIME_ROWS_H
#define TESTS_RUNTIME_ROWS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ingot/backend.h"
#include "ingot/context.h"
#include "ingot/names.h"
#include "ingot/plan.h"
#include "ingot/threads.h"

struct trial {
	const char *device_name; /* sync, multicore, lazy, mock */
	bool in_place, lazy;     /* sync; lazy: work runs only when somebody waits */
	bool threads;            /* work runs by itself, beside the caller */
	bool host_memory;
	struct ingot_runtime_options options;
	struct ingot_runtime *runtime;
	struct ingot_device device;
	struct ingot_stream stream;
	struct ingot_context context;
	bool may_leave_open; /* handles left open are part of the test */
};

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#define OK(call) check_ok(call, __FILE__, __LINE__, #call)
#define FAILS(status, call) check_status(status, call, __FILE__, __LINE__, #call)
#define SAYS(text) check_says(text, __FILE__, __LINE__)
/* How often to do what can go wrong by chance: `sample`, or all of `full` with INGOT_LONG=1; a fiftieth of the sample
 * with ROW_SHORT=1, for tools that are slow or that run each test many times. */
int times(int sample, int full);
_Noreturn void check_failed(const char *file, int line, const char *what);
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2))); /* stands in what fails from here on */
void check_ok(enum ingot_status, const char *file, int line, const char *what);
void check_status(enum ingot_status wanted, enum ingot_status got, const char *file, int line, const char *what);
void check_says(const char *text, const char *file, int line); /* the last message contains it */

void second_runtime(struct ingot_runtime *); /* the test has opened; NULL: closed again */
void trial_reopen(struct trial *);           /* with changed options */

/* A task that stands in its stream until it is let go.  Where work runs in place or only when asked for, it does not
 * stand: there nothing runs at the same time. */
struct gate {
	_Atomic int entered, open, left;
};
void gate_hold(struct trial *, struct gate *, struct ingot_stream);
int gate_stand(void *gate); /* what the task does, in any thread; 0 */
void gate_open(struct gate *);
pthread_t gate_open_soon(struct gate *); /* by a thread, to be joined, in 20 ms */
struct ingot_stream other_stream(struct trial *);
struct ingot_node node_f32(struct trial *, const char *label, int64_t count);
void write_f32(struct ingot_context, struct ingot_node, const float *, int64_t count); /* and waits */
void read_f32(struct ingot_context, struct ingot_node, float *, int64_t count);
void json_parses(const char *text);
double json_number(const char *text, const char *key); /* the first "key": */

struct row {
	const char *id, *symbol, *test;
	void (*run)(struct trial *);
	const char *skip;    /* why it is not run; then run is NULL */
	const char *devices; /* NULL: all */
};
extern const struct row rows_device[], rows_memory[], rows_events[], rows_transfer[], rows_sharing[], rows_node[],
        rows_values[], rows_routine[], rows_kernel[], rows_edges[], rows_reach[], rows_failing[], rows_lines[],
        rows_traces[], rows_limits[], rows_outcomes[], rows_meaning[];

extern const struct ingot_backend backend_lazy, backend_mock; /* lazy.c, mock.c: see only the public headers */

/* small.c: a library as the generator would print it.  dense: y = w * x + s (and s += 1); twice: z = 2 * y; merge: sum
 * += merge buffer of grad; steps: the same as dense, then twice, as a static schedule of 3 lanes; fails: always
 * does. */
extern const struct ingot_module small_module, small_pair_module;
#define SMALL_COUNT 16
extern const float small_weights[SMALL_COUNT];
#endif
