#!/usr/bin/env python3
"""nvrtc.py: NVRTC compiles each network's .cu for sm_80 and sm_90; no kernel may spill or keep a stack that grows out of hand.

    nvrtc.py INGOT MODEL…        exit 0: right, 1: wrong, 77: no NVRTC, or no case
NVRTC: $CUDA_HOME's, the one of PyPI's nvidia-cuda-nvrtc in this Python, or the system's."""
import base64
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
import networks
from kept import kept

ARCHITECTURES = ["sm_80", "sm_90"]


def libraries():
    """Those that are there, the first of each version."""
    patterns = [os.path.join(os.environ["CUDA_HOME"], "lib*")] if os.environ.get("CUDA_HOME") else []
    patterns += ["/usr/local/cuda/lib*", *(os.path.join(folder, "nvidia", "*", "lib") for folder in sys.path)]
    places = [place for pattern in patterns for place in sorted(glob.glob(os.path.join(pattern, "libnvrtc.so*"))) if ".alt." not in place and "builtins" not in place]
    versions = set()
    for place in places + ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            dll = ctypes.CDLL(place)
        except OSError:
            continue
        version = Nvrtc(dll).version()
        if version not in versions:
            versions.add(version)
            yield dll


def library():
    return next(libraries(), None)


class Nvrtc:
    def __init__(self, dll):
        self.dll = dll
        dll.nvrtcGetErrorString.restype = ctypes.c_char_p

    def check(self, status, what):
        if status:
            raise RuntimeError("%s: %s" % (what, self.dll.nvrtcGetErrorString(status).decode()))

    def version(self):
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.dll.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
        return "%d.%d" % (major.value, minor.value)

    def compile(self, text, name, architecture, *more):
        """(status, log, bytes of the cubin; of "compute_80" the text of its PTX): as it was, where it was asked before."""
        options = [b"--gpu-architecture=" + architecture.encode(), b"-fmad=false", b"-std=c++17", *[b"--ptxas-options=-v"] * (not architecture.startswith("compute_")), *more]
        here = [option for option in options if b"include-path" in option]        # what such a folder holds is not in the question
        answer = lambda: self.ask(text, name, architecture, options)
        status, log, image = answer() if here else kept(["nvrtc", self.dll._name, self.version(), text, name, options], answer)
        image = base64.b64decode(image)
        return status, log, image.decode() if architecture.startswith("compute_") and not status else image

    def ask(self, text, name, architecture, options):
        program = ctypes.c_void_p()
        headers = (ctypes.c_char_p * 1)(b"")                    # math.h: NVRTC knows its functions without it
        names = (ctypes.c_char_p * 1)(b"math.h")
        self.check(self.dll.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 1, headers, names), "nvrtcCreateProgram")
        ptx = architecture.startswith("compute_")
        status = self.dll.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        size = ctypes.c_size_t()
        self.check(self.dll.nvrtcGetProgramLogSize(program, ctypes.byref(size)), "nvrtcGetProgramLogSize")
        log = ctypes.create_string_buffer(size.value + 1)
        self.check(self.dll.nvrtcGetProgramLog(program, log), "nvrtcGetProgramLog")
        cubin = b""
        if not status:
            size_of, get = (self.dll.nvrtcGetPTXSize, self.dll.nvrtcGetPTX) if ptx else (self.dll.nvrtcGetCUBINSize, self.dll.nvrtcGetCUBIN)
            self.check(size_of(program, ctypes.byref(size)), "the image's size")
            cubin = ctypes.create_string_buffer(size.value)
            self.check(get(program, cubin), "the image")
            cubin = cubin.raw.rstrip(b"\0") if ptx else cubin.raw
        self.dll.nvrtcDestroyProgram(ctypes.byref(program))
        return status, log.value.decode(errors="replace"), base64.b64encode(cubin).decode()


def functions(log):
    """{kernel: {registers, stack, stores, loads, shared}} from ptxas -v"""
    found, name = {}, None
    for line in log.splitlines():
        match = re.search(r"(?:Compiling entry function|Function properties for) '?([\w$]+)'?", line)
        if match:
            name = match.group(1)
            found.setdefault(name, {})
        match = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        if match and name:
            found[name].update(stack=int(match.group(1)), stores=int(match.group(2)), loads=int(match.group(3)))
        match = re.search(r"Used (\d+) registers", line)
        if match and name:
            found[name]["registers"] = int(match.group(1))
            shared = re.search(r"(\d+) bytes smem", line)
            found[name]["shared"] = int(shared.group(1)) if shared else 0
    return found


ROUNDED = re.compile(r"^(?:add|sub|mul|fma|div|rcp|sqrt|mad)\.(?!rn\.)(?:\w+\.)*(?:f32|f64|f16|bf16|f16x2|bf16x2|f32x2)$")
TO_FLOAT = re.compile(r"^cvt\.(?:rz|rm|rp)\.(?:\w+\.)*(?:f32|f64|f16|bf16)\.\w+$")


def loose(ptx):
    """What is not strict in a text of PTX: a float operation that does not round to nearest, a denormal that is flushed, an approximation."""
    found = []
    for line in ptx.splitlines():
        match = re.match(r"\s*(?:@!?%p\d+\s+)?([a-z][\w.]*)\s", line)
        word = match.group(1) if match else ""
        if ".ftz" in word or ".approx" in word or ROUNDED.match(word) or TO_FLOAT.match(word):
            found.append(word)
    return sorted(set(found))


def early(ptx):
    """Kernels that touch global memory before they have waited for the launch before them."""
    found = []
    for name, body in re.findall(r"^\.visible \.entry (\w+)\((.*?)^}", ptx, re.M | re.S):
        first = re.search(r"\b(?:(?:ld|st|atom|red)\.(?!param|shared|local|const)\w+|cp\.async|griddepcontrol\.wait)", body)
        if first and first.group() != "griddepcontrol.wait":
            found.append(name)
    return found


def main():
    ingot, models = sys.argv[1], sys.argv[2:]
    dll = library()
    if not dll:
        print("skipped: no NVRTC ($CUDA_HOME, or PyPI's nvidia-cuda-nvrtc)")
        return 77
    nvrtc, wrong, compiled = Nvrtc(dll), 0, 0
    print("NVRTC " + nvrtc.version())
    # What is wrong must be found: a spill, and a text that does not compile.
    status, log, _ = nvrtc.compile("extern \"C\" __global__ void __launch_bounds__(1024) spill(float *x) { float s[96];\n#pragma unroll\n"
                                   "for (int i = 0; i < 96; i++) s[i] = x[i * 1024 + threadIdx.x];\n__syncthreads();\nfor (int k = 0; k < x[0]; k++) {\n"
                                   "#pragma unroll\nfor (int i = 0; i < 96; i++) s[i] = s[i] * s[(i + 7) % 96] + x[k]; }\n#pragma unroll\n"
                                   "for (int i = 0; i < 96; i++) x[i * 1024 + threadIdx.x] = s[i]; }", "spill.cu", "sm_80")
    if status or not functions(log).get("spill", {}).get("stores"):
        print("a kernel that must spill is not seen to: %d\n%s" % (status, log))
        wrong += 1
    if not nvrtc.compile("__global__ void broken( {", "broken.cu", "sm_80")[0]:
        print("a broken text compiles")
        wrong += 1
    sloppy = "extern \"C\" __global__ void k(float *x, double *d, int i) { x[0] = %s; }"
    for what, options, words in (("x[1] / x[2]", [b"-use_fast_math"], ["div.approx.ftz.f32"]), ("x[1] + x[2]", [b"--ftz=true"], ["add.rn.ftz.f32"]),
                                 ("__fdiv_rd(x[1], x[2])", [], ["div.rm.f32"]), ("__expf(x[1])", [], ["ex2.approx"]), ("__fmul_rz(x[1], x[2])", [], ["mul.rz.f32"]),
                                 ("__int2float_rz(i)", [], ["cvt.rz.f32.s32"]), ("(float)d[1] + sqrtf(x[1]) / fmaf(x[1], x[2], (float)i) + floorf(x[3]) - rintf(x[4])", [], [])):
        status, log, ptx = nvrtc.compile(sloppy % what, "k.cu", "compute_80", *options)
        found = [] if status else loose(ptx)
        if status or bool(found) != bool(words) or not all(any(one.startswith(word) for one in found) for word in words):
            print("%s %s: the lint finds %s\n%s" % (what, options, found, log or ""))
            wrong += 1
    late = 'asm volatile("griddepcontrol.wait;" ::: "memory");'
    status, log, ptx = nvrtc.compile('extern "C" __global__ void a(float *x) { %s x[0] = 1; } extern "C" __global__ void b(float *x) { x[0] = 1; } '
                                     'extern "C" __global__ void c(float *x) { x[0] = 1; %s x[1] = 1; }' % (late, late), "waits.cu", "compute_90")
    if status or sorted(early(ptx)) != ["b", "c"]:
        print("kernels that do not wait: %s\n%s" % (status or early(ptx), log))
        wrong += 1
    with tempfile.TemporaryDirectory(prefix="cuda.") as folder:
        for name, model in networks.models(models, folder):
            out = os.path.join(folder, name)
            done = subprocess.run([ingot, "build", model, "--target", "cuda", "--no-compile", "--name", name, "-o", out], capture_output=True, text=True)
            if done.returncode:
                print("%s: %s" % (name, done.stderr))
                wrong += 1
                continue
            text = open(os.path.join(out, name + ".cu")).read()
            status, log, ptx = nvrtc.compile(text, name + ".cu", "compute_80")
            found = [log[:2000]] if status else loose(ptx)
            if found:
                print("%s: its PTX is not strict: %s" % (name, found))
                wrong += 1
            status, log, ptx = nvrtc.compile(text, name + ".cu", "compute_90")
            if status or early(ptx):
                print("%s: kernels that do not wait for the launch before them: %s" % (name, log[:2000] if status else early(ptx)))
                wrong += 1
            for architecture in ARCHITECTURES:
                status, log, cubin = nvrtc.compile(text, name + ".cu", architecture)
                if status:
                    print("%s %s:\n%s" % (name, architecture, log[:2000]))
                    wrong += 1
                    continue
                found = functions(log)
                kernels = {k: v for k, v in found.items() if "registers" in v}
                spills = {k: v for k, v in found.items() if v.get("stores") or v.get("loads")}
                warnings = [line for line in log.splitlines() if "warning" in line]
                compiled += 1
                print("%-16s %s: %2d kernels, at most %3d registers, %3d bytes of stack, %5d of shared memory; %d spill; cubin %d bytes" % (
                    name, architecture, len(kernels), max(v["registers"] for v in kernels.values()), max(v.get("stack", 0) for v in found.values()),
                    max(v["shared"] for v in kernels.values()), len(spills), len(cubin)), flush=True)
                if spills or warnings or len(kernels) != len(re.findall(r'extern "C" __global__', text)):
                    print("  spills %s, warnings %s" % (spills, warnings))
                    wrong += 1
    if not compiled and not wrong:
        print("skipped: no cases")
        return 77
    print("%d compiled, %d wrong" % (compiled, wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
