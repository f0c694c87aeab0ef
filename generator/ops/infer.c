/* infer.c: words that infer_ functions share: inputs looked at, dims merged and broadcast, outputs typed. */
#include "ops/ops.h"
#include <stdio.h>

static const int64_t ELEMENTS_MOST = (int64_t)1 << 33; /* of one tensor: 32 GiB of float */

const struct dim dim_unknown = { -1, NULL, NULL };
struct dim dim_of(int64_t extent) { return (struct dim){ extent, NULL, NULL }; }
bool dim_is_known(struct dim dim) { return dim.extent >= 0; }
bool dims_differ(struct dim a, struct dim b) { return dim_is_known(a) && dim_is_known(b) && a.extent != b.extent; }

/* `typed`: behind the node's type. */
static NORETURN void refuse(
        const struct node *node, enum exit_code code, bool typed, const char *format, va_list arguments)
{
	char text[600];
	vsnprintf(text, sizeof text, format, arguments);
	fail(node->graph->build, code, node->where, "%s%s%s", typed ? node->type : "",
	        typed && *text != ' ' ? ": " : "", text);
}

#define REFUSES(name, code, typed, ...) \
	void name(const struct node *node, __VA_ARGS__) \
	{ \
		va_list arguments; \
		va_start(arguments, format); \
		refuse(node, code, typed, format, arguments); \
	}
REFUSES(node_fail, code, false, enum exit_code code, const char *format, ...)
REFUSES(node_invalid, EXIT_INVALID, true, const char *format, ...)
REFUSES(node_unsupported, EXIT_UNSUPPORTED, true, const char *format, ...)
REFUSES(node_limit, EXIT_LIMIT, true, const char *format, ...)

struct arena *node_arena(const struct node *node) { return node->graph->build->arena; }
int64_t node_elements(const struct node *node, const struct tensor *tensor)
{
	return tensor_elements(node->graph->build, tensor);
}

struct tensor *node_in(const struct node *node, int i) { return i < node->ins ? node->in[i] : NULL; }
bool node_has_out(const struct node *node, int i) { return i < node->outs && node->out[i]; }

void infer_least(const struct node *node, int least)
{
	FOR (i, least)
		INVALID_IF(!node_in(node, i), " lacks input %d of at least %d", i, least);
	INVALID_IF(node->outs < 1, " has no output");
}

void infer_counts(const struct node *node, int least, int most, int outs)
{
	INVALID_IF(node->ins > most, " has %d inputs, at most %d are right", node->ins, most);
	infer_least(node, least);
	INVALID_IF(node->outs > outs, " has %d outputs, at most %d are right", node->outs, outs);
}

void infer_made(const struct node *node)
{
	FAIL_IF(node->is_given, EXIT_UNSUPPORTED,
	        "op ingot.%s stands for what ingot makes on its way; a model cannot have it", node->type);
}

void infer_first(const struct node *node) { INVALID_IF(!node_has_out(node, 0), " lacks output 0"); }

bool dtype_is_supported(enum dtype type)
{
	const struct dtype_row *row = &dtypes[type];
	return row->class != CLASS_OTHER;
}

enum dtype infer_any_type(const struct node *node, int i)
{
	const struct tensor *tensor = node_in(node, i);
	if (!tensor || tensor->type == DTYPE_NONE)
		return DTYPE_NONE;
	UNSUPPORTED_IF(!dtype_is_supported(tensor->type), " of %s is not supported", dtypes[tensor->type].text);
	return tensor->type;
}

enum dtype infer_number_type(const struct node *node, int i)
{
	const struct tensor *tensor = node_in(node, i);
	if (!tensor || tensor->type == DTYPE_NONE)
		return DTYPE_NONE;
	INVALID_IF(tensor->type == DTYPE_STRING, " of input %d (%s): a string is no number", i, tensor->name);
	bool storage = dtype_is_narrow(tensor->type) && tensor->type != DTYPE_F16 && tensor->type != DTYPE_BF16;
	INVALID_IF(storage || (dtypes[tensor->type].class != CLASS_OTHER && dtypes[tensor->type].bits < 8),
	        "input %d is %s, which no operator computes with but through Cast and DequantizeLinear", i,
	        dtypes[tensor->type].text);
	UNSUPPORTED_IF(!dtype_is_supported(tensor->type), " of %s is not supported", dtypes[tensor->type].text);
	return tensor->type;
}

enum dtype infer_float_type(const struct node *node, int i)
{
	enum dtype type = infer_number_type(node, i);
	INVALID_IF(type != DTYPE_NONE && !dtype_is_float(type), "input %d is %s, a floating-point type is right", i,
	        dtypes[type].text);
	return type;
}

void infer_same_type(const struct node *node, int i, enum dtype type)
{
	const struct tensor *tensor = node_in(node, i);
	INVALID_IF(tensor && type != DTYPE_NONE && tensor->type != DTYPE_NONE && tensor->type != type,
	        "input %d is %s, %s is right", i, dtypes[tensor->type].text, dtypes[type].text);
}

/* A declared shape that is not what the graph makes: the graph's counts, unless the user wants it otherwise. */
static void contradict(const struct node *node, const struct tensor *tensor, const char *format, ...) PRINTF(3, 4);
static void contradict(const struct node *node, const struct tensor *tensor, const char *format, ...)
{
	char text[300];
	va_list arguments;
	const struct graph *main = graph_main(node->graph);
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	FAIL_IF(!tensor->is_hint || main->exact, EXIT_INVALID, "%s", text);
	warn(node->graph->build, node->where, "%s; what the graph makes counts", text);
}

void infer_count(const struct node *node, struct tensor *tensor, int d, struct tensor *count)
{
	struct dim *dim = &tensor->dims[d];
	bool said = tensor->is_output && count && dim->count && size_is_said(count) && size_is_said(dim->count);
	if (dim->count == count)
		return;
	UNSUPPORTED_IF(!said,
	        "dimension %d of %s is declared as %s, which is not what its inputs make of it; that is "
	        "not supported",
	        d, tensor->name, dim->symbol ? dim->symbol : dim->count->name);
	contradict(node, tensor, "dimension %d of %s is declared as %s, which is not what its inputs make of it", d,
	        tensor->name, dim->symbol ? dim->symbol : dim->count->name);
	dim->count = count;
	dim->symbol = NULL;
}

static struct dim merge(const struct node *node, struct tensor *tensor, int d, struct dim inferred)
{
	if (tensor->dims[d].count && inferred.count)
		infer_count(node, tensor, d, inferred.count);
	struct dim declared = tensor->dims[d];
	if (!dim_is_known(declared))
		return dim_is_known(inferred) || inferred.symbol ? inferred : declared;
	FAIL_IF(inferred.count && declared.count != inferred.count, EXIT_UNSUPPORTED,
	        "dimension %d of %s is declared as %" PRId64
	        ", but data decide it behind another node; that is not supported",
	        d, tensor->name, declared.extent);
	if (dim_is_known(inferred) && inferred.extent != declared.extent)
		contradict(node, tensor, "dimension %d of %s is declared as %" PRId64 ", but it is %" PRId64, d,
		        tensor->name, declared.extent, inferred.extent);
	return dim_is_known(inferred) && inferred.extent != declared.extent ? inferred : declared;
}

static struct tensor *typed(struct node *node, int i, enum dtype type)
{
	if (!node_has_out(node, i))
		return NULL;
	struct tensor *tensor = node->out[i];
	FAIL_IF(type != DTYPE_NONE && tensor->type != DTYPE_NONE && tensor->type != type, EXIT_INVALID,
	        "%s is declared as %s, but it is %s", tensor->name, dtypes[tensor->type].text, dtypes[type].text);
	if (type != DTYPE_NONE)
		tensor->type = type;
	return tensor;
}

void infer_output(struct node *node, int i, enum dtype type, int rank, const struct dim *dims)
{
	struct tensor *tensor = typed(node, i, type);
	if (!tensor || rank < 0)
		return;
	FAIL_IF(rank > MAX_RANK, EXIT_LIMIT, "%s has %d dimensions, at most %d are supported", tensor->name, rank,
	        MAX_RANK);
	if (tensor->rank >= 0 && tensor->rank != rank)
		contradict(node, tensor, "%s is declared with %d dimensions, but it has %d", tensor->name, tensor->rank,
		        rank);
	if (tensor->rank != rank)
		FOR (d, rank)
			tensor->dims[d] = dim_unknown;
	tensor->rank = rank;
	FOR (d, rank)
		tensor->dims[d] = merge(node, tensor, d, dims[d]);
	int64_t elements = node_elements(node, tensor);
	LIMIT_IF(elements > ELEMENTS_MOST, "%s has %" PRId64 " elements, ingot takes at most %" PRId64, tensor->name,
	        elements, ELEMENTS_MOST);
}

void infer_type(struct node *node, int i, enum dtype type) { typed(node, i, type); }

void infer_output_like(struct node *node, int i, const struct tensor *tensor)
{
	infer_output(node, i, tensor->type, tensor->rank, tensor->dims);
}

bool infer_ranks(struct node *node, int count, enum dtype type)
{
	FOR (i, count)
		if (node->in[i]->rank < 0) {
			infer_type(node, 0, type);
			return false;
		}
	return true;
}

/* ---- indices ---- */
int64_t infer_constant_at(const struct tensor *tensor, int64_t i)
{
	int64_t wide;
	int32_t narrow;
	if (tensor->type == DTYPE_I64)
		return memcpy(&wide, (const char *)tensor->data + i * 8, 8), wide;
	return memcpy(&narrow, (const char *)tensor->data + i * 4, 4), narrow;
}

/* Indices that are constant, each `step`th from `first` on: inside a dimension of this extent, -1: not known. */
void infer_constant_indices(const struct node *node, int64_t first, int64_t step, int64_t extent)
{
	const struct tensor *at = node->in[1];
	int64_t count = at->data && extent >= 0 ? node_elements(node, at) : 0;
	for (int64_t i = first; i < count; i += step)
		INVALID_IF(infer_constant_at(at, i) < -extent || infer_constant_at(at, i) >= extent,
		        "index %" PRId64 " of %" PRId64, infer_constant_at(at, i), extent);
}

const int64_t *node_in_ints(const struct node *node, int i, int64_t *count)
{
	const struct tensor *tensor = node_in(node, i);
	*count = 0;
	if (!tensor || !tensor->data)
		return NULL;
	INVALID_IF(tensor->type != DTYPE_I64 && tensor->type != DTYPE_I32, "input %d is %s, int64 is right", i,
	        dtypes[tensor->type].text);
	INVALID_IF(tensor->rank > 1, "input %d has %d dimensions, 1 is right", i, tensor->rank);
	*count = node_elements(node, tensor);
	int64_t *ints = arena_new_array(node_arena(node), int64_t, *count + 1);
	FOR (k, *count)
		if (tensor->type == DTYPE_I64)
			memcpy(&ints[k], (const char *)tensor->data + k * 8, 8);
		else {
			int32_t narrow;
			memcpy(&narrow, (const char *)tensor->data + k * 4, 4);
			ints[k] = narrow;
		}
	return ints;
}

const int64_t *node_numbers(const struct node *node, bool is_input, int i, const char *name, int64_t *count)
{
	size_t given;
	if (is_input)
		return node_in_ints(node, i, count);
	const int64_t *numbers = node_ints(node, name, &given);
	*count = (int64_t)given;
	return numbers;
}

int node_in_length(const struct node *node, int i)
{
	const struct tensor *in = node->in[i];
	return in->rank == 1 && in->dims[0].extent <= MAX_RANK ? (int)in->dims[0].extent : -1;
}

void dims_unknown(struct dim *dims)
{
	FOR (d, MAX_RANK)
		dims[d] = dim_unknown;
}

int64_t node_axis(const struct node *node, int64_t axis, int rank)
{
	INVALID_IF(axis < -rank || axis >= rank, "axis %" PRId64 " of %d dimensions, [%d, %d) is right", axis, rank,
	        -rank, rank);
	return axis < 0 ? axis + rank : axis;
}

/* One dim of a broadcast: known extents win over symbols, 1 yields to anything. */
static struct dim broadcast_dim(const struct node *node, int d, struct dim a, struct dim b)
{
	if (dim_is_known(a) && dim_is_known(b)) {
		INVALID_IF(a.extent != b.extent && a.extent != 1 && b.extent != 1,
		        "%" PRId64 " and %" PRId64 " in dimension %d do not broadcast", a.extent, b.extent, d);
		return a.extent == 1 ? b : a;
	}
	if (dim_is_known(a))
		return a.extent == 1 ? b : a;
	if (dim_is_known(b))
		return b.extent == 1 ? a : b;
	return a.symbol && a.symbol == b.symbol ? a : dim_unknown;
}

int infer_broadcast(const struct node *node, int count, struct tensor *const *tensors, struct dim *dims)
{
	int rank = 0;
	FOR (i, count) {
		if (tensors[i]->rank < 0)
			return -1;
		rank = tensors[i]->rank > rank ? tensors[i]->rank : rank;
	}
	FOR (d, rank)
		dims[d] = dim_of(1);
	FOR (i, count)
		for (int d = 0, shift = rank - tensors[i]->rank; d < tensors[i]->rank; d++)
			dims[shift + d] = broadcast_dim(node, shift + d, dims[shift + d], tensors[i]->dims[d]);
	return rank;
}

void infer_scalar(const struct node *node, int i)
{
	const struct tensor *in = node_in(node, i);
	if (!in || in->rank < 0 || tensor_is_scalar_like(in))
		return;
	node_invalid(node, "input %d, '%s', is a tensor of %d dimension%s, a scalar is right", i, in->name, in->rank,
	        in->rank == 1 ? "" : "s");
}

bool tensor_is_scalar_like(const struct tensor *tensor)
{
	if (tensor->rank < 0)
		return false;
	FOR (d, tensor->rank)
		if (tensor->dims[d].extent != 1)
			return false;
	return true;
}
