/* order.c: the positions that sort rows -> the values of c/order.jinja and cuda/order.jinja. */
#include "emit/emit.h"
#include "ingot/template.h"

/* Variables of what is printed: the row, the key, the position. */
enum { VAR_ROW, VAR_KEY, VAR_AT };

/* A number of a type as an unsigned one of the same order, or of the opposite. */
static const char *key_text(struct arena *arena, enum dtype type, enum dtype key, bool down, const char *text)
{
	const char *word = type == DTYPE_F32 ? "s_order"
	        : type == DTYPE_F64          ? "d_order"
	                                     : arena_printf(arena, "(%s)", dtypes[key].c);
	const char *made = arena_printf(arena, "%s(%s)", word, text);
	if (dtypes[type].class == CLASS_INT)
		made = arena_printf(arena, "%s ^ %s", made, key == DTYPE_U64 ? "0x8000000000000000ull" : "0x80000000u");
	return down ? arena_printf(arena, "~(%s)", made) : made;
}

void order_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	static const char *const names[MAX_VARS] = { "row", "k", "t" };
	const struct row_order *order = kernel->detail;
	const struct definition *d = kernel->root;
	struct arena *arena = emit->arena;
	struct value values = value_dict(arena), key = value_dict(arena);
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	struct printer printer = { .arena = arena,
		.target = emit->target,
		.lane = -1,
		.names = names,
		.buffer = emit_buffer,
		.user = (void *)(uintptr_t)kernel };
	const struct {
		const char *name;
		int64_t value;
	} sizes[] = { { "rows", order->rows }, { "blocks", kernel->blocks }, { "n", order->n }, { "kept", order->kept },
		{ "run", order->run } };
	index_unflatten(arena, index_var(arena, VAR_ROW, order->rows), d->rank - 1, d->extents, with);
	for (int v = 0; v + 1 < d->rank; v++)
		at[v] = with[v];
	at[d->rank - 1] = index_var(arena, VAR_AT, order->kept);
	with[d->rank - 1] = index_constant(arena, 0);
	with[d->rank] = index_var(arena, VAR_KEY, order->n);
	for (size_t i = 0; i < COUNT(sizes); i++)
		value_dict_set(values, sizes[i].name, value_int(sizes[i].value));
	const struct expr *body = expr_substitute(arena, d->body, with);
	const char *text = printer_value(&printer, body);
	value_dict_set(key, "type", value_string(dtypes[order->type].c));
	value_dict_set(key, "bytes", value_int(dtypes[order->type].bits / 8));
	value_dict_set(key, "lets", emit_lets(arena, &printer));
	value_dict_set(
	        key, "value", value_string(key_text(arena, body->type, order->type, d->reduce == REDUCE_DOWN, text)));
	printer.lets.count = 0;
	value_dict_set(values, "to", value_string(printer_element(&printer, d, schedule_address(arena, d, at))));
	value_dict_set(values, "key", key);
	value_dict_set(values, "few", value_bool(order->few));
	value_dict_set(values, "local", value_bool(order->local));
	value_dict_set(
	        values, "keys", value_string(order->keys ? emit_buffer((void *)(uintptr_t)kernel, order->keys) : ""));
	value_dict_set(values, "positions",
	        value_string(order->positions ? emit_buffer((void *)(uintptr_t)kernel, order->positions) : ""));
	value_dict_set(values, "kernel", emit_kernel_value(emit, kernel));
	value_dict_set(values, "target", emit_target_value(emit));
	template_render(emit->templates, kernel->template_name, values, out);
}
