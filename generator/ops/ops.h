/* ops.h: what each ONNX op means.  A family has two functions in its file: infer_FAMILY sets the types and shapes of a
 * node's outputs (and refuses what is wrong), define_FAMILY writes the definitions of its outputs.  The table of ops is
 * tables/ops.h. */
#ifndef OPS_OPS_H
#define OPS_OPS_H
#include <inttypes.h>
#include "definitions/definitions.h"
#include "definitions/narrow.h"

struct definer;
struct bodies;

/* Expressions and indices are interned and never change: they are handed about as numbers are. */
typedef const struct expr *expr_ref;
typedef const struct index *index_ref;

/* An attribute that an op's versions [from, to] have; `number` or `string` stands where it is absent, if it has a
 * default. */
enum { VERSION_LAST = 1 << 20 };
struct attribute_row {
	enum attribute_kind kind;
	const char *name;
	int from, to;
	bool has_default;
	double number;
	const char *string;
};

struct op {
	const char *domain, *name;
	int since;                              /* the first version that has it */
	int scalar;                             /* elementwise families: enum scalar; else -1 */
	const struct attribute_row *attributes; /* as tables/ops.h says; the last has no name.  NULL: any */
	void (*infer)(struct node *);
	void (*define)(struct definer *);
	/* Of an op that other nodes stand for, as a text or graphs of its own say: puts them in its place, inferred;
	 * false where a type or extent that it needs is not known: the node stays, and `define` refuses it.  NULL:
	 * `infer` and `define` say what it is. */
	bool (*place)(struct bodies *, struct node *, const struct op *);
	const char *text;      /* of a text: its template */
	bool lists;            /* takes sequences and optionals, not tensors alone */
	bool wide;             /* of a text: floats of 16 bits come to it as float32, and what it makes is rounded once:
	                          onnx/wide.jinja */
	int least, most, outs; /* of a text: its inputs and outputs; ANY: as many as a node has */
};
enum { ANY = 1 << 20 };
extern const struct op ops[];
extern const int op_count;

/* ---- ops.c ---- */
const struct op *op_find(const char *domain, const char *name); /* NULL: not known */
/* The op of a node: of the table, or one of the user's own, whose text stands in the main graph's folder of templates,
 * as onnx/my.Foo.jinja; NULL: neither. */
const struct op *op_known(const struct node *);
/* "; did you mean Softmax?": of an op that is not there; "" where none of its domain, or of any where that is NULL, is
 * near. */
const char *op_meant(struct build *, const char *domain, const char *name);
/* The op of a node; EXIT_UNSUPPORTED where ingot does not know it, EXIT_INVALID where an attribute is not of its
 * version, or of another kind. */
const struct op *op_of(const struct node *);
/* EXIT_INVALID where an input or output is there, or of a type, that the op's version does not have; what is not known
 * yet may be any (versions.c). */
void version_check_inputs(const struct node *);
void version_check_outputs(const struct node *);
/* Its output has the shape of its first input, element by element: what is known of one is known of the other. */
bool op_keeps_shape(const struct op *);
/* Is its output of the shapes of two inputs, broadcast? */
bool op_broadcasts(const struct op *);
/* May operands that come at run time decide them, where a range bounds them?  Its definition then asks that they are
 * what its output has. */
bool op_sizes(const struct op *);
/* Do data decide the extents of its outputs? */
bool op_chooses(const struct op *);
/* A node's attribute, else its row's default at the node's version (that of another version where this one lacks it).
 */
int64_t attribute_int(const struct node *, const char *name);
float attribute_float(const struct node *, const char *name);
const char *attribute_string(const struct node *, const char *name);
/* Which of some words, with spaces between, an attribute is; `given`: what it says, or is where it says nothing. */
int attribute_choice(const struct node *, const char *name, const char *given, const char *words);
int attribute_word(const struct node *, const char *name, const char *words); /* which it is, or its default */
int attribute_axis(const struct node *, int rank);                            /* "axis", in [0, rank) */
const char *attribute_kind_name(enum attribute_kind);                         /* "int", "floats" … */

/* ---- infer.c: words for infer_ functions.  A message begins with the node; what fails is EXIT_INVALID. ---- */
NORETURN void node_fail(const struct node *, enum exit_code, const char *format, ...) PRINTF(3, 4);
/* The same, of EXIT_INVALID, EXIT_UNSUPPORTED and EXIT_LIMIT, behind the node's type: "Conv: "; "Conv", where the text goes
 * on with a space. */
NORETURN void node_invalid(const struct node *, const char *format, ...) PRINTF(2, 3);
NORETURN void node_unsupported(const struct node *, const char *format, ...) PRINTF(2, 3);
NORETURN void node_limit(const struct node *, const char *format, ...) PRINTF(2, 3);
/* The same of `node`, where that is so. */
#define INVALID_IF(wrong, ...) REFUSED_IF(node_invalid, wrong, __VA_ARGS__)
#define UNSUPPORTED_IF(wrong, ...) REFUSED_IF(node_unsupported, wrong, __VA_ARGS__)
#define LIMIT_IF(wrong, ...) REFUSED_IF(node_limit, wrong, __VA_ARGS__)
#define FAIL_IF(wrong, ...) REFUSED_IF(node_fail, wrong, __VA_ARGS__)
#define REFUSED_IF(refuse, wrong, ...) \
	do { \
		if (wrong) \
			refuse(node, __VA_ARGS__); \
	} while (0)
/* FOR, of those from `from` on. */
#define FOR_FROM(i, from, to) for (__typeof__((to) + 0) i = (from); i < (to); i++)
/* FOR, as long as that holds, which is asked first: it may say that there is what is counted. */
#define FOR_WHILE(i, holds, count) for (__typeof__((count) + 0) i = 0; (holds) && i < (count); i++)
/* How many tensors, and they: two arguments. */
#define TENSORS(...) \
	(int)COUNT(((struct tensor *[]){ __VA_ARGS__ })), (struct tensor *[]) { __VA_ARGS__ }
#define COPY(to, from, count) memcpy(to, from, (size_t)(count) * sizeof *(to))
struct arena *node_arena(const struct node *);
int64_t node_elements(const struct node *, const struct tensor *); /* -1: not known */
/* Its first `least` inputs are there, and an output.  How many of both there may be, and of which types, versions.h says
 * of ONNX's operators, before inference. */
void infer_least(const struct node *, int least);
void infer_counts(const struct node *, int least, int most, int outs); /* the same of those that it knows nothing of */
void infer_made(
        const struct node *); /* EXIT_UNSUPPORTED where the model has the node: nothing but ingot makes it right */
void infer_first(const struct node *);              /* EXIT_INVALID where output 0 is not there, whatever others are */
struct tensor *node_in(const struct node *, int i); /* NULL: absent */
bool node_has_out(const struct node *, int i);
bool ranks_differ(const struct tensor *, const struct tensor *); /* false where one is not known */
bool dtype_is_supported(enum dtype);                             /* can be held by a definition */
/* The type of input i, one that ingot has; EXIT_UNSUPPORTED else.  DTYPE_NONE where it is not known yet. */
enum dtype infer_any_type(const struct node *, int i);
/* The same of one that operators compute with, EXIT_INVALID else: not strings, nor numbers below 16 (floats) or 8 bits.
 */
enum dtype infer_number_type(const struct node *, int i);
enum dtype infer_float_type(const struct node *, int i);
void infer_same_type(const struct node *, int i, enum dtype); /* input i, where it is there, has this type */
/* A dim that is declared as one count, of which the inputs make another: theirs, where a call says both; else refused.
 */
void infer_count(const struct node *, struct tensor *, int d, struct tensor *count);
void infer_scalar(const struct node *, int i); /* input i, where it is there, has one element */
/* Makes an Identity of the node, which hands on that tensor: inference looks at it again. */
void node_hands_on(struct node *, struct tensor *);
/* Output i, where it is there, is a list of this form and of elements of this type; `list` is NULL where it is not
 * known. */
void infer_list(struct node *, int i, int form, enum dtype, const struct list *);
/* Types the output (where it is there) and merges what was declared of it: known extents must agree. */
void infer_output(struct node *, int i, enum dtype, int rank, const struct dim *);
void infer_type(struct node *, int i, enum dtype); /* rank not known yet */
void infer_output_like(struct node *, int i, const struct tensor *);
/* False where the rank of one of the first `count` inputs is not known yet: of output 0 its type is, then. */
bool infer_ranks(struct node *, int count, enum dtype);
/* Elements of a constant integer input; NULL where it is absent or not constant. */
const int64_t *node_in_ints(const struct node *, int i, int64_t *count);
/* The same of what is an input, or an attribute of that name. */
const int64_t *node_numbers(const struct node *, bool is_input, int i, const char *name, int64_t *count);
int node_in_length(const struct node *, int i); /* how many numbers input i has; -1: not known, or too many for dims */
void dims_unknown(struct dim *);                /* all that there may be */
/* Of input 1 where it is constant: element i; each `step`th from `first` on lies inside a dimension of this extent (-1:
 * not known). */
int64_t infer_constant_at(const struct tensor *, int64_t i);
void infer_constant_indices(const struct node *, int64_t first, int64_t step, int64_t extent);
int64_t node_axis(const struct node *, int64_t axis, int rank); /* from [-rank, rank) to [0, rank) */
/* The dims that `count` tensors broadcast to; -1: a rank is not known. */
int infer_broadcast(const struct node *, int count, struct tensor *const *, struct dim *);
bool dim_is_known(struct dim);
bool dims_differ(struct dim, struct dim); /* both are known, and not as large */
struct dim dim_of(int64_t extent);
extern const struct dim dim_unknown;
bool tensor_is_scalar_like(const struct tensor *); /* one element, known */

/* ---- window.c: kernels that slide (Conv, pools) ---- */
struct window {
	int count; /* spatial dimensions */
	int64_t kernel[MAX_RANK], stride[MAX_RANK], dilation[MAX_RANK], before[MAX_RANK], after[MAX_RANK];
	int64_t in[MAX_RANK], out[MAX_RANK]; /* extents; -1: not known */
};
/* An attribute of `count` numbers, each at least `least`; `otherwise` where it is not there. */
void window_numbers(
        const struct node *, const char *name, int count, int64_t least, int64_t otherwise, int64_t *numbers);
/* kernel: of the weights, or NULL where kernel_shape must say it. */
void window_of(const struct node *, const struct tensor *data, const int64_t *kernel, struct window *);
/* contraction.c: of data, weights and `group`, whose ranks are known; the bias, input i, where it is there, is one
 * number for each channel. */
struct convolution {
	struct window window;
	int64_t group;
};
void convolution_of(const struct node *, struct convolution *);
void infer_bias(const struct node *, int i, struct dim outs);
/* How many windows there are along dimension d of data that has `in` there; NULL: pads depend on that. */
struct tensor *window_size(const struct node *, const struct window *, int d, struct tensor *in);
/* May a window reach behind the data? */
bool window_hangs_over(const struct node *, const struct window *, int d);
/* The same backwards, for ConvTranspose: `out` from `in`, whose sizes change places. */
void window_transposed_of(const struct node *, const struct tensor *data, const int64_t *kernel, struct window *);
struct tensor *window_transposed_size(const struct node *, const struct window *, int d, struct tensor *in);
/* x at (…, at[d] = i*stride + k*dilation - before) with `outside` where that falls into a pad.  i: output variables
 * from `first_out`, k: reduced variables from `first_reduced`.  at[]: the other indices are there already. */
expr_ref window_load(struct definer *, const struct window *, struct definition *x, index_ref *at, int first_out,
        int first_reduced, expr_ref outside);

/* ---- define.c: from nodes to definitions ---- */
struct definer {
	struct build *build;
	struct arena *arena;
	struct program *program;
	const struct node *node;     /* whose definitions are being made */
	struct defined *defined;     /* which tensor is which definition */
	const struct guard *guard;   /* of the last node, and … */
	const struct branch *branch; /* … what that says of its definitions */
};
/* Every node of a graph whose types and extents are all known.  An unbound dim is EXIT_USAGE. */
struct program *define_graph(struct graph *);
/* The definition of one node's outputs, its inputs constant: what folding interprets. */
struct program *define_node(const struct node *, const struct op *);
struct defined *definer_nothing(const struct definer *); /* no tensor is a definition yet */

/* A float below 32 bits comes in as float and is rounded where it goes out; one that only moves goes as it came. */
struct definition *definer_in(struct definer *, int i);                    /* NULL: absent */
struct definition *definer_cache(struct definer *, const struct tensor *); /* the whole buffer that it lies in */
void define_appended(struct definer *, int axis);                          /* scatter.c: of Concat, there */
struct definition *definer_in_stored(struct definer *, int i);             /* in its own type: for what looks at bits */
void definer_out(struct definer *, int i, struct definition *);            /* nothing where the output is absent */

/* ---- require.c: operands that come at run time ----
 * What a family takes from an operand it takes as expressions, which are numbers where the operand is constant: it does
 * not ask which.  Where the declared shape of an output decides what the operand has to be, a check says so: `run`
 * returns a status where it does not hold.  So nothing is ever read outside, whatever the operand is.
 *
 *     expr_ref start = definer_element(definer, 1, 0);                                 -- a number, or a load
 *     index_ref at =
 *             index_add(arena, index_var(arena, d, n), definer_index(definer, start, 0, x->extents[d] - n));
 *     definer_require_within(definer, EXIT_INVALID, 0, NULL, start, 0, x->extents[d] - n,
 *             "starts is not in [0, %" PRId64 "], which the declared shape leaves", …); */
/* What says how many there are of a dim that is a bound, a scalar that is computed or comes in; NULL: it is a number.
 */
struct definition *definer_count(struct definer *, const struct tensor *count);
expr_ref definer_size(struct definer *, const struct tensor *count); /* that number, an I64 */
expr_ref definer_dim(struct definer *, const struct dim *);          /* how many there are of it */
/* Where an element of a dense tensor of `actual` extents lies. */
expr_ref definer_flatten(struct definer *, int rank, const index_ref *at, const expr_ref *actual);
/* Over one variable, the place along an axis of that count and bound: 1 where it is there, 0 behind. */
struct definition *definer_mask(struct definer *, const struct tensor *count, int64_t extent, enum dtype);
/* x, with `value` behind the count of that axis; x itself where the count is NULL. */
struct definition *definer_there(
        struct definer *, struct definition *x, const struct tensor *count, int axis, expr_ref value);
/* Element `at`, in C order, of input i: an integer as I64, a float as F32 or F64. */
expr_ref definer_element(struct definer *, int i, int64_t at);
int64_t definer_elements(struct definer *, int i); /* how many it has; 0 where it is absent */
/* An I64 (or narrower) expression as an index, cut to [low, high]; a constant where it reads constants alone. */
index_ref definer_index(struct definer *, expr_ref, int64_t low, int64_t high);
/* An integer expression that is a number: which one. */
bool definer_number(struct definer *, expr_ref, int64_t *number);
expr_ref definer_skipped(struct definer *);
const char *definer_shape_text(struct definer *, int rank, const int64_t *extents); /* "[2, 3]" */
/* `holds`, a BOOL or a whole number over output variables 0 … rank-1 of these extents, is true of all of them. Constant
 * operands decide at once: nothing is left, or the node fails. The text says what is right; it begins with the node's
 * type. */
void definer_require(struct definer *, enum exit_code, int rank, const int64_t *extents, expr_ref holds,
        const char *format, ...) PRINTF(6, 7);
/* The indices of input i, or their column `column` (-1: all), count in a dimension of this extent: from its beginning,
 * or below 0 from its end. */
void definer_require_inside(struct definer *, int i, int64_t column, int64_t extent);
/* An integer lies in [low, high]; nothing is left where it always does (a position that ArgMax found). */
void definer_require_within(struct definer *, enum exit_code, int rank, const int64_t *extents, expr_ref value,
        int64_t low, int64_t high, const char *format, ...) PRINTF(8, 9);

/* ---- whole.c: integers of 64 bits that come at run time, yes being 1 and no 0; numbers where they are made of numbers
 * ---- */
expr_ref integer(struct definer *, int64_t);
expr_ref integer_of(struct definer *, enum scalar, expr_ref a, expr_ref b);
expr_ref integer_where(struct definer *, expr_ref which, expr_ref yes, expr_ref no);
expr_ref integer_is(struct definer *, expr_ref, int64_t);
expr_ref integer_between(struct definer *, expr_ref, int64_t low, int64_t high); /* inclusive */
expr_ref integer_cut(struct definer *, expr_ref, int64_t low, int64_t high);
/* As a definition of rank 0, where it is more than a number or a load: computed once, whoever reads it. */
expr_ref integer_kept(struct definer *, const char *part, expr_ref);
/* An operand that has an element for each of some axes: those that input `input` names, in [-rank, rank), or, where it
 * is -1, all in order. */
struct axes {
	int input, rank;
	int64_t count;
};
/* What input `input` says of axis d in its elements from `first` on; `otherwise` where d is none of the axes. */
expr_ref axes_say(struct definer *, const struct axes *, int d, int input, int64_t first, int64_t otherwise);
expr_ref axes_right(struct definer *, const struct axes *); /* each an axis, none twice */
/* ---- reduce.c: which axes of input 0 a reduction, or ArgMax, takes; false where data say so ---- */
bool reduced_axes(const struct node *, bool *reduced);
/* Of several definitions of one type and shape the one that `is` (0 or 1) says; a check asks that one is. */
enum { CANDIDATES_MOST = 8 };
struct definition *definer_choose(struct definer *, int count, const expr_ref *is, struct definition *const *each,
        const char *format, ...) PRINTF(5, 6);

/* ---- sizes.c: how many there are of dims, equal ones one tensor: an I64 of rank 0, constant where it is a number.
 * `node` is the one that asks ---- */
struct tensor *size_number(const struct node *, int64_t);
struct tensor *size_of_dim(const struct node *, const struct dim *);
struct tensor *size_sum(const struct node *, struct tensor *a, struct tensor *b);
struct tensor *size_product(const struct node *, struct tensor *a, struct tensor *b);
struct tensor *size_quotient(const struct node *, struct tensor *a, struct tensor *b); /* of whole numbers, cut */
struct tensor *size_least(const struct node *, struct tensor *a, struct tensor *b);
struct tensor *size_not_below_zero(const struct node *, struct tensor *);
struct tensor *size_plus(const struct node *, struct tensor *a, int64_t number);
bool size_is(const struct tensor *, int64_t number);
bool size_equal(const struct tensor *a, const struct tensor *b);
bool size_may_not_divide(const struct tensor *); /* a quotient that may leave a rest */
struct tensor *size_most(const struct node *, struct tensor *a, struct tensor *b);
struct tensor *size_difference(const struct node *, struct tensor *a, struct tensor *b);
struct span {
	int64_t least, most;
};
struct span size_span(struct tensor *); /* what it lies between, whatever a call says */
bool size_is_said(struct tensor *);     /* a call says it, or all that it is made of */
int size_parts(const struct tensor *);  /* of how many sizes it is made */
struct dim size_dim(struct tensor *); /* a dim of so many: its bound, and the size as its count where it is no number */
/* A node of the domain `ingot` in front of that one, its output fresh and not inferred; what its attributes say. */
struct node *size_node(const struct node *, const char *type, const char *name, int ins, struct tensor *const *in);
void size_says(struct node *, const char *name, int64_t);
void size_says_float(struct node *, const char *name, float);

/* The same of what the node's attribute `at` says of a dim: "at" of a node of sizes. */
struct tensor *size_made(const struct node *, const char *type, int at, int ins, struct tensor *const *in);
void infer_as_size(struct node *, int least, int most); /* that node's one output, of so many inputs */

/* ---- values.c: small tensors of whole numbers, element by element, as sizes ---- */
/* Input i so, constant or not; NULL where one of its elements is not known. */
struct tensor *const *node_in_sizes(const struct node *, int i, int64_t *count);
/* Element k of such a list, of which others may not be known; NULL: this one is not. */
struct tensor *node_in_size(const struct node *, int i, int64_t k);
bool node_in_is_late(
        const struct node *, int i); /* it comes at run time, and nothing is known of it: a definition has to ask */
void values_follow(struct node *, const struct op *); /* once a node is inferred: the same of its output */

/* ---- fit.c: dims of output 0 that operands at run time decide, and a range bounds ---- */
void infer_asked_dims(struct node *, int rank, struct dim *dims, struct tensor *(*size)(const struct node *, int d));
void definer_require_dims(struct definer *); /* checks that they are in their range */

/* ---- gather.c ---- */
/* The indices, input 1, or their column (-1: all) lie in what is there of dimension d of input 0.  Those that are not
 * there themselves are 0, be it that the dimension has none, either. */
void definer_require_index(struct definer *, int64_t column, int d);

/* ---- dft.c ---- */
int dft_axis(const struct node *); /* -1 where it, or the length, comes at run time */

/* ---- counts.c, counts_*.c: extents that are bounds ---- */
const struct tensor *tensor_counted(const struct tensor *); /* the count of its first such dim; NULL: it has none */
bool tensor_lies_in_bounds(const struct tensor
                *); /* what is there lies where it does in the bounds: no counted dim stands inside another */
bool reshape_stays(const struct tensor *x,
        const struct tensor
                *y); /* what is there goes where it does in the bounds, be it that each counted dim of x is one of y */
bool resize_of_counted(const struct node *); /* resize.c: of constant scales or sizes, so that dims may be counted */
struct tensor *resize_size(const struct node *, int d); /* how many there are of a counted dim then; NULL: a number */
bool batch_normalization_trains(const struct node *);   /* norm.c */
/* einsum.c: what stands for each dim of input i, -1: of the output; how many there are of it; whether all operands say
 * the same of that; whether the output has it. */
int einsum_labels(const struct node *, int i, int *labels);
struct tensor *einsum_count(const struct node *, int label);
bool einsum_agrees(const struct node *, int label);
bool einsum_keeps(const struct node *, int label);
/* pad.c: how many elements around each dim; false where they come at run time, or are no constant.  fill: NaN where they
 * are the data's. */
bool pad_has_sizes(const struct node *); /* pads that come at run time, known as sizes: they say the dims */
bool pad_of_counted(const struct node *, int64_t *before, int64_t *after, float *fill);
bool slice_comes_late(const struct node *); /* slices.c: its positions are not constant, or such a dim is cut */
bool slice_of_list(const struct node *, int64_t *start,
        int64_t *step); /* slices.c: of one dimension, which is cut by constants: from where on, and by what */
/* Words for those functions, as tables/counted.h lists them. */
const struct tensor *counts_first(const struct node *); /* the first input that has such a dim */
NORETURN void counts_refuse(const struct node *,
        const struct tensor *); /* EXIT_UNSUPPORTED: that input; NULL: what operands say at run time */
NORETURN void counts_refuse_first(const struct node *); /* the first that has such a dim */
void counts_want_first(const struct node *);            /* no input but the first has such a dim */
void counts_want_padded(
        const struct node *, int i, int from, int to); /* input i has none from axis `from` on, up to `to` */
struct tensor *counts_elements(
        const struct node *, const struct tensor *, int from, int to); /* how many elements dims have together */
void counts_give(
        const struct node *, int d, struct tensor *count); /* dim d of each output has this count; NULL: it is whole */
void counts_give_size(const struct node *, int d, struct tensor *size); /* the same of what may be a number */
void counts_move(const struct node *); /* infer_ has handed on dims: all of the inputs' are each output's */
void counts_broadcast(const struct node *, int inputs, int rank, int less);
/* there.c: input i becomes one that holds a number, or the one element of a tensor, behind the count of that axis;
 * agree: input i's count is asked to be that one, and is it from there on. */
void counts_put(struct node *, int i, int axis, float value, struct tensor *element, struct tensor *end);
void counts_put_number(struct node *, int i, int axis, float value);
bool counts_are_put(const struct tensor *, int axis);
void counts_agree(struct node *, int i, int axis, struct tensor *count, int64_t extent);
void counts_must_be(struct node *, int i, int axis, struct tensor *count, int64_t extent);
void counts_all_agree(
        struct node *, int but); /* dims that lie beside each other, from the last on, but for one (-1: none) */
/* Of a node none of whose inputs has such a dim: EXIT_UNSUPPORTED where an output is declared with one. */
void counts_none(const struct node *, const struct op *);
/* Whether one of its inputs has such a dim; EXIT_UNSUPPORTED where the op cannot be one of those that think of it. */
bool counts_come(struct node *, const struct op *);
/* EXIT_UNSUPPORTED where one of its inputs has such a dim. */
void counts_padded(const struct node *);
/* Once it is inferred: its outputs' dims get the counts of its inputs'.  EXIT_UNSUPPORTED where that is not thought of.
 */
void counts_go(struct node *, const struct op *);

/* ---- packed.c: elements below 8 bits, packed where they come in and go out ---- */
enum dtype dtype_stored(enum dtype); /* what definitions have in place of a tensor's type */
/* A code in [0, 2^bits), an I32, as what is stored, and back (an integer that is stored wider gives its low bits). */
expr_ref packed_from_code(struct definer *, enum dtype, expr_ref code);
expr_ref packed_code(struct definer *, enum dtype, expr_ref stored);
const void *packed_constant(struct arena *, enum dtype, const void *packed, size_t count);
struct definition *packed_read(struct definer *, const char *name, const struct shown *, struct definition *bytes);
struct definition *packed_write(struct definer *, const char *name, const struct shown *, struct definition *elements);

/* ---- cast.c ---- */
/* x (no float below 32 bits) as what is stored of a type. */
expr_ref expr_of_type(struct definer *, enum dtype, int cast, expr_ref x);

bool definer_is_empty(struct definer *, const struct definition *x); /* x has no elements: output 0 is 0 */
/* Extents of output i and its variables: at[d] is index_var(d). */
int definer_shape(struct definer *, int i, int64_t *extents, index_ref *at);
const char *definer_name(struct definer *, const char *part); /* "<first output>_part" */
/* The same in another type. */
struct definition *definer_as(struct definer *, struct definition *of, enum dtype type);
struct definition *definer_map(struct definer *, const char *name, int rank, const int64_t *extents, expr_ref body);
struct definition *definer_reduction(struct definer *, const char *name, int rank, const int64_t *extents, enum reduce,
        int reduced, const int64_t *reduced_extents, expr_ref start, expr_ref body);
/* Of no terms: a map of `start`, or of what the reduction begins with. */
struct definition *definer_scatter(struct definer *, const char *name, int rank, const int64_t *extents,
        enum reduce reduce, bool running, const expr_ref *place, int reduced, const int64_t *reduced_extents,
        expr_ref start, expr_ref body);
/* The first extents[rank-1] positions of each row of `terms` keys, sorted, or those that the choice leaves (NULL: all);
 * where the keys are none, or no position is wanted, a map of 0 (`key` and `choice` may be NULL then). */
struct definition *definer_order(struct definer *, const char *name, int rank, const int64_t *extents, bool down,
        int64_t terms, expr_ref key, const expr_ref *choice);
/* Result `part` of a loop: define_repeated. */
struct definition *definer_repeat(struct definer *, const char *name, const struct repeat *, int part,
        struct definition *const *operands, struct definition *base);
/* Output i so, of its own shape. */
void definer_out_scatter(struct definer *, int i, enum reduce, const expr_ref *place, int reduced,
        const int64_t *reduced_extents, expr_ref start, expr_ref body);
/* Output i as a map of this body; where the output has no elements the body is not kept. */
void definer_out_map(struct definer *, int i, expr_ref body);
/* `of` at the last of `rank` indices, index 0 where its extent is 1: broadcasting. */
expr_ref definer_load(struct definer *, struct definition *of, int rank, const index_ref *at);
expr_ref expr1(struct definer *, enum scalar, expr_ref);
expr_ref expr2(struct definer *, enum scalar, expr_ref, expr_ref);
expr_ref expr3(struct definer *, enum scalar, expr_ref, expr_ref, expr_ref);
/* x to a power that few operations say: 0.25, 0.5, 0.75, -0.5, -1, and 1 to 4, also of integers; NULL: any other. */
expr_ref power_of(struct definer *, expr_ref x, double exponent);

/* pool.c: p of a norm, |x|^p, and the p-th root of their sum. */
double lp_norm(const struct node *);
expr_ref lp_raised(struct definer *, expr_ref, double p);
expr_ref lp_root(struct definer *, expr_ref, double p);

/* ---- random.c ---- */
bool dropout_trains(const struct node *); /* or may, by what comes at run time: more than its data goes out */

/* ---- bodies.c: nodes that stand for another ---- */
struct environment;
struct bodies {
	struct environment *environment; /* made by the first text */
	size_t copied;                   /* of all texts of a graph */
	int depth;                       /* texts within texts that are open now */
	int rounds;                      /* loops that are open now: what folds in them is counted in all */
	double folded;                   /* terms */
	size_t folded_bytes;
	void (*walk)(struct bodies *, struct graph *,
	        size_t from); /* infers the nodes from there on, which may give way to others in turn */
};
/* out[0] of a node at the end of the graph, named as `owner`, inferred; out NULL: a fresh tensor. */
struct tensor *bodies_add(struct bodies *, struct graph *, const struct node *owner, const char *domain,
        const char *type, int ins, struct tensor *const *in, int attributes, const struct attribute *,
        struct tensor *out);
/* Where a graph ended, so that what came since can be taken back. */
struct bodies_mark {
	struct bodies bodies;
	const struct guard *guard;
	size_t nodes, tensors;
};
struct bodies_mark bodies_mark(const struct bodies *, const struct graph *);
void bodies_take_back(struct bodies *, struct graph *, const struct bodies_mark *);
const char *bodies_forgive(struct build *); /* the message of what failed in a try, which no longer counts */

/* ---- strings.c: tensors of strings ---- */
bool op_takes_strings(const struct op *);
bool node_has_strings(const struct node *);
bool cast_makes_strings(const struct node *); /* cast.c: it is a Cast to strings */
/* A CastLike from strings or to them becomes a Cast; false: its type is not known yet. */
bool cast_like_strings(struct bodies *, struct node *);
const char *const *strings_copied(const struct node *, const struct bytes *, size_t count); /* ended by 0 */
void strings_look(struct node *); /* inputs that are strings get the dims of their bytes */
/* A node of strings, whose op takes them, gives way to its text; false where a type or extent is not known. */
bool expand_strings(struct bodies *, struct node *, const struct op *);
/* out: the bytes of an output, which are known or constant. */
void strings_border(struct bodies *, struct graph *, struct tensor *, struct tensor *out);

/* ---- text.c: ops that are texts ---- */
/* Puts the text of a node in its place: its nodes stand behind those of the node's graph.  False where a type or extent
 * of its inputs is not known: the node stays.  EXIT_INVALID and EXIT_UNSUPPORTED where the text refuses the node,
 * EXIT_LIMIT where texts expand without end. */
bool body_expand(struct bodies *, struct node *, const struct op *);
bool inputs_are_known(const struct node *); /* type, rank and all extents; else a text is not rendered yet */
void define_text(struct definer *);         /* of a node that stayed: refuses it */

/* onnx/NAME.shape for a node; `blocks`: as it says. */
struct bytes shape_render(struct bodies *, const struct node *, const struct op *, const char *name, int64_t *blocks);
struct value kernel_globals(const struct node *, const struct op *); /* what texts are given of the node */

/* ---- own.c: operators of the user's own, in the main graph's folder of templates ---- */
const struct op *own_op(const struct node *); /* NULL: no file there says what it is */
const char *own_name(const struct node *);    /* "my.Foo" */
const char *own_way(const struct node *);     /* "; onnx/my.Foo.jinja … would say what it is"; "" of ONNX's own */

/* ---- control.c: nodes that hold graphs; control.h says what its files share ---- */
void define_graphs(struct definer *); /* of a node that stayed: refuses it */
bool node_is_random(const struct node *);

/* ---- repeat.c: a loop as one node that holds its body, where that pays and nothing stands in the way ---- */
struct repeating {
	struct build *build;
	struct bodies *bodies;
	struct node *node;                /* the loop */
	struct graph *graph, *body;       /* that it stands in; that its nodes go to */
	struct node *inside;              /* the loop as if it stood in the body: whose graph is placed */
	VECTOR(struct tensor *) operands; /* for each input of the body */
	VECTOR(struct repeat_port) in, out;
	const char *why; /* it was not made: what stood in the way */
};
/* The same of definitions: a program that `inside` makes definitions of, with its ports; then one result after the
 * other. */
struct looping {
	struct definer *outer, inside;
	struct repeat *repeat;
	VECTOR(struct definition *) operands;
	VECTOR(struct repeat_port) in, out;
	struct definition *base;
};
void rounds_begin(struct looping *, struct definer *outer, struct program *body);
/* An input of the body for an operand; a constant that is steady stays one.  NULL for NULL. */
struct definition *rounds_in(struct looping *, struct definition *operand, enum repeat_moves);
void rounds_out(struct looping *, struct definition *,
        const struct definition *carries); /* carries: an input; NULL: an element of the result */
struct definition *rounds_result(struct looping *, size_t k,
        const char *name); /* of output k; when repeat->rounds is there and the body whole */
bool repeat_pays(int64_t rounds, size_t nodes);
/* `make` calls the others.  False where it says so, or fails: the graph is then as it was. */
bool repeat_try(
        struct repeating *, struct bodies *, struct node *, bool (*make)(struct repeating *, void *user), void *user);
struct tensor *repeat_in(
        struct repeating *, struct tensor *operand, enum repeat_moves, bool back); /* an input of the body */
bool repeat_reads(const struct repeating *, const struct tensor *input);           /* a node of the body does */
void repeat_drop(struct repeating *, struct tensor *input); /* that nothing reads, before there are outputs */
/* An output of the body: the next value of the input that it carries, or (NULL) an element of the result. */
void repeat_out(struct repeating *, struct tensor *, struct tensor *carries, bool back);
/* When the body is whole: its results, one for each output.  going: the input that says whether a round comes; NULL:
 * all do. */
struct tensor **repeat_node(struct repeating *, int64_t rounds, struct tensor *going);
/* The same of one round, which a kernel of the user's own computes; `out` are its results. */
void repeat_own(struct repeating *, const struct own *, struct tensor **out);

/* ---- the families ---- */
#define T(...)
#define TW(...)
#define TL(...)
#define OL(domain, name, since, inferring, defining, ...) \
	void infer_##inferring(struct node *); \
	void define_##defining(struct definer *);
#define G(domain, name, since, family, ...) bool expand_##family(struct bodies *, struct node *, const struct op *);
#define O(domain, name, since, family, ...) \
	void infer_##family(struct node *); \
	void define_##family(struct definer *);
#include "tables/ops.h"
#define C(family, least, come, go) \
	void come_##come(struct node *); \
	void go_##go(const struct node *);
#define CS C
#include "tables/counted.h"
#undef CS
#undef C
#undef O
#undef OL
#undef T
#undef TW
#undef TL
#undef G

#endif
