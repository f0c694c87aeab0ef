#!/usr/bin/env python3
"""system.py: ./demo and ./check on a bare Debian 12 (debootstrap's minbase: no compiler, git, python3, sudo), in a clean copy.

The network off, and a user without sudo: exit 5 and one sentence.  Then ./demo as root, again as that user now that the packages are
there, the .debs in and out again, and ./check.  Ahead of it, in a system of its own, the wheel of the build folder that is named.  Only with INGOT_LONG=1; 77 where no bare system can be made, with the reason.  $INGOT_FRESH=demo leaves ./check out."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
USER = 1234                                           # nobody's
# The folders of /proc and of shared memory are this process's own, and go with it.
INSIDE = 'mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && shift && exec "$@"'


def skipped(reason):
    print("skipped:", reason)
    sys.exit(77)


def copy_tree(to):
    """What a clone holds, as it stands here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True) if shutil.which("git") else None
    if listed and listed.returncode == 0:
        for name in filter(None, listed.stdout.split("\0")):
            if os.path.exists(os.path.join(ROOT, name)):
                os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
                shutil.copy2(os.path.join(ROOT, name), os.path.join(to, name))
    else:
        made = shutil.ignore_patterns("build*", ".git", ".venv", "__pycache__", "*.pyc")
        shutil.copytree(ROOT, to, ignore=lambda folder, names: set(made(folder, names)) |
                        ({name for name in names if name != "README.md"} if folder == os.path.join(ROOT, "out") else set()))


class System:
    def __init__(self, folder):
        self.folder = folder
        made = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if made.returncode:
            skipped("debootstrap: " + (made.stdout.strip().splitlines() or ["?"])[-1])
        # How this machine reaches its registries.
        for path in ("/etc/resolv.conf", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"):
            if os.path.exists(path):
                os.makedirs(folder + os.path.dirname(path), exist_ok=True)
                shutil.copy(path, folder + path)
        # What is inside makes its certificates anew when the package of them is installed: those of this machine's own are among them.
        own = "/usr/local/share/ca-certificates"
        if os.path.isdir(own):
            shutil.copytree(own, folder + own, dirs_exist_ok=True)
        copy_tree(folder + "/ingot")
        self.own(USER)

    def own(self, user):
        subprocess.run(["chown", "-R", "%d:%d" % (user, user), self.folder + "/ingot"], check=True)

    def run(self, name, words, want, user=0, network=True):
        """-> standard output and error; prints a line"""
        began = time.time()
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child"] + ([] if network else ["--net"])
        command += ["sh", "-c", INSIDE, "-", self.folder, "chroot", "--userspec=%d:%d" % (user, user), self.folder] + words
        # Not a file descriptor of ours: what is written there shows what a pipe shows.
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "INGOT_FUZZ_SECONDS": "10"})
        right = done.returncode == want
        print("%s %s: exit %d, %.0f s" % ("ok    " if right else "FAILED", name, done.returncode, time.time() - began), flush=True)
        if not right:
            print(done.stdout[-8000:], done.stderr[-4000:])
            sys.exit(1)
        return done.stdout, done.stderr


def holds(text, what):
    if what not in text:
        print("FAILED \"%s\" is not in:\n%s" % (what, text))
        sys.exit(1)


PACK = "cd /ingot/build && cmake -DCMAKE_INSTALL_PREFIX=/usr .. >/dev/null && cpack -G DEB -B /tmp/packed"
USE = """set -e
apt-get install -y --no-install-recommends /tmp/packed/*.deb
cd /tmp
ingot build /ingot/examples/digits/digits.onnx -o digits --cpu native
cc -Idigits /ingot/examples/digits/main.c digits/libdigits.a -lm -o program
./program
cc /ingot/examples/jit/main.c $(pkg-config --cflags --libs ingot) -o jit
./jit /ingot/examples/digits/digits.onnx
cc /ingot/examples/jit/main.c $(pkg-config --cflags --libs ingot-shared) -o shared
./shared /ingot/examples/digits/digits.onnx
"""


WHEEL = """set -e
! command -v cc
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install -q --disable-pip-version-check /tmp/wheel/*.whl
cd /ingot/examples/digits
/tmp/venv/bin/python -c 'import ingot, numpy; print(ingot.open("digits.onnx")(numpy.zeros((1, 1, 28, 28), "f4")).shape)'
/tmp/venv/bin/ingot info digits.onnx
"""


def debian_package(system):
    """The .debs: installed, used as a stranger would, removed without a trace."""
    system.own(0)
    system.run("cpack", ["sh", "-c", PACK], 0)
    # what apt and ld.so note down about any package is not ours
    files = ["sh", "-c", "find /usr /etc /opt -xdev ! -name ld.so.cache | sort"]
    before, _ = system.run("files before", files, 0)
    out, _ = system.run("the .debs: installed, build, link, run, jit", ["sh", "-c", USE], 0)
    holds(out, "It is a 3.")
    holds(out, "scores")
    system.run("the .debs: removed", ["apt-get", "purge", "-y", "ingot", "libingot0"], 0)
    after, _ = system.run("files after", files, 0)
    if before != after:
        left = sorted(set(after.splitlines()) ^ set(before.splitlines()))
        print("FAILED removal leaves:\n" + "\n".join(left[:20]))
        sys.exit(1)


def python_wheel(system, build):
    """The wheel of that build, where python3-venv is and no compiler: installed with NumPy, used."""
    made = subprocess.run([os.path.join(ROOT, "python", "make_wheel"), system.folder + "/tmp/wheel"], capture_output=True, text=True,
                          env=dict(os.environ, INGOT_BUILD=build))
    if made.returncode:
        print("skipped: no wheel: " + made.stderr.strip()[-300:])
        return
    system.run("python3-venv", ["sh", "-c", "apt-get update -q && apt-get install -y --no-install-recommends python3-venv ca-certificates"], 0)
    out, _ = system.run("the wheel: installed, used", ["sh", "-c", WHEEL], 0)
    holds(out, "(1, 10)")
    holds(out, "can be built")


def main():
    if not os.environ.get("INGOT_LONG"):
        skipped("a bare system takes half an hour; INGOT_LONG=1 or ./check --long tries it")
    if os.geteuid() != 0:
        skipped("debootstrap and chroot need root")
    if not shutil.which("debootstrap"):
        skipped("no debootstrap (./setup long installs it)")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode:
        skipped("no namespace of its own can be made here")
    with tempfile.TemporaryDirectory(prefix="test-fresh.") as folder:
        if sys.argv[1:]:
            python_wheel(System(folder + "/python"), sys.argv[1])
        system = System(folder + "/bare")
        out, error = system.run("a user without sudo", ["/ingot/demo"], 5, user=USER)
        holds(error, "type as root: apt-get update && apt-get install")
        if out or error.count("\n") != 1:
            print("FAILED more than a line:\n" + out + error)
            return 1
        _, error = system.run("no network", ["/ingot/demo"], 5, network=False)
        holds(error, "with a network, type: apt-get update && apt-get install")
        out, _ = system.run("./demo", ["/ingot/demo"], 0)
        holds(out, "It is a 3.")
        holds(out, "[1/")                             # ninja's steps, a line each
        if not glob.glob(folder + "/bare/ingot/out/digits/libdigits.a"):
            print("FAILED out/digits/libdigits.a is not there")
            return 1
        system.own(USER)
        out, _ = system.run("./demo as a user, packages there", ["/ingot/demo"], 0, user=USER)
        holds(out, "It is a 3.")
        debian_package(system)
        if os.environ.get("INGOT_FRESH") != "demo":
            system.own(0)
            out, _ = system.run("./check", ["/ingot/check"], 0)
            print(out[out.rfind("\n", 0, -1) + 1:], end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
