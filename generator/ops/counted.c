/* counted.c: in front of a node that reads dims that are bounds: ingot.Counted puts a value behind a count,
 * ingot.CountedAll behind all, and ingot.Agree asks that two counts are one. */
#include "ops/words.h"

/* ---- what is there, and a value behind it ---- */
void infer_counted(struct node *node)
{
	infer_made(node);
	infer_counts(node, 2, 4, 1);
	infer_output_like(node, 0, node->in[0]);
}

/* Of one variable along an axis of this count: 1 where it is there, 0 behind; one for all that ask. */
struct definition *definer_mask(struct definer *definer, const struct tensor *count, int64_t extent, enum dtype type)
{
	const struct program *program = definer->program;
	struct definition *masks = definer_count(definer, count);
	for (size_t k = program->all.count; masks && k-- > (size_t)masks->number;)
		if (program->all.at[k]->count.masks == masks && program->all.at[k]->extents[0] == extent
		        && program->all.at[k]->type == type && !program->all.at[k]->branch)
			return program->all.at[k];
	index_ref i = VAR(0, extent), size = INDEX(SIZE(count), 0, extent);
	const struct range before = { SUM(i, SCALE(size, -1)), -extent, 0 };
	struct definition *there = PART("there", 1, &extent, SELECT(&before, 1, NUMBER(type, 1), NUMBER(type, 0)));
	there->count.masks = masks;
	return there;
}

static expr_ref there_or(struct definer *definer, struct definition *x, const index_ref *at, const struct tensor *count,
        int axis, expr_ref value)
{
	expr_ref there = LOAD(definer_mask(definer, count, x->extents[axis], x->type), &at[axis]);
	return WHERE(there, LOAD(x, at), value);
}

struct definition *definer_there(
        struct definer *definer, struct definition *x, const struct tensor *count, int axis, expr_ref value)
{
	index_ref at[MAX_RANK];
	VARS(at, x->rank, x->extents);
	return !count ? x : PART("terms", x->rank, x->extents, there_or(definer, x, at, count, axis, value));
}

void define_counted(struct definer *definer)
{
	struct definition *x = IN(0);
	int axis = (int)attribute_int(NODE, "axis");
	SHAPE(0, rank, extents, at);
	expr_ref value = node_in(NODE, 2) ? CAST(x->type, ELEMENT(2, 0)) : LIKE(x, attribute_float(NODE, "value"));
	struct definition *there =
	        MAP(NODE->out[0]->name, x->rank, extents, there_or(definer, x, at, NODE->in[1], axis, value));
	GIVE(0, there);
	there->count.ends[axis] = definer_count(definer, node_in(NODE, 3));
	FOR (d, x->rank)
		if (d != axis && counts_are_put(NODE->in[0], d))
			there->count.ends[d] = x->count.ends[d];
}

bool counts_are_put(const struct tensor *tensor, int axis)
{
	for (const struct node *made = tensor->producer;
	        made && !strcmp(made->domain, "ingot") && !strcmp(made->type, "Counted"); made = made->in[0]->producer)
		if (attribute_int(made, "axis") == axis)
			return true;
	return false;
}

/* The same that another node has had in front of it; NULL: none. */
static struct tensor *put_before(const struct node *node, const struct tensor *x, int axis, float value,
        const struct tensor *element, const struct tensor *end)
{
	const struct graph *graph = node->graph;
	FOR_EACH (const struct node *made, graph->nodes) {
		if (!strcmp(made->type, "Counted") && !strcmp(made->domain, "ingot") && made->guard == graph->guard
		        && made->in[0] == x && made->in[1] == x->dims[axis].count && node_in(made, 2) == element
		        && node_in(made, 3) == end && attribute_int(made, "axis") == axis
		        && attribute_float(made, "value") == value)
			return made->out[0];
	}
	return NULL;
}

/* Input i becomes one that holds `value`, or the one element of a tensor, behind the count of that axis. `end`: the node looks
 * at no more of them; NULL: at all. */
void counts_put(struct node *node, int i, int axis, float value, struct tensor *element, struct tensor *end)
{
	struct tensor *x = node->in[i], *before;
	if (counts_are_put(x, axis))
		return;
	if ((before = put_before(node, x, axis, value, element, end))) {
		node->in[i] = before;
		return;
	}
	struct node *there = size_node(node, "Counted", x->name,
	        end               ? 4
	                : element ? 3
	                          : 2,
	        (struct tensor *[]){ x, x->dims[axis].count, element, end });
	size_says(there, "axis", axis);
	size_says_float(there, "value", value);
	infer_output_like(there, 0, x);
	node->in[i] = there->out[0];
}

void counts_put_number(struct node *node, int i, int axis, float value)
{
	counts_put(node, i, axis, value, NULL, NULL);
}

/* ---- the bounds as extents, for what takes no counts ---- */
void infer_counted_all(struct node *node)
{
	struct dim dims[MAX_RANK];
	infer_made(node);
	infer_counts(node, 1, 1, 1);
	const struct tensor *x = node->in[0];
	FOR (d, x->rank)
		dims[d] = x->dims[d].count ? dim_of(x->dims[d].extent) : x->dims[d];
	infer_output(node, 0, x->type, x->rank, dims);
}

void come_padded(struct node *node)
{
	FOR (d, node->in[0]->rank)
		if (node->in[0]->dims[d].count)
			counts_put_number(node, 0, d, attribute_float(node, "value"));
}

void define_counted_all(struct definer *definer) { GIVE(0, STORED(0)); }

/* ---- two counts that a call has to say as one ---- */
void infer_agree(struct node *node)
{
	struct dim dims[MAX_RANK];
	infer_made(node);
	infer_counts(node, 3, 3, 1);
	const struct tensor *x = node->in[0];
	memcpy(dims, x->dims, sizeof dims);
	dims[attribute_int(node, "axis")].count = node->in[2]->data ? NULL : node->in[2];
	infer_output(node, 0, x->type, x->rank, dims);
}

void define_agree(struct definer *definer)
{
	REQUIRE(I_EQUAL(SIZE(NODE->in[1]), SIZE(NODE->in[2])),
	        "dimension %" PRId64 " of %s is not as large as what stands beside it", attribute_int(NODE, "axis"),
	        NODE->in[0]->name);
	GIVE(0, STORED(0));
}

/* A check asks that they are the same, of one bound, and input i has the other, or a number, from here on. */
void counts_must_be(struct node *node, int i, int axis, struct tensor *count, int64_t extent)
{
	struct tensor *x = node->in[i], *own = x->dims[axis].count;
	if (!own || own == count || x->dims[axis].extent != extent)
		return;
	struct node *made = size_node(node, "Agree", x->name, TENSORS(x, own, count));
	made->guard = node->guard; /* in a round that does not come nobody asks */
	size_says(made, "axis", axis);
	infer_agree(made);
	node->in[i] = made->out[0];
}

/* Where a call says both. */
void counts_agree(struct node *node, int i, int axis, struct tensor *count, int64_t extent)
{
	struct tensor *own = node->in[i]->dims[axis].count;
	if (own && count && size_is_said(own) && size_is_said(count))
		counts_must_be(node, i, axis, count, extent);
}

/* Of dims that lie beside each other the one whose count is said most simply: a call says it, rather than that it follows from
 * one that does. */
static struct dim simplest_beside(const struct node *node, int back, int but)
{
	struct dim simplest = { 0 };
	FOR (i, node->ins) {
		int d = node->in[i] ? node->in[i]->rank - back : -1;
		if (d < 0 || d == but || !node->in[i]->dims[d].count)
			continue;
		if (!simplest.count || size_parts(node->in[i]->dims[d].count) < size_parts(simplest.count))
			simplest = node->in[i]->dims[d];
	}
	return simplest;
}

/* Dims that lie beside each other, from the last on, but for one (-1: none): all have one count from here on. */
void counts_all_agree(struct node *node, int but)
{
	for (int back = 1; back <= MAX_RANK; back++) {
		struct dim one = simplest_beside(node, back, but);
		FOR_WHILE (i, one.count, node->ins) {
			int d = node->in[i] ? node->in[i]->rank - back : -1;
			if (d >= 0 && d != but)
				counts_agree(node, i, d, one.count, one.extent);
		}
	}
}
