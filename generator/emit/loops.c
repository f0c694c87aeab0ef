/* loops.c: generic kernels: statements -> values for templates/c/loops.jinja -> text.  Expressions are printed here, by
 * emit/expression.c. */
#include "emit/emit.h"
#include "loops/loops.h"
#include "ingot/template.h"
#include <math.h>

struct emitting {
	struct loops *loops;
	struct arena *arena;
	const char **names; /* of variables */
	bool *changes;      /* by number of cell: a register that is set again, a buffer or array that is stored to */
	bool *common;       /* by number of cell: what one lane stores, another may load: where lanes are threads */
	int64_t scratch;    /* bytes of common arrays */
	const char *index;  /* the type of what is computed from a block's number */
	struct printer printer;
	bool no_libc;
};

static const char *name_of_buffer(void *user, const struct definition *of)
{
	(void)user;
	return of->name;
}

static struct held held_by_cell(void *user, const struct expr *load)
{
	struct emitting *e = user;
	const struct cell *cell = cell_of_load(load);
	struct held held = { .vector = cell->vector, .changes = e->changes[cell->of.number] };
	if (cell->kind == CELL_REGISTER)
		held.text = cell->of.name;
	else if (cell->vector)
		held.text = printer_element(&e->printer, load->of, load->at[0]);
	return held;
}

static enum visit note_changes(void *user, struct stmt *stmt)
{
	struct emitting *e = user;
	if (stmt->kind == STMT_STORE || (stmt->kind == STMT_SET && !stmt->declare))
		e->changes[stmt->cell->of.number] = true;
	return VISIT_PARTS;
}

/* Where a lane is a thread, an array is each thread's own unless vectors lie in it, or it is too large for that;
 * buffers that the kernel reads again are everyone's.  Templates of such targets let the threads meet around stores to
 * them. */
enum { OWN_MOST = 64 };
static enum visit note_common(void *user, struct stmt *stmt)
{
	struct emitting *e = user;
	const struct cell *cell = stmt->cell;
	if (stmt->kind == STMT_STORE && cell->kind == CELL_ARRAY && !cell->vector && stmt->lane >= 0)
		e->common[cell->of.number] = true;
	if (stmt->kind == STMT_ARRAY && !cell->vector && (cell->size > OWN_MOST || e->loops->warps))
		e->common[cell->of.number] = true;
	const struct definition *owner = cell ? e->loops->owners.at[cell->of.number] : NULL;
	for (size_t r = 0;
	        stmt->kind == STMT_STORE && cell->kind == CELL_BUFFER && owner && r < scheduled(owner)->readers.count;
	        r++)
		e->common[cell->of.number] |= scheduled(scheduled(owner)->readers.at[r])->kernel == e->loops->kernel;
	for (size_t m = 0; stmt->kind == STMT_STORE && owner && m < e->loops->kernel->members.count; m++)
		e->common[cell->of.number] |= scheduled(e->loops->kernel->members.at[m])->lies_in == owner;
	if (stmt->kind == STMT_STORE && cell->kind == CELL_BUFFER && owner
	        && definition_scatters(owner)) /* what begins is stored to again */
		e->common[cell->of.number] = true;
	return VISIT_PARTS;
}

static struct value entry(struct emitting *e, struct value list, const char *kind)
{
	struct value dict = value_dict_of(e->arena, "kind", kind);
	value_list_add(list, dict);
	return dict;
}

static const char *type_of(const struct cell *cell)
{
	return cell->bytes     ? lane_type_of_bytes(cell->of.type).vector
	        : cell->vector ? lane_type_of(cell->of.type).vector
	                       : dtypes[cell->of.type].c;
}

/* ---- straight lines ---- */
static bool is_leaf(const struct stmt *stmt)
{
	return (stmt->kind == STMT_SET || stmt->kind == STMT_STORE) && !stmt->square;
}

static void emit_square(struct emitting *e, const struct stmt *stmt, struct value list)
{
	struct printer *p = &e->printer;
	struct value square = entry(e, list, "square");
	enum dtype type = stmt->cell->of.type;
	int bits = dtypes[type].bits;
	bool cast = bits == 32 && type != DTYPE_F32;
	const char *to = printer_address(p, &stmt->cell->of, stmt->at),
	           *from = printer_address(p, stmt->value->of, stmt->value->at[0]);
	value_set(square, "word", bits == 32 ? "vec_transpose" : arena_printf(e->arena, "ivec_transpose_i%d", bits),
	        "to", cast ? arena_printf(e->arena, "(float *)(void *)(%s)", to) : to, "from",
	        cast ? arena_printf(e->arena, "(const float *)(const void *)(%s)", from) : from, "to_row",
	        printer_index(p, stmt->square));
	value_set(square, "from_row", printer_index(p, index_step(e->arena, stmt->value->at[0], stmt->lane)));
}

/* What the printer wants said first. */
static void emit_let_list(struct emitting *e, struct value list)
{
	FOR_ALL (i, e->printer.lets) {
		struct value let = entry(e, list, "let");
		value_set(let, "type", e->printer.lets.at[i].type, "name", e->printer.lets.at[i].name, "value",
		        e->printer.lets.at[i].value);
	}
	e->printer.lets.count = 0;
}

static void emit_leaf(struct emitting *e, const struct stmt *stmt, struct value list)
{
	struct printer *p = &e->printer;
	enum dtype type = stmt->cell->of.type;
	struct lane_type t = stmt->bytes ? lane_type_of_bytes(type) : lane_type_of(type);
	const char *half = stmt->kind == STMT_STORE && stmt->lane >= 0 && index_factor(stmt->at, stmt->lane) == 1
	        ? printer_before_narrow(p, stmt->value)
	        : NULL;
	const char *value = half ? half : printer_value(p, stmt->value);
	emit_let_list(e, list);
	struct cell *cell = stmt->cell;
	if (stmt->kind == STMT_SET) {
		struct value set = entry(e, list,
		        !stmt->declare                        ? "set"
		                : e->changes[cell->of.number] ? "begin"
		                                              : "let");
		value_set(set, "type", type_of(cell));
		value_set(set, "name", cell->of.name, "value", value);
		if (stmt->keep)
			value_set(set, "keep", p->left);
		value_set(set, "first", arena_printf(e->arena, "%s_first", t.vector));
		return;
	}
	const struct index *step = index_step(e->arena, stmt->at, cell->vector ? -1 : stmt->lane);
	int64_t factor;
	bool apart = !index_is_constant(step, &factor) || (factor && factor != 1);
	struct value store = entry(e, list, apart ? "scatter" : factor ? "store" : "put");
	const char *to =
	        apart || factor ? printer_address(p, &cell->of, stmt->at) : printer_element(p, &cell->of, stmt->at);
	if (t.pointer && stmt->lane >= 0 && (apart || factor))
		to = arena_printf(e->arena, "(%s *)(%s)", t.pointer, to);
	value_set(store, "to", to, "value", value, "type", type_of(cell), "word",
	        half ? "vec_store_half"
	             : arena_printf(e->arena, "%s_%s%s", t.vector, apart ? "scatter" : "store", t.memory));
	value_set(store, "common", value_bool(e->common[cell->of.number] && !e->loops->warps));
	if (e->loops->target->options.log && cell->kind == CELL_BUFFER) {
		const struct definition *owner = e->loops->owners.at[cell->of.number];
		value_set(store, "log", emit_literal(e->arena, owner ? owner->name : cell->of.name), "index",
		        printer_index(p, stmt->at), "text", emit_literal(e->arena, value));
	}
	if (apart)
		value_set(store, "step", printer_index(p, step));
	if (stmt->left)
		value_set(store, "left", p->left);
}

/* The store behind `i` that fills the gaps which this one leaves, every second place; 0: there is none. */
static size_t filled_by(const struct emitting *e, const struct block *block, size_t i, size_t end)
{
	const struct stmt *stmt = block->at[i];
	const struct target *target = e->loops->target;
	int64_t step = 0, apart;
	if (stmt->kind != STMT_STORE || stmt->lane < 0 || stmt->some || stmt->bytes || stmt->square
	        || stmt->cell->vector || stmt->cell->of.type != DTYPE_F32 || target->lanes_are_threads
	        || target->options.log || !index_is_constant(index_step(e->arena, stmt->at, stmt->lane), &step)
	        || step != 2 || cell_is_loaded(&e->loops->body, stmt->cell))
		return 0;
	for (size_t n = i + 1; n < end && block->at[n]->kind == STMT_STORE && block->at[n]->cell == stmt->cell; n++)
		if (index_is_constant(
		            index_add(e->arena, block->at[n]->at, index_scale(e->arena, stmt->at, -1)), &apart)
		        && apart == 1)
			return n;
	return 0;
}

static void emit_zip(struct emitting *e, const struct stmt *even, const struct stmt *odd, struct value list)
{
	struct printer *p = &e->printer;
	const char *values[] = { printer_value(p, even->value), printer_value(p, odd->value) };
	emit_let_list(e, list);
	struct value zip = entry(e, list, "zip");
	value_set(zip, "to", printer_address(p, &even->cell->of, even->at), "value", values[0], "odd", values[1]);
	if (even->left)
		value_set(zip, "left", p->left);
}

/* The statements from `i` on that can be printed as one straight line; what they share gets a name. */
static size_t emit_line(struct emitting *e, const struct block *block, size_t i, struct value list)
{
	VECTOR(const struct expr *) roots = { 0 };
	const struct stmt *first = block->at[i];
	size_t end = i;
	for (; end < block->count && is_leaf(block->at[end]) && block->at[end]->lane == first->lane
	        && block->at[end]->left == first->left && block->at[end]->bytes == first->bytes;
	        end++)
		push(e->arena, &roots, block->at[end]->value);
	e->printer.lane = first->lane;
	e->printer.bytes = first->bytes;
	e->printer.left = first->some ? printer_index(&e->printer, first->some)
	        : first->left         ? arena_printf(e->arena, "%d", first->left)
	                              : NULL;
	printer_share(&e->printer, roots.at, roots.count);
	bool *printed = arena_new_array(e->arena, bool, end - i);
	for (size_t from = i; i < end; i++) {
		size_t odd = printed[i - from] ? 0 : filled_by(e, block, i, end);
		if (odd) {
			emit_zip(e, block->at[i], block->at[odd], list);
			printed[odd - from] = true;
		} else if (!printed[i - from])
			emit_leaf(e, block->at[i], list);
	}
	e->printer.sharing = NULL;
	return end;
}

struct using
{
	int var;
	bool used;
};
static void see_use(void *user, const struct index *index, bool address)
{
	struct using *u = user;
	(void)address;
	u->used |= index_uses(index, u->var);
}

static bool is_used(const struct block *block, size_t from, int var)
{
	struct using u = { var, false };
	struct block rest = { .at = block->at + from, .count = block->count - from };
	block_indices(&rest, see_use, &u);
	return u.used;
}

static struct value emit_block(struct emitting *e, const struct block *block);

static const char *condition_of(struct emitting *e, const struct stmt *stmt)
{
	const char *text = NULL;
	FOR (i, stmt->range_count) {
		const char *one = printer_range(&e->printer, &stmt->ranges[i]);
		text = text ? arena_printf(e->arena, "%s && %s", text, one) : one;
	}
	return text;
}

/* … what other threads of the block load. */
static enum visit stores_for_others(void *user, struct stmt *stmt)
{
	const struct emitting *e = user;
	return stmt->kind == STMT_STORE && (stmt->cell->kind == CELL_ARRAY || e->common[stmt->cell->of.number])
	        ? VISIT_END
	        : VISIT_PARTS;
}

/* How many rounds of an innermost loop of a thread ask together for what they load; 0: as the compiler likes. */
enum { LOADS_AT_ONCE = 32 };
struct asking {
	bool loops;
	int loads;
};
static void count_load(void *user, const struct expr *load)
{
	((struct asking *)user)->loads += cell_of_load(load)->kind == CELL_BUFFER;
}
static enum visit see_asking(void *user, struct stmt *stmt)
{
	struct asking *a = user;
	a->loops |= stmt->kind == STMT_FOR;
	if (stmt->value)
		expr_loads(stmt->value, count_load, a);
	return VISIT_PARTS;
}
static int rounds_at_once(const struct emitting *e, const struct stmt *loop)
{
	struct asking a = { false, 0 };
	if (!e->loops->elements || loop->role != ROLE_SERIAL)
		return 0;
	block_visit(&loop->body, see_asking, &a);
	int rounds = a.loads ? LOADS_AT_ONCE / a.loads : 0;
	return a.loops || rounds < 2 ? 0 : rounds;
}

/* What libraries need of libc anyway knows how this CPU copies much. */
static bool emit_copies(struct emitting *e, const struct stmt *blocks, struct value list)
{
	copied_parts parts = { 0 };
	if (e->no_libc || e->loops->target->lanes_are_threads || !loops_copies(e->loops, &parts))
		return false;
	FOR_EACH (const struct copied part, parts) {
		const struct definition *ends[] = { &part.store->cell->of, part.store->value->of };
		const struct index *at =
		        index_scale(e->arena, index_var(e->arena, blocks->var, blocks->extent), part.step);
		struct value copy = entry(e, list, "copy");
		value_set(copy, "name", e->names[blocks->var], "first", part.first, "end", part.end, "to",
		        printer_address(
		                &e->printer, ends[0], index_plus(e->arena, at, part.to + part.step * part.first)),
		        "from",
		        printer_address(
		                &e->printer, ends[1], index_plus(e->arena, at, part.from + part.step * part.first)));
		value_set(copy, "bytes", part.count * dtypes[ends[0]->type].bits / 8);
	}
	return true;
}

static void emit_stmt(struct emitting *e, const struct block *block, size_t i, struct value list)
{
	static const char *const joins[] = {
		[REDUCE_SUM] = "sum",
		[REDUCE_MAX] = "largest",
		[REDUCE_MIN] = "smallest",
		[REDUCE_PROD] = "product",
	};
	const struct stmt *stmt = block->at[i];
	const char *text;
	struct value made;
	e->printer.lane = -1;
	e->printer.bytes = false;
	e->printer.left = NULL;
	switch (stmt->kind) {
	case STMT_FOR:
		if (stmt->role == ROLE_BLOCKS && emit_copies(e, stmt, list))
			break;
		made = entry(e, list,
		        stmt->role == ROLE_BLOCKS            ? "blocks"
		                : stmt->role == ROLE_THREADS ? "threads"
		                                             : "for");
		value_set(made, "name", e->names[stmt->var]);
		if (rounds_at_once(e, stmt))
			value_set(made, "unroll", rounds_at_once(e, stmt));
		if (stmt->first)
			value_set(made, "first", printer_index(&e->printer, stmt->first));
		value_set(made, "extent",
		        stmt->count ? value_string(printer_index(&e->printer, stmt->count)) : value_int(stmt->extent));
		value_set(made, "step", stmt->step, "body", emit_block(e, &stmt->body));
		value_set(made, "meets", block_visit(&stmt->body, stores_for_others, e));
		break;
	case STMT_IF:
		made = entry(e, list, "if");
		value_set(made, "condition", condition_of(e, stmt));
		value_set(made, "body", emit_block(e, &stmt->body));
		value_set(made, "other", emit_block(e, &stmt->other));
		break;
	case STMT_SCOPE:
		made = entry(e, list, "scope");
		value_set(made, "body", emit_block(e, &stmt->body));
		break;
	case STMT_INDEX:
		if (!is_used(block, i + 1, stmt->var))
			break;
		text = printer_index(&e->printer, stmt->at);
		emit_let_list(e, list);
		made = entry(e, list, "let");
		value_set(made, "type", e->index, "name", e->names[stmt->var], "value", text);
		break;
	case STMT_ARRAY:
		made = entry(e, list, "array");
		value_set(made, "type", type_of(stmt->cell));
		value_set(made, "name", stmt->cell->of.name, "extent", stmt->cell->size, "common",
		        e->common[stmt->cell->of.number]);
		if (e->common[stmt->cell->of.number])
			e->scratch += stmt->cell->size * (int64_t)dtypes[stmt->cell->of.type].bits / 8;
		value_set(made, "align",
		        stmt->cell->vector || stmt->cell->of.type != DTYPE_F32 || e->loops->target->lanes == 1
		                ? 0
		                : 4 * e->loops->target->lanes);
		break;
	case STMT_JOIN:
		made = entry(e, list, "let");
		value_set(made, "type", dtypes[stmt->cell->of.type].c, "name", stmt->cell->of.name);
		text = arena_printf(e->arena, "%s%s(%s)", lane_type_of(stmt->cell->of.type).words,
		        joins[stmt->reduce[0]], stmt->from->of.name);
		value_set(made, "value",
		        dtypes[stmt->cell->of.type].bits < 32
		                ? arena_printf(e->arena, "(%s)%s", dtypes[stmt->cell->of.type].c, text)
		                : text);
		break;
	case STMT_STORE: emit_square(e, stmt, list); break;
	case STMT_SET: break;
	}
}

static struct value emit_block(struct emitting *e, const struct block *block)
{
	struct value list = value_list(e->arena);
	for (size_t i = 0; i < block->count;) {
		if (is_leaf(block->at[i]))
			i = emit_line(e, block, i, list);
		else
			emit_stmt(e, block, i++, list);
	}
	return list;
}

/* ---- indices that fit an int ---- */
/* No part of an index, in whatever order it is added up, is more than this. */
static double most_of(const struct index *index)
{
	double most = fabs((double)index->constant);
	FOR (i, index->count) {
		const struct atom *atom = index->terms[i].atom;
		double of = atom->kind == ATOM_DIV || atom->kind == ATOM_MOD ? most_of(atom->of)
		        : atom->kind == ATOM_VAR || atom->kind == ATOM_VALUE
		        ? fmax(fabs((double)atom->low), fabs((double)atom->high))
		        : HUGE_VAL;
		most += fabs((double)index->terms[i].factor) * of;
	}
	return most;
}

static void see_most(void *user, const struct index *index, bool address)
{
	double *most = user;
	(void)address;
	*most = fmax(*most, most_of(index));
}

enum { WARPS_OF_BLOCK = 1024 }; /* threads past the last */
/* Threads of elements divide their numbers, which 32 bits do in a third of the time. */
static const char *index_of_threads(const struct loops *loops)
{
	double most = (double)loops->blocks + WARPS_OF_BLOCK;
	block_indices(&loops->body, see_most, &most);
	return (loops->elements || loops->warps) && most <= INT32_MAX && !loops->count ? "int" : "long";
}

/* ---- the function ---- */
/* Parameters that no statement names: a pad of everything, a tensor without elements. */
static struct value unused_of(struct emitting *e)
{
	struct value unused = value_list(e->arena);
	FOR_ALL (i, e->loops->cells) {
		const struct cell *cell = e->loops->cells.at[i];
		if (cell->kind == CELL_BUFFER && (!e->loops->count || e->loops->count != e->loops->owners.at[i])
		        && !cell_is_loaded(&e->loops->body, cell) && !cell_is_stored(&e->loops->body, cell))
			value_list_add(unused, value_string(cell->of.name));
	}
	return unused;
}

struct value loops_ends(struct emit *emit, const struct loops *loops)
{
	if (!loops->count)
		return value_none();
	struct value ends = emit_ends(emit, loops->kernel, loops->count, loops->most);
	const char *there =
	        loops->ends_by == 1 ? "many" : arena_printf(emit->arena, "many * %lld", (long long)loops->ends_by);
	value_set(ends, "there",
	        loops->ends_per == 1 ? there
	                             : arena_printf(emit->arena, "(%s + %lld) / %lld", there,
	                                     (long long)loops->ends_per - 1, (long long)loops->ends_per),
	        "blocks", loops->blocks);
	return ends;
}

/* Parameters that begin at whole accesses. */
static struct value aligned_of(struct arena *arena, const struct loops *loops)
{
	struct value aligned = value_list(arena);
	for (size_t i = 0; i < loops->cells.count && (loops->elements > 1 || loops->warps); i++) {
		const struct cell *cell = loops->cells.at[i];
		const struct definition *owner = loops->owners.at[i];
		if (cell->kind == CELL_BUFFER && owner && !scheduled(owner)->odd)
			value_list_add(aligned, value_string(cell->of.name));
	}
	return aligned;
}

static void print_function(
        struct emit *emit, struct arena *arena, struct loops *loops, struct value function, struct text *out)
{
	struct emitting e = { .loops = loops,
		.arena = arena,
		.no_libc = emit->no_libc,
		.names = arena_new_array(arena, const char *, loops->vars.count + 1),
		.changes = arena_new_array(arena, bool, loops->cells.count + 1),
		.common = arena_new_array(arena, bool, loops->cells.count + 1) };
	FOR_ALL (i, loops->vars)
		e.names[i] = loops->vars.at[i].name;
	block_visit(&loops->body, note_changes, &e);
	if (!loops->elements) /* threads that work alone share nothing */
		block_visit(&loops->body, note_common, &e);
	e.printer = (struct printer){ .arena = arena,
		.target = emit->target,
		.lane = -1,
		.names = e.names,
		.symbols = loops->symbols ? "symbols" : NULL,
		.buffer = name_of_buffer,
		.held = held_by_cell,
		.user = &e };
	e.index = index_of_threads(loops);
	struct value globals = value_dict_of(arena, "index", e.index, "aligned", aligned_of(arena, loops), "kernel",
	        function, "target", emit_target_value(emit), "logger", arena_printf(arena, "%s_log_line", emit->name));
	value_set(globals, "unused", unused_of(&e));
	value_set(globals, "body", emit_block(&e, &loops->body));
	value_set(globals, "ends", loops_ends(emit, loops));
	if (emit->target->scratch_bytes && e.scratch > emit->target->scratch_bytes) {
		arena_release(arena);
		fail(emit->build, EXIT_LIMIT, loops->kernel->root->name,
		        "its rows take %lld bytes of scratch; %s has %lld", (long long)e.scratch, emit->target->name,
		        (long long)emit->target->scratch_bytes);
	}
	emit_render(emit, loops->kernel, globals, out);
}

void loops_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	struct arena arena;
	arena_init(&arena, emit->build);
	print_function(emit, &arena, loops_of(kernel, &arena), emit_kernel_value(emit, kernel), out);
	arena_release(&arena);
}

void loops_emit_symbolic(
        struct emit *emit, struct loops *loops, const char *name, const char *comment, struct text *out)
{
	struct arena *arena = loops->arena;
	struct value function = value_dict(arena);
	const char *params = "";
	FOR_EACH (const struct cell *cell, loops->cells) {
		if (cell->kind == CELL_BUFFER)
			params = arena_printf(arena, "%s%sfloat *restrict %s, ", params, cell->written ? "" : "const ",
			        cell->of.name);
	}
	value_set(function, "name", name, "params", arena_printf(arena, "%sconst long *restrict symbols", params),
	        "comment", comment, "inner", value_bool(true));
	print_function(emit, arena, loops, function, out);
}
