"""semantic.py: drawn faults of meaning: one edge, one reference or one reader too few, an early signal, a size off by one, a version too new.

    semantic.py draw SOURCE [--seed N] [--count N]        prints the list that such a seed draws: as many of each kind
    semantic.py find SOURCE WORK --objects FILE --library FILE [--driver DIR] [--sample N] [NUMBER ...]

`find` plants each of semantic.tsv (of N of them, or those named) in its file, links that before the library of the tree, and runs the rows
and the ways of misuse until one fails: first who found it last, then all devices, then with memory of each command its own, then with a
pause before every third command, so that what is too early is.  FILE of --objects: the objects of the programs, "rows", "misuse" or
"threads" (test_threads.c) before each; DIR: where the driver that stands in for NVIDIA's is.  Where no fault is planted nothing may fail.
A fault that does not compile, or has lost its line, fails the run; so does one
that was found when the list was made and that nothing finds now.  Without INGOT_LONG it takes a sample.  --write: who finds each is written into the list."""
import argparse
import concurrent.futures
import glob
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "semantic.tsv")
DEVICES = ("sync", "mock", "lazy", "multicore", "cuda")
STANDIN = {"STANDIN_DEVICES": "2", "STANDIN_ABORT": "1"}
VALUE = r"\b\w+(?:(?:->|\.)\w+|\[\w+\])*(?:->|\.)"                              # what a member is of
PAUSE = ("status = status ? status : command->run(command, text);", "static _Atomic unsigned paused; if (paused++ % 3 == 0) usleep(400); ")


def closing(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if not depth:
            return i + 1
    return None


def rewrites(line, pattern, make):
    for match in re.finditer(pattern, line):
        made = make(match)
        if made is not None:
            yield line[:match.start()] + made + line[match.end():]


def of_call(line, pattern, make):
    """The same where the pattern ends with the opening bracket of a call: make(name, arguments)."""
    for match in re.finditer(pattern, line):
        end = closing(line, match.end() - 1)
        if end:
            yield line[:match.start()] + make(match.group(), line[match.end():end - 1]) + line[end:]


def is_read(line, match):
    """Not assigned, counted or pointed at."""
    return not re.match(r"\s*(=[^=]|[-+*/|&]=|\+\+|--|\()", line[match.end():]) and not re.search(r"(&|\+\+|--)$", line[:match.start()])


def edges(line):
    yield from rewrites(line, r"< [\w>.-]*\b(?:after|access|wait|use|edge|input|output)_count\b", lambda m: m.group() + " - 1" if "- 1" not in line else None)
    yield from rewrites(line, r"\.(read|write) = true", lambda m: f".{m.group(1)} = false")
    yield from rewrites(line, r"(?<=, )2(?=, (?:NULL, )*\w*out\)|, &update\))", lambda m: "1")
    yield from rewrites(line, r"\.(read|write) = (!?\w+)", lambda m: f".{m.group(1)} = {m.group(2)} && 0" if m.group(2) not in ("true", "false") else None)
    yield from rewrites(line, r"^\t+edge_add\(", lambda m: m.group().replace("edge_add", "if (command->edge_count) edge_add"))
    yield from rewrites(line, r"\bpending\+\+;", lambda m: "pending += 0;")
    yield from rewrites(line, r"\bcarries\b(?= &&|,| \?)", lambda m: "0 * carries" if "bool" not in line else None)


def references(line):
    yield from rewrites(line, r"^\t+(object|command|slab|location|failure)_keep\([^;]*\);$", lambda m: "\tstatic int times;\n\tif (++times % 2)" + m.group())
    yield from rewrites(line, r"([\w>.-]*\brefs)\+\+;", lambda m: f"{m.group(1)} += {m.group(1)} < 2;")
    yield from of_call(line, r"(?<== )failure_keep\(", lambda name, of: f"({of})" if of else name)
    yield from rewrites(line, r"\.refs = 1\b", lambda m: ".refs = 0")


def readers(line):
    yield from rewrites(line, r"< [\w>.-]*\breader_count\b", lambda m: m.group() + " - 1")
    yield from rewrites(line, r"(?<=, )true(?=\))", lambda m: "false" if re.search(r"host_wait|hazard_busy", line) else None)
    yield from rewrites(line, r"\b(children|contexts|routines|libraries|streaming|wakers|sleepers|waiting|freeing|events|in_place_queued|reader_count)\+\+;", lambda m: m.group(1) + ";")
    yield from rewrites(line, r"&& [\w>.-]*reader_count\b", lambda m: m.group() + " > 1")
    yield from rewrites(line, r"\breaders_too\b", lambda m: "(readers_too && 0)" if "bool" not in line else None)
    yield from rewrites(line, r"!access->write\b", lambda m: "0 && !access->write")


def signals(line):
    yield from of_call(line, r"\bcommand_(?:done|over)\(", lambda name, of: f"(atomic_load(&({of})->state) >= COMMAND_RUNNING)" if of.strip() and "const" not in of else name + of + ")")
    yield from rewrites(line, r">= COMMAND_(FORGONE|DONE)", lambda m: ">= COMMAND_RUNNING")
    yield from rewrites(line, r"\bcommand_wait_done\(", lambda m: "command_wait(" if "command_wait_done(struct" not in line else None)
    yield from rewrites(line, r"^\t+(command_wait|command_wait_done|host_wait|stream_finish|stream_finish_unblocked|node_host_settle|placing_wait)\([^;]*\);$", lambda m: "\t;")
    yield from rewrites(line, r"\bwhile \((?=hazard_busy)", lambda m: "while (0 && ")
    yield from rewrites(line, r"COMMAND_(ISSUED|RUNNING|QUEUED)\)", lambda m: {"ISSUED": "COMMAND_RUNNING)", "RUNNING": "COMMAND_QUEUED)", "QUEUED": "COMMAND_RUNNING)"}[m.group(1)])
    yield from rewrites(line, r"!next->pending", lambda m: "next->pending < 2")
    yield from rewrites(line, r"--to->pending\b", lambda m: "--to->pending > 1")


def sizes(line):
    for match in re.finditer(VALUE + r"(?:bytes|offset|count|room|rank|storage_bytes|\w+_count|\w+_room)\b(?!\()", line):
        if is_read(line, match) and "say(" not in line and not line.lstrip().startswith('"') and "(unsigned long long)" not in line[:match.start()][-22:] and "reader_count" not in match.group():
            yield line[:match.start()] + f"({match.group()} - 1)" + line[match.end():]
    for match in re.finditer(r"(?<=\w )(<=|>=|<|>)(?= [\w(])", line):
        if re.search(r"bytes|offset|count|room|rank|used|size", line) and "for (" not in line:
            yield line[:match.start()] + {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[match.group()] + line[match.end():]
    for match in re.finditer(r"(?<=, )(bytes|offset|needed|to_offset|from_offset)(?=[,)])", line):
        yield line[:match.start()] + f"{match.group()} - 1" + line[match.end():]


def versions(line):
    for match in re.finditer(VALUE + r"(?:version|written|retired|generation|owner_generation|stamp|(?<=base->)lost|(?<=node->)lost)\b(?!\()|(?:\*location_held\([^()]*\)|\blocation_held\([^()]*\))->(?:version|written)\b", line):
        if is_read(line, match) and not (match.group().endswith("lost") and "device" in line):
            yield line[:match.start()] + f"({match.group()} + 1)" + line[match.end():]
    for match in re.finditer(r"(?<![\w*])(?:newest|version)(?=[;,) ]|$)", line):
        if is_read(line, match) and not re.match(r"^\s*uint64_t \w+$", line[:match.end()]):
            yield line[:match.start()] + f"({match.group()} + 1)" + line[match.end():]
    yield from of_call(line, r"(?<!uint64_t )\b(?:node_newest|host_version)\(", lambda name, of: f"({name}{of}) + 1)")
    yield from rewrites(line, r"\bGIVES_PART\b", lambda m: "GIVES_NEW")
    yield from rewrites(line, r"\bGIVES_VALUE\b", lambda m: "GIVES_NEW")
    yield from rewrites(line, r"\+\+(?=[\w>.-]*(?:stamp|writes|generation)\b)", lambda m: "2 + ")


KINDS = {"edge": edges, "reference": references, "reader": readers, "signal": signals, "size": sizes, "version": versions}


def sources(source):
    return sorted(os.path.relpath(path, source) for path in glob.glob(source + "/runtime/*.c"))


def lines_of(source, name):
    with open(os.path.join(source, name)) as file:
        return file.read().split("\n")


def candidates(source):
    found = {kind: [] for kind in KINDS}
    for name in sources(source):
        inside = False
        for number, line in enumerate(lines_of(source, name), 1):
            inside = line == "{" or inside and line != "}"
            if inside and not line.lstrip().startswith(("/*", "*", "#")):
                for kind, make in KINDS.items():
                    found[kind] += [(name, number, line, faulty) for faulty in make(line) if faulty != line]
    return found


def flags(source):
    return ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-pthread"] + ["-I" + os.path.join(source, part) for part in ("", "runtime", "common", "runtime/include")]


def compiled(source, name, text, out):
    """None, or what is wrong with it."""
    made = subprocess.run([os.environ.get("CC", "cc")] + flags(source) + (["-c", "-o", out] if out else ["-fsyntax-only"]) + ["-x", "c", "-"], input=text,
                          text=True, capture_output=True, cwd=os.path.join(source, os.path.dirname(name)))
    return made.stderr if made.returncode else None


def draw(source, seed, count):
    """From each file at most a few, so that no large one is all there is."""
    chance, found, rows, seen = random.Random(seed), candidates(source), [], set()
    while len(rows) < count:
        kind = list(KINDS)[len(rows) % len(KINDS)]
        of = chance.choice(sorted({one[0] for one in found[kind]}))
        name, number, line, faulty = chance.choice([one for one in found[kind] if one[0] == of])
        text = lines_of(source, name)
        text[number - 1] = faulty
        if (name, number) in seen or compiled(source, name, "\n".join(text), None):
            continue
        seen.add((name, number))
        rows.append([str(len(rows) + 1), kind, name, str(number), line, faulty, ""])
    return rows


def shown(row):
    return "\t".join(field.replace("\t", "\\t").replace("\n", "\\n") for field in row)


def listed():
    with open(TABLE) as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return [[field.replace("\\t", "\t").replace("\\n", "\n") for field in row] for row in rows]


def planted(source, row):
    """The file's text with the fault: where its line stands now, the nearest of those that are equal; None: nowhere."""
    text = lines_of(source, row[2])
    equal = [i for i, line in enumerate(text) if line.strip() == row[4].strip()]
    if not equal:
        return None
    text[min(equal, key=lambda i: abs(i + 1 - int(row[3])))] = row[5]
    return "\n".join(text)


class Programs:
    def __init__(self, options):
        self.source, self.work, self.library, self.driver = options.source, options.work, options.library, options.driver
        self.objects = {"rows": [], "misuse": [], "threads": []}
        with open(options.objects) as file:
            for line in file:
                program, path = line.split()
                self.objects[program].append(path)
        self.wraps = ["-Wl," + ",".join("--wrap=" + name for name in ("malloc", "calloc", "posix_memalign", "free", "pthread_create", "pthread_join"))]

    def link(self, folder, program, objects):
        path = f"{folder}/{program}"
        made = subprocess.run([os.environ.get("CC", "cc"), "-pthread", *self.objects[program], *objects, self.library, "-lm", "-ldl", "-o", path]
                              + {"rows": self.wraps, "misuse": [], "threads": ["-lcmocka"]}[program], capture_output=True, text=True)
        return path if not made.returncode else sys.exit(made.stderr)

    def build(self, row, slow):
        """Objects of the fault, and of what pauses: a fault is planted in that, too.  A string: why it cannot be."""
        folder = os.path.join(self.work, row[0])
        os.makedirs(folder, exist_ok=True)
        text = planted(self.source, row)
        if text is None:
            return None, "its line is gone"
        texts = {row[2]: text}
        if slow:
            command = texts.get("runtime/command.c") or "\n".join(lines_of(self.source, "runtime/command.c"))
            if command.count(PAUSE[0]) != 1:
                return None, "runtime/command.c has no place to pause"
            texts["runtime/command.c"] = "#include <unistd.h>\n" + command.replace(PAUSE[0], "{ " + PAUSE[1] + PAUSE[0] + " }")
        objects = []
        for name, one in texts.items():
            objects.append(f"{folder}/{os.path.basename(name)}{'.slow' if slow else ''}.o")
            wrong = compiled(self.source, name, one, objects[-1])
            if wrong:
                return None, "it does not compile: " + wrong.strip().split("\n")[0]
        return (folder, objects), None

    def run(self, path, words, **more):
        environment = {k: v for k, v in os.environ.items() if k != "INGOT_LONG"}
        environment.update(STANDIN, ROW_SHORT="1", ROW_STOP="1", ROW_SECONDS="10", MISUSE_SECONDS="10", LD_LIBRARY_PATH=self.driver, **more)
        try:
            return subprocess.run([path, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment, timeout=120)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(path, 1, "it hangs")

    def look(self, path, program, words, **more):
        """Who finds it: a row on a device, a way of misuse; None."""
        made = self.run(path, words, **more)
        if not made.returncode:
            return None
        row = re.search(r"^fail (\w+) (\w+) ", made.stdout, re.M)
        if program == "rows" and row:
            return f"rows --device {row.group(2)} --row {row.group(1)}"
        return " ".join([program, *words])

    def known(self, row, folder, objects):
        """Whether who found it last does still."""
        words = [word for word in row[6].split() if word != "slow"]
        alone = {"ROW_NO_SPARES": "1"} if "alone" in words else {}
        words = [word for word in words if word != "alone"]
        return self.look(self.link(folder, words[0], objects), words[0], words[1:], **alone) is not None

    def finder(self, row):
        """(who finds it, None) or (None, why nobody does)."""
        for slow in (False, True):
            if not slow and row[6].endswith(" slow"):
                continue
            built, wrong = self.build(row, slow)
            if wrong:
                return None, wrong
            if row[6] and row[6].endswith(" slow") == slow and self.known(row, *built):
                return row[6], None
            rows, misuse = self.link(built[0], "rows", built[1]), self.link(built[0], "misuse", built[1])
            for alone in (False, True):
                for device in DEVICES:
                    found = self.look(rows, "rows", ["--device", device], **({"ROW_NO_SPARES": "1"} if alone else {}))
                    if not found and device != "cuda" and not alone and not slow:
                        found = self.look(misuse, "misuse", ["--device", device])
                    if found:
                        return found + " alone" * alone + " slow" * slow, None
            if not slow and row[2] == "runtime/threads.c" and self.look(self.link(built[0], "threads", built[1]), "threads", []):
                return "threads", None
        return None, "nothing finds it"


def find(options):
    programs, rows = Programs(options), listed()
    wanted = [row for row in rows if not options.numbers or row[0] in options.numbers]
    if options.sample:
        found = [row for row in wanted if "--row" in row[6] and "slow" not in row[6]]
        wanted = [found[i * len(found) // options.sample] for i in range(options.sample)]
    else:
        line = PAUSE[0]
        found, why = programs.finder(["0", "none", "runtime/command.c", "1", line, line, ""])
        if why != "nothing finds it":
            print(f"without a fault it fails: {found or why}")
            return True
    lost = [row for row in rows if planted(options.source, row) is None]
    alive = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row, (finder, why) in zip(wanted, pool.map(programs.finder, wanted)):
            print(f"{row[0]} {row[1]} {row[2]}:{row[3]} {row[4].strip()[:90]}: {finder or why}", flush=True)
            if not finder:
                alive.append((row[6], why))
            row[6] = finder or ""
    if options.write:
        with open(TABLE) as file:
            head = [line for line in file if line.startswith("#")]
        with open(TABLE, "w") as file:
            file.writelines(head + [shown(row) + "\n" for row in rows])
    for row in lost:
        print(f"{row[0]} {row[2]}: its line is gone: {row[4].strip()}")
    print(f"{len(wanted) - len(alive)} of {len(wanted)} faults found, {len(alive)} not; {len(lost)} have lost their line")
    return bool(lost) or any(was or why != "nothing finds it" for was, why in alive)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("what", choices=("draw", "find"))
    options.add_argument("source")
    options.add_argument("work", nargs="?")
    options.add_argument("numbers", nargs="*")
    options.add_argument("--seed", type=int, default=27)
    options.add_argument("--count", type=int, default=60)
    options.add_argument("--objects")
    options.add_argument("--library")
    options.add_argument("--driver", default="")
    options.add_argument("--sample", type=int, default=0)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--write", action="store_true")
    options = options.parse_intermixed_args()
    options.source = os.path.abspath(options.source)
    if options.what == "draw":
        print("\n".join(map(shown, draw(options.source, options.seed, options.count))))
        return 0
    options.work = os.path.abspath(options.work)
    if os.environ.get("INGOT_LONG"):
        options.sample = 0
    return find(options)


if __name__ == "__main__":
    sys.exit(main())
