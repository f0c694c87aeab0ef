/* parser.c: tokens -> nodes, for statements and the text between them. */
#include "template/engine.h"

static struct nodes parse_body(struct parser *parser, const char *const *ends, const char *tag);

static bool ends_here(const struct parser *parser, const char *const *ends)
{
	for (; ends && *ends; ends++)
		if (token_is(parser, *ends))
			return true;
	return false;
}

/* From here on a macro's body finds its own value under that name, not what the caller gave. */
static void name_stored(struct parser *parser, const char *name)
{
	for (struct reads *reads = parser->reads; reads; reads = reads->outer)
		reads->stored |= special_flag(parser, name);
}

/* A name, or a tuple of names, that something is assigned to. */
static void check_target(struct parser *parser, const struct node *node)
{
	if (node->kind == NODE_NAME)
		name_stored(parser, node->name);
	bool constant = node->kind == NODE_CONST;
	if (node->kind == NODE_TUPLE || node->kind == NODE_LIST) {
		FOR_ALL (i, node->list)
			check_target(parser, node->list.at[i]);
		constant = node->kind == NODE_LIST;
	} else if (node->kind != NODE_NAME && node->kind != NODE_MEMBER)
		constant = true;
	if (constant)
		parse_fail(parser, node->position, "cannot assign to this: a name or names are expected");
}

static struct node *parse_target(struct parser *parser, const char *end_word, bool with_members)
{
	struct reads *reads = parser->reads;
	parser->reads = NULL; /* what is set is not read */
	struct node *target = parse_tuple(parser, true, true, end_word, false, with_members);
	parser->reads = reads;
	check_target(parser, target);
	return target;
}

static struct node *parse_name(struct parser *parser)
{
	static const char *const constants[] = { "true", "false", "none", "True", "False", "None" };
	struct token *token = token_expect(parser, TOKEN_NAME);
	FOR (i, COUNT(constants))
		if (!strcmp(token->name, constants[i]))
			parse_fail(parser, token->position, "cannot assign to %s", token->name);
	struct node *node = node_new(parser, NODE_NAME, token->position);
	node->name = token->name;
	node->value = value_string(token->name);
	node->hash = string_hash(token->name, node->value.count);
	return node;
}

/* The rest of the tag, its body, and the name of the end tag, which is returned. */
static struct token *parse_block(struct parser *parser, struct nodes *body, const char *const *ends, const char *tag)
{
	token_skip(parser, TOKEN_COLON); /* as Python has it */
	token_expect(parser, TOKEN_BLOCK_END);
	*body = parse_body(parser, ends, tag);
	return token_next(parser);
}

static void parse_block_to(struct parser *parser, struct nodes *body, const char *end, const char *tag)
{
	const char *const ends[] = { end, NULL };
	parse_block(parser, body, ends, tag);
}

static struct node *parse_if(struct parser *parser, uint32_t position)
{
	static const char *const ends[] = { "elif", "else", "endif", NULL };
	struct node *node = node_new(parser, NODE_IF, position);
	for (bool last = false;;) {
		struct node *branch = node_new(parser, NODE_BRANCH, parser->at->position);
		if (!last)
			branch->a = parse_tuple(parser, false, false, NULL, false, false);
		struct token *end = parse_block(parser, &branch->body, last ? ends + 2 : ends, "if");
		push(parser->arena, &node->list, branch);
		if (!strcmp(end->name, "endif"))
			return node;
		last = !strcmp(end->name, "else");
	}
}

static bool names_loop(const struct parser *parser, const struct node *target)
{
	bool names = target->kind == NODE_NAME && target->name == parser->environment->words.loop;
	FOR_ALL (i, target->list)
		names |= names_loop(parser, target->list.at[i]);
	return names;
}

static struct node *parse_for(struct parser *parser, uint32_t position)
{
	static const char *const ends[] = { "endfor", "else", NULL };
	struct node *node = node_new(parser, NODE_FOR, position);
	node->a = parse_target(parser, "in", false);
	if (!token_skip_word(parser, "in"))
		parse_fail(parser, parser->at->position, "expected in, got %s", token_describe(parser->at));
	node->b = parse_tuple(parser, false, false, "recursive", false, false);
	struct reads reads = { .outer = parser->reads, .node = node };
	if (token_skip_word(parser, "if"))
		node->c = parse_expression(parser, true);
	if (token_skip_word(parser, "recursive"))
		node->flags |= FLAG_RECURSIVE | FLAG_LOOP;
	parser->reads = &reads;
	parser->loops++;
	parser->fors++;
	struct token *end = parse_block(parser, &node->body, ends, "for");
	parser->loops--;
	parser->reads = reads.outer;
	if (names_loop(parser, node->a))
		parse_fail(parser, node->a->position,
		        "loop is the loop itself here, and cannot be a name that it goes through");
	if (!strcmp(end->name, "else"))
		parse_block(parser, &node->other, (const char *const[]){ "endfor", NULL }, "for");
	parser->fors--;
	return node;
}

static struct node *parse_set(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_SET, position);
	node->a = parse_target(parser, NULL, true);
	if (parser->fors && names_loop(parser, node->a))
		parse_fail(parser, node->a->position, "loop cannot be set inside a loop");
	if (token_skip(parser, TOKEN_ASSIGN)) {
		node->b = parse_tuple(parser, false, true, NULL, false, false);
		return node;
	}
	node->kind = NODE_SET_BLOCK;
	node->b = parse_filters(parser, NULL, false);
	parse_block_to(parser, &node->body, "endset", "set");
	return node;
}

/* (a, b=1): into list and other. */
static void parse_parameters(struct parser *parser, struct node *node)
{
	token_expect(parser, TOKEN_LPAREN);
	while (parser->at->kind != TOKEN_RPAREN) {
		if (node->list.count)
			token_expect(parser, TOKEN_COMMA);
		struct node *parameter = parse_name(parser);
		FOR_ALL (i, node->list)
			if (node->list.at[i]->name == parameter->name)
				parse_fail(parser, parameter->position, "the parameter %s is named twice",
				        parameter->name);
		push(parser->arena, &node->list, parameter);
		name_stored(parser, parameter->name);
		if (token_skip(parser, TOKEN_ASSIGN))
			push(parser->arena, &node->other, parse_expression(parser, true));
		else if (node->other.count)
			parse_fail(parser, parameter->position,
			        "a parameter without a default follows one with a default");
	}
	token_next(parser);
}

/* Parameters and body of a macro, or of a call block. */
static void parse_macro_body(struct parser *parser, struct node *node, const char *end, const char *tag)
{
	struct reads reads = { .outer = parser->reads, .node = node };
	int loops = parser->loops;
	parser->reads = &reads;
	parser->loops = 0;
	parse_block_to(parser, &node->body, end, tag);
	parser->loops = loops;
	parser->reads = reads.outer;
	FOR_ALL (i, node->list) {
		uint8_t flag = special_flag(parser, node->list.at[i]->name);
		if (flag & node->flags & FLAG_CALLER && i < node->list.count - node->other.count)
			parse_fail(parser, node->list.at[i]->position,
			        "the parameter caller needs a default: none, for example");
		if (flag != FLAG_CALLER)
			node->flags &= (uint8_t)~flag; /* varargs or kwargs: a parameter like any other */
	}
}

static struct node *parse_macro(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_MACRO, position);
	node->name = parse_name(parser)->name;
	parse_parameters(parser, node);
	parse_macro_body(parser, node, "endmacro", "macro");
	return node;
}

static struct node *parse_call_block(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_CALL_BLOCK, position);
	node->b = node_new(parser, NODE_MACRO, position);
	node->b->name = parser->environment->words.caller;
	if (parser->at->kind == TOKEN_LPAREN)
		parse_parameters(parser, node->b);
	node->a = parse_expression(parser, true);
	if (node->a->kind != NODE_CALL)
		parse_fail(parser, node->a->position, "a call block needs a call");
	parse_macro_body(parser, node->b, "endcall", "call");
	return node;
}

static struct node *parse_filter_block(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_FILTER_BLOCK, position);
	node->b = parse_filters(parser, NULL, true);
	parse_block_to(parser, &node->body, "endfilter", "filter");
	return node;
}

static bool next_is(const struct parser *parser, const char *word)
{
	return parser->at->kind == TOKEN_NAME && parser->at[1].kind == TOKEN_NAME && !strcmp(parser->at[1].name, word);
}

/* `with context` or `without context`; false where neither is there. */
static bool parse_context(struct parser *parser, struct node *node)
{
	if (!(token_is(parser, "with") || token_is(parser, "without")) || !next_is(parser, "context"))
		return false;
	node->flags = (uint8_t)((node->flags & ~FLAG_CONTEXT) | (token_is(parser, "with") ? FLAG_CONTEXT : 0));
	parser->at += 2;
	return true;
}

/* What an included template looks at is not known here: it may look at `loop`. */
static void reads_all(struct parser *parser, const struct node *node)
{
	for (struct reads *reads = parser->reads; reads && node->flags & FLAG_CONTEXT; reads = reads->outer)
		if (reads->node->kind == NODE_FOR)
			reads->node->flags |= FLAG_LOOP;
}

static struct node *parse_include(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_INCLUDE, position);
	node->a = parse_expression(parser, true);
	node->flags = FLAG_CONTEXT;
	if (token_is(parser, "ignore") && next_is(parser, "missing")) {
		node->flags |= FLAG_IGNORE;
		parser->at += 2;
	}
	parse_context(parser, node);
	reads_all(parser, node);
	return node;
}

static struct node *parse_import(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_IMPORT, position);
	node->a = parse_expression(parser, true);
	if (!token_skip_word(parser, "as"))
		parse_fail(parser, parser->at->position, "expected as, got %s", token_describe(parser->at));
	node->name = parse_name(parser)->name;
	parse_context(parser, node);
	reads_all(parser, node);
	return node;
}

static struct node *parse_from(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_FROM, position);
	node->a = parse_expression(parser, true);
	if (!token_skip_word(parser, "import"))
		parse_fail(parser, parser->at->position, "expected import, got %s", token_describe(parser->at));
	for (;;) {
		if (parse_context(parser, node))
			break;
		struct node *alias = node_new(parser, NODE_ALIAS, parser->at->position), *name = parse_name(parser);
		if (*name->name == '_')
			parse_fail(parser, name->position, "names that begin with an underscore cannot be imported");
		alias->name = name->name;
		alias->a = token_skip_word(parser, "as") ? parse_name(parser) : name;
		push(parser->arena, &node->list, alias);
		if (parse_context(parser, node) || !token_skip(parser, TOKEN_COMMA))
			break;
	}
	reads_all(parser, node);
	return node;
}

static struct node *parse_extends(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_EXTENDS, position);
	node->a = parse_expression(parser, true);
	parser->template->extends = true;
	return node;
}

static struct node *parse_named_block(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_BLOCK, position);
	node->name = token_expect(parser, TOKEN_NAME)->name;
	if (token_skip_word(parser, "scoped"))
		node->flags |= FLAG_SCOPED;
	if (token_skip_word(parser, "required"))
		node->flags |= FLAG_REQUIRED;
	if (parser->at->kind == TOKEN_SUB)
		parse_fail(parser, parser->at->position, "a block's name has no hyphens; use an underscore");
	FOR_ALL (i, parser->template->blocks)
		if (parser->template->blocks.at[i]->name == node->name)
			parse_fail(parser, position, "the block %s is defined twice", node->name);
	push(parser->arena, &parser->template->blocks, node);
	int loops = parser->loops;
	struct reads *reads = parser->reads;
	for (struct reads *r = reads; r && node->flags & FLAG_SCOPED; r = r->outer)
		if (r->node->kind == NODE_FOR)
			r->node->flags |= FLAG_LOOP;
	parser->loops = 0;
	if (!(node->flags & FLAG_SCOPED))
		parser->reads = NULL;
	parse_block_to(parser, &node->body, "endblock", "block");
	parser->loops = loops;
	parser->reads = reads;
	for (size_t i = 0; node->flags & FLAG_REQUIRED && i < node->body.count; i++) {
		const struct node *text = node->body.at[i];
		bool blank = text->kind == NODE_TEXT;
		const char *at = text->value.bytes, *end = blank && text->value.count ? at + text->value.count : at;
		while (blank && at < end)
			blank = point_is_space(text_decode(&at, end));
		if (!blank)
			parse_fail(
			        parser, text->position, "a required block holds nothing but white space and comments");
	}
	if (parser->at->kind == TOKEN_NAME && parser->at->name == node->name)
		token_next(parser);
	return node;
}

static struct node *parse_with(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_WITH, position);
	while (parser->at->kind != TOKEN_BLOCK_END) {
		if (node->list.count)
			token_expect(parser, TOKEN_COMMA);
		push(parser->arena, &node->list, parse_target(parser, NULL, false));
		token_expect(parser, TOKEN_ASSIGN);
		push(parser->arena, &node->other, parse_expression(parser, true));
	}
	parse_block_to(parser, &node->body, "endwith", "with");
	return node;
}

static struct node *parse_autoescape(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_SCOPE, position), *on = parse_expression(parser, true);
	if (on->kind != NODE_CONST || on->value.kind != VALUE_BOOL || on->value.truth)
		parse_fail(parser, on->position, "autoescape can only be false: these templates write text, not HTML");
	parse_block_to(parser, &node->body, "endautoescape", "autoescape");
	return node;
}

static struct node *parse_print(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_SCOPE, position);
	while (parser->at->kind != TOKEN_BLOCK_END) {
		if (node->body.count)
			token_expect(parser, TOKEN_COMMA);
		struct node *print = node_new(parser, NODE_PRINT, parser->at->position);
		print->a = parse_expression(parser, true);
		push(parser->arena, &node->body, print);
	}
	return node;
}

static struct node *parse_do(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_DO, position);
	node->a = parse_tuple(parser, false, true, NULL, false, false);
	return node;
}

static struct node *parse_jump(struct parser *parser, uint32_t position)
{
	bool leaves = !strcmp(parser->at[-1].name, "break");
	if (!parser->loops)
		parse_fail(parser, position, "%s stands outside a loop", leaves ? "break" : "continue");
	return node_new(parser, leaves ? NODE_BREAK : NODE_CONTINUE, position);
}

static struct node *parse_assert(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_ASSERT, position);
	node->a = parse_expression(parser, true);
	if (token_skip(parser, TOKEN_COMMA))
		node->b = parse_expression(parser, true);
	return node;
}

static struct node *parse_fail_statement(struct parser *parser, uint32_t position)
{
	struct node *node = node_new(parser, NODE_FAIL, position);
	node->a = parse_expression(parser, true);
	return node;
}

static const struct statement {
	const char *tag;
	struct node *(*parse)(struct parser *, uint32_t position);
} statements[] = {
	{ "if", parse_if },
	{ "for", parse_for },
	{ "set", parse_set },
	{ "macro", parse_macro },
	{ "call", parse_call_block },
	{ "filter", parse_filter_block },
	{ "include", parse_include },
	{ "import", parse_import },
	{ "from", parse_from },
	{ "extends", parse_extends },
	{ "block", parse_named_block },
	{ "with", parse_with },
	{ "autoescape", parse_autoescape },
	{ "print", parse_print },
	{ "do", parse_do },
	{ "break", parse_jump },
	{ "continue", parse_jump },
	{ "assert", parse_assert },
	{ "fail", parse_fail_statement },
};

/* Which tag would have been right: the nearest statement, and what is waited for. */
static NORETURN void unknown_tag(struct parser *parser, const struct token *token)
{
	static const char *const ends[] = { "elif", "else", "endif", "endfor", "endset", "endmacro", "endcall",
		"endfilter", "endblock", "endwith", "endautoescape" };
	struct nearest nearest = { .name = token->name, .length = strlen(token->name) };
	char waiting[200] = "", near[100] = "";
	FOR (i, COUNT(statements))
		nearest_try(&nearest, statements[i].tag, strlen(statements[i].tag));
	for (const char *const *end = parser->ends; end && *end; end++) {
		nearest_try(&nearest, *end, strlen(*end));
		strcat(strcat(waiting, waiting[0] ? " or " : ""), *end);
	}
	bool known = false;
	FOR (i, COUNT(ends))
		known |= !strcmp(ends[i], token->name);
	if (nearest.best && !known)
		strcat(strncat(strcpy(near, "; did you mean '"), nearest.best, nearest.best_length), "'?");
	if (waiting[0])
		parse_fail(parser, token->position, "%s tag '%.100s'%s (the open %s needs %s)",
		        known ? "misplaced" : "unknown", token->name, near, parser->tag, waiting);
	parse_fail(parser, token->position, "%s tag '%.100s'%s", known ? "misplaced" : "unknown", token->name, near);
}

static struct node *parse_statement(struct parser *parser)
{
	struct token *token = parser->at;
	if (token->kind != TOKEN_NAME)
		parse_fail(parser, token->position, "expected the name of a tag, got %s", token_describe(token));
	FOR (i, COUNT(statements))
		if (!strcmp(token->name, statements[i].tag)) {
			token_next(parser);
			return statements[i].parse(parser, token->position);
		}
	unknown_tag(parser, token);
}

/* Statements and text until one of `ends` is the tag; then it is the next token. */
static struct nodes parse_body(struct parser *parser, const char *const *ends, const char *tag)
{
	struct nodes body = { 0 };
	const char *const *outer_ends = parser->ends;
	const char *outer_tag = parser->tag;
	uint32_t opened = parser->at->position;
	parse_enter(parser);
	parser->ends = ends;
	parser->tag = tag;
	for (;;) {
		struct token *token = token_next(parser);
		struct node *node;
		switch (token->kind) {
		case TOKEN_DATA:
			node = node_new(parser, NODE_TEXT, token->position);
			node->value = token->value;
			push(parser->arena, &body, node);
			continue;
		case TOKEN_VARIABLE_BEGIN:
			node = node_new(parser, NODE_PRINT, parser->at->position);
			node->a = parse_tuple(parser, false, true, NULL, false, false);
			push(parser->arena, &body, node);
			token_expect(parser, TOKEN_VARIABLE_END);
			continue;
		case TOKEN_BLOCK_BEGIN:
			if (ends_here(parser, ends))
				break;
			push(parser->arena, &body, parse_statement(parser));
			token_expect(parser, TOKEN_BLOCK_END);
			continue;
		case TOKEN_END:
			if (ends) {
				const char *last = *ends;
				for (const char *const *end = ends; *end; end++)
					last = *end;
				parse_fail(parser, opened ? opened - 1 : 0,
				        "the template ends inside this %s: %s is missing", tag,
				        strncmp(last, "end", 3) ? *ends : last);
			}
			break;
		default: parse_fail(parser, token->position, "unexpected %s", token_describe(token));
		}
		break;
	}
	parser->ends = outer_ends;
	parser->tag = outer_tag;
	parser->depth--;
	return body;
}

void template_parse(struct environment *environment, struct template *template, struct tokens tokens)
{
	struct parser parser = {
		.environment = environment, .template = template, .arena = environment->arena, .at = tokens.at
	};
	template->body = parse_body(&parser, NULL, NULL);
}
