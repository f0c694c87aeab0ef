/* menu_main.c: ingot-menu CPU prints the menu of that CPU, ingot-menu --flags CPU what the compiler is told for it,
 * ingot-menu --list CPU... the list of menus.  Only the build runs it. */
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
		const struct target *of_flags = argc == 3 && !strcmp(argv[1], "--flags") ? target_find(argv[2]) : NULL;
		if (of_flags)
			text_printf(&out, "%s\n", of_flags->cc_flags);
		else if (argc > 2 && !strcmp(argv[1], "--list"))
			jit_menu_list_print(&build, (const char *const *)argv + 2, argc - 2, &out);
		else if (target)
			jit_menu_print(&build, target, &out);
		else
			fail(&build, EXIT_USAGE, NULL, "usage: ingot-menu CPU, --flags CPU, or --list CPU...");
		fwrite(out.at, 1, out.count, stdout);
	}
	if (build.code)
		fprintf(stderr, "ingot-menu: %s\n%s", build.message, build.detail);
	int code = build.code;
	text_release(&out);
	build_release(&build);
	return code;
}
