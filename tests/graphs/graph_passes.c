/* graph_passes.c: runs a pass on graphs in text and compares what comes out with the text that is wanted.
 *
 *     graph_passes PASS [--update] FILE...
 *
 * A file is a graph, the line "# becomes", and the graph after the pass; --update writes the latter.  Or, in place of
 * both, the line "# fails: MESSAGE" with the end of the message that inference must give.  Where the graph can be run,
 * both are interpreted on seeded inputs and must agree to 1e-5 of the largest output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "definitions/definitions.h"
#include "frontends/frontends.h"
#include "ops/ops.h"
#include "passes/passes.h"

static const char becomes[] = "# becomes\n", fails[] = "# fails: ";

static uint64_t next_random(uint64_t *seed) /* splitmix64 */
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

struct values {
	float *at;
	size_t count;
};

/* The outputs of a graph, one after the other; all inputs and outputs are float. */
static struct values run(struct graph *graph)
{
	struct build *build = graph->build;
	struct program *program = define_graph(graph);
	const void **inputs = arena_new_array(build->arena, const void *, program->inputs.count + 1);
	void **outputs = arena_new_array(build->arena, void *, program->outputs.count + 1);
	struct values values = { 0 };
	uint64_t seed = 1;
	program_check(program);
	for (size_t i = 0; i < program->inputs.count; i++) {
		int64_t n = definition_elements(program->inputs.at[i]);
		float *data = arena_new_array(build->arena, float, (size_t)n + 1);
		for (int64_t k = 0; k < n; k++)
			data[k] = (float)(next_random(&seed) >> 11) * 0x1p-51f - 2;
		inputs[i] = data;
	}
	for (size_t i = 0; i < program->outputs.count; i++)
		values.count += (size_t)definition_elements(program->outputs.at[i]);
	values.at = arena_new_array(build->arena, float, values.count + 1);
	for (size_t i = 0, at = 0; i < program->outputs.count;
	        at += (size_t)definition_elements(program->outputs.at[i++]))
		outputs[i] = values.at + at;
	interpret(program, MATH_STRICT, inputs, outputs);
	return values;
}

static bool agree(struct values a, struct values b)
{
	float largest = 0, error = 0;
	for (size_t i = 0; i < a.count && a.count == b.count; i++) {
		largest = fmaxf(largest, fabsf(a.at[i]));
		if (!(fabsf(a.at[i] - b.at[i]) <= error))
			error = fabsf(a.at[i] - b.at[i]);
	}
	return a.count == b.count && error <= 1e-5f * largest;
}

static struct graph *read(struct build *build, const char *file, const char *text, size_t count)
{
	return graph_read_memory(build, file, text, count, &(struct read_options){ 0 });
}

struct job {
	const char *pass, *path;
	bool update, bad;
};

static void work(struct build *build, struct job *job)
{
	struct mapped file = file_map(build, job->path);
	const char *text = arena_copy(build->arena, (const char *)file.at, file.bytes), *want = strstr(text, becomes);
	const char *message = strstr(text, fails);
	size_t given = want ? (size_t)(want - text) : message ? (size_t)(message - text) : file.bytes;
	struct graph *graph = read(build, job->path, text, given);
	graph_check(graph);
	pass_constants(graph);
	pass_infer(graph);
	if (strcmp(job->pass, "infer")) {
		struct graph *plain = read(build, job->path, text, given);
		graph_check(plain);
		pass_infer(plain);
		struct values before = run(plain);
		(!strcmp(job->pass, "merge") ? pass_merge : pass_simplify)(graph);
		graph_check(graph);
		if (!agree(before, run(graph))) {
			printf("%s: the numbers differ\n", job->path);
			job->bad = true;
		}
	}
	struct text got;
	text_init(&got, build);
	graph_print(graph, 16, &got);
	if (job->update) {
		struct text whole;
		text_init(&whole, build);
		text_add(&whole, text, given);
		text_adds(&whole, becomes);
		text_add(&whole, got.at, got.count);
		FILE *out = fopen(job->path, "w");
		if (!out || fwrite(whole.at, 1, whole.count, out) != whole.count || fclose(out))
			fail(build, EXIT_ENVIRONMENT, job->path, "cannot be written");
		text_release(&whole);
	} else if (!want || strcmp(want + strlen(becomes), got.at)) {
		printf("%s: other than wanted:\n%s", job->path, got.at);
		job->bad = true;
	} else {
		/* what was printed reads back and is printed the same */
		struct text again;
		struct graph *back = read(build, job->path, got.at, got.count);
		graph_check(back);
		text_init(&again, build);
		graph_print(back, 16, &again);
		if (strcmp(again.at, got.at)) {
			printf("%s: reads back as:\n%s", job->path, again.at);
			job->bad = true;
		}
		text_release(&again);
	}
	text_release(&got);
}

/* The message that the file wants, if it wants one, is the end of what came, up to the end of its line. */
static bool failed_as_wanted(const struct build *build, const char *path)
{
	char line[1200] = "";
	bool right = false;
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, fails, strlen(fails))) {
			const char *want = line + strlen(fails);
			size_t length = strcspn(want, "\n"), have = strlen(build->message);
			right = have >= length && !strncmp(build->message + have - length, want, length);
		}
	if (file)
		fclose(file);
	return right;
}

int main(int argc, char **argv)
{
	volatile int bad = 0;
	struct job job = { .pass = argc > 1 ? argv[1] : "" };
	for (int i = 2; i < argc; i++) {
		struct build build;
		if (!strcmp(argv[i], "--update")) {
			job.update = true;
			continue;
		}
		job.path = argv[i];
		job.bad = false;
		build_init(&build);
		if (BUILD_TRY(&build)) {
			work(&build, &job);
		} else if (!failed_as_wanted(&build, job.path)) {
			printf("%s: exit %d: %s\n", job.path, build.code, build.message);
			job.bad = true;
		}
		bad |= job.bad;
		build_release(&build);
	}
	return bad || argc < 3;
}
