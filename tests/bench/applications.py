#!/usr/bin/env python3
"""The applications of examples/: each as the head of its main.c builds it, with the output that its README shows; and as numpy computes it.

usage: applications.py INGOT
With INGOT_LONG each model is made again, bit by bit.  Needs numpy; exit 77 (skipped) without."""
import importlib, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples")
sys.dont_write_bytecode = True
sys.path[:0] = [EXAMPLES, os.path.join(os.path.dirname(HERE), "docs")]
try:
    import numpy as np
    import exact
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)
import docs

MOST = 200 * 1024
TIMED = re.compile(r"\d+(?:\.\d+)? us")
failures = 0


def expect(what, good, why=""):
    global failures
    failures += not good
    print("ok    " if good else "FAILED", what, "" if good else why)


def weights(name):
    """Of a model, by name."""
    with open(os.path.join(EXAMPLES, name, name + ".onnxtxt"), encoding="utf-8") as file:
        told = re.findall(r'float\[([\d,]+)\] (\w+) = \["location": "\S+", "offset": "(\d+)"', file.read())
    raw = open(os.path.join(EXAMPLES, name, name + ".bin"), "rb").read()
    sizes = {tensor: [int(d) for d in dims.split(",")] for dims, tensor, _ in told}
    return {tensor: np.frombuffer(raw, "<f4", int(np.prod(sizes[tensor])), int(at)).reshape(sizes[tensor]) for _, tensor, at in told}


def run(ingot, name, feeds, folder):
    np.savez(os.path.join(folder, "in.npz"), **feeds)
    subprocess.run([ingot, "run", os.path.join(EXAMPLES, name, name + ".onnxtxt"), "--target", "interpreter", "--input", "in.npz",
                    "--output", "out.npz"], cwd=folder, check=True, capture_output=True)
    return dict(np.load(os.path.join(folder, "out.npz")))


def module(name):
    sys.path.insert(0, os.path.join(EXAMPLES, name))
    sys.modules.pop("make", None)
    make = importlib.import_module("make")
    sys.path.pop(0)
    return make


def near(a, b):
    return np.abs(a - b).max() <= 2e-5 * max(1, np.abs(b).max())


def shapes(ingot, folder, make):
    p = {name: a if a.ndim == 1 else a.transpose(2, 3, 1, 0).reshape(-1, a.shape[0]) for name, a in weights("shapes").items()}
    pictures, _ = make.drawn(-1)
    got = run(ingot, "shapes", {"picture": pictures[:1].transpose(0, 3, 1, 2).astype("f4")}, folder)["cells"]
    expect("shapes: as numpy computes it", near(got, make.forward(p, pictures[:1].astype("f4").astype(float))[0].transpose(0, 3, 1, 2)))


def writer(ingot, folder, make):
    """A word a call with its state, against a whole window at once."""
    p, text = weights("writer"), [make.WORDS.index(word) for word in "/ the old fox saw".split()]
    size = make.HEADS, make.WINDOW, make.WIDTH // make.HEADS
    feeds = {"time": np.zeros(1, int), "heat": np.ones(1, "f4")} | {f"{kind}{n}": np.zeros(size, "f4") for n in range(make.LAYERS) for kind in ("keys", "values")}
    for word in text:
        got = run(ingot, "writer", feeds | {"word": np.array([word])}, folder)
        feeds |= {name.replace("next_", "").replace("_next", ""): array for name, array in got.items() if "next" in name}
    want = make.forward(p, np.array([text]))[0][0, -1]
    expect("writer: with its state as over a whole window", near(got["chances"][0], want), f"{got['chances'][0]} {want}")


def cartpole(ingot, folder, make):
    p, seen = weights("cartpole"), np.array([[0.3, -0.2, 0.6, 0.8, 1.5]], "f4")
    got = run(ingot, "cartpole", {"seen": seen}, folder)["force"]
    expect("cartpole: as numpy computes it", near(got, make.policy({name: a[None] for name, a in p.items()}, seen[None].astype(float))))


def built(ingot, name, arguments, folder):
    """The output of the program, by the README's block; times are of the machine."""
    docs.prepare(folder, ingot)
    commands = docs.commands_of(os.path.join(EXAMPLES, name, "main.c"))[0].text
    environment = dict(os.environ, PATH=os.path.join(folder, "build") + ":" + os.environ["PATH"])
    done = subprocess.run(["sh", "-e"], input=commands, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        return expect(f"{name}: built", False, done.stdout + done.stderr)
    done = subprocess.run([os.path.join(folder, "out", name, name), *arguments], capture_output=True, text=True)
    with open(os.path.join(EXAMPLES, name, "README.md"), encoding="utf-8") as file:
        shown = file.read().split("```\n")[1]
    def plain(text):
        return [TIMED.sub("us", line).rstrip() for line in text.rstrip().split("\n")]
    expect(f"{name}: what its README shows", done.returncode == 0 and plain(done.stdout) == plain(shown), done.stdout + done.stderr)


def again(name, folder):
    """Made again bit by bit."""
    subprocess.run([sys.executable, os.path.join(EXAMPLES, name, "make.py"), folder], check=True)
    for file in (name + ".bin", name + ".onnxtxt"):
        with open(os.path.join(folder, file), "rb") as one, open(os.path.join(EXAMPLES, name, file), "rb") as other:
            expect(f"{name}: {file} is made again", one.read() == other.read())


def main(ingot):
    ingot = os.path.abspath(ingot)
    a, b = exact.normal("a", (40, 300)), exact.normal("b", (300, 50), 1e-3)
    order = np.argsort(exact.normal("order", (300,)))
    expect("a product has one value in any order", (exact.product(a, b) == exact.product(a[:, order], b[order])).all() and near(exact.product(a, b), a @ b))
    expect("exp", near(exact.exp(-np.linspace(0, 90, 10000)), np.exp(-np.linspace(0, 90, 10000))))
    for name, compare, arguments in (("shapes", shapes, ["1"]), ("writer", writer, ["150"]), ("cartpole", cartpole, ["0"])):
        size = sum(os.path.getsize(os.path.join(EXAMPLES, name, name + end)) for end in (".bin", ".onnxtxt"))
        expect(f"{name}: {size} bytes, {MOST} at most", size <= MOST)
        with tempfile.TemporaryDirectory(prefix="test-applications.") as folder:
            built(ingot, name, arguments, folder)
            compare(ingot, folder, module(name))
            if os.environ.get("INGOT_LONG"):
                again(name, folder)
    print(f"{failures} failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
