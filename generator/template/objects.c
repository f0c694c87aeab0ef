/* objects.c: what templates find with members of its own: loop, self and super, modules, namespace, cycler, joiner. */
#include "template/engine.h"

/* ---- loop ---- */
static struct value loop_cycle(struct template_call *call)
{
	const struct loop *loop = call->user;
	if (!call->count)
		call_fail(call, "loop.cycle needs something to cycle through");
	return call->at[(loop->index - 1) % call->count];
}

static struct value loop_changed(struct template_call *call)
{
	struct loop *loop = call->user;
	struct value now = value_tuple(call->arena, call->at, call->count);
	bool same = loop->changed.kind != VALUE_ABSENT && value_equal(call->renderer, loop->changed, now);
	loop->changed = now;
	return value_bool(!same);
}

/* Counted once.  The items not yet taken of what has no length become a list. */
size_t loop_length(struct renderer *r, struct loop *loop)
{
	struct value after = loop->after, item;
	if (loop->counted)
		return loop->length;
	loop->counted = true;
	if (!loop->node->c && !(loop->of.kind == VALUE_LIST && loop->of.view == VIEW_LAZY))
		return loop->length = value_count(loop->of);
	struct list *list = list_new(r->arena, 0);
	loop->after = (struct value){ 0 };
	while (loop_fetch(r, loop, &item))
		list_add(list, item);
	loop->after = after;
	loop->items = (struct iterator){ .of = list_value(list, VIEW_LIST) };
	loop->filtered = true;
	return loop->length = loop->index + (after.kind != VALUE_ABSENT) + list->count;
}

static bool loop_last(struct renderer *r, struct loop *loop)
{
	struct value item;
	if (loop->after.kind == VALUE_ABSENT && loop_fetch(r, loop, &item))
		loop->after = item;
	return loop->after.kind == VALUE_ABSENT;
}

static bool loop_get(struct template_call *call, void *user, const char *name, struct value *out)
{
	enum {
		INDEX,
		INDEX0,
		FIRST,
		LAST,
		LENGTH,
		REVINDEX,
		REVINDEX0,
		DEPTH,
		DEPTH0,
		PREVITEM,
		NEXTITEM,
		CYCLE,
		CHANGED
	};
	static const char *const names[] = { "index", "index0", "first", "last", "length", "revindex", "revindex0",
		"depth", "depth0", "previtem", "nextitem", "cycle", "changed" };
	struct loop *loop = user;
	struct renderer *r = call->renderer;
	size_t i = 0;
	while (i < COUNT(names) && strcmp(names[i], name))
		i++;
	switch (i) {
	case INDEX: *out = value_int((int64_t)loop->index); return true;
	case INDEX0: *out = value_int((int64_t)loop->index - 1); return true;
	case FIRST: *out = value_bool(loop->index == 1); return true;
	case LAST: *out = value_bool(loop_last(r, loop)); return true;
	case LENGTH: *out = value_int((int64_t)loop_length(r, loop)); return true;
	case REVINDEX: *out = value_int((int64_t)(loop_length(r, loop) - loop->index) + 1); return true;
	case REVINDEX0: *out = value_int((int64_t)(loop_length(r, loop) - loop->index)); return true;
	case DEPTH: *out = value_int((int64_t)loop->depth + 1); return true;
	case DEPTH0: *out = value_int((int64_t)loop->depth); return true;
	case PREVITEM:
		*out = loop->index == 1 ? undefined_hint(r, "there is no previous item") : loop->before;
		return true;
	case NEXTITEM:
		*out = loop_last(r, loop) ? undefined_hint(r, "there is no next item") : loop->after;
		return true;
	case CYCLE: *out = value_function(r->arena, "cycle", "*", loop_cycle, loop); return true;
	case CHANGED: *out = value_function(r->arena, "changed", "*", loop_changed, loop); return true;
	default: return false;
	}
}

/* loop(items) in a recursive loop: the body again, one level deeper. */
static struct value loop_call(struct template_call *call)
{
	const struct loop *loop = call->user;
	struct renderer *r = call->renderer;
	size_t mark;
	if (!(loop->node->flags & FLAG_RECURSIVE))
		call_fail(call, "the loop is called but not recursive: `for ... in ... recursive` makes it so");
	if (call->count != 1 || call->named_count)
		call_fail(call, "loop takes one argument, what to go through");
	struct trace *trace = render_enter(r, "loop", "", r->template);
	capture_begin(r, &mark);
	render_loop(r, loop->node, call->at[0], loop->outer, loop->depth + 1);
	render_leave(r, trace);
	return capture_end(r, mark);
}

static bool loop_print(struct template_call *call, void *user, struct text *out)
{
	struct loop *loop = user;
	text_printf(out, "<LoopContext %zu/%zu>", loop->index, loop_length(call->renderer, loop));
	return true;
}

const struct object_class class_loop = { .name = "loop", .get = loop_get, .call = loop_call, .print = loop_print };

/* ---- blocks: self.name() and super() ---- */
struct block_reference {
	struct context *context;
	size_t number;
	struct scope *outer;
};

static struct value block_call(struct template_call *call)
{
	const struct block_reference *block = call->user;
	struct renderer *r = call->renderer;
	struct context *context = r->context;
	size_t mark;
	if (call->count || call->named_count)
		call_fail(call, "a block takes no arguments");
	capture_begin(r, &mark);
	r->context = block->context;
	render_use(r, block->number, block->outer);
	r->context = context;
	return capture_end(r, mark);
}

static bool block_get(struct template_call *call, void *user, const char *name, struct value *out)
{
	const struct block_reference *block = user;
	if (strcmp(name, "super"))
		return false;
	struct renderer *r = call->renderer;
	struct context *context = r->context;
	r->context = block->context;
	*out = super_value(r, block->number, block->outer);
	r->context = context;
	return true;
}

static const struct object_class class_block = { .name = "block", .get = block_get, .call = block_call };

static struct value block_value(struct renderer *r, struct context *context, size_t number, struct scope *outer)
{
	struct block_reference *block = arena_new(r->arena, struct block_reference);
	*block = (struct block_reference){ context, number, outer };
	return value_object(r->arena, &class_block, block);
}

struct value super_value(struct renderer *r, size_t number, struct scope *outer)
{
	const char *name = r->context->uses.at[number - 1].block->name;
	size_t next = find_use(r->context, name, number);
	return next ? block_value(r, r->context, next, outer)
	            : undefined_hint(r, "there is no block %s in a template that is extended here", name);
}

static bool self_get(struct template_call *call, void *user, const char *name, struct value *out)
{
	struct context *context = user;
	FOR_ALL (i, context->uses)
		if (!strcmp(context->uses.at[i].block->name, name)) {
			*out = block_value(call->renderer, context, i + 1, &context->root);
			return true;
		}
	return false;
}

static bool self_print(struct template_call *call, void *user, struct text *out)
{
	const struct context *context = user;
	(void)call;
	text_printf(out, "<TemplateReference '%s'>", context->template->name);
	return true;
}

const struct object_class class_self = { .name = "self", .get = self_get, .print = self_print };

/* ---- modules ---- */
static bool module_get(struct template_call *call, void *user, const char *name, struct value *out)
{
	const struct context *context = user;
	(void)call;
	for (size_t i = 0; i < context->root.count && *name != '_'; i++)
		if (!context->root.at[i].imported && !strcmp(context->root.at[i].name, name)) {
			*out = context->root.at[i].value;
			return true;
		}
	return false;
}

static bool module_print(struct template_call *call, void *user, struct text *out)
{
	const struct context *context = user;
	(void)call;
	text_add(out, context->text.bytes, context->text.count);
	return true;
}

const struct object_class class_module = { .name = "template module", .get = module_get, .print = module_print };

/* ---- namespace ---- */
static bool namespace_get(struct template_call *call, void *user, const char *name, struct value *out)
{
	size_t count = strlen(name);
	struct value *found = dict_find_string(user, name, count, string_hash(name, count));
	(void)call;
	if (found)
		*out = *found;
	return found;
}

static bool namespace_print(struct template_call *call, void *user, struct text *out)
{
	text_adds(out, "<Namespace ");
	print_repr(call->renderer, dict_value(user), out);
	text_addc(out, '>');
	return true;
}

static const struct object_class class_namespace = {
	.name = "namespace",
	.get = namespace_get,
	.print = namespace_print,
};

struct value object_namespace(struct renderer *r, struct dict *dict)
{
	return value_object(r->arena, &class_namespace, dict);
}

bool object_assign(struct renderer *r, struct value owner, const char *name, struct value value)
{
	(void)r;
	if (owner.kind != VALUE_OBJECT || owner.object->class != &class_namespace)
		return false;
	dict_set(owner.object->user, value_string(name), string_hash(name, strlen(name)), value);
	return true;
}

/* ---- cycler, joiner ---- */
struct cycler {
	struct list *items;
	size_t i;
};

static struct value cycler_next(struct template_call *call)
{
	struct cycler *cycler = call->user;
	struct value item = cycler->items->at[cycler->i];
	cycler->i = (cycler->i + 1) % cycler->items->count;
	return item;
}

static struct value cycler_reset(struct template_call *call)
{
	((struct cycler *)call->user)->i = 0;
	return value_none();
}

static bool cycler_get(struct template_call *call, void *user, const char *name, struct value *out)
{
	struct cycler *cycler = user;
	if (!strcmp(name, "current"))
		*out = cycler->items->at[cycler->i];
	else if (!strcmp(name, "next"))
		*out = value_function(call->arena, "next", "", cycler_next, cycler);
	else if (!strcmp(name, "reset"))
		*out = value_function(call->arena, "reset", "", cycler_reset, cycler);
	else
		return false;
	return true;
}

static const struct object_class class_cycler = { .name = "cycler", .get = cycler_get };

struct value object_cycler(struct renderer *r, const struct value *at, size_t count)
{
	struct cycler *cycler = arena_new(r->arena, struct cycler);
	cycler->items = list_new(r->arena, count);
	FOR (i, count)
		list_add(cycler->items, at[i]);
	return value_object(r->arena, &class_cycler, cycler);
}

struct joiner {
	struct value separator;
	bool used;
};

static struct value joiner_call(struct template_call *call)
{
	struct joiner *joiner = call->user;
	if (joiner->used)
		return joiner->separator;
	joiner->used = true;
	return value_string("");
}

static const struct object_class class_joiner = { .name = "joiner", .call = joiner_call };

struct value object_joiner(struct renderer *r, struct value separator)
{
	struct joiner *joiner = arena_new(r->arena, struct joiner);
	joiner->separator = separator;
	return value_object(r->arena, &class_joiner, joiner);
}
