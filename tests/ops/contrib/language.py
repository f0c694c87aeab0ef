"""What language models are written in."""
import numpy
from onnx import TensorProto

from cases import case, random

F, H = TensorProto.FLOAT, TensorProto.FLOAT16
R = random("language")


def draw(*shape, kind="f4", scale=1.0):
    return (R.standard_normal(shape) * scale).astype(kind)


def some(high, *shape, kind="u1"):
    return R.integers(0, high, shape).astype(kind)


# ---- weights of few bits ----
for bits in (2, 4, 8):
    for k, block in ((64, 32), (40, 16), (130, 128)):
        blocks, n = -(-k // block), 6
        b = some(256, n, blocks, block * bits // 8)
        row = -(-blocks * bits // 8)
        for zeros in ("none", "packed", "floats"):
            if zeros == "floats" and (bits == 8 or bits == 2 and k != 64):             # onnxruntime has none
                continue
            given = {"none": None, "packed": some(256, n, row), "floats": draw(n, blocks) + 2 ** (bits - 1)}[zeros]
            case("MatMulNBits", f"{bits} bits, {k} in blocks of {block}, zero points: {zeros}", [draw(2, 3, k), b, draw(n, blocks, scale=0.1), given, None, draw(n) if k == 64 else None],
                 constants=[1, 2] + [3] * (given is not None), K=k, N=n, bits=bits, block_size=block)
case("MatMulNBits", "accuracy_level 1, flat tables", [draw(3, 64), some(256, 6, 2, 16), draw(12, scale=0.1), some(256, 6)], constants=[1, 2, 3], K=64, N=6, bits=4, block_size=32, accuracy_level=1)
case("MatMulNBits", "float16", [draw(3, 64, kind="f2"), some(256, 6, 2, 16), draw(6, 2, kind="f2", scale=0.1)], types=[H], constants=[1, 2], K=64, N=6, bits=4, block_size=32)
for bits in (4, 8):
    data = some(256, 10, 64 * bits // 8)
    case("GatherBlockQuantized", f"bytes, {bits} bits", [data, some(10, 2, 3, kind="i8"), draw(10, 2)], constants=[0, 2], bits=bits, block_size=32)
    case("GatherBlockQuantized", f"bytes, {bits} bits, zero points", [data, some(10, 4, kind="i4"), draw(10, 2), some(256, 10, 2 * bits // 8)], constants=[0, 2, 3], bits=bits, block_size=32)

# ---- rotary ----
COS, SIN = draw(20, 4), draw(20, 4)
for interleaved in (0, 1):
    case("RotaryEmbedding", f"interleaved {interleaved}", [draw(2, 3, 24), some(20, 2, 3, kind="i8"), COS, SIN], interleaved=interleaved)
case("RotaryEmbedding", "one position", [draw(2, 3, 24), numpy.array([5], "i8"), COS, SIN])
case("RotaryEmbedding", "four dimensions", [draw(2, 3, 5, 8), some(15, 2, 5, kind="i8"), COS, SIN])
case("RotaryEmbedding", "a part of each head", [draw(2, 3, 36), some(20, 2, 3, kind="i8"), COS, SIN], num_heads=3, rotary_embedding_dim=8)

# ---- attention ----
B, N, KV, D = 2, 4, 2, 16


def group(name, rows, past=0, lengths=None, total=None, present=None, packed=False, rotary=True, more=(), seen=None, kind="f4", batch=B, **attributes):
    """`past`: what the cache has room for; `lengths`: keys of each batch, new ones too."""
    lengths, total = lengths or [past + rows] * batch, total or (max(lengths) if lengths else past + rows)
    new = [draw(batch, rows, (N + 2 * KV) * D, kind=kind), None, None] if packed else [draw(batch, rows, N * D, kind=kind), draw(batch, rows, KV * D, kind=kind), draw(batch, rows, KV * D, kind=kind)]
    cache = [draw(batch, KV, past, D, kind=kind), draw(batch, KV, past, D, kind=kind)] if past else [None, None]
    angles = [draw(40, D // 2, kind=kind), draw(40, D // 2, kind=kind)] if rotary else [None, None]
    of = F if kind == "f4" else H
    case("GroupQueryAttention", name, [*new, *cache, numpy.array(lengths, "i4") - 1, numpy.array([total], "i4"), *angles, *more], ["y", "k", "v"], types=[of] * 3, constants=[6],
         num_heads=N, kv_num_heads=KV, do_rotary=int(rotary), seen=seen, **attributes)


group("a prompt", 5)
group("a prompt, packed, interleaved", 5, packed=True, rotary_interleaved=1)
group("a prompt, batches of other lengths", 5, lengths=[5, 3], total=5, seen={"y": (slice(0, 1),)})
group("a token", 1, past=6)
group("a token, no rotary, scale", 1, past=6, rotary=False, scale=0.3)
group("a token, batches of other lengths", 1, past=6, lengths=[7, 4], seen={"k": (slice(0, 1),), "v": (slice(0, 1),)})
group("a token in a buffer that is shared", 1, past=10, lengths=[7, 5], total=7, seen={n: (slice(None), slice(None), slice(0, 5)) for n in "kv"})
group("several tokens", 3, past=6, batch=1)
group("a window", 6, local_window_size=3)
group("a window, a token", 1, past=8, local_window_size=3)
group("softcap", 5, softcap=2.5)
group("positions", 1, past=6, more=[numpy.array([[9], [4]], "i8")])
group("bias of scores", 3, more=[None, draw(B, N, 3, 3)])
group("smooth softmax", 4, smooth_softmax=1)
group("a sink for each head", 4, more=[None, None, draw(N)])
group("not causal", 5, causal=0)
group("float16", 2, past=4, kind="f2", batch=1)
