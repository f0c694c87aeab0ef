#!/usr/bin/env python3
"""Weights beside the library, and weights that are larger than the memory that ingot may take.

    weights.py INGOT PART        exit 0: right, 1: wrong, 77: a tool that the part needs is not there
PART: beside, memory.  memory casts a quarter of a gigabyte with 128 MiB of memory of its own, with INGOT_LONG=1 three gigabytes with 300 MB: the model is mapped,
the blob is written piece by piece, and the program that is linked maps it."""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

LONG = bool(os.environ.get("INGOT_LONG"))
STRICT = "-std=c99 -Wall -Wextra -Wconversion -Wshadow -Wundef -pedantic -Werror".split()
MAIN = r"""
#include "big.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
static unsigned char memory[BIG_WORKSPACE_BYTES + 64];
int main(int count, char **words)
{
	static float x[%d], y[%d];
	struct big_inputs in;
	struct big_outputs out;
	struct big_context context = { 0 };
	FILE *file = fopen("x.bin", "rb"), *to = fopen("y.bin", "wb"), *blob = count > 1 ? fopen(words[1], "rb") : NULL;
	int status;
	if (!file || !to || fread(x, sizeof x, 1, file) != 1)
		return 90;
	in.x = x;
	out.y = y;
	context.workspace = memory + (64 - (size_t)memory %% 64);
	if (blob) {
		void *at = mmap(NULL, BIG_WEIGHTS_BYTES, PROT_READ, MAP_PRIVATE, fileno(blob), 0);
		if (at == MAP_FAILED)
			return 91;
		context.weights = at;
	}
	status = big_run(&in, &out, &context);
	if (fwrite(y, sizeof y, 1, to) != 1 || fclose(to))
		return 92;
	fclose(file);
	return status;
}
"""


def model(path, n, layers, filled):
    """y = x w0 w1 …; every element of the weights, or the first row and column of each, whose file has holes then."""
    rng, tensors, nodes, value = np.random.default_rng(1), [], [], "x"
    with open(path + ".bin", "wb") as file:
        for i in range(layers):
            w, first = np.zeros((n, n), np.float32) if filled else None, i * n * n * 4
            if filled:
                w[:] = rng.integers(-3, 4, (n, n))
                file.write(w.tobytes())
            else:
                file.seek(first)
                file.write(rng.integers(1, 3, n).astype(np.float32).tobytes())
                file.truncate(first + n * n * 4)
            tensor = onnx.TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[n, n], data_location=TensorProto.EXTERNAL)
            for key, word in ("location", os.path.basename(path) + ".bin"), ("offset", str(first)), ("length", str(n * n * 4)):
                tensor.external_data.add(key=key, value=word)
            tensors.append(tensor)
            out = "y" if i + 1 == layers else f"t{i}"
            nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [out]))
            value = out
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, n]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "big", info[:1], info[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def ingot(program, *words, data=0):
    limit = (lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_DATA, (data, data))) if data else None
    return subprocess.run([program, "build", *words], capture_output=True, text=True, preexec_fn=limit)


def linked(folder, n, library, flags=()):
    with open(os.path.join(folder, "main.c"), "w") as file:
        file.write(MAIN % (n, n))
    done = subprocess.run(["cc", *STRICT, "-D_POSIX_C_SOURCE=200809L", *flags, "-I", library, "main.c", os.path.join(library, "libbig.a"), "-o", "main"],
        cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def run(folder, *words):
    code = subprocess.run([os.path.join(folder, "main"), *words], cwd=folder).returncode
    return code, np.fromfile(os.path.join(folder, "y.bin"), np.float32)


def beside(program, folder):
    n = 64
    model(os.path.join(folder, "big.onnx"), n, 3, True)
    np.arange(n, dtype=np.float32).tofile(os.path.join(folder, "x.bin"))
    told = {}
    for word in "linked", "beside":
        done = ingot(program, os.path.join(folder, "big.onnx"), "--weights", word, "-o", os.path.join(folder, word))
        assert done.returncode == 0, done.stderr
        linked(folder, n, os.path.join(folder, word))
        told[word] = run(folder), run(folder, os.path.join(folder, word, "big_weights.bin"))
    assert told["linked"][0][0] == 0 and told["linked"][1][0] == 0, told
    assert told["beside"][0][0] == 1, "weights that are not there are BIG_NO_POINTER"
    assert told["beside"][1][0] == 0 and told["beside"][1][1].any() and told["beside"][1][1].tobytes() == told["linked"][0][1].tobytes(), told
    sizes = [os.path.getsize(os.path.join(folder, word, "libbig.a")) for word in ("linked", "beside")]
    assert sizes[0] - sizes[1] >= 3 * n * n * 4, sizes
    assert not os.path.exists(os.path.join(folder, "beside", "big_weights.S"))
    done = ingot(program, os.path.join(folder, "big.onnx"), "--profile", "managed", "--weights", "beside", "-o", os.path.join(folder, "no"))
    assert done.returncode == 2 and "linked in" in done.stderr and not os.path.exists(os.path.join(folder, "no")), done


def memory(program, folder):
    n, layers, data = (4096, 48, 300 << 20) if LONG else (2048, 16, 128 << 20)
    path, out = os.path.join(folder, "big.onnx"), os.path.join(folder, "out")
    model(path, n, layers, False)
    x = np.zeros(n, np.float32)
    x[0] = 1
    x.tofile(os.path.join(folder, "x.bin"))
    done = ingot(program, path, "-o", out, *([] if LONG else ["--weights", "beside"]), data=data)
    assert done.returncode == 0, done.stderr
    assert os.path.getsize(os.path.join(out, "big_weights.bin")) == n * n * layers * 4 + 16          # behind them, for which code they are
    linked(folder, n, out)
    code, y = run(folder, os.path.join(out, "big_weights.bin"))
    firsts = [np.fromfile(path + ".bin", np.float32, n, offset=i * n * n * 4) for i in range(layers)]
    want = np.float32(1)
    for first in firsts[:-1]:
        want = want * first[0]
    assert code == 0 and firsts[-1].any() and np.array_equal(y, want * firsts[-1]), (code, y[:8], (want * firsts[-1])[:8])
    if not LONG:
        return
    for words in ["--weights", "linked"], ["--profile", "managed"]:
        done = ingot(program, path, *words, "-o", os.path.join(folder, "no"))
        assert done.returncode == 6 and "cannot be linked in" in done.stderr and not os.path.exists(os.path.join(folder, "no")), (words, done)


def main():
    with tempfile.TemporaryDirectory() as folder:
        {"beside": beside, "memory": memory}[sys.argv[2]](os.path.abspath(sys.argv[1]), folder)


if __name__ == "__main__":
    main()
