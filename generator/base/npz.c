/* npz.c: .npz -> arrays, and back.  An archive is opened in memory that is mapped, asked for one thing and closed, so
 * that nothing of libzip's outlives a failure. */
#include "base/npz.h"
#include <errno.h>
#include <stdio.h>
#include <zip.h>

struct archive {
	struct build *build;
	const char *where;
	zip_t *zip;
	zip_file_t *file;
	struct npz_names names;
};

bool npz_is(const char *path)
{
	size_t n = strlen(path);
	return n >= 4 && !strcmp(path + n - 4, ".npz");
}

static const char *reason_of(struct build *build, int code)
{
	zip_error_t error;
	zip_error_init_with_code(&error, code);
	const char *text = zip_error_strerror(&error);
	text = arena_copy(build->arena, text, strlen(text));
	zip_error_fini(&error);
	return text;
}

static void open_archive(struct archive *a, const void *bytes, size_t count)
{
	zip_error_t error;
	zip_error_init(&error);
	zip_source_t *source = zip_source_buffer_create(bytes, count, 0, &error);
	a->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
	int code = zip_error_code_zip(&error);
	zip_error_fini(&error);
	if (!a->zip) {
		if (source)
			zip_source_free(source);
		fail(a->build, code == ZIP_ER_MEMORY ? EXIT_LIMIT : EXIT_INVALID, a->where, "is no .npz file: %s",
		        reason_of(a->build, code));
	}
	uint64_t unpacked = 0;
	for (zip_int64_t i = 0; i < zip_get_num_entries(a->zip, 0); i++) {
		zip_stat_t info;
		const uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
		if (zip_stat_index(a->zip, (zip_uint64_t)i, 0, &info) || (info.valid & needed) != needed)
			fail(a->build, EXIT_INVALID, a->where, "member %lld has no entry of its own", (long long)i);
		size_t n = strlen(info.name);
		if (n < 4 || strcmp(info.name + n - 4, ".npy"))
			continue;
		const char *name = arena_copy(a->build->arena, info.name, n - 4);
		if (info.comp_method == ZIP_CM_STORE && info.size > count)
			fail(a->build, EXIT_INVALID, a->where, "member \"%s\" has %llu bytes, more than the file", name,
			        (unsigned long long)info.size);
		if (info.comp_method != ZIP_CM_STORE
		        && (__builtin_add_overflow(unpacked, info.size, &unpacked) || unpacked > NPZ_UNPACKED_MOST))
			fail(a->build, EXIT_LIMIT, a->where,
			        "its compressed members, up to \"%s\", have more than %llu bytes: store them "
			        "(numpy.savez)",
			        name, (unsigned long long)NPZ_UNPACKED_MOST);
	}
}

static void list_names(struct archive *a)
{
	VECTOR(const char *) names = { 0 };
	for (zip_int64_t i = 0; i < zip_get_num_entries(a->zip, 0); i++) {
		const char *name = zip_get_name(a->zip, (zip_uint64_t)i, 0);
		size_t n = name ? strlen(name) : 0;
		if (n >= 4 && !strcmp(name + n - 4, ".npy"))
			push(a->build->arena, &names, arena_copy(a->build->arena, name, n - 4));
	}
	a->names = (struct npz_names){ names.at, names.count };
}

static zip_uint64_t find(struct archive *a, const char *name)
{
	zip_int64_t found = -1, count = zip_get_num_entries(a->zip, 0);
	size_t n = strlen(name);
	for (zip_int64_t i = 0; i < count; i++) {
		const char *one = zip_get_name(a->zip, (zip_uint64_t)i, 0);
		if (!one || strncmp(one, name, n) || strcmp(one + n, ".npy"))
			continue;
		if (found >= 0)
			fail(a->build, EXIT_INVALID, a->where, "holds \"%s\" twice", name);
		found = i;
	}
	if (found < 0) {
		struct text known;
		text_init(&known, a->build);
		list_names(a);
		for (size_t i = 0; i < a->names.count && i < 10; i++)
			text_printf(&known, "%s\"%.60s\"", i ? ", " : "", a->names.at[i]);
		const char *list = arena_printf(a->build->arena, "%.*s%s", (int)known.count, known.at ? known.at : "",
		        a->names.count > 10 ? ", …" : "");
		text_release(&known);
		fail(a->build, EXIT_USAGE, a->where,
		        *list ? "holds no \"%s\"; it holds %s" : "holds no \"%s\"; it holds no array", name, list);
	}
	return (zip_uint64_t)found;
}

static NORETURN void broken_member(struct archive *a, const char *name, int code)
{
	enum exit_code exit = code == ZIP_ER_COMPNOTSUPP || code == ZIP_ER_ENCRNOTSUPP || code == ZIP_ER_NOPASSWD
	        ? EXIT_UNSUPPORTED
	        : code == ZIP_ER_MEMORY ? EXIT_LIMIT
	                                : EXIT_INVALID;
	fail(a->build, exit, a->where, "member \"%s\": %s", name,
	        code == ZIP_ER_NOPASSWD ? "is encrypted" : reason_of(a->build, code));
}

static struct npy read_member(struct archive *a, const char *name)
{
	zip_uint64_t index = find(a, name);
	zip_stat_t info;
	zip_stat_index(a->zip, index, 0, &info); /* was right when the archive was opened */
	if (!(a->file = zip_fopen_index(a->zip, index, 0)))
		broken_member(a, name, zip_error_code_zip(zip_get_error(a->zip)));
	/* A byte more than it says: so a member that holds more is seen, and reading to its end checks its sum. */
	size_t room, got = 0;
	if (!size_add((size_t)info.size, 1, &room))
		fail(a->build, EXIT_LIMIT, a->where, "member \"%s\" has more bytes than can be addressed", name);
	uint8_t *data = arena_alloc(a->build->arena, room);
	zip_int64_t n;
	while (got < room && (n = zip_fread(a->file, data + got, room - got)) != 0) {
		if (n < 0)
			broken_member(a, name, zip_error_code_zip(zip_file_get_error(a->file)));
		got += (size_t)n;
	}
	if (got != info.size)
		fail(a->build, EXIT_INVALID, a->where, "member \"%s\" has %s bytes than its entry says", name,
		        got < info.size ? "fewer" : "more");
	return npy_parse(a->build, arena_printf(a->build->arena, "%s: %s.npy", a->where, name), data, got);
}

static void close_archive(struct archive *a)
{
	if (a->file)
		zip_fclose(a->file);
	if (a->zip)
		zip_discard(a->zip);
}

/* `name` NULL: the names.  What is mapped goes here too, whatever happens. */
static struct npy ask(struct archive *a, struct mapped bytes, bool unmap, const char *name)
{
	struct build *build = a->build;
	jmp_buf *out = build->out, here;
	struct npy *npy = arena_new(build->arena, struct npy);
	build->out = &here;
	if (setjmp(here) == 0) {
		open_archive(a, bytes.at, bytes.bytes);
		if (name)
			*npy = read_member(a, name);
		else
			list_names(a);
	}
	build->out = out;
	close_archive(a);
	if (unmap)
		file_unmap(bytes);
	if (build->code)
		longjmp(*out, 1);
	return *npy;
}

static struct archive *archive_of(struct build *build, const char *where)
{
	struct archive *a = arena_new(build->arena, struct archive);
	a->build = build;
	a->where = where;
	return a;
}

struct npz_names npz_names_in(struct build *build, const char *where, const void *bytes, size_t count)
{
	struct archive *a = archive_of(build, where);
	ask(a, (struct mapped){ .at = bytes, .bytes = count }, false, NULL);
	return a->names;
}

struct npz_names npz_names(struct build *build, const char *path)
{
	struct archive *a = archive_of(build, path);
	ask(a, file_map(build, path), true, NULL);
	return a->names;
}

struct npy npz_parse(struct build *build, const char *where, const void *bytes, size_t count, const char *name)
{
	return ask(archive_of(build, where), (struct mapped){ .at = bytes, .bytes = count }, false, name);
}

struct npy npz_read(struct build *build, const char *path, const char *name)
{
	struct archive *a = archive_of(build, path);
	return ask(a, file_map(build, path), true, name);
}

/* ---- writing ---- */
static NORETURN void not_written(struct archive *a, zip_error_t *error)
{
	bool system = zip_error_system_type(error) == ZIP_ET_SYS;
	int reason = system ? zip_error_code_system(error) : 0;
	const char *text = zip_error_strerror(error);
	text = system ? strerror(reason) : arena_copy(a->build->arena, text, strlen(text));
	fail(a->build, system ? file_code(reason) : EXIT_USAGE, a->where, "cannot be written: %s", text);
}

static void write_members(struct archive *a, struct text *texts, const struct npz_array *arrays, size_t count)
{
	zip_error_t error;
	zip_error_init(&error);
	int code;
	if (!(a->zip = zip_open(a->where, ZIP_CREATE | ZIP_TRUNCATE, &code))) {
		zip_error_init_with_code(&error, code);
		not_written(a, &error);
	}
	FOR (i, count) {
		const char *name = arena_printf(a->build->arena, "%s.npy", arrays[i].name);
		npy_print(&texts[i], arrays[i].type, arrays[i].rank, arrays[i].extents, arrays[i].data);
		zip_source_t *source = zip_source_buffer(a->zip, texts[i].at, texts[i].count, 0);
		zip_int64_t index = source ? zip_file_add(a->zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
		if (source && index < 0)
			zip_source_free(source);
		if (index < 0 || zip_set_file_compression(a->zip, (zip_uint64_t)index, ZIP_CM_STORE, 0)
		        || zip_file_set_dostime(
		                a->zip, (zip_uint64_t)index, 0, 1 << 5 | 1, 0)) { /* 1980-01-01, as NumPy has it */
			int why = zip_error_code_zip(zip_get_error(a->zip));
			fail(a->build, EXIT_UNSUPPORTED, a->where, "cannot hold a member called \"%s\": %s", name,
			        reason_of(a->build, why));
		}
	}
	if (zip_close(a->zip))
		not_written(a, zip_get_error(a->zip));
	a->zip = NULL;
}

void npz_write(struct build *build, const char *path, const struct npz_array *arrays, size_t count)
{
	struct archive *a = archive_of(build, path);
	struct text *texts = arena_new_array(build->arena, struct text, count + 1);
	FOR (i, count)
		text_init(&texts[i], build);
	jmp_buf *out = build->out, here;
	build->out = &here;
	if (setjmp(here) == 0)
		write_members(a, texts, arrays, count);
	build->out = out;
	close_archive(a);
	FOR (i, count)
		text_release(&texts[i]);
	if (build->code)
		longjmp(*out, 1);
}
