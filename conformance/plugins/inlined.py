"""The source of a class or function with all that it needs of its own packages, to stand in a file of its own.

What other packages define is imported. Annotations of functions are left out, and so are comments.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from conformance.model.export import CannotExport
from conformance.model.program import Program

OWN = "conformance"
DECLARED = frozenset(Program.__annotations__)
"""What a program declares. Its callbacks need of it only what they name."""


class Inlined:
    """Collects sources: ``imports`` are lines, ``definitions`` are sources in an order in which they can run."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.definitions: list[str] = []
        self._known: dict[str, str] = {}
        self._own = {OWN}

    def add(self, wanted: Any) -> None:
        """Add a class or function of a module, with what it needs.

        Raises:
            CannotExport: its source cannot be read, or two things that are needed have one name.
        """
        self._own.add(wanted.__module__.partition(".")[0])
        self._visit(sys.modules[wanted.__module__], wanted.__name__)

    @property
    def names(self) -> set[str]:
        """The names that the definitions define."""
        return set(self._known)

    def _visit(self, module: ModuleType, name: str) -> None:
        node = _defined(module).get(name)
        if node is None:
            raise CannotExport(f"{module.__name__}: {name} is not defined at the top of the module")
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._imported(module, node, name)
            return
        if name in self._known:
            if self._known[name] != module.__name__:
                raise CannotExport(f"{name} is defined in {module.__name__} and in {self._known[name]}")
            return
        self._known[name] = module.__name__
        cleaned = _cleaned(node, getattr(module, name))
        for used in _names(cleaned):
            if used != name and used in vars(module) and not hasattr(builtins, used):
                self._visit(module, used)
        self.definitions.append(ast.unparse(cleaned))

    def _imported(self, module: ModuleType, node: ast.Import | ast.ImportFrom, name: str) -> None:
        if isinstance(node, ast.Import):
            self.imports.add(ast.unparse(node))
            return
        alias = next(alias for alias in node.names if name in (alias.name, alias.asname))
        source = importlib.util.resolve_name("." * node.level + (node.module or ""), module.__package__)
        if source.partition(".")[0] not in self._own:
            self.imports.add(ast.unparse(ast.ImportFrom(module=source, names=[alias], level=0)))
        elif alias.asname:
            raise CannotExport(f"{module.__name__} imports {alias.name} under another name")
        else:
            self._visit(importlib.import_module(source), name)


@cache
def _defined(module: ModuleType) -> dict[str, ast.stmt]:
    """Name -> the statement at the top of a module that defines it."""
    found: dict[str, ast.stmt] = {}
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError) as error:
        raise CannotExport(f"the source of {module.__name__} cannot be read: {error}") from None
    for node in tree.body:
        found |= dict.fromkeys(_bound(node), node)
    return found


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def _cleaned(node: ast.stmt, value: Any) -> ast.stmt:
    """A copy without annotations of functions; of a program without what it declares and its callbacks do not name."""
    copy: ast.stmt = ast.parse(ast.unparse(node)).body[0]
    if isinstance(copy, ast.AnnAssign) and copy.value:
        copy = ast.Assign(targets=[copy.target], value=copy.value, lineno=copy.lineno)
    for part in ast.walk(copy):
        if isinstance(part, ast.FunctionDef):
            part.returns = None
            of = part.args
            for argument in (*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg):
                if argument:
                    argument.annotation = None
    if isinstance(copy, ast.ClassDef) and issubclass(value, Program):
        copy.bases = [base for base in copy.bases if not (isinstance(base, ast.Name) and base.id == Program.__name__)]
        named = {part.attr for part in ast.walk(copy) if isinstance(part, ast.Attribute)}
        copy.body = [part for part in copy.body if not (set(_bound(part)) & DECLARED) - named] or [ast.Pass()]
    return copy


def _names(node: ast.AST) -> list[str]:
    """The names that a statement uses, each once, in their order; those in annotations of fields are left out."""
    left_out = {
        id(part) for field in ast.walk(node) if isinstance(field, ast.AnnAssign) for part in ast.walk(field.annotation)
    }
    found = (part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))
    return list(dict.fromkeys(part.id for part in found if id(part) not in left_out))
