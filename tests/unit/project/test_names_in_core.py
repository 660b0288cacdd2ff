"""The core names no engine and no framework: it meets them through the registry."""

import ast
import re
from pathlib import Path

CORE = Path(__file__).parents[3] / "conformance"
NAMES = re.compile(r"spark|beam|\bprism|\bflink|\bmutant:", re.IGNORECASE)


def _said(tree):
    """(line, text) of what is not prose: identifiers, names of imports and string literals other than docstrings."""
    prose = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and id(node) not in prose:
                yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.lineno, node.arg or ""
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield node.lineno, getattr(node, "module", "") or ""
            yield from ((node.lineno, alias.name) for alias in node.names)


def _named(text, file):
    tree = ast.parse(text)
    return [(file, line, said) for line, said in _said(tree) if NAMES.search(said)]


def test_the_core_names_no_engine_and_no_framework():
    found = [
        each
        for path in sorted(CORE.rglob("*.py"))
        for each in _named(path.read_text(encoding="utf-8"), path.relative_to(CORE).as_posix())
    ]
    assert found == []


def test_what_names_a_framework_is_told_from_prose():
    text = '"""On Spark."""\n\nX = 5\n"""As Beam does."""\n\n\ndef f():\n    """In Prism."""\n    return X\n'
    assert _named(text, "m.py") == []
    broken = (
        "import pyspark\nfrom conformance.engines.beam import direct\n\nspark = load('mutant:late').of_beam(Flink=1)\n"
    )
    assert [line for _, line, _ in _named(broken, "m.py")] == [1, 2, 4, 4, 4, 4]
