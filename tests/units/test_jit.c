/* test_jit.c: libtcc as we use it: what its dialect accepts and what it silently gets wrong (so that an upgrade is
 * noticed), how it fails, and the menus. */
#include "unit.h"
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "backends/cpu/jit.h"
#include "engine.h"
#include "jit/jit.h"

static char message[512];

static int absent(void) { return jit_probe() == JIT_ABSENT; }

static struct jit_code *compile(const char *source)
{
	struct jit_code *code;
	enum jit_status status = jit_compile(&code, source, NULL, 0, message, sizeof message);
	if (status)
		print_message("%s\n", message);
	assert_int_equal(status, JIT_OK);
	return code;
}

static long run_long(const char *source)
{
	struct jit_code *code = compile(source);
	long (*f)(void);
	*(void **)&f = jit_function(code, "f");
	assert_non_null(f);
	long result = f();
	jit_release(code);
	return result;
}

static void dialect(void **state)
{
	(void)state;
	if (absent())
		skip();
	assert_int_equal(run_long("struct s { long a, b; float *p; }; long f(void) { struct s s = { .b = 7 }; return "
	                          "s.b + (s.p == 0); }"),
	        8);
	assert_int_equal(
	        run_long("long f(void) { const float x = 0x1.8p+1f; const float *p = &x; return (long)(*p * 2); }"), 6);
	assert_int_equal(run_long("static inline float half(float x) { return x * 0.5f; } long f(void) { return "
	                          "(long)half(42.f); }"),
	        21);
	assert_int_equal(run_long("long f(void) { float z = 0.f, n = (0.f / 0.f), i = (-1.f / 0.f); return (n != n) + "
	                          "2 * (i < -3e38f) + 4 * (1 / -z < 0); }"),
	        7);
	assert_int_equal(run_long("long f(void) { float r[4]; for (long i = 0; i < 4; i++) { float *const restrict p = "
	                          "r; p[i] = i; } return (long)r[3]; }"),
	        3);
	/* Accepted and ignored, silently: why no vector reaches libtcc. */
	assert_int_equal(
	        run_long("typedef float vec __attribute__((vector_size(64))); long f(void) { return sizeof(vec); }"),
	        4);
}

static void refused(const char *source, const char *said)
{
	struct jit_code *code;
	assert_int_equal(jit_compile(&code, source, NULL, 0, message, sizeof message), JIT_REFUSED);
	assert_null(code);
	if (!strstr(message, said))
		print_message("\"%s\" lacks \"%s\"\n", message, said);
	assert_non_null(strstr(message, said));
}

static void failures(void **state)
{
	(void)state;
	if (absent())
		skip();
	refused("#line 12 \"k3_rows (Softmax_12)\"\nlong f(void) {\n\treturn 1\n}\n", "k3_rows (Softmax_12):1");
	refused("long f(void) { return g(1); }", "g");                            /* an implicit declaration */
	refused("long g(long); long f(void) { return g(1); }", "g");              /* not bound */
	refused("int getpid(void); long f(void) { return getpid(); }", "getpid"); /* the process is not visible */
	refused("long f(void) { return 1; } long f(void) { return 2; }", "f");
	refused("_Thread_local int x; long f(void) { return x; }", "");
}

static float twice(float x) { return 2 * x; }

static void binding(void **state)
{
	(void)state;
	if (absent())
		skip();
	static const float table[3] = { 1, 2, 4 };
	const struct jit_symbol symbols[] = { { "twice", (const void *)twice }, { "table", table } };
	struct jit_code *code;
	assert_int_equal(
	        jit_compile(&code,
	                "float twice(float); extern const float table[3]; float f(void) { return twice(table[2]); }",
	                symbols, 2, message, sizeof message),
	        JIT_OK);
	float (*f)(void);
	*(void **)&f = jit_function(code, "f");
	assert_true(f() == 8);
	assert_null(jit_function(code, "nothing"));
	assert_true(jit_bytes(code) > 0);
	jit_release(code);
	jit_release(NULL);
}

/* ---- menus ---- */
static const struct jit_symbol *entry(const char *cpu, const char *name)
{
	size_t count;
	const struct jit_symbol *menu = jit_menu(cpu, &count);
	for (size_t i = 0; menu && i < count; i++)
		if (!strcmp(menu[i].name, name))
			return &menu[i];
	return NULL;
}

static void menus(void **state)
{
	(void)state;
	if (absent())
		skip();
	size_t count;
	const struct jit_symbol *menu = jit_menu(target_native()->name, &count);
	assert_non_null(menu);
	for (size_t i = 1; i < count; i++)
		assert_true(strcmp(menu[i - 1].name, menu[i].name) < 0);
	assert_null(jit_menu("cortex-m4", &count));
	for (int i = 0; i < SCALAR_COUNT; i++)
		if (scalars[i].floats) {
			char name[64];
			snprintf(name, sizeof name, "m_%s_%s", scalars[i].name,
			        scalars[i].arity == 1           ? "v"
			                : scalars[i].arity == 2 ? "vs"
			                                        : "vvs");
			assert_non_null(entry(target_native()->name, name));
		}
	for (int rows = 1; rows <= JIT_ROWS_MOST; rows++)
		for (int vecs = 1; vecs <= JIT_VECS_MOST; vecs++) {
			char name[64];
			snprintf(name, sizeof name, "m_tile_%dx%d", rows, vecs);
			assert_true(!entry(target_native()->name, name) == !jit_tile_fits(target_native(), rows, vecs));
		}
}

/* An entry against the same entry of the menu of scalars: the same bits, and nothing past the end is touched. */
enum { MOST = 200 };
typedef void map2(float *, long, const float *, long, const float *, long, long, long);
typedef void sums(float *, const float *, long, long, long);

static void entries(void **state)
{
	(void)state;
	if (absent() || !strcmp(target_native()->name, "generic"))
		skip();
	static float a[3 * MOST], b[3 * MOST], y[2][3 * MOST];
	static const long lengths[] = { 1, 7, 15, 16, 17, 63, 64, 65, 129, 200 };
	for (int i = 0; i < 3 * MOST; i++) {
		a[i] = i % 41 == 3    ? NAN
		        : i % 37 == 5 ? -0.f
		        : i % 29 == 2 ? INFINITY
		                      : (float)((i * 7919) % 1009) / 500.f - 1.f;
		b[i] = i % 43 == 4 ? -INFINITY : (float)((i * 104729) % 997) / 300.f - 1.6f;
	}
	for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
		static const char *const two[] = { "m_add_vv", "m_max_vs", "m_div_sv", "m_mul_vv", "m_where_vvs" };
		for (int k = 0; k < 4; k++) {
			for (int menu = 0; menu < 2; menu++) {
				map2 *f =
				        (map2 *)(uintptr_t)entry(menu ? "generic" : target_native()->name, two[k])->at;
				for (int i = 0; i < 3 * MOST; i++)
					y[menu][i] = 77;
				f(y[menu], MOST, a, MOST, b, MOST, 3, lengths[l]);
			}
			for (int i = 0; i < 3 * MOST; i++) {
				assert_true(
				        !memcmp(&y[0][i], &y[1][i], 4) || (y[0][i] != y[0][i] && y[1][i] != y[1][i]));
				if (i % MOST >= lengths[l])
					assert_true(y[0][i] == 77);
			}
		}
		static const char *const one[] = { "m_sums_add", "m_sums_max", "m_sums_min", "m_sums_mul" };
		for (int k = 0; k < 4; k++) {
			for (int menu = 0; menu < 2; menu++)
				((sums *)(uintptr_t)entry(menu ? "generic" : target_native()->name, one[k])->at)(
				        y[menu], b, MOST, 3, lengths[l]);
			assert_memory_equal(y[0], y[1], 3 * sizeof *y[0]);
		}
	}
}

static void lives(void **state)
{
	(void)state;
	if (absent())
		skip();
	for (int i = 0; i < 2000; i++) {
		struct jit_code *code = compile("long f(void) { return 1; }");
		jit_release(code);
	}
}

/* Several threads compile, refuse and run at once: libtcc has one lock, everything of ours belongs to one of them. */
enum { THREADS = 6, TIMES = 60 };
struct job {
	pthread_t thread;
	int number, wrong;
};

static void *compile_and_run(void *argument)
{
	struct job *job = argument;
	for (int i = 0; i < TIMES; i++) {
		char source[256], said[256];
		struct jit_code *code;
		snprintf(source, sizeof source,
		        "static const long table[2] = { 0, %d }; long f(long x) { return table[x >= 0] + x; }%s",
		        1000 * job->number + i, i % 3 == 2 ? " long g(void) { return nothing_" : "");
		enum jit_status status = jit_compile(&code, source, NULL, 0, said, sizeof said);
		if (i % 3 == 2) {
			job->wrong += status != JIT_REFUSED || code || !*said;
			continue;
		}
		long (*f)(long) = NULL;
		if (status == JIT_OK)
			*(void **)&f = jit_function(code, "f");
		for (long x = 0; f && x < 100; x++)
			job->wrong += f(x) != 1000 * job->number + i + x;
		job->wrong += !f;
		jit_release(code);
	}
	return NULL;
}

static void threads(void **state)
{
	static struct job jobs[THREADS];
	(void)state;
	if (absent())
		skip();
	for (int i = 0; i < THREADS; i++) {
		jobs[i].number = i;
		assert_int_equal(pthread_create(&jobs[i].thread, NULL, compile_and_run, &jobs[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(jobs[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(jobs[i].wrong, 0);
}

/* Graphs whose kernels once were refused or wrong: bits of the JIT beside the interpreter's. */
static const char *const graphs[] = {
	/* an index that is a value, into an array in scratch */
	"g (float[2,3,3,2] x) => (float[3,2,8,1] y)\n"
	"<int64[5] a = {2, 3, 3, 1, 2}, int64[1] b = {1}, int64[1] c = {3}, int64[1] d = {2}, int64[1] e = {3}, "
	"int64[4] f = {2, 3, 1, 2}, int64[8] i = {-1, 1, 1, 1, -2, -1, 1, 1}>\n"
	"{ t1 = Elu (x)  t2 = Reshape (t1, a)  t3 = Slice (t2, b, c, d, e)  t4 = Reshape (t3, f)  t5 = Gather <axis = "
	"0> (t4, i)  y = Transpose <perm = [1, 3, 0, 2]> (t5) }",
	/* the same as a term of a sum: its value stands in the loop */
	"g (float[1,240] x, float[1,14] z) => (float[1] y, float[1,254] w)\n"
	"<int64[29] i = {195, 239, -224, -62, 83, 180, 6, 103, -48, 84, 206, 198, -180, 5, 63, -137, -72, 89, 121, "
	"215, -116, -31, -88, -176, 153, -210, -84, 97, -142}, int64[1] r = {29}>\n"
	"{ t1 = Sigmoid (x)  w = Concat <axis = 1> (t1, z)  t2 = Gather <axis = 1> (w, i)  t3 = Reshape (t2, r)  y = "
	"ReduceMean <axes = [0], keepdims = 1> (t3) }",
};

enum { FLOATS = 256 };
static void run_graph(const char *text, const struct engine_kind *kind, float out[2][FLOATS])
{
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct options options = { .model = "g", .name = "g", .target = target_native(), .threads = 1 };
		float x[FLOATS], z[FLOATS];
		const void *const inputs[] = { x, z };
		void *const outputs[] = { out[0], out[1] };
		for (int i = 0; i < FLOATS; i++)
			x[i] = (float)(i * 37 % 101) / 50.f - 1.f, z[i] = (float)i;
		text = arena_printf(build.arena, "<ir_version: 8, opset_import: [\"\" : 17]>\n%s", text);
		struct model *model = model_read_memory(&build, &options, text, strlen(text));
		model_prepare(model);
		model_define(model);
		struct engine *engine = engine_open(model, kind);
		engine_run(engine, inputs, outputs);
		engine_close(engine);
	}
	assert_string_equal(build.message, "");
	build_release(&build);
}

static void same_bits(void **state)
{
	static float right[2][FLOATS], made[2][FLOATS];
	(void)state;
	if (absent())
		skip();
	for (size_t i = 0; i < COUNT(graphs); i++) {
		memset(right, 0, sizeof right);
		memset(made, 0, sizeof made);
		run_graph(graphs[i], &engine_interpreter, right);
		run_graph(graphs[i], &engine_jit, made);
		assert_memory_equal(right, made, sizeof right);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads), /* first: nobody else has been inside libtcc yet */
		cmocka_unit_test(dialect),
		cmocka_unit_test(failures),
		cmocka_unit_test(binding),
		cmocka_unit_test(menus),
		cmocka_unit_test(entries),
		cmocka_unit_test(lives),
		cmocka_unit_test(same_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
