/* test_passes.c: text in, a pass, text out. */
#include "unit.h"
#include "frontends/frontends.h"
#include "passes/passes.h"

#define HEADER "<\n\tir_version: 8,\n\topset_import: [\"\" : 17]\n>\n"

static struct graph *read(struct build *build, const char *text)
{
	return graph_read_memory(build, "test", text, strlen(text), NULL);
}

static void expect(struct build *build, const struct graph *graph, const char *wanted)
{
	struct text text;
	text_init(&text, build);
	graph_print(graph, -1, &text);
	assert_string_equal(text.at, wanted);
	text_release(&text);
}

static void constants(const char *before, const char *after)
{
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct graph *graph = read(&build, before);
		pass_constants(graph);
		graph_check(graph);
		expect(&build, graph, after);
	}
	assert_string_equal(build.message, "");
	build_release(&build);
}

static void constant_nodes_become_constants(void **state)
{
	(void)state;
	constants(HEADER "g (float[2] x) => (float[2] y) {\n"
	                 "a = Constant <value = float[2] named {1, 2}> ()  b = Constant <value_float = 3.0> ()\n"
	                 "c = Constant <value_ints = [4, 5]> ()  d = Constant <value_strings = [\"p\", \"q\"]> ()\n"
	                 "e = Constant <value_int = 6> () f = Constant <value_floats: floats = []> () h = Constant "
	                 "<value_string = \"r\"> ()\n"
	                 "y = Foo (x, a, b, c, d, e, f, h) }",
	        HEADER
	        "g (float[2] x) => (float[2] y)\n<\n\tfloat[2] a = {1.0, 2.0},\n\tfloat b = {3.0},\n\tint64[2] c = {4, "
	        "5},\n"
	        "\tstring[2] d = {\"p\", \"q\"},\n\tint64 e = {6},\n\tfloat[0] f = {},\n\tstring h = {\"r\"}\n>\n{\n"
	        "\ty = Foo (x, a, b, c, d, e, f, h)\n}\n");
}

static void wrong_constants_are_refused(void **state)
{
	(void)state;
	static const char *const wrong[] = { "y = Constant ()", "y = Constant <value_int = 1> (x)",
		"y, z = Constant <value_int = 1> ()", "y = Constant <value_int = 1, value_float = 2.0> ()",
		"\"\", y = Constant <value_int = 1> ()" };
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct build build;
		build_init(&build);
		if (BUILD_TRY(&build))
			pass_constants(read(
			        &build, arena_printf(build.arena, "%sg (float[2] x) => (y) { %s }", HEADER, wrong[i])));
		assert_string_equal(
		        build.message, "test: node #0 (Constant): must have one value, one output and no input");
		build_release(&build);
	}
}

static void identities_vanish(void **state)
{
	(void)state;
	constants(HEADER "g (float[2] x) => (float[2] y, float[2] z, float[2] w) {\n"
	                 "a = Identity (x)  b = Identity (a)  c = Relu (b)  y = Identity (c)  z = Identity (y)  w = "
	                 "Identity (b)\n"
	                 "}",
	        /* y takes the place of c; z is a copy of an output, w of an input: they stay. */
	        HEADER "g (float[2] x) => (float[2] y, float[2] z, float[2] w)\n{\n"
	               "\ty = Relu (x)\n\tz = Identity (y)\n\tw = Identity (x)\n}\n");
}

static void what_nobody_needs_goes(void **state)
{
	(void)state;
	constants(HEADER
	        "g (float[2] x, float[2] unused) => (float[2] y)\n<float[1] lost = {1}, float[1] kept = {2}>\n{\n"
	        "a = Relu (x)  b = Add (a, lost)  y, mask = Dropout (x, kept)  c = Identity (b) }",
	        HEADER "g (float[2] x, float[2] unused) => (float[2] y)\n<\n\tfloat[1] kept = {2.0}\n>\n{\n"
	               "\ty, mask = Dropout (x, kept)\n}\n");
}

static void subgraphs_are_seen(void **state)
{
	(void)state;
	constants(HEADER "g (bool p, float[2] x) => (float[2] y) {\n"
	                 "a = Relu (x)  b = Identity (a)  u = Neg (x)  v = Neg (x)\n"
	                 "y = If (p) <then_branch = t () => (q) { c = Constant <value_float = 1.0> ()  d = Identity "
	                 "(b)  e = Neg (v)\n"
	                 "q = Add (d, c) }, else_branch = e () => (r) { r = Identity (u) }> }",
	        HEADER "g (bool p, float[2] x) => (float[2] y)\n{\n\ta = Relu (x)\n\tu = Neg (x)\n"
	               "\ty = If (p) <then_branch = t () => (q)\n\t\t<\n\t\t\tfloat c = {1.0}\n\t\t>\n\t\t{\n\t\t\tq = "
	               "Add (a, c)\n\t\t}, "
	               "else_branch = e () => (r)\n\t\t{\n\t\t\tr = Identity (u)\n\t\t}>\n}\n");
}

/* ---- dims ---- */
static const char *const dynamic = HEADER "g (float[N,\"a b\",3] x, float[N,?] z) => (float[N,M] y)\n"
                                          "{ a = Relu (x)  y = Foo (a, z) }";

static void dims_are_bound(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	struct graph *graph = read(&build, dynamic);
	const struct binding bindings[] = { binding_parse(&build, "N=4"), binding_parse(&build, "a b=5"),
		binding_parse(&build, "z:1=6") };
	pass_bind(graph, bindings, 3);
	pass_bound(graph);
	expect(&build, graph,
	        HEADER "g (float[4,5,3] x, float[4,6] z) => (float[4,M] y)\n{\n\ta = Relu (x)\n\ty = Foo (a, z)\n}\n");
	/* By the places of N and "a b": the symbols are bound, wherever they stand. */
	graph = read(&build, dynamic);
	pass_bind(graph,
	        (const struct binding[]){ binding_parse(&build, "z:0=4"), binding_parse(&build, "x:1=5"),
	                binding_parse(&build, "z:1=6") },
	        3);
	pass_bound(graph);
	expect(&build, graph,
	        HEADER "g (float[4,5,3] x, float[4,6] z) => (float[4,M] y)\n{\n\ta = Relu (x)\n\ty = Foo (a, z)\n}\n");
	graph = read(&build, dynamic);
	pass_bind_input(graph, graph->inputs.at[0], 3, (const int64_t[]){ 1, 2, 3 });
	pass_bind_input(graph, graph->inputs.at[1], 2, (const int64_t[]){ 1, 7 });
	pass_bound(graph);
	expect(&build, graph,
	        HEADER "g (float[1,2,3] x, float[1,7] z) => (float[1,M] y)\n{\n\ta = Relu (x)\n\ty = Foo (a, z)\n}\n");
	build_release(&build);
}

static void refused(const char *const options[3], const int64_t *shape, const char *message)
{
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct binding bindings[3];
		int n = 0;
		struct graph *graph = read(&build, dynamic);
		for (; n < 3 && options[n]; n++)
			bindings[n] = binding_parse(&build, options[n]);
		pass_bind(graph, bindings, n);
		if (shape)
			pass_bind_input(graph, graph->inputs.at[0], 3, shape);
		pass_bound(graph);
	}
	assert_string_equal(build.message, message);
	assert_int_equal(build.code, EXIT_USAGE);
	build_release(&build);
}

static void wrong_dims_are_refused(void **state)
{
	(void)state;
	refused((const char *const[3]){ "N=1" }, NULL,
	        "test: dim 1 of input x, dim 1 of input z are not bound: give their extents, as in --dim 'a b=1' --dim "
	        "z:1=1");
	refused((const char *const[3]){ "N=1", "a b=1" }, NULL,
	        "test: dim 1 of input z is not bound: give its extent, as in --dim z:1=1");
	refused((const char *const[3]){ "K=1" }, NULL,
	        "test: --dim K: no input has a dim of that name; known are: N, a b, z:1, M");
	refused((const char *const[3]){ "N=1", "N=2" }, NULL, "--dim N is given twice, with 1 and 2");
	refused((const char *const[3]){ "N=1", "x:0=2" }, NULL, "--dim N is given twice, with 1 and 2");
	refused((const char *const[3]){ "N" }, NULL, "--dim N: must be NAME=VALUE, as in --dim N=1");
	refused((const char *const[3]){ "N=-1" }, NULL, "--dim N=-1: must be NAME=VALUE, as in --dim N=1");
	refused((const char *const[3]){ "N=1x" }, NULL, "--dim N=1x: the value must be one number of at most 64 bits");
	refused((const char *const[3]){ "N=5..3" }, NULL,
	        "--dim N=5..3: a range must be LEAST..MOST, as in --dim N=1..32");
	refused((const char *const[3]){ "N=1..x" }, NULL,
	        "--dim N=1..x: the value must be one number of at most 64 bits");
	refused((const char *const[3]){ "N=99999999999999999999" }, NULL,
	        "--dim N=99999999999999999999: the value must be one number of at most 64 bits");
	refused((const char *const[3]){ "N=1" }, (const int64_t[]){ 2, 2, 3 },
	        "test: dim 0 of input x is 1 by N, not 2");
	refused((const char *const[3]){ NULL }, (const int64_t[]){ 2, 2, 4 }, "test: dim 2 of input x is 3, not 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constant_nodes_become_constants),
		cmocka_unit_test(wrong_constants_are_refused),
		cmocka_unit_test(identities_vanish),
		cmocka_unit_test(what_nobody_needs_goes),
		cmocka_unit_test(subgraphs_are_seen),
		cmocka_unit_test(dims_are_bound),
		cmocka_unit_test(wrong_dims_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
