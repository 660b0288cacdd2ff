"""Excerpts of a scenario's source: its programs, and the predicates of its guarantees, with what they use of their
module."""

import ast
import inspect
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from conformance.model.scenario import Scenario
from conformance.plugins.points import PACKAGE, package_of


def source_of(scenario: Scenario) -> str:
    """The source of a scenario's programs and predicates; "" where it cannot be read."""
    wanted: dict[str, set[str]] = {}
    for thing in (*map(type, scenario.programs.values()), *(_function(g.predicate) for g in scenario.guarantees)):
        if package_of(getattr(thing, "__module__", "")) not in ("", PACKAGE):
            wanted.setdefault(thing.__module__, set()).add(thing.__qualname__.partition(".")[0])
    try:
        found = (excerpt(inspect.getsource(sys.modules[module]), names) for module, names in wanted.items())
        return "\n\n\n".join(filter(None, found))
    except (OSError, TypeError, KeyError):
        return ""


def _function(predicate: Any) -> Any:
    """What a predicate was made of."""
    while isinstance(predicate, partial):
        predicate = predicate.func
    return predicate


def excerpt(source: str, names: Iterable[str]) -> str:
    """The definitions of some names at the top of a module, with the definitions that they use, in the order of the
    module."""
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
        return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return []
