#!/usr/bin/env python3
"""nvrtc.py: NVRTC compiles each network's .cu for sm_80 and sm_90; no kernel may spill or keep a stack that grows out of hand.

    nvrtc.py INGOT MODEL…        exit 0: right, 1: wrong, 77: no NVRTC, or no case
NVRTC: $CUDA_HOME's, the one of PyPI's nvidia-cuda-nvrtc in this Python, or the system's."""
import ctypes
import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import networks

ARCHITECTURES = ["sm_80", "sm_90"]


def library():
    places = []
    if os.environ.get("CUDA_HOME"):
        places += glob.glob(os.path.join(os.environ["CUDA_HOME"], "lib*", "libnvrtc.so*"))
    for folder in sys.path:
        places += glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libnvrtc.so*"))
    places += glob.glob("/usr/local/cuda/lib*/libnvrtc.so*")
    for place in sorted(p for p in places if ".alt." not in p and "builtins" not in p) + ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]:
        try:
            return ctypes.CDLL(place)
        except OSError:
            pass
    return None


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

    def compile(self, text, name, architecture):
        """(status, log, bytes of the cubin)"""
        program = ctypes.c_void_p()
        headers = (ctypes.c_char_p * 1)(b"")                    # math.h: NVRTC knows its functions without it
        names = (ctypes.c_char_p * 1)(b"math.h")
        self.check(self.dll.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 1, headers, names), "nvrtcCreateProgram")
        options = [b"--gpu-architecture=" + architecture.encode(), b"-fmad=false", b"--ptxas-options=-v", b"-std=c++17"]
        status = self.dll.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        size = ctypes.c_size_t()
        self.check(self.dll.nvrtcGetProgramLogSize(program, ctypes.byref(size)), "nvrtcGetProgramLogSize")
        log = ctypes.create_string_buffer(size.value + 1)
        self.check(self.dll.nvrtcGetProgramLog(program, log), "nvrtcGetProgramLog")
        cubin = b""
        if not status:
            self.check(self.dll.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
            cubin = ctypes.create_string_buffer(size.value)
            self.check(self.dll.nvrtcGetCUBIN(program, cubin), "nvrtcGetCUBIN")
            cubin = cubin.raw
        self.dll.nvrtcDestroyProgram(ctypes.byref(program))
        return status, log.value.decode(errors="replace"), cubin


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
    with tempfile.TemporaryDirectory(prefix="cuda.") as folder:
        for name, model in networks.models(models, folder):
            out = os.path.join(folder, name)
            done = subprocess.run([ingot, "build", model, "--target", "cuda", "--no-compile", "--name", name, "-o", out], capture_output=True, text=True)
            if done.returncode:
                print("%s: %s" % (name, done.stderr))
                wrong += 1
                continue
            text = open(os.path.join(out, name + ".cu")).read()
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
