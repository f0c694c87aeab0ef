/* node.c: tensor nodes: identity, type, size, mode; what they are called. */
#include "inside.h"

/* ---- life ---- */

void node_release(struct object *object)
{
	struct node *node = (struct node *)object;
	struct ingot_runtime *runtime = object->runtime;
	for (uint32_t i = 0; i < node->label_count && node->labels; i++)
		memory_free(runtime, node->labels[i]);
	memory_free(runtime, node->labels);
	hazard_release(runtime, &node->host_hazard);
	memory_free(runtime, node->code_name);
	memory_free(runtime, node->note);
	prepared_release(node);
	if (node->parent)
		object_drop(&node->parent->object);
	if (INGOT_THREADS && node->host_owned) {
		node->next_dead = runtime->dead.nodes;
		runtime->dead.nodes = node;
		return;
	}
	node_host_free(node);
	memory_free(runtime, node);
}

void node_host_free(const struct node *node)
{
	if (INGOT_THREADS && node->pinned)
		node->pinned->backend->table->host_unpin(node->pinned->raw, node->host);
	if (node->host_owned)
		memory_free(node->object.runtime, node->host);
}

static enum ingot_status options_check(const struct ingot_node_options *options)
{
	uint64_t count = 1;
	if (options->rank > INGOT_MAX_RANK)
		return say(INGOT_RANGE, "rank %u; at most %d", options->rank, INGOT_MAX_RANK);
	if ((options->rank && !options->dims) || (options->label_count && !options->labels))
		return say(INGOT_INVALID, "a node without dims or labels");
	if (options->dtype && !ingot_dtype_bits((enum ingot_dtype)options->dtype))
		return say(INGOT_INVALID, "%u is no type of numbers", options->dtype);
	if (options->mode & ~(uint32_t)INGOT_MODE_OPEN || options->sharing > INGOT_SHARED)
		return say(INGOT_INVALID, "mode %u, sharing %u", options->mode, options->sharing);
	for (uint32_t i = 0; i < options->rank; i++) {
		int64_t left = options->left ? options->left[i] : 0, right = options->right ? options->right[i] : 0;
		if (options->dims[i] < 0 || left < 0 || right < 0 || left > options->dims[i]
		        || right > options->dims[i] - left)
			return say(INGOT_RANGE, "axis %u: %lld elements with margins %lld and %lld", i,
			        (long long)options->dims[i], (long long)left, (long long)right);
		if (__builtin_mul_overflow(count, (uint64_t)options->dims[i], &count) || count > UINT64_C(1) << 56)
			return say(INGOT_RANGE, "the elements of the node overflow");
	}
	return INGOT_OK;
}

struct node *node_make(
        struct ingot_runtime *runtime, const struct ingot_node_options *options, enum ingot_status *status)
{
	char why[200];
	if ((*status = options_check(options)))
		return NULL;
	struct node *node = memory_new(runtime, 1, sizeof *node);
	if (!node) {
		*status = say(INGOT_MEMORY, "no memory for a node");
		return NULL;
	}
	if ((*status = handle_new(runtime, &node->object, KIND_NODE))) {
		memory_free(runtime, node);
		return NULL;
	}
	node->id = runtime->next_node++;
	node->labels = memory_new(runtime, options->label_count, sizeof *node->labels);
	for (uint32_t i = 0; node->labels && i < options->label_count; i++, node->label_count++)
		if (!(node->labels[i] = memory_copy(runtime, options->labels[i] ? options->labels[i] : "")))
			break;
	if (!node->labels || node->label_count < options->label_count) {
		*status = say(INGOT_MEMORY, "no memory for the labels of a node");
		handle_close(&node->object);
		return NULL;
	}
	node->rank = options->rank;
	for (uint32_t i = 0; i < node->rank; i++) {
		node->dims[i] = options->dims[i];
		node->left[i] = options->left ? options->left[i] : 0;
		node->right[i] = options->right ? options->right[i] : 0;
	}
	node->host_hazard.strict = true;
	node->margin = options->margin;
	node->margin_open = options->margin_open;
	node->precision = options->dtype
	        ? (struct ingot_precision_state){ INGOT_PRECISION_SPECIFIED, options->dtype, false }
	        : (struct ingot_precision_state){ INGOT_PRECISION_DEFAULT, runtime->options.default_dtype, false };
	node->mode.mode = INGOT_MODE_OPEN;
	if ((options->mode && !ingot_mode_update(&node->mode, options->mode, options->provenance, why))
	        || (options->sharing
	                && !ingot_sharing_update(
	                        &node->mode, (enum ingot_sharing)options->sharing, options->provenance, why))) {
		*status = say(INGOT_CONFLICT, "%s", why);
		handle_close(&node->object);
		return NULL;
	}
	node->by_hand = options->sharing == INGOT_SHARED && options->provenance == INGOT_BY_USER;
	return node;
}

enum ingot_status ingot_node_new(
        struct ingot_runtime *runtime, const struct ingot_node_options *options, struct ingot_node *out)
{
	enum ingot_status status;
	NEED(runtime && options && out);
	NEED_LIVING(runtime);
	enter(runtime);
	struct node *node = node_make(runtime, options, &status);
	if (node)
		*out = HANDLE(ingot_node, node);
	leave(runtime);
	return status;
}

enum ingot_status node_wrap(struct node *node, void *data)
{
	char why[200];
	if (!ingot_mode_update(&node->mode, INGOT_HOSTED, INGOT_BY_WRAPPED, why))
		return say(INGOT_CONFLICT, "%s", why);
	node->precision.level = INGOT_PRECISION_SPECIFIED;
	node->host = data;
	host_written(node);
	return INGOT_OK;
}

enum ingot_status ingot_node_wrap(struct ingot_runtime *runtime, const struct ingot_node_options *options, void *data,
        uint64_t bytes, struct ingot_node *out)
{
	enum ingot_status status;
	NEED(runtime && options && out && data);
	NEED_LIVING(runtime);
	enter(runtime);
	struct node *node = node_make(runtime, options, &status);
	if (node) {
		uint64_t needed = node_bytes(node);
		if (needed != bytes)
			status = say(INGOT_MISMATCH, "an array of %llu bytes for a node of %llu",
			        (unsigned long long)bytes, (unsigned long long)needed);
		if (!status)
			status = node_wrap(node, data);
		if (status)
			handle_close(&node->object);
		else
			*out = HANDLE(ingot_node, node);
	}
	leave(runtime);
	return status;
}

enum ingot_status ingot_node_slice(struct ingot_node handle, int64_t first, int64_t rows, struct ingot_node *out)
{
	NEED(out);
	struct node *parent = ENTER(node, handle), *node;
	enum ingot_status status = INGOT_OK;
	if (!parent)
		return INGOT_STALE;
	struct ingot_runtime *runtime = handle.runtime;
	if (!parent->rank || first < 0 || rows < 0 || first > parent->dims[0] || rows > parent->dims[0] - first)
		status = say(INGOT_RANGE, "%lld rows from %lld of a node that has %lld", (long long)rows,
		        (long long)first, parent->rank ? (long long)parent->dims[0] : 0LL);
	else if (parent->left[0] || parent->right[0])
		status = say(INGOT_UNSUPPORTED, "a slice across margins of the leading axis");
	if (!status && parent->dims[0] && node_bytes(parent) % (uint64_t)parent->dims[0])
		status = say(INGOT_UNSUPPORTED, "the rows of the node share bytes");
	if (!status) {
		int64_t dims[INGOT_MAX_RANK];
		memcpy(dims, parent->dims, sizeof dims);
		dims[0] = rows;
		node = node_make(runtime,
		        &(struct ingot_node_options){ .rank = parent->rank,
		                .dims = dims,
		                .left = parent->left,
		                .right = parent->right,
		                .margin = parent->margin,
		                .margin_open = parent->margin_open,
		                .dtype = parent->precision.dtype,
		                .labels = (const char *const *)parent->labels,
		                .label_count = parent->label_count },
		        &status);
	}
	if (!status) {
		node->mode = parent->mode;
		node->parent = parent;
		object_keep(&parent->object);
		node->view_offset =
		        parent->dims[0] ? node_bytes(parent) / (uint64_t)parent->dims[0] * (uint64_t)first : 0;
		*out = HANDLE(ingot_node, node);
	}
	leave(runtime);
	return status;
}

void node_end(struct node *node)
{
	sharing_forget(node);
	handle_close(&node->object);
}

enum ingot_status ingot_node_close(struct ingot_node handle)
{
	NEED_OPEN(node, handle);
	node_end(node);
	leave(handle.runtime);
	return INGOT_OK;
}

struct node *node_base(struct node *node, uint64_t *offset)
{
	*offset = 0;
	for (; node->parent; node = node->parent)
		*offset += node->view_offset;
	return node;
}

void *node_host(struct node *node, struct node **base)
{
	uint64_t offset;
	*base = node_base(node, &offset);
	return (*base)->host ? (char *)(*base)->host + offset : NULL;
}

void node_host_settle(struct node *node)
{
	uint64_t offset;
	struct node *base = node_base(node, &offset);
	while (INGOT_THREADS && base->host_busy)
		change_wait(base->object.runtime);
}

/* ---- versions ---- */

uint64_t host_version(struct node *base) { return hazard_held(base->object.runtime, &base->host_hazard)->version; }

bool node_has_value(struct node *node) { return node_initial(node) || host_version(node); }

uint64_t node_newest(struct node *base)
{
	uint64_t newest = host_version(base);
	newest = newest > base->lost ? newest : base->lost;
	for (struct location *place = base->places; place; place = place->next_place) {
		uint64_t version = location_held(place)->version;
		newest = version > newest ? version : newest;
	}
	return newest;
}

void host_written(struct node *base)
{
	taint_set(base->object.runtime, &base->host_hazard.held, NULL);
	base->host_hazard.held.version = ++base->stamp;
}

/* ---- identity ---- */

static struct node *node_at(struct ingot_runtime *runtime, uint32_t id)
{
	for (EACH(node, node, runtime))
		if (node->id == id)
			return node;
	return NULL;
}

uint32_t ingot_node_id(struct ingot_node handle)
{
	struct node *node = ENTER(node, handle);
	if (!node)
		return UINT32_MAX;
	uint32_t id = node->id;
	leave(handle.runtime);
	return id;
}

bool ingot_node_equal(struct ingot_node a, struct ingot_node b)
{
	return a.runtime == b.runtime && a.index == b.index && a.generation == b.generation;
}

int ingot_node_compare(struct ingot_node a, struct ingot_node b)
{
	uint32_t x = ingot_node_id(a), y = ingot_node_id(b);
	return x < y ? -1 : x > y;
}

uint32_t ingot_node_hash(struct ingot_node handle)
{
	uint32_t id = ingot_node_id(handle) + 1; /* 0: stale */
	id = (id ^ id >> 16) * 0x45d9f3bu;
	return id ^ id >> 16;
}

bool ingot_node_set_find(const struct ingot_node *set, uint32_t count, struct ingot_node node, uint32_t *at)
{
	uint32_t low = 0, high = set ? count : 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (ingot_node_compare(set[middle], node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (at)
		*at = low;
	return set && low < count && ingot_node_compare(set[low], node) == 0;
}

enum ingot_status ingot_node_find(struct ingot_runtime *runtime, uint32_t id, struct ingot_node *out)
{
	NEED(runtime && out);
	NEED_LIVING(runtime);
	enter(runtime);
	struct node *node = node_at(runtime, id);
	if (node)
		*out = HANDLE(ingot_node, node);
	leave(runtime);
	return node ? INGOT_OK : say(INGOT_MISSING, "there is no node n%u", id);
}

/* The first of the live nodes after `id`; gives the lock back, as whoever walks them asks about the node. */
static bool node_next(struct ingot_runtime *runtime, int64_t *id, struct ingot_node *handle)
{
	struct node *found = NULL;
	enter(runtime);
	for (EACH(node, node, runtime))
		if (node->id > *id && (!found || node->id < found->id))
			found = node;
	if (found) {
		*id = found->id;
		*handle = HANDLE(ingot_node, found);
	}
	leave(runtime);
	return found != NULL;
}

uint32_t ingot_node_list(struct ingot_runtime *runtime, bool (*keep)(struct ingot_node, void *), void *user,
        struct ingot_node *nodes, uint32_t room)
{
	uint32_t count = 0;
	struct ingot_node handle;
	if (!runtime_lives(runtime) || (!nodes && room))
		return 0;
	for (int64_t id = -1; node_next(runtime, &id, &handle);) {
		if (keep && !keep(handle, user))
			continue;
		if (count < room)
			nodes[count] = handle;
		count++;
	}
	return count;
}

static void label_print(struct sink *sink, const struct node *node)
{
	for (uint32_t i = 0; i < node->label_count; i++)
		sink_printf(sink, "%s%s", i ? "_" : "", node->labels[i]);
}

size_t node_debug_name(const struct node *node, char *text, size_t room)
{
	struct sink sink = { text, room, 0 };
	sink_printf(&sink, "n%u", node->id);
	if (node->label_count)
		sink_printf(&sink, "_");
	label_print(&sink, node);
	return sink_end(&sink);
}

static void dims_print(struct sink *sink, const struct node *node, bool axes)
{
	for (uint32_t i = 0; i < node->rank; i++) {
		long long left = node->left[i], right = node->right[i], inner = node->dims[i] - left - right;
		if (i)
			sink_printf(sink, "x");
		if (axes)
			sink_printf(sink, "%u:", i);
		if (left || right)
			sink_printf(sink, "(%lld+%lld+%lld)", left, inner, right);
		else
			sink_printf(sink, "%lld", inner);
	}
	if (!node->rank)
		sink_printf(sink, "scalar");
}

static void header_print(struct sink *sink, struct node *node, bool debug)
{
	char mode[128];
	uint64_t bytes = 0;
	ingot_mode_text(node->mode.mode, (enum ingot_sharing)node->mode.sharing, mode, sizeof mode);
	sink_printf(sink, "n%u ", node->id);
	label_print(sink, node);
	sink_printf(sink, "%s%s [", node->label_count ? " " : "",
	        ingot_dtype_name((enum ingot_dtype)node->precision.dtype));
	dims_print(sink, node, debug);
	if (node->storage_bytes)
		bytes = node->storage_bytes;
	else
		ingot_dtype_bytes((enum ingot_dtype)node->precision.dtype, node_count(node), &bytes);
	sink_printf(sink, "] %llu bytes, %s", (unsigned long long)bytes, mode);
	if (!debug)
		return;
	const char *text = ingot_provenance_text((enum ingot_provenance)(node->mode.provenance % 1000));
	sink_printf(sink, " by %u (%s), %s", node->mode.provenance, text ? text : "?",
	        ingot_precision_name((enum ingot_precision)node->precision.level));
	struct node *base;
	if (node_host(node, &base))
		sink_printf(sink, ", host");
	if (node->parent)
		sink_printf(sink, ", part of n%u", node->parent->id);
	if (node->note)
		sink_printf(sink, " | %s", node->note);
}

enum words { WORDS_LABEL, WORDS_DEBUG, WORDS_DIMS, WORDS_HEADER, WORDS_NOTE, WORDS_CODE };

/* Whether another live node would get the same words. */
static bool repeated(struct ingot_runtime *runtime, const struct node *node)
{
	char own[128], other[128];
	bool grad = ingot_name_no_grad((const char *const *)node->labels, node->label_count, own, sizeof own);
	if (!own[0])
		return false;
	for (EACH(node, one, runtime)) {
		if (one != node
		        && ingot_name_no_grad((const char *const *)one->labels, one->label_count, other, sizeof other)
		                == grad
		        && !strcmp(own, other))
			return true;
	}
	return false;
}

static size_t node_words(struct ingot_node handle, enum words words, bool flag, char *text, size_t room)
{
	struct node *node = ENTER(node, handle);
	struct sink sink = { text, room, 0 };
	if (!node)
		return 0;
	switch (words) {
	case WORDS_LABEL:
		label_print(&sink, node);
		if (!node->label_count)
			sink_printf(&sink, "n%u", node->id);
		break;
	case WORDS_DEBUG: sink.count = node_debug_name(node, text, room); break;
	case WORDS_DIMS: dims_print(&sink, node, flag); break;
	case WORDS_HEADER: header_print(&sink, node, flag); break;
	case WORDS_NOTE: sink_printf(&sink, "%s", node->note ? node->note : ""); break;
	case WORDS_CODE:
		if (node->code_name)
			sink_printf(&sink, "%s", node->code_name);
		else
			sink.count = ingot_name_ident(handle.runtime->options.name_style, node->id,
			        (const char *const *)node->labels, node->label_count, repeated(handle.runtime, node),
			        text, room);
	}
	leave(handle.runtime);
	return sink_end(&sink);
}

size_t ingot_node_label(struct ingot_node node, char *text, size_t room)
{
	return node_words(node, WORDS_LABEL, false, text, room);
}
size_t ingot_node_debug_name(struct ingot_node node, char *text, size_t room)
{
	return node_words(node, WORDS_DEBUG, false, text, room);
}
size_t ingot_node_dims_text(struct ingot_node node, bool axes, char *text, size_t room)
{
	return node_words(node, WORDS_DIMS, axes, text, room);
}
size_t ingot_node_header(struct ingot_node node, bool debug, char *text, size_t room)
{
	return node_words(node, WORDS_HEADER, debug, text, room);
}
size_t ingot_node_code_name(struct ingot_node node, char *text, size_t room)
{
	return node_words(node, WORDS_CODE, false, text, room);
}

size_t ingot_node_headers(struct ingot_runtime *runtime, bool (*keep)(struct ingot_node, void *), void *user,
        enum ingot_log_level level, char *text, size_t room)
{
	struct sink sink = { text, room, 0 };
	struct ingot_node handle;
	char name[128];
	for (int64_t id = -1; runtime_lives(runtime) && node_next(runtime, &id, &handle);) {
		if (keep && !keep(handle, user))
			continue;
		struct node *node = ENTER(node, handle);
		if (!node)
			continue; /* `keep`, or another thread, closed it */
		if (level == INGOT_LOG_NAMES) {
			node_debug_name(node, name, sizeof name);
			sink_printf(&sink, "%s", name);
		} else
			header_print(&sink, node, level != INGOT_LOG_HEADERS);
		sink_printf(&sink, "\n");
		leave(runtime);
	}
	return sink_end(&sink);
}

size_t ingot_node_note_text(struct ingot_node handle, char *text, size_t room)
{
	return node_words(handle, WORDS_NOTE, false, text, room);
}

enum ingot_status ingot_node_shape(struct ingot_node handle, struct ingot_node_shape *shape)
{
	NEED(shape);
	NEED_OPEN(node, handle);
	*shape = (struct ingot_node_shape){
		.rank = node->rank, .margin = node->margin, .margin_open = node->margin_open
	};
	memcpy(shape->dims, node->dims, sizeof shape->dims);
	memcpy(shape->left, node->left, sizeof shape->left);
	memcpy(shape->right, node->right, sizeof shape->right);
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_node_code_name_update(struct ingot_node handle, const char *name)
{
	NEED(name);
	NEED_OPEN(node, handle);
	enum ingot_status status = INGOT_OK;
	if (ingot_name_better(node->id, node->code_name, name)) {
		char *copy = memory_copy(handle.runtime, name);
		if (copy) {
			memory_free(handle.runtime, node->code_name);
			node->code_name = copy;
		} else
			status = say(INGOT_MEMORY, "no memory for a name");
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_note(struct ingot_node handle, const char *text)
{
	NEED(text);
	NEED_OPEN(node, handle);
	char *copy = memory_copy(handle.runtime, text);
	if (copy) {
		memory_free(handle.runtime, node->note);
		node->note = copy;
	}
	leave(handle.runtime);
	return copy ? INGOT_OK : say(INGOT_MEMORY, "no memory for a note");
}

/* ---- type and size ---- */

enum ingot_dtype node_dtype(struct node *node)
{
	node->precision.frozen = true;
	return (enum ingot_dtype)node->precision.dtype;
}

/* Neither overflows: that was looked at when the node was made, for the widest type. */
uint64_t node_count(const struct node *node)
{
	uint64_t count = 1;
	for (uint32_t i = 0; i < node->rank; i++)
		count *= (uint64_t)node->dims[i];
	return count;
}

uint64_t node_bytes(struct node *node)
{
	uint64_t bytes = node->storage_bytes;
	enum ingot_dtype dtype = node_dtype(node);
	if (!bytes)
		ingot_dtype_bytes(dtype, node_count(node), &bytes);
	return bytes;
}

enum ingot_status ingot_node_dtype_update(
        struct ingot_node handle, enum ingot_precision level, enum ingot_dtype dtype, const enum ingot_dtype *only_if)
{
	if ((unsigned)level > INGOT_PRECISION_SPECIFIED || !ingot_dtype_bits(dtype))
		return say(INGOT_INVALID, "precision %d of type %d", (int)level, (int)dtype);
	NEED_OPEN(node, handle);
	enum ingot_status status = INGOT_OK;
	char why[200], name[80];
	if ((!only_if || node->precision.dtype == (uint32_t)*only_if)
	        && !ingot_precision_update(&node->precision, level, dtype, why)) {
		node_debug_name(node, name, sizeof name);
		status = say(INGOT_CONFLICT, "%s: %s", name, why);
	}
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_dtype(struct ingot_node handle, enum ingot_dtype *dtype)
{
	ANSWER(node, handle, dtype, node_dtype(node));
}

enum ingot_status ingot_node_count(struct ingot_node handle, uint64_t *count)
{
	ANSWER(node, handle, count, node_count(node));
}

enum ingot_status ingot_node_bytes(struct ingot_node handle, uint64_t *bytes)
{
	ANSWER(node, handle, bytes, node_bytes(node));
}

enum ingot_status node_placeable(const struct node *node)
{
	char mode[128];
	if (node->mode.mode & INGOT_MATERIALIZED)
		return INGOT_OK;
	ingot_mode_text(node->mode.mode, (enum ingot_sharing)node->mode.sharing, mode, sizeof mode);
	return say(INGOT_CONFLICT, "n%u is %s (by %u), so it has no memory", node->id, mode, node->mode.provenance);
}

uint32_t node_align(const struct node *node)
{
	uint32_t bytes = ingot_dtype_bits((enum ingot_dtype)node->precision.dtype) / 8;
	return node->align ? node->align : bytes ? bytes : 1;
}

/* ---- mode ---- */

enum ingot_status node_conflict(const struct node *node, const char *why)
{
	char name[80];
	node_debug_name(node, name, sizeof name);
	return say(INGOT_CONFLICT, "%s: %s", name, why);
}

enum ingot_status ingot_node_mode_update(struct ingot_node handle, enum ingot_mode mode, enum ingot_provenance by)
{
	if (!mode || (uint32_t)mode & ~(uint32_t)INGOT_MODE_OPEN)
		return say(INGOT_INVALID, "%u is no memory mode", (unsigned)mode);
	NEED_OPEN(node, handle);
	char why[200];
	enum ingot_status status = ingot_mode_update(&node->mode, mode, by, why) ? INGOT_OK : node_conflict(node, why);
	leave(handle.runtime);
	return status;
}

enum ingot_status ingot_node_sharing_update(
        struct ingot_node handle, enum ingot_sharing sharing, enum ingot_provenance by)
{
	if ((unsigned)sharing > INGOT_SHARED)
		return say(INGOT_INVALID, "%d is no sharing", (int)sharing);
	NEED_OPEN(node, handle);
	char why[200];
	enum ingot_status status =
	        ingot_sharing_update(&node->mode, sharing, by, why) ? INGOT_OK : node_conflict(node, why);
	node->by_hand |= !status && sharing == INGOT_SHARED && by == INGOT_BY_USER;
	leave(handle.runtime);
	return status;
}

struct ingot_mode_state ingot_node_mode(struct ingot_node handle)
{
	struct ingot_mode_state state = { 0 };
	struct node *node = ENTER(node, handle);
	if (node) {
		state = node->mode;
		leave(handle.runtime);
	}
	return state;
}

/* Settles the node where the answer is still open, then says whether its mode lies in the set. */
static enum ingot_status node_question(struct ingot_node handle, uint32_t set, enum ingot_provenance by, bool *answer)
{
	NEED_OPEN(node, handle);
	bool yes = node->mode.mode && !(node->mode.mode & ~set), no = !(node->mode.mode & set);
	if (!yes && !no)
		ingot_mode_settle(&node->mode, node_bytes(node), by);
	if (answer)
		*answer = (node->mode.mode & set) != 0;
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_node_is_virtual(struct ingot_node node, enum ingot_provenance by, bool *answer)
{
	return node_question(node, INGOT_VIRTUAL, by, answer);
}

enum ingot_status ingot_node_is_hosted(struct ingot_node node, enum ingot_provenance by, bool *answer)
{
	return node_question(node, INGOT_HOSTED, by, answer);
}

enum ingot_status ingot_node_is_materialized(struct ingot_node node, enum ingot_provenance by, bool *answer)
{
	return node_question(node, INGOT_MATERIALIZED, by, answer);
}

enum ingot_status ingot_node_is_in_context(
        struct ingot_node node, bool host_memory, enum ingot_provenance by, bool *answer)
{
	/* Where device memory is host memory, what only the host changes is read in place. */
	return node_question(
	        node, host_memory ? INGOT_ON_DEVICE | INGOT_HOSTED_CHANGED : INGOT_MATERIALIZED, by, answer);
}

enum ingot_status ingot_node_mode_default(struct ingot_node handle, enum ingot_provenance by)
{
	NEED_OPEN(node, handle);
	ingot_mode_settle(&node->mode, node_bytes(node), by);
	leave(handle.runtime);
	return INGOT_OK;
}

enum ingot_status ingot_node_transfers(struct ingot_node handle, uint64_t *uploads, uint64_t *downloads)
{
	NEED_OPEN(node, handle);
	if (uploads)
		*uploads = node->uploads;
	if (downloads)
		*downloads = node->downloads;
	leave(handle.runtime);
	return INGOT_OK;
}
