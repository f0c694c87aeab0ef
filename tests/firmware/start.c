/* start.c: from reset to main: vectors, FPU, .data, .bss; main's value becomes the exit code, a fault 99.  The symbols
 * are board.ld's. */
#include "semihost.h"

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];
int main(void);
void reset(void);

static void fault(void)
{
	print("fault, CFSR ");
	print_number(*(volatile uint32_t *)0xE000ED28);
	print("\n");
	finish(99);
}

void reset(void)
{
	*(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: the FPU is off after reset */
	__asm__ volatile("dsb\n\tisb");
	for (volatile uint32_t *from = data_load, *to = data_start; to < data_end;)
		*to++ = *from++;
	for (volatile uint32_t *to = bss_start; to < bss_end;)
		*to++ = 0;
	finish(main());
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
	stack_top,
	(void *)reset,
	(void *)fault,
	(void *)fault,
	(void *)fault,
	(void *)fault,
	(void *)fault,
	(void *)fault,
	0,
	0,
	0,
	(void *)fault,
	(void *)fault,
	0,
	(void *)fault,
	(void *)fault,
};
