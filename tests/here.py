"""here.py: the CPUs that a test can run on this machine, or on the one it is taken for ($INGOT_NATIVE)."""
import os
import sys
import tempfile

LONG = bool(os.environ.get("INGOT_LONG"))


def flags():
    """Of this CPU, in Linux's words."""
    if not os.path.exists("/proc/cpuinfo"):
        return set()
    return set(next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "").split())


def v3():
    return {"avx2", "fma", "bmi1", "bmi2"} <= flags()


def v4():
    return v3() and {"avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512cd"} <= flags()


def vnni():
    return v4() and "avx512_vnni" in flags()


def bf16():
    """Not where this machine is taken for another."""
    return vnni() and {"avx512_bf16", "avx512vbmi"} <= flags() and not os.environ.get("INGOT_NATIVE")


def cpus():
    """Words of --cpu, native first.  x86-64-v4 where native is more than that."""
    taken = os.environ.get("INGOT_NATIVE")
    return ["native"] + (["x86-64-v4"] if vnni() and not taken else []) + (["x86-64-v3"] if v3() and taken != "generic" else []) + ["generic"]


def some_cpus(turn):
    """Of these native and one more, by turns; all with INGOT_LONG=1."""
    first, *others = cpus()
    return [first, *(others if LONG or len(others) < 2 else [others[turn % len(others)]])]


def by_turns(items, turn, most):
    """So many of the items, others with each turn; all with INGOT_LONG=1."""
    items = list(items)
    return items if LONG or len(items) <= most else [items[(turn * most + i) % len(items)] for i in range(most)]


def part_of(*parts):
    """What the part returns, or nothing, that the second word names, in a folder of its own; 1 where what it asserts is wrong."""
    with tempfile.TemporaryDirectory(prefix=sys.argv[2] + ".") as scratch:
        try:
            return {one.__name__: one for one in parts}[sys.argv[2]](scratch)
        except AssertionError as wrong:
            print(wrong)
            return 1
