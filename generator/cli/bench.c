/* bench.c: ingot bench: times a model's kernels, each beside the limit that binds it, measured in the same run.
 *
 * Kernels run in their order, so that caches are as in a real call; a time is the median over rounds.  The limits are
 * loops in the same words as the kernels: fused multiply-adds in registers, and reads from a buffer of the kernel's own
 * size.  A GPU's kernels are timed by its own events; its limits are kernels, too (device_limits.c).  An engine that
 * does not run kernels one by one (the interpreter, the CUDA emulator) is timed as a whole. */
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WHOLE_LEAST = 3, APART_LEAST = 11 };
/* Microseconds for an engine that is timed as a whole, and for one whose kernels are timed apart. */
static const double WHOLE_MOST = 2e6, APART_MOST = 1e7;
struct marks {
	double last, *times;    /* NULL: kernels are not timed apart */
	int round, most, count; /* rounds: this one, how many at most, how many there were */
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void mark(void *user, int kernel)
{
	struct marks *marks = user;
	double t = now();
	if (kernel >= 0)
		marks->times[kernel * marks->most + marks->round] = t - marks->last;
	marks->last = now();
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *times, int count)
{
	qsort(times, (size_t)count, sizeof *times, ascending);
	return times[count / 2];
}

static volatile float sink;

/* fma a microsecond, in units of one float's multiply-add */
static double measure_fma(float (*loop)(long), int lanes)
{
	double best = 0;
	FOR (i, 7) {
		double t = now();
		sink = loop(100000);
		double rate = 100000. * 12 * lanes / (now() - t);
		best = rate > best ? rate : best;
	}
	return best;
}

static double measure_read(float (*loop)(const float *, long), const float *from, long floats)
{
	double best = 0;
	FOR (i, 7) {
		long rounds = 1 + 4000000 / floats;
		double t = now();
		for (long r = 0; r < rounds; r++)
			sink = loop(from, floats);
		double rate = 4. * (double)floats * (double)rounds / (now() - t);
		best = rate > best ? rate : best;
	}
	return best;
}

/* From [0, 1). */
static float next_drawn(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (float)(*seed >> 40) * 0x1p-24f;
}

/* Inputs: floats from [0, 1), bytes of their whole range, other integers 0 (they may be places); and room for the
 * outputs. */
void bench_buffers(struct build *build, const struct program *program, const void **inputs, void **outputs)
{
	uint64_t seed = 1;
	FOR_ALL (i, program->inputs) {
		int64_t count = definition_elements(program->inputs.at[i]);
		char *data = arena_alloc(build->arena, dtype_bytes(program->inputs.at[i]->type, (size_t)count) + 64);
		enum dtype type = program->inputs.at[i]->type;
		FOR (k, count)
			if (type == DTYPE_F32)
				((float *)data)[k] = next_drawn(&seed);
			else if (type == DTYPE_F64)
				((double *)data)[k] = (double)next_drawn(&seed);
			else if (type == DTYPE_I8 || type == DTYPE_U8)
				data[k] = (char)(int)(256 * next_drawn(&seed) - 128);
		if (program->inputs.at[i]->port.most)
			memcpy(data, &program->inputs.at[i]->port.most, sizeof program->inputs.at[i]->port.most);
		inputs[i] = data;
	}
	FOR_ALL (i, program->outputs)
		outputs[i] = arena_alloc(build->arena,
		        dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i]))
		                + 64);
}

/* The median of whole calls.  `marks` receives each kernel's times, where the engine times them apart. */
static double measure_calls(struct engine *engine, const void **inputs, void **outputs, struct marks *marks)
{
	bool apart = marks->times;
	double whole[BENCH_ROUNDS], begun = now(), most = apart ? APART_MOST : WHOLE_MOST;
	int count = 0, least = apart ? APART_LEAST : WHOLE_LEAST;
	FOR (r, (apart ? 5 : 1))
		engine_run(engine, inputs, outputs);
	while (count < marks->most && (count < least || now() - begun < most)) {
		progress(engine->model->build, "time", (size_t)count, (size_t)marks->most, 0);
		double t = now();
		engine_run(engine, inputs, outputs);
		whole[count] = now() - t;
		if (apart) {
			marks->round = count;
			engine->kind->profile(engine, inputs, outputs, mark, marks);
		}
		count++;
	}
	marks->count = count;
	return median(whole, count);
}

/* Calls with inputs and outputs in the device's memory: by launches, by one graph; as many rounds as time and `marks`,
 * each kernel's times, allow. */
struct device_calls {
	double launches, graph;
	int rounds;
};
static struct device_calls measure_device(struct engine *engine, struct marks *marks)
{
	double launches[BENCH_ROUNDS], graph[BENCH_ROUNDS], begun = now(), *kernels = marks->times;
	size_t count = engine->model->lowered->kernels.count;
	double *one = arena_new_array(engine->model->build->arena, double, count + 1);
	int rounds = 0;
	engine->kind->again(engine, true); /* captures */
	while (rounds < marks->most && (rounds < WHOLE_LEAST || now() - begun < WHOLE_MOST)) {
		engine->kind->times(engine, one);
		FOR (k, count)
			kernels[k * (size_t)marks->most + (size_t)rounds] = one[k];
		double t = now();
		engine->kind->again(engine, false);
		launches[rounds] = now() - t;
		t = now();
		engine->kind->again(engine, true);
		graph[rounds++] = now() - t;
	}
	return (struct device_calls){ median(launches, rounds), median(graph, rounds), rounds };
}

/* What a look at the clock takes; the best of some, as others may take the core meanwhile. */
static double measure_clock(void)
{
	double best = 1e9;
	FOR (i, 25) {
		double t = now();
		FOR (k, 100)
			(void)now();
		t = (now() - t) / 100;
		best = t < best ? t : best;
	}
	return best;
}

/* ---- what is said of a kernel ---- */
struct row {
	const struct kernel *kernel;
	const char *form; /* of an engine that has several; NULL: its own code */
	struct work work;
	double time, limit;
	const char *bound;
};
struct table {
	const struct cli *cli;
	json_t *list;
	int width; /* of names */
	double time, limit;
};

static struct table table_new(const struct cli *cli, const struct lowered *lowered)
{
	struct table table = { .cli = cli, .list = json_array(), .width = (int)strlen("all kernels") };
	FOR_ALL (k, lowered->kernels)
		if ((int)strlen(lowered->kernels.at[k]->name) > table.width)
			table.width = (int)strlen(lowered->kernels.at[k]->name);
	if (!cli->flags.json)
		printf("%-*s %10s %9s %9s %9s  %-10s  %s\n", table.width, "kernel", "us", "GFLOP/s", "GB/s", "of limit",
		        "bound by", "code: nodes");
	return table;
}

static json_t *nodes_of(const struct kernel *kernel)
{
	json_t *nodes = json_array();
	FOR_ALL (m, kernel->members)
		json_array_append_new(nodes, json_string(kernel->members.at[m]->name));
	return nodes;
}

/* What is long stands behind the columns. */
static void print_row(const struct table *table, const struct row *row)
{
	struct text text;
	const struct kernel *kernel = row->kernel;
	text_init(&text, table->cli->build);
	text_printf(&text, "%-*s %10.3f %9.1f %9.1f %8.1f%%  %-10s  ", table->width, kernel->name, row->time,
	        kernel->flops / row->time * 1e-3, row->work.bytes / row->time * 1e-3, 100 * row->limit / row->time,
	        row->bound);
	if (row->form)
		text_adds(&text, row->form);
	else
		kernel_tile_text(kernel, &text);
	FOR_ALL (m, kernel->members)
		text_printf(&text, "%s %s", m ? "" : ":", kernel->members.at[m]->name);
	printf("%.*s\n", (int)text.count, text.at);
	text_release(&text);
}

static void table_add(struct table *table, struct row row)
{
	const struct kernel *kernel = row.kernel;
	struct arena *arena = table->cli->build->arena;
	row.time = row.time > 1e-3 ? row.time : 1e-3;
	table->time += row.time;
	table->limit += row.limit;
	if (!table->cli->flags.json)
		print_row(table, &row);
	json_t *one = json_pack("{s:s,s:o,s:s,s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:s}", "name", kernel->name, "nodes",
	        nodes_of(kernel), "form", row.form ? row.form : "compiled", "template",
	        kernel_template(arena, table->cli->options.target, kernel), "tile", kernel->tile, "lanes",
	        row.form ? row.form : kernel_lanes_text(arena, kernel), "microseconds", row.time, "flops",
	        kernel->flops, "multiply_adds", row.work.multiply_adds, "operations", row.work.operations, "bytes",
	        row.work.bytes, "of_limit", row.limit / row.time, "bound", row.bound);
	json_array_append_new(table->list, one);
}

/* ---- limits of a CPU ---- */
struct limits {
	struct engine *engine;
	double fma; /* a microsecond */
	float (*read)(const float *, long);
};

/* Steps of this product a microsecond. */
static double product_rate(const struct limits *limits, const struct product *product)
{
	float (*loop)(long);
	const char *name = product && !product_is_fma(product)
	        ? arena_printf(limits->engine->model->build->arena, "limit_%s", product->name)
	        : "limit_fma";
	*(void **)&loop = limits->engine->kind->limit(limits->engine, name);
	bool matrix = product && product_is_matrix(product);
	return loop ? measure_fma(loop,
	               matrix ? product->m * product->n * product->together
	                      : limits->engine->model->options->target->lanes)
	            : limits->fma;
}

/* How long the kernel's work takes at least, and what binds it. */
static double limit_of(const struct limits *limits, const struct work *work, const char **bound)
{
	const struct target *target = limits->engine->model->options->target;
	long floats = (long)(work->bytes / 4 / 1024 + 1) * 1024;
	float *buffer = aligned_alloc(64, (size_t)floats * 4);
	if (buffer)
		memset(buffer, 0, (size_t)floats * 4);
	double bandwidth = buffer ? measure_read(limits->read, buffer, floats) : 1;
	free(buffer);
	bool other = work->product && !product_is_fma(work->product);
	double products = work->multiply_adds / (other ? product_rate(limits, work->product) : limits->fma),
	       others = work->operations / limits->fma, memory = work->bytes / bandwidth;
	if (products + others > memory) {
		*bound = products < others ? "operations" : other ? work->product->name : "fma";
		return products + others;
	}
	*bound = work->bytes < (double)target->l1_bytes  ? "L1"
	        : work->bytes < (double)target->l2_bytes ? "L2"
	        : work->bytes < (double)target->l3_bytes ? "L3"
	                                                 : "memory";
	return memory;
}

static struct table report_kernels(
        const struct cli *cli, struct engine *engine, const struct marks *marks, double *fma_rate)
{
	const struct lowered *lowered = engine->model->lowered;
	struct limits limits = { .engine = engine };
	*(void **)&limits.read = engine->kind->limit(engine, "limit_read");
	*fma_rate = limits.fma = product_rate(&limits, NULL);
	double overhead = measure_clock();
	struct table table = table_new(cli, lowered);
	FOR_ALL (k, lowered->kernels) {
		const struct kernel *kernel = lowered->kernels.at[k];
		struct row row = { .kernel = kernel, .work = kernel_work(lowered, kernel) };
		row.form = engine->kind->form ? engine->kind->form(engine, kernel) : NULL;
		row.time = median(marks->times + k * (size_t)marks->most, marks->count) - overhead;
		row.limit = limit_of(&limits, &row.work, &row.bound);
		table_add(&table, row);
	}
	return table;
}

/* ---- limits of a device ---- */
static double device_limit(const struct work *work, const struct device_limits *limits, const char **bound)
{
	bool near = work->bytes <= (double)limits->near_bytes;
	double compute = (work->multiply_adds + work->operations) / limits->fma,
	       copy = work->bytes / (near ? limits->near : limits->far), limit = compute > copy ? compute : copy;
	*bound = limit < limits->launch                  ? "launch"
	        : compute <= copy                        ? near ? "L2" : "memory"
	        : work->multiply_adds < work->operations ? "operations"
	                                                 : "fma";
	return limit > limits->launch ? limit : limits->launch;
}

static struct table report_device(const struct cli *cli, struct engine *engine, const struct marks *marks, int rounds,
        const struct device_limits *limits)
{
	const struct lowered *lowered = engine->model->lowered;
	struct table table = table_new(cli, lowered);
	FOR_ALL (k, lowered->kernels) {
		struct row row = { .kernel = lowered->kernels.at[k] };
		row.work = kernel_work(lowered, row.kernel);
		row.time = median(marks->times + k * (size_t)marks->most, rounds);
		row.limit = device_limit(&row.work, limits, &row.bound);
		table_add(&table, row);
	}
	return table;
}

static void add_device(json_t *out, const struct device_calls *calls, const struct device_limits *limits,
        const struct device_turns *turns)
{
	json_object_set_new(out, "launches_microseconds", json_real(calls->launches));
	json_object_set_new(out, "graph_microseconds", json_real(calls->graph));
	json_object_set_new(out, "rounds", json_integer(calls->rounds));
	json_object_set_new(out, "device", json_string(turns->device));
	json_object_set_new(out, "sets", json_integer(turns->sets));
	json_object_set_new(out, "set_bytes", json_integer((json_int_t)turns->set_bytes));
	json_object_set_new(out, "l2_bytes", json_integer((json_int_t)turns->l2_bytes));
	json_object_set_new(out, "limits",
	        json_pack("{s:f,s:f,s:f,s:f,s:f}", "fma_gflops", 2e-3 * limits->fma, "mma_gflops", 2e-3 * limits->mma,
	                "l2_gbytes", 1e-3 * limits->near, "memory_gbytes", 1e-3 * limits->far, "launch_microseconds",
	                limits->launch));
}

static void print_device(const struct table *table, double call_time, const struct device_calls *calls,
        const struct device_limits *limits, const struct device_turns *turns)
{
	printf("%-*s %10.3f   one call %.3f us by launches, %.3f us as a graph, %.3f us with copies from and to the "
	       "host; %d rounds\n",
	        table->width, "all kernels", table->time, calls->launches, calls->graph, call_time, calls->rounds);
	printf("%s: limits fma %.1f GFLOP/s, ", turns->device, 2e-3 * limits->fma);
	if (limits->mma > 0)
		printf("mma (tf32) %.1f GFLOP/s, ", 2e-3 * limits->mma);
	printf("copy %.1f GB/s in L2 and %.1f GB/s in memory, an empty launch %.3f us\n", 1e-3 * limits->near,
	        1e-3 * limits->far, limits->launch);
	printf("%d sets of inputs, outputs and workspace by turns, %.1f MB in all, L2 has %.1f MB\n", turns->sets,
	        1e-6 * turns->sets * (double)turns->set_bytes, 1e-6 * (double)turns->l2_bytes);
}

/* The table's rows are out; what is said of all of them. */
static void report_all(const struct cli *cli, const struct engine *engine, const struct table *table, json_t *out)
{
	const struct engine_kind *kind = engine->kind;
	json_object_set_new(out, "kernels", table->list);
	if (table->time > 0)
		json_object_set_new(out, "of_limit", json_real(table->limit / table->time));
	if (kind->native) {
		json_object_set_new(out, "cpu", json_string(target_text(engine->model->options->target)));
		json_object_set_new(out, "processor", json_string(machine_name(cli->build->arena)));
	}
	if (!cli->flags.json && table->time > 0)
		printf("time at the limits / time: %.3f\n", table->limit / table->time);
}

struct bench {
	const struct cli *cli;
	json_t *out;
};

static void measure(struct engine *engine, void *user)
{
	struct bench *bench = user;
	const struct cli *cli = bench->cli;
	struct model *model = engine->model;
	struct build *build = model->build;
	const struct engine_kind *kind = engine->kind;
	const void **inputs = arena_new_array(build->arena, const void *, model->program->inputs.count + 1);
	void **outputs = arena_new_array(build->arena, void *, model->program->outputs.count + 1);
	bench_buffers(build, model->program, inputs, outputs);
	size_t kernels = model->lowered ? model->lowered->kernels.count : 0;
	bool apart = kind->profile && !cli->timing.calls_only;
	struct marks marks = { .most = cli->timing.rounds ? cli->timing.rounds : BENCH_ROUNDS };
	double *times = arena_new_array(build->arena, double, kernels *(size_t)marks.most + 1);
	marks.times = apart ? times : NULL;
	double call_time = measure_calls(engine, inputs, outputs, &marks), fma_rate = 0;
	json_t *out = bench->out =
	        json_pack("{s:s,s:f,s:i}", "target", kind->name, "call_microseconds", call_time, "rounds", marks.count);
	marks.times = times;
	struct table table = { .cli = cli };
	if (apart) {
		if (!cli->flags.json)
			printf("%s on %s\n", target_text(model->options->target), machine_name(build->arena));
		table = report_kernels(cli, engine, &marks, &fma_rate);
		json_object_set_new(out, "fma_gflops", json_real(2 * fma_rate * 1e-3));
		if (!cli->flags.json)
			printf("%-*s %10.3f   one call %.3f us; fma limit %.1f GFLOP/s\n", table.width, "all kernels",
			        table.time, call_time, 2 * fma_rate * 1e-3);
	} else if (kind->times && !cli->timing.calls_only) {
		struct device_limits limits = { 0 };
		struct device_calls device = measure_device(engine, &marks);
		struct device_turns turns = kind->limits(engine, &limits);
		table = report_device(cli, engine, &marks, device.rounds, &limits);
		add_device(out, &device, &limits, &turns);
		if (!cli->flags.json)
			print_device(&table, call_time, &device, &limits, &turns);
	} else {
		table.list = json_array();
		FOR (k, kernels)
			json_array_append_new(table.list,
			        json_pack("{s:s,s:o}", "name", model->lowered->kernels.at[k]->name, "nodes",
			                nodes_of(model->lowered->kernels.at[k])));
		if (!cli->flags.json)
			printf("%s: one call %.3f us, the median of %d\n", kind->name, call_time, marks.count);
	}
	report_all(cli, engine, &table, out);
}

json_t *bench_model(const struct cli *cli, struct model *model, const struct engine_kind *kind)
{
	struct bench bench = { .cli = cli };
	engine_with(model, kind, measure, &bench);
	return bench.out;
}

static void run(struct cli *cli)
{
	const struct engine_kind *kind = cli_engine(cli);
	json_t *other = cli->timing.compare ? compare_read(cli->build, cli->timing.compare) : NULL;
	cli->options.profile = !cli->timing.calls_only;
	struct model *model = model_read(cli->build, &cli->options);
	model_prepare(model);
	model_define(model);
	cli_weigh_denormals(model);
	json_t *out = bench_model(cli, model, kind);
	if (other && cli->flags.json)
		json_object_set_new(out, "compared", compare(out, other));
	else if (other)
		compare_print(cli->build, out, other);
	json_decref(other);
	if (cli->flags.json)
		cli_print_json(out, stdout);
	else
		json_decref(out);
}

const struct command command_bench = { "bench", "MODEL", "time each kernel beside the machine's limits",
	"--target c (default) or jit: a time is the median of 201 rounds, or of --rounds, or of as many as ten seconds "
	"hold, 11 at least; limits are measured in the "
	"same run.  "
	"c without --cpu: the library that build makes, where this CPU runs it, else as --cpu native.\n"
	"A limit is that of the work: multiply-adds of products, other operations, or the bytes that go in and out.  "
	"The last line: the sum of all limits by the sum of all times.\n"
	"--target cuda: by the GPU's own events, on sets of inputs and workspace by turns that L2 cannot hold; "
	"whole calls by launches and as one graph besides; as many rounds as two seconds hold.\n"
	"--target interpreter or cuda-emulated: whole calls only, as many as two seconds hold; "
	"so, with --calls-only, on any.  "
	"Never another target in its stead.\n"
	"--compare FILE: beside what another build took; FILE is what bench --json or report --json said of it.",
	IN_BENCH, 1, 1, run };
