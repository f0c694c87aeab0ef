/* boxes.c: ingot.Boxes, the boxes that NonMaxSuppression takes: for each class their places, the best score first, then
 * -1.  An order that chooses: a box with too large a share in one that was taken is barred. */
#include "ops/words.h"

enum { BOXES, SCORES, LIMIT, OVERLAP, LEAST, THERE, INPUTS };

void infer_boxes(struct node *node)
{
	const struct tensor *scores = node->in[SCORES];
	int64_t count;
	infer_counts(node, 2, INPUTS, 1);
	infer_same_type(node, BOXES, DTYPE_F32);
	infer_same_type(node, SCORES, DTYPE_F32);
	if (scores->rank < 0) {
		infer_type(node, 0, DTYPE_I64);
		return;
	}
	const int64_t *limit = node_in_ints(node, LIMIT, &count);
	struct dim dims[3] = { scores->dims[0], scores->dims[1], scores->dims[2] };
	if (!node_in(node, LIMIT) || (limit && *limit < 0))
		dims[2] = dim_of(0);
	else if (limit && dim_is_known(dims[2]) && *limit < dims[2].extent)
		dims[2] = dim_of(*limit);
	infer_output(node, 0, DTYPE_I64, 3, dims);
}

#define HOLDS(test) expr_cast(definer->arena, DTYPE_BOOL, test)

/* A box along one of two axes: where it begins and ends. */
struct side {
	expr_ref from, to;
};

static struct side side_of(struct definer *definer, int axis, index_ref image, index_ref place)
{
	struct definition *boxes = IN(BOXES);
	expr_ref one = LOAD(boxes, AT(image, place, CONSTANT(axis))),
	         two = LOAD(boxes, AT(image, place, CONSTANT(axis + 2)));
	if (!attribute_int(NODE, "center_point_box"))
		return (struct side){ expr2(definer, SCALAR_minimum, one, two),
			expr2(definer, SCALAR_maximum, one, two) };
	expr_ref half = MUL(two, NUMBER(DTYPE_F32, 0.5));
	return (struct side){ SUB(one, half), ADD(one, half) };
}

static expr_ref area_of(struct definer *definer, const struct side *sides)
{
	return MUL(SUB(sides[0].to, sides[0].from), SUB(sides[1].to, sides[1].from));
}

/* What two boxes share is more of both together than the threshold. */
static expr_ref overlaps(struct definer *definer, const struct side *a, const struct side *b)
{
	expr_ref most = node_in(NODE, OVERLAP) ? ELEMENT(OVERLAP, 0) : NUMBER(DTYPE_F32, 0), shared[2];
	FOR (axis, 2)
		shared[axis] = expr2(definer, SCALAR_maximum,
		        SUB(expr2(definer, SCALAR_minimum, a[axis].to, b[axis].to),
		                expr2(definer, SCALAR_maximum, a[axis].from, b[axis].from)),
		        NUMBER(DTYPE_F32, 0));
	expr_ref both = MUL(shared[0], shared[1]), all = SUB(ADD(area_of(definer, a), area_of(definer, b)), both);
	return expr2(definer, SCALAR_and, HOLDS(expr2(definer, SCALAR_greater, both, NUMBER(DTYPE_F32, 0))),
	        HOLDS(expr2(definer, SCALAR_greater, DIV(both, all), most)));
}

void define_boxes(struct definer *definer)
{
	struct definition *scores = IN(SCORES), *there = IN(THERE);
	int64_t n = scores->extents[2];
	SHAPE(0, rank, extents, at);
	index_ref place = VAR(rank, n), taken = VAR(rank + 1, n), score_at[] = { at[0], at[1], place };
	struct side one[2], other[2];
	if (!definition_elements(scores) || !extents[2]) {
		OUT(0, I(0));
		return;
	}
	FOR (axis, 2) {
		one[axis] = side_of(definer, axis, at[0], place);
		other[axis] = side_of(definer, axis, at[0], taken);
	}
	expr_ref score = LOAD(scores, score_at),
	         worth = node_in(NODE, LEAST) ? HOLDS(expr2(definer, SCALAR_greater, score, ELEMENT(LEAST, 0)))
	                                      : WHOLE(DTYPE_BOOL, 1);
	expr_ref choice[CHOICES] = {
		[CHOICE_THERE] = there ? expr2(definer, SCALAR_and, worth, LOAD(there, score_at)) : worth,
		[CHOICE_BARS] = overlaps(definer, one, other),
		[CHOICE_MOST] = ELEMENT(LIMIT, 0),
	};
	GIVE(0, definer_order(definer, NODE->out[0]->name, rank, extents, true, n, score, choice));
}
