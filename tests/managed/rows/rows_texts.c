#include "rows.h"
const struct row rows_texts[] = { { 0 } };
