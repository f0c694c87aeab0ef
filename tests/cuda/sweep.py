#!/usr/bin/env python3
"""sweep.py: what NVRTC makes of single operators, the blocks of bench/harness/corners.tsv: where a kernel that is no product breaks a rule, and the slowest beside memory.

    sweep.py INGOT [PATTERN...]        exit 0: right, 1: a rule is broken, 77: no NVRTC, nvdisasm or onnx

Rules: no local memory; 16 blocks at least where it makes more than 4096 elements; of maps whose tensors have all the same extents four elements asked
for before the first wait, and where their types are one, too, nine of ten accesses of 16 bytes; no more than SLOW times what memory takes (report.py, an H200).  What breaks one for a reason is in KNOWN.  Without a pattern SHORT, or with $INGOT_LONG all."""
import fnmatch
import math
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, *(os.path.join(ROOT, *path) for path in (("tests", "models"), ("bench",), ("examples",)))]
import nvrtc
import report
import sass

SHORT = ["add_*", "relu_*", "sin_262144", "maxpool_13x13_256_20", "avgpool_7x7_32_56", "dw_7x7_96_56_n8", "softmax_16_8400", "scatternd_4096_64", "cumprod_256_1024", "qdq_conv_64_28", "lstm_256_16", "maxunpool_2x2_64_28"]
FEW, BLOCKS, WIDE, ASKED, SLOW, US = 4096, 16, 0.9, 4, 50, 0.3         # US: what the shortest kernel takes beside the way from the one before
PRODUCTS = ("contraction", "convolution", "winograd", "attention")
KNOWN = {                                  # with registers to spare for fewer loads; terms that follow each other; orders and results so far of a row, by a block or a thread; a window of all
    **{name + "_262144 k0_map": {"wide"} for name in ("sin", "cos", "tan")},          # large angles look up 2/pi
    "unique_4096 k1_map": {"wide"},                                                   # of each place in the order the element that was there: no neighbours
    "roialign_64_256_38 k3_rows": {"local"},                                          # 28 weights of a warp, by a loop's index: 112 bytes of L1
    "conv_5x5_32_1_128 k0_sum": {"slow"}, "conv_4x4_256_1_31 k0_sum": {"slow"}, "dw_31x31s1_32_28 k0_sum": {"slow"},
    "qdq_conv_64_28 k0_map": {"asked"},                                               # 50176 bytes, one a thread: there are no more threads to fill the GPU's processors
    "topk_100_8400 k0_order": {"blocks"}, "topk_50_50257 k0_order": {"blocks"}, "unique_4096 k0_order": {"blocks"}, "cumprod_256_1024 k0_running": {"blocks"},
    "nonzero_65536 k0_running": {"blocks", "slow"}, "compress_65536 k0_running": {"blocks", "slow"}, "maxroipool_64_38 k0_maximum": {"local", "slow"},
}


def model_of(block, folder):
    """The path of the block's model, whose outputs are as they are inferred."""
    import onnx
    from onnx import helper, numpy_helper
    from harness import corners, forests
    name, operator, inputs, attributes, _ = block
    operands = {word if word == "-" else corners.OPERAND.match(word).group(1): None if word == "-" else corners.operand(word)[1:] for word in inputs.split()}
    said = corners.attributes_of(attributes)
    opset, _ = said.get("", {}).pop("opset", corners.OPSET), said.get("", {}).pop("step", None)
    nodes = [forests.node(operands["x"][0].shape[1], **said[""])] if operator == "Forest" else corners.nodes_of(operator, operands, said)
    read, given = {i for node in nodes for i in node.input}, {n: one for n, one in operands.items() if one}
    graph = helper.make_graph(nodes, "block", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, (a, constant) in given.items() if not constant],
                              [onnx.ValueInfoProto(name=o) for node in nodes for o in node.output if o not in read],
                              [numpy_helper.from_array(a, n) for n, (a, constant) in given.items() if constant])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)])
    made.ir_version = 10
    onnx.save(made, os.path.join(folder, name + ".onnx"))
    return os.path.join(folder, name + ".onnx")


def elements(dims):
    return math.prod(int(d) for d in re.findall(r"\d+", dims))


def is_flat(row):
    """A map of a thread's elements, each tensor of the same extents."""
    return "a thread" in row["tile"] and "_map" in row["kernel"] and len({dims for _, dims, _ in row["tensors"]}) == 1 and row["bytes"] > 16 * FEW


def least_bytes(row):
    """Of an element that is loaded, in the narrowest type."""
    bits = [int(re.sub(r"\D", "", kind) or {"bool": 8, "double": 64}.get(kind, 32)) for kind, _, written in row["tensors"] if not written]
    return min(bits, default=32) // 8


def accesses(row):
    """(global accesses, those of 16 bytes)"""
    of = {word: n for word, n in row["all_memory"].items() if word[:3] in ("LDG", "STG")}
    return sum(of.values()), sum(n for word, n in of.items() if word.endswith(" 16"))


def beside_memory(row, facts):
    return (row["us"] / row["launches"] - report.LAUNCH) / (row["bytes"] / facts.memory_rate / 1000 + US)


def broken(row, facts):
    """The rules that a kernel breaks, each with what there is."""
    local = sum(n for word, n in row["all_memory"].items() if word[:3] in ("LDL", "STL"))
    made = max((elements(dims) for _, dims, written in row["tensors"] if written), default=0)
    if local or row["spills"]:
        yield "local", "%d accesses of local memory, %d bytes spilled" % (local, row["spills"])
    if made > FEW and row["blocks"] < BLOCKS:
        yield "blocks", "%d elements on %d blocks" % (made, row["blocks"])
    if is_flat(row) and row["asked"] < ASKED * least_bytes(row):
        yield "asked", "%d bytes asked for before a wait" % row["asked"]
    if beside_memory(row, facts) > SLOW:
        yield "slow", "%.1f us, %.0f times memory's" % (row["us"] / row["launches"], beside_memory(row, facts))


def planted(facts):
    """How many rules do not see what breaks them."""
    row = {"kernel": "k0_map", "tile": "4 of float32 a thread", "all_memory": {"LDG 16": 1, "STG 16": 1}, "spills": 0, "blocks": 64, "tensors": [("float", "[64,512]", False), ("float", "[64,512]", True)],
           "bytes": 1 << 18, "asked": 16, "us": 1.2, "launches": 1}
    found = [name for more in ({}, {"spills": 4}, {"all_memory": {"LDL 4": 1}}, {"blocks": 15}, {"asked": 4}, {"us": 40}) for name, _ in broken(dict(row, **more), facts)]
    right = found == ["local", "local", "blocks", "asked", "slow"] and accesses(dict(row, all_memory={"LDG 4": 4, "STG 16": 1, "LDS 16": 1})) == (5, 1)
    print("" if right else "planted: seen are %s\n" % found, end="")
    return 0 if right else 1


def main():
    ingot, patterns = sys.argv[1], sys.argv[2:] or (["*"] if os.environ.get("INGOT_LONG") else SHORT)
    dll = nvrtc.library()
    try:
        import onnx
        from harness import corners
    except ImportError as error:
        dll = print("skipped: %s" % error)
    if not dll or not sass.program():
        print("skipped: NVRTC, nvdisasm and onnx are not all there")
        return 77
    facts, compiler = report.gpus(ingot)["sm_90"], nvrtc.Nvrtc(dll)
    wrong, flat, rows = planted(facts), [], []
    for block in corners.blocks():
        if any(fnmatch.fnmatch(block[0], pattern) for pattern in patterns):
            with tempfile.TemporaryDirectory(prefix="sweep.") as folder:
                mine = report.judged(ingot, compiler, facts, "g", model_of(block, folder), folder)
            for row in (row for row in mine if not any(word in row["kernel"] for word in PRODUCTS)):
                rows.append((beside_memory(row, facts), "%s %s" % (block[0], row["kernel"]), row))
                one_type = len({kind for kind, _, _ in row["tensors"]}) == 1
                flat += [accesses(row)] if is_flat(row) and one_type and "wide" not in KNOWN.get(rows[-1][1], ()) else []
                for rule, said in broken(row, facts):
                    known = rule in KNOWN.get(rows[-1][1], ())
                    wrong += not known
                    print("%s: %s%s" % (rows[-1][1], said, ", known" if known else ""), flush=True)
    share = sum(wide for _, wide in flat) / max(sum(every for every, _ in flat), 1)
    for times, name, row in sorted(rows, key=lambda one: -one[0])[:20] if len(patterns) == 1 else ():
        print("%6.1f times memory's: %s, %.1f us, %s, %d x %d" % (times, name, row["us"] / row["launches"], row["tile"], row["blocks"], row["warps"]))
    wrong += bool(flat) and share < WIDE
    print("%d kernels, %d flat maps, %.1f %% of their accesses of 16 bytes: %d wrong" % (len(rows), len(flat), 100 * share, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
