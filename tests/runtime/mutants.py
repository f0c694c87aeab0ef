"""mutants.py: drawn faults.  Every conditional and every call statement of runtime/*.c and common/*.c is removed or inverted once, in one build that
chooses its mutant by $MUTANT, and the tests that reach it run until one of them fails.

    mutants.py SOURCE WORK [--all | --sample N [--seed S] | --file NAME ...] [--device NAME] [--seconds T] [--resume] [--jobs N]
               [--most PERCENT]

    if            removed: it is evaluated, and taken for false
    while for ?:  inverted
    call          a statement that is a call is left out

What stands in code for one thread (#if !INGOT_THREADS) is not compiled here, and not counted.  The tests: each row and each way of
misuse on each device in a process of its own, the planner's and the threads' tests; for what these leave alive, the same with memory
of each command its own, the rows with failing calls (--fail, --fail-driver), the rows on other stand-ins, and what the choice left out.
A test counts for a mutant that it reaches (an if: with a true condition) without one, and of many such tests a choice.  A hang is a
death.  Each survivor is printed.
Fails where more than PERCENT (10) survive.  `cuda` is the driver that stands in for NVIDIA's; without NVRTC its rows have no kernels.

--file: mutants of these files alone, with --sample so many of them.  --device: only the tests on that one.

Without --all, --sample and --file (or INGOT_LONG=1: a sample of 100) it only counts.  --seconds: stops then, in an order of chance.
--resume: goes on where the last run in WORK stopped, and takes what died then for dead.
"""
import argparse
import glob
import hashlib
import json
import mmap
import os
import queue
import random
import re
import resource
import subprocess
import sys
import threading
import time

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d[\w.]*|->|\+\+|--|<<=|>>=|'
                   r'[-+*/%&|^=!<>]=|&&|\|\||<<|>>|\s+|.', re.S)
DEVICES = ("sync", "multicore", "lazy", "mock", "cuda")
NOT_CALLS = {"if", "while", "for", "switch", "return", "sizeof", "va_start", "va_end", "defined", "__asm__"}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}

HELPER = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
int mutant = -1;
static unsigned char none[2 * MUTANTS + 2];
unsigned char *mutant_seen = none;
__attribute__((constructor)) static void mutant_begin(void)
{
	const char *number = getenv("MUTANT"), *path = getenv("MUTANT_SEEN");
	int file = path ? open(path, O_RDWR) : -1;
	mutant = number ? atoi(number) : -1;
	if (file >= 0)
		mutant_seen = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}
"""
HEADER = r"""
extern int mutant;
extern unsigned char *mutant_seen;
/* Seen: 2n reached, 2n + 1 reached with a true condition. */
static inline int mutant_if(int n, int c) { if (!mutant_seen[2 * n + c]) mutant_seen[2 * n + c] = 1; return mutant == n ? 0 : c; }
static inline int mutant_not(int n, int c) { if (!mutant_seen[2 * n + 1]) mutant_seen[2 * n + 1] = 1; return mutant == n ? !c : c; }
static inline int mutant_call(int n) { if (!mutant_seen[2 * n + 1]) mutant_seen[2 * n + 1] = 1; return mutant != n; }
"""


def tokens_of(text):
    """(text, at) of each token of code that is compiled: no space, comment, directive, nor what is for one thread."""
    found, lines, open_ifs, continued = [], [], [], False         # of each #if: what it asks, whether its part is left out
    for line in text.splitlines(keepends=True):
        word = re.match(r"\s*#\s*(\w+)(.*)", line)
        if word and not continued:
            name, asks = word.group(1), word.group(2).strip()
            if name in ("if", "ifdef", "ifndef"):
                open_ifs.append([asks, asks == "!INGOT_THREADS"])
            elif name in ("else", "elif"):
                open_ifs[-1][1] = open_ifs[-1][0] != "!INGOT_THREADS"
            elif name == "endif":
                open_ifs.pop()
        lines.append((line, bool(word or continued) or any(out for _, out in open_ifs)))
        continued = (word or continued) and line.rstrip("\n").endswith("\\")
    visible = "".join(re.sub(r"[^\n]", " ", line) if hide else line for line, hide in lines)
    for match in TOKEN.finditer(visible):
        token = match.group()
        if not token.isspace() and not token.startswith(("/*", "//")):
            found.append((token, match.start()))
    return found


def partners(tokens):
    stack, pair = [], {}
    for i, (token, _) in enumerate(tokens):
        if token in ("(", "[", "{"):
            stack.append(i)
        elif token in (")", "]", "}"):
            pair[i] = stack.pop()
            pair[pair[i]] = i
    return pair


def bodies(tokens, pair):
    """Ranges of tokens of function bodies."""
    i = 0
    while i < len(tokens):
        if tokens[i][0] == "{":
            if i and tokens[i - 1][0] == ")":
                yield i, pair[i]
            i = pair[i]
        i += 1


def mutate(name, text, first):
    """The text with all its mutants, and what they are: (number, line, kind, words)."""
    tokens, mutants, edits = tokens_of(text), [], []
    pair = partners(tokens)

    def line(at):
        return text.count("\n", 0, at) + 1

    def words(begin, end):
        return " ".join(text[begin:end].split())[:110]

    def add(begin, end, kind):
        number = first + len(mutants)
        macro = "mutant_if" if kind == "if" else "mutant_not"
        edits.append((begin, 1, f" {macro}({number}, !!("))
        edits.append((end, 0, "))"))
        mutants.append((number, name, line(begin), kind, words(begin, end)))

    for begin, end in bodies(tokens, pair):
        statement, control, heads = begin + 1, set(), set()          # heads: the semicolons of a for
        for i in range(begin + 1, end):
            token, at = tokens[i]
            before = tokens[i - 1][0]
            if (before in (";", "{", "}", "else", "do") and i - 1 not in heads) or i - 1 in control or (before == ":" and tokens[statement][0] in ("case", "default")):
                statement = i
            if token in ("if", "while", "switch") and tokens[i + 1][0] == "(":
                close = pair[i + 1]
                if tokens[close + 1][0] != ";" or token == "if":
                    control.add(close)
                if token != "switch":
                    add(tokens[i + 1][1] + 1, tokens[close][1], token)
            elif token == "for":
                close, semicolons, k = pair[i + 1], [], i + 2
                while k < close:
                    if tokens[k][0] in ("(", "[", "{"):
                        k = pair[k]
                    elif tokens[k][0] == ";":
                        semicolons.append(k)
                    k += 1
                control.add(close)
                heads.update(semicolons)
                if len(semicolons) == 2 and semicolons[0] + 1 < semicolons[1]:
                    add(tokens[semicolons[0]][1] + 1, tokens[semicolons[1]][1], "for")
            elif token == "?" and tokens[statement][0] != "static":
                k = i - 1
                while k >= statement and tokens[k][0] not in ("(", "[", "{", ",", ";", "?", ":", "return") and tokens[k][0] not in ASSIGN:
                    k = pair[k] - 1 if tokens[k][0] in (")", "]", "}") else k - 1
                add(tokens[k][1] + len(tokens[k][0]), at, "?:")
            elif i == statement and re.match(r"[A-Za-z_]\w*$", token) and token not in NOT_CALLS:
                k = i + 1
                while tokens[k][0] in ("->", ".", "["):
                    k = pair[k] + 1 if tokens[k][0] == "[" else k + 2
                if tokens[k][0] == "(" and tokens[pair[k] + 1][0] == ";":
                    number = first + len(mutants)
                    stop = tokens[pair[k] + 1][1] + 1
                    edits.append((at, 1, f"do if (mutant_call({number})) {{ "))
                    edits.append((stop, 0, " } while (0);"))
                    mutants.append((number, name, line(at), "call", words(at, stop)))
    for at, _, insert in sorted(edits, key=lambda e: (e[0], e[1]), reverse=True):
        text = text[:at] + insert + text[at:]
    return text, mutants


def run(command, **environment):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env=dict({k: v for k, v in os.environ.items() if k != "INGOT_LONG"}, **environment))


def sources(source):
    """The runtime, and what it shares with the generator."""
    return sorted(glob.glob(source + "/runtime/*.c") + glob.glob(source + "/common/*.c"))


def all_mutants(source, work=None):
    """All of them; written to WORK as programs, where it is said."""
    mutants = []
    for path in sources(source):
        text, found = mutate(os.path.basename(path), open(path).read(), len(mutants))
        mutants += found
        if work:
            with open(f"{work}/{os.path.basename(path)}", "w") as file:
                file.write(text)
    return mutants


def keys(mutants):
    """A name for each that stays where lines move."""
    seen, names = {}, {}
    for number, name, _, kind, words in mutants:
        key = (name, kind, words)
        seen[key] = seen.get(key, 0) + 1
        names[number] = "\t".join(key + (str(seen[key]),))
    return names


def build(source, work):
    cc, tests = os.environ.get("CC", "cc"), source + "/tests/runtime/"
    images = work + "/images"                                          # the rows' kernels, for GPUs and for the driver that stands in for NVIDIA's
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-I" + source, "-I" + source + "/runtime", "-I" + source + "/common",
             "-I" + source + "/runtime/include", "-I" + tests + "rows", "-I" + images, "-pthread"]
    os.makedirs(work, exist_ok=True)
    mutants = all_mutants(source, work)
    rows, misuse = glob.glob(tests + "rows/*.c"), glob.glob(tests + "misuse/*.c")
    paths = [f"{work}/{os.path.basename(path)}" for path in sources(source)]
    driver = [f"{source}/tests/cuda/driver/{name}.c" for name in ("driver", "execute", "memory", "modules", "streams")]
    others = rows + misuse + [tests + "test_plan.c", tests + "test_threads.c"]
    with open(work + "/mutant.h", "w") as file:
        file.write(HEADER)
    with open(work + "/helper.c", "w") as file:
        file.write(f"#define MUTANTS {len(mutants)}\n" + HELPER)
    digest = hashlib.sha256(HELPER.encode())
    for path in sorted(paths + others + driver + [tests + "rows/kernels.cu"] + glob.glob(source + "/runtime/*.h")
                       + glob.glob(source + "/runtime/include/ingot/*.h")):
        digest.update(open(path, "rb").read())
    stamp = digest.hexdigest()
    if os.path.exists(work + "/stamp") and open(work + "/stamp").read() == stamp:
        return mutants, stamp
    images_made = run([sys.executable, tests + "rows_images.py", images])
    if images_made.returncode:
        sys.exit(images_made.stdout)
    others.append(images + "/images.c")
    os.makedirs(work + "/driver", exist_ok=True)
    jobs = [[cc, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-I" + source] + driver
            + ["-ldl", "-o", work + "/driver/libcuda.so.1"]]
    jobs += [[cc] + flags + ["-include", work + "/mutant.h", "-c", path, "-o", path + ".o"] for path in paths]
    jobs.append([cc, "-O1", "-c", work + "/helper.c", "-o", work + "/helper.o"])
    jobs += [[cc] + flags + ["-c", path, "-o", f"{work}/{os.path.basename(path)}.test.o"] for path in others]
    failed = []

    def compile_one(job, _):
        if subprocess.run(job).returncode:
            failed.append(job)
    each(jobs, 2, compile_one)
    if failed:
        sys.exit("does not compile: " + " ".join(failed[0]))
    objects = [path + ".o" for path in paths] + [work + "/helper.o"]

    def link(name, of, more):
        made = run([cc, "-pthread"] + [f"{work}/{os.path.basename(p)}.test.o" for p in of] + objects + ["-lm", "-ldl", "-o", f"{work}/{name}"] + more)
        if made.returncode:
            sys.exit(made.stdout)
    kernels = [tests + "rows/gpu.c", images + "/images.c"]
    link("runtime-rows", rows + kernels[1:], ["-Wl," + ",".join("--wrap=" + name for name in ("malloc", "calloc", "posix_memalign", "free",
                                                                                              "pthread_create", "pthread_join"))])
    link("runtime-misuse", misuse + [tests + "rows/" + n for n in ("small.c", "lazy.c", "mock.c")] + kernels, [])
    link("test_plan", [tests + "test_plan.c"], ["-lcmocka"])
    link("test_threads", [tests + "test_threads.c"], ["-lcmocka"])
    with open(work + "/stamp", "w") as file:
        file.write(stamp)
    return mutants, stamp


def on_standin(work):
    """What the rows of `cuda` need around them."""
    return {"LD_LIBRARY_PATH": work + "/driver", "STANDIN_DEVICES": "2", "STANDIN_ABORT": "1"}


class Seen:
    """The file that a run of the programs marks what it reaches in."""

    def __init__(self, path, count):
        self.path, self.bytes = path, 2 * count + 2
        with open(path, "wb") as file:
            file.write(bytes(self.bytes))

    def take(self):
        with open(self.path, "r+b") as file, mmap.mmap(file.fileno(), self.bytes) as view:
            what = bytes(view)
            view[:] = bytes(self.bytes)
        return [n for n in range(self.bytes // 2 - 1) if what[2 * n + 1]]


def each(items, jobs, work):
    """work(item, worker) for all of them, by so many threads."""
    todo = queue.Queue()
    for item in items:
        todo.put(item)

    def loop(worker):
        while True:
            try:
                item = todo.get_nowait()
            except queue.Empty:
                return
            work(item, worker)
    threads = [threading.Thread(target=loop, args=(n,)) for n in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def units_of(work, device):
    """The tests, one command each; those on one device, where it is said."""
    rows = re.findall(r'"row":"(\w+)","device":"(\w+)"[^}]*"result":"pass"', run([work + "/runtime-rows", "--json"] + (["--device", device] if device else [])).stdout)
    units = [["runtime-rows", "--row", row, "--device", on] for row, on in sorted(set(rows)) if on in DEVICES]
    for line in run([work + "/runtime-misuse", "--list"]).stdout.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in DEVICES:
            units.append(["runtime-misuse", "--device", words[0], "--way", words[1]])
    units += [["test_plan"], ["test_threads"]]
    return [unit for unit in units if not device or device in unit]


def cover(units, mutants, work, jobs):
    """For each mutant the tests that reach it."""
    reach = {m[0]: [] for m in mutants}
    seen, lock, skipped = [Seen(f"{work}/seen{n}", len(mutants)) for n in range(jobs)], threading.Lock(), []

    def one(unit, worker):
        begin = time.monotonic()
        code = run([work + "/" + unit[0]] + unit[1:], ROW_SHORT="1", MUTANT_SEEN=seen[worker].path).returncode
        took = time.monotonic() - begin
        what = seen[worker].take()
        with lock:
            if code:
                skipped.append(unit)
                return
            for number in what:
                reach[number].append((round(took, 4), unit))
    each(units, jobs, one)
    for unit in skipped:
        print("fails without a mutant, left out:", " ".join(unit))
    return reach


FAILING = {"sync": ["--fail", "40"], "cuda": ["--fail-driver", "4"]}          # cuda: the calls of the driver
OTHERS = ({"STANDIN_RESERVED": "0"}, {"STANDIN_CAPABILITY": "120", "STANDIN_VERSION": "13090"})       # an older driver; a GPU that takes text
MOST = {"sync": 70, "mock": 60, "multicore": 25, "lazy": 25, "cuda": 40}       # rows that are asked for one mutant; of ways as many again


def choose(tests):
    """The fast ones of each device, rows first.  What hundreds of ways of misuse reach is what opens their scene: a sample of those."""
    chosen = []
    for program in ("test_plan", "test_threads", "runtime-rows", "runtime-misuse"):
        for device in ("", *MOST):
            of = sorted(t for t in tests if t[1][0] == program and (device in t[1]) == bool(device) and (device or len(t[1]) == 1))
            most = MOST.get(device, 1)
            chosen += of[:most] if program != "runtime-misuse" else of[::max(1, 2 * len(of) // max(2, most))]
    return chosen


def left_out(tests, chosen):
    """What was not chosen: rows, and each way of misuse on one device."""
    left = [t for t in sorted(tests) if t not in chosen and (t[1][0] == "runtime-rows" or t[0] < 0.08)]
    ways = {t[1][-1]: t for t in reversed(left) if t[1][0] == "runtime-misuse"}
    return [t for t in left if t[1][0] == "runtime-rows"] + sorted(ways.values())


def dies(work, number, tests, **environment):
    for took, unit in tests:
        seconds = max(5, int(3 * took) + 1)                # the machine may be busy with others
        try:
            made = subprocess.run([work + "/" + unit[0]] + unit[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds + 10,
                                  env=dict(os.environ, MUTANT=str(number), ROW_SHORT="1", ROW_SECONDS=str(seconds), MISUSE_SECONDS=str(seconds),
                                           **environment))
            if made.returncode:
                return " ".join(unit)
        except subprocess.TimeoutExpired:
            return " ".join(unit)
    return None


def kept(path, stamp, make):
    """What `make` answers, from the last run where nothing has changed since."""
    if os.path.exists(path):
        with open(path) as file:
            was = json.load(file)
        if was["stamp"] == stamp:
            return {int(number): [tuple(t) for t in tests] for number, tests in was["reach"].items()}
    reach = make()
    with open(path, "w") as file:
        json.dump({"stamp": stamp, "reach": reach}, file)
    return reach


def main():
    options = argparse.ArgumentParser()
    options.add_argument("source")
    options.add_argument("work")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--all", action="store_true")
    options.add_argument("--sample", type=int, default=100 if os.environ.get("INGOT_LONG") else 0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--file", action="append")
    options.add_argument("--device", choices=DEVICES)
    options.add_argument("--seconds", type=float, default=1e9)
    options.add_argument("--resume", action="store_true")
    options.add_argument("--fast", action="store_true", help="without the second look at what is alive")
    options.add_argument("--most", type=float, default=10)
    options = options.parse_args()
    os.environ.pop("INGOT_LONG", None)
    source, work = os.path.abspath(options.source), os.path.abspath(options.work)
    os.environ.update(on_standin(work))
    mutants = all_mutants(source)
    print(f"{len(mutants)} mutants:", ", ".join(f"{sum(m[3] == kind for m in mutants)} {kind}" for kind in ("if", "while", "for", "?:", "call")), flush=True)
    if not (options.all or options.sample or options.file):
        sys.exit(len(mutants) < 1000)
    begin = time.monotonic()
    mutants, stamp = build(source, work)
    names = keys(mutants)
    stamp += options.device or ""
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))        # not of addresses: the stand-in reserves some
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    units = units_of(work, options.device)
    reach = kept(work + "/reach", stamp, lambda: cover(units, mutants, work, options.jobs))
    print(f"{len(units)} tests reach {sum(bool(t) for t in reach.values())} of them ({time.monotonic() - begin:.0f} s)", flush=True)
    failing = {}
    if not options.fast:
        failing = kept(work + "/failing", stamp, lambda: cover([u + FAILING[u[4]] for u in units if u[0] == "runtime-rows" and u[4] in FAILING],
                                                               mutants, work, options.jobs))
        print(f"with failing calls {sum(bool(reach[n] or failing[n]) for n in reach)} ({time.monotonic() - begin:.0f} s)", flush=True)
    killers, chance = {}, random.Random(options.seed)
    if options.resume and os.path.exists(work + "/results"):
        was = dict(line.rstrip("\n").rsplit("\t", 1) for line in open(work + "/results"))
        killers = {n: was[name] for n, name in names.items() if was.get(name, "alive") != "alive"}
    picked = [m for m in mutants if not options.file or m[1] in options.file]
    if options.sample and not options.all:
        picked = chance.sample(picked, min(options.sample, len(picked)))
    chance.shuffle(picked)
    lock, looked = threading.Lock(), []
    with open(work + "/results", "a" if options.resume else "w") as results:
        def one(mutant, worker):
            number = mutant[0]
            if number not in killers and time.monotonic() - begin > options.seconds:
                return
            killer = killers.get(number)
            if not killer:
                tests = choose(reach[number])
                killer = dies(work, number, tests)
                if not killer and not options.fast:
                    killer = (dies(work, number, tests[:80], ROW_NO_SPARES="1") or dies(work, number, sorted(failing[number])[:12])
                              or dies(work, number, left_out(reach[number], tests)))
                    on_cuda = [t for t in tests if "cuda" in t[1]]
                    for others in OTHERS:
                        killer = killer or dies(work, number, on_cuda, **others)
            with lock:
                looked.append(mutant)
                killers[number] = killer
                print(f"{names[number]}\t{killer or 'alive'}", file=results, flush=True)
        each(picked, options.jobs, one)
    alive = sorted(m for m in looked if not killers[m[0]])
    for m in alive:
        print(f"alive {m[1]}:{m[2]} {m[3]} {m[4]}{'' if reach[m[0]] or failing.get(m[0]) else '   (not reached)'}")
    share = 100 * len(alive) / max(1, len(looked))
    print(f"{len(looked)} of {len(picked)} looked at, {len(alive)} survive ({share:.1f} %, {time.monotonic() - begin:.0f} s)")
    sys.exit(share > options.most)


if __name__ == "__main__":
    main()
