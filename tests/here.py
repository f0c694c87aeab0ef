"""here.py: the CPUs that a test can run on this machine, or on the one it is taken for ($INGOT_NATIVE)."""
import os


def flags():
    """Of this CPU, in Linux's words."""
    if not os.path.exists("/proc/cpuinfo"):
        return set()
    return set(next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "").split())


def cpus():
    """Words of --cpu, native first."""
    v3 = {"avx2", "fma", "bmi1", "bmi2"} <= flags() and os.environ.get("INGOT_NATIVE") != "generic"
    return ["native"] + (["x86-64-v3"] if v3 else []) + ["generic"]
