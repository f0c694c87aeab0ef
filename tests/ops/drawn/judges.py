"""The judges of a case, onnxruntime and onnx's reference evaluator, ingot behind a pipe, and how near two answers are."""
import collections
import copy
import os
import select
import subprocess
import time
import warnings

import numpy
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from known import AROUND_ONE
from drawing import DTYPES, NAMES, PLAIN, TYPES, info, is_float

SECONDS = 60
RUNTIME_OPSET = 26                        # the newest one that onnxruntime 1.31 promises to know
OPTIONS = onnxruntime.SessionOptions()
OPTIONS.log_severity_level = 4
OPTIONS.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
OPTIONS.intra_op_num_threads = OPTIONS.inter_op_num_threads = 1
onnxruntime.set_default_logger_severity(4)
warnings.simplefilter("ignore")
numpy.seterr(all="ignore")
BY_NUMBER = {number: name for name, number in TYPES.items()}
Answer = collections.namedtuple("Answer", "code message outputs")


def by_runtime(case):
    """onnxruntime, by another version of the operator that takes the same node where it does not have this one."""
    others = [7, 9, 11] if case.opset < 7 else [RUNTIME_OPSET] if case.opset > RUNTIME_OPSET else []
    for opset in [case.opset, *others]:
        try:
            return run_runtime(case if opset == case.opset else case.in_opset_7(), opset)
        except Exception as why:
            first = why if opset == case.opset else first
    raise first


def run_runtime(case, opset):
    """Its Python knows NumPy's own types alone: inputs of others become constants, outputs of others are cast to wider ones, which changes nothing."""
    narrow = [n for n, a in case.arrays.items() if a.dtype not in PLAIN]
    model = case.model(hold=narrow, opset=opset)
    back = {}
    for i, output in enumerate(model.graph.output):
        name = BY_NUMBER[output.type.tensor_type.elem_type]
        if DTYPES[name] not in PLAIN:
            to = "float" if is_float(DTYPES[name]) else "int32"
            model.graph.node.append(helper.make_node("Cast", [output.name], [output.name + "_wide"], to=TYPES[to]))
            back[i] = DTYPES[name]
            model.graph.output[i].CopyFrom(helper.make_tensor_value_info(output.name + "_wide", TYPES[to], None))
    feeds = {n: a for n, a in case.arrays.items() if n not in case.held and n not in narrow}
    session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
    results = session.run(None, feeds)
    return [numpy.asarray(r).astype(back[i]) if i in back else numpy.asarray(r) for i, r in enumerate(results)]


def by_reference(case):
    """The reference evaluator, which knows some operators from a later version on alone."""
    for opset in ([7, 9, 11] if case.opset < 7 and case.modern else [case.opset, 7, 9, 11] if case.opset < 7 else [case.opset]):
        asked = case if opset == case.opset else case.in_opset_7()
        try:
            results = ReferenceEvaluator(asked.model(opset=opset)).run(None, {n: a for n, a in asked.arrays.items() if n not in case.held})
            return [numpy.asarray(r[0] if isinstance(r, list) and len(r) == 1 else r) for r in results]           # it wraps what an optional holds
        except Exception as why:
            first = why
    raise first


JUDGES = {"onnxruntime": by_runtime, "reference": by_reference}
HALF = {DTYPES["float16"]: "float16", DTYPES["bfloat16"]: "bfloat16"}


def in_float(case):
    """A case of 16-bit floats in float32, and the types that its results are rounded to: that is what ingot promises, where the judges round at each step."""
    if set(case.attributes) & {"to", "dtype", "output_dtype", "output_datatype"} or case.nodes or case.op in ("QuantizeLinear", "Constant", "ConstantOfShape", "CastLike", "EyeLike"):
        return None
    if not any(a.dtype in HALF for a in case.arrays.values()):
        return None
    other = copy.copy(case)
    other.arrays = {n: a.astype("f4") if a.dtype in HALF else a for n, a in case.arrays.items()}
    other.types = ["float" if t in HALF.values() else t for t in case.types]
    return other


def judged(judge, case):
    """What a judge has, or why it cannot."""
    try:
        wide = in_float(case)
        if wide:
            return [r.astype(DTYPES[t]) if t in HALF.values() else r for r, t in zip(judge(wide), [t for t, there in zip(case.types, case.outputs) if there])]
    except Exception:
        pass
    try:
        return judge(case)
    except Exception as why:                                           # whatever it is
        return f"{type(why).__name__}: {str(why)[:300]}"


class Server:
    """serve_models: started anew where a model ends it."""

    def __init__(self, program):
        self.program, self.process = program, None

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        self.rest = b""

    def read(self, count=None):
        """`count` bytes, or a line."""
        end = time.monotonic() + SECONDS
        while (len(self.rest) < count) if count is not None else (b"\n" not in self.rest):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            part = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not part:
                raise EOFError("no answer" if not ready else f"ends with {self.process.wait()}")
            self.rest += part
        size = count if count is not None else self.rest.index(b"\n") + 1
        got, self.rest = self.rest[:size], self.rest[size:]
        return got

    def run(self, model, inputs, engine):
        if self.process is None:
            self.start()
        blobs = [packed(a) for a in inputs]
        try:
            head = " ".join(map(str, [engine, len(model), len(blobs), *map(len, blobs)]))
            self.process.stdin.write(head.encode() + b"\n" + model + b"".join(blobs))
            status, count = map(int, self.read().split())
            if status:
                return Answer(status, self.read(count).decode(errors="replace"), None)
            outputs = {}
            for _ in range(count):
                name, number, rank, *dims, size = self.read().decode().rsplit("\n", 1)[0].split(" ")
                dims = [int(n) for n in dims]
                outputs[name] = unpacked(self.read(int(size)), BY_NUMBER[int(number)], dims)
            for name in [n for n in outputs if n + "_dims" in outputs]:       # as many as data chose, dense
                dims = outputs.pop(name + "_dims")
                outputs[name] = outputs[name].reshape(-1)[:int(numpy.prod(dims))].reshape(dims)
            return Answer(0, "", outputs)
        except (EOFError, BrokenPipeError) as why:
            self.process.kill()
            self.process.wait()
            self.process = None
            return Answer(-1, f"crashed: {why}", None)


def bits_of(dtype):
    return 8 if dtype in PLAIN else info(dtype).bits


def packed(array):
    array = numpy.ascontiguousarray(array)
    bits = bits_of(array.dtype)
    if bits >= 8:
        return array.tobytes()
    codes = array.view("u1").reshape(-1) & ((1 << bits) - 1)
    return numpy.packbits((codes[:, None] >> numpy.arange(bits, dtype="u1") & 1).reshape(-1), bitorder="little").tobytes()


def unpacked(data, name, dims):
    dtype, count = DTYPES[name], int(numpy.prod(dims))
    bits = bits_of(dtype)
    if bits >= 8:
        return numpy.frombuffer(data, dtype, count).reshape(dims)
    each = numpy.unpackbits(numpy.frombuffer(data, "u1"), bitorder="little")[:count * bits].reshape(count, bits)
    codes = (each << numpy.arange(bits, dtype="u1")).sum(1).astype("u1")
    if dtype.name.startswith("int"):
        return (codes.astype("i1") - ((codes >> (bits - 1)).astype("i1") << bits)).astype(dtype).reshape(dims)
    return codes.astype(dtype).reshape(dims) if dtype.name.startswith("uint") else codes.view(dtype).reshape(dims)


# ---- how near ----
RELATIVE = {"float": 1e-4, "double": 1e-4, "float16": 1e-2, "bfloat16": 2**-6}                # cases/README.md; bfloat16 as ONNX's own tests


def differs(got, want, exact=False, least=0):
    """Why two arrays differ by more than their type allows, or None."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, {list(want.shape)} is right"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, {want.dtype} is right"
    if not is_float(want.dtype):
        wrong = (got != want).reshape(-1)
        return f"[{wrong.argmax()}] is {got.reshape(-1)[wrong.argmax()]}, {want.reshape(-1)[wrong.argmax()]} is right" if wrong.any() else None
    a, b = got.astype("f8").reshape(-1), want.astype("f8").reshape(-1)
    finite = numpy.isfinite(b)
    largest = numpy.abs(b[finite]).max(initial=least)
    relative = 0 if exact else RELATIVE.get(NAMES[want.dtype], 0)
    allowed = relative * largest + (1e-6 if relative and largest >= 1e-3 else 0)
    wrong = ~((a == b) | (numpy.isnan(a) & numpy.isnan(b)) | (finite & (numpy.abs(a - b) <= allowed)))
    return f"[{wrong.argmax()}] is {a[wrong.argmax()]:g}, {b[wrong.argmax()]:g} is right" if wrong.any() else None


def all_differ(got, want, case, exact):
    if len(got) != len(want):
        return f"{len(got)} outputs, {len(want)} are right"
    for i, (a, b) in enumerate(zip(got, want)):
        if case.compare == "shape":
            a, b = numpy.zeros(a.shape, a.dtype), numpy.zeros(b.shape, b.dtype)
        why = differs(a, b, exact, 1 if case.op in AROUND_ONE else 0)
        if why:
            return f"output {i}: {why}"
    return None
