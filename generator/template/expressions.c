/* expressions.c: tokens -> nodes, for what stands inside tags.  One function per level of precedence, the tightest
 * first. */
#include "template/engine.h"
#include <stdarg.h>
#include <stdio.h>

enum { DEEPEST = 200, HIGHEST = 1000 }; /* brackets and tags inside each other; height of a tree */

void parse_fail(struct parser *parser, uint32_t position, const char *format, ...)
{
	char message[600];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	template_fail_at(parser->environment, parser->template, position, NULL, EXIT_INVALID, message);
}

void parse_enter(struct parser *parser)
{
	if (++parser->depth > DEEPEST)
		parse_fail(parser, parser->at->position, "nested more than %d deep", DEEPEST);
}

struct node *node_new(struct parser *parser, enum node_kind kind, uint32_t position)
{
	struct node *node = arena_new(parser->arena, struct node);
	node->kind = (uint8_t)kind;
	node->position = position;
	return node;
}

void node_height(struct parser *parser, struct node *parent, const struct node *child)
{
	if (!child || child->height < parent->height)
		return;
	if (child->height >= HIGHEST)
		parse_fail(parser, parent->position, "an expression of more than %d operations inside each other",
		        HIGHEST);
	parent->height = (uint16_t)(child->height + 1);
}

void node_add(struct parser *parser, struct node *parent, struct nodes *nodes, struct node *child)
{
	push(parser->arena, nodes, child);
	node_height(parser, parent, child);
}

struct token *token_next(struct parser *parser) { return parser->at->kind == TOKEN_END ? parser->at : parser->at++; }

bool token_is(const struct parser *parser, const char *word)
{
	return parser->at->kind == TOKEN_NAME && !strcmp(parser->at->name, word);
}

bool token_skip(struct parser *parser, enum token_kind kind)
{
	if (parser->at->kind != kind)
		return false;
	token_next(parser);
	return true;
}

bool token_skip_word(struct parser *parser, const char *word)
{
	if (!token_is(parser, word))
		return false;
	token_next(parser);
	return true;
}

struct token *token_expect(struct parser *parser, enum token_kind kind)
{
	if (parser->at->kind != kind)
		parse_fail(parser, parser->at->position, "expected %s, got %s", token_kind_describe(kind),
		        token_describe(parser->at));
	return token_next(parser);
}

static struct node *unary_of(struct parser *parser, enum node_kind kind, uint32_t position, struct node *a)
{
	struct node *node = node_new(parser, kind, position);
	node->a = a;
	node_height(parser, node, a);
	return node;
}

static struct node *binary_of(
        struct parser *parser, enum node_kind kind, uint32_t position, struct node *a, struct node *b)
{
	struct node *node = unary_of(parser, kind, position, a);
	node->b = b;
	node_height(parser, node, b);
	return node;
}

/* The flag of a macro whose body reads that name. */
uint8_t special_flag(const struct parser *parser, const char *name)
{
	const struct words *words = &parser->environment->words;
	return name == words->caller     ? FLAG_CALLER
	        : name == words->varargs ? FLAG_VARARGS
	        : name == words->kwargs  ? FLAG_KWARGS
	                                 : 0;
}

/* A name that is read: what stands around it must provide what it may mean. */
static struct node *name_read(struct parser *parser, struct token *token)
{
	struct node *node = node_new(parser, NODE_NAME, token->position);
	node->name = token->name;
	node->value = value_string(token->name);
	node->hash = string_hash(token->name, node->value.count);
	uint8_t macro = special_flag(parser, token->name);
	for (struct reads *reads = parser->reads; reads; reads = reads->outer)
		if (reads->node->kind == NODE_MACRO)
			reads->node->flags |= macro & (uint8_t)~reads->stored;
		else if (token->name == parser->environment->words.loop)
			reads->node->flags |= FLAG_LOOP;
	return node;
}

static struct node *constant(struct parser *parser, struct token *token, struct value value)
{
	struct node *node = node_new(parser, NODE_CONST, token->position);
	node->value = value;
	return node;
}

static struct node *parse_strings(struct parser *parser)
{
	struct token *first = token_next(parser), *last = first;
	size_t bytes = first->value.count;
	if (parser->at->kind != TOKEN_STRING)
		return constant(parser, first, first->value);
	while (parser->at->kind == TOKEN_STRING) {
		last = token_next(parser);
		bytes += last->value.count;
	}
	char *joined = arena_alloc(parser->arena, bytes + 1), *to = joined;
	for (struct token *token = first; token <= last; to += token->value.count, token++)
		memcpy(to, token->value.bytes, token->value.count);
	return constant(parser, first, value_string_of(joined, bytes));
}

/* [a, b] and {a: b}: from the opening bracket. */
static struct node *parse_collection(struct parser *parser, bool dict)
{
	struct token *token = token_next(parser);
	enum token_kind end = dict ? TOKEN_RBRACE : TOKEN_RBRACKET;
	struct node *node = node_new(parser, dict ? NODE_DICT : NODE_LIST, token->position);
	while (parser->at->kind != end) {
		if (node->list.count)
			token_expect(parser, TOKEN_COMMA);
		if (parser->at->kind == end)
			break;
		node_add(parser, node, &node->list, parse_expression(parser, true));
		if (dict) {
			token_expect(parser, TOKEN_COLON);
			node_add(parser, node, &node->list, parse_expression(parser, true));
		}
	}
	token_next(parser);
	return node;
}

struct node *parse_primary(struct parser *parser, bool with_members)
{
	static const struct {
		const char *word;
		struct value value;
	} words[] = {
		{ "true", { .kind = VALUE_BOOL, .truth = true } },
		{ "True", { .kind = VALUE_BOOL, .truth = true } },
		{ "false", { .kind = VALUE_BOOL, .truth = false } },
		{ "False", { .kind = VALUE_BOOL, .truth = false } },
		{ "none", { .kind = VALUE_NONE } },
		{ "None", { .kind = VALUE_NONE } },
	};
	struct token *token = parser->at;
	struct node *node;
	switch (token->kind) {
	case TOKEN_NAME:
		token_next(parser);
		FOR (i, COUNT(words))
			if (!strcmp(token->name, words[i].word))
				return constant(parser, token, words[i].value);
		if (!with_members || parser->at->kind != TOKEN_DOT)
			return name_read(parser, token);
		token_next(parser);
		node = unary_of(parser, NODE_MEMBER, token->position, name_read(parser, token));
		node->value = value_string(token_expect(parser, TOKEN_NAME)->name);
		return node;
	case TOKEN_STRING: return parse_strings(parser);
	case TOKEN_INTEGER:
	case TOKEN_FLOAT: token_next(parser); return constant(parser, token, token->value);
	case TOKEN_LPAREN:
		token_next(parser);
		node = parse_tuple(parser, false, true, NULL, true, false);
		token_expect(parser, TOKEN_RPAREN);
		return node;
	case TOKEN_LBRACKET:
	case TOKEN_LBRACE: return parse_collection(parser, token->kind == TOKEN_LBRACE);
	default: parse_fail(parser, token->position, "expected an expression, got %s", token_describe(token));
	}
}

struct node *parse_tuple(struct parser *parser, bool simple, bool with_condition, const char *end_word,
        bool parentheses, bool with_members)
{
	struct node *tuple = NULL, *first = NULL;
	uint32_t position = parser->at->position;
	for (;;) {
		enum token_kind kind = parser->at->kind;
		if (kind == TOKEN_VARIABLE_END || kind == TOKEN_BLOCK_END || kind == TOKEN_RPAREN
		        || (end_word && !tuple && token_is(parser, end_word)))
			break;
		struct node *item =
		        simple ? parse_primary(parser, with_members) : parse_expression(parser, with_condition);
		if (tuple)
			node_add(parser, tuple, &tuple->list, item);
		else
			first = item;
		if (parser->at->kind != TOKEN_COMMA)
			break;
		token_next(parser);
		if (!tuple) {
			tuple = node_new(parser, NODE_TUPLE, position);
			node_add(parser, tuple, &tuple->list, first);
		}
	}
	if (tuple)
		return tuple;
	if (first)
		return first;
	if (!parentheses)
		parse_fail(parser, parser->at->position, "expected an expression, got %s", token_describe(parser->at));
	return node_new(parser, NODE_TUPLE, position);
}

/* ( a, b, name=c, *d, **e ) */
static struct arguments *parse_arguments(struct parser *parser, struct node *parent)
{
	struct arguments *arguments = arena_new(parser->arena, struct arguments);
	uint32_t position = token_expect(parser, TOKEN_LPAREN)->position;
	for (bool comma = false; parser->at->kind != TOKEN_RPAREN; comma = true) {
		if (comma) {
			token_expect(parser, TOKEN_COMMA);
			if (parser->at->kind == TOKEN_RPAREN)
				break;
		}
		bool ordered = true;
		struct node *child;
		if (token_skip(parser, TOKEN_MUL)) {
			ordered = !arguments->splat && !arguments->keyword_splat;
			child = arguments->splat = parse_expression(parser, true);
		} else if (token_skip(parser, TOKEN_POW)) {
			ordered = !arguments->keyword_splat;
			child = arguments->keyword_splat = parse_expression(parser, true);
		} else if (parser->at->kind == TOKEN_NAME && parser->at[1].kind == TOKEN_ASSIGN) {
			struct token *name = token_next(parser);
			token_next(parser);
			ordered = !arguments->keyword_splat;
			child = parse_expression(parser, true);
			FOR_ALL (i, arguments->keywords)
				if (arguments->keywords.at[i].name == name->name)
					parse_fail(parser, name->position, "the keyword argument %s is given twice",
					        name->name);
			push(parser->arena, &arguments->keywords,
			        (struct keyword){ name->name, value_string(name->name), child });
		} else {
			ordered = !arguments->splat && !arguments->keyword_splat && !arguments->keywords.count;
			child = parse_expression(parser, true);
			push(parser->arena, &arguments->list, child);
		}
		if (!ordered)
			parse_fail(parser, position,
			        "arguments out of order: plain ones come first, then keywords and *, then **");
		node_height(parser, parent, child);
	}
	token_next(parser);
	return arguments;
}

static struct node *parse_call(struct parser *parser, struct node *function)
{
	struct node *node = unary_of(parser, NODE_CALL, parser->at->position, function);
	node->arguments = parse_arguments(parser, node);
	return node;
}

/* What stands between the brackets: an index or a slice. */
static struct node *parse_subscribed(struct parser *parser)
{
	struct node *parts[3] = { NULL, NULL, NULL };
	uint32_t position = parser->at->position;
	if (parser->at->kind != TOKEN_COLON) {
		parts[0] = parse_expression(parser, true);
		if (parser->at->kind != TOKEN_COLON)
			return parts[0];
	}
	for (int i = 1; i < 3 && token_skip(parser, TOKEN_COLON); i++)
		if (parser->at->kind != TOKEN_COLON && parser->at->kind != TOKEN_RBRACKET
		        && parser->at->kind != TOKEN_COMMA)
			parts[i] = parse_expression(parser, true);
	struct node *node = binary_of(parser, NODE_SLICE, position, parts[0], parts[1]);
	node->c = parts[2];
	node_height(parser, node, parts[2]);
	return node;
}

static struct node *parse_subscript(struct parser *parser, struct node *of)
{
	struct token *token = token_next(parser);
	if (token->kind == TOKEN_DOT) {
		struct token *name = token_next(parser);
		if (name->kind == TOKEN_NAME) {
			struct node *node = unary_of(parser, NODE_ATTRIBUTE, name->position, of);
			node->name = name->name;
			node->value = value_string(name->name);
			node->hash = string_hash(name->name, node->value.count);
			return node;
		}
		if (name->kind != TOKEN_INTEGER)
			parse_fail(parser, name->position, "expected name or number, got %s", token_describe(name));
		return binary_of(parser, NODE_ITEM, token->position, of, constant(parser, name, name->value));
	}
	struct nodes items = { 0 };
	struct node *tuple = node_new(parser, NODE_TUPLE, token->position);
	while (parser->at->kind != TOKEN_RBRACKET) {
		if (items.count)
			token_expect(parser, TOKEN_COMMA);
		node_add(parser, tuple, &items, parse_subscribed(parser));
	}
	token_next(parser);
	tuple->list = items;
	return binary_of(parser, NODE_ITEM, token->position, of, items.count == 1 ? items.at[0] : tuple);
}

struct node *parse_postfix(struct parser *parser, struct node *node)
{
	for (;;)
		if (parser->at->kind == TOKEN_DOT || parser->at->kind == TOKEN_LBRACKET)
			node = parse_subscript(parser, node);
		else if (parser->at->kind == TOKEN_LPAREN)
			node = parse_call(parser, node);
		else
			return node;
}

/* The name of a filter or test: words joined by dots. */
static const char *dotted_name(struct parser *parser)
{
	const char *name = token_expect(parser, TOKEN_NAME)->name;
	while (token_skip(parser, TOKEN_DOT))
		name = arena_printf(parser->arena, "%s.%s", name, token_expect(parser, TOKEN_NAME)->name);
	return name;
}

/* `| name(arguments) | ...`; with `inside` the first has no bar before it. */
struct node *parse_filters(struct parser *parser, struct node *node, bool inside)
{
	while (inside || token_skip(parser, TOKEN_PIPE)) {
		inside = false;
		node = unary_of(parser, NODE_FILTER, parser->at->position, node);
		node->name = dotted_name(parser);
		if (parser->at->kind == TOKEN_LPAREN)
			node->arguments = parse_arguments(parser, node);
	}
	return node;
}

static struct node *parse_test(struct parser *parser, struct node *of)
{
	token_next(parser);
	bool negated = token_skip_word(parser, "not");
	struct node *node = unary_of(parser, NODE_TEST, parser->at->position, of);
	node->name = dotted_name(parser);
	enum token_kind kind = parser->at->kind;
	if (kind == TOKEN_LPAREN)
		node->arguments = parse_arguments(parser, node);
	else if ((kind == TOKEN_NAME && !token_is(parser, "else") && !token_is(parser, "or")
	                 && !token_is(parser, "and"))
	        || kind == TOKEN_STRING || kind == TOKEN_INTEGER || kind == TOKEN_FLOAT || kind == TOKEN_LBRACKET
	        || kind == TOKEN_LBRACE) {
		if (token_is(parser, "is"))
			parse_fail(parser, parser->at->position, "tests with `is` cannot be chained");
		node->arguments = arena_new(parser->arena, struct arguments);
		node_add(parser, node, &node->arguments->list, parse_postfix(parser, parse_primary(parser, false)));
	}
	return negated ? unary_of(parser, NODE_NOT, node->position, node) : node;
}

static struct node *parse_unary(struct parser *parser, bool with_filters)
{
	struct node *node;
	struct token *token = parser->at;
	parse_enter(parser);
	if (token->kind == TOKEN_SUB || token->kind == TOKEN_ADD) {
		token_next(parser);
		node = parse_unary(parser, false);
		node = unary_of(
		        parser, token->kind == TOKEN_SUB ? NODE_NEGATIVE : NODE_POSITIVE, token->position, node);
	} else
		node = parse_primary(parser, false);
	node = parse_postfix(parser, node);
	while (with_filters)
		if (parser->at->kind == TOKEN_PIPE)
			node = parse_filters(parser, node, false);
		else if (token_is(parser, "is"))
			node = parse_test(parser, node);
		else if (parser->at->kind == TOKEN_LPAREN)
			node = parse_call(parser, node);
		else
			break;
	parser->depth--;
	return node;
}

static struct node *parse_power(struct parser *parser)
{
	struct node *node = parse_unary(parser, true);
	for (uint32_t position; position = parser->at->position, token_skip(parser, TOKEN_POW);)
		node = binary_of(parser, NODE_POW, position, node, parse_unary(parser, true));
	return node;
}

static struct node *parse_product(struct parser *parser)
{
	struct node *node = parse_power(parser);
	for (;;) {
		struct token *token = parser->at;
		enum node_kind kind = token->kind == TOKEN_MUL ? NODE_MUL
		        : token->kind == TOKEN_DIV             ? NODE_DIV
		        : token->kind == TOKEN_FLOORDIV        ? NODE_FLOORDIV
		                                               : NODE_MOD;
		if (kind == NODE_MOD && token->kind != TOKEN_MOD)
			return node;
		token_next(parser);
		node = binary_of(parser, kind, token->position, node, parse_power(parser));
	}
}

static struct node *parse_concat(struct parser *parser)
{
	struct node *first = parse_product(parser), *node = NULL;
	while (parser->at->kind == TOKEN_TILDE) {
		if (!node) {
			node = node_new(parser, NODE_CONCAT, parser->at->position);
			node_add(parser, node, &node->list, first);
		}
		token_next(parser);
		node_add(parser, node, &node->list, parse_product(parser));
	}
	return node ? node : first;
}

static struct node *parse_sum(struct parser *parser)
{
	struct node *node = parse_concat(parser);
	while (parser->at->kind == TOKEN_ADD || parser->at->kind == TOKEN_SUB) {
		struct token *token = token_next(parser);
		node = binary_of(parser, token->kind == TOKEN_ADD ? NODE_ADD : NODE_SUB, token->position, node,
		        parse_concat(parser));
	}
	return node;
}

static int comparison(struct parser *parser)
{
	static const struct {
		enum token_kind token;
		enum compare compare;
	} signs[] = {
		{ TOKEN_EQ, COMPARE_EQ },
		{ TOKEN_NE, COMPARE_NE },
		{ TOKEN_LT, COMPARE_LT },
		{ TOKEN_LE, COMPARE_LE },
		{ TOKEN_GT, COMPARE_GT },
		{ TOKEN_GE, COMPARE_GE },
	};
	FOR (i, COUNT(signs))
		if (token_skip(parser, signs[i].token))
			return signs[i].compare;
	if (token_skip_word(parser, "in"))
		return COMPARE_IN;
	if (token_is(parser, "not") && parser->at[1].kind == TOKEN_NAME && !strcmp(parser->at[1].name, "in")) {
		parser->at += 2;
		return COMPARE_NOT_IN;
	}
	return -1;
}

static struct node *parse_compare(struct parser *parser)
{
	struct node *first = parse_sum(parser), *node = NULL;
	for (;;) {
		uint32_t position = parser->at->position;
		int op = comparison(parser);
		if (op < 0)
			return node ? node : first;
		if (!node)
			node = unary_of(parser, NODE_COMPARE, position, first);
		struct node *operand = unary_of(parser, NODE_OPERAND, position, parse_sum(parser));
		operand->op = (uint8_t)op;
		node_add(parser, node, &node->list, operand);
	}
}

static struct node *parse_not(struct parser *parser)
{
	if (!token_is(parser, "not"))
		return parse_compare(parser);
	uint32_t position = token_next(parser)->position;
	parse_enter(parser);
	struct node *node = parse_not(parser);
	parser->depth--;
	return unary_of(parser, NODE_NOT, position, node);
}

static struct node *parse_and(struct parser *parser)
{
	struct node *node = parse_not(parser);
	for (uint32_t position; position = parser->at->position, token_skip_word(parser, "and");)
		node = binary_of(parser, NODE_AND, position, node, parse_not(parser));
	return node;
}

static struct node *parse_or(struct parser *parser)
{
	struct node *node = parse_and(parser);
	for (uint32_t position; position = parser->at->position, token_skip_word(parser, "or");)
		node = binary_of(parser, NODE_OR, position, node, parse_and(parser));
	return node;
}

struct node *parse_expression(struct parser *parser, bool with_condition)
{
	parse_enter(parser);
	struct node *node = parse_or(parser);
	for (uint32_t position; with_condition && (position = parser->at->position, token_skip_word(parser, "if"));) {
		struct node *condition = binary_of(parser, NODE_CONDITION, position, parse_or(parser), node);
		if (token_skip_word(parser, "else")) {
			condition->c = parse_expression(parser, true);
			node_height(parser, condition, condition->c);
		}
		node = condition;
	}
	parser->depth--;
	return node;
}
