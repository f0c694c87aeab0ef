/* others.c: generator-rows, where it lies beside runtime-rows: its answers become part of ours. */
#include <unistd.h>
#include "others.h"
#include "rows.h"

static const char *path_of(const char *program)
{
	static char path[1000];
	const char *slash = strrchr(program, '/');
	snprintf(path, sizeof path, "%.*sgenerator-rows", slash ? (int)(slash - program) + 1 : 0, program);
	return access(path, X_OK) ? NULL : path;
}

bool others_answer(const char *program, const char *skip)
{
	return skip && strstr(skip, "lives in the generator") && path_of(program);
}

int others_print(const char *program, bool begun, const char *row, const char *device)
{
	const char *path = path_of(program);
	char command[1400], line[4000];
	int failed = 0;
	if (!path)
		return 0;
	snprintf(command, sizeof command, "'%s' --json %s %s %s %s", path, row ? "--row" : "", row ? row : "",
	        device ? "--device" : "", device ? device : "");
	FILE *pipe = popen(command, "r");
	if (!pipe)
		return 1;
	/* "[{…},\n {…}]\n", or "[]": without its brackets. */
	for (bool first = true; fgets(line, sizeof line, pipe); first = false) {
		char *text = first ? line + 1 : line, *end = text + strlen(text);
		if (end - text >= 2 && !strcmp(end - 2, "]\n"))
			end[-2] = 0;
		if (first && *text)
			printf(begun ? ",\n " : "[");
		fputs(text, stdout);
		failed += strstr(line, "\"result\":\"fail\"") != NULL;
	}
	int status = pclose(pipe);
	return failed ? failed : status != 0;
}
