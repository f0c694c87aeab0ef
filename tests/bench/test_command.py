#!/usr/bin/env python3
"""ingot bench and show by target: each kernel has its line, `--json` names the target and what ran, nothing stands in for another.

    test_command.py INGOT MODEL...

Times are not looked at, but for being there."""
import json
import subprocess
import sys

APART, ENVIRONMENT = ("c", "jit"), 5


def ingot(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def kernels_of(program, model):
    stage = ingot(program, "show", model, "--stage", "kernels", "--cpu", "native").stdout
    return [line.split()[0] for line in stage.splitlines() if line and not line.startswith(" ")]


def bench(program, model, target):
    """Why it is not right, or None."""
    done = ingot(program, "bench", model, "--target", target, "--json")
    if done.returncode == ENVIRONMENT and target != "interpreter":
        print(f"{target}: not here: {done.stderr.strip()}")
        return None
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr.strip()}"
    out = json.loads(done.stdout)
    names = [k["name"] for k in out["kernels"]]
    if out["target"] != target or not out["call_microseconds"] > 0:
        return f"target {out['target']}, one call {out['call_microseconds']}"
    if target in APART:
        if names != kernels_of(program, model) or not names:
            return f"kernels {names}, {kernels_of(program, model)} are right"
        forms = {k["form"] for k in out["kernels"]}
        if forms - ({"compiled"} if target == "c" else {"menu", "scalar loops"}):
            return f"forms {forms}"
        if not all(k["microseconds"] > 0 and k["of_limit"] > 0 for k in out["kernels"]) or not out["fma_gflops"] > 0:
            return "a time or a limit is missing"
        lines = ingot(program, "bench", model, "--target", target).stdout.splitlines()
        if [line.split()[0] for line in lines[1:-1]] != names:
            return f"lines {lines}"
    elif target == "interpreter" and names:
        return "the interpreter has no kernels"
    return None


def main():
    program, models = sys.argv[1], sys.argv[2:]
    wrong = []
    for model in models:
        for target in ("c", "jit", "interpreter", "cuda-emulated"):
            why = bench(program, model, target)
            wrong += [f"bench {model} --target {target}: {why}"] if why else []
        cuda = ingot(program, "show", model, "--stage", "source", "--target", "cuda")
        if cuda.returncode or "__global__" not in cuda.stdout and "__device__" not in cuda.stdout:
            wrong.append(f"show {model} --stage source --target cuda: exit {cuda.returncode}: {cuda.stderr.strip()}")
        if ingot(program, "show", model, "--stage", "source").stdout.count("__global__"):
            wrong.append(f"show {model} --stage source: CUDA unasked")
    for words in (("bench", models[0], "--target", "nothing"), ("show", models[0], "--target", "cuda", "--cpu", "native"),
                  ("show", models[0], "--stage", "glue", "--target", "cuda")):
        code = ingot(program, *words).returncode
        wrong += [f"{' '.join(words)}: exit {code}, 2 is right"] if code != 2 else []
    print("\n".join(wrong) or "right")
    return bool(wrong)


sys.exit(main())
