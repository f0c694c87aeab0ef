"""own_operator.py INGOT: the operator of one's own of docs/templates.md, with the text that stands there, by interpreter, C and JIT; what is wrong in it is told with its place."""
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

ingot = os.path.abspath(sys.argv[1])
page = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "templates.md"), encoding="utf-8").read()
section = page[page.index("## An operator of your own"):page.index("## What is ours")]
TEXT = re.sub(r"^    ", "", re.search(r"^    \{#.*?^    \}\n", section, re.M | re.S).group(), flags=re.M)
MODEL = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
own (float[2,3] x, float[3] b, bool c) => (y, z)
{{
	y = my.Foo <scale = {scale}> (x, b)
	z = If (c) <then_branch = t () => (p) {{ p = my.Foo (y, b) }}, else_branch = e () => (p) {{ p = Neg (y) }}>
}}
"""
bad = 0


def run(*arguments):
    done = subprocess.run([ingot, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(what, right, told=""):
    global bad
    bad += not right
    print("ok    " if right else "FAILED", what, "" if right else told)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.makedirs("mine/onnx")
    own = ("--templates", "mine")
    open("own.onnxtxt", "w").write(MODEL.format(scale=0.5))
    random = np.random.default_rng(2)
    given = {"x": random.standard_normal((2, 3), "f4"), "b": random.standard_normal(3, "f4"), "c": np.True_}
    np.savez("in.npz", **given)
    code, told = run("run", "own.onnxtxt", "--input", "in.npz", *own)
    expect("without its text", code == 4 and "op my.Foo is not supported; onnx/my.Foo.jinja in the folder of --templates would say what it is" in told, told)
    open("mine/onnx/my.Foo.jinja", "w").write(TEXT)
    y = np.float32(0.5) * np.maximum(given["x"] + given["b"], 0)
    z = np.maximum(y + given["b"], 0)
    for target in ("interpreter", "jit", "c"):
        code, told = run("run", "own.onnxtxt", "--input", "in.npz", "--target", target, "--output", "out.npz", *own)
        expect(f"by {target}", code in (0, 5), told)
        if not code:
            with np.load("out.npz") as made:
                expect(f"its numbers by {target}", np.array_equal(made["y"], y) and np.array_equal(made["z"], z), str(made["y"]))
    code, told = run("info", "own.onnxtxt", *own)
    expect("info", code == 0 and "not supported" not in told, told)
    open("wrong.onnxtxt", "w").write(MODEL.format(scale=-1.0))
    code, told = run("info", "wrong.onnxtxt", *own)
    expect("what the text refuses", code == 3 and "node #0 (Foo): scale is -1.0, a number above 0 is right" in told, told)
    open("mine/onnx/my.Foo.jinja", "w").write(TEXT.replace("Relu (sum)", "Relu (sums)"))
    code, told = run("info", "own.onnxtxt", *own)
    expect("a name that is not there", code == 3 and "onnx/my.Foo.jinja" in told and "sums" in told, told)
    open("mine/onnx/my.Foo.jinja", "w").write(TEXT.replace("{{ number(", "{{ numbers("))
    code, told = run("info", "own.onnxtxt", *own)
    expect("a word that is not there", code == 3 and "onnx/my.Foo.jinja:" in told and "numbers" in told, told)
sys.exit(bool(bad))
