#!/usr/bin/env python3
"""What a stranger types, and what he is told: each command with its exit code and its text.

    newcomer.py INGOT LINES...         exit 0: right, 1: wrong, 77: none could run

A file of lines:

    # a comment
    needs: qemu-x86_64-static           programs on the PATH that the file's commands want
    where: unshare -rm true             a command that succeeds where they can run; $INGOT is the program
    $ ingot run add.onnxtxt             a command for sh, in a folder that holds models/ of this test, x.npy (float32 [1,4]: 1 2 3 4)
                                        and x64.npy (the same in float64); every command has that folder as new
    = 2                                 its exit code
    : input "x" is missing              its output, or its messages, hold this
    ! warning                           … and not this
    | y: float32 [1,4] 1 2 3 4          all of its output and messages: the lines with |, in order

A command has no terminal, and its messages are at most one line."""
import os, shutil, struct, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 300


def npy(path, format, dims, values):
    word = {"f": "<f4", "d": "<f8", "q": "<i8"}[format]
    head = f"{{'descr': '{word}', 'fortran_order': False, 'shape': ({''.join(f'{d}, ' for d in dims)}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{format}", *values))


class Line:
    def __init__(self, command, where):
        self.command, self.where, self.code, self.hold, self.lack, self.whole = command, where, None, [], [], []


def read(path, program):
    lines, needs = [], []
    for number, text in enumerate(open(path, encoding="utf-8"), 1):
        text = text.rstrip("\n")
        mark, _, rest = text.partition(" ")
        if mark == "needs:":
            needs += rest.split()
        elif mark == "where:":
            if subprocess.run(["sh", "-c", rest], capture_output=True, env=dict(os.environ, INGOT=program)).returncode:
                needs.append(rest)
        elif mark == "$":
            lines.append(Line(rest, f"{os.path.basename(path)}:{number}"))
        elif mark == "=":
            lines[-1].code = int(rest)
        elif mark in (":", "!", "|"):
            {":": lines[-1].hold, "!": lines[-1].lack, "|": lines[-1].whole}[mark].append(rest)
        elif not mark.startswith("#"):
            sys.exit(f"{path}:{number}: what is \"{text}\"?")
    return lines, needs


def wrong(line, program):
    """What is wrong about a line, or None."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "work")
        shutil.copytree(os.path.join(HERE, "models"), folder)
        os.mkdir(os.path.join(scratch, "bin"))
        os.symlink(program, os.path.join(scratch, "bin", "ingot"))
        npy(os.path.join(folder, "x.npy"), "f", (1, 4), (1, 2, 3, 4))
        npy(os.path.join(folder, "x64.npy"), "d", (1, 4), (1, 2, 3, 4))
        environment = dict(os.environ, PATH=os.path.join(scratch, "bin") + ":" + os.environ["PATH"], INGOT=program, ROOT=os.path.join(HERE, "..", ".."))
        environment.pop("INGOT_NATIVE", None)             # a stranger's machine is what it is
        done = subprocess.run(["sh", "-c", line.command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=SECONDS)
    out, told = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    both = out + told
    if done.returncode != line.code:
        return f"exit {done.returncode}, {line.code} is right: {both.strip()[-600:]}"
    for text in line.hold:
        if text not in both:
            return f"lacks \"{text}\": {both.strip()[-1500:]}"
    for text in line.lack:
        if text in both:
            return f"holds \"{text}\": {both.strip()[-1500:]}"
    if line.whole and both.splitlines() != line.whole:
        return f"is not as said: {both}"
    said = [text for text in told.splitlines() if not text.startswith("qemu-")]
    if line.code and len(said) > 1:
        return f"takes several lines to say what is wrong: {told}"
    return None


def main(program, *paths):
    bad = ran = 0
    for path in paths:
        lines, needs = read(path, os.path.abspath(program))
        missing = [name for name in needs if not shutil.which(name)]
        if missing:
            print(f"skipped: {os.path.basename(path)}: no {', '.join(missing)}")
            continue
        for line in lines:
            assert line.code is not None and (line.hold or line.lack or line.whole or not line.code), line.where
            why = wrong(line, os.path.abspath(program))
            ran += 1
            if why:
                bad += 1
                print(f"{line.where}: {line.command}\n\t{why}")
    print(f"{ran} lines, {bad} wrong")
    return 77 if not ran else bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
