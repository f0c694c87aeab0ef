/* mock.h: what the tests of the CUDA rows ask the mock device (mock.c) about. */
#ifndef TESTS_RUNTIME_MOCK_H
#define TESTS_RUNTIME_MOCK_H

#include <stdint.h>

struct mock_counts {
	uint32_t issued, completed;       /* operations of all streams so far */
	uint32_t copies, peer_copies;     /* on one device, between two */
	uint32_t events_made, events_live;
	int last_copy_on;                 /* ordinal of the device whose stream the last copy was issued on */
};
struct mock_counts mock_counts(void); /* of the latest mock backend */
#endif
