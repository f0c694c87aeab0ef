/* report_times.c: each kernel's time beside its limit, and where it stands in the roofline's picture: operations for each
 * byte to the right, operations in a time unit upwards, both as logarithms. */
#include "cli/report.h"
#include <math.h>
#include <stdlib.h>

/* ---- without a run: cycles, by facts of the processor ---- */
/* Bytes a cycle from where so many lie: L1 as the facts say, each cache behind it half of that before. */
static double reckoned_rate(const struct target *target, double bytes, const char **from)
{
	double rate = target->units.load > 0 ? target->units.load : 4;
	if (bytes < (double)target->l1_bytes)
		return *from = "L1", rate;
	if (bytes < (double)target->l2_bytes)
		return *from = "L2", rate / 2;
	if (bytes < (double)target->l3_bytes)
		return *from = "L3", rate / 4;
	return *from = "memory", rate / 8;
}

static double reckoned_fmas(const struct target *target)
{
	return (double)(target->lanes > 0 ? target->lanes : 1) * (target->units.pipes > 0 ? target->units.pipes : 1);
}

static void reckon(json_t *kernel, const struct target *target)
{
	const char *bound;
	double adds = json_number_value(json_object_get(kernel, "multiply_adds")),
	       others = json_number_value(json_object_get(kernel, "operations")),
	       bytes = json_number_value(json_object_get(kernel, "bytes")),
	       compute = (adds + others) / reckoned_fmas(target), memory = bytes / reckoned_rate(target, bytes, &bound);
	if (compute > memory)
		bound = adds < others ? "operations" : "fma";
	double time = compute > memory ? compute : memory;
	json_object_set_new(kernel, "cycles", json_real(time));
	json_object_set_new(kernel, "limit", json_real(time));
	json_object_set_new(kernel, "bound", json_string(bound));
}

/* ---- the picture ---- */
struct axis {
	double low, high; /* logarithms to base 10, whole */
};

static double work_of(const json_t *kernel)
{
	return 2 * json_number_value(json_object_get(kernel, "multiply_adds"))
	        + json_number_value(json_object_get(kernel, "operations"));
}

static double time_of(const json_t *kernel)
{
	const json_t *time = json_object_get(kernel, "microseconds");
	return json_number_value(time ? time : json_object_get(kernel, "cycles"));
}

static void widen(struct axis *axis, double value)
{
	if (value > 0 && isfinite(value)) {
		axis->low = fmin(axis->low, floor(log10(value)));
		axis->high = fmax(axis->high, ceil(log10(value)));
	}
}

static double at(const struct axis *axis, double value)
{
	return (log10(value) - axis->low) / (axis->high - axis->low);
}

static json_t *ticks(const struct axis *axis)
{
	json_t *list = json_array();
	for (double e = axis->low; e <= axis->high; e++)
		json_array_append_new(list,
		        json_pack("{s:f,s:f}", "at", (e - axis->low) / (axis->high - axis->low), "value", pow(10, e)));
	return list;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Bytes in a time unit from there: the median over the kernels that it binds.  0: it binds none. */
static double rate_of(struct arena *arena, const json_t *kernels, const char *from)
{
	size_t count = 0;
	double *rates = arena_new_array(arena, double, json_array_size(kernels) + 1);
	FOR (k, json_array_size(kernels)) {
		const json_t *kernel = json_array_get(kernels, k);
		double limit = json_number_value(json_object_get(kernel, "limit"));
		const char *bound = json_string_value(json_object_get(kernel, "bound"));
		if (limit > 0 && bound && !strcmp(bound, from))
			rates[count++] = json_number_value(json_object_get(kernel, "bytes")) / limit;
	}
	qsort(rates, count, sizeof *rates, ascending);
	return count ? rates[count / 2] : 0;
}

/* most: operations in a time unit that the processor's multiply-adds are.  Lines and points, from 0 to 1. */
static json_t *roofline(struct arena *arena, json_t *kernels, double most)
{
	static const char *const levels[] = { "L1", "L2", "L3", "memory" };
	struct axis x = { 300, -300 }, y = { 300, -300 };
	json_t *roofs = json_array();
	widen(&y, most);
	FOR (k, json_array_size(kernels)) {
		const json_t *kernel = json_array_get(kernels, k);
		double work = work_of(kernel), bytes = json_number_value(json_object_get(kernel, "bytes"));
		if (work > 0 && bytes > 0 && time_of(kernel) > 0) {
			widen(&x, work / bytes);
			widen(&y, work / time_of(kernel));
		}
	}
	if (x.low > x.high) /* nothing computes */
		x = (struct axis){ 0, 1 };
	x.high += x.high == x.low;
	y.low = fmin(y.low, y.high - 1);
	FOR (k, json_array_size(kernels)) {
		json_t *kernel = json_array_get(kernels, k);
		double work = work_of(kernel), bytes = json_number_value(json_object_get(kernel, "bytes"));
		if (work > 0 && bytes > 0 && time_of(kernel) > 0) {
			json_object_set_new(kernel, "x", json_real(at(&x, work / bytes)));
			json_object_set_new(kernel, "y", json_real(at(&y, work / time_of(kernel))));
		}
	}
	FOR (l, COUNT(levels)) {
		double rate = rate_of(arena, kernels, levels[l]), from = pow(10, x.low);
		if (rate > 0) /* y = rate * x, from the left edge to where multiply-adds bound it */
			json_array_append_new(roofs,
			        json_pack("{s:s,s:f,s:f,s:f,s:f,s:f}", "name", levels[l], "rate", rate, "x", 0., "y",
			                at(&y, rate * from), "x_end", at(&x, most / rate), "y_end", at(&y, most)));
	}
	return json_pack("{s:f,s:f,s:o,s:o,s:o}", "most", most, "most_at", at(&y, most), "roofs", roofs, "x_ticks",
	        ticks(&x), "y_ticks", ticks(&y));
}

void report_times(json_t *all, const struct model *model, const json_t *bench)
{
	const struct target *target = model->options->target;
	json_t *kernels = json_object_get(all, "kernels");
	const json_t *rows = json_object_get(bench, "kernels");
	double sum = 0, longest = 0, limits = 0;
	FOR (k, json_array_size(kernels)) {
		json_t *kernel = json_array_get(kernels, k), *row = json_array_get(rows, k);
		if (row) {
			double time = json_number_value(json_object_get(row, "microseconds"));
			json_object_set(kernel, "microseconds", json_object_get(row, "microseconds"));
			json_object_set(kernel, "bound", json_object_get(row, "bound"));
			json_object_set_new(
			        kernel, "limit", json_real(time * json_number_value(json_object_get(row, "of_limit"))));
			json_object_set(kernel, "form", json_object_get(row, "form"));
		} else
			reckon(kernel, target);
		json_object_set_new(kernel, "time", json_real(time_of(kernel)));
		sum += time_of(kernel);
		longest = fmax(longest, time_of(kernel));
		limits += json_number_value(json_object_get(kernel, "limit"));
	}
	double most = 2 * reckoned_fmas(target);
	if (bench) { /* an operation in a microsecond is a thousandth of a GFLOP/s */
		most = 1e3 * json_number_value(json_object_get(bench, "fma_gflops"));
		json_object_set(all, "call_microseconds", json_object_get(bench, "call_microseconds"));
		json_object_set(all, "processor", json_object_get(bench, "processor"));
		json_object_set(all, "rounds", json_object_get(bench, "rounds"));
		json_object_set(all, "engine", json_object_get(bench, "target"));
	}
	json_object_set_new(all, "time_sum", json_real(sum));
	json_object_set_new(all, "time_longest", json_real(longest));
	json_object_set_new(all, "limit_sum", json_real(limits));
	json_object_set_new(all, "roofline", roofline(model->build->arena, kernels, most));
}
