"""together.py: runs of `ingot run --target c` that share one compilation (together.c): of a suite's many small graphs each costs a compiler its start."""
import os
import subprocess

MOST = 32                                   # runs of a library


def run_all(ingot, runs, options=()):
    """Each run is a list of words, as `ingot run` takes them; options: those of all of them, --cpu and such.  A list: for each run None, or why it is not right."""
    program = os.path.join(os.path.dirname(os.path.abspath(ingot)), "tests", "together")
    wrong = []
    for first in range(0, len(runs), MOST):
        some = runs[first:first + MOST]
        lines = "".join("\t".join(words) + "\n" for words in some)
        done = subprocess.run([program, *options], input=lines, capture_output=True, text=True, errors="replace")
        codes = [int(word) for word in done.stdout.split()] if not done.returncode else []
        for words, code in zip(some, codes or [done.returncode] * len(some)):
            wrong.append(code and (alone(ingot, words, options) or f"together with others it ends with {code}, alone it is right: {done.stderr.strip()[:400]}") or None)
    return wrong


def alone(ingot, words, options):
    """Where runs together are not right: whether and why this one is not."""
    done = subprocess.run([ingot, "run", *words, "--target", "c", *options], capture_output=True, text=True, errors="replace")
    return done.returncode and f"exit {done.returncode}: {done.stderr.strip()[:400]}"
