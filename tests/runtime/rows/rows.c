/* rows.c: runs the tests of the runtime's rows, each in a process of its own, on each device.
 *
 *     runtime-rows [--json] [--alone] [--row ID] [--device NAME] [--fail N] [--fail-driver N] [--here]
 *
 * --fail N: each test runs again and again; in run k the k-th allocation or backend call fails, once (fault.c), until
 * there are no more.  The first N one by one (1000 with INGOT_LONG=1), then a step grows by one with each N more.
 * --fail-driver N: so with the calls of the driver that stands in for NVIDIA's (INGOT_LONG=1: 20).  --here: in this
 * process, for debuggers.  --alone: without generator-rows' answers.  $ROW_STOP: ends with the first that fails. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rows.h"
#include "fault.h"
#include "gpu.h"
#include "mock.h"
#include "others.h"

static const struct {
	const char *name;
	const struct ingot_backend *backend;
} devices[] = {
	{ "sync", &ingot_backend_sync },
	{ "multicore", &ingot_backend_multicore },
	{ "lazy", &backend_lazy },
	{ "mock", &backend_mock },
	{ "cuda", &ingot_backend_cuda },
};
#define DEVICES (sizeof devices / sizeof *devices)

enum { SKIPS = 5 }; /* a child's exit code: the row is not for this device */
static const char *current = "?", *on = "?";
static char reason[400], note[80];
static bool driver_fails; /* not a call of the runtime's, one of NVIDIA's driver */
static FILE *channel;     /* where a child says why it failed */

/* Sanitizers answer a request that is too large as malloc does. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }
const char *__tsan_default_options(void) { return "allocator_may_return_null=1"; }

static struct gate *gates[64];
static int gate_count;
static struct trial *open_trial;
static pthread_t first_thread;
static struct ingot_runtime *second;

void second_runtime(struct ingot_runtime *runtime) { second = runtime; }

int times(int sample, int full)
{
	if (getenv("ROW_SHORT"))
		return sample / 50 > 20 ? sample / 50 : 20;
	return getenv("INGOT_LONG") ? full : sample;
}

/* ---- checks ---- */

_Noreturn static void end(int code)
{
	if (channel) {
		fputs(reason, channel);
		fflush(channel);
	} else if (code)
		fprintf(stderr, "%s\n", reason);
	_exit(code);
}

_Noreturn void check_failed(const char *file, int line, const char *what)
{
	const char *name = strrchr(file, '/');
	snprintf(reason, sizeof reason, "%s:%d: %s%s%s (last message: %s)", name ? name + 1 : file, line, what,
	        note[0] ? ": " : "", note, ingot_message());
	const char *without = strstr(ingot_message(), "there is no libcuda.so.1") ? "there is no driver here"
	        : !ROW_IMAGES && strstr(ingot_message(), "has no code for a GPU")
	        ? "no NVRTC was there to make its kernels"
	        : NULL;
	if (without && !strcmp(on, "cuda")) {
		snprintf(reason, sizeof reason, "%s", without);
		end(SKIPS);
	}
	if (!fault_happened() || !pthread_equal(pthread_self(), first_thread))
		end(fault_happened() ? 3 : 1);
	/* A fault on purpose may make any check fail; what is asked then is that nothing crashes, hangs or is lost. */
	for (int i = 0; i < gate_count; i++)
		atomic_store(&gates[i]->open, 1);
	device_hold(false);
	if (second)
		ingot_runtime_close(second);
	if (open_trial && open_trial->runtime)
		ingot_runtime_close(open_trial->runtime);
	if (!fault_blocks())
		end(3);
	snprintf(
	        reason + strlen(reason), sizeof reason - strlen(reason), "; then %ld blocks were lost", fault_blocks());
	end(1);
}

void check_note(const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vsnprintf(note, sizeof note, format, list);
	va_end(list);
}

void check_ok(enum ingot_status status, const char *file, int line, const char *what)
{
	char text[300];
	if (!status)
		return;
	snprintf(text, sizeof text, "%s answers %s", what, ingot_status_name(status));
	check_failed(file, line, text);
}

void check_status(enum ingot_status wanted, enum ingot_status got, const char *file, int line, const char *what)
{
	char text[300];
	if (wanted == got)
		return;
	snprintf(text, sizeof text, "%s answers %s, not %s", what, ingot_status_name(got), ingot_status_name(wanted));
	check_failed(file, line, text);
}

void check_says(const char *wanted, const char *file, int line)
{
	if (!strstr(ingot_message(), wanted))
		check_failed(file, line, wanted);
}

/* ---- trials ---- */

static void trial_open(struct trial *trial)
{
	static const struct ingot_backend *backends[2];
	for (size_t i = 0; i < DEVICES; i++)
		if (!strcmp(devices[i].name, trial->device_name))
			backends[0] = fault_backend(devices[i].backend);
	trial->options.backends = backends;
	trial->runtime = NULL;
	open_trial = trial;
	on = trial->device_name;
	on_gpu = !strcmp(on, "cuda");
	first_thread = pthread_self();
	OK(ingot_runtime_open(&trial->runtime, &trial->options));
	OK(ingot_backend_init(trial->runtime, trial->device_name,
	        &(struct ingot_backend_options){ .intra_op_threads = 2, .seed = 7 }));
	OK(ingot_device_get(trial->runtime, trial->device_name, 0, &trial->device));
	OK(ingot_stream_default(trial->device, &trial->stream));
	OK(ingot_context_new(trial->stream, &trial->context));
}

void trial_reopen(struct trial *trial)
{
	struct ingot_runtime *old = trial->runtime;
	trial->runtime = NULL;
	ingot_runtime_close(old);
	trial_open(trial);
}

static void trial_run(const struct row *row, const char *device)
{
	struct trial trial = { .device_name = device,
		.in_place = !strcmp(device, "sync"),
		.lazy = !strcmp(device, "lazy"),
		.may_leave_open = true };
	trial.threads = !trial.in_place && !trial.lazy;
	trial.host_memory = trial.in_place || !strcmp(device, "multicore");
	fault_options(&trial.options);
	trial_open(&trial);
	row->run(&trial);
	/* What the library itself lost would show as blocks; handles that a test left open are closed for it. */
	open_trial = NULL;
	enum ingot_status status = ingot_runtime_close(trial.runtime);
	if (status == INGOT_LEFT_OPEN && strstr(ingot_message(), "of the runtime"))
		check_failed(__FILE__, __LINE__, "blocks were lost, or the lock");
	if (fault_blocks())
		check_failed(__FILE__, __LINE__, "memory was lost");
	if (fault_spoiled())
		check_failed(__FILE__, __LINE__, "memory was written to after it was given back");
	if (fault_libc_blocks() || fault_threads())
		check_failed(__FILE__, __LINE__, "memory of the C library was lost, or a thread");
}

int gate_stand(void *argument)
{
	struct gate *gate = argument;
	atomic_store(&gate->entered, 1);
	while (!atomic_load(&gate->open))
		usleep(100);
	atomic_store(&gate->left, 1);
	return 0;
}

void gate_hold(struct trial *trial, struct gate *gate, struct ingot_stream stream)
{
	if (gate_count < 64)
		gates[gate_count++] = gate;
	if (trial->in_place || trial->lazy)
		atomic_store(&gate->open, 1);
	OK(ingot_task_submit(
	        stream, &(struct ingot_task){ .name = "gate", .run = gate_stand, .argument = gate }, NULL));
	/* Behind what failed on the stream it never begins. */
	for (int rounds = 0; !trial->lazy && !atomic_load(&gate->entered); rounds++) {
		usleep(100);
		CHECK(!fault_happened() || rounds < 5000);
	}
}

void gate_open(struct gate *gate) { atomic_store(&gate->open, 1); }

static void *open_later(void *gate)
{
	usleep(20000);
	gate_open(gate);
	return NULL;
}

pthread_t gate_open_soon(struct gate *gate)
{
	pthread_t thread;
	CHECK(!pthread_create(&thread, NULL, open_later, gate));
	return thread;
}

struct ingot_stream other_stream(struct trial *trial)
{
	struct ingot_stream stream;
	OK(ingot_stream_open(trial->device, &stream));
	return stream;
}

struct ingot_node node_f32(struct trial *trial, const char *label, int64_t count)
{
	struct ingot_node node;
	OK(ingot_node_new(trial->runtime,
	        &(struct ingot_node_options){
	                .labels = &label, .label_count = 1, .dtype = INGOT_F32, .rank = 1, .dims = &count },
	        &node));
	return node;
}

void write_f32(struct ingot_context context, struct ingot_node node, const float *values, int64_t count)
{
	struct ingot_event done;
	OK(ingot_write(context, node, values, (uint64_t)count * 4, &done));
	OK(ingot_event_sync(done));
	OK(ingot_event_close(done));
}

void read_f32(struct ingot_context context, struct ingot_node node, float *values, int64_t count)
{
	struct ingot_event done;
	OK(ingot_read(context, node, values, (uint64_t)count * 4, &done));
	OK(ingot_event_sync(done));
	OK(ingot_event_close(done));
}

/* ---- JSON: a reader that only says whether it is one ---- */

static const char *json_value(const char *c);
static const char *json_space(const char *c) { return c + strspn(c, " \n\t\r"); }

static const char *json_string(const char *c)
{
	if (*c++ != '"')
		return NULL;
	for (; *c != '"'; c++) {
		if ((unsigned char)*c < 32)
			return NULL;
		if (*c == '\\') {
			c++;
			if (*c == 'u') {
				if (strspn(c + 1, "0123456789abcdefABCDEF") < 4)
					return NULL;
				c += 4;
			} else if (!strchr("\"\\/bfnrt", *c) || !*c)
				return NULL;
		}
	}
	return c + 1;
}

static const char *json_list(const char *c, char close)
{
	c = json_space(c);
	if (*c == close)
		return c + 1;
	for (;;) {
		c = json_space(c);
		if (close == '}') {
			if (!(c = json_string(c)) || *(c = json_space(c)) != ':')
				return NULL;
			c = json_space(c + 1);
		}
		if (!(c = json_value(c)))
			return NULL;
		c = json_space(c);
		if (*c == close)
			return c + 1;
		if (*c++ != ',')
			return NULL;
	}
}

static const char *json_value(const char *c)
{
	char *end_of_number;
	if (*c == '{')
		return json_list(c + 1, '}');
	if (*c == '[')
		return json_list(c + 1, ']');
	if (*c == '"')
		return json_string(c);
	static const char *const words[] = { "true", "false", "null" };
	for (int i = 0; i < 3; i++)
		if (!strncmp(c, words[i], strlen(words[i])))
			return c + strlen(words[i]);
	strtod(c, &end_of_number);
	return end_of_number == c ? NULL : end_of_number;
}

void json_parses(const char *text)
{
	const char *over = json_value(json_space(text));
	CHECK(over && !*json_space(over));
}

double json_number(const char *text, const char *key)
{
	char quoted[64];
	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	const char *at = strstr(text, quoted);
	CHECK(at);
	return strtod(at + strlen(quoted), NULL);
}

/* ---- the runner ---- */

static const struct row *const all[] = { rows_device, rows_memory, rows_events, rows_transfer, rows_sharing, rows_node,
	rows_values, rows_routine, rows_kernel, rows_edges, rows_reach, rows_failing, rows_lines, rows_traces,
	rows_limits, rows_outcomes, rows_meaning };
enum result { PASS, FAIL, SKIP };
static const char *const results[] = { "pass", "fail", "skip" };
static int counts[3];
static bool json, quiet, begun;

static void quote(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar((unsigned char)*text < 32 ? ' ' : *text);
	}
	putchar('"');
}

static void report(const struct row *row, const char *device, enum result result, const char *why)
{
	counts[result]++;
	if (json) {
		printf("%s{\"row\":\"%s\",\"device\":\"%s\",\"test\":\"%s\",\"result\":\"%s\",\"symbol\":",
		        begun ? ",\n " : "[", row->id, device, row->test, results[result]);
		quote(row->symbol);
		if (why && *why) {
			printf(",\"reason\":");
			quote(why);
		}
		printf("}");
	} else if (!quiet && (result == FAIL || (result == SKIP && getenv("VERBOSE"))))
		printf("%s %s %s %s%s%s\n", results[result], row->id, device, row->test, why && *why ? ": " : "",
		        why ? why : "");
	begun = true;
	if (result == FAIL && getenv("ROW_STOP"))
		exit(1);
}

/* A child, so that a crash, a hang or a leak of one test is that test's. */
static enum result row_run(
        const struct row *row, const char *device, int fail_at, bool here, char *why, size_t room, bool *fault)
{
	int ends[2], status;
	*fault = false;
	*why = 0;
	current = row->id;
	if (here) {
		(driver_fails ? fault_plant_driver : fault_plant)(fail_at);
		trial_run(row, device);
		return PASS;
	}
	if (pipe(ends)) {
		perror("pipe");
		exit(1);
	}
	fflush(NULL);
	pid_t child = fork();
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (!child) {
		close(ends[0]);
		channel = fdopen(ends[1], "w");
		alarm(getenv("ROW_SECONDS") ? (unsigned)atoi(getenv("ROW_SECONDS")) : 120); /* only ends what hangs */
		(driver_fails ? fault_plant_driver : fault_plant)(fail_at);
		trial_run(row, device);
		reason[0] = 0;
		if (fault_happened())
			end(4);
		/* By exit, so that leak checkers look. */
		fclose(channel);
		exit(0);
	}
	close(ends[1]);
	size_t used = 0;
	for (ssize_t got; used + 1 < room
	        && ((got = read(ends[0], why + used, room - 1 - used)) > 0 || (got < 0 && errno == EINTR));)
		used += got > 0 ? (size_t)got : 0;
	why[used] = 0;
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 3 || WEXITSTATUS(status) == 4)) {
		*fault = true;
		return PASS;
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return PASS;
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPS)
		return SKIP;
	if (WIFSIGNALED(status))
		snprintf(why + used, room - used, "%s (%s)",
		        WTERMSIG(status) == SIGALRM ? "it hangs" : "it ended by a signal", strsignal(WTERMSIG(status)));
	else if (!used)
		snprintf(why, room, "it ended with %d", WEXITSTATUS(status));
	return FAIL;
}

static bool wanted(const char *list, const char *name) { return !list || !strcmp(list, name); }

int main(int argc, char **argv)
{
	const char *only_row = NULL, *only_device = NULL;
	int fail_from = 0;
	setenv("STANDIN_KERNELS", ROW_KERNELS, 0);
	bool here = false, alone = false;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (!strcmp(argv[i], "--alone"))
			alone = true;
		else if (!strcmp(argv[i], "--here"))
			here = true;
		else if (!strcmp(argv[i], "--row") && i + 1 < argc)
			only_row = argv[++i];
		else if (!strcmp(argv[i], "--device") && i + 1 < argc)
			only_device = argv[++i];
		else if (!strcmp(argv[i], "--fail") && i + 1 < argc)
			fail_from = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--fail-driver") && i + 1 < argc) {
			fail_from = atoi(argv[++i]);
			driver_fails = true;
		} else {
			fprintf(stderr,
			        "usage: runtime-rows [--json] [--alone] [--row ID] [--device NAME] [--fail N] "
			        "[--fail-driver N] [--here]\n");
			return 2;
		}
	}
	for (size_t table = 0; table < sizeof all / sizeof *all; table++)
		for (const struct row *row = all[table]; row->id; row++) {
			if (!wanted(only_row, row->id))
				continue;
			if (json && others_answer(argv[0], row->skip))
				continue;
			if (row->skip) {
				if (wanted(only_device, "all"))
					report(row, "all", SKIP, row->skip);
				continue;
			}
			for (size_t d = 0; d < DEVICES; d++) {
				const char *device = devices[d].name;
				char why[500];
				bool fault;
				if (!wanted(only_device, device) || (row->devices && !strstr(row->devices, device)))
					continue;
				if (!fail_from) {
					enum result result = row_run(row, device, 0, here, why, sizeof why, &fault);
					report(row, device, result, why);
					continue;
				}
				if (getenv("INGOT_LONG") && fail_from < (driver_fails ? 20 : 1000))
					fail_from = driver_fails ? 20 : 1000;
				/* Until a run ends without having met one. */
				enum result result = row_run(row, device, 0, here, why, sizeof why, &fault);
				if (result == SKIP)
					continue;
				for (int at = 1; result == PASS; at += 1 + at / fail_from) {
					result = row_run(row, device, at, here, why, sizeof why, &fault);
					if (result == FAIL) {
						char more[600];
						snprintf(more, sizeof more, "failing call %d: %s", at, why);
						report(row, device, FAIL, more);
					} else if (!fault)
						break;
				}
				if (result == PASS)
					report(row, device, PASS, NULL);
			}
		}
	if (json && !fail_from && !here && !alone) {
		int others = others_print(argv[0], begun, only_row, only_device);
		counts[FAIL] += others;
	}
	if (json)
		printf(begun || !alone ? "]\n" : "[]\n");
	else
		printf("%d pass, %d fail, %d skip\n", counts[PASS], counts[FAIL], counts[SKIP]);
	return counts[FAIL] != 0;
}
