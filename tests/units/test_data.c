/* test_data.c: comparing of outputs: each element type by its own values, with its own tolerance. */
#include "unit.h"
#include "cli/data.c" /* of the program, in no library */
#include <math.h>

/* Whether `got` passes where `want` is right: n elements of a type, ONNX's tolerance. */
static bool passes(enum dtype type, int n, const void *want, const void *got)
{
	struct build build;
	build_init(&build);
	struct definition made = { .type = type, .rank = 1, .extents = { n } };
	struct array array = { .type = type,
		.rank = 1,
		.extents = { n },
		.data = want,
		.bytes = dtype_bytes(type, (size_t)n),
		.atol = -1 };
	bool right = data_compare(&build, &array, &made, got, true).right;
	build_release(&build);
	return right;
}

/* Whatever the type, other bytes are other values (0x11 and 0x12 repeated are no two names of one), and the same are
 * the same. */
static void every_type_is_compared(void **state)
{
	(void)state;
	_Alignas(16) uint8_t a[64], b[64];
	memset(a, 0x11, sizeof a);
	memset(b, 0x52, sizeof b);
	for (int type = 1; type < DTYPE_COUNT; type++) {
		bool whole = type != DTYPE_STRING;
		if (passes((enum dtype)type, 4, a, a) != whole || passes((enum dtype)type, 4, a, b))
			print_error("%s\n", dtypes[type].text);
		assert_int_equal(passes((enum dtype)type, 4, a, a), whole);
		assert_false(passes((enum dtype)type, 4, a, b));
	}
}

static void small_floats_have_their_values(void **state)
{
	(void)state;
	static const struct {
		enum dtype type;
		uint16_t bits, near, far;
	} rows[] = {
		{ DTYPE_F16, 0x3c00, 0x3c01, 0x3c04 },  /* 1, 1 + 2^-10, 1 + 2^-8 */
		{ DTYPE_BF16, 0x3f80, 0x3f81, 0x3f84 }, /* 1, 1 + 2^-7, 1 + 2^-5 */
		{ DTYPE_F8E4M3FN, 0x7f, 0xff, 0x7e },   /* NaN, NaN, 448 */
		{ DTYPE_F8E5M2, 0x7d, 0x7f, 0x7c },     /* NaN, NaN, inf */
		{ DTYPE_F8E5M2FNUZ, 0x40, 0x40, 0x80 }, /* 1, NaN */
		{ DTYPE_F8E4M3FNUZ, 0x00, 0x00, 0x80 }, /* 0, NaN */
		{ DTYPE_F8E8M0, 0x7f, 0x7f, 0x80 },     /* 1, 2 */
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t bits[3][2] = { { (uint8_t)rows[i].bits, (uint8_t)(rows[i].bits >> 8) },
			{ (uint8_t)rows[i].near, (uint8_t)(rows[i].near >> 8) },
			{ (uint8_t)rows[i].far, (uint8_t)(rows[i].far >> 8) } };
		_Alignas(2) uint8_t want[2], got[2];
		memcpy(want, bits[0], 2);
		memcpy(got, bits[1], 2);
		assert_true(passes(rows[i].type, 1, want, got));
		memcpy(got, bits[2], 2);
		assert_false(passes(rows[i].type, 1, want, got));
	}
}

static void packed_elements_are_apart(void **state)
{
	(void)state;
	const uint8_t want[2] = { 0x21, 0x43 }, last[2] = { 0x21, 0x53 };
	assert_false(passes(DTYPE_I4, 4, want, last));
	assert_false(passes(DTYPE_F4E2M1, 4, want, last));
	const float c[2] = { 1, 2 }, imaginary[2] = { 1, 3 };
	assert_false(passes(DTYPE_C64, 1, c, imaginary));
}

/* Bits of any NaN are those of one; those of -0 and 0 differ. */
static void hashes_are_of_bits(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	const uint32_t a[2] = { 0x7fc00000, 0 }, b[2] = { 0xff800001, 0 }, c[2] = { 0x7fc00000, 0x80000000 };
	assert_true(data_hash(&build, DTYPE_F32, a, 2) == data_hash(&build, DTYPE_F32, b, 2));
	assert_true(data_hash(&build, DTYPE_F32, a, 2) != data_hash(&build, DTYPE_F32, c, 2));
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_compared),
		cmocka_unit_test(small_floats_have_their_values),
		cmocka_unit_test(packed_elements_are_apart),
		cmocka_unit_test(hashes_are_of_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
