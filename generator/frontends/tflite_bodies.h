/* tflite_bodies.h: the bodies that tables/tflite.h names. */
#ifndef FRONTENDS_TFLITE_BODIES_H
#define FRONTENDS_TFLITE_BODIES_H
#include "frontends/tflite.h"

#define O(number, name)
#define P(number, name, options, newest, body, word) void tfl_##body(struct tfl_op *);
#include "tables/tflite.h"
#undef O
#undef P
#endif
