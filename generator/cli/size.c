/* size.c: ingot size: what a library takes of flash, RAM and stack, kernel by kernel and tensor by tensor.
 *
 * It is compiled as ingot build would, in a folder that goes again; what its objects hold is what `size` and a linker's
 * map say of them. */
#include "cli/cli.h"
#include "backends/backends.h"
#include "emit/package.h"
#include "tables/board.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct sizing {
	struct cli *cli;
	struct part part;
	struct emit emit;
	struct package package;
	struct package_sizes sizes;
	int64_t weights, workspace, inputs, outputs, flash, ram;
};

/* ---- without a compiler: the arrays that kernels declare ---- */
static int64_t element_bytes(const struct target *target, const char *word, size_t length)
{
	static const struct {
		const char *word;
		int bytes;
	} known[] = { { "char", 1 }, { "short", 2 }, { "int", 4 }, { "unsigned", 4 }, { "float", 4 }, { "ivec", 0 },
		{ "vec", 0 }, { "mask", 0 }, { "long", 8 }, { "double", 8 } };
	FOR (i, COUNT(known))
		if (strlen(known[i].word) == length && !memcmp(known[i].word, word, length))
			return known[i].bytes ? known[i].bytes : 4 * (int64_t)target->lanes;
	return 0;
}

/* "float row[64];" takes 256 bytes, what is no declaration of an array none. */
static int64_t line_bytes(const struct target *target, const char *line)
{
	const char *bracket = strchr(line, '['), *name = bracket, *word;
	if (!bracket || !isdigit((unsigned char)bracket[1]) || *line != '\t')
		return 0;
	while (name > line && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
		name--;
	for (word = name; word > line && word[-1] == ' ';)
		word--;
	const char *end = word;
	while (word > line && isalpha((unsigned char)word[-1]))
		word--;
	int64_t bytes = end == name || name == bracket ? 0 : element_bytes(target, word, (size_t)(end - word));
	for (char *rest; bytes && *bracket == '['; bracket = rest + 1) {
		bytes *= strtoll(bracket + 1, &rest, 10);
		if (*rest != ']')
			return 0;
	}
	return bytes;
}

static int64_t arrays_of(struct sizing *s, const struct kernel *kernel)
{
	struct text text;
	int64_t bytes = 0;
	text_init(&text, s->emit.build);
	emit_kernel(&s->emit, kernel->same ? kernel->same : kernel, &text);
	text_addc(&text, 0);
	for (const char *line = text.at; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		bytes += line_bytes(s->emit.target, line);
	text_release(&text);
	return bytes;
}

static void plan_sizes(struct sizing *s)
{
	const struct lowered *lowered = s->part.lowered;
	s->emit.name = s->part.name;
	s->sizes.kernels = arena_new_array(s->emit.arena, struct kernel_size, lowered->kernels.count);
	FOR_ALL (k, lowered->kernels) {
		s->sizes.kernels[k].stack = arrays_of(s, lowered->kernels.at[k]);
		if (s->sizes.kernels[k].stack > s->sizes.stack)
			s->sizes.stack = s->sizes.kernels[k].stack;
	}
}

/* ---- sums ---- */
/* That lies in the caller's memory, not in the workspace. */
static int64_t own_bytes(const struct lowered *lowered, const struct definition *d)
{
	return lowered->io_in_workspace && scheduled(d)->offset >= 0 ? 0 : scheduled(d)->bytes;
}

int64_t cli_border_bytes(const struct lowered *lowered, bool inputs)
{
	const struct program *program = lowered->program;
	int64_t bytes = 0;
	FOR (i, (inputs ? program->inputs.count : program->outputs.count))
		bytes += own_bytes(lowered, inputs ? program->inputs.at[i] : program->outputs.at[i]);
	return bytes;
}

/* Of what lies in the workspace while a kernel runs. */
static int64_t live_bytes(const struct lowered *lowered, int kernel)
{
	int64_t bytes = 0;
	FOR_ALL (i, lowered->program->all) {
		const struct scheduled *d = scheduled(lowered->program->all.at[i]);
		bool there = d->mode == MODE_DEVICE
		        || (lowered->io_in_workspace && d->mode == MODE_HOSTED && d->offset >= 0);
		if (there && d->first >= 0 && d->first <= kernel && kernel <= d->last && !d->view_of && !d->lies_in)
			bytes += d->bytes;
	}
	return bytes;
}

/* The first kernel that reads a constant has it. */
static int64_t constant_bytes(const struct lowered *lowered, const struct kernel *kernel)
{
	int64_t bytes = 0;
	FOR_ALL (i, lowered->constants) {
		const struct scheduled *constant = scheduled(lowered->constants.at[i].of);
		bytes += constant->first == kernel->number ? constant->bytes : 0;
	}
	return bytes;
}

static void add_up(struct sizing *s)
{
	const struct lowered *lowered = s->part.lowered;
	int64_t given = 0;
	FOR (i, s->package.state_count)
		FOR_ALL (k, lowered->program->inputs)
			if (!strcmp(s->part.input_names[k], s->package.states[i].input))
				given += own_bytes(lowered, lowered->program->inputs.at[k]);
	s->workspace = lowered->workspace_bytes;
	s->inputs = cli_border_bytes(lowered, true) - given;
	s->outputs = cli_border_bytes(lowered, false);
	s->flash = s->sizes.known ? s->sizes.text + s->sizes.data : s->weights;
	s->ram = s->workspace + s->sizes.state + s->sizes.stack + s->sizes.data + s->sizes.bss + s->inputs + s->outputs;
}

/* ---- for people ---- */
static const char *dims_text(struct arena *arena, const struct definition *d)
{
	const char *text = dtypes[d->type].text;
	FOR (v, d->rank)
		text = arena_printf(arena, "%s%s%" PRId64, text, v ? "," : "[", d->extents[v]);
	return d->rank ? arena_printf(arena, "%s]", text) : text;
}

static const char *place_text(struct arena *arena, const struct lowered *lowered, const struct definition *d)
{
	const struct scheduled *at = scheduled(d);
	if (at->mode == MODE_CONSTANT)
		return arena_printf(arena, "weights + %" PRId64, at->offset);
	if (at->offset < 0)
		return d->source == SOURCE_INPUT ? "input" : "output";
	const struct workspace_pool *pool = workspace_pool_at(lowered, at->offset);
	return arena_printf(arena, "%s + %" PRId64, pool->name, at->offset - pool->at);
}

static bool has_place(const struct definition *d)
{
	const struct scheduled *at = scheduled(d);
	return at->first >= 0 && !at->view_of && !at->lies_in
	        && (at->mode == MODE_CONSTANT || at->mode == MODE_DEVICE || at->mode == MODE_HOSTED);
}

static const char *limit_text(struct arena *arena, int64_t limit)
{
	return limit ? arena_printf(arena, " of %" PRId64, limit) : "";
}

static void print_sums(const struct sizing *s)
{
	const struct cli *cli = s->cli;
	struct arena *arena = s->emit.arena;
	printf("%s for %s%s%s\n", s->part.model, target_text(cli->options.target), s->package.cc ? ", by " : "",
	        s->package.cc ? s->package.cc : "");
	printf("flash %10" PRId64 "%s   weights %" PRId64, s->flash, limit_text(arena, cli->image.flash), s->weights);
	if (s->sizes.known)
		printf(", code %" PRId64 "\n", s->sizes.text - s->weights);
	else
		printf("; what the code takes is not known%s\n",
		        s->package.cc ? ": its objects are no ELF" : " without a compiler");
	printf("RAM   %10" PRId64 "%s   workspace %" PRId64 ", state %" PRId64 ", stack %" PRId64 ", inputs %" PRId64
	       ", outputs %" PRId64,
	        s->ram, limit_text(arena, cli->image.ram), s->workspace, s->sizes.state, s->sizes.stack, s->inputs,
	        s->outputs);
	if (s->sizes.data + s->sizes.bss)
		printf(", data %" PRId64 ", bss %" PRId64, s->sizes.data, s->sizes.bss);
	printf("\n");
	for (size_t i = 0; lowered_has_memories(s->part.lowered) && i < cli->options.memories.count; i++)
		printf("pool  %10" PRId64 "%s   %s\n", s->part.lowered->workspace_pools.at[i].bytes,
		        limit_text(arena, cli->options.memories.at[i].bytes), cli->options.memories.at[i].name);
	if (!s->package.cc)
		printf("the stack is that of the arrays which kernels declare, by the plan; what a compiler needs "
		       "besides "
		       "is not in it\n");
	FOR_ALL (i, s->sizes.wanted)
		printf("%s%s%s", i ? " " : "it calls ", s->sizes.wanted.at[i],
		        i + 1 < s->sizes.wanted.count ? "" : ", which are not in it\n");
}

static void print_parts(const struct sizing *s)
{
	const struct lowered *lowered = s->part.lowered;
	struct arena *arena = s->emit.arena;
	printf("\n%-24s %8s %8s %8s %9s   nodes\n", "kernel", "code", "weights", "stack", "workspace");
	FOR_ALL (k, lowered->kernels) {
		const struct kernel *kernel = lowered->kernels.at[k];
		const struct kernel_size *size = &s->sizes.kernels[k];
		const char *code = !s->sizes.known ? "?"
		        : kernel->same             ? arena_printf(arena, "of k%d", kernel->same->number)
		                                   : arena_printf(arena, "%" PRId64, size->code);
		printf("%-24s %8s %8" PRId64 " %8" PRId64 " %9" PRId64 "   %s\n", kernel->name, code,
		        constant_bytes(lowered, kernel), size->stack, live_bytes(lowered, kernel->number),
		        text_clean(arena, emit_kernel_nodes(arena, kernel)));
	}
	printf("\n%10s  %-20s %-14s tensor\n", "bytes", "where", "kernels");
	FOR_EACH (const struct definition *d, lowered->program->all) {
		if (has_place(d))
			printf("%10" PRId64 "  %-20s %-14s %s %s\n", scheduled(d)->bytes, place_text(arena, lowered, d),
			        arena_printf(arena, "%d to %d", scheduled(d)->first, scheduled(d)->last),
			        text_clean(arena, d->name), dims_text(arena, d));
	}
}

/* ---- for programs ---- */
static json_t *parts_json(const struct sizing *s, bool kernels)
{
	const struct lowered *lowered = s->part.lowered;
	json_t *list = json_array();
	for (size_t k = 0; kernels && k < lowered->kernels.count; k++) {
		const struct kernel *kernel = lowered->kernels.at[k];
		json_t *one = json_pack("{s:s,s:I,s:I,s:I,s:s}", "name", kernel->name, "weights",
		        (json_int_t)constant_bytes(lowered, kernel), "stack", (json_int_t)s->sizes.kernels[k].stack,
		        "workspace", (json_int_t)live_bytes(lowered, kernel->number), "nodes",
		        text_clean(s->emit.arena, emit_kernel_nodes(s->emit.arena, kernel)));
		if (s->sizes.known)
			json_object_set_new(one, "code", json_integer(s->sizes.kernels[k].code));
		if (kernel->same)
			json_object_set_new(one, "code_of", json_string(kernel->same->name));
		json_array_append_new(list, one);
	}
	for (size_t i = 0; !kernels && i < lowered->program->all.count; i++) {
		const struct definition *d = lowered->program->all.at[i];
		if (has_place(d))
			json_array_append_new(list,
			        json_pack("{s:s,s:s,s:s,s:I,s:i,s:i}", "name", text_clean(s->emit.arena, d->name),
			                "type", dims_text(s->emit.arena, d), "where",
			                place_text(s->emit.arena, lowered, d), "bytes", (json_int_t)scheduled(d)->bytes,
			                "first", scheduled(d)->first, "last", scheduled(d)->last));
	}
	return list;
}

static json_t *sizes_json(const struct sizing *s, bool fits)
{
	json_t *calls = json_array(), *all;
	FOR_ALL (i, s->sizes.wanted)
		json_array_append_new(calls, json_string(s->sizes.wanted.at[i]));
	all = json_pack("{s:s,s:b,s:b,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "cpu",
	        target_text(s->cli->options.target), "compiled", s->sizes.known, "fits", fits, "flash",
	        (json_int_t)s->flash, "ram", (json_int_t)s->ram, "weights", (json_int_t)s->weights, "workspace",
	        (json_int_t)s->workspace, "state", (json_int_t)s->sizes.state, "stack", (json_int_t)s->sizes.stack,
	        "data", (json_int_t)s->sizes.data, "bss", (json_int_t)s->sizes.bss, "inputs", (json_int_t)s->inputs,
	        "outputs", (json_int_t)s->outputs);
	if (s->sizes.known)
		json_object_set_new(all, "code", json_integer(s->sizes.text - s->weights));
	if (s->cli->image.flash)
		json_object_set_new(all, "flash_limit", json_integer(s->cli->image.flash));
	if (s->cli->image.ram)
		json_object_set_new(all, "ram_limit", json_integer(s->cli->image.ram));
	json_object_set_new(all, "calls", calls);
	if (lowered_has_memories(s->part.lowered))
		json_object_set_new(all, "pools", pools_json(s->part.lowered));
	json_object_set_new(all, "kernels", parts_json(s, true));
	json_object_set_new(all, "tensors", parts_json(s, false));
	return all;
}

/* ---- the command ---- */
static void measure(struct sizing *s)
{
	struct build *build = s->emit.build;
	const char *folder = folder_temporary(build, build->arena);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0)
		package_write(&s->emit, &s->package, folder);
	build->out = out;
	engine_remove_folder(folder);
	if (build->code)
		longjmp(*out, 1);
}

static void tell_limit(const struct sizing *s, const char *what, int64_t bytes, int64_t limit)
{
	if (limit && bytes > limit)
		fprintf(stderr,
		        "ingot size: %s: %" PRId64 " bytes are needed, %" PRId64 " too many for --%s %" PRId64 "\n",
		        s->part.model, bytes, bytes - limit, what, limit);
}

static void size_up(struct sizing *s, struct cli *cli)
{
	struct build *build = cli->build;
	*s = (struct sizing){ .cli = cli,
		.part = *batch_lower(build, &cli->options, cli->arguments, 1),
		.emit = { build, build->arena, cli->options.target, options_templates(build, &cli->options), NULL } };
	s->package = (struct package){ .parts = &s->part,
		.part_count = 1,
		.name = s->part.name,
		.threads = cli->options.threads,
		.options = "",
		.cc = cli->flags.no_compile ? NULL : cc_for_target(build, cli->options.target, cli->cc),
		.cflags = cli->cflags,
		.jobs = 2,
		.states = cli->options.states.at,
		.state_count = cli->options.states.count,
		.weights_bytes = &s->weights,
		.sizes = &s->sizes };
	s->emit.name = s->part.name;
	measure(s);
	if (cli->flags.no_compile)
		plan_sizes(s);
	add_up(s);
}

json_t *cli_size_json(struct cli *cli)
{
	struct sizing s;
	size_up(&s, cli);
	return sizes_json(&s, true);
}

static void run(struct cli *cli)
{
	struct build *build = cli->build;
	struct sizing s;
	if (cli->image.board) {
		cli->image.flash = cli->image.flash ? cli->image.flash : cli->image.board->flash.bytes;
		cli->image.ram = cli->image.ram ? cli->image.ram : cli->image.board->ram.bytes;
	}
	size_up(&s, cli);
	bool fits = (!cli->image.flash || s.flash <= cli->image.flash) && (!cli->image.ram || s.ram <= cli->image.ram);
	if (cli->flags.json)
		cli_print_json(sizes_json(&s, fits), stdout);
	else {
		print_sums(&s);
		print_parts(&s);
	}
	tell_limit(&s, "flash", s.flash, cli->image.flash);
	tell_limit(&s, "ram", s.ram, cli->image.ram);
	build->code = fits ? EXIT_RIGHT : EXIT_LIMIT;
}

const struct command command_size = { "size", "MODEL", "tell what a library takes of flash, RAM and stack",
	"Flash is code and weights, RAM the workspace, the states, the stack, inputs and outputs; by kernel and by "
	"tensor.\n"
	"Exit 6 where that is more than --flash or --ram.  The model is compiled as ingot build does it, and nothing "
	"is left "
	"behind.",
	IN_SIZE, 1, 1, run };
