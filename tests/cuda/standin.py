#!/usr/bin/env python3
"""standin.py: the driver that is no GPU's (driver/driver.c) reports what its caller does wrong, and says nothing of what is right: its calls by themselves, each
case in a process of its own.

    standin.py        exit 0: right, 1: wrong, 77: no C++ compiler"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import library

HERE = os.path.dirname(os.path.abspath(__file__))
PTX = b".version 8.0\n.target sm_80\n.visible .entry turn(\n.param .u64 x,\n.param .u64 y\n)\n"
BYTES = 256
GLOBAL, THREAD, RELAXED = range(3)                             # modes of a capture


class Driver:
    """A context, streams, events and blocks of 64 floats; call(name, …) is what the driver answered."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.right("cuInit", 0)
        self.context = self.new("cuDevicePrimaryCtxRetain", 0)
        self.right("cuCtxPushCurrent_v2", self.context)
        self.streams = [self.new("cuStreamCreate", flags) for flags in (1, 1, 1, 0)] + [None]         # the fourth blocks; the fifth is the NULL stream
        self.events = [self.new("cuEventCreate", 2) for _ in range(4)]
        self.blocks = [self.new("cuMemAlloc_v2", ctypes.c_size_t(BYTES)) for _ in range(3)]

    def call(self, name, *arguments):
        return self.cuda[name](*arguments)

    def right(self, name, *arguments):
        code = self.call(name, *arguments)
        assert code == 0, (name, code)

    def new(self, name, *arguments):
        made = ctypes.c_void_p()
        self.right(name, ctypes.byref(made), *arguments)
        return made

    def fill(self, stream, block, byte):
        self.right("cuMemsetD8Async", self.blocks[block], ctypes.c_ubyte(byte), ctypes.c_size_t(BYTES), self.streams[stream])

    def begin(self, stream=0, mode=RELAXED):
        self.right("cuStreamBeginCapture_v2", self.streams[stream], mode)

    def end(self, stream=0):
        self.graph = ctypes.c_void_p()
        return self.call("cuStreamEndCapture", self.streams[stream], ctypes.byref(self.graph))

    def record(self, stream, event):
        self.right("cuEventRecord", self.events[event], self.streams[stream])

    def wait(self, stream, event):
        return self.call("cuStreamWaitEvent", self.streams[stream], self.events[event], 0)

    def play(self):
        executable = ctypes.c_void_p()
        self.right("cuGraphInstantiateWithFlags", ctypes.byref(executable), self.graph, ctypes.c_ulonglong(0))
        self.right("cuGraphLaunch", executable, self.streams[0])
        self.right("cuGraphExecDestroy", executable)
        self.right("cuGraphDestroy", self.graph)
        return [self.read(block) for block in range(3)]

    def read(self, block, stream=0):
        into = ctypes.create_string_buffer(BYTES)
        self.right("cuMemcpyDtoHAsync_v2", into, self.blocks[block], ctypes.c_size_t(BYTES), self.streams[stream])
        return into.raw

    def up(self, block, byte):
        self.right("cuMemcpyHtoD_v2", self.blocks[block], bytes([byte]) * BYTES, ctypes.c_size_t(BYTES))

    def elsewhere(self, work):
        """What `work` gives on another thread, in this context."""
        given = []

        def run():
            context = ctypes.c_void_p()
            self.right("cuCtxPushCurrent_v2", self.context)
            given.append(work())
            self.right("cuCtxPopCurrent_v2", ctypes.byref(context))
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return given[0]

    def mode(self, mode):
        """This thread's own, which becomes `mode`."""
        before = ctypes.c_int(mode)
        self.right("cuThreadExchangeStreamCaptureMode", ctypes.byref(before))
        return before.value

    def turn(self):
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.right("cuModuleLoadDataEx", ctypes.byref(module), PTX, 0, None, None)
        self.right("cuModuleGetFunction", ctypes.byref(kernel), module, b"turn")
        return module, kernel

    def launch(self, kernel, shared):
        values = (ctypes.c_void_p * 2)(*[ctypes.addressof(block) for block in self.blocks[:2]])
        return self.call("cuLaunchKernel", kernel, 1, 1, 1, 64, 1, 1, shared, self.streams[0], values, None)

    def close(self):
        for name, things in ("cuStreamDestroy_v2", self.streams[:-1]), ("cuEventDestroy_v2", self.events), ("cuMemFree_v2", self.blocks):
            for one in things:
                self.right(name, one)
        self.right("cuDevicePrimaryCtxRelease_v2", 0)


# ---- cases: each is its name, gets a Driver and gives what is to be `right` ----
def forked_and_joined(d):
    """Stream 1 of 0, stream 2 of 1, back the same way, to the copy; and streams are what they were."""
    d.begin()
    d.fill(0, 0, 1)
    d.record(0, 0)
    codes = [d.wait(1, 0)]
    d.fill(1, 1, 2)
    d.record(1, 1)
    codes += [d.wait(2, 1)]
    d.right("cuMemcpyDtoDAsync_v2", d.blocks[2], d.blocks[1], ctypes.c_size_t(BYTES), d.streams[2])
    d.record(2, 2)
    codes += [d.wait(1, 2)]
    d.record(1, 3)
    codes += [d.wait(0, 3), d.end()]
    d.fill(1, 1, 9)
    d.right("cuStreamSynchronize", d.streams[1])
    return codes, d.play(), ([0] * 5, [b"\1" * BYTES, b"\2" * BYTES, b"\2" * BYTES])


def fork(d, *after):
    """Stream 1 of 0, a fill in each; then (stream, event) records, (stream, event, "wait") waits and (stream,) fills; how the capture ends."""
    d.begin()
    d.record(0, 0)
    assert d.wait(1, 0) == 0
    d.fill(1, 1, 2)
    for one in after:
        if len(one) == 1:
            d.fill(one[0], one[0], 3)
        elif len(one) == 2:
            d.record(*one)
        else:
            assert d.wait(*one[:2]) == 0
    return d.end(), bool(d.graph), (904, False)


def unjoined(d): return fork(d)
def unjoined_of_what_came_later(d): return fork(d, (1, 1), (1,), (0, 1, "wait"))
def unjoined_without_work(d): return fork(d, (0, 2), (2, 2, "wait"), (1, 1), (0, 1, "wait"))
def unjoined_behind_another(d): return fork(d, (1, 1), (2, 1, "wait"), (2,), (0, 1, "wait"))


def two_captures(d):
    d.begin()
    d.begin(1)
    d.record(0, 0)
    return [d.wait(1, 0), d.end(), d.end(1)], None, ([902, 901, 901], None)


def not_of_the_capture(d):
    d.record(1, 0)
    d.begin()
    return [d.wait(0, 0), d.end()], None, ([905, 901], None)


def of_an_ended_capture(d):
    d.begin()
    d.record(0, 0)
    codes = [d.call("cuEventQuery", d.events[0]), d.end(), d.wait(1, 0)]
    d.record(0, 0)
    d.right("cuGraphDestroy", d.graph)
    return codes + [d.wait(1, 0)], None, ([907, 0, 907, 0], None)


def ended_elsewhere(d):
    d.begin()
    d.record(0, 0)
    codes = [d.wait(1, 0), d.end(1)]
    d.record(1, 1)
    codes += [d.wait(0, 1), d.end()]
    d.right("cuGraphDestroy", d.graph)
    return codes, None, ([0, 903, 0, 0], None)


def waited_for_while_captured(d):
    d.begin()
    return [d.call("cuStreamSynchronize", d.streams[0]), d.end()], None, ([900, 901], None)


def copied_late(d):
    """What comes by the NULL stream is not there for a stream that does not block, and is for one that does, for the NULL stream, and when that was waited for."""
    got = []
    for stream in 0, 3, 4:
        d.fill(stream, 0, 1)
        d.right("cuStreamSynchronize", d.streams[stream])
        d.up(0, 2)
        got.append(d.read(0, stream)[0])
    d.up(0, 3)
    d.right("cuStreamSynchronize", None)
    return got + [d.read(0)[0]], ([1, 2, 2, 3],)


def copied_late_then_asked(d):
    """An event behind it ends, though nobody waits."""
    d.up(0, 2)
    d.record(4, 0)
    while (code := d.call("cuEventQuery", d.events[0])) == 600:
        pass
    return code, d.read(0)[0], (0, 2)


def null_stream_in_order(d):
    """It and a stream that blocks take turns in the order of the calls."""
    for byte in range(1, 41):
        d.fill(3 + byte % 2, 0, byte)
        d.right("cuMemcpyDtoDAsync_v2", d.blocks[1 + byte % 2], d.blocks[0], ctypes.c_size_t(BYTES), d.streams[4 - byte % 2])
    return [d.read(block, 4)[0] for block in range(3)], ([40, 40, 39],)


def null_stream_while_another_is_captured(d):
    d.begin(3)
    codes = [d.call("cuMemsetD8Async", d.blocks[0], ctypes.c_ubyte(1), ctypes.c_size_t(BYTES), None), d.end(3)]
    d.begin(0)
    d.fill(4, 0, 1)
    codes += [d.end()]
    d.right("cuGraphDestroy", d.graph)
    return codes, ([906, 901, 0],)


def null_stream_captured(d): return d.call("cuStreamBeginCapture_v2", None, RELAXED), (900,)


def modes(d):
    """What a thread asks (mode of the capture, whose it is, mode of the thread): codes of the question and of the capture's end."""
    got = []
    d.record(1, 1)
    d.right("cuStreamSynchronize", d.streams[1])
    for capture, elsewhere, own in ((GLOBAL, True, GLOBAL), (GLOBAL, True, THREAD), (GLOBAL, True, RELAXED), (THREAD, True, GLOBAL), (THREAD, False, THREAD), (THREAD, False, RELAXED),
                                    (RELAXED, False, GLOBAL)):
        def ask():
            before = d.mode(own)
            code = d.call("cuEventQuery", d.events[1])
            assert d.mode(before) == own
            return code
        d.begin(0, capture)
        got += [d.elsewhere(ask) if elsewhere else ask(), d.end()]
        if not got[-1]:
            d.right("cuGraphDestroy", d.graph)
    return got, ([900, 901, 0, 0, 0, 0, 0, 0, 900, 901, 0, 0, 0, 0],)


def shared_bytes(d, attribute, shared):
    """codes, whether the floats are turned round"""
    module, kernel = d.turn()
    source = (ctypes.c_float * 64)(*range(64))
    d.right("cuMemcpyHtoDAsync_v2", d.blocks[0], source, ctypes.c_size_t(BYTES), d.streams[0])
    codes = [d.call("cuFuncSetAttribute", kernel, 8, attribute)] if attribute else []
    codes += [d.launch(kernel, shared)]
    d.right("cuStreamSynchronize", d.streams[0])
    turned = d.read(1) == bytes((ctypes.c_float * 64)(*range(63, -1, -1)))
    d.right("cuModuleUnload", module)
    return codes, turned


def shared_as_usual(d): return *shared_bytes(d, 0, 48 << 10), ([0], True)
def shared_above_usual(d): return *shared_bytes(d, 0, (48 << 10) + 1), ([1], False)
def shared_as_allowed(d): return *shared_bytes(d, 64 << 10, 64 << 10), ([0, 0], True)
def shared_above_attribute(d): return *shared_bytes(d, 64 << 10, (64 << 10) + 4), ([0, 1], False)
def shared_above_lowered(d): return *shared_bytes(d, 128, 256), ([0, 1], False)
def shared_above_device(d): return *shared_bytes(d, (227 << 10) + 4, 256), ([1, 0], True)


CASES = ((forked_and_joined, None), *((one, "cuStreamEndCapture: a stream that was forked into the capture is not joined") for one in
          (unjoined, unjoined_of_what_came_later, unjoined_without_work, unjoined_behind_another)),
         *((one, r"cuStreamWaitEvent: .* \(%d\)" % code) for one, code in ((two_captures, 902), (not_of_the_capture, 905), (of_an_ended_capture, 907))),
         (copied_late, None), (copied_late_then_asked, None), (null_stream_in_order, None),
         (null_stream_while_another_is_captured, "the NULL stream would wait for one that is captured"),
         (null_stream_captured, "cuStreamBeginCapture_v2: the NULL stream cannot be captured"),
         (modes, "cuEventQuery: unsafe while a stream is captured\nstand-in: cuEventQuery: unsafe while a stream is captured"),
         (ended_elsewhere, None), (waited_for_while_captured, "cuStreamSynchronize: the stream is captured"),
         (shared_as_usual, None), (shared_above_usual, "turn: 49153 bytes of dynamic shared memory, its attribute allows 49152"),
         (shared_as_allowed, None), (shared_above_attribute, "turn: 65540 bytes of dynamic shared memory, its attribute allows 65536"),
         (shared_above_lowered, "turn: 256 bytes of dynamic shared memory, its attribute allows 128"), (shared_above_device, None))


def main():
    if not shutil.which("g++"):
        print("skipped: no g++")
        return 77
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="cuda.") as folder:
        driver, kernels = os.path.join(folder, "driver"), os.path.join(folder, "kernels.so")
        library.build_driver(driver)
        library.call("g++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-I", library.EMULATOR, '-DTEXT="%s"' % os.path.join(HERE, "kernels.cu"), "-DKERNELS=X(turn)",
                     os.path.join(HERE, "driver", "kernels.cpp"), os.path.join(library.EMULATOR, "emulator.cpp"), "-o", kernels)
        for case, says in CASES:
            done = subprocess.run([sys.executable, __file__, case.__name__], capture_output=True, text=True, timeout=600,
                                  env={**os.environ, "LD_LIBRARY_PATH": driver, "STANDIN_KERNELS": kernels})
            said = re.fullmatch("stand-in: %s\n" % says, done.stderr) if says else not done.stderr
            if done.returncode or not said:
                wrong += 1
                print("wrong: %s: exit %d\n%s%s" % (case.__name__, done.returncode, done.stdout, done.stderr))
    print("%d cases, %d wrong" % (len(CASES), wrong))
    return 1 if wrong else 0


def one(name):
    driver = Driver()
    *got, want = globals()[name](driver)
    driver.close()
    if tuple(got) != want:
        print("%s: %s, should be %s" % (name, got, want))
    return tuple(got) != want


if __name__ == "__main__":
    sys.exit(one(sys.argv[1]) if len(sys.argv) == 2 else main())
