#!/usr/bin/env python3
"""architectures.py: networks as exporters write them (bench/harness/architectures.py) fit what onnxruntime makes of them.

    architectures.py INGOT [NAME...]      exit 0: right, 1: wrong, 77: onnx or onnxruntime is not there
By the JIT and by C; a few of them.  INGOT_LONG=1: all, by CUDA emulated, too."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
sys.dont_write_bytecode = True
try:
    from harness import architectures
    import onnxruntime                               # noqa: F401
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

LONG = bool(os.environ.get("INGOT_LONG"))
SAMPLE = "mobilenet_v3", "deeplab", "gpt", "decoder_step", "gru_denoiser"


def main():
    ingot, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    every = architectures.ARCHITECTURES
    chosen = [b for b in every if b.__name__ in names or not names and (LONG or b.__name__ in SAMPLE)]
    wrong = 0
    for build in chosen:
        with tempfile.TemporaryDirectory(prefix="architecture.") as folder:
            architectures.write(build, folder)
            for target in ["jit", "c"] + ["cuda-emulated"] * LONG:
                told = subprocess.run([ingot, "check", os.path.join(folder, "model.onnx"), folder, "--target", target], capture_output=True, text=True)
                wrong += told.returncode != 0
                print("%s %s: %s" % (build.__name__, target, "right" if not told.returncode else "exit %d: %s%s" % (told.returncode, told.stdout[-400:], told.stderr[-400:])))
    sys.exit(1 if wrong else 0)


main()
