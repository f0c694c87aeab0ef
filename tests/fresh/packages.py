#!/usr/bin/env python3
"""packages.py BUILD: what the build in that folder asks for comes from the packages that ./setup names, their dependencies, or a bare
Debian: every header that a compilation read, every library that is linked, every program that the scripts, CMake and the
tests start.  And what `ingot doctor` names are Debian's packages.  Exit 0: it does; 77: this is no Debian, or the folder is not Ninja's."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
OPTIONAL = {"ccache", "chromium", "qemu-user", "libuv1-dev", "frama-c-base"}         # programs and packages that are used where they are there


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()


def named():
    """-> packages of ./setup, ./setup tests and ./setup long"""
    text = open(os.path.join(ROOT, "setup")).read()
    build = re.search(r'^build="([^"]*)"', text, re.M).group(1).split()
    tests = re.search(r'^tests="([^"]*)"', text, re.M).group(1).split()
    long = re.search(r'^long\) wanted="([^"]*)"', text, re.M).group(1).split()
    return {"./setup": build, "./setup tests": build + tests, "./setup long": build + tests + [word for word in long if word[0] != "$"]}


def installed():
    """package -> (part of a bare system, what it depends on)"""
    rows = {}
    for line in lines("dpkg-query", "-W", "-f", "${Package}\t${Essential}\t${Priority}\t${Pre-Depends}, ${Depends}\t${Provides}\n"):
        name, essential, priority, depends, provides = line.split("\t")
        needs = {re.split(r"[ :(]", word.strip())[0] for word in re.split(r"[,|]", depends) if word.strip()}
        old = rows.get(name, (False, set(), set()))
        rows[name] = (old[0] or essential == "yes" or priority == "required" or name == "apt", old[1] | needs,
                      {re.split(r"[ :(]", word.strip())[0] for word in provides.split(",") if word.strip()})
    return rows


def closure(rows, packages):
    known, todo = set(), list(packages)
    while todo:
        name = todo.pop()
        if name not in known and name in rows:
            known.add(name)
            todo += rows[name][1]
    return known


def owners(paths):
    """path -> package; files that no package owns are left out"""
    real = {os.path.realpath(path): path for path in paths}
    spelled = {}
    for path in real:
        spelled[path] = path
        for folder in ("/bin", "/sbin", "/lib", "/lib64"):    # /usr is merged, the lists of packages are not
            if path.startswith("/usr" + folder + "/"):
                spelled[path[4:]] = path
    found = {}
    for line in lines("dpkg-query", "-S", *sorted(spelled)) if spelled else []:
        package, _, path = line.rpartition(": ")
        if path in spelled:
            found[real[spelled[path]]] = re.split(r"[:,]", package)[0]
    return found


def headers(build, only):
    found, mine = set(), False
    for line in lines("ninja", "-C", build, "-t", "deps"):
        if line and not line[0].isspace():
            mine = line.split(":")[0].startswith(only)
        elif mine and line.strip().startswith("/usr/"):
            found.add(line.strip())
    return found


def libraries(build, only):
    found, mine = set(), False
    for line in open(os.path.join(build, "build.ninja")):
        if line.startswith("build "):
            mine = line[6:].startswith(only)
        elif mine and line.strip().startswith("LINK_LIBRARIES"):
            found |= set(re.findall(r"/usr/\S+\.(?:so|a)\b", line))
    return found


def programs(folders, names):
    """Those that scripts look for or start, where they are programs here."""
    found = set()
    for start in folders:
        for base, _, files in os.walk(os.path.join(ROOT, start)):
            for name in files:
                try:
                    text = open(os.path.join(base, name), encoding="utf-8").read()
                except UnicodeDecodeError:
                    continue
                if name.endswith(".py"):
                    found |= set(re.findall(r"""which\(["']([\w.+-]+)["']\)""", text))
                    found |= set(re.findall(r"""(?:run|Popen|output|call)\(\s*\[["']([\w.+-]+)["'][,\]]""", text))
                    found |= set(re.findall(r"""environ\.get\(["']CC["'], ["']([\w.+-]+)["']\)""", text))
                elif text.startswith("#!/bin/sh"):
                    found |= set(re.findall(r"command -v ([a-z][\w.+-]+)", text))
    found |= set(names)
    return {path for path in map(shutil.which, sorted(found)) if path and path.startswith(("/usr/", "/bin/"))}


def doctors(build):
    """-> how many packages that `ingot doctor` names are none of Debian's main archive; those in non-free are not known everywhere."""
    with tempfile.TemporaryDirectory() as nothing:
        told = subprocess.run([os.path.join(os.path.abspath(build), "ingot"), "doctor", "--json"], env={"PATH": nothing}, capture_output=True, text=True).stdout
    texts = [one["package"].split(",")[0] for one in json.loads(told)["findings"] if "package" in one]
    names = sorted({name for text in texts if "(non-free)" not in text for name in text.split()})
    known = {line[9:] for line in lines("apt-cache", "show", "--no-all-versions", "gcc", *names) if line.startswith("Package: ")} if shutil.which("apt-cache") else set()
    if "gcc" not in known:
        print("ingot doctor: its packages are not looked up, as apt has no lists here")
        return 0
    wrong = [name for name in names if name not in known]
    for name in wrong:
        print("FAILED ingot doctor: Debian has no package", name)
    print("ingot doctor: %s" % ", ".join(names))
    return len(wrong) + (len(names) < 5)


def main():
    build = sys.argv[1]
    if not shutil.which("dpkg-query"):
        print("skipped: this is no Debian")
        return 77
    if not os.path.exists(os.path.join(build, "build.ninja")) or not shutil.which("ninja"):
        print("skipped: %s was not configured for Ninja" % build)
        return 77
    rows, wrong = installed(), 0
    bare = closure(rows, [name for name, row in rows.items() if row[0]])
    tools = ["cc", "gcc", "g++", "ar", "cmake", "ninja", "pkg-config", "sh", "nproc", "sed", "grep", "tee"]
    asked = {
        "./setup": headers(build, ("generator/", "runtime/")) | libraries(build, ("ingot:", "generator/")) | programs([], tools),
        "./setup tests": headers(build, "") | libraries(build, "") | programs(["tests", "examples"], tools + ["python3", "aarch64-linux-gnu-gcc", "arm-none-eabi-gcc"]),
        "./setup long": programs(["tests", "examples"], ["valgrind", "debootstrap", "git"]),
    }
    packages = named()
    optional_tools = {"valgrind", "debootstrap", "git", "lintian"}
    for which, paths in asked.items():
        there = closure(rows, packages[which]) | bare
        owned = owners(paths)
        if which == "./setup" and len(owned) < 50:
            print("FAILED only %d files of packages seen in %s" % (len(owned), build))
            wrong += 1
        for path, package in sorted(owned.items()):
            if package in there | OPTIONAL or (which == "./setup tests" and package in optional_tools):
                continue
            print("FAILED %s: %s is of %s, which it does not name" % (which, path, package))
            wrong += 1
        print("%s: %d files of %d packages" % (which, len(owned), len(set(owned.values()))))
    wrong += doctors(build)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
