/* packed_b.c: a constant b as the library has it, in panels: [batch][panel][terms in order][width], width a whole number of
 * vectors, for warpgroups [width][terms]; of dwords, whatever they hold. */
#include "kernels/kernels.h"

struct packing {
	const struct contraction *c;
	int lanes;
};

/* The column, in its panel, that dword j of a term is: vector by vector, or, interleaved, lane by lane. */
static int64_t place_in_panel(const struct packing *p, int64_t width, int64_t j)
{
	int64_t vecs = width / p->lanes;
	return p->c->panel.interleaved ? j % vecs * p->lanes + j / vecs : j;
}

/* One panel of one batch. */
struct panel {
	int64_t batch, start, width, terms; /* its first column, and how many */
};

enum { QUADS_END = 64 }; /* terms of a column that need not be whole quads */
/* Words, or as few bytes as the constant's elements have. */
struct moving {
	const struct contraction *c;
	size_t bytes;
	int64_t terms;
	const void *from;
	void *to;
};
/* So many terms of a column side by side, then of the next one; of the innermost term's end as many as are left. */
static int64_t place_together(const struct contraction *c, int64_t k, int64_t width, int64_t j, int together)
{
	int64_t inner = contraction_extent(c, c->terms - 1), i = k % inner, first = i / together * together,
	        count = inner - first < together ? inner - first : together;
	return (k - i + first) * width + j * count + i - first;
}

/* Element `at` becomes dword j of term k of a panel; at < 0: 0 does. */
static void move_element(const struct moving *m, int64_t at, int64_t k, int64_t width, int64_t j)
{
	int16_t halves[2] = { 0, 0 };
	if (m->c->panel.bytes) {
		signed char *dword = (signed char *)m->to + (k / 2 * width + j) * 4;
		if (at >= 0)
			memcpy(halves, (const char *)m->from + (size_t)at * m->bytes, sizeof halves);
		dword[k % 2] = (signed char)halves[0];
		dword[2 + k % 2] = (signed char)halves[1];
		return;
	}
	int together = m->c->panel.quads ? TOGETHER_QUAD : matrix_together(m->c);
	int64_t place = product_is_of_groups(m->c->product) ? j * m->terms + k
	        : together > 1                              ? place_together(m->c, k, width, j, together)
	                                                    : k * width + j;
	char *to = (char *)m->to + (size_t)place * m->bytes;
	if (at >= 0)
		memcpy(to, (const char *)m->from + (size_t)at * m->bytes, m->bytes);
	else
		memset(to, 0, m->bytes);
}

/* Columns of a term, words a step apart, side by side; zeros behind the last that there is. */
static void move_words(const uint32_t *from, int64_t step, int64_t there, int64_t count, uint32_t *to)
{
	int64_t few = there < 0 ? 0 : there < count ? there : count;
	if (step == 1)
		memcpy(to, from, (size_t)few * sizeof *to);
	else
		FOR (j, few)
			to[j] = from[j * step];
	memset(to + few, 0, (size_t)(count - few) * sizeof *to);
}

enum { LINE_WORDS = 16 }; /* columns that are apart: so many streams at once fill a cache's line */

static void pack(const struct packing *p, const struct panel *panel, const struct moving *m)
{
	const struct contraction *c = p->c;
	bool affine = index_is_affine(c->b_at),
	     words = affine && m->bytes == sizeof(uint32_t) && !c->panel.bytes && !c->panel.quads
	        && !c->panel.interleaved && matrix_together(c) <= 1 && !product_is_of_groups(c->product);
	int64_t columns = c->extents[c->column], step = affine ? index_factor(c->b_at, c->column) : 0,
	        rest = panel->batch, v[MAX_VARS] = { 0 },
	        part = words && step != 1 && panel->width % LINE_WORDS == 0 ? LINE_WORDS : panel->width;
	for (int b = c->batches - 1; b >= 0; rest /= c->extents[b], b--)
		v[b] = rest % c->extents[b];
	FOR (i, panel->terms * (panel->width / part)) {
		int64_t k = i % panel->terms, from = i / panel->terms * part, *column = &v[c->column];
		*column = 0;
		int64_t address = affine ? index_evaluate(c->b_at, v, NULL, NULL) : 0;
		if (words)
			move_words((const uint32_t *)m->from + address + (panel->start + from) * step, step,
			        columns - panel->start - from, part, (uint32_t *)m->to + k * panel->width + from);
		for (int64_t j = 0; j < panel->width && !words; j++) {
			*column = panel->start + place_in_panel(p, panel->width, j);
			move_element(m,
			        *column >= columns ? -1
			                : affine   ? address + *column * step
			                           : index_evaluate(c->b_at, v, NULL, NULL),
			        k, panel->width, j);
		}
		for (int t = c->column + c->terms; t > c->column && ++v[t] == c->extents[t]; t--)
			v[t] = 0;
	}
}

static size_t fill_packed(const struct constant_item *item, int64_t piece, void *out)
{
	const struct packing *p = item->detail;
	const struct contraction *c = p->c;
	if (!c->panels)
		return 0;
	int64_t vecs = ceil_div(c->extents[c->column], p->lanes), at = piece % c->panels, first = vecs * at / c->panels;
	struct panel panel = { piece / c->panels, first * p->lanes, (vecs * (at + 1) / c->panels - first) * p->lanes,
		contraction_depth(c) };
	if (panel.batch >= extents_product(c->batches, c->extents))
		return 0;
	const struct moving moving = { c, dtype_bytes(c->b->of->type, 1), panel.terms, definition_data(c->b->of), out };
	if (out)
		pack(p, &panel, &moving);
	return (size_t)(panel.width * panel.terms) / (c->panel.bytes ? 2 : 1) * moving.bytes;
}

/* What an earlier kernel packed from the same constant in the same way: the steps of a recurrence share their weights.
 */
static struct definition *packed_alike(const struct lowered *lowered, const struct contraction *c)
{
	FOR_EACH_AT (const struct constant_item *item, lowered->constants) {
		const struct contraction *other =
		        item->fill == fill_packed ? ((const struct packing *)item->detail)->c : NULL;
		if (!other || other->b->of != c->b->of || other->batches != c->batches || other->terms != c->terms
		        || other->column - other->batches - other->rows || c->column - c->batches - c->rows
		        || other->panels != c->panels || other->panel.interleaved != c->panel.interleaved
		        || other->panel.bytes != c->panel.bytes || other->panel.quads != c->panel.quads
		        || matrix_together(other) != matrix_together(c)
		        || product_is_of_groups(other->product) != product_is_of_groups(c->product))
			continue;
		/* b knows no rows: its variables are batches, then the column and the terms */
		bool same = true;
		const struct index *with[MAX_VARS] = { 0 };
		FOR (b, c->batches)
			same &= other->extents[b] == c->extents[b];
		for (int v = 0; v <= c->terms; v++) {
			same &= other->extents[other->column + v] == c->extents[c->column + v];
			with[other->column + v] = index_var(lowered->arena, c->column + v, c->extents[c->column + v]);
		}
		if (same && index_equal(index_substitute(lowered->arena, other->b_at, with), c->b_at))
			return item->of;
	}
	return NULL;
}

/* Lines in each turn, so that a group's blocks together fetch the next part once; of the JIT's menu one. */
static int next_lines(const struct target *target, struct contraction *c)
{
	c->memory.next_lines = 1;
	int64_t floats = (int64_t)c->tile.vecs * target->lanes * contraction_steps(c, target, c->tile.rows);
	return target->calls ? 1 : (int)ceil_div(floats, 16 * c->group);
}

/* Dwords of two terms of 16 bits that all are bytes, where those stay bytes: pairs of them share a dword. */
static bool are_bytes(const struct target *target, const struct contraction *c)
{
	const int16_t *halves = definition_data(c->b->of);
	int64_t count = 2 * definition_elements(c->b->of);
	if (!weights_stay_narrow(target) || c->product->opcode != SCALAR_dot16 || !c->terms
	        || contraction_extent(c, c->terms - 1) % 2)
		return false;
	FOR (i, count)
		if (halves[i] < INT8_MIN || halves[i] > INT8_MAX)
			return false;
	return true;
}

/* Dwords that an instruction takes side by side do lie so in a, or in the copy that a tile has of it. */
static bool are_quads(const struct contraction *c)
{
	struct stage stage;
	int inner = c->terms - 1;
	if (c->product->together != TOGETHER_QUAD || !c->terms || c->counts[c->column + c->terms]
	        || (contraction_extent(c, inner) % TOGETHER_QUAD && contraction_extent(c, inner) > QUADS_END)
	        || !index_is_affine(c->a_at) || index_factor(c->a_at, c->column + c->terms) != 1)
		return false;
	if (c->pad_count || c->staging.copied)
		stage_padded(c, c->tile.rows, &stage);
	return !(c->pad_count || c->staging.copied) || stage.of_term[inner] == 1;
}

/* What codes take to widen leaves the caches' own prefetching behind; measured: 8 KB to a panel ahead are alike, 2 KB and
 * 4 KB too few. */
enum { AHEAD_BYTES = 12 << 10 };

void packed_b_choose(struct lowered *lowered, struct contraction *c, int64_t rows, int64_t terms)
{
	const struct target *target = lowered->target;
	int64_t vecs = ceil_div(c->extents[c->column], target->lanes);
	struct packing *packing = arena_new(lowered->arena, struct packing);
	*packing = (struct packing){ c, target->lanes };
	c->panel.bytes = are_bytes(target, c);
	c->panel.quads = are_quads(c);
	c->panel.interleaved = c->block.warps && !product_is_matrix(c->product) && !c->codes.bits
	        && vecs % c->panels == 0 && (c->tile.vecs == 2 || c->tile.vecs == 4);
	/* Weights that do not stay in L2 from call to call come from beyond it: the next panel, or what the
	 * next kernel begins with, comes while this one is multiplied; a single row streams as fast as memory
	 * is anyway, and where that hides latency, others run meanwhile.  What is pooled is small; dwords are too few to
	 * hide what fetching takes where there are no vectors. */
	if (!target->hides_latency && !target->options.small && !c->roles.widened && !c->pool.d
	        && c->root->type != DTYPE_F64 && (c->root->type == DTYPE_F32 || has_caches(target))
	        && lowered->constants_bytes > near_bytes(target, NEAR_all) && rows > 2)
		c->memory.next_lines = next_lines(target, c);
	if (codes_in_tile(c) && has_caches(target) && !target->options.small
	        && lowered->constants_bytes > near_bytes(target, NEAR_all))
		c->memory.ahead = AHEAD_BYTES;
	if (c->codes.bits)
		c->panel.packed = codes_pack(lowered, c, vecs * target->lanes);
	else if (!(c->panel.packed = packed_alike(lowered, c)))
		c->panel.packed = lowered_constant(lowered, arena_printf(lowered->arena, "%s.packed", c->b->of->name),
		        c->b->type, vecs * target->lanes * terms / (c->panel.bytes ? 2 : 1), fill_packed, packing);
}
