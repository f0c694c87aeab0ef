#!/usr/bin/env python3
"""--help, man pages and completion agree: they come from one table, and a shell that is here takes what was printed for it.

    pages.py INGOT PAGES        exit 0: right, 1: wrong"""
import json, os, re, shutil, subprocess, sys

wrong = []


def need(right, what):
    if not right:
        wrong.append(what)


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def page(name):
    with open(os.path.join(sys.argv[2], name), encoding="utf-8") as file:
        return file.read()


def bash(*words):
    """What bash offers behind these words; the last is the one begun."""
    line = " ".join(f"'{w}'" for w in words)
    script = f"source '{sys.argv[2]}/ingot.bash'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _ingot; echo \"${{COMPREPLY[@]}}\""
    return said("bash", "-c", script).split()


def main(program, pages):
    everything = json.loads(said(program, "help", "--json"))
    names = [command["name"] for command in everything["commands"]]
    fish, zsh = page("ingot.fish"), page("ingot.zsh").split("\n;;")
    need(said(program, "--version").strip() == f"ingot {everything['version']}", "--version is another")
    need(re.findall(r"^\.BR ingot\\-(\w+) ", page("ingot.1").split(".SH OPTIONS")[0], re.M) == names, "ingot.1 has other commands")
    need(bash("ingot", "") == names + ["--help", "--version"], "bash: other commands")
    for command in everything["commands"]:
        name, options = command["name"], [option["name"] for option in command["options"]]
        need(options, f"{name}: no options")
        for words in (("help", name), (name, "--help"), (name, "-h")):
            need(re.findall(r"^  (?:-\w, )?--([\w-]+)", said(program, *words), re.M) == options, f"{' '.join(words)}: other options")
        manual = page(f"ingot-{name}.1").replace("\\-", "-")
        need(re.findall(r"^\.B (?:-\w, )?--([\w-]+)", manual, re.M) == options, f"ingot-{name}.1: other options")
        need(bash("ingot", name, "--") == ["--" + option for option in options], f"bash: {name}: other options")
        need(re.findall(rf"seen_subcommand_from {name}' -l ([\w-]+)", fish) == options, f"fish: {name}: other options")
        for option in command["options"]:
            if option["words"]:
                need(bash("ingot", name, "--" + option["name"], "") == option["words"], f"bash: {name} --{option['name']}: other words")
                done = subprocess.run([program, name, "--" + option["name"], "no-such-word"], capture_output=True, text=True)
                need(done.returncode == 2 and all(word in done.stderr for word in option["words"]), f"{name} --{option['name']}: {done.stderr}")
            if option["also"]:
                done = subprocess.run([program, name, f"--{option['also']}=no-such-word"], capture_output=True, text=True)
                need("--" + option["name"] in done.stderr and "no option" not in done.stderr, f"{name} --{option['also']}: {done.stderr}")
    zsh_options = re.findall(r"^\t\t'\*--([\w-]+)\[", page("ingot.zsh"), re.M)
    need(zsh_options == [option["name"] for command in everything["commands"] for option in command["options"]], "zsh: other options")
    for shell in ("bash", "zsh", "fish"):
        if shutil.which(shell):
            done = subprocess.run([shell, "-n", os.path.join(pages, "ingot." + shell)], capture_output=True, text=True)
            need(done.returncode == 0 and not done.stderr, f"{shell}: {done.stderr}")
    if shutil.which("groff"):
        for file in sorted(os.listdir(pages)):
            if file.endswith(".1"):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", os.path.join(pages, file)], capture_output=True, text=True)
                need(done.returncode == 0 and not done.stderr, f"{file}: {done.stderr}")
    print("\n".join(wrong) or f"{len(names)} commands agree")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
