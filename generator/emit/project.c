/* project.c: --package: what an IDE or a build tool wants beside a microcontroller's library: build files, and a program
 * that runs the network once.  A package is a row for each file, its text a template. */
#include "emit/package.h"
#include "tables/board.h"

static const struct project_file {
	const char *package, *template, *file,
	        *ending; /* where there is an ending, the library's name stands before it */
} project_files[] = {
	{ "make", "project/case.jinja", "board/", "_case.h" },
	{ "make", "project/main.jinja", "board/main.c", NULL },
	{ "make", "project/board.jinja", "board/board.c", NULL },
	{ "make", "project/ld.jinja", "board/board.ld", NULL },
	{ "make", "project/table.jinja", "board/table.awk", NULL },
	{ "make", "project/make.jinja", "Makefile", NULL },
	{ "cmake", "project/case.jinja", "board/", "_case.h" },
	{ "cmake", "project/main.jinja", "board/main.c", NULL },
	{ "cmake", "project/board.jinja", "board/board.c", NULL },
	{ "cmake", "project/ld.jinja", "board/board.ld", NULL },
	{ "cmake", "project/cmake.jinja", "board/CMakeLists.txt", NULL },
	{ "cmake", "project/toolchain.jinja", "board/toolchain.cmake", NULL },
	{ "arduino", "project/properties.jinja", "library.properties", NULL },
	{ "arduino", "project/keywords.jinja", "keywords.txt", NULL },
	{ "arduino", "project/case.jinja", "", "_case.h" },
	{ "arduino", "project/sketch.jinja", "examples/once/once.ino", NULL },
	{ "zephyr", "project/module_yml.jinja", "zephyr/module.yml", NULL },
	{ "zephyr", "project/kconfig.jinja", "zephyr/Kconfig", NULL },
	{ "zephyr", "project/zephyr.jinja", "zephyr/CMakeLists.txt", NULL },
	{ "zephyr", "project/case.jinja", "samples/once/src/", "_case.h" },
	{ "zephyr", "project/zephyr_main.jinja", "samples/once/src/main.c", NULL },
	{ "zephyr", "project/zephyr_sample.jinja", "samples/once/CMakeLists.txt", NULL },
	{ "zephyr", "project/prj.jinja", "samples/once/prj.conf", NULL },
};

static const struct project {
	const char *word;
	bool needs_board;
} projects[] = { { "make", true }, { "cmake", true }, { "arduino", false }, { "zephyr", false } };

const char *project_word(int i) { return i >= 0 && i < (int)COUNT(projects) ? projects[i].word : NULL; }

bool project_needs_board(const char *word)
{
	bool needs = false;
	FOR (i, COUNT(projects))
		needs |= projects[i].needs_board && !strcmp(projects[i].word, word);
	return needs;
}

static struct value memory_value(struct arena *arena, const struct board_memory *memory)
{
	return value_dict_of(
	        arena, "from", value_printf(arena, "0x%08X", (unsigned)memory->from), "bytes", memory->bytes);
}

void package_add_project(struct writing *w)
{
	struct arena *arena = w->emit->arena;
	const struct board *board = w->package->board;
	const char *name = w->package->name;
	if (!w->package->project)
		return;
	if (board) {
		struct value value =
		        value_dict_of(arena, "name", board->name, "flash", memory_value(arena, &board->flash));
		value_set(value, "ram", memory_value(arena, &board->ram), "other",
		        memory_value(arena, &board->other.at), "other_name", board->other.name ? board->other.name : "",
		        "cycles", board->cycles, "machine", board->machine ? board->machine : "");
		value_set(w->globals, "board", value);
	}
	value_set(w->globals, "riscv", value_bool(!strncmp(w->emit->target->name, "rv32", 4)), "cross",
	        w->emit->target->cross ? w->emit->target->cross : "cc");
	FOR (i, COUNT(project_files))
		if (!strcmp(project_files[i].package, w->package->project))
			package_render(w, project_files[i].template,
			        arena_printf(arena, "%s%s%s", project_files[i].file,
			                project_files[i].ending ? name : "",
			                project_files[i].ending ? project_files[i].ending : ""));
}
