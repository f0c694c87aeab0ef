/* report.h: the parts of what ingot report says, as members of one JSON object. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H
#include "cli/cli.h"

/* inputs, outputs, ops, nodes, kernels, edges, tensors, slabs, weights, and bytes of each kind; the model is lowered. */
void report_facts(json_t *all, const struct model *);
/* Each kernel's time and limit, and places in the roofline's picture.  bench: what bench_model measured; NULL: they are
 * reckoned, in cycles. */
void report_times(json_t *all, const struct model *, const json_t *bench);
#endif
