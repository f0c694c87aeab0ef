/* onnx_wire.c: bytes -> fields. */
#include "frontends/onnx_wire.h"

static NORETURN void broken(const struct wire_file *file, const uint8_t *at, const char *what)
{
	fail(file->build, EXIT_INVALID, file->name, "byte %zu: %s; the file is cut short, damaged, or no ONNX model",
	        (size_t)(at - file->start), what);
}

struct wire wire_of(const struct wire_file *file, const void *at, size_t bytes)
{
	return (struct wire){ at, bytes ? (const uint8_t *)at + bytes : at, file };
}

uint64_t wire_varint(struct wire *w)
{
	uint64_t value = 0;
	const uint8_t *from = w->at;
	for (int shift = 0; shift < 64; shift += 7) {
		if (w->at >= w->end)
			broken(w->file, from, "a number has no end");
		uint8_t byte = *w->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	broken(w->file, from, "a number has more than 64 bits");
}

static void fixed(struct wire *w, struct wire_field *f, size_t bytes)
{
	if (wire_left(*w) < bytes)
		broken(w->file, w->at, "a number is cut off");
	f->value = 0;
	memcpy(&f->value, w->at, bytes);
	w->at += bytes;
}

bool wire_next(struct wire *w, struct wire_field *f)
{
	if (w->at >= w->end)
		return false;
	const uint8_t *from = w->at;
	uint64_t key = wire_varint(w), left;
	f->number = (uint32_t)(key >> 3);
	f->type = (enum wire_type)(key & 7);
	f->file = w->file;
	if (f->number == 0 || key >> 32)
		broken(w->file, from, "no field has that number");
	switch (f->type) {
	case WIRE_VARINT: f->value = wire_varint(w); break;
	case WIRE_64: fixed(w, f, 8); break;
	case WIRE_32: fixed(w, f, 4); break;
	case WIRE_BYTES:
		left = wire_varint(w);
		if (left > wire_left(*w))
			broken(w->file, from, "a field is longer than what holds it");
		f->bytes = wire_of(w->file, w->at, (size_t)left);
		w->at += left;
		break;
	default: broken(w->file, from, "no field of ONNX has that wire type");
	}
	return true;
}

static void want(const struct wire_field *f, enum wire_type type)
{
	if (f->type != type)
		fail(f->file->build, EXIT_INVALID, f->file->name, "field %u has wire type %d where %d belongs",
		        f->number, (int)f->type, (int)type);
}

struct wire wire_bytes(const struct wire_field *f) { return want(f, WIRE_BYTES), f->bytes; }
int64_t wire_int(const struct wire_field *f) { return want(f, WIRE_VARINT), (int64_t)f->value; }

float wire_float(const struct wire_field *f)
{
	uint32_t bits = (uint32_t)f->value;
	float value;
	want(f, WIRE_32);
	memcpy(&value, &bits, 4);
	return value;
}

struct wire_numbers wire_numbers(struct wire message, uint32_t number, enum wire_type type)
{
	return (struct wire_numbers){ message, wire_of(message.file, message.at, 0), number, type };
}

bool wire_number(struct wire_numbers *n, uint64_t *value)
{
	struct wire_field f;
	while (n->packed.at >= n->packed.end) {
		do {
			if (!wire_next(&n->message, &f))
				return false;
		} while (f.number != n->number);
		if (f.type == n->type) {
			*value = f.value;
			return true;
		}
		n->packed = wire_bytes(&f);
	}
	if (n->type == WIRE_VARINT) {
		*value = wire_varint(&n->packed);
	} else {
		fixed(&n->packed, &f, n->type == WIRE_64 ? 8 : 4);
		*value = f.value;
	}
	return true;
}

size_t wire_count(struct wire message, uint32_t number, enum wire_type type)
{
	struct wire_numbers n = wire_numbers(message, number, type);
	uint64_t value;
	size_t count = 0;
	while (wire_number(&n, &value))
		count++;
	return count;
}

size_t wire_repeats(struct wire message, uint32_t number)
{
	size_t count = 0;
	for (struct wire_field f; wire_next(&message, &f);)
		count += f.number == number;
	return count;
}
