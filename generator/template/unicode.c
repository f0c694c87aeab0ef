/* unicode.c: places of code points in UTF-8, what Unicode says of them, and their letters in another case, as Python's
 * str does it.
 *
 * The facts are libunistring's: it has the full mappings (ß -> SS) and exactly the properties that Python's methods
 * ask, without a locale.  glibc's towupper knows single letters only, its iswalpha counts digits, and its answers need
 * an installed locale.  What is ASCII never gets there. */
#include "template/engine.h"
#include <unicase.h>
#include <unictype.h>

enum { MOST_BYTES = 32 }; /* of one code point in another case; 9 are needed */

/* ---- UTF-8 ---- */
size_t text_points(const char *bytes, size_t count)
{
	size_t points = 0;
	for (const char *at = bytes, *end = bytes + count; at < end; points++)
		if ((unsigned char)*at < 0x80)
			at++;
		else
			text_decode(&at, end);
	return points;
}

size_t text_offset(const char *bytes, size_t count, size_t point)
{
	const char *at = bytes, *end = bytes + count;
	while (point-- && at < end)
		text_decode(&at, end);
	return (size_t)(at - bytes);
}

const char *text_back(const char *start, const char *at)
{
	const char *last = at - 1, *low = at - start > 4 ? at - 4 : start;
	while (last > low && ((unsigned char)*last & 0xc0) == 0x80)
		last--;
	const char *next = last;
	text_decode(&next, at);
	return next == at ? last : at - 1; /* a byte that is no UTF-8 stands alone */
}

/* ---- kinds of code points ---- */
static bool between(unsigned c, unsigned from, unsigned to) { return c - from <= to - from; }
static bool category(unsigned c, uint32_t mask) { return uc_is_general_category_withtable(c, mask); }

bool point_is_space(unsigned c)
{
	return between(c, 9, 13) || between(c, 28, 32) || c == 0x85 || c == 0xa0 || c == 0x1680
	        || between(c, 0x2000, 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f
	        || c == 0x3000;
}

int point_decimal(unsigned c) { return c < 0x80 ? between(c, '0', '9') ? (int)c - '0' : -1 : uc_decimal_value(c); }
bool point_is_decimal(unsigned c) { return point_decimal(c) >= 0; }
bool point_is_digit(unsigned c) { return c < 0x80 ? between(c, '0', '9') : uc_digit_value(c) >= 0; }
bool point_is_numeric(unsigned c) { return c < 0x80 ? between(c, '0', '9') : uc_numeric_value(c).denominator != 0; }
bool point_is_letter(unsigned c) { return c < 0x80 ? between(c | 32, 'a', 'z') : category(c, UC_CATEGORY_MASK_L); }
bool point_is_alnum(unsigned c) { return point_is_letter(c) || point_is_numeric(c); }
bool point_is_word(unsigned c) { return c == '_' || point_is_alnum(c); }
bool point_is_lower(unsigned c) { return c < 0x80 ? between(c, 'a', 'z') : uc_is_property_lowercase(c); }
bool point_is_upper(unsigned c) { return c < 0x80 ? between(c, 'A', 'Z') : uc_is_property_uppercase(c); }
bool point_is_title(unsigned c) { return c >= 0x80 && category(c, UC_CATEGORY_MASK_Lt); }
bool point_is_printable(unsigned c)
{
	return c < 0x80 ? between(c, ' ', '~') : !category(c, UC_CATEGORY_MASK_C | UC_CATEGORY_MASK_Z);
}
bool point_begins_name(unsigned c)
{
	return c < 0x80 ? between(c | 32, 'a', 'z') || c == '_' : uc_is_property_xid_start(c);
}
bool point_in_name(unsigned c) { return c < 0x80 ? point_is_word(c) : uc_is_property_xid_continue(c); }

/* ---- case ---- */
enum mapping { MAP_UPPER, MAP_LOWER, MAP_TITLE, MAP_FOLD };
typedef uint8_t *mapper(const uint8_t *, size_t, const char *language, uninorm_t, uint8_t *out, size_t *room);

/* One code point, at [at, end), in another case. */
static void add_mapped(struct text *out, const char *at, const char *end, unsigned c, enum mapping mapping)
{
	static mapper *const mappers[] = { u8_toupper, u8_tolower, u8_totitle, u8_casefold };
	uint8_t bytes[MOST_BYTES];
	size_t count = sizeof bytes;
	if (c < 0x80) {
		bool up = mapping == MAP_UPPER || mapping == MAP_TITLE;
		text_addc(out, (char)(up ? point_is_lower(c) ? c - 32 : c : point_is_upper(c) ? c + 32 : c));
		return;
	}
	uint8_t *mapped = between(c, 0xdc80, 0xdcff) /* a byte that is no UTF-8 */
	        ? NULL
	        : mappers[mapping]((const uint8_t *)at, (size_t)(end - at), NULL, NULL, bytes, &count);
	assert(!mapped || mapped == bytes);
	if (mapped)
		text_add(out, (const char *)mapped, count);
	else
		text_add(out, at, (size_t)(end - at));
}

/* Is the capital sigma in [at, next) the last letter of its word?  Then its small form is another one. */
static bool ends_word(struct value text, const char *at, const char *next)
{
	const char *end = text.bytes + text.count, *p = at;
	unsigned c = 0;
	while (p > text.bytes) {
		const char *q = p = text_back(text.bytes, p);
		c = text_decode(&q, end);
		if (!uc_is_property_case_ignorable(c))
			break;
		c = 0;
	}
	if (!c || !uc_is_property_cased(c))
		return false;
	while (next < end) {
		c = text_decode(&next, end);
		if (!uc_is_property_case_ignorable(c))
			return !uc_is_property_cased(c);
	}
	return true;
}

static struct value ascii_case(struct arena *arena, struct value text, enum casing casing)
{
	char *copy = arena_copy(arena, text.bytes, text.count);
	bool inside = false;
	FOR_ALL (i, text) {
		unsigned c = (unsigned char)copy[i];
		bool up = casing == CASE_UPPER || (casing == CASE_SWAP && point_is_lower(c))
		        || (casing == CASE_CAPITALIZE && !i) || (casing == CASE_TITLE && !inside);
		if (up ? point_is_lower(c) : point_is_upper(c))
			copy[i] ^= 32;
		inside = point_is_letter(c);
	}
	return value_string_of(copy, text.count);
}

struct value string_case(struct renderer *r, struct value text, enum casing casing)
{
	const char *at = text.bytes, *end = at + text.count, *next;
	while (at < end && (unsigned char)*at < 0x80)
		at++;
	if (at == end)
		return ascii_case(r->arena, text, casing);
	size_t mark;
	bool inside = false; /* behind a letter that has case */
	capture_begin(r, &mark);
	for (at = text.bytes; at < end; at = next) {
		next = at;
		unsigned c = text_decode(&next, end);
		enum mapping mapping = MAP_LOWER;
		if (casing == CASE_UPPER)
			mapping = MAP_UPPER;
		else if (casing == CASE_FOLD)
			mapping = MAP_FOLD;
		else if (casing == CASE_SWAP)
			mapping = point_is_upper(c) ? MAP_LOWER : MAP_UPPER;
		else if ((casing == CASE_CAPITALIZE && at == text.bytes) || (casing == CASE_TITLE && !inside))
			mapping = MAP_TITLE;
		inside = casing == CASE_TITLE && uc_is_property_cased(c);
		if (c == 0x3a3 && mapping == MAP_LOWER && ends_word(text, at, next))
			text_adds(r->out, "ς");
		else if (casing == CASE_SWAP && mapping == MAP_UPPER && !point_is_lower(c))
			text_add(r->out, at, (size_t)(next - at));
		else
			add_mapped(r->out, at, next, c, mapping);
	}
	return capture_end(r, mark);
}
