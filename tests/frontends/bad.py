#!/usr/bin/env python3
"""Broken and awkward models: each is read or refused with one line, in time and memory, and never crashes the reader.

    bad.py READ_MODELS [INGOT]

With INGOT each also goes through `INGOT build --no-compile`: exit 0, 3, 4, 6 (2: an unbound dim), one line, no output left behind.
Takes cases/bad ($INGOT_CASES, or ../shared/cases beside the project) and files of its own around external data.  A copy is
used, so that links can be made.  Ends with 77 where there are no cases.  With INGOT also what graphs/infer refuses, and large/: huge numbers,
loops without an end; each with its message behind "# fails: ", or built."""
import glob, json, os, re, resource, shutil, stat, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS, BYTES = 5, 512 << 20             # of the processor, which a signal ends

# What reading does not decide: shapes, types, values and operators, which inference knows.
LATER = """24 26 26b 27 34 36b 37 37b 38b 38e 38g 38i 39b 40 41 42 43 51c 51d 56 56c 56d 57""".split()


def limits(memory):
    def set():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    return set


def run(program, path, memory):
    done = subprocess.run([program, path], capture_output=True, preexec_fn=limits(memory), cwd=os.path.dirname(path))
    return done.returncode, done.stdout, done.stderr


def varint(n):
    made = b""
    while n > 127:
        made, n = made + bytes([n & 127 | 128]), n >> 7
    return made + bytes([n])


def field(number, content):
    return varint(number << 3 | (0 if isinstance(content, int) else 2)) + (varint(content) if isinstance(content, int)
                                                                       else varint(len(content)) + content)


def external(location, offset=None, length="8"):
    """y = Add(x, w), w two floats in the file `location`."""
    def value(name):
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2)))))
    entries = [(b"location", location), (b"offset", offset), (b"length", length)]
    w = field(1, 2) + field(2, 1) + field(8, b"w") + field(14, 1)
    for key, content in entries:
        if content is not None:
            w += field(13, field(1, key) + field(2, content if isinstance(content, bytes) else content.encode()))
    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"Add")
    graph = field(1, node) + field(2, b"g") + field(5, w) + field(11, value(b"x")) + field(12, value(b"y"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def typed(type):
    """y = Foo(x) with an attribute that holds this TypeProto."""
    def value(name):
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, field(1, field(1, 2)))))
    node = field(1, b"x") + field(2, b"y") + field(4, b"Foo") + field(5, field(1, b"a") + field(14, type) + field(20, 13))
    return field(1, 8) + field(7, field(1, node) + field(11, value(b"x")) + field(12, value(b"y"))) + field(8, field(2, 17))


def own(folder):
    """name, content, whether it must be refused"""
    inside = os.path.join(folder, "in")
    os.symlink("ok8.bin", os.path.join(inside, "link8.bin"))
    os.symlink("../outside8.bin", os.path.join(inside, "link_out.bin"))
    os.symlink("sub", os.path.join(inside, "linked"))
    os.symlink("..", os.path.join(inside, "up"))
    os.mkfifo(os.path.join(inside, "pipe"))
    open(os.path.join(inside, "empty.bin"), "wb").close()
    return [("ok", external(b"ok8.bin"), False), ("sub", external(b"sub/ok8.bin"), False), ("dot", external(b"./sub//ok8.bin"), False),
            ("no_length", external(b"ok8.bin", length=None), False),
            ("symlink", external(b"link8.bin"), True), ("symlink_out", external(b"link_out.bin"), True),
            ("symlink_folder", external(b"linked/ok8.bin"), True), ("symlink_up", external(b"up/outside8.bin"), True),
            ("fifo", external(b"pipe"), True), ("empty", external(b"empty.bin"), True), ("device", external(b"/dev/zero"), True),
            ("dots", external(b"sub/.."), True), ("only_dots", external(b".."), True), ("slash", external(b"ok8.bin/"), True),
            ("in_file", external(b"ok8.bin/x"), True), ("long", external(b"a/" * 100000 + b"b"), True),
            ("long_part", external(b"a" * 100000 + b"/b"), True), ("nul", external(b"ok8.bin\0x"), True),
            ("past", external(b"ok8.bin", "1"), True), ("wrap", external(b"ok8.bin", str(2**64 - 4)), True),
            ("huge", external(b"ok8.bin", str(2**64)), True), ("hex", external(b"ok8.bin", "0x0"), True),
            ("blank", external(b"ok8.bin", ""), True), ("plus", external(b"ok8.bin", "+0"), True),
            ("type_of_nothing", typed(b""), True), ("seq_of_nothing", typed(field(4, b"")), True),
            ("seq", typed(field(4, field(1, field(1, field(1, 1))))), False), ("opaque", typed(field(7, field(1, b"a b"))), False),
            ("short", external(b"ok8.bin", length="4"), True), ("long_length", external(b"ok8.bin", length="9"), True)]


# Accepted by reading, and by ONNX; for the operators they use see `ingot ops`.  A clear exit 4 is right until those are there.
def whole(ingot, path, expect, memory, message=""):
    """What is wrong about a whole build, or None."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        done = subprocess.run([ingot, "build", path, "-o", out, "--no-compile"], capture_output=True,
                              stdin=subprocess.DEVNULL, preexec_fn=limits(memory))
        left = os.listdir(out) if os.path.isdir(out) else []
    code = done.returncode
    right = code in (0, 2, 3, 4, 6) and (code == 0 or not left)
    right &= code == 0 or done.stderr.count(b"\n") == 1 and (message.encode() if message else os.path.basename(path).encode()) in done.stderr
    right &= expect == "EITHER" or (code != 0 if expect == "REJECT" else code in (0, 4))
    return None if right else f"build: code {code}, left {left}, {done.stderr.decode('utf-8', 'replace')[-300:].strip()}"


def main(program, ingot=None):
    cases = os.path.join(os.environ.get("INGOT_CASES", os.path.join(HERE, "../../../shared/cases")), "bad")
    if not os.path.isdir(cases):
        print(f"skipped: no cases at {cases}; INGOT_CASES names their folder")
        return 77
    program, bad = os.path.abspath(program), 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(cases, os.path.join(folder, "bad"), dirs_exist_ok=True)
        folder = os.path.join(folder, "bad")
        for at, _, files in os.walk(folder):
            os.chmod(at, 0o755)
            for file in files:
                os.chmod(os.path.join(at, file), 0o644)
        os.remove(os.path.join(folder, "in/hard8.bin"))
        os.link(os.path.join(folder, "outside8.bin"), os.path.join(folder, "in/hard8.bin"))
        with open(os.path.join(folder, "INDEX.json")) as file:
            index = json.load(file)
        tests = [(c["file"], c["expect"], c["file"].split("/")[1].split("_")[0] in LATER, c["why"]) for c in index]
        for name, content, refused in own(folder):
            with open(os.path.join(folder, "in", "own_" + name + ".onnx"), "wb") as file:
                file.write(content)
            tests.append((f"in/own_{name}.onnx", "REJECT" if refused else "ACCEPT", False, "own"))
        # A sanitizer reserves more than the limit of memory allows: then time alone is limited.
        memory = run(program, os.path.join(folder, tests[0][0]), True)[0] == 0
        for file, expect, later, why in tests:
            path = os.path.join(folder, file)
            code, out, err = run(program, path, memory)
            line = out.decode("utf-8", "replace")
            right = code in (0, 3, 4, 6) and line.count("\n") == 1 and line.startswith(path) and not err
            right &= expect == "EITHER" or (code == 0) == (expect == "ACCEPT" or later)
            if not right:
                print(f"{file} ({expect}: {why}): code {code}, {line.strip()[:200]} {err.decode()[-300:]}")
                bad += 1
            wrong = ingot and whole(os.path.abspath(ingot), path, expect, memory)
            if wrong:
                print(f"{file} ({expect}: {why}): {wrong}")
                bad += 1
        texts = glob.glob(os.path.join(HERE, "large/*.onnxtxt")) + glob.glob(os.path.join(HERE, "../graphs/infer/fails_*.onnxtxt"))
        for path in sorted(texts) if ingot else []:
            with open(path) as file:
                fails = re.search("^# fails: (.*)", file.read(), re.M)
            wrong = whole(os.path.abspath(ingot), path, "REJECT" if fails else "ACCEPT", memory, fails[1] if fails else "")
            if wrong:
                print(f"{os.path.basename(path)}: {wrong}")
                bad += 1
        cut = [os.path.join(folder, "in", f"{f}.onnx") for f in ("00_good_control", "own_ok", "50_sparse_index_oor", "47b_fn_mutual",
                                                                   "49d_loop_infinite", "43b_slice_intmin_step")]
        done = subprocess.run([program, "--cut"] + cut, capture_output=True)
        if done.returncode or done.stderr:
            print(f"cut models: code {done.returncode} {done.stderr.decode()[-500:]}")
            bad += 1
    print(f"{len(tests)} models, {'with' if memory else 'without'} a limit of memory; {bad} wrong")
    return 1 if bad else 0


sys.exit(main(*sys.argv[1:]))
