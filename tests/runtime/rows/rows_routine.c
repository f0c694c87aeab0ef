/* rows_routine.c: rows G: libraries, linking, symbols. */
#include "rows.h"

static struct ingot_library load(struct trial *t, const struct ingot_module *module)
{
	struct ingot_library library;
	OK(ingot_library_load(t->runtime, module, NULL, &library));
	return library;
}

static struct ingot_node named(struct ingot_library library, const char *name)
{
	struct ingot_node node;
	OK(ingot_library_node(library, name, &node));
	return node;
}

static void g1(struct trial *t)
{
	struct ingot_library library = load(t, &small_module);
	struct ingot_routine routine;
	struct ingot_context linked;
	char text[4096];
	OK(ingot_link(t->context, library, "merge", &routine));
	ingot_routine_json(routine, text, sizeof text);
	json_parses(text);
	CHECK(strstr(text,
	        "\"name\":\"merge\",\"inputs\":[\"sum\"],\"outputs\":[\"sum\"],\"merge_input\":\"grad\","
	        "\"symbols\":[]"));
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &linked));
	CHECK(linked.index != t->context.index);
	ingot_routine_json(routine, text, sizeof text);
	CHECK(strstr(text, "\"inputs\":[\"x\",\"s\"],\"outputs\":[\"y\",\"s\"]"));
	CHECK(strstr(text,
	        "\"merge_input\":null,\"symbols\":[{\"name\":\"n\",\"least\":1,\"most\":16},{\"name\":"
	        "\"fixed\",\"least\":3,\"most\":3}]"));
	ingot_library_json(library, text, sizeof text);
	json_parses(text);
	CHECK(strstr(text, "{\"name\":\"w\",\"type\":\"f32\",\"bytes\":64}"));
}

static void g2(struct trial *t)
{
	struct ingot_library library = load(t, &small_module);
	struct ingot_routine routine;
	char text[4096];
	OK(ingot_link(t->context, library, "dense", &routine));
	ingot_routine_json(routine, text, sizeof text);
	CHECK(strstr(text, "\"inputs\":[\"x\",\"s\"]"));      /* parameters and state; not the constant, not scratch */
	FAILS(INGOT_RANGE, ingot_routine_run(routine, NULL)); /* n was not set */
	OK(ingot_routine_set(routine, "n", 2));
	FAILS(INGOT_UNREADY, ingot_routine_run(routine, NULL));
	SAYS("x");
}

static void g3(struct trial *t)
{
	struct ingot_library library = load(t, &small_module);
	struct ingot_routine routine;
	struct ingot_context linked;
	char text[4096];
	float in[SMALL_COUNT] = { 0 }, out[SMALL_COUNT], state[SMALL_COUNT];
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &linked));
	ingot_routine_json(routine, text, sizeof text);
	CHECK(strstr(text, "\"outputs\":[\"y\",\"s\"]"));
	write_f32(linked, named(library, "x"), in, SMALL_COUNT);
	OK(ingot_routine_set(routine, "n", 1));
	OK(ingot_routine_run(routine, NULL));
	OK(ingot_routine_run(routine, NULL));
	read_f32(linked, named(library, "y"), out, SMALL_COUNT);
	read_f32(linked, named(library, "s"), state, SMALL_COUNT);
	CHECK(out[0] == 1 && out[1] == 0 && state[0] == 2); /* state lasts from run to run */
}

static void g4(struct trial *t)
{
	/* One library, two contexts on two streams, run against each other. */
	struct ingot_library library = load(t, &small_module);
	struct ingot_context base[2] = { t->context, { 0 } }, linked[2];
	struct ingot_routine routine[2];
	float in[SMALL_COUNT], out[2][SMALL_COUNT];
	OK(ingot_context_new(other_stream(t), &base[1]));
	for (int k = 0; k < 2; k++) {
		OK(ingot_link(base[k], library, "dense", routine + k));
		OK(ingot_routine_context(routine[k], linked + k));
		OK(ingot_routine_set(routine[k], "n", SMALL_COUNT));
		for (int i = 0; i < SMALL_COUNT; i++)
			in[i] = (float)(k + 1);
		write_f32(linked[k], named(library, "x"), in, SMALL_COUNT);
	}
	for (int run = 0; run < 50; run++)
		for (int k = 0; k < 2; k++)
			OK(ingot_routine_run(routine[k], NULL));
	OK(ingot_routine_run(routine[1], NULL));
	for (int k = 0; k < 2; k++)
		read_f32(linked[k], named(library, "y"), out[k], SMALL_COUNT);
	for (int i = 0; i < SMALL_COUNT; i++) {
		CHECK(out[0][i] == small_weights[i] + 49);
		CHECK(out[1][i] == 2 * small_weights[i] + 50);
	}
}

static bool not_fails(const char *name, void *user)
{
	(void)user;
	return strcmp(name, "fails") != 0;
}

static void g5(struct trial *t)
{
	struct ingot_library library = load(t, &small_module);
	struct ingot_routine routines[6];
	struct ingot_context last, first;
	struct ingot_location a, b;
	float in[SMALL_COUNT] = { 1, 1, 1 }, z[SMALL_COUNT];
	uint64_t before, after;
	OK(ingot_link_all(t->context, library, not_fails, NULL, routines, &last));
	CHECK(!routines[4].runtime && routines[5].runtime);
	OK(ingot_routine_context(routines[0], &first));
	OK(ingot_context_location(first, named(library, "y"), &a));
	OK(ingot_context_location(last, named(library, "y"), &b));
	CHECK(a.pool == b.pool && a.offset == b.offset); /* what they share is placed once */
	char text[4096];
	ingot_routine_json(routines[1], text, sizeof text);
	CHECK(strstr(text, "\"name\":\"twice\""));
	write_f32(last, named(library, "x"), in, SMALL_COUNT);
	OK(ingot_routine_set(routines[0], "n", 3));
	OK(ingot_routine_run(routines[0], NULL));
	OK(ingot_routine_run(routines[1], NULL));
	read_f32(last, named(library, "z"), z, SMALL_COUNT);
	CHECK(z[0] == 2 && z[2] == 6 && z[3] == 0);
	/* Where one of them cannot be linked nothing stays. */
	struct ingot_library pair = load(t, &small_pair_module);
	struct ingot_routine none[7];
	OK(ingot_device_used(t->device, &before));
	FAILS(INGOT_MISSING, ingot_link_all(t->context, pair, NULL, NULL, none, &last));
	OK(ingot_device_used(t->device, &after));
	CHECK(before == after && !none[0].runtime);
	/* Nor of those before it. */
	struct ingot_node unseen = named(pair, "unseen");
	char first_text[2000], second_text[2000];
	OK(ingot_context_place(t->context, &unseen, 1));
	OK(ingot_device_used(t->device, &before));
	ingot_runtime_json(t->runtime, first_text, sizeof first_text);
	FAILS(INGOT_CONFLICT, ingot_link_all(t->context, pair, NULL, NULL, none, &last));
	SAYS("constant");
	OK(ingot_device_used(t->device, &after));
	ingot_runtime_json(t->runtime, second_text, sizeof second_text);
	CHECK(before == after && !none[0].runtime && !none[1].runtime && !last.runtime);
	CHECK(json_number(first_text, "routines") == json_number(second_text, "routines")
	        && json_number(first_text, "contexts") == json_number(second_text, "contexts"));
}

static void g6(struct trial *t)
{
	struct ingot_library library = load(t, &small_pair_module);
	struct ingot_routine routine;
	struct ingot_node unseen = named(library, "unseen");
	FAILS(INGOT_MISSING, ingot_link(t->context, library, "unseen", &routine));
	SAYS("unseen");
	FAILS(INGOT_MISSING, ingot_link(t->context, library, "nothing", &routine));
	SAYS("nothing");
	OK(ingot_context_place(t->context, &unseen, 1));
	OK(ingot_link(t->context, library, "unseen", &routine));
	FAILS(INGOT_CONFLICT, ingot_link(t->context, library, "constant", &routine));
	SAYS("constant");
}

static void g7(struct trial *t)
{
	struct ingot_library library = load(t, &small_module);
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_event done;
	float in[SMALL_COUNT], out[SMALL_COUNT];
	int64_t value, extent;
	for (int i = 0; i < SMALL_COUNT; i++)
		in[i] = 1;
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &linked));
	write_f32(linked, named(library, "x"), in, SMALL_COUNT);
	FAILS(INGOT_UNREADY, ingot_routine_symbol(routine, "n", &value));
	FAILS(INGOT_RANGE, ingot_routine_set(routine, "n", 0));
	FAILS(INGOT_RANGE, ingot_routine_set(routine, "n", SMALL_COUNT + 1));
	SAYS("n = 17; it is 1 to 16");
	FAILS(INGOT_RANGE, ingot_routine_set(routine, "n", INT64_MIN));
	FAILS(INGOT_MISSING, ingot_routine_set(routine, "m", 1));
	OK(ingot_routine_symbol(routine, "fixed", &value));
	CHECK(value == 3);
	char text[2048];
	ingot_routine_json(routine, text, sizeof text);
	CHECK(strstr(text, "\"values\":[null,3]"));
	for (int64_t n = 1; n <= SMALL_COUNT; n += 5) { /* set, run, set, run: each run has its own */
		OK(ingot_routine_set(routine, "n", n));
		OK(ingot_routine_run(routine, &done));
		OK(ingot_routine_set(routine, "n", 2));
		ingot_routine_json(routine, text, sizeof text);
		json_parses(text);
		CHECK(strstr(text, "\"values\":[2,3]"));
		OK(ingot_event_sync(done));
		OK(ingot_routine_extents(routine, &extent, 1));
		CHECK(extent == n);
		read_f32(linked, named(library, "y"), out, SMALL_COUNT);
		for (int i = 0; i < SMALL_COUNT; i++)
			CHECK((out[i] != 0) == (i < n));
	}
}

static void g4_shared_names(struct trial *t)
{
	/* Two modules built together share nodes by name. */
	struct ingot_library one = load(t, &small_module), two;
	struct ingot_routine dense, copy;
	struct ingot_context linked, below;
	OK(ingot_library_load(t->runtime, &small_pair_module, &(struct ingot_library_options){ .with = one }, &two));
	CHECK(ingot_node_equal(named(one, "y"), named(two, "y")));
	CHECK(ingot_node_equal(named(one, "w"), named(two, "w")));
	OK(ingot_link(t->context, one, "dense", &dense));
	OK(ingot_routine_context(dense, &linked));
	OK(ingot_link(linked, two, "copy", &copy));
	OK(ingot_routine_context(copy, &below));
	struct ingot_location a, b;
	OK(ingot_context_location(linked, named(one, "x"), &a));
	OK(ingot_context_location(below, named(two, "x"), &b));
	CHECK(a.pool == b.pool && a.offset == b.offset);
	FAILS(INGOT_BUSY, ingot_library_close(one));
	FAILS(INGOT_BUSY, ingot_routine_close(dense));
	OK(ingot_routine_close(copy));
	OK(ingot_routine_close(dense));
	OK(ingot_library_close(one));
	CHECK(ingot_node_id(named(two, "y")) != UINT32_MAX);
	OK(ingot_library_close(two));
	static struct ingot_module broken; /* stays as long as the library */
	broken = small_module;
	broken.abi = 99;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &one));
	SAYS("module small has interface 99");
	broken.name = NULL;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &one));
	SAYS("module ? has interface 99");
	broken = small_module;
	broken.kernels = NULL;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &one));
	SAYS("module small: ");
	/* Each part of a node's description is told by itself. */
	static struct ingot_module_node nodes[8];
	static struct ingot_module_dim dim = { .extent = -1, .symbol = -1 };
	memcpy(nodes, small_module.nodes, sizeof nodes);
	broken = small_module;
	broken.nodes = nodes;
	nodes[0].dtype = 99;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &one));
	SAYS("a node's type is none of numbers (0)");
	nodes[0] = small_module.nodes[0];
	nodes[0].rank = 1;
	nodes[0].dims = &dim;
	FAILS(INGOT_INVALID, ingot_library_load(t->runtime, &broken, NULL, &one));
	SAYS("a node's dims (0)");
	/* Constants from a file. */
	broken = small_module;
	broken.constants.data = NULL;
	FAILS(INGOT_MISSING, ingot_library_load(t->runtime, &broken, NULL, &one));
	FAILS(INGOT_MISMATCH,
	        ingot_library_load(t->runtime, &broken,
	                &(struct ingot_library_options){ .constants = small_weights, .constants_bytes = 60 }, &one));
	OK(ingot_library_load(t->runtime, &broken,
	        &(struct ingot_library_options){ .constants = small_weights, .constants_bytes = 64 }, &one));
	OK(ingot_link(t->context, one, "dense", &dense));
}

static void g_fails(struct trial *t)
{
	struct ingot_library library = load(t, &small_module);
	struct ingot_routine fails;
	struct ingot_context linked;
	struct ingot_event done;
	OK(ingot_link(t->context, library, "fails", &fails));
	OK(ingot_routine_context(fails, &linked));
	OK(ingot_routine_run(fails, &done));
	FAILS(INGOT_FAILED, ingot_event_sync(done));
	SAYS("fails");
	SAYS("42");
	SAYS("the answer is no");
	SAYS(t->device_name);
	FAILS(INGOT_FAILED, ingot_stream_await(t->stream));
	OK(ingot_stream_restart(t->stream));
	float z[SMALL_COUNT] = { 0 };
	OK(ingot_read(linked, named(library, "z"), z, sizeof z, &done)); /* what it should have written is not there */
	FAILS(INGOT_DEPENDENCY, ingot_event_sync(done));
	SAYS("fails");
	ingot_stream_await(t->stream);
	OK(ingot_stream_restart(t->stream));
	write_f32(linked, named(library, "z"), z, SMALL_COUNT); /* until somebody writes it anew */
	read_f32(linked, named(library, "z"), z, SMALL_COUNT);
}

const struct row rows_routine[] = {
	{ "G1", "ingot_routine_json", "routine_record", g1, NULL, NULL },
	{ "G2", "struct ingot_module_routine.inputs", "inputs", g2, NULL, NULL },
	{ "G3", "struct ingot_module_routine.outputs", "outputs", g3, NULL, NULL },
	{ "G4", "ingot_link", "one_library_two_contexts", g4, NULL, NULL },
	{ "G4", "ingot_library_load", "modules_share_nodes", g4_shared_names, NULL, NULL },
	{ "G5", "ingot_link_all", "link_batch", g5, NULL, NULL },
	{ "G5", "-", "compile_batch", NULL, "the compiling half lives in the generator", NULL },
	{ "G6", "ingot_link", "prior_context", g6, NULL, NULL },
	{ "G7", "ingot_routine_set", "symbols", g7, NULL, NULL },
	{ "C8", "ingot_routine_run", "failing_routine", g_fails, NULL, NULL },
	{ "G8", "-", "param_source", NULL, "lives in the generator; enum ingot_source is its table", NULL },
	{ "G9", "-", "debug_log", NULL, "lives in the generator; ingot_routine_log passes the path", NULL },
	{ "G10", "-", "artefacts", NULL, "lives in the generator", NULL },
	{ "G11", "-", "name_collisions", NULL, "lives in the generator", NULL },
	{ "G12", "-", "embedded_nodes", NULL, "lives in the generator", NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
