#!/usr/bin/env python3
"""The table of every operator in docs/operators.md, from `ingot ops --json` and generator/tables/versions.h.

    operators.py INGOT [--update]      exit 0: the page has it so, 1: it differs; --update writes it"""
import json, os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "operators.md")
HEAD, END = "## Every operator\n", "\n## Cases that are refused\n"
CELL = 200
MADE = {"row": "expression", "function": "C", "text": "body"}
DOMAINS = ("ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "com.microsoft")
KINDS = {"h": "float16", "f": "float", "d": "double", "b": "bfloat16", "o": "bool", "t": "string", "8": "float8", "e": "float8e8m0", "4": "int4", "2": "int2",
         "x": "float4", "6": "float6", "A": "any", "F": "floats", "N": "ints", "U": "uints", "W": "ints of 32 and 64 bits", "P": "any but bfloat16", "c": "int8", "s": "int16",
         "i": "int32", "l": "int64", "C": "uint8", "S": "uint16", "I": "uint32", "L": "uint64"}


def types():
    """Of the first input of each operator's newest version, in words, by domain and name."""
    with open(os.path.join(ROOT, "generator", "tables", "versions.h"), encoding="utf-8") as file:
        rows = re.findall(r'^V\("(.*?)", "(\w+)", "(.*?)"\)', re.sub(r'"\s*\n\s*"', "", file.read()), re.M)
    found = {}
    for domain, name, versions in rows:
        words = versions.split(";")[-1].split(">")[0].split()[1:]
        letters = words[0].rstrip("+*") if words else ""
        if "b" in letters and ("F" in letters or "P" in letters):
            letters = letters.replace("b", "").replace("P", "A")         # floats are those of 16 bits, too
        found[domain or "ai.onnx", name] = ", ".join([KINDS[c] for c in letters if c in KINDS] + ["maps" if domain == "ai.onnx.ml" else "lists"] * ("~" in letters))
    return found


def attributes(op):
    """Those of the newest version, as many as a cell holds."""
    names = [f"`{a['name']}`" for a in op["attributes"] if "to" not in a]
    shown = list(names)
    while len(", ".join(shown)) > CELL - 20:
        shown.pop()
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def table(ops):
    taken, lines = types(), []
    for domain in DOMAINS:
        rows = sorted((op for op in ops if op["domain"] == domain), key=lambda op: op["name"])
        lines += ["", f"### {domain}", "", "| operator | since | first input | attributes | made by | ulp |", "|---|---|---|---|---|---|"]
        lines += [f"| `{op['name']}` | {op['since']} | {taken.get((domain, op['name']), '')} | {attributes(op)} | {MADE[op['by']]} | {op.get('ulp', '')} |"
                  for op in rows]
    return "\n".join(lines) + "\n"


def main(ingot, update=""):
    made = table(json.loads(subprocess.run([ingot, "ops", "--json"], capture_output=True, text=True, check=True).stdout))
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(HEAD)
    section, behind = rest.split(END)
    prose = section[:section.index("\n### ")]
    new = before + HEAD + prose + made + END + behind
    if update:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(new)
    elif new != text:
        print("docs/operators.md has another table: tests/docs/operators.py INGOT --update")
        return 1
    print(f"{len(re.findall('^. `', made, re.M))} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
