/* compiler.c: the compiler of its own name, behind ccache.  ccache is told of what a file includes, so it need not run
 * the preprocessor first, which for a small file of kernels takes as long as to compile it; not where an assembler
 * includes more (.incbin), which only the preprocessed text shows.  And as ccache keeps the object of one source, a
 * command is taken apart that compiles several, or links what it compiles.  In $PATH by a link of the compiler's name;
 * made by tests/compilers.
 *
 * ccache starts a compiler by the link `behind`: <immintrin.h> is three quarters of what gcc does for a small file of
 * kernels, so it is compiled once for each set of flags that is met often.
 *
 * $TESTS_LEVEL stands for -O2 of C where nobody asks for warnings, but on boards: the same bits in half the time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MOST = 4096, USES_MOST = 3 }; /* words of a command; uses of a header before it is compiled */

static char folder[4096]; /* of the links */

static bool ends(const char *word, const char *ending)
{
	size_t n = strlen(word), m = strlen(ending);
	return n > m && !strcmp(word + n - m, ending);
}

static bool begins(const char *word, const char *beginning) { return !strncmp(word, beginning, strlen(beginning)); }

static bool is_source(const char *word) { return ends(word, ".c") || ends(word, ".cpp"); }

/* Weights and the like: an assembler includes what ccache does not see, and they cost nothing. */
static bool is_assembly(const char *word) { return ends(word, ".s") || ends(word, ".S"); }

static bool for_linker(const char *word)
{
	return ends(word, ".o") || ends(word, ".a") || ends(word, ".so") || strstr(word, ".so.") || begins(word, "-l")
	        || begins(word, "-L") || begins(word, "-Wl,") || !strcmp(word, "-shared") || !strcmp(word, "-static");
}

/* Commands that ccache takes as they are. */
static bool is_else(const char *word)
{
	return begins(word, "-M") || begins(word, "@") || !strcmp(word, "-") || !strcmp(word, "-E")
	        || !strcmp(word, "-S") || ends(word, ".h");
}

/* The first of that name in $PATH that is neither ours nor a link to ccache. */
static const char *find(const char *name)
{
	char *paths = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = paths, *one;
	static char found[2][4096];
	char *at = found[!strcmp(name, "ccache")];
	while ((one = strsep(&rest, ":"))) {
		snprintf(at, sizeof found[0], "%s/%s", one, name);
		if (strcmp(one, folder) && !ends(one, "/ccache") && !access(at, X_OK))
			return at;
	}
	fprintf(stderr, "%s: not found\n", name);
	exit(127);
}

/* Whether a line of it has one of two texts; -1 where it cannot be read. */
static int has(const char *path, const char *one, const char *other)
{
	FILE *file = fopen(path, "r");
	if (!file)
		return -1;
	char *line = NULL;
	size_t size = 0;
	int found = 0;
	while (!found && getline(&line, &size, file) >= 0)
		found = strstr(line, one) || strstr(line, other);
	free(line);
	fclose(file);
	return found;
}

/* Whether it can be read, and its assembler includes no file. */
static bool is_plain(const char *path) { return !has(path, "incbin \"", "incbin \\"); }

static int run(char **words)
{
	pid_t child = fork();
	if (!child) {
		execv(words[0], words);
		_exit(127);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void format(char *out, size_t size, int number, const char *ending)
{
	snprintf(out, size, "%s/told/%d-%d%s", folder, (int)getpid(), number, ending);
}

/* What a compiled header has to share with who includes it. */
static bool is_of_header(const char *word)
{
	static const char *const flags[] = { "-O", "-m", "-f", "-s", "-D", "-U", "-g", "-p", "--target" };
	bool one = false;
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		one = one || begins(word, flags[i]);
	return one && strcmp(word, "-fsyntax-only") && strcmp(word, "-fstack-usage") && !begins(word, "-fdiagnostics");
}

/* Blanks in a list of what a file includes where `path` stands: there is no such file for ccache. */
static void forget(const char *list, const char *path)
{
	char text[1 << 16];
	int file = open(list, O_RDWR);
	ssize_t n = file < 0 ? 0 : read(file, text, sizeof text - 1);
	text[n > 0 ? n : 0] = 0;
	char *at = strstr(text, path);
	if (at && pwrite(file, memset(at, ' ', strlen(path)), strlen(path), at - text) < 0)
		perror(list);
	close(file);
}

/* A compiler and its words, for ccache: with the compiled header, where there is one, or where it is asked for often
 * enough. */
static int behind(char **words)
{
	static const char *const large[] = { "#include <immintrin.h>", "#include <arm_neon.h>" };
	const char *source = NULL, *list = NULL;
	bool plus = strstr(words[0], "++");
	char *one[WORDS_MOST + 16], *made[WORDS_MOST + 16], file[4200], header[4300], count[4300], temporary[4200];
	int n = 0, m = 0;
	uint64_t key = 14695981039346656037u;
	for (int i = 0; words[i]; i++) {
		one[n++] = words[i];
		source = is_source(words[i]) ? words[i] : source;
		list = !strcmp(words[i], "-MF") ? words[i + 1] : list;
		plus = plus || !strcmp(words[i], "c++") || ends(words[i], ".cpp");
		if (i && !is_of_header(words[i]))
			continue;
		made[m++] = words[i];
		for (const char *c = words[i]; *c || c == words[i]; c++)
			key = (key ^ (unsigned char)*c) * 1099511628211u;
	}
	one[n] = NULL;
	bool arm = source && has(source, large[1], large[1]) == 1;
	if (!source || (!arm && has(source, large[0], large[0]) != 1))
		return run(one);
	snprintf(file, sizeof file, "%s/headers/%016llx%d.h", folder, (unsigned long long)key, arm + 2 * plus);
	snprintf(header, sizeof header, "%s.gch", file);
	snprintf(count, sizeof count, "%s.uses", file);
	snprintf(temporary, sizeof temporary, "%s/told/%d.gch", folder, (int)getpid());
	/* A byte for each use: to make one takes as long as three files without it.  Whoever makes the file makes it. */
	struct stat uses = { 0 };
	int used = open(count, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (used < 0 || fstat(used, &uses) || uses.st_size < USES_MOST) {
		dprintf(used, ".");
		return run(one);
	}
	int first = open(file, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (first >= 0) {
		dprintf(first, "%s\n", large[arm]);
		close(first);
		char *last[] = { "-x", plus ? "c++-header" : "c-header", file, "-o", temporary, NULL };
		memcpy(made + m, last, sizeof last);
		if (!run(made))
			rename(temporary, header);
	}
	if (access(header, R_OK))
		return run(one);
	char *including[] = { "-include", file, NULL };
	memcpy(one + n, including, sizeof including);
	int status = run(one);
	if (list)
		forget(list, file);
	return status;
}

/* `source` to `object`, which -fsyntax-only has not: the words without those for the linker and the assembler, other
 * sources and -o. */
static int compile(char **words, const char *source, const char *object)
{
	char *one[WORDS_MOST + 8], told[4200];
	int n = 0;
	format(told, sizeof told, 0, ".d");
	if (is_plain(source))
		one[n++] = (char *)find("ccache");
	one[n++] = (char *)find(strrchr(words[0], '/') ? strrchr(words[0], '/') + 1 : words[0]);
	for (int i = 1; words[i]; i++) {
		if (!strcmp(words[i], "-o"))
			i++;
		else if (!is_source(words[i]) && !is_assembly(words[i]) && !for_linker(words[i])
		        && strcmp(words[i], "-c"))
			one[n++] = words[i];
	}
	char *last[] = { (char *)source, "-MMD", "-MF", told, object ? "-c" : NULL, "-o", (char *)object, NULL };
	memcpy(one + n, last, sizeof last);
	int status = run(one);
	unlink(told);
	return status;
}

static int link_all(char **words)
{
	char *one[WORDS_MOST], (*objects)[4200] = calloc(WORDS_MOST, sizeof *objects);
	int n = 0, status = 0, made = 0;
	one[n++] = (char *)find(strrchr(words[0], '/') ? strrchr(words[0], '/') + 1 : words[0]);
	for (int i = 1; words[i] && !status; i++) {
		if (is_source(words[i])) {
			format(objects[made], sizeof *objects, made, ".o");
			status = compile(words, words[i], objects[made]);
			one[n++] = objects[made++];
		} else if (!strcmp(words[i], "-x")) {
			i++;
		} else if (!begins(words[i], "-x")) {
			one[n++] = words[i];
		}
	}
	one[n] = NULL;
	status = status ? status : run(one);
	for (int i = 0; i < made; i++)
		unlink(objects[i]);
	free(objects);
	return status;
}

/* Each source to an object of its name, here; or only the diagnostics of each. */
static int compile_all(char **words, bool syntax)
{
	int status = 0;
	for (int i = 1; words[i] && !status; i++) {
		if (!is_source(words[i]))
			continue;
		const char *slash = strrchr(words[i], '/');
		char object[4096];
		snprintf(object, sizeof object, "%s", slash ? slash + 1 : words[i]);
		strcpy(strrchr(object, '.'), ".o");
		status = compile(words, words[i], syntax ? NULL : object);
	}
	return status;
}

int main(int count, char **words)
{
	const char *slash = strrchr(words[0], '/'), *name = slash ? slash + 1 : words[0];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
	if (length < 0 || count >= WORDS_MOST)
		return 127;
	folder[length] = 0;
	*strrchr(folder, '/') = 0;
	static char prefix[4200];
	snprintf(prefix, sizeof prefix, "%s/behind", folder);
	setenv("CCACHE_PREFIX", prefix, 1);
	if (!strcmp(name, "behind"))
		return behind(words + 1);
	bool warns = false;
	for (int i = 1; i < count; i++)
		warns = warns || begins(words[i], "-W");
	char *level = getenv("TESTS_LEVEL");
	for (int i = 1; i < count && level && *level && !warns && !strstr(name, "++") && !strstr(name, "eabi")
	        && !strstr(name, "elf");
	        i++)
		words[i] = strcmp(words[i], "-O2") ? words[i] : level;
	bool as_it_is = false, compiles = false, language = false, output = false, assembles = false, syntax = false,
	     lists = false;
	int sources = 0;
	const char *source = NULL;
	for (int i = 1; i < count; i++) {
		as_it_is = as_it_is || is_else(words[i]);
		compiles = compiles || !strcmp(words[i], "-c");
		syntax = syntax || !strcmp(words[i], "-fsyntax-only");
		assembles = assembles || is_assembly(words[i]);
		language = language || begins(words[i], "-x");
		lists = lists || !strcmp(words[i], "-MD");
		output = output || !strcmp(words[i], "-o");
		sources += is_source(words[i]);
		source = is_source(words[i]) ? words[i] : source;
	}
	as_it_is = as_it_is || (assembles && compiles) || (sources == 1 && !is_plain(source));
	if (assembles && !sources) { /* nothing that ccache could keep */
		words[0] = (char *)find(name);
		execv(words[0], words);
		return 127;
	}
	bool simple = compiles && !syntax && (sources < 2 || output);
	char *all[WORDS_MOST + 8], told[4200];
	int n = 0;
	all[n++] = (char *)find("ccache");
	all[n++] = (char *)find(name);
	memcpy(all + n, words + 1, (size_t)count * sizeof *words);
	n += count - 1;
	lists = lists && sources == 1 && is_plain(source); /* of what a file includes: a build asks for one itself */
	if (lists || (!as_it_is && sources > 0))
		setenv("CCACHE_DEPEND", "1", 1);
	/* A temporary folder has another name each time: what lies there is named as it is seen from where this runs. */
	setenv("CCACHE_BASEDIR", "/", 1);
	if (!as_it_is && sources > 0 && !simple)
		return compiles || syntax ? compile_all(words, syntax) : link_all(words);
	if (!as_it_is && sources == 1 && !language) {
		format(told, sizeof told, 0, ".d");
		char *last[] = { "-MMD", "-MF", told, NULL };
		memcpy(all + n, last, sizeof last);
	} else if (!lists) {
		unsetenv("CCACHE_DEPEND");
	}
	execv(all[0], all);
	perror(all[0]);
	return 127;
}
