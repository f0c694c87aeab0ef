"""A case: one node with drawn inputs.  FAMILIES is all of them, from the files beside this one."""
import collections
import zlib

import numpy
from onnx import TensorProto, helper, numpy_helper

Case = collections.namedtuple("Case", "name op model feeds slack seen refused want")
FAMILIES = []


def random(name):
    return numpy.random.default_rng(zlib.crc32(name.encode()))


def case(op, name, inputs, outputs=("y",), constants=(), domain="com.microsoft", types=None, slack=0, opset=20, ml=3, of_opset=None, seen=None, refused=None, want=None, **attributes):
    """`inputs`: arrays, or None where one is absent; those whose numbers are among `constants` are initialisers; of outputs "" is absent.
    `opset` and `ml` are the model's, `of_opset` an attribute of that name; `slack`: steps that integers may be apart; `seen`: what of an output is compared;
    `refused`: a word of the message that ingot has for it, which ends with 4.  `want`: what is right, where onnxruntime's CPU has no kernel of it."""
    name = f"{op}, {name}"
    attributes |= {"opset": of_opset} if of_opset else {}
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    arrays = {n: numpy.ascontiguousarray(a) if a.ndim else a for n, a in zip(names, inputs) if n}
    held = [f"x{i}" for i in constants]
    node = helper.make_node(op, names, list(outputs), name="asked", domain=domain, **attributes)
    types = types or [TensorProto.FLOAT] * len(outputs)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items() if n not in held]
    graph = helper.make_graph([node], "contrib", infos, [helper.make_tensor_value_info(n, t, None) for n, t in zip(outputs, types) if n],
                              [numpy_helper.from_array(arrays[n], n) for n in held])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", ml)])
    FAMILIES.append(Case(name, op, model, {n: a for n, a in arrays.items() if n not in held}, slack, seen or {}, refused, want))


import floats, integers, language, learnt, others, refused                                            # noqa: E402,F401,E401
