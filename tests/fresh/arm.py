#!/usr/bin/env python3
"""ingot itself on 64-bit Arm: cross-compiled with Debian's libraries of that machine, and run under qemu: interpreter, C by the cross
compiler and the JIT give the bits of the ingot of this machine.

    arm.py INGOT [FOLDER]

The libraries are Debian packages that are downloaded into the folder, which is kept where it is named; nothing is installed.  Only with
INGOT_LONG=1, as it compiles for a quarter of an hour; 77 with the reason where something is not there."""
import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CC, QEMU = "aarch64-linux-gnu-gcc", shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
PACKAGES = "libjansson-dev libzip-dev libxxhash-dev libunistring-dev libtcc-dev libc6-dev".split()
APT = """APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Dir::State "%(at)s/apt";
Dir::State::status "%(at)s/apt/status";
Dir::Cache "%(at)s/apt/cache";
Dir::Cache::archives "%(at)s/debs";
Dir::Etc::SourceList "%(at)s/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
"""
SOURCES = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"
TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER %(cc)s)
set(CMAKE_SYSROOT %(root)s)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR "%(qemu)s;-L;%(root)s")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} %(root)s/usr/lib/aarch64-linux-gnu/pkgconfig:%(root)s/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} %(root)s)
"""
# A convolution network, a small dense one, and a graph of what is computed in other ways.
MIXED = """<ir_version: 8, opset_import: ["" : 17]>
mixed (float[4,8] x) => (float[4,8] share, float[4,4] alike, float[4,2] most, int64[4,2] at, uint8[4,8] bytes, double[4] sums)
<int64[1] two = {2}, int64[1] one = {1}, float scale = {0.125}, uint8 zero = {128}>
{
	share = Softmax <axis = -1> (x)
	turned = Transpose <perm = [1, 0]> (x)
	alike = MatMul (x, turned)
	most, at = TopK (x, two)
	bytes = QuantizeLinear (x, scale, zero)
	wide = Cast <to = 11> (x)
	cubed = Mul (wide, wide)
	sums = ReduceSum <keepdims = 0> (cubed, one)
}
"""


def array(path, dims):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(dims)}, }}".ljust(117) + "\n"
    count = dims[0] * dims[1]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{count}f", *(i / 8 - 1 for i in range(count))))
    return path


def models(at):
    """Model and its inputs."""
    with open(os.path.join(at, "mixed.onnxtxt"), "w") as file:
        file.write(MIXED)
    examples = os.path.join(ROOT, "examples")
    yield os.path.join(examples, "digits", "digits.onnx"), "image=" + os.path.join(examples, "digits", "in_0.npy")
    yield os.path.join(examples, "cartpole", "cartpole.onnxtxt"), "seen=" + array(os.path.join(at, "seen.npy"), (1, 5))
    yield os.path.join(at, "mixed.onnxtxt"), "x=" + array(os.path.join(at, "x.npy"), (4, 8))


def skipped(why):
    print("skipped: " + why)
    sys.exit(77)


def done(*words, **more):
    ran = subprocess.run(words, capture_output=True, text=True, **more)
    if ran.returncode:
        print(f"FAILED {' '.join(words)}: exit {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        sys.exit(1)
    return ran.stdout


def elements(told):
    return json.loads(told)["outputs"]


def libraries(at):
    """Debian's for 64-bit Arm, below at/root."""
    root = os.path.join(at, "root")
    if os.path.isdir(root):
        return root
    for folder in ("apt/lists/partial", "apt/cache", "debs/partial"):
        os.makedirs(os.path.join(at, folder), exist_ok=True)
    for name, text in (("apt/conf", APT % {"at": at}), ("apt/sources.list", SOURCES), ("apt/status", "")):
        with open(os.path.join(at, name), "w") as file:
            file.write(text)
    environment = dict(os.environ, APT_CONFIG=os.path.join(at, "apt/conf"))
    for words in (["update"], ["install", "-y", "--no-install-recommends", "--download-only", *PACKAGES]):
        ran = subprocess.run(["apt-get", "-qq", *words], env=environment, capture_output=True, text=True)
        if ran.returncode:
            skipped("apt-get: " + (ran.stderr.strip().split("\n") or [""])[-1])
    for package in sorted(glob.glob(os.path.join(at, "debs", "*.deb"))):
        done("dpkg", "-x", package, root + ".part")
    os.rename(root + ".part", root)
    return root


def main(ingot, at=None):
    if not os.environ.get("INGOT_LONG"):
        skipped("ingot for 64-bit Arm compiles for a quarter of an hour; INGOT_LONG=1 or ./check --long tries it")
    for what, found in ((CC, shutil.which(CC)), ("qemu-aarch64", QEMU), ("apt-get", shutil.which("apt-get"))):
        if not found:
            skipped("no " + what)
    with tempfile.TemporaryDirectory(prefix="test-arm.") as own:
        at = os.path.abspath(at or own)
        root, build = libraries(at), os.path.join(at, "build")
        with open(os.path.join(at, "toolchain.cmake"), "w") as file:
            file.write(TOOLCHAIN % {"cc": CC, "root": root, "qemu": QEMU})
        done("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DINGOT_TESTS=OFF", "-DCMAKE_TOOLCHAIN_FILE=" + os.path.join(at, "toolchain.cmake"))
        done("cmake", "--build", build, "--target", "ingot")
        emulated = [QEMU, "-L", root, os.path.join(build, "ingot")]
        environment = dict(os.environ, CC=CC, TMPDIR=own)
        failures = 0
        for model, fed in models(own):
            want = done(os.path.abspath(ingot), "run", model, "--target", "interpreter", "--json", "--input", fed)
            for engine in ("interpreter", "c", "jit"):
                got = done(*emulated, "run", model, "--target", engine, "--json", "--input", fed, env=environment)
                same = elements(got) == elements(want)
                failures += not same
                print("ok    " if same else "FAILED", os.path.basename(model), engine, "" if same else got[:500])
        # A library that it makes is the one that ingot makes here.
        made = []
        for word, program in ("there", emulated), ("here", [os.path.abspath(ingot)]):
            out = os.path.join(own, word)
            done(*program, "build", os.path.join(ROOT, "examples", "digits", "digits.onnx"), "--cpu", "armv8-a", "--cc", CC, "-o", out, env=environment)
            with open(os.path.join(out, "libdigits.a"), "rb") as file:
                made.append(file.read())
        failures += made[0] != made[1]
        print("ok    " if made[0] == made[1] else "FAILED", "the same library, byte for byte")
    print(f"{failures} failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
