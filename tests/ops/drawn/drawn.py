#!/usr/bin/env python3
"""Drawn cases of every operator: one node each, its version, element type, shapes, attributes and operands drawn by seed; by ingot, onnxruntime and ONNX's reference evaluator.

    drawn.py INGOT SERVE_MODELS [--seed N] [--cases N] [--sample N] [--only OP...] [--part I/N] [--case SEED] [--engines interpreter jit c] [--list]

INGOT tells the operators (`ops --json`), SERVE_MODELS runs the models.  For each version of each operator and each type of its first input, --cases
cases; of all, --sample by seed.  INGOT_LONG=1: all, 30 cases each.  A case is

    right        as both judges have it, or the one that can
    fault        both agree, or only one can run it, and ingot has something else; bits of engines that differ; a crash; a refusal that refused.txt does not have
    explained    a judge has something else, for a reason that known.py gives
    sided        the judges differ, ingot is with one of them, and there is no reason yet: look
    alone        the judges differ, and ingot has a third answer
    unjudged     no judge can: the engines' bits are compared
    refused      with a message of refused.txt

Ends with 1 where there is a fault, or one to look at; 77: no onnx, onnxruntime, NumPy or ml_dtypes."""
import argparse
import collections
import concurrent.futures
import json
import os
import pickle
import random
import re
import subprocess
import sys
import threading
import traceback

try:
    import ml_dtypes, numpy, onnx, onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.dirname(os.path.dirname(HERE)))
import judges
import moves, nested, rows, sums, texts                                        # their rules register themselves
from drawing import DTYPES, RULES, TYPES, Draw, NotHere
from known import EXACT, reason_for
from same import same

ENGINES = {"interpreter": 0, "c": 1, "jit": 2}
Told = collections.namedtuple("Told", "state key text")


def schemas(ingot):
    """[(schema, opset)] of the operators that ingot lists, each version at the last opset that has it (and onnxruntime knows)."""
    known = {o["name"] for o in json.loads(subprocess.run([ingot, "ops", "--json"], capture_output=True, text=True, check=True).stdout) if o["domain"] == "ai.onnx"}
    by_name = collections.defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.name in known:
            by_name[schema.name].append(schema)
    made = []
    for name in sorted(by_name):
        versions = sorted(by_name[name], key=lambda s: s.since_version)
        for schema, after in zip(versions, [*versions[1:], None]):
            if not schema.deprecated:
                last = after.since_version - 1 if after else onnx.defs.onnx_opset_version()
                made.append((schema, max(schema.since_version, min(last, judges.RUNTIME_OPSET))))
    return made


def allowed(schema, variable):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == variable:
            plain = [s[7:-1] for s in constraint.allowed_type_strs if s.startswith("tensor(")]
            inner = [s.rstrip(")").split("(")[-1] for s in constraint.allowed_type_strs]                # of sequences and optionals
            return sorted({s for s in plain or inner if s in DTYPES})
    return []


def main_variable(schema):
    """The type variable that is gone through: the first one with a choice.  Others are drawn."""
    count = {c.type_param_str: len(allowed(schema, c.type_param_str)) for c in schema.type_constraints}
    there = [f.type_str for f in [*schema.inputs, *schema.outputs] if count.get(f.type_str)]
    return next((v for v in there if count[v] > 1), there[0] if there else None)


def draw_case(schema, opset, main, seed):
    rng = random.Random(seed)
    variable = main_variable(schema)
    types = {c.type_param_str: rng.choice(sorted(allowed(schema, c.type_param_str)) or [None]) for c in schema.type_constraints}
    if variable:
        types[variable] = main
    draw = Draw(seed, schema, opset, types)
    draw.allowed = lambda name: allowed(schema, name)
    draw.number = lambda name: TYPES[name]
    return RULES[schema.name](draw)


def ours(server, case, shapes, engine):
    model = case.model(shapes)
    answer = server.run(model.SerializeToString(), [case.arrays[v.name] for v in model.graph.input], ENGINES[engine])
    if answer.code:
        return answer
    return answer._replace(outputs=[answer.outputs[o.name] for o in model.graph.output])


def check(server, case, engines, refused, without):
    """(state, what to count it under, text)"""
    exact = case.op in EXACT
    answers = {name: judges.judged(judge, case) for name, judge in judges.JUDGES.items() if name not in without}
    can = {name: a for name, a in answers.items() if not isinstance(a, str)}
    declared = [{f"y{i}": a.shape for i, a in zip([i for i, o in enumerate(case.outputs) if o], can[name])} for name in ("reference", "onnxruntime")
                if name in can and (case.op, name) != ("Loop", "reference")]                           # its shapes are wrong: known.py
    if not case.at_run_time:
        declared = [None]
    if not declared:
        return Told("unjudged", "no judge says the shape", "")
    for shapes in declared:
        answer = ours(server, case, shapes, engines[0])
        if not answer.code:
            break
    if answer.code:
        if answer.code == -1:
            return Told("fault", "crash", answer.message)
        if not can and answer.code == 3:
            return Told("invalid", "", "")
        for pattern in refused:
            if re.search(pattern, answer.message):
                return Told("refused", pattern, "")
        if not can:
            return Told("unjudged", f"exit {answer.code} and no judge can", answer.message)
        reasons = [reason_for(case, {name}, can, None) for name in can] if case.at_run_time and answer.code == 3 else [None]
        if all(reasons):                                                                                # the declared shapes are those judges'
            return Told("explained", reasons[0], answer.message)
        return Told("fault", "refused", f"exit {answer.code}: {answer.message}; {'both judges run it' if len(can) == 2 else 'by ' + next(iter(can))}")
    for engine in engines[1:]:
        other = ours(server, case, shapes, engine)
        if other.code:
            return Told("fault", engine, f"{engine} ends with {other.code}: {other.message}")
        if not all(same(a, b) for a, b in zip(answer.outputs, other.outputs)):
            return Told("fault", engine, f"{engine} has other bits: {[a.ravel()[:8].tolist() for a in other.outputs]}, the interpreter {[a.ravel()[:8].tolist() for a in answer.outputs]}")
    if not can:
        return Told("unjudged", "no judge can", "; ".join(answers.values()))
    whys = {name: judges.all_differ(answer.outputs, a, case, exact) for name, a in can.items()}
    agree = len(can) == 2 and not judges.all_differ(*can.values(), case, exact)
    wrong = {n: w for n, w in whys.items() if w}
    if not wrong or agree and len(wrong) < 2:
        return Told("right" if len(can) == 2 and agree else "right by " + next(n for n in whys if not whys[n]), "", "")
    text = "; ".join(f"{n}: {w}" for n, w in wrong.items())
    reasons = [reason_for(case, wrong, can, answer.outputs)] + [reason_for(case, {name}, can, answer.outputs) for name in wrong]
    if reasons[0] or all(reasons[1:]):                                                                  # one for all, or each its own
        return Told("explained", reasons[0] or reasons[1], text)
    if len(can) == 2 and not agree:
        return Told("sided" if len(wrong) == 1 else "alone", next(iter(wrong)), text)
    return Told("fault", "differs" if len(can) == 2 else "differs from the one judge", text)


# ---- workers: processes that take jobs, as a judge may end its own ----
def work(job, server, without):
    schema_name, opset, main, seed, engines, refused = job
    try:
        case = draw_case(onnx.defs.get_schema(schema_name, opset, ""), opset, main, seed)
    except NotHere:
        return None, None
    try:
        return check(server, case, engines, refused, without), case.told()
    except Exception:
        return Told("fault", "the test itself", traceback.format_exc()[-600:]), case.told()


def serve(program):
    server, out = judges.Server(program), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)                                                      # judges print
    while True:
        try:
            job, without = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(work(job, server, without), out)
        out.flush()


class Worker(threading.local):
    process = None

    def __call__(self, program, job):
        for without in (), ("onnxruntime",), ("onnxruntime", "reference"):
            if self.process is None:
                self.process = subprocess.Popen([sys.executable, "-W", "ignore", os.path.abspath(__file__), "--serve", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            limit = threading.Timer(3 * judges.SECONDS, self.process.kill)
            limit.start()
            try:
                pickle.dump((job, without), self.process.stdin)
                self.process.stdin.flush()
                return pickle.load(self.process.stdout)
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                self.process.kill()
                self.process.wait()
                self.process = None
            finally:
                limit.cancel()
        return Told("fault", "the test itself", "no answer"), str(job)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ingot")
    parser.add_argument("server")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("INGOT_SEED", "1")))
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--type")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--engines", nargs="+", default=["interpreter"])
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--case")
    a = parser.parse_args()
    with open(os.path.join(HERE, "refused.txt")) as file:
        refused = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    jobs, absent = [], set()
    for schema, opset in schemas(os.path.abspath(a.ingot)):
        if schema.name not in RULES:
            absent.add(schema.name)
            continue
        if a.only and schema.name not in a.only:
            continue
        variable = main_variable(schema)
        for main in sorted(allowed(schema, variable)) if variable else [None]:
            for i in range(a.first, a.first + a.cases):
                if not a.type or main == a.type:
                    jobs.append((schema.name, opset, main, f"{a.seed} {schema.name} {opset} {main} {i}", a.engines, refused))
    part, parts = map(int, a.part.split("/"))
    jobs = [j for j in jobs if a.case is None or j[3] == a.case][part::parts]
    if a.sample and not os.environ.get("INGOT_LONG"):
        jobs = random.Random(a.seed).sample(jobs, min(a.sample, len(jobs)))
    states, keys, seen, shown, ops = collections.Counter(), collections.Counter(), set(), collections.Counter(), collections.Counter()
    worker, program = Worker(), os.path.abspath(a.server)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for job, (told, text) in zip(jobs, pool.map(lambda job: worker(program, job), jobs)):
            if told is None:
                continue
            states[told.state] += 1
            seen.add(job[:3])
            if told.key:
                keys[(told.state, told.key)] += 1
            if told.state in ("fault", "alone", "sided"):
                ops[(job[0], told.state, told.key)] += 1
            if told.state in ("fault", "alone", "sided") or a.case:
                kind = (job[0], told.state, re.sub(r"[\d.e+-]+", "N", told.text)[:60])
                shown[kind] += 1
                if shown[kind] <= a.show:
                    print(f"{told.state} ({told.key}): {text}: {told.text}\n    --case '{job[3]}'")
    for (state, key), n in sorted(keys.items()):
        print(f"{n:6d} {state}: {key[:200]}")
    for (op, state, key), n in sorted(ops.items()):
        print(f"{n:6d} {op} {state}: {key}")
    print(f"{len({j[0] for j in seen})} operators, {len({j[:2] for j in seen})} versions, {len(seen)} with types, seed {a.seed}: "
          + ", ".join(f"{n} {state}" for state, n in states.most_common()) + (f"; no rule: {' '.join(sorted(absent))}" if absent and not a.only else ""))
    return bool(states["fault"] + states["alone"] + states["sided"]) or not states["right"]


if __name__ == "__main__":
    sys.exit(serve(sys.argv[2]) if sys.argv[1:2] == ["--serve"] else main())
