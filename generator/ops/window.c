/* window.c: kernels that slide over spatial dimensions: attributes read and checked, extents out, loads with pads. */
#include "ops/words.h"

enum { WINDOW_MOST = 1 << 30 };         /* of kernel, stride, dilation and pads each: products of two fit 64 bits */
static const double taps_most = 0x1p40; /* of a window */

void window_numbers(
        const struct node *node, const char *name, int count, int64_t least, int64_t otherwise, int64_t *numbers)
{
	size_t given;
	const int64_t *ints = node_ints(node, name, &given);
	INVALID_IF(given && given != (size_t)count, "%s has %zu numbers, %d are right", name, given, count);
	FOR (d, count) {
		numbers[d] = given ? ints[d] : otherwise;
		INVALID_IF(numbers[d] < least || numbers[d] > WINDOW_MOST,
		        "%s has %" PRId64 ", at least %" PRId64 " is right", name, numbers[d], least);
	}
}

enum auto_pad { PAD_NOTSET, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID };

static enum auto_pad auto_pad_of(const struct node *node)
{
	return (enum auto_pad)attribute_choice(
	        node, "auto_pad", node_string(node, "auto_pad", "NOTSET"), "NOTSET SAME_UPPER SAME_LOWER VALID");
}

static int64_t slid(const struct node *node, const struct window *window, int d, bool ceil_mode)
{
	int64_t reach = (window->kernel[d] - 1) * window->dilation[d] + 1;
	int64_t room = window->in[d] + window->before[d] + window->after[d] - reach, stride = window->stride[d];
	INVALID_IF(room < 0, "a window of %" PRId64 " does not fit into %" PRId64 " with pads %" PRId64 " and %" PRId64,
	        reach, window->in[d], window->before[d], window->after[d]);
	if (!ceil_mode)
		return room / stride + 1;
	int64_t out = ceil_div(room, stride) + 1; /* the last window begins inside the data or the pad before it */
	return (out - 1) * stride >= window->in[d] + window->before[d] ? out - 1 : out;
}

/* Everything but pads and sizes. */
static int read_window(const struct node *node, const struct tensor *data, const int64_t *kernel, struct window *window)
{
	int count = window->count = data->rank - 2;
	size_t given;
	INVALID_IF(count < 1, "data has %d dimensions, at least 3 are right", data->rank);
	node_ints(node, "kernel_shape", &given);
	INVALID_IF(!given && !kernel, " lacks kernel_shape");
	window_numbers(node, "kernel_shape", count, 1, 1, window->kernel);
	FOR_WHILE (d, kernel, count) {
		INVALID_IF(given && kernel[d] >= 0 && window->kernel[d] != kernel[d],
		        "kernel_shape has %" PRId64 ", the weights have %" PRId64, window->kernel[d], kernel[d]);
		window->kernel[d] = given ? window->kernel[d] : kernel[d];
	}
	window_numbers(node, "strides", count, 1, 1, window->stride);
	window_numbers(node, "dilations", count, 1, 1, window->dilation);
	double taps = 1;
	FOR (d, count)
		taps *= window->kernel[d] < 0 ? 1 : (double)window->kernel[d];
	LIMIT_IF(taps > taps_most, "a window of %g elements", taps);
	return count;
}

/* A dimension whose extents are known; pads are as given. */
static bool begin_dimension(const struct node *node, const struct tensor *data, struct window *window, int d,
        bool padded, const int64_t *pads)
{
	window->in[d] = data->dims[2 + d].extent;
	window->out[d] = -1;
	window->before[d] = padded ? pads[d] : 0;
	window->after[d] = padded ? pads[window->count + d] : 0;
	if (window->in[d] < 0 || window->kernel[d] < 0)
		return false;
	INVALID_IF(window->kernel[d] < 1 || window->kernel[d] > WINDOW_MOST || window->in[d] > INT64_MAX / 4,
	        "a kernel of %" PRId64 " over %" PRId64, window->kernel[d], window->in[d]);
	return true;
}

void window_of(const struct node *node, const struct tensor *data, const int64_t *kernel, struct window *window)
{
	int count = read_window(node, data, kernel, window);
	int64_t pads[MAX_RANK * 2];
	window_numbers(node, "pads", count * 2, 0, 0, pads);
	enum auto_pad auto_pad = auto_pad_of(node);
	bool ceil_mode = node_int(node, "ceil_mode", 0) != 0;
	FOR (d, count) {
		if (!begin_dimension(node, data, window, d, auto_pad == PAD_NOTSET, pads))
			continue;
		if (auto_pad == PAD_SAME_UPPER || auto_pad == PAD_SAME_LOWER) {
			int64_t out = ceil_div(window->in[d], window->stride[d]);
			int64_t pad = (out - 1) * window->stride[d] + (window->kernel[d] - 1) * window->dilation[d] + 1
			        - window->in[d];
			pad = pad < 0 ? 0 : pad;
			window->before[d] = auto_pad == PAD_SAME_UPPER ? pad / 2 : pad - pad / 2;
			window->after[d] = pad - window->before[d];
			window->out[d] = out;
		} else {
			window->out[d] = slid(node, window, d, ceil_mode && auto_pad == PAD_NOTSET);
		}
	}
}

bool window_hangs_over(const struct node *node, const struct window *window, int d)
{
	return window->after[d] > 0 || node_int(node, "ceil_mode", 0);
}

struct tensor *window_size(const struct node *node, const struct window *window, int d, struct tensor *in)
{
	enum auto_pad auto_pad = auto_pad_of(node);
	int64_t stride = window->stride[d], reach = (window->kernel[d] - 1) * window->dilation[d] + 1,
	        pads = window->before[d] + window->after[d];
	struct tensor *by = size_number(node, stride);
	if ((auto_pad == PAD_SAME_UPPER || auto_pad == PAD_SAME_LOWER) && stride != 1)
		return NULL;
	if (auto_pad != PAD_NOTSET || !node_int(node, "ceil_mode", 0))
		return size_quotient(node, size_not_below_zero(node, size_plus(node, in, pads - reach + stride)), by);
	return size_least(node,
	        size_quotient(node, size_not_below_zero(node, size_plus(node, in, pads - reach + 2 * stride - 1)), by),
	        size_quotient(node, size_plus(node, in, window->before[d] + stride - 1), by));
}

struct tensor *window_transposed_size(const struct node *node, const struct window *window, int d, struct tensor *in)
{
	size_t sized;
	node_ints(node, "output_shape", &sized);
	int64_t stride = window->stride[d], more = window->out[d] - window->in[d] * stride;
	return sized
	        ? NULL
	        : size_not_below_zero(node, size_plus(node, size_product(node, in, size_number(node, stride)), more));
}

void window_transposed_of(
        const struct node *node, const struct tensor *data, const int64_t *kernel, struct window *window)
{
	int count = read_window(node, data, kernel, window);
	int64_t pads[MAX_RANK * 2], more[MAX_RANK], sizes[MAX_RANK];
	size_t sized;
	window_numbers(node, "pads", count * 2, 0, 0, pads);
	window_numbers(node, "output_padding", count, 0, 0, more);
	window_numbers(node, "output_shape", count, 0, 0, sizes);
	node_ints(node, "output_shape", &sized);
	enum auto_pad auto_pad = auto_pad_of(node);
	bool same = auto_pad == PAD_SAME_UPPER || auto_pad == PAD_SAME_LOWER;
	FOR (d, count) {
		if (!begin_dimension(node, data, window, d, auto_pad == PAD_NOTSET, pads))
			continue;
		if (window->in[d] > WINDOW_MOST || window->in[d] < 1)
			node_fail(node, window->in[d] < 1 ? EXIT_INVALID : EXIT_LIMIT,
			        "%s: dimension %d of the data is %" PRId64, node->type, 2 + d, window->in[d]);
		int64_t full = window->stride[d] * (window->in[d] - 1) + more[d]
		        + (window->kernel[d] - 1) * window->dilation[d] + 1;
		window->out[d] = sized ? sizes[d]
		        : same         ? window->in[d] * window->stride[d]
		                       : full - window->before[d] - window->after[d];
		INVALID_IF(window->out[d] < 0,
		        "pads %" PRId64 " and %" PRId64 " take more than the %" PRId64 " elements of dimension %d",
		        window->before[d], window->after[d], full, 2 + d);
		if (sized || same) {
			int64_t pad = full > window->out[d] ? full - window->out[d] : 0;
			window->before[d] = auto_pad == PAD_SAME_UPPER ? pad / 2 : pad - pad / 2;
			window->after[d] = pad - window->before[d];
		}
	}
}

expr_ref window_load(struct definer *definer, const struct window *window, struct definition *x, index_ref *at,
        int first_out, int first_reduced, expr_ref outside)
{
	struct range ranges[MAX_RANK];
	FOR (d, window->count) {
		index_ref i = SCALE(VAR(first_out + d, window->out[d]), window->stride[d]);
		index_ref k = SCALE(VAR(first_reduced + d, window->kernel[d]), window->dilation[d]);
		at[2 + d] = PLUS(SUM(i, k), -window->before[d]);
		ranges[d] = (struct range){ at[2 + d], 0, x->extents[2 + d] };
	}
	return SELECT(ranges, window->count, LOAD(x, at), outside);
}
