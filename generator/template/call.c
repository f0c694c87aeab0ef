/* call.c: a call -> its arguments bound to parameters, and the function entered. */
#include "template/engine.h"
#include <stdio.h>

enum { FEW = 12 }; /* arguments that need no memory of their own */

/* The next word of a parameter list: its length, and its mark ('?', '*', '2' for two stars, or 0).  A parameter whose
 * name begins with a dot is given by position only. */
static bool next_parameter(const char **at, const char **name, size_t *length, char *mark)
{
	while (**at == ' ')
		++*at;
	if (!**at)
		return false;
	*name = *at;
	*at += strcspn(*at, " ");
	*length = (size_t)(*at - *name);
	*mark = **name == '*' ? (*length == 2 ? '2' : '*') : (*name)[*length - 1] == '?' ? '?' : 0;
	if (*mark == '?')
		--*length;
	return true;
}

/* Binds arguments to the parameters of a builtin and calls it.  `self` comes first, unless it is absent. */
struct value call_builtin(struct renderer *r, const struct builtin *builtin, struct value self, const struct value *at,
        size_t count, const struct argument *named, size_t named_count, const char *what)
{
	struct value few[FEW], *slots = few;
	struct argument few_named[FEW], *rest = few_named;
	size_t given = count + (self.kind != VALUE_ABSENT), bound = 0, rest_count = 0, used = 0, length, room = FEW;
	const char *parameter = builtin->parameters, *name;
	char mark;
	bool open = false, keywords = false;
	if (given > room)
		slots = arena_new_array(r->arena, struct value, room = given);
	if (named_count > FEW)
		rest = arena_new_array(r->arena, struct argument, named_count);
	for (; next_parameter(&parameter, &name, &length, &mark);) {
		if (mark == '*') {
			open = true;
			continue;
		}
		if (mark == '2') {
			keywords = true;
			continue;
		}
		struct value value = { 0 };
		if (bound < given)
			value = self.kind == VALUE_ABSENT ? at[bound] : bound ? at[bound - 1] : self;
		FOR (i, named_count)
			if (named[i].name.count == length && !memcmp(named[i].name.bytes, name, length)) {
				if (bound < given)
					render_fail(r, "%s %s: argument %.*s is given twice", what, builtin->name,
					        (int)length, name);
				value = named[i].value;
				used++;
			}
		if (value.kind == VALUE_ABSENT && mark != '?')
			render_fail(r, "%s %s: argument %.*s is missing", what, builtin->name,
			        (int)length - (*name == '.'), name + (*name == '.'));
		if (bound == room) {
			struct value *more = arena_new_array(r->arena, struct value, room *= 2);
			slots = memcpy(more, slots, bound * sizeof *slots);
		}
		slots[bound++] = value;
	}
	if (given > bound && !open)
		render_fail(r, "%s %s: takes %zu argument%s, %zu are given", what, builtin->name, bound,
		        bound == 1 ? "" : "s", given);
	for (; bound < given; bound++)
		slots[bound] = self.kind == VALUE_ABSENT ? at[bound] : bound ? at[bound - 1] : self;
	for (size_t i = 0; i < named_count && used < named_count; i++) {
		bool known = false;
		for (parameter = builtin->parameters; next_parameter(&parameter, &name, &length, &mark);)
			known |= mark != '*' && mark != '2' && named[i].name.count == length
			        && !memcmp(named[i].name.bytes, name, length);
		if (!known && !keywords)
			render_fail(r, "%s %s: has no argument named %.*s", what, builtin->name,
			        (int)named[i].name.count, named[i].name.bytes);
		if (!known)
			rest[rest_count++] = named[i];
	}
	struct template_call call = { r->environment, r->build, r->arena, builtin->user, builtin->name, slots, bound,
		rest, rest_count, r, builtin->parameters };
	return builtin->function(&call);
}

struct value function_of(struct renderer *r, const struct builtin *builtin, struct value self)
{
	struct function *function = arena_new(r->arena, struct function);
	function->builtin = builtin;
	function->self = self;
	return (struct value){ .kind = VALUE_FUNCTION, .function = function };
}

struct value call_value(struct renderer *r, struct value value, const struct value *at, size_t count,
        const struct argument *named, size_t named_count)
{
	if (value.kind == VALUE_FUNCTION && value.function->macro)
		return render_macro(r, value.function, at, count, named, named_count);
	if (value.kind == VALUE_FUNCTION)
		return call_builtin(
		        r, value.function->builtin, value.function->self, at, count, named, named_count, "function");
	if (value.kind == VALUE_OBJECT && value.object->class->call) {
		const struct builtin builtin = { value.object->class->name, "* **", value.object->class->call,
			value.object->user };
		return call_builtin(r, &builtin, (struct value){ 0 }, at, count, named, named_count, "object");
	}
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(r, value);
	render_fail(r, "%s cannot be called", value_a(value));
}

/* Arguments evaluated, with *splats and **splats spread. */
struct bundle {
	struct value few[FEW], *at;
	struct argument few_named[FEW], *named;
	size_t count, named_count;
};

static void spread(struct renderer *r, struct bundle *bundle, const struct arguments *arguments)
{
	struct value splat = { 0 }, keywords = { 0 };
	if (arguments->splat)
		splat = list_value(list_of(r, evaluate(r, arguments->splat)), VIEW_LIST);
	if (arguments->keyword_splat) {
		keywords = evaluate(r, arguments->keyword_splat);
		if (keywords.kind == VALUE_UNDEFINED)
			undefined_fail(r, keywords);
		if (keywords.kind != VALUE_DICT)
			render_fail(r, "what follows ** is a dict, not %s", value_a(keywords));
	}
	size_t more = arguments->splat ? splat.list->count : 0,
	       more_named = arguments->keyword_splat ? keywords.dict->count : 0;
	if (bundle->count + more > FEW) {
		struct value *at = arena_new_array(r->arena, struct value, bundle->count + more);
		memcpy(at, bundle->at, bundle->count * sizeof *at);
		bundle->at = at;
	}
	FOR (i, more)
		bundle->at[bundle->count++] = splat.list->at[i];
	if (bundle->named_count + more_named > FEW - 1) {
		struct argument *named =
		        arena_new_array(r->arena, struct argument, bundle->named_count + more_named + 1);
		memcpy(named, bundle->named, bundle->named_count * sizeof *named);
		bundle->named = named;
	}
	FOR (i, more_named) {
		struct value key = keywords.dict->at[i].key;
		if (key.kind != VALUE_STRING)
			render_fail(r, "keywords are strings, not %s", value_a(key));
		FOR (k, bundle->named_count)
			if (value_identical(bundle->named[k].name, key))
				render_fail(r, "the keyword argument %.*s is given twice", (int)key.count, key.bytes);
		bundle->named[bundle->named_count++] = (struct argument){ key, keywords.dict->at[i].value };
	}
}

static void evaluate_arguments(struct renderer *r, struct bundle *bundle, const struct arguments *arguments)
{
	bundle->at = bundle->few;
	bundle->named = bundle->few_named;
	bundle->count = bundle->named_count = 0;
	if (!arguments)
		return;
	if (arguments->list.count > FEW)
		bundle->at = arena_new_array(r->arena, struct value, arguments->list.count);
	if (arguments->keywords.count > FEW - 1)
		bundle->named = arena_new_array(r->arena, struct argument, arguments->keywords.count + 1);
	FOR_ALL (i, arguments->list)
		bundle->at[bundle->count++] = evaluate(r, arguments->list.at[i]);
	FOR_ALL (i, arguments->keywords)
		bundle->named[bundle->named_count++] = (struct argument){ arguments->keywords.at[i].key,
			evaluate(r, arguments->keywords.at[i].value) };
	if (arguments->splat || arguments->keyword_splat)
		spread(r, bundle, arguments);
}

struct value evaluate_call(struct renderer *r, const struct node *node, const struct value *caller)
{
	struct bundle bundle;
	struct value function = { 0 }, self = { 0 };
	const struct builtin *method = NULL;
	if (node->a->kind == NODE_ATTRIBUTE) { /* a method of a string, list or dict needs no bound function */
		self = evaluate(r, node->a->a);
		r->place = node->a;
		method = method_find(self, node->a->name, node->a->value.count);
		if (!method)
			function = value_attribute(r, self, node->a->name, node->a->value.count, node->a->hash);
	} else
		function = evaluate(r, node->a);
	evaluate_arguments(r, &bundle, node->arguments);
	if (caller)
		bundle.named[bundle.named_count++] = (struct argument){ value_string("caller"), *caller };
	r->place = node->a->kind == NODE_ATTRIBUTE || node->a->kind == NODE_NAME ? node->a : node;
	if (method)
		return call_builtin(
		        r, method, self, bundle.at, bundle.count, bundle.named, bundle.named_count, "method");
	return call_value(r, function, bundle.at, bundle.count, bundle.named, bundle.named_count);
}

/* Filters and tests. */
struct value evaluate_builtin(struct renderer *r, const struct node *node, struct value self, const char *what)
{
	struct bundle bundle;
	evaluate_arguments(r, &bundle, node->arguments);
	r->place = node;
	if (!node->builtin)
		render_fail(r, "there is no %s named '%s'", what, node->name);
	return call_builtin(r, node->builtin, self, bundle.at, bundle.count, bundle.named, bundle.named_count, what);
}

/* ---- what functions in C read their arguments with ---- */
static NORETURN void argument_fail(struct template_call *call, size_t i, const char *wanted)
{
	const struct value value = call->at[i];
	const char *parameter = call->parameters, *name;
	size_t length, n = 0;
	char mark;
	if (value.kind == VALUE_UNDEFINED)
		undefined_fail(call->renderer, value);
	while (parameter && next_parameter(&parameter, &name, &length, &mark) && mark != '*' && mark != '2')
		if (n++ == i)
			render_fail(call->renderer, "%s: %.*s is %s, not %s", call->name, (int)length - (*name == '.'),
			        name + (*name == '.'), wanted, value_a(value));
	render_fail(call->renderer, "%s: argument %zu is %s, not %s", call->name, i + 1, wanted, value_a(value));
}

int64_t call_int(struct template_call *call, size_t i, int64_t other)
{
	if (i >= call->count || call->at[i].kind == VALUE_ABSENT)
		return other;
	if (!value_is_integer(call->at[i]))
		argument_fail(call, i, "an integer");
	return value_integer(call->at[i]);
}

double call_float(struct template_call *call, size_t i, double other)
{
	if (i >= call->count || call->at[i].kind == VALUE_ABSENT)
		return other;
	if (!value_is_number(call->at[i]))
		argument_fail(call, i, "a number");
	return value_real(call->at[i]);
}

bool call_bool(struct template_call *call, size_t i, bool other)
{
	return i >= call->count || call->at[i].kind == VALUE_ABSENT ? other : value_truth(call->renderer, call->at[i]);
}

const char *call_string(struct template_call *call, size_t i, const char *other)
{
	if (i >= call->count || call->at[i].kind == VALUE_ABSENT)
		return other;
	if (call->at[i].kind != VALUE_STRING)
		argument_fail(call, i, "a string");
	return value_copy(call->arena, call->at[i].bytes, call->at[i].count).bytes;
}

void call_fail(struct template_call *call, const char *format, ...)
{
	char message[700];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	render_fail(call->renderer, "%s", message);
}
