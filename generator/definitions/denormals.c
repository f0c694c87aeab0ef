/* denormals.c: program -> program.  --denormals zero: constants of sums of products that are below their type's normal
 * numbers count as 0.  Some CPUs take a hundred cycles for each product of such a number (Intel's optimisation manual,
 * "floating-point exceptions in denormal operands"), and it moves a result by less than 2^-126 times the other factor.
 * A rule on the definitions and their constants alone, so every target computes the same. */
#include "definitions/definitions.h"
#include <math.h>

struct seen {
	struct definition *of, *becomes;
};
struct flushing {
	struct program *program; /* that owns the constants */
	bool counts;             /* and changes nothing */
	struct denormals found;
	VECTOR(struct seen) seen;
};

/* bfloat16 has the exponents of float32, where its products are made; float16's smallest numbers are normal there. */
static bool is_denormal(const struct definition *of, int64_t i)
{
	const void *data = definition_data(of);
	const uint16_t *bf16 = data;
	if (of->type == DTYPE_BF16)
		return !(bf16[i] & 0x7f80) && bf16[i] & 0x7f;
	return of->type == DTYPE_F32 ? fpclassify(((const float *)data)[i]) == FP_SUBNORMAL
	                             : fpclassify(((const double *)data)[i]) == FP_SUBNORMAL;
}

/* Its elements, 0 (of the same sign) where they are denormal. */
static struct definition *zeroed(struct program *program, const struct definition *of)
{
	size_t size = dtype_bytes(of->type, 1);
	int64_t count = definition_elements(of);
	char *data = arena_alloc(program->arena, (size_t)count * size);
	memcpy(data, definition_data(of), (size_t)count * size);
	FOR (i, count) {
		char *element = data + (size_t)i * size;
		if (is_denormal(of, i)) {
			bool minus = element[size - 1] & 0x80;
			memset(element, 0, size);
			element[size - 1] = minus ? (char)0x80 : 0;
		}
	}
	return define_constant(program, of->name, of->type, of->rank, of->extents, data);
}

static struct definition *flushed(struct flushing *f, struct definition *of)
{
	int64_t denormals = 0, count = definition_elements(of);
	if (of->source != SOURCE_CONSTANT || (of->type != DTYPE_F32 && of->type != DTYPE_F64 && of->type != DTYPE_BF16))
		return of;
	FOR_ALL (i, f->seen)
		if (f->seen.at[i].of == of)
			return f->seen.at[i].becomes;
	FOR (i, count)
		denormals += is_denormal(of, i);
	f->found.denormals += denormals;
	f->found.elements += count;
	struct seen seen = { of, denormals && !f->counts ? zeroed(f->program, of) : of };
	push(f->program->arena, &f->seen, seen);
	return seen.becomes;
}

static const struct expr *flush_load(void *user, const struct expr *load)
{
	struct flushing *f = user;
	struct definition *of = flushed(f, load->of);
	return of == load->of ? load : expr_load(f->program->arena, of, load->at);
}

struct asking {
	const struct definition *input;
	bool reads;
};
static void read(void *user, const struct expr *load)
{
	struct asking *asking = user;
	asking->reads |= load->of == asking->input;
}

bool definition_is_factor(const struct program *body, const struct definition *input)
{
	bool factor = false;
	FOR_EACH (const struct definition *d, body->all) {
		struct asking asking = { .input = input };
		definition_loads(d, read, &asking);
		if (asking.reads && !d->sum.products)
			return false;
		factor |= asking.reads;
	}
	return factor;
}

static void flush(struct flushing *f)
{
	struct program *program = f->program;
	size_t count = program->all.count;
	FOR (i, count) {
		struct definition *d = program->all.at[i];
		if (d->sum.products)
			d->body = expr_map_loads(program->arena, d->body, flush_load, f);
		if (!d->loop.operand)
			continue;
		const struct expr **operand = arena_new_array(program->arena, const struct expr *, d->loop.operands);
		FOR (o, d->loop.operands)
			operand[o] = definition_is_factor(d->loop.repeat->body, d->loop.repeat->body->inputs.at[o])
			        ? expr_map_loads(program->arena, d->loop.operand[o], flush_load, f)
			        : d->loop.operand[o];
		d->loop.operand = operand;
	}
	if (count)
		program_move(program, count, program->all.at[0]);
}

void flush_denormals(struct program *program)
{
	struct flushing f = { .program = program };
	flush(&f);
}

struct denormals program_denormals(struct program *program)
{
	struct flushing f = { .program = program, .counts = true };
	flush(&f);
	return f.found;
}
