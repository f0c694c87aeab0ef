/* modules.c: cubins and PTX as what they are, the kernels of their names in $STANDIN_KERNELS, launches. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"

static const struct kernel_row *row_of(const struct text *text, const char *name)
{
	for (const struct kernel_row *row = text->kernels; row->name; row++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

static int add_function(struct module *module, const char *name, size_t length, int parameters, int bytes)
{
	struct function *one = &module->functions[module->count];
	if (module->count == 4096 || length >= sizeof one->name)
		return INVALID_IMAGE;
	memcpy(one->name, name, length);
	one->name[length] = 0;
	one->parameters = parameters;
	one->bytes = bytes;
	one->module = module;
	one->shared_most = SHARED_USUAL;
	if (module->text && !(one->row = row_of(module->text, one->name))) {
		complain("%s: the image has a kernel that the emulator's text has not", one->name);
		return INVALID_IMAGE;
	}
	module->count++;
	return OK;
}

static bool is_image(const unsigned char *image, const struct image_row *row)
{
	for (const unsigned char *at = row->at; at < row->end; at++, image++)
		if (*image != *at)
			return false;
	return true;
}

/* The text that this was compiled from, or the first of which nobody says it; NULL: there is none. */
static const struct text *text_of(const unsigned char *image)
{
	for (int i = 0; i < text_count; i++)
		for (const struct image_row *row = texts[i].images; row && row->at; row++)
			if (is_image(image, row))
				return &texts[i];
	for (int i = 0; i < text_count; i++)
		if (!texts[i].images)
			return &texts[i];
	return NULL;
}

/* Sections .nv.info.KERNEL: attributes of 4 bytes and what follows; 0x17 tells of one parameter, 0x19 of the bytes of
 * all. */
static int read_cubin(struct module *module, const unsigned char *image, int capability)
{
	const Elf64_Ehdr *elf = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + elf->e_shoff);
	const char *names = (const char *)image + sections[elf->e_shstrndx].sh_offset;
	int arch = (int)(elf->e_flags >> 8 & 0xff), old = (int)(elf->e_flags & 0xff),
	    of = elf->e_ident[EI_ABIVERSION] >= 8 ? arch : old;
	if (of == number("STANDIN_INVALID", 0))
		return INVALID_IMAGE;
	if (of / 10 != capability / 10 || of > capability)
		return NO_BINARY;
	module->arch = of;
	for (int i = 0; i < elf->e_shnum; i++) {
		const char *name = names + sections[i].sh_name;
		if (strncmp(name, ".nv.info.", 9))
			continue;
		const unsigned char *at = image + sections[i].sh_offset, *stop = at + sections[i].sh_size;
		int parameters = 0, bytes = 0;
		while (at + 4 <= stop) {
			uint16_t size;
			memcpy(&size, at + 2, 2);
			parameters += at[0] == 4 && at[1] == 0x17;
			if (at[0] == 3 && at[1] == 0x19)
				bytes = size;
			at += at[0] == 4 ? 4 + size : 4;
		}
		int wrong = add_function(module, name + 9, strlen(name + 9), parameters, bytes);
		if (wrong)
			return wrong;
	}
	for (int i = 0; i < elf->e_shnum; i++) /* .nv.shared.KERNEL: what it has of its own */
		for (int k = 0; k < module->count && !strncmp(names + sections[i].sh_name, ".nv.shared.", 11); k++)
			if (!strcmp(names + sections[i].sh_name + 11, module->functions[k].name)) {
				module->functions[k].shared = (unsigned)sections[i].sh_size;
				module->functions[k].shared_most = SHARED_USUAL - module->functions[k].shared;
			}
	return OK;
}

static int read_ptx(struct module *module, const char *text, int capability)
{
	int major = 0, minor = 0, target = 0, version = (int)number("STANDIN_VERSION", 13000);
	const char *at = strstr(text, ".version "), *of = strstr(text, ".target sm_");
	if (!at || !of || sscanf(at, ".version %d.%d", &major, &minor) != 2
	        || sscanf(of, ".target sm_%d", &target) != 1)
		return INVALID_IMAGE;
	if ((major + 4) * 1000 + minor * 10 > version) /* CUDA 13.0 reads 9.0 */
		return UNSUPPORTED_PTX;
	if (target > capability)
		return NO_BINARY;
	module->arch = target;
	for (at = text; (at = strstr(at, ".entry ")); at += 7) {
		size_t length = strcspn(at + 7, "( \n");
		const char *stop = strchr(at, ')');
		int parameters = 0;
		for (const char *p = at; p && stop && p < stop; p = strstr(p + 1, ".param "))
			parameters += p != at;
		int wrong = add_function(module, at + 7, length, parameters, 8 * parameters);
		if (wrong)
			return wrong;
	}
	return OK;
}

static struct module *gone;

EXPORT int cuModuleLoadDataEx(void **handle, const void *image, unsigned options, int *names, void **values)
{
	BEGIN(true);
	int capability = (int)number("STANDIN_CAPABILITY", 90);
	struct module *module = calloc(1, sizeof *module);
	bool elf = !memcmp(image, ELFMAG, SELFMAG);
	(void)options, (void)names, (void)values;
	module->text = text_of(image);
	wrong = elf ? read_cubin(module, image, capability) : read_ptx(module, image, capability);
	if (!wrong && !module->text) {
		complain("cuModuleLoadDataEx: the image was not compiled from the emulator's text");
		wrong = INVALID_IMAGE;
	}
	if (wrong) {
		free(module);
		return end(wrong);
	}
	module->magic = MODULE;
	modules++;
	*handle = module;
	return end(OK);
}

EXPORT int cuModuleUnload(void *handle)
{
	BEGIN(true);
	struct module *module = handle;
	if (!module || module->magic != MODULE) {
		complain("cuModuleUnload: no module");
		return end(INVALID_HANDLE);
	}
	modules--;
	module->magic = GONE; /* and stays, so that what is called of it is seen */
	module->next = gone;
	gone = module;
	return end(OK);
}

EXPORT int cuModuleGetFunction(void **function, void *handle, const char *name)
{
	BEGIN(true);
	struct module *module = handle;
	for (int i = 0; module->magic == MODULE && i < module->count; i++)
		if (!strcmp(module->functions[i].name, name)) {
			*function = &module->functions[i];
			return end(OK);
		}
	return end(NOT_FOUND);
}

/* Of shared memory that a launch asks for beside the kernel's own: a multiprocessor's at most, less what the driver
 * keeps. */
EXPORT int cuFuncSetAttribute(void *handle, int attribute, int value)
{
	BEGIN(true);
	struct function *function = handle;
	int capability = (int)number("STANDIN_CAPABILITY", 90);
	unsigned most = (capability < 90 && capability % 10 != 0 && capability != 87) || capability >= 120 ? 99 << 10
	        : capability < 90                                                                          ? 163 << 10
	                                                                                                   : 227 << 10;
	if (!function || function->module->magic != MODULE) {
		complain("cuFuncSetAttribute: no kernel");
		return end(INVALID_HANDLE);
	}
	if (attribute != 8 || value < 0 || (unsigned)value + function->shared > most)
		return end(INVALID_VALUE);
	function->shared_most = (unsigned)value;
	return end(OK);
}

/* As NVIDIA's header has it; of dwords, two axes, rows of 128 bytes that are swizzled. */
EXPORT int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *at, const unsigned long long *extents,
        const unsigned long long *pitches, const unsigned *box, const unsigned *steps, int interleave, int swizzle,
        int lines, int fill)
{
	BEGIN(true);
	const char *says = "no kernel takes maps";
	if (type != 2 || rank != 2 || steps[0] != 1 || steps[1] != 1 || interleave || swizzle != 3 || lines < 0
	        || lines > 3 || fill)
		return end(INVALID_VALUE);
	for (int i = 0; i < text_count; i++)
		if (texts[i].map) {
			memset(map, 0, MAP_BYTES);
			says = texts[i].map(map, at, extents, *pitches, box);
			break;
		}
	if (says)
		complain("cuTensorMapEncodeTiled: %s", says);
	return end(says ? INVALID_VALUE : OK);
}

/* Behind pointers maps begin at whole 64 bytes, counted from where ptxas has parameters begin. */
static bool has_bytes(const struct kernel_row *row, int bytes)
{
	int least = 8 * (row->parameters - row->maps) + MAP_BYTES * row->maps;
	return row->maps ? bytes >= least && bytes < least + 64 : bytes == least;
}

static uint64_t *values_new(const struct function *function, void **parameters)
{
	int maps = function->row->maps, pointers = function->parameters - maps;
	uint64_t *values = malloc(sizeof *values * (size_t)(values_of(function) + 1));
	for (int i = 0; i < function->parameters; i++)
		memcpy(&values[i], parameters[i], 8);
	for (int i = 0; i < maps; i++) {
		if ((uintptr_t)parameters[pointers + i] % 64)
			complain("%s: a tensor map that is not aligned to 64 bytes", function->name);
		memcpy(&values[function->parameters + MAP_VALUES * i], parameters[pointers + i], MAP_BYTES);
	}
	return values;
}

static int launch(struct operation one, void *stream, void **parameters)
{
	const struct function *function = one.function;
	const unsigned *g = one.grid, *b = one.block, shared = one.shared;
	if (!function || function->module->magic != MODULE) {
		complain("cuLaunchKernel: no kernel");
		return INVALID_HANDLE;
	}
	if (!is_stream(&stream))
		return INVALID_HANDLE;
	if (!g[0] || !g[1] || !g[2] || !b[0] || !b[1] || !b[2] || (uint64_t)b[0] * b[1] * b[2] > 1024
	        || g[0] > 0x7fffffffu || g[1] > 65535 || g[2] > 65535)
		return INVALID_VALUE;
	if (shared > function->shared_most) {
		complain("%s: %u bytes of dynamic shared memory, its attribute allows %u", function->name, shared,
		        function->shared_most);
		return INVALID_VALUE;
	}
	if (function->parameters != function->row->parameters || !has_bytes(function->row, function->bytes)
	        || function->parameters > PARAMETERS_MOST) {
		complain("%s: the image has %d parameters of %d bytes, the text %d", function->name,
		        function->parameters, function->bytes, function->row->parameters);
		return INVALID_VALUE;
	}
	one.values = values_new(function, parameters);
	return enqueue(stream, one);
}

EXPORT int cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
        unsigned shared, void *stream, void **parameters, void **extra)
{
	BEGIN(true);
	struct operation one = {
		.kind = LAUNCH, .function = handle, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared
	};
	(void)extra;
	return end(launch(one, stream, parameters));
}

/* As NVIDIA's header has them; 6: a launch that may overlap the one before. */
struct attribute {
	int id, pad;
	union {
		char pad[64];
		int allowed;
		void *pointer;
	} value;
};
struct config {
	unsigned gx, gy, gz, bx, by, bz, shared;
	void *stream;
	const struct attribute *attributes;
	unsigned count;
};

EXPORT int cuLaunchKernelEx(const void *how, void *handle, void **parameters, void **extra)
{
	BEGIN(true);
	const struct config *c = how;
	const struct function *function = handle;
	struct operation one = { .kind = LAUNCH,
		.function = handle,
		.grid = { c->gx, c->gy, c->gz },
		.block = { c->bx, c->by, c->bz },
		.shared = c->shared };
	(void)extra;
	for (unsigned i = 0; i < c->count; i++) {
		if (c->attributes[i].id != 6 || number("STANDIN_VERSION", 13000) < 12030)
			return end(INVALID_VALUE);
		if (c->attributes[i].value.allowed && function && function->module->arch < 90)
			complain("%s: overlaps the launch before, for which its code does not wait", function->name);
	}
	return end(launch(one, c->stream, parameters));
}
