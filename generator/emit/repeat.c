/* repeat.c: the values of templates/c/repeat.jinja and c/jit_repeat.jinja: what goes from round to round, and what each
 * kernel of the body is called with. */
#include "emit/emit.h"
#include <inttypes.h>

static const char *scratch_at(struct emit *emit, const struct kernel *kernel, enum dtype type, bool written, int64_t at)
{
	const struct rounds *rounds = kernel->detail;
	return arena_printf(emit->arena, "(%s%s *)(void *)(%s + %" PRId64 ")", written ? "" : "const ", dtypes[type].c,
	        emit_buffer((void *)(uintptr_t)kernel, rounds->scratch), at);
}

/* Element `round` of what is sliced. */
static const char *slice_of(struct emit *emit, const char *buffer, int64_t elements, int64_t rounds, bool back)
{
	return back
	        ? arena_printf(emit->arena, "%s + %" PRId64 " * (%" PRId64 " - round)", buffer, elements, rounds - 1)
	        : arena_printf(emit->arena, "%s + %" PRId64 " * round", buffer, elements);
}

/* What a kernel of the body is given for one of the body's tensors. */
static const char *argument_of(struct emit *emit, const struct kernel *kernel, struct definition *of, bool written)
{
	const struct rounds *rounds = kernel->detail;
	const struct repeat *repeat = rounds->repeat;
	void *holder = (void *)(uintptr_t)kernel;
	if (scheduled(of)->mode == MODE_CONSTANT)
		return emit_buffer(holder, of);
	if (scheduled(of)->mode == MODE_DEVICE)
		return scratch_at(emit, kernel, of->type, written, scheduled(of)->offset);
	int in = repeat_input(rounds, of), out = repeat_output(rounds, of);
	if (in >= 0) {
		const char *operand = emit_buffer(holder, rounds->operand[in]->of);
		return repeat->in[in].moves == REPEAT_CARRIED ? arena_printf(emit->arena, "now%d", repeat->in[in].pair)
		        : repeat->in[in].moves == REPEAT_SLICED
		        ? slice_of(emit, operand, definition_elements(of), repeat->rounds, repeat->in[in].back)
		        : operand;
	}
	if (repeat->out[out].moves == REPEAT_CARRIED)
		return arena_printf(emit->arena, "next%d", out);
	return rounds->results[out] ? slice_of(emit, emit_buffer(holder, rounds->results[out]), definition_elements(of),
	               repeat->rounds, repeat->out[out].back)
	                            : scratch_at(emit, kernel, of->type, true, rounds->place[out]);
}

struct asking {
	struct emit *emit;
	const struct kernel *kernel;
};
static const char *condition_of(void *user, struct definition *d)
{
	const struct asking *a = user;
	return arena_printf(a->emit->arena, "(%s)", argument_of(a->emit, a->kernel, d, false));
}

static struct value step_value(
        struct emit *emit, const struct kernel *kernel, const struct kernel *step, const char *more)
{
	const char *arguments = "";
	FOR_ALL (i, step->params)
		arguments = arena_printf(emit->arena, "%s%s, ", arguments,
		        argument_of(emit, kernel, step->params.at[i].of, step->params.at[i].written));
	return value_dict_of(emit->arena, "name", emit_symbol(emit, step), "only",
	        emit_only_where(emit->arena, kernel_branch(step), condition_of, &(struct asking){ emit, kernel }),
	        "arguments", arguments, "more",
	        more ? value_string(more) : value_printf(emit->arena, "0, %" PRId64, step->blocks));
}

static struct value pair_value(struct emit *emit, const struct kernel *kernel, size_t k)
{
	const struct rounds *rounds = kernel->detail;
	const struct definition *of = rounds->body->program->outputs.at[k], *result = rounds->results[k];
	struct value value = value_dict_of(emit->arena, "number", k, "type", dtypes[of->type].c, "elements",
	        definition_elements(of), "first",
	        emit_buffer((void *)(uintptr_t)kernel, rounds->operand[rounds->repeat->out[k].pair]->of), "place",
	        result ? emit_buffer((void *)(uintptr_t)kernel, result)
	               : scratch_at(emit, kernel, of->type, true, rounds->place[k]));
	value_set(value, "other", scratch_at(emit, kernel, of->type, true, rounds->other[k]), "result",
	        value_bool(result));
	return value;
}

struct value repeat_values(struct emit *emit, const struct kernel *kernel, const char *const *more)
{
	const struct rounds *rounds = kernel->detail;
	const struct repeat *repeat = rounds->repeat;
	struct value steps = value_list(emit->arena), pairs = value_list(emit->arena);
	FOR_ALL (s, rounds->body->kernels)
		value_list_add(steps, step_value(emit, kernel, rounds->body->kernels.at[s], more ? more[s] : NULL));
	FOR_ALL (k, repeat->body->outputs)
		if (repeat->out[k].moves == REPEAT_CARRIED)
			value_list_add(pairs, pair_value(emit, kernel, k));
	return value_dict_of(emit->arena, "kernel", emit_kernel_value(emit, kernel), "rounds", repeat->rounds, "going",
	        repeat->going < 0 ? value_none() : value_int(repeat->in[repeat->going].pair), "steps", steps, "pairs",
	        pairs);
}

/* Where the host goes round there is no function but those of the body. */
void repeat_emit(struct emit *emit, const struct kernel *kernel, struct text *out)
{
	const struct lowered *body = kernel_inside(kernel);
	FOR_ALL (s, body->kernels)
		if (!body->kernels.at[s]->same) {
			emit_kernel(emit, body->kernels.at[s], out);
			text_addc(out, '\n');
		}
	if (!emit->target->lanes_are_threads)
		emit_render(emit, kernel, repeat_values(emit, kernel, NULL), out);
}
