/* store.c: definitions -> definitions.  --store-weights f16, bf16, int8: float32 weights of products become what that
 * type holds of them, so that libraries have the narrow ones (kernels/narrow.c).
 *
 *     y = sum(k) x[i, k] * w[k, j]      w.int8[k, j] = float(codes[k, j]) * scales[j]
 *
 * Of a MB or more, that sums of products alone read, over one axis each, the same of all; a column of int8 has one scale,
 * its largest value over 127.  What is infinite, or would be, stays.  A rule on the graph alone. */
#include "definitions/narrow.h"
#include <math.h>

enum { STORED_LEAST = 1 << 20, WORD = 4 };

struct storing {
	const struct program *program;
	const struct definition *w;
	struct definition *becomes;
	int loads, axis; /* of one reader; the axis of w that its sums run along */
	bool fits;
};

static void look(void *user, const struct expr *load)
{
	((struct storing *)user)->loads += load->of == ((struct storing *)user)->w;
}

/* The only axis of w along which the sum moves; -1: there are several, or none. */
static int axis_of(const struct definition *sum, const struct expr *load)
{
	int axis = -1, moving = 0;
	FOR (k, sum->reduced)
		moving += sum->reduced_extents[k] > 1;
	FOR (d, load->rank)
		FOR (k, sum->reduced)
			if (sum->reduced_extents[k] > 1 && index_uses(load->at[d], sum->rank + k))
				axis = axis < 0 ? d : MAX_RANK;
	return moving == 1 && axis < MAX_RANK ? axis : -1;
}

static void see_reader(struct storing *s, const struct definition *d)
{
	s->loads = 0;
	definition_loads(d, look, s);
	if (!s->loads)
		return;
	const struct expr *load = NULL;
	for (int i = 0; d->sum.products && d->type == DTYPE_F32 && i < 2; i++)
		if (d->body->arg[i]->kind == EXPR_LOAD && d->body->arg[i]->of == s->w)
			load = d->body->arg[i];
	int axis = load && s->loads == 1 && !program_rewrite(s->program, d) ? axis_of(d, load) : -1;
	s->fits = axis >= 0 && (s->axis < 0 || s->axis == axis);
	s->axis = axis;
}

static bool is_stored(struct storing *s)
{
	const struct definition *w = s->w;
	if (w->source != SOURCE_CONSTANT || w->type != DTYPE_F32 || w->original || w->port.is_output
	        || w->reduce == REDUCE_REPEAT || definition_elements(w) * 4 < STORED_LEAST)
		return false;
	s->fits = true;
	s->axis = -1;
	for (size_t i = 0; s->fits && i < s->program->all.count; i++)
		if (s->program->all.at[i]->source == SOURCE_COMPUTED)
			see_reader(s, s->program->all.at[i]);
	return s->fits && s->axis >= 0 && w->extents[s->axis] % WORD == 0;
}

/* In 16 bits; NULL: one of them is not finite there. */
static const struct expr *halves(struct program *program, const struct definition *w, enum dtype type)
{
	int64_t count = definition_elements(w);
	uint16_t *codes = arena_new_array(program->arena, uint16_t, (size_t)count);
	const char *from = definition_data(w);
	FOR (i, count) {
		float x;
		memcpy(&x, from + 4 * i, 4);
		codes[i] = (uint16_t)narrow_code(type, 0, x);
		if (!isfinite(narrow_value(type, codes[i])))
			return NULL;
	}
	struct definition *made = define_constant(
	        program, arena_printf(program->arena, "%s.codes", w->name), type, w->rank, w->extents, codes);
	return expr_cast(program->arena, DTYPE_F32, expr_load_own(program->arena, made));
}

/* By column: what lies before the axis times what lies behind it. */
static const struct expr *bytes(struct program *program, const struct definition *w, int axis)
{
	int64_t count = definition_elements(w), extents[MAX_RANK], terms = w->extents[axis],
	        inner = extents_product(w->rank - axis - 1, w->extents + axis + 1);
	const struct index *at[MAX_RANK];
	const char *from = definition_data(w);
	FOR (d, w->rank) {
		extents[d] = d == axis ? 1 : w->extents[d];
		at[d] = d == axis ? index_constant(program->arena, 0) : index_var(program->arena, d, w->extents[d]);
	}
	signed char *codes = arena_alloc(program->arena, (size_t)count);
	float *scales = arena_new_array(program->arena, float, (size_t)(count / terms)), x;
	FOR (i, count) {
		float *scale = scales + i / (inner * terms) * inner + i % inner;
		memcpy(&x, from + 4 * i, 4);
		if (!isfinite(x))
			return NULL;
		*scale = fmaxf(*scale, fabsf(x));
	}
	FOR (i, count / terms)
		scales[i] /= 127;
	FOR (i, count) {
		float scale = scales[i / (inner * terms) * inner + i % inner];
		memcpy(&x, from + 4 * i, 4);
		codes[i] = (signed char)(scale > 0 ? fmax(fmin(nearbyint((double)x / scale), 127), -127) : 0);
	}
	struct definition *made = define_constant(program, arena_printf(program->arena, "%s.codes", w->name), DTYPE_I8,
	                          w->rank, w->extents, codes),
	                  *by = define_constant(program, arena_printf(program->arena, "%s.scales", w->name), DTYPE_F32,
	                          w->rank, extents, scales);
	return expr_scalar(program->arena, SCALAR_mul,
	        expr_cast(program->arena, DTYPE_F32, expr_load_own(program->arena, made)),
	        expr_load(program->arena, by, at), NULL);
}

static struct definition *becomes(const void *user, struct definition *of)
{
	const struct storing *s = user;
	return of == s->w ? s->becomes : of;
}

void store_weights(struct program *program, enum weights as)
{
	FOR_ALL (i, program->all) {
		struct storing s = { .program = program, .w = program->all.at[i] };
		size_t before = program->all.count;
		if (!is_stored(&s))
			continue;
		const struct expr *body = as == WEIGHTS_INT8
		        ? bytes(program, s.w, s.axis)
		        : halves(program, s.w, as == WEIGHTS_F16 ? DTYPE_F16 : DTYPE_BF16);
		if (!body)
			continue;
		s.becomes = define_map(program, arena_printf(program->arena, "%s.%s", s.w->name, weights_words[as]),
		        s.w->rank, s.w->extents, body);
		s.becomes->node = s.w->node;
		definition_fold(program, s.becomes);
		program_move(program, before, s.w);
		FOR_ALL (k, program->all)
			if (program->all.at[k]->source == SOURCE_COMPUTED && program->all.at[k]->sum.products)
				program->all.at[k]->body =
				        expr_redirect(program->arena, program->all.at[k]->body, becomes, &s);
		i = (size_t)s.w->number;
	}
}
