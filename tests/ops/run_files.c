/* run_files.c: graphs in text with their numbers beside them, by the interpreter.
 *
 *     run_files FILE...
 *
 * In a file, below or above the graph, "# NAME = 1 2 3" gives the elements of an input or output; nan, inf and -inf are
 * numbers too. Floats must agree to 1e-6 of the largest number of the output and one part in 10^5; all else exactly,
 * floats below 32 bits too.
 * Each graph is run as it is and simplified. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "definitions/definitions.h"
#include "definitions/narrow.h"
#include "frontends/frontends.h"
#include "ops/ops.h"
#include "passes/passes.h"

/* The elements that the text gives for a name, as doubles; *count of them, -1 where it gives none. */
static double *numbers_of(struct build *build, const char *text, const char *name, int64_t *count)
{
	VECTOR(double) numbers = { 0 };
	char key[200];
	snprintf(key, sizeof key, "# %.100s =", name);
	const char *line = strstr(text, key);
	*count = -1;
	if (!line)
		return NULL;
	for (const char *at = line + strlen(key); *at && *at != '\n';) {
		char *end;
		double number = strtod(at, &end);
		if (end == at)
			break;
		push(build->arena, &numbers, number);
		at = end;
		at += strspn(at, " \t");
	}
	*count = (int64_t)numbers.count;
	return numbers.at ? numbers.at : arena_new_array(build->arena, double, 1);
}

/* Elements below 8 bits: packed, low bits first. */
static void put_bits(void *elements, int64_t i, int bits, unsigned value)
{
	for (int b = 0; b < bits; b++) {
		int64_t at = i * bits + b;
		((uint8_t *)elements)[at / 8] |= (uint8_t)((value >> b & 1u) << (at % 8));
	}
}

static unsigned get_bits(const void *elements, int64_t i, int bits)
{
	unsigned value = 0;
	for (int b = 0; b < bits; b++) {
		int64_t at = i * bits + b;
		value |= (((const uint8_t *)elements)[at / 8] >> (at % 8) & 1u) << b;
	}
	return value;
}

static void put(enum dtype type, void *elements, int64_t i, double number)
{
	int bits = dtypes[type].bits;
	if (dtype_is_narrow(type) || bits < 8) {
		put_bits(elements, i, bits,
		        dtype_is_narrow(type) ? narrow_code(type, 0, (float)number) : (unsigned)(int)number);
		return;
	}
	switch (type) {
	case DTYPE_F32: ((float *)elements)[i] = (float)number; break;
	case DTYPE_F64: ((double *)elements)[i] = number; break;
	case DTYPE_I64: ((int64_t *)elements)[i] = (int64_t)number; break;
	case DTYPE_I32: ((int32_t *)elements)[i] = (int32_t)number; break;
	case DTYPE_U64: ((uint64_t *)elements)[i] = (uint64_t)number; break;
	case DTYPE_U32: ((uint32_t *)elements)[i] = (uint32_t)number; break;
	case DTYPE_I16: ((int16_t *)elements)[i] = (int16_t)number; break;
	case DTYPE_U16: ((uint16_t *)elements)[i] = (uint16_t)number; break;
	case DTYPE_I8: ((int8_t *)elements)[i] = (int8_t)number; break;
	case DTYPE_U8:
	case DTYPE_BOOL: ((uint8_t *)elements)[i] = (uint8_t)number; break;
	default: abort();
	}
}

static double get(enum dtype type, const void *elements, int64_t i)
{
	int bits = dtypes[type].bits;
	if (dtype_is_narrow(type))
		return (double)narrow_value(type, get_bits(elements, i, bits));
	if (bits < 8) {
		unsigned value = get_bits(elements, i, bits);
		return dtypes[type].class == CLASS_INT && value >> (bits - 1) ? (int)value - (1 << bits) : (int)value;
	}
	switch (type) {
	case DTYPE_F32: return ((const float *)elements)[i];
	case DTYPE_F64: return ((const double *)elements)[i];
	case DTYPE_I64: return (double)((const int64_t *)elements)[i];
	case DTYPE_I32: return ((const int32_t *)elements)[i];
	case DTYPE_U64: return (double)((const uint64_t *)elements)[i];
	case DTYPE_U32: return ((const uint32_t *)elements)[i];
	case DTYPE_I16: return ((const int16_t *)elements)[i];
	case DTYPE_U16: return ((const uint16_t *)elements)[i];
	case DTYPE_I8: return ((const int8_t *)elements)[i];
	case DTYPE_U8:
	case DTYPE_BOOL: return ((const uint8_t *)elements)[i];
	default: abort();
	}
}

static void *elements_of(struct build *build, const struct definition *definition)
{
	return arena_array(build->arena, dtype_bytes(definition->type, (size_t)definition_elements(definition)) + 1, 1);
}

static bool same(enum dtype type, double got, double want, double largest)
{
	if (isnan(want) || isinf(want) || dtypes[type].class != CLASS_FLOAT || dtype_is_narrow(type))
		return got == want ? signbit(got) == signbit(want) : isnan(got) && isnan(want);
	return fabs(got - want) <= 1e-6 * largest + 1e-5 * fabs(want);
}

static bool compare(struct build *build, const char *path, const char *text, const struct definition *definition,
        const char *name, const void *got)
{
	int64_t count;
	const double *want = numbers_of(build, text, name, &count);
	double largest = 0;
	const struct shown shown = definition_shown(definition);
	if (count != shown_elements(&shown)) {
		printf("%s: %s has %" PRId64 " elements, the file gives %" PRId64 "\n", path, name,
		        shown_elements(&shown), count);
		return false;
	}
	for (int64_t i = 0; i < count; i++)
		largest = isfinite(want[i]) ? fmax(largest, fabs(want[i])) : largest;
	for (int64_t i = 0; i < count; i++)
		if (!same(shown.type, get(shown.type, got, i), want[i], largest)) {
			printf("%s: %s[%" PRId64 "] is %.9g, %.9g is right\n", path, name, i, get(shown.type, got, i),
			        want[i]);
			return false;
		}
	return true;
}

static bool work(struct build *build, const char *path, bool simplify)
{
	struct mapped file = file_map(build, path);
	const char *text = arena_copy(build->arena, (const char *)file.at, file.bytes);
	struct graph *graph = graph_read_memory(build, path, file.at, file.bytes, &(struct read_options){ 0 });
	bool right = true;
	graph_check(graph);
	pass_infer(graph);
	if (simplify)
		pass_simplify(graph);
	struct program *program = define_graph(graph);
	program_check(program);
	const void **inputs = arena_new_array(build->arena, const void *, program->inputs.count + 1);
	void **outputs = arena_new_array(build->arena, void *, program->outputs.count + 1);
	for (size_t i = 0; i < program->inputs.count; i++) {
		int64_t count;
		const struct definition *definition = program->inputs.at[i];
		const double *numbers = numbers_of(build, text, definition->name, &count);
		const struct shown shown = definition_shown(definition);
		if (count != shown_elements(&shown))
			fail(build, EXIT_USAGE, path, "%s needs %" PRId64 " numbers, has %" PRId64, definition->name,
			        shown_elements(&shown), count);
		void *data = elements_of(build, definition);
		for (int64_t k = 0; k < count; k++)
			put(shown.type, data, k, numbers[k]);
		inputs[i] = data;
	}
	for (size_t i = 0; i < program->outputs.count; i++)
		outputs[i] = elements_of(build, program->outputs.at[i]);
	interpret(program, MATH_STRICT, inputs, outputs);
	for (size_t i = 0; i < program->outputs.count; i++)
		right &= compare(build, path, text, program->outputs.at[i], program->output_names.at[i], outputs[i]);
	return right;
}

int main(int argc, char **argv)
{
	volatile int bad = 0;
	for (int i = 1; i < argc; i++)
		for (volatile int simplify = 0; simplify < 2; simplify++) {
			struct build build;
			build_init(&build);
			if (BUILD_TRY(&build))
				bad |= !work(&build, argv[i], simplify);
			if (build.code) {
				printf("%s: exit %d: %s\n", argv[i], build.code, build.message);
				bad = 1;
			}
			build_release(&build);
		}
	return bad || argc < 2;
}
