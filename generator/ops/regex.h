/* regex.h: regular expressions of whole strings. */
#ifndef OPS_REGEX_H
#define OPS_REGEX_H
#include "base/base.h"

enum regex_kind { REGEX_EMPTY, REGEX_SET, REGEX_BYTE, REGEX_ASSERTION, REGEX_THEN, REGEX_OR, REGEX_REPEAT };
enum regex_assertion { REGEX_BEGIN, REGEX_END, REGEX_LINE_BEGIN, REGEX_LINE_END, REGEX_WORD, REGEX_NO_WORD };
struct regex_range {
	unsigned from, to;
};
struct regex_node {
	enum regex_kind kind;
	VECTOR(struct regex_range) ranges; /* REGEX_SET: of code points */
	enum regex_assertion assertion;
	int least, most; /* REGEX_REPEAT; most < 0: without end */
	struct regex_node *in[2];
};
struct regex {
	const char *where; /* the pattern, for messages */
	struct regex_node *root;
	bool asserts;
};

/* ---- regex.c ---- */
struct regex *regex_read(struct build *, const char *pattern); /* EXIT_INVALID: what is wrong with it */

/* ---- automaton.c ---- */
/* A string's bytes go from state 0 on by steps[state * classes + class_of[byte]]; ends says whether the last one is a
 * match.  Class 0 is the byte 0 alone, which changes no state. */
struct automaton {
	int states, classes;
	int class_of[256];
	VECTOR(int) steps;
	VECTOR(bool) ends;
};
enum { AUTOMATON_STEPS_MOST = 1 << 17 };
/* EXIT_LIMIT where it would have more steps than AUTOMATON_STEPS_MOST. */
struct automaton *automaton_of(struct build *, const struct regex *);
#endif
