/* facts.h: what a row of target.c does not know of a machine: its caches, and how wide its units are. */
#ifndef CPU_FACTS_H
#define CPU_FACTS_H
#include "tables/target.h"
#include <stdbool.h>
#include <stddef.h>

enum { FACTS_MOST = 160 }; /* bytes of what facts_spell writes */

/* The row's name, and behind it each fact that is not the row's: what --cpu takes. */
void facts_spell(const struct target *, const struct target *row, char out[FACTS_MOST]);
/* target.c: instructions that are no part of the row's level, by their word; each word includes those of its
 * row before it. */
const char *facts_level(int i);                          /* NULL: there are no more */
const char *facts_level_row(int i);                      /* whose it is */
bool facts_add_level(struct target *, const char *word); /* false: no such instructions belong to its row */
const char *facts_level_of(const struct target *);       /* the last word that it has; NULL: it has none */
void facts_pipes(struct target *, const struct target *row, int pipes);

/* Of this machine, by CPUID; what that does not say stays as it is.  A cache that cores share counts with a core's
 * part, the last one whole. */
void machine_caches(struct target *);
bool machine_has(const char *feature, size_t length); /* of tables/features.h */
/* Tiles of AMX are there where the CPU has them and the system gives them to a process that asks. */
enum amx { AMX_NONE, AMX_DENIED, AMX_THERE } machine_amx(void);
/* Fused multiply-adds of the target's vectors that are started in a cycle: what CPUID says (AMD), or, where it is
 * silent, by the time of whole vectors beside that of half ones.  The target's code must run here.  0: not known. */
int machine_pipes(const struct target *);
#endif
