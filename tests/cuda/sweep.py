#!/usr/bin/env python3
"""sweep.py: what NVRTC makes of each single operator: the blocks of bench/harness/corners.tsv, and of each kernel that is no product what breaks a rule.

    sweep.py INGOT [--arch sm_90] [--json FILE] [PATTERN...]       exit 0: no rule is broken, 1: some are, 77: no NVRTC, no nvdisasm or no onnx

Rules, of every kernel: no local memory but what WORDS names; of more than 4096 elements at least 16 blocks.  Of a map whose elements lie side by side: nine of ten
accesses of 16 bytes.  Of any that moves more than L2 holds: bytes on their way in an SM, a warp's first wait times its warps.  Printed: the slowest beside the memory's time first."""
import argparse
import fnmatch
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "bench"), os.path.join(ROOT, "examples")]
import nvrtc
import report


def model_of(block, folder):
    """The block's model."""
    import onnx
    from onnx import helper, numpy_helper
    from harness import corners, forests
    name, operator, inputs, attributes, _ = block
    operands = {}
    for word in inputs.split():
        operands[word if word == "-" else corners.OPERAND.match(word).group(1)] = None if word == "-" else corners.operand(word)[1:]
    said = corners.attributes_of(attributes)
    opset, _ = said.get("", {}).pop("opset", corners.OPSET), said.get("", {}).pop("step", None)
    nodes = [forests.node(operands["x"][0].shape[1], **said[""])] if operator == "Forest" else corners.nodes_of(operator, operands, said)
    read = {i for node in nodes for i in node.input}
    given = {name: one for name, one in operands.items() if one}
    graph = helper.make_graph(nodes, "block", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, (a, c) in given.items() if not c],
                              [onnx.ValueInfoProto(name=o) for node in nodes for o in node.output if o not in read],
                              [numpy_helper.from_array(a, n) for n, (a, c) in given.items() if c])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)])
    made.ir_version = 10
    path = os.path.join(folder, name + ".onnx")
    onnx.save(made, path)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ingot")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--json")
    o = parser.parse_intermixed_args()
    from harness import corners
    facts, compiler = report.gpus(o.ingot)["sm_90"], nvrtc.Nvrtc(nvrtc.library())
    out = open(o.json, "a") if o.json else None
    for block in corners.blocks():
        if o.patterns and not any(fnmatch.fnmatch(block[0], p) for p in o.patterns):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows = report.judged(o.ingot, compiler, facts, "g", model_of(block, folder), folder)
            except Exception as error:
                print(block[0], "FAILED", str(error)[:200], flush=True)
                continue
        for row in rows:
            row["network"] = block[0]
            if out:
                out.write(json.dumps(row) + "\n")
                out.flush()
        print("%-40s %2d kernels %8.1f us" % (block[0], len(rows), sum(r["us"] for r in rows)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
