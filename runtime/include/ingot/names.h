/* names.h: identifiers for emitted code, as pure functions.  Runtime and generator compile the same names.c. */
#ifndef INGOT_NAMES_H
#define INGOT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ingot/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An identifier of C, C++ and CUDA, never a keyword.
 *     only ids     "n7"
 *     under grad   labels that are words, joined by "_", those that begin with a digit last; a label "grad" becomes the
 *                  suffix "_grad"; where `repeated` (another node has the same text) "n7_" stands before, for a
 * gradient the id of what it is the gradient of ("n6_"); nothing left: "n7" dot grad     the same with the suffix
 * ".grad": for people, not for code */
size_t ingot_name_ident(enum ingot_name_style, uint32_t id, const char *const *labels, uint32_t count, bool repeated,
        char *text, size_t room);
/* Whether the labels end in "grad", and what they are without: "w_grad" -> "w". */
bool ingot_name_no_grad(const char *const *labels, uint32_t count, char *text, size_t room);
/* Which name of a node is kept: one that begins with its id wins, then one that is not merely its id, then the
 * longer. */
bool ingot_name_better(uint32_t id, const char *old, const char *proposed);
bool ingot_name_is_keyword(const char *);
bool ingot_name_style_parse(const char *, enum ingot_name_style *);
const char *ingot_name_style_text(enum ingot_name_style);

#ifdef __cplusplus
}
#endif
#endif
