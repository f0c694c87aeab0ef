"""cut.py INGOT: --cut.  A library of the whole model and those of its parts, run one behind the other as NAME_parts.json says, give the same bytes.
Then the mistakes: each is one message, and nothing is written."""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
INGOT = os.path.abspath(sys.argv[1])
# What simplifying joins over (Conv, BatchNormalization), tensors that skip parts, inputs of one part alone, an output on the way, a branch and a loop over
# what another part computes, extents that come at run time.
MODELS = {
    "folded": ("a,e", [], """<ir_version: 8, opset_import: ["" : 17]>
folded (float[1,2,9,9] x, float[1,4,9,9] unread) => (float[1,4,9,9] y)
<float[4,2,3,3] w = {%s}, float[4] scale = {1.5, 0.5, 2, 1}, float[4] bias = {0.1, 0, -0.3, 0.2}, float[4] mean = {0.1, 0.2, 0, 0.3}, float[4] var = {1, 2, 0.5, 1},
 float[4,4,1,1] v = {%s}>
{
 c = Conv<pads = [1, 1, 1, 1]>(x, w)
 n = BatchNormalization(c, scale, bias, mean, var)
 a = Relu(n)
 b = Conv(a, v)
 d = Sigmoid(b)
 e = Mul(b, d)
 f = Conv(e, v)
 y = Add(f, a)
}""" % (", ".join("%g" % (((7 * i) % 11 - 5) / 8) for i in range(72)), ", ".join("%g" % (((5 * i) % 7 - 3) / 4) for i in range(16)))),
    "branches": ("c,h", ["--dim", "N=1..32"], """<ir_version: 8, opset_import: ["" : 17]>
branches (float[N,4] x, float[N,4] skip, bool flag) => (float[N,4] y, float[N,4] z)
<float[4,4] w = {1,2,3,4,-5,6,7,8,9,-10,11,12,13,14,-15,16}>
{
 a = MatMul(x, w)
 b = Relu(a)
 c = Softmax<axis = -1>(b)
 d = If (flag) <then_branch = t () => (float[N,4] p) { p = Add(c, skip) }, else_branch = e () => (float[N,4] q) { q = Mul(c, b) }>
 z = Tanh(c)
 h = MatMul(d, w)
 y = Add(h, a)
}"""),
    "rounds": ("a,s", ["--dim", "times=0..500"], """<ir_version: 8, opset_import: ["" : 17]>
rounds (float[4] x, int64 times) => (float[4] y)
<bool yes = {1}>
{
 a = Sin(x)
 b = Exp(a)
 state = Loop (times, yes, b) <body = body (int64 i, bool go, float[4] before) => (bool on, float[4] after) { on = Identity(go)
  scaled = Mul(before, a)
  after = Add(scaled, x) }>
 s = Neg(state)
 y = Sub(s, b)
}"""),
}
MISTAKES = [("hidden_om", "computes no tensor of that name; did you mean hidden_on"), ("image", "is an input"), ("scores", "is an output"),
            ("first_bias", "computes no tensor of that name"), ("half,half", "part 1 is empty"), ("hidden_on,half", "part 1 is empty"), ("half,", "computes no tensor")]


def build(model, folder, *words):
    done = subprocess.run([INGOT, "build", model, "-o", folder, "--shared", "--cpu", "native", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s %s: exit %d: %s" % (model, words, done.returncode, done.stderr))


def manifest(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def pointers(tensors, memory):
    return (ctypes.c_void_p * len(tensors))(*(ctypes.addressof(memory[one["name"]]) for one in tensors))


def run(folder, name, memory):
    """One library: reads its inputs from `memory`, where there are none yet makes them, and adds its outputs."""
    says = manifest(f"{folder}/{name}.json")
    for one in says["inputs"]:
        if one["name"] not in memory:
            if one["type"] == "float":
                values = [((13 * i + 5) % 17 - 8) / 4 for i in range(one["bytes"] // 4)]
                memory[one["name"]] = (ctypes.c_float * len(values))(*values)
            elif one["type"] == "int64":
                memory[one["name"]] = ctypes.c_int64(5)
            else:
                memory[one["name"]] = ctypes.create_string_buffer(bytes(1 + i % 7 for i in range(one["bytes"])))
    for one in says["outputs"]:
        memory[one["name"]] = ctypes.create_string_buffer(one["bytes"])
    workspace = ctypes.create_string_buffer(says["workspace_bytes"] + says["workspace_align"] + 1)
    align = says["workspace_align"] or 1
    at = (ctypes.addressof(workspace) + align - 1) // align * align
    function = getattr(ctypes.CDLL(f"{folder}/lib{name}.so"), name + "_run")
    code = function(pointers(says["inputs"], memory), pointers(says["outputs"], memory), (ctypes.c_void_p * 4)(at, None, None, None))
    if code:
        sys.exit("%s ends with %d" % (name, code))
    return says


def compare(name, model, cuts, words, work):
    build(model, f"{work}/{name}", *words)
    build(model, f"{work}/{name}_cut", "--cut", cuts, *words)
    parts = manifest(f"{work}/{name}_cut/{name}_parts.json")
    whole, pieces = {}, {}
    says = run(f"{work}/{name}", name, whole)
    for part in parts["parts"]:
        folder, kept = f"{work}/{name}_cut/{part['name']}", {}
        kept.update({one: pieces[one] for one in part["inputs"] if one in pieces})
        here = run(folder, part["name"], kept)
        if [one["name"] for one in here["inputs"]] != part["inputs"] or not set(part["outputs"]) <= {one["name"] for one in here["outputs"]}:
            sys.exit(f"{part['name']}: the manifest says {part}, the library {here['inputs']} {here['outputs']}")
        pieces.update({one: kept[one] for one in part["outputs"]})
    crossing = {one["name"]: (one["from"], one["to"]) for one in parts["tensors"]}
    for number, part in enumerate(parts["parts"]):
        for one in part["inputs"]:
            if one in crossing and not (crossing[one][0] < number and number in crossing[one][1]):
                sys.exit(f"{name}: {one} goes to part {number}, and the manifest says {crossing[one]}")
    if len(parts["parts"]) != len(cuts.split(",")) + 1:
        sys.exit(f"{name}: {parts}")
    for one in says["outputs"]:
        count = 5 * one["bytes"] // one["dims"][0] if "N=1..32" in words else one["bytes"]      # what lies behind N rows is anything
        if one["name"] in pieces and bytes(whole[one["name"]])[:count] != bytes(pieces[one["name"]])[:count]:
            sys.exit(f"{name}: {one['name']} of the parts has other bits than that of the whole")
    if not all(one["name"] in pieces for one in says["outputs"] if not one["name"].endswith("_dims")):
        sys.exit(f"{name}: the parts have {list(pieces)}")
    return any(any(bytes(whole[one["name"]])) for one in says["outputs"])


def refuse(work):
    digits = os.path.join(ROOT, "examples", "digits", "digits.onnx")
    for cuts, words in MISTAKES:
        done = subprocess.run([INGOT, "build", digits, "--cut", cuts, "-o", work + "/nothing"], capture_output=True, text=True)
        if done.returncode != 2 or words not in done.stderr or done.stderr.count("\n") != 1 or os.path.exists(work + "/nothing"):
            sys.exit("--cut %s: exit %d: %s" % (cuts, done.returncode, done.stderr))
    # A compiler that fails at the second part leaves nothing of the first.
    cc = work + "/cc"
    with open(cc, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\ncase "$*" in *digits_1*) echo no >&2; exit 1 ;; esac\nexec cc "$@"\n')
    os.chmod(cc, 0o755)
    done = subprocess.run([INGOT, "build", digits, "--cut", "hidden_on", "--cc", cc, "-o", work + "/nothing"], capture_output=True, text=True)
    if done.returncode == 0 or "no" not in done.stderr or os.path.exists(work + "/nothing"):
        sys.exit("--cut with a compiler that fails: exit %d: %s" % (done.returncode, done.stderr))
    done = subprocess.run([INGOT, "build", digits, "--cut", "hidden_on", "--target", "cuda", "--no-compile", "-o", work + "/gpu"], capture_output=True, text=True)
    if done.returncode or not all(os.path.exists(f"{work}/gpu/digits_{part}/digits_{part}.cu") for part in (0, 1)):
        sys.exit("--cut with --target cuda: exit %d: %s" % (done.returncode, done.stderr))


def main():
    with tempfile.TemporaryDirectory() as work:
        refuse(work)
        for name, (cuts, words, text) in MODELS.items():
            with open(f"{work}/{name}.onnxtxt", "w", encoding="utf-8") as file:
                file.write(text)
            if not compare(name, f"{work}/{name}.onnxtxt", cuts, words, work):
                sys.exit(name + ": all is 0")
            print(name, "ok")


if __name__ == "__main__":
    main()
