"""What holds of the modules as they stand: their imports, their sizes, and those of what is in them."""

import ast
import re
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CORE = "conformance"
PLUGINS = ("engines", "scenarios", "reports")
"""Folders beside the core, which are imported as packages of it."""

PACKAGES = (CORE, *PLUGINS)


def modules(root=ROOT):
    """Name of a module -> its file."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name if package == CORE else f"{CORE}.{name}"] = path
    return found


def imports(found):
    """Module -> the modules of the project that it imports, within its functions and for its types too."""
    graph = {}
    for name, path in found.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        graph[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
                base = ".".join(part for part in (above, node.module) if part)
                # "from package import name" imports a module of that name where there is one, else what the package
                # has.
                named = {f"{base}.{alias.name}" if f"{base}.{alias.name}" in found else base for alias in node.names}
            else:
                continue
            graph[name] |= (named & found.keys()) - {name}
    return graph


def circles(graph):
    """The modules that reach one another, circle by circle."""
    found, graph = [], {name: set(needed) for name, needed in graph.items()}
    while True:
        try:
            tuple(TopologicalSorter(graph).static_order())
            return found
        except CycleError as error:
            circle = error.args[1]
            found.append(frozenset(circle))
            graph[circle[1]].discard(circle[0])  # each module is needed by the next one


MODULES = modules()


@pytest.fixture(scope="module")
def graph():
    return imports(MODULES)


def test_no_modules_import_each_other_in_a_circle(graph):
    """Not even within a function: where two modules need each other, one of them has another's job."""
    assert [" -> ".join(sorted(circle)) for circle in circles(graph)] == []


def test_a_circle_within_functions_is_seen(tmp_path):
    files = {
        "engines/__init__.py": "",
        "engines/one.py": "def call():\n    from conformance.engines import two\n",
        "engines/two.py": "import conformance.engines.three\n",
        "engines/three.py": "from .one import call\nfrom conformance.apart import alone\n",
        "conformance/apart.py": "import json\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    graph = imports(modules(tmp_path))
    one, two, three = (f"conformance.engines.{name}" for name in ("one", "two", "three"))
    assert graph[three] == {one, "conformance.apart"}
    assert circles(graph) == [frozenset({one, two, three})]


@pytest.mark.parametrize("package", ["engines", "scenarios"])
def test_engines_and_scenarios_know_nothing_of_each_other_and_of_reports(package, graph):
    others = tuple(f"{CORE}.{other}." for other in PLUGINS if other != package)
    found = {
        (name, needed)
        for name in graph
        if name.startswith(f"{CORE}.{package}")
        for needed in graph[name]
        if f"{needed}.".startswith(others)
    }
    assert found == set()


def room_of(module):
    """The room of ARCHITECTURE.md that a module is in."""
    return "".join(module.split(".")[1:2]).replace("__main__", "cli")


def test_each_room_imports_what_the_table_of_the_architecture_says(graph):
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Rooms")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    said = {re.search(r"(\w+)/`", row[0])[1]: set(re.findall(r"`(\w+)`", row[2])) for row in rows}
    found = {room_of(name): set() for name in graph if room_of(name)}
    for name in graph:
        if room := room_of(name):
            found[room] |= {room_of(other) for other in graph[name]} - {room, ""}
    assert found == said


@pytest.mark.parametrize("adapter", ["spark", "beam"])
def test_rooms_of_an_adapter_import_what_stands_before_them_in_the_architecture(adapter, graph):
    """A module beside the rooms is an API: it stands behind ``jobs``."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"`engines/{adapter}/`: "))
    order = re.findall(r"`(\w+)`|(module) of a screenful", line)
    place = {room or "": number for number, (room, _) in enumerate(order)}
    within = f"{CORE}.engines.{adapter}."
    found = [
        (name, needed)
        for name in graph
        for needed in graph[name]
        if name.startswith(within) and needed.startswith(within)
        if place[_room_within(needed, within)] > place[_room_within(name, within)]
    ]
    assert found == []


def _room_within(module, within):
    room, _, inner = module.removeprefix(within).partition(".")
    return room if inner else ""


def test_no_folder_has_more_than_20_modules():
    folders = Counter(path.parent for path in (*MODULES.values(), *(ROOT / "tests").rglob("*.py")))
    assert {str(folder.relative_to(ROOT)): number for folder, number in folders.items() if number > 20} == {}


KEYWORDS = {
    # Each is a keyword that a user declares a subject by.
    "conformance.subjects.subject.subject",
}


def test_no_function_has_more_than_seven_parameters():
    assert {name for name, number in sizes(parameters) if number > 7} == KEYWORDS


STORED = {
    # Each field is one of a cell in results.json.gz, and of the schema of that file.
    "conformance.judgement.cell.MatrixCell",
}


def test_no_class_has_more_than_fifteen_fields():
    assert {name for name, number in sizes(fields_of) if number > 15} == STORED


def sizes(of):
    """(name, size) of what modules define, at any depth, and ``of`` has a size for."""
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (size := of(node)) is not None:
                yield f"{module}.{node.name}", size


def parameters(node):
    """How many parameters a function has, without the instance or the class that a method belongs to."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    found = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return len(found) - (found[:1] in (["self"], ["cls"]))


def fields_of(node):
    """How many annotated fields a class has of its own."""
    return sum(isinstance(part, ast.AnnAssign) for part in node.body) if isinstance(node, ast.ClassDef) else None


def test_what_is_too_large_is_counted():
    text = "def f(a, /, b, *, c=1, **d): ...\ndef m(self, a): ...\nclass C:\n    a: int\n    b: int = 2\n"
    function, method, kind = ast.parse(text).body
    assert (parameters(function), parameters(method), parameters(kind)) == (3, 1, None)
    assert (fields_of(kind), fields_of(function)) == (2, None)


def test_no_module_of_an_adapter_is_longer_than_350_lines():
    long = {name for name, path in MODULES.items() if name.startswith(f"{CORE}.engines") and _lines(path) > 350}
    assert long == set()


def _lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def under_a_top_level_name(text):
    """What a text imports, or names as a module, as if the plugins' packages lay beside ``conformance``."""
    names = "|".join(PLUGINS)
    imported = re.findall(rf"^\s*import (?:{names})\b.*|\bfrom (?:{names})(?:\.[\w.]+)? import\b", text, re.MULTILINE)
    named = re.findall(rf"""(?<!from)["'` ]((?:{names})(?:\.\w+)+)(?:["'`: ]|$)""", text, re.MULTILINE)
    return imported + [name for name in named if f"{CORE}.{name}" in MODULES]


def test_a_module_has_one_name():
    """Imported under two names, it would be two modules."""
    folders = (*PACKAGES, "benchmarks", "ci", "docs", "templates", "tests")
    files = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".java", ".md")
    ]
    files += [ROOT / "pyproject.toml", *ROOT.glob("*.md"), *ROOT.glob("*.yml")]
    found = {path: under_a_top_level_name(path.read_text(encoding="utf-8")) for path in files if path != Path(__file__)}
    assert {str(path.relative_to(ROOT)): said for path, said in found.items() if said} == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("    from engines.spark import tws\n", ["from engines.spark import"]),
        ("import scenarios\n", ["import scenarios"]),
        ("code = 'from reports import html; html'\n", ["from reports import"]),
        ('spark = "engines.spark.tws:FAMILY"\n', ["engines.spark.tws"]),
        ("python -m engines.spark.runtime.class_archive\n", ["engines.spark.runtime.class_archive"]),
        ("from conformance.engines import spark\n", []),
        ('found = {"reports.of.others"}\n', []),
    ],
)
def test_a_second_name_of_a_module_is_seen(text, said):
    assert under_a_top_level_name(text) == said
