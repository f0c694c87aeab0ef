"""own_operator.py INGOT: the operator of one's own of docs/templates.md, with the texts that stand there: as a body, as a kernel, as both, by interpreter, C, JIT
and, on a GPU's words, the emulator; what is wrong in them is told with its place, and what nothing reads is refused."""
import os
import re
import resource
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
SHAPE, KERNEL = re.findall(r"^```jinja\n(.*?)^```", section, re.M | re.S)
CUDA = KERNEL[:KERNEL.index("void {{")] + '''extern "C" __global__ void __launch_bounds__(32) {{ kernel.name }}({{ kernel.params }})
{
	for (long i = {{ m }} * blockIdx.x + LANE; i < {{ m }} * (blockIdx.x + 1); i += LANES)
		{{ y.name }}[i] = {{ x.name }}[i] + {{ b.name }}[i % {{ m }}] > 0 ? {{ attribute("scale", 1.0) }}f * ({{ x.name }}[i] + {{ b.name }}[i % {{ m }}]) : 0;
}
'''
TEXT = re.sub(r"^    ", "", re.search(r"^    \{#.*?^    \}\n", section, re.M | re.S).group(), flags=re.M)
MODEL = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
own (float[2,3] x, float[3] b, bool c) => (y, z)
{{
	y = my.Foo <scale = {scale}> (x, b)
	z = If (c) <then_branch = t () => (p) {{ p = my.Foo (y, b) }}, else_branch = e () => (p) {{ p = Neg (y) }}>
}}
"""
bad = 0


def run(*arguments, limit=resource.RLIM_INFINITY):
    done = subprocess.run([ingot, *arguments], capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
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
    open("mine/onnx/my.Foo.jinja", "w").write(TEXT.replace("Relu (sum)", "Where (sum, sum, sum)"))
    code, told = run("info", "own.onnxtxt", *own)
    expect("a node that no version has", code == 3 and "Where of opset 28: input 0 is float, bool is right" in told, told)
    open("mine/onnx/my.Foo.jinja", "w").write(TEXT.replace("{{ number(", "{{ numbers("))
    code, told = run("info", "own.onnxtxt", *own)
    expect("a word that is not there", code == 3 and "onnx/my.Foo.jinja:" in told and "numbers" in told, told)

    def files(folder, **texts):
        """A folder of templates: onnx_shape, onnx_jinja, c_jinja, cuda_jinja of my.Foo."""
        for key, text in texts.items():
            part, ending = key.split("_")
            os.makedirs(f"{folder}/{part}", exist_ok=True)
            open(f"{folder}/{part}/my.Foo.{ending}", "w").write(text)
        return folder

    def by(target, folder, name):
        code, told = run("run", "own.onnxtxt", "--input", "in.npz", "--target", target, "--output", "out.npz", "--templates", folder)
        if code == 5 and target != "c" and "libtcc" not in told.replace("no libtcc", ""):
            return
        with np.load("out.npz") if code == 0 else np.load("in.npz") as made:
            expect(f"{name} by {target}", code == 0 and np.array_equal(made["y"], y) and np.array_equal(made["z"], z), told)
        if not code:
            os.unlink("out.npz")

    kernel = files("kernel", onnx_shape=SHAPE, c_jinja=KERNEL, cuda_jinja=CUDA)
    both = files("both", onnx_shape=SHAPE, c_jinja=KERNEL, onnx_jinja=TEXT)
    for target in ("jit", "c", "cuda-emulated"):
        by(target, kernel, "a kernel")
    for target in ("interpreter", "jit", "c", "cuda-emulated"):
        by(target, both, "a body and a kernel")
    code, told = run("run", "own.onnxtxt", "--input", "in.npz", "--target", "interpreter", "--templates", kernel)
    expect("no body for the interpreter", code == 4 and "onnx/my.Foo.jinja in the folder of --templates would say" in told, told)
    code, told = run("show", "own.onnxtxt", "--stage", "kernels", "--templates", both)
    expect("it is the kernel that runs", code == 0 and told.count("template  c/my.Foo.jinja") == 2, told)
    code, told = run("ops", "Foo", "--templates", both)
    expect("ops", code == 0 and "my.Foo" in told and "c/my.Foo.jinja, onnx/my.Foo.jinja, onnx/my.Foo.shape" in told, told)

    # What is wrong is told with its place.
    for what, code, parts, texts in (
            ("shapes that the body does not make", 3, ["its text makes float[2,3], onnx/my.Foo.shape says float[3,2] for output y"],
             {"onnx_shape": SHAPE.replace("float[N,M] y", "float[M,N] y"), "c_jinja": KERNEL, "onnx_jinja": TEXT}),
            ("an input that does not fit", 3, ["input 1 is float[3], onnx/my.Foo.shape says float[N] for b, with N = 2, M = 3"],
             {"onnx_shape": SHAPE.replace("float[M] b", "float[N] b"), "c_jinja": KERNEL}),
            ("an output of which not all is said", 3, ["onnx/my.Foo.shape says float[N,K] for output y, of which the inputs do not say all"],
             {"onnx_shape": SHAPE.replace("float[N,M] y", "float[N,K] y"), "c_jinja": KERNEL}),
            ("a bracket that lacks", 3, ["onnx/my.Foo.shape:1:", "a ] belongs here"], {"onnx_shape": SHAPE.replace("float[M] b", "float[M b"), "c_jinja": KERNEL}),
            ("no number of blocks", 3, ["blocks(0): a number from 1"], {"onnx_shape": SHAPE.replace("inputs[0].dims[0]", "0"), "c_jinja": KERNEL}),
            ("a name that the kernel is not given", 3, ["c/my.Foo.jinja:8:", "no member 'Q'"], {"onnx_shape": SHAPE, "c_jinja": KERNEL.replace("dims.M", "dims.Q")}),
            ("C that is wrong", 5, ["c/my.Foo.jinja made this line: for (long i = 3 * from; i < 3 * to; i+++)"],
             {"onnx_shape": SHAPE, "c_jinja": KERNEL.replace("i++)", "i+++)")}),
            ("a kernel alone", 2, ["c/my.Foo.jinja: nothing reads", "onnx/my.Foo.shape"], {"c_jinja": KERNEL}),
            ("types and shapes alone", 2, ["onnx/my.Foo.shape: nothing reads", "c/my.Foo.jinja"], {"onnx_shape": SHAPE})):
        folder = files(what.replace(" ", "_"), **texts)
        for target in ("c", "jit") if "C that" in what else ("jit",):
            found, told = run("run", "own.onnxtxt", "--input", "in.npz", "--target", target, "--templates", folder)
            expect(f"{what} by {target}", found == code and all(part in told for part in parts) or "no libtcc" in told, f"{found} {told}")
    # Of several graphs one has the node; what has no body is no tensor that generation makes.
    open("plain.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 17]>\nplain (float[4] x) => (y) { y = Relu (x) }')
    open("other.onnxtxt", "w").write('<ir_version: 8, opset_import: ["" : 17]>\nother (float[4] x) => (y) { y = Zork (x) }')
    os.makedirs("several/onnx")
    open("several/onnx/Zork.jinja", "w").write("Zork (x) => (y)\n{\n\ty = Neg (x)\n}\n")
    code, told = run("build", "plain.onnxtxt", "other.onnxtxt", "--name", "two", "--no-compile", "-o", "two", "--templates", "several")
    expect("of several graphs one has the node", code == 0, told)
    open("large.onnxtxt", "w").write(MODEL.format(scale=0.5).replace("float[2,3] x", "float[30000,30000] x").replace("float[3] b", "float[30000] b"))
    code, told = run("build", "large.onnxtxt", "--no-compile", "-o", "large", "--templates", kernel, limit=2 << 30)
    expect("outputs of 3.6 GB", code == 0, told)
    os.makedirs("bottomless/c")
    os.symlink("..", "bottomless/c/again")
    code, told = run("info", "own.onnxtxt", "--templates", "bottomless")
    expect("a folder that has no end", code == 2 and "folders more than 8 deep" in told, told)
    for name, part in (("c/lops.jinja", "did you mean c/loops.jinja?"), ("op/onnx/Mish.jinja", "Mish is an operator that no function body says"), ("onnx/Hardmx.jinja", "did you mean onnx/Hardmax.jinja?"),
                       ("c/jit_menu_typed.jinja", "")):
        folder = "unread" + name.replace("/", "_")
        os.makedirs(os.path.dirname(f"{folder}/{name}"))
        open(f"{folder}/{name}", "w").write("x")
        for command in ("info", "build", "check", "run"):
            code, told = run(command, "own.onnxtxt", *(["in.npz"] if command == "check" else []), "--templates", folder)
            expect(f"{command}: {name}", code == 2 and f"{name}: nothing reads" in told and part in told, f"{code} {told}")
sys.exit(bool(bad))
