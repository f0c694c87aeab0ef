/* order.c: the positions that sort rows, and which of them are taken -> the values of c/order.jinja and
 * cuda/order.jinja. */
#include "emit/emit.h"
#include "ingot/template.h"

/* A number of a type as an unsigned one of the same order, or of the opposite; of vectors as an ivec. */
static const char *key_text(
        struct arena *arena, enum dtype type, enum dtype key, bool down, bool vector, const char *text)
{
	const char *word = type == DTYPE_F32 ? vector ? "vec_order" : "s_order"
	        : type == DTYPE_F64          ? "d_order"
	        : vector                     ? ""
	                                     : arena_printf(arena, "(%s)", dtypes[key].c);
	const char *made = arena_printf(arena, "%s(%s)", word, text);
	if (dtypes[type].class == CLASS_INT)
		made = arena_printf(arena, "%s ^ %s", made, key == DTYPE_U64 ? "0x8000000000000000ull" : "0x80000000u");
	return !down     ? made
	        : vector ? arena_printf(arena, "(%s) ^ 0xffffffffu", made)
	                 : arena_printf(arena, "~(%s)", made);
}

struct ordering {
	struct emit *emit;
	const struct kernel *kernel;
	const struct row_order *order;
	const struct definition *d;
	const char *names[MAX_VARS];
	const struct index *with[MAX_VARS]; /* of the definition's variables, but the last output variable */
};

static const char *buffer_of(void *user, const struct definition *of)
{
	const struct ordering *o = user;
	FOR (i, o->order->part_count)
		if (of == o->order->parts[i].before && o->order->parts_local)
			return of->name;
	return emit_buffer((void *)(uintptr_t)o->kernel, of);
}

/* A part of the position that is looked at is a variable. */
static struct held part_held(void *user, const struct expr *load)
{
	const struct ordering *o = user;
	FOR (i, o->order->part_count)
		if (load->of == o->order->parts[i].now)
			return (struct held){ .text = load->of->name };
	return (struct held){ 0 };
}

static struct printer printer_of(struct ordering *o, int lane)
{
	return (struct printer){ .arena = o->emit->arena,
		.target = o->emit->target,
		.lane = lane,
		.names = o->names,
		.buffer = buffer_of,
		.held = part_held,
		.user = o };
}

/* Expressions as texts, and the lets that stand before them all. */
static struct value printed(
        struct ordering *o, int lane, int count, const struct expr *const *roots, const char **texts)
{
	struct printer printer = printer_of(o, lane);
	printer_share(&printer, roots, (size_t)count);
	FOR (i, count)
		texts[i] = printer_value(&printer, roots[i]);
	return emit_lets(o->emit->arena, &printer);
}

static const struct expr *over_row(struct ordering *o, const struct expr *expr)
{
	return expr_substitute(o->emit->arena, expr, o->with);
}

/* The key at k, and whether it is there: of one position, and of a vector of them. */
static struct value key_value(struct ordering *o)
{
	struct arena *arena = o->emit->arena;
	const struct definition *d = o->d;
	struct value key = value_dict(arena);
	enum dtype of = d->body->type, type = o->order->type;
	bool down = d->reduce == REDUCE_DOWN,
	     asks = definition_chooses(d) && d->choice[CHOICE_THERE]->kind != EXPR_NUMBER;
	const struct expr *roots[2] = { over_row(o, d->body), asks ? over_row(o, d->choice[CHOICE_THERE]) : NULL };
	const char *texts[2] = { NULL, "" };
	value_set(
	        key, "type", dtypes[type].c, "bits", dtypes[type].bits, "lets", printed(o, -1, 1 + asks, roots, texts));
	value_set(key, "value", key_text(arena, of, type, down, false, texts[0]));
	value_set(key, "there", texts[1]);
	bool lanes = o->order->key_lanes && o->emit->target->lanes > 1; /* libtcc has none */
	value_set(key, "lanes", lanes);
	if (lanes) {
		value_set(key, "vector_lets", printed(o, ORDER_KEY, 1 + asks, roots, texts));
		value_set(key, "vector", key_text(arena, of, type, down, true, texts[0]));
		value_set(key, "vector_there", texts[1]);
	}
	return key;
}

/* What bars position k: its parts, which are kept where it is taken, and those of others held against it. */
static struct value choice_value(struct ordering *o)
{
	struct arena *arena = o->emit->arena;
	const struct row_order *order = o->order;
	struct value choice = value_dict(arena), parts = value_list(arena);
	const struct expr *roots[ORDER_PARTS], *most = over_row(o, o->d->choice[CHOICE_MOST]);
	const struct expr *bars = order->bars ? order->bars : over_row(o, o->d->choice[CHOICE_BARS]);
	const char *texts[ORDER_PARTS], *text;
	bool lanes = order->bars_lanes && o->emit->target->lanes > 1;
	FOR (i, order->part_count)
		roots[i] = over_row(o, order->parts[i].value);
	value_set(choice, "part_lets", printed(o, -1, order->part_count, roots, texts));
	FOR (i, order->part_count) {
		const struct order_part *one = &order->parts[i];
		const struct index *at[] = { order->parts_local ? index_constant(arena, 0)
			                                        : index_var(arena, ORDER_BLOCK, o->kernel->blocks),
			index_var(arena, ORDER_BEFORE, order->kept) };
		struct printer printer = printer_of(o, -1);
		value_list_add(parts,
		        value_dict_of(arena, "type", dtypes[one->now->type].c, "name", one->now->name, "value",
		                texts[i], "row", one->before && order->parts_local ? one->before->name : "", "to",
		                one->before ? printer_element(
		                        &printer, one->before, schedule_address(arena, one->before, at))
		                            : ""));
	}
	value_set(choice, "parts", parts, "most_lets", printed(o, -1, 1, &most, &text));
	value_set(choice, "most", text, "lets", printed(o, lanes ? ORDER_BEFORE : -1, 1, &bars, &text));
	value_set(choice, "bars", text, "lanes", lanes, "row", order_row(o->emit->target, order));
	return choice;
}

const struct index *order_address(
        struct arena *arena, const struct row_order *order, const struct definition *d, const struct index **with)
{
	const struct index *at[MAX_RANK];
	index_unflatten(arena, index_var(arena, ORDER_ROW, order->rows), d->rank - 1, d->extents, with);
	memcpy(at, with, sizeof *at * (size_t)d->rank);
	at[d->rank - 1] = index_var(arena, ORDER_AT, order->kept);
	with[d->rank - 1] = index_constant(arena, 0);
	with[d->rank] = index_var(arena, ORDER_KEY, order->n);
	return schedule_address(arena, d, at);
}

const char *order_ends(struct emit *emit, const struct kernel *kernel, bool in_blocks, struct value values)
{
	struct arena *arena = emit->arena;
	const struct row_order *order = kernel->detail;
	const struct definition *d = kernel->root;
	int v = kernel_counted(kernel);
	struct value ends = v < 0 ? value_none() : emit_ends(emit, kernel, d->count.of[v], d->extents[v]);
	const char *rows = v < 0 ? arena_printf(arena, "%lld", (long long)order->rows)
	                         : arena_printf(arena, "(many * %lld)", (long long)(order->rows / d->extents[v]));
	if (v >= 0 && !in_blocks) {
		int64_t per = order->beside ? emit->target->lanes : 1;
		value_set(ends, "there",
		        arena_printf(arena, "(%s + %lld) / %lld", rows, (long long)per - 1, (long long)per), "blocks",
		        kernel->blocks);
	}
	value_set(values, "ends", ends);
	return rows;
}

void order_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const struct row_order *order = kernel->detail;
	const struct definition *d = kernel->root;
	struct arena *arena = emit->arena;
	struct ordering o = { emit, kernel, order, d,
		{ [ORDER_BLOCK] = "b",
		        [ORDER_BEFORE] = emit->target->lanes_are_threads ? "other" : "j",
		        [ORDER_KEY] = "k",
		        [ORDER_ROW] = "row",
		        [ORDER_AT] = "t" },
		{ 0 } };
	struct value values = value_dict(arena);
	struct printer printer = printer_of(&o, -1);
	const struct index *to = order_address(arena, order, d, o.with);
	o.with[d->rank + 1] = index_var(arena, ORDER_BEFORE, order->n); /* where the position itself is asked: GPUs */
	value_set(values, "blocks", kernel->blocks, "n", order->n, "kept", order->kept, "run", order->run, "best",
	        order->best, "room", order->room, "keys_of_block", definition_chooses(d) ? order->n : order->room);
	value_set(values, "rows", order_ends(emit, kernel, order->in_blocks, values));
	value_set(values, "to", printer_element(&printer, d, to));
	value_set(values, "key", key_value(&o));
	value_set(values, "choice", definition_chooses(d) ? choice_value(&o) : value_none(), "few", order->few,
	        "beside", order->beside, "local", order->local, "in_blocks", order->in_blocks, "keys",
	        order->keys ? emit_buffer((void *)(uintptr_t)kernel, order->keys) : "", "positions",
	        order->positions ? emit_buffer((void *)(uintptr_t)kernel, order->positions) : "", "kernel",
	        emit_kernel_value(emit, kernel), "target", emit_target_value(emit));
	emit_render(emit, kernel, values, out);
}
