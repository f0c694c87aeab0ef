#!/usr/bin/env python3
"""ways.py: each network and example by each way onto a GPU, of each capability from 8.0 to 12.1, on the stand-in for the driver: the bits of --target c.

    ways.py INGOT [--seed N] [NAME…]        exit 0: right, 1: wrong, 77: no NVRTC, no C++ compiler or no NumPy

The ways are `ingot run --target cuda`, which compiles for the GPU that it finds; the bare library and the managed one with its runtime, which have code for sm_80,
sm_90, sm_100 and PTX.  A sample, drawn by the seed ($INGOT_SEED): the digits and one more of the smaller ones, each way on some GPUs.  INGOT_LONG=1, or names: all
of it; of the networks for large pictures a call each, of others three."""
import argparse
import os
import random
import shutil
import sys

import library
from library import LONG, ROOT, Library, call, emulated, expect, managed_program
import models

CAPABILITIES = [80, 86, 87, 89, 90, 100, 103, 110, 120, 121]
PICTURES = ["resnet50", "squeezenet", "shufflenet"]            # 224 x 224: seconds a call
EXAMPLES = ["digits"]                                          # the transformer is among the networks
DRIVER = {"STANDIN_VERSION": "13090"}                          # which reads the PTX of any NVRTC


def case_of(name):
    """(model, folder of its data), or a word about what is missing."""
    if name in EXAMPLES:
        folder = os.path.join(ROOT, "examples", name)
        return os.path.join(folder, name + ".onnx"), folder
    return models.case_of(name)


class Subject:
    """A model under one name, so that its text is the same whoever prints it, and what --target c makes of it."""

    def __init__(self, ingot, name, case, folder):
        self.ingot, self.name, self.data = ingot, name, case[1]
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder)
        self.model = os.path.join(self.folder, name + ".onnx")
        os.symlink(os.path.abspath(case[0]), self.model)
        self.once = name in PICTURES
        status, want = models.run(ingot, (self.model, self.data), "c", self.folder)
        expect(name + ": --target c", status == 0, want)
        self.want = [array.tobytes() for array in want] if status == 0 else None
        self.text, self.kernels = {}, {}                       # by the set of architectures, by the text

    def built(self, archs):
        """The folder of the library for these architectures."""
        out = os.path.join(self.folder, "built_" + archs.replace(",", "_"))
        if not os.path.exists(out):
            call(self.ingot, "build", self.model, "--target", "cuda", "--name", self.name, "--arch", archs, "-o", out)
        return out

    def engine(self, driver, capabilities):
        """ingot itself.  GPUs of one kind get one text, which the emulator gets once, with the images for all of them."""
        texts = {}
        for capability in capabilities:
            out = self.built("sm_%d%s" % (capability, "a" * (capability == 90)))
            texts.setdefault(open(os.path.join(out, self.name + ".cu")).read(), []).append((capability, out))
        for alike in texts.values():
            images = [os.path.join(out, file) for _, out in alike for file in sorted(os.listdir(out)) if file.endswith(".cubin")]
            kernels = emulated(alike[0][1], self.name, images)
            for capability, _ in alike:
                before = dict(os.environ)
                os.environ.update(DRIVER, LD_LIBRARY_PATH=driver, STANDIN_KERNELS=kernels, STANDIN_CAPABILITY=str(capability), STANDIN_ABORT="1")
                status, got = models.run(self.ingot, (self.model, self.data), "cuda", self.folder)
                os.environ.clear()
                os.environ.update(before)
                expect("%s, ingot run, capability %d" % (self.name, capability), status == 0, got)
                expect("%s, ingot run, capability %d: bits" % (self.name, capability), status or [array.tobytes() for array in got] == self.want)
        return len(texts)

    def libraries(self, driver, bare, managed):
        """Both kinds of library, each on its capabilities."""
        made = Library(self.ingot, self.model, self.data, self.name, self.folder)
        for capability in bare:
            status, message, said, got = made.run(driver, "once" if self.once else "host", **DRIVER, STANDIN_CAPABILITY=str(capability), STANDIN_SEED=str(capability))
            expect("%s, bare, capability %d" % (self.name, capability), status == 0 and not said, (status, message, said))
            expect("%s, bare, capability %d: bits" % (self.name, capability), got == self.want)
        run, outs = managed_program(self.ingot, self.model, self.data, self.name, driver, self.folder, made.kernels)
        for capability in managed:
            done = run(**DRIVER, STANDIN_CAPABILITY=str(capability), STANDIN_SEED=str(capability), MANAGED_TIMES="1" if self.once else "3")
            expect("%s, managed, capability %d" % (self.name, capability), done.returncode == 0 and not done.stderr, (done.returncode, done.stdout, done.stderr))
            expect("%s, managed, capability %d: bits" % (self.name, capability), [open(path, "rb").read() for path in outs] == self.want)


def all_of(options, ingot, folder, driver):
    draw, everything = random.Random(options.seed), LONG or options.names
    names = options.names or [name for name in EXAMPLES + models.NETWORKS + models.MADE + PICTURES[1:] if everything or name not in PICTURES]
    there = {}
    for name in names:
        case = case_of(name)
        if isinstance(case, str):
            print("%s: skipped, %s" % (name, case), flush=True)
        else:
            there[name] = case
    if not everything:
        small = [name for name in there if name not in EXAMPLES]
        there = {name: there[name] for name in EXAMPLES + draw.sample(small, min(1, len(small)))}
    some = lambda count: CAPABILITIES if everything else sorted(draw.sample(CAPABILITIES, count))
    for name, case in there.items():
        subject = Subject(ingot, name, case, folder)
        if subject.want is None:
            continue
        run, bare, managed, before = some(1), some(3), some(3), library.wrong
        texts = subject.engine(driver, run)
        subject.libraries(driver, bare, managed)
        said = lambda one: " ".join("%d.%d" % (capability // 10, capability % 10) for capability in one)
        print("%s: ingot run on %s (%d texts), bare on %s, managed on %s: %s" % (name, said(run), texts, said(bare), said(managed),
                                                                                 "wrong" if library.wrong > before else "the bits of --target c"), flush=True)
        shutil.rmtree(subject.folder)


def main():
    parser = argparse.ArgumentParser(description="three ways onto a GPU, on the stand-in for its driver")
    parser.add_argument("ingot")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INGOT_SEED", "1")))
    options = parser.parse_intermixed_args()
    unknown = set(options.names) - set(EXAMPLES + models.NETWORKS + models.MADE + PICTURES)
    if unknown:
        parser.error("no network and no example: " + " ".join(sorted(unknown)))
    return library.main(lambda ingot, folder, driver: all_of(options, os.path.abspath(ingot), folder, driver))


if __name__ == "__main__":
    sys.exit(main())
