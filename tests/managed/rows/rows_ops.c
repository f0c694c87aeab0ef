/* rows_ops.c: row H17: every operation of the loop language in a kernel of its own, against a reference in double: each
 * row of scalars.h over floats and over integers, casts, selects on indices, indices that are values, quotients and
 * remainders of indices, and each reduction.  One module holds all the kernels; it is made here, from definitions,
 * without a graph. */
#include <dlfcn.h>
#include <math.h>
#include "rows.h"
#include "backends/backends.h"
#include "definitions/definitions.h"
#include "definitions/rows.h"
#include "emit/emit.h"
#include "jit/jit.h"
#include "pipeline.h"

enum { N = 80, ROWS = 8, COLUMNS = N / ROWS };
static float a[N], b[N], c[N], positive[N];
static int64_t p[N], q[N], small[N];

static void fill(void)
{
	for (int i = 0; i < N; i++) {
		a[i] = (float)((i * 37) % 41) / 8 - 2.5f;
		b[i] = (float)((i * 11) % 17) / 4 - 1.9f;
		c[i] = (float)(i % 5) - 2;
		positive[i] = (float)((i * 29) % 31) / 6 + 0.05f;
		p[i] = (i * 7919) % 401 - 200;
		q[i] = (i * 31) % 23 - 11;
		small[i] = (i * 3) % 7;
	}
}

/* ---- references ---- */
static double r_where(double x, double y, double z) { return x == 0 ? z : y; }
static double of_row(enum scalar opcode, double x, double y, double z)
{
	switch (opcode) {
	case SCALAR_add: return x + y;
	case SCALAR_sub: return x - y;
	case SCALAR_mul: return x * y;
	case SCALAR_div: return x / y;
	case SCALAR_fma: return fma(x, y, z);
	case SCALAR_neg: return -x;
	case SCALAR_abs: return fabs(x);
	case SCALAR_max: return fmax(x, y);
	case SCALAR_min: return fmin(x, y);
	case SCALAR_sqrt: return sqrt(x);
	case SCALAR_relu: return x < 0 ? 0 : x;
	case SCALAR_exp:
	case SCALAR_exp_below: return exp(x);
	case SCALAR_log: return log(x);
	case SCALAR_sigmoid: return 1 / (1 + exp(-x));
	case SCALAR_tanh: return tanh(x);
	case SCALAR_erf: return erf(x);
	case SCALAR_gelu: return x / 2 * (1 + erf(x * sqrt(0.5)));
	case SCALAR_sin: return sin(x);
	case SCALAR_cos: return cos(x);
	case SCALAR_pow: return pow(x, y);
	case SCALAR_less: return x < y;
	case SCALAR_equal: return x == y;
	case SCALAR_where: return r_where(x, y, z);
	default: break;
	}
	double made; /* the others: libm's, as --math double has them */
	rows_double[opcode](1, &x, &y, &z, &made);
	return made;
}

static int64_t of_integer_row(enum scalar opcode, int64_t x, int64_t y, int64_t z)
{
	switch (opcode) {
	case SCALAR_div: return y ? x / y : 0;
	case SCALAR_mod: return y ? ((x % y) + y) % y : 0;
	case SCALAR_and: return x & y;
	case SCALAR_or: return x | y;
	case SCALAR_xor: return x ^ y;
	case SCALAR_shl: return x * ((int64_t)1 << y);
	case SCALAR_shr: return (int64_t)floor((double)x / (double)((int64_t)1 << y));
	case SCALAR_pow: return (int64_t)llround(pow((double)x, (double)y));
	default: break;
	}
	int64_t made;
	double real = rows_double[opcode] ? of_row(opcode, (double)x, (double)y, (double)z) : NAN;
	if (isfinite(real))
		return (int64_t)real;
	rows_integer[opcode](1, &x, &y, &z, &made); /* what has no meaning among reals, as in x / 0 */
	return made;
}

/* Below 0 pow of floats needs whole exponents, log and sqrt no such numbers at all. */
static bool wants_positive(enum scalar opcode)
{
	return opcode == SCALAR_log || opcode == SCALAR_sqrt || opcode == SCALAR_pow;
}
static bool wants_negative(enum scalar opcode) { return opcode == SCALAR_exp_below; }
static bool wants_small(enum scalar opcode)
{
	return opcode == SCALAR_shl || opcode == SCALAR_shr || opcode == SCALAR_pow;
}

/* ---- the program ---- */
struct kind {
	char name[24];
	enum scalar opcode;
	bool integer;
};
static struct kind kinds[2 * SCALAR_COUNT];
static int kind_count;

struct making {
	struct program *program;
	const struct expr *in[8]; /* a b c positive negative, over one variable; p q small */
	struct definition *of[8];
};

static void add_output(struct program *program, struct definition *d)
{
	d->port.is_output = true;
	push(program->arena, &program->outputs, d);
	push(program->arena, &program->output_names, d->name);
}

static void output(struct making *m, const char *name, const struct expr *body)
{
	const int64_t extent = N;
	add_output(m->program, define_map(m->program, name, 1, &extent, body));
}

static const struct expr *load(struct making *m, int which, const struct index *at)
{
	return expr_load(m->program->arena, m->of[which], &at);
}

static void make_rows(struct making *m)
{
	struct arena *arena = m->program->arena;
	for (int row = 0; row < SCALAR_COUNT; row++)
		for (int integer = 0; integer < 2; integer++) {
			if (!(integer ? scalars[row].ints : scalars[row].floats))
				continue;
			struct kind *kind = &kinds[kind_count++];
			*kind = (struct kind){ .opcode = (enum scalar)row, .integer = integer };
			snprintf(kind->name, sizeof kind->name, "%s_%s", integer ? "i" : "f", scalars[row].name);
			const struct expr *x = integer ? m->in[5]
			        : wants_positive(row)  ? m->in[3]
			        : wants_negative(row)  ? m->in[4]
			                               : m->in[0];
			const struct expr *y = integer ? wants_small(row) ? m->in[7] : m->in[6] : m->in[1],
			                  *z = integer ? m->in[7] : m->in[2];
			if (row == SCALAR_where)
				x = integer ? m->in[7] : m->in[2];
			output(m, kind->name,
			        expr_scalar(arena, (enum scalar)row, x, scalars[row].arity > 1 ? y : NULL,
			                scalars[row].arity > 2 ? z : NULL));
		}
}

/* What is made of several: the names that other languages have for it. */
static void make_more(struct making *m)
{
	struct arena *arena = m->program->arena;
	const struct index *i = index_var(arena, 0, N), *at;
	const struct expr *one = expr_number(arena, DTYPE_F32, 1), *two = expr_number(arena, DTYPE_F32, 2);
	output(m, "log2",
	        expr_scalar(arena, SCALAR_mul, expr_scalar(arena, SCALAR_log, m->in[3], NULL, NULL),
	                expr_number(arena, DTYPE_F32, 1.4426950408889634), NULL));
	output(m, "exp2", expr_scalar(arena, SCALAR_pow, two, m->in[0], NULL));
	output(m, "recip", expr_scalar(arena, SCALAR_div, one, m->in[3], NULL)); /* f_reciprocal is the row's own */
	output(m, "cast_to_int", expr_cast(arena, DTYPE_I64, m->in[0]));
	output(m, "cast_to_float", expr_cast(arena, DTYPE_F32, m->in[5]));
	output(m, "cast_to_byte", expr_cast(arena, DTYPE_U8, m->in[7]));
	output(m, "cast_to_bool", expr_cast(arena, DTYPE_BOOL, m->in[2]));
	output(m, "bits_of_float", expr_cast_as(arena, DTYPE_I32, CAST_BITS, m->in[0]));
	output(m, "bits_to_float", expr_cast_as(arena, DTYPE_F32, CAST_BITS, expr_cast(arena, DTYPE_I32, m->in[5])));
	output(m, "number", expr_number(arena, DTYPE_F32, 0.1));
	output(m, "index", expr_index(arena, index_plus(arena, index_scale(arena, i, 3), -7)));
	output(m, "index_div", expr_index(arena, index_div(arena, index_plus(arena, i, -9), 4)));
	output(m, "index_mod", expr_index(arena, index_mod(arena, index_plus(arena, i, -9), 4)));
	/* a load behind a mask: the neighbour, 0 past the end */
	at = index_plus(arena, i, 1);
	const struct range inside = { at, 0, N };
	output(m, "masked", expr_select(arena, &inside, 1, load(m, 0, at), expr_number(arena, DTYPE_F32, 0)));
	/* an address that was loaded */
	output(m, "gathered", load(m, 0, index_value(arena, m->in[7], 0, N - 1)));
	output(m, "reversed", load(m, 0, index_plus(arena, index_scale(arena, i, -1), N - 1)));
	output(m, "strided", load(m, 0, index_plus(arena, index_mod(arena, index_scale(arena, i, 3), N), 0)));
}

static const struct {
	const char *name;
	enum reduce reduce;
} reductions[] = { { "reduce_sum", REDUCE_SUM }, { "reduce_max", REDUCE_MAX }, { "reduce_min", REDUCE_MIN },
	{ "reduce_prod", REDUCE_PROD } };

/* Over the columns of a matrix that lies in `a`; and a product of matrices, whose accumulators stay in registers. */
static void make_reductions(struct making *m)
{
	struct arena *arena = m->program->arena;
	const int64_t rows = ROWS, columns = COLUMNS, square[2] = { ROWS, ROWS }, matrix[2] = { ROWS, COLUMNS };
	const struct index *row = index_var(arena, 0, ROWS), *column = index_var(arena, 1, COLUMNS);
	for (size_t r = 0; r < COUNT(reductions); r++)
		add_output(m->program,
		        define_reduction(m->program, reductions[r].name, 1, &rows, reductions[r].reduce, 1, &columns,
		                NULL, load(m, 0, index_add(arena, index_scale(arena, row, COLUMNS), column))));
	const struct index *at = index_var(arena, 2, COLUMNS);
	add_output(m->program,
	        define_order(m->program, "sorted", 2, matrix, false, COLUMNS,
	                load(m, 1, index_add(arena, index_scale(arena, row, COLUMNS), at)), NULL));
	const struct index *other = index_var(arena, 1, ROWS), *k = index_var(arena, 2, COLUMNS);
	add_output(m->program,
	        define_reduction(m->program, "product", 2, square, REDUCE_SUM, 1, &columns, NULL,
	                expr_scalar(arena, SCALAR_mul,
	                        load(m, 0, index_add(arena, index_scale(arena, row, COLUMNS), k)),
	                        load(m, 1, index_add(arena, index_scale(arena, other, COLUMNS), k)), NULL)));
}

static struct program *make(struct build *build, const char **input_names)
{
	static const char *const names[] = { "a", "b", "c", "positive", "negative", "p", "q", "small" };
	struct making m = { .program = program_new(build, "ops") };
	const int64_t extent = N;
	const struct index *at = index_var(build->arena, 0, N);
	for (int i = 0; i < 8; i++) {
		if (i == 4)
			continue;
		m.of[i] = define_input(m.program, names[i], i < 5 ? DTYPE_F32 : DTYPE_I64, 1, &extent);
		m.in[i] = expr_load(build->arena, m.of[i], &at);
		*input_names++ = names[i];
	}
	m.in[4] = expr_scalar(build->arena, SCALAR_neg, m.in[3], NULL, NULL);
	make_rows(&m);
	make_more(&m);
	make_reductions(&m);
	program_check(m.program);
	return m.program;
}

/* ---- the module: by the C compiler and dlopen, or by the JIT ---- */
static struct build build;
static const struct ingot_module *module(struct trial *t, struct program **program)
{
	const struct ingot_module *volatile made = NULL;
	build_init(&build);
	if (BUILD_TRY(&build)) {
		const char **input_names = arena_new_array(build.arena, const char *, 8);
		*program = make(&build, input_names);
		const struct target *target = t->jit ? jit_target(build.arena, target_native()) : target_native();
		struct lowered *lowered = lower(*program, target, OPTIMISE_SPEED, NULL, loops_finish);
		struct part part = { .lowered = lowered,
			.name = "ops",
			.routine = "ops",
			.model = "ops",
			.numbers = program_numbers(*program, &(struct numerics){ .algorithms = ALGORITHMS_FAST }),
			.input_names = input_names,
			.output_names = (*program)->output_names.at };
		struct emit emit = { .build = &build,
			.arena = build.arena,
			.target = target,
			.templates = options_templates(&build, &(struct options){ 0 }),
			.name = "ops" };
		struct package package = { .parts = &part,
			.part_count = 1,
			.name = "ops",
			.threads = 1,
			.options = "",
			.managed = true,
			.jobs = 2 };
		if (t->jit)
			made = jit_module_descriptor(jit_module_open(&emit, &package));
		else {
			package.cc = cc_find(&build, NULL);
			package.shared = true;
			package_write(&emit, &package, t->folder);
			void *handle =
			        dlopen(arena_printf(build.arena, "%s/libops.so", t->folder), RTLD_NOW | RTLD_LOCAL);
			made = handle ? dlsym(handle, "ops_module") : NULL;
		}
	}
	if (build.code)
		check_failed(__FILE__, __LINE__, build.message);
	CHECK(made);
	return made;
}

/* ---- judging ---- */
static void wrong(const char *name, int i, double got, double want)
{
	char what[120];
	snprintf(what, sizeof what, "%s[%d] is %.9g, not %.9g", name, i, got, want);
	check_failed(__FILE__, __LINE__, what);
}

/* ulp: what the row of scalars.h allows, of the float's own distance; a cut of the reference to float is half of
 * one. */
static void judge(const char *name, int i, float got, double want, double ulp)
{
	double distance = fabs(nextafterf((float)want, INFINITY) - (float)want);
	if (isnan(want)                      ? !isnan(got)
	                : isinf((float)want) ? got != (float)want
	                                     : !(fabs(got - want) <= (ulp + 0.5) * distance))
		wrong(name, i, got, want);
}

struct result {
	struct ingot_context context;
	struct ingot_library library;
};
static void get(const struct result *r, const char *name, void *to, uint64_t bytes)
{
	struct ingot_event done;
	OK(ingot_read(r->context, node_of(r->library, name), to, bytes, &done));
	OK(ingot_event_sync(done));
	OK(ingot_event_close(done));
}

static void judge_rows(const struct result *r)
{
	float y[N];
	int64_t z[N];
	for (int k = 0; k < kind_count; k++) {
		enum scalar opcode = kinds[k].opcode;
		get(r, kinds[k].name, kinds[k].integer ? (void *)z : y, kinds[k].integer ? sizeof z : sizeof y);
		for (int i = 0; i < N; i++)
			if (kinds[k].integer) {
				int64_t want = of_integer_row(opcode, opcode == SCALAR_where ? small[i] : p[i],
				        wants_small(opcode) ? small[i] : q[i], small[i]);
				if (z[i] != want)
					wrong(kinds[k].name, i, (double)z[i], (double)want);
			} else
				judge(kinds[k].name, i, y[i],
				        of_row(opcode,
				                opcode == SCALAR_where           ? c[i]
				                        : wants_positive(opcode) ? positive[i]
				                        : wants_negative(opcode) ? -positive[i]
				                                                 : a[i],
				                b[i], c[i]),
				        atof(scalars[opcode].error));
	}
}

static void judge_more(const struct result *r)
{
	float y[N];
	int64_t z[N];
	unsigned char bytes[N];
	get(r, "log2", y, sizeof y);
	for (int i = 0; i < N; i++)
		if (fabs(y[i] - log2(positive[i])) > 1e-6)
			wrong("log2", i, y[i], log2(positive[i]));
	get(r, "exp2", y, sizeof y);
	for (int i = 0; i < N; i++)
		judge("exp2", i, y[i], exp2(a[i]), 2.5);
	get(r, "recip", y, sizeof y);
	for (int i = 0; i < N; i++)
		judge("recip", i, y[i], 1 / (double)positive[i], 0.5);
	get(r, "cast_to_int", z, sizeof z);
	get(r, "cast_to_float", y, sizeof y);
	for (int i = 0; i < N; i++)
		CHECK(z[i] == (int64_t)a[i] && y[i] == (float)p[i]);
	get(r, "cast_to_byte", bytes, sizeof bytes);
	for (int i = 0; i < N; i++)
		CHECK(bytes[i] == small[i]);
	int32_t bits[N];
	get(r, "bits_of_float", bits, sizeof bits);
	CHECK(!memcmp(bits, a, sizeof bits));
	for (int i = 0; i < N; i++)
		bits[i] = (int32_t)p[i];
	get(r, "bits_to_float", y, sizeof y);
	CHECK(!memcmp(bits, y, sizeof bits));
	get(r, "cast_to_bool", bytes, sizeof bytes);
	get(r, "number", y, sizeof y);
	for (int i = 0; i < N; i++)
		CHECK(bytes[i] == (c[i] != 0) && y[i] == 0.1f);
	static const char *const indices[] = { "index", "index_div", "index_mod" };
	for (int k = 0; k < 3; k++) {
		get(r, indices[k], z, sizeof z);
		for (int i = 0; i < N; i++) {
			int64_t want = k == 0 ? 3 * i - 7
			        : k == 1      ? (int64_t)floor((i - 9) / 4.0)
			                      : ((i - 9) % 4 + 4) % 4;
			if (z[i] != want)
				wrong(indices[k], i, (double)z[i], (double)want);
		}
	}
	static const char *const moves[] = { "masked", "gathered", "reversed", "strided" };
	for (int k = 0; k < 4; k++) {
		get(r, moves[k], y, sizeof y);
		for (int i = 0; i < N; i++) {
			float want = k == 0 ? i + 1 < N ? a[i + 1] : 0
			        : k == 1    ? a[small[i]]
			        : k == 2    ? a[N - 1 - i]
			                    : a[3 * i % N];
			if (y[i] != want)
				wrong(moves[k], i, y[i], want);
		}
	}
}

static void judge_reductions(const struct result *r)
{
	float y[ROWS * ROWS];
	for (size_t k = 0; k < COUNT(reductions); k++) {
		get(r, reductions[k].name, y, ROWS * 4);
		for (int row = 0; row < ROWS; row++) {
			double want = a[row * COLUMNS], size = 0;
			for (int i = 0; i < COLUMNS; i++) {
				double term = a[row * COLUMNS + i];
				size += fabs(term);
				if (i)
					want = k == 0    ? want + term
					        : k == 1 ? fmax(want, term)
					        : k == 2 ? fmin(want, term)
					                 : want * term;
			}
			if (!(fabs(y[row] - want) <= (k == 0 ? size * 1e-6 : k == 3 ? fabs(want) * 2e-6 : 0)))
				wrong(reductions[k].name, row, y[row], want);
		}
	}
	int64_t sorted[ROWS * COLUMNS];
	get(r, "sorted", sorted, sizeof sorted);
	for (int row = 0; row < ROWS; row++)
		for (int i = 1; i < COLUMNS; i++) {
			int64_t one = sorted[row * COLUMNS + i - 1], next = sorted[row * COLUMNS + i];
			float x = b[row * COLUMNS + one], z = b[row * COLUMNS + next];
			CHECK(x < z || (x == z && one < next));
		}
	get(r, "product", y, sizeof y);
	for (int row = 0; row < ROWS; row++)
		for (int other = 0; other < ROWS; other++) {
			double want = 0, size = 0;
			for (int k = 0; k < COLUMNS; k++) {
				want += (double)a[row * COLUMNS + k] * b[other * COLUMNS + k];
				size += fabs((double)a[row * COLUMNS + k] * b[other * COLUMNS + k]);
			}
			if (!(fabs(y[row * ROWS + other] - want) <= size * 2e-6))
				wrong("product", row * ROWS + other, y[row * ROWS + other], want);
		}
}

static void put(const struct result *r, const char *name, const void *from, uint64_t bytes)
{
	struct ingot_event done;
	OK(ingot_write(r->context, node_of(r->library, name), from, bytes, &done));
	OK(ingot_event_sync(done));
	OK(ingot_event_close(done));
}

/* All its kernels, as the target has them. */
static const char *rendered(struct program *program, const struct target *target)
{
	const char *volatile kept = "";
	if (BUILD_TRY(&build)) {
		struct emit emit = { .build = &build,
			.arena = build.arena,
			.target = target,
			.templates = options_templates(&build, &(struct options){ 0 }),
			.name = "ops" };
		struct lowered *lowered = lower(program, target, OPTIMISE_SPEED, NULL, loops_finish);
		struct text text;
		text_init(&text, &build);
		for (size_t k = 0; k < lowered->kernels.count; k++)
			emit_kernel(&emit, lowered->kernels.at[k], &text);
		kept = arena_copy(build.arena, text.at, text.count);
		text_release(&text);
	}
	if (build.code)
		check_failed(__FILE__, __LINE__, build.message);
	return kept;
}

/* Vectors are in the statements where values lie side by side: taken, packed of places apart, put; the special index is
 * a GPU's block.  Barriers are H6's. */
static void judge_text(struct program *program)
{
	const char *c = rendered(program, target_find("x86-64-v3")), *cuda = rendered(program, &target_cuda);
	CHECK(strstr(c, "= vec_load(") && strstr(c, "\tvec_store(") && strstr(c, "vec_gather(")
	        && !strstr(c, "__sync"));
	CHECK(strstr(cuda, "= blockIdx.x;") && !strstr(c, "blockIdx"));
}

static void h17(struct trial *t)
{
	struct program *program;
	struct result r;
	struct ingot_routine routine;
	fill();
	const struct ingot_module *made = module(t, &program);
	OK(ingot_library_load(t->runtime, made, NULL, &r.library));
	link_routine(t->context, r.library, "ops", &routine, &r.context);
	put(&r, "a", a, sizeof a);
	put(&r, "b", b, sizeof b);
	put(&r, "c", c, sizeof c);
	put(&r, "positive", positive, sizeof positive);
	put(&r, "p", p, sizeof p);
	put(&r, "q", q, sizeof q);
	put(&r, "small", small, sizeof small);
	OK(ingot_routine_run(routine, NULL));
	OK(ingot_stream_await(t->stream));
	judge_rows(&r);
	judge_more(&r);
	judge_reductions(&r);
	judge_text(program);
	build_release(&build);
}

const struct row rows_ops[] = {
	{ "H17", "struct expr, struct stmt", "lowered_ops", h17, "sync multicore jit" },
	{ 0 },
};
