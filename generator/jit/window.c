/* window.c: a chain of terms over a small window of an image whose channels are neighbours (depthwise convolution,
 * pooling): one call for the whole image, where bias, residual and relu are all there is around it; else a call for
 * each row, whose outputs then pass through an epilogue in scratch. */
#include "jit/jit.h"
#include <inttypes.h>

/* How outputs and taps move over the rows, columns or images that there are, so many floats apart, of which those in a
 * pad's range are there. */
enum { ROWS, COLUMNS, IMAGES, AXES };
struct axis {
	int64_t unit, move, step, from, to;
};
struct finding {
	struct blocks *b;
	struct definition *root, *result;
	const struct expr *x, *w, *value; /* loads; the result over the root, or NULL */
	const struct range *pads;
	int pad_count, lane, row, column, depth, up, right, deep; /* variables; -1: of extent 1 */
	const char *step; /* of m_window_…, whose lanes are channels, and m_plane_…, whose lanes are columns of one */
	const struct index *x_at, *w_at, *out_at;
	int64_t some;       /* rows of outputs at once, where calls are behind them */
	bool planes, plain; /* channels are planes; bias, residual and relu are all there is around the window */
	struct tile_ending ending;
	const struct index *add_at; /* the residual's */
	struct operand start;
	struct axis axes[AXES];
	struct value fixed, moving;
};

/* load, or select(pads) load : gone */
static bool padded_load(struct finding *f, const struct expr *e, double gone)
{
	f->x = e;
	if (e->kind == EXPR_SELECT && e->arg[1]->kind == EXPR_NUMBER && e->arg[1]->number == gone) {
		f->pads = e->ranges;
		f->pad_count = e->range_count;
		f->x = e->arg[0];
	}
	return f->x->kind == EXPR_LOAD && f->x->type == DTYPE_F32;
}

static bool is_window(struct finding *f)
{
	const struct definition *d = f->root;
	if (d->type != DTYPE_F32 || d->order != ORDER_SERIAL || d->source != SOURCE_COMPUTED)
		return false;
	if (d->reduce == REDUCE_MAX) {
		f->step = "max";
		return !d->start && padded_load(f, d->body, -1. / 0.);
	}
	if (d->reduce != REDUCE_SUM)
		return false;
	if (d->sum.products && d->body->arg[0] == d->body->arg[1]) {
		f->step = "square";
		return padded_load(f, d->body->arg[0], 0);
	}
	if (d->sum.products) {
		f->step = "fma";
		FOR (i, 2) {
			f->pad_count = 0;
			f->w = d->body->arg[1 - i];
			if (f->w->kind == EXPR_LOAD && f->w->type == DTYPE_F32 && f->w->of->source == SOURCE_CONSTANT
			        && padded_load(f, d->body->arg[i], 0))
				return true;
		}
		return false;
	}
	f->step = "add";
	f->w = NULL;
	return padded_load(f, d->body, 0);
}

/* The result is the root, or one map of it with the same variables. */
static bool find_result(struct finding *f)
{
	const struct kernel *kernel = f->b->kernel;
	f->root = f->result = kernel->members.at[0];
	if (definition_scatters(f->root))
		return false;
	if (kernel->members.count == 1)
		return scheduled(f->root)->mode != MODE_LOCAL;
	f->result = kernel->members.at[1];
	if (kernel->members.count != 2 || f->result->reduce != REDUCE_NONE || f->result->rank != f->root->rank
	        || scheduled(f->root)->mode != MODE_LOCAL)
		return false;
	FOR (v, f->root->rank)
		if (f->root->extents[v] != f->result->extents[v])
			return false;
	f->value = f->result->body;
	return true;
}

struct identity {
	const struct definition *root;
	bool holds;
};
static void see_root(void *user, const struct expr *load)
{
	struct identity *i = user;
	for (int d = 0; load->of == i->root && d < i->root->rank; d++)
		if (i->root->extents[d] > 1 && !index_is(load->at[d], d))
			i->holds = false;
}

static int64_t factor_of(const struct index *at, int var) { return var < 0 ? 0 : index_factor(at, var); }
static int64_t extent_of(const struct definition *d, int var) { return var < 0 ? 1 : definition_extent(d, var); }

static void set(struct finding *f, struct value list, const char *name, const char *text)
{
	value_list_add(list, value_dict_of(f->b->arena, "name", name, "value", text));
}

static void set_int(struct finding *f, const char *name, int64_t i)
{
	set(f, f->fixed, name, arena_printf(f->b->arena, "%" PRId64, i));
}

/* The variables: channels are the lane, columns what lies next, rows the next after them.  Where the columns are
 * neighbours themselves, every channel is a plane of its own. */
static bool find_variables(struct finding *f)
{
	int next = -1;
	const struct definition *d = f->root;
	const struct index *x_at = f->x_at, *w_at = f->w_at, *out_at = f->out_at;
	f->lane = f->row = f->column = f->depth = f->up = f->right = f->deep = -1;
	FOR (v, d->rank)
		if (d->extents[v] > 1 && index_factor(out_at, v) == 1 && index_factor(x_at, v) == 1)
			next = v;
	bool plane = next < 0;
	for (int v = 0; v < d->rank && plane; v++)
		if (d->extents[v] > 1 && index_factor(out_at, v) == 1 && index_factor(x_at, v) > 1)
			next = v;
	if (next < 0)
		return false;
	plane |= w_at && !index_factor(w_at, next);
	for (int i = 0; i < f->pad_count && !w_at; i++)
		plane |= index_uses(f->pads[i].at, next);
	if (plane)
		f->column = next;
	else
		f->lane = next;
	f->planes = plane;
	FOR (v, d->rank) {
		int64_t step = index_factor(out_at, v);
		if (d->extents[v] == 1 || v == next || (w_at && index_factor(w_at, v)))
			continue;
		if (!plane && (f->column < 0 || step < index_factor(out_at, f->column))) {
			f->row = f->column;
			f->column = v;
		} else if (f->row < 0 || step < index_factor(out_at, f->row))
			f->row = v;
	}
	for (int r = 0, count = 0; r < d->reduced; r++) {
		if (d->reduced_extents[r] == 1)
			continue;
		if (count++ == 3)
			return false;
		f->deep = f->up;
		f->up = f->right;
		f->right = d->rank + r;
	}
	FOR (v, d->rank + d->reduced)
		if ((v == f->lane || v == f->column || v == f->row || v >= d->rank)
		        && (index_bends(x_at, v) || index_bends(out_at, v) || (w_at && index_bends(w_at, v))))
			return false;
	return plane || strcmp(f->step, "square");
}

/* The output's variable and the tap of a row, of a column, and of an image of an axis more. */
static bool uses(const struct index *at, int var) { return var >= 0 && index_uses(at, var); }

static int64_t at_least(int64_t number, int64_t by) { return number > 0 ? ceil_div(number, by) : -(-number / by); }
static bool axis_of(struct finding *f, int out, int tap, const struct range *pad, struct axis *g)
{
	int64_t move = factor_of(f->x_at, out), step = factor_of(f->x_at, tap), unit = gcd(move, step), by;
	*g = (struct axis){ unit ? unit : 1, move ? move / unit : 1, unit ? step / unit : 0, INT32_MIN, INT32_MAX };
	if (move < 0 || step < 0)
		return false;
	if (pad && !f->planes) {
		g->move = factor_of(pad->at, out);
		g->step = factor_of(pad->at, tap);
		g->from = pad->from - pad->at->constant;
		g->to = pad->to - pad->at->constant;
		/* A column that never moves, but whose taps may be gone, has no range of outputs that are whole. */
		return g->step >= 0 && (g->move > 0 || (!g->move && out != f->column));
	}
	if (!pad)
		return true;
	by = g->step ? factor_of(pad->at, tap) / g->step : factor_of(pad->at, out) / g->move;
	if (by <= 0 || factor_of(pad->at, out) != (move ? by * g->move : 0) || factor_of(pad->at, tap) != by * g->step)
		return false;
	g->from = at_least(pad->from - pad->at->constant, by);
	g->to = at_least(pad->to - pad->at->constant, by);
	return true;
}

/* Each pad is of one of them; that of images has an output's variable that is nobody else's. */
enum { NEAR_ROW = 64 }; /* floats beyond a short row */
static bool set_axes(struct finding *f)
{
	static const char *const names[AXES] = { "rows", "columns", "images" };
	const struct range *pads[AXES] = { 0 };
	const struct definition *d = f->root;
	const int taps[AXES] = { f->up, f->right, f->deep };
	int outs[AXES] = { f->row, f->column, f->depth };
	FOR (i, f->pad_count) {
		const struct index *at = f->pads[i].at;
		bool row = uses(at, f->row) || uses(at, f->up), column = uses(at, f->column) || uses(at, f->right);
		int of = row ? ROWS : column ? COLUMNS : IMAGES;
		if (!index_is_affine(at) || (row && column) || (of != IMAGES && uses(at, f->deep)) || pads[of]
		        || (of == IMAGES && !uses(at, f->deep)))
			return false;
		for (int v = 0; v < d->rank && of == IMAGES; v++)
			outs[of] = index_uses(at, v) ? v : outs[of];
		FOR (v, d->rank)
			if (index_uses(at, v) && v != outs[of])
				return false;
		pads[of] = &f->pads[i];
	}
	f->depth = outs[IMAGES];
	FOR (i, AXES) {
		struct axis *axis = &f->axes[i];
		if (!axis_of(f, outs[i], taps[i], pads[i], axis))
			return false;
		const struct {
			const char *name;
			int64_t value;
		} members[] = { { "move", axis->move }, { "step", axis->step }, { "from", axis->from },
			{ "to", axis->to }, { "unit", axis->unit }, { "count", extent_of(d, taps[i]) } };
		FOR (k, COUNT(members))
			set_int(f, arena_printf(f->b->arena, "%s.%s", names[i], members[k].name), members[k].value);
	}
	/* Columns that no two outputs share gain nothing by lines, nor do taps that lie further apart than a row is wide (channels). */
	int64_t far = f->axes[COLUMNS].step * (extent_of(d, f->right) - 1);
	return !f->planes
	        || ((f->pad_count || far + f->axes[COLUMNS].step > f->axes[COLUMNS].move)
	                && far <= f->axes[COLUMNS].move * extent_of(f->root, f->column) + NEAR_ROW);
}

/* Addresses stand at the first row, column, channel and tap. */
static const char *base_of(struct finding *f, const struct definition *of, const struct index *at)
{
	const struct index *with[MAX_VARS] = { 0 };
	const int vars[] = { f->lane, f->column, f->up, f->right, f->deep, f->row };
	FOR (i, COUNT(vars))
		if (vars[i] >= 0)
			with[vars[i]] = index_constant(f->b->arena, 0);
	return printer_address(&f->b->printer, of, index_substitute(f->b->arena, at, with));
}

/* What is read and stored, by affine addresses; the weights along channels alone. */
static bool find_addresses(struct finding *f)
{
	struct arena *arena = f->b->arena;
	struct identity identity = { f->root, true };
	const struct index *with[MAX_RANK];
	if (f->value)
		expr_loads(f->value, see_root, &identity);
	index_vars(arena, with, f->root->rank, f->root->extents);
	f->x_at = schedule_address(arena, f->x->of, f->x->at);
	f->w_at = f->w ? schedule_address(arena, f->w->of, f->w->at) : NULL;
	f->out_at = schedule_address(arena, f->result, with);
	if (!identity.holds || !find_variables(f))
		return false;
	if (f->w_at
	        && ((!f->planes && index_factor(f->w_at, f->lane) != 1) || factor_of(f->w_at, f->row)
	                || factor_of(f->w_at, f->column)))
		return false;
	return true;
}

/* The sum's start is one of the root's channel; what is behind the sum is the entry's, or calls. */
static bool find_ending(struct finding *f, const struct dims *d)
{
	const struct expr *first = f->root->start;
	f->start = (struct operand){ .at = "0" };
	if (first
	        && (!blocks_leaf(f->b, first, d, &f->start) || (f->start.lane & ~(f->planes ? 0 : 1)) || f->start.row
	                || (f->row >= 0 && expr_uses(first, f->row))))
		return false;
	if (first && first->kind == EXPR_LOAD)
		f->start.at = base_of(f, first->of, schedule_address(f->b->arena, first->of, first->at));
	f->plain = tile_ending(f->value, f->root, &f->ending);
	if (f->plain && f->ending.add) {
		const struct expr *add = f->ending.add;
		f->add_at = schedule_address(f->b->arena, add->of, add->at);
		f->plain = index_is_affine(f->add_at) && index_factor(f->add_at, f->planes ? f->column : f->lane) == 1
		        && add->of != f->root;
	}
	return true;
}

/* Rows of outputs whose lines, and sums, stay near. */
static void add_lines(struct finding *f)
{
	enum { LINES = 6144, ROOM = 64 };
	const struct axis *row = &f->axes[ROWS], *column = &f->axes[COLUMNS];
	int64_t rows = extent_of(f->root, f->row),
	        wide = extent_of(f->root, f->column) + column->step * (extent_of(f->root, f->right) - 1) / column->move,
	        planes = row->move * column->move * extent_of(f->root, f->deep),
	        more = row->step * (extent_of(f->root, f->up) - 1) / row->move,
	        some = (LINES / wide - planes * more) / (planes + 1);
	some = some < more + 4 ? more + 4 : some;
	some = some < rows ? some : rows;
	set_int(f, "some", some);
	set(f, f->fixed, "lines", blocks_scratch(f->b, wide * (planes * (some + more) + some) + ROOM, NULL));
}

static void add_operands(struct finding *f)
{
	const struct index *x_at = f->x_at, *w_at = f->w_at;
	set(f, f->moving, "x", base_of(f, f->x->of, x_at));
	set(f, f->moving, "w", w_at ? base_of(f, f->w->of, w_at) : "0");
	set(f, f->moving, "start", f->start.at);
	set(f, f->moving, "deep_at", f->depth < 0 ? "0" : f->b->printer.names[f->depth]);
	const struct {
		const char *name;
		int64_t value;
	} sizes[] = { { "start_lane", f->start.lane }, { "x_row", factor_of(x_at, f->row) },
		{ "x_column", factor_of(x_at, f->column) }, { "x_up", factor_of(x_at, f->up) },
		{ "x_right", factor_of(x_at, f->right) }, { "w_up", w_at ? factor_of(w_at, f->up) : 0 },
		{ "w_right", w_at ? factor_of(w_at, f->right) : 0 }, { "width", extent_of(f->root, f->column) },
		{ "channels", extent_of(f->root, f->lane) }, { "x_deep", factor_of(x_at, f->deep) },
		{ "w_deep", w_at ? factor_of(w_at, f->deep) : 0 }, { "act", f->plain && f->ending.relu } };
	FOR (i, COUNT(sizes))
		set_int(f, sizes[i].name, sizes[i].value);
	if (f->planes)
		add_lines(f);
}

/* From row to row of the sums in scratch. */
static int64_t apart_of(const struct finding *f, const struct dims *d)
{
	return f->planes ? d->n_most : d->rows_most / f->some * d->n_most;
}

/* Where the outputs go: to their place, or some rows of them to scratch, which calls pass on. */
static struct value add_result(struct finding *f, const struct dims *d)
{
	struct blocks *b = f->b;
	struct value calls = value_list(b->arena);
	const struct index *out_at = f->out_at, *add_at = f->add_at;
	set(f, f->moving, "add", f->plain && add_at ? base_of(f, f->ending.add->of, add_at) : "0");
	set_int(f, "add_row", f->plain && add_at ? factor_of(add_at, f->row) : 0);
	set_int(f, "add_column", f->plain && add_at ? factor_of(add_at, f->column) : 0);
	if (f->plain) {
		set(f, f->moving, "out", base_of(f, f->result, out_at));
		set_int(f, "out_row", factor_of(out_at, f->row));
		set_int(f, "out_column", factor_of(out_at, f->column));
		return calls;
	}
	const char *const *names = b->printer.names;
	const char *scratch = blocks_scratch(b, d->rows_most * d->n_most, NULL);
	set(f, f->moving, "out", scratch);
	set_int(f, "out_row", apart_of(f, d));
	set_int(f, "out_column", f->planes ? 1 : d->n_most);
	b->sums = (struct operand){ scratch, d->row >= 0 ? d->n_most : 0, 1, false, false };
	b->list = calls;
	/* the first column and channel of the rows: their variables stand at 0 */
	blocks_let(b, "long", names[d->lane], "0");
	if (!f->planes && f->column >= 0)
		blocks_let(b, "long", names[f->column], "0");
	blocks_store(b, f->value, d, expr_load_own(b->arena, f->result));
	return calls;
}

/* Does it lie, or ask, otherwise than as if the next row went on where a row's columns end? */
static bool goes_on(const struct finding *f, const struct index *at)
{
	return index_is_affine(at) && factor_of(at, f->row) == factor_of(at, f->column) * extent_of(f->root, f->column);
}
static enum visit breaks_rows(void *user, const struct expr *e)
{
	const struct finding *f = user;
	if (e->kind == EXPR_SELECT || e->kind == EXPR_INDEX)
		return VISIT_END;
	return e->kind != EXPR_LOAD || e->of == f->root || goes_on(f, schedule_address(f->b->arena, e->of, e->at))
	        ? VISIT_PARTS
	        : VISIT_END;
}

/* What an epilogue takes at once: rows of columns and channels, more than one where all go on as one; of planes so many
 * rows as fit a block. */
static struct dims dims_of(struct finding *f)
{
	struct arena *arena = f->b->arena;
	int row = f->planes ? f->row : f->column, lane = f->planes ? f->column : f->lane;
	int64_t rows = extent_of(f->root, row), lanes = extent_of(f->root, lane), all = extent_of(f->root, f->row);
	f->some = f->planes ? rows : 1;
	if (f->planes && rows * lanes > JIT_BLOCK)
		f->some = rows = JIT_BLOCK / 4 > lanes ? JIT_BLOCK / lanes / 4 * 4 : 1;
	else if (!f->planes && f->row >= 0 && f->value && goes_on(f, f->out_at)
	        && !expr_visit(f->value, breaks_rows, f)) {
		int64_t some = JIT_BLOCK / (rows * lanes);
		f->some = some < 1 ? 1 : some < all ? some : all;
	}
	const char *text = arena_printf(arena, f->some > 1 ? "some * %" PRId64 : "%" PRId64, rows);
	return (struct dims){ row, lane, f->planes ? "some" : text, arena_printf(arena, "%" PRId64, lanes),
		f->planes ? rows : f->some * rows, lanes };
}

bool jit_window(struct blocks *b, struct emit *emit, struct jit_kernel *out)
{
	static const char *const names[MAX_VARS] = { "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7" };
	struct arena *arena = b->arena;
	struct finding f = { .b = b, .fixed = value_list(arena), .moving = value_list(arena) };
	struct value outer = value_list(arena);
	if (!find_result(&f) || !is_window(&f) || f.root->rank > 8 || !find_addresses(&f) || !set_axes(&f))
		return false;
	blocks_begin(b, emit, names, f.root == f.result ? NULL : f.root);
	b->list = value_list(arena);
	struct dims d = dims_of(&f);
	if (!find_ending(&f, &d))
		return false;
	add_operands(&f);
	struct value calls = add_result(&f, &d), ends = value_none();
	int counted = kernel_counted(b->kernel);
	FOR (v, f.root->rank)
		if (f.root->extents[v] > 1 && v != f.lane && v != f.column && v != f.row) {
			struct value axis = value_dict_of(arena, "name", names[v], "extent", f.root->extents[v]);
			if (v == counted) {
				ends = emit_ends(emit, b->kernel, f.root->count.of[v], f.root->extents[v]);
				value_set(axis, "extent", "many");
			}
			value_list_add(outer, axis);
		}
	const char *entry = arena_printf(arena, "m_%s_%s", f.planes ? "plane" : "window", f.step);
	blocks_uses(b, entry, "window");
	value_set(out->value, "outer", outer, "ends", ends, "fixed", f.fixed, "moving", f.moving, "entry", entry,
	        "rows", extent_of(f.root, f.row), "row", f.row >= 0 ? names[f.row] : "row", "step", f.some, "apart",
	        apart_of(&f, &d), "result", calls);
	out->scratch = b->scratch_most;
	return !b->cannot;
}
