#!/usr/bin/env python3
"""NAME.json is as docs/manifest.schema.json says, whatever is built, and the hash in it is that of the weights.

    manifest.py INGOT        exit 0: right, 1: wrong, 77: no jsonschema in this Python"""
import ctypes, ctypes.util, json, os, subprocess, sys, tempfile

try:
    import jsonschema
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DIGITS, ADD = os.path.join(ROOT, "examples", "digits", "digits.onnx"), os.path.join(HERE, "models", "add.onnxtxt")
BUILDS = [[DIGITS], [DIGITS, "--no-compile"], [DIGITS, "--profile", "managed", "--no-compile"], [DIGITS, "--profile", "managed", "--schedule", "steps", "--no-compile"],
          [DIGITS, "--target", "cuda", "--no-compile"], [DIGITS, "--cpu", "generic", "--threads", "2", "--no-compile"], [DIGITS, ADD, "--name", "both", "--no-compile"], [DIGITS, "--cpu", "native", "--no-compile"],
          [DIGITS, ADD, "--name", "both", "--profile", "managed", "--no-compile"], [os.path.join(HERE, "models", "symbolic.onnxtxt"), "--dim", "N=1", "--no-compile"]]


def xxh64(path):
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    library.XXH64.restype, library.XXH64.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    with open(path, "rb") as file:
        data = file.read()
    return f"{library.XXH64(data, len(data), 0):016x}"


def wrong(program, words, check, version):
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([program, "build", *words, "-o", out], check=True, capture_output=True)
        path = next(os.path.join(out, name) for name in sorted(os.listdir(out)) if name.endswith(".json"))
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        told = [f"{'/'.join(map(str, e.absolute_path)) or 'whole'}: {e.message[:200]}" for e in check.iter_errors(manifest)]
        if manifest["version"] != version:
            told.append(f"version {manifest['version']}, {version} is right")
        there = {os.path.relpath(os.path.join(folder, name), out) for folder, _, names in os.walk(out) for name in names}
        if there != set(manifest["files"]):
            told.append(f"files: {sorted(there ^ set(manifest['files']))} are in the folder or in the manifest alone")
        weights = os.path.join(out, manifest["prefix"] + "_weights.bin")
        if os.path.exists(weights) != (manifest["weights_bytes"] > 0) or os.path.exists(weights) != ("weights_hash" in manifest):
            told.append("weights, their bytes and their hash are not there together")
        elif os.path.exists(weights) and manifest["weights_hash"] != xxh64(weights):
            told.append(f"weights_hash {manifest['weights_hash']}, {xxh64(weights)} is right")
    return told


def main(program):
    with open(os.path.join(ROOT, "docs", "manifest.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    bad = 0
    for words in BUILDS:
        for why in wrong(program, words, check, version):
            bad += 1
            print(f"{' '.join(map(os.path.basename, words))}: {why}")
    print(f"{len(BUILDS)} manifests, {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
