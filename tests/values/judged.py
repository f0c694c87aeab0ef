"""judged.py: graphs with drawn weights, and runs of them beside what another engine makes; a test that imports it is skipped where no such engine is."""
import functools
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

from told import run


def drawn(random, text):
    """Weights for each hole: as many as its type says."""
    while "%s" in text:
        at = text.index("%s")
        shape = text[:at].rsplit("float[", 1)[1].split("]")[0]
        text = text[:at] + ",".join("%.3f" % v for v in random.standard_normal(int(np.prod([int(n) for n in shape.split(",")])))) + text[at + 2:]
    return text


@functools.cache
def session(text):
    """onnxruntime's, of one thread: others wait by spinning, for longer than such a graph takes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(onnx.parser.parse_model(text).SerializeToString(), options, providers=["CPUExecutionProvider"])


def judged(wrong, bits, key, file, text, given, target, *more, atol=1e-4):
    """Runs the file, which holds the text; adds to `wrong` where onnxruntime makes something else of the text, or who came before with that key other bits."""
    np.savez("in.npz", **given)
    code, _, message = run("run", file, "--input", "in.npz", "--output", "out.npz", "--target", target, *more)
    if code:
        wrong.append(message)
        return
    judge = session(text)
    with np.load("out.npz") as made:
        for k, v in zip([o.name for o in judge.get_outputs()], judge.run(None, given)):
            if made[k].shape != v.shape or not np.allclose(made[k], v, rtol=1e-3, atol=atol):
                wrong.append("%s: %s is %s %s, not %s %s" % (key, k, made[k].shape, made[k].ravel()[:40].tolist(), v.shape, v.ravel()[:40].tolist()))
        now = {o.name: made[o.name].tobytes() for o in judge.get_outputs()}
        wrong += ["%s: other bits" % (key,)] if bits.setdefault(key, now) != now else []
