#!/usr/bin/env python3
"""gpu.py: tests/gpu/pack and the folder's run, on the stand-in for the driver: what a place with a GPU will do, with nothing of the checkout.  A PyTorch of NumPy's
(standin/) shows that net.py compares what it should.

    gpu.py INGOT ROWS DRIVER        exit 0: right, 1: wrong, 77: no C++ compiler, NVRTC or NumPy"""
import concurrent.futures
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cuda"), os.path.join(HERE, "..", "models")]
import models
import nvrtc
import sass

NAMES = ["one_row", "winograd_2", "inputs", "roots", "tf32_row", "groups_conv"]       # inputs: a name of a macro of the program's, once; roots: NaNs
MINUTES = 0.3
PHASES = ["facts", "bits", "times", "limits", "tiles", "rows", "sanitizer", "peers", "networks"]
wrong = 0


def expect(what, right, said):
    global wrong
    if not right:
        wrong += 1
        print("wrong: %s: %s" % (what, said))


SPOILED = """#!/bin/sh
phase=%s
[ "$phase" ] || case $1 in time) phase=times;; *) phase=$1;; esac
[ "$phase" = "$SPOIL" ] && { [ "$SPOIL_HOW" = fails ] || sleep 1000; echo spoiled; exit 1; }
%s
"""
NET = "import os, sys, time\nif ('peers' if sys.argv[1] == 'product' else 'networks') == os.environ['SPOIL']:\n\ttime.sleep(1000 * (os.environ['SPOIL_HOW'] == 'hangs'))\n\tsys.exit('spoiled')\nprint('us 1\\ncompile 1\\ndiffers 0')\n"


def spoiled(pack, folder, call, networks):
    """Each phase fails and hangs in turn: the run ends in time, says so, and times are written."""
    own, tools = os.path.join(folder, "spoiled"), os.path.join(folder, "tools_of_spoiled")
    shutil.copytree(pack, own)
    os.makedirs(tools)

    def spoil(path, phase, then):
        with open(path, "w") as f:
            f.write(SPOILED % (phase, then))
        os.chmod(path, 0o755)
    for name in sorted(os.listdir(own)):
        program = os.path.join(own, name, "program")
        if os.path.exists(program + ".xz"):
            with lzma.open(program + ".xz") as f, open(program + ".real", "wb") as to:
                shutil.copyfileobj(f, to)
            os.chmod(program + ".real", 0o755)
            spoil(program, "tiles" if "." in name else "", 'exec "$0.real" "$@"')
    spoil(os.path.join(own, "runtime-rows"), "rows", "echo 1 pass")
    spoil(os.path.join(tools, "compute-sanitizer"), "sanitizer", 'shift 4; exec "$@"')
    with open(os.path.join(own, "net.py"), "w") as f:
        f.write(NET)

    def case(phase_and_how):
        phase, how = phase_and_how
        json_of, names = os.path.join(folder, "%s_%s.json" % phase_and_how), ["one_row" if phase in ("tiles", "sanitizer", "peers") else "roots"] + ["mnist_onnx2c"] * (phase == "networks")
        status, said = call("python3", "-I", os.path.join(own, "run"), "--minutes", str(MINUTES), "--only", phase, "--only", "times", "--json", json_of, *names, SPOIL=phase, SPOIL_HOW=how,
                            PATH=tools + ":" + os.environ["PATH"])
        return phase, how, status, said, json.load(open(json_of))
    cases = [(phase, how) for phase in PHASES if networks or phase != "networks" for how in ("fails", "hangs")]
    with concurrent.futures.ThreadPoolExecutor(len(cases) // 2) as threads:
        for phase, how, status, said, found in threads.map(case, cases):
            own_words = phase in ("peers", "networks")            # PyTorch's own failure is none of ours, and is kept
            ends = ("not done after", "no time is left") if how == "hangs" else ("spoiled",)    # a busy machine leaves it none
            right = found["phases"][phase]["state"] == ("right" if own_words else "wrong") and any(
                end in json.dumps(found if own_words else found["summary"]) for end in ends)
            expect("%s %s" % (phase, how), right and status == (0 if own_words else 1) and found["summary"]["seconds"] < 60 * MINUTES and list(found)[-1] == "summary"
                   and "\nsummary: " in said and (phase == "times" or [one["graph_hot"] > 0 for name, one in found["times"].items() if name != "reckoned"] in ([True], [True, True])), (status, said, found))


def main():
    ingot, rows, driver = sys.argv[1:]
    if not shutil.which("g++") or not nvrtc.library():
        print("skipped: no g++" if nvrtc.library() else "skipped: no NVRTC (PyPI's nvidia-cuda-nvrtc)")
        return 77
    with tempfile.TemporaryDirectory(prefix="gpu.") as folder:
        pack, short = os.path.join(folder, "pack"), os.path.join(folder, "short")
        names = NAMES + ["mnist_onnx2c"] * (not isinstance(models.case_of("mnist_onnx2c"), str))

        def call(*words, **more):
            done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_DEVICES": "2", "STANDIN_ABORT": "1", **more})
            return done.returncode, done.stdout + done.stderr

        def run(*words, **more):
            return call("python3", "-I", os.path.join(pack, "run"), *words, **more)

        # A sanitizer that runs what it is given, and finds what it is told to; STANDIN_… of a small GPU, whose limits are soon measured.
        os.makedirs(os.path.join(folder, "sanitizer", "docs"))
        with open(os.path.join(folder, "sanitizer", "compute-sanitizer"), "w") as f:
            f.write('#!/bin/sh\n[ "$1 $3 $4" = "--tool --error-exitcode 9" ] || exit 3\necho "$2" >> "%s/tools"\nshift 4\n"$@" || exit 1\n'
                    '[ -z "$SANITIZER_FINDS" ] || { echo "========= Race reported"; exit 9; }\n' % folder)
        os.environ.update(STANDIN_PROCESSORS="4", STANDIN_L2="100000")
        made = call(sys.executable, os.path.join(HERE, "pack"), "--ingot", ingot, "--rows", rows, "--arch", "sm_90", "--emulated", "--tuned", "one_row", "--sanitizer",
                    os.path.join(folder, "sanitizer"), pack, *names)
        expect("pack", made[0] == 0 and "%d networks and shapes" % len(names) in made[1], made)
        if made[0]:
            return 1
        done = run()
        expect("run", done[0] == 0 and "%d of %d have the bits" % (len(names), len(names)) in done[1] and "\n0 wrong" in done[1], done)
        with open(os.path.join(pack, "results.json")) as f:
            found = json.load(f)
        expect("results", found["facts"]["name"] == "stand-in 0" and found["rows"]["status"] == 0 and all(found["bits"][name]["right"] for name in names), found)
        expect("times", all(row["hot"] > 0 and row["cold"] > 0 and (row["reckoned_hot"] and row["reckoned_cold"] or not sass.program()) for name in names for row in found["times"][name]["kernels"])
               and all(found["times"][name][key] > 0 for name in names for key in ("graph_hot", "graph_cold")), found["times"])
        expect("phases", list(found["phases"]) == PHASES and all(one["state"] == "right" for one in found["phases"].values()) and "\nsummary: facts right, bits right, times right, limits right" in done[1]
               and found["summary"]["wrong"] == 0 and found["summary"]["faults"] == [], (found.get("phases"), done[1][-2000:]))
        spoiled(pack, folder, call, len(names) > len(NAMES))
        expect("limits", all(found["limits"][key] > 0 for key in ("launch", "fma", "mma", "near", "far")) and found["limits"]["near_bytes"] == 50000
               and all(row["limit"] > 0 and row["bound"] in ("launch", "fma", "L2", "memory") for name in names for row in found["times"][name]["kernels"])
               and "  fma " in done[1] and " at the limits" in done[1], found)
        # Tensor cores multiply what is told so; what is for sm_90a alone is left out elsewhere.
        expect("tensor cores", "  tf32_row         bits right by mma_tf32, " in done[1] and "  groups_conv      bits right by wgmma_bf16, " in done[1] and "  one_row          bits right, " in done[1], done[1])
        other = run("--only", "bits", "--json", short, "tf32_row", "groups_conv", STANDIN_CAPABILITY="100")
        expect("another GPU", other[0] == 0 and "not for this GPU: groups_conv\n" in other[1] and "1 of 1 have the bits" in other[1] and "groups_conv      bits" not in other[1], other)
        sanitized = {"%s %s" % (name, kind): 0 for name in ("one_row", "winograd_2", "mnist_onnx2c") if name in names for kind in ("memcheck", "racecheck", "synccheck")}
        expect("sanitizer", found.get("sanitizer") == sanitized and os.listdir(os.path.join(pack, "compute-sanitizer")) == ["compute-sanitizer.xz"], (found.get("sanitizer"), made[1]))
        again = run("--only", "sanitizer", "--json", short, "one_row", SANITIZER_FINDS="1")
        expect("what the sanitizer finds", again[0] == 1 and "sanitizer one_row: " in again[1] and "Race reported" in again[1] and "\n3 wrong" in again[1], again)
        os.rename(os.path.join(folder, "sanitizer"), os.path.join(folder, "bin"))
        os.rename(os.path.join(pack, "compute-sanitizer"), os.path.join(folder, "away"))
        os.chmod(os.path.join(folder, "bin", "compute-sanitizer"), 0o755)
        for what, more in ("CUDA_HOME", {"CUDA_HOME": folder}), ("PATH", {"PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"]}):
            os.remove(os.path.join(folder, "tools"))
            again = run("--only", "sanitizer", "--json", short, "one_row", **more)
            expect("the sanitizer by " + what, again[0] == 0 and open(os.path.join(folder, "tools")).read().split() == ["memcheck", "racecheck", "synccheck"], again)
        # Each tile that the product can have, its bits and its time (the emulator's).
        product = found["tiles"]["one_row"]
        by_tile = {row["tile"]: row for row in product["tiles"]}
        expect("tiles", len(by_tile) > 4 and {"4x32x64", "64x64x16", "warps"} <= set(by_tile) and all(row["us"] > 0 and row["chosen_by"] > 0 for row in by_tile.values())
               and product["chosen"] == "4x32x64" and product["best"] == min(by_tile, key=lambda tile: by_tile[tile]["us"])
               and product["ratio"] == by_tile["4x32x64"]["us"] / by_tile[product["best"]]["us"] and "best %s; the chosen one takes" % product["best"] in done[1], (product, done[1]))
        # Networks beside torch.compile, for which a PyTorch of NumPy's stands in.
        expect("without PyTorch", "\nnetworks\n  no PyTorch here" in done[1] or len(names) == len(NAMES), done[1])
        for what, status, words, more in (("beside torch.compile", 0, "mnist_onnx2c     torch.compile", {}), ("a wrong result", 1, "networks mnist_onnx2c: PyTorch's result differs by ", {"TORCH_WRONG": "1"}),
                                          ("no GPU for PyTorch", 0, "this PyTorch has no GPU", {"TORCH_WITHOUT": "1"})) if len(names) > len(NAMES) else ():
            done = call(sys.executable, "-I", os.path.join(pack, "run"), "--only", "networks", "--json", short, PYTHONPATH=os.path.join(HERE, "standin"), **more)
            expect(what, done[0] == status and words in done[1], done)
        # What is wrong is seen.
        with open(os.path.join(pack, "pack.json")) as f:
            told = json.load(f)
        told["networks"][0]["outputs"][0] = next(one for one in told["networks"] if one["only"])["outputs"][0] = told["tiles"][0]["tiles"][1]["outputs"][0] = "0" * 64
        with open(os.path.join(pack, "pack.json"), "w") as f:
            json.dump(told, f)
        done = run("--only", "bits", "--json", short)
        expect("other bits", done[0] == 1 and "other bits than --target c" in done[1] and os.path.exists(short) and "wgmma: 1 of 1 wrong (groups_conv). What multiplies by mma.sync" in done[1], done)
        done = run("--only", "tiles", "--json", short)
        expect("a tile with other bits", done[0] == 1 and "tiles %s: other bits than --target c" % told["tiles"][0]["tiles"][1]["name"] in done[1] and "\n1 wrong" in done[1], done)
        done = run("--only", "bits", STANDIN_FAIL="12")
        expect("a call that fails", done[0] == 1 and "failed" in open(os.path.join(pack, "results.json")).read(), done)
        done = run(LD_LIBRARY_PATH=folder)
        expect("no driver", done[0] == 5 and "there is no libcuda.so.1" in done[1], done)
        done = run("--minutes", "10")
        expect("more than nine minutes", done[0] == 2 and "--minutes: more than 0, 9 at most" in done[1], done)
        done = run("nothing_such")
        expect("no such network", done[0] == 2 and "not in this pack: nothing_such" in done[1], done)
        done = call(sys.executable, os.path.join(HERE, "pack"), "--ingot", ingot, pack)
        expect("a folder that is there", done[0] == 2 and "is there already" in done[1], done)
        done = call("python3", "-I", os.path.join(HERE, "run"))
        expect("no pack", done[0] == 5 and "no pack at" in done[1], done)
    print("%d wrong" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
