/* manifest.c: NAME.json, what a library is for programs: docs/manifest.schema.json. */
#include "emit/package.h"
#include <inttypes.h>
#include <stdlib.h>

static json_t *checks_json(const struct writing *w)
{
	json_t *list = json_array();
	FOR_ALL (i, w->lowered->program->checks) {
		const struct definition *d = w->lowered->program->checks.at[i];
		json_array_append_new(list,
		        json_pack("{s:i,s:s,s:s,s:I,s:i}", "code", package_first_check(w->package, w->part) + (int)i,
		                "means", d->check->code == EXIT_LIMIT ? "limit" : "operand", "text",
		                package_check_text(w->emit->arena, d), "at", (json_int_t)scheduled(d)->offset, "kernel",
		                scheduled(d)->kernel->number));
	}
	return list;
}

static json_t *tensors_json(const struct writing *w, bool inputs)
{
	const struct program *program = w->lowered->program;
	json_t *list = json_array();
	FOR (i, (inputs ? program->inputs.count : program->outputs.count)) {
		const struct definition *d = inputs ? program->inputs.at[i] : program->outputs.at[i];
		if (inputs && package_slot(w, i, true))
			continue;
		const struct shown shown = definition_shown(d);
		json_t *dims = json_array();
		FOR (v, shown.rank)
			json_array_append_new(dims, json_integer(shown.extents[v]));
		json_t *one =
		        json_pack("{s:s,s:s,s:s,s:o,s:I}", "name", inputs ? w->input_labels[i] : w->output_labels[i],
		                "field", inputs ? w->input_fields[i] : w->output_fields[i], "type",
		                dtypes[shown.type].text, "dims", dims, "bytes", (json_int_t)scheduled(d)->bytes);
		if (w->lowered->io_in_workspace && scheduled(d)->offset >= 0) {
			const struct workspace_pool *pool = workspace_pool_at(w->lowered, scheduled(d)->offset);
			json_object_set_new(
			        one, "offset", json_integer(package_in_pool(w->lowered, pool, scheduled(d)->offset)));
			if (lowered_has_memories(w->lowered))
				json_object_set_new(one, "pool", json_string(pool->name));
		}
		const char *node = inputs ? w->of->input_names[i] : w->of->output_names[i];
		if (w->package->managed && strcmp(node, inputs ? w->input_labels[i] : w->output_labels[i]))
			json_object_set_new(one, "node", json_string(node));
		if (d->port.sizes)
			json_object_set_new(
			        one, "sizes", json_string(package_label(w->emit->arena, w->of, d->port.sizes)));
		if (d->port.most)
			json_object_set_new(one, "most", json_integer(d->port.most));
		const struct tensor *border = package_border(w, i, inputs);
		if (border && border->is_utf8)
			json_object_set_new(one, "strings", json_true());
		if (border && border->keys)
			json_object_set_new(one, "keys", keys_json(w->emit->arena, border->keys));
		json_array_append_new(list, one);
	}
	return list;
}

/* `arguments`: NULL for a kernel of a body.  A loop is told with the kernels of its body; where the host goes round it
 * has no code of its own. */
static json_t *kernel_json(const struct writing *w, const struct kernel *kernel, json_t *arguments)
{
	json_t *nodes = json_array(), *row;
	FOR_ALL (m, kernel->members)
		json_array_append_new(nodes, json_string(kernel->members.at[m]->name));
	row = json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:o*,s:f,s:f}", "name", kernel->name, "symbol",
	        emit_symbol(w->emit, kernel), "template", kernel_template(w->emit->arena, w->emit->target, kernel),
	        "tile", kernel->tile, "lanes", kernel_lanes_text(w->emit->arena, kernel), "nodes", nodes, "arguments",
	        arguments, "flops", kernel->flops, "bytes", kernel->bytes);
	if (kernel->shape != SHAPE_REPEAT)
		return row;
	json_t *body = json_array();
	FOR (s, kernel_inside(kernel)->kernels.count)
		json_array_append_new(body, kernel_json(w, kernel_inside(kernel)->kernels.at[s], NULL));
	if (w->emit->target->lanes_are_threads)
		json_object_del(row, "symbol");
	json_object_set_new(row, "rounds", json_integer((json_int_t)kernel->root->loop.repeat->rounds));
	json_object_set_new(row, "body", body);
	return row;
}

/* What belongs to the current part. */
static void manifest_part(const struct writing *w, json_t *manifest)
{
	const struct lowered *lowered = w->lowered;
	const struct program *program = lowered->program;
	json_t *kernels = json_array();
	FOR_EACH (const struct kernel *kernel, lowered->kernels) {
		json_t *arguments = json_array();
		FOR_ALL (i, kernel->params) {
			struct place place = package_argument(w, kernel->params.at[i].of);
			json_array_append_new(
			        arguments, json_pack("{s:s,s:I}", "place", place.word, "at", (json_int_t)place.at));
		}
		json_array_append_new(kernels, kernel_json(w, kernel, arguments));
	}
	json_object_set_new(manifest, "numbers", json_string(w->of->numbers));
	json_object_set_new(manifest, "inputs", tensors_json(w, true));
	json_object_set_new(manifest, "outputs", tensors_json(w, false));
	FOR_ALL (i, w->slots) {
		const struct slot *slot = w->slots.at + i;
		if (!i)
			json_object_set_new(manifest, "states", json_array());
		json_array_append_new(json_object_get(manifest, "states"),
		        json_pack("{s:s,s:s,s:I,s:I}", "name", w->input_labels[slot->input], "next",
		                w->output_labels[slot->output], "at", (json_int_t)slot->at, "bytes",
		                (json_int_t)scheduled(program->inputs.at[slot->input])->bytes));
	}
	if (w->slots.count)
		json_object_set_new(manifest, "state_bytes", json_integer(w->state_bytes));
	if (program->checks.count)
		json_object_set_new(manifest, "checks", checks_json(w));
	json_object_set_new(manifest, "workspace_bytes", json_integer(lowered->workspace_bytes));
	json_object_set_new(manifest, "workspace_align", json_integer(lowered->workspace_align));
	if (lowered_has_memories(lowered))
		json_object_set_new(manifest, "pools", pools_json(lowered));
	if (w->stack_bytes[w->part] > 0)
		json_object_set_new(manifest, "stack_bytes", json_integer(w->stack_bytes[w->part]));
	json_object_set_new(manifest, "kernels", kernels);
}

/* How many, where there are several; 0: the library is one graph. */
static int graphs_of(const struct package *package)
{
	return package->part_count > 1 && !package->cpus ? package->part_count : 0;
}

/* What differs from CPU to CPU; the keys beside it are of the first, but for the workspace, which holds any. */
static void manifest_cpus(struct writing *w, json_t *manifest)
{
	json_t *list = json_array();
	FOR (p, w->package->part_count) {
		package_part(w, p);
		json_t *one = json_pack("{s:s,s:s,s:I}", "cpu", w->emit->target->name, "prefix", w->of->name,
		        "weights_bytes", (json_int_t)w->lowered->weights_bytes);
		manifest_part(w, one);
		json_object_del(one, "inputs");
		json_object_del(one, "outputs");
		json_array_append_new(list, one);
	}
	json_object_set_new(manifest, "workspace_bytes", json_integer(package_workspace(w, true)));
	json_object_set_new(manifest, "cpus", list);
}

json_t *package_manifest(struct writing *w)
{
	const struct package *package = w->package;
	struct arena *arena = w->emit->arena;
	json_t *sources = json_array(), *symbols = json_object(), *graphs = json_array(), *manifest;
	FOR_ALL (i, w->sources)
		json_array_append_new(sources, json_string(w->sources.at[i]));
	if (!graphs_of(package))
		json_object_set_new(symbols, "run", json_string(arena_printf(arena, "%s_run", package->name)));
	if (w->weights_bytes && !w->beside)
		json_object_set_new(symbols, "weights", json_string(arena_printf(arena, "%s_weights", package->name)));
	if (package->managed)
		json_object_set_new(symbols, "module", json_string(arena_printf(arena, "%s_module", package->name)));
	manifest = json_pack("{s:i,s:s,s:s,s:s,s:s,s:o,s:o,s:s}", "schema", 1, "version", INGOT_VERSION, "prefix",
	        package->name, "header", arena_printf(arena, "%s.h", package->name), "library",
	        package->cc ? arena_printf(arena, "lib%s.a", package->name) : "", "sources", sources, "symbols",
	        symbols, "options", package->options);
	if (package->exported)
		json_object_set_new(
		        manifest, "shared_library", json_string(arena_printf(arena, "lib%s.so", package->name)));
	FOR (p, graphs_of(package)) {
		package_part(w, p);
		json_t *graph = json_pack("{s:s,s:s,s:s}", "prefix", w->of->name, "header",
		        arena_printf(arena, "%s.h", w->of->name), "run", arena_printf(arena, "%s_run", w->of->name));
		manifest_part(w, graph);
		json_array_append_new(graphs, graph);
	}
	if (graphs_of(package))
		json_object_set(manifest, "graphs", graphs);
	else {
		package_part(w, 0);
		manifest_part(w, manifest);
	}
	if (package->cpus)
		manifest_cpus(w, manifest);
	json_decref(graphs);
	json_object_set_new(manifest, "weights_bytes", json_integer(w->weights_bytes));
	if (package_has_layout(w))
		json_object_set_new(
		        manifest, "weights_layout", json_string(arena_printf(arena, "%016" PRIx64, w->layout_hash)));
	if (w->weights_bytes)
		json_object_set_new(
		        manifest, "weights_hash", json_string(arena_printf(arena, "%016" PRIx64, w->blob_hash)));
	json_t *libm = json_array();
	FOR_ALL (i, w->libm)
		json_array_append_new(libm, json_string(w->libm.at[i]));
	json_object_set_new(manifest, "libm", libm);
	return manifest;
}

void package_add_manifest(struct writing *w, json_t *manifest)
{
	const char *name = w->package->name, *file = arena_printf(w->emit->arena, "%s.json", name);
	json_t *files = json_array();
	for (size_t i = 0; file_set_name(w->files, i); i++)
		json_array_append_new(files, json_string(file_set_name(w->files, i)));
	json_array_append_new(files, json_string(file));
	json_object_set_new(manifest, "files", files);
	char *text = json_dumps(manifest, JSON_INDENT(2));
	json_decref(manifest);
	if (!text)
		fail(w->emit->build, EXIT_INVALID, name, "a name in the model is not UTF-8");
	char *kept = arena_printf(w->emit->arena, "%s\n", text);
	free(text);
	file_set_add(w->files, file, kept, strlen(kept));
}
