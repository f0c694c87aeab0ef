#!/usr/bin/env python3
"""yardstick.py: open kernels beside ours: CUTLASS' float32 product for ordinary arithmetic units (SIMT, copies by cp.async), compiled alike by NVRTC and read by the same means as
report.py reads ours: registers, shared memory, blocks an SM, share of multiply-adds in the inner loop, ours also with what stages a chunk (the instructions behind the +), which CUTLASS has within that loop.

    yardstick.py INGOT [--include DIR]... [--arch sm_90]       exit 0: right, 1: CUTLASS cannot be read, or our share is the smaller; 77: no NVRTC, no nvdisasm or no headers
Headers: DIR (as cutlass/include, and those of the CUDA toolkit), else in this Python or in the folders of $PYTHONPATH those of PyPI's nvidia-cutlass, nvidia-cuda-cccl,
nvidia-cuda-runtime and nvidia-cuda-crt, of NVRTC's own version.  A product of the same size is ours: 2048 x 32 x 2048 (shape `large`), blocks of 128 x 128.
Then what report.py reckons of CUTLASS' products of 16384 x 16384 x 16384 on an A100 beside what is published of them: no more than WITHIN apart; $INGOT_LONG: tensor cores, too, at the
clock that power leaves them, where the columns of b lie side by side, as ours do (else it is the memory's lines of 64 bytes, 32 KB and more apart, that say how fast they are)."""
import argparse
import glob
import math
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import nvrtc
import report
import sass

# Blocks, chunks of terms, a warp's part and stages, as CUTLASS' own library has them for sm_80.
TILES = {"cutlass_128_128": ("128, 128, 8", "32, 64, 8", 5, 256), "cutlass_256_128": ("256, 128, 8", "64, 64, 8", 5, 256), "cutlass_128_64": ("128, 64, 8", "64, 32, 8", 5, 128),
         "cutlass_64_64": ("64, 64, 8", "32, 32, 8", 5, 128)}
HEADERS = ["cutlass/gemm/kernel/default_gemm.h", "cuda/std/cassert", "cuda_fp16.h", "crt/host_defines.h"]
PLACES = ["cutlass_library/source/include", "nvidia/*/include", "nvidia/*/include/cccl"]
TEXT = """#include "cutlass/cutlass.h"
#include "cutlass/gemm/kernel/default_gemm.h"
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/threadblock/threadblock_swizzle.h"
using namespace cutlass;
template <class Block, class Warp, int stages> using Product = typename gemm::kernel::DefaultGemm<float, layout::RowMajor, 1, float, layout::RowMajor, 1, float, layout::RowMajor, float,
	arch::OpClassSimt, arch::Sm80, Block, Warp, gemm::GemmShape<1, 1, 1>, epilogue::thread::LinearCombination<float, 1, float, float>,
	gemm::threadblock::GemmIdentityThreadblockSwizzle<>, stages, false, arch::OpMultiplyAdd>::GemmKernel;
"""
KERNEL = """typedef Product<gemm::GemmShape<%s>, gemm::GemmShape<%s>, %d> of_%s;
extern "C" __global__ void __launch_bounds__(%d) %s(of_%s::Params params) { extern __shared__ char shared[]; of_%s()(params, *reinterpret_cast<of_%s::SharedStorage *>(shared)); }
extern "C" __global__ void bytes_%s(int *to) { __shared__ char bytes[sizeof(of_%s::SharedStorage) / 16]; bytes[threadIdx.x] = 1; to[threadIdx.x] = bytes[to[threadIdx.x]]; }
"""


# Published TFLOP/s of an A100, 16384 x 16384 x 16384, by layouts of a and b (n: columns): the runs of CUTLASS' profiler that microsoft/superbenchmark keeps in
# tests/benchmarks/micro_benchmarks/test_gemm_flops_performance.py.
PUBLISHED = {"simt_sgemm_128x128_8x2": {"nn": 18.29, "nt": 18.37, "tn": 18.25, "tt": 18.26}, "tf32_s1688gemm_256x128_16x3": {"nn": 99.3, "nt": 125.0, "tn": 101.7, "tt": 128.7},
             "h16816gemm_256x128_32x3": {"nn": 257.5, "nt": 254.1, "tn": 225.3, "tt": 281.0}}
SIZE, WITHIN = 16384, 0.15
POWER = 257 / 295                                              # cuBLAS, A100, 8192 x 8192 x 8192 of float16: of random numbers and of zeros (thonking.ai/p/strangely-matrix-multiplications)
# element, accumulator, alignments, unit, block, a warp's part, instruction, stages, bytes
KNOWN = {"simt_sgemm_128x128_8x2": ("float", "float", 1, 1, "Simt, arch::Sm50", (128, 128, 8), "32, 64, 8", "1, 1, 1", 2, 4),
         "tf32_s1688gemm_256x128_16x3": ("tfloat32_t", "float", 4, 4, "TensorOp, arch::Sm80", (256, 128, 16), "64, 64, 16", "16, 8, 8", 3, 4),
         "h16816gemm_256x128_32x3": ("half_t", "half_t", 8, 8, "TensorOp, arch::Sm80", (256, 128, 32), "64, 64, 32", "16, 8, 16", 3, 2)}
PROFILED = """#include "cutlass/cutlass.h"
#include "cutlass/gemm/kernel/default_gemm.h"
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/threadblock/threadblock_swizzle.h"
using namespace cutlass;
typedef gemm::kernel::DefaultGemm<{0}, layout::{a}, {2}, {0}, layout::{b}, {2}, {0}, layout::RowMajor, {1}, arch::OpClass{4}, gemm::GemmShape<{block}>, gemm::GemmShape<{6}>, gemm::GemmShape<{7}>,
	epilogue::thread::LinearCombination<{0}, {3}, {1}, {1}>, gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, {8}, false, arch::OpMultiplyAdd>::GemmKernel Kernel;
extern "C" __global__ void __launch_bounds__(256) known(Kernel::Params params) {{ extern __shared__ char shared[]; Kernel()(params, *reinterpret_cast<Kernel::SharedStorage *>(shared)); }}
"""


def compiled(compiler, text, name, arch, folders):
    return compiler.compile(text, name + ".cu", arch, *[("--include-path=" + folder).encode() for folder in folders], b"-fmad=true", b"-default-device")


def reckoned(compiler, facts, name, layouts, folders):
    """TFLOP/s of one of KNOWN; a loop's rounds by its multiply-adds, of tensor cores by dwords."""
    facts_of, majors = KNOWN[name], {"n": "ColumnMajor", "t": "RowMajor"}
    block, stages, size = facts_of[5], facts_of[8], facts_of[9]
    text = PROFILED.format(*facts_of, a=majors[layouts[0]], b=majors[layouts[1]], block=", ".join(map(str, block)))
    status, log, cubin = compiled(compiler, text, name, facts.arch, folders)
    if status:
        raise RuntimeError(log[:1500])
    shared = (block[0] + block[1]) * block[2] * size * stages
    resident = report.blocks_an_sm(facts, nvrtc.functions(log)["known"]["registers"], shared, 8)
    launch = {"blocks": SIZE * SIZE // (block[0] * block[1]), "flops": 2 * SIZE ** 3 * size // 4, "bytes": 3 * SIZE * SIZE * size}
    return 2 * SIZE ** 3 / report.predict(facts, sass.kernels(cubin)["known"], launch, 8, 0, 0, resident)[0][0] / 1e6


def admitted(ingot, compiler, folders):
    """How many of the published rates are not reckoned right."""
    wrong, facts = 0, report.gpus(ingot)["sm_80"]
    print("\n| CUTLASS, A100 | layouts | published TFLOP/s | reckoned | |\n|---|---|---|---|---|")
    for name, rates in PUBLISHED.items():
        for layouts, rate in rates.items() if name.startswith("simt") or os.environ.get("INGOT_LONG") else ():
            simt = name.startswith("simt")
            found = reckoned(compiler, facts, name, layouts, folders) * (1 if simt else POWER)
            print("| %s | %s | %.1f | %.1f | %+.0f %% |" % (name, layouts, rate, found, 100 * (found / rate - 1)), flush=True)
            wrong += (simt or layouts[1] == "t") and abs(found / rate - 1) > WITHIN
    return wrong


def includes(named):
    """Folders that have all the headers; None: one is nowhere."""
    folders = named or [path for folder in sys.path for place in PLACES for path in sorted(glob.glob(os.path.join(folder, place)))]
    lacks = [header for header in HEADERS if not any(os.path.exists(os.path.join(folder, header)) for folder in folders)]
    if lacks:
        print("skipped: no %s (PyPI's nvidia-cutlass, nvidia-cuda-cccl, nvidia-cuda-runtime, nvidia-cuda-crt)" % lacks[0])
    return None if lacks else folders


def in_all(row):
    """The share of multiply-adds of one of our blocks with what stages its chunks, which CUTLASS has within its inner loop."""
    rounds = math.prod(map(int, row["tile"].split(" x "))) / (32 * row["warps"] * row["fmas"])
    return rounds * row["fmas"] / (rounds * row["loop"] + row["beside"])


def main():
    parser = argparse.ArgumentParser(description="open kernels beside ours")
    parser.add_argument("ingot")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--arch", default="sm_90")
    o = parser.parse_args()
    dll = nvrtc.library()
    if not dll or not sass.program():
        print("skipped: no %s" % ("nvdisasm" if dll else "NVRTC"))
        return 77
    folders = includes(o.include)
    if not folders:
        return 77
    compiler, facts, wrong, shares = nvrtc.Nvrtc(dll), report.gpus(o.ingot)[o.arch], 0, []
    print("| kernel | threads | registers | shared | an SM | inner loop | multiply-adds | loads |\n|---|---|---|---|---|---|---|---|")
    for name, (block, warp, stages, threads) in TILES.items():
        text = TEXT + KERNEL % (block, warp, stages, name, threads, name, name, name, name, name, name)
        status, log, cubin = compiled(compiler, text, name, o.arch, folders)
        if status:
            print("%s: %s" % (name, log[:1500]))
            wrong += 1
            continue
        properties = nvrtc.functions(log)
        loop = report.parts(sass.kernels(cubin)[name])[0]
        fmas = sum(sass.kind(one) in ("FFMA", "FFMA2") for one in loop)
        said, shared = properties[name], 16 * properties["bytes_" + name]["shared"]
        shares.append(fmas / len(loop))
        print("| %s | %d | %d | %d | %d | %d | %d: %d %% | %s |" % (name, threads, said["registers"], shared, report.blocks_an_sm(facts, said["registers"], shared, threads // 32), len(loop),
              fmas, 100 * fmas // len(loop), ", ".join("%d %s" % (n, word) for word, n in sorted(sass.memory(loop).items()))))
    with tempfile.TemporaryDirectory(prefix="yardstick.") as folder:
        for name, model in report.subjects(["large", "heavy_large", "whole"], folder):
            for row in report.judged(o.ingot, compiler, facts, name, model, folder):
                print("| %s, %s | %d | %d | %d | %d | %d + %d | %d: %d %%, %d %% in all | %s |" % (name, row["tile"], 32 * row["warps"], row["registers"], row["shared"], row["resident"], row["loop"], row["beside"], row["fmas"],
                      row["share"], 100 * in_all(row), ", ".join("%d %s" % (n, word) for word, n in sorted(row["memory"].items()))))
                if name == "large" and shares and in_all(row) < 0.95 * max(shares):
                    print("%s: %d %% of its instructions multiply, CUTLASS has %d %%" % (name, 100 * in_all(row), 100 * max(shares)))
                    wrong += 1
    wrong += admitted(o.ingot, compiler, folders)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
