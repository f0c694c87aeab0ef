"""words.py: kernel text + a prelude -> a C file that holds the words it uses, as the emitter does it.

The closure of the words: render the prelude with those that the text names, add the identifiers of what came out, until
nothing new appears.  So no list of dependencies is kept anywhere."""
import functools
import os
import re
import sys
try:
    import jinja2
except ImportError:
    print("skipped: this Python has no Jinja2 (set INGOT_PYTHON)")
    sys.exit(77)

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TEMPLATES = os.path.join(ROOT, "templates")


class Target(dict):
    small = helium = False
    __getattr__ = dict.__getitem__


# prelude, has_fma, LANES, C flags of gcc and clang
TARGETS = {
    "avx512": Target(prelude="c/prelude_avx512.jinja", has_fma=True, lanes=16, flags=["-march=x86-64-v4", "-mprefer-vector-width=512"]),
    "avx2": Target(prelude="c/prelude_avx2.jinja", has_fma=True, lanes=8, flags=["-march=x86-64-v3"]),
    "neon": Target(prelude="c/prelude_neon.jinja", has_fma=True, lanes=4, flags=[]),
    "scalar_fma": Target(prelude="c/prelude_scalar.jinja", has_fma=True, lanes=1, flags=["-march=x86-64-v3"]),
    "scalar_libm": Target(prelude="c/prelude_scalar.jinja", has_fma=True, lanes=1, flags=[]),
    "scalar_soft": Target(prelude="c/prelude_scalar.jinja", has_fma=False, lanes=1, flags=["-DINGOT_SOFT"]),
}


@functools.cache                                              # templates are parsed once
def environment():
    return jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), line_statement_prefix="//%",
                              undefined=jinja2.StrictUndefined, keep_trailing_newline=True)


WORD = re.compile(r"^(?:/\*.*\n(?: \*.*\n)*)?WORD(?:_INLINE)? [^(\n]*?(\w+)\((?:.*\{.*\n|.*\n(?:[^}\n].*\n|\n)*\}.*\n)", re.M)


def seen(text):
    """The names in it, and their families: of a_b also a_*."""
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    return names | {name.partition("_")[0] + "_*" for name in names if "_" in name}


def prelude(text, target, env=None):
    """The prelude of `target` with the words that `text` uses."""
    template = (env or environment()).get_template(target.prelude)
    found = seen(text) | {"ivec_*"}
    while True:
        out = template.render(uses=found.__contains__, target=target)
        out = WORD.sub(lambda word: word[0] if word[1] in found else "", out)
        more = found | seen(out)
        if more == found:
            return out
        found = more


def everything(target, env=None):
    return (env or environment()).get_template(target.prelude).render(uses=lambda word: True, target=target)
