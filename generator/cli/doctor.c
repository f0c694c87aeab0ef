/* doctor.c: ingot doctor: what this machine has of what ingot uses, and the Debian package of what lacks. */
#include "cli/cli.h"
#include "kernels/kernels.h"
#include "backends/backends.h"
#include "backends/cpu/facts.h"
#include "backends/cpu/jit.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* One thing that was looked for. */
struct finding {
	const char *what, *found; /* found: what is there, or why it does not do */
	bool there, needed;       /* needed: build and run want it whatever their options say */
	const char *use;          /* for what */
	const char *package;      /* Debian's, where it lacks; NULL: none helps */
};
struct findings {
	struct build *build;
	VECTOR(struct finding) all;
};

static void add(struct findings *f, struct finding finding) { push(f->build->arena, &f->all, finding); }

/* ---- compilers ---- */
/* A program's first line about itself; NULL where it is not there. */
static const char *version_of(struct build *build, const char *program)
{
	char line[200];
	const char *const question[] = { program, "--version", NULL };
	return cc_ask(build, question, line, sizeof line) ? arena_copy(build->arena, line, strlen(line)) : NULL;
}

/* NULL: it compiles for the target; else what it says. */
static const char *refusal(struct build *build, const struct target *target, const char *compiler)
{
	char line[200];
	const char *question[64] = { compiler };
	char *flags = arena_copy(build->arena, target->cc_flags, strlen(target->cc_flags)), *rest;
	int n = 1;
	for (char *word = strtok_r(flags, " ", &rest); word && n < 58; word = strtok_r(NULL, " ", &rest))
		question[n++] = word;
	/* One header of the C library, where the code may include it. */
	const char *const last[] = { "-include", target->freestanding ? "stddef.h" : "string.h", "-fsyntax-only", "-x",
		"c", "/dev/null" };
	memcpy(question + n, last, sizeof last);
	return cc_ask(build, question, line, sizeof line) ? NULL : arena_copy(build->arena, line, strlen(line));
}

static const char *compiler_of(struct build *build, const struct target *target)
{
	const char *volatile found = NULL;
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0)
		found = cc_for_target(build, target, NULL);
	build->out = out;
	build->code = EXIT_RIGHT;
	*build->message = 0;
	return found;
}

static void look_for_compiler(struct findings *f, const struct target *target)
{
	struct build *build = f->build;
	const char *compiler = compiler_of(build, target), *version = compiler ? version_of(build, compiler) : NULL;
	const char *package = !target->cross       ? "gcc libc6-dev"
	        : strstr(target->cross, "aarch64") ? "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
	                                           : "gcc-arm-none-eabi libnewlib-arm-none-eabi";
	const char *refused = version ? refusal(build, target, compiler) : NULL;
	const char *wanted = target->cross ? target->cross : "cc, gcc or clang";
	const char *found = !version ? arena_printf(build->arena, "no %s", compiler ? compiler : wanted)
	        : refused            ? arena_printf(build->arena, "%s refuses its flags: %s", compiler, refused)
	                             : arena_printf(build->arena, "%s: %s", compiler, version);
	add(f,
	        (struct finding){ arena_printf(build->arena, "--cpu %s", target->name), found, version && !refused,
	                !strcmp(target->name, target_native()->name), "libraries for it", package });
}

static void look_for_bf16(struct findings *f)
{
	const struct target *native = target_native();
	const char *compiler = compiler_of(f->build, native),
	           *refused = compiler ? refusal(f->build, native, compiler) : NULL;
	bool there = target_multiplies(native, "bf16") && compiler && !refused;
	const char *found = there ? target_multiplies(native, "tdpbf16ps") ? "tdpbf16ps" : "vdpbf16ps"
	        : refused         ? refused
	                          : "no vdpbf16ps: float32 of rounded factors";
	add(f, (struct finding){ "--math bf16", found, there, false, "twice the rate of float32", NULL });
}

static void look_for_amx(struct findings *f)
{
	enum amx amx = machine_amx();
	add(f,
	        (struct finding){ "AMX",
	                amx == AMX_THERE            ? "the system gives its tiles"
	                        : amx == AMX_DENIED ? "the system denies its tiles (arch_prctl, ARCH_REQ_XCOMP_PERM)"
	                                            : "this CPU has none",
	                amx == AMX_THERE, false, "--cpu x86-64-v4,amx", NULL });
}

static void look_for_programs(struct findings *f)
{
	static const struct {
		const char *program, *use, *package;
		bool needed;
	} programs[] = {
		{ "ar", "static libraries", "binutils", true },
		{ "c++", "--target cuda-emulated", "g++", false },
	};
	FOR (i, COUNT(programs)) {
		const char *version = version_of(f->build, programs[i].program);
		add(f,
		        (struct finding){ programs[i].program, version ? version : "not there", version != NULL,
		                programs[i].needed, programs[i].use, programs[i].package });
	}
}

/* ---- the JIT ---- */
static void look_at_jit(struct findings *f)
{
	struct jit_code *code = NULL;
	char message[200] = "";
	size_t count = 0;
	enum jit_status probe = jit_probe(),
	                status =
	                        jit_compile(&code, "int answer(void) { return 42; }", NULL, 0, message, sizeof message);
	int (*answer)(void) = NULL;
	if (!status)
		*(void **)&answer = jit_function(code, "answer");
	bool right = answer && answer() == 42;
	jit_release(code);
	const char *found = status == JIT_ABSENT ? "this ingot was built without it"
	        : right                          ? "compiles"
	        : status == JIT_FORBIDDEN        ? "cannot be tried"
	                                         : arena_copy(f->build->arena, message, strlen(message));
	add(f,
	        (struct finding){ "libtcc", found, right, false, "--target jit",
	                status == JIT_ABSENT ? "libtcc-dev, and building ingot anew" : NULL });
	if (probe != JIT_ABSENT)
		add(f,
		        (struct finding){ "executable memory",
		                probe == JIT_OK ? "allowed" : "forbidden (PR_SET_MDWE, SELinux execmem …)",
		                probe == JIT_OK, false, "--target jit", NULL });
	const struct jit_symbol *menu = jit_menu(target_native()->name, &count);
	if (probe != JIT_ABSENT)
		add(f,
		        (struct finding){ "menu",
		                menu ? arena_printf(
		                        f->build->arena, "%zu functions for %s", count, target_native()->name)
		                     : arena_printf(f->build->arena, "none for %s", target_native()->name),
		                menu != NULL, false, "--target jit at full speed", NULL });
}

/* ---- TMPDIR ---- */
static void look_at_tmpdir(struct findings *f)
{
	enum { LEAST_MIB = 64 };
	struct build *build = f->build;
	const char *below = getenv("TMPDIR"), *found = NULL;
	struct statvfs status;
	char *folder = arena_printf(build->arena, "%s/ingot-XXXXXX", below ? below : "/tmp");
	bool right = false;
	if (!mkdtemp(folder))
		found = strerror(errno);
	else {
		rmdir(folder);
		if (statvfs(below ? below : "/tmp", &status))
			found = strerror(errno);
		else {
			unsigned long long free_mib = (unsigned long long)status.f_bavail * status.f_frsize >> 20;
			right = !(status.f_flag & ST_NOEXEC) && free_mib >= LEAST_MIB;
			found = arena_printf(build->arena, "%llu MiB free%s", free_mib,
			        status.f_flag & ST_NOEXEC ? ", but mounted noexec: no library can be loaded from it"
			                                  : "");
		}
	}
	add(f,
	        (struct finding){ "TMPDIR", arena_printf(build->arena, "%s: %s", below ? below : "/tmp", found), right,
	                true, "temporary folders; $TMPDIR names another", NULL });
}

/* ---- CUDA ---- */
static void *open_first(const char *const *names, const char **found)
{
	void *library = NULL;
	for (int i = 0; names[i] && !library; i++)
		if ((library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL)))
			*found = names[i];
	return library;
}

static void look_for_cuda(struct findings *f)
{
	static const char *const driver_names[] = { "libcuda.so.1", "libcuda.so", NULL };
	const char *name = NULL, *text = "not there";
	struct nvrtc *nvrtc = nvrtc_find(f->build, NULL);
	add(f,
	        (struct finding){ "NVRTC", nvrtc ? nvrtc_text(f->build, nvrtc) : text, nvrtc != NULL, false,
	                "images of --target cuda (PyPI: nvidia-cuda-nvrtc, with VIRTUAL_ENV set)", NULL });
	if (nvrtc)
		nvrtc_release(nvrtc);
	int (*driver_version)(int *), (*init)(unsigned), number = 0, status;
	void *library = open_first(driver_names, &name);
	if (library && (*(void **)&driver_version = dlsym(library, "cuDriverGetVersion"))
	        && (*(void **)&init = dlsym(library, "cuInit")) && !driver_version(&number)) {
		status = init(0);
		text = arena_printf(f->build->arena, "%s, CUDA %d.%d%s", name, number / 1000, number % 1000 / 10,
		        status ? arena_printf(f->build->arena, ", but no device (status %d)", status) : "");
		number = status ? 0 : number;
	}
	add(f, (struct finding){ "libcuda", text, number > 0, false, "running --target cuda", "libcuda1 (non-free)" });
	if (library)
		dlclose(library);
}

/* ---- telling ---- */
static void print_text(const struct findings *f)
{
	FOR_EACH_AT (const struct finding *one, f->all) {
		printf("%-9s %-18s %s", one->there ? "ok" : one->needed ? "MISSING" : "missing", one->what, one->found);
		if (!one->there)
			printf("; for %s%s%s", one->use, one->package ? "; Debian: " : "",
			        one->package ? one->package : "");
		putchar('\n');
	}
}

static void print_json(const struct findings *f)
{
	json_t *list = json_array();
	FOR_EACH_AT (const struct finding *one, f->all) {
		json_t *report = json_pack("{s:s,s:b,s:b,s:s,s:s}", "what", one->what, "there", one->there, "needed",
		        one->needed, "found", one->found, "use", one->use);
		if (!one->there && one->package)
			json_object_set_new(report, "package", json_string(one->package));
		json_array_append_new(list, report);
	}
	json_t *all =
	        json_pack("{s:s,s:s,s:o}", "version", INGOT_VERSION, "native", target_native()->name, "findings", list);
	cli_print_json(all, stdout);
}

static void run(struct cli *cli)
{
	struct findings f = { .build = cli->build };
	for (int i = 0; target_at(i); i++)
		look_for_compiler(&f, target_at(i));
	look_for_bf16(&f);
	look_for_amx(&f);
	look_for_programs(&f);
	look_at_tmpdir(&f);
	look_at_jit(&f);
	look_for_cuda(&f);
	if (cli->flags.json)
		print_json(&f);
	else {
		printf("ingot %s, native: %s\n", INGOT_VERSION, target_native()->name);
		print_text(&f);
	}
	FOR_ALL (i, f.all)
		if (f.all.at[i].needed && !f.all.at[i].there)
			cli->build->code = EXIT_ENVIRONMENT;
}

const struct command command_doctor = { "doctor", "", "tell what this machine has of what ingot uses",
	"MISSING: build and run need it, exit 5.  missing: only what the line names does.", IN_DOCTOR, 0, 0, run };
