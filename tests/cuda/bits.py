#!/usr/bin/env python3
"""bits.py: the networks on --target cuda-emulated: equal to --target c bit for bit, in each order of the threads, and under AddressSanitizer.

    bits.py INGOT [--long]        exit 0: right, 1: wrong, 77: no C++ compiler.  INGOT_LONG=1 is --long: AddressSanitizer for all four."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "models")]
import models
import networks

FLAGS = "-g -fsanitize=address -fsanitize-sections=emulated_shared"


def sanitizer():
    """The environment in which a library with AddressSanitizer can be loaded; None where there is none."""
    library = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(library):
        return None
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "INGOT_EMULATOR_FLAGS": FLAGS, "CXX": "g++"}


def main():
    ingot = sys.argv[1]
    everything = "--long" in sys.argv or bool(os.environ.get("INGOT_LONG"))
    if not shutil.which("g++"):
        print("skipped: no g++")
        return 77
    # An ingot that is itself built with AddressSanitizer brings its own.
    own = b"__asan_init" in open(ingot, "rb").read()
    asan = None if own else sanitizer()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="cuda.") as folder:
        for name, data in networks.cases(folder):
            case = os.path.join(data, "model.onnx"), data
            runs = [(order, {"INGOT_EMULATOR_ORDER": order}) for order in (["forward", "backward", "random"] if everything or name != "mlperf_ic_f32"
                                                                           else ["random"])]
            if asan and (everything or name in ("mlperf_ad_f32", "mlperf_kws_f32")):
                runs.append(("AddressSanitizer", asan))
            status, want = models.run(ingot, case, "c", folder)
            said = []
            for label, environment in runs:
                before = dict(os.environ)
                os.environ.update(environment)
                status_here, got = models.run(ingot, case, "cuda-emulated", folder)
                os.environ.clear()
                os.environ.update(before)
                right = status == 0 and status_here == 0 and len(got) == len(want) and all(models.same(a, b) for a, b in zip(want, got))
                wrong += not right
                said.append(label if right else "%s WRONG (%s)" % (label, got if status_here else want if status else "bits differ"))
            print("%s: %s" % (name, ", ".join(said)), flush=True)
    print("%d wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
