/* random.c: RandomUniform, RandomNormal, those like an input, Bernoulli, Multinomial and Dropout.  A number is a
 * function of the seed and the element's place alone, so every target, any number of threads and every run have the
 * same; a node without seed has one of its own, from its output's name. */
#include "ops/words.h"

static enum dtype type_of(const struct node *node, bool any)
{
	int64_t asked = node_int(node, "dtype", node->ins ? DTYPE_NONE : DTYPE_F32);
	INVALID_IF(asked < 0 || asked >= DTYPE_COUNT
	                || (asked && (asked == DTYPE_STRING || (!any && !dtype_is_float(asked)))),
	        "dtype is %" PRId64 ", %s is right", asked,
	        any ? "a number's or bool's" : "float, double, float16 or bfloat16");
	enum dtype type = asked ? (enum dtype)asked : node->in[0]->type;
	UNSUPPORTED_IF(type != DTYPE_NONE && !dtype_is_supported(type), " of %s is not supported", dtypes[type].text);
	INVALID_IF(type != DTYPE_NONE && !any && (!dtype_is_float(type) || dtypes[type].bits < 16),
	        " of %s; float, double, float16 or bfloat16 is right", dtypes[type].text);
	return type;
}

void infer_random(struct node *node)
{
	struct dim dims[MAX_RANK];
	size_t count;
	const int64_t *shape = node_ints(node, "shape", &count);
	INVALID_IF(!node_attribute(node, "shape"), " lacks the attribute \"shape\"");
	LIMIT_IF(count > MAX_RANK, "a shape of %zu dimensions, at most %d are supported", count, MAX_RANK);
	FOR (d, count) {
		INVALID_IF(shape[d] < 0, "dimension %zu of the shape is %" PRId64, d, shape[d]);
		dims[d] = dim_of(shape[d]);
	}
	infer_output(node, 0, type_of(node, false), (int)count, dims);
}

void infer_random_like(struct node *node)
{
	infer_output(node, 0, type_of(node, false), node->in[0]->rank, node->in[0]->dims);
}

void infer_bernoulli(struct node *node)
{
	infer_output(node, 0, type_of(node, true), node->in[0]->rank, node->in[0]->dims);
}

/* In [0, 1): number `which` of `each` that an element has; as many bits as the type keeps. */
static expr_ref uniform(struct definer *definer, enum dtype type, int64_t each, int64_t which)
{
	int out = !node_has_out(NODE, 0), kept = type == DTYPE_F64 ? 53 : 24;
	SHAPE(out, rank, extents, at);
	const struct attribute *given = node_attribute(NODE, "seed");
	uint32_t bits = 0;
	if (given && given->kind == ATTRIBUTE_FLOAT)
		memcpy(&bits, &given->f, sizeof bits);
	uint64_t key = !given                  ? hash_bytes(NODE->out[out]->name, strlen(NODE->out[out]->name), 0)
	        : given->kind == ATTRIBUTE_INT ? (uint64_t)given->i
	                                       : bits;
	index_ref place = PLUS(SCALE(FLATTEN(rank, at, extents), each), which);
	expr_ref number =
	        expr2(definer, SCALAR_random, WHOLE(DTYPE_U64, (int64_t)key), CAST(DTYPE_U64, POSITION(place)));
	number = expr2(definer, SCALAR_shr, number, WHOLE(DTYPE_U64, 64 - kept));
	return MUL(CAST(type, number), NUMBER(type, type == DTYPE_F64 ? 0x1p-53 : 0x1p-24));
}

void define_random(struct definer *definer)
{
	enum dtype type = NODE->out[0]->type == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
	expr_ref number, base, scale;
	if (strstr(NODE->type, "Uniform")) {
		double low = (double)attribute_float(NODE, "low"), high = (double)attribute_float(NODE, "high");
		number = uniform(definer, type, 1, 0);
		base = NUMBER(type, low);
		scale = NUMBER(type, high - low);
	} else { /* Box and Muller: sqrt(-2 log(1 - u)) cos(2 pi v) */
		expr_ref u = SUB(NUMBER(type, 1), uniform(definer, type, 2, 0));
		expr_ref far = expr1(definer, SCALAR_sqrt, MUL(NUMBER(type, -2), expr1(definer, SCALAR_log, u)));
		number = expr1(
		        definer, SCALAR_cos, MUL(NUMBER(type, 6.28318530717958647692), uniform(definer, type, 2, 1)));
		number = MUL(far, number);
		base = NUMBER(type, (double)attribute_float(NODE, "mean"));
		scale = NUMBER(type, (double)attribute_float(NODE, "scale"));
	}
	OUT(0, FMA(number, scale, base));
}

void define_random_like(struct definer *definer) { define_random(definer); }

void define_bernoulli(struct definer *definer)
{
	struct definition *x = IN(0);
	SHAPE(0, rank, extents, at);
	expr_ref hit = LESS(uniform(definer, x->type, 1, 0), LOAD(x, at));
	OUT(0, expr_of_type(definer, NODE->out[0]->type, 0, hit));
}

/* ---- Multinomial: of each row as many classes as asked, each with the probability whose logarithm (up to a constant)
 * the row has ---- */
enum { CLASSES_MOST = 1 << 20 };
void infer_multinomial(struct node *node)
{
	const struct tensor *x = node->in[0];
	int64_t asked = attribute_int(node, "dtype"), samples = attribute_int(node, "sample_size");
	INVALID_IF(asked != DTYPE_I32 && asked != DTYPE_I64, "dtype is %" PRId64 ", int32 or int64 is right", asked);
	INVALID_IF(samples < 1, "sample_size is %" PRId64 ", at least 1 is right", samples);
	INVALID_IF(x->rank >= 0 && (x->rank != 2 || x->dims[1].extent == 0 || x->dims[1].extent > CLASSES_MOST),
	        "data has %d dimensions and %" PRId64 " classes; 2, and 1 to %d are right", x->rank,
	        x->rank == 2 ? x->dims[1].extent : 0, CLASSES_MOST);
	struct dim dims[2] = { x->rank == 2 ? x->dims[0] : dim_unknown, dim_of(samples) };
	infer_output(node, 0, (enum dtype)asked, 2, dims);
}

/* The first class whose share, with all before it, is above a number in [0, all): how many are not. */
void define_multinomial(struct definer *definer)
{
	struct definition *x = IN(0);
	int64_t extents[2], classes = x->extents[1];
	index_ref at[2];
	definer_shape(definer, 0, extents, at);
	if (extents[0] == 0) {
		OUT(0, WHOLE(NODE->out[0]->type, 0));
		return;
	}
	index_ref all[2] = { at[0], VAR(1, classes) }, term[2] = { at[0], VAR(2, classes) },
	          last[2] = { at[0], CONSTANT(classes - 1) };
	index_ref row_term[2] = { at[0], VAR(1, classes) };
	struct definition *most = REDUCTION("most", 1, extents, REDUCE_MAX, 1, &classes, NULL, LOAD(x, row_term));
	struct definition *share =
	        PART("shares", 2, x->extents, expr1(definer, SCALAR_exp, SUB(LOAD(x, all), LOAD(most, at))));
	expr_ref to[2] = { NULL, POSITION(term[1]) };
	struct definition *below = definer_scatter(
	        definer, NAMED("below"), 2, x->extents, REDUCE_SUM, true, to, 1, &classes, NULL, LOAD(share, term));
	struct definition *drawn = PART("drawn", 2, extents, MUL(uniform(definer, x->type, 1, 0), LOAD(below, last)));
	expr_ref passed = CAST(DTYPE_I64, LESS_EQUAL(LOAD(below, term), LOAD(drawn, at)));
	struct definition *count = REDUCTION("count", 2, extents, REDUCE_SUM, 1, &classes, NULL, passed);
	OUT(0, CAST(NODE->out[0]->type, MIN(LOAD(count, at), I(classes - 1))));
}

/* ---- Dropout: the data, or in training what is not drawn away, over the part that stays ---- */
enum { TRAINING_IS_INPUT = 12 };

static bool is_zero(const struct tensor *tensor)
{
	return tensor && tensor->data && (tensor->type == DTYPE_F32 || tensor->type == DTYPE_F64)
	        && tensor_is_scalar_like(tensor) && tensor_float(tensor, 0) == 0;
}

bool dropout_trains(const struct node *node)
{
	const struct tensor *given = node->since >= TRAINING_IS_INPUT ? node_in(node, 2) : NULL;
	if (node->since < TRAINING_IS_INPUT)
		return node->since < 7 && !attribute_int(node, "is_test");
	return given && (!given->data || *(const uint8_t *)given->data) && !is_zero(node_in(node, 1));
}

void infer_dropout(struct node *node)
{
	infer_scalar(node, 1);
	infer_scalar(node, 2);
	infer_output_like(node, 0, node->in[0]);
	enum dtype mask = node->since < 10 ? node->in[0]->type : DTYPE_BOOL;
	infer_output(node, 1, mask, node->in[0]->rank, node->in[0]->dims);
}

void define_dropout(struct definer *definer)
{
	struct definition *x = IN(0), *given = NODE->since < TRAINING_IS_INPUT ? NULL : IN(1);
	index_ref at[MAX_RANK];
	bool training = dropout_trains(NODE);
	expr_ref ratio = given
	        ? CAST(x->type, ELEMENT(1, 0))
	        : LIKE(x, NODE->since < TRAINING_IS_INPUT ? (double)attribute_float(NODE, "ratio") : 0.5);
	expr_ref none = LIKE(x, 0), one = LIKE(x, 1), kept = NULL, value, asked = NULL;
	VARS(at, x->rank, x->extents);
	value = LOAD(x, at);
	if (training) {
		expr_ref right = MUL(LESS_EQUAL(none, ratio), LESS(ratio, one));
		asked = NODE->since < TRAINING_IS_INPUT ? one : CAST(x->type, ELEMENT(2, 0));
		right = WHERE(asked, right, one);
		REQUIRE(right, "a ratio in [0, 1) is right");
		kept = WHERE(asked, LESS_EQUAL(ratio, uniform(definer, x->type, 1, 0)), one);
		expr_ref more = MUL(value, DIV(one, SUB(one, ratio)));
		value = WHERE(asked, WHERE(kept, more, none), value);
	}
	if (kept)
		OUT(0, value);
	else
		GIVE(0, x);
	if (node_has_out(NODE, 1))
		OUT(1, expr_of_type(definer, NODE->out[1]->type, 0, kept ? kept : one));
}
