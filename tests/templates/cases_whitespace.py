"""Text: whitespace control, trimming, newlines, delimiters, comments, raw, line statements and line comments."""
import itertools
import random

from oracle import Case

DATA = {"x": 1, "items": [1, 2, 3], "s": "text"}

TEXTS = [
    "a\n{% if x %}\nb\n{% endif %}\nc\n", "  {% if x %}  \n  b\n  {% endif %}\n", "a {%- if x -%} b {%- endif -%} c",
    "a\n\n  {%- if x %}\n  b\n  {%- endif %}\n  c", "{%+ if x +%}\n b {%+ endif +%}\n", "   {%+ if x %} a {% endif %}\n",
    "a  {{- x -}}  b", "a {{ x }}\n\n", "a {{+ x }} b", "  {{ x }}\n", "\n\n{{ x }}\n\n", "{# c #}\na\n{# d #}\n", "a {#- c -#} b",
    "  {# c #}\n  {#+ d +#}\n  x", "{% raw %}{{ x }}{% if %}{% endraw %}", " {%- raw -%} {{ x }} {%- endraw -%} y", "{% raw %}\n  {{ x }}\n{% endraw %}\nz",
    "{%+ raw %} a {%+ endraw +%}\n", "  {% raw %}  a\n  {% endraw %}\nb", "{% for i in items %}\n  {{ i }}\n{% endfor %}\n", "{% for i in items -%}\n  {{ i }},\n{%- endfor %}",
    "{% set y = 2 %}\n{{ y }}\n", "x{% set y = 2 %}  {% set z = 3 %}\ny", "\t{% if x %}\t\n\t{% endif %}\t", "a\r\nb\r{{ x }}\r\n", "{{ 'a\r\nb' }}\n",
    "{% if x %}a{% else %}b{% endif %}\n\n\n", "", "\n", "\n\n", " ", "no tags at all", "{", "}", "{ {", "%}", "}}", "#}", "{ { x } }", "{{ '{{' }} {{ '}}' }} {{ '%}' }}",
    "a{{ x }}{{ x }}b\n  {% if x %}{{ x }}{% endif %}  \n", "{{ x -}}\n\n{{- x }}", "   \n  {%- if x %} y{% endif %}", "\u00a0{%- if x -%}\u2003 y{% endif %}",
    "{%- if x %}{% endif -%}", "{% if x %}  {# note #}  {% endif %}", "{#\n multi\n line\n#}\n{{ x }}", "{{ x }}{# a #}{{ x }}", "{# {{ x }} {% if %} #}ok",
    "a\n  {%- for i in items %}\n    {{- i }}\n  {%- endfor %}\nb", "{% if x -%}\n\n\n   deep\n\n{%- endif %}", "{{ {'a': {'b': 1}} }}{{ {'a': 1}.a }}", "{{ [{'a': 1}] }}",
    "{% print x %}\n{% print x, 2 %}", "a{%if x%}b{%endif%}c", "{{x}}{{ x}}{{x }}", "{%if x%}{%elif y%}{%else%}{%endif%}",
    "{% if x: %}a{% endif %}", "{% for i in items: %}{{ i }}{% else: %}{% endfor %}",
]

BROKEN = ["{{ x", "{% if x", "{# c", "{% raw %}{% endraw", "{{ }}", "{% %}", "{% if x %}", "{% endif %}", "{% for %}{% endfor %}", "{% for x %}{% endfor %}",
          "{% for x in %}{% endfor %}", "{% else %}", "{% if x %}{% endfor %}", "{% for i in x %}{% endif %}", "{% unknown %}", "{% 5 %}", "{{ x }}}", "{% if x %}{% else %}{% else %}{% endif %}",
          "{% if x %}{% else %}{% elif x %}{% endif %}", "{% if %}{% endif %}", "{{ (x }}", "{{ x) }}", "{{ [x) }}", "{{ 'a }}", "{{ x %}", "{% if x }}", "{{ x #}", "{% raw %}{{ x }}",
          "{% set %}", "{% set x %}", "{% set 5 = 1 %}", "{% set x = %}", "{% set x.y = 1 %}", "{% set x() = 1 %}", "{% set none = 1 %}", "{% for true in x %}{% endfor %}", "{% set [a, b] = x %}"]

SETTINGS = [dict(), dict(trim_blocks=True), dict(lstrip_blocks=True), dict(trim_blocks=True, lstrip_blocks=True), dict(keep_trailing_newline=True),
            dict(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, newline="\r\n"), dict(newline="\r")]

LINES = [
    "# for i in items\n  {{ i }}\n# endfor\n", "# if x\na\n# else\nb\n# endif\nc", "  # if x\n  a\n  # endif\n", "# if x:\na\n# endif", "# for i in items:\n{{ i }}\n\n# endfor\n\n\nx",
    "a ## comment\nb", "## whole line\na", "a\n  ## indented\nb", "{{ x }} ## after\n", "# set y = [1,\n  2]\n{{ y }}", "a # not a statement\n", "#if x\nb\n#endif", "# if x   \n\n   \n  a\n# endif",
    "# set y = {'a':\n 1}\n{{ y }}\n", "{% if x %}\n# if x\nq\n# endif\n{% endif %}", "# for i in items ## c\n{{ i }}\n# endfor", "a\n#- if x\nb\n# endif\n", "a\n\n  #- if x\nb\n#+ endif\n", "##\n#\n", "# raw\n# endraw",
    "# if x\n#   if x\n      deep\n#   endif\n# endif\n", "x\n# set y = 1", "# set y = 1\n\n\n  z", "text#if\n", "# if x -%}\nb\n# endif", "a\n## b\n## c\nd\n", "  a  ## b\n  c ## d\n", "# include 'x'", "## {{ x }}\n{{ x }}", "{{ '## no' }} ## yes",
]

DELIMITERS = [
    ("<% if x %>a<%= x %><% endif %><# c #>", dict(block_start="<%", block_end="%>", variable_start="<%=", variable_end="%>", comment_start="<#", comment_end="#>")),
    ("${ x } $if", dict(variable_start="${", variable_end="}")), ("{! x !}{{ y }}", dict(variable_start="{!", variable_end="!}")),
    ("<!-- if x -->a<!-- endif --><!--# c #-->", dict(block_start="<!--", block_end="-->", comment_start="<!--#", comment_end="#-->")),
    ("/* if x */a/* endif */ // c\n", dict(block_start="/*", block_end="*/", line_comment="//")), ("@x@ and [% if x %]y[% endif %]", dict(variable_start="@", variable_end="@", block_start="[%", block_end="%]")),
    ("//% for i in items\n{{ i }} // keep\n//% endfor\n//# gone\nx", dict(line_statement="//%", line_comment="//#")), ("%% for i in items\n{{ i }}\n%% endfor", dict(line_statement="%%")),
    ("((( x ))) (( x ))", dict(variable_start="(((", variable_end=")))")), ("[[ x ]] [ x ] [[ [1][0] ]]", dict(variable_start="[[", variable_end="]]")),
    ("<< x >><<- x ->> y", dict(variable_start="<<", variable_end=">>")), ("{{ x }}", dict(variable_start="{%", variable_end="%}", block_start="{{", block_end="}}")),
    ("<%- if x -%> a <%- endif -%>\n<%# note %> b", dict(block_start="<%", block_end="%>", comment_start="<%#", comment_end="%>", variable_start="<%=", variable_end="%>")),
    ("<%raw%><% x %><%endraw%>", dict(block_start="<%", block_end="%>")), ("{%raw%}{%x%}{%  endraw  %}", dict()), ("#{x}#{x}", dict(variable_start="#{", variable_end="}")),
    ("é{{ x }}é→{% if x %}ü{% endif %}", dict()), ("→ x ← a", dict(variable_start="→", variable_end="←")),
]

# What a template is mixed from at random: tags with all their signs, line statements, blanks of all scripts, newlines.
PARTS = [
    "\n", "\n\n", " ", "  ", "\t", "a", "b;", "{{ 1 }}", "{{- 2 -}}", "{{- 3 }}", "{{ 4 -}}", "{% if 1 %}", "{%- if 1 -%}", "{%+ if 1 +%}", "{% endif %}", "{%- endif %}", "{% endif -%}", "{%+ endif %}", "{% endif +%}", "{# c #}", "{#- c -#}", "{#+ c +#}", "{# c\nd #}",
    "{%raw%}a{%endraw%}", "{%- raw %} {{ {%- endraw -%}", "{% endraw %}", "{%- endraw -%}", "{%+ endraw +%}", "{% set x = 1 %}", "%% if 1\n", "%% endif\n", "  %% endif\n", "%% set y = 2 ## z\n", "## comment\n", "x ## comment\n", "\t## c", "%%", "##", "%% for i in [1,\n2]\n", "%% endfor\n",
    "%%- if 1\n", "%%+ if 1\n", "%% endif", "{", "}", "%", "#", "\r\n", "\r", "é", "\u2028", "\u00a0", "\x0b", "\x0c", "{{ '\n' }}", "{{ 'a\\\nb' }}", "{{ [1,\n2] }}", "%% if 1:\n", "{%if 1:%}", "{%-endif%}", "%% raw\n", "%% endraw\n", "{{ x|d(3) }}", "-", "+",
]
ENDS = ["{% endif %}", "{%- endif -%}", "%% endif\n", "\n%% endif\n", "\n  %% endif"]


def mixed(count):
    chance = random.Random(11)
    for _ in range(count):
        text, settings = "", {}
        for part in chance.choices(PARTS, k=chance.randint(1, 8)):
            text += part + (chance.choice(PARTS) + chance.choice(ENDS) if "if 1" in part else "")
        for one in chance.sample(SETTINGS, chance.randint(0, 3)):
            settings.update(one)
        if chance.random() < 0.7:
            settings["line_statement"] = "%%"
        if chance.random() < 0.7:
            settings["line_comment"] = "##"
        if chance.random() < 0.1:
            settings.update(block_start="<%", block_end="%>", variable_start="${", variable_end="}")
            text = text.replace("{%", "<%").replace("%}", "%>").replace("{{", "${").replace("}}", "}")
        yield Case(text + ("." if text.endswith("{#") else ""), lenient=chance.random() < 0.5, **settings)


def cases():
    yield from mixed(3000)
    for text, settings in itertools.product(TEXTS, SETTINGS):
        yield Case(text, DATA, **settings)
    for text in BROKEN:
        yield Case(text, DATA)
    for text, settings in itertools.product(LINES, SETTINGS):
        yield Case(text, DATA, line_statement="#", line_comment="##", **settings)
    for (text, delimiters), settings in itertools.product(DELIMITERS, SETTINGS):
        yield Case(text, DATA, **delimiters, **settings)
