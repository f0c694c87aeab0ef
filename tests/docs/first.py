#!/usr/bin/env python3
"""The README's first commands, from `git clone` to the report, as they are written: in an empty folder, with this repository for ADDRESS and
the digits for YOUR-MODEL.  They are five, they stand in the first 30 lines, and the report is a page of HTML.

    first.py        exit 0: right, 1: wrong, 77: not a git repository, or not asked for by INGOT_LONG=1"""
import os, subprocess, sys, tempfile
from docs import ROOT, blocks_of

FIRST_SCREEN, COMMANDS = 30, 5


def wrong(text):
    with tempfile.TemporaryDirectory() as folder:
        text = text.replace("ADDRESS", ROOT).replace("YOUR-MODEL.onnx", "examples/digits/digits.onnx")
        done = subprocess.run(["sh", "-e"], input=text, cwd=folder, capture_output=True, text=True, timeout=1200)
        if done.returncode:
            return f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}"
        with open(os.path.join(folder, "ingot", "report.html"), encoding="utf-8") as file:
            page = file.read()
    return None if page.lower().startswith("<!doctype html>") and "<svg" in page else "report.html is no page with a picture"


def main():
    block = next(one for one in blocks_of(os.path.join(ROOT, "README.md")) if one.text.startswith("git clone "))
    commands = block.text.strip().split("\n")
    line = int(block.where.split(":")[1])
    if len(commands) != COMMANDS or line + COMMANDS > FIRST_SCREEN:
        print(f"{block.where}: {len(commands)} commands, {COMMANDS} from git clone on belong into the first {FIRST_SCREEN} lines")
        return 1
    if "INGOT_LONG" not in os.environ or not os.path.exists(os.path.join(ROOT, ".git")):
        print("skipped: compiles ingot in a fresh clone: only with INGOT_LONG=1, in a git repository")
        return 77
    why = wrong(block.text)
    print(f"{block.where}: {why or 'right'}")
    return why is not None


if __name__ == "__main__":
    sys.exit(main())
