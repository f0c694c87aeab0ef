/* report.c: ingot report: a model and what it becomes -> one page of HTML, by templates/report.
 *
 * What the page says is JSON first, which --json prints: report_facts.c the graph, kernels, memory and weights;
 * report_times.c times beside limits; the rest here. */
#include "cli/report.h"
#include "cli/data.h"
#include "cli/json_value.h"
#include "ops/ops.h"

/* ---- sizes on microcontrollers ---- */
enum { FLASH_MOST = 64 << 20 }; /* constants of more bytes are no microcontroller's */

/* What a library for that CPU takes, as build makes it there, but for its code. */
static json_t *planned_json(const struct cli *cli, const struct target *target)
{
	struct build *build = cli->build;
	struct options options = cli->options;
	bool small = !strcmp(target->name, "cortex-m4");
	options.target = small || options.optimise == OPTIMISE_SIZE ? target_small(build->arena, target) : target;
	options.optimise = small ? OPTIMISE_SIZE : options.optimise;
	if (small && !cli->options.numerics.algorithms_given)
		options.numerics.algorithms = ALGORITHMS_DIRECT;
	options.strict.at = NULL;
	options.strict.count = 0;
	struct model *model = model_read(build, &options);
	model_prepare(model);
	model_define(model);
	model_lower(model);
	const struct lowered *lowered = model->lowered;
	int64_t ends = cli_border_bytes(lowered, true) + cli_border_bytes(lowered, false);
	return json_pack("{s:s,s:I,s:I,s:I,s:I,s:I}", "cpu", target->name, "weights_bytes",
	        (json_int_t)lowered->weights_bytes, "workspace_bytes", (json_int_t)lowered->workspace_bytes,
	        "ends_bytes", (json_int_t)ends, "ram_bytes", (json_int_t)(lowered->workspace_bytes + ends), "kernels",
	        (json_int_t)lowered->kernels.count);
}

/* The same once it is compiled: code, stack, and both by kernel. */
static json_t *compiled_json(const struct cli *cli)
{
	struct cli asked = *cli;
	asked.arguments[0] = cli->options.model;
	json_t *made = cli_size_json(&asked), *row = json_object();
	static const char *const kept[][2] = { { "cpu", "cpu" }, { "weights_bytes", "weights" },
		{ "workspace_bytes", "workspace" }, { "code_bytes", "code" }, { "stack_bytes", "stack" },
		{ "flash_bytes", "flash" }, { "ram_bytes", "ram" }, { "parts", "kernels" } };
	FOR (i, COUNT(kept))
		if (json_object_get(made, kept[i][1]))
			json_object_set(row, kept[i][0], json_object_get(made, kept[i][1]));
	json_object_set_new(
	        row, "kernels", json_integer((json_int_t)json_array_size(json_object_get(made, "kernels"))));
	json_object_set_new(row, "ends_bytes",
	        json_integer(json_integer_value(json_object_get(made, "inputs"))
	                + json_integer_value(json_object_get(made, "outputs"))));
	json_decref(made);
	return row;
}

/* Of a model that can be built here and not there, or not compiled: why. */
static json_t *size_or_why(const struct cli *cli, const struct target *target, bool compiled)
{
	struct build *build = cli->build;
	jmp_buf *out = build->out, mine;
	json_t *volatile size = NULL;
	build->out = &mine;
	if (setjmp(mine) == 0)
		size = compiled ? compiled_json(cli) : planned_json(cli, target);
	build->out = out;
	const char *why = size ? NULL : arena_printf(build->arena, "%s", build->message);
	build->code = EXIT_RIGHT;
	*build->message = *build->detail = 0;
	if (why && compiled) {
		size = size_or_why(cli, target, false);
		json_object_set_new(size, "why", json_string(why));
	} else if (why)
		size = json_pack("{s:s,s:s}", "cpu", target->name, "refused", why);
	return size;
}

/* One for each microcontroller; that which --cpu names is compiled. */
static json_t *sizes_json(const struct cli *cli, const struct lowered *lowered)
{
	json_t *list = json_array();
	bool asked = cli->options.target->freestanding;
	for (int t = 0; target_at(t) && (asked || lowered->constants_bytes <= FLASH_MOST); t++) {
		bool this_one = asked && !strcmp(target_at(t)->name, cli->options.target->name);
		if (target_at(t)->freestanding && (!asked || this_one || !strncmp(target_at(t)->name, "cortex-", 7)))
			json_array_append_new(list, size_or_why(cli, target_at(t), this_one && !cli->flags.no_run));
	}
	return list;
}

/* ---- how far each layer comes to lie from the strict one ---- */
static bool rounds(const struct model *model) { return numerics_round(&model->options->numerics); }

static bool is_quantised(const struct program *program)
{
	FOR_ALL (i, program->all)
		if (program->all.at[i]->sum.products && dtypes[program->all.at[i]->type].class != CLASS_FLOAT)
			return true;
	return false;
}

/* By the interpreter, on drawn inputs.  NULL: numbers are the strict ones. */
static json_t *layers_json(const struct cli *cli, struct model *model)
{
	struct options options = cli->options;
	bool quantised = is_quantised(model->program);
	if (cli->flags.no_run || !(rounds(model) || quantised))
		return NULL;
	options.numerics = numerics_strict(options.numerics);
	options.numerics.quantised = QUANTISED_LITERAL;
	options.strict.at = NULL;
	options.strict.count = 0;
	struct model *strict = model_read(cli->build, &options);
	model_prepare(strict);
	model_define(strict);
	const void **inputs = arena_new_array(cli->build->arena, const void *, strict->program->inputs.count + 1);
	void **outputs = arena_new_array(cli->build->arena, void *, strict->program->outputs.count + 1);
	bench_buffers(cli->build, strict->program, inputs, outputs);
	return layers_compare(cli->build, model->program, strict->program, inputs);
}

/* ---- the page ---- */
static json_t *report_json(const struct cli *cli, struct model *model, json_t *bench, const char *stem)
{
	const struct options *options = model->options;
	const char *slash = strrchr(options->model, '/');
	json_t *all = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:b,s:i}", "schema", 1, "version", INGOT_VERSION, "model",
	        slash ? slash + 1 : options->model, "name", stem, "cpu", target_text(options->target), "numbers",
	        model->numbers, "measured", bench != NULL, "threads", options->threads);
	report_facts(all, model);
	report_times(all, model, bench);
	json_object_set_new(all, "sizes", sizes_json(cli, model->lowered));
	json_t *layers = layers_json(cli, model);
	if (layers)
		json_object_set_new(all, "layers", layers);
	return all;
}

static void print_page(struct cli *cli, const json_t *all, const char *path)
{
	struct build *build = cli->build;
	struct text page;
	jmp_buf *out = build->out, mine;
	text_init(&page, build);
	struct text *const asked = &page;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		template_render(
		        options_templates(build, &cli->options), "report/page.jinja", data_of(build, all), asked);
		cli_write(build, path, asked);
	}
	build->out = out;
	text_release(asked);
	if (build->code)
		longjmp(*out, 1);
}

static void run(struct cli *cli)
{
	struct build *build = cli->build;
	struct cli quiet = *cli;
	quiet.flags.json = true;                                       /* no table */
	bool away = cli->options.target->freestanding && !cli->target; /* its code is compiled, for its size, not run */
	const struct engine_kind *kind = cli->flags.no_run || away ? NULL : cli_engine(cli);
	if (kind && !kind->profile)
		fail(build, EXIT_USAGE, NULL,
		        "--target %s: its kernels are not timed apart; c and jit are right, or --no-run", kind->name);
	json_t *other = cli->timing.compare ? compare_read(build, cli->timing.compare) : NULL;
	cli->options.profile = kind != NULL;
	struct model *model = model_read(build, &cli->options);
	model_prepare(model);
	model_define(model);
	json_t *bench = kind ? bench_model(&quiet, model, kind) : NULL;
	if (!model->lowered)
		model_lower(model);
	json_t *all = report_json(cli, model, bench, model->name);
	if (other)
		json_object_set_new(all, "compared", compare(all, other));
	json_decref(other);
	json_decref(bench);
	if (cli->output || !cli->flags.json)
		print_page(
		        cli, all, cli->output ? cli->output : arena_printf(build->arena, "out/%s.html", model->name));
	if (cli->flags.json && !(cli->output && !strcmp(cli->output, "-")))
		cli_print_json(json_incref(all), stdout);
	else if (!cli->output)
		printf("out/%s.html\n", model->name);
	json_decref(all);
}

const struct command command_report = { "report", "MODEL", "a page about a model and what it becomes",
	"One file of HTML, which asks for no other: the graph and its kernels, memory over the schedule, each kernel "
	"beside the limits of the processor, time, weights, operators, numbers, sizes on microcontrollers.\n"
	"--target c (default) or jit: what is timed, as bench does.  With --no-run nothing is compiled, and times are "
	"reckoned from facts of the processor.  For a microcontroller's --cpu the library is compiled and not run: "
	"flash, RAM "
	"and stack, by kernel.\n"
	"Where --math or quantisation rounds, each layer's distance from the strict interpreter's is measured, on "
	"drawn "
	"inputs, but with --no-run.\n"
	"--json prints what the page says; --compare FILE takes that of another build.",
	IN_REPORT, 1, 1, run };
