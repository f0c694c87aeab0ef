/* gathered.c: b that is packed at run time, panel by panel: the value `gathered` of c/contraction.jinja and cuda/contraction.jinja. */
#include "emit/contraction.h"
#include <inttypes.h>

/* Where neighbours along the last term lie side by side, squares of lanes by lanes are turned in registers. */
static struct value gathered_square(struct printing *p, struct printer *printer, const struct index *element)
{
	const struct contraction *c = p->c;
	int lanes = p->emit->target->lanes, term = c->column + c->terms;
	if (lanes == 1 || !c->terms || c->root->type != DTYPE_F32 || index_factor(c->b_at, term) != 1 || contraction_extent(c, c->terms - 1) < lanes || c->extents[c->column] < lanes)
		return value_none();
	struct value square = value_dict(p->arena);
	value_dict_set(square, "from", value_string(printer_address(printer, c->b->of, element)));
	value_dict_set(square, "from_row", value_int(index_factor(c->b_at, c->column)));
	value_dict_set(square, "term", value_string(p->names[term]));
	value_dict_set(square, "squares", value_int(contraction_extent(c, c->terms - 1) / lanes * lanes));
	return square;
}

/* Where all terms of a column lie side by side, in another order than theirs (the weights of a convolution): so many of the outermost as there are lanes are
 * whole squares, whose rows go each to its place. */
static struct value gathered_runs(struct printing *p, struct printer *printer, const struct index *element, const int *order)
{
	const struct contraction *c = p->c;
	int lanes = p->emit->target->lanes;
	int64_t inner = 1;
	struct value runs = value_dict(p->arena), lets = value_list(p->arena);
	if (c->root->type != DTYPE_F32 || contraction_extent(c, order[0]) < lanes || c->extents[c->column] < lanes)
		return value_none();
	for (int i = c->terms - 1; i >= 0; i--) {
		int v = c->column + 1 + order[i];
		if (p->ends[v] || index_factor(c->b_at, v) != inner)
			return value_none();
		struct value let = value_dict(p->arena);
		value_dict_set(let, "name", value_string(p->names[v]));
		value_dict_set(let, "value", value_string(!i ? arena_printf(p->arena, "some + run / %" PRId64, inner) : inner == 1
			? arena_printf(p->arena, "run %% %" PRId64, contraction_extent(c, order[i]))
			: arena_printf(p->arena, "run / %" PRId64 " %% %" PRId64, inner, contraction_extent(c, order[i]))));
		value_dict_set(let, "extent", value_int(contraction_extent(c, order[i])));
		value_list_add(lets, let);
		inner *= i ? contraction_extent(c, order[i]) : 1;
	}
	const struct index *first[MAX_VARS] = { 0 };
	for (int t = 0; t < c->terms; t++)
		first[c->column + 1 + t] = index_constant(p->arena, 0);
	value_dict_set(runs, "lets", lets);
	value_dict_set(runs, "inner", value_int(inner));
	value_dict_set(runs, "squares", value_int(contraction_extent(c, order[0]) / lanes * lanes));
	value_dict_set(runs, "from", value_string(printer_address(printer, c->b->of, index_substitute(p->arena, element, first))));
	value_dict_set(runs, "from_row", value_int(index_factor(c->b_at, c->column)));
	return runs;
}

/* Where nothing lies side by side: column by column some terms, in the order in which they lie, so that lines and pages are read once. */
enum { GATHERED_AT_ONCE = 32 };
static struct value gathered_blocks(struct printing *p, struct printer *printer, const struct index *element)
{
	const struct contraction *c = p->c;
	int order[MAX_VARS];
	if (p->emit->target->lanes == 1 || !c->terms || !index_is_affine(c->b_at))
		return value_none();
	for (int t = 0; t < c->terms; t++) {
		int at = t;
		for (; at > 0 && index_factor(c->b_at, c->column + 1 + order[at - 1]) < index_factor(c->b_at, c->column + 1 + t); at--)
			order[at] = order[at - 1];
		order[at] = t;
	}
	struct value blocks = value_dict(p->arena), terms = value_list(p->arena);
	for (int i = 0; i < c->terms; i++) {
		struct value term = value_dict(p->arena);
		int v = c->column + 1 + order[i];
		value_dict_set(term, "name", value_string(p->names[v]));
		value_dict_set(term, "extent", p->ends[v] ? value_string(p->ends[v]) : value_int(contraction_extent(c, order[i])));
		value_list_add(terms, term);
	}
	const char *place = p->names[c->column + 1];
	for (int t = 1; t < c->terms; t++)
		place = arena_printf(p->arena, t == 1 ? "%s * %" PRId64 " + %s" : "(%s) * %" PRId64 " + %s", place, contraction_extent(c, t), p->names[c->column + 1 + t]);
	value_dict_set(blocks, "terms", terms);
	value_dict_set(blocks, "step", value_int(GATHERED_AT_ONCE));
	value_dict_set(blocks, "place", value_string(place));
	value_dict_set(blocks, "runs", gathered_runs(p, printer, element, order));
	return blocks;
}

/* b that is no constant and whose columns are apart: packed panel by panel into scratch. */
struct value gathered_value(struct printing *p, int64_t terms)
{
	const struct contraction *c = p->c;
	if (c->b_mode != B_GATHERED)
		return value_none();
	struct value gathered = value_dict(p->arena);
	const struct index *with[MAX_VARS] = { 0 };
	struct printer printer = contraction_printer(p, NULL);
	printer.lane = -1;
	p->names[SPARE_VEC] = "q";
	const struct index *b_at = c->b_at, *of_pass[MAX_VARS] = { 0 };
	if (c->pass) {
		int v = c->column + 1;
		of_pass[v] = index_add(p->arena, index_var(p->arena, v, c->extents[v]), index_var(p->arena, PASS_VAR, INT32_MAX));
		b_at = index_substitute(p->arena, b_at, of_pass);
		terms = terms / c->extents[v] * c->pass;
	}
	with[c->column] = index_add(p->arena, index_var(p->arena, c->column, INT32_MAX), index_var(p->arena, SPARE_VEC, INT32_MAX));
	value_dict_set(gathered, "floats", value_int(terms * c->tile_vecs * p->emit->target->lanes));
	int64_t apart = index_factor(b_at, c->column);
	bool line = apart == 1 || (apart == 2 && p->emit->target->lanes > 1 && c->root->type == DTYPE_F32);
	value_dict_set(gathered, "line", line ? value_string(printer_address(&printer, c->b->of, b_at)) : value_none());
	value_dict_set(gathered, "apart", value_int(apart));
	value_dict_set(gathered, "width", value_int(c->tile_vecs));
	value_dict_set(gathered, "terms", contraction_extents(p, c->column + 1, c->terms));
	value_dict_set(gathered, "columns", value_int(c->extents[c->column]));
	const struct index *element = index_substitute(p->arena, b_at, with);
	value_dict_set(gathered, "element", value_string(printer_element(&printer, c->b->of, element)));
	/* the same for who copies columns of neighbouring last terms at once */
	const struct index *first[MAX_VARS] = { 0 };
	int last = c->column + c->terms;
	if (c->terms)
		first[last] = index_constant(p->arena, 0);
	value_dict_set(gathered, "from", value_string(printer_address(&printer, c->b->of, index_substitute(p->arena, b_at, first))));
	value_dict_set(gathered, "row", value_int(c->terms ? index_factor(c->b_at, last) : 0));
	value_dict_set(gathered, "lane", value_int(index_factor(c->b_at, c->column)));
	struct value square = gathered_square(p, &printer, element);
	value_dict_set(gathered, "square", square);
	value_dict_set(gathered, "blocks", line || square.kind == VALUE_DICT ? value_none() : gathered_blocks(p, &printer, element));
	p->names[SPARE_VEC] = "v";
	return gathered;
}
