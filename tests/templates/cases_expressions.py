"""Expressions: literals, operators, comparisons, members, slices, calls, methods, printing of values."""
from oracle import Case

DATA = {"a": 3, "b": -7, "f": 2.5, "s": "Hello World", "l": [1, 2, 3, 4, 5], "d": {"x": 1, "y": [10, 20], "items": 5},
        "n": None, "t": True, "u": "größe ✓", "e": "", "nested": {"a": {"b": {"c": [1, {"z": "deep"}]}}}}

EXPRESSIONS = r"""
1 ; 0 ; 42 ; 0x1F ; 0b101 ; 0o17 ; 1_000_000 ; 0xff_ff ; 9223372036854775807 ; 00 ; 01 ; 0b2
1.5 ; 1e3 ; 1.5e-7 ; 2E+5 ; 1_0.5_1 ; 1e22 ; 1e16 ; 1e15 ; 123456789012345678.0 ; 0.1 ; 0.1 + 0.2 ; 1e-5 ; 0.0001 ; 5e-324 ; 1.7976931348623157e308 ; 2.0 ; -0.0 ; 1.e5 ; 100.0 ; 1e100 ; 3.0e-10
"abc" ; 'abc' ; "a'b" ; 'a"b' ; "a" "b" 'c' ; "\n\t\\\"" ; "\x41\u00e9\U0001F600" ; "\101\0" ; "\q" ; 'it''s' ; "tab\there" ; "\a\b\f\v" | length
[] ; [1] ; [1, 2,] ; () ; (1,) ; (1, 2) ; 1, 2 ; {} ; {"a": 1} ; {"a": 1, "b": [2, {"c": 3}],} ; {1: 2, "1": 3, 1.0: 4} ; {true: 1, none: 2} ; [[], {}, ()] ; [1, 'a', "it's", 'q"', none, true, 1.5]
true ; false ; none ; True ; False ; None
1 + 2 ; 1 - 2 ; 3 * 4 ; 7 / 2 ; 7 // 2 ; -7 // 2 ; 7 // -2 ; 7 % 3 ; -7 % 3 ; 7 % -3 ; 2 ** 10 ; 2 ** -1 ; 2 ** 0.5 ; -2 ** 2 ; 2 ** 3 ** 2 ; (-8) // 3 ; 6 / 3 ; 1 / 3
1.5 + 1 ; 7.5 // 2 ; -7.5 // 2 ; 7.5 % 2 ; -7.5 % 2 ; 7.5 % -2 ; 1e308 * 10 ; 0.0 * -1 ; 5 // 0.3 ; 5 % 0.3 ; -1 % 0.25 ; 1.0 // 0.1 ; 2.5 ** 2 ; 4 ** 0.5 ; 10 ** 18 ; 10 ** -2 ; 0 ** 0
1 / 0 ; 1 // 0 ; 1 % 0 ; 1.0 / 0 ; 1.0 % 0 ; 0 ** -1 ; 0.0 ** -1 ; 1 + "a" ; "a" + 1 ; [] + () ; none + 1 ; "a" - "b" ; {} + {} ; -"a" ; +[] ; "a" * "b" ; 1e200 ** 2
true + 1 ; true * 3 ; -true ; +false ; false / 2 ; true // 1 ; 5 % true ; true ** 2
"a" + "b" ; "ab" * 3 ; 3 * "ab" ; [1] * 3 ; [1] + [2] ; (1,) + (2,) ; (1, 2) * 2 ; "ab" * 0 ; "ab" * -1 ; [0] * true
-a ; +a ; --a ; - -a ; -a + b ; -a ** 2 ; -f ; not a ; not not a ; not n ; +true ; -(1)
1 ~ 2 ; "a" ~ 1.5 ~ none ~ true ; [1] ~ {} ; 1 + 2 ~ 3 * 4 ; 1 ~ -2 ; s ~ "!" ~ a
1 == 1 ; 1 == 1.0 ; 1 == true ; 0 == false ; "a" == "a" ; "1" == 1 ; [1] == [1] ; [1] == (1,) ; {"a": 1} == {"a": 1.0} ; none == none ; none == false ; 1 != 2 ; "a" != "b" ; [1, 2] != [1, 3] ; {} == [] ; range(3) == range(0, 3) ; range(0) == range(5, 5) ; 9007199254740993 == 9007199254740992.0
1 < 2 ; 1 <= 1.0 ; 2 > 1 ; 2 >= 3 ; "a" < "b" ; "a" < "B" ; "ab" < "abc" ; [1, 2] < [1, 3] ; [1] < [1, 2] ; (2,) > (1, 5) ; true < 2 ; [] < [1] ; [1] <= [1] ; "é" > "z" ; [1, "a"] < [1, "b"]
1 < "a" ; none < 1 ; [] < () ; {} < {} ; [1] < ["a"] ; none < none ; "a" >= 1
1 < 2 < 3 ; 1 < 3 < 2 ; 3 > 2 >= 2 ; 1 == 1 == 1 ; 1 < 2 > 1 ; 1 in [1] == true ; 0 < a < 5 ; not 1 < 2 ; 1 != 2 != 1
1 in [1, 2] ; 3 not in [1, 2] ; "a" in "abc" ; "" in "" ; "x" in d ; 1 in d ; "x" not in d ; 2 in range(3) ; 2.0 in range(3) ; 5 in range(0, 10, 2) ; 4 in range(0, 10, 2) ; 4 in range(10, 0, -2) ; 1 in "1" ; 1 in 5 ; none in [none] ; [1] in [[1]] ; true in [1] ; "b" in ("a", "b") ; [] in {} ; 1.5 in range(5) ; "a" in range(5)
1 and 2 ; 0 and 2 ; 1 or 2 ; 0 or 2 ; "" or none ; [] and 1 ; not 0 and 1 ; 1 or 1 / 0 ; 0 and 1 / 0 ; not 1 or 2 ; 1 and 2 or 3 ; 0 or [] or {} or "x"
1 if true else 2 ; 1 if false else 2 ; 1 if 0 ; "x" if a == 3 ; 1 if false else 2 if false else 3 ; (1 if false) is defined ; 1 if true if false else 2 ; [1 if a else 2, 3] ; "a" if n is none else "b"
s.upper() ; s["upper"]() ; s[0] ; s[-1] ; s[100] ; s[100] is defined ; s.0 ; l.0 ; l[0] ; l[-1] ; l[99] is undefined ; l[99] ; d.x ; d["x"] ; d["items"] ; d.items() ; d.missing is defined ; d.missing ; d["missing"]["more"] ; nested.a.b.c[1].z ; nested["a"]["b"].c.0 ; (1, 2)[1] ; d.y.1 ; l["x"] is defined ; l[true] ; l[1.0] is defined ; {1: 2}[1] ; {1: 2}[true] ; {1: 2}[1.0] ; {(1, 2): 3}[1, 2] ; n.x is defined ; n.x ; a.b is defined ; 5.x is defined ; d[[]] is defined
s[1:4] ; s[:5] ; s[6:] ; s[:] ; s[::2] ; s[::-1] ; s[-5:] ; s[:-6] ; s[4:1] ; s[100:] ; s[-100:3] ; l[1:3] ; l[::-1] ; l[::2] ; l[3:0:-1] ; l[-1:-4:-1] ; l[10:0:-2] ; l[:2] + l[3:] ; (1, 2, 3)[1:] ; u[2:5] ; u[::-1] ; u[-1] ; l[none:2] ; range(10)[2:5] ; range(10)[::-2] ; range(10)[3] ; range(10)[-1] ; l[1:2:0] ; s["a":] ; a[1:2] ; d[1:2] is defined
range(3) ; range(1, 4) ; range(0, 10, 3) ; range(5, 0, -1) | list ; range(0) | list ; range(3, 1) | list ; range(10, 0, -3) | list ; range(1, 2, 0) ; range("a") ; range(1.5) ; range(3) | length ; range(0, 10, 4) | length ; range(5).start ; range(2, 9, 3).step ; range() ; range(1, 2, 3, 4)
dict(a=1, b=2) ; dict({"a": 1}, b=2) ; dict([("a", 1), ("b", 2)]) ; dict() ; dict([["x", 1]]) ; dict(*[{"q": 1}], **{"r": 2}) ; dict(1)
"%s" % 1 ; "%d" % 3.7 ; "%5d|%-5d|%05d" % (1, 2, 3) ; "%+d % d" % (1, 2) ; "%x %X %#x %o %#o" % (255, 255, 255, 8, 8) ; "%.2f %8.3f %-8.1f|" % (1.005, 3.14159, 2.55) ; "%e %E %.1e" % (12345.678, 0.00012, 1.0) ; "%g %G %.3g" % (1e10, 1e-10, 1234567) ; "%c%c" % ("a", 66) ; "%r %s" % ("a", "a") ; "%%" % () ; "%(a)s-%(b)d" % {"a": 1, "b": 2} ; "%*d" % (5, 42) ; "%.*f" % (2, 3.14159) ; "%-*d|" % (5, 42) ; "%s %s" % (1,) ; "%d" % "a" ; "%s" % [1, 2] ; "%s" % (none,) ; "%i %u" % (-3, 4) ; "%5s|%-5s|%.2s" % ("a", "b", "cdef") ; "%q" % 1 ; "%" % 1 ; "abc" % () ; "abc" % 1 ; "abc" % [1] ; "abc" % {"a": 1} ; "%s" % "é" ; "%3s|" % "é" ; "%05.1f" % -2.5 ; "%+.1e" % 0.0 ; "%x" % -255 ; "%#X" % 255 ; "%.3d" % 7 ; "%08.3d|" % 7 ; "%s %s" % ("a", "b", "c") ; "%(x)s" % 1 ; "%ld" % 5 ; "%x" % 1.5 ; "%s" % true ; "%d" % true ; "%f" % 1 ; "%5.1f%%" % 12.34 ; "%-08d|" % 5 ; "%+5d|% 5d" % (3, 3) ; "%a" % "x"
"{}".format(1) ; "{} {}".format(1, "a") ; "{0} {1} {0}".format(1, 2) ; "{a} {b}".format(a=1, b=2) ; "{{}}".format() ; "{:5}|{:<5}|{:>5}|{:^5}|".format(1, 2, 3, 4) ; "{:05d} {:+d} {: d}".format(1, 2, 3) ; "{:x} {:X} {:#x} {:o} {:#o} {:b} {:#b}".format(255, 255, 255, 8, 8, 5, 5) ; "{:.2f} {:8.3f} {:e} {:g}".format(1.005, 3.14159, 12345.678, 1e10) ; "{:,} {:_}".format(1234567, 1234567) ; "{:,.2f}".format(1234567.891) ; "{:s} {:5s}|{:>5s}|{:.2s}".format("a", "b", "c", "defg") ; "{!r} {!s}".format("a", "a") ; "{0[0]} {0[1]}".format([1, 2]) ; "{d[x]}".format(d=d) ; "{:*^9}".format("mid") ; "{:{}}|".format(1, 5) ; "{:{w}.{p}f}".format(3.14159, w=8, p=2) ; "{:%}".format(0.25) ; "{:.1%}".format(0.256) ; "{:c}".format(65) ; "{} {1}".format(1, 2) ; "{".format() ; "}".format() ; "{}".format() ; "{a}".format() ; "{:d}".format("a") ; "{:d}".format(1.5) ; "{:s}".format(1) ; "{:f}".format(1) ; "{}".format(none) ; "{:5}".format(none) ; "{}".format([1, 2]) ; "{:>8}".format(1.5) ; "{:010.3f}".format(-3.14159) ; "{:.3}".format(1234.5678) ; "{:.3}".format(0.00001234) ; "{:5}|".format(true) ; "{!r:>6}".format("a") ; "{:n}".format(5) ; "{:+}".format(1.0) ; "{:=+6}".format(42) ; "{:<06}".format(42) ; "{:x<5}".format(1) ; "{:[<06}".format(42) ; "{:]>06d}".format(-4) ; "{:,}".format(12) ; "{:09,}".format(1234) ; "{:.0f}".format(2.5) ; "{:#.0f}".format(2.0) ; "{:é>4}".format("a") ; "{:z}".format(1) ; "{!x}".format(1) ; "{:.10}".format(0.1) ; "{:.1}".format(123.0) ; "{:_x}".format(1048575) ; "{:_b}".format(255)
s is string ; a is number ; a is integer ; f is float ; t is boolean ; n is none ; l is sequence ; d is mapping ; l is iterable ; a is iterable ; 3 is odd ; 4 is even ; 9 is divisibleby 3 ; 9 is divisibleby(4) ; s is defined ; zz is defined ; zz is undefined ; t is true ; t is false ; 1 is true ; 0 is false ; true is integer ; true is number ; 1.0 is integer ; "abc" is lower ; "ABC" is upper ; "123" is lower ; s is callable ; range is callable ; a is sameas 3 ; n is sameas none ; "a" is sameas("a") ; 3 is in [1, 2, 3] ; 3 is not in [1, 2] ; 1 is eq 1 ; 1 is == 1 ; 1 is equalto 2 ; 1 is ne 2 ; 1 is lt 2 ; 2 is gt 1 ; 2 is ge 2 ; 2 is le 1 ; 2 is greaterthan 1 ; 1 is lessthan 2 ; "upper" is filter ; "nope" is filter ; "odd" is test ; "nope" is test ; 1 is escaped ; a is not odd ; not a is odd ; a is odd and b is odd ; a is odd is even ; "x" is string ~ "y" ; d is sequence ; s is sequence ; range(3) is sequence ; () is sequence ; 5 is odd if true else 3 ; 1.5 is odd ; "a" is odd ; -3 is odd ; 0 is even ; true is odd ; n is odd ; 4 is divisibleby 0 ; s is upper ; "é" is string ; none is number ; 1 is sameas 1.0 ; 1 is sameas true ; [1] is eq [1]
l | length ; l|first ; l | last | string ~ "x" ; -1 | abs ; (-1) | abs ; -5 | string ~ 3 ; 2 * 3 | string ; "a,b" .split(",") | join("-") ; 1 + 2 | abs ; not l | length ; (l | length) + 1 ; l | length + 1
s | upper | lower | title ; s | replace("o", "0") | replace("l", "L", 1) ; 5 | default(3) ; zz | default("none") ; zz | default ; "" | default("x") ; "" | default("x", true) ; none | default("x") ; none | d("x", true) ; d.zz | default(1) ; d.zz.yy | default(1)
zz ; zz + 1 ; zz.x ; zz ~ "a" ; zz == 1 ; zz in [1] ; 1 in zz ; zz | length ; zz | upper ; zz | list ; zz or 1 ; not zz ; zz is none ; zz() ; [zz] ; [zz] | length ; {"a": zz} ; zz[0] ; zz | join ; "a" if zz else "b" ; -zz ; zz | int ; zz | string ; zz is iterable ; zz is string ; zz is callable ; zz is number ; zz < 1 ; zz == zz2 ; zz != zz2 ; [1, zz] == [1, 2] ; zz | default(zz2) ; "%s" % zz ; zz | tojson ; zz * 2 ; zz | first ; zz | sum ; zz | sort ; zz | items | list ; {zz: 1} ; d[zz] ; l[zz] ; zz | map("upper") | list ; zz | select | list ; zz | round ; zz | abs ; zz | trim ; zz | float ; zz is in [1] ; zz is sameas none ; zz is mapping ; zz is odd ; zz | dictsort ; zz | unique | list ; zz | max ; zz | reverse | list ; zz | batch(2) | list ; zz | indent ; zz | format(1) ; zz | wordcount ; zz | center ; zz | replace("a", "b") ; zz | last
cycler(1, 2).next() ; cycler() ; joiner("|")() ; namespace(a=1).a ; namespace({"b": 2}).b ; namespace().x is defined ; namespace(a=1)
foo.bar.baz is defined ; d.x.y.z is defined ; range(3) | string ; (1, 2) | string ; [1, "a", none] | string ; {"k": "v"} | string ; 1.0 | string ; "x" | string ; true | string
1 +  ; (1 ; 1) ; [1, 2 ; {1: 2 ; {1} ; "abc ; 1 2 ; a b ; a. ; a.1.5 ; a[ ; a[] ; a | ; a | 5 ; a is ; a is 5 ; . ; * ; a = 1 ; !a ; a ! b ; a & b ; a ? b ; @ ; $ ; ` ; a..b ; a, ; , ; , a ; a || b ; 1..2 ; if ; else ; in ; not ; a not b ; a if ; a if b else ; f(1, a=2, 3) ; f(a=1, a=2) ; f(*l, *l) ; f(**d, **d) ; f(1 2) ; (1,,2) ; [,] ; {,} ; a.b.c() ; a["b"]["c"] ; lambda x: x ; a; b ; {{ ; }} ; a == ; == a ; a is not ; 1 is not odd ; a.items ; (a)(b) ; a{b} ; a:b
"a" "b".upper() ; ("a" "b").upper() ; "abc"[1] ; [1, 2][0] ; {"a": 1}["a"] ; {"a": 1}.a ; (1, 2).0 ; "x".upper().lower() ; [3, 1, 2].index(1) ; {"a": {"b": 1}}.a.b ; l | map("string") | list | first ; -l[0] ; -"5" | int ; 5 | string | length ; not "a" in "abc" ; "a" not in "abc" and true
""".strip("\n")

METHODS = r"""
"aBc".capitalize() ; "aBc".swapcase() ; "abc".center(9) ; "abc".center(8, "*") ; "abc".center(2) ; "ab".center(5, "-") ; "banana".count("a") ; "banana".count("") ; "banana".count("a", 2) ; "banana".count("a", 2, 4) ; "abc".endswith("bc") ; "abc".endswith(("x", "c")) ; "abc".endswith("b", 0, 2) ; "a\tb\tcc\td".expandtabs() ; "a\tb".expandtabs(4) ; "\ta\n\tb".expandtabs(2) ; "hello".find("l") ; "hello".find("l", 3) ; "hello".find("z") ; "hello".find("l", 0, 2) ; "hello".find("") ; "hello".index("l") ; "hello".index("z") ; "hello".rfind("l") ; "hello".rindex("z") ; "hello".rfind("l", 0, 3) ; "hello".rfind("") ; "größe".find("e") ; "größe".rfind("ö")
"abc1".isalnum() ; "abc".isalpha() ; "123".isdigit() ; "".isdigit() ; " \t".isspace() ; "".isspace() ; "abc".islower() ; "ABC".isupper() ; "aBC".isupper() ; "123".isupper() ; "abc".isascii() ; "é".isascii() ; "a_1".isidentifier() ; "1a".isidentifier() ; "".isidentifier() ; "12".isdecimal() ; "12".isnumeric() ; "a1!".isalnum() ; "".isascii()
"-".join(["a", "b"]) ; "".join("abc") ; ",".join([]) ; ",".join([1]) ; ",".join(("x", "y")) ; ", ".join(d) ; "ab".ljust(5) ~ "|" ; "ab".rjust(5, "0") ; "ab".ljust(1) ; "ab".ljust(4, "xy") ; "aBc".lower() ; "  a ".lstrip() ~ "|" ; "  a ".rstrip() ~ "|" ; "  a ".strip() ~ "|" ; "xxaxx".strip("x") ; "xyaxy".strip("yx") ; "xxa".lstrip("x") ; "axx".rstrip("x") ; "abc".strip("") ; " a ".strip(none) ; "éaé".strip("é") ; "\u2003a\u00a0".strip()
"a-b-c".partition("-") ; "abc".partition("-") ; "a-b-c".rpartition("-") ; "abc".rpartition("-") ; "abc".partition("") ; "TestX".removeprefix("Test") ; "TestX".removesuffix("X") ; "abc".removeprefix("z") ; "aXbX".replace("X", "-") ; "aXbX".replace("X", "-", 1) ; "abc".replace("", "-") ; "".replace("", "x") ; "abc".replace("", "-", 2) ; "abc".replace("b", "") ; "aaa".replace("aa", "b") ; "éaé".replace("", ".") ; "abc".replace("", "-", 4) ; "abc".replace("", "-", 3) ; "aXbX".replace("X", "-", 0)
"a b  c".split() ; " a b ".split() ; "a,b,c".split(",") ; "a,b,c".split(",", 1) ; "a,b,c".split(",", 0) ; "a b c d".split(none, 2) ; "".split() ; "".split(",") ; "abc".split("") ; ",a,".split(",") ; "a b c".rsplit() ; "a,b,c".rsplit(",", 1) ; "a b c d".rsplit(none, 2) ; " a  b  c ".rsplit(none, 1) ; "a  b".split(" ") ; "aXXbXXc".split("XX") ; "a\tb\nc".split() ; "  x  y  ".split(none, 1) ; "a,b".split(sep=",") ; "a b c".split(maxsplit=1) ; "aaa".rsplit("aa") ; "aaa".split("aa")
"a\nb\r\nc\rd".splitlines() ; "a\nb\n".splitlines() ; "a\nb\n".splitlines(true) ; "".splitlines() ; "\n".splitlines() ; "a\n\nb".splitlines() ; "a\x0bb\x0cc\x1cd".splitlines() ; "a\u2028b\x85c".splitlines()
"abc".startswith("ab") ; "abc".startswith("b", 1) ; "abc".startswith(("x", "a")) ; "abc".startswith("") ; "abc".startswith(1) ; "hello world".title() ; "it's o'clock".title() ; "abc".upper() ; "42".zfill(5) ; "-42".zfill(5) ; "+4".zfill(4) ; "abc".zfill(2) ; "".zfill(3) ; "abc".nope() ; "abc".nope is defined ; "abc".upper(1) ; "abc".center() ; "HeLLo wORLD".title() ; "ß".isalpha() ; "a1b".title()
l.index(3) ; l.index(99) ; l.count(1) ; [1, 1.0, true].count(1) ; (1, 2, 1).count(1) ; (1, 2).index(2) ; [1, 2].append(3) ; l.copy() ; [3, 1].nope ; [1, 2].pop() ; [1, 2].pop(0) ; [].pop() ; [1].pop(5) ; (1, 2).append(1)
d.keys() ; d.values() ; d.items() ; d.get("x") ; d.get("zz") ; d.get("zz", 5) ; d.keys() | list ; d.values() | list ; d.get(default=1) ; {"a": 1}.copy() ; d.keys() | length ; d.items() | first ; d.values()[0] is defined ; {"b": 1, "a": 2}.items() | list ; d.get([]) ; {}.popitem() ; {}.pop("x") ; {}.pop("x", 1) ; {"a": 1}.pop("a") ; {"a": 1}.popitem() ; {"a": 1}.setdefault("a", 2) ; {"a": 1}.setdefault("b", 2) ; {"a": 1}.setdefault("b") ; {"a": 1}.update(b=2) ; "x" in d.keys() ; 10 in d.values() ; ("x", 1) in d.items() ; d.keys() == d.keys() ; d | list ; d | first
""".strip("\n")

STATEMENTS = [
    "{% set x = [1] %}{% do x.append(2) %}{% do x.extend([3, 4]) %}{% do x.insert(0, 0) %}{{ x }}{{ x.pop() }}{% do x.remove(2) %}{% do x.reverse() %}{{ x }}{% do x.sort() %}{{ x }}{% do x.clear() %}{{ x }}",
    "{% set x = {} %}{% do x.update(a=1) %}{% do x.update({'b': 2}) %}{% do x.update([('c', 3)], d=4) %}{{ x }}{{ x.pop('a') }}{{ x.popitem() }}{{ x.setdefault('z', 9) }}{{ x }}{% do x.clear() %}{{ x }}",
    "{% set x = [3, 1, 2] %}{% do x.sort(reverse=true) %}{{ x }}{% set y = x.copy() %}{% do y.append(1) %}{{ x }}{{ y }}",
    "{% set x = [1, 2] %}{% do x.remove(5) %}",
    "{% set x = [1, 2] %}{% do x.insert(-1, 9) %}{% do x.insert(99, 8) %}{% do x.insert(-99, 7) %}{{ x }}{% do x.pop(1) %}{{ x }}{{ x.pop(-2) }}",
    "{% set c = cycler('a', 'b', 'c') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{% do c.reset() %}{{ c.next() }}",
    "{% set j = joiner(' | ') %}{% for i in range(3) %}{{ j() }}{{ i }}{% endfor %}",
    "{% set f = '%s' %}{{ f % 5 }}{{ f|format(6) }}",
    "{% set x = [] %}{% do x.append(x) %}{{ x }}",
    "{% set x = {} %}{% do x.update(a=x) %}{{ x }}",
    "{% set up = 'abc'.upper %}{{ up() }}",
    "{% set x, y = 1, 2 %}{{ x }}{{ y }}{% set (a, b), c = (1, 2), 3 %}{{ a }}{{ b }}{{ c }}",
    "{% set x, y = 1 %}", "{% set x, y = [1, 2, 3] %}", "{% set x, y = 'ab' %}{{ x }}{{ y }}", "{% set x, y = [1] %}",
    "{{ dict(a=1, **{'b': 2}) }}{{ dict(**{'b': 2}, c=1) }}",
    "{{ '%s %s'|format(*[1, 2]) }}", "{{ range(*[1, 5]) | list }}", "{{ dict(**{'a': 1}, **{'b': 1}) }}", "{{ dict(a=1, **{'a': 2}) }}",
    "{{ range(*5) }}", "{{ dict(**[1]) }}", "{{ dict(**{1: 2}) }}",
    "{{ 'a\nb' }}", "{{ 'a' \n 'b' }}", "{{\n1\n+\n2\n}}", "{{1}}{{-1}}{{+1}}",
    "{{ (l | map('string') | list)[1:3] | join('+') }}",
    "{{ l[1:][0] }}{{ l[1:3][::-1] | join }}", "{{ loop is defined }}", "{{ [1,2,3] | select('odd') | list | length }}",
]


def cases():
    for line in (EXPRESSIONS + "\n" + METHODS).split("\n"):
        for expression in line.split(" ; "):
            yield Case("{{ " + expression + " }}", DATA)
            if "zz" in expression or "missing" in expression or "if" in expression:
                yield Case("{{ " + expression + " }}", DATA, lenient=True)
    for statement in STATEMENTS:
        yield Case(statement, DATA)
