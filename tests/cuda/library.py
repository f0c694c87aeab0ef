#!/usr/bin/env python3
"""library.py: CUDA libraries as their users have them, on a driver that is no GPU's (driver/driver.c).

    library.py INGOT          exit 0: right, 1: wrong, 77: no NVRTC or no C++ compiler.  INGOT_LONG=1: every network, every failing call

Each library is built by `ingot build --target cuda`, its header and host side compiled strictly as C99 and C++, linked into driver/program.c and run by host
arrays (one call, a captured graph, the graph again) and by device memory, in streams, workspaces and graphs of the caller's: the bits of --target c.  Then places
where it cannot run, and every driver call failing once: a status and a message each, nothing left behind."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "models"), os.path.join(HERE, "..")]
import models
from here import by_turns
import networks
import nvrtc

LONG = bool(os.environ.get("INGOT_LONG"))
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Wshadow", "-Wundef", "-Werror"]
EMULATOR = os.path.join(ROOT, "backends", "cuda", "emulator")
GIVES_BACK = re.compile(r"Free|Destroy|Unload|Release|Pop|Push|Synchronize|EndCapture")         # what such a call keeps when it fails is left
SECOND_WAY = re.compile(r"HostAlloc|PointerGetAttribute|EventQuery|CaptureMode")         # where such a call fails, it goes without, or asks again
LIMITS = ["fma", "mma", "copy", "empty"]
wrong = 0


def expect(what, right, said=""):
    global wrong
    if not right:
        wrong += 1
        print("wrong: %s %s" % (what, said))


def call(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit("%s: exit %d\n%s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def build_driver(folder, *flags):
    os.makedirs(folder)
    call("gcc", "-std=gnu11", "-Wall", "-Wextra", "-O1", "-g", "-fPIC", "-shared", "-fvisibility=hidden", *flags, "-o", os.path.join(folder, "libcuda.so.1"),
         *[os.path.join(HERE, "driver", part + ".c") for part in ("driver", "execute", "memory", "modules", "streams")], "-ldl", "-pthread")


def shared_kernels(folder, kernels, text, *flags, images=()):
    """driver/kernels.cpp around a text, the images of it, and the emulator, as an object of its own: the same for every text."""
    common = ["g++", "-std=c++17", "-O1", "-w", "-fPIC", "-ffp-contract=off", *flags]
    emulator = os.path.join(folder, "emulator.o")
    call(*common, "-c", os.path.join(EMULATOR, "emulator.cpp"), "-o", emulator)
    objects = [emulator]
    if "-DINGOT_GROUPS" in flags:                                  # its kernels ask for what sm_90a has
        objects.append(os.path.join(folder, "hopper.o"))
        call(*common, "-c", os.path.join(EMULATOR, "hopper.cpp"), "-o", objects[-1])
    if images:
        objects.append(os.path.join(folder, "images.o"))
        call("gcc", "-fPIC", "-DIMAGES=%s" % " ".join('X(%d, "%s")' % image for image in enumerate(images)), "-c", os.path.join(HERE, "driver", "images.c"), "-o", objects[-1])
    call(*common, "-shared", "-I", EMULATOR, "-I", ".", *text, os.path.join(HERE, "driver", "kernels.cpp"), *objects, "-o", kernels, cwd=folder)
    return kernels


def emulated(folder, name, images=None, *flags):
    """The kernels of a library, compiled for the emulator, with the images of their text: those of the folder, where no others are named."""
    kernels = os.path.join(folder, "kernels%s.so" % "".join(re.findall(r"\d+", "".join(flags))))
    images = images or [os.path.join(folder, file) for file in sorted(os.listdir(folder)) if file.endswith((".cubin", ".ptx"))]
    symbols = [symbol for file in sorted(os.listdir(folder)) if file.endswith("_launches.h")
               for symbol in re.findall(r'^\t"(\w+)",$', open(os.path.join(folder, file)).read(), re.M)]
    return shared_kernels(folder, kernels, ['-DTEXT="%s.cu"' % name, "-DKERNELS=%s" % " ".join("X(%s)" % s for s in symbols)],
                          "-fsanitize=alignment", "-fno-math-errno", *flags, *(["-mfma"] if "fma" in open("/proc/cpuinfo").read() else []), images=images)


def limits_kernels(folder):
    """Those that measure what a device does at most, for the emulator; of their images nobody says anything."""
    text, kernels = os.path.join(folder, "limits.cu"), os.path.join(folder, "limits.so")
    shutil.copy(os.path.join(ROOT, "templates", "cuda", "limits.jinja"), text)
    return shared_kernels(folder, kernels, ['-DTEXT="limits.cu"', "-DKERNELS=%s" % " ".join("X(limit_%s)" % one for one in LIMITS)])


def kernels_for(ingot, model, name, folder, *archs):
    """The kernels of a model, with their tiles for the GPU in the middle of these architectures, for the emulator."""
    out = os.path.join(folder, "_".join([name, *archs]))
    call(ingot, "build", model, "--target", "cuda", "--name", name, "--arch", ",".join(archs), "-o", out)
    return emulated(out, name)


class Library:
    """A model's library, its kernels on the emulator and the program, in a folder."""

    def __init__(self, ingot, model, data, name, folder, *options):
        self.folder, self.data = os.path.join(folder, name), data
        call(ingot, "build", model, "--target", "cuda", "--name", name, "-o", self.folder, *options)
        self.manifest = json.load(open(os.path.join(self.folder, name + ".json")))
        languages = [one for one in (["gcc", "-std=c99"], ["g++", "-std=c++11", "-x", "c++"], ["clang", "-std=c99"]) if shutil.which(one[0])]
        for language in by_turns(languages, len(name), 1):
            call(*language, *STRICT, "-fsyntax-only", name + ".c", cwd=self.folder)
        self.kernels = emulated(self.folder, name)
        self.link("program")

    def link(self, program, *before):
        """driver/program.c; what is `before` the library comes in its place."""
        name = self.manifest["prefix"]
        fields = {side: " ".join("X(%s, %d)" % (one["field"], one["bytes"]) for one in self.manifest[side]) for side in ("inputs", "outputs")}
        call("gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-I", ".", "-DNAME=" + name, '-DHEADER="%s.h"' % name, "-DWORKSPACE=%s_WORKSPACE_BYTES" % name.upper(), "-DOWN=%s_OWN_STREAM" % name.upper(),
             "-DINPUTS=" + fields["inputs"], "-DOUTPUTS=" + fields["outputs"], *["-DCHECKED"] * ("checks" in self.manifest), os.path.join(HERE, "driver", "program.c"),
             *before, os.path.join(self.folder, self.manifest["library"]), "-ldl", "-o", os.path.join(self.folder, program), cwd=self.folder)

    def run(self, driver, behaviour="host", ordinal=0, program="program", **environment):
        """(status, message, what was said on standard error, outputs)"""
        import numpy as np
        io = json.load(open(os.path.join(self.data, "io.json")))
        files = {one["name"]: os.path.join(self.data, one["file"]) for one in io["inputs"]}
        words = []
        for i, one in enumerate(self.manifest["inputs"]):
            words.append(os.path.join(self.folder, "in_%d" % i))
            np.ascontiguousarray(np.load(files[one["name"]])).tofile(words[-1])
        outs = [os.path.join(self.folder, "out_%d" % i) for i in range(len(self.manifest["outputs"]))]
        done = subprocess.run([os.path.join(self.folder, program), str(ordinal), behaviour, *words, *outs], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_KERNELS": self.kernels, **environment})
        if done.returncode:
            return done.returncode, "the program ended by %d" % done.returncode, done.stderr, None
        status, _, message = done.stdout.strip().partition(" ")
        return int(status), message, done.stderr, [open(out, "rb").read() if os.path.exists(out) else b"" for out in outs]


def managed_program(ingot, model, data, name, driver, folder, kernels, *options):
    """The folder of the managed profile, with cc alone, and driver/managed.c on it: run(environment…), and the paths of what it writes."""
    import numpy as np
    out, program = os.path.join(folder, name + "_managed"), os.path.join(folder, name + "_program")
    call(ingot, "build", model, "--target", "cuda", "--profile", "managed", "--name", name, "-o", out, *options)
    made = json.load(open(os.path.join(out, name + ".json")))
    runtime = os.path.join(out, "runtime", "include")
    for language in ["gcc", "-std=c99"], ["g++", "-std=c++11", "-x", "c++"]:
        for source in name + ".c", name + "_module.c":
            call(*language, *STRICT, "-I", runtime, "-fsyntax-only", source, cwd=out)
    fields = {side: " ".join('X("%s", %d)' % (one["name"], one["bytes"]) for one in made[side]) for side in ("inputs", "outputs")}
    call("gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-I", out, "-I", runtime, "-DNAME=" + name, '-DHEADER="%s.h"' % name, "-DINPUTS=" + fields["inputs"],
         "-DOUTPUTS=" + fields["outputs"], os.path.join(HERE, "driver", "managed.c"), os.path.join(out, made["library"]), os.path.join(out, "libingot_runtime.a"), "-lm", "-pthread",
         "-ldl", "-o", program)
    io = json.load(open(os.path.join(data, "io.json")))
    files = {one["name"]: os.path.join(data, one["file"]) for one in io["inputs"]}
    ins = [os.path.join(folder, "managed_in_%d" % i) for i in range(len(made["inputs"]))]
    outs = [os.path.join(folder, "managed_out_%d" % i) for i in range(len(made["outputs"]))]

    def run(**more):
        for path, one in zip(ins, made["inputs"]):
            np.ascontiguousarray(np.load(files[one["name"]])).tofile(path)
        return subprocess.run([program, *ins, *outs], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_KERNELS": kernels, **more})
    return run, outs


def managed(ingot, model, data, name, driver, folder, kernels, calls_fail=True, *options):
    """Two contexts on two streams, an event between them; and each call of the driver fails."""
    run, outs = managed_program(ingot, model, data, name, driver, folder, kernels, *options)
    status, want = models.run(ingot, (model, data), "c", folder)
    expect(name + ": --target c", status == 0, want)
    want = [array.tobytes() for array in want]
    for more in {"STANDIN_SEED": "1"}, {"STANDIN_SEED": "2", "STANDIN_CAPABILITY": "86"}, {"STANDIN_SEED": "3", "STANDIN_CAPABILITY": "120", "STANDIN_VERSION": "13090"}:
        done = run(**more)
        expect("%s, managed, %s" % (name, more), done.returncode == 0 and not done.stderr, (done.stdout, done.stderr))
        expect("%s, managed, %s: bits" % (name, more), [open(path, "rb").read() for path in outs] == want)
    if not calls_fail:
        return print("%s, managed: bits of --target c" % name, flush=True)
    done = run(STANDIN_INVALID="90")
    expect("managed: an image that is none to the driver", done.returncode == 0 and not done.stderr, (done.stdout, done.stderr))
    done = run(STANDIN_INVALID="90", STANDIN_VERSION="12000")
    expect("managed: none of its images is one to the driver", "cuModuleLoadDataEx: device kernel image is invalid (200)" in done.stdout, (done.stdout, done.stderr))
    for code, words in (226, "an exception that the GPU has contained"), (805, "no connection to the MPS server"), (911, "an external device has failed"), (999, "unknown error"):
        for n in range(40, 300):                           # the next call whose failure is one
            done = run(STANDIN_FAIL=str(n), STANDIN_CODE=str(code))
            if not GIVES_BACK.search(done.stderr) and not SECOND_WAY.search(done.stderr):
                break
        expect("managed: error %d" % code, "%s (%d)" % (words, code) in done.stdout and ("is lost" in done.stdout) == (code in (226, 911)), (done.stdout, done.stderr))
    for more, words in (({"STANDIN_CAPABILITY": "75"}, "none of its 4 images is for a GPU of capability 7.5 with a driver for CUDA 13.0"),
                        ({"STANDIN_INIT": "100"}, "backend cuda: cuInit: no CUDA-capable device is detected (100)"),
                        ({"STANDIN_MEMORY": "4096"}, "cuMemAlloc_v2: out of memory (2)"), ({"LD_LIBRARY_PATH": folder}, "there is no libcuda.so.1, which NVIDIA's driver brings")):
        done = run(**more)
        expect("managed: " + words, done.returncode == 1 and words in done.stdout, (done.stdout, done.stderr))
    for n in range(1, 300, 1 if LONG else 13):              # how many there are depends on when ends are heard of
        done = run(STANDIN_FAIL=str(n))
        failed = re.findall(r"^failed: (\w+)$", done.stderr, re.M)
        left = [line for line in done.stderr.splitlines() if not line.startswith("failed: ")]
        suffered = not failed or GIVES_BACK.search(failed[0]) or SECOND_WAY.search(failed[0])
        expect("managed: call %d fails" % n, (done.returncode == 1 and ("(999)" in done.stdout or "no event of the driver" in done.stdout)) or (done.returncode == 0 and suffered), (done.returncode, done.stdout, done.stderr))
        expect("managed: call %d fails: bits" % n, done.returncode or [open(path, "rb").read() for path in outs] == want)
        expect("managed: call %d fails: what is left" % n, not left or GIVES_BACK.search(failed[0]), left)
    print("%s, managed: two contexts, bits of --target c; calls of the driver fail: a message, nothing left" % name, flush=True)


def same_bits(ingot, library, model, data, name, driver, folder, behaviours=("host", "device", "beside"), seeds=(1, 2)):
    status, want = models.run(ingot, (model, data), "c", folder)
    expect(name + ": --target c", status == 0, want)
    want = [array.tobytes() for array in want]
    for behaviour in behaviours:
        for seed in seeds:
            status, message, said, got = library.run(driver, behaviour, STANDIN_SEED=str(seed))
            expect("%s by %s" % (name, behaviour), status == 0 and not said, "%d %s %s" % (status, message, said))
            expect("%s by %s: bits" % (name, behaviour), got == want)
    print("%s: %d launches, %d kernels, bits of --target c" % (name, len(library.manifest["kernels"]), len({k.get("symbol") for k in library.manifest["kernels"]})), flush=True)


def changed(library, folder, before, after):
    """The library, whose "changed" is its program with another text of the host's side."""
    source, path = open(os.path.join(library.folder, library.manifest["prefix"] + ".c")).read(), os.path.join(folder, "changed.c")
    expect("the text of a fault: " + before, source.count(before) == 1)
    with open(path, "w") as file:
        file.write(source.replace(before, after))
    call("gcc", "-std=gnu11", "-w", "-c", "-I", library.folder, path, "-o", path + ".o", cwd=folder)
    library.link("changed", path + ".o")
    return library


def case(data, signature, body, shapes, outputs):
    """A model's text, and drawn inputs beside it in the folder `data`; its path."""
    import numpy as np
    os.makedirs(data)
    random = np.random.default_rng(5)
    for name, shape in shapes.items():
        np.save(os.path.join(data, name + ".npy"), random.standard_normal(shape).astype("f4"))
    with open(os.path.join(data, "io.json"), "w") as file:
        json.dump({"inputs": [{"name": name, "file": name + ".npy"} for name in shapes], "outputs": [{"name": name} for name in outputs]}, file)
    model = os.path.join(data, "model.onnxtxt")
    with open(model, "w") as file:
        file.write('<ir_version: 9, opset_import: ["" : 18]>\nm %s\n{\n\t%s\n}\n' % (signature, body))
    return model


def log_of(library, image):
    """What NVRTC says of the library's text for that architecture."""
    name = library.manifest["prefix"]
    with open(os.path.join(library.folder, name + ".cu")) as file:
        return nvrtc.Nvrtc(nvrtc.library()).compile(file.read(), name + ".cu", image["arch"])[1]


def manifest(library):
    """What it says of the images: their files are there, no kernel spills."""
    codes = [image for image in library.manifest["images"] if not image["ptx"]]
    judged = [image["file"] for image in by_turns(codes, len(library.manifest["prefix"]), 1)]          # NVRTC is asked once more
    for image in library.manifest["images"]:
        expect("manifest: " + image["file"], os.path.getsize(os.path.join(library.folder, image["file"])) == image["bytes"])
        expect("manifest: kernels of " + image["file"], image["ptx"] or all(kernel["registers"] > 0 and kernel["spill_bytes"] == 0 for kernel in image["kernels"]), image.get("kernels"))
        if image["file"] not in judged:
            continue
        shared = {kernel["symbol"]: kernel["shared_bytes"] for kernel in image.get("kernels", [])}
        wanted = {name: of["shared"] for name, of in nvrtc.functions(log_of(library, image)).items()}
        expect("manifest: shared memory of " + image["file"], shared == wanted, (shared, wanted))
    try:
        import jsonschema
    except ImportError as missing:
        return print("the manifest is not held against its schema: %s" % missing)
    jsonschema.validate(library.manifest, json.load(open(os.path.join(ROOT, "docs", "manifest.schema.json"))))


def nans(ingot, driver, folder):
    """A GPU's NaN is not the CPU's: where one of them has a NaN the other has, and all else is the same bits, also what is made of them."""
    import numpy as np
    data = os.path.join(folder, "nans_case")
    os.makedirs(data)
    model = os.path.join(data, "model.onnxtxt")
    with open(model, "w") as file:
        file.write('<ir_version: 9, opset_import: ["" : 18]>\nm (float[64] x) => (float[64] y, float[64] z, int32[64] i, bool[64] b, float16[64] h, int64[64] p)\n{\n'
                   "\ty = Sqrt (x)\n\tn = Neg (y)\n\tz = Max (n, x)\n\ti = Cast <to = 6> (n)\n\tb = IsNaN (y)\n\th = Cast <to = 10> (n)\n\tk = Constant <value_ints = [64]> ()\n"
                   "\tt, p = TopK (n, k)\n}\n")
    np.save(os.path.join(data, "x.npy"), np.linspace(-3, 3, 64, dtype="f4"))
    with open(os.path.join(data, "io.json"), "w") as file:
        json.dump({"inputs": [{"name": "x", "file": "x.npy"}], "outputs": [{"name": name} for name in "yzibhp"]}, file)
    library = Library(ingot, model, data, "nans", folder, "--arch", "sm_90")
    status, want = models.run(ingot, (model, data), "c", folder)
    expect("nans: --target c", status == 0, want)
    status, message, said, got = library.run(driver)
    expect("nans", status == 0 and not said, (status, message, said))
    got = [np.frombuffer(one, w.dtype).reshape(w.shape) for one, w in zip(got, want)]
    expect("nans: bits", [models.same(one, w) for one, w in zip(got, want)] == [True] * len(want), (got, want))
    expect("nans: the GPU's is another", np.isnan(want[0]).sum() == 32 and (got[0].view("u4")[:32] == 0x7fffffff).all() and (want[0].view("u4")[:32] != 0x7fffffff).all(), got[0].view("u4"))
    print("nans: where the CPU has them", flush=True)


def checks(ingot, driver, folder):
    """An operand that is not what the graph declares: a status of run_host, and of checked behind run."""
    import numpy as np
    data = os.path.join(folder, "checks_case")
    os.makedirs(data)
    model = os.path.join(data, "model.onnxtxt")
    with open(model, "w") as file:
        file.write('<ir_version: 9, opset_import: ["" : 18]>\nm (float[4,6] x, int64[2] shape, int64[2] at) => (float[3,8] y, float[2,8] z)\n{\n\ty = Reshape (x, shape)\n\tz = Gather (y, at)\n}\n')
    values = {"x": np.arange(24, dtype="f4").reshape(4, 6), "shape": [3, 8], "at": [2, -3]}
    def give(**more):
        for name, value in {**values, **more}.items():
            np.save(os.path.join(data, name + ".npy"), np.array(value, None if name == "x" else "i8"))
    give()
    with open(os.path.join(data, "io.json"), "w") as file:
        json.dump({"inputs": [{"name": name, "file": name + ".npy"} for name in values], "outputs": []}, file)
    library = Library(ingot, model, data, "checks", folder)
    manifest(library)
    run, outs = managed_program(ingot, model, data, "checks", driver, folder, library.kernels)
    want = [values["x"].tobytes(), values["x"].reshape(3, 8)[[2, 0]].tobytes()]
    for more, status, words in ({}, 0, ""), ({"shape": [2, 12]}, 16, "the shape at run time is not [3, 8]"), ({"at": [0, 3]}, 17, "an index at run time is not in [-3, 2]"), ({}, 0, ""):
        give(**more)
        for behaviour in "host", "device":
            got = library.run(driver, behaviour)
            expect("checks by %s, %s" % (behaviour, more), got[0] == status and words in got[1] and not got[2] and (status or got[3] == want), got)
        done = run()
        expect("checks, managed, %s" % more, done.returncode == (1 if status else 0) and words in done.stdout and not done.stderr
               and (status or [open(path, "rb").read() for path in outs] == want), done)


LOOPS = {
    # rounds that are known: a graph
    "rounds": ("(float[3] h, float[3,3] w, float[3,90] x) => (float[3] y, float[90,3] s)",
               "y, s = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_directions = [1], body = g (float[3] a, float[3] p) => (float[3] n, float[3] t) "
               "{ m = MatMul (a, w) b = Add (m, p) n = Tanh (b) t = Identity (n) }> (h, x)", {"h": (3,), "w": (3, 3), "x": (3, 90)}),
    # rounds that data end, within such: the host waits
    "ended": ("(float[2] a, float[2] b) => (float[2] y)",
              "m = Constant <value = int64 {90}> () y = Loop <body = g (int64 i, bool c, float[2] v) => (bool on, float[2] u) { on = Identity (c) "
              "u = Loop <body = h (int64 j, bool d, float[2] p) => (bool go, float[2] q) { q = Add (p, b) k = Cast <to = 1> (i) n = ReduceMax <keepdims = 0> (q) go = Less (n, k) }> (, , v) }> "
              "(m, , a)", {"a": (2,), "b": (2,)})}


def loops(ingot, driver, folder):
    """Loops: the host goes round them."""
    import numpy as np
    for name, (signature, body, shapes) in LOOPS.items():
        data = os.path.join(folder, name + "_case")
        os.makedirs(data)
        model = os.path.join(data, "model.onnxtxt")
        with open(model, "w") as file:
            file.write('<ir_version: 9, opset_import: ["" : 17]>\nm %s\n{\n\t%s\n}\n' % (signature, body))
        for one, shape in shapes.items():
            np.save(os.path.join(data, one + ".npy"), np.random.default_rng(1).uniform(0.5, 1, shape).astype("f4"))
        with open(os.path.join(data, "io.json"), "w") as file:
            json.dump({"inputs": [{"name": one, "file": one + ".npy"} for one in shapes], "outputs": [{"name": one} for one in re.findall(r"\w+", re.sub(r"\S*\[[^]]*\]", "", signature.split("=>")[1]))]}, file)
        library = Library(ingot, model, data, name, folder)
        manifest(library)
        expect(name + ": a graph", ("int capture_0(" in open(os.path.join(library.folder, name + ".c")).read()) == (name == "rounds"))
        same_bits(ingot, library, model, data, name, driver, folder, ("host", "device") if name == "rounds" else ("host",))       # what waits cannot be captured
        managed(ingot, model, data, name, driver, folder, library.kernels, False)


def dynamic(ingot, driver, folder):
    """More shared memory than a kernel may have of its own: launches ask for it, and kernels are told before."""
    data = os.path.join(folder, "dynamic_case")
    model = case(data, "(float[300,200] x, float[200,260] w) => (float[300,260] y)", "y = MatMul (x, w)", {"x": (300, 200), "w": (200, 260)}, "y")
    tile = ("--tile", "64x96x32")
    library = Library(ingot, model, data, "dynamic", folder, *tile)
    expect("dynamic: bytes", [kernel["shared_bytes"] for kernel in library.manifest["kernels"]] == [4 * 3 * 32 * (64 + 96)], library.manifest["kernels"])
    manifest(library)
    same_bits(ingot, library, model, data, "dynamic", driver, folder)
    managed(ingot, model, data, "dynamic", driver, folder, library.kernels, False, *tile)
    said = changed(library, folder, "one->shared ? CALL(", "0 ? CALL(").run(driver, program="changed")[2]
    expect("a planted fault, an attribute that is not set, is seen", "61440 bytes of dynamic shared memory, its attribute allows 48128" in said, said)


def tiles(ingot, driver, folder):
    """Each image has its own tiles, and its own launches: right on GPUs of both, also by the text; one table for the other's image is seen."""
    data = os.path.join(folder, "tiles_case")
    model = case(data, "(float[512,64] x, float[64,512] w) => (float[512,512] y)", "t = MatMul (x, w) y = Relu (t)", {"x": (512, 64), "w": (64, 512)}, "y")
    library = Library(ingot, model, data, "tiles", folder, "--arch", "sm_80,sm_90a", "--tile", "each")
    tables = re.findall(r"_launches(?:_80)?\[TILES_LAUNCHES\] = \{\n(.*?)\n\};", open(os.path.join(library.folder, "tiles_launches.h")).read(), re.S)
    grids = [re.findall(r"\{ \d+, (\d+, \d+, \d+),", table) for table in tables]
    expect("tiles: two tables, of other grids", len(grids) == 2 and grids[0] != grids[1], tables)
    manifest(library)
    kernels = {arch: emulated(library.folder, "tiles", None, "-D__CUDA_ARCH__=%d" % arch) for arch in (800, 900)}
    status, want = models.run(ingot, (model, data), "c", folder)
    expect("tiles: --target c", status == 0, want)
    want = [array.tobytes() for array in want]
    for capability, arch in ("80", 800), ("86", 800), ("90", 900), ("100", 800):         # the last by the text of sm_80
        for behaviour in "host", "device":
            status, message, said, got = library.run(driver, behaviour, STANDIN_CAPABILITY=capability, STANDIN_VERSION="13090", STANDIN_KERNELS=kernels[arch])
            expect("tiles by %s, capability %s" % (behaviour, capability), status == 0 and not said and got == want, (status, message, said))
    status, _, said, got = library.run(driver, STANDIN_CAPABILITY="80", STANDIN_KERNELS=kernels[900])
    expect("a planted fault, the launches of another image, is seen", status or said or got != want)
    print("tiles: two images with tiles of their own, bits of --target c", flush=True)


def branches(ingot, driver, folder):
    """Launches that do not wait for each other are lanes of the graph; a wait that is missing is seen, each call may fail."""
    data = os.path.join(folder, "branches_case")
    model = case(data, "(float[4,64] x, float[64,48] p, float[64,48] q, float[64,48] r) => (float[4,48] y, float[4,48] z)",
                 "a = MatMul (x, p) b = MatMul (x, q) c = MatMul (x, r) d = Softmax <axis = 1> (a) e = Softmax <axis = 1> (b)\n\tf = Mul (d, e) y = Add (f, c) t = Sigmoid (c) z = Softmax <axis = 1> (t)",
                 {"x": (4, 64), "p": (64, 48), "q": (64, 48), "r": (64, 48)}, "yz")
    library = Library(ingot, model, data, "branches", folder, "--arch", "sm_90")
    lanes = re.search(r"BRANCHES_LANES (\d+)", open(os.path.join(library.folder, "branches_launches.h")).read())
    expect("branches: lanes", lanes and int(lanes.group(1)) >= 3, lanes)
    same_bits(ingot, library, model, data, "branches", driver, folder, seeds=range(1, 9))
    failing(library, driver, folder)
    right, source = library.run(driver)[3], open(os.path.join(library.folder, "branches.c")).read()
    waits, runs = "for (int i = 0; streams && i < lane->count; i++)", "CALL(device, cuGraphLaunch, (device->graphs[0], device->stream))"
    expect("the text of a fault: waits", source.count(waits) == 1 and source.count(runs) == 1)
    # What the call before left in the workspace is forgotten, so that who reads too early reads something else.
    source = source.replace(runs, "(CALL(device, cuMemcpyHtoDAsync_v2, (device->memory, zeros, sizeof zeros, device->stream)), %s)" % runs)
    source = source.replace("static int launch_0(", "static const char zeros[BRANCHES_WORKSPACE_BYTES];\nstatic int launch_0(", 1)
    for what, with_, is_fault in ("none", waits, False), ("no lane waits for another", waits.replace("i < lane->count", "i < (lane->after[0] == BRANCHES_LAUNCHES)"), True), ("no lane is forked", waits.replace("i < ", "i < 0 * "), True):
        changed = os.path.join(folder, "changed.c")
        open(changed, "w").write(source.replace(waits, with_))
        call("gcc", "-std=gnu11", "-w", "-c", "-I", library.folder, changed, "-o", changed + ".o", cwd=folder)
        library.link("changed", changed + ".o")
        found = [library.run(driver, "host", program="changed", STANDIN_SEED=str(seed)) for seed in range(1, 9)]
        expect("a planted fault, %s, is seen" % what, any(said or status or got != right for status, _, said, got in found) == is_fault, found[0][:3])


def cached(ingot, model, folder):
    """What was compiled before is read again, the same; what is broken there is compiled anew."""
    images, cache = [], os.path.join(folder, "own_cache")
    for step in range(3):
        out = os.path.join(folder, "cached")
        call(ingot, "build", model, "--target", "cuda", "--name", "digits", "--arch", "sm_90", "-o", out, env={**os.environ, "INGOT_CACHE": cache})
        images.append({name: open(os.path.join(out, name), "rb").read() for name in sorted(os.listdir(out)) if name.endswith((".cubin", ".ptx"))})
        if step == 1:
            for name in os.listdir(cache):
                with open(os.path.join(cache, name), "r+b") as file:
                    file.truncate(os.path.getsize(file.name) // 2)
    expect("images: of the cache, and anew", sorted(images[0]) == ["digits_compute_90.ptx", "digits_sm_90.cubin"] and images[0] == images[1] == images[2])


SERIAL = """	if (gridDim.y > 7) {
		float d[4] = { 0, 0, 0, 0 };
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
		for (int i = 0; i < (int)gridDim.y; i++) {
			asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 { %0, %1, %2, %3 }, %4, %5, p, 1, 1, 0, 0; }"
				: "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(gridDim.x + 1ull), "l"(gridDim.z + 1ull));
			d[0] += y[i];
			asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		}
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
		y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
	}
"""


def groups(ingot, driver, folder):
    """A library for sm_90a alone multiplies by warpgroups: right there (of integers any order has the same bits), and no code for another GPU."""
    import numpy as np
    data = os.path.join(folder, "groups_case")
    model = case(data, "(float[515,328] x, float[810,328] w) => (float[515,810] y)", "y = Gemm <transB = 1> (x, w)", {"x": (515, 328), "w": (810, 328)}, "y")
    for name in "xw":
        file = os.path.join(data, name + ".npy")
        np.save(file, np.rint(4 * np.load(file)))
    library = Library(ingot, model, data, "model", folder, "--arch", "sm_90a", "--math", "bf16")
    kernels, text = emulated(library.folder, "model", None, "-DINGOT_GROUPS"), open(os.path.join(library.folder, "model.cu")).read()
    expect("groups: one image, by wgmma", [one["file"] for one in library.manifest["images"]] == ["model_sm_90a.cubin"] and "MATRIX_GROUP_BF16_" in text, library.manifest["images"])
    manifest(library)
    status, want = models.run(ingot, (model, data), "c", folder)
    for behaviour in "host", "device":
        got = library.run(driver, behaviour, STANDIN_CAPABILITY="90", STANDIN_VERSION="13090", STANDIN_KERNELS=kernels)
        expect("groups: " + behaviour, status == 0 and got[0] == 0 and not got[2] and got[3] == [array.tobytes() for array in want], got[:3])
    source, changed = open(os.path.join(library.folder, "model.c")).read(), os.path.join(folder, "changed.c")
    for what, text, other in (("of other memory", "map, values[i] + of->at", "map, device->weights + of->at"), ("of other rows", "of->extent, of->pitch", "of->extent, of->pitch + 16"),
                              ("not aligned", "*map = made;", "*map = (struct tensor_map *)(void *)((char *)made + 8);"), ("not one", "pointers[i] = map++;", "")):
        expect("groups: the text of a map " + what, source.count(text) == 1)
        with open(changed, "w") as file:
            file.write(source.replace(text, other))
        call("gcc", "-std=gnu11", "-w", "-c", "-I", library.folder, changed, "-o", changed + ".o", cwd=folder)
        library.link("changed", changed + ".o")
        got = library.run(driver, "device", program="changed", STANDIN_CAPABILITY="90", STANDIN_VERSION="13090", STANDIN_KERNELS=kernels)
        expect("groups: a map %s is seen" % what, status or got[0] or got[2] or got[3] != [array.tobytes() for array in want], got[:3])
    for capability in "80", "100":
        got = library.run(driver, "host", STANDIN_CAPABILITY=capability, STANDIN_VERSION="13090", STANDIN_KERNELS=kernels)
        expect("groups: no code for capability " + capability, "there is no code for a GPU of capability" in str(got[1]), got[:3])
    out = os.path.join(data, "y.npy")
    done = subprocess.run([ingot, "run", model, "--target", "cuda", "--math", "bf16", "--output", "y=" + out, *[word for name in "xw" for word in ("--input", "%s=%s" % (name, os.path.join(data, name + ".npy")))]],
                          capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_KERNELS": kernels, "STANDIN_CAPABILITY": "90", "STANDIN_VERSION": "13090"})
    expect("groups: ingot run", done.returncode == 0 and not done.stderr and np.load(out).tobytes() == want[0].tobytes(), done)
    for command in ["run", model, *done.args[5:]], ["bench", model, "--rounds", "3", "--math", "bf16"]:              # whom its own architecture fails asks for another
        for arch, words in (("sm_90", "the image was not compiled from the emulator's text"), ("sm_50", 'no "sm_50" in NVRTC')):
            done = subprocess.run([ingot, *command, "--target", "cuda", "--arch", arch], capture_output=True, text=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_KERNELS": kernels, "STANDIN_CAPABILITY": "90", "STANDIN_VERSION": "13090"})
            expect("groups: ingot %s --arch %s" % (command[0], arch), done.returncode and words in done.stderr, done)
    print("groups: products of warpgroups, bits of --target c", flush=True)


def refused_tiles(ingot, folder):
    """A kernel that spills, or whose products the compiler makes wait for each other, gets a smaller tile: planted in the template of blocks."""
    template = open(os.path.join(ROOT, "templates", "cuda", "contraction.jinja")).read()
    model, planted = os.path.join(folder, "product.onnxtxt"), os.path.join(folder, "planted")
    os.makedirs(os.path.join(planted, "cuda"))
    with open(model, "w") as file:
        file.write('<ir_version: 9, opset_import: ["" : 18]>\nm (float[512,512] x, float[512,512] w) => (float[512,512] y, float[512,512] z)\n'
                   "{\n\ty = MatMul (x, w)\n\tz = MatMul (y, x)\n}\n")

    def build(*options):
        out = os.path.join(folder, "product")
        shutil.rmtree(out, ignore_errors=True)
        call(ingot, "build", model, "--target", "cuda", "--dump", "-o", out, *options)
        made = json.load(open(os.path.join(out, "product.json")))
        return made, open(os.path.join(out, "product.kernels.txt")).read()
    for what, arch, before, after in (("a spill", "sm_80,sm_90", '(threads, block.resident)', '(threads, 12)'),
                                      ("C7511", "sm_90a", "\n{\n\tlong at", "\n{\n//% if block\n" + SERIAL + "//% endif\n\tlong at")):
        usual = [kernel["tile"] for kernel in build("--arch", arch)[0]["kernels"]]
        expect("two products of one code, by blocks", len(usual) == 2 and all(tile.count("x") == 2 for tile in usual), usual)
        expect("the text of a fault: " + what, template.count(before) == 1)
        with open(os.path.join(planted, "cuda", "contraction.jinja"), "w") as file:
            file.write(template.replace(before, after))
        made, dumped = build("--arch", arch, "--templates", planted)
        tiles = [kernel["tile"] for kernel in made["kernels"]]
        expect("refused for %s: the next tile" % what, len(set(tiles)) == 1 and tiles[0] != usual[0] and dumped.count(tiles[0]) == 2, (usual, tiles))
        told = subprocess.run([ingot, "build", model, "--target", "cuda", "--arch", arch, "--templates", planted, "--tile", usual[0].replace(" ", ""), "-o", os.path.join(folder, "told")],
                              capture_output=True, text=True)
        expect("refused for %s: by --tile" % what, told.returncode == 2 and "the compiler refuses that tile" in told.stderr and not os.path.exists(os.path.join(folder, "told")), told)
        expect("refused for %s: no kernel spills" % what, not any(kernel["spill_bytes"] for image in made["images"] if not image["ptx"] for kernel in image["kernels"]), made["images"])


def by_cmake(ingot, model, library, driver):
    """The folder in a project that has it: its host side, images and weights by the assembler, and as C; the program on each."""
    name, project = library.manifest["prefix"], os.path.join(library.folder, "project")
    right = library.run(driver, "host")
    if not shutil.which("cmake"):
        return print("no cmake: the folder's CMakeLists.txt is not tried")
    os.makedirs(project)
    for how, format, end in ("linked", "ELF", ".S"), ("c", "MACHO", ".c"):
        call(ingot, "build", model, "--target", "cuda", "--name", name, "-o", library.folder, "--weights", how)
        with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
            file.write("cmake_minimum_required(VERSION 3.13)\nproject(consumer C)\nset(CMAKE_EXECUTABLE_FORMAT %s)\nadd_subdirectory(.. library)\n"
                       "get_target_property(sources %s SOURCES)\nmessage(\"sources: ${sources};\")\n" % (format, name))
        out = os.path.join(project, format)
        sources = re.search(r"sources: (.*);", subprocess.run(["cmake", "-S", project, "-B", out], capture_output=True, text=True).stderr).group(1).split(";")
        expect("by CMake, %s: sources" % format, {name + "_images" + end, name + "_weights" + end} == {one for one in sources if "_images." in one or "_weights." in one}, sources)
        call("cmake", "--build", out)
        made, want = (set(re.findall(r" [TR] (\w+)", call("nm", path))) for path in (os.path.join(out, "library", "lib%s.a" % name), os.path.join(library.folder, "lib%s.a" % name)))
        expect("by CMake, %s: symbols" % format, made == want and name + "_run_host" in made, made ^ want)
        library.link("by_cmake", os.path.join(out, "library", "lib%s.a" % name))
        expect("by CMake, %s: bits" % format, library.run(driver, "host", program="by_cmake") == right and right[0] == 0, right[:3])
    for language in ["gcc", "-std=c99"], ["g++", "-std=c++11", "-x", "c++"]:
        call(*language, *STRICT, "-fsyntax-only", name + "_images.c", name + "_weights.c", cwd=library.folder)


def refusals(ingot, model, folder):
    out = os.path.join(folder, "refused")
    for code, words, options in (
            (5, "nothing.so: is no NVRTC that can be opened", ["--nvrtc", "nothing.so"]),
            (5, "there is no NVRTC: pip install nvidia-cuda-nvrtc and set VIRTUAL_ENV, or name it by --nvrtc FILE; --no-compile writes sources alone", []),
            (2, '--arch: "sm_9o" should be as sm_80,sm_90', ["--arch", "sm_9o"]),
            (2, "--arch sm_90,sm_80,sm_90: sm_90 is there twice", ["--arch", "sm_90,sm_80,sm_90"]),
            (2, '--arch: no "sm_77" in NVRTC', ["--arch", "sm_77", "--nvrtc", nvrtc.library()._name]),
            (2, "--nvrtc goes without --no-compile: nothing is compiled", ["--no-compile", "--nvrtc", "x"]),
            (2, "--target cuda: --state is for --profile managed", ["--state", "a=b", "--no-compile"]),
            (2, "--target cuda: routines are schedules of kernels (--schedule steps, the default there)", ["--profile", "managed", "--schedule", "call", "--no-compile"]),
            (2, "--tile is for --target cuda", ["--tile", "warps", "--target", "c"]), (2, '--tile: "8x8" should be as 128x64x16 (rows, columns, terms), warps, or each', ["--tile", "8x8"]),
            (2, "--tile each goes with several architectures in --arch, without --profile managed", ["--tile", "each"]),
            (2, "--tile: no product has that tile; `ingot show --stage kernels` lists those of each", ["--tile", "1x2x3", "--no-compile"]),
            (2, "--arch is for --target cuda", ["--arch", "sm_80", "--target", "c"]), (2, "--nvrtc is for --target cuda", ["--nvrtc", "x.so", "--target", "c"])):
        if not options and any(os.path.exists(os.path.join("/usr/local/cuda", lib)) for lib in ("lib64", "lib")):
            continue
        done = subprocess.run([ingot, "build", model, "--target", "cuda", "-o", out, *options], capture_output=True, text=True,
                              env={k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CUDA_HOME")})
        expect("refused: " + " ".join(options), done.returncode == code and words in done.stderr and done.stderr.count("\n") == 1 and not os.path.exists(out),
               (done.returncode, done.stderr))
    call(ingot, "build", model, "--target", "cuda", "--no-compile", "-o", out)
    expect("sources alone", "digits.cu" in os.listdir(out) and not any(file.endswith((".cubin", ".ptx", ".a")) for file in os.listdir(out)), os.listdir(out))


def engine(ingot, library, model, folder):
    """ingot itself on the same driver: run, check and bench, and where it cannot."""
    words = [ingot, "check", model, library.data, "--target", "cuda"]
    kernels = kernels_for(ingot, model, "digits", folder, "sm_90a")             # of 9.0 all that it has
    there = {**os.environ, "LD_LIBRARY_PATH": os.path.join(folder, "driver"), "STANDIN_KERNELS": kernels}
    bench = {"STANDIN_KERNELS": kernels + ":" + limits_kernels(folder), "STANDIN_PROCESSORS": "2", "STANDIN_L2": "200000"}
    calls_of = {command: os.path.join(folder, "calls_of_" + command) for command in ("check", "bench")}         # how many of the driver's each makes
    for what, command, more, code, text in (
            ("check", words, {"STANDIN_CALLS": calls_of["check"]}, 0, "ok scores"),
            ("newer than NVRTC knows", words, {"STANDIN_CAPABILITY": "990", "STANDIN_VERSION": "13090", "STANDIN_KERNELS": kernels_for(ingot, model, "digits", folder, "sm_121")}, 0, "ok scores"),
            ("another text's kernels", words, {"STANDIN_CAPABILITY": "86"}, 5, "stand-in: cuModuleLoadDataEx: the image was not compiled from the emulator's text"),
            ("older", words, {"STANDIN_CAPABILITY": "35"}, 5, "compiles for no GPU of capability 3.5"),
            ("bench", [ingot, "bench", model, "--rounds", "3", "--target", "cuda"], {**bench, "STANDIN_CALLS": calls_of["bench"]}, 0, "stand-in 0: limits fma "),
            ("no GPU", words, {"STANDIN_INIT": "100"}, 5, "cuInit: no CUDA-capable device is detected (100)"),
            ("little memory", words, {"STANDIN_MEMORY": "4096"}, 6, "cuMemAlloc_v2: out of memory (2)"),
            ("no driver", words, {"LD_LIBRARY_PATH": folder}, 5, "there is no libcuda.so.1, which NVIDIA's driver brings; cuda-emulated runs the same kernels on the CPU")):
        done = subprocess.run(command, capture_output=True, text=True, env={**there, **more})
        expect("engine, %s" % what, done.returncode == code and text in done.stdout + done.stderr and ("stand-in:" in done.stderr) == ("stand-in:" in text), (done.returncode, done.stdout, done.stderr))


    done = subprocess.run([ingot, "bench", model, "--rounds", "3", "--target", "cuda", "--json"], capture_output=True, text=True, env={**there, **bench})
    times = json.loads(done.stdout) if not done.returncode else {"kernels": []}
    expect("bench --json", not done.stderr and [kernel["name"] for kernel in times["kernels"]] == [kernel["name"] for kernel in library.manifest["kernels"]]
           and all(kernel["microseconds"] > 0 for kernel in times["kernels"]) and times["rounds"] == 3
           and all(times[key] > 0 for key in ("call_microseconds", "launches_microseconds", "graph_microseconds")), done)
    limits = times.get("limits", {})
    expect("bench --json: limits", len(limits) == 5 and all(value > 0 for value in limits.values()) and times["device"] == "stand-in 0" and times["l2_bytes"] == 200000
           and (times["sets"] - 1) * times["set_bytes"] >= 200000, times)
    for kernel in times["kernels"]:
        near = kernel["bytes"] <= times["l2_bytes"] // 2
        least = {"fma" if kernel["multiply_adds"] >= kernel["operations"] else "operations": (kernel["multiply_adds"] + kernel["operations"]) / limits["fma_gflops"] / 500, ("L2" if near else "memory"): kernel["bytes"] / limits["l2_gbytes" if near else "memory_gbytes"] / 1000,
                 "launch": limits["launch_microseconds"]}
        expect("bench --json: what binds " + kernel["name"], kernel["bound"] == max(least, key=least.get) and abs(kernel["of_limit"] * kernel["microseconds"] / max(least.values()) - 1) < 1e-3, kernel)
    expect("bench --json: all at the limits", abs(times["of_limit"] * sum(kernel["microseconds"] for kernel in times["kernels"])
                                                  / sum(kernel["of_limit"] * kernel["microseconds"] for kernel in times["kernels"]) - 1) < 1e-3, times)
    done = subprocess.run([ingot, "bench", model, "--rounds", "3", "--target", "cuda", "--json"], capture_output=True, text=True, env={**there, **bench, "STANDIN_L2": "1"})
    expect("bench, nothing by turns that L2 does not hold", not done.returncode and json.loads(done.stdout)["sets"] == 2, done)
    done = subprocess.run([ingot, "bench", model, "--rounds", "3", "--target", "cuda"], capture_output=True, text=True, env=there)
    expect("bench, a kernel of the limits is not there", done.returncode == 5 and "the image was not compiled from the emulator's text" in done.stderr, done)
    # A kernel that fails is named, in run, check and bench.
    traps = os.path.join(folder, "traps")
    os.makedirs(os.path.join(traps, "cuda"))
    template = open(os.path.join(ROOT, "templates", "cuda", "loops.jinja")).read()
    before = "__launch_bounds__({{ threads }}) {{ kernel.name }}({{ kernel.params }})\n//% endif\n{\n"
    expect("the text of a fault: a trap", template.count(before) == 1)
    with open(os.path.join(traps, "cuda", "loops.jinja"), "w") as file:
        file.write(template.replace(before, before + '//% if "k3_" in kernel.name\n\t__trap();\n//% endif\n'))
    out = os.path.join(folder, "trapping")
    call(ingot, "build", model, "--target", "cuda", "--name", "digits", "--arch", "sm_90a", "--templates", traps, "-o", out)
    trapping = {"STANDIN_KERNELS": emulated(out, "digits")}
    for command in words, [ingot, "bench", model, "--rounds", "3", "--target", "cuda"]:
        done = subprocess.run([*command, "--templates", traps], capture_output=True, text=True, env={**there, **trapping})
        expect("%s, a kernel that traps" % command[1], "left:" not in done.stderr and done.returncode == 5 and re.search(r"kernel digits_k3_maximum: unspecified launch failure \(719\)", done.stderr), done)
    # Each call of the driver fails, of check all, of bench a few: the message of what failed, and nothing is left but what could not be given back.
    for command, more in (words, {}), ([ingot, "bench", model, "--rounds", "3", "--target", "cuda"], bench):
        calls = int(open(calls_of[command[1]]).read())
        for n in range(1, calls + 1, 1 if LONG else 25) if command is words else (calls // 9, calls // 2, calls - 150, calls - 60):
            done = subprocess.run(command, capture_output=True, text=True, env={**there, **more, "STANDIN_FAIL": str(n)})
            failed = re.findall(r"^failed: (\w+)$", done.stderr, re.M)
            back = not failed or GIVES_BACK.search(failed[0])
            expect("%s, call %d of %d fails" % (command[1], n, calls), (done.returncode == 5 and "(999)" in done.stderr) or (done.returncode == 0 and back), done)
            expect("%s, call %d of %d fails: what is left" % (command[1], n, calls), back or "stand-in:" not in done.stderr, done.stderr)
    old = os.path.join(folder, "without_events")
    build_driver(old, "-DcuEventRecord=gone")
    done = subprocess.run([ingot, "bench", model, "--rounds", "3", "--target", "cuda"], capture_output=True, text=True, env={**there, **bench, "LD_LIBRARY_PATH": old})
    expect("bench without events", done.returncode == 5 and "NVIDIA's driver lacks cuEventRecord: it is too old" in done.stderr, done)


def places(library, driver, lacking, folder):
    """Where it runs, and where it says why not."""
    for capability, ptx, status, words in (
            ("75", "13050", 8, "there is no code for a GPU of capability 7.5 with a driver for CUDA 13.5; there is: sm_80, sm_90, sm_100, sm_80 as PTX"),
            ("80", "13000", 0, ""), ("86", "13000", 0, ""), ("90", "13000", 0, ""), ("103", "13000", 0, ""), ("120", "13090", 0, ""),
            ("120", "12000", 8, "there is no code for a GPU of capability 12.0 with a driver for CUDA 12.0")):
        got = library.run(driver, "host", STANDIN_CAPABILITY=capability, STANDIN_VERSION=ptx)
        expect("capability %s, driver %s" % (capability, ptx), got[0] == status and got[1].startswith(words) and not got[2], got[:3])
    # A driver that takes an image for none takes the next one, the text; where it takes that for none, too, this is what is said.
    got = library.run(driver, "host", STANDIN_INVALID="90")
    expect("an image that is none to the driver", got[0] == 0 and not got[2], got[:3])
    got = library.run(driver, "host", STANDIN_INVALID="90", STANDIN_VERSION="12000", STANDIN_CAPABILITY="90")
    expect("none of its images is one to the driver", got[0] == 10 and got[1] == "cuModuleLoadDataEx: device kernel image is invalid (200)", got[:3])
    empty = os.path.join(folder, "empty")
    os.makedirs(empty)
    for what, where, more, ordinal, status, words in (
            ("no driver", empty, {}, 0, 5, "there is no libcuda.so.1, which NVIDIA's driver brings"),
            ("a stub", driver, {"STANDIN_INIT": "34"}, 0, 5, "cuInit: CUDA driver is a stub library (34)"),
            ("no GPU", driver, {"STANDIN_INIT": "100"}, 0, 6, "cuInit: no CUDA-capable device is detected (100)"),
            ("an old driver", lacking, {}, 0, 7, "the driver lacks cuGetErrorString: it is too old"),
            ("the third GPU", driver, {"STANDIN_DEVICES": "2"}, 2, 6, "there is no GPU 2: the driver has 2"),
            ("little memory", driver, {"STANDIN_MEMORY": "4096"}, 0, 9, "cuMemAlloc_v2: out of memory (2)"),
            ("the second GPU", driver, {"STANDIN_DEVICES": "2"}, 1, 0, "")):
        got = library.run(where, "host", ordinal, **more)
        expect(what, got[0] == status and got[1] == words and not got[2], got[:3])


def images(ingot, model, data, driver, folder):
    """Code for 8.0, for 9.0 alone, and PTX for what comes later, in one library with one blob of weights."""
    library = Library(ingot, model, data, "images", folder, "--arch", "sm_80,sm_90a")
    made = sorted(os.listdir(library.folder))
    expect("images", [one["file"] for one in library.manifest["images"]] == ["images_sm_80.cubin", "images_sm_90a.cubin", "images_compute_80.ptx"]
           and [name for name in made if name.endswith(".bin")] == ["images_weights.bin"], (library.manifest["images"], made))
    status, want = models.run(ingot, (model, data), "c", folder)
    for capability in "80", "86", "90", "100":
        got = library.run(driver, "host", STANDIN_CAPABILITY=capability, STANDIN_VERSION="13090")
        expect("images: capability " + capability, status == 0 and got[0] == 0 and not got[2] and got[3] == [array.tobytes() for array in want], got[:3])


def failing(library, driver, folder):
    """Each call fails, once, or for good; the host's side under AddressSanitizer and UndefinedBehaviorSanitizer (what is left the stand-in counts)."""
    file = os.path.join(folder, "calls")
    library.link("sanitized", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", os.path.join(library.folder, library.manifest["prefix"] + ".c"))
    library.run(driver, "host", STANDIN_CALLS=file)
    calls = int(open(file).read())
    expect("calls are counted", calls > 40, calls)
    for n in range(1, calls + 1):
        for more in ("", "+") if LONG else ("+" if n % 4 == 0 else "",):
            status, message, said, _ = library.run(driver, "host", program="sanitized", STANDIN_FAIL="%d%s" % (n, more), ASAN_OPTIONS="detect_leaks=0")
            failed = re.findall(r"^failed: (\w+)$", said, re.M)
            left = [line for line in said.splitlines() if not line.startswith("failed: ") and not line.endswith("is not joined")]         # a capture that is given up
            ending = all(GIVES_BACK.search(name) for name in failed)
            expect("call %d%s fails" % (n, more), len(failed) >= 1 and status in ((0, 10) if GIVES_BACK.search(failed[0]) or SECOND_WAY.search(failed[0]) else (10,)), (status, message, said))
            expect("call %d%s fails: what is left" % (n, more), not left or more or ending, left)
            if status == 10:
                expect("call %d%s fails: its message" % (n, more), "(999)" in message, message)
    print("%d driver calls, each failed: a status, a message, nothing left" % calls, flush=True)


def faults(library, driver, folder):
    """The stand-in sees what it is there for: libraries whose host side is changed."""
    name = library.manifest["prefix"]
    right = library.run(driver, "host")
    for what, before, after, words in (
            ("no context", "int status = CALL(device, cuCtxPushCurrent_v2, (device->primary));", "int status = 0;", "no current context"),
            ("what captures forbid", "*mode = RELAXED;", "*mode = 0;", "unsafe while a stream is captured"),
            ("a foreign address", "values[i] = inputs[at]; break;", "values[i] = inputs[at] + (1ull << 40); break;", "is no device memory"),
            ("a misaligned address", "values[i] = inputs[at]; break;", "values[i] = inputs[at] + 2; break;", "a misaligned address"),
            ("shared memory beside the kernel's own", "{ 32, warps, 1 }, shared, stream", "{ 32, warps, 1 }, 48 << 10, stream", "49152 bytes of dynamic shared memory, its attribute allows "),
            ("an overlap that the code does not wait for", "best->capability >= 90", "best->capability >= 80", "for which its code does not wait"),
            ("memory is kept", "(void)cuMemFree_v2_of(device)(device->weights);", ";", "left: 1 allocations"),
            ("a context is kept", "(void)cuDevicePrimaryCtxRelease_v2_of(device)(device->ordinal);", ";", "1 contexts"),
            ("a graph is kept", "(void)cuGraphDestroy_of(device)(graph);", ";", "1 graphs"),
            ("freed twice", "(void)cuMemFree_v2_of(device)(device->memory);", "{ (void)cuMemFree_v2_of(device)(device->memory); (void)cuMemFree_v2_of(device)(device->memory); }",
             "is no allocation"),
            ("a wrong grid", "{ { blocks, 1, 1 }", "{ { blocks > 1 ? blocks - 1 : 1, 1, 1 }", None)):
        status, _, said, got = changed(library, folder, before, after).run(driver, "beside" if "captures" in what else "host", program="changed", **{"STANDIN_CAPABILITY": "80"} if "overlap" in what else {})
        expect("a planted fault, %s, is seen" % what, words in said if words else status == 0 and not said and got != right[3], said)
    # The kernels' text is another than the images': one has a parameter more.
    other, text = os.path.join(folder, "other"), open(os.path.join(library.folder, name + ".cu")).read()
    another = re.sub(r'(extern "C" __global__ [^{;]*)\)(\s*\{)', r"\1, float *more)\2", text, count=1)
    shutil.copytree(library.folder, other)
    with open(os.path.join(other, name + ".cu"), "w") as file:
        file.write(another)
    said = library.run(driver, "host", STANDIN_KERNELS=emulated(other, name))[2]
    expect("a planted fault, a parameter too many, is seen", another != text and re.search(r"the image has \d+ parameters of \d+ bytes, the text \d+", said), said)


def main(body):
    """body(ingot, folder, driver), where what it needs is here; the exit status."""
    for lacks, what in ((not shutil.which("g++"), "g++"), (not nvrtc.library(), "NVRTC")):
        if lacks:
            print("skipped: no " + what)
            return 77
    os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    with tempfile.TemporaryDirectory(prefix="cuda.") as folder:
        os.environ.setdefault("INGOT_CACHE", os.path.join(folder, "cache"))         # ./check keeps one
        driver = os.path.join(folder, "driver")
        build_driver(driver)
        body(sys.argv[1], folder, driver)
    print("%d wrong" % wrong)
    return 1 if wrong else 0


def all_of(ingot, folder, driver):
    lacking = os.path.join(folder, "lacking")
    build_driver(lacking, "-DcuGetErrorString=gone")
    digits = os.path.join(ROOT, "examples", "digits")
    data = os.path.join(folder, "digits_case")
    first = Library(ingot, os.path.join(digits, "digits.onnx"), digits, "digits", folder)
    same_bits(ingot, first, os.path.join(digits, "digits.onnx"), digits, "digits", driver, folder)
    manifest(first)
    checks(ingot, driver, folder)
    nans(ingot, driver, folder)
    loops(ingot, driver, folder)
    branches(ingot, driver, folder)
    dynamic(ingot, driver, folder)
    tiles(ingot, driver, folder)
    groups(ingot, driver, folder)
    refused_tiles(ingot, folder)
    managed(ingot, os.path.join(digits, "digits.onnx"), digits, "digits", driver, folder, first.kernels)
    by_cmake(ingot, os.path.join(digits, "digits.onnx"), first, driver)
    cached(ingot, os.path.join(digits, "digits.onnx"), folder)
    engine(ingot, first, os.path.join(digits, "digits.onnx"), folder)
    refusals(ingot, os.path.join(digits, "digits.onnx"), folder)
    places(first, driver, lacking, folder)
    images(ingot, os.path.join(digits, "digits.onnx"), digits, driver, folder)
    failing(first, driver, folder)
    faults(first, driver, folder)
    for name, data in networks.cases(folder):
        if LONG or name in ("mlperf_ad_f32", "transformer"):
            model = os.path.join(data, "model.onnx")
            same_bits(ingot, Library(ingot, model, data, name, folder, "--arch", "sm_90"), model, data, name, driver, folder)


if __name__ == "__main__":
    sys.exit(main(all_of))
