/* late.c: large constants whose values are computed when somebody asks for them.  Mostly nobody does: products read the
 * bytes that such a constant was widened from.  What was computed for another constant alone goes with that. */
#include "definitions/definitions.h"

struct late {
	const struct program *program; /* its one output; all that it reads is constant, nothing is checked */
	void *data;                    /* NULL: not yet */
};

struct late *late_new(const struct program *program)
{
	struct late *late = arena_new(program->build->arena, struct late);
	late->program = program;
	return late;
}

const void *late_data(struct late *late)
{
	const struct program *program = late->program;
	struct arena *arena = program->build->arena;
	if (late->data)
		return late->data;
	VECTOR(struct late *) passing = { 0 };
	for (size_t i = 0; i < program->all.count; i++) {
		struct late *read = program->all.at[i]->late;
		if (read && !read->data)
			push(arena, &passing, read);
	}
	const struct definition *result = program->outputs.at[0];
	void *data = arena_apart(arena, dtype_bytes(result->type, (size_t)definition_elements(result)) + 1);
	interpret(program, MATH_STRICT, NULL, &data);
	late->data = data;
	for (size_t i = 0; i < passing.count; i++)
		late_forget(passing.at[i]);
	return data;
}

void late_forget(struct late *late)
{
	if (late->data)
		arena_drop(late->program->build->arena, late->data);
	late->data = NULL;
}

const void *definition_data(const struct definition *definition)
{
	return definition->late ? late_data(definition->late) : definition->data;
}

const void *tensor_data(const struct tensor *tensor) { return tensor->late ? late_data(tensor->late) : tensor->data; }
