"""random_cases.py: templates grown at random from the whole grammar, rendered by ingot and by Jinja2.

    random_cases.py [--count N] [--seed S] [--counts]

Each case has data, settings and a main template (with others to include, import and extend) in which most expressions are
of a known type, so that most cases render.  Left out is what the two do differently on purpose (docs/templates.md): names
of Python's own types, tojson's Markup, blocks and includes without context inside macros, integers of more than 64 bits, and reprs with addresses.
--counts prints how often each rule, filter, test and method was used; a count below 100 then fails the run."""
import argparse
import collections
import random
import sys

try:
    import oracle
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

NUMBERS = ["0", "1", "2", "3", "7", "10", "-1", "-4", "0x1f", "1_000", "255"]
REALS = ["0.5", "1.5", "2.0", "-0.25", "1e3", "3.14159", "1e-7", "100.0", "12345.678"]
STRINGS = ["''", "'a'", "\"b c\"", "'Hello World'", "'x,y,z'", "'→✓'", "'it\\'s'", "'a\\nb\\n'", "'  pad '", "'%s'", "'42'", "'3.7'", "\"q\" 'r'", "'<b>&'", "'ab-cd ef'", "'A'", "'größe'", "'ΑΣ Straße'", "'Ǆ ﬁn'", "'жук'", "'É-ö'"]
OPERATORS = ["==", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge", "equalto", "lessthan", "greaterthan"]
DATA = {
    "i": 3, "j": -7, "f": 2.5, "s": "some Text", "t": "x-y z", "yes": True, "no": False, "nil": None, "li": [3, 1, 2, 5], "ls": ["b", "a", "C", "a"], "ll": [[1, 2], [3], []],
    "d": {"k": 1, "m": 2, "z": 0}, "recs": [{"n": "one", "v": 1, "t": ["p"]}, {"n": "Two", "v": 2, "t": []}, {"n": "three", "v": 1, "t": ["q", "r"]}], "empty": [],
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}]}, {"v": 3, "c": []}], "mt": "line one\n  line two\n\nend",
}
BY_TYPE = {"int": ["i", "j"], "real": ["f"], "str": ["s", "t", "mt"], "bool": ["yes", "no"], "ints": ["li"], "strs": ["ls"], "dict": ["d"], "recs": ["recs"], "lists": ["ll"]}


class Grower:
    def __init__(self, seed, counts):
        self.random = random.Random(seed)
        self.counts = counts
        self.names = {kind: list(names) for kind, names in BY_TYPE.items()}
        self.fresh = 0
        self.macros = []
        self.loops = 0                # around
        self.inside_macro = False     # where Jinja2 makes a block's macro a generator

    def used(self, rule):
        self.counts[rule] += 1

    def pick(self, rules):
        """One of the rules, (name, function or text): the rule is counted."""
        name, made = self.random.choice(rules)
        text = made() if callable(made) else made
        self.used(name)
        return text

    def chance(self, p):
        return self.random.random() < p

    def name(self, kind):
        self.used("name")
        return self.random.choice(self.names[kind])

    # ---- expressions, by type ----
    def int(self, depth):
        e, r = self, self.random
        if depth <= 0:
            return r.choice([lambda: e.literal(NUMBERS), lambda: e.name("int")])()
        d = depth - 1
        rules = [
            ("integer", lambda: e.literal(NUMBERS)), ("name", lambda: e.name("int")),
            ("add", lambda: f"({e.int(d)} + {e.int(d)})"), ("sub", lambda: f"({e.int(d)} - {e.int(d)})"), ("mul", lambda: f"({e.int(d)} * {e.int(0)})"),
            ("floordiv", lambda: f"({e.int(d)} // {e.int(d)})"), ("mod", lambda: f"({e.int(d)} % {e.int(d)})"), ("pow", lambda: f"({e.int(0)} ** {e.one('0123')})"),
            ("neg", lambda: f"(-{e.int(d)})"), ("pos", lambda: f"(+{e.int(d)})"), ("precedence", lambda: f"{e.int(0)} + {e.int(0)} * {e.int(0)} - {e.int(0)}"),
            ("filter length", lambda: f"({e.any_list(d)}|length)"), ("filter count", lambda: f"({e.str(d)}|count)"), ("filter int", lambda: f"({r.choice([e.str, e.real, e.int, e.bool])(d)}|int{e.one(['', '(5)', '(0, 16)', '(default=-1)', '(base=0)'])})"),
            ("filter abs", lambda: f"({e.int(d)}|abs)"), ("filter sum", lambda: f"({e.ints(d)}|sum{e.one(['', '(start=5)'])})"), ("filter min", lambda: f"({e.ints(d)}|min|default(0))"),
            ("filter max", lambda: f"({e.ints(d)}|max|default(1))"), ("filter first", lambda: f"({e.ints(d)}|first|default(2))"), ("filter last", lambda: f"({e.ints(d)}|list|last|default(3))"),
            ("filter wordcount", lambda: f"({e.str(d)}|wordcount)"), ("filter round", lambda: f"({e.real(d)}|round({e.one(['', '0', '1', '2, ^floor^', '0, ^ceil^'])})|int)"),
            ("filter default", lambda: f"({r.choice(['missing', 'nil', e.int(d)])}|default({e.int(d)}{e.one(['', ', true'])}))"), ("filter d", lambda: f"(missing|d({e.int(d)}))"),
            ("item", lambda: f"{e.ints(d)}[{e.one(['0', '1', '-1', 'i'])}]"), ("attribute", lambda: f"d.{e.one('kmz')}"), ("item key", lambda: f"d['{e.one('kmz')}']"),
            ("condition", lambda: f"({e.int(d)} if {e.bool(d)} else {e.int(d)})"), ("method count", lambda: f"{e.str(d)}.count({e.str(0)})"), ("method find", lambda: f"{e.str(d)}.find({e.str(0)})"),
            ("method rfind", lambda: f"{e.str(d)}.rfind({e.str(0)})"), ("method get", lambda: f"d.get('{e.one('kmq')}', {e.int(d)})"), ("method index", lambda: f"li.index({e.one('1235')})"),
            ("filter sum attribute", lambda: "(recs|sum(attribute='v'))"), ("method list count", lambda: f"{e.ints(0)}.count({e.int(0)})"), ("and or", lambda: f"({e.int(d)} {e.one(['and', 'or'])} {e.int(d)})"),
            ("filter attr", lambda: f"(recs[0]|attr('v')|default({e.int(0)}))"), ("filter random name", lambda: f"({e.int(d)}|int)"),
        ]
        if self.loops:
            rules += [(f"loop.{n}", f"loop.{n}") for n in ("index", "index0", "revindex", "revindex0", "length", "depth", "depth0")] * 6
        return self.pick(rules)

    def literal(self, choices):
        self.used("literal")
        return self.one(choices)

    def one(self, choices):
        """One of the texts; ^ stands for a double quote."""
        return self.random.choice(choices).replace("^", '"')

    def real(self, depth):
        e, r, d = self, self.random, depth - 1
        if depth <= 0:
            return r.choice([lambda: e.literal(REALS), lambda: e.name("real")])()
        return self.pick([
            ("float", lambda: e.literal(REALS)), ("div", lambda: f"({e.int(d)} / {e.int(d)})"), ("real add", lambda: f"({e.real(d)} + {e.int(d)})"), ("real mul", lambda: f"({e.real(d)} * {e.real(0)})"),
            ("real sub", lambda: f"({e.int(d)} - {e.real(d)})"), ("real mod", lambda: f"({e.real(d)} % {e.real(0)})"), ("real floordiv", lambda: f"({e.real(d)} // {e.real(0)})"), ("filter float", lambda: f"({r.choice([e.str, e.int, e.real])(d)}|float{e.one(['', '(1.5)'])})"),
            ("filter round", lambda: f"({e.real(d)}|round({e.one(['', '1', '2', '3, ^ceil^', '1, ^floor^', '-1'])}))"), ("filter abs", lambda: f"({e.real(d)}|abs)"), ("pow negative", lambda: f"({e.one(['2', '4', '10'])} ** {e.one(['-1', '-2', '0.5'])})"),
        ])

    def str(self, depth):
        e, r, d = self, self.random, depth - 1
        if depth <= 0:
            return r.choice([lambda: e.literal(STRINGS), lambda: e.name("str")])()
        f = lambda name, arguments="": (f"filter {name}", lambda: f"({e.str(d)}|{name}{e.one(arguments.split(' / ')) if arguments else ''})")
        m = lambda name, arguments: (f"method {name}", lambda: f"{e.str(d)}.{name}({e.one(arguments.split(' / '))})")
        return self.pick([
            ("string", lambda: e.literal(STRINGS)), ("name", lambda: e.name("str")), ("concat", lambda: f"({e.str(d)} ~ {e.value(d)} ~ {e.str(0)})"), ("str add", lambda: f"({e.str(d)} + {e.str(d)})"), ("str mul", lambda: f"({e.str(d)} * {e.one('0123')})"),
            f("upper"), f("lower"), f("capitalize"), f("title"), f("trim", " / ('x') / (' a')"), f("center", "(10) / (3) / (width=15)"), f("indent", " / (2) / (3, true) / (2, true, true) / ('> ')"), f("replace", "('a', 'b') / (' ', '') / ('', '.') / ('l', 'L', 1)"),
            f("truncate", "(5) / (4, true) / (6, false, '..') / (5, true, '', 0) / (length=9)"), f("wordwrap", " / (5) / (4, false) / (8, wrapstring='|')"), f("string"), f("reverse"), f("default", "('q') / ('q', true)"),
            ("filter join", lambda: f"({r.choice([e.ints, e.strs])(d)}|join{e.one(['', '(^, ^)', '(i)', '(d=^-^)'])})"), ("filter format", lambda: f"({e.literal(['^%s-%s^', '^%5s|%-4s^', '^%r %s^'])}|format({e.value(d)}, {e.value(d)}))"), ("filter string", lambda: f"({e.value(d)}|string)"),
            ("filter tojson", lambda: f"({e.value(d)}|tojson{e.one(['', '(2)', '(indent=1)'])} ~ '')"), ("filter filesizeformat", lambda: f"({r.choice([e.int, e.real])(d)}|filesizeformat{e.one(['', '(true)'])})"), ("filter pprint", lambda: f"({e.value(d)}|pprint)"),
            ("filter first", lambda: f"({e.strs(d)}|first|default('-'))"), ("filter last", lambda: f"({e.strs(d)}|list|last|default('-'))"), ("filter max", lambda: f"({e.strs(d)}|max{e.one(['', '(true)'])}|default(''))"), ("filter min", lambda: f"({e.strs(d)}|min|default(''))"),
            ("percent", lambda: f"({e.literal(['^%d^', '^%5.2f^', '^%x^', '^%s^', '^%+d^', '^%-6d|^', '^%06.1f^', '^%e^', '^%g^'])} % {e.int(d)})"), ("percent tuple", lambda: f"('%s=%s' % ({e.value(d)}, {e.value(d)}))"), ("format method", lambda: f"{e.literal(['^{} {}^', '^{1}-{0}^', '^{:>6}|{!r}^'])}.format({e.int(d)}, {e.str(d)})"),
            ("slice", lambda: f"{e.str(d)}[{e.one(['1:', ':2', '::2', '::-1', '1:-1', '-3:', ':', '2:1', 'i:'])}]"), ("condition", lambda: f"({e.str(d)} if {e.bool(d)} else {e.str(d)})"), ("condition without else", lambda: f"({e.str(d)} if {e.bool(d)})"),
            m("upper", ""), m("lower", ""), m("strip", " / 'x'"), m("lstrip", " / 'a '"), m("rstrip", ""), m("replace", "'a', 'z' / ' ', '', 1"), m("title", ""), m("center", "9 / 9, '*'"), m("ljust", "8 / 8, '.'"), m("rjust", "8 / 8, '0'"), m("zfill", "6 / 2"), m("swapcase", ""), m("capitalize", ""), m("casefold", ""),
            m("removeprefix", "'a' / 'Hello'"), m("removesuffix", "'a' / 'd'"), m("expandtabs", " / 4"), ("method join", lambda: f"{e.str(0)}.join({e.strs(d)})"), ("recs attribute", lambda: f"recs[{e.one('012')}].n"), ("item str", lambda: f"{e.str(d)}[{e.one(['0', '-1', '1'])}]|default('')"),
            ("macro call", lambda: e.macro_call(d)), ("call joiner", lambda: "joiner('|')()"), ("call cycler", lambda: f"cycler({e.str(0)}, {e.str(0)}).next()"),
            *([("loop.cycle", lambda: f"loop.cycle({e.str(0)}, {e.str(0)})")] * 3 if self.loops else []),
        ])

    def macro_call(self, depth):
        if not self.macros:
            return self.str(depth) if self.inside_macro or self.chance(0.5) else self.library_call(depth)
        name, parameters = self.random.choice(self.macros)
        self.used("macro used")
        arguments = [self.value(depth) for _ in range(self.random.randint(0, parameters))]
        if self.chance(0.3) and len(arguments) < parameters:
            arguments.append(f"p{len(arguments)}={self.value(depth)}")
            self.used("keyword argument")
        if self.chance(0.1) and not any("=" in a for a in arguments):
            arguments.append(f"*[{self.value(0)}]")
            self.used("splat")
        if self.chance(0.05):
            arguments.append("**{'p9': 1}")
            self.used("keyword splat")
        return f"{name}({', '.join(arguments)})"

    def library_call(self, depth):
        """A call with every form of arguments, of a function that takes them all."""
        a, b = self.value(depth - 1), self.value(0)
        return self.pick([("keyword argument", f"dict(a={a}, b={b})"), ("splat", f"'%s %s'|format(*[{a}, {b}])"), ("keyword splat", f"dict(c=1, **{{'a': {a}, 'b': {b}}})")])

    def bool(self, depth):
        e, r, d = self, self.random, depth - 1
        if depth <= 0:
            return r.choice([lambda: e.literal(["true", "false", "True", "False"]), lambda: e.name("bool")])()
        t = lambda name, kind, argument="": (f"test {name}", lambda: f"({getattr(e, kind)(d)} is {e.one(['', '', 'not '])}{name}{argument() if callable(argument) else argument})")
        return self.pick([
            ("eq", lambda: f"({e.value(d)} == {e.value(d)})"), ("ne", lambda: f"({e.value(d)} != {e.value(d)})"), ("lt", lambda: f"({e.number(d)} < {e.number(d)})"), ("le", lambda: f"({e.str(d)} <= {e.str(d)})"), ("gt", lambda: f"({e.ints(d)} > {e.ints(d)})"), ("ge", lambda: f"({e.int(d)} >= {e.real(d)})"),
            ("chained", lambda: f"({e.int(d)} < {e.int(d)} <= {e.int(d)})"), ("in", lambda: f"({e.int(d)} in {e.ints(d)})"), ("not in", lambda: f"({e.str(d)} not in {e.str(d)})"), ("in dict", lambda: f"({e.str(0)} in d)"), ("in range", lambda: f"({e.number(d)} in range({e.int(0)}))"),
            ("and", lambda: f"({e.bool(d)} and {e.bool(d)})"), ("or", lambda: f"({e.bool(d)} or {e.bool(d)})"), ("not", lambda: f"(not {e.value(d)})"),
            t("defined", "maybe"), t("undefined", "maybe"), t("odd", "int"), t("even", "int"), t("divisibleby", "int", lambda: f" {e.one('1235')}"), t("none", "value"), t("boolean", "value"), t("true", "value"), t("false", "value"), t("integer", "value"), t("float", "value"),
            t("lower", "str"), t("upper", "str"), t("string", "value"), t("mapping", "value"), t("number", "value"), t("sequence", "value"), t("iterable", "value"), t("callable", "value"), t("sameas", "bool", lambda: f" {e.bool(0)}"), t("escaped", "value"),
            t("in", "int", lambda: f" {e.ints(0)}"), t("eq", "value", lambda: f" {e.value(0)}"), t("equalto", "int", lambda: f"({e.int(0)})"), t("ne", "int", lambda: f" {e.int(0)}"), t("lt", "int", lambda: f" {e.int(0)}"), t("lessthan", "int", lambda: f" {e.int(0)}"), t("le", "int", lambda: f" {e.int(0)}"), t("gt", "int", lambda: f" {e.int(0)}"), t("greaterthan", "int", lambda: f" {e.int(0)}"), t("ge", "int", lambda: f" {e.int(0)}"),
            ("test filter", lambda: f"('{e.one(['upper', 'nope'])}' is filter)"), ("test test", lambda: f"('{e.one(['odd', 'nope'])}' is test)"),
            ("method startswith", lambda: f"{e.str(d)}.startswith({e.str(0)})"), ("method endswith", lambda: f"{e.str(d)}.endswith({e.str(0)})"), *[(f"method {name}", lambda name=name: f"{e.str(d)}.{name}()") for name in ("isdigit", "isspace", "islower", "isupper", "istitle", "isalpha", "isalnum", "isidentifier", "isprintable", "isascii")],
            *([("loop.first", "loop.first"), ("loop.last", "loop.last"), ("loop.changed", lambda: f"loop.changed({e.int(0)})")] * 6 if self.loops else []),
        ])

    def maybe(self, depth):
        return self.random.choice(["missing", "d.nope", "recs[9]", "i", self.int(depth)])

    def number(self, depth):
        return self.random.choice([self.int, self.real])(depth)

    def ints(self, depth):
        e, r, d = self, self.random, depth - 1
        if depth <= 0:
            return r.choice(["li", "[1, 2]", "[]", "[5, 4, 3]"])
        return self.pick([
            ("list", lambda: f"[{', '.join(e.int(d) for _ in range(r.randint(0, 3)))}]"), ("name", lambda: e.name("ints")), ("range", lambda: f"(range({', '.join(e.one(['0', '1', '2', '5', '8']) for _ in range(r.randint(1, 2)))})|list)"), ("range step", lambda: f"(range({e.one(['5, 0, -1', '0, 9, 3', '1, 4, 2'])})|list)"),
            ("filter sort", lambda: f"({e.ints(d)}|sort{e.one(['', '(true)', '(reverse=false)'])})"), ("filter reverse", lambda: f"({e.ints(d)}|reverse|list)"), ("filter unique", lambda: f"({e.ints(d)}|unique|list)"), ("filter list", lambda: f"({e.ints(d)}|list)"),
            ("filter select", lambda: f"({e.ints(d)}|select{e.one(['', '(^odd^)', '(^gt^, 2)', '(^divisibleby^, 2)'])}|list)"), ("filter reject", lambda: f"({e.ints(d)}|reject{e.one(['', '(^odd^)', '(^lt^, 2)'])}|list)"), ("filter map", lambda: f"({e.strs(d)}|map('length')|list)"), ("filter map attribute", lambda: "(recs|map(attribute='v')|list)"),
            *[(f"test '{name}' by name", lambda name=name: f"({e.ints(d)}|{e.one(['select', 'reject'])}('{name}', {e.int(0)})|list)") for name in OPERATORS],
            ("list add", lambda: f"({e.ints(d)} + {e.ints(d)})"), ("list mul", lambda: f"({e.ints(d)} * {e.one('012')})"), ("list slice", lambda: f"{e.ints(d)}[{e.one(['1:', ':2', '::-1', '::2', '-2:'])}]"), ("filter map abs", lambda: f"({e.ints(d)}|map('abs')|list)"), ("item list", lambda: f"ll[{e.one('012')}]"),
            ("method copy", lambda: f"{e.ints(0)}.copy()"), ("dict values", lambda: "(d.values()|list)"),
        ])

    def strs(self, depth):
        e, r, d = self, self.random, depth - 1
        if depth <= 0:
            return r.choice(["ls", "['p', 'q']", "[]", "['B', 'a', 'b']"])
        return self.pick([
            ("list", lambda: f"[{', '.join(e.str(d) for _ in range(r.randint(0, 3)))}]"), ("name", lambda: e.name("strs")), ("filter sort", lambda: f"({e.strs(d)}|sort{e.one(['', '(true)', '(case_sensitive=true)', '(true, true)'])})"), ("filter unique", lambda: f"({e.strs(d)}|unique{e.one(['', '(true)'])}|list)"),
            ("filter map", lambda: f"({r.choice([e.strs, e.ints])(d)}|map('{e.one(['string', 'upper', 'lower', 'title', 'trim'])}')|list)"), ("filter select", lambda: f"({e.strs(d)}|select('{e.one(['string', 'lower', 'upper', 'defined'])}')|list)"), ("filter list str", lambda: f"({e.str(d)}|list)"), ("method split", lambda: f"{e.str(d)}.split({e.one(['', '^,^', '^ ^, 1', '^-^'])})"),
            ("method rsplit", lambda: f"{e.str(d)}.rsplit({e.one(['', '^,^, 1'])})"), ("method splitlines", lambda: f"{e.str(d)}.splitlines({e.one(['', 'true'])})"), ("method partition", lambda: f"({e.str(d)}.{e.one(['partition', 'rpartition'])}('-')|list)"), ("filter map attribute", lambda: "(recs|map(attribute='n')|list)"),
            ("filter selectattr", lambda: f"(recs|selectattr('v', '{e.one(OPERATORS)}', {e.one('12')})|map(attribute='n')|list)"), ("filter rejectattr", lambda: f"(recs|rejectattr({e.one(['^t^', f'^v^, ^{e.one(OPERATORS)}^, 1'])})|map(attribute='n')|list)"), ("filter sort attribute", lambda: f"(recs|sort(attribute='{e.one(['v', 'n', 'v,n'])}')|map(attribute='n')|list)"), ("dict keys", lambda: "(d.keys()|list)"),
            ("filter map args", lambda: f"({e.strs(d)}|map('replace', 'a', 'o')|list)"), ("tuple", lambda: f"(({e.str(d)}, {e.str(d)})|list)"),
        ])

    def any_list(self, depth):
        return self.random.choice([self.ints, self.strs])(depth)

    def value(self, depth):
        e, r, d = self, self.random, depth - 1
        if depth <= 0:
            return r.choice([e.int, e.str, e.real, e.bool])(0)
        return self.pick([
            ("value int", lambda: e.int(d)), ("value str", lambda: e.str(d)), ("value real", lambda: e.real(d)), ("value bool", lambda: e.bool(d)), ("value ints", lambda: e.ints(d)), ("value strs", lambda: e.strs(d)), ("none", "none"),
            ("dict", lambda: "{" + ", ".join(f"{e.str(0)}: {e.value(d)}" for _ in range(r.randint(0, 3))) + "}"), ("tuple", lambda: f"({e.value(d)}, {e.value(d)})"), ("tuple one", lambda: f"({e.value(d)},)"), ("tuple empty", "()"), ("filter batch", lambda: f"({e.ints(d)}|batch({e.one(['2', '3, 0', '1'])})|list)"),
            ("filter slice", lambda: f"({e.ints(d)}|slice({e.one(['2', '3, 9', '1'])})|list)"), ("filter dictsort", lambda: f"(d|dictsort{e.one(['', '(true)', '(by=^value^)', '(reverse=true)'])})"), ("filter items", lambda: "(d|items|list)"), ("filter groupby", lambda: f"(recs|groupby('{e.one(['v', 'n'])}'))"),
            ("filter groupby map", lambda: "(recs|groupby('v')|map('first')|list)"), ("method items", lambda: f"(d.items(){e.one(['', '|list'])})"), ("method keys", "d.keys()"), ("method values", "d.values()"), ("call dict", lambda: f"dict(a={e.value(d)}, b={e.value(d)})"), ("name recs", "recs"), ("name dict", lambda: e.name("dict")), ("name lists", "ll"),
            ("call range", lambda: f"range({e.one(['3', '1, 5', '4, 0, -2'])})"), ("namespace member", lambda: f"namespace(a={e.value(d)}).a"), ("filter list of dict", "(d|list)"), ("filter first rec", "(recs|first)"), ("filter unique attribute", "(recs|unique(attribute='v')|map(attribute='n')|list)"),
            ("filter min attribute", "(recs|min(attribute='v')).n"), ("filter max attribute", "(recs|max(attribute='n')).v"), ("filter select chars", lambda: f"({e.str(d)}|select('in', 'aeiou')|list)"),
        ])

    # ---- statements ----
    def text(self):
        self.used("text")
        return self.random.choice(["a", " b ", "\n", "x\n  y", "  ", "\n\n", ";", "text ", "{ ", "% ", "# no", "\t", "end\n"])

    def sign(self):
        return self.random.choice(["", "", "", "", "-", "+"])

    def tag(self, inside):
        begin, end = self.sign(), self.sign()
        if begin or end:
            self.used("whitespace control")
        return "{%" + begin + " " + inside + " " + end + "%}"

    def print(self, expression):
        begin, end = self.random.choice(["", "", "", "-"]), self.random.choice(["", "", "", "-"])
        return "{{" + begin + " " + expression + " " + end + "}}"

    def new_name(self):
        self.fresh += 1
        return f"v{self.fresh}"

    def body(self, depth, scope=True):
        before = {kind: list(names) for kind, names in self.names.items()}, list(self.macros)
        made = "".join(self.statement(depth) for _ in range(self.random.randint(1, 3)))
        if scope:
            self.names, self.macros = before
        return made

    def statement(self, depth):
        e, r, d = self, self.random, depth - 1
        if depth <= 0 or self.chance(0.35):
            return r.choice([e.text, lambda: e.pick([("print", lambda: e.print(e.value(2)))])])()
        rules = [
            ("print", lambda: e.print(e.value(3))), ("if", lambda: e.tag(f"if {e.bool(2)}") + e.body(d) + e.tag("endif")),
            ("if else", lambda: e.tag(f"if {e.value(2)}") + e.body(d) + e.tag("else") + e.body(d) + e.tag("endif")),
            ("elif", lambda: e.tag(f"if {e.bool(2)}") + e.body(d) + e.tag(f"elif {e.bool(2)}") + e.body(d) + e.one(["", e.tag("else") + e.body(d)]) + e.tag("endif")),
            ("for", lambda: e.loop(d)), ("for", lambda: e.loop(d)), ("for unpack", lambda: e.loop_pairs(d)), ("for recursive", lambda: e.recursive()),
            ("set", lambda: e.set_value()), ("set", lambda: e.set_value()), ("set tuple", lambda: e.set_tuple()), ("set block", lambda: e.set_block(d)), ("namespace", lambda: e.namespace(d)), ("macro", lambda: e.macro(d)), ("call block", lambda: e.call_block(d)),
            ("filter block", lambda: e.tag(f"filter {e.one(['upper', 'trim', 'indent(2)', 'replace(^a^, ^b^)', 'title', 'lower|trim', 'center(20)', 'wordwrap(6)', 'reverse'])}") + e.body(d) + e.tag("endfilter")),
            ("with", lambda: e.with_block(d)), ("do", lambda: e.tag(f"do [1].append({e.int(1)})") if r.random() < 0.2 else e.tag(f"do {e.value(1)}")), ("raw", lambda: e.tag("raw") + e.one(["{{ x }}", "{% if %}", " a\n", "{# #}"]) + e.tag("endraw")), ("comment", lambda: "{#" + e.sign() + e.one([" note ", " {{ x }} ", "\n"]) + e.sign() + "#}"),
            ("include", lambda: e.tag(f"include {e.one(['^part^', '[^nope^, ^part^]', '^nope^ ignore missing', '^part^ with context'])}")),
            ("import", lambda: e.tag(f"import 'lib' as lib{e.one(['', ' with context'])}") + e.print(f"lib.{e.one(['m', 'n'])}({e.value(1)})") + e.print("lib.const")),
            ("from import", lambda: e.tag(f"from 'lib' import m as mm, const{e.one(['', ' with context'])}") + e.print(f"mm({e.value(1)}) ~ const")),
            ("autoescape", lambda: e.tag("autoescape false") + e.body(d) + e.tag("endautoescape")), ("print statement", lambda: e.tag(f"print {e.value(1)}, {e.value(1)}")),
            *([] if e.inside_macro else [("block", lambda: e.block(d))]), ("macro call", lambda: e.print(e.macro_call(1))),
        ]
        if self.loops:
            rules += [("break", lambda: e.tag(f"if {e.bool(1)}") + e.tag("break") + e.tag("endif")), ("continue", lambda: e.tag(f"if {e.bool(1)}") + e.tag("continue") + e.tag("endif")),
                      ("loop.previtem", lambda: e.print("loop.previtem|default('-')")), ("loop.nextitem", lambda: e.print("loop.nextitem|default('-')"))]
        return self.pick(rules)

    def loop(self, depth):
        e, r = self, self.random
        name, kind = self.new_name(), e.one(["int", "str"])
        over = (self.ints if kind == "int" else self.strs)(2)
        if kind == "str" and self.chance(0.1):
            over = self.str(1)
        before = list(self.names[kind])
        condition = ""
        if self.chance(0.25):
            self.used("for if")
            self.names[kind].append(name)
            loops, self.loops = self.loops, 0
            condition = f" if {self.bool(1)}"
            self.loops = loops
        self.names[kind] = before + [name] * 3
        self.loops += 1
        body = self.body(depth)
        self.loops -= 1
        self.names[kind] = before
        other = ""
        if self.chance(0.2):
            self.used("for else")
            other = self.tag("else") + self.outside(depth)
        return self.tag(f"for {name} in {over}{condition}") + body + other + self.tag("endfor")

    def outside(self, depth):
        loops, self.loops = self.loops, 0
        body = self.body(depth)
        self.loops = loops
        return body

    def loop_pairs(self, depth):
        a, b = self.new_name(), self.new_name()
        over, kinds = self.random.choice([("d.items()", ("str", "int")), ("d|dictsort", ("str", "int")), ("[(1, 'a'), (2, 'b')]", ("int", "str")), ("[[3, 'q']]", ("int", "str"))])
        before = {kind: list(names) for kind, names in self.names.items()}
        self.names[kinds[0]].append(a)
        self.names[kinds[1]].append(b)
        self.loops += 1
        body = self.body(depth)
        self.loops -= 1
        self.names = before
        return self.tag(f"for {a}, {b} in {over}") + body + self.tag("endfor")

    def recursive(self):
        inside = self.random.choice(["{{ n.v }}", "<{{ n.v }}{{ loop.depth }}>", "{{ loop.index }}:{{ n.v }} "])
        return self.tag("for n in tree recursive") + inside + "{% if n.c %}({{ loop(n.c) }}){% endif %}" + self.tag("endfor")

    def set_value(self):
        kind = self.random.choice(["int", "str", "ints", "strs", "real", "bool"])
        expression = getattr(self, kind)(2)
        name = self.random.choice([self.new_name()] + [name for name in self.names[kind] if name[0] == "v"]) if self.chance(0.3) else self.new_name()
        if name not in self.names[kind]:
            self.names[kind].append(name)
        return self.tag(f"set {name} = {expression}")

    def set_tuple(self):
        a, b = self.new_name(), self.new_name()
        made = self.tag(f"set {a}, {b} = {self.int(1)}, {self.str(1)}")
        self.names["int"].append(a)
        self.names["str"].append(b)
        return made

    def set_block(self, depth):
        name = self.new_name()
        filters = self.random.choice(["", "", " | upper", " | trim | title", " | replace('a', 'q')"])
        made = self.tag(f"set {name}{filters}") + self.body(depth) + self.tag("endset")
        self.names["str"].append(name)
        return made

    def namespace(self, depth):
        name, item = self.new_name(), self.new_name()
        return (self.tag(f"set {name} = namespace(n={self.int(1)}, s='')") + self.tag(f"for {item} in {self.ints(1)}") + self.tag(f"set {name}.n = {name}.n + {item}") +
                self.tag(f"set {name}.s = {name}.s ~ {item}") + self.tag("endfor") + self.print(f"{name}.n ~ {name}.s"))

    def macro(self, depth):
        name, parameters = "m" + self.new_name(), self.random.randint(0, 3)
        before = {kind: list(names) for kind, names in self.names.items()}, list(self.macros), self.loops
        signature = []
        for p in range(parameters):
            self.used("macro default" if signature else "macro parameter")
            signature.append(f"p{p}={self.value(1)}")
        self.loops, inside, self.inside_macro = 0, self.inside_macro, True
        body = self.body(depth)
        self.inside_macro = inside
        for p in range(parameters):
            body += self.print(f"p{p}")
        if self.chance(0.3):
            self.used("varargs")
            body += self.print("varargs|length")
        if self.chance(0.3):
            self.used("kwargs")
            body += self.print("kwargs")
        caller = self.chance(0.4)
        if caller:
            self.used("caller")
            body += "{% if caller %}{{ caller() }}{% endif %}" if self.chance(0.5) else "{{ caller() if caller }}"
        self.names, self.macros, self.loops = before
        self.macros.append((name, parameters))
        return self.tag(f"macro {name}({', '.join(signature)})") + body + self.tag("endmacro")

    def call_block(self, depth):
        loops, self.loops, inside, self.inside_macro = self.loops, 0, self.inside_macro, True
        body = self.body(depth)
        self.loops, self.inside_macro = loops, inside
        name = self.new_name()
        macro = "{% macro c" + name + "(n) %}{% for k in range(n) %}" + self.random.choice(["", "[", "k"]) + "{{ caller(k) }}{% endfor %}{% endmacro %}"
        return macro + self.tag(f"call({name}) c{name}({self.random.choice('0123')})") + body + self.print(name) + self.tag("endcall")

    def with_block(self, depth):
        name = self.new_name()
        before = list(self.names["int"])
        made = self.tag(f"with {name} = {self.int(1)}, w = {self.str(1)}")
        self.names["int"] = before + [name]
        made += self.body(depth) + self.print("w") + self.tag("endwith")
        self.names["int"] = before
        return made

    def block(self, depth):
        before, self.names, macros, self.macros, loops, self.loops = self.names, {k: list(v) for k, v in BY_TYPE.items()}, self.macros, [], self.loops, 0
        body = self.body(depth)
        self.names, self.macros, self.loops = before, macros, loops
        self.fresh += 1
        return self.tag(f"block b{self.fresh}{self.random.choice(['', '', ' scoped'])}") + body + self.tag("endblock")

    def child(self):
        """A template that extends another: blocks and what they call."""
        self.used("extends")
        strict = self.chance(0.3)
        if strict:
            self.used("required")
        made = self.tag("extends 'strict'" if strict else "extends 'base'") + self.set_value()
        blocks = self.random.sample(["one", "two", "three"], self.random.randint(1, 3))
        if strict and self.chance(0.9):
            self.used("required given")
            blocks.append("must")
        for name in blocks:
            body = self.body(2)
            if self.chance(0.5):
                self.used("super")
                body += self.print("super()")
            if self.chance(0.2):
                self.used("self")
                body += self.print("self.four()")
            made += self.tag(f"block {name}") + body + self.tag("endblock")
        return made


SETTINGS = [{}, {"trim_blocks": True}, {"lstrip_blocks": True}, {"trim_blocks": True, "lstrip_blocks": True}, {"keep_trailing_newline": True}, {"newline": "\r\n"}, {"lenient": True}]
TEMPLATES = {
    "part": "[{{ i|default('none') }}{% for q in [1, 2] %}{{ q }}{% endfor %}]", "base": "<{% block one %}1{% endblock %}{% block two %}2{{ s }}{% endblock %}{% for q in li %}{% block three scoped %}{{ q }}{% endblock %}{% endfor %}{% block four %}4{% endblock %}>",
    "strict": "{% extends 'base' %}{% block one %}{{ super() }}{{ self.must() }}{% endblock %}{% block four %}{% block must required %} {# a child's #}\n{% endblock %}{% endblock %}",
    "lib": "{% macro m(a, b=2) %}<{{ a }}|{{ b }}>{% endmacro %}{% macro n(a) %}{{ a|string|upper }}{% endmacro %}{% set const = 42 %}",
}

def lines_of(grower):
    """A template with line statements and line comments."""
    grower.used("line statement")
    parts = []
    for _ in range(grower.random.randint(1, 3)):
        name = grower.new_name()
        parts += [f"//% for {name} in {grower.ints(1)}", f"    code {{{{ {name} }}}};" + grower.random.choice(["", " //# a comment"]), grower.random.choice(["", "  //# whole line", "//% if " + grower.bool(1) + "\nyes\n//% endif"]), "  //% endfor"]
        grower.used("line comment")
    return "\n".join(parts) + "\n"


def grow(seed, counts):
    grower = Grower(seed, counts)
    settings = dict(grower.random.choice(SETTINGS))
    for name in settings:
        counts[f"setting {name}"] += 1
    kind = grower.random.random()
    if kind < 0.1:
        settings.update(line_statement="//%", line_comment="//#")
        template = lines_of(grower)
    elif kind < 0.2:
        template = grower.child()
    else:
        template = "".join(grower.statement(3) for _ in range(grower.random.randint(1, 5)))
    return oracle.Case(template, DATA, TEMPLATES, **settings)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--counts", action="store_true")
    options = parser.parse_args()
    counts = collections.Counter()
    different = rendered = 0
    for first in range(0, options.count, 1000):
        cases = [grow(f"{options.seed}.{n}", counts) for n in range(first, min(first + 1000, options.count))]
        wrong, good = oracle.compare(cases)
        different += wrong
        rendered += good
    print(f"{options.count} cases, {rendered} render and {options.count - rendered} are errors in Jinja2, {different} differ")
    few = 0
    if options.counts:
        for rule, count in sorted(counts.items()):
            print(f"{count:7} {rule}")
            few += count < 100
        print(f"{len(counts)} rules, {few} used less than 100 times")
    sys.exit(different != 0 or few != 0)


if __name__ == "__main__":
    main()
