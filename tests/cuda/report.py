#!/usr/bin/env python3
"""report.py: what can be said of kernels without a GPU: registers, spills, blocks an SM, the share of multiply-adds in inner loops, loads by width, and how
long each should take, with what bounds it.

    report.py INGOT [--arch sm_90] [--json FILE] [--write] [NAME...]        exit 0: right, 1: over a budget, 2: usage, 77: no NVRTC, or no nvdisasm
NAME: a network of tests/models or a shape of shapes.py; else all of them (in the short suite: what takes seconds).  tests/cuda/budgets.tsv holds a line for each
kernel: fewer blocks an SM, a smaller share of multiply-adds, a spill, a generic load where there was none are errors.  --write makes that file (by all
NVRTCs that are there) and docs/cuda-report.md anew.  NVRTC and nvdisasm: PyPI's nvidia-cuda-nvrtc and nvidia-cuda-nvdisasm."""
import argparse
import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import types

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "models")]
import models
import nvrtc
import sass
import shapes

RESERVED, QUARTERS = 1024, 4
WINOGRAD = {"F(4)": 36 / (16 * 9), "F(2)": 16 / (4 * 9)}       # products of the direct algorithm's, which the manifest tells
LAUNCH = 1.0                                                   # us from one kernel of a graph to the next
SHARE_SLACK = 3                                                # percent: what another NVRTC may do
LANED = {"mlperf_ic_f32": 2, "resnet50": 2, "transformer": 3}         # a layer beside a block of layers, of which the sum waits for both; attention's three products
SHORT = ["mlperf_ad_f32", "mlperf_kws_f32", "mlperf_ic_f32", "transformer", "large", "whole", "one_row", "winograd_8", "attention"]


def gpus(ingot):
    """{"sm_90": the facts of its row in the generator's table}: what tiles are chosen by is what times are reckoned from."""
    told = json.loads(subprocess.run([ingot, "targets", "--json"], capture_output=True, text=True, check=True).stdout)
    return {row["arch"]: types.SimpleNamespace(**row) for row in next(one["gpus"] for one in told if "gpus" in one)}


def blocks_an_sm(facts, registers, shared, warps):
    by_registers = facts.registers // (math.ceil(registers * 32 / 256) * 256) // QUARTERS * QUARTERS // warps
    by_shared = facts.shared_bytes // (math.ceil((shared + RESERVED) / 128) * 128)
    return min(by_registers, by_shared, facts.warps // warps, facts.blocks)


def shared_cycles(body):
    """Cycles of an SM's shared memory and L1 for these instructions of a warp.  16 bytes are one value for all lanes (templates/cuda), which are two requests; less are a lane's own."""
    found = 0
    for one in body:
        kind, width = sass.kind(one), sass.width(one)
        if kind in sass.MEMORY and kind not in ("LDL", "STL"):
            found += 2 if kind == "LDS" and width == 16 else 4 if kind == "LDSM" else width / 4         # of LDSM: four matrices
        if sass.columns(one):                                  # both factors, rows of 32 bytes, for four warps
            found += (64 + sass.columns(one)) / 4 / 4
    return found


def parts(listing):
    """(main loop, what is beside it in the loop around, the rest): instructions."""
    main, around = sass.main_loop(listing)
    span = lambda found: set(range(found[0], found[1] + 1)) if found else set()
    take = lambda places: [listing[i] for i in sorted(places)]
    return take(span(main)), take(span(around) - span(main)), take(set(range(len(listing))) - span(main) - span(around))


def chunk_of(tile, warps, main):
    """Rounds of a product's inner loop for which a chunk is staged: the tile says "ROWS x COLUMNS x TERMS"; of anything else 4."""
    found = re.search(r"(\d+) x (\d+) x (\d+)", tile)
    fmas = sass.flops([one for one in main if sass.kind(one) in sass.PRODUCTS]) // 2
    return max(math.prod(map(int, found.groups())) / (32 * warps * fmas), 1) if found and fmas else 4


def moved(body):
    """Bytes of global memory that a warp of whole lanes moves."""
    return sum(32 * sass.width(one) for one in body if sass.kind(one) in ("LDG", "LD", "STG", "ST"))


def work_of(launch, warps, chunks):
    """Operations of a lane of a warp.  In a block that stages its rows each warp makes its own: of one row the product is one warp's work."""
    found = re.match(r"(\d+) x (\d+) x (\d+)$", launch.get("tile", ""))
    if not found or not chunks:
        return launch["flops"] / 32 / (launch["blocks"] * warps)
    rows, columns, terms = map(int, found.groups())
    return 2 * (rows / warps) * (columns / 32) * terms * chunks


def staged(launch, listing, chunks):
    """Bytes that a block of warpgroups has brought from L2, by TMA or by copies."""
    rows, columns, terms = map(int, launch["tile"].split(" x ")) if any(map(sass.columns, listing)) else (0, 0, 0)
    return 4 * (rows + columns) * terms * chunks


def rounds_of(main, rest, work, bytes_of_warp, product):
    """How often the loop is gone through: by its arithmetic (of a product its multiply-adds: weights are widened besides), or, where it has none, by what it moves."""
    main, rest = ([one for one in body if not product or sass.kind(one) in sass.PRODUCTS + sass.MEMORY] for body in (main, rest))
    if sass.flops(main):
        return max((work - sass.flops(rest)) / sass.flops(main), 1)
    return max((bytes_of_warp - moved(rest)) / moved(main), 1) if moved(main) else 1


def predict(facts, listing, launch, warps, chunks, weights, resident, there=1):
    """there: the share of the warps that multiply.  (us, what bounds it), hot and cold: weights in L2, where half of that holds them, and all else in memory; all in memory.  `weights`: bytes."""
    main, beside, rest = parts(listing)
    if any(map(sass.columns, listing)):                        # what asks for boxes multiplies nothing
        warps = warps // 4 * 4
    blocks, size, work = launch["blocks"], launch["bytes"], work_of(launch, warps, chunks)
    rounds = rounds_of(main, rest, work, size / (blocks * warps), chunks)
    taken = min(work / sass.flops(rest), 1) if sass.flops(rest) and not main else 1       # more arithmetic than a warp has: the branches of others
    each = math.ceil(blocks / facts.processors)                       # blocks of the SM that has most
    both = lambda f, of_rest=taken, of_main=there: f(main) * rounds * of_main + f(beside) * math.ceil(rounds / chunk_of(launch.get("tile", ""), warps, main)) + f(rest) * of_rest
    longest = 1 if any(sass.kind(one) == "BAR" for one in listing) else taken             # who meets others waits for their branches, too
    cycles = lambda word: 16 * 1024 / facts.dot8s if word in ("IMMA", "HMMA") else 128 / facts.fmas if word in sass.FLOPS else 0         # of a quarter
    arithmetic = lambda body: sum(2048 * sass.columns(one) / facts.group_dot8s if sass.columns(one) else cycles(sass.kind(one)) for one in body)
    terms = {"issue": each * warps * both(len) / QUARTERS,
             "multiply-adds": each * warps * both(arithmetic) / QUARTERS,
             "shared memory": each * warps * both(shared_cycles),
             "bytes from L2": each * staged(launch, listing, chunks) / (facts.l2_rate / facts.ghz / facts.processors),
             "waits": math.ceil(each / resident) * both(lambda body: sass.cycles(body, 4 if body is main else 1), longest, 1)}
    near = weights if weights < facts.l2_bytes / 2 else 0
    found = []
    for terms["memory"] in (((size - near) / facts.memory_rate + near / facts.l2_rate) * facts.ghz, size / facts.memory_rate * facts.ghz):
        bound = max(terms, key=terms.get)
        found += [(terms[bound] / facts.ghz / 1000 + LAUNCH, bound)]
    return found


def chunks_of(text, symbol):
    """Chunks of the terms that a kernel of blocks goes through; 0: it is none."""
    found = re.search(r"\b%s_\w+\([^;{]*\)\n\{.*?\bchunk < (\d+)" % symbol, text, re.S)
    return int(found.group(1)) if found else 0


def there_of(text, symbol, tile, warps):
    """The share of a block's warps that have rows; where the kernel lets the others copy alone."""
    found = re.search(r"\b%s_\w+\([^;{]*\)\n\{(?:(?!\n\}).)*\bif \(m >= (\d+)\)" % symbol, text, re.S)
    block = re.match(r"(\d+) x \d+ x \d+$", tile)              # of attention's steps all warps count
    if not found or not block:
        return 1
    rows, tall = int(found.group(1)), int(block.group(1))
    return math.ceil(rows / (tall // warps)) / (math.ceil(rows / tall) * warps)


def tensors_of(text, symbol):
    """[(type, dims, is it written)] of what a kernel's comment tells."""
    head = text[:re.search(r"\b%s\(" % symbol, text).start()].rpartition("/*")[2]
    return [(kind, dims, arrow == "=>") for arrow, kind, dims in re.findall(r"\n \* \w+ (<=|=>) \S+ (\w+)(\[[\d,]*\])", head)]


def weights_of(launches, total):
    """{where weights begin: bytes}, of those that any kernel is given."""
    places = sorted({argument["at"] for launch in launches for argument in launch["arguments"] if argument["place"] == "weights"})
    return {at: following - at for at, following in zip(places, places[1:] + [total])}


def in_lanes(path, launches):
    """(lanes, us) of a graph whose launches go in the lanes of NAME_launches.h.  launches: (us, the share of the SMs that it fills); those together start that have room."""
    with open(path) as f:
        found = re.search(r"_lanes\[.*?\{\n(.*?)\n\};", f.read(), re.S)
    rows = [list(map(int, re.findall(r"\d+", line))) for line in found.group(1).split("\n")] if found else [[0, 0, 0]] * len(launches)
    starts, ends, last = [], [], {}
    for (lane, _, count, *after), (us, share) in zip(rows, launches):
        start = max([ends[last[lane]] if lane in last else 0, *(ends[k] for k in after[:count] if k < len(launches))])
        busy = lambda: sum(launches[k][1] for k in range(len(ends)) if starts[k] <= start < ends[k])
        while 0 < busy() and busy() + share > 1:
            start = min(end for end in ends if end > start)
        last[lane] = len(ends)
        starts.append(start)
        ends.append(start + us)
    return max(row[0] for row in rows) + 1, max(ends)


def judged(ingot, compiler, facts, name, model, folder, *options):
    """A row for each different kernel of a model: a dictionary."""
    out = os.path.join(folder, name)
    done = subprocess.run([ingot, "build", model, "--target", "cuda", "--no-compile", "--name", name, "-o", out, *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    with open(os.path.join(out, name + ".cu")) as f:
        text = f.read()
    status, log, cubin = compiler.compile(text, name + ".cu", facts.arch)
    if status:
        raise RuntimeError(log[:1000])
    properties, listings = nvrtc.functions(log), sass.kernels(cubin)
    with open(os.path.join(out, name + ".json")) as f:
        launches = json.load(f)["kernels"]
    blob = os.path.join(out, name + "_weights.bin")
    weights = weights_of(launches, os.path.getsize(blob) if os.path.exists(blob) else 0)
    rows, each = collections.OrderedDict(), []
    for launch in launches:
        symbol, warps = launch["symbol"], launch["threads"] // 32
        said, listing = properties[symbol], listings[symbol]
        resident = blocks_an_sm(facts, said["registers"], said["shared"] + launch.get("shared_bytes", 0), warps)
        flops = launch["flops"] * next((share for word, share in WINOGRAD.items() if launch.get("tile", "").startswith(word)), 1)
        own = min(sum(weights[argument["at"]] for argument in launch["arguments"] if argument["place"] == "weights"), launch["bytes"])
        (us, bound), (cold, cold_bound) = predict(facts, listing, dict(launch, flops=flops), warps, chunks_of(text, symbol), own, max(resident, 1), there_of(text, symbol, launch.get("tile", ""), warps))
        each.append((us, min(launch["blocks"] / (facts.processors * max(resident, 1)), 1)))
        if symbol in rows:
            rows[symbol]["launches"] += 1
            rows[symbol]["us"] += us
            rows[symbol]["cold"] += cold
            continue
        main = parts(listing)[0]
        main = main if sass.flops(main) else listing
        fmas = sum(sass.kind(one) in sass.PRODUCTS for one in main)
        rows[symbol] = {"network": name, "kernel": symbol[len(name) + 1:], "tile": launch.get("tile") or launch.get("lanes", ""), "launches": 1, "blocks": launch["blocks"], "warps": warps,
                        "registers": said["registers"], "shared": said["shared"] + launch.get("shared_bytes", 0), "stack": said.get("stack", 0), "spills": said.get("stores", 0) + said.get("loads", 0),
                        "resident": resident, "loop": len(main), "beside": len(parts(listing)[1]), "looped": main is not listing, "fmas": fmas, "share": 100 * fmas // len(main),
                        "issue": sum(one.stall for one in main), "round": sass.cycles(main, 4 if main is not listing else 1), "memory": dict(sass.memory(main)), "all_memory": dict(sass.memory(listing)),
                        "generic": sum(sass.kind(one) in ("LD", "ST") for one in listing), "bytes": launch["bytes"], "asked": sass.asked(listing), "tensors": tensors_of(text, symbol), "us": us, "bound": bound, "cold": cold, "cold_bound": cold_bound}
    together = in_lanes(os.path.join(out, name + "_launches.h"), each)
    for row in rows.values():
        row["lanes"], row["us_in_lanes"] = together
    return list(rows.values())


def subjects(named, folder, all_shapes=shapes.EVERYWHERE):
    """(name, path of a model) of each that is asked for and there."""
    for name in models.NETWORKS + models.MADE:
        if not named or name in named:
            found = models.case_of(name)
            if isinstance(found, str):
                print("%s: skipped, %s" % (name, found))
            else:
                yield name, found[0]
    for name in all_shapes:
        if not named or name in named:
            own = os.path.join(folder, name + ".case")
            os.makedirs(own)
            yield name, shapes.write(own, name)


BUDGET = {"resident": min, "share": min, "generic": max}


def over_budget(row, budget):
    """What is worse than the budget allows, in words."""
    if row["spills"]:
        yield "%d bytes spill" % row["spills"]
    if not budget:
        yield "no line in tests/cuda/budgets.tsv (--write makes one)"
        return
    if row["resident"] < budget["resident"]:
        yield "%d blocks an SM (%d registers, %d bytes shared), %d wanted" % (row["resident"], row["registers"], row["shared"], budget["resident"])
    if row["share"] < budget["share"] - SHARE_SLACK:
        yield "%d %% of its inner loop are multiply-adds, %d %% wanted" % (row["share"], budget["share"])
    if row["generic"] > budget["generic"]:
        yield "%d generic loads and stores, at most %d wanted" % (row["generic"], budget["generic"])


def read_budgets(path):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {(name, kernel, arch): dict(zip(BUDGET, map(int, numbers))) for name, kernel, arch, *numbers in rows}


def write_budgets(path, arch, rows):
    found = read_budgets(path)
    names = {row["network"] for row in rows}
    found = {key: budget for key, budget in found.items() if key[2] != arch or key[0] not in names}
    for row in rows:
        last = found.setdefault((row["network"], row["kernel"], arch), row)
        found[row["network"], row["kernel"], arch] = {key: worse(last[key], row[key]) for key, worse in BUDGET.items()}
    with open(path, "w") as f:
        f.write("# network, kernel, architecture, blocks an SM at least, percent of multiply-adds in the inner loop at least (%d less are let pass), generic loads at most.\n"
                "# Written by tests/cuda/report.py --write; what grows worse is a decision.\n" % SHARE_SLACK)
        for key in sorted(found):
            f.write("\t".join([*key, *(str(found[key][column]) for column in BUDGET)]) + "\n")


HEAD = """# CUDA kernels, judged without a GPU

Written by `tests/cuda/report.py`; do not edit. %s, NVRTC %s, nvdisasm. No kernel here has run on a GPU: the times are reckoned.

*blocks*: of a launch, by warps. *an SM*: how many of them an SM holds at once, by registers and shared memory. *inner loop*: of the loop that multiplies and stores nothing (or
of all the kernel, where it has none) its instructions, the share of multiply-adds, the cycles that a warp alone takes for a round, waits for loads from shared memory and L2 among
them, and what it loads: bytes of a lane. *us*: the largest of five terms, and %.1f us from one kernel to the next: issue (a quarter of an SM's warps, an instruction a cycle),
multiply-adds (%d a cycle), shared memory and L1 (128 bytes a cycle; 16 bytes for all lanes are two requests), waits (a warp alone, as often as an SM's blocks take turns), memory (weights
that half of L2 holds by %d GB/s, all else by %d: each kernel alone, again and again, on other data). *cold*: weights from memory, too. *us in lanes*: of launches in the lanes of the graph, those
together whose blocks the GPU holds at once, each as long as alone.

How often the loop is gone through is reckoned from the
chunks of a block, else the multiply-adds of the manifest, else, where it has none, the bytes. Figures of the GPU are public ones. Of kernels whose rates are published those of ordinary units are reckoned 6 to 7 %% too fast, those of tensor cores 11 to 57 %% (`docs/cuda.md`): of these the times are the least that they can take, no more.

| network | launches | kernels | registers | stack | shared | spills | generic | us | cold | lanes | us in lanes |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def document(path, facts, version, rows):
    by_network = collections.OrderedDict()
    for row in rows:
        by_network.setdefault(row["network"], []).append(row)
    with open(path, "w") as f:
        head = HEAD % ("%s (%s)" % (facts.example, facts.arch), version, LAUNCH, facts.fmas, facts.l2_rate, facts.memory_rate)
        f.write("\n\n".join(part if part.startswith("|") else textwrap.fill(part, 120, break_on_hyphens=False) for part in head.split("\n\n")))
        for name, group in by_network.items():
            most = lambda key: max(row[key] for row in group)
            f.write("| %s | %d | %d | %d | %d | %d | %d | %d | %.1f | %.1f | %d | %.1f |\n" % (name, sum(row["launches"] for row in group), len(group), most("registers"), most("stack"), most("shared"),
                    sum(row["spills"] for row in group), sum(row["generic"] for row in group), sum(row["us"] for row in group), sum(row["cold"] for row in group), most("lanes"), most("us_in_lanes")))
        f.write("\n| kernel | tile | launches | blocks | registers | shared | an SM | inner loop | multiply-adds | a round | loads | us | bound by | cold | bound by |\n" + "|---" * 15 + "|\n")
        for row in rows:
            loads = ", ".join("%d %s" % (n, word) for word, n in sorted(row["memory"].items()))
            f.write("| %s %s | %s | %d | %d x %d | %d | %d | %d | %d%s | %d %% | %d | %s | %.1f | %s | %.1f | %s |\n" % (row["network"], row["kernel"], row["tile"], row["launches"], row["blocks"],
                    row["warps"], row["registers"], row["shared"], row["resident"], row["loop"], "" if row["looped"] else " in all", row["share"], row["round"], loads, row["us"], row["bound"], row["cold"], row["cold_bound"]))


PLANTED = r'''extern "C" __global__ void lean(const float *a, float *y, int n) { float s[8] = { 0 };
for (int i = 0; i < n; i++)
	for (int j = 0; j < 8; j++) s[j] = fmaf(a[i * 8 + j], a[i], s[j]);
for (int j = 0; j < 8; j++) y[j] = s[j]; }
extern "C" __global__ void generic(float *a, float *y, int n) { __shared__ float b[32]; b[threadIdx.x] = a[threadIdx.x]; __syncthreads();
float *p = n > 3 ? a : b; float s = 0; for (int i = 0; i < n; i++) s = fmaf(p[(i * 7) & 31], s, 1.f); y[0] = s; }
struct alignas(16) float_4 { float x, y, z, w; };
extern "C" __global__ void uniform(const float_4 *a, float *y, int n) { __shared__ float_4 b[64]; b[threadIdx.x] = a[threadIdx.x]; __syncthreads();
float s = 0; for (int i = 0; i < n; i++) { float_4 q = b[i]; s = fmaf(q.x, s, q.y); s = fmaf(q.z, s, q.w); } y[threadIdx.x] = s; }
extern "C" __global__ void copy(const float *a, float *y, int n) {
_Pragma("unroll 1") for (int i = 0; i < n; i++) y[i * 32 + threadIdx.x] = a[i * 32 + threadIdx.x]; }
'''


def reckoned(listings, facts):
    """(what, whether it is seen) of times: requests of shared memory, loops without arithmetic, rows that are not there, bytes that are cold."""
    shared = [one for one in listings["uniform"] if sass.kind(one) == "LDS" and sass.width(one) == 16]
    launch = {"tile": "", "blocks": 1, "flops": 0, "bytes": 256 * 10000}
    long, short = (predict(facts, listings["copy"], dict(launch, bytes=size), 1, 0, 0, 1)[0][0] for size in (256 * 10000, 256 * 1000))
    row = {"tile": "4 x 32 x 64", "blocks": 32, "flops": 2 * 515 * 1000, "bytes": 1 << 20}
    lanes = tempfile.NamedTemporaryFile("w")
    lanes.write("static const struct m_lane m_lanes[4] = {\n\t{ 0, 1, 0, { 0 } },\n\t{ 1, 1, 1, { 4 } },\n\t{ 0, 0, 0, { 0 } },\n\t{ 0, 0, 1, { 1 } },\n};\n")
    lanes.flush()
    (hot, _), (cold, bound) = predict(facts, [], dict(launch, bytes=1 << 24), 1, 0, 1 << 24, 1)
    tensor = [sass.Instruction(word, word, 1, sass.NO_BARRIER, sass.NO_BARRIER, set(), []) for word in ("IMMA.16832.S8.S8", "LDSM.16.M88.4")]
    group = [tensor[0]._replace(word="HGMMA.64x128x16.F32.BF16")]
    return (("products of warpgroups", sass.flops(group) == 1024 and shared_cycles(group) == 12 and staged({"tile": "128 x 128 x 32"}, group, 4) == 4 * 256 * 32 * 4 and not staged({"tile": ""}, tensor, 4)),
            ("fragments", sass.flops(tensor) == 64 and shared_cycles(tensor) == 4 and chunk_of("64 x 64 x 16", 4, 16 * tensor) == 1),
            ("two requests of 16 bytes for all lanes", shared and shared_cycles(shared) == 2 * len(shared)), ("rounds of a loop that copies", 8 < (long - LAUNCH) / (short - LAUNCH) < 12),
            ("one row, one warp's work", work_of(row, 4, 9) == 2 * 64 * 9 and work_of(dict(row, tile="4 x 32"), 4, 0) == 2 * 515 * 1000 / 32 / 128),
            ("warps without rows", there_of("void f_k0_8x32(long m)\n{\n\tif (m >= 5)\n}\n", "f_k0", "8 x 32 x 64", 4) == 0.75 and there_of("void f_k0_8x32(long m)\n{\n\tif (m >= 5)\n}\n", "f_k0", "13 rows: 16 x 32 x 64", 4) == 1 and there_of("void f_k0_8x32(long m)\n{\n}\nvoid f_k1_8x32(long m)\n{\n\tif (m >= 5)\n}\n", "f_k0", "8 x 32 x 64", 4) == 1),
            ("lanes", in_lanes(lanes.name, [(2, 0.5), (3, 0.5), (2, 0.6), (1, 1)]) == (2, 6)), ("cold bytes", bound == "memory" and abs((cold - LAUNCH) / (hot - LAUNCH) - facts.l2_rate / facts.memory_rate) < 0.01))


def planted(compiler, facts):
    """What has to be seen: how many are not."""
    status, log, cubin = compiler.compile(PLANTED, "planted.cu", facts.arch)
    listings, properties, wrong = sass.kernels(cubin), nvrtc.functions(log), 0
    row = {"spills": 0, "resident": 2, "share": 20, "generic": 0, "registers": 0, "shared": 0}
    generic = sum(sass.kind(one) in ("LD", "ST") for one in listings["generic"])
    body = parts(listings["lean"])[0]
    for what, seen in (("a generic load", generic), ("a loop", sass.flops(body) >= 16), ("its wait", sass.cycles(body, 4) > sum(one.stall for one in body)),
                       ("registers", properties["lean"]["registers"] > 8),
                       ("a low share", list(over_budget(row, dict(resident=2, share=80, generic=0)))), ("few blocks", list(over_budget(row, dict(resident=4, share=20, generic=0)))),
                       ("a spill", list(over_budget(dict(row, spills=8), dict(resident=2, share=20, generic=0)))),
                       ("nothing", not list(over_budget(row, dict(resident=2, share=20 + SHARE_SLACK, generic=0)))), *reckoned(listings, facts)):
        if not seen:
            print("planted: %s is not seen" % what)
            wrong += 1
    return wrong


LIMITS = {"limit_fma": ({"FFMA"}, 16, 0.65), "limit_mma": ({"HMMA"}, 4, 0.15), "limit_copy": ({"LDG", "STG"}, 8, 0.2)}


def limits(compiler, arch):
    """How many of templates/cuda/limits.jinja are not what they measure: of each loop the multiply-adds, products of tensor cores, or copies by 16 bytes, and their share of it."""
    status, log, cubin = compiler.compile(open(os.path.join(ROOT, "templates", "cuda", "limits.jinja")).read(), "limits.cu", arch)
    listings = {} if status else sass.kernels(cubin)
    wrong = [] if listings and not any(of.get("stores") for of in nvrtc.functions(log).values()) else [log[:500]]
    for name, (kinds, least, share) in LIMITS.items() if listings else ():
        bodies = [listings[name][first:last + 1] for first, last in sass.innermost(sass.spans(listings[name]))]
        right = [len([one for one in body if sass.kind(one) in kinds and (name != "limit_copy" or sass.width(one) == 16)]) for body in bodies]
        if not bodies or any(count < least or count < share * len(body) for count, body in zip(right, bodies)):
            wrong.append("%s: %s of %s" % (name, right, [len(body) for body in bodies]))
    print("".join("limits: %s\n" % one for one in wrong), end="")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description="what can be said of kernels without a GPU")
    parser.add_argument("ingot")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--json")
    parser.add_argument("--write", action="store_true")
    o = parser.parse_intermixed_args()
    unknown = set(o.names) - set(models.NETWORKS + models.MADE) - set(shapes.EVERYWHERE)
    if unknown:
        parser.error("no network and no shape: " + " ".join(sorted(unknown)))
    known = gpus(o.ingot)
    if o.arch not in known:
        parser.error("--arch: %s, not %s" % (", ".join(known), o.arch))
    facts, dll = known[o.arch], nvrtc.library()
    if not dll or not sass.program():
        print("skipped: no %s (PyPI's nvidia-cuda-nvrtc, nvidia-cuda-nvdisasm)" % ("nvdisasm" if dll else "NVRTC"))
        return 77
    compiler, path = nvrtc.Nvrtc(dll), os.path.join(HERE, "budgets.tsv")
    names = o.names or (None if o.write or os.environ.get("INGOT_LONG") else SHORT)
    wrong, rows = planted(compiler, facts) + limits(compiler, o.arch), []
    with tempfile.TemporaryDirectory(prefix="report.") as folder:
        there = list(subjects(names, folder))
        for name, model in there:
            rows += judged(o.ingot, compiler, facts, name, model, folder, *shapes.options_of(name))
            mine = [row for row in rows if row["network"] == name]
            if mine and mine[0]["lanes"] < LANED.get(name, 1):
                print("%s: %d lanes, %d wanted" % (name, mine[0]["lanes"], LANED[name]))
                wrong += 1
            print("%-16s %2d kernels, %7.1f us, %7.1f cold" % (name, len(mine), sum(row["us"] for row in mine), sum(row["cold"] for row in mine)), flush=True)
        if o.write:
            others = [nvrtc.Nvrtc(other) for other in list(nvrtc.libraries())[1:]]
            write_budgets(path, o.arch, rows + [row for other in others for name, model in there for row in judged(o.ingot, other, facts, name, model, folder, *shapes.options_of(name))])
            if o.arch == "sm_90" and not o.names:
                document(os.path.join(ROOT, "docs", "cuda-report.md"), facts, compiler.version(), rows)
    if o.json:
        with open(o.json, "w") as f:
            json.dump({"arch": o.arch, "nvrtc": compiler.version(), "kernels": rows}, f, indent=1)
    budgets = read_budgets(path)
    for row in rows:
        for said in over_budget(row, budgets.get((row["network"], row["kernel"], o.arch))):
            print("%s %s: %s" % (row["network"], row["kernel"], said))
            wrong += 1
    if not rows and not wrong:
        print("skipped: no cases")
        return 77
    print("%d kernels on %s, NVRTC %s: %d wrong" % (len(rows), o.arch, compiler.version(), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
