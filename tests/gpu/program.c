/* program.c: a network's CUDA library on a GPU, for tests/gpu/run.  NAME, HEADER, LAUNCHES, and from the manifest
 * ARRAYS_IN, ARRAYS_OUT: X(field, bytes) of each.
 *
 *     program facts                       the first GPU, a line for each fact
 *     program bits in_0 … out_0 …         three calls by host arrays, the third one as a graph; "open", "first" and
 *                                         "again" in us
 *     program time in_0 …                 "graph US": all kernels, inputs and outputs on the GPU; then "kernel N US"
 *                                         for each: a graph of fifty launches of it
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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 31, LAUNCHES_OF_ONE = 50, ARGUMENTS = 64, ARRAYS = 64 };
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
} cu;
static const char *const names[] = { "cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
	"cuDriverGetVersion", "cuDeviceTotalMem_v2", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuMemAlloc_v2",
	"cuMemcpyHtoDAsync_v2", "cuStreamCreate", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
	"cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuStreamSynchronize", "cuGraphExecDestroy",
	"cuModuleLoadDataEx", "cuModuleGetFunction", "cuModuleUnload", "cuLaunchKernel", "cuGraphDestroy",
	"cuMemFree_v2", "cuStreamDestroy_v2" };

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

static int in_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* What was queued between begin and end, played again and again: median of its time. */
static double median_of(void *stream)
{
	double times[ROUNDS];
	void *graph, *executable;
	NEED(cu.end(stream, &graph));
	NEED(cu.instantiate(&executable, graph, 0));
	NEED(cu.play(executable, stream));
	NEED(cu.wait(stream));
	for (int i = 0; i < rounds; i++) {
		double from = now_us();
		for (int k = 0; k < 4; k++)
			NEED(cu.play(executable, stream));
		NEED(cu.wait(stream));
		times[i] = (now_us() - from) / 4;
	}
	qsort(times, (size_t)rounds, sizeof *times, in_order);
	NEED(cu.stop(executable));
	NEED(cu.drop(graph));
	return times[rounds / 2];
}

static void time_all(struct OF(_device) * device, const struct OF(_inputs) * in)
{
	struct OF(_inputs) from;
	struct OF(_outputs) to;
	unsigned long long inputs[ARRAYS], outputs[ARRAYS], workspace, at[ARGUMENTS];
	void *stream, *arguments[ARGUMENTS];
	int count = 0, made = 0;
	NEED(cu.push(device->primary));
	NEED(cu.create(&stream, 1));
	NEED(cu.allocate(&workspace, CONSTANT(_WORKSPACE_BYTES) + 256));
#define X(field, bytes) \
	NEED(cu.allocate(&inputs[count], bytes + 16)); \
	NEED(cu.up(inputs[count], in->field, bytes, stream)); \
	memcpy(&from.field, &inputs[count++], 8);
	ARRAYS_IN
#undef X
#define X(field, bytes) \
	NEED(cu.allocate(&outputs[made], bytes + 16)); \
	memcpy(&to.field, &outputs[made++], 8);
	ARRAYS_OUT
#undef X
	struct OF(_context) context = { .device = device, .stream = stream, .workspace = (void *)(uintptr_t)workspace };
	NEED(cu.begin(stream, 0));
	NEED(OF(_run)(&from, &to, &context));
	printf("graph %.3f\n", median_of(stream));
	for (int l = 0; l < CONSTANT(_LAUNCHES); l++) {
		const struct OF(_launch) *launch = &OF(_launches)[l];
		for (int a = 0; a < launch->count; a++) {
			const struct OF(_argument) *argument = &launch->arguments[a];
			unsigned long long place = argument->place == CONSTANT(_WEIGHTS)
			        ? device->weights + (unsigned long long)argument->at
			        : argument->place == CONSTANT(_WORKSPACE) ? workspace + (unsigned long long)argument->at
			        : argument->place == CONSTANT(_INPUT)     ? inputs[argument->at]
			                                                  : outputs[argument->at];
			at[a] = place;
			arguments[a] = &at[a];
		}
		NEED(cu.begin(stream, 0));
		for (int i = 0; i < launches_of_one; i++)
			NEED(cu.launch(device->kernels[launch->kernel], launch->blocks, 1, 1, CONSTANT(_THREADS),
			        launch->warps, 1, 0, stream, arguments, NULL));
		printf("kernel %d %.3f\n", l, median_of(stream) / launches_of_one);
		fflush(stdout);
	}
	while (count)
		NEED(cu.give(inputs[--count]));
	while (made)
		NEED(cu.give(outputs[--made]));
	NEED(cu.give(workspace));
	NEED(cu.destroy(stream));
	void *last;
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
	void *module, *stream;
	unsigned blocks;
	unsigned long long to, from, rounds;
} limit;

static double limit_time(const char *name, unsigned blocks, int launches)
{
	void *function, *arguments[] = { &limit.to, &limit.from, &limit.rounds };
	NEED(cu.function(&function, limit.module, name));
	NEED(cu.begin(limit.stream, 0));
	for (int i = 0; i < launches; i++)
		NEED(cu.launch(function, blocks, 1, 1, 32, WARPS, 1, 0, limit.stream, arguments, NULL));
	return median_of(limit.stream) / launches;
}

/* Rounds a microsecond, of a launch that takes long enough. */
static double limit_rate(const char *name, long long quads)
{
	long long told[2] = { 1, quads };
	double time;
	for (;; told[0] *= 2) {
		NEED(cu.up(limit.rounds, told, sizeof told, limit.stream));
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
	NEED(cu.create(&limit.stream, 1));
	NEED(cu.load(&limit.module, image, 0, NULL, NULL));
	limit.blocks = (unsigned)processors * BLOCKS_A_PROCESSOR;
	double threads = 32. * WARPS * limit.blocks;
	size_t most = 2 * (size_t)l2 + (size_t)(QUAD * COPIES * threads);
	NEED(cu.allocate(&limit.to, most));
	NEED(cu.allocate(&limit.from, most));
	NEED(cu.allocate(&limit.rounds, 16));
	NEED(cu.up(limit.from, factors, sizeof factors, limit.stream));
	printf("launch %.3f\n", limit_time("limit_empty", 1, launches_of_one));
	printf("fma %.1f\n", limit_rate("limit_fma", 0) * threads * SUMS);
	if (mma)
		printf("mma %.1f\n", limit_rate("limit_mma", 0) * threads / 32 * PRODUCTS * PRODUCT);
	printf("near %.1f\nfar %.1f\nnear_bytes %d\n", limit_copy(l2 / 2), limit_copy(4LL * l2), l2 / 2);
	NEED(cu.give(limit.to));
	NEED(cu.give(limit.from));
	NEED(cu.give(limit.rounds));
	NEED(cu.destroy(limit.stream));
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
#define X(field, bytes) write_file(words[next++], out.field, bytes);
		ARRAYS_OUT
#undef X
	}
	OF(_close)(&device);
	return 0;
}
