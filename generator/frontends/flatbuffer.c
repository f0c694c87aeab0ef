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

static uint32_t u32(const struct flat *flat, size_t at)
{
	uint32_t value;
	memcpy(&value, flat->at + at, 4);
	return value;
}

static unsigned u16(const struct flat *flat, size_t at)
{
	uint16_t value;
	memcpy(&value, flat->at + at, 2);
	return value;
}

static struct table table_at(const struct flat *flat, size_t at, const char *name)
{
	struct table table = { .flat = flat, .name = name, .at = at };
	need(flat, at, 4, name, "lies outside of the file");
	int32_t back = (int32_t)u32(flat, at);
	int64_t vtable = (int64_t)at - back;
	if (vtable < 0 || (size_t)vtable > flat->bytes || flat->bytes - (size_t)vtable < 4)
		broken(flat, at, name, "has its vtable outside of the file");
	table.vtable = (size_t)vtable;
	table.vtable_bytes = u16(flat, table.vtable);
	table.bytes = u16(flat, table.vtable + 2);
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
	size_t to = at + u32(flat, at);
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

/* 0 where the field is not there. */
static size_t field_at(const struct table *table, int field, size_t width)
{
	size_t entry = 4 + 2 * (size_t)field;
	if (!table->name || entry + 2 > table->vtable_bytes)
		return 0;
	size_t at = u16(table->flat, table->vtable + entry);
	if (!at)
		return 0;
	if (at < 4 || at + width > table->bytes)
		broken(table->flat, table->vtable + entry, table->name,
		        arena_printf(table->flat->build->arena, "has field %d outside of its %u bytes", field,
		                table->bytes));
	return table->at + at;
}

const void *table_field(const struct table *table, int field, size_t width)
{
	size_t at = field_at(table, field, width);
	return at ? table->flat->at + at : NULL;
}

int64_t table_byte(const struct table *table, int field, int64_t otherwise)
{
	const int8_t *at = table_field(table, field, 1);
	return at ? *at : otherwise;
}

int64_t table_int(const struct table *table, int field, int64_t otherwise)
{
	const void *at = table_field(table, field, 4);
	int32_t value = 0;
	return at ? memcpy(&value, at, 4), value : otherwise;
}

int64_t table_uint(const struct table *table, int field, int64_t otherwise)
{
	const void *at = table_field(table, field, 4);
	uint32_t value = 0;
	return at ? memcpy(&value, at, 4), value : otherwise;
}

uint64_t table_long(const struct table *table, int field)
{
	const void *at = table_field(table, field, 8);
	uint64_t value = 0;
	return at ? memcpy(&value, at, 8), value : 0;
}

float table_float(const struct table *table, int field, float otherwise)
{
	const void *at = table_field(table, field, 4);
	float value = 0;
	return at ? memcpy(&value, at, 4), value : otherwise;
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
	struct vector vector = { table->flat, table->name, at + 4, u32(table->flat, at) };
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

int64_t vector_int(const struct vector *vector, size_t i) { return (int32_t)u32(vector->flat, vector->at + 4 * i); }

int64_t vector_long(const struct vector *vector, size_t i)
{
	int64_t value;
	memcpy(&value, vector->flat->at + vector->at + 8 * i, 8);
	return value;
}

float vector_float(const struct vector *vector, size_t i)
{
	float value;
	memcpy(&value, vector->flat->at + vector->at + 4 * i, 4);
	return value;
}
