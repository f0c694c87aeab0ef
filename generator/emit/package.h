/* package.h: what the writers of packages share: package.c (C libraries) and package_cuda.c (CUDA sources). */
#ifndef EMIT_PACKAGE_H
#define EMIT_PACKAGE_H
#include "emit/emit.h"
#include <jansson.h>

struct writing {
	struct emit *emit;
	const struct package *package;
	const struct lowered *lowered;
	struct file_set *files;
	struct value globals;             /* what every file's template sees */
	const char **input_fields, **output_fields;
	VECTOR(const char *) sources;
	VECTOR(const char *) clean;       /* scratch files to remove whatever happens */
	const char *directory;
	int64_t stack_bytes;
};
/* package.c */
void package_begin(struct writing *);                                     /* the globals: names, inputs, outputs, sizes */
void package_render(struct writing *, const char *template, const char *file);
void package_add_blob(struct writing *);                                  /* NAME_weights.bin, where there are weights */
json_t *package_manifest(struct writing *);                               /* the keys that all packages have */
void package_add_manifest(struct writing *, json_t *);                    /* takes it */
/* package_cuda.c: adds NAME.cu, NAME.h, the weights and the manifest; with package->shared also what runs them on the CPU, NAME_emulated.cpp
 * and the emulator. */
void package_cuda(struct writing *);
#endif
