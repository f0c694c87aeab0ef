/* onnxruntime.c: network -> a session of onnxruntime, through its C interface.
 *
 * The wheel brings the library without its header.  The C interface is a table of functions that only grows at its end
 * (its own rule since 1.0), so the few we call are named here by their place in it. */
#include "engine.h"

#include <dlfcn.h>

enum {
	GET_ERROR_MESSAGE = 2,
	CREATE_ENV = 3,
	CREATE_SESSION = 7,
	RUN = 9,
	CREATE_SESSION_OPTIONS = 10,
	SET_EXECUTION_MODE = 13,
	SET_OPTIMIZATION_LEVEL = 23,
	SET_INTRA_OP_THREADS = 24,
	SET_INTER_OP_THREADS = 25,
	CREATE_TENSOR_WITH_DATA = 49,
	CREATE_CPU_MEMORY_INFO = 69
};
enum { API_VERSION = 16, LOG_ERRORS = 3, SEQUENTIAL = 0, OPTIMISE_ALL = 99, ARENA = 1, DEFAULT_MEMORY = 0 };

struct ort_base {
	void *(**(*table)(uint32_t version))();
};
static void *(**ort)(); /* each returns a status, NULL when good */
static void *environment;

static bool good(void *status) { return !status || engine_fail("%s", (char *)ort[GET_ERROR_MESSAGE](status)); }

static bool run(struct engine *engine)
{
	static const char *in[TENSORS_MOST], *out[TENSORS_MOST];
	for (int i = 0; i < network.input_count && !in[i]; i++)
		in[i] = network.inputs[i].name;
	for (int i = 0; i < network.output_count && !out[i]; i++)
		out[i] = network.outputs[i].name;
	return good(ort[RUN](engine->session, NULL, in, engine->in, (size_t)network.input_count, out,
	        (size_t)network.output_count, engine->out));
}

static bool bind(void *info, const struct tensor *tensor, void *data, void **value)
{
	return good(ort[CREATE_TENSOR_WITH_DATA](
	        info, data, tensor->bytes, tensor->dims, tensor->rank, tensor->ort_type, value));
}

static bool load(void)
{
	void *handle = dlopen(network.ort_library, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return engine_fail("%s", dlerror());
	struct ort_base *(*base)(void) = (struct ort_base * (*)(void)) dlsym(handle, "OrtGetApiBase");
	if (!base || !(ort = base()->table(API_VERSION)))
		return engine_fail("%s has no C interface of version %d", network.ort_library, API_VERSION);
	return good(ort[CREATE_ENV](LOG_ERRORS, "race", &environment));
}

bool onnxruntime_open(struct engine *engine)
{
	void *options, *info;
	bool fine = (ort || load()) && good(ort[CREATE_SESSION_OPTIONS](&options))
	        && good(ort[SET_EXECUTION_MODE](options, SEQUENTIAL))
	        && good(ort[SET_OPTIMIZATION_LEVEL](options, OPTIMISE_ALL))
	        && good(ort[SET_INTRA_OP_THREADS](options, engine->threads))
	        && good(ort[SET_INTER_OP_THREADS](options, 1))
	        && good(ort[CREATE_SESSION](environment, engine->model, options, &engine->session))
	        && good(ort[CREATE_CPU_MEMORY_INFO](ARENA, DEFAULT_MEMORY, &info));
	for (int i = 0; fine && i < network.input_count; i++)
		fine = bind(info, &network.inputs[i], network.inputs[i].data, &engine->in[i]);
	for (int i = 0; fine && i < network.output_count; i++)
		fine = bind(info, &network.outputs[i], engine->data[i], &engine->out[i]);
	engine->run = run;
	return fine;
}
