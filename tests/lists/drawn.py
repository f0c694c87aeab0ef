#!/usr/bin/env python3
"""drawn.py INGOT [CASES [SEED]]: programs of list operators drawn at random, each node computed here as the standard says (onnx's own evaluator inserts at the
front where the position is the length, and wraps optionals): positions that are constant and that come at run time, from either end; lists made, lengthened,
shortened, split, joined, mapped and packed into optionals.  Every fourth also by the JIT.  77 where onnx is not there."""
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import TensorProto as T, helper as H, numpy_helper as N
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

INGOT = os.path.abspath(sys.argv[1])
CASES = int(sys.argv[2]) if len(sys.argv) > 2 else 60
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else int(os.environ.get("INGOT_SEED", "1"))


class Program:
    """Nodes, and the value of each name: an array in `tensors`, a list of them in `lists`."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants, self.inputs, self.count = rng, [], [], {}, 0
        self.tensors, self.lists = {}, {}
        for shape in rng.choices(((2,), (3,), (2, 3), (2, 3), (2, 3), (1, 3)), k=4):
            name = self.name("x")
            self.inputs[name] = np.array([rng.randint(-9, 9) for _ in range(int(np.prod(shape)))], np.float32).reshape(shape)
            self.tensors[name] = self.inputs[name]

    def name(self, start):
        self.count += 1
        return f"{start}{self.count}"

    def node(self, op, inputs, start, **attributes):
        out = self.name(start)
        self.nodes.append(H.make_node(op, inputs, [out], **attributes))
        return out

    def constant(self, values):
        name = self.name("c")
        self.constants.append(N.from_array(np.array(values, np.int64), name))
        return name

    def position(self, value, length, at_run_time):
        """A position, from either end, as a constant or an input."""
        value = value - length if length and value < length and self.rng.random() < 0.4 else value
        if not at_run_time:
            return self.constant(value)
        name = self.name("p")
        self.inputs[name] = np.array(value, self.rng.choice((np.int64, np.int32)))
        return name

    def some(self, names):
        return self.rng.choice(sorted(names))

    def chooses_at_run_time(self, *arrays):
        return len({array.shape for array in arrays}) == 1 and self.rng.random() < 0.5

    # ---- operators ----
    def construct(self):
        names = [self.some(self.tensors) for _ in range(self.rng.randint(1, 4))]
        if self.rng.random() < 0.6:
            names = [n for n in names if self.tensors[n].shape == self.tensors[names[0]].shape]
        self.lists[self.node("SequenceConstruct", names, "s")] = [self.tensors[n] for n in names]

    def empty(self):
        self.lists[self.node("SequenceEmpty", [], "s", dtype=T.FLOAT)] = []

    def insert(self):
        s, t = self.some(self.lists), self.some(self.tensors)
        made = list(self.lists[s])
        place = self.rng.randint(0, len(made))
        end = place == len(made) and self.rng.random() < 0.5
        position = [] if end else [self.position(place, len(made), self.chooses_at_run_time(self.tensors[t], *made))]
        made.insert(place, self.tensors[t])
        self.lists[self.node("SequenceInsert", [s, t] + position, "s")] = made

    def erase(self):
        s = self.some(n for n in self.lists if self.lists[n])
        made = list(self.lists[s])
        place = self.rng.randrange(len(made))
        end = place == len(made) - 1 and self.rng.random() < 0.5
        position = [] if end else [self.position(place, len(made), self.chooses_at_run_time(*made))]
        del made[place]
        self.lists[self.node("SequenceErase", [s] + position, "s")] = made

    def at(self):
        s = self.some(n for n in self.lists if self.lists[n])
        place = self.rng.randrange(len(self.lists[s]))
        position = self.position(place, len(self.lists[s]), self.chooses_at_run_time(*self.lists[s]))
        self.tensors[self.node("SequenceAt", [s, position], "t")] = self.lists[s][place]

    def split(self):
        t = self.some(n for n in self.tensors if self.tensors[n].ndim)
        x = self.tensors[t]
        axis = self.rng.randrange(x.ndim)
        extent, kind = x.shape[axis], self.rng.choice(("none", "rows", "scalar", "list"))
        inputs, attributes, sizes = [t], {}, [1] * extent
        if kind == "scalar":
            step = self.rng.randint(1, extent + 1)
            sizes = [min(step, extent - i) for i in range(0, extent, step)]
            inputs.append(self.constant(step))
        elif kind == "list":
            cut = self.rng.randint(0, extent)
            sizes = [cut, extent - cut]
            inputs.append(self.constant(sizes))
        elif kind == "rows":
            attributes["keepdims"] = 0
        parts = np.split(x, np.cumsum(sizes)[:-1], axis) if sizes else []
        if kind == "rows":
            parts = [part.squeeze(axis) for part in parts]
        self.lists[self.node("SplitToSequence", inputs, "s", axis=axis - x.ndim if self.rng.random() < 0.5 else axis, **attributes)] = parts

    def join(self):
        s = self.some(n for n in self.lists if len({x.shape for x in self.lists[n]}) == 1)
        x, new = self.lists[s][0], self.rng.random() < 0.5
        axis = self.rng.randrange(x.ndim + new)
        axis -= x.ndim + new if self.rng.random() < 0.5 else 0
        self.tensors[self.node("ConcatFromSequence", [s], "t", axis=axis, new_axis=int(new))] = (np.stack if new else np.concatenate)(self.lists[s], axis)

    def map(self):
        """Over one list, two of as many elements, or one and a tensor for all."""
        s = self.some(self.lists)
        mine = self.lists[s]
        lists = [n for n in self.lists if [x.shape for x in self.lists[n]] == [x.shape for x in mine]]
        tensors = [n for n in self.tensors if not self.tensors[n].ndim or all(x.shape == self.tensors[n].shape for x in mine)]
        other = self.some(self.rng.choice([of for of in (lists, tensors) if of]))
        theirs = self.lists[other] if other in self.lists else [self.tensors[other]] * len(mine)
        a, b, out = self.name("a"), self.name("b"), self.name("o")
        difference = self.rng.random() < 0.7
        node = H.make_node("Sub", [a, b], [out]) if difference else H.make_node("Identity", [b], [out])
        body = H.make_graph([node], "body", [H.make_tensor_value_info(n, T.FLOAT, None) for n in (a, b)], [H.make_tensor_value_info(out, T.FLOAT, None)])
        self.lists[self.node("SequenceMap", [s, other], "s", body=body)] = [x - y if difference else y for x, y in zip(mine, theirs)]

    def length(self):
        s = self.some(self.lists)
        self.tensors[self.node("Cast", [self.node("SequenceLength", [s], "n")], "t", to=T.FLOAT)] = np.float32(len(self.lists[s])) + np.zeros((), np.float32)

    def identity(self):
        s = self.some(self.lists)
        self.lists[self.node("Identity", [s], "s")] = self.lists[s]

    def optional(self):
        s = self.some(self.lists)
        o = self.node("Optional", [s], "o")
        self.tensors[self.node("Cast", [self.node("OptionalHasElement", [o], "h")], "t", to=T.FLOAT)] = np.ones((), np.float32)
        self.lists[self.node("OptionalGetElement", [o], "s")] = self.lists[s]

    def draw(self):
        self.construct()
        for _ in range(self.rng.randint(3, 9)):
            try:
                self.rng.choice((self.construct, self.empty, self.insert, self.insert, self.erase, self.at, self.at, self.split, self.join, self.map, self.length,
                                 self.identity, self.optional))()
            except (IndexError, ValueError):                          # there is no operand of the kind
                pass
        made = {n for node in self.nodes for n in node.output}
        outputs = [H.make_tensor_value_info(n, T.FLOAT, None) for n in self.tensors if n in made]
        outputs += [H.make_value_info(n, H.make_sequence_type_proto(H.make_tensor_type_proto(T.FLOAT, None))) for n in self.lists if n in made and self.lists[n]]
        values = [H.make_tensor_value_info(n, H.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in self.inputs.items()]
        return H.make_model(H.make_graph(self.nodes, "drawn", values, outputs, self.constants), ir_version=8, opset_imports=[H.make_opsetid("", 17)])


def flat(names, results):
    for name, result in zip(names, results):
        if isinstance(result, (list, tuple)):
            yield from ((f"{name}_{i}", np.asarray(one)) for i, one in enumerate(result))
        else:
            yield name, np.asarray(result)


def case(seed, also):
    program = Program(random.Random(seed))
    model = program.draw()
    if not model.graph.output:
        return None
    onnx.save(model, "drawn.onnx")
    want = dict(flat([o.name for o in model.graph.output], [program.lists.get(o.name, program.tensors.get(o.name)) for o in model.graph.output]))
    np.savez("in.npz", **program.inputs)
    for target in ("interpreter", "jit") if also else ("interpreter",):
        done = subprocess.run([INGOT, "run", "drawn.onnx", "--input", "in.npz", "--output", "out.npz", "--target", target], capture_output=True, text=True)
        if done.returncode:
            return f"{target} ends with {done.returncode}: {done.stderr.strip()}"
        with np.load("out.npz") as made:
            if sorted(made) != sorted(want):
                return f"{target} makes {sorted(made)}, {sorted(want)} are right"
            for name, array in want.items():
                if made[name].shape != array.shape or not np.array_equal(made[name], array):
                    return f"{target}: {name} is {made[name].tolist()}, {array.tolist()} is right"
    return None


failures = 0
with tempfile.TemporaryDirectory(prefix="test-drawn.") as folder:
    os.chdir(folder)
    for i in range(CASES):
        why = case(SEED * 100000 + i, i % 4 == 0)
        if why:
            failures += 1
            print(f"case {SEED * 100000 + i}: {why}")
print(f"{CASES} programs drawn, seed {SEED}: {failures} wrong")
sys.exit(failures > 0)
