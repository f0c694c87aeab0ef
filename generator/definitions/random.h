/* random.h: the word that makes random numbers, as it is printed into kernels. */
#ifndef DEFINITIONS_RANDOM_H
#define DEFINITIONS_RANDOM_H
#include <stdint.h>
#define WORD static inline
#include "templates/common/random.jinja"
#undef WORD
#endif
