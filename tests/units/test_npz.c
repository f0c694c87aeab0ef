/* test_npz.c: .npz archives as we write them, broken in every place, and ones that claim to be larger than they are. */
#include "unit.h"
#include "base/npz.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zip.h>

static const float numbers[6] = { 1, 2, 3, -4, 5e-20f, 6 };
static const int64_t shape[2] = { 2, 3 }, words[3] = { 7, -8, INT64_MAX }, three[1] = { 3 };

struct file {
	unsigned char *at;
	size_t bytes;
	char path[64];
};

static struct file load(const char *path)
{
	struct file file = { .at = malloc(1 << 20) };
	FILE *in = fopen(path, "rb");
	assert_non_null(in);
	file.bytes = fread(file.at, 1, 1 << 20, in);
	fclose(in);
	return file;
}

static struct file written(void)
{
	char folder[] = "/tmp/test-npz-XXXXXX", path[64];
	struct build build;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/all.npz", folder);
	build_init(&build);
	const struct npz_array arrays[] = { { "x", DTYPE_F32, 2, shape, numbers },
		{ "layer/Größe:0", DTYPE_I64, 1, three, words }, { "s", DTYPE_F32, 0, NULL, numbers + 3 } };
	npz_write(&build, path, arrays, 3);
	build_release(&build);
	struct file file = load(path);
	unlink(path);
	assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
	return file;
}

/* An archive of compressed zeros, by libzip itself. */
static struct file packed(size_t zeros, const char *first, const char *second)
{
	zip_error_t error;
	zip_error_init(&error);
	zip_source_t *whole = zip_source_buffer_create(NULL, 0, 0, &error);
	zip_source_keep(whole);
	zip_t *zip = zip_open_from_source(whole, ZIP_TRUNCATE, &error);
	struct build build;
	struct text text;
	build_init(&build);
	text_init(&text, &build);
	int64_t extents[1] = { (int64_t)zeros };
	void *data = calloc(zeros + 1, 1);
	npy_print(&text, DTYPE_U8, 1, extents, data);
	for (int i = 0; i < (second ? 2 : 1); i++)
		assert_int_equal(zip_file_add(zip, i ? second : first, zip_source_buffer(zip, text.at, text.count, 0),
		                         ZIP_FL_ENC_UTF_8),
		        i);
	assert_int_equal(zip_close(zip), 0);
	free(data);
	text_release(&text);
	build_release(&build);
	struct file file = { 0 };
	zip_stat_t info;
	assert_int_equal(zip_source_stat(whole, &info), 0);
	file.bytes = (size_t)info.size;
	file.at = malloc(file.bytes);
	assert_int_equal(zip_source_open(whole), 0);
	assert_int_equal(zip_source_read(whole, file.at, file.bytes), (zip_int64_t)file.bytes);
	zip_source_close(whole);
	zip_source_free(whole);
	return file;
}

static enum exit_code code_of(
        const unsigned char *bytes, size_t count, const char *name, char *message, struct npy *npy)
{
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		struct npy read = npz_parse(&build, "it.npz", bytes, count, name);
		if (npy)
			*npy = read;
		assert_true(npz_names_in(&build, "it.npz", bytes, count).count >= 1);
	}
	enum exit_code code = build.code;
	if (message)
		strcpy(message, build.message);
	build_release(&build);
	return code;
}

static void refused(const unsigned char *bytes, size_t count, const char *name, enum exit_code code, const char *part)
{
	char message[1024];
	assert_int_equal(code_of(bytes, count, name, message, NULL), code);
	if (!strstr(message, part))
		print_error("\"%s\" does not hold \"%s\"\n", message, part);
	assert_non_null(strstr(message, part));
}

static void what_is_written_reads_back(void **state)
{
	(void)state;
	struct file file = written(), again = written();
	assert_int_equal(file.bytes, again.bytes);
	assert_memory_equal(file.at, again.at, file.bytes); /* no dates */
	struct build build;
	build_init(&build);
	struct npz_names names = npz_names_in(&build, "it", file.at, file.bytes);
	assert_int_equal(names.count, 3);
	assert_string_equal(names.at[0], "x");
	assert_string_equal(names.at[1], "layer/Größe:0");
	struct npy x = npz_parse(&build, "it", file.at, file.bytes, "x");
	assert_int_equal(x.type, DTYPE_F32);
	assert_int_equal(x.rank, 2);
	assert_memory_equal(x.extents, shape, sizeof shape);
	assert_memory_equal(x.data, numbers, sizeof numbers);
	struct npy y = npz_parse(&build, "it", file.at, file.bytes, "layer/Größe:0");
	assert_int_equal(y.type, DTYPE_I64);
	assert_memory_equal(y.data, words, sizeof words);
	struct npy s = npz_parse(&build, "it", file.at, file.bytes, "s");
	assert_int_equal(s.rank, 0);
	assert_memory_equal(s.data, numbers + 3, 4);
	build_release(&build);
	free(file.at);
	free(again.at);
}

static void what_is_not_there_is_told(void **state)
{
	(void)state;
	struct file file = written(), twice = packed(10, "a.npy", "b.npy"), text = packed(10, "a.txt", NULL);
	refused(file.at, file.bytes, "z", EXIT_USAGE, "it.npz: holds no \"z\"; it holds \"x\", \"layer/Gr");
	refused(text.at, text.bytes, "a", EXIT_USAGE, "holds no \"a\"; it holds no array");
	for (size_t i = 0; i + 5 < twice.bytes; i++)
		if (!memcmp(twice.at + i, "b.npy", 5))
			twice.at[i] = 'a';
	refused(twice.at, twice.bytes, "a", EXIT_INVALID, "holds \"a\" twice");
	refused((const unsigned char *)"no zip at all, this", 19, "x", EXIT_INVALID,
	        "it.npz: is no .npz file: Not a zip archive");
	free(file.at);
	free(twice.at);
	free(text.at);
}

/* Cut anywhere, any byte changed: one message, or the same numbers (bytes that nobody reads, such as dates). */
static void broken_archives_end_in_a_message(void **state)
{
	(void)state;
	struct file files[2] = { written(), packed(300, "x.npy", NULL) };
	for (int f = 0; f < 2; f++) {
		unsigned char *at = files[f].at, want[300] = { 0 };
		struct npy npy;
		if (f == 0)
			memcpy(want, numbers, sizeof numbers);
		for (size_t n = 0; n < files[f].bytes; n++)
			assert_true(code_of(at, n, "x", NULL, NULL) != EXIT_RIGHT);
		for (size_t i = 0; i < files[f].bytes; i++)
			for (int how = 0; how < 3; how++) {
				unsigned char old = at[i];
				at[i] = how == 0 ? old ^ 1 : how == 1 ? old ^ 0x80 : 0xff;
				enum exit_code code = code_of(at, files[f].bytes, "x", NULL, &npy);
				assert_true(code == EXIT_RIGHT || code == EXIT_USAGE || code == EXIT_INVALID
				        || code == EXIT_UNSUPPORTED || code == EXIT_LIMIT);
				at[i] = old;
			}
		free(at);
	}
}

static void claim(struct file *file, size_t at, uint32_t size)
{
	for (int i = 0; i < 4; i++)
		file->at[at + (size_t)i] = (unsigned char)(size >> 8 * i);
}

/* The unpacked size stands in the central directory, 24 bytes from its entry's beginning, and at 22 of the local
 * header. */
static void sizes_are_not_believed(void **state)
{
	(void)state;
	struct file file = packed(100000, "x.npy", NULL), stored = written();
	size_t entry = 0;
	while (memcmp(file.at + entry, "PK\1\2", 4))
		entry++;
	assert_int_equal(code_of(file.at, file.bytes, "x", NULL, NULL), EXIT_RIGHT);
	claim(&file, entry + 24, 100);
	claim(&file, 22, 100);
	refused(file.at, file.bytes, "x", EXIT_INVALID, "member \"x\"");
	claim(&file, entry + 24, 1 << 30 | 1);
	claim(&file, 22, 1 << 30 | 1);
	refused(file.at, file.bytes, "x", EXIT_LIMIT,
	        "its compressed members, up to \"x\", have more than 1073741824 bytes: store them (numpy.savez)");
	for (entry = 0; memcmp(stored.at + entry, "PK\1\2", 4);)
		entry++;
	claim(&stored, entry + 24, 1 << 30);
	refused(stored.at, stored.bytes, "x", EXIT_INVALID, "has 1073741824 bytes, more than the file");
	free(file.at);
	free(stored.at);
}

static void places_that_cannot_be_written(void **state)
{
	(void)state;
	char folder[] = "/tmp/test-npz-XXXXXX", path[64];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/one.npz", folder);
	const struct npz_array array = { "x", DTYPE_F32, 2, shape, numbers },
	                       bad = { "x\xff\xfe", DTYPE_F32, 2, shape, numbers },
	                       nothing = { "x", DTYPE_NONE, 2, shape, numbers };
	const struct {
		const char *path;
		const struct npz_array *array;
		enum exit_code code;
		const char *part;
	} cases[] = {
		{ "/nowhere/at/all.npz", &array, EXIT_USAGE,
		        "/nowhere/at/all.npz: cannot be written: No such file or directory" },
		{ path, &bad, EXIT_UNSUPPORTED, "cannot hold a member called \"x\\xff\\xfe.npy\"" },
		{ path, &nothing, EXIT_UNSUPPORTED, ".npy has no elements of" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct build build;
		build_init(&build);
		if (BUILD_TRY(&build))
			npz_write(&build, cases[i].path, cases[i].array, 1);
		assert_int_equal(build.code, cases[i].code);
		if (!strstr(build.message, cases[i].part))
			print_error("\"%s\" does not hold \"%s\"\n", build.message, cases[i].part);
		assert_non_null(strstr(build.message, cases[i].part));
		assert_int_not_equal(access(cases[i].path, F_OK), 0);
		build_release(&build);
	}
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(what_is_not_there_is_told),
		cmocka_unit_test(broken_archives_end_in_a_message),
		cmocka_unit_test(sizes_are_not_believed),
		cmocka_unit_test(places_that_cannot_be_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
