/* t_weights.S: t_weights.bin as read-only data. */
#if defined(__ELF__)
	.section .rodata.t_weights, "a"
	.balign 64
	.globl t_weights
	.hidden t_weights
t_weights:
	.incbin "t_weights.bin"
	.size t_weights, . - t_weights
#if defined(__linux__)
	.section .note.GNU-stack, "", %progbits
#endif
#else
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define SYMBOL(name) JOIN(__USER_LABEL_PREFIX__, name)
#if defined(__APPLE__)
	.section __TEXT,__const
	.private_extern SYMBOL(t_weights)
#else
	.section .rdata,"dr"
#endif
	.p2align 6
	.globl SYMBOL(t_weights)
SYMBOL(t_weights):
	.incbin "t_weights.bin"
#endif
