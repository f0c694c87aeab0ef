/* standin.c: counts of the driver that stands in for NVIDIA's (tests/cuda/driver), in the words of the mock
 * device's. */
#include <dlfcn.h>
#include "mock.h"
#include "rows.h"

struct standin_counts {
	unsigned issued, completed, records, records_pending, waits, waits_pending, copies, peer_copies, direct_copies;
	int last_copy_on;
	unsigned graphs, launches, updates, maps;
};

static void *symbol(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *found = driver ? dlsym(driver, name) : NULL;
	if (driver)
		dlclose(driver); /* the backend has it open */
	return found;
}

bool device_counts(const struct trial *t, struct mock_counts *counts)
{
	void (*count)(struct standin_counts *);
	struct standin_counts now;
	if (!strcmp(t->device_name, "mock")) {
		*counts = mock_counts();
		return true;
	}
	*(void **)&count = symbol("standin_count");
	if (!count)
		return false;
	count(&now);
	/* Before each wait the other queue's event is recorded anew; what is reached is spare, not gone. */
	*counts = (struct mock_counts){ .issued = now.issued - now.waits,
		.completed = now.completed - now.waits,
		.copies = now.copies,
		.peer_copies = now.peer_copies,
		.events_made = now.records - now.waits,
		.last_copy_on = now.last_copy_on,
		.in_flight = now.records_pending - now.waits_pending,
		.waits = now.waits,
		.schedules = now.launches,
		.graphs = now.graphs,
		.updates = now.updates,
		.maps = now.maps,
		.direct = now.direct_copies };
	return true;
}

void device_hold(bool on)
{
	void (*hold)(int);
	mock_hold(on);
	*(void **)&hold = symbol("standin_hold");
	if (hold)
		hold(on);
}
