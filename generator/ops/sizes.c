/* sizes.c: how many there are of a dim, as an expression of other sizes: a number, what a call or data say (an atom),
 * and the sums, products, quotients, minima and maxima of those.  Each is a scalar of the graph that a node of the
 * domain `ingot` makes; terms and factors stand in one order, numbers last, so that equal sizes are one tensor, and to
 * be the same is to be equal.  They become definitions of rank 0, at which kernels end. */
#include "ops/words.h"

static const char *type_of(const struct node *node, const char *type)
{
	return name_is(node->graph->build->names, type);
}

static bool is_made_by(const struct tensor *size, const char *type)
{
	return !size->data && size->producer && !strcmp(size->producer->domain, "ingot")
	        && !strcmp(size->producer->type, type);
}

struct tensor *size_number(const struct node *node, int64_t number)
{
	return graph_constant(node->graph, "size", DTYPE_I64, 0, NULL, &number);
}

bool size_is(const struct tensor *size, int64_t number) { return size->data && tensor_int(size, 0) == number; }

bool size_equal(const struct tensor *a, const struct tensor *b)
{
	return a == b || (a->data && b->data && tensor_int(a, 0) == tensor_int(b, 0));
}

struct tensor *size_of_dim(const struct node *node, const struct dim *dim)
{
	return dim->count ? dim->count : size_number(node, dim->extent);
}

enum { ATTRIBUTES_MOST = 3 };
struct node *size_node(const struct node *node, const char *type, const char *name, int ins, struct tensor *const *in)
{
	struct graph *graph = node->graph;
	struct node *made = graph_node_new(graph, type_of(node, "ingot"), type_of(node, type), node->name, ins, 1);
	made->since = 1;
	made->where = node->where;
	COPY(made->in, in, ins);
	made->out[0] = graph_tensor_fresh(graph, name);
	made->out[0]->producer = made;
	made->attributes = arena_new_array(graph->build->arena, struct attribute, ATTRIBUTES_MOST);
	return made;
}

void size_says(struct node *made, const char *name, int64_t number)
{
	made->attributes[made->attribute_count++] =
	        (struct attribute){ .name = type_of(made, name), .kind = ATTRIBUTE_INT, .i = number };
}

void size_says_float(struct node *made, const char *name, float number)
{
	made->attributes[made->attribute_count++] =
	        (struct attribute){ .name = type_of(made, name), .kind = ATTRIBUTE_FLOAT, .f = number };
}

/* a and b as they come, one tensor for all that have it. */
static struct tensor *pair(const struct node *node, const char *type, struct tensor *a, struct tensor *b)
{
	const struct graph *graph = node->graph;
	type = type_of(node, type);
	FOR_EACH (const struct node *made, graph->nodes) {
		if (made->guard == graph->guard && made->type == type && !strcmp(made->domain, "ingot")
		        && size_equal(made->in[0], a) && size_equal(made->in[1], b))
			return made->out[0];
	}
	struct node *made = size_node(node, type, "count", TENSORS(a, b));
	infer_output(made, 0, DTYPE_I64, 0, NULL);
	return made->out[0];
}

/* ---- sums and products: an ordered list of atoms and a number ---- */
enum { PARTS_MOST = 256 }; /* of more, those that came first stay together */
struct parts {
	VECTOR(struct tensor *) at;
	int64_t number;
};

static const char SUM[] = "SizeAdd", PRODUCT[] = "SizeMul";

static void insert(struct arena *arena, struct parts *parts, const char *type, struct tensor *size)
{
	if (size->data) {
		parts->number = type == SUM ? parts->number + tensor_int(size, 0) : parts->number * tensor_int(size, 0);
		return;
	}
	push(arena, &parts->at, size);
	for (size_t at = parts->at.count - 1; at > 0 && strcmp(parts->at.at[at - 1]->name, size->name) > 0; at--) {
		parts->at.at[at] = parts->at.at[at - 1];
		parts->at.at[at - 1] = size;
	}
}

/* A sum's node has another sum, or an atom, and an atom or a number. */
static void take(const struct node *node, struct parts *parts, const char *type, struct tensor *size)
{
	struct arena *arena = node_arena(node);
	for (; is_made_by(size, type) && parts->at.count < PARTS_MOST; size = size->producer->in[0])
		insert(arena, parts, type, size->producer->in[1]);
	insert(arena, parts, type, size);
}

static struct tensor *joined(const struct node *node, const char *type, const struct parts *parts)
{
	struct tensor *size = parts->at.count ? parts->at.at[0] : NULL;
	if (type == PRODUCT && parts->number == 0)
		return size_number(node, 0);
	FOR_FROM (i, 1, parts->at.count)
		size = pair(node, type, size, parts->at.at[i]);
	if (size && parts->number == (type == PRODUCT))
		return size;
	struct tensor *number = size_number(node, parts->number);
	return size ? pair(node, type, size, number) : number;
}

static void drop(struct parts *parts, size_t k)
{
	parts->at.count--;
	memmove(parts->at.at + k, parts->at.at + k + 1, sizeof *parts->at.at * (parts->at.count - k));
}

static bool is_negated(const struct node *node, struct tensor *a, struct tensor *b)
{
	struct parts of = { .number = 1 }, less = { .number = 1 };
	take(node, &of, PRODUCT, a);
	take(node, &less, PRODUCT, b);
	bool same = of.at.count == less.at.count && of.number == -less.number;
	FOR_WHILE (i, same, of.at.count)
		same = of.at.at[i] == less.at.at[i];
	return same;
}

/* What a sum has and takes away says nothing. */
static void cancel(const struct node *node, struct parts *parts)
{
	FOR_ALL (i, parts->at)
		FOR (k, i)
			if (is_negated(node, parts->at.at[k], parts->at.at[i])) {
				drop(parts, i);
				drop(parts, k);
				i = k = 0;
			}
}

static struct tensor *of_parts(const struct node *node, const char *type, struct tensor *a, struct tensor *b)
{
	struct parts parts = { .number = type == PRODUCT };
	take(node, &parts, type, a);
	take(node, &parts, type, b);
	if (type == SUM)
		cancel(node, &parts);
	return joined(node, type, &parts);
}

struct tensor *size_sum(const struct node *node, struct tensor *a, struct tensor *b)
{
	return of_parts(node, SUM, a, b);
}
struct tensor *size_product(const struct node *node, struct tensor *a, struct tensor *b)
{
	return of_parts(node, PRODUCT, a, b);
}

/* Less, of a sum, is each of its parts less. */
static struct tensor *negated(const struct node *node, struct tensor *a)
{
	struct parts of = { .number = 0 }, less = { .number = 0 };
	take(node, &of, SUM, a);
	less.number = -of.number;
	FOR_ALL (i, of.at)
		insert(node_arena(node), &less, SUM, size_product(node, of.at.at[i], size_number(node, -1)));
	return joined(node, SUM, &less);
}

struct tensor *size_difference(const struct node *node, struct tensor *a, struct tensor *b)
{
	return size_sum(node, a, negated(node, b));
}

/* ---- what does not commute ---- */
struct tensor *size_quotient(const struct node *node, struct tensor *a, struct tensor *b)
{
	struct parts of = { .number = 1 }, by = { .number = 1 };
	take(node, &of, PRODUCT, a);
	take(node, &by, PRODUCT, b);
	for (size_t i = 0, k; i < by.at.count; i++) { /* what both have says nothing */
		for (k = 0; k < of.at.count && of.at.at[k] != by.at.at[i];)
			k++;
		if (k < of.at.count) {
			drop(&of, k);
			drop(&by, i--);
		}
	}
	if (by.number && of.number % by.number == 0) {
		of.number /= by.number;
		by.number = 1;
	}
	struct tensor *left = joined(node, PRODUCT, &of), *right = joined(node, PRODUCT, &by);
	if (size_is(right, 1))
		return left;
	if (left->data && right->data && tensor_int(right, 0))
		return size_number(node, tensor_int(left, 0) / tensor_int(right, 0));
	return pair(node, "SizeDiv", left, right);
}

struct tensor *size_plus(const struct node *node, struct tensor *a, int64_t number)
{
	return size_sum(node, a, size_number(node, number));
}

struct tensor *size_not_below_zero(const struct node *node, struct tensor *a)
{
	return size_most(node, a, size_number(node, 0));
}

struct tensor *size_least(const struct node *node, struct tensor *a, struct tensor *b)
{
	struct span apart = size_span(size_difference(node, a, b));
	return apart.most <= 0 ? a : apart.least >= 0 ? b : pair(node, "SizeMin", a, b);
}

struct tensor *size_most(const struct node *node, struct tensor *a, struct tensor *b)
{
	struct span apart = size_span(size_difference(node, a, b));
	return apart.least >= 0 ? a : apart.most <= 0 ? b : pair(node, "SizeMax", a, b);
}

bool size_may_not_divide(const struct tensor *size) { return is_made_by(size, "SizeDiv"); }

/* ---- what they lie between ---- */
static const int64_t FAR = (int64_t)1 << 60; /* and all that is further off */

static int64_t cut(int64_t number) { return number < -FAR ? -FAR : number > FAR ? FAR : number; }

static int64_t times(int64_t a, int64_t b)
{
	int64_t product;
	return __builtin_mul_overflow(a, b, &product) ? (a < 0) == (b < 0) ? FAR : -FAR : cut(product);
}

static struct span span_of_product(struct span a, struct span b)
{
	const int64_t corners[4] = { times(a.least, b.least), times(a.least, b.most), times(a.most, b.least),
		times(a.most, b.most) };
	struct span span = { corners[0], corners[0] };
	FOR_FROM (i, 1, 4) {
		span.least = corners[i] < span.least ? corners[i] : span.least;
		span.most = corners[i] > span.most ? corners[i] : span.most;
	}
	return span;
}

static struct span span_of_made(struct tensor *size, struct span a, struct span b)
{
	if (is_made_by(size, SUM))
		return (struct span){ cut(a.least + b.least), cut(a.most + b.most) };
	if (is_made_by(size, PRODUCT))
		return span_of_product(a, b);
	if (is_made_by(size, "SizeDiv"))
		return a.least < 0 || b.least < 1 ? (struct span){ a.least < 0 ? -FAR : 0, a.most < 0 ? FAR : a.most }
		                                  : (struct span){ a.least / b.most, a.most / b.least };
	bool least = is_made_by(size, "SizeMin");
	return (struct span){ (a.least < b.least) == least ? a.least : b.least,
		(a.most < b.most) == least ? a.most : b.most };
}

static bool is_made_of_two(const struct tensor *size)
{
	return is_made_by(size, SUM) || is_made_by(size, PRODUCT) || is_made_by(size, "SizeDiv")
	        || is_made_by(size, "SizeMin") || is_made_by(size, "SizeMax");
}

struct span size_span(struct tensor *size)
{
	const struct graph *main = graph_main(size->graph);
	if (size->data)
		return (struct span){ tensor_int(size, 0), tensor_int(size, 0) };
	if (!size->is_spanned) {
		struct span span = { 0, size->most ? size->most : FAR };
		bool said = false;
		FOR_ALL (i, main->sizes)
			if (main->sizes.at[i].size == size) {
				span = (struct span){ main->sizes.at[i].least, main->sizes.at[i].most };
				said = true;
			}
		if (is_made_of_two(size)) {
			struct tensor *const *of = size->producer->in;
			span = span_of_made(size, size_span(of[0]), size_span(of[1]));
			said = (of[0]->data || of[0]->is_said) && (of[1]->data || of[1]->is_said);
		}
		size->is_said = said;
		size->is_spanned = true;
		size->least = span.least;
		size->most = span.most;
	}
	return (struct span){ size->least, size->most };
}

bool size_is_said(struct tensor *size)
{
	size_span(size);
	return size->data || size->is_said;
}

int size_parts(const struct tensor *size)
{
	return is_made_of_two(size) ? size_parts(size->producer->in[0]) + size_parts(size->producer->in[1]) : 1;
}

struct dim size_dim(struct tensor *size)
{
	int64_t most = size_span(size).most;
	return (struct dim){ most < 0 ? 0 : most, NULL, size->data ? NULL : size };
}

/* ---- what operands say ---- */
struct tensor *size_made(const struct node *node, const char *type, int at, int ins, struct tensor *const *in)
{
	struct node *made = size_node(node, type, "count", ins, in);
	size_says(made, "at", at);
	op_find("ingot", type)->infer(made);
	return made->out[0];
}

void infer_as_size(struct node *node, int least, int most)
{
	infer_made(node);
	infer_counts(node, least, most, 1);
	infer_output(node, 0, DTYPE_I64, 0, NULL);
}

void infer_size_element(struct node *node) { infer_as_size(node, 1, 1); }

void define_size_element(struct definer *definer)
{
	int64_t at = attribute_int(NODE, "at");
	if (at < 0 || at >= ELEMENTS(0))
		node_invalid(NODE, "element %" PRId64 " of %" PRId64, at, ELEMENTS(0));
	OUT(0, ELEMENT(0, at));
}

/* ---- the nodes ---- */
void infer_sizes(struct node *node) { infer_as_size(node, 2, 2); }

void define_sizes(struct definer *definer)
{
	OUT(0, integer_of(definer, (enum scalar)op_of(NODE)->scalar, ELEMENT(0, 0), ELEMENT(1, 0)));
}
