#!/usr/bin/env python3
"""world.py: networks as the world's exporters write them (exports.py) fit what onnxruntime makes of them without optimisations, by interpreter, JIT and C.

    world.py INGOT [NAME...]      exit 0: right, 1: wrong, 77: not asked for (INGOT_LONG=1 does), or no exporters and no network
PyTorch and the other exporters go by pip into an environment of their own ($INGOT_WORLD, else world/ in $INGOT_BENCH_CACHE or ~/.cache/ingot):
some 7 GB.  Of those that stand for their kind all have to be exported, and right."""
import json
import os
import subprocess
import sys
import tempfile

PACKAGES = ("torch torchvision timm transformers pandas onnx onnxscript onnxruntime scikit-learn skl2onnx lightgbm xgboost catboost onnxmltools"
            " onnxconverter-common").split()
# Those that stand for their kind; the rest by name.
CHOSEN = ("mobilenet_v3_small shufflenet_v2 efficientnet_b0 regnet lraspp mixer vit_tiny_legacy mobilevit ghostnet levit edgenext fastvit xcit bert bert_lengths roberta"
          " deberta gpt2 t5_encoder llama vit segformer wav2vec2 whisper_encoder whisper_decoder lstm_time gru forest svc logistic neighbours columns_of_text words_counted lightgbm lightgbm_categories"
          " xgboost catboost bert_optimised gpt2_optimised bert_extended squeezenet_half bert_dynamic mobilenet_qdq lstm_dynamic llama_4bits").split()


def python_of():
    """A Python that has the exporters, or what is missing."""
    cache = os.environ.get("INGOT_BENCH_CACHE") or os.path.expanduser("~/.cache/ingot")
    folder = os.environ.get("INGOT_WORLD") or os.path.join(cache, "world")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if subprocess.run([python, "-c", "import torch, timm, transformers, catboost, onnxmltools, onnxconverter_common"], capture_output=True).returncode:
        told = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES], capture_output=True, text=True)
        if told.returncode:
            return None, "the exporters cannot be installed: " + told.stderr.strip().splitlines()[-1]
    return python, ""


def write(name, folder):
    """The case, as `ingot check` takes it.  Runs where the exporters are."""
    import numpy as np
    import onnxruntime
    import exports
    model = os.path.join(folder, "model.onnx")
    feeds = exports.EXPORTS[name](model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {one.name: feeds[one.name] for one in session.get_inputs()}
    said = {"inputs": [], "outputs": []}
    # Of the largest value.  Float32 needs 2.4e-6; dynamic quantisation 6e-5, where a sum lies by a tie.  Of float16 two steps: onnxruntime, which keeps float32
    # between nodes, and ingot, which rounds behind each, are as far from the same weights in float32 (bert_half: both 0.0044 of 4.07, 0.0039 from each other).
    near = 2e-3 if "half" in name else 2e-4 if "dynamic" in name or "qdq" in name else 1e-5
    for kind, values in ("in", list(feeds.items())), ("out", list(zip([one.name for one in session.get_outputs()], session.run(None, feeds)))):
        for i, (called, value) in enumerate(values):
            if isinstance(value, list):                       # maps: a row of each
                value = np.array([list(row.values()) for row in value], np.float32)
            value = np.asarray(value)
            value = value.astype(str) if value.dtype == object else value
            file = "%s_%d.npy" % (kind, i)
            np.save(os.path.join(folder, file), value)
            one = {"name": called, "dims": list(value.shape), "type": str(value.dtype), "file": file}
            if value.dtype.kind == "f" and kind == "out":
                one["atol"] = float(near * max(1e-3, np.abs(value).max(initial=0)))
            said[kind + "puts"].append(one)
    with open(os.path.join(folder, "io.json"), "w") as file:
        json.dump(said, file)
    with open(os.path.join(folder, "options.json"), "w") as file:
        json.dump([word for one in exports.RANGES.get(name, "").split() for word in ("--dim", one)], file)


def main():
    if sys.argv[1] == "--write":
        return write(*sys.argv[2:4])
    ingot, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not names and not os.environ.get("INGOT_LONG"):
        print("skipped: with --long alone (INGOT_LONG=1), or by names")
        sys.exit(77)
    python, missing = python_of()
    if not python:
        print("skipped:", missing)
        sys.exit(77)
    wrong, right = [], []
    for name in names or CHOSEN:
        with tempfile.TemporaryDirectory(prefix="world.") as folder:
            made = subprocess.run([python, "-B", __file__, "--write", name, folder], capture_output=True, text=True)
            if made.returncode:
                print("%s: not exported: %s" % (name, (made.stderr.strip().splitlines() or ["?"])[-1][:200]), flush=True)
                wrong.append(name)
                continue
            with open(os.path.join(folder, "options.json")) as file:
                options, failed = json.load(file), False
            for target in "interpreter", "jit", "c":
                told = subprocess.run([ingot, "check", os.path.join(folder, "model.onnx"), folder, "--target", target, *options], capture_output=True, text=True)
                failed |= told.returncode != 0
                if told.returncode:
                    print("%s by %s: exit %d: %s%s" % (name, target, told.returncode, told.stdout[-400:], told.stderr[-400:]), flush=True)
            (wrong if failed else right).append(name)
    print("%d of %d networks right by interpreter, JIT and C%s" % (len(right), len(right) + len(wrong), "; not: " + " ".join(wrong) if wrong else ""))
    sys.exit(1 if wrong else 0)


main()
