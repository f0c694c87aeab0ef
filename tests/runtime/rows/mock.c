/* mock.c: a backend in the shape that CUDA's has, over a driver of threads: a queue's thread only issues operations to
 * a driver stream, and one "device" thread executes what the streams hold, a random stream's next operation at a time.
 * Behind each command goes a driver event; when the device reaches it, the command is finished, from the device's
 * thread, and the event is gone.  Two ordinals, so that copies between devices are another call of the driver (peer)
 * than copies inside of one.  Memory and facts are those of the lazy backend. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mock.h"
#include "rows.h"

enum operation_kind { DEVICE_COPY, PEER_COPY, COPY_IN, COPY_OUT, FILL, CALL, LAUNCH, WAIT, EVENT };

/* How far a stream of the driver is; events hold it, so it outlives the stream. */
struct position {
	int refs;
	uint64_t issued, executed;
};

struct mock_event {
	struct position *of;
	uint64_t until;
};

struct mock_module {
	const struct ingot_module *of;
};

struct operation {
	enum operation_kind kind;
	void *to, *from;
	size_t to_offset, from_offset, bytes;
	int byte;
	struct ingot_command *command; /* of an EVENT */
	enum ingot_status status;
	int (*run)(const struct ingot_call *); /* CALL */
	struct ingot_call *call;
	const struct ingot_module_kernel *kernel; /* LAUNCH */
	uint32_t groups[3], threads[3];
	void *const *arguments;
	int *code;
	struct mock_event event; /* WAIT */
	struct operation *next;
};

struct mock_device {
	struct mock *mock;
	int ordinal;
};

struct mock_slab {
	void *memory; /* a slab of the lazy backend */
	int ordinal;
	bool pinned;
};

#define ENDS 512
struct mock_queue {
	struct mock_device *device;
	struct ingot_queue *ours;
	struct operation *first, **last;      /* issued, in order */
	struct operation ends[ENDS], *unused; /* of commands: what was issued of one must have an end, whatever fails */
	struct position *position;
	enum ingot_status failed; /* of an operation of the command at hand */
	pthread_t thread;
	bool woken, closing;
	struct mock_queue *next;
};

struct mock {
	pthread_mutex_t lock;
	pthread_cond_t change; /* issued, woken or closing */
	pthread_t device;
	void *lazy;
	struct mock_queue *queues;
	uint64_t random;
	bool closing;
};

static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct mock_counts counts;
static _Atomic bool held; /* the device executes nothing */
static enum mock_fault planted;
static int planted_after;
static bool lost;
static struct mock *latest;

struct mock_counts mock_counts(void)
{
	pthread_mutex_lock(&counts_lock);
	struct mock_counts now = counts;
	pthread_mutex_unlock(&counts_lock);
	return now;
}

void mock_hold(bool on)
{
	if (!latest)
		return;
	pthread_mutex_lock(&latest->lock);
	held = on;
	pthread_cond_broadcast(&latest->change);
	pthread_mutex_unlock(&latest->lock);
}

void mock_fault(enum mock_fault fault, int after)
{
	pthread_mutex_lock(&counts_lock);
	planted = fault;
	planted_after = after;
	pthread_mutex_unlock(&counts_lock);
}

bool mock_fault_waits(void)
{
	pthread_mutex_lock(&counts_lock);
	bool waits = planted != MOCK_NO_FAULT;
	pthread_mutex_unlock(&counts_lock);
	return waits;
}

/* Whether this call is the one that fails. */
static bool fails(enum mock_fault fault)
{
	pthread_mutex_lock(&counts_lock);
	bool now = planted == fault && planted_after-- <= 0;
	if (now) {
		planted = MOCK_NO_FAULT;
		lost = lost || fault == MOCK_LOST;
	}
	pthread_mutex_unlock(&counts_lock);
	return now;
}

static bool is_lost(void)
{
	pthread_mutex_lock(&counts_lock);
	bool yes = lost;
	pthread_mutex_unlock(&counts_lock);
	return yes;
}

#define COUNT_ONE(statement) (pthread_mutex_lock(&counts_lock), (statement), pthread_mutex_unlock(&counts_lock))

/* ---- the driver ---- */

static enum ingot_status execute(struct mock_queue *queue, const struct operation *one)
{
	enum ingot_status status;
	struct mock_slab *to = one->to, *from = one->from;
	char text[INGOT_BACKEND_TEXT];
	int code = 0;
	switch (one->kind) {
	case DEVICE_COPY:
	case PEER_COPY:
		return backend_lazy.copy(
		        NULL, to->memory, one->to_offset, from->memory, one->from_offset, one->bytes, text);
	case COPY_IN: return backend_lazy.copy_in(NULL, to->memory, one->to_offset, one->from, one->bytes, text);
	case COPY_OUT: return backend_lazy.copy_out(NULL, one->to, from->memory, one->from_offset, one->bytes, text);
	case FILL: return backend_lazy.fill(NULL, to->memory, one->to_offset, one->byte, one->bytes, text);
	case CALL:
		ingot_queue_inside(queue->ours);
		status = backend_lazy.call(NULL, one->run, one->call, &code, text);
		ingot_queue_inside(NULL);
		*one->code = *one->code ? *one->code : code; /* of a schedule the first */
		return status;
	case LAUNCH:
		ingot_queue_inside(queue->ours);
		status = backend_lazy.launch(
		        NULL, NULL, one->kernel, one->groups, one->threads, one->arguments, &code, text);
		ingot_queue_inside(NULL);
		*one->code = *one->code ? *one->code : code;
		return status;
	case WAIT:
	case EVENT: break;
	}
	return INGOT_OK;
}

/* With the lock. */
static void position_drop(struct position *position)
{
	if (position && !--position->refs)
		free(position);
}

static bool executable(const struct mock_queue *queue)
{
	const struct operation *one = queue->first;
	return one && !held && (one->kind != WAIT || one->event.of->executed >= one->event.until);
}

static struct mock_queue *random_queue(struct mock *mock)
{
	struct mock_queue *chosen = NULL;
	uint32_t seen = 0;
	for (struct mock_queue *queue = mock->queues; queue; queue = queue->next) {
		mock->random ^= mock->random << 13, mock->random ^= mock->random >> 7,
		        mock->random ^= mock->random << 17;
		if (executable(queue) && (mock->random >> 33) % ++seen == 0)
			chosen = queue;
	}
	return chosen;
}

static _Atomic bool slow_frees;
static _Thread_local bool is_devices; /* of a thread of a device */
void mock_slow_frees(bool slow) { atomic_store(&slow_frees, slow); }

static void *device_thread(void *argument)
{
	struct mock *mock = argument;
	is_devices = true;
	pthread_mutex_lock(&mock->lock);
	for (;;) {
		struct mock_queue *queue = random_queue(mock);
		if (!queue && mock->closing)
			break;
		if (!queue) {
			pthread_cond_wait(&mock->change, &mock->lock);
			continue;
		}
		struct operation now = *queue->first, *one = &now;
		if (now.kind == EVENT) {
			queue->first->next = queue->unused;
			queue->unused = queue->first;
		} else
			free(queue->first);
		if (!(queue->first = one->next))
			queue->last = &queue->first;
		if (one->kind == EVENT && queue->failed) {
			one->status = queue->failed;
			queue->failed = INGOT_OK;
		}
		struct position *position = queue->position;
		position->refs++;
		pthread_mutex_unlock(&mock->lock);
		enum ingot_status status = INGOT_OK;
		if (one->kind != EVENT && one->kind != WAIT)
			status = fails(MOCK_LOST) || is_lost() ? INGOT_LOST
			        : fails(MOCK_EXECUTE)          ? INGOT_DEVICE
			                                       : execute(queue, one);
		COUNT_ONE((counts.completed++, counts.events_live -= one->kind == EVENT,
		        counts.in_flight -= one->kind == EVENT));
		/* After this the queue may be closed and gone. */
		if (one->kind == EVENT)
			ingot_command_finish(one->command, one->status);
		pthread_mutex_lock(&mock->lock);
		position->executed++;
		if (one->kind != EVENT && !queue->failed) /* an event's queue may be gone */
			queue->failed = status;
		if (one->kind == WAIT)
			position_drop(one->event.of);
		position_drop(position);
		pthread_cond_broadcast(&mock->change);
	}
	pthread_mutex_unlock(&mock->lock);
	return NULL;
}

static void put(struct mock_queue *queue, struct operation what, struct operation *one)
{
	struct mock *mock = queue->device->mock;
	*one = what;
	one->next = NULL;
	COUNT_ONE((counts.issued++, counts.copies += what.kind == DEVICE_COPY,
	        counts.peer_copies += what.kind == PEER_COPY, counts.events_made += what.kind == EVENT,
	        counts.events_live += what.kind == EVENT, counts.waits += what.kind == WAIT,
	        counts.in_flight += what.kind == EVENT,
	        counts.most_in_flight =
	                counts.in_flight > counts.most_in_flight ? counts.in_flight : counts.most_in_flight));
	pthread_mutex_lock(&mock->lock);
	queue->position->issued++;
	*queue->last = one;
	queue->last = &one->next;
	pthread_cond_broadcast(&mock->change);
	pthread_mutex_unlock(&mock->lock);
}

static enum ingot_status issue(struct mock_queue *queue, struct operation what)
{
	if (is_lost())
		return INGOT_LOST;
	if (fails(MOCK_ISSUE))
		return INGOT_DEVICE;
	struct operation *one = malloc(sizeof *one);
	if (!one)
		return INGOT_MEMORY;
	put(queue, what, one);
	return INGOT_OK;
}

/* ---- the backend ---- */

static enum ingot_status mock_open(const struct ingot_backend_options *options, void **state, char *text)
{
	struct mock *mock = calloc(1, sizeof *mock);
	if (!mock || backend_lazy.open(options, &mock->lazy, text)) {
		free(mock);
		return INGOT_MEMORY;
	}
	pthread_mutex_init(&mock->lock, NULL);
	pthread_cond_init(&mock->change, NULL);
	mock->random = options->seed * 2654435761u + 88172645463325252u;
	COUNT_ONE((counts = (struct mock_counts){ .last_copy_on = -1 }, planted = MOCK_NO_FAULT, lost = false));
	held = false;
	latest = mock;
	if (pthread_create(&mock->device, NULL, device_thread, mock)) {
		backend_lazy.close(mock->lazy);
		free(mock);
		return INGOT_MEMORY;
	}
	*state = mock;
	return INGOT_OK;
}

static void mock_close(void *state)
{
	struct mock *mock = state;
	if (latest == mock)
		latest = NULL;
	pthread_mutex_lock(&mock->lock);
	mock->closing = true;
	held = false;
	pthread_cond_broadcast(&mock->change);
	pthread_mutex_unlock(&mock->lock);
	pthread_join(mock->device, NULL);
	backend_lazy.close(mock->lazy);
	pthread_mutex_destroy(&mock->lock);
	pthread_cond_destroy(&mock->change);
	free(mock);
}

static int mock_devices(void *state)
{
	(void)state;
	return 2;
}

static enum ingot_status mock_device_open(void *state, int ordinal, void **device, char *text)
{
	struct mock_device *made = calloc(1, sizeof *made);
	(void)text;
	if (!made)
		return INGOT_MEMORY;
	*made = (struct mock_device){ state, ordinal };
	*device = made;
	return INGOT_OK;
}

static void mock_device_close(void *device) { free(device); }

static enum ingot_status mock_slab_alloc(
        void *device, size_t bytes, size_t align, enum ingot_slab_mode mode, void **out, char *text)
{
	struct mock_slab *slab = is_lost() ? NULL : calloc(1, sizeof *slab);
	if (!slab)
		return is_lost() ? INGOT_LOST : INGOT_MEMORY;
	slab->ordinal = ((struct mock_device *)device)->ordinal;
	slab->pinned = mode == INGOT_SLAB_PINNED;
	enum ingot_status status = backend_lazy.slab_alloc(NULL, bytes, align, mode, &slab->memory, text);
	if (status)
		free(slab);
	else {
		COUNT_ONE(counts.pinned_slabs += slab->pinned);
		COUNT_ONE(counts.shared_slabs += mode == INGOT_SLAB_SHARED);
		*out = slab;
	}
	return status;
}

static void mock_slab_free(void *device, void *raw)
{
	if (is_devices && atomic_load(&slow_frees))
		usleep(5000);
	COUNT_ONE(counts.pinned_slabs -= ((struct mock_slab *)raw)->pinned);
	backend_lazy.slab_free(device, ((struct mock_slab *)raw)->memory);
	free(raw);
}

static void *mock_slab_base(void *raw) { return backend_lazy.slab_base(((struct mock_slab *)raw)->memory); }

/* Issues what may start.  A command that fails here has its event all the same, so that commands finish in order. */
static void *queue_thread(void *argument)
{
	struct mock_queue *queue = argument;
	struct mock *mock = queue->device->mock;
	pthread_mutex_lock(&mock->lock);
	for (;;) {
		while (!queue->woken && !queue->closing)
			pthread_cond_wait(&mock->change, &mock->lock);
		if (queue->closing)
			break;
		queue->woken = false;
		pthread_mutex_unlock(&mock->lock);
		for (struct ingot_command *command; (command = ingot_queue_next(queue->ours));) {
			enum ingot_status status = ingot_command_run(command);
			pthread_mutex_lock(&mock->lock);
			while (!queue->unused)
				pthread_cond_wait(&mock->change, &mock->lock);
			struct operation *end = queue->unused;
			queue->unused = end->next;
			pthread_mutex_unlock(&mock->lock);
			put(queue, (struct operation){ .kind = EVENT, .command = command, .status = status }, end);
			ingot_queue_issued(queue->ours);
		}
		pthread_mutex_lock(&mock->lock);
	}
	pthread_mutex_unlock(&mock->lock);
	return NULL;
}

static enum ingot_status mock_queue_open(void *device, struct ingot_queue *ours, void **out, char *text)
{
	struct mock_queue *queue = calloc(1, sizeof *queue);
	(void)text;
	if (!queue)
		return INGOT_MEMORY;
	queue->device = device;
	queue->ours = ours;
	queue->last = &queue->first;
	if (!(queue->position = calloc(1, sizeof *queue->position))) {
		free(queue);
		return INGOT_MEMORY;
	}
	queue->position->refs = 1;
	for (int i = 0; i < ENDS; i++) {
		queue->ends[i].next = queue->unused;
		queue->unused = queue->ends + i;
	}
	if (pthread_create(&queue->thread, NULL, queue_thread, queue)) {
		free(queue->position);
		free(queue);
		return INGOT_MEMORY;
	}
	struct mock *mock = queue->device->mock;
	pthread_mutex_lock(&mock->lock);
	queue->next = mock->queues;
	mock->queues = queue;
	pthread_mutex_unlock(&mock->lock);
	*out = queue;
	return INGOT_OK;
}

static void mock_queue_close(void *raw)
{
	struct mock_queue *queue = raw;
	struct mock *mock = queue->device->mock;
	pthread_mutex_lock(&mock->lock);
	queue->closing = true;
	pthread_cond_broadcast(&mock->change);
	pthread_mutex_unlock(&mock->lock);
	pthread_join(queue->thread, NULL);
	pthread_mutex_lock(&mock->lock);
	struct mock_queue **link = &mock->queues;
	while (*link != queue)
		link = &(*link)->next;
	*link = queue->next;
	position_drop(queue->position);
	pthread_mutex_unlock(&mock->lock);
	free(queue);
}

static void mock_wake(void *raw)
{
	struct mock_queue *queue = raw;
	struct mock *mock = queue->device->mock;
	pthread_mutex_lock(&mock->lock);
	queue->woken = true;
	pthread_cond_broadcast(&mock->change);
	pthread_mutex_unlock(&mock->lock);
}

static enum ingot_status mock_copy(
        void *raw, void *to, size_t to_offset, void *from, size_t from_offset, size_t bytes, char *text)
{
	struct mock_queue *queue = raw;
	bool peer = ((struct mock_slab *)to)->ordinal != ((struct mock_slab *)from)->ordinal;
	(void)text;
	COUNT_ONE(counts.last_copy_on = queue->device->ordinal);
	return issue(queue,
	        (struct operation){ .kind = peer ? PEER_COPY : DEVICE_COPY,
	                .to = to,
	                .to_offset = to_offset,
	                .from = from,
	                .from_offset = from_offset,
	                .bytes = bytes });
}

static enum ingot_status mock_copy_in(
        void *queue, void *to, size_t to_offset, const void *host, size_t bytes, char *text)
{
	(void)text;
	return issue(queue,
	        (struct operation){ .kind = COPY_IN,
	                .to = to,
	                .to_offset = to_offset,
	                .from = (void *)(uintptr_t)host,
	                .bytes = bytes });
}

static enum ingot_status mock_copy_out(
        void *queue, void *host, void *from, size_t from_offset, size_t bytes, char *text)
{
	(void)text;
	return issue(queue,
	        (struct operation){
	                .kind = COPY_OUT, .to = host, .from = from, .from_offset = from_offset, .bytes = bytes });
}

static enum ingot_status mock_fill(void *queue, void *to, size_t to_offset, int byte, size_t bytes, char *text)
{
	(void)text;
	return issue(queue,
	        (struct operation){ .kind = FILL, .to = to, .to_offset = to_offset, .byte = byte, .bytes = bytes });
}

/* Code of the host's stands for what a routine's own function would issue: the device runs it in its turn. */
static enum ingot_status mock_call(
        void *queue, int (*run)(const struct ingot_call *), struct ingot_call *call, int *code, char *text)
{
	(void)text;
	return issue(queue, (struct operation){ .kind = CALL, .run = run, .call = call, .code = code });
}

static enum ingot_status launch(void *queue, const struct ingot_module_kernel *kernel, const uint32_t groups[3],
        const uint32_t threads[3], void *const *arguments, int *code)
{
	return issue(queue,
	        (struct operation){ .kind = LAUNCH,
	                .kernel = kernel,
	                .groups = { groups[0], groups[1], groups[2] },
	                .threads = { threads[0], threads[1], threads[2] },
	                .arguments = arguments,
	                .code = code });
}

/* Its capability is 1.0: code for others is none of its, so that kernels are the host's. */
static const char *mock_code(const struct ingot_module *module)
{
	return module->image_count && module->images->capability == 10 ? module->images->data : NULL;
}

/* Whether the code of the module has the entry; modules without code have all. */
static bool mock_entry(const struct mock_module *module, const char *name)
{
	const char *code = mock_code(module->of);
	size_t length = name ? strlen(name) : 0;
	for (const char *line = code; name && line && *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (!strncmp(line, "entry ", 6) && !strncmp(line + 6, name, length) && line[6 + length] == '\n')
			return true;
	return !code || !name;
}

static enum ingot_status mock_launch(void *queue, void *module, const struct ingot_module_kernel *kernel,
        const uint32_t groups[3], const uint32_t threads[3], void *const *arguments, int *code, char *text)
{
	if (!kernel->run)
		return INGOT_UNSUPPORTED;
	/* A kernel of a library is looked up in what was loaded of it. */
	if (module
	        && (((struct mock_module *)module)->of->kernels > kernel || !mock_entry(module, kernel->device_name))) {
		snprintf(text, INGOT_BACKEND_TEXT, "the module has no kernel %s", kernel->name);
		return INGOT_DEVICE;
	}
	return launch(queue, kernel, groups, threads, arguments, code);
}

/* Compiles and loads: its language has lines of "entry NAME", and no other. */
static enum ingot_status mock_module_load(void *device, const struct ingot_module *module, void **loaded, char *text)
{
	int at = 1;
	for (const char *line = mock_code(module); line && *line;
	        line += strcspn(line, "\n"), line += *line == '\n', at++)
		if (strncmp(line, "entry ", 6)) {
			snprintf(text, INGOT_BACKEND_TEXT, "line %d: expected an entry before \"%.*s\"", at,
			        (int)strcspn(line, "\n"), line);
			return INGOT_DEVICE;
		}
	struct mock_module *made = fails(MOCK_MODULE) ? NULL : malloc(sizeof *made);
	(void)device;
	if (!made) {
		snprintf(text, INGOT_BACKEND_TEXT, "no room for the code of %s", module->name);
		return INGOT_DEVICE;
	}
	made->of = module;
	*loaded = made;
	COUNT_ONE(counts.modules++);
	return INGOT_OK;
}

static void mock_module_unload(void *device, void *loaded)
{
	(void)device;
	COUNT_ONE(counts.modules--);
	free(loaded);
}

static enum ingot_status mock_event_open(void *device, void **event, char *text)
{
	if (fails(MOCK_EVENT)) {
		snprintf(text, INGOT_BACKEND_TEXT, "no more events");
		*event = text; /* nothing that anybody may use */
		return INGOT_MEMORY;
	}
	(void)device, (void)text;
	return (*event = calloc(1, sizeof(struct mock_event))) ? INGOT_OK : INGOT_MEMORY;
}

static void mock_event_close(void *device, void *raw)
{
	struct mock *mock = ((struct mock_device *)device)->mock;
	struct mock_event *event = raw;
	pthread_mutex_lock(&mock->lock);
	position_drop(event->of);
	pthread_mutex_unlock(&mock->lock);
	free(event);
}

static enum ingot_status mock_event_record(void *raw, void *to, char *text)
{
	struct mock_queue *queue = raw;
	struct mock *mock = queue->device->mock;
	struct mock_event *event = to;
	if (fails(MOCK_RECORD)) {
		snprintf(text, INGOT_BACKEND_TEXT, "the event cannot be recorded");
		return INGOT_DEVICE;
	}
	pthread_mutex_lock(&mock->lock);
	queue->position->refs++;
	position_drop(event->of);
	*event = (struct mock_event){ queue->position, queue->position->issued };
	pthread_mutex_unlock(&mock->lock);
	return INGOT_OK;
}

static enum ingot_status mock_event_wait(void *raw, void *from, char *text)
{
	if (fails(MOCK_WAIT)) {
		snprintf(text, INGOT_BACKEND_TEXT, "the queue cannot wait");
		return INGOT_DEVICE;
	}
	struct mock_queue *queue = raw;
	struct mock *mock = queue->device->mock;
	(void)text;
	pthread_mutex_lock(&mock->lock);
	struct mock_event event = *(struct mock_event *)from;
	event.of->refs++;
	pthread_mutex_unlock(&mock->lock);
	enum ingot_status status = issue(queue, (struct operation){ .kind = WAIT, .event = event });
	if (status) {
		pthread_mutex_lock(&mock->lock);
		position_drop(event.of);
		pthread_mutex_unlock(&mock->lock);
	}
	return status;
}

/* Any order that `after` allows, so a step whose edge is missing shows. */
static enum ingot_status mock_schedule(void *raw, void *module, const struct ingot_schedule *schedule, char *text)
{
	const struct ingot_issue *steps = schedule->steps;
	const uint32_t count = schedule->count;
	if (fails(MOCK_CAPTURE)) {
		snprintf(text, INGOT_BACKEND_TEXT, "the steps cannot be captured");
		return INGOT_DEVICE;
	}
	struct mock_queue *queue = raw;
	bool *over = calloc(count + 1, sizeof *over);
	enum ingot_status status = over ? INGOT_OK : INGOT_MEMORY;
	COUNT_ONE(counts.schedules++);
	for (uint32_t left = count, round = 0; left && !status; round++) {
		uint32_t i = round % count;
		bool ready = !over[i] && (left == count || (i ^ round) & 1 || round > 4 * count);
		for (uint32_t k = 0; k < steps[i].after_count && ready; k++)
			ready = over[steps[i].after[k]];
		if (!ready)
			continue;
		const struct ingot_issue *step = steps + i;
		over[i] = true;
		left--;
		if (step->kind == INGOT_STEP_KERNEL)
			status = mock_launch(queue, module, step->kernel, step->groups, step->threads, step->arguments,
			        schedule->code, text);
		else if (step->kind == INGOT_STEP_HOST)
			status = mock_call(queue, step->host, schedule->call, schedule->code, text);
		else if (step->kind == INGOT_STEP_COPY)
			status = mock_copy(
			        queue, step->to, step->to_offset, step->from, step->from_offset, step->bytes, text);
		else if (step->kind == INGOT_STEP_CLEAR)
			status = mock_fill(queue, step->to, step->to_offset, 0, step->bytes, text);
		else if (step->kind != INGOT_STEP_WAIT)
			status = INGOT_UNSUPPORTED;
	}
	free(over);
	return status;
}

static enum ingot_status mock_host_pin(void *device, void *memory, size_t bytes, char *text)
{
	(void)device, (void)memory, (void)bytes;
	if (fails(MOCK_PIN)) {
		snprintf(text, INGOT_BACKEND_TEXT, "no more memory can be pinned");
		return INGOT_MEMORY;
	}
	COUNT_ONE(counts.pinned++);
	return INGOT_OK;
}

static void mock_host_unpin(void *device, void *memory)
{
	(void)device, (void)memory;
	COUNT_ONE(counts.pinned--);
}

static bool mock_peer(void *device, void *other)
{
	return !fails(MOCK_PEER) && ((struct mock_device *)device)->mock == ((struct mock_device *)other)->mock;
}

static void mock_properties(void *device, struct ingot_properties *properties)
{
	backend_lazy.properties(device, properties);
}

static bool mock_supports(void *device, enum ingot_dtype dtype) { return backend_lazy.supports(device, dtype); }

const struct ingot_backend backend_mock = {
	.version = INGOT_BACKEND_VERSION,
	.name = "mock",
	.open = mock_open,
	.close = mock_close,
	.devices = mock_devices,
	.device_open = mock_device_open,
	.device_close = mock_device_close,
	.properties = mock_properties,
	.supports = mock_supports,
	.slab_alloc = mock_slab_alloc,
	.slab_free = mock_slab_free,
	.slab_base = mock_slab_base,
	.queue_open = mock_queue_open,
	.queue_close = mock_queue_close,
	.wake = mock_wake,
	.copy = mock_copy,
	.copy_in = mock_copy_in,
	.copy_out = mock_copy_out,
	.fill = mock_fill,
	.call = mock_call,
	.launch = mock_launch,
	.module_load = mock_module_load,
	.module_unload = mock_module_unload,
	.event_open = mock_event_open,
	.event_close = mock_event_close,
	.event_record = mock_event_record,
	.event_wait = mock_event_wait,
	.schedule = mock_schedule,
	.host_pin = mock_host_pin,
	.host_unpin = mock_host_unpin,
	.peer = mock_peer,
};
