/* roi.c: regions of images, of one size each: RoiAlign samples them at places between elements, MaxRoiPool takes the
 * largest of whole ones. */
#include "ops/ops.h"
#include <inttypes.h>
#include <math.h>

enum { SAMPLES_MOST = 1 << 10 };

/* Data [n, c, h, w], regions [r, columns]; output [r, c, height, width]. */
static void infer_regions(struct node *node, int columns, int64_t height, int64_t width)
{
	const struct tensor *x = node->in[0], *rois = node->in[1];
	enum dtype type = node->in[0]->type;
	if (height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX)
		node_invalid(node, "regions of %" PRId64 " x %" PRId64 ", at least 1 x 1 is right", height, width);
	if (x->rank < 0 || rois->rank < 0) {
		infer_output_unknown(node, 0, type);
		return;
	}
	if (x->rank != 4 || rois->rank != 2 || (dim_is_known(rois->dims[1]) && rois->dims[1].extent != columns))
		node_invalid(node, "data of 4 dimensions and regions of %d numbers are right", columns);
	for (int d = 2; d < 4; d++)
		if (x->dims[d].extent == 0)
			node_invalid(node, "dimension %d of the data has no element", d);
	infer_output(node, 0, type, 4, (struct dim[]){ rois->dims[0], x->dims[1], dim_of(height), dim_of(width) });
}

/* The image that region r is of. */
static const struct index *image_of(struct definer *definer, const struct expr *number, int64_t images)
{
	return index_value(definer->arena, expr_cast(definer->arena, DTYPE_I64, number), 0, images - 1);
}

#define N(number) expr_number(definer->arena, type, number)
#define ADD(x, y) expr2(definer, SCALAR_add, x, y)
#define SUB(x, y) expr2(definer, SCALAR_sub, x, y)
#define MUL(x, y) expr2(definer, SCALAR_mul, x, y)
#define WHERE(a, b, c) expr3(definer, SCALAR_where, a, b, c)
#define LESS(a, b) expr2(definer, SCALAR_less, a, b)

/* ---- RoiAlign ---- */
enum { HAS_PIXELS = 16 };
static bool is_max(const struct node *node)
{
	const char *mode = attribute_string(node, "mode");
	if (strcmp(mode, "avg") && strcmp(mode, "max"))
		node_invalid(node, "mode is \"%s\", avg or max is right", mode);
	return *mode == 'm';
}

static bool half_pixel(const struct node *node)
{
	const char *mode = node_string(
	        node, "coordinate_transformation_mode", node->since < HAS_PIXELS ? "output_half_pixel" : "half_pixel");
	if (strcmp(mode, "half_pixel") && strcmp(mode, "output_half_pixel"))
		node_invalid(node, "coordinate_transformation_mode is \"%s\", half_pixel or output_half_pixel is right",
		        mode);
	return *mode == 'h';
}

void infer_roi_align(struct node *node)
{
	infer_least(node, 3);
	is_max(node);
	half_pixel(node);
	int64_t samples = attribute_int(node, "sampling_ratio");
	if (samples < 0 || samples > SAMPLES_MOST)
		node_fail(node, samples < 0 ? EXIT_INVALID : EXIT_LIMIT,
		        "%s: sampling_ratio is %" PRId64 ", at most %d is right", node->type, samples, SAMPLES_MOST);
	if (!samples)
		node_unsupported(node,
		        "samples by each region's size (sampling_ratio 0) that are not constant are not supported");
	const struct tensor *rois = node->in[1], *images = node->in[2];
	if (images->rank >= 0
	        && (images->rank != 1
	                || (rois->rank == 2 && dim_is_known(rois->dims[0]) && dim_is_known(images->dims[0])
	                        && images->dims[0].extent != rois->dims[0].extent)))
		node_invalid(node, "one image for each region is right");
	infer_regions(node, 4, attribute_int(node, "output_height"), attribute_int(node, "output_width"));
}

/* Of dimension d (0: down): places and weights of the two elements around each sample, [region, out, sample, tap]. */
static void samples_of(struct definer *definer, struct definition *x, struct definition *rois, int d, int64_t out,
        int64_t samples, struct definition *taps[2])
{
	struct arena *arena = definer->arena;
	const struct node *node = definer->node;
	enum dtype type = rois->type;
	const int64_t extents[4] = { rois->extents[0], out, samples, 2 }, n = x->extents[2 + d];
	const struct index *at[4], *own[2];
	index_vars(arena, at, 4, extents);
	const struct expr *scale = N((double)attribute_float(node, "spatial_scale")),
	                  *offset = N(half_pixel(node) ? 0.5 : 0), *end[2];
	for (int side = 0; side < 2; side++) {
		own[0] = at[0];
		own[1] = index_constant(arena, 2 * side + 1 - d);
		end[side] = SUB(MUL(expr_load(arena, rois, own), scale), offset);
	}
	const struct expr *size = SUB(end[1], end[0]);
	if (!half_pixel(node))
		size = expr2(definer, SCALAR_maximum, size, N(1));
	size = expr2(definer, SCALAR_div, size, N((double)out));
	const struct expr *cell = expr_cast(arena, type, expr_index(arena, at[1])),
	                  *sample = expr_cast(arena, type, expr_index(arena, at[2]));
	const struct expr *place = ADD(ADD(end[0], MUL(cell, size)),
	        expr2(definer, SCALAR_div, MUL(ADD(sample, N(0.5)), size), N((double)samples)));
	const struct expr *outside = ADD(LESS(place, N(-1)), LESS(N((double)n), place));
	place = expr2(definer, SCALAR_max, place, N(0));
	const struct expr *low = expr2(definer, SCALAR_min, expr1(definer, SCALAR_floor, place), N((double)(n - 1)));
	const struct expr *far = WHERE(LESS(low, N((double)(n - 1))), SUB(place, low), N(0));
	const struct range first = { at[3], 0, 1 };
	const struct expr *weight = expr_select(arena, &first, 1, SUB(N(1), far), far),
	                  *next = expr2(definer, SCALAR_min, ADD(low, N(1)), N((double)(n - 1)));
	const char *side = d ? "across" : "down";
	taps[0] = definer_map(definer, definer_name(definer, arena_printf(arena, "places_%s", side)), 4, extents,
	        expr_cast(arena, DTYPE_I64, expr_select(arena, &first, 1, low, next)));
	taps[1] = definer_map(definer, definer_name(definer, arena_printf(arena, "weights_%s", side)), 4, extents,
	        WHERE(outside, N(0), weight));
}

void define_roi_align(struct definer *definer)
{
	struct arena *arena = definer->arena;
	struct definition *x = definer_in(definer, 0), *rois = definer_in(definer, 1), *images = definer_in(definer, 2),
	                  *taps[2][2];
	enum dtype type = x->type;
	const int64_t samples = attribute_int(definer->node, "sampling_ratio"), reduced[4] = { samples, samples, 2, 2 };
	const struct index *at[MAX_RANK], *x_at[4];
	int64_t extents[MAX_RANK];
	const struct expr *weight = NULL;
	definer_shape(definer, 0, extents, at);
	if (definition_elements(x) == 0 || extents[0] == 0) {
		definer_out_map(definer, 0, N(0));
		return;
	}
	x_at[0] = image_of(definer, expr_load(arena, images, &at[0]), x->extents[0]);
	x_at[1] = at[1];
	for (int d = 0; d < 2; d++) {
		samples_of(definer, x, rois, d, extents[2 + d], samples, taps[d]);
		const struct index *own[4] = { at[0], at[2 + d], index_var(arena, 4 + d, samples),
			index_var(arena, 6 + d, 2) };
		x_at[2 + d] = index_value(arena, expr_load(arena, taps[d][0], own), 0, x->extents[2 + d] - 1);
		const struct expr *w = expr_load(arena, taps[d][1], own);
		weight = weight ? MUL(weight, w) : w;
	}
	bool max = is_max(definer->node);
	struct definition *all = definer_reduction(definer, definer_name(definer, "samples"), 4, extents,
	        max ? REDUCE_MAX : REDUCE_SUM, 4, reduced, NULL, MUL(expr_load(arena, x, x_at), weight));
	const struct expr *y = expr_load(arena, all, at);
	definer_out_map(definer, 0, max ? y : MUL(y, N(1 / (double)(samples * samples))));
}

/* ---- MaxRoiPool ---- */
void infer_max_roi_pool(struct node *node)
{
	size_t count;
	const int64_t *shape = node_ints(node, "pooled_shape", &count);
	infer_least(node, 2);
	if (count != 2)
		node_invalid(node, "pooled_shape has %zu numbers, 2 are right", count);
	infer_regions(node, 5, shape[0], shape[1]);
}

/* Half away from 0. */
static const struct expr *rounded(struct definer *definer, enum dtype type, const struct expr *x)
{
	const struct expr *size = expr1(definer, SCALAR_floor, ADD(expr1(definer, SCALAR_abs, x), N(0.5)));
	return WHERE(LESS(x, N(0)), expr1(definer, SCALAR_neg, size), size);
}

void define_max_roi_pool(struct definer *definer)
{
	struct arena *arena = definer->arena;
	struct definition *x = definer_in(definer, 0), *rois = definer_in(definer, 1);
	enum dtype type = x->type;
	const struct index *at[MAX_RANK], *x_at[4];
	int64_t extents[MAX_RANK];
	const struct expr *scale = N((double)attribute_float(definer->node, "spatial_scale"));
	definer_shape(definer, 0, extents, at);
	if (definition_elements(x) == 0 || extents[0] == 0) {
		definer_out_map(definer, 0, N(0));
		return;
	}
	x_at[0] = image_of(definer, expr_load(arena, rois, (const struct index *[]){ at[0], index_constant(arena, 0) }),
	        x->extents[0]);
	x_at[1] = at[1];
	struct range there[4], some[2];
	for (int d = 0; d < 2; d++) { /* the first of a cell's rows, of its columns, and the one behind the last */
		const int64_t own[2] = { extents[0], extents[2 + d] }, n = x->extents[2 + d];
		const struct index *r = index_var(arena, 0, own[0]), *o = index_var(arena, 1, own[1]), *cut[2];
		const struct expr *end[2];
		for (int side = 0; side < 2; side++)
			end[side] = rounded(definer, type,
			        MUL(expr_load(arena, rois,
			                    (const struct index *[]){ r, index_constant(arena, 2 * side + 2 - d) }),
			                scale));
		const struct expr *size = expr2(definer, SCALAR_div,
		        expr2(definer, SCALAR_maximum, ADD(SUB(end[1], end[0]), N(1)), N(1)), N((double)own[1]));
		for (int side = 0; side < 2; side++) {
			const struct expr *number =
			        expr_cast(arena, type, expr_index(arena, index_plus(arena, o, side)));
			const struct expr *edge = expr1(definer, side ? SCALAR_ceil : SCALAR_floor, MUL(number, size));
			edge = expr2(
			        definer, SCALAR_min, expr2(definer, SCALAR_max, ADD(edge, end[0]), N(0)), N((double)n));
			const char *name = arena_printf(arena, "%s_%s", side ? "to" : "from", d ? "across" : "down");
			struct definition *made = definer_map(
			        definer, definer_name(definer, name), 2, own, expr_cast(arena, DTYPE_I64, edge));
			cut[side] = index_value(
			        arena, expr_load(arena, made, (const struct index *[]){ at[0], at[2 + d] }), 0, n);
		}
		x_at[2 + d] = index_var(arena, 4 + d, n);
		there[2 * d] = (struct range){ index_add(arena, x_at[2 + d], index_scale(arena, cut[0], -1)), 0, n };
		there[2 * d + 1] =
		        (struct range){ index_add(arena, x_at[2 + d], index_scale(arena, cut[1], -1)), -n, 0 };
		some[d] = (struct range){ index_add(arena, cut[0], index_scale(arena, cut[1], -1)), -n, 0 };
	}
	/* A cell without an element is 0. */
	struct definition *most = definer_reduction(definer, definer->node->out[0]->name, 4, extents, REDUCE_MAX, 2,
	        &x->extents[2], expr_select(arena, some, 2, N(-INFINITY), N(0)),
	        expr_select(arena, there, 4, expr_load(arena, x, x_at), N(-INFINITY)));
	chain_terms(most);
	definer_out(definer, 0, most);
}
