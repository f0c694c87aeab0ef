#!/usr/bin/env python3
"""Quantised layers with instructions that this machine may lack: a library for such a CPU, whose words are replaced by plain C, has the interpreter's integers.

    plain_words.py INGOT SEED COUNT

What follows from the row (dwords, corrections, tiles) is run, and of the word itself the text is looked at.  Ends with 77 where NumPy or AVX2 is not there."""
import os, sys, tempfile

import matrix                             # ends with 77 where NumPy is not there
from here import cpus
from quantised import Layer

PLAIN = """union { ivec v; unsigned char u[32]; signed char s[32]; int i[8]; } x = { a }, y = { b }, z = { sum };
	for (int i = 0; i < 32; i++)
		z.i[i / 4] += x.%s[i] * y.s[i];
	sum = z.v;"""
# CPU: its word, what that is, and how a call asks for it.
ONES = {"x86-64-v3,avxvnni": ('__asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));', PLAIN % "u", "(leaf_7_1(0) >> 4 & 1u)"),
        "x86-64-v3,avxvnniint8": ('__asm__("vpdpbssd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));', PLAIN % "s", "(leaf_7_1(1) >> 4 & 1u)")}
KNOWN = "#if __clang_major__ >= 16 || (__GNUC__ >= 13 && !defined(__clang__))"
for cpu in ONES:
    matrix.CPUS[cpu] = (["cc", "-march=x86-64-v3", "-D__AVXVNNI__"], [])


def replace(made, ends, word, by):
    """How often the word was there in files of that end."""
    seen = 0
    for name in (name for name in os.listdir(made) if name.endswith(ends)):
        with open(os.path.join(made, name)) as file:
            text = file.read()
        seen += text.count(word)
        with open(os.path.join(made, name), "w") as file:
            file.write(text.replace(word, by))
    return seen


def check(program, seed, folder):
    """How many words of each CPU were replaced; nothing: a number differs."""
    layer = Layer(seed)
    model, arrays, right = matrix.judged(program, layer, folder)
    words = []
    for cpu, (word, plain, asked) in ONES.items():
        made, _ = matrix.built(program, model, cpu)
        words.append(replace(made, (".c",), word, plain))
        replace(made, (".c",), KNOWN, "#if 1")
        for other, by, _ in ONES.values():
            replace(made, (".c",), other, by)
        for _, _, one in ONES.values():
            assert replace(made, ("g.c",), one, "1") == (one == asked or "int8" in cpu), f"the call does not ask for {cpu}"
        if matrix.computed(made, cpu, arrays)[:right.nbytes] != right.tobytes():
            print(f"seed {seed}: {cpu}: a number differs\n{layer.text()}")
            return []
    return words


def main(program, seed, many):
    if "x86-64-v3" not in cpus():
        print("skipped: no AVX2")
        return 77
    words = []
    for one in range(seed, seed + many):
        with tempfile.TemporaryDirectory() as folder:
            words.append(check(program, one, folder))
    right = [one for one in words if one]
    seen = [sum(w > 0 for w in one) for one in zip(*right)]
    print(f"{len(right)} of {many} layers from seed {seed} on are right, of {', '.join(ONES)} {seen} with words in plain C")
    return 0 if len(right) == many and all(seen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
