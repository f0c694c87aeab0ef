/* data.c: reads a test's data and compares outputs with it. */
#include "cli/data.h"
#include "base/npy.h"
#include "frontends/frontends.h"
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_there(const char *path) { return access(path, F_OK) == 0; }

static struct array array_of_npy(struct build *build, const char *path, const char *name)
{
	struct npy npy = npy_read(build, path);
	struct array array = { .name = name, .type = npy.type, .rank = npy.rank, .data = npy.data, .bytes = npy.bytes, .atol = -1 };
	memcpy(array.extents, npy.extents, sizeof *npy.extents * (size_t)npy.rank);
	return array;
}

static void read_list(struct build *build, const char *directory, json_t *io, const char *key, struct data *data)
{
	size_t i;
	json_t *one, *list = json_object_get(io, key);
	json_array_foreach(list, i, one) {
		const char *file = json_string_value(json_object_get(one, "file")), *name = json_string_value(json_object_get(one, "name"));
		json_t *atol = json_object_get(one, "atol");
		if (!file || !name)
			fail(build, EXIT_USAGE, directory, "io.json: %s %zu lacks \"name\" or \"file\"", key, i);
		struct array array = array_of_npy(build, arena_printf(build->arena, "%s/%s", directory, file), arena_copy(build->arena, name, strlen(name)));
		array.atol = json_is_number(atol) ? json_number_value(atol) : -1;
		if (!strcmp(key, "inputs"))
			push(build->arena, &data->inputs, array);
		else
			push(build->arena, &data->outputs, array);
	}
}

static struct data read_npy_folder(struct build *build, const char *directory)
{
	struct data data = { .path = directory };
	json_error_t error;
	json_t *io = json_load_file(arena_printf(build->arena, "%s/io.json", directory), 0, &error);
	if (!io)
		fail(build, EXIT_USAGE, directory, "io.json: %s", error.text);
	jmp_buf *out = build->out, mine;
	build->out = &mine;
	if (setjmp(mine) == 0) {
		read_list(build, directory, io, "inputs", &data);
		read_list(build, directory, io, "outputs", &data);
	}
	build->out = out;
	json_decref(io);
	if (build->code)
		longjmp(*out, 1);
	return data;
}

static struct array array_of_proto(struct build *build, const char *path)
{
	struct tensor *t = tensor_read_proto(build, path);
	struct array array = { .name = t->name, .type = t->type, .rank = t->rank, .data = t->data, .bytes = t->bytes, .atol = -1 };
	for (int d = 0; d < t->rank; d++)
		array.extents[d] = t->dims[d].extent;
	return array;
}

static struct data read_proto_folder(struct build *build, const char *directory)
{
	struct data data = { .path = directory, .backend = true };
	for (int i = 0;; i++) {
		const char *path = arena_printf(build->arena, "%s/input_%d.pb", directory, i);
		if (!is_there(path))
			break;
		push(build->arena, &data.inputs, array_of_proto(build, path));
	}
	for (int i = 0;; i++) {
		const char *path = arena_printf(build->arena, "%s/output_%d.pb", directory, i);
		if (!is_there(path))
			break;
		push(build->arena, &data.outputs, array_of_proto(build, path));
	}
	if (!data.outputs.count)
		fail(build, EXIT_USAGE, directory, "holds no output_0.pb");
	return data;
}

struct data_sets *data_read(struct build *build, const char *directory)
{
	struct data_sets *sets = new(build->arena, struct data_sets);
	struct stat info;
	if (stat(directory, &info) || !S_ISDIR(info.st_mode))
		fail(build, EXIT_USAGE, directory, "is not a folder");
	if (is_there(arena_printf(build->arena, "%s/io.json", directory)))
		push(build->arena, &sets->all, read_npy_folder(build, directory));
	else if (is_there(arena_printf(build->arena, "%s/output_0.pb", directory)))
		push(build->arena, &sets->all, read_proto_folder(build, directory));
	else
		for (int i = 0;; i++) {
			const char *path = arena_printf(build->arena, "%s/test_data_set_%d", directory, i);
			if (!is_there(path))
				break;
			push(build->arena, &sets->all, read_proto_folder(build, path));
		}
	if (!sets->all.count)
		fail(build, EXIT_USAGE, directory, "holds neither io.json nor output_0.pb nor test_data_set_0");
	return sets;
}

void data_bind(struct graph *graph, const struct data *data)
{
	for (size_t i = 0; i < graph->inputs.count && i < data->inputs.count; i++)
		pass_bind_input(graph, graph->inputs.at[i], data->inputs.at[i].rank, data->inputs.at[i].extents);
}

/* ---- comparing ---- */
static double half_value(unsigned h)
{
	int exponent = (int)(h >> 10 & 31), mantissa = (int)(h & 1023);
	double value = exponent == 31 ? (mantissa ? NAN : INFINITY) : exponent ? ldexp(mantissa + 1024, exponent - 25) : ldexp(mantissa, -24);
	return h & 0x8000 ? -value : value;
}

static double bfloat_value(unsigned h)
{
	uint32_t bits = h << 16;
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

static double element(enum dtype type, const void *data, int64_t i)
{
	switch (type) {
	case DTYPE_F32: return ((const float *)data)[i];
	case DTYPE_F64: return ((const double *)data)[i];
	case DTYPE_F16: return half_value(((const uint16_t *)data)[i]);
	case DTYPE_BF16: return bfloat_value(((const uint16_t *)data)[i]);
	case DTYPE_I8: return ((const int8_t *)data)[i];
	case DTYPE_U8: case DTYPE_BOOL: return ((const uint8_t *)data)[i];
	case DTYPE_I16: return ((const int16_t *)data)[i];
	case DTYPE_U16: return ((const uint16_t *)data)[i];
	case DTYPE_I32: return ((const int32_t *)data)[i];
	case DTYPE_U32: return ((const uint32_t *)data)[i];
	default: return 0;
	}
}

struct comparison data_compare(struct build *build, const struct array *want, const struct definition *made, const void *got, bool backend)
{
	struct comparison c = { .right = true, .why = "" };
	int64_t count = definition_elements(made);
	bool floats = dtypes[made->type].class == CLASS_FLOAT;
	if (want->type != made->type) {
		c.right = false;
		c.why = arena_printf(build->arena, "type %s, should be %s", dtypes[made->type].text, dtypes[want->type].text);
		return c;
	}
	bool same = want->rank == made->rank;
	for (int d = 0; same && d < made->rank; d++)
		same = want->extents[d] == made->extents[d];
	if (!same) {
		c.right = false;
		c.why = "its shape differs from the reference's";
		return c;
	}
	if (dtype_bytes(want->type, (size_t)count) != want->bytes) {
		c.right = false;
		c.why = "the reference's data is incomplete";
		return c;
	}
	if (!floats && want->atol < 0) {
		c.right = memcmp(want->data, got, want->bytes) == 0;
		c.why = c.right ? "" : "integers differ";
		return c;
	}
	double largest = 0;
	for (int64_t i = 0; i < count; i++) {
		double y = fabs(element(want->type, want->data, i));
		if (isfinite(y) && y > largest)
			largest = y;
	}
	double flat = (want->type == DTYPE_F16 ? 1e-2 : 1e-4) * largest + (largest >= 1e-3 ? 1e-6 : 0);
	for (int64_t i = 0; i < count; i++) {
		double y = element(want->type, want->data, i), x = element(made->type, got, i), d = fabs(x - y);
		double allowed = backend ? 1e-5 + (want->type == DTYPE_BF16 ? 0x1p-6 : 1e-3) * fabs(y) : want->atol >= 0 ? want->atol : flat;
		if (!isfinite(y) || !isfinite(x)) {
			if (isnan(y) ? !isnan(x) : x != y) {
				c.right = false;
				c.why = arena_printf(build->arena, "element %lld is %g, should be %g", (long long)i, x, y);
			}
			c.nonfinite++;
			continue;
		}
		if (d > c.worst) {
			c.worst = d;
			c.allowed = allowed;
		}
		if (d > allowed && c.right) {
			c.right = false;
			c.why = arena_printf(build->arena, "element %lld is %.9g, should be %.9g within %.3g", (long long)i, x, y, allowed);
		}
	}
	return c;
}
