/* gathered.c: b that is packed at run time, panel by panel: the value `gathered` of c/contraction.jinja and
 * cuda/contraction.jinja. */
#include "emit/contraction.h"
#include <inttypes.h>

/* Where neighbours along the last term lie side by side, squares of lanes by lanes are transposed in registers. */
static struct value gathered_square(struct printing *p, struct printer *printer, const struct index *element)
{
	const struct contraction *c = p->c;
	int lanes = p->emit->target->lanes, term = c->column + c->terms;
	if (lanes == 1 || !c->terms || c->root->type != DTYPE_F32 || index_factor(c->b_at, term) != 1
	        || c->extents[term] < lanes || c->extents[c->column] < lanes)
		return value_none();
	return value_dict_of(p->arena, "from", printer_address(printer, c->b->of, element), "from_row",
	        index_factor(c->b_at, c->column), "term", p->names[term], "extent", c->extents[term]);
}

/* Where all terms of a column lie side by side, in another order than theirs (the weights of a convolution): so many of
 * the outermost as there are lanes are whole squares, whose rows go each to its place. */
static struct value gathered_runs(
        struct printing *p, struct printer *printer, const struct index *element, const int *order)
{
	const struct contraction *c = p->c;
	int lanes = p->emit->target->lanes;
	int64_t inner = 1;
	struct value lets = value_list(p->arena);
	if (c->root->type != DTYPE_F32 || c->extents[c->column + 1 + order[0]] < lanes || c->extents[c->column] < lanes)
		return value_none();
	for (int i = c->terms - 1; i >= 0; i--) {
		int v = c->column + 1 + order[i];
		if (p->ends[v] || index_factor(c->b_at, v) != inner)
			return value_none();
		value_list_add(lets,
		        value_dict_of(p->arena, "name", p->names[v], "value",
		                !i                   ? arena_printf(p->arena, "some + run / %" PRId64, inner)
		                        : inner == 1 ? arena_printf(
		                                  p->arena, "run %% %" PRId64, c->extents[c->column + 1 + order[i]])
		                                     : arena_printf(p->arena, "run / %" PRId64 " %% %" PRId64, inner,
		                                             c->extents[c->column + 1 + order[i]]),
		                "extent", c->extents[c->column + 1 + order[i]]));
		inner *= i ? c->extents[c->column + 1 + order[i]] : 1;
	}
	const struct index *first[MAX_VARS] = { 0 };
	FOR (t, c->terms)
		first[c->column + 1 + t] = index_constant(p->arena, 0);
	return value_dict_of(p->arena, "lets", lets, "inner", inner, "squares",
	        c->extents[c->column + 1 + order[0]] / lanes * lanes, "from",
	        printer_address(printer, c->b->of, index_substitute(p->arena, element, first)), "from_row",
	        index_factor(c->b_at, c->column));
}

/* {name, bound, extent} of each term, of all k blocks together: a panel is packed whole. */
static struct value gathered_terms(struct printing *p, const int *order)
{
	struct value terms = value_list(p->arena);
	FOR (i, p->c->terms) {
		int v = p->c->column + 1 + (order ? order[i] : i);
		value_list_add(terms,
		        value_dict_of(p->arena, "name", p->names[v], "bound", p->c->extents[v], "extent",
		                p->ends[v] ? value_string(p->ends[v]) : value_int(p->c->extents[v])));
	}
	return terms;
}

/* Where nothing lies side by side: column by column some terms, in the order in which they lie, so that lines and pages
 * are read once. */
enum { GATHERED_AT_ONCE = 32 };
static struct value gathered_blocks(struct printing *p, struct printer *printer, const struct index *element)
{
	const struct contraction *c = p->c;
	int order[MAX_VARS];
	if (p->emit->target->lanes == 1 || !c->terms || !index_is_affine(c->b_at))
		return value_none();
	FOR (t, c->terms) {
		int at = t;
		for (; at > 0
		        && index_factor(c->b_at, c->column + 1 + order[at - 1])
		                < index_factor(c->b_at, c->column + 1 + t);
		        at--)
			order[at] = order[at - 1];
		order[at] = t;
	}
	const char *place = p->names[c->column + 1];
	for (int t = 1; t < c->terms; t++)
		place = arena_printf(p->arena, t == 1 ? "%s * %" PRId64 " + %s" : "(%s) * %" PRId64 " + %s", place,
		        c->extents[c->column + 1 + t], p->names[c->column + 1 + t]);
	return value_dict_of(p->arena, "terms", gathered_terms(p, order), "step", GATHERED_AT_ONCE, "place", place,
	        "runs", gathered_runs(p, printer, element, order));
}

/* A panel of codes, widened. */
static struct value call_code(struct template_call *call)
{
	return value_string(contraction_code(call->user, 0, call_int(call, 0, 0)));
}
static struct value gathered_codes(struct printing *p, const char *packed)
{
	const struct contraction *c = p->c;
	if (!c->codes.apart)
		return value_none();
	return value_dict_of(p->arena, "from", packed, "blocks", c->terms > 1 ? c->extents[c->column + 1] : 1, "terms",
	        c->extents[c->column + c->terms], "step", 32 / c->codes.bits, "zeros", c->codes.zeros, "value",
	        value_function(p->arena, "value", "u", call_code, p));
}

/* b that is no constant and whose columns are apart, or is codes: packed panel by panel into scratch. */
struct value gathered_value(struct printing *p, int64_t terms, const char *packed)
{
	const struct contraction *c = p->c;
	if (c->b_mode != B_GATHERED)
		return value_none();
	struct value gathered = value_dict(p->arena);
	const struct index *with[MAX_VARS] = { 0 };
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	p->names[SPARE_VEC] = "q";
	with[c->column] = index_add(
	        p->arena, index_var(p->arena, c->column, INT32_MAX), index_var(p->arena, SPARE_VEC, INT32_MAX));
	value_set(gathered, "floats", terms * c->tile.vecs * p->emit->target->lanes, "codes", gathered_codes(p, packed),
	        "blocks", value_none());
	if (c->codes.apart)
		return gathered;
	int64_t apart = index_factor(c->b_at, c->column);
	const struct target *target = p->emit->target;
	bool shorter = !target->lanes_are_threads && c->terms == 1
	        && c->extents[c->column + 1] < target->lanes, /* than squares */
	        line = apart == 1 || ((apart == 2 || shorter) && target->lanes > 1 && c->root->type == DTYPE_F32);
	value_set(gathered, "line", line ? value_string(printer_address(&printer, c->b->of, c->b_at)) : value_none(),
	        "apart", apart, "width", c->tile.vecs, "terms", gathered_terms(p, NULL), "columns",
	        c->extents[c->column]);
	const struct index *element = index_substitute(p->arena, c->b_at, with);
	value_set(gathered, "element", printer_element(&printer, c->b->of, element));
	/* the same for who copies columns of neighbouring last terms at once */
	const struct index *first[MAX_VARS] = { 0 };
	int last = c->column + c->terms;
	if (c->terms)
		first[last] = index_constant(p->arena, 0);
	value_set(gathered, "from", printer_address(&printer, c->b->of, index_substitute(p->arena, c->b_at, first)),
	        "row", c->terms ? index_factor(c->b_at, last) : 0, "lane", index_factor(c->b_at, c->column));
	struct value square = gathered_square(p, &printer, element);
	value_set(gathered, "square", square, "blocks",
	        line || square.kind == VALUE_DICT ? value_none() : gathered_blocks(p, &printer, element));
	p->names[SPARE_VEC] = "v";
	return gathered;
}
