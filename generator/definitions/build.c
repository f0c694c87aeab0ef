/* build.c: programs and their definitions: made, ordered, counted, and what nobody needs removed. */
#include "definitions/definitions.h"

/* ---- unique names: a table of what is taken, by hash of the text; open addressing, at most half full ---- */
struct program_names { const char **at; size_t room, count; };

struct program *program_new(struct build *build, const char *name)
{
	struct program *program = new(build->arena, struct program);
	program->build = build;
	program->arena = build->arena;
	program->name = name;
	program->names = new(build->arena, struct program_names);
	return program;
}

static const char **name_slot(struct program_names *names, const char *name)
{
	size_t i = hash_bytes(name, strlen(name), 0) & (names->room - 1);
	while (names->at[i] && strcmp(names->at[i], name))
		i = (i + 1) & (names->room - 1);
	return &names->at[i];
}

static void names_add(struct program *program, const char *name)
{
	struct program_names *names = program->names;
	if (names->count * 2 >= names->room) {
		struct program_names larger = { .room = names->room ? names->room * 2 : 64 };
		larger.at = new_array(program->arena, const char *, larger.room);
		for (size_t i = 0; i < names->room; i++)
			if (names->at[i])
				*name_slot(&larger, names->at[i]) = names->at[i];
		larger.count = names->count;
		*names = larger;
	}
	*name_slot(names, name) = name;
	names->count++;
}

static const char *name_unique(struct program *program, const char *name)
{
	const char *unique = name;
	for (int n = 2; program->names->room && *name_slot(program->names, unique); n++)
		unique = arena_printf(program->arena, "%s_%d", name, n);
	names_add(program, unique);
	return unique;
}

static struct definition *append(struct program *program, enum source source, const char *name, enum dtype type,
                                 int rank, const int64_t *extents)
{
	struct definition *definition = new(program->arena, struct definition);
	definition->source = source;
	definition->name = name_unique(program, name);
	definition->type = type;
	definition->rank = rank;
	for (int d = 0; d < rank; d++)
		definition->extents[d] = extents[d];
	definition->number = (int)program->all.count;
	push(program->arena, &program->all, definition);
	return definition;
}

struct definition *define_input(struct program *program, const char *name, enum dtype type, int rank,
                                const int64_t *extents)
{
	struct definition *definition = append(program, SOURCE_INPUT, name, type, rank, extents);
	push(program->arena, &program->inputs, definition);
	return definition;
}

struct definition *define_constant(struct program *program, const char *name, enum dtype type, int rank,
                                   const int64_t *extents, const void *data)
{
	struct definition *definition = append(program, SOURCE_CONSTANT, name, type, rank, extents);
	definition->data = data;
	return definition;
}

struct definition *define_map(struct program *program, const char *name, int rank, const int64_t *extents,
                              const struct expr *body)
{
	struct definition *definition = append(program, SOURCE_COMPUTED, name, body->type, rank, extents);
	definition->body = body;
	return definition;
}

struct definition *define_reduction(struct program *program, const char *name, int rank, const int64_t *extents,
                                    enum reduce reduce, int reduced, const int64_t *reduced_extents,
                                    const struct expr *start, const struct expr *body)
{
	struct definition *definition = append(program, SOURCE_COMPUTED, name, body->type, rank, extents);
	definition->reduce = reduce;
	definition->reduced = reduced;
	for (int d = 0; d < reduced; d++)
		definition->reduced_extents[d] = reduced_extents[d];
	definition->start = start;
	definition->body = body;
	definition->products = reduce == REDUCE_SUM && body->kind == EXPR_SCALAR && body->row == SCALAR_mul;
	definition->order = definition_order(definition);
	return definition;
}

static int64_t product(int count, const int64_t *extents)
{
	int64_t n = 1;
	for (int d = 0; d < count; d++)
		n *= extents[d];
	return n;
}

int64_t definition_elements(const struct definition *definition)
{
	return product(definition->rank, definition->extents);
}

int64_t definition_terms(const struct definition *definition)
{
	return definition->reduce ? product(definition->reduced, definition->reduced_extents) : 1;
}

/* Each factor depends on every output variable that varies: nothing is read twice, so there is nothing to block. */
static bool factors_depend_on_all(const struct definition *definition)
{
	for (int d = 0; d < definition->rank; d++)
		if (definition->extents[d] > 1
			&& !(expr_uses(definition->body->arg[0], d) && expr_uses(definition->body->arg[1], d)))
			return false;
	return true;
}

enum { LANE_TERMS = 64, FEW_OUTPUTS = 32 };

enum order definition_order(const struct definition *definition)
{
	if (definition_terms(definition) < LANE_TERMS)
		return ORDER_CHAIN;
	if (definition->products && definition_elements(definition) > FEW_OUTPUTS &&
	    !factors_depend_on_all(definition))
		return ORDER_CHAIN;
	return ORDER_LANES;
}

bool definition_is_contraction(const struct definition *definition)
{
	return definition->products
		&& (definition->order == ORDER_CHAIN || definition_elements(definition) <= FEW_OUTPUTS);
}

/* ---- what no output needs ---- */
struct needed { bool *at; };

static void need(void *user, const struct expr *load) { ((struct needed *)user)->at[load->of->number] = true; }

void program_remove_dead(struct program *program)
{
	struct needed needed = { new_array(program->arena, bool, program->all.count + 1) };
	size_t kept = 0;
	for (size_t i = 0; i < program->all.count; i++)
		program->all.at[i]->number = (int)i;
	for (size_t i = 0; i < program->outputs.count; i++)
		needed.at[program->outputs.at[i]->number] = true;
	for (size_t i = program->all.count; i-- > 0;) {                  /* readers stand after what they read */
		const struct definition *definition = program->all.at[i];
		if (definition->source == SOURCE_INPUT)
			needed.at[i] = true;                             /* part of the signature */
		if (!needed.at[i] || definition->source != SOURCE_COMPUTED)
			continue;
		expr_loads(definition->body, need, &needed);
		if (definition->start)
			expr_loads(definition->start, need, &needed);
	}
	for (size_t i = 0; i < program->all.count; i++)
		if (needed.at[i]) {
			program->all.at[i]->number = (int)kept;
			program->all.at[kept++] = program->all.at[i];
		}
	program->all.count = kept;
}
