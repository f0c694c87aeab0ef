#!/usr/bin/env python3
"""memory.py INGOT: the JIT's run of a model of 128 MB has its weights in memory once: what it reads of the file is given back."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
except ImportError:
    sys.exit(77)

SIZE = 4096
with tempfile.TemporaryDirectory() as folder:
    model, data, out = (os.path.join(folder, name) for name in ("model.onnx", "x.npy", "y.npy"))
    x = (numpy.arange(SIZE, dtype=numpy.float32) % 7 - 3)[None]
    weights = [numpy.resize(numpy.arange(n, dtype=numpy.float32) % n / n - .5, (SIZE, SIZE)) for n in (101, 211)]
    numpy.save(data, x)
    tensors = [onnx.numpy_helper.from_array(w, "w%d" % i) for i, w in enumerate(weights)]
    nodes = [onnx.helper.make_node("MatMul", ["x", "w0"], ["h"]), onnx.helper.make_node("Gemm", ["h", "w1"], ["y"], transB=1)]
    ends = [onnx.helper.make_tensor_value_info(name, 1, [1, SIZE]) for name in "xy"]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
    # By a process between: what this one has would count as the program's.  Without huge pages (PR_SET_THP_DISABLE).
    code = "import ctypes, resource, subprocess, sys\nctypes.CDLL(None).prctl(41, 1, 0, 0, 0)\ndone = subprocess.run(sys.argv[1:]).returncode\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\nsys.exit(done)"
    done = subprocess.run([sys.executable, "-c", code, os.path.abspath(sys.argv[1]), "run", model, "--target", "jit", "--input", "x=" + data, "--output", "y=" + out],
                          capture_output=True, text=True)
    if done.returncode == 5:
        print("skipped:", done.stderr.strip())
        sys.exit(77)
    assert done.returncode == 0, done.stderr
    want = x.astype(float) @ weights[0] @ weights[1].T
    assert numpy.abs(numpy.load(out) - want).max() <= 1e-4 * numpy.abs(want).max(), "wrong values"
    peak, bytes_of = int(done.stdout.split()[-1]) * 1024, sum(w.nbytes for w in weights)
    print("%.0f MB for %.0f MB of weights" % (peak / 1e6, bytes_of / 1e6))
    sys.exit(peak > bytes_of * 1.6 + 30e6)       # of twice that, the file's pages are half
