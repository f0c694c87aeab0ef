/* own.c: an operator that is in no table, of the user's own.  Below the folder of --templates, onnx/my.Foo.jinja says
 * what a node my.Foo is, as the texts of templates/onnx do; FAMILY/my.Foo.jinja is a kernel that computes it on targets
 * of that family, and onnx/my.Foo.shape, the head of a function in ONNX text, its types and shapes.  A kernel is a loop
 * of one round (repeat.c) whose body is the text, where there is one: so the interpreter knows what it means. */
#include "ops/ops.h"
#include "frontends/frontends.h"
#include "ingot/template.h"
#include <unistd.h>

const char *own_name(const struct node *node)
{
	return arena_printf(node_arena(node), "%.80s%s%.80s", node->domain, *node->domain ? "." : "", node->type);
}

/* The name of its file in a folder of the templates; NULL: none is there. */
static const char *file_of(const struct node *node, const char *folder, const char *ending)
{
	struct arena *arena = node_arena(node);
	const struct graph *main = graph_main(node->graph);
	const char *templates = main->templates;
	const char *name =
	        arena_printf(arena, "%s/%s%s%s.%s", folder, node->domain, *node->domain ? "." : "", node->type, ending);
	if (!templates || strchr(node->domain, '/') || strchr(node->type, '/')
	        || access(arena_printf(arena, "%s/%s", templates, name), R_OK))
		return NULL;
	return name;
}

static const char *const families[] = { "c", "cuda" };

/* Those with a kernel, ended by NULL. */
static const char *const *kernels_of(const struct node *node)
{
	const char **list = arena_new_array(node_arena(node), const char *, COUNT(families) + 1);
	for (size_t i = 0, n = 0; i < COUNT(families); i++)
		if (file_of(node, families[i], "jinja"))
			list[n++] = families[i];
	return list;
}

const char *own_way(const struct node *node)
{
	struct arena *arena = node_arena(node);
	const char *name = own_name(node), *family = kernels_of(node)[0];
	if (!*node->domain || !strncmp(node->domain, "ai.onnx", 7) || !strcmp(node->domain, "ingot"))
		return "";
	if (family) /* which another file of the folder mentions: templates_check refuses it else */
		return arena_printf(arena, "; %s/%s.jinja needs onnx/%s.shape beside it", family, name, name);
	return arena_printf(arena,
	        "; onnx/%s.jinja in the folder of --templates would say what it is, c/%s.jinja and onnx/%s.shape "
	        "would be a kernel",
	        name, name, name);
}

/* ---- types and shapes ---- */
struct bound {
	const char *symbol;
	int64_t extent;
};
struct naming {
	const struct node *node;
	const char *file;
	VECTOR(struct bound) bound;
};

static int64_t *extent_of(struct naming *n, const char *symbol)
{
	FOR_ALL (i, n->bound)
		if (!strcmp(n->bound.at[i].symbol, symbol))
			return &n->bound.at[i].extent;
	return NULL;
}

static bool fits(struct naming *n, const struct tensor *given, const struct tensor *said)
{
	bool right = given->type == said->type && (said->rank < 0 || given->rank == said->rank);
	FOR_WHILE (d, right, said->rank) {
		const struct dim *dim = &said->dims[d];
		int64_t extent = given->dims[d].extent, *known = dim->symbol ? extent_of(n, dim->symbol) : NULL;
		if (dim->symbol && !known)
			push(node_arena(n->node), &n->bound, ((struct bound){ dim->symbol, extent }));
		right = known ? *known == extent : dim->symbol || dim->extent < 0 || dim->extent == extent;
	}
	return right;
}

/* ", with N = 2, M = 3" */
static const char *bound_text(const struct naming *n)
{
	const char *text = "";
	FOR_ALL (i, n->bound)
		text = arena_printf(node_arena(n->node), "%s%s%.40s = %" PRId64, text, i ? ", " : ", with ",
		        n->bound.at[i].symbol, n->bound.at[i].extent);
	return text;
}

static void name_inputs(struct naming *n, const struct graph *head)
{
	const struct node *node = n->node;
	struct build *build = node->graph->build;
	FAIL_IF((size_t)node->ins != head->inputs.count || (size_t)node->outs > head->outputs.count, EXIT_INVALID,
	        "has %d inputs and %d outputs, %s says %zu and %zu", node->ins, node->outs, n->file, head->inputs.count,
	        head->outputs.count);
	FOR (i, node->ins)
		FAIL_IF(node->in[i] && !fits(n, node->in[i], head->inputs.at[i]), EXIT_INVALID,
		        "input %d is %s, %s says %s for %.60s%s", i, type_of_tensor(build, node->in[i]), n->file,
		        type_of_tensor(build, head->inputs.at[i]), head->inputs.at[i]->name, bound_text(n));
}

/* What is said of an output, with its extents. */
static struct tensor output_of(struct naming *n, const struct tensor *said)
{
	struct tensor made = *said;
	bool right = said->type != DTYPE_NONE && said->rank >= 0;
	FOR_WHILE (d, right, said->rank) {
		const int64_t *known = said->dims[d].symbol ? extent_of(n, said->dims[d].symbol) : NULL;
		made.dims[d] = dim_of(known ? *known : said->dims[d].extent);
		right = made.dims[d].extent >= 0;
	}
	if (!right)
		node_fail(n->node, EXIT_INVALID, "%s says %s for output %.60s, of which the inputs do not say all%s",
		        n->file, said->type == DTYPE_NONE ? "nothing" : type_of_tensor(n->node->graph->build, said),
		        said->name, bound_text(n));
	return made;
}

/* ---- the body ---- */
static struct tensor *zeros(const struct repeating *r, const struct tensor *like)
{
	static const uint8_t zero[16] = { 0 };
	int64_t extents[MAX_RANK] = { 0 };
	FOR (d, like->rank)
		extents[d] = like->dims[d].extent;
	struct tensor *const in[] = { graph_constant(r->body, like->name, like->type, 0, NULL, zero),
		graph_constant(r->body, "shape", DTYPE_I64, 1, (int64_t[]){ like->rank }, extents) };
	return bodies_add(r->bodies, r->body, r->node, "", "Expand", 2, in, 0, NULL, NULL);
}

/* Whether the text makes what the other file says. */
static void compare(struct naming *n, const struct tensor *made, const struct tensor *said)
{
	bool same = made->type == said->type && made->rank == said->rank;
	FOR_WHILE (d, same, said->rank)
		same = made->dims[d].extent == said->dims[d].extent;
	if (!same)
		node_fail(n->node, EXIT_INVALID, "its text makes %s, %s says %s for output %.60s",
		        type_of_tensor(n->node->graph->build, made), n->file,
		        type_of_tensor(n->node->graph->build, said), said->name);
}

static void say_outputs(struct naming *n, const struct graph *head, struct repeating *r, bool told)
{
	FOR (k, n->node->outs) {
		if (!n->node->out[k])
			continue;
		struct tensor said = output_of(n, head->outputs.at[k]);
		if (told)
			compare(n, r->inside->out[k], &said);
		else
			r->inside->out[k] = zeros(r, &said);
	}
}

static struct value dims_of(struct arena *arena, const struct naming *n)
{
	struct value dims = value_dict(arena);
	FOR_ALL (i, n->bound)
		value_set(dims, n->bound.at[i].symbol, n->bound.at[i].extent);
	return dims;
}

/* The node as it stands in the body: what its text is put in the place of. */
static struct repeating inside_of(struct bodies *bodies, struct node *node)
{
	struct build *build = node->graph->build;
	struct repeating r = { .build = build, .bodies = bodies, .node = node, .graph = node->graph };
	r.body = graph_new(build, node->name, node->graph->file, node->graph);
	r.inside = arena_new(build->arena, struct node);
	*r.inside = *node;
	r.inside->graph = r.body;
	r.inside->in = arena_new_array(build->arena, struct tensor *, node->ins + 1);
	r.inside->out = arena_new_array(build->arena, struct tensor *, node->outs + 1);
	FOR (i, node->ins)
		if (node->in[i]) {
			struct tensor *input = repeat_in(&r, node->in[i], REPEAT_STEADY, false);
			r.inside->in[i] = node->in[i]->data ? node->in[i] : input; /* its text may ask for the value */
		}
	FOR (k, node->outs)
		if (node->out[k])
			r.inside->out[k] = graph_tensor_fresh(r.body, node->out[k]->name);
	return r;
}

static bool own_expand(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct arena *arena = node_arena(node);
	struct naming naming = { .node = node, .file = file_of(node, "onnx", "shape") };
	struct own *own = arena_new(arena, struct own);
	struct value *globals = arena_new(arena, struct value);
	if (!inputs_are_known(node))
		return false;
	struct repeating r = inside_of(bodies, node);
	*own = (struct own){
		.name = own_name(node), .families = kernels_of(node), .node = r.inside, .told = op->text, .blocks = 1
	};
	if (op->text)
		body_expand(bodies, r.inside, op);
	if (naming.file) {
		struct bytes text = shape_render(bodies, node, op, naming.file, &own->blocks);
		const struct graph *head = read_head(
		        r.build, arena_printf(arena, "%s: %s", node->where, naming.file), text.at, text.count);
		name_inputs(&naming, head);
		say_outputs(&naming, head, &r, own->told);
	}
	struct tensor **out = arena_new_array(arena, struct tensor *, node->outs + 1);
	for (int k = 0, n = 0; k < node->outs; k++)
		if (node->out[k]) {
			repeat_out(&r, r.inside->out[k], NULL, false);
			out[n++] = node->out[k];
		}
	*globals = kernel_globals(r.inside, op);
	value_set(*globals, "dims", dims_of(arena, &naming));
	own->globals = globals;
	repeat_own(&r, own, out);
	return true;
}

const struct op *own_op(const struct node *node)
{
	const char *text = file_of(node, "onnx", "jinja"), *kernel = kernels_of(node)[0];
	if (!text && !(kernel && file_of(node, "onnx", "shape")))
		return NULL;
	struct op *op = arena_new(node_arena(node), struct op);
	*op = (struct op){ .domain = node->domain,
		.name = node->type,
		.since = 1,
		.scalar = -1,
		.define = define_text,
		.place = kernel ? own_expand : body_expand,
		.text = text,
		.most = ANY,
		.outs = ANY };
	return op;
}
