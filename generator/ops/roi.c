/* roi.c: regions of images, of one size each: RoiAlign samples them at places between elements, MaxRoiPool takes the
 * largest of whole ones. */
#include "ops/words.h"
#include <math.h>

enum { SAMPLES_MOST = 1 << 10 };

/* Data [n, c, h, w], regions [r, columns]; output [r, c, height, width]. */
static void infer_regions(struct node *node, int columns, int64_t height, int64_t width)
{
	const struct tensor *x = node->in[0], *rois = node->in[1];
	enum dtype type = node->in[0]->type;
	INVALID_IF(height < 1 || width < 1 || height > INT32_MAX || width > INT32_MAX,
	        "regions of %" PRId64 " x %" PRId64 ", at least 1 x 1 is right", height, width);
	if (!infer_ranks(node, 2, type))
		return;
	INVALID_IF(x->rank != 4 || rois->rank != 2 || (dim_is_known(rois->dims[1]) && rois->dims[1].extent != columns),
	        "data of 4 dimensions and regions of %d numbers are right", columns);
	FOR_FROM (d, 2, 4)
		INVALID_IF(x->dims[d].extent == 0, "dimension %d of the data has no element", d);
	infer_output(node, 0, type, 4, (struct dim[]){ rois->dims[0], x->dims[1], dim_of(height), dim_of(width) });
}

/* The image that region r is of. */
static index_ref image_of(struct definer *definer, expr_ref number, int64_t images)
{
	return VALUE(CAST(DTYPE_I64, number), 0, images - 1);
}

/* ---- RoiAlign ---- */
enum { HAS_PIXELS = 16 };
static bool is_max(const struct node *node) { return attribute_word(node, "mode", "avg max"); }

static bool half_pixel(const struct node *node)
{
	const char *name = "coordinate_transformation_mode",
	           *usual = node->since < HAS_PIXELS ? "output_half_pixel" : "half_pixel";
	return !attribute_choice(node, name, node_string(node, name, usual), "half_pixel output_half_pixel");
}

void infer_roi_align(struct node *node)
{
	is_max(node);
	half_pixel(node);
	int64_t samples = attribute_int(node, "sampling_ratio");
	if (samples < 0 || samples > SAMPLES_MOST)
		node_fail(node, samples < 0 ? EXIT_INVALID : EXIT_LIMIT,
		        "%s: sampling_ratio is %" PRId64 ", at most %d is right", node->type, samples, SAMPLES_MOST);
	UNSUPPORTED_IF(
	        !samples, "samples by each region's size (sampling_ratio 0) that are not constant are not supported");
	const struct tensor *rois = node->in[1], *images = node->in[2];
	INVALID_IF(images->rank >= 0
	                && (images->rank != 1 || (rois->rank == 2 && dims_differ(rois->dims[0], images->dims[0]))),
	        "one image for each region is right");
	infer_regions(node, 4, attribute_int(node, "output_height"), attribute_int(node, "output_width"));
}

/* Of dimension d (0: down): places and weights of the two elements around each sample, [region, out, sample, tap]. */
static void samples_of(struct definer *definer, struct definition *x, struct definition *rois, int d, int64_t out,
        int64_t samples, struct definition *taps[2])
{
	enum dtype type = rois->type;
	const int64_t extents[4] = { rois->extents[0], out, samples, 2 }, n = x->extents[2 + d];
	index_ref at[4], own[2];
	VARS(at, 4, extents);
	expr_ref scale = NUMBER(type, (double)attribute_float(NODE, "spatial_scale")),
	         offset = NUMBER(type, half_pixel(NODE) ? 0.5 : 0), end[2];
	FOR (side, 2) {
		own[0] = at[0];
		own[1] = CONSTANT(2 * side + 1 - d);
		end[side] = SUB(MUL(LOAD(rois, own), scale), offset);
	}
	expr_ref size = SUB(end[1], end[0]);
	if (!half_pixel(NODE))
		size = expr2(definer, SCALAR_maximum, size, NUMBER(type, 1));
	size = DIV(size, NUMBER(type, (double)out));
	expr_ref cell = CAST(type, POSITION(at[1])), sample = CAST(type, POSITION(at[2]));
	expr_ref place = ADD(ADD(end[0], MUL(cell, size)),
	        DIV(MUL(ADD(sample, NUMBER(type, 0.5)), size), NUMBER(type, (double)samples)));
	expr_ref outside = ADD(LESS(place, NUMBER(type, -1)), LESS(NUMBER(type, (double)n), place));
	place = MAX(place, NUMBER(type, 0));
	expr_ref low = MIN(FLOOR(place), NUMBER(type, (double)(n - 1)));
	expr_ref far = WHERE(LESS(low, NUMBER(type, (double)(n - 1))), SUB(place, low), NUMBER(type, 0));
	const struct range first = { at[3], 0, 1 };
	expr_ref weight = SELECT(&first, 1, SUB(NUMBER(type, 1), far), far),
	         next = MIN(ADD(low, NUMBER(type, 1)), NUMBER(type, (double)(n - 1)));
	const char *side = d ? "across" : "down";
	taps[0] = PART(FORMAT("places_%s", side), 4, extents, CAST(DTYPE_I64, SELECT(&first, 1, low, next)));
	taps[1] = PART(FORMAT("weights_%s", side), 4, extents, WHERE(outside, NUMBER(type, 0), weight));
}

void define_roi_align(struct definer *definer)
{
	struct definition *x = IN(0), *rois = IN(1), *images = IN(2), *taps[2][2];
	enum dtype type = x->type;
	const int64_t samples = attribute_int(NODE, "sampling_ratio"), reduced[4] = { samples, samples, 2, 2 };
	index_ref x_at[4];
	expr_ref weight = NULL;
	SHAPE(0, rank, extents, at);
	if (definition_elements(x) == 0 || extents[0] == 0) {
		OUT(0, NUMBER(type, 0));
		return;
	}
	x_at[0] = image_of(definer, LOAD(images, &at[0]), x->extents[0]);
	x_at[1] = at[1];
	FOR (d, 2) {
		samples_of(definer, x, rois, d, extents[2 + d], samples, taps[d]);
		index_ref own[4] = { at[0], at[2 + d], VAR(4 + d, samples), VAR(6 + d, 2) };
		x_at[2 + d] = VALUE(LOAD(taps[d][0], own), 0, x->extents[2 + d] - 1);
		expr_ref w = LOAD(taps[d][1], own);
		weight = weight ? MUL(weight, w) : w;
	}
	bool max = is_max(NODE);
	struct definition *all = REDUCTION(
	        "samples", 4, extents, max ? REDUCE_MAX : REDUCE_SUM, 4, reduced, NULL, MUL(LOAD(x, x_at), weight));
	expr_ref y = LOAD(all, at);
	OUT(0, max ? y : MUL(y, NUMBER(type, 1 / (double)(samples * samples))));
}

/* ---- MaxRoiPool ---- */
void infer_max_roi_pool(struct node *node)
{
	size_t count;
	const int64_t *shape = node_ints(node, "pooled_shape", &count);
	INVALID_IF(count != 2, "pooled_shape has %zu numbers, 2 are right", count);
	infer_regions(node, 5, shape[0], shape[1]);
}

/* Half away from 0. */
static expr_ref rounded(struct definer *definer, enum dtype type, expr_ref x)
{
	expr_ref size = FLOOR(ADD(ABS(x), NUMBER(type, 0.5)));
	return WHERE(LESS(x, NUMBER(type, 0)), expr1(definer, SCALAR_neg, size), size);
}

void define_max_roi_pool(struct definer *definer)
{
	struct definition *x = IN(0), *rois = IN(1);
	enum dtype type = x->type;
	index_ref x_at[4];
	expr_ref scale = NUMBER(type, (double)attribute_float(NODE, "spatial_scale"));
	SHAPE(0, rank, extents, at);
	if (definition_elements(x) == 0 || extents[0] == 0) {
		OUT(0, NUMBER(type, 0));
		return;
	}
	x_at[0] = image_of(definer, LOAD(rois, AT(at[0], CONSTANT(0))), x->extents[0]);
	x_at[1] = at[1];
	struct range there[4], some[2];
	FOR (d, 2) { /* the first of a cell's rows, of its columns, and the one behind the last */
		const int64_t own[2] = { extents[0], extents[2 + d] }, n = x->extents[2 + d];
		index_ref r = VAR(0, own[0]), o = VAR(1, own[1]), cut[2];
		expr_ref end[2];
		FOR (side, 2)
			end[side] = rounded(definer, type, MUL(LOAD(rois, AT(r, CONSTANT(2 * side + 2 - d))), scale));
		expr_ref size =
		        DIV(expr2(definer, SCALAR_maximum, ADD(SUB(end[1], end[0]), NUMBER(type, 1)), NUMBER(type, 1)),
		                NUMBER(type, (double)own[1]));
		FOR (side, 2) {
			expr_ref number = CAST(type, POSITION(PLUS(o, side)));
			expr_ref edge = expr1(definer, side ? SCALAR_ceil : SCALAR_floor, MUL(number, size));
			edge = MIN(MAX(ADD(edge, end[0]), NUMBER(type, 0)), NUMBER(type, (double)n));
			const char *name = FORMAT("%s_%s", side ? "to" : "from", d ? "across" : "down");
			struct definition *made = PART(name, 2, own, CAST(DTYPE_I64, edge));
			cut[side] = VALUE(LOAD(made, AT(at[0], at[2 + d])), 0, n);
		}
		x_at[2 + d] = VAR(4 + d, n);
		there[2 * d] = (struct range){ SUM(x_at[2 + d], SCALE(cut[0], -1)), 0, n };
		there[2 * d + 1] = (struct range){ SUM(x_at[2 + d], SCALE(cut[1], -1)), -n, 0 };
		some[d] = (struct range){ SUM(cut[0], SCALE(cut[1], -1)), -n, 0 };
	}
	/* A cell without an element is 0. */
	struct definition *most = REDUCE(NODE->out[0]->name, 4, extents, REDUCE_MAX, 2, &x->extents[2],
	        SELECT(some, 2, NUMBER(type, -INFINITY), NUMBER(type, 0)),
	        SELECT(there, 4, LOAD(x, x_at), NUMBER(type, -INFINITY)));
	chain_terms(most);
	GIVE(0, most);
}
