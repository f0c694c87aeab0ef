"""networks.py: the networks that the CUDA tests take, and how to run one.  Cases: $INGOT_CASES, else ../shared/cases beside the project; the
transformer is made on the way."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = os.environ.get("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
NAMES = ["mlperf_ad_f32", "mlperf_kws_f32", "mlperf_ic_f32"]


def cases(folder):
    """(name, folder with model.onnx and io.json) of those that are there."""
    for name in NAMES:
        case = os.path.join(CASES, "models", name)
        if os.path.isfile(os.path.join(case, "model.onnx")):
            yield name, case
        else:
            print("%s: skipped, not at %s" % (name, os.path.relpath(case, ROOT)))
    made = os.path.join(folder, "transformer_case")
    done = subprocess.run([sys.executable, os.path.join(ROOT, "examples", "transformer", "make.py"), made], capture_output=True, text=True)
    if done.returncode:
        print("transformer: skipped, its case cannot be made: %s" % done.stderr.strip().splitlines()[-1:])
    else:
        yield "transformer", made


def models(named, folder):
    """(name, path): those named on the command line, else the networks."""
    if named:
        return [(os.path.basename(os.path.dirname(os.path.abspath(path))), path) for path in named]
    return [(name, os.path.join(case, "model.onnx")) for name, case in cases(folder)]
