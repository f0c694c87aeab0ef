/* compile.c: an environment, and names of templates -> compiled templates, each once. */
#include "template/engine.h"

const struct template_settings template_settings_kernels = {
	.line_statement = "//%",
	.trim_blocks = true,
	.lstrip_blocks = true,
	.keep_trailing_newline = true,
};

/* ---- filters and tests are found once, not each time they are used ---- */
const struct builtin *builtin_find(const struct dict *dict, const char *name, size_t count)
{
	struct value *value = dict_find_string(dict, name, count, string_hash(name, count));
	return value ? value->function->builtin : NULL;
}

static void link_nodes(
        struct environment *environment, struct template *template, const struct nodes *nodes, bool guarded);

static NORETURN void unknown(struct environment *environment, struct template *template, const struct node *node)
{
	bool filter = node->kind == NODE_FILTER;
	const struct dict *dict = filter ? environment->filters : environment->tests;
	struct nearest nearest = { .name = node->name, .length = strlen(node->name) };
	FOR (i, dict->count)
		nearest_try(&nearest, dict->at[i].key.bytes, dict->at[i].key.count);
	const char *what = filter ? "filter" : "test",
	           *message = nearest.best
	        ? arena_printf(environment->arena, "there is no %s named '%.100s'; did you mean '%s'?", what,
	                node->name, nearest.best)
	        : arena_printf(environment->arena, "there is no %s named '%.100s'", what, node->name);
	template_fail_at(environment, template, node->position, NULL, EXIT_INVALID, message);
}

/* `guarded`: inside an if, where an unknown filter is an error only when it is reached, as in Jinja2. */
static void link_node(struct environment *environment, struct template *template, struct node *node, bool guarded)
{
	if (!node)
		return;
	if (node->kind == NODE_FILTER || node->kind == NODE_TEST) {
		node->builtin = builtin_find(node->kind == NODE_FILTER ? environment->filters : environment->tests,
		        node->name, strlen(node->name));
		if (!node->builtin && !guarded)
			unknown(environment, template, node);
	}
	bool inside = guarded || node->kind == NODE_IF || node->kind == NODE_CONDITION;
	link_node(environment, template, node->a, inside);
	link_node(environment, template, node->b, inside);
	link_node(environment, template, node->c, inside);
	link_nodes(environment, template, &node->list, inside);
	link_nodes(environment, template, &node->other, inside);
	link_nodes(environment, template, &node->body, inside);
	if (!node->arguments)
		return;
	link_nodes(environment, template, &node->arguments->list, inside);
	FOR_ALL (i, node->arguments->keywords)
		link_node(environment, template, node->arguments->keywords.at[i].value, inside);
	link_node(environment, template, node->arguments->splat, inside);
	link_node(environment, template, node->arguments->keyword_splat, inside);
}

static void link_nodes(
        struct environment *environment, struct template *template, const struct nodes *nodes, bool guarded)
{
	FOR (i, nodes->count)
		link_node(environment, template, nodes->at[i], guarded);
}

/* ---- the source, with every newline made \n ---- */
static void take_source(struct environment *environment, struct template *template, struct mapped source)
{
	if (source.bytes >= UINT32_MAX)
		fail(environment->build, EXIT_LIMIT, template->name, "a template of 4 GiB or more");
	char *copy = arena_alloc(environment->arena, source.bytes + 1), *to = copy;
	const char *at = (const char *)source.at, *end = at + source.bytes;
	if (!source.bytes || !memchr(at, '\r', source.bytes)) {
		if (source.bytes)
			memcpy(copy, at, source.bytes);
		to += source.bytes;
	} else
		for (; at < end; at++) {
			*to++ = *at == '\r' ? '\n' : *at;
			if (*at == '\r' && at + 1 < end && at[1] == '\n')
				at++;
		}
	if (to > copy && to[-1] == '\n' && !environment->settings.keep_trailing_newline)
		to--;
	*to = 0;
	template->source = copy;
	template->length = (size_t)(to - copy);
}

struct template *template_get(struct environment *environment, const char *name)
{
	struct mapped source = { 0 };
	name = name_is(environment->build->names, name);
	FOR_ALL (i, environment->templates)
		if (environment->templates.at[i]->name == name)
			return environment->templates.at[i];
	if (!environment->load || !environment->load(environment->user, environment->build, name, &source))
		return NULL;
	struct template *template = arena_new(environment->arena, struct template);
	template->name = name;
	take_source(environment, template, source);
	template_parse(environment, template, template_lex(environment, template));
	link_nodes(environment, template, &template->body, false);
	push(environment->arena, &environment->templates, template);
	return template;
}

void template_compile(struct environment *environment, const char *name)
{
	if (!template_get(environment, name))
		fail(environment->build, EXIT_INVALID, NULL, "there is no template '%.200s'", name);
}

/* ---- environment ---- */
static void check_delimiters(struct build *build, const struct template_settings *settings)
{
	const char *const begins[] = { settings->block_start, settings->variable_start, settings->comment_start };
	FOR (i, COUNT(begins))
		if (!strcmp(begins[i], begins[(i + 1) % COUNT(begins)]))
			fail(build, EXIT_USAGE, NULL,
			        "blocks, variables and comments begin differently; '%s' stands for two of them",
			        begins[i]);
}

static void defaults(struct template_settings *settings)
{
	const struct {
		const char **string, *other;
	} strings[] = {
		{ &settings->block_start, "{%" },
		{ &settings->block_end, "%}" },
		{ &settings->variable_start, "{{" },
		{ &settings->variable_end, "}}" },
		{ &settings->comment_start, "{#" },
		{ &settings->comment_end, "#}" },
		{ &settings->newline, "\n" },
	};
	FOR (i, COUNT(strings))
		if (!*strings[i].string || !**strings[i].string)
			*strings[i].string = strings[i].other;
	if (settings->line_statement && !*settings->line_statement)
		settings->line_statement = NULL;
	if (settings->line_comment && !*settings->line_comment)
		settings->line_comment = NULL;
	settings->output_limit = settings->output_limit ? settings->output_limit : (size_t)1 << 30;
	settings->memory_limit = settings->memory_limit ? settings->memory_limit : (size_t)1 << 30;
	settings->loop_limit = settings->loop_limit ? settings->loop_limit : 100000000;
	settings->depth_limit = settings->depth_limit ? settings->depth_limit : 4000;
}

static void add_builtins(struct environment *environment, struct dict *dict, const struct builtin *builtin)
{
	for (; builtin->name; builtin++)
		dict_set(dict, value_string(builtin->name), string_hash(builtin->name, strlen(builtin->name)),
		        value_function(environment->arena, builtin->name, builtin->parameters, builtin->function,
		                builtin->user));
}

struct environment *environment_new(struct build *build, struct arena *arena, const struct template_settings *settings,
        template_loader *load, void *user)
{
	struct environment *environment = arena_new(arena, struct environment);
	environment->build = build;
	environment->arena = arena;
	environment->settings = settings ? *settings : (struct template_settings){ 0 };
	defaults(&environment->settings);
	check_delimiters(build, &environment->settings);
	environment->load = load;
	environment->user = user;
	environment->globals = value_dict(arena).dict;
	environment->filters = value_dict(arena).dict;
	environment->tests = value_dict(arena).dict;
	add_builtins(environment, environment->globals, builtin_globals);
	add_builtins(environment, environment->filters, filters_text);
	add_builtins(environment, environment->filters, filters_list);
	add_builtins(environment, environment->tests, builtin_tests);
	environment->words = (struct words){
		.loop = name_is(build->names, "loop"),
		.caller = name_is(build->names, "caller"),
		.varargs = name_is(build->names, "varargs"),
		.kwargs = name_is(build->names, "kwargs"),
		.self = name_is(build->names, "self"),
		.super = name_is(build->names, "super"),
	};
	return environment;
}

void environment_set(struct environment *environment, const char *name, struct value value)
{
	value_set(dict_value(environment->globals), name, value);
}

void environment_function(struct environment *environment, const char *name, const char *parameters,
        template_function *function, void *user)
{
	environment_set(environment, name, value_function(environment->arena, name, parameters, function, user));
}

void environment_filter(struct environment *environment, const char *name, const char *parameters,
        template_function *function, void *user)
{
	value_set(dict_value(environment->filters), name,
	        value_function(environment->arena, name, parameters, function, user));
}

void environment_test(struct environment *environment, const char *name, const char *parameters,
        template_function *function, void *user)
{
	value_set(dict_value(environment->tests), name,
	        value_function(environment->arena, name, parameters, function, user));
}

/* ---- a rendering ---- */
/* Whatever fails inside, also in functions of others, passes through here: limits are put back, and a failure that did
 * not come with a place in a template gets the one that was being rendered. */
void template_render(struct environment *environment, const char *name, struct value globals, struct text *out)
{
	struct build *build = environment->build;
	struct arena *arena = globals.kind == VALUE_DICT ? globals.dict->arena : environment->arena;
	struct renderer *const renderer =
	        arena_new(arena, struct renderer); /* not on the stack: it changes after setjmp */
	*renderer = (struct renderer){ .environment = environment, .build = build, .arena = arena, .out = out };
	struct renderer *volatile outer = environment->running;
	jmp_buf here, *volatile before = build->out;
	size_t arena_limit = arena->limit, text_limit = out->limit, used = arena->used, count = out->count, limit;
	if (size_add(used, environment->settings.memory_limit, &limit) && (!arena_limit || limit < arena_limit))
		arena->limit = limit;
	if (size_add(count, environment->settings.output_limit, &limit) && (!text_limit || limit < text_limit))
		out->limit = limit;
	build->out = &here;
	environment->told = false;
	int failed = setjmp(here);
	if (!failed) {
		struct template *template = template_get(environment, name);
		if (!template)
			fail(build, EXIT_INVALID, NULL, "there is no template '%.200s'", name);
		struct context *context = arena_new(arena, struct context);
		context->template = template;
		context->globals = globals.kind == VALUE_DICT ? globals.dict : NULL;
		renderer->template = template;
		environment->running = renderer;
		render_template(renderer, context);
	}
	arena->limit = arena_limit;
	out->limit = text_limit;
	build->out = before;
	environment->running = outer;
	if (!failed)
		return;
	if (!environment->told && renderer->template) {
		char message[sizeof build->message];
		memcpy(message, build->message, sizeof message);
		template_fail_at(environment, renderer->template, renderer->place ? renderer->place->position : 0,
		        renderer->trace, build->code, message);
	}
	longjmp(*build->out, 1);
}

static struct renderer printer(struct environment *environment, struct text *out)
{
	if (environment->running) {
		struct renderer renderer = *environment->running;
		renderer.out = out;
		return renderer;
	}
	struct template *template = arena_new(environment->arena, struct template);
	template->name = "value";
	template->source = "";
	return (struct renderer){ .environment = environment,
		.build = environment->build,
		.arena = environment->arena,
		.out = out,
		.template = template };
}

void value_print(struct environment *environment, struct value value, struct text *out)
{
	struct renderer renderer = printer(environment, out);
	print_value(&renderer, value, out);
}

void value_print_repr(struct environment *environment, struct value value, struct text *out)
{
	struct renderer renderer = printer(environment, out);
	print_repr(&renderer, value, out);
}
