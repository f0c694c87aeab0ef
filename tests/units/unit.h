/* unit.h: cmocka, less its macro fail(), which is our way out of a build. */
#ifndef UNITS_UNIT_H
#define UNITS_UNIT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#undef fail
#endif
