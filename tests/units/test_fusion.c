/* test_fusion.c: how many kernels graphs become: what only moves is no kernel of its own, what follows a sum is in its
 * kernel; and which of them threads share. */
#include "unit.h"
#include "pipeline.h"
#include <string.h>

#define HEADER "<\n\tir_version: 10,\n\topset_import: [\"\" : 24]\n>\n"

static const struct lowered *lower_text(struct build *build, const char *text, const char *cpu, int threads)
{
	struct options *options = arena_new(build->arena, struct options);
	*options = (struct options){ .model = "test", .name = "test", .target = target_find(cpu), .threads = threads };
	text = arena_printf(build->arena, "%s%s", HEADER, text);
	struct model *model = model_read_memory(build, options, text, strlen(text));
	model_prepare(model);
	model_define(model);
	model_lower(model);
	return model->lowered;
}

/* parts: a digit for each kernel, how many threads share it; NULL: one thread. */
static size_t kernels_of(const char *text, const char *cpu, int64_t *blocks, char *parts)
{
	struct build build;
	volatile size_t count = 0;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		const struct lowered *lowered = lower_text(&build, text, cpu, parts ? 2 : 1);
		count = lowered->kernels.count;
		*blocks = lowered->kernels.at[0]->blocks;
		for (size_t k = 0; parts && k < count; k++)
			parts[k] =
			        (char)('0' + (lowered->kernels.at[k]->parts / kernel_pieces(lowered->kernels.at[k])));
	}
	assert_string_equal(build.message, "");
	build_release(&build);
	return count;
}

/* Do the kernels of these two definitions differ? */
static bool stand_apart(const char *text, const char *cpu, const char *first, const char *second)
{
	struct build build;
	const struct kernel *volatile of[2] = { NULL, NULL };
	build_init(&build);
	if (BUILD_TRY(&build)) {
		const struct lowered *lowered = lower_text(&build, text, cpu, 1);
		for (size_t i = 0; i < lowered->program->all.count; i++) {
			const struct definition *d = lowered->program->all.at[i];
			for (int k = 0; k < 2; k++)
				if (!strcmp(d->name, k ? second : first))
					of[k] = scheduled(d)->kernel;
		}
	}
	assert_string_equal(build.message, "");
	build_release(&build);
	return of[0] && of[1] && of[0] != of[1];
}

static const struct {
	const char *what, *text;
} one[] = {
	{ "conv + bias + add + relu",
	        "g (float[1,8,6,6] x, float[1,16,6,6] skip, float[16,8,1,1] w, float[16] b) => (float[1,16,6,6] y)\n"
	        "{ c = Conv (x, w, b)  s = Add (c, skip)  y = Relu (s) }" },
	{ "a pooling between transposes",
	        "g (float[1,12,12,16] x) => (float[1,6,6,16] y) { i = Transpose <perm = [0, 3, 1, 2]> (x)\n"
	        "t = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (i)  y = Transpose <perm = "
	        "[0, 2, 3, 1]> (t) }" },
	{ "a pooling, a transpose and a map",
	        "g (float[1,12,12,16] x, float[6,6,16] add) => (float[6,6,16] y) { i = Transpose <perm = [0, 3, 1, 2]> "
	        "(x)\n"
	        "t = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (i)  n = Transpose <perm = "
	        "[0, 2, 3, 1]> (t)\n"
	        "f = Squeeze (n)  y = Add (f, add) }" },
	{ "the mean of an image, flattened",
	        "g (float[2,16,5,5] x) => (float[2,16] y) { m = GlobalAveragePool (x)  f = Flatten (m)  y = Relu (f) "
	        "}" },
	{ "attention, written out",
	        "g (float[1,4,64,32] q, float[1,4,32,64] k, float[1,4,64,32] v, float[64,64] m) => (float[1,4,64,32] "
	        "y)\n"
	        "{ s = MatMul (q, k)  t = Add (s, m)  p = Softmax (t)  y = MatMul (p, v) }" },
	{ "attention",
	        "g (float[1,4,64,32] q, float[1,4,64,32] k, float[1,4,64,32] v) => (float[1,4,64,32] y) { y = "
	        "Attention (q, k, v) }" },
	{ "attention with a mask added",
	        "g (float[1,4,64,32] q, float[1,4,64,32] k, float[1,4,64,32] v, float[64,64] m) => (float[1,4,64,32] "
	        "y) { y = Attention <softcap = 20.0> (q, k, v, m) }" },
	{ "attention with a mask and causal",
	        "g (float[1,4,64,32] q, float[1,4,64,32] k, float[1,4,64,32] v, bool[1,4,64,64] m) => "
	        "(float[1,4,64,32] y) { y = Attention <is_causal = 1> (q, k, v, m) }" },
	{ "attention of groups",
	        "g (float[1,8,64,32] q, float[1,2,64,32] k, float[1,2,64,32] v, bool[1,1,64,64] m) => "
	        "(float[1,8,64,32] y) { y = Attention (q, k, v, m) }" },
	{ "attention of groups, side by side",
	        "g (float[1,64,256] q, float[1,64,64] k, float[1,64,64] v) => (float[1,64,256] y) { y = Attention "
	        "<is_causal = 1, q_num_heads = 8, kv_num_heads = 2> (q, k, v) }" },
	{ "attention of float16",
	        "g (float16[1,4,64,32] q, float16[1,4,64,32] k, float16[1,4,64,32] v) => (float16[1,4,64,32] y) { y = "
	        "Attention (q, k, v) }" },
	{ "attention of float16 in blocks of rows, with a mask",
	        "g (float16[1,2,200,32] q, float16[1,2,150,32] k, float16[1,2,150,32] v, bool[1,1,200,150] m) => "
	        "(float16[1,2,200,32] y) { y = Attention (q, k, v, m) }" },
	{ "attention of float16, written out",
	        "g (float16[1,4,64,32] q, float16[1,4,32,64] k, float16[1,4,64,32] v) => (float16[1,4,64,32] y) { s = "
	        "MatMul (q, k)  p = Softmax (s)  y = MatMul (p, v) }" },
	{ "softmax", "g (float[8,32] x) => (float[8,32] y) { y = Softmax (x) }" },
};

static void test_one_kernel(void **state)
{
	int64_t blocks;
	(void)state;
	for (size_t i = 0; i < COUNT(one); i++) {
		size_t count = kernels_of(one[i].text, "x86-64-v4", &blocks, NULL);
		if (count != 1)
			fprintf(stderr, "%s\n", one[i].what);
		assert_int_equal(count, 1);
	}
}

/* Rows of a window that slides by one run side by side: as many as registers allow, and only where the image's rows
 * divide. */
static void test_rows_together(void **state)
{
	static const struct {
		int rows;
		const char *cpu;
		int64_t blocks;
	} cases[] = {
		{ 24, "x86-64-v4", 6 },
		{ 24, "x86-64-v3", 12 },
		{ 25, "x86-64-v4", 5 },
		{ 23, "x86-64-v4", 23 },
		{ 24, "generic", 24 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[512];
		int64_t blocks;
		snprintf(text, sizeof text,
		        "g (float[1,%d,24,32] x) => (float[1,%d,24,32] y) { i = Transpose <perm = [0, 3, 1, 2]> (x)\n"
		        "t = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (i)  y = Transpose <perm = [0, 2, 3, "
		        "1]> (t) }",
		        cases[i].rows, cases[i].rows);
		assert_int_equal(kernels_of(text, cases[i].cpu, &blocks, NULL), 1);
		assert_int_equal(blocks, cases[i].blocks);
	}
}

/* Channels lie side by side between convolutions: what would make a picture of them a row of its own, a mean, a norm or
 * a larger picture, stays apart, so that no loop of a kernel runs along channels while its vectors would have to run
 * elsewhere. */
static const struct {
	const char *what, *text, *first, *second;
} apart[] = {
	{ "squeeze and excite",
	        "g (float[1,16,24,24] x, float[64,16,1,1] a, float[64,1,3,3] d, float[16,64,1,1] s, float[64,16,1,1] "
	        "e, float[16,64,1,1] o) => (float[1,16,24,24] y)\n"
	        "{ i = Conv (x, a)  w = Conv <group = 64, pads = [1, 1, 1, 1]> (i, d)  r = Relu (w)  m = "
	        "GlobalAveragePool (r)  q = Conv (m, s)  t = Relu (q)\n"
	        "u = Conv (t, e)  g = Sigmoid (u)  v = Mul (r, g)  y = Conv (v, o) }",
	        "r", "m" },
	{ "a larger picture, added",
	        "g (float[1,16,24,24] x, float[64,16,1,1] a, float[64,1,3,3] d, float[1,64,48,48] z, float[16,64,1,1] "
	        "o) => (float[1,16,48,48] y)\n"
	        "<float[4] f = {1, 1, 2, 2}> { i = Conv (x, a)  w = Conv <group = 64, pads = [1, 1, 1, 1]> (i, d)  r = "
	        "Resize <mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\",\n"
	        "nearest_mode = \"floor\"> (w, , f)  b = Add (r, z)  y = Conv (b, o) }",
	        "w", "b" },
};
static void test_pictures_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(apart); i++)
		assert_true(stand_apart(apart[i].text, "x86-64-v4", apart[i].first, apart[i].second));
}

/* What takes less than a fork and a join stays whole; so does what another core would have to send more for than it
 * saves, but not between kernels that are shared. */
static void test_shared(void **state)
{
	static const struct {
		const char *text, *parts;
	} cases[] = {
		{ "g (float[1,128] x, float[128,128] w) => (float[1,128] y) { y = MatMul (x, w) }", "1" },
		{ "g (float[1,640] x, float[640,512] w) => (float[1,512] y) { y = MatMul (x, w) }", "2" },
		{ "g (float[256,256] x, float[256,256] w) => (float[256,256] y) { y = MatMul (x, w) }", "2" },
		{ "g (float[64,64] x) => (float[64,64] y) { y = Relu (x) }", "1" },
		{ "g (float[1024,1024] x) => (float[1024,1024] y) { y = Relu (x) }", "2" },
		{ "g (float[1,640] x, float[640,512] w) => (float[1,512] z) { y = MatMul (x, w)  z = Softmax (y) }",
		        "21" },
		{ "g (float[32,128] s) => (float[32,128] e) { e = Softmax (s) }", "1" },
		{ "g (float[32,128] x, float[128,128] w) => (float[32,128] s, float[32,128] e) { s = MatMul (x, w)  e "
		  "= Softmax (s) }",
		        "22" },
		/* steps read slices: what those have, not the rest of the tensor, comes from the other core */
		{ "g (float[6,8,128] x, float[1,512,128] w, float[1,512,128] r) => (float[6,1,8,128] y) { y = LSTM "
		  "<hidden_size = 128> (x, w, r) }",
		        "2121212121211" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char parts[16] = "";
		int64_t blocks;
		kernels_of(cases[i].text, "x86-64-v4", &blocks, parts);
		assert_string_equal(parts, cases[i].parts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_kernel), cmocka_unit_test(test_rows_together),
		cmocka_unit_test(test_pictures_apart), cmocka_unit_test(test_shared) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
