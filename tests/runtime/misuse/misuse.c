/* misuse.c: runs each way to misuse the runtime (misuse.h) in a process of its own, on each device: it must answer the
 * row's status, and everything must be released in the end.
 *
 *     runtime-misuse [--device NAME] [--way GROUP.NAME] [--here] [--list]
 *
 * $MISUSE_SECONDS: after them a way counts as hanging, instead of 60; its rounds are fewer then, for tools that slow
 * things down. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include "misuse.h"

static const struct {
	const char *name;
	const struct ingot_backend *backend;
} devices[] = {
	{ "sync", &ingot_backend_sync },
	{ "multicore", &ingot_backend_multicore },
	{ "lazy", &backend_lazy },
	{ "mock", &backend_mock },
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct way *const all[] = { ways_null, ways_stale, ways_twice, ways_inside, ways_beside, ways_large,
	ways_readonly, ways_unaligned, ways_state, ways_lock, ways_busy };

const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

/* rows.h's checks are for mock.c's and small.c's sake. */
_Noreturn void check_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s\n", file, line, what);
	_exit(3);
}

void must(enum ingot_status status, const char *what)
{
	if (!status)
		return;
	printf("%s answers %s: %s\n", what, ingot_status_name(status), ingot_message());
	fflush(stdout);
	_exit(3);
}

static _Atomic long blocks;

static void *allocate(void *user, size_t bytes)
{
	(void)user;
	void *memory = calloc(1, bytes);
	blocks += memory != NULL;
	return memory;
}

static void release(void *user, void *memory)
{
	(void)user;
	blocks -= memory != NULL;
	memset(memory, 0xA5, malloc_usable_size(memory)); /* who still looks at it finds no pointer */
	free(memory);
}

const struct ingot_backend *backend_named(const char *name)
{
	for (size_t i = 0; i < COUNT(devices); i++)
		if (!strcmp(devices[i].name, name))
			return devices[i].backend;
	return NULL;
}

void scene_open(struct scene *t, const struct ingot_runtime_options *wanted)
{
	static const struct ingot_backend *backends[2];
	struct ingot_runtime_options options = wanted ? *wanted : (struct ingot_runtime_options){ 0 };
	static const int64_t sixteen = SMALL_COUNT;
	static const char *const label = "own";
	backends[0] = backend_named(t->device_name);
	if (!options.backends)
		options.backends = backends;
	if (!options.allocate) {
		options.allocate = allocate;
		options.release = release;
	}
	if (getenv("ROW_NO_SPARES"))
		options.spare_commands = INGOT_NO_SPARES;
	MUST(ingot_runtime_open(&t->runtime, &options));
	MUST(ingot_backend_init(
	        t->runtime, t->device_name, &(struct ingot_backend_options){ .intra_op_threads = 2, .seed = 7 }));
	MUST(ingot_device_get(t->runtime, t->device_name, 0, &t->device));
	MUST(ingot_stream_open(t->device, &t->stream));
	MUST(ingot_stream_open(t->device, &t->other));
	MUST(ingot_context_new(t->stream, &t->context));
	MUST(ingot_library_load(t->runtime, &small_module, NULL, &t->library));
	MUST(ingot_library_node(t->library, "x", &t->x));
	MUST(ingot_library_node(t->library, "w", &t->w));
	MUST(ingot_library_node(t->library, "y", &t->y));
	MUST(ingot_library_node(t->library, "s", &t->s));
	MUST(ingot_library_kernel(t->library, "double", &t->kernel));
	MUST(ingot_link(t->context, t->library, "dense", &t->dense));
	MUST(ingot_routine_context(t->dense, &t->linked));
	MUST(ingot_routine_set(t->dense, "n", SMALL_COUNT));
	t->host = calloc(SMALL_COUNT, sizeof *t->host);
	MUST(ingot_write(t->linked, t->x, t->host, SMALL_COUNT * sizeof(float), NULL));
	MUST(ingot_routine_run(t->dense, NULL));
	MUST(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){
	                .labels = &label, .label_count = 1, .dtype = INGOT_F32, .rank = 1, .dims = &sixteen },
	        &t->node));
	MUST(ingot_node_host_create(t->node));
	MUST(ingot_context_place(t->context, &t->node, 1));
	MUST(ingot_pool_open(t->device, 64, 0, INGOT_SLAB_PRIVATE, &t->pool));
	MUST(ingot_buffer_open(t->device, INGOT_F32, SMALL_COUNT, &t->buffer));
	MUST(ingot_event_record(t->stream, &t->event));
	MUST(ingot_event_sync(t->event));
}

struct inner {
	struct scene *scene;
	enum ingot_status (*work)(struct scene *);
	enum ingot_status answer;
};

static int inner_run(void *argument)
{
	struct inner *inner = argument;
	inner->answer = inner->work(inner->scene);
	return 0;
}

enum ingot_status in_task(struct scene *t, enum ingot_status (*work)(struct scene *))
{
	struct inner inner = { t, work, INGOT_STATUS_COUNT };
	struct ingot_event done;
	MUST(ingot_task_submit(
	        t->stream, &(struct ingot_task){ .name = "inside", .run = inner_run, .argument = &inner }, &done));
	MUST(ingot_event_sync(done));
	return inner.answer;
}

static int way_run(const struct way *way, const char *device)
{
	struct scene t = {
		.device_name = device, .in_place = !strcmp(device, "sync"), .lazy = !strcmp(device, "lazy")
	};
	t.host_memory = t.in_place || !strcmp(device, "multicore");
	scene_open(&t, NULL);
	enum ingot_status wanted = t.host_memory ? way->host : way->device, got = way->run(&t);
	if (got != wanted) {
		printf("answers %s, not %s (%s)\n", ingot_status_name(got), ingot_status_name(wanted), ingot_message());
		return 1;
	}
	/* What a task was told, its own thread was told. */
	if (got && !ingot_message()[0] && !strstr("inside routine kernel promise merge", way->group)) {
		printf("answers %s and says nothing\n", ingot_status_name(got));
		return 1;
	}
	if (t.runtime && ingot_runtime_close(t.runtime) == INGOT_LEFT_OPEN
	        && strstr(ingot_message(), "of the runtime")) {
		printf("%s\n", ingot_message());
		return 1;
	}
	free(t.host);
	free(t.scratch);
	if (blocks)
		printf("%ld blocks were lost\n", blocks);
	return blocks != 0;
}

/* 0: right.  What the child prints goes to `why`. */
static int way_child(const struct way *way, const char *device, char *why, size_t room)
{
	int ends[2], status;
	size_t used = 0;
	if (pipe(ends))
		return perror("pipe"), 1;
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		return perror("fork"), 1;
	if (!child) {
		close(ends[0]);
		dup2(ends[1], 1);
		alarm(getenv("MISUSE_SECONDS") ? (unsigned)atoi(getenv("MISUSE_SECONDS"))
		                               : 60); /* only ends what hangs */
		exit(way_run(way, device));
	}
	close(ends[1]);
	for (ssize_t got; used + 1 < room
	        && ((got = read(ends[0], why + used, room - 1 - used)) > 0 || (got < 0 && errno == EINTR));)
		used += got > 0 ? (size_t)got : 0;
	why[used] = 0;
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		snprintf(why + used, room - used, "%s",
		        WTERMSIG(status) == SIGALRM ? "it hangs" : strsignal(WTERMSIG(status)));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *only_device = NULL, *only = NULL;
	bool here = false, list = false;
	int count = 0, wrong = 0;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--here"))
			here = true;
		else if (!strcmp(argv[i], "--list"))
			list = true;
		else if (!strcmp(argv[i], "--device") && i + 1 < argc)
			only_device = argv[++i];
		else if (!strcmp(argv[i], "--way") && i + 1 < argc)
			only = argv[++i];
		else {
			fprintf(stderr, "usage: runtime-misuse [--device NAME] [--way GROUP.NAME] [--here] [--list]\n");
			return 2;
		}
	}
	for (size_t d = 0; d < COUNT(devices); d++)
		for (size_t table = 0; table < COUNT(all); table++)
			for (const struct way *way = all[table]; way->group; way++) {
				char name[100], why[1000] = "";
				snprintf(name, sizeof name, "%s.%s", way->group, way->name);
				if ((only && strcmp(only, name))
				        || (only_device && strcmp(only_device, devices[d].name))
				        || (way->only && strcmp(way->only, devices[d].name)))
					continue;
				count++;
				if (list) {
					printf("%s %s\n", devices[d].name, name);
					continue;
				}
				int code = here ? way_run(way, devices[d].name)
				                : way_child(way, devices[d].name, why, sizeof why);
				if (!code)
					continue;
				wrong++;
				printf("%s %s: %s%s", devices[d].name, name, why,
				        *why && why[strlen(why) - 1] == '\n' ? "" : "\n");
			}
	printf("%d ways, %d wrong\n", count, wrong);
	return wrong != 0 || !count;
}
