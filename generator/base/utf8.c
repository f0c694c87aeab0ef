/* utf8.c: UTF-8 -> a code point, and back. */
#include "base/base.h"

unsigned text_decode(const char **at, const char *end)
{
	const unsigned char *p = (const unsigned char *)*at;
	size_t room = (size_t)(end - *at),
	       n = p[0] < 0x80 ? 1
	        : p[0] < 0xc2  ? 0
	        : p[0] < 0xe0  ? 2
	        : p[0] < 0xf0  ? 3
	        : p[0] < 0xf5  ? 4
	                       : 0;
	unsigned point = n == 1 ? p[0] : n == 2 ? p[0] & 31 : n == 3 ? p[0] & 15 : p[0] & 7;
	bool good = n && n <= room;
	for (size_t i = 1; good && i < n; i++) {
		good = (p[i] & 0xc0) == 0x80;
		point = point << 6 | (p[i] & 63);
	}
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (!good || point < least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
		++*at;
		return 0xdc00 + p[0]; /* a byte that is no UTF-8: as Python's surrogateescape */
	}
	*at += n;
	return point;
}

char *text_encode(char *to, unsigned c)
{
	if (c < 0x80)
		*to++ = (char)c;
	else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 63));
		*to++ = (char)(0x80 | (c & 63));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 63));
		*to++ = (char)(0x80 | (c >> 6 & 63));
		*to++ = (char)(0x80 | (c & 63));
	}
	return to;
}
