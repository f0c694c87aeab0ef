"""Statements: if, for, set, macro, call, filter, include, import, extends, block, with, do, break, continue."""
from oracle import Case

DATA = {"x": 1, "y": 0, "items": [1, 2, 3], "words": ["b", "a", "c"], "empty": [], "d": {"a": 1, "b": 2}, "pairs": [[1, "one"], [2, "two"]], "name": "inc",
        "tree": [{"n": 1, "c": [{"n": 2, "c": []}, {"n": 3, "c": [{"n": 4, "c": []}]}]}, {"n": 5, "c": []}], "users": [{"name": "Bob", "age": 5}, {"name": "al", "age": 7}]}

TEMPLATES = {
    "inc": "[inc {{ x }}{{ local|default('-') }}]", "sets": "{% set q = 5 %}{{ q }}", "lib": "{% macro m(a, b=2) %}<{{ a }},{{ b }}>{% endmacro %}{% set v = 42 %}{% set _p = 1 %}lib text{{ x|default('no x') }}",
    "libx": "{% macro m() %}{{ x }}{% endmacro %}{% set seen = x|default('none') %}", "base": "<{% block a %}base a{% endblock %}|{% block b %}base b{% endblock %}>{{ x }}",
    "mid": "{% extends 'base' %}{% block a %}mid({{ super() }}){% endblock %}", "req": "{% block r required %}{% endblock %}", "loops": "{% for i in items %}{% block l scoped %}{{ i }}{% endblock %}{% endfor %}",
    "unscoped": "{% for i in items %}{% block l %}{{ i|default('?') }}{% endblock %}{% endfor %}", "bad": "{% if %}", "err": "{{ 1/0 }}", "loopinc": "{{ loop.index|default('none') }}", "nested": "{% include 'inc' %}+{% include 'sets' %}",
    "base2": "{% set g = 'base' %}{% block t %}{{ g }}{% endblock %}{% macro bm() %}bm{% endmacro %}{{ bm() }}", "self": "{% block t %}T{% endblock %}{{ self.t() }}{{ self.t()|lower }}", "uses_mod": "{% import 'lib' as l %}{% set w = l.v %}",
    "ns": "{% set ns = namespace(n=0) %}{% macro inc() %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{% endmacro %}",
}

CASES = r"""
{% if x %}a{% endif %}{% if y %}b{% endif %}
{% if y %}a{% elif x %}b{% else %}c{% endif %}{% if y %}a{% elif y %}b{% else %}c{% endif %}{% if y %}1{% elif 0 %}2{% elif x %}3{% elif x %}4{% endif %}
{% if x and not y or none %}t{% endif %}{% if items|length > 2 %}long{% endif %}
{% if 1, 2 %}t{% endif %}
{% if x %}{% set q = 1 %}{% endif %}{{ q }}{% if y %}{% set r = 1 %}{% endif %}{{ r is defined }}
{% if y %}{% set x = 5 %}{% endif %}{{ x }}
{{ x }}{% set x = 2 %}{{ x }}
{% for i in items %}{{ i }}{% endfor %}{% for i in empty %}{{ i }}{% else %}none{% endfor %}
{% for i in items %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}
{% for i in items %}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('-') }}{% endfor %}
{% for i in items %}{{ loop.previtem }}{% endfor %}
{% for i in [1, 1, 2, 2, 1] %}{% if loop.changed(i) %}{{ i }}{% endif %}{% endfor %}{% for i in [1, 1] %}{{ loop.changed(i, 2) }}{% endfor %}
{% for i in items %}{{ loop.cycle('a', 'b') }}{% endfor %}{% for i in items %}{{ loop.cycle(*words) }}{% endfor %}
{% for i in items %}{{ loop.cycle() }}{% endfor %}
{% for i in items %}{{ loop.nope }}{% endfor %}
{% for i in items %}{{ loop.nope is defined }}{% endfor %}
{% for i in items if i != 2 %}{{ i }}{{ loop.index }}{{ loop.length }}{{ loop.last }}{% endfor %}
{% for i in items if i > 5 %}{{ i }}{% else %}none{% endfor %}{% for i in items if i is odd and i > 1 %}{{ i }}{% endfor %}
{% for i in items if loop.first %}{{ i }}{% endfor %}
{% for a, b in pairs %}{{ a }}={{ b }};{% endfor %}{% for (a, b) in pairs %}{{ a }}{% endfor %}{% for a, b in d.items() %}{{ a }}{{ b }}{% endfor %}{% for k in d %}{{ k }}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{{ a }}{% endfor %}
{% for a, b in items %}{{ a }}{% endfor %}
{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for c in "añb" %}{{ c }}.{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in (1, 2) %}{{ i }}{% endfor %}{% for i in 1, 2, 3 %}{{ i }}{% endfor %}{% for i in {"k": 1} %}{{ i }}{% endfor %}
{% for i in 5 %}{% endfor %}
{% for i in none %}{% endfor %}
{% for i in zz %}{{ i }}{% else %}e{% endfor %}
{% for i in items %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}
{% for i in items %}{% set q = i %}{% endfor %}{{ q is defined }}{{ i is defined }}{{ loop is defined }}
{% for x in items %}{{ x }}{% endfor %}{{ x }}{% for x in x|string %}{{ x }}{% endfor %}
{% for i in items %}{% for j in items %}{{ i * j }}{{ loop.index }}{% endfor %}{{ loop.index }};{% endfor %}
{% for i in items %}{% set outer = loop %}{% for j in items %}{{ outer.index }}{{ loop.index }}{% endfor %}{% endfor %}
{% for i in items %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}{% for i in items %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in items %}{% for j in items %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }}{% endfor %}{% else %}e{% endfor %}{% for i in items %}{% break %}{% else %}else{% endfor %}
{% for i in items %}{{ i }}{% if loop.last %}.{% else %},{% endif %}{% endfor %}
{% for i in items|reverse %}{{ i }}{{ loop.last }}{{ loop.revindex }}{% endfor %}{% for i in words|sort %}{{ i }}{% endfor %}{% for k, v in d|dictsort(by='value', reverse=true) %}{{ k }}{{ v }}{% endfor %}
{% for i in items|select('odd') %}{{ loop.index }}{{ loop.length }}{{ i }}{% endfor %}{% for i in items|map('string') %}{{ loop.last }}{{ i }}{{ loop.length }}{{ loop.revindex }}{% endfor %}
{% for n in tree recursive %}{{ n.n }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.index }}{% if n.c %}({{ loop(n.c) }}){% endif %}{% endfor %}
{% for n in tree recursive %}{{ n.n }}{% if n.c %}[{{ loop(n.c)|upper }}]{% else %}-{% endif %}{% else %}nothing{% endfor %}
{% for n in tree if n.n != 3 recursive %}{{ n.n }}{{ loop(n.c) if n.c }}{% endfor %}
{% for n in tree recursive %}{% set outer = loop %}{% for m in n.c %}{{ m.n }}{{ outer(m.c) if m.c }}{% endfor %};{% endfor %}
{% for i in items %}{{ loop(items) }}{% endfor %}
{% for i in items recursive %}{{ loop() }}{% endfor %}
{% for i in items %}{{ loop }}{% break %}{% endfor %}
{% break %}
{% for i in items %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
{% set a = 1 %}{% set b = a + 1 %}{{ a }}{{ b }}{% set a, b = b, a %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set d = (1) %}{{ d }}{% set e = 1 if x else 2 %}{{ e }}
{% set q %}hello {{ x }}{% endset %}{{ q }}{{ q|length }}{% set q | upper %}abc{{ x }}{% endset %}{{ q }}{% set q | upper | replace("A", "z") %}abc{% endset %}{{ q }}{% set q|default("d") %}{% endset %}[{{ q }}]
{% set q %}{% set inner = 1 %}{{ inner }}{% endset %}{{ q }}{{ inner is defined }}
{% set ns = namespace(a=1, b=[]) %}{% for i in items %}{% set ns.a = ns.a + i %}{% do ns.b.append(i) %}{% endfor %}{{ ns.a }}{{ ns.b }}{% set ns.new = 5 %}{{ ns.new }}{{ ns.missing is defined }}
{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}{% set ns.t %}block{% endset %}{{ ns.t }}
{% set d.a = 5 %}
{% set zz.a = 5 %}
{% set ns = namespace(x=1) %}{{ ns.y }}
{% set ns = namespace(n=1) %}{% set ns.own = ns %}{% set ns.list = [ns, 2] %}{{ ns }}{{ [ns] }}{{ ns.list }}
{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }};{{ m(1, 3) }};{{ m(1, c=9) }};{{ m(b=1, a=2) }};{{ m(1, 2, 3) }}
{% macro m(a) %}{{ a|default('none') }}{% endmacro %}{{ m() }}{{ m(none) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}
{% macro m(a=1, b) %}{% endmacro %}
{% macro m(a, a) %}{% endmacro %}
{% macro m(a, *b) %}{% endmacro %}
{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }}{{ m(1, 2, 3) }}{{ m(1, x=2) }}{{ m(1, 2, z=3, y=4) }}
{% macro m() %}{{ varargs|join(',') }}{{ kwargs.items()|list }}{% endmacro %}{{ m(*items, **d) }}
{% macro m(a, b='x') %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}{{ m.nope is defined }}
{% macro m() %}{{ caller is defined }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m() }}{{ m.name }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}
{% macro m() %}{{ x }}{% set x = 5 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}
{% macro outer() %}{% macro inner(a) %}i{{ a }}{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}{{ inner is defined }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}
{% macro m() %}{{ later }}{% endmacro %}{% set later = 'set' %}{{ m() }}
{{ m() }}{% macro m() %}x{% endmacro %}
{% macro m() %}  a  {% endmacro %}[{{ m() }}][{{ m()|trim }}]{{ m()|length }}
{% macro m(a, b) %}{{ a }}-{{ b|default('?') }}{% endmacro %}{{ m(*[1]) }}{{ m(*[1, 2]) }}{{ m(**{'a': 1, 'b': 2}) }}{{ m(1, **{'b': 5}) }}
{% macro box(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call box('a') %}in{{ x }}{% endcall %}
{% macro each(l) %}{% for i in l %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(v, n) each(items) %}{{ n }}:{{ v }} {% endcall %}
{% macro each(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(v, n=7) each(items) %}{{ n }}:{{ v }} {% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{% macro m() %}no caller{% endmacro %}{% call m() %}x{% endcall %}
{% macro m() %}{% if caller %}{{ caller() }}{% else %}none{% endif %}{% endmacro %}{% call m() %}x{% endcall %}
{% macro m(caller=none) %}{% if caller %}{{ caller() }}{% else %}none{% endif %}{% endmacro %}{{ m() }}{% call m() %}x{% endcall %}
{% macro m(caller) %}{{ caller() }}{% endmacro %}
{% macro m() %}{{ caller.name }}{{ caller.arguments }}{% endmacro %}{% call(a) m() %}{% endcall %}
{% call items %}{% endcall %}
{% macro a() %}a{{ caller() }}{% endmacro %}{% macro b() %}b{{ caller() }}{% endmacro %}{% call a() %}{% call b() %}x{% endcall %}{% endcall %}
{% macro a() %}{{ caller() }}{% endmacro %}{% macro b() %}{% call a() %}[{{ caller() }}]{% endcall %}{% endmacro %}{% call b() %}x{% endcall %}
{% for i in items %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}{{ m is defined }}
{% for i in items %}{% macro m() %}{{ loop.index }}{% endmacro %}{{ m() }}{% endfor %}
{% filter upper %}abc {{ x }}{% endfilter %}{% filter replace("a", "b") | upper %}aaa{% endfilter %}{% filter indent(2) %}a
b{% endfilter %}{% filter trim %}  {% set q = 1 %}{{ q }} {% endfilter %}{{ q is defined }}
{% filter nope %}{% endfilter %}
{% filter length %}abc{% endfilter %}{% filter default('x') %}{% endfilter %}{% filter list %}ab{% endfilter %}
{% include 'inc' %}{% include name %}{% include ['nope', 'inc'] %}{% include 'nope' ignore missing %}{% include ['a', 'b'] ignore missing %}{% include 'inc' without context %}
{% include 'inc' with context %}{% include 'inc' ignore missing with context %}{% include 'nope' ignore missing without context %}.{% include ('nope', 'sets') %}
{% include 'nope' %}
{% include ['nope', 'nada'] %}
{% include [] %}
{% include 5 %}
{% include 'bad' %}
{% include 'bad' ignore missing %}
{% include 'err' %}
{% include zz %}
{% set local = 'L' %}{% include 'inc' %}{% for local in items %}{% include 'inc' %}{% endfor %}{% with local = 'w' %}{% include 'inc' %}{% endwith %}
{% include 'sets' %}{{ q is defined }}{% include 'nested' %}
{% for i in items %}{{ loop.index }}{% include 'loopinc' %}{% endfor %}
{% macro m(local) %}{% include 'inc' %}{% endmacro %}{{ m('M') }}
{% import 'lib' as l %}{{ l.m(1) }}{{ l.m(1, b=3) }}{{ l.v }}{{ l._p is defined }}{{ l.nope is defined }}
{% import 'lib' as l %}{{ l }}
{% import 'lib' as l with context %}{{ l }}{{ l.v }}
{% import 'lib' as l %}{{ l.nope }}
{% import 'libx' as l %}{{ l.seen }}{{ l.m() }}
{% import 'libx' as l with context %}{{ l.seen }}{{ l.m() }}
{% import 'libx' as l without context %}{{ l.seen }}
{% from 'lib' import m %}{{ m(1) }}{% from 'lib' import m as mm, v %}{{ mm(2) }}{{ v }}{% from 'lib' import v as w with context %}{{ w }}{% from 'lib' import m, v, %}{{ v }}
{% from 'lib' import nope %}{{ nope is defined }}
{% from 'lib' import nope %}{{ nope }}
{% from 'lib' import _p %}
{% from 'lib' import %}
{% from 'nope' import x %}
{% import 'nope' as x %}
{% import 'bad' as x %}
{% import 'lib' %}
{% if x %}{% import 'lib' as l %}{% endif %}{{ l.v }}{% for i in items %}{% import 'lib' as k %}{{ k.v }}{% endfor %}{{ k is defined }}
{% import 'uses_mod' as u %}{{ u.w }}{{ u.l is defined }}
{% import 'ns' as a %}{% import 'ns' as b %}{{ a.inc() }}{{ b.inc() }}{{ a.inc() }}
{% from 'ns' import inc %}{{ inc() }}{{ inc() }}{{ inc.name }}
{% macro m() %}{% import 'lib' as l %}{{ l.v }}{% endmacro %}{{ m() }}{{ l is defined }}
{% extends 'base' %}
{% extends 'base' %}ignored{% block a %}A{{ x }}{% endblock %}ignored {{ zz }}
{% extends 'mid' %}{% block a %}top({{ super() }}){% endblock %}{% block b %}B{{ super() }}{{ super()|upper }}{% endblock %}
{% extends 'mid' %}{% block a %}{{ super.super() }}{% endblock %}
{% extends 'base' %}{% block a %}{{ super.super() }}{% endblock %}
{% extends 'base' %}{% block a %}{{ self.b() }}{% endblock %}
{% extends 'base' %}{% set x = 9 %}{% block a %}{{ x }}{% endblock %}
{% extends 'base' %}{% macro m() %}M{% endmacro %}{% block a %}{{ m() }}{% endblock %}
{% extends 'base' %}{% import 'lib' as l %}{% block a %}{{ l.v }}{% endblock %}
{% extends 'base' %}{% block c %}never{% endblock %}
{% extends 'base' %}{% block a %}{% block inner %}I{% endblock %}{% endblock %}
{% extends 'base' %}{% block a %}{% set q = 1 %}{{ q }}{% endblock %}{% block b %}{{ q is defined }}{% endblock %}
before{% extends 'base' %}{% block a %}A{% endblock %}after
{% if x %}{% extends 'base' %}{% endif %}{% block a %}A{% endblock %}tail
{% if y %}{% extends 'base' %}{% endif %}{% block a %}A{% endblock %}tail
{% extends name ~ 'x' %}
{% set p = 'base' %}{% extends p %}{% block b %}{{ p }}{% endblock %}
{% extends 'base' %}{% extends 'base' %}
{% for i in items %}{% extends 'base' %}{% endfor %}
{% extends 'nope' %}
{% extends zz %}
{% block a %}{{ super() }}{% endblock %}
{% block a %}1{% endblock %}{% block a %}2{% endblock %}
{% block a %}x{% endblock a %}{% block b %}y{% endblock nope %}
{% block a-b %}{% endblock %}
{% block a %}{{ x }}{% endblock %}{{ self.a() }}{{ self.nope is defined }}
{{ self.a() }}{% block a %}x{% endblock %}
{{ self.nope() }}
{% extends 'self' %}{% block t %}child{% endblock %}
{% extends 'req' %}
{% include 'req' %}
{% extends 'req' %}{% block r %}ok{% endblock %}
{% block r required %}text{% endblock %}
{% block r required %}{{ i }}{% endblock %}
{% block r required %} {# c #} {% endblock %}
{% extends 'loops' %}{% block l %}[{{ i }}]{% endblock %}
{% include 'loops' %}{% include 'unscoped' %}
{% extends 'unscoped' %}{% block l %}[{{ i|default('no') }}]{% endblock %}
{% for i in items %}{% block l scoped %}{{ i }}{{ loop.index }}{% endblock %}{% endfor %}
{% for i in items %}{% block l %}{{ i }}{% endblock %}{% endfor %}
{% extends 'base2' %}{% block t %}[{{ super() }}]{% endblock %}
{% extends 'base' %}{% block a %}{% include 'inc' %}{% endblock %}
{% extends 'base' %}{% block a %}{% for i in items %}{{ i }}{% endfor %}{% endblock %}{% block b %}{% filter upper %}{{ super() }}{% endfilter %}{% endblock %}
{% set q = 1 %}{% block a %}{{ q }}{% set q = 2 %}{{ q }}{% endblock %}{{ q }}
{% macro m() %}{% block a %}{% endblock %}{% endmacro %}{{ m() }}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}
{% with x = 5 %}{{ x }}{% endwith %}{{ x }}{% with a = x, x = 3 %}{{ a }}{{ x }}{% endwith %}{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}{% with x = 2, a = x %}{{ a }}{% endwith %}
{% with a %}{% endwith %}
{% autoescape false %}{{ '<' }}{% set q = 1 %}{% endautoescape %}{{ q is defined }}
{% do items.append(4) %}{{ items }}{% do 1 + 1 %}{% do none %}
{% do %}
{% print x, y, 'a' %}{% print items|join %}
{{ users|map(attribute='name')|join(',') }}{{ users|sum(attribute='age') }}{% for u in users|sort(attribute='age', reverse=true) %}{{ u.name }}{% endfor %}
{% set x = x %}{{ x }}{% set l = [] %}{% for i in items %}{% do l.append(i * 2) %}{% endfor %}{{ l }}
{% set a = [] %}{% for i in range(3) %}{% set a = a + [i] %}{% endfor %}{{ a }}
{% for i in range(3) %}{% if loop.first %}{% set f = 1 %}{% endif %}{{ f is defined }}{% endfor %}
{% for i in items %}{% set ns = namespace(v=i) %}{% with %}{% set ns.v = ns.v * 10 %}{% endwith %}{{ ns.v }}{% endfor %}
{% if true %}{% if false %}{% else %}{% for i in items %}{% if i == 3 %}x{% endif %}{% endfor %}{% endif %}{% endif %}
{% macro m(items) %}{% for items in items %}{{ items }}{% endfor %}{{ items }}{% endmacro %}{{ m([7, 8]) }}
{% set loop = 5 %}{{ loop }}{% for i in [1] %}{{ loop.index }}{% endfor %}{{ loop }}
{% for loop in items %}{{ loop }}{% endfor %}
{% macro range(n) %}r{{ n }}{% endmacro %}{{ range(5) }}
{% set range = 5 %}{{ range }}
{{ dict }}
{% for i in items %}{{ i }}{% endfor %}{% for i in items %}{{ loop.length }}{% do items.append(9) if items|length < 6 %}{% endfor %}{{ items }}
{% macro m(x) %}{% if x %}{{ m(x[1:]) }}{{ x[0] }}{% endif %}{% endmacro %}{{ m('abc') }}
{% macro m() %}{{ self }}{% endmacro %}{{ zz }}
{% macro a(x, y=b) %}{{ y }}{% endmacro %}{% set b = 3 %}{{ a(1) }}
{% set q = namespace(f=none) %}{% macro m() %}mm{% endmacro %}{% set q.f = m %}{{ q.f() }}
{{ [1, 2, 3]|map('nope')|list }}
{% if y %}{{ x|nope }}{% endif %}ok
{{ x|nope }}
{{ (x|nope) if y else 'ok' }}
{% if x is nope %}{% endif %}
{% if y %}{{ 1 is nope }}{% endif %}ok
{{ 'a' is nope }}
{% for i in items %}{% else %}{% break %}{% endfor %}
{% for j in [1, 2] %}{{ j }}{% for i in [] %}{% else %}{% break %}{% endfor %}z{% endfor %}
{% for j in [1, 2] %}{{ j }}{% for i in [] %}{% else %}{% continue %}{% endfor %}z{% endfor %}
{% for i in items %}{% set x %}{{ i }}{% if i == 2 %}{% continue %}{% endif %}{% endset %}{{ x }}{% endfor %}
{% for i in items %}{% filter upper %}a{{ i }}{% if i == 2 %}{% break %}{% endif %}{% endfilter %}{% endfor %}
{% for i in items %}{% with %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endwith %}{% endfor %}
{% for i in items %}{% call m() %}{% break %}{% endcall %}{% endfor %}
{% with a=1 %}{% macro m() %}{{ a }}{% endmacro %}{{ m() }}{% endwith %}
{% set a = 1 %}{% macro m() %}{% set a = 2 %}{% macro n() %}{{ a }}{% endmacro %}{{ n() }}{% endmacro %}{{ m() }}{{ a }}
{% for i in items %}{% if loop.index is even %}{% set k = i %}{% else %}{% set k = 0 %}{% endif %}{{ k }}{% endfor %}
""".strip("\n")


def cases():
    for template in CASES.split("\n{"):
        template = template if template.startswith("{") else "{" + template
        for lenient in (False, True) if "zz" in template or "previtem" in template or "nope" in template or "m()" in template else (False,):
            yield Case(template, DATA, TEMPLATES, lenient=lenient)
