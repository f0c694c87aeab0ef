/* definitions.h: what is computed.  A definition says each element of one tensor by one expression over its indices;
 * a program is a list of definitions in the order in which they may be computed.
 *
 *     conv f32[1,16,32,32] = sum(kh < 3, kw < 3, c < 16 from b[o]) pad(x)[n, c, i+kh-1, j+kw-1] * w[o, c, kh, kw]
 *
 * It knows no op, no layout, no kernel.  Nodes become definitions in ops/; the interpreter runs them; kernels/ places
 * and joins them.  Expressions and indices are immutable and shared freely: what is equal is one pointer, in an arena
 * and those around it (intern.c), and what is often asked of them is known when they are made.
 * One visitor looks through them, one rewriter makes others of them (visit.c).
 */
#ifndef DEFINITIONS_DEFINITIONS_H
#define DEFINITIONS_DEFINITIONS_H
#include "graph/graph.h"

enum { MAX_VARS = 2 * MAX_RANK }; /* output variables, then reduced ones: the size of every `with` and `names` */
struct expr;
struct definition;

/* A set of variables: bit v is variable v, the last bit all from there on. */
enum { VARS_LAST = 63 };
static inline uint64_t var_bit(int var) { return var < 0 ? 0 : (uint64_t)1 << (var < VARS_LAST ? var : VARS_LAST); }

/* ---- index.c: integers over index variables, kept in one normal form ----
 * An index is constant + sum of factor * atom, atoms distinct and sorted, factors not 0.  An atom is a variable, a
 * quotient or remainder (rounding down) of an index by a positive constant, a value loaded from a tensor, or a symbol
 * times one variable or 1: a number that the code is given when it runs. Constructors normalise: (i*16 + j) / 16 is i
 * where j < 16; (k/4)*4 + k%4 is k.  So two indices that are equal as far as the rules see are index_equal, and an
 * address is affine in the loop variables wherever it can be. */
enum atom_kind { ATOM_VAR, ATOM_DIV, ATOM_MOD, ATOM_VALUE, ATOM_SYMBOL };
struct atom {
	uint32_t hash; /* intern.c */
	enum atom_kind kind;
	int var;                /* VAR: output variables are 0 … rank-1, reduced ones follow */
	int64_t low, high;      /* its values lie in [low, high] */
	const struct index *of; /* DIV, MOD; SYMBOL: the variable, or 1 */
	int64_t by; /* DIV, MOD: > 0; SYMBOL: its value, where the code is made: bounds come from it, text does not */
	            /* VALUE: 1 where it is known to lie in [low, high], else 0 */
	int symbol; /* SYMBOL: its number */
	const struct expr *value; /* VALUE: an integer expression, clamped to [low, high] by who made it */
};
struct index_term {
	int64_t factor;
	const struct atom *atom;
};
struct index {
	uint32_t hash; /* intern.c */
	int count;
	int64_t constant;
	uint64_t vars; /* those in it, also inside quotients and values */
	bool values;   /* some of it is loaded from a tensor */
	struct index_term terms[];
};

const struct index *index_constant(struct arena *, int64_t);
const struct index *index_of_atom(struct arena *, struct atom, int64_t factor);
const struct index *index_var(struct arena *, int var, int64_t extent); /* in [0, extent); 0 where extent is 1 */
void index_vars(struct arena *, const struct index **vars, int count, const int64_t *extents); /* 0, 1 … */
const struct index *index_value(struct arena *, const struct expr *, int64_t low, int64_t high);
const struct index *index_symbol(
        struct arena *, int symbol, int64_t value, const struct index *of); /* the symbol times an affine index */
const struct index *index_add(struct arena *, const struct index *, const struct index *);
const struct index *index_plus(struct arena *, const struct index *, int64_t);
const struct index *index_scale(struct arena *, const struct index *, int64_t);
const struct index *index_div(struct arena *, const struct index *, int64_t by); /* rounds down; by > 0 */
const struct index *index_mod(struct arena *, const struct index *, int64_t by); /* in [0, by) */
void index_range(const struct index *, int64_t *low, int64_t *high);             /* bounds, inclusive */
bool index_equal(const struct index *, const struct index *);
int index_compare(const struct index *, const struct index *); /* an order of them: no address is in it */
int64_t gcd(int64_t, int64_t);
bool index_is_constant(const struct index *, int64_t *value);
bool index_is(const struct index *, int var);        /* that variable */
bool index_is_var(const struct index *, int *var);   /* exactly one variable, factor 1, constant 0 */
int64_t index_factor(const struct index *, int var); /* of the plain variable; 0 where it is not there */
bool index_uses(const struct index *, int var);      /* anywhere, also inside quotients and values */
bool index_is_affine(const struct index *);          /* variables only */
bool index_bends(const struct index *, int var);     /* is not affine in that variable */
/* What it grows by along the variable, a number or symbols; NULL: it bends, by more than symbols. */
const struct index *index_step(struct arena *, const struct index *, int var);
/* Bends, but so that vectors of 32 bits say it: what bends are quotients and remainders by powers of two, and values
 * that lie as they are in int32. */
bool index_lane_gathers(const struct index *, int var);
/* The load of int32, or of int64, that a value in it is: as it is, within the atom's bounds, or counted from the end
 * where it is below 0, and cut to them.  *from_end: what is added below 0.  NULL: it is something else. */
const struct expr *atom_gathered(const struct atom *, int64_t *from_end);
/* The load of the byte that it is, all 256 of which it counts from 0; NULL: it is something else. */
const struct expr *index_looked_up(const struct index *);
int64_t index_evaluate(
        const struct index *, const int64_t *vars, int64_t (*value)(void *, const struct expr *), void *user);
/* names[v] for variables; `load` prints a value (NULL: print.c's own).  C syntax when `c`: long arithmetic. */
void index_print(const struct index *, const char *const *names, struct text *out);

/* row-major offset of an element <-> its indices */
const struct index *index_flatten(struct arena *, int rank, const struct index *const *at, const int64_t *extents);
void index_unflatten(
        struct arena *, const struct index *flat, int rank, const int64_t *extents, const struct index **at);

/* ---- expr.c: scalar expressions.  Equal ones of a build are one pointer (intern.c) ---- */
enum expr_kind {
	EXPR_NUMBER, /* a constant: `number` for floats, `integer` for the rest */
	EXPR_LOAD,   /* of[at…]; every index lies inside the extents */
	EXPR_SCALAR, /* a row of scalars.h over arguments of this type */
	EXPR_SELECT, /* all ranges hold ? a : b; the one not chosen is not evaluated */
	EXPR_INDEX,  /* an index as an integer (I64) */
	EXPR_CAST,   /* a, converted as C does; floats to integers truncate; to BOOL: != 0 */
};
enum {                      /* how a CAST rounds, besides: to nearest, ties to even */
	CAST_SATURATES = 1, /* to a float below 32 bits: what is too large becomes the largest finite number */
	CAST_UP = 2,
	CAST_DOWN = 4, /* to float8e8m0: at or above, at or below */
	CAST_BITS = 8, /* the same bits, of a type as wide */
	CAST_NUMBER =
	        16 /* round(x) of float32, with a zero point and bounds, to 8 or 16 bits: |x| < 2^30, and no NaN */
};
struct range {
	const struct index *at;
	int64_t from, to;
};                                                         /* from <= at < to */
bool ranges_use(const struct range *, int count, int var); /* does one of them ask for the variable? */
enum { EXPR_COST_MOST = 1 << 30 };
struct expr {
	uint32_t hash;  /* intern.c */
	uint32_t kinds; /* bits 1u << EXPR_…: of what is in it, outside of indices */
	uint64_t vars;  /* as those of an index */
	int cost;       /* vector instructions for one vector of elements, loads 1 each; EXPR_COST_MOST: or more */
	enum expr_kind kind;
	enum dtype type;
	double number;
	int64_t integer;
	struct definition *of;         /* LOAD */
	const struct index *const *at; /* LOAD: one for each dimension of `of` */
	int rank;                      /* LOAD: how many */
	enum scalar opcode;            /* SCALAR */
	const struct expr *arg[3];     /* SCALAR; SELECT: yes, no; CAST: one */
	int cast;                      /* CAST: its bits */
	const struct index *index;     /* INDEX */
	const struct range *ranges;    /* SELECT */
	int range_count;
};
const struct expr *expr_number(struct arena *, enum dtype, double); /* of a float below 32 bits: a cast of one */
const struct expr *expr_integer(struct arena *, enum dtype, int64_t);
const struct expr *expr_load(struct arena *, struct definition *, const struct index *const *at);
const struct expr *expr_load_first(struct arena *, struct definition *); /* element 0 */
const struct expr *expr_load_own(struct arena *, struct definition *);   /* each element, at its own variables */
const struct expr *expr_scalar(
        struct arena *, enum scalar, const struct expr *a, const struct expr *b, const struct expr *c);
/* Ranges that always hold are dropped; one that never holds makes it `no`. */
const struct expr *expr_select(
        struct arena *, const struct range *, int count, const struct expr *yes, const struct expr *no);
const struct expr *expr_index(struct arena *, const struct index *);
const struct expr *expr_cast(struct arena *, enum dtype, const struct expr *);
/* A float below 32 bits is widened to F32 alone, whatever comes then; what narrows such a number again is the number,
 * but for an infinity that saturates. */
const struct expr *expr_cast_as(struct arena *, enum dtype, int cast, const struct expr *);
static inline bool expr_is(const struct expr *expr, enum scalar opcode)
{
	return expr->kind == EXPR_SCALAR && expr->opcode == opcode;
}
/* A cast that converts numbers: not one that takes bits as they are. */
static inline bool expr_converts(const struct expr *expr)
{
	return expr->kind == EXPR_CAST && !(expr->cast & CAST_BITS);
}
bool expr_equal(const struct expr *, const struct expr *);
int expr_compare(const struct expr *,
        const struct expr *); /* an order of them: no address is in it, tensors go by their names */
bool expr_uses(const struct expr *, int var);
/* One of these kinds, bits 1u << EXPR_…, is in it outside of indices. */
static inline bool expr_has(const struct expr *expr, unsigned kinds) { return (expr->kinds & kinds) != 0; }
static inline int expr_cost(const struct expr *expr) { return expr->cost; }
/* The float that a cast cuts to an index of 32 bits within bounds that floats have, and 0 lies between; NULL: it is no
 * such cast.  One vector instruction or two, whatever integers stand between. */
const struct expr *expr_kept_index(const struct expr *, int64_t *least, int64_t *most);
/* Whether it can be a vector along that variable (-1: of one value): float alone, affine in it, no select on it. */
bool expr_can_vector(const struct expr *, int lane);
/* Whether vectors of that type exist: floats of 16 bits, which are codes until a cast widens them, float32, double,
 * integers of 8 to 64 bits and bool. */
bool dtype_has_lanes(enum dtype);
/* Whether a vector of any of these types along that variable can be what this node makes of its arguments; a load may
 * take each lane from an address of its own (index_lane_gathers). */
bool expr_node_has_lanes(const struct expr *, int lane);
/* Of a load from a table of bytes the load of the byte that says where, affine in the lane; NULL: it is no such load. */
const struct expr *expr_looked_up(const struct expr *, int lane);
/* The same of vectors whose elements are bytes and stay such. */
bool expr_node_has_bytes(const struct expr *, int lane);
bool expr_says_truth(const struct expr *); /* a comparison: 1 or 0 */
/* A load where the lane lies between bounds, and +0 elsewhere: of neighbours a masked load.  The lanes that are there,
 * less the lane's variable: [from, to). */
bool expr_is_between(const struct expr *, int lane, int64_t *from, int64_t *to);
bool expr_selects_on(const struct expr *, int var); /* a range of a select in it uses the variable */
/* A select whose range one value moves along a variable: how many of a row are there. */
bool expr_selects_by_value(const struct expr *);
static inline int expr_index_count(const struct expr *expr)
{
	return expr->kind == EXPR_LOAD ? expr->rank : expr->kind == EXPR_INDEX ? 1 : expr->range_count;
}
/* The indices that it holds itself: of a load, of the ranges of a select, of an INDEX. */
static inline const struct index *expr_index_at(const struct expr *expr, int i)
{
	return expr->kind == EXPR_LOAD ? expr->at[i] : expr->kind == EXPR_INDEX ? expr->index : expr->ranges[i].at;
}

/* ---- visit.c: looking through expressions, and rewriting them ----
 * A visit sees an expression before its parts and says whether those are seen, too.  What stands in several places may
 * be seen in each of them, or once: visits do not count.  True: one said that nothing more is to be seen. */
enum visit { VISIT_PARTS, VISIT_PAST, VISIT_END };
typedef enum visit visit_expr(void *user, const struct expr *);
bool expr_visit(const struct expr *, visit_expr *, void *user); /* what stands outside of indices; NULL: nothing */
bool expr_visit_inside(const struct expr *, visit_expr *, void *user); /* also the values inside indices */
bool index_visit(const struct index *, visit_expr *, void *user);      /* the values inside, and all in them */
/* Calls visit for every load, also those inside indices, or but for those: for each place that it stands in. */
void expr_loads(const struct expr *, void (*visit)(void *user, const struct expr *load), void *user);

void expr_loads_outside(const struct expr *, void (*visit)(void *user, const struct expr *load), void *user);

/* ---- numbering.c: the expressions of some roots as a list, each once, what it is made of before it ---- */
struct numbered {
	const struct expr *expr;
	int arg[3]; /* the numbers of its arguments; -1: none */
	int uses;   /* as an argument, and as a root */
};
struct numbering {
	struct arena *arena; /* set before; the rest begins as zeros */
	VECTOR(struct numbered) all;
	int *slots; /* by hash: numbers + 1 */
	size_t room;
};
int number_expr(struct numbering *, const struct expr *root);   /* its number: one that it had, or the last one */
int number_find(const struct numbering *, const struct expr *); /* -1: it has none */

/* Makes expressions again with other parts.  What has the same parts afterwards is the same. */
struct memo;
struct rewriter {
	struct arena *arena;
	const struct index *const *with; /* variable v becomes with[v]; NULL, of one or of all: stays */
	/* What an expression becomes; NULL: what its parts make of it.  It says the same whenever it is asked. */
	const struct expr *(*expr)(struct rewriter *, const struct expr *);
	/* What an index becomes that an expression holds; NULL: what rewrite_index makes of it. */
	const struct index *(*index)(struct rewriter *, const struct index *);
	void *user;
	struct memo *memo; /* visit.c; begins as NULL */
};
const struct expr *rewrite_expr(struct rewriter *, const struct expr *);
const struct index *rewrite_index(struct rewriter *, const struct index *); /* variables, and values inside */
/* A load of `of`, its indices rewritten. */
const struct expr *rewrite_load(struct rewriter *, const struct expr *load, struct definition *of);
const struct index *index_stays(struct rewriter *, const struct index *); /* an `index` that leaves all as they are */

/* Each variable v becomes with[v] (NULL: stays).  Values inside are substituted too. */
const struct index *index_substitute(struct arena *, const struct index *, const struct index *const *with);
const struct expr *expr_substitute(struct arena *, const struct expr *, const struct index *const *with);
/* Every load of `of` becomes its body (a definition without reduction), indices substituted. */
const struct expr *expr_inline(struct arena *, const struct expr *, const struct definition *of);
/* Every load becomes one of what `to` says of the tensor, of the same shape. */
const struct expr *expr_redirect(struct arena *, const struct expr *,
        struct definition *(*to)(const void *user, struct definition *of), const void *user);
/* The same in another arena, which outlives theirs; loads are of what `to` says (move.c). */
const struct expr *expr_move(struct arena *, const struct expr *,
        struct definition *(*to)(const void *user, struct definition *of), const void *user);
const struct index *index_move(struct arena *, const struct index *,
        struct definition *(*to)(const void *user, struct definition *of), const void *user);
/* Each load, but those inside indices, becomes what `map` says of it; the expression itself where nothing changes. */
const struct expr *expr_replace(
        struct arena *, const struct expr *, const struct expr *old, const struct expr *with); /* but inside indices */
const struct expr *expr_map_loads(struct arena *, const struct expr *,
        const struct expr *(*map)(void *user, const struct expr *load), void *user);

/* ---- definitions ---- */
enum reduce {
	REDUCE_NONE,
	REDUCE_SUM,
	REDUCE_MAX,
	REDUCE_MIN,
	REDUCE_PROD,
	REDUCE_LAST,
	REDUCE_UP,
	REDUCE_DOWN,
	REDUCE_REPEAT,
	REDUCE_WALK
};
/* LAST: the last term that comes; of places alone.  UP, DOWN: the positions that sort a row of terms, stably: the last
 * output variable counts them, element t is the position (I64) of the t-th term from below or above; a NaN is above
 * every number.  The one reduced variable is the position, the body, of any type, the key. REPEAT: what a program
 * leaves that runs round after round; its body says nothing. WALK: which leaf (I32) of tree t row i comes to, element
 * [i, t]; the body is feature f of the row, f the one reduced variable. */
/* What an order takes, where it does not take each: going through the sorted positions it takes one that is THERE (a
 * BOOL over the outer variables and the position) and that no position taken before BARS (a BOOL over those and, as
 * variable rank + 1, the position taken before; no index uses both), until it has MOST (an I64 over the outer
 * variables).  Behind those it took the result is -1. */
enum choice { CHOICE_THERE, CHOICE_BARS, CHOICE_MOST, CHOICES };
/* The trees of a WALK are a table of nodes, each two unsigned numbers of 32 bits, or of 64: a threshold, a float of as
 * many bits, and a word: where its children stand, which are neighbours, in the bits from `shift` on, below those the
 * feature that is asked for.  A row goes to the first child where feature <= threshold, or, if `missing`, where it is a
 * NaN and the bit below `shift` is set; else to the second.  A leaf is its own second child, and its threshold a NaN
 * whose lowest bits are its number. */
enum { WALK_LEAF_BITS = 22 };
struct tree_walk {
	int shift;
	bool missing;
	int64_t leaves;
	int depth; /* of the deepest tree */
};
enum order {          /* of a reduction's terms; part of the meaning (docs/architecture.md) */
	ORDER_SERIAL, /* ascending, row-major over the reduced variables, from `start` */
	ORDER_LANES,  /* 64 partial results, term i to i mod 64, joined by halves; then `start` is added */
};
enum source { SOURCE_INPUT, SOURCE_CONSTANT, SOURCE_COMPUTED };

struct shown {
	enum dtype type;
	int rank;
	int64_t extents[MAX_RANK];
};

/* What a run asks of its operands: a BOOL of rank 0.  Where it is false the run ends with a status, and what it
 * computes is not to be read. */
struct check {
	enum exit_code code; /* EXIT_INVALID: an operand contradicts what is declared; EXIT_LIMIT: there is more than
	                        its bound */
	const char *text;    /* what was to hold, in words */
};

/* What is computed is needed where the condition, a BOOL of one element, is true, or is not, and the outer ones hold
 * too. */
struct branch {
	struct definition *condition;
	bool yes;
	const struct branch *outer;
};

/* A program that runs round after round.  For each of its inputs there is an operand, for each of its outputs there may
 * be a result. */
enum repeat_moves {
	REPEAT_STEADY,  /* an input that is the operand, in all rounds; an output of the one round that is the result */
	REPEAT_CARRIED, /* an input that is the operand first, then the output `pair` of the round before; an output
	                   whose last value is the result */
	REPEAT_SLICED, /* an input that is element t of the operand's first axis in round t; an output that becomes that
	                  element of the result */
};
struct repeat_port {
	enum repeat_moves moves;
	bool back;
	int pair;
}; /* back: element rounds - 1 - t */
/* An operator of the user's own that a kernel of his computes: one round of what it means. */
struct value;
struct own {
	const char *name;            /* "my.Foo": of the kernel, FAMILY/my.Foo.jinja */
	const char *const *families; /* that have such a kernel; ended by NULL */
	const struct node *node;     /* the call */
	bool told;                   /* a text says what it means; else the body has its outputs' shapes alone */
	int64_t blocks;              /* that its function runs over */
	const struct value *globals; /* what its template is given besides the kernel's own */
};
struct repeat {
	struct program *body; /* without checks; no tensor is without elements */
	int64_t rounds; /* at most; where there are slices of results, what is there behind the last round is nothing */
	int going; /* the carried input, a BOOL of one element, that says before each round whether it comes; -1: all do
	            */
	const struct repeat_port *in, *out;
	const struct own *own; /* NULL: a loop, or its text alone */
};

/* To what the factors of float32's sums of products are rounded: to nothing, or to 8, 11 or 11 bits with the exponents
 * of float32, float16 and float32. */
enum factors { FACTORS_FLOAT32, FACTORS_BF16, FACTORS_F16, FACTORS_TF32 };

struct definition {
	const char *name; /* of the tensor; unique in the program */
	enum source source;
	enum dtype type;
	int rank;
	int64_t extents[MAX_RANK]; /* of the output variables 0 … rank-1 */
	const void *data;          /* CONSTANT: elements in C order; borrowed.  Read by definition_data */
	struct late *late;         /* … computed when they are read: `data` points nowhere; else NULL */
	int64_t climbs;            /* definition_climbs of what this stands for, where its data are not at hand */

	/* COMPUTED.  Without reduction: body over the output variables.  With: the term, over output and reduced
	 * variables (numbers rank … rank+reduced-1). */
	enum reduce reduce;
	/* what a SUM adds */
	struct sum_form {
		/* It was defined with the scalar mul(a, b) as its body: it adds by fma(a, b, sum).  One whose body only
		 * becomes a product, by what is inlined, rounds the product as before.  Of integers: any row of
		 * products.c */
		bool products;
		enum factors factors; /* … both of which are rounded so */
		/* … of the bits of two bfloat16, or float16, each, the first one uppermost: it adds their products in
		 * that order */
		bool pairs;
		bool exact; /* … of integers as floats, each of which, and each partial sum, is below 2^24 */
	} sum;
	enum factors rounded; /* factors.c rounded its elements … */
	bool is_stored;       /* … for all that read it (--store bf16) */
	enum order order;
	bool chain;     /* its terms add in a chain, however many they are: maxima over windows */
	uint32_t batch; /* of a reduction: bit v, output variable v is a batch axis: no number depends on its extent */
	int reduced;
	int64_t reduced_extents[MAX_RANK];
	const struct expr *start; /* over output variables; NULL: +0 for a sum, -inf for a maximum, 1 for a product */
	const struct expr *body;
	/* Where terms go.  All NULL: each element adds all terms of its own.  place[v], an integer over reduced
	 * variables and the other output variables: a term goes to the elements whose index v it is, in a chain over
	 * all terms; one whose place lies outside the extents goes nowhere.  Neither places nor body use an output
	 * variable that has a place; elements that no term goes to stay as `start` says. */
	const struct expr *place[MAX_RANK];
	/* Of a map, integers over all output variables but the last.  lies: where in the memory of its elements a row
	 * begins; no two lie in one place, what begins below 0 is not stored, and what is stored nowhere is anything.
	 * NULL: all rows lie in C order.  row: how many elements of each row are there, always where rows lie
	 * elsewhere; of others whose body is a select of a load along the last variable, and what it is behind them.
	 * NULL: nothing says that. */
	const struct expr *lies, *row;
	const struct expr *choice[CHOICES]; /* of an order that does not take each position: all three; else NULL */
	bool running;  /* of places: what is stored there is the result so far, of this term and all before it, from
	               * `start`; not the element and the term.  `start` uses no variable that has a place */
	bool in_place; /* of places without a start: elements lie there already (program_keep) */

	/* REPEAT: of which this is the result `part`.  One result, any, reads the operands, whole (loads of element 0,
	 * one for each input of the body); the others read that one alone. */
	struct loop_part {
		const struct repeat *repeat;
		int part, operands;
		const struct expr **operand;
	} loop;
	/* WALK; else NULL */
	struct trees_walked {
		const struct tree_walk *walk;
		/* … loads of element 0: of its table, and of three I32 for each tree: its root, and how deep its
		 * shallowest and its deepest leaf are */
		const struct expr *nodes, *roots;
	} trees;

	/* Extents that are bounds: the input, a scalar I64, that says how many are there; NULL: all.  of[v]: nobody
	 * looks at elements behind it along output variable v.  reduced[r]: the terms behind it are all neutral, so
	 * that one of them is as good as all: 0 to a sum, -inf to a maximum, and of places they go nowhere; of a block
	 * of a long sum it counts the terms of all blocks.  Numbers do not depend on either. */
	struct bounded_extents {
		struct definition *of[MAX_RANK], *reduced[MAX_RANK];
		/* What is behind it may be anything, whatever readers' indices say; NULL: it may not */
		struct definition *ends[MAX_RANK];
		/* a copy to the bound, 0 behind the count, of this input, which ends there; else NULL */
		struct definition *spreads;
		struct definition *masks; /* of one variable: 1 before that count, 0 behind it; NULL: it is none */
	} count;

	/* of inputs and outputs */
	struct graph_port {
		const struct shown *shown; /* the tensor that its bytes pack; NULL: itself */
		bool is_output;
		int64_t most; /* of an input that says how many there are: the bound; else 0 */
		/* Of inputs: the input that says how many there are of dims that are bounds; of an output whose extents
		 * data decide: these are bounds then, and the output of that name has the actual ones; else NULL. */
		const char *sizes;
	} port;
	const struct branch
	        *branch; /* NULL: always.  Nothing but a select on the condition reads it where it is not needed */
	const struct node *node;   /* where it came from, for messages and comments; NULL: made by a rewrite */
	const struct check *check; /* NULL: it is none */
	/* Why a sum of factors that were quantised adds floats; NULL: it adds integers, or they were not. */
	const char *literal;
	struct definition *original; /* what it computes, before the rewrite: for --math double; NULL: itself */
	int number;                  /* position in the program */
};

struct program_names;
struct program {
	struct build *build;
	struct arena *arena;
	const char *name;
	VECTOR(struct definition *) all;     /* inputs, constants and computed ones; each before its readers */
	VECTOR(struct definition *) inputs;  /* in the order of the graph */
	VECTOR(struct definition *) outputs; /* in the order of the graph; those of define_graph are computed */
	VECTOR(const char *) output_names;   /* the graph's names of the outputs */
	VECTOR(struct definition *) checks;  /* each after what it reads; needed as an output is */
	VECTOR(struct rewrite *) rewrites;   /* winograd.c: convolutions that became others, and what stands for them */
	struct program_names *names;         /* build.c: which are taken */
	size_t definition_bytes; /* of one definition; more where somebody keeps something of his behind each */
};

struct program *program_new(struct build *, const char *name);
/* A program of its own that says the same, its definitions zeroed behind what they are, as far as `definition_bytes`.
 * Data and names are shared. */
struct program *program_copy(const struct program *, size_t definition_bytes);
/* Appends; the name is made unique.  extents: rank numbers. */
struct definition *define_input(struct program *, const char *name, enum dtype, int rank, const int64_t *extents);
struct definition *define_constant(
        struct program *, const char *name, enum dtype, int rank, const int64_t *extents, const void *data);
struct definition *define_map(
        struct program *, const char *name, int rank, const int64_t *extents, const struct expr *body);
/* The order is set by definition_order.  Every axis of what is no sum of products is a batch axis, none of one that is.
 */
struct definition *define_reduction(struct program *, const char *name, int rank, const int64_t *extents, enum reduce,
        int reduced, const int64_t *reduced_extents, const struct expr *start, const struct expr *body);
const struct expr *reduce_start(struct arena *, enum reduce, enum dtype); /* what changes no result */
/* These axes of a sum of products (bit v: output variable v) are batch axes too, and its order is set anew. */
void mark_batch(struct definition *, uint32_t axes);
void chain_terms(struct definition *); /* sets `chain`, and its order anew */
/* The sum of other terms over the same variables: batch axes, counts of terms, branch and node are those of `of`. */
struct definition *define_sum_like(struct program *, const char *name, const struct definition *of,
        const struct expr *start, const struct expr *body);
void keep_original(struct arena *, struct definition *);       /* as it is now, where it has none */
void become_map(struct definition *, const struct expr *body); /* what it reduced is another's now */
/* The law of orders, from the definition without the extents of its batch axes: fewer than LANE_TERMS terms add in a
 * chain; so do maxima over windows, whose axes may then go one after the other, and products that have more than
 * FEW_OUTPUTS outputs and read some factor for several of them.  Everything else adds in lanes.  (Chains of few outputs
 * wait for their own sums: at 16 outputs of 512 terms lanes are twice as fast, at 24 a sixth, at 32 no more.) */
enum { LANE_TERMS = 64, FEW_OUTPUTS = 24 };
enum order definition_order(const struct definition *);
/* A reduction whose terms have places: place[v] for each output variable, NULL where it is the variable itself. */
struct definition *define_scatter(struct program *, const char *name, int rank, const int64_t *extents, enum reduce,
        bool running, const struct expr *const *place, int reduced, const int64_t *reduced_extents,
        const struct expr *start, const struct expr *body);
bool definition_scatters(const struct definition *);
/* The first extents[rank-1] positions of each row of `terms` keys; choice: which of them, NULL where each is taken. */
struct definition *define_order(struct program *, const char *name, int rank, const int64_t *extents, bool down,
        int64_t terms, const struct expr *key, const struct expr *const *choice);
bool definition_chooses(const struct definition *);
bool definition_is_order(const struct definition *);
struct definition *define_walk(struct program *, const char *name, int64_t rows, int64_t features,
        const struct expr *feature, const struct tree_walk *, struct definition *nodes, struct definition *roots);
/* Result `part`.  base: NULL, and it reads the operands; else the result that does. */
struct definition *define_repeated(struct program *, const char *name, const struct repeat *, int part,
        struct definition *const *operands, struct definition *base);
/* The result that reads the operands; NULL: it is none of a repeat. */
struct definition *definition_repeats(const struct definition *);
bool branch_equal(const struct branch *, const struct branch *);
/* A check that `holds`, a BOOL over `rank` variables of these extents (all above 0), is true of all. */
struct definition *define_check(struct program *, const char *name, const struct check *, int rank,
        const int64_t *extents, const struct expr *holds);
/* A kernel of its own: what it computes is there when its last term is. */
bool definition_stands_alone(const struct definition *);
/* All expressions of a definition: body, start, places.  Every load of them; each becomes what `map` says of it. */
/* Where its expressions are, those that it has: a place for each. */
#define FOR_PARTS(part, definition) \
	for (int part_ = 0; definition_part(definition, part_); part_++) \
		for (const struct expr **part = definition_part(definition, part_); part && *part; part = NULL)
const struct expr **definition_part(const struct definition *, int i); /* *: NULL, it has none there; NULL: no more */
void definition_loads(const struct definition *, void (*visit)(void *user, const struct expr *load), void *user);
void definition_map(struct definition *, const struct expr *(*map)(void *user, const struct expr *), void *user);
/* It is computed where `of` was, and named after the same node. */
static inline void keep_origin(struct definition *made, const struct definition *of)
{
	made->node = of->node;
	made->branch = of->branch;
}
int64_t extents_product(int count, const int64_t *extents);
int64_t definition_elements(const struct definition *);
bool definition_same_shape(const struct definition *, const struct definition *); /* and type */
/* Elements of a row, inside so many outer loops. */
static inline int64_t definition_row(const struct definition *d, int outer)
{
	return extents_product(d->rank - outer, d->extents + outer);
}
int64_t definition_extent(const struct definition *, int var); /* of an output variable, or of a reduced one */
/* Of a constant of int32 in whose rows each element is the one before it, or one more: how long they are.  0: it is
 * none. */
int64_t definition_climbs(const struct definition *);
/* An input or output as its caller knows it. */
struct shown definition_shown(const struct definition *);
int64_t shown_elements(const struct shown *);
/* Output i as it came out: where data decide its extents, the actual ones, by the output that holds them. */
struct definition definition_actual(const struct program *, size_t i, void *const *outputs);
int64_t definition_outputs(const struct definition *); /* elements of one round of the batch axes */
int64_t definition_terms(const struct definition *);   /* of its reduction; 1 where there is none */
double definition_work(
        const struct definition *); /* how often its body is computed; with places, how many elements begin besides */

void program_check(const struct program *);                   /* asserts: order, ranges of indices, types */
void program_print(const struct program *, struct text *out); /* one line a definition */
/* A number as C: "0x1.8p+1f", "0.5f", "(-1.f / 0.f)", "7ll". */
const char *number_text(struct arena *, enum dtype, double number, int64_t integer);
/* By number: does a definition, or what it reads, make random numbers? */
bool *program_random(const struct program *);
void program_number(struct program *);      /* each definition's number is its place */
void program_remove_dead(struct program *); /* what no output and no check needs */
/* keep.c: the output lies where the input does, and is changed there.  False: it cannot. */
bool program_keep(struct program *, const struct definition *input, struct definition *output);
/* A constant of the program that has the same elements; appended where there is none. */
struct definition *program_constant(struct program *, struct definition *);
/* What was appended from number `from` on stands before that definition. */
void program_move(struct program *, size_t from, const struct definition *before);

/* ---- winograd.c: convolutions with fewer products ---- */
struct rewrite {                   /* of a convolution */
	int m;                     /* F(m x m, 3x3): 2 or 4 */
	struct definition *result; /* the convolution; its `original` is what it was, in all variables the same */
	struct definition *x, *w;  /* x[n, c, h, w], w[o, c, 3, 3] */
	int64_t pad_top, pad_left;
	struct definition *parts[5]; /* made for it: t, v, u, s, b as winograd.c names them */
};
enum { WINOGRAD_FILTERS = 2 }; /* of the parts: u */
/* Of the convolution, or of what was made for it; NULL: it is none. */
struct rewrite *program_rewrite(const struct program *, const struct definition *);
/* The body of a 3x3 convolution (stride and dilation 1, one group, NCHW) becomes that of Winograd's F(m x m, 3x3), and
 * the definitions it reads are put before it.  Its bits change; it keeps its place, name, extents and readers.  False,
 * and nothing is changed, where it is no such convolution. */
bool rewrite_winograd(struct program *, struct definition *conv, int m);

/* ---- quantised.c ---- */
/* Sums of dequantised products, and what quantises them, become integers. */
void fold_quantised(struct program *);
/* ---- lookup.c ---- */
/* Then bytes that are a function of one byte come from a table. */
void fold_lookups(struct program *);

/* ---- col2im.c ---- */
bool rewrite_col2im(struct program *, struct definition *); /* false: no convolution with few results a place */

/* ---- separate.c ---- */
void separate_sums(struct program *); /* sums over windows that overlap go axis by axis */

/* ---- blocks.c ---- */
void block_sums(struct program *); /* long sums of floats become sums of sums */

/* ---- numeric options: bits depend on them ----
 * INTEGERS: what is dequantised, multiplied and quantised again is one sum of integers, wherever quantised.c says so;
 * LITERAL: each operator in floats, as ONNX defines it. */
enum quantised { QUANTISED_INTEGERS, QUANTISED_LITERAL };
/* FAST: 3x3 convolutions by Winograd's, where the rule of winograd.h says so;
 * DIRECT: every sum as it is defined. */
enum algorithms { ALGORITHMS_FAST, ALGORITHMS_DIRECT };

/* KEPT: constants are what the model says; ZERO: those of sums of products that are denormal count as 0. */
enum denormal_constants { DENORMALS_KEPT, DENORMALS_ZERO };
/* What is stored of tensors that constants multiply: float32, or what factors are rounded to. */
enum stored { STORED_FLOAT32, STORED_BF16 };
/* What large float32 weights of products are stored in: as they are, or rounded. */
enum weights { WEIGHTS_KEPT, WEIGHTS_F16, WEIGHTS_BF16, WEIGHTS_INT8 };
struct numerics {
	enum algorithms algorithms;
	enum quantised quantised;
	enum denormal_constants denormals;
	enum factors factors;
	enum stored stored;
	enum weights weights;
	bool algorithms_given; /* by numerics_set */
};
/* The words of each, in the order of its values, ended by NULL. */
extern const char *const algorithms_words[],
        *const quantised_words[], *const denormals_words[], *const factors_words[], *const stored_words[],
                                                                                            *const weights_words[];
const char *const *numerics_words(const char *name); /* of an option; NULL: there is none of that name */
/* Where factors are rounded each sum is as it is defined, unless algorithms were given. */
void numerics_settle(struct numerics *);
/* Option `name` ("algorithms", "quantised", "denormals", "math", "store", "store-weights") becomes that word; false:
 * there is none such. */
bool numerics_set(struct numerics *, const char *name, const char *word);
/* Option i's name, and its word; NULL behind the last.  *is_default: the word is the first. */
const char *numerics_at(const struct numerics *, int i, const char **word, bool *is_default);

/* Whether factors are rounded, in memory or where they are multiplied; and the same without that. */
bool numerics_round(const struct numerics *);
struct numerics numerics_strict(struct numerics);

/* ---- store.c ---- */
void store_weights(struct program *, enum weights);

/* ---- factors.c ---- */
/* Each factor of a sum of products of float32 is rounded, but for sums that `keep` says to be strict (NULL: none). */
void round_factors(
        struct program *, enum factors, enum stored, bool (*keep)(void *user, const struct definition *), void *user);
const struct expr *bfloat_of(const struct expr *); /* what it rounds to bfloat16; NULL: it is something else */

/* ---- denormals.c ---- */
/* Do all readers of a body's input multiply it in a sum of products? */
bool definition_is_factor(const struct program *body, const struct definition *input);
void flush_denormals(struct program *); /* ZERO */
struct denormals {
	int64_t denormals, elements;
}; /* of all constants in sums of products */
struct denormals program_denormals(struct program *);

/* ---- numbers.c ---- */
/* What bits depend on besides the model, as words: equal texts of one model imply equal bits, whatever the batch, CPU,
 * engine or threads.  "libm" among them: double tensors go through functions of the C library, and bits depend on that
 * too.  Of a program before it is lowered. */
const char *program_numbers(const struct program *, const struct numerics *);

/* ---- late.c: large constants, computed when they are read ---- */
struct late *late_new(struct arena *, size_t bytes, void (*make)(const void *of, void *data), const void *of);
struct late *late_of(const struct program *); /* its one output; all that it reads is constant, nothing is checked */
const void *late_data(struct late *);
void late_forget(struct late *); /* who asks again has them computed again */
const void *definition_data(const struct definition *);

/* ---- fold.c: what depends on constants alone becomes a constant ---- */
void program_fold(struct program *);
void definition_fold(const struct program *, struct definition *); /* all that it reads is constant */
void definition_becomes(
        const struct program *, struct definition *, const void *data); /* a constant, its values computed already */
/* The number that it is, where it uses no variable and reads constants alone; else itself. */
const struct expr *expr_fold(const struct program *, const struct expr *);
bool expr_is_constant(const struct expr *); /* all that it loads is */
/* A load of a constant that has the values of a constant expression, over those of the variables of `over` that it uses;
 * NULL: they are more than a tensor has dims, which they are only with reduced ones. */
const struct expr *expr_settle(struct program *, const char *name, const struct definition *over, const struct expr *);
/* Of checks that became constants: one that holds is dropped, one that does not fails (its code). */
void program_settle_checks(struct program *);
/* ---- guard.c ---- */
/* A check whose node's results are chosen by scalar conditions (the branches of an If) is asked only where they are.
 * Before checks move. */
void program_guard_checks(struct program *);

/* Each check goes to where the last of what it reads is computed. */
void program_hoist_checks(struct program *);
NORETURN void check_fail(
        const struct program *, const struct definition *check, const char *found); /* `found`: besides, or NULL */

/* ---- bounds.c ---- */
/* An integer expression's values lie in [low, high], whatever the inputs are: those of its type where nothing more is
 * known. */
void expr_bounds(const struct expr *, int64_t *low, int64_t *high);
int64_t expr_magnitude(const struct expr *); /* the largest |value|; of a type of at most 32 bits */
/* Some of a sum's terms: rounds from … from + count - 1 of its reduced variable v. */
struct sum_part {
	int v;
	int64_t from, count;
};
/* Each variable as that of a sum of the part alone, whose output variables are moved down by `gone`. */
void part_variables(
        struct arena *, const struct definition *sum, const struct sum_part *, int gone, const struct index **with);
/* No sum of the part's products of integers has a larger magnitude, by the constants; looked into from EXACT_MOST on: floats
 * have every integer below. */
enum { EXACT_MOST = 1 << 24 };
double sum_most(struct program *, const struct definition *sum, const struct sum_part *);
/* No |value| of a float32 expression is larger, and none is a NaN; infinite: nothing is known. */
double expr_most(const struct expr *);

/* ---- interpret.c: the oracle ---- */
enum math { MATH_STRICT, MATH_DOUBLE };
/* inputs[i], outputs[i]: elements in C order of the program's inputs and outputs, in their own types and aligned for
 * them (MATH_DOUBLE: computed in double, rounded at the end).  Fails where a check does not hold (its code) or an index
 * lies outside its tensor (EXIT_INVALID). */
void interpret(const struct program *, enum math, const void *const *inputs, void *const *outputs);
void interpret_one(
        const struct program *, const struct definition *, void *output); /* strict; all that it reads is constant */

#endif
