#include "rows.h"
const struct row rows_ops[] = { { 0 } };
