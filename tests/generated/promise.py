#!/usr/bin/env python3
"""What a generated header promises within a version: programs and libraries of before go with those of today, both ways.

    promise.py INGOT

BEFORE is the header of a library as ingot made it when it had no prices of forks, no counts of elements and no check of weights
(commit c4ae4825): it stays as it is.  Where this test fails, MINOR of the version is raised, and CHANGELOG.md says so."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from told import INGOT, expect, finish

GRAPH = """<ir_version: 8, opset_import: ["" : 17]>
step (float[64,64] x, float[64,64] h) => (float[64,64] y, float[64,64] hn) { p = MatMul (x, x) hn = Add (p, h) y = Relu (hn) }
"""
BEFORE = """#ifndef STEP_H
#define STEP_H
#define STEP_WORKSPACE_BYTES 0
#define STEP_WORKSPACE_ALIGN 64
#define STEP_WEIGHTS_BYTES 0
#define STEP_WEIGHTS_ALIGN 64
#define STEP_STATE_BYTES 32768
#define STEP_STATE_ALIGN 8
enum { STEP_OK = 0, STEP_NO_POINTER = 1, STEP_BAD_WORKSPACE = 2, STEP_BAD_CPU = 3, STEP_BAD_STATE = 4 };
#ifndef INGOT_PARALLEL_DEFINED
#define INGOT_PARALLEL_DEFINED
struct ingot_parallel {
	void (*run)(void *pool, void (*task)(void *argument, int index), void *argument, int count);
	void *pool;
	int workers;
};
#endif
struct step_inputs {
	const float *x;
};
struct step_outputs {
	float *y;
	float *hn;
};
struct step_context {
	void *workspace;
	const void *weights;
	const struct ingot_parallel *parallel;
	void *stream;
	void *state;
};
int step_run(const struct step_inputs *in, const struct step_outputs *out, const struct step_context *context);
int step_reset(const struct step_context *context);
#endif
"""
# A library of that header.
LIBRARY = """#include "step.h"
#include <math.h>
#include <string.h>
struct one { const float *x; float *y, *h; };
static void row(void *argument, int i)
{
	const struct one *one = argument;
	for (int j = 0; j < 64; j++) {
		float sum = 0;
		for (int k = 0; k < 64; k++)
			sum = fmaf(one->x[64 * i + k], one->x[64 * k + j], sum);
		one->h[64 * i + j] += sum;
		one->y[64 * i + j] = one->h[64 * i + j] < 0 ? 0 : one->h[64 * i + j];
	}
}
int step_run(const struct step_inputs *in, const struct step_outputs *out, const struct step_context *context)
{
	if (!in || !out || !context || !in->x || !out->y)
		return STEP_NO_POINTER;
	if (!context->state || (unsigned long)context->state % STEP_STATE_ALIGN)
		return STEP_BAD_STATE;
	struct one one = { in->x, out->y, context->state };
	if (context->parallel && context->parallel->workers > 1)
		context->parallel->run(context->parallel->pool, row, &one, 64);
	else
		for (int i = 0; i < 64; i++)
			row(&one, i);
	if (out->hn)
		memcpy(out->hn, context->state, 4096 * sizeof(float));
	return STEP_OK;
}
int step_reset(const struct step_context *context)
{
	if (!context || !context->state)
		return STEP_BAD_STATE;
	memset(context->state, 0, STEP_STATE_BYTES);
	return STEP_OK;
}
"""
# Says the bits of three steps, alone and in parallel, and the codes of what is wrong.
PROGRAM = """#include "step.h"
#include <stdio.h>
#include <string.h>
static unsigned char workspace[STEP_WORKSPACE_BYTES + 64] __attribute__((aligned(STEP_WORKSPACE_ALIGN)));
static unsigned char state[STEP_STATE_BYTES + 8] __attribute__((aligned(STEP_STATE_ALIGN)));
static int forks;
static void run(void *pool, void (*task)(void *, int), void *argument, int count)
{
	*(int *)pool += 1;
	for (int i = count; i--;)
		task(argument, i);
}
int main(void)
{
	static float x[4096], y[4096], hn[4096];
	struct ingot_parallel parallel = { run, &forks, 4 };
	struct step_inputs in = { .x = x };
	struct step_outputs out = { .y = y };
	struct step_context context = { .workspace = workspace, .state = state };
	for (int way = 0; way < 2; way++) {
		step_reset(&context);
		context.parallel = way ? &parallel : NULL;
		out.hn = way ? hn : NULL;
		for (int n = 0; n < 3; n++) {
			unsigned sum = 0;
			for (int i = 0; i < 4096; i++)
				x[i] = (float)((i * 7 + n) % 31 - 15) / 16;
			if (step_run(&in, &out, &context))
				return 1;
			for (int i = 0; i < 4096; i++) {
				unsigned bits;
				memcpy(&bits, y + i, sizeof bits);
				sum = sum * 31 + bits;
			}
			printf("%08x ", sum);
		}
	}
	context.state = state + 1;
	printf("%d ", step_run(&in, &out, &context) == STEP_BAD_STATE && STEP_BAD_STATE == 4);
	context.state = state;
	in.x = NULL;
	printf("%d %d\\n", step_run(&in, &out, &context) == STEP_NO_POINTER && STEP_NO_POINTER == 1, forks > 0);
	return 0;
}
"""


def write(folder, **files):
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(folder, name.replace("_", ".")), "w") as file:
            file.write(text)


def compiled(headers, source, name):
    subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-I", headers, "-c", source, "-o", name], check=True)
    return name


def ran(name, *objects):
    subprocess.run(["gcc", *objects, "-lm", "-o", name], check=True)
    return subprocess.run([name], check=True, capture_output=True, text=True).stdout


def main():
    with tempfile.TemporaryDirectory(prefix="promise.") as folder:
        before, now = os.path.join(folder, "before"), os.path.join(folder, "now")
        write(before, step_h=BEFORE, step_c=LIBRARY)
        write(folder, step_onnxtxt=GRAPH, program_c=PROGRAM)
        subprocess.run([INGOT, "build", os.path.join(folder, "step.onnxtxt"), "--state", "h=hn", "--threads", "4", "--cpu", "generic", "-o", now],
                       check=True, capture_output=True)
        source, library = os.path.join(folder, "program.c"), os.path.join(now, "libstep.a")
        new, old = compiled(now, source, os.path.join(folder, "new.o")), compiled(before, source, os.path.join(folder, "old.o"))
        kept = compiled(before, os.path.join(before, "step.c"), os.path.join(folder, "library.o"))
        want = ran(os.path.join(folder, "a"), new, library)
        expect("today's program and library", want.endswith(" 1 1 1\n") and want.split()[:3] == want.split()[3:6], want)
        expect("an old program, a new library", ran(os.path.join(folder, "b"), old, library) == want)
        expect("a new program, an old library", (got := ran(os.path.join(folder, "c"), new, kept)) == want, got + want)
    finish()


if __name__ == "__main__":
    main()
