/* check.c: ingot check: runs a model on a test's inputs and compares with its outputs. */
#include "cli/data.h"
#include <stdio.h>
#include <stdlib.h>

static const void **inputs_of(struct build *build, const struct model *model, const struct data *data)
{
	const struct program *program = model->program;
	const void **inputs = arena_new_array(build->arena, const void *, program->inputs.count + 1);
	if (data->inputs.count != program->inputs.count)
		fail(build, EXIT_DIFFERENT, data->path, "%zu inputs, the model has %zu", data->inputs.count,
		        program->inputs.count);
	FOR_ALL (i, program->inputs) {
		struct array *a = &data->inputs.at[i];
		data_fit(build, EXIT_DIFFERENT, a, model->graph->inputs.at[i]);
		inputs[i] = a->data;
	}
	return inputs;
}

static bool check_set(struct build *build, struct cli *cli, struct engine *engine, const struct model *model,
        const struct data *data, json_t *report)
{
	const struct program *program = model->program;
	const char *const *names = model->output_names;
	const void **inputs = inputs_of(build, model, data);
	void **outputs = arena_new_array(build->arena, void *, program->outputs.count + 1);
	bool right = true, *random = program_random(program);
	FOR_ALL (i, program->outputs)
		outputs[i] = arena_alloc(build->arena,
		        dtype_bytes(program->outputs.at[i]->type, (size_t)definition_elements(program->outputs.at[i]))
		                + 64);
	progress(build, "run", 0, 0, 0);
	if (engine)
		engine_run(engine, inputs, outputs);
	else
		interpret(program, MATH_DOUBLE, inputs, outputs);
	if (data->outputs.count + data_sizes(program) != program->outputs.count)
		fail(build, EXIT_DIFFERENT, data->path, "%zu outputs, the model has %zu", data->outputs.count,
		        program->outputs.count - data_sizes(program));
	FOR_ALL (i, data->outputs) {
		const struct definition made = definition_actual(program, i, outputs);
		const struct shown shown = definition_shown(&made);
		bool drawn = random[program->outputs.at[i]->number];
		struct comparison c = (drawn ? data_compare_drawn : data_compare)(
		        build, &data->outputs.at[i], &made, outputs[i], data->backend);
		if (!cli->flags.json)
			printf("%s %s: %s%s (largest difference %.3g%s)\n", c.right ? "ok" : "DIFFERENT", names[i],
			        c.right ? drawn ? "random: type, shape, range and mean" : "within tolerance" : c.why,
			        c.nonfinite ? ", non-finite values compared" : "", c.worst,
			        c.worst > 0 ? arena_printf(build->arena, " of %.3g allowed", c.allowed) : "");
		uint64_t hash = data_hash(build, shown.type, outputs[i], shown_elements(&shown));
		json_array_append_new(report,
		        json_pack("{s:s,s:b,s:f,s:f,s:s,s:s,s:s}", "output", names[i], "right", c.right, "worst",
		                c.worst, "allowed", c.allowed, "why", c.why, "data", data->path, "bits",
		                arena_printf(build->arena, "%016llx", (unsigned long long)hash)));
		right &= c.right;
	}
	return right;
}

static struct model *compiled(struct cli *cli, bool hold, void *user)
{
	struct build *build = cli->build;
	struct model *model = model_read(build, &cli->options); /* first: what is no tensor is not read as one */
	data_says(model->graph);
	struct data_sets *sets = data_read(build, cli->arguments[1], model->graph);
	FOR_ALL (i, sets->all)
		data_bind(model->graph, &sets->all.at[i], i == 0);
	data_say(model->graph, &sets->all.at[0]);
	if (hold)
		data_hold(model->graph, sets);
	model_prepare(model);
	FOR_ALL (i, sets->all)
		data_expect(model->graph, &sets->all.at[i]);
	model_define(model);
	*(struct data_sets **)user = sets;
	return model;
}

/* --math and --store-weights round factors: what that does to each layer, of the first inputs. */
enum { LAYERS_SHOWN = 10 };
static json_t *compare_layers(struct cli *cli, struct model *rounded)
{
	struct build *build = cli->build;
	struct data_sets *sets;
	const struct numerics numerics = cli->options.numerics;
	const char *by = numerics.factors == FACTORS_FLOAT32 ? "--store-weights" : "--math",
	           *word = numerics.factors == FACTORS_FLOAT32 ? weights_words[numerics.weights] : cli->math;
	cli->options.numerics = numerics_strict(numerics);
	struct model *strict = data_compile(cli, compiled, &sets);
	cli->options.numerics = numerics;
	json_t *layers =
	        layers_compare(build, rounded->program, strict->program, inputs_of(build, strict, &sets->all.at[0]));
	size_t count = json_array_size(layers);
	for (size_t i = 0; i < count && i < LAYERS_SHOWN && !cli->flags.json; i++) {
		const json_t *layer = json_array_get(layers, i), *error = json_object_get(layer, "error");
		const char *name = json_string_value(json_object_get(layer, "layer"));
		if (json_is_real(error))
			printf("%s: %s %s moves it by %.2g of its largest value\n", name, by, word,
			        json_real_value(error));
		else
			printf("%s: %s %s makes values that are not finite\n", name, by, word);
	}
	if (count > LAYERS_SHOWN && !cli->flags.json)
		printf("and %zu other layers, by less; --json has all\n", count - LAYERS_SHOWN);
	return layers;
}

static void run(struct cli *cli)
{
	struct build *build = cli->build;
	const struct engine_kind *kind = cli_engine(cli);
	bool as_double = cli_as_double(cli, kind);
	struct data_sets *sets;
	struct model *model = data_compile(cli, compiled, &sets);
	if (!cli->flags.json)
		data_held_print(model->graph);
	cli_weigh_denormals(model);
	struct engine *volatile engine = NULL;
	volatile bool right = true;
	json_t *report = json_array(), *volatile layers = NULL;
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		if (!as_double)
			engine = engine_open(model, kind);
		FOR_ALL (i, sets->all)
			right &= check_set(build, cli, engine, model, &sets->all.at[i], report);
		if (numerics_round(&cli->options.numerics))
			layers = compare_layers(cli, model);
	}
	build->out = out;
	engine_close(engine);
	if (cli->flags.json && !build->code) {
		json_t *kernels = json_array();
		for (size_t k = 0; model->lowered && k < model->lowered->kernels.count; k++)
			json_array_append_new(kernels, json_string(model->lowered->kernels.at[k]->name));
		json_t *whole = json_pack("{s:b,s:s,s:O,s:o}", "right", right, "target", kind->name, "outputs", report,
		        "kernels", kernels);
		if (layers)
			json_object_set(whole, "layers", layers);
		if (model->graph->fixed.count)
			json_object_set_new(whole, "values", data_held_json(model->graph));
		cli_print_json(whole, stdout);
	}
	json_decref(report);
	json_decref(layers);
	if (build->code)
		longjmp(*out, 1);
	build->code = right ? EXIT_RIGHT : EXIT_DIFFERENT;
}

const struct command command_check = { "check", "MODEL DATA_DIR", "run a model and compare with reference outputs",
	"--target interpreter, c (default), jit, cuda or cuda-emulated: just that one, no other in its stead.\n"
	"DATA_DIR holds io.json with in_I.npy and out_I.npy, or ONNX's test_data_set_N; or it is an .npz file with "
	"inputs and outputs by their names.\n"
	"A sequence is a folder of 0.npy, 1.npy, ..., and an optional without a value null, in io.json.",
	IN_CHECK, 2, 2, run };
