"""oracle.py: runs cases through ingot's engine and through Jinja2, and says where they differ."""
import json
import os
import subprocess
import sys

import jinja2

# our settings -> Jinja2's
NAMES = {
    "block_start": "block_start_string", "block_end": "block_end_string", "variable_start": "variable_start_string",
    "variable_end": "variable_end_string", "comment_start": "comment_start_string", "comment_end": "comment_end_string",
    "line_statement": "line_statement_prefix", "line_comment": "line_comment_prefix", "newline": "newline_sequence",
    "trim_blocks": "trim_blocks", "lstrip_blocks": "lstrip_blocks", "keep_trailing_newline": "keep_trailing_newline",
}


class Case:
    def __init__(self, template, data=None, templates=None, **settings):
        self.templates = dict(templates or {}, main=template)
        self.data = data or {}
        self.settings = settings

    def line(self, **more):
        return json.dumps(dict(templates=self.templates, data=self.data, settings=self.settings, **more))

    def environment(self):
        options = {NAMES[name]: value for name, value in self.settings.items() if name != "lenient"}
        undefined = jinja2.Undefined if self.settings.get("lenient") else jinja2.StrictUndefined
        return jinja2.Environment(loader=jinja2.DictLoader(self.templates), undefined=undefined, cache_size=50,
                                  extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], **options)

    def expected(self):
        """(text, None) or (None, error)"""
        try:
            return self.environment().get_template("main").render(json.loads(json.dumps(self.data))), None
        except RecursionError:
            return None, "RecursionError"
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"


def ingot(cases, **more):
    """What our engine makes of each case: a list of dicts."""
    program = os.environ.get("TEMPLATE_CASES", "build/tests/template_cases")
    lines = "".join(case.line(**more) + "\n" for case in cases)
    run = subprocess.run([program], input=lines.encode("utf-8", "surrogatepass"), stdout=subprocess.PIPE)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode or len(results) != len(cases):
        case = cases[min(len(results), len(cases) - 1)]
        sys.exit(f"template_cases ended with {run.returncode} after {len(results)} cases; the next was\n{case.line()}")
    return results


def compare(cases):
    """Prints every difference; returns how many there are, and how many cases rendered."""
    different = rendered = 0
    for case, result in zip(cases, ingot(cases)):
        text, error = case.expected()
        rendered += error is None
        if error is None and result.get("text") == text:
            continue
        if error is not None and "message" in result:
            continue
        different += 1
        print(f"--- {case.line()}\n    Jinja2: {error or repr(text)}\n    ingot:  {result.get('message') or repr(result.get('text'))}")
    return different, rendered
