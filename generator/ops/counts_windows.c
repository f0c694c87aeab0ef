/* counts_windows.c: dims that are bounds, in families that slide: what is not there is a pad, and the result ends where
 * the last window does (counts.c). */
#include "ops/ops.h"
#include <math.h>

enum { WEIGHTED = 1, TRANSPOSED = 2, MOST = 4 };

static void window_of_node(const struct node *node, int kind, struct window *window)
{
	const struct tensor *x = node->in[0];
	int64_t kernel[MAX_RANK];
	for (int d = 2; (kind & WEIGHTED) && d < x->rank; d++)
		kernel[d - 2] = d < node->in[1]->rank ? node->in[1]->dims[d].extent : -1;
	if (kind & TRANSPOSED)
		window_transposed_of(node, x, kernel, window);
	else
		window_of(node, x, kind & WEIGHTED ? kernel : NULL, window);
}

static struct tensor *windows(const struct node *node, int kind, const struct window *window, int d)
{
	struct tensor *in = node->in[0]->dims[2 + d].count;
	return kind & TRANSPOSED ? window_transposed_size(node, window, d, in) : window_size(node, window, d, in);
}

/* Winograd's sums of a tile use all of its elements, whatever results are there. */
enum { TILE_MOST = 4 };
static bool may_be_tiles(const struct node *node, int kind, const struct window *window)
{
	bool fits = (kind & WEIGHTED) && !(kind & TRANSPOSED) && node->in[0]->rank == 4;
	FOR_WHILE (d, fits, 2)
		fits = window->kernel[d] == 3 && window->stride[d] == 1 && window->dilation[d] == 1;
	return fits;
}

/* How many elements the windows that are there look at; NULL: all. */
static struct tensor *reach_of(const struct node *node, int kind, const struct window *window, int d)
{
	const struct dim *dim = &node->in[0]->dims[2 + d];
	int64_t reach = (window->kernel[d] - 1) * window->dilation[d], stride = window->stride[d],
	        most = window->dilation[d] > stride ? window->dilation[d] : stride, /* output_padding is less */
	        after = kind & TRANSPOSED          ? (reach + most - 1) / stride
	        : node_int(node, "ceil_mode", 0)   ? reach
	        : may_be_tiles(node, kind, window) ? window->after[d] + TILE_MOST - 1
	                                           : window->after[d];
	return size_least(node, size_plus(node, dim->count, after), size_number(node, dim->extent));
}

/* What a pad is, in front of the reduction. */
static float neutral_of(const struct node *node, int kind)
{
	const struct dtype_row *type = &dtypes[node->in[0]->type];
	if (!(kind & MOST))
		return 0;
	return type->class == CLASS_FLOAT  ? -INFINITY
	        : type->class == CLASS_INT ? -(float)((uint64_t)1 << (type->bits - 1))
	                                   : 0;
}

/* What is not there is a pad to windows that reach behind the data; zero: the element that a pad is, NULL: a number. */
static void come(struct node *node, int kind, struct tensor *zero)
{
	struct window window;
	const struct tensor *x = node->in[0];
	bool places = node_has_out(node, 1);
	counts_want_first(node);
	if (x->rank < 2 || x->dims[1].count)
		counts_refuse(node, x);
	if (x->rank > 2)
		window_of_node(node, kind, &window);
	FOR_FROM (d, 2, x->rank) {
		if (!x->dims[d].count)
			continue;
		if (places || (zero && !tensor_is_scalar_like(zero)) || !windows(node, kind, &window, d - 2))
			counts_refuse(node, x);
		if ((kind & TRANSPOSED) || window_hangs_over(node, &window, d - 2) || may_be_tiles(node, kind, &window))
			counts_put(node, 0, d, neutral_of(node, kind), zero, reach_of(node, kind, &window, d - 2));
	}
}

static void go(const struct node *node, int kind)
{
	const struct tensor *x = node->in[0];
	struct window window;
	counts_give(node, 0, x->dims[0].count);
	window_of_node(node, kind, &window);
	FOR_FROM (d, 2, x->rank)
		if (x->dims[d].count)
			counts_give_size(node, d, windows(node, kind, &window, d - 2));
}

void come_convolution(struct node *node) { come(node, WEIGHTED, NULL); }
void come_convolution_integer(struct node *node) { come(node, WEIGHTED, node_in(node, 2)); }
void come_convolution_transposed(struct node *node) { come(node, WEIGHTED | TRANSPOSED, NULL); }
void come_pool(struct node *node) { come(node, 0, NULL); }
void come_max_pool(struct node *node) { come(node, MOST, NULL); }
void go_convolution(const struct node *node) { go(node, WEIGHTED); }
void go_convolution_transposed(const struct node *node) { go(node, WEIGHTED | TRANSPOSED); }
void go_pool(const struct node *node) { go(node, 0); }
