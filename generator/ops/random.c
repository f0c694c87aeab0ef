/* random.c: RandomUniform, RandomNormal, those like an input, and Bernoulli.  A number is a function of the seed and the element's
 * place alone, so every target, any number of threads and every run have the same; a node without seed has one of its own, from its output's name. */
#include "ops/ops.h"
#include <inttypes.h>

static enum dtype type_of(const struct node *node, bool any)
{
	int64_t asked = node_int(node, "dtype", node->ins ? DTYPE_NONE : DTYPE_F32);
	if (asked < 0 || asked >= DTYPE_COUNT || (asked && (asked == DTYPE_STRING || (!any && dtypes[asked].class != CLASS_FLOAT))))
		node_fail(node, EXIT_INVALID, "%s: dtype is %" PRId64 ", %s is right", node->type, asked,
			any ? "a number's or bool's" : "float, double, float16 or bfloat16");
	enum dtype type = asked ? (enum dtype)asked : node->in[0]->type;
	if (type != DTYPE_NONE && !dtype_is_supported(type))
		node_fail(node, EXIT_UNSUPPORTED, "%s of %s is not supported", node->type, dtypes[type].text);
	if (type != DTYPE_NONE && !any && (dtypes[type].class != CLASS_FLOAT || dtypes[type].bits < 16))
		node_fail(node, EXIT_INVALID, "%s of %s; float, double, float16 or bfloat16 is right", node->type, dtypes[type].text);
	return type;
}

void infer_random(struct node *node, const struct op *op)
{
	struct dim dims[MAX_RANK];
	size_t count;
	const int64_t *shape = node_ints(node, "shape", &count);
	(void)op;
	infer_counts(node, 0, 0, 1);
	if (!node_attribute(node, "shape"))
		node_fail(node, EXIT_INVALID, "%s lacks the attribute \"shape\"", node->type);
	if (count > MAX_RANK)
		node_fail(node, EXIT_LIMIT, "%s: a shape of %zu dimensions, at most %d are supported", node->type, count, MAX_RANK);
	for (size_t d = 0; d < count; d++) {
		if (shape[d] < 0)
			node_fail(node, EXIT_INVALID, "%s: dimension %zu of the shape is %" PRId64, node->type, d, shape[d]);
		dims[d] = dim_of(shape[d]);
	}
	infer_output(node, 0, type_of(node, false), (int)count, dims);
}

static void infer_like(struct node *node, enum dtype type)
{
	if (node->in[0]->rank < 0)
		infer_output_unknown(node, 0, type);
	else
		infer_output(node, 0, type, node->in[0]->rank, node->in[0]->dims);
}

void infer_random_like(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 1, 1, 1);
	infer_like(node, type_of(node, false));
}

void infer_bernoulli(struct node *node, const struct op *op)
{
	(void)op;
	infer_counts(node, 1, 1, 1);
	infer_float_type(node, 0);
	infer_like(node, type_of(node, true));
}

/* In [0, 1): number `which` of `each` that an element has; as many bits as the type keeps. */
static const struct expr *uniform(struct definer *definer, enum dtype type, int64_t each, int64_t which)
{
	struct arena *arena = definer->arena;
	const struct node *node = definer->node;
	const struct index *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	int rank = definer_shape(definer, 0, extents, at), kept = type == DTYPE_F64 ? 53 : 24;
	float seed = node_float(node, "seed", 0);
	uint32_t bits;
	memcpy(&bits, &seed, sizeof bits);
	uint64_t key = node_attribute(node, "seed") ? bits : hash_bytes(node->out[0]->name, strlen(node->out[0]->name), 0);
	const struct index *place = index_plus(arena, index_scale(arena, index_flatten(arena, rank, at, extents), each), which);
	const struct expr *number = expr2(definer, SCALAR_random, expr_integer(arena, DTYPE_U64, (int64_t)key), expr_cast(arena, DTYPE_U64, expr_index(arena, place)));
	number = expr2(definer, SCALAR_shr, number, expr_integer(arena, DTYPE_U64, 64 - kept));
	return expr2(definer, SCALAR_mul, expr_cast(arena, type, number), expr_number(arena, type, type == DTYPE_F64 ? 0x1p-53 : 0x1p-24));
}

void define_random(struct definer *definer, const struct op *op)
{
	struct arena *arena = definer->arena;
	const struct node *node = definer->node;
	enum dtype type = node->out[0]->type == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
	const struct expr *number, *base, *scale;
	if (strstr(op->name, "Uniform")) {
		double low = (double)attribute_float(node, "low"), high = (double)attribute_float(node, "high");
		number = uniform(definer, type, 1, 0);
		base = expr_number(arena, type, low);
		scale = expr_number(arena, type, high - low);
	} else {                                                            /* Box and Muller: sqrt(-2 log(1 - u)) cos(2 pi v) */
		const struct expr *u = expr2(definer, SCALAR_sub, expr_number(arena, type, 1), uniform(definer, type, 2, 0));
		const struct expr *far = expr1(definer, SCALAR_sqrt, expr2(definer, SCALAR_mul, expr_number(arena, type, -2), expr1(definer, SCALAR_log, u)));
		number = expr1(definer, SCALAR_cos, expr2(definer, SCALAR_mul, expr_number(arena, type, 6.28318530717958647692), uniform(definer, type, 2, 1)));
		number = expr2(definer, SCALAR_mul, far, number);
		base = expr_number(arena, type, (double)attribute_float(node, "mean"));
		scale = expr_number(arena, type, (double)attribute_float(node, "scale"));
	}
	definer_out_map(definer, 0, expr3(definer, SCALAR_fma, number, scale, base));
}

void define_random_like(struct definer *definer, const struct op *op) { define_random(definer, op); }

void define_bernoulli(struct definer *definer, const struct op *op)
{
	const struct index *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	(void)op;
	struct definition *x = definer_in(definer, 0);
	definer_shape(definer, 0, extents, at);
	const struct expr *hit = expr2(definer, SCALAR_less, uniform(definer, x->type, 1, 0), expr_load(definer->arena, x, at));
	definer_out_map(definer, 0, expr_of_type(definer, definer->node->out[0]->type, 0, hit));
}
