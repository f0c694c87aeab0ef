/* text.c: a node whose op is a text -> the nodes of that text.  templates/onnx/NAME.jinja, or DOMAIN.NAME.jinja where
 * that is not ONNX's own, is a function in ONNX text, in the newest opset, and is rendered anew for each node.  What a
 * text is given:
 *
 *     opset               the version of the op's domain that the node is of; an attribute of that name hides it
 *     inputs, outputs     as many as the row in tables/ops.h says, each {present, type, code, rank, dims, counted, size,
 *                         value}; none where absent.  type: as text has it, code: ONNX's number of it; counted: of each
 *                         dim, whether it is a bound; size: of all elements; value: the elements of a constant of up to
 *                         VALUES_MOST integers, floats or strings, else none.  A list has its type and code, and
 *                         `elements`, each as such a tensor; of a tensor, and of an output of which nobody says them,
 *                         none
 *     each attribute      by its name: what the node says, else its default, else none; a tensor as inputs are, else
 *                         false; graphs: whether they are there
 *     attribute(name, default)   what the node says, else the default: of an op that the text alone knows
 *     want(right, message), able(right, message)    refuse the node unless `right`: as wrong (exit 3), as not there yet
 *                                                   (exit 4)
 *     floats(input...)    refuses those that are there of any other type
 *     utf8(string)        its bytes, a list of numbers
 *     tens(from, to)      those powers of ten, {limbs, moves}: 5 limbs of 32 bits, least first, times 2 to the `moves`;
 *                         rounded up where they are not exact
 *     automaton(pattern)  of a regular expression {classes, class_of, steps, ends}: tables, ops/regex.h says of what
 *     letters_of(pattern) of one letter of a set, or a run of such, {run, bytes: of each, whether it is of one of them};
 *                         of another regular expression, or of a part of what has several bytes, none
 *     axis_of(axis, rank) an axis that may be below 0; it refuses one outside
 *     counts()            says that the text thinks of inputs with dims that are bounds (ops/counts.c): it says shapes
 *                         by what `Shape` makes of its inputs, by 0 and by -1, and takes no bound for a number of
 *                         elements; its nodes carry the counts then.  Without it such an input is refused
 *
 * onnx/NAME.shape of an op that a kernel of the user's own computes (ops/own.c) is given the same, but for counts(), and
 *
 *     blocks(count)       says that the kernel's function runs over so many blocks, in any order; else one
 *
 * What keeps float32 inside (a row TW) never sees floats of 16 bits: onnx/wide.jinja stands around it then, given `op`
 * (with its domain), `to` (their type) and `given`, the node's attributes {name, kind}. */
#include "ops/ops.h"
#include "ops/regex.h"
#include "base/embedded.h"
#include "frontends/frontends.h"
#include "ingot/template.h"
#include <assert.h>

enum { VALUES_MOST = 4096, DEPTH_MOST = 16, TEXT_MOST = 4 << 20 };
static const int64_t rounds_most = 1 << 20, memory_most = 64 << 20;

/* ---- what a text sees ---- */
static struct value elements_of(struct arena *arena, const struct tensor *tensor, size_t count)
{
	enum dtype_class class = dtypes[tensor->type].class;
	bool is_float = tensor->type == DTYPE_F32 || tensor->type == DTYPE_F64;
	if (tensor->strings && count <= VALUES_MOST) {
		struct value strings = value_list(arena);
		FOR (i, count)
			value_list_add(strings, value_string(tensor->strings[i]));
		return strings;
	}
	if (!tensor->data || count > VALUES_MOST
	        || (!is_float && class != CLASS_INT && class != CLASS_UINT && class != CLASS_BOOL))
		return value_none();
	struct value list = value_list(arena);
	FOR (i, count)
		value_list_add(
		        list, is_float ? value_float(tensor_float(tensor, i)) : value_int(tensor_int(tensor, i)));
	return list;
}

static struct value describe(struct arena *arena, const struct tensor *tensor)
{
	static const char *const members[] = { "type", "code", "rank", "dims", "counted", "size", "value", "elements" };
	struct value dict = value_dict_of(arena, "present", value_bool(tensor));
	FOR (i, COUNT(members))
		value_set(dict, members[i], value_none());
	if (!tensor || (!tensor->form && !tensor_is_known(tensor)))
		return dict;
	if (tensor->type != DTYPE_NONE) {
		value_set(dict, "type", dtypes[tensor->type].text, "code", tensor->type);
	}
	if (tensor->form) {
		struct value elements = value_list(arena);
		const struct list *list = tensor->list ? tensor->list : tensor->said;
		FOR_WHILE (i, list, list->count)
			value_list_add(elements, describe(arena, list->at[i]));
		if (list)
			value_set(dict, "elements", elements);
		return dict;
	}
	struct value dims = value_list(arena);
	struct value counted = value_list(arena);
	FOR (d, tensor->rank) {
		value_list_add(dims, value_int(tensor->dims[d].extent));
		value_list_add(counted, value_bool(tensor->dims[d].count));
	}
	int64_t size = tensor_elements(arena->build, tensor);
	value_set(dict, "rank", tensor->rank, "dims", dims, "counted", counted, "size", size, "value",
	        elements_of(arena, tensor, (size_t)size));
	return dict;
}

static struct value tensors_of(struct arena *arena, int count, int there, struct tensor *const *at)
{
	struct value list = value_list(arena);
	FOR (i, (count == ANY ? there : count))
		value_list_add(list, describe(arena, i < there ? at[i] : NULL));
	return list;
}

static struct value attribute_value(struct arena *arena, const struct attribute *a)
{
	struct value list = value_list(arena);
	switch (a->kind) {
	case ATTRIBUTE_FLOAT: return value_float(a->f);
	case ATTRIBUTE_INT: return value_int(a->i);
	case ATTRIBUTE_STRING: return value_copy(arena, a->s.at, a->s.count);
	case ATTRIBUTE_FLOATS:
	case ATTRIBUTE_INTS:
		FOR (i, a->count)
			value_list_add(list, a->floats ? value_float(a->floats[i]) : value_int(a->ints[i]));
		return list;
	case ATTRIBUTE_STRINGS:
		FOR (i, a->count)
			value_list_add(list, value_copy(arena, a->strings[i].at, a->strings[i].count));
		return list;
	case ATTRIBUTE_TENSOR: return describe(arena, a->t);
	default: return value_bool(true);
	}
}

static struct value default_value(const struct attribute_row *row)
{
	if (!row->has_default)
		return row->kind == ATTRIBUTE_GRAPH || row->kind == ATTRIBUTE_TENSOR ? value_bool(false) : value_none();
	return row->string                   ? value_string(row->string)
	        : row->kind == ATTRIBUTE_INT ? value_int((int64_t)row->number)
	                                     : value_float((float)row->number);
}

/* Rows of the node's version come last, as what they say counts. */
static void set_attributes(struct arena *arena, struct value globals, const struct node *node, const struct op *op)
{
	FOR (ours, 2)
		for (const struct attribute_row *row = op->attributes; row && row->name; row++)
			if (ours == (row->from <= node->since && node->since <= row->to))
				value_set(globals, row->name, default_value(row));
	FOR (i, node->attribute_count)
		value_set(globals, node->attributes[i].name, attribute_value(arena, &node->attributes[i]));
}

/* ---- what a text may say ---- */
struct rendering {
	const struct node *node;
	const char *refusal;
	bool counts;
	int64_t blocks;
};

/* The message is the node's alone: where the text stands that says it is nothing to the user. */
static void refuse(struct template_call *call, enum exit_code code, const char *message)
{
	struct rendering *rendering = call->user;
	rendering->refusal = message;
	node_fail(rendering->node, code, "%s", message);
}

static struct value refuse_unless(struct template_call *call, enum exit_code code)
{
	if (!call_bool(call, 0, false))
		refuse(call, code, call_string(call, 1, ""));
	return value_string("");
}

static struct value want(struct template_call *call) { return refuse_unless(call, EXIT_INVALID); }
static struct value able(struct template_call *call) { return refuse_unless(call, EXIT_UNSUPPORTED); }

static struct value floats(struct template_call *call)
{
	FOR (i, call->count) {
		struct value type = value_dict_get(call->at[i], "type");
		const char *text = type.kind == VALUE_STRING ? type.bytes : NULL;
		if (text && !strstr(text, "float") && strcmp(text, "double"))
			refuse(call, EXIT_INVALID,
			        arena_printf(call->arena, "an input is %s, a floating-point type is right", text));
	}
	return value_string("");
}

/* Of an op of the user's own, whose text alone says what attributes it has. */
static struct value attribute(struct template_call *call)
{
	const struct rendering *rendering = call->user;
	const struct attribute *given = node_attribute(rendering->node, call_string(call, 0, ""));
	bool otherwise = call->count > 1 && call->at[1].kind != VALUE_ABSENT;
	return given ? attribute_value(call->arena, given) : otherwise ? call->at[1] : value_none();
}

static struct value counts(struct template_call *call)
{
	struct rendering *rendering = call->user;
	rendering->counts = true;
	return value_string("");
}

static struct value blocks(struct template_call *call)
{
	struct rendering *rendering = call->user;
	rendering->blocks = call_int(call, 0, 1);
	if (rendering->blocks < 1 || rendering->blocks > INT32_MAX)
		refuse(call, EXIT_INVALID,
		        arena_printf(call->arena, "blocks(%" PRId64 "): a number from 1 to 2^31 - 1 is right",
		                rendering->blocks));
	return value_string("");
}

static struct value utf8(struct template_call *call)
{
	const char *string = call_string(call, 0, "");
	struct value bytes = value_list(call->arena);
	for (; *string; string++)
		value_list_add(bytes, value_int((unsigned char)*string));
	return bytes;
}

/* A power of ten, least limb first; its first 160 bits are what a text is given. */
enum { LIMBS = 48, LIMBS_GIVEN = 5 };

/* The bits from `first` on down, as limbs; one more where bits behind them are left out. */
static void limbs_add(struct value *lists, const uint32_t *limbs, int first)
{
	uint64_t given[LIMBS_GIVEN] = { 0 }, carry = 0;
	for (int bit = first; bit >= 0; bit--) {
		uint64_t is = limbs[bit / 32] >> bit % 32 & 1;
		int at = 32 * LIMBS_GIVEN - 1 - (first - bit);
		if (at >= 0)
			given[at / 32] |= is << at % 32;
		else
			carry |= is;
	}
	for (int i = 0; i < LIMBS_GIVEN; i++, carry = given[i - 1] >> 32) {
		given[i] += carry;
		value_list_add(lists[i], value_int((int64_t)(given[i] & UINT32_MAX)));
	}
	assert(!carry); /* no power of ten in reach is that near to one of two */
}

static struct value tens(struct template_call *call)
{
	struct arena *arena = call->arena;
	int from = (int)call_int(call, 0, 0), to = (int)call_int(call, 1, 0);
	struct value limbs = value_list(arena), moves = value_list(arena), lists[LIMBS_GIVEN];
	FOR (i, LIMBS_GIVEN)
		value_list_add(limbs, lists[i] = value_list(arena));
	for (int power = from; power <= to; power++) {
		uint32_t ten[LIMBS] = { 0 };
		int first = 32 * LIMBS - 1, whole = power < 0 ? first : 0;
		ten[whole / 32] = 1u << whole % 32;
		FOR (i, (power < 0 ? -power : power)) {
			uint64_t left = 0;
			FOR (k, LIMBS) {
				uint32_t *limb = &ten[power < 0 ? LIMBS - 1 - k : k];
				left = power < 0 ? (left << 32) + *limb : left + 10 * (uint64_t)*limb;
				*limb = (uint32_t)(power < 0 ? left / 10 : left);
				left = power < 0 ? left % 10 : left >> 32;
			}
		}
		while (!(ten[first / 32] >> first % 32 & 1))
			first--;
		limbs_add(lists, ten, first);
		value_list_add(moves, value_int(first - whole - (32 * LIMBS_GIVEN - 1)));
	}
	return value_dict_of(arena, "limbs", limbs, "moves", moves);
}

static struct value automaton(struct template_call *call)
{
	const struct rendering *rendering = call->user;
	struct build *build = rendering->node->graph->build;
	const char *pattern = call_string(call, 0, "");
	struct value steps = value_list(call->arena), ends = value_list(call->arena), of = value_list(call->arena);
	const struct automaton *made = automaton_of(build, regex_read(build, pattern));
	FOR_ALL (i, made->steps)
		value_list_add(steps, value_int(made->steps.at[i]));
	FOR_ALL (i, made->ends)
		value_list_add(ends, value_int(made->ends.at[i]));
	FOR (byte, 256)
		value_list_add(of, value_int(made->class_of[byte]));
	return value_dict_of(call->arena, "classes", made->classes, "class_of", of, "steps", steps, "ends", ends);
}

/* Of one letter of a set, or a run of such: their bytes. */
static struct value letters_of(struct template_call *call)
{
	const struct rendering *rendering = call->user;
	const struct regex_node *node = regex_read(rendering->node->graph->build, call_string(call, 0, ""))->root;
	bool run = node->kind == REGEX_REPEAT && node->least == 1 && node->most < 0, all = true, none = true;
	struct value bytes = value_list(call->arena);
	node = run ? node->in[0] : node;
	if (node->kind != REGEX_SET)
		return value_none();
	for (unsigned point = 0; point <= 0x10ffff; point++) {
		bool is = false;
		FOR_WHILE (i, !is, node->ranges.count)
			is = point >= node->ranges.at[i].from && point <= node->ranges.at[i].to;
		if (point < 128)
			value_list_add(bytes, value_bool(is));
		else if (point < 0xd800 || point > 0xdfff)
			*(is ? &none : &all) = false;
	}
	if (!all && !none)
		return value_none();
	FOR_FROM (byte, 128, 256)
		value_list_add(bytes, value_bool(all));
	return value_dict_of(call->arena, "run", run, "bytes", bytes);
}

static struct value axis_of(struct template_call *call)
{
	int64_t axis = call_int(call, 0, 0), rank = call_int(call, 1, 0);
	if (axis < -rank || axis >= rank)
		refuse(call, EXIT_INVALID,
		        arena_printf(call->arena,
		                "axis %" PRId64 " of %" PRId64 " dimensions, [%" PRId64 ", %" PRId64 ") is right", axis,
		                rank, -rank, rank));
	return value_int(axis < 0 ? axis + rank : axis);
}

/* ---- */
static struct environment *environment_of(struct bodies *bodies, const struct node *node)
{
	struct build *build = node->graph->build;
	const struct graph *main = node->graph;
	while (main->outer)
		main = main->outer;
	if (!bodies->environment) {
		struct template_folders *places = arena_new(build->arena, struct template_folders);
		struct template_settings settings = template_settings_kernels;
		places->directory = main->templates;
		settings.output_limit = TEXT_MOST;
		settings.memory_limit = (size_t)memory_most;
		settings.loop_limit = (size_t)rounds_most;
		bodies->environment = environment_new(build, build->arena, &settings, load_embedded, places);
	}
	return bodies->environment;
}

/* Whatever fails inside comes by here: texts are kept by malloc, and the message names the user's node. */
static struct bytes rendered(
        struct environment *environment, const struct rendering *rendering, const char *name, struct value globals)
{
	struct build *build = rendering->node->graph->build;
	jmp_buf *out = build->out, mine;
	struct text *text = arena_new(build->arena, struct text);
	struct bytes bytes = { "", 0 };
	text_init(text, build);
	build->out = &mine;
	if (setjmp(mine)) {
		text_release(text);
		build->out = out;
		build->detailed = !rendering->refusal;
		const char *message = rendering->refusal
		        ? rendering->refusal
		        : arena_copy(build->arena, build->message, strlen(build->message));
		node_fail(rendering->node, build->code, "%s", message);
	}
	template_render(environment, name, globals, text);
	if (text->count)
		bytes = (struct bytes){ arena_copy(build->arena, text->at, text->count), text->count };
	build->out = out;
	text_release(text);
	return bytes;
}

static bool is_half(enum dtype type) { return type == DTYPE_F16 || type == DTYPE_BF16; }

/* The text that gives a text's node floats of 32 bits for those of 16, and rounds what it makes; NULL: there are
 * none. */
static const char *widening(struct arena *arena, struct value globals, const struct node *node, const struct op *op)
{
	static const char *const kinds[] = { [ATTRIBUTE_FLOAT] = "float",
		[ATTRIBUTE_INT] = "int",
		[ATTRIBUTE_STRING] = "string",
		[ATTRIBUTE_FLOATS] = "floats",
		[ATTRIBUTE_INTS] = "ints" }; /* what rows of such texts have */
	struct value given = value_list(arena);
	enum dtype half = DTYPE_NONE;
	FOR (i, node->ins)
		half = node->in[i] && is_half(node->in[i]->type) ? node->in[i]->type : half;
	if (!op->wide || half == DTYPE_NONE)
		return NULL;
	FOR (i, node->attribute_count)
		value_list_add(given,
		        value_dict_of(
		                arena, "name", node->attributes[i].name, "kind", kinds[node->attributes[i].kind]));
	value_set(globals, "op", *op->domain ? arena_printf(arena, "%s.%s", op->domain, op->name) : op->name, "given",
	        given, "to", half);
	return "onnx/wide.jinja";
}

bool inputs_are_known(const struct node *node)
{
	FOR (i, node->ins)
		if (node->in[i] && !tensor_is_known(node->in[i]))
			return false;
	return true;
}

/* What a text is given of a node. */
static struct value globals_of(const struct node *node, const struct op *op, struct rendering *rendering)
{
	struct arena *arena = node_arena(node);
	struct value globals = value_dict(arena);
	*rendering = (struct rendering){ .node = node, .blocks = 1 };
	value_set(globals, "opset", node->since);
	set_attributes(arena, globals, node, op);
	value_set(globals, "inputs", tensors_of(arena, op->most, node->ins, node->in), "outputs",
	        tensors_of(arena, op->outs, node->outs, node->out), "attribute",
	        value_function(arena, "attribute", "name default?", attribute, rendering), "axis_of",
	        value_function(arena, "axis_of", "axis rank", axis_of, rendering), "floats",
	        value_function(arena, "floats", "*", floats, rendering), "utf8",
	        value_function(arena, "utf8", "string", utf8, rendering), "letters_of",
	        value_function(arena, "letters_of", "pattern", letters_of, rendering), "automaton",
	        value_function(arena, "automaton", "pattern", automaton, rendering), "tens",
	        value_function(arena, "tens", "from to", tens, rendering), "want",
	        value_function(arena, "want", "right message", want, rendering), "able",
	        value_function(arena, "able", "right message", able, rendering));
	return globals;
}

struct bytes shape_render(
        struct bodies *bodies, const struct node *node, const struct op *op, const char *name, int64_t *asked)
{
	struct arena *arena = node_arena(node);
	struct rendering *rendering = arena_new(arena, struct rendering);
	struct value globals = globals_of(node, op, rendering);
	value_set(globals, "blocks", value_function(arena, "blocks", "count", blocks, rendering));
	struct bytes text = rendered(environment_of(bodies, node), rendering, name, globals);
	*asked = rendering->blocks;
	return text;
}

struct value kernel_globals(const struct node *node, const struct op *op)
{
	return globals_of(node, op, arena_new(node_arena(node), struct rendering));
}

bool body_expand(struct bodies *bodies, struct node *node, const struct op *op)
{
	struct build *build = node->graph->build;
	struct arena *arena = build->arena;
	infer_counts(node, op->least, op->most, op->outs);
	if (!inputs_are_known(node))
		return false;
	FAIL_IF(bodies->depth > DEPTH_MOST, EXIT_LIMIT, "function bodies stand in each other deeper than %d: %s",
	        DEPTH_MOST, op->text);
	struct rendering *rendering = arena_new(arena, struct rendering);
	struct value globals = globals_of(node, op, rendering);
	value_set(globals, "counts", value_function(arena, "counts", "", counts, rendering));
	const char *wide = widening(arena, globals, node, op);
	struct bytes text = rendered(environment_of(bodies, node), rendering, wide ? wide : op->text, globals);
	if (!rendering->counts)
		counts_padded(node);
	size_t from = node->graph->nodes.count;
	function_expand(
	        node, arena_printf(arena, "%s: %s", node->where, op->text), text.at, text.count, &bodies->copied);
	bodies->depth++;
	bodies->walk(bodies, node->graph, from);
	bodies->depth--;
	return true;
}

void define_text(struct definer *definer)
{
	node_unsupported(definer->node, " of an input whose type or shape depends on data");
}
