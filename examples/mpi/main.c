/* main.c: one model on several machines, over MPI.  ingot knows nothing of them: what goes to others is a library written
 * by hand (struct exchange), loaded with the model's so that both have the same node, and linked on a child context of a
 * stream of its own.  Its routines call MPI; what waits for what follows from what they read and write.  README.md says
 * how it is built and run. */
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "digits.h"
#include "digits_0.h"
#include "digits_1.h"
#include "digits_2.h"
#include "linear.h"

enum { PEER, TAG, COUNT, SYMBOLS }; /* of an exchange */
enum { LATE = 1, BROKEN = 2 };      /* codes of its routines */
static double limit = 60;           /* seconds: how long another process may stay away */
static int rank, size;
static struct ingot_runtime *runtime;
static struct ingot_stream computing, talking;

/* ---- what the exchange does ---- */

/* Who is gone never answers, so nothing waits for good. */
static int finish(int failed, MPI_Request *request, const struct ingot_call *call)
{
	double until = MPI_Wtime() + limit;
	for (int done = 0; !failed && !done; sched_yield()) {
		if (MPI_Wtime() > until || ingot_call_cancelled(call))
			return LATE;
		failed = MPI_Test(request, &done, MPI_STATUS_IGNORE);
	}
	return failed ? BROKEN : 0;
}

static int move(const struct ingot_call *call, bool sends)
{
	int count = (int)call->symbols[COUNT], peer = (int)call->symbols[PEER], tag = (int)call->symbols[TAG];
	void *at = ingot_argument(call, 0);
	MPI_Request request;
	return finish(sends ? MPI_Issend(at, count, MPI_FLOAT, peer, tag, MPI_COMM_WORLD, &request) /* till he has it */
	                    : MPI_Irecv(at, count, MPI_FLOAT, peer, tag, MPI_COMM_WORLD, &request),
	        &request, call);
}
static int send_it(const struct ingot_call *call) { return move(call, true); }
static int receive(const struct ingot_call *call) { return move(call, false); }

/* The sum of all, in the order of the ranks: everybody has the bits of one process that adds in that order. */
static int all_reduce(const struct ingot_call *call)
{
	static float all[1 << 16]; /* where somebody is late, MPI has it still */
	int count = (int)call->symbols[COUNT];
	float *sum = ingot_argument(call, 0);
	MPI_Request request;
	if (size * count > 1 << 16)
		return BROKEN;
	int failed = MPI_Iallgather(sum, count, MPI_FLOAT, all, count, MPI_FLOAT, MPI_COMM_WORLD, &request);
	int code = finish(failed, &request, call);
	for (int i = 0; i < size * count && !code; i++)
		sum[i % count] = i < count ? all[i] : sum[i % count] + all[i];
	return code;
}

/* ---- its module: one node, a model's ---- */

static const char *message(int code) { return code == LATE ? "another process did not answer in time" : "MPI failed"; }
static const uint32_t node_0[] = { 0 }, symbols[] = { PEER, TAG, COUNT };
static const struct ingot_module_argument argument = { .source = INGOT_FROM_NODE };
#define ROUTINE(n, in, out, code) \
	{ \
		.name = n, .inputs = node_0, .input_count = in, .outputs = node_0, .output_count = out, \
		.symbols = symbols, .symbol_count = SYMBOLS, .arguments = &argument, .argument_count = 1, \
		.merge_input = -1, .run = code \
	}
static const struct ingot_module_routine routines[] = { ROUTINE("all_reduce", 1, 1, all_reduce),
	ROUTINE("send", 1, 0, send_it), ROUTINE("recv", 0, 1, receive) };

struct exchange {
	struct ingot_module_node node;
	struct ingot_module_symbol symbols[SYMBOLS];
	struct ingot_module module;
	struct ingot_routine routine;
};

/* Of that node of the library, which lies in the context. */
static void exchange_link(struct exchange *x, const struct ingot_module *model, struct ingot_library library,
        struct ingot_context context, const char *node, const char *routine, int peer)
{
	struct ingot_library made;
	for (uint32_t i = 0; i < model->node_count; i++)
		if (!strcmp(model->nodes[i].name, node))
			x->node = model->nodes[i];
	x->symbols[PEER] = (struct ingot_module_symbol){ "peer", 0, size - 1 };
	x->symbols[TAG] = (struct ingot_module_symbol){ "tag", 0, 32767 };
	x->symbols[COUNT] = (struct ingot_module_symbol){ "count", 1, (int64_t)x->node.bytes / 4 };
	x->module =
	        (struct ingot_module){ INGOT_ABI, "exchange", .nodes = &x->node, .node_count = 1, .symbols = x->symbols,
		        .symbol_count = SYMBOLS, .routines = routines, .routine_count = 3, .message = message };
	struct ingot_library_options options = { .with = library };
	NEED(ingot_library_load(runtime, &x->module, &options, &made));
	NEED(ingot_context_child(context, talking, &context));
	NEED(ingot_link(context, made, routine, &x->routine));
	NEED(ingot_routine_set(x->routine, "peer", peer));
	NEED(ingot_routine_set(x->routine, "tag", 0));
	NEED(ingot_routine_set(x->routine, "count", x->symbols[COUNT].most));
}

/* ---- a third of the network each ---- */

#define THEN(call) (status = status ? status : (call))
static int pipeline(bool dies)
{
	enum { PICTURES = 12 };
	static const struct ingot_module *const modules[] = { &digits_0_module, &digits_1_module, &digits_2_module };
	static const char *const names[] = { "image", "half", "hidden_on", "scores" }; /* between the parts */
	static float images[PICTURES][DIGITS_IMAGE_ELEMENTS], scores[PICTURES][DIGITS_SCORES_ELEMENTS];
	static _Alignas(DIGITS_WORKSPACE_ALIGN) unsigned char workspace[DIGITS_WORKSPACE_BYTES];
	static struct exchange from, to;
	struct ingot_library library;
	struct ingot_node first, last;
	struct ingot_context context;
	struct ingot_routine part;
	enum ingot_status status = INGOT_OK;
	NEED(ingot_library_load(runtime, modules[rank], NULL, &library));
	NEED(ingot_library_node(library, names[rank], &first));
	NEED(ingot_library_node(library, names[rank + 1], &last));
	NEED(ingot_context_new(computing, &context));
	NEED(ingot_link(context, library, modules[rank]->name, &part));
	NEED(ingot_routine_context(part, &context));
	if (rank > 0)
		exchange_link(&from, modules[rank], library, context, names[rank], "recv", rank - 1);
	if (rank < 2)
		exchange_link(&to, modules[rank], library, context, names[rank + 1], "send", rank + 1);
	for (int p = 0; p < PICTURES; p++) { /* all of them are queued; who dies waits for each, to have begun */
		if (dies && rank == 1 && p == PICTURES / 2)
			raise(SIGKILL);
		for (int i = 0; i < DIGITS_IMAGE_ELEMENTS; i++)
			images[p][i] = (float)(i * (p + 3) % 29) / 29;
		THEN(rank > 0 ? ingot_routine_run(from.routine, NULL)
		              : ingot_write(context, first, images[p], sizeof *images, NULL));
		THEN(ingot_routine_run(part, NULL));
		THEN(rank < 2 ? ingot_routine_run(to.routine, NULL)
		              : ingot_read(context, last, scores[p], sizeof *scores, NULL));
		THEN(dies ? ingot_stream_await(talking) : INGOT_OK);
	}
	THEN(ingot_stream_await(talking));
	THEN(ingot_stream_await(computing));
	if (status)
		printf("rank %d: %s: %s\n", rank, ingot_status_name(status), ingot_message());
	for (int p = 0; p < PICTURES && rank == 2 && !status; p++) {
		float whole[DIGITS_SCORES_ELEMENTS];
		int code = digits_run(&(struct digits_inputs){ images[p] }, &(struct digits_outputs){ whole },
		        &(struct digits_context){ .workspace = workspace });
		if (code || memcmp(whole, scores[p], sizeof whole))
			return 1;
	}
	if (rank == 2 && !status)
		printf("%d pictures through three parts have the bits of the whole\n", PICTURES);
	return (int)status;
}

/* ---- a quarter of the batch each ---- */

/* Steps by the sum of all gradients; each process looks whether it has the bits of one that goes through all shares. */
static int parallel(void)
{
	static const char *const names[] = { "w", "x", "t", "grad" };
	static float inputs[2 * ROWS * FEATURES], targets[2 * ROWS], weights[FEATURES], grad[FEATURES], sum[FEATURES];
	static struct exchange reduce;
	struct ingot_library library;
	struct ingot_node nodes[4];
	struct ingot_context context;
	struct ingot_routine gradient;
	int rows = ROWS / size;
	for (int i = 0; i < ROWS * FEATURES; i++)
		inputs[i] = (float)(i * 37 % 19) / 19 - 0.5f, targets[i % ROWS] = (float)(i % ROWS % 5) - 2;
	NEED(ingot_library_load(runtime, &linear_module, NULL, &library));
	NEED(ingot_context_new(computing, &context));
	NEED(ingot_link(context, library, "gradient", &gradient));
	NEED(ingot_routine_context(gradient, &context));
	NEED(ingot_routine_set(gradient, "rows", rows));
	for (int i = 0; i < 4; i++)
		NEED(ingot_library_node(library, names[i], &nodes[i]));
	exchange_link(&reduce, &linear_module, library, context, "grad", "all_reduce", 0);
	for (int step = 0; step < 20; step++) {
		NEED(ingot_write(context, nodes[0], weights, sizeof weights, NULL));
		for (int s = 0; s <= size; s++) { /* all shares, one behind the other, then its own */
			int share = s < size ? s : rank;
			NEED(ingot_write(context, nodes[1], inputs + share * rows * FEATURES, sizeof inputs / 2, NULL));
			NEED(ingot_write(context, nodes[2], targets + share * rows, sizeof targets / 2, NULL));
			NEED(ingot_routine_run(gradient, NULL));
			if (s == size)
				NEED(ingot_routine_run(reduce.routine, NULL));
			NEED(ingot_read(context, nodes[3], grad, sizeof grad, NULL));
			NEED(ingot_stream_await(computing));
			for (int k = 0; k < FEATURES && s < size; k++)
				sum[k] = s ? sum[k] + grad[k] : grad[k];
		}
		if (memcmp(sum, grad, sizeof sum) || sum[0] == 0)
			return 1;
		for (int k = 0; k < FEATURES; k++)
			weights[k] -= grad[k] / 256;
	}
	printf("rank %d: %d of %d rows, the weights of one process\n", rank, rows, ROWS);
	return 0;
}

int main(int argc, char **argv)
{
	struct ingot_device device;
	int level;
	bool pipes = argc > 1 && !strcmp(argv[1], "pipeline");
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (level < MPI_THREAD_SERIALIZED || (pipes ? size != 3 : size > 4))
		return 2;
	NEED(ingot_runtime_open(&runtime, NULL));
	NEED(ingot_backend_init(runtime, "multicore", NULL));
	NEED(ingot_device_get(runtime, "multicore", 0, &device));
	NEED(ingot_stream_open(device, &computing));
	NEED(ingot_stream_open(device, &talking));
	limit = argc > 2 ? 2 : limit;
	int code = pipes ? pipeline(argc > 2) : parallel();
	fflush(stdout);
	if (code)
		_exit(code); /* MPI_Finalize would wait for who is gone */
	ingot_runtime_close(runtime);
	return MPI_Finalize();
}
