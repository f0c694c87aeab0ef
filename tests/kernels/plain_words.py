#!/usr/bin/env python3
"""Quantised layers with instructions that this machine may lack: a library for such a CPU, whose words are replaced by plain C, has the interpreter's integers.

    plain_words.py INGOT SEED COUNT

What follows from the row (dwords, corrections, tiles) is run, and of the word itself the text is looked at.  Ends with 77 where NumPy or AVX2 is not there."""
import os, sys, tempfile

import matrix                             # ends with 77 where NumPy is not there
from here import cpus
from quantised import Layer

CPU = "x86-64-v3,avxvnni"
matrix.CPUS[CPU] = (["cc", "-march=x86-64-v3", "-D__AVXVNNI__"], [])
WORD = '__asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));'
PLAIN = """union { ivec v; unsigned char u[32]; signed char s[32]; int i[8]; } x = { a }, y = { b }, z = { sum };
	for (int i = 0; i < 32; i++)
		z.i[i / 4] += x.u[i] * y.s[i];
	sum = z.v;"""
ASKED = "(int)(a >> 4 & 1u)"


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
    """How many words were replaced; -1: a number differs."""
    layer = Layer(seed)
    model, arrays, right = matrix.judged(program, layer, folder)
    made, _ = matrix.built(program, model, CPU)
    seen = replace(made, (".c",), WORD, PLAIN)
    assert replace(made, ("g.c",), ASKED, "1") == 1, "the call does not ask whether AVX-VNNI is there"
    wrong = matrix.computed(made, CPU, arrays)[:right.nbytes] != right.tobytes()
    if wrong:
        print(f"seed {seed}: a number differs\n{layer.text()}")
    return -1 if wrong else seen


def main(program, seed, many):
    if "x86-64-v3" not in cpus():
        print("skipped: no AVX2")
        return 77
    words = []
    for one in range(seed, seed + many):
        with tempfile.TemporaryDirectory() as folder:
            words.append(check(program, one, folder))
    print(f"{many - words.count(-1)} of {many} layers from seed {seed} on are right, {sum(w > 0 for w in words)} with words in plain C")
    return 1 if -1 in words or not any(w > 0 for w in words) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
