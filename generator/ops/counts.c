/* counts.c: dims that data decide.  The extent is a bound then, and `count` of struct dim says how many are there; what lies behind them is anything.  So a node that reads such
 * a tensor is one of those that are thought of here, and every other is refused. */
#include "ops/ops.h"
#include <inttypes.h>

static bool is_counted(const struct tensor *tensor)
{
	for (int d = 0; tensor && d < tensor->rank; d++)
		if (tensor->dims[d].count)
			return true;
	return false;
}

NORETURN static void refuse(const struct node *node, const struct tensor *tensor)
{
	int d = 0;
	while (!tensor->dims[d].count)
		d++;
	node_fail(node, EXIT_UNSUPPORTED, "%s: data decide dimension %d of %s, which has at most %" PRId64 " elements; that is not supported here", node->type, d, tensor->name,
		tensor->dims[d].extent);
}

static const struct tensor *counted_one(const struct node *node)
{
	for (int i = 0; i < node->ins; i++)
		if (is_counted(node->in[i]))
			return node->in[i];
	return NULL;
}

/* ---- which dim of an output is which of the inputs' ---- */
static void give(const struct node *node, int d, struct tensor *count)
{
	for (int i = 0; i < node->outs; i++)
		if (node->out[i] && d < node->out[i]->rank)
			node->out[i]->dims[d].count = count;
}

/* Element by element: a count goes with itself, and with a 1 that is broadcast. */
static void broadcast(const struct node *node)
{
	const struct tensor *out = node->out[0];
	for (int d = 0; d < out->rank; d++) {
		struct tensor *count = NULL;
		const struct tensor *whose = NULL;
		for (int i = 0; i < node->ins; i++) {
			int own = node->in[i] ? d - (out->rank - node->in[i]->rank) : -1;
			if (own >= 0 && node->in[i]->dims[own].count && !whose) {
				count = node->in[i]->dims[own].count;
				whose = node->in[i];
			}
		}
		for (int i = 0; i < node->ins && whose; i++) {
			int own = node->in[i] ? d - (out->rank - node->in[i]->rank) : -1;
			if (own >= 0 && node->in[i]->dims[own].count != count && (node->in[i]->dims[own].count || node->in[i]->dims[own].extent != 1))
				refuse(node, whose);
		}
		give(node, d, count);
	}
}

/* They come along where infer_ hands dims on: all of the inputs' are then the output's. */
static void moved(const struct node *node)
{
	int in = 0, out = 0;
	for (int i = 0; i < node->ins; i++)
		for (int d = 0; node->in[i] && d < node->in[i]->rank; d++)
			in += node->in[i]->dims[d].count != NULL;
	for (int d = 0; d < node->out[0]->rank; d++)
		out += node->out[0]->dims[d].count != NULL;
	if (in != out)
		refuse(node, counted_one(node));
}

static bool is_map(const struct op *op)
{
	return op_keeps_shape(op) || op_broadcasts(op) || op->infer == infer_where || op->infer == infer_clip || op->infer == infer_gelu || op->infer == infer_mod
		|| op->infer == infer_variadic || op->infer == infer_power || op->infer == infer_prelu || op->infer == infer_logical || op->infer == infer_logical_not
		|| op->infer == infer_comparison || op->infer == infer_test;
}

static bool is_move(const struct op *op)
{
	return op->infer == infer_transpose || op->infer == infer_unsqueeze || op->infer == infer_squeeze;
}

bool counts_come(struct node *node, const struct op *op)
{
	const struct tensor *counted = counted_one(node);
	if (counted && !is_map(op) && !is_move(op) && op->infer != infer_shape)
		refuse(node, counted);
	return counted != NULL;
}

void counts_go(struct node *node, const struct op *op)
{
	if (op->infer == infer_shape)
		return;
	if (is_move(op))
		moved(node);
	else
		broadcast(node);
}
