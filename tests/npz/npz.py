#!/usr/bin/env python3
"""npz.py INGOT: `run` and `check` on .npz archives, made and read by NumPy: the arrays of the .npy way, and a message for each
archive that is not right.  77 where NumPy is not there."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from same import same

INGOT = os.path.abspath(sys.argv[1])
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
two (float[N,4] x, int64[3] i) => (float[N,4] sum, int64[3] whole, bool[N,4] big)
{
	sum = Add (x, x)
	whole = Add (i, i)
	big = Cast <to = 9> (x)
}
"""
failures = 0


def run(*words):
    done = subprocess.run([INGOT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(name, right, text=""):
    global failures
    failures += not right
    print("ok    " if right else "FAILED", name, "" if right else text)


def told(name, code, part, *words):
    got, text = run(*words)
    expect(name, got == code and part in text and text.count("\n") <= (1 if code > 1 else 99), "exit %d: %s" % (got, text))


with tempfile.TemporaryDirectory(prefix="test-npz.") as folder:
    os.chdir(folder)
    open("two.onnxtxt", "w").write(MODEL)
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    x[0, :3] = np.nan, -0.0, np.inf
    i = np.array([1, -2, 3])
    np.save("x.npy", x)
    np.save("i.npy", i)
    on = ("two.onnxtxt", "--target", "interpreter")
    code, text = run("run", *on, "--input", "x=x.npy", "--input", "i=i.npy", *sum((["--output", n + "=" + n + ".npy"] for n in ("sum", "whole", "big")), []))
    expect("by .npy", code == 0, text)
    want = {name: np.load(name + ".npy") for name in ("sum", "whole", "big")}

    def archive(name, save=np.savez, **more):
        save(name, **{"x": x, "i": i, **more})
        if os.path.exists("all.npz"):
            os.unlink("all.npz")
        code, text = run("run", *on, "--input", name, "--output", "all.npz")
        got = dict(np.load("all.npz")) if code == 0 else {}
        expect("%s by %s" % (name, save.__name__), code == 0 and list(got) == list(want) and all(same(got[n], want[n]) for n in want), text)

    archive("stored.npz")
    archive("packed.npz", np.savez_compressed)
    archive("more.npz", other=np.zeros(3, "S4"))                     # what the model has no input for is left alone
    archive("turned.npz", x=np.asfortranarray(x), i=i.astype(">i8"))
    old = os.umask(0o027)
    os.unlink("all.npz")
    run("run", *on, "--input", "stored.npz", "--output", "all.npz")
    os.umask(old)
    expect("the file has the user's mode", os.stat("all.npz").st_mode & 0o777 == 0o640, oct(os.stat("all.npz").st_mode))
    expect("nothing is left behind", not [name for name in os.listdir() if name.startswith("all.npz.")], os.listdir())
    first = open("all.npz", "rb").read()
    run("run", *on, "--input", "stored.npz", "--output", "all.npz")
    expect("the same bytes again", first == open("all.npz", "rb").read())

    # a name picks one; several archives; some outputs into one archive
    np.savez("only_i.npz", i=i)
    np.savez("only_x.npz", x=x)
    for words in (["--input", "x=stored.npz", "--input", "i=i.npy"], ["--input", "only_i.npz", "--input", "only_x.npz"], ["--input", "only_i.npz", "--input", "x=x.npy"]):
        code, text = run("run", *on, *words, "--output", "sum=some.npz", "--output", "big=some.npz", "--output", "whole=whole.npy")
        got = dict(np.load("some.npz")) if code == 0 else {}
        expect(" ".join(words), code == 0 and set(got) == {"sum", "big"} and all(same(got[n], want[n]) for n in got), text)
    code, text = run("run", *on, "--input", "stored.npz", "--output", "all.npz", "--json")
    expect("--json names the archive", code == 0 and text.count('"file": "all.npz"') == 3, text)

    # what is wrong
    np.savez("wrong.npz", x=x.astype(np.float64), i=i)
    told("a member lacks", 2, 'only_i.npz: holds no "x"; it holds "i"', "run", *on, "--input", "only_i.npz")
    told("another type", 2, "wrong.npz holds float64 [3,4], x is float32 [N,4]", "run", *on, "--input", "wrong.npz")
    told("no file", 2, "nothing.npz: No such file", "run", *on, "--input", "nothing.npz")
    open("text.npz", "w").write("this is no archive\n")
    told("no archive", 3, "text.npz: is no .npz file: Not a zip archive", "run", *on, "--input", "text.npz")
    bytes_ = bytearray(open("packed.npz", "rb").read())
    open("cut.npz", "wb").write(bytes_[:len(bytes_) // 2])
    told("cut off", 3, "cut.npz: is no .npz file", "run", *on, "--input", "cut.npz")
    bytes_[60] ^= 0xff
    open("damaged.npz", "wb").write(bytes_)
    told("damaged", 3, "damaged.npz: member \"x\"", "run", *on, "--input", "damaged.npz")
    np.savez("objects.npz", x=np.array([{}], dtype=object), i=i)
    told("objects", 4, "objects.npz: x.npy: holds Python's objects", "run", *on, "--input", "objects.npz")
    told("nowhere to write", 2, "none/all.npz: cannot be written: No such file or directory", "run", *on, "--input", "stored.npz", "--output", "none/all.npz")

    # check: inputs and outputs in one archive
    right = dict(x=np.abs(x[1:]), i=i, sum=2 * np.abs(x[1:]), whole=2 * i, big=np.abs(x[1:]) != 0)
    np.savez("data.npz", **right)
    told("check", 0, "ok sum", "check", "two.onnxtxt", "data.npz", "--target", "interpreter")
    np.savez("data.npz", **dict(right, whole=i))
    told("check tells what differs", 1, "DIFFERENT whole", "check", "two.onnxtxt", "data.npz", "--target", "interpreter")
    np.savez("data.npz", x=x, i=i)
    told("check without outputs", 2, 'data.npz: holds no "sum"', "check", "two.onnxtxt", "data.npz", "--target", "interpreter")
    os.mkdir("case")
    np.savez("case/data.npz", **right)
    open("case/io.json", "w").write('{"inputs": [%s], "outputs": [%s]}' % tuple(", ".join('{"name": "%s", "file": "data.npz"}' % n for n in names)
                                                                                for names in (("x", "i"), ("sum", "whole", "big"))))
    told("io.json names an archive", 0, "ok big", "check", "two.onnxtxt", "case", "--target", "interpreter")
print("%d failed" % failures)
sys.exit(failures > 0)
