#!/usr/bin/env python3
"""The pool beside a library, parallel-fors that say what a fork costs, and libraries and headers from before there were such.

    threads.py INGOT EXAMPLES        exit 0: right, 1: wrong"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from told import INGOT, expect, finish, told

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror"]
# How many kernels fork, into how many parts: of a parallel-for that is given as words: workers, or workers:fork_ns
MAIN = """#include "digits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int forks, parts;
static void run(void *pool, void (*task)(void *, int), void *argument, int count)
{
	(void)pool;
	forks++;
	parts += count;
	for (int i = count; i--;)
		task(argument, i);
}
int main(int count, char **words)
{
	static unsigned char workspace[DIGITS_WORKSPACE_BYTES + 64];
	static float x[784], want[10], y[10];
	struct digits_inputs in = { x };
	struct digits_outputs out = { want };
	struct digits_context context = { workspace + (64 - (size_t)workspace % 64), NULL, NULL, NULL };
	struct ingot_parallel parallel = { run, NULL, 0 };
	for (int i = 0; i < 784; i++)
		x[i] = (float)(i % 13) / 13;
	if (digits_run(&in, &out, &context))
		return 1;
	out.scores = y;
	for (int i = 1; i < count; i++) {
		char *end;
		parallel.workers = (int)strtol(words[i], &end, 10);
		context.parallel = &parallel;
#ifdef INGOT_PARALLEL_PRICED
		struct ingot_parallel_priced priced = { parallel, (unsigned)(*end ? atoi(end + 1) : 0) };
		priced.parallel.workers += INGOT_PARALLEL_PRICED;
		if (*end)
			context.parallel = &priced.parallel;
#endif
		forks = parts = 0;
		if (digits_run(&in, &out, &context) || memcmp(want, y, sizeof y))
			return 2;
		printf("%d/%d ", forks, parts);
	}
	return 0;
}
"""
POOL = """#include "digits.h"
#include "ingot_threads.h"
#include <string.h>
int main(void)
{
	static unsigned char workspace[DIGITS_WORKSPACE_BYTES + 64];
	static float x[784], want[10], y[10];
	digits_inputs in = { x };
	digits_outputs out = { want };
	digits_context context = digits_context();
	ingot_threads *threads;
	context.workspace = workspace + (64 - reinterpret_cast<unsigned long>(workspace) % 64);
	if (digits_run(&in, &out, &context) || ingot_threads_open(&threads, 3) || ingot_threads_open(0, 3) != 2 || ingot_threads_open(&threads, -1) != 4
			|| threads || ingot_threads_open(&threads, 3))
		return 1;
	context.parallel = ingot_threads_parallel(threads);
	out.scores = y;
	for (int i = 0; i < 100; i++)
		if (digits_run(&in, &out, &context) || std::memcmp(want, y, sizeof y))
			return 2;
	ingot_threads_close(threads);
	return 0;
}
""".replace("<string.h>", "<cstring>")

# What a checking pool says of parallel-fors that are right, call an index twice, one that there is not, or return before.
CHECKED = """#include "digits.h"
#include "ingot_threads.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int way, wrongs;
static char said[200];
struct late { void (*task)(void *, int); void *argument; int index; };
static struct late late;
static void *comes_late(void *unused)
{
	usleep(20000);
	late.task(late.argument, late.index);
	return unused;
}
static void run(void *pool, void (*task)(void *, int), void *argument, int count)
{
	pthread_t *thread = pool;
	for (int i = 0; i < count - (way == 3 || way == 4); i++)
		task(argument, i);
	if (way == 1)
		task(argument, 0);
	if (way == 2)
		task(argument, count);
	late = (struct late){ task, argument, count - 1 };
	if (way == 4 && !*thread)
		pthread_create(thread, NULL, comes_late, NULL);
}
static void wrong(void *user, const char *what)
{
	*(int *)user += 1;
	if (!*said)
		strcpy(said, what);
}
static int ran;
static void task(void *argument, int index)
{
	(void)argument;
	(void)index;
	__atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
}
int main(void)
{
	static unsigned char workspace[DIGITS_WORKSPACE_BYTES + 64];
	static float x[784], want[10], y[10];
	struct digits_inputs in = { x };
	struct digits_outputs out = { want };
	struct digits_context context = { workspace + (64 - (size_t)workspace % 64), NULL, NULL, NULL };
	struct ingot_threads *threads;
	struct ingot_checked *checked;
	pthread_t thread = 0;
	const struct ingot_parallel mine = { run, &thread, 4 }, none = { 0 };
	if (digits_run(&in, &out, &context) || ingot_checked_open(&checked, &none, NULL, NULL) != 2 || checked || ingot_threads_open(&threads, 3)
			|| ingot_checked_open(&checked, ingot_threads_parallel(threads), wrong, &wrongs))
		return 1;
	out.scores = y;
	context.parallel = ingot_checked_parallel(checked);
	for (int i = 0; i < 300; i++)
		if (digits_run(&in, &out, &context) || memcmp(want, y, sizeof y))
			return 2;
	ingot_checked_close(checked);
	ingot_threads_close(threads);
	printf("%d\\n", wrongs);
	for (way = 0; way < 5; way++) {
		wrongs = ran = 0;
		*said = 0;
		if (ingot_checked_open(&checked, &mine, wrong, &wrongs))
			return 3;
		ingot_checked_parallel(checked)->run(ingot_checked_parallel(checked)->pool, task, NULL, 8);
		if (thread)
			pthread_join(thread, NULL);
		ingot_checked_close(checked);
		printf("%d %d %s\\n", wrongs, ran, said);
	}
	fflush(stdout);
	way = 1;
	return ingot_checked_open(&checked, &mine, NULL, NULL) || (ingot_checked_parallel(checked)->run(ingot_checked_parallel(checked)->pool, task, NULL, 8), 4);
}
"""
SAID = ["0", "0 8 ", "1 8 the parallel-for calls an index twice: 0 of 8", "1 8 the parallel-for calls an index that there is not: 8 of 8",
        "1 7 the parallel-for returned before it called an index: 7 of 8", "1 7 the parallel-for returned before it called an index: 7 of 8"]


def call(*words, cwd):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, "%s: exit %d\n%s" % (" ".join(words), done.returncode, done.stdout + done.stderr)
    return done.stdout


def program(folder, name, flags=()):
    open(os.path.join(folder, name + ".c"), "w").write(MAIN)
    sources = json.load(open(os.path.join(folder, "digits.json")))["sources"]
    call("gcc", "-std=gnu11", *STRICT, "-O1", "-I.", name + ".c", *sources, *flags, "-ffp-contract=off", "-o", name, cwd=folder)
    return lambda *words: call(os.path.join(folder, name), *words, cwd=folder).split()


def pool(folder):
    for compiler in [one for one in ("gcc", "clang") if shutil.which(one)]:
        call(compiler, "-std=c11", "-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror", "-O1", "-c", "ingot_threads.c", "-o", compiler + ".o", cwd=folder)
    open(os.path.join(folder, "pool.cpp"), "w").write(POOL)
    call("g++", "-std=c++11", *STRICT, "-c", "pool.cpp", "-o", "pool.o", cwd=folder)
    call("g++", "pool.o", "gcc.o", "libdigits.a", "-pthread", "-o", "pool", cwd=folder)
    call(os.path.join(folder, "pool"), cwd=folder)


def checked(folder):
    open(os.path.join(folder, "checked.c"), "w").write(CHECKED)
    call("gcc", "-std=gnu11", "-fsanitize=address", "-g", "checked.c", "ingot_threads.c", "libdigits.a", "-pthread", "-o", "checked", cwd=folder)
    done = subprocess.run([os.path.join(folder, "checked")], capture_output=True, text=True)
    assert done.stdout.split("\n")[:-1] == SAID and done.returncode == -6 and "calls an index twice" in done.stderr, done


def main():
    digits = os.path.join(os.path.abspath(sys.argv[2]), "digits", "digits.onnx")
    with tempfile.TemporaryDirectory(prefix="threads.") as folder:
        call(INGOT, "build", digits, "--threads", "1..4", "--cpu", "generic", "-o", folder, cwd=folder)
        new = program(folder, "new")
        plain, free, few, dear = new("4", "4:0", "4:1", "4:1000000000")
        forks = int(plain.split("/")[0])
        expect("a price of nothing is none", plain == free == few and forks > 1, plain)
        expect("too dear", dear == "0/0", dear)
        prices = [int(one.split("/")[0]) for one in new(*("4:%d" % ns for ns in range(1000, 2000000, 20000)))]
        expect("the dearer, the fewer", prices == sorted(prices, reverse=True) and len(set(prices)) > 2, str(prices))
        expect("as many parts as workers", new("1", "2", "4", "9", "3:5") == ["0/0", "%d/%d" % (forks, 2 * forks), plain, plain, "%d/%d" % (forks, 3 * forks)], str(new("1", "2", "4", "9", "3:5")))
        try:
            pool(folder)
            expect("the pool, C++ and two compilers", True)
        except AssertionError as wrong:
            expect("the pool, C++ and two compilers", False, str(wrong))
        try:
            checked(folder)
            expect("a checking pool", True)
        except AssertionError as wrong:
            expect("a checking pool", False, str(wrong))
        # a program that was compiled with the header of before: no such structure, and 0 in no place that it does not know
        header, source = (open(os.path.join(folder, name)).read() for name in ("digits.h", "digits.c"))
        old = re.sub(r"#ifndef INGOT_PARALLEL_PRICED.*?#endif\n", "", header, flags=re.S)
        assert old != header
        open(os.path.join(folder, "digits_new.h"), "w").write(header)
        open(os.path.join(folder, "digits.c"), "w").write(source.replace('"digits.h"', '"digits_new.h"'))
        open(os.path.join(folder, "digits.h"), "w").write(old)
        expect("an old header, a new library", program(folder, "older")("4", "2") == [plain, "%d/%d" % (forks, 2 * forks)])
        # and the library of before: it asks for more than one worker, and knows no price
        before = re.sub(r"\tif \(parallel && parallel->workers > INGOT_PARALLEL_PRICED\)\n.*?\n", "", source).replace(" % INGOT_PARALLEL_PRICED", "").replace("fork_ns <= ", "fork_ns + 1 <= ")
        assert before.count("INGOT_PARALLEL_PRICED") == 0
        open(os.path.join(folder, "digits.c"), "w").write(before)
        open(os.path.join(folder, "digits.h"), "w").write(header)
        expect("a new header, an old library", program(folder, "newer")("4", "4:1000000000", "4:0") == [plain] * 3)
        open(os.path.join(folder, "big.onnxtxt"), "w").write('<ir_version: 8, opset_import: ["" : 17]>\nlong (float[512,1024] x, float[1024,1024] w) => (float[512,1024] y) { y = MatMul (x, w) }\n')
        call(INGOT, "build", "big.onnxtxt", "--threads", "3", "--no-compile", "-o", "long", cwd=folder)
        expect("long kernels have more parts than there are threads", "workers < 3 ? workers * 4 : 12;" in open(os.path.join(folder, "long", "big.c")).read())
        text = open(os.path.join(folder, "long", "CMakeLists.txt")).read()
        expect("CMake has the pool", "add_library(ingot_threads" in text)
        call(INGOT, "build", "big.onnxtxt", "--threads", "3", "--cpu", "cortex-m4", "--no-compile", "-o", "bare", cwd=folder)
        expect("not where there are no threads", not [name for name in os.listdir(os.path.join(folder, "bare")) if "threads" in name])
        told("too many", 2, "is not a number from 1 to 256", "build", digits, "--threads", "1..300", "-o", folder + "/x")
        told("a range from elsewhere", 2, "is not a number", "build", digits, "--threads", "2..3", "-o", folder + "/x")
    finish()


if __name__ == "__main__":
    main()
