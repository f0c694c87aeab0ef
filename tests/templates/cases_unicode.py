"""Letters of all scripts: case, kinds of characters, and counting by code points.  The last cases go through every code
point that Python knows, so they name the data by ranges and look at all of them in one rendering."""
import sys
import unicodedata

from oracle import Case

WORDS = [
    "größe", "STRASSE", "straße", "ΑΣΑΣ ΟΔΥΣΣΕΥΣ", "ὈΔΥΣΣΕΎΣ", "Σ", "ΑΣ'", "ΑΣ'Α", "'Σ'", "ﬁnd ﬂoß", "ŉ ǰ ΐ", "İstanbul ıI", "ǆ ǅ Ǆ", "ǅungla", "naïve café", "ÇA ira",
    "Привет, мир", "ПРИВЕТ", "здесь-ЖИВУТ (они) [так] {вот} <и>", "ᾳ ᾼ ᾲ", "ﬃ", "ᲐᲑ აბ", "𐐀𐐨", "Ａｂｃ", "日本語 テキスト", "한국어", "שלום", "e\u0301te\u0301", "A\u0345Σ", "א" * 30,
    "👍🏽 ok", "zero\u200bwidth", "a\u00a0b", "a\u2003b\u3000c", "x\u2028y\u0085z", "①②③ Ⅷ ½ ²", "١٢٣", "１２", "µ ℵ ª º", "ß", "ⓐⒶ", "ʰʱ", "", " ", "_ ‿ ⁀", "\u00ad soft", "a.b·c’d",
]
METHODS = ["upper", "lower", "title", "capitalize", "swapcase", "casefold", "islower", "isupper", "istitle", "isalpha", "isalnum", "isdigit", "isdecimal", "isspace", "isidentifier", "isprintable", "isascii", "strip", "split", "rsplit", "splitlines"]
FILTERS = ["upper", "lower", "title", "capitalize", "wordcount", "length", "reverse", "list", "trim", "first", "last", "center(9)", "truncate(4, true, '…')", "truncate(5, false, '', 0)", "truncate(5)", "wordwrap(4)", "wordwrap(3, false)", "wordwrap(5, wrapstring='¶')",
           "wordwrap(6, break_on_hyphens=false)", "indent(1, true)", "string", "tojson", "pprint", "int", "float", "int(-1)", "batch(2)|list", "unique|list", "replace('', '→')", "replace('Σ', 'ß')", "format", "join('·')", "sort|join", "sort(case_sensitive=true)|join", "groupby(0)|list"]
EXPRESSIONS = [
    "w is lower", "w is upper", "w[0]", "w[-1]", "w[1:3]", "w[::-1]", "w[::2]", "w[-3:]", "w.center(12, '…')", "w.ljust(9, 'é')|length", "w.rjust(9) ~ '|'", "w.zfill(7)", "w.find('Σ')", "w.rfind('а')", "w.count('')", "w.index('ß')", "w.partition('ß')", "w.startswith('g', 0, 3)",
    "w.find('', 2)", "w.rsplit(none, 1)", "w.replace('Σ', 'x', 1)", "w.strip('gßΑ日א')", "w.expandtabs(3)", "'%5s|%-6s|%.2s' % (w, w, w)", "'{:>6}|{:^7}|{:é<8}|{:.3}'.format(w, w, w, w)", "'%r %a' % (w, w)", "[w]", "w ~ w|length", "w * 2", "w in 'ΑΣΑΣ größe'", "'ß' in w", "w < 'ä'",
    "w.upper() == w", "w.lower().upper()", "w.removeprefix('gr')", "w.removesuffix('ß')", "w|upper|lower|title", "w.isnumeric() if '日' not in w",
]
DATA = {"words": WORDS, "recs": [{"n": n, "v": i} for i, n in enumerate(["Äpfel", "äpfel", "Zebra", "zebra", "Ωmega", "ωmega", "Éa", "éB", "ÉC"])]}
LISTS = [
    "words|sort|join('|')", "words|sort(true)|join('|')", "words|sort(case_sensitive=true)|join('|')", "words|unique|join('|')", "words|unique(true)|length", "words|min", "words|max", "words|select('lower')|join('|')", "words|reject('upper')|join('|')", "words|map('title')|join('|')",
    "words|groupby('0', default='')|map('first')|join('|')", "recs|sort(attribute='n')|map(attribute='v')|list", "recs|groupby('n')|map('last')|map('map', attribute='v')|map('list')|list", "recs|groupby('n', case_sensitive=true)|map('first')|list", "recs|unique(attribute='n')|map(attribute='v')|list",
    "recs|max(attribute='n')", "recs|min(attribute='n')", "dict(Ä=1, ä=2, B=3)|dictsort", "dict(Ä=1, ä=2, B=3)|dictsort(true)", "{'x': 'Ω', 'y': 'ω', 'z': 'Ä'}|dictsort(by='value')", "'größe' | map('upper') | list",
]
TEMPLATES = [
    "{% set größe = 3 %}{{ größe }}", "{% set _日本 = 1 %}{{ _日本 + 1 }}", "{{ d.größe }}", "{{ d['größe'] }}", "{% for ü in 'äö' %}{{ ü|upper }}{% endfor %}", "{% macro ñ(á='ß') %}{{ á|upper }}{% endmacro %}{{ ñ() }}{{ ñ(á='é') }}", "{{ → }}", "{{ e\u0301 }}", "{{ a\u0301 }}", "{{ 日 }}",
    "{{ ²x }}", "{{ x² }}", "{{ ⅷ }}", "{{ '\\u00df'|upper }}", "{{ '\\xe9'|upper }}", "{{ x\u00a0}}", "{{\u2003x }}", "a \u3000{{- x -}}\u2003 b", "{{ 'ab'|indent('→') }}", "{{ '%c' % 252 }}{{ '%c' % 'ü' }}", "{{ ['ä', 'b']|join('·') }}", "{% filter upper %}weiß {{ x }}{% endfilter %}", "{{ x is größer }}", "{{ x|größer }}",
    "{{ '٣'|int }} {{ '１２'|int(7, 16) }} {{ '१.५'|float }} {{ '\u2003 4 '|int }} {{ '²'|int }} {{ '½'|float }}", "{{ ('0' * 500 ~ '7')|int }} {{ ('0' * 500 ~ '7.5')|float }}", "{{ 'some_-b-c_ x²-yz ab-1c'|wordwrap(3) }}", "{{ 'a_b-_c d-e'|wordwrap(4, break_long_words=false) }}",
]

# Several code points at once are looked at between spaces, so that each stands alone; the letter before and the capital
# sigma behind tell which of them have case, and which are passed over when a word's end is looked for.
EVERY = [
    "{% for c in s %}{{ c.upper() }}{{ c.lower() }}{{ c.title() }}{{ c.swapcase() }}{{ c.casefold() }}{{ c.capitalize() }} {% endfor %}",
    "{% for c in s %}{{ '01'[c.isalpha()] ~ '01'[c.isdecimal()] ~ '01'[c.isdigit()] ~ '01'[c.isalnum()] ~ '01'[c.isspace()] ~ '01'[c.isprintable()] }}{% endfor %}",
    "{% for c in s %}{{ '01'[c.islower()] ~ '01'[c.isupper()] ~ '01'[c.istitle()] ~ '01'[c.isidentifier()] ~ '01'[('a' ~ c).isidentifier()] ~ (c|wordcount) ~ (c|int(10)) }}{% endfor %}",
    "{% for c in s %}{{ (c ~ 'a').title() }}{{ ('a' ~ c ~ 'Σ').lower() }}{{ ('aΣ' ~ c).lower() }}{{ ('aΣ' ~ c ~ 'a').swapcase() }} {% endfor %}",
    "{{ s|list }}",
    "{% for c in s if not c.isalnum() or c in '一二三' %}{{ '01'[c.isnumeric()] if c not in '一二三' }}{% endfor %}",
]


def known(c):
    """Code points whose properties cannot differ between versions of Unicode: all, where Python has libunistring 1.0's."""
    category = (unicodedata if unicodedata.unidata_version == "14.0.0" else unicodedata.ucd_3_2_0).category(c)
    return category not in ("Cs", "Co", "Cn") or unicodedata.unidata_version == "14.0.0" and category == "Cn" and ord(c) < 0x3400


def every():
    """Of the ideographs, syllables and other long blocks that are all alike, one in 64."""
    points = [chr(c) for c in range(sys.maxunicode + 1) if not 0xd800 <= c < 0xe000]
    points = [c for c in points if known(c) and (unicodedata.category(c) != "Lo" or ord(c) < 0x2e80 or ord(c) % 64 == 0)]
    return ["".join(points[i:i + 1000]) for i in range(0, len(points), 1000)]


def cases():
    for word in WORDS:
        for method in METHODS:
            yield Case("{{ w." + method + "() }}", {"w": word})
        for filter in FILTERS:
            yield Case("{{ w|" + filter + " }}", {"w": word})
        for expression in EXPRESSIONS:
            yield Case("{{ " + expression + " }}", {"w": word})
    for expression in LISTS:
        yield Case("{{ " + expression + " }}", DATA)
    for template in TEMPLATES:
        for lenient in (False, True):
            yield Case(template, {"x": 1, "d": {"größe": 7}, "日": "ok"}, lenient=lenient)
    for points in every():
        for template in EVERY:
            yield Case(template, {"s": points})
