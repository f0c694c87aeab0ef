/* tests.c: what `is` knows. */
#include "template/engine.h"

#define TEST(name, ...) \
	static struct value test_##name(struct template_call *call) \
	{ \
		const struct value a = call->at[0]; \
		(void)a; \
		return value_bool(__VA_ARGS__); \
	}
#define B call->at[1]

static bool remainder_is(struct template_call *call, struct value by, int64_t wanted)
{
	return value_equal(
	        call->renderer, value_arithmetic(call->renderer, NODE_MOD, call->at[0], by), value_int(wanted));
}

/* An undefined value is callable: only the call says that it is undefined. */
static bool is_callable(struct value v)
{
	return v.kind == VALUE_FUNCTION || v.kind == VALUE_UNDEFINED
	        || (v.kind == VALUE_OBJECT && v.object->class->call);
}

static bool is_iterable(struct renderer *r, struct value v)
{
	if (v.kind == VALUE_UNDEFINED)
		undefined_use(r, v);
	return v.kind == VALUE_UNDEFINED || (v.kind >= VALUE_STRING && v.kind <= VALUE_RANGE);
}

static bool known(struct template_call *call, const struct dict *dict)
{
	struct value name = call->at[0];
	return name.kind == VALUE_STRING && builtin_find(dict, name.bytes, name.count);
}

TEST(odd, remainder_is(call, value_int(2), 1))
TEST(even, remainder_is(call, value_int(2), 0))
TEST(divisibleby, remainder_is(call, B, 0))
TEST(defined, a.kind != VALUE_UNDEFINED)
TEST(undefined, a.kind == VALUE_UNDEFINED)
TEST(filter, known(call, call->environment->filters))
TEST(test, known(call, call->environment->tests))
TEST(none, a.kind == VALUE_NONE)
TEST(boolean, a.kind == VALUE_BOOL)
TEST(false, a.kind == VALUE_BOOL && !a.truth)
TEST(true, a.kind == VALUE_BOOL && a.truth)
TEST(integer, a.kind == VALUE_INT)
TEST(float, a.kind == VALUE_FLOAT)
TEST(lower, string_has_case(value_to_string(call->renderer, a), false))
TEST(upper, string_has_case(value_to_string(call->renderer, a), true))
TEST(string, a.kind == VALUE_STRING)
TEST(mapping, a.kind == VALUE_DICT)
TEST(number, value_is_number(a))
TEST(sequence, (a.kind >= VALUE_STRING && a.kind <= VALUE_RANGE && !(a.kind == VALUE_LIST && a.view)))
TEST(iterable, is_iterable(call->renderer, a))
TEST(callable, is_callable(a))
TEST(sameas, value_identical(a, B))
TEST(escaped, false)
TEST(in, value_in(call->renderer, a, B))
TEST(eq, value_equal(call->renderer, a, B))
TEST(ne, !value_equal(call->renderer, a, B))
TEST(lt, value_less(call->renderer, a, B, "<", false))
TEST(le, value_less(call->renderer, a, B, "<=", true))
TEST(gt, value_less(call->renderer, B, a, ">", false))
TEST(ge, value_less(call->renderer, B, a, ">=", true))

#define ROW(name) \
	{ \
#name, "value", test_##name, NULL \
	}
#define ROW2(name) \
	{ \
#name, "value .other", test_##name, NULL \
	}
#define ALIAS(n, name) \
	{ \
		n, "value .other", test_##name, NULL \
	}
const struct builtin builtin_tests[] = { ROW(odd), ROW(even), { "divisibleby", "value num", test_divisibleby, NULL },
	ROW(defined), ROW(undefined), ROW(filter), ROW(test), ROW(none), ROW(boolean), ROW(false), ROW(true),
	ROW(integer), ROW(float), ROW(lower), ROW(upper), ROW(string), ROW(mapping), ROW(number), ROW(sequence),
	ROW(iterable), ROW(callable), { "sameas", "value other", test_sameas, NULL }, ROW(escaped),
	{ "in", "value seq", test_in, NULL }, ALIAS("==", eq), ROW2(eq), ALIAS("equalto", eq), ALIAS("!=", ne),
	ROW2(ne), ALIAS("<", lt), ROW2(lt), ALIAS("lessthan", lt), ALIAS("<=", le), ROW2(le), ALIAS(">", gt), ROW2(gt),
	ALIAS("greaterthan", gt), ALIAS(">=", ge), ROW2(ge), { 0 } };
