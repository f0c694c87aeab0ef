/* test_npy.c: .npy files as NumPy writes them, as we do, and broken ones. */
#include "unit.h"
#include "base/npy.h"
#include <unistd.h>

static struct npy parse(struct build *build, const char *header, const void *data, size_t bytes)
{
	size_t n = strlen(header);
	unsigned char *file = arena_alloc(build->arena, 10 + n + bytes);
	memcpy(file, "\x93NUMPY\1\0", 8);
	file[8] = (unsigned char)n;
	file[9] = (unsigned char)(n >> 8);
	memcpy(file + 10, header, n);
	if (bytes)
		memcpy(file + 10 + n, data, bytes);
	return npy_parse(build, "test.npy", file, 10 + n + bytes);
}

static void what_is_written_reads_back(void **state)
{
	(void)state;
	struct build build;
	struct text text;
	int64_t extents[3] = { 2, 1, 3 };
	unsigned char data[6 * 16];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 37);
	build_init(&build);
	for (int type = 1; type < DTYPE_COUNT; type++)
		for (int rank = 0; rank <= 3 && dtypes[type].bits >= 8; rank++) {
			text_init(&text, &build);
			npy_print(&text, (enum dtype)type, rank, extents, data);
			struct npy npy = npy_parse(&build, "it", text.at, text.count);
			assert_int_equal(npy.type, *dtypes[type].numpy ? type : DTYPE_NONE);
			assert_int_equal(npy.item, dtypes[type].bits / 8);
			assert_int_equal(npy.rank, rank);
			assert_memory_equal(npy.extents, extents, (size_t)rank * 8);
			assert_memory_equal(npy.data, data, npy.bytes);
			assert_int_equal((text.count - npy.bytes) % 64, 0);
			text_release(&text);
		}
	build_release(&build);
}

static void orders_are_understood(void **state)
{
	(void)state;
	struct build build;
	const unsigned char big[12] = { 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 };
	const unsigned short c[6] = { 1, 2, 3, 4, 5, 6 }, transposed[6] = { 1, 3, 5, 2, 4, 6 };
	build_init(&build);
	struct npy npy = parse(&build, "{'descr': '>u2', 'fortran_order': False, 'shape': (2, 3), }\n", big, 12);
	assert_int_equal(npy.type, DTYPE_U16);
	assert_memory_equal(npy.data, c, 12);
	npy = parse(&build, "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3)}", big, 12);
	assert_memory_equal(npy.data, transposed, 12);
	npy = parse(&build, "{\"shape\": (6L,), \"fortran_order\": True, \"descr\": \"<u2\"}", c, 12);
	assert_memory_equal(npy.data, c, 12);
	build_release(&build);
}

static void broken_files_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *header;
		size_t bytes;
		enum exit_code code;
	} bad[] = {
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7, EXIT_INVALID },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9, EXIT_INVALID },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8, EXIT_INVALID },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (2", 8, EXIT_INVALID },
		{ "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}", 8, EXIT_INVALID },
		{ "{'descr': '<f4', 'fortran_order': False}", 8, EXIT_INVALID },
		{ "{'descr': '<f4", 8, EXIT_INVALID },
		{ "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8, EXIT_UNSUPPORTED },
		{ "{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}", 8, EXIT_INVALID },
		{ "{'descr': '<U0', 'fortran_order': False, 'shape': (3,)}", 0, EXIT_UNSUPPORTED },
		{ "{'descr': '<U', 'fortran_order': False, 'shape': (1,)}", 8, EXIT_UNSUPPORTED },
		{ "{'descr': '<U999999999', 'fortran_order': False, 'shape': (1,)}", 8, EXIT_UNSUPPORTED },
		{ "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 8, EXIT_UNSUPPORTED },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2)}", 0, EXIT_LIMIT },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 0, EXIT_INVALID },
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", 4,
		        EXIT_LIMIT },
		{ "", 8, EXIT_INVALID },
	};
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct build build;
		build_init(&build);
		if (BUILD_TRY(&build))
			parse(&build, bad[i].header, "0123456789", bad[i].bytes);
		assert_int_equal(build.code, bad[i].code);
		build_release(&build);
	}
}

static void a_file_of_our_own(void **state)
{
	(void)state;
	struct build build;
	char path[] = "/tmp/ingot-npy-XXXXXX";
	const float data[3] = { 1, -0.0f, 3 };
	const int64_t extents[1] = { 3 };
	close(mkstemp(path));
	build_init(&build);
	npy_write(&build, path, DTYPE_F32, 1, extents, data);
	struct npy npy = npy_read(&build, path);
	assert_int_equal(npy.bytes, 12);
	assert_memory_equal(npy.data, data, 12);
	assert_int_equal(truncate(path, 100), 0);
	if (BUILD_TRY(&build))
		npy_read(&build, path);
	assert_int_equal(build.code, EXIT_INVALID);
	unlink(path);
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(orders_are_understood),
		cmocka_unit_test(broken_files_are_refused),
		cmocka_unit_test(a_file_of_our_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
