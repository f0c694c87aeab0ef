#!/usr/bin/env python3
"""strips.py: quantised convolutions of drawn shapes, whose maps of dwords stand in strips where memory is short.

    strips.py INGOT [SEED [NETWORKS]]          exit 0: right, 1: wrong, 77: a tool is missing

A library for a cortex-m4 of a few drawn networks (kernels, strides, dilations, pads on any side, odd channels, images of one line,
residuals) is compiled for this machine, without SIMD's instructions, under both sanitizers: each output is the interpreter's, and some
layers have strips."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

MAIN = """#include <stdio.h>
#include <stdlib.h>
%s
static unsigned char *read_all(const char *name, size_t bytes)
{
	FILE *file = fopen(name, "rb");
	unsigned char *all = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (!file || fread(all, 1, bytes, file) != bytes)
		exit(9);
	fclose(file);
	return all;
}
int main(void)
{
	int wrong = 0;
%s
	return wrong;
}
"""
ONE = """	{
		unsigned char *workspace = aligned_alloc(64, (DRAWN_%(upper)s_WORKSPACE_BYTES + 63) / 64 * 64), *x = read_all("%(name)s.x", %(in)d), *wanted = read_all("%(name)s.y", %(out)d), *y = malloc(%(out)d);
		struct drawn_%(name)s_inputs in = { .x = (void *)x };
		struct drawn_%(name)s_outputs out = { .y = (void *)y };
		struct drawn_%(name)s_context context = { .workspace = workspace };
		int status = drawn_%(name)s_run(&in, &out, &context), differ = 0;
		for (int i = 0; i < %(out)d; i++)
			differ += y[i] != wanted[i];
		if (status || differ)
			printf("%(name)s: status %%d, %%d bytes of %(out)d differ\\n", status, differ), wrong = 1;
		free(workspace), free(x), free(wanted), free(y);
	}
"""


def draw(rng, name):
    """The text of a network, its input's shape, its layers for people."""
    constants, nodes, layers = [], [], []
    channels, height, width = rng.choice((1, 2, 3, 8, 12)), rng.choice((1, 5, 9, 16)), rng.choice((1, 3, 7, 12))
    shape, of = (1, channels, height, width), "xd"
    constants.append("float s = {0.25}, int8 z = {%d}, float sw = {0.0078125}, int8 zw = {0}, float sb = {0.001953125}, int32 zb = {0}" % rng.randint(-9, 9))
    nodes.append("xd = DequantizeLinear (x, s, z)")
    for i in range(3):
        kernel, steps, apart = ([rng.choice(of_which) for _ in (0, 1)] for of_which in ((1, 1, 2, 3, 3, 5), (1, 1, 2), (1, 1, 2)))
        pads = [rng.randint(0, (k - 1) * d) for k, d in zip(2 * kernel, 2 * apart)]
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, apart)]
        if rng.random() < 0.4 and i:  # a residual keeps the shape
            channels_out, steps, pads = channels, [1, 1], [(r - 1) // 2 for r in reach] + [r // 2 for r in reach]
        else:
            channels_out = rng.choice((2, 4, 7, 16))
        padded = [height + pads[0] + pads[2], width + pads[1] + pads[3]]
        if any(p < r for p, r in zip(padded, reach)):
            continue
        size = [(p - r) // s + 1 for p, r, s in zip(padded, reach, steps)]
        here = [channels_out, channels, *kernel]
        constants.append("int8[%s] w%d = {%s}" % (",".join(map(str, here)), i, ",".join(str(rng.randint(-127, 127)) for _ in range(int(np.prod(here))))))
        constants.append("int32[%d] b%d = {%s}" % (channels_out, i, ",".join(str(rng.randint(-3000, 3000)) for _ in range(channels_out))))
        nodes += ["wd%d = DequantizeLinear (w%d, sw, zw)" % (i, i), "bd%d = DequantizeLinear (b%d, sb, zb)" % (i, i),
                  "c%d = Conv <strides = %s, dilations = %s, pads = %s> (%s, wd%d, bd%d)" % (i, steps, apart, pads, of, i, i),
                  "q%d = QuantizeLinear (c%d, s, z)" % (i, i), "d%d = DequantizeLinear (q%d, s, z)" % (i, i)]
        layers.append("%s %s" % ("x".join(map(str, kernel)), size))
        if [channels_out, *size] == [channels, height, width] and i:
            nodes += ["r%d = Add (d%d, %s)" % (i, i, of), "rq%d = QuantizeLinear (r%d, s, z)" % (i, i), "rd%d = DequantizeLinear (rq%d, s, z)" % (i, i)]
            of = "rd%d" % i
        else:
            of = "d%d" % i
        channels, (height, width) = channels_out, size
    nodes.append("y = QuantizeLinear (%s, s, z)" % of)
    text = '<ir_version: 10, opset_import: ["" : 21]>\n%s (int8[%s] x) => (int8[1,%d,%d,%d] y)\n<%s>\n{\n%s\n}\n' % (
        name, ",".join(map(str, shape)), channels, height, width, ",\n".join(constants), "\n".join(nodes))
    return text, shape, layers


def call(*command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit("%s: exit %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


def main():
    ingot, seed, networks = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 5
    if not shutil.which("gcc"):
        print("skipped: no gcc")
        return 77
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        made, models, cases, all_layers = os.path.join(folder, "made"), [], [], 0
        for i in range(networks):
            name = "net%d" % i
            text, shape, layers = draw(rng, name)
            model, given, answer = (os.path.join(folder, name + end) for end in (".onnxtxt", ".npy", "_y.npy"))
            with open(model, "w") as f:
                f.write(text)
            x = np.array([rng.randint(-128, 127) for _ in range(int(np.prod(shape)))], np.int8).reshape(shape)
            np.save(given, x)
            call(ingot, "run", model, "--target", "interpreter", "--algorithms", "direct", "--input", "x=" + given, "--output", "y=" + answer)
            y = np.load(answer)
            x.tofile(os.path.join(folder, name + ".x"))
            y.tofile(os.path.join(folder, name + ".y"))
            cases.append(ONE % {"name": name, "upper": name.upper(), "in": x.nbytes, "out": y.nbytes})
            models.append(model)
            all_layers += len(layers)
            print("%s: %s -> %s" % (name, list(shape), ", ".join(layers)))
        call(ingot, "build", *models, "--name", "drawn", "--cpu", "cortex-m4", "--no-compile", "-o", made)
        headers = "".join('#include "%s"\n' % name for name in sorted(os.listdir(made)) if name.endswith(".h") and "_kernels" not in name)
        with open(os.path.join(made, "main.c"), "w") as f:
            f.write(MAIN % (headers, "".join(cases)))
        sources = [name for name in sorted(os.listdir(made)) if name.endswith(".c")]
        strips = sum(open(os.path.join(made, name)).read().count("c/strips.jinja") for name in sources)
        call("gcc", "-g", "-O1", "-D__ARM_FEATURE_FMA", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *sources, "-lm", "-o", "test", cwd=made)
        done = subprocess.run([os.path.join(made, "test")], cwd=folder, capture_output=True, text=True, timeout=300)
    print("exit %d\n%s%s" % (done.returncode, done.stdout, done.stderr))
    print("%d layers, %d kernels in strips" % (all_layers, strips))
    if done.returncode or not strips:
        print("WRONG")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
