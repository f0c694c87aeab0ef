#!/usr/bin/env python3
"""hopper.py: products by TMA, mbarriers and wgmma (hopper.cu) are right on the emulator, in three orders of threads and of what comes late, and every planted fault is
found, with the race check those too that change no sum.  Where NVRTC is there, the same text is compiled for sm_90a: HGMMA or IGMMA and UTMALDG are in it, and no spill.

    hopper.py        exit 0: right, 1: wrong, 77: no C++ compiler"""
import os
import re
import subprocess
import sys
import tempfile

import emulator

HERE = os.path.dirname(os.path.abspath(__file__))
EMULATOR = os.path.join(HERE, "..", "..", "backends", "cuda", "emulator")
RACE = r"a race in a block: it (reads|writes) what thread \d+ (reads|writes|copies) at line"
STUCK, PROXY, WRONG = r"deadlock: thread \d+ waits at line \d+ for ", r"no fence\.proxy\.async behind", r"^wrong$"
# fault: what is said of it, and with the race check; None: only the other one finds it
FAULTS = {
    "NO_FULL_WAIT": ("arrival too many|wrong|deadlock", RACE), "FULL_PARITY": ("deadlock|wrong", RACE), "EMPTY_PARITY": (STUCK + "a phase of an mbarrier",) * 2,
    "FEW_BYTES": ("more bytes have come to an mbarrier than it expects",) * 2, "MANY_BYTES": (STUCK + "a phase of an mbarrier",) * 2, "SWIZZLE": (WRONG,) * 2,
    "NO_WAIT": ("no one waited for this product",) * 2, "SUMS_EARLY": (WRONG, RACE), "NO_FENCE": (r"no wgmma\.fence stands between",) * 2, "RELEASE_EARLY": (WRONG, RACE),
    "NO_PROXY_FENCE": (PROXY,) * 2, "FENCE_FIRST": (PROXY,) * 2, "REUSE_EARLY": (WRONG,) * 2, "NO_STORE_WAIT": ("no one waited for this stored box",) * 2,
    "NO_COMMIT": ("it has not been committed",) * 2, "NO_INIT_FENCE": (r"no fence\.mbarrier_init",) * 2, "ARRIVE_TWICE": (STUCK, RACE), "NO_MEETING": (WRONG, RACE),
    "NO_REGISTERS": (STUCK,) * 2, "MISALIGNED": ("a box is misaligned in shared memory",) * 2, "TOUCHED": ("sums are touched while a product makes them",) * 2, "NEXT_TERMS": (WRONG,) * 2,
    "NO_INIT_MEETING": (None, RACE), "NOT_MULTIPLIED": ("no one waited for this product",) * 2, "ALL_ARRIVE": (STUCK + "|arrival too many", STUCK + "|arrival too many|" + RACE),
    "NO_COPY_FENCE": (PROXY,) * 2, "COPY_FENCE_FIRST": (PROXY,) * 2, "COPY_EARLY": (PROXY, RACE),
    "QUIET_READ": (None, RACE), "QUIET_LATE": (None, RACE), "QUIET_ARRIVE": (None, RACE), "QUIET_MEETING": (None, RACE), "QUIET_WRITE": (None, RACE),
}
KINDS = (("bf16", "f32.bf16.bf16", 16, 64), ("f16", "f32.f16.f16", 16, 128), ("tf32", "f32.tf32.tf32", 8, 64), ("s8", "s32.s8.s8", 32, 96))


def numbers():
    with open(os.path.join(HERE, "hopper.cu")) as f:
        names = re.search(r"enum \{ (NO_FULL_WAIT = 1,.*?) \};", f.read(), re.S).group(1).replace(" = 1", "")
    return {name: i for i, name in enumerate(re.split(r",\s*", names), 1)}


def built(compiler, folder, watched):
    """The test's program, its parts compiled side by side."""
    common = [compiler, "-std=c++17", "-Wall", "-Wextra", "-O1", "-g", "-ffp-contract=off", "-I", EMULATOR]
    parts = [os.path.join(EMULATOR, part) for part in ("emulator.cpp", "hopper.cpp", "races.cpp")[:2 + watched]] + [os.path.join(HERE, "hopper_test.cpp")]
    objects = [os.path.join(folder, "%s%d.o" % (os.path.basename(part), watched)) for part in parts]
    running = [subprocess.Popen([*common, *["-fsanitize=thread"] * (watched and part.endswith("test.cpp")), "-c", part, "-o", to], stderr=subprocess.PIPE, text=True)
               for part, to in zip(parts, objects)]
    said = "".join(one.communicate()[1] for one in running)
    program = os.path.join(folder, "test%d" % watched)
    if any(one.returncode for one in running) or "warning" in said or subprocess.run([compiler, *objects, "-o", program]).returncode:
        print("does not compile without a word:\n" + said[:3000])
        return None
    return program


def look_at(program, watched, faults):
    wrong = 0
    done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    if done.returncode or done.stdout != "right\n":
        print("right kernels%s: WRONG: exit %d\n%s" % (", watched" if watched else "", done.returncode, done.stdout[:2000]))
        wrong += 1
    for name, number in faults.items():
        says = FAULTS[name][watched]
        done = subprocess.run([program, str(number)], capture_output=True, text=True, timeout=300)
        if says and not (done.returncode in (1, 2) and re.search(says, done.stdout, re.M)):
            print("%s%s: WRONG: exit %d\n%s" % (name, ", watched" if watched else "", done.returncode, done.stdout[:1000]))
            wrong += 1
    print("%s: right kernels of four types, %d faults, %d wrong" % ("watched" if watched else "unwatched", sum(FAULTS[name][watched] is not None for name in faults), wrong), flush=True)
    return wrong


def products():
    """wgmma<KIND, COLUMNS>: so many registers are operands of one instruction."""
    text = []
    for kind, (_, types, terms, columns) in enumerate(KINDS):
        count = columns // 2
        text.append('template <> __device__ __forceinline__ void wgmma<%d, %d>(u32 *d, u64 a, u64 b, int keep) { asm volatile("{.reg .pred p; setp.ne.b32 p, %%%d, 0; '
                    'wgmma.mma_async.sync.aligned.m64n%dk%d.%s {%s}, %%%d, %%%d, p%s;}" : %s : "l"(a), "l"(b), "r"(keep)); }' % (
                        kind, columns, count + 2, columns, terms, types, ", ".join("%%%d" % i for i in range(count)), count, count + 1,
                        {16: ", 1, 1, 0, 0", 8: ", 1, 1", 32: ""}[terms], ", ".join('"+r"(d[%d])' % i for i in range(count))))
    return "\n".join(text)


def look_at_code():
    sys.path[:0] = [HERE]
    import nvrtc
    import sass
    dll = nvrtc.library()
    if not dll or not sass.program():
        print("not compiled for sm_90a: no NVRTC or no nvdisasm")
        return 0
    with open(os.path.join(HERE, "hopper.cu")) as f:
        text = f.read().replace("\nWGMMAS\n", "\n%s\n" % products())
    status, log, cubin = nvrtc.Nvrtc(dll).compile(text, "hopper.cu", "sm_90a")
    if status:
        print("sm_90a:\n" + log[:3000])
        return 1
    found, wrong = nvrtc.functions(log), len(re.findall(r"C75(?!19)\d\d|warning", log))
    listings = sass.kernels(cubin)
    for name, facts in found.items():
        if "registers" not in facts:
            continue
        words = {sass.kind(one) for one in listings[name]}
        wants = {"IGMMA" if name.endswith("s8") else "HGMMA"} | ({"UTMALDG", "UTMASTG", "USETMAXREG"} if name.startswith("gemm") else {"LDGSTS"})
        right = wants <= words and not words & {"LDL", "STL"} and not facts["stores"] and not facts["loads"]
        print("%-12s %3d registers, %s%s" % (name, facts["registers"], " ".join(sorted(wants & words)), "" if right else " WRONG: %s, lacks %s" % (facts, wants - words)))
        wrong += not right
    if wrong:
        print(log[:3000])
    return wrong + (len(listings) != 2 * len(KINDS))


def main():
    compiler, is_gnu = emulator.cxx()
    faults, wrong = numbers(), 0
    if set(faults) != set(FAULTS):
        print("faults that are not looked for: %s" % (set(faults) ^ set(FAULTS)))
        wrong += 1
    with tempfile.TemporaryDirectory(prefix="hopper.") as folder:
        for watched in range(1 + is_gnu):
            program = built(compiler, folder, watched)
            wrong += look_at(program, watched, faults) if program else 1
    wrong += look_at_code()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
