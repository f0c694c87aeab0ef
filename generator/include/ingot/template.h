/* template.h: Jinja templates in C.  Text with holes, and values -> text.
 *
 *     static bool load(void *user, struct build *build, const char *name, struct mapped *source)
 *     {                                                              // finds templates by their names
 *             *source = file_map(build, name);
 *             file_keep(build, *source);                             // the bytes stay as long as the build
 *             return true;
 *     }
 *     static struct value at(struct template_call *call)             // {{ x.at(2, lane=1) }} prints x[2 * 8 + 1]
 *     {
 *             return value_printf(call->arena, "%s[%lld * 8 + %lld]", (const char *)call->user,
 *                                 (long long)call_int(call, 0, 0), (long long)call_int(call, 1, 0));
 *     }
 *
 *     struct build build;
 *     struct text text;
 *     build_init(&build);
 *     text_init(&text, &build);
 *     if (BUILD_TRY(&build)) {
 *             struct arena *arena = build.arena;
 *             struct environment *environment = environment_new(&build, arena, &template_settings_kernels, load, NULL);
 *             struct value globals = value_dict_of(
 *                     arena, "kernel", value_dict_of(arena, "name", "conv_3", "rows", 6), "x",
 *                     value_dict_of(arena, "at", value_function(arena, "at", "row lane?", at, "x")));
 *             template_render(environment, "convolution.jinja", globals, &text);     // appends to text
 *     }
 *     if (build.code)
 *             fprintf(stderr, "%s\n%s", build.message, build.detail);
 *     else
 *             fwrite(text.at, 1, text.count, stdout);
 *     text_release(&text);
 *     build_release(&build);
 *
 * The language is Jinja2's, with the statements `do`, `break`, `continue`, `assert` and `fail`; docs/templates.md is
 * its manual and lists what differs.  `struct build`, arenas and texts are base/base.h's.
 *
 * Who owns what.  A compiled template lives in the environment's arena.  A list, dict, function or object lives in the
 * arena it was made in.  A string borrows its bytes, which must live as long as the value.  What a rendering makes, it
 * makes in the arena of `globals`: so an arena per kernel, emptied after it, keeps no value too long.  Values are small
 * and passed by copy; lists, dicts and objects inside are shared, as in Python.  Nothing is freed by itself.
 *
 * Errors.  A template that is wrong, or goes wrong, ends the build with fail(EXIT_INVALID): `build->message` is one
 * line that begins "NAME:LINE:COLUMN: ", `build->detail` holds the line of the source with a caret and, a line each,
 * the includes, imports and macros that led there.  A limit that is passed, and memory that ends, are EXIT_LIMIT.  What
 * was printed until then is in the text.  The environment stays good for the next rendering.
 *
 * Threads.  Nothing is global: each thread may have a build and an environment of its own.  One environment is for one
 * thread at a time; rendering from inside a function that a template calls is fine. */
#ifndef INGOT_TEMPLATE_H
#define INGOT_TEMPLATE_H

#include "base/base.h"

struct environment;
struct template_call;

/* ---- values ---- */
enum value_kind {
	VALUE_ABSENT,    /* an optional argument that was not given; never inside a template */
	VALUE_UNDEFINED, /* a name or member that is not there */
	VALUE_NONE,
	VALUE_BOOL,
	VALUE_INT, /* 64 bits; passing them is an error */
	VALUE_FLOAT,
	VALUE_STRING, /* UTF-8; templates count and index code points */
	VALUE_LIST,
	VALUE_TUPLE,
	VALUE_DICT, /* keeps the order of insertion */
	VALUE_RANGE,
	VALUE_FUNCTION,
	VALUE_OBJECT,
};

struct value {
	uint8_t kind;   /* enum value_kind */
	uint8_t view;   /* of a list: what Python would call it (for the engine: 0 is a list) */
	uint32_t count; /* of a string: bytes */
	union {
		bool truth;
		int64_t integer;
		double real;
		const char *bytes;
		struct list *list;
		struct dict *dict;
		struct range *range;
		struct function *function;
		struct object *object;
		const struct missing *missing;
	};
};

static inline struct value value_none(void) { return (struct value){ .kind = VALUE_NONE }; }
static inline struct value value_bool(bool truth) { return (struct value){ .kind = VALUE_BOOL, .truth = truth }; }
static inline struct value value_int(int64_t i) { return (struct value){ .kind = VALUE_INT, .integer = i }; }
static inline struct value value_float(double d) { return (struct value){ .kind = VALUE_FLOAT, .real = d }; }
struct value value_string(const char *borrowed);                          /* ends in a 0 */
struct value value_string_of(const char *borrowed, size_t count);         /* any bytes; below 4 GiB */
struct value value_copy(struct arena *, const char *bytes, size_t count); /* of its own bytes, which end in a 0 */
struct value value_printf(struct arena *, const char *format, ...) PRINTF(2, 3);

struct value value_list(struct arena *);
struct value value_tuple(struct arena *, const struct value *at, size_t count);
void value_list_add(struct value list, struct value);
struct value value_numbers(struct arena *, const int64_t *at, int count);
size_t value_count(struct value);                   /* of a list, tuple, dict, range or string */
struct value value_at(struct value list, size_t i); /* of a list or tuple; i < value_count */

struct value value_dict(struct arena *);
/* value_set(dict, "name", kernel->name, "rows", 6): keys, and what each is, by the kind that C knows of it: a string, an
 * integer, a double, a bool (a comparison is an int in C), a value.  24 keys at most, borrowed; a later one replaces.
 * Gives the dict. */
#define value_set(dict, ...) value_set_pairs(dict, (const struct value_pair[]){ VALUE_PAIRS(__VA_ARGS__), { 0 } })
#define value_dict_of(arena, ...) value_set(value_dict(arena), __VA_ARGS__)
struct value_pair {
	const char *key;
	struct value value;
};
struct value value_set_pairs(struct value dict, const struct value_pair *); /* which end with a NULL */
static inline struct value value_itself(struct value value) { return value; }
#define VALUE_OF(x) \
	_Generic((x), bool: value_bool, double: value_float, char *: value_string, const char *: value_string, \
	        struct value: value_itself, default: value_int)(x)
/* clang-format off */
#define VALUE_PICK(k24, v24, k23, v23, k22, v22, k21, v21, k20, v20, k19, v19, k18, v18, k17, v17, k16, v16, k15, v15, k14, v14, k13, v13, k12, v12, k11, v11, k10, v10, k9, v9, k8, v8, k7, v7, k6, v6, k5, v5, k4, v4, k3, v3, k2, v2, k1, v1, pairs, ...) pairs
#define VALUE_PAIRS_1(key, x) { key, VALUE_OF(x) }
#define VALUE_PAIRS_2(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_1(__VA_ARGS__)
#define VALUE_PAIRS_3(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_2(__VA_ARGS__)
#define VALUE_PAIRS_4(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_3(__VA_ARGS__)
#define VALUE_PAIRS_5(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_4(__VA_ARGS__)
#define VALUE_PAIRS_6(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_5(__VA_ARGS__)
#define VALUE_PAIRS_7(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_6(__VA_ARGS__)
#define VALUE_PAIRS_8(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_7(__VA_ARGS__)
#define VALUE_PAIRS_9(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_8(__VA_ARGS__)
#define VALUE_PAIRS_10(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_9(__VA_ARGS__)
#define VALUE_PAIRS_11(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_10(__VA_ARGS__)
#define VALUE_PAIRS_12(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_11(__VA_ARGS__)
#define VALUE_PAIRS_13(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_12(__VA_ARGS__)
#define VALUE_PAIRS_14(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_13(__VA_ARGS__)
#define VALUE_PAIRS_15(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_14(__VA_ARGS__)
#define VALUE_PAIRS_16(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_15(__VA_ARGS__)
#define VALUE_PAIRS_17(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_16(__VA_ARGS__)
#define VALUE_PAIRS_18(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_17(__VA_ARGS__)
#define VALUE_PAIRS_19(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_18(__VA_ARGS__)
#define VALUE_PAIRS_20(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_19(__VA_ARGS__)
#define VALUE_PAIRS_21(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_20(__VA_ARGS__)
#define VALUE_PAIRS_22(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_21(__VA_ARGS__)
#define VALUE_PAIRS_23(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_22(__VA_ARGS__)
#define VALUE_PAIRS_24(key, x, ...) { key, VALUE_OF(x) }, VALUE_PAIRS_23(__VA_ARGS__)
#define VALUE_PAIRS(...) VALUE_PICK(__VA_ARGS__, VALUE_PAIRS_24, 0, VALUE_PAIRS_23, 0, VALUE_PAIRS_22, 0, VALUE_PAIRS_21, 0, VALUE_PAIRS_20, 0, VALUE_PAIRS_19, 0, VALUE_PAIRS_18, 0, VALUE_PAIRS_17, 0, VALUE_PAIRS_16, 0, VALUE_PAIRS_15, 0, VALUE_PAIRS_14, 0, VALUE_PAIRS_13, 0, VALUE_PAIRS_12, 0, VALUE_PAIRS_11, 0, VALUE_PAIRS_10, 0, VALUE_PAIRS_9, 0, VALUE_PAIRS_8, 0, VALUE_PAIRS_7, 0, VALUE_PAIRS_6, 0, VALUE_PAIRS_5, 0, VALUE_PAIRS_4, 0, VALUE_PAIRS_3, 0, VALUE_PAIRS_2, 0, VALUE_PAIRS_1, 0, 0)(__VA_ARGS__)
/* clang-format on */
struct value value_dict_get(struct value dict, const char *key); /* VALUE_ABSENT where it is not there */

/* A function that templates call.  `parameters` are names in their order, "rows columns? *" for example: `?` marks one
 * that may be left out (its value is then VALUE_ABSENT), a last `*` takes further arguments, `**` further keywords.
 * An argument too many, too few or unknown is refused before `function` is entered. */
typedef struct value template_function(struct template_call *);
struct value value_function(struct arena *, const char *name, const char *parameters, template_function *, void *user);

/* What a function, filter or test receives. */
struct template_call {
	struct environment *environment;
	struct build *build;
	struct arena *arena; /* for what the function makes */
	void *user;
	const char *name;
	const struct value *at; /* one per parameter, then the further ones of a `*` */
	size_t count;
	const struct argument {
		struct value name, value;
	} * named; /* the keywords of a `**` */
	size_t named_count;
	struct renderer *renderer; /* these are for the engine */
	const char *parameters;
};
/* Arguments as C wants them: `other` where the argument is absent; another type fails at the call, naming the
 * parameter. */
int64_t call_int(struct template_call *, size_t i, int64_t other);
double call_float(struct template_call *, size_t i, double other);
bool call_bool(struct template_call *, size_t i, bool other);                 /* by truth */
const char *call_string(struct template_call *, size_t i, const char *other); /* ends in a 0 */
/* Fails at the place in the template that is being evaluated. */
NORETURN void call_fail(struct template_call *, const char *format, ...) PRINTF(2, 3);

/* An object: attributes by callback, for what would be costly to make beforehand.  `get` leaves `*out` alone and
 * returns false where it has no such attribute; any of the functions may be NULL. */
struct object_class {
	const char *name;
	bool (*get)(struct template_call *, void *user, const char *attribute, struct value *out);
	template_function *call; /* with parameters "* **"; `user` is the object's */
	bool (*print)(struct template_call *, void *user, struct text *out);
};
struct value value_object(struct arena *, const struct object_class *, void *user);

/* What `{{ value }}` prints, and what Python's repr prints. */
void value_print(struct environment *, struct value, struct text *out);
void value_print_repr(struct environment *, struct value, struct text *out);

/* ---- environment ---- */
struct template_settings {
	const char *block_start, *block_end;       /* NULL: "{%" and "%}" */
	const char *variable_start, *variable_end; /* NULL: "{{" and "}}" */
	const char *comment_start, *comment_end;   /* NULL: "{#" and "#}" */
	const char *line_statement, *line_comment; /* prefixes; NULL: there are none */
	const char *newline;                       /* "\n" (also for NULL), "\r\n" or "\r" */
	bool trim_blocks;                          /* the newline after a block is dropped */
	bool lstrip_blocks;                        /* blanks before a block are dropped */
	bool keep_trailing_newline;
	bool lenient;        /* an undefined value prints as nothing, is false, and is empty */
	size_t output_limit; /* bytes of one rendering; 0: 1 GiB */
	size_t memory_limit; /* bytes of values made by one rendering; 0: 1 GiB */
	size_t loop_limit;   /* rounds of all loops of one rendering; 0: 100 million */
	size_t depth_limit;  /* statements and expressions inside each other, macros counted; 0: 4000 */
};
/* The settings of ingot's own templates: `//%` begins a line statement, blocks are trimmed, the last newline kept. */
extern const struct template_settings template_settings_kernels;

/* Finds the source of a template; false where there is none of that name.  The bytes stay as long as the environment.
 */
typedef bool template_loader(void *user, struct build *, const char *name, struct mapped *source);

/* Everything in `arena`; NULL settings are all zero.  Strings in settings are borrowed.  EXIT_USAGE where blocks,
 * variables and comments do not begin differently. */
struct environment *environment_new(
        struct build *, struct arena *, const struct template_settings *, template_loader *, void *user);
/* Globals, filters and tests of every template.  A later one replaces an earlier or a built-in one; names are borrowed.
 * A filter's or test's first parameter is the value it is applied to. */
void environment_set(struct environment *, const char *name, struct value);
void environment_function(
        struct environment *, const char *name, const char *parameters, template_function *, void *user);
void environment_filter(
        struct environment *, const char *name, const char *parameters, template_function *, void *user);
void environment_test(struct environment *, const char *name, const char *parameters, template_function *, void *user);

/* Compiles a template without rendering it; it is kept. */
void template_compile(struct environment *, const char *name);
/* Appends what the template makes of `globals` (a dict, whose arena takes new values) to `out`. */
void template_render(struct environment *, const char *name, struct value globals, struct text *out);

#endif
