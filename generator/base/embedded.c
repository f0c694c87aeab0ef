/* embedded.c: the name of a template -> its source, from the user's directory or from the library. */
#include "base/embedded.h"
#include <sys/stat.h>

const struct embedded_file *embedded_find(const char *name)
{
	size_t low = 0, high = embedded_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(name, embedded_files[middle].name);
		if (!order)
			return &embedded_files[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static bool climbs(const char *name)
{
	for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
		if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
			return true;
	return *name == '/' || !*name;
}

static bool load_own(
        const struct template_folders *places, struct build *build, const char *name, struct mapped *source)
{
	struct stat status;
	if (!places || !places->directory || climbs(name))
		return false;
	const char *path = arena_printf(build->arena, "%s/%s", places->directory, name);
	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return false;
	*source = file_map(build, path);
	return true;
}

bool load_embedded(void *user, struct build *build, const char *name, struct mapped *source)
{
	static const char built_in[] = "built-in/";
	bool only = !strncmp(name, built_in, sizeof built_in - 1);
	if (!only && load_own(user, build, name, source))
		return true;
	const struct embedded_file *file = embedded_find(only ? name + sizeof built_in - 1 : name);
	if (file)
		*source = (struct mapped){ .at = file->at, .bytes = file->bytes };
	return file;
}
