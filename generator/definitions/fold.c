/* fold.c: program -> program.  What depends on constants alone becomes a constant, computed strictly: the factors of a
 * norm, for example.  What it was stays as its original, for --math double.  A map of numbers that reads nothing stays:
 * it costs no memory; so does an output, which is copied to where the caller wants it. */
#include "definitions/evaluate.h"

enum { FOLD_BYTES = 1 << 20 }; /* of a result that is larger than all it reads */
static const double fold_terms = 1e8;

struct reads {
	bool constant;
	int count;
	double bytes;
};

static double bytes_of(const struct definition *definition)
{
	return (double)definition_elements(definition) * dtypes[definition->type].bits / 8;
}

static void read(void *user, const struct expr *load)
{
	struct reads *reads = user;
	reads->constant &= load->of->source == SOURCE_CONSTANT;
	reads->count++;
	reads->bytes += bytes_of(load->of);
}

static bool is_worth_folding(const struct definition *definition)
{
	struct reads reads = { .constant = true };
	if (definition->source != SOURCE_COMPUTED || definition->port.is_output || definition->reduce == REDUCE_REPEAT)
		return false;
	definition_loads(definition, read, &reads);
	return reads.constant && reads.count && definition_work(definition) <= fold_terms
	        && (bytes_of(definition) <= FOLD_BYTES || bytes_of(definition) <= reads.bytes);
}

void definition_fold(const struct program *program, struct definition *definition)
{
	void *data =
	        arena_alloc(program->arena, dtype_bytes(definition->type, (size_t)definition_elements(definition)) + 1);
	interpret_one(program, definition, data);
	definition_becomes(program, definition, data);
}

void definition_becomes(const struct program *program, struct definition *definition, const void *data)
{
	struct definition *original = arena_new(program->arena, struct definition);
	*original = *definition;
	definition->source = SOURCE_CONSTANT;
	definition->data = data;
	definition->reduce = REDUCE_NONE;
	definition->lies = definition->row = NULL;
	definition->sum.products = false;
	definition->order = ORDER_SERIAL;
	definition->reduced = 0;
	definition->start = definition->body = NULL;
	memset(definition->choice, 0, sizeof definition->choice);
	definition->running = false;
	memset(definition->place, 0, sizeof definition->place);
	definition->original = original;
}

void program_fold(struct program *program)
{
	FOR_ALL (i, program->all)
		if (is_worth_folding(program->all.at[i]))
			definition_fold(program, program->all.at[i]);
}

const struct expr *expr_fold(const struct program *program, const struct expr *expr)
{
	struct reads reads = { .constant = true };
	const struct definition alone = {
		.name = program->name, .source = SOURCE_COMPUTED, .type = expr->type, .body = expr
	};
	int64_t room = 0;
	double number;
	float narrow;
	if (expr->kind == EXPR_NUMBER || dtype_is_narrow(expr->type))
		return expr;
	FOR (v, MAX_VARS)
		if (expr_uses(expr, v))
			return expr;
	expr_loads(expr, read, &reads);
	if (!reads.constant)
		return expr;
	interpret_one(program, &alone, &room);
	memcpy(&number, &room, sizeof number);
	memcpy(&narrow, &room, sizeof narrow);
	if (dtypes[expr->type].class == CLASS_FLOAT)
		return expr_number(program->arena, expr->type, expr->type == DTYPE_F64 ? number : (double)narrow);
	values_load(SYSTEM_INTEGER, &room, &(int64_t){ room }, expr->type, 0, 1);
	return expr_integer(program->arena, expr->type, room);
}

static void see_constant(void *user, const struct expr *load) { *(bool *)user &= load->of->source == SOURCE_CONSTANT; }

bool expr_is_constant(const struct expr *expr)
{
	bool constant = true;
	expr_loads(expr, see_constant, &constant);
	return constant;
}

const struct expr *expr_settle(
        struct program *program, const char *name, const struct definition *over, const struct expr *expr)
{
	const struct index *with[MAX_VARS] = { 0 }, *at[MAX_RANK];
	int64_t extents[MAX_RANK];
	int rank = 0;
	FOR (v, over->rank + over->reduced)
		if (expr_uses(expr, v)) {
			if (rank == MAX_RANK)
				return NULL;
			extents[rank] = definition_extent(over, v);
			with[v] = index_var(program->arena, rank, extents[rank]);
			at[rank] = index_var(program->arena, v, extents[rank]);
			rank++;
		}
	struct definition *made = define_map(program, name, rank, extents, expr_substitute(program->arena, expr, with));
	definition_fold(program, made);
	return expr_load(program->arena, made, at);
}

void check_fail(const struct program *program, const struct definition *check, const char *found)
{
	fail(program->build, check->check->code, check->node ? check->node->where : check->name, "%s%s%s%s",
	        check->check->text, found ? " (" : "", found ? found : "", found ? ")" : "");
}

void program_settle_checks(struct program *program)
{
	size_t kept = 0;
	FOR_EACH (struct definition *check, program->checks) {
		if (check->source != SOURCE_CONSTANT)
			program->checks.at[kept++] = check;
		else if (!*(const uint8_t *)definition_data(check))
			check_fail(program, check, NULL);
	}
	program->checks.count = kept;
}
