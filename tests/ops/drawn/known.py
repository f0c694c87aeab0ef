"""What is known of the judges: where one of them is wrong, or ONNX says nothing, each with its reason.  A reason is for all cases that its condition holds for;
what has none is a fault."""
import math

import numpy

from drawing import DTYPES, info, is_float

# What moves, casts, compares or counts: exact also in floats.
EXACT = set("""Identity Cast CastLike BitCast Reshape Flatten Transpose Squeeze Unsqueeze Concat Split Slice Pad Tile Expand Gather GatherElements GatherND OneHot EyeLike Trilu
ReverseSequence Constant ConstantOfShape DepthToSpace SpaceToDepth CenterCropPad Compress NonZero Unique Where Abs Neg Not Relu Sign Max Min ReduceMax ReduceMin MaxPool GlobalMaxPool
Ceil Floor Round TopK Hardmax MaxUnpool TensorScatter Scatter Dropout QuantizeLinear""".split())
# Numbers around 1 whatever the largest: the error of one is that of a sum of ones.
AROUND_ONE = {"HannWindow", "HammingWindow", "BlackmanWindow"}

REFERENCE, RUNTIME, BOTH = {"reference"}, {"onnxruntime"}, {"reference", "onnxruntime"}
REASONS = []


def known(judges, ops, reason, condition=lambda case, *_: True):
    REASONS.append((judges, set(ops.split()), condition, reason))


def reason_for(case, wrong, can, ours):
    """Why the judges in `wrong` are not right here, or None.  can: answers of those that run it; ours: None where ingot refuses it: reasons that look at outputs are none then."""
    for judges, ops, condition, reason in REASONS:
        looks = "ours" in condition.__code__.co_varnames[:condition.__code__.co_argcount]
        if set(wrong) <= judges and (not ops or case.op in ops) and (ours is not None or not looks) and condition(case, can, ours):
            return reason
    return None


def empty(case, *_):
    return any(a.size == 0 for a in case.arrays.values())


def attribute(name, *values):
    return lambda case, *_: case.attributes.get(name) in values if values else name in case.attributes


def before(opset):
    return lambda case, *_: case.opset < opset


def right_where_it_fits(case, can, ours):
    """A cast to integers: equal wherever the number fits them, which is all that ONNX promises."""
    x, y = case.arrays.get("x0"), ours[0]
    if x is None or not is_float(x.dtype) or is_float(y.dtype) or y.dtype == numpy.bool_:
        return False
    x = x.astype("f8")
    if bits_below_8(y.dtype):
        return True
    fits = numpy.isfinite(x) & (numpy.trunc(x) >= int(info(y.dtype).min)) & (numpy.trunc(x) <= int(info(y.dtype).max))
    return all(a[0].shape == y.shape and (a[0] == y)[fits].all() for a in can.values())


def bits_below_8(dtype):
    return not is_float(dtype) and info(dtype).bits < 8


def overflows(case, *_):
    """Numbers at the ends of an integer type, or floats that are not finite."""
    for a in case.arrays.values():
        if is_float(a.dtype):
            if not numpy.isfinite(a.astype("f8")).all():
                return True
        elif a.dtype != numpy.bool_ and a.size and (a.max() >= info(a.dtype).max // 2 or a.min() <= int(info(a.dtype).min) // 2 and a.dtype.kind == "i"):
            return True
    return False


def gelu_to_the_digit(case, can, ours):
    """x/2 * erfc(-x/sqrt 2), which does not cancel."""
    x, y = case.arrays["x0"].astype("f8"), ours[0]
    right = numpy.array([0.5 * v * math.erfc(-v / math.sqrt(2)) if v > -numpy.inf else -0.0 for v in x.reshape(-1)]).reshape(x.shape)
    return case.attributes.get("approximate", "none") != "tanh" and numpy.allclose(y.astype("f8"), right, rtol=1e-5 if y.dtype in ("f4", "f8") else 0.02,
                                                                                    atol=1e-7 if y.dtype == numpy.float16 else 0, equal_nan=True)


def above_an_element(case, can, ours):
    """A place that lies less than 1e-9 above an element of the data, along any axis."""
    mode, x, y = case.attributes.get("coordinate_transformation_mode", "half_pixel"), case.arrays["x0"], ours[0]
    given = next((case.arrays[n] for n in ("x2", "x1") if n in case.arrays and case.arrays[n].size == x.ndim and case.arrays[n].dtype == "f4"), None)
    for d in range(x.ndim):
        n, out = x.shape[d], y.shape[d]
        scale = float(given[d]) if given is not None else out / n
        i = numpy.arange(out)
        at = i / scale if mode == "asymmetric" else i * (n - 1) / max(scale * n - 1, 1e-9) if mode == "align_corners" else (i + 0.5) / scale - 0.5
        at = at + n / 2 * (1 - out / (scale * n)) if mode == "half_pixel_symmetric" else at
        above = at - numpy.floor(at)
        if ((above > 0) & (above < 1e-9)).any():
            return True
    return False


def typed(*kinds):
    return lambda case, *_: any(a.dtype in [DTYPES[k] for k in kinds] for a in case.arrays.values())


# ---- ONNX says nothing ----
known(BOTH, "Cast CastLike", "a float outside the integers' range: ONNX leaves it open, ingot cuts it to the range", right_where_it_fits)
known(BOTH, "QuantizeLinear Shrink", "a number that is not finite or overflows: ONNX leaves it open", overflows)
known(BOTH, "ReduceMean ReduceLogSum ReduceLogSumExp ReduceL2", "integers of nothing, or a logarithm of 0 as integer: ONNX leaves it open, judges cut a NaN or infinity",
      lambda case, *_: not is_float(case.arrays["x0"].dtype))
known(BOTH, "HannWindow HammingWindow BlackmanWindow", "one element, not periodic: a quotient by 0, which an integer type cuts", lambda case, *_: case.arrays["x0"] == 1)
known(BOTH, "Gelu", "below -4 their 1 + erf cancels, and of -inf it is a NaN: ingot has the digits, and the limit", gelu_to_the_digit)
known(BOTH, "Mish SwiGLU", "of -inf they have a NaN, ingot the limit", lambda case, can, ours: overflows(case) and not numpy.isnan(ours[0].astype("f8")).all())
known(BOTH, "Pad", "float8e8m0 has no 0 to pad with", typed("float8e8m0"))
# ---- the reference evaluator ----
known(REFERENCE, "Softmax LogSoftmax Hardmax", "up to opset 12 it does not take all dimensions from `axis` on", before(13))
known(REFERENCE, "LSTM GRU RNN", "it passes over clip, input_forget, activations and sequence_lens, and knows no reverse of GRU and RNN",
      lambda case, *_: set(case.attributes) & {"clip", "input_forget", "activations"} or "x4" in case.arrays or case.attributes.get("direction") == "reverse")
known(REFERENCE, "Loop", "it puts what is stacked end to end where there is a dimension, and adds one where there is none")
known(REFERENCE, "ConvTranspose", "with SAME and strides above the kernel its places are others", lambda case, *_: case.attributes.get("auto_pad", "").startswith("SAME"))
known(REFERENCE, "ConvTranspose", "each group has the first group's bias", lambda case, *_: case.attributes.get("group", 1) > 1 and "x2" in case.arrays)
known(REFERENCE, "Optional OptionalHasElement OptionalGetElement", "it wraps what an optional holds")
known(REFERENCE, "GlobalMaxPool", "it reduces from the third dimension on of ranks above 4, and adds one to those of rank 3", lambda case, *_: case.arrays["x0"].ndim != 4)
known(REFERENCE, "ReduceSumSquare", "NumPy's sum of 32 bits has 64", typed("uint32", "int32"))
known(REFERENCE, "Gemm", "up to opset 10 it passes over beta", before(11))
known(REFERENCE, "BatchNormalization", "of opset 9 it trains", before(14))
known(REFERENCE, "BatchNormalization", "it gives statistics the data's type", lambda case, *_: len({a.dtype for a in case.arrays.values()}) > 1)
known(REFERENCE, "Shape", "an end below -rank gives one dimension: NumPy's slice of it", attribute("end"))
known(REFERENCE, "Slice", "NumPy's slices take a start below -n as none where the step is below 0, ONNX as the first element")
known(REFERENCE, "Unique", "it sorts also where sorted is 0, and takes rows apart", attribute("sorted", 0))
known(REFERENCE, "LpNormalization", "p 1 divides by a sum without absolute values", attribute("p", 1))
known(REFERENCE, "AffineGrid", "it makes float32 of double", typed("double"))
known(REFERENCE, "LayerNormalization", "mean and deviation are float32, it has the data's type", typed("double"))
known(REFERENCE, "Swish", "of -inf it has a NaN, ingot the limit", overflows)
known(REFERENCE, "RoiAlign", "its version 10 is half_pixel, the standard says output_half_pixel", before(16))
known(REFERENCE, "MeanVarianceNormalization", "a variance of 0 divides by 0, the standard adds 1e-9")
known(REFERENCE, "AveragePool", "of opset 1 it counts pads", before(7))
known(REFERENCE, "MaxPool", "SAME_LOWER and pads that differ make fewer windows, and places of maxima are those of one row",
      lambda case, *_: set(case.attributes) & {"auto_pad", "pads"} or len(case.outputs) > 1)
known(REFERENCE, "Resize", "a place a hair above an element: the pad that it adds rounds the hair away, and the taps are those of the element before", above_an_element)
known(REFERENCE, "AveragePool LpPool", "with ceil_mode the pads are others, and a window that hangs over is scaled as a mean", attribute("ceil_mode", 1))
known(REFERENCE, "Unsqueeze", "up to opset 12 it puts one axis in after the other, so that those below 0 count fewer dimensions", before(13))
known(REFERENCE, "Attention", "qk_matmul_output_mode 0 is the product, it gives what softcap made of that", attribute("softcap"))
known(REFERENCE, "LRN", "it sums over as many channels as the batch has images")
known(REFERENCE, "GridSample", "cubic with a border or reflection takes elements outside as 0", attribute("mode", "cubic", "bicubic"))
known(REFERENCE, "GridSample", "of integers its weights are integers, too", lambda case, *_: not is_float(case.arrays["x0"].dtype))
known(BOTH, "Resize Upsample", "integers that lie between two, where rounding falls to either side",
      lambda case, can, ours: not is_float(ours[0].dtype) and all(a[0].shape == ours[0].shape and (numpy.abs(a[0].astype("f8") - ours[0].astype("f8")) <= 1).all() for a in can.values()))
known(REFERENCE, "Resize Upsample", "an integer that lies between two, where rounding falls to either side", lambda case, can, ours: not is_float(ours[0].dtype)
      and can["reference"][0].shape == ours[0].shape and (numpy.abs(can["reference"][0].astype("f8") - ours[0].astype("f8")) <= 1).all())
known(RUNTIME, "Resize", "with antialias signed bytes below 0 are 0", lambda case, *_: case.attributes.get("antialias") and case.arrays["x0"].dtype == numpy.int8)
known(REFERENCE, "Resize", "pytorch_half_pixel to one element is at -0.5 there, at 0 in the standard",
      lambda case, can, ours: case.attributes.get("coordinate_transformation_mode") == "pytorch_half_pixel" and 1 in ours[0].shape)
known(REFERENCE, "OneHot", "it multiplies by on less off and adds off, which rounds", lambda case, can, ours: is_float(ours[0].dtype)
      and all(numpy.allclose(a[0].astype("f8"), ours[0].astype("f8"), rtol=1e-2) for a in can.values()))
known(REFERENCE, "Clip", "what has no default in opset 1 is asked of opset 7", before(6))
# ---- onnxruntime ----
known(RUNTIME, "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare ArgMax ArgMin", "of nothing it has other shapes or 0", empty)
known(RUNTIME, "Pad", "wrap with pads below 0 wraps around what is left, the standard and NumPy around the data", lambda case, *_: case.attributes.get("mode") == "wrap" and (case.arrays["x1"] < 0).any())
known(RUNTIME, "MatMul MatMulInteger", "a sum of no terms is what was in memory", empty)
known(RUNTIME, "Slice", "2^31 - 1 as end is the other end where the step is below 0", lambda case, *_: any(abs(int(n)) >= 2**31 - 1 for n in case.arrays["x2"].reshape(-1)))
known(RUNTIME, "Attention", "with is_causal a query sees as many keys more as there are more keys than queries, the standard as many as the cache had",
      lambda case, *_: case.attributes.get("is_causal") and "x4" in case.arrays)
known(RUNTIME, "Clip", "a bound that is not there is the end of the type, which cuts infinities", overflows)
known(RUNTIME, "Col2Im", "of images of other than two dimensions it passes over dilations", lambda case, *_: case.arrays["x1"].size != 2 and max(case.attributes.get("dilations", [1])) > 1)
known(RUNTIME, "Mod", "fmod of 64 bits is computed in double", lambda case, *_: case.attributes.get("fmod") and overflows(case))
known(RUNTIME, "QuantizeLinear", "in blocks float8 saturates whatever `saturate` says", attribute("saturate", 0))
known(RUNTIME, "QuantizeLinear", "in blocks it divides in float32, whatever the type of the scale", typed("float16", "bfloat16"))
known(RUNTIME, "InstanceNormalization", "of one element x less its mean is not 0")
known(RUNTIME, "Shrink", "x less bias is cut in another order", overflows)
known(RUNTIME, "MeanVarianceNormalization", "a variance of 0 divides by 0, the standard adds 1e-9")
known(RUNTIME, "LpPool MaxPool AveragePool", "with SAME and strides above the window it takes elements away ahead", lambda case, *_: case.attributes.get("auto_pad", "").startswith("SAME"))
known(RUNTIME, "LpPool MaxPool AveragePool", "with VALID and ceil_mode it has a window that hangs over", lambda case, *_: case.attributes.get("auto_pad") == "VALID" and case.attributes.get("ceil_mode"))
known(REFERENCE, "QuantizeLinear", "it divides in float32, whatever the type of the scale", typed("float16", "bfloat16"))
known(RUNTIME, "ConvTranspose", "with SAME and strides above the kernel its output is smaller than input times stride", lambda case, *_: case.attributes.get("auto_pad", "").startswith("SAME"))
known(RUNTIME, "Cast CastLike", "out of range of 4 bits ONNX says nothing", lambda case, *_: case.types[0] in ("int4", "uint4", "int2", "uint2"))
known(RUNTIME, "Cast CastLike", "float8e8m0 has no sign, which it makes the least number of a number below 0", lambda case, *_: case.types[0] == "float8e8m0")
known(RUNTIME, "Cast CastLike", "-0 of a float below 32 bits is true", lambda case, *_: case.types[0] == "bool" and (case.arrays["x0"].astype("f4") == 0).any())
known(RUNTIME, "Resize Upsample", "it cuts integers, the reference rounds them", lambda case, *_: not is_float(case.arrays["x0"].dtype) and case.attributes.get("mode") in ("linear", "cubic", "bilinear"))
known(RUNTIME, "Resize", "align_corners counts whole elements where the scale leaves a part of one", attribute("coordinate_transformation_mode", "align_corners"))
known(RUNTIME, "Resize", "nearest places are computed in float32", lambda case, *_: case.attributes.get("mode", "nearest") == "nearest")
known(RUNTIME, "CastLike Cast", "an infinity that saturates stays one where the type is the same", overflows)
