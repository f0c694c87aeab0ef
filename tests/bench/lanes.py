#!/usr/bin/env python3
"""What a kernel says of its lanes is what its statements are: `show --stage kernels` and the manifest beside `show --stage loops`.

    lanes.py INGOT"""
import json
import os
import re
import subprocess
import sys
import tempfile

MODEL = """<ir_version: 9, opset_import: ["" : 18]>
lanes (int32[8,100] a, int32[8,100] b, float[8,100] f) => (int32[8,100] sum, float[8,100] square, float16[8,100] half, int64[8,1] at, float[8,100] soft)
{
	sum = Add (a, b)
	square = Mul (f, f)
	half = Cast <to = 10> (f)
	at = ArgMax <axis = 1> (f)
	soft = Softmax (f)
}
"""
CPUS = {"x86-64-v3": 8, "x86-64-v4": 16, "armv8-a": 4, "generic": 1}
RIGHT = {"square": "float32", "half": "float16", "soft": "float32"}


def show(ingot, model, stage, cpu):
    return subprocess.run([ingot, "show", model, "--stage", stage, "--cpu", cpu], capture_output=True, text=True, check=True).stdout


def main():
    ingot, wrong = os.path.abspath(sys.argv[1]), []
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "lanes.onnxtxt")
        with open(model, "w") as file:
            file.write(MODEL)
        for cpu, lanes in CPUS.items():
            said = re.findall(r"^k\d+_\w+  loops  nodes.* (\w+)\n(?:    .*\n)*?    template  c/loops.jinja, (?:tile .*, )?(.*)$", show(ingot, model, "kernels", cpu), re.M)
            made = re.split(r"^for ", show(ingot, model, "loops", cpu), flags=re.M)[1:]
            subprocess.run([ingot, "build", model, "--cpu", cpu, "--no-compile", "-o", os.path.join(folder, cpu)], check=True)
            with open(os.path.join(folder, cpu, "lanes.json")) as file:
                listed = [(kernel["nodes"][-1], kernel["lanes"]) for kernel in json.load(file)["kernels"]]
            if len(said) != 5 or said != listed or len(made) != len(said):
                wrong.append(f"{cpu}: kernels say {said}, the manifest {listed}, of {len(made)} nests")
            for (node, text), nest in zip(said, made):
                vectors = "    along " in nest
                right = re.fullmatch(rf"{lanes} lanes of \w+( and scalars)?" if vectors else "scalar", text)
                if not right or (vectors and node in RIGHT and not text.startswith(f"{lanes} lanes of {RIGHT[node]}")) or (lanes > 1 and node in RIGHT and not vectors):
                    wrong.append(f"{cpu}, {node}: \"{text}\" of\n{nest}")
    print("\n".join(wrong) or "right")
    return bool(wrong)


sys.exit(main())
