"""told.py: runs the program that a test is given (sys.argv[1]), and tells what was not as expected."""
import os
import subprocess
import sys

INGOT = os.path.abspath(sys.argv[1])
failures = 0


def run(*words):
    """The exit code, and what stands on stdout and stderr."""
    done = subprocess.run([INGOT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def expect(name, right, text=""):
    global failures
    failures += not right
    print("ok    " if right else "FAILED", name, "" if right else text)


def told(name, code, part, *words):
    """A mistake: this exit code, one line that holds `part`."""
    got, _, message = run(*words)
    expect(name, got == code and part in message and message.count("\n") == 1, "exit %d: %s" % (got, message))


def finish():
    print("%d failed" % failures)
    sys.exit(failures > 0)
