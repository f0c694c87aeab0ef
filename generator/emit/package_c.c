/* package_c.c: the files of a C library: header, schedule, kernels, weights, build files. */
#include "emit/package.h"
#include <inttypes.h>
#include <stdlib.h>

enum { KERNELS_IN_A_FILE = 8, C_BYTES = 4 << 20 };

/* ---- where tensors lie ---- */
static bool is_spot(struct place place)
{
	return place.kind == PLACE_WEIGHTS || place.kind == PLACE_WORKSPACE || place.kind == PLACE_STATE;
}

/* "AT_conv1_w": of the tensor's name, in letters that C takes, no longer than is read at a glance. */
static const char *macro_for(const struct writing *w, const char *name)
{
	enum { LONGEST = 48 };
	struct arena *arena = w->emit->arena;
	size_t length = strlen(name), from = length > LONGEST ? length - LONGEST : 0;
	char *macro = arena_printf(arena, "AT_%s", name + from);
	for (char *p = macro; *p; p++)
		*p = *p == '_' || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
		        ? *p
		        : '_';
	FOR_ALL (i, w->spots)
		if (!strcmp(w->spots.at[i].macro, macro))
			return arena_printf(arena, "%s_%zu", macro, w->spots.count);
	return macro;
}

static const char *macro_of(const struct writing *w, const struct definition *of)
{
	FOR_ALL (i, w->spots)
		if (w->spots.at[i].of == of)
			return w->spots.at[i].macro;
	return NULL;
}

const char *package_shape(struct arena *arena, const struct definition *d)
{
	const struct shown shown = definition_shown(d);
	const char *text = arena_printf(arena, "%s[", dtypes[shown.type].text);
	FOR (v, shown.rank)
		text = arena_printf(arena, "%s%s%" PRId64, text, v ? "," : "", shown.extents[v]);
	return arena_printf(arena, "%s]", text);
}

static void add_spot(struct writing *w, const struct definition *of)
{
	struct place place = package_argument(w, of);
	if (is_spot(place) && !macro_of(w, of)) {
		struct spot spot = { of, place, macro_for(w, of->name) };
		push(w->emit->arena, &w->spots, spot);
	}
}

static const char *add_condition(void *w, struct definition *d)
{
	add_spot(w, d);
	return "";
}

/* Whether none of its memory ends behind it. */
static bool is_last(const struct writing *w, const struct spot *spot)
{
	FOR_EACH_AT (const struct spot *other, w->spots) {
		int64_t more =
		        other->place.at + scheduled(other->of)->bytes - spot->place.at - scheduled(spot->of)->bytes;
		if (!strcmp(other->place.word, spot->place.word) && (more > 0 || (more == 0 && other > spot)))
			return false;
	}
	return true;
}

/* [{macro, at, word, bytes, last, text}], of all kernels. */
static struct value spots_value(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena);
	w->spots.count = 0;
	FOR_EACH (const struct kernel *kernel, w->lowered->kernels) {
		FOR_ALL (i, kernel->params)
			add_spot(w, kernel->params.at[i].of);
		emit_only_where(arena, kernel_branch(kernel), add_condition, w);
	}
	FOR_EACH_AT (const struct spot *spot, w->spots) {
		value_list_add(list,
		        value_dict_of(arena, "macro", spot->macro, "word", spot->place.word, "at", spot->place.at,
		                "bytes", scheduled(spot->of)->bytes, "last", is_last(w, spot), "text",
		                emit_quiet(arena,
		                        arena_printf(arena, "%s %s", spot->of->name, package_shape(arena, spot->of)))));
	}
	return list;
}

/* ---- the schedule ---- */
/* named: by the macros of spots; else with their numbers. */
static const char *argument_of(struct writing *w, const struct param *param, bool named)
{
	struct arena *arena = w->emit->arena;
	struct place place = package_argument(w, param->of);
	const char *type = dtypes[param->of->type].c, *qualifier = param->written ? "" : "const ",
	           *at = named ? macro_of(w, param->of) : NULL;
	at = at ? at : arena_printf(arena, "%" PRId64, place.at);
	switch (place.kind) {
	case PLACE_WEIGHTS: return arena_printf(arena, "(const %s *)(const void *)(call->weights + %s)", type, at);
	case PLACE_WORKSPACE:
		return arena_printf(arena, "(%s%s *)(void *)(call->%s + %s)", qualifier, type, place.word, at);
	case PLACE_STATE: return arena_printf(arena, "(%s%s *)(void *)(call->state + %s)", qualifier, type, at);
	case PLACE_NEXT: return arena_printf(arena, "call->next_%" PRId64, place.at);
	case PLACE_INPUT: return arena_printf(arena, "call->in->%s", w->input_fields[place.at]);
	default:
		return package_is_sizes(w, (size_t)place.at) && !w->package->stepwise
		        ? arena_printf(arena, "call->dims_%" PRId64, place.at)
		        : arena_printf(arena, "call->out->%s", w->output_fields[place.at]);
	}
}

enum joined { TYPES, NUMBERED, NAMED };
static const char *joined(struct writing *w, const struct kernel *kernel, enum joined what)
{
	struct text text;
	text_init(&text, w->emit->build);
	FOR_ALL (i, kernel->params) {
		const struct param *param = &kernel->params.at[i];
		text_adds(&text, i ? ", " : "");
		if (what == TYPES)
			text_printf(&text, "%s%s *%s", param->written ? "" : "const ", dtypes[param->of->type].c,
			        param->name);
		else
			text_adds(&text, argument_of(w, param, what == NAMED));
	}
	const char *kept = arena_copy(w->emit->arena, text.count ? text.at : "", text.count);
	text_release(&text);
	return kept;
}

static const char *condition_of(void *w, struct definition *d)
{
	return argument_of(w, &(struct param){ .of = d }, true);
}

/* What the schedule asks before it runs a kernel; "": nothing. */
static const char *only_where(struct writing *w, const struct kernel *kernel)
{
	return emit_only_where(w->emit->arena, kernel_branch(kernel), condition_of, w);
}

/* "conv1 (Conv): x float[1,3,8,8] -> conv1 float[1,16,8,8]": nodes, what comes and what goes, without constants. */
static const char *told(struct writing *w, const struct kernel *kernel)
{
	struct arena *arena = w->emit->arena;
	const char *sides[2] = { "", "" };
	FOR_ALL (i, kernel->params) {
		const struct definition *of = kernel->params.at[i].of;
		const char **side = &sides[kernel->params.at[i].written];
		if (of->source != SOURCE_CONSTANT)
			*side = arena_printf(
			        arena, "%s%s%s %s", *side, **side ? ", " : "", of->name, package_shape(arena, of));
	}
	return emit_quiet(arena,
	        arena_printf(arena, "%s: %s%s-> %s", emit_kernel_nodes(arena, kernel), sides[0], *sides[0] ? " " : "",
	                sides[1]));
}

static struct value kernels_value(struct writing *w)
{
	struct value list = value_list(w->emit->arena), checks = package_checks(w);
	const char *before = "";
	FOR_ALL (k, w->lowered->kernels) {
		const struct kernel *kernel = w->lowered->kernels.at[k];
		const char *only = only_where(w, kernel);
		struct value value = value_dict_of(w->emit->arena, "number", kernel->number, "symbol",
		        emit_symbol(w->emit, kernel), "told", told(w, kernel), "own", value_bool(!kernel->same));
		value_set(value, "types", joined(w, kernel, TYPES), "arguments", joined(w, kernel, NAMED), "blocks",
		        kernel->blocks, "parts", kernel->parts, "pieces", kernel_pieces(kernel), "fork_most",
		        kernel_fork_most(kernel));
		const char *next =
		        k + 1 < w->lowered->kernels.count ? only_where(w, w->lowered->kernels.at[k + 1]) : "";
		value_set(value, "only", only, "opens", value_bool(*only && strcmp(only, before)), "closes",
		        value_bool(*only && strcmp(only, next)));
		before = only;
		int check = kernel_check(w->lowered, kernel);
		value_set(value, "check", check < 0 ? value_none() : value_at(checks, (size_t)check));
		value_list_add(list, value);
	}
	return list;
}

/* ---- what the C library computes: words of double tensors, templates/common/doubles.jinja ---- */
static void note_libm(struct writing *w, const struct text *prelude)
{
	static const struct {
		const char *word, *function;
	} words[] = {
		{ "d_sqrt(", "sqrt" },
		{ "d_exp(", "exp" },
		{ "d_exp_below(", "exp" },
		{ "d_sigmoid(", "exp" },
		{ "d_log(", "log" },
		{ "d_tanh(", "tanh" },
		{ "d_erf(", "erf" },
		{ "d_gelu(", "erfc" },
		{ "d_sin(", "sin" },
		{ "d_cos(", "cos" },
		{ "d_pow(", "pow" },
		{ "d_fma(", "fma" },
		{ "d_round(", "nearbyint" },
		{ "d_floor(", "floor" },
		{ "d_ceil(", "ceil" },
	};
	FOR (i, COUNT(words)) {
		bool known = false;
		if (!memmem(prelude->at, prelude->count, words[i].word, strlen(words[i].word)))
			continue;
		FOR_ALL (k, w->libm)
			known |= !strcmp(w->libm.at[k], words[i].function);
		if (!known)
			push(w->emit->arena, &w->libm, words[i].function);
	}
}

/* ---- files ---- */
/* What reads the weights: kernels, and where each looks.  The file's end says the hash of it. */
static void end_layout(struct writing *w)
{
	struct value bytes = value_list(w->emit->arena);
	w->layout_hash = hash_end(w->layout);
	w->layout = NULL;
	memcpy(w->layout_bytes, "ingot-1", 8);
	FOR (i, 8)
		w->layout_bytes[8 + i] = (unsigned char)(w->layout_hash >> 8 * i);
	FOR (i, LAYOUT_BYTES)
		value_list_add(bytes, value_int(w->layout_bytes[i]));
	value_set(w->globals, "layout", bytes);
}

static void add_arguments(struct writing *w)
{
	for (size_t k = 0; w->layout && k < w->lowered->kernels.count; k++) {
		const char *arguments = joined(w, w->lowered->kernels.at[k], NUMBERED);
		hash_add(w->layout, arguments, strlen(arguments) + 1);
	}
}

/* A source of kernels that share a prelude. */
static void add_source(struct writing *w, struct kernel *const *kernel, size_t count, const char *part)
{
	struct text kernels, prelude;
	const struct target *target = w->emit->target;
	const char *file = arena_printf(w->emit->arena, "%s_kernels%s.c", w->of->name, part);
	text_init(&kernels, w->emit->build);
	text_init(&prelude, w->emit->build);
	FOR (k, count) {
		progress(w->emit->build, "kernels", (size_t)kernel[k]->number, w->lowered->kernels.count, 0);
		emit_kernel(w->emit, kernel[k], &kernels);
		text_addc(&kernels, '\n');
	}
	w->emit->target = kernel[0]->target ? kernel[0]->target : target;
	emit_prelude(w->emit, kernels.at, kernels.count, &prelude);
	w->emit->target = target;
	note_libm(w, &prelude);
	if (w->layout)
		hash_add(w->layout, kernels.at, kernels.count);
	value_set(w->globals, "part", part, "prelude", value_string_of(prelude.at, prelude.count), "kernels",
	        value_string_of(kernels.at, kernels.count));
	package_render(w, "package/kernels.jinja", file);
	package_source(w, file);
	text_release(&kernels);
	text_release(&prelude);
}

static void add_kernels(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	VECTOR(struct kernel *) alike[2] = { { 0 }, { 0 } }; /* for the library's target, for the other one */
	const char *file;
	FOR_ALL (k, w->lowered->code)
		push(arena, &alike[w->lowered->code.at[k]->target != NULL], w->lowered->code.at[k]);
	FOR (other, 2) {
		size_t count = alike[other].count, files = ceil_div(count, KERNELS_IN_A_FILE);
		FOR (f, files) {
			size_t from = count * f / files, to = count * (f + 1) / files;
			add_source(w, alike[other].at + from, to - from,
			        other               ? arena_printf(arena, "_exact_%zu", f)
			                : files > 1 ? arena_printf(arena, "_%zu", f)
			                            : "");
		}
	}
	value_set(w->globals, "spots", spots_value(w), "kernels", kernels_value(w));
	file = arena_printf(arena, "%s_kernels.h", w->of->name);
	package_render(w, "package/kernels_h.jinja", file);
	push(arena, &w->headers, file);
}

/* The products beside fma that a library's kernels use, and the words that their limits need. */
static struct value add_products(struct writing *w, struct text *words)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena);
	VECTOR(const struct product *) seen = { 0 };
	FOR_ALL (k, w->lowered->kernels) {
		const struct product *product = kernel_work(w->lowered, w->lowered->kernels.at[k]).product;
		bool known = !product || product_is_fma(product);
		FOR_ALL (i, seen)
			known |= seen.at[i] == product;
		if (known)
			continue;
		push(arena, &seen, product);
		struct value one = product_words(arena, product);
		const char *vec = lane_type_of(product->sum).vector;
		value_set(one, "name", product->name);
		value_list_add(list, one);
		value_set(one, "matrix", product_is_matrix(product), "rows", product->m, "terms", product->together,
		        "sums", product->parts == MATRIX_TILES ? 4 : 12);
		text_printf(words, " %s_set %s_load %s_store %s", vec, vec, vec, product->step);
		text_adds(words, product_is_matrix(product) ? " MATRIX_ZERO" : "");
	}
	return list;
}

/* For ingot bench: marks between kernels, and the limits. */
static void add_profile(struct writing *w)
{
	struct text prelude, words;
	const char *file = arena_printf(w->emit->arena, "%s_profile.c", w->of->name);
	text_init(&prelude, w->emit->build);
	text_init(&words, w->emit->build);
	text_adds(&words, "vec_set vec_fma vec_load vec_lane0");
	value_set(w->globals, "products", add_products(w, &words));
	emit_prelude(w->emit, words.at, words.count, &prelude);
	text_release(&words);
	value_set(w->globals, "prelude", value_string_of(prelude.at, prelude.count));
	package_render(w, "package/profile.jinja", file);
	package_source(w, file);
	text_release(&prelude);
}

/* ---- files that are linked in ---- */
static bool linked_as_c(const struct writing *w, const struct linked_file *files, size_t count)
{
	size_t bytes = 0;
	FOR (i, count) {
		bytes += files[i].count;
		if (!files[i].bytes)
			return false;
	}
	return w->package->weights_c && bytes <= C_BYTES;
}

static struct value rows_of(struct writing *w, const struct linked_file *file)
{
	struct text rows;
	size_t end = file->count + file->ended;
	text_init(&rows, w->emit->build);
	FOR (i, end)
		text_printf(&rows, "%s%u,%s", i % 24 ? "" : "\t", i < file->count ? file->bytes[i] : 0,
		        i % 24 == 23 && i + 1 < end ? "\n" : "");
	struct value value = value_copy(w->emit->arena, rows.at, rows.count);
	text_release(&rows);
	return value;
}

void package_link(struct writing *w, const char *part, const char *head, const struct linked_file *files, size_t count)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena), one = value_dict(arena);
	bool as_c = linked_as_c(w, files, count);
	FOR (i, count) {
		struct value file = value_dict(arena);
		value_set(file, "file", files[i].file, "symbol", files[i].symbol, "ended", files[i].ended, "within",
		        files[i].within, "bytes", (int64_t)files[i].count + files[i].ended);
		if (as_c)
			value_set(file, "rows", rows_of(w, &files[i]));
		value_list_add(list, file);
	}
	value_set(one, "part", part, "files", list);
	if (!as_c)
		value_list_add(w->linked, one);
	value_set(w->globals, "part", part, "files", list, "head", head, "section",
	        w->package->weights_section ? w->package->weights_section : "");
	const char *source = arena_printf(arena, "%s_%s.%s", w->package->name, part, as_c ? "c" : "S");
	package_render(w, as_c ? "package/linked_c.jinja" : "package/linked_s.jinja", source);
	package_source(w, source);
}

static unsigned char *blob_of(struct writing *w)
{
	size_t bytes = (size_t)w->weights_bytes;
	unsigned char *blob = calloc(1, bytes);
	if (!blob)
		fail(w->emit->build, EXIT_LIMIT, NULL, "out of memory: %zu bytes of weights", bytes);
	FOR_ALL (i, w->items)
		constant_fill(w->items.at[i].item, blob + w->items.at[i].offset);
	return blob;
}

void package_add_weights(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	if (!w->weights_bytes)
		return;
	package_add_blob(w);
	if (w->beside)
		return;
	if (w->package->weights_c && w->package->weights == WEIGHTS_LINKED && w->weights_bytes > C_BYTES)
		fail(w->emit->build, EXIT_LIMIT, w->package->name,
		        "--weights c: %" PRId64 " bytes of weights, and an array of C has %d at most", w->weights_bytes,
		        C_BYTES);
	const char *symbol = arena_printf(arena, "%s_weights", w->package->name),
	           *name = arena_printf(arena, "%s.bin", symbol);
	unsigned char *blob = w->package->weights_c && w->weights_bytes <= C_BYTES ? blob_of(w) : NULL;
	struct linked_file file = { symbol, name, blob, (size_t)w->weights_bytes, false, package_has_layout(w) };
	package_link(w, "weights", arena_printf(arena, "%s as read-only data.", name), &file, 1);
	free(blob);
}

static void add_headers(struct writing *w, const char *name)
{
	struct arena *arena = w->emit->arena;
	push(arena, &w->headers, arena_printf(arena, "%s.h", name));
	package_render(w, "package/header.jinja", w->headers.at[w->headers.count - 1]);
	package_render(w, "package/hpp.jinja", arena_printf(arena, "%s.hpp", name));
}

/* Which part is called where: NAME.c, for any CPU of the architecture. */
static void add_dispatch(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const char *file = arena_printf(arena, "%s.c", w->package->name);
	struct value parts = value_list(arena);
	FOR (p, w->package->part_count) {
		package_part(w, p);
		value_list_add(parts,
		        value_dict_of(arena, "unit", w->of->name, "features", value_dict_get(w->globals, "features")));
	}
	value_set(w->globals, "parts", parts);
	if (w->layout)
		end_layout(w);
	package_render(w, "package/dispatch.jinja", file);
	w->emit->target = target_find("generic");
	package_source(w, file);
	package_part(w, 0);
	add_headers(w, w->package->name);
}

static void add_part(struct writing *w, int part)
{
	struct arena *arena = w->emit->arena;
	const char *file;
	package_part(w, part);
	file = arena_printf(arena, "%s.c", w->of->name);
	package_source(w, file);
	add_kernels(w);
	add_arguments(w);
	if (w->layout && !w->package->cpus && part == w->package->part_count - 1)
		end_layout(w);
	package_render(w, "package/run.jinja", file);
	if (!w->package->cpus)
		add_headers(w, w->of->name);
	if (w->package->profile)
		add_profile(w);
	if (w->emit->target->options.log) {
		file = arena_printf(arena, "%s_log.c", w->of->name);
		package_render(w, "package/log.jinja", file);
		package_source(w, file);
	}
}

/* Several graphs: NAME.h includes the header of each. */
static void add_umbrella(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const char *file = arena_printf(arena, "%s.h", w->package->name);
	struct value parts = value_list(arena);
	FOR (p, w->package->part_count)
		value_list_add(parts, value_string(w->package->parts[p].name));
	value_set(w->globals, "parts", parts, "pools", package_pools(w, true));
	package_render(w, "package/umbrella.jinja", file);
	push(arena, &w->headers, file);
	package_render(w, "package/umbrella_hpp.jinja", arena_printf(arena, "%s.hpp", w->package->name));
}

static struct value strings(struct arena *arena, const char *const *at, size_t count)
{
	struct value list = value_list(arena);
	FOR (i, count)
		value_list_add(list, value_string(at[i]));
	return list;
}

void package_add_build_files(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const struct package *package = w->package;
	package_part(w, 0);
	value_set(w->globals, "runtime_flags", package_runtime_flags(w));
	/* Which source of what is linked in depends on what objects are. */
	struct value sources = value_list(arena), apart = value_list(arena);
	FOR_ALL (i, w->sources)
		if (strcmp(w->sources.at[i] + strlen(w->sources.at[i]) - 2, ".S")) {
			struct value one =
			        value_dict_of(arena, "file", w->sources.at[i], "flags", w->source_flags.at[i]);
			value_list_add(apart, one);
			value_list_add(sources, value_string(w->sources.at[i]));
		}
	value_set(w->globals, "apart", apart, "cflags", package->cflags ? package->cflags : "", "sources", sources);
	VECTOR(const char *) units = { 0 };
	FOR_ALL (i, w->runtime)
		if (!strcmp(w->runtime.at[i] + strlen(w->runtime.at[i]) - 2, ".c"))
			push(arena, &units, w->runtime.at[i]);
	value_set(w->globals, "runtime", strings(arena, units.at, units.count), "libm", value_bool(w->libm.count > 0),
	        "pool", package_has_threads(w));
	package_render(w, "package/cmake.jinja", "CMakeLists.txt");
	package_render(w, "package/pc.jinja", arena_printf(arena, "%s.pc", package->name));
}

void package_c(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const struct package *package = w->package;
	w->layout = package_has_layout(w) ? hash_begin(w->emit->build) : NULL;
	FOR (p, package->part_count)
		add_part(w, p);
	if (package->cpus)
		add_dispatch(w);
	else if (package->part_count > 1)
		add_umbrella(w);
	package_add_weights(w);
	if (package->managed)
		package_module(w);
	if (package->exported) {
		struct value functions = value_list(arena);
		FOR (p, (package->cpus ? 1 : package->part_count)) {
			const char *name = package->cpus ? package->name : package->parts[p].name;
			package_part(w, p);
			value_list_add(functions, value_string(arena_printf(arena, "%s_run", name)));
			if (w->state_bytes)
				value_list_add(functions, value_string(arena_printf(arena, "%s_reset", name)));
		}
		if (package_has_layout(w))
			value_list_add(functions, value_string(arena_printf(arena, "%s_weights_check", package->name)));
		value_set(w->globals, "functions", functions);
		package_render(w, "package/exports.jinja", arena_printf(arena, "%s.map", package->name));
	}
	package_add_threads(w);
	if (package->cc) {
		package_compile(w);
		for (int p = 0; p < (package->cpus ? 1 : package->part_count); p++)
			if (w->stack_bytes[p]) {
				package_part(w, p);
				package_render(w, "package/header.jinja",
				        arena_printf(arena, "%s.h", package->cpus ? package->name : w->of->name));
			}
	}
	package_add_build_files(w);
	package_add_project(w);
	package_add_manifest(w, package_manifest(w));
}
