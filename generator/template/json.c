/* json.c: values -> JSON text, as Python's json.dumps with sorted keys; <, >, & and ' are escaped as Jinja2 does. */
#include "template/engine.h"
#include <math.h>

enum { DEEPEST = 200 };

struct json {
	struct renderer *r;
	struct text *out;
	struct value indent;
	bool pretty;
};

static void put_string(struct text *out, struct value text)
{
	text_addc(out, '"');
	for (const char *at = text.bytes, *end = at + text.count; at < end;) {
		unsigned c = text_decode(&at, end);
		static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
		const char *letter = c && c < 128 ? strchr(letters, (int)c) : NULL;
		if (letter && (letter - letters) % 2 == 0)
			text_printf(out, "\\%c", letter[1]);
		else if (c >= 0x10000)
			text_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			        0xdc00 + ((c - 0x10000) & 0x3ff));
		else if (c < 32 || c >= 127 || strchr("<>&'", (int)c))
			text_printf(out, "\\u%04x", c);
		else
			text_addc(out, (char)c);
	}
	text_addc(out, '"');
}

static void new_line(struct json *json, int depth)
{
	if (!json->pretty)
		return;
	text_addc(json->out, '\n');
	FOR (i, depth)
		text_add(json->out, json->indent.bytes, json->indent.count);
}

static void put(struct json *json, struct value value, int depth);

static void put_key(struct json *json, struct value key)
{
	switch (key.kind) {
	case VALUE_STRING: put_string(json->out, key); break;
	case VALUE_NONE:
	case VALUE_BOOL:
	case VALUE_INT:
	case VALUE_FLOAT:
		text_addc(json->out, '"');
		put(json, key, 0);
		text_addc(json->out, '"');
		break;
	default: render_fail(json->r, "%s is no key in JSON", value_a(key));
	}
}

static void put_dict(struct json *json, const struct dict *dict, int depth)
{
	struct list *keys = list_new(json->r->arena, dict->count), *order = list_new(json->r->arena, dict->count);
	FOR (i, dict->count) {
		list_add(keys, dict->at[i].key);
		list_add(order, value_int((int64_t)i));
	}
	list_sort_by(json->r, order, keys, false);
	text_addc(json->out, '{');
	FOR (i, order->count) {
		const struct entry *entry = &dict->at[order->at[i].integer];
		if (i)
			text_adds(json->out, json->pretty ? "," : ", ");
		new_line(json, depth + 1);
		put_key(json, entry->key);
		text_adds(json->out, ": ");
		put(json, entry->value, depth + 1);
	}
	if (order->count)
		new_line(json, depth);
	text_addc(json->out, '}');
}

static void put(struct json *json, struct value value, int depth)
{
	if (depth > DEEPEST)
		render_fail(json->r, "tojson: more than %d lists or dicts inside each other", DEEPEST);
	switch (value.kind) {
	case VALUE_NONE: text_adds(json->out, "null"); break;
	case VALUE_BOOL: text_adds(json->out, value.truth ? "true" : "false"); break;
	case VALUE_INT: print_value(json->r, value, json->out); break;
	case VALUE_FLOAT:
		if (isfinite(value.real))
			print_float(value.real, json->out);
		else
			text_adds(json->out, isnan(value.real) ? "NaN" : value.real < 0 ? "-Infinity" : "Infinity");
		break;
	case VALUE_STRING: put_string(json->out, value); break;
	case VALUE_DICT: put_dict(json, value.dict, depth); break;
	case VALUE_LIST:
	case VALUE_TUPLE:
		if (value.kind == VALUE_TUPLE || !value.view) {
			text_addc(json->out, '[');
			FOR (i, value.list->count) {
				if (i)
					text_adds(json->out, json->pretty ? "," : ", ");
				new_line(json, depth + 1);
				put(json, value.list->at[i], depth + 1);
			}
			if (value.list->count)
				new_line(json, depth);
			text_addc(json->out, ']');
			break;
		}
		/* fall through */
	default:
		if (value.kind == VALUE_UNDEFINED)
			undefined_use(json->r, value);
		render_fail(json->r, "%s is nothing that JSON has", value_a(value));
	}
}

struct value filter_tojson(struct template_call *call)
{
	struct renderer *r = call->renderer;
	struct json json = { .r = r, .out = r->out, .indent = value_string("") };
	size_t mark;
	if (call->at[1].kind == VALUE_STRING)
		json.indent = call->at[1];
	else if (call->at[1].kind != VALUE_ABSENT && call->at[1].kind != VALUE_NONE)
		json.indent = value_arithmetic(r, NODE_MUL, value_string(" "), value_int(call_int(call, 1, 0)));
	json.pretty = call->at[1].kind != VALUE_ABSENT && call->at[1].kind != VALUE_NONE;
	capture_begin(r, &mark);
	put(&json, call->at[0], 0);
	return capture_end(r, mark);
}
