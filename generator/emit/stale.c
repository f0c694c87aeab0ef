/* stale.c: the manifest of the library of that name that lies in the folder -> the files of it that the new one has
 * not, removed once that is there.  What no manifest names stays, and what that of another library names. */
#include "emit/package.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file below the folder, by a path that leads nowhere else. */
static bool is_inside(const struct writing *w, const char *name)
{
	struct stat info;
	if (!*name || *name == '/' || strstr(name, ".."))
		return false;
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *folder = arena_printf(w->emit->arena, "%s/%.*s", w->directory, (int)(slash - name), name);
		if (lstat(folder, &info) || !S_ISDIR(info.st_mode))
			return false;
	}
	return true;
}

static void add_name(struct writing *w, const json_t *name)
{
	if (json_is_string(name) && is_inside(w, json_string_value(name)))
		push(w->emit->arena, &w->old, arena_printf(w->emit->arena, "%s", json_string_value(name)));
}

static void add_names(struct writing *w, const json_t *list, const char *key)
{
	FOR (i, json_array_size(list))
		add_name(w, key ? json_object_get(json_array_get(list, i), key) : json_array_get(list, i));
}

static json_t *manifest_read(const struct writing *w, const char *file)
{
	struct stat info;
	const char *path = arena_printf(w->emit->arena, "%s/%s", w->directory, file);
	return !stat(path, &info) && S_ISREG(info.st_mode) ? json_load_file(path, 0, NULL) : NULL;
}

/* NULL: no name. */
static void drop_name(struct writing *w, const char *name)
{
	for (size_t i = w->old.count; name && i-- > 0;)
		if (!strcmp(name, w->old.at[i]))
			w->old.at[i] = w->old.at[--w->old.count];
}

/* What another library has, too, as the runtime and the pool of threads. */
static void drop_shared(struct writing *w, const char *own)
{
	DIR *folder = opendir(w->directory);
	for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
		const char *end = strrchr(entry->d_name, '.');
		json_t *other = end && !strcmp(end, ".json") && strcmp(entry->d_name, own)
		        ? manifest_read(w, entry->d_name)
		        : NULL;
		const json_t *files = json_object_get(other, "files");
		FOR (i, json_array_size(files))
			drop_name(w, json_string_value(json_array_get(files, i)));
		json_decref(other);
	}
	if (folder)
		closedir(folder);
}

void package_read_old(struct writing *w)
{
	const char *own = arena_printf(w->emit->arena, "%s.json", w->package->name);
	json_t *old = manifest_read(w, own);
	if (!old)
		return;
	add_names(w, json_object_get(old, "files"), NULL);
	if (!json_object_get(old, "files")) { /* of an ingot that did not list them */
		add_names(w, json_object_get(old, "sources"), NULL);
		add_names(w, json_object_get(old, "images"), "file");
		add_names(w, json_object_get(old, "graphs"), "header");
		add_name(w, json_object_get(old, "library"));
		add_name(w, json_object_get(old, "shared_library"));
	}
	json_decref(old);
	drop_shared(w, own);
}

void package_remove_old(struct writing *w)
{
	FOR_ALL (i, w->old) {
		bool made = false;
		for (size_t k = 0; file_set_name(w->files, k); k++)
			made |= !strcmp(file_set_name(w->files, k), w->old.at[i]);
		char *path = arena_printf(w->emit->arena, "%s/%s", w->directory, w->old.at[i]);
		if (made || unlink(path))
			continue;
		for (char *slash = strrchr(path, '/'); slash > path + strlen(w->directory);
		        slash = strrchr(path, '/')) {
			*slash = 0;
			rmdir(path); /* where it is empty now */
		}
	}
}
