/* rows_failing.c: each call, with each allocation, thread and backend call behind it failing once.  A call that failed
 * says so, leaves nothing behind that its caller would have to close, and does what it should when it is made again. */
#include <unistd.h>
#include "fault.h"
#include "mock.h"
#include "rows.h"

#define N SMALL_COUNT
#define MOST 12
#define TRY(call) \
	do { \
		enum ingot_status tried = (call); \
		if (tried) \
			return tried; \
	} while (0)

/* Where a scene plays; what its call opens it puts where it is closed. */
struct stage {
	struct trial *trial;
	struct ingot_runtime *runtime;
	struct ingot_device device, twin, elsewhere; /* elsewhere: another backend's */
	struct ingot_stream stream, far, away;
	struct ingot_context context, there, apart;
	struct ingot_node a, b, big; /* a is in all contexts; big has margins */
	struct ingot_library library;
	struct ingot_event events[MOST];
	struct ingot_context contexts[MOST];
	struct ingot_node nodes[MOST];
	struct ingot_routine routines[MOST];
	struct ingot_library libraries[MOST];
	struct ingot_stream streams[2];
	struct ingot_device devices[2];
	uint32_t pools[3];
	float seen[N];
	bool again; /* the call that failed is made again */
	bool wrong; /* all went well, and yet the result is another */
};

struct scene {
	const char *name;
	enum ingot_status (*before)(struct stage *); /* or NULL */
	enum ingot_status (*call)(struct stage *);
	bool automatic; /* transfers */
	bool quiet;     /* it may go well although something failed */
	bool keeps;     /* something for later: values, failures that are told later, what a device has once */
	bool stands;    /* its streams do, until events[0] is signalled */
	bool writes;    /* `a`, by a task: one that failed behind that leaves no value, and why */
};

static const float one_to_sixteen[N] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static struct ingot_node_options f32(const char *const *label, const int64_t *dims)
{
	return (struct ingot_node_options){
		.labels = label, .label_count = label != NULL, .dtype = INGOT_F32, .rank = 1, .dims = dims
	};
}

static const int64_t sixteen[1] = { N };

static void results_close(struct stage *s)
{
	for (int i = MOST - 1; i >= 0; i--) {
		if (s->events[i].runtime)
			OK(ingot_event_close(s->events[i]));
		if (s->routines[i].runtime)
			OK(ingot_routine_close(s->routines[i]));
		if (s->contexts[i].runtime)
			OK(ingot_context_close(s->contexts[i]));
		if (s->libraries[i].runtime)
			OK(ingot_library_close(s->libraries[i]));
		if (s->nodes[i].runtime)
			OK(ingot_node_close(s->nodes[i]));
	}
	for (int i = 0; i < 3; i++)
		if (s->pools[i])
			OK(ingot_pool_close(s->device, s->pools[i]));
	for (int i = 0; i < 2; i++) {
		if (s->streams[i].runtime)
			OK(ingot_stream_close(s->streams[i]));
		if (s->devices[i].runtime)
			OK(ingot_device_close(s->devices[i]));
	}
	memset(s->events, 0, sizeof s->events);
	memset(s->contexts, 0, sizeof s->contexts);
	memset(s->nodes, 0, sizeof s->nodes);
	memset(s->routines, 0, sizeof s->routines);
	memset(s->libraries, 0, sizeof s->libraries);
	memset(s->streams, 0, sizeof s->streams);
	memset(s->devices, 0, sizeof s->devices);
	memset(s->pools, 0, sizeof s->pools);
}

static void written(struct stage *s)
{
	struct ingot_event done;
	OK(ingot_write(s->context, s->a, one_to_sixteen, sizeof one_to_sixteen, &done));
	OK(ingot_event_sync(done));
	OK(ingot_event_close(done));
}

/* What the streams say once: work that nobody waited for may have failed too. */
static enum ingot_status streams_settle(struct stage *s)
{
	struct ingot_stream of[3] = { s->stream, s->far, s->away };
	enum ingot_status status = INGOT_OK, said;
	for (int i = 0; i < 3; i++) {
		said = ingot_stream_await(of[i]);
		status = status ? status : said;
		OK(ingot_stream_restart(of[i]));
	}
	return status;
}

static void stage_open(struct stage *s, struct trial *t, bool automatic)
{
	struct ingot_runtime_options options = t->options;
	static const int64_t wide[1] = { 10 }, margin[1] = { 1 };
	static const char *const label = "a";
	const char *other = t->in_place ? "multicore" : "sync";
	*s = (struct stage){ .trial = t };
	options.spare_commands = INGOT_NO_SPARES;
	options.automatic_transfers = automatic;
	OK(ingot_runtime_open(&s->runtime, &options));
	OK(ingot_backend_init(
	        s->runtime, t->device_name, &(struct ingot_backend_options){ .intra_op_threads = 2, .seed = 7 }));
	OK(ingot_backend_init(s->runtime, other, &(struct ingot_backend_options){ .intra_op_threads = 1 }));
	OK(ingot_device_get(s->runtime, t->device_name, 0, &s->device));
	OK(ingot_device_another(s->runtime, t->device_name, 0, &s->twin));
	OK(ingot_device_get(s->runtime, other, 0, &s->elsewhere));
	OK(ingot_stream_default(s->device, &s->stream));
	OK(ingot_stream_default(s->twin, &s->far));
	OK(ingot_stream_default(s->elsewhere, &s->away));
	OK(ingot_context_new(s->stream, &s->context));
	OK(ingot_context_new(s->far, &s->there));
	OK(ingot_context_new(s->away, &s->apart));
	OK(ingot_library_load(s->runtime, &small_module, NULL, &s->library));
	struct ingot_node_options of = f32(&label, sixteen);
	OK(ingot_node_new(s->runtime, &of, &s->a));
	OK(ingot_node_new(s->runtime, &of, &s->b));
	of = f32(NULL, wide);
	of.left = of.right = margin;
	OK(ingot_node_new(s->runtime, &of, &s->big));
	OK(ingot_context_place(s->context, &s->a, 1));
	OK(ingot_context_place(s->there, &s->a, 1));
	OK(ingot_context_place(s->apart, &s->a, 1));
	written(s);
	OK(streams_settle(s)); /* no call of these counts in the scene */
}

static void stage_close(struct stage *s)
{
	results_close(s);
	OK(ingot_library_close(s->library));
	OK(ingot_context_close(s->context));
	OK(ingot_context_close(s->there));
	OK(ingot_context_close(s->apart));
	OK(ingot_node_close(s->a));
	OK(ingot_node_close(s->b));
	OK(ingot_node_close(s->big));
	OK(ingot_runtime_close(s->runtime));
}

/* ---- the scenes ---- */

static enum ingot_status read_back(
        struct stage *s, struct ingot_context context, struct ingot_node node, const float *wanted, float factor)
{
	struct ingot_event done;
	memset(s->seen, 0, sizeof s->seen);
	TRY(ingot_read(context, node, s->seen, sizeof s->seen, &done));
	enum ingot_status status = ingot_event_sync(done);
	OK(ingot_event_close(done));
	for (int i = 0; i < N && !status; i++)
		s->wrong = s->wrong || s->seen[i] != wanted[i] * factor;
	return status;
}

static enum ingot_status devices_open(struct stage *s)
{
	TRY(ingot_device_another(s->runtime, s->trial->device_name, 0, &s->devices[0]));
	return ingot_device_another(s->runtime, s->trial->device_name, 0, &s->devices[1]);
}

static enum ingot_status streams_open(struct stage *s)
{
	TRY(ingot_stream_open(s->device, &s->streams[0]));
	return ingot_stream_open(s->device, &s->streams[1]);
}

static enum ingot_status contexts_open(struct stage *s)
{
	TRY(ingot_context_new(s->stream, &s->contexts[0]));
	return ingot_context_child(s->contexts[0], (struct ingot_stream){ 0 }, &s->contexts[1]);
}

static enum ingot_status nodes_open(struct stage *s)
{
	static const char *const labels[] = { "first", "second" };
	static float data[N];
	struct ingot_node_options of = f32(labels, sixteen);
	of.label_count = 2;
	TRY(ingot_node_new(s->runtime, &of, &s->nodes[0]));
	TRY(ingot_node_code_name_update(s->nodes[0], "name"));
	TRY(ingot_node_note(s->nodes[0], "a note"));
	TRY(ingot_node_host_create(s->nodes[0]));
	TRY(ingot_node_slice(s->nodes[0], 4, 8, &s->nodes[1]));
	return ingot_node_wrap(s->runtime, &of, data, sizeof data, &s->nodes[2]);
}

static enum ingot_status node_reshaped(struct stage *s)
{
	static const int64_t dims[1] = { 6 }, margin[1] = { 1 };
	static float data[4] = { 1, 2, 3, 4 };
	double seen[4] = { 0 };
	struct ingot_node_options of = f32(NULL, dims);
	of.left = of.right = margin;
	TRY(ingot_node_reshape(s->runtime, &of, data, 4, &s->nodes[0]));
	TRY(ingot_node_get_all(s->nodes[0], seen, 4));
	s->wrong = seen[0] != 1 || seen[3] != 4;
	return INGOT_OK;
}

static enum ingot_status pools_open(struct stage *s)
{
	struct ingot_buffer buffer = { 0 };
	TRY(ingot_pool_open(s->device, 64, 0, INGOT_SLAB_PRIVATE, &s->pools[0]));
	TRY(ingot_buffer_open(s->device, INGOT_F32, 4, &buffer));
	s->pools[1] = buffer.pool;
	TRY(ingot_pool_replace(s->device, s->pools[0], 256, 0, INGOT_SLAB_PRIVATE));
	TRY(ingot_pool_ensure(s->device, 1024, 0, &s->pools[0]));
	return ingot_pool_ensure(s->device, 64, 0, &s->pools[2]);
}

static enum ingot_status pool_stays(struct stage *s)
{
	return ingot_pool_open(s->device, 64, 0, INGOT_SLAB_PRIVATE, &s->pools[0]);
}

static enum ingot_status pool_grows(struct stage *s)
{
	uint64_t bytes;
	enum ingot_status status = ingot_pool_replace(s->device, s->pools[0], 512, 0, INGOT_SLAB_PRIVATE);
	OK(ingot_pool_bytes(s->device, s->pools[0], &bytes));
	CHECK(bytes == (status ? 64 : 512));
	return status;
}

/* Values of the host go up with the places; none is placed where one cannot be. */
static enum ingot_status nodes_given(struct stage *s)
{
	struct ingot_node_options of = f32(NULL, sixteen);
	for (int i = 0; i < 4; i++) {
		TRY(ingot_node_new(s->runtime, &of, &s->nodes[i]));
		TRY(ingot_node_host_create(s->nodes[i]));
		TRY(ingot_node_set_all(
		        s->nodes[i], (double[N]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, N));
	}
	of.sharing = INGOT_SHARED;
	of.mode = INGOT_ON_DEVICE;
	of.provenance = INGOT_BY_USER;
	TRY(ingot_node_new(s->runtime, &of, &s->nodes[4]));
	of.sharing = 0;
	TRY(ingot_node_new(s->runtime, &of, &s->nodes[5]));
	TRY(ingot_context_new(s->stream, &s->contexts[0]));
	return ingot_context_new(s->stream, &s->contexts[1]);
}

static enum ingot_status nodes_placed(struct stage *s)
{
	struct ingot_location at;
	enum ingot_status status = ingot_context_place(s->contexts[0], s->nodes, 6);
	for (int i = 0; i < 6; i++)
		CHECK(ingot_context_location(s->contexts[0], s->nodes[i], &at) == (status ? INGOT_MISSING : INGOT_OK));
	TRY(status);
	TRY(ingot_context_place(s->contexts[1], s->nodes, 6));
	if (!s->again) /* a value that did not arrive does not come by placing again */
		TRY(read_back(s, s->contexts[1], s->nodes[2], one_to_sixteen, 1));
	return ingot_stream_await(s->stream);
}

static enum ingot_status libraries_loaded(struct stage *s)
{
	TRY(ingot_library_load(s->runtime, &small_pair_module, &(struct ingot_library_options){ .with = s->library },
	        &s->libraries[1]));
	return ingot_library_load(s->runtime, &small_module, NULL, &s->libraries[0]);
}

static enum ingot_status routines_linked(struct stage *s)
{
	TRY(ingot_link(s->context, s->library, "dense", &s->routines[0]));
	TRY(ingot_link(s->context, s->library, "row", &s->routines[1]));
	return ingot_link(s->context, s->library, "steps", &s->routines[2]);
}

/* Twice on one device: what is read only, and has a value, is shared by the second. */
static enum ingot_status readers_linked(struct stage *s)
{
	TRY(ingot_library_load(s->runtime, &small_pair_module, NULL, &s->libraries[0]));
	TRY(ingot_context_new(s->stream, &s->contexts[0]));
	TRY(ingot_context_new(s->stream, &s->contexts[1]));
	TRY(ingot_link(s->contexts[0], s->libraries[0], "look", &s->routines[0]));
	TRY(ingot_link(s->contexts[1], s->libraries[0], "look", &s->routines[1]));
	TRY(ingot_link(s->contexts[0], s->libraries[0], "set", &s->routines[2]));
	TRY(ingot_routine_run(s->routines[0], NULL));
	TRY(ingot_routine_run(s->routines[1], NULL));
	return ingot_stream_await(s->stream);
}

static bool but_merge(const char *name, void *user)
{
	(void)user;
	return strcmp(name, "merge") != 0;
}

static enum ingot_status all_linked(struct stage *s)
{
	enum ingot_status status =
	        ingot_link_all(s->context, s->library, but_merge, NULL, s->routines, &s->contexts[0]);
	s->contexts[0] = (struct ingot_context){ 0 }; /* the last routine's */
	return status;
}

static enum ingot_status dense_given(struct stage *s)
{
	struct ingot_context linked;
	struct ingot_node x;
	TRY(ingot_link(s->context, s->library, "dense", &s->routines[0]));
	TRY(ingot_link(s->context, s->library, "steps", &s->routines[1]));
	TRY(ingot_routine_set(s->routines[0], "n", N));
	OK(ingot_library_node(s->library, "x", &x));
	for (int i = 0; i < 2; i++) {
		TRY(ingot_routine_context(s->routines[i], &linked));
		TRY(ingot_write(linked, x, one_to_sixteen, sizeof one_to_sixteen, &s->events[0]));
		TRY(ingot_event_sync(s->events[0]));
		TRY(ingot_event_close(s->events[0]));
		s->events[0] = (struct ingot_event){ 0 };
	}
	return INGOT_OK;
}

static enum ingot_status dense_run(struct stage *s)
{
	static const float zeros[N];
	int64_t extent = 0;
	struct ingot_context linked;
	struct ingot_node state;
	OK(ingot_routine_context(s->routines[0], &linked));
	OK(ingot_library_node(s->library, "s", &state));
	if (s->again) /* what a run that failed left of it is nothing to go on with */
		TRY(ingot_write(linked, state, zeros, sizeof zeros, NULL));
	TRY(ingot_routine_run(s->routines[0], &s->events[0]));
	enum ingot_status status = ingot_event_sync(s->events[0]);
	CHECK(ingot_routine_extents(s->routines[0], &extent, 1) == status);
	s->wrong = !status && extent != N;
	TRY(status);
	return ingot_routine_event(s->routines[0], &s->events[1]);
}

static enum ingot_status steps_run(struct stage *s)
{
	float wanted[N];
	struct ingot_context linked;
	struct ingot_node z;
	TRY(ingot_routine_run(s->routines[1], &s->events[0]));
	TRY(ingot_event_sync(s->events[0]));
	OK(ingot_library_node(s->library, "z", &z));
	OK(ingot_routine_context(s->routines[1], &linked));
	for (int i = 0; i < N; i++)
		wanted[i] = small_weights[i] * one_to_sixteen[i];
	return read_back(s, linked, z, wanted, 2);
}

static enum ingot_status host_moved(struct stage *s)
{
	TRY(ingot_node_host_create(s->a));
	TRY(ingot_node_set_all(s->a, (double[N]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, N));
	TRY(ingot_from_host(s->context, s->a, NULL, &s->events[0]));
	TRY(ingot_to_host(s->context, s->a, NULL, &s->events[1]));
	TRY(ingot_write(s->context, s->a, one_to_sixteen, sizeof one_to_sixteen, &s->events[2]));
	TRY(ingot_event_sync(s->events[0]));
	TRY(ingot_event_sync(s->events[1]));
	TRY(ingot_event_sync(s->events[2]));
	return read_back(s, s->context, s->a, one_to_sixteen, 1);
}

static enum ingot_status children_made(struct stage *s)
{
	TRY(ingot_init_from_host(s->context, s->b, one_to_sixteen, sizeof one_to_sixteen, &s->contexts[0]));
	TRY(read_back(s, s->contexts[0], s->b, one_to_sixteen, 1));
	TRY(ingot_context_new(s->stream, &s->contexts[1]));
	TRY(ingot_init_from_device(s->contexts[1], s->a, s->context, &s->contexts[2]));
	return read_back(s, s->contexts[2], s->a, one_to_sixteen, 1);
}

static enum ingot_status moved_to(struct stage *s, struct ingot_context to, enum ingot_merge merge)
{
	bool moved;
	TRY(ingot_device_to_device(s->a, to, merge, s->context, &moved, &s->events[0]));
	CHECK(!s->trial->in_place || !ingot_stream_queued(s->stream)); /* nobody has to wait for what runs in place */
	TRY(ingot_event_sync(s->events[0]));
	return merge ? INGOT_OK : read_back(s, to, s->a, one_to_sixteen, 1);
}

static enum ingot_status moved_near(struct stage *s) { return moved_to(s, s->there, INGOT_MERGE_NONE); }
static enum ingot_status moved_away(struct stage *s) { return moved_to(s, s->apart, INGOT_MERGE_NONE); }
static enum ingot_status merged_near(struct stage *s) { return moved_to(s, s->there, INGOT_MERGE_COPY); }
static enum ingot_status merged_away(struct stage *s) { return moved_to(s, s->apart, INGOT_MERGE_COPY); }

/* Back from the other backend. */
static enum ingot_status back_given(struct stage *s)
{
	enum ingot_status status = moved_to(s, s->apart, INGOT_MERGE_NONE);
	OK(ingot_event_close(s->events[0]));
	s->events[0] = (struct ingot_event){ 0 };
	return status;
}
static enum ingot_status moved_back(struct stage *s)
{
	TRY(ingot_device_to_device(s->a, s->context, INGOT_MERGE_NONE, s->apart, NULL, &s->events[0]));
	TRY(ingot_event_sync(s->events[0]));
	return read_back(s, s->context, s->a, one_to_sixteen, 1);
}

/* A merge buffer that is the source itself, copied when that is written. */
static enum ingot_status streaming_given(struct stage *s)
{
	return ingot_device_to_device(s->a, s->context, INGOT_MERGE_STREAMING, s->context, NULL, NULL);
}
static enum ingot_status source_written(struct stage *s)
{
	struct ingot_merge_state state;
	TRY(ingot_write(s->context, s->a, one_to_sixteen, sizeof one_to_sixteen, &s->events[0]));
	TRY(ingot_event_sync(s->events[0]));
	TRY(ingot_merge_buffer(s->stream, &state, NULL));
	s->wrong = state.streaming || !state.filled;
	return INGOT_OK;
}

static enum ingot_status transfer_linked(struct stage *s)
{
	struct ingot_node node;
	struct ingot_context linked;
	TRY(ingot_transfer_routine(s->a, s->context, INGOT_MERGE_COPY, s->there, &s->routines[0]));
	TRY(ingot_routine_context(s->routines[0], &linked));
	TRY(ingot_context_merge_node(linked, &node));
	TRY(ingot_context_child(linked, (struct ingot_stream){ 0 }, &s->contexts[1]));
	TRY(ingot_context_close(s->contexts[1]));
	s->contexts[1] = (struct ingot_context){ 0 };
	return ingot_transfer_routine(s->a, s->context, INGOT_MERGE_NONE, s->there, &s->routines[1]);
}

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

/* On streams that run in place nothing can wait for what comes later. */
static enum ingot_status promise_waited(struct stage *s)
{
	struct ingot_use uses[2] = { { s->context, s->a, false, false }, { s->context, s->a, true, false } };
	if (s->trial->in_place)
		TRY(ingot_stream_signal(s->stream, s->events[1]));
	TRY(ingot_stream_wait(s->far, s->events[1]));
	TRY(ingot_task_submit(
	        s->far, &(struct ingot_task){ .run = nothing, .waits = s->events, .wait_count = 2 }, &s->events[2]));
	if (!s->trial->in_place)
		TRY(ingot_stream_signal(s->stream, s->events[1]));
	TRY(ingot_task_submit(
	        s->stream, &(struct ingot_task){ .run = nothing, .uses = uses, .use_count = 2 }, &s->events[3]));
	return ingot_event_record(s->far, &s->events[4]);
}

static enum ingot_status events_made(struct stage *s)
{
	TRY(ingot_event_record(s->stream, &s->events[0]));
	TRY(ingot_event_open(s->runtime, &s->events[1]));
	enum ingot_status status = promise_waited(s);
	if (status)
		ingot_event_signal(s->events[1]); /* who waits for it already may go */
	TRY(status);
	TRY(ingot_event_sync(s->events[4]));
	return ingot_event_sync(s->events[3]);
}

/* Two streams read what stands behind a promise: so its events can be asked for. */
static enum ingot_status readers_given(struct stage *s)
{
	struct ingot_use use = { s->context, s->a, false, false }, write = { s->context, s->a, true, false };
	TRY(ingot_stream_open(s->device, &s->streams[0]));
	TRY(ingot_event_open(s->runtime, &s->events[0]));
	TRY(ingot_stream_wait(s->streams[0], s->events[0]));
	TRY(ingot_task_submit(
	        s->streams[0], &(struct ingot_task){ .run = nothing, .uses = &write, .use_count = 1 }, NULL));
	TRY(ingot_stream_wait(s->stream, s->events[0]));
	TRY(ingot_task_submit(s->stream, &(struct ingot_task){ .run = nothing, .uses = &use, .use_count = 1 }, NULL));
	return ingot_task_submit(
	        s->streams[0], &(struct ingot_task){ .run = nothing, .uses = &use, .use_count = 1 }, NULL);
}
static enum ingot_status readers_asked(struct stage *s)
{
	uint32_t count = 0, writers = 0;
	enum ingot_status status = ingot_reader_events(s->context, s->a, s->events + 1, 4, &count);
	if (status)
		memset(s->events + 1, 0, 4 * sizeof *s->events); /* handles that are closed again */
	else
		status = ingot_writer_events(s->context, s->a, s->events + 5, 1, &writers);
	s->wrong = count != 2 || writers != 1;
	return status;
}

static enum ingot_status trace_made(struct stage *s)
{
	char text[4000];
	TRY(ingot_trace_begin(s->runtime, 16));
	enum ingot_status status =
	        ingot_task_submit(s->stream, &(struct ingot_task){ .name = "traced", .run = nothing }, NULL);
	if (!status)
		status = ingot_stream_await(s->stream);
	ingot_trace_json(s->runtime, text, sizeof text);
	s->wrong = !strstr(text, "traced");
	ingot_trace_end(s->runtime);
	return status;
}

static enum ingot_status host_given(struct stage *s) { return ingot_node_host_create(s->a); }

/* Reads of the host fetch the newest; writes of a part fetch the rest before. */
static enum ingot_status values_read(struct stage *s)
{
	double values[N];
	TRY(ingot_node_get_all(s->a, values, N));
	s->wrong = values[0] != 1 || values[15] != 16;
	return INGOT_OK;
}
static enum ingot_status part_given(struct stage *s)
{
	TRY(ingot_node_host_create(s->a));
	return ingot_node_slice(s->a, 0, 4, &s->nodes[0]);
}
static enum ingot_status part_written(struct stage *s)
{
	double values[N];
	TRY(ingot_node_set_all(s->nodes[0], (double[]){ 1, 2, 3, 4 }, 4));
	TRY(ingot_node_get_all(s->a, values, N));
	s->wrong = values[0] != 1 || values[15] != 16;
	return INGOT_OK;
}

static enum ingot_status host_prepared(struct stage *s)
{
	struct ingot_host_sync sync = { .sync = nothing };
	TRY(ingot_node_host_create(s->b));
	TRY(ingot_node_prepare_read(s->b, &sync));
	TRY(ingot_node_prepare_write(s->b, &sync));
	return ingot_node_write(s->b);
}

static enum ingot_status kernel_launched(struct stage *s)
{
	const struct ingot_module_kernel *kernel;
	struct ingot_buffer buffers[2] = { { 0 }, { 0 } };
	float in[4] = { 1, 2, 3, 4 }, out[4] = { 0 };
	TRY(ingot_library_kernel(s->library, "double", &kernel));
	for (int i = 0; i < 2; i++) {
		TRY(ingot_buffer_open(s->device, INGOT_F32, 4, buffers + i));
		s->pools[i] = buffers[i].pool;
	}
	TRY(ingot_buffer_write(s->stream, buffers, in, sizeof in, 0, sizeof in));
	TRY(ingot_kernel_launch(s->stream, kernel, (uint32_t[]){ 4, 1, 1 }, NULL, buffers, 2, &s->events[0]));
	TRY(ingot_event_sync(s->events[0]));
	TRY(ingot_buffer_read(s->stream, buffers + 1, 0, out, sizeof out, 0, sizeof out));
	s->wrong = out[0] != 2 || out[3] != 8;
	return INGOT_OK;
}

/* What nobody else has goes to the host when its context closes.  Where it could not be fetched, reading says so. */
static enum ingot_status newest_given(struct stage *s)
{
	TRY(ingot_node_host_create(s->b));
	TRY(ingot_context_new(s->stream, &s->contexts[0]));
	TRY(ingot_context_place(s->contexts[0], &s->b, 1));
	TRY(ingot_write(s->contexts[0], s->b, one_to_sixteen, sizeof one_to_sixteen, &s->events[0]));
	return ingot_event_sync(s->events[0]);
}
static enum ingot_status newest_kept(struct stage *s)
{
	double values[N];
	if (s->contexts[0].runtime) {
		OK(ingot_context_close(s->contexts[0]));
		s->contexts[0] = (struct ingot_context){ 0 };
	} else /* again: the host's value is the newest there is */
		OK(ingot_node_set_all(s->b, (double[N]){ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 }, N));
	TRY(ingot_node_get_all(s->b, values, N));
	s->wrong = values[0] != 1 || values[15] != 16;
	return INGOT_OK;
}

static enum ingot_status threads_made(struct stage *s)
{
	struct ingot_threads *threads = NULL;
	(void)s;
	TRY(ingot_threads_open(&threads, 3));
	ingot_threads_close(threads);
	return INGOT_OK;
}

static const struct scene objects[] = {
	{ .name = "devices", .call = devices_open },
	{ .name = "streams", .call = streams_open },
	{ .name = "contexts", .call = contexts_open },
	{ .name = "nodes", .call = nodes_open },
	{ .name = "reshape", .call = node_reshaped },
	{ .name = "pools", .call = pools_open },
	{ .name = "replace", .before = pool_stays, .call = pool_grows },
	{ .name = "trace", .call = trace_made },
	{ .name = "threads", .call = threads_made },
	{ .name = "prepare", .call = host_prepared, .keeps = true },
	{ .name = "libraries", .call = libraries_loaded },
};
static const struct scene contexts[] = {
	{ .name = "place", .before = nodes_given, .call = nodes_placed },
	{ .name = "link", .call = routines_linked },
	{ .name = "link readers", .call = readers_linked, .keeps = true },
	{ .name = "link_all", .call = all_linked },
	{ .name = "transfer routine", .call = transfer_linked },
	{ .name = "children", .call = children_made },
};
static const struct scene work[] = {
	{ .name = "run", .before = dense_given, .call = dense_run },
	{ .name = "run steps", .before = dense_given, .call = steps_run },
	{ .name = "run, automatic", .before = dense_given, .call = dense_run, .automatic = true },
	{ .name = "kernel", .call = kernel_launched },
	{ .name = "events", .call = events_made, .writes = true },
	{ .name = "questions", .before = readers_given, .call = readers_asked, .stands = true },
};
static const struct scene moves[] = {
	{ .name = "host", .call = host_moved, .keeps = true },
	{ .name = "near", .call = moved_near, .keeps = true },
	{ .name = "away", .call = moved_away, .quiet = true, .keeps = true },
	{ .name = "back", .before = back_given, .call = moved_back, .quiet = true },
	{ .name = "merge", .call = merged_near, .keeps = true },
	{ .name = "merge, away", .call = merged_away, .quiet = true, .keeps = true },
	{ .name = "streaming", .before = streaming_given, .call = source_written },
	{ .name = "values", .before = host_given, .call = values_read, .automatic = true },
	{ .name = "a part", .before = part_given, .call = part_written, .automatic = true },
	{ .name = "newest", .before = newest_given, .call = newest_kept, .automatic = true },
};

static void scene_play(struct trial *t, const struct scene *scene, bool libc)
{
	for (int k = 1;; k++) {
		long libc_blocks = fault_libc_blocks(), threads = fault_threads(), blocks = fault_blocks();
		struct stage s;
		check_note("%s, failing call %d", scene->name, k);
		stage_open(&s, t, scene->automatic);
		if (scene->before)
			OK(scene->before(&s));
		if (!scene->stands)
			OK(streams_settle(&s));
		struct stage given = s;
		fault_libc(libc);
		fault_plant(k);
		enum ingot_status status = scene->call(&s), settled = INGOT_OK;
		if (!scene->stands)
			settled = streams_settle(&s);
		status = status ? status : settled;
		bool happened = fault_happened(), fault_was_here = fault_here();
		fault_forget();
		fault_libc(false);
		if (!happened)
			OK(status);
		CHECK(!happened || status || scene->quiet || (scene->stands && !fault_was_here));
		CHECK(status || !s.wrong);
		if (status) {
			CHECK(ingot_message()[0]);
			if (!scene->before)
				results_close(&s);
			if (scene->writes)
				written(&s);
			for (int i = 0; i < MOST; i++)
				if (s.events[i].runtime && !given.events[i].runtime) {
					OK(ingot_event_close(s.events[i]));
					s.events[i] = given.events[i];
				}
			s.wrong = false;
			s.again = true;
			OK(scene->call(&s));
			CHECK(!s.wrong);
		}
		if (scene->stands)
			OK(ingot_event_signal(s.events[0]));
		OK(streams_settle(&s));
		stage_close(&s);
		CHECK(fault_blocks() == blocks);
		CHECK(fault_libc_blocks() == libc_blocks);
		CHECK(fault_threads() == threads);
		if (!happened)
			break;
	}
}

/* Each scene has a runtime of its own. */
static void trial_over(struct trial *t)
{
	OK(ingot_context_close(t->context));
	OK(ingot_runtime_close(t->runtime));
	t->runtime = NULL;
	fault_forget(); /* the scenes plant their own */
}

/* The same in one runtime: what fails again and again leaves no memory either that only its end would give back. */
static void scene_repeat(struct trial *t, const struct scene *scene)
{
	struct stage s;
	stage_open(&s, t, scene->automatic);
	for (int k = 0;; k++) {
		check_note("%s again, failing call %d", scene->name, k);
		uint64_t live = ingot_runtime_live(s.runtime);
		fault_libc(true);
		fault_plant(k);
		enum ingot_status status = scene->call(&s);
		bool happened = fault_happened();
		fault_forget();
		fault_libc(false);
		streams_settle(&s);
		results_close(&s);
		if (scene->writes)
			written(&s);
		OK(ingot_device_sync(s.device));
		/* Who ended the last command may still be at it. */
		for (int i = 0; i < 20000 && k > 1 && ingot_runtime_live(s.runtime) != live; i++)
			usleep(500);
		check_note("%s again, failing call %d: %llu blocks, before %llu", scene->name, k,
		        (unsigned long long)ingot_runtime_live(s.runtime), (unsigned long long)live);
		CHECK(k < 2 || ingot_runtime_live(s.runtime) == live);
		if (k && !happened)
			break;
		(void)status;
	}
	stage_close(&s);
}

static void scenes_play(struct trial *t, const struct scene *scenes, size_t count)
{
	trial_over(t);
	for (size_t i = 0; i < count; i++)
		if (!scenes[i].stands || !t->in_place)
			scene_play(t, scenes + i, true);
	for (size_t i = 0; i < count; i++)
		if (!scenes[i].before && !scenes[i].automatic && !scenes[i].keeps)
			scene_repeat(t, scenes + i);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
static void objects_fail(struct trial *t) { scenes_play(t, objects, COUNT(objects)); }
static void contexts_fail(struct trial *t) { scenes_play(t, contexts, COUNT(contexts)); }
static void work_fails(struct trial *t) { scenes_play(t, work, COUNT(work)); }
static void moves_fail(struct trial *t) { scenes_play(t, moves, COUNT(moves)); }

/* Opening itself, with the test's allocator and with the C library's. */
static enum ingot_status all_open(
        const struct ingot_runtime_options *options, const char *name, struct ingot_runtime **runtime)
{
	struct ingot_device device;
	struct ingot_stream stream;
	TRY(ingot_runtime_open(runtime, options));
	TRY(ingot_backend_init(*runtime, name, &(struct ingot_backend_options){ .intra_op_threads = 3, .seed = 7 }));
	TRY(ingot_device_get(*runtime, name, 0, &device));
	return ingot_stream_default(device, &stream);
}

static void opening_fails(struct trial *t)
{
	long threads = fault_threads(), libc_blocks = fault_libc_blocks(), blocks = fault_blocks();
	trial_over(t);
	CHECK(fault_threads() <= threads && fault_libc_blocks() <= libc_blocks && fault_blocks() < blocks);
	threads = fault_threads(), libc_blocks = fault_libc_blocks(), blocks = fault_blocks();
	for (int own = 0; own < 2; own++)
		for (int k = 1; k; k++) {
			struct ingot_runtime_options options = t->options;
			struct ingot_runtime *runtime = NULL;
			check_note("%s allocator, failing call %d", own ? "own" : "the C library's", k);
			if (!own)
				options.allocate = NULL, options.release = NULL;
			fault_libc(true);
			fault_plant(k);
			enum ingot_status status = all_open(&options, t->device_name, &runtime);
			bool happened = fault_happened();
			fault_forget();
			fault_libc(false);
			CHECK(!status == !happened);
			if (status && runtime) { /* what failed is asked for again */
				struct ingot_device device;
				OK(ingot_backend_init(runtime, t->device_name, NULL));
				OK(ingot_device_get(runtime, t->device_name, 0, &device));
			}
			OK(ingot_runtime_close(runtime));
			CHECK(fault_blocks() == blocks && fault_libc_blocks() == libc_blocks
			        && fault_threads() == threads);
			if (!happened)
				k = -1;
		}
}

const struct row rows_failing[] = {
	{ "H14", "INGOT_MEMORY", "opening_fails", opening_fails, NULL, NULL },
	{ "H14", "INGOT_MEMORY", "objects_fail", objects_fail, NULL, NULL },
	{ "H14", "INGOT_MEMORY", "contexts_fail", contexts_fail, NULL, NULL },
	{ "H14", "INGOT_DEVICE", "work_fails", work_fails, NULL, NULL },
	{ "H14", "INGOT_DEVICE", "moves_fail", moves_fail, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
