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


def turned(x, angles):
    """Heads [rows, heads, D], normal, scaled, then turned."""
    first, second = numpy.split(x, 2, axis=-1)
    cosines, sines = (a[: x.shape[0], None].astype("f8") for a in angles)
    return numpy.concatenate([first * cosines - second * sines, second * cosines + first * sines], -1)


def normed(rows=5):
    q, k, v = draw(1, rows, N * D), draw(1, rows, KV * D), draw(1, rows, KV * D)
    angles, scales = [draw(40, D // 2), draw(40, D // 2)], [draw(D), draw(D)]
    heads = [x.reshape(rows, -1, D).astype("f8") for x in (q, k, v)]
    a, b = (turned(x / numpy.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * scale, angles) for x, scale in zip(heads, scales))
    scores = numpy.einsum("qhd,khd->hqk", a, b.repeat(N // KV, 1)) / D ** .5 + numpy.triu(numpy.full((rows, rows), -numpy.inf), 1)
    shares = numpy.exp(scores - scores.max(-1, keepdims=True))
    y = numpy.einsum("hqk,khd->qhd", shares / shares.sum(-1, keepdims=True), heads[2].repeat(N // KV, 1))
    case("GroupQueryAttention", "norms of queries and keys", [q, k, v, None, None, numpy.array([rows - 1], "i4"), numpy.array([rows], "i4"), *angles, *[None] * 5, *scales], constants=[6],
         want=[y.reshape(1, rows, -1).astype("f4")], num_heads=N, kv_num_heads=KV, do_rotary=1, qk_norm_epsilon=1e-5)


normed()

# ---- experts ----
def experts(name, rows, count, k, act, *, width=24, depth=16, more=(), op="MoE", kind="f4", **attributes):
    """fc1, its bias, fc2, its bias; weights that follow are in `more`."""
    wide = width * 2 if act == "swiglu" and "swiglu_fusion" in attributes else width
    case("MoE", name, [draw(*rows, depth, kind=kind), draw(int(numpy.prod(rows)), count, kind=kind), draw(count, wide, depth, kind=kind, scale=.3), draw(count, wide, kind=kind),
                       draw(count, depth, width, kind=kind, scale=.3), draw(count, depth, kind=kind), *more], constants=[2, 3, 4, 5], types=[F if kind == "f4" else H], k=k, activation_type=act, **attributes)


for act in "relu", "silu", "gelu", "identity":
    experts(f"all, {act}", [2, 3], 4, 2, act)
    experts(f"a few, {act}", [1], 4, 2, act, normalize_routing_weights=1)
GPT = dict(swiglu_fusion=1, swiglu_limit=1.0, activation_alpha=1.702, activation_beta=1.0, normalize_routing_weights=1)
experts("all, swiglu", [5], 4, 2, "swiglu", **GPT)
experts("a few, swiglu", [1, 1], 8, 4, "swiglu", **GPT)
experts("one of one, no limit", [3], 1, 1, "swiglu", swiglu_fusion=1)
experts("float16", [4], 4, 2, "silu", kind="f2")


def chosen(x, router, w1, b1, w2, b2):
    """Of 8 bits in blocks onnxruntime rounds x to 8 bits as well."""
    made = numpy.zeros(x.shape)
    for t, row in enumerate(router.astype("f8")):
        shares = {e: numpy.exp(row[e] - row.max()) for e in numpy.argsort(-row)[:2]}
        for e, share in shares.items():
            gates, ups = numpy.split((w1[e] @ x[t].astype("f8") + b1[e]).reshape(-1, 2), 2, axis=1)
            made[t] += share / sum(shares.values()) * (w2[e] @ (gates / (1 + numpy.exp(-gates)) * ups)[:, 0] + b2[e])
    return made.astype("f4")


def wide_of(codes, scales, zeros, block):
    blocks = codes.reshape(*scales.shape, block).astype("f8") - (zeros[..., None] if zeros is not None else 128)
    return (blocks * scales[..., None]).reshape(codes.shape)


for bits in 4, 8:
    for block in 0, 16:
        for rows in 1, 5:
            for zeros in False, True:
                count, wide, depth, width = 4, 64, 64, 32
                tables = [(wide, depth), (depth, width)]
                scales = [draw(count, n, *([d // block] if block else []), scale=.02) for n, d in tables]
                points = [some(256, count, *((n, -(-(d // block) * bits // 8)) if block else (n * bits // 8,))) for n, d in tables]
                codes = [some(256, count, n, d * bits // 8) for n, d in tables]
                x, router, b1, b2 = draw(rows, depth), draw(rows, count), draw(count, wide), draw(count, depth)
                want = None
                if bits == 8 and block:
                    w1, w2 = (wide_of(c, s, z if zeros else None, block) for c, s, z in zip(codes, scales, points))
                    want = [chosen(x, router, w1, b1, w2, b2)]
                case("QMoE", f"{bits} bits, blocks of {block}, {rows} rows, zero points: {zeros}",
                     [x, router, codes[0], scales[0], b1, codes[1], scales[1], b2, None, None, None, *(points if zeros else [])], want=want,
                     constants=[2, 3, 4, 5, 6, 7] + [11, 12] * zeros, k=2, expert_weight_bits=bits, block_size=block, activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1)
