/* files.c: maps files to read; writes sets of files that appear all or not at all. */
#include "base/base.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_MOST = 1 << 30 }; /* bytes of standard input */

static void input_read(struct build *build)
{
	char part[1 << 16];
	ssize_t n = 1;
	build->input = arena_new(build->arena, struct text);
	text_init(build->input, build);
	while (n && build->input->count <= INPUT_MOST) {
		n = read(0, part, sizeof part);
		if (n < 0 && errno != EINTR)
			fail(build, EXIT_ENVIRONMENT, "standard input", "%s", strerror(errno));
		text_add(build->input, part, n > 0 ? (size_t)n : 0);
	}
	if (build->input->count > INPUT_MOST)
		fail(build, EXIT_LIMIT, "standard input", "has more than 1 GiB: a file may have more");
}

static struct mapped input_map(struct build *build)
{
	if (!build->input && isatty(0))
		fail(build, EXIT_USAGE, "standard input", "is a terminal");
	if (!build->input)
		input_read(build);
	size_t bytes = build->input->count;
	if (!bytes)
		return (struct mapped){ 0 };
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		fail(build, EXIT_LIMIT, "standard input", "cannot be kept: %s", strerror(errno));
	return (struct mapped){ .at = memcpy(at, build->input->at, bytes), .bytes = bytes };
}

struct mapped file_map(struct build *build, const char *path)
{
	struct mapped mapped = { .of_file = true };
	struct stat info;
	if (!strcmp(path, "-"))
		return input_map(build);
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */
	if (file < 0)
		fail(build, EXIT_USAGE, path, "%s", strerror(errno));
	if (fstat(file, &info) || !S_ISREG(info.st_mode)) {
		close(file);
		fail(build, EXIT_USAGE, path, "is not a regular file");
	}
	mapped.bytes = (size_t)info.st_size;
	if (mapped.bytes) {
		void *at = mmap(NULL, mapped.bytes, PROT_READ, MAP_PRIVATE, file, 0);
		if (at == MAP_FAILED) {
			close(file);
			fail(build, EXIT_LIMIT, path, "cannot be mapped: %s", strerror(errno));
		}
		mapped.at = at;
	}
	close(file);
	return mapped;
}

void file_unmap(struct mapped mapped)
{
	if (mapped.bytes)
		munmap((void *)(uintptr_t)mapped.at, mapped.bytes);
}

struct kept {
	struct mapped mapped;
	struct kept *next;
};

void file_keep(struct build *build, struct mapped mapped)
{
	struct kept *kept = arena_new(build->arena, struct kept);
	*kept = (struct kept){ mapped, build->kept };
	build->kept = kept;
}

void files_forget(struct build *build)
{
	for (const struct kept *kept = build->kept; kept; kept = kept->next)
		if (kept->mapped.of_file && kept->mapped.bytes)
			(void)madvise((void *)(uintptr_t)kept->mapped.at, kept->mapped.bytes, MADV_DONTNEED);
}

void files_release(struct build *build)
{
	for (; build->kept; build->kept = build->kept->next)
		file_unmap(build->kept->mapped);
	if (build->input)
		text_release(build->input);
	build->input = NULL;
}

#define PREFIX ".new-" /* of temporaries: .new-PROCESS-NAME */

struct file_set {
	struct build *build;
	const char *directory;
	bool done;
	VECTOR(struct {
		const char *name;
		char *temporary;
	})
	files;
	VECTOR(const char *) folders; /* `directory`, those above and below it: that were made here, in this order */
};

enum exit_code file_code(int reason)
{
	return reason == ENOSPC || reason == EDQUOT || reason == EROFS || reason == EIO || reason == EFBIG
	        ? EXIT_ENVIRONMENT
	        : EXIT_USAGE;
}

static void make_directories(struct file_set *set)
{
	struct build *build = set->build;
	const char *all = set->directory;
	size_t made = 0;
	int reason = 0;
	/* An allocation may end the build: none stands between the first folder that is made and who removes it. */
	for (const char *p = all + 1; p[-1]; p++)
		if (*p == '/' || !*p)
			push(build->arena, &set->folders, arena_copy(build->arena, all, (size_t)(p - all)));
	for (size_t i = 0; i < set->folders.count && !reason; i++)
		if (!mkdir(set->folders.at[i], 0777))
			set->folders.at[made++] = set->folders.at[i];
		else if (errno != EEXIST)
			reason = errno;
	set->folders.count = made;
	struct stat info;
	if (!reason && (stat(set->directory, &info) || !S_ISDIR(info.st_mode)))
		reason = ENOTDIR;
	if (reason) {
		file_set_drop(set);
		fail(build, file_code(reason), set->directory, "cannot be made: %s", strerror(reason));
	}
}

/* What a build that was killed left behind: temporaries of processes that are gone.  Nothing here fails: it is only
 * tidying. */
static void remove_orphans(const char *directory)
{
	DIR *entries = opendir(directory);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		char *end;
		if (strncmp(entry->d_name, PREFIX, sizeof PREFIX - 1))
			continue;
		long process = strtol(entry->d_name + sizeof PREFIX - 1, &end, 10);
		if (*end == '-' && process > 0 && process <= INT_MAX && kill((pid_t)process, 0) && errno == ESRCH)
			unlinkat(dirfd(entries), entry->d_name, 0);
	}
	if (entries)
		closedir(entries);
}

struct file_set *file_set_new(struct build *build, const char *directory)
{
	struct file_set *set = arena_new(build->arena, struct file_set);
	set->build = build;
	set->directory = arena_copy(build->arena, directory, strlen(directory));
	make_directories(set);
	remove_orphans(directory);
	return set;
}

static void make_folder(struct file_set *set, const char *path)
{
	char *slash = strrchr(path, '/');
	struct stat info;
	if (!stat(path, &info) && S_ISDIR(info.st_mode))
		return;
	make_folder(set, arena_copy(set->build->arena, path, (size_t)(slash - path)));
	push(set->build->arena, &set->folders, path); /* first: an allocation may end the build */
	if (mkdir(path, 0777) && errno != EEXIST)
		fail(set->build, file_code(errno), path, "cannot be made: %s", strerror(errno));
}

const char *file_set_path(struct file_set *set, const char *name)
{
	FOR_ALL (i, set->files)
		if (!strcmp(set->files.at[i].name, name))
			return set->files.at[i].temporary;
	struct arena *arena = set->build->arena;
	/* The ending stays, as compilers judge by it; the process id keeps two builds into one folder apart. */
	const char *slash = strrchr(name, '/');
	int folder = slash ? (int)(slash - name) + 1 : 0;
	if (slash)
		make_folder(set, arena_printf(arena, "%s/%.*s", set->directory, folder - 1, name));
	char *temporary = arena_printf(
	        arena, "%s/%.*s" PREFIX "%ld-%s", set->directory, folder, name, (long)getpid(), name + folder);
	push(arena, &set->files, (__typeof__(*set->files.at)){ arena_copy(arena, name, strlen(name)), temporary });
	return temporary;
}

const char *file_set_name(const struct file_set *set, size_t i)
{
	return i < set->files.count ? set->files.at[i].name : NULL;
}

void file_set_add(struct file_set *set, const char *name, const void *bytes, size_t count)
{
	const char *path = file_set_path(set, name);
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	const char *at = bytes;
	if (file < 0)
		fail(set->build, file_code(errno), path, "cannot be written: %s", strerror(errno));
	while (count) {
		ssize_t n = write(file, at, count < 1u << 30 ? count : 1u << 30);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int reason = errno;
			close(file);
			fail(set->build, EXIT_ENVIRONMENT, path, "cannot be written: %s", strerror(reason));
		}
		at += n;
		count -= (size_t)n;
	}
	if (close(file))
		fail(set->build, EXIT_ENVIRONMENT, path, "cannot be written: %s", strerror(errno));
}

void file_set_commit(struct file_set *set)
{
	FOR_ALL (i, set->files) {
		char *final = arena_printf(set->build->arena, "%s/%s", set->directory, set->files.at[i].name);
		if (rename(set->files.at[i].temporary, final))
			fail(set->build, EXIT_ENVIRONMENT, final, "cannot be written: %s", strerror(errno));
	}
	set->done = true;
}

void file_set_drop(struct file_set *set)
{
	for (size_t i = 0; set && !set->done && i < set->files.count; i++)
		unlink(set->files.at[i].temporary);
	while (set && !set->done && set->folders.count)
		rmdir(set->folders.at[--set->folders.count]);
}

char *folder_temporary(struct build *build, struct arena *arena)
{
	const char *below = getenv("TMPDIR");
	char *folder = arena_printf(arena, "%s/ingot-XXXXXX", below ? below : "/tmp");
	if (!mkdtemp(folder))
		fail(build, EXIT_ENVIRONMENT, NULL, "%s%s: no temporary folder can be made there: %s",
		        below ? "TMPDIR=" : "", below ? below : "/tmp", strerror(errno));
	return folder;
}
