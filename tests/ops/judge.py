"""What suites in Python share: the interpreter run on a model, and the tolerances of the cases (cases/README.md)."""
import glob, os, subprocess

import numpy

INVALID, UNSUPPORTED, SKIPPED = 3, 4, 77


def interpret(program, model, inputs, prefix, *options):
    """Exit code, message, outputs (None where it failed)."""
    done = subprocess.run([program, *options, model, *inputs, "--out", prefix], capture_output=True, text=True,
                          errors="replace", timeout=120)
    if done.returncode:
        return done.returncode, done.stderr.strip(), None
    paths = sorted(glob.glob(glob.escape(prefix) + "*.npy"), key=lambda p: int(p[len(prefix):-4]))
    return 0, "", [numpy.load(p) for p in paths]


def differs(got, want, absolute, relative):
    """Why two arrays differ, or None."""
    if got.shape != want.shape:
        return f"shape {got.shape}, {want.shape} is right"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, {want.dtype} is right"
    if want.dtype.kind not in "fc":
        if want.dtype.kind not in "iu":
            return None if numpy.array_equal(got, want) else "values differ"
        off = max((abs(int(a) - int(b)) for a, b in zip(got.ravel(), want.ravel())), default=0)
        return f"integers are off by {off}" if off > absolute else None
    a, b = got.astype("f8"), want.astype("f8")
    if not numpy.array_equal(numpy.isnan(a), numpy.isnan(b)):
        return "NaN in other places"
    infinite = numpy.isinf(a) | numpy.isinf(b)
    if not numpy.array_equal(a[infinite], b[infinite]):
        return "other infinities"
    finite = numpy.isfinite(b)
    error = numpy.abs(a[finite] - b[finite])
    over = error - (absolute + relative * numpy.abs(b[finite]))
    return f"off by {error[over.argmax()]:g}" if over.size and over.max() > 0 else None


def listed(path):
    """Names in a file, one a line, what follows # is a comment."""
    with open(path) as file:
        return {line.split("#")[0].strip() for line in file} - {""}


def cases_folder(here):
    folder = os.environ.get("INGOT_CASES", os.path.join(here, "..", "..", "..", "shared", "cases"))
    return folder if os.path.isdir(folder) else None
