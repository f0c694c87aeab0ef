/* strips.c: where memory is short, a map that a product's a is read from (bytes that become dwords, with their borders)
 * is not stored whole: some lines of it stand in a strip while the rows that read them are multiplied.
 *
 * A line is what lies side by side below the outermost dims of the map.  One line is a program of its own, of one
 * kernel; lines that are all borders are one number.  Strips are as small as lets few lines be made twice, and there are
 * strips only as far as the workspace becomes smaller by them. */
#include "kernels/kernels.h"

enum {
	PLACE = 64,
	SHARE = 4
}; /* how places are aligned; a strip is such a part of the whole map at most, as a guess */

const struct strips *kernel_strips(const struct kernel *kernel)
{
	return kernel->shape == SHAPE_STRIPS ? kernel->detail : NULL;
}

/* ---- which dims a line does not have ---- */
struct looking {
	const struct definition *map;
	const struct strips *strips;
	struct definition *of;  /* the one tensor that is read */
	int64_t step;           /* of it, elements from line to line */
	bool possible, selects; /* selects: some lines are borders */
};

static bool is_line(const struct strips *s, int v) { return s->lines_of >> v & 1; }

static bool uses_lines(const struct looking *l, const struct index *at)
{
	FOR (v, l->map->rank)
		if (is_line(l->strips, v) && index_uses(at, v))
			return true;
	return false;
}

static void look_at_load(struct looking *l, const struct expr *load)
{
	FOR (d, load->of->rank)
		l->possible &= !load->at[d]->values && index_is_affine(load->at[d]);
	l->possible &= !l->of || l->of == load->of;
	l->of = load->of;
	for (int v = 0; l->possible && v < l->map->rank; v++) {
		if (!is_line(l->strips, v) || l->map->extents[v] == 1)
			continue;
		int64_t step = 0, lines = scheduled(l->map)->stride[v] / l->strips->line;
		FOR (d, load->of->rank)
			step += index_factor(load->at[d], v) * scheduled(load->of)->stride[d];
		l->possible &= step > 0 && step % lines == 0 && (!l->step || l->step == step / lines);
		l->step = step / lines;
	}
}

static enum visit look(void *user, const struct expr *expr)
{
	struct looking *l = user;
	if (expr->kind == EXPR_LOAD) {
		look_at_load(l, expr);
		return l->possible ? VISIT_PARTS : VISIT_END;
	}
	FOR (i, expr_index_count(expr)) {
		const struct index *at = expr_index_at(expr, i);
		if (!uses_lines(l, at))
			continue;
		l->selects = true;
		l->possible &= expr->kind == EXPR_SELECT && !at->values && index_is_affine(at) && at->count == 1;
	}
	return l->possible ? VISIT_PARTS : VISIT_END;
}

/* The map's body at one line. */
static const struct expr *body_at(
        struct arena *arena, const struct definition *map, const struct strips *s, int64_t line)
{
	const struct index *with[MAX_VARS] = { 0 };
	FOR (v, map->rank)
		if (is_line(s, v))
			with[v] = index_constant(
			        arena, map->extents[v] == 1 || scheduled(map)->stride[v] != s->line ? 0 : line);
	return expr_substitute(arena, map->body, with);
}

/* Lines [low, high) read the tensor, the others are one number, the border. */
static bool find_borders(const struct lowered *lowered, const struct definition *map, struct strips *s)
{
	bool borders = false;
	s->low = s->high = 0;
	FOR (line, s->lines) {
		const struct expr *body = body_at(lowered->arena, map, s, line);
		bool reads = expr_has(body, 1u << EXPR_LOAD);
		body = reads ? body : expr_fold(lowered->program, body);
		if (reads ? s->high && s->high != line
		          : body->kind != EXPR_NUMBER || (borders && body->integer != s->border))
			return false;
		borders |= !reads;
		s->border = reads ? s->border : body->integer;
		s->low = reads && !s->high ? line : s->low;
		s->high = reads ? line + 1 : s->high;
	}
	return s->high > s->low;
}

struct holding {
	const struct strips *s;
	const struct definition *map;
	bool all;
};
/* Each range is met by all lines that read, or asks for no line. */
static enum visit holds(void *user, const struct expr *expr)
{
	struct holding *h = user;
	for (int i = 0; expr->kind == EXPR_SELECT && i < expr->range_count; i++)
		FOR (v, h->map->rank)
			if (is_line(h->s, v) && index_uses(expr->ranges[i].at, v)) {
				int64_t factor = index_factor(expr->ranges[i].at, v), at = expr->ranges[i].at->constant;
				h->all &= factor > 0 && factor * h->s->low + at >= expr->ranges[i].from
				        && factor * (h->s->high - 1) + at < expr->ranges[i].to;
			}
	return VISIT_PARTS;
}

/* The outermost dims from the stride `line` on. */
static bool find_lines(const struct lowered *lowered, const struct definition *map, int64_t line, struct strips *s)
{
	int64_t below = 1;
	*s = (struct strips){ .map = (struct definition *)(uintptr_t)map, .line = line, .lines = 1 };
	FOR (v, map->rank)
		if (map->extents[v] > 1 && scheduled(map)->stride[v] >= line) {
			s->lines_of |= 1u << v;
			s->lines *= map->extents[v];
		} else
			below *= map->extents[v];
	struct looking l = { .map = map, .strips = s, .possible = below == line };
	if (!l.possible || expr_visit(map->body, look, &l) || !l.possible || !l.of)
		return false;
	s->from = l.of;
	s->step = l.step;
	s->high = s->lines;
	bool single = !(s->lines_of & (s->lines_of - 1));
	struct holding h = { s, map, true };
	if (l.selects && (!single || !find_borders(lowered, map, s)))
		return false;
	expr_visit(map->body, holds, &h);
	return h.all;
}

/* ---- which lines the rows of a product read ---- */
static bool find_rows(const struct contraction *c, struct strips *s)
{
	int row = contraction_row(c), around = c->rows == 2 ? c->batches : -1;
	if (c->rows < 1 || c->rows > 2 || c->pad_count || c->pool.d || c->roles.exchanged || c->staging.copied
	        || !c->a_at || !index_is_affine(c->a_at) || c->a_at->constant)
		return false;
	for (int v = 0; v <= c->column + c->terms; v++) {
		if (index_factor(c->a_at, v) < 0 || (v < c->batches && c->extents[v] > 1))
			return false;
		s->reach += v > c->column ? index_factor(c->a_at, v) * (c->extents[v] - 1) : 0;
	}
	s->of_row = index_factor(c->a_at, row);
	s->of_around = around >= 0 ? index_factor(c->a_at, around) : 0;
	return s->of_row > 0 && (around < 0 || (s->of_around > 0 && s->of_around % s->line == 0));
}

static bool is_alone(const struct lowered *lowered, const struct definition *map, const struct kernel *product)
{
	const struct scheduled *m = scheduled(map);
	if (map->source != SOURCE_COMPUTED || map->reduce != REDUCE_NONE || map->lies || map->port.is_output
	        || map->branch || product->root->branch || m->mode != MODE_DEVICE || m->lies_in || m->view_of
	        || m->steers || !m->kernel || m->kernel->shape != SHAPE_LOOPS || m->kernel->members.count != 1
	        || m->readers.count != 1 || definition_is_counted(map) || definition_is_counted(product->root))
		return false;
	FOR_EACH (struct definition *view, lowered->views) {
		if (scheduled(view)->view_of == map)
			return false;
	}
	return true;
}

/* Does the product write where the map reads (a residual of its own a)?  Then all lines are made before. */
static bool overwrites(const struct contraction *c, const struct definition *from)
{
	while (scheduled(from)->lies_in && from != c->result)
		from = scheduled(from)->lies_in;
	return from == c->result;
}

/* Lines as short as the rows allow where none is a border, else all below the outermost dim. */
static bool find_strips(const struct lowered *lowered, const struct kernel *product, struct strips *s)
{
	const struct contraction *c = product->shape == SHAPE_CONTRACTION ? product->detail : NULL;
	const struct definition *map = c && c->a ? c->a->of : NULL;
	int64_t most = 0;
	if (!map || !is_alone(lowered, map, product))
		return false;
	FOR (v, map->rank)
		if (map->extents[v] > 1 && scheduled(map)->stride[v] > most)
			most = scheduled(map)->stride[v];
	int64_t row = contraction_row(c) >= 0 ? index_factor(c->a_at, contraction_row(c)) : 0;
	return ((row > 0 && row < most && c->rows == 1 && find_lines(lowered, map, row, s) && find_rows(c, s))
	               || (most > 0 && find_lines(lowered, map, most, s) && find_rows(c, s)))
	        && !overwrites(c, s->from);
}

/* ---- one line as a program ---- */
struct restricting {
	struct arena *arena;
	struct definition *of, *inside;
};
static const struct expr *from_inside(void *user, const struct expr *load)
{
	const struct restricting *r = user;
	return expr_load(r->arena, r->inside, load->at);
}

static struct definition *copy_of(struct lowered *body, const struct definition *of)
{
	struct scheduled *made = arena_new(body->arena, struct scheduled);
	*made = (struct scheduled){
		.of = *of, .mode = MODE_HOSTED, .bytes = scheduled(of)->bytes, .offset = -1, .first = -1, .last = -1
	};
	memcpy(made->stride, scheduled(of)->stride, sizeof made->stride);
	made->of.number = (int)body->program->all.count;
	push(body->arena, &body->program->all, &made->of);
	return &made->of;
}

static struct lowered *line_of(const struct lowered *lowered, struct strips *s)
{
	struct arena *arena = lowered->arena;
	struct lowered *body = arena_new(arena, struct lowered);
	body->program = program_new(lowered->program->build, lowered->program->name);
	body->program->definition_bytes = sizeof(struct scheduled);
	body->arena = arena;
	body->target = lowered->target;
	body->optimise = lowered->optimise;
	body->finish = lowered->finish;
	struct restricting r = { arena, s->from, s->inside = copy_of(body, s->from) };
	s->inside->source = SOURCE_INPUT;
	s->inside->body = s->inside->start = NULL;
	s->inside->reduce = REDUCE_NONE;
	s->inside->sum.products = s->inside->port.is_output = false;
	push(arena, &body->program->inputs, s->inside);
	struct definition *made = copy_of(body, s->map);
	made->body = expr_map_loads(arena, body_at(arena, s->map, s, s->low), from_inside, &r);
	made->port.is_output = true;
	FOR (v, made->rank)
		made->extents[v] = is_line(s, v) ? 1 : made->extents[v];
	scheduled(made)->bytes = (int64_t)dtype_bytes(made->type, (size_t)s->line);
	push(arena, &body->program->outputs, made);
	find_readers(body);
	fuse(body);
	layout(body);
	if (!arrange(body) || body->kernels.count != 1 || body->kernels.at[0]->shape != SHAPE_LOOPS)
		return NULL;
	choose(body);
	plan(body);
	return body->constants.count ? NULL : body;
}

/* ---- where the workspace is largest ---- */
struct span {
	int first, last;
};
static struct span span_of(const struct lowered *lowered, const struct definition *d)
{
	int end = (int)lowered->kernels.count - 1;
	const struct kernel *writer = scheduled(d)->kernel;
	struct span span = { writer ? writer->number : 0, writer ? writer->number : 0 };
	FOR_EACH (struct definition *one, scheduled(d)->readers) {
		const struct kernel *reader = scheduled(one)->kernel;
		span.last = reader && reader->number > span.last ? reader->number : span.last;
	}
	span.last = d->port.is_output ? end : span.last;
	return span;
}

static bool has_place(const struct lowered *lowered, const struct definition *d)
{
	return !scheduled(d)->lies_in && !scheduled(d)->view_of
	        && (scheduled(d)->mode == MODE_DEVICE
	                || (scheduled(d)->mode == MODE_HOSTED && lowered->io_in_workspace));
}

/* The bytes that are alive in each kernel. */
static int64_t *live_bytes(const struct lowered *lowered)
{
	int64_t *live = arena_new_array(lowered->arena, int64_t, lowered->kernels.count + 1);
	FOR_EACH (const struct definition *d, lowered->program->all) {
		const struct definition *at = d;
		while (scheduled(at)->lies_in)
			at = scheduled(at)->lies_in;
		struct span span = span_of(lowered, d);
		if (!has_place(lowered, at) || (!scheduled(d)->lies_in && at != d))
			continue;
		if (at != d) /* its result's place, before that is written */
			span.last = span_of(lowered, at).first - 1;
		for (int k = span.first; k <= span.last && k < (int)lowered->kernels.count; k++)
			live[k] += ceil_div(scheduled(at)->bytes, PLACE) * PLACE;
	}
	FOR_ALL (k, lowered->kernels)
		if (kernel_strips(lowered->kernels.at[k]))
			live[k] += scheduled(kernel_strips(lowered->kernels.at[k])->map)->bytes / SHARE;
	return live;
}

/* The map's kernel goes, its reader becomes strips. */
static void replace(struct lowered *lowered, struct kernel *product, struct strips *strips)
{
	struct kernel *kernel = arena_new(lowered->arena, struct kernel);
	size_t kept = 0;
	*kernel = (struct kernel){ .shape = SHAPE_STRIPS, .root = product->root, .detail = strips };
	strips->product = product;
	push(lowered->arena, &kernel->members, strips->map);
	FOR_EACH (struct definition *each, product->members) {
		push(lowered->arena, &kernel->members, each);
	}
	struct kernel *map = scheduled(strips->map)->kernel;
	FOR_EACH (struct definition *member, kernel->members) {
		scheduled(member)->kernel = kernel;
	}
	scheduled(strips->map)->mode = MODE_LOCAL;
	FOR_EACH (struct kernel *one, lowered->kernels) {
		if (one != map)
			lowered->kernels.at[kept++] = one == product ? kernel : one;
	}
	lowered->kernels.count = kept;
	FOR (k, kept)
		lowered->kernels.at[k]->number = (int)k;
}

/* The product whose a is made or read in kernel k; NULL: there is none that strips could serve. */
static struct kernel *product_at(const struct lowered *lowered, size_t k, struct strips *s)
{
	for (size_t p = k; p < lowered->kernels.count; p++) {
		struct kernel *product = lowered->kernels.at[p];
		const struct contraction *c = product->shape == SHAPE_CONTRACTION ? product->detail : NULL;
		if (c && c->a && (p == k || scheduled(c->a->of)->kernel == lowered->kernels.at[k])
		        && find_strips(lowered, product, s))
			return product;
	}
	return NULL;
}

void make_strips(struct lowered *lowered)
{
	const struct target *target = lowered->target;
	if (!target->options.small || !target->short_stack || target->options.log || target->lanes > 1)
		return;
	for (bool more = true; more;) {
		const int64_t *live = live_bytes(lowered);
		struct strips found, *strips;
		size_t most = 0;
		more = false;
		FOR_ALL (k, lowered->kernels)
			most = live[k] > live[most] ? k : most;
		struct kernel *product = lowered->kernels.count ? product_at(lowered, most, &found) : NULL;
		if (!product)
			continue;
		strips = arena_new(lowered->arena, struct strips);
		*strips = found;
		if ((strips->body = line_of(lowered, strips))) {
			replace(lowered, product, strips);
			more = true;
		}
	}
}

/* ---- how many rows share a strip ---- */

/* The lines that blocks [first, last) of rows read. */
static struct lines {
	int64_t first, end;
} lines_of(const struct strips *s, int64_t first, int64_t last)
{
	const struct contraction *c = s->product->detail;
	int64_t rows = c->extents[contraction_row(c)], blocks = c->row_blocks,
	        begin = s->of_around ? s->of_around * (first / blocks) : s->of_row * (rows * first / blocks),
	        end = s->of_around ? s->of_around * ((last - 1) / blocks) + s->of_row * (rows - 1)
	                           : s->of_row * (rows * last / blocks - 1);
	return (struct lines){ begin / s->line, (end + s->reach) / s->line + 1 };
}

/* Lines that are made again, of 16 that are there; blocks of a strip at least. */
enum { AGAIN = 5, BLOCKS = 4 };
static void choose_group(struct strips *s, int64_t blocks)
{
	const struct contraction *c = s->product->detail;
	int64_t step = s->of_around ? c->row_blocks : BLOCKS, whole = lines_of(s, 0, blocks).end;
	for (s->group = step;; s->group += step) {
		int64_t made = 0;
		s->most = 0;
		for (int64_t first = 0; first < blocks; first += s->group) {
			int64_t last = first + s->group < blocks ? first + s->group : blocks;
			struct lines lines = lines_of(s, first, last);
			made += lines.end - lines.first;
			s->most = lines.end - lines.first > s->most ? lines.end - lines.first : s->most;
		}
		if (s->group >= blocks || 16 * made <= (16 + AGAIN) * whole)
			break;
	}
}

const char *strips_label(const struct kernel *kernel) { return contraction_label(kernel_strips(kernel)->product); }

const struct lowered *strips_inside(const struct kernel *kernel) { return kernel_strips(kernel)->inside_of; }

void strips_choose(struct lowered *lowered, struct kernel *kernel)
{
	struct strips *s = (struct strips *)(uintptr_t)kernel_strips(kernel);
	struct kernel *product = s->product, *line = s->body->kernels.at[0];
	struct contraction *c = product->detail;
	line->name = arena_printf(lowered->arena, "%s_line", kernel->name);
	product->name = arena_printf(lowered->arena, "%s_rows", kernel->name);
	line->inner = product->inner = true;
	product->number = kernel->number;
	product->parts = 1;
	contraction_choose(lowered, product);
	product->line = s->line;
	choose_group(s, product->blocks);
	if (c->split_panels) /* its blocks are panels, which read all lines */
		s->group = product->blocks, s->most = s->lines;
	if (c->group >= s->group) /* nothing is between the groups of a strip */
		c->group = product->blocks;
	int64_t words = s->most * s->line;
	s->strip = lowered_scratch(lowered, kernel, "strip", s->map->type, 1, &words);
	contraction_parameters(lowered, product);
	kernel_add_param(lowered->arena, product, s->map, false);
	kernel->tile = product->tile;
	kernel->blocks = 1;
	kernel->blocks_of = arena_printf(lowered->arena, "all; strips of up to %lld lines", (long long)s->most);
	s->inside_of = arena_new(lowered->arena, struct lowered);
	*s->inside_of =
	        (struct lowered){ .program = lowered->program, .arena = lowered->arena, .target = lowered->target };
	push(lowered->arena, &s->inside_of->kernels, line);
	push(lowered->arena, &s->inside_of->kernels, product);
}

void strips_parameters(struct lowered *lowered, struct kernel *kernel)
{
	const struct strips *s = kernel_strips(kernel);
	kernel_add_read(lowered, kernel, s->from);
	FOR_EACH_AT (const struct param *param, s->product->params) {
		if (param->of != s->map)
			kernel_add_param(lowered->arena, kernel, param->of, param->written);
	}
	kernel_add_param(lowered->arena, kernel, s->strip, true);
}

bool strips_same(const struct kernel *a, const struct kernel *b)
{
	const struct strips *x = kernel_strips(a), *y = kernel_strips(b);
	return contraction_same(x->product, y->product) && x->line == y->line && x->lines == y->lines
	        && x->step == y->step && x->low == y->low && x->group == y->group;
}
