/* render.c: `ingot render` as a program of its own. */
int cli_render(int argc, char **argv);
int main(int argc, char **argv) { return cli_render(argc, argv); }
