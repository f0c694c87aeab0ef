#!/usr/bin/env python3
"""Each key that C gives templates is read by one of them, or by C: keys.py ROOT"""
import os
import re
import sys

ROOT = sys.argv[1]
SET = re.compile(r'value_(?:dict_set|set_\w+)\(\s*[^;"]*?,\s*(?:\w+ \? )?"(\w+)"(?: : "(\w+)")?,')
GET = re.compile(r'value_dict_get\([^;"]*,\s*"(\w+)"')
READS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|^\s*//%.*?$", re.S | re.M)


def texts(folder, ends):
	for place, _, names in os.walk(os.path.join(ROOT, folder)):
		for name in names:
			if name.endswith(ends):
				with open(os.path.join(place, name), encoding="utf-8") as f:
					yield os.path.relpath(os.path.join(place, name), ROOT), f.read()


def main():
	keys, read = {}, set()
	for path, text in texts("generator", (".c", ".h")):
		if path.endswith("template.h"):
			continue                                     # its manual
		for key in filter(None, (k for pair in SET.findall(text) for k in pair)):
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
