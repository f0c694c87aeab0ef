"""sass.py: what ptxas made of a kernel, read off its cubin without a GPU: its loops, and how many cycles their issue and their waits take.

Each instruction of NVIDIA's GPUs from Volta on carries 21 bits of control in its high word, from bit 41 on: 4 of stall (cycles to the next instruction of this warp),
1 of yield, 3 and 3 that name the barrier which its result (or the reading of its operands) will release, 6 that name the barriers it waits for.  So a
warp alone can be gone through in cycles; only what memory takes has to be said.  nvdisasm: $NVDISASM, else PyPI's nvidia-cuda-nvdisasm in this Python, else on the PATH."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kept import kept

# Cycles till a result is there, of what announces it by a barrier: public microbenchmarks of Ampere and Hopper, rounded.
LATENCIES = {"LDG": 280, "LD": 290, "LDS": 30, "LDSM": 33, "LDL": 40, "LDC": 40, "LDGSTS": 300, "ATOMG": 300, "MUFU": 24, "SHFL": 24, "S2R": 25, "S2UR": 25,
             "LDGDEPBAR": 0, "DADD": 16, "DMUL": 16, "DFMA": 16, "I2F": 20, "F2I": 20, "F2F": 20, "I2FP": 8, "F2FP": 8}
OTHERS = 14                                                    # any other that announces its result
READ = 12                                                      # till the operands of a store or a copy have been read
FLOPS = {"FFMA": 2, "FFMA2": 4, "FADD": 1, "FADD2": 2, "FMUL": 1, "FMUL2": 2, "FMNMX": 1, "FSETP": 1, "DFMA": 2, "DADD": 1, "DMUL": 1}
MEMORY = ("LD", "LDG", "LDS", "LDSM", "LDL", "LDGSTS", "ST", "STG", "STS", "STL", "UTMALDG")
NO_BARRIER = 7
FLOPS.update(IMMA=64, HMMA=64)                                # of tensor cores: of dwords, 16 x 8 x 8
PRODUCTS = ("FFMA", "FFMA2", "DFMA", "IMMA", "HMMA", "IGMMA", "HGMMA")

Instruction = collections.namedtuple("Instruction", "word text stall result operands waits label")


def program():
    found = [path for folder in sys.path for path in sorted(glob.glob(os.path.join(folder, "nvidia", "*", "bin", "nvdisasm")))]
    return os.environ.get("NVDISASM") or (found + [shutil.which("nvdisasm")])[0]


def decoded(text, high, label):
    control = high >> 41
    words = re.sub(r"^@!?U?P\w+\s+", "", text).split()
    return Instruction(words[0], text, control & 15, control >> 5 & 7, control >> 8 & 7, {i for i in range(6) if control >> 11 >> i & 1}, label)


def disassembled(cubin):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([program(), "-hex", "-c", "-ndf", file.name], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("nvdisasm: " + done.stderr.strip()[:300])
    return done.stdout


def kernels(cubin):
    """{kernel: [Instruction]} of a cubin's bytes"""
    shown = kept(["nvdisasm", program(), os.path.getmtime(program()), cubin], lambda: disassembled(cubin))
    found, listing, labels, text = collections.OrderedDict(), None, [], None
    for line in map(str.strip, shown.splitlines()):
        if match := re.match(r"\.text\.([\w$]+):", line):
            listing = found.setdefault(match.group(1), [])
        elif line.startswith(".section"):
            listing = None
        elif listing is None:
            continue
        elif match := re.match(r"(\.L_x_\d+):", line):
            labels.append(match.group(1))
        elif match := re.match(r"/\*[0-9a-f]{4,}\*/\s+(.*?);\s+/\* 0x[0-9a-f]{16} \*/", line):
            text = match.group(1).strip()
        elif text and (match := re.match(r"/\* 0x([0-9a-f]{16}) \*/", line)):
            listing.append(decoded(text, int(match.group(1), 16), labels))
            labels, text = [], None
    return found


def spans(listing):
    """(first, last) of what a branch goes back over."""
    place = {label: i for i, one in enumerate(listing) for label in one.label}
    found = set()
    for i, one in enumerate(listing):
        match = re.search(r"\bBRA\b.*`\((\.L_x_\d+)\)", one.text)
        if match and place.get(match.group(1), i) < i:         # to itself is what stands behind EXIT
            found.add((place[match.group(1)], i))
    return sorted(found)


def innermost(found):
    return [(a, b) for a, b in found if not any((c, d) != (a, b) and c >= a and d <= b for c, d in found)]


def main_loop(listing):
    """(the loop that multiplies, the one around it): spans, None where there is none.  What stores is no product but makes one ready."""
    found = spans(listing)
    fmas = lambda span: sum(kind(one) in PRODUCTS for one in listing[span[0]:span[1] + 1])
    stores = lambda span: any(kind(one) in ("STS", "STG", "LDGSTS") for one in listing[span[0]:span[1] + 1])
    best = max(innermost([span for span in found if fmas(span)] or found), key=lambda span: (fmas(span) > 0 and not stores(span), fmas(span), flops(listing[span[0]:span[1] + 1])), default=None)
    around = [(a, b) for a, b in found if best and a <= best[0] and b >= best[1] and (a, b) != best]
    return best, min(around, key=lambda span: span[1] - span[0], default=None)


def kind(one):
    return one.word.split(".")[0]


def cycles(body, rounds=1):
    """How long a warp alone takes for a round of these instructions: between the beginnings of the last two rounds, where they are gone through again and again."""
    now, ready, began = 0, {}, [0]
    for _ in range(rounds):
        for one in body:
            now = max([now, *(ready.get(i, 0) for i in one.waits)])
            for barrier, wait in ((one.result, LATENCIES.get(kind(one), OTHERS)), (one.operands, READ)):
                if barrier != NO_BARRIER:
                    ready[barrier] = max(ready.get(barrier, 0), now + wait)
            now += max(one.stall, 1)
        began.append(now)
    return began[-1] - began[-2]


def columns(one):
    """Of a warpgroup's product: HGMMA.64x128x16.F32; else 0."""
    found = re.match(r"[HI]GMMA\.64x(\d+)x", one.word)
    return int(found.group(1)) if found else 0


def flops(body):
    """Of one lane.  A warpgroup's product is of 64 rows and 8 dwords, by 128 lanes."""
    return sum(8 * columns(one) or FLOPS.get(kind(one), 0) for one in body)


def width(one):
    """Bytes that a lane moves."""
    match = re.search(r"\.(?:U8|S8|U16|S16|32|64|128)(?=\.|$)", one.word)
    return {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}.get(match.group(0)[1:], 4) if match else 4


def memory(body):
    """{word and bytes: how many}, as "LDG 16"."""
    return collections.Counter("%s %d" % (kind(one), width(one)) for one in body if kind(one) in MEMORY)


def asked(listing):
    """Bytes of global memory that a lane asks for, at most, before it waits for any of them."""
    most, now, barriers = 0, 0, set()
    for one in listing:
        if one.label or barriers & one.waits:
            now, barriers = 0, set()
        if kind(one) in ("LDG", "LD", "LDGSTS"):
            now += width(one)
            barriers |= {one.result} - {NO_BARRIER}
        most = max(most, now)
    return most
