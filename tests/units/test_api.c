/* test_api.c: libingot's interface: one way through, every refusal, several threads, memory that forbids code, a locale of a
 * decimal comma. */
#include "unit.h"
#include <dirent.h>
#include <ingot/ingot.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                           "net (float[N, 3, 8, 8] image) => (float[N, 5] scores)\n"
                           "<float[4, 3, 3, 3] filter = {%s}, float[4] bias = {0.5, -1, 0, 2}, float[64, 5] weight = "
                           "{%s}, int64[2] flat = {-1, 64}>\n"
                           "{\n"
                           "  c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, filter, bias)\n"
                           "  r = LeakyRelu <alpha = 0.3> (c)\n"
                           "  p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (r)\n"
                           "  f = Reshape (p, flat)\n"
                           "  m = MatMul (f, weight)\n"
                           "  scores = Softmax <axis = 1> (m)\n"
                           "}\n";

static char *model_text(void)
{
	static char all[32768], filter[4096], weight[16384];
	char *p = filter, *q = weight;
	for (int i = 0; i < 108; i++)
		p += sprintf(p, "%s%d.%d", i ? ", " : "", i % 5 - 2, i % 7);
	for (int i = 0; i < 320; i++)
		q += sprintf(q, "%s0.0%d", i ? ", " : "", i * 7 % 93);
	snprintf(all, sizeof all, text, filter, weight);
	return all;
}

static float image[2 * 3 * 8 * 8];
static void set_image(void)
{
	for (size_t i = 0; i < sizeof image / sizeof *image; i++)
		image[i] = (float)((i * 37) % 101) / 50.f - 1.f;
}

static const char *compiled_numbers(struct ingot_model **model, const char *option, const char *value, int64_t batch)
{
	char *bytes = model_text();
	assert_int_equal(ingot_open_memory(model, bytes, strlen(bytes), "net.txt"), INGOT_MODEL_OK);
	assert_null(ingot_model_numbers(*model));
	static const char *const wrong[][2] = { { "algorithms", "fats" }, { "threads", "0" }, { "threads", "257" },
		{ "threads", "2x" }, { "speed", "fast" }, { "math", "double" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(ingot_set_option(*model, wrong[i][0], wrong[i][1]), INGOT_MODEL_USAGE);
		assert_non_null(strstr(ingot_model_message(*model), wrong[i][i == 4 ? 0 : 1]));
	}
	assert_int_equal(ingot_set_option(*model, option, value), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_dim(*model, "N", batch), INGOT_MODEL_OK);
	assert_int_equal(ingot_compile(*model, INGOT_INTERPRETER), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_option(*model, option, value), INGOT_MODEL_USAGE);
	return ingot_model_numbers(*model);
}

/* What bits depend on besides the model: the numeric options, not the batch nor threads. */
static void numbers(void **state)
{
	static const char *const others[][3] = { { "algorithms", "direct", "algorithms=direct" },
		{ "quantised", "literal", "quantised=literal" }, { "denormals", "zero", "denormals=zero" },
		{ "store-weights", "int8", "store-weights=int8" }, { "math", "tf32", "math=tf32 algorithms=direct" } };
	struct ingot_model *fast, *more, *threads, *other;
	(void)state;
	const char *of_one = compiled_numbers(&fast, "algorithms", "fast", 1);
	assert_string_equal(of_one, compiled_numbers(&more, "algorithms", "fast", 7));
	assert_string_equal(of_one, compiled_numbers(&threads, "threads", "2", 1));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const char *numbers = compiled_numbers(&other, others[i][0], others[i][1], 1);
		assert_string_not_equal(of_one, numbers);
		assert_non_null(strstr(numbers, others[i][2]));
		ingot_close(other);
	}
	ingot_close(fast), ingot_close(more), ingot_close(threads);
}

/* Extents that data decide come as one more output, and its memory is there. */
static void counted(void **state)
{
	static const char net[] =
	        "<ir_version: 8, opset_import: [\"\" : 17]>\nnet (bool[2, 3] x) => (int64[2, ?] y) { y = NonZero (x) }";
	static const unsigned char x[6] = { 0, 1, 0, 1, 0, 1 };
	static const int64_t dims[2] = { 2, 3 }, places[6] = { 0, 1, 1, 1, 0, 2 };
	static const enum ingot_engine engines[] = { INGOT_INTERPRETER, INGOT_C, INGOT_JIT };
	(void)state;
	for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
		struct ingot_model *model;
		assert_int_equal(ingot_open_memory(&model, net, strlen(net), "net.txt"), INGOT_MODEL_OK);
		assert_int_equal(ingot_compile(model, engines[e]), INGOT_MODEL_OK);
		assert_int_equal(ingot_output_count(model), 2);
		assert_int_equal(ingot_output(model, 0)->dims[1], 6);
		assert_string_equal(ingot_output(model, 1)->name, "y_dims");
		assert_int_equal(ingot_set_input(model, 0, x), INGOT_MODEL_OK);
		assert_int_equal(ingot_run(model), INGOT_MODEL_OK);
		assert_memory_equal(ingot_result(model, 1), dims, sizeof dims);
		assert_memory_equal(ingot_result(model, 0), places, sizeof places);
		ingot_close(model);
	}
}

static int tasks(void)
{
	int count = 0;
	DIR *folder = opendir("/proc/self/task");
	for (struct dirent *entry; (entry = readdir(folder));)
		count += *entry->d_name != '.';
	closedir(folder);
	return count;
}

/* A library that is made for two threads has a pool of one worker, as long as the model is open. */
static void pooled(void **state)
{
	struct ingot_model *model;
	char *bytes = model_text();
	int before = tasks();
	(void)state;
	assert_int_equal(ingot_open_memory(&model, bytes, strlen(bytes), "net.txt"), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_option(model, "threads", "2"), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_dim(model, "N", 2), INGOT_MODEL_OK);
	assert_int_equal(ingot_compile(model, INGOT_C), INGOT_MODEL_OK);
	assert_int_equal(tasks(), before + 1);
	assert_int_equal(ingot_set_input(model, 0, image), INGOT_MODEL_OK);
	assert_int_equal(ingot_run(model), INGOT_MODEL_OK);
	ingot_close(model);
	assert_int_equal(tasks(), before);
}

static void run_engine(enum ingot_engine engine, float *scores)
{
	struct ingot_model *model;
	char *bytes = model_text();
	assert_int_equal(ingot_open_memory(&model, bytes, strlen(bytes), "net.txt"), INGOT_MODEL_OK);
	assert_int_equal(ingot_input_count(model), 1);
	assert_int_equal(ingot_input(model, 0)->dims[0], -1);
	assert_string_equal(ingot_input(model, 0)->name, "image");
	assert_int_equal(ingot_set_dim(model, "N", 2), INGOT_MODEL_OK);
	assert_int_equal(ingot_input(model, 0)->dims[0], 2);
	enum ingot_model_status status = ingot_compile(model, engine);
	if (status)
		print_message("%s\n", ingot_model_message(model));
	assert_int_equal(status, INGOT_MODEL_OK);
	assert_int_equal(ingot_input(model, 0)->bytes, sizeof image);
	assert_int_equal(ingot_output(model, 0)->bytes, 10 * sizeof *scores);
	assert_int_equal(ingot_output(model, 0)->dims[1], 5);
	assert_null(ingot_result(model, 0));
	assert_int_equal(ingot_run(model), INGOT_MODEL_USAGE); /* no input yet */
	assert_int_equal(ingot_set_input(model, 0, image), INGOT_MODEL_OK);
	for (int again = 0; again < 3; again++)
		assert_int_equal(ingot_run(model), INGOT_MODEL_OK);
	assert_string_equal(ingot_model_message(model), "");
	memcpy(scores, ingot_result(model, 0), 10 * sizeof *scores);
	float own[10];
	assert_int_equal(ingot_set_output(model, 0, own), INGOT_MODEL_OK);
	assert_null(ingot_result(model, 0));
	assert_int_equal(ingot_run(model), INGOT_MODEL_OK);
	assert_ptr_equal(ingot_result(model, 0), own);
	assert_memory_equal(own, scores, sizeof own);
	ingot_close(model);
}

static int have_jit(void)
{
	struct ingot_model *model;
	char *bytes = model_text();
	ingot_open_memory(&model, bytes, strlen(bytes), "net.txt");
	ingot_set_dim(model, "N", 1);
	enum ingot_model_status status = ingot_compile(model, INGOT_JIT);
	ingot_close(model);
	return status == INGOT_MODEL_OK;
}

static void engines_agree(void **state)
{
	(void)state;
	float want[10], got[10];
	set_image();
	run_engine(INGOT_INTERPRETER, want);
	assert_true(want[0] > 0 && want[0] < 1);
	run_engine(INGOT_C, got);
	assert_memory_equal(want, got, sizeof want);
	if (!have_jit()) {
		print_message("no libtcc here: the JIT is skipped\n");
		return;
	}
	run_engine(INGOT_JIT, got);
	assert_memory_equal(want, got, sizeof want);
}

static void refusals(void **state)
{
	(void)state;
	struct ingot_model *model;
	char *bytes = model_text();
	assert_int_equal(ingot_open(&model, "/nowhere/net.onnx"), INGOT_MODEL_USAGE);
	assert_non_null(strstr(ingot_model_message(model), "/nowhere/net.onnx"));
	assert_int_equal(ingot_compile(model, INGOT_JIT), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_set_dim(model, "N", 1), INGOT_MODEL_USAGE);
	assert_null(ingot_input(model, 0));
	ingot_close(model);
	assert_int_equal(ingot_open_memory(&model, "<ir_version: 8", 14, "broken"), INGOT_MODEL_INVALID);
	assert_non_null(strstr(ingot_model_message(model), "broken"));
	ingot_close(model);
	assert_int_equal(ingot_open_memory(&model, NULL, 0, "empty"), INGOT_MODEL_INVALID);
	ingot_close(model);
	const char *strange =
	        "<ir_version: 8, opset_import: [\"\" : 17]>\nnet (float[2] x) => (float[2] y) { y = ImageDecoder (x) }";
	assert_int_equal(ingot_open_memory(&model, strange, strlen(strange), "strange"), INGOT_MODEL_OK);
	assert_int_equal(ingot_compile(model, INGOT_INTERPRETER), INGOT_MODEL_UNSUPPORTED);
	assert_non_null(strstr(ingot_model_message(model), "ImageDecoder"));
	assert_int_equal(ingot_run(model), INGOT_MODEL_USAGE);
	ingot_close(model);

	assert_int_equal(ingot_open_memory(&model, bytes, strlen(bytes), "net"), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_dim(model, "M", 1), INGOT_MODEL_USAGE);
	assert_non_null(strstr(ingot_model_message(model), "M"));
	assert_int_equal(ingot_set_dim(model, "N", -1), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_compile(model, INGOT_INTERPRETER), INGOT_MODEL_USAGE); /* N is not bound */
	assert_non_null(strstr(ingot_model_message(model), "N"));
	assert_int_equal(ingot_set_elements(model, "x", "1"), INGOT_MODEL_USAGE);
	assert_non_null(strstr(ingot_model_message(model), "no input of that name is a sequence"));
	assert_int_equal(ingot_set_dim(model, "N", 1), INGOT_MODEL_OK);
	assert_int_equal(ingot_compile(model, (enum ingot_engine)7), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_compile(model, INGOT_INTERPRETER), INGOT_MODEL_OK);
	assert_int_equal(ingot_compile(model, INGOT_INTERPRETER), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_set_input(model, 1, image), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_set_output(model, 1, image), INGOT_MODEL_USAGE);
	assert_null(ingot_result(model, 5));
	ingot_close(model);
	ingot_close(NULL);
}

/* A sequence is what it holds, once somebody says it. */
static void sequences(void **state)
{
	(void)state;
	struct ingot_model *model;
	static const float a[2] = { 1, 2 }, b[3] = { 3, 4, 5 };
	const char *text = "<ir_version: 8, opset_import: [\"\" : 17]>\nlists (seq(float[N]) x) => (float[M] y, "
	                   "seq(float[N]) same)\n"
	                   "{ y = ConcatFromSequence <axis = 0> (x)  same = Identity (x) }";
	assert_int_equal(ingot_open_memory(&model, text, strlen(text), "lists"), INGOT_MODEL_OK);
	assert_int_equal(ingot_compile(model, INGOT_INTERPRETER), INGOT_MODEL_USAGE);
	assert_non_null(strstr(ingot_model_message(model), "input x is seq(float[N]): say how many tensors it holds"));
	assert_int_equal(ingot_set_elements(model, "x", "two"), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_set_elements(model, "x", "none"), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_set_elements(model, "x", "[2],[3]"), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_elements(model, "x", "1"), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_input_count(model), 2);
	assert_string_equal(ingot_input(model, 1)->name, "x_1");
	assert_int_equal(ingot_input(model, 1)->dims[0], 3);
	assert_int_equal(ingot_compile(model, INGOT_INTERPRETER), INGOT_MODEL_OK);
	assert_int_equal(ingot_output_count(model), 3);
	assert_string_equal(ingot_output(model, 2)->name, "same_1");
	assert_int_equal(ingot_set_elements(model, "x", "1"), INGOT_MODEL_USAGE);
	ingot_set_input(model, 0, a);
	ingot_set_input(model, 1, b);
	assert_int_equal(ingot_run(model), INGOT_MODEL_OK);
	static const float joined[5] = { 1, 2, 3, 4, 5 };
	assert_memory_equal(ingot_result(model, 0), joined, sizeof joined);
	assert_memory_equal(ingot_result(model, 2), b, sizeof b);
	ingot_close(model);
}

/* What an operand at run time decides is known where its value is said; another value is an operand that is wrong. */
static void values(void **state)
{
	(void)state;
	struct ingot_model *model;
	static const float a[6] = { 1, 2, 3, 4, 5, 6 };
	static const int64_t there[2] = { 3, 2 }, other[2] = { 2, 3 };
	const char *text = "<ir_version: 8, opset_import: [\"\" : 17]>\nshaped (float[6] x, int64[N] shape) => "
	                   "(float[A,B] y) { y = Reshape (x, shape) }";
	assert_int_equal(ingot_open_memory(&model, text, strlen(text), "shaped"), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_value(model, "x", "1,2,3,4,5,6"), INGOT_MODEL_USAGE);
	assert_non_null(strstr(ingot_model_message(model), "no input of that name holds integers; known are: shape"));
	assert_int_equal(ingot_set_value(model, "shape", "two"), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_set_value(model, "shape", "3,2"), INGOT_MODEL_OK);
	assert_int_equal(ingot_set_value(model, "shape", "3,2"), INGOT_MODEL_USAGE);
	assert_int_equal(ingot_compile(model, INGOT_INTERPRETER), INGOT_MODEL_OK);
	assert_int_equal(ingot_output(model, 0)->dims[0], 3);
	assert_int_equal(ingot_set_value(model, "shape", "3,2"), INGOT_MODEL_USAGE);
	ingot_set_input(model, 0, a);
	ingot_set_input(model, 1, there);
	assert_int_equal(ingot_run(model), INGOT_MODEL_OK);
	assert_memory_equal(ingot_result(model, 0), a, sizeof a);
	ingot_set_input(model, 1, other);
	assert_int_equal(ingot_run(model), INGOT_MODEL_INVALID);
	assert_non_null(strstr(ingot_model_message(model),
	        "input shape is [3, 2] where the model is compiled: no other value is right"));
	ingot_close(model);
}

/* ---- several at once ---- */
enum { THREADS = 8, TIMES = 12 };
static char *shared_text;
struct job {
	pthread_t thread;
	float scores[10];
	int wrong;
};

static void *work(void *argument)
{
	struct job *job = argument;
	for (int i = 0; i < TIMES; i++) {
		struct ingot_model *model;
		int bad = ingot_open_memory(&model, shared_text, strlen(shared_text), "net")
		        || ingot_set_dim(model, "N", 2) || ingot_compile(model, i % 2 ? INGOT_INTERPRETER : INGOT_JIT)
		        || ingot_set_input(model, 0, image) || ingot_run(model);
		job->wrong += bad;
		if (!bad && i == 0)
			memcpy(job->scores, ingot_result(model, 0), sizeof job->scores);
		if (!bad)
			job->wrong += memcmp(job->scores, ingot_result(model, 0), sizeof job->scores) != 0;
		ingot_close(model);
	}
	return NULL;
}

static void threads(void **state)
{
	(void)state;
	static struct job jobs[THREADS];
	if (!have_jit())
		skip();
	set_image();
	shared_text = model_text();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&jobs[i].thread, NULL, work, &jobs[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(jobs[i].thread, NULL);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(jobs[i].wrong, 0);
		assert_memory_equal(jobs[i].scores, jobs[0].scores, sizeof jobs->scores);
	}
}

/* ---- where the process may not ---- */
static int in_child(int (*body)(void))
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(body());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int compile_with(enum ingot_engine engine, float *scores)
{
	struct ingot_model *model;
	char *bytes = model_text();
	enum ingot_model_status status = ingot_open_memory(&model, bytes, strlen(bytes), "net");
	if (!status)
		status = ingot_set_dim(model, "N", 2);
	if (!status)
		status = ingot_compile(model, engine);
	if (!status)
		status = ingot_set_input(model, 0, image);
	if (!status)
		status = ingot_run(model);
	if (!status)
		memcpy(scores, ingot_result(model, 0), 10 * sizeof *scores);
	if (status == INGOT_MODEL_ENVIRONMENT && !strstr(ingot_model_message(model), "executable memory"))
		status = 99;
	ingot_close(model);
	return (int)status;
}

static int compile_once(void)
{
	float scores[10];
	return compile_with(INGOT_JIT, scores);
}

enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1, NO_MDWE = 77 };
static int hardened(void) { return prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) ? NO_MDWE : compile_once(); }

/* No descriptor can be had: whoever opens a file fails. */
static int without_files(void)
{
	struct rlimit none = { 0, 0 };
	return setrlimit(RLIMIT_NOFILE, &none) ? 98 : compile_once();
}

static void hardened_process(void **state)
{
	(void)state;
	if (!have_jit())
		skip();
	int got = in_child(hardened);
	if (got == NO_MDWE)
		skip();
	assert_int_equal(got, INGOT_MODEL_ENVIRONMENT);
}

static void no_file_opened(void **state)
{
	(void)state;
	if (!have_jit())
		skip();
	set_image();
	assert_int_equal(in_child(without_files), INGOT_MODEL_OK);
}

enum { NO_LOCALE = 100, OTHER_BITS };

/* Makes a locale of a decimal comma, and goes on in it. */
static int speak_comma(void)
{
	static const char source[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\n"
	                             "END LC_NUMERIC\n";
	char folder[] = "/tmp/ingot-locale-XXXXXX", command[256];
	if (!mkdtemp(folder) || setenv("LOCPATH", folder, 1))
		return 0;
	snprintf(command, sizeof command, "cd %s && cat >source && localedef -c -i ./source ./comma >log 2>&1", folder);
	FILE *made = popen(command, "w");
	if (made) {
		fputs(source, made);
		pclose(made); /* localedef warns of what else a locale has: setlocale says whether this one is there */
	}
	const char *now = setlocale(LC_NUMERIC, "comma");
	snprintf(command, sizeof command, "rm -r %s", folder);
	return !system(command) && now && *localeconv()->decimal_point == ',';
}

/* What is refused ends in the caller's locale, too. */
static int with_comma(void)
{
	const char *bytes = model_text();
	float want[10], got[10];
	struct ingot_model *model;
	int last = have_jit() ? INGOT_JIT : INGOT_C;
	if (compile_with(INGOT_INTERPRETER, want) || !speak_comma())
		return NO_LOCALE;
	for (int e = INGOT_INTERPRETER; e <= last; e++)
		if (compile_with((enum ingot_engine)e, got) || memcmp(got, want, sizeof want)
		        || *localeconv()->decimal_point != ',')
			return OTHER_BITS;
	int status = ingot_open_memory(&model, bytes, strlen(bytes) / 2, "net.txt");
	ingot_close(model);
	return *localeconv()->decimal_point != ',' ? OTHER_BITS : status;
}

static void comma(void **state)
{
	(void)state;
	set_image();
	int got = in_child(with_comma);
	if (got == NO_LOCALE) {
		print_message("no localedef, or no locales of one's own here: skipped\n");
		skip();
	}
	assert_int_equal(got, INGOT_MODEL_INVALID);
}

/* What is mapped, less what malloc keeps for later: how many pages it keeps differs from run to run. */
static long held_bytes(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (file && fscanf(file, "%ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	struct mallinfo2 heap = mallinfo2();
	return pages * sysconf(_SC_PAGESIZE) - (long)heap.arena + (long)heap.uordblks;
}

static void memory_is_flat(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* its malloc keeps what is freed, and it looks for leaks itself */
#endif
	if (!have_jit())
		skip();
	set_image();
	for (int i = 0; i < 20; i++)
		assert_int_equal(compile_once(), 0);
	long before = held_bytes();
	for (int i = 0; i < 200; i++)
		assert_int_equal(compile_once(), 0);
	long more = held_bytes() - before;
	assert_true(more < 128 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(numbers),
		cmocka_unit_test(pooled),
		cmocka_unit_test(counted),
		cmocka_unit_test(refusals),
		cmocka_unit_test(sequences),
		cmocka_unit_test(values),
		cmocka_unit_test(threads),
		cmocka_unit_test(hardened_process),
		cmocka_unit_test(no_file_opened),
		cmocka_unit_test(comma),
		cmocka_unit_test(memory_is_flat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
