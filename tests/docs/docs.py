#!/usr/bin/env python3
"""README, docs and the heads of the examples as written: each block of code is run, written to a file, or says why neither.

    docs.py INGOT BUILD FILE...       exit 0: right, 1: wrong

A block is indented by four blanks or fenced.  Behind what precedes it stands, in a comment of its own line,
    <!-- file: NAME -->        it is the file NAME of the folder where the blocks of that page run; the same NAME again: more of it
    <!-- not run: WHY -->      neither
and nothing where sh runs it, from top to bottom, in a folder with build/ingot, examples/ and x.npy (float32 [4,8]).  A C file is a program
or an example: of its head those lines run that are indented by five blanks behind the star.  BUILD is installed for those that want pkg-config."""
import os, re, struct, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COLUMNS, PARAGRAPH, CELL, SITTING = 120, 10, 200, 250
MARK = re.compile(r"<!-- (file|not run)[^:]*: (.*?) -->$")


class Block:
    def __init__(self, where, mark, argument, text):
        self.where, self.mark, self.argument, self.text = where, mark, argument, text


def blocks_of(path):
    """Of a page."""
    found, lines, mark, i = [], open(path, encoding="utf-8").read().split("\n"), None, 0
    shown = os.path.relpath(path, ROOT)
    while i < len(lines):
        line = lines[i]
        fence = re.match(r"```\w*$", line)
        indented = line.startswith("    ") and (i == 0 or not lines[i - 1].strip())
        if MARK.match(line):
            mark = MARK.match(line).groups()
        elif fence or indented:
            start = i
            i += 1 if fence else 0
            text = []
            while i < len(lines) and (lines[i] != "```" if fence else lines[i].startswith("    ") or not lines[i].strip()):
                text.append(lines[i] if fence else lines[i][4:])
                i += 1
            i -= 0 if fence else 1
            found.append(Block(f"{shown}:{start + 1}", *(mark or ("run", "")), "\n".join(text).rstrip() + "\n"))
            mark = None
        elif line.strip():
            mark = None
        i += 1
    return found


def commands_of(path):
    """Of the head of a C file."""
    with open(path, encoding="utf-8") as file:
        head = file.read().split("*/")[0]
    text = "\n".join(line[7:] for line in head.split("\n") if line.startswith(" *     "))
    return [Block(os.path.relpath(path, ROOT), "run", "", text.strip() + "\n")] if text.strip() else []


def prepare(folder, ingot):
    os.makedirs(os.path.join(folder, "build"))
    os.symlink(ingot, os.path.join(folder, "build", "ingot"))
    os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }".ljust(117) + "\n"
    with open(os.path.join(folder, "x.npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<32f", *range(-16, 16)))


def install(build, folder):
    prefix = os.path.join(folder, "prefix")
    done = subprocess.run(["cmake", "--install", build, "--prefix", prefix], capture_output=True, text=True)
    if done.returncode:
        return None, f"cmake --install: {done.stderr.strip()[-400:]}"
    place = next(at for at, _, files in os.walk(prefix) if "ingot.pc" in files)
    return place, None


def too_much(path):
    """What of a page is more than may be read at once: a line, a paragraph, a table's cell; architecture.md is read at one sitting."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    found, length, code = [], 0, False
    for n, line in enumerate(lines, 1):
        table, fence = line.startswith("|"), line.startswith("```")
        code = code != fence
        if table:
            found += [f"line {n}: a cell of {len(cell)} characters, {CELL} at most" for cell in map(str.strip, line.split("|")) if len(cell) > CELL]
        elif len(line) > COLUMNS:
            found.append(f"line {n} has {len(line)} columns, {COLUMNS} at most")
        prose = line.strip() and not (table or fence or code or line.startswith(("    ", "#", "<!--")))
        length = 0 if not prose else 1 if re.match(r"- |\d+\. ", line) else length + 1
        if length == PARAGRAPH + 1:
            found.append(f"line {n}: a paragraph of more than {PARAGRAPH} lines")
    sitting = os.path.basename(path) == "architecture.md" and len(lines) > SITTING
    return found + ([f"{len(lines)} lines, {SITTING} at most"] if sitting else [])


def main(ingot, build, *paths):
    ran = bad = 0
    kept = []
    for path in paths:
        for why in too_much(path) if path.endswith(".md") else ():
            bad += 1
            print(f"{os.path.relpath(path, ROOT)}: {why}")
        # A page of an example is read here; its commands are those in the head of its main.c.
        of_example = path.endswith(".md") and os.path.basename(os.path.dirname(os.path.dirname(os.path.abspath(path)))) == "examples"
        blocks = [] if of_example else (commands_of if path.endswith(".c") else blocks_of)(os.path.abspath(path))
        with tempfile.TemporaryDirectory() as folder:
            prepare(folder, os.path.abspath(ingot))
            environment = dict(os.environ, PATH=os.path.join(folder, "build") + ":" + os.environ["PATH"])
            for block in blocks:
                if block.mark == "file":
                    place = os.path.join(folder, block.argument)
                    os.makedirs(os.path.dirname(place), exist_ok=True)
                    with open(place, "a", encoding="utf-8") as file:
                        file.write(block.text)
                elif block.mark == "not run":
                    kept.append(f"{block.where}: {block.argument}")
            for block in blocks:
                if block.mark != "run":
                    continue
                ran += 1
                if "pkg-config" in block.text:
                    at, why = install(build, folder)
                    if why:
                        bad += 1
                        print(f"{block.where}: {why}")
                        continue
                    environment["PKG_CONFIG_PATH"] = at
                done = subprocess.run(["sh", "-e"], input=block.text, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
                if done.returncode:
                    bad += 1
                    print(f"{block.where}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}")
    print("\n".join(f"not run: {why}" for why in kept))
    print(f"{ran} blocks, {bad} wrong")
    return bad > 0 or not ran


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
