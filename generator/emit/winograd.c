/* winograd.c: the values of templates/c/winograd.jinja. */
#include "emit/emit.h"
#include <inttypes.h>

struct printing {
	struct emit *emit;
	struct arena *arena;
	const struct kernel *kernel;
	const struct contraction *c;
	const char *names[MAX_VARS], *root;
};

static const char *buffer_name(void *user, const struct definition *of)
{
	const struct printing *p = user;
	return emit_buffer((void *)(uintptr_t)p->kernel, of);
}

static struct held hold_root(void *user, const struct expr *load)
{
	const struct printing *p = user;
	return load->of == p->c->root && p->c->result != p->c->root
	        ? (struct held){ .text = p->root, .vector = true, .changes = true }
	        : (struct held){ 0 };
}

static struct printer printer_of(struct printing *p, int64_t left)
{
	return (struct printer){ .arena = p->arena,
		.target = p->emit->target,
		.lane = 1,
		.names = p->names,
		.buffer = buffer_name,
		.held = hold_root,
		.user = p,
		.left = left ? arena_printf(p->arena, "%" PRId64, left) : NULL };
}

static struct value call_start(struct template_call *call)
{
	struct printing *p = call->user;
	const char *channel = call_string(call, 0, "");
	p->names[1] = arena_printf(p->arena, "(%s)", channel);
	if (!p->c->arranged.start)
		return value_string("vec_set(0.f)");
	struct printer printer = printer_of(p, call_int(call, 1, 0));
	return value_string(printer_value(&printer, p->c->arranged.start));
}

/* The root's variables are what the call says from that argument on. */
static void name_place(struct printing *p, struct template_call *call, size_t first)
{
	static const int of[] = { 0, 2, 3, 1 }; /* image, row, column, channel -> n, h, w, o */
	FOR (i, COUNT(of))
		p->names[of[i]] = arena_printf(p->arena, "(%s)", call_string(call, first + i, "0"));
}

static struct value call_result(struct template_call *call)
{
	struct printing *p = call->user;
	const struct contraction *c = p->c;
	struct value result = value_dict(p->arena);
	int64_t left = call_int(call, 5, 0);
	const char *value = call_string(call, 0, "");
	name_place(p, call, 1);
	p->root = arena_printf(p->arena, "(%s)", value);
	struct printer printer = printer_of(p, left);
	if (c->arranged.value) {
		printer_share(&printer, &c->arranged.value, 1);
		value = printer_value(&printer, c->arranged.value);
	}
	const char *to = printer_address(&printer, c->result, c->out_at);
	value_set(result, "lets", emit_lets(p->arena, &printer));
	if (*call_string(call, 6, ""))
		value_set(
		        result, "store", value_printf(p->arena, "vec_store(%s, %s)", call_string(call, 6, ""), value));
	else
		value_set(result, "store",
		        emit_vec_store(p->arena, DTYPE_F32, to,
		                c->root->extents[1] == 1 ? 1 : index_factor(c->out_at, 1), value, printer.left));
	return result;
}

static struct value call_place(struct template_call *call)
{
	struct printing *p = call->user;
	name_place(p, call, 0);
	struct printer printer = printer_of(p, 0);
	printer.lane = -1;
	return value_string(printer_address(&printer, p->c->result, p->c->out_at));
}

/* Tiles side by side whose pixels are transposed together: about two squares of AVX-512's, and no more than a part of
 * L2. */
static int64_t run_of(const struct target *target, const struct contraction *c, int64_t channels, int64_t side)
{
	enum { PIXELS = 30, STRIP_MOST = 1 << 15 };
	int64_t m = c->rewrite->m, run = PIXELS / m < side ? PIXELS / m : side;
	while (run > 1 && (m + 2) * (run * m + 2 + target->lanes) * channels > STRIP_MOST)
		run--;
	return run;
}

static bool turns(const struct target *target)
{
	return target->lanes >= 4 && !target->lanes_are_threads && !target->options.small;
}

int64_t winograd_run(const struct target *target, const struct contraction *c)
{
	int64_t m = c->rewrite->m, ci = c->rewrite->w->extents[1], lanes = target->lanes;
	if (!turns(target) || c->winograd.x_pixel != 1 || c->winograd.x_channel == 1 || ci < lanes)
		return 0;
	return run_of(target, c, ceil_div(ci, lanes) * lanes, ceil_div(c->root->extents[3], m));
}

/* Of filters that come at run time. */
static struct value filters_value(const struct target *target, struct arena *arena, const struct contraction *c)
{
	return value_dict_of(arena, "out", c->winograd.w_out, "channel", c->winograd.w_channel, "row",
	        c->winograd.w_row, "column", c->winograd.w_column, "k_block", c->k_block, "kept", c->winograd.kept,
	        "turns",
	        value_bool(target->lanes >= 4 && !target->options.small && c->winograd.w_channel == 9
	                && c->winograd.w_row == 3 && c->winograd.w_column == 1));
}

/* Floats between neighbours of u as a kernel made it: what a GPU reads, as constants packed for it. */
static struct value points_value(struct arena *arena, const struct contraction *c)
{
	struct value u = value_dict(arena);
	const struct definition *of = c->rewrite->parts[WINOGRAD_FILTERS];
	int64_t ci = c->rewrite->w->extents[1], n = c->rewrite->m + 2;
	const int64_t packed[] = { n * n * ci, n * ci * c->winograd.lanes, ci * c->winograd.lanes, c->winograd.lanes,
		1 },
	              *stride = scheduled(of)->stride;
	const int64_t stored[] = { stride[2], stride[0], stride[1], stride[3], stride[2] },
	              *from = c->panel.packed ? packed : stored;
	static const char *const keys[] = { "column", "row", "point", "channel", "lane" };
	FOR (i, COUNT(keys))
		value_set(u, keys[i], from[i]);
	return u;
}

/* How many images, rows and columns there are, where one of them ends at a count. */
static struct value ends_value(struct emit *emit, const struct kernel *kernel, const struct contraction *c)
{
	static const struct {
		const char *key, *name;
		int v; /* of n, o, h, w */
	} sizes[] = { { "images", "images", 0 }, { "rows", "rows_there", 2 }, { "columns", "columns_there", 3 } };
	if (!contraction_is_counted(c))
		return value_none();
	struct value ends = value_dict(emit->arena), lets = value_list(emit->arena);
	FOR (i, COUNT(sizes)) {
		int v = sizes[i].v;
		if (!c->counts[v]) {
			value_set(ends, sizes[i].key, c->root->extents[v]);
			continue;
		}
		value_list_add(lets,
		        value_dict_of(emit->arena, "name", sizes[i].name, "value",
		                emit_count(emit, kernel, c->counts[v], c->root->extents[v])));
		value_set(ends, sizes[i].key, sizes[i].name);
	}
	value_set(ends, "lets", lets);
	return ends;
}

struct value winograd_values(struct emit *emit, const struct kernel *kernel)
{
	const struct contraction *c = kernel->detail;
	const struct definition *x = c->rewrite->x, *y = c->root;
	struct arena *arena = emit->arena;
	struct value values = value_dict(arena), from = value_dict(arena), to = value_dict(arena),
	             tile = value_dict(arena);
	const char *name = emit_buffer((void *)(uintptr_t)kernel, c->winograd.x);
	value_set(values, "m", c->rewrite->m, "batch", y->extents[0], "height", x->extents[2], "width", x->extents[3],
	        "channels_in", c->rewrite->w->extents[1], "channels_out", y->extents[1], "out_height", y->extents[2],
	        "out_width", y->extents[3], "pad_top", c->rewrite->pad_top, "pad_left", c->rewrite->pad_left, "lanes",
	        emit->target->lanes, "panels", c->panels, "groups", c->group, "warps", c->block.warps, "depth",
	        c->block.depth);
	value_set(from, "name",
	        c->winograd.x_base ? value_printf(arena, "(%s + %" PRId64 ")", name, c->winograd.x_base)
	                           : value_string(name),
	        "image", c->winograd.x_image, "row", c->winograd.x_row, "pixel", c->winograd.x_pixel, "channel",
	        c->winograd.x_channel);
	int lanes = emit->target->lanes;
	int64_t side = ceil_div(y->extents[3], c->rewrite->m);
	value_set(from, "run", winograd_run(emit->target, c));
	value_set(to, "run",
	        turns(emit->target) && index_factor(c->out_at, 3) == 1 && index_factor(c->out_at, 1) > 1
	                ? run_of(emit->target, c, lanes, side)
	                : 0,
	        "channel", index_factor(c->out_at, 1));
	value_set(values, "y", to);
	value_set(tile, "rows", c->tile.rows, "vecs", c->tile.vecs);
	value_set(values, "x", from, "tile", tile);
	const char *weights = emit_buffer((void *)(uintptr_t)kernel, winograd_filters(c));
	value_set(values, "weights",
	        c->winograd.w && c->winograd.w_base
	                ? value_printf(arena, "(%s + %" PRId64 ")", weights, c->winograd.w_base)
	                : value_string(weights),
	        "filters", c->winograd.w ? filters_value(emit->target, arena, c) : value_none(), "u",
	        points_value(arena, c), "prefetch", c->winograd.prefetch, "ends", ends_value(emit, kernel, c));
	return values;
}

void winograd_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	struct printing *p = arena_new(emit->arena, struct printing);
	*p = (struct printing){ .emit = emit, .arena = emit->arena, .kernel = kernel, .c = kernel->detail };
	FOR (v, MAX_VARS)
		p->names[v] = "0";
	struct value values = winograd_values(emit, kernel);
	value_set(values, "kernel", emit_kernel_value(emit, kernel));
	value_set(value_dict_get(values, "y"), "place",
	        value_function(p->arena, "place", "image row column channel", call_place, p));
	value_set(values, "start", value_function(p->arena, "start", "channel left", call_start, p), "result",
	        value_function(p->arena, "result", "value image row column channel left at", call_result, p));
	emit_render(emit, kernel, values, out);
}
