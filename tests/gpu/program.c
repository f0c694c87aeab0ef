/* program.c: a network's CUDA library on a GPU, for tests/gpu/run.  NAME, HEADER, LAUNCHES, and from the manifest
 * ARRAYS_IN, ARRAYS_OUT: X(field, bytes) of each.
 *
 *     program facts                       the first GPU, a line for each fact
 *     program bits in_0 … out_0 …         three calls by host arrays, the third one as a graph; "open", "first" and
 *                                         "again" in us
 *     program time in_0 …                 "graph HOT COLD": us of all kernels as a graph, inputs and outputs on the GPU,
 *                                         which come by turns, "sets COUNT BYTES" of a call's; then "kernel N HOT COLD"
 *                                         for each.  HOT: behind others, so that weights are where L2 left them; COLD:
 *                                         behind a write of twice L2.  By the GPU's events
 *     program limits IMAGE MMA            what the GPU does at most, by templates/cuda/limits.jinja: "launch US";
 *                                         multiply-adds a microsecond, "fma N" and where MMA is 1
 *                                         "mma N"; bytes read and written a microsecond, "near N" in half of L2, "far
 *                                           N" in memory; "near_bytes N"
 *
 * Exit 0; else 1, with a line that says why. */
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define OF(what) JOINED(NAME, what)
#define CONSTANT(what) JOINED(UPPER, what)
#include HEADER
#include LAUNCHES
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ROUNDS = 31,
	ROUNDS_LEAST = 7,
	ENOUGH_US = 20000,
	LAUNCHES_OF_ONE = 50,
	SETS_MOST = 128,
	GRAPHS_MOST = 16,
	ARGUMENTS = 64,
	ARRAYS = 64
};
#define LEAST_US 1e-3
static int rounds = ROUNDS, launches_of_one = LAUNCHES_OF_ONE; /* $GPU_SHORT: of what is no GPU, one */

/* What is asked of the driver beside the library. */
static struct driver {
	int (*init)(unsigned), (*device)(int *, int), (*name)(char *, int, int), (*attribute)(int *, int, int),
	        (*version)(int *), (*memory)(size_t *, int);
	int (*push)(void *), (*pop)(void **), (*allocate)(unsigned long long *, size_t),
	        (*up)(unsigned long long, const void *, size_t, void *), (*create)(void **, unsigned);
	int (*begin)(void *, int), (*end)(void *, void **), (*instantiate)(void **, void *, unsigned long long),
	        (*play)(void *, void *), (*wait)(void *), (*stop)(void *);
	int (*load)(void **, const void *, unsigned, int *, void **), (*function)(void **, void *, const char *),
	        (*unload)(void *);
	int (*launch)(
	        void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
	        (*drop)(void *), (*give)(unsigned long long), (*destroy)(void *);
	int (*event)(void **, unsigned), (*forget)(void *), (*record)(void *, void *),
	        (*elapsed)(float *, void *, void *), (*fill)(unsigned long long, unsigned char, size_t, void *);
#if CONSTANT(_MAPS)
	int (*map)(void *, int, unsigned, void *, const unsigned long long *, const unsigned long long *,
	        const unsigned *, const unsigned *, int, int, int, int);
#endif
} cu;
static const char *const names[] = {
	"cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDriverGetVersion", "cuDeviceTotalMem_v2",
	"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuStreamCreate",
	"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
	"cuStreamSynchronize", "cuGraphExecDestroy", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuModuleUnload",
	"cuLaunchKernel", "cuGraphDestroy", "cuMemFree_v2", "cuStreamDestroy_v2", "cuEventCreate", "cuEventDestroy_v2",
	"cuEventRecord", "cuEventElapsedTime", "cuMemsetD8Async",
#if CONSTANT(_MAPS)
	"cuTensorMapEncodeTiled"
#endif
};

static int fail(const char *what, int status)
{
	printf("%s: %d\n", what, status);
	exit(1);
}

static void need(int status, const char *what)
{
	if (status)
		fail(what, status);
}
#define NEED(call) need(call, #call)

static void open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		fail("there is no libcuda.so.1", 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *symbol = dlsym(library, names[i]);
		if (!symbol)
			fail(names[i], 1);
		memcpy((char *)&cu + i * sizeof symbol, &symbol, sizeof symbol);
	}
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void facts(void)
{
	static const struct {
		const char *name;
		int attribute;
	} asked[] = { { "major", 75 }, { "minor", 76 }, { "multiprocessors", 16 }, { "kilohertz", 13 },
		{ "memory_kilohertz", 36 }, { "memory_bits", 37 }, { "l2_bytes", 38 }, { "shared_bytes", 81 },
		{ "registers", 82 } };
	char name[256];
	int device, version, value;
	size_t bytes;
	NEED(cu.init(0));
	NEED(cu.device(&device, 0));
	NEED(cu.name(name, sizeof name, device));
	NEED(cu.version(&version));
	NEED(cu.memory(&bytes, device));
	printf("name %s\ndriver %d\nmemory_bytes %zu\n", name, version, bytes);
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		if (!cu.attribute(&value, asked[i].attribute, device))
			printf("%s %d\n", asked[i].name, value);
}

static void *read_file(const char *path, size_t bytes)
{
	void *at = calloc(1, bytes + 1);
	FILE *file = fopen(path, "rb");
	if (!at || !file || fread(at, 1, bytes, file) != bytes)
		fail(path, 1);
	fclose(file);
	return at;
}

static void write_file(const char *path, const void *at, size_t bytes)
{
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(at, 1, bytes, file) != bytes || fclose(file))
		fail(path, 1);
}

/* A GPU makes another NaN than a CPU: each is written as one. */
static void one_nan(void *at, size_t bytes)
{
	float *x = at;
	for (size_t i = 0; i < bytes / sizeof *x; i++)
		if (x[i] != x[i])
			memcpy(&x[i], (uint32_t[]){ 0x7fc00000 }, sizeof *x);
}
static void as_it_is(void *at, size_t bytes) { (void)at, (void)bytes; }

static int in_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* ---- times: by the GPU's events ---- */
static struct {
	void *stream, *begin, *end;
	double empty; /* us that two events behind each other tell */
	unsigned long long scrubbed;
	size_t scrubbed_bytes; /* twice L2 */
} timer;

/* A kernel of the library, launched by itself. */
struct launching {
	struct OF(_device) * device;
	const struct OF(_launch) * launch;
};
static void launch_one(const struct launching *, int set);

/* Whether another round is to be timed: what takes long is timed less often. */
static bool more(int made, double us) { return made < rounds && (made < ROUNDS_LEAST || us < ENOUGH_US); }

static double middle_of(double *times, int made)
{
	qsort(times, (size_t)made, sizeof *times, in_order);
	return times[made / 2] > LEAST_US ? times[made / 2] : LEAST_US;
}

static double elapsed_us(void)
{
	float milliseconds;
	NEED(cu.wait(timer.stream));
	NEED(cu.elapsed(&milliseconds, timer.begin, timer.end));
	return 1000 * (double)milliseconds;
}

static double empty_us(void)
{
	double times[ROUNDS];
	for (int i = 0; i < rounds; i++) {
		NEED(cu.record(timer.begin, timer.stream));
		NEED(cu.record(timer.end, timer.stream));
		times[i] = elapsed_us();
	}
	return middle_of(times, rounds);
}

static void timer_open(int device)
{
	int l2;
	NEED(cu.attribute(&l2, 38, device));
	NEED(cu.create(&timer.stream, 1));
	NEED(cu.event(&timer.begin, 0));
	NEED(cu.event(&timer.end, 0));
	timer.scrubbed_bytes = 2 * (size_t)l2;
	NEED(cu.allocate(&timer.scrubbed, timer.scrubbed_bytes));
	timer.empty = empty_us();
}

static void timer_close(void)
{
	NEED(cu.give(timer.scrubbed));
	NEED(cu.forget(timer.begin));
	NEED(cu.forget(timer.end));
	NEED(cu.destroy(timer.stream));
}

static void *captured(void)
{
	void *graph, *executable;
	NEED(cu.end(timer.stream, &graph));
	NEED(cu.instantiate(&executable, graph, 0));
	NEED(cu.drop(graph));
	return executable;
}

/* Median time of all these graphs, one behind the other. */
static double time_of(void *const *executables, int count)
{
	double times[ROUNDS], sum = 0;
	int made = 0;
	for (; more(made, sum); sum += times[made++]) {
		NEED(cu.record(timer.begin, timer.stream));
		for (int i = 0; i < count; i++)
			NEED(cu.play(executables[i], timer.stream));
		NEED(cu.record(timer.end, timer.stream));
		times[made] = elapsed_us() - timer.empty;
	}
	return middle_of(times, made);
}

/* Behind a write of twice L2: of a graph, else of a launch, which is queued while that goes on. */
static double cold_time_of(void *executable, const struct launching *launch)
{
	double times[ROUNDS], sum = 0;
	int made = 0;
	for (; more(made, sum); sum += times[made++]) {
		NEED(cu.fill(timer.scrubbed, (unsigned char)made, timer.scrubbed_bytes, timer.stream));
		NEED(cu.record(timer.begin, timer.stream));
		if (executable)
			NEED(cu.play(executable, timer.stream));
		else
			launch_one(launch, 0);
		NEED(cu.record(timer.end, timer.stream));
		times[made] = elapsed_us() - timer.empty;
	}
	return middle_of(times, made);
}

/* What was queued since the capture began: median of its time, and behind the first run, warm. */
static double median_of(void)
{
	void *executable = captured();
	NEED(cu.play(executable, timer.stream));
	double us = time_of(&executable, 1);
	NEED(cu.stop(executable));
	return us;
}

/* ---- a network ---- */
/* Inputs, outputs and workspace of `sets` calls, which together are more than twice L2 where that takes no more than
 * SETS_MOST. */
static struct {
	int sets;
	size_t bytes;
	unsigned long long at[SETS_MOST][2 * ARRAYS + 1]; /* inputs, outputs, workspace */
	struct OF(_inputs) in[SETS_MOST];
	struct OF(_outputs) out[SETS_MOST];
	int inputs, outputs;
} calls;

static void calls_open(const struct OF(_inputs) * in)
{
	size_t whole = CONSTANT(_WORKSPACE_BYTES) + 256;
#define X(field, size) whole += size + 16;
	ARRAYS_IN
	ARRAYS_OUT
#undef X
	size_t wanted = timer.scrubbed_bytes / whole + 2;
	calls.bytes = whole;
	calls.sets = wanted > SETS_MOST ? SETS_MOST : (int)wanted;
	if (rounds == 1)
		calls.sets = 2;
	for (int s = 0; s < calls.sets; s++) {
		unsigned long long *at = calls.at[s];
		int count = 0;
#define X(field, size) \
	NEED(cu.allocate(&at[count], size + 16)); \
	NEED(cu.up(at[count], in->field, size, timer.stream)); \
	memcpy(&calls.in[s].field, &at[count++], 8);
		ARRAYS_IN
#undef X
		calls.inputs = count;
#define X(field, size) \
	NEED(cu.allocate(&at[count], size + 16)); \
	memcpy(&calls.out[s].field, &at[count++], 8);
		ARRAYS_OUT
#undef X
		calls.outputs = count - calls.inputs;
		NEED(cu.allocate(&at[count], CONSTANT(_WORKSPACE_BYTES) + 256));
	}
	NEED(cu.wait(timer.stream));
}

static void calls_close(void)
{
	for (int s = 0; s < calls.sets; s++)
		for (int i = 0; i < calls.inputs + calls.outputs + 1; i++)
			NEED(cu.give(calls.at[s][i]));
}

#if CONSTANT(_MAPS)
static const void *map_of(const struct OF(_map) * of, unsigned long long at)
{
	static struct {
		_Alignas(64) char bytes[128];
	} maps[CONSTANT(_MAPS_MOST)];
	static unsigned turn;
	static const unsigned steps[] = { 1, 1 };
	void *map = &maps[turn++ % CONSTANT(_MAPS_MOST)];
	NEED(cu.map(map, 2, 2, (void *)(uintptr_t)(at + of->at), of->extent, &of->pitch, of->box, steps, 0, 3, 2, 0));
	return map;
}
#endif

static void launch_one(const struct launching *launching, int set)
{
	const struct OF(_launch) *launch = launching->launch;
	struct OF(_device) *device = launching->device;
	const unsigned long long *of = calls.at[set];
	unsigned long long at[ARGUMENTS];
	void *arguments[ARGUMENTS];
	for (int a = 0; a < launch->count; a++) {
		const struct OF(_argument) *argument = &launch->arguments[a];
		at[a] = argument->place == CONSTANT(_WEIGHTS) ? device->weights + (unsigned long long)argument->at
		        : argument->place == CONSTANT(_WORKSPACE)
		        ? of[calls.inputs + calls.outputs] + (unsigned long long)argument->at
		        : argument->place == CONSTANT(_INPUT) ? of[argument->at]
		                                              : of[calls.inputs + argument->at];
		arguments[a] = &at[a];
#if CONSTANT(_MAPS)
		if (argument->map)
			arguments[a] = (void *)(uintptr_t)map_of(&OF(_maps)[argument->map - 1], at[a]);
#endif
	}
	NEED(cu.launch(device->kernels[launch->kernel], launch->blocks, 1, 1, CONSTANT(_THREADS), launch->warps, 1,
	        launch->shared, timer.stream, arguments, NULL));
}

static void time_kernel(struct OF(_device) * device, int number)
{
	struct launching launching = { device, &OF(_launches)[number] };
	int count = calls.sets > launches_of_one ? calls.sets : launches_of_one;
	NEED(cu.begin(timer.stream, 0));
	for (int i = 0; i < count; i++)
		launch_one(&launching, i % calls.sets);
	double hot = median_of() / count;
	printf("kernel %d %.3f %.3f\n", number, hot, cold_time_of(NULL, &launching));
	fflush(stdout);
}

static void time_all(struct OF(_device) * device, const struct OF(_inputs) * in)
{
	void *graphs[GRAPHS_MOST], *last;
	NEED(cu.push(device->primary));
	timer_open(device->ordinal);
	calls_open(in);
	int count = calls.sets < GRAPHS_MOST ? calls.sets : GRAPHS_MOST;
	for (int s = 0; s < count; s++) {
		struct OF(_context) context = { .device = device,
			.stream = timer.stream,
			.workspace = (void *)(uintptr_t)calls.at[s][calls.inputs + calls.outputs] };
		NEED(cu.begin(timer.stream, 0));
		NEED(OF(_run)(&calls.in[s], &calls.out[s], &context));
		graphs[s] = captured();
	}
	for (int s = 0; s < count; s++)
		NEED(cu.play(graphs[s], timer.stream));
	double hot = time_of(graphs, count) / count;
	printf("graph %.3f %.3f\nsets %d %zu\n", hot, cold_time_of(graphs[0], NULL), calls.sets, calls.bytes);
	fflush(stdout);
	for (int s = 0; s < count; s++)
		NEED(cu.stop(graphs[s]));
	for (int l = 0; l < CONSTANT(_LAUNCHES); l++)
		time_kernel(device, l);
	calls_close();
	timer_close();
	NEED(cu.pop(&last));
}

/* ---- limits ---- */
enum {
	WARPS = 8,
	BLOCKS_A_PROCESSOR = 8,
	SUMS = 16,
	PRODUCTS = 4,
	PRODUCT = 16 * 8 * 8,
	COPIES = 4,
	QUAD = 16,
	LIMIT_ROUNDS_MOST = 1 << 20
}; /* as limits.jinja has them */
static struct limits {
	void *module;
	unsigned blocks;
	unsigned long long to, from, rounds;
} limit;

static double limit_time(const char *name, unsigned blocks, int launches)
{
	void *function, *arguments[] = { &limit.to, &limit.from, &limit.rounds };
	NEED(cu.function(&function, limit.module, name));
	NEED(cu.begin(timer.stream, 0));
	for (int i = 0; i < launches; i++)
		NEED(cu.launch(function, blocks, 1, 1, 32, WARPS, 1, 0, timer.stream, arguments, NULL));
	return median_of() / launches;
}

/* Rounds a microsecond, of a launch that takes long enough. */
static double limit_rate(const char *name, long long quads)
{
	long long told[2] = { 1, quads };
	double time;
	for (;; told[0] *= 2) {
		NEED(cu.up(limit.rounds, told, sizeof told, timer.stream));
		time = limit_time(name, limit.blocks, 1);
		if (time >= 200 || told[0] == LIMIT_ROUNDS_MOST || rounds == 1)
			return (double)told[0] / time;
	}
}

static double limit_copy(long long bytes)
{
	long long unit = (long long)COPIES * limit.blocks * 32 * WARPS,
	          quads = (bytes / 2 / QUAD + unit - 1) / unit * unit;
	return limit_rate("limit_copy", quads) * (double)(2 * QUAD * quads);
}

static void limits(struct OF(_device) * device, const char *path, int mma)
{
	static const float factors[] = { 0.5f, 0.25f };
	static char image[1 << 20];
	int processors, l2;
	FILE *file = fopen(path, "rb");
	if (!file || !fread(image, 1, sizeof image - 1, file) || !feof(file))
		fail(path, 1);
	fclose(file);
	NEED(cu.push(device->primary));
	NEED(cu.attribute(&processors, 16, device->ordinal));
	NEED(cu.attribute(&l2, 38, device->ordinal));
	timer_open(device->ordinal);
	NEED(cu.load(&limit.module, image, 0, NULL, NULL));
	limit.blocks = (unsigned)processors * BLOCKS_A_PROCESSOR;
	double threads = 32. * WARPS * limit.blocks;
	size_t most = 2 * (size_t)l2 + (size_t)(QUAD * COPIES * threads);
	NEED(cu.allocate(&limit.to, most));
	NEED(cu.allocate(&limit.from, most));
	NEED(cu.allocate(&limit.rounds, 16));
	NEED(cu.up(limit.from, factors, sizeof factors, timer.stream));
	printf("launch %.3f\n", limit_time("limit_empty", 1, launches_of_one));
	printf("fma %.1f\n", limit_rate("limit_fma", 0) * threads * SUMS);
	if (mma)
		printf("mma %.1f\n", limit_rate("limit_mma", 0) * threads / 32 * PRODUCTS * PRODUCT);
	printf("near %.1f\nfar %.1f\nnear_bytes %d\n", limit_copy(l2 / 2), limit_copy(4LL * l2), l2 / 2);
	NEED(cu.give(limit.to));
	NEED(cu.give(limit.from));
	NEED(cu.give(limit.rounds));
	timer_close();
	NEED(cu.unload(limit.module));
	void *last;
	NEED(cu.pop(&last));
}

int main(int count, char **words)
{
	static struct OF(_device) device;
	struct OF(_inputs) in;
	struct OF(_outputs) out;
	struct OF(_context) context = { .device = &device };
	int next = 2;
	open_driver();
	if (getenv("GPU_SHORT"))
		rounds = launches_of_one = 1;
	if (count < 2 || !strcmp(words[1], "facts"))
		return facts(), 0;
	double from = now_us();
	if (OF(_open)(&device, 0, NULL))
		return puts(OF(_message)(&device)), 1;
	if (count == 4 && !strcmp(words[1], "limits"))
		return limits(&device, words[2], atoi(words[3])), OF(_close)(&device), 0;
	printf("open %.0f\n", now_us() - from);
#define X(field, bytes) in.field = read_file(words[next++], bytes);
	ARRAYS_IN
#undef X
#define X(field, bytes) out.field = calloc(1, bytes + 1);
	ARRAYS_OUT
#undef X
	if (!strcmp(words[1], "time")) {
		time_all(&device, &in);
	} else {
		for (int i = 0; i < 3; i++) {
#define X(field, bytes) memset((void *)(uintptr_t)out.field, 0xee, bytes);
			ARRAYS_OUT
#undef X
			from = now_us();
			if (OF(_run_host)(&in, &out, &context))
				return puts(OF(_message)(&device)), 1;
			printf("%s %.0f\n", i == 0 ? "first" : i == 1 ? "second" : "again", now_us() - from);
		}
#define X(field, bytes) \
	_Generic(out.field, float * : one_nan, default : as_it_is)((void *)(uintptr_t)out.field, bytes); \
	write_file(words[next++], out.field, bytes);
		ARRAYS_OUT
#undef X
	}
	OF(_close)(&device);
	return 0;
}
