"""rows_images.py: rows/kernels.cu -> code for GPUs, by NVRTC, and the same text on the emulator for the driver that stands in for NVIDIA's.

    rows_images.py FOLDER       writes FOLDER/images.h, images.c and, by the C++ compiler, kernels.so; without NVRTC or compiler no images
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "cuda"))
import nvrtc

ARCHITECTURES = ["sm_80", "sm_90", "sm_100", "compute_80"]


def images(text):
    """[(architecture, bytes)]"""
    dll = nvrtc.library()
    if not dll or not shutil.which("g++"):
        return []
    made = []
    for architecture in ARCHITECTURES:
        status, log, image = nvrtc.Nvrtc(dll).compile(text, "kernels.cu", architecture)
        if status:
            sys.exit(log)
        made.append((architecture, image.encode() + b"\0" if isinstance(image, str) else image))
    return made


def main():
    folder = sys.argv[1]
    source = os.path.join(HERE, "rows", "kernels.cu")
    emulator = os.path.join(ROOT, "backends", "cuda", "emulator")
    os.makedirs(folder, exist_ok=True)
    text = open(source).read()
    made = images(text)
    with open(os.path.join(folder, "images.h"), "w") as out:
        out.write('#define ROW_IMAGES %d\n#define ROW_KERNELS "%s"\n' % (len(made), os.path.join(os.path.abspath(folder), "kernels.so")))
    with open(os.path.join(folder, "images.c"), "w") as out:
        out.write('#include "gpu.h"\n')
        for architecture, image in made:
            out.write("static const _Alignas(16) unsigned char %s[] = {\n" % architecture)
            for at in range(0, len(image), 32):
                out.write("\t%s,\n" % ", ".join(map(str, image[at:at + 32])))
            out.write("};\n")
        out.write("const struct ingot_module_image row_images[] = {\n")
        for architecture, _ in made:
            out.write("\t{ %s, %s, %s },\n" % (architecture, architecture.split("_")[1], "INGOT_IMAGE_TEXT" if architecture.startswith("compute") else "0"))
        out.write("\t{ 0, 0, 0 }\n};\n")
    symbols = re.findall(r"^KERNEL (\w+)\(", text, re.M)
    if made:
        subprocess.run(["g++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-I", emulator, '-DTEXT="%s"' % source,
                        "-DKERNELS=%s" % " ".join("X(%s)" % symbol for symbol in symbols), os.path.join(ROOT, "tests", "cuda", "driver", "kernels.cpp"),
                        os.path.join(emulator, "emulator.cpp"), "-o", os.path.join(folder, "kernels.so")], check=True)


main()
