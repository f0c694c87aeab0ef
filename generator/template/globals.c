/* globals.c: the functions that every template finds: range, dict, namespace, cycler, joiner. */
#include "template/engine.h"

static struct value global_range(struct template_call *call)
{
	struct range *range = arena_new(call->arena, struct range);
	bool one = call->at[1].kind == VALUE_ABSENT;
	range->start = one ? 0 : call_int(call, 0, 0);
	range->stop = call_int(call, one ? 0 : 1, 0);
	range->step = call_int(call, 2, 1);
	if (!range->step)
		call_fail(call, "range steps by zero");
	uint64_t size = range->step > 0 ? (uint64_t)range->step : -(uint64_t)range->step;
	uint64_t away = range->step > 0 ? (uint64_t)range->stop - (uint64_t)range->start
	                                : (uint64_t)range->start - (uint64_t)range->stop;
	bool empty = range->step > 0 ? range->start >= range->stop : range->start <= range->stop;
	range->count = empty ? 0 : (size_t)((away - 1) / size + 1);
	if (range->count > INT64_MAX)
		call_fail(call, "range of more than 63 bits");
	return (struct value){ .kind = VALUE_RANGE, .range = range };
}

/* dict(other, name=value ...): a copy of a dict or of pairs, and keywords. */
static struct dict *make_dict(struct template_call *call)
{
	struct renderer *r = call->renderer;
	struct dict *dict = value_dict(call->arena).dict;
	if (call->at[0].kind == VALUE_DICT)
		FOR (i, call->at[0].dict->count)
			dict_set(dict, call->at[0].dict->at[i].key, call->at[0].dict->at[i].hash,
			        call->at[0].dict->at[i].value);
	else if (call->at[0].kind != VALUE_ABSENT) {
		struct iterator items = iterate(r, call->at[0]);
		for (struct value pair; iterate_next(r, &items, &pair);) {
			struct list *two = list_of(r, pair);
			if (two->count != 2)
				call_fail(call, "a dict is made of pairs, not of %zu", two->count);
			dict_set(dict, two->at[0], value_hash_or_fail(r, two->at[0]), two->at[1]);
		}
	}
	FOR (i, call->named_count)
		dict_set(dict, call->named[i].name, value_hash_or_fail(r, call->named[i].name), call->named[i].value);
	return dict;
}

static struct value global_dict(struct template_call *call) { return dict_value(make_dict(call)); }
static struct value global_namespace(struct template_call *call)
{
	return object_namespace(call->renderer, make_dict(call));
}

static struct value global_cycler(struct template_call *call)
{
	if (!call->count)
		call_fail(call, "cycler needs something to cycle through");
	return object_cycler(call->renderer, call->at, call->count);
}

static struct value global_joiner(struct template_call *call)
{
	return object_joiner(call->renderer, call->at[0].kind == VALUE_ABSENT ? value_string(", ") : call->at[0]);
}

const struct builtin builtin_globals[] = {
	{ "range", "start stop? step?", global_range, NULL },
	{ "dict", "from? **", global_dict, NULL },
	{ "namespace", "from? **", global_namespace, NULL },
	{ "cycler", "*", global_cycler, NULL },
	{ "joiner", "sep?", global_joiner, NULL },
	{ 0 },
};
