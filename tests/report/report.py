#!/usr/bin/env python3
"""ingot report: one well-formed page that asks for nothing, in which everything of the manifest is; its JSON; another build beside it; flash and RAM as size has
them; models that cannot be built.
bench --compare; show --stage graph -o g.onnx, which onnx's checker takes and ingot reads back as the same graph.  With $INGOT_LONG, and where Chromium is there:
the page is opened, in both colour schemes, and says no error.

    report.py INGOT          exit 0: right, 1: wrong, 77: onnx is not there"""
import html.parser, json, os, re, shutil, subprocess, sys, tempfile

INGOT = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
VOID = {"meta", "link", "input", "br", "col"}
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
# Names that would be markup; a loop, whose body has kernels of its own; tensors that live long.
LOOP = HEAD + '''net (float[8] x) => (float[8] y) <int64 n = {4000}, bool go = {1}> {
  y = Loop <body = round (int64 i, bool c, float[8] a) => (bool d, float[8] b) { d = Identity (c)  b = Sin (a) }> (n, go, x) }'''
ODD = HEAD + '''net (float[4,4] "<b>&\\"x") => (float[4,4] y) { a = Relu ("<b>&\\"x")  b = MatMul (a, a)  c = Softmax (b)  y = Add (c, a) }'''
WRONG = {"broken.onnx": b"no model", "unknown.txt": (HEAD + "net (float[1] x) => (float[1] y) { y = Nothing (x) }").encode()}


def chain(steps):
    """A network of about two kernels a step, with tensors that are read much later."""
    lines, made = [], ["x"]
    for i in range(steps):
        lines += [f"m{i} = MatMul ({made[-1]}, w)", f"s{i} = Softmax (m{i})", f"r{i} = Add (s{i}, {made[max(0, len(made) - 1 - i * 13 % 37)]})"]
        made.append(f"r{i}")
    return HEAD + "net (float[64,64] x, float[64,64] w) => (float[64,64] y) { %s y = Relu (%s) }" % ("\n".join(lines), made[-1])


class Page(html.parser.HTMLParser):
    """Elements that end where they must, what is fetched, ids, and the lines of the script."""
    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.fetched, self.unnamed, self.script = [], set(), set(), [], [], 0
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in of:
            assert of["id"] not in self.ids, of["id"]
            self.ids.add(of["id"])
        if tag == "a":
            self.links.add(of["href"])
        self.fetched += [value for name, value in attributes if name in ("src", "href", "xlink:href") and not value.startswith(("#", "data:"))]
        if tag == "svg" and "viewbox" in of and "aria-label" not in of:
            self.unnamed.append(of)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open, self.getpos())
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.script += data.count("\n")


def ingot(*words, code=0):
    done = subprocess.run([INGOT, *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done


def whole(text, data):
    """The page says all that the data say, and stands alone."""
    page = Page(text)
    assert {link[1:] for link in page.links} <= page.ids and not page.fetched and not page.unnamed, (page.links, page.ids, page.fetched, page.unnamed)
    assert "url(" not in text and "@import" not in text and 0 < page.script <= 150, page.script
    assert "Content-Security-Policy" in text and "prefers-color-scheme: dark" in text
    escaped = lambda name: name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    for one in data["kernels"] + data["tensors"] + data["weights"]:
        assert escaped(one["name"]) in text, one["name"]
    for kernel in data["kernels"]:
        assert all(name in text for name in kernel["inside"]), kernel
    assert text.count("<title>slab ") == len(data["slabs"]) * (data["workspace_bytes"] > 0)


def report(folder, model, *words):
    path = os.path.join(folder, "page.html")
    data = json.loads(ingot("report", model, "-o", path, "--json", *words).stdout)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    whole(text, data)
    return text, data


def beside_manifest(folder, model):
    """What build says of the same model is there, by the same names and sizes."""
    text, data = report(folder, model, "--no-run")
    ingot("build", model, "-o", os.path.join(folder, "made"), "--no-compile", "--name", "made")
    with open(os.path.join(folder, "made", "made.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    told = lambda kernel: [kernel[key] for key in ("name", "nodes", "template", "tile", "lanes", "flops")]
    assert [told(kernel) for kernel in manifest["kernels"]] == [told(kernel) for kernel in data["kernels"]], data["kernels"]
    for kernel, of in zip(data["kernels"], manifest["kernels"]):
        assert "body" not in of or [one["name"] for one in of["body"]] == kernel["inside"], kernel
    assert all(data[key] == manifest[key] for key in ("workspace_bytes", "weights_bytes", "numbers"))
    assert sum(slab["bytes"] for slab in data["slabs"]) == data["workspace_bytes"]
    for ends in "inputs", "outputs":
        assert [(one["name"], one["dims"], one["bytes"]) for one in data[ends]] == [(one["name"], one["dims"], one["bytes"]) for one in manifest[ends]]
    assert max(data["live"], default=0) == data["largest_live_set"] <= data["workspace_bytes"]
    for edge in data["edges"]:                                    # nobody reads what is not made yet
        assert all(edge["from"] < to for to in edge["to"]), edge
    lanes = {}
    for edge in data["edges"]:                                    # no two lines lie on each other
        for row in range(edge["from"] + 1, max(edge["to"])) if edge["lane"] else ():
            assert lanes.setdefault((edge["lane"], row), edge["tensor"]) == edge["tensor"], edge
    return text, data


def the_page(folder):
    odd, large, loop = (os.path.join(folder, name) for name in ("odd.txt", "large.txt", "loop.txt"))
    for path, text in (odd, ODD), (large, chain(215)), (loop, LOOP):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    text, data = beside_manifest(folder, DIGITS)
    computed = {node["op"] for kernel in data["kernels"] for node in kernel["computes"]}
    assert {node["op"] for node in data["graph"] if node["kernels"]} <= computed and all(node["kernels"] for node in data["graph"])
    assert [size["cpu"] for size in data["sizes"]].count("cortex-m4") == 1 and all(size["ram_bytes"] > size["workspace_bytes"] for size in data["sizes"])
    assert "cycles" in text and not data["measured"]
    beside_manifest(folder, odd)
    assert any(kernel["inside"] for kernel in beside_manifest(folder, loop)[1]["kernels"])
    text, data = beside_manifest(folder, large)
    assert len(data["kernels"]) >= 400 and len(text) < 1 << 20, (len(data["kernels"]), len(text))
    return large


def measured(folder):
    first = os.path.join(folder, "first.json")
    with open(first, "w", encoding="utf-8") as file:
        file.write(ingot("report", DIGITS, "--target", "jit", "--json").stdout)
    text, data = report(folder, DIGITS, "--target", "jit", "--math", "bf16", "--compare", first)
    assert data["measured"] and data["call_microseconds"] > 0 and all(kernel["microseconds"] > 0 for kernel in data["kernels"])
    assert data["layers"] and any(0 < layer["error"] < 0.1 for layer in data["layers"]) and "Beside the other build" in text
    assert [pair["kernel"] for pair in data["compared"]["kernels"] if pair["kernel"]] == [kernel["name"] for kernel in data["kernels"]]
    assert all(0 <= kernel[axis] <= 1 for kernel in data["kernels"] for axis in "xy" if axis in kernel)
    said = ingot("bench", DIGITS, "--target", "jit", "--rounds", "3", "--compare", first).stdout
    assert re.search(r"^one call +[\d.]+ +[\d.]+ +[\d.]+$", said, re.M), said
    both = json.loads(ingot("bench", DIGITS, "--target", "jit", "--rounds", "3", "--compare", first, "--json").stdout)
    assert all(pair["kernel"] == pair["other"] and all(time > 0 for time in pair["microseconds"]) for pair in both["compared"]["kernels"])


def on_a_microcontroller(folder):
    """What --cpu names is compiled, and says what size says; without its compiler the page says why not."""
    page = os.path.join(folder, "away.html")
    told = subprocess.run([INGOT, "report", DIGITS, "--cpu", "cortex-m4", "-o", page, "--json"], capture_output=True, text=True, env=dict(os.environ, PATH=folder))
    data = json.loads(told.stdout)
    row = next(size for size in data["sizes"] if size["cpu"] == "cortex-m4")
    with open(page, encoding="utf-8") as file:
        assert not data["measured"] and "code_bytes" not in row and "gcc-arm-none-eabi" in row["why"] and row["why"] in file.read(), row
    if not shutil.which("arm-none-eabi-gcc"):
        return
    text, data = report(folder, DIGITS, "--cpu", "cortex-m4")
    row, size = next(size for size in data["sizes"] if "code_bytes" in size), json.loads(ingot("size", DIGITS, "--cpu", "cortex-m4", "--json").stdout)
    assert row["cpu"] == "cortex-m4" and row["parts"] == size["kernels"] and row["flash_bytes"] == row["weights_bytes"] + row["code_bytes"], row
    assert all(row[key + "_bytes"] == size[key] > 0 for key in ("code", "stack", "flash", "ram", "weights", "workspace")), (row, size)
    assert all(f">{part['code']}<" in text for part in row["parts"] if "code_of" not in part)
    assert "does not run here" in ingot("report", DIGITS, "--cpu", "cortex-m4", "--target", "jit", "-o", os.path.join(folder, "never.html"), code=5).stderr


def what_is_wrong(folder):
    page = os.path.join(folder, "never.html")
    for name, content in WRONG.items():
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        built = subprocess.run([INGOT, "build", path, "-o", os.path.join(folder, "never")], capture_output=True, text=True)
        told = ingot("report", path, "-o", page, code=built.returncode)
        assert built.returncode and told.stderr == built.stderr.replace("ingot build:", "ingot report:"), (told.stderr, built.stderr)
        assert not os.path.exists(page)
    assert "has no list of kernels" in ingot("report", DIGITS, "--no-run", "-o", page, "--compare", os.path.join(ROOT, "examples", "digits", "io.json"), code=3).stderr
    assert "its kernels are not timed apart" in ingot("report", DIGITS, "-o", page, "--target", "interpreter", code=2).stderr
    assert "cannot be made" in ingot("report", DIGITS, "--no-run", "-o", os.path.join(DIGITS, "page.html"), code=2).stderr
    assert not os.path.exists(page)


def the_graph(folder, onnx):
    written = os.path.join(folder, "g.onnx")
    text = lambda path: ingot("show", path, "--stage", "graph", "--weights").stdout.split(">", 1)[1]
    for model in DIGITS, os.path.join(folder, "odd.txt"), os.path.join(folder, "loop.txt"):
        ingot("show", model, "--stage", "graph", "-o", written)
        onnx.checker.check_model(written)
        assert text(written) == text(model), model
    kept = open(written, "rb").read()
    ingot("show", os.path.join(folder, "broken.onnx"), "--stage", "graph", "-o", written, code=3)
    assert open(written, "rb").read() == kept


def by_browser(folder, large):
    browser = shutil.which("chromium")
    if not browser or not os.environ.get("INGOT_LONG"):
        return
    for model in DIGITS, large:
        page, shots = os.path.join(folder, "seen.html"), []
        ingot("report", model, "--no-run", "-o", page)
        for scheme in "0", "1":
            shot = os.path.join(folder, f"shot{scheme}.png")
            done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--enable-logging=stderr",
                                   f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1400,2000", f"--screenshot={shot}", "file://" + page],
                                  capture_output=True, text=True, timeout=120)
            assert os.path.getsize(shot) > 10000 and "CONSOLE" not in done.stderr, done.stderr
            shots.append(open(shot, "rb").read())
        assert shots[0] != shots[1]


def main():
    try:
        import onnx
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        large = the_page(folder)
        measured(folder)
        on_a_microcontroller(folder)
        what_is_wrong(folder)
        the_graph(folder, onnx)
        by_browser(folder, large)
    return 0


if __name__ == "__main__":
    sys.exit(main())
