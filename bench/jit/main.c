/* main.c: bench/jit: ahead of time and just in time, taking turns in one process: AOT time / JIT time of each model.
 *     jit_bench [--kernels] [--dim NAME=N]... [--value NAME=N,N]... MODEL...
 *     jit_bench --bits [--dim NAME=N]... [--value NAME=N,N]... MODEL...        only compares the JIT with the
 *       interpreter
 * --kernels: each kernel besides, and which of the JIT's are scalar loops.  --dim and --value are ingot's, for those of
 * the models that have such names. Times are CPU time, the least of many batches of calls: others may have the machine
 * meanwhile. Also: how long the JIT takes from the model's file to its first result, in a warm process; and whether the
 * bits agree. */
#include "backends/cpu/jit.h"
#include "engine.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS_LEAST = 10, ROUNDS_MOST = 400, BATCH_US = 1000, MODEL_US = 1500000 };

static double now(void) /* of the CPU, in us */
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* What the command says of its models: words of --dim and --value. */
static struct {
	const char *const *dims, *const *values;
	int dim_count, value_count;
} said;

struct drawing {
	uint32_t seed;
};
static uint32_t next(struct drawing *draw) { return draw->seed = draw->seed * 1664525u + 1013904223u; }

/* Floats from -1 to 1, any bytes, integers of 32 bits that are places in most tensors; others stay 0. */
static void fill(struct drawing *draw, enum dtype type, void *at, size_t n)
{
	for (size_t k = 0; k < n; k++)
		switch (type) {
		case DTYPE_F32: ((float *)at)[k] = (float)(next(draw) >> 8) / 8388608.f - 1.f; break;
		case DTYPE_F64: ((double *)at)[k] = (double)next(draw) / 2147483648. - 1; break;
		case DTYPE_U8:
		case DTYPE_I8: ((unsigned char *)at)[k] = (unsigned char)(next(draw) >> 24); break;
		case DTYPE_BOOL: ((unsigned char *)at)[k] = (unsigned char)(next(draw) >> 31); break;
		case DTYPE_I32: ((int32_t *)at)[k] = (int32_t)(next(draw) >> 30); break;
		default: return;
		}
}

struct opened {
	struct build build;
	struct options options;
	struct model *model;
	struct engine *engine;
	void **inputs, **outputs;
};

static void open_model(struct opened *o, const char *path, const struct engine_kind *kind)
{
	struct build *build = &o->build;
	o->options = (struct options){ .model = path, .target = target_native(), .threads = 1, .some = true };
	for (int i = 0; i < said.dim_count; i++)
		push(build->arena, &o->options.dims, binding_parse(build, said.dims[i]));
	for (int i = 0; i < said.value_count; i++)
		push(build->arena, &o->options.values, saying_parse(build, said.values[i]));
	o->model = model_read(build, &o->options);
	model_prepare(o->model);
	model_define(o->model);
	o->engine = engine_open(o->model, kind);
	const struct program *program = o->model->program;
	o->inputs = arena_new_array(build->arena, void *, program->inputs.count + 1);
	o->outputs = arena_new_array(build->arena, void *, program->outputs.count + 1);
	struct drawing draw = { 1 };
	for (size_t i = 0; i < program->inputs.count; i++) {
		const struct definition *d = program->inputs.at[i];
		size_t n = (size_t)definition_elements(d);
		o->inputs[i] = arena_alloc(build->arena, dtype_bytes(d->type, n) + 64);
		for (size_t v = 0; v < o->options.values.count; v++) /* no other is right */
			for (size_t k = 0;
			        d->type == DTYPE_I64 && !strcmp(o->options.values.at[v].name, d->name) && k < n; k++)
				((int64_t *)o->inputs[i])[k] = o->options.values.at[v].values[k];
		fill(&draw, d->type, o->inputs[i], n);
	}
	for (size_t i = 0; i < program->outputs.count; i++)
		o->outputs[i] = arena_alloc(build->arena,
		        dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i]))
		                + 64);
	engine_run(o->engine, (const void *const *)o->inputs, o->outputs);
}

static double once(struct opened *o, int calls)
{
	double t = now();
	for (int i = 0; i < calls; i++)
		engine_run(o->engine, (const void *const *)o->inputs, o->outputs);
	return (now() - t) / calls;
}

/* ---- kernel by kernel: both lower the model alike, so kernel n is kernel n ---- */
enum { ARGUMENTS = 12 };
typedef void aot_kernel();
static void call(void *function, void **a, size_t count, long blocks, bool jit)
{
	union {
		void *at;
		void (*f)(void *, ...);
		aot_kernel *k;
	} u = { function };
	(void)jit;
	switch (count) { /* the last is scratch, or the blocks */
	case 2: jit ? u.k(a[0], a[1], a[2]) : u.k(a[0], a[1], 0L, blocks); break;
	case 3: jit ? u.k(a[0], a[1], a[2], a[3]) : u.k(a[0], a[1], a[2], 0L, blocks); break;
	case 4: jit ? u.k(a[0], a[1], a[2], a[3], a[4]) : u.k(a[0], a[1], a[2], a[3], 0L, blocks); break;
	case 5: jit ? u.k(a[0], a[1], a[2], a[3], a[4], a[5]) : u.k(a[0], a[1], a[2], a[3], a[4], 0L, blocks); break;
	case 6:
		jit ? u.k(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
		    : u.k(a[0], a[1], a[2], a[3], a[4], a[5], 0L, blocks);
		break;
	}
}

static void kernels(struct opened *aot, struct opened *jit)
{
	for (size_t k = 0; k < jit->model->lowered->kernels.count; k++) {
		const struct kernel *kernel = jit->model->lowered->kernels.at[k];
		void *arguments[ARGUMENTS + 1];
		if (kernel->params.count > 6 || kernel->params.count < 2)
			continue;
		void *f[2] = { engine_c_symbol(aot->engine,
			               arena_printf(aot->build.arena, "%s_%s", aot->model->name, kernel->name)),
			engine_jit_kernel(
			        jit->engine, kernel, (const void *const *)jit->inputs, jit->outputs, arguments) };
		double best[2] = { 1e9, 1e9 };
		if (!f[0] || !f[1])
			continue;
		for (int round = 0; round < 15; round++)
			for (int j = 0; j < 2; j++) {
				int calls = round ? (int)(500 / best[j]) + 1 : 1;
				double t = now();
				for (int i = 0; i < calls; i++)
					call(f[j], arguments, kernel->params.count, kernel->blocks, j);
				t = (now() - t) / calls;
				best[j] = t < best[j] ? t : best[j];
			}
		printf("    %-18s AOT %9.2f us, JIT %9.2f us, %.2f  %s, tile %s\n", kernel->name, best[0], best[1],
		        best[0] / best[1], engine_jit.form(jit->engine, kernel), kernel->tile);
	}
}

/* Equal bits of output i; NaN equals NaN.  Behind what data say that there is neither engine has to store anything. */
static bool agree(const struct program *program, size_t i, void *const *a, void *const *b)
{
	const struct definition d = definition_actual(program, i, a);
	size_t n = (size_t)definition_elements(&d);
	const float *x = a[i], *y = b[i];
	if (d.type != DTYPE_F32)
		return !memcmp(x, y, dtype_bytes(d.type, n));
	for (size_t k = 0; k < n; k++)
		if (memcmp(&x[k], &y[k], sizeof *x) && !(x[k] != x[k] && y[k] != y[k]))
			return false;
	return true;
}

/* The interpreter's bits are the JIT's; where drawn operands are not what the graph declares, both refuse them. */
static int check(const char *path)
{
	struct opened interpreter = { 0 }, jit = { 0 };
	volatile bool same = true;
	build_init(&interpreter.build), build_init(&jit.build);
	if (BUILD_TRY(&interpreter.build))
		open_model(&interpreter, path, &engine_interpreter);
	bool refused = interpreter.build.code == EXIT_INVALID;
	if ((refused || !interpreter.build.code) && BUILD_TRY(&jit.build))
		open_model(&jit, path, &engine_jit);
	int code = interpreter.build.code ? interpreter.build.code : jit.build.code;
	if (refused && jit.build.code == EXIT_INVALID) {
		build_release(&interpreter.build), build_release(&jit.build);
		return 0;
	}
	if (code)
		printf("%s: exit %d: %s%s\n", path, code, interpreter.build.message, jit.build.message);
	for (size_t i = 0; !code && i < jit.model->program->outputs.count; i++)
		same &= agree(jit.model->program, i, interpreter.outputs, jit.outputs);
	if (!same)
		printf("%s: bits differ\n", path);
	engine_close(jit.engine);
	build_release(&interpreter.build), build_release(&jit.build);
	return code == EXIT_UNSUPPORTED ? 0 : code || !same;
}

static double lesser(double a, double b) { return a < b ? a : b; }

static int measure(const char *path, bool each, double *logs)
{
	struct opened aot = { 0 }, jit = { 0 }, warm = { 0 };
	volatile double first = INFINITY;
	build_init(&aot.build), build_init(&jit.build);
	if (BUILD_TRY(&aot.build))
		open_model(&aot, path, &engine_c);
	if (!aot.build.code && BUILD_TRY(&jit.build))
		open_model(&jit, path, &engine_jit);
	if (aot.build.code || jit.build.code) {
		printf("%s: %s%s\n", path, aot.build.message, jit.build.message);
		return 1;
	}
	for (volatile int i = 0; i < 3; i++) {
		double t = now();
		build_init(&warm.build);
		if (BUILD_TRY(&warm.build))
			open_model(&warm, path, &engine_jit);
		first = lesser(first, now() - t);
		engine_close(warm.engine);
		build_release(&warm.build);
	}
	bool same = true;
	for (size_t i = 0; i < aot.model->program->outputs.count; i++)
		same &= agree(aot.model->program, i, aot.outputs, jit.outputs);
	double guess = once(&aot, 1) + once(&jit, 1), a = INFINITY, j = INFINITY;
	int calls = (int)(2 * BATCH_US / guess) + 1, rounds = (int)(MODEL_US / guess / calls);
	rounds = rounds < ROUNDS_LEAST ? ROUNDS_LEAST : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
	for (int i = 0; i < rounds; i++) {
		a = lesser(a, once(&aot, calls));
		j = lesser(j, once(&jit, calls));
	}
	*logs += log(a / j);
	printf("%-60s AOT %10.2f us, JIT %10.2f us, AOT / JIT %.2f, bits %s, first result %.2f ms, scalar kernels %d\n",
	        path, a, j, a / j, same ? "same" : "DIFFER", first * 1e-3, engine_jit_scalar_kernels(jit.engine));
	fflush(stdout);
	if (each)
		kernels(&aot, &jit);
	engine_close(aot.engine), engine_close(jit.engine);
	build_release(&aot.build), build_release(&jit.build);
	return !same;
}

int main(int argc, char **argv)
{
	int bad = 0, measured = 0, count = 0;
	double logs = 0;
	bool each = argc > 1 && !strcmp(argv[1], "--kernels");
	bool bits = argc > 1 && !strcmp(argv[1], "--bits");
	const char **dims = calloc((size_t)argc + 1, sizeof *dims), **values = calloc((size_t)argc + 1, sizeof *values);
	if (!dims || !values)
		return 6;
	if (bits && jit_probe() == JIT_ABSENT) {
		printf("no libtcc in this build: skipped\n");
		return 77;
	}
	for (int i = 1 + (each || bits); i < argc; i++)
		if (!strcmp(argv[i], "--dim") && i + 1 < argc)
			dims[said.dim_count++] = argv[++i];
		else if (!strcmp(argv[i], "--value") && i + 1 < argc)
			values[said.value_count++] = argv[++i];
		else
			argv[count++] = argv[i];
	said.dims = dims;
	said.values = values;
	for (int i = 0; i < count; i++) {
		double before = logs;
		bad |= bits ? check(argv[i]) : measure(argv[i], each, &logs);
		measured += logs != before;
	}
	if (measured > 1)
		printf("geometric mean of AOT / JIT over %d: %.3f\n", measured, exp(logs / measured));
	free(dims);
	free(values);
	return bad;
}
