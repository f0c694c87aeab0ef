/* ops.c: ingot ops: the table of ops: what is there, with its attributes. */
#include "cli/cli.h"
#include "ops/ops.h"
#include "pipeline.h"
#include <stdio.h>

static const char *default_text(struct build *build, const struct attribute_row *row)
{
	return !row->has_default ? ""
	        : row->string    ? arena_printf(build->arena, " = \"%s\"", row->string)
	                         : arena_printf(build->arena, " = %.9g", row->number);
}

static json_t *attribute_list(const struct op *op)
{
	json_t *list = json_array();
	for (const struct attribute_row *row = op->attributes; row->name; row++) {
		json_t *one = json_pack(
		        "{s:s,s:s,s:i}", "name", row->name, "kind", attribute_kind_name(row->kind), "from", row->from);
		if (row->to != VERSION_LAST)
			json_object_set_new(one, "to", json_integer(row->to));
		if (row->has_default)
			json_object_set_new(one, "default",
			        row->string                          ? json_string(row->string)
			                : row->kind == ATTRIBUTE_INT ? json_integer((json_int_t)row->number)
			                                             : json_real(row->number));
		json_array_append_new(list, one);
	}
	return list;
}

static void print_attributes(struct build *build, const struct op *op)
{
	for (const struct attribute_row *row = op->attributes; row->name; row++) {
		const char *versions = row->to != VERSION_LAST
		        ? arena_printf(build->arena, ", versions %d to %d", row->from, row->to)
		        : row->from > op->since ? arena_printf(build->arena, ", since version %d", row->from)
		                                : "";
		printf("    %s: %s%s%s\n", row->name, attribute_kind_name(row->kind), default_text(build, row),
		        versions);
	}
}

/* NAME, or DOMAIN.NAME as `ingot info` prints it. */
static bool is_called(const struct op *op, const char *word)
{
	size_t domain = strlen(op->domain);
	return !strcmp(op->name, word)
	        || (domain && !strncmp(op->domain, word, domain) && word[domain] == '.'
	                && !strcmp(op->name, word + domain + 1));
}

/* Of --templates: operators that are in no table, by their name with the domain. */
static bool is_own_called(const struct own_operator *own, const char *word)
{
	const char *dot = strrchr(own->name, '.');
	return !strcmp(own->name, word) || (dot && !strcmp(dot + 1, word));
}

static void check_words(struct cli *cli, const struct own_operator *own, size_t own_count)
{
	FOR (a, cli->argument_count) {
		bool known = false;
		FOR (i, own_count)
			known |= is_own_called(&own[i], cli->arguments[a]);
		FOR (i, op_count)
			known |= is_called(&ops[i], cli->arguments[a]);
		if (!known)
			fail(cli->build, EXIT_USAGE, NULL, "no operator %s is there%s", cli->arguments[a],
			        op_meant(cli->build, NULL, cli->arguments[a]));
	}
}

static bool is_asked(const struct cli *cli, const struct op *op)
{
	FOR (a, cli->argument_count)
		if (is_called(op, cli->arguments[a]))
			return true;
	return !cli->argument_count;
}

static void list_own(const struct cli *cli, const struct own_operator *own, json_t *list)
{
	bool asked = !cli->argument_count;
	FOR (a, cli->argument_count)
		asked |= is_own_called(own, cli->arguments[a]);
	if (!asked)
		return;
	if (!cli->flags.json)
		printf("%-24s of %s, by %s\n", own->name, cli->options.templates, own->files);
	json_array_append_new(
	        list, json_pack("{s:s,s:s,s:s}", "name", own->name, "by", "templates", "files", own->files));
}

static void run(struct cli *cli)
{
	size_t own_count = 0;
	templates_check(cli->build, cli->options.templates, NULL);
	const struct own_operator *own = templates_operators(cli->build, cli->options.templates, &own_count);
	check_words(cli, own, own_count);
	json_t *list = json_array();
	FOR (i, own_count)
		list_own(cli, &own[i], list);
	FOR (i, op_count) {
		if (!is_asked(cli, &ops[i]))
			continue;
		const char *domain = *ops[i].domain ? ops[i].domain : "ai.onnx";
		if (!cli->flags.json) {
			printf("%-24s %s since version %d%s%s\n", ops[i].name, domain, ops[i].since,
			        ops[i].text ? ", by the function body " : "", ops[i].text ? ops[i].text : "");
			print_attributes(cli->build, &ops[i]);
		}
		json_t *one = json_pack("{s:s,s:s,s:i,s:s}", "name", ops[i].name, "domain", domain, "since",
		        ops[i].since, "by",
		        ops[i].scalar >= 0    ? "row"
		                : ops[i].text ? "text"
		                              : "function");
		if (ops[i].scalar >= 0)
			json_object_set_new(one, "ulp", json_string(scalars[ops[i].scalar].error));
		json_object_set_new(one, "attributes", attribute_list(&ops[i]));
		json_array_append_new(list, one);
	}
	if (cli->flags.json)
		cli_print_json(list, stdout);
	else
		json_decref(list);
}

const struct command command_ops = { "ops", "[OPERATOR...]", "list the operators that are there, with their attributes",
	NULL, IN_OPS, 0, 64, run };
