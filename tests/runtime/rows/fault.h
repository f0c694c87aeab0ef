/* fault.h: failures on purpose: the n-th allocation of the runtime or call of the backend fails, once. */
#ifndef TESTS_RUNTIME_FAULT_H
#define TESTS_RUNTIME_FAULT_H
#include "rows.h"

void fault_plant(int n);        /* 0: none */
void fault_plant_driver(int n); /* so with the n-th call of the driver that stands in for NVIDIA's */
/* So many calls of that name from now on, and no failure to excuse; NULL: none.  Whether the driver is that one. */
bool fault_driver(const char *name, int count);
void fault_call(int n); /* so with the n-th call of the backend alone, and no check excuses it; 0: none */
bool fault_happened(void);
bool fault_here(void);   /* in this thread */
void fault_forget(void); /* none is planted, and none has happened */
/* Whether the C library's count too: malloc, calloc, posix_memalign, pthread_create. */
void fault_libc(bool);
long fault_libc_blocks(void); /* blocks of the C library that the program holds, and its threads */
long fault_threads(void);
long fault_blocks(void);  /* blocks of the runtime that are allocated */
bool fault_spoiled(void); /* a block of the runtime was written to after it was given back */
/* The next slab that a backend is asked for stands at the gate first, in the thread that wants it; NULL: none does. */
void fault_stand_at_slab(struct gate *);
void fault_options(struct ingot_runtime_options *);                      /* our allocator */
const struct ingot_backend *fault_backend(const struct ingot_backend *); /* the same with calls that may fail */
#endif
