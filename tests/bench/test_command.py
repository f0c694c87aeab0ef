#!/usr/bin/env python3
"""ingot bench and show by target: each kernel has its line, `--json` names the target and what ran, nothing stands in for another.

    test_command.py INGOT MODEL...

Times are not looked at, but for being there."""
import json
import os
import re
import subprocess
import sys
import tempfile

APART, ENVIRONMENT = ("c", "jit"), 5


def ingot(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def kernels_of(program, model, cpu):
    """Name and nodes of each kernel that `show` has for a CPU."""
    stage = ingot(program, "show", model, "--stage", "kernels", "--cpu", cpu).stdout
    words = [line.split() for line in stage.splitlines() if line and not line.startswith(" ")]
    return [(line[0], line[3:]) for line in words]


def built_for(program, model):
    """The CPU that `build` makes a library for, where nobody says which."""
    with tempfile.TemporaryDirectory() as folder:
        ingot(program, "build", model, "--no-compile", "--name", "m", "-o", folder)
        with open(os.path.join(folder, "m.json")) as file:
            return re.search(r"--cpu (\S+)", json.load(file)["options"]).group(1)


def text_is(program, model, target, kernels):
    """What the text of a target whose kernels are timed apart lacks, or None."""
    lines = ingot(program, "bench", model, "--target", target).stdout.splitlines()
    columns = lines[1].index("bound by")
    if not re.fullmatch(r"time at the limits / time: \d+\.\d{3}", lines[-1]) or " on " not in lines[0]:
        return f"it begins with {lines[0]}, and ends with {lines[-1]}"
    for line, (name, nodes) in zip(lines[2:-2], kernels):
        if line.split()[0] != name or not line.endswith(": " + " ".join(nodes)) or not re.fullmatch(r".* +\d+\.\d%  ", line[:columns]):
            return f"not a line of {name} and {nodes}: {line}"
    return None if len(lines) == len(kernels) + 4 else f"lines {lines}"


def bench(program, model, target):
    """Why it is not right, or None."""
    rounds = [] if target in APART else ["--rounds", "3"]              # as many as two seconds hold otherwise
    done = ingot(program, "bench", model, "--target", target, "--json", *rounds)
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
        kernels = kernels_of(program, model, out["cpu"])
        if [(k["name"], k["nodes"]) for k in out["kernels"]] != kernels or not kernels:
            return f"kernels {out['kernels']}, {kernels} are right"
        if target == "c" and out["cpu"] != built_for(program, model) and not os.environ.get("INGOT_NATIVE"):
            return f"the library is for {out['cpu']}"
        forms = {k["form"] for k in out["kernels"]}
        if forms - ({"compiled"} if target == "c" else {"menu", "menu, few elements a call", "scalar loops"}):
            return f"forms {forms}"
        if not all(k["microseconds"] > 0 and k["of_limit"] > 0 and k["lanes"] for k in out["kernels"]) or not out["fma_gflops"] > 0 or not out["processor"]:
            return "a time or a limit is missing"
        if abs(out["of_limit"] * sum(k["microseconds"] for k in out["kernels"]) / sum(k["of_limit"] * k["microseconds"] for k in out["kernels"]) - 1) > 1e-3:
            return f"{out['of_limit']} of the limits in all"
        return text_is(program, model, target, kernels)
    if target == "interpreter" and names:
        return "the interpreter has no kernels"
    return None


WORK = """<ir_version: 9, opset_import: ["" : 18]>
work (float[64,100] f, float[8,16] a, float[16,24] b, float[1000,64] t, int64[20] at, uint8[8,32] c, int8[32,24] d, float[90] x)
  => (float[90] twice, float[64] most, float[8,24] product, float[20,64] rows, int32[8,24] whole) <int64[1] axis = {1}>
{
	once = Neg (x)
	twice = Mul (once, once)
	most = ReduceMax <keepdims = 0> (f, axis)
	product = MatMul (a, b)
	rows = Gather (t, at)
	whole = MatMulInteger (c, d)
}
"""


def work(program):
    """What the limits are made of: a maximum has no multiply-adds, a table is not read whole, words of 16 bits hold two terms, what is used twice is computed once."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "work.onnxtxt")
        with open(model, "w") as file:
            file.write(WORK)
        out = json.loads(ingot(program, "bench", model, "--cpu", "generic", "--json").stdout), json.loads(ingot(program, "bench", model, "--json").stdout)
    of = {k["nodes"][-1]: k for k in out[1]["kernels"]}
    words = 16 if out[1]["cpu"].startswith("x86-64-v3") else 32
    right = {"twice": (0, 180), "most": (0, 6400), "product": (8 * 16 * 24, 0), "whole": (8 * words * 24, 0)}
    wrong = [f"{node}: {of[node]}" for node, counts in right.items() if (of[node]["multiply_adds"], of[node]["operations"]) != counts]
    wrong += [f"rows: {of['rows']['bytes']} bytes"] if of["rows"]["bytes"] > 3 * 20 * 64 * 4 else []
    wrong += ["a maximum is bound by fma"] if any(k["bound"] == "fma" for one in out for k in one["kernels"] if k["nodes"][-1] == "most") else []
    return wrong + ([f"generic: {out[0]['cpu']}"] if out[0]["cpu"] != "generic" else [])


RANGE = """<ir_version: 9, opset_import: ["" : 20]>
range (float[N,64] x, float[64,32] w) => (float[N,32] y) { y = MatMul (x, w) }
"""


def of_a_range(program):
    """A dim of a range is timed at its bound."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "range.onnxtxt")
        with open(model, "w") as file:
            file.write(RANGE)
        done = [ingot(program, "bench", model, "--dim", "N=1..9", "--rounds", "3", "--json", "--target", target) for target in APART]
    return [f"--dim N=1..9: {one.stderr}" for one in done if one.returncode or not json.loads(one.stdout)["kernels"]]


def calls_only(program, model):
    """Whole calls alone, on each target: no kernel has a time."""
    wrong = []
    for target in APART:
        done = ingot(program, "bench", model, "--calls-only", "--rounds", "5", "--json", "--target", target)
        out = json.loads(done.stdout) if not done.returncode else {}
        if out.get("rounds") != 5 or "of_limit" in out or any("microseconds" in k for k in out["kernels"]):
            wrong.append(f"bench --calls-only --target {target}: {out} {done.stderr}")
    return wrong


def main():
    program, models = sys.argv[1], sys.argv[2:]
    wrong = work(program) + of_a_range(program) + calls_only(program, models[0])
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
