"""ingot as a backend of ONNX's own protocol (onnx.backend.base): prepare(model).run(inputs), and onnx.backend.test.

    import ingot.onnx_backend as backend
    backend.run_model(model, [x])

The environment variable INGOT_ENGINE chooses the engine: jit (default), c or interpreter."""
import os

import numpy
import onnx
from onnx.backend.base import Backend as _Backend, BackendRep as _BackendRep

from ._model import Model


class Rep(_BackendRep):
    def __init__(self, model):
        self.model = model

    def run(self, inputs, **_):
        """A list of arrays in the model's order, or a dict by name -> a tuple of arrays."""
        if isinstance(inputs, dict):
            return tuple(self.model.run(inputs).values())
        if isinstance(inputs, numpy.ndarray):
            inputs = [inputs]
        return tuple(self.model.run({tensor.name: value for tensor, value in zip(self.model.inputs, inputs)}).values())


class Backend(_Backend):
    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model, device="CPU", **_):
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model, device="CPU", **options):
        super().prepare(model, device)                              # checks the model
        return cls._rep(model, options)

    @classmethod
    def _rep(cls, model, options):
        return Rep(Model(model, **{"engine": os.environ.get("INGOT_ENGINE", "jit"), **options}))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **options):
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **options):
        """One node, whose inputs are these arrays.  Its outputs need no types: ingot says them."""
        super().run_node(node, inputs, device, outputs_info)        # checks the node
        arrays = [numpy.asarray(value) for value in inputs]
        info = lambda name, array: onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        given = [name for name in node.input if name]
        outputs = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(of[0])), of[1])
                   for name, of in zip(node.output, outputs_info or [])] or [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", [info(name, array) for name, array in zip(given, arrays)], outputs)
        versions = {"opset_imports": [onnx.helper.make_opsetid(node.domain, options.pop("opset_version", onnx.defs.onnx_opset_version()))]}
        return cls._rep(onnx.helper.make_model(graph, **versions), options).run(arrays)


prepare, run_model, run_node = Backend.prepare, Backend.run_model, Backend.run_node
supports_device, is_compatible = Backend.supports_device, Backend.is_compatible
