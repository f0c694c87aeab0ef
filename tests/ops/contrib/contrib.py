#!/usr/bin/env python3
"""Operators of onnxruntime's own domain and of ai.onnx.ml, in small models with drawn numbers: what onnxruntime computes, by interpreter and JIT, a few by C.

    contrib.py SERVE_MODELS [--only WORD...] [--engines interpreter jit c]

Each file beside this one has a list of cases; what is not there yet is refused, with a message that names it.  Ends with 77 where there is no onnxruntime."""
import argparse
import collections
import os
import sys

try:
    import numpy, onnx, onnxruntime, ml_dtypes                                      # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "drawn"))
import judges
from cases import FAMILIES

ENGINES = {"interpreter": 0, "c": 1, "jit": 2}


def as_bytes(strings, width):
    """Strings as ingot hands them out: their bytes, with zeros behind what is shorter."""
    return numpy.array([list(s.encode().ljust(width, b"\0")) for s in strings.reshape(-1)], "u1").reshape(*strings.shape, width)


def near(got, want, slack):
    """Why two arrays are not near; `slack` is how many steps integers may be apart, as one that rounds differs in the last."""
    if want.dtype == object:
        want = as_bytes(want, got.shape[-1])
    if slack and got.shape == want.shape and got.dtype == want.dtype and got.dtype.kind in "iu":
        apart = numpy.abs(got.astype("i8") - want.astype("i8"))
        return f"{apart.max()} steps apart" if apart.size and apart.max() > slack else None
    return judges.differs(got, want)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["interpreter", "jit"])
    a = parser.parse_args()
    server, bad, seen, ran = judges.Server(os.path.abspath(a.server)), 0, collections.Counter(), 0
    for case in FAMILIES:
        if a.only and not any(word in case.name for word in a.only):
            continue
        if case.refused:
            answer = server.run(case.model.SerializeToString(), list(case.feeds.values()), ENGINES["interpreter"])
            ran += 1
            if answer.code != 4 or case.refused not in answer.message:
                bad += 1
                print(f"{case.name}: status {answer.code}: {answer.message}; one of 4 that says {case.refused} is right")
            continue
        try:
            want = case.want or onnxruntime.InferenceSession(case.model.SerializeToString(), judges.OPTIONS, providers=["CPUExecutionProvider"]).run(None, case.feeds)
        except Exception as why:                                                     # whatever onnxruntime says of it
            print(f"{case.name}: the judge: {str(why)[:300]}")
            bad += 1
            continue
        seen[case.op] += 1
        for engine in a.engines + (["c"] if seen[case.op] == 1 and "c" not in a.engines else []):
            answer = server.run(case.model.SerializeToString(), list(case.feeds.values()), ENGINES[engine])
            ran += 1
            why = f"status {answer.code}: {answer.message}" if answer.code else None
            for output, right in zip(case.model.graph.output, want):
                part = case.seen.get(output.name, ...)
                why = why or near(answer.outputs[output.name][part], numpy.asarray(right)[part], case.slack)
            if why:
                bad += 1
                print(f"{case.name}, {engine}: {why}")
    print(f"{len(seen)} operators in {sum(seen.values())} cases, {ran} runs, {bad} wrong")
    return bool(bad or not ran)


if __name__ == "__main__":
    sys.exit(main())
