"""Corners of the language, found by looking for them: each template is rendered strictly and leniently.  What differs from
Jinja2 on purpose (docs/templates.md) is not among them."""
from oracle import Case

DATA = {
    "i": 3,
    "j": -7,
    "f": 2.5,
    "s": "some Text",
    "l": [3, 1, 2],
    "ls": ["b", "a", "C"],
    "d": {"k": 1, "m": 2, "z": 0},
    "recs": [{"n": "one", "v": 1, "t": ["p"], "o": {"x": 2}}, {"n": "Two", "v": 2, "t": [], "o": {"x": 1}}, {"n": "three", "v": 1, "t": ["q"], "o": {"x": 0}}, {"n": "one", "v": 3, "t": [], "o": {}}],
    "tree": [{"v": 1, "c": [{"v": 2, "c": [{"v": 9, "c": []}]}, {"v": 5, "c": []}]}, {"v": 3, "c": []}],
    "nil": None,
    "yes": True,
    "big": 9223372036854775807,
    "h": 1e+308,
    "mt": "l1\n  l2\n\n\tl3\n",
    "empty": [],
}
FILES = {
    "g": "{% block a %}ga{% block n %}gn{% endblock %}{% endblock %}|{% block b %}gb{% endblock %}|{% block c scoped %}gc{{ x|d('-') }}{% endblock %}",
    "p": "{% extends 'g' %}{% block a %}pa[{{ super() }}]{% endblock %}{% block b %}pb{{ self.a() }}{% endblock %}",
    "c": "{% extends 'p' %}{% block a %}ca[{{ super() }}]{{ super.super() }}{% endblock %}",
    "loopb": '{% for x in l %}{% block it scoped %}{{ x }}{% endblock %}{% endfor %}',
    "loopn": '{% for x in l %}{% block it %}{{ x }}{% endblock %}{% endfor %}',
    "req": '{% block r required %}{% endblock %}{% block r2 required %} {# c #}\n{% endblock %}',
    "reqmid": "{% extends 'req' %}{% block r required %} {% endblock %}{% block r2 required %}\t{% endblock %}",
    "reqbad": '{% block r required %}x{% endblock %}',
    "reqbad2": '{% block r required %}{% if 1 %}{% endif %}{% endblock %}',
    "inc": "[{{ i }}{{ x|d('nox') }}{{ y|d('noy') }}]",
    "inc2": "{% set y = 9 %}{{ y }}{% include 'inc' %}",
    "lib": "{% macro m(a, b=i) %}{{ a }}{{ b }}{{ x|d('nox') }}{% endmacro %}{% set v = i|d('noi') %}{% set _p = 1 %}{% macro _q() %}{% endmacro %}text",
    "lib2": "{% from 'lib' import m %}{% import 'lib' as L %}{% macro k() %}{{ m(1, 2) }}{{ L.v }}{% endmacro %}",
    "lib3": '{% if true %}{% set z = 1 %}{% endif %}{% for q in [1] %}{% set zz = 2 %}{% endfor %}{% with %}{% set zzz = 3 %}{% endwith %}{% macro call() %}{{ caller() }}{% endmacro %}',
    "self": '{% block t %}T{{ i }}{% endblock %}-{{ self.t() }}-{{ self.t()|lower }}',
    "err": '{{ 1 / 0 }}',
    "synt": '{% if %}',
    "nest": "{% include 'err' %}",
    "ext": "{% extends 'synt' %}",
    "me": "{% include 'me' %}",
    "mee": "{% extends 'mee' %}",
    "circ1": "{% extends 'circ2' %}",
    "circ2": "{% extends 'circ1' %}",
    "out": "before{% extends 'g' %}after{% block b %}ob{% endblock %}{{ i }}",
    "cond": "{% if yes %}{% extends 'g' %}{% endif %}text{% block b %}cb{% endblock %}",
    "cond2": "{% if not yes %}{% extends 'g' %}{% endif %}text{% block b %}cb{% endblock %}",
    "setp": "{% extends 'base3' %}{% set title = 'T' %}{% macro mm() %}M{{ title }}{% endmacro %}{% block body %}{{ title }}{{ mm() }}{% endblock %}",
    "base3": "<{{ title|d('none') }}{% block body %}{% endblock %}>",
    "dyn": '{% extends name %}{% block a %}D{% endblock %}',
}
LOOPS = r'''
{% for n in tree recursive %}{{ loop.depth }}{{ loop.depth0 }}:{{ n.v }}({{ loop(n.c) }}){% endfor %}
{% for n in tree recursive %}{{ n.v }}{% if n.c %}[{{ loop(n.c) }}]{% endif %}{{ "," if not loop.last }}{% else %}none{% endfor %}
{% for n in tree recursive %}{% set x = loop(n.c) %}{{ n.v }}{{ x|upper }}{% endfor %}
{% for n in tree recursive %}{% for m in n.c %}{{ loop.index }}{% endfor %}{{ loop(n.c) }}{% endfor %}
{% for n in tree recursive %}{% set outer = loop %}{% for m in [1] %}{{ outer(n.c) }}{% endfor %}{{n.v}}{% endfor %}
{% for n in tree %}{{ loop(n.c) }}{% endfor %}
{% for n in tree recursive if n.v > 1 %}{{ n.v }}{{ loop(n.c) }}{% endfor %}
{% for n in tree recursive %}{{ loop.changed(n.v) }}{{ loop(n.c) }}{% endfor %}
{% for x in [1,1,2,2,1] %}{{ loop.changed(x) }}{% endfor %}
{% for x in [1,1,2,2,1] %}{% if loop.changed(x, 1) %}{{ x }}{% endif %}{% endfor %}
{% for x in [1,1,2] %}{{ loop.changed() }}{% endfor %}
{% for x in [1,1,2] %}{{ loop.changed(x, k=1) }}{% endfor %}
{% for x in 'abc' %}{{ loop.previtem|d('-') }}{{ loop.nextitem|d('+') }}{{ loop.revindex }}{{ loop.revindex0 }}{% endfor %}
{% for x in 'abc' %}{{ loop.previtem }}{% endfor %}
{% for x in l %}{{ loop.cycle() }}{% endfor %}
{% for x in l %}{{ loop.cycle(1, 2) }}{% endfor %}
{% for x in l %}{{ loop.cycle('odd') }}{{ loop.nope }}{% endfor %}
{% for x in l %}{{ loop }}{% endfor %}
{% for x in l %}{{ loop|length }}{% endfor %}
{% for x in l %}{{ loop.length }}{{ loop.first }}{{ loop.last }}{% endfor %}
{% for x in l|select %}{{ loop.length }}{{ loop.revindex }}{% endfor %}
{% for a, b in d.items() %}{{ a }}{{ b }}{% endfor %}
{% for a, (b, c) in [(1,(2,3)),(4,[5,6])] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [(1,2,3)] %}{{ a }}{% endfor %}
{% for a, b in [1] %}{{ a }}{% endfor %}
{% for (a, b) in ['xy'] %}{{ a }}{{ b }}{% endfor %}
{% for a, in [(1,), (2,)] %}{{ a }}{% endfor %}
{% for x in l if x > 1 %}{{ loop.index }}{{ loop.length }}{% else %}no{% endfor %}
{% for x in l if x > 10 %}{{ x }}{% else %}no{{ x|d('u') }}{% endfor %}
{% for x in l if loop.index > 1 %}{{ x }}{% endfor %}
{% for x in nil %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in missing %}{% endfor %}
{% for x in d %}{{ x }}{% endfor %}
{% for x in range(10) %}{% if x == 3 %}{% continue %}{% elif x == 6 %}{% break %}{% endif %}{{ x }}{% else %}E{% endfor %}
{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}
{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}
{% set ns = namespace(x=1, y=[]) %}{% for i in l %}{% set ns.x = ns.x + i %}{% do ns.y.append(i) %}{% endfor %}{{ ns.x }}{{ ns.y }}
{% set ns = namespace() %}{% set ns.a.b = 1 %}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}{{ ns.c }}
{% set ns = namespace([('a', 1)]) %}{{ ns.a }}{{ ns }}
{% set ns = d %}{% set ns.k = 1 %}
{% set ns.x = 1 %}
{% set ns = namespace(a=1) %}{% set ns.a, b = 2, 3 %}{{ ns.a }}{{ b }}
{% set ns = namespace(a=1) %}{% for ns.a in l %}{{ ns.a }}{% endfor %}
{% set ns = namespace(a=1) %}{% with %}{% set ns.a = 5 %}{% endwith %}{{ ns.a }}
{% set ns = namespace(a=1) %}{% set ns.a %}block{{ i }}{% endset %}{{ ns.a }}
{% set ns = namespace(a=1) %}{{ ns is mapping }}{{ ns is iterable }}{{ ns is defined }}{{ ns.x is defined }}
{% set a = b = 1 %}
{% set a, b = 1 %}
{% set a, b = [1, 2] %}{{ a }}{{ b }}
{% set (a, b) = (b, 1) %}
{% set a = 1, 2 %}{{ a }}
{% set a, = [1] %}{{ a }}
{% set a %}x{{ i }}y{% endset %}{{ a|upper }}{{ a|length }}
{% set a | upper | replace('X', 'z') %}x{{ i }}y{% endset %}{{ a }}
{% set a | join(',') %}abc{% endset %}{{ a }}
{% set a | list %}abc{% endset %}{{ a }}
{% set true = 1 %}
{% set loop = 1 %}
{% for loop in l %}{% endfor %}
{% set self = 1 %}{{ self }}
{% set caller = 2 %}{{ caller }}
{% set varargs = 2 %}{{ varargs }}
{% macro m(a, b=2, *c) %}{% endmacro %}
{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}
{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1, 5) }}{{ m(b=1, a=2) }}
{% macro m(a=1, b) %}{% endmacro %}
{% macro m(a, a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}
{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, x=2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}
{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}
{% macro m(a, b=3) %}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.defaults }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}
{% macro m(a, b=3) %}{{ kwargs }}{{ caller() }}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}
{% macro m() %}[{{ caller(1) }}]{% endmacro %}{% call(x) m() %}{{ x }}{% call(y) m() %}{{ x }}{{ y }}{% endcall %}{% endcall %}
{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}a{% call m() %}b{{ i }}{% endcall %}c{% endcall %}
{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b=5, c=6) m() %}{{ a }}{{ b }}{{ c }}{% endcall %}
{% macro m() %}{{ caller() }}{% endmacro %}{% call(a) m() %}{{ a|d('u') }}{% endcall %}
{% macro m() %}{{ caller(1) }}{% endmacro %}{% call m() %}x{% endcall %}
{% macro m() %}x{% endmacro %}{% call m() %}y{% endcall %}
{% macro m(caller=none) %}{{ caller is none }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}
{% macro m(caller) %}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller }}{% endmacro %}{% call m() %}{% endcall %}
{% macro a() %}{{ caller() }}{% endmacro %}{% macro b() %}<{% call a() %}{{ caller() }}{% endcall %}>{% endmacro %}{% call b() %}in{% endcall %}
{% macro a(x) %}{{ x }}{% if x %}{{ a(x - 1) }}{% endif %}{% endmacro %}{{ a(4) }}
{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}
{{ a() }}{% macro a() %}A{% endmacro %}
{% if true %}{% macro a() %}A{% endmacro %}{% endif %}{{ a() }}
{% for x in l %}{% macro a() %}{{ x }}{% endmacro %}{{ a() }}{% endfor %}
{% macro a() %}{% set q = 5 %}{{ q }}{% endmacro %}{{ a() }}{{ q }}
{% macro a() %}{{ i }}{% set i = 5 %}{{ i }}{% endmacro %}{{ a() }}
{% macro a(i) %}{{ i }}{% endmacro %}{{ a(i=i+1) }}
{% macro a() %}{% return %}{% endmacro %}
{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1.0 == true }}{{ 1 in [1] == true }}{{ 3 > 2 > 1 != 0 }}
{{ not 1 == 2 }}{{ not true and false }}{{ not (true and false) }}{{ 1 if 0 else 2 if 0 else 3 }}
{{ 1 and 0 or 2 }}{{ [] or {} or 'x' }}{{ nil and x }}{{ 0 or nil }}
{{ -2 ** 2 }}{{ 2 ** -1 }}{{ 2 ** 3 ** 2 }}{{ (-2) ** 2 }}{{ -2 ** -2 }}{{ 2 * -3 }}{{ - - 3 }}{{ +-+3 }}
{{ 7 // 2 }}{{ -7 // 2 }}{{ 7 // -2 }}{{ 7 % -3 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ 7 / 2 }}{{ 6 / 2 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1.0 / 0 }}
{{ 0 ** -1 }}
{{ 2 ** 62 }}{{ 2 ** 64.0 }}{{ 10 ** 18 }}
{{ 'a' * 3 }}{{ 3 * 'a' }}{{ 'a' * -1 }}{{ [1] * 2 }}{{ (1,) * 2 }}{{ [1] + [2] }}{{ (1,) + (2,) }}{{ 'a' + 'b' }}
{{ 'a' + 1 }}
{{ [1] + (2,) }}
{{ 1 ~ 2 }}{{ 'a' ~ nil ~ true ~ 1.0 ~ [1, 'x'] }}{{ 'a' ~ missing }}
{{ 1.0 }}{{ 1e5 }}{{ 1e16 }}{{ 1e15 }}{{ 1.5e-5 }}{{ 0.1 + 0.2 }}{{ 1e22 }}{{ 123456789012345678.0 }}{{ 5e-324 }}{{ 1.7976931348623157e308 }}{{ h * 10 }}{{ -h * 10 }}{{ h * 10 - h * 10 }}
{{ true + 1 }}{{ true == 1 }}{{ false ~ '' }}{{ -true }}{{ true * 3 }}{{ 5 % true }}
{{ 0x1F }}{{ 0b101 }}{{ 0o17 }}{{ 1_000 }}{{ 1_0.5_0 }}{{ 1e1_0 }}{{ 0x_ff }}{{ 00 }}
{{ 012 }}
{{ 1.e5 }}
{{ .5 }}
{{ 1..real }}
{{ "a\tb\x41\u00e9\n\\\'\"" }}{{ 'it''s' }}{{ 'a' "b" 'c' }}
{{ 'a\
b' }}
{{ "a
b" }}
{{ [1,2,3,][1] }}{{ {'a':1,}.a }}{{ (1,)[0] }}{{ () }}{{ [] }}{{ {} }}{{ {1: 2, 'x': [1]} }}
{{ {'a': 1}['b'] }}
{{ {'a': 1}.b }}
{{ {'a': 1}['b'].c }}
{{ d.items() }}{{ d.keys() }}{{ d.values() }}{{ d.get('q') }}{{ d.get('q', 5) }}
{{ d.k.nope }}
{{ l[0] }}{{ l[-1] }}{{ l.0 }}{{ l[5] }}
{{ l[1:] }}{{ l[::-1] }}{{ l[:2] }}{{ l[-2:] }}{{ l[::2] }}{{ s[2:5] }}{{ s[::-2] }}{{ (1,2,3)[1:] }}{{ l[5:] }}{{ l[True] }}
{{ l[::0] }}
{{ l['a'] }}
{{ l[1.0] }}
{{ l[0:'a'] }}
{{ d[1:2] }}
{{ range(10)[2:5] }}{{ range(10)[-1] }}{{ range(5)|list }}{{ range(5, 0, -2)|list }}{{ range(0) }}{{ range(3) == range(0, 3) }}{{ 2 in range(5) }}{{ 'a' in range(5) }}
{{ range(1, 2, 0) }}
{{ range() }}
{{ range('a') }}
{{ dict(a=1, b=2) }}{{ dict({'a': 1}, b=2) }}{{ dict([('a', 1)]) }}{{ dict() }}
{{ dict(1) }}
{{ cycler('a', 'b').next() }}{% set c = cycler(1, 2, 3) %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}
{{ cycler() }}
{% set j = joiner() %}{{ j() }}a{{ j() }}b{{ j() }}
{% set j = joiner('|') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}
{{ 'x' is defined }}{{ missing is defined }}{{ missing.x is defined }}
{{ d.q is defined }}{{ d.q.r is defined }}
{{ 5 is divisibleby 5 }}{{ 5 is divisibleby(3) }}{{ 5 is odd and 4 is even }}{{ not 5 is odd }}{{ 5 is not odd }}
{{ 5 is divisibleby 0 }}
{{ 'a' is odd }}
{{ 1 is sameas 1 }}{{ 1 is sameas true }}{{ nil is none }}{{ nil is sameas none }}{{ [] is sameas [] }}
{{ 1 is eq 1 }}{{ 1 is == 1 }}{{ 1 is gt 0 }}{{ 1 is in [1, 2] }}{{ 'a' is in 'abc' }}{{ 1 is lessthan 2 }}
{{ 'x' is string is defined }}
{{ 1 is nope }}
{{ 1|nope }}
{% if false %}{{ 1|nope }}{% endif %}x
{% if false %}{{ 1 is nope }}{% endif %}x
{{ 'upper' is filter }}{{ 'nope' is filter }}{{ 'odd' is test }}
{{ 1 is integer }}{{ 1.0 is float }}{{ true is boolean }}{{ true is integer }}{{ true is number }}{{ 'a' is sequence }}{{ d is sequence }}{{ d is mapping }}{{ 1 is iterable }}{{ range is callable }}{{ 5 is callable }}
{{ 'ABC' is upper }}{{ 'abc' is lower }}{{ 5 is lower }}{{ 'a1' is lower }}
'''
FILTERS = r'''
{{ l|sort }}{{ l|sort(reverse=true) }}{{ ls|sort }}{{ ls|sort(case_sensitive=true) }}{{ d|dictsort }}{{ d|dictsort(by='value') }}{{ d|dictsort(reverse=true) }}{{ d|dictsort(false, 'value', true) }}
{{ d|dictsort(by='nope') }}
{{ d|sort }}{{ s|sort|join }}{{ recs|sort(attribute='o.x')|map(attribute='n')|list }}
{{ recs[:3]|sort(attribute='o.x')|map(attribute='n')|list }}{{ recs|sort(attribute='n,v')|map(attribute='v')|list }}{{ recs|sort(attribute='v,n', reverse=true)|map(attribute='n')|list }}
{{ [1,'a']|sort }}
{{ [[2,1],[1,2]]|sort }}{{ [[2,1],[1,2]]|sort(attribute=1) }}{{ [[2,1],[1,2]]|sort(attribute='1') }}{{ [(1,'b'),(1,'A')]|sort(attribute='1') }}
{{ recs|groupby('v')|list }}
{% for g in recs|groupby('v') %}{{ g.grouper }}{{ g.list|length }}{{ g[0] }}{{ g }}{% endfor %}
{% for k, v in recs|groupby('n') %}{{ k }}:{{ v|map(attribute='v')|join(',') }};{% endfor %}
{% for k, v in recs|groupby('n', case_sensitive=true) %}{{ k }}:{{ v|length }};{% endfor %}
{% for k, v in recs|groupby('o.x') %}{{ k }}{% endfor %}
{% for k, v in recs|groupby('o.x', default=7) %}{{ k }}:{{ v|length }};{% endfor %}
{% for k, v in recs|groupby('nope', 'dd') %}{{ k }}:{{ v|length }};{% endfor %}
{% for k, v in ls|groupby('0') %}{{ k }}{{ v }}{% endfor %}{% for k, v in [(1,2),(1,3)]|groupby(0) %}{{ k }}{{ v }}{% endfor %}
{{ recs|map(attribute='n')|list }}{{ recs|map(attribute='o.x', default='-')|list }}{{ recs|map(attribute='o')|map(attribute='x', default=0)|list }}
{{ recs|map(attribute='o.x')|list }}
{{ recs|map('attr', 'n')|list }}
{{ l|map('nope')|list }}
{{ ls|map('upper')|join('-') }}{{ l|map('round', 1)|list }}{{ l|map('multiply')|list }}
{{ [[1,2],[3]]|map('sum')|list }}{{ [[1,2],[3]]|map('first')|list }}{{ [[1,2],[3]]|map('join', '+')|list }}
{{ l|select('odd')|list }}{{ l|select('gt', 1)|list }}{{ l|reject('odd')|list }}{{ [0,1,'',none]|select|list }}{{ [0,1]|reject|list }}{{ l|select('in', [1, 2])|list }}{{ l|select('>', 1)|list }}{{ l|select('divisibleby', 3)|list }}
{{ l|select('nope')|list }}
{{ recs|selectattr('t')|map(attribute='n')|list }}{{ recs|selectattr('v', 'eq', 1)|list|length }}{{ recs|rejectattr('v', '==', 1)|list|length }}{{ recs|selectattr('o.x', 'defined')|list|length }}{{ recs|selectattr('nope', 'undefined')|list|length }}{{ recs|selectattr('n', 'in', ['one'])|list|length }}
{{ recs|selectattr('nope')|list }}
{{ l|unique|list }}{{ ls|unique|list }}{{ ['a','A']|unique|list }}{{ ['a','A']|unique(true)|list }}{{ recs|unique(attribute='v')|map(attribute='n')|list }}{{ [1, 1.0, true]|unique|list }}
{{ [[1],[1]]|unique|list }}
{{ l|min }}{{ l|max }}{{ ls|min }}{{ ls|max(case_sensitive=true) }}{{ []|min }}{{ recs|max(attribute='v') }}{{ ['b','A']|min(true) }}{{ []|max|d('e') }}
{{ l|sum }}{{ l|sum(start=10) }}{{ recs|sum('v') }}{{ recs|sum(attribute='v', start=1.5) }}{{ []|sum }}{{ [0.1]*3|sum }}{{ [0.1,0.2,0.3]|sum }}{{ [[1],[2]]|sum(start=[]) }}
{{ ['a']|sum }}
{{ l|first }}{{ l|last }}{{ []|first }}{{ d|first }}{{ 'abc'|last }}{{ d|last }}{{ range(3)|last }}
{{ missing|first }}
{{ l|length }}{{ d|count }}{{ 'abc'|length }}{{ range(5)|length }}{{ missing|length }}
{{ 5|length }}
{{ 5|reverse }}
{{ l|join }}{{ l|join(', ') }}{{ recs|join(',', attribute='n') }}{{ recs|join('|', 'o.x') }}{{ l|join(1) }}{{ [none, true, 1.5]|join('-') }}{{ 'abc'|join('.') }}{{ l|join(d='+') }}
{{ [missing]|join }}
{{ l|batch(2)|list }}{{ l|batch(2, 'x')|list }}{{ range(7)|batch(3, 0)|list }}{{ l|batch(5)|list }}{{ l|batch(5, none)|list }}{{ []|batch(2, 1)|list }}{{ l|batch(linecount=2, fill_with='')|list }}
{{ l|batch(0)|list }}{{ l|batch(-1)|list }}
{{ range(7)|slice(3)|list }}{{ range(7)|slice(3, 'x')|list }}{{ range(2)|slice(3)|list }}{{ range(2)|slice(3, 0)|list }}{{ []|slice(2)|list }}{{ l|slice(1)|list }}{{ l|slice(slices=2, fill_with=none)|list }}{{ range(6)|slice(3, 'x')|list }}
{{ l|slice(0)|list }}
{{ l|slice(-1)|list }}
{{ 42.55|round }}{{ 42.55|round(1) }}{{ 42.55|round(1, 'floor') }}{{ 42.55|round(1, 'ceil') }}{{ 42|round }}{{ 1234|round(-2) }}{{ 1250|round(-2) }}{{ 1350|round(-2) }}{{ -2.5|round }}{{ 2.5|round }}{{ 3.5|round }}{{ 0.5|round(method='ceil') }}{{ -0.5|round }}{{ 1e20|round(2) }}{{ 2.675|round(2) }}{{ true|round }}
{{ 1|round(1, 'up') }}
{{ 'a'|round }}
{{ 42.55|round(-1, 'floor') }}{{ 42.55|round(-1, 'ceil') }}{{ 5|round(0, 'floor') }}{{ -1.5|round(0, 'floor') }}{{ -1.5|round(0, 'ceil') }}{{ 1.5|round(1.0) }}
{{ 1.5|round('1') }}
{{ (42.55|round)|int }}{{ 3.999|int }}{{ -3.999|int }}{{ '42'|int }}{{ ' 42 '|int }}{{ '4.9'|int }}{{ 'x'|int }}{{ 'x'|int(7) }}{{ '0x1f'|int(0, 16) }}{{ '1f'|int(base=16) }}{{ '0b11'|int(0, 2) }}{{ '0x1f'|int(base=0) }}{{ nil|int }}{{ nil|int(5) }}{{ []|int }}{{ true|int }}{{ '1e3'|int }}{{ '1_000'|int }}{{ ''|int }}
{{ missing|int }}
{{ '3.5'|float }}{{ 'x'|float }}{{ 'x'|float(1) }}{{ 3|float }}{{ 'inf'|float }}{{ '-Infinity'|float }}{{ 'nan'|float }}{{ '1e400'|float }}{{ nil|float }}{{ ' 1.5 '|float }}{{ '1_0.5'|float }}
{{ 5|abs }}{{ -5|abs }}{{ -5.5|abs }}{{ true|abs }}
{{ 'a'|abs }}
{{ 'hello world'|capitalize }}{{ 'HELLO wORLD'|title }}{{ "it's o'neil-smith (foo) [bar] {x} <y>"|title }}{{ "they're bill's friends"|title }}{{ 'a1b2'|title }}{{ 5|upper }}{{ nil|lower }}{{ [1,'A']|lower }}
{{ '  x  '|trim }}|{{ 'xxaxx'|trim('x') }}|{{ '\t\n x'|trim }}|{{ 5|trim }}|{{ 'abcba'|trim('ab') }}
{{ 'x'|center(5) }}|{{ 'xy'|center(5) }}|{{ 'x'|center(4) }}|{{ 'x'|center(0) }}|{{ 'x'|center }}|{{ 12|center(6) }}
{{ mt|indent }}|{{ mt|indent(2) }}|{{ mt|indent(2, true) }}|{{ mt|indent(2, false, true) }}|{{ mt|indent(2, true, true) }}|{{ mt|indent('>>') }}|{{ mt|indent(width=1, first=true, blank=true) }}|{{ ''|indent }}|{{ '\n'|indent(2, true, true) }}|{{ 'a\r\nb'|indent }}
{{ 5|indent }}
{{ 'a'|indent(-1) }}{{ 'a\nb'|indent(0) }}{{ 'a\nb'|indent(true) }}
{{ 'a\nb'|indent(2.5) }}
{{ 'foo bar baz qux'|truncate(9) }}|{{ 'foo bar baz qux'|truncate(9, true) }}|{{ 'foo bar baz qux'|truncate(11) }}|{{ 'foo bar baz qux'|truncate(11, false, '...', 0) }}|{{ 'foo bar baz qux'|truncate(3) }}|{{ 'foobarbazqux'|truncate(5) }}|{{ 'foo bar'|truncate(5, end='') }}|{{ 'foo bar baz'|truncate(5, leeway=0, end='!') }}|{{ 'foo bar baz'|truncate(length=4, killwords=true, end='') }}
{{ 'foo bar baz'|truncate(2) }}
{{ 'foo bar baz'|truncate(5, leeway=-1) }}
{{ 'foo bar'|truncate(5, leeway=none) }}
{{ 5|truncate(3) }}
{{ 'The quick brown fox-jumps over-the lazy dog'|wordwrap(10) }}|{{ 'The quick brown'|wordwrap(4, false) }}|{{ 'The quick brown'|wordwrap(4) }}|{{ 'a-b-c-d-e-f'|wordwrap(4) }}|{{ 'aaa-bbb-ccc'|wordwrap(4, break_on_hyphens=false) }}|{{ 'aaa bbb'|wordwrap(3, wrapstring='<br>') }}|{{ 'a\n\nb  c\nd'|wordwrap(3) }}|{{ '  a  b  '|wordwrap(3) }}|{{ ''|wordwrap }}|{{ 'a'|wordwrap(1) }}|{{ 'some--dashes---here -- x'|wordwrap(6) }}
{{ 'a b'|wordwrap(0) }}
{{ 'a b'|wordwrap(-1) }}
{{ 5|wordwrap }}
{{ 'hello world foo'|wordcount }}{{ ''|wordcount }}{{ "it's a-b c_d"|wordcount }}{{ 5|wordcount }}
{{ 'abc'|replace('b', 'x') }}{{ 'aaa'|replace('a', 'b', 2) }}{{ 'abc'|replace('', '-') }}{{ 123|replace(2, 'x') }}{{ 'aaa'|replace('a', 'b', count=1) }}{{ 'aaa'|replace('a', 'b', 0) }}{{ 'aaa'|replace('a', 'b', -1) }}{{ 'aaa'|replace('a', 'b', none) }}
{{ 'a'|replace('a') }}
{{ 5|string|length }}{{ nil|string }}{{ l|string }}{{ d|string }}{{ 1.0|string }}
{{ s|list }}{{ d|list }}{{ range(3)|list }}{{ d.items()|list }}{{ missing|list }}
{{ d|items|list }}{{ missing|items|list }}
{{ missing|default('x') }}{{ nil|default('x') }}{{ nil|default('x', true) }}{{ ''|d('x', boolean=true) }}{{ missing|default }}{{ 0|default(5, true) }}{{ d.q|d(1) }}{{ missing|d(default_value=3) }}
{{ missing.x|default(1) }}
{{ 1000|filesizeformat }}{{ 1|filesizeformat }}{{ 0|filesizeformat }}{{ 999|filesizeformat }}{{ 1024|filesizeformat(true) }}{{ 1500000|filesizeformat }}{{ 1e25|filesizeformat }}{{ '5000'|filesizeformat }}{{ 1e30|filesizeformat(binary=true) }}{{ -5|filesizeformat }}{{ 1.5|filesizeformat }}{{ 999999|filesizeformat }}
{{ 'x'|filesizeformat }}
{{ d|tojson }}{{ l|tojson }}{{ s|tojson }}{{ nil|tojson }}{{ true|tojson }}{{ 1.5|tojson }}{{ 1e16|tojson }}{{ "<a href='x'>&"|tojson }}{{ 'é\u2028\x01"\\/'|tojson }}{{ (1,2)|tojson }}{{ {1: 2, none: 3, true: 4, 1.5: 6}|tojson }}
{{ {'b': 1, 'a': [1, {'c': {}, 'd': []}]}|tojson(indent=2) }}{{ d|tojson(2) }}{{ []|tojson(2) }}{{ {}|tojson(1) }}{{ [[1]]|tojson(0) }}{{ [1,2]|tojson('--') }}{{ [1]|tojson(none) }}
{{ h * 10|tojson }}{{ (h * 10)|tojson }}{{ -(h*10)|tojson }}{{ (h*10-h*10)|tojson }}
{{ missing|tojson }}
{{ range(3)|tojson }}
{{ {'a': 1, 2: 3}|tojson }}
{{ {(1,2): 3}|tojson }}
{{ d|pprint }}{{ recs|pprint }}{{ s|pprint }}{{ 1|pprint }}{{ nil|pprint }}{{ (1,)|pprint }}{{ [s*30]|pprint }}{{ {'k'*50: 'v'*50, 'a': [1]*40}|pprint }}{{ (s*30)|pprint }}{{ [range(50)|list, {'a': 1}]|pprint }}{{ {2: 1, 'a': 2}|pprint }}
{{ s|attr('upper')() }}{{ d|attr('k') }}
{{ d|attr('items')()|list }}
{{ [3,1]|first is odd }}{{ l|first + 1 }}{{ -l|first }}{{ l|length ** 2 }}{{ 1 + 2|abs }}{{ 'a' ~ 'b'|upper }}{{ not l|length }}{{ 2 ** 3|abs }}{{ (1, 2)|first }}{{ 1, 2|first }}
{{ l|sort|reverse|first }}{{ l | join ( ',' ) | length }}{{ 'a,b'.split(',')|map('upper')|list }}
{{ l|join(*[', ']) }}{{ l|join(**{'d': '-'}) }}{{ 'x'|center(*[5]) }}
{{ l|join(', ', d='-') }}
{{ l|join(nope=1) }}
{{ l|sort(1, 2, 3, 4, 5) }}
{{ s.upper() }}{{ s.split() }}{{ 'a,b,,c'.split(',') }}{{ 'a b c'.split(' ', 1) }}{{ 'a b c'.rsplit(' ', 1) }}{{ 'a b'.split(none) }}{{ 'a-b'.partition('-') }}{{ 'x'.join(['a','b']) }}{{ ' x '.strip() }}{{ 'abc'.find('c') }}{{ 'abc'.index('b') }}{{ 'abcabc'.count('b') }}{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('c', 'd')) }}{{ 'Ab'.swapcase() }}{{ 'a\tb'.expandtabs(4) }}{{ '42'.zfill(5) }}{{ '-42'.zfill(5) }}{{ 'abc'.replace('b', '') }}{{ 'ab'.ljust(4, '.') }}{{ 'ab'.rjust(4) }}{{ 'a\nb'.splitlines() }}{{ 'abc'.removeprefix('a') }}
{{ 'abc'.index('x') }}
{{ 'abcabcab'.rfind('abcab') }}{{ 'aabaabaaab'.rfind('aaba') }}{{ 'aaaa'.rfind('aa') }}{{ 'abababab'.rsplit('abab') }}{{ 'xaxaax'.rpartition('ax') }}{{ 'aXaaXa'.rsplit('aX', 1) }}{{ ''.rfind('') }}{{ 'ab'.rfind('abc') }}{{ ('a' * 300000 ~ 'b').rfind('b' ~ 'a' * 100000) }}{{ ('ab' * 50).rfind('bab', 3, 90) }}{{ ('a b ' * 20000).rsplit()|length }}
{{ 'abc'.split('') }}
{{ 'x'.join([1]) }}
{{ 'abc'.nope() }}
{% set a = [1] %}{{ a.append(2) }}{{ a }}{% do a.extend([3, 4]) %}{% do a.insert(0, 9) %}{{ a.pop() }}{{ a.pop(0) }}{{ a.index(2) }}{{ a.count(2) }}{% do a.remove(2) %}{% do a.reverse() %}{{ a }}{% do a.sort() %}{{ a.copy() }}{% do a.clear() %}{{ a }}
{% set a = [3,1] %}{{ a.sort(reverse=true) }}{{ a }}{{ [1].index(5) }}
{% set a = {} %}{% do a.update({'x': 1}) %}{% do a.update(y=2) %}{{ a }}{{ a.pop('x') }}{{ a.setdefault('z', 5) }}{{ a.popitem() }}{{ a }}{{ a.copy() }}{% do a.clear() %}{{ a }}
{{ {}.pop('x') }}
{{ (1,2).count(1) }}{{ (1,2).index(2) }}
{{ range(3).start }}
{{ [1,2] == [1,2] }}{{ (1,2) == [1,2] }}{{ {'a':1} == {'a':1.0} }}{{ [1,2] < [1,3] }}{{ 'a' < 'b' }}{{ (1,) < (1,2) }}{{ 1 == '1' }}{{ none == none }}{{ [] < [1] }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ {} < {} }}
{{ missing == missing }}{{ missing == none }}{{ missing != 1 }}
{{ missing }}
{{ missing + 1 }}
{{ not missing }}{{ missing and 1 }}
{{ 'yes' if missing else 'no' }}
{{ 'yes' if false }}{{ ('yes' if false) is defined }}{{ 'a' ~ ('b' if false) }}
{{ missing() }}
{{ missing.foo }}
{{ missing[0] }}
{{ 'a' in missing }}
{{ missing in ['a'] }}
{{ 1 in 5 }}
{{ 1 in 'abc' }}
{{ 'k' in d }}{{ 1 in l }}{{ 'b' not in 'abc' }}{{ '' in 'abc' }}{{ none in [none] }}{{ 1.0 in [1] }}{{ [1] in [[1]] }}
{{ [1] in d }}
'''
TEMPLATES = r'''
{% extends 'c' %}{% block a %}4[{{ super() }}]{% endblock %}
{% extends 'c' %}{% block b %}{{ super() }}{% endblock %}
{% extends 'p' %}{% block n %}N{{ super() }}{% endblock %}
{% extends 'p' %}{% block a %}1[{{ super() }}]{% endblock %}{% block b %}2[{{ super() }}]{% endblock %}{% block c %}3[{{ super() }}]{{ self.n() }}{% endblock %}
{% extends 'p' %}{% block zzz %}x{{ super() }}{% endblock %}
{% extends 'g' %}{% block b %}{{ super()|upper }}{% set q = super() %}{{ q }}{% endblock %}
{% extends 'g' %}{% block b %}{% macro m() %}{{ super() }}{% endmacro %}{{ m() }}{% endblock %}
{% extends 'g' %}{% block b %}{% for q in l %}{{ super() }}{% endfor %}{% endblock %}
{% extends 'g' %}{% block b %}{% block b2 %}{{ super() }}{% endblock %}{% endblock %}
{% block a %}{{ super() }}{% endblock %}
{% extends 'loopb' %}{% block it %}<{{ x }}>{% endblock %}
{% extends 'loopn' %}{% block it %}<{{ x }}>{% endblock %}
{% extends 'loopb' %}{% block it %}{{ super() }}{{ loop.index }}{% endblock %}
{% extends 'loopb' %}{% block it scoped %}{{ super() }}{{ x }}{% endblock %}
{% include 'loopb' %}{% include 'loopn' %}
{% extends 'req' %}
{% extends 'req' %}{% block r %}1{% endblock %}{% block r2 %}2{% endblock %}
{% extends 'req' %}{% block r %}1{% endblock %}
{% extends 'reqbad' %}{% block r %}1{% endblock %}
{% extends 'reqbad2' %}{% block r %}1{% endblock %}
{% include 'req' %}
{% extends 'req' %}{% block r %}<{{ super() }}>{% endblock %}{% block r2 %}<{{ super() }}>{{ self.r() }}{% endblock %}
{% extends 'reqmid' %}{% block r %}1{% endblock %}{% block r2 %}{{ super() }}2{% endblock %}
{% include 'reqmid' %}
{{ self.q() }}{% if 0 %}{% block q required %} {% endblock %}{% endif %}
{% block q required %} {% endblock %}
{% block x required scoped %}{% endblock %}
{% block x scoped required %}{% endblock %}
{% block x nope %}{% endblock %}
{% block x %}{% endblock x %}{% block y %}{% endblock z %}
{% block x %}{% endblock %}{% block x %}{% endblock %}
{% block a-b %}{% endblock %}
{% block %}{% endblock %}
{% if 0 %}{% block x %}X{% endblock %}{% endif %}{{ self.x() }}
{{ self.nope() }}
{{ self }}{{ self.nope is defined }}
{% include 'self' %}
{% set x = 1 %}{% include 'inc' %}{% with y = 2 %}{% include 'inc' %}{% endwith %}{% for x in l %}{% include 'inc' %}{% endfor %}
{% set x = 1 %}{% include 'inc' without context %}
{% set x = 1 %}{% include 'inc' with context %}{% include 'inc2' %}{{ y|d('noy') }}
{% include 'nope' %}
{% include 'nope' ignore missing %}x{% include ['nope', 'nope2'] ignore missing %}y{% include 'nope' ignore missing with context %}{% include 'nope' ignore missing without context %}
{% include ['nope', 'inc'] %}
{% include ['nope', 'nope2'] %}
{% include [] %}
{% include [] ignore missing %}x
{% include missing %}
{% include missing ignore missing %}x
{% include 5 %}
{% include nil ignore missing %}
{% include 'i' ~ 'nc' %}{% include ('inc', 'inc2') %}
{% include 'err' %}
{% include 'err' ignore missing %}
{% include 'synt' ignore missing %}
{% include 'nest' %}
{% include 'ext' %}
{% include 'inc' ignore %}
{% include 'inc' nope %}
{% include 'me' %}
{% include 'mee' %}
{% include 'circ1' %}
{% include 'out' %}
{% include 'cond' %}|{% include 'cond2' %}
{% include 'setp' %}
{% set name = 'g' %}{% include 'dyn' %}
{% extends 'g' %}{% extends 'g' %}
{% extends %}
{% extends 'nope' %}
{% extends missing %}
{% extends nil %}
{% extends 'g' if yes else 'p' %}{% block b %}k{% endblock %}
{% set x = 'X' %}{% import 'lib' as L %}{{ L.m(1) }}{{ L.v }}
{% set x = 'X' %}{% import 'lib' as L with context %}{{ L.m(1) }}{{ L.v }}
{% set x = 'X' %}{% import 'lib' as L without context %}{{ L.m(1, 2) }}{{ L.v }}
{% import 'lib' as L %}{{ L.v }}{{ L.nope }}
{% import 'lib' as L %}{{ L._p }}{{ L }}
{% import 'lib' as L %}{{ L.nope is defined }}{{ L.v is defined }}{{ L['v'] }}{{ L._p is defined }}
{% from 'lib' import m, v as w %}{{ m(1, 2) }}{{ w }}
{% from 'lib' import m, v as w with context %}{{ m(1) }}{{ w }}
{% from 'lib' import nope %}{{ nope is defined }}
{% from 'lib' import nope %}{{ nope }}
{% from 'lib' import _p %}{{ _p }}
{% from 'lib' import m as _m %}
{% from 'lib' import m, %}{{ m(1,2) }}
{% from 'lib' import %}
{% from 'lib' import m v %}
{% from 'lib' import m as n, v with context %}{{ n(1,2) }}{{ v }}
{% from 'nope' import m %}
{% import 'nope' as m %}
{% import 'lib' %}
{% import 'lib' as 'x' %}
{% import 'lib' as L.x %}
{% import 'lib2' as L %}{{ L.k() }}
{% from 'lib2' import k %}{{ k() }}
{% import 'lib3' as L %}{{ L.z }}{{ L.zz is defined }}{{ L.zzz is defined }}{% call L.call() %}c{{ i }}{% endcall %}
{% for q in [1] %}{% import 'lib' as L %}{{ L.v }}{% endfor %}{{ L is defined }}
{% with %}{% from 'lib' import v %}{{ v }}{% endwith %}{{ v is defined }}
{% macro z() %}{% import 'lib' as L %}{{ L.m(1,2) }}{% endmacro %}{{ z() }}
{% block q %}{% import 'lib' as L %}{{ L.m(1,2) }}{% endblock %}
{% import 'lib' as L %}{% block q %}{{ L is defined }}{{ L.v }}{% endblock %}
{% set t = 1 %}{% block q %}{{ t }}{% set t = 2 %}{{ t }}{% endblock %}{{ t }}
{% for t in l %}{% block q %}{{ t|d('u') }}{% endblock %}{% endfor %}
{% for t in l %}{% block q scoped %}{{ t }}{{ loop.index }}{% endblock %}{% endfor %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a|d('u') }}
{% with a = 1, b = a %}{{ b|d('u') }}{% endwith %}
{% set a = 0 %}{% with a = 1, b = a %}{{ b }}{% set a = 7 %}{% endwith %}{{ a }}
{% with a, b = 1, 2 %}{{ a }}{% endwith %}
{% with (a, b) = (1, 2) %}{{ a }}{{ b }}{% endwith %}
{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}
{% with a %}{% endwith %}
{% with a = 1 b = 2 %}{% endwith %}
{% filter upper %}a{{ s }}{% endfilter %}{% filter replace('a', 'b')|upper %}banana{% endfilter %}{% filter upper|lower|title %}x y{% endfilter %}
{% filter nope %}{% endfilter %}
{% filter %}{% endfilter %}
{% filter upper() %}a{% endfilter %}{% filter indent(width=2, first=true) %}a
b{% endfilter %}
{% filter join(',') %}abc{% endfilter %}{% filter length %}abc{% endfilter %}{% filter list %}abc{% endfilter %}
{% filter upper %}{% set inner = 1 %}{% endfilter %}{{ inner is defined }}
{% do l.append(9) %}{{ l }}{% do 5 %}{% do %}
{% do l.append(9) %}{{ l }}{% do missing %}
{% break %}
{% if 1 %}{% continue %}{% endif %}
{% for x in l %}{% macro q() %}{% break %}{% endmacro %}{% endfor %}
{% for x in l %}{% block q %}{% break %}{% endblock %}{% endfor %}
{% for x in l %}{% filter upper %}{% break %}{% endfilter %}a{% endfor %}
{% for x in l %}{% set q %}a{% break %}{% endset %}{{ q }}{% endfor %}
{% for x in l %}{% with %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endwith %}{% endfor %}
{% for x in l %}{% call(y) m() %}{% break %}{% endcall %}{% endfor %}
{% if 1 %}a{% elif missing %}b{% endif %}{% if 0 %}{% elif 1 %}c{% else %}d{% endif %}{% if [] %}{% else %}e{% endif %}
{% if missing %}a{% endif %}
{% if 1 %}
{% endif %}
{% if 1 %}{% else %}{% else %}{% endif %}
{% if 1 %}{% else %}{% elif 1 %}{% endif %}
{% for %}{% endfor %}
{% for x %}{% endfor %}
{% for x in %}{% endfor %}
{% for x in l %}{% endfo %}
{% for x.y in l %}{% endfor %}
{% for x in l recursive if 1 %}{% endfor %}
{% nope %}
{% %}
{{ }}
{{ 1 2 }}
{{ (1 }}
{{ 1) }}
{{ [1 }}
{{ {1} }}
{{ {1: } }}
{{ a b }}
{{ 'a }}
{{ 1 +
{{ a. }}
{{ a | }}
{{ a is }}
{{ a[ }}
{{ a[] }}
{{ f(,) }}
{{ f(a=1, 2) }}
{{ f(*a, *b) }}
{{ f(**a, b=1) }}
{{ dict(**{'a': 1}, b=1) }}
{{ dict(b=1, **{'b': 1}) }}
{{ 'a' if 1 }}{{ 'a' if 1 else }}
{{ not }}
{{ 1 not 2 }}
{{ 1 is not }}
{{ 1 in }}
{{ * }}
{{ a ? b : c }}
{{ a && b }}
{{ !a }}
{{ a; b }}
{{ a = 1 }}
{{ @ }}
{{ $x }}
{{ `a` }}
{{ 1if 1else 2 }}{{ 1and 2 }}
{{ true }}{{ True }}{{ TRUE }}
{{ none }}{{ None }}{{ false }}{{ False }}
{{ null }}
{{ true.x }}
{% print 1 %}{% print 1, 2 %}{% print %}
{% raw %}{{ x }}{% endraw %}{%raw%}a{%endraw%}{%- raw -%} b {%- endraw -%} c
{% raw %}{% raw %}{% endraw %}{% endraw %}
{# a {# b #} c #}
{# a
b #}x{#- y -#} z
{{ '{{ x }}' }}{{ "%}" }}{% if '%}' %}y{% endif %}{{ {'a': {'b': 1}}.a.b}}{{ {'a': {}}}}
{{- 1 -}} a {{- 2 -}}
  {%- if 1 -%}  x  {%- endif -%}  y
a {%+ if 1 +%} b {%+ endif +%} c
{{+ 1 }}{{ 1 +}}
{% autoescape false %}<{{ '<' }}{% endautoescape %}
{% trans %}a{% endtrans %}
{% endif %}
{% else %}
{% set x = 1 %}{{ x }}{% endset %}
{% set x %}
{% set %}
{% set x y = 1 %}
{% set 1 = 2 %}
{% set x.y %}{% endset %}
{% set x, y %}ab{% endset %}
{% set d.k = 5 %}
{% set l[0] = 5 %}
{% macro %}{% endmacro %}
{% macro m %}{% endmacro %}
{% macro m( %}{% endmacro %}
{% macro m(1) %}{% endmacro %}
{% macro m(a,) %}{{ a }}{% endmacro %}{{ m(1) }}
{% macro m() %}a{% endmacro m %}
{% call m() %}
{% call 5 %}{% endcall %}
{% call missing() %}{% endcall %}
{% call s.upper() %}{% endcall %}
{% call(a, b) %}{% endcall %}
'''
SCOPES = r'''
{% for loop in l %}{% endfor %}
{% for x in l %}{% set loop = 1 %}{{ x }}{% endfor %}
{% for x in l %}{% set loop = 1 %}{{ loop }}{% endfor %}
{% for a, loop in d.items() %}{{ a }}{% endfor %}
{% for x in l %}{% for loop in l %}{% endfor %}{% endfor %}
{% for x in l %}{% with loop = 1 %}{% endwith %}{% endfor %}
{% for x in l %}{% macro m(loop) %}{% endmacro %}{% endfor %}
{% set loop = 1 %}{% for x in l %}{{ loop.index }}{% endfor %}{{ loop }}
{% with loop = 5 %}{{ loop }}{% endwith %}
{% for x in l %}{% import 'lib' as loop %}{% endfor %}
{% for x in l %}{% from 'lib' import v as loop %}{% endfor %}
{% for x in l %}{% set loop %}a{% endset %}{% endfor %}
{% for x in l %}{% else %}{{ loop }}{% endfor %}
{% for x in [] %}{% else %}{{ loop is defined }}{% endfor %}
{% for y in l %}{% for x in [] %}{% else %}{{ loop.index }}{% endfor %}{% endfor %}
{% for y in l %}{% for x in range(loop.index) %}{{ loop.index }}{% endfor %}{% endfor %}
{% for y in l %}{% for x in l if loop.index == x %}{{ x }}{% endfor %}{% endfor %}
{% for y in l recursive %}{{ loop }}{{ loop([]) }}{% endfor %}
{% macro m() %}{% set caller = 1 %}{{ caller }}{% endmacro %}{% call m() %}x{% endcall %}
{% macro m() %}{% set caller = 1 %}{{ caller }}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller }}{% set caller = 1 %}{{ caller }}{% endmacro %}{% call m() %}x{% endcall %}
{% macro m() %}{% set kwargs = 1 %}{{ kwargs }}{% endmacro %}{{ m(a=1) }}
{% macro m() %}{% for varargs in l %}{{ varargs }}{% endfor %}{% endmacro %}{{ m(1) }}
{% macro m() %}{% for varargs in varargs %}{{ varargs }}{% endfor %}{% endmacro %}{{ m(1) }}
{% macro m(varargs) %}{{ varargs }}{% endmacro %}{{ m(1) }}
{% macro m(varargs) %}{{ varargs }}{% endmacro %}{{ m(1, 2) }}
{% macro m(kwargs=3) %}{{ kwargs }}{% endmacro %}{{ m() }}{{ m(kwargs=1) }}{{ m(x=1) }}
{% macro m(caller=5) %}{{ caller }}{% endmacro %}{{ m() }}{{ m(7) }}{{ m(caller=1) }}{% call m() %}{% endcall %}
{% macro m(a, caller=5) %}{{ a }}{{ caller }}{% endmacro %}{{ m(1, 2) }}{{ m(1, 2, 3) }}
{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m(1) }}
{% macro m(caller) %}{{ x }}{% endmacro %}{% call m() %}{% endcall %}
{% macro m(a=caller) %}{{ a }}{% endmacro %}{% call m() %}{% endcall %}
{% macro m(a=varargs) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m() %}{% macro n() %}{{ caller() }}{% endmacro %}{{ n() }}{% endmacro %}{% call m() %}C{% endcall %}
{% macro m() %}{% call n() %}{{ caller() }}{% endcall %}{% endmacro %}{% macro n() %}<{{ caller() }}>{% endmacro %}{% call m() %}C{% endcall %}
{% macro m() %}{% for q in [1, 2] %}{{ caller(q) }}{% endfor %}{% endmacro %}{% call(q) m() %}{{ q }}{% for z in [1] %}{{ loop.index }}{% endfor %}{% endcall %}
{% for x in l %}{% call m() %}{% endcall %}{% endfor %}{% macro m() %}{% endmacro %}
{% macro m() %}{{ caller() }}{% endmacro %}{% for x in l %}{% call m() %}{{ x }}{{ loop.index }}{% endcall %}{% endfor %}
{% macro m() %}{{ loop }}{% endmacro %}{% for x in l %}{{ m() }}{% endfor %}
{% for x in l %}{% macro m() %}{{ loop.index }}{% endmacro %}{{ m() }}{% endfor %}
{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}
{% set x = 1 %}{% block b %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endblock %}
{% if i %}{% set q = 1 %}{% endif %}{{ q }}{% if nil %}{% set r = 1 %}{% endif %}{{ r is defined }}
{% for x in l %}{% if loop.first %}{% set q = x %}{% endif %}{{ q|d('-') }}{% endfor %}
{% set q = 0 %}{% for x in l %}{{ q }}{% set q = x %}{{ q }}{% endfor %}{{ q }}
{% set q = 0 %}{% if true %}{% set q = 1 %}{% endif %}{{ q }}
{% set q = 0 %}{% filter upper %}{% set q = 1 %}{{ q }}{% endfilter %}{{ q }}
{% set q = 0 %}{% set w %}{% set q = 1 %}{{ q }}{% endset %}{{ q }}{{ w }}
{% set q = 0 %}{% call m() %}{% set q = 1 %}{% endcall %}{{ q }}{% macro m() %}{% endmacro %}
{% set i = i + 1 %}{{ i }}
{% for i in [i] %}{{ i }}{% endfor %}{{ i }}
{% for i in l if i > i %}{{ i }}{% endfor %}
{% with i = i + 1 %}{{ i }}{% endwith %}
{% set a = [] %}{% do a.append(a) %}{{ a }}
{% set a = {} %}{% do a.update(a=a) %}{{ a }}
{{ [1, 2, 3] | map('string') | join(', ') | upper | list | length }}
{{ l is sequence and l is iterable and l is not string and l is not mapping }}
{{ l is in([l]) }}{{ 3 is not in l }}{{ not 3 is in l }}
{{ 5 is gt 3 and 5 is lt 9 }}{{ 5 is gt(3) }}{{ 5 is ge 5 }}{{ 'a' is ne 'b' }}
{{ (5) is odd }}{{ l.0 is odd }}{{ -3 is odd }}{{ 3 + 4 is odd }}{{ 2 * 3 is even }}
{{ l[0] is odd }}{{ i is odd or i is even }}{{ i is divisibleby 3 and true }}
{{ x is defined and x.y }}{{ x.y.z is defined }}
{{ 10 is divisibleby 3 is false }}
{{ 'a' is eq 'a' ~ 'b' }}{{ 1 is eq 1 + 1 }}
{{ 5 is test }}{{ 5 is filter }}
{{ d is mapping }}{{ d.items() is mapping }}{{ d.items() is sequence }}{{ d.items() is iterable }}{{ range(3) is sequence }}{{ (l|map('string')) is iterable }}{{ (l|map('string')) is sequence }}
{{ d.keys()|first }}{{ d.values()|sum }}{{ d.items()|first }}{{ d.keys()|length }}{{ 'k' in d.keys() }}{{ 1 in d.values() }}{{ ('k', 1) in d.items() }}
{{ d.keys()[0] }}
{{ d|list|first }}{{ d|join(',') }}{{ d|map('upper')|join }}{{ d|select('eq', 'k')|list }}{{ d|max }}{{ d|reverse|first }}{{ d|batch(2)|list }}
{{ d == {'z': 0, 'm': 2, 'k': 1} }}{{ d.keys() == d.keys() }}{{ {'a': 1} != {'a': 2} }}
{{ {1: 'a', 1.0: 'b', true: 'c'} }}{{ {'a': 1, 'a': 2} }}{{ {(1, 2): 3}[(1, 2)] }}{{ {none: 1}[none] }}
{{ {[1]: 2} }}
{{ {d: 2} }}
{{ 7.0 // 2 }}{{ 7.0 % 2 }}{{ -7.5 // 2 }}{{ 1e300 * 1e10 }}{{ 0.0 * -1 }}{{ -0.0 }}{{ 1 - 1.0 }}{{ 3 ** 0.5 }}{{ 4 ** 0.5 }}{{ 2.0 ** 3 }}{{ 5 // 0.3 }}{{ 5 % 0.3 }}{{ -5 % 0.3 }}
{{ 10.0 ** 400 }}
{{ 1e308 * 10 // 1 }}
{{ 1.5 // 0 }}
{{ 1.5 % 0 }}
{{ 0 ** 0 }}{{ 0.0 ** 0 }}{{ 1 ** 1000000 }}{{ (-1) ** 1000001 }}{{ 2 ** 0.0 }}{{ 10 ** -2 }}
{{ 1_000.5 }}{{ 1e-7 }}{{ 100000000000000000000.0 }}{{ 1.0e-10 }}{{ 12345678901234567 / 1 }}{{ 1/3 }}{{ 2/3 }}{{ 1e21 }}{{ 1.1 * 3 }}
{{ 9007199254740993 == 9007199254740992.0 }}{{ 9007199254740993 > 9007199254740992.0 }}{{ 9223372036854775807 == 9223372036854775808.0 }}{{ 9223372036854775807 < 9223372036854775808.0 }}
{{ 9007199254740993 / 1 }}{{ big / 3 }}{{ big // 3 }}{{ big % 10 }}{{ -big // 2 }}{{ big * 1.0 }}{{ big - 1 }}
{{ 'abc' < 'abd' < 'abe' }}{{ 'B' < 'a' }}{{ 'é' > 'z' }}{{ '😀' > '\uffff' }}{{ [1, 'a'] == [1, 'a'] }}{{ (1, 2) < (1, 3) }}
{{ true and 'x' or 'y' }}{{ '' or 0 or none or [] }}{{ 1 and 2 and 3 }}{{ not '' }}{{ not 0.0 }}{{ not ' ' }}{{ not {} }}{{ not range(0) }}
{{ 'a' if true else 'b' if true else 'c' }}{{ ('a' if false else 'b') ~ 'c' }}{{ 'a' if x is defined else 'nox' }}{{ 1 if l else 2 }}
{{ l|length > 2 }}{{ l|length == 3 and s|length == 9 }}{{ 'a' ~ 1 + 2 }}{{ 1 + 2 ~ 3 }}{{ 2 * 3 ~ 4 * 5 }}{{ -1 ~ 2 }}{{ 'x' ~ 'y' * 2 }}
{{ s|upper ~ '!' }}{{ s|upper|lower == s|lower }}{{ (s ~ '!')|upper }}{{ s.upper()|lower }}{{ s|replace('e', 'E')|replace('x', 'X') }}
{{ s[0]|upper }}{{ s[0].upper() }}{{ s[:4]|upper ~ s[4:] }}{{ s[1:3][0] }}{{ s[-1] }}{{ s[100:] }}{{ s[i] }}{{ s[i:i+2] }}
{{ s[100] }}
{{ l[1.5] }}
{{ (1, 2, 3)[1:] }}{{ [1, 2, 3][::-2] }}{{ 'abc'[::-1] }}{{ l[none:none:none] }}{{ l[-100:100] }}{{ l[:-1] }}{{ l[:0] }}{{ range(10)[::3]|list }}{{ range(10)[8:2:-2]|list }}
{{ recs[0].o.x }}{{ recs[0]['o']['x'] }}{{ recs.0.n }}{{ recs[0].t.0 }}{{ recs|length }}{{ recs[-1].n }}
{{ recs.0.o.nope.deep }}
{{ recs[99].n }}
{{ nil.x }}
{{ nil[0] }}
{{ nil() }}
{{ 5() }}
{{ 'a'() }}
{{ s.upper(1) }}
{{ s.split(',', 1, 2) }}
{{ s.split(sep=',') }}{{ 'a b'.split(maxsplit=1) }}
{{ range(100000000000)|length }}
{% set j = joiner() %}{% for x in l %}{% if x > 1 %}{{ j() }}{{ x }}{% endif %}{% endfor %}
{{ dict(a=1).a }}{{ dict([['x', 1]]) }}{{ dict(d, k=9) }}{{ dict(d).update(a=1) }}{{ dict(a=dict(b=2)).a.b }}
{{ namespace(a=1) }}
{% set ns = namespace(a=1) %}{{ ns.a }}{{ ns|attr('a') }}{{ ns == ns }}{% set ns.b = ns.a + 1 %}{{ ns.b }}
{{ [[1, 2], [3, 4]]|map('last')|sum }}{{ [[1, 2], [3, 4]]|sum(start=[])|list }}{{ [{'a': [1]}, {'a': [2]}]|map(attribute='a')|sum(start=[]) }}{{ [[3, 'c'], [1, 'a']]|sort|map(attribute=1)|join }}{{ [('b', 1), ('a', 2)]|dictsort }}
{{ 'a,b;c'.replace(';', ',').split(',')|sort(reverse=true)|join('') }}{{ 'Hello'|list|sort|join }}{{ 'Hello'|list|unique|join }}{{ 'hello'|map('upper')|join }}
'''

def cases():
    for template in (LOOPS + FILTERS + TEMPLATES + SCOPES).strip().split("\n"):
        for lenient in (False, True):
            yield Case(template, DATA, FILES, lenient=lenient)
