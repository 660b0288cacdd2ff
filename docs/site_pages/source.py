"""The source of a scenario's programs, for its page."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator

from conformance.model.program import Program
from conformance.model.scenario import Scenario


def modules(scenario: Scenario) -> dict[str, list[Program]]:
    """Name of a module -> the programs of the scenario in it."""
    found: dict[str, list[Program]] = {}
    for program in scenario.programs.values():
        found.setdefault(type(program).__module__, []).append(program)
    return found


def documented(scenario: Scenario) -> str:
    """The text of the scenario's module about the scenario, or the scenario's summary."""
    found = (inspect.getdoc(sys.modules.get(name)) for name in modules(scenario))
    return next(filter(None, found), scenario.summary)


def sources(scenario: Scenario) -> Iterator[str]:
    for name, programs in modules(scenario).items():
        yield excerpt(inspect.getsource(sys.modules[name]), {type(program).__name__ for program in programs})


def excerpt(source: str, names: set[str]) -> str:
    """The definitions of some names at the top of a module, with the definitions that they use, in the order of the module."""
    body = ast.parse(source).body
    defined = {name: number for number, node in enumerate(body) for name in _defines(node)}
    wanted, queue = set[int](), [defined[name] for name in names if name in defined]
    while queue:
        number = queue.pop()
        if number not in wanted:
            wanted.add(number)
            queue += [defined[n.id] for n in ast.walk(body[number]) if isinstance(n, ast.Name) and n.id in defined]
    lines, found = source.splitlines(), list[str]()
    before: ast.stmt | None = None
    for number in sorted(wanted):
        node = body[number]
        constants = all(isinstance(n, ast.Assign | ast.AnnAssign) for n in (before, node))
        found += [] if before is None or constants else ["", ""]
        decorators = getattr(node, "decorator_list", [])
        found += lines[min([node.lineno, *(d.lineno for d in decorators)]) - 1 : node.end_lineno]
        before = node
    return "\n".join(found)


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []
