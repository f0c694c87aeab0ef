/* engine.h: the inside of the template engine, a section per file.
 *
 *     source -- lexer.c --> tokens -- parser.c, expressions.c --> nodes -- compile.c --> program -- render.c,
 *     evaluate.c, call.c --> text
 *
 * values.c, unicode.c, print.c, format.c, strings.c, methods.c, objects.c: what values can do.  filters_*.c, json.c,
 * wrap.c, tests.c, globals.c: what templates find built in.  errors.c: how it says what is wrong. */
#ifndef TEMPLATE_ENGINE_H
#define TEMPLATE_ENGINE_H

#include "ingot/template.h"
#include <assert.h>

/* ---- lexer.c ---- */
enum token_kind {
	TOKEN_END,
	TOKEN_DATA,
	TOKEN_VARIABLE_BEGIN,
	TOKEN_VARIABLE_END,
	TOKEN_BLOCK_BEGIN,
	TOKEN_BLOCK_END,
	TOKEN_NAME,
	TOKEN_STRING,
	TOKEN_INTEGER,
	TOKEN_FLOAT,
	TOKEN_ADD,
	TOKEN_ASSIGN,
	TOKEN_COLON,
	TOKEN_COMMA,
	TOKEN_DIV,
	TOKEN_DOT,
	TOKEN_EQ,
	TOKEN_FLOORDIV,
	TOKEN_GT,
	TOKEN_GE,
	TOKEN_LBRACE,
	TOKEN_LBRACKET,
	TOKEN_LPAREN,
	TOKEN_LT,
	TOKEN_LE,
	TOKEN_MOD,
	TOKEN_MUL,
	TOKEN_NE,
	TOKEN_PIPE,
	TOKEN_POW,
	TOKEN_RBRACE,
	TOKEN_RBRACKET,
	TOKEN_RPAREN,
	TOKEN_SEMICOLON,
	TOKEN_SUB,
	TOKEN_TILDE,
	TOKEN_KINDS
};
struct token {
	enum token_kind kind;
	uint32_t position;  /* byte in the source */
	struct value value; /* data, string, numbers */
	const char *name;   /* of a name: interned, equal names are equal pointers */
};
struct tokens {
	struct token *at;
	size_t count, room;
};

struct template;
struct tokens template_lex(struct environment *, struct template *);
const char *token_describe(const struct token *); /* for messages */
const char *token_kind_describe(enum token_kind);

/* ---- parser.c, expressions.c: tokens -> nodes ---- */
enum node_kind {
	/* expressions */
	NODE_CONST,     /* value */
	NODE_NAME,      /* name */
	NODE_ATTRIBUTE, /* a . name; value: the name as a string, hash */
	NODE_ITEM,      /* a [ b ] */
	NODE_SLICE,     /* a : b : c, each may be NULL */
	NODE_CALL,      /* a ( arguments ) */
	NODE_FILTER,    /* a | name ( arguments ); a is NULL in filter blocks: the text before */
	NODE_TEST,      /* a is name ( arguments ) */
	NODE_NOT,
	NODE_NEGATIVE,
	NODE_POSITIVE, /* a */
	NODE_ADD,
	NODE_SUB,
	NODE_MUL,
	NODE_DIV,
	NODE_FLOORDIV,
	NODE_MOD,
	NODE_POW, /* a, b */
	NODE_AND,
	NODE_OR,      /* a, b */
	NODE_COMPARE, /* a, then list of NODE_OPERAND */
	NODE_OPERAND, /* op, a */
	NODE_CONCAT,
	NODE_LIST,
	NODE_TUPLE,     /* list */
	NODE_DICT,      /* list: key, value, key, value ... */
	NODE_CONDITION, /* b if a else c; c may be NULL */
	NODE_MEMBER,    /* a target: name . value */
	/* statements */
	NODE_TEXT,         /* value */
	NODE_PRINT,        /* a */
	NODE_IF,           /* list: NODE_BRANCH, in order */
	NODE_BRANCH,       /* a (NULL: else), body */
	NODE_FOR,          /* a target, b iterable, c filter or NULL; body, other (else); flags */
	NODE_SET,          /* a target, b value */
	NODE_SET_BLOCK,    /* a target, b filters or NULL; body */
	NODE_MACRO,        /* name, list parameters, other defaults of the last; body; flags */
	NODE_CALL_BLOCK,   /* a the call, b the NODE_MACRO of its body */
	NODE_FILTER_BLOCK, /* b filters; body */
	NODE_INCLUDE,      /* a; flags */
	NODE_IMPORT,       /* a, name; flags */
	NODE_FROM,         /* a, list of NODE_ALIAS; flags */
	NODE_ALIAS,        /* name as a (NODE_NAME) */
	NODE_EXTENDS,      /* a */
	NODE_BLOCK,        /* name; body; flags */
	NODE_WITH,         /* list targets, other values; body */
	NODE_SCOPE,        /* body: {% autoescape false %} */
	NODE_DO,           /* a */
	NODE_BREAK,
	NODE_CONTINUE,
	NODE_ASSERT, /* a, b message or NULL */
	NODE_FAIL,   /* a message */
};
enum node_flag {
	FLAG_RECURSIVE = 1, /* for */
	FLAG_LOOP = 2,      /* for: its body may look at `loop` */
	FLAG_CALLER = 4,
	FLAG_VARARGS = 8,
	FLAG_KWARGS = 16,  /* macro: its body names them */
	FLAG_CONTEXT = 32, /* include, import, from: with context */
	FLAG_IGNORE = 64,  /* include: ignore missing */
	FLAG_SCOPED = 1,   /* block */
	FLAG_REQUIRED = 2,
};
struct nodes {
	struct node **at;
	size_t count, room;
};
struct keyword {
	const char *name;
	struct value key;
	struct node *value;
};
struct arguments {
	struct nodes list;
	struct {
		struct keyword *at;
		size_t count, room;
	} keywords;
	struct node *splat, *keyword_splat; /* *a, **b */
};
struct node {
	uint8_t kind, op, flags; /* op: enum token_kind or enum compare, of NODE_OPERAND */
	uint16_t height;         /* of the tree below */
	uint32_t position;
	uint32_t hash; /* of value, NODE_ATTRIBUTE and NODE_NAME */
	const char *name;
	struct node *a, *b, *c;
	struct nodes list, other, body;
	struct arguments *arguments;
	const struct builtin *builtin; /* filter or test, found by compile.c; NULL: unknown, an error once reached */
	struct value value;
};
enum compare { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_IN, COMPARE_NOT_IN };

/* A compiled template. */
struct template
{
	const char *name;
	const char *source; /* newlines made \n; ends in a 0 */
	size_t length;
	struct nodes body;
	struct nodes blocks; /* every NODE_BLOCK in it */
	bool extends;        /* holds an extends */
};

struct parser {
	struct environment *environment;
	struct template *template;
	struct arena *arena;
	struct token *at;        /* the next one; the last is TOKEN_END for ever */
	int depth, loops;        /* nesting; loops around, since the last macro or block */
	const char *const *ends; /* the end tags waited for, NULL at their end */
	const char *tag;         /* and the tag that they close */
	int fors;                /* loops around, also around the macro or block */
	struct reads {           /* fors and macros around */
		struct reads *outer;
		struct node *node;
		uint8_t stored; /* of a macro: flags of names that its body has set */
	} * reads;
};
void template_parse(struct environment *, struct template *, struct tokens);
struct node *node_new(struct parser *, enum node_kind, uint32_t position);
void node_height(struct parser *, struct node *parent, const struct node *child);
void node_add(struct parser *, struct node *parent, struct nodes *, struct node *child);
struct node *parse_expression(struct parser *, bool with_condition);
struct node *parse_tuple(
        struct parser *, bool simple, bool with_condition, const char *end_word, bool parentheses, bool with_members);
struct node *parse_primary(struct parser *, bool with_members);
struct node *parse_postfix(struct parser *, struct node *);
struct node *parse_filters(struct parser *, struct node *, bool inside);
uint8_t special_flag(const struct parser *, const char *name);
bool token_is(const struct parser *, const char *word); /* a name of these letters */
bool token_skip(struct parser *, enum token_kind);
bool token_skip_word(struct parser *, const char *word);
struct token *token_expect(struct parser *, enum token_kind);
struct token *token_next(struct parser *);
NORETURN void parse_fail(struct parser *, uint32_t position, const char *format, ...) PRINTF(3, 4);
void parse_enter(struct parser *); /* one level deeper; fails where it is too deep */

/* ---- compile.c ---- */
struct template *template_get(struct environment *, const char *name); /* NULL where no loader has it */

/* ---- values.c ---- */
enum list_view { VIEW_LIST, VIEW_ITEMS, VIEW_KEYS, VIEW_VALUES, VIEW_LAZY, VIEW_GROUP };
/* lazy: a generator in Python, empty once its items were taken; group: a tuple of groupby */
struct list {
	struct arena *arena;
	struct value *at;
	size_t count, room;
};
struct entry {
	struct value key, value;
	uint32_t hash;
};
struct dict {
	struct arena *arena;
	struct entry *at;
	size_t count, room;
	uint32_t *index;
	size_t slots;
};
struct range {
	int64_t start, stop, step;
	size_t count;
};
/* Why something is undefined: a hint, or a name that nothing has, or a member that `owner` has not.  What an inline if
 * without else leaves is lenient always. */
struct missing {
	const char *hint, *name;
	struct value owner;
	bool lenient;
};
struct object {
	const struct object_class *class;
	void *user;
};

uint32_t string_hash(const char *bytes, size_t count);
bool value_hash(struct value, uint32_t *hash);                                 /* false: unhashable */
struct value *dict_find(const struct dict *, struct value key, uint32_t hash); /* NULL where it is not there */
struct value *dict_find_string(const struct dict *, const char *bytes, size_t count, uint32_t hash);
void dict_set(struct dict *, struct value key, uint32_t hash, struct value);
void dict_remove(struct dict *, size_t i);
struct value dict_value(struct dict *);
struct value list_value(struct list *, enum list_view);
struct list *list_new(struct arena *, size_t room);
static inline void list_add(struct list *list, struct value value) { push(list->arena, list, value); }
static inline bool value_is_number(struct value v) { return v.kind >= VALUE_BOOL && v.kind <= VALUE_FLOAT; }
static inline bool value_is_integer(struct value v) { return v.kind == VALUE_BOOL || v.kind == VALUE_INT; }
static inline bool value_is_list(struct value v) { return v.kind == VALUE_LIST || v.kind == VALUE_TUPLE; }
static inline int64_t value_integer(struct value v) { return v.kind == VALUE_BOOL ? v.truth : v.integer; }
double value_real(struct value);                  /* of a number */
const char *value_type(struct value);             /* Python's name of the type */
const char *value_a(struct value);                /* "an int", for messages; until the next call */
bool value_identical(struct value, struct value); /* Python's `is` */
bool value_text_is(struct value, const char *string);

/* ---- unicode.c: code points and case ---- */
size_t text_points(const char *bytes, size_t count); /* code points */
size_t text_offset(const char *bytes, size_t count, size_t point);
const char *text_back(const char *start, const char *at); /* where the code point before `at` begins */
bool point_is_space(unsigned), point_is_printable(unsigned);
bool point_is_letter(unsigned), point_is_alnum(unsigned), point_is_word(unsigned); /* word: regex \w */
bool point_is_decimal(unsigned), point_is_digit(unsigned), point_is_numeric(unsigned);
bool point_is_lower(unsigned), point_is_upper(unsigned), point_is_title(unsigned);
bool point_begins_name(unsigned), point_in_name(unsigned);
int point_decimal(unsigned); /* 0 to 9, or -1 */
enum casing { CASE_UPPER, CASE_LOWER, CASE_SWAP, CASE_CAPITALIZE, CASE_TITLE, CASE_FOLD };
struct value string_case(struct renderer *, struct value, enum casing);

/* ---- operators.c, evaluate.c: operations that may fail, at the renderer's place ---- */
struct renderer;
struct scope;
struct value evaluate(struct renderer *, const struct node *);
bool value_truth(struct renderer *, struct value);
bool value_equal(struct renderer *, struct value, struct value);
bool value_less(struct renderer *, struct value, struct value, const char *sign, bool or_equal);
bool value_in(struct renderer *, struct value, struct value container);
bool value_is_sequence(struct value); /* string, list or tuple, that + and [] work on */
struct value value_sign(struct renderer *, struct value, bool plus);
void render_deeper(struct renderer *); /* r->depth + 1, within its limit */
struct value value_arithmetic(struct renderer *, enum node_kind, struct value, struct value);
struct value value_attribute(struct renderer *, struct value, const char *name, size_t count, uint32_t hash);
struct value value_getattr(struct renderer *, struct value, struct value name); /* never a dict's item */
struct value value_item(struct renderer *, struct value, struct value key);
struct value value_path(struct renderer *, struct value, struct value path); /* "a.b.0", as filters take it */
size_t value_length(struct renderer *, struct value);
struct value value_slice(struct renderer *, struct value, struct value from, struct value to, struct value step);
uint32_t value_hash_or_fail(struct renderer *, struct value);
struct value undefined_name(struct renderer *, const char *name);
struct value undefined_member(struct renderer *, struct value owner, const char *name, size_t count);
void undefined_use(struct renderer *, struct value); /* a strict one fails */
NORETURN void undefined_fail(struct renderer *, struct value);
struct value undefined_hint(struct renderer *, const char *format, ...) PRINTF(2, 3);

/* Goes through the items of anything iterable: string, list, tuple, keys of a dict, range. */
struct iterator {
	struct value of;
	size_t i;
};
struct iterator iterate(struct renderer *, struct value); /* fails where it is not iterable */
bool iterate_next(struct renderer *, struct iterator *, struct value *item);
struct list *list_of(struct renderer *, struct value); /* a new list of the items */

/* ---- print.c ---- */
void print_value(struct renderer *, struct value, struct text *); /* str() */
void print_repr(struct renderer *, struct value, struct text *);
void print_float(double, struct text *);
void print_string_repr(const char *bytes, size_t count, struct text *);
struct value value_to_string(struct renderer *, struct value);                  /* str() as a value */
struct value value_to_repr(struct renderer *, struct value, bool ascii);        /* repr() and ascii() */
void text_repeat(struct text *, const char *point, size_t count, size_t times); /* one code point */
void capture_begin(struct renderer *, size_t *mark);      /* what is added to r->out from now on ... */
struct value capture_end(struct renderer *, size_t mark); /* ... is taken back, as a string */

/* ---- format.c ---- */
struct value format_percent(struct renderer *, struct value format, struct value arguments);
struct value format_braces(struct template_call *); /* str.format */

/* ---- strings.c, methods.c ---- */
struct builtin {
	const char *name;
	const char *parameters;
	template_function *function;
	void *user;
};
const struct builtin *method_find(struct value, const char *name, size_t count);
extern const struct builtin string_methods[];
bool string_has_case(struct value, bool upper); /* str.isupper, str.islower */
/* `set`: a string, or none for white space. */
struct value string_strip(struct value, struct value set, bool left, bool right);
struct value string_replace(struct renderer *, struct value, struct value old, struct value with, int64_t times);
/* The text stands left (`where` -1), in the middle (0) or right (1). */
struct value string_pad(struct renderer *, struct value, int64_t width, struct value fill, int where);
struct list *string_lines(struct arena *, struct value, bool keep);

/* ---- call.c ---- */
struct function {
	const struct builtin *builtin; /* or a macro */
	struct builtin own;
	struct value self; /* bound: the first argument, where not absent */
	const struct node *macro;
	struct scope *scope; /* where the macro was defined */
	struct context *context;
	struct template *template;
	size_t block;
	struct scope *block_outer;
};
struct value call_value(struct renderer *, struct value function, const struct value *at, size_t count,
        const struct argument *named, size_t named_count);
struct value call_builtin(struct renderer *, const struct builtin *, struct value self, const struct value *at,
        size_t count, const struct argument *named, size_t named_count, const char *what);
struct value evaluate_call(struct renderer *, const struct node *, const struct value *caller);
struct value evaluate_builtin(struct renderer *, const struct node *, struct value self, const char *what);
struct value function_of(struct renderer *, const struct builtin *, struct value self);

/* ---- render.c ---- */
struct variable {
	const char *name;
	struct value value;
	bool imported;
};
struct scope {
	struct scope *outer;
	struct variable *at;
	size_t count, room;
};
/* One template with what it sees: the template rendered, one included, or one imported. */
struct context {
	struct template *template;
	struct dict *globals; /* what rendering was given; NULL without context */
	struct scope root;    /* names set at its top level */
	struct block_uses {
		struct block_use {
			const struct node *block;
			struct template *template;
		} * at;
		size_t count, room;
	} uses;                  /* blocks of all templates, the last child's first */
	struct template *parent; /* set by an extends that was executed */
	struct value text;       /* of an import: what its body printed */
	size_t parents;          /* how many templates were extended */
};
struct renderer {
	struct environment *environment;
	struct build *build;
	struct arena *arena;
	struct text *out;
	struct context *context;
	struct template *template; /* whose node is being evaluated: a macro's is where it was defined */
	const struct node *place;  /* being evaluated: for errors */
	struct trace *trace;
	struct scope *scope; /* the innermost */
	size_t depth, rounds;
	const struct around *around; /* print.c: the lists and dicts being printed */
	size_t block;                /* being rendered: its number in context->uses, + 1 */
	struct scope *block_outer;   /* what that block sees: the context's root, or more where it is scoped */
	struct {
		struct imported {
			struct template *template;
			struct value module;
		} * at;
		size_t count, room;
	} modules;
	bool silent; /* after an extends: text goes nowhere */
};
/* The chain of calls, for errors. */
struct trace {
	struct trace *outer;
	const char *what, *name;   /* "macro" "tile": entered from ... */
	struct template *template; /* ... this place, and back to this state */
	const struct node *place;
	struct scope *scope;
	struct context *context;
	size_t block;
	struct scope *block_outer;
	bool silent;
};
enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

enum flow render_body(struct renderer *, const struct nodes *);
void scope_set(struct renderer *, struct scope *, const char *name, struct value);
struct value name_value(struct renderer *, const struct node *);
void assign(struct renderer *, const struct node *target, struct value);
struct value render_macro(struct renderer *, const struct function *, const struct value *at, size_t count,
        const struct argument *named, size_t named_count);
struct trace *render_enter(struct renderer *, const char *what, const char *name, struct template *);
void render_leave(struct renderer *, struct trace *);

struct loop {
	const struct node *node;
	struct iterator items;
	struct value of, before, current, after, changed; /* after: taken ahead */
	struct scope *outer, *test;
	size_t index, depth; /* index: 1 in the first round */
	size_t length;
	bool counted;  /* length is known */
	bool filtered; /* the items left have passed the filter */
};
enum flow render_loop(struct renderer *, const struct node *, struct value of, struct scope *outer, size_t depth);
bool loop_fetch(struct renderer *, struct loop *, struct value *item);
void render_template(struct renderer *, struct context *);
void render_use(struct renderer *, size_t number, struct scope *);
size_t find_use(const struct context *, const char *name, size_t number);

/* ---- objects.c: loop, namespace, cycler, joiner, modules, self ---- */
struct value object_namespace(struct renderer *, struct dict *);
struct value object_cycler(struct renderer *, const struct value *at, size_t count);
struct value object_joiner(struct renderer *, struct value separator);
bool object_assign(struct renderer *, struct value, const char *name, struct value); /* false: no namespace */
size_t loop_length(struct renderer *, struct loop *);
struct value super_value(struct renderer *, size_t number, struct scope *outer); /* of this block use */
extern const struct object_class class_loop, class_module, class_self;

/* ---- environment.c, globals.c, filters_*.c, tests.c ---- */
struct environment {
	struct build *build;
	struct arena *arena;
	struct template_settings settings;
	template_loader *load;
	void *user;
	struct dict *globals;
	struct dict *filters, *tests; /* name -> function value */
	struct {
		struct template **at;
		size_t count, room;
	} templates;
	struct words {
		const char *loop, *caller, *varargs, *kwargs, *self, *super;
	} words;
	struct renderer *running; /* the innermost rendering, for the chain in errors */
	bool told;                /* the failure under way has its place in a template */
};
/* Sorts `list` by the items of `keys`, in the order of Python's sorted(): stable; both may be one list. */
void list_sort_by(struct renderer *, struct list *list, struct list *keys, bool reverse);
template_function filter_tojson, filter_wordwrap, filter_pprint; /* json.c, wrap.c */
extern const struct builtin filters_text[], filters_list[], builtin_tests[], builtin_globals[];
const struct builtin *builtin_find(const struct dict *, const char *name, size_t count);

/* ---- errors.c ---- */
NORETURN void render_fail(struct renderer *, const char *format, ...) PRINTF(2, 3);
NORETURN void render_limit(struct renderer *, const char *format, ...) PRINTF(2, 3);
NORETURN void template_fail_at(struct environment *, const struct template *, uint32_t position, const struct trace *,
        enum exit_code, const char *message);
void template_folder(const struct template *, uint32_t position, size_t *line, size_t *column);
void template_detail(struct environment *, const struct template *, uint32_t position, const struct trace *);

#endif
