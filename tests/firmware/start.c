/* start.c: from reset to main: vectors, floats, .data, .bss; main's value becomes the exit code, a fault 99.  The symbols
 * are board.ld's. */
#include "semihost.h"
#include <stddef.h>

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[];
int main(void);
void reset(void);

static __attribute__((used)) void fault(void)
{
	uint32_t cause;
#if defined(__riscv)
	__asm__ volatile(".option arch, +zicsr\n\tcsrr %0, mcause" : "=r"(cause));
#else
	cause = *(volatile uint32_t *)0xE000ED28; /* CFSR */
#endif
	print("fault "), print_number(cause), print("\n");
	finish(99);
}

static __attribute__((used)) void start(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
	*(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* CPACR: the FPU is off after reset */
	__asm__ volatile("dsb\n\tisb");
#endif
	for (volatile uint32_t *from = data_load, *to = data_start; to < data_end;)
		*to++ = *from++;
	for (volatile uint32_t *to = bss_start; to < bss_end;)
		*to++ = 0;
	finish(main());
}

#if defined(__riscv)
void *memcpy(void *restrict to, const void *restrict from, size_t n) /* this compiler brings no libc */
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}
void *memset(void *to, int value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = (char)value;
	return to;
}
__attribute__((naked, section(".vectors"), used)) void reset(void) /* mstatus.FS: floats are off after reset */
{
	__asm__ volatile(".option arch, +zicsr\n\tla sp, stack_top\n\tla t0, fault\n\tcsrw mtvec, t0\n\t"
	                 "li t0, 0x2000\n\tcsrs mstatus, t0\n\tj start");
}
#else
void reset(void) { start(); }
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
#endif
