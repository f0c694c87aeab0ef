/* help.c: ingot help: the commands and their options, from the tables that the parser reads; as JSON for man pages and
 * completion. */
#include "cli/cli.h"

static const struct {
	int code;
	const char *text;
} exit_codes[] = {
	{ EXIT_RIGHT, "right" },
	{ EXIT_DIFFERENT, "numbers differ" },
	{ EXIT_USAGE, "usage" },
	{ EXIT_INVALID, "model invalid" },
	{ EXIT_UNSUPPORTED, "not supported" },
	{ EXIT_ENVIRONMENT, "the environment lacks something" },
	{ EXIT_LIMIT, "a limit exceeded" },
};
static const char purpose[] =
        "ingot compiles tensor graphs (ONNX files, ONNX text or TensorFlow Lite files) into libraries in C.";

void help_program(FILE *to)
{
	fprintf(to, "%s\n\nusage: ingot COMMAND [ARGUMENTS]\n\n", purpose);
	for (int i = 0; commands[i]; i++)
		fprintf(to, "  %-8s %-20s %s\n", commands[i]->name, commands[i]->arguments, commands[i]->summary);
	fprintf(to, "\n`ingot help COMMAND` tells more.  Exit codes:");
	FOR (i, COUNT(exit_codes))
		fprintf(to, "%s%d %s", i ? ", " : " ", exit_codes[i].code, exit_codes[i].text);
	fprintf(to, ".\n");
}

/* The words that differ from command to command stand behind the help. */
static void print_words(const struct option_row *row, const struct command *command, FILE *to)
{
	const char *word;
	for (int i = 0; row->word && (word = row->word(command, i)); i++)
		fprintf(to, "%s%s", i ? ", " : ": ", word);
}

void help_command(const struct command *command, FILE *to)
{
	fprintf(to, "usage: ingot %s %s%s[OPTIONS]\n%s.\n\n", command->name, command->arguments,
	        *command->arguments ? " " : "", command->summary);
	FOR (i, option_row_count) {
		const struct option_row *row = &option_rows[i];
		char left[60];
		if (!(row->commands & command->bit))
			continue;
		int n = row->letter ? snprintf(left, sizeof left, "-%c, ", row->letter) : 0;
		snprintf(left + n, sizeof left - (size_t)n, "--%s%s%s", row->name, row->argument ? " " : "",
		        row->argument ? row->argument : "");
		fprintf(to, "  %-23s %s", left, row->help);
		print_words(row, command, to);
		fprintf(to, "\n");
	}
	if (command->more)
		fprintf(to, "\n%s\n", command->more);
}

/* ---- JSON ---- */
static json_t *option_json(const struct option_row *row, const struct command *command)
{
	const char *word;
	json_t *words = json_array();
	for (int i = 0; (word = option_word(row, command, i)); i++)
		json_array_append_new(words, json_string(word));
	return json_pack("{s:s,s:s,s:s%,s:s,s:o,s:s}", "name", row->name, "also", row->also ? row->also : "", "letter",
	        &row->letter, (size_t)(row->letter != 0), "argument", row->argument ? row->argument : "", "words",
	        words, "help", row->help);
}

static json_t *command_json(const struct command *command)
{
	json_t *options = json_array();
	FOR (i, option_row_count)
		if (option_rows[i].commands & command->bit)
			json_array_append_new(options, option_json(&option_rows[i], command));
	return json_pack("{s:s,s:s,s:s,s:s,s:o}", "name", command->name, "arguments", command->arguments, "summary",
	        command->summary, "more", command->more ? command->more : "", "options", options);
}

/* `only` (NULL: every command) */
static void print_json(const struct command *only, FILE *to)
{
	json_t *list = json_array(), *codes = json_array();
	for (int i = 0; commands[i]; i++)
		if (!only || only == commands[i])
			json_array_append_new(list, command_json(commands[i]));
	FOR (i, COUNT(exit_codes))
		json_array_append_new(
		        codes, json_pack("{s:i,s:s}", "code", exit_codes[i].code, "text", exit_codes[i].text));
	json_t *all = json_pack("{s:s,s:s,s:o,s:o}", "version", INGOT_VERSION, "purpose", purpose, "commands", list,
	        "exit_codes", codes);
	cli_print_json(all, to);
}

static void run(struct cli *cli)
{
	const struct command *command = cli->argument_count ? command_find(cli->build, cli->arguments[0]) : NULL;
	if (cli->flags.json)
		print_json(command, stdout);
	else if (command)
		help_command(command, stdout);
	else
		help_program(stdout);
}

const struct command command_help = { "help", "[COMMAND]", "tell about a command",
	"--json: the commands with their options; manual pages and completion are made of it.", IN_HELP, 0, 1, run };
