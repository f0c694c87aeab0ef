/* test_ops.c: the table of ops: attributes of one name have versions apart, of a kind that their default fits. */
#include "unit.h"
#include "frontends/frontends.h"
#include "ops/ops.h"

static void attributes_are_apart(void **state)
{
	(void)state;
	for (int i = 0; i < op_count; i++)
		for (const struct attribute_row *a = ops[i].attributes; a->name; a++) {
			assert_true(a->from >= 1 && a->from <= a->to && a->to >= ops[i].since
			        && attribute_kind_name(a->kind));
			assert_true(!a->has_default
			        || (a->string ? a->kind == ATTRIBUTE_STRING
			                      : a->kind == ATTRIBUTE_INT || a->kind == ATTRIBUTE_FLOAT));
			for (const struct attribute_row *b = a + 1; b->name; b++)
				if (!strcmp(a->name, b->name) && a->from <= b->to && b->from <= a->to) {
					print_error("%s has two rows of %s for one version\n", ops[i].name, a->name);
					assert_true(false);
				}
		}
}

static struct node *node_of(struct build *build, const char *text)
{
	struct graph *graph = graph_read_memory(build, "t", text, strlen(text), NULL);
	return graph->nodes.at[0];
}

/* Softmax: axis is 1 by default up to opset 12, -1 from then on; ceil_mode is what it was before a pool had it. */
static void defaults_follow_the_version(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		assert_int_equal(attribute_int(node_of(&build,
		                                       "<ir_version: 7, opset_import: [\"\" : 12]> g (float[2,3] x) => "
		                                       "(y) { y = Softmax (x) }"),
		                         "axis"),
		        1);
		assert_int_equal(attribute_int(node_of(&build,
		                                       "<ir_version: 7, opset_import: [\"\" : 13]> g (float[2,3] x) => "
		                                       "(y) { y = Softmax (x) }"),
		                         "axis"),
		        -1);
		assert_int_equal(attribute_int(node_of(&build,
		                                       "<ir_version: 7, opset_import: [\"\" : 13]> g (float[2,3] x) => "
		                                       "(y) { y = Softmax <axis = 0> (x) }"),
		                         "axis"),
		        0);
		assert_int_equal(attribute_int(node_of(&build,
		                                       "<ir_version: 3, opset_import: [\"\" : 7]> g (float[1,1,3] x) "
		                                       "=> (y) { y = MaxPool <kernel_shape = [2]> (x) }"),
		                         "ceil_mode"),
		        0);
	}
	assert_string_equal(build.message, "");
	build_release(&build);
}

static void kinds_are_checked(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build))
		op_of(node_of(&build,
		        "<ir_version: 7, opset_import: [\"\" : 13]> g (float[2,3] x) => (y) { y = Softmax <axis = 1.5> "
		        "(x) }"));
	assert_int_equal(build.code, EXIT_INVALID);
	assert_string_equal(build.message, "t: node #0 (Softmax): attribute axis is a float, an integer is right");
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_apart),
		cmocka_unit_test(defaults_follow_the_version),
		cmocka_unit_test(kinds_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
