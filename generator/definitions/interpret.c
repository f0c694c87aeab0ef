/* interpret.c: a program -> the values of its outputs.  Definitions run in order; each has memory of its own from its
 * computation to its last reader.  This is the oracle of every target (strict) and the judge of accuracy (double,
 * before any rewrite). */
#include "definitions/evaluate.h"
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct run {
	struct memories memories;
	struct arena arena, scratch; /* the run's own; one definition's */
	void **owned;                /* by number: what to free */
	bool *needed;
	int *last;               /* by number: who reads it last */
	int *dying, *next_dying; /* by number of the reader: a list of what it reads last, ended by -1 */
	int reader;              /* while readers are counted */
	struct run *rounds;      /* of the body of a repeat, while it runs */
	double have;             /* bytes of the machine */
	struct text found;       /* by a check that does not hold */
	VECTOR(const struct definition *) reported;
};

static const struct definition *meaning(const struct definition *definition, enum math math)
{
	return math == MATH_DOUBLE && definition->original ? definition->original : definition;
}

static bool is_of(const struct program *program, const struct definition *definition)
{
	return (size_t)definition->number < program->all.count && program->all.at[definition->number] == definition;
}

/* A large constant may be borrowed from a file at any address: then it is copied to where it can be read. */
static bool is_aligned(const struct definition *definition)
{
	return (uintptr_t)definition_data(definition) % (size_t)(dtypes[definition->type].bits / 8) == 0;
}

static size_t bytes_of(const struct definition *definition, enum dtype stored)
{
	return dtype_bytes(stored, (size_t)definition_elements(definition));
}

/* More than the machine has is refused at once: asked for, it would be promised and never kept. */
static void *room_for(struct run *run, const struct definition *definition, enum dtype stored)
{
	size_t bytes = bytes_of(definition, stored);
	void *room = (double)bytes < run->have ? malloc(bytes + 1) : NULL;
	if (!room)
		fail(run->memories.program->build, EXIT_LIMIT, definition->name, "no memory for %zu bytes", bytes);
	return run->owned[definition->number] = room;
}

static struct memory constant_memory(struct run *run, const struct definition *definition)
{
	struct memory memory = { (void *)(uintptr_t)definition_data(definition), definition->type };
	if (!is_aligned(definition))
		memory.at = memcpy(
		        room_for(run, definition, definition->type), memory.at, bytes_of(definition, definition->type));
	return memory;
}

struct memory memory_of(const struct memories *memories, const struct definition *definition)
{
	if (memories->at && is_of(memories->program, definition))
		return memories->at[definition->number];
	if (definition->source != SOURCE_CONSTANT)
		fail(memories->program->build, EXIT_INVALID, definition->name, "is read but not computed");
	struct memory memory = { (void *)(uintptr_t)definition_data(definition), definition->type };
	if (!is_aligned(definition))
		memory.at = arena_copy(memories->arena, memory.at, bytes_of(definition, definition->type));
	return memory;
}

static void count_reader(void *user, const struct expr *load)
{
	struct run *run = user;
	if (!is_of(run->memories.program, load->of))
		return;
	run->needed[load->of->number] = true;
	if (run->last[load->of->number] < run->reader)
		run->last[load->of->number] = run->reader;
}

/* From the end: only what an output or a check needs is computed. */
static void count_readers(struct run *run)
{
	const struct program *program = run->memories.program;
	FOR_ALL (i, program->outputs) {
		run->needed[program->outputs.at[i]->number] = true;
		run->last[program->outputs.at[i]->number] = (int)program->all.count;
	}
	FOR_ALL (i, program->checks)
		run->needed[program->checks.at[i]->number] = true;
	for (size_t i = program->all.count; i-- > 0;) {
		const struct definition *definition = meaning(program->all.at[i], run->memories.math);
		if (!run->needed[i] || definition->source != SOURCE_COMPUTED)
			continue;
		run->reader = (int)i;
		definition_loads(definition, count_reader, run);
	}
}

static struct memory *place(struct run *run, const struct definition *definition)
{
	enum dtype stored =
	        system_of(definition->type, run->memories.math) == SYSTEM_DOUBLE ? DTYPE_F64 : definition->type;
	struct memory *memory = &run->memories.at[definition->number];
	*memory = (struct memory){ room_for(run, definition, stored), stored };
	return memory;
}

static void repeat(struct run *, const struct definition *);

static void compute(struct run *run, const struct definition *definition)
{
	const struct definition *what = meaning(definition, run->memories.math);
	if (definition->reduce == REDUCE_REPEAT) {
		repeat(run, definition);
		return;
	}
	struct memory *memory = place(run, definition);
	definition_evaluate(&run->scratch, &run->memories, what, *memory);
	arena_release(&run->scratch);
}

/* The integers that a check looked at, where they are few: "shape is [2, 12]". */
static void describe(void *user, const struct expr *load)
{
	struct run *run = user;
	struct memory memory = run->memories.at[load->of->number];
	int64_t values[16], n = definition_elements(load->of);
	FOR_ALL (i, run->reported)
		if (run->reported.at[i] == load->of)
			return;
	if (dtypes[load->of->type].class == CLASS_FLOAT || n > (int64_t)COUNT(values))
		return;
	push(&run->arena, &run->reported, load->of);
	values_load(SYSTEM_INTEGER, values, memory.at, memory.stored, 0, (int)n);
	text_printf(&run->found, "%s%s is %s", run->found.count ? ", " : "", load->of->name, load->of->rank ? "[" : "");
	FOR (i, n)
		text_printf(&run->found, "%s%" PRId64, i ? ", " : "", values[i]);
	text_adds(&run->found, load->of->rank ? "]" : "");
}

static void look(struct run *run, const struct definition *check)
{
	if (*(const uint8_t *)run->memories.at[check->number].at)
		return;
	text_init(&run->found, run->memories.program->build);
	definition_loads(check, describe, run);
	check_fail(run->memories.program, check, run->found.count ? run->found.at : NULL);
}

static void drop(struct run *run, int number) /* nothing for inputs and constants */
{
	free(run->owned[number]);
	run->owned[number] = NULL;
}

static void list_dying(struct run *run, int count)
{
	FOR (i, count)
		run->dying[i] = -1;
	FOR (i, count)
		if (run->needed[i] && run->last[i] < count) {
			run->next_dying[i] = run->dying[run->last[i]];
			run->dying[run->last[i]] = i;
		}
}

/* Elements, from the `first` of `to` on. */
static void copy_elements(struct memory memory, struct memory to, int64_t first, int64_t elements)
{
	enum system system = system_of(memory.stored, MATH_STRICT);
	int64_t values[CHUNK];
	if (memory.stored == to.stored) {
		memcpy((char *)to.at + dtype_bytes(to.stored, (size_t)first), memory.at,
		        dtype_bytes(to.stored, (size_t)elements));
		return;
	}
	for (int64_t from = 0; from < elements; from += CHUNK) {
		int n = elements - from < CHUNK ? (int)(elements - from) : CHUNK;
		values_load(system, values, memory.at, memory.stored, from, n);
		values_store(system, values, to.at, to.stored, first + from, n);
	}
}

static void begin(struct run *run)
{
	const struct program *program = run->memories.program;
	FOR_ALL (i, program->all)
		program->all.at[i]->number = (int)i;
	count_readers(run);
	list_dying(run, (int)program->all.count);
}

/* Once; the inputs' memory is there, the outputs' stays. */
static void run_once(struct run *run)
{
	const struct program *program = run->memories.program;
	struct memory *at = run->memories.at;
	int count = (int)program->all.count;
	FOR (i, count) {
		const struct definition *definition = program->all.at[i];
		enum source source = meaning(definition, run->memories.math)->source;
		if (run->needed[i] && source == SOURCE_CONSTANT && !run->owned[i])
			at[i] = constant_memory(run, definition);
		if (run->needed[i] && source == SOURCE_COMPUTED)
			compute(run, definition);
		if (run->needed[i] && definition->check)
			look(run, definition);
		for (int dead = run->dying[i]; dead >= 0; dead = run->next_dying[dead])
			drop(run, dead);
	}
}

static void run_all(struct run *run, const void *const *inputs, void *const *outputs)
{
	const struct program *program = run->memories.program;
	struct memory *at = run->memories.at;
	begin(run);
	FOR_ALL (i, program->inputs)
		at[program->inputs.at[i]->number] =
		        (struct memory){ (void *)(uintptr_t)inputs[i], program->inputs.at[i]->type };
	run_once(run);
	FOR_ALL (i, program->outputs) {
		const struct definition *output = program->outputs.at[i];
		copy_elements(at[output->number], (struct memory){ outputs[i], output->type }, 0,
		        definition_elements(output));
	}
}

static struct run *run_new(const struct program *program, enum math math)
{
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		fail(program->build, EXIT_LIMIT, NULL, "no memory for the interpreter");
	run->memories.program = program;
	run->memories.math = math;
	run->have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	arena_init(&run->arena, program->build);
	arena_init(&run->scratch, program->build);
	run->memories.arena = &run->scratch;
	return run;
}

static void run_tables(struct run *run)
{
	size_t count = run->memories.program->all.count + 1;
	run->memories.at = arena_new_array(&run->arena, struct memory, count);
	run->owned = arena_new_array(&run->arena, void *, count);
	run->needed = arena_new_array(&run->arena, bool, count);
	run->last = arena_new_array(&run->arena, int, count);
	run->dying = arena_new_array(&run->arena, int, count);
	run->next_dying = arena_new_array(&run->arena, int, count);
}

static void run_free(struct run *run)
{
	for (size_t i = 0; run->owned && i < run->memories.program->all.count; i++)
		free(run->owned[i]);
	if (run->rounds)
		run_free(run->rounds);
	text_release(&run->found);
	arena_release(&run->scratch);
	arena_release(&run->arena);
	free(run);
}

/* ---- rounds ---- */
/* The memory of input i of the body in round t: of the operand, but for what the round before handed on. */
static void hand_in(struct run *run, const struct definition *base, size_t i, int64_t t)
{
	const struct repeat *r = base->loop.repeat;
	const struct definition *input = r->body->inputs.at[i];
	struct run *round = run->rounds;
	struct memory *at = &round->memories.at[input->number];
	if (r->in[i].moves == REPEAT_CARRIED && t > 0) {
		int from = r->body->outputs.at[r->in[i].pair]->number;
		free(round->owned[input->number]);
		round->owned[input->number] = round->owned[from];
		round->owned[from] = NULL;
		*at = round->memories.at[from];
		return;
	}
	*at = memory_of(&run->memories, base->loop.operand[i]->of);
	if (r->in[i].moves == REPEAT_SLICED)
		at->at = (char *)at->at
		        + dtype_bytes(at->stored,
		                (size_t)((r->in[i].back ? r->rounds - 1 - t : t) * definition_elements(input)));
}

/* All results, by the one that reads the operands. */
static void repeat(struct run *run, const struct definition *base)
{
	const struct repeat *r = base->loop.repeat;
	const struct program *all = run->memories.program;
	if (definition_repeats(base) != base)
		return;
	if (r->own && !r->own->told)
		fail(all->build, EXIT_UNSUPPORTED, r->own->node->where,
		        "is a kernel alone, which the interpreter cannot run; onnx/%s.jinja in the folder of "
		        "--templates would say what it means",
		        r->own->name);
	struct run *round = run->rounds = run_new(r->body, run->memories.math);
	run_tables(round);
	begin(round);
	for (size_t i = (size_t)base->number; i < all->all.count; i++)
		if (run->needed[i] && definition_repeats(all->all.at[i]) == base)
			place(run, all->all.at[i]);
	for (int64_t t = 0; t <= r->rounds; t++) {
		FOR_ALL (i, r->body->inputs)
			if (t < r->rounds || r->in[i].moves == REPEAT_CARRIED)
				hand_in(run, base, i, t);
		if (t == r->rounds
		        || (r->going >= 0
		                && !*(const uint8_t *)round->memories.at[r->body->inputs.at[r->going]->number].at))
			break;
		run_once(round);
		for (size_t i = (size_t)base->number; i < all->all.count; i++) {
			const struct definition *result = all->all.at[i];
			if (!run->needed[i] || definition_repeats(result) != base
			        || r->out[result->loop.part].moves == REPEAT_CARRIED)
				continue;
			const struct definition *output = r->body->outputs.at[result->loop.part];
			int64_t elements = definition_elements(output);
			copy_elements(round->memories.at[output->number], run->memories.at[i],
			        (r->out[result->loop.part].back ? r->rounds - 1 - t : t) * elements, elements);
		}
	}
	for (size_t i = (size_t)base->number; i < all->all.count; i++) {
		const struct definition *result = all->all.at[i];
		if (run->needed[i] && definition_repeats(result) == base
		        && r->out[result->loop.part].moves == REPEAT_CARRIED)
			copy_elements(round->memories.at[r->body->inputs.at[r->out[result->loop.part].pair]->number],
			        run->memories.at[i], 0, definition_elements(result));
	}
	run_free(round);
	run->rounds = NULL;
}

/* All of a program, or one definition of constants, which needs no tables.  What fails inside passes by here, so that
 * the run's memory goes in any case. */
static void run_safely(const struct program *program, const struct definition *one, enum math math,
        const void *const *inputs, void *const *outputs)
{
	struct build *build = program->build;
	struct run *const run = run_new(program, math);
	jmp_buf *const out = build->out;
	jmp_buf here;
	build->out = &here;
	bool failed = setjmp(here) != 0;
	if (!failed && one)
		definition_evaluate(&run->scratch, &run->memories, one, (struct memory){ outputs[0], one->type });
	else if (!failed) {
		run_tables(run);
		run_all(run, inputs, outputs);
	}
	run_free(run);
	build->out = out;
	if (failed)
		longjmp(*out, 1);
}

void interpret(const struct program *program, enum math math, const void *const *inputs, void *const *outputs)
{
	run_safely(program, NULL, math, inputs, outputs);
}

void interpret_one(const struct program *program, const struct definition *definition, void *output)
{
	run_safely(program, definition, MATH_STRICT, NULL, &output);
}
