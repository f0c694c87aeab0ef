/* test_schedules.c: lower() leaves its program as it was: of one program there may be several schedules, and each is
 * what it would be alone. */
#include "unit.h"
#include "emit/emit.h"
#include "loops/loops.h"
#include "pipeline.h"
#include <string.h>

/* Something for every stage: an output that is an input, groups, Winograd, a pooling behind a convolution, a
 * transposition, rows, a product over them, and what is virtual. */
static const char text[] = "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                           "g (float[1,16,16,16] x, float[2,40,16] q) => (float[1,32,7,7] y, float[2,40,24] z, "
                           "float[1,16,16,16] x, float[16,16,16] t)\n"
                           "<int64[4] wide = {32, 16, 3, 3}, int64[4] narrow = {16, 4, 3, 3}, int64[3] keys = {2, 16, "
                           "48}, int64[3] values = {2, 48, 24}>\n"
                           "{\n"
                           "	w = ConstantOfShape <value = float[1] {0.25}> (wide)\n"
                           "	g = ConstantOfShape <value = float[1] {0.125}> (narrow)\n"
                           "	k = ConstantOfShape <value = float[1] {0.5}> (keys)\n"
                           "	v = ConstantOfShape <value = float[1] {1.5}> (values)\n"
                           "	groups = Conv <group = 4, pads = [1, 1, 1, 1]> (x, g)\n"
                           "	relu = Relu (groups)\n"
                           "	same = Conv <pads = [1, 1, 1, 1]> (relu, w)\n"
                           "	half = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (same)\n"
                           "	y = MaxPool <kernel_shape = [2, 2], strides = [1, 1]> (half)\n"
                           "	scores = MatMul (q, k)\n"
                           "	soft = Softmax (scores)\n"
                           "	z = MatMul (soft, v)\n"
                           "	flat = Squeeze (relu)\n"
                           "	twice = Add (flat, flat)\n"
                           "	t = Transpose <perm = [2, 0, 1]> (twice)\n"
                           "}\n";

struct schedule {
	const char *cpu;
	enum optimise optimise;
};
static const struct schedule schedules[] = {
	{ "x86-64-v4", OPTIMISE_SPEED },
	{ "cortex-m4", OPTIMISE_SPEED },
	{ "x86-64-v3", OPTIMISE_SIZE },
	{ "cuda", OPTIMISE_SPEED },
};

static struct model *defined(struct build *build, struct options *options)
{
	*options = (struct options){ .model = "test", .name = "test", .threads = 1 };
	struct model *model = model_read_memory(build, options, text, strlen(text));
	model_prepare(model);
	model_define(model);
	return model;
}

static const char *program_text(struct model *model)
{
	struct text out;
	text_init(&out, model->build);
	program_print(model->program, &out);
	text_addc(&out, '\0');
	return out.at;
}

static struct emit emit_of(struct model *model, const struct options *options)
{
	return (struct emit){ .build = model->build,
		.arena = model->build->arena,
		.target = options->target,
		.templates = model_templates(model),
		.name = "test" };
}

/* Kernels, plan, loops and all that a library would be printed from. */
static const char *lowered_text(struct model *model, struct options *options, const struct schedule *schedule)
{
	struct build *build = model->build;
	struct text out;
	text_init(&out, build);
	options->target = strcmp(schedule->cpu, "cuda") ? target_find(schedule->cpu) : &target_cuda;
	options->optimise = schedule->optimise;
	model_lower(model);
	model_print(model, "kernels", &out);
	model_print(model, "plan", &out);
	model_print(model, "loops", &out);
	struct emit emit = emit_of(model, options);
	for (size_t k = 0; k < model->lowered->kernels.count; k++)
		emit_kernel(&emit, model->lowered->kernels.at[k], &out);
	text_addc(&out, '\0');
	return out.at;
}

static void test_schedules(void **state)
{
	struct build build;
	(void)state;
	build_init(&build);
	build.check = true;
	if (BUILD_TRY(&build)) {
		struct options options, alone_options;
		struct model *shared = defined(&build, &options);
		const char *before = program_text(shared);
		assert_non_null(strstr(before, "same.u")); /* Winograd is there */
		for (int round = 0; round < 2; round++)
			for (size_t i = 0; i < COUNT(schedules); i++) {
				struct model *alone = defined(&build, &alone_options);
				const char *said = lowered_text(shared, &options, &schedules[i]);
				assert_string_equal(program_text(shared), before);
				assert_string_equal(said, lowered_text(alone, &alone_options, &schedules[i]));
				program_check(shared->program);
			}
	}
	assert_string_equal(build.message, "");
	build_release(&build);
}

/* Two schedules at once: making the second changes nothing of the first. */
static void test_side_by_side(void **state)
{
	struct build build;
	(void)state;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct options options;
		struct model *model = defined(&build, &options);
		struct text before, after;
		text_init(&before, &build);
		text_init(&after, &build);
		lowered_text(model, &options, &schedules[0]);
		struct lowered *first = model->lowered;
		kernels_print(first, &before);
		const char *said = lowered_text(model, &options, &schedules[3]);
		kernels_print(first, &after);
		assert_true(model->lowered != first && strcmp(said, before.at));
		assert_int_equal(before.count, after.count);
		assert_memory_equal(before.at, after.at, before.count);
	}
	assert_string_equal(build.message, "");
	build_release(&build);
}

static enum visit see_store(void *user, struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_STORE ? VISIT_END : VISIT_PARTS;
}
static bool is_store(const void *user, const struct stmt *stmt)
{
	(void)user;
	return stmt->kind == STMT_STORE;
}

/* Statements are built once: what a kernel keeps is what is printed, however often, and nothing makes it anew. */
static void test_statements_are_kept(void **state)
{
	struct build build;
	(void)state;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct options options;
		struct model *model = defined(&build, &options);
		int count = 0;
		for (size_t i = 0; i < COUNT(schedules); i++) {
			lowered_text(model, &options, &schedules[i]);
			struct emit emit = emit_of(model, &options);
			for (size_t k = 0; k < model->lowered->kernels.count; k++) {
				struct kernel *kernel = model->lowered->kernels.at[k];
				struct text text[3];
				if (!kernel->loops || !block_visit(&kernel->loops->body, see_store, NULL))
					continue;
				for (int t = 0; t < 3; t++) {
					text_init(&text[t], &build);
					if (t == 2)
						block_drop(&kernel->loops->body, is_store, NULL);
					loops_emit(&emit, kernel, &text[t]);
					loops_print_kernel(kernel, &text[t]);
				}
				assert_int_equal(text[0].count, text[1].count);
				assert_memory_equal(text[0].at, text[1].at, text[0].count);
				assert_true(text[2].count < text[1].count);
				count++;
			}
		}
		assert_true(count > 4);
	}
	assert_string_equal(build.message, "");
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_schedules), cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_statements_are_kept) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
