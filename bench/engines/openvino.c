/* openvino.c: network -> an inference request of OpenVINO, through its C interface; the wheel brings the header.
 * float32 is forced, but where $RACE_MATH is set: OpenVINO takes bf16 by itself where the CPU has it. */
#include "engine.h"

#include <dlfcn.h>
#include <openvino/c/openvino.h>
#include <stdio.h>
#include <stdlib.h>

#define OV(name) ((__typeof__(name) *)dlsym(library, #name))
static void *library;
static ov_core_t *core;
static __typeof__(ov_infer_request_infer) *infer;

static bool good(ov_status_e status) { return status == OK || engine_fail("%s", OV(ov_get_last_err_msg)()); }

static bool run(struct engine *engine) { return good(infer(engine->session)); }

static bool wrap(const struct tensor *tensor, void *data, ov_tensor_t **out)
{
	ov_shape_t shape = { (int64_t)tensor->rank, (int64_t *)tensor->dims };
	return good(OV(ov_tensor_create_from_host_ptr)((ov_element_type_e)tensor->ov_type, shape, data, out));
}

static bool load(void)
{
	if (!(library = dlopen(network.ov_library, RTLD_NOW | RTLD_LOCAL)))
		return engine_fail("%s", dlerror());
	infer = OV(ov_infer_request_infer);
	return good(OV(ov_core_create)(&core));
}

bool openvino_open(struct engine *engine)
{
	ov_model_t *model;
	ov_compiled_model_t *compiled;
	ov_tensor_t *tensor;
	char count[16];
	snprintf(count, sizeof count, "%d", engine->threads);
	bool fine = (core || load()) && good(OV(ov_core_read_model)(core, engine->model, NULL, &model))
	        && good(OV(ov_core_compile_model)(core, model, "CPU", getenv("RACE_MATH") ? 8 : 10, &compiled,
	                "PERFORMANCE_HINT", "LATENCY", "INFERENCE_NUM_THREADS", count, "NUM_STREAMS", "1",
	                "ENABLE_HYPER_THREADING", "YES", "INFERENCE_PRECISION_HINT", "f32"))
	        && good(OV(ov_compiled_model_create_infer_request)(compiled, (ov_infer_request_t **)&engine->session));
	for (int i = 0; fine && i < network.input_count; i++)
		fine = wrap(&network.inputs[i], network.inputs[i].data, &tensor)
		        && good(OV(ov_infer_request_set_input_tensor_by_index)(engine->session, (size_t)i, tensor));
	for (int i = 0; fine && i < network.output_count; i++)
		fine = wrap(&network.outputs[i], engine->data[i], &tensor)
		        && good(OV(ov_infer_request_set_output_tensor_by_index)(engine->session, (size_t)i, tensor));
	engine->run = run;
	return fine;
}
