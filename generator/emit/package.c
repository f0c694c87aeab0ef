/* package.c: what all packages have: names, the places of arguments, the weights. */
#include "emit/package.h"
#include "tables/board.h"
#include "tables/features.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* ---- names ---- */
static const char **fields_of(struct arena *arena, const char *const *names, size_t count, const char *upper)
{
	const char **fields = arena_new_array(arena, const char *, count);
	FOR (i, count) {
		fields[i] = emit_member(arena, names[i], upper);
		FOR (k, i)
			if (!strcmp(fields[k], fields[i])) {
				fields[i] = emit_member(arena, arena_printf(arena, "%s_%zu", fields[i], i), upper);
				k = (size_t)-1;
			}
	}
	return fields;
}

/* The graph's tensor of that input or output; NULL: it has none, as the extents of another, or there is no graph. */
const struct tensor *package_border(const struct writing *w, size_t i, bool inputs)
{
	const struct graph *graph = w->of->graph;
	size_t count = !graph ? 0 : inputs ? graph->inputs.count : graph->outputs.count;
	return i >= count ? NULL : inputs ? graph->inputs.at[i] : graph->outputs.at[i];
}

/* What the columns of an output of maps are called, as C has them. */
static struct value keys_value(struct arena *arena, const struct tensor *keys)
{
	struct value list = value_list(arena);
	FOR (i, keys->dims[0].extent)
		value_list_add(list,
		        value_string(keys->strings ? emit_literal(arena, keys->strings[i])
		                                   : arena_printf(arena, "%" PRId64, tensor_int(keys, (size_t)i))));
	return list;
}

json_t *string_json(struct arena *arena, const char *text)
{
	json_t *value = json_string(text);
	return value ? value : json_string(text_clean(arena, text));
}

json_t *keys_json(struct arena *arena, const struct tensor *keys)
{
	json_t *list = json_array();
	FOR (i, keys->dims[0].extent)
		json_array_append_new(list,
		        keys->strings ? string_json(arena, keys->strings[i])
		                      : json_integer(tensor_int(keys, (size_t)i)));
	return list;
}

/* What the graph calls a tensor of the library, or the dims of one. */
const char *package_label(struct arena *arena, const struct part *part, const char *name)
{
	FOR (i, part->apart_count) {
		const struct apart *apart = part->apart + i;
		size_t length = strlen(apart->name);
		if (!strncmp(apart->name, name, length) && (!name[length] || !strncmp(name + length, "_dims", 5)))
			return arena_printf(arena, "%s%s", apart->was, name + length);
	}
	return name;
}

static const char **labels_of(struct arena *arena, const struct part *part, const char *const *names, size_t count)
{
	const char **labels = arena_new_array(arena, const char *, count + 1);
	FOR (i, count)
		labels[i] = package_label(arena, part, names[i]);
	return labels;
}

/* Pools that nobody named are one workspace. */
int64_t package_in_pool(const struct lowered *lowered, const struct workspace_pool *pool, int64_t offset)
{
	return lowered_has_memories(lowered) ? offset - pool->at : offset;
}

static bool is_next(const struct writing *w, const struct definition *d)
{
	bool is = false;
	FOR_ALL (i, w->slots)
		is |= w->lowered->program->outputs.at[w->slots.at[i].output] == d;
	return is;
}

static struct value tensor_value(
        const struct writing *w, const struct definition *d, const char *name, const char *field)
{
	struct arena *arena = w->emit->arena;
	const char *sizes = d->port.sizes ? package_label(arena, w->of, d->port.sizes) : NULL;
	struct value value = value_dict(arena);
	struct text dims;
	text_init(&dims, arena->build);
	const struct shown shown = definition_shown(d);
	if (shown.type != d->type || dtype_is_narrow(d->type)) /* C has no word for it */
		text_printf(&dims, "%s%s ", dtypes[shown.type].text,
		        dtypes[shown.type].bits < 8 ? ", packed, low bits first," : "");
	text_addc(&dims, '[');
	FOR (v, shown.rank)
		text_printf(&dims, "%s%" PRId64, v ? "," : "", shown.extents[v]);
	text_addc(&dims, ']');
	value_set(value, "extents", value_numbers(arena, shown.extents, shown.rank), "name", emit_quiet(arena, name),
	        "field", field, "c", dtypes[d->type].c, "elements", definition_elements(d), "most", d->port.most);
	int64_t offset = w->lowered->io_in_workspace ? scheduled(d)->offset : -1;
	const struct workspace_pool *pool = workspace_pool_at(w->lowered, offset < 0 ? 0 : offset);
	value_set(value, "offset", offset < 0 ? -1 : package_in_pool(w->lowered, pool, offset), "pool", pool->name);
	if (sizes)
		text_printf(&dims, is_next(w, d) ? ", as many of them as %s says," : " at most, dense in what %s says,",
		        sizes);
	value_set(value, "dims", value_copy(arena, dims.at, dims.count));
	text_release(&dims);
	return value;
}

/* ---- files ---- */
void package_render(struct writing *w, const char *template, const char *file)
{
	struct text text;
	text_init(&text, w->emit->build);
	template_render(w->emit->templates, template, w->globals, &text);
	file_set_add(w->files, file, text.at, text.count);
	text_release(&text);
}

/* ---- weights ---- */
static uint64_t item_hash(struct writing *w, const struct constant_item *item)
{
	struct hash *hash = hash_begin(w->emit->build);
	size_t bytes;
	void *made;
	for (int64_t piece = 0; (made = constant_piece(w->emit->build, item, piece, &bytes)); piece++) {
		hash_add(hash, made, bytes);
		free(made);
	}
	return hash_end(hash);
}

static bool same_bytes(struct writing *w, const struct constant_item *a, const struct constant_item *b)
{
	bool same = true;
	size_t bytes = 1, others;
	for (int64_t piece = 0; same && bytes; piece++) {
		void *one = constant_piece(w->emit->build, a, piece, &bytes),
		     *other = constant_piece(w->emit->build, b, piece, &others);
		same = bytes == others && (!bytes || !memcmp(one, other, bytes));
		free(one);
		free(other);
	}
	return same;
}

/* Graphs of one package share the constants that have the same bytes. */
static void share_items(struct writing *w)
{
	enum { ALIGN = 64 };
	FOR (p, w->package->part_count) {
		const struct lowered *lowered = w->package->parts[p].lowered;
		FOR_EACH_AT (struct constant_item *item, lowered->constants) {
			struct scheduled *of = scheduled(item->of);
			struct blob_item made = { item, of->offset, of->bytes, 0, p };
			size_t k = 0;
			if (w->package->part_count > 1) {
				made.hash = item_hash(w, item);
				while (k < w->items.count
				        && !(w->items.at[k].hash == made.hash && w->items.at[k].bytes == made.bytes
				                && same_bytes(w, w->items.at[k].item, item)))
					k++;
				if (k < w->items.count) {
					of->offset = w->items.at[k].offset;
					continue;
				}
				of->offset = made.offset = w->weights_bytes;
				w->weights_bytes += (of->bytes + ALIGN - 1) & ~(int64_t)(ALIGN - 1);
			}
			push(w->emit->arena, &w->items, made);
		}
	}
	if (w->package->part_count == 1)
		w->weights_bytes = w->package->parts->lowered->weights_bytes;
	if (w->package->weights_bytes)
		*w->package->weights_bytes = w->weights_bytes;
	bool large = w->weights_bytes > WEIGHTS_LINKED_MOST;
	if (large && w->package->weights == WEIGHTS_LINKED)
		fail(w->emit->build, EXIT_LIMIT, w->package->name,
		        "%" PRId64 " bytes of weights cannot be linked in: up to 1 GiB can, more lies beside a library "
		        "of the bare profile",
		        w->weights_bytes);
	w->beside = w->weights_bytes && (large || w->package->weights == WEIGHTS_BESIDE);
}

static bool blob_write(FILE *file, struct hash *hash, const void *bytes, size_t count)
{
	hash_add(hash, bytes, count);
	return fwrite(bytes, 1, count, file) == count;
}

/* Piece by piece: the blob of a large model is never whole in memory.  Between items there are zeros up to the next
 * one's place. */
void package_add_blob(struct writing *w)
{
	static const char zeros[4096];
	if (!w->weights_bytes) /* a file that is only named would be missed in the end */
		return;
	progress(w->emit->build, "weights", 0, 0, 0);
	push(w->emit->arena, &w->blobs, arena_printf(w->emit->arena, "%s_weights.bin", w->package->name));
	const char *path = file_set_path(w->files, arena_printf(w->emit->arena, "%s_weights.bin", w->package->name));
	FILE *file = fopen(path, "wb");
	struct hash *hash = hash_begin(w->emit->build);
	bool right = file != NULL;
	for (size_t i = 0; right && i < w->items.count; i++) {
		int64_t end = i + 1 < w->items.count ? w->items.at[i + 1].offset : w->weights_bytes,
		        at = w->items.at[i].offset;
		size_t bytes;
		void *made;
		for (int64_t piece = 0;
		        right && (made = constant_piece(w->emit->build, w->items.at[i].item, piece, &bytes));
		        piece++, at += (int64_t)bytes) {
			right = blob_write(file, hash, made, bytes);
			free(made);
		}
		for (; right && at < end; at += (int64_t)bytes) {
			bytes = end - at < (int64_t)sizeof zeros ? (size_t)(end - at) : sizeof zeros;
			right = blob_write(file, hash, zeros, bytes);
		}
	}
	if (right && package_has_layout(w))
		right = blob_write(file, hash, w->layout_bytes, sizeof w->layout_bytes);
	int reason = right ? 0 : errno;
	if (file && fclose(file) && !reason)
		reason = errno;
	w->blob_hash = hash_end(hash);
	if (reason)
		fail(w->emit->build, file_code(reason), path, "%zu bytes of weights cannot be written: %s",
		        (size_t)w->weights_bytes, strerror(reason));
}

bool package_has_layout(const struct writing *w)
{
	return w->weights_bytes && !w->package->shared && !strcmp(w->emit->target->family, "c");
}

bool package_is_sizes(const struct writing *w, size_t output)
{
	const struct program *program = w->lowered->program;
	FOR_ALL (i, program->outputs)
		if (program->outputs.at[i]->port.sizes
		        && !strcmp(program->outputs.at[i]->port.sizes, program->output_names.at[output]))
			return true;
	return false;
}

/* ---- places ---- */
struct place package_argument(const struct writing *w, const struct definition *d)
{
	const struct program *program = w->lowered->program;
	if (scheduled(d)->mode == MODE_CONSTANT)
		return (struct place){ .kind = PLACE_WEIGHTS, .word = "weights", .at = scheduled(d)->offset };
	if (scheduled(d)->mode == MODE_DEVICE) {
		const struct workspace_pool *pool = workspace_pool_at(w->lowered, scheduled(d)->offset);
		return (struct place){ PLACE_WORKSPACE, pool->name,
			package_in_pool(w->lowered, pool, scheduled(d)->offset), pool };
	}
	FOR_ALL (i, w->slots) {
		if (program->inputs.at[w->slots.at[i].input] == d)
			return (struct place){ .kind = PLACE_STATE, .word = "state", .at = w->slots.at[i].at };
		if (program->outputs.at[w->slots.at[i].output] == d)
			return (struct place){ .kind = PLACE_NEXT, .word = "next", .at = (int64_t)i };
	}
	FOR_ALL (i, program->inputs)
		if (program->inputs.at[i] == d)
			return (struct place){ .kind = PLACE_INPUT, .word = "input", .at = (int64_t)i };
	FOR_ALL (i, program->outputs)
		if (program->outputs.at[i] == d)
			return (struct place){ .kind = PLACE_OUTPUT, .word = "output", .at = (int64_t)i };
	fail(w->emit->build, EXIT_LIMIT, d->name, "has no place"); /* lowered_check has seen to it */
}

/* ---- checks ---- */
int package_first_check(const struct package *package, int part)
{
	int code = CHECK_CODES;
	for (int p = 0; !package->cpus && p < part; p++)
		code += (int)package->parts[p].lowered->program->checks.count;
	return code;
}

const char *package_check_text(struct arena *arena, const struct definition *d)
{
	return arena_printf(arena, "%s: %s", emit_node_name(d), d->check->text);
}

struct value package_checks(const struct writing *w)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena);
	FOR_ALL (i, w->lowered->program->checks) {
		const struct definition *d = w->lowered->program->checks.at[i];
		struct value value = value_dict_of(arena, "code", package_first_check(w->package, w->part) + (int64_t)i,
		        "text", emit_quiet(arena, package_check_text(arena, d)), "literal",
		        emit_literal(arena, package_check_text(arena, d)), "name", d->name);
		const struct workspace_pool *pool = workspace_pool_at(w->lowered, scheduled(d)->offset);
		value_set(value, "pool", pool->name, "at", package_in_pool(w->lowered, pool, scheduled(d)->offset),
		        "kernel", scheduled(d)->kernel->number);
		value_list_add(list, value);
	}
	return list;
}

/* ---- states of the bare profile ---- */
const struct slot *package_slot(const struct writing *w, size_t number, bool input)
{
	FOR_ALL (i, w->slots)
		if ((input ? w->slots.at[i].input : w->slots.at[i].output) == number)
			return &w->slots.at[i];
	return NULL;
}

static size_t name_number(const char *const *names, size_t count, const char *name)
{
	size_t i = 0;
	while (i < count && strcmp(names[i], name))
		i++;
	return i;
}

/* Those of the current part. */
static void add_slots(struct writing *w)
{
	enum { ALIGN = 8 };
	const struct package *package = w->package;
	const struct program *program = w->lowered->program;
	struct build *build = w->emit->build;
	w->slots.count = 0;
	w->state_bytes = 0;
	for (size_t i = 0; !package->managed && i < package->state_count; i++) {
		const struct state_pair *pair = package->states + i;
		struct slot slot = { name_number(w->input_labels, program->inputs.count, pair->input),
			name_number(w->output_labels, program->outputs.count, pair->output), w->state_bytes, 0 };
		if (slot.input == program->inputs.count && slot.output == program->outputs.count
		        && package->part_count > 1)
			continue; /* another graph's */
		if (slot.input == program->inputs.count || slot.output == program->outputs.count)
			fail(build, EXIT_USAGE, w->of->model,
			        "--state %s=%s: should be an input and an output of one graph", pair->input,
			        pair->output);
		const struct definition *from = program->inputs.at[slot.input], *to = program->outputs.at[slot.output];
		if (!definition_same_shape(from, to))
			fail(build, EXIT_USAGE, w->of->model,
			        "--state %s=%s: %s and %s, one type and shape are right, or what Concat(%s, new rows) "
			        "makes",
			        pair->input, pair->output, package_shape(build->arena, from),
			        package_shape(build->arena, to), pair->input);
		if (package_slot(w, slot.input, true) || package_slot(w, slot.output, false))
			fail(build, EXIT_USAGE, w->of->model, "--state %s=%s: is a state already", pair->input,
			        pair->output);
		int64_t bytes = ceil_div(scheduled(from)->bytes, ALIGN) * ALIGN;
		slot.next = to->in_place ? slot.at : slot.at + bytes;
		w->state_bytes = slot.next + bytes;
		push(w->emit->arena, &w->slots, slot);
	}
}

static struct value slots_value(const struct writing *w)
{
	struct value list = value_list(w->emit->arena);
	FOR_ALL (i, w->slots) {
		const struct slot *slot = w->slots.at + i;
		struct value value = tensor_value(w, w->lowered->program->inputs.at[slot->input],
		        w->input_labels[slot->input], w->output_fields[slot->output]);
		value_set(value, "at", slot->at, "next", slot->next);
		value_list_add(list, value);
	}
	return list;
}

/* ---- parts ---- */
/* Whether that is, in upper case, one of the first `count` fields of inputs and outputs. */
static bool is_field(const struct writing *w, const char *macro, size_t count)
{
	const size_t inputs = w->lowered->program->inputs.count;
	FOR (i, count)
		if (!strcasecmp(i < inputs ? w->input_fields[i] : w->output_fields[i - inputs], macro))
			return true;
	return false;
}

/* An input or output in macros: its field in upper case; of several that are alike then, all but the first have their
 * number. */
static const char *macro_of(const struct writing *w, bool input, size_t number)
{
	struct arena *arena = w->emit->arena;
	const struct program *program = w->lowered->program;
	const size_t at = number + (input ? 0 : program->inputs.count);
	const char *macro = package_upper(arena, input ? w->input_fields[number] : w->output_fields[number]);
	if (!is_field(w, macro, at))
		return macro;
	macro = arena_printf(arena, "%s_%zu", macro, at);
	while (is_field(w, macro, program->inputs.count + program->outputs.count))
		macro = arena_printf(arena, "%s_", macro);
	return macro;
}

static struct value tensors_value(const struct writing *w, bool inputs)
{
	struct arena *arena = w->emit->arena;
	const struct program *program = w->lowered->program;
	struct value list = value_list(arena);
	FOR (i, (inputs ? program->inputs.count : program->outputs.count)) {
		bool state = package_slot(w, i, inputs) != NULL;
		struct value value = inputs
		        ? tensor_value(w, program->inputs.at[i], w->input_labels[i], w->input_fields[i])
		        : tensor_value(w, program->outputs.at[i], w->output_labels[i], w->output_fields[i]);
		value_set(value, "state", state, "macro", macro_of(w, inputs, i), "number", i);
		/* between steps its memory is the caller's */
		value_set(value, "spare", value_bool(!inputs && !w->package->stepwise && package_is_sizes(w, i)));
		const struct tensor *border = package_border(w, i, inputs);
		value_set(value, "strings", value_bool(border && border->is_utf8), "columns",
		        border && border->keys ? keys_value(arena, border->keys) : value_list(arena));
		if (!(state && inputs))
			value_list_add(list, value);
	}
	return list;
}

const char *package_upper(struct arena *arena, const char *name)
{
	char *upper = arena_copy(arena, name, strlen(name));
	for (char *p = upper; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return upper;
}

/* A word of a row's `needs`: the compiler's macro (NULL: compilers differ), and what asks the CPU for it (NULL: nothing
 * portable does). */
static const struct feature {
	const char *name, *macro, *asked;
} features_named[] = { { "dotprod", "__ARM_FEATURE_DOTPROD", NULL }, { "i8mm", "__ARM_FEATURE_MATMUL_INT8", NULL },
	{ "bf16", "__ARM_FEATURE_BF16_VECTOR_ARITHMETIC", NULL }, { "amx", NULL, "has_amx()" },
#define FEATURE(name, macro, last, bit) { #name, macro, "(leaf_7_1(" #last ") >> " #bit " & 1u)" },
	CPU_FEATURES(FEATURE)
#undef FEATURE
};
static struct feature feature_of(struct arena *arena, const char *name)
{
	FOR (i, COUNT(features_named))
		if (!strcmp(features_named[i].name, name))
			return features_named[i];
	return (struct feature){ name, arena_printf(arena, "__%s__", package_upper(arena, name)),
		arena_printf(arena, "__builtin_cpu_supports(\"%s\")", name) };
}

/* The instructions that a target's row needs, as the compiler's macros; how a call asks the CPU for them; and the
 * flags that turn them on. */
static void target_values(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const struct target *target = w->emit->target;
	struct value macros = value_list(arena), features = value_list(arena);
	const char *machine = "";
	for (const char *word = target->needs ? target->needs : ""; *word; word += strspn(word, " ")) {
		size_t length = strcspn(word, " ");
		char *one = arena_copy(arena, word, length);
		if (word == target->needs)
			value_list_add(macros,
			        value_string(*one == '_'                 ? one
			                        : !strcmp(one, "x86-64") ? "__x86_64__"
			                                                 : arena_printf(arena, "__%s__", one)));
		else {
			struct feature feature = feature_of(arena, one);
			if (feature.macro)
				value_list_add(macros, value_string(feature.macro));
			if (feature.asked)
				value_list_add(features, value_string(feature.asked));
		}
		word += length;
	}
	for (const char *word = target->cc_flags ? target->cc_flags : ""; *word; word += strspn(word, " ")) {
		size_t length = strcspn(word, " ");
		if (!strncmp(word, "-m", 2))
			machine = arena_printf(arena, "%s%s%.*s", machine, *machine ? " " : "", (int)length, word);
		word += length;
	}
	value_set(w->globals, "target", target->name, "macros", macros, "features", features, "machine", machine);
}

void package_source(struct writing *w, const char *file)
{
	push(w->emit->arena, &w->sources, file);
	push(w->emit->arena, &w->source_flags, w->emit->target->cc_flags);
}

int64_t package_workspace(const struct writing *w, bool all)
{
	int64_t bytes = w->lowered->workspace_bytes;
	for (int p = 0; (all || w->package->cpus) && p < w->package->part_count; p++)
		if (w->package->parts[p].lowered->workspace_bytes > bytes)
			bytes = w->package->parts[p].lowered->workspace_bytes;
	return bytes;
}

/* A pool that is called as a memory of the board lies in that. */
static const char *pool_section(const struct writing *w, size_t i)
{
	const struct named_memory *memory = &w->lowered->memories.at[i];
	if (memory->section)
		return memory->section;
	return w->package->board && board_memory_find(w->package->board, memory->name)
	        ? arena_printf(w->emit->arena, ".%s", memory->name)
	        : "";
}

json_t *pools_json(const struct lowered *lowered)
{
	json_t *pools = json_array();
	for (size_t i = 0; lowered_has_memories(lowered) && i < lowered->workspace_pools.count; i++)
		json_array_append_new(pools,
		        json_pack("{s:s,s:I,s:I}", "name", lowered->workspace_pools.at[i].name, "bytes",
		                (json_int_t)lowered->workspace_pools.at[i].bytes, "limit",
		                (json_int_t)lowered->memories.at[i].bytes));
	return pools;
}

struct value package_pools(const struct writing *w, bool all)
{
	struct arena *arena = w->emit->arena;
	struct value list = value_list(arena);
	bool named = lowered_has_memories(w->lowered);
	FOR (i, (named ? w->lowered->workspace_pools.count : 1)) {
		const char *name = w->lowered->workspace_pools.at[i].name;
		int64_t bytes = named ? w->lowered->workspace_pools.at[i].bytes : package_workspace(w, all);
		for (int p = 0; named && all && p < w->package->part_count; p++)
			if (w->package->parts[p].lowered->workspace_pools.at[i].bytes > bytes)
				bytes = w->package->parts[p].lowered->workspace_pools.at[i].bytes;
		value_list_add(list,
		        value_dict_of(arena, "name", name, "macro", package_upper(arena, name), "bytes", bytes,
		                "section", named ? pool_section(w, i) : ""));
	}
	return list;
}

/* Whether an index of elements may not fit 32 bits. */
static bool indexes_far(const struct lowered *lowered)
{
	int64_t most =
	        lowered->workspace_bytes > lowered->weights_bytes ? lowered->workspace_bytes : lowered->weights_bytes;
	FOR_ALL (i, lowered->program->all)
		most = scheduled(lowered->program->all.at[i])->bytes > most
		        ? scheduled(lowered->program->all.at[i])->bytes
		        : most;
	return most > INT32_MAX;
}

void package_part(struct writing *w, int number)
{
	const struct package *package = w->package;
	const struct part *part = package->parts + number;
	const struct lowered *lowered = part->lowered;
	struct arena *arena = w->emit->arena;
	struct value flags = value_list(arena);
	w->part = number;
	w->of = part;
	w->lowered = lowered;
	const char *name = package->cpus ? package->name : part->name;
	if (part->target)
		w->emit->target = part->target;
	w->emit->name = w->scratch ? emit_part_prefix(arena, number) : part->name;
	w->input_labels = labels_of(arena, part, part->input_names, lowered->program->inputs.count);
	w->output_labels = labels_of(arena, part, part->output_names, lowered->program->outputs.count);
	w->input_fields =
	        fields_of(arena, w->input_labels, lowered->program->inputs.count, package_upper(arena, package->name));
	w->output_fields = fields_of(
	        arena, w->output_labels, lowered->program->outputs.count, package_upper(arena, package->name));
	add_slots(w);
	struct value globals = w->globals = value_dict(arena);
	value_set(globals, "layout", value_list(arena), "states", slots_value(w), "state_bytes", w->state_bytes,
	        "library", package->name, "name", name, "unit", part->name, "cpus", package->cpus, "NAME",
	        package_upper(arena, name), "OK", emit_ok(arena, package_upper(arena, name)), "LIBRARY",
	        package_upper(arena, package->name), "LIBRARY_OK", emit_ok(arena, package_upper(arena, package->name)),
	        "cmake_target", emit_cmake_target(arena, package->name), "model", emit_quiet(arena, part->model),
	        "version", INGOT_VERSION, "options", emit_quiet(arena, package->options), "numbers", part->numbers,
	        "log", w->emit->target->options.log, "far", indexes_far(lowered), "managed", package->managed, "inputs",
	        tensors_value(w, true), "outputs", tensors_value(w, false), "images",
	        w->images.list ? w->images : value_list(arena), "linked_parts", w->linked);
	value_set(globals, "checks", package_checks(w), "threads", package->threads, "bare",
	        w->emit->target->freestanding, "parallel",
	        value_bool(!w->emit->target->freestanding || package->threads > 1), "stepwise", package->stepwise,
	        "workspace_bytes", package_workspace(w, false), "pools", package_pools(w, false), "workspace_align",
	        lowered->workspace_align, "weights_bytes", w->weights_bytes, "LIBRARY_BAD_WEIGHTS",
	        value_printf(arena, "%s_BAD_WEIGHTS", package_upper(arena, package->cpus ? package->name : part->name)),
	        "linked", value_bool(w->weights_bytes && !w->beside), "beside", w->beside, "stack_bytes",
	        w->stack_bytes[number] ? value_int(w->stack_bytes[number]) : value_none(), "stack_by",
	        package->cc ? emit_quiet(arena, package->cc) : "");
	value_list_add(flags, value_string(w->emit->target->cc_flags));
	if (package->cflags)
		value_list_add(flags, value_string(package->cflags));
	target_values(w);
	value_set(globals, "flags", flags);
}

void package_begin(struct writing *w)
{
	w->stack_bytes = arena_new_array(w->emit->arena, int64_t, (size_t)w->package->part_count);
	w->linked = value_list(w->emit->arena);
	share_items(w);
	for (size_t i = 0; !w->package->managed && i < w->package->state_count; i++) {
		const struct state_pair *pair = w->package->states + i;
		bool known = false;
		FOR (p, w->package->part_count) {
			const struct part *part = w->package->parts + p;
			size_t count = part->lowered->program->inputs.count;
			known |= name_number(
			                 labels_of(w->emit->arena, part, part->input_names, count), count, pair->input)
			        < count;
		}
		if (!known)
			fail(w->emit->build, EXIT_USAGE, NULL, "--state %s=%s: no graph has an input of that name",
			        pair->input, pair->output);
	}
	package_part(w, 0);
	if (w->package->sizes)
		w->package->sizes->state = w->state_bytes;
}

static void package_files(struct writing *w)
{
	static const struct {
		const char *family;
		void (*add)(struct writing *);
	} writers[] = { { "c", package_c }, { "cuda", package_cuda } };
	package_begin(w);
	w->files = file_set_new(w->emit->build, w->directory);
	package_read_old(w);
	FOR (p, w->package->part_count)
		FOR (i, w->package->parts[p].dump_count) {
			const struct dump *dump = w->package->parts[p].dumps + i;
			file_set_add(w->files,
			        arena_printf(w->emit->arena, "%s.%s.txt", w->package->parts[p].name, dump->stage),
			        dump->text, strlen(dump->text));
		}
	FOR (i, COUNT(writers))
		if (!strcmp(writers[i].family, w->emit->target->family))
			writers[i].add(w);
}

void packages_write(const struct package_order *orders, int count)
{
	struct build *build = orders->emit->build;
	struct writing *all = arena_new_array(build->arena, struct writing, (size_t)count);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		FOR (i, count) {
			all[i] = (struct writing){
				.emit = orders[i].emit, .package = orders[i].package, .directory = orders[i].directory
			};
			package_files(&all[i]);
		}
		FOR (i, count) {
			file_set_commit(all[i].files);
			package_remove_old(&all[i]);
		}
	}
	build->out = out;
	for (int i = count; i-- > 0;)
		file_set_drop(all[i].files);
	if (build->code)
		longjmp(*out, 1);
}

void package_write(struct emit *emit, const struct package *package, const char *directory)
{
	packages_write(&(struct package_order){ emit, package, directory }, 1);
}
