/* embedded.h: the templates that are built into the library, and their loader.
 *
 *     struct template_folders places = { .directory = options->templates };        // NULL: the built-in ones only
 *     environment = environment_new(build, arena, &template_settings_kernels, load_embedded, &places);
 *
 * A template is looked for below `directory` first, then among the built-in ones, by its name below templates/:
 * "c/convolution.jinja".  So a user overrides one by one; with "built-in/" before its name, a template that overrides
 * another can include it. */
#ifndef BASE_EMBEDDED_H
#define BASE_EMBEDDED_H

#include "base/base.h"

struct embedded_file {
	const char *name; /* "c/convolution.jinja" */
	const unsigned char *at;
	size_t bytes; /* a 0 follows them */
};
extern const struct embedded_file embedded_files[]; /* templates, and the emulator's as "emulator/…"; sorted by name */
extern const size_t embedded_count;
/* The runtime, for managed libraries: "pool.c", "include/ingot/pool.h"; sorted.  Empty in the program that prints the
 * JIT's menu, which would else be made anew with every change of the runtime. */
extern const struct embedded_file embedded_runtime_files[];
extern const size_t embedded_runtime_count;

const struct embedded_file *embedded_find(const char *name); /* NULL where there is none */

struct template_folders {
	const char *directory;
};
/* A template_loader (ingot/template.h); `user` is a struct template_folders, or NULL.  Names that climb out of the
 * directory are not found. */
bool load_embedded(void *user, struct build *, const char *name, struct mapped *source);

#endif
