"""speed.py: how fast templates compile and render, beside Jinja2 in the same run.  Prints figures; judges nothing.

    speed.py [TEMPLATES]         TEMPLATES: the folder of ingot's own templates, compiled one after the other"""
import os
import sys
import time

import oracle

KERNEL = """\
//% macro row(p, vectors)
//%   for v in range(vectors)
        acc{{ p }}_{{ v }} = vec_fma(a{{ p }}, b{{ v }}, acc{{ p }}_{{ v }});
//%   endfor
//% endmacro
//% for k in range(blocks)
        /* block {{ k }} of {{ loop.length }}: {{ kernel.name }} */
//%   for v in range(tile.vectors)
        vec b{{ v }} = vec_load({{ kernel.b }} + {{ (k * tile.vectors + v) * 16 }});
//%   endfor
//%   for p in range(tile.rows)
        vec a{{ p }} = vec_broadcast({{ kernel.a }}[{{ k * tile.rows + p }}]);
{{ row(p, tile.vectors) }}
//%-   if not loop.last
        /* next row */
//%   endif
//%   endfor
//% endfor
"""
DATA = {"blocks": 250, "tile": {"rows": 6, "vectors": 4}, "kernel": {"name": "conv_3", "a": "a", "b": "b"}}


def best(function, times):
    took = []
    for _ in range(times):
        before = time.perf_counter()
        function()
        took.append(time.perf_counter() - before)
    return min(took)


case = oracle.Case(KERNEL, DATA, line_statement="//%", trim_blocks=True, lstrip_blocks=True)
ours = oracle.ingot([case], repeat=20)[0]
template = case.environment().get_template("main")
text = template.render(DATA)
assert text == ours["text"], "the texts differ"
theirs = best(lambda: template.render(DATA), 7)
lines = text.count("\n")
per = 10000 / lines
print(f"{lines} lines of {len(text)} bytes; for 10,000 lines: ingot {ours['seconds'] * per * 1e3:.2f} ms, Jinja2 {theirs * per * 1e3:.2f} ms, "
      f"{theirs / ours['seconds']:.1f} times")
print(f"compiling it: ingot {ours['compile_seconds'] * 1e3:.3f} ms, Jinja2 {best(lambda: case.environment().from_string(KERNEL), 7) * 1e3:.3f} ms")

folder = sys.argv[1] if len(sys.argv) > 1 else None
if folder:
    total = count = size = 0
    for root, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            with open(os.path.join(root, name)) as file:
                source = file.read()
            one = oracle.Case("{% if false %}{% include 'x' %}{% endif %}", {}, {"x": source})
            one = oracle.Case(source, {}, line_statement="//%", trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
            total += min(oracle.ingot([one], repeat=1)[0].get("compile_seconds", 0) for _ in range(3))
            count += 1
            size += len(source)
    print(f"compiling the {count} templates ({size} bytes) below {folder}: {total * 1e3:.2f} ms")
