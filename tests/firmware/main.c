/* main.c: runs one network on the board and compares its outputs with what the interpreter gave: exit code 0, or 42
 * where a bit differs.  Prints the stack that the call used.  case.h, written by firmware.py, says which network:
 *     WORKSPACE_BYTES WORKSPACE_ALIGN         of its header
 *     OUTPUT_WORDS                            of all its outputs, in a row
 *     int case_run(float *out, void *workspace)
 * expected[] comes from the assembler.  Compiled with -DFLIP=1 it must fail: one expected bit is turned. */
#include "case.h"
#include "semihost.h"
#ifndef FLIP
#define FLIP 0
#endif
enum { PAINT = 0xA5 };

extern uint8_t stack_limit[];
extern const uint32_t expected[];
static uint8_t workspace[WORKSPACE_BYTES] __attribute__((aligned(WORKSPACE_ALIGN)));
static union {
	float number[OUTPUT_WORDS];
	uint32_t bits[OUTPUT_WORDS];
} out;

/* Bytes below this frame that the call wrote: painted before, looked at after. */
static uint32_t __attribute__((noinline)) stack_of_call(int *status)
{
	volatile uint8_t *sp, *p;
#if defined(__riscv)
	__asm__ volatile("mv %0, sp" : "=r"(sp));
#else
	__asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
	for (p = stack_limit; p < sp; p++)
		*p = PAINT;
	*status = case_run(out.number, workspace);
	for (p = stack_limit; p < sp && *p == PAINT;)
		p++;
	return (uint32_t)(sp - p);
}

int main(void)
{
	int status = -1, wrong = 0;
	uint32_t stack = stack_of_call(&status);
	for (int i = 0; i < OUTPUT_WORDS; i++)
		wrong += out.bits[i] != (expected[i] ^ (i == 0 ? FLIP : 0));
	print("status "), print_number((uint32_t)status);
	print(" wrong "), print_number((uint32_t)wrong);
	print(" stack "), print_number(stack), print("\n");
	return status || wrong ? 42 : 0;
}
