/* test_control.c: nodes that hold graphs: what does not fit names the node; what has no end ends; what no round changes
 * is there once. */
#include "unit.h"
#include <stdio.h>
#include "frontends/frontends.h"
#include "ops/ops.h"
#include "kernels/kernels.h"
#include "loops/loops.h"
#include "passes/passes.h"

/* Inference and definition of a graph of opset `version`: the exit code and its message; how many nodes of a type are
 * left. */
static enum exit_code define(
        int version, const char *inputs, const char *nodes, char *message, const char *type, int *left)
{
	struct build build;
	build_init(&build);
	build.arena->limit = 544 << 20;
	if (BUILD_TRY(&build)) {
		const char *text = arena_printf(build.arena,
		        "<ir_version: 8, opset_import: [\"\" : %d, \"ingot\" : 1]> g (%s) => (y) { %s }", version,
		        inputs, nodes);
		struct graph *graph = graph_read_memory(&build, "t", text, strlen(text), NULL);
		graph_check(graph);
		pass_constants(graph);
		pass_infer(graph);
		graph_check(graph);
		for (size_t i = 0; left && i < graph->nodes.count; i++)
			*left += !strcmp(graph->nodes.at[i]->type, type);
		program_check(define_graph(graph));
	}
	enum exit_code code = build.code;
	snprintf(message, 1024, "%s", build.message);
	build_release(&build);
	return code;
}

#define M \
	"m = Constant <value = int64 {3}> () far = Constant <value = int64 {9223372036854775807}> () yes = Constant " \
	"<value = bool {1}> () "
static const struct {
	int version;
	const char *inputs, *nodes;
	enum exit_code code;
	const char *message;
} refused[] = {
	{ 17, "float c, float[2] x",
	        "y = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Abs (x) }>",
	        EXIT_INVALID, "t: node #0 (If): If of opset 17: input 0 is float, bool is right" },
	{ 17, "bool[2] c, float[2] x",
	        "y = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Abs (x) }>",
	        EXIT_INVALID, "t: node #0 (If): If: input 0, 'c', is a tensor of 1 dimension, a scalar is right" },
	{ 17, "bool c, float[2] x", "y = If (c) <then_branch = t () => (r) { r = Neg (x) }>", EXIT_INVALID,
	        "t: node #0 (If): If lacks the attribute \"else_branch\"" },
	{ 17, "bool c, float[2] x",
	        "y = If (c) <then_branch = t (float[2] a) => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Abs "
	        "(x) }>",
	        EXIT_INVALID, "t: node #0 (If): then_branch has 1 input, 0 are right" },
	{ 17, "bool c, float[2] x",
	        "y = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r, s) { r = Abs (x) s = "
	        "Neg (x) }>",
	        EXIT_INVALID, "t: node #0 (If): else_branch has 2 outputs, 1 is right" },
	{ 17, "bool c, float[2] x",
	        "y = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = Cast <to = 7> "
	        "(x) }>",
	        EXIT_INVALID,
	        "t: node #0 (If): output 0 (y) is float[2] in then_branch and int64[2] in else_branch, one type is "
	        "right" },
	{ 17, "bool c, float[2] x",
	        "y = If (c) <then_branch = t () => (r) { r = Neg (x) }, else_branch = e () => (r) { r = ReduceSum "
	        "<keepdims = 0> (x) }>",
	        EXIT_UNSUPPORTED,
	        "t: node #0 (If): output 0 (y) is float[2] in then_branch and float in else_branch; a number of "
	        "dimensions that the condition decides is not supported where that comes at "
	        "run time" },
	/* the node that an If becomes, as a file may write it */
	{ 17, "bool c, float[2] x, float[4] z", "\"\", k = ingot.Select (c, x, z) y = Neg (k)", EXIT_INVALID,
	        "t: node #0 (Select): Select lacks output 0" },
	{ 17, "bool c, float[2] x", "y, k = ingot.Select (c, x, x)", EXIT_INVALID,
	        "t: node #0 (Select): Select has 2 outputs, 1 is right" },
	{ 17, "bool c, float[2] x, float[2,2] z", "y = ingot.Select (c, x, z)", EXIT_UNSUPPORTED,
	        "t: node #0 (Select): float[2] in one case and float[2,2] in the other; a number of dimensions that "
	        "comes at run time is not supported" },
	{ 17, "float[2] x", "\"\", k = ingot.NonZero (x) y = Neg (k)", EXIT_INVALID,
	        "t: node #0 (NonZero): NonZero lacks output 0" },
	{ 17, "bool[2] c, float[2] x", "\"\", k = ingot.Compress (x, c) y = Neg (k)", EXIT_INVALID,
	        "t: node #0 (Compress): Compress lacks output 0" },
	/* what stands inside says so itself */
	{ 17, "bool c, float[2] x",
	        "y = If (c) <then_branch = t () => (r) { [inner] r = Concat (x) }, else_branch = e () => (r) { r = Abs "
	        "(x) }>",
	        EXIT_INVALID, "t: node inner (Concat): Concat lacks the attribute \"axis\"" },
	{ 17, "float[2] x",
	        M "y = Loop <body = b (int64 i, bool c, float[2] a) => (c, float[2] d) { d = Neg (a) }> (m, yes)",
	        EXIT_INVALID, "t: node #3 (Loop): body has 3 inputs, 2 are right" },
	{ 17, "float[2] x", M "y = Loop <body = b (int64 i, bool c, float[2] a) => (c) { }> (m, yes, x)", EXIT_INVALID,
	        "t: node #3 (Loop): body has 1 output, at least 2 are right" },
	{ 17, "float[2] x",
	        M "y, z = Loop <body = b (int64 i, bool c, float[2] a) => (c, float[2] d) { d = Neg (a) }> (m, yes, x)",
	        EXIT_INVALID, "t: node #3 (Loop): Loop has 2 outputs, the body makes 1" },
	{ 17, "float[2] x",
	        M "y = Loop <body = b (int64 i, bool c, int64[2] a) => (c, int64[2] d) { d = Neg (a) }> (m, yes, x)",
	        EXIT_INVALID, "t: node #3 (Loop): input a of the body is int64[2], but float[2] comes" },
	{ 17, "float[2] x",
	        M "y = Loop <body = b (int64 i, bool c, float a) => (c, float d) { d = Neg (a) }> (m, yes, x)",
	        EXIT_INVALID, "t: node #3 (Loop): input a of the body is float, but float[2] comes" },
	{ 17, "float[2] x",
	        M "y = Loop <body = b (int64 i, bool c, float[2] a) => (c, d) { d = Cast <to = 7> (a) }> (m, yes, x)",
	        EXIT_INVALID, "t: node #3 (Loop): the body is given a as float[2] and hands on int64[2]" },
	{ 17, "float[2] x",
	        M "y = Loop <body = b (int64 i, bool c, float[2] a) => (i, float[2] d) { d = Neg (a) }> (m, yes, x)",
	        EXIT_INVALID, "t: node #3 (Loop): the condition that the body hands on is int64, bool is right" },
	{ 17, "float[2] x, float k",
	        M "y = Loop <body = b (int64 i, bool c, float[2] a) => (c, float[2] d) { d = Neg (a) }> (k, yes, x)",
	        EXIT_INVALID, "t: node #3 (Loop): Loop of opset 17: input 0 is float, int64 is right" },
	{ 17, "float[2] x, int64 k",
	        M "y = Loop <body = b (int64 i, bool c, float[2] a) => (c, float[2] d) { d = RandomNormalLike (a) }> "
	          "(k, yes, x)",
	        EXIT_USAGE,
	        "t: node #3 (Loop): Loop: nothing bounds the rounds that input k says: use --dim k=0..MOST or --value "
	        "k=NUMBER" },
	{ 17, "float[2] x, bool k",
	        M
	        "z, y = Loop <body = b (int64 i, bool c, float[2] a) => (c, float[2] d, a) { d = Neg (a) }> (m, k, x)",
	        EXIT_UNSUPPORTED,
	        "t: node #3 (Loop): Loop: how many rounds there are comes at run time, and no declared shape says how "
	        "many an output stacks" },
	{ 17, "float[2] x, bool k",
	        M "y = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Concat <axis = 0> (a, a) }> (m, k, x)",
	        EXIT_UNSUPPORTED,
	        "t: node #3 (Loop): the body is given a as float[2] and hands on float[4]; a shape that the number of "
	        "rounds decides is not supported where that comes at run time" },
	{ 17, "float[2] x", M "y = Scan <num_scan_inputs = 1, body = b (float a) => (float d) { d = Neg (a) }> (x, x)",
	        EXIT_INVALID, "t: node #3 (Scan): body has 1 input, 2 are right" },
	{ 17, "float[2] x", M "y = Scan <num_scan_inputs = 2, body = b (float a) => (float d) { d = Neg (a) }> (x)",
	        EXIT_INVALID, "t: node #3 (Scan): Scan: num_scan_inputs is 2 of 1 inputs" },
	{ 17, "float[2] x", M "y = Scan <body = b (float a) => (float d) { d = Neg (a) }> (x)", EXIT_INVALID,
	        "t: node #3 (Scan): Scan lacks the attribute \"num_scan_inputs\"" },
	{ 17, "float[2] x, float[3] z",
	        M "y = Scan <num_scan_inputs = 2, body = b (float a, float b) => (float d) { d = Add (a, b) }> (x, z)",
	        EXIT_INVALID, "t: node #3 (Scan): Scan: x has 2 rounds, z has 3" },
	{ 17, "float[2] x",
	        M "y = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = b (float a) => (float d) { d = Neg (a) "
	          "}> (x)",
	        EXIT_INVALID, "t: node #3 (Scan): Scan: axis 1 of 1 dimensions, [-1, 1) is right" },
	{ 17, "float[2] x",
	        M "y = Scan <num_scan_inputs = 1, scan_input_axes = [0, 0], body = b (float a) => (float d) { d = Neg "
	          "(a) }> (x)",
	        EXIT_INVALID, "t: node #3 (Scan): scan_input_axes has 2 numbers, 1 is right" },
	{ 17, "float[2] x",
	        M "y = Scan <num_scan_inputs = 1, scan_output_directions = [2], body = b (float a) => (float d) { d = "
	          "Neg (a) }> (x)",
	        EXIT_INVALID,
	        "t: node #3 (Scan): scan_output_directions has a 2, 0 (forward) and 1 (backward) are right" },
	{ 17, "float[2] x, float s",
	        M "y = Scan <num_scan_inputs = 1, body = b (float s, float a) => (t) { t = Concat <axis = 0> (x, x) }> "
	          "(s, x)",
	        EXIT_INVALID, "t: node #3 (Scan): the body is given s as float and hands on float[4]" },
	{ 17, "float[5000] x",
	        M "y = Scan <num_scan_inputs = 1, body = b (float a) => (float d) { d = RandomNormalLike (a) }> (x)",
	        EXIT_LIMIT,
	        "t: node #3 (Scan): Scan: 5000 rounds, at most 4096 are supported (one after the other, since t: node "
	        "#3 (Scan): random numbers are drawn anew in each round)" },
	{ 8, "int64[1] l, float[1,3] x",
	        "y = Scan <num_scan_inputs = 1, body = b (float a) => (float d) { d = Neg (a) }> (l, x)",
	        EXIT_UNSUPPORTED,
	        "t: node #0 (Scan): Scan: sequences of other lengths than the tensor (sequence_lens) are not "
	        "supported" },
	/* our own node, written by somebody */
	{ 17, "float[2] x, float c",
	        "y = ingot.Repeat (x) <rounds = 3, going = -1, inputs = [1], outputs = [1], pairs = [0], body = b "
	        "(float[2] a) => (float[2] d) { d = Concat (a) }>",
	        EXIT_INVALID, "t: node #0 (Concat): Concat lacks the attribute \"axis\"" },
	{ 17, "float[2] x, float c",
	        "y = ingot.Repeat (x) <rounds = 3, going = -1, inputs = [1], outputs = [1], pairs = [0], body = b "
	        "(float[2] a) => (float[4] d) { d = Concat <axis = 0> (a, a) }>",
	        EXIT_INVALID, "t: node #0 (Repeat): what goes in and out does not fit the body" },
	{ 17, "float[2] x, float c",
	        "y = ingot.Repeat (x) <rounds = 3, going = 0, inputs = [1], outputs = [1], pairs = [0], body = b "
	        "(float[2] a) => (float[2] d) { d = Neg (a) }>",
	        EXIT_INVALID, "t: node #0 (Repeat): what goes in and out does not fit the body" },
	{ 17, "float[2] x, float c",
	        "y = ingot.Repeat (x) <rounds = 3, going = -1, inputs = [2], outputs = [2], pairs = [-1], body = b "
	        "(float a) => (float d) { d = Neg (a) }>",
	        EXIT_INVALID, "t: node #0 (Repeat): what goes in and out does not fit the body" },
	{ 17, "float[2] x, float c",
	        "y = ingot.Repeat (x) <rounds = 3, going = -1, inputs = [1], outputs = [2], pairs = [-1], body = b "
	        "(float[2] a) => (float[2] d) { d = Neg (a) }>",
	        EXIT_INVALID, "t: node #0 (Repeat): what goes in and out does not fit the body" },
	{ 17, "float[2] x, float c",
	        "y = ingot.Repeat (x) <rounds = 3, going = -1, inputs = [1], outputs = [1], pairs = [0], body = b "
	        "(float[2] a) => (float[2] d) { d = Add (a, c) }>",
	        EXIT_INVALID, "t: node #0 (Add): c has no value" },
	/* what has no end: conditions that stay true, by themselves or because numbers make them so; rounds of rounds;
	   shapes that grow */
	{ 17, "float[2] x",
	        "y = Loop <body = b (int64 i, bool c, float[2] a) => (c, float[2] d) { d = Neg (a) }> ( , , x)",
	        EXIT_LIMIT, "t: node #0 (Loop): Loop: more than 4096 rounds" },
	{ 17, "float[2] x",
	        M "y = Loop <body = b (int64 i, bool c, float[2] a) => (e, float[2] d) { d = RandomNormalLike (a) e = "
	          "Less (i, far) }> (far, yes, m3) three = Constant <value_float = 3.0> ()"
	          " shape = Shape (x) m3 = Expand (three, shape)",
	        EXIT_LIMIT, "t: node #3 (Loop): Loop: more than 4096 rounds" },
	{ 17, "float[2] x",
	        "k = Constant <value = int64 {4000}> () y = Loop <body = b (int64 i, bool c, float[2] a) => (c, "
	        "float[2] d) {"
	        " d = Loop <body = b (int64 j, bool e, float[2] f) => (e, float[2] g) { r = RandomNormalLike (f) g = "
	        "Add (a, r) }> (k, , a) }> (k, , x)",
	        EXIT_LIMIT, "t: node #0 (Loop): graphs of nodes expand to more than 1048576 nodes and operands" },
	{ 17, "float[2] x",
	        "y = Loop <body = b (int64 i, bool c, a) => (c, d) { [twice] d = Concat <axis = 0> (a, a) }> ( , , x)",
	        EXIT_LIMIT, "t: node twice (Concat): Concat: " },
	{ 17, "float[2] x",
	        "one = Constant <value_floats = [1.0, 2.0]> () y = Loop <body = b (int64 i, bool c, a) => (c, d) { "
	        "[twice] d = Concat <axis = 0> (a, a) }> ( , , one)",
	        EXIT_LIMIT, "t: node twice (Concat): Concat: " },
};

static void misfits_are_refused(void **state)
{
	char message[1024];
	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		enum exit_code code =
		        define(refused[i].version, refused[i].inputs, refused[i].nodes, message, NULL, NULL);
		if (code != refused[i].code || strncmp(message, refused[i].message, strlen(refused[i].message))) {
			print_error("%s\n  gives %d, %s\n  not   %d, %s\n", refused[i].nodes, code, message,
			        refused[i].code, refused[i].message);
			assert_true(false);
		}
	}
}

/* Names of the graph around and of other branches may be those of a branch; the branch that is not taken may hold what
 * ingot does not know. */
static void one_branch_is_left(void **state)
{
	char message[1024];
	int left = 0;
	(void)state;
	assert_int_equal(define(17, "float[2] x",
	                         "yes = Constant <value = bool {1}> () z = Neg (x) y = If (yes) <then_branch = t () => "
	                         "(z) { x = Abs (z2) z = Exp (x) }, "
	                         "else_branch = e () => (z) { z = Unheard (x) }> z2 = Neg (z)",
	                         message, "If", &left),
	        0);
	assert_string_equal(message, "");
	assert_int_equal(left, 0);
	assert_int_equal(define(17, "float[2] x, bool c",
	                         "y = If (c) <then_branch = t () => (z) { z = Exp (x) }, else_branch = e () => (z) { z "
	                         "= Unheard (x) }>",
	                         message, "If", &left),
	        EXIT_UNSUPPORTED);
	assert_string_equal(message, "t: node #0 (Unheard): op Unheard is not supported");
}

/* Of eight rounds: what they are given alone, nodes with weights, and graphs within, are there eight times; what
 * depends on nothing of it once; random numbers are new each time. */
static void what_stays_is_made_once(void **state)
{
	static const struct {
		const char *type;
		int left;
	} counts[] = { { "Exp", 1 }, { "Sin", 1 }, { "Transpose", 0 }, { "MatMul", 8 }, { "RandomNormalLike", 8 } };
	char message[1024];
	(void)state;
	for (size_t i = 0; i < COUNT(counts); i++) {
		int left = 0;
		assert_int_equal(
		        define(17, "float[8,2] x, float[2] s, bool c",
		                "w = Constant <value = float[2,2] {1, 2, 3, 4}> () y = Scan <num_scan_inputs = 1, body "
		                "= b (float[2] a, float[2] v) => (float[2] d) {"
		                " e = Exp (s) wt = Transpose (w) m = MatMul (a, wt) f = Add (m, e) g = If (c) "
		                "<then_branch = t () => (r) { r = Sin (e) }, else_branch = o () => (r) { r = Neg (s) }>"
		                " h = Add (f, g) n = RandomNormalLike (s) k = Add (h, n) d = Add (k, v) }> (s, x)",
		                message, counts[i].type, &left),
		        0);
		assert_string_equal(message, "");
		assert_int_equal(left, counts[i].left);
	}
}

/* Kernels of one branch alone run where it is taken, for the branches within branches where all are; what both need,
 * and what the select itself computes, always.  A GPU's all run. */
static void kernels_are_needed_where_a_branch_is(void **state)
{
	static const struct {
		const char *kernel;
		int conditions;
	} needs[] = { { "both", 0 }, { "one", 1 }, { "rows", 1 }, { "first", 2 }, { "second", 2 }, { "y", 0 } };
	static const char text[] =
	        "<ir_version: 8, opset_import: [\"\" : 17]> g (bool c, float limit, float[32,64] x, float[64,64] w) => "
	        "(float[32,64] y) {"
	        " both = MatMul (x, w) total = ReduceSum <keepdims = 0> (both) n = Less (total, limit)"
	        " y = If (c) <then_branch = t () => (r) { one = MatMul (both, w) e = Exp (one) rows = ReduceMax <axes "
	        "= [1]> (e) r = Sub (e, rows) },"
	        " else_branch = o () => (r) { r = If (n) <then_branch = t () => (r) { first = MatMul (both, w) r = "
	        "Tanh (first) }, else_branch = o () => (r) {"
	        " wt = Transpose (w) second = MatMul (both, wt) r = Neg (second) }> }> }";
	(void)state;
	for (volatile int gpu = 0; gpu < 2; gpu++) {
		struct build build;
		build_init(&build);
		build.check = true;
		if (BUILD_TRY(&build)) {
			struct graph *graph = graph_read_memory(&build, "t", text, strlen(text), NULL);
			graph_check(graph);
			pass_constants(graph);
			pass_infer(graph);
			pass_simplify(graph);
			graph_check(graph);
			const struct lowered *lowered = lower(define_graph(graph),
			        gpu ? &target_cuda : target_find("x86-64-v3"), OPTIMISE_SPEED, NULL, loops_finish);
			for (size_t i = 0; i < COUNT(needs); i++) {
				int found = 0, conditions = 0;
				for (size_t k = 0; k < lowered->kernels.count; k++)
					for (size_t m = 0; m < lowered->kernels.at[k]->members.count; m++) {
						const char *name = lowered->kernels.at[k]->members.at[m]->name;
						if (strncmp(name, needs[i].kernel, strlen(needs[i].kernel)))
							continue;
						found++;
						for (const struct branch *branch =
						                kernel_branch(lowered->kernels.at[k]);
						        branch; branch = branch->outer)
							conditions++;
					}
				if (!found || conditions != (gpu ? 0 : found * needs[i].conditions)) {
					print_error("%s: %d, %d conditions\n", needs[i].kernel, found, conditions);
					assert_true(false);
				}
			}
		}
		assert_string_equal(build.message, "");
		build_release(&build);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misfits_are_refused),
		cmocka_unit_test(one_branch_is_left),
		cmocka_unit_test(what_stays_is_made_once),
		cmocka_unit_test(kernels_are_needed_where_a_branch_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
