#!/usr/bin/env python3
"""The small cases against the table in docs/operators.md of those that are refused.

    cases.py INGOT [--update]

burn/ and onnx_new/ of $INGOT_CASES (or ../shared/cases beside the project) by `ingot check --target interpreter`.  Each case is right, or
it ends with the exit code and the message that its row has; how many are right stands there too.  --update prints the rows as they
should be.  Ends with 77 where there are no cases."""
import concurrent.futures, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(HERE, "../../docs/operators.md")
KINDS = ("burn", "onnx_new/node")


def check(ingot, folder):
    """Exit code, message without file and node."""
    command = [os.path.abspath(ingot), "check", os.path.join(folder, "model.onnx"), folder, "--target", "interpreter"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    return done.returncode, re.sub(r"^ingot check: \S+: node .*?: ", "", (done.stderr or done.stdout).strip().split("\n")[-1])


def main(ingot, update=""):
    cases = os.environ.get("INGOT_CASES", os.path.join(HERE, "../../../shared/cases"))
    if not os.path.isdir(cases):
        print("skipped: no cases (INGOT_CASES)")
        return 77
    with open(DOCUMENT) as file:
        section = file.read().split("\n## Cases that are refused\n")[1]
    rows = {name: (int(code), message) for name, code, message in re.findall(r"^\| `(\S+)` \| (\d) \| `([^`]*)` \|", section, re.M)}
    told = re.findall(r"(\d+) of the (\d+) of `(\w+)`", section)
    bad, counts = 0, []
    for kind in KINDS:
        names = sorted(n for n in os.listdir(os.path.join(cases, kind)) if os.path.exists(os.path.join(cases, kind, n, "model.onnx")))
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            results = dict(zip(names, pool.map(lambda n: check(ingot, os.path.join(cases, kind, n)), names)))
        counts.append((str(sum(code == 0 for code, _ in results.values())), str(len(names)), kind.split("/")[0]))
        for name, (code, message) in results.items():
            if code and update:
                print(f"| `{name}` | {code} | `{message}` | |")
            elif rows.pop(name, (0, "")) != (code, message if code else ""):
                bad += 1
                print(f"{name}: exit {code}: {message}; docs/operators.md tells something else")
    for name in rows if not update else []:
        bad += 1
        print(f"{name}: docs/operators.md has a row, there is no such case")
    if told != counts:
        bad += 1
        print(f"docs/operators.md counts {told}, {counts} is right")
    print(f"{', '.join(f'{right} of {all} right in {kind}' for right, all, kind in counts)}; {bad} not as docs/operators.md says")
    return bool(bad)


sys.exit(main(*sys.argv[1:]))
