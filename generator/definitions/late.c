/* late.c: large constants whose values are computed when somebody asks for them.  Mostly nobody does: products read the
 * bytes that such a constant was widened from, and Winograd's kernels pack the filters themselves.  What was computed
 * for another constant alone goes with that. */
#include "definitions/definitions.h"

struct late {
	struct arena *arena;
	size_t bytes;
	void (*make)(const void *of, void *data);
	const void *of;
	void *data; /* NULL: not yet */
};

struct late *late_new(struct arena *arena, size_t bytes, void (*make)(const void *of, void *data), const void *of)
{
	struct late *late = arena_new(arena, struct late);
	*late = (struct late){ arena, bytes, make, of, NULL };
	return late;
}

static void run(const void *of, void *data)
{
	const struct program *program = of;
	VECTOR(struct late *) passing = { 0 };
	FOR_ALL (i, program->all) {
		struct late *read = program->all.at[i]->late;
		if (read && !read->data)
			push(program->build->arena, &passing, read);
	}
	interpret(program, MATH_STRICT, NULL, &data);
	FOR_ALL (i, passing)
		late_forget(passing.at[i]);
}

struct late *late_of(const struct program *program)
{
	const struct definition *result = program->outputs.at[0];
	return late_new(
	        program->build->arena, dtype_bytes(result->type, (size_t)definition_elements(result)), run, program);
}

const void *late_data(struct late *late)
{
	if (!late->data) {
		void *data = arena_apart(late->arena, late->bytes + 1);
		late->make(late->of, data);
		late->data = data;
	}
	return late->data;
}

void late_forget(struct late *late)
{
	if (late->data)
		arena_drop(late->arena, late->data);
	late->data = NULL;
}

const void *definition_data(const struct definition *definition)
{
	return definition->late ? late_data(definition->late) : definition->data;
}

const void *tensor_data(const struct tensor *tensor) { return tensor->late ? late_data(tensor->late) : tensor->data; }
