/* test_template.c: the C side of templates: values, functions, filters, tests and objects in C; errors, limits. */
#include "unit.h"
#include "ingot/template.h"
#include "base/embedded.h"
#include <sys/stat.h>
#include <unistd.h>

struct source {
	const char *name, *text;
};

static bool load(void *user, struct build *build, const char *name, struct mapped *source)
{
	(void)build;
	for (const struct source *at = user; at->name; at++)
		if (!strcmp(at->name, name)) {
			*source = (struct mapped){ .at = (const uint8_t *)at->text, .bytes = strlen(at->text) };
			return true;
		}
	return false;
}

/* a.at(p, lane=v) -> "a_PTR[p * 16 + v]": an expression printed by C for a template's loop. */
static struct value address(struct template_call *call)
{
	const char *name = call->user;
	return value_printf(call->arena, "%s[%lld * 16 + %lld]", name, (long long)call_int(call, 0, 0),
	        (long long)call_int(call, 1, 7));
}

static struct value shout(struct template_call *call)
{
	return value_printf(call->arena, "%s%s", call_string(call, 0, ""), call_string(call, 1, "!"));
}

static struct value is_lanes(struct template_call *call) { return value_bool(call_int(call, 0, 0) % 8 == 0); }

static bool tensor_get(struct template_call *call, void *user, const char *attribute, struct value *out)
{
	const int *dims = user;
	(void)call;
	if (!strcmp(attribute, "rank"))
		*out = value_int(dims[0]);
	else
		return false;
	return true;
}
static const struct object_class tensor_class = { .name = "tensor", .get = tensor_get };

struct run {
	struct build build;
	struct text out;
	struct environment *environment;
	struct value globals;
};

static void start(struct run *run, const struct source *sources, const struct template_settings *settings)
{
	static int dims[] = { 4 };
	build_init(&run->build);
	text_init(&run->out, &run->build);
	assert_int_equal(BUILD_TRY(&run->build), true);
	struct arena *arena = run->build.arena;
	run->environment = environment_new(&run->build, arena, settings, load, (void *)sources);
	environment_filter(run->environment, "shout", "value with?", shout, NULL);
	environment_test(run->environment, "lanes", "value", is_lanes, NULL);
	environment_set(run->environment, "version", value_string("7"));
	run->globals = value_dict(arena);
	struct value a = value_dict(arena), params = value_list(arena), kernel = value_dict(arena);
	value_set(a, "at", value_function(arena, "at", "row lane?", address, "a"));
	value_list_add(params, value_string("const float *a"));
	value_list_add(params, value_string("float *y"));
	value_set(kernel, "name", value_string("conv_3"));
	value_set(kernel, "params", params);
	value_set(run->globals, "kernel", kernel);
	value_set(run->globals, "a", a);
	value_set(run->globals, "x", value_object(arena, &tensor_class, dims));
}

/* Renders `main`; the text, or the message where it fails. */
static const char *render(struct run *run)
{
	run->out.count = 0;
	run->build.code = EXIT_RIGHT;
	if (BUILD_TRY(&run->build))
		template_render(run->environment, "main", run->globals, &run->out);
	return run->build.code ? run->build.message : run->out.count ? run->out.at : "";
}

static void end(struct run *run)
{
	text_release(&run->out);
	build_release(&run->build);
}

static void values_and_functions(void **state)
{
	(void)state;
	static const struct source sources[] = { { "main",
		                                         "void {{ kernel.name }}({{ kernel.params | join(', ') }})\n"
		                                         "//% for p in range(2)\n"
		                                         "    {{ a.at(p) }} {{ a.at(lane=p, row=9) }}\n"
		                                         "//% endfor\n"
		                                         "{{ 'hi' | shout }} {{ 'hi' | shout(with='?') }} {{ 16 is "
		                                         "lanes }} {{ x.rank }} {{ version }}\n" },
		{ 0 } };
	struct run run;
	start(&run, sources, &template_settings_kernels);
	assert_string_equal(render(&run),
	        "void conv_3(const float *a, float *y)\n    a[0 * 16 + 7] a[9 * 16 + 0]\n"
	        "    a[1 * 16 + 7] a[9 * 16 + 1]\nhi! hi? True 4 7\n");
	assert_string_equal(render(&run), run.out.at); /* compiled once, rendered again */
	end(&run);
}

static void errors_say_where(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "{{ kernel.nmae }}", "main:1:11: a dict has no member 'nmae'; did you mean 'name'?" },
		{ "{{ kernal }}", "main:1:4: 'kernal' is undefined; did you mean 'kernel'?" },
		{ "\n{{ a.at() }}", "main:2:6: function at: argument row is missing" },
		{ "{{ a.at(1, 2, 3) }}", "main:1:6: function at: takes 2 arguments, 3 are given" },
		{ "{{ a.at(1, lame=3) }}", "main:1:6: function at: has no argument named lame" },
		{ "{{ a.at('x') }}", "main:1:6: at: row is an integer, not a str" },
		{ "{{ x.rnk }}", "main:1:6: a tensor has no member 'rnk'" },
		{ "{% fro i in x %}", "main:1:4: unknown tag 'fro'; did you mean 'for'?" },
		{ "{{ 1|uper }}", "main:1:6: there is no filter named 'uper'; did you mean 'upper'?" },
		{ "{% assert 1 > 2 %}", "main:1:13: assertion failed: 1 > 2" },
		{ "{% fail 'no ' ~ 3 %}", "main:1:4: no 3" },
		{ "{{ 1 + 'a' }}", "main:1:6: '+' is not supported between int and str" },
		{ "{% include 'other' %}", "main:1:12: there is no template 'other'" },
		{ "{{ 9223372036854775807 + 1 }}", "main:1:24: the result needs more than 64 bits" },
		{ "{% for i in [1] %}", "main:1:18: the template ends inside this for: endfor is missing" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct source sources[] = { { "main", cases[i].text }, { 0 } };
		struct run run;
		start(&run, sources, NULL);
		assert_string_equal(render(&run), cases[i].message);
		assert_int_equal(run.build.code, EXIT_INVALID);
		assert_non_null(strchr(run.build.detail, '^'));
		end(&run);
	}
}

static void chain_is_told(void **state)
{
	static const struct source sources[] = { { "main", "{% from 'lib' import tile %}\n\n{{ tile(3) }}" },
		{ "lib",
		        "{% macro tile(n) %}\n  {% include 'body' %}"
		        "{% endmacro %}" },
		{ "body", "ok\n {{ n.rows }}\n" }, { 0 } };
	struct run run;
	(void)state;
	start(&run, sources, NULL);
	assert_string_equal(render(&run), "body:2:7: an int has no member 'rows'");
	assert_string_equal(run.build.detail,
	        "    2 |  {{ n.rows }}\n      |       ^\n      in include body, from lib:2:14\n"
	        "      in macro tile, from main:3:4\n");
	end(&run);
}

static void limits_end_it(void **state)
{
	static const struct {
		const char *text;
		struct template_settings settings;
		const char *part;
	} cases[] = {
		{ "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", { 0 }, "nested more than 4000 deep" },
		{ "{% include 'main' %}", { 0 }, "nested more than 4000 deep" },
		{ "{% for i in range(1000000000000) %}{% endfor %}", { .loop_limit = 1000 }, "more than 1000 rounds" },
		{ "{% for i in range(100000) %}xxxxxxxxxx{% endfor %}", { .output_limit = 5000 }, "text of more than" },
		{ "{% set x = namespace(l=[1]) %}{% for i in range(100) %}{% set x.l = x.l + x.l %}"
		  "{% endfor %}",
		        { .memory_limit = 1 << 20 }, "out of memory" },
		{ "{{ 'ab' * 999999999999 }}", { 0 }, "too long" },
		{ "{{ '%999999999d' % 1 }}", { 0 }, "too wide" },
		{ "{% for i in [1] %}{% for j in kernel.params %}{% do kernel.params.append(1) %}{% endfor %}{% endfor "
		  "%}",
		        { .memory_limit = 1 << 22 }, "out of memory" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct source sources[] = { { "main", cases[i].text }, { 0 } };
		struct run run;
		start(&run, sources, &cases[i].settings);
		assert_non_null(strstr(render(&run), cases[i].part));
		assert_int_equal(run.build.code, EXIT_LIMIT);
		assert_int_equal(strncmp(run.build.message, "main:1:", 7), 0);
		assert_int_equal(run.build.arena->limit, 0);
		end(&run);
	}
}

/* The filters and statements that Jinja2 has not. */
static void what_is_ours(void **state)
{
	static const struct {
		const char *text, *result;
	} cases[] = {
		{ "{{ 255|hex }} {{ 255|hex(4) }} {{ (-1)|hex(width=2) }} {{ 0|hex }}", "0xff 0x00ff -0x01 0x0" },
		{ "{{ 'a\"b\\\\c\nd\te\001f?\?=\u00e9'|cstring }}", "\"a\\\"b\\\\c\\nd\\te\\001f?\\077=\\303\\251\"" },
		{ "{{ 5|cstring }}{{ ''|cstring }}", "\"5\"\"\"" },
		{ "{{ 13|align(8) }} {{ 16|align(8) }} {{ 0|align(64) }} {{ (-13)|align(8) }}", "16 16 0 -8" },
		{ "{{ 1|align(0) }}", "main:1:6: align: to a multiple of 0" },
		{ "{{ 9223372036854775807|align(2) }}", "main:1:24: the result needs more than 64 bits" },
		{ "{{ 1|hex(65) }}", "main:1:6: hex: a width of 0 to 64 digits" },
		{ "{{ 'a'|hex }}", "main:1:8: hex: value is an integer, not a str" },
		{ "{% assert 2 > 1 %}ok{% assert true, 1/0 %}", "ok" },
		{ "{% assert [] , 'tile ' ~ 3 ~ ' too high' %}", "main:1:11: tile 3 too high" },
		{ "{% if false %}{% fail 'never' %}{% endif %}ok", "ok" },
		{ "{% fail %}", "main:1:9: expected an expression, got end of statement block" },
		{ "{{ [1, 2]|random }}", "main:1:11: random: generated code is the same each time" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct source sources[] = { { "main", cases[i].text }, { 0 } };
		struct run run;
		start(&run, sources, NULL);
		assert_string_equal(render(&run), cases[i].result);
		end(&run);
	}
}

/* A template of the user's own comes before the built-in one, which it can still include. */
static void own_templates_come_first(void **state)
{
	char folder[] = "/tmp/ingot_own_XXXXXX", path[64];
	struct build build;
	struct mapped source;
	(void)state;
	assert_non_null(mkdtemp(folder));
	struct template_folders places = { folder };
	const struct embedded_file *built_in = embedded_find("c/loops.jinja");
	assert_non_null(built_in);
	assert_null(embedded_find("c/nope.jinja"));
	for (size_t i = 0; i < embedded_count; i++)
		assert_ptr_equal(embedded_find(embedded_files[i].name), &embedded_files[i]);
	snprintf(path, sizeof path, "%s/c", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/c/loops.jinja", folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("own", file);
	fclose(file);
	build_init(&build);
	assert_int_equal(BUILD_TRY(&build), true);
	assert_true(load_embedded(&places, &build, "c/loops.jinja", &source));
	assert_int_equal(source.bytes, 3);
	file_unmap(source);
	assert_true(load_embedded(&places, &build, "built-in/c/loops.jinja", &source));
	assert_ptr_equal(source.at, built_in->at);
	assert_true(load_embedded(&places, &build, "common/scalars.jinja", &source));
	assert_true(load_embedded(NULL, &build, "c/loops.jinja", &source));
	assert_ptr_equal(source.at, built_in->at);
	assert_false(load_embedded(&places, &build, "c/../c/loops.jinja", &source));
	assert_false(load_embedded(&places, &build, "built-in/nope", &source));
	build_release(&build);
	unlink(path);
	snprintf(path, sizeof path, "%s/c", folder);
	rmdir(path);
	rmdir(folder);
}

/* What a loop nests deeper and deeper does not end the stack. */
static void deep_values_are_refused(void **state)
{
	static const struct {
		const char *use, *part;
	} cases[] = {
		{ "{{ t }}", "cannot be printed" },
		{ "{{ {t: 1} }}", "cannot be a key" },
		{ "{{ t == u }}", "deep" },
		{ "{{ t < u }}", "deep" },
		{ "{{ t|tojson }}", "inside each other" },
		{ "{{ t|pprint }}", "inside each other" },
		{ "{{ [t]|unique|list }}", "cannot be a key" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[400];
		snprintf(text, sizeof text,
		        "{%% set n = namespace(t=(), u=()) %%}{%% for i in range(200000) %%}{%% set n.t = (n.t,) %%}"
		        "{%% set n.u = (n.u,) %%}{%% endfor %%}{%% set t = n.t %%}{%% set u = n.u %%}%s",
		        cases[i].use);
		struct source sources[] = { { "main", text }, { 0 } };
		struct run run;
		start(&run, sources, NULL);
		assert_non_null(strstr(render(&run), cases[i].part));
		assert_int_not_equal(run.build.code, EXIT_RIGHT);
		end(&run);
	}
}

/* A failure of something else does not show the lines of a template. */
static void detail_is_of_one_failure(void **state)
{
	struct source sources[] = { { "main", "{{ nope }}" }, { 0 } };
	struct run run;
	(void)state;
	start(&run, sources, NULL);
	render(&run);
	assert_int_not_equal(run.build.detail[0], 0);
	if (BUILD_TRY(&run.build))
		fail(&run.build, EXIT_USAGE, NULL, "other");
	assert_string_equal(run.build.detail, "");
	end(&run);
}

/* Settings and compiled templates outlive a failure: the environment renders on afterwards. */
static void goes_on_after_a_failure(void **state)
{
	struct source sources[] = { { "main", "{% if x.rank == 4 %}{{ later }}{% endif %}" }, { 0 } };
	struct run run;
	(void)state;
	start(&run, sources, NULL);
	assert_string_equal(render(&run), "main:1:24: 'later' is undefined");
	value_set(run.globals, "later", value_int(5));
	assert_string_equal(render(&run), "5");
	end(&run);
}

/* The example at the head of ingot/template.h; what a function renders meanwhile is a rendering of its own. */
static bool load_file(void *user, struct build *build, const char *name, struct mapped *source)
{
	(void)user;
	*source = file_map(build, name);
	file_keep(build, *source);
	return true;
}

static struct value at(struct template_call *call)
{
	return value_printf(call->arena, "%s[%lld * 8 + %lld]", (const char *)call->user,
	        (long long)call_int(call, 0, 0), (long long)call_int(call, 1, 0));
}

static struct value render_other(struct template_call *call)
{
	struct text text;
	text_init(&text, call->build);
	template_render(call->environment, call_string(call, 0, ""), value_dict(call->arena), &text);
	struct value value = value_copy(call->arena, text.at, text.count);
	text_release(&text);
	return value;
}

static void the_manual(void **state)
{
	char path[] = "/tmp/ingot_manual_XXXXXX", other[] = "/tmp/ingot_manual_XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	fputs("void {{ kernel.name }}()\n//% for row in range(kernel.rows)\n\t{{ x.at(row, lane=1) }};\n//% endfor\n"
	      "{{ other(name) }}{{ row is defined }}\n",
	        file);
	fclose(file);
	file = fdopen(mkstemp(other), "w");
	fputs("{% set row = 1 %}{% for i in range(2) %}{{ i }},{% endfor %}\n", file);
	fclose(file);
	struct build build;
	struct text text;
	(void)state;
	build_init(&build);
	text_init(&text, &build);
	if (BUILD_TRY(&build)) {
		struct arena *arena = build.arena;
		struct environment *environment =
		        environment_new(&build, arena, &template_settings_kernels, load_file, NULL);
		struct value globals = value_dict(arena), kernel = value_dict(arena), x = value_dict(arena);
		value_set(globals, "kernel", kernel);
		value_set(kernel, "name", value_string("conv_3"));
		value_set(kernel, "rows", value_int(2));
		value_set(globals, "x", x);
		value_set(x, "at", value_function(arena, "at", "row lane?", at, "x"));
		value_set(globals, "name", value_string(other));
		environment_function(environment, "other", "name", render_other, NULL);
		template_render(environment, path, globals, &text);
	}
	assert_string_equal(build.message, "");
	assert_string_equal(text.at, "void conv_3()\n\tx[0 * 8 + 1];\n\tx[1 * 8 + 1];\n0,1,False\n");
	text_release(&text);
	build_release(&build);
	unlink(path);
	unlink(other);
}

/* Blocks, variables and comments cannot begin alike. */
static void delimiters_differ(void **state)
{
	static const struct template_settings alike[] = { { .block_start = "{{" }, { .comment_start = "{%" },
		{ .variable_start = "<", .comment_start = "<" } };
	(void)state;
	for (size_t i = 0; i < COUNT(alike); i++) {
		struct build build;
		build_init(&build);
		if (BUILD_TRY(&build)) {
			environment_new(&build, build.arena, &alike[i], load, NULL);
			assert_true(!"these settings were taken");
		}
		assert_int_equal(build.code, EXIT_USAGE);
		build_release(&build);
	}
}

/* Parameters that nobody gave are absent, however many there are. */
static struct value count_given(struct template_call *call)
{
	int64_t given = 0;
	assert_int_equal(call->count, 40);
	for (size_t i = 0; i < call->count; i++)
		given += call_int(call, i, 0) << i;
	return value_int(given);
}

static void many_parameters(void **state)
{
	static const char good[] = "{{ f() }} {{ f(1) }} {{ f(p39=1, p12=1) }} {{ f(*range(2, 5)) }}";
	struct source sources[] = { { "main", "{{ f(1, p20='x') }}" }, { 0 } };
	struct run run;
	char parameters[400] = "";
	(void)state;
	for (int i = 0; i < 40; i++)
		sprintf(parameters + strlen(parameters), "p%d? ", i);
	start(&run, sources, NULL);
	environment_function(run.environment, "f", parameters, count_given, NULL);
	assert_string_equal(render(&run), "main:1:4: f: p20 is an integer, not a str");
	sources[0].text = good;
	end(&run);
	start(&run, sources, NULL);
	environment_function(run.environment, "f", parameters, count_given, NULL);
	assert_string_equal(render(&run), "0 1 549755817984 24");
	end(&run);
}

static const struct source everything[] = {
	{ "main",
	        "{% extends 'base' %}{% import 'lib' as lib %}"
	        "{% from 'lib' import tile as t with context %}{% set v = namespace(n=0) %}"
	        "{% block body %}{{ super() }}{% for i in range(12) if i is odd %}{% set v.n = v.n + i %}"
	        "{{ loop.last }}{{ loop.length }}{% endfor %}"
	        "{% call(x) lib.each([1, 2]) %}{{ x ~ kernel }}{% endcall %}"
	        "{% filter indent(2) | upper %}a\nb{% endfilter %}{{ t(3, b=4) }}"
	        "{% include ['no', 'part'] %}{% for n in [[1, [[2, []]]]] recursive %}{{ n[0] }}"
	        "{{ loop(n[1]) }}{% endfor %}"
	        "{{ [3, 1, 2]|sort|map('string')|join(',') }}{{ kernel|tojson(2) }}"
	        "{{ 'some words to wrap'|wordwrap(6) }}{{ kernel|pprint }}"
	        "{{ '%05.2f %s' % (1.5, kernel.params) }}{{ '{:>6} {!r}'.format(1, 'a') }}"
	        "{{ {'a': 1, 'b': [1.25]} }}{{ 'a,b'.split(',')[::-1] }}"
	        "{{ 'größe ΑΣ'|title|upper }}{{ '%a %#.3g' % ('ß', 2.5) }}{{ '{:é^9}{:#}'.format('ﬁ', 1e16) }}"
	        "{{ 'a b c'.rsplit('b ') }}{{ '٣'|int + '1.5'|float }}{{ kernel.params|sort|unique|list }}"
	        "{{ [{'k': 2}, {'k': 1}]|groupby('k') }}{{ ['b', 'B', 'a']|unique|list }}"
	        "{{ kernel.params|batch(1)|list }}{{ a.at(1, lane=2) }}{{ 'x'|shout }}"
	        "{% with q = 1, (r, s) = (2, 3) %}{{ q + r * s }}{% endwith %}{% set w %}text{% endset %}"
	        "{{ w|replace('t', 'T') }}{{ dict(a=1, **{'b': 2}) }}"
	        "{% set c = cycler(1, 2) %}{{ c.next() }}{% set j = joiner() %}{{ j() }}{{ j() }}"
	        "{% do kernel.params.append('more') %}{% endblock %}" },
	{ "base", "<{% block body %}base{% endblock %}>{{ self.body()|length }}" },
	{ "lib",
	        "{% macro each(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}"
	        "{% macro tile(a, b=1) %}{{ a }}{{ b }}{{ varargs }}{{ kwargs }}{% endmacro %}" },
	{ "part", "# part {{ x.rank }}" }, { 0 }
};

static void every_allocation_may_fail(void **state)
{
	struct run run;
	char *right;
	long n = 0;
	(void)state;
	start(&run, everything, NULL);
	right = strdup(render(&run));
	assert_int_equal(run.build.code, EXIT_RIGHT);
	assert_non_null(strstr(right, "<base"));
	end(&run);
	for (bool failed = true; failed; n++) {
		start(&run, everything, NULL);
		arena_fail_after(n + 1);
		const char *got = render(&run);
		arena_fail_after(0);
		failed = run.build.code != EXIT_RIGHT;
		if (failed) {
			assert_int_equal(run.build.code, EXIT_LIMIT);
			assert_non_null(strstr(run.build.message, "out of memory"));
			if (n % 7 == 0) /* what is half done does no harm to what comes after */
				got = render(&run);
		}
		if (!failed)
			assert_string_equal(got, right);
		end(&run);
	}
	assert_in_range(n, 300, 100000);
	free(right);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_and_functions),
		cmocka_unit_test(errors_say_where),
		cmocka_unit_test(chain_is_told),
		cmocka_unit_test(limits_end_it),
		cmocka_unit_test(what_is_ours),
		cmocka_unit_test(own_templates_come_first),
		cmocka_unit_test(deep_values_are_refused),
		cmocka_unit_test(detail_is_of_one_failure),
		cmocka_unit_test(goes_on_after_a_failure),
		cmocka_unit_test(the_manual),
		cmocka_unit_test(delimiters_differ),
		cmocka_unit_test(many_parameters),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
