/* test_fusion.c: how many kernels graphs become: what only moves is no kernel of its own, what follows a sum is in its kernel. */
#include "unit.h"
#include "pipeline.h"
#include <string.h>

#define HEADER "<\n\tir_version: 10,\n\topset_import: [\"\" : 24]\n>\n"

static size_t kernels_of(const char *text, const char *cpu, int64_t *blocks)
{
	struct build build;
	volatile size_t count = 0;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct options options = { .model = "test", .name = "test", .target = target_find(cpu), .threads = 1 };
		text = arena_printf(build.arena, "%s%s", HEADER, text);
		struct model *model = model_read_memory(&build, &options, text, strlen(text));
		model_prepare(model);
		model_define(model);
		model_lower(model);
		count = model->lowered->kernels.count;
		*blocks = model->lowered->kernels.at[0]->blocks;
	}
	assert_string_equal(build.message, "");
	build_release(&build);
	return count;
}

static const struct { const char *what, *text; } one[] = {
	{ "conv + bias + add + relu",
	  "g (float[1,8,6,6] x, float[1,16,6,6] skip, float[16,8,1,1] w, float[16] b) => (float[1,16,6,6] y)\n"
	  "{ c = Conv (x, w, b)  s = Add (c, skip)  y = Relu (s) }" },
	{ "a pooling between transposes",
	  "g (float[1,12,12,16] x) => (float[1,6,6,16] y) { i = Transpose <perm = [0, 3, 1, 2]> (x)\n"
	  "t = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (i)  y = Transpose <perm = [0, 2, 3, 1]> (t) }" },
	{ "a pooling, a transpose and a map",
	  "g (float[1,12,12,16] x, float[6,6,16] add) => (float[6,6,16] y) { i = Transpose <perm = [0, 3, 1, 2]> (x)\n"
	  "t = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (i)  n = Transpose <perm = [0, 2, 3, 1]> (t)\n"
	  "f = Squeeze (n)  y = Add (f, add) }" },
	{ "the mean of an image, flattened",
	  "g (float[2,16,5,5] x) => (float[2,16] y) { m = GlobalAveragePool (x)  f = Flatten (m)  y = Relu (f) }" },
	{ "attention, written out",
	  "g (float[1,4,64,32] q, float[1,4,32,64] k, float[1,4,64,32] v, float[64,64] m) => (float[1,4,64,32] y)\n"
	  "{ s = MatMul (q, k)  t = Add (s, m)  p = Softmax (t)  y = MatMul (p, v) }" },
	{ "attention", "g (float[1,4,64,32] q, float[1,4,64,32] k, float[1,4,64,32] v) => (float[1,4,64,32] y) { y = Attention (q, k, v) }" },
	{ "attention with a mask added",
	  "g (float[1,4,64,32] q, float[1,4,64,32] k, float[1,4,64,32] v, float[64,64] m) => (float[1,4,64,32] y) { y = Attention <softcap = 20.0> (q, k, v, m) }" },
	{ "attention with a mask and causal",
	  "g (float[1,4,64,32] q, float[1,4,64,32] k, float[1,4,64,32] v, bool[1,4,64,64] m) => (float[1,4,64,32] y) { y = Attention <is_causal = 1> (q, k, v, m) }" },
	{ "attention of groups",
	  "g (float[1,8,64,32] q, float[1,2,64,32] k, float[1,2,64,32] v, bool[1,1,64,64] m) => (float[1,8,64,32] y) { y = Attention (q, k, v, m) }" },
	{ "softmax", "g (float[8,32] x) => (float[8,32] y) { y = Softmax (x) }" },
};

static void test_one_kernel(void **state)
{
	int64_t blocks;
	(void)state;
	for (size_t i = 0; i < COUNT(one); i++) {
		size_t count = kernels_of(one[i].text, "x86-64-v4", &blocks);
		if (count != 1)
			fprintf(stderr, "%s\n", one[i].what);
		assert_int_equal(count, 1);
	}
}

/* Rows of a window that slides by one run side by side: as many as registers allow, and only where the image's rows divide. */
static void test_rows_together(void **state)
{
	static const struct { int rows; const char *cpu; int64_t blocks; } cases[] = {
		{ 24, "x86-64-v4", 6 }, { 24, "x86-64-v3", 12 }, { 25, "x86-64-v4", 5 }, { 23, "x86-64-v4", 23 }, { 24, "generic", 24 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[512];
		int64_t blocks;
		snprintf(text, sizeof text, "g (float[1,%d,24,32] x) => (float[1,%d,24,32] y) { i = Transpose <perm = [0, 3, 1, 2]> (x)\n"
			"t = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (i)  y = Transpose <perm = [0, 2, 3, 1]> (t) }", cases[i].rows, cases[i].rows);
		assert_int_equal(kernels_of(text, cases[i].cpu, &blocks), 1);
		assert_int_equal(blocks, cases[i].blocks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_kernel), cmocka_unit_test(test_rows_together) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
