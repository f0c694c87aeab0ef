/* compare.c: every case of kernels.c, printed for a target, compiled, run, and compared with the interpreter bit for
 * bit (NaN equals NaN).
 *
 *     compare TARGET COMPILER FLAGS [CASE …]           exit 0: all equal; 77: the compiler or the machine cannot
 *                                                      (armv8-a: through qemu)
 *     compare TARGET COMPILER FLAGS --random N SEED    N programs made by chance
 *
 * Inputs are plain numbers, then also NaN, inf, -0 and denormals; blocks are run one by one, from the last to the
 * first. */
#include "backends/backends.h"
#include "base/embedded.h"
#include "emit/emit.h"
#include "kernels.h"
#include "loops/loops.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KINDS = 2 };
static struct build build;
static uint64_t state;

static uint64_t next(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static float float_of(int kind)
{
	static const float special[] = { NAN, INFINITY, -INFINITY, -0.f, 0.f, 1e-40f, -1e-42f, 3.4e38f, -3.4e38f, 1.f,
		-1.f, 0.5f };
	if (kind && next() % 3 == 0)
		return special[next() % COUNT(special)];
	return (float)((double)(int64_t)(next() >> 11) * 0x1p-53 * 4 - 2) * (next() % 8 ? 1.f : 10.f);
}

static void fill(struct definition *d, void *elements, int kind)
{
	int64_t n = definition_elements(d);
	for (int64_t i = 0; i < n; i++)
		switch (d->type) {
		case DTYPE_F32: ((float *)elements)[i] = float_of(kind); break;
		case DTYPE_F64: ((double *)elements)[i] = float_of(0); break;
		case DTYPE_I64: ((int64_t *)elements)[i] = (int64_t)(next() % 41) - 20; break;
		case DTYPE_I32: ((int32_t *)elements)[i] = (int32_t)(next() % 41) - 20; break;
		case DTYPE_I8: ((int8_t *)elements)[i] = (int8_t)next(); break;
		default: ((uint8_t *)elements)[i] = (uint8_t)next(); break;
		}
}

/* C order <-> the layout */
static void copy_layout(const struct definition *d, void *row_major, void *laid, bool in)
{
	size_t size = dtype_bytes(d->type, 1);
	int64_t n = definition_elements(d);
	for (int64_t i = 0; i < n; i++) {
		int64_t rest = i, at = 0;
		for (int v = d->rank - 1; v >= 0; rest /= d->extents[v], v--)
			at += rest % d->extents[v] * scheduled(d)->stride[v];
		if (in)
			memcpy((char *)laid + (size_t)at * size, (char *)row_major + (size_t)i * size, size);
		else
			memcpy((char *)row_major + (size_t)i * size, (char *)laid + (size_t)at * size, size);
	}
}

static bool equal(const struct definition *d, const void *a, const void *b, int64_t *where)
{
	size_t size = dtype_bytes(d->type, 1);
	int64_t n = definition_elements(d);
	for (*where = 0; *where < n; ++*where) {
		const char *x = (const char *)a + (size_t)*where * size, *y = (const char *)b + (size_t)*where * size;
		float f, g;
		double p, q;
		if (!memcmp(x, y, size))
			continue;
		memcpy(&f, x, 4), memcpy(&g, y, 4);
		if (d->type == DTYPE_F32 && isnan(f) && isnan(g))
			continue;
		if (d->type == DTYPE_F64) {
			memcpy(&p, x, 8), memcpy(&q, y, 8);
			if (isnan(p) && isnan(q))
				continue;
		}
		return false;
	}
	return true;
}

/* Of another architecture: the kernels become a program that its emulator runs, a case at a time. */
struct elsewhere {
	const char *emulator, *program, *file;
};

static const char driver[] = "#include <stdio.h>\n#include <stdlib.h>\n"
                             "#define C(n, ...) case n: ((void (*)(__VA_ARGS__, long, long))e->f)\n#define P void *\n"
                             "int main(int argc, char **argv) {\n"
                             "	const struct entry *e = &entries[atoi(argv[1])]; void *p[9]; (void)argc;\n"
                             "	FILE *f = fopen(argv[2], \"rb\");\n"
                             "	for (int i = 0; i < e->count; i++) { p[i] = malloc(e->bytes[i] + 1); if (fread(p[i], "
                             "1, e->bytes[i], f) != e->bytes[i]) return 2; }\n"
                             "	fclose(f);\n"
                             "	for (long b = e->blocks; b-- > 0;) switch (e->count) {\n"
                             "	C(1, P)(p[0], b, b + 1); break; C(2, P, P)(p[0], p[1], b, b + 1); break; C(3, P, P, "
                             "P)(p[0], p[1], p[2], b, b + 1); break;\n"
                             "	C(4, P, P, P, P)(p[0], p[1], p[2], p[3], b, b + 1); break; C(5, P, P, P, P, P)(p[0], "
                             "p[1], p[2], p[3], p[4], b, b + 1); break;\n"
                             "	C(6, P, P, P, P, P, P)(p[0], p[1], p[2], p[3], p[4], p[5], b, b + 1); break;\n"
                             "	C(7, P, P, P, P, P, P, P)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], b, b + 1); break; "
                             "default: return 3; }\n"
                             "	f = fopen(argv[2], \"wb\");\n"
                             "	for (int i = 0; i < e->count; i++) fwrite(p[i], 1, e->bytes[i], f);\n"
                             "	return fclose(f); }\n";

static size_t param_bytes(const struct kernel *kernel, size_t p)
{
	const struct definition *d = kernel->params.at[p].of;
	return dtype_bytes(d->type, (size_t)definition_elements(d));
}

static bool call_elsewhere(const struct elsewhere *e, int number, const struct kernel *kernel, void **p)
{
	FILE *file = fopen(e->file, "wb");
	for (size_t i = 0; i < kernel->params.count; i++)
		fwrite(p[i], 1, param_bytes(kernel, i), file);
	fclose(file);
	if (system(arena_printf(build.arena, "%s %s %d %s", e->emulator, e->program, number, e->file)))
		return false;
	file = fopen(e->file, "rb");
	bool all = true;
	for (size_t i = 0; i < kernel->params.count; i++)
		all &= fread(p[i], 1, param_bytes(kernel, i), file) == param_bytes(kernel, i);
	fclose(file);
	return all;
}

struct ready {
	const char *name;
	struct made made;
	struct kernel *kernel;
	bool skip;
};

static void call(void (*function)(), void **p, size_t count, long from, long to)
{
	switch (count) {
	case 1: function(p[0], from, to); break;
	case 2: function(p[0], p[1], from, to); break;
	case 3: function(p[0], p[1], p[2], from, to); break;
	case 4: function(p[0], p[1], p[2], p[3], from, to); break;
	case 5: function(p[0], p[1], p[2], p[3], p[4], from, to); break;
	case 6: function(p[0], p[1], p[2], p[3], p[4], p[5], from, to); break;
	case 7: function(p[0], p[1], p[2], p[3], p[4], p[5], p[6], from, to); break;
	case 8: function(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], from, to); break;
	case 9: function(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], from, to); break;
	default: abort();
	}
}

static int run_case(struct ready *r, void *library, const struct elsewhere *elsewhere, int number, int kind)
{
	struct program *program = r->made.program;
	void *inputs[16], *outputs[16], *places[16];
	void (*function)() = library ? (void (*)())dlsym(library, r->kernel->name) : NULL;
	int failed = 0;
	if (library && !function) {
		printf("%s: %s\n", r->name, dlerror());
		return 1;
	}
	for (size_t i = 0; i < program->inputs.count; i++) {
		inputs[i] = calloc((size_t)definition_elements(program->inputs.at[i]) + 1, 8);
		fill(program->inputs.at[i], inputs[i], kind);
	}
	for (size_t i = 0; i < program->outputs.count; i++)
		outputs[i] = calloc((size_t)definition_elements(program->outputs.at[i]) + 1, 8);
	interpret(program, MATH_STRICT, (const void *const *)inputs, outputs);
	for (size_t p = 0; p < r->kernel->params.count; p++) {
		struct definition *d = r->kernel->params.at[p].of;
		/* exactly as long as it should be, so that a checker of memory sees what lies beyond */
		places[p] = malloc(dtype_bytes(d->type, (size_t)definition_elements(d)));
		memset(places[p], 0x5a, dtype_bytes(d->type, (size_t)definition_elements(d)));
		for (size_t i = 0; i < program->inputs.count; i++)
			if (program->inputs.at[i] == d)
				copy_layout(d, inputs[i], places[p], true);
	}
	if (!library && !call_elsewhere(elsewhere, number, r->kernel, places)) {
		printf("%s: the program failed\n", r->name);
		return 1;
	}
	for (int64_t block = r->kernel->blocks; library && block-- > 0;)
		call(function, places, r->kernel->params.count, (long)block, (long)block + 1);
	for (size_t i = 0; i < program->outputs.count; i++)
		for (size_t p = 0; p < r->kernel->params.count; p++) {
			struct definition *d = program->outputs.at[i];
			int64_t where, n = definition_elements(d);
			void *got;
			if (r->kernel->params.at[p].of != d)
				continue;
			got = calloc((size_t)n, 8);
			copy_layout(d, got, places[p], false);
			if (!equal(d, outputs[i], got, &where)) {
				float f = d->type == DTYPE_F32 ? ((float *)outputs[i])[where] : 0,
				      g = d->type == DTYPE_F32 ? ((float *)got)[where] : 0;
				printf("%s, %s inputs: output %s differs at element %lld: %a, interpreter %a\n",
				        r->name, kind ? "special" : "plain", d->name, (long long)where, g, f);
				failed = 1;
			}
			free(got);
		}
	for (size_t p = 0; p < r->kernel->params.count; p++)
		free(places[p]);
	for (size_t i = 0; i < program->inputs.count; i++)
		free(inputs[i]);
	for (size_t i = 0; i < program->outputs.count; i++)
		free(outputs[i]);
	return failed;
}

static bool wanted(const char *name, int argc, char **argv, int from)
{
	for (int i = from; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return from >= argc;
}

static int compare(const struct target *target, const char *compiler, const char *flags, int argc, char **argv,
        int from, const char *folder)
{
	bool random = argc > from + 2 && !strcmp(argv[from], "--random");
	int case_count = random ? atoi(argv[from + 1]) : kernel_case_count;
	struct ready *ready = arena_new_array(build.arena, struct ready, (size_t)case_count);
	struct emit emit = { .build = &build,
		.arena = build.arena,
		.target = target,
		.name = "t",
		.templates = environment_new(&build, build.arena, &template_settings_kernels, load_embedded, NULL) };
	struct text kernels, all, command;
	int failed = 0, ran = 0;
	text_init(&kernels, &build), text_init(&all, &build), text_init(&command, &build);
	for (int i = 0; i < case_count; i++) {
		struct ready *r = &ready[i];
		const int64_t seed = random ? atoll(argv[from + 2]) + i : 0;
		r->name = random ? arena_printf(build.arena, "random_%lld", (long long)seed) : kernel_cases[i].name;
		if ((r->skip = !random && !wanted(r->name, argc, argv, from)))
			continue;
		r->made = (struct made){ .program = program_new(&build, r->name), .arena = build.arena };
		if (random)
			make_random(&r->made, &seed);
		else
			kernel_cases[i].make(&r->made, kernel_cases[i].n);
		program_check(r->made.program);
		r->kernel = kernel_of(&r->made, r->name);
		loops_finish(&(struct lowered){ .arena = build.arena, .target = target }, r->kernel);
		if (getenv("SHOW")) {
			struct text shown;
			text_init(&shown, &build);
			loops_print_kernel(r->kernel, &shown);
			fputs(shown.at, stdout);
			text_release(&shown);
		}
		if (!r->made.may_select && !loops_are_split(r->kernel->loops)) {
			printf("%s: a select is left in an innermost loop\n", r->name);
			failed++;
		}
		r->kernel->name = arena_printf(build.arena, "t_%s", r->name);
		struct kernel named = *r->kernel;
		named.name = r->name;
		loops_emit(&emit, &named, &kernels);
		text_adds(&kernels, "\n");
	}
	emit_prelude(&emit, kernels.at, kernels.count, &all);
	text_adds(&all, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
	for (int i = 0; i < case_count; i++) /* a prototype each, as in a library */
		if (!ready[i].skip) {
			text_printf(&all, "void t_%s(", ready[i].name);
			for (size_t p = 0; p < ready[i].kernel->params.count; p++)
				text_printf(&all, "%s%s *restrict, ",
				        ready[i].kernel->params.at[p].written ? "" : "const ",
				        dtypes[ready[i].kernel->params.at[p].of->type].c);
			text_adds(&all, "long, long);\n");
		}
	text_add(&all, kernels.at, kernels.count);
	text_adds(&all, "#ifdef __cplusplus\n}\n#endif\n");
	bool cross = target->cross != NULL;
	if (cross) {
		text_adds(&all,
		        "static const struct entry { void (*f)(); int count; unsigned long bytes[9]; long blocks; } "
		        "entries[] = {\n");
		for (int i = 0; i < case_count; i++) {
			const struct ready *r = &ready[i];
			text_printf(&all, "	{ %s%s, %d, {", r->skip ? "" : "(void (*)())t_",
			        r->skip ? "0" : r->name, r->skip ? 0 : (int)r->kernel->params.count);
			for (size_t p = 0; !r->skip && p < r->kernel->params.count; p++)
				text_printf(&all, " %zu,", param_bytes(r->kernel, p));
			text_printf(&all, " 0 }, %lld },\n", r->skip ? 0LL : (long long)r->kernel->blocks);
		}
		text_adds(&all, "};\n");
		text_adds(&all, driver);
	}

	const char *source = arena_printf(build.arena, "%s/kernels.c", folder),
	           *library = arena_printf(build.arena, "%s/kernels.so", folder);
	FILE *file = fopen(source, "w");
	fwrite(all.at, 1, all.count, file);
	fclose(file);
	/* in its folder: ccache knows a file by the name that it is given */
	text_printf(&command, "cd %s && %s %s %s -o kernels.so kernels.c -lm 2>messages", folder, compiler, flags,
	        cross ? "-static" : "-shared -fPIC");
	int status = system(command.at);
	FILE *messages = fopen(arena_printf(build.arena, "%s/messages", folder), "r");
	char line[512];
	while (fgets(line, sizeof line, messages))
		fputs(line, stdout), failed++;
	fclose(messages);
	if (status) {
		printf("%s did not compile\n", source);
		return 1;
	}
	struct elsewhere elsewhere = { "qemu-aarch64-static", library, arena_printf(build.arena, "%s/data", folder) };
	void *opened = cross ? NULL : dlopen(library, RTLD_NOW);
	if (!cross && !opened) {
		printf("%s\n", dlerror());
		return 1;
	}
	state = 5;
	for (int i = 0; i < case_count; i++)
		for (int kind = 0; kind < KINDS && !ready[i].skip; kind++, ran++)
			failed += run_case(&ready[i], opened, &elsewhere, i, kind);
	printf("%s, %s: %d runs, %d failed\n", target->name, compiler, ran, failed);
	text_release(&kernels), text_release(&all), text_release(&command);
	return failed != 0;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/ingot-loops-XXXXXX";
	int from = 4;
	volatile int code = 1;
	if (argc < 4) {
		fprintf(stderr, "usage: compare TARGET COMPILER FLAGS [CASE …]\n");
		return 2;
	}
	build_init(&build);
	const struct target *target = target_find(argv[1]);
	const struct target *native = target_native();
	if (!target)
		return 2;
	if (target->cross && system("qemu-aarch64-static --version >/dev/null 2>&1")) {
		printf("skipped: no qemu-aarch64-static\n");
		return 77;
	}
	if (!target->cross && target->lanes > native->lanes) {
		printf("skipped: this machine does not run %s\n", target->name);
		return 77;
	}
	char probe[256];
	snprintf(probe, sizeof probe, "%s -v >/dev/null 2>&1", argv[2]);
	if (system(probe)) {
		printf("skipped: %s is not installed\n", argv[2]);
		return 77;
	}
	if (!mkdtemp(folder))
		return 2;
	if (BUILD_TRY(&build))
		code = compare(target, argv[2], argv[3], argc, argv, from, folder);
	else
		printf("%s\n", build.message);
	if (!getenv("KEEP")) {
		char remove[300];
		snprintf(remove, sizeof remove, "rm -r %s", folder);
		code |= system(remove) != 0;
	} else
		printf("%s\n", folder);
	build_release(&build);
	return code;
}
