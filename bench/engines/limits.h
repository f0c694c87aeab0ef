/* limits.h: what a core can do at most: multiply-adds per second, bytes per second.  Every share that the benches print
 * is a share of one of these, measured in the same process between the engines' turns. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H
#include <stdbool.h>
#include <stddef.h>

struct fma_loop {
	const char *name;
	double flops; /* of one step */
	void (*run)(long steps);
	bool (*present)(void); /* has this CPU the instructions */
};
/* Widest last but for the loops that are no peak (broadcast, latency); ends with a row without a name. */
extern const struct fma_loop fma_loops[];
const struct fma_loop *fma_widest(void);
enum { FMA_CALL_STEPS = 20000 }; /* of one call of the engine `fma`, on each thread */

/* Memory for the streams, zeroed, in large pages where the system gives them: small ones fall on each other's places in
 * the caches, and reach a tenth to a fifth less.  Never freed; NULL where there is none. */
void *stream_buffer(size_t bytes);

/* All sizes in bytes, multiples of 64 that are at least 64, and buffers aligned to 64. */
void stream_read(const void *from, size_t bytes);
void stream_write(void *to, size_t bytes);
void stream_write_past(void *to, size_t bytes); /* by non-temporal stores; as stream_write where there are none */
void stream_copy(void *to, const void *from, size_t bytes);

/* Reads and writes so many bytes, the fastest way known: what a kernel must move that does nothing else. */
void stream_traffic(const void *from, size_t read, void *to, size_t write);

#endif
