/* control_if.c: If -> the nodes of a branch, of both, or of the one that can be. */
#include "ops/control.h"

static const char *const branches[] = { "else_branch", "then_branch" };

/* The branch; NULL where its nodes are wrong, or (any) refused otherwise: nothing is left of them, and *why is their
 * message. */
static struct tensor **try_branch(struct holder *h, bool yes, bool any, const char **why)
{
	struct build *build = h->graph->build;
	const struct bodies_mark before = bodies_mark(h->bodies, h->graph);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		struct tensor **made = holder_expand(h, 0, NULL, h->node->in[0], yes);
		build->out = out;
		return made;
	}
	build->out = out;
	if (build->code != EXIT_INVALID && (!any || build->code != EXIT_UNSUPPORTED))
		longjmp(*out, 1);
	bool invalid = build->code == EXIT_INVALID;
	const char *message = bodies_forgive(build);
	*why = invalid ? message : NULL;
	bodies_take_back(h->bodies, h->graph, &before);
	return NULL;
}

/* Tensors of the graphs around, which a branch reads, and their extents. */
struct shaped {
	struct tensor *tensor;
	struct dim dims[MAX_RANK];
};
typedef VECTOR(struct shaped) shaped_list;

static void hide_extents(struct holder *h, const struct graph *body, shaped_list *hidden)
{
	FOR_EACH (const struct node *node, body->nodes) {
		FOR (k, node->ins) {
			const struct graph *of = h->graph;
			while (of && node->in[k] && node->in[k]->graph != of)
				of = of->outer;
			if (!of || !node->in[k] || node->in[k]->data || node->in[k]->form)
				continue;
			struct shaped one = { .tensor = node->in[k] };
			memcpy(one.dims, node->in[k]->dims, sizeof one.dims);
			push(h->arena, hidden, one);
			FOR (d, node->in[k]->rank)
				node->in[k]->dims[d] = dim_unknown;
		}
		FOR (k, node->attribute_count) {
			if (node->attributes[k].g)
				hide_extents(h, node->attributes[k].g, hidden);
			FOR_WHILE (g, node->attributes[k].graphs, node->attributes[k].count)
				hide_extents(h, node->attributes[k].graphs[g], hidden);
		}
	}
}

/* Whether a branch that is wrong is so for these shapes alone: without them nothing is wrong with it. */
static bool is_of_shapes(struct holder *h, bool yes)
{
	const struct bodies_mark before = bodies_mark(h->bodies, h->graph);
	shaped_list hidden = { 0 };
	const char *why = NULL;
	hide_extents(h, h->expansion.body, &hidden);
	bool made = try_branch(h, yes, true, &why) != NULL;
	for (size_t i = hidden.count; i-- > 0;)
		memcpy(hidden.at[i].tensor->dims, hidden.at[i].dims, sizeof hidden.at[i].dims);
	if (made)
		bodies_take_back(h->bodies, h->graph, &before);
	return !why;
}

/* Of the one branch that can be: what it makes, and a check that the condition chooses it. */
static void hand_out_one(struct holder *h, struct tensor *const *out, bool yes, const char *why)
{
	const char *file = h->graph->file;
	size_t own = strlen(file);
	why += !strncmp(why, file, own) && why[own] == ':' ? own + 2 : 0; /* what says it names the file */
	why = arena_printf(h->arena, "%s cannot be computed: %s", branches[!yes], why);
	const struct attribute attributes[] = { { .name = "yes", .kind = ATTRIBUTE_INT, .i = yes },
		{ .name = "why", .kind = ATTRIBUTE_STRING, .s = { why, strlen(why) } } };
	warn(h->graph->build, h->node->where, "%s; a call that chooses it ends with a status", why);
	FOR (k, h->node->outs) {
		if (!h->node->out[k])
			continue;
		if (out[k]->form)
			node_fail(h->node, EXIT_UNSUPPORTED, "%s, and output %d is %s", why, k,
			        holder_described(h, out[k]));
		bodies_add(h->bodies, h->graph, h->node, "ingot", "Branch", TENSORS(out[k], h->node->in[0]),
		        COUNT(attributes), attributes, h->node->out[k]);
	}
}

/* Output k, of both branches. */
static void join(struct holder *h, int k, struct tensor *yes, struct tensor *no)
{
	const struct node *node = h->node;
	FAIL_IF(types_differ(yes, no), EXIT_INVALID,
	        "output %d (%s) is %s in then_branch and %s in else_branch, one type is right", k, node->out[k]->name,
	        holder_described(h, yes), holder_described(h, no));
	FAIL_IF(yes->form ? shapes_differ(yes, no) || !yes->list : ranks_differ(yes, no), EXIT_UNSUPPORTED,
	        "output %d (%s) is %s in then_branch and %s in else_branch; %s that the condition "
	        "decides is not supported where that comes at run time",
	        k, node->out[k]->name, holder_described(h, yes), holder_described(h, no),
	        yes->form ? "a shape" : "a number of dimensions");
	holder_out(h, k, holder_select(h, node->in[0], yes, no));
}

bool expand_if(struct bodies *bodies, struct node *node, const struct op *op)
{
	const char *why[2] = { NULL, NULL };
	struct holder h = holder_of(bodies, node);
	struct tensor **out[2];
	(void)op;
	infer_counts(node, 1, 1, ANY);
	control_want_truth(node, 0);
	FOR (b, 2)
		control_want_graph(node, branches[b], control_graph(node, branches[b]), 0, (size_t)node->outs, false);
	if (node->in[0]->data) {
		bool yes = tensor_int(node->in[0], 0) != 0;
		h.expansion.body = control_graph(node, branches[yes]);
		out[yes] = holder_expand(&h, 0, NULL, NULL, yes);
		FOR (k, node->outs)
			holder_out(&h, k, out[yes][k]);
		return true;
	}
	FOR (b, 2) {
		h.expansion.body = control_graph(node, branches[b]);
		out[b] = try_branch(&h, b, false, &why[b]);
	}
	FOR (b, 2) {
		h.expansion.body = control_graph(node, branches[b]);
		if (why[b] && (why[!b] || !is_of_shapes(&h, b)))
			fail(node->graph->build, EXIT_INVALID, NULL, "%s", why[b]);
	}
	if (why[0] || why[1])
		hand_out_one(&h, out[!why[1]], !why[1], why[0] ? why[0] : why[1]);
	FOR_WHILE (k, !why[0] && !why[1], node->outs)
		if (node->out[k])
			join(&h, k, out[1][k], out[0][k]);
	return true;
}
