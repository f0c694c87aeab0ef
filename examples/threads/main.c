/* main.c: the pool that lies beside the library. */
#include "ingot_threads.h"
#include "measure.h"

int main(void)
{
	struct ingot_threads *threads;
	int wrong;
	if (ingot_threads_open(&threads, 0)) /* a worker for each core */
		return 1;
	wrong = measure(ingot_threads_parallel(threads));
	ingot_threads_close(threads);
	return wrong;
}
