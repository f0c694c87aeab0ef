/* simplify_bias.c: constants for each channel move into the contraction before them, in double, rounded once. */
#include "passes/simplify.h"
#include <math.h>

static bool is_constant_float(const struct tensor *tensor)
{
	return tensor && tensor->data && tensor->type == DTYPE_F32;
}

static float at(const struct tensor *tensor, int64_t i) { return (float)tensor_float(tensor, (size_t)i); }

/* Where a contraction's output channels are: which dim of its output and of its weights. */
struct channels {
	int64_t count;
	int dim, rank, weight_dim;
};

static bool channels_of(const struct node *node, struct channels *channels)
{
	const struct tensor *y = node->out[0], *w = node->in[1];
	if (!tensor_is_known(y) || !tensor_is_known(w) || y->type != DTYPE_F32)
		return false;
	channels->rank = y->rank;
	if (is_op(node, "Conv")) {
		channels->dim = 1;
		channels->weight_dim = 0;
	} else if (is_op(node, "Gemm")) {
		if (node_float(node, "alpha", 1) != 1 || node_float(node, "beta", 1) != 1)
			return false;
		channels->dim = 1;
		channels->weight_dim = node_int(node, "transB", 0) ? 0 : 1;
	} else {
		if (w->rank < 2 || y->rank < 1)
			return false;
		channels->dim = y->rank - 1;
		channels->weight_dim = w->rank - 1;
	}
	channels->count = y->dims[channels->dim].extent;
	return true;
}

/* The constant as one number for each channel: every other of its dims is 1.  NULL where it is not so. */
static double *per_channel(const struct node *node, const struct tensor *tensor, const struct channels *channels)
{
	if (!is_constant_float(tensor) || tensor->rank > channels->rank)
		return NULL;
	int own = channels->dim - (channels->rank - tensor->rank); /* the channels' dim in it; below 0: it has none */
	FOR (d, tensor->rank)
		if (tensor->dims[d].extent != 1 && !(d == own && tensor->dims[d].extent == channels->count))
			return NULL;
	double *values = arena_new_array(node->graph->build->arena, double, (size_t)channels->count + 1);
	bool one = own < 0 || tensor->dims[own].extent == 1;
	FOR (c, channels->count)
		values[c] = at(tensor, one ? 0 : c);
	return values;
}

/* The bias of a contraction as numbers; 0 where it has none; NULL where it is not constant or not per channel. */
static double *bias_of(struct node *node, const struct channels *channels)
{
	const struct tensor *bias = node->ins > 2 ? node->in[2] : NULL;
	struct channels alone = *channels;
	if (!bias)
		return arena_new_array(node->graph->build->arena, double, (size_t)channels->count + 1);
	if (is_op(node, "Conv"))
		alone.rank = 1, alone.dim = 0;
	return per_channel(node, bias, &alone);
}

static void set_bias(struct node *node, const struct channels *channels, const double *values)
{
	struct graph *graph = node->graph;
	float *bias = arena_new_array(graph->build->arena, float, (size_t)channels->count + 1);
	FOR (c, channels->count)
		bias[c] = (float)values[c];
	const char *name = arena_printf(graph->build->arena, "%s_bias", node->out[0]->name);
	struct tensor *tensor = graph_constant_borrowed(graph, name, DTYPE_F32, 1, &channels->count, bias);
	if (is_op(node, "MatMul")) {
		become(node, "ingot", "MatMul", 3, (struct tensor *[]){ node->in[0], node->in[1], tensor });
		return;
	}
	set_input(node, 2, tensor);
}

static struct tensor *scaled_weights(struct node *node, const struct channels *channels, const double *factor)
{
	struct graph *graph = node->graph;
	const struct tensor *w = node->in[1];
	int64_t count = tensor_elements(graph->build, w), inner = 1, extents[MAX_RANK];
	float *values = arena_new_array(graph->build->arena, float, (size_t)count + 1);
	FOR (d, w->rank)
		extents[d] = w->dims[d].extent;
	for (int d = channels->weight_dim + 1; d < w->rank; d++)
		inner *= extents[d];
	memcpy(values, tensor_data(w), w->bytes); /* which may lie at any address */
	for (int64_t i = 0, c = 0; i < count; i += inner, c = c + 1 < channels->count ? c + 1 : 0)
		for (int64_t k = i; k < i + inner; k++)
			values[k] = (float)(values[k] * factor[c]);
	return graph_constant_borrowed(graph, w->name, DTYPE_F32, w->rank, extents, values);
}

bool fold_normalization(struct node *node)
{
	struct node *before = only_reader(node->in[0], "Conv");
	struct channels channels;
	if (!before)
		before = only_reader(node->in[0], "Gemm");
	if (!before || node->outs != 1 || !channels_of(before, &channels) || !is_constant_float(before->in[1]))
		return false;
	if (node->since >= 14 && node_int(node, "training_mode", 0))
		return false;
	for (int i = 1; i < 5; i++)
		if (!is_constant_float(node->in[i]))
			return false;
	double *bias = bias_of(before, &channels), epsilon = node_float(node, "epsilon", 1e-5f);
	if (!bias || channels.count == 0)
		return false;
	double *factor = arena_new_array(node->graph->build->arena, double, (size_t)channels.count);
	FOR (c, channels.count) {
		factor[c] = at(node->in[1], c) / sqrt(at(node->in[4], c) + epsilon);
		bias[c] = (bias[c] - at(node->in[3], c)) * factor[c] + at(node->in[2], c);
		if (!isfinite(factor[c]) || !isfinite(bias[c]))
			return false; /* a NaN must not spread over what would not have had it */
	}
	set_input(before, 1, scaled_weights(before, &channels, factor));
	take_output(before, node);
	set_bias(before, &channels, bias);
	return true;
}

enum { BROADCASTS = 7 }; /* the opset from which Add broadcasts as NumPy does */

bool fold_bias(struct node *node)
{
	static const char *const types[] = { "Conv", "Gemm", "MatMul" };
	if (node->since < BROADCASTS || node->ins != 2)
		return false;
	FOR (i, 2) {
		struct node *before = NULL;
		for (size_t t = 0; t < COUNT(types) && !before; t++)
			before = only_reader(node->in[i], types[t]);
		struct channels channels;
		if (!before || !channels_of(before, &channels))
			continue;
		double *add = per_channel(before, node->in[1 - i], &channels),
		       *bias = add ? bias_of(before, &channels) : NULL;
		if (!bias)
			continue;
		FOR (c, channels.count)
			bias[c] += add[c];
		take_output(before, node);
		set_bias(before, &channels, bias);
		return true;
	}
	return false;
}
