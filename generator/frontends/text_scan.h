/* text_scan.h: the words of ONNX's textual syntax: names, numbers, strings, marks; blanks and comments are skipped
 * before each.  What does not belong fails with EXIT_INVALID and line and column. */
#ifndef FRONTENDS_TEXT_SCAN_H
#define FRONTENDS_TEXT_SCAN_H
#include "frontends/reader.h"

struct scan {
	struct reader *reader;
	const char *start, *at, *end;
};

NORETURN void scan_fail(struct scan *, const char *what);   /* "FILE:LINE:COLUMN: WHAT, not "the text here"" */
NORETURN void scan_refuse(struct scan *, const char *what); /* "FILE:LINE:COLUMN: WHAT" */
char scan_peek(struct scan *);                              /* the next character; 0 at the end */
bool scan_take(struct scan *, char);                        /* goes past it where it is there */
void scan_want(struct scan *, char);

struct bytes scan_peek_word(struct scan *); /* an identifier; empty where none is there */
struct bytes scan_word(struct scan *);      /* fails where none is there */
const char *scan_name(struct scan *);       /* an identifier or a quoted name, interned; NULL: none there */
struct bytes scan_string(struct scan *);    /* in quotes; \x stands for x */

/* An integer or a float: its text.  nan, inf and infinity are floats, with a sign or without. */
struct number {
	char text[400];
	bool is_float;
	const char *from;
};
bool scan_at_float_word(struct scan *);
struct number scan_number(struct scan *);
int64_t number_int(struct scan *, const struct number *);
int64_t scan_int(struct scan *);
uint64_t scan_unsigned(struct scan *);
float scan_float(struct scan *); /* rounded once, from the text */
double scan_double(struct scan *);
#endif
