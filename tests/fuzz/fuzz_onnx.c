/* fuzz_onnx.c: any bytes are read or refused, and what is read keeps its promise (fuzz_graph.h).
 *
 * Bytes changed at random seldom stay a protobuf: the lengths around them are wrong.  So the mutator mostly changes one
 * field of one message (drops it, doubles it, gives it another number, another's content, an awkward value) and writes
 * the lengths of all messages around anew. */
#include "fuzz_graph.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

struct field {
	size_t from, content, end;
	unsigned number, type;
};
enum { FIELDS = 512, DEPTH = 16, PARTS = 6 };

static size_t varint(const uint8_t *at, size_t size, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < size && i < 10; i++) {
		*value |= (uint64_t)(at[i] & 127) << 7 * i;
		if (at[i] < 128)
			return i + 1;
	}
	return 0;
}

static size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t n = 0;
	for (; value > 127; value >>= 7)
		to[n++] = (uint8_t)(value | 128);
	to[n++] = (uint8_t)value;
	return n;
}

/* 0: these bytes are no message, or one of too many fields. */
static size_t split(const uint8_t *at, size_t size, struct field *fields)
{
	size_t count = 0;
	for (size_t i = 0; i < size;) {
		uint64_t key, value = 0;
		struct field f = { .from = i };
		size_t n = varint(at + i, size - i, &key);
		if (!n || count == FIELDS || !key || key >> 16)
			return 0;
		f.number = (unsigned)(key >> 3);
		f.type = (unsigned)key & 7;
		f.content = i += n;
		if (f.type == 0 || f.type == 2) {
			if (!(n = varint(at + i, size - i, &value)))
				return 0;
			i += n;
			if (f.type == 2) {
				f.content = i;
				if (value > size - i)
					return 0;
				i += value;
			}
		} else {
			size_t width = f.type == 1 ? 8 : f.type == 5 ? 4 : size + 1;
			if (width > size - i)
				return 0;
			i += width;
		}
		f.end = i;
		fields[count++] = f;
	}
	return count;
}

static uint32_t draw(uint32_t *seed) { return (*seed = *seed * 1664525 + 1013904223) >> 8; }

static size_t put_field(uint8_t *to, unsigned number, const uint8_t *content, size_t n)
{
	size_t at = put_varint(to, number << 3 | 2);
	at += put_varint(to + at, n);
	memmove(to + at, content, n);
	return at + n;
}

static size_t mutate(const uint8_t *in, size_t size, uint8_t *out, size_t room, uint32_t *seed, int depth)
{
	static const uint64_t awkward[] = { 0, 1, 2, 7, 16, 20, 26, 31, 64, 1u << 31, UINT32_MAX, INT64_MAX,
		(uint64_t)INT64_MIN, UINT64_MAX };
	struct field *fields = malloc(FIELDS * sizeof *fields);
	size_t count = size + 64 < room ? split(in, size, fields) : 0, n = 0;
	if (!count || draw(seed) % 16 == 0) {
		free(fields);
		memcpy(out, in, size);
		return LLVMFuzzerMutate(out, size, room);
	}
	struct field f = fields[draw(seed) % count], other = fields[draw(seed) % count];
	uint8_t *made = malloc(2 * room + 64);
	size_t length = f.end - f.content, left = room - (size - (f.end - f.from)) - 32;
	bool inner = f.type == 2 && length && length < left && depth < DEPTH;
	if (inner && draw(seed) % 5) {
		uint8_t *content = malloc(left);
		size_t changed = mutate(in + f.content, length, content, left, seed, depth + 1);
		n = put_field(made, f.number, content, changed);
		free(content);
	} else {
		switch (draw(seed) % PARTS) {
		case 0: /* dropped */ break;
		case 1: /* twice */
			memcpy(made, in + f.from, f.end - f.from);
			memcpy(made + (f.end - f.from), in + f.from, f.end - f.from);
			n = 2 * (f.end - f.from);
			break;
		case 2: /* a neighbour in its place */
			memcpy(made, in + other.from, other.end - other.from);
			n = other.end - other.from;
			break;
		case 3: /* another number */
			if (f.type == 2)
				n = put_field(made, 1 + draw(seed) % 25, in + f.content, length);
			break;
		case 4: /* its number, a neighbour's content */
			if (f.type == 2 && other.type == 2)
				n = put_field(made, f.number, in + other.content, other.end - other.content);
			break;
		default:
			n = put_varint(made, f.number << 3 | (f.type == 2 ? 0 : f.type));
			if (f.type == 0 || f.type == 2)
				n += put_varint(made + n,
				        draw(seed) % 2 ? awkward[draw(seed) % COUNT(awkward)] : draw(seed) % 32);
			else
				for (size_t width = f.type == 1 ? 8 : 4; width--;)
					made[n++] = (uint8_t)draw(seed);
		}
	}
	size_t whole = f.from + n + (size - f.end);
	if (whole > room) {
		memcpy(out, in, size);
		whole = size;
	} else {
		memcpy(out, in, f.from);
		memcpy(out + f.from, made, n);
		memcpy(out + f.from + n, in + f.end, size - f.end);
	}
	free(made);
	free(fields);
	return whole;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	uint8_t *out = malloc(room);
	uint32_t state = seed;
	size_t n = mutate(data, size, out, room, &state, 0);
	memcpy(data, out, n);
	free(out);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_graph(data, size); }
