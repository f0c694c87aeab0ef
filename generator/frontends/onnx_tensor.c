/* onnx_tensor.c: TensorProto and SparseTensorProto -> constants.  raw_data, external data and packed floats are
 * borrowed where they lie; everything else is decoded into the arena. */
#include "frontends/onnx_wire.h"
#include "frontends/reader.h"

enum { SPARSE_LIMIT = 1 << 28 }; /* bytes that a sparse tensor may fill: a few numbers may ask for any */

/* Where the elements of a type stand, when not in raw_data: a field of numbers, each of `bytes` once decoded. */
struct encoding {
	uint32_t field;
	enum wire_type type;
	int bytes;
};

static struct encoding encoding_of(enum dtype type)
{
	int bits = dtypes[type].bits;
	switch (type) {
	case DTYPE_F32:
	case DTYPE_C64: return (struct encoding){ 4, WIRE_32, 4 };
	case DTYPE_F64:
	case DTYPE_C128: return (struct encoding){ 10, WIRE_64, 8 };
	case DTYPE_I64: return (struct encoding){ 7, WIRE_VARINT, 8 };
	case DTYPE_U32:
	case DTYPE_U64: return (struct encoding){ 11, WIRE_VARINT, bits / 8 };
	default: /* 2 and 4 bits: a number is a byte of several elements; 6: one element */
		return (struct encoding){ 5, WIRE_VARINT, bits < 8 ? 1 : bits / 8 };
	}
}

static const char *decode(struct reader *reader, struct wire w, const char *where, enum dtype type, size_t bytes)
{
	struct encoding encoding = encoding_of(type);
	struct wire_numbers numbers = wire_numbers(w, encoding.field, encoding.type);
	char *data = arena_array(reader->build->arena, bytes, 1), *to = data;
	int64_t high = encoding.bytes < 8 ? (int64_t)1 << 8 * encoding.bytes : INT64_MAX;
	for (uint64_t value; wire_number(&numbers, &value); to += encoding.bytes) {
		/* Writers differ in the sign of small types: 255 and -1 are both a byte of ones. */
		if (encoding.type == WIRE_VARINT && encoding.bytes < 8
		        && ((int64_t)value >= high || (int64_t)value < -high / 2))
			fail(reader->build, EXIT_INVALID, where, "element %td does not fit its type: %lld",
			        (to - data) / encoding.bytes, (long long)value);
		memcpy(to, &value, (size_t)encoding.bytes);
	}
	if (dtypes[type].bits != 6)
		return data;
	size_t n = (size_t)(to - data);
	unsigned char *packed = arena_array(reader->build->arena, dtype_bytes(type, n), 1);
	FOR (i, n)
		put_bits(packed, i, 6, (unsigned)data[i] & 63);
	return (const char *)packed;
}

static void read_strings(struct reader *reader, struct wire w, const char *where, struct tensor *tensor)
{
	size_t count = wire_repeats(w, 6), n = 0;
	if (count != (size_t)tensor_elements(reader->build, tensor))
		fail(reader->build, EXIT_INVALID, where, "holds %zu strings where its shape asks for %lld", count,
		        (long long)tensor_elements(reader->build, tensor));
	const char **strings = arena_new_array(reader->build->arena, const char *, count);
	for (struct wire_field f; wire_next(&w, &f);)
		if (f.number == 6) {
			struct wire s = wire_bytes(&f);
			if (memchr(s.at, 0, wire_left(s)))
				fail(reader->build, EXIT_UNSUPPORTED, where, "string %zu holds a NUL byte", n);
			strings[n++] = arena_copy(reader->build->arena, (const char *)s.at, wire_left(s));
		}
	tensor->data = tensor->strings = strings;
}

/* The elements stand in a field of numbers. */
static void read_numbers(struct reader *reader, struct wire w, const char *where, struct tensor *tensor)
{
	struct encoding encoding = encoding_of(tensor->type);
	size_t count = 0, bytes;
	struct wire once = { 0 };
	int places = 0;
	struct wire walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == encoding.field) {
			places++;
			if (f.type == WIRE_BYTES)
				once = f.bytes;
		}
	count = wire_count(w, encoding.field, encoding.type);
	if (!size_mul(count, (size_t)encoding.bytes, &bytes))
		fail(reader->build, EXIT_LIMIT, where, "too many elements");
	size_t elements = (size_t)tensor_elements(reader->build, tensor);
	bool fits = count
	        == (dtypes[tensor->type].bits == 6 ? elements
	                                           : dtype_bytes(tensor->type, elements) / (size_t)encoding.bytes);
	if (places == 1 && once.at && encoding.type != WIRE_VARINT)
		reader_data(reader, where, tensor, once.at, bytes);
	else if (fits)
		reader_data(reader, where, tensor, decode(reader, w, where, tensor->type, bytes),
		        dtype_bytes(tensor->type, elements));
	else
		fail(reader->build, EXIT_INVALID, where, "holds %zu numbers where %zu elements of %s belong", count,
		        elements, dtypes[tensor->type].text);
}

/* Fields of TensorProto that hold elements; a tensor uses one. */
static bool holds_data(uint32_t number) { return (number >= 4 && number <= 7) || (number >= 9 && number <= 11); }

static void read_external(struct reader *reader, struct wire w, const char *where, struct tensor *tensor)
{
	struct external external = { 0 };
	for (struct wire_field f; wire_next(&w, &f);) {
		if (f.number != 13)
			continue;
		struct wire entry = wire_bytes(&f);
		struct bytes parts[2] = { { "", 0 }, { "", 0 } }; /* key, value */
		for (struct wire_field part; wire_next(&entry, &part);)
			if (part.number == 1 || part.number == 2) {
				struct wire s = wire_bytes(&part);
				parts[part.number - 1] = (struct bytes){ (const char *)s.at, wire_left(s) };
			}
		external_entry(reader, where, &external, parts[0], parts[1]);
	}
	external_data(reader, where, tensor, &external);
}

static void read_dims(struct reader *reader, struct wire w, uint32_t number, const char *where, struct tensor *tensor)
{
	struct wire_numbers dims = wire_numbers(w, number, WIRE_VARINT);
	tensor->rank = 0;
	for (uint64_t extent; wire_number(&dims, &extent);) {
		if ((int64_t)extent < 0)
			fail(reader->build, EXIT_INVALID, where, "dimension %d is %lld", tensor->rank,
			        (long long)extent);
		reader_dim(reader, where, tensor, (int64_t)extent, NULL);
	}
}

struct tensor proto_tensor(struct reader *reader, struct wire w, const char *where)
{
	struct build *build = reader->build;
	struct tensor tensor = { .name = name_is(build->names, ""), .is_initializer = true };
	int64_t type = 0, location = 0;
	uint32_t data = 0;
	struct wire raw = { 0 }, walk = w;
	for (struct wire_field f; wire_next(&walk, &f);) {
		if (f.number == 2)
			type = wire_int(&f);
		else if (f.number == 8)
			tensor.name = reader_name(reader, (const char *)wire_bytes(&f).at, wire_left(f.bytes));
		else if (f.number == 9)
			raw = wire_bytes(&f);
		else if (f.number == 14)
			location = wire_int(&f);
		else if (f.number == 3)
			fail(build, EXIT_UNSUPPORTED, reader->file, "a tensor in segments");
		/* An empty raw_data or packed field is what some writers leave of a field they did not use. */
		if (holds_data(f.number) && (f.type != WIRE_BYTES || f.number == 6 || wire_left(f.bytes))) {
			if (data && data != f.number)
				fail(build, EXIT_INVALID, reader->file, "tensor %.100s has its data twice",
				        tensor.name);
			data = f.number;
		}
	}
	if (!where)
		where = reader_where(reader, "tensor", tensor.name);
	if (type <= 0 || type >= DTYPE_COUNT)
		fail(build, type > 0 ? EXIT_UNSUPPORTED : EXIT_INVALID, where,
		        "its element type has the number %lld, which is not known", (long long)type);
	tensor.type = (enum dtype)type;
	read_dims(reader, w, 1, where, &tensor);
	if (location == 1 && (data || tensor.type == DTYPE_STRING))
		fail(build, EXIT_INVALID, where,
		        data ? "has data both inside and outside of the file" : "strings cannot be external");
	if (data && data != 9 && data != (tensor.type == DTYPE_STRING ? 6 : encoding_of(tensor.type).field))
		fail(build, EXIT_INVALID, where, "field %u does not hold elements of %s", data,
		        dtypes[tensor.type].text);
	if (location == 1)
		read_external(reader, w, where, &tensor);
	else if (tensor.type == DTYPE_STRING)
		read_strings(reader, w, where, &tensor);
	else if (data == 9)
		reader_data(reader, where, &tensor, raw.at, wire_left(raw));
	else
		read_numbers(reader, w, where, &tensor);
	return tensor;
}

/* Indices: [n] of flat positions, or [n, rank] of coordinates, ascending. */
static void fill(struct reader *reader, const char *where, const struct tensor *values, const struct tensor *indices,
        const struct tensor *tensor, char *data)
{
	size_t width = (size_t)dtypes[tensor->type].bits / 8, n = (size_t)values->dims[0].extent;
	int64_t before = -1;
	FOR (i, n) {
		int64_t position = indices->rank == 1 ? tensor_int(indices, i) : 0;
		bool inside = true;
		for (int k = 0; indices->rank == 2 && k < tensor->rank; k++) {
			int64_t at = tensor_int(indices, i * (size_t)tensor->rank + (size_t)k);
			inside &= at >= 0 && at < tensor->dims[k].extent;
			position = inside ? position * tensor->dims[k].extent + at : 0;
		}
		if (!inside || position < 0 || position >= tensor_elements(reader->build, tensor))
			fail(reader->build, EXIT_INVALID, where,
			        "index %zu of a sparse tensor lies outside of its shape", i);
		if (position <= before)
			fail(reader->build, EXIT_INVALID, where, "index %zu of a sparse tensor is out of order", i);
		before = position;
		memcpy(data + (size_t)position * width, (const char *)values->data + i * width, width);
	}
}

struct tensor proto_sparse(struct reader *reader, struct wire w, const char *where)
{
	struct build *build = reader->build;
	struct tensor values = { .rank = -1 }, indices = { .rank = -1 }, tensor = { .rank = -1 };
	struct wire walk = w;
	for (struct wire_field f; wire_next(&walk, &f);)
		if (f.number == 1)
			values = proto_tensor(reader, wire_bytes(&f), where);
		else if (f.number == 2)
			indices = proto_tensor(reader, wire_bytes(&f), where);
	if (values.rank != 1 || indices.type != DTYPE_I64)
		fail(build, EXIT_INVALID, where ? where : reader->file,
		        "a sparse tensor needs a list of values and int64 indices");
	tensor = values;
	if (!where)
		where = reader_where(reader, "sparse tensor", tensor.name);
	read_dims(reader, w, 3, where, &tensor);
	bool fits = indices.rank == 1 || (indices.rank == 2 && indices.dims[1].extent == tensor.rank);
	if (!fits || indices.dims[0].extent != values.dims[0].extent)
		fail(build, EXIT_INVALID, where, "a sparse tensor's indices do not fit its %lld values",
		        (long long)values.dims[0].extent);
	if (tensor.type == DTYPE_STRING || dtypes[tensor.type].bits < 8)
		fail(build, EXIT_UNSUPPORTED, where, "a sparse tensor of %s", dtypes[tensor.type].text);
	size_t bytes = dtype_bytes(tensor.type, (size_t)tensor_elements(build, &tensor));
	if (bytes > SPARSE_LIMIT)
		fail(build, EXIT_LIMIT, where, "a sparse tensor that would fill %zu bytes", bytes);
	char *data = arena_alloc(build->arena, bytes);
	fill(reader, where, &values, &indices, &tensor, data);
	reader_data(reader, where, &tensor, data, bytes);
	return tensor;
}
