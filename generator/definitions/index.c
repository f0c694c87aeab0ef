/* index.c: integers over index variables in one normal form: constant + sum of factor * atom, atoms distinct and
 * sorted. The rules are those that reshapes, slices and layouts need; each keeps the value for every assignment of the
 * variables. */
#include "definitions/intern.h"
#include <inttypes.h>

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }
static int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
int64_t gcd(int64_t a, int64_t b)
{
	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	for (int64_t t; b; a = b, b = t)
		t = a % b;
	return a;
}

static int compare_atom(const struct atom *a, const struct atom *b)
{
	int order;
	if (a == b)
		return 0;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	switch (a->kind) {
	case ATOM_VAR: return (a->var > b->var) - (a->var < b->var);
	case ATOM_DIV:
	case ATOM_MOD:
		if (a->by != b->by)
			return a->by < b->by ? -1 : 1;
		return index_compare(a->of, b->of);
	case ATOM_SYMBOL:
		if (a->symbol != b->symbol)
			return a->symbol < b->symbol ? -1 : 1;
		return index_compare(a->of, b->of);
	case ATOM_VALUE:
		order = expr_compare(
		        a->value, b->value); /* once: values of values would be compared twice at each level */
		return !order || a->low == b->low ? order : a->low < b->low ? -1 : 1;
	}
	return 0;
}

int index_compare(const struct index *a, const struct index *b)
{
	if (a == b)
		return 0;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	FOR (i, a->count) {
		int order = compare_atom(a->terms[i].atom, b->terms[i].atom);
		if (order)
			return order;
		if (a->terms[i].factor != b->terms[i].factor)
			return a->terms[i].factor < b->terms[i].factor ? -1 : 1;
	}
	return (a->constant > b->constant) - (a->constant < b->constant);
}

bool index_equal(const struct index *a, const struct index *b) { return index_compare(a, b) == 0; }

static struct index *index_room(struct arena *arena, int count)
{
	struct index *index = arena_alloc(arena, sizeof *index + (size_t)count * sizeof *index->terms);
	index->count = count;
	return index;
}

/* Most constants are this one, and most sums have it as a part. */
static const struct index zero;

const struct index *index_constant(struct arena *arena, int64_t value)
{
	if (!value)
		return &zero;
	struct index *index = index_room(arena, 0);
	index->constant = value;
	return intern_index(arena, index);
}

const struct index *index_of_atom(struct arena *arena, struct atom atom, int64_t factor)
{
	const struct atom *kept = intern_atom(arena, atom);
	struct index *index = index_room(arena, 1);
	index->terms[0] = (struct index_term){ factor, kept };
	return intern_index(arena, index);
}

/* Of terms that lie in place already. */
static const struct index *finished(struct arena *arena, struct index *made)
{
	if (made->count || made->constant)
		return intern_index(arena, made);
	arena_trim(arena, made, 0);
	return &zero;
}

const struct index *index_var(struct arena *arena, int var, int64_t extent)
{
	if (extent == 1)
		return index_constant(arena, 0);
	return index_of_atom(arena, (struct atom){ .kind = ATOM_VAR, .var = var, .low = 0, .high = extent - 1 }, 1);
}

void index_vars(struct arena *arena, const struct index **vars, int count, const int64_t *extents)
{
	FOR (v, count)
		vars[v] = index_var(arena, v, extents[v]);
}

/* The numbers of a table that the library holds lie in [low, high]: whoever reads it need not see to that. */
enum { HELD_MOST = 1 << 16 };
static bool holds_within(const struct expr *value, int64_t low, int64_t high)
{
	if (value->kind == EXPR_CAST && value->type == DTYPE_I64)
		value = value->arg[0];
	const struct definition *of = value->kind == EXPR_LOAD ? value->of : NULL;
	if (!of || of->source != SOURCE_CONSTANT || (of->type != DTYPE_I32 && of->type != DTYPE_I64) || !of->data
	        || of->late)
		return false;
	int64_t count = definition_elements(of);
	for (int64_t i = 0; i < count && count <= HELD_MOST; i++) {
		int64_t at = of->type == DTYPE_I32 ? ((const int32_t *)of->data)[i] : ((const int64_t *)of->data)[i];
		if (at < low || at > high)
			return false;
	}
	return count <= HELD_MOST;
}

const struct index *index_value(struct arena *arena, const struct expr *value, int64_t low, int64_t high)
{
	return index_of_atom(arena,
	        (struct atom){ .kind = ATOM_VALUE,
	                .value = value,
	                .low = low,
	                .high = high,
	                .by = holds_within(value, low, high) },
	        1);
}

void index_range(const struct index *index, int64_t *low, int64_t *high)
{
	*low = *high = index->constant;
	FOR (i, index->count) {
		int64_t f = index->terms[i].factor;
		const struct atom *atom = index->terms[i].atom;
		*low += f * (f > 0 ? atom->low : atom->high);
		*high += f * (f > 0 ? atom->high : atom->low);
	}
}

/* a + b * factor, merged and sorted */
static const struct index *merge(struct arena *arena, const struct index *a, const struct index *b, int64_t factor)
{
	if (!factor || (!b->count && !b->constant))
		return a;
	if (factor == 1 && !a->count && !a->constant)
		return b;
	struct index *sum = index_room(arena, a->count + b->count);
	int i = 0, j = 0, n = 0;
	sum->constant = a->constant + factor * b->constant;
	while (i < a->count || j < b->count) {
		int order = i == a->count ? 1 : j == b->count ? -1 : compare_atom(a->terms[i].atom, b->terms[j].atom);
		struct index_term term;
		if (order < 0)
			term = a->terms[i++];
		else if (order > 0)
			term = (struct index_term){ factor * b->terms[j].factor, b->terms[j].atom }, j++;
		else
			term = (struct index_term){ a->terms[i].factor + factor * b->terms[j].factor,
				a->terms[i].atom },
			i++, j++;
		if (term.factor)
			sum->terms[n++] = term;
	}
	sum->count = n;
	return finished(arena, sum);
}

static const struct index *without(struct arena *arena, const struct index *a, int i, int j)
{
	struct index *rest = index_room(arena, a->count - 2);
	int n = 0;
	rest->constant = a->constant;
	FOR (k, a->count)
		if (k != i && k != j)
			rest->terms[n++] = a->terms[k];
	return finished(arena, rest);
}

/* f*n*(x/n) + f*(x%n) = f*x;  f*n*((x/n + k)%m) + f*(x%n) = f*((x + k*n)%(n*m)) */
static const struct index *combine(struct arena *arena, const struct index *a)
{
	FOR (j, a->count) {
		const struct atom *low = a->terms[j].atom;
		int64_t f = a->terms[j].factor;
		if (low->kind != ATOM_MOD)
			continue;
		FOR (i, a->count) {
			const struct atom *high = a->terms[i].atom;
			if (a->terms[i].factor != f * low->by)
				continue;
			if (high->kind == ATOM_DIV && high->by == low->by && index_equal(high->of, low->of))
				return combine(arena, merge(arena, without(arena, a, i, j), low->of, f));
			const struct index *apart = high->kind == ATOM_MOD
			        ? merge(arena, high->of, index_div(arena, low->of, low->by), -1)
			        : NULL;
			if (apart && !apart->count) {
				const struct index *of = index_plus(arena, low->of, apart->constant * low->by);
				return combine(arena,
				        merge(arena, without(arena, a, i, j), index_mod(arena, of, low->by * high->by),
				                f));
			}
		}
	}
	return a;
}

const struct index *index_add(struct arena *arena, const struct index *a, const struct index *b)
{
	return combine(arena, merge(arena, a, b, 1));
}

const struct index *index_plus(struct arena *arena, const struct index *a, int64_t b)
{
	if (!b)
		return a;
	struct index *sum = index_room(arena, a->count);
	memcpy(sum->terms, a->terms, (size_t)a->count * sizeof *a->terms);
	sum->constant = a->constant + b;
	return finished(arena, sum);
}

/* One atom for each of its terms: so symbols of one variable add up, and a variable that becomes a constant leaves the
 * symbol alone. */
const struct index *index_symbol(struct arena *arena, int symbol, int64_t value, const struct index *of)
{
	const struct index *sum = index_constant(arena, 0);
	for (int i = -1; i < of->count; i++) {
		const struct index *one =
		        i < 0 ? index_constant(arena, 1) : index_of_atom(arena, *of->terms[i].atom, 1);
		int64_t factor = i < 0 ? of->constant : of->terms[i].factor, low, high;
		index_range(one, &low, &high);
		if (factor)
			sum = index_add(arena, sum,
			        index_of_atom(arena,
			                (struct atom){ .kind = ATOM_SYMBOL,
			                        .symbol = symbol,
			                        .by = value,
			                        .of = one,
			                        .low = value * (value < 0 ? high : low),
			                        .high = value * (value < 0 ? low : high) },
			                factor));
	}
	return sum;
}

const struct index *index_scale(struct arena *arena, const struct index *a, int64_t factor)
{
	return merge(arena, index_constant(arena, 0), a, factor);
}

/* x = by * quotient + rest, the rest with a constant in [0, by) and without terms that `by` divides */
static void split(struct arena *arena, const struct index *x, int64_t by, const struct index **quotient,
        const struct index **rest)
{
	FOR (part, 2) {
		struct index *made = index_room(arena, x->count);
		made->count = 0;
		made->constant = part ? floor_mod(x->constant, by) : floor_div(x->constant, by);
		FOR (i, x->count)
			if ((x->terms[i].factor % by != 0) == part)
				made->terms[made->count++] =
				        (struct index_term){ part ? x->terms[i].factor : x->terms[i].factor / by,
					        x->terms[i].atom };
		*(part ? rest : quotient) = finished(arena, made);
	}
}

/* The largest g > 1 dividing n with x = g*s + b, b in [0, g); 1 where there is none. */
static int64_t coarse(
        struct arena *arena, const struct index *x, int64_t n, const struct index **s, const struct index **b)
{
	int64_t best = 1;
	FOR (i, x->count) {
		int64_t g = gcd(x->terms[i].factor, n), low, high;
		const struct index *q, *r;
		if (g <= best)
			continue;
		split(arena, x, g, &q, &r);
		index_range(r, &low, &high);
		if (low >= 0 && high < g)
			best = g, *s = q, *b = r;
	}
	return best;
}

const struct index *index_div(struct arena *arena, const struct index *x, int64_t by)
{
	const struct index *q, *r, *s, *b;
	int64_t low, high, g;
	if (by == 1)
		return x;
	split(arena, x, by, &q, &r);
	index_range(r, &low, &high);
	if (floor_div(low, by) == floor_div(high, by))
		return index_plus(arena, q, floor_div(low, by));
	if ((g = coarse(arena, r, by, &s, &b)) > 1)
		return index_add(arena, q, index_div(arena, s, by / g));
	if (r->count == 1 && r->terms[0].factor == 1 && r->constant == 0) {
		const struct atom *atom = r->terms[0].atom;
		if (atom->kind == ATOM_DIV)
			return index_add(arena, q, index_div(arena, atom->of, atom->by * by));
		if (atom->kind == ATOM_MOD && atom->by % by == 0)
			return index_add(arena, q, index_mod(arena, index_div(arena, atom->of, by), atom->by / by));
	}
	return index_add(arena, q,
	        index_of_atom(arena,
	                (struct atom){ .kind = ATOM_DIV,
	                        .of = r,
	                        .by = by,
	                        .low = floor_div(low, by),
	                        .high = floor_div(high, by) },
	                1));
}

const struct index *index_mod(struct arena *arena, const struct index *x, int64_t by)
{
	const struct index *q, *r, *s, *b;
	int64_t low, high, g;
	if (by == 1)
		return index_constant(arena, 0);
	split(arena, x, by, &q, &r);
	index_range(r, &low, &high);
	if (floor_div(low, by) == floor_div(high, by))
		return index_plus(arena, r, -by * floor_div(low, by));
	if ((g = coarse(arena, r, by, &s, &b)) > 1)
		return index_add(arena, index_scale(arena, index_mod(arena, s, by / g), g), b);
	if (r->count == 1 && r->terms[0].factor == 1 && r->constant == 0) {
		const struct atom *atom = r->terms[0].atom;
		if (atom->kind == ATOM_MOD && atom->by % by == 0)
			return index_mod(arena, atom->of, by);
	}
	return index_of_atom(arena, (struct atom){ .kind = ATOM_MOD, .of = r, .by = by, .low = 0, .high = by - 1 }, 1);
}

bool index_is_constant(const struct index *index, int64_t *value)
{
	*value = index->constant;
	return index->count == 0;
}

bool index_is(const struct index *index, int var)
{
	int is;
	return index_is_var(index, &is) && is == var;
}

bool index_is_var(const struct index *index, int *var)
{
	if (index->count != 1 || index->constant || index->terms[0].factor != 1
	        || index->terms[0].atom->kind != ATOM_VAR)
		return false;
	*var = index->terms[0].atom->var;
	return true;
}

int64_t index_factor(const struct index *index, int var)
{
	FOR (i, index->count)
		if (index->terms[i].atom->kind == ATOM_VAR && index->terms[i].atom->var == var)
			return index->terms[i].factor;
	return 0;
}

bool index_uses(const struct index *index, int var)
{
	if (var < VARS_LAST || !(index->vars & var_bit(var)))
		return index->vars & var_bit(var);
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		if (atom->kind == ATOM_VAR                 ? atom->var == var
		                : atom->kind == ATOM_VALUE ? expr_uses(atom->value, var)
		                                           : index_uses(atom->of, var))
			return true;
	}
	return false;
}

bool index_bends(const struct index *index, int var)
{
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		if (atom->kind == ATOM_VALUE ? expr_uses(atom->value, var)
		                             : atom->kind != ATOM_VAR && index_uses(atom->of, var))
			return true;
	}
	return false;
}

const struct index *index_step(struct arena *arena, const struct index *index, int var)
{
	const struct index *step = index_constant(arena, 0);
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		int64_t factor = index->terms[i].factor;
		if (atom->kind == ATOM_SYMBOL && !index_bends(atom->of, var))
			step = index_add(arena, step,
			        index_symbol(arena, atom->symbol, atom->by,
			                index_constant(arena, factor * index_factor(atom->of, var))));
		else if (atom->kind == ATOM_VAR)
			step = index_plus(arena, step, atom->var == var ? factor : 0);
		else if (atom->kind == ATOM_VALUE ? expr_uses(atom->value, var) : index_uses(atom->of, var))
			return NULL;
	}
	return step;
}

/* An affine index of numbers that 32 bits hold, with room to spare. */
static bool is_small_line(const struct index *index)
{
	int64_t low, high;
	index_range(index, &low, &high);
	return index_is_affine(index) && low > -(1 << 30) && high < 1 << 30;
}

static bool is_integer(const struct expr *expr, int64_t number)
{
	return expr->kind == EXPR_NUMBER && expr->integer == number;
}

/* min(max(i + (i < 0) * n, low), high), which an index that counts from the end is cut by: i, else NULL. */
static const struct expr *cut_index(const struct atom *atom, int64_t *from_end)
{
	const struct expr *top = atom->value,
	                  *sum = expr_is(top, SCALAR_min) && expr_is(top->arg[0], SCALAR_max) ? top->arg[0]->arg[0]
	                                                                                      : NULL;
	if (!sum || !is_integer(top->arg[1], atom->high) || !is_integer(top->arg[0]->arg[1], atom->low)
	        || !expr_is(sum, SCALAR_add) || !expr_is(sum->arg[1], SCALAR_mul))
		return NULL;
	const struct expr *below = sum->arg[1]->arg[0], *number = sum->arg[1]->arg[1];
	if (!expr_is(below, SCALAR_less) || !expr_equal(below->arg[0], sum->arg[0]) || !is_integer(below->arg[1], 0)
	        || number->kind != EXPR_NUMBER || number->integer < 0 || number->integer >= 1 << 30)
		return NULL;
	*from_end = number->integer;
	return sum->arg[0];
}

const struct expr *atom_gathered(const struct atom *atom, int64_t *from_end)
{
	*from_end = 0;
	if (atom->kind != ATOM_VALUE)
		return NULL;
	const struct expr *cut = cut_index(atom, from_end), *value = cut ? cut : atom->value;
	if (value->kind == EXPR_CAST && !value->cast && value->arg[0]->type == DTYPE_I32)
		value = value->arg[0];
	return value->kind == EXPR_LOAD && (value->type == DTYPE_I32 || value->type == DTYPE_I64) ? value : NULL;
}

static bool atom_gathers(const struct atom *atom, int var)
{
	int64_t from_end;
	if (atom->kind == ATOM_DIV || atom->kind == ATOM_MOD)
		return !(atom->by & (atom->by - 1)) && is_small_line(atom->of);
	const struct expr *load = atom_gathered(atom, &from_end);
	for (int d = 0; load && d < load->of->rank; d++)
		if (index_bends(load->at[d], var))
			return false;
	return load;
}

const struct expr *index_looked_up(const struct index *index)
{
	const struct atom *atom = index->count == 1 && index->terms[0].factor == 1 ? index->terms[0].atom : NULL;
	const struct expr *byte = atom && atom->kind == ATOM_VALUE ? atom->value : NULL;
	return byte && byte->kind == EXPR_LOAD && (byte->type == DTYPE_I8 || byte->type == DTYPE_U8)
	                && atom->high - atom->low == UINT8_MAX && atom->low == (byte->type == DTYPE_I8 ? INT8_MIN : 0)
	                && index->constant == -atom->low
	        ? byte
	        : NULL;
}

bool index_lane_gathers(const struct index *index, int var)
{
	int64_t low, high;
	index_range(index, &low, &high);
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		bool bends = atom->kind == ATOM_VALUE ? expr_uses(atom->value, var)
		                                      : atom->kind != ATOM_VAR && index_uses(atom->of, var);
		if (bends && !atom_gathers(atom, var))
			return false;
	}
	return low > -(1 << 30) && high < 1 << 30;
}

bool index_is_affine(const struct index *index)
{
	FOR (i, index->count)
		if (index->terms[i].atom->kind != ATOM_VAR)
			return false;
	return true;
}

int64_t index_evaluate(
        const struct index *index, const int64_t *vars, int64_t (*value)(void *, const struct expr *), void *user)
{
	int64_t sum = index->constant;
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		int64_t x = atom->kind == ATOM_VAR  ? vars[atom->var]
		        : atom->kind == ATOM_DIV    ? floor_div(index_evaluate(atom->of, vars, value, user), atom->by)
		        : atom->kind == ATOM_MOD    ? floor_mod(index_evaluate(atom->of, vars, value, user), atom->by)
		        : atom->kind == ATOM_SYMBOL ? atom->by * index_evaluate(atom->of, vars, value, user)
		                                    : value(user, atom->value);
		sum += atom->kind == ATOM_VALUE ? (x < atom->low                   ? atom->low
		                                                  : x > atom->high ? atom->high
		                                                                   : x)
		                * index->terms[i].factor
		                                : x * index->terms[i].factor;
	}
	return sum;
}

static void print_atom(const struct atom *atom, const char *const *names, struct text *out)
{
	switch (atom->kind) {
	case ATOM_VAR: text_adds(out, names[atom->var]); break;
	case ATOM_DIV:
	case ATOM_MOD:
		text_addc(out, '(');
		index_print(atom->of, names, out);
		text_printf(out, ")%c%" PRId64, atom->kind == ATOM_DIV ? '/' : '%', atom->by);
		break;
	case ATOM_SYMBOL:
		text_printf(out, "s%d", atom->symbol);
		if (atom->of->count) {
			text_addc(out, '*');
			index_print(atom->of, names, out);
		}
		break;
	case ATOM_VALUE:
		text_adds(out, "[]"); /* who prints values substitutes them first: emit/expression.c */
		break;
	}
}

void index_print(const struct index *index, const char *const *names, struct text *out)
{
	FOR (i, index->count) {
		int64_t f = index->terms[i].factor;
		if (f < 0)
			text_adds(out, i ? " - " : "-");
		else if (i)
			text_adds(out, " + ");
		f = f < 0 ? -f : f;
		if (f != 1)
			text_printf(out, "%" PRId64 "*", f);
		bool wrap = f != 1 && index->terms[i].atom->kind != ATOM_VAR;
		if (wrap)
			text_addc(out, '(');
		print_atom(index->terms[i].atom, names, out);
		if (wrap)
			text_addc(out, ')');
	}
	if (!index->count)
		text_printf(out, "%" PRId64, index->constant);
	else if (index->constant)
		text_printf(out, " %c %" PRId64, index->constant < 0 ? '-' : '+',
		        index->constant < 0 ? -index->constant : index->constant);
}

const struct index *index_flatten(struct arena *arena, int rank, const struct index *const *at, const int64_t *extents)
{
	const struct index *flat = index_constant(arena, 0);
	for (int64_t d = rank - 1, step = 1; d >= 0; step *= extents[d], d--)
		flat = index_add(arena, flat, index_scale(arena, at[d], step));
	return flat;
}

void index_unflatten(
        struct arena *arena, const struct index *flat, int rank, const int64_t *extents, const struct index **at)
{
	int64_t step = 1;
	for (int d = rank - 1; d >= 0; step *= extents[d], d--) {
		const struct index *whole = index_div(arena, flat, step);
		at[d] = extents[d] == 1 ? index_constant(arena, 0)
		        : d == 0        ? whole
		                        : index_mod(arena, whole, extents[d]);
	}
}
