#!/usr/bin/env python3
"""workflow.py FOLDER: GitHub's workflows there are YAML of the form that GitHub reads, and run what .ci/run does; 77: no PyYAML."""
import glob
import os
import re
import sys

try:
    import yaml
except ImportError:
    print("skipped: no PyYAML")
    sys.exit(77)

JOB = {"name", "runs-on", "container", "timeout-minutes", "steps", "strategy", "needs", "env", "if"}
STEP = {"name", "uses", "with", "run", "env", "if", "shell", "working-directory", "id"}


def wrong_in(path):
    with open(path, encoding="utf-8") as file:
        flow = yaml.safe_load(file)
    events = flow.get("on", flow.get(True))                 # YAML 1.1 reads `on` as true
    wrong = [] if flow.get("name") and events else ["no name, or no events"]
    commands = []
    for name, job in (flow.get("jobs") or {}).items():
        wrong += [f"{name}: no key {key!r} of a job" for key in set(job) - JOB]
        wrong += [f"{name}: no {key}" for key in ("runs-on", "timeout-minutes", "steps") if not job.get(key)]
        for step in job.get("steps", []):
            wrong += [f"{name}: no key {key!r} of a step" for key in set(step) - STEP]
            if ("run" in step) == ("uses" in step):
                wrong.append(f"{name}: a step runs a command or uses an action: {step}")
            if "uses" in step and not re.fullmatch(r"[\w.-]+/[\w./-]+@v?[\w.]+", step["uses"]):
                wrong.append(f"{name}: {step['uses']} names no version")
            commands.append(step.get("run", ""))
    if not any("./check" in one for one in commands):
        wrong.append("nothing runs ./check")
    return wrong


def main():
    paths = sorted(glob.glob(os.path.join(sys.argv[1], "*.yml")))
    wrong = [f"{path}: {one}" for path in paths for one in wrong_in(path)] if paths else ["no workflow"]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
