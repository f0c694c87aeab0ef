"""mutants.py: drawn faults.  Every conditional and every call statement of runtime/*.c is removed or inverted once, in one build that
chooses its mutant by $MUTANT, and the tests that reach it run until one of them fails.

    mutants.py SOURCE WORK [--jobs N] [--sample N [--seed S]] [--only NUMBER ...] [--list] [--most PERCENT]

    if            removed: it is evaluated, and taken for false
    while for ?:  inverted
    call          a statement that is a call is left out

What stands in code for one thread (#if !INGOT_THREADS) is not compiled here, and not counted.  The tests: each row and each way of
misuse on each device in a process of its own, the planner's and the threads' tests; for what these leave alive, the rows with failing
calls (--fail).  A test counts for a mutant that it reaches without one (for an if: reaches with a true condition).  A hang is a death.

Each survivor is printed.  Fails where more than PERCENT (10) of the mutants survive.
"""
import argparse
import glob
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
DEVICES = ("sync", "multicore", "lazy", "mock")
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
        statement, control = begin + 1, set()
        for i in range(begin + 1, end):
            token, at = tokens[i]
            before = tokens[i - 1][0]
            if before in (";", "{", "}", "else", "do") or i - 1 in control or (before == ":" and tokens[statement][0] in ("case", "default")):
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
                if semicolons[0] + 1 < semicolons[1]:
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


def build(source, work):
    cc, mutants, objects = os.environ.get("CC", "cc"), [], []
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", "-I" + source + "/runtime", "-I" + source + "/runtime/include", "-pthread"]
    os.makedirs(work, exist_ok=True)
    with open(work + "/mutant.h", "w") as file:
        file.write(HEADER)
    jobs = []
    for path in sorted(glob.glob(source + "/runtime/*.c")):
        text, found = mutate(os.path.basename(path), open(path).read(), len(mutants))
        mutants += found
        with open(f"{work}/{os.path.basename(path)}", "w") as file:
            file.write(text)
        jobs.append([cc] + flags + ["-include", work + "/mutant.h", "-c", f"{work}/{os.path.basename(path)}",
                                    "-o", f"{work}/{os.path.basename(path)}.o"])
    with open(work + "/helper.c", "w") as file:
        file.write(f"#define MUTANTS {len(mutants)}\n" + HELPER)
    objects = [job[-1] for job in jobs] + [work + "/helper.o"]
    jobs.append([cc, "-O1", "-c", work + "/helper.c", "-o", work + "/helper.o"])
    tests = source + "/tests/runtime/"
    rows, misuse = glob.glob(tests + "rows/*.c"), glob.glob(tests + "misuse/*.c")
    jobs += [[cc] + flags + ["-c", path, "-o", f"{work}/{os.path.basename(path)}.test.o"]
             for path in rows + misuse + [tests + "test_plan.c", tests + "test_threads.c"]]
    running = []
    for job in jobs:
        running.append((job, subprocess.Popen(job)))
        if len(running) >= 3:
            finish_jobs(running, 2)
    finish_jobs(running, 0)

    def link(name, paths, more):
        made = run([cc, "-pthread"] + [f"{work}/{os.path.basename(p)}.test.o" for p in paths] + objects + ["-lm", "-o", f"{work}/{name}"] + more)
        if made.returncode:
            sys.exit(made.stdout)
    link("runtime-rows", rows, [])
    link("runtime-misuse", misuse + [tests + "rows/" + n for n in ("small.c", "lazy.c", "mock.c")], [])
    link("test_plan", [tests + "test_plan.c"], ["-lcmocka"])
    link("test_threads", [tests + "test_threads.c"], ["-lcmocka"])
    return mutants


def finish_jobs(running, most):
    while len(running) > most:
        job, process = running.pop(0)
        if process.wait():
            sys.exit("does not compile: " + " ".join(job))


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


def units_of(work):
    """The tests, one command each."""
    rows = re.findall(r'"row":"(\w+)","device":"(\w+)"[^}]*"result":"pass"', run([work + "/runtime-rows", "--json"]).stdout)
    units = [[work + "/runtime-rows", "--row", row, "--device", device] for row, device in sorted(set(rows)) if device in DEVICES]
    for line in run([work + "/runtime-misuse", "--list"]).stdout.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in DEVICES:
            units.append([work + "/runtime-misuse", "--device", words[0], "--way", words[1]])
    return units + [[work + "/test_plan"], [work + "/test_threads"]]


FAIL = ["--fail", "1000"]


def cover(units, mutants, work, jobs):
    """For each mutant the tests that reach it, the fast ones first."""
    reach = {m[0]: [] for m in mutants}
    seen, lock, skipped = [Seen(f"{work}/seen{n}", len(mutants)) for n in range(jobs)], threading.Lock(), []

    def one(unit, worker):
        begin = time.monotonic()
        code = run(unit, ROW_SHORT="1", MUTANT_SEEN=seen[worker].path).returncode
        took = time.monotonic() - begin
        what = seen[worker].take()
        with lock:
            if code:
                skipped.append(unit)
                return
            for number in what:
                reach[number].append((took, unit))
    each(units, jobs, one)
    for unit in skipped:
        print("fails without a mutant, left out:", " ".join(unit[1:]))
    return {number: chosen(sorted(of, key=lambda f: (f[1][0].endswith("misuse"), f[0]))) for number, of in reach.items()}


def chosen(tests):
    """Rows first.  What hundreds of ways of misuse reach is what opens their scene: of those a sample."""
    rows = [t for t in tests if not t[1][0].endswith("misuse")]
    ways = [t for t in tests if t[1][0].endswith("misuse") and t[0] < 1]
    return rows + (ways if len(ways) <= 120 else ways[::len(ways) // 60])


def dies(number, tests, **environment):
    for took, unit in tests:
        seconds = str(max(2, int(6 * took) + 1))
        try:
            made = subprocess.run(["timeout", "-k", "1", str(int(seconds) + 1)] + unit, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=dict(os.environ, MUTANT=str(number), ROW_SHORT="1", ROW_SECONDS=seconds, MISUSE_SECONDS=seconds, **environment))
        except OSError as error:
            sys.exit(str(error))
        if made.returncode:
            return " ".join(unit[1:]) or os.path.basename(unit[0])
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("source")
    options.add_argument("work")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--sample", type=int)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--most", type=float, default=10)
    options.add_argument("--list", action="store_true")
    options.add_argument("--fast", action="store_true", help="without the rows with failing calls")
    options.add_argument("--only", type=int, nargs="*")
    options.add_argument("--file", help="of this file alone")
    options = options.parse_args()
    os.environ.pop("INGOT_LONG", None)
    source, work = os.path.abspath(options.source), os.path.abspath(options.work)
    mutants = build(source, work)
    kinds = {kind: sum(m[3] == kind for m in mutants) for kind in ("if", "while", "for", "?:", "call")}
    print(f"{len(mutants)} mutants:", ", ".join(f"{n} {kind}" for kind, n in kinds.items()), flush=True)
    if options.list:
        for m in mutants:
            print(*m)
        return
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    begin = time.monotonic()
    units = units_of(work)
    reach = cover(units, mutants, work, options.jobs)
    reached = sum(bool(reach[m[0]]) for m in mutants)
    print(f"{len(units)} tests reach {reached} of them ({time.monotonic() - begin:.0f} s)", flush=True)
    picked = [m for m in mutants if (not options.only or m[0] in options.only) and (not options.file or m[1] == options.file)]
    if options.sample and options.sample < len(picked):
        picked = sorted(random.Random(options.seed).sample(picked, options.sample))
    killers, lock = {}, threading.Lock()

    def one(mutant, worker):
        killer = dies(mutant[0], reach[mutant[0]])
        with lock:
            killers[mutant[0]] = killer
    each(picked, options.jobs, one)
    alive = [m for m in picked if not killers[m[0]]]
    print(f"{len(alive)} of {len(picked)} alive ({time.monotonic() - begin:.0f} s)", flush=True)
    if alive and not options.fast:
        failing = [unit + FAIL for unit in units if unit[0].endswith("rows") and unit[4] in ("sync", "mock")]
        by_failure = cover(failing, mutants, work, options.jobs)

        def again(mutant, worker):
            with lock:
                before = reach[mutant[0]]
            killer = dies(mutant[0], before, ROW_NO_SPARES="1") or dies(mutant[0], by_failure[mutant[0]][:25])
            with lock:
                killers[mutant[0]] = killer
                reach[mutant[0]] = before + by_failure[mutant[0]]
        each(alive, options.jobs, again)
        alive = [m for m in picked if not killers[m[0]]]
    for m in alive:
        print(f"alive {m[0]} {m[1]}:{m[2]} {m[3]} {m[4]}{'' if reach[m[0]] else '   (not reached)'}")
    with open(work + "/killers", "w") as file:
        for m in picked:
            print(*m[:4], "|", m[4], "|", killers[m[0]], file=file)
    share = 100 * len(alive) / len(picked) if picked else 0
    print(f"{len(picked)} mutants, {len(alive)} survive ({share:.1f} %, {time.monotonic() - begin:.0f} s)")
    sys.exit(share > options.most)


if __name__ == "__main__":
    main()
