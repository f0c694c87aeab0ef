/* board.h: boards of microcontrollers as data: what `--board` names. */
#ifndef TABLES_BOARD_H
#define TABLES_BOARD_H
#include <stdint.h>

struct board_memory {
	uint32_t from;
	int64_t bytes;
};
struct board_other {
	const char *name; /* as --pool says it */
	struct board_memory at;
};
struct board {
	const char *name, *cpu; /* the CPU as --cpu names it */
	struct board_memory flash, ram;
	struct board_other other; /* a memory beside that RAM, where it has a name */
	const char *cycles;       /* what counts them: "dwt", "systick", "mcycle" */
	/* The words for QEMU: "arm -M mps2-an386"; NULL: it is on no emulator here, and was not tried. */
	const char *machine;
};
const struct board *board_at(int i); /* NULL after the last */
const struct board *board_find(const char *name);
const struct board_memory *board_memory_find(const struct board *, const char *name); /* NULL: the RAM is meant */

#endif
