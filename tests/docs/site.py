#!/usr/bin/env python3
"""README, docs and the pages beside README as a site, by mkdocs: no warning, no dead link, nothing asked for from the network.

    site.py [OUT]       the site goes to OUT, which is new, or to nowhere; exit 0: right, 1: wrong, 77: no mkdocs in this Python"""
import glob, os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = "README.md CONTRIBUTING.md CHANGELOG.md".split()
ASKED = re.compile(r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>|@import\s+url\((?:https?:)?//[^)]*|url\(['\"]?https?://[^)]*")
# A page's own name in code is a link where the site has that page.
NAMED = re.compile(r"(?<!\[)`((?:docs/)?[A-Za-z-]+\.md)`")


def gather(folder):
    """The pages, with index.md for README.md; other pages that a text names become links."""
    os.makedirs(os.path.join(folder, "docs"))
    names = PAGES + sorted("docs/" + os.path.basename(path) for path in glob.glob(os.path.join(ROOT, "docs", "*.md")))
    for name in names:
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text = file.read()

        def link(match):
            to = match.group(1)
            to = "index.md" if to == "README.md" else to
            return f"[{match.group()}]({os.path.relpath(to, os.path.dirname(name) or '.')})" if match.group(1) in names else match.group()

        lines = [line if line.startswith("    ") else NAMED.sub(link, line) for line in text.split("\n")]
        with open(os.path.join(folder, "index.md" if name == "README.md" else name), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    return names


def asked(site):
    """What a page or a style would fetch from elsewhere."""
    for path in glob.glob(os.path.join(site, "**", "*"), recursive=True):
        if path.endswith((".html", ".css")):
            with open(path, encoding="utf-8") as file:
                yield from (f"{os.path.relpath(path, site)}: {match.group()[:120]}" for match in ASKED.finditer(file.read()))


def main(*out):
    try:
        import mkdocs                                                # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        names = gather(os.path.join(folder, "pages"))
        shutil.copy(os.path.join(ROOT, "mkdocs.yml"), folder)
        site = os.path.abspath(out[0]) if out else os.path.join(folder, "site")
        done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-d", site], cwd=folder, capture_output=True, text=True)
        bad = [line for line in done.stderr.split("\n") if line.startswith(("WARNING", "ERROR"))] if done.returncode else list(asked(site))
    print("\n".join(bad + [f"{len(names)} pages, {len(bad)} wrong"]))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
