/* board.h: what board.c has for a program. */
void print(const char *text);
void print_number(unsigned number);
