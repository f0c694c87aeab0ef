/* build.c: ingot build: a model becomes a folder with a static library. */
#include "cli/cli.h"
#include "emit/emit.h"
#include "backends/backends.h"
#include "ingot/plan.h"
#include "tables/board.h"
#include <inttypes.h>
#include <stdio.h>

/* The CPU that was asked for, in scalar loops that tell of each assignment.  Its bits are the same. */
static const struct target *logging_target(struct build *build, const struct cli *cli)
{
	struct target *target = arena_new(build->arena, struct target);
	if (strcmp(cli->options.target->family, "c") || cli->options.target->freestanding)
		fail(build, EXIT_USAGE, NULL, "--log: needs a CPU with files, and %s has none",
		        cli->options.target->name);
	if (cli->options.threads > 1 || (cli->schedule && !strcmp(cli->schedule, "steps")))
		fail(build, EXIT_USAGE, NULL,
		        "--log goes without --threads and --schedule steps: assignments are told in their order");
	*target = *cli->options.target;
	target->options.log = true;
	target->lanes = 1;
	target->prelude = "c/prelude_scalar.jinja";
	return target;
}

static const char *cpus_text(struct build *build, const struct cli *cli)
{
	const char *text = target_text(cli->options.target);
	for (size_t i = 1; i < cli->cpus.count; i++)
		text = arena_printf(build->arena, "%s,%s", text, target_text(cli->cpus.at[i]));
	return text;
}

static const char *words_of(struct build *build, const struct cli *cli, bool cuda)
{
	const char *optimise = cli->options.optimise == OPTIMISE_SIZE ? "size" : "speed";
	const char *numbers = "", *name, *word;
	bool is_default;
	for (int i = 0; (name = numerics_at(&cli->options.numerics, i, &word, &is_default)); i++)
		if (!is_default || !strcmp(name, "algorithms"))
			numbers = arena_printf(build->arena, "%s --%s %s", numbers, name, word);
	if (cuda)
		return arena_printf(build->arena, "--target cuda --optimise %s%s", optimise, numbers);
	return arena_printf(build->arena, "--cpu %s --threads %d --optimise %s%s%s%s", cpus_text(build, cli),
	        cli->options.threads, optimise, numbers, cli->flags.log ? " --log" : "",
	        cli->cflags ? arena_printf(build->arena, " --cflags \"%s\"", cli->cflags) : "");
}

/* What the blob holds for each CPU; what has the same bytes is there once. */
static void report_cpus(const struct package *package)
{
	for (int p = 0; package->cpus && p < package->part_count; p++)
		printf("    %s: %zu kernels, weights %" PRId64 " bytes\n", target_text(package->parts[p].target),
		        package->parts[p].lowered->kernels.count, package->parts[p].lowered->weights_bytes);
}

/* Which ways of making a library go together. */
static void check_library(const struct cli *cli, bool cuda, bool managed)
{
	struct build *build = cli->build;
	if (cuda && (cli->flags.shared || cli->cflags))
		fail(build, EXIT_USAGE, NULL, "--target cuda goes without --shared and --cflags");
	if (cuda && !managed && cli->options.states.count)
		fail(build, EXIT_USAGE, NULL, "--target cuda: --state is for --profile managed");
	if (cli->weights && managed && !strcmp(cli->weights, "beside"))
		fail(build, EXIT_USAGE, NULL, "--profile managed: the weights are always linked in");
	if (!cuda && cli->cuda.nvrtc)
		fail(build, EXIT_USAGE, NULL, "--nvrtc is for --target cuda");
	if (cli->flags.no_compile && cli->cuda.nvrtc)
		fail(build, EXIT_USAGE, NULL, "--nvrtc goes without --no-compile: nothing is compiled");
	if (cli->flags.no_compile && cli->flags.shared)
		fail(build, EXIT_USAGE, NULL, "--no-compile goes without --shared: nothing is linked");
	if (cli->flags.shared && cli->options.target->freestanding)
		fail(build, EXIT_USAGE, NULL, "--shared: %s has no shared libraries", cli->options.target->name);
	if (cli->cpus.count > 1 && (managed || cli->flags.log || cli->options.dump || cli->argument_count > 1))
		fail(build, EXIT_USAGE, NULL,
		        "--cpu with several CPUs goes with one model, without --profile managed, --log and --dump");
	if (cli->options.io && !strcmp(cli->options.io, "workspace")
	        && (managed || cuda || cli->cpus.count > 1 || cli->options.states.count))
		fail(build, EXIT_USAGE, NULL,
		        "--io workspace goes with one CPU, without --profile managed, --target cuda and --state");
	if (cli->cpus.count > 1 && cli->options.after.count)
		fail(build, EXIT_USAGE, NULL, "--cpu with several CPUs goes without --after");
}

static enum weights_home weights_of(const struct cli *cli, bool managed)
{
	return managed || (cli->weights && strcmp(cli->weights, "beside") != 0) ? WEIGHTS_LINKED
	        : cli->weights                                                  ? WEIGHTS_BESIDE
	                                                                        : WEIGHTS_FIT;
}

static bool needs_no_libc(const struct cli *cli) { return cli->image.libc && !strcmp(cli->image.libc, "none"); }

/* What it needs to call nothing of the C library's, where no operator does. */
static const char *cflags_of(const struct cli *cli)
{
	return !needs_no_libc(cli)
	        ? cli->cflags
	        : arena_printf(cli->build->arena, "-ffreestanding -fno-tree-loop-distribute-patterns%s%s",
	                cli->cflags ? " " : "", cli->cflags ? cli->cflags : "");
}

static void set_section(struct cli *cli, const struct bound_file *section)
{
	memories *memories = &cli->options.memories;
	const char **at = strcmp(section->name, "weights") ? NULL : &cli->weights_section;
	FOR (i, memories->count)
		if (!strcmp(section->name, memories->at[i].name))
			at = &memories->at[i].section;
	if (!at)
		fail(cli->build, EXIT_USAGE, NULL, "--section %s: should be weights, or a pool of --pool",
		        section->name);
	*at = section->path;
}

/* What is for programs alone that call a library of one CPU. */
static void check_bare(struct cli *cli, bool cuda, bool managed)
{
	struct build *build = cli->build;
	bool no_libc = needs_no_libc(cli);
	if (cli->flags.stepwise
	        && (cuda || managed || cli->cpus.count > 1 || cli->flags.log || cli->options.threads > 1))
		fail(build, EXIT_USAGE, NULL,
		        "--stepwise goes with one CPU and one thread, without --profile managed and --log");
	if (cli->flags.stepwise && strchr(cli->options.target->needs, ' '))
		fail(build, EXIT_USAGE, NULL,
		        "--stepwise: each call asks for the instructions of %s; --cpu generic asks nobody",
		        cli->options.target->name);
	if (no_libc && (cuda || managed || cli->flags.log))
		fail(build, EXIT_USAGE, NULL, "--libc none goes without --target cuda, --profile managed and --log");
	FOR_ALL (i, cli->sections)
		set_section(cli, &cli->sections.at[i]);
	if (cli->options.memories.count && (cuda || managed))
		fail(build, EXIT_USAGE, NULL, "--pool goes without --target cuda and --profile managed");
	if (cli->weights_section && (cuda || (cli->weights && !strcmp(cli->weights, "beside"))))
		fail(build, EXIT_USAGE, NULL, "--section weights: they are not linked in");
}

/* --package and --board, before anything is compiled. */
static void check_project(const struct cli *cli, bool cuda, bool managed)
{
	struct build *build = cli->build;
	if ((cli->image.project || cli->image.board) && (cuda || managed || !cli->options.target->freestanding))
		fail(build, EXIT_USAGE, NULL,
		        "--%s is for libraries of microcontrollers: name one by --cpu, as cortex-m4, or by --board",
		        cli->image.project ? "package" : "board");
	if (!cli->image.project)
		return;
	if (cli->argument_count > 1 || cli->options.cuts.count || (cli->weights && !strcmp(cli->weights, "beside")))
		fail(build, EXIT_USAGE, NULL, "--package goes with one model, without --cut and --weights beside");
	if (cli->image.board || !project_needs_board(cli->image.project))
		return;
	const char *boards = "";
	for (int i = 0; board_at(i); i++)
		if (!strcmp(board_at(i)->cpu, cli->options.target->name))
			boards = arena_printf(build->arena, "%s%s%s", boards, *boards ? ", " : "", board_at(i)->name);
	fail(build, EXIT_USAGE, NULL, "--package %s needs --board, of %s: %s", cli->image.project,
	        cli->options.target->name, boards);
}

/* What is known before a compiler: code and stack come on top. */
static void check_memories(const struct cli *cli, const struct part *part)
{
	const struct lowered *lowered = part->lowered;
	int64_t ram = lowered->workspace_bytes + cli_border_bytes(lowered, true) + cli_border_bytes(lowered, false);
	const struct board *board = cli->image.board;
	for (size_t i = 0; board && lowered_has_memories(lowered) && i < lowered->workspace_pools.count; i++) {
		const struct workspace_pool *pool = &lowered->workspace_pools.at[i];
		const struct board_memory *memory = board_memory_find(board, pool->name);
		if (memory && pool->bytes > memory->bytes)
			fail(cli->build, EXIT_LIMIT, part->model,
			        "the pool %s takes %" PRId64 " bytes; that memory of %s has %" PRId64, pool->name,
			        pool->bytes, board->name, memory->bytes);
		ram -= memory ? pool->bytes : 0;
	}
	if (board && lowered->weights_bytes > board->flash.bytes)
		fail(cli->build, EXIT_LIMIT, part->model, "weights of %" PRId64 " bytes; the flash of %s has %" PRId64,
		        lowered->weights_bytes, board->name, board->flash.bytes);
	if (board && ram > board->ram.bytes)
		fail(cli->build, EXIT_LIMIT, part->model,
		        "workspace, inputs and outputs take %" PRId64 " bytes; the RAM of %s has %" PRId64, ram,
		        board->name, board->ram.bytes);
}

/* In the bare profile pointers of the caller say what is one of inputs and outputs. */
static bool is_told(const struct package *package, const struct shared_tensor *shared)
{
	return package->managed || shared->how == SHARED_LENT || shared->how == SHARED_CONSTANT;
}

static void report_sharing(const struct package *package)
{
	static const char *const words[] = { [SHARED_RESULT] = "an output of",
		[SHARED_LENT] = "computed by",
		[SHARED_INPUT] = "an input of",
		[SHARED_CONSTANT] = "a constant of" };
	FOR (p, package->part_count) {
		const struct part *part = package->parts + p;
		FOR (i, part->shared_count)
			if (is_told(package, part->shared + i))
				printf("    %s: %s is %s %s\n", part->routine, part->shared[i].name,
				        words[part->shared[i].how], part->shared[i].of);
		for (size_t i = 0; package->managed && i < part->apart_count; i++)
			printf("    %s: %s is the node %s\n", part->routine, part->apart[i].was, part->apart[i].name);
	}
}

static json_t *sharing_json(const struct package *package)
{
	json_t *list = json_array();
	FOR (p, package->part_count)
		FOR (i, package->parts[p].shared_count)
			if (is_told(package, package->parts[p].shared + i))
				json_array_append_new(list,
				        json_pack("{s:s,s:s,s:s}", "graph", package->parts[p].routine, "name",
				                package->parts[p].shared[i].name, "of",
				                package->parts[p].shared[i].of));
	return list;
}

static void report(const struct cli *cli, const struct package *package, const char *directory, json_t *list)
{
	int64_t kernels = 0, workspace = 0, live = 0, weights = 0;
	FOR (p, package->part_count) {
		const struct lowered *lowered = package->parts[p].lowered;
		kernels += (int64_t)lowered->kernels.count;
		workspace = lowered->workspace_bytes > workspace ? lowered->workspace_bytes : workspace;
		live = lowered->workspace_bound > live ? lowered->workspace_bound : live;
		weights += lowered->weights_bytes;
	}
	weights = package->weights_bytes ? *package->weights_bytes : weights;
	if (cli->flags.json) {
		json_t *out = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I}", "directory", directory, "name", package->name,
		        "kernels", (json_int_t)kernels, "workspace_bytes", (json_int_t)workspace, "largest_live_set",
		        (json_int_t)live, "weights_bytes", (json_int_t)weights);
		if (package->part_count > 1 && !package->cpus)
			json_object_set_new(out, "shared", sharing_json(package));
		json_array_append_new(list, out);
	} else
		printf("%s: %" PRId64 " kernels, workspace %" PRId64 " bytes, weights %" PRId64 " bytes, for %s\n",
		        directory, kernels, workspace, weights, cpus_text(cli->build, cli));
	if (cli->flags.json)
		return;
	report_cpus(package);
	if (cli->options.threads > 1 && cli->options.target->freestanding)
		printf("    --threads %d: %s brings no threads and no pool lies beside; kernels are shared over the "
		       "context's parallel-for, which is the program's\n",
		        cli->options.threads, cli->options.target->name);
	report_sharing(package);
}

/* A library, and its images. */
struct making {
	struct emit emit;
	struct package package;
	const char *directory;
	int64_t weights_bytes;
	struct nvrtc *nvrtc;
	struct image *images;
	int judged; /* so many images are made to judge the kernels of a model; where it is the only one, that is all */
};

/* The kernels of the model, compiled. */
static bool make_images(struct model *model, void *user)
{
	struct making *making = user;
	struct part part = model_part(model);
	struct package package = making->package;
	package.parts = &part;
	package.part_count = 1;
	package.name = making->emit.name = part.name;
	return package_images(&making->emit, &package, making->nvrtc, making->images, making->judged, &model->refused);
}

/* What images are made for: of the lowest architecture also PTX, which has no "a", and so nothing of warpgroups. */
static void add_images(struct cli *cli, struct making *making)
{
	static const char *const usual[] = { "sm_80", "sm_90", "sm_100" };
	struct build *build = cli->build;
	struct package *package = &making->package;
	const char *const *archs = cli->cuda.archs.count ? cli->cuda.archs.at : usual;
	int count = cli->cuda.archs.count ? (int)cli->cuda.archs.count : (int)COUNT(usual);
	making->images = arena_new_array(build->arena, struct image, (size_t)count + 1);
	FOR (i, count)
		making->images[i].arch = archs[i];
	making->images[count] =
	        (struct image){ .arch = arena_copy(build->arena, archs[0], 3 + strspn(archs[0] + 3, "0123456789")),
		        .ptx = true };
	package->images = making->images;
	package->image_count = count + !cli->options.target->gpu->group_dot8s;
	making->judged = cli->argument_count > 1 ? count : package->image_count;
	if (cli->flags.no_compile)
		return;
	making->nvrtc = nvrtc_find(build, cli->cuda.nvrtc);
	if (!making->nvrtc && cli->cuda.nvrtc)
		fail(build, EXIT_ENVIRONMENT, cli->cuda.nvrtc, "is no NVRTC that can be opened");
	if (!making->nvrtc)
		fail(build, EXIT_ENVIRONMENT, NULL,
		        NVRTC_LACKS ", or name it by --nvrtc FILE; --no-compile writes sources alone");
	FOR (i, count)
		nvrtc_check(build, making->nvrtc, archs[i]);
	cli->options.judge = make_images;
	cli->options.judge_user = making;
}

/* ---- --cut: a library for each part, and what lies between them ---- */

static json_t *names_json(struct arena *arena, const struct tensor *const *tensors, size_t count)
{
	json_t *list = json_array();
	FOR (i, count)
		json_array_append_new(list, json_string(text_clean(arena, tensors[i]->name)));
	return list;
}

static json_t *readers_json(const struct making *makings, int count, const char *name)
{
	json_t *list = json_array();
	FOR (p, count) {
		const struct graph *graph = makings[p].package.parts->graph;
		FOR_ALL (i, graph->inputs)
			if (graph->inputs.at[i]->name == name)
				json_array_append_new(list, json_integer(p));
	}
	return list;
}

static json_t *border_json(const struct making *makings, int count, int from, const struct tensor *tensor)
{
	json_t *dims = json_array();
	FOR (d, tensor->rank)
		json_array_append_new(dims, json_integer(tensor->dims[d].extent));
	return json_pack("{s:o,s:s,s:o,s:i,s:o}", "name",
	        json_string(text_clean(tensor->graph->build->arena, tensor->name)), "type", dtypes[tensor->type].text,
	        "dims", dims, "from", from, "to", readers_json(makings, count, tensor->name));
}

static void write_parts(
        struct build *build, const struct making *makings, int count, const char *name, const char *directory)
{
	json_t *parts = json_array(), *tensors = json_array();
	FOR (p, count) {
		const struct graph *graph = makings[p].package.parts->graph;
		json_array_append_new(parts,
		        json_pack("{s:s,s:o,s:o}", "name", makings[p].package.name, "inputs",
		                names_json(build->arena, (const struct tensor *const *)graph->inputs.at,
		                        graph->inputs.count),
		                "outputs",
		                names_json(build->arena, (const struct tensor *const *)graph->outputs.at,
		                        graph->outputs.count)));
		FOR_ALL (i, graph->outputs) {
			json_t *border = border_json(makings, count, p, graph->outputs.at[i]);
			if (json_array_size(json_object_get(border, "to")))
				json_array_append(tensors, border);
			json_decref(border);
		}
	}
	json_t *manifest = json_pack("{s:o,s:o}", "parts", parts, "tensors", tensors);
	char *text = json_dumps(manifest, JSON_INDENT(2));
	const char *lines = arena_printf(build->arena, "%s\n", text);
	struct file_set *files = file_set_new(build, directory);
	file_set_add(files, arena_printf(build->arena, "%s_parts.json", name), lines, strlen(lines));
	file_set_commit(files);
	free(text);
	json_decref(manifest);
}

static void check_cut(const struct cli *cli)
{
	if (cli->argument_count > 1 || cli->cpus.count > 1 || cli->options.shares.count || cli->options.after.count
	        || cli->options.states.count || cli->merges.count)
		fail(cli->build, EXIT_USAGE, NULL,
		        "--cut goes with one model and one CPU, without --share, --after, --state and --merge");
}

/* ---- all of it ---- */

static void check_run(struct cli *cli, bool cuda, bool managed)
{
	struct build *build = cli->build;
	if (cli->flags.large && cli->options.pool_cap)
		fail(build, EXIT_USAGE, NULL, "--large-models goes without --pool-cap");
	if (!cli->flags.large && !cli->options.pool_cap)
		cli->options.pool_cap = (int64_t)INGOT_PLAN_CAP_32;
	cli->options.keeps_apart = managed; /* the runtime gives each node a place */
	if (cuda && cli->schedule && strcmp(cli->schedule, "steps"))
		fail(build, EXIT_USAGE, NULL,
		        "--target cuda: routines are schedules of kernels (--schedule steps, the default there)");
	if (!managed && (cli->schedule || cli->flags.no_hosted || cli->merges.count))
		fail(build, EXIT_USAGE, NULL, "--schedule, --no-hosted and --merge are for --profile managed");
	check_library(cli, cuda, managed);
	check_bare(cli, cuda, managed);
	check_project(cli, cuda, managed);
	if (cli->options.cuts.count)
		check_cut(cli);
}

/* The graphs of a library, as kernels. */
static void lower_all(struct cli *cli, struct making *making, bool cuda)
{
	struct build *build = cli->build;
	struct package *package = &making->package;
	bool cpus = cli->cpus.count > 1, managed = cli->profile && !strcmp(cli->profile, "managed");
	cli->options.managed = managed;
	making->emit = (struct emit){ .build = build,
		.arena = build->arena,
		.target = cli->options.target,
		.templates = options_templates(build, &cli->options),
		.no_libc = needs_no_libc(cli) };
	*package = (struct package){
		.cpus = cpus,
		.threads = cli->options.threads,
		.options = words_of(build, cli, cuda),
		.managed = managed,
		.cflags = cflags_of(cli),
		.stepwise = cli->flags.stepwise,
		.weights_c = cli->weights ? !strcmp(cli->weights, "c") : cli->options.target->freestanding && !managed,
		.project = cli->image.project,
		.board = cli->image.board,
		.weights_section = cli->weights_section,
		.exported = cli->flags.shared,
		.no_hosted = cli->flags.no_hosted,
		.weights = weights_of(cli, managed),
		.steps = cuda || (cli->schedule && !strcmp(cli->schedule, "steps")),
		.merges = cli->merges.at,
		.merge_count = cli->merges.count,
		.states = cli->options.states.at,
		.state_count = cli->options.states.count,
		.jobs = 2,
		.weights_bytes = &making->weights_bytes,
	};
	if (cuda)
		add_images(cli, making);
	package->part_count = cpus ? (int)cli->cpus.count : cli->argument_count;
	package->parts = cpus ? cpus_lower(build, &cli->options, cli->arguments[0], cli->cpus.at, package->part_count)
	                      : batch_lower(build, &cli->options, cli->arguments, cli->argument_count);
	if (cli->image.board)
		check_memories(cli, package->parts);
	package->name = making->emit.name = cli->argument_count > 1 ? cli->options.name
	        : cpus                                              ? package->parts->routine
	                                                            : package->parts->name;
}

static void run(struct cli *cli)
{
	struct build *build = cli->build;
	bool cuda = cli_takes_cuda(cli), managed = cli->profile && !strcmp(cli->profile, "managed");
	check_run(cli, cuda, managed);
	if (cli->flags.log)
		cli->options.target = logging_target(build, cli);
	int count = (int)cli->options.cuts.count + 1;
	struct making *makings = arena_new_array(build->arena, struct making, (size_t)count);
	FOR (m, count) {
		cli->options.part = m;
		lower_all(cli, &makings[m], cuda);
	}
	const char *name = makings->package.name;
	if (count > 1)
		name = arena_copy(build->arena, name, strlen(name) - strlen("_0"));
	const char *directory = cli->output ? cli->output : arena_printf(build->arena, "out/%s", name);
	struct package_order *orders = arena_new_array(build->arena, struct package_order, (size_t)count);
	FOR (m, count) {
		struct making *making = &makings[m];
		making->directory =
		        count == 1 ? directory : arena_printf(build->arena, "%s/%s", directory, making->package.name);
		if (cuda && !cli->flags.no_compile
		        && making->package.part_count > 1) /* judged one by one, made for all */
			package_images(&making->emit, &making->package, making->nvrtc, making->images,
			        making->package.image_count, NULL);
		if (!cli->flags.no_compile)
			making->package.cc = cc_for_target(build, cli->options.target, cli->cc);
		orders[m] = (struct package_order){ &making->emit, &making->package, making->directory };
	}
	packages_write(orders, count);
	if (count > 1)
		write_parts(build, makings, count, name, directory);
	json_t *list = json_array();
	FOR (m, count)
		report(cli, &makings[m].package, makings[m].directory, list);
	if (cli->flags.json)
		cli_print_json(count == 1 ? json_incref(json_array_get(list, 0))
		                          : json_pack("{s:s,s:O}", "directory", directory, "parts", list),
		        stdout);
	json_decref(list);
}

const struct command command_build = { "build", "[NAME=]MODEL...", "compile a model into a static library",
	"--target c (default) writes C; the library is for x86-64-v3 unless --cpu says otherwise.\n"
	"--target cuda makes a library for NVIDIA's GPUs: NAME.cu, its code by NVRTC, and a host's side in C that "
	"opens the driver.\n"
	"Several models become one library, --name: each a graph of it, called as its file or as NAME=MODEL says.\n"
	"An output of one and an input of another that have one name are one tensor; more by --share.  All others of "
	"one name are GRAPH.NAME there.  Equal weights are there once.",
	IN_BUILD, 1, 64, run };
