/* mock.h: what the tests of the CUDA rows ask the mock device (mock.c) about. */
#ifndef TESTS_RUNTIME_MOCK_H
#define TESTS_RUNTIME_MOCK_H

#include <stdbool.h>
#include <stdint.h>

struct mock_counts {
	uint32_t issued, completed;   /* operations of all streams so far */
	uint32_t copies, peer_copies; /* on one device, between two */
	uint32_t events_made, events_live;
	int last_copy_on;                    /* ordinal of the device whose stream the last copy was issued on */
	uint32_t in_flight, most_in_flight;  /* commands that are issued and not done */
	uint32_t waits;                      /* of a stream for another, by an event of the driver */
	uint32_t modules, schedules, pinned; /* loaded; issued whole; blocks of host memory */
	uint32_t pinned_slabs, shared_slabs; /* asked for so: those that live, and all */
	uint32_t graphs, updates;            /* of the stand-in: made of schedules, and given new addresses */
	unsigned maps;                       /* of memory behind reserved addresses */
	unsigned direct; /* of the copies between two devices, those that do not go through the host */
};
struct mock_counts mock_counts(void); /* of the latest mock backend */
void mock_hold(bool);                 /* while it does, the device executes nothing: all that is issued is in flight */
void mock_slow_frees(bool);           /* giving a slab back takes a device's own thread 5 ms */

/* Of a device of CUDA's shape: the mock's, or the cuda backend's on the driver that stands in.  False: on a GPU nobody
 * counts. */
struct trial;
bool device_counts(const struct trial *, struct mock_counts *);
void device_hold(bool);

/* What the driver fails at, once, after that many calls that went well.  LOST: executing, and from then on
 * everything. */
enum mock_fault {
	MOCK_NO_FAULT,
	MOCK_ISSUE,
	MOCK_EXECUTE,
	MOCK_LOST,
	MOCK_MODULE,
	MOCK_RECORD,
	MOCK_PIN,
	MOCK_PEER,
	MOCK_EVENT,
	MOCK_WAIT,
	MOCK_CAPTURE
};
void mock_fault(enum mock_fault, int after);
bool mock_fault_waits(void); /* it has not happened yet */
#endif
