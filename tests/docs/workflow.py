#!/usr/bin/env python3
"""The workflows of .github: YAML with the keys that GitHub knows, each job with a limit of time, each step a command or an action with a
version, each program of this tree that a step starts there and executable.

    workflow.py [FILE...]       exit 0: right, 1: wrong, 77: no yaml in this Python"""
import glob, os, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP = {"name", "on", "permissions", "env", "concurrency", "defaults", "jobs"}
JOB = {"name", "needs", "if", "runs-on", "container", "env", "permissions", "strategy", "timeout-minutes", "steps"}
STEP = {"name", "id", "if", "uses", "with", "run", "env", "shell", "working-directory", "timeout-minutes", "continue-on-error"}


def wrong_step(step):
    if not isinstance(step, dict):
        yield "is no mapping"
        return
    yield from (f"unknown key {key}" for key in step.keys() - STEP)
    if ("uses" in step) == ("run" in step):
        yield "has one of uses and run"
    if "uses" in step and "@" not in step["uses"]:
        yield f"{step['uses']} has no version"
    for word in step.get("run", "").split():
        at = os.path.join(ROOT, word)
        if word.startswith(("./", ".ci/")) and not os.access(at, os.X_OK):
            yield f"{word} is not there, or cannot be started"


def wrong(text, yaml):
    try:
        top = yaml.load(text, yaml.BaseLoader)                 # `on` stays a word
    except yaml.YAMLError as error:
        yield " ".join(str(error).split())
        return
    if not isinstance(top, dict) or not top.get("jobs") or "on" not in top:
        yield "on and jobs are needed"
        return
    yield from (f"unknown key {key}" for key in top.keys() - TOP)
    for name, job in top["jobs"].items():
        yield from (f"{name}: unknown key {key}" for key in job.keys() - JOB)
        yield from (f"{name}: {key} is missing" for key in ("runs-on", "timeout-minutes", "steps") if key not in job)
        for i, step in enumerate(job.get("steps", [])):
            yield from (f"{name}: step {i + 1}: {why}" for why in wrong_step(step))


def main(*paths):
    try:
        import yaml
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    paths = paths or glob.glob(os.path.join(ROOT, ".github", "workflows", "*.yml"))
    bad = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for why in wrong(file.read(), yaml):
                bad += 1
                print(f"{os.path.basename(path)}: {why}")
    print(f"{len(paths)} workflows, {bad} wrong")
    return bool(bad or not paths)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
