/* rows.c: runs the tests of the generator's rows, each in a process of its own, on each device.
 *
 *     generator-rows [--json] [--row ID] [--device NAME] [--here]
 *
 * `runtime-rows --json` runs it too, where it was built, and adds its answers to its own. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rows.h"

static char reason[600];
static FILE *channel; /* where a child says why it failed */

_Noreturn void check_failed(const char *file, int line, const char *what)
{
	const char *name = strrchr(file, '/');
	snprintf(reason, sizeof reason, "%s:%d: %.400s (last message: %.120s)", name ? name + 1 : file, line, what,
	        ingot_message());
	fprintf(channel ? channel : stderr, "%s%s", reason, channel ? "" : "\n");
	if (channel)
		fflush(channel);
	_exit(1);
}

void check_status(enum ingot_status wanted, enum ingot_status got, const char *file, int line, const char *what)
{
	char text[400];
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

/* ---- files and the program ---- */
char *file_text(const char *format, ...)
{
	char path[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(path, sizeof path, format, arguments);
	va_end(arguments);
	FILE *file = fopen(path, "rb");
	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	long bytes = ftell(file);
	rewind(file);
	char *text = calloc(1, (size_t)bytes + 1);
	CHECK(text && fread(text, 1, (size_t)bytes, file) == (size_t)bytes);
	fclose(file);
	return text;
}

const char *ingot_says(struct trial *t, int *code, const char *format, ...)
{
	static char text[65536];
	char words[1500], command[2400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(words, sizeof words, format, arguments);
	va_end(arguments);
	snprintf(command, sizeof command, "cd '%s/graphs' && '%s' %s 2>&1", TESTS, t->ingot, words);
	FILE *pipe = popen(command, "r");
	CHECK(pipe);
	text[fread(text, 1, sizeof text - 1, pipe)] = 0;
	int status = pclose(pipe);
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return text;
}

void same_as_golden(const char *text, const char *name)
{
	char path[512], what[400];
	CHECK(text);
	snprintf(path, sizeof path, "%s/golden/%s", TESTS, name);
	if (getenv("INGOT_UPDATE")) {
		FILE *file = fopen(path, "wb");
		CHECK(file && fwrite(text, 1, strlen(text), file) == strlen(text));
		fclose(file);
		return;
	}
	char *golden = file_text("%s", path);
	size_t same = 0;
	while (golden && golden[same] && golden[same] == text[same])
		same++;
	snprintf(what, sizeof what, "golden/%s differs from byte %zu on: %.120s", name, same,
	        text + (golden ? same : 0));
	if (!golden || golden[same] || text[same])
		check_failed(__FILE__, __LINE__, what);
	free(golden);
}

/* ---- trials ---- */
static void trial_run(const struct row *row, const char *device, const char *ingot)
{
	struct trial trial = { .device = device, .jit = !strcmp(device, "jit"), .ingot = ingot };
	const char *backend = trial.jit ? "multicore" : device;
	char command[100];
	strcpy(trial.folder, "/tmp/generator-rows-XXXXXX");
	CHECK(mkdtemp(trial.folder));
	OK(ingot_runtime_open(&trial.runtime, &(struct ingot_runtime_options){ .poison = true }));
	OK(ingot_backend_init(trial.runtime, backend, &(struct ingot_backend_options){ .intra_op_threads = 2 }));
	OK(ingot_device_get(trial.runtime, backend, 0, &trial.on));
	OK(ingot_stream_default(trial.on, &trial.stream));
	OK(ingot_context_new(trial.stream, &trial.context));
	row->run(&trial);
	ingot_runtime_close(trial.runtime);
	snprintf(command, sizeof command, "rm -r '%s'", trial.folder);
	if (system(command))
		fprintf(stderr, "%s stays\n", trial.folder);
}

static const struct row *const all[] = { rows_modes, rows_batch, rows_memory, rows_texts, rows_ops };
static const char *const devices[] = { "sync", "multicore", "jit" };
static bool json, begun;
static int counts[2];

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

static void report(const struct row *row, const char *device, bool right, const char *why)
{
	counts[!right]++;
	if (json) {
		printf("%s{\"row\":\"%s\",\"device\":\"%s\",\"test\":\"%s\",\"result\":\"%s\",\"symbol\":",
		        begun ? ",\n " : "[", row->id, device, row->test, right ? "pass" : "fail");
		quote(row->symbol);
		if (!right) {
			printf(",\"reason\":");
			quote(why);
		}
		printf("}");
	} else if (!right)
		printf("fail %s %s %s: %s\n", row->id, device, row->test, why);
	begun = true;
}

/* A child, so that a crash or a hang of one test is that test's. */
static bool row_run(const struct row *row, const char *device, const char *ingot, char *why, size_t room)
{
	int ends[2], status;
	size_t used = 0;
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
		alarm(120); /* only ends what hangs */
		trial_run(row, device, ingot);
		fclose(channel);
		exit(0);
	}
	close(ends[1]);
	for (ssize_t got; used + 1 < room
	        && ((got = read(ends[0], why + used, room - 1 - used)) > 0 || (got < 0 && errno == EINTR));)
		used += got > 0 ? (size_t)got : 0;
	why[used] = 0;
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	if (!used)
		snprintf(why, room, WIFSIGNALED(status) ? "it ended by signal %d" : "it ended with %d",
		        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

int main(int argc, char **argv)
{
	const char *only_row = NULL, *only_device = NULL, *slash = strrchr(argv[0], '/');
	bool here = false;
	char ingot[512];
	snprintf(ingot, sizeof ingot, "%.*singot", slash ? (int)(slash - argv[0]) + 1 : 0, argv[0]);
	char *path = realpath(ingot, NULL);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (!strcmp(argv[i], "--here"))
			here = true;
		else if (!strcmp(argv[i], "--row") && i + 1 < argc)
			only_row = argv[++i];
		else if (!strcmp(argv[i], "--device") && i + 1 < argc)
			only_device = argv[++i];
		else {
			fprintf(stderr, "usage: generator-rows [--json] [--row ID] [--device NAME] [--here]\n");
			return 2;
		}
	}
	for (size_t table = 0; table < sizeof all / sizeof *all; table++)
		for (const struct row *row = all[table]; row->id; row++)
			for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
				char why[700];
				if ((only_row && strcmp(only_row, row->id))
				        || (only_device && strcmp(only_device, devices[d]))
				        || !strstr(row->devices, devices[d]))
					continue;
				if (here)
					trial_run(row, devices[d], path ? path : ingot);
				bool right = here || row_run(row, devices[d], path ? path : ingot, why, sizeof why);
				report(row, devices[d], right, why);
			}
	if (json)
		printf("%s]\n", begun ? "" : "[");
	else
		printf("%d pass, %d fail, 0 skip\n", counts[0], counts[1]);
	free(path);
	return counts[1] != 0;
}
