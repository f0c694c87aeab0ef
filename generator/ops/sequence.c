/* sequence.c: sequences and optionals: SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase,
 * SequenceLength, Optional, OptionalHasElement, OptionalGetElement.
 *
 * What a list holds is known when its node is inferred: tensors of the graph.  So a node that makes a list leaves the
 * list behind and nothing else, one that takes an element hands that tensor on, and behind inference there are tensors
 * alone.  A position that is known at run time alone makes the node one of our own, a text, that selects among the
 * elements. */
#include "ops/ops.h"

/* Of a node whose lists inference did not come to know. */
void define_list(struct definer *definer)
{
	node_unsupported(definer->node,
	        " of a sequence or optional of which is not known, when the model is compiled, what it holds");
}

/* ---- what goes in and out ---- */
void infer_list(struct node *node, int i, int form, enum dtype type, const struct list *list)
{
	if (!node_has_out(node, i))
		return;
	struct build *build = node->graph->build;
	struct tensor *out = node->out[i], made = { .form = form, .type = type, .rank = -1 };
	bool declared = out->form || out->type != DTYPE_NONE;
	FAIL_IF(declared && (out->form != form || (type != DTYPE_NONE && out->type != DTYPE_NONE && out->type != type)),
	        EXIT_INVALID, "%s is declared as %s, but it is %s", out->name, type_of_tensor(build, out),
	        type_of_tensor(build, &made));
	FAIL_IF(list && list->count > LIST_MOST, EXIT_LIMIT, "%s has %zu elements, ingot takes at most %d", out->name,
	        list->count, LIST_MOST);
	out->form = form;
	out->list = list;
	if (type != DTYPE_NONE)
		out->type = type;
}

static struct list *list_new(struct node *node, size_t count)
{
	struct list *list = arena_new(node_arena(node), struct list);
	list->count = count;
	list->at = arena_new_array(node_arena(node), struct tensor *, count + 1);
	return list;
}

static void want_form(const struct node *node, int i, bool right, const char *what)
{
	FAIL_IF(!right, EXIT_INVALID, "input %d, '%s', is %s, %s is right", i, node->in[i]->name,
	        type_of_tensor(node->graph->build, node->in[i]), what);
}

static const struct list *sequence_in(const struct node *node, int i)
{
	want_form(node, i, node->in[i]->form == FORM_SEQUENCE || (node->in[i]->form == FORM_MAP && !node->is_given),
	        "a sequence");
	return node->in[i]->list;
}

static void want_element(const struct node *node, int i, enum dtype type)
{
	const struct tensor *in = node->in[i];
	want_form(node, i, !in->form, "a tensor");
	FAIL_IF(type != DTYPE_NONE && in->type != DTYPE_NONE && in->type != type, EXIT_INVALID,
	        "input %d, '%s', is %s, the elements of the sequence are %s", i, in->name, dtypes[in->type].text,
	        dtypes[type].text);
}

/* Input i as a position in [-count, most], made one from 0 on; `otherwise` where it is absent.  False: it is known at
 * run time alone. */
static bool position_in(
        const struct node *node, int i, size_t count, int64_t most, int64_t otherwise, int64_t *position)
{
	const struct tensor *in = node_in(node, i);
	*position = otherwise;
	if (!in)
		return true;
	want_form(node, i, !in->form, "a tensor");
	FAIL_IF(in->type != DTYPE_NONE && in->type != DTYPE_I64 && in->type != DTYPE_I32, EXIT_INVALID,
	        "input %d, '%s', is %s, int64 or int32 is right", i, in->name, dtypes[in->type].text);
	infer_scalar(node, i);
	if (!in->data)
		return false;
	*position = infer_constant_at(in, 0);
	FAIL_IF(*position < -(int64_t)count || *position > most, EXIT_INVALID,
	        "position %" PRId64 " in a sequence of %zu elements, [-%zu, %" PRId64 "] is right", *position, count,
	        count, most);
	*position += *position < 0 ? (int64_t)count : 0;
	return true;
}

/* The node becomes one of our own, of the same name, that takes a position at run time. */
static void select_at_run_time(struct node *node)
{
	node->domain = name_is(node->graph->build->names, "ingot");
	node->since = 1;
}

static void want_elements(const struct node *node, size_t count)
{
	FAIL_IF(!count, EXIT_INVALID, "'%s' is an empty sequence, it has no element to take", node->in[0]->name);
}

/* ---- sequences ---- */
void infer_sequence_construct(struct node *node)
{
	struct list *list = list_new(node, (size_t)node->ins);
	enum dtype type = DTYPE_NONE;
	FOR (i, node->ins) {
		INVALID_IF(!node->in[i], " lacks input %d", i);
		want_element(node, i, type);
		type = type == DTYPE_NONE ? node->in[i]->type : type;
		list->at[i] = node->in[i];
	}
	infer_list(node, 0, FORM_SEQUENCE, type, list);
}

void infer_sequence_empty(struct node *node)
{
	int64_t type = attribute_int(node, "dtype");
	FAIL_IF(type <= 0 || type >= DTYPE_COUNT, EXIT_INVALID, "dtype %" PRId64 " is no element type", type);
	infer_list(node, 0, FORM_SEQUENCE, (enum dtype)type, list_new(node, 0));
}

void infer_sequence_at(struct node *node)
{
	int64_t position;
	const struct list *list = sequence_in(node, 0);
	if (!list) {
		infer_type(node, 0, node->in[0]->type);
		return;
	}
	want_elements(node, list->count);
	if (position_in(node, 1, list->count, (int64_t)list->count - 1, 0, &position))
		node_hands_on(node, list->at[position]);
	else
		select_at_run_time(node);
}

void infer_sequence_insert(struct node *node)
{
	int64_t position;
	const struct list *list = sequence_in(node, 0);
	enum dtype type = node->in[0]->type != DTYPE_NONE ? node->in[0]->type : node->in[1]->type;
	want_element(node, 1, type);
	if (!list) {
		infer_list(node, 0, FORM_SEQUENCE, type, NULL);
		return;
	}
	if (!position_in(node, 2, list->count, (int64_t)list->count, (int64_t)list->count, &position)) {
		select_at_run_time(node);
		return;
	}
	struct list *longer = list_new(node, list->count + 1);
	FOR (i, longer->count)
		longer->at[i] = i == (size_t)position ? node->in[1] : list->at[i - (i > (size_t)position)];
	infer_list(node, 0, FORM_SEQUENCE, type, longer);
}

void infer_sequence_erase(struct node *node)
{
	int64_t position;
	const struct list *list = sequence_in(node, 0);
	if (!list) {
		infer_list(node, 0, FORM_SEQUENCE, node->in[0]->type, NULL);
		return;
	}
	want_elements(node, list->count);
	if (!position_in(node, 1, list->count, (int64_t)list->count - 1, (int64_t)list->count - 1, &position)) {
		select_at_run_time(node);
		return;
	}
	struct list *shorter = list_new(node, list->count - 1);
	FOR (i, shorter->count)
		shorter->at[i] = list->at[i + (i >= (size_t)position)];
	infer_list(node, 0, FORM_SEQUENCE, node->in[0]->type, shorter);
}

/* A scalar that is known here. */
static void infer_scalar_constant(struct node *node, enum dtype type, const void *data)
{
	infer_output(node, 0, type, 0, NULL);
	if (!data || !node_has_out(node, 0))
		return;
	node->out[0]->bytes = dtype_bytes(type, 1);
	node->out[0]->data = arena_copy(node_arena(node), data, node->out[0]->bytes);
}

void infer_sequence_length(struct node *node)
{
	const struct list *list = sequence_in(node, 0);
	int64_t count = list ? (int64_t)list->count : 0;
	infer_scalar_constant(node, DTYPE_I64, list ? &count : NULL);
}

/* ---- optionals ---- */
void infer_optional(struct node *node)
{
	struct tensor *in = node_in(node, 0);
	const struct attribute *type = node_attribute(node, "type");
	if (!in) {
		FAIL_IF(!type, EXIT_INVALID, "has neither an input nor the attribute \"type\"");
		struct list *nothing = list_new(node, 0);
		nothing->nothing = true;
		bool sequence = type->s.count > 4 && !memcmp(type->s.at, "seq(", 4);
		infer_list(node, 0, FORM_OPTIONAL | (sequence ? FORM_SEQUENCE : 0), DTYPE_NONE, nothing);
		return;
	}
	want_form(node, 0, !(in->form & FORM_OPTIONAL), "a tensor or a sequence");
	struct list *one = list_new(node, 1);
	one->at[0] = in;
	infer_list(node, 0, in->form | FORM_OPTIONAL, in->type, in->form ? in->list : one);
}

/* Since version 18 a tensor or a sequence is an optional that has a value. */
static void want_optional(const struct node *node)
{
	want_form(node, 0, node->since >= 18 || (node->in[0]->form & FORM_OPTIONAL), "an optional");
}

void infer_optional_has(struct node *node)
{
	const struct tensor *in = node_in(node, 0);
	if (in)
		want_optional(node);
	bool optional = in && (in->form & FORM_OPTIONAL);
	uint8_t has = in && !(optional && in->list && in->list->nothing);
	infer_scalar_constant(node, DTYPE_BOOL, optional && !in->list ? NULL : &has);
}

void infer_optional_get(struct node *node)
{
	struct tensor *in = node->in[0];
	want_optional(node);
	FAIL_IF(in->list && in->list->nothing, EXIT_INVALID, "the optional '%s' holds nothing", in->name);
	if (in->form & FORM_SEQUENCE)
		infer_list(node, 0, FORM_SEQUENCE, in->type, in->list);
	else if (!in->form || in->list)
		node_hands_on(node, in->form ? in->list->at[0] : in);
	else
		infer_type(node, 0, in->type);
}
