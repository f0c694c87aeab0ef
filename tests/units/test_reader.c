/* test_reader.c: what read_options and the header of a model decide; hints; defaults of inputs. */
#include "unit.h"
#include "frontends/frontends.h"

#define HEADER "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.ml\" : 3]>\n"

static struct graph *read(struct build *build, const char *text, const struct read_options *options)
{
	if (BUILD_TRY(build))
		return graph_read_memory(build, "t", text, strlen(text), options);
	print_error("%s\n", build->message);
	assert_true(!"the model was refused");
	return NULL;
}

static const char *const with_defaults =
        HEADER "g (float[2] x, float[2] w = {1, 2}, float[1] v = {3}) => (y) { y = Foo (x, w, v) }";

static void defaults_are_constants(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	struct graph *graph = read(&build, with_defaults, NULL);
	assert_int_equal(graph->inputs.count, 1);
	const struct tensor *w = graph_tensor(graph, "w"), *v = graph_tensor(graph, "v");
	assert_true(w->data && w->is_initializer && !w->is_input);
	assert_true(v->data && !v->is_input && v->rank == 1);
	assert_true(tensor_float(w, 1) == 2 && tensor_float(v, 0) == 3);
	build_release(&build);
}

static void inputs_are_kept(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	struct graph *graph = read(&build, with_defaults,
	        &(struct read_options){ .keep_inputs = (const char *const[]){ "w" }, .keep_input_count = 1 });
	assert_int_equal(graph->inputs.count, 2);
	assert_string_equal(graph->inputs.at[1]->name, "w");
	assert_true(
	        !graph->inputs.at[1]->data && graph->inputs.at[1]->is_input && !graph->inputs.at[1]->is_initializer);
	if (BUILD_TRY(&build))
		graph_read_memory(&build, "t", with_defaults, strlen(with_defaults),
		        &(struct read_options){
		                .keep_inputs = (const char *const[]){ "w", "q" }, .keep_input_count = 2 });
	assert_int_equal(build.code, EXIT_USAGE);
	assert_string_equal(
	        build.message, "t: --keep-input q: the model has no input of that name; known are: x, w, v");
	build_release(&build);
}

/* The default of a subgraph's input is nobody's: a Loop gives its body other values. */
static void subgraph_inputs_stay_inputs(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	struct graph *graph = read(&build,
	        HEADER "g (float x) => (y) { y = Loop (\"\", \"\", x) <body = b (int64 i, bool c, float s = {1})"
	               " => (c, t) { t = Add (s, s) }> }",
	        NULL);
	struct graph *body = node_attribute(graph->nodes.at[0], "body")->g;
	assert_int_equal(body->inputs.count, 3);
	assert_null(body->inputs.at[2]->data);
	assert_true(body->inputs.at[2]->is_input);
	build_release(&build);
}

static void versions_reach_nodes(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	struct graph *graph = read(&build,
	        HEADER "g (float[2] x) => (y) { a = ai.onnx.Relu (x)  b = ai.onnx.ml.Scaler (a)  y = Relu@9 (b) }",
	        NULL);
	assert_int_equal(graph->nodes.at[0]->since, 17);
	assert_string_equal(graph->nodes.at[0]->domain, "");
	assert_int_equal(graph->nodes.at[1]->since, 3);
	assert_int_equal(graph->nodes.at[2]->since, 9);
	build_release(&build);
}

static void hints_are_taken(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	struct graph *graph = read(&build,
	        HEADER "g (float[2] x) => (int8[N,?] y) <float16[3] a, float nobody, int32[9] x> "
	               "{ a = Foo (x)  b = Foo (a)  y = Foo (b) }",
	        NULL);
	const struct tensor *a = graph_tensor(graph, "a"), *b = graph_tensor(graph, "b"), *y = graph_tensor(graph, "y");
	assert_int_equal(a->type, DTYPE_F16);
	assert_int_equal(a->dims[0].extent, 3);
	assert_int_equal(b->type, DTYPE_NONE);
	assert_int_equal(b->rank, -1);
	assert_string_equal(y->dims[0].symbol, "N");
	assert_true(y->dims[1].extent == -1 && !y->dims[1].symbol);
	assert_int_equal(graph_tensor(graph, "x")->type, DTYPE_F32);
	assert_null(graph_tensor(graph, "nobody"));
	build_release(&build);
}

/* Both dims of x and of y are "?" in the file: unknown, and not one symbol. */
static void question_mark_is_no_symbol(void **state)
{
	(void)state;
	static const char model[] =
	        "\x08\x08\x42\x02\x10\x11\x3a\x3e"
	        "\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\x12\x01g"
	        "\x5a\x15\x0a\x01x\x12\x10\x0a\x0e\x08\x01\x12\x0a\x0a\x03\x12\x01?\x0a\x03\x12\x01?"
	        "\x62\x14\x0a\x01y\x12\x0f\x0a\x0d\x08\x01\x12\x09\x0a\x03\x12\x01?\x0a\x02\x08\x02";
	struct build build;
	build_init(&build);
	struct graph *graph = NULL;
	if (BUILD_TRY(&build))
		graph = graph_read_memory(&build, "t", model, sizeof model - 1, NULL);
	assert_string_equal(build.message, "");
	const struct tensor *x = graph->inputs.at[0], *y = graph->outputs.at[0];
	assert_int_equal(x->rank, 2);
	for (int d = 0; d < 2; d++)
		assert_true(x->dims[d].extent == -1 && !x->dims[d].symbol);
	assert_true(!y->dims[0].symbol && y->dims[1].extent == 2);
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(question_mark_is_no_symbol),
		cmocka_unit_test(defaults_are_constants),
		cmocka_unit_test(inputs_are_kept),
		cmocka_unit_test(subgraph_inputs_stay_inputs),
		cmocka_unit_test(versions_reach_nodes),
		cmocka_unit_test(hints_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
