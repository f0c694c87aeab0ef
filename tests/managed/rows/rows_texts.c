/* rows_texts.c: rows B8, G9, G10, H6, H7, H8: what is printed, and what compilers say to it. */
#include <unistd.h>
#include "rows.h"
#include "backends/backends.h"
#include "emit/emit.h"
#include "jit/jit.h"
#include "pipeline.h"

/* ---- B8 ---- */
static unsigned long long number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	CHECK(at);
	return strtoull(at + strlen(key), NULL, 10);
}

static void run_pools(struct trial *t, const char *set, float *y)
{
	struct ingot_library library = load_library(t, set);
	struct ingot_routine routine;
	struct ingot_context base, linked;
	float x[512], v[512], w[512], u[256];
	for (int i = 0; i < 512; i++) {
		x[i] = (float)(i % 7) / 4 - 0.8f;
		v[i] = (float)(i % 11) / 16 - 0.3f;
		w[i] = (float)(i % 5) / 8 - 0.2f;
		u[i / 2] = (float)(i % 13) / 8 - 0.7f;
	}
	OK(ingot_context_new(t->stream, &base));
	link_routine(base, library, set, &routine, &linked);
	write_f32(linked, node_of(library, "x"), x, 512);
	write_f32(linked, node_of(library, "v"), v, 512);
	write_f32(linked, node_of(library, "w"), w, 512);
	write_f32(linked, node_of(library, "u"), u, 256);
	OK(ingot_routine_run(routine, NULL));
	read_f32(linked, node_of(library, "y"), y, 256);
	OK(ingot_routine_close(routine));
}

/* Nearly 5 GiB of scratch lie in two pools, none of more than 4 GiB; a tensor of more, and a call that needs all in one
 * pool, are refused without the flag, and with it the compiler must have indices of 64 bits. */
static void b8(struct trial *t)
{
	int code;
	char *text;
	const char *said = ingot_says(t, &code,
	        "build large.onnxtxt --profile managed --schedule steps --no-compile --json -o %s/a", t->folder);
	CHECK(!code && number_after(said, "\"largest_live_set\": ") > 4ull << 30);
	text = file_text("%s/a/large_module.c", t->folder);
	CHECK(text && strstr(text, "{ INGOT_FROM_WORKSPACE, 1, "));
	CHECK(number_after(text, "workspaces_large[] = { ") <= 4ull << 30
	        && number_after(text, ", -1, 0, ") <= 4ull << 30);
	for (const char *at = text; (at = strstr(at, "{ INGOT_FROM_WORKSPACE, ")); at++)
		CHECK(strtoull(strchr(at + 24, ',') + 1, NULL, 10) < 1ull << 32);
	/* 2.6 GB of floats: an index of bytes would not fit 32 bits, and no compiler that has no more may take it. */
	CHECK(strstr(file_text("%s/a/large_kernels.c", t->folder),
	        "typedef char indices_have_64_bits[sizeof(long) >= 8 ? 1 : -1];"));
	ingot_says(t, &code, "build pools.onnxtxt --no-compile -o %s/small", t->folder);
	CHECK(!code && !strstr(file_text("%s/small/pools_kernels.c", t->folder), "indices_have_64_bits"));
	/* A GPU's threads reckon in 32 bits where that is enough, and in 64 where it is not. */
	ingot_says(t, &code, "build wide_index.onnxtxt --dim N=1024 --target cuda --no-compile -o %s/int", t->folder);
	text = file_text("%s/int/wide_index.cu", t->folder);
	CHECK(!code && strstr(text, "\tconst int m = (int)") && !strstr(text, "\tconst long m = (long)"));
	ingot_says(t, &code,
	        "build wide_index.onnxtxt --dim N=50048 --large-models --target cuda --no-compile -o %s/long",
	        t->folder);
	text = file_text("%s/long/wide_index.cu", t->folder);
	CHECK(!code && strstr(text, "\tconst long m = (long)"));
	said = ingot_says(t, &code, "build large.onnxtxt --profile managed --no-compile -o %s/b", t->folder);
	CHECK(code == 6 && strstr(said, "--large-models"));
	said = ingot_says(t, &code, "build larger.onnxtxt --no-compile -o %s/c", t->folder);
	CHECK(code == 6 && strstr(said, "huge: has 6400000000 bytes; a pool holds 4294967296"));
	ingot_says(t, &code, "build larger.onnxtxt --profile managed --large-models --no-compile -o %s/d", t->folder);
	CHECK(!code);
	text = file_text("%s/d/larger_module.c", t->folder);
	CHECK(text && !strstr(text, "workspaces_larger"));
	CHECK(strstr(file_text("%s/d/larger_kernels.c", t->folder),
	        "typedef char indices_have_64_bits[sizeof(long) >= 8 ? 1 : -1];"));
	/* The same in small, which runs. */
	const struct ingot_module *module = module_of(t, "pooled");
	const struct ingot_module_routine *routine = routine_of(module, "pooled");
	CHECK(routine->more_workspace_count == 1 && routine->workspace_bytes && routine->more_workspaces[0]);
	CHECK(routine_of(module_of(t, "unpooled"), "unpooled")->more_workspace_count == 0);
	float y[2][256];
	run_pools(t, "pooled", y[0]);
	run_pools(t, "unpooled", y[1]);
	CHECK(!memcmp(y[0], y[1], sizeof *y));
}

/* ---- G9 ---- */
static void run_logged(struct trial *t, const char *set, const char *log, float *y)
{
	struct ingot_library library = load_library(t, set);
	struct ingot_routine routine;
	struct ingot_context base, linked;
	static const float x[6] = { 1, -2, 3, 0.5f, 4, -1 }, w[6] = { 1, 2, 3, 4, 5, 6 };
	OK(ingot_context_new(t->stream, &base));
	link_routine(base, library, set, &routine, &linked);
	write_f32(linked, node_of(library, "x"), x, 6);
	write_f32(linked, node_of(library, "w"), w, 6);
	OK(ingot_routine_log(routine, log));
	OK(ingot_routine_run(routine, NULL));
	OK(ingot_stream_await(t->stream));
	OK(ingot_routine_log(routine, NULL));
	OK(ingot_routine_run(routine, NULL)); /* tells nobody */
	read_f32(linked, node_of(library, "y"), y, 4);
}

/* Index, old, new and expression of each assignment; the same bits; no trace of it in code that was not asked for
 * it. */
static void g9(struct trial *t)
{
	char path[100];
	float logged[4], plain[4];
	snprintf(path, sizeof path, "%s/log", t->folder);
	run_logged(t, "logged", path, logged);
	run_logged(t, "plain", NULL, plain);
	CHECK(!memcmp(logged, plain, sizeof plain));
	same_as_golden(file_text("%s", path), "log.txt");
	int code;
	ingot_says(t, &code, "build logged.onnxtxt --profile managed --no-compile -o %s/off", t->folder);
	CHECK(!code && !strstr(file_text("%s/off/logged_kernels.c", t->folder), "_log")
	        && !strstr(file_text("%s/off/logged.c", t->folder), "_log"));
	CHECK(!strstr(file_text("%s/off/logged_module.c", t->folder), "call->log"));
	const char *text =
	        ingot_says(t, &code, "build logged.onnxtxt --log --threads 2 --no-compile -o %s/no", t->folder);
	CHECK(code == 2 && strstr(text, "--log goes without"));
}

/* ---- G10 ---- */
static void g10(struct trial *t)
{
	static const char *const stages[] = { "graph", "definitions", "kernels", "loops", "plan" };
	int code;
	const char *said =
	        ingot_says(t, &code, "build three.onnxtxt --cpu generic --dump --no-compile -o %s/dump", t->folder);
	CHECK(!code);
	(void)said;
	char all[32768];
	size_t used = 0;
	for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
		char *text = file_text("%s/dump/three.%s.txt", t->folder, stages[i]);
		CHECK(text && *text);
		used += (size_t)snprintf(all + used, sizeof all - used, "---- %s ----\n%s", stages[i], text);
		free(text);
	}
	CHECK(used < sizeof all);
	same_as_golden(all, "dump.txt");
	CHECK(strstr(file_text("%s/dump/three_kernels.c", t->folder), "void three_k0_contraction("));
	ingot_says(t, &code, "build three.onnxtxt --cpu generic --no-compile -o %s/quiet", t->folder);
	CHECK(!code && !file_text("%s/quiet/three.graph.txt", t->folder));
}

/* ---- H6 ---- */
static void h6(struct trial *t)
{
	int code;
	char words[2000];
	const char *text = ingot_says(t, &code, "targets --json");
	CHECK(!code);
	size_t used = 0;
	for (const char *at = text; (at = strstr(at, "\"name\": ")); at++) {
		const char *name = at + 9, *vector = strstr(at, "\"vector4\": ") + 11,
		           *shared = strstr(at, "\"shared\": ") + 10, *barrier = strstr(at, "\"barrier\": ") + 11;
		used += (size_t)snprintf(words + used, sizeof words - used, "%.*s: %.*s %.*s %.*s\n",
		        (int)strcspn(name, "\""), name, (int)strcspn(vector, ",\n"), vector,
		        (int)strcspn(shared, ",\n"), shared, (int)strcspn(barrier, ",\n}"), barrier);
	}
	same_as_golden(words, "words.txt");
	/* They stand in what is emitted: rows between definitions are shared by the threads of a block. */
	ingot_says(t, &code, "build rows.onnxtxt --target cuda --no-compile -o %s/cuda", t->folder);
	char *cuda = file_text("%s/cuda/rows.cu", t->folder);
	CHECK(!code && strstr(cuda, "\t__shared__ float") && strstr(cuda, "\tblock_barrier();"));
	ingot_says(t, &code, "build rows.onnxtxt --no-compile -o %s/c", t->folder);
	char *c = file_text("%s/c/rows_kernels.c", t->folder);
	CHECK(!code && !strstr(c, "__shared__") && !strstr(c, "__sync"));
}

/* ---- H7 ---- */
static struct definition *input(struct program *program, const char *name, const struct expr **load)
{
	const int64_t extent = 40;
	struct definition *d = define_input(program, name, DTYPE_F32, 1, &extent);
	const struct index *at = index_var(program->arena, 0, extent);
	*load = expr_load(program->arena, d, &at);
	return d;
}

static const char *render(struct build *build, const char *op, const struct target *target)
{
	struct program *program = program_new(build, op);
	const struct expr *a, *b, *c, *made;
	const int64_t extent = 40;
	input(program, "a", &a);
	input(program, "b", &b);
	input(program, "c", &c);
	enum scalar opcode = !strcmp(op, "add") ? SCALAR_add : !strcmp(op, "mulacc") ? SCALAR_fma : SCALAR_where;
	made = expr_scalar(program->arena, opcode, a, b, opcode == SCALAR_add ? NULL : c);
	struct definition *y = define_map(program, "y", 1, &extent, made);
	y->port.is_output = true;
	push(program->arena, &program->outputs, y);
	push(program->arena, &program->output_names, "y");
	program_check(program);
	struct lowered *lowered = lower(program, target, OPTIMISE_SPEED, NULL, loops_finish);
	struct emit emit = { .build = build,
		.arena = build->arena,
		.target = target,
		.templates = options_templates(build, &(struct options){ 0 }),
		.name = op };
	struct text text;
	text_init(&text, build);
	CHECK(lowered->kernels.count == 1);
	emit_kernel(&emit, lowered->kernels.at[0], &text);
	const char *kept = arena_copy(build->arena, text.at, text.count);
	text_release(&text);
	return kept;
}

/* The same definitions give the same bytes, whatever was rendered before; on each family of targets. */
static void h7(struct trial *t)
{
	static const char *const ops[] = { "add", "mulacc", "where" };
	const struct target *targets[] = { target_find("generic"), target_find("x86-64-v3"), &target_cuda };
	struct build build;
	static char all[65536];
	size_t used = 0;
	(void)t;
	build_init(&build);
	if (BUILD_TRY(&build))
		for (size_t i = 0; i < 9; i++) {
			const char *text = render(&build, ops[i % 3], targets[i / 3]);
			CHECK(!strcmp(text, render(&build, ops[i % 3], targets[i / 3])));
			used += (size_t)snprintf(all + used, sizeof all - used, "---- %s %s ----\n%s\n",
			        targets[i / 3]->name, ops[i % 3], text);
			CHECK(used < sizeof all);
		}
	CHECK(!build.code);
	build_release(&build);
	same_as_golden(all, "rendered.txt");
}

/* ---- H8 ---- */
static void h8_cc(struct trial *t)
{
	static const char *const good[] = { "good.c" }, *const bad[] = { "bad.c" }, *const objects[] = { "out.o" };
	struct build build;
	char path[100];
	for (int b = 0; b < 2; b++) {
		snprintf(path, sizeof path, "%s/%s", t->folder, b ? "bad.c" : "good.c");
		FILE *file = fopen(path, "w");
		fputs(b ? "int twice(int x) { return 2 * undeclared_name; }\n"
		        : "int twice(int x) { return 2 * x; }\nint half(int x) { return x / 2; }\n",
		        file);
		fclose(file);
	}
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct cc_job job = { .cc = cc_find(&build, NULL),
			.directory = t->folder,
			.flags = "-O1",
			.sources = good,
			.objects = objects,
			.count = 1,
			.jobs = 1 };
		cc_compile(&build, &job);
		snprintf(path, sizeof path, "nm -g '%s/out.o'", t->folder);
		FILE *names = popen(path, "r");
		char text[1000] = "";
		text[fread(text, 1, sizeof text - 1, names)] = 0;
		pclose(names);
		CHECK(strstr(text, " T twice") && strstr(text, " T half") && !strstr(text, " T other"));
		job.sources = bad;
		cc_compile(&build, &job);
		CHECK(!"a broken source compiles");
	}
	CHECK(build.code == EXIT_ENVIRONMENT && strstr(build.message, "undeclared_name"));
	build_release(&build);
	build_init(&build);
	if (BUILD_TRY(&build))
		cc_find(&build, "no-such-compiler");
	CHECK(build.code == EXIT_ENVIRONMENT && strstr(build.message, "no-such-compiler"));
	build_release(&build);
}

static void h8(struct trial *t)
{
	struct jit_code *code = NULL;
	char message[300];
	if (!t->jit) {
		h8_cc(t);
		return;
	}
	CHECK(jit_compile(&code, "int twice(int x) { return 2 * x; }\nint half(int x) { return x / 2; }\n", NULL, 0,
	              message, sizeof message)
	                == JIT_OK
	        && !*message);
	int (*twice)(int), (*half)(int);
	*(void **)&twice = jit_function(code, "twice");
	*(void **)&half = jit_function(code, "half");
	CHECK(twice && half && twice(21) == 42 && half(42) == 21 && !jit_function(code, "other"));
	jit_release(code);
	CHECK(jit_compile(&code, "int twice(int x) { return 2 * undeclared_name; }\n", NULL, 0, message, sizeof message)
	        == JIT_REFUSED);
	CHECK(strstr(message, "undeclared_name"));
	CHECK(jit_compile(&code, "int missing(int);\nint twice(int x) { return missing(x); }\n", NULL, 0, message,
	              sizeof message)
	        == JIT_REFUSED);
	CHECK(strstr(message, "missing"));
}

#define EVERYWHERE "sync multicore jit"
const struct row rows_texts[] = {
	{ "B8", "--large-models", "index_width", b8, EVERYWHERE },
	{ "G9", "--log", "debug_log", g9, "sync multicore" },
	{ "G10", "--dump", "artefacts", g10, EVERYWHERE },
	{ "H6", "struct target.barrier", "snippets", h6, EVERYWHERE },
	{ "H7", "emit_kernel", "render", h7, EVERYWHERE },
	{ "H8", "cc_compile, jit_compile", "compile", h8, EVERYWHERE },
	{ 0 },
};
