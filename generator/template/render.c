/* render.c: statements -> text.  A renderer walks the nodes of a template and appends to one growing buffer; where text
 * is wanted as a value (macros, block sets, filters) what was appended is taken back. */
#include "template/engine.h"

/* ---- names ---- */
void scope_set(struct renderer *r, struct scope *scope, const char *name, struct value value)
{
	FOR (i, scope->count)
		if (scope->at[i].name == name) {
			scope->at[i].value = value;
			scope->at[i].imported = false;
			return;
		}
	push(r->arena, scope, (struct variable){ name, value, false });
}

static bool scope_has(const struct scope *scope, const char *name)
{
	FOR (i, scope->count)
		if (scope->at[i].name == name)
			return true;
	return false;
}

static struct scope *scope_new(struct renderer *r, struct scope *outer)
{
	struct scope *scope = arena_new(r->arena, struct scope);
	scope->outer = outer;
	return scope;
}

struct value name_value(struct renderer *r, const struct node *node)
{
	const char *name = node->name;
	const struct value *value;
	for (const struct scope *scope = r->scope; scope; scope = scope->outer)
		FOR (i, scope->count)
			if (scope->at[i].name == name)
				return scope->at[i].value;
	const struct words *words = &r->environment->words;
	if (name == words->self)
		return value_object(r->arena, &class_self, r->context);
	if (name == words->super && r->block)
		return super_value(r, r->block, r->block_outer);
	if (r->context->globals && (value = dict_find_string(r->context->globals, name, node->value.count, node->hash)))
		return *value;
	if ((value = dict_find_string(r->environment->globals, name, node->value.count, node->hash)))
		return *value;
	return undefined_name(r, name);
}

void assign(struct renderer *r, const struct node *target, struct value value)
{
	if (target->kind == NODE_NAME) {
		scope_set(r, r->scope, target->name, value);
		return;
	}
	if (target->kind == NODE_MEMBER) {
		struct value owner = name_value(r, target->a);
		r->place = target;
		if (!object_assign(r, owner, target->value.bytes, value))
			render_fail(r, "members can be set on a namespace, not on %s", value_a(owner));
		return;
	}
	struct iterator items = iterate(r, value);
	struct value item;
	FOR_ALL (i, target->list) {
		r->place = target;
		if (!iterate_next(r, &items, &item))
			render_fail(r, "%zu values for %zu names", i, target->list.count);
		assign(r, target->list.at[i], item);
	}
	if (iterate_next(r, &items, &item))
		render_fail(r, "more than %zu values for %zu names", target->list.count, target->list.count);
}

/* ---- entering macros, templates and blocks ---- */
/* In the arena: a failure that passes limits is told after the stack is gone. */
struct trace *render_enter(struct renderer *r, const char *what, const char *name, struct template *template)
{
	struct trace *trace = arena_new(r->arena, struct trace);
	*trace = (struct trace){ r->trace, what, name, r->template, r->place, r->scope, r->context, r->block,
		r->block_outer, r->silent };
	r->trace = trace;
	r->template = template;
	r->silent = false;
	render_deeper(r);
	return trace;
}

void render_leave(struct renderer *r, struct trace *trace)
{
	r->trace = trace->outer;
	r->template = trace->template;
	r->place = trace->place;
	r->scope = trace->scope;
	r->context = trace->context;
	r->block = trace->block;
	r->block_outer = trace->block_outer;
	r->silent = trace->silent;
	r->depth--;
}

/* The text of a body as a value; false where a break or continue leaves it. */
static bool capture_body(struct renderer *r, const struct nodes *body, struct value *text, enum flow *flow)
{
	size_t mark;
	bool silent = r->silent;
	r->silent = false;
	capture_begin(r, &mark);
	*flow = render_body(r, body);
	r->silent = silent;
	*text = capture_end(r, mark);
	return *flow == FLOW_ON;
}

/* ---- macros ---- */
static struct value take_keyword(const struct argument *named, size_t count, const char *name, uint64_t *taken)
{
	for (size_t i = 0; i < count && i < 64; i++)
		if (value_text_is(named[i].name, name)) {
			*taken |= (uint64_t)1 << i;
			return named[i].value;
		}
	return (struct value){ 0 };
}

struct value render_macro(struct renderer *r, const struct function *function, const struct value *at, size_t count,
        const struct argument *named, size_t named_count)
{
	const struct node *macro = function->macro;
	const struct words *words = &r->environment->words;
	size_t parameters = macro->list.count, defaults = parameters - macro->other.count;
	uint64_t taken = 0;
	if (named_count > 64)
		render_limit(r, "more than 64 keyword arguments");
	if (count > parameters && !(macro->flags & FLAG_VARARGS))
		render_fail(r, "macro %s takes %zu argument%s, %zu are given", macro->name, parameters,
		        parameters == 1 ? "" : "s", count);
	struct scope *scope = scope_new(r, function->scope);
	struct value caller = { 0 };
	FOR (i, parameters) {
		struct value value =
		        i < count ? at[i] : take_keyword(named, named_count, macro->list.at[i]->name, &taken);
		scope_set(r, scope, macro->list.at[i]->name, value);
	}
	if (macro->flags & FLAG_CALLER)
		caller = take_keyword(named, named_count, "caller", &taken);
	struct value kwargs = macro->flags & FLAG_KWARGS ? value_dict(r->arena) : value_none();
	FOR (i, named_count)
		if (!(taken >> i & 1)) {
			if (!(macro->flags & FLAG_KWARGS))
				render_fail(r,
				        value_text_is(named[i].name, "caller") ? "macro %s does not use its %.*s"
				                                               : "macro %s has no argument named %.*s",
				        macro->name, (int)named[i].name.count, named[i].name.bytes);
			dict_set(kwargs.dict, named[i].name, value_hash_or_fail(r, named[i].name), named[i].value);
		}
	struct trace *trace =
	        render_enter(r, macro->name == words->caller ? "call block" : "macro", macro->name, function->template);
	r->scope = scope;
	r->context = function->context;
	r->block = function->block;
	r->block_outer = function->block_outer;
	for (size_t i = count < parameters ? count : parameters; i < parameters; i++)
		if (scope->at[i].value.kind == VALUE_ABSENT) {
			struct value value = i >= defaults ? evaluate(r, macro->other.at[i - defaults])
			                                   : undefined_hint(r, "argument %s of macro %s was not given",
			                                           macro->list.at[i]->name, macro->name);
			scope->at[i].value = value;
		}
	if (macro->flags & FLAG_CALLER && !scope_has(scope, words->caller))
		scope_set(r, scope, words->caller,
		        caller.kind ? caller
		                    : undefined_hint(r, "macro %s was not entered by a call block", macro->name));
	if (macro->flags & FLAG_KWARGS)
		scope_set(r, scope, words->kwargs, kwargs);
	if (macro->flags & FLAG_VARARGS)
		scope_set(r, scope, words->varargs,
		        value_tuple(r->arena, at + (count < parameters ? count : parameters),
		                count > parameters ? count - parameters : 0));
	struct value text;
	enum flow flow;
	capture_body(r, &macro->body, &text, &flow);
	render_leave(r, trace);
	return text;
}

static struct value macro_value(struct renderer *r, const struct node *node)
{
	struct function *function = arena_new(r->arena, struct function);
	function->macro = node;
	function->scope = r->scope;
	function->context = r->context;
	function->template = r->template;
	function->block = r->block;
	function->block_outer = r->block_outer;
	return (struct value){ .kind = VALUE_FUNCTION, .function = function };
}

/* ---- for ---- */
bool loop_fetch(struct renderer *r, struct loop *loop, struct value *item)
{
	if (loop->after.kind != VALUE_ABSENT) {
		*item = loop->after;
		loop->after = (struct value){ 0 };
		return true;
	}
	const struct node *filter = loop->filtered ? NULL : loop->node->c;
	while (iterate_next(r, &loop->items, item)) {
		if (!filter)
			return true;
		struct scope *scope = r->scope;
		if (!loop->test)
			loop->test = scope_new(r, loop->outer);
		r->scope = loop->test;
		assign(r, loop->node->a, *item);
		struct value truth = evaluate(r, filter);
		r->place = filter;
		bool keep = value_truth(r, truth);
		r->scope = scope;
		if (keep)
			return true;
	}
	return false;
}

enum flow render_loop(
        struct renderer *r, const struct node *node, struct value iterable, struct scope *outer, size_t depth)
{
	struct loop *loop = arena_new(r->arena, struct loop);
	struct scope *scope = scope_new(r, outer), *before = r->scope;
	enum flow flow = FLOW_ON;
	bool whole = false;
	struct value item;
	r->place = node->b;
	*loop = (struct loop){
		.node = node, .items = iterate(r, iterable), .outer = outer, .depth = depth, .of = iterable
	};
	while (flow != FLOW_BREAK && loop_fetch(r, loop, &item)) {
		scope->count = 0;
		r->scope = scope;
		if (node->flags & FLAG_LOOP) {
			loop->before = loop->current;
			loop->current = item;
			scope_set(r, scope, r->environment->words.loop, value_object(r->arena, &class_loop, loop));
		}
		if (node->a->kind == NODE_NAME)
			scope_set(r, scope, node->a->name, item);
		else
			assign(r, node->a, item);
		loop->index++;
		flow = render_body(r, &node->body);
		whole |= flow == FLOW_ON;
	}
	r->scope = before;
	if (!whole && node->other.count) { /* as in Jinja2: also where every round was cut short */
		r->scope = scope_new(r, outer);
		flow = render_body(r, &node->other); /* a break in it leaves the loop around */
		r->scope = before;
		return flow;
	}
	return FLOW_ON;
}

/* ---- other templates ---- */
static struct context *context_new(struct renderer *r, struct template *template, bool with)
{
	struct context *context = arena_new(r->arena, struct context);
	context->template = template;
	context->globals = with ? r->context->globals : NULL;
	context->root.outer = with ? r->scope : NULL;
	return context;
}

static void add_blocks(struct renderer *r, struct context *context, struct template *template)
{
	FOR_ALL (i, template->blocks)
		push(r->arena, &context->uses, (struct block_use){ template->blocks.at[i], template });
}

/* The body of a template and, where it extends one, that one's. */
void render_template(struct renderer *r, struct context *context)
{
	struct template *template = context->template;
	r->context = context;
	r->scope = &context->root;
	r->block = 0;
	add_blocks(r, context, template);
	while (template) {
		context->parent = NULL;
		r->template = template;
		r->silent = false;
		render_body(r, &template->body);
		template = context->parent;
	}
}

/* One name, or a list of them of which the first that exists is taken. */
static struct template *find_template(struct renderer *r, const struct node *node, struct value name, bool ignore)
{
	r->place = node->a;
	if (name.kind == VALUE_UNDEFINED)
		undefined_fail(r, name);
	if (name.kind == VALUE_STRING) {
		struct template *template =
		        template_get(r->environment, value_copy(r->arena, name.bytes, name.count).bytes);
		if (!template && !ignore)
			render_fail(r, "there is no template '%.*s'", (int)name.count, name.bytes);
		return template;
	}
	if (!value_is_list(name) && value_truth(r, name))
		render_fail(r, "a template is named by a string or a list of strings, not by %s", value_a(name));
	for (size_t i = 0; value_is_list(name) && i < name.list->count; i++) {
		struct value one = name.list->at[i];
		if (one.kind != VALUE_STRING)
			render_fail(r, "a template is named by a string, not by %s", value_a(one));
		struct template *template =
		        template_get(r->environment, value_copy(r->arena, one.bytes, one.count).bytes);
		if (template)
			return template;
	}
	if (!ignore)
		render_fail(r, "there is none of the templates of this list");
	return NULL;
}

static void render_include(struct renderer *r, const struct node *node)
{
	struct template *template = find_template(r, node, evaluate(r, node->a), node->flags & FLAG_IGNORE);
	if (!template)
		return;
	struct context *context = context_new(r, template, node->flags & FLAG_CONTEXT);
	struct trace *trace = render_enter(r, "include", template->name, template);
	render_template(r, context);
	render_leave(r, trace);
}

/* A template as an object with the names set at its top level.  Without context it is rendered once. */
static struct value import_module(struct renderer *r, const struct node *node)
{
	size_t mark;
	struct template *template = find_template(r, node, evaluate(r, node->a), false);
	for (size_t i = 0; !(node->flags & FLAG_CONTEXT) && i < r->modules.count; i++)
		if (r->modules.at[i].template == template)
			return r->modules.at[i].module;
	struct context *context = context_new(r, template, node->flags & FLAG_CONTEXT);
	struct trace *trace = render_enter(r, "import", template->name, template);
	capture_begin(r, &mark);
	render_template(r, context);
	context->text = capture_end(r, mark);
	render_leave(r, trace);
	struct value module = value_object(r->arena, &class_module, context);
	if (!(node->flags & FLAG_CONTEXT))
		push(r->arena, &r->modules, (struct imported){ template, module });
	return module;
}

static void set_imported(struct renderer *r, const char *name, struct value value)
{
	scope_set(r, r->scope, name, value);
	FOR (i, r->scope->count)
		if (r->scope->at[i].name == name)
			r->scope->at[i].imported = true;
}

static void render_from(struct renderer *r, const struct node *node)
{
	struct value module = import_module(r, node), value;
	const struct context *context = module.object->user;
	FOR_EACH (const struct node *alias, node->list) {
		struct template_call call = {
			.renderer = r, .arena = r->arena, .environment = r->environment, .build = r->build
		};
		if (!class_module.get(&call, module.object->user, alias->name, &value)) {
			struct nearest nearest = { .name = alias->name, .length = strlen(alias->name) };
			FOR_ALL (k, context->root)
				nearest_try(&nearest, context->root.at[k].name, strlen(context->root.at[k].name));
			value = undefined_hint(r,
			        nearest.best ? "template %s does not define '%s'; did you mean '%s'?"
			                     : "template %s does not define '%s'",
			        context->template->name, alias->name, nearest.best);
		}
		set_imported(r, alias->a->name, value);
	}
}

static void render_extends(struct renderer *r, const struct node *node)
{
	if (r->scope != &r->context->root)
		render_fail(r, "extends stands at the top level of a template");
	if (r->context->parent)
		render_fail(r, "a template extends one other, not two");
	struct template *parent = find_template(r, node, evaluate(r, node->a), false);
	if (++r->context->parents > 100)
		render_limit(r, "more than 100 templates extend each other");
	r->context->parent = parent;
	add_blocks(r, r->context, parent);
	r->silent = true;
}

/* ---- blocks ---- */
/* Renders the use with this number. */
void render_use(struct renderer *r, size_t number, struct scope *scope)
{
	const struct block_use use = r->context->uses.at[number - 1];
	struct trace *trace = render_enter(r, "block", use.block->name, use.template);
	r->scope = scope_new(r, scope);
	r->block = number;
	r->block_outer = scope;
	render_body(r, &use.block->body);
	render_leave(r, trace);
}

/* The first use of a block after `number`; 0: there is none. */
size_t find_use(const struct context *context, const char *name, size_t number)
{
	for (size_t i = number; i < context->uses.count; i++)
		if (context->uses.at[i].block->name == name)
			return i + 1;
	return 0;
}

/* Where it stands.  The last child's is rendered; super() reaches a required one too, which prints its blanks. */
static void render_block(struct renderer *r, const struct node *node)
{
	size_t use = find_use(r->context, node->name, 0);
	if (node->flags & FLAG_REQUIRED && !find_use(r->context, node->name, use))
		render_fail(r, "the block %s is required: a template that extends this one must define it", node->name);
	render_use(r, use, node->flags & FLAG_SCOPED ? r->scope : &r->context->root);
}

/* ---- statements ---- */
static struct value run_filters(struct renderer *r, const struct node *filters, struct value text)
{
	struct value value = filters->a ? run_filters(r, filters->a, text) : text;
	return evaluate_builtin(r, filters, value, "filter");
}

static enum flow render_if(struct renderer *r, const struct node *node)
{
	FOR_EACH (const struct node *branch, node->list) {
		if (branch->a) {
			struct value value = evaluate(r, branch->a);
			r->place = branch->a;
			if (!value_truth(r, value))
				continue;
		}
		return render_body(r, &branch->body);
	}
	return FLOW_ON;
}

static enum flow render_inside(struct renderer *r, const struct node *node)
{
	struct scope *outer = r->scope, *scope = scope_new(r, outer);
	FOR_ALL (i, node->list) {
		struct value value = evaluate(r, node->other.at[i]);
		r->scope = scope;
		assign(r, node->list.at[i], value);
		r->scope = outer;
	}
	r->scope = scope;
	enum flow flow = render_body(r, &node->body);
	r->scope = outer;
	return flow;
}

/* Block sets and filter blocks: the body's text, in a scope of its own. */
static bool capture_scoped(struct renderer *r, const struct nodes *body, struct value *text, enum flow *flow)
{
	struct scope *outer = r->scope;
	r->scope = scope_new(r, outer);
	bool whole = capture_body(r, body, text, flow);
	r->scope = outer;
	return whole;
}

/* What a filter block or a call block prints is a string. */
static void print_string(struct renderer *r, const struct node *node, struct value value)
{
	r->place = node;
	if (value.kind != VALUE_STRING)
		render_fail(r, "this block prints a string, not %s", value_a(value));
	print_value(r, value, r->out);
}

static void render_assert(struct renderer *r, const struct node *node)
{
	struct value value = evaluate(r, node->a), message;
	r->place = node->a;
	if (value_truth(r, value))
		return;
	if (!node->b) {
		const char *at = r->template->source + node->position + strlen("assert"), *end = at + strcspn(at, "\n");
		const char *close = r->environment->settings.block_end;
		close = memmem(at, (size_t)(end - at), close, strlen(close));
		end = close ? close - (close[-1] == '-' || close[-1] == '+') : end;
		struct value condition =
		        string_strip(value_string_of(at, (size_t)(end - at)), value_none(), true, true);
		render_fail(r, "assertion failed: %.*s", (int)(condition.count > 200 ? 200 : condition.count),
		        condition.bytes);
	}
	message = value_to_string(r, evaluate(r, node->b));
	r->place = node->a;
	render_fail(r, "%.*s", (int)(message.count > 600 ? 600 : message.count), message.bytes);
}

static void print_node(struct renderer *r, const struct node *node)
{
	struct value value = evaluate(r, node->a);
	r->place = node->a;
	print_value(r, value, r->out);
}

static enum flow render_node(struct renderer *r, const struct node *node)
{
	struct value value;
	enum flow flow;
	switch ((enum node_kind)node->kind) {
	case NODE_TEXT: text_add(r->out, node->value.bytes, node->value.count); return FLOW_ON;
	case NODE_PRINT: print_node(r, node); return FLOW_ON;
	case NODE_IF: return render_if(r, node);
	case NODE_FOR: return render_loop(r, node, evaluate(r, node->b), r->scope, 0);
	case NODE_SET:
		value = evaluate(r, node->b);
		assign(r, node->a, value);
		return FLOW_ON;
	case NODE_SET_BLOCK:
		if (capture_scoped(r, &node->body, &value, &flow))
			assign(r, node->a, node->b ? run_filters(r, node->b, value) : value);
		return flow;
	case NODE_MACRO: scope_set(r, r->scope, node->name, macro_value(r, node)); return FLOW_ON;
	case NODE_CALL_BLOCK:
		value = macro_value(r, node->b);
		print_string(r, node, evaluate_call(r, node->a, &value));
		return FLOW_ON;
	case NODE_FILTER_BLOCK:
		if (capture_scoped(r, &node->body, &value, &flow))
			print_string(r, node, run_filters(r, node->b, value));
		return flow;
	case NODE_INCLUDE: render_include(r, node); return FLOW_ON;
	case NODE_IMPORT: set_imported(r, node->name, import_module(r, node)); return FLOW_ON;
	case NODE_FROM: render_from(r, node); return FLOW_ON;
	case NODE_EXTENDS: render_extends(r, node); return FLOW_ON;
	case NODE_BLOCK: render_block(r, node); return FLOW_ON;
	case NODE_WITH:
	case NODE_SCOPE: return render_inside(r, node);
	case NODE_DO: evaluate(r, node->a); return FLOW_ON;
	case NODE_BREAK: return FLOW_BREAK;
	case NODE_CONTINUE: return FLOW_CONTINUE;
	case NODE_ASSERT: render_assert(r, node); return FLOW_ON;
	case NODE_FAIL:
		value = value_to_string(r, evaluate(r, node->a));
		r->place = node;
		render_fail(r, "%.*s", (int)(value.count > 600 ? 600 : value.count), value.bytes);
	default: assert(!"an expression where a statement stands"); return FLOW_ON;
	}
}

/* After an extends, what would print is not even looked at. */
static bool prints(const struct node *node)
{
	return node->kind == NODE_TEXT || node->kind == NODE_PRINT || node->kind == NODE_INCLUDE
	        || node->kind == NODE_BLOCK || node->kind == NODE_FILTER_BLOCK;
}

enum flow render_body(struct renderer *r, const struct nodes *body)
{
	enum flow flow = FLOW_ON;
	render_deeper(r);
	for (size_t i = 0; i < body->count && flow == FLOW_ON; i++) {
		const struct node *node = body->at[i];
		if (r->silent && prints(node))
			continue;
		r->place = node;
		flow = render_node(r, node);
	}
	r->depth--;
	return flow;
}
