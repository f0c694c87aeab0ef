/* board.c: the boards that `--board` names, a row of facts each: from QEMU's machines and from the vendors' data sheets. */
#include "tables/board.h"
#include "base/base.h"

#define KB *1024
#define MB *1024 * 1024
#define NONE \
	{ \
		NULL, { 0, 0 } \
	}
/* clang-format off */
static const struct board boards[] = {
	{ "mps2-an385", "cortex-m3", { 0, 4 MB }, { 0x20000000, 4 MB }, { "psram", { 0x21000000, 16 MB } }, "systick", "arm -M mps2-an385" },
	{ "mps2-an386", "cortex-m4", { 0, 4 MB }, { 0x20000000, 4 MB }, { "psram", { 0x21000000, 16 MB } }, "systick", "arm -M mps2-an386" },
	{ "mps2-an500", "cortex-m7", { 0, 4 MB }, { 0x20000000, 4 MB }, { "psram", { 0x60000000, 16 MB } }, "systick", "arm -M mps2-an500" },
	{ "mps2-an505", "cortex-m33", { 0x10000000, 4 MB }, { 0x38000000, 2 MB }, { "psram", { 0x80000000, 16 MB } }, "systick", "arm -M mps2-an505" },
	{ "mps3-an547", "cortex-m55", { 0, 512 KB }, { 0x20000000, 512 KB }, { "sram", { 0x21000000, 2 MB } }, "systick", "arm -M mps3-an547" },
	{ "microbit", "cortex-m0plus", { 0, 256 KB }, { 0x20000000, 16 KB }, NONE, "systick", "arm -M microbit" },
	{ "virt-rv32imac", "rv32imac", { 0x80000000, 16 MB }, { 0x81000000, 16 MB }, NONE, "mcycle", "riscv32 -M virt -bios none" },
	{ "virt-rv32imafc", "rv32imafc", { 0x80000000, 16 MB }, { 0x81000000, 16 MB }, NONE, "mcycle", "riscv32 -M virt -bios none" },
	{ "stm32f103c8", "cortex-m3", { 0x08000000, 64 KB }, { 0x20000000, 20 KB }, NONE, "dwt", NULL },
	{ "nrf52840", "cortex-m4", { 0, 1 MB }, { 0x20000000, 256 KB }, NONE, "dwt", NULL },
	{ "stm32f446re", "cortex-m4", { 0x08000000, 512 KB }, { 0x20000000, 128 KB }, NONE, "dwt", NULL },
	{ "stm32f746ng", "cortex-m7", { 0x08000000, 1 MB }, { 0x20010000, 240 KB }, { "dtcm", { 0x20000000, 64 KB } }, "dwt", NULL },
	{ "stm32u575zi", "cortex-m33", { 0x08000000, 2 MB }, { 0x20000000, 768 KB }, NONE, "dwt", NULL },
};
/* clang-format on */

const struct board *board_at(int i) { return i >= 0 && i < (int)COUNT(boards) ? &boards[i] : NULL; }

const struct board *board_find(const char *name)
{
	for (size_t i = 0; i < COUNT(boards); i++)
		if (!strcmp(boards[i].name, name))
			return &boards[i];
	return NULL;
}

const struct board_memory *board_memory_find(const struct board *board, const char *name)
{
	return board->other.name && !strcmp(board->other.name, name) ? &board->other.at : NULL;
}
