/* data.h: the inputs and expected outputs of a test, from a folder: in_I.npy, out_I.npy and io.json, or ONNX's
 * input_I.pb and output_I.pb (a test_data_set_N, or the folder that holds such folders); or from an archive, .npz, by
 * the names of the model.
 *
 * A sequence is a folder of 0.npy, 1.npy, …, of an archive the members x_0, x_1, …; an optional is what it holds, or
 * not there. */
#ifndef CLI_DATA_H
#define CLI_DATA_H
#include "cli/cli.h"

/* type DTYPE_NONE: items of a type that NumPy has no word for, of so many bytes each. */
struct array {
	const char *name, *path;
	enum dtype type;
	size_t item;
	int rank;
	int64_t extents[MAX_RANK];
	const void *data;
	size_t bytes;
	double atol;
	int form; /* 0: an array; else what it holds is in `elements` */
	bool nothing;
	size_t count;
	struct array *elements;
};
struct data {
	const char *path;
	bool backend; /* ONNX's own tests: their tolerance */
	VECTOR(struct array) inputs, outputs;
};
struct data_sets {
	VECTOR(struct data) all;
};

/* EXIT_USAGE where --elements says what inputs hold: data says it. */
void data_says(const struct graph *);
/* EXIT_USAGE where the folder or a file in it is missing.  Of a graph as it was read: its lists are whole. */
struct data_sets *data_read(struct build *, const char *path, const struct graph *);
/* Of an archive (.npz): its member of that name. */
struct array array_of_npy(struct build *, const char *path, const char *name);
/* Fails with `code` where the data cannot be that input: "x.npy holds float64 [1,16], x is float32 [1,16]".  Symbolic
 * dims take any extent. */
void data_fit(struct build *, enum exit_code code, struct array *, const struct tensor *input);
/* … of an input or output: a list where its form is one.  path NULL: an optional that is not there. */
struct array array_of_files(struct build *, const char *path, const char *name, int form);
/* Symbolic dims of the model's inputs take the extents that the data has, and lists what they hold: each element stands
 * for itself then, in data and graph. Of further sets (`first` is false) nothing is bound. */
void data_bind(struct graph *, struct data *, bool first);
/* What the expected outputs hold that are sequences: where a value at run time decides that, the graph has to be told.
 */
void data_say(struct graph *, const struct data *);
/* The same of the expected outputs, once the graph is prepared; EXIT_DIFFERENT where a list holds more or fewer. */
void data_expect(const struct graph *, struct data *);

/* The small inputs of integers, of one dimension at most, are what all sets have there, wherever they agree, from now
 * on: pass_hold.  */
void data_hold(struct graph *, const struct data_sets *);
/* What `compiled` makes of the model; where that is refused (EXIT_UNSUPPORTED), because values that come at run time
 * decide what the model is, what it makes with `hold`. */
struct model *data_compile(struct cli *, struct model *(*compiled)(struct cli *, bool hold, void *user), void *user);

/* ---- layers.c ---- */
/* [{"layer", "error"}], the worst first: the largest difference between two programs' values of a sum of products, as a
 * part of its largest value; null where one has a value that is not finite and the other has not. */
json_t *layers_compare(struct build *, struct program *rounded, struct program *strict, const void **inputs);

/* The values that data_hold found, by name: for reports. */
json_t *data_held_json(const struct graph *);
void data_held_print(const struct graph *);

/* Element i as a number, NaN where it is none; complex ones have two. */
double data_element(enum dtype, const void *data, int64_t i);
/* Bits of element i of what has fewer than 8: packed, low bits first. */
unsigned data_packed(const void *data, int64_t i, int bits);
/* One element with the digits that read back as the same number; "true", "false", "nan", "-inf". */
const char *data_element_text(struct build *, enum dtype, const void *data, int64_t i);

/* The outputs that hold the extents of others, which stand behind all others. */
size_t data_sizes(const struct program *);

struct comparison {
	bool right;
	double worst, allowed;
	int64_t nonfinite;
	const char *why;
};
/* The tolerance table of cases/README.md; integers, bools and floats below 16 bits exactly.  got: elements of `made`.
 */
struct comparison data_compare(
        struct build *, const struct array *want, const struct definition *made, const void *got, bool backend);
/* Of random numbers: type and shape, and range and mean, those of the reference as far as so many numbers tell. */
struct comparison data_compare_drawn(
        struct build *, const struct array *want, const struct definition *made, const void *got, bool backend);
/* Of the elements' bits, any NaN as one: what two targets must agree in. */
uint64_t data_hash(struct build *, enum dtype, const void *elements, int64_t count);
#endif
