/* said.h: a failure's status, and the sentence that is left for the thread that called. */
#ifndef RUNTIME_SAID_H
#define RUNTIME_SAID_H

#include "common/alone.h"
#include "ingot/status.h"

#if INGOT_THREADS
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define PRINTF(f, a) /* uint32_t is a long there, of the size of an int: the other build is checked */
#endif
enum ingot_status say(enum ingot_status, const char *format, ...) PRINTF(2, 3);

/* The first lines of a public call: what no caller may leave out. */
#define NEED(condition) \
	do { \
		if (!(condition)) \
			return say(INGOT_INVALID, "%s: an argument is missing", __func__); \
	} while (0)
#endif
