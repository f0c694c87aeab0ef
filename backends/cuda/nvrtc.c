/* nvrtc.c: NVRTC, opened when it is asked for: CUDA C++ -> images.  Each is compiled in a process of its own, since
 * NVRTC takes turns inside of one, and what it breaks is broken there; what was compiled once is kept by content: an
 * image of equal text, options and version has the same bytes. */
#include "backends/backends.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* -fmad=false: strict bits; a product and a sum become one instruction only where the text says fma. */
static const char *const options[] = { "-fmad=false", "-std=c++17", "--ptxas-options=-v" };
enum { OPTIONS = COUNT(options), ARCHITECTURES_MOST = 64, CACHE_BYTES = 512 << 20 };

typedef struct program *program;
struct nvrtc {
	void *library;
	const char *path;
	int major, minor;
	int architectures[ARCHITECTURES_MOST], count;
	const char *(*error)(int);
	int (*create)(program *, const char *text, const char *name, int headers, const char *const *contents,
	        const char *const *names);
	int (*compile)(program, int, const char *const *);
	int (*log_size)(program, size_t *), (*log)(program, char *), (*cubin_size)(program, size_t *),
	        (*cubin)(program, char *), (*ptx_size)(program, size_t *), (*ptx)(program, char *);
};

/* ---- finding it ---- */
static bool bind_functions(struct nvrtc *n)
{
	const struct {
		void *to;
		const char *name;
	} functions[] = { { &n->error, "nvrtcGetErrorString" }, { &n->create, "nvrtcCreateProgram" },
		{ &n->compile, "nvrtcCompileProgram" }, { &n->log_size, "nvrtcGetProgramLogSize" },
		{ &n->log, "nvrtcGetProgramLog" }, { &n->cubin_size, "nvrtcGetCUBINSize" },
		{ &n->cubin, "nvrtcGetCUBIN" }, { &n->ptx_size, "nvrtcGetPTXSize" }, { &n->ptx, "nvrtcGetPTX" } };
	int (*version)(int *, int *), (*count)(int *), (*list)(int *);
	for (size_t i = 0; i < COUNT(functions); i++)
		if (!(*(void **)functions[i].to = dlsym(n->library, functions[i].name)))
			return false;
	*(void **)&version = dlsym(n->library, "nvrtcVersion");
	*(void **)&count = dlsym(n->library, "nvrtcGetNumSupportedArchs");
	*(void **)&list = dlsym(n->library, "nvrtcGetSupportedArchs");
	return version && count && list && !version(&n->major, &n->minor) && !count(&n->count)
	        && n->count <= ARCHITECTURES_MOST && !list(n->architectures);
}

static bool try_path(struct nvrtc *n, const char *path)
{
	if (!(n->library = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
		return false;
	n->path = path;
	if (bind_functions(n))
		return true;
	dlclose(n->library);
	n->library = NULL;
	return false;
}

static bool try_below(struct build *build, struct nvrtc *n, const char *folder, const char *below)
{
	bool found = false;
	glob_t files;
	if (!folder || !*folder
	        || glob(arena_printf(build->arena, "%s/%s/libnvrtc.so.*[0-9]", folder, below), 0, NULL, &files))
		return false;
	for (size_t i = files.gl_pathc; !found && i-- > 0;)
		found = !strstr(files.gl_pathv[i], ".alt.")
		        && try_path(n, arena_copy(build->arena, files.gl_pathv[i], strlen(files.gl_pathv[i])));
	globfree(&files);
	return found;
}

struct nvrtc *nvrtc_find(struct build *build, const char *named)
{
	static const char *const usual[] = { "libnvrtc.so.13", "libnvrtc.so.12" };
	struct nvrtc *n = arena_new(build->arena, struct nvrtc);
	if (named)
		return try_path(n, strchr(named, '/') ? named : arena_printf(build->arena, "./%s", named)) ? n : NULL;
	if (try_below(build, n, getenv("CUDA_HOME"), "lib*"))
		return n;
	for (size_t i = 0; i < COUNT(usual); i++)
		if (try_path(n, usual[i]))
			return n;
	return try_below(build, n, getenv("VIRTUAL_ENV"), "lib/python3*/site-packages/nvidia/*/lib") ? n : NULL;
}

void nvrtc_release(struct nvrtc *n) { dlclose(n->library); }

const char *nvrtc_text(struct build *build, const struct nvrtc *n)
{
	return arena_printf(build->arena, "%s, version %d.%d", n->path, n->major, n->minor);
}

const char *nvrtc_arch(struct build *build, const struct nvrtc *n, int capability, bool *ptx)
{
	int best = 0;
	for (int i = 0; i < n->count; i++)
		if (n->architectures[i] <= capability && n->architectures[i] > best)
			best = n->architectures[i];
	if (!best)
		fail(build, EXIT_ENVIRONMENT, n->path, "compiles for no GPU of capability %d.%d", capability / 10,
		        capability % 10);
	*ptx = best / 10 != capability / 10;
	const bool alone = best == capability && best == 90 && n->major >= 12; /* it has wgmma */
	return arena_printf(build->arena, "sm_%d%s", best, alone ? "a" : "");
}

/* "sm_90", "sm_90a", "sm_100f": a number that it lists, and for some of them one letter. */
void nvrtc_check(struct build *build, const struct nvrtc *n, const char *arch)
{
	char *end = NULL;
	long number = strncmp(arch, "sm_", 3) ? 0 : strtol(arch + 3, &end, 10);
	for (int i = 0; i < n->count; i++)
		if (n->architectures[i] == number
		        && (!*end || ((*end == 'a' || *end == 'f') && number >= 90 && !end[1])))
			return;
	struct choices choices = choices_for(build, arch);
	for (int i = 0; i < n->count; i++)
		choices_add(&choices, arena_printf(build->arena, "sm_%d", n->architectures[i]));
	fail(build, EXIT_USAGE, NULL, "--arch: no \"%.100s\" in NVRTC %d.%d%s", arch, n->major, n->minor,
	        choices_text(&choices));
}

/* ---- a process that compiles ---- */
static bool put(FILE *to, const void *bytes, size_t count)
{
	return fwrite(&count, sizeof count, 1, to) == 1 && fwrite(bytes, 1, count, to) == count;
}

/* Into the file: log and image, each behind its size.  The exit code of the process: 0, or 1 with a message in the log.
 */
static int compile_here(const struct nvrtc *n, const char *text, const char *name, const char *arch, bool ptx, FILE *to)
{
	static const char *const headers[] = { "" },
	                         *const header_names[] = { "math.h" }; /* its functions are known without it */
	char architecture[64];
	const char *words[OPTIONS + 1] = { architecture };
	program program = NULL;
	size_t size = 0;
	char *log = NULL, *image = NULL;
	memcpy(words + 1, options, sizeof options);
	snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%s", ptx ? "compute" : "sm", arch + 3);
	int status = n->create(&program, text, name, 1, headers, header_names), wrong = status;
	if (!wrong)
		wrong = status = n->compile(program, ptx ? OPTIONS : OPTIONS + 1, words); /* the last is for ptxas */
	if (program && !n->log_size(program, &size) && (log = calloc(1, size + 1)))
		n->log(program, log);
	const char *said = log && (*log || !status) ? log : n->error(status);
	size = 0;
	if (!wrong && !(wrong = (ptx ? n->ptx_size : n->cubin_size)(program, &size)) && (image = calloc(1, size + 1)))
		wrong = (ptx ? n->ptx : n->cubin)(program, image);
	size -= ptx && size && !image[size - 1]; /* which counts the 0 behind the text */
	bool kept = put(to, said, strlen(said)) && put(to, image ? image : "", size);
	return wrong || !image || !kept;
}

static pid_t start(struct build *build, const struct nvrtc *n, const char *text, const char *name,
        const struct image *image, const char *file)
{
	pid_t pid = fork();
	if (pid < 0)
		fail(build, EXIT_ENVIRONMENT, n->path, "%s", strerror(errno));
	if (pid)
		return pid;
	FILE *to = fopen(file, "wb");
	int code = to ? compile_here(n, text, name, image->arch, image->ptx, to) : 2;
	_exit(to && fclose(to) ? 2 : code);
}

static const char *take(struct build *build, const struct mapped file, size_t *at, size_t *count)
{
	if (file.bytes - *at < sizeof *count)
		return NULL;
	memcpy(count, file.at + *at, sizeof *count);
	*at += sizeof *count;
	if (*count > file.bytes - *at)
		return NULL;
	const char *bytes = arena_copy(build->arena, (const char *)file.at + *at, *count);
	*at += *count;
	return bytes;
}

static bool read_image(struct build *build, const char *path, struct image *image)
{
	struct mapped file = file_map(build, path);
	size_t at = 0, count;
	image->log = take(build, file, &at, &count);
	image->bytes = image->log ? take(build, file, &at, &image->count) : NULL;
	file_unmap(file);
	return image->bytes != NULL;
}

/* The first line that tells of an error. */
static const char *first_error(struct build *build, const char *log)
{
	const char *line = strstr(log, "error");
	while (line && line > log && line[-1] != '\n')
		line--;
	line = line ? line : log;
	return arena_copy(build->arena, line, strcspn(line, "\n"));
}

static void finish(struct build *build, const struct nvrtc *n, pid_t pid, const char *file, struct image *image)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			fail(build, EXIT_ENVIRONMENT, n->path, "%s", strerror(errno));
	bool ended = WIFEXITED(status) && WEXITSTATUS(status) < 2 && read_image(build, file, image);
	if (!ended)
		fail(build, EXIT_ENVIRONMENT, n->path,
		        WIFSIGNALED(status) ? "ended by signal %d while it compiled for %s"
		                            : "exit %d while it compiled for %s",
		        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), image->arch);
	if (WEXITSTATUS(status))
		fail(build, EXIT_ENVIRONMENT, n->path, "refused the generated code for %s: %s", image->arch,
		        first_error(build, image->log));
}

/* ---- what was compiled before ---- */
/* $INGOT_CACHE, where it is empty none; else below $XDG_CACHE_HOME or ~/.cache. */
static const char *cache_folder(struct build *build)
{
	const char *named = getenv("INGOT_CACHE"), *above = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (named)
		return *named ? named : NULL;
	if (above && *above == '/')
		return arena_printf(build->arena, "%s/ingot", above);
	return home && *home == '/' ? arena_printf(build->arena, "%s/.cache/ingot", home) : NULL;
}

const char *cache_path(struct build *build, const char *text, const char *more)
{
	const char *folder = cache_folder(build);
	uint64_t low = hash_bytes(text, strlen(text), 0), high = hash_bytes(text, strlen(text), 1);
	if (!folder)
		return NULL;
	low ^= hash_bytes(more, strlen(more), 2);
	high ^= hash_bytes(more, strlen(more), 3);
	return arena_printf(
	        build->arena, "%s/%016llx%016llx.image", folder, (unsigned long long)low, (unsigned long long)high);
}

bool cache_take(struct build *build, const char *path, struct image *image)
{
	if (!path || access(path, R_OK))
		return false;
	utimensat(AT_FDCWD, path, NULL, 0); /* used now: what was not for long goes first */
	return read_image(build, path, image);
}

/* The oldest go while there are more than CACHE_BYTES. */
static void cache_bound(const char *folder)
{
	for (;;) {
		DIR *all = opendir(folder);
		struct dirent *entry;
		struct stat info, oldest = { 0 };
		char name[256] = "";
		double bytes = 0;
		while (all && (entry = readdir(all)))
			if (strstr(entry->d_name, ".image")
			        && !fstatat(dirfd(all), entry->d_name, &info, AT_SYMLINK_NOFOLLOW)
			        && S_ISREG(info.st_mode)) {
				bytes += (double)info.st_size;
				if (!*name || info.st_mtime < oldest.st_mtime) {
					oldest = info;
					snprintf(name, sizeof name, "%s", entry->d_name);
				}
			}
		bool gone = all && bytes > CACHE_BYTES && *name && !unlinkat(dirfd(all), name, 0);
		if (all)
			closedir(all);
		if (!gone)
			return;
	}
}

/* Where it cannot be kept it is not: the next build compiles again. */
void cache_give(struct build *build, const char *path, const struct image *image)
{
	if (!path)
		return;
	char *folder = arena_copy(build->arena, path, (size_t)(strrchr(path, '/') - path));
	for (char *p = folder + 1; *p; p++)
		if (*p == '/') {
			*p = 0;
			mkdir(folder, 0777);
			*p = '/';
		}
	mkdir(folder, 0777);
	const char *temporary = arena_printf(build->arena, "%s.%ld", path, (long)getpid());
	FILE *file = fopen(temporary, "wb");
	bool right = file && put(file, image->log, strlen(image->log)) && put(file, image->bytes, image->count);
	if (file && (fclose(file) || !right || rename(temporary, path)))
		unlink(temporary);
	cache_bound(folder);
}

/* ---- all of them ---- */
static const char *path_of(struct build *build, const struct nvrtc *n, const char *text, const struct image *image)
{
	const char *more = arena_printf(build->arena, "%d.%d %s %d", n->major, n->minor, image->arch, image->ptx);
	for (size_t i = 0; i < OPTIONS; i++)
		more = arena_printf(build->arena, "%s %s", more, options[i]);
	return cache_path(build, text, more);
}

static void compile_missing(struct build *build, const struct nvrtc *n, const char *text, const char *name,
        struct image *const *images, int count, int jobs, char *const *files)
{
	pid_t running[IMAGES_MOST] = { 0 };
	jmp_buf *out = build->out, mine;
	volatile int started = 0, done = 0;
	build->out = &mine;
	if (setjmp(mine) == 0)
		for (; done < count; done++) {
			for (; started < count && started - done < jobs; started++)
				running[started] = start(build, n, text, name, images[started], files[started]);
			pid_t pid = running[done];
			running[done] = 0;
			finish(build, n, pid, files[done], images[done]);
		}
	build->out = out;
	for (int i = 0; i < started; i++)
		if (running[i])
			waitpid(running[i], NULL, 0);
	for (int i = 0; i < count; i++)
		unlink(files[i]);
	if (build->code)
		longjmp(*out, 1);
}

void nvrtc_compile(struct build *build, const struct nvrtc *n, const char *text, const char *name, struct image *images,
        int count, int jobs)
{
	struct image *missing[IMAGES_MOST];
	const char *paths[IMAGES_MOST];
	char *files[IMAGES_MOST], *folder;
	int left = 0;
	for (int i = 0; i < count; i++) {
		const char *path = path_of(build, n, text, &images[i]);
		if (cache_take(build, path, &images[i]))
			continue;
		paths[left] = path;
		missing[left++] = &images[i];
	}
	if (!left)
		return;
	folder = folder_temporary(build, build->arena);
	for (int i = 0; i < left; i++)
		files[i] = arena_printf(build->arena, "%s/%d", folder, i);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0)
		compile_missing(build, n, text, name, missing, left, jobs < 1 ? 1 : jobs, files);
	build->out = out;
	rmdir(folder);
	if (build->code)
		longjmp(*out, 1);
	for (int i = 0; i < left; i++)
		cache_give(build, paths[i], missing[i]);
}
