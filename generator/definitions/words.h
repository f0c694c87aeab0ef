/* words.h: the words of a prelude over one float, for the interpreter and for folding: the very text that is printed
 * into kernels, so the bits are those of every target.  Only //% lines of these files are template, comments to C.
 * Every name is static inline; include it in few files.  Build with -ffp-contract=off. */
#ifndef DEFINITIONS_WORDS_H
#define DEFINITIONS_WORDS_H
#include "templates/c/prelude_scalar.jinja"
#include "templates/common/lane.jinja"
#include "templates/common/scale.jinja"
#include "templates/common/scalars.jinja"
#include "templates/common/narrow.jinja"
#endif
