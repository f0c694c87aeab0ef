/* features.h: instructions of x86-64 that not every compiler's __builtin_cpu_supports knows, by their names: the
 * compiler's macro (NULL: code does without the compiler's knowing them), and their bit in leaf 7, 1 of CPUID, of eax
 * (0) or edx (1). */
#ifndef TABLES_FEATURES_H
#define TABLES_FEATURES_H
#define CPU_FEATURES(FEATURE) FEATURE(avxvnni, "__AVXVNNI__", 0, 4) FEATURE(avxvnniint8, NULL, 1, 4)
#endif
