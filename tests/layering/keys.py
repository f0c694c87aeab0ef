#!/usr/bin/env python3
"""Each key that C gives templates is read by one of them, or by C: keys.py ROOT"""
import os
import re
import sys

ROOT = sys.argv[1]
SET = re.compile(r'value_(?:dict_set|set_\w+)\(\s*[^;"]*?,\s*(?:\w+ \? )?"(\w+)"(?: : "(\w+)")?,')
PAIRS = re.compile(r"\bvalue_(?:set|dict_of)\(")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|.', re.S)
GET = re.compile(r'value_dict_get\([^;"]*,\s*"(\w+)"')
READS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|^\s*//%.*?$", re.S | re.M)


def texts(folder, ends):
	for place, _, names in os.walk(os.path.join(ROOT, folder)):
		for name in names:
			if name.endswith(ends):
				with open(os.path.join(place, name), encoding="utf-8") as f:
					yield os.path.relpath(os.path.join(place, name), ROOT), f.read()


def arguments(text):
	"""Those of a call, of which `text` begins behind the bracket."""
	depth, found = 0, [""]
	for token in TOKEN.findall(text):
		depth += (token in "([{") - (token in ")]}")
		if depth < 0:
			return found
		if token == "," and not depth:
			found.append("")
		else:
			found[-1] += token
	return found


def set_in(text):
	"""The keys that a file of C sets."""
	yield from (key for pair in SET.findall(text) for key in pair if key)
	for call in PAIRS.finditer(text):
		for key in arguments(text[call.end():])[1::2]:
			yield from re.findall(r'"(\w+)"', key)


def main():
	keys, read = {}, set()
	for path, text in texts("generator", (".c", ".h")):
		if path.endswith("template.h"):
			continue                                     # its manual
		for key in set_in(text):
			keys.setdefault(key, path)
		read.update(GET.findall(text))
	for _, text in texts("templates", ""):
		for part in READS.findall(re.sub(r"\{#.*?#\}", "", text, flags=re.S)):
			read.update(re.findall(r"[A-Za-z_]\w*", part))
	unread = {key: path for key, path in keys.items() if key not in read}
	for key, path in sorted(unread.items()):
		print(f'{path}: nobody reads the key "{key}"')
	if len(keys) < 300:
		print(f"{len(keys)} keys found: the pattern fits no more")
	sys.exit(bool(unread) or len(keys) < 300)


main()
