/* bounds.c: network -> two engines that do what any engine must at least: `fma` keeps the multiply-add pipes of its
 * threads busy, `traffic` reads and writes the network's bytes.  They take their turns like the others. */
#include "engine.h"
#include "limits.h"

static void fma_task(void *loop, int index)
{
	(void)index;
	((const struct fma_loop *)loop)->run(FMA_CALL_STEPS);
}

static bool fma_run(struct engine *engine)
{
	if (engine->threads > 1)
		parallel->run(parallel->pool, fma_task, engine->session, engine->threads);
	else
		fma_task(engine->session, 0);
	return true;
}

bool fma_open(struct engine *engine)
{
	engine->session = (void *)fma_widest();
	engine->run = fma_run;
	engine->pooled = true;
	return true;
}

struct traffic {
	char *from, *to;
	size_t read, write; /* of one thread */
};

static void traffic_task(void *argument, int index)
{
	const struct traffic *traffic = argument;
	stream_traffic(traffic->from + traffic->read * (size_t)index, traffic->read,
	        traffic->to + traffic->write * (size_t)index, traffic->write);
}

static bool traffic_run(struct engine *engine)
{
	if (engine->threads > 1)
		parallel->run(parallel->pool, traffic_task, engine->session, engine->threads);
	else
		traffic_task(engine->session, 0);
	return true;
}

bool traffic_open(struct engine *engine)
{
	static struct traffic traffic;
	size_t threads = (size_t)engine->threads;
	traffic.read = ((size_t)network.read_bytes / threads + 63) / 64 * 64;
	traffic.write = ((size_t)network.write_bytes / threads + 63) / 64 * 64;
	traffic.from = stream_buffer(traffic.read * threads);
	traffic.to = stream_buffer(traffic.write * threads);
	if (!traffic.from || !traffic.to)
		return engine_fail("no memory for the stream");
	engine->session = &traffic;
	engine->run = traffic_run;
	engine->pooled = true;
	return true;
}
