"""What holds of the modules as they stand: their imports, their sizes."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("conformance", "engines", "scenarios", "reports")


def modules(root=ROOT):
    """Name of a module -> its file."""
    found = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
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
                # "from package import name" imports a module of that name where there is one, else what the package has.
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


@pytest.fixture(scope="module")
def graph():
    return imports(modules())


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
    assert graph["engines.three"] == {"engines.one", "conformance.apart"}
    assert circles(graph) == [frozenset({"engines.one", "engines.two", "engines.three"})]


@pytest.mark.parametrize("package", ["engines", "scenarios"])
def test_engines_and_scenarios_know_nothing_of_each_other_and_of_reports(package, graph):
    others = tuple(f"{other}." for other in PACKAGES if other not in ("conformance", package))
    found = {
        (name, needed)
        for name in graph
        if name.startswith(package)
        for needed in graph[name]
        if f"{needed}.".startswith(others)
    }
    assert found == set()


def room_of(module):
    """The room of ARCHITECTURE.md that a module is in."""
    first, *rest = module.split(".")
    return (rest[0].replace("__main__", "cli") if rest else "") if first == "conformance" else first


def test_each_room_imports_what_the_table_of_the_architecture_says(graph):
    table = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Rooms")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    said = {re.search(r"(\w+)/`", row[0])[1]: set(re.findall(r"`(\w+)`", row[2])) for row in rows}
    found = {room_of(name): set() for name in graph if room_of(name)}
    for name in graph:
        if room := room_of(name):
            found[room] |= {room_of(other) for other in graph[name]} - {room, ""}
    assert found == said


def test_no_module_of_an_adapter_is_longer_than_350_lines():
    long = {name for name, path in modules().items() if name.startswith("engines") and _lines(path) > 350}
    assert long == set()


def _lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())
