/* fit.c: a dim that outputs alone have, bound to a range (`--dim N=1..8`), or one that a node makes (`--dim x:0=1..8`).
 * Who makes such a dim of operands that come at run time takes the range as its bound, and what the operands say as its
 * count; ingot.Fit stands behind the model's outputs, makes of the bound the range's and asks how many there are. */
#include "ops/words.h"

/* By its symbol, or as TENSOR:AXIS, of a node of a body with the name that it has there. */
static const struct asked *asked_of(const struct node *node, int rank, int d)
{
	struct build *build = node->graph->build;
	const struct tensor *out = node_has_out(node, 0) ? node->out[0] : NULL;
	if (!graph_main(node->graph)->bounded || !out || (out->rank == rank && dim_is_known(out->dims[d])))
		return NULL;
	const struct asked *asked =
	        out->rank == rank && out->dims[d].symbol ? graph_asked(node->graph, out->dims[d].symbol) : NULL;
	const char *name = out->name;
	while (!asked && name) {
		const char *fresh = strrchr(name, '#');
		asked = graph_asked(node->graph, name_is(build->names, arena_printf(build->arena, "%s:%d", name, d)));
		name = fresh ? arena_printf(build->arena, "%.*s", (int)(fresh - name), name) : NULL;
	}
	return asked;
}

void infer_asked_dims(struct node *node, int rank, struct dim *dims, struct tensor *(*size)(const struct node *, int d))
{
	FOR (d, rank) {
		const struct asked *asked = dim_is_known(dims[d]) ? NULL : asked_of(node, rank, d);
		if (asked)
			dims[d] = (struct dim){ asked->most, asked->symbol, size(node, d) };
	}
}

/* How many there are is what the range has room for. */
static void require_range(struct definer *definer, const struct asked *asked, expr_ref size)
{
	definer_require_within(definer, EXIT_LIMIT, 0, NULL, size, asked->least, asked->most,
	        "%s is not in [%lld, %lld], for which the model is compiled", asked->symbol, (long long)asked->least,
	        (long long)asked->most);
}

void definer_require_dims(struct definer *definer)
{
	const struct tensor *out = NODE->out[0];
	FOR (d, out->rank) {
		const struct asked *asked =
		        out->dims[d].count && out->dims[d].symbol ? graph_asked(out->graph, out->dims[d].symbol) : NULL;
		if (asked)
			require_range(definer, asked, SIZE(out->dims[d].count));
	}
}

/* ---- ingot.Fit ---- */
/* The symbol of dim d of the output, where it is one of those; NULL: none. */
static struct asked *symbol_of(const struct node *node, int d)
{
	struct build *build = node->graph->build;
	const struct attribute *symbols = node_attribute(node, "symbols");
	if (!symbols || symbols->kind != ATTRIBUTE_STRINGS || (size_t)d >= symbols->count || !symbols->strings[d].count)
		return NULL;
	return graph_asked(node->graph, name_of(build->names, symbols->strings[d].at, symbols->strings[d].count));
}

void infer_fit(struct node *node)
{
	struct dim dims[MAX_RANK];
	infer_made(node);
	infer_counts(node, 1, 1, 1);
	const struct tensor *x = node->in[0];
	if (!infer_ranks(node, 1, x->type))
		return;
	FOR (d, x->rank) {
		struct asked *asked = symbol_of(node, d);
		dims[d] = x->dims[d];
		if (!asked || !dim_is_known(dims[d]))
			continue;
		FAIL_IF(!dims[d].count && (dims[d].extent < asked->least || dims[d].extent > asked->most), EXIT_INVALID,
		        "dimension %d of %s is %lld, %s is said to be in [%lld, %lld]", d, node->out[0]->name,
		        (long long)dims[d].extent, asked->symbol, (long long)asked->least, (long long)asked->most);
		if (dims[d].extent > asked->most)
			dims[d].extent = asked->most;
		if (!asked->first) {
			asked->first = node->out[0];
			asked->dim = d;
		}
	}
	infer_output(node, 0, x->type, x->rank, dims);
}

void define_fit(struct definer *definer)
{
	const struct tensor *out = NODE->out[0];
	struct definition *x = STORED(0);
	SHAPE(0, rank, extents, at);
	bool same = true;
	FOR (d, rank) {
		const struct asked *asked = symbol_of(NODE, d);
		same &= extents[d] == x->extents[d];
		if (!asked)
			continue;
		const struct dim *own = &out->dims[d], *first = &asked->first->dims[asked->dim];
		if (own->count)
			require_range(definer, asked, SIZE(own->count));
		if (own->count != first->count || (!own->count && own->extent != first->extent))
			REQUIRE(I_EQUAL(DIM(own), DIM(first)), "dimension %d of %s is not %s, which %s has", d,
			        out->name, asked->symbol, asked->first->name);
	}
	if (same)
		GIVE(0, x);
	else
		OUT(0, LOAD(x, at));
}
