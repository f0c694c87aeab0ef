/* strings.c: tensors of strings as tensors of bytes: uint8 with one more dim, UTF-8 with zeros behind what is shorter
 * than the longest.  A node of strings is the text templates/onnx/strings/OP.jinja over those; tables/strings.h lists
 * which ops have one.  ingot.Text makes strings of bytes: of an input, for which it stands. */
#include "ops/ops.h"

enum { TEXT_BYTES_MOST = 1 << 28 };

enum { NUMBERS, STRINGS, FIRST, ASKED }; /* which of its outputs are strings: none, all, the first, as `to` says */
static const struct row {
	const char *name;
	int least, most, outs, strings;
} rows[] = {
#define S(name, least, most, outs, strings) { name, least, most, outs, strings },
#include "tables/strings.h"
#undef S
};

/* NULL: it takes none. */
static const struct row *row_of(const struct op *op)
{
	size_t domain = strlen(op->domain);
	FOR (i, COUNT(rows)) {
		const char *name = rows[i].name;
		if (domain && (strncmp(name, op->domain, domain) || name[domain] != '.'))
			continue;
		if (!strcmp(op->name, domain ? name + domain + 1 : name))
			return &rows[i];
	}
	return NULL;
}

bool op_takes_strings(const struct op *op) { return row_of(op) != NULL; }

const char *const *strings_copied(const struct node *node, const struct bytes *at, size_t count)
{
	struct arena *arena = node_arena(node);
	const char **strings = arena_new_array(arena, const char *, count + 1);
	FOR (i, count) {
		FAIL_IF(at[i].count && memchr(at[i].at, 0, at[i].count), EXIT_UNSUPPORTED, "a string with a NUL byte");
		strings[i] = arena_copy(arena, at[i].at, at[i].count);
	}
	return strings;
}

/* ---- bytes ---- */
static struct tensor *constant_bytes(const struct node *node, const struct tensor *x)
{
	struct build *build = node->graph->build;
	int64_t count = tensor_elements(build, x), extents[MAX_RANK] = { 0 };
	size_t width = 1, bytes;
	FOR (i, count)
		width = strlen(x->strings[i]) + 1 > width ? strlen(x->strings[i]) + 1 : width;
	FAIL_IF(x->rank == MAX_RANK || !size_mul(width, (size_t)count, &bytes) || bytes > TEXT_BYTES_MOST, EXIT_LIMIT,
	        "strings with more than %d dimensions, or of more than %d bytes if all were as long as the "
	        "longest",
	        MAX_RANK - 1, TEXT_BYTES_MOST);
	char *data = arena_array(build->arena, bytes + 1, 1);
	FOR (i, count)
		memcpy(data + (size_t)i * width, x->strings[i], strlen(x->strings[i]));
	FOR (d, x->rank)
		extents[d] = x->dims[d].extent;
	extents[x->rank] = (int64_t)width;
	return graph_constant_borrowed(node->graph, "text", DTYPE_U8, x->rank + 1, extents, data);
}

/* NULL: it is not known yet what makes them. */
static struct tensor *bytes_of(const struct node *node, const struct tensor *x)
{
	return x->utf8 ? x->utf8 : x->data ? constant_bytes(node, x) : NULL;
}

/* The string tensor, output i, is these bytes. */
static void make_text(struct node *node, int i, struct tensor *bytes)
{
	struct tensor *out = node->out[i];
	if (bytes->rank < 1)
		infer_type(node, i, DTYPE_STRING);
	else
		infer_output(node, i, DTYPE_STRING, bytes->rank - 1, bytes->dims);
	out->utf8 = bytes;
	out->producer = NULL;
}

void strings_look(struct node *node)
{
	FOR (i, node->ins) {
		struct tensor *x = node->in[i];
		if (x && x->utf8 && x->utf8->rank > 0) {
			x->rank = x->utf8->rank - 1;
			memcpy(x->dims, x->utf8->dims, sizeof x->dims);
		}
	}
}

bool expand_text(struct bodies *bodies, struct node *node, const struct op *op)
{
	(void)bodies, (void)op;
	infer_made(node);
	make_text(node, 0, node->in[0]);
	return true;
}

void strings_border(struct bodies *bodies, struct graph *graph, struct tensor *x, struct tensor *out)
{
	const struct node owner = { .graph = graph, .name = "", .where = graph->file };
	struct tensor *bytes = bytes_of(&owner, x);
	bodies_add(bodies, graph, &owner, "", "Identity", 1, &bytes, 0, NULL, out);
}

/* ---- nodes of strings ---- */
static bool is_string(const struct tensor *x) { return x && !x->form && x->type == DTYPE_STRING; }

bool node_has_strings(const struct node *node)
{
	bool any = false;
	FOR (i, node->ins)
		any |= is_string(node->in[i]);
	FOR (i, node->outs)
		any |= is_string(node->out[i]);
	return any || cast_makes_strings(node);
}

bool expand_strings(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct arena *arena = node_arena(node);
	struct node *over = arena_new(arena, struct node);
	const struct row *row = row_of(op);
	struct op text = *op;
	*over = *node;
	over->in = arena_new_array(arena, struct tensor *, node->ins + 1);
	over->out = arena_new_array(arena, struct tensor *, node->outs + 1);
	version_check_inputs(node);
	if (!strcmp(op->name, "CastLike"))
		return cast_like_strings(bodies, node);
	FOR (i, node->ins)
		if ((over->in[i] = node->in[i]) && is_string(node->in[i])
		        && !(over->in[i] = bytes_of(node, node->in[i])))
			return false;
	bool makes = row->strings == STRINGS || (row->strings == ASKED && cast_makes_strings(node));
	bool copies = !strcmp(op->name, "Identity") || (!strcmp(op->name, "Cast") && makes && is_string(node->in[0]));
	if (copies && node->ins == 1 && node->outs == 1) {
		make_text(node, 0, over->in[0]);
		return true;
	}
	size_t tensors = node->graph->tensors.count;
	FOR (i, node->outs)
		if ((over->out[i] = node->out[i]) && (makes || (row->strings == FIRST && i == 0)))
			over->out[i] = graph_tensor_fresh(node->graph, "text");
	text.text = arena_printf(arena, "onnx/strings/%s.jinja", row->name);
	text.least = row->least;
	text.most = row->most;
	text.outs = row->outs;
	text.wide = false;
	if (!body_expand(bodies, over, &text)) {
		graph_cut(node->graph, node->graph->nodes.count, tensors);
		return false;
	}
	FOR (i, node->outs)
		if (over->out[i] != node->out[i])
			make_text(node, i, over->out[i]);
	return true;
}

/* ---- maps ---- */
bool expand_zip_map(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct build *build = node->graph->build;
	size_t count, strings;
	(void)op;
	infer_counts(node, 1, 1, 1);
	infer_first(node);
	struct tensor *x = node->in[0];
	const struct attribute *names = node_attribute(node, "classlabels_strings");
	const int64_t *numbers = node_ints(node, "classlabels_int64s", &count);
	strings = names ? names->count : 0;
	FAIL_IF(!count == !strings, EXIT_INVALID, "has %zu integers and %zu strings as keys, one of both is right",
	        count, strings);
	struct tensor *keys = arena_new(build->arena, struct tensor);
	*keys = (struct tensor){ .name = node->out[0]->name,
		.type = count ? DTYPE_I64 : DTYPE_STRING,
		.rank = 1,
		.dims = { dim_of((int64_t)(count + strings)) },
		.data = count ? (const void *)numbers : (const void *)strings_copied(node, names->strings, strings),
		.bytes = count * sizeof *numbers };
	keys->strings = strings ? keys->data : NULL;
	node->out[0]->keys = keys;
	if (!tensor_is_known(x))
		return false;
	infer_float_type(node, 0);
	FAIL_IF(x->rank < 1 || x->rank > 2 || x->dims[x->rank - 1].extent != (int64_t)(count + strings), EXIT_INVALID,
	        "input 0 is %s, and there are %zu keys", type_of_tensor(build, x), count + strings);
	struct tensor *in[2] = { x, NULL };
	if (x->rank == 1)
		in[1] = graph_constant(node->graph, "row", DTYPE_I64, 1, (int64_t[1]){ 2 }, (int64_t[2]){ 1, -1 });
	bodies_add(bodies, node->graph, node, "", in[1] ? "Reshape" : "Identity", in[1] ? 2 : 1, in, 0, NULL,
	        node->out[0]);
	return true;
}
