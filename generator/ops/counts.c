/* counts.c: dims that data decide.  The extent is a bound then, and `count` of struct dim says how many are there; what
 * lies behind them is anything.  So a node that reads such a tensor is of a family that thinks of it: tables/counted.h
 * lists them, counts_*.c say what each does.  Every other is refused. */
#include "ops/ops.h"

const struct tensor *tensor_counted(const struct tensor *tensor)
{
	FOR_WHILE (d, tensor, tensor->rank)
		if (tensor->dims[d].count)
			return tensor->dims[d].count;
	return NULL;
}

bool tensor_lies_in_bounds(const struct tensor *tensor)
{
	bool outermost = true;
	FOR (d, tensor->rank) {
		if (tensor->dims[d].count && !outermost)
			return false;
		outermost &= tensor->dims[d].extent == 1;
	}
	return true;
}

NORETURN void counts_refuse(const struct node *node, const struct tensor *tensor)
{
	int d = 0;
	UNSUPPORTED_IF(!tensor, "what its operands make of the dimensions at run time is not supported here");
	while (!tensor->dims[d].count)
		d++;
	node_unsupported(node,
	        "data decide dimension %d of %s, which has at most %" PRId64 " elements; that is not supported here", d,
	        tensor->name, tensor->dims[d].extent);
}

NORETURN void counts_refuse_first(const struct node *node) { counts_refuse(node, counts_first(node)); }

const struct tensor *counts_first(const struct node *node)
{
	FOR (i, node->ins)
		if (tensor_counted(node->in[i]))
			return node->in[i];
	return NULL;
}

/* ---- which dim of an output is which of the inputs' ---- */
static void give_one(const struct node *node, struct tensor *out, int d, struct tensor *count)
{
	if (out->dims[d].count)
		infer_count(node, out, d, count);
	out->dims[d].count = count;
}

void counts_give(const struct node *node, int d, struct tensor *count)
{
	FOR (i, node->outs)
		if (node->out[i] && d < node->out[i]->rank)
			give_one(node, node->out[i], d, count);
}

/* Input i has no such dim from axis `from` on, up to `to`. */
void counts_want_padded(const struct node *node, int i, int from, int to)
{
	FOR_FROM (d, from, to)
		if (node->in[i]->dims[d].count)
			counts_refuse(node, node->in[i]);
}

/* Element by element, from dim 0 of the output up to `rank`: a count goes with itself, and with a 1 that is broadcast;
 * `less`: how many dims at their end are no part of it. */
void counts_broadcast(const struct node *node, int inputs, int rank, int less)
{
	FOR (d, rank) {
		struct tensor *count = NULL;
		const struct tensor *whose = NULL;
		FOR (pass, 2)
			FOR (i, inputs) {
				const struct tensor *in = node->in[i];
				int own = in ? d - (rank - (in->rank - less)) : -1;
				if (own < 0)
					continue;
				if (pass == 0 && in->dims[own].count && !whose) {
					count = in->dims[own].count;
					whose = in;
				}
				if (pass == 1 && whose && in->dims[own].count != count
				        && (in->dims[own].count
				                || (dim_is_known(in->dims[own]) && in->dims[own].extent != 1)))
					counts_refuse(node, whose);
			}
		counts_give(node, d, count);
	}
}

/* All of the first input's, but for one that is another, or none: -1. */
static void like_first(const struct node *node, int but)
{
	FOR (d, node->in[0]->rank)
		if (d != but)
			counts_give(node, d, node->in[0]->dims[d].count);
}

/* Nothing but the first input has such dims. */
void counts_want_first(const struct node *node)
{
	FOR_FROM (i, 1, node->ins)
		if (tensor_counted(node->in[i]))
			counts_refuse(node, node->in[i]);
}

/* They come along where infer_ hands dims on: all of the inputs' are then each output's. */
void counts_move(const struct node *node)
{
	int in = 0;
	FOR (i, node->ins)
		FOR_WHILE (d, node->in[i], node->in[i]->rank)
			in += node->in[i]->dims[d].count != NULL;
	for (int i = 0, out; i < node->outs; i++) {
		if (!node->out[i])
			continue;
		out = 0;
		FOR (d, node->out[i]->rank)
			out += node->out[i]->dims[d].count != NULL;
		if (in != out)
			counts_refuse_first(node);
	}
}

/* ---- the families ---- */
struct counted {
	void (*infer)(struct node *);
	int least;
	void (*come)(struct node *);
	void (*go)(const struct node *);
	bool sized;
};

static const struct counted rows[] = {
#define C(family, least, come, go) { infer_##family, least, come_##come, go_##go, false },
#define CS(family, least, come, go) { infer_##family, least, come_##come, go_##go, true },
#include "tables/counted.h"
#undef C
#undef CS
};

static const struct counted *row_of(const struct op *op)
{
	FOR (i, COUNT(rows))
		if (rows[i].infer == op->infer)
			return &rows[i];
	return NULL;
}

/* Inference refuses the node. */
static bool lacks_inputs(const struct node *node, int least)
{
	FOR (i, (least == ANY ? node->ins : least))
		if (!node_in(node, i))
			return true;
	return false;
}

/* By an operand that is known as sizes it makes dims that are counted, whatever its data are. */
static bool sizes_come(const struct node *node, const struct counted *row)
{
	int64_t count;
	return row && row->sized && node_in(node, 0) && node_in(node, 1) && !node->in[1]->data
	        && node_in_sizes(node, 1, &count);
}

/* Its nodes are asked in turn. */
static bool hands_on(const struct op *op)
{
	return op->place == expand_text || op->place == expand_zip_map || op->place == expand_ensemble
	        || op->place == expand_trees;
}

bool counts_come(struct node *node, const struct op *op)
{
	const struct tensor *counted = counts_first(node);
	const struct counted *row = row_of(op);
	if (!counted)
		return sizes_come(node, row);
	if (op->text || hands_on(op)) /* a text says so itself: text.c */
		return true;
	if (!row)
		counts_refuse(node, counted);
	if (lacks_inputs(node, row->least))
		return true;
	FOR (i, node->ins) /* nothing is said of what comes beside */
		if (node->in[i] && node->in[i]->rank < 0)
			counts_refuse(node, counted);
	row->come(node);
	return true;
}

void counts_go(struct node *node, const struct op *op)
{
	if (row_of(op))
		row_of(op)->go(node);
}

void counts_none(const struct node *node, const struct op *op)
{
	FOR_WHILE (i, !op_chooses(op) && !op_sizes(op), node->outs)
		FOR_WHILE (d, node->out[i], node->out[i]->rank)
			if (node->out[i]->dims[d].count)
				give_one(node, node->out[i], d, NULL);
}

void counts_padded(const struct node *node)
{
	const struct tensor *counted = counts_first(node);
	if (counted)
		counts_refuse(node, counted);
}

/* ---- what several say ---- */
void come_any(struct node *node) { (void)node; }
void come_first(struct node *node) { counts_want_first(node); }
void come_beside(struct node *node) { counts_all_agree(node, -1); }
void go_like(const struct node *node) { like_first(node, -1); }
void go_beside(const struct node *node) { counts_broadcast(node, node->ins, node->out[0]->rank, 0); }
void go_move(const struct node *node) { counts_move(node); }
void go_handed(const struct node *node) { (void)node; } /* infer_ hands the dims on, counts and all */
