#!/usr/bin/env python3
"""ONNX's own backend tests on any target, over all cores.

    run.py INGOT TREE... [--target T...] [--sample N [--seed S]] [--only PATTERN] [--cpu CPU] [--constants]
           [--clean] [--json FILE] [--coverage FILE] [--right N]

A TREE holds tests, folders with model.onnx and test_data_set_N, at any depth; one that is not there is written from PyPI's onnx (2024 tests,
some seconds).  Each test is, on each target of `ingot check`:

    right      numbers within ONNX's tolerance, and the bits those of the interpreter
    refused    exit 4 (or 3, 5, 6) with a message; counted by what it names
    wrong      numbers, type or shape differ from the stored ones, or the bits from the interpreter's
    crashed    a signal, two minutes over, or no message

--clean: what is generated for C is compiled as C99 with every warning an error and with AddressSanitizer and UndefinedBehaviorSanitizer, and as C++ without a warning.
--constants: every input but the first becomes an initialiser (shapes, axes and the like, as exporters write them); only tests with several inputs.
--right N: at least N tests are right, one whose operators are all in `ingot ops` is refused with a message of refused.txt alone, and
nothing ends otherwise than right or with exit 4.  --coverage writes docs/coverage.md from what ran.  Ends with 1 where a test is wrong,
crashed or not as it must be; 77: no onnx."""
import argparse, collections, concurrent.futures, fnmatch, itertools, json, os, random, re, shutil, subprocess, sys, tempfile, textwrap

try:
    import onnx
    from onnx.backend.test import cmd_tools, loader
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE, SECONDS, UNSUPPORTED, ENVIRONMENT = "interpreter", 120, 4, 5
Result = collections.namedtuple("Result", "state message bits")


# CC of --clean: GCC; what it is given comes before what it adds.  TMPDIR has no blanks.
CLEAN = """#!/bin/sh
unset LD_PRELOAD
warn="-Wall -Wextra -Wconversion -pedantic -Wshadow -Wundef -Werror"
others=
for word in "$@"; do
	case $word in
	-std=*) ;;
	*) others="$others $word" ;;
	esac
done
case $others in
*" -c "*".c "*) g++ -x c++ $others -o clean$$.o -std=c++11 $warn && rm clean$$.o || exit 1 ;;
esac
exec gcc "$@" -std=c99 $warn -fsanitize=address,undefined -fno-sanitize-recover=all
"""


def set_clean(folder):
    """Whoever is started from here on compiles so, and has the sanitizer's memory from its first byte."""
    if not shutil.which("gcc") or not shutil.which("g++"):
        print("skipped: no gcc, or no g++")
        sys.exit(77)
    path = os.path.join(folder, "clean_cc")
    with open(path, "w") as file:
        file.write(CLEAN)
    os.chmod(path, 0o755)
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    os.environ.update(CC=path, LD_PRELOAD=os.path.realpath(library), ASAN_OPTIONS="detect_leaks=0")


def write_tree(out):
    """As onnx's own tool does, and the node tests too, which it leaves out."""
    print(f"writing the tests of onnx {onnx.__version__} to {os.path.basename(out)}")
    cmd_tools.model_test.collect_testcases = lambda: loader.load_model_tests(kind="node")
    cmd_tools.generate_data(argparse.Namespace(output=out + ".part"))
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        shutil.copytree(os.path.join(loader.DATA_DIR, kind), os.path.join(out + ".part", kind), dirs_exist_ok=True)
    os.rename(out + ".part", out)


def tests_of(trees):
    for tree in trees:
        tree = tree.rstrip("/")
        if not os.path.isdir(tree):
            write_tree(tree)
        for folder, inner, files in sorted(os.walk(tree)):
            if "model.onnx" in files and any(name.startswith("test_data_set_") for name in inner):
                yield folder


def reason_of(message):
    """What a message names, without file, node and numbers: the line of the summary that it counts for."""
    last = message.strip().split("\n")[-1]
    last = re.sub(r"^ingot \w+: ", "", last)
    last = re.sub(r"^\S*\.(onnx|pb): ", "", last)
    last = re.sub(r"^(node|input|output|tensor) .*?: ", "", last)
    return re.sub(r"\d+", "N", last) if " op " not in f" {last}" else last


def check(ingot, folder, target, options):
    command = [ingot, "check", os.path.join(folder, "model.onnx"), folder, "--target", target, "--json", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Result("crashed", f"still running after {SECONDS} s", None)
    message = done.stderr.strip()
    if done.returncode in (0, 1) and not message:
        outputs = json.loads(done.stdout)["outputs"]
        why = "; ".join(f"{o['output']}: {o['why']}" for o in outputs if not o["right"])
        return Result("right" if done.returncode == 0 else "wrong", why, [o["bits"] for o in outputs])
    if done.returncode == 1:
        return Result("wrong", message, None)
    if done.returncode < 0 or done.returncode not in (3, 4, 5, 6) or not message:
        return Result("crashed", f"ends with {done.returncode}: {message[-300:]}", None)
    return Result("refused" if done.returncode == UNSUPPORTED else f"exit {done.returncode}", message, None)


def work(ingot, folder, targets, options):
    """Results by target.  What the interpreter refuses no other target is asked."""
    oracle = check(ingot, folder, ORACLE, [])
    results = {ORACLE: oracle} if ORACLE in targets else {}
    for target in targets:
        if target == ORACLE:
            continue
        result = oracle
        if oracle.state == "right":
            result = check(ingot, folder, target, options)
            if result.state == "right" and result.bits != oracle.bits:
                result = Result("wrong", "its bits are not the interpreter's", result.bits)
        results[target] = result
    return results


def with_constants(folder, scratch):
    """The test with every input but the first as an initialiser, in a folder of its own; None where it has no other."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    initialised = {t.name for t in model.graph.initializer}
    free = [i for i in model.graph.input if i.name not in initialised]
    sets = sorted(name for name in os.listdir(folder) if name.startswith("test_data_set_"))
    if len(free) < 2 or len(sets) != 1 or not all(v.type.HasField("tensor_type") for v in free):
        return None
    made, data = os.path.join(scratch, os.path.basename(folder)), os.path.join(folder, sets[0])
    os.makedirs(os.path.join(made, sets[0]))
    for i, value in enumerate(free):
        path = os.path.join(data, f"input_{i}.pb")
        if i == 0 or not os.path.exists(path):
            continue
        constant = model.graph.initializer.add()
        with open(path, "rb") as file:
            constant.ParseFromString(file.read())
        constant.name = value.name
        model.graph.input.remove(value)
    onnx.save(model, os.path.join(made, "model.onnx"))
    for name in os.listdir(data):
        if name == "input_0.pb" or name.startswith("output_"):
            shutil.copy(os.path.join(data, name), os.path.join(made, sets[0], name))
    return made


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from nodes_of(inner)


def model_of(folder):
    """(operators as domain and name, element types of inputs and outputs)"""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    functions = {(f.domain, f.name) for f in model.functions}
    nodes = [*nodes_of(model.graph), *(n for f in model.functions for n in f.node)]
    ops = {("" if n.domain == "ai.onnx" else n.domain, n.op_type) for n in nodes} - functions
    types = {v.type.tensor_type.elem_type for v in [*model.graph.input, *model.graph.output] if v.type.HasField("tensor_type")}
    return ops, {onnx.TensorProto.DataType.Name(t).lower() for t in types}


def unexpected(folder, result, known, patterns):
    """Why a result is not as --right wants it, or None."""
    if result.state.startswith("exit") and result.state != f"exit {ENVIRONMENT}":
        return result.message
    if result.state == "refused" and model_of(folder)[0] <= known and not any(re.search(p, result.message) for p in patterns):
        return result.message
    return None


def coverage(path, ingot, results, targets):
    known = json.loads(subprocess.run([ingot, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    rows = collections.defaultdict(lambda: {"tests": 0, "types": set(), "right": collections.Counter()})
    for folder, by_target in results.items():
        ops, types = model_of(folder)
        for op in ops:
            row = rows[op]
            row["tests"] += 1
            for target in targets:
                row["right"][target] += by_target[target].state == "right"
            if all(by_target[t].state == "right" for t in targets):
                row["types"] |= types
    with open(path, "w") as out:
        total = {t: sum(r[t].state == "right" for r in results.values()) for t in targets}
        told = (f"Written by `tests/onnx/run.py`; do not edit. Of the {len(results)} tests of onnx {onnx.__version__}: "
                + ", ".join(f"{total[t]} right by {t}" for t in targets) + "; what is not right is refused with exit 4 and a message that "
                "names the operator, type or form. A test counts for each operator in it, so an operator that is there has tests refused "
                "for the sake of another. Types: of the inputs and outputs of tests that are right. By: a row of the scalar functions, a "
                "function of C, or a text, which is a function body over other operators. ulp: the bound of the scalar function's error "
                "in float32, tests/words holds it to that.")
        out.write("# Coverage: ONNX's own tests\n\n" + textwrap.fill(told, 120, break_on_hyphens=False) + "\n\n")
        out.write("| operator | since | by | ulp | tests | " + " | ".join(targets) + " | types |\n|---" * 1 + "|---" * (5 + len(targets)) + "|\n")
        for op in sorted(known, key=lambda o: (o["domain"], o["name"])):
            row = rows[("" if op["domain"] == "ai.onnx" else op["domain"], op["name"])]
            name = op["name"] if op["domain"] == "ai.onnx" else f"{op['domain']}.{op['name']}"
            out.write(f"| {name} | {op['since']} | {op['by']} | {op.get('ulp', '')} | {row['tests']} | "
                      + " | ".join(str(row["right"][t]) for t in targets) + f" | {' '.join(sorted(row['types']))} |\n")
        there = {("" if o["domain"] == "ai.onnx" else o["domain"], o["name"]) for o in known}
        absent = sorted((f"{domain}.{name}" if domain else name, row["tests"]) for (domain, name), row in rows.items() if (domain, name) not in there)
        out.write("\nNot there, with the tests that have it: " + ", ".join(f"{name} {count}" for name, count in absent) + ".\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ingot")
    parser.add_argument("trees", nargs="+")
    parser.add_argument("--target", nargs="+", default=[ORACLE])
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INGOT_SEED", "1")))
    parser.add_argument("--only", default="*")
    parser.add_argument("--cpu", default="native")
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--coverage")
    parser.add_argument("--right", type=int)
    a = parser.parse_args()
    ingot = os.path.abspath(a.ingot)
    folders = [f for f in tests_of(a.trees) if fnmatch.fnmatchcase(os.path.basename(f), a.only)]
    known = {("" if o["domain"] == "ai.onnx" else o["domain"], o["name"])
             for o in json.loads(subprocess.run([ingot, "ops", "--json"], capture_output=True, text=True, check=True).stdout)}
    scratch = tempfile.TemporaryDirectory()
    sampled = a.sample and not os.environ.get("INGOT_LONG")
    if sampled:
        random.Random(a.seed).shuffle(folders)
    if sampled or a.constants:                                     # of those that can be right: a refusal shows nothing of a target
        folders = (f for f in folders if model_of(f)[0] <= known)
        folders = (made for f in folders if (made := with_constants(f, scratch.name))) if a.constants else folders
        folders = list(itertools.islice(folders, a.sample if sampled else None))
    with open(os.path.join(HERE, "refused.txt")) as file:
        patterns = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    if a.clean:
        set_clean(scratch.name)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = dict(zip(folders, pool.map(lambda f: work(ingot, f, a.target, ["--cpu", a.cpu]), folders)))
    bad = 0
    for target in a.target:
        states = collections.Counter(r[target].state for r in results.values())
        print(f"{target}: " + ", ".join(f"{n} {state}" for state, n in states.most_common()) + f" of {len(results)}")
        for folder, by_target in results.items():
            result = by_target[target]
            why = result.message if result.state in ("wrong", "crashed") else unexpected(folder, result, known, patterns) if a.right else None
            if a.clean and result.state == f"exit {ENVIRONMENT}":
                why = result.message
            if why:
                bad += 1
                print(f"  {os.path.basename(folder)} {result.state}: {why}")
        if a.right and not sampled and states["right"] < a.right:
            bad += 1
            print(f"  {a.right} at least should be right")
    reasons = collections.Counter(reason_of(r[a.target[0]].message) for r in results.values() if r[a.target[0]].state == "refused")
    for reason, n in reasons.most_common() if not a.right else []:
        print(f"{n:6d} {reason}")
    if a.json:
        with open(a.json, "w") as out:
            json.dump({os.path.basename(f): {t: {"state": r.state, "message": r.message} for t, r in by.items()} for f, by in results.items()}, out, indent=1)
    if a.coverage:
        coverage(a.coverage, ingot, results, a.target)
    return bool(bad) or not any(r[t].state == "right" for r in results.values() for t in a.target)


sys.exit(main())
