/* board.c: from reset to main, and a console by semihosting, which an emulator or a debug probe answers. */
#include "board.h"
#include <stdint.h>

extern uint32_t stack_top[], data_load[], data_start[], data_end[], bss_start[], bss_end[]; /* board.ld's */
int main(void);
void reset(void);

static void semihost(long operation, const void *argument)
{
	register long r0 __asm__("r0") = operation;
	register const void *r1 __asm__("r1") = argument;
	__asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void print(const char *text) { semihost(0x04, text); }

void print_number(unsigned number)
{
	char digits[11], *p = digits + 10;
	*p = 0;
	do
		*--p = (char)('0' + number % 10);
	while (number /= 10);
	print(p);
}

static void stop(long code)
{
	const long block[2] = { 0x20026, code };
	semihost(0x20, block);
	for (;;)
		;
}

void reset(void)
{
	*(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the FPU is off after reset */
	__asm__ volatile("dsb\n\tisb");
	for (volatile uint32_t *from = data_load, *to = data_start; to < data_end;)
		*to++ = *from++;
	for (volatile uint32_t *to = bss_start; to < bss_end;)
		*to++ = 0;
	stop(main());
}

static void fault(void)
{
	print("fault\n");
	stop(99);
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = { stack_top, (void *)reset, (void *)fault,
	(void *)fault, (void *)fault, (void *)fault, (void *)fault, 0, 0, 0, 0, (void *)fault, (void *)fault, 0,
	(void *)fault, (void *)fault };
