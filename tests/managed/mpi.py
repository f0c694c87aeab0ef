"""mpi.py INGOT CC WORK: examples/mpi, compiled by mpicc and run: data parallel on four processes and a pipeline of three have the bits of one process (the program
compares); where one is killed the others say so within a limit."""
import glob
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
INGOT, CC, WORK = (os.path.abspath(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3]))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
LIMIT = 200                                             # seconds of a run, on a machine however busy


def call(*words, **more):
    environment = dict(os.environ, OMPI_CC=CC, CC=CC, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=LIMIT, **more)


def need(*words):
    done = call(*words)
    if done.returncode:
        sys.exit("%s: exit %d: %s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout.splitlines()


def main():
    folders = [f"{WORK}/digits"] + [f"{WORK}/parts/digits_{i}" for i in range(3)]
    need(INGOT, "build", DIGITS, "--profile", "managed", "-o", folders[0])
    need(INGOT, "build", DIGITS, "--cut", "half,hidden_on", "--profile", "managed", "-o", f"{WORK}/parts")
    program = f"{WORK}/machines"
    includes = ["-I" + one for one in folders + [folders[0] + "/runtime/include", ROOT + "/examples/runtime"]]
    need("mpicc", "-O1", "-Wall", "-Wextra", "-Werror", *includes, ROOT + "/examples/mpi/main.c", ROOT + "/examples/runtime/linear.c",
         *(glob.glob(one + "/libdigits*.a")[0] for one in folders), folders[0] + "/libingot_runtime.a", "-lm", "-pthread", "-o", program)
    run = ["mpirun", "-n"]
    told = sorted(need(*run, "4", program, "parallel"))
    if told != [f"rank {i}: 4 of 16 rows, the weights of one process" for i in range(4)]:
        sys.exit("parallel: %s" % told)
    told = need(*run, "3", program, "pipeline")
    if told != ["12 pictures through three parts have the bits of the whole"]:
        sys.exit("pipeline: %s" % told)
    told = sorted(call(*run, "3", "--enable-recovery", program, "pipeline", "dies").stdout.splitlines())
    if [line.split(": ")[:2] for line in told] != [["rank 0", "INGOT_FAILED"], ["rank 2", "INGOT_FAILED"]] or "did not answer in time" not in told[0]:
        sys.exit("pipeline dies: %s" % told)


if __name__ == "__main__":
    main()
