"""What identifies an adapter changes when the adapter does something else, and only then."""

import importlib
import itertools

import pytest

from conformance.plugins.adapter import _parsed, adapter_digest
from conformance.plugins.registry import load_engine

FILES = {
    "__init__.py": "",
    "engine.py": '''"""The adapter."""
from {name}.column import Column

class Engine(Column):
    """One engine."""
    id = "toy"

    def run(self):
        from . import operator  # as late as can be
        return operator.run()
''',
    "column.py": "from {name} import budgets\n\nclass Column:\n    largest = budgets.MOST\n",
    "operator.py": 'import json\nfrom .names import NAME\n\ndef run():\n    return json.dumps(NAME) + "Bridge.java"\n',
    "names.py": 'NAME = "a  name"\n"""What it is called."""\n',
    "budgets.py": "ADAPTER = False\nMOST = 3\n",
    "other.py": "from {name}.column import Column\nfrom {name} import theirs\n\n"
    "class Other(Column):\n    id = 'other'\n",
    "theirs.py": "THEIRS = 1\n",
    "Bridge.java": 'class Bridge {{ // over a pipe\n  String say() {{ return "a // b"; }}\n}}\n',
    "Unused.java": "class Unused {{}}\n",
}

NUMBER = itertools.count()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """(edit a file of a package of adapters, the digest of its engine, that of its other one)."""
    name = f"toy_adapters_{next(NUMBER)}"
    folder = tmp_path / name
    folder.mkdir()
    for file, text in FILES.items():
        (folder / file).write_text(text.format(name=name))
    monkeypatch.syspath_prepend(tmp_path)

    def edit(file, old, new):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))

    engine = importlib.import_module(f"{name}.engine").Engine()
    other = importlib.import_module(f"{name}.other").Other()
    return edit, lambda: adapter_digest(engine), lambda: adapter_digest(other)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("engine.py", "# as late as can be", "# or later\n"),
        ("engine.py", '"""The adapter."""', '"""An adapter,\n\nin short."""'),
        ("engine.py", '    """One engine."""\n', ""),
        ("names.py", '"""What it is called."""', ""),
        ("operator.py", "import json\n", "import json\n\n\n"),
        ("operator.py", "json.dumps(NAME)", "json.dumps( NAME )"),
        ("Bridge.java", "// over a pipe", "/* over\na pipe */\n"),
        ("Bridge.java", "say() {", "say()\n  {"),
    ],
)
def test_a_comment_a_docstring_or_white_space_leaves_witnesses_confirmed(toy, file, old, new):
    edit, digest, _ = toy
    before = digest()
    edit(file, old, new)
    assert digest() == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("engine.py", "operator.run()", "operator.run() * 2"),
        ("column.py", "budgets.MOST", "2"),
        ("operator.py", "json.dumps(NAME)", "NAME"),
        ("names.py", "a  name", "a name"),
        ("Bridge.java", "a // b", "a // c"),
        ("__init__.py", "", "import os"),
    ],
)
def test_another_statement_in_any_module_that_the_adapter_imports_counts(toy, file, old, new):
    edit, digest, _ = toy
    before = digest()
    edit(file, old, new)
    assert digest() != before


def test_a_module_that_only_another_adapter_imports_does_not_count(toy):
    edit, digest, other = toy
    before, others = digest(), other()
    edit("theirs.py", "1", "2")
    assert digest() == before
    assert other() != others
    edit("operator.py", "json.dumps(NAME)", "NAME")
    assert digest() != before


@pytest.mark.parametrize(("file", "old", "new"), [("budgets.py", "3", "4"), ("Unused.java", "{}", "{ int i; }")])
def test_what_is_no_part_of_the_adapter_does_not_count(toy, file, old, new):
    """A module that says so, and Java that no module names."""
    edit, digest, _ = toy
    before = digest()
    edit(file, old, new)
    assert digest() == before


def test_a_revision_stands_for_the_modules():
    engine = load_engine("reference")
    engine.revision = "1"
    first = adapter_digest(engine)
    engine.revision = "2"
    assert first != adapter_digest(engine)
    assert adapter_digest(load_engine("reference")) not in (first, adapter_digest(engine))


def test_every_python_says_the_same_of_a_module():
    """Confirmations of one Python count on another: this digest stands for all."""
    text = 'async def f(x: int = -1) -> str:\n    return f"{x!r:>{2}} {{}}" "b" u"c" if None is ... else b"" * 1_0\n'
    assert _parsed(text).digest == "680498c297c7"


@pytest.mark.parametrize(("name", "same"), [("spark-native:count", True), ("spark-tws", False), ("beam-direct", False)])
def test_variants_of_one_adapter_share_a_digest_and_adapters_do_not(name, same):
    window = adapter_digest(load_engine("spark-native:window"))
    assert (adapter_digest(load_engine(name)) == window) is same
