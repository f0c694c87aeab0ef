#!/usr/bin/env python3
"""No function of generator/ is longer than 80 lines, no struct has more than 40 members: sizes.py ROOT

Those that were longer when this was written stand below with what they had: they may shrink, and then their row does too."""
import glob
import os
import re
import sys

ROOT = sys.argv[1]
LINES, MEMBERS = 80, 40
MORE = {"fused_of": 86}


def functions(text):
	"""(name, lines) of each body that begins with a brace of its own."""
	start = name = None
	for number, line in enumerate(text.split("\n")):
		if re.match(r"[A-Za-z].*\b\w+\(", line):
			name = re.search(r"(\w+)\(", line).group(1)
		if line == "{":
			start = number
		elif line == "}" and start is not None:
			yield name, number - start + 1
			start = None


def members(text):
	"""(name, members) of each struct; a struct inside another is one of them."""
	text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
	for found in re.finditer(r"struct (\w+) \{", text):
		depth, at = 1, found.end()
		while depth:
			depth += {"{": 1, "}": -1}.get(text[at], 0)
			at += 1
		body = text[found.end():at - 1]
		while re.search(r"\{[^{}]*\}", body):
			body = re.sub(r"\{[^{}]*\}", "", body)
		parts = [part for part in body.split(";") if part.strip()]
		yield found.group(1), sum(1 if "(" in part else 1 + part.count(",") for part in parts)


def main():
	wrong, seen = [], 0
	for path in sorted(glob.glob(os.path.join(ROOT, "generator", "**", "*.[ch]"), recursive=True)):
		shown, text = os.path.relpath(path, ROOT), open(path, encoding="utf-8").read()
		for name, lines in functions(text):
			seen += 1
			if lines > MORE.get(name, LINES):
				wrong.append(f"{shown}: {name} has {lines} lines, more than {MORE.get(name, LINES)}")
		for name, count in members(text):
			if count > MEMBERS:
				wrong.append(f"{shown}: struct {name} has {count} members, more than {MEMBERS}")
	print("\n".join(wrong) or f"{seen} functions and all structs are small enough")
	sys.exit(bool(wrong) or seen < 2000)


main()
