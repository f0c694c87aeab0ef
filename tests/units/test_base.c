/* test_base.c: arena, vectors, text, names, files, and the way out. */
#include "unit.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/base.h"

static void arena_is_zeroed_and_aligned(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	for (size_t n = 1; n < 100000; n = n * 3 + 1) {
		unsigned char *p = arena_alloc(build.arena, n);
		assert_int_equal((uintptr_t)p % (n >= 64 ? 64 : 16), 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 255, n);
	}
	build_release(&build);
}

static void arena_limit_fails(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	build.arena->limit = 1 << 20;
	if (BUILD_TRY(&build)) {
		arena_array(build.arena, SIZE_MAX / 2, 3);
		assert_true(!"an overflowing product was allocated");
	}
	assert_int_equal(build.code, EXIT_LIMIT);
	if (BUILD_TRY(&build)) {
		for (;;)
			arena_alloc(build.arena, 1000);
	}
	assert_int_equal(build.code, EXIT_LIMIT);
	build_release(&build);
}

static void names_are_equal_pointers(void **state)
{
	(void)state;
	struct build build;
	const char *kept[2000];
	char text[16];
	build_init(&build);
	for (int i = 0; i < 2000; i++)
		kept[i] = name_of(build.names, text, (size_t)snprintf(text, sizeof text, "n%d", i));
	for (int i = 0; i < 2000; i++) {
		snprintf(text, sizeof text, "n%d", i);
		assert_ptr_equal(kept[i], name_is(build.names, text));
		assert_string_equal(kept[i], text);
	}
	build_release(&build);
}

static void vector_and_text_grow(void **state)
{
	(void)state;
	struct build build;
	struct text text;
	VECTOR(int) v = { 0 };
	build_init(&build);
	text_init(&text, &build);
	for (int i = 0; i < 1000; i++) {
		push(build.arena, &v, i);
		text_printf(&text, "%d,", i % 10);
	}
	assert_int_equal(v.count, 1000);
	assert_int_equal(v.at[999], 999);
	assert_int_equal(text.count, 2000);
	assert_memory_equal(text.at + 1990, "5,6,7,8,9,", 11);
	text_release(&text);
	build_release(&build);
}

static void message_escapes_control_bytes(void **state)
{
	(void)state;
	struct build build;
	build_init(&build);
	if (BUILD_TRY(&build))
		fail(&build, EXIT_INVALID, "a\033b", "line\n%d", 7);
	assert_int_equal(build.code, EXIT_INVALID);
	assert_string_equal(build.message, "a\\x1bb: line\\x0a7");
	build_release(&build);
}

static void files_appear_all_or_not(void **state)
{
	(void)state;
	struct build build;
	char folder[] = "/tmp/ingot-test-XXXXXX", path[64];
	assert_non_null(mkdtemp(folder));
	build_init(&build);
	for (int commit = 0; commit < 2; commit++) {
		struct file_set *set = file_set_new(&build, folder);
		file_set_add(set, "a.txt", "one", 3);
		file_set_add(set, "b.txt", "two", 3);
		if (commit)
			file_set_commit(set);
		file_set_drop(set);
		snprintf(path, sizeof path, "%s/b.txt", folder);
		assert_int_equal(access(path, F_OK) == 0, commit);
	}
	struct mapped mapped = file_map(&build, path);
	assert_int_equal(mapped.bytes, 3);
	assert_memory_equal(mapped.at, "two", 3);
	file_unmap(mapped);
	if (BUILD_TRY(&build))
		file_map(&build, "/nowhere/at/all");
	assert_int_equal(build.code, EXIT_USAGE);
	if (BUILD_TRY(&build))
		file_map(&build, folder);
	assert_int_equal(build.code, EXIT_USAGE);
	unlink(path);
	snprintf(path, sizeof path, "%s/a.txt", folder);
	unlink(path);
	assert_int_equal(rmdir(folder), 0); /* nothing else was left */
	build_release(&build);
}

/* Whatever allocation ends it, no folder is left that it made. */
static void folders_are_made_all_or_not(void **state)
{
	(void)state;
	char folder[] = "/tmp/ingot-test-XXXXXX", inner[64];
	volatile bool made = false;
	assert_non_null(mkdtemp(folder));
	snprintf(inner, sizeof inner, "%s/a/b/c", folder);
	for (long n = 1; !made; n++) {
		struct build build;
		build_init(&build);
		if (BUILD_TRY(&build)) {
			arena_fail_after(n);
			struct file_set *set = file_set_new(&build, inner);
			arena_fail_after(0);
			made = access(inner, F_OK) == 0;
			file_set_drop(set);
		}
		arena_fail_after(0);
		assert_true(made || build.code == EXIT_LIMIT);
		snprintf(inner, sizeof inner, "%s/a", folder);
		assert_int_equal(access(inner, F_OK), -1);
		snprintf(inner, sizeof inner, "%s/a/b/c", folder);
		build_release(&build);
	}
	assert_int_equal(rmdir(folder), 0);
}

static bool is_there(const char *folder, const char *name)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void killed_builds_are_tidied_up(void **state)
{
	(void)state;
	struct build build;
	char folder[] = "/tmp/ingot-test-XXXXXX", orphan[64], mine[64];
	int status;
	assert_non_null(mkdtemp(folder));
	build_init(&build);
	pid_t child = fork();
	if (!child) {
		file_set_add(file_set_new(&build, folder), "a.txt", "one", 3);
		kill(getpid(), SIGKILL);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	snprintf(orphan, sizeof orphan, ".new-%ld-a.txt", (long)child);
	snprintf(mine, sizeof mine, ".new-%ld-a.txt", (long)getpid());
	assert_true(is_there(folder, orphan));
	struct file_set *first = file_set_new(&build, folder), *second;
	assert_false(is_there(folder, orphan));
	file_set_add(first, "a.txt", "one", 3);
	file_set_add(first, ".new-notes", "two", 3); /* the names of others stay, whatever they look like */
	file_set_commit(first);
	first = file_set_new(&build, folder);
	file_set_add(first, "a.txt", "six", 3);
	second = file_set_new(&build, folder); /* this process lives, so its temporaries stay */
	assert_true(is_there(folder, mine) && is_there(folder, ".new-notes") && is_there(folder, "a.txt"));
	file_set_drop(first);
	file_set_drop(second);
	for (int i = 0; i < 2; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%s", folder, i ? "a.txt" : ".new-notes");
		unlink(path);
	}
	assert_int_equal(rmdir(folder), 0);
	build_release(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_is_zeroed_and_aligned),
		cmocka_unit_test(arena_limit_fails),
		cmocka_unit_test(names_are_equal_pointers),
		cmocka_unit_test(vector_and_text_grow),
		cmocka_unit_test(message_escapes_control_bytes),
		cmocka_unit_test(files_appear_all_or_not),
		cmocka_unit_test(folders_are_made_all_or_not),
		cmocka_unit_test(killed_builds_are_tidied_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
