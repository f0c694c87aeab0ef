/* json_value.h: JSON -> template values. */
#ifndef CLI_JSON_VALUE_H
#define CLI_JSON_VALUE_H

#include "ingot/template.h"
#include <jansson.h>

/* In the build's arena; objects keep the order of their members, as Python's json does. */
struct value data_of(struct build *, const json_t *);

#endif
