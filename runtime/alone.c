/* alone.c: the stand-ins of alone.h: a block of memory given out in pieces, and the few functions of libc. */
#include "common/alone.h"

#if !INGOT_THREADS
#include <string.h>

/* ---- memory: pieces in the order of their addresses; a free one takes in the free one behind it ---- */

struct piece {
	size_t bytes; /* behind this header, a multiple of UNIT */
	size_t used;
};
#define UNIT (sizeof(struct piece) > 8 ? sizeof(struct piece) : 8)

static char *block, *end;
static size_t pieces;

bool alone_block(void *memory, size_t bytes)
{
	uintptr_t at = ((uintptr_t)memory + UNIT - 1) & ~(uintptr_t)(UNIT - 1);
	size_t lost = (size_t)(at - (uintptr_t)memory);
	if (pieces || !memory || bytes < lost + 4 * UNIT)
		return false;
	block = (char *)at;
	end = block + ((bytes - lost) & ~(UNIT - 1));
	*(struct piece *)block = (struct piece){ (size_t)(end - block) - sizeof(struct piece), 0 };
	return true;
}

static struct piece *next_of(struct piece *piece)
{
	char *at = (char *)(piece + 1) + piece->bytes;
	return at < end ? (struct piece *)at : NULL;
}

static void split(struct piece *piece, size_t bytes)
{
	if (piece->bytes < bytes + sizeof *piece + UNIT)
		return;
	struct piece *rest = (struct piece *)((char *)(piece + 1) + bytes);
	*rest = (struct piece){ piece->bytes - bytes - sizeof *piece, 0 };
	piece->bytes = bytes;
}

void *alone_memory(size_t bytes, size_t align)
{
	if (bytes > (size_t)(end - block))
		return NULL;
	bytes = bytes ? (bytes + UNIT - 1) & ~(UNIT - 1) : UNIT;
	align = align < UNIT ? UNIT : align;
	for (struct piece *piece = (struct piece *)block; block && piece; piece = next_of(piece)) {
		for (struct piece *next; !piece->used && (next = next_of(piece)) && !next->used;)
			piece->bytes += sizeof *next + next->bytes;
		if (piece->used)
			continue;
		size_t skip = (size_t)(-(uintptr_t)(piece + 1) & (align - 1));
		if (skip && skip < sizeof *piece + UNIT)
			skip += align; /* what is skipped is a piece of its own */
		if (piece->bytes < skip || piece->bytes - skip < bytes)
			continue;
		if (skip) {
			split(piece, skip - sizeof *piece);
			piece = next_of(piece);
		}
		split(piece, bytes);
		piece->used = 1;
		pieces++;
		return memset(piece + 1, 0, bytes);
	}
	return NULL;
}

void alone_free(void *memory)
{
	if (!memory)
		return;
	((struct piece *)memory - 1)->used = 0;
	pieces--;
}

size_t alone_left(void)
{
	size_t left = 0;
	for (struct piece *piece = (struct piece *)block; block && piece; piece = next_of(piece))
		left += piece->used ? 0 : piece->bytes;
	return left;
}

/* ---- libc ---- */

size_t alone_length(const char *text)
{
	size_t length = 0;
	while (text[length])
		length++;
	return length;
}

int alone_compare(const void *a, const void *b, size_t bytes)
{
	const unsigned char *x = a, *y = b;
	for (; bytes; bytes--, x++, y++)
		if (*x != *y)
			return *x < *y ? -1 : 1;
	return 0;
}

int alone_order(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return (unsigned char)*a - (unsigned char)*b;
}

void *alone_move(void *to, const void *from, size_t bytes)
{
	char *t = to;
	const char *f = from;
	if ((uintptr_t)t - (uintptr_t)f >= bytes)
		return memcpy(to, from, bytes);
	while (bytes--)
		t[bytes] = f[bytes];
	return to;
}

struct printing {
	char *at;
	size_t room;
	int count;
};

static void put(struct printing *printing, char c)
{
	if ((size_t)printing->count + 1 < printing->room)
		printing->at[printing->count] = c;
	printing->count++;
}

static void put_number(struct printing *printing, uint64_t value, unsigned base, int width, char fill)
{
	char digits[24];
	int count = 0;
	do
		digits[count++] = "0123456789abcdef"[value % base];
	while ((value /= base));
	for (; width > count; width--)
		put(printing, fill);
	while (count)
		put(printing, digits[--count]);
}

int alone_print_list(char *text, size_t room, const char *format, va_list list)
{
	struct printing printing = { text, text ? room : 0, 0 };
	for (; *format; format++) {
		int width = 0, most = -1, longs = 0;
		char fill = ' ';
		if (*format != '%') {
			put(&printing, *format);
			continue;
		}
		if (*++format == '0')
			fill = *format++;
		for (; *format >= '0' && *format <= '9'; format++)
			width = width * 10 + *format - '0';
		if (*format == '.') {
			format++;
			if (*format == '*') {
				most = va_arg(list, int);
				format++;
			} else
				for (most = 0; *format >= '0' && *format <= '9'; format++)
					most = most * 10 + *format - '0';
		}
		for (; *format == 'l' || *format == 'z'; format++)
			longs += *format == 'z' ? sizeof(size_t) > 4 : 1;
		bool wide = longs > 1 || (longs && sizeof(long) > 4);
		switch (*format) {
		case 's': {
			const char *s = va_arg(list, const char *);
			for (s = s ? s : "?"; *s && most--; s++)
				put(&printing, *s);
			break;
		}
		case 'c': put(&printing, (char)va_arg(list, int)); break;
		case 'd': {
			int64_t value = wide ? va_arg(list, int64_t) : va_arg(list, int);
			if (value < 0)
				put(&printing, '-');
			put_number(&printing, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, width, fill);
			break;
		}
		case 'u':
		case 'x': {
			uint64_t value = wide ? va_arg(list, uint64_t) : va_arg(list, unsigned);
			put_number(&printing, value, *format == 'x' ? 16 : 10, width, fill);
			break;
		}
		case 'g': {
			double value = va_arg(list, double);
			if (value < 0)
				put(&printing, '-');
			put_number(&printing, (uint64_t)(value < 0 ? -value : value), 10, width, fill);
			break;
		}
		default: put(&printing, *format);
		}
	}
	if (printing.room)
		printing.at[(size_t)printing.count < room ? (size_t)printing.count : room - 1] = 0;
	return printing.count;
}

int alone_print(char *text, size_t room, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int count = alone_print_list(text, room, format, list);
	va_end(list);
	return count;
}
#endif
