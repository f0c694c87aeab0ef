/* words.h: how define_ functions say expressions, of the `definer` that stands there: MUL(a, b) for expr2(definer, SCALAR_mul,
 * a, b), LOAD(x, at) for expr_load(definer->arena, x, at). */
#ifndef OPS_WORDS_H
#define OPS_WORDS_H
#include "ops/ops.h"

/* inputs, outputs, what stands between them, and what a call has to keep to */
#define NODE definer->node
#define IN(i) definer_in(definer, i)
#define ELEMENT(i, at) definer_element(definer, i, at)
/* of output i, declared here: its rank, its extents and its variables */
#define SHAPE(i, rank, extents, at) \
	int64_t extents[MAX_RANK]; \
	index_ref at[MAX_RANK]; \
	__attribute__((unused)) int rank = definer_shape(definer, i, extents, at)
#define ELEMENTS(i) definer_elements(definer, i)
#define STORED(i) definer_in_stored(definer, i)
#define SHAPE_TEXT(...) definer_shape_text(definer, __VA_ARGS__)
#define NAMED(part) definer_name(definer, part)
#define MAP(...) definer_map(definer, __VA_ARGS__)
#define REDUCE(...) definer_reduction(definer, __VA_ARGS__)
#define GIVE(i, ...) definer_out(definer, i, __VA_ARGS__)
#define OUT(i, ...) definer_out_map(definer, i, __VA_ARGS__)
#define PART(part, ...) MAP(NAMED(part), __VA_ARGS__)
#define REDUCTION(part, ...) REDUCE(NAMED(part), __VA_ARGS__)
#define REQUIRE(...) definer_require(definer, EXIT_INVALID, 0, NULL, __VA_ARGS__)

#define LOAD(...) expr_load(definer->arena, __VA_ARGS__)
#define BROADCAST(...) definer_load(definer, __VA_ARGS__)
#define CAST(...) expr_cast(definer->arena, __VA_ARGS__)
#define CAST_AS(...) expr_cast_as(definer->arena, __VA_ARGS__)
#define NUMBER(...) expr_number(definer->arena, __VA_ARGS__)
#define LIKE(x, number) NUMBER((x)->type, number)
#define WHOLE(...) expr_integer(definer->arena, __VA_ARGS__)
#define SELECT(...) expr_select(definer->arena, __VA_ARGS__)
#define POSITION(...) expr_index(definer->arena, __VA_ARGS__)
#define ADD(...) expr2(definer, SCALAR_add, __VA_ARGS__)
#define SUB(...) expr2(definer, SCALAR_sub, __VA_ARGS__)
#define MUL(...) expr2(definer, SCALAR_mul, __VA_ARGS__)
#define DIV(...) expr2(definer, SCALAR_div, __VA_ARGS__)
#define LESS(...) expr2(definer, SCALAR_less, __VA_ARGS__)
#define LESS_EQUAL(...) expr2(definer, SCALAR_less_equal, __VA_ARGS__)
#define EQUAL(...) expr2(definer, SCALAR_equal, __VA_ARGS__)
#define MAX(...) expr2(definer, SCALAR_max, __VA_ARGS__)
#define MIN(...) expr2(definer, SCALAR_min, __VA_ARGS__)
#define FLOOR(...) expr1(definer, SCALAR_floor, __VA_ARGS__)
#define ABS(...) expr1(definer, SCALAR_abs, __VA_ARGS__)
#define WHERE(...) expr3(definer, SCALAR_where, __VA_ARGS__)
#define FMA(...) expr3(definer, SCALAR_fma, __VA_ARGS__)

/* integers of operands at run time: numbers where they are made of numbers (integer.c) */
#define I(...) integer(definer, __VA_ARGS__)
#define I_IS(...) integer_is(definer, __VA_ARGS__)
#define I_WHERE(...) integer_where(definer, __VA_ARGS__)
#define I_BETWEEN(...) integer_between(definer, __VA_ARGS__)
#define KEPT(...) integer_kept(definer, __VA_ARGS__)
#define SIZE(count) definer_size(definer, count)
#define DIM(...) definer_dim(definer, __VA_ARGS__)
#define I_ADD(...) integer_of(definer, SCALAR_add, __VA_ARGS__)
#define I_SUB(...) integer_of(definer, SCALAR_sub, __VA_ARGS__)
#define I_MUL(...) integer_of(definer, SCALAR_mul, __VA_ARGS__)
#define I_DIV(...) integer_of(definer, SCALAR_div, __VA_ARGS__)
#define I_MAX(...) integer_of(definer, SCALAR_max, __VA_ARGS__)
#define I_MIN(...) integer_of(definer, SCALAR_min, __VA_ARGS__)
#define I_AND(...) integer_of(definer, SCALAR_and, __VA_ARGS__)
#define I_OR(...) integer_of(definer, SCALAR_or, __VA_ARGS__)
#define I_LESS(...) integer_of(definer, SCALAR_less, __VA_ARGS__)
#define I_EQUAL(...) integer_of(definer, SCALAR_equal, __VA_ARGS__)

/* indices, names */
#define INDEX(...) definer_index(definer, __VA_ARGS__)
#define VAR(...) index_var(definer->arena, __VA_ARGS__)
#define CONSTANT(...) index_constant(definer->arena, __VA_ARGS__)
#define SUM(...) index_add(definer->arena, __VA_ARGS__)
#define PLUS(...) index_plus(definer->arena, __VA_ARGS__)
#define SCALE(...) index_scale(definer->arena, __VA_ARGS__)
#define QUOTIENT(...) index_div(definer->arena, __VA_ARGS__)
#define REST(...) index_mod(definer->arena, __VA_ARGS__)
#define VALUE(...) index_value(definer->arena, __VA_ARGS__)
#define VARS(...) index_vars(definer->arena, __VA_ARGS__)
#define FLATTEN(...) index_flatten(definer->arena, __VA_ARGS__)
#define UNFLATTEN(...) index_unflatten(definer->arena, __VA_ARGS__)
#define AT(...) ((index_ref[]){ __VA_ARGS__ })
#define FORMAT(...) arena_printf(definer->arena, __VA_ARGS__)

#endif
