#!/usr/bin/env python3
"""faults.py: draws faults in the code that makes kernels, and says which test finds each.  What the tests are worth is measured so.

    faults.py draw [--seed N] [--count N]       prints the list that such a seed draws: as many from each folder
    faults.py list                              the faults of tests/faults.tsv, and whether each still has its line
    faults.py find [NUMBER ...] [-R REGEX] [--work DIR]
                                                plants each of them (all, where none is named) in a copy of the tree and runs its ./check (of
                                                the tests those that match REGEX) until one fails; first as it is, where none may fail

A fault is one edit that still compiles: an operator is another one, a number is one more, a condition holds always, two operands change
places, or a statement is left out.  A row of the table: number, file, line, what it is, the line as it was, the line with the fault.
What found each is in faults.md.  A row is drawn once and kept: so a change of the tests is judged by the same faults before and after.  Nothing is fuzzed, and whether the code
is laid out as it should be is not asked.  Run in full, `find` takes as long as ./check for each fault that nothing finds."""
import argparse
import filecmp
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "tests", "faults.tsv")
FOLDERS = ["generator/kernels", "generator/loops", "generator/emit", "generator/jit", "templates"]
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "+", "/": "*", "%": "/"}
SKIP = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//(?!%).*|/\*.*?\*/')
OPERATOR = re.compile(r"(?<=[\w)\]] )(<=|>=|==|!=|&&|\|\||[-<>+*/%])(?= [\w(!-])")
NUMBER = re.compile(r"(?<![\w.\"#{])\d+(?![\w.\"}])")
CONDITION = re.compile(r"\bif \(")
OPERANDS = re.compile(r"(?<![\w.>)\]])([a-z]\w*)( - | / | % | < | << )([a-z]\w*)(?![\w.(\[-])|(?<=\w\()([a-z]\w*)(, )([a-z]\w*)(?=\))")
STATEMENT = re.compile(r"^(\t+)(?!return|goto|break|continue|assert|case|else|const|struct|enum|static)([a-z]\w*(?:\(.*\)| [-+|]?= .*|(?:->|\.|\[).* [-+|]?= .*);)$")


def closing(line, start):
    depth = 0
    for i in range(start, len(line)):
        depth += (line[i] == "(") - (line[i] == ")")
        if not depth:
            return i
    return None


def faults_of(line):
    """(what it is, the line with the fault)"""
    bare = SKIP.sub(lambda m: " " * len(m.group()), line)
    if "assert" in bare or bare.lstrip().startswith(("#", "*", "/*")) or "for (;;" in bare:
        return
    for m in OPERATOR.finditer(bare):
        yield "operator", line[:m.start(1)] + OTHER[m.group(1)] + line[m.end(1):]
    for m in NUMBER.finditer(bare):
        yield "number", line[:m.start()] + str(int(m.group()) + 1) + line[m.end():]
    for m in CONDITION.finditer(bare):
        end = closing(bare, m.end() - 1)
        if end:
            yield "condition", line[:m.end()] + "(" + line[m.end():end] + ") || 1" + line[end:]
    for m in OPERANDS.finditer(bare):
        a, by, b = m.groups()[:3] if m.group(1) else m.groups()[3:]
        if a != b:
            yield "operands", line[:m.start()] + b + by + a + line[m.end():]
    m = STATEMENT.match(bare)
    if m:
        yield "statement", m.group(1) + ";" + line[m.end():]


def files(folder):
    names = subprocess.run(["git", "ls-files", folder], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return [n for n in names if n.endswith((".c", ".jinja")) and not n.endswith(("print.c", "check.c")) and "/onnx/" not in n]


def lines(name):
    with open(os.path.join(ROOT, name)) as file:
        return file.read().split("\n")


def candidates(folder):
    """kind -> [(file, line number, line, line with the fault)]: lines within functions, and all of a template."""
    found = {}
    for name in files(folder):
        inside = name.endswith(".jinja")
        comment = False
        for number, line in enumerate(lines(name), 1):
            if name.endswith(".c"):
                inside = line == "{" or inside and line != "}"
            comment = comment or line.lstrip().startswith(("{#", "/*"))
            if inside and not comment:
                for kind, faulty in faults_of(line):
                    found.setdefault(kind, []).append((name, number, line, faulty))
            comment = comment and "#}" not in line and "*/" not in line
    return found


def compiles(name, number, faulty):
    """A file of C by itself; a template is C only once it is rendered."""
    if not name.endswith(".c"):
        return True
    text = lines(name)
    text[number - 1] = faulty
    flags = ["-std=gnu11", "-D_GNU_SOURCE", '-DINGOT_VERSION="0"', "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"]
    places = [os.path.dirname(name), "generator", "generator/include", ".", "runtime/include", "generator/jit"]
    return subprocess.run(["gcc", *("-I" + os.path.join(ROOT, p) for p in places), *flags], input="\n".join(text), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def draw(seed, count):
    chance, rows, seen = random.Random(seed), [], set()
    by_folder = {folder: candidates(folder) for folder in FOLDERS}
    while len(rows) < count:
        found = by_folder[FOLDERS[len(rows) % len(FOLDERS)]]
        kind = chance.choice(sorted(found))
        name = chance.choice(sorted({one[0] for one in found[kind]}))
        name, number, line, faulty = chance.choice([one for one in found[kind] if one[0] == name])
        if (name, number) not in seen and compiles(name, number, faulty):
            seen.add((name, number))
            rows.append((str(len(rows) + 1), name, str(number), kind, line.replace("\t", "\\t"), faulty.replace("\t", "\\t")))
    return rows


def listed():
    with open(TABLE) as file:
        return [tuple(line.rstrip("\n").split("\t")) for line in file if not line.startswith("#")]


def place(row, root=ROOT):
    """Where the row's line is now: the nearest of those that are equal; None where there is none."""
    _, name, number, _, line, _ = row
    path = os.path.join(root, name)
    if not os.path.exists(path):
        return None
    with open(path) as file:
        equal = [i for i, text in enumerate(file.read().split("\n")) if text.strip() == line.replace("\\t", "\t").strip()]
    return min(equal, key=lambda i: abs(i + 1 - int(number)), default=None)


def plant(row, root):
    path = os.path.join(root, row[1])
    with open(path) as file:
        text = file.read().split("\n")
    text[place(row, root)] = row[5].replace("\\t", "\t")
    with open(path, "w") as file:
        file.write("\n".join(text))


def copy_to(work):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        there, here = os.path.join(ROOT, name), os.path.join(work, name)
        if os.path.isfile(there) and not (os.path.exists(here) and filecmp.cmp(there, here, shallow=False)):
            os.makedirs(os.path.dirname(here), exist_ok=True)
            shutil.copy(there, here)


def failing(work, regex):
    """What ./check there finds wrong first; None: nothing."""
    env = dict(os.environ, INGOT_BUILD=os.path.join(work, "build"))
    env.setdefault("INGOT_CASES", os.path.join(ROOT, "..", "shared", "cases"))
    python = os.path.join(ROOT, ".venv", "bin", "python")
    if os.path.exists(python):
        env.setdefault("INGOT_PYTHON", python)
    done = subprocess.run(["./check", "--stop-on-failure", "-E", "^layering", *(["-R", regex] if regex else [])], cwd=work, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if not done.returncode:
        return None
    wrong = re.findall(r"^ *\d+/\d+ Test +#\d+: (\S+) .*\*\*\*(?!Skipped|Not Run)", done.stdout, re.M)
    if wrong:
        return wrong[0]
    if " 1 failed" not in done.stdout:
        sys.exit(f"./check there does not run:\n{done.stdout[-2000:]}")
    return "the build"


def find(rows, options):
    work = os.path.abspath(options.work or tempfile.mkdtemp(prefix="faults."))
    copy_to(work)
    wrong = failing(work, options.regex)
    if wrong:
        sys.exit(f"without any fault {wrong} fails, in {work}")
    missed = 0
    for row in rows:
        head = f"{row[0]}\t{row[1]}:{row[2]}\t{row[3]}"
        if place(row, work) is None:
            print(f"{head}\tits line is gone", flush=True)
            continue
        path = os.path.join(work, row[1])
        with open(path) as file:
            right = file.read()
        plant(row, work)
        try:
            found = failing(work, options.regex)
        finally:
            with open(path, "w") as file:
                file.write(right)
        missed += not found
        print(f"{head}\t{'found by ' + found if found else 'NOT FOUND'}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description="draws faults, and says which test finds each")
    parser.add_argument("what", choices=["draw", "list", "find"])
    parser.add_argument("numbers", nargs="*", help="of the table's rows")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--regex", "-R", help="of the tests")
    parser.add_argument("--work", help="a folder for the copy, which is used again; a temporary one, where it is not given")
    options = parser.parse_args()
    if options.what == "draw":
        for row in draw(options.seed, options.count):
            print("\t".join(row))
        return 0
    rows = [row for row in listed() if not options.numbers or row[0] in options.numbers]
    if options.what == "find":
        return find(rows, options) > 0
    for row in rows:
        at = place(row)
        print(f"{row[0]}\t{row[1]}:{row[2] if at is None else at + 1}\t{row[3]}\t{row[5].replace(chr(92) + 't', '').strip()}{'' if at is not None else '   (its line is gone)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
