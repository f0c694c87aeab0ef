/* menu_main.c: ingot-menu CPU prints the menu of that CPU; ingot-menu --list CPU... prints the list of them.  Only the build runs it. */
#include "jit/jit.h"
#include <stdio.h>

int main(int argc, char **argv)
{
	struct build build;
	struct text out;
	build_init(&build);
	text_init(&out, &build);
	if (BUILD_TRY(&build)) {
		const struct target *target = argc == 2 ? target_find(argv[1]) : NULL;
		if (argc > 2 && !strcmp(argv[1], "--list"))
			jit_menu_list_print(&build, (const char *const *)argv + 2, argc - 2, &out);
		else if (target)
			jit_menu_print(&build, target, &out);
		else
			fail(&build, EXIT_USAGE, NULL, "usage: ingot-menu CPU, or --list CPU...");
		fwrite(out.at, 1, out.count, stdout);
	}
	if (build.code)
		fprintf(stderr, "ingot-menu: %s\n%s", build.message, build.detail);
	int code = build.code;
	text_release(&out);
	build_release(&build);
	return code;
}
