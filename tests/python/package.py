#!/usr/bin/env python3
"""The Python package: models of every kind of source by every engine, dims that calls decide, outputs whose extents data decide, what is refused, threads, memory;
libraries, checks, times and facts by the program.  Ends with 77 where NumPy is not there."""
import gc, os, subprocess, sys, tempfile, threading, types, unittest

try:
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import ingot

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
SUM = (HEAD + "net (float[N,3] a, float[N,3] b) => (float[N,3] sum, float[N,3] product) { sum = Add(a, b) product = Mul(a, b) }").encode()
DRAW = numpy.random.default_rng(35)
IMAGE = DRAW.standard_normal((1, 1, 28, 28), dtype="f4")
ENGINES = ("jit", "c", "interpreter")


class Lent:
    """What gives an array by DLPack alone."""
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **words):
        return self.array.__dlpack__(**words)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Opened(unittest.TestCase):
    def test_sources_and_engines_have_equal_bits(self):
        with open(DIGITS, "rb") as file:
            content = file.read()
        proto = types.SimpleNamespace(SerializeToString=lambda: content)
        right = ingot.open(DIGITS, engine="interpreter")(IMAGE)
        self.assertEqual((right.shape, right.dtype), ((1, 10), numpy.float32))
        for source in DIGITS, content, proto:
            for engine in ENGINES:
                with ingot.open(source, engine=engine) as model:
                    self.assertEqual(model(IMAGE).tobytes(), right.tobytes())
                    self.assertEqual(model(image=IMAGE).tobytes(), right.tobytes())
                    self.assertEqual(model.run({"image": Lent(IMAGE)})["scores"].tobytes(), right.tobytes())
                    self.assertEqual([repr(one) for one in model.inputs + model.outputs], ["image: float32[1, 1, 28, 28]", "scores: float32[1, 10]"])

    def test_dims_that_calls_decide(self):
        model = ingot.open(SUM)
        self.assertEqual(repr(model.inputs[0]), "a: float32[N, 3]")
        self.assertEqual(model.inputs[0].shape, (None, 3))
        for rows in 2, 5, 2, 0:
            a, b = DRAW.standard_normal((2, rows, 3), dtype="f4")
            total, product = model(a, b)
            numpy.testing.assert_array_equal(total, a + b)
            numpy.testing.assert_array_equal(product, a * b)
        self.assertEqual(len(model.instances), 3)
        with self.assertRaisesRegex(ingot.Error, "dim N is 4 there, 3 elsewhere"):
            model(numpy.zeros((3, 3), "f4"), numpy.zeros((4, 3), "f4"))
        fixed = ingot.open(SUM, dims={"N": 2})
        self.assertEqual(fixed.inputs[0].shape, (2, 3))
        with self.assertRaisesRegex(ingot.Error, r"input a is \[2, 3\], not \[4, 3\]"):
            fixed(numpy.zeros((4, 3), "f4"), numpy.zeros((4, 3), "f4"))
        self.assertIn("math=strict", model.numbers)
        for rows in range(40):                                       # old ones go
            model.compile(N=rows)
        self.assertEqual(len(model.instances), 16)

    def test_outputs_that_data_decide(self):
        model = ingot.open((HEAD + "net (bool[2,3] x) => (int64[2,?] y) { y = NonZero(x) }").encode())
        for values in [[0, 1, 0], [1, 0, 1]], [[0, 0, 0], [0, 0, 0]], [[1, 1, 1], [1, 1, 1]]:
            numpy.testing.assert_array_equal(model(numpy.array(values, bool)), numpy.nonzero(values))

    def test_arrays_of_any_layout(self):
        model = ingot.open(SUM, dims={"N": 4})
        a, b = DRAW.standard_normal((2, 4, 3), dtype="f4")
        for one in numpy.asfortranarray(a), numpy.repeat(a, 2, 1)[:, ::2], a.astype(">f4"), a.tolist(), numpy.broadcast_to(a, (4, 3)):
            numpy.testing.assert_array_equal(model(one, b)[0], a + b)
        frozen = a.copy()
        frozen.flags.writeable = False
        numpy.testing.assert_array_equal(model(frozen, b)[0], a + b)

    def test_types(self):
        for name, dtype in (("float16", "f2"), ("double", "f8"), ("int8", "i1"), ("uint16", "u2"), ("int32", "i4"), ("uint64", "u8"), ("bool", "?")):
            values = numpy.array([0, 1, 1, 0], dtype)
            made = ingot.open((HEAD + f"net ({name}[4] x) => ({name}[2,2] y) <int64[2] s = {{2,2}}> {{ y = Reshape(x, s) }}").encode(), engine="interpreter")(values)
            self.assertEqual((made.dtype, made.tolist()), (numpy.dtype(dtype), values.reshape(2, 2).tolist()))
        halves = ingot.open((HEAD + "net (bfloat16[2] x) => (float[2] y) { y = Cast<to = 1>(x) }").encode())
        numpy.testing.assert_array_equal(halves(numpy.array([0x3f80, 0xc000], "u2")), [1, -2])
        words = ingot.open((HEAD + "net (string[2] x) => (bool[2] y) <string one = {\"b\"}> { y = Equal(x, one) }").encode().replace(b": 17", b": 19"))
        numpy.testing.assert_array_equal(words(numpy.array(["a", "b"])), [False, True])

    def test_strings_that_come_out(self):
        chosen = ingot.open((HEAD + 'net (bool[2,1] c) => (string[2,2] y) <string[2] a = {"eins", "zw\u00f6lf"}, string[2] b = {"", "x"}> { y = Where(c, a, b) }').encode())
        made = chosen(numpy.array([[True], [False]]))
        self.assertEqual((made.dtype, made.tolist()), (numpy.dtype(object), [["eins", "zw\u00f6lf"], ["", "x"]]))
        self.assertTrue(chosen.outputs[0].strings)
        both = ingot.open((HEAD + "net (string[N] x, string[N] y) => (string[N] z) { z = StringConcat(x, y) }").encode().replace(b": 17", b": 20"))
        for words in ["a", "bcd"], ["\u20ac"], []:
            self.assertEqual(both(numpy.array(words, "U4"), numpy.array(words, "U4")).tolist(), [word + word for word in words])

    def test_little_is_loaded(self):
        """libzip, which the program alone needs, brings libcrypto: half of the time in which the library was loaded."""
        text = "import sys, ingot; ingot.open(sys.argv[1]); print('libzip' in open('/proc/self/maps').read())"
        self.assertEqual(subprocess.run([sys.executable, "-c", text, DIGITS], capture_output=True, text=True, check=True).stdout, "False\n")

    def test_out(self):
        model = ingot.open(SUM, dims={"N": 2})
        a, b = DRAW.standard_normal((2, 2, 3), dtype="f4")
        outs = numpy.empty((2, 2, 3), "f4")
        made = model(a, b, out=[outs[0], outs[1]])
        self.assertIs(made[0].base, outs)
        numpy.testing.assert_array_equal(outs[1], a * b)
        for wrong in [a, outs[1]], [outs[0], outs[0]], [outs[0]], [outs[0].astype("f8"), outs[1]], [outs[0].T, outs[1]], [numpy.broadcast_to(a[0], (2, 3)), outs[1]]:
            with self.assertRaises(ingot.Error) as why:
                model(a, b, out=wrong)
            self.assertEqual(why.exception.code, 2)

    def test_options(self):
        strict, rounded = ingot.open(DIGITS)(IMAGE), ingot.open(DIGITS, math="bf16")(IMAGE)
        self.assertNotEqual(strict.tobytes(), rounded.tobytes())
        kept = ingot.open(DIGITS, math="bf16", keep_strict=["wide", "deep", "hidden", "answer"])(IMAGE)
        self.assertEqual(kept.tobytes(), ingot.open(DIGITS, algorithms="direct")(IMAGE).tobytes())
        self.assertEqual(ingot.open(DIGITS, engine="c", threads=2)(IMAGE).tobytes(), strict.tobytes())
        value = ingot.open((HEAD + "net (float[2,3] x, int64[1] s) => (float[?,?] y) { y = Reshape(x, s) }").encode(), values={"s": [-1]})
        self.assertEqual(value(numpy.zeros((2, 3), "f4"), numpy.array([-1])).shape, (6,))

    def test_refusals(self):
        cases = [(2, "No such file", lambda: ingot.open("nowhere.onnx")), (3, "no ONNX text", lambda: ingot.open(b"nonsense")), (2, "path, bytes", lambda: ingot.open(7)),
                 (2, "no engine", lambda: ingot.open(DIGITS, engine="cuda")), (2, "no option", lambda: ingot.open(DIGITS, speed=1)),
                 (2, "is not one of strict, bf16", lambda: ingot.open(DIGITS, math="fp16")), (2, "no input has a dim", lambda: ingot.open(SUM, dims={"M": 1})),
                 (2, "float32, not float64", lambda: ingot.open(DIGITS)(IMAGE.astype("f8"))), (2, r"\[1, 1, 28, 28\], not \[28, 28\]", lambda: ingot.open(DIGITS)(IMAGE[0, 0])),
                 (2, "0 inputs, the model has 1", lambda: ingot.open(DIGITS)()), (2, 'no input "picture"', lambda: ingot.open(DIGITS)(picture=IMAGE)),
                 (2, "b is not given", lambda: ingot.open(SUM).run({"a": numpy.zeros((1, 3), "f4")})),
                 (2, "no input \"a\" left", lambda: ingot.open(SUM)(numpy.zeros((1, 3), "f4"), a=numpy.zeros((1, 3), "f4"))),
                 (2, "tides", lambda: ingot.build(DIGITS, "x", tides=1))]
        for code, said, call in cases:
            with self.assertRaises(ingot.Error) as why:
                call()
            self.assertRegex(str(why.exception), said)
            self.assertEqual(why.exception.code, code, str(why.exception))
        with self.assertRaises(ingot.Error) as why:
            ingot.open((HEAD + "net (float[2] x) => (float[2] y) { [third] y = Softmx(x) }").encode())(numpy.zeros(2, "f4"))
        self.assertEqual((why.exception.code, why.exception.node, why.exception.op), (4, "third", "Softmx"))
        model = ingot.open(DIGITS)
        model(IMAGE)
        model.close()
        model.close()
        with self.assertRaisesRegex(ingot.Error, "closed"):
            model(IMAGE)

    def test_threads_of_the_caller(self):
        model, right, wrong = ingot.open(SUM), {}, []

        def work(seed):
            draw = numpy.random.default_rng(seed)
            for i in range(200):
                a, b = draw.standard_normal((2, 1 + i % 4, 3), dtype="f4")
                if model(a, b)[0].tobytes() != (a + b).tobytes():
                    wrong.append((seed, i))
        workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])

    def test_nothing_leaks(self):
        def resident():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def leaks(work, before, count, most):
            """Each time; what the system or the allocator takes comes once."""
            for _ in range(before):
                work()
            for _ in range(3):
                held = resident()
                for _ in range(count):
                    work()
                if resident() - held < most:
                    return False
            return True
        model = ingot.open(DIGITS)
        self.assertFalse(leaks(lambda: model(IMAGE), 2000, 100000 if os.environ.get("INGOT_LONG") else 10000, 1 << 20))
        self.assertFalse(leaks(lambda: ingot.open(SUM, dims={"N": 1})(numpy.zeros((1, 3), "f4"), numpy.zeros((1, 3), "f4")), 60, 60, 2 << 20))

    def test_from_torch(self):
        def export(module, args, file, **options):
            self.assertEqual((args, options), ((IMAGE,), {"opset_version": 18}))
            with open(DIGITS, "rb") as digits:
                file.write(digits.read())
        sys.modules["torch"] = types.SimpleNamespace(onnx=types.SimpleNamespace(export=export))   # this tests the way to it, not PyTorch
        try:
            model = ingot.from_torch(object(), (IMAGE,), export={"opset_version": 18}, engine="interpreter")
        finally:
            del sys.modules["torch"]
        self.assertEqual(model(IMAGE).shape, (1, 10))


class Program(unittest.TestCase):
    def test_build_and_load(self):
        right = ingot.open(DIGITS)(IMAGE)
        with tempfile.TemporaryDirectory() as folder:
            for i, options in enumerate(({}, {"weights": "beside"})):
                built = ingot.build(DIGITS, os.path.join(folder, str(i)), shared=True, cpu="native", name="net", **options)
                self.assertEqual(built.manifest["inputs"][0]["dims"], [1, 1, 28, 28])
                self.assertIn(built.folder / "net.h", built.paths)
                library = built.load()
                self.assertEqual(library(IMAGE).tobytes(), right.tobytes())
                with self.assertRaisesRegex(ingot.Error, r"image is \[1, 1, 28, 28\]"):
                    library(IMAGE[0])
            with open(DIGITS, "rb") as file:
                built = ingot.build(file.read(), os.path.join(folder, "bytes"), no_compile=True)
            with self.assertRaisesRegex(ingot.Error, "shared=True"):
                built.load()

    def test_progress(self):
        told = []
        ingot.open(DIGITS, progress=lambda *words: told.append(words))(IMAGE)
        self.assertIn("define", [stage for stage, done, count in told])
        self.assertTrue(all(0 <= done <= count for stage, done, count in told))

        def interrupt(stage, done, count):
            raise KeyboardInterrupt(stage)
        with self.assertRaises(KeyboardInterrupt):
            ingot.open(DIGITS, progress=interrupt)(IMAGE)
        with tempfile.TemporaryDirectory() as folder:
            stages = []
            ingot.build(DIGITS, folder, no_compile=True, progress=lambda stage, done, count: stages.append(stage))
            self.assertEqual(stages, ["read", "prepare", "define", "lower", "kernels", "weights"])
            slow = os.path.join(folder, "slow")          # the program would end first on a busy machine
            with open(slow, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\nsleep 20\nexec cc \"$@\"\n")
            os.chmod(slow, 0o755)
            with self.assertRaises(KeyboardInterrupt):
                ingot.build(DIGITS, os.path.join(folder, "never"), cc=slow, progress=interrupt)
            self.assertFalse(os.path.exists(os.path.join(folder, "never")))
            with self.assertRaisesRegex(ingot.Error, "No such file"):
                ingot.bench("missing.onnx", progress=print)

    def test_facts(self):
        self.assertEqual([one["name"] for one in ingot.ops("Conv")], ["Conv"])
        self.assertEqual(ingot.info(DIGITS)["inputs"][0]["name"], "image")
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "page.html")
            self.assertEqual(ingot.report(DIGITS, page, run=False)["outputs"][0]["name"], "scores")
            with open(page, encoding="utf-8") as file:
                self.assertIn("k1_convolution", file.read())
        self.assertTrue(ingot.check(DIGITS, {"inputs": {"image": IMAGE}, "outputs": {"scores": ingot.open(DIGITS)(IMAGE)}}, target="jit")["right"])
        self.assertFalse(ingot.check(DIGITS, {"inputs": {"image": IMAGE}, "outputs": {"scores": numpy.ones((1, 10), "f4")}}, target="jit")["right"])
        self.assertGreater(ingot.bench(DIGITS, target="jit", calls_only=True, rounds=3)["call_microseconds"], 0)
        with self.assertRaises(AttributeError):
            ingot.nothing


if __name__ == "__main__":
    unittest.main(verbosity=1)
