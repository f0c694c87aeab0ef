/* test_text.c: ONNX text that is wrong, and the message it must give; functions that cannot be inlined. */
#include "unit.h"
#include "frontends/frontends.h"

#define HEADER "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define GRAPH HEADER "g (float[2] x) => (float[2] y) "
#define F "\n<domain: \"\", opset_import: [\"\" : 17]>\n"

static const struct {
	const char *text;
	enum exit_code code;
	const char *message;
} bad[] = {
	{ "<ir_version: 8>", EXIT_INVALID, "t: opset_import is missing" },
	{ "<opset_import: [\"\" : 17]> g () => (y) {}", EXIT_INVALID, "t: ir_version is missing or below 1" },
	{ "<ir_version: 99, opset_import: [\"\" : 17]> g () => (y) {}", EXIT_UNSUPPORTED,
	        "t: ir_version 99 is newer than 14, the newest known" },
	{ "<ir_version: 8, opset_import: [\"\" : 99]> g () => (y) {}", EXIT_UNSUPPORTED,
	        "t: opset 99 is newer than 28, the newest known" },
	{ "<ir_version: 8, colour: \"red\">", EXIT_INVALID,
	        "t:1:17: a key of the header belongs here, not \"colour: \"red\">\"" },
	{ HEADER "g (float[2] x) = (y) {}", EXIT_INVALID, "t:2:18: a > belongs here, not \"(y) {}\"" },
	{ HEADER "g (float[2 x) => (y) {}", EXIT_INVALID, "t:2:12: a ] belongs here, not \"x) => (y) {}\"" },
	{ HEADER "g (float[-2] x) => (y) {}", EXIT_INVALID,
	        "t:2:10: an extent from 0 on belongs here, not \"-2] x) => (y) {}\"" },
	{ HEADER "g (float[99999999999999999999] x) => (y) {}", EXIT_INVALID,
	        "t:2:10: an integer of 64 bits belongs here, not \"99999999999999999999\"" },
	{ HEADER "g (float[4611686018427387904,4] x) => (x) {}", EXIT_LIMIT,
	        "t: tensor x: more elements than 64 bits count" },
	{ HEADER "g (map(int64, seq(float)) x) => (y) {}", EXIT_UNSUPPORTED,
	        "t: input x: is of type map(int64, seq(float)); only tensors, sequences of them and optionals of both "
	        "go in "
	        "and out" },
	{ HEADER "g (seq(seq(float)) x) => (y) {}", EXIT_UNSUPPORTED,
	        "t: input x: is of type seq(seq(float)); only tensors, sequences of them and optionals of both go in "
	        "and out" },
	{ HEADER "g (seq(optional(float)) x) => (y) {}", EXIT_UNSUPPORTED,
	        "t: input x: is of type seq(optional(float)); only tensors, sequences of them and optionals of both go "
	        "in and out" },
	{ HEADER "g (seq(float[2]) x = {1, 2}) => (y) {}", EXIT_INVALID,
	        "t: initialiser x: a constant needs an element type and a shape of numbers" },
	{ HEADER "g (seq(float[2] x) => (y) {}", EXIT_INVALID, "t:2:17: a ) belongs here, not \"x) => (y) {}\"" },
	{ HEADER "g (float[2] x, float[2] x) => (x) {}", EXIT_INVALID, "t: input x: is there twice" },
	{ HEADER "g (x) => (x) {}", EXIT_INVALID, "t: input x: has no element type" },
	{ HEADER "g (float[2] x) => (x, x) {}", EXIT_INVALID, "t: output x: is there twice" },
	{ HEADER "g (float[2] x) => () { y = Relu (x) }", EXIT_INVALID, "t: the graph has no output" },
	{ GRAPH "{ y = Relu (z) }", EXIT_INVALID, "t: node #0 (Relu): z is used, but nothing makes it" },
	{ GRAPH "{ x = Relu (x)  y = Relu (x) }", EXIT_INVALID,
	        "t: node #0 (Relu): output x is already an input of the graph" },
	{ GRAPH "{ y = Relu (x)  [b] y = Relu (x) }", EXIT_INVALID,
	        "t: node b (Relu): output y is already the output of another node" },
	{ GRAPH "{ y = Relu (z)  z = Relu (y) }", EXIT_INVALID,
	        "t: node #0 (Relu): needs what it makes itself, directly or by others" },
	{ GRAPH "{ \"\" = Relu (x)  y = Relu (x) }", EXIT_INVALID, "t: node #0 (Relu): makes no output" },
	{ GRAPH "{ y = com.Relu (x) }", EXIT_INVALID, "t: node #0 (Relu): its domain \"com\" is not in opset_import" },
	{ GRAPH "{ y = Relu <a = 1, a = 2> (x) }", EXIT_INVALID, "t: node #0 (Relu): attribute a is there twice" },
	{ GRAPH "{ y = Relu <a: int = 1.5> (x) }", EXIT_INVALID,
	        "t:2:56: the value of an attribute is not of the kind that was said before" },
	{ GRAPH "{ y = Relu <a = [1, \"b\"]> (x) }", EXIT_INVALID,
	        "t:2:55: the value of an attribute is not of the kind that was said before" },
	{ GRAPH "{ y = Relu <a = []> (x) }", EXIT_INVALID,
	        "t:2:50: an empty list must say of what, as in name: ints = []" },
	{ GRAPH "{ y = Relu <a = @b> (x) }", EXIT_INVALID,
	        "t: node #0 (Relu): attribute a refers to b, outside of a function" },
	{ GRAPH "{ y = Relu <a = \"b> (x) }", EXIT_INVALID,
	        "t:2:48: a string that ends belongs here, not \"\"b> (x) }\"" },
	{ GRAPH "{ y = Relu <a = 1x> (x) }", EXIT_INVALID, "t:2:49: a > belongs here, not \"x> (x) }\"" },
	{ GRAPH "{ y = Relu (x) } junk", EXIT_INVALID, "t:2:49: a < belongs here, not \"junk\"" },
	{ GRAPH "{ y = Relu (x)", EXIT_INVALID, "t:2:46: a = belongs here, not the end of the file" },
	{ GRAPH "<float[2] w = {1}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: holds fewer than its 2 elements" },
	{ GRAPH "<float[2] w = {1, 2, 3}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: holds more than its 2 elements" },
	{ GRAPH "<float[1000000000000] w = {1}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: holds fewer than its 1000000000000 elements" },
	{ GRAPH "<int8[1] w = {256}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: element 0 does not fit int8: 256" },
	{ GRAPH "<uint2[1] w = {5}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: element 0 does not fit uint2: 5" },
	{ GRAPH "<bool[1] w = {2}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: element 0 of a bool tensor is 2" },
	{ GRAPH "<float[N] w = {1}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: a constant needs an element type and a shape of numbers" },
	{ GRAPH "<float[2] w = {1, 2}, float[2] w = {1, 2}> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: is there twice" },
	{ HEADER "g (float[3] w = {1}) => (w) {}", EXIT_INVALID, "t: initialiser w: holds fewer than its 3 elements" },
	{ GRAPH "<float[2] w = [\"location\": \"a.bin\"]> { y = Add (x, w) }", EXIT_INVALID,
	        "t: initialiser w: external data \"a.bin\" is not read, as the model did not come from a file" },
	/* functions */
	{ GRAPH "{ y = F (x) }" F "F (a) => (b) { b = F (a) }", EXIT_INVALID,
	        "t: node #0 (F): function F calls itself" },
	{ GRAPH "{ y = F (x) }" F "F (a) => (b) { b = G (a) }" F "G (a) => (b) { c = F (a)  b = Relu (c) }",
	        EXIT_INVALID, "t: node #0 (F): function F calls itself" },
	{ GRAPH "{ y = F (x) }" F "F (a) => (b) { b = If (a) <then_branch = t () => (q) { q = F (a) }> }", EXIT_INVALID,
	        "t: node #0 (F): function F calls itself" },
	{ GRAPH "{ y = F (x, x) }" F "F (a) => (b) { b = Relu (a) }", EXIT_INVALID,
	        "t: node #0 (F): function F has 1 inputs and 1 outputs, not 2 and 1" },
	{ GRAPH "{ y = F () }" F "F (a) => (b) { b = Identity (a) }" F "F (a) => (b) { b = Relu (a) }", EXIT_INVALID,
	        "t: function F: is there twice" },
	{ GRAPH "{ y = F (x) }" F "F (a) => (b) { b = Relu (c) }", EXIT_INVALID,
	        "t: node #0 (Relu): c is used, but nothing makes it" },
	{ GRAPH "{ y = F <k = 1> (x) }" F "F <k> (a) => (b) { b = Elu <alpha: float = @k> (a) }", EXIT_INVALID,
	        "t: node #0 (F): attribute k is of another type than function F wants" },
	{ GRAPH "{ y = F (\"\") }" F "F (a) => (a) { b = Relu (a) }", EXIT_INVALID,
	        "t: node #0 (F): hands on an input that it was not given" },
};

/* Reads; build->code tells. */
static void try_read(struct build *build, const char *text, size_t count)
{
	if (BUILD_TRY(build))
		graph_read_memory(build, "t", text, count, NULL);
}

static void wrong_text_is_refused(void **state)
{
	(void)state;
	int wrong = 0;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct build build;
		build_init(&build);
		try_read(&build, bad[i].text, strlen(bad[i].text));
		if (strcmp(build.message, bad[i].message) || build.code != bad[i].code) {
			print_error("%s\n  gives %d %s\n  not   %d %s\n", bad[i].text, build.code, build.message,
			        bad[i].code, bad[i].message);
			wrong++;
		}
		build_release(&build);
	}
	assert_int_equal(wrong, 0);
}

/* Each function calls the next twice: 2^30 nodes from a page of text. */
static void expansion_is_bounded(void **state)
{
	(void)state;
	struct build build;
	struct text text;
	build_init(&build);
	text_init(&text, &build);
	text_adds(&text, GRAPH "{ y = F0 (x) }");
	for (int i = 0; i < 30; i++)
		text_printf(&text, F "F%d (a) => (b) { t = F%d (a)  b = F%d (t) }", i, i + 1, i + 1);
	text_adds(&text, F "F30 (a) => (b) { b = Relu (a) }");
	try_read(&build, text.at, text.count);
	assert_int_equal(build.code, EXIT_LIMIT);
	text_release(&text);
	build_release(&build);
}

static void nesting_is_bounded(void **state)
{
	(void)state;
	static const struct {
		const char *open, *close;
	} nests[] = {
		{ "y = If (x) <then_branch = g () => (y) { ", " }>" },
		{ "y = Foo <a = seq(", ")> (x)" },
	};
	for (size_t i = 0; i < COUNT(nests); i++)
		for (int depth = 20; depth <= 20000; depth *= 1000) {
			struct build build;
			struct text text;
			build_init(&build);
			text_init(&text, &build);
			text_adds(&text, GRAPH "{ ");
			text_adds(&text, i ? "y = Foo <a = " : "");
			for (int k = 0; k < depth; k++)
				text_adds(&text, i ? "seq(" : nests[i].open);
			text_adds(&text, i ? "float" : "y = Relu (x)");
			for (int k = 0; k < depth; k++)
				text_adds(&text, i ? ")" : nests[i].close);
			text_adds(&text, i ? "> (x) }" : " }");
			try_read(&build, text.at, text.count);
			assert_int_equal(build.code, depth > 100 ? EXIT_LIMIT : EXIT_RIGHT);
			text_release(&text);
			build_release(&build);
		}
}

static void counts_are_bounded(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++)
		for (int count = 20; count <= 20000; count *= 1000) {
			struct build build;
			struct text text;
			build_init(&build);
			text_init(&text, &build);
			text_adds(&text, "<ir_version: 8, opset_import: [\"\" : 17");
			for (int i = 0; kind && i < count; i++)
				text_printf(&text, ", \"d%d\" : 1", i);
			text_adds(&text, "]> g (float[2] x) => (y) { y = Foo <z = 1");
			for (int i = 0; !kind && i < count; i++)
				text_printf(&text, ", a%d = 1", i);
			text_adds(&text, "> (x) }");
			try_read(&build, text.at, text.count);
			assert_int_equal(build.code, count > 100 ? EXIT_LIMIT : EXIT_RIGHT);
			text_release(&text);
			build_release(&build);
		}
}

/* A chain of 50000 nodes, last first: order is found without recursion and without trying all pairs. */
static void long_chains_are_sorted(void **state)
{
	(void)state;
	struct build build;
	struct text text;
	enum { N = 50000 };
	build_init(&build);
	text_init(&text, &build);
	text_adds(&text, HEADER "g (float[2] v0) => (v50000) {\n");
	for (int i = N; i > 0; i--)
		text_printf(&text, "v%d = Relu (v%d)\n", i, i - 1);
	text_adds(&text, "}");
	struct graph *graph = graph_read_memory(&build, "t", text.at, text.count, NULL);
	assert_int_equal(graph->nodes.count, N);
	assert_string_equal(graph->nodes.at[0]->out[0]->name, "v1");
	assert_string_equal(graph->nodes.at[N - 1]->out[0]->name, "v50000");
	text_release(&text);
	build_release(&build);
}

/* With every allocation failing in turn the reader ends with EXIT_LIMIT, and at last with a graph. */
static void memory_may_end_anywhere(void **state)
{
	(void)state;
	static const char text[] =
	        GRAPH "<float[2] w = {1, 2}> { t = F <k = 1.5> (x)  y = If (t) <then_branch = b () => (q) { q = Add "
	              "(x, w) }> }" F "F <k> (a) => (b) { b = Elu <alpha: float = @k> (a) }";
	long n = 1;
	for (bool done = false; !done; n++) {
		struct build build;
		build_init(&build);
		arena_fail_after(n);
		try_read(&build, text, sizeof text - 1);
		arena_fail_after(0);
		done = build.code == EXIT_RIGHT;
		assert_true(done || build.code == EXIT_LIMIT);
		build_release(&build);
	}
	assert_true(n > 20);
}

/* Floats print with the fewest digits that read back as the same bits. */
static void numbers_read_back(void **state)
{
	(void)state;
	struct build build;
	struct text text;
	uint32_t bits[3000];
	float values[COUNT(bits)];
	build_init(&build);
	for (size_t i = 0; i < COUNT(bits); i++) {
		bits[i] = (uint32_t)hash_bytes(&i, sizeof i, 1);
		if ((bits[i] & 0x7f800000) == 0x7f800000) /* infinities stay, NaN has one payload in text */
			bits[i] = (bits[i] & 0x80000000) | (i & 1 ? 0x7fc00000 : 0x7f800000);
	}
	bits[0] = 0x80000000;
	bits[1] = 1;
	bits[2] = 0x7f7fffff;
	bits[3] = 0xffc00000;
	bits[4] = 0x7f800000;
	memcpy(values, bits, sizeof bits);
	struct graph *graph =
	        graph_read_memory(&build, "t", GRAPH "{ y = Relu (x) }", strlen(GRAPH "{ y = Relu (x) }"), NULL);
	graph_constant(graph, "w", DTYPE_F32, 1, (const int64_t[]){ (int64_t)COUNT(bits) }, values);
	text_init(&text, &build);
	graph_print(graph, -1, &text);
	struct graph *again = graph_read_memory(&build, "t", text.at, text.count, NULL);
	assert_memory_equal(graph_tensor(again, graph->tensors.at[2]->name)->data, bits, sizeof bits);
	text_release(&text);
	build_release(&build);
}

/* What a name, a domain, a version or a number may be, and how it is said. */
static void awkward_things_print(void **state)
{
	(void)state;
	static const char before[] =
	        "<ir_version: 8, opset_import: [\"\" : 17, \"com.my-x\" : 2]> \"a b\" (float[\"N+1\",?,3] \"x:0\", "
	        "bool[] p) => (\"float\") {\n"
	        "[\"l\\\"1\\\\\"] \"\", t, \"\" = com.\"my-x\".\"Op 1\" (\"\", \"x:0\", \"\") u = Relu@6 (t)\n"
	        "v = Foo <f = 1, g: float = 2, h = [1, 2.5], i: strings = [], j = \"a\\\"b\", k: type_proto = "
	        "seq(map(int64, float)), "
	        "l = float {1e-45}, m = [-inf, nan, -0.0], n = [int8[2] {-1, 2}, uint4[3] {1, 2, 15}]> (u)\n"
	        "\"float\" = If (p) <then_branch = a () => (q) { q = Neg (v) }, else_branch = b () => (r) { r = Exp "
	        "(v) }> }";
	static const char after[] =
	        "<\n\tir_version: 8,\n\topset_import: [\"\" : 17, \"com.my-x\" : 2]\n>\n"
	        "\"a b\" (float[\"N+1\",?,3] \"x:0\", bool[] p) => (\"float\")\n{\n"
	        "\t[\"l\\\"1\\\\\"] \"\", t, \"\" = com.\"my-x\".\"Op 1\" (\"\", \"x:0\", \"\")\n\tu = Relu@6 (t)\n"
	        "\tv = Foo <f = 1, g = 2.0, h = [1.0, 2.5], i: strings = [], j = \"a\\\"b\", k: type_proto = "
	        "seq(map(int64, float)), "
	        "l = float {1.4013e-45}, m = [-inf, nan, -0.0], n: tensors = [int8[2] {-1, 2}, uint4[3] {1, 2, 15}]> "
	        "(u)\n"
	        "\t\"float\" = If (p) <then_branch = _nan () => (q)\n\t\t{\n\t\t\tq = Neg (v)\n\t\t}, else_branch = "
	        "no_id () => (r)\n"
	        "\t\t{\n\t\t\tr = Exp (v)\n\t\t}>\n}\n";
	struct build build;
	struct text text;
	build_init(&build);
	struct graph *graph = graph_read_memory(&build, "t", before, sizeof before - 1, NULL);
	/* From an .onnx file such names can come; in text a graph's is an identifier, and no number. */
	node_attribute(graph->nodes.at[3], "then_branch")->g->name = "nan";
	node_attribute(graph->nodes.at[3], "else_branch")->g->name = "no id";
	text_init(&text, &build);
	graph_print(graph, -1, &text);
	assert_string_equal(text.at, after);
	text_release(&text);
	build_release(&build);
}

/* For people: long constants by name, type and shape. */
static void long_constants_are_cut_off(void **state)
{
	(void)state;
	struct build build;
	struct text text;
	static const char model[] = GRAPH "<float[2] a = {1, 2}, float[3] b = {1, 2, 3}> { y = Foo <c = int8[3] {1, 2, "
	                                  "3}, d = int8[2] {1, 2}> (a, b) }";
	build_init(&build);
	text_init(&text, &build);
	graph_print(graph_read_memory(&build, "t", model, sizeof model - 1, NULL), 2, &text);
	assert_non_null(strstr(text.at,
	        "<\n\tfloat[2] a = {1.0, 2.0},\n\tfloat[3] b = {1.0, 2.0, …}\n>\n{\n\ty = Foo <c = int8[3] {1, 2, …}, "
	        "d = int8[2] {1, 2}> (a, b)"));
	text_release(&text);
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_text_is_refused),
		cmocka_unit_test(expansion_is_bounded),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(long_chains_are_sorted),
		cmocka_unit_test(counts_are_bounded),
		cmocka_unit_test(awkward_things_print),
		cmocka_unit_test(long_constants_are_cut_off),
		cmocka_unit_test(memory_may_end_anywhere),
		cmocka_unit_test(numbers_read_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
