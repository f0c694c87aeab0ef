/* rows_batch.c: rows A16, G1 to G3, G5, G8, G11, G12, H15: several graphs in one library, and schedules of kernels. */
#include <math.h>
#include "rows.h"

enum { COUNT = 32 };

static void inputs(float *x)
{
	for (int i = 0; i < COUNT; i++)
		x[i] = (float)(i * i % 17) - 8;
}

/* first, then second, in one context; z. */
static void run_pair(struct trial *t, const char *set, float *z)
{
	struct ingot_library library = load_library(t, set);
	struct ingot_routine routines[3];
	struct ingot_context last;
	float x[COUNT];
	inputs(x);
	OK(ingot_context_new(t->stream, &t->context));
	OK(ingot_link_all(t->context, library, NULL, NULL, routines, &last));
	write_f32(last, node_of(library, "x"), x, COUNT);
	OK(ingot_routine_run(routines[0], NULL));
	OK(ingot_routine_run(routines[1], NULL));
	read_f32(last, node_of(library, "z"), z, COUNT);
}

/* The same by two libraries, each made by itself. */
static void run_later(struct trial *t, float *z)
{
	struct ingot_library kept = load_library(t, "kept"), later;
	struct ingot_routine routines[2];
	struct ingot_context base, between, last;
	float x[COUNT];
	inputs(x);
	OK(ingot_library_load(
	        t->runtime, module_of(t, "later"), &(struct ingot_library_options){ .with = kept }, &later));
	OK(ingot_context_new(t->stream, &base));
	link_routine(base, kept, "kept", routines, &between);
	link_routine(between, later, "later", routines + 1, &last);
	write_f32(last, node_of(kept, "x"), x, COUNT);
	OK(ingot_routine_run(routines[0], NULL));
	OK(ingot_routine_run(routines[1], NULL));
	read_f32(last, node_of(later, "z"), z, COUNT);
}

/* What the graphs mean, in double. */
static double expected(int at)
{
	float x[COUNT];
	double mean = 0, doubled, w = at % 8 + 1;
	inputs(x);
	for (int i = 0; i < COUNT; i++)
		mean += (double)x[i] * (i % 8 + 1) / COUNT;
	doubled = x[at] * w;
	return (doubled - mean) * w + (doubled + mean);
}

/* The second graph computes again what the first left virtual; told to stay apart, the first stores it; alone, there is
 * nobody to compute it. */
static void a16(struct trial *t)
{
	float z[2][COUNT];
	const struct ingot_module *pair = module_of(t, "pair"), *apart = module_of(t, "pair_apart");
	CHECK(!module_node(pair, "doubled") && tensor_of(pair, "doubled", "first")->mode == INGOT_VIRTUAL);
	CHECK(module_node(apart, "doubled") && tensor_of(apart, "doubled", "first")->mode == INGOT_ON_DEVICE);
	CHECK(tensor_of(apart, "doubled", "first")->provenance == INGOT_BY_OTHER_ROUTINE);
	/* x, which it needs for that, is an input of the second now. */
	const struct ingot_module_routine *second = routine_of(pair, "second");
	bool reads_x = false;
	for (uint32_t i = 0; i < second->input_count; i++)
		reads_x |= !strcmp(pair->nodes[second->inputs[i]].name, "x");
	CHECK(reads_x && module_node(pair, "mean")); /* a reduction is not computed twice */
	run_pair(t, "pair", z[0]);
	run_pair(t, "pair_apart", z[1]);
	CHECK(!memcmp(z[0], z[1], sizeof *z));
	for (int i = 0; i < COUNT; i++)
		CHECK(fabs(z[0][i] - expected(i)) < 1e-3);
	struct ingot_library alone = load_library(t, "alone");
	struct ingot_routine routine;
	struct ingot_context base, linked;
	OK(ingot_context_new(t->stream, &base));
	link_routine(base, alone, "alone", &routine, &linked);
	FAILS(INGOT_UNREADY, ingot_routine_run(routine, NULL));
	SAYS("doubled, which nobody has written");
	/* A library made later, told of the first: it computes again what that one has virtual, and reads what that one
	 * keeps. */
	const struct ingot_module *later = module_of(t, "later");
	CHECK(!module_node(module_of(t, "kept"), "doubled") && !module_node(later, "doubled")
	        && module_node(later, "x"));
	CHECK(later->routine_count == 1 && tensor_of(later, "doubled", "later")->mode == INGOT_VIRTUAL);
	run_later(t, z[1]);
	CHECK(!memcmp(z[0], z[1], sizeof *z));
}

static bool not_first(const char *name, void *user)
{
	(void)user;
	return strcmp(name, "first");
}

/* Names of members are the graphs' own, what they share is placed once, and a member left out is absent. */
static void g5(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "pair");
	struct ingot_library library = load_library(t, "pair");
	struct ingot_routine routines[2];
	struct ingot_context last, contexts[2];
	struct ingot_location places[2];
	uint64_t before, after;
	CHECK(module->routine_count == 2 && !strcmp(module->routines[0].name, "first")
	        && !strcmp(module->routines[1].name, "second"));
	CHECK(!strcmp(module->name, "pair"));
	uint32_t ys = 0, ws = 0;
	for (uint32_t i = 0; i < module->node_count; i++) {
		ys += !strcmp(module->nodes[i].name, "y");
		ws += module->nodes[i].flags & INGOT_NODE_CONSTANT ? 1 : 0;
	}
	CHECK(ys == 1 && ws == 1); /* w of both graphs is one constant */
	/* The consumer alone cannot be linked: nothing has y. */
	FAILS(INGOT_MISSING, ingot_link_all(t->context, library, not_first, NULL, routines, &last));
	SAYS("which is not in the context");
	OK(ingot_link_all(t->context, library, NULL, NULL, routines, &last));
	for (int r = 0; r < 2; r++) {
		OK(ingot_routine_context(routines[r], &contexts[r]));
		OK(ingot_context_location(contexts[r], node_of(library, "y"), &places[r]));
	}
	CHECK(places[0].pool == places[1].pool && places[0].offset == places[1].offset);
	FAILS(INGOT_UNREADY, ingot_routine_run(routines[1], NULL));
	SAYS("first would");
	OK(ingot_device_used(t->on, &before));
	struct ingot_routine again;
	OK(ingot_link(last, library, "first", &again));
	OK(ingot_device_used(t->on, &after));
	CHECK(before == after);
	struct ingot_routine only[2];
	struct ingot_context end;
	OK(ingot_link_all(last, library, not_first, NULL, only, &end));
	CHECK(!only[0].runtime && only[1].runtime);
	/* Several graphs need a name for all, and agree on what they share. */
	int code;
	const char *text = ingot_says(t, &code, "build first.onnxtxt second.onnxtxt -o %s/x", t->folder);
	CHECK(code == 2 && strstr(text, "--name"));
	text = ingot_says(t, &code,
	        "build virtual.onnxtxt rows.onnxtxt --share x --name two --profile managed --no-compile -o %s/x",
	        t->folder);
	CHECK(code == 3 && strstr(text, "another type or shape") && strstr(text, "rows.onnxtxt"));
	text = ingot_says(t, &code,
	        "build virtual.onnxtxt a=twin.onnxtxt b=alike.onnxtxt --name three --profile managed --no-compile "
	        "-o %s/x",
	        t->folder);
	CHECK(code == 3 && strstr(text, "y: is written by"));
}

/* Where each argument of each kernel comes from, in the order of its parameters. */
static void g8(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "steps");
	const struct ingot_module_routine *routine = routine_of(module, "steps");
	char text[4096];
	size_t used = 0;
	for (uint32_t s = 0; s < routine->step_count; s++) {
		const struct ingot_module_step *step = routine->steps + s;
		const char *kernel = module->kernels[step->kernel].name;
		used += (size_t)snprintf(text + used, sizeof text - used, "%s:", strchr(kernel, '_') + 1);
		CHECK(module->kernels[step->kernel].argument_count == step->argument_count);
		for (uint32_t a = 0; a < step->argument_count - (t->jit ? 1 : 0); a++) {
			const struct ingot_module_argument *argument = routine->arguments + step->first_argument + a;
			if (argument->source == INGOT_FROM_NODE)
				used += (size_t)snprintf(
				        text + used, sizeof text - used, " %s", module->nodes[argument->index].name);
			else
				used += (size_t)snprintf(text + used, sizeof text - used, " %s+%llu",
				        argument->source == INGOT_FROM_WORKSPACE           ? "workspace"
				                : argument->source == INGOT_FROM_CONSTANTS ? "constants"
				                                                           : "merge",
				        (unsigned long long)argument->offset);
		}
		used += (size_t)snprintf(text + used, sizeof text - used, "\n");
	}
	same_as_golden(text, "arguments.txt");
	/* The merge buffer is a source of its own. */
	module = module_of(t, "merging");
	routine = routine_of(module, "merging");
	uint32_t merged = 0;
	for (uint32_t a = 0; a < routine->argument_count; a++)
		merged += routine->arguments[a].source == INGOT_FROM_MERGE;
	CHECK(merged == 1 && routine->merge_input >= 0 && !strcmp(module->nodes[routine->merge_input].name, "grad"));
}

/* A routine that sums what comes through the merge buffer, as the runtime's own tests have it, but generated. */
static void g8_merge(struct trial *t)
{
	struct ingot_library library = load_library(t, "merging");
	struct ingot_routine routine;
	struct ingot_context linked, other;
	struct ingot_stream stream;
	struct ingot_node grad = node_of(library, "grad"), total = node_of(library, "total");
	float values[8], sum[8];
	bool moved;
	OK(ingot_stream_open(t->on, &stream));
	OK(ingot_context_new(stream, &other));
	OK(ingot_context_place(other, &grad, 1));
	link_routine(t->context, library, "merging", &routine, &linked);
	FAILS(INGOT_MISMATCH, ingot_routine_run(routine, NULL)); /* nothing in the merge buffer yet */
	SAYS("grad");
	for (int run = 1; run <= 3; run++) {
		for (int i = 0; i < 8; i++)
			values[i] = (float)(run * i);
		write_f32(other, grad, values, 8);
		OK(ingot_device_to_device(
		        grad, linked, run == 2 ? INGOT_MERGE_STREAMING : INGOT_MERGE_COPY, other, &moved, NULL));
		CHECK(moved);
		OK(ingot_routine_run(routine, NULL));
	}
	read_f32(linked, total, sum, 8);
	for (int i = 0; i < 8; i++)
		CHECK(sum[i] == (float)(6 * i));
	int code;
	const char *text = ingot_says(t, &code,
	        "build sum.onnxtxt --merge grad --merge total --profile managed --no-compile -o %s/x", t->folder);
	CHECK(code == 3 && strstr(text, "reads total and grad from the merge buffer"));
}

/* Two graphs that call their inputs and outputs alike, one of which has an input that is called as what the other
 * computes on its way: nothing of it is one. */
static void twins(struct trial *t, const char *set, int first)
{
	struct ingot_library library = load_library(t, set);
	struct ingot_routine routines[2];
	struct ingot_context last;
	float x[COUNT], h[COUNT], other[COUNT], y[COUNT];
	inputs(x);
	for (int i = 0; i < COUNT; i++) {
		h[i] = (float)(3 * i);
		other[i] = (float)(i * i);
	}
	CHECK(module_node(module_of(t, set), "h") && !module_node(module_of(t, set), "x"));
	OK(ingot_link_all(t->context, library, NULL, NULL, routines, &last));
	write_f32(last, node_of(library, "virtual_.x"), x, COUNT);
	write_f32(last, node_of(library, "twin.x"), other, COUNT);
	write_f32(last, node_of(library, "h"), h, COUNT);
	OK(ingot_routine_run(routines[first], NULL));
	OK(ingot_routine_run(routines[1 - first], NULL));
	read_f32(last, node_of(library, "virtual_.y"), y, COUNT);
	for (int i = 0; i < COUNT; i++)
		CHECK(fabs(y[i] - tanh((double)x[i] * (i % 8 + 1))) < 1e-5);
	read_f32(last, node_of(library, "twin.y"), y, COUNT);
	for (int i = 0; i < COUNT; i++)
		CHECK(y[i] == other[i] - h[i]);
	OK(ingot_context_close(last));
}

/* Labels that several graphs use for different tensors. */
static void g11(struct trial *t)
{
	twins(t, "twins", 0);
	twins(t, "twins_back", 0);
	const struct ingot_module *module = module_of(t, "alike");
	for (uint32_t i = 0; i < module->node_count; i++)
		for (uint32_t k = 0; k < i; k++)
			CHECK(strcmp(module->nodes[i].name, module->nodes[k].name));
	/* w: eight numbers in first and second, other eight in alike. */
	const struct ingot_module_node *w = module_node(module, "w"), *other = module_node(module, "alike_alike.w");
	CHECK(w && other && w->offset != other->offset && module->constants.bytes == 128);
	CHECK(((const float *)((const char *)module->constants.data + w->offset))[0] == 1);
	CHECK(((const float *)((const char *)module->constants.data + other->offset))[0] == 8);
	/* mean: of first it is a node, of alike it is a local. */
	CHECK(tensor_of(module, "mean", "first")->mode == INGOT_ON_DEVICE
	        && tensor_of(module, "mean", "alike")->mode != INGOT_ON_DEVICE);
	struct ingot_library library = load_library(t, "alike");
	struct ingot_routine routines[3];
	struct ingot_context last;
	float x[COUNT], y[COUNT], v[COUNT];
	inputs(x);
	OK(ingot_link_all(t->context, library, NULL, NULL, routines, &last));
	write_f32(last, node_of(library, "x"), x, COUNT);
	for (int r = 0; r < 3; r++)
		OK(ingot_routine_run(routines[r], NULL));
	read_f32(last, node_of(library, "y"), y, COUNT);
	read_f32(last, node_of(library, "v"), v, COUNT);
	for (int i = 0; i < COUNT; i++) {
		double mean = 0;
		for (int k = 0; k < 8; k++)
			mean += y[i / 8 * 8 + k] / 8.0;
		CHECK(fabs(v[i] - (mean * y[i] + 8 - i % 8)) < 1e-2);
	}
	/* C names: one prefix for all, keywords apart, two fields alike told apart. */
	int code;
	const char *text =
	        ingot_says(t, &code, "build names.onnxtxt --profile managed --no-compile -o %s/names", t->folder);
	CHECK(!code);
	(void)text;
	char *header = file_text("%s/names/names.h", t->folder);
	CHECK(header && strstr(header, "const float *double_;") && strstr(header, "const float *a_b;")
	        && strstr(header, "const float *a_b_2;"));
	free(header);
}

/* What a routine needs of its context: what it reads, less what the library brings itself. */
static void g12(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "pair");
	const struct ingot_module_routine *second = routine_of(module, "second");
	static const char *const needs[] = { "x", "mean",
		"y" }; /* w is first's constant: embedded; doubled is computed */
	CHECK(second->input_count == 3);
	for (int i = 0; i < 3; i++) {
		bool found = false;
		for (uint32_t k = 0; k < second->input_count; k++)
			found |= !strcmp(module->nodes[second->inputs[k]].name, needs[i]);
		CHECK(found);
	}
	for (uint32_t k = 0; k < second->input_count; k++)
		CHECK(!(module->nodes[second->inputs[k]].flags & INGOT_NODE_CONSTANT));
	CHECK(module_node(module, "w")->flags & INGOT_NODE_CONSTANT);
	/* Alone, w is an input like the others. */
	module = module_of(t, "alone");
	CHECK(routine_of(module, "alone")->input_count == 4
	        && !(module_node(module, "w")->flags & INGOT_NODE_CONSTANT));
	struct ingot_library library = load_library(t, "pair");
	struct ingot_routine routine;
	FAILS(INGOT_MISSING, ingot_link(t->context, library, "second", &routine));
	SAYS("mean");
	float mean = 1;
	struct ingot_context with_mean, with_y;
	float y[COUNT] = { 0 };
	OK(ingot_init_from_host(t->context, node_of(library, "mean"), &mean, sizeof mean, &with_mean));
	FAILS(INGOT_MISSING, ingot_link(with_mean, library, "second", &routine));
	SAYS("y");
	OK(ingot_init_from_host(with_mean, node_of(library, "y"), y, sizeof y, &with_y));
	OK(ingot_link(with_y, library, "second", &routine));
}

/* Three kernels: rendered, compiled, found by name; linking allocates, running launches in order. */
static void h15(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "steps");
	const struct ingot_module_routine *descriptor = routine_of(module, "steps");
	struct ingot_library library = load_library(t, "steps"), call = load_library(t, "call");
	struct ingot_routine routine, whole;
	struct ingot_context linked, base;
	static float x[512], a[768], b[192], y[128], want[128];
	CHECK(descriptor->step_count == 3 && !descriptor->run && module->kernel_count == 3);
	for (uint32_t s = 0; s < 3; s++) {
		const struct ingot_module_kernel *kernel;
		CHECK(descriptor->steps[s].kind == INGOT_STEP_KERNEL && descriptor->steps[s].kernel == s);
		OK(ingot_library_kernel(library, module->kernels[s].name, &kernel));
		CHECK(kernel == module->kernels + s);
	}
	for (int i = 0; i < 768; i++)
		a[i] = (float)(i % 11) / 16 - 0.3f;
	for (int i = 0; i < 512; i++)
		x[i] = (float)(i % 7) / 4 - 0.8f;
	for (int i = 0; i < 192; i++)
		b[i] = (float)(i % 5) / 8 - 0.2f;
	for (int way = 0; way < 2; way++) {
		struct ingot_library from = way ? call : library;
		OK(ingot_context_new(t->stream, &base));
		link_routine(base, from, way ? "call" : "steps", way ? &whole : &routine, &linked);
		FAILS(INGOT_UNREADY, ingot_routine_run(way ? whole : routine, NULL));
		write_f32(linked, node_of(from, "x"), x, 512);
		write_f32(linked, node_of(from, "a"), a, 768);
		write_f32(linked, node_of(from, "b"), b, 192);
		OK(ingot_trace_begin(t->runtime, 64));
		OK(ingot_routine_run(way ? whole : routine, NULL));
		read_f32(linked, node_of(from, "y"), way ? want : y, 128);
		static char trace[65536];
		ingot_trace_json(t->runtime, trace, sizeof trace);
		ingot_trace_end(t->runtime);
		/* Kernel by kernel they stand in the trace, in their order. */
		const char *at = trace;
		for (uint32_t s = 0; s < 3; s++) {
			const char *found = strstr(at, strchr(module->kernels[s].name, '_') + 1);
			CHECK(!found == (way == 1));
			at = found ? found : at;
		}
	}
	CHECK(!memcmp(y, want, sizeof y));
	for (int r = 0; r < 16; r++) {
		double sum = 0;
		for (int k = 0; k < 8; k++)
			sum += y[r * 8 + k];
		CHECK(fabs(sum - 1) < 1e-5);
	}
	/* What a schedule lacks is an error when it is loaded, or when it runs. */
	static struct ingot_module broken, without_code; /* the runtime keeps them */
	broken = *module;
	struct ingot_library none;
	broken.kernel_count = 2;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &none));
	SAYS("a step's kernel");
	static struct ingot_module_kernel kernels[3];
	memcpy(kernels, module->kernels, sizeof kernels);
	kernels[1].run = NULL;
	without_code = *module;
	without_code.kernels = kernels;
	OK(ingot_library_load(t->runtime, &without_code, NULL, &none));
	OK(ingot_context_new(t->stream, &base));
	link_routine(base, none, "steps", &routine, &linked);
	write_f32(linked, node_of(none, "x"), x, 512);
	write_f32(linked, node_of(none, "a"), a, 768);
	write_f32(linked, node_of(none, "b"), b, 192);
	ingot_routine_run(routine, NULL);
	FAILS(INGOT_UNSUPPORTED, ingot_stream_await(t->stream));
	SAYS("has no code for the host");
	SAYS(strchr(kernels[1].name, '_') + 1);
}

/* ---- G1 to G3: what a program makes of its tensors: a parameter, a state, scratch; and a routine that nobody wrote by
 * hand ---- */

static void lists(const struct ingot_module *module, const uint32_t *at, uint32_t count, char *text, size_t room)
{
	text[0] = 0;
	for (uint32_t i = 0; i < count; i++)
		snprintf(text + strlen(text), room - strlen(text), "%s%s", i ? " " : "", module->nodes[at[i]].name);
}

/* The record: name, inputs, outputs, merge input, symbols, context, as the header of the library says them too. */
static void g1(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "merging");
	const struct ingot_module_routine *routine = routine_of(module, "merging");
	struct ingot_routine linked;
	struct ingot_context context, own;
	char names[200], text[4096];
	CHECK(routine->merge_input >= 0 && !strcmp(module->nodes[routine->merge_input].name, "grad"));
	lists(module, routine->inputs, routine->input_count, names, sizeof names);
	CHECK(!strcmp(names, "total")); /* the merge buffer is no input of the context */
	lists(module, routine->outputs, routine->output_count, names, sizeof names);
	CHECK(!strcmp(names, "next total")); /* the result, and the state, which it becomes */
	struct ingot_library library = load_library(t, "merging");
	link_routine(t->context, library, "merging", &linked, &context);
	OK(ingot_routine_context(linked, &own));
	CHECK(own.index == context.index && own.index != t->context.index);
	ingot_routine_json(linked, text, sizeof text);
	CHECK(strstr(text,
	        "\"name\":\"merging\",\"inputs\":[\"total\"],\"outputs\":[\"next\",\"total\"],\"merge_input\":\"grad\","
	        "\"symbols\":[]"));
	/* Without the words that make it so, the same program has other ones. */
	int code;
	ingot_says(t, &code, "build sum.onnxtxt --profile managed --no-compile -o %s/plain", t->folder);
	char *plain = file_text("%s/plain/sum_module.c", t->folder), *header = file_text("%s/plain/sum.h", t->folder);
	CHECK(!code && plain && strstr(plain, ", -1, "));
	/* The header of the library lists exactly the inputs and outputs of the graph. */
	CHECK(header && strstr(header, "const float *total;") && strstr(header, "const float *grad;")
	        && strstr(header, "float *next;"));
	free(header);
	free(plain);
}

/* Materialised, not constant, read only or read before written: the input, the parameter, the state; not w, and no
 * scratch. */
static void g2(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "reasons");
	const struct ingot_module_routine *routine = routine_of(module, "reasons");
	struct ingot_library library = load_library(t, "reasons");
	struct ingot_routine linked;
	struct ingot_context context, missing;
	char names[200];
	static float x[512], table[256];
	lists(module, routine->inputs, routine->input_count, names, sizeof names);
	CHECK(!strcmp(names, "x table s"));
	CHECK(module_node(module, "s")->flags & INGOT_NODE_STATE
	        && module_node(module, "w")->flags & INGOT_NODE_CONSTANT);
	CHECK(!module_node(module, "factor") && !module_node(module, "mean_sum") && !module_node(module, "cheap"));
	for (uint32_t i = 0; i < module->tensor_count; i++) { /* classified by what became of each tensor */
		const struct ingot_module_tensor *tensor = module->tensors + i;
		bool lasts = tensor->mode & INGOT_MATERIALIZED && !(tensor->mode & INGOT_HOSTED_CONSTANT);
		CHECK(!module_node(module, tensor->name) || lasts || !strcmp(tensor->name, "w"));
	}
	link_routine(t->context, library, "reasons", &linked, &context);
	FAILS(INGOT_UNREADY, ingot_routine_run(linked, NULL));
	SAYS("x, which nobody has written");
	write_f32(context, node_of(library, "x"), x, 512);
	FAILS(INGOT_UNREADY, ingot_routine_run(linked, NULL));
	SAYS("table, which nobody has written");
	write_f32(context, node_of(library, "table"), table, 256);
	OK(ingot_routine_run(linked, NULL)); /* the state begins with zeros */
	OK(ingot_stream_await(t->stream));
	/* What an earlier routine writes is an input of the later one; what it stores besides is none of its own. */
	module = module_of(t, "pair_apart");
	lists(module, routine_of(module, "first")->inputs, routine_of(module, "first")->input_count, names,
	        sizeof names);
	CHECK(!strcmp(names, "x"));
	lists(module, routine_of(module, "second")->inputs, routine_of(module, "second")->input_count, names,
	        sizeof names);
	CHECK(strstr(names, "doubled") && strstr(names, "mean") && strstr(names, "y") && !strstr(names, "x")
	        && !strstr(names, "w"));
	OK(ingot_context_new(t->stream, &missing));
	FAILS(INGOT_MISSING, ingot_link(missing, load_library(t, "pair_apart"), "second", &linked));
}

/* All that is materialised and written: results, the state, and what is left for another routine. */
static void g3(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "reasons");
	const struct ingot_module_routine *routine = routine_of(module, "reasons");
	struct ingot_library library = load_library(t, "reasons");
	struct ingot_routine linked;
	struct ingot_context context;
	char names[200];
	static float x[512], table[256], state[512], squares[512];
	lists(module, routine->outputs, routine->output_count, names, sizeof names);
	CHECK(!strcmp(names, "product turned_sum next squares s"));
	for (uint32_t i = 0; i < routine->output_count; i++)
		CHECK(!(module->nodes[routine->outputs[i]].flags & INGOT_NODE_CONSTANT));
	link_routine(t->context, library, "reasons", &linked, &context);
	for (int i = 0; i < 512; i++)
		x[i] = (float)(i % 32);
	write_f32(context, node_of(library, "x"), x, 512);
	write_f32(context, node_of(library, "table"), table, 256);
	FAILS(INGOT_UNREADY,
	        ingot_read(
	                context, node_of(library, "squares"), squares, sizeof squares, NULL)); /* not before the run */
	for (int run = 0; run < 3; run++)
		OK(ingot_routine_run(linked, NULL));
	read_f32(context, node_of(library, "s"), state, 512);
	read_f32(context, node_of(library, "squares"), squares, 512);
	for (int i = 0; i < 512; i++) /* the state adds up from run to run */
		CHECK(state[i] == 3 * x[i] * (float)(i % 32 + 1) && squares[i] >= x[i]);
	module = module_of(t, "pair_apart");
	lists(module, routine_of(module, "first")->outputs, routine_of(module, "first")->output_count, names,
	        sizeof names);
	CHECK(strstr(names, "doubled") && strstr(names, "mean") && strstr(names, "y"));
	module = module_of(t, "pair");
	lists(module, routine_of(module, "first")->outputs, routine_of(module, "first")->output_count, names,
	        sizeof names);
	CHECK(!strstr(names, "doubled") && strstr(names, "mean") && strstr(names, "y"));
}

#define EVERYWHERE "sync multicore jit"
const struct row rows_batch[] = {
	{ "A16", "--apart", "optimizer_context", a16, EVERYWHERE },
	{ "G1", "struct ingot_module_routine", "record_of_a_program", g1, EVERYWHERE },
	{ "G2", "struct ingot_module_routine.inputs", "inputs_of_a_program", g2, EVERYWHERE },
	{ "G3", "struct ingot_module_routine.outputs", "outputs_of_a_program", g3, EVERYWHERE },
	{ "G5", "ingot build MODEL MODEL --name NAME", "compile_batch", g5, EVERYWHERE },
	{ "G8", "struct ingot_module_argument", "param_source", g8, EVERYWHERE },
	{ "G8", "--merge NAME", "merge_source", g8_merge, EVERYWHERE },
	{ "G11", "struct ingot_module_node.name", "name_collisions", g11, EVERYWHERE },
	{ "G12", "INGOT_NODE_CONSTANT", "embedded_nodes", g12, EVERYWHERE },
	{ "H15", "--schedule steps", "driver", h15, EVERYWHERE },
	{ 0 },
};
