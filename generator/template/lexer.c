/* lexer.c: the source of a template -> tokens.
 *
 * Text and tags alternate.  Outside a tag the earliest delimiter wins, the longer one of two at the same place; inside,
 * a tag ends at its end delimiter unless a bracket is open.  Whitespace control, trimming and newlines are done here,
 * so the parser sees the text as it will be printed. */
#include "template/engine.h"
#include <errno.h>
#include <stdlib.h>

enum rule_kind { RULE_VARIABLE, RULE_LINE_STATEMENT, RULE_LINE_COMMENT, RULE_COMMENT, RULE_BLOCK, RULES };

struct lexer {
	struct environment *environment;
	struct template *template;
	struct arena *arena;
	const char *at, *end, *start;
	struct {
		const char *string;
		size_t length;
		enum rule_kind kind;
	} rules[RULES]; /* the first that fits wins */
	size_t rule_count;
	bool begins[256];   /* bytes a delimiter begins with */
	char brackets[128]; /* open ones, by their closing byte */
	size_t open;
	bool line_starting; /* the last match ended in a newline: for lstrip */
	struct tokens tokens;
};

static NORETURN void lex_fail(struct lexer *lexer, const char *at, const char *message)
{
	template_fail_at(
	        lexer->environment, lexer->template, (uint32_t)(at - lexer->start), NULL, EXIT_INVALID, message);
}

static bool starts(const struct lexer *lexer, const char *at, const char *string)
{
	while (*string && at < lexer->end && *at == *string)
		at++, string++;
	return !*string;
}

/* The end of the white space that begins at `at`. */
static const char *skip_space(const struct lexer *lexer, const char *at)
{
	while (at < lexer->end) {
		const char *next = at;
		if (!point_is_space(text_decode(&next, lexer->end)))
			break;
		at = next;
	}
	return at;
}

static struct token *token_add(struct lexer *lexer, enum token_kind kind, const char *at)
{
	push(lexer->arena, &lexer->tokens, (struct token){ .kind = kind, .position = (uint32_t)(at - lexer->start) });
	return &lexer->tokens.at[lexer->tokens.count - 1];
}

static void add_data(struct lexer *lexer, const char *at, const char *end)
{
	const char *newline = lexer->environment->settings.newline;
	if (at == end)
		return;
	struct token *token = token_add(lexer, TOKEN_DATA, at);
	if (!strcmp(newline, "\n")) {
		token->value = value_string_of(at, (size_t)(end - at));
		return;
	}
	size_t lines = 0, n = strlen(newline), bytes;
	for (const char *p = at; p < end; p++)
		lines += *p == '\n';
	if (!size_mul(lines, n, &bytes) || !size_add(bytes, (size_t)(end - at) - lines, &bytes))
		lex_fail(lexer, at, "text too long");
	char *copy = arena_alloc(lexer->arena, bytes + 1), *to = copy;
	for (const char *p = at; p < end; p++)
		if (*p == '\n') {
			memcpy(to, newline, n);
			to += n;
		} else
			*to++ = *p;
	token->value = value_string_of(copy, bytes);
}

/* White space at the end of [at, end) goes. */
static const char *strip_right(const char *at, const char *end)
{
	while (end > at) {
		const char *last = text_back(at, end), *next = last;
		if (!point_is_space(text_decode(&next, end)))
			break;
		end = last;
	}
	return end;
}

/* The text before a tag, with the sign of the tag and lstrip_blocks obeyed. */
static void add_text_before(struct lexer *lexer, const char *at, const char *end, char sign, bool variable)
{
	if (sign == '-')
		end = strip_right(at, end);
	else if (sign != '+' && lexer->environment->settings.lstrip_blocks && !variable) {
		const char *line = end;
		while (line > at && line[-1] != '\n')
			line--;
		if ((line > at || lexer->line_starting) && skip_space(lexer, line) >= end)
			end = line;
	}
	add_data(lexer, at, end);
}

/* After the end of a tag: white space for a '-', else one newline where blocks are trimmed. */
static const char *after_tag(struct lexer *lexer, const char *at, char sign, bool trims)
{
	if (sign == '-')
		return skip_space(lexer, at);
	if (sign != '+' && trims && lexer->environment->settings.trim_blocks && at < lexer->end && *at == '\n')
		at++;
	return at;
}

/* A sign and then `string` at `at`?  The sign is optional; '+' only where `plus`. */
static bool at_end_tag(
        const struct lexer *lexer, const char *at, const char *string, bool plus, char *sign, const char **after)
{
	*sign = 0;
	if (at < lexer->end && (*at == '-' || (plus && *at == '+')) && starts(lexer, at + 1, string))
		*sign = *at++;
	else if (!starts(lexer, at, string))
		return false;
	*after = at + strlen(string);
	return true;
}

static int hex_digits(const char *at, const char *end, int count, unsigned *point)
{
	*point = 0;
	FOR (i, count) {
		if (at + i >= end)
			return 0;
		char c = at[i];
		int digit = c >= '0' && c <= '9' ? c - '0'
		        : c >= 'a' && c <= 'f'   ? c - 'a' + 10
		        : c >= 'A' && c <= 'F'   ? c - 'A' + 10
		                                 : -1;
		if (digit < 0)
			return 0;
		*point = *point * 16 + (unsigned)digit;
	}
	return count;
}

/* The string between quotes, with Python's escapes.  No escape is shorter than what it stands for. */
static struct value unescape(struct lexer *lexer, const char *at, const char *end)
{
	static const char letters[] = "n\nt\tr\ra\ab\bf\fv\v\\\\''\"\"";
	const char *newline = lexer->environment->settings.newline;
	if (!memchr(at, '\\', (size_t)(end - at)) && (!memchr(at, '\n', (size_t)(end - at)) || !strcmp(newline, "\n")))
		return value_string_of(at, (size_t)(end - at));
	char *copy = arena_new_array(lexer->arena, char, (size_t)(end - at) * 2 + 1), *to = copy;
	while (at < end) {
		unsigned point;
		int digits = 0;
		if (*at == '\n') {
			memcpy(to, newline, strlen(newline));
			to += strlen(newline);
			at++;
			continue;
		}
		if (*at != '\\' || at + 1 == end) {
			*to++ = *at++;
			continue;
		}
		const char *escape = at++;
		const char *letter = *at ? strchr(letters, *at) : NULL;
		if (letter && (letter - letters) % 2 == 0) {
			*to++ = letter[1];
			at++;
		} else if (*at == '\n' && !strcmp(newline, "\n"))
			at++;
		else if (*at >= '0' && *at <= '7') {
			for (point = 0; digits < 3 && at < end && *at >= '0' && *at <= '7'; digits++)
				point = point * 8 + (unsigned)(*at++ - '0');
			to = text_encode(to, point);
		} else if (*at == 'x' || *at == 'u' || *at == 'U') {
			digits = *at == 'x' ? 2 : *at == 'u' ? 4 : 8;
			if (!hex_digits(at + 1, end, digits, &point) || point > 0x10ffff
			        || (point >= 0xd800 && point < 0xe000))
				lex_fail(lexer, escape,
				        "broken escape in a string: \\xHH, \\uHHHH or \\UHHHHHHHH of a code point is "
				        "expected");
			to = text_encode(to, point);
			at += 1 + digits;
		} else if (*at == 'N')
			lex_fail(lexer, escape, "\\N{name} is not supported in strings; use \\uHHHH");
		else
			*to++ = '\\';
	}
	return value_string_of(copy, (size_t)(to - copy));
}

static bool is_digit(char c, int base)
{
	if (base == 16)
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
	return c >= '0' && c < '0' + base;
}

/* Digits with single underscores between them, and before them if `leading`: their end, or `at` where there are none.
 */
static const char *digits_end(const struct lexer *lexer, const char *at, int base, bool leading)
{
	const char *p = at;
	if (leading && p < lexer->end && *p == '_')
		p++;
	if (p >= lexer->end || !is_digit(*p, base))
		return at;
	while (p < lexer->end && (is_digit(*p, base) || (*p == '_' && p + 1 < lexer->end && is_digit(p[1], base))))
		p++;
	return p;
}

static bool lex_number(struct lexer *lexer)
{
	const char *at = lexer->at, *end = digits_end(lexer, at, 10, false), *p = end;
	char digits[512];
	size_t n = 0;
	if (end == at)
		return false;
	bool real = false;
	if (at == lexer->start || at[-1] != '.') {
		if (p < lexer->end && *p == '.' && digits_end(lexer, p + 1, 10, false) > p + 1) {
			p = digits_end(lexer, p + 1, 10, false);
			real = true;
		}
		if (p < lexer->end && (*p == 'e' || *p == 'E')) {
			const char *e = p + 1 + (p + 1 < lexer->end && (p[1] == '+' || p[1] == '-'));
			if (digits_end(lexer, e, 10, false) > e) {
				p = digits_end(lexer, e, 10, false);
				real = true;
			}
		}
	}
	int base = 10;
	if (!real) {
		char letter = at[0] == '0' && at + 1 < lexer->end ? (char)(at[1] | 32) : 0;
		base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
		if (base != 10 && (p = digits_end(lexer, at + 2, base, true)) > at + 2)
			;
		else {
			base = 10;
			p = end;
			if (*at == '0') /* "0", "00": what follows zeros is another number, and an error */
				for (p = at + 1; p < end && (*p == '0' || (*p == '_' && p[1] == '0')); p++)
					;
		}
	}
	struct token *token = token_add(lexer, real ? TOKEN_FLOAT : TOKEN_INTEGER, at);
	for (const char *q = base == 10 ? at : at + 2; q < p; q++)
		if (*q != '_') {
			if (n + 1 >= sizeof digits)
				lex_fail(lexer, at, "number too long");
			digits[n++] = *q;
		}
	digits[n] = 0;
	errno = 0;
	if (real)
		token->value = value_float(strtod(digits, NULL));
	else {
		token->value = value_int(strtoll(digits, NULL, base));
		if (errno)
			lex_fail(lexer, at, "integer of more than 64 bits");
	}
	lexer->at = p;
	return true;
}

/* A name: letters and digits of any script; Python's rule says which may begin it. */
static bool lex_name(struct lexer *lexer)
{
	const char *at = lexer->at, *next = at;
	bool good = point_begins_name(text_decode(&next, lexer->end));
	for (next = at; next < lexer->end; lexer->at = next) {
		unsigned c = text_decode(&next, lexer->end);
		if (point_in_name(c))
			continue;
		if (!point_is_word(c))
			break;
		good = false;
	}
	if (lexer->at == at)
		return false;
	if (!good)
		lex_fail(lexer, at, "a name has a character that names cannot have there");
	token_add(lexer, TOKEN_NAME, at)->name =
	        name_of(lexer->environment->build->names, at, (size_t)(lexer->at - at));
	return true;
}

/* Two letters before their first alone. */
static const struct {
	char text[3];
	enum token_kind kind;
} operators[] = {
	{ "//", TOKEN_FLOORDIV },
	{ "**", TOKEN_POW },
	{ "==", TOKEN_EQ },
	{ "!=", TOKEN_NE },
	{ ">=", TOKEN_GE },
	{ "<=", TOKEN_LE },
	{ "+", TOKEN_ADD },
	{ "-", TOKEN_SUB },
	{ "/", TOKEN_DIV },
	{ "*", TOKEN_MUL },
	{ "%", TOKEN_MOD },
	{ "~", TOKEN_TILDE },
	{ "[", TOKEN_LBRACKET },
	{ "]", TOKEN_RBRACKET },
	{ "(", TOKEN_LPAREN },
	{ ")", TOKEN_RPAREN },
	{ "{", TOKEN_LBRACE },
	{ "}", TOKEN_RBRACE },
	{ ">", TOKEN_GT },
	{ "<", TOKEN_LT },
	{ "=", TOKEN_ASSIGN },
	{ ".", TOKEN_DOT },
	{ ":", TOKEN_COLON },
	{ "|", TOKEN_PIPE },
	{ ",", TOKEN_COMMA },
	{ ";", TOKEN_SEMICOLON },
};

static void lex_operator(struct lexer *lexer)
{
	const char *at = lexer->at;
	FOR (i, COUNT(operators)) {
		if (!starts(lexer, at, operators[i].text))
			continue;
		char close = *at == '(' ? ')' : *at == '[' ? ']' : *at == '{' ? '}' : 0;
		if (close) {
			if (lexer->open == sizeof lexer->brackets)
				lex_fail(lexer, at, "brackets nested too deeply");
			lexer->brackets[lexer->open++] = close;
		} else if (*at == ')' || *at == ']' || *at == '}') {
			char message[64] = "unexpected ' '";
			message[12] = *at;
			if (!lexer->open)
				lex_fail(lexer, at, message);
			if (lexer->brackets[--lexer->open] != *at) {
				memcpy(message, "unexpected ' ', expected ' '", 29);
				message[12] = *at;
				message[26] = lexer->brackets[lexer->open];
				lex_fail(lexer, at, message);
			}
		}
		token_add(lexer, operators[i].kind, at);
		lexer->at += strlen(operators[i].text);
		return;
	}
	lex_fail(lexer, at, *at == '!' ? "unexpected '!'; `not` is the word for it" : "unexpected character in a tag");
}

/* One token inside a tag; white space is skipped before. */
static void lex_word(struct lexer *lexer)
{
	const char *at = lexer->at;
	if (lex_number(lexer) || lex_name(lexer))
		return;
	if (*at == '"' || *at == '\'') {
		const char *p = at + 1;
		while (p < lexer->end && *p != *at)
			p += *p == '\\' ? 2 : 1;
		if (p >= lexer->end)
			lex_fail(lexer, at, "string without its end");
		struct value value = unescape(lexer, at + 1, p);
		token_add(lexer, TOKEN_STRING, at)->value = value;
		lexer->at = p + 1;
		return;
	}
	lex_operator(lexer);
}

/* Inside {{ }} or {% %}, until its end. */
static void lex_tag(struct lexer *lexer, bool variable)
{
	const struct template_settings *settings = &lexer->environment->settings;
	const char *tag_end = variable ? settings->variable_end : settings->block_end, *after;
	char sign;
	lexer->open = 0;
	for (;;) {
		if (!lexer->open && at_end_tag(lexer, lexer->at, tag_end, !variable, &sign, &after)) {
			token_add(lexer, variable ? TOKEN_VARIABLE_END : TOKEN_BLOCK_END, lexer->at);
			lexer->at = after_tag(lexer, after, sign, !variable);
			lexer->line_starting = lexer->at[-1] == '\n';
			return;
		}
		const char *word = skip_space(lexer, lexer->at);
		if (word > lexer->at) {
			lexer->at = word;
			continue;
		}
		if (lexer->at >= lexer->end)
			return; /* the parser names what is missing */
		lex_word(lexer);
	}
}

/* After a line statement's prefix, to the end of the line; the blank lines that follow belong to it. */
static void lex_line_statement(struct lexer *lexer)
{
	lexer->open = 0;
	for (;;) {
		const char *space = skip_space(lexer, lexer->at), *newline = space;
		if (!lexer->open) {
			while (newline > lexer->at && newline[-1] != '\n')
				newline--;
			if (space == lexer->end || newline > lexer->at) {
				token_add(lexer, TOKEN_BLOCK_END, lexer->at);
				lexer->at = space == lexer->end ? space : newline;
				lexer->line_starting = lexer->at > lexer->start && lexer->at[-1] == '\n';
				return;
			}
		}
		lexer->at = space;
		if (lexer->at >= lexer->end)
			return;
		lex_word(lexer);
	}
}

/* At {% raw %} ?  Then `after` is behind it. */
static bool at_raw(const struct lexer *lexer, const char *at, char *sign, const char **after)
{
	const struct template_settings *settings = &lexer->environment->settings;
	if (!starts(lexer, at, settings->block_start))
		return false;
	at += strlen(settings->block_start);
	*sign = at < lexer->end && (*at == '-' || *at == '+') ? *at++ : 0;
	at = skip_space(lexer, at);
	if (!starts(lexer, at, "raw"))
		return false;
	at = skip_space(lexer, at + 3);
	char end_sign;
	if (!at_end_tag(lexer, at, settings->block_end, false, &end_sign, after))
		return false;
	if (end_sign == '-')
		*after = skip_space(lexer, *after);
	return true;
}

static void lex_raw(struct lexer *lexer, const char *tag)
{
	const struct template_settings *settings = &lexer->environment->settings;
	const char *from = lexer->at;
	lexer->line_starting = from > lexer->start && from[-1] == '\n';
	for (const char *p = from; p < lexer->end; p++) {
		if (!starts(lexer, p, settings->block_start))
			continue;
		const char *q = p + strlen(settings->block_start), *after;
		char sign = q < lexer->end && (*q == '-' || *q == '+') ? *q++ : 0, end_sign;
		q = skip_space(lexer, q);
		if (!starts(lexer, q, "endraw"))
			continue;
		q = skip_space(lexer, q + 6);
		if (!at_end_tag(lexer, q, settings->block_end, true, &end_sign, &after))
			continue;
		add_text_before(lexer, from, p, sign, false);
		lexer->at = after_tag(lexer, after, end_sign, true);
		lexer->line_starting = lexer->at[-1] == '\n';
		return;
	}
	lex_fail(lexer, tag, "raw without its endraw");
}

static void lex_comment(struct lexer *lexer, const char *tag)
{
	const char *comment_end = lexer->environment->settings.comment_end, *after;
	char sign;
	for (const char *p = lexer->at; p < lexer->end; p++)
		if (at_end_tag(lexer, p, comment_end, true, &sign, &after)) {
			lexer->at = after_tag(lexer, after, sign, true);
			lexer->line_starting = lexer->at[-1] == '\n';
			return;
		}
	lex_fail(lexer, tag, "comment without its end");
}

/* Does the rule fit at `at`?  Then its match begins at `from`: line rules take the blanks before. */
static bool rule_fits(const struct lexer *lexer, size_t rule, const char *at, const char *low, const char **from)
{
	enum rule_kind kind = lexer->rules[rule].kind;
	if ((size_t)(lexer->end - at) < lexer->rules[rule].length
	        || memcmp(at, lexer->rules[rule].string, lexer->rules[rule].length))
		return false;
	*from = at;
	if (kind != RULE_LINE_STATEMENT && kind != RULE_LINE_COMMENT)
		return true;
	while (*from > low) { /* the blanks before: ASCII's few, or Unicode's for comments */
		const char *before = text_back(low, *from), *next = before;
		unsigned c = text_decode(&next, *from);
		bool blank = c == ' ' || c == '\t' || c == '\v' || (kind == RULE_LINE_COMMENT && point_is_space(c));
		if (c == '\n' || !blank)
			break;
		*from = before;
	}
	if (*from == lexer->start || (*from)[-1] == '\n')
		return true;
	const char *before = text_back(lexer->start, *from);
	return kind == RULE_LINE_COMMENT && !point_is_space(text_decode(&before, *from));
}

static void lex_text(struct lexer *lexer)
{
	const char *low = lexer->at;
	for (const char *p = low; p < lexer->end; p++) {
		if (!lexer->begins[(unsigned char)*p])
			continue;
		const char *from, *best_from = NULL, *after;
		size_t best = RULES;
		FOR (i, lexer->rule_count)
			if (rule_fits(lexer, i, p, low, &from) && (!best_from || from < best_from)) {
				best = i;
				best_from = from;
			}
		if (!best_from)
			continue;
		char sign = 0;
		if (best_from == p && at_raw(lexer, p, &sign, &after)) {
			add_text_before(lexer, low, p, sign, false);
			lexer->at = after;
			lex_raw(lexer, p);
			return;
		}
		lexer->at = p + lexer->rules[best].length;
		if (lexer->at < lexer->end && (*lexer->at == '-' || *lexer->at == '+'))
			sign = *lexer->at++;
		enum rule_kind kind = lexer->rules[best].kind;
		add_text_before(lexer, low, best_from, sign, kind == RULE_VARIABLE);
		switch (kind) {
		case RULE_VARIABLE:
		case RULE_BLOCK:
			token_add(lexer, kind == RULE_BLOCK ? TOKEN_BLOCK_BEGIN : TOKEN_VARIABLE_BEGIN, p);
			lex_tag(lexer, kind == RULE_VARIABLE);
			break;
		case RULE_LINE_STATEMENT:
			token_add(lexer, TOKEN_BLOCK_BEGIN, p);
			lex_line_statement(lexer);
			break;
		case RULE_COMMENT: lex_comment(lexer, p); break;
		default:
			while (lexer->at < lexer->end && *lexer->at != '\n')
				lexer->at++;
			lexer->line_starting = false;
		}
		return;
	}
	add_data(lexer, low, lexer->end);
	lexer->at = lexer->end;
}

static void add_rule(struct lexer *lexer, const char *string, enum rule_kind kind)
{
	if (!string)
		return;
	size_t length = strlen(string), i = lexer->rule_count++;
	for (; i && lexer->rules[i - 1].length < length; i--)
		lexer->rules[i] = lexer->rules[i - 1];
	lexer->rules[i].string = string;
	lexer->rules[i].length = length;
	lexer->rules[i].kind = kind;
	lexer->begins[(unsigned char)*string] = true;
}

struct tokens template_lex(struct environment *environment, struct template *template)
{
	const struct template_settings *settings = &environment->settings;
	struct lexer lexer = { .environment = environment,
		.template = template,
		.arena = environment->arena,
		.at = template->source,
		.start = template->source,
		.end = template->source + template->length,
		.line_starting = true };
	add_rule(&lexer, settings->variable_start, RULE_VARIABLE); /* of equal lengths the first wins, as in Jinja2 */
	add_rule(&lexer, settings->line_statement, RULE_LINE_STATEMENT);
	add_rule(&lexer, settings->line_comment, RULE_LINE_COMMENT);
	add_rule(&lexer, settings->comment_start, RULE_COMMENT);
	add_rule(&lexer, settings->block_start, RULE_BLOCK);
	while (lexer.at < lexer.end)
		lex_text(&lexer);
	token_add(&lexer, TOKEN_END, lexer.end);
	return lexer.tokens;
}

const char *token_kind_describe(enum token_kind kind)
{
	static const char *const names[TOKEN_KINDS] = {
		[TOKEN_END] = "end of template",
		[TOKEN_DATA] = "text",
		[TOKEN_VARIABLE_BEGIN] = "begin of print statement",
		[TOKEN_VARIABLE_END] = "end of print statement",
		[TOKEN_BLOCK_BEGIN] = "begin of statement block",
		[TOKEN_BLOCK_END] = "end of statement block",
		[TOKEN_NAME] = "name",
		[TOKEN_STRING] = "string",
		[TOKEN_INTEGER] = "integer",
		[TOKEN_FLOAT] = "float",
	};
	if (names[kind])
		return names[kind];
	FOR (i, COUNT(operators))
		if (operators[i].kind == kind)
			return operators[i].text;
	return "?";
}

const char *token_describe(const struct token *token)
{
	return token->kind == TOKEN_NAME ? token->name : token_kind_describe(token->kind);
}
