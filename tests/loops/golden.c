/* golden.c: what the passes make of a few kernels, as text to be read: tests/loops/golden/CASE.TARGET.txt.
 *
 *     loops_golden FOLDER [--update]        exit 1: a text differs, or is not there */
#include "kernels.h"
#include "loops/loops.h"
#include <stdio.h>

static const char *const chosen[][2] = {
	{ "bias_nhwc", "x86-64-v4" },         /* a broadcast: channels by lanes, the last of them twice */
	{ "concat", "x86-64-v3" },            /* a select on the channel becomes two loops */
	{ "maxpool_small", "x86-64-v3" },     /* a padded window: borders and an inside, rounds side by side */
	{ "softmax_row", "x86-64-v4" },       /* a row: sums in 64 lanes, exp and its sum in one loop */
	{ "global_last_8", "x86-64-v3" },     /* sums in 64 lanes across outputs */
	{ "sum_63", "generic" },              /* one lane: a chain */
	{ "flat10007", "x86-64-v3" },         /* blocks that do not divide a map: the last one is shorter */
	{ "transpose", "x86-64-v4" },         /* whole lines: lanes outside, what lies side by side inside */
	{ "transpose_squares", "x86-64-v3" }, /* whole squares, turned in registers */
};

static const struct kernel_case *find(const char *name)
{
	for (int i = 0; i < kernel_case_count; i++)
		if (!strcmp(kernel_cases[i].name, name))
			return &kernel_cases[i];
	return NULL;
}

static int differs(struct build *build, const char *path, const struct text *text, bool update)
{
	FILE *file = fopen(path, update ? "wb" : "rb");
	if (!file)
		return printf("%s is not there\n", path), 1;
	if (update) {
		fwrite(text->at, 1, text->count, file);
		return fclose(file) != 0;
	}
	char *old = arena_alloc(build->arena, text->count + 2);
	size_t count = fread(old, 1, text->count + 1, file);
	fclose(file);
	if (count == text->count && !memcmp(old, text->at, count))
		return 0;
	printf("%s differs; it is now:\n%s", path, text->at);
	return 1;
}

int main(int argc, char **argv)
{
	struct build build;
	bool update = argc > 2 && !strcmp(argv[2], "--update");
	volatile int failed = 0;
	build_init(&build);
	if (argc < 2)
		return 2;
	if (BUILD_TRY(&build))
		for (size_t i = 0; i < COUNT(chosen); i++) {
			const struct kernel_case *one = find(chosen[i][0]);
			if (!one)
				fail(&build, EXIT_USAGE, NULL, "no case %s", chosen[i][0]);
			struct made made = { .program = program_new(&build, one->name), .arena = build.arena };
			struct text text;
			one->make(&made, one->n);
			struct kernel *kernel = kernel_of(&made, one->name);
			text_init(&text, &build);
			loops_finish(
			        &(struct lowered){ .arena = build.arena, .target = target_find(chosen[i][1]) }, kernel);
			loops_print_kernel(kernel, &text);
			failed += differs(&build,
			        arena_printf(build.arena, "%s/%s.%s.txt", argv[1], chosen[i][0], chosen[i][1]), &text,
			        update);
			text_release(&text);
		}
	else
		failed = printf("%s\n", build.message);
	build_release(&build);
	return failed != 0;
}
