"""What is known of the judges: where one of them is wrong, or ONNX leaves it open, each with its reason."""

# What moves, casts, compares or counts: exact also in floats.
EXACT = set("""Identity Cast CastLike BitCast Reshape Flatten Transpose Squeeze Unsqueeze Concat Split Slice Pad Tile Expand Gather GatherElements GatherND OneHot EyeLike Trilu
ReverseSequence Constant ConstantOfShape DepthToSpace SpaceToDepth CenterCropPad Compress NonZero Unique Where Abs Neg Not Relu Sign Max Min ReduceMax ReduceMin MaxPool GlobalMaxPool
Ceil Floor Round TopK Hardmax MaxUnpool TensorScatter Scatter Dropout QuantizeLinear""".split())

REASONS = []


def because(reason, *ops):
    def put(function):
        REASONS.append((set(ops), function, reason))
        return function
    return put


def reason_for(case, wrong, can, ours):
    """Why the judges in `wrong` (name: difference) are not right here, or None.  can: answers of those that run it."""
    for ops, function, reason in REASONS:
        if (not ops or case.op in ops) and function(case, wrong, can, ours):
            return reason
    return None
