/* engine.h: what races.  An engine runs one network (or one kernel) again and again on the same inputs; race.c
 * alternates the engines in one process, so that the weather of the machine falls on all of them alike.
 *
 * An engine's file offers one function NAME_open(engine): it loads the network, binds `network.inputs[i].data` as input
 * i and `engine->data[i]` as output i, and sets `engine->run`.  A function that cannot go on says why with engine_fail
 * and returns false; nothing is freed, since the process ends with the race. */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ingot/threads.h"

enum { TENSORS_MOST = 64, RANK_MOST = 16 };

struct tensor {
	const char *name;
	int ort_type, ov_type; /* the element type as the peers number it */
	size_t bytes, rank;
	int64_t dims[RANK_MOST];
	void *data; /* of an input: read from in_I.bin, aligned to 64 bytes */
};

/* Written for each network by bench/harness/drive.py, as network.c. */
struct network {
	struct tensor *inputs, *outputs;
	struct tensor *constants; /* read from const_I.bin, for engines that take no model */
	int input_count, output_count, constant_count;
	double read_bytes, write_bytes;       /* what must move at least: weights, inputs; outputs */
	const char *ort_library, *ov_library; /* paths of the peers' shared libraries */
	const char *ingot_library;            /* libingot, whose JIT races; NULL: it does not */
	const char *onednn;                   /* the kernel in onednn.c's words, or NULL */
	void *(*ingot_workspace)(void);       /* NULL where ingot does not race */
	int (*ingot_call)(void *const *in, void *const *out, void *workspace, const struct ingot_parallel *parallel);
};
extern const struct network network;

struct engine {
	char name[32]; /* as in the table: onnxruntime, openvino-2 */
	int threads;
	bool pooled;                           /* its second thread is of team.c */
	const struct ingot_parallel *parallel; /* what ingot's library gets; NULL: it runs alone */
	bool (*run)(struct engine *);
	bool (*finish)(struct engine *); /* after the last run: brings outputs into data; or NULL */
	void *session, *in[TENSORS_MOST], *out[TENSORS_MOST]; /* the engine's own handles */
	void *data[TENSORS_MOST];                             /* its outputs, 64-byte aligned */
	const char *model;                                    /* peer.onnx, or open.onnx on a second try */
	long calls;                                           /* in a batch */
};

bool engine_fail(const char *format, ...) __attribute__((format(printf, 1, 2))); /* returns false */
void *engine_buffer(size_t bytes);                                               /* aligned to 64 bytes, never NULL */

bool onnxruntime_open(struct engine *);
bool openvino_open(struct engine *);
bool onednn_open(struct engine *); /* onednn_absent.c where the library is not there */
bool library_open(struct engine *);
bool pool_open(struct engine *); /* ways.c: ingot's library with another parallel-for each */
bool openmp_open(struct engine *);
bool mutex_open(struct engine *);
bool priced_open(struct engine *);
bool parts_open(struct engine *); /* parts.c: the largest parts of what threads share */
bool jit_open(struct engine *);
bool fma_open(struct engine *);     /* bounds.c: the multiply-adds of `threads` cores */
bool traffic_open(struct engine *); /* bounds.c: reads and writes network.read_bytes, .write_bytes */

/* team.c: the runtime's intra-op pool over the calling thread and `threads` - 1 others, each on a core of its own, of
 * those the process may use; NULL with one thread. */
extern const struct ingot_parallel *parallel;
void team_start(int threads); /* once; ends the process where it cannot */
void team_pin(void);          /* puts this thread on the first core, which no helper has */

#endif
