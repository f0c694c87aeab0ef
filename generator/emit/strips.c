/* strips.c: the values of c/strips.jinja: which lines some blocks of rows read, as C text. */
#include "emit/emit.h"
#include <inttypes.h>

/* factor * (text) / by */
static const char *part(struct arena *arena, int64_t factor, const char *text, int64_t plus, int64_t by)
{
	if (factor % by == 0 && !plus)
		return factor == by ? text : arena_printf(arena, "%" PRId64 " * (%s)", factor / by, text);
	return arena_printf(arena, "(%" PRId64 " * (%s) + %" PRId64 ") / %" PRId64, factor, text, plus, by);
}

/* The first line of block `first`, or the one behind those of the blocks before `last`. */
static void set_lines(struct value values, struct arena *arena, const struct strips *s)
{
	const struct contraction *c = s->product->detail;
	int64_t rows = c->extents[contraction_row(c)], blocks = c->row_blocks;
	const char *line, *end;
	if (c->split_panels) {
		line = "0";
		end = arena_printf(arena, "%" PRId64, s->lines);
	} else if (s->of_around) {
		line = part(arena, s->of_around, arena_printf(arena, "first / %" PRId64, blocks), 0, s->line);
		end = arena_printf(arena, "%s + %" PRId64,
		        part(arena, s->of_around, arena_printf(arena, "(last - 1) / %" PRId64, blocks), 0, s->line),
		        (s->of_row * (rows - 1) + s->reach) / s->line + 1);
	} else {
		const char *cut =
		        rows == blocks ? "%s" : arena_printf(arena, "%" PRId64 " * %%s / %" PRId64, rows, blocks);
		line = part(arena, s->of_row, arena_printf(arena, cut, "first"), 0, s->line);
		end = arena_printf(arena, "%s + 1",
		        part(arena, s->of_row, arena_printf(arena, "%s - 1", arena_printf(arena, cut, "last")),
		                s->reach >= s->line || s->of_row % s->line ? s->reach : 0, s->line));
	}
	value_set(values, "line", line, "end", end);
}

static const char *arguments_of(struct emit *emit, const struct kernel *kernel, const struct strips *s)
{
	const char *all = "";
	FOR_ALL (i, s->product->params) {
		const struct definition *of = s->product->params.at[i].of;
		all = arena_printf(emit->arena, "%s%s%s", all, i ? ", " : "",
		        emit_buffer((void *)(uintptr_t)kernel, of == s->map ? s->strip : of));
	}
	return all;
}

void strips_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const struct strips *s = kernel_strips(kernel);
	const struct contraction *c = s->product->detail;
	struct arena *arena = emit->arena;
	struct value values = value_dict(arena), make = value_dict(arena), product = value_dict(arena);
	const struct kernel *line = s->body->kernels.at[0];
	emit_kernel(emit, line, out);
	text_addc(out, '\n');
	emit_kernel(emit, s->product, out);
	text_addc(out, '\n');
	value_set(make, "name", emit_symbol(emit, line), "blocks", line->blocks);
	value_set(product, "name", emit_symbol(emit, s->product), "arguments", arguments_of(emit, kernel, s), "panels",
	        c->split_panels ? s->product->blocks : 0);
	value_set(values, "kernel", emit_kernel_value(emit, kernel), "blocks", s->product->blocks, "group", s->group,
	        "words", s->line, "strip", emit_buffer((void *)(uintptr_t)kernel, s->strip), "from",
	        emit_buffer((void *)(uintptr_t)kernel, s->from), "step", s->step, "low", s->low, "high", s->high,
	        "border", s->border, "borders", value_bool(s->low > 0 || s->high < s->lines), "make", make, "product",
	        product);
	set_lines(values, arena, s);
	emit_render(emit, kernel, values, out);
}
