/* data.h: the inputs and expected outputs of a test, from a folder: in_I.npy, out_I.npy and io.json, or ONNX's input_I.pb and
 * output_I.pb (a test_data_set_N, or the folder that holds such folders). */
#ifndef CLI_DATA_H
#define CLI_DATA_H
#include "cli/cli.h"

struct array { const char *name; enum dtype type; int rank; int64_t extents[MAX_RANK]; const void *data; size_t bytes; double atol; };
struct data {
	const char *path;
	bool backend;                     /* ONNX's own tests: their tolerance */
	VECTOR(struct array) inputs, outputs;
};
struct data_sets { VECTOR(struct data) all; };

/* EXIT_USAGE where the folder or a file in it is missing. */
struct data_sets *data_read(struct build *, const char *directory);
/* Symbolic dims of the model's inputs take the extents that the data has. */
void data_bind(struct graph *, const struct data *);

struct comparison { bool right; double worst, allowed; int64_t nonfinite; const char *why; };
/* The tolerance table of cases/README.md.  got: elements of `type`. */
struct comparison data_compare(struct build *, const struct array *want, const struct definition *made, const void *got, bool backend);
#endif
