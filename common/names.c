/* names.c: labels -> identifiers.  Pure: no runtime is needed. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "alone.h"
#include "ingot/names.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Words of C, C++ and CUDA, and of the headers that emitted code includes; sorted. */
static const char *const keywords[] = { "NULL", "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor",
	"blockDim", "blockIdx", "bool", "break", "case", "catch", "char", "class", "compl", "const", "const_cast",
	"constexpr", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
	"errno", "exp", "explicit", "export", "extern", "fabs", "false", "float", "fma", "for", "friend", "goto",
	"gridDim", "if", "inline", "int", "log", "long", "main", "memcpy", "memset", "mutable", "namespace", "new",
	"noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
	"reinterpret_cast", "restrict", "return", "short", "signed", "sizeof", "sqrt", "static", "static_assert",
	"static_cast", "struct", "switch", "template", "this", "threadIdx", "thread_local", "throw", "true", "try",
	"typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "warpSize",
	"wchar_t", "while", "xor", "xor_eq" };

static int compare(const void *a, const void *b) { return strcmp(a, *(const char *const *)b); }

bool ingot_name_is_keyword(const char *name)
{
	return name && bsearch(name, keywords, COUNT(keywords), sizeof *keywords, compare) != NULL;
}

struct line {
	char *at;
	size_t room, count;
};

static void add(struct line *line, const char *text)
{
	for (; *text; text++, line->count++)
		if (line->at && line->count + 1 < line->room)
			line->at[line->count] = *text;
	if (line->at && line->room)
		line->at[line->count < line->room ? line->count : line->room - 1] = 0;
}

static bool is_word(const char *label)
{
	for (const char *c = label; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			return false;
	return *label != 0;
}

static bool is_grad(const char *const *labels, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(labels[i], "grad"))
			return true;
	return false;
}

/* The words, those that begin with a digit last. */
static void add_words(struct line *line, const char *const *labels, uint32_t count)
{
	for (int digits = 0; digits < 2; digits++)
		for (uint32_t i = 0; i < count; i++) {
			if (!is_word(labels[i]) || !strcmp(labels[i], "grad")
			        || (isdigit((unsigned char)labels[i][0]) != 0) != digits)
				continue;
			if (line->count)
				add(line, "_");
			add(line, labels[i]);
		}
}

bool ingot_name_no_grad(const char *const *labels, uint32_t count, char *text, size_t room)
{
	struct line line = { text, room, 0 };
	add(&line, "");
	add_words(&line, labels, count);
	return is_grad(labels, count);
}

size_t ingot_name_ident(enum ingot_name_style style, uint32_t id, const char *const *labels, uint32_t count,
        bool repeated, char *text, size_t room)
{
	struct line line = { text, text ? room : 0, 0 }, words;
	bool grad = style != INGOT_NAME_ONLY_IDS && is_grad(labels, count);
	char number[16], first[64];
	snprintf(number, sizeof number, "n%u", grad && id ? id - 1 : id);
	words = (struct line){ first, sizeof first, 0 };
	add(&words, "");
	if (style != INGOT_NAME_ONLY_IDS)
		add_words(&words, labels, count);
	/* Alone it must be an identifier, and no keyword; behind a number everything is. */
	bool numbered =
	        repeated || !words.count || isdigit((unsigned char)first[0]) || (!grad && ingot_name_is_keyword(first));
	add(&line, "");
	if (numbered)
		add(&line, number);
	if (words.count) {
		if (numbered)
			add(&line, "_");
		struct line rest = { line.room > line.count ? line.at + line.count : NULL,
			line.room > line.count ? line.room - line.count : 0, 0 };
		add_words(&rest, labels, count);
		line.count += rest.count;
	}
	if (grad)
		add(&line, style == INGOT_NAME_DOT_GRAD ? ".grad" : "_grad");
	return line.count;
}

bool ingot_name_better(uint32_t id, const char *old, const char *proposed)
{
	char number[16];
	if (!old)
		return true;
	size_t length = (size_t)snprintf(number, sizeof number, "n%u", id);
	bool old_is_id = !strcmp(old, number), new_is_id = !strcmp(proposed, number);
	bool old_has = !old_is_id && !strncmp(old, number, length) && old[length] == '_';
	bool new_has = !new_is_id && !strncmp(proposed, number, length) && proposed[length] == '_';
	if (old_has != new_has)
		return new_has;
	if (old_is_id != new_is_id)
		return old_is_id;
	return strlen(proposed) > strlen(old);
}

static const char *const styles[] = { "only_ids", "under_grad", "dot_grad" };

bool ingot_name_style_parse(const char *text, enum ingot_name_style *style)
{
	for (size_t i = 0; text && style && i < COUNT(styles); i++)
		if (!strcmp(text, styles[i])) {
			*style = (enum ingot_name_style)i;
			return true;
		}
	return false;
}

const char *ingot_name_style_text(enum ingot_name_style style)
{
	return (unsigned)style < COUNT(styles) ? styles[style] : "?";
}
