"""Descriptions of fields, of % and of str.format: all their parts, joined at random from a fixed seed."""
import random
import sys

from oracle import Case

VALUES = [
    "0", "1", "-1", "7", "255", "-255", "1234567", "9223372036854775807", "-9223372036854775807", "true", "0.0", "-0.0", "1.5", "-2.5", "0.1", "1e10", "1e16", "1.5e300", "123456789.125", "1e-5", "0.0001", "1e-300", "100.0", "2.675", "999999.5", "0.5", "-0.001",
    "(h*10)", "-(h*10)", "(h*10-h*10)", "'abc'", "'é'", "''", "none", "[1]", "missing", "'größe'", "(1, 2)", "{'a': 'ü'}", "'it\\'s'",
]
SIGNS = ["", "", "+", "-", " "] + (["z", "+z"] if sys.version_info >= (3, 11) else [])
WIDTHS = ["", "", "1", "5", "12", "20"]
BRACES = [["", "", "<", ">", "^", "=", "*<", "é^", "0>", "0="], SIGNS, ["", "", "", "#"], ["", "", "0"], WIDTHS, ["", "", ",", "_"], ["", "", ".0", ".1", ".2", ".5", ".17"], ["", "d", "x", "X", "o", "b", "c", "e", "E", "f", "F", "g", "G", "%", "s", "n", "q"]]
PERCENT = [["", "0", "-", "+", " ", "#", "0-", "+0", "#0", " +"], WIDTHS, ["", "", ".", ".0", ".1", ".2", ".5", ".17"], list("ddiouxXeEfFgGcrsa")]


def cases():
    chance = random.Random(4)
    for _ in range(2500):
        spec = "".join(chance.choice(part) for part in BRACES)
        yield Case("{{ '{:" + spec + "}'.format(" + chance.choice(VALUES) + ") }}", {"h": 1e308}, lenient=chance.random() < 0.1)
        spec = "".join(chance.choice(part) for part in PERCENT)
        yield Case("{{ '%" + spec + "' % (" + chance.choice(VALUES) + ",) }}", {"h": 1e308}, lenient=chance.random() < 0.1)
    for template in [
        "{{ '%.1f %s'|format(2.25, 'a') }}", "{{ '%(a)s %(b)05d'|format(a='x', b=3) }}", "{{ '%(a)s' % {'a': 1} }}", "{{ '%s' % [1, 2] }}", "{{ '%s %s' % (1,) }}", "{{ '%s' % (1, 2) }}", "{{ '%*d|%-*d|%.*f' % (5, 1, 5, 2, 2, 3.14159) }}", "{{ '%%' % () }}", "{{ '%' % 1 }}", "{{ '%z' % 1 }}", "{{ '%5%' % 1 }}",
        "{{ '%s' % {} }}", "{{ 'x' % {} }}", "{{ 'x' % [] }}", "{{ 'x' % () }}", "{{ 'x' % 1 }}", "{{ '%s%s' % {'a': 1} }}", "{{ '%(a' % {'a': 1} }}", "{{ '%(a)' % {'a': 1} }}", "{{ '%(a)s%s' % {'a': 1} }}", "{{ '%((a))s' % {'(a)': 1} }}", "{{ '%(b)s' % {'a': 1} }}", "{{ '%ld %hd' % (1, 2) }}", "{{ '%lld' % 3 }}",
        "{{ '{} {}'.format(1) }}", "{{ '{0} {}'.format(1, 2) }}", "{{ '{a.b} {a[b]} {0[1]}'.format([1, 2], a={'b': 3}) }}", "{{ '{a[b]} {0[1]}'.format([1, 2], a={'b': 3}) }}", "{{ '{:{}}'.format('x', 5) }}", "{{ '{:{w}.{p}}'.format('xyz', w=5, p=2) }}", "{{ '{!r:>6}|{!s}|{!a}'.format('é', 'é', 'é') }}", "{{ '{{}}{}'.format(1) }}",
        "{{ '{'.format(1) }}", "{{ '}'.format(1) }}", "{{ '{!}'.format(1) }}", "{{ '{!x}'.format(1) }}", "{{ '{:>{}{}}'.format(1, 2, 3) }}", "{{ '{0:{1:{2}}}'.format(1, 2, 3) }}", "{{ '{ 0 }'.format(1) }}", "{{ '{00}{-1}'.format(1) }}", "{{ '{0.real}'.format('a') }}", "{{ '{a}{a}'.format(a=1) }}", "{{ '{a}'.format(**{'a': 2}) }}", "{{ '{}{}'.format(*[1, 2]) }}",
        "{{ '{:}'.format([1]) }}", "{{ '{:5}'.format(none) }}", "{{ '{!s:5}|'.format(none) }}", "{{ '{:5}|{:<5}|{:d}'.format(true, false, true) }}", "{{ '{:,} {:_} {:_x}'.format(1234567, 1234567, 1234567) }}", "{{ '{:%}'.format(0.25) }}", "{{ '{:.0%}'.format(1) }}", "{{ '{:08.3f}|{:+e}'.format(3.14159, 0) }}", "{{ '{[0]}'.format('xy') }}", "{{ '{0[-1]}'.format([1, 2]) }}",
    ]:
        yield Case(template)
