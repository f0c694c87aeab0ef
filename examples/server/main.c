/* main.c: a server in small: eight clients ask two models, of which one is replaced while they do, by new weights under
 * the code that is linked in.  A request may be cancelled, has a deadline, and is refused where a client has too many.
 *
 *     ingot build examples/digits/digits.onnx --profile managed --threads 2 -o out/digits
 *     ingot build examples/server/ink.onnxtxt --profile managed -o out/ink
 *     cc -O2 -Iout/digits -Iout/ink -Iout/digits/runtime/include examples/server/main.c out/digits/libdigits.a \
 *         out/ink/libink.a out/digits/libingot_runtime.a -lm -pthread -o server
 *     ./server out/digits/digits_weights.bin 100
 *
 * replaces it so many times, each when all clients have the one before; without a number ten times, one a second.  Each
 * other version is the same network with all its numbers negated, which stands for one that was trained anew.  The
 * program compares every answer with the library's own, and at its end the memory with that behind the first
 * replacements. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "digits.h"
#include "ingot/context.h"
#include "ink.h"

enum { CLIENTS = 8, CLASSES = 10, PIXELS = 28 * 28, VERSIONS = 2, MOST_COMMANDS = 6, DEADLINE_MS = 20, WARM = 20 };

#define NEED(call) need(call, #call)
static void need(enum ingot_status status, const char *what)
{
	if (!status)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, ingot_status_name(status), ingot_message());
	exit(1);
}

/* A version of the digits: the code, with a file of weights.  Whoever has it linked counts; the last one ends it. */
struct version {
	struct ingot_module module;
	struct ingot_library library;
	struct ingot_node image, scores;
	void *weights;
	int number, users;
};

static struct ingot_runtime *runtime;
static struct ingot_device device;
static struct ingot_library ink;
static struct ingot_node ink_image, ink_share;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static struct version *current; /* with the mutex, as is what follows */
static int asked;               /* clients that it answered */
static bool pausing, stopping;  /* clients that it answered stand; all end */
static void *blobs[VERSIONS];
static _Atomic uint64_t answered, wrong, busy, cancelled, late;

static void version_leave(struct version *version)
{
	pthread_mutex_lock(&mutex);
	bool last = !--version->users;
	pthread_mutex_unlock(&mutex);
	if (!last)
		return;
	NEED(ingot_library_close(version->library));
	free(version->weights);
	free(version);
}

/* NULL: the file is of other code. */
static struct version *version_new(const void *file, size_t bytes, int number)
{
	if (digits_weights_check(file, bytes))
		return NULL;
	struct version *version = calloc(1, sizeof *version);
	if (!version || posix_memalign(&version->weights, DIGITS_WEIGHTS_ALIGN, DIGITS_WEIGHTS_BYTES))
		exit(1);
	memcpy(version->weights, file, DIGITS_WEIGHTS_BYTES);
	version->module = digits_module;
	version->module.constants.data = NULL; /* those linked in are of the first version */
	version->module.constants.hash = 0;
	struct ingot_library_options options = { .constants = version->weights,
		.constants_bytes = DIGITS_WEIGHTS_BYTES };
	NEED(ingot_library_load(runtime, &version->module, &options, &version->library));
	NEED(ingot_library_node(version->library, "image", &version->image));
	NEED(ingot_library_node(version->library, "scores", &version->scores));
	version->number = number;
	version->users = 1; /* that it is the current one */
	return version;
}

static void version_publish(struct version *version)
{
	pthread_mutex_lock(&mutex);
	struct version *before = current;
	current = version;
	asked = 0;
	pthread_cond_broadcast(&change);
	pthread_mutex_unlock(&mutex);
	if (before)
		version_leave(before);
}

/* Waits until the current version has answered every client. */
static void clients_wait(void)
{
	pthread_mutex_lock(&mutex);
	while (asked < CLIENTS)
		pthread_cond_wait(&change, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* ---- a client ---- */

struct client {
	uint32_t number, state;
	struct ingot_stream stream;
	struct version *version;
	struct ingot_context base, context, ink_base, ink_context;
	struct ingot_routine routine, ink_routine;
	bool asked, told; /* its version answered; the server knows */
	float image[PIXELS], scores[CLASSES], share, wanted[VERSIONS][CLASSES], wanted_share;
};

static uint32_t draw(struct client *client, uint32_t below)
{
	client->state = client->state * 1664525 + 1013904223;
	return (client->state >> 8) % below;
}

/* What the two libraries say by themselves, called as functions. */
static void client_picture(struct client *client)
{
	static const struct ink_context none;
	void *workspace;
	for (int i = 0; i < PIXELS; i++)
		client->image[i] = (float)draw(client, 256) / 255;
	if (posix_memalign(&workspace, DIGITS_WORKSPACE_ALIGN, DIGITS_WORKSPACE_BYTES))
		exit(1);
	for (int v = 0; v < VERSIONS; v++) {
		struct digits_context context = { .workspace = workspace, .weights = blobs[v] };
		if (digits_run(&(struct digits_inputs){ client->image }, &(struct digits_outputs){ client->wanted[v] },
		            &context))
			exit(1);
	}
	free(workspace);
	if (ink_run(&(struct ink_inputs){ client->image }, &(struct ink_outputs){ &client->wanted_share }, &none))
		exit(1);
}

static void unlink_version(struct client *client)
{
	if (!client->version)
		return;
	NEED(ingot_routine_close(client->routine));
	NEED(ingot_context_close(client->base));
	version_leave(client->version);
	client->version = NULL;
}

/* Takes the current version, where it has another; false: the end. */
static bool client_follows(struct client *client)
{
	pthread_mutex_lock(&mutex);
	struct version *version = current;
	bool changed, stop;
	if (version == client->version && client->asked && !client->told) {
		client->told = true;
		asked++;
		pthread_cond_broadcast(&change);
	}
	while (pausing && client->told && version == client->version && !stopping) {
		pthread_cond_wait(&change, &mutex);
		version = current;
	}
	stop = stopping;
	changed = version != client->version;
	version->users += changed;
	pthread_mutex_unlock(&mutex);
	if (!changed)
		return !stop;
	unlink_version(client);
	NEED(ingot_context_new(client->stream, &client->base));
	NEED(ingot_link(client->base, version->library, "digits", &client->routine));
	NEED(ingot_routine_context(client->routine, &client->context));
	client->version = version;
	client->asked = client->told = false;
	return !stop;
}

/* A request to one of the models: the picture in, the routine, the answer out.  INGOT_BUSY: one too many. */
static enum ingot_status submit(struct client *client, bool second, struct ingot_event *done)
{
	struct ingot_context context = second ? client->ink_context : client->context;
	struct ingot_node image = second ? ink_image : client->version->image;
	enum ingot_status status = ingot_write(context, image, client->image, sizeof client->image, NULL);
	status = status ? status : ingot_routine_run(second ? client->ink_routine : client->routine, NULL);
	return status    ? status
	        : second ? ingot_read(context, ink_share, &client->share, sizeof client->share, done)
	                 : ingot_read(context, client->version->scores, client->scores, sizeof client->scores, done);
}

static void check(struct client *client, bool second)
{
	const float *wanted = second ? &client->wanted_share : client->wanted[client->version->number];
	bool equal = !memcmp(second ? &client->share : client->scores, wanted, (second ? 1 : CLASSES) * sizeof *wanted);
	atomic_fetch_add(equal ? &answered : &wrong, 1);
}

/* What comes before a request does not end in time: it is cancelled when its deadline is over. */
static void ask_late(struct client *client)
{
	struct ingot_event upload, done;
	NEED(ingot_event_open(runtime, &upload)); /* nobody signals it */
	NEED(ingot_stream_wait(client->stream, upload));
	NEED(submit(client, false, &done));
	if (ingot_event_sync_until(done, ingot_clock() + DEADLINE_MS * 1000000) != INGOT_TIMEOUT)
		atomic_fetch_add(&wrong, 1);
	NEED(ingot_stream_cancel(client->stream));
	if (ingot_event_sync(done) != INGOT_CANCELLED)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&late, 1);
	NEED(ingot_event_close(done));
	NEED(ingot_event_close(upload));
}

static void ask(struct client *client)
{
	struct ingot_event done;
	bool second = draw(client, 4) == 0;
	enum ingot_status status = submit(client, second, &done);
	NEED(status);
	if (draw(client, 8) == 0) {
		NEED(ingot_stream_cancel(client->stream));
		status = ingot_event_sync(done);
		if (status == INGOT_CANCELLED)
			atomic_fetch_add(&cancelled, 1);
		else
			NEED(status);
	} else
		NEED(ingot_event_sync_until(done, ingot_clock() + 60000000000));
	if (!status)
		check(client, second);
	client->asked |= !status && !second;
	NEED(ingot_event_close(done));
}

/* More than its stream holds, while that stands. */
static void ask_too_much(struct client *client)
{
	struct ingot_event gate;
	enum ingot_status status = INGOT_OK;
	NEED(ingot_write(client->ink_context, ink_image, client->image, sizeof client->image, NULL));
	NEED(ingot_event_open(runtime, &gate));
	NEED(ingot_stream_wait(client->stream, gate));
	for (int i = 0; i < MOST_COMMANDS && !status; i++)
		status = ingot_routine_run(client->ink_routine, NULL);
	atomic_fetch_add(status == INGOT_BUSY ? &busy : &wrong, 1);
	NEED(ingot_event_signal(gate));
	NEED(ingot_event_close(gate));
	NEED(ingot_stream_await(client->stream));
}

static void *client_main(void *argument)
{
	struct client *client = argument;
	NEED(ingot_stream_open(device, &client->stream));
	NEED(ingot_stream_limit(client->stream, MOST_COMMANDS, false));
	NEED(ingot_context_new(client->stream, &client->ink_base));
	NEED(ingot_link(client->ink_base, ink, "ink", &client->ink_routine));
	NEED(ingot_routine_context(client->ink_routine, &client->ink_context));
	for (uint64_t turn = client->number; client_follows(client); turn++) {
		if (turn % 256 == 0)
			ask_late(client);
		else if (turn % 64 == 1)
			ask_too_much(client);
		else
			ask(client);
	}
	unlink_version(client);
	NEED(ingot_routine_close(client->ink_routine));
	NEED(ingot_context_close(client->ink_base));
	NEED(ingot_stream_close(client->stream));
	return NULL;
}

/* ---- the server ---- */

/* False: it is no file of the weights of this code. */
static bool blobs_read(const char *path)
{
	FILE *file = fopen(path, "rb");
	for (int v = 0; v < VERSIONS; v++)
		if (posix_memalign(blobs + v, DIGITS_WEIGHTS_ALIGN, DIGITS_WEIGHTS_FILE_BYTES))
			exit(1);
	bool fits = file && fread(blobs[0], 1, DIGITS_WEIGHTS_FILE_BYTES, file) == DIGITS_WEIGHTS_FILE_BYTES
	        && !digits_weights_check(blobs[0], DIGITS_WEIGHTS_FILE_BYTES);
	if (file)
		fclose(file);
	memcpy(blobs[1], blobs[0], DIGITS_WEIGHTS_FILE_BYTES);
	for (size_t i = 0; i < DIGITS_WEIGHTS_BYTES / sizeof(float); i++)
		((float *)blobs[1])[i] *= -1;
	return fits;
}

/* All clients have the current version and stand. */
static void measure(uint64_t *used, uint64_t *live)
{
	pthread_mutex_lock(&mutex);
	bool paused = pausing;
	pausing = true;
	pthread_mutex_unlock(&mutex);
	clients_wait();
	NEED(ingot_device_sync(device));
	NEED(ingot_device_used(device, used));
	*live = ingot_runtime_live(runtime);
	pthread_mutex_lock(&mutex);
	pausing = paused;
	pthread_cond_broadcast(&change);
	pthread_mutex_unlock(&mutex);
}

/* The file of another layout is refused, and nothing is replaced. */
static bool other_layout_refused(void)
{
	unsigned char *other = malloc(DIGITS_WEIGHTS_FILE_BYTES);
	if (!other)
		return false;
	memcpy(other, blobs[0], DIGITS_WEIGHTS_FILE_BYTES);
	other[DIGITS_WEIGHTS_FILE_BYTES - 1] ^= 1;
	bool refused =
	        !version_new(other, DIGITS_WEIGHTS_FILE_BYTES, 0) && !version_new(blobs[0], DIGITS_WEIGHTS_BYTES, 0);
	free(other);
	return refused;
}

int main(int argc, char **argv)
{
	static struct client clients[CLIENTS];
	pthread_t threads[CLIENTS];
	uint64_t used[2], live[2];
	int replacements = argc > 2 ? atoi(argv[2]) : 10;
	if (argc < 2)
		return fprintf(stderr, "usage: server digits_weights.bin [REPLACEMENTS]\n"), 2;
	if (!blobs_read(argv[1]))
		return fprintf(stderr, "server: %s: not the weights of this code\n", argv[1]), 1;
	pausing = argc > 2;
	/* No blocks are kept, so that all that live are seen. */
	NEED(ingot_runtime_open(&runtime, &(struct ingot_runtime_options){ .spare_commands = INGOT_NO_SPARES }));
	NEED(ingot_backend_init(runtime, "multicore", NULL));
	NEED(ingot_device_get(runtime, "multicore", 0, &device));
	NEED(ingot_library_load(runtime, &ink_module, NULL, &ink));
	NEED(ingot_library_node(ink, "image", &ink_image));
	NEED(ingot_library_node(ink, "share", &ink_share));
	bool refused = other_layout_refused();
	version_publish(version_new(blobs[0], DIGITS_WEIGHTS_FILE_BYTES, 0));
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i].number = clients[i].state = i;
		client_picture(clients + i);
		if (pthread_create(threads + i, NULL, client_main, clients + i))
			return 1;
	}
	for (int r = -WARM; r <= replacements; r++) {
		if (!r) {
			measure(used, live);
			continue;
		}
		int number = abs(r) % VERSIONS;
		version_publish(version_new(blobs[number], DIGITS_WEIGHTS_FILE_BYTES, number));
		if (argc > 2 || r < 0)
			clients_wait();
		else
			sleep(1);
	}
	measure(used + 1, live + 1);
	pthread_mutex_lock(&mutex);
	stopping = true;
	pthread_cond_broadcast(&change);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	version_leave(current);
	NEED(ingot_library_close(ink));
	NEED(ingot_runtime_close(runtime));
	for (int v = 0; v < VERSIONS; v++)
		free(blobs[v]);
	printf("%d replacements; %llu right, %llu wrong; %llu busy, %llu cancelled, %llu too late\n", replacements,
	        (unsigned long long)answered, (unsigned long long)wrong, (unsigned long long)busy,
	        (unsigned long long)cancelled, (unsigned long long)late);
	printf("used: %llu bytes, then %llu; blocks: %llu, then %llu; another layout is %s\n",
	        (unsigned long long)used[0], (unsigned long long)used[1], (unsigned long long)live[0],
	        (unsigned long long)live[1], refused ? "refused" : "taken");
	/* Lists that a client uses for the first time late are a few blocks, however often a model is replaced. */
	return wrong || !answered || !busy || !late || !refused || used[0] != used[1]
	        || live[1] > live[0] + 2 * CLIENTS;
}
