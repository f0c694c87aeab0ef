/* rows_node.c: rows F: tensor nodes: modes, precision, padding, host access, names. */
#include "rows.h"

static const struct {
	uint32_t mode;
	const char *letter;
} modes[] = {
	{ INGOT_VIRTUAL, "v" },
	{ INGOT_LOCAL, "l" },
	{ INGOT_ON_DEVICE, "o" },
	{ INGOT_HOSTED_CONSTANT, "c" },
	{ INGOT_HOSTED_CHANGED, "h" },
	{ INGOT_HOSTED_VOLATILE, "w" },
	{ INGOT_DEVICE_ONLY, "D" },
	{ INGOT_HOSTED_NONCONSTANT, "N" },
	{ INGOT_HOSTED, "H" },
	{ INGOT_MATERIALIZED, "M" },
	{ INGOT_NEVER_VIRTUAL, "V" },
	{ INGOT_EFFECTIVELY_CONSTANT, "E" },
	{ INGOT_MODE_OPEN, "?" },
};
enum { MODES = sizeof modes / sizeof *modes };

static struct ingot_node node_new(struct trial *t, uint32_t mode, int64_t count)
{
	struct ingot_node node;
	OK(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){
	                .dtype = INGOT_F32, .rank = 1, .dims = &count, .mode = mode, .provenance = INGOT_BY_USER },
	        &node));
	return node;
}

static void f3(struct trial *t)
{
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_context linked;
	struct ingot_node x, s;
	float in[SMALL_COUNT] = { 0 }, state[SMALL_COUNT];
	void *data;
	uint64_t bytes;
	OK(ingot_library_load(t->runtime, &small_module, NULL, &library));
	OK(ingot_link(t->context, library, "dense", &routine));
	OK(ingot_routine_context(routine, &linked));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "s", &s));
	write_f32(linked, x, in, SMALL_COUNT);
	OK(ingot_routine_set(routine, "n", 1));
	for (int i = 0; i < 5; i++)
		OK(ingot_routine_run(routine, NULL));
	FAILS(INGOT_MISSING, ingot_node_host(s, &data, &bytes)); /* the host does not see it without a transfer */
	double v;
	FAILS(INGOT_MISSING, ingot_node_get(s, (int64_t[]){ 0 }, 1, &v));
	read_f32(linked, s, state, SMALL_COUNT);
	CHECK(state[0] == 5); /* it lasted from call to call */
}

static void f4(struct trial *t)
{
	t->options.automatic_transfers = true;
	trial_reopen(t);
	struct ingot_library library;
	struct ingot_routine routine;
	struct ingot_node x, y;
	double value;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	OK(ingot_link(t->context, library, "copy", &routine));
	OK(ingot_library_node(library, "x", &x));
	OK(ingot_library_node(library, "y", &y));
	OK(ingot_node_host_create(y));
	for (int64_t i = 0; i < 3; i++) {
		OK(ingot_node_set(x, &i, 1, 7 + (double)i));
		OK(ingot_routine_run(routine, NULL));
		OK(ingot_node_get(y, &i, 1, &value));
		CHECK(value == 7 + (double)i);
	}
	OK(ingot_node_get(y, (int64_t[]){ 0 }, 1, &value));
	CHECK(value == 7);
}

static void f5(struct trial *t)
{
	(void)t;
	CHECK(INGOT_DEVICE_ONLY == (INGOT_LOCAL | INGOT_ON_DEVICE)
	        && INGOT_MATERIALIZED == (INGOT_ON_DEVICE | INGOT_HOSTED));
	CHECK(INGOT_NEVER_VIRTUAL == (INGOT_LOCAL | INGOT_ON_DEVICE | INGOT_HOSTED)
	        && INGOT_EFFECTIVELY_CONSTANT == (INGOT_HOSTED_CONSTANT | INGOT_VIRTUAL));
	for (int i = 0; i < MODES; i++) {
		struct ingot_mode_state s = { .mode = modes[i].mode };
		CHECK(ingot_mode_is_open(&s) == (i >= 6));
	}
}

static void f6(struct trial *t)
{
	struct ingot_node constant = node_new(t, INGOT_HOSTED_CONSTANT, 2), v = node_new(t, INGOT_HOSTED_VOLATILE, 2),
	                  changed = node_new(t, INGOT_HOSTED_CHANGED, 2);
	double one[2] = { 1, 2 }, two[2] = { 3, 4 };
	float got[2];
	uint64_t ups = 0;
	struct ingot_context other;
	OK(ingot_node_set_all(constant, one, 2)); /* its value, once */
	FAILS(INGOT_CONFLICT, ingot_node_set_all(constant, two, 2));
	OK(ingot_context_place(t->context, &constant, 1));
	OK(ingot_context_new(t->stream, &other));
	FAILS(INGOT_CONFLICT, ingot_write(t->context, constant, got, 8, NULL));
	SAYS("is constant");
	OK(ingot_node_transfers(constant, &ups, NULL));
	CHECK(ups == 1);
	/* Once a device, in however many contexts on however many streams, and asked for again. */
	struct ingot_stream beside = other_stream(t), far;
	struct ingot_device twin;
	struct ingot_context third, there, filled;
	OK(ingot_context_new(beside, &third));
	OK(ingot_context_place(other, &constant, 1));
	OK(ingot_context_place(third, &constant, 1));
	OK(ingot_from_host(t->context, constant, NULL, NULL));
	OK(ingot_from_host(third, constant, NULL, NULL));
	OK(ingot_node_transfers(constant, &ups, NULL));
	CHECK(ups == 1);
	read_f32(third, constant, got, 2);
	CHECK(got[0] == 1 && got[1] == 2);
	OK(ingot_device_another(t->runtime, t->device_name, 0, &twin));
	OK(ingot_stream_default(twin, &far));
	OK(ingot_context_new(far, &there));
	OK(ingot_context_place(there, &constant, 1));
	OK(ingot_node_transfers(constant, &ups, NULL));
	CHECK(ups == 2);
	/* Nothing writes it: no transfer, no task. */
	FAILS(INGOT_CONFLICT, ingot_device_to_device(constant, there, INGOT_MERGE_NONE, t->context, NULL, NULL));
	FAILS(INGOT_CONFLICT,
	        ingot_task_submit(t->stream,
	                &(struct ingot_task){
	                        .uses = &(struct ingot_use){ t->context, constant, true, false }, .use_count = 1 },
	                NULL));
	/* One that has no value yet gets it once. */
	struct ingot_node late = node_new(t, INGOT_HOSTED_CONSTANT, 2);
	OK(ingot_init_from_host(t->context, late, got, 8, &filled));
	FAILS(INGOT_CONFLICT, ingot_write(filled, late, got, 8, NULL));
	/* Volatile: the host writes, the device follows; never the other way. */
	OK(ingot_node_set_all(v, one, 2));
	OK(ingot_context_place(t->context, &v, 1));
	OK(ingot_node_set_all(v, two, 2));
	OK(ingot_from_host(t->context, v, NULL, NULL));
	read_f32(t->context, v, got, 2);
	CHECK(got[1] == 4);
	OK(ingot_node_transfers(v, &ups, NULL));
	CHECK(ups == 2); /* with its place, and after the host's write */
	FAILS(INGOT_CONFLICT, ingot_to_host(t->context, v, NULL, NULL));
	SAYS("volatile");
	/* Changed on devices: the host copy follows by downloads. */
	OK(ingot_node_host_create(changed));
	OK(ingot_context_place(t->context, &changed, 1));
	float in[2] = { 8, 9 };
	write_f32(t->context, changed, in, 2);
	OK(ingot_to_host(t->context, changed, NULL, NULL));
	OK(ingot_node_get_all(changed, two, 2));
	CHECK(two[1] == 9);
	struct ingot_library library;
	struct ingot_routine routine;
	OK(ingot_library_load(t->runtime, &small_pair_module, NULL, &library));
	FAILS(INGOT_CONFLICT, ingot_link(t->context, library, "constant", &routine));
}

static void f7(struct trial *t)
{
	struct ingot_node node = node_new(t, 0, 4);
	OK(ingot_node_mode_update(node, INGOT_VIRTUAL, INGOT_BY_SCALAR_CONSTANT));
	FAILS(INGOT_CONFLICT, ingot_node_mode_update(node, INGOT_NEVER_VIRTUAL, INGOT_BY_VISITS));
	SAYS("40 (a scalar constant)");
	SAYS("1 (visited more often than inlining allows)");
	CHECK(!strcmp(ingot_provenance_text(INGOT_BY_WRAPPED), "wraps an array")
	        && !ingot_provenance_text((enum ingot_provenance)999));
	struct ingot_node other = node_new(t, INGOT_DEVICE_ONLY, 4);
	OK(ingot_node_mode_default(other, INGOT_BY_DEFAULT_LOCAL));
	CHECK(ingot_node_mode(other).provenance == INGOT_BY_USER * 1000 + INGOT_BY_DEFAULT_LOCAL);
}

static void f8(struct trial *t)
{
	static const struct {
		uint32_t mode;
		int64_t count;
		uint32_t settled;
	} cases[] = {
		{ INGOT_MODE_OPEN, 4, INGOT_VIRTUAL },
		{ INGOT_EFFECTIVELY_CONSTANT, 4, INGOT_VIRTUAL },
		{ INGOT_DEVICE_ONLY, INGOT_LOCAL_BYTES / 4, INGOT_LOCAL },
		{ INGOT_DEVICE_ONLY, INGOT_LOCAL_BYTES / 4 + 1, INGOT_ON_DEVICE },
		{ INGOT_NEVER_VIRTUAL, 4, INGOT_LOCAL },
		{ INGOT_NEVER_VIRTUAL, 100000, INGOT_ON_DEVICE },
		{ INGOT_MATERIALIZED, 4, INGOT_ON_DEVICE },
		{ INGOT_HOSTED, 4, INGOT_HOSTED_CHANGED },
		{ INGOT_HOSTED_NONCONSTANT, 4, INGOT_HOSTED_CHANGED },
		{ INGOT_VIRTUAL, 100000, INGOT_VIRTUAL },
		{ INGOT_HOSTED_CONSTANT, 4, INGOT_HOSTED_CONSTANT },
		{ INGOT_LOCAL, 100000, INGOT_LOCAL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ingot_node node = node_new(t, cases[i].mode, cases[i].count);
		OK(ingot_node_mode_default(node, INGOT_BY_DEFAULT_LOCAL));
		CHECK(ingot_node_mode(node).mode == cases[i].settled);
	}
}

static const char *letter(uint32_t mode)
{
	for (int i = 0; i < MODES; i++)
		if (modes[i].mode == mode)
			return modes[i].letter;
	return "#";
}

/* Rows: the old mode; columns: the new one; a dot: they contradict each other. */
static const char *const mode_matrix[MODES] = {
	"v..........vv",
	".l....l...l.l",
	"..o...o..oo.o",
	"...c....ccccc",
	"....h..hhhh.h",
	".....w.wwww.w",
	".lo...D..oD.D",
	"....hw.NNNN.N",
	"...chw.NHHHcH",
	"..ochwoNHMMcM",
	".lochwDNHMVcV",
	"v..c....cccEE",
	"vlochwDNHMVE?",
};

static void f9(struct trial *t)
{
	(void)t;
	for (int old = 0; old < MODES; old++)
		for (int new = 0; new < MODES; new ++) {
			struct ingot_mode_state s = { .mode = modes[old].mode, .provenance = 10 };
			char why[200] = "", wanted = mode_matrix[old][new];
			bool ok = ingot_mode_update(&s, modes[new].mode, INGOT_BY_MODULE, why);
			CHECK(ok == (wanted != '.'));
			CHECK(*letter(s.mode) == (ok ? wanted : *modes[old].letter));
			CHECK(ok || (strstr(why, " by 10 ") && strstr(why, " by 11 ")));
		}
	struct ingot_mode_state s = { .mode = INGOT_DEVICE_ONLY };
	CHECK(ingot_mode_update(&s, INGOT_MATERIALIZED, INGOT_BY_USER, NULL) && s.mode == INGOT_ON_DEVICE
	        && s.sharing == INGOT_SHARING_OPEN);
	CHECK(!ingot_mode_update(&s, 0, INGOT_BY_USER, NULL) && !ingot_mode_update(&s, 64, INGOT_BY_USER, NULL));
}

/* For each mode: what per stream makes of it, and what shared does. */
static const char *const sharing_matrix[MODES] = {
	"..",
	"..",
	"oo",
	".c",
	"hh",
	".w",
	"oo",
	"hh",
	"hh",
	"MM",
	"MM",
	".c",
	"oo",
};

static void f10(struct trial *t)
{
	for (int old = 0; old < MODES; old++)
		for (int sharing = INGOT_PER_STREAM; sharing <= INGOT_SHARED; sharing++) {
			struct ingot_mode_state s = { .mode = modes[old].mode, .provenance = 10 };
			char wanted = sharing_matrix[old][sharing - 1];
			bool ok = ingot_sharing_update(&s, (enum ingot_sharing)sharing, INGOT_BY_MODULE, NULL);
			CHECK(ok == (wanted != '.'));
			CHECK(*letter(s.mode) == (ok ? wanted : *modes[old].letter));
			CHECK(s.sharing == (ok ? (uint32_t)sharing : INGOT_SHARING_OPEN));
			if (ok)
				CHECK(!ingot_sharing_update(
				        &s, INGOT_SHARING_OPEN, INGOT_BY_MODULE, NULL)); /* it cannot be taken back */
		}
	struct ingot_node node = node_new(t, INGOT_HOSTED_CONSTANT, 4);
	FAILS(INGOT_CONFLICT, ingot_node_sharing_update(node, INGOT_PER_STREAM, INGOT_BY_USER));
	OK(ingot_node_sharing_update(node, INGOT_SHARED, INGOT_BY_USER));
	FAILS(INGOT_CONFLICT, ingot_node_sharing_update(node, INGOT_PER_STREAM, INGOT_BY_USER));
}

static void f11(struct trial *t)
{
	bool answer;
	struct ingot_node a = node_new(t, 0, 4), b = node_new(t, INGOT_NEVER_VIRTUAL, 4),
	                  c = node_new(t, INGOT_HOSTED_VOLATILE, 4), d = node_new(t, INGOT_MATERIALIZED, 4);
	OK(ingot_node_is_virtual(a, INGOT_BY_QUERY, &answer));
	CHECK(answer); /* it was open: settled as virtual, and stays so */
	FAILS(INGOT_CONFLICT, ingot_node_mode_update(a, INGOT_MATERIALIZED, INGOT_BY_USER));
	OK(ingot_node_is_virtual(b, INGOT_BY_QUERY, &answer));
	CHECK(!answer && ingot_node_mode(b).mode == INGOT_NEVER_VIRTUAL); /* known: nothing had to be settled */
	OK(ingot_node_is_materialized(b, INGOT_BY_QUERY, &answer));
	CHECK(!answer);
	FAILS(INGOT_CONFLICT, ingot_node_mode_update(b, INGOT_ON_DEVICE, INGOT_BY_USER));
	OK(ingot_node_is_in_context(c, true, INGOT_BY_QUERY, &answer));
	CHECK(!answer);
	OK(ingot_node_is_in_context(c, false, INGOT_BY_QUERY, &answer));
	CHECK(answer);
	OK(ingot_node_is_hosted(d, INGOT_BY_QUERY, &answer));
	CHECK(!answer);
	FAILS(INGOT_CONFLICT, ingot_node_mode_update(d, INGOT_HOSTED, INGOT_BY_USER));
}

static void f12(struct trial *t)
{
	static const char *const truth[MODES] = {
		/* virtual, not virtual, constant, volatile, not materialized, open */
		"v...m.",
		".n..m.",
		".n....",
		".nc...",
		".n....",
		".n.x..",
		".n...o",
		".n...o",
		".n...o",
		".n...o",
		".n...o",
		".....o",
		".....o",
	};
	(void)t;
	for (int i = 0; i < MODES; i++) {
		struct ingot_mode_state s = { .mode = modes[i].mode };
		CHECK(ingot_mode_known_virtual(&s) == (truth[i][0] == 'v'));
		CHECK(ingot_mode_known_not_virtual(&s) == (truth[i][1] == 'n'));
		CHECK(ingot_mode_known_constant(&s) == (truth[i][2] == 'c'));
		CHECK(ingot_mode_known_volatile(&s) == (truth[i][3] == 'x'));
		CHECK(ingot_mode_known_not_materialized(&s) == (truth[i][4] == 'm'));
		CHECK(ingot_mode_is_open(&s) == (truth[i][5] == 'o'));
		CHECK(!ingot_mode_known_shared(&s));
		CHECK(ingot_mode_potentially_cross_stream(&s) == (truth[i][4] != 'm'));
		CHECK(s.mode == modes[i].mode); /* asking changes nothing */
		s.sharing = INGOT_PER_STREAM;
		CHECK(ingot_mode_known_not_cross_stream(&s));
	}
	struct ingot_mode_state s = { .mode = INGOT_ON_DEVICE, .sharing = INGOT_SHARED };
	CHECK(ingot_mode_known_shared(&s) && ingot_mode_potentially_cross_stream(&s));
}

static void f14(struct trial *t)
{
	int64_t four = 4;
	struct ingot_node node;
	enum ingot_dtype dtype, only = INGOT_I8;
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = &four }, &node));
	OK(ingot_node_dtype_update(node, INGOT_PRECISION_INFERRED, INGOT_I8, NULL));
	OK(ingot_node_dtype_update(
	        node, INGOT_PRECISION_INFERRED, INGOT_I32, &only)); /* still i8: taken, and promoted */
	OK(ingot_node_dtype_update(node, INGOT_PRECISION_SPECIFIED, INGOT_F64, &only)); /* it is i32 now: not taken */
	OK(ingot_node_dtype_update(node, INGOT_PRECISION_DEFAULT, INGOT_F64, NULL));    /* weaker: not taken */
	OK(ingot_node_dtype(node, &dtype));
	CHECK(dtype == INGOT_I32);
	FAILS(INGOT_CONFLICT,
	        ingot_node_dtype_update(node, INGOT_PRECISION_SPECIFIED, INGOT_F16, NULL)); /* it was used */
	OK(ingot_node_dtype_update(node, INGOT_PRECISION_SPECIFIED, INGOT_I32, NULL));
	struct ingot_precision_state s = { 0 };
	CHECK(ingot_precision_update(&s, INGOT_PRECISION_SPECIFIED, INGOT_F16, NULL));
	CHECK(ingot_precision_update(&s, INGOT_PRECISION_INFERRED, INGOT_F64, NULL) && s.dtype == INGOT_F16);
	CHECK(!ingot_precision_update(&s, INGOT_PRECISION_SPECIFIED, INGOT_F32, NULL));
	CHECK(!ingot_precision_update(&s, (enum ingot_precision)9, INGOT_F32, NULL));
	/* Among what is inferred the larger one stays, in either order. */
	s = (struct ingot_precision_state){ 0 };
	CHECK(ingot_precision_update(&s, INGOT_PRECISION_INFERRED, INGOT_F32, NULL)
	        && ingot_precision_update(&s, INGOT_PRECISION_INFERRED, INGOT_F16, NULL));
	CHECK(s.dtype == INGOT_F32);
}

static void f15(struct trial *t)
{
	static const enum ingot_dtype order[] = { INGOT_U4X32, INGOT_F64, INGOT_F32, INGOT_BF16, INGOT_F16,
		INGOT_F8E5M2, INGOT_U64, INGOT_I64, INGOT_U32, INGOT_I32, INGOT_U16, INGOT_U8 };
	(void)t;
	for (size_t a = 0; a < sizeof order / sizeof *order; a++)
		for (size_t b = 0; b < sizeof order / sizeof *order; b++)
			CHECK(ingot_dtype_promote(order[a], order[b]) == order[a < b ? a : b]);
}

static void f16(struct trial *t)
{
	int64_t four = 4;
	struct ingot_node node;
	enum ingot_dtype dtype;
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = &four }, &node));
	OK(ingot_node_dtype(node, &dtype));
	CHECK(dtype == INGOT_F32);
	t->options.default_dtype = INGOT_F16;
	trial_reopen(t);
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .rank = 1, .dims = &four }, &node));
	OK(ingot_node_dtype(node, &dtype));
	CHECK(dtype == INGOT_F16);
	struct ingot_runtime *none;
	FAILS(INGOT_INVALID,
	        ingot_runtime_open(&none, &(struct ingot_runtime_options){ .default_dtype = INGOT_STRING }));
}

static void f30(struct trial *t)
{
	const char *labels[] = { "w", "grad" };
	int64_t dims[] = { 2, 5 }, left[] = { 0, 1 }, right[] = { 0, 1 };
	struct ingot_node node, plain;
	char text[400];
	OK(ingot_node_new(t->runtime,
	        &(struct ingot_node_options){ .labels = labels,
	                .label_count = 2,
	                .dtype = INGOT_F32,
	                .rank = 2,
	                .dims = dims,
	                .left = left,
	                .right = right,
	                .mode = INGOT_HOSTED_CONSTANT,
	                .provenance = INGOT_BY_USER },
	        &node));
	OK(ingot_node_new(t->runtime, &(struct ingot_node_options){ .dtype = INGOT_I64 }, &plain));
	CHECK(ingot_node_id(node) == 0 && ingot_node_id(plain) == 1);
	ingot_node_label(node, text, sizeof text);
	CHECK(!strcmp(text, "w_grad"));
	ingot_node_label(plain, text, sizeof text);
	CHECK(!strcmp(text, "n1"));
	ingot_node_debug_name(node, text, sizeof text);
	CHECK(!strcmp(text, "n0_w_grad"));
	ingot_node_dims_text(node, false, text, sizeof text);
	CHECK(!strcmp(text, "2x(1+3+1)"));
	ingot_node_dims_text(node, true, text, sizeof text);
	CHECK(!strcmp(text, "0:2x1:(1+3+1)"));
	ingot_node_dims_text(plain, false, text, sizeof text);
	CHECK(!strcmp(text, "scalar"));
	ingot_node_header(node, false, text, sizeof text);
	CHECK(!strcmp(text, "n0 w_grad f32 [2x(1+3+1)] 40 bytes, hosted_constant"));
	ingot_node_header(node, true, text, sizeof text);
	CHECK(!strcmp(text, "n0 w_grad f32 [0:2x1:(1+3+1)] 40 bytes, hosted_constant by 10 (the program), specified"));
	CHECK(ingot_node_header(node, false, text, 5) == 51 && !strcmp(text, "n0 w"));
}

static void f31(struct trial *t)
{
	static const struct {
		enum ingot_name_style style;
		uint32_t id;
		const char *labels[4];
		bool repeated;
		const char *name;
	} cases[] = {
		{ INGOT_NAME_ONLY_IDS, 7, { "w" }, false, "n7" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "w" }, false, "w" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "w" }, true, "n7_w" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "w", "grad" }, false, "w_grad" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "grad", "w" }, true, "n6_w_grad" },
		{ INGOT_NAME_DOT_GRAD, 7, { "w", "grad" }, false, "w.grad" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "2nd", "layer" }, false, "layer_2nd" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "2nd" }, false, "n7_2nd" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "@.", "x" }, false, "x" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "@." }, false, "n7" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "float" }, false, "n7_float" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "threadIdx" }, false, "n7_threadIdx" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "thread_local" }, false, "n7_thread_local" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "grad" }, false, "n6_grad" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "NULL" }, false, "n7_NULL" },
		{ INGOT_NAME_UNDER_GRAD, 7, { "xor_eq" }, false, "n7_xor_eq" },
	};
	char text[64];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t count = 0;
		while (count < 4 && cases[i].labels[count])
			count++;
		size_t length = ingot_name_ident(
		        cases[i].style, cases[i].id, cases[i].labels, count, cases[i].repeated, text, sizeof text);
		if (strcmp(text, cases[i].name))
			check_failed(__FILE__, __LINE__, text);
		CHECK(length == strlen(text));
	}
	t->options.name_style = INGOT_NAME_UNDER_GRAD;
	trial_reopen(t);
	struct ingot_node a = node_f32(t, "same", 1), b = node_f32(t, "same", 1), c = node_f32(t, "other", 1);
	ingot_node_code_name(a, text, sizeof text);
	CHECK(!strcmp(text, "n0_same"));
	ingot_node_code_name(b, text, sizeof text);
	CHECK(!strcmp(text, "n1_same"));
	ingot_node_code_name(c, text, sizeof text);
	CHECK(!strcmp(text, "other"));
}

static void f32_name(struct trial *t)
{
	struct ingot_node node = node_f32(t, "a", 1); /* n0 */
	char text[64];
	static const struct {
		const char *proposed, *kept;
	} steps[] = {
		{ "n0", "n0" },
		{ "ab", "ab" },
		{ "n0", "ab" },
		{ "x", "ab" },
		{ "abc", "abc" },
		{ "n0_a", "n0_a" },
		{ "a_much_longer_one", "n0_a" },
		{ "n0_ab", "n0_ab" },
	};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		OK(ingot_node_code_name_update(node, steps[i].proposed));
		ingot_node_code_name(node, text, sizeof text);
		CHECK(!strcmp(text, steps[i].kept));
	}
}

static void f33(struct trial *t)
{
	enum ingot_name_style style;
	struct ingot_runtime *none;
	static const char *const names[] = { "only_ids", "under_grad", "dot_grad" };
	(void)t;
	for (int i = 0; i < 3; i++) {
		CHECK(ingot_name_style_parse(names[i], &style) && (int)style == i);
		CHECK(!strcmp(ingot_name_style_text(style), names[i]));
	}
	CHECK(!ingot_name_style_parse("fancy", &style));
	FAILS(INGOT_INVALID,
	        ingot_runtime_open(&none, &(struct ingot_runtime_options){ .name_style = (enum ingot_name_style)9 }));
}

static bool is_even(struct ingot_node node, void *user)
{
	(void)user;
	return ingot_node_id(node) % 2 == 0;
}

static void f34(struct trial *t)
{
	struct ingot_node nodes[6], found, list[6];
	char text[2000];
	for (int i = 0; i < 6; i++)
		nodes[i] = node_f32(t, "a", i + 1);
	OK(ingot_node_close(nodes[2]));
	FAILS(INGOT_MISSING, ingot_node_find(t->runtime, 2, &found));
	FAILS(INGOT_STALE, ingot_node_close(nodes[2]));
	struct ingot_node late = node_f32(t, "late", 1); /* in the handle's place, behind in the order */
	CHECK(ingot_node_id(late) == 6);
	CHECK(ingot_node_list(t->runtime, is_even, NULL, list, 6) == 3);
	CHECK(ingot_node_id(list[0]) == 0 && ingot_node_id(list[1]) == 4 && ingot_node_id(list[2]) == 6);
	ingot_node_headers(t->runtime, NULL, NULL, INGOT_LOG_HEADERS, text, sizeof text);
	CHECK(!strstr(text, "n2 ") && strstr(text, "n0 a") && strstr(text, "n1 a") < strstr(text, "n5 a")
	        && strstr(text, "n5 a") < strstr(text, "n6 late"));
}

static int by_id(const void *a, const void *b)
{
	return ingot_node_compare(*(const struct ingot_node *)a, *(const struct ingot_node *)b);
}

static void f35(struct trial *t)
{
	struct ingot_node nodes[20];
	for (int i = 0; i < 20; i++)
		nodes[(i * 7) % 20] = node_f32(t, "a", 1);
	qsort(nodes, 20, sizeof *nodes, by_id);
	for (int i = 0; i < 20; i++)
		CHECK(ingot_node_id(nodes[i]) == (uint32_t)i);
	CHECK(ingot_node_compare(nodes[3], nodes[3]) == 0);
	CHECK(ingot_node_compare(nodes[3], nodes[4]) < 0 && ingot_node_compare(nodes[4], nodes[3]) > 0);
	/* A hash of the id: copies have it, others another, in this run as in the next. */
	struct ingot_node copy = nodes[7];
	uint32_t hashes[20];
	for (int i = 0; i < 20; i++) {
		hashes[i] = ingot_node_hash(nodes[i]);
		for (int k = 0; k < i; k++)
			CHECK(hashes[i] != hashes[k]);
	}
	CHECK(ingot_node_hash(copy) == hashes[7] && hashes[0] && !ingot_node_hash((struct ingot_node){ 0 }));
	/* A set by insertion, in whatever order: the same set; and a map beside it. */
	struct ingot_node set[20];
	int values[20];
	uint32_t count = 0, at;
	for (int i = 0; i < 20; i++) {
		int which = i * 13 % 20;
		CHECK(!ingot_node_set_find(set, count, nodes[which], &at) && at <= count);
		memmove(set + at + 1, set + at, (count - at) * sizeof *set);
		memmove(values + at + 1, values + at, (count - at) * sizeof *values);
		set[at] = nodes[which];
		values[at] = which;
		count++;
		CHECK(ingot_node_set_find(set, count, nodes[which], NULL));
	}
	for (int i = 0; i < 20; i++)
		CHECK(ingot_node_equal(set[i], nodes[i]) && values[i] == i
		        && ingot_node_set_find(set, count, nodes[i], &at) && at == (uint32_t)i);
	CHECK(!ingot_node_set_find(NULL, 0, nodes[0], &at) && at == 0);
	struct ingot_node closed = nodes[9];
	OK(ingot_node_close(closed));
	trial_reopen(t); /* fresh: the same ids, the same hashes */
	for (int i = 0; i < 20; i++)
		CHECK(ingot_node_hash(node_f32(t, "b", 2)) == hashes[i]);
}

static void f36(struct trial *t)
{
	struct ingot_node node = node_f32(t, "a", 1);
	char text[300];
	OK(ingot_node_note(node, "in shared memory"));
	ingot_node_header(node, true, text, sizeof text);
	CHECK(strstr(text, "| in shared memory"));
	OK(ingot_node_note(node, "in registers"));
	ingot_node_header(node, true, text, sizeof text);
	CHECK(strstr(text, "| in registers") && !strstr(text, "shared"));
	ingot_node_header(node, false, text, sizeof text);
	CHECK(!strstr(text, "registers"));
}

static void f37(struct trial *t)
{
	char text[200];
	(void)t;
	for (uint32_t mode = 0; mode < 64; mode++)
		for (int sharing = 0; sharing <= INGOT_SHARED; sharing++) {
			uint32_t read = 99;
			enum ingot_sharing how;
			ingot_mode_text(mode, (enum ingot_sharing)sharing, text, sizeof text);
			CHECK(ingot_mode_parse(text, &read, &how) && read == mode && (int)how == sharing);
		}
	uint32_t mode;
	enum ingot_sharing sharing;
	CHECK(!ingot_mode_parse("somewhere", &mode, &sharing) && !ingot_mode_parse("local sometimes", &mode, &sharing)
	        && !ingot_mode_parse("", &mode, &sharing) && !ingot_mode_parse("somewhere|local", &mode, &sharing));
	for (int d = 0; d < 120; d++) {
		enum ingot_dtype dtype;
		if (ingot_dtype_bits((enum ingot_dtype)d))
			CHECK(ingot_dtype_parse(ingot_dtype_name((enum ingot_dtype)d), &dtype) && (int)dtype == d);
	}
	enum ingot_dtype dtype;
	enum ingot_precision level;
	CHECK(!ingot_dtype_parse("?", &dtype) && !ingot_dtype_parse("float", &dtype));
	for (int p = 0; p < 3; p++)
		CHECK(ingot_precision_parse(ingot_precision_name((enum ingot_precision)p), &level) && (int)level == p);
	CHECK(!ingot_precision_parse("perhaps", &level));
	/* What configures: print, parse, equal; no two alike. */
	enum ingot_parallelism parallelism;
	enum ingot_merge merge;
	enum ingot_slab_mode slab;
	enum ingot_name_style style;
	static const char *const words[][3] = { { "for_copying", "only_devices", "most_streams" },
		{ "none", "copy", "streaming" }, { "private", "shared", "pinned" },
		{ "only_ids", "under_grad", "dot_grad" } };
	for (int i = 0; i < 3; i++) {
		CHECK(!strcmp(ingot_parallelism_name((enum ingot_parallelism)i), words[0][i]));
		CHECK(ingot_parallelism_parse(words[0][i], &parallelism) && (int)parallelism == i);
		CHECK(!strcmp(ingot_merge_name((enum ingot_merge)i), words[1][i]));
		CHECK(ingot_merge_parse(words[1][i], &merge) && (int)merge == i);
		CHECK(!strcmp(ingot_slab_mode_name((enum ingot_slab_mode)i), words[2][i]));
		CHECK(ingot_slab_mode_parse(words[2][i], &slab) && (int)slab == i);
		CHECK(!strcmp(ingot_name_style_text((enum ingot_name_style)i), words[3][i]));
		CHECK(ingot_name_style_parse(words[3][i], &style) && (int)style == i);
	}
	CHECK(!strcmp(ingot_parallelism_name((enum ingot_parallelism)3), "?")
	        && !strcmp(ingot_merge_name((enum ingot_merge)9), "?")
	        && !strcmp(ingot_slab_mode_name((enum ingot_slab_mode) - 1), "?")
	        && !strcmp(ingot_name_style_text((enum ingot_name_style)3), "?"));
	merge = INGOT_MERGE_COPY;
	CHECK(!ingot_merge_parse("move", &merge) && merge == INGOT_MERGE_COPY && !ingot_merge_parse(NULL, &merge)
	        && !ingot_merge_parse("copy", NULL));
	CHECK(!ingot_parallelism_parse("?", &parallelism) && !ingot_slab_mode_parse("", &slab));
	for (int s = 0; s < INGOT_STATUS_COUNT; s++)
		CHECK(ingot_status_name((enum ingot_status)s)[0] == 'I'
		        && ingot_status_text((enum ingot_status)s)[0] != '?');
	CHECK(!strcmp(ingot_status_name(INGOT_STATUS_COUNT), "?")
	        && !strcmp(ingot_status_text((enum ingot_status) - 1), "?"));
}

const struct row rows_node[] = {
	{ "F1", "-", "virtual", NULL, "lives in the generator", NULL },
	{ "F2", "-", "local", NULL, "lives in the generator", NULL },
	{ "F3", "INGOT_ON_DEVICE", "state_on_device", f3, NULL, NULL },
	{ "F4", "INGOT_HOSTED", "hosted_without_transfers", f4, NULL, NULL },
	{ "F5", "enum ingot_mode", "open_modes", f5, NULL, NULL },
	{ "F6", "INGOT_HOSTED_VOLATILE", "memory_types", f6, NULL, NULL },
	{ "F7", "enum ingot_provenance", "provenance", f7, NULL, NULL },
	{ "F8", "ingot_mode_settle", "most_local", f8, NULL, NULL },
	{ "F9", "ingot_mode_update", "mode_matrix", f9, NULL, NULL },
	{ "F10", "ingot_sharing_update", "sharing_matrix", f10, NULL, NULL },
	{ "F11", "ingot_node_is_virtual", "answers_stay", f11, NULL, NULL },
	{ "F12", "ingot_mode_known_virtual", "truth_table", f12, NULL, NULL },
	{ "F13", "-", "inference_from_code", NULL, "lives in the generator", NULL },
	{ "F14", "ingot_precision_update", "precision", f14, NULL, NULL },
	{ "F15", "ingot_dtype_promote", "promotion", f15, NULL, NULL },
	{ "F16", "ingot_runtime_options.default_dtype", "default_precision", f16, NULL, NULL },
	{ "F30", "ingot_node_header", "words", f30, NULL, NULL },
	{ "F31", "ingot_name_ident", "identifiers", f31, NULL, NULL },
	{ "F32", "ingot_node_code_name_update", "code_names", f32_name, NULL, NULL },
	{ "F33", "ingot_name_style_parse", "styles", f33, NULL, NULL },
	{ "F34", "ingot_node_find", "registry", f34, NULL, NULL },
	{ "F35", "ingot_node_compare", "order_by_id", f35, NULL, NULL },
	{ "F36", "ingot_node_note", "notes", f36, NULL, NULL },
	{ "F37", "ingot_mode_parse", "print_and_parse", f37, NULL, NULL },
	{ "F38", "-", "seven_modes", NULL, "lives in the generator", NULL },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
