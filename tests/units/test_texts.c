/* test_texts.c: operators that are texts: each text is in the program and compiles; what it refuses names the user's
 * node; a folder of one's own comes first, and texts that expand without end do not. */
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/embedded.h"
#include "frontends/frontends.h"
#include "ingot/template.h"
#include "ops/ops.h"
#include "passes/passes.h"

static void bodies_compile(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct environment *environment =
		        environment_new(&build, build.arena, &template_settings_kernels, load_embedded, NULL);
		for (int i = 0; i < op_count; i++)
			if (ops[i].text) {
				assert_non_null(embedded_find(ops[i].text));
				assert_true(!ops[i].infer && ops[i].least <= ops[i].most && ops[i].outs > 0);
				template_compile(environment, ops[i].text);
			}
	}
	assert_string_equal(build.message, "");
	build_release(&build);
}

/* What inference says of a graph of opset `version` with these inputs and this node, and the exit code; the number of
 * nodes it leaves. */
static enum exit_code infer(
        const char *inputs, const char *node, int version, const char *templates, char *message, size_t *nodes)
{
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		const char *text = arena_printf(build.arena,
		        "<ir_version: 10, opset_import: [\"\" : %d, \"ai.onnx.preview.training\" : 1]> g (%s) => (y) { "
		        "[mine] y = %s }",
		        version, inputs, node);
		struct graph *graph = graph_read_memory(&build, "t", text, strlen(text), NULL);
		graph->templates = templates;
		pass_infer(graph);
		graph_check(graph);
		*nodes = graph->nodes.count;
	}
	enum exit_code code = build.code;
	snprintf(message, 1024, "%s", build.message);
	build_release(&build);
	return code;
}

/* The message begins with the user's node, whatever stands inside its text. */
static const struct {
	int version;
	const char *inputs, *node, *message;
} refused[] = {
	{ 17, "float[2,3] x, float[3] s, float[3] b", "InstanceNormalization (x, s, b)",
	        "input 0 has 2 dimensions, 3 or more are right" },
	{ 17, "float[2,3,4] x, float[2] s, float[3] b", "InstanceNormalization (x, s, b)",
	        "scale [2] and bias [3] are for other than 3 channels" },
	{ 17, "float[2,3,4] x, float[3] s, float[3] b", "InstanceNormalization (x, s)",
	        "InstanceNormalization lacks input 2 of at least 3" },
	{ 17, "float[2,3,4] x, float[3] s, float[3] b", "InstanceNormalization <axis = 1> (x, s, b)",
	        "InstanceNormalization of opset 17 has no attribute \"axis\"" },
	{ 21, "float[2,3,4] x, float[3] s, float[3] b", "GroupNormalization <num_groups = 2> (x, s, b)",
	        "num_groups 2 does not divide 3 channels" },
	{ 27, "float[1,2,4] x", "LinearAttention <q_num_heads = 2, kv_num_heads = 2> (x, x, x)",
	        "update_rule gated_delta needs decay" },
	{ 27, "float[1,2,4] x",
	        "LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\"> (x, x, x, , x)",
	        "update_rule linear has no decay" },
	{ 27, "float[1,2,4] x",
	        "LinearAttention <q_num_heads = 3, kv_num_heads = 2, update_rule = \"linear\"> (x, x, x)",
	        "3 heads of q over 2 of k and v" },
	{ 27, "float[1,2,4] x, float[1,3,4] k",
	        "LinearAttention <q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\"> (x, k, x)",
	        "q [1, 2, 4], k [1, 3, 4] and v [1, 2, 4] do not fit" },
	{ 22, "float[2,3] x", "LpNormalization <axis = 2> (x)", "axis 2 of 2 dimensions, [-2, 2) is right" },
	{ 22, "float[2,3] x", "LpNormalization <p = 3> (x)", "p is 3, 1 or 2 is right" },
	{ 24, "float[1,2,4,6] q, float[1,2,4,6] m", "Attention (q, q, q, m)",
	        "the mask [1, 2, 4, 6] is not for 4 keys" },
	{ 24, "float[1,2,4,6] q, float[1,1,3,4] m", "Attention (q, q, q, m)",
	        "Add: 4 and 3 in dimension 2 do not broadcast" },
	{ 24, "float[2,4,6] q", "Attention (q, q, q)", "inputs of 3 dimensions need q_num_heads and kv_num_heads" },
	{ 22, "float[1,2,4,6] q", "Attention (q, q, q)", "Attention came with opset 23, the model imports 22" },
	{ 24, "int64[1,2,3,4] q", "Attention (q, q, q)",
	        "Attention of opset 24: input 0 is int64, one of float, float16, double, bfloat16 is right" },
	{ 13, "float[1,4,2,2] x", "DepthToSpace <blocksize = 4000000000> (x)",
	        "blocksize 4000000000 does not fit 4 channels" },
	{ 13, "float[1,4,2,2] x", "Hardmax <axis = 4> (x)", "axis 4 of 4 dimensions, [-4, 4) is right" },
	{ 13, "float[2,3] x, int64[3] t", "NegativeLogLikelihoodLoss (x, t)", "target [3], [2] is right" },
	{ 13, "float[2,3] x, int64[2] t", "SoftmaxCrossEntropyLoss <reduction = \"x\"> (x, t)",
	        "reduction is x; none, sum or mean is right" },
	{ 17, "float[1,8,3] x, int64 s = {2}", "STFT (x, s)", "signal [1, 8, 3], [batch, length, 1 or 2] is right" },
	{ 22, "float[2,3] x", "Det (x)", "input 0 is [2, 3], square matrices are right" },
	{ 10, "uint8[2,3] a, float s, int8 z", "QLinearMatMul (a, s, z, a, s, z, s, z)",
	        "QLinearMatMul: input 2 is int8, uint8 is right" },
	{ 10, "float[1,1,2,2] x, float[4] s", "Upsample (x, s)", "Upsample is gone from opset 10 on: Resize is right" },
	{ 27, "float[1,2,4] x, float[3,1,2] w", "CausalConvWithState (x, w)",
	        "weights [3, 1, 2] are for other than 2 channels" },
	{ 24, "float[1,3,4,6] q, float[1,2,4,6] k", "Attention (q, k, k)", "3 heads of q over 2 of k and v" },
};

static void refusals_name_the_node(void **state)
{
	(void)state;
	char message[1024], *type;
	size_t nodes;
	for (size_t i = 0; i < COUNT(refused); i++) {
		enum exit_code code =
		        infer(refused[i].inputs, refused[i].node, refused[i].version, NULL, message, &nodes);
		if (code != EXIT_INVALID || strncmp(message, "t: node mine (", 14) || !(type = strstr(message, "): "))
		        || strcmp(type + 3, refused[i].message)) {
			print_error("%s: exit %d: %s\n", refused[i].node, code, message);
			assert_true(false);
		}
	}
}

static char *folder_of_own(const char *text)
{
	static char folder[64], path[128];
	snprintf(folder, sizeof folder, "/tmp/ingot-texts-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/onnx", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/onnx/LpNormalization.jinja", folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	return folder;
}

static void folder_remove(const char *folder)
{
	char path[128];
	snprintf(path, sizeof path, "%s/onnx/LpNormalization.jinja", folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/onnx", folder);
	rmdir(path);
	rmdir(folder);
}

static void own_texts_come_first(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum exit_code code;
		size_t nodes;
		const char *message;
	} cases[] = {
		{ "LpNormalization (x) => (y) { y = Abs (x) }", EXIT_RIGHT, 1, "" },
		{ "LpNormalization (x) => (y) { y = LpNormalization (x) }", EXIT_LIMIT, 0,
		        "t: node mine (LpNormalization): function bodies stand in each other deeper than 16: "
		        "onnx/LpNormalization.jinja" },
		{ "LpNormalization (x) => (y)\n{\n//% for i in range(300000)\n\ta{{ i }} = Abs (x)\n//% endfor\n\ty = "
		  "Abs (x)\n}\n",
		        EXIT_LIMIT, 0, NULL },
		{ "LpNormalization (x) => (y)\n{\n//% for i in range(30)\n\ta{{ i }} = LpNormalization (x)\n//% "
		  "endfor\n\ty = Abs (x)\n}\n",
		        EXIT_LIMIT, 0, NULL },
		{ "{{ 1 / 0 }}", EXIT_INVALID, 0,
		        "t: node mine (LpNormalization): onnx/LpNormalization.jinja:1:6: division by zero" },
		{ "LpNormalization (x) => (y) {", EXIT_INVALID, 0,
		        "t: node mine (LpNormalization): onnx/LpNormalization.jinja:1:29: a = belongs here, not the "
		        "end of the file" },
		{ "LpNormalization (x) => (y) { y = graph.other (x) }", EXIT_INVALID, 0,
		        "t: node mine (LpNormalization): has no attribute other that holds a graph" },
	};
	char message[1024];
	size_t nodes;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *folder = folder_of_own(cases[i].text);
		enum exit_code code = infer("float[2,3] x", "LpNormalization (x)", 22, folder, message, &nodes);
		folder_remove(folder);
		if (code != cases[i].code || (cases[i].nodes && nodes != cases[i].nodes)
		        || (cases[i].message && strcmp(message, cases[i].message))) {
			print_error("%s: exit %d, %zu nodes: %s\n", cases[i].text, code, nodes, message);
			assert_true(false);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_compile),
		cmocka_unit_test(refusals_name_the_node),
		cmocka_unit_test(own_texts_come_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
