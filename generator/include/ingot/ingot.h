/* ingot.h: a model, from its file to its results, in one process: libingot's interface in C.
 *
 *     struct ingot_model *model;
 *     enum ingot_model_status status = ingot_open(&model, "net.onnx");
 *     if (!status)  status = ingot_set_dim(model, "batch", 1);           // where the model has dims that are not fixed
 *     if (!status)  status = ingot_compile(model, INGOT_JIT);
 *     if (!status)  status = ingot_set_input(model, 0, pixels);          // ingot_input(model, 0)->bytes of them
 *     if (!status)  status = ingot_run(model);
 *     if (status)   fprintf(stderr, "%s\n", ingot_model_message(model));
 *     else          use(ingot_result(model, 0));                         // ingot_output(model, 0)->bytes of them
 *     ingot_close(model);
 *
 * Nothing here prints or exits: each call returns a status, and ingot_model_message says more.  A model belongs to one
 * thread at a time.  Several models may be open at once, and be used by several threads at once; libtcc compiles one
 * after the other, under a lock of its own.  Tensors are dense, in C order (the last dim varies fastest), in the
 * machine's byte order.  The program's locale changes nothing.
 *
 * Strict arithmetic: every engine gives the same bits, and row i of a batch those of a batch of one. */
#ifndef INGOT_INGOT_H
#define INGOT_INGOT_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are the exit codes of the program `ingot`. */
enum ingot_model_status {
	INGOT_MODEL_OK = 0,
	INGOT_MODEL_USAGE = 2, /* a file is missing, a dim is not bound, a call came too early or with a wrong number */
	INGOT_MODEL_INVALID = 3,     /* the model is broken */
	INGOT_MODEL_UNSUPPORTED = 4, /* valid, but ingot cannot run it: the message names op and node */
	INGOT_MODEL_ENVIRONMENT = 5, /* this process lacks something: libtcc, executable memory, a compiler */
	INGOT_MODEL_LIMIT = 6,       /* too large, or out of memory */
};

enum ingot_engine {
	INGOT_INTERPRETER, /* runs the definitions: slow, needs nothing */
	INGOT_C,   /* the system's C compiler, then dlopen: fastest; writes a folder below $TMPDIR and removes it */
	INGOT_JIT, /* libtcc, in memory; opens no file but the model's */
};

enum { INGOT_RANK_MOST = 16 };

/* Element types are ONNX's numbers (TensorProto.DataType). */
enum ingot_type {
	INGOT_TYPE_FLOAT = 1,
	INGOT_TYPE_UINT8 = 2,
	INGOT_TYPE_INT8 = 3,
	INGOT_TYPE_INT32 = 6,
	INGOT_TYPE_INT64 = 7,
	INGOT_TYPE_BOOL = 9,
	INGOT_TYPE_DOUBLE = 11
};

struct ingot_tensor {
	const char *name; /* the model's, any bytes but 0 */
	int type;         /* enum ingot_type, or another of ONNX's numbers */
	int rank;
	int64_t dims[INGOT_RANK_MOST]; /* -1: not bound yet */
	size_t bytes;                  /* of all elements; 0 before ingot_compile */
	int strings; /* 1: uint8 whose last dim holds the bytes of a string of the model's, with zeros behind shorter ones */
};

struct ingot_model;

/* Opens a file: ONNX, ONNX text or TensorFlow Lite, told apart by content.  *model is set whatever comes back, so that
 * its message can be read and it can be closed; it is NULL only where there was no memory for that (INGOT_MODEL_LIMIT).
 */
enum ingot_model_status ingot_open(struct ingot_model **model, const char *path);

/* The same from memory, which must stay until ingot_close.  `name` is for messages.  External data is refused. */
enum ingot_model_status ingot_open_memory(
        struct ingot_model **model, const void *bytes, size_t count, const char *name);

/* Binds a dim by its symbol, or as INPUT:AXIS.  Before ingot_compile; INGOT_MODEL_USAGE where no input
 * has such a dim. */
enum ingot_model_status ingot_set_dim(struct ingot_model *, const char *name, int64_t extent);

/* By which name ingot_set_dim binds that dim of input i: its symbol, or INPUT:AXIS.  NULL where there is none, and where
 * the file gives its extent.  Stays until ingot_close. */
const char *ingot_dim_name(struct ingot_model *, size_t i, int axis);

/* Says what an input holds that is a sequence: how many tensors, as "3", or their shapes, as "[2,3],[4]"; of an
 * optional "1" or "none".  They take its place among the inputs.  Before ingot_compile; INGOT_MODEL_USAGE where no
 * input of that name is one, or the text is none of these. */
enum ingot_model_status ingot_set_elements(struct ingot_model *, const char *name, const char *holds);

/* Says the value that an input of integers always comes with, as "2,3,5": all its elements, in C order.  What depends
 * on them (shapes, rounds, branches) is known then; other values come back as INGOT_MODEL_INVALID from ingot_run.
 * Before ingot_compile; INGOT_MODEL_USAGE where there is no such input, or they do not fit it. */
enum ingot_model_status ingot_set_value(struct ingot_model *, const char *name, const char *values);

/* An option by its name and value, those of the program's --NAME VALUE.  Before ingot_compile; INGOT_MODEL_USAGE where
 * there is none of that name, or it does not take the value.  Bits depend on the first five:
 *     "algorithms"   "fast" (default): 3x3 convolutions by Winograd's where that is less work; "direct": each sum as it
 *                    is defined, which is what libraries for microcontrollers compute
 *     "quantised"    "integers" (default): what is dequantised, multiplied and quantised again stays integers;
 *                    "literal": floats, as the operators are defined
 *     "denormals"    "keep" (default); "zero": denormal constants of products count as 0
 *     "math"         "strict" (default); "bf16", "f16", "tf32": factors of float32's sums of products are rounded to
 *                    that type, and algorithms are direct
 *     "keep-strict"  a layer whose factors are not rounded, by its node's name or its tensor's; may be set again
 *     "threads"      "1" (default) to "256": INGOT_C shares kernels over so many threads, of a pool of the model's own;
 *                    the other engines run on the caller's */
enum ingot_model_status ingot_set_option(struct ingot_model *, const char *name, const char *value);

/* What bits depend on besides the model, as a library's NAME_NUMBERS has it: where two models of one file have equal
 * texts, row i of any batch has the same bits in both, whatever the engine and the machine.  NULL before ingot_compile;
 * stays until ingot_close. */
const char *ingot_model_numbers(const struct ingot_model *);

/* Who is told how far ingot_compile is, from the thread that compiles: a stage by its name, and so many done of so many
 * (0 of 0: unknown).  What is not 0 ends the call: INGOT_MODEL_ENVIRONMENT, "stopped".  NULL: nobody. */
void ingot_set_progress(
        struct ingot_model *, int (*progress)(void *user, const char *stage, size_t done, size_t count), void *user);

/* Makes it ready to run; once for a model.  A failure may be followed by another try with another engine. */
enum ingot_model_status ingot_compile(struct ingot_model *, enum ingot_engine);

/* Inputs and outputs in the order of the graph; NULL where i is out of range, or the model could not be opened.  What
 * they point to stays until ingot_close; extents that depend on bound dims are there after ingot_compile, and outputs
 * that are sequences or optionals are the tensors that they hold.  Where data decide an output's extents (NonZero,
 * Unique, …), those here are bounds; its elements are dense in the actual ones, which a run writes to one more output,
 * NAME_dims (int64), behind the graph's. */
size_t ingot_input_count(const struct ingot_model *);
size_t ingot_output_count(const struct ingot_model *);
const struct ingot_tensor *ingot_input(const struct ingot_model *, size_t i);
const struct ingot_tensor *ingot_output(const struct ingot_model *, size_t i);

/* Data that ingot_run reads: borrowed, so it must stay until the run is over.  After ingot_compile. */
enum ingot_model_status ingot_set_input(struct ingot_model *, size_t i, const void *data);

/* Where ingot_run writes output i; NULL, and where this is not called: into memory of the model's. */
enum ingot_model_status ingot_set_output(struct ingot_model *, size_t i, void *data);

/* Runs once; INGOT_MODEL_USAGE where an input is not set. */
enum ingot_model_status ingot_run(struct ingot_model *);

/* What the last run wrote; NULL before.  Stays until the next run, or ingot_close. */
const void *ingot_result(const struct ingot_model *, size_t i);

/* The model as a module of the runtime (runtime/include/ingot/abi.h, ingot_library_load), compiled in memory by libtcc:
 * after ingot_compile, with any engine.  It stays until ingot_close, so runtimes that loaded it are closed before. */
struct ingot_module;
enum ingot_model_status ingot_model_module(struct ingot_model *, const struct ingot_module **module);

/* What went wrong in the last call, one line; "" where nothing did.  Never NULL, also for NULL. */
const char *ingot_model_message(const struct ingot_model *);

void ingot_close(struct ingot_model *); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
