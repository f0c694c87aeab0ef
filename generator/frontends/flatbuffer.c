/* flatbuffer.c: the bytes of a FlatBuffers file -> tables, vectors and numbers, each checked before it is read. */
#include "frontends/flatbuffer.h"

static NORETURN void broken(const struct flat *flat, size_t at, const char *name, const char *what)
{
	fail(flat->build, EXIT_INVALID, flat->file, "byte %zu: %s %s", at, name, what);
}

static void need(const struct flat *flat, size_t at, size_t bytes, const char *name, const char *what)
{
	if (at > flat->bytes || bytes > flat->bytes - at)
		broken(flat, at, name, what);
}

/* Little-endian, up to 8 bytes. */
static uint64_t number_at(const struct flat *flat, size_t at, size_t width)
{
	uint64_t value = 0;
	return memcpy(&value, flat->at + at, width), value;
}

static int64_t signed_at(const struct flat *flat, size_t at, size_t width)
{
	return (int64_t)(number_at(flat, at, width) << (64 - 8 * width)) >> (64 - 8 * width);
}

static struct table table_at(const struct flat *flat, size_t at, const char *name)
{
	struct table table = { .flat = flat, .name = name, .at = at };
	need(flat, at, 4, name, "lies outside of the file");
	int64_t vtable = (int64_t)at - signed_at(flat, at, 4);
	if (vtable < 0 || (size_t)vtable > flat->bytes || flat->bytes - (size_t)vtable < 4)
		broken(flat, at, name, "has its vtable outside of the file");
	table.vtable = (size_t)vtable;
	table.vtable_bytes = (unsigned)number_at(flat, table.vtable, 2);
	table.bytes = (unsigned)number_at(flat, table.vtable + 2, 2);
	if (table.vtable_bytes < 4 || table.vtable_bytes % 2)
		broken(flat, table.vtable, name, "has a vtable of no whole number of fields");
	need(flat, table.vtable, table.vtable_bytes, name, "has a vtable that ends outside of the file");
	if (table.bytes < 4)
		broken(flat, table.vtable, name, "is said to have fewer bytes than a table begins with");
	need(flat, at, table.bytes, name, "ends outside of the file");
	return table;
}

/* What the offset at that place leads to. */
static size_t follow(const struct flat *flat, size_t at, const char *name)
{
	size_t to = at + number_at(flat, at, 4);
	if (to == at || to >= flat->bytes)
		broken(flat, at, name, "has an offset that leads out of the file");
	return to;
}

struct table flat_root(const struct flat *flat, const char *name)
{
	need(flat, 0, 8, name, "is cut: a file begins with 8 bytes");
	return table_at(flat, follow(flat, 0, name), name);
}

const char *table_where(const struct table *table)
{
	return arena_printf(table->flat->build->arena, "%s: byte %zu: %s", table->flat->file, table->at, table->name);
}

void table_must(const struct table *table, bool right, const char *what)
{
	if (!right)
		fail(table->flat->build, EXIT_INVALID, table_where(table), "%s", what);
}

/* 0 where the field is not there. */
static size_t field_at(const struct table *table, int field, size_t width)
{
	size_t entry = 4 + 2 * (size_t)field;
	size_t at = table->name && entry + 2 <= table->vtable_bytes
	        ? (unsigned)number_at(table->flat, table->vtable + entry, 2)
	        : 0;
	if (at && (at < 4 || at + width > table->bytes))
		broken(table->flat, table->vtable + entry, table->name,
		        arena_printf(table->flat->build->arena, "has field %d outside of its %u bytes", field,
		                table->bytes));
	return at ? table->at + at : 0;
}

int64_t table_int(const struct table *table, int field, size_t width, int64_t otherwise)
{
	size_t at = field_at(table, field, width);
	return at ? signed_at(table->flat, at, width) : otherwise;
}

float table_float(const struct table *table, int field, float otherwise)
{
	size_t at = field_at(table, field, 4);
	return at ? memcpy(&otherwise, table->flat->at + at, 4), otherwise : otherwise;
}

struct table table_table(const struct table *table, int field, const char *name)
{
	size_t at = field_at(table, field, 4);
	return at ? table_at(table->flat, follow(table->flat, at, table->name), name) : (struct table){ 0 };
}

struct vector table_vector(const struct table *table, int field, size_t width)
{
	size_t at = field_at(table, field, 4), bytes;
	if (!at)
		return (struct vector){ 0 };
	at = follow(table->flat, at, table->name);
	need(table->flat, at, 4, table->name, "has a vector that lies outside of the file");
	struct vector vector = { table->flat, table->name, at + 4, number_at(table->flat, at, 4), width };
	if (!size_mul(vector.count, width, &bytes))
		bytes = SIZE_MAX;
	need(table->flat, vector.at, bytes, table->name, "has a vector that ends outside of the file");
	return vector;
}

struct bytes table_text(const struct table *table, int field)
{
	struct vector vector = table_vector(table, field, 1);
	return vector.flat ? (struct bytes){ (const char *)vector.flat->at + vector.at, vector.count }
	                   : (struct bytes){ "", 0 };
}

struct table vector_table(const struct vector *vector, size_t i, const char *name)
{
	return table_at(vector->flat, follow(vector->flat, vector->at + 4 * i, vector->name), name);
}

int64_t vector_int(const struct vector *vector, size_t i)
{
	return signed_at(vector->flat, vector->at + vector->width * i, vector->width);
}

float vector_float(const struct vector *vector, size_t i)
{
	float value;
	return memcpy(&value, vector->flat->at + vector->at + 4 * i, 4), value;
}
