/* define.c: graph -> program.  Walks the nodes in order; each writes the definitions of its outputs.  Also the words
 * that define_ functions share. */
#include <assert.h>
#include <math.h>
#include "ops/words.h"

/* ---- which tensor is which definition, and which float stands for a narrow one: a hash table of pointers, at most
 * half full ---- */
struct defined {
	struct {
		const void *tensor;
		struct definition *definition;
	} * at;
	size_t room, count;
};

static size_t slot_of(const struct defined *defined, const void *tensor)
{
	size_t i = hash_bytes(&tensor, sizeof tensor, 0) & (defined->room - 1);
	while (defined->at[i].tensor && defined->at[i].tensor != tensor)
		i = (i + 1) & (defined->room - 1);
	return i;
}

static void remember(struct definer *definer, const void *tensor, struct definition *definition)
{
	struct defined *defined = definer->defined;
	if (defined->count * 2 >= defined->room) {
		struct defined larger = { .room = defined->room ? defined->room * 2 : 32, .count = defined->count };
		larger.at = arena_array(definer->arena, larger.room, sizeof *larger.at);
		FOR (i, defined->room)
			if (defined->at[i].tensor)
				larger.at[slot_of(&larger, defined->at[i].tensor)] = defined->at[i];
		*defined = larger;
	}
	size_t i = slot_of(defined, tensor);
	defined->count += !defined->at[i].tensor;
	defined->at[i].tensor = tensor;
	defined->at[i].definition = definition;
}

static struct definition *recall(const struct definer *definer, const void *tensor)
{
	const struct defined *defined = definer->defined;
	return defined->room ? defined->at[slot_of(defined, tensor)].definition : NULL;
}

struct defined *definer_nothing(const struct definer *definer) { return arena_new(definer->arena, struct defined); }

/* ---- tensors as definitions ---- */
static void known_extents(struct definer *definer, const struct tensor *tensor, const char *where, int64_t *extents)
{
	if (tensor->type == DTYPE_NONE || tensor->rank < 0)
		fail(definer->build, EXIT_UNSUPPORTED, where, "type or rank of %s is not known", tensor->name);
	FOR (d, tensor->rank) {
		extents[d] = tensor->dims[d].extent;
		if (extents[d] < 0 && tensor->dims[d].symbol && graph_asked(tensor->graph, tensor->dims[d].symbol))
			fail(definer->build, EXIT_UNSUPPORTED, where,
			        "dimension %d of %s depends on data; a range of %s is not supported there, --dim "
			        "%s=NUMBER may be",
			        d, tensor->name, tensor->dims[d].symbol, tensor->dims[d].symbol);
		if (extents[d] < 0 && tensor->dims[d].symbol)
			fail(definer->build, EXIT_USAGE, where, "dimension %d of %s is not bound: use --dim %s=NUMBER",
			        d, tensor->name, tensor->dims[d].symbol);
		if (extents[d] < 0)
			fail(definer->build, EXIT_UNSUPPORTED, where,
			        "dimension %d of %s depends on data; --dim %s:%d=0..1024 may bound it", d, tensor->name,
			        tensor->name, d);
	}
}

/* A folded constant as its node defines it, with the value that is there already. */
static struct definition *widened_of(struct definer *definer, const struct tensor *tensor)
{
	const struct node *reader = NODE;
	const struct op *op = op_of(tensor->widened);
	definer->node = tensor->widened;
	op->define(definer);
	definer->node = reader;
	struct definition *definition = recall(definer, tensor);
	expr_ref load = definition->source == SOURCE_COMPUTED ? definition->body : NULL;
	if (load && load->kind == EXPR_LOAD && load->of->source == SOURCE_COMPUTED && load->of->reduce == REDUCE_NONE)
		definition->body = expr_substitute(definer->program->arena, load->of->body, load->at);
	if (definition->source == SOURCE_COMPUTED)
		definition_becomes(definer->program, definition, tensor->data);
	definition->late = definition->source == SOURCE_CONSTANT ? tensor->late : NULL;
	return definition;
}

/* Elements below 8 bits, a byte each; made once, as each reader is defined more than once. */
static const void *unpacked_data(struct build *build, const struct tensor *of)
{
	struct tensor *tensor = (struct tensor *)(uintptr_t)of;
	if (!tensor->unpacked)
		tensor->unpacked = packed_constant(
		        build->arena, tensor->type, tensor_data(tensor), (size_t)tensor_elements(build, tensor));
	if (tensor->late)
		late_forget(tensor->late);
	return tensor->unpacked;
}

static struct definition *definition_of(struct definer *definer, const struct tensor *tensor, const char *where)
{
	int64_t extents[MAX_RANK];
	struct definition *definition = recall(definer, tensor);
	if (definition)
		return definition;
	if (tensor->data && tensor->widened)
		return widened_of(definer, tensor);
	known_extents(definer, tensor, where, extents);
	enum dtype type = tensor->type;
	if (!tensor->data)
		fail(definer->build, EXIT_INVALID, where, "%s has no value", tensor->name);
	if (!dtype_is_supported(type))
		fail(definer->build, EXIT_UNSUPPORTED, where, "%s of %s is not supported", tensor->name,
		        dtypes[type].text);
	const void *data = dtype_stored(type) == type ? tensor->data : unpacked_data(definer->build, tensor);
	definition = define_constant(definer->program, tensor->name, dtype_stored(type), tensor->rank, extents, data);
	definition->late = dtype_stored(type) == type ? tensor->late : NULL;
	remember(definer, tensor, definition);
	return definition;
}

struct definition *definer_count(struct definer *definer, const struct tensor *count)
{
	struct definition *definition = count ? recall(definer, count) : NULL;
	return definition && definition->source != SOURCE_CONSTANT ? definition : NULL;
}

expr_ref definer_size(struct definer *definer, const struct tensor *count)
{
	return LOAD(definition_of(definer, count, NODE->where), NULL);
}

expr_ref definer_dim(struct definer *definer, const struct dim *dim)
{
	return dim->count ? SIZE(dim->count) : I(dim->extent);
}

expr_ref definer_flatten(struct definer *definer, int rank, const index_ref *at, const expr_ref *actual)
{
	expr_ref flat = rank ? POSITION(at[0]) : I(0);
	FOR_FROM (d, 1, rank)
		flat = I_ADD(I_MUL(flat, actual[d]), POSITION(at[d]));
	return flat;
}

struct definition *definer_cache(struct definer *definer, const struct tensor *tensor)
{
	return recall(definer, &tensor->cache);
}

struct definition *definer_in_stored(struct definer *definer, int i)
{
	const struct tensor *tensor = node_in(NODE, i);
	return tensor ? definition_of(definer, tensor, NODE->where) : NULL;
}

struct definition *definer_in(struct definer *definer, int i)
{
	struct definition *stored = STORED(i);
	if (!stored || !dtype_is_narrow(stored->type))
		return stored;
	struct definition *wide = recall(definer, stored);
	if (!wide) {
		wide = MAP(FORMAT("%s_float", stored->name), stored->rank, stored->extents,
		        CAST(DTYPE_F32, expr_load_own(definer->arena, stored)));
		remember(definer, stored, wide);
	}
	return wide;
}

/* A float as a narrow one without a rounding, where it only moves such numbers. */
struct moving {
	enum dtype type;
	bool fits;
};
static expr_ref moved(struct rewriter *r, expr_ref expr)
{
	struct moving *m = r->user;
	switch (expr->kind) {
	case EXPR_NUMBER: return expr_cast(r->arena, m->type, expr);
	case EXPR_SELECT: return NULL;
	case EXPR_CAST:
		if (expr->arg[0]->type == m->type && !(expr->cast & CAST_BITS))
			return expr->arg[0];
		break;
	case EXPR_LOAD:
		if (expr->of->source != SOURCE_COMPUTED || expr->of->reduce != REDUCE_NONE
		        || expr->of->body->kind == EXPR_NUMBER)
			break;
		return expr_substitute(r->arena, rewrite_expr(r, expr->of->body), expr->at);
	case EXPR_SCALAR:
	case EXPR_INDEX: break;
	}
	m->fits = false;
	return expr;
}

static expr_ref narrowed(struct definer *definer, enum dtype type, expr_ref expr)
{
	struct moving m = { type, expr->type == DTYPE_F32 };
	struct rewriter moving = { .arena = definer->arena, .expr = moved, .index = index_stays, .user = &m };
	expr_ref move = m.fits ? rewrite_expr(&moving, expr) : NULL;
	return m.fits ? move : CAST(type, expr);
}

void definer_out(struct definer *definer, int i, struct definition *definition)
{
	if (!node_has_out(NODE, i))
		return;
	const struct tensor *tensor = NODE->out[i];
	int64_t extents[MAX_RANK];
	known_extents(definer, tensor, NODE->where, extents);
	enum dtype stored = dtype_stored(tensor->type);
	if (dtype_is_narrow(stored) && definition->type != stored)
		definition = MAP(tensor->name, definition->rank, definition->extents,
		        narrowed(definer, stored, expr_load_own(definer->arena, definition)));
	FOR_WHILE (d, definition->node == NODE && !tensor->is_whole && !tensor->is_cache, tensor->rank) {
		struct definition *count = definer_count(definer, tensor->dims[d].count);
		definition->count.ends[d] = count && count->number < definition->number ? count : NULL;
	}
	remember(definer, tensor, definition);
}

bool definer_is_empty(struct definer *definer, const struct definition *x)
{
	if (definition_elements(x) == 0)
		OUT(0, LIKE(x, 0));
	return definition_elements(x) == 0;
}

int definer_shape(struct definer *definer, int i, int64_t *extents, index_ref *at)
{
	const struct tensor *tensor = NODE->out[i];
	known_extents(definer, tensor, NODE->where, extents);
	FOR_WHILE (d, at, tensor->rank)
		at[d] = VAR(d, extents[d]);
	return tensor->rank;
}

const char *definer_name(struct definer *definer, const char *part)
{
	FOR (i, NODE->outs)
		if (NODE->out[i])
			return FORMAT("%s_%s", NODE->out[i]->name, part);
	return part;
}

/* What has no elements reads nothing: an index into an empty tensor has no value. */
static expr_ref body_or_zero(struct definer *definer, int rank, const int64_t *extents, expr_ref body)
{
	FOR (d, rank)
		if (extents[d] == 0)
			return LIKE(body, 0);
	return body;
}

/* A condition that became constant says nothing more. */
static const struct branch *branch_of(struct definer *definer, const struct guard *guard)
{
	struct definition *condition = guard ? recall(definer, guard->condition) : NULL;
	if (!condition || condition->source == SOURCE_CONSTANT)
		return guard && condition ? branch_of(definer, guard->outer) : NULL;
	struct branch *branch = arena_new(definer->arena, struct branch);
	*branch = (struct branch){ condition, guard->yes, branch_of(definer, guard->outer) };
	return branch;
}

static void own(struct definer *definer, struct definition *definition)
{
	const struct guard *guard = NODE ? NODE->guard : NULL;
	if (guard != definer->guard) {
		definer->guard = guard;
		definer->branch = branch_of(definer, guard);
	}
	definition->node = NODE;
	definition->branch = definer->branch;
}

struct definition *definer_map(
        struct definer *definer, const char *name, int rank, const int64_t *extents, expr_ref body)
{
	struct definition *definition =
	        define_map(definer->program, name, rank, extents, body_or_zero(definer, rank, extents, body));
	own(definer, definition);
	return definition;
}

struct definition *definer_as(struct definer *definer, struct definition *of, enum dtype type)
{
	index_ref at[MAX_RANK];
	VARS(at, of->rank, of->extents);
	return of->type == type ? of : PART(dtypes[type].text, of->rank, of->extents, CAST(type, LOAD(of, at)));
}

/* A reduction of no terms is what it would have begun with; NULL: it has some. */
static struct definition *no_terms(struct definer *definer, const char *name, int rank, const int64_t *extents,
        enum reduce reduce, int reduced, const int64_t *reduced_extents, expr_ref start, enum dtype type)
{
	static const double nothing[] = { [REDUCE_SUM] = 0,
		[REDUCE_MAX] = -INFINITY,
		[REDUCE_MIN] = INFINITY,
		[REDUCE_PROD] = 1,
		[REDUCE_LAST] = 0 };
	FOR (d, reduced)
		if (reduced_extents[d] == 0)
			return MAP(name, rank, extents, start ? start : NUMBER(type, nothing[reduce]));
	return NULL;
}

struct definition *definer_scatter(struct definer *definer, const char *name, int rank, const int64_t *extents,
        enum reduce reduce, bool running, const expr_ref *place, int reduced, const int64_t *reduced_extents,
        expr_ref start, expr_ref body)
{
	struct definition *none =
	        no_terms(definer, name, rank, extents, reduce, reduced, reduced_extents, start, body->type);
	FOR_WHILE (d, !none, rank)
		if (extents[d] == 0)
			none = MAP(name, rank, extents, body);
	if (none)
		return none;
	struct definition *definition = define_scatter(
	        definer->program, name, rank, extents, reduce, running, place, reduced, reduced_extents, start, body);
	own(definer, definition);
	return definition;
}

/* An order of one: the least place of those that equal the extreme.  A NaN equals nothing, and stands n before all others,
 * or n behind them. */
static struct definition *first_of_all(
        struct definer *definer, const char *name, int rank, const int64_t *extents, bool down, int64_t n, expr_ref key)
{
	index_ref at[MAX_RANK];
	enum dtype type = n <= INT32_MAX / 2 ? DTYPE_I32 : DTYPE_I64;
	expr_ref k = CAST(type, POSITION(VAR(rank, n))), other = WHOLE(type, n - 1), count = WHOLE(type, n), value;
	bool floats = dtype_is_float(key->type);
	VARS(at, rank, extents);
	struct definition *extreme =
	        REDUCTION("extreme", rank, extents, down ? REDUCE_MAX : REDUCE_MIN, 1, &n, NULL, key);
	if (floats && down)
		other = WHERE(CAST(type, EQUAL(key, key)), other, SUB(k, count));
	else if (floats)
		other = ADD(k, count);
	expr_ref here = CAST(type, EQUAL(key, LOAD(extreme, at)));
	struct definition *place = REDUCTION("place", rank, extents, REDUCE_MIN, 1, &n, NULL, WHERE(here, k, other));
	value = LOAD(place, at);
	if (floats && down)
		value = WHERE(LESS(value, WHOLE(type, 0)), ADD(value, count), value);
	else if (floats)
		value = WHERE(LESS(value, count), value, SUB(value, count));
	return MAP(name, rank, extents, CAST(DTYPE_I64, value));
}

struct definition *definer_order(struct definer *definer, const char *name, int rank, const int64_t *extents, bool down,
        int64_t terms, expr_ref key, const expr_ref *choice)
{
	struct definition *definition;
	FOR (d, rank)
		if (extents[d] == 0 || terms == 0)
			return MAP(name, rank, extents, I(0));
	if (extents[rank - 1] == 1 && !choice)
		return first_of_all(definer, name, rank, extents, down, terms, key);
	definition = define_order(definer->program, name, rank, extents, down, terms, key, choice);
	own(definer, definition);
	return definition;
}

struct definition *definer_repeat(struct definer *definer, const char *name, const struct repeat *repeat, int part,
        struct definition *const *operands, struct definition *base)
{
	struct definition *definition = define_repeated(definer->program, name, repeat, part, operands, base);
	own(definer, definition);
	return definition;
}

void definer_out_scatter(struct definer *definer, int i, enum reduce reduce, const expr_ref *place, int reduced,
        const int64_t *reduced_extents, expr_ref start, expr_ref body)
{
	int64_t extents[MAX_RANK];
	int rank = definer_shape(definer, i, extents, NULL);
	GIVE(i,
	        definer_scatter(definer, NODE->out[i]->name, rank, extents, reduce, false, place, reduced,
	                reduced_extents, start, body));
}

struct definition *definer_reduction(struct definer *definer, const char *name, int rank, const int64_t *extents,
        enum reduce reduce, int reduced, const int64_t *reduced_extents, expr_ref start, expr_ref body)
{
	struct definition *none =
	        no_terms(definer, name, rank, extents, reduce, reduced, reduced_extents, start, body->type);
	if (none)
		return none;
	body = body_or_zero(definer, rank, extents, body);
	start = start ? body_or_zero(definer, rank, extents, start) : NULL;
	struct definition *definition =
	        define_reduction(definer->program, name, rank, extents, reduce, reduced, reduced_extents, start, body);
	own(definer, definition);
	return definition;
}

void definer_out_map(struct definer *definer, int i, expr_ref body)
{
	int64_t extents[MAX_RANK];
	if (!node_has_out(NODE, i))
		return;
	int rank = definer_shape(definer, i, extents, NULL);
	enum dtype stored = dtype_stored(NODE->out[i]->type);
	if (dtype_is_narrow(stored) && body->type != stored)
		body = narrowed(definer, stored, body);
	GIVE(i, MAP(NODE->out[i]->name, rank, extents, body));
}

expr_ref definer_load(struct definer *definer, struct definition *of, int rank, const index_ref *at)
{
	index_ref own[MAX_RANK];
	FOR (d, of->rank) {
		assert(of->extents[d] == 1 || d >= of->rank - rank);
		own[d] = of->extents[d] == 1 ? CONSTANT(0) : at[rank - of->rank + d];
	}
	return LOAD(of, own);
}

expr_ref expr1(struct definer *definer, enum scalar opcode, expr_ref a)
{
	return expr_scalar(definer->arena, opcode, a, NULL, NULL);
}

expr_ref expr2(struct definer *definer, enum scalar opcode, expr_ref a, expr_ref b)
{
	return expr_scalar(definer->arena, opcode, a, b, NULL);
}

expr_ref expr3(struct definer *definer, enum scalar opcode, expr_ref a, expr_ref b, expr_ref c)
{
	return expr_scalar(definer->arena, opcode, a, b, c);
}

/* A bool where what the node computes is not needed, whatever its operands are; NULL: it always is, or it is being
 * folded. */
expr_ref definer_skipped(struct definer *definer)
{
	expr_ref skipped = I(0);
	for (const struct guard *guard = NODE->guard; guard; guard = guard->outer) {
		if (!guard->condition->data && !recall(definer, guard->condition))
			return NULL;
		struct definition *condition = definition_of(definer, guard->condition, NODE->where);
		expr_ref is_not = I_IS(CAST(DTYPE_I64, BROADCAST(condition, 0, NULL)), 0);
		skipped = I_OR(skipped, guard->yes ? is_not : I_IS(is_not, 0));
	}
	return NODE->guard ? CAST(DTYPE_BOOL, skipped) : NULL;
}

/* ---- whole graphs ---- */
static void definer_begin(struct definer *definer, struct build *build, const char *name)
{
	*definer = (struct definer){ .build = build, .arena = build->arena, .program = program_new(build, name) };
	definer->defined = arena_new(build->arena, struct defined);
}

static const struct shown *shown_of(struct definer *definer, const struct tensor *tensor, const char *where)
{
	struct shown *shown = arena_new(definer->arena, struct shown);
	shown->type = tensor->type;
	shown->rank = tensor->rank;
	known_extents(definer, tensor, where, shown->extents);
	return shown;
}

/* ---- inputs whose extents a call says ---- */
static void add_input(struct definer *definer, const struct tensor *tensor, const char *where)
{
	const struct shown *shown = shown_of(definer, tensor, where);
	struct definition *input;
	if (!dtype_is_supported(tensor->type))
		fail(definer->build, EXIT_UNSUPPORTED, where, "input %s of %s is not supported", tensor->name,
		        dtypes[tensor->type].text);
	const struct tensor *count = tensor_counted(tensor);
	if (tensor->cache) { /* its rows lie as those of the buffer do */
		shown = shown_of(definer, tensor->cache, where);
		input = define_input(definer->program, tensor->name, tensor->type, tensor->rank, shown->extents);
		remember(definer, tensor, input);
		remember(definer, &tensor->cache, input);
		return;
	}
	if (count && dtype_stored(tensor->type) != tensor->type)
		fail(definer->build, EXIT_UNSUPPORTED, where,
		        "input %s of %s, whose extents a call says, is not supported", tensor->name,
		        dtypes[tensor->type].text);
	if (count && !tensor_lies_in_bounds(tensor)) {
		input = define_input(
		        definer->program, tensor->name, tensor->type, 1, &(int64_t){ shown_elements(shown) });
		input->port.shown = shown;
	} else if (dtype_stored(tensor->type) == tensor->type)
		input = define_input(definer->program, tensor->name, tensor->type, tensor->rank, shown->extents);
	else {
		int64_t bytes = (int64_t)dtype_bytes(tensor->type, (size_t)shown_elements(shown));
		struct definition *packed = define_input(definer->program, tensor->name, DTYPE_U8, 1, &bytes);
		packed->port.shown = shown;
		input = packed_read(definer, FORMAT("%s_elements", tensor->name), shown, packed);
	}
	if (count)
		input->port.sizes = count->name;
	remember(definer, tensor, input);
}

/* The caller's memory holds what is there and nothing else: it is read where that is, and what lies behind is 0. */
static void spread_input(struct definer *definer, const struct tensor *tensor, const char *where)
{
	struct definition *input = definition_of(definer, tensor, where);
	index_ref at[MAX_RANK];
	expr_ref actual[MAX_RANK], body;
	struct range ranges[MAX_RANK];
	int64_t extents[MAX_RANK], elements = 1;
	int count = 0;
	const int last = tensor->rank - 1;
	expr_ref row = NULL;
	FOR (d, tensor->rank) {
		extents[d] = tensor->dims[d].extent;
		elements *= extents[d];
		at[d] = VAR(d, extents[d]);
		actual[d] = I(extents[d]);
		if (tensor->dims[d].count) {
			actual[d] = LOAD(definition_of(definer, tensor->dims[d].count, where), NULL);
			ranges[count++] = (struct range){ SUM(at[d], SCALE(INDEX(actual[d], 0, extents[d]), -1)),
				-extents[d], 0 };
		}
	}
	if (elements == 0)
		return;
	if (input->rank == tensor->rank)
		body = LOAD(input, at);
	else { /* where a row begins, and along that */
		expr_ref begin = I_MUL(definer_flatten(definer, last, at, actual), actual[last]);
		body = LOAD(input, AT(SUM(INDEX(begin, 0, elements - extents[last]), at[last])));
		if (tensor->dims[last].count)
			row = SELECT(ranges, count - 1, actual[last], I(0));
	}
	body = SELECT(ranges, count, body, LIKE(input, 0));
	definer->node = NULL;
	struct definition *there = MAP(FORMAT("%s_there", tensor->name), tensor->rank, extents, body);
	there->row = row;
	there->count.spreads = input->rank == tensor->rank && !tensor->cache ? input : NULL;
	remember(definer, tensor, there);
}

static void ask_size(struct definer *definer, const struct bounded *bounded)
{
	struct arena *arena = definer->arena;
	struct definition *size = definition_of(definer, bounded->size, NULL);
	struct check *check = arena_new(arena, struct check);
	*check = (struct check){ EXIT_LIMIT,
		FORMAT("%s is not in [%lld, %lld], for which the model is compiled", bounded->size->name,
		        (long long)bounded->least, (long long)bounded->most) };
	size->port.most = bounded->most;
	define_check(definer->program, FORMAT("%s_holds", bounded->size->name), check, 0, NULL,
	        CAST(DTYPE_BOOL, I_BETWEEN(LOAD(size, NULL), bounded->least, bounded->most)));
}

static void add_output(struct definer *definer, const struct tensor *tensor, const char *where)
{
	struct definition *output = definition_of(definer, tensor, where);
	if (dtype_stored(tensor->type) != tensor->type) {
		const struct shown *shown = shown_of(definer, tensor, where);
		output = packed_write(definer, FORMAT("%s_packed", tensor->name), shown, output);
		output->port.shown = shown;
	}
	push(definer->arena, &definer->program->outputs, output);
	push(definer->arena, &definer->program->output_names, tensor->name);
}

/* ---- outputs whose extents data decide ---- */
/* Its rows lie where those of the caller's array do, dense in the actual extents; what is not there lies nowhere. */
static struct definition *dense(struct definer *definer, struct definition *of, const expr_ref *actual)
{
	index_ref at[MAX_RANK];
	struct range ranges[MAX_RANK];
	const int last = of->rank - 1;
	FOR (d, of->rank) {
		at[d] = VAR(d, of->extents[d]);
		ranges[d] = (struct range){ SUM(at[d], SCALE(INDEX(actual[d], 0, of->extents[d]), -1)), -of->extents[d],
			0 };
	}
	struct definition *dense = MAP(FORMAT("%s_dense", of->name), of->rank, of->extents, LOAD(of, at));
	dense->lies = SELECT(ranges, last, I_MUL(definer_flatten(definer, last, at, actual), actual[last]), I(-1));
	dense->row = actual[last];
	memcpy(dense->count.of, of->count.of, sizeof dense->count.of);
	return dense;
}

/* Data decide the extents of output i, as far as its tensor has counts: the caller gets it dense, and another output
 * that holds the actual extents. */
static void size_output(struct definer *definer, size_t i, const struct tensor *tensor, const char *where)
{
	struct program *program = definer->program;
	struct arena *arena = definer->arena;
	expr_ref actual[MAX_RANK], body = I(0);
	const int64_t rank = tensor->rank;
	index_ref k = VAR(0, rank);
	FOR (d, tensor->rank) {
		const struct tensor *count = tensor->dims[d].count;
		actual[d] = count ? LOAD(definition_of(definer, count, where), NULL) : I(tensor->dims[d].extent);
		body = d ? SELECT(&(struct range){ k, d, d + 1 }, 1, actual[d], body) : actual[d];
	}
	if (!tensor_counted(tensor))
		return;
	if (dtype_stored(tensor->type) != tensor->type)
		fail(definer->build, EXIT_UNSUPPORTED, where,
		        "output %s of %s, whose extents data decide, is not supported", tensor->name,
		        dtypes[tensor->type].text);
	const char *name = FORMAT("%s_dims", tensor->name);
	while (graph_tensor(tensor->graph, name))
		name = FORMAT("%s_", name);
	FOR (d, tensor->rank) {
		struct definition *size = definer_count(definer, tensor->dims[d].count);
		program->outputs.at[i]->count.of[d] =
		        size && size->number < program->outputs.at[i]->number ? size : NULL;
	}
	if (!tensor->is_cache && !tensor_lies_in_bounds(tensor) && definition_elements(program->outputs.at[i]))
		program->outputs.at[i] = dense(definer, program->outputs.at[i], actual);
	push(arena, &program->outputs, MAP(name, 1, &rank, body));
	push(arena, &program->output_names, name);
	program->outputs.at[i]->port.sizes = name;
}

/* Every output of a graph is computed, each by a definition of its own: what is an input, a constant or an output
 * already is copied. */
static void compute_output(struct definer *definer, size_t i)
{
	struct program *program = definer->program;
	struct definition *definition = program->outputs.at[i];
	index_ref at[MAX_RANK];
	if (definition->source == SOURCE_COMPUTED && !definition->port.is_output) {
		definition->port.is_output = true;
		return;
	}
	VARS(at, definition->rank, definition->extents);
	definer->node = NULL;
	program->outputs.at[i] =
	        MAP(program->output_names.at[i], definition->rank, definition->extents, LOAD(definition, at));
	program->outputs.at[i]->port.is_output = true;
	program->outputs.at[i]->port.shown = definition->port.shown;
	program->outputs.at[i]->port.sizes = definition->port.sizes;
	memcpy(program->outputs.at[i]->count.of, definition->count.of, sizeof definition->count.of);
}

/* An input whose value is known where the model is compiled. */
enum { HELD_SHOWN = 8 };

static void ask_fixed(struct definer *definer, const struct fixed *held)
{
	struct arena *arena = definer->arena;
	struct definition *input = definition_of(definer, held->input, NULL),
	                  *value = definition_of(definer, held->value, NULL);
	index_ref at[MAX_RANK];
	const char *numbers = "";
	int64_t elements = definition_elements(input);
	VARS(at, input->rank, input->extents);
	for (int64_t i = 0; i < elements && i < HELD_SHOWN; i++)
		numbers = FORMAT("%s%s%lld", numbers, i ? ", " : "", (long long)tensor_int(held->value, (size_t)i));
	struct check *check = arena_new(arena, struct check);
	*check = (struct check){ EXIT_INVALID,
		FORMAT("input %s is [%s%s] where the model is compiled: no other value is right", held->input->name,
		        numbers, elements > HELD_SHOWN ? ", …" : "") };
	expr_ref a = LOAD(input, at), b = LOAD(value, at);
	if (elements)
		define_check(definer->program, FORMAT("%s_holds", held->input->name), check, input->rank,
		        input->extents, CAST(DTYPE_BOOL, EQUAL(CAST(DTYPE_I64, a), CAST(DTYPE_I64, b))));
}

struct program *define_graph(struct graph *graph)
{
	struct definer definer;
	definer_begin(&definer, graph->build, graph->name);
	FOR_ALL (i, graph->inputs)
		add_input(&definer, graph->inputs.at[i], graph->file);
	FOR_ALL (i, graph->sizes)
		ask_size(&definer, &graph->sizes.at[i]);
	FOR_ALL (i, graph->said)
		ask_size(&definer, &graph->said.at[i]);
	FOR_ALL (i, graph->inputs)
		if (tensor_counted(graph->inputs.at[i]))
			spread_input(&definer, graph->inputs.at[i], graph->file);
	FOR_ALL (i, graph->fixed)
		ask_fixed(&definer, &graph->fixed.at[i]);
	FOR_ALL (i, graph->nodes) {
		const struct op *op = op_of(graph->nodes.at[i]);
		progress(graph->build, "define", i, graph->nodes.count, 0);
		definer.node = graph->nodes.at[i];
		op->define(&definer);
	}
	FOR_ALL (i, graph->outputs)
		add_output(&definer, graph->outputs.at[i], graph->file);
	FOR_ALL (i, graph->outputs)
		size_output(&definer, i, graph->outputs.at[i], graph->file);
	FOR_ALL (i, definer.program->outputs)
		compute_output(&definer, i);
	program_remove_dead(definer.program);
	program_fold(definer.program);
	program_settle_checks(definer.program);
	program_guard_checks(definer.program);
	program_hoist_checks(definer.program);
	return definer.program;
}

struct program *define_node(const struct node *node, const struct op *op)
{
	struct definer definer;
	definer_begin(&definer, node->graph->build, node->type);
	definer.node = node;
	op->define(&definer);
	FOR (i, node->outs)
		if (node->out[i])
			add_output(&definer, node->out[i], node->where);
	program_remove_dead(definer.program);
	return definer.program;
}
