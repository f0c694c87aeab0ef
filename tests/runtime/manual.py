#!/usr/bin/env python3
"""The public headers as a manual: each call and each word that their comments and docs/runtime-guide.md name is declared, each header is
in the order of reading that runtime.h gives, and each call has words of its own or stands under some.

    manual.py FOLDER-OF-HEADERS... PAGE...       exit 0: right, 1: wrong"""
import os, re, sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
WORD = re.compile(r"\b(?:ingot|INGOT)_\w+")
# Of the build, not of a header.
ELSEWHERE = {"INGOT_THREADS"}


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def calls_without_words(text):
    """Declarations of functions: a comment on the same lines, or directly above it or above the calls it follows without a blank line."""
    missing, said = [], False
    code = COMMENT.sub(blank, text)
    lines, codes = text.split("\n"), code.split("\n")
    i = 0
    while i < len(lines):
        if not lines[i].strip():
            said = False
        elif not codes[i].strip():
            said = True
        begin = re.match(r"(?:const |enum |struct |extern )*[\w*]+[ *]+\**(ingot_\w+)\(", codes[i])
        if begin:
            end = i
            while ";" not in codes[end]:
                end += 1
            if not said and lines[i:end + 1] == codes[i:end + 1]:
                missing.append(begin.group(1))
            i = end
        i += 1
    return missing


def main(*paths):
    headers, pages = {}, [path for path in paths if path.endswith(".md")]
    for folder in (path for path in paths if not path.endswith(".md")):
        headers.update({os.path.join(folder, name): open(os.path.join(folder, name), encoding="utf-8").read()
                        for name in sorted(os.listdir(folder)) if name.endswith(".h")})
    declared = {word for text in headers.values() for word in WORD.findall(COMMENT.sub(blank, text))} | ELSEWHERE
    wrong = []
    for path, text in list(headers.items()) + [(page, open(page, encoding="utf-8").read()) for page in pages]:
        comments = text if path in pages else "\n".join(COMMENT.findall(text))
        for match in WORD.finditer(comments):
            word = match.group()
            family = comments[match.end():match.end() + 1] == "*" or word.endswith("_")    # ingot_node_…: some of them
            if word not in declared and not (family and any(known.startswith(word) for known in declared)):
                wrong.append(f"{os.path.basename(path)}: {word} is not declared")
        if path not in pages:
            wrong += [f"{os.path.basename(path)}: {call} has no words" for call in calls_without_words(text)]
    print("\n".join(wrong))
    print(f"{len(headers)} headers, {len(pages)} pages, {len(declared)} words, {len(wrong)} wrong")
    return bool(wrong) or len(declared) < 100


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
