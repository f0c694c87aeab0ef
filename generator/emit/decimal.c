/* decimal.c: C text -> the same with decimal floats, which C++ has before C++17 too: 9 digits say any float, 17 any
 * double.  Comments and strings stay. */
#include "emit/package.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Behind a comment or a string that begins here; else where it is. */
static const char *past_quoted(const char *p)
{
	if (p[0] == '/' && p[1] == '*') {
		const char *end = strstr(p + 2, "*/");
		return end ? end + 2 : p + strlen(p);
	}
	if (*p != '"')
		return p;
	for (p++; *p && *p != '"'; p++)
		p += *p == '\\' && p[1];
	return *p ? p + 1 : p;
}

/* The end of a hexadecimal float; NULL: there is none. */
static const char *float_end(const char *p)
{
	if (p[0] != '0' || p[1] != 'x')
		return NULL;
	for (p += 2; isxdigit((unsigned char)*p) || *p == '.'; p++)
		;
	if (*p != 'p')
		return NULL;
	p += p[1] == '-' || p[1] == '+' ? 2 : 1;
	while (isdigit((unsigned char)*p))
		p++;
	return p;
}

void package_decimal(const char *at, struct text *out)
{
	while (*at) {
		const char *past = past_quoted(at), *end = float_end(at);
		char number[40];
		if (past == at && (isalpha((unsigned char)*at) || *at == '_' || (isdigit((unsigned char)*at) && !end)))
			for (past = at + 1; isalnum((unsigned char)*past) || *past == '_' || *past == '.';)
				past++;
		if (past > at) {
			text_add(out, at, (size_t)(past - at));
			at = past;
		} else if (!end)
			text_addc(out, *at++);
		else {
			if (*end == 'f')
				snprintf(number, sizeof number, "%.9g", (double)strtof(at, NULL));
			else
				snprintf(number, sizeof number, "%.17g", strtod(at, NULL));
			text_adds(out, number);
			if (!strpbrk(number, ".e"))
				text_addc(out, '.');
			at = end;
		}
	}
}
