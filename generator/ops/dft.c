/* dft.c: DFT: a sum of products with a table of roots of unity; where the length is a product a b and not small, two of
 * them with a twist between (Cooley and Tukey): n (a + b) products in place of n n.  The rule asks the length alone.
 * Tables are computed in double when the library is made. */
#include "ops/words.h"
#include <math.h>

enum { AXIS_IS_INPUT = 20, DIRECT_MOST = 63, TABLE_MOST = 1 << 26 };

struct dft {
	int axis, rank;
	int64_t n, given, out; /* length; elements that x has and y gets along the axis */
	int parts, out_parts;  /* 1 real, 2 complex */
	bool inverse, half;    /* half: of real numbers, only what is no conjugate (forward: y, inverse: x) */
};

/* A constant operand of one number, `otherwise` where it is absent; false where it comes at run time. */
static bool scalar_in(const struct node *node, int i, int64_t *number, const char *what)
{
	int64_t count;
	const struct tensor *tensor = node_in(node, i);
	if (!tensor)
		return true;
	const int64_t *value = node_in_ints(node, i, &count);
	INVALID_IF(!value && !(tensor->rank <= 1 && (tensor->rank < 1 || tensor->dims[0].extent <= 1)),
	        "%s of %d dimensions, one number is right", what, tensor->rank);
	INVALID_IF(value && count != 1, "%s of %" PRId64 " numbers, one is right", what, count);
	if (value)
		*number = value[0];
	return value;
}

/* Axis and length as they are told: false where one is not constant.  Length: -1 where none is told. */
static bool read_sizes(const struct node *node, int64_t *axis, int64_t *length)
{
	bool newer = node->since >= AXIS_IS_INPUT;
	*axis = newer ? -2 : attribute_int(node, "axis");
	*length = -1;
	bool known = scalar_in(node, 1, length, "a length");
	INVALID_IF(node_in(node, 1) && known && *length < 1, "a length of %" PRId64 ", at least 1 is right", *length);
	return (!newer || scalar_in(node, 2, axis, "an axis")) && known;
}

int dft_axis(const struct node *node)
{
	int64_t axis, length;
	return read_sizes(node, &axis, &length) ? (int)node_axis(node, axis, node->in[0]->rank) : -1;
}

/* Needs the rank of x. */
static void dft_of(const struct node *node, struct dft *f, int64_t axis, int64_t length)
{
	const struct tensor *x = node->in[0];
	f->rank = x->rank;
	INVALID_IF(x->rank < 2, "data has %d dimensions, at least 2 are right", x->rank);
	f->axis = (int)node_axis(node, axis, x->rank);
	INVALID_IF(f->axis == x->rank - 1, "axis %d holds the parts of a number", f->axis);
	f->inverse = attribute_int(node, "inverse") != 0;
	f->half = attribute_int(node, "onesided") != 0;
	int64_t parts = x->dims[x->rank - 1].extent;
	INVALID_IF(parts >= 0 && parts != 1 && parts != 2,
	        "the last dimension is %" PRId64 ", 1 (real) or 2 (complex) is right", parts);
	INVALID_IF(f->half && !f->inverse && parts == 2, "onesided of complex numbers, real ones are right");
	f->parts = (int)parts;
	f->given = x->dims[f->axis].extent;
	f->n = length >= 0 ? length : f->given < 0 ? -1 : f->half && f->inverse ? 2 * (f->given - 1) : f->given;
	INVALID_IF(f->given >= 0 && f->n < 1, "a length of %" PRId64 ", at least 1 is right", f->n);
	f->out = f->n < 0 ? -1 : f->half && !f->inverse ? f->n / 2 + 1 : f->n;
	f->out_parts = f->half && f->inverse ? 1 : 2;
}

void infer_dft(struct node *node)
{
	struct dft f;
	struct dim dims[MAX_RANK];
	int64_t axis, length;
	enum dtype type = node->in[0]->type;
	if (!infer_ranks(node, 1, type))
		return;
	if (!read_sizes(node, &axis, &length)) {
		FOR (d, node->in[0]->rank)
			dims[d] = dim_unknown;
		infer_output(node, 0, type, node->in[0]->rank, dims);
		return;
	}
	dft_of(node, &f, axis, length);
	COPY(dims, node->in[0]->dims, f.rank);
	dims[f.axis] = f.out < 0 ? dim_unknown : dim_of(f.out);
	dims[f.rank - 1] = dim_of(f.out_parts);
	infer_output(node, 0, type, f.rank, dims);
}

/* The part `to` of (part `from` of a number) times the root of unity at step * k of n, scaled. */
static double root(const struct dft *f, int64_t n, int64_t step, int64_t k, int from, int to, double scale)
{
	const double turn = 6.28318530717958647692;
	int64_t at = (int64_t)((unsigned __int128)step * (unsigned __int128)k % (unsigned __int128)n);
	double angle = (f->inverse ? turn : -turn) * (double)at / (double)n;
	return scale * (from == to ? cos(angle) : from ? -sin(angle) : sin(angle));
}

/* table[t, from, k, to] over steps of n: roots of order `order`.  An inverse of half a spectrum counts what has a
 * conjugate twice. */
static struct definition *table_of(struct definer *definer, const struct dft *f, const char *name, enum dtype type,
        int64_t order, int64_t terms, int parts, int64_t outs, int out_parts, double scale)
{
	const int64_t extents[4] = { terms, parts, outs, out_parts };
	double many = (double)terms * parts * (double)outs * out_parts;
	if (many > TABLE_MOST)
		node_limit(NODE, " of length %" PRId64 " needs a table of %g numbers, ingot takes at most %d", f->n,
		        many, TABLE_MOST);
	void *data =
	        arena_alloc(definer->arena, (size_t)many * (type == DTYPE_F64 ? sizeof(double) : sizeof(float)) + 1);
	size_t at = 0;
	FOR (t, terms) {
		double weight = f->half && f->inverse && t && 2 * t != f->n ? 2 * scale : scale;
		FOR (from, parts)
			FOR (k, outs)
				for (int to = 0; to < out_parts; to++, at++) {
					double value = root(f, order, t, k, from, to, weight);
					if (type == DTYPE_F64)
						((double *)data)[at] = value;
					else
						((float *)data)[at] = (float)value;
				}
	}
	return define_constant(definer->program, NAMED(name), type, 4, extents, data);
}

/* Every output is a sum over all that x has. */
static struct definition *direct(
        struct definer *definer, const struct dft *f, struct definition *x, const int64_t *extents)
{
	int64_t terms = f->half && f->inverse && f->n / 2 + 1 < f->given ? f->n / 2 + 1
	        : f->n < f->given                                        ? f->n
	                                                                 : f->given,
	        reduced[2] = { terms, f->parts };
	struct definition *table = table_of(definer, f, "roots", x->type, f->n, terms, f->parts, f->out, f->out_parts,
	        f->inverse ? 1 / (double)f->n : 1);
	index_ref at[MAX_RANK] = { NULL }, own[4];
	VARS(at, f->rank, extents);
	own[2] = at[f->axis];
	own[3] = at[f->rank - 1];
	at[f->axis] = own[0] = VAR(f->rank, terms);
	at[f->rank - 1] = own[1] = VAR(f->rank + 1, f->parts);
	struct definition *sum = REDUCE(
	        NODE->out[0]->name, f->rank, extents, REDUCE_SUM, 2, reduced, NULL, MUL(LOAD(x, at), LOAD(table, own)));
	if (sum->reduce)
		mark_batch(sum, ((1u << f->rank) - 1) & ~(1u << f->axis) & ~(1u << (f->rank - 1)));
	return sum;
}

/* t = t1 b + t2, k = k1 + a k2: sums over t1, rotated by t2 k1 of n, summed over t2.  Between, the axis is two: the
 * last dimensions are [rest, one, other, part]. */
static struct definition *in_two(
        struct definer *definer, const struct dft *f, struct definition *x, int64_t a, int64_t b)
{
	int rest = f->rank - 2, rank = rest + 3, n = 0;
	int64_t extents[MAX_RANK], first[2] = { a, f->parts }, second[2] = { b, 2 };
	index_ref at[MAX_RANK] = { NULL }, own[4], x_at[MAX_RANK];
	FOR (d, f->rank - 1)
		if (d != f->axis)
			extents[n++] = x->extents[d];
	extents[rest] = b;
	extents[rest + 1] = a;
	extents[rest + 2] = 2;
	VARS(at, rank, extents);
	struct definition *roots = table_of(definer, f, "roots", x->type, a, a, f->parts, a, 2, 1);
	index_ref t1 = VAR(rank, a), t = SUM(SCALE(t1, b), at[rest]);
	for (int d = 0, k = 0; d < f->rank - 1; d++)
		x_at[d] = d == f->axis ? t : at[k++];
	x_at[f->rank - 1] = own[1] = VAR(rank + 1, f->parts);
	own[0] = t1;
	own[2] = at[rest + 1];
	own[3] = at[rest + 2];
	const struct range there = { t, 0, f->given };
	expr_ref value = SELECT(&there, 1, LOAD(x, x_at), LIKE(x, 0));
	struct definition *sums =
	        REDUCTION("first", rank, extents, REDUCE_SUM, 2, first, NULL, MUL(value, LOAD(roots, own)));
	mark_batch(sums, (1u << (rest + 1)) - 1);

	/* (re, im) rotated: re cos - im sin, re sin + im cos */
	struct definition *twist = table_of(definer, f, "turns", x->type, f->n, b, 2, a, 2, 1);
	expr_ref rotated = NULL;
	for (int part = 1; part >= 0; part--) {
		index_ref from[MAX_RANK], turn[4] = { at[rest], CONSTANT(part), at[rest + 1], at[rest + 2] };
		memcpy(from, at, sizeof from);
		from[rest + 2] = CONSTANT(part);
		expr_ref number = LOAD(sums, from), by = LOAD(twist, turn);
		rotated = rotated ? FMA(number, by, rotated) : MUL(number, by);
	}
	struct definition *between = PART("rotated", rank, extents, rotated);

	struct definition *last =
	        table_of(definer, f, "last_roots", x->type, b, b, 2, b, 2, f->inverse ? 1 / (double)f->n : 1);
	index_ref from[MAX_RANK];
	extents[rest] = a; /* [rest, k1, k2, part] */
	extents[rest + 1] = b;
	VARS(at, rank, extents);
	memcpy(from, at, sizeof from);
	from[rest] = own[0] = VAR(rank, b);
	from[rest + 1] = at[rest];
	from[rest + 2] = own[1] = VAR(rank + 1, 2);
	own[2] = at[rest + 1];
	own[3] = at[rest + 2];
	struct definition *all = REDUCTION(
	        "second", rank, extents, REDUCE_SUM, 2, second, NULL, MUL(LOAD(between, from), LOAD(last, own)));
	mark_batch(all, (1u << (rest + 1)) - 1);
	return all;
}

static struct definition *transformed(
        struct definer *definer, const struct dft *f, struct definition *x, const int64_t *extents)
{
	index_ref own[MAX_RANK];
	int64_t a = 1;
	for (int64_t d = 2; f->n > DIRECT_MOST && d * d <= f->n; d++)
		a = f->n % d ? a : d;
	bool empty = definition_elements(x) == 0;
	FOR (d, f->rank)
		empty |= extents[d] == 0;
	if (a == 1 || empty || (f->half && f->inverse) || f->rank + 1 > MAX_RANK)
		return direct(definer, f, x, extents);
	struct definition *all = in_two(definer, f, x, a, f->n / a);
	index_ref at = VAR(f->axis, extents[f->axis]);
	for (int d = 0, k = 0; d < f->rank - 1; d++)
		if (d != f->axis)
			own[k++] = VAR(d, extents[d]);
	own[f->rank - 2] = REST(at, a);
	own[f->rank - 1] = QUOTIENT(at, a);
	own[f->rank] = VAR(f->rank - 1, extents[f->rank - 1]);
	return MAP(NODE->out[0]->name, f->rank, extents, LOAD(all, own));
}

/* Axis and length, where they come at run time, are such that they make what is declared. */
static struct definition *dft_at_run_time(struct definer *definer, struct definition *x, const int64_t *extents)
{
	const struct node *node = NODE;
	struct dft f, found[CANDIDATES_MOST];
	expr_ref is[CANDIDATES_MOST];
	struct definition *each[CANDIDATES_MOST];
	int64_t axis, length;
	int count = 0;
	read_sizes(node, &axis, &length);
	bool any_axis = node->since >= AXIS_IS_INPUT && node_in(node, 2) && !node->in[2]->data,
	     any_length = node_in(node, 1) && !node->in[1]->data;
	FOR (d, x->rank - 1) {
		if (!any_axis && d != node_axis(node, axis, x->rank))
			continue;
		FOR (odd, 2) { /* of half a spectrum the length is one of two */
			bool one_sided = attribute_int(node, "onesided"), inverse = attribute_int(node, "inverse"),
			     half = one_sided && !inverse;
			int64_t own = one_sided && inverse ? 2 * (x->extents[d] - 1) : x->extents[d];
			int64_t n = any_length ? half ? 2 * (extents[d] - 1) + odd : extents[d]
			        : length < 0 ? own
			                       : length;
			if (n < 1)
				continue;
			dft_of(node, &f, d, n);
			bool fits = f.out == extents[d] && f.out_parts == extents[x->rank - 1]
			        && (!odd || (half && any_length));
			FOR (k, x->rank - 1)
				fits &= k == d || extents[k] == x->extents[k];
			UNSUPPORTED_IF(fits && count == CANDIDATES_MOST,
			        "an axis or length that is not constant is not supported where more than "
			        "%d fit",
			        CANDIDATES_MOST);
			if (fits)
				found[count++] = f;
		}
	}
	INVALID_IF(!count, "no axis and length make the declared %s", SHAPE_TEXT(x->rank, extents));
	FOR (i, count) {
		is[i] = I(1);
		if (any_axis) {
			expr_ref value = ELEMENT(2, 0);
			is[i] = I_OR(I_IS(value, found[i].axis), I_IS(value, found[i].axis - x->rank));
		}
		if (any_length)
			is[i] = I_AND(is[i], I_IS(ELEMENT(1, 0), found[i].n));
		each[i] = transformed(definer, &found[i], x, extents);
	}
	return definer_choose(definer, count, is, each, "an axis and a length that make the declared %s are right",
	        SHAPE_TEXT(x->rank, extents));
}

void define_dft(struct definer *definer)
{
	struct dft f;
	int64_t axis, length;
	struct definition *x = IN(0);
	SHAPE(0, rank, extents, at);
	if (!read_sizes(NODE, &axis, &length)) {
		GIVE(0, dft_at_run_time(definer, x, extents));
		return;
	}
	dft_of(NODE, &f, axis, length);
	GIVE(0, transformed(definer, &f, x, extents));
}
