/* external.c: data of constants in files beside the model.
 *
 * The path comes from the model, so it is walked folder by folder from the model's own: no "..", no absolute path, no
 * link of either kind, nothing but a regular file.  (A hard link is a way to another folder that no look at the
 * path shows: CVE-2026-34446.)  Files stay mapped, as constants borrow from them. */
#include "frontends/reader.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t number(struct reader *reader, const char *where, const char *key, struct bytes value)
{
	uint64_t n = 0;
	FOR_ALL (i, value) {
		unsigned digit = (unsigned char)value.at[i] - '0';
		if (digit > 9 || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n)) {
			value.count = 0;
			break;
		}
	}
	if (!value.count)
		fail(reader->build, EXIT_INVALID, where,
		        "the %s of its external data is no number that fits in 64 bits", key);
	return n;
}

static bool is(struct bytes bytes, const char *word)
{
	return bytes.count == strlen(word) && !memcmp(bytes.at, word, bytes.count);
}

void external_entry(
        struct reader *reader, const char *where, struct external *external, struct bytes key, struct bytes value)
{
	if (is(key, "location"))
		external->location = reader_name(reader, value.at, value.count);
	else if (is(key, "offset"))
		external->offset = number(reader, where, "offset", value);
	else if (is(key, "length"))
		external->length = number(reader, where, "length", value), external->has_length = true;
	else if (!is(key, "checksum") && !is(key, "basepath")) /* written by some, needed by none */
		fail(reader->build, EXIT_INVALID, where, "its external data has an unknown key \"%.*s\"",
		        (int)(key.count < 60 ? key.count : 60), key.at);
}

static NORETURN void refuse(struct reader *reader, const char *where, const char *location, const char *why)
{
	fail(reader->build, EXIT_INVALID, where, "external data \"%.200s\" %s", location, why);
}

/* The folder that holds the last part of the path, open; *last is that part. */
static int walk(struct reader *reader, const char *where, const char *location, const char **last)
{
	char part[256];
	int folder = open(*reader->folder ? reader->folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		refuse(reader, where, location, "cannot be reached: the model's folder does not open");
	for (;;) {
		size_t n = strcspn(location, "/");
		const char *rest = location + n + strspn(location + n, "/");
		if (!*rest) {
			*last = location;
			return folder;
		}
		if (n >= sizeof part) {
			close(folder);
			refuse(reader, where, location, "has a part that is too long");
		}
		memcpy(part, location, n);
		part[n] = 0;
		int next = openat(folder, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int reason = errno;
		close(folder);
		if (next < 0)
			refuse(reader, where, location,
			        reason == ENOENT ? "is missing"
			                : reason == ENOTDIR || reason == ELOOP
			                ? "goes through something that is no folder (links are not followed)"
			                : strerror(reason));
		folder = next;
		location = rest;
	}
}

static struct mapped map(struct reader *reader, const char *where, const char *location)
{
	const char *last, *why = NULL;
	struct mapped mapped = { .of_file = true };
	struct stat info, now;
	int folder = walk(reader, where, location, &last), file = -1;
	if (fstatat(folder, last, &info, AT_SYMLINK_NOFOLLOW))
		why = errno == ENOENT ? "is missing" : strerror(errno);
	else if (!S_ISREG(info.st_mode))
		why = "is not a regular file (links are not followed)";
	else if (info.st_nlink > 1)
		why = "is a hard link, which may lead out of the model's folder: copy the file";
	else if ((file = openat(folder, last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) < 0)
		why = strerror(errno);
	else if (fstat(file, &now) || now.st_ino != info.st_ino || now.st_dev != info.st_dev)
		why = "changed while it was opened";
	else if ((mapped.bytes = (size_t)info.st_size)) {
		void *at = mmap(NULL, mapped.bytes, PROT_READ, MAP_PRIVATE, file, 0);
		if (at == MAP_FAILED)
			why = strerror(errno);
		else
			mapped.at = at;
	}
	if (file >= 0)
		close(file);
	close(folder);
	if (why)
		refuse(reader, where, location, why);
	return mapped;
}

static struct mapped find(struct reader *reader, const char *where, const char *location)
{
	for (size_t i = reader->opened.count; i-- > 0;) /* the last one is the likely one */
		if (reader->opened.at[i].location == location)
			return reader->opened.at[i].mapped;
	struct mapped mapped = map(reader, where, location);
	file_keep(reader->build, mapped);
	push(reader->build->arena, &reader->opened, (struct opened_file){ location, mapped });
	return mapped;
}

void external_data(struct reader *reader, const char *where, struct tensor *tensor, const struct external *external)
{
	const char *location = external->location;
	size_t need = dtype_bytes(tensor->type, (size_t)tensor_elements(reader->build, tensor));
	if (!location || !*location)
		fail(reader->build, EXIT_INVALID, where, "its data is external, but no location is given");
	if (!reader->folder)
		refuse(reader, where, location, "is not read, as the model did not come from a file");
	if (*location == '/' || strchr(location, '\\'))
		refuse(reader, where, location, "is not a relative path with forward slashes");
	for (const char *part = location; *part; part += strcspn(part, "/"), part += *part == '/')
		if (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))
			refuse(reader, where, location, "leads out of the model's folder");
	struct mapped file = find(reader, where, location);
	if (external->offset > file.bytes
	        || (external->has_length ? external->length : need) > file.bytes - external->offset)
		fail(reader->build, EXIT_INVALID, where,
		        "external data \"%.200s\" has %zu bytes; needed are %llu at %llu", location, file.bytes,
		        (unsigned long long)(external->has_length ? external->length : need),
		        (unsigned long long)external->offset);
	reader_data(reader, where, tensor, file.at ? file.at + external->offset : NULL,
	        external->has_length ? (size_t)external->length : need);
}
