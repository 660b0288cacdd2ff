"""The source of a class or function with all that it needs of its own packages, to stand in a file of its own.

What other packages define is imported. Annotations of functions are left out, and so are comments.
"""

import ast
import importlib
import importlib.util
import inspect
import symtable
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cache
from types import ModuleType
from typing import Any

from conformance.model.export import CannotExport
from conformance.model.program import Program
from conformance.model.values import canonical

OWN = "conformance"
DECLARED = frozenset(Program.__annotations__)
"""What a program declares. Its callbacks need of it only what they name."""


class Inlined:
    """Collects sources: ``imports`` are lines, ``definitions`` are sources in an order in which they can run.

    Without ``own``, they are to stand in a file of their own: what the wanted things' packages and this one define is
    inlined, a program loses what it declares and does not read, and the second of two things of one name gets another.
    With ``own``, which says of a module whether it is the author's, they are to be told from changed ones: nothing is
    lost but annotations and comments, ``modules`` are the own modules that are used as a whole, and ``values`` those of
    the constants that are JSON. No definition gets a name that is ``taken``.
    """

    def __init__(self, own: Callable[[str], bool] | None = None, taken: Container[str] = ()) -> None:
        self.imports: set[str] = set()
        self.definitions: list[str] = []
        self.modules: set[str] = set()
        self.values: list[str] = []
        self._known: dict[tuple[str, str], str] = {}
        self._taken = taken
        self._packages, self._whole = {OWN}, own is not None
        self._is_own = own or (lambda name: name.partition(".")[0] in self._packages)

    def add(self, wanted: Any) -> None:
        """Add a class or function of a module, with what it needs.

        Raises:
            CannotExport: its source cannot be read.
        """
        module, name = sys.modules.get(wanted.__module__), wanted.__qualname__
        if module is None or vars(module).get(name) is not wanted:
            raise CannotExport(f"{wanted.__module__}: {name} is not defined at the top of the module")
        self._packages.add(module.__name__.partition(".")[0])
        self._visit(module, name)

    @property
    def names(self) -> set[str]:
        """The names that the definitions define."""
        return {*self._known.values()}

    def _visit(self, module: ModuleType, name: str) -> str:
        """Add what a module knows by a name. Returns the name that it has in the file."""
        place = module.__name__, name
        if place in self._known:
            return self._known[place]
        defined = _defined(module, self._whole)
        statements = defined.get(name)
        if not statements:
            raise CannotExport(f"{module.__name__}: {name} is not defined at the top of the module")
        if all(isinstance(node, ast.Import | ast.ImportFrom) for node in statements):
            return self._imported(module, statements, name)
        taken = not self._whole and (name in self.names or name in self._taken)
        given = self._known[place] = f"{module.__name__.rpartition('.')[2]}_{name}" if taken else name
        for node in statements:
            value, renamed = None if self._whole else getattr(module, name), {name: given}
            cleaned = _cleaned(node, value if isinstance(value, type) else None)
            for used in _names(cleaned) if self._whole else _free(cleaned):
                there = used in vars(module) and (used in defined or not used.startswith("__"))
                if there and used != name:
                    renamed[used] = self._visit(module, used)
            if self._whole:
                within = [part for part in ast.walk(cleaned) if isinstance(part, ast.Import | ast.ImportFrom)]
                self._imported(module, within)
            changed = any(one != other for one, other in renamed.items())
            self.definitions.append(
                ast.unparse(_Renamed(renamed).visit(deepcopy(cleaned))) if changed else _text(cleaned)
            )
        if self._whole:
            with suppress(TypeError, ValueError):
                self.values.append(canonical(getattr(module, name)))
        return given

    def _imported(self, module: ModuleType, statements: Iterable[ast.stmt], name: str = "") -> str:
        """Imports of a module; those that bind ``name`` if it is given. Returns the name that it has in the file."""
        given = name
        for node in statements:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._module(alias.name, ast.unparse(node))
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if name in ("", alias.asname or alias.name):
                        given = self._from(module, node, alias)
        return given

    def _from(self, module: ModuleType, node: ast.ImportFrom, alias: ast.alias) -> str:
        source = importlib.util.resolve_name("." * node.level + (node.module or ""), module.__package__)
        if not self._is_own(source):
            self.imports.add(ast.unparse(ast.ImportFrom(module=source, names=[alias], level=0)))
            return alias.asname or alias.name
        try:
            found = importlib.import_module(source)
        except ImportError as error:
            raise CannotExport(f"{module.__name__} imports {source}: {error}") from None
        if self._whole and isinstance(getattr(found, alias.name, None), ModuleType):
            self._module(f"{source}.{alias.name}", "")
            return alias.asname or alias.name
        return self._visit(found, alias.name)

    def _module(self, name: str, line: str) -> None:
        if self._whole and self._is_own(name):
            self.modules.add(name)
        else:
            self.imports.add(line)


@cache
def _defined(module: ModuleType, whole: bool) -> dict[str, list[ast.stmt]]:
    """Name -> the statements at the top of a module that define it; with ``whole``, also those that may change it."""
    found: dict[str, list[ast.stmt]] = {}
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError) as error:
        raise CannotExport(f"the source of {module.__name__} cannot be read: {error}") from None
    for node in tree.body:
        names = set(_bound(node))
        if whole and not names:
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            names |= {name for part in ast.walk(node) if isinstance(part, ast.stmt) for name in _bound(part)}
        for name in names:
            found.setdefault(name, []).append(node)
    return found


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


@cache
def _cleaned(node: ast.stmt, value: type | None) -> ast.stmt:
    """A copy without annotations of functions; of a program with those declarations alone that its callbacks read."""
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
    if isinstance(copy, ast.ClassDef) and value and issubclass(value, Program):
        copy.bases = [base for base in copy.bases if not (isinstance(base, ast.Name) and base.id == Program.__name__)]
        named = {name for each in value.__mro__ if each is not Program for name in _attributes(each)}
        inherited = sorted(
            (_attributes(value) & DECLARED) - {name for each in value.__mro__[:-2] for name in vars(each)}
        )
        defaults = [ast.parse(f"{name} = {_default(name)}").body[0] for name in inherited]
        kept = [part for part in copy.body if not (set(_bound(part)) & DECLARED) - named]
        copy.body = [*defaults, *kept] or [ast.Pass()]
    return copy


def _attributes(kind: type) -> set[str]:
    """What the source of a class reads of ``self``."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):
        return set()
    found = (part for part in ast.walk(tree) if isinstance(part, ast.Attribute))
    return {part.attr for part in found if isinstance(part.value, ast.Name) and part.value.id == "self"}


def _default(name: str) -> str:
    """The source of what a program has that does not declare ``name``. None stands for the one global window."""
    value = getattr(Program, name)
    return repr(value) if isinstance(value, str | int | tuple | dict) else "None"


@cache
def _text(node: ast.stmt) -> str:
    return ast.unparse(node)


@cache
def _names(node: ast.AST) -> list[str]:
    """The names that a statement uses, each once, in their order; those in annotations of fields are left out."""
    left_out = {
        id(part) for field in ast.walk(node) if isinstance(field, ast.AnnAssign) for part in ast.walk(field.annotation)
    }
    found = (part for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))
    return list(dict.fromkeys(part.id for part in found if id(part) not in left_out))


@cache
def _free(node: ast.stmt) -> list[str]:
    """The names of the module that a statement uses, each once and sorted: no name that a function binds itself."""
    without = ast.unparse(_Bare().visit(ast.parse(ast.unparse(node))))
    scopes, found = [symtable.symtable(without, "", "exec")], set[str]()
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        of_module = scope.get_type() == "module"
        found |= {s.get_name() for s in scope.get_symbols() if s.is_referenced() and (of_module or s.is_global())}
    return sorted(found)


class _Renamed(ast.NodeTransformer):
    """Gives names, and what is defined by them, other names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)


class _Bare(ast.NodeTransformer):
    """Leaves out the annotations of fields."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        return ast.Assign(targets=[node.target], value=node.value or ast.Constant(None), lineno=node.lineno)
