"""own_kernel.py INGOT: the worked example of docs/templates.md, with the model and the template that stand there.

The user's kernel is in the library, the other kernel is as it was, and the bits of both are the interpreter's."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same

ingot = os.path.abspath(sys.argv[1])
docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "templates.md")


def run(*arguments):
    done = subprocess.run([ingot, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def right(*arguments):
    code, text = run(*arguments)
    assert code == 0, f"ingot {' '.join(arguments)}: exit {code}\n{text}"


def kernels(folder):
    """name -> text of each kernel of the library."""
    text = open(os.path.join(folder, "relu_kernels.c")).read()
    return dict(re.findall(r"^void (relu_k\w+)\([^;\n]*\)\n(\{.*?^\})", text, re.M | re.S))


# A product whose rows are summed, and one that Winograd's rule takes.
PRODUCT = """<ir_version: 8, opset_import: ["" : 17]>
product (float[4,8] x) => (float[1,8,4,8] y)
<float[8,8,3,3] w, float[8,8] v>
{
	p = MatMul (x, v)
	s = Softmax (p)
	q = MatMul (s, v)
	shape = Constant <value = int64[4] {1, 1, 4, 8}> ()
	image = Reshape (q, shape)
	eight = Constant <value = int64[4] {1, 8, 4, 8}> ()
	wide = Expand (image, eight)
	y = Conv <pads = [1, 1, 1, 1]> (wide, w)
}
"""
PRODUCT = PRODUCT.replace("w, float[8,8] v", "w = {%s}, float[8,8] v = {%s}" % (", ".join(str(i % 7 - 3) for i in range(576)), ", ".join(str(i % 5 / 4 - 0.5) for i in range(64))))
page = open(docs, encoding="utf-8").read()
section = page[page.index("## A kernel of your own"):page.index("## An operator of your own")]
model, template = re.findall(r"^```\w*\n(.*?)^```", section, re.M | re.S)
commands = re.findall(r"^    ingot (.*)$", section, re.M)
assert [command.split()[0] for command in commands] == ["build", "run"], commands

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.makedirs("mine/c")
    open("relu.txt", "w").write(model)
    right("build", "relu.txt", "-o", "built_in")
    open("mine/c/loops.jinja", "w").write(template)
    right(*commands[0].split())
    before, after = kernels("built_in"), kernels("out")
    assert sorted(before) == sorted(after) == ["relu_k0_map", "relu_k1_rows"], (list(before), list(after))
    assert before["relu_k1_rows"] == after["relu_k1_rows"], "the other kernel changed"
    assert before["relu_k0_map"] != after["relu_k0_map"]
    assert after["relu_k0_map"] == template[template.index("{\n\tfor"):template.index("//% else")].rstrip("\n"), after["relu_k0_map"]

    x = np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32)
    x.reshape(-1)[:6] = [np.nan, -0.0, 0.0, np.inf, -np.inf, 1e-40]
    x[2:] = np.abs(x[2:])
    np.save("x.npy", x)
    right(*commands[1].split())
    right("run", "relu.txt", "--target", "interpreter", "--input", "x=x.npy", "--output", "y=y0.npy", "--output", "z=z0.npy")
    for name in "yz":
        assert same(np.load(f"{name}.npy"), np.load(f"{name}0.npy")), f"{name} differs from the interpreter's"

    # It is this kernel that ran: another one gives other numbers, and one that is wrong is refused with its place.
    open("mine/c/loops.jinja", "w").write(template.replace("? 0 :", "? 7 :"))
    right(*commands[1].split())
    assert (np.load("y.npy")[x < 0] == 7).all()
    code, text = run(*commands[1].split(), "--target", "jit")
    assert code == 0 and (np.load("y.npy")[x < 0] == 7).all() or "no libtcc" in text, (code, text)

    # By the JIT, too, where it has the kernel compiled already: products and what all are made of are then made of scalars, with the same bits.
    open("product.txt", "w").write(PRODUCT)
    for name in "c/contraction", "c/fused", "c/winograd", "common/scalars":
        os.makedirs(f"own/{os.path.dirname(name)}")
        open(f"own/{name}.jinja", "w").write(f'//% include "built-in/{name}.jinja"\n')
        for target, folder in ("interpreter", []), ("jit", ["--templates", "own"]):
            code, text = run("run", "product.txt", "--target", target, *folder, "--input", "x=x.npy", "--output", f"y={target}.npy")
            assert code == 0 or "no libtcc" in text, text
        assert code or same(np.load("jit.npy"), np.load("interpreter.npy")), f"{name}: the JIT's bits"
        shutil.rmtree("own")
    open("mine/c/loops.jinja", "w").write(template.replace("kernel.params", "kernel.parms"))
    code, text = run(*commands[0].split())
    assert code == 3 and "c/loops.jinja:4:" in text and "did you mean 'params'?" in text, (code, text)
print("the example holds")
