/* rows_modes.c: rows F1, F2, F13, F38: where tensors come to live. */
#include <math.h>
#include "rows.h"

enum { COUNT = 32 };

static void fill(float *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = (float)(i % 13) / 8 - 0.7f;
}

/* y of one of the libraries of graphs/virtual, and what the runtime knows of h. */
static void run_virtual(struct trial *t, const char *set, float *y)
{
	struct ingot_library library = load_library(t, set);
	struct ingot_routine routine;
	struct ingot_context linked;
	float x[COUNT];
	fill(x, COUNT);
	link_routine(t->context, library, set, &routine, &linked);
	write_f32(linked, node_of(library, "x"), x, COUNT);
	OK(ingot_routine_run(routine, NULL));
	read_f32(linked, node_of(library, "y"), y, COUNT);
	OK(ingot_routine_close(routine));
}

/* A virtual tensor has no memory: the module says so, the emitted text names no buffer of it, and the numbers are those
 * of the libraries where it is stored, for the routine or for good. */
static void f1(struct trial *t)
{
	float y[3][COUNT];
	const struct ingot_module_tensor *h = tensor_of(module_of(t, "virtual"), "h", "virtual");
	CHECK(h && h->mode == INGOT_VIRTUAL && !h->strides && !h->bytes && h->kernel == -1);
	h = tensor_of(module_of(t, "scratch"), "h", "scratch");
	CHECK(h && h->mode == INGOT_LOCAL && h->provenance == INGOT_BY_USER * 1000 + INGOT_BY_DEFAULT_LOCAL);
	h = tensor_of(module_of(t, "stored"), "h", "stored");
	CHECK(h && h->mode == INGOT_ON_DEVICE && h->provenance == INGOT_BY_USER && h->at.source == INGOT_FROM_NODE
	        && h->bytes == COUNT * 4);
	CHECK(!module_node(module_of(t, "virtual"), "h") && module_node(module_of(t, "stored"), "h"));
	run_virtual(t, "virtual", y[0]);
	run_virtual(t, "scratch", y[1]);
	run_virtual(t, "stored", y[2]);
	CHECK(!memcmp(y[0], y[1], sizeof *y) && !memcmp(y[0], y[2], sizeof *y));
	for (int i = 0; i < COUNT; i++)
		CHECK(fabs(y[0][i] - tanh(((double)(i % 13) / 8 - 0.7f) * (i % 8 + 1))) < 1e-6);
	int code;
	const char *text = ingot_says(t, &code, "show virtual.onnxtxt --stage source --cpu native");
	CHECK(!code && strstr(text, " <= x float") && !strstr(text, ": h y.") && !strstr(text, " h float"));
	text = ingot_says(t, &code, "show virtual.onnxtxt --stage source --cpu native --mode h=local");
	CHECK(!code && strstr(text, ": h y."));
	/* An output has to outlive the run, and a reduction has to be somewhere. */
	text = ingot_says(t, &code, "show virtual.onnxtxt --stage plan --mode y=virtual");
	CHECK(code == 3 && strstr(text, "y: ") && strstr(text, "an output of a routine")
	        && strstr(text, "the program"));
	text = ingot_says(t, &code, "show rows.onnxtxt --stage plan --mode y_max=virtual");
	CHECK(code && strstr(text, "y_max"));
}

/* Scratch of one kernel is a local array where a row of it is small, and lies in the workspace where it is larger than
 * 16 KiB. */
static void f2(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "rows");
	const struct ingot_module_tensor *small = tensor_of(module, "y_exp", "rows"),
	                                 *large = tensor_of(module, "wy_exp", "wide");
	CHECK(small->mode == INGOT_LOCAL && small->at.source == INGOT_FROM_KERNEL
	        && small->provenance % 1000 == INGOT_BY_DEFAULT_LOCAL);
	CHECK(large->mode == INGOT_LOCAL && large->at.source == INGOT_FROM_WORKSPACE
	        && large->provenance % 1000 == INGOT_BY_LOCAL_SIZE);
	CHECK(routine_of(module, "wide")->workspace_bytes >= large->bytes && large->bytes > INGOT_LOCAL_BYTES);
	CHECK(!module_node(module, "y_exp")); /* it does not persist, and cannot be merged */
	int code;
	const char *text = ingot_says(t, &code, "show spread.onnxtxt --stage source --cpu generic");
	CHECK(!code && strstr(text, "[100]")); /* a row, on the stack */
	text = ingot_says(t, &code, "show rows.onnxtxt --stage source --cpu generic");
	CHECK(!code && !strstr(text, "[100]")); /* one that lies where the result will */
	text = ingot_says(t, &code, "show wide.onnxtxt --stage source --cpu generic");
	CHECK(!code && !strstr(text, "[4100]"));
	struct ingot_library library = load_library(t, "rows");
	static float x[8200], y[8200];
	for (int wide = 0; wide < 2; wide++) {
		struct ingot_routine routine;
		struct ingot_context linked;
		int rows = wide ? 2 : 6, columns = wide ? 4100 : 100;
		fill(x, (size_t)(rows * columns));
		OK(ingot_context_new(t->stream, &t->context));
		link_routine(t->context, library, wide ? "wide" : "rows", &routine, &linked);
		write_f32(linked, node_of(library, wide ? "wx" : "x"), x, wide ? 8200 : 600);
		OK(ingot_routine_run(routine, NULL));
		read_f32(linked, node_of(library, wide ? "wy" : "y"), y, wide ? 8200 : 600);
		double sum = 0;
		for (int i = 0; i < columns; i++)
			sum += exp(x[columns + i]);
		for (int i = 0; i < columns; i++)
			CHECK(fabs(y[columns + i] - exp(x[columns + i]) / sum) < 1e-6);
	}
}

/* One tensor for each place that decides. */
static void f13(struct trial *t)
{
	static const struct {
		const char *name;
		uint32_t mode, provenance;
	} all[] = {
		{ "turned", INGOT_VIRTUAL, INGOT_BY_MOVED },
		{ "cheap", INGOT_VIRTUAL, INGOT_BY_FEW_VISITS },
		{ "costly", INGOT_LOCAL, INGOT_BY_VISITS * 1000 + INGOT_BY_DEFAULT_LOCAL },
		{ "mean_sum", INGOT_LOCAL, INGOT_BY_REDUCTION * 1000 + INGOT_BY_DEFAULT_LOCAL },
		{ "factor", INGOT_LOCAL, INGOT_BY_FACTOR * 1000 + INGOT_BY_DEFAULT_LOCAL },
		{ "w", INGOT_HOSTED_CONSTANT, INGOT_BY_LINK_READ_ONLY },
		{ "s", INGOT_ON_DEVICE, INGOT_BY_READ_FIRST },
		{ "x", INGOT_HOSTED_VOLATILE, INGOT_BY_INPUT },
		{ "product", INGOT_HOSTED_CHANGED, INGOT_BY_OUTPUT },
	};
	const struct ingot_module *module = module_of(t, "reasons");
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const struct ingot_module_tensor *tensor = tensor_of(module, all[i].name, "reasons");
		char what[120];
		snprintf(what, sizeof what, "%s: mode %u by %u", all[i].name, tensor ? tensor->mode : 0,
		        tensor ? tensor->provenance : 0);
		if (!tensor || tensor->mode != all[i].mode || tensor->provenance != all[i].provenance)
			check_failed(__FILE__, __LINE__, what);
		CHECK(ingot_provenance_text((enum ingot_provenance)(tensor->provenance % 1000)));
	}
	const struct ingot_module_tensor *filled = tensor_of(module_of(t, "filled"), "filled", "filled");
	CHECK(filled && filled->mode == INGOT_VIRTUAL && filled->provenance == INGOT_BY_SCALAR_CONSTANT
	        && !filled->bytes);
	CHECK(tensor_of(module_of(t, "pair"), "mean", "first")->provenance == INGOT_BY_OTHER_ROUTINE);
	CHECK(tensor_of(module_of(t, "stored"), "h", "stored")->provenance == INGOT_BY_USER);
}

/* Read before it is written: state, zero at first, that lasts. */
static void f13_state(struct trial *t)
{
	struct ingot_library library = load_library(t, "reasons");
	struct ingot_routine routine;
	struct ingot_context linked;
	float x[512], table[256] = { 0 }, next[512], s[512];
	for (int i = 0; i < 512; i++)
		x[i] = 1;
	link_routine(t->context, library, "reasons", &routine, &linked);
	write_f32(linked, node_of(library, "x"), x, 512);
	write_f32(linked, node_of(library, "table"), table, 256);
	for (int run = 1; run <= 3; run++) {
		OK(ingot_routine_run(routine, NULL));
		read_f32(linked, node_of(library, "next"), next, 512);
		read_f32(linked, node_of(library, "s"), s, 512);
		CHECK(!memcmp(next, s, sizeof s));
		for (int i = 0; i < 512; i++)
			CHECK(s[i] == (float)(run * (i % 32 + 1)));
	}
}

/* --no-hosted: nobody has a host array, seven modes are left, and inputs must be in the context before. */
static void f38(struct trial *t)
{
	const struct ingot_module *module = module_of(t, "explicit");
	for (uint32_t i = 0; i < module->node_count; i++)
		CHECK(!(module->nodes[i].flags & INGOT_NODE_HOSTED));
	for (uint32_t i = 0; i < module->tensor_count; i++)
		CHECK(!(module->tensors[i].mode & (INGOT_HOSTED_CHANGED | INGOT_HOSTED_VOLATILE)));
	CHECK(tensor_of(module, "x", "explicit")->mode == INGOT_ON_DEVICE
	        && tensor_of(module, "y", "explicit")->mode == INGOT_ON_DEVICE);
	struct ingot_library library = load_library(t, "explicit");
	struct ingot_routine routine;
	struct ingot_context with_x, linked;
	float x[COUNT], y[COUNT], want[COUNT];
	FAILS(INGOT_MISSING, ingot_link(t->context, library, "explicit", &routine));
	SAYS("reads x, which is not in the context");
	fill(x, COUNT);
	OK(ingot_init_from_host(t->context, node_of(library, "x"), x, sizeof x, &with_x));
	link_routine(with_x, library, "explicit", &routine, &linked);
	OK(ingot_routine_run(routine, NULL));
	read_f32(linked, node_of(library, "y"), y, COUNT);
	bool hosted = true;
	OK(ingot_node_is_hosted(node_of(library, "x"), INGOT_BY_QUERY, &hosted));
	CHECK(!hosted);
	run_virtual(t, "virtual", want);
	CHECK(!memcmp(y, want, sizeof y));
}

#define EVERYWHERE "sync multicore jit"
const struct row rows_modes[] = {
	{ "F1", "--mode NAME=virtual", "virtual", f1, EVERYWHERE },
	{ "F2", "struct ingot_module_tensor.at", "local", f2, EVERYWHERE },
	{ "F13", "struct ingot_module_tensor.provenance", "inference_from_code", f13, EVERYWHERE },
	{ "F13", "--state IN=OUT", "read_before_written", f13_state, EVERYWHERE },
	{ "F38", "--no-hosted", "seven_modes", f38, EVERYWHERE },
	{ 0 },
};
