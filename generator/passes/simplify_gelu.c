/* simplify_gelu.c: finds x * 0.5 * (1 + erf(x / sqrt 2)), however it is written.  From the last Mul the product is
 * taken apart into its factors; they must be x, something that is 0.5, and 1 + erf(u), with u = x / sqrt 2. */
#include "passes/simplify.h"
#include <math.h>

static bool is_number(const struct tensor *tensor, double number)
{
	if (!tensor->data || tensor->type != DTYPE_F32 || tensor->rank < 0)
		return false;
	FOR (d, tensor->rank)
		if (tensor->dims[d].extent != 1)
			return false;
	return fabs(tensor_float(tensor, 0) - number) <= 1e-4 * number; /* sqrt 2 is often written with few digits */
}

/* The other operand of a node with one that is this number; NULL: none is. */
static struct tensor *other_than(const struct node *node, double number)
{
	FOR (i, 2)
		if (is_number(node->in[i], number))
			return node->in[1 - i];
	return NULL;
}

/* u = x / sqrt 2 or x * sqrt 0.5: x; else NULL. */
static struct tensor *before_scale(const struct tensor *u)
{
	const struct node *node = u->producer;
	if (is_op(node, "Mul"))
		return other_than(node, M_SQRT1_2);
	if (is_op(node, "Div") && is_number(node->in[1], M_SQRT2))
		return node->in[0];
	return NULL;
}

/* t = 1 + erf(x / sqrt 2): x; else NULL. */
static struct tensor *before_erf(const struct tensor *t)
{
	const struct node *node = t->producer;
	struct tensor *erf = is_op(node, "Add") ? other_than(node, 1) : NULL;
	return erf && is_op(erf->producer, "Erf") ? before_scale(erf->producer->in[0]) : NULL;
}

/* The factors of a product; a division by 2 counts as the factor 0.5. */
enum { FACTORS_MOST = 4 };
struct factors {
	struct tensor *at[FACTORS_MOST];
	int count, halves;
};

static bool take_apart(struct tensor *tensor, bool inside, struct factors *factors)
{
	struct node *node = tensor->producer;
	if (is_number(tensor, 0.5)) {
		factors->halves++;
		return true;
	}
	if (is_op(node, "Mul") && (!inside || (tensor->mark == 1 && !tensor->is_output)))
		return take_apart(node->in[0], true, factors) && take_apart(node->in[1], true, factors);
	if (is_op(node, "Div") && is_number(node->in[1], 2) && tensor->mark == 1 && !tensor->is_output) {
		factors->halves++;
		return take_apart(node->in[0], true, factors);
	}
	if (factors->count == FACTORS_MOST)
		return false;
	factors->at[factors->count++] = tensor;
	return true;
}

/* The factors in the two orders: one is x, the other 1 + erf(x / sqrt 2). */
bool find_gelu(struct node *node)
{
	struct factors factors = { .count = 0 };
	if (node->ins != 2 || node->out[0]->type != DTYPE_F32 || !take_apart(node->out[0], false, &factors))
		return false;
	if (factors.count != 2 || factors.halves != 1)
		return false;
	FOR (i, 2) {
		struct tensor *x = factors.at[i];
		if (before_erf(factors.at[1 - i]) == x) {
			become(node, "ingot", "Gelu", 1, &x);
			return true;
		}
	}
	return false;
}
