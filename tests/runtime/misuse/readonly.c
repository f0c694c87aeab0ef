/* readonly.c: writing what is constant or another stream's; what transfers carry; memory that is not aligned. */
#include <sys/mman.h>
#include "misuse.h"

static uint32_t constants_pool(struct scene *t)
{
	struct ingot_location at;
	MUST(ingot_context_location(t->linked, t->w, &at));
	return at.pool;
}

#define R(name, expression) WAY(readonly, name, expression)
R(set_all, ingot_node_set_all(t->w, (double[16]){ 0 }, 16))
R(set, ingot_node_set(t->w, (int64_t[]){ 0 }, 1, 5))
R(node_write, ingot_node_write(t->w))
R(margins, ingot_node_reset_margins(t->w, 0))
R(from_host, (MUST(ingot_node_host_create(t->w)), ingot_from_host(t->linked, t->w, NULL, NULL)))
R(write, ingot_write(t->linked, t->w, t->host, 64, NULL))
R(device_to_device, ({
	struct ingot_context own;
	MUST(ingot_context_new(t->other, &own));
	enum ingot_status status = ingot_init_from_host(own, t->w, t->host, 64, &own);
	status ? status : ingot_device_to_device(t->w, t->linked, INGOT_MERGE_NONE, own, NULL, NULL);
}))
R(pool_fill, ingot_pool_fill(t->stream, constants_pool(t), 0, 64, 0, NULL))
R(pool_write, ingot_pool_write(t->stream, constants_pool(t), 0, t->host, 64, NULL))
R(pool_close, ingot_pool_close(t->device, constants_pool(t)))
R(pool_replace, ingot_pool_replace(t->device, constants_pool(t), 64, 0, INGOT_SLAB_PRIVATE))
R(buffer_write,
        ingot_buffer_write(t->stream, &(struct ingot_buffer){ constants_pool(t), INGOT_F32, 64 }, t->host, 64, 0, 64))
R(launch,
        ingot_kernel_launch(t->stream, t->kernel, (uint32_t[]){ 1, 1, 1 }, NULL,
                (struct ingot_buffer[]){ t->buffer, { constants_pool(t), INGOT_F32, 64 } }, 2, NULL))
R(link_writer, ({
	struct ingot_library pair;
	MUST(ingot_library_load(
	        t->runtime, &small_pair_module, &(struct ingot_library_options){ .with = t->library }, &pair));
	ingot_link(t->linked, pair, "constant", &t->twice);
}))
R(link_writer_apart, ({
	struct ingot_library pair;
	MUST(ingot_library_load(t->runtime, &small_pair_module, NULL, &pair));
	ingot_link(t->context, pair, "constant", &t->twice);
}))
R(value_stays, ({
	float now[16] = { 0 };
	struct ingot_event done;
	ingot_node_set_all(t->w, (double[16]){ 0 }, 16);
	ingot_from_host(t->linked, t->w, NULL, NULL);
	ingot_pool_fill(t->stream, constants_pool(t), 0, 64, 0, NULL);
	MUST(ingot_read(t->linked, t->w, now, 64, &done));
	MUST(ingot_event_sync(done));
	THAT(!memcmp(now, small_weights, 64));
}))
/* By hand, in two contexts: once on the device, and with its value. */
R(placed_by_hand, ({
	struct ingot_context one, two;
	struct ingot_location a, b, c;
	float now[16] = { 0 };
	struct ingot_event done;
	MUST(ingot_context_new(t->stream, &one));
	MUST(ingot_context_new(t->other, &two));
	MUST(ingot_context_place(one, &t->w, 1));
	MUST(ingot_context_place(two, &t->w, 1));
	MUST(ingot_context_location(one, t->w, &a));
	MUST(ingot_context_location(two, t->w, &b));
	MUST(ingot_context_location(t->linked, t->w, &c));
	MUST(ingot_read(two, t->w, now, 64, &done));
	MUST(ingot_event_sync(done));
	THAT(a.pool == b.pool && a.pool == c.pool && !memcmp(now, small_weights, 64));
}))
/* A shared node has one owner, however it was placed. */
R(shared_by_hand, ({
	struct ingot_library pair;
	struct ingot_context one, two;
	struct ingot_location a, b;
	struct ingot_node shared;
	MUST(ingot_library_load(t->runtime, &small_pair_module, NULL, &pair));
	MUST(ingot_library_node(pair, "shared", &shared));
	MUST(ingot_context_new(t->stream, &one));
	MUST(ingot_context_new(t->other, &two));
	MUST(ingot_context_place(one, &shared, 1));
	MUST(ingot_context_place(two, &shared, 1));
	MUST(ingot_context_location(one, shared, &a));
	MUST(ingot_context_location(two, shared, &b));
	if (a.pool != b.pool)
		return INGOT_FAILED;
	MUST(ingot_write(one, shared, t->host, 64, NULL));
	ingot_write(two, shared, t->host, 64, NULL);
}))
#undef R

/* ---- a transfer carries its value to its consumer, streaming or not ---- */

static enum ingot_status merged(struct scene *t, enum ingot_merge how, bool twice)
{
	struct ingot_node grad, sum;
	struct ingot_context beside, linked;
	struct ingot_event done;
	float ones[16], twos[16], result[16] = { 0 };
	for (int i = 0; i < 16; i++)
		ones[i] = 1, twos[i] = 2;
	MUST(ingot_library_node(t->library, "grad", &grad));
	MUST(ingot_library_node(t->library, "sum", &sum));
	MUST(ingot_context_new(t->other, &beside));
	MUST(ingot_context_place(beside, &grad, 1));
	MUST(ingot_link(t->context, t->library, "merge", &t->twice));
	MUST(ingot_routine_context(t->twice, &linked));
	MUST(ingot_write(beside, grad, ones, 64, NULL));
	MUST(ingot_device_to_device(grad, linked, how, beside, NULL, NULL));
	MUST(ingot_write(beside, grad, twos, 64, &done)); /* before its consumer runs */
	MUST(ingot_routine_run(t->twice, NULL));
	if (twice)
		MUST(ingot_routine_run(t->twice, NULL));
	MUST(ingot_read(linked, sum, result, 64, &done));
	MUST(ingot_event_sync(done));
	MUST(ingot_device_sync(t->device));
	for (int i = 0; i < 16; i++)
		if (result[i] != (twice ? 2 : 1))
			return INGOT_FAILED;
	return INGOT_OK;
}
static enum ingot_status merge_copied(struct scene *t) { return merged(t, INGOT_MERGE_COPY, false); }
static enum ingot_status merge_streamed(struct scene *t) { return merged(t, INGOT_MERGE_STREAMING, false); }
static enum ingot_status merge_streamed_twice(struct scene *t) { return merged(t, INGOT_MERGE_STREAMING, true); }

/* The source's context may be closed, and its memory freed, before the consumer asks. */
static enum ingot_status merge_from_freed(struct scene *t)
{
	struct ingot_node grad;
	struct ingot_context beside;
	float *mine = aligned_alloc(64, 64);
	if (!t->host_memory) {
		free(mine);
		return INGOT_MISMATCH;
	}
	MUST(ingot_library_node(t->library, "grad", &grad));
	MUST(ingot_context_new(t->other, &beside));
	MUST(ingot_context_adopt(beside, grad, mine, 64));
	MUST(ingot_link(t->context, t->library, "merge", &t->twice));
	MUST(ingot_routine_context(t->twice, &t->linked));
	MUST(ingot_device_to_device(grad, t->linked, INGOT_MERGE_STREAMING, beside, NULL, NULL));
	MUST(ingot_context_close(beside));
	free(mine);
	return ingot_routine_run(t->twice, NULL);
}

#define S(group, name, status) \
	{ \
#group, #name, status, status, group##_##name, NULL \
	}
#define C(name) S(readonly, name, INGOT_CONFLICT)
const struct way ways_readonly[] = { C(set_all), C(set), C(node_write), C(margins), C(from_host), C(write),
	C(device_to_device), C(pool_fill), C(pool_write), S(readonly, pool_close, INGOT_BUSY),
	S(readonly, pool_replace, INGOT_BUSY), C(buffer_write), C(launch), C(link_writer), C(link_writer_apart),
	S(readonly, value_stays, INGOT_OK), S(readonly, placed_by_hand, INGOT_OK), C(shared_by_hand),
	S(merge, copied, INGOT_OK), S(merge, streamed, INGOT_OK), S(merge, streamed_twice, INGOT_OK),
	S(merge, from_freed, INGOT_MISMATCH), { 0 } };

/* ---- not aligned ---- */

#define U(name, expression) WAY(unaligned, name, expression)
U(pool_open, ingot_pool_open(t->device, 64, 3, INGOT_SLAB_PRIVATE, &t->pool))
U(pool_replace, ingot_pool_replace(t->device, 9, 64, 48, INGOT_SLAB_PRIVATE))
U(pool_ensure, ingot_pool_ensure(t->device, 16, 24, &t->pool))
U(pool_adopt, ingot_pool_adopt(t->device, (char *)t->host + 1, 32, &t->pool))
U(context_adopt, ingot_context_adopt(t->context, t->y, (char *)t->host + 2, 64))
U(context_adopt_new, ({
	struct ingot_node node;
	MUST(ingot_node_new(t->runtime, &(struct ingot_node_options){ .dtype = INGOT_F64 }, &node));
	ingot_context_adopt(t->context, node, (char *)t->host + 4, 8);
}))
#undef U

/* What is reused lies as aligned as asked for: the kernel sees it. */
static uintptr_t seen;
static int kernel_sees(const struct ingot_group *group, void *const *arguments)
{
	(void)group;
	seen |= (uintptr_t)arguments[0];
	return 0;
}
static const struct ingot_module_kernel seeing = { .name = "sees", .argument_count = 1, .run = kernel_sees };

static enum ingot_status unaligned_ensure_aligns(struct scene *t)
{
	for (int i = 0; i < 8; i++) {
		struct ingot_buffer buffer = { .dtype = INGOT_U8, .bytes = 64 };
		struct ingot_event done;
		MUST(ingot_pool_ensure(t->device, 64, 64, &buffer.pool));
		MUST(ingot_pool_ensure(t->device, 64, 1 << 16, &buffer.pool));
		MUST(ingot_kernel_launch(t->stream, &seeing, (uint32_t[]){ 1, 1, 1 }, NULL, &buffer, 1, &done));
		MUST(ingot_event_sync(done));
	}
	return THAT(!(seen & 0xffff));
}

/* Constants that lie anywhere are copied, and are the same. */
static enum ingot_status unaligned_constants(struct scene *t)
{
	char *memory = t->scratch = calloc(1, 64 + 1);
	static struct ingot_module module;
	struct ingot_library library;
	float now[16];
	struct ingot_event done;
	memcpy(memory + 1, small_weights, 64);
	module = small_module;
	module.constants.data = memory + 1;
	module.constants.hash = 0;
	MUST(ingot_library_load(t->runtime, &module, NULL, &library));
	MUST(ingot_link(t->context, library, "dense", &t->twice));
	MUST(ingot_routine_context(t->twice, &t->linked));
	MUST(ingot_library_node(library, "w", &t->w));
	MUST(ingot_read(t->linked, t->w, now, 64, &done));
	MUST(ingot_event_sync(done));
	return THAT(!memcmp(now, small_weights, 64));
}

const struct way ways_unaligned[] = { S(unaligned, pool_open, INGOT_INVALID), S(unaligned, pool_replace, INGOT_INVALID),
	S(unaligned, pool_ensure, INGOT_INVALID), S(unaligned, pool_adopt, INGOT_INVALID),
	S(unaligned, context_adopt, INGOT_INVALID), S(unaligned, context_adopt_new, INGOT_INVALID),
	S(unaligned, ensure_aligns, INGOT_OK), S(unaligned, constants, INGOT_OK), { 0 } };
