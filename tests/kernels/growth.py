#!/usr/bin/env python3
"""Chains that cannot be folded: what generation takes grows with the nodes, and so does what it writes.

    growth.py INGOT

From the second length to the third a node takes at most 1.2 times the memory, the text and the kernels that one takes from the first to the second.  With
INGOT_LONG=1 up to 50,000 nodes, which take less than 500 MB, without and with the C compiler.  Seconds are printed and decide nothing, but that each run ends."""
import json, os, subprocess, sys, tempfile, time

LONG = bool(os.environ.get("INGOT_LONG"))
SIZES = (4000, 12000, 50000) if LONG else (4000, 8000, 20000)
NORMS = 8                                 # times fewer of those, which are kernels of many statements
MEMORY_MOST, SECONDS_MOST = 500e6, 600
# The nodes of one round; %i is its number, %v the value that it goes on from.
CHAINS = {
    "relu": ["t%i = Relu (%v)"],
    "add": ["t%i = Add (%v, c)"],
    "by turns": ["a%i = Add (%v, c)", "b%i = Tanh (a%i)", "m%i = Mul (b%i, c)", "t%i = Relu (m%i)"],
    "residual": ["p%i = MatMul (%v, w)", "r%i = Relu (p%i)", "t%i = Add (r%i, %v)"],
    "norms": ["n%i = LayerNormalization (%v, c, c)", "t%i = Softmax (n%i)"],
}


def model(rounds, count):
    lines, value = [], "x"
    for i in range(max(1, count // len(rounds))):
        lines += [line.replace("%i", str(i)).replace("%v", value) for line in rounds]
        value = f"t{i}"
    return ('<ir_version: 8, opset_import: ["" : 17]>\ng (float[4,64] x) => (float[4,64] y)\n<float[64] c = {%s}, float[64,64] w = {%s}>\n{\n\t%s\n\ty = Identity (%s)\n}\n'
            % (", ".join(["0.5"] * 64), ", ".join(["0.01"] * 4096), "\n\t".join(lines), value))


def made(program, text, *options):
    """Peak bytes, seconds, the bytes of the kernels' text, the number of kernels.  Each time in a folder of its own: ingot reads the manifest of
    an older library."""
    with tempfile.TemporaryDirectory() as folder:
        return made_in(folder, program, text, *options)


def made_in(folder, program, text, *options):
    path, out = os.path.join(folder, "g.onnxtxt"), os.path.join(folder, "out")
    with open(path, "w") as file:
        file.write(text)
    began = time.monotonic()
    # By a process between: that is small, and what a program's process had before counts as its memory.  The compiler's is its children's.
    # Without huge pages (PR_SET_THP_DISABLE, also for its children): where a machine gives them unasked, memory grows by steps.
    code = ("import ctypes, resource, subprocess, sys\nctypes.CDLL(None).prctl(41, 1, 0, 0, 0)\n"
            "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, timeout=%d).returncode\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\nsys.exit(done)" % SECONDS_MOST)
    environment = {name: value for name, value in os.environ.items() if name != "INGOT_CHECK"}     # checkers have costs of their own
    done = subprocess.run([sys.executable, "-c", code, program, "build", path, "-o", out, *options], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr.strip()[-400:]
    with open(os.path.join(out, "g.json")) as file:
        kernels = len(json.load(file)["kernels"])
    return int(done.stdout), time.monotonic() - began, sum(os.path.getsize(os.path.join(out, one)) for one in os.listdir(out) if one.endswith(".c")), kernels


def main():
    program, bad = os.path.abspath(sys.argv[1]), 0
    slack = {"memory": 500, "text": 4, "kernels": 0.002}      # for a node: pages and blocks are not given back one by one
    for options in ([["--no-compile"], []] if LONG else [["--no-compile"]]):
        for name, rounds in CHAINS.items():
            sizes = [n // NORMS if name == "norms" else n for n in SIZES]
            runs, wrong = [made(program, model(rounds, n), *options) for n in sizes], []
            for what, i in (("memory", 0), ("text", 2), ("kernels", 3)):
                if what == "memory" and not options:
                    continue                          # the compiler's memory is its own affair
                before, after = ((runs[k + 1][i] - runs[k][i]) / (sizes[k + 1] - sizes[k]) for k in (0, 1))
                if after > 1.2 * max(before, 0) + slack[what]:
                    wrong.append(f"{what} of a node grows from {before:.3f} to {after:.3f}")
            if sizes[2] == 50000 and options and runs[2][0] > MEMORY_MOST:
                wrong.append("too much memory")
            print("%-9s %-12s %s%s" % (name, "" if options else "and compiled", "; ".join("%d nodes: %.0f MB, %.1f s, %d kernels" % (n, r[0] / 1e6, r[1], r[3])
                  for n, r in zip(sizes, runs)), " WRONG: " + ", ".join(wrong) if wrong else ""))
            bad += bool(wrong)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
